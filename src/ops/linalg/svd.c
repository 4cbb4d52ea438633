// Svd — singular values and vectors of each matrix: the matrix is u diag(s) v^H.
#include "ops/linalg/factor.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/orthogonal.h"
#include "ops/op.h"

typedef struct {
    int64_t m, n, batch, cost;
    bool vectors, full;
    Elements elements;
} Svd;

static Status *svd_shape(Shapes *s) {
    Shape in;
    TRY(matrix_shape(s, 0, false, &in));
    bool vectors = node_bool(s->node, "compute_uv");
    if (!vectors)
        s->out[1] = s->out[2] = SHAPE(0);
    if (in.rank < 0)
        return OK;
    Shape batch = matrix_batch(in);
    int64_t m = in.dims[in.rank - 2], n = in.dims[in.rank - 1], least = extent_least(m, n);
    bool full = node_bool(s->node, "full_matrices");
    s->out[0] = matrix_append(batch, least);
    if (vectors) {
        s->out[1] = matrix_append(matrix_append(batch, m), full ? m : least);
        s->out[2] = matrix_append(matrix_append(batch, n), full ? n : least);
    }
    return OK;
}

static Status *svd_prepare(Prepare *p) {
    Svd *own = p->own;
    const Shape *in = &p->in[0]->shape;
    DType dtype = p->in[0]->dtype;
    own->m = in->dims[in->rank - 2];
    own->n = in->dims[in->rank - 1];
    own->batch = shape_span(in, 0, in->rank - 2);
    own->vectors = node_bool(p->node, "compute_uv");
    own->full = node_bool(p->node, "full_matrices");
    int64_t least = min_i64(own->m, own->n), most = max_i64(own->m, own->n);
    own->cost = least * least * most * (own->vectors ? 10 : 4);
    p->cost = own->batch * own->cost;
    return elements_init(dtype, dtype_is_complex(dtype), &own->elements);
}

// A wide matrix is taken as its adjoint: then u and v change places.
typedef struct {
    int64_t m, n, columns;    // m >= n
    bool turned;
    char *a, *ut, *vt, *rest;
    double *s;
} Room;

static Status *room_get(const Svd *own, Work *work, Room *r) {
    r->turned = own->m < own->n;
    r->m = max_i64(own->m, own->n);
    r->n = min_i64(own->m, own->n);
    r->columns = own->full ? r->m : r->n;
    size_t size = elements_size(&own->elements), a = size * (size_t)(r->m * max_i64(r->n, r->columns));
    size_t vectors = own->vectors ? size * (size_t)(r->m * r->columns) : 0;
    size_t others = own->vectors ? size * (size_t)(r->n * r->n) : 0;
    r->a = work_get(work, WORK_MATRIX, a + vectors + others + size * (size_t)(orthogonal_work(r->m, r->n) + r->n));
    NEED_MEMORY(r->a);
    r->ut = r->a + a;
    r->vt = r->ut + vectors;
    r->s = (double *)(void *)(r->vt + others);
    r->rest = r->vt + others + size * (size_t)r->n;
    return OK;
}

// The vectors [columns, length], turned by way of `room`, as matrix i of output k.
static void store_vectors(Kernel *k, int output, int64_t i, const Elements *elements, const void *vectors,
                          int64_t columns, int64_t length, void *room) {
    matrix_turn(elements->is_complex, vectors, columns, length, false, room);
    elements_store(elements, room, columns * length, k->out[output]->data, i * columns * length);
}

static Status *svd_one(Kernel *k, int64_t i, Work *work) {
    const Svd *own = k->own;
    const Elements *elements = &own->elements;
    int64_t count = own->m * own->n;
    Room r;
    TRY(room_get(own, work, &r));
    char *loaded = r.turned ? work_get(work, 0, elements_size(elements) * (size_t)count) : r.a;
    NEED_MEMORY(loaded);
    elements_load(elements, k->in[0]->data, i * count, count, loaded);
    double scale = elements_scale(elements, loaded, count);
    if (r.turned)
        matrix_turn(elements->is_complex, loaded, own->m, own->n, true, r.a);
    NEED(orthogonal_of(elements->is_complex)->svd(r.a, r.m, r.n, r.s, own->vectors ? r.ut : NULL, r.columns, r.vt, r.rest),
         INVALID_ARGUMENT, "the singular values of matrix %lld don't converge", (long long)i);
    for (int64_t j = 0; j < r.n; j++)
        r.s[j] *= scale;
    elements_store_real(elements, r.s, r.n, k->out[0]->data, i * r.n);
    if (!own->vectors)
        return OK;
    if (isnan(scale)) {
        elements_fill(elements, r.ut, r.columns * r.m, NAN);
        elements_fill(elements, r.vt, r.n * r.n, NAN);
    }
    store_vectors(k, r.turned ? 2 : 1, i, elements, r.ut, r.columns, r.m, r.a);
    store_vectors(k, r.turned ? 1 : 2, i, elements, r.vt, r.n, r.n, r.a);
    return OK;
}

