// SparseReduceSum, SparseReduceMax (and with sparse results), SparseSoftmax — over groups of a sparse tensor's elements.
#include "ops/sparse/coo.h"

#include <stdlib.h>

typedef struct {
    const ElementwiseOp *op;
    bool sparse;             // the result is
} ReduceRow;

typedef struct {
    ElementwiseLoop loop;
    bool keep, sparse;
} ReduceOwn;

static Status *reduce_prepare(Prepare *p) {
    const ReduceRow *row = node_op(p->node)->row;
    ReduceOwn *own = p->own;
    own->keep = node_bool(p->node, "keep_dims");
    own->sparse = row->sparse;
    NEED(elementwise_find(row->op, p->in[1]->dtype, &own->loop), UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(p->in[1]->dtype));
    return OK;
}

// The dimensions that stay, and the shape of the result; elements are grouped by the former.
typedef struct {
    int64_t kept[MAX_RANK], n;
    int64_t dims[MAX_RANK], rank;
    bool at[MAX_RANK];       // dimension d stays
} Groups;

static Status *groups_find(const Coo *a, const Tensor *axes, bool keep, Groups *out) {
    uint32_t reduced = 0;
    NEED(a->rank <= MAX_RANK, INVALID_ARGUMENT, "a shape has at most %d dimensions", MAX_RANK);
    NEED(axes->shape.rank <= 1, INVALID_ARGUMENT, "reduction_axes must be a scalar or a vector, got %s",
         shape_text(&axes->shape));
    *out = (Groups){.n = 0};
    for (int64_t i = 0; i < tensor_count(axes); i++) {
        int64_t axis = tensor_int(axes, i);
        NEED(axis >= -a->rank && axis < a->rank, INVALID_ARGUMENT,
             "Invalid reduction dimension %lld, for input with %lld dimensions.", (long long)axis, (long long)a->rank);
        reduced |= BIT(axis < 0 ? axis + a->rank : axis);
    }
    for (int d = 0; d < a->rank; d++) {
        out->at[d] = !(reduced & BIT(d));
        if (out->at[d])
            out->kept[out->n++] = d;
        if (out->at[d] || keep)
            out->dims[out->rank++] = out->at[d] ? a->dims[d] : 1;
    }
    return OK;
}

// The columns that stay of every row, to sort and compare them by.
static Status *group_keys(const Coo *a, const Groups *groups, Arena *arena, int64_t **keys, int64_t **order) {
    *keys = ARENA_ARRAY(arena, int64_t, a->n * groups->n + 1);
    *order = ARENA_ARRAY(arena, int64_t, a->n + 1);
    NEED_MEMORY(*keys && *order);
    for (int64_t i = 0; i < a->n; i++)
        for (int64_t j = 0; j < groups->n; j++)
            (*keys)[i * groups->n + j] = a->indices[i * a->rank + groups->kept[j]];
    return coo_sort(*keys, a->n, groups->n, groups->n, *order);
}

// Folds the group that begins at place `i` of the order into `to`; where the next begins. Equal keys are neighbours
// after the sort, which is stable, so sums are taken in the order of the elements, as they were given.
static int64_t fold(const Coo *a, const Groups *groups, const int64_t *keys, const int64_t *order,
                    const ElementwiseLoop *loop, int64_t i, char *to) {
    const char *values = a->values->data;
    const int64_t *key = keys + order[i] * groups->n;
    memcpy(to, values + order[i] * loop->in_size, loop->in_size);
    for (i++; i < a->n && coo_compare(keys + order[i] * groups->n, key, groups->n) == 0; i++)
        elementwise_run(loop, to, values + order[i] * loop->in_size, to, 1, 1, 1);
    return i;
}

static Status *reduce_dense(Kernel *k, const Coo *a, const Groups *groups, const int64_t *keys, const int64_t *order) {
    const ReduceOwn *own = k->own;
    Shape shape;
    TRY(shape_make(groups->dims, groups->rank, &shape));
    TRY(kernel_output(k, 0, shape));
    memset(k->out[0]->data, 0, tensor_bytes(k->out[0]));
    for (int64_t i = 0; i < a->n;) {
        const int64_t *key = keys + order[i] * groups->n;
        int64_t place = 0;
        for (int64_t j = 0; j < groups->n; j++)
            place = place * a->dims[groups->kept[j]] + key[j];
        i = fold(a, groups, keys, order, &own->loop, i, (char *)k->out[0]->data + place * own->loop.in_size);
    }
    return OK;
}

static Status *reduce_sparse(Kernel *k, const Coo *a, const Groups *groups, const int64_t *keys, const int64_t *order) {
    const ReduceOwn *own = k->own;
    int64_t n = 0, at = 0;
    for (int64_t i = 0; i < a->n; i++)
        n += i == 0 || coo_compare(keys + order[i - 1] * groups->n, keys + order[i] * groups->n, groups->n) != 0;
    TRY(coo_output(k, n, groups->rank, groups->dims));
    int64_t *indices = k->out[0]->data;
    for (int64_t i = 0; i < a->n; at++) {
        const int64_t *key = keys + order[i] * groups->n;
        for (int d = 0, column = 0; d < a->rank; d++)
            if (groups->at[d] || own->keep)
                indices[at * groups->rank + column++] = groups->at[d] ? *key++ : 0;
        i = fold(a, groups, keys, order, &own->loop, i, (char *)k->out[1]->data + at * own->loop.in_size);
    }
    return OK;
}

