// Linear algebra — inverses, determinants, Cholesky factors and solutions of systems, of batches of matrices.
//
// All by the factors of factor.h. The matrices of a batch are shared out among threads; one matrix is one thread's.
#define SELF "ops/linalg/dense.c"
#ifndef T
#include <complex.h>

#include "ops/linalg/factor.h"
#include "ops/linalg/matrices.h"
#include "ops/op.h"

// What prepare found: matrices [n, n], right sides [n, k].
typedef struct {
    int64_t n, k, batch;
    bool adjoint, lower;
    const int64_t *matrix_at, *rhs_at;  // which of each goes into each result; NULL: the one of the same number
} Dense;

// ns for one result.
static int64_t dense_cost(const Dense *own) {
    return own->n * own->n * max_i64(own->n + own->k, 1);
}

// Room for the matrix, a second of `rows` x `columns` behind it, and the pivots.
typedef struct {
    void *matrix, *other;
    int64_t *pivots;
} Room;

static Status *room_get(Work *work, const Dense *own, int64_t columns, size_t size, Room *out) {
    size_t matrix = round_up((size_t)(own->n * own->n) * size, 64), other;
    other = round_up((size_t)(own->n * columns) * size, 64);
    char *memory = work_get(work, WORK_MATRIX, matrix + other + (size_t)own->n * sizeof(int64_t));
    NEED_MEMORY(memory);
    *out = (Room){memory, memory + matrix, (int64_t *)(memory + matrix + other)};
    return OK;
}

#define EACH_FLOAT
#define EACH_COMPLEX
#include "ops/each_dtype.h"

// ---------------------------------------- shapes

static Status *same_square_shape(Shapes *s) {
    Shape a, b;
    TRY(matrix_shape(s, 0, true, &a));
    TRY(matrix_shape(s, 1, true, &b));
    return shape_merge(&a, &b, &s->out[0]);
}

static Status *batch_shape(Shapes *s) {
    Shape matrix;
    TRY(matrix_shape(s, 0, true, &matrix));
    for (int i = 0; i < s->n_out && matrix.rank >= 0; i++)
        s->out[i] = matrix_batch(matrix);
    return OK;
}

static Status *system_shape(Shapes *s, bool broadcasts) {
    Shape matrix, rhs = s->in[1], batch;
    TRY(matrix_shape(s, 0, true, &matrix));
    if (matrix.rank < 0 || rhs.rank < 0)
        return OK;
    NEED(rhs.rank >= 2, INVALID_ARGUMENT, "Input must have rank at least 2, got shape %s", shape_text(&rhs));
    int64_t n = matrix.dims[matrix.rank - 1], rows = rhs.dims[rhs.rank - 2];
    NEED(n < 0 || rows < 0 || n == rows, INVALID_ARGUMENT,
         "Dimensions must be equal: a matrix of shape %s and right sides of shape %s", shape_text(&s->in[0]),
         shape_text(&rhs));
    Shape a = matrix_batch(matrix), b = matrix_batch(rhs);
    TRY(broadcasts ? shape_broadcast(&a, &b, &batch) : shape_merge(&a, &b, &batch));
    if (batch.rank < 0)
        return OK;
    return matrix_system_shape(s, &batch, max_i64(n, rows));
}

static Status *solve_shape(Shapes *s) {
    return system_shape(s, false);
}

static Status *triangular_shape(Shapes *s) {
    return system_shape(s, true);
}

// ---------------------------------------- preparing

static Status *dense_prepare(Prepare *p) {
    Dense *own = p->own;
    const Shape *shape = &p->in[0]->shape;
    own->n = shape->dims[shape->rank - 1];
    own->k = own->n;
    own->batch = shape_span(shape, 0, shape->rank - 2);
    own->adjoint = node_attr_find(p->node, "adjoint") && node_bool(p->node, "adjoint");
    own->lower = !node_attr_find(p->node, "lower") || node_bool(p->node, "lower");
    p->cost = own->batch * dense_cost(own);
    return OK;
}

