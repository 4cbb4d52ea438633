// MatrixSquareRoot, MatrixLogarithm, MatrixExponential — functions of each matrix, in complex arithmetic.
#include <complex.h>

#include "ops/linalg/factor.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/schur.h"
#include "ops/op.h"

typedef Complex128 Z;
typedef struct {
    int64_t n, batch, cost;
    Elements elements;
} MatrixFunction;

static Status *function_prepare(Prepare *p) {
    MatrixFunction *own = p->own;
    const Shape *in = &p->in[0]->shape;
    own->n = in->dims[in->rank - 1];
    own->batch = shape_span(in, 0, in->rank - 2);
    own->cost = own->n * own->n * own->n * 40;
    p->cost = own->batch * own->cost;
    return elements_init(p->in[0]->dtype, true, &own->elements);
}

// The matrix, and room for `more` of its size behind it.
static Status *load(Kernel *k, int64_t i, Work *work, int64_t more, Z **out) {
    const MatrixFunction *own = k->own;
    int64_t count = own->n * own->n;
    *out = work_get(work, WORK_MATRIX, (size_t)((more + 1) * count + 3 * own->n) * sizeof(Z));
    NEED_MEMORY(*out);
    elements_load(&own->elements, k->in[0]->data, i * count, count, *out);
    return OK;
}

static void store(Kernel *k, int64_t i, const Z *from) {
    const MatrixFunction *own = k->own;
    int64_t count = own->n * own->n;
    elements_store(&own->elements, from, count, k->out[0]->data, i * count);
}

// The largest sum of a column's absolute values.
static double norm_of(const Z *a, int64_t n) {
    double most = 0;
    for (int64_t j = 0; j < n; j++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += cabs(a[i * n + j]);
        most = sum > most || isnan(sum) ? sum : most;
    }
    return most;
}

// ---------------------------------------- square root

static Status *root_one(Kernel *k, int64_t i, Work *work) {
    const MatrixFunction *own = k->own;
    int64_t n = own->n, count = n * n;
    Z *a;
    TRY(load(k, i, work, 3, &a));
    Z *q = a + count, *root = q + count, *other = root + count;
    double scale = elements_scale(&own->elements, a, count);
    NEED(schur_form(a, n, q, other + count), INVALID_ARGUMENT, "the form of matrix %lld doesn't converge", (long long)i);
    schur_root(a, n, root);
    schur_back(q, root, n, a, other);
    elements_times(&own->elements, a, count, sqrt(scale));
    double beside = 0, most = 0;
    for (int64_t j = 0; j < count; j++) {
        beside = fmax(beside, fabs(cimag(a[j])));
        most = fmax(most, cabs(a[j]));
    }
    if (!dtype_is_complex(k->in[0]->dtype) && beside > 1e-6 * most)  // no real matrix has this square
        elements_fill(&own->elements, a, count, NAN);
    store(k, i, a);
    return OK;
}

// p with each element times q: rows and columns of both as one.
static Output outer(Formula *f, Output p, Output q) {
    return Mul(ExpandDims(ExpandDims(p, Int(-1)), Int(-3)), ExpandDims(ExpandDims(q, Int(-2)), Int(-4)));
}

// r^H dx + dx r^H = dr: a system of n^2 equations.
static void root_grad(Formula *f) {
    Output r = f->y[0], turned = matrix_adjoint(f, r), shape = ShapeOf(r);
    Output eye = MatrixDiag(OnesLike(MatrixDiagPart(r)));
    Output batch = OpWith("StridedSlice", ATTRS(INT_ATTR("begin_mask", 1)), shape, Ints(0), Ints(-2), Ints(1));
    Output n = OpWith("StridedSlice", ATTRS(INT_ATTR("end_mask", 1)), shape, Ints(-1), Ints(0), Ints(1));
    Output all = Mul(n, n), matrices[] = {batch, all, all}, vectors[] = {batch, all, Ints(1)};
    Output system = Reshape(Add(outer(f, turned, eye), outer(f, eye, Conj(r))), Concat(matrices, 3, Int(0)));
    Output rhs = Reshape(f->dy[0], Concat(vectors, 3, Int(0)));
    f->dx[0] = Reshape(Op("MatrixSolve", system, rhs), shape);
}

// ---------------------------------------- logarithm

// log(1 + x) of an upper triangle of norm 1/4 at most is the integral of x (1 + t x)^-1 over t in [0, 1]: Gauss and
// Legendre's rule of eight points has an error of 1e-17 there.
static bool log_near_one(Z *x, int64_t n, Z *sum, Z *room, Work *work) {
    static const double at[4] = {0.1834346424956498, 0.5255324099163290, 0.7966664774136267, 0.9602898564975363};
    static const double weight[4] = {0.3626837833783620, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763};
    int64_t count = n * n;
    Z *solved = room, *system = room + count;
    memset(sum, 0, (size_t)count * sizeof *sum);
    for (int point = 0; point < 8; point++) {
        double t = (1 + (point & 1 ? at[point / 2] : -at[point / 2])) / 2;
        for (int64_t j = 0; j < count; j++) {
            system[j] = t * x[j] + (j % (n + 1) == 0);
            solved[j] = x[j];
        }
        if (!triangle_complex128(system, n, false, false, solved, n, work))
            return false;
        for (int64_t j = 0; j < count; j++)
            sum[j] += weight[point / 2] / 2 * solved[j];
    }
    return true;
}

