// Tuple — see tuple.h.
#include "data/tuple.h"

void tuple_clear(Tensor *tuple, int n) {
    for (int i = 0; i < n; i++)
        tensor_clear(&tuple[i]);
}

void tuple_retain(const Tensor *from, int n, Tensor *out) {
    for (int i = 0; i < n; i++)
        out[i] = tensor_retain(&from[i]);
}

static Shape row_shape(const Shape *rows) {
    Shape row = {.rank = rows->rank - 1};
    memcpy(row.dims, rows->dims + 1, (size_t)row.rank * sizeof row.dims[0]);
    return row;
}

static Tensor row_view(const Tensor *rows, int64_t i) {
    Tensor row = *rows;
    row.shape = row_shape(&rows->shape);
    row.data = (char *)rows->data + (size_t)i * tensor_bytes(&row);
    row.buffer = NULL;
    return row;
}

Status *tuple_row(const Tensor *from, int64_t i, Tensor *out) {
    Tensor row = row_view(from, i);
    return tensor_copy(&row, out);
}

Status *tuple_set_row(const Tensor *rows, int64_t i, const Tensor *row) {
    Tensor to = row_view(rows, i);
    return tensor_copy_elements(row, &to);
}

Status *tuple_rows_shape(int64_t n, const Shape *row, Shape *out) {
    int64_t dims[MAX_RANK + 1] = {n};
    memcpy(dims + 1, row->dims, (size_t)row->rank * sizeof *dims);
    return shape_make(dims, row->rank + 1, out);
}

Status *tuples_push(Tuples *tuples, Tensor *element) {
    size_t width = (size_t)tuples->width;
    if (!vec_reserve(&tuples->tensors, tuples->tensors.n + width)) {
        tuple_clear(element, tuples->width);
        return OUT_OF_MEMORY;
    }
    memcpy(tuples->tensors.p + tuples->tensors.n, element, width * sizeof *element);
    memset(element, 0, width * sizeof *element);
    tuples->tensors.n += width;
    return OK;
}

void tuples_drop(Tuples *tuples, size_t n) {
    if (!n)
        return;
    size_t gone = n * (size_t)tuples->width, left = tuples->tensors.n - gone;
    for (size_t i = 0; i < gone; i++)
        tensor_clear(&tuples->tensors.p[i]);
    memmove(tuples->tensors.p, tuples->tensors.p + gone, left * sizeof *tuples->tensors.p);
    tuples->tensors.n = left;
}

void tuples_clear(Tuples *tuples) {
    for (size_t i = 0; i < tuples->tensors.n; i++)
        tensor_clear(&tuples->tensors.p[i]);
    vec_clear(&tuples->tensors);
}

Status *tuples_stack(const Tuples *tuples, int c, Tensor *out) {
    size_t n = tuples_count(tuples);
    const Tensor *first = &tuples_at(tuples, 0)[c];
    for (size_t i = 1; i < n; i++) {
        const Tensor *row = &tuples_at(tuples, i)[c];
        NEED(shape_equal(&row->shape, &first->shape), INVALID_ARGUMENT,
             "Cannot batch tensors with different shapes in component %d. First element had shape %s and element %zu had "
             "shape %s.", c, shape_text(&first->shape), i, shape_text(&row->shape));
    }
    Shape shape;
    TRY(tuple_rows_shape((int64_t)n, &first->shape, &shape));
    Tensor rows;
    TRY(tensor_new(first->dtype, shape, &rows));
    Status *status = OK;
    for (size_t i = 0; i < n && !status; i++)
        status = tuple_set_row(&rows, (int64_t)i, &tuples_at(tuples, i)[c]);
    if (status)
        tensor_clear(&rows);
    else
        *out = rows;
    return status;
}
