// Stateless random numbers — ops whose numbers follow from their seed, or from a key and a counter, alone.
#include "ops/random/stream.h"

enum { ALGORITHM_PHILOX = 1, ALGORITHM_AUTO = 3 };

Philox stateless_philox(const Tensor *seed) {
    uint64_t first = (uint64_t)random_int(seed, 0), second = (uint64_t)random_int(seed, 1);
    Philox mixer = {.key = {0x3ec8f720, 0x02461e29},
                    .counter = {(uint32_t)first, (uint32_t)(first >> 32), (uint32_t)second, (uint32_t)(second >> 32)}};
    uint32_t mixed[4];
    philox_next(&mixer, mixed);
    return (Philox){.key = {mixed[0], mixed[1]}, .counter = {0, 0, mixed[2], mixed[3]}};
}

Status *stateless_keyed(const Tensor *key, const Tensor *counter, const Tensor *algorithm, Philox *out) {
    int64_t which = tensor_int(algorithm, 0);
    NEED(which == ALGORITHM_PHILOX || which == ALGORITHM_AUTO, INVALID_ARGUMENT, "Unsupported algorithm id: %lld",
         (long long)which);
    NEED(tensor_count(counter) >= 2, INVALID_ARGUMENT, "counter must have at least 2 elements, got %s",
         shape_text(&counter->shape));
    uint64_t k = *(const uint64_t *)key->data;
    const uint64_t *c = counter->data;
    *out = (Philox){.key = {(uint32_t)k, (uint32_t)(k >> 32)},
                    .counter = {(uint32_t)c[0], (uint32_t)(c[0] >> 32), (uint32_t)c[1], (uint32_t)(c[1] >> 32)}};
    return OK;
}

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

// ---------------------------------------- from a pair of seeds

#define SEED_NEEDS "vector(shape), vector(seed), dim(seed, 0) == 2"
#define STATELESS .shape = random_shape, .host = BIT(0), .own_size = sizeof(Filling), .flags = OP_NO_GRADIENT

static Status *seeded_run(Kernel *k) {
    Philox philox = stateless_philox(k->in[1]);
    return filling_run(k, &philox);
}
static Status *seeded_int_run(Kernel *k) {
    Philox philox = stateless_philox(k->in[1]);
    return filling_run_int(k, &philox, k->in[2], k->in[3]);
}

const Op op_StatelessRandomUniform = {
    .signature = "StatelessRandomUniform(shape: T, seed: Tseed) -> output: dtype; dtype: floats_half_first = float; "
                 "T: {int32, int64} = int32; Tseed: {int32, int64} = int64",
    .doc = "Numbers in [0, 1) that follow from the seed.", .needs = SEED_NEEDS, .prepare = prepare_uniform,
    .cpu = ANY_TYPE(seeded_run), STATELESS, .hlo = random_uniform_hlo,
};
const Op op_StatelessRandomNormal = {
    .signature = "StatelessRandomNormal(shape: T, seed: Tseed) -> output: dtype; dtype: floats_half_first = float; "
                 "T: {int32, int64} = int32; Tseed: {int32, int64} = int64",
    .doc = "Numbers of the normal distribution that follow from the seed.", .needs = SEED_NEEDS,
    .prepare = prepare_normal, .cpu = ANY_TYPE(seeded_run), STATELESS, .hlo = random_normal_hlo,
};
const Op op_StatelessTruncatedNormal = {
    .signature = "StatelessTruncatedNormal(shape: T, seed: Tseed) -> output: dtype; dtype: floats_half_first = float; "
                 "T: {int32, int64} = int32; Tseed: {int32, int64} = int64",
    .doc = "Normal numbers within two deviations that follow from the seed.", .needs = SEED_NEEDS,
    .prepare = prepare_truncated, .cpu = ANY_TYPE(seeded_run), STATELESS,
};

const Op op_StatelessRandomUniformInt = {
    .signature = "StatelessRandomUniformInt(shape: T, seed: Tseed, minval: dtype, maxval: dtype) -> output: dtype; "
                 "dtype: {int32, int64}; T: {int32, int64}; Tseed: {int32, int64} = int64",
    .doc = "Integers in [minval, maxval) that follow from the seed.", .prepare = prepare_bits,
    .needs = SEED_NEEDS ", scalar(minval), scalar(maxval)", .cpu = ANY_TYPE(seeded_int_run), STATELESS,
    .hlo = random_int_hlo,
};

const Op op_StatelessRandomUniformFullInt = {
    .signature = "StatelessRandomUniformFullInt(shape: T, seed: Tseed) -> output: dtype; dtype: {int32, int64, uint32, "
                 "uint64} = uint64; T: {int32, int64} = int32; Tseed: wide_integers = int64",
    .doc = "Integers of the whole range that follow from the seed.", .needs = SEED_NEEDS, .prepare = prepare_bits,
    .cpu = ANY_TYPE(seeded_run), STATELESS, .hlo = random_bits_hlo,
};

// ---------------------------------------- from a key and a counter

#define KEY_NEEDS "vector(shape), vector(key), dim(key, 0) == 1, vector(counter), scalar(alg)"

