// SparseTensorDenseMatMul — a sparse matrix times a dense one; SparseMatMul — two dense ones of which many elements are
// 0.
//
// Goes entry by entry as they are given, which may be in any order and repeat; sums are kept in the type to compute in
// until the end, so that half and bfloat16 round once. Threads that share rows out would have to sort
// the entries first.
#define SELF "ops/sparse/matmul.c"
#include "ops/op.h"

#ifdef T  // ---------------------------------------- kernel, once per dtype
#ifdef IS_INTEGER
#define SUM uint32_t  // of int32: sums that wrap
#define CONJ_OF(x) (uint32_t)(x)
#else
#define SUM ACC
#endif

static Status *FN(multiply)(Kernel *k) {
    const SparseProduct *own = k->own;
    const T *values = k->in[1]->data, *b = k->in[3]->data;
    int64_t n = k->out[0]->shape.dims[1], rows = k->out[0]->shape.dims[0];
    SUM *sums = k->scratch;
    for (int64_t i = 0; i < rows * n; i++)
        sums[i] = 0;
    for (int64_t e = 0; e < own->entries; e++) {
        int64_t row = tensor_int(k->in[0], 2 * e + own->adjoint_a), column = tensor_int(k->in[0], 2 * e + !own->adjoint_a);
        NEED(column >= 0 && column < own->inner, INVALID_ARGUMENT,
             "k (%lld) from index[%lld,%d] out of bounds (>=%lld)", (long long)column, (long long)e, !own->adjoint_a,
             (long long)own->inner);
        NEED(row >= 0 && row < rows, INVALID_ARGUMENT, "m (%lld) from index[%lld,%d] out of bounds (>=%lld)",
             (long long)row, (long long)e, own->adjoint_a, (long long)rows);
        SUM value = (SUM)LOAD(values[e]);
        if (own->adjoint_a)
            value = CONJ_OF(value);
        for (int64_t j = 0; j < n; j++)
            sums[row * n + j] += value * (own->adjoint_b ? CONJ_OF(LOAD(b[j * own->inner + column]))
                                                         : (SUM)LOAD(b[column * n + j]));
    }
    T *out = k->out[0]->data;
    for (int64_t i = 0; i < rows * n; i++)
        out[i] = STORE(sums[i]);
    return OK;
}
#undef SUM
#ifdef IS_INTEGER
#undef CONJ_OF
#endif

#elif !defined(SPARSE_PRODUCT)  // ---------------------------------------- schema
#define SPARSE_PRODUCT
#include <complex.h>

typedef struct {
    int64_t entries, inner;
    bool adjoint_a, adjoint_b;
} SparseProduct;

#define EACH_FLOAT
#define EACH_INT32
#define EACH_COMPLEX
#include "ops/each_dtype.h"

static Status *product_shape(Shapes *s) {
    Shape a;
    const Shape *b = &s->in[3];
    bool adjoint_a = node_bool(s->node, "adjoint_a"), adjoint_b = node_bool(s->node, "adjoint_b");
    TRY(shapes_input_shape(s, 2, &a));
    NEED(a.rank < 0 || a.rank == 2, INVALID_ARGUMENT, "Tensor 'a_shape' must have 2 elements");
    NEED(b->rank < 0 || b->rank == 2, INVALID_ARGUMENT, "Tensor 'b' is not a matrix: %s", shape_text(b));
    if (a.rank < 0)
        a = SHAPE(UNKNOWN_DIM, UNKNOWN_DIM);
    Shape dense = b->rank < 0 ? SHAPE(UNKNOWN_DIM, UNKNOWN_DIM) : *b;
    int64_t inner = a.dims[!adjoint_a], other = dense.dims[adjoint_b];
    NEED(inner < 0 || other < 0 || inner == other, INVALID_ARGUMENT,
         "Cannot multiply A and B because inner dimension does not match: %lld vs. %lld", (long long)inner,
         (long long)other);
    s->out[0] = SHAPE(a.dims[adjoint_a], dense.dims[!adjoint_b]);
    return OK;
}

static Status *product_prepare(Prepare *p) {
    SparseProduct *own = p->own;
    *own = (SparseProduct){.entries = p->in[0]->shape.dims[0], .adjoint_a = node_bool(p->node, "adjoint_a"),
                           .adjoint_b = node_bool(p->node, "adjoint_b")};
    own->inner = p->in[3]->shape.dims[own->adjoint_b];
    size_t size = max_i64((int64_t)dtype_size(p->out[0]->dtype), (int64_t)sizeof(float));
    NEED(mul_size((size_t)shape_count(&p->out[0]->shape), size, &p->scratch), RESOURCE_EXHAUSTED,
         "the product of shape %s is too large", shape_text(&p->out[0]->shape));
    p->cost = shape_count(&p->out[0]->shape) + own->entries * p->out[0]->shape.dims[1];
    return OK;
}