static Status *logarithm_one(Kernel *k, int64_t i, Work *work) {
    const MatrixFunction *own = k->own;
    int64_t n = own->n, count = n * n;
    enum { ROOTS = 100 };
    Z *a;
    TRY(load(k, i, work, 5, &a));
    Z *q = a + count, *sum = q + count, *room = sum + count, *rest = room + 2 * count;
    double scale = elements_scale(&own->elements, a, count);
    NEED(schur_form(a, n, q, rest + count), INVALID_ARGUMENT, "the form of matrix %lld doesn't converge", (long long)i);
    int roots = 0;
    for (bool near = false; !near; ) {
        for (int64_t j = 0; j < n; j++)
            a[j * (n + 1)] -= 1;
        near = norm_of(a, n) <= 0.25 || roots == ROOTS;
        for (int64_t j = 0; j < n && !near; j++)
            a[j * (n + 1)] += 1;
        if (!near) {
            schur_root(a, n, room);
            memcpy(a, room, (size_t)count * sizeof *a);
            roots++;
        }
    }
    NEED_MEMORY(log_near_one(a, n, sum, room, work));
    for (int64_t j = 0; j < count; j++)
        sum[j] *= ldexp(1, roots);
    for (int64_t j = 0; j < n; j++)
        sum[j * (n + 1)] += log(scale);
    schur_back(q, sum, n, a, rest);
    store(k, i, a);
    return OK;
}

// ---------------------------------------- exponential

// out = c0 * 1 + c1 * x + c2 * y + c3 * z
static void combine(int64_t n, const double c[4], const Z *x, const Z *y, const Z *z, Z *out) {
    for (int64_t j = 0; j < n * n; j++)
        out[j] = c[1] * x[j] + c[2] * y[j] + c[3] * z[j] + c[0] * (j % (n + 1) == 0);
}

// b becomes the solution of a x = b.
static bool solve(Z *a, int64_t n, Z *b, int64_t *pivots, Work *work) {
    if (!lu_complex128(a, n, pivots, work))
        return false;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n && pivots[i] != i; j++) {
            Z kept = b[i * n + j];
            b[i * n + j] = b[pivots[i] * n + j];
            b[pivots[i] * n + j] = kept;
        }
    return triangle_complex128(a, n, true, true, b, n, work) && triangle_complex128(a, n, false, false, b, n, work);
}

// By Padé's quotient of degree 13, of the matrix divided by a power of two, squared as often afterwards.
static Status *exponential_one(Kernel *k, int64_t i, Work *work) {
    static const double even[2][4] = {{64764752532480000, 7771770303897600, 129060195264000, 670442572800},
                                      {0, 1323241920, 960960, 182}},
                        odd[2][4] = {{32382376266240000, 1187353796428800, 10559470521600, 33522128640},
                                     {0, 40840800, 16380, 1}};
    const MatrixFunction *own = k->own;
    int64_t n = own->n, count = n * n;
    Z *a;
    TRY(load(k, i, work, 6, &a));
    Z *two = a + count, *four = two + count, *six = four + count, *u = six + count, *v = u + count, *w = v + count;
    double norm = norm_of(a, n);
    int halvings = norm > 5.37 && isfinite(norm) ? ilogb(norm / 5.37) + 1 : 0;
    elements_times(&own->elements, a, count, ldexp(1, -halvings));
    schur_product(a, a, n, two);
    schur_product(two, two, n, four);
    schur_product(two, four, n, six);
    combine(n, odd[1], two, four, six, v);
    schur_product(six, v, n, w);
    combine(n, odd[0], two, four, six, v);
    for (int64_t j = 0; j < count; j++)
        v[j] += w[j];
    schur_product(a, v, n, u);
    combine(n, even[1], two, four, six, w);
    schur_product(six, w, n, v);
    combine(n, even[0], two, four, six, w);
    for (int64_t j = 0; j < count; j++) {  // (v - u) x = v + u
        Z both = v[j] + w[j];
        two[j] = both - u[j];
        four[j] = both + u[j];
    }
    NEED_MEMORY(solve(two, n, four, (int64_t *)(void *)(w + count), work));
    for (int step = 0; step < halvings; step++) {
        schur_product(four, four, n, two);
        memcpy(four, two, (size_t)count * sizeof *four);
    }
    store(k, i, four);
    return OK;
}

// ---------------------------------------- schema

#define OVER_BATCH(name)                                                                          \
    static Status *name(Kernel *k) {                                                              \
        const MatrixFunction *own = k->own;                                                             \
        return tensor_count(k->in[0]) ? each_matrix(k, own->batch, own->cost, name##_one) : OK;   \
    }
OVER_BATCH(root)
OVER_BATCH(logarithm)
OVER_BATCH(exponential)

#define OF_FUNCTION \
    .needs = "rank(input) >= 2", .shape = matrix_square_shape, .prepare = function_prepare, .own_size = sizeof(MatrixFunction)

const Op op_MatrixSquareRoot = {
    .signature = "MatrixSquareRoot(input: T) -> output: T; T: factored",
    .doc = "The matrix whose square is each matrix, its eigenvalues' real parts positive.", .grad = root_grad,
    .cpu = ANY_TYPE(root), OF_FUNCTION,
};
const Op op_MatrixLogarithm = {
    .signature = "MatrixLogarithm(input: T) -> output: T; T: complexes",
    .doc = "The matrix whose exponential is each matrix.", .cpu = ANY_TYPE(logarithm), OF_FUNCTION,
};
const Op op_MatrixExponential = {
    .signature = "MatrixExponential(input: T) -> output: T; T: factored; deprecated(27, \"no op takes its place\")",
    .doc = "The exponential of each matrix.", .cpu = ANY_TYPE(exponential), OF_FUNCTION,
};
