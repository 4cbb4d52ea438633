// StatefulUniform and its kin, RngSkip, RngReadAndSkip — random numbers whose generator lies in a variable: int64 [counter,
// counter, key], as tf.random.Generator keeps it.
#include "ops/random/stream.h"

enum { STATE_SIZE = 3, SKIPPED = 256 };   // of every number a generator goes 256 blocks further

static Status *generator_read(const Kernel *k, int64_t algorithm, Philox *out) {
    const Tensor *state = k->in[0];
    NEED(algorithm == 1, INVALID_ARGUMENT, "Unsupported algorithm id: %lld", (long long)algorithm);
    NEED(state->dtype == DT_int64, INVALID_ARGUMENT, "dtype of RNG state variable must be int64, not %s",
         dtype_name(state->dtype));
    NEED(state->shape.rank == 1, INVALID_ARGUMENT, "RNG state must have one and only one dimension, not %d",
         state->shape.rank);
    NEED(state->shape.dims[0] >= STATE_SIZE, INVALID_ARGUMENT,
         "For the Philox algorithm, the size of state must be at least %d; got %lld", STATE_SIZE,
         (long long)state->shape.dims[0]);
    const uint64_t *at = state->data;
    *out = (Philox){.key = {(uint32_t)at[2], (uint32_t)(at[2] >> 32)},
                    .counter = {(uint32_t)at[0], (uint32_t)(at[0] >> 32), (uint32_t)at[1], (uint32_t)(at[1] >> 32)}};
    return OK;
}

// The variable becomes the generator so many numbers further.
static void generator_skip(const Kernel *k, Philox philox, uint64_t numbers) {
    uint64_t *at = k->in[0]->data;
    philox_skip(&philox, numbers * SKIPPED);
    at[0] = (uint64_t)philox.counter[1] << 32 | philox.counter[0];
    at[1] = (uint64_t)philox.counter[3] << 32 | philox.counter[2];
}

