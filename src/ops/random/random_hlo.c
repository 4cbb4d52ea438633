// Random numbers for devices that compile — Philox written out in integers, and what is made of its bits, as in
// loops/random.c.
//
// A generator is a vector of six uint32, key and counter: a stateful node's stream, which the host advances, or what a pair
// of seeds or a key and a counter say.
#include "ops/random/stream.h"

typedef struct {
    HloValue key[2], counter[2];   // key uint32, counter uint64: scalars
} Generator;

static HloValue low_half(Hlo *h, HloValue x) {
    return hlo_cast(h, x, DT_uint32);
}
static HloValue high_half(Hlo *h, HloValue x) {
    return hlo_cast(h, hlo_binary(h, "shift_right_logical", x, hlo_like(h, 32, x)), DT_uint32);
}
static HloValue joined(Hlo *h, HloValue low, HloValue high) {  // uint32s as uint64
    HloValue top = hlo_cast(h, high, DT_uint64);
    return hlo_or(h, hlo_cast(h, low, DT_uint64), hlo_binary(h, "shift_left", top, hlo_like(h, 32, top)));
}
static HloValue element(Hlo *h, HloValue vector, int64_t i) {
    return hlo_reshape(h, hlo_part(h, vector, 0, i, i + 1), SCALAR_SHAPE);
}

// One block, in place: ten rounds of x under the key.
static void rounds(Hlo *h, HloValue x[4], HloValue key_0, HloValue key_1) {
    for (int i = 0; i < 10; i++) {
        HloValue p = hlo_mul(h, hlo_cast(h, x[0], DT_uint64), hlo_int(h, 0xD2511F53, DT_uint64));
        HloValue q = hlo_mul(h, hlo_cast(h, x[2], DT_uint64), hlo_int(h, 0xCD9E8D57, DT_uint64));
        HloValue k0 = hlo_add(h, key_0, hlo_int(h, (uint32_t)i * 0x9E3779B9u, DT_uint32));
        HloValue k1 = hlo_add(h, key_1, hlo_int(h, (uint32_t)i * 0xBB67AE85u, DT_uint32));
        x[0] = hlo_xor(h, hlo_xor(h, high_half(h, q), x[1]), k0);
        x[1] = low_half(h, q);
        x[2] = hlo_xor(h, hlo_xor(h, high_half(h, p), x[3]), k1);
        x[3] = low_half(h, p);
    }
}

static Generator of_stream(Hlo *h, uint64_t blocks) {
    HloValue all = hlo_stream(h, blocks), x[6];
    for (int i = 0; i < 6; i++)
        x[i] = element(h, all, i);
    return (Generator){{x[0], x[1]}, {joined(h, x[2], x[3]), joined(h, x[4], x[5])}};
}

// The pair runs once through the generator itself.
static Generator of_seeds(Hlo *h, HloValue seeds) {
    seeds = hlo_bitcast(h, hlo_cast(h, seeds, DT_int64), DT_uint64, SHAPE(2));
    HloValue first = element(h, seeds, 0), second = element(h, seeds, 1);
    HloValue x[4] = {low_half(h, first), high_half(h, first), low_half(h, second), high_half(h, second)};
    rounds(h, x, hlo_int(h, 0x3ec8f720, DT_uint32), hlo_int(h, 0x02461e29, DT_uint32));
    return (Generator){{x[0], x[1]}, {hlo_int(h, 0, DT_uint64), joined(h, x[2], x[3])}};
}

static Generator of_key(Hlo *h, HloValue key, HloValue counter) {
    key = hlo_reshape(h, key, SCALAR_SHAPE);
    return (Generator){{low_half(h, key), high_half(h, key)}, {element(h, counter, 0), element(h, counter, 1)}};
}

// Its next n numbers, a vector of uint32.
static HloValue numbers(Hlo *h, const Generator *g, int64_t n) {
    int64_t blocks = div_up(n, 4);
    HloValue at = hlo_iota(h, DT_uint64, SHAPE(blocks), 0), low = hlo_add(h, g->counter[0], at);
    HloValue high = hlo_add(h, g->counter[1], hlo_cast(h, hlo_lt(h, low, at), DT_uint64));  // the carry
    HloValue x[4] = {low_half(h, low), high_half(h, low), low_half(h, high), high_half(h, high)};
    rounds(h, x, g->key[0], g->key[1]);
    for (int i = 0; i < 4; i++)
        x[i] = hlo_expand(h, x[i], 1);
    return hlo_part(h, hlo_flat(h, hlo_concat(h, x, 4, 1)), 0, 0, n);
}

