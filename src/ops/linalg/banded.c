// BandedTriangularSolve, TridiagonalSolve, TridiagonalMatMul — matrices of which only some diagonals are there.
#define SELF "ops/linalg/banded.c"
#ifndef T
#include <complex.h>
#include <float.h>

#include "ops/linalg/factor.h"
#include "ops/linalg/matrices.h"
#include "ops/op.h"

// Matrices of `bands` diagonals of length n; right sides [n, k].
typedef struct {
    int64_t n, k, bands, batch, cost;
    bool lower, adjoint, pivots, perturbs;
    double epsilon, least;       // of the type: how fine it is, its smallest number
    const int64_t *bands_at, *rhs_at;
    Elements elements;
} Banded;

// ---------------------------------------- shapes and geometry

static Status *banded_shape(Shapes *s) {
    Shape bands, rhs, batch;
    TRY(matrix_shape(s, 0, false, &bands));
    TRY(matrix_shape(s, 1, false, &rhs));
    if (bands.rank < 0 || rhs.rank < 0)
        return OK;
    int64_t n = bands.dims[bands.rank - 1], rows = rhs.dims[rhs.rank - 2];
    NEED(n < 0 || rows < 0 || n == rows, INVALID_ARGUMENT, "Dimensions must be equal: bands of shape %s and right sides "
         "of shape %s", shape_text(&bands), shape_text(&rhs));
    NEED(bands.dims[bands.rank - 2] != 0, INVALID_ARGUMENT, "there must be a band, got shape %s", shape_text(&bands));
    Shape a = matrix_batch(bands), b = matrix_batch(rhs);
    TRY(shape_broadcast(&a, &b, &batch));
    return batch.rank < 0 ? OK : matrix_system_shape(s, &batch, max_i64(n, rows));
}

static Status *tridiagonal_shape(Shapes *s) {
    Shape bands, rhs;
    TRY(matrix_shape(s, 0, false, &bands));
    TRY(matrix_shape(s, 1, false, &rhs));
    s->out[0] = rhs;
    if (bands.rank < 0 || rhs.rank < 0)
        return OK;
    int64_t three = bands.dims[bands.rank - 2];
    NEED(three < 0 || three == 3, INVALID_ARGUMENT, "Expected diagonals to have 3 rows, got shape %s", shape_text(&bands));
    int64_t n = bands.dims[bands.rank - 1], rows = rhs.dims[rhs.rank - 2];
    NEED(n < 0 || rows < 0 || n == rows, INVALID_ARGUMENT, "Dimensions must be equal: diagonals of shape %s and right "
         "sides of shape %s", shape_text(&bands), shape_text(&rhs));
    Shape a = matrix_batch(bands), b = matrix_batch(rhs), batch;
    TRY(shape_merge(&a, &b, &batch));
    return matrix_system_shape(s, &batch, max_i64(n, rows));
}

static Status *product_shape(Shapes *s) {
    Shape rhs, diagonal;
    TRY(matrix_shape(s, 3, false, &rhs));
    for (int i = 0; i < 3; i++) {
        TRY(matrix_shape(s, i, false, &diagonal));
        if (diagonal.rank < 0 || rhs.rank < 0)
            continue;
        Shape batch = matrix_batch(rhs), wanted = matrix_append(matrix_append(batch, 1), rhs.dims[rhs.rank - 2]);
        Status *status = shape_merge(&diagonal, &wanted, &diagonal);
        NEED(!status, INVALID_ARGUMENT, "diagonals must have shape %s, got %s%s", shape_text(&wanted),
             shape_text(&s->in[i]), (status_free(status), ""));
    }
    s->out[0] = rhs;
    return OK;
}

static Status *banded_prepare(Prepare *p) {
    Banded *own = p->own;
    const Shape *bands = &p->in[0]->shape, *rhs = &p->in[p->n_in - 1]->shape, *out = &p->out[0]->shape;
    DType dtype = p->in[0]->dtype;
    own->n = bands->dims[bands->rank - 1];
    own->bands = bands->dims[bands->rank - 2];
    own->k = rhs->dims[rhs->rank - 1];
    own->batch = shape_span(out, 0, out->rank - 2);
    own->cost = own->n * own->k * own->bands * 2;
    bool wide = dtype == DT_double || dtype == DT_complex128;
    own->epsilon = wide ? DBL_EPSILON : (double)FLT_EPSILON;
    own->least = wide ? DBL_MIN : (double)FLT_MIN;
    if (node_attr_find(p->node, "adjoint")) {
        own->adjoint = node_bool(p->node, "adjoint");
        own->lower = node_bool(p->node, "lower");
        TRY(matrix_match(p, bands, out, own->batch, &own->bands_at));
        TRY(matrix_match(p, rhs, out, own->batch, &own->rhs_at));
    }
    if (node_attr_find(p->node, "partial_pivoting")) {
        own->pivots = node_bool(p->node, "partial_pivoting");
        own->perturbs = node_bool(p->node, "perturb_singular");
        NEED(own->pivots || !own->perturbs, INVALID_ARGUMENT, "perturb_singular requires partial_pivoting.");
    }
    p->cost = own->batch * own->cost;
    return elements_init(dtype, dtype_is_complex(dtype), &own->elements);
}

