// Products and indices — dot products, convolutions, factors, and what is taken or put where indices say: see hlo.h.
#include "hlo/hlo_internal.h"

static bool in_list(const Shape *list, int64_t value) {
    for (int i = 0; i < list->rank; i++)
        if (list->dims[i] == value)
            return true;
    return false;
}

// What products of that type are summed in.
static DType sum_type(DType dtype) {
    return dtype == DT_half || dtype == DT_bfloat16 ? DT_float : dtype;
}

static const char *precision(Hlo *h) {
    return hlo_writer(h)->spec->fast_products ? "DEFAULT" : "HIGHEST";
}

HloValue hlo_dot(Hlo *h, HloValue a, HloValue b, Shape a_batch, Shape b_batch, Shape a_axes, Shape b_axes) {
    HLO_STOPS(h);
    Shape shape = {0};
    for (int i = 0; i < a_batch.rank; i++)
        hlo_list_add(h, &shape, a->shape.dims[a_batch.dims[i]]);
    for (int i = 0; i < a->shape.rank; i++)
        if (!in_list(&a_batch, i) && !in_list(&a_axes, i))
            hlo_list_add(h, &shape, a->shape.dims[i]);
    for (int i = 0; i < b->shape.rank; i++)
        if (!in_list(&b_batch, i) && !in_list(&b_axes, i))
            hlo_list_add(h, &shape, b->shape.dims[i]);
    HLO_STOPS(h);
    const char *p = precision(h);
    DType dtype = a->dtype, sums = sum_type(dtype);
    HloValue c = hlo_line(h, sums, shape,
                    "stablehlo.dot_general %v, %v, batching_dims = %l x %l, contracting_dims = %l x %l, precision = [%c, %c] : "
                    "(%t, %t) -> %r", a, b, a_batch, b_batch, a_axes, b_axes, p, p, a, b);
    return hlo_cast(h, c, dtype);
}

static Shape spatial(const int64_t *list, int n, int64_t least) {
    Shape result = {.rank = n};
    for (int i = 0; i < n; i++)
        result.dims[i] = list[i] ? list[i] : least;
    return result;
}

HloValue hlo_conv(Hlo *h, HloValue x, HloValue kernel, const HloConv *conv, Shape out) {
    HLO_STOPS(h);
    AUTO(text) Text pads = {0};
    for (int i = 0; i < conv->n; i++)
        text_format(&pads, "%s[%lld, %lld]", i ? ", " : "", (long long)conv->low[i], (long long)conv->high[i]);
    hlo_fail(h, pads.failed ? OUT_OF_MEMORY : OK);
    HLO_STOPS(h);
    const char *p = precision(h);
    HloValue y =
           hlo_line(h, sum_type(x->dtype), out,
                    "stablehlo.convolution(%v, %v) dim_numbers = %c, window = {stride = %l, pad = [%c], lhs_dilate = %l, "
                    "rhs_dilate = %l} {batch_group_count = %d : i64, feature_group_count = %d : i64, precision_config = "
                    "[#stablehlo<precision %c>, #stablehlo<precision %c>]} : (%t, %t) -> %r",
                    x, kernel, conv->dims, spatial(conv->stride, conv->n, 1), pads.p, spatial(conv->x_dilation, conv->n, 1),
                    spatial(conv->kernel_dilation, conv->n, 1), conv->batch_groups ? conv->batch_groups : (int64_t)1,
                    conv->groups ? conv->groups : (int64_t)1, p, p, x, kernel);
    return hlo_cast(h, y, x->dtype);
}

HloValue hlo_cholesky(Hlo *h, HloValue x) {
    HLO_STOPS(h);
    return hlo_line(h, x->dtype, x->shape, "stablehlo.cholesky %v, lower = true : %r", x);
}

HloValue hlo_triangular_solve(Hlo *h, HloValue a, HloValue b, bool lower, bool adjoint) {
    HLO_STOPS(h);
    return hlo_line(h, b->dtype, b->shape,
                    "\"stablehlo.triangular_solve\"(%v, %v) <{left_side = true, lower = %c, unit_diagonal = false, "
                    "transpose_a = #stablehlo<transpose %c>}> : (%t, %t) -> %r",
                    a, b, lower ? "true" : "false", adjoint ? "ADJOINT" : "NO_TRANSPOSE", a, b);
}

HloValue hlo_fft(Hlo *h, HloValue x, const char *kind, Shape lengths, DType dtype, Shape out) {
    HLO_STOPS(h);
    return hlo_line(h, dtype, out, "stablehlo.fft %v, type = %c, length = %l : (%t) -> %r", x, kind, lengths, x);
}

// ---------------------------------------- indices

typedef struct {
    Shape offset, collapsed, batch, map, sizes, out;
    int64_t vector;
} Gathering;

