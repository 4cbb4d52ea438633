// Random — see random.h. Every group of a block's results begins at a block of its own, so any range can be made alone.
//
// The numbers are TensorFlow's, to the bit: Philox 4x32-10, the order in which its CPU kernels consume a block, and its
// transformations to each distribution, the modulo of integers included (slightly biased where the range is no power of
// two). Any thread can make any part, since block i follows from the counter alone.
#include "loops/random.h"

#include <math.h>

#include "base/checked.h"
#include "loops/level/table.h"

Philox philox_seeded(uint64_t seed, uint64_t seed2) {
    return (Philox){.key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
                    .counter = {0, 0, (uint32_t)seed2, (uint32_t)(seed2 >> 32)}};
}

void philox_skip(Philox *p, uint64_t blocks) {
    uint64_t low = (uint64_t)p->counter[1] << 32 | p->counter[0], high = (uint64_t)p->counter[3] << 32 | p->counter[2];
    high += low + blocks < low;
    low += blocks;
    p->counter[0] = (uint32_t)low, p->counter[1] = (uint32_t)(low >> 32);
    p->counter[2] = (uint32_t)high, p->counter[3] = (uint32_t)(high >> 32);
}

void philox_take(Philox *p, int64_t blocks, uint32_t *out) {
    loops_table()->philox(p->key, p->counter, 0, blocks, out);
    philox_skip(p, (uint64_t)blocks);
}

void philox_next(Philox *p, uint32_t out[4]) {
    philox_take(p, 1, out);
}

uint32_t philox_number(PhiloxNumbers *numbers) {
    if (!numbers->left) {
        philox_next(&numbers->philox, numbers->block);
        numbers->left = 4;
    }
    return numbers->block[4 - numbers->left--];
}

// TensorFlow's kernels skip 256 numbers an element after each call, whatever they drew; the next call's numbers depend
// on it.
uint64_t random_reserved(uint64_t n) {
    return n * 256;
}

// ---- numbers of bits: mantissas under the exponent of 1, less 1 ----

// Mantissas under the exponent of 1, less 1: uniform in [0, 1) with as many bits as the type has.
static inline float unit_float(uint32_t x) {
    uint32_t bits = 127u << 23 | (x & 0x7fffff);
    float f;
    memcpy(&f, &bits, 4);
    return f - 1.0f;
}
static inline double unit_double(uint32_t high, uint32_t low) {
    uint64_t bits = 1023ull << 52 | (uint64_t)(high & 0xfffff) << 32 | low;
    double d;
    memcpy(&d, &bits, 8);
    return d - 1.0;
}
static inline Half unit_half(uint32_t x) {
    return half_from_float(half_to_float((Half){(uint16_t)(15u << 10 | (x & 0x3ff))}) - 1.0f);
}
static inline Bfloat16 unit_bfloat16(uint32_t x) {
    return bfloat16_from_float(bfloat16_to_float((Bfloat16){(uint16_t)(127u << 7 | (x & 0x7f))}) - 1.0f);
}

// Box and Muller: two uniform numbers become two normal ones.
static void normal_pair(uint32_t x, uint32_t y, float out[2]) {
    float u = unit_float(x), angle = (float)(2 * 3.14159265358979323846 * (double)unit_float(y));
    // The logarithm of 0.
    u = u < 1e-7f ? 1e-7f : u;
    float length = sqrtf(-2.0f * logf(u));
    out[0] = sinf(angle) * length;
    out[1] = cosf(angle) * length;
}
static void normal_pair_double(const uint32_t x[4], double out[2]) {
    double u = unit_double(x[0], x[1]), angle = 2 * 3.14159265358979323846 * unit_double(x[2], x[3]);
    u = u < 1e-7 ? 1e-7 : u;
    double length = sqrt(-2.0 * log(u));
    out[0] = sin(angle) * length;
    out[1] = cos(angle) * length;
}

static void put(DType dtype, void *out, int64_t i, float x) {
    switch (dtype) {
    case DT_half: ((Half *)out)[i] = half_from_float(x); break;
    case DT_bfloat16: ((Bfloat16 *)out)[i] = bfloat16_from_float(x); break;
    default: ((float *)out)[i] = x; break;
    }
}

// Elements per block: four of up to 32 bits, two of 64.
static int per_block(DType dtype) {
    return dtype_size(dtype) == 8 ? 2 : 4;
}

