// OneHot — a vector of `depth` elements for each index: on at the index, off elsewhere.
#include "ops/array/moving.h"

static Status *axis_of(const Node *node, int rank, int *out) {
    int64_t axis = node_int(node, "axis");
    NEED(axis >= -1 && axis <= rank, INVALID_ARGUMENT, "Expected axis to be -1 or between [0, %d]. But received: %lld",
         rank, (long long)axis);
    *out = axis < 0 ? rank : (int)axis;
    return OK;
}

static Status *one_hot_shape(Shapes *s) {
    const Shape *in = &s->in[0];
    int64_t depth = UNKNOWN_DIM;
    int axis;
    bool known = shapes_input_int(s, 1, &depth);
    NEED(!known || depth >= 0, INVALID_ARGUMENT, "depth must be non-negative, got: %lld", (long long)depth);
    if (in->rank < 0)
        return OK;
    NEED(in->rank < MAX_RANK, INVALID_ARGUMENT, "a shape has at most %d dimensions", MAX_RANK);
    TRY(axis_of(s->node, in->rank, &axis));
    Shape out = {.rank = in->rank + 1};
    for (int i = 0; i < out.rank; i++)
        out.dims[i] = i < axis ? in->dims[i] : i == axis ? (known ? depth : UNKNOWN_DIM) : in->dims[i - 1];
    TRY(shape_check(&out));
    s->out[0] = out;
    return OK;
}

typedef struct {
    int64_t outer, depth, inner;
    size_t size;
} OneHot;

typedef struct {
    const OneHot *own;
    const Tensor *indices;
    const void *on, *off;
    void *out;
} Work;

static void one_hot_range(void *arg, int64_t first, int64_t last) {
    const Work *w = arg;
    const OneHot *o = w->own;
    one_hot_run(w->indices->data, w->indices->dtype, o->depth, o->inner, w->on, w->off, o->size, w->out, first, last);
}

static Status *one_hot_move(Kernel *k, const void *const *in, void *const *out) {
    const OneHot *o = k->own;
    Work w = {o, k->in[0], in[2], in[3], out[0]};
    if (o->outer && o->inner && o->depth)
        kernel_parallel(k, o->outer, o->depth * o->inner / 4 + 1, one_hot_range, &w);
    return OK;
}

static Status *one_hot_kernel(Kernel *k) {
    return move_elements(k, one_hot_move);
}

static Status *one_hot_prepare(Prepare *p) {
    NEED_VALUE(p, 1);
    OneHot *own = p->own;
    const Shape *in = &p->in[0]->shape;
    int axis;
    TRY(axis_of(p->node, in->rank, &axis));
    *own = (OneHot){shape_span(in, 0, axis), prepare_input_int(p, 1, 0), shape_span(in, axis, in->rank),
                    moved_size(p->out[0]->dtype)};
    p->cost = shape_count(&p->out[0]->shape) / 4;
    return OK;
}

static COLD Status *one_hot_hlo(Hlo *h) {
    HloValue indices = hlo_in(h, 0);
    const Shape *out = hlo_out_shape(h, 0);
    NEED(shape_is_known(out), UNIMPLEMENTED, "the depth is not known");
    int axis;
    TRY(shape_axis(node_int(h->node, "axis"), out->rank, &axis));
    HloValue at = hlo_iota(h, DT_int64, *out, axis), wanted = hlo_cast(h, hlo_expand(h, indices, axis), DT_int64);
    return hlo_out(h, 0, hlo_select(h, hlo_eq(h, at, wanted), hlo_in(h, 2), hlo_in(h, 3)));
}

const Op op_OneHot = {
    .signature = "OneHot(indices: TI, depth: int32, on_value: T, off_value: T) -> output: T; axis: int = -1; T: type; "
                 "TI: {uint8, int8, int32, int64} = int64",
    .doc = "A vector for each index: on_value at the index, off_value elsewhere.",
    .needs = "scalar(depth), scalar(on_value), scalar(off_value)", .shape = one_hot_shape, .prepare = one_hot_prepare,
    .own_size = sizeof(OneHot), .cpu = ANY_TYPE(one_hot_kernel), .host = BIT(1), .flags = OP_NO_GRADIENT,
    .hlo = one_hot_hlo,
};