#include "ops/linalg/each_computed.h"

// ---------------------------------------- kernels

typedef void Solver(const Banded *own, void *bands, void *x, void *work);

// Bands and right side of one system, `solve`, the answer.
static Status *solve_one(Kernel *k, int64_t i, Work *work, Solver *solve) {
    const Banded *own = k->own;
    const Elements *elements = &own->elements;
    int64_t count = own->bands * own->n, rhs = own->n * own->k;
    size_t size = elements_size(elements);
    char *bands = work_get(work, WORK_MATRIX, size * (size_t)(count + rhs + 4 * own->n));
    NEED_MEMORY(bands);
    char *x = bands + size * (size_t)count;
    elements_load(elements, k->in[0]->data, (own->bands_at ? own->bands_at[i] : i) * count, count, bands);
    elements_load(elements, k->in[1]->data, (own->rhs_at ? own->rhs_at[i] : i) * rhs, rhs, x);
    solve(own, bands, x, x + size * (size_t)rhs);
    elements_store(elements, x, rhs, k->out[0]->data, i * rhs);
    return OK;
}

static Status *triangular_one(Kernel *k, int64_t i, Work *work) {
    const Banded *own = k->own;
    return solve_one(k, i, work, own->elements.is_complex ? triangular_complex128 : triangular_double);
}

static Status *tridiagonal_one(Kernel *k, int64_t i, Work *work) {
    const Banded *own = k->own;
    bool is_complex = own->elements.is_complex;
    return solve_one(k, i, work, own->pivots ? is_complex ? pivoted_complex128 : pivoted_double :
                                 is_complex ? thomas_complex128 : thomas_double);
}

static Status *product_one(Kernel *k, int64_t i, Work *work) {
    const Banded *own = k->own;
    const Elements *elements = &own->elements;
    int64_t n = own->n, count = n * own->k;
    size_t size = elements_size(elements);
    char *bands = work_get(work, WORK_MATRIX, size * (size_t)(3 * n + 2 * count));
    NEED_MEMORY(bands);
    char *x = bands + 3 * size * (size_t)n, *y = x + size * (size_t)count;
    for (int d = 0; d < 3; d++)
        elements_load(elements, k->in[d]->data, i * n, n, bands + (size_t)(d * n) * size);
    elements_load(elements, k->in[3]->data, i * count, count, x);
    if (elements->is_complex)
        product_complex128(own, (void *)bands, (void *)x, (void *)y);
    else
        product_double(own, (void *)bands, (void *)x, (void *)y);
    elements_store(elements, y, count, k->out[0]->data, i * count);
    return OK;
}

