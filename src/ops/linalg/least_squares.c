// MatrixSolveLs — solutions of systems with more or fewer equations than unknowns, by least squares.
#define SELF "ops/linalg/least_squares.c"
#ifndef T
#include <complex.h>
#include <float.h>

#include "ops/linalg/factor.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/orthogonal.h"
#include "ops/op.h"

typedef struct {
    int64_t m, n, k, batch, cost;
    bool fast;
    double epsilon;
    Elements elements;
} Squares;

static Status *squares_shape(Shapes *s) {
    Shape matrix, rhs, batch, other;
    TRY(matrix_shape(s, 0, false, &matrix));
    TRY(matrix_shape(s, 1, false, &rhs));
    NEED(s->in[2].rank <= 0, INVALID_ARGUMENT, "Shape must be rank 0 but is rank %d for l2_regularizer", s->in[2].rank);
    if (matrix.rank < 0 || rhs.rank < 0)
        return OK;
    int64_t m = matrix.dims[matrix.rank - 2], rows = rhs.dims[rhs.rank - 2], n = matrix.dims[matrix.rank - 1];
    NEED(m < 0 || rows < 0 || m == rows, INVALID_ARGUMENT,
         "Dimensions must be equal: a matrix of shape %s and right sides of shape %s", shape_text(&matrix),
         shape_text(&rhs));
    batch = matrix_batch(matrix);
    other = matrix_batch(rhs);
    TRY(shape_merge(&batch, &other, &batch));
    s->out[0] = matrix_append(matrix_append(batch, n), rhs.dims[rhs.rank - 1]);
    return OK;
}

static Status *squares_prepare(Prepare *p) {
    Squares *own = p->own;
    const Shape *in = &p->in[0]->shape, *rhs = &p->in[1]->shape;
    DType dtype = p->in[0]->dtype;
    own->m = in->dims[in->rank - 2];
    own->n = in->dims[in->rank - 1];
    own->k = rhs->dims[rhs->rank - 1];
    own->batch = shape_span(in, 0, in->rank - 2);
    own->epsilon = dtype == DT_double || dtype == DT_complex128 ? DBL_EPSILON : (double)FLT_EPSILON;
    own->fast = node_bool(p->node, "fast");
    own->cost = own->m * own->n * min_i64(own->m, own->n) * (own->fast ? 2 : 12);
    p->cost = own->batch * own->cost;
    return elements_init(dtype, dtype_is_complex(dtype), &own->elements);
}

#include "ops/linalg/each_computed.h"

static Status *squares_one(Kernel *k, int64_t i, Work *work) {
    const Squares *own = k->own;
    const Elements *elements = &own->elements;
    int64_t m = own->m, n = own->n, rhs = m * own->k, out = n * own->k, least = min_i64(m, n), most = max_i64(m, n);
    size_t size = elements_size(elements);
    int64_t room = 2 * m * n + rhs + out + most * least + least * least + orthogonal_work(m, n) + least;
    char *a = work_get(work, WORK_MATRIX, size * (size_t)room);
    NEED_MEMORY(a);
    char *b = a + size * (size_t)(m * n), *x = b + size * (size_t)rhs, *rest = x + size * (size_t)out;
    elements_load(elements, k->in[0]->data, i * m * n, m * n, a);
    elements_load(elements, k->in[1]->data, i * rhs, rhs, b);
    bool good = true;
    double penalty = ((const double *)k->in[2]->data)[0];
    if (!own->fast)
        NEED(elements->is_complex ? smallest_complex128(own, (void *)a, (void *)b, (void *)x, (void *)rest) :
             smallest_double(own, (void *)a, (void *)b, (void *)x, (void *)rest), INVALID_ARGUMENT,
             "the singular values of matrix %lld don't converge", (long long)i);
    else
        NEED_MEMORY(elements->is_complex ?
                    normal_complex128(own, (void *)a, (void *)b, penalty, (void *)x, (void *)rest, work, &good) :
                    normal_double(own, (void *)a, (void *)b, penalty, (void *)x, (void *)rest, work, &good));
    NEED(good, INVALID_ARGUMENT, "Input matrix was rank deficient or ill-conditioned. Try setting fast=False or provide a "
         "larger l2_regularizer > 0.");
    elements_store(elements, x, out, k->out[0]->data, i * out);
    return OK;
}

