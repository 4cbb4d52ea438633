// Pools for devices that compile — reductions over windows; see pool.h.
#include "ops/nn/pool.h"

typedef struct {
    HloWindow window;
    WindowShape shape;
    Sliding sliding;
} HloPool;

// The window over x, whose dimensions it has.
static Status *window_of(Hlo *h, const Shape *x, HloPool *pool) {
    const Tensor *ksize = NULL, *strides = NULL;
    const PoolRow *row = node_op(h->node)->row;
    bool known;
    if (row && row->sizes_are_inputs) {
        TRY(hlo_need(h, h->n_in - 2, &ksize));
        TRY(hlo_need(h, h->n_in - 1, &strides));
    }
    TRY(pool_sliding(h->node, ksize, strides, &known, &pool->sliding));
    const Sliding *s = &pool->sliding;
    NEED(s->depth_window <= 1, UNIMPLEMENTED, "a pool along the channels");
    TRY(pool_window(s, x, &pool->shape));
    NEED(shape_count(x) > 0, UNIMPLEMENTED, "images without elements");
    HloWindow *window = &pool->window;
    *window = (HloWindow){.size = {.rank = x->rank}, .low = {.rank = x->rank}, .high = {.rank = x->rank}};
    for (int i = 0; i < x->rank; i++)
        window->size.dims[i] = 1;
    window->stride = window->size;
    for (int i = 0; i < s->axes; i++) {
        int at = s->axis[i];
        int64_t out, before, in = x->dims[at];
        TRY(sliding_extent(s, i, in, s->window[i], &out, &before));
        window->size.dims[at] = s->window[i];
        window->stride.dims[at] = s->stride[i];
        window->low.dims[at] = before;
        window->high.dims[at] = (out - 1) * s->stride[i] + s->window[i] - in - before;
    }
    return OK;
}

// How many elements of the image each window holds.
static HloValue counts(Hlo *h, const Shape *x, const HloPool *pool) {
    Shape one = {.rank = x->rank};
    for (int i = 0; i < x->rank; i++)
        one.dims[i] = i == pool->sliding.n || i == pool->sliding.c ? 1 : x->dims[i];
    return hlo_window(h, "add", hlo_fill(h, 1, hlo_out_type(h, 0) == DT_double ? DT_double : DT_float, one), &pool->window);
}

Status *pool_max_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0);
    HloPool pool;
    TRY(h->status);
    TRY(window_of(h, &x->shape, &pool));
    return hlo_out(h, 0, hlo_window(h, "maximum", x, &pool.window));
}

Status *pool_max_grad_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0), dy = hlo_in(h, 2);
    HloPool pool;
    TRY(h->status);
    TRY(window_of(h, &x->shape, &pool));
    return hlo_out(h, 0, hlo_select_and_scatter(h, x, dy, &pool.window));
}

Status *pool_avg_hlo(Hlo *h) {
    HloValue x = hlo_wide(h, hlo_in(h, 0));
    HloPool pool;
    TRY(h->status);
    TRY(window_of(h, &x->shape, &pool));
    HloValue y = hlo_div(h, hlo_window(h, "add", x, &pool.window), counts(h, &x->shape, &pool));
    return hlo_out(h, 0, hlo_cast(h, y, hlo_out_type(h, 0)));
}

// Each share of dy goes to all elements of its window: a window over the shares, which lie a stride apart.
Status *pool_avg_grad_hlo(Hlo *h) {
    HloValue dy = hlo_wide(h, hlo_in(h, 1));
    Shape x = hlo_need_list(h, 0);
    HloPool pool;
    TRY(h->status);
    TRY(window_of(h, &x, &pool));
    HloWindow *window = &pool.window;
    HloValue share = hlo_div(h, dy, counts(h, &x, &pool));
    Shape low = window->low, high = low, interior = window->stride, none = {.rank = x.rank};
    for (int i = 0; i < x.rank; i++) {
        low.dims[i] = window->size.dims[i] - 1 - window->low.dims[i];
        high.dims[i] = x.dims[i] + window->low.dims[i] - 1 - (dy->shape.dims[i] - 1) * window->stride.dims[i];
        interior.dims[i] = window->stride.dims[i] - 1;
        window->stride.dims[i] = 1;
    }
    share = hlo_pad(h, share, NULL, low, high, &interior);
    window->low = window->high = none;
    return hlo_out(h, 0, hlo_cast(h, hlo_window(h, "add", share, window), hlo_out_type(h, 0)));
}
