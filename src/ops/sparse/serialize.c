// SerializeSparse, SerializeManySparse, DeserializeSparse, DeserializeManySparse — sparse tensors as three elements of one
// tensor: indices, values and shape, each as a serialized TensorProto or as a variant that holds it.
#include "ops/sparse/coo.h"
#include "proto/tensor_proto.h"
#include "tensor/held.h"

// ---------------------------------------- one of the three

// Element i of `out` becomes the tensor, which is taken over, also on failure.
static Status *put(const Tensor *out, int64_t i, Tensor tensor) {
    if (out->dtype == DT_variant) {
        Object *held;
        TRY(held_new(tensor, &held));
        Object **at = (Object **)out->data + i;
        object_release(*at);
        *at = held;
        return OK;
    }
    AUTO(text) Text bytes = {0};
    Status *status = tensor_serialize_content(&tensor, &bytes);
    tensor_clear(&tensor);
    TRY(status);
    NEED_MEMORY(tstring_assign((TString *)out->data + i, text_str(&bytes)));
    return OK;
}

static Status *get(const Tensor *in, int64_t i, DType dtype, const char *what, Tensor *out) {
    if (in->dtype == DT_variant) {
        const Tensor *held;
        TRY(held_get(in, i, &held));
        *out = tensor_retain(held);
    } else {
        Status *status = tensor_parse(tstring_str((const TString *)in->data + i), out);
        if (status)
            return status_prefix(status, "Could not parse serialized_sparse[%lld, %lld]", (long long)(i / 3),
                                 (long long)(i % 3));
    }
    DType found = out->dtype;
    if (found != dtype)
        tensor_clear(out);
    NEED(found == dtype, INVALID_ARGUMENT, "Requested SparseTensor of type %s but SparseTensor[%lld].%s.dtype() == %s",
         dtype_name(dtype), (long long)(i / 3), what, dtype_name(found));
    return OK;
}

// ---------------------------------------- to elements

static Status *serialize_shape(Shapes *s) {
    s->out[0] = SHAPE(3);
    return OK;
}
static Status *serialize_many_shape(Shapes *s) {
    s->out[0] = SHAPE(UNKNOWN_DIM, 3);
    return OK;
}

static Status *serialize_run(Kernel *k) {
    Coo a;
    TRY(coo_get(k, 0, &a));
    for (int i = 0; i < 3; i++) {
        Tensor tensor;
        TRY(kernel_keep(k, i, &tensor));
        TRY(put(k->out[0], i, tensor));
    }
    return OK;
}

// Rows [from, to) without their first column, as the sparse tensor `at`.
static Status *put_rows(Kernel *k, const Coo *a, int64_t from, int64_t to, int64_t at) {
    int64_t rank = a->rank - 1;
    Tensor indices, values, dims;
    TRY(tensor_new(DT_int64, SHAPE(to - from, rank), &indices));
    for (int64_t i = from; i < to; i++)
        memcpy((int64_t *)indices.data + (i - from) * rank, a->indices + i * a->rank + 1, (size_t)rank * sizeof(int64_t));
    TRY(put(k->out[0], 3 * at, indices));
    TRY(tensor_new(a->values->dtype, SHAPE(to - from), &values));
    Status *status = OK;
    for (int64_t i = from; i < to && !status; i++)
        status = element_copy(a->values, i, &values, i - from);
    if (status)
        tensor_clear(&values);
    TRY(status);
    TRY(put(k->out[0], 3 * at + 1, values));
    TRY(tensor_new(DT_int64, SHAPE(rank), &dims));
    memcpy(dims.data, a->dims + 1, (size_t)rank * sizeof(int64_t));
    return put(k->out[0], 3 * at + 2, dims);
}

static Status *serialize_many_run(Kernel *k) {
    Coo a;
    TRY(coo_get(k, 0, &a));
    NEED(a.rank > 1, INVALID_ARGUMENT, "Rank of input SparseTensor should be > 1, but saw rank: %lld", (long long)a.rank);
    int64_t n = a.dims[0], from = 0;
    NEED(n >= 0, INVALID_ARGUMENT, "the minibatch has %lld examples", (long long)n);
    Shape shape = SHAPE(n, 3);
    TRY(shape_check(&shape));
    TRY(kernel_output(k, 0, shape));
    for (int64_t at = 0; at < n; at++) {
        int64_t to = from;
        while (to < a.n && a.indices[to * a.rank] == at)
            to++;
        TRY(put_rows(k, &a, from, to, at));
        from = to;
    }
    NEED(from == a.n, INVALID_ARGUMENT, "Received unexpected column 0 value in input SparseTensor: %lld is not in [0, %lld), "
         "or out of order", (long long)a.indices[min_i64(from, max_i64(a.n - 1, 0)) * a.rank], (long long)n);
    return OK;
}

// ---------------------------------------- and back

static Status *deserialize_shape(Shapes *s) {
    const Shape *in = &s->in[0];
    NEED(in->rank < 0 || (in->rank >= 1 && (in->dims[in->rank - 1] < 0 || in->dims[in->rank - 1] == 3)), INVALID_ARGUMENT,
         "Serialized sparse should have 3 as the last dimension, got %s", shape_text(in));
    s->out[0] = SHAPE(UNKNOWN_DIM, UNKNOWN_DIM);
    s->out[1] = s->out[2] = SHAPE(UNKNOWN_DIM);
    return OK;
}

// What came: `n` sparse tensors of one rank.
typedef struct {
    Tensor *parts;       // three for each
    int64_t n, rank, total;
} Many;