// Mantissas under the exponent of 1, less 1: of doubles two numbers each, the high one first.
static HloValue unit(Hlo *h, HloValue x, DType dtype) {
    if (dtype == DT_double) {
        int64_t n = x->shape.dims[0] / 2;
        HloValue pairs = hlo_reshape(h, x, SHAPE(n, 2));
        HloValue high = hlo_flat(h, hlo_part(h, pairs, 1, 0, 1)), low = hlo_flat(h, hlo_part(h, pairs, 1, 1, 2));
        HloValue bits = joined(h, low, hlo_and(h, high, hlo_like(h, 0xfffff, high)));
        bits = hlo_or(h, bits, hlo_int(h, 1023ll << 52, DT_uint64));
        return hlo_plus(h, hlo_bitcast(h, bits, DT_double, bits->shape), -1);
    }
    // In float: fewer bits of mantissa lie at its upper end.
    int shift = dtype == DT_half ? 13 : dtype == DT_bfloat16 ? 16 : 0;
    HloValue mantissa = hlo_and(h, x, hlo_like(h, (double)(0x7fffff >> shift), x));
    mantissa = hlo_binary(h, "shift_left", mantissa, hlo_like(h, shift, mantissa));
    HloValue bits = hlo_or(h, mantissa, hlo_like(h, (double)(127 << 23), mantissa));
    return hlo_cast(h, hlo_plus(h, hlo_bitcast(h, bits, DT_float, bits->shape), -1), dtype);
}

// Box and Muller: two uniform numbers become two normal ones, n even.
static HloValue normals(Hlo *h, HloValue uniform, int64_t n) {
    HloValue pairs = hlo_reshape(h, uniform, SHAPE(n / 2, 2)), u = hlo_part(h, pairs, 1, 0, 1);
    HloValue angle = hlo_times(h, hlo_part(h, pairs, 1, 1, 2), 6.283185307179586);
    HloValue length = hlo_sqrt(h, hlo_times(h, hlo_log(h, hlo_max(h, u, hlo_like(h, 1e-7, u))), -2));
    HloValue both[2] = {hlo_mul(h, hlo_unary(h, "sine", angle), length), hlo_mul(h, hlo_unary(h, "cosine", angle), length)};
    return hlo_flat(h, hlo_concat(h, both, 2, 1));
}

// From the bits, integers in [low, high).
static HloValue between(Hlo *h, HloValue bits, HloValue low, HloValue high) {
    DType wide = dtype_size(low->dtype) == 8 ? DT_uint64 : DT_uint32;
    hlo_check(h, hlo_lt(h, low, high), INVALID_ARGUMENT, "Need minval < maxval");
    HloValue from = hlo_bitcast(h, low, wide, low->shape), range = hlo_sub(h, hlo_bitcast(h, high, wide, high->shape), from);
    HloValue one = hlo_like(h, 1, range), safe = hlo_select(h, hlo_is(h, "EQ", range, 0), one, range);
    HloValue at = hlo_add(h, from, hlo_rem(h, bits, safe));
    return hlo_bitcast(h, at, low->dtype, at->shape);
}

typedef enum { UNIFORM, NORMAL, BITS, BETWEEN } Kind;

static Status *write_random(Hlo *h, Kind kind) {
    const Shape *out = hlo_out_shape(h, 0);
    const Signature *signature = &h->node->type->signature;
    NEED(shape_is_known(out), UNIMPLEMENTED, "the shape is not known");
    DType dtype = hlo_out_type(h, 0);
    int64_t count = shape_count(out), even = count + count % 2;
    bool seeded = signature->n_inputs > 1 && str_is(signature->inputs[1].name, "seed"), wide = dtype_size(dtype) == 8;
    NEED(count > 0, UNIMPLEMENTED, "no numbers");
    if (!node_op(h->node)->open && !seeded) {
        enum { PHILOX = 1, AUTOMATIC = 3 };
        double algorithm = hlo_need_number(h, 3, 0);
        TRY(h->status);
        NEED(algorithm == PHILOX || algorithm == AUTOMATIC, UNIMPLEMENTED, "algorithm %.0f", algorithm);
    }
    Generator g = node_op(h->node)->open ? of_stream(h, random_reserved((uint64_t)count))
                : seeded ? of_seeds(h, hlo_in(h, 1)) : of_key(h, hlo_in(h, 1), hlo_in(h, 2));
    int64_t needed = kind == NORMAL ? even : count;
    HloValue bits = numbers(h, &g, wide ? 2 * needed : needed), y;
    if (kind == UNIFORM || kind == NORMAL) {
        y = unit(h, bits, kind == NORMAL && !wide ? DT_float : dtype);
        y = kind == NORMAL ? hlo_cast(h, hlo_part(h, normals(h, y, even), 0, 0, count), dtype) : y;
        return hlo_out(h, 0, hlo_reshape(h, y, *out));
    }
    if (wide) {
        HloValue pairs = hlo_reshape(h, bits, SHAPE(count, 2));
        bits = joined(h, hlo_flat(h, hlo_part(h, pairs, 1, 0, 1)), hlo_flat(h, hlo_part(h, pairs, 1, 1, 2)));
    }
    y = kind == BITS ? hlo_bitcast(h, bits, dtype, bits->shape)
                     : between(h, bits, hlo_in(h, h->n_in - 2), hlo_in(h, h->n_in - 1));
    return hlo_out(h, 0, hlo_reshape(h, y, *out));
}

Status *random_uniform_hlo(Hlo *h) {
    return write_random(h, UNIFORM);
}
Status *random_normal_hlo(Hlo *h) {
    return write_random(h, NORMAL);
}
Status *random_bits_hlo(Hlo *h) {
    return write_random(h, BITS);
}
Status *random_int_hlo(Hlo *h) {
    return write_random(h, BETWEEN);
}
