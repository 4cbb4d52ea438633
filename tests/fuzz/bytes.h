// Bytes — what a fuzz target decides by: the input's bytes in turn, then numbers drawn from all of them.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const uint8_t *at, *end;
    uint64_t drawn;
} Bytes;

static inline Bytes bytes_of(const uint8_t *bytes, size_t n) {
    Bytes in = {.at = bytes, .end = bytes + n, .drawn = 0x9e3779b97f4a7c15u};
    for (size_t i = 0; i < n; i++)
        in.drawn = (in.drawn ^ bytes[i]) * 0x100000001b3u;
    in.drawn |= 1;
    return in;
}

static inline unsigned next(Bytes *in) {
    if (in->at < in->end)
        return *in->at++;
    in->drawn ^= in->drawn << 13;
    in->drawn ^= in->drawn >> 7;
    in->drawn ^= in->drawn << 17;
    return (unsigned)(in->drawn >> 32) & 255;
}

static inline unsigned below(Bytes *in, unsigned n) {
    return next(in) % n;
}

static inline bool one_in(Bytes *in, unsigned n) {
    return below(in, n) == 0;
}
