// Dilation2D — the greatest of each window's elements with the filter's added to them; and the gradients.
#define SELF "ops/nn/dilation.c"
#ifndef T
#include "ops/nn/geometry.h"

typedef enum { FORWARD, TO_INPUT, TO_FILTER } Way;

typedef struct {
    int64_t batch, in[2], out[2], depth, window[2], stride[2], rate[2], before[2];
    Way way;
} Dilation;

#define EACH_REAL
#include "ops/each_dtype.h"

static Status *read_pair(const Node *node, const char *name, int64_t out[3]) {
    const AttrValue *list = node_attr_find(node, name);
    NEED(list && list->n == 4, INVALID_ARGUMENT, "%s must have 4 elements", name);
    NEED(list->is[0] == 1 && list->is[3] == 1, INVALID_ARGUMENT, "%s must be 1 for batch and depth", name);
    for (int i = 0; i < 2; i++) {
        out[i] = list->is[i + 1];
        NEED(out[i] > 0 && out[i] <= INT32_MAX, INVALID_ARGUMENT, "%s must be positive, got %lld", name, (long long)out[i]);
    }
    return OK;
}

// The result's shape, as far as known, and what is added before the input.
static Status *windows(const Node *node, const Shape *x, const Shape *filter, Sliding *s, Shape *out, int64_t before[2]) {
    *s = (Sliding){.axes = 2, .c = 3, .axis = {1, 2}};
    s->padding = str_is(node_str(node, "padding"), "SAME") ? PADDING_SAME : PADDING_VALID;
    NEED(x->rank < 0 || x->rank == 4, INVALID_ARGUMENT, "input must be 4-dimensional, got %s", shape_text(x));
    NEED(filter->rank < 0 || filter->rank == 3, INVALID_ARGUMENT, "filter must be 3-dimensional, got %s",
         shape_text(filter));
    TRY(read_pair(node, "strides", s->stride));
    TRY(read_pair(node, "rates", s->dilation));
    *out = SHAPE(UNKNOWN_DIM, UNKNOWN_DIM, UNKNOWN_DIM, UNKNOWN_DIM);
    Shape depths[] = {SHAPE(x->rank < 0 ? UNKNOWN_DIM : x->dims[3]), SHAPE(filter->rank < 0 ? UNKNOWN_DIM : filter->dims[2])};
    Status *status = shape_merge(&depths[0], &depths[1], &depths[0]);
    NEED(!status, INVALID_ARGUMENT, "input and filter must have the same depth, got %s and %s%s", shape_text(x),
         shape_text(filter), (status_free(status), ""));
    out->dims[0] = x->rank < 0 ? UNKNOWN_DIM : x->dims[0];
    out->dims[3] = depths[0].dims[0];
    for (int i = 0; i < 2; i++)
        TRY(sliding_extent(s, i, x->rank < 0 ? UNKNOWN_DIM : x->dims[1 + i], filter->rank < 0 ? UNKNOWN_DIM : filter->dims[i],
                           &out->dims[1 + i], &before[i]));
    return shape_is_known(out) ? shape_check(out) : OK;
}

static Status *dilation_shape(Shapes *s) {
    Sliding sliding;
    Shape out;
    int64_t before[2];
    TRY(windows(s->node, &s->in[0], &s->in[1], &sliding, &out, before));
    Way way = (Way)(uintptr_t)node_op(s->node)->row;
    if (way != FORWARD)
        TRY(shape_merge(&out, &s->in[2], &out));
    s->out[0] = way == FORWARD ? out : s->in[way == TO_FILTER];
    return OK;
}

static Status *dilation_prepare(Prepare *p) {
    Dilation *own = p->own;
    const Shape *x = &p->in[0]->shape, *filter = &p->in[1]->shape;
    Sliding sliding;
    Shape out;
    TRY(windows(p->node, x, filter, &sliding, &out, own->before));
    own->way = (Way)(uintptr_t)node_op(p->node)->row;
    own->batch = x->dims[0];
    own->depth = x->dims[3];
    for (int i = 0; i < 2; i++) {
        own->in[i] = x->dims[1 + i];
        own->out[i] = out.dims[1 + i];
        own->window[i] = filter->dims[i];
        own->stride[i] = sliding.stride[i];
        own->rate[i] = sliding.dilation[i];
    }
    p->cost = shape_count(&out) * own->window[0] * own->window[1];
    return OK;
}