static void many_clear(Many *many) {
    for (int64_t i = 0; i < 3 * many->n; i++)
        tensor_clear(&many->parts[i]);
    free(many->parts);
}

static Status *check(Many *many, int64_t i) {
    const Tensor *part = many->parts + 3 * i;
    NEED(part[0].shape.rank == 2 && part[1].shape.rank == 1 && part[2].shape.rank == 1 &&
         part[0].shape.dims[0] == part[1].shape.dims[0] && part[0].shape.dims[1] == part[2].shape.dims[0],
         INVALID_ARGUMENT, "serialized_sparse[%lld] is not a sparse tensor: indices %s, values %s, shape %s", (long long)i,
         shape_text(&part[0].shape), shape_text(&part[1].shape), shape_text(&part[2].shape));
    int64_t rank = part[2].shape.dims[0];
    NEED(i == 0 || rank == many->rank, INVALID_ARGUMENT,
         "Inconsistent rank across SparseTensors: rank prior to SparseTensor[%lld] was: %lld but rank of SparseTensor[%lld] "
         "is: %lld", (long long)i, (long long)many->rank, (long long)i, (long long)rank);
    many->rank = rank;
    many->total += part[1].shape.dims[0];
    return OK;
}

static Status *read_all(const Kernel *k, DType dtype, Many *many) {
    static const char *const names[] = {"indices", "values", "shape"};
    for (int64_t i = 0; i < many->n; i++) {
        for (int j = 0; j < 3; j++)
            TRY(get(k->in[0], 3 * i + j, j == 1 ? dtype : DT_int64, names[j], &many->parts[3 * i + j]));
        TRY(check(many, i));
    }
    return OK;
}

// One sparse tensor, with the places in `outer` in front of each index.
static Status *join(Kernel *k, const Many *many, const Shape *outer) {
    int64_t rank = outer->rank + many->rank, row = 0;
    TRY(kernel_output(k, 0, SHAPE(many->total, rank)));
    TRY(kernel_output(k, 1, SHAPE(many->total)));
    TRY(kernel_output(k, 2, SHAPE(rank)));
    int64_t *to = k->out[0]->data, *dims = k->out[2]->data;
    for (int64_t d = 0; d < rank; d++)
        dims[d] = d < outer->rank ? outer->dims[d] : 0;
    for (int64_t i = 0; i < many->n; i++) {
        const Tensor *part = many->parts + 3 * i;
        const int64_t *indices = part[0].data, *extents = part[2].data;
        for (int64_t d = 0; d < many->rank; d++)
            dims[outer->rank + d] = max_i64(dims[outer->rank + d], extents[d]);
        for (int64_t e = 0; e < part[1].shape.dims[0]; e++, row++, to += rank) {
            int64_t rest = i;
            for (int d = outer->rank - 1; d >= 0; d--) {
                to[d] = rest % max_i64(outer->dims[d], 1);
                rest /= max_i64(outer->dims[d], 1);
            }
            memcpy(to + outer->rank, indices + e * many->rank, (size_t)many->rank * sizeof *to);
            TRY(element_copy(&part[1], e, k->out[1], row));
        }
    }
    return OK;
}

static Status *deserialize_run(Kernel *k) {
    Shape outer = k->in[0]->shape;
    NEED(outer.rank >= 1 && outer.dims[outer.rank - 1] == 3, INVALID_ARGUMENT,
         "Serialized sparse should have 3 as the last dimension but has shape %s", shape_text(&outer));
    outer.dims[--outer.rank] = 0;
    Many many = {.n = shape_count(&outer)};
    NEED(many.n > 0, INVALID_ARGUMENT, "Serialized sparse should have non-zero number of elements, got shape %s",
         shape_text(&k->in[0]->shape));
    many.parts = calloc(3 * (size_t)many.n, sizeof *many.parts);
    NEED_MEMORY(many.parts);
    Status *status = read_all(k, k->node->output_types[1], &many);
    if (!status)
        status = join(k, &many, &outer);
    many_clear(&many);
    return status;
}

#define PARTS "(sparse_indices: int64, sparse_values: T, sparse_shape: int64) -> serialized_sparse: out_type; T: type; " \
    "out_type: {string, variant} = string"
#define WHOLE " -> sparse_indices: int64, sparse_values: dtype, sparse_shape: int64; dtype: type"
#define THREE_PARTS .needs = "matrix(sparse_indices), vector(sparse_values), vector(sparse_shape)"

const Op op_SerializeSparse = {
    .signature = "SerializeSparse" PARTS, .doc = "A sparse tensor as three elements.", THREE_PARTS,
    .shape = serialize_shape, .cpu = ANY_TYPE(serialize_run), .keeps = BIT(0) | BIT(1) | BIT(2), .flags = OP_NO_GRADIENT,
};
const Op op_SerializeManySparse = {
    .signature = "SerializeManySparse" PARTS, .doc = "Each row of a sparse tensor as three elements.", THREE_PARTS,
    .shape = serialize_many_shape, .cpu = ANY_TYPE(serialize_many_run), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
const Op op_DeserializeSparse = {
    .signature = "DeserializeSparse(serialized_sparse: Tserialized)" WHOLE "; Tserialized: {string, variant} = string",
    .doc = "The sparse tensor whose rows are those serialized.", .shape = deserialize_shape,
    .cpu = ANY_TYPE(deserialize_run), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
const Op op_DeserializeManySparse = {
    .signature = "DeserializeManySparse(serialized_sparse: string)" WHOLE,
    .doc = "The sparse tensor whose rows are those serialized.", .needs = "matrix(serialized_sparse)",
    .shape = deserialize_shape, .cpu = ANY_TYPE(deserialize_run), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