static Status *squares_run(Kernel *k) {
    const Squares *own = k->own;
    NEED(((const double *)k->in[2]->data)[0] >= 0, INVALID_ARGUMENT, "l2_regularizer must be >= 0.");
    if (tensor_count(k->out[0]) && tensor_count(k->in[0]))
        return each_matrix(k, own->batch, own->cost, squares_one);
    memset(k->out[0]->data, 0, tensor_bytes(k->out[0]));
    return OK;
}

// What the gradient is made of, and the two that it consists of.
typedef struct {
    Output a, b, x, dx, da, db;
} Parts;

// With g = a^H a + l (or a a^H + l, where there are fewer rows): the derivative of the normal equations.
static void normal_grad(Formula *f, bool tall, Parts *p) {
    Output a = p->a, g = BatchMatMul(a, a, tall, !tall), diagonal = MatrixDiagPart(g);
    g = Op("MatrixSetDiag", g, Add(diagonal, Cast(f->x[2], output_type(a))));
    if (tall) {
        Output z = Op("MatrixSolve", g, p->dx), xz = BatchMatMul(p->x, z, false, true);
        Output both = BatchMatMul(a, Add(xz, matrix_adjoint(f, xz)), false, false);
        p->da = Sub(BatchMatMul(p->b, z, false, true), both);
        p->db = BatchMatMul(a, z, false, false);
        return;
    }
    p->db = Op("MatrixSolve", g, BatchMatMul(a, p->dx, false, false));
    Output solved = Op("MatrixSolve", g, p->b), outside = Sub(p->dx, BatchMatMul(a, p->db, true, false));
    Output through = BatchMatMul(p->db, BatchMatMul(solved, a, true, false), false, false);
    p->da = Sub(BatchMatMul(solved, outside, false, true), through);
}

static Output merged(Formula *f, Output no, Output yes) {
    return formula_of_list(f, "Merge", (Output[]){no, yes}, 2, NULL);
}

// Where the shape is not known both ways stand there, and the step takes one.
static void squares_grad(Formula *f) {
    if (!node_bool(f->node, "fast")) {
        formula_fail(f, status_new(UNIMPLEMENTED, __FILE__, __LINE__, "Gradient not defined for fast=False"));
        return;
    }
    const Shape *in = output_shape(f->x[0]);
    int64_t m = in->rank < 2 ? UNKNOWN_DIM : in->dims[in->rank - 2], n = in->rank < 2 ? m : in->dims[in->rank - 1];
    Output from[] = {f->x[0], f->x[1], f->y[0], f->dy[0]};
    Parts p[2] = {{.a = from[0], .b = from[1], .x = from[2], .dx = from[3]}};
    if (m >= 0 && n >= 0) {
        normal_grad(f, m >= n, &p[0]);
        f->dx[0] = p[0].da;
        f->dx[1] = p[0].db;
        return;
    }
    Output shape = ShapeOf(f->x[0]), rows = Reshape(StridedSlice(shape, Ints(-2), Ints(-1), Ints(1)), NoInts);
    Output last = OpWith("StridedSlice", ATTRS(INT_ATTR("end_mask", 1)), shape, Ints(-1), Ints(0), Ints(1));
    Output tall = GreaterEqual(rows, Reshape(last, NoInts));
    Output *to[2][4] = {{&p[0].a, &p[0].b, &p[0].x, &p[0].dx}, {&p[1].a, &p[1].b, &p[1].x, &p[1].dx}};
    for (int i = 0; i < 4; i++) {
        *to[0][i] = Op("Switch", from[i], tall);
        *to[1][i] = At(*to[0][i], 1);
    }
    normal_grad(f, false, &p[0]);
    normal_grad(f, true, &p[1]);
    f->dx[0] = merged(f, p[0].da, p[1].da);
    f->dx[1] = merged(f, p[0].db, p[1].db);
}

