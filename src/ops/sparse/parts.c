// SparseReorder, SparseSlice, SparseSliceGrad, SparseConcat, SparseSplit — rows of sparse tensors sorted, cut and joined.
#include "ops/sparse/coo.h"

// Row i of output `indices` and value i of output `values` become those of a row of `a`, moved by -offset in dimension d.
static Status *put(const Coo *a, int64_t from, const Tensor *indices, const Tensor *values, int64_t to) {
    memcpy((int64_t *)indices->data + to * a->rank, a->indices + from * a->rank, (size_t)a->rank * sizeof(int64_t));
    return element_copy(a->values, from, values, to);
}

// ---------------------------------------- SparseReorder

static Status *reorder_run(Kernel *k) {
    Coo a;
    AUTO(arena) Arena arena = {0};
    TRY(coo_get(k, 0, &a));
    int64_t *order = ARENA_ARRAY(&arena, int64_t, a.n + 1);
    NEED_MEMORY(order);
    TRY(coo_sort(a.indices, a.n, a.rank, a.rank, order));
    for (int64_t i = 0; i < a.n; i++)
        TRY(put(&a, order[i], k->out[0], k->out[1], i));
    return OK;
}

static Status *reorder_shape(Shapes *s) {
    s->out[0] = s->in[0];
    s->out[1] = s->in[1];
    return OK;
}

// The permutation isn't an output of the op: it is found by sorting the row numbers with the same indices.
static void reorder_grad(Formula *f) {
    Output n = SizeOf(f->x[1]);
    Output order = At(Op("SparseReorder", f->x[0], Range(Int(0), n, Int(1)), f->x[2]), 1);
    f->dx[1] = Gather(f->dy[1], InvertPermutation(order), Int(0));
}

const Op op_SparseReorder = {
    .signature = "SparseReorder(input_indices: int64, input_values: T, input_shape: int64) -> output_indices: int64, "
                 "output_values: T; T: type",
    .doc = "A sparse tensor's elements in row-major order.",
    .needs = "matrix(input_indices), vector(input_values), vector(input_shape)", .shape = reorder_shape,
    .grad = reorder_grad, .cpu = ANY_TYPE(reorder_run),
};

// ---------------------------------------- SparseSlice

static bool inside(const Coo *a, int64_t i, const int64_t *start, const int64_t *dims) {
    for (int64_t d = 0; d < a->rank; d++) {
        int64_t at = a->indices[i * a->rank + d];
        if (at < start[d] || (uint64_t)at - (uint64_t)start[d] >= (uint64_t)dims[d])
            return false;
    }
    return true;
}

// What begins at `start` and has the extents `dims`, into outputs i, n_out / 3 + i and the third such.
static Status *cut(Kernel *k, const Coo *a, const int64_t *start, const int64_t *dims, int i) {
    int step = k->n_out / 3;
    int64_t n = 0, to = 0;
    for (int64_t row = 0; row < a->n; row++)
        n += inside(a, row, start, dims);
    TRY(kernel_output(k, i, SHAPE(n, a->rank)));
    TRY(kernel_output(k, step + i, SHAPE(n)));
    TRY(kernel_output(k, 2 * step + i, SHAPE(a->rank)));
    for (int64_t row = 0; row < a->n; row++) {
        if (!inside(a, row, start, dims))
            continue;
        TRY(put(a, row, k->out[i], k->out[step + i], to));
        for (int64_t d = 0; d < a->rank; d++)
            ((int64_t *)k->out[i]->data)[to * a->rank + d] -= start[d];
        to++;
    }
    memcpy(k->out[2 * step + i]->data, dims, (size_t)a->rank * sizeof *dims);
    return OK;
}

