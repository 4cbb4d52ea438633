// Random numbers — the ops that draw from a stream of their own: uniform, normal, truncated normal, integers.
#include "ops/random/stream.h"

static Status *prepare_uniform(Prepare *p) {
    return filling_prepare(p, RANDOM_UNIFORM);
}
static Status *prepare_normal(Prepare *p) {
    return filling_prepare(p, RANDOM_NORMAL);
}
static Status *prepare_truncated(Prepare *p) {
    return filling_prepare(p, RANDOM_TRUNCATED);
}
static Status *prepare_bits(Prepare *p) {
    return filling_prepare(p, RANDOM_BITS);
}

static Status *random_run(Kernel *k) {
    const Filling *filling = k->own;
    Philox philox;
    TRY(stream_take(k, random_reserved((uint64_t)filling->count), &philox));
    return filling_run(k, &philox);
}

const Op op_RandomUniform = {
    .signature = "RandomUniform(shape: T) -> output: dtype; seed: int = 0; seed2: int = 0; dtype: floats_half_first; "
                 "T: {int32, int64}; stateful",
    .doc = "Numbers in [0, 1), all alike.", .needs = "vector(shape)", .shape = random_shape, .host = BIT(0),
    .prepare = prepare_uniform, .own_size = sizeof(Filling), .cpu = ANY_TYPE(random_run), .flags = OP_NO_GRADIENT,
    HAS_STREAM, .hlo = random_uniform_hlo,
};
const Op op_RandomStandardNormal = {
    .signature = "RandomStandardNormal(shape: T) -> output: dtype; seed: int = 0; seed2: int = 0; "
                 "dtype: floats_half_first; T: {int32, int64}; stateful",
    .doc = "Numbers of the normal distribution.", .needs = "vector(shape)", .shape = random_shape, .host = BIT(0),
    .prepare = prepare_normal, .own_size = sizeof(Filling), .cpu = ANY_TYPE(random_run), .flags = OP_NO_GRADIENT,
    HAS_STREAM, .hlo = random_normal_hlo,
};
const Op op_TruncatedNormal = {
    .signature = "TruncatedNormal(shape: T) -> output: dtype; seed: int = 0; seed2: int = 0; "
                 "dtype: floats_half_first; T: {int32, int64}; stateful",
    .doc = "Numbers of the normal distribution within two deviations.", .needs = "vector(shape)",
    .shape = random_shape, .host = BIT(0), .prepare = prepare_truncated, .own_size = sizeof(Filling),
    .cpu = ANY_TYPE(random_run), .flags = OP_NO_GRADIENT, HAS_STREAM,
};

static Status *random_int_run(Kernel *k) {
    const Filling *filling = k->own;
    Philox philox;
    TRY(stream_take(k, random_reserved((uint64_t)filling->count), &philox));
    return filling_run_int(k, &philox, k->in[1], k->in[2]);
}

const Op op_RandomUniformInt = {
    .signature =
        "RandomUniformInt(shape: T, minval: Tout, maxval: Tout) -> output: Tout; seed: int = 0; seed2: int = 0; "
                 "Tout: {int32, int64}; T: {int32, int64}; stateful",
    .doc = "Integers in [minval, maxval), all alike.", .needs = "vector(shape), scalar(minval), scalar(maxval)",
    .shape = random_shape, .host = BIT(0), .prepare = prepare_bits, .own_size = sizeof(Filling),
    .cpu = ANY_TYPE(random_int_run), .flags = OP_NO_GRADIENT, HAS_STREAM, .hlo = random_int_hlo,
};
