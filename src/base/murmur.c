// Murmur — see murmur.h.
#include "base/murmur.h"

#include <string.h>

static uint64_t mix_shift(uint64_t v) {
    return v ^ v >> 47;
}

uint64_t murmur_hash(Str text) {
    const uint64_t factor = UINT64_C(0xc6a4a7935bd1e995);
    uint64_t hash = UINT64_C(0xdecafcaffe) ^ text.n * factor, word;
    const char *p = text.p;
    size_t n = text.n;
    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&word, p, 8);
        hash = (hash ^ mix_shift(word * factor) * factor) * factor;
    }
    if (n) {
        for (size_t i = 0; i < n; i++)
            hash ^= (uint64_t)(unsigned char)p[i] << (8 * i);
        hash *= factor;
    }
    return mix_shift(mix_shift(hash) * factor);
}