static Status *system_prepare(Prepare *p) {
    Dense *own = p->own;
    const Shape *a = &p->in[0]->shape, *b = &p->in[1]->shape, *whole = &p->out[0]->shape;
    TRY(dense_prepare(p));
    own->k = b->dims[b->rank - 1];
    own->batch = shape_span(whole, 0, whole->rank - 2);
    TRY(matrix_match(p, a, whole, own->batch, &own->matrix_at));
    TRY(matrix_match(p, b, whole, own->batch, &own->rhs_at));
    p->cost = own->batch * dense_cost(own);
    return OK;
}

// ---------------------------------------- gradients

static void inverse_grad(Formula *f) {            // dx = -y^H dy y^H
    bool adjoint = node_bool(f->node, "adjoint");
    Output y = f->y[0], inner = BatchMatMul(f->dy[0], y, adjoint, !adjoint);
    f->dx[0] = Neg(BatchMatMul(y, inner, !adjoint, false));
}

static Output times_inverse(Formula *f, Output factor) {     // factor x^-H
    Output inverse = OpWith("MatrixInverse", ATTRS(BOOL_ATTR("adjoint", true)), f->x[0]);
    return Mul(inverse, ExpandDims(ExpandDims(factor, Int(-1)), Int(-1)));
}

static void determinant_grad(Formula *f) {        // dx = dy y x^-H
    f->dx[0] = times_inverse(f, Mul(f->dy[0], f->y[0]));
}

static void log_determinant_grad(Formula *f) {    // dx = dy x^-H; the sign has none
    f->dx[0] = times_inverse(f, f->dy[1]);
}

// dx = (z + z^H) / 2 with z = l^-H phi(l^H dy) l^-1; phi: the lower part, half of the diagonal.
static Output factor_grad(Formula *f, Output l, Output dy) {
    Output diagonal = Op("MatrixDiagPart", l);
    Output eye = Op("MatrixSetDiag", Op("ZerosLike", l), Op("OnesLike", diagonal));
    Output inverse = OpWith("MatrixTriangularSolve", ATTRS(BOOL_ATTR("lower", true)), l, eye);
    Output middle = BatchMatMul(l, dy, true, false);
    Output half = Op("MatrixDiagPart", middle);
    middle = Op("MatrixSetDiag", middle, Mul(half, Scalar(0.5, half)));
    middle = Op("MatrixBandPart", middle, Int64(-1), Int64(0));
    Output z = BatchMatMul(BatchMatMul(inverse, middle, true, false), inverse, false, false);
    Output both = Add(z, BatchMatMul(z, eye, true, false));
    return Mul(both, Scalar(0.5, both));
}

static void cholesky_grad(Formula *f) {
    f->dx[0] = factor_grad(f, f->y[0], f->dy[0]);
}

static void cholesky_grad_expand(Formula *f) {
    f->results[0] = factor_grad(f, f->x[0], f->x[1]);
}

// db = a^-H dy, da = -db y^H; or of the adjoint, -y db^H.
static void solve_grad(Formula *f) {
    bool adjoint = node_bool(f->node, "adjoint");
    Output y = f->y[0];
    Output db = OpWith("MatrixSolve", ATTRS(BOOL_ATTR("adjoint", !adjoint)), f->x[0], f->dy[0]);
    f->dx[0] = Neg(adjoint ? BatchMatMul(y, db, false, true) : BatchMatMul(db, y, false, true));
    f->dx[1] = db;
}

static void triangular_grad(Formula *f) {
    bool adjoint = node_bool(f->node, "adjoint"), lower = node_bool(f->node, "lower");
    Output y = f->y[0];
    Output db = OpWith("MatrixTriangularSolve", ATTRS(BOOL_ATTR("adjoint", !adjoint), BOOL_ATTR("lower", lower)),
                       f->x[0], f->dy[0]);
    Output da = Neg(adjoint ? BatchMatMul(y, db, false, true) : BatchMatMul(db, y, false, true));
    da = Op("MatrixBandPart", da, Int64(lower ? -1 : 0), Int64(lower ? 0 : -1));
    f->dx[0] = SumTo(da, f->x[0]);
    f->dx[1] = SumTo(db, f->x[1]);
}

// ---------------------------------------- schema

