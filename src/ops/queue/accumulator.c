// Conditional accumulators — gradients summed up until enough have come, dense and sparse; taking waits without a thread.
//
// The first version of each op takes a reference to a string, the second a resource; in memory both are a handle.
#define SELF "ops/queue/accumulator.c"
#include "ops/op.h"

#ifdef T  // ---------------------------------------- arithmetic, once per dtype

static void FN(add)(void *sum, const void *more, int64_t n) {
    T *x = sum;
    const T *y = more;
    for (int64_t i = 0; i < n; i++)
        x[i] = STORE(LOAD(x[i]) + LOAD(y[i]));
}

static void FN(divide)(void *sum, int64_t by, int64_t n) {
    T *x = sum;
    ACC divisor = (ACC)by;
    if (divisor == 0)
        return;  // so many gradients that a small integer can't count them
    for (int64_t i = 0; i < n; i++)
        x[i] = STORE(LOAD(x[i]) / divisor);
}

#else  // ---------------------------------------- making
#include "resource/accumulator.h"
#include "resource/handle.h"

#define EACH_NUMBER
#include "ops/each_dtype.h"

#define MATH_ROW(dtype, unused) [DT_##dtype] = {add_##dtype, divide_##dtype},
static const AccumulatorMath MATH[DTYPES] = {NUMBERS(MATH_ROW, )};

typedef struct {
    Tensor handle;
} AccumulatorNode;

static Status *create(void *arg, Resource **out) {
    Accumulator *accumulator;
    TRY(accumulator_new(arg, &accumulator));
    *out = (Resource *)accumulator;
    return OK;
}

static Status *open_kind(Opening *o, bool sparse) {
    AccumulatorNode *state = o->state;
    AccumulatorSpec spec = {.dtype = node_type(o->node, "dtype"), .shape = *node_attr_find(o->node, "shape")->shape,
                            .sparse = sparse, .mean = str_equal(node_str(o->node, "reduction_type"), STR("MEAN"))};
    spec.math = &MATH[spec.dtype];
    NEED(spec.math->add, UNIMPLEMENTED, "an accumulator of %s", dtype_name(spec.dtype));
    Str name = node_str(o->node, "shared_name");
    AUTO(resource) Resource *resource = NULL;
    TRY(resource_find_or_create(o->resources, node_str(o->node, "container"), name.n ? name : o->name,
                                &accumulator_type, create, &spec, &resource));
    TRY(accumulator_check_spec(accumulator_of(resource), &spec));
    return handle_tensor(resource, kernel_device_name(o->node), DT_INVALID, UNKNOWN_SHAPE, &state->handle);
}

static Status *open_dense(Opening *o) {
    return open_kind(o, false);
}

static Status *open_sparse(Opening *o) {
    return open_kind(o, true);
}

static void close_node(void *state) {
    tensor_clear(&((AccumulatorNode *)state)->handle);
}

static Status *handle_run(Kernel *k) {
    const AccumulatorNode *state = k->state;
    NEED(state, FAILED_PRECONDITION, "an accumulator needs a session to live in");
    kernel_set_output(k, 0, tensor_retain(&state->handle));
    return OK;
}

static const Tensor *node_handle(const void *state) {
    return &((const AccumulatorNode *)state)->handle;
}

#define DENSE "An accumulator of gradients, made at its first use."
const Op op_ConditionalAccumulator = {
    .signature = "ConditionalAccumulator() -> handle: ref string; dtype: numbers; shape: shape; "
                 "container: string = \"\"; shared_name: string = \"\"; "
                 "reduction_type: {\"MEAN\", \"SUM\"} = \"MEAN\"; stateful",
    .doc = DENSE, .shape = shape_scalar, .open = open_dense, .close = close_node,
    .state_size = sizeof(AccumulatorNode), .value = node_handle, .cpu = ANY_TYPE(handle_run),
    .flags = OP_DYNAMIC_SHAPE | OP_CHEAP | OP_NO_GRADIENT,
};
const Op op_ResourceConditionalAccumulator = {
    .signature = "ResourceConditionalAccumulator() -> handle: resource; dtype: numbers; shape: shape; "
                 "container: string = \"\"; shared_name: string = \"\"; "
                 "reduction_type: {\"MEAN\", \"SUM\"} = \"MEAN\"; stateful",
    .doc = DENSE, .shape = shape_scalar, .open = open_dense, .close = close_node,
    .state_size = sizeof(AccumulatorNode), .value = node_handle, .cpu = ANY_TYPE(handle_run),
    .flags = OP_DYNAMIC_SHAPE | OP_CHEAP | OP_NO_GRADIENT,
};
const Op op_SparseConditionalAccumulator = {
    .signature = "SparseConditionalAccumulator() -> handle: ref string; dtype: numbers; shape: shape; "
                 "container: string = \"\"; shared_name: string = \"\"; "
                 "reduction_type: {\"MEAN\", \"SUM\"} = \"MEAN\"; stateful",
    .doc = "An accumulator of gradients that are rows of a larger tensor, made at its first use.",
    .shape = shape_scalar, .open = open_sparse, .close = close_node, .state_size = sizeof(AccumulatorNode),
    .value = node_handle, .cpu = ANY_TYPE(handle_run), .flags = OP_DYNAMIC_SHAPE | OP_CHEAP | OP_NO_GRADIENT,
};

// ---------------------------------------- adding