static Status *slice_run(Kernel *k) {
    Coo a;
    AUTO(arena) Arena arena = {0};
    TRY(coo_get(k, 0, &a));
    const int64_t *start = k->in[3]->data, *size = k->in[4]->data;
    NEED(tensor_count(k->in[3]) == a.rank, INVALID_ARGUMENT,
         "Expected start to be a vector of length %lld but got length %lld", (long long)a.rank,
         (long long)tensor_count(k->in[3]));
    NEED(tensor_count(k->in[4]) == a.rank, INVALID_ARGUMENT,
         "Expected size to be a vector of length %lld but got length %lld", (long long)a.rank,
         (long long)tensor_count(k->in[4]));
    int64_t *dims = ARENA_ARRAY(&arena, int64_t, a.rank + 1);
    NEED_MEMORY(dims);
    for (int64_t d = 0; d < a.rank; d++) {
        int64_t rest;
        NEED(size[d] >= 0 && a.dims[d] >= 0, INVALID_ARGUMENT, "size[%lld] = %lld of %lld: none may be negative",
             (long long)d, (long long)size[d], (long long)a.dims[d]);
        if (__builtin_sub_overflow(a.dims[d], start[d], &rest))
            rest = size[d];
        dims[d] = rest > 0 ? min_i64(size[d], rest) : 0;
    }
    return cut(k, &a, start, dims, 0);
}

static Status *parts_shape(Shapes *s) {
    int of = s->n_in == 5 ? 2 : 3, step = s->n_out / 3;
    Shape shape = s->in[of];
    int64_t rank = shape.rank == 1 ? shape.dims[0] : UNKNOWN_DIM;
    for (int i = 0; i < step; i++) {
        s->out[i] = SHAPE(UNKNOWN_DIM, rank);
        s->out[step + i] = SHAPE(UNKNOWN_DIM);
        s->out[2 * step + i] = SHAPE(rank);
    }
    return OK;
}

static void slice_grad(Formula *f) {
    f->dx[1] = Op("SparseSliceGrad", f->dy[1], f->x[0], f->x[3], f->y[0]);
}

const Op op_SparseSlice = {
    .signature = "SparseSlice(indices: int64, values: T, shape: int64, start: int64, size: int64) -> "
                 "output_indices: int64, output_values: T, output_shape: int64; T: type",
    .doc = "A block of a sparse tensor.", .needs = "matrix(indices), vector(values), vector(shape), vector(start), "
                                                   "vector(size)",
    .shape = parts_shape, .grad = slice_grad, .cpu = ANY_TYPE(slice_run), .flags = OP_DYNAMIC_SHAPE,
};

static Status *slice_grad_run(Kernel *k) {
    const Tensor *dy = k->in[0], *in = k->in[1], *start = k->in[2], *out = k->in[3], *dx = k->out[0];
    int64_t rank = in->shape.dims[1], n = in->shape.dims[0], kept = out->shape.dims[0], j = 0;
    size_t size = dtype_size(dy->dtype);
    NEED(out->shape.dims[1] == rank, INVALID_ARGUMENT, "The input and output should have the same ndims: got %s and %s",
         shape_text(&in->shape), shape_text(&out->shape));
    NEED(tensor_count(start) == rank, INVALID_ARGUMENT, "Expected %lld elements of input_start, got %lld",
         (long long)rank, (long long)tensor_count(start));
    NEED(kept <= n && tensor_count(dy) == kept, INVALID_ARGUMENT,
         "# rows in output_indices should be # elements in backprop_val_grad and not more than those of input_indices, "
         "got %lld, %lld and %lld", (long long)kept, (long long)tensor_count(dy), (long long)n);
    memset(dx->data, 0, tensor_bytes(dx));
    for (int64_t i = 0; i < n && j < kept; i++) {
        bool same = true;
        for (int64_t d = 0; d < rank && same; d++)
            same = ((const int64_t *)in->data)[i * rank + d] - ((const int64_t *)start->data)[d] ==
                   ((const int64_t *)out->data)[j * rank + d];
        if (same)
            memcpy((char *)dx->data + (size_t)i * size, (const char *)dy->data + (size_t)j++ * size, size);
    }
    NEED(j == kept, INVALID_ARGUMENT, "Elements of backprop_val_grad aren't all propagated: of %lld those from %lld on",
         (long long)kept, (long long)j);
    return OK;
}

static Status *slice_grad_shape(Shapes *s) {
    s->out[0] = SHAPE(s->in[1].rank == 2 ? s->in[1].dims[0] : UNKNOWN_DIM);
    return OK;
}

