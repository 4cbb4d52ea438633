// SelfAdjointEig, SelfAdjointEigV2, Eig — eigenvalues and eigenvectors of each matrix.
#include "ops/linalg/factor.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/orthogonal.h"
#include "ops/linalg/schur.h"
#include "ops/op.h"

typedef struct {
    int64_t n, batch, cost;
    bool vectors;
    Elements in, out;
} Eigen;

// ---------------------------------------- shapes and geometry

static Status *eigen_shape(Shapes *s) {
    Shape in;
    TRY(matrix_shape(s, 0, true, &in));
    bool vectors = node_bool(s->node, "compute_v");
    if (!vectors)
        s->out[1] = SHAPE(0);
    if (in.rank < 0)
        return OK;
    s->out[0] = matrix_append(matrix_batch(in), in.dims[in.rank - 1]);
    if (vectors)
        s->out[1] = in;
    return OK;
}

// The values in a row above the vectors.
static Status *one_output_shape(Shapes *s) {
    Shape in;
    TRY(matrix_shape(s, 0, true, &in));
    if (in.rank >= 0 && in.dims[in.rank - 1] >= 0)
        in.dims[in.rank - 2]++;
    s->out[0] = in;
    return OK;
}

static Status *eigen_prepare(Prepare *p) {
    Eigen *own = p->own;
    const Shape *in = &p->in[0]->shape;
    DType to = p->out[0]->dtype;
    bool is_complex = dtype_is_complex(to);
    own->n = in->dims[in->rank - 1];
    own->batch = shape_span(in, 0, in->rank - 2);
    own->vectors = p->n_out == 1 || node_bool(p->node, "compute_v");
    own->cost = own->n * own->n * own->n * (own->vectors ? 10 : 3);
    p->cost = own->batch * own->cost;
    TRY(elements_init(p->in[0]->dtype, is_complex, &own->in));
    return elements_init(to, is_complex, &own->out);
}

// ---------------------------------------- kernels

static Status *symmetric_one(Kernel *k, int64_t i, Work *work) {
    const Eigen *own = k->own;
    int64_t n = own->n, count = n * n, values_at = i * n, vectors_at = i * count;
    if (k->n_out == 1) {
        values_at = i * (count + n);
        vectors_at = values_at + n;
    }
    size_t size = elements_size(&own->in);
    char *a = work_get(work, WORK_MATRIX, size * (size_t)(2 * count + orthogonal_work(n, n)) + (size_t)n * sizeof(double));
    NEED_MEMORY(a);
    char *vt = a + size * (size_t)count, *rest = vt + size * (size_t)count;
    double *e = (double *)(void *)(rest + size * (size_t)orthogonal_work(n, n));
    elements_load(&own->in, k->in[0]->data, i * count, count, a);
    double scale = elements_scale(&own->in, a, count);
    NEED(!isnan(scale) && orthogonal_of(own->in.is_complex)->eigen(a, n, e, own->vectors ? vt : NULL, rest),
         INVALID_ARGUMENT, "the eigenvalues of matrix %lld don't converge", (long long)i);
    for (int64_t j = 0; j < n; j++)
        e[j] *= scale;
    elements_store_real(&own->out, e, n, k->out[0]->data, values_at);
    if (own->vectors) {
        matrix_turn(own->in.is_complex, vt, n, n, false, a);
        elements_store(&own->out, a, count, k->out[k->n_out - 1]->data, vectors_at);
    }
    return OK;
}

static Status *general_one(Kernel *k, int64_t i, Work *work) {
    const Eigen *own = k->own;
    int64_t n = own->n, count = n * n;
    Complex128 *a = work_get(work, WORK_MATRIX, (size_t)(3 * count + 4 * n) * sizeof *a);
    NEED_MEMORY(a);
    Complex128 *q = a + count, *v = q + count, *e = v + count, *rest = e + n;
    elements_load(&own->in, k->in[0]->data, i * count, count, a);
    double scale = elements_scale(&own->in, a, count);
    NEED(!isnan(scale) && schur_form(a, n, own->vectors ? q : NULL, rest), INVALID_ARGUMENT,
         "the eigenvalues of matrix %lld don't converge", (long long)i);
    for (int64_t j = 0; j < n; j++)
        e[j] = a[j * n + j] * scale;
    elements_store(&own->out, e, n, k->out[0]->data, i * n);
    if (own->vectors) {
        schur_vectors(a, q, n, v, rest);
        elements_store(&own->out, v, count, k->out[1]->data, i * count);
    }
    return OK;
}