static Status *find_any(Kernel *k, Accumulator **out) {
    Resource *resource;
    TRY(kernel_resource(k, 0, &accumulator_type, &resource));
    *out = accumulator_of(resource);
    return OK;
}

static void release(Accumulator **accumulator) {
    resource_release((Resource *)*accumulator);
}
#define FOUND __attribute__((cleanup(release))) Accumulator *

static Status *apply_run(Kernel *k) {
    FOUND accumulator = NULL;
    TRY(find_any(k, &accumulator));
    TRY(accumulator_check(accumulator, k->in[2]->dtype, false));
    return accumulator_apply(accumulator, tensor_int(k->in[1], 0), k->in[2]);
}

static Status *sparse_apply_run(Kernel *k) {
    const bool *has_known_shape = k->own;
    FOUND accumulator = NULL;
    TRY(find_any(k, &accumulator));
    TRY(accumulator_check(accumulator, k->in[3]->dtype, true));
    return accumulator_apply_sparse(accumulator, tensor_int(k->in[1], 0),
                                    (SparseGradient){k->in[2], k->in[3], *has_known_shape ? k->in[4] : NULL});
}

static Status *sparse_prepare(Prepare *p) {
    *(bool *)p->own = node_bool(p->node, "has_known_shape");
    return OK;
}

REF_AND_RESOURCE(AccumulatorApplyGradient, ResourceAccumulatorApplyGradient, "handle",
                 ", local_step: int64, gradient: dtype); dtype: numbers", 0,
                 .doc = "Adds a gradient to the accumulator, unless its step has passed.",
                 .needs = "scalar(local_step)", .shape = shape_none, .cpu = ANY_TYPE(apply_run), .host = BIT(1))

const Op op_SparseAccumulatorApplyGradient = {
    .signature = "SparseAccumulatorApplyGradient(handle: ref string, local_step: int64, gradient_indices: int64, "
                 "gradient_values: dtype, gradient_shape: int64); dtype: numbers; has_known_shape: bool",
    .doc = "Adds rows of a gradient to the accumulator, unless its step has passed.", .needs = "scalar(local_step)",
    .shape = shape_none, .prepare = sparse_prepare, .own_size = sizeof(bool), .cpu = ANY_TYPE(sparse_apply_run),
    .host = BIT(1) | BIT(2) | BIT(4), .flags = OP_STATEFUL | OP_NO_GRADIENT,
};

// ---------------------------------------- taking

static void sum_came(void *arg, Status *status, Tensor *parts) {
    Kernel *k = arg;
    for (int i = 0; i < k->n_out && parts; i++)
        kernel_set_output(k, i, parts[i]);
    kernel_done(k, status);
}

static Status *take(Kernel *k, DType dtype, bool sparse) {
    FOUND accumulator = NULL;
    TRY(find_any(k, &accumulator));
    TRY(accumulator_check(accumulator, dtype, sparse));
    accumulator_take(accumulator, tensor_int(k->in[1], 0), k->step->cancellation, sum_came, k);
    return OK;
}

static void start_take(Kernel *k) {
    Status *status = take(k, k->node->output_types[0], false);
    if (status)
        kernel_done(k, status);
}

static void start_sparse_take(Kernel *k) {
    Status *status = take(k, k->node->output_types[1], true);
    if (status)
        kernel_done(k, status);
}

#define TAKES                                                                                                    \
    .doc = "Takes the reduced sum of the gradients out of the accumulator; waits until num_required have come.", \
    .needs = "scalar(num_required)", .shape = shape_none, .host = BIT(1)
REF_AND_RESOURCE(AccumulatorTakeGradient, ResourceAccumulatorTakeGradient, "handle",
                 ", num_required: int32) -> average: dtype; dtype: numbers", 0, TAKES, .start = start_take)
const Op op_SparseAccumulatorTakeGradient = {
    .signature = "SparseAccumulatorTakeGradient(handle: ref string, num_required: int32) -> indices: int64, "
                 "values: dtype, shape: int64; dtype: numbers",
    TAKES, .start = start_sparse_take, .flags = OP_STATEFUL | OP_NO_GRADIENT,
};

// ---------------------------------------- counting

static Status *count_run(Kernel *k) {
    FOUND accumulator = NULL;
    TRY(find_any(k, &accumulator));
    *(int32_t *)k->out[0]->data = (int32_t)min_i64(accumulator_count(accumulator), INT32_MAX);
    return OK;
}

static Status *set_step_run(Kernel *k) {
    FOUND accumulator = NULL;
    TRY(find_any(k, &accumulator));
    accumulator_set_step(accumulator, tensor_int(k->in[1], 0));
    return OK;
}

REF_AND_RESOURCE(AccumulatorNumAccumulated, ResourceAccumulatorNumAccumulated, "handle",
                 ") -> num_accumulated: int32", 0,
                 .doc = "How many gradients have come since the last were taken.", .shape = shape_scalar,
                 .cpu = ANY_TYPE(count_run), .host_out = BIT(0))

REF_AND_RESOURCE(AccumulatorSetGlobalStep, ResourceAccumulatorSetGlobalStep, "handle", ", new_global_step: int64)", 0,
                 .doc = "Sets the step: gradients of earlier ones are dropped.", .needs = "scalar(new_global_step)",
                 .shape = shape_none, .cpu = ANY_TYPE(set_step_run), .host = BIT(1))
#endif
