// Philox 4x32-10 by the vector: blocks of consecutive counters.
//
// J. Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011: block i follows from key and i alone, so
// each lane of a vector computes a block of its own, and any thread any part.
#include "loops/level/table.h"

// Two vectors side by side: a round waits for its multiplications, of which two are under way then.
enum { ABREAST = 2 * LANES };

void LEVEL(loop_philox)(const uint32_t *key, const uint32_t *counter, uint64_t skip, int64_t blocks, uint32_t *out);
void LEVEL(loop_philox)(const uint32_t *key, const uint32_t *counter, uint64_t skip, int64_t blocks, uint32_t *out) {
    uint64_t low = (uint64_t)counter[1] << 32 | counter[0], high = (uint64_t)counter[3] << 32 | counter[2];
    for (int64_t first = 0; first < blocks; first += ABREAST) {
        uint32_t a[ABREAST], b[ABREAST], c[ABREAST], d[ABREAST];
        for (int i = 0; i < ABREAST; i++) {
            uint64_t at = low + skip + (uint64_t)(first + i);
            uint64_t top = high + (at < low);
            a[i] = (uint32_t)at, b[i] = (uint32_t)(at >> 32);
            c[i] = (uint32_t)top, d[i] = (uint32_t)(top >> 32);
        }
        uint32_t k0 = key[0], k1 = key[1];
        for (int round = 0; round < 10; round++) {
            for (int i = 0; i < ABREAST; i++) {
                uint64_t p = (uint64_t)a[i] * 0xD2511F53u, q = (uint64_t)c[i] * 0xCD9E8D57u;
                uint32_t e = (uint32_t)(q >> 32) ^ b[i] ^ k0, f = (uint32_t)(p >> 32) ^ d[i] ^ k1;
                a[i] = e, b[i] = (uint32_t)q, c[i] = f, d[i] = (uint32_t)p;
            }
            k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
        }
        int64_t count = blocks - first < ABREAST ? blocks - first : ABREAST;
        for (int64_t i = 0; i < count; i++) {
            uint32_t *o = out + (first + i) * 4;
            o[0] = a[i], o[1] = b[i], o[2] = c[i], o[3] = d[i];
        }
    }
}
