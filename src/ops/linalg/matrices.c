// Matrices — see matrices.h.
#include "ops/linalg/matrices.h"

#include <complex.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "formula/ops.h"

// ---------------------------------------- shapes

Status *matrix_shape(const Shapes *s, int input, bool square, Shape *out) {
    *out = s->in[input];
    if (out->rank < 0)
        return OK;
    NEED(out->rank >= 2, INVALID_ARGUMENT, "Input must have rank at least 2, got shape %s", shape_text(out));
    int64_t *rows = &out->dims[out->rank - 2], *columns = &out->dims[out->rank - 1];
    if (!square)
        return OK;
    NEED(*rows < 0 || *columns < 0 || *rows == *columns, INVALID_ARGUMENT,
         "Dimensions must be equal: the matrix is not square, its shape is %s", shape_text(out));
    *rows = *columns = max_i64(*rows, *columns);
    return OK;
}

Shape matrix_batch(Shape shape) {
    shape.rank -= 2;
    shape.dims[shape.rank] = shape.dims[shape.rank + 1] = 0;
    return shape;
}

Shape matrix_append(Shape batch, int64_t extent) {
    batch.dims[batch.rank++] = extent;
    return batch;
}

int64_t extent_least(int64_t a, int64_t b) {
    return a == 0 || b == 0 ? 0 : a < 0 || b < 0 ? UNKNOWN_DIM : min_i64(a, b);
}

Status *matrix_square_shape(Shapes *s) {
    Shape matrix;
    TRY(matrix_shape(s, 0, true, &matrix));
    s->out[0] = matrix;
    return OK;
}

Status *matrix_system_shape(Shapes *s, const Shape *batch, int64_t n) {
    NEED(batch->rank + 2 <= MAX_RANK, INVALID_ARGUMENT, "more than %d dimensions", MAX_RANK);
    const Shape *rhs = &s->in[s->n_in - 1];
    s->out[0] = matrix_append(matrix_append(*batch, n), rhs->dims[rhs->rank - 1]);
    return OK;
}

// ---------------------------------------- geometry

Status *matrix_match(Prepare *p, const Shape *part, const Shape *whole, int64_t n, const int64_t **out) {
    int64_t *at = ARENA_ARRAY(p->arena, int64_t, n + 1);
    NEED_MEMORY(at);
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, step = 1;
        at[i] = 0;
        for (int d = whole->rank - 3; d >= 0; d--) {
            int own = d - (whole->rank - part->rank);
            int64_t extent = whole->dims[d], place = rest % extent;
            rest /= extent;
            if (own < 0)
                continue;
            at[i] += part->dims[own] == 1 ? 0 : place * step;
            step *= part->dims[own];
        }
    }
    *out = at;
    return OK;
}

// ---------------------------------------- elements

Status *elements_init(DType dtype, bool is_complex, Elements *out) {
    DType compute = is_complex ? DT_complex128 : DT_double;
    *out = (Elements){.is_complex = is_complex, .size = dtype_size(dtype)};
    NEED(cast_find(dtype, compute, &out->load) && cast_find(compute, dtype, &out->store) &&
         cast_find(DT_double, dtype, &out->real), INTERNAL, "matrices of %s are not computed with", dtype_name(dtype));
    return OK;
}

void elements_load(const Elements *elements, const void *data, int64_t first, int64_t n, void *to) {
    cast_run(&elements->load, (const char *)data + (size_t)first * elements->size, to, n);
}

void elements_store(const Elements *elements, const void *from, int64_t n, void *data, int64_t first) {
    cast_run(&elements->store, from, (char *)data + (size_t)first * elements->size, n);
}

void elements_store_real(const Elements *elements, const double *from, int64_t n, void *data, int64_t first) {
    cast_run(&elements->real, from, (char *)data + (size_t)first * elements->size, n);
}

double elements_scale(const Elements *elements, void *x, int64_t n) {
    double *part = x, most = 0;
    n *= elements->is_complex ? 2 : 1;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(part[i])) {
            memset(x, 0, (size_t)n * sizeof *part);
            return NAN;
        }
        most = fmax(most, fabs(part[i]));
    }
    int power = most > 0 ? ilogb(most) : 0;
    for (int64_t i = 0; i < n && power; i++)
        part[i] = ldexp(part[i], -power);
    return ldexp(1, power);
}

void elements_times(const Elements *elements, void *x, int64_t n, double factor) {
    for (int64_t i = 0; i < n * (elements->is_complex ? 2 : 1) && factor != 1; i++)
        ((double *)x)[i] *= factor;
}

void elements_fill(const Elements *elements, void *x, int64_t n, double value) {
    for (int64_t i = 0; i < n * (elements->is_complex ? 2 : 1); i++)
        ((double *)x)[i] = value;
}

void matrix_turn(bool is_complex, const void *from, int64_t m, int64_t n, bool conjugate, void *to) {
    const double *x = from;
    const Complex128 *z = from;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            if (is_complex)
                ((Complex128 *)to)[j * m + i] = conjugate ? conj(z[i * n + j]) : z[i * n + j];
            else
                ((double *)to)[j * m + i] = x[i * n + j];
        }
}

// ---------------------------------------- gradients

Output matrix_adjoint(Formula *f, Output x) {
    int rank = output_shape(x)->rank;
    if (rank < 2) {  // not known
        Output dims = Rank(x), first = Sub(dims, Int(2)), last = Sub(dims, Int(1));
        Output turned = Pack(((Output[]){last, first}), 2, 0);
        return Op("ConjugateTranspose", x, Concat(((Output[]){Range(Int(0), first, Int(1)), turned}), 2, Int(0)));
    }
    int64_t order[MAX_RANK];
    for (int i = 0; i < rank; i++)
        order[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return Op("ConjugateTranspose", x, formula_ints(f, order, rank, DT_int32));
}

// x[..., from:to] of the last dimension, or of the one before it.
static Output part(Formula *f, Output x, bool rows, int64_t from, int64_t to) {
    int n = rows ? 3 : 2, open = to == TO_THE_END ? 2 : 0;
    Output begin = formula_ints(f, (int64_t[]){0, from, 0}, n, DT_int32);
    Output end = formula_ints(f, (int64_t[]){0, to, 0}, n, DT_int32);
    Output strides = formula_ints(f, (int64_t[]){1, 1, 1}, n, DT_int32);
    return OpWith("StridedSlice", ATTRS(INT_ATTR("ellipsis_mask", 1), INT_ATTR("begin_mask", rows ? 4 : 0),
                                        INT_ATTR("end_mask", open | (rows ? 4 : 0))), x, begin, end, strides);
}

Output matrix_rows(Formula *f, Output x, int64_t from, int64_t to) {
    return part(f, x, true, from, to);
}
Output matrix_columns(Formula *f, Output x, int64_t from, int64_t to) {
    return part(f, x, false, from, to);
}

Output matrix_shift(Formula *f, Output x, bool rows, int by) {
    Output zeros = ZerosLike(part(f, x, rows, 0, 1)), kept = by < 0 ? part(f, x, rows, 1, TO_THE_END) : part(f, x, rows, 0, -1);
    Output parts[] = {by < 0 ? kept : zeros, by < 0 ? zeros : kept};
    return Concat(parts, 2, Int(rows ? -2 : -1));
}
