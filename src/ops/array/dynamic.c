// DynamicStitch, DynamicPartition — slices interleaved by index, and shared out by number.
#include "ops/array/moving.h"

// ---------------------------------------- DynamicStitch

// What each data tensor's slices look like: data.shape[indices.rank:].
static Status *slice_shape(const Shape *indices, const Shape *data, int i, Shape *out) {
    *out = UNKNOWN_SHAPE;
    if (indices->rank < 0 || data->rank < 0)
        return OK;
    bool fits = data->rank >= indices->rank;
    for (int d = 0; d < indices->rank && fits; d++)
        fits = indices->dims[d] < 0 || data->dims[d] < 0 || indices->dims[d] == data->dims[d];
    NEED(fits, INVALID_ARGUMENT, "data[%d].shape = %s does not start with indices[%d].shape = %s", i, shape_text(data),
         i, shape_text(indices));
    *out = (Shape){.rank = data->rank - indices->rank};
    for (int d = 0; d < out->rank; d++)
        out->dims[d] = data->dims[indices->rank + d];
    return OK;
}

enum { MOST_INDICES = 64 };  // constants of more are left to the step

static Status *stitch_shape(Shapes *s) {
    int n = s->n_in / 2;
    Shape slice = UNKNOWN_SHAPE;
    int64_t rows = 0;
    for (int i = 0; i < n; i++) {
        Shape one;
        const Tensor *indices = s->value[i];
        if (!indices || tensor_count(indices) > MOST_INDICES)
            rows = UNKNOWN_DIM;
        for (int64_t k = 0; rows >= 0 && k < tensor_count(indices); k++)
            rows = tensor_int(indices, k) >= rows ? tensor_int(indices, k) + 1 : rows;
        TRY(slice_shape(&s->in[i], &s->in[n + i], i, &one));
        TRY(shape_merge(&slice, &one, &slice));
    }
    if (slice.rank < 0)
        return OK;
    NEED(slice.rank < MAX_RANK, INVALID_ARGUMENT, "a shape has at most %d dimensions", MAX_RANK);
    s->out[0] = (Shape){.rank = slice.rank + 1, .dims = {rows}};
    for (int d = 0; d < slice.rank; d++)
        s->out[0].dims[d + 1] = slice.dims[d];
    return shape_check(&s->out[0]);
}

static Status *stitch_move(Kernel *k, const void *const *in, void *const *out) {
    int n = k->n_in / 2;
    const Shape *shape = &k->out[0]->shape;
    size_t bytes = (size_t)shape_span(shape, 1, shape->rank) * moved_size(k->out[0]->dtype);
    memset(out[0], 0, (size_t)shape->dims[0] * bytes);
    for (int i = 0; i < n; i++) {
        const int32_t *indices = k->in[i]->data;
        for (int64_t j = 0, count = tensor_count(k->in[i]); j < count; j++)
            memcpy((char *)out[0] + (size_t)indices[j] * bytes, (const char *)in[n + i] + (size_t)j * bytes, bytes);
    }
    return OK;
}

// Goes over the indices twice: the first time finds how long the result is, and that each is good, so that nothing is
// written where one is not.
static Status *stitch_run(Kernel *k) {
    int n = k->n_in / 2;
    int64_t most = -1;
    Shape slice;
    TRY(slice_shape(&k->in[0]->shape, &k->in[n]->shape, 0, &slice));
    for (int i = 0; i < n; i++) {
        const int32_t *indices = k->in[i]->data;
        for (int64_t j = 0, count = tensor_count(k->in[i]); j < count; j++) {
            NEED(indices[j] >= 0, INVALID_ARGUMENT, "indices[%d] = %d is out of range: it is negative", i, indices[j]);
            most = max_i64(most, indices[j]);
        }
    }
    Shape shape = {.rank = slice.rank + 1, .dims = {most + 1}};
    for (int d = 0; d < slice.rank; d++)
        shape.dims[d + 1] = slice.dims[d];
    TRY(kernel_output(k, 0, shape));
    return move_elements(k, stitch_move);
}

static void stitch_grad(Formula *f) {
    int n = f->n_x / 2;
    for (int i = 0; i < n; i++)
        f->dx[n + i] = Gather(f->dy[0], f->x[i], Int(0));
}

static COLD Status *stitch_hlo(Hlo *h) {
    const Shape *out = hlo_out_shape(h, 0);
    NEED(shape_is_known(out), UNIMPLEMENTED, "the length is not known");
    HloValue merged = hlo_fill(h, 0, hlo_out_type(h, 0), *out);
    for (int i = 0; i < h->n_in / 2; i++) {
        HloValue data = hlo_in(h, h->n_in / 2 + i), indices = hlo_flat(h, hlo_in(h, i));
        Shape rows = *out;
        rows.dims[0] = indices->shape.dims[0];
        merged = hlo_put(h, NULL, merged, indices, hlo_reshape(h, data, rows), false);
    }
    return hlo_out(h, 0, merged);
}