#define WIDE(X, a) X(half, a) X(float, a) X(double, a) X(complex64, a) X(complex128, a)
#define WIDEST(X, a) X(half, a) X(bfloat16, a) X(float, a) X(double, a) X(complex64, a) X(complex128, a)
#define OF_DENSE .needs = "rank(input) >= 2", .prepare = dense_prepare, .own_size = sizeof(Dense)

// ---------------------------------------- for devices that compile

// Where row - column is at least `least` (GE) or equal (EQ) in matrices of that shape.
static COLD HloValue on_or_below(Hlo *h, HloValue x, const char *direction) {
    int last = x->shape.rank - 1;
    return hlo_compare(h, direction, hlo_iota(h, DT_int32, x->shape, last - 1), hlo_iota(h, DT_int32, x->shape, last));
}

static COLD Status *cholesky_hlo(Hlo *h) {
    HloValue x = hlo_wide(h, hlo_in(h, 0)), zero = hlo_like(h, 0, x);
    TRY(h->status);
    if (!shape_count(&x->shape))
        return hlo_out(h, 0, hlo_fill(h, 0, hlo_out_type(h, 0), x->shape));
    HloValue y = hlo_select(h, on_or_below(h, x, "GE"), hlo_cholesky(h, x), zero);
    if (hlo_out_type(h, 0) == y->dtype)  // of half: no number, as on the host
        hlo_check(h, hlo_eq(h, y, y), INVALID_ARGUMENT, "Cholesky decomposition was not successful.");
    return hlo_out(h, 0, hlo_cast(h, y, hlo_out_type(h, 0)));
}

static COLD Status *triangular_hlo(Hlo *h) {
    HloValue a = hlo_wide(h, hlo_in(h, 0)), b = hlo_wide(h, hlo_in(h, 1));
    Shape whole = *hlo_out_shape(h, 0), square = whole;
    TRY(h->status);
    if (!shape_count(&whole))
        return hlo_out(h, 0, hlo_fill(h, 0, hlo_out_type(h, 0), whole));
    square.dims[square.rank - 1] = square.dims[square.rank - 2];
    a = hlo_broadcast(h, a, square);
    HloValue x = hlo_triangular_solve(h, a, hlo_broadcast(h, b, whole), node_bool(h->node, "lower"), node_bool(h->node, "adjoint"));
    return hlo_out(h, 0, hlo_cast(h, x, hlo_out_type(h, 0)));
}

const Op op_MatrixInverse = {
    .signature = "MatrixInverse(input: T) -> output: T; adjoint: bool = false; "
                 "T: factored",
    .doc = "The inverse of each matrix, or of its adjoint.", .shape = matrix_square_shape, .grad = inverse_grad,
    .cpu = KERNELS(WIDE, inverse), OF_DENSE,
};
const Op op_MatrixDeterminant = {
    .signature = "MatrixDeterminant(input: T) -> output: T; T: {half, float, double, complexes}",
    .doc = "The determinant of each matrix.", .shape = batch_shape, .grad = determinant_grad,
    .cpu = KERNELS(WIDE, determinant), OF_DENSE,
};
const Op op_LogMatrixDeterminant = {
    .signature = "LogMatrixDeterminant(input: T) -> sign: T, log_abs_determinant: T; "
                 "T: {half, float, double, complexes}",
    .doc = "Sign and logarithm of the absolute value of each matrix's determinant.", .shape = batch_shape,
    .grad = log_determinant_grad, .cpu = KERNELS(WIDE, log_determinant), OF_DENSE,
};
const Op op_Cholesky = {
    .signature = "Cholesky(input: T) -> output: T; T: factored",
    .doc = "The lower triangle whose product with its adjoint is the matrix, of which the lower part is read.",
    .shape = matrix_square_shape, .grad = cholesky_grad, .cpu = KERNELS(WIDE, cholesky_of), OF_DENSE, .hlo = cholesky_hlo,
};
const Op op_CholeskyGrad = {
    .signature = "CholeskyGrad(l: T, grad: T) -> output: T; T: {half, float, double}",
    .doc = "The gradient of a matrix, symmetric, from its Cholesky factor and the factor's gradient.",
    .needs = "rank(l) >= 2", .shape = same_square_shape, .expand = cholesky_grad_expand,
};
const Op op_MatrixSolve = {
    .signature = "MatrixSolve(matrix: T, rhs: T) -> output: T; adjoint: bool = false; "
                 "T: factored",
    .doc = "The solutions of systems of linear equations.", .needs = "rank(matrix) >= 2, rank(rhs) >= 2",
    .shape = solve_shape, .grad = solve_grad, .prepare = system_prepare, .own_size = sizeof(Dense),
    .cpu = KERNELS(WIDE, solve),
};
const Op op_MatrixTriangularSolve = {
    .signature = "MatrixTriangularSolve(matrix: T, rhs: T) -> output: T; lower: bool = true; adjoint: bool = false; "
                 "T: {bfloat16, factored}",
    .doc = "The solutions of systems of which one triangle is read.", .needs = "rank(matrix) >= 2, rank(rhs) >= 2",
    .shape = triangular_shape, .grad = triangular_grad, .prepare = system_prepare, .own_size = sizeof(Dense),
    .cpu = KERNELS(WIDEST, triangular), .hlo = triangular_hlo,
};