static HloValue gather(Hlo *h, HloValue x, HloValue indices, const Gathering *g) {
    HLO_STOPS(h);
    return hlo_line(h, x->dtype, g->out,
                    "\"stablehlo.gather\"(%v, %v) <{dimension_numbers = #stablehlo.gather<offset_dims = %l, "
                    "collapsed_slice_dims = %l, operand_batching_dims = %l, start_indices_batching_dims = %l, start_index_map = %l, "
                    "index_vector_dim = %d>, slice_sizes = %a, indices_are_sorted = false}> : (%t, %t) -> %r",
                    x, indices, g->offset, g->collapsed, g->batch, g->batch, g->map, g->vector, g->sizes, x, indices);
}

HloValue hlo_take(Hlo *h, HloValue x, HloValue indices, int axis, int batch) {
    HLO_STOPS(h);
    int rank = x->shape.rank, in = indices->shape.rank;
    Gathering g = {.collapsed = SHAPE(axis), .map = SHAPE(axis), .vector = in, .sizes = x->shape};
    g.sizes.dims[axis] = 1;
    for (int i = 0; i < batch; i++) {
        g.batch.dims[g.batch.rank++] = i;
        g.sizes.dims[i] = 1;
    }
    for (int i = 0; i < axis; i++)
        hlo_list_add(h, &g.out, x->shape.dims[i]);
    for (int i = batch; i < in; i++)
        hlo_list_add(h, &g.out, indices->shape.dims[i]);
    for (int i = axis + 1; i < rank; i++)
        hlo_list_add(h, &g.out, x->shape.dims[i]);
    for (int i = batch; i < axis; i++)
        g.offset.dims[g.offset.rank++] = i;
    for (int i = axis + 1; i < rank; i++)
        g.offset.dims[g.offset.rank++] = i - 1 + in - batch;
    if (x->shape.dims[axis] == 0)  // every index is out of range, which is said elsewhere
        return hlo_fill(h, 0, x->dtype, g.out);
    return gather(h, x, indices, &g);
}

HloValue hlo_take_nd(Hlo *h, HloValue x, HloValue indices) {
    HLO_STOPS(h);
    int in = indices->shape.rank, depth = (int)indices->shape.dims[in - 1];
    Gathering g = {.vector = in - 1, .sizes = x->shape};
    bool empty = false;
    for (int i = 0; i + 1 < in; i++)
        hlo_list_add(h, &g.out, indices->shape.dims[i]);
    for (int i = 0; i < x->shape.rank; i++) {
        if (i < depth) {
            g.collapsed.dims[g.collapsed.rank++] = i;
            g.sizes.dims[i] = 1;
            empty |= x->shape.dims[i] == 0;
        } else {
            g.offset.dims[g.offset.rank++] = g.out.rank;
            hlo_list_add(h, &g.out, x->shape.dims[i]);
        }
    }
    g.map = g.collapsed;
    return empty ? hlo_fill(h, 0, x->dtype, g.out) : gather(h, x, indices, &g);
}

HloValue hlo_put(Hlo *h, const char *op, HloValue x, HloValue indices, HloValue updates, bool nd) {
    HLO_STOPS(h);
    int in = indices->shape.rank, first = nd ? in - 1 : in;
    int64_t depth = nd ? indices->shape.dims[in - 1] : 1;
    Shape windows = {0}, inserted = {0};
    for (int i = 0; i < x->shape.rank; i++) {
        if (i < depth)
            inserted.dims[inserted.rank++] = i;
        else
            windows.dims[windows.rank++] = first + i - depth;
    }
    Shape whole = {.rank = first};
    memcpy(whole.dims, indices->shape.dims, sizeof *whole.dims * (size_t)first);
    for (int i = (int)depth; i < x->shape.rank; i++)
        hlo_list_add(h, &whole, x->shape.dims[i]);
    updates = hlo_broadcast(h, updates, whole);
    HLO_STOPS(h);
    AUTO(text) Text region = {0};
    if (op)
        text_format(&region, "%%c = stablehlo.%s %%a, %%b : tensor<%s>\n      stablehlo.return %%c", op, hlo_type_name(x->dtype));
    else
        text_add(&region, STR("stablehlo.return %b"));
    hlo_fail(h, region.failed ? OUT_OF_MEMORY : OK);
    HLO_STOPS(h);
    return hlo_line(h, x->dtype, x->shape,
                    "\"stablehlo.scatter\"(%v, %v, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = %l, "
                    "inserted_window_dims = %l, scatter_dims_to_operand_dims = %l, index_vector_dim = %d>, indices_are_sorted = "
                    "false, unique_indices = false}> ({\n    ^bb0(%%a: %e, %%b: %e):\n      %c : %e\n    }) : (%t, %t, %t) -> %r",
                    x, indices, updates, windows, inserted, inserted, (int64_t)first, region.p, x, indices, updates);
}
