// Collective ops — what the devices of a group do together: reduce, gather, broadcast, exchange (resource/collective.h).
#define SELF "ops/queue/collective.c"
#include "ops/op.h"

#ifdef T  // ---------------------------------------- arithmetic, once per dtype

// The compiler drops those of types that no op takes.
#define MERGE(name, expression)                                            \
    __attribute__((unused)) static void FN(name)(void *sum, const void *more, int64_t n) { \
        T *s = sum;                                                        \
        const T *m = more;                                                 \
        for (int64_t i = 0; i < n; i++) {                                  \
            ACC x = LOAD(s[i]), y = LOAD(m[i]);                            \
            s[i] = STORE(expression);                                      \
        }                                                                  \
    }
MERGE(min, y < x ? y : x)
MERGE(max, y > x ? y : x)
MERGE(mul, x * y)
MERGE(add, x + y)
#undef MERGE

__attribute__((unused)) static void FN(divide)(void *sum, int64_t by, int64_t n) {
    T *s = sum;
    for (int64_t i = 0; i < n; i++)
        s[i] = STORE(LOAD(s[i]) / (ACC)by);
}

#else  // ---------------------------------------- what a node asks for
#include "resource/collective.h"

#define EACH_REAL
#include "ops/each_dtype.h"

#define SUMMABLE(X, a) X(half, a) X(bfloat16, a) X(float, a) X(double, a) X(int32, a) X(int64, a)
enum { MERGES = 4 };
static const char *const MERGE_NAMES[MERGES] = {"Min", "Max", "Mul", "Add"};
#define MATH_ROW(dtype, unused) \
    [DT_##dtype] = {{min_##dtype, divide_##dtype}, {max_##dtype, divide_##dtype}, {mul_##dtype, divide_##dtype}, \
                    {add_##dtype, divide_##dtype}},
static const CollectiveMath MATH[DTYPES][MERGES] = {SUMMABLE(MATH_ROW, )};

// The keys stand in attributes in the first versions of the ops, and are inputs of the second.
typedef struct {
    CollectiveSpec spec;
    int first_key;       // the input group_size; -1: attributes
} Asked;

static Status *prepare_kind(Prepare *p, CollectiveKind kind) {
    const Node *node = p->node;
    Asked *asked = p->own;
    bool in_attrs = node_attr_find(node, "group_key") != NULL;
    int first, count;
    if (!in_attrs)
        node_input_arg(node, STR("group_size"), &first, &count);
    *asked = (Asked){.first_key = in_attrs ? -1 : first};
    asked->spec = (CollectiveSpec){.kind = kind, .dtype = node_type(node, "T"), .device = kernel_device_name(node),
                                   .timeout = (double)node_float(node, "timeout_seconds")};
    if (in_attrs) {
        asked->spec.group_size = (int32_t)node_int(node, "group_size");
        asked->spec.group_key = (int32_t)node_int(node, "group_key");
        asked->spec.instance_key = (int32_t)node_int(node, "instance_key");
    }
    return OK;
}

static Status *prepare_reduce(Prepare *p) {
    TRY(prepare_kind(p, COLLECTIVE_REDUCE));
    CollectiveSpec *spec = &((Asked *)p->own)->spec;
    Str merge = node_str(p->node, "merge_op");
    spec->mean = str_equal(node_str(p->node, "final_op"), STR("Div"));
    for (int i = 0; i < MERGES; i++)
        if (str_is(merge, MERGE_NAMES[i])) {
            spec->op = MERGE_NAMES[i];
            spec->math = MATH[spec->dtype][i];
        }
    NEED(spec->op && spec->math.merge, UNIMPLEMENTED, "merge_op %.*s of %s", STR_ARGS(merge), dtype_name(spec->dtype));
    return OK;
}

static Status *prepare_gather(Prepare *p) {
    return prepare_kind(p, COLLECTIVE_GATHER);
}

static Status *prepare_broadcast(Prepare *p) {
    return prepare_kind(p, COLLECTIVE_BROADCAST);
}

static Status *prepare_all_to_all(Prepare *p) {
    return prepare_kind(p, COLLECTIVE_ALL_TO_ALL);
}

static void came(void *arg, Status *status, Tensor result) {
    Kernel *k = arg;
    if (!status)
        kernel_set_output(k, 0, result);
    kernel_done(k, status);
}

static CollectiveSpec spec_of(const Kernel *k) {
    const Asked *asked = k->own;
    CollectiveSpec spec = asked->spec;
    if (asked->first_key < 0)
        return spec;
    spec.group_size = (int32_t)tensor_int(k->in[asked->first_key], 0);
    spec.group_key = (int32_t)tensor_int(k->in[asked->first_key + 1], 0);
    spec.instance_key = (int32_t)tensor_int(k->in[asked->first_key + 2], 0);
    return spec;
}

static void start_with_input(Kernel *k) {
    CollectiveSpec spec = spec_of(k);
    Tensor input = {0};
    Status *status = kernel_keep(k, 0, &input);
    spec.shape = input.shape;
    if (!status && !k->step->resources)
        status = status_new(FAILED_PRECONDITION, __FILE__, __LINE__, "a collective needs a session to live in");
    if (status)
        kernel_done(k, status);
    else
        collective_join(k->step->resources, &spec, &input, k->step->cancellation, came, k);
    tensor_clear(&input);
}

// "shape" is an attribute in the first version, the last input of the second.
static Status *received_shape(const Kernel *k, Shape *out) {
    const Asked *asked = k->own;
    if (asked->first_key < 0) {
        *out = *node_attr_find(k->node, "shape")->shape;
        NEED(shape_is_known(out), INVALID_ARGUMENT, "the shape that is received is not known: %s", shape_text(out));
        return OK;
    }
    const Tensor *shape = k->in[asked->first_key + 3];
    return tensor_to_shape(shape, out);
}

static void start_receive(Kernel *k) {
    CollectiveSpec spec = spec_of(k);
    Status *status = received_shape(k, &spec.shape);
    if (!status && !k->step->resources)
        status = status_new(FAILED_PRECONDITION, __FILE__, __LINE__, "a collective needs a session to live in");
    if (status)
        kernel_done(k, status);
    else
        collective_join(k->step->resources, &spec, &(Tensor){0}, k->step->cancellation, came, k);
}

// ---------------------------------------- the ops

static Status *gather_shape(Shapes *s) {
    const AttrValue *size = node_attr_find(s->node, "group_size");
    TRY(shape_unchanged(s));
    if (s->out[0].rank < 1)
        return OK;
    int64_t rows = s->out[0].dims[0];
    s->out[0].dims[0] = UNKNOWN_DIM;
    if (size && rows >= 0)
        NEED(!__builtin_mul_overflow(rows, size->i, &s->out[0].dims[0]), INVALID_ARGUMENT, "too many rows are gathered");
    return OK;
}

static Status *receive_shape(Shapes *s) {
    return shapes_input_shape(s, 3, &s->out[0]);
}

static Status *receive_shape_attr(Shapes *s) {
    s->out[0] = *node_attr_find(s->node, "shape")->shape;
    return OK;
}

#define KEYS_ATTRS "group_size: int; group_key: int; instance_key: int; "
#define KEYS ", group_size: int32, group_key: int32, instance_key: int32"
#define ORDER ", ordering_token: Nordering_token * resource"
#define ORDER_ATTRS "; is_stateless: bool = false; Nordering_token: int >= 0 = 0"
#define REDUCED "T: {bfloat16, float, half, double, int32, int64}"
#define GATHERED "T: {float, half, double, int32, int64}"
#define SENT "T: {bool, float, half, double, int32, int64}"
#define HOW "merge_op: {\"Min\", \"Max\", \"Mul\", \"Add\"}; final_op: {\"Id\", \"Div\"}; "
#define HINT "communication_hint: string = \"auto\"; timeout_seconds: float = 0"
#define NEEDS_KEYS "scalar(group_size), scalar(group_key), scalar(instance_key)"
#define WITH_INPUT                                                                                        \
    .own_size = sizeof(Asked), .start = start_with_input, .keeps = BIT(0), .host_out = BIT(0), .flags = OP_DYNAMIC_SHAPE
#define RECEIVES                                                                                    \
    .prepare = prepare_broadcast, .own_size = sizeof(Asked), .start = start_receive, .host_out = BIT(0), \
    .flags = OP_DYNAMIC_SHAPE
#define HOST_KEYS (BIT(1) | BIT(2) | BIT(3))

const Op op_CollectiveReduce = {
    .signature = "CollectiveReduce(input: T) -> data: T; " REDUCED "; " KEYS_ATTRS HOW
                 "subdiv_offsets: list(int); wait_for: list(int) = []; " HINT "; stateful; distributed",
    .doc = "The inputs of a group's members, merged into one.", .shape = shape_unchanged, .prepare = prepare_reduce,
    .host = BIT(0), WITH_INPUT,
};
const Op op_CollectiveReduceV2 = {
    .signature = "CollectiveReduceV2(input: T" KEYS ORDER ") -> data: T; " REDUCED "; " HOW HINT ORDER_ATTRS
                 "; max_subdivs_per_device: int = -1; stateful; distributed",
    .doc = "The inputs of a group's members, merged into one.", .needs = NEEDS_KEYS, .shape = shape_unchanged,
    .prepare = prepare_reduce, .host = BIT(0) | HOST_KEYS, WITH_INPUT,
};
const Op op_CollectiveGather = {
    .signature = "CollectiveGather(input: T) -> data: T; " GATHERED "; " KEYS_ATTRS "shape: shape; " HINT
                 "; stateful; distributed",
    .doc = "The rows of a group's members, one member behind the other.", .needs = "rank(input) >= 1", .shape = gather_shape,
    .prepare = prepare_gather, .host = BIT(0), WITH_INPUT,
};
const Op op_CollectiveGatherV2 = {
    .signature = "CollectiveGatherV2(input: T" KEYS ORDER ") -> data: T; " GATHERED "; " HINT ORDER_ATTRS
                 "; stateful; distributed",
    .doc = "The rows of a group's members, one member behind the other.", .needs = "rank(input) >= 1, " NEEDS_KEYS,
    .shape = gather_shape, .prepare = prepare_gather, .host = BIT(0) | HOST_KEYS, WITH_INPUT,
};
const Op op_CollectiveBcastSend = {
    .signature = "CollectiveBcastSend(input: T) -> data: T; " SENT "; " KEYS_ATTRS "shape: shape; " HINT
                 "; stateful; distributed",
    .doc = "Gives a tensor to all members of the group.", .shape = receive_shape_attr, .prepare = prepare_broadcast,
    .host = BIT(0), WITH_INPUT,
};
const Op op_CollectiveBcastSendV2 = {
    .signature = "CollectiveBcastSendV2(input: T" KEYS ") -> data: T; " SENT "; " HINT "; stateful; distributed",
    .doc = "Gives a tensor to all members of the group.", .needs = NEEDS_KEYS, .shape = shape_unchanged,
    .prepare = prepare_broadcast, .host = BIT(0) | HOST_KEYS, WITH_INPUT,
};
const Op op_CollectiveBcastRecv = {
    .signature = "CollectiveBcastRecv() -> data: T; " SENT "; " KEYS_ATTRS "shape: shape; " HINT "; stateful; distributed",
    .doc = "Takes the tensor that a member of the group sends.", .shape = receive_shape_attr, RECEIVES,
};
const Op op_CollectiveBcastRecvV2 = {
    .signature = "CollectiveBcastRecvV2(group_size: int32, group_key: int32, instance_key: int32, shape: Tshape) -> data: T; " SENT
                 "; Tshape: {int32, int64} = int32; " HINT "; stateful; distributed",
    .doc = "Takes the tensor that a member of the group sends.", .needs = NEEDS_KEYS ", vector(shape)", .shape = receive_shape,
    .host = BIT(0) | BIT(1) | BIT(2) | BIT(3), RECEIVES,
};
const Op op_CollectiveAllToAllV2 = {
    .signature = "CollectiveAllToAllV2(input: T" KEYS ORDER ") -> data: T; " REDUCED "; " HINT ORDER_ATTRS
                 "; stateful; distributed",
    .doc = "Row j of member i becomes row i of member j.", .needs = "rank(input) >= 1, " NEEDS_KEYS, .shape = shape_unchanged,
    .prepare = prepare_all_to_all, .host = BIT(0) | HOST_KEYS, WITH_INPUT,
};
#endif