static void dilation_grad(Formula *f) {
    f->dx[0] = Like("Dilation2DBackpropInput", f->x[0], f->x[1], f->dy[0]);
    f->dx[1] = Like("Dilation2DBackpropFilter", f->x[0], f->x[1], f->dy[0]);
}

#define SLIDES "T: reals; strides: list(int) >= 4; rates: list(int) >= 4; padding: {\"SAME\", \"VALID\"}"
#define OF_DILATION(way)                                                                                       \
    .needs = "rank(input) == 4, rank(filter) == 3", .shape = dilation_shape, .prepare = dilation_prepare,      \
    .own_size = sizeof(Dilation), .cpu = KERNELS(REALS, dilate), .row = (const void *)(uintptr_t)(way)

const Op op_Dilation2D = {
    .signature = "Dilation2D(input: T, filter: T) -> output: T; " SLIDES,
    .doc = "The greatest of each window's elements with the filter's added to them.", .grad = dilation_grad,
    OF_DILATION(FORWARD),
};
const Op op_Dilation2DBackpropInput = {
    .signature = "Dilation2DBackpropInput(input: T, filter: T, out_backprop: T) -> in_backprop: T; " SLIDES,
    .doc = "Gradient of Dilation2D by its input: goes to each window's greatest.", OF_DILATION(TO_INPUT),
};
const Op op_Dilation2DBackpropFilter = {
    .signature = "Dilation2DBackpropFilter(input: T, filter: T, out_backprop: T) -> filter_backprop: T; " SLIDES,
    .doc = "Gradient of Dilation2D by its filter: goes to each window's greatest.", OF_DILATION(TO_FILTER),
};

#else  // ---------------------------------------- kernel, once per dtype

// Of one window and channel: the greatest sum, or the gradient to where that is.
static void FN(dilate_one)(const Kernel *k, const Dilation *own, int64_t image, int64_t y, int64_t x, int64_t c, int64_t at) {
    const T *in = k->in[0]->data, *filter = k->in[1]->data;
    T *out = k->out[0]->data;
    ACC best = 0;
    int64_t best_in = -1, best_filter = 0;
    for (int64_t i = 0; i < own->window[0]; i++) {
        int64_t row = y * own->stride[0] - own->before[0] + i * own->rate[0];
        if (row < 0 || row >= own->in[0])
            continue;
        for (int64_t j = 0; j < own->window[1]; j++) {
            int64_t column = x * own->stride[1] - own->before[1] + j * own->rate[1];
            if (column < 0 || column >= own->in[1])
                continue;
            int64_t from = ((image * own->in[0] + row) * own->in[1] + column) * own->depth + c;
            int64_t by = (i * own->window[1] + j) * own->depth + c;
            ACC sum = (ACC)(LOAD(in[from]) + LOAD(filter[by]));
            if (best_in < 0 || sum > best) {
                best = sum;
                best_in = from;
                best_filter = by;
            }
        }
    }
    if (own->way == FORWARD) {
        out[at] = STORE(best);
        return;
    }
    int64_t to = own->way == TO_INPUT ? best_in : best_filter;
    if (best_in >= 0)
        out[to] = STORE((ACC)(LOAD(out[to]) + LOAD(((const T *)k->in[2]->data)[at])));
}

static Status *FN(dilate)(Kernel *k) {
    const Dilation *own = k->own;
    int64_t at = 0;
    if (own->way != FORWARD)
        memset(k->out[0]->data, 0, tensor_bytes(k->out[0]));
    for (int64_t image = 0; image < own->batch; image++)
        for (int64_t y = 0; y < own->out[0]; y++)
            for (int64_t x = 0; x < own->out[1]; x++)
                for (int64_t c = 0; c < own->depth; c++)
                    FN(dilate_one)(k, own, image, y, x, c, at++);
    return OK;
}
#endif