static Status *reduce_run(Kernel *k) {
    const ReduceOwn *own = k->own;
    Coo a;
    Groups groups;
    int64_t *keys, *order;
    AUTO(arena) Arena arena = {0};
    TRY(coo_get(k, 0, &a));
    TRY(groups_find(&a, k->in[3], own->keep, &groups));
    TRY(coo_check(&a));
    TRY(group_keys(&a, &groups, &arena, &keys, &order));
    return own->sparse ? reduce_sparse(k, &a, &groups, keys, order) : reduce_dense(k, &a, &groups, keys, order);
}

static Status *sparse_result_shape(Shapes *s) {
    s->out[0] = SHAPE(UNKNOWN_DIM, UNKNOWN_DIM);
    s->out[1] = s->out[2] = SHAPE(UNKNOWN_DIM);
    return OK;
}

static Status *dense_result_shape(Shapes *s) {
    s->out[0] = UNKNOWN_SHAPE;
    return OK;
}

// The gradient of its sum for each element. With axes kept, its place in the result has zeros at those reduced.
static void reduce_sum_grad(Formula *f) {
    Output indices = f->x[0], shape = f->x[2], rank = SizeOf(shape);
    Output axes = Reshape(FloorMod(Add(f->x[3], rank), rank), Ints(-1));
    Output ones = Op("ZerosLike", axes);
    Output kept = Op("TensorScatterUpdate", shape, ExpandDims(axes, Int(1)), Cast(Add(ones, Int(1)), DT_int64));
    f->dx[1] = GatherNd(Reshape(f->dy[0], kept), Minimum(indices, Sub(kept, Int64(1))));
}

static const ReduceRow sum_dense = {&elementwise_Add, false}, sum_sparse = {&elementwise_Add, true};
static const ReduceRow max_dense = {&elementwise_Maximum, false}, max_sparse = {&elementwise_Maximum, true};
#define REDUCE(Name, results, types, shape_of, of, text, ...)                                                     \
    const Op op_SparseReduce##Name = {                                                                            \
        .signature = "SparseReduce" #Name "(input_indices: int64, input_values: T, input_shape: int64, "          \
                     "reduction_axes: int32) -> " results "; keep_dims: bool = false; T: " types,                 \
        .doc = text, .shape = shape_of, .prepare = reduce_prepare, .own_size = sizeof(ReduceOwn),                 \
        .cpu = ANY_TYPE(reduce_run), .row = &(of), __VA_ARGS__                                                    \
    };
#define TO_SPARSE "output_indices: int64, output_values: T, output_shape: int64"
REDUCE(Sum, "output: T", "numbers", dense_result_shape, sum_dense, "Sums of a sparse tensor's elements over axes.",
       .grad = reduce_sum_grad, .flags = OP_DYNAMIC_SHAPE)
REDUCE(SumSparse, TO_SPARSE, "numbers", sparse_result_shape, sum_sparse,
       "Sums of a sparse tensor's elements over axes, as a sparse tensor.", .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT)
REDUCE(Max, "output: T", "reals", dense_result_shape, max_dense,
       "Largest of a sparse tensor's elements over axes; zero where there is none.", .flags = OP_DYNAMIC_SHAPE)
REDUCE(MaxSparse, TO_SPARSE, "reals", sparse_result_shape, max_sparse,
       "Largest of a sparse tensor's elements over axes, as a sparse tensor.", .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT)

// ---------------------------------------- SparseSoftmax

static double load(const Tensor *t, int64_t i) {
    switch (t->dtype) {
    case DT_half: return (double)half_to_float(((const Half *)t->data)[i]);
    case DT_float: return (double)((const float *)t->data)[i];
    default: return ((const double *)t->data)[i];
    }
}

static void store(const Tensor *t, int64_t i, double value) {
    switch (t->dtype) {
    case DT_half: ((Half *)t->data)[i] = half_from_float((float)value); break;
    case DT_float: ((float *)t->data)[i] = (float)value; break;
    default: ((double *)t->data)[i] = value; break;
    }
}

static Status *softmax_run(Kernel *k) {
    Coo a;
    TRY(coo_get(k, 0, &a));
    NEED(a.rank >= 2, INVALID_ARGUMENT, "Input should have rank >= 2, but received shape of %lld extents",
         (long long)a.rank);
    TRY(coo_check(&a));
    for (int64_t first = 0, last; first < a.n; first = last) {
        double most = load(a.values, first), sum = 0;
        for (last = first + 1; last < a.n && coo_compare(a.indices + first * a.rank, a.indices + last * a.rank,
                                                         a.rank - 1) == 0; last++)
            most = fmax(most, load(a.values, last));
        for (int64_t i = first; i < last; i++)
            sum += exp(load(a.values, i) - most);
        for (int64_t i = first; i < last; i++)
            store(k->out[0], i, exp(load(a.values, i) - most) / sum);
    }
    return OK;
}

static Status *softmax_shape(Shapes *s) {
    s->out[0] = s->in[1];
    return OK;
}

static void softmax_grad(Formula *f) {  // (dy - sum(dy y)) y
    Output product = Mul(f->dy[0], f->y[0]);
    Output sums = OpWith("SparseReduceSum", ATTRS(BOOL_ATTR("keep_dims", true)), f->x[0], product, f->x[2], Int(-1));
    f->dx[1] = Mul(Op("SparseDenseCwiseAdd", f->x[0], f->dy[0], f->x[2], Neg(sums)), f->y[0]);
}

const Op op_SparseSoftmax = {
    .signature = "SparseSoftmax(sp_indices: int64, sp_values: T, sp_shape: int64) -> output: T; T: {half, float, double}",
    .doc = "The softmax of each row's elements of a sparse tensor; what is not there counts as minus infinity.",
    .needs = "matrix(sp_indices), vector(sp_values), vector(sp_shape)", .shape = softmax_shape, .grad = softmax_grad,
    .cpu = ANY_TYPE(softmax_run),
};
