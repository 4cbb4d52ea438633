// ApproxTopK — the k largest or smallest elements along a dimension: here the very ones, whatever recall is enough.
#include <stdlib.h>

#include "ops/op.h"

typedef struct {
    int64_t outer, n, inner, k;
    bool most;
} ApproxTopK;

typedef struct {
    float value;
    int32_t at;
} Ranked;

static Status *approx_shape(Shapes *s) {
    int64_t axis = node_int(s->node, "reduction_dimension"), k = node_int(s->node, "k");
    const Shape *in = &s->in[0];
    if (in->rank < 0)
        return OK;
    axis += axis < 0 ? in->rank : 0;
    NEED(axis >= 0 && axis < in->rank, INVALID_ARGUMENT, "The reduction_dimension must be in [%d, %d), got %lld", -in->rank,
         in->rank, (long long)node_int(s->node, "reduction_dimension"));
    NEED(in->dims[axis] < 0 || k <= in->dims[axis], INVALID_ARGUMENT, "input must have at least k=%lld elements along the "
         "reduction dimension, got %s", (long long)k, shape_text(in));
    s->out[0] = *in;
    s->out[0].dims[axis] = k;
    s->out[1] = s->out[0];
    return OK;
}

static Status *approx_prepare(Prepare *p) {
    const Shape *in = &p->in[0]->shape;
    int axis = (int)node_int(p->node, "reduction_dimension");
    axis += axis < 0 ? in->rank : 0;
    *(ApproxTopK *)p->own = (ApproxTopK){shape_span(in, 0, axis), in->dims[axis], shape_span(in, axis + 1, in->rank),
                                         node_int(p->node, "k"), node_bool(p->node, "is_max_k")};
    NEED(in->dims[axis] <= INT32_MAX, UNIMPLEMENTED, "%lld elements are too many", (long long)in->dims[axis]);
    p->scratch = (size_t)in->dims[axis] * sizeof(Ranked);
    p->cost = shape_count(in) * 40;
    return OK;
}

// Of equal ones the first comes first.
static int falling(const void *a, const void *b) {
    const Ranked *x = a, *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

static float load(const Tensor *t, int64_t i) {
    return t->dtype == DT_half       ? half_to_float(((const Half *)t->data)[i])
           : t->dtype == DT_bfloat16 ? bfloat16_to_float(((const Bfloat16 *)t->data)[i])
                                     : ((const float *)t->data)[i];
}

static Status *approx_run(Kernel *k) {
    const ApproxTopK *own = k->own;
    const Tensor *in = k->in[0];
    size_t size = dtype_size(in->dtype);
    Ranked *row = k->scratch;
    for (int64_t i = 0; i < own->outer * own->inner && own->n; i++) {
        int64_t o = i / own->inner, c = i % own->inner;
        for (int64_t j = 0; j < own->n; j++) {
            float value = load(in, (o * own->n + j) * own->inner + c);
            row[j] = (Ranked){own->most ? value : -value, (int32_t)j};
        }
        qsort(row, (size_t)own->n, sizeof *row, falling);
        for (int64_t j = 0; j < own->k; j++) {
            int64_t to = (o * own->k + j) * own->inner + c;
            memcpy((char *)k->out[0]->data + (size_t)to * size,
                   (const char *)in->data + (size_t)((o * own->n + row[j].at) * own->inner + c) * size, size);
            ((int32_t *)k->out[1]->data)[to] = row[j].at;
        }
    }
    return OK;
}

const Op op_ApproxTopK = {
    .signature = "ApproxTopK(input: T) -> values: T, indices: int32; k: int >= 0; reduction_dimension: int = -1; "
                 "recall_target: float = 0.95; is_max_k: bool = true; reduction_input_size_override: int = -1; "
                 "aggregate_to_topk: bool = true; T: {half, bfloat16, float}",
    .doc = "The k largest or smallest elements along a dimension, and where they are.", .needs = "rank(input) >= 1",
    .shape = approx_shape, .prepare = approx_prepare, .own_size = sizeof(ApproxTopK), .cpu = ANY_TYPE(approx_run),
    .flags = OP_NO_GRADIENT,
};
