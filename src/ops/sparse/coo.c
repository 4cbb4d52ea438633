// Coordinates — see coo.h.
#include "ops/sparse/coo.h"

#include <stdlib.h>

Status *coo_get(const Kernel *k, int first, Coo *out) {
    const Tensor *indices = k->in[first], *values = k->in[first + 1], *shape = k->in[first + 2];
    NEED(indices->shape.rank == 2, INVALID_ARGUMENT, "Input indices should be a matrix but received shape: %s",
         shape_text(&indices->shape));
    NEED(values->shape.rank == 1, INVALID_ARGUMENT, "Input values should be a vector but received shape: %s",
         shape_text(&values->shape));
    NEED(shape->shape.rank == 1, INVALID_ARGUMENT, "Input shape should be a vector but received shape: %s",
         shape_text(&shape->shape));
    NEED(indices->shape.dims[0] == values->shape.dims[0], INVALID_ARGUMENT,
         "Number of values must match first dimension of indices. Got %lld values, indices shape: %s",
         (long long)values->shape.dims[0], shape_text(&indices->shape));
    NEED(indices->shape.dims[1] == shape->shape.dims[0], INVALID_ARGUMENT,
         "Number of dimensions must match second dimension of indices. Got %lld dimensions, indices shape: %s",
         (long long)shape->shape.dims[0], shape_text(&indices->shape));
    *out = (Coo){indices->data, values, shape->data, indices->shape.dims[0], indices->shape.dims[1]};
    return OK;
}

static Status *row_error(const Coo *coo, int64_t i, const char *what) {
    AUTO(text) Text text = {0};
    for (int64_t d = 0; d < coo->rank; d++)
        text_format(&text, d ? ",%lld" : "%lld", (long long)coo->indices[i * coo->rank + d]);
    text_add(&text, STR("] is "));
    text_format(&text, "%s", what);
    for (int64_t d = 0; d < coo->rank && coo->dims; d++)
        text_format(&text, d ? ",%lld" : ": need 0 <= index < [%lld", (long long)coo->dims[d]);
    Str said = text_str(&text);
    FAIL(INVALID_ARGUMENT, "indices[%lld] = [%.*s]", (long long)i, STR_ARGS(said));
}

Status *coo_check(const Coo *coo) {
    for (int64_t i = 0; i < coo->n; i++)
        for (int64_t d = 0; d < coo->rank; d++) {
            int64_t at = coo->indices[i * coo->rank + d];
            if (at < 0 || at >= coo->dims[d])
                return row_error(coo, i, "out of bounds");
        }
    return OK;
}

Status *coo_check_order(const Coo *coo) {
    TRY(coo_check(coo));
    for (int64_t i = 1; i < coo->n; i++) {
        int order = coo_compare(coo->indices + (i - 1) * coo->rank, coo->indices + i * coo->rank, coo->rank);
        if (order == 0)
            return row_error(coo, i, "repeated");
        if (order > 0)
            return row_error(coo, i, "out of order. Many sparse ops require sorted indices");
    }
    return OK;
}

Status *coo_match(const Coo *a, const Coo *b) {
    NEED(a->rank == b->rank, INVALID_ARGUMENT, "Operands do not have the same ranks; got %lld and %lld",
         (long long)a->rank, (long long)b->rank);
    for (int64_t d = 0; d < a->rank; d++)
        NEED(a->dims[d] == b->dims[d], INVALID_ARGUMENT,
             "Operands' shapes do not match: got %lld and %lld for dimension %lld", (long long)a->dims[d],
             (long long)b->dims[d], (long long)d);
    return OK;
}

int coo_compare(const int64_t *a, const int64_t *b, int64_t rank) {
    for (int64_t d = 0; d < rank; d++)
        if (a[d] != b[d])
            return a[d] < b[d] ? -1 : 1;
    return 0;
}

// Merges order[first, middle) and order[middle, last) by way of `spare`.
static void merge(const int64_t *indices, int64_t step, int64_t columns, int64_t *order, int64_t *spare, int64_t first,
                  int64_t middle, int64_t last) {
    int64_t a = first, b = middle;
    for (int64_t to = first; to < last; to++) {
        bool left = a < middle && (b == last || coo_compare(indices + order[a] * step, indices + order[b] * step,
                                                            columns) <= 0);
        spare[to] = order[left ? a++ : b++];
    }
    memcpy(order + first, spare + first, (size_t)(last - first) * sizeof *order);
}

Status *coo_sort(const int64_t *indices, int64_t n, int64_t step, int64_t columns, int64_t *order) {
    bool sorted = true;
    for (int64_t i = 0; i < n; i++) {
        order[i] = i;
        sorted = sorted && (i == 0 || coo_compare(indices + (i - 1) * step, indices + i * step, columns) <= 0);
    }
    if (sorted)
        return OK;
    int64_t *spare = malloc((size_t)n * sizeof *spare);
    NEED_MEMORY(spare);
    for (int64_t width = 1; width < n; width *= 2)
        for (int64_t first = 0; first + width < n; first += 2 * width)
            merge(indices, step, columns, order, spare, first, first + width, min_i64(first + 2 * width, n));
    free(spare);
    return OK;
}

Status *coo_output(Kernel *k, int64_t n, int64_t rank, const int64_t *dims) {
    TRY(kernel_output(k, 0, SHAPE(n, rank)));
    TRY(kernel_output(k, 1, SHAPE(n)));
    if (dims) {
        TRY(kernel_output(k, 2, SHAPE(rank)));
        memcpy(k->out[2]->data, dims, (size_t)rank * sizeof *dims);
    }
    return OK;
}

Status *coo_count(const int64_t *dims, int64_t rank, int64_t *out) {
    *out = 1;
    for (int64_t d = 0; d < rank; d++)
        NEED(dims[d] >= 0 && mul_i64(*out, dims[d], out), INVALID_ARGUMENT, "shape[%lld] = %lld is no extent",
             (long long)d, (long long)dims[d]);
    return OK;
}

Status *coo_shape(const Coo *coo, Shape *out) {
    for (int64_t d = 0; d < coo->rank; d++)
        NEED(coo->dims[d] >= 0, INVALID_ARGUMENT, "shape[%lld] = %lld is no extent", (long long)d,
             (long long)coo->dims[d]);
    return shape_make(coo->dims, coo->rank, out);
}