static void fill_from(RandomKind kind, DType dtype, const uint32_t *x, void *out, int64_t at, int64_t i, int64_t n) {
    // x[0] is the first number of the block of element `at`; elements at + i ... of it, i < n.
    if (kind == RANDOM_UNIFORM) {
        for (; i < n; i++)
            switch (dtype) {
            case DT_half: ((Half *)out)[at + i] = unit_half(x[i]); break;
            case DT_bfloat16: ((Bfloat16 *)out)[at + i] = unit_bfloat16(x[i]); break;
            case DT_double: ((double *)out)[at + i] = unit_double(x[2 * i], x[2 * i + 1]); break;
            default: ((float *)out)[at + i] = unit_float(x[i]); break;
            }
    } else if (kind == RANDOM_BITS) {
        for (; i < n; i++)
            if (dtype_size(dtype) == 8)
                ((uint64_t *)out)[at + i] = (uint64_t)x[2 * i + 1] << 32 | x[2 * i];
            else
                ((uint32_t *)out)[at + i] = x[i];
    } else if (dtype == DT_double) {
        for (; i < n; i++) {
            double pair[2];
            normal_pair_double(x + i / 2 * 4, pair);
            ((double *)out)[at + i] = pair[i % 2];
        }
    } else {
        for (; i < n;) {
            float pair[2];
            normal_pair(x[i / 2 * 2], x[i / 2 * 2 + 1], pair);
            int64_t end = min_i64(n, i / 2 * 2 + 2);
            for (; i < end; i++)
                put(dtype, out, at + i, pair[i % 2]);
        }
    }
}

// Numbers one by one, from a generator of one's own.
typedef struct {
    Philox philox;
    uint32_t block[4];
    int used;
} Stream;
static uint32_t stream_next(Stream *s) {
    if (s->used == 4) {
        philox_next(&s->philox, s->block);
        s->used = 0;
    }
    return s->block[s->used++];
}

// Normal numbers beyond two deviations are drawn again. Each group has 256 numbers reserved per element.
static void fill_truncated(const Philox *philox, DType dtype, void *out, int64_t first, int64_t last) {
    int64_t group = per_block(dtype);
    for (int64_t g = first / group; g * group < last; g++) {
        Stream stream = {.philox = *philox, .used = 4};
        philox_skip(&stream.philox, (uint64_t)g * (uint64_t)group * 64);
        for (int64_t made = 0; made < group;) {
            double pair[2];
            if (dtype == DT_double) {
                uint32_t x[4];
                for (int i = 0; i < 4; i++)
                    x[i] = stream_next(&stream);
                normal_pair_double(x, pair);
            } else {
                float narrow[2];
                uint32_t x = stream_next(&stream), y = stream_next(&stream);
                normal_pair(x, y, narrow);
                pair[0] = (double)narrow[0], pair[1] = (double)narrow[1];
            }
            for (int i = 0; i < 2 && made < group; i++) {
                int64_t at = g * group + made;
                if (!(fabs(pair[i]) < 2))
                    continue;
                made++;
                if (at < first || at >= last)
                    continue;
                if (dtype == DT_double)
                    ((double *)out)[at] = pair[i];
                else
                    put(dtype, out, at, (float)pair[i]);
            }
        }
    }
}

static bool takes(RandomKind kind, DType dtype) {
    if (kind == RANDOM_BITS)
        return dtype == DT_int32 || dtype == DT_int64 || dtype == DT_uint32 || dtype == DT_uint64;
    return dtype == DT_half || dtype == DT_bfloat16 || dtype == DT_float || dtype == DT_double;
}

bool random_fill(const Philox *philox, RandomKind kind, DType dtype, void *out, int64_t first, int64_t last) {
    if (!takes(kind, dtype))
        return false;
    if (kind == RANDOM_TRUNCATED) {
        fill_truncated(philox, dtype, out, first, last);
        return true;
    }
    enum { BLOCKS = 128 };
    uint32_t numbers[BLOCKS * 4];
    int64_t group = per_block(dtype);
    while (first < last) {
        int64_t block = first / group, at = block * group, end = min_i64(last, at + BLOCKS * group);
        loops_table()->philox(philox->key, philox->counter, (uint64_t)block, div_up(end - at, group), numbers);
        fill_from(kind, dtype, numbers, out, at, first - at, end - at);
        first = end;
    }
    return true;
}

bool random_fill_int(const Philox *philox, DType dtype, int64_t low, int64_t high, void *out, int64_t first,
                     int64_t last) {
    if (dtype != DT_int32 && dtype != DT_int64)
        return false;
    enum { BLOCKS = 128 };
    uint32_t numbers[BLOCKS * 4];
    uint64_t range = (uint64_t)high - (uint64_t)low;
    uint32_t narrow = (uint32_t)range;
    int64_t group = per_block(dtype);
    if (range == 0 || (dtype == DT_int32 && narrow == 0))
        return false;
    while (first < last) {
        int64_t block = first / group, at = block * group, end = min_i64(last, at + BLOCKS * group);
        loops_table()->philox(philox->key, philox->counter, (uint64_t)block, div_up(end - at, group), numbers);
        for (int64_t i = first - at; i < end - at; i++) {
            if (dtype == DT_int32) {
                ((int32_t *)out)[at + i] = (int32_t)((uint32_t)low + numbers[i] % narrow);
            } else {
                uint64_t x = (uint64_t)numbers[2 * i + 1] << 32 | numbers[2 * i];
                ((int64_t *)out)[at + i] = (int64_t)((uint64_t)low + x % range);
            }
        }
        first = end;
    }
    return true;
}