static Status *stateful_shape(Shapes *s) {
    const Tensor *value = s->value[2];
    for (int64_t i = 0; value && i < tensor_count(value); i++)
        NEED(random_int(value, i) >= 0, INVALID_ARGUMENT, "Dimension %lld must be >= 0, got %lld", (long long)i,
             (long long)random_int(value, i));
    return shapes_input_shape(s, 2, &s->out[0]);
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

static bool is_float(DType dtype) {
    return dtype == DT_half || dtype == DT_bfloat16 || dtype == DT_float || dtype == DT_double;
}

static bool is_wide_integer(DType dtype) {
    return dtype == DT_int32 || dtype == DT_int64 || dtype == DT_uint32 || dtype == DT_uint64;
}

static Status *stateful_run(Kernel *k) {
    const Filling *filling = k->own;
    Philox philox;
    NEED(filling->kind == RANDOM_BITS ? is_wide_integer(filling->dtype) : is_float(filling->dtype), UNIMPLEMENTED,
         "no kernel for type %s", dtype_name(filling->dtype));
    TRY(generator_read(k, tensor_int(k->in[1], 0), &philox));
    generator_skip(k, philox, (uint64_t)filling->count);
    return filling_run(k, &philox);
}

static Status *stateful_int_run(Kernel *k) {
    const Filling *filling = k->own;
    Philox philox;
    NEED(is_wide_integer(filling->dtype), UNIMPLEMENTED, "no kernel for type %s", dtype_name(filling->dtype));
    TRY(generator_read(k, tensor_int(k->in[1], 0), &philox));
    TRY(filling_run_int(k, &philox, k->in[3], k->in[4]));
    generator_skip(k, philox, (uint64_t)filling->count);
    return OK;
}

#define STATEFUL .shape = stateful_shape, .own_size = sizeof(Filling), .host = BIT(1) | BIT(2), .update = BIT(0), \
    .flags = OP_NO_GRADIENT | OP_OTHER_TYPES
#define STATEFUL_NEEDS "scalar(algorithm), vector(shape)"
const Op op_StatefulUniform = {
    .signature = "StatefulUniform(resource: resource, algorithm: int64, shape: shape_dtype) -> output: dtype; dtype: type "
                 "= float; shape_dtype: type = int64; stateful",
    .doc = "Numbers in [0, 1) of the generator in a variable.", .needs = STATEFUL_NEEDS, .prepare = prepare_uniform,
    .cpu = ANY_TYPE(stateful_run), STATEFUL,
};
const Op op_StatefulStandardNormalV2 = {
    .signature = "StatefulStandardNormalV2(resource: resource, algorithm: int64, shape: shape_dtype) -> output: dtype; "
                 "dtype: type = float; shape_dtype: type = int64; stateful",
    .doc = "Normal numbers of the generator in a variable.", .needs = STATEFUL_NEEDS, .prepare = prepare_normal,
    .cpu = ANY_TYPE(stateful_run), STATEFUL,
};
const Op op_StatefulTruncatedNormal = {
    .signature = "StatefulTruncatedNormal(resource: resource, algorithm: int64, shape: shape_dtype) -> output: dtype; "
                 "dtype: type = float; shape_dtype: type = int64; stateful",
    .doc = "Normal numbers within two deviations of the generator in a variable.", .needs = STATEFUL_NEEDS,
    .prepare = prepare_truncated, .cpu = ANY_TYPE(stateful_run), STATEFUL,
};
const Op op_StatefulUniformFullInt = {
    .signature = "StatefulUniformFullInt(resource: resource, algorithm: int64, shape: shape_dtype) -> output: dtype; "
                 "dtype: type = uint64; shape_dtype: type = int64; stateful",
    .doc = "Integers of the whole range of the generator in a variable.", .needs = STATEFUL_NEEDS,
    .prepare = prepare_bits, .cpu = ANY_TYPE(stateful_run), STATEFUL,
};
const Op op_StatefulUniformInt = {
    .signature = "StatefulUniformInt(resource: resource, algorithm: int64, shape: shape_dtype, minval: dtype, maxval: "
                 "dtype) -> output: dtype; dtype: type = int64; shape_dtype: type = int64; stateful",
    .doc = "Integers in [minval, maxval) of the generator in a variable.",
    .needs = STATEFUL_NEEDS ", scalar(minval), scalar(maxval)", .prepare = prepare_bits,
    .cpu = ANY_TYPE(stateful_int_run), STATEFUL,
};

// ---------------------------------------- going on without numbers

static Status *skip_run(Kernel *k) {
    Philox philox;
    int64_t delta = tensor_int(k->in[2], 0);
    TRY(generator_read(k, tensor_int(k->in[1], 0), &philox));
    generator_skip(k, philox, (uint64_t)delta);
    return OK;
}

static Status *read_and_skip_run(Kernel *k) {
    Philox philox;
    uint64_t delta = *(const uint64_t *)k->in[2]->data;
    TRY(generator_read(k, *(const int32_t *)k->in[1]->data, &philox));
    memcpy(k->out[0]->data, k->in[0]->data, STATE_SIZE * sizeof(int64_t));
    generator_skip(k, philox, delta);
    return OK;
}

static Status *state_shape(Shapes *s) {
    s->out[0] = SHAPE(STATE_SIZE);
    return OK;
}

const Op op_RngSkip = {
    .signature = "RngSkip(resource: resource, algorithm: int64, delta: int64); stateful",
    .doc = "Moves the generator in a variable on as for so many numbers.", .needs = "scalar(algorithm), scalar(delta)",
    .shape = shape_none, .cpu = ANY_TYPE(skip_run), .host = BIT(1) | BIT(2), .update = BIT(0),
    .flags = OP_NO_GRADIENT | OP_OTHER_TYPES,
};
const Op op_RngReadAndSkip = {
    .signature = "RngReadAndSkip(resource: resource, alg: int32, delta: uint64) -> value: int64; stateful",
    .doc = "The state of the generator in a variable, which is moved on as for so many numbers.",
    .needs = "scalar(alg), scalar(delta)", .shape = state_shape, .cpu = ANY_TYPE(read_and_skip_run),
    .host = BIT(1) | BIT(2), .update = BIT(0),
    .flags = OP_NO_GRADIENT | OP_OTHER_TYPES,
};