const Op op_DynamicStitch = {
    .signature = "DynamicStitch(indices: N * int32, data: N * T) -> merged: T; N: int >= 1; T: type",
    .doc = "The slices of the data where the indices say; later ones win.", .shape = stitch_shape,
    .grad = stitch_grad, .cpu = ANY_TYPE(stitch_run), .flags = OP_DYNAMIC_SHAPE, .hlo = stitch_hlo,
};

static void parallel_expand(Formula *f) {
    int n = f->n_x / 2;
    const FormulaArg lists[] = {{f->x, n, true}, {f->x + n, n, true}};
    f->results[0] = (Output){formula_node(f, "DynamicStitch", lists, 2, NULL), 0};
}

const Op op_ParallelDynamicStitch = {
    .signature = "ParallelDynamicStitch(indices: N * int32, data: N * T) -> merged: T; N: int >= 1; T: type",
    .doc = "The slices of the data where the indices say.", .shape = stitch_shape, .expand = parallel_expand,
};

// ---------------------------------------- DynamicPartition

static Status *partition_shape(Shapes *s) {
    Shape slice;
    TRY(slice_shape(&s->in[1], &s->in[0], 0, &slice));
    for (int i = 0; i < s->n_out && slice.rank >= 0; i++) {
        NEED(slice.rank < MAX_RANK, INVALID_ARGUMENT, "a shape has at most %d dimensions", MAX_RANK);
        s->out[i] = (Shape){.rank = slice.rank + 1, .dims = {UNKNOWN_DIM}};
        for (int d = 0; d < slice.rank; d++)
            s->out[i].dims[d + 1] = slice.dims[d];
    }
    return OK;
}

static Status *partition_move(Kernel *k, const void *const *in, void *const *out) {
    const Shape *shape = &k->out[0]->shape;
    size_t bytes = (size_t)shape_span(shape, 1, shape->rank) * moved_size(k->out[0]->dtype);
    const int32_t *to = k->in[1]->data;
    int64_t *filled = k->scratch;
    memset(filled, 0, (size_t)k->n_out * sizeof *filled);
    for (int64_t i = 0, n = tensor_count(k->in[1]); i < n; i++)
        memcpy((char *)out[to[i]] + (size_t)filled[to[i]]++ * bytes, (const char *)in[0] + (size_t)i * bytes, bytes);
    return OK;
}

static Status *partition_run(Kernel *k) {
    const int32_t *to = k->in[1]->data;
    int64_t n = tensor_count(k->in[1]), *counts = k->scratch;
    Shape slice;
    TRY(slice_shape(&k->in[1]->shape, &k->in[0]->shape, 0, &slice));
    memset(counts, 0, (size_t)k->n_out * sizeof *counts);
    for (int64_t i = 0; i < n; i++) {
        if (to[i] < 0 || to[i] >= k->n_out)
            KERNEL_INDEX_ERROR("partitions", i, to[i], k->n_out);
        counts[to[i]]++;
    }
    for (int i = 0; i < k->n_out; i++) {
        Shape shape = {.rank = slice.rank + 1, .dims = {counts[i]}};
        for (int d = 0; d < slice.rank; d++)
            shape.dims[d + 1] = slice.dims[d];
        TRY(kernel_output(k, i, shape));
    }
    return move_elements(k, partition_move);
}

static Status *partition_prepare(Prepare *p) {
    p->scratch = (size_t)p->n_out * sizeof(int64_t);
    return OK;
}

static void partition_grad(Formula *f) {  // the parts stitched together again
    Output partitions = f->x[1], shape = ShapeOf(partitions);
    int n = f->n_y;
    Output places = Reshape(Range(Int(0), SizeOf(partitions), Int(1)), shape);
    Node *parts = formula_node(f, "DynamicPartition",
                               (FormulaArg[]){{&places, 1, false}, {&partitions, 1, false}}, 2,
                               ATTRS(INT_ATTR("num_partitions", n)));
    Output *indices = ARENA_ARRAY(&f->graph->arena, Output, n);
    if (!indices) {
        formula_fail(f, OUT_OF_MEMORY);
        return;
    }
    for (int i = 0; i < n; i++)
        indices[i] = (Output){parts, i};
    Output whole = {formula_node(f, "DynamicStitch", (FormulaArg[]){{indices, n, true}, {f->dy, n, true}}, 2, NULL), 0};
    f->dx[0] = Reshape(whole, ShapeOf(f->x[0]));
}

const Op op_DynamicPartition = {
    .signature =
        "DynamicPartition(data: T, partitions: int32) -> outputs: num_partitions * T; num_partitions: int >= 1; "
                 "T: type",
    .doc = "The slices of the data, shared out by number.", .shape = partition_shape, .grad = partition_grad,
    .prepare = partition_prepare, .cpu = ANY_TYPE(partition_run), .flags = OP_DYNAMIC_SHAPE,
};
