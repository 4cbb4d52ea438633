// Qr — each matrix as the product of one with orthonormal columns and an upper triangle.
#include "ops/linalg/factor.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/orthogonal.h"
#include "ops/op.h"

typedef struct {
    int64_t m, n, columns, batch, cost;  // `columns`: of q
    Elements elements;
} Qr;

static Status *qr_shape(Shapes *s) {
    Shape in;
    TRY(matrix_shape(s, 0, false, &in));
    if (in.rank < 0)
        return OK;
    Shape batch = matrix_batch(in);
    int64_t m = in.dims[in.rank - 2], n = in.dims[in.rank - 1];
    int64_t columns = node_bool(s->node, "full_matrices") ? m : extent_least(m, n);
    s->out[0] = matrix_append(matrix_append(batch, m), columns);
    s->out[1] = matrix_append(matrix_append(batch, columns), n);
    return OK;
}

static Status *qr_prepare(Prepare *p) {
    Qr *own = p->own;
    const Shape *in = &p->in[0]->shape, *q = &p->out[0]->shape;
    DType dtype = p->in[0]->dtype;
    own->m = in->dims[in->rank - 2];
    own->n = in->dims[in->rank - 1];
    own->columns = q->dims[q->rank - 1];
    own->batch = shape_span(in, 0, in->rank - 2);
    own->cost = own->m * own->n * (own->n + own->columns);
    p->cost = own->batch * own->cost;
    return elements_init(dtype, dtype_is_complex(dtype), &own->elements);
}

static Status *qr_one(Kernel *k, int64_t i, Work *work) {
    const Qr *own = k->own;
    const Elements *elements = &own->elements;
    int64_t m = own->m, n = own->n, columns = own->columns;
    size_t size = elements_size(elements);
    char *a = work_get(work, WORK_MATRIX, size * (size_t)(m * n + 2 * m * columns + orthogonal_work(m, n)));
    NEED_MEMORY(a);
    char *qt = a + size * (size_t)(m * n), *q = qt + size * (size_t)(m * columns), *rest = q + size * (size_t)(m * columns);
    elements_load(elements, k->in[0]->data, i * m * n, m * n, a);
    double scale = elements_scale(elements, a, m * n);
    orthogonal_of(elements->is_complex)->qr(a, m, n, qt, columns, rest);
    elements_times(elements, a, columns * n, scale);
    if (isnan(scale))
        elements_fill(elements, qt, m * columns, NAN);
    matrix_turn(elements->is_complex, qt, columns, m, false, q);
    elements_store(elements, q, m * columns, k->out[0]->data, i * m * columns);
    elements_store(elements, a, columns * n, k->out[1]->data, i * columns * n);
    return OK;
}

static Status *qr_run(Kernel *k) {
    const Qr *own = k->own;
    return tensor_count(k->out[0]) || tensor_count(k->out[1]) ? each_matrix(k, own->batch, own->cost, qr_one) : OK;
}

// ---------------------------------------- gradient

// x r^-H, of an upper triangle.
static Output over(Formula *f, Output x, Output r) {
    Output adjoint = matrix_adjoint(f, x);
    return matrix_adjoint(f, OpWith("MatrixTriangularSolve", ATTRS(BOOL_ATTR("lower", false)), r, adjoint));
}

// Of m >= n: q (dr + low r^-H) + (dq - q q^H dq) r^-H, low: the lower part of q^H dq + r dr^H less their adjoints.
static Output deep_grad(Formula *f, Output q, Output r, Output dq, Output dr) {
    Output qdq = BatchMatMul(q, dq, true, false), rdr = BatchMatMul(r, dr, false, true);
    Output both = Add(Sub(qdq, matrix_adjoint(f, qdq)), Sub(rdr, matrix_adjoint(f, rdr)));
    Output low = MatrixBandPart(both, Int64(-1), Int64(0));
    Output inner = Add(dr, over(f, low, r)), outer = Sub(dq, BatchMatMul(q, qdq, false, false));
    Output dx = Add(BatchMatMul(q, inner, false, false), over(f, outer, r));
    if (!dtype_is_complex(output_type(q)))
        return dx;
    Output diagonal = MatrixDiagPart(Sub(rdr, matrix_adjoint(f, qdq)));  // what is imaginary of it: r's is real
    diagonal = Mul(Sub(Conj(diagonal), diagonal), Scalar(0.5, diagonal));
    return Add(dx, over(f, BatchMatMul(q, MatrixDiag(diagonal), false, false), r));
}

static void qr_grad(Formula *f) {
    const Shape *in = output_shape(f->x[0]);
    int64_t m = in->rank < 2 ? UNKNOWN_DIM : in->dims[in->rank - 2], n = in->rank < 2 ? m : in->dims[in->rank - 1];
    Output q = f->y[0], r = f->y[1], dq = f->dy[0], dr = f->dy[1];
    if (m < 0 || n < 0 || (m > n && node_bool(f->node, "full_matrices"))) {
        formula_fail(f, status_new(UNIMPLEMENTED, __FILE__, __LINE__, m > n && n >= 0 ?
                                   "no gradient of Qr with more rows than columns and full_matrices" :
                                   "the gradient of Qr needs to know the matrix's shape"));
        return;
    }
    if (m >= n) {
        f->dx[0] = deep_grad(f, q, r, dq, dr);
        return;
    }
    // [x y] = q [u v]: x by q and u alone, y through v.
    Output y = matrix_columns(f, f->x[0], m, TO_THE_END), u = matrix_columns(f, r, 0, m);
    Output du = matrix_columns(f, dr, 0, m), dv = matrix_columns(f, dr, m, TO_THE_END);
    Output dx = deep_grad(f, q, u, Add(dq, BatchMatMul(y, dv, false, true)), du);
    Output parts[] = {dx, BatchMatMul(q, dv, false, false)};
    f->dx[0] = Concat(parts, 2, Int(-1));
}

const Op op_Qr = {
    .signature = "Qr(input: T) -> q: T, r: T; full_matrices: bool = false; T: factored",
    .doc = "Each matrix as the product of one with orthonormal columns and an upper triangle.",
    .needs = "rank(input) >= 2", .shape = qr_shape, .grad = qr_grad, .prepare = qr_prepare, .own_size = sizeof(Qr),
    .cpu = ANY_TYPE(qr_run),
};