static Status *svd_run(Kernel *k) {
    const Svd *own = k->own;
    bool any = tensor_count(k->out[0]) || tensor_count(k->out[1]) || tensor_count(k->out[2]);
    return any ? each_matrix(k, own->batch, own->cost, svd_one) : OK;
}

// ---------------------------------------- gradient

static Output inverse_of(Formula *f, Output x) {  // 1 / x, and zero at zero
    return Div(x, Add(Square(x), Scalar(1e-20, x)));
}

// What of du and dv lies in the space of the vectors: u (ds + part(u^H du) s + s part(v^H dv)) v^H with
// part(z) = f z + (f z)^H, f(i, j) = 1 / (s_j^2 - s_i^2).
static Output inner_grad(Formula *f, Output s, Output u, Output v, Output vdv, Output du) {
    Output squares = Square(s), values = MatrixDiag(s);
    Output apart = inverse_of(f, Sub(ExpandDims(squares, Int(-2)), ExpandDims(squares, Int(-1))));
    apart = Op("MatrixSetDiag", apart, ZerosLike(s));
    Output of_u = Mul(apart, BatchMatMul(u, du, true, false)), of_v = Mul(apart, vdv);
    of_u = Add(of_u, matrix_adjoint(f, of_u));
    of_v = Add(of_v, matrix_adjoint(f, of_v));
    Output middle = Add(BatchMatMul(of_u, values, false, false), BatchMatMul(values, of_v, false, false));
    middle = Add(MatrixDiag(f->dy[0]), middle);
    if (dtype_is_complex(output_type(s))) {  // the phase that u and v share: -i imag(v^H dv) / s on the diagonal
        Output diagonal = MatrixDiagPart(vdv);
        diagonal = Mul(Sub(Conj(diagonal), diagonal), Mul(inverse_of(f, s), Scalar(0.5, s)));
        middle = Add(middle, MatrixDiag(diagonal));
    }
    return BatchMatMul(u, BatchMatMul(middle, v, false, true), false, false);
}

static void svd_vectors_grad(Formula *f, int64_t m, int64_t n) {
    bool turned = m > n, full = node_bool(f->node, "full_matrices");
    Output s = f->y[0], u = f->y[turned ? 2 : 1], v = f->y[turned ? 1 : 2];
    Output du = f->dy[turned ? 2 : 1], dv = f->dy[turned ? 1 : 2];
    int64_t least = min_i64(m, n);
    bool square = m == n, more = full && !square;
    Output v1 = more ? matrix_columns(f, v, 0, least) : v, dv1 = more ? matrix_columns(f, dv, 0, least) : dv;
    Output dx = inner_grad(f, s, u, v1, BatchMatMul(v1, dv1, true, false), du);
    if (!square) {  // what lies outside of v's space: u s^-1 (dv^H (1 - v v^H) - v^H dv2 v2^H)
        Output outside = matrix_adjoint(f, dv1), inside = BatchMatMul(outside, v1, false, false);
        outside = Sub(outside, BatchMatMul(inside, v1, false, true));
        if (more) {
            Output v2 = matrix_columns(f, v, least, TO_THE_END), dv2 = matrix_columns(f, dv, least, TO_THE_END);
            outside = Sub(outside, BatchMatMul(BatchMatMul(v1, dv2, true, false), v2, false, true));
        }
        Output scaled = Mul(u, ExpandDims(inverse_of(f, s), Int(-2)));
        dx = Add(dx, BatchMatMul(scaled, outside, false, false));
    }
    f->dx[0] = turned ? matrix_adjoint(f, dx) : dx;
}

static void svd_grad(Formula *f) {
    const Shape *in = output_shape(f->x[0]);
    if (!node_bool(f->node, "compute_uv")) {  // u ds v^H
        Output svd = OpWith("Svd", ATTRS(BOOL_ATTR("compute_uv", true)), f->x[0]);
        Output scaled = Mul(At(svd, 1), ExpandDims(f->dy[0], Int(-2)));
        f->dx[0] = BatchMatMul(scaled, At(svd, 2), false, true);
        return;
    }
    int64_t m = in->rank < 2 ? UNKNOWN_DIM : in->dims[in->rank - 2], n = in->rank < 2 ? m : in->dims[in->rank - 1];
    if (m < 0 || n < 0)
        formula_fail(f, status_new(UNIMPLEMENTED, __FILE__, __LINE__,
                                   "the gradient of Svd needs to know the matrix's shape"));
    else if (node_bool(f->node, "full_matrices") && (m > n + 1 || n > m + 1))
        formula_fail(f, status_new(UNIMPLEMENTED, __FILE__, __LINE__, "no gradient of Svd with full_matrices of a matrix "
                                   "of %lld x %lld", (long long)m, (long long)n));
    else
        svd_vectors_grad(f, m, n);
}

const Op op_Svd = {
    .signature = "Svd(input: T) -> s: T, u: T, v: T; compute_uv: bool = true; full_matrices: bool = false; T: factored",
    .doc = "Singular values of each matrix, descending, with the vectors on its left and right.",
    .needs = "rank(input) >= 2", .shape = svd_shape, .grad = svd_grad, .prepare = svd_prepare, .own_size = sizeof(Svd),
    .cpu = ANY_TYPE(svd_run),
};