const Op op_SparseSliceGrad = {
    .signature = "SparseSliceGrad(backprop_val_grad: T, input_indices: int64, input_start: int64, "
                 "output_indices: int64) -> val_grad: T; T: numbers",
    .doc = "The gradient of SparseSlice: zero outside the block.",
    .needs = "vector(backprop_val_grad), matrix(input_indices), vector(input_start), matrix(output_indices)",
    .shape = slice_grad_shape, .cpu = ANY_TYPE(slice_grad_run), .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- SparseSplit

// The first dims % n pieces are longer by one, TensorFlow's rule; a piece is a slice.
static Status *pieces_run(Kernel *k) {
    Coo a;
    AUTO(arena) Arena arena = {0};
    int64_t axis = ((const int64_t *)k->in[0]->data)[0], n = k->n_out / 3;
    TRY(coo_get(k, 1, &a));
    NEED(axis >= -a.rank && axis < a.rank, INVALID_ARGUMENT,
         "Input split_dim should be between 0 and rank (%lld), got %lld", (long long)a.rank, (long long)axis);
    axis += axis < 0 ? a.rank : 0;
    TRY(coo_check(&a));
    NEED(n >= 1 && n <= a.dims[axis], INVALID_ARGUMENT,
         "Input num_split should be between 1 and the splitting dimension size (%lld), got %lld",
         (long long)a.dims[axis], (long long)n);
    int64_t *start = ARENA_ARRAY(&arena, int64_t, a.rank + 1), *dims = ARENA_ARRAY(&arena, int64_t, a.rank + 1);
    NEED_MEMORY(start && dims);
    memset(start, 0, (size_t)a.rank * sizeof *start);
    memcpy(dims, a.dims, (size_t)a.rank * sizeof *dims);
    int64_t each = n ? a.dims[axis] / n : 0, longer = n ? a.dims[axis] % n : 0;
    for (int i = 0; i < n; i++) {
        dims[axis] = each + (i < longer);
        TRY(cut(k, &a, start, dims, i));
        start[axis] += dims[axis];
    }
    return OK;
}

const Op op_SparseSplit = {
    .signature = "SparseSplit(split_dim: int64, indices: int64, values: T, shape: int64) -> output_indices: num_split * "
                 "int64, output_values: num_split * T, output_shape: num_split * int64; num_split: int >= 1; T: type",
    .doc = "A sparse tensor in pieces along a dimension; the first are one longer where it doesn't come out even.",
    .needs = "one(split_dim), matrix(indices), vector(values), vector(shape)",
    .shape = parts_shape, .cpu = ANY_TYPE(pieces_run), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};

// ---------------------------------------- SparseConcat

static Status *get_part(const Kernel *k, int i, int n, Coo *out) {
    const Tensor *indices = k->in[i], *values = k->in[n + i], *shape = k->in[2 * n + i];
    NEED(indices->shape.rank == 2 && values->shape.rank == 1 && shape->shape.rank == 1, INVALID_ARGUMENT,
         "Input indices should be a matrix, values and shapes vectors, but received shapes %s, %s and %s at position %d",
         shape_text(&indices->shape), shape_text(&values->shape), shape_text(&shape->shape), i);
    NEED(values->shape.dims[0] == indices->shape.dims[0], INVALID_ARGUMENT, "Expected %lld input values, got %lld at "
         "position %d", (long long)indices->shape.dims[0], (long long)values->shape.dims[0], i);
    NEED(shape->shape.dims[0] == indices->shape.dims[1], INVALID_ARGUMENT,
         "Ranks of all input tensors must match: expected %lld but got %lld at position %d",
         (long long)indices->shape.dims[1], (long long)shape->shape.dims[0], i);
    *out = (Coo){indices->data, values, shape->data, indices->shape.dims[0], indices->shape.dims[1]};
    return coo_check(out);
}

// All parts, checked; dims becomes the extents of the whole.
static Status *get_parts(const Kernel *k, int n, int64_t *out_axis, Coo *parts, Arena *arena, int64_t **out_dims) {
    int64_t axis = node_int(k->node, "concat_dim");
    for (int i = 0; i < n; i++)
        TRY(get_part(k, i, n, &parts[i]));
    int64_t rank = parts[0].rank, *dims = ARENA_ARRAY(arena, int64_t, rank + 1);
    NEED_MEMORY(dims);
    NEED(axis >= -rank && axis < rank, INVALID_ARGUMENT,
         "Concat dimension must be in range [%lld, %lld), got %lld", (long long)-rank, (long long)rank, (long long)axis);
    axis += axis < 0 ? rank : 0;
    memcpy(dims, parts[0].dims, (size_t)rank * sizeof *dims);
    for (int i = 1; i < n; i++) {
        NEED(parts[i].rank == rank, INVALID_ARGUMENT,
             "Ranks of all input tensors must match: expected %lld but got %lld at position %d", (long long)rank,
             (long long)parts[i].rank, i);
        for (int64_t d = 0; d < rank; d++)
            if (d == axis)
                NEED(add_i64(dims[d], parts[i].dims[d], &dims[d]), INVALID_ARGUMENT, "dimension %lld is too large",
                     (long long)d);
            else
                NEED(dims[d] == parts[i].dims[d], INVALID_ARGUMENT, "Input shapes must match: expected %lld for "
                     "dimension %lld but got %lld at position %d", (long long)dims[d], (long long)d,
                     (long long)parts[i].dims[d], i);
    }
    *out_axis = axis;
    *out_dims = dims;
    return OK;
}

// Rows are moved along the axis and sorted as a whole: joined along any axis but the first, rows of different parts
// interleave. TensorFlow gives them in this order too.
static Status *joined_run(Kernel *k) {
    AUTO(arena) Arena arena = {0};
    int parts_n = k->n_in / 3;
    int64_t axis, *dims, total = 0, at = 0, moved = 0;
    Coo *parts = ARENA_ARRAY(&arena, Coo, parts_n + 1);
    NEED_MEMORY(parts);
    TRY(get_parts(k, parts_n, &axis, parts, &arena, &dims));
    int64_t rank = parts[0].rank;
    for (int i = 0; i < parts_n; i++)
        total += parts[i].n;
    int64_t *rows = ARENA_ARRAY(&arena, int64_t, total * rank + 1), *order = ARENA_ARRAY(&arena, int64_t, total + 1);
    int32_t *part_of = ARENA_ARRAY(&arena, int32_t, total + 1);
    int64_t *first = ARENA_ARRAY(&arena, int64_t, parts_n + 1);
    NEED_MEMORY(rows && order && part_of && first);
    for (int i = 0; i < parts_n; i++) {
        first[i] = at;
        for (int64_t row = 0; row < parts[i].n; row++, at++) {
            memcpy(rows + at * rank, parts[i].indices + row * rank, (size_t)rank * sizeof *rows);
            rows[at * rank + axis] += moved;
            part_of[at] = i;
        }
        moved += parts[i].dims[axis];
    }
    TRY(coo_sort(rows, total, rank, rank, order));
    TRY(coo_output(k, total, rank, dims));
    for (int64_t i = 0; i < total; i++) {
        int part = part_of[order[i]];
        memcpy((int64_t *)k->out[0]->data + i * rank, rows + order[i] * rank, (size_t)rank * sizeof *rows);
        TRY(element_copy(parts[part].values, order[i] - first[part], k->out[1], i));
    }
    return OK;
}

static Status *concat_shape(Shapes *s) {
    int n = s->n_in / 3;
    int64_t rank = UNKNOWN_DIM, rows = 0;
    for (int i = 0; i < n; i++) {
        const Shape *indices = &s->in[i];
        if (indices->rank == 2 && indices->dims[1] >= 0)
            rank = indices->dims[1];
        rows = rows < 0 || indices->rank != 2 || indices->dims[0] < 0 ? UNKNOWN_DIM : rows + indices->dims[0];
    }
    s->out[0] = SHAPE(rows, rank);
    s->out[1] = SHAPE(rows);
    s->out[2] = s->in[2 * n].rank == 1 ? s->in[2 * n] : SHAPE(rank);
    return OK;
}

const Op op_SparseConcat = {
    .signature = "SparseConcat(indices: N * int64, values: N * T, shapes: N * int64) -> output_indices: int64, "
                 "output_values: T, output_shape: int64; concat_dim: int; N: int >= 2; T: type",
    .doc = "Sparse tensors behind each other along a dimension, in row-major order.", .shape = concat_shape,
    .cpu = ANY_TYPE(joined_run), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
