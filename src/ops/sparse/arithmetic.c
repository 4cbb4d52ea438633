// SparseAdd, SparseSparseMaximum, SparseSparseMinimum, SparseTensorDenseAdd, SparseDenseCwiseMul, SparseDenseCwiseDiv,
// SparseDenseCwiseAdd — sparse tensors with sparse and dense ones, element by element; SparseAddGrad.
#include "ops/sparse/coo.h"

#include <stdlib.h>

#include "base/checked.h"

// ---------------------------------------- sparse with sparse

// The union of two lists of rows in order: which of each comes at place i, -1 for none.
typedef struct {
    int64_t *a, *b, n;
} Union;

// A merge of two sorted lists, as in merge sort. The rows must be in lexicographic order, as TensorFlow asks too; that
// they are isn't checked, and equal rows that are not met at the same time then both appear.
static Status *unite(const Coo *a, const Coo *b, Arena *arena, Union *out) {
    int64_t most = a->n + b->n, i = 0, j = 0;
    *out = (Union){.a = ARENA_ARRAY(arena, int64_t, most + 1), .b = ARENA_ARRAY(arena, int64_t, most + 1)};
    NEED_MEMORY(out->a && out->b);
    while (i < a->n || j < b->n) {
        int order = i == a->n ? 1 : j == b->n ? -1
                                              : coo_compare(a->indices + i * a->rank, b->indices + j * b->rank, a->rank);
        out->a[out->n] = order <= 0 ? i++ : -1;
        out->b[out->n++] = order >= 0 ? j++ : -1;
    }
    return OK;
}

static void union_row(const Coo *a, const Coo *b, const Union *both, int64_t i, int64_t *to) {
    const int64_t *from = both->a[i] >= 0 ? a->indices + both->a[i] * a->rank : b->indices + both->b[i] * b->rank;
    memcpy(to, from, (size_t)a->rank * sizeof *to);
}

// An element as a number; of a complex one its absolute value.
static double number(const Tensor *t, int64_t i) {
    const char *at = (const char *)t->data + (size_t)i * dtype_size(t->dtype);
    switch (t->dtype) {
    case DT_half: return (double)half_to_float(*(const Half *)at);
    case DT_bfloat16: return (double)bfloat16_to_float(*(const Bfloat16 *)at);
    case DT_float: return (double)*(const float *)at;
    case DT_double: return *(const double *)at;
    case DT_complex64: return (double)cabsf(*(const Complex64 *)at);
    case DT_complex128: return cabs(*(const Complex128 *)at);
    case DT_uint8: return (double)*(const uint8_t *)at;
    case DT_uint16: return (double)*(const uint16_t *)at;
    case DT_uint32: return (double)*(const uint32_t *)at;
    case DT_uint64: return (double)*(const uint64_t *)at;
    case DT_int32: return (double)*(const int32_t *)at;
    case DT_int64: return (double)*(const int64_t *)at;
    default: return (double)host_int(t, i);
    }
}

// sums[i] of the union; what is not there counts as zero.
static void union_values(const Coo *a, const Coo *b, const Union *both, const ElementwiseLoop *loop, char *sums) {
    static const uint64_t zero[2] = {0};
    size_t size = loop->in_size;
    for (int64_t i = 0; i < both->n; i++) {
        const void *x = both->a[i] < 0 ? (const void *)zero : (const char *)a->values->data + (size_t)both->a[i] * size;
        const void *y = both->b[i] < 0 ? (const void *)zero : (const char *)b->values->data + (size_t)both->b[i] * size;
        elementwise_run(loop, x, y, sums + (size_t)i * size, 1, 1, 1);
    }
}

static Status *combine_prepare(Prepare *p) {
    const ElementwiseOp *const *op = node_op(p->node)->row;
    NEED(elementwise_find(*op, p->in[1]->dtype, p->own), UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(p->in[1]->dtype));
    return OK;
}

// Whether |sum| reaches the threshold. Of whole numbers without a detour by way of double, which knows 53 bits; of the
// least int64, which has no absolute value, that is itself: so it is in TensorFlow, too.
static bool reaches(const Tensor *sums, int64_t i, const Tensor *threshold) {
    if (!dtype_is_integer(sums->dtype) || sums->dtype == DT_uint64 || !dtype_is_integer(threshold->dtype))
        return number(threshold, 0) <= fabs(number(sums, i));
    int64_t sum = host_int(sums, i);
    return host_int(threshold, 0) <= (sum < 0 && sum != INT64_MIN ? -sum : sum);
}