#else  // ---------------------------------------- kernels, once per dtype

static void FN(load_matrix)(const T *from, int64_t n, bool adjoint, ACC *to) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            to[i * n + j] = adjoint ? CONJ_OF(LOAD(from[j * n + i])) : LOAD(from[i * n + j]);
}

static void FN(store)(const ACC *from, int64_t n, T *to) {
    for (int64_t i = 0; i < n; i++)
        to[i] = STORE(from[i]);
}

static const T *FN(matrix_of)(const Kernel *k, const Dense *own, int64_t i) {
    return (const T *)k->in[0]->data + (own->matrix_at ? own->matrix_at[i] : i) * own->n * own->n;
}

static Status *FN(triangular_one)(Kernel *k, int64_t i, Work *work) {
    const Dense *own = k->own;
    int64_t n = own->n, count = n * own->k;
    const T *rhs = (const T *)k->in[1]->data + own->rhs_at[i] * count;
    Room room;
    TRY(room_get(work, own, own->k, sizeof(ACC), &room));
    FN(load_matrix)(FN(matrix_of)(k, own, i), n, own->adjoint, room.matrix);
    for (int64_t j = 0; j < count; j++)
        ((ACC *)room.other)[j] = LOAD(rhs[j]);
    NEED_MEMORY(ACC_FN(triangle)(room.matrix, n, own->lower != own->adjoint, false, room.other, own->k, work));
    FN(store)(room.other, count, (T *)k->out[0]->data + i * count);
    return OK;
}

#ifndef IS_BFLOAT16  // triangular systems only, as in TensorFlow
static Status *FN(factor)(Kernel *k, const Dense *own, int64_t i, const Room *room, Work *work) {
    FN(load_matrix)(FN(matrix_of)(k, own, i), own->n, own->adjoint, room->matrix);
    NEED_MEMORY(ACC_FN(lu)(room->matrix, own->n, room->pivots, work));
    return OK;
}

// The right sides in `other` become the solutions.
static Status *FN(solve_factored)(const Dense *own, const Room *room, int64_t k, Work *work) {
    const ACC *lu = room->matrix;
    ACC *b = room->other;
    int64_t n = own->n;
    for (int64_t i = 0; i < n; i++)
        NEED(ABS_OF(lu[i * n + i]) > 0, INVALID_ARGUMENT, "Input matrix is not invertible.");
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < k && room->pivots[i] != i; j++) {
            ACC kept = b[i * k + j];
            b[i * k + j] = b[room->pivots[i] * k + j];
            b[room->pivots[i] * k + j] = kept;
        }
    NEED_MEMORY(ACC_FN(triangle)(lu, n, true, true, b, k, work));
    NEED_MEMORY(ACC_FN(triangle)(lu, n, false, false, b, k, work));
    return OK;
}