static Output column(Formula *f, Output indices, int i) {
    return Reshape(Slice(indices, Ints(0, i), Ints(-1, 1)), Ints(-1));
}

// For A·B = C: dA at the entry (r, c) is dC[r, :] · conj(B[c, :]), so only rows that entries name are gathered; dB is
// adjoint(A) · dC.
static void product_grad(Formula *f) {
    bool adjoint_a = node_bool(f->node, "adjoint_a"), adjoint_b = node_bool(f->node, "adjoint_b");
    Output indices = f->x[0], dy = f->dy[0], b = f->x[3];
    Output rows = column(f, indices, adjoint_a), columns = column(f, indices, !adjoint_a);
    Output db = OpWith("SparseTensorDenseMatMul", ATTRS(BOOL_ATTR("adjoint_a", !adjoint_a)), indices, f->x[1], f->x[2],
                       dy);
    Output turned = adjoint_b ? Op("ConjugateTranspose", b, Ints(1, 0)) : b;
    Output products = Mul(Gather(dy, rows, Int(0)), Conj(Gather(turned, columns, Int(0))));
    Output values = Sum(products, Int(1), false);
    f->dx[1] = adjoint_a ? Conj(values) : values;
    f->dx[3] = adjoint_b ? Op("ConjugateTranspose", db, Ints(1, 0)) : db;
}

#define TYPES(X, a) \
    X(half, a) X(bfloat16, a) X(float, a) X(double, a) X(int32, a) X(complex64, a) X(complex128, a)
const Op op_SparseTensorDenseMatMul = {
    .signature = "SparseTensorDenseMatMul(a_indices: Tindices, a_values: T, a_shape: int64, b: T) -> product: T; "
                 "T: type; Tindices: {int32, int64} = int64; adjoint_a: bool = false; adjoint_b: bool = false",
    .doc = "The product of a sparse matrix and a dense one.",
    .needs = "rank(a_indices) == 2, dim(a_indices, 1) == 2, vector(a_values), dim(a_indices, 0) == dim(a_values, 0), "
             "vector(a_shape), rank(b) == 2",
    .shape = product_shape, .grad = product_grad, .prepare = product_prepare, .own_size = sizeof(SparseProduct),
    .cpu = KERNELS(TYPES, multiply), .host = BIT(2),
};

// The op is a hint that many elements are 0; a dense product has no branch per element. bfloat16 is widened first: the
// result is float32.
static void sparse_matmul_expand(Formula *f) {
    Output a = Cast(f->x[0], DT_float), b = Cast(f->x[1], DT_float);
    f->results[0] = MatMul(a, b, node_bool(f->node, "transpose_a"), node_bool(f->node, "transpose_b"));
}

static Status *sparse_matmul_shape(Shapes *s) {
    const Shape *a = &s->in[0], *b = &s->in[1];
    bool ta = node_bool(s->node, "transpose_a"), tb = node_bool(s->node, "transpose_b");
    NEED((a->rank < 0 || a->rank == 2) && (b->rank < 0 || b->rank == 2), INVALID_ARGUMENT,
         "factors must be matrices, got shapes %s and %s", shape_text(a), shape_text(b));
    int64_t m = a->rank < 0 ? -1 : a->dims[ta], k = a->rank < 0 ? -1 : a->dims[!ta];
    int64_t other = b->rank < 0 ? -1 : b->dims[tb], n = b->rank < 0 ? -1 : b->dims[!tb];
    NEED(k < 0 || other < 0 || k == other, INVALID_ARGUMENT, "Dimensions must be equal, but are %lld and %lld",
         (long long)k, (long long)other);
    s->out[0] = SHAPE(m, n);
    return OK;
}

const Op op_SparseMatMul = {
    .signature = "SparseMatMul(a: Ta, b: Tb) -> product: float; transpose_a: bool = false; transpose_b: bool = false; "
                 "a_is_sparse: bool = false; b_is_sparse: bool = false; Ta: {float, bfloat16} = float; "
                 "Tb: {float, bfloat16} = float",
    .doc = "The product of two matrices; that elements are 0 makes no difference here.",
    .needs = "rank(a) == 2, rank(b) == 2", .shape = sparse_matmul_shape, .expand = sparse_matmul_expand,
};
#endif