static Status *read_both(const Kernel *k, bool bounded, Coo *a, Coo *b) {
    TRY(coo_get(k, 0, a));
    TRY(coo_get(k, 3, b));
    NEED(a->rank > 0, INVALID_ARGUMENT, "Tensors must not be empty");
    TRY(coo_match(a, b));
    if (bounded) {
        TRY(coo_check(a));
        TRY(coo_check(b));
    }
    return OK;
}

// Sums of two elements stay away below the threshold; those that are there once don't: so it is in TensorFlow.
static Status *combine(Kernel *k, bool thresholds) {
    const ElementwiseLoop *loop = k->own;
    Coo a, b;
    Union both;
    size_t bytes;
    AUTO(arena) Arena arena = {0};
    TRY(read_both(k, !thresholds, &a, &b));
    TRY(unite(&a, &b, &arena, &both));
    NEED_MEMORY(mul_size((size_t)both.n, loop->in_size, &bytes) && bytes < SIZE_MAX);
    char *sums = ARENA_ARRAY(&arena, char, bytes + 1);
    NEED_MEMORY(sums);
    union_values(&a, &b, &both, loop, sums);
    Tensor all = {.data = sums, .dtype = a.values->dtype};
    bool *keeps = ARENA_ARRAY(&arena, bool, both.n + 1);
    int64_t n = 0, to = 0;
    NEED_MEMORY(keeps);
    for (int64_t i = 0; i < both.n; i++) {
        keeps[i] = !thresholds || both.a[i] < 0 || both.b[i] < 0 || reaches(&all, i, k->in[6]);
        n += keeps[i];
    }
    TRY(coo_output(k, n, a.rank, thresholds ? a.dims : NULL));
    for (int64_t i = 0; i < both.n; i++) {
        if (!keeps[i])
            continue;
        union_row(&a, &b, &both, i, (int64_t *)k->out[0]->data + to * a.rank);
        memcpy((char *)k->out[1]->data + (size_t)to++ * loop->in_size, sums + (size_t)i * loop->in_size, loop->in_size);
    }
    return OK;
}

static Status *add_run(Kernel *k) {
    return combine(k, true);
}

static Status *extreme_run(Kernel *k) {
    return combine(k, false);
}

static Status *add_shape(Shapes *s) {
    int64_t rank = s->in[2].rank == 1 ? s->in[2].dims[0] : UNKNOWN_DIM;
    s->out[0] = SHAPE(UNKNOWN_DIM, rank);
    s->out[1] = SHAPE(UNKNOWN_DIM);
    if (s->n_out == 3)
        s->out[2] = SHAPE(rank);
    return OK;
}

static void add_grad(Formula *f) {
    Output both = Op("SparseAddGrad", f->dy[1], f->x[0], f->x[3], f->y[0]);
    f->dx[1] = both;
    f->dx[4] = At(both, 1);
}

// ---------------------------------------- SparseAddGrad

// grad[i] = dy[j] where row i of `part` is row j of `sum`, else zero: the threshold may have kept it out of the sum.
// Both are in order, so one merge pass finds all.
static void take_rows(const Tensor *part, const Tensor *sum, const Tensor *dy, const Tensor *grad) {
    int64_t rank = part->shape.dims[1], n = part->shape.dims[0], all = sum->shape.dims[0], j = 0;
    size_t size = dtype_size(dy->dtype);
    const int64_t *rows = part->data, *sums = sum->data;
    memset(grad->data, 0, tensor_bytes(grad));
    for (int64_t i = 0; i < n; i++) {
        while (j < all && coo_compare(sums + j * rank, rows + i * rank, rank) < 0)
            j++;
        if (j < all && coo_compare(sums + j * rank, rows + i * rank, rank) == 0)
            memcpy((char *)grad->data + (size_t)i * size, (const char *)dy->data + (size_t)j * size, size);
    }
}

static Status *add_grad_run(Kernel *k) {
    const Tensor *a = k->in[1], *b = k->in[2], *sum = k->in[3];
    NEED(a->shape.dims[1] == b->shape.dims[1] && b->shape.dims[1] == sum->shape.dims[1], INVALID_ARGUMENT,
         "The densified operands should have the same ndims; got %s, %s and %s", shape_text(&a->shape),
         shape_text(&b->shape), shape_text(&sum->shape));
    NEED(tensor_count(k->in[0]) == sum->shape.dims[0], INVALID_ARGUMENT,
         "# elements in backprop_val_grad and # rows in sum_indices should match (#nnz of sum): got %lld and %lld",
         (long long)tensor_count(k->in[0]), (long long)sum->shape.dims[0]);
    take_rows(a, sum, k->in[0], k->out[0]);
    take_rows(b, sum, k->in[0], k->out[1]);
    return OK;
}

