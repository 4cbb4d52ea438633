// Crc32c — see crc32c.h: by the CPU's instruction (SSE 4.2) where there is one, else by tables.
#include "file/crc32c.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

enum { POLYNOMIAL = 0x82f63b78u };

static uint32_t tables[8][256];
static bool by_instruction;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void prepare(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? (uint32_t)POLYNOMIAL : 0);
        tables[0][i] = crc;
    }
    for (int t = 1; t < 8; t++)
        for (int i = 0; i < 256; i++)
            tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 255];
#if defined(__x86_64__)
    by_instruction = __builtin_cpu_supports("sse4.2");
#endif
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t instruction_crc(uint32_t state, const unsigned char *p, size_t n) {
    uint64_t wide = state;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    state = (uint32_t)wide;
    for (; n; n--, p++)
        state = __builtin_ia32_crc32qi(state, *p);
    return state;
}
#endif

static uint32_t table_crc(uint32_t state, const unsigned char *p, size_t n) {
    for (; n >= 8; n -= 8, p += 8) {
        uint32_t low, high;
        memcpy(&low, p, 4);
        memcpy(&high, p + 4, 4);
        low ^= state;
        state = tables[7][low & 255] ^ tables[6][(low >> 8) & 255] ^ tables[5][(low >> 16) & 255] ^
                tables[4][low >> 24] ^ tables[3][high & 255] ^ tables[2][(high >> 8) & 255] ^
                tables[1][(high >> 16) & 255] ^ tables[0][high >> 24];
    }
    for (; n; n--, p++)
        state = (state >> 8) ^ tables[0][(state ^ *p) & 255];
    return state;
}

uint32_t crc32c(uint32_t crc, const void *bytes, size_t n) {
    pthread_once(&once, prepare);
    if (!n)
        return crc;
#if defined(__x86_64__)
    if (by_instruction)
        return ~instruction_crc(~crc, bytes, n);
#endif
    return ~table_crc(~crc, bytes, n);
}