static Status *symmetric_run(Kernel *k) {
    const Eigen *own = k->own;
    return tensor_count(k->in[0]) ? each_matrix(k, own->batch, own->cost, symmetric_one) : OK;
}

static Status *general_run(Kernel *k) {
    const Eigen *own = k->own;
    return tensor_count(k->in[0]) ? each_matrix(k, own->batch, 4 * own->cost, general_one) : OK;
}

// ---------------------------------------- gradients

// 1 / (e_j - e_i), zeros on the diagonal and where there would be no end of it.
static Output apart(Formula *f, Output e) {
    Output x = Sub(ExpandDims(e, Int(-2)), ExpandDims(e, Int(-1)));
    return Op("MatrixSetDiag", Div(x, Add(Square(x), Scalar(1e-20, x))), ZerosLike(e));
}

// v (de + f (v^H dv)) v^H of the lower triangle, which is all that is read.
static void symmetric_grad(Formula *f) {
    bool vectors = node_bool(f->node, "compute_v");
    Output both = vectors ? f->y[0] : OpWith("SelfAdjointEigV2", ATTRS(BOOL_ATTR("compute_v", true)), f->x[0]);
    Output v = At(both, 1), middle = MatrixDiag(f->dy[0]);
    if (vectors)
        middle = Add(middle, Mul(apart(f, f->y[0]), BatchMatMul(v, f->dy[1], true, false)));
    Output dx = BatchMatMul(v, BatchMatMul(middle, v, false, true), false, false);
    dx = MatrixBandPart(Add(dx, matrix_adjoint(f, dx)), Int64(-1), Int64(0));
    Output diagonal = MatrixDiagPart(dx);
    f->dx[0] = Op("MatrixSetDiag", dx, Mul(diagonal, Scalar(0.5, diagonal)));
}

// v^-H (de + conj(f) (v^H dv - v^H v real(diag(v^H dv)))) v^H
static void general_grad(Formula *f) {
    bool vectors = node_bool(f->node, "compute_v");
    DType type = output_type(f->y[0]);
    Output both = vectors ? f->y[0] : OpWith("Eig", ATTRS(BOOL_ATTR("compute_v", true), TYPE_ATTR("Tout", type)), f->x[0]);
    Output v = At(both, 1), middle = MatrixDiag(f->dy[0]);
    if (vectors) {
        Output moved = BatchMatMul(v, f->dy[1], true, false), diagonal = MatrixDiagPart(moved);
        diagonal = Mul(Add(diagonal, Conj(diagonal)), Scalar(0.5, diagonal));
        Output lengths = Mul(BatchMatMul(v, v, true, false), ExpandDims(diagonal, Int(-2)));
        middle = Add(middle, Mul(Conj(apart(f, f->y[0])), Sub(moved, lengths)));
    }
    Output dx = OpWith("MatrixSolve", ATTRS(BOOL_ATTR("adjoint", true)), v, BatchMatMul(middle, v, false, true));
    f->dx[0] = Cast(dx, output_type(f->x[0]));
}

// ---------------------------------------- schema

#define OF_EIGEN .needs = "rank(input) >= 2", .prepare = eigen_prepare, .own_size = sizeof(Eigen)

const Op op_SelfAdjointEigV2 = {
    .signature = "SelfAdjointEigV2(input: T) -> e: T, v: T; compute_v: bool = true; T: factored",
    .doc = "Eigenvalues, ascending, and eigenvectors of Hermitian matrices, of which the lower part is read.",
    .shape = eigen_shape, .grad = symmetric_grad, .cpu = ANY_TYPE(symmetric_run), OF_EIGEN,
};
const Op op_SelfAdjointEig = {
    .signature = "SelfAdjointEig(input: T) -> output: T; T: {double, float, half}; "
                 "deprecated(11, \"use SelfAdjointEigV2\")",
    .doc = "Eigenvalues of symmetric matrices in a row above their eigenvectors.", .shape = one_output_shape,
    .cpu = ANY_TYPE(symmetric_run), OF_EIGEN,
};
const Op op_Eig = {
    .signature = "Eig(input: T) -> e: Tout, v: Tout; compute_v: bool = true; T: {float, double, complexes}; "
                 "Tout: complexes",
    .doc = "Eigenvalues and eigenvectors of each matrix.", .shape = eigen_shape, .grad = general_grad,
    .cpu = ANY_TYPE(general_run), OF_EIGEN,
};