static Status *keyed_run(Kernel *k) {
    Philox philox;
    TRY(stateless_keyed(k->in[1], k->in[2], k->in[3], &philox));
    return filling_run(k, &philox);
}

const Op op_StatelessRandomUniformV2 = {
    .signature = "StatelessRandomUniformV2(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> output: dtype; "
                 "dtype: floats_half_first = float; Tshape: {int32, int64} = int32",
    .doc = "Numbers in [0, 1) that follow from key and counter.", .needs = KEY_NEEDS, .prepare = prepare_uniform,
    .cpu = ANY_TYPE(keyed_run), STATELESS, .hlo = random_uniform_hlo,
};
const Op op_StatelessRandomNormalV2 = {
    .signature = "StatelessRandomNormalV2(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> output: dtype; "
                 "dtype: floats_half_first = float; Tshape: {int32, int64} = int32",
    .doc = "Numbers of the normal distribution that follow from key and counter.", .needs = KEY_NEEDS,
    .prepare = prepare_normal, .cpu = ANY_TYPE(keyed_run), STATELESS, .hlo = random_normal_hlo,
};
const Op op_StatelessTruncatedNormalV2 = {
    .signature = "StatelessTruncatedNormalV2(shape: Tshape, key: uint64, counter: uint64, "
                 "alg: int32) -> output: dtype; dtype: floats_half_first = float; Tshape: {int32, int64} = int32",
    .doc = "Normal numbers within two deviations that follow from key and counter.", .needs = KEY_NEEDS,
    .prepare = prepare_truncated, .cpu = ANY_TYPE(keyed_run), STATELESS,
};

const Op op_StatelessRandomUniformFullIntV2 = {
    .signature = "StatelessRandomUniformFullIntV2(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> output: "
                 "dtype; dtype: wide_integers = uint64; Tshape: {int32, int64} = int32",
    .doc = "Integers of the whole range that follow from key and counter.", .needs = KEY_NEEDS, .prepare = prepare_bits,
    .cpu = ANY_TYPE(keyed_run), STATELESS, .hlo = random_bits_hlo,
};

static Status *keyed_int_run(Kernel *k) {
    Philox philox;
    TRY(stateless_keyed(k->in[1], k->in[2], k->in[3], &philox));
    return filling_run_int(k, &philox, k->in[4], k->in[5]);
}

const Op op_StatelessRandomUniformIntV2 = {
    .signature = "StatelessRandomUniformIntV2(shape: Tshape, key: uint64, counter: uint64, alg: int32, minval: dtype, "
                 "maxval: dtype) -> output: dtype; dtype: wide_integers; Tshape: {int32, int64} = int32",
    .doc = "Integers in [minval, maxval) that follow from key and counter.", .prepare = prepare_bits,
    .needs = KEY_NEEDS ", scalar(minval), scalar(maxval)", .cpu = ANY_TYPE(keyed_int_run), STATELESS,
    .hlo = random_int_hlo,
};

// ---------------------------------------- keys and counters

static Status *key_shape(Shapes *s) {
    s->out[0] = SHAPE(1);
    s->out[1] = SHAPE(2);
    if (s->n_out > 2)
        s->out[2] = SCALAR_SHAPE;
    return OK;
}

static Status *key_run(Kernel *k) {
    Philox philox = stateless_philox(k->in[0]);
    uint64_t *counter = k->out[1]->data;
    *(uint64_t *)k->out[0]->data = (uint64_t)philox.key[1] << 32 | philox.key[0];
    counter[0] = (uint64_t)philox.counter[1] << 32 | philox.counter[0];
    counter[1] = (uint64_t)philox.counter[3] << 32 | philox.counter[2];
    if (k->n_out > 2)
        *(int32_t *)k->out[2]->data = ALGORITHM_PHILOX;
    return OK;
}

const Op op_StatelessRandomGetKeyCounter = {
    .signature =
        "StatelessRandomGetKeyCounter(seed: Tseed) -> key: uint64, counter: uint64; Tseed: {int32, int64} = int64",
    .doc = "The generator of a pair of seeds.", .needs = "vector(seed), dim(seed, 0) == 2", .shape = key_shape,
    .cpu = ANY_TYPE(key_run), .flags = OP_NO_GRADIENT | OP_CHEAP,
};
const Op op_StatelessRandomGetKeyCounterAlg = {
    .signature = "StatelessRandomGetKeyCounterAlg(seed: Tseed) -> key: uint64, counter: uint64, alg: int32; "
                 "Tseed: {int32, int64} = int64",
    .doc = "The generator of a pair of seeds, and the algorithm.", .needs = "vector(seed), dim(seed, 0) == 2",
    .shape = key_shape, .cpu = ANY_TYPE(key_run), .flags = OP_NO_GRADIENT | OP_CHEAP,
};

static Status *algorithm_run(Kernel *k) {
    *(int32_t *)k->out[0]->data = ALGORITHM_PHILOX;
    return OK;
}

const Op op_StatelessRandomGetAlg = {
    .signature = "StatelessRandomGetAlg() -> alg: int32; stateful", .doc = "The algorithm of this device: 1, Philox.",
    .shape = shape_scalar, .cpu = ANY_TYPE(algorithm_run), .flags = OP_NO_GRADIENT | OP_CHEAP,
};