static Status *add_grad_shape(Shapes *s) {
    for (int i = 0; i < 2; i++)
        s->out[i] = SHAPE(s->in[i + 1].rank == 2 ? s->in[i + 1].dims[0] : UNKNOWN_DIM);
    return OK;
}

static const ElementwiseOp *const with_add = &elementwise_Add;
static const ElementwiseOp *const with_maximum = &elementwise_Maximum;
static const ElementwiseOp *const with_minimum = &elementwise_Minimum;
#define COMBINING .shape = add_shape, .prepare = combine_prepare, .own_size = sizeof(ElementwiseLoop)
const Op op_SparseAdd = {
    .signature = "SparseAdd(a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, "
                 "b_shape: int64, thresh: Treal) -> sum_indices: int64, sum_values: T, sum_shape: int64; T: numbers; "
                 "Treal: reals",
    .doc = "The sum of two sparse tensors, without elements below a threshold.", .needs = "scalar(thresh)", COMBINING,
    .grad = add_grad, .cpu = ANY_TYPE(add_run), .flags = OP_DYNAMIC_SHAPE, .row = &with_add,
};
const Op op_SparseSparseMaximum = {
    .signature = "SparseSparseMaximum(a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, "
                 "b_shape: int64) -> output_indices: int64, output_values: T; T: reals",
    .doc = "The larger of each pair of elements of two sparse tensors; what is not there is zero.", COMBINING,
    .cpu = ANY_TYPE(extreme_run), .flags = OP_DYNAMIC_SHAPE, .row = &with_maximum,
};
const Op op_SparseSparseMinimum = {
    .signature = "SparseSparseMinimum(a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, "
                 "b_shape: int64) -> output_indices: int64, output_values: T; T: numbers",
    .doc = "The smaller of each pair of elements of two sparse tensors; what is not there is zero.", COMBINING,
    .cpu = ANY_TYPE(extreme_run), .flags = OP_DYNAMIC_SHAPE, .row = &with_minimum,
};
const Op op_SparseAddGrad = {
    .signature = "SparseAddGrad(backprop_val_grad: T, a_indices: int64, b_indices: int64, sum_indices: int64) -> "
                 "a_val_grad: T, b_val_grad: T; T: numbers",
    .doc = "The gradient of SparseAdd: of a sum's elements, those that belong to each summand.",
    .needs = "vector(backprop_val_grad), matrix(a_indices), matrix(b_indices), matrix(sum_indices)",
    .shape = add_grad_shape, .cpu = ANY_TYPE(add_grad_run), .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- sparse with dense

static Status *dense_add_run(Kernel *k) {
    const ElementwiseLoop *loop = k->own;
    const Tensor *indices = k->in[0], *dims = k->in[2], *b = k->in[3], *out = k->out[0];
    int64_t n = indices->shape.dims[0], rank = indices->shape.dims[1];
    NEED(rank == tensor_count(dims) && rank == b->shape.rank, INVALID_ARGUMENT,
         "Two operands should have the same ndims; got %lld and %d", (long long)tensor_count(dims), b->shape.rank);
    for (int d = 0; d < rank; d++)
        NEED(tensor_int(dims, d) == b->shape.dims[d], INVALID_ARGUMENT,
             "Dimension %d does not equal (no broadcasting is supported): sparse side %lld vs dense side %lld", d,
             (long long)tensor_int(dims, d), (long long)b->shape.dims[d]);
    if (out->data != b->data)
        memcpy(out->data, b->data, tensor_bytes(out));
    for (int64_t i = 0; i < n; i++) {
        int64_t place = 0;
        for (int d = 0; d < rank; d++) {
            int64_t at = tensor_int(indices, i * rank + d);
            NEED(at >= 0 && at < b->shape.dims[d], INVALID_ARGUMENT,
                 "Sparse tensor has an invalid index on dimension %d: indices[%lld] = %lld", d, (long long)i,
                 (long long)at);
            place = place * b->shape.dims[d] + at;
        }
        char *to = (char *)out->data + place * loop->in_size;
        elementwise_run(loop, to, (const char *)k->in[1]->data + i * loop->in_size, to, 1, 1, 1);
    }
    return OK;
}

static Status *dense_add_shape(Shapes *s) {
    s->out[0] = s->in[3];
    return OK;
}

static void dense_add_grad(Formula *f) {
    f->dx[1] = GatherNd(f->dy[0], f->x[0]);
    f->dx[3] = f->dy[0];
}

const Op op_SparseTensorDenseAdd = {
    .signature = "SparseTensorDenseAdd(a_indices: Tindices, a_values: T, a_shape: Tindices, b: T) -> output: T; "
                 "T: numbers; Tindices: {int32, int64}",
    .doc = "The sum of a sparse and a dense tensor of one shape.",
    .needs = "matrix(a_indices), vector(a_values), vector(a_shape), dim(a_indices, 0) == dim(a_values, 0)",
    .shape = dense_add_shape, .prepare = combine_prepare, .own_size = sizeof(ElementwiseLoop), .grad = dense_add_grad,
    .cpu = ANY_TYPE(dense_add_run), .inplace = BIT(3), .row = &with_add,
};

// The dense elements that stand where the sparse ones do, the dense tensor being broadcast.
static Status *partners_run(Kernel *k) {
    const Tensor *dense = k->in[3];
    Coo a;
    TRY(coo_get(k, 0, &a));
    int64_t first = a.rank - dense->shape.rank;
    bool fits = first >= 0;
    for (int64_t d = 0; d < dense->shape.rank && fits; d++)
        fits = dense->shape.dims[d] == 1 || dense->shape.dims[d] == a.dims[first + d];
    NEED(fits, INVALID_ARGUMENT, "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: "
         "a sparse one of %lld dimensions vs. %s", (long long)a.rank, shape_text(&dense->shape));
    Status *wrong = coo_check(&a);
    if (wrong) {
        status_free(wrong);
        FAIL(INVALID_ARGUMENT, "Provided indices are out-of-bounds w.r.t. dense side with broadcasted shape");
    }
    for (int64_t i = 0; i < a.n; i++) {
        int64_t place = 0;
        for (int64_t d = 0; d < dense->shape.rank; d++) {
            int64_t extent = dense->shape.dims[d];
            place = place * extent + (extent == 1 ? 0 : a.indices[i * a.rank + first + d]);
        }
        TRY(element_copy(dense, place, k->out[0], i));
    }
    return OK;
}

static Status *partners_shape(Shapes *s) {
    s->out[0] = SHAPE(s->in[0].rank == 2 ? s->in[0].dims[0] : UNKNOWN_DIM);
    return OK;
}

// Each dense element sums the gradients of the sparse ones that it was broadcast to. An index in a dimension of extent
// 1 is brought to 0 by the minimum with extent - 1; in the others it changes nothing.
static void partners_grad(Formula *f) {
    Output shape = ShapeOf64(f->x[3]);
    Output skipped = Sub(SizeOf(f->x[2]), Rank(f->x[3]));
    Output begin = Pack(((Output[]){Int(0), skipped}), 2, 0);
    Output places = Minimum(Slice(f->x[0], begin, Ints(-1, -1)), Sub(shape, Int64(1)));
    f->dx[3] = ScatterNd(places, f->dy[0], shape);
}

const Op op__SparseDensePartners = {
    .signature = "_SparseDensePartners(sp_indices: int64, sp_values: T, sp_shape: int64, dense: T) -> output: T; "
                 "T: numbers",
    .doc = "The elements of a dense tensor, broadcast, that stand where those of a sparse one do.",
    .shape = partners_shape, .grad = partners_grad, .cpu = ANY_TYPE(partners_run),
};

static void with_partners(Formula *f, const char *op) {
    Output partners = Op("_SparseDensePartners", f->x[0], f->x[1], f->x[2], f->x[3]);
    f->results[0] = formula_2(f, op, f->x[1], partners);
}

static void cwise_mul(Formula *f) {
    with_partners(f, "Mul");
}

static void cwise_div(Formula *f) {
    with_partners(f, dtype_is_integer(output_type(f->x[1])) ? "Div" : "RealDiv");
}

static void cwise_add(Formula *f) {
    with_partners(f, "AddV2");
}

#define CWISE(Name, name, text)                                                                               \
    const Op op_SparseDenseCwise##Name = {                                                                    \
        .signature = "SparseDenseCwise" #Name "(sp_indices: int64, sp_values: T, sp_shape: int64, dense: T) " \
                     "-> output: T; T: numbers",                                                              \
        .doc = text, .shape = partners_shape, .expand = name,                                                 \
    };
CWISE(Mul, cwise_mul, "Each element of a sparse tensor times that of a dense one, broadcast.")
CWISE(Div, cwise_div, "Each element of a sparse tensor over that of a dense one, broadcast.")
CWISE(Add, cwise_add, "Each element of a sparse tensor plus that of a dense one, broadcast; zeros stay away.")