#define OVER_BATCH(name)                                                                             \
    static Status *name(Kernel *k) {                                                                 \
        const Banded *own = k->own;                                                                  \
        return tensor_count(k->out[0]) ? each_matrix(k, own->batch, own->cost, name##_one) : OK;     \
    }
OVER_BATCH(triangular)
OVER_BATCH(tridiagonal)
OVER_BATCH(product)

// ---------------------------------------- gradients

static void triangular_grad(Formula *f) {
    bool adjoint = node_bool(f->node, "adjoint"), lower = node_bool(f->node, "lower");
    Output y = f->y[0], shape = ShapeOf(f->x[0]);
    Output db = OpWith("BandedTriangularSolve", ATTRS(BOOL_ATTR("adjoint", !adjoint), BOOL_ATTR("lower", lower)), f->x[0],
                       f->dy[0]);
    Output da = Neg(adjoint ? BatchMatMul(y, db, false, true) : BatchMatMul(db, y, false, true));
    Output bands = Reshape(StridedSlice(shape, Ints(-2), Ints(-1), Ints(1)), NoInts), last = Sub(bands, Int(1));
    Output range = lower ? Pack(((Output[]){Neg(last), Int(0)}), 2, 0) : Pack(((Output[]){Int(0), last}), 2, 0);
    da = OpWith("MatrixDiagPartV3", ATTRS({"align", ATTR_OF_STRING(STR("LEFT_RIGHT"))}), da, range, Scalar(0, da));
    // A single diagonal comes without a dimension of its own.
    Output batch = OpWith("StridedSlice", ATTRS(INT_ATTR("begin_mask", 1)), ShapeOf(f->dy[0]), Ints(0), Ints(-2), Ints(1));
    Output last_two = OpWith("StridedSlice", ATTRS(INT_ATTR("end_mask", 1)), shape, Ints(-2), Ints(0), Ints(1));
    f->dx[0] = SumTo(Reshape(da, Concat(((Output[]){batch, last_two}), 2, Int(0))), f->x[0]);
    f->dx[1] = SumTo(db, f->x[1]);
}

// The products of x and y, rows summed, in three diagonals: y's row of behind, its own, and of before.
static Output diagonals(Formula *f, Output x, Output y) {
    Output above = Sum(Mul(x, matrix_shift(f, y, true, -1)), Int(-1), false);
    Output below = Sum(Mul(x, matrix_shift(f, y, true, 1)), Int(-1), false);
    return Pack(((Output[]){above, Sum(Mul(x, y), Int(-1), false), below}), 3, -2);
}

static void tridiagonal_grad(Formula *f) {
    Output d = f->x[0], above = matrix_rows(f, d, 0, 1), middle = matrix_rows(f, d, 1, 2), below = matrix_rows(f, d, 2, 3);
    Output parts[] = {matrix_shift(f, below, false, -1), middle, matrix_shift(f, above, false, 1)};
    f->dx[1] = Like("TridiagonalSolve", Conj(Concat(parts, 3, Int(-2))), f->dy[0]);
    f->dx[0] = Neg(diagonals(f, f->dx[1], Conj(f->y[0])));
}

static void product_grad(Formula *f) {
    Output dy = f->dy[0], three = diagonals(f, dy, Conj(f->x[3]));
    for (int i = 0; i < 3; i++)
        f->dx[i] = matrix_rows(f, three, i, i + 1);
    Output above = Mul(matrix_adjoint(f, f->x[0]), dy), below = Mul(matrix_adjoint(f, f->x[2]), dy);
    Output middle = Mul(matrix_adjoint(f, f->x[1]), dy);
    f->dx[3] = Add(Add(matrix_shift(f, above, true, 1), middle), matrix_shift(f, below, true, -1));
}

// ---------------------------------------- schema

#define OF_BANDED .prepare = banded_prepare, .own_size = sizeof(Banded)

const Op op_BandedTriangularSolve = {
    .signature = "BandedTriangularSolve(matrix: T, rhs: T) -> output: T; lower: bool = true; adjoint: bool = false; "
                 "T: factored",
    .doc = "The solutions of systems of triangles of which some diagonals are given, a row each, and the rest is zero.",
    .needs = "rank(matrix) >= 2, rank(rhs) >= 2", .shape = banded_shape, .grad = triangular_grad,
    .cpu = ANY_TYPE(triangular), OF_BANDED,
};
const Op op_TridiagonalSolve = {
    .signature = "TridiagonalSolve(diagonals: T, rhs: T) -> output: T; partial_pivoting: bool = true; "
                 "perturb_singular: bool = false; T: {double, float, complexes}",
    .doc = "The solutions of systems of the diagonal, the one above and the one below it.",
    .needs = "rank(diagonals) >= 2, rank(rhs) >= 2", .shape = tridiagonal_shape, .grad = tridiagonal_grad,
    .cpu = ANY_TYPE(tridiagonal), OF_BANDED,
};
const Op op_TridiagonalMatMul = {
    .signature = "TridiagonalMatMul(superdiag: T, maindiag: T, subdiag: T, rhs: T) -> output: T; "
                 "T: {double, float, complexes}",
    .doc = "The product of matrices of three diagonals and others.",
    .needs = "rank(superdiag) >= 2, rank(maindiag) >= 2, rank(subdiag) >= 2, rank(rhs) >= 2", .shape = product_shape,
    .grad = product_grad, .cpu = ANY_TYPE(product), OF_BANDED,
};

#else  // ---------------------------------------- once per type

static void NAME(subtract_row)(T *x, T factor, const T *y, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        x[i] -= factor * y[i];
}

// Element (i, j) of a lower band is in row i - j, of an upper one in row `bands - 1 - (j - i)`, at column i in both.
static T NAME(element)(const Banded *own, const T *bands, int64_t i, int64_t j) {
    if (own->adjoint) {
        int64_t kept = i;
        i = j;
        j = kept;
    }
    T x = bands[(own->lower ? i - j : own->bands - 1 - (j - i)) * own->n + i];
    return own->adjoint ? CONJ(x) : x;
}

static void NAME(triangular)(const Banded *own, void *matrix, void *rhs, void *work) {
    const T *bands = matrix;
    T *x = rhs;
    int64_t n = own->n, k = own->k;
    bool down = own->lower != own->adjoint;
    (void)work;
    for (int64_t step = 0; step < n; step++) {
        int64_t i = down ? step : n - 1 - step;
        for (int64_t d = min_i64(own->bands - 1, step); d > 0; d--) {
            int64_t j = down ? i - d : i + d;
            NAME(subtract_row)(x + i * k, NAME(element)(own, bands, i, j), x + j * k, k);
        }
        T pivot = NAME(element)(own, bands, i, i);
        for (int64_t c = 0; c < k; c++)
            x[i * k + c] /= pivot;
    }
}

static void NAME(give_up)(const Banded *own, T *x) {
    for (int64_t i = 0; i < own->n * own->k; i++)
        x[i] = NAN;
}

// Without exchanges: a zero on the way leaves nothing but NaNs.
static void NAME(thomas)(const Banded *own, void *diagonals, void *rhs, void *work) {
    const T *above = diagonals, *middle = above + own->n, *below = middle + own->n;
    T *x = rhs, *u = work;
    int64_t n = own->n, k = own->k;
    for (int64_t i = 0; i < n; i++) {
        T pivot = middle[i] - (i > 0 ? below[i] * u[i - 1] : 0);
        if (pivot == 0) {
            NAME(give_up)(own, x);
            return;
        }
        if (i > 0)
            NAME(subtract_row)(x + i * k, below[i], x + (i - 1) * k, k);
        u[i] = above[i] / pivot;
        for (int64_t c = 0; c < k; c++)
            x[i * k + c] /= pivot;
    }
    for (int64_t i = n - 2; i >= 0; i--)
        NAME(subtract_row)(x + i * k, u[i], x + (i + 1) * k, k);
}

// The larger of two rows goes first: u has the pivots and the two diagonals right of them.
static void NAME(pivoted)(const Banded *own, void *diagonals, void *rhs, void *work) {
    T *above = diagonals, *middle = above + own->n, *below = middle + own->n, *second = work, *x = rhs;
    int64_t n = own->n, k = own->k;
    double most = 0;
    for (int64_t i = 0; i < 3 * n; i++)
        most = fmax(most, SQUARED(above[i]));
    double tiny = fmax(own->least, own->epsilon * sqrt(most));
    for (int64_t i = 0; i < n; i++)
        second[i] = 0;
    for (int64_t i = 0; i + 1 < n; i++) {
        T next = below[i + 1];
        if (SQUARED(next) > SQUARED(middle[i])) {
            T diagonal = middle[i], right = above[i];
            middle[i] = next;
            above[i] = middle[i + 1];
            second[i] = i + 2 < n ? above[i + 1] : 0;
            middle[i + 1] = right;
            if (i + 2 < n)
                above[i + 1] = 0;
            for (int64_t c = 0; c < k; c++) {
                T kept = x[i * k + c];
                x[i * k + c] = x[(i + 1) * k + c];
                x[(i + 1) * k + c] = kept;
            }
            next = diagonal;
        }
        if (middle[i] == 0)
            continue;
        T factor = next / middle[i];
        middle[i + 1] -= factor * above[i];
        if (i + 2 < n)
            above[i + 1] -= factor * second[i];
        NAME(subtract_row)(x + (i + 1) * k, factor, x + i * k, k);
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        if (own->perturbs && middle[i] == 0)
            middle[i] = tiny;
        if (middle[i] == 0) {
            NAME(give_up)(own, x);
            return;
        }
        if (i + 1 < n)
            NAME(subtract_row)(x + i * k, above[i], x + (i + 1) * k, k);
        if (i + 2 < n)
            NAME(subtract_row)(x + i * k, second[i], x + (i + 2) * k, k);
        for (int64_t c = 0; c < k; c++)
            x[i * k + c] /= middle[i];
    }
}

static void NAME(product)(const Banded *own, const T *bands, const T *x, T *y) {
    const T *above = bands, *middle = above + own->n, *below = middle + own->n;
    int64_t n = own->n, k = own->k;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < k; c++) {
            T sum = middle[i] * x[i * k + c];
            if (i > 0)
                sum += below[i] * x[(i - 1) * k + c];
            if (i + 1 < n)
                sum += above[i] * x[(i + 1) * k + c];
            y[i * k + c] = sum;
        }
}
#endif