static Status *FN(inverse_one)(Kernel *k, int64_t i, Work *work) {
    const Dense *own = k->own;
    int64_t n = own->n;
    Room room;
    TRY(room_get(work, own, n, sizeof(ACC), &room));
    TRY(FN(factor)(k, own, i, &room, work));
    memset(room.other, 0, (size_t)(n * n) * sizeof(ACC));
    for (int64_t j = 0; j < n; j++)
        ((ACC *)room.other)[j * n + j] = 1;
    TRY(FN(solve_factored)(own, &room, n, work));
    FN(store)(room.other, n * n, (T *)k->out[0]->data + i * n * n);
    return OK;
}

static Status *FN(solve_one)(Kernel *k, int64_t i, Work *work) {
    const Dense *own = k->own;
    int64_t count = own->n * own->k;
    const T *rhs = (const T *)k->in[1]->data + own->rhs_at[i] * count;
    Room room;
    TRY(room_get(work, own, own->k, sizeof(ACC), &room));
    TRY(FN(factor)(k, own, i, &room, work));
    for (int64_t j = 0; j < count; j++)
        ((ACC *)room.other)[j] = LOAD(rhs[j]);
    TRY(FN(solve_factored)(own, &room, own->k, work));
    FN(store)(room.other, count, (T *)k->out[0]->data + i * count);
    return OK;
}

// Of the factors: each row that changed places turns the sign.
static Status *FN(determinant_one)(Kernel *k, int64_t i, Work *work) {
    const Dense *own = k->own;
    Room room;
    TRY(room_get(work, own, 0, sizeof(ACC), &room));
    TRY(FN(factor)(k, own, i, &room, work));
    ACC product = 1;
    for (int64_t j = 0; j < own->n; j++) {
        ACC diagonal = ((ACC *)room.matrix)[j * own->n + j];
        product *= room.pivots[j] == j ? diagonal : -diagonal;
    }
    ((T *)k->out[0]->data)[i] = STORE(product);
    return OK;
}

static Status *FN(log_determinant_one)(Kernel *k, int64_t i, Work *work) {
    const Dense *own = k->own;
    Room room;
    TRY(room_get(work, own, 0, sizeof(ACC), &room));
    TRY(FN(factor)(k, own, i, &room, work));
    ACC sign = 1;
    double sum = 0;
    for (int64_t j = 0; j < own->n; j++) {
        ACC diagonal = ((ACC *)room.matrix)[j * own->n + j];
        double size = ABS_OF(diagonal);
        sum += log(size);
        sign *= (room.pivots[j] == j ? diagonal : -diagonal) / (ACC)size;
    }
    if (!isfinite(sum)) {
        sign = 0;
        sum = sum > 0 ? INFINITY : -INFINITY;
    }
    ((T *)k->out[0]->data)[i] = STORE(sign);
    ((T *)k->out[1]->data)[i] = STORE((ACC)sum);
    return OK;
}

static Status *FN(cholesky_of_one)(Kernel *k, int64_t i, Work *work) {
    const Dense *own = k->own;
    int64_t count = own->n * own->n;
    bool good;
    Room room;
    TRY(room_get(work, own, 0, sizeof(ACC), &room));
    FN(load_matrix)(FN(matrix_of)(k, own, i), own->n, false, room.matrix);
    NEED_MEMORY(ACC_FN(cholesky)(room.matrix, own->n, work, &good));
    for (int64_t j = 0; j < count && !good; j++)
        ((ACC *)room.matrix)[j] = j % own->n <= j / own->n ? NAN : 0;  // TensorFlow's answer
    FN(store)(room.matrix, count, (T *)k->out[0]->data + i * count);
    return OK;
}

#endif
#define OVER_BATCH(name)                                                    \
    static Status *FN(name)(Kernel *k) {                                    \
        const Dense *own = k->own;                                          \
        if (!tensor_count(k->out[0]))                                       \
            return OK;  /* perhaps of a batch that has no end */            \
        return each_matrix(k, own->batch, dense_cost(own), FN(name##_one)); \
    }
OVER_BATCH(triangular)
#ifndef IS_BFLOAT16  // triangular systems only, as in TensorFlow
OVER_BATCH(inverse)
OVER_BATCH(solve)
OVER_BATCH(determinant)
OVER_BATCH(log_determinant)
OVER_BATCH(cholesky_of)
#endif
#undef OVER_BATCH
#endif