const Op op_MatrixSolveLs = {
    .signature = "MatrixSolveLs(matrix: T, rhs: T, l2_regularizer: double) -> output: T; T: factored; fast: bool = true",
    .doc = "The solutions of systems of linear equations with the smallest sum of squares of what is left over.",
    .needs = "rank(matrix) >= 2, rank(rhs) >= 2, scalar(l2_regularizer)", .shape = squares_shape, .grad = squares_grad,
    .prepare = squares_prepare, .own_size = sizeof(Squares), .cpu = ANY_TYPE(squares_run), .host = BIT(2),
};

#else  // ---------------------------------------- once per type

// c [m, n] = a^H b, of a [k, m] and b [k, n].
static void NAME(product)(const T *a, const T *b, int64_t k, int64_t m, int64_t n, T *c) {
    memset(c, 0, (size_t)(m * n) * sizeof *c);
    for (int64_t r = 0; r < k; r++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++)
                c[i * n + j] += CONJ(a[r * m + i]) * b[r * n + j];
}

// b [n, k] becomes the solution of l l^H x = b; false: out of memory.
static bool NAME(solve_factored)(const T *l, int64_t n, T *b, int64_t k, T *turned, Work *work) {
    matrix_turn(sizeof(T) == 16, l, n, n, true, turned);
    return NAME(triangle)(l, n, true, false, b, k, work) && NAME(triangle)(turned, n, false, false, b, k, work);
}

// x = (a^H a + l)^-1 a^H b, or a^H (a a^H + l)^-1 b where there are fewer rows; false: out of memory.
static bool NAME(normal)(const Squares *own, T *a, T *b, double penalty, T *x, T *rest, Work *work, bool *good) {
    int64_t m = own->m, n = own->n, k = own->k, least = min_i64(m, n);
    T *gram = rest, *turned = gram + least * least;   // a^H, then the factor's
    const T *rows = a;
    if (m < n) {
        matrix_turn(sizeof(T) == 16, a, m, n, true, turned);
        rows = turned;
    }
    NAME(product)(rows, rows, max_i64(m, n), least, least, gram);
    for (int64_t i = 0; i < least; i++)
        gram[i * (least + 1)] += penalty;
    if (!NAME(cholesky)(gram, least, work, good) || !*good)
        return !*good;
    if (m >= n) {
        NAME(product)(a, b, m, n, k, x);
        return NAME(solve_factored)(gram, n, x, k, turned, work);
    }
    if (!NAME(solve_factored)(gram, m, b, k, turned, work))
        return false;
    NAME(product)(a, b, m, n, k, x);
    return true;
}

// The smallest solution, by singular values: those below the precision count as zeros. False: they don't converge.
static bool NAME(smallest)(const Squares *own, T *a, T *b, T *x, T *rest) {
    int64_t m = own->m, n = own->n, k = own->k, least = min_i64(m, n), most = max_i64(m, n);
    T *ut = rest, *vt = ut + most * least, *work = vt + least * least;
    double *s = (double *)(work + orthogonal_work(m, n));
    T *tall = a;
    if (m < n) {
        tall = work + orthogonal_work(m, n) + least;
        matrix_turn(sizeof(T) == 16, a, m, n, true, tall);
    }
    double scale = elements_scale(&own->elements, tall, m * n);
    if (isnan(scale) || !orthogonal_of(sizeof(T) == 16)->svd(tall, most, least, s, ut, least, vt, work))
        return false;
    const T *left = m < n ? vt : ut, *right = m < n ? ut : vt;   // rows: vectors of length m, and n
    double limit = s[0] * own->epsilon * (double)most;
    memset(x, 0, (size_t)(n * k) * sizeof *x);
    for (int64_t r = 0; r < least && s[r] > limit; r++)
        for (int64_t c = 0; c < k; c++) {
            T sum = 0;
            for (int64_t i = 0; i < m; i++)
                sum += CONJ(left[r * m + i]) * b[i * k + c];
            sum /= s[r] * scale;
            for (int64_t j = 0; j < n; j++)
                x[j * k + c] += right[r * n + j] * sum;
        }
    return true;
}
#endif
