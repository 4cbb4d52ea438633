// RaggedTensorToVariant, RaggedTensorFromVariant, RaggedTensorToVariantGradient — ragged tensors, whole or row by row, as
// elements of a variant tensor.
#include "ops/array/moving.h"

typedef struct {
    Object object;
    Tensor *splits;      // of each ragged dimension, from the outermost
    int n;
    Tensor values;
} RaggedVariant;

static void ragged_free(Object *object) {
    RaggedVariant *ragged = (RaggedVariant *)object;
    for (int i = 0; i < ragged->n; i++)
        tensor_clear(&ragged->splits[i]);
    tensor_clear(&ragged->values);
    free(ragged->splits);
    free(ragged);
}

static const ObjectType ragged_type = {.name = "RaggedTensorVariant", .free = ragged_free};

// One reference; `n` splits to be filled.
static Status *ragged_new(int n, RaggedVariant **out) {
    RaggedVariant *ragged = calloc(1, sizeof *ragged);
    NEED_MEMORY(ragged);
    object_init(&ragged->object, &ragged_type);
    ragged->splits = calloc((size_t)n + 1, sizeof *ragged->splits);
    if (!ragged->splits) {
        free(ragged);
        return OUT_OF_MEMORY;
    }
    ragged->n = n;
    *out = ragged;
    return OK;
}

static void put_ragged(const Tensor *out, int64_t i, RaggedVariant *ragged) {
    Object **at = (Object **)out->data + i;
    object_release(*at);
    *at = &ragged->object;
}

static void put_split(const Tensor *splits, int64_t i, int64_t value) {
    if (splits->dtype == DT_int32)
        ((int32_t *)splits->data)[i] = (int32_t)value;
    else
        ((int64_t *)splits->data)[i] = value;
}

// Rows [first, last) of the values, in a buffer of their own.
static Status *rows_of(const Tensor *values, int64_t first, int64_t last, Tensor *out) {
    Tensor part = *values;
    size_t row = (size_t)shape_span(&values->shape, 1, values->shape.rank) * dtype_size(values->dtype);
    part.data = (char *)values->data + (size_t)first * row;
    part.buffer = NULL;
    part.shape.dims[0] = last - first;
    return tensor_copy(&part, out);
}

// ---------------------------------------- to variants

static Status *check_splits(const Kernel *k, int n) {
    for (int i = 0; i < n; i++) {
        const Tensor *splits = k->in[i];
        int64_t count = tensor_count(splits);
        int64_t rows = i + 1 < n ? tensor_count(k->in[i + 1]) - 1 : k->in[n]->shape.rank ? k->in[n]->shape.dims[0] : 0;
        NEED(splits->shape.rank == 1 && count >= 1, INVALID_ARGUMENT, "Invalid partition: row splits %d are %s", i,
             shape_text(&splits->shape));
        NEED(tensor_int(splits, 0) == 0, INVALID_ARGUMENT, "Invalid partition: first value of splits must be 0");
        for (int64_t j = 1; j < count; j++)
            NEED(tensor_int(splits, j) >= tensor_int(splits, j - 1), INVALID_ARGUMENT, "Invalid partition: row splits must ascend");
        NEED(tensor_int(splits, count - 1) == rows, INVALID_ARGUMENT,
             "Invalid partition: splits %d end with %lld, there are %lld rows", i, (long long)tensor_int(splits, count - 1),
             (long long)rows);
    }
    return OK;
}

// Row `row` of the whole: the splits within it begin at 0 again.
static Status *one_row(Kernel *k, int n, int64_t first, int64_t last, RaggedVariant *ragged) {
    for (int i = 1; i < n; i++) {
        const Tensor *splits = k->in[i];
        int64_t base = tensor_int(splits, first);
        TRY(tensor_new(splits->dtype, SHAPE(last - first + 1), &ragged->splits[i - 1]));
        for (int64_t j = first; j <= last; j++)
            put_split(&ragged->splits[i - 1], j - first, tensor_int(splits, j) - base);
        last = tensor_int(splits, last);
        first = base;
    }
    return rows_of(k->in[n], first, last, &ragged->values);
}

static Status *whole(Kernel *k, int n) {
    RaggedVariant *ragged;
    TRY(ragged_new(n, &ragged));
    put_ragged(k->out[0], 0, ragged);
    for (int i = 0; i < n; i++)
        TRY(kernel_keep(k, i, &ragged->splits[i]));
    return kernel_keep(k, n, &ragged->values);
}

static Status *to_run(Kernel *k) {
    int n = k->n_in - 1;
    const Tensor *values = k->in[n];
    TRY(check_splits(k, n));
    if (!node_bool(k->node, "batched_input")) {
        TRY(kernel_output(k, 0, SCALAR_SHAPE));
        return whole(k, n);
    }
    int64_t rows = n ? tensor_count(k->in[0]) - 1 : values->shape.rank ? values->shape.dims[0] : -1;
    NEED(rows >= 0, INVALID_ARGUMENT, "values must have a dimension at least where the input is batched");
    TRY(kernel_output(k, 0, SHAPE(rows)));
    for (int64_t i = 0; i < rows; i++) {
        RaggedVariant *ragged;
        TRY(ragged_new(n ? n - 1 : 0, &ragged));
        put_ragged(k->out[0], i, ragged);
        TRY(one_row(k, n, n ? tensor_int(k->in[0], i) : i, n ? tensor_int(k->in[0], i + 1) : i + 1, ragged));
        if (!n) {  // a row of a dense tensor has a dimension less
            ragged->values.shape.rank--;
            memmove(ragged->values.shape.dims, ragged->values.shape.dims + 1,
                    (size_t)ragged->values.shape.rank * sizeof(int64_t));
        }
    }
    return OK;
}

static Status *to_shape(Shapes *s) {
    bool batched = node_bool(s->node, "batched_input");
    int n = s->n_in - 1;
    for (int i = 0; i < n; i++)
        NEED(s->in[i].rank < 0 || s->in[i].rank == 1, INVALID_ARGUMENT, "Shape must be rank 1 but is rank %d", s->in[i].rank);
    NEED(!batched || s->in[n].rank != 0, INVALID_ARGUMENT, "Shape must be at least rank 1 but is rank 0");
    int64_t rows = UNKNOWN_DIM;
    if (n && s->in[0].rank == 1 && s->in[0].dims[0] > 0)
        rows = s->in[0].dims[0] - 1;
    else if (!n && s->in[0].rank > 0)
        rows = s->in[0].dims[0];
    s->out[0] = batched ? SHAPE(rows) : SCALAR_SHAPE;
    return OK;
}

const Op op_RaggedTensorToVariant = {
    .signature = "RaggedTensorToVariant(rt_nested_splits: RAGGED_RANK * Tsplits, rt_dense_values: Tvalues) -> "
                 "encoded_ragged: variant; RAGGED_RANK: int >= 0; Tvalues: type; Tsplits: {int32, int64} = int64; "
                 "batched_input: bool",
    .doc = "A ragged tensor as a variant, or each of its rows as one.", .shape = to_shape, .keeps = BIT(0) | BIT(1),
    .cpu = ANY_TYPE(to_run), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};

// ---------------------------------------- and back

typedef struct {
    const RaggedVariant **p;
    int64_t n;
    int dims;            // of the encoded tensor: each becomes a ragged dimension
    int inner;           // ragged dimensions of each element
} Pieces;

static Status *pieces_get(Kernel *k, Arena *arena, Pieces *out) {
    const Tensor *encoded = k->in[0];
    int64_t rank = node_int(k->node, "input_ragged_rank"), all = node_int(k->node, "output_ragged_rank");
    out->dims = encoded->shape.rank;
    rank = rank < 0 ? all - out->dims : rank;
    NEED(rank >= 0, INVALID_ARGUMENT,
         "Inferred input_ragged_rank (output_ragged_rank - encoded_variant.dims()) must be >= 0, found output_ragged_rank: "
         "%lld, encoded_variant.dims(): %d, inferred input_ragged_rank: %lld", (long long)all, out->dims, (long long)rank);
    NEED(all == rank + out->dims, INVALID_ARGUMENT,
         "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); output_ragged_rank: %lld, "
         "input_ragged_rank: %lld, encoded_ragged.dims(): %d", (long long)all, (long long)rank, out->dims);
    out->inner = (int)rank;
    out->n = tensor_count(encoded);
    out->p = ARENA_ARRAY(arena, const RaggedVariant *, out->n + 1);
    NEED_MEMORY(out->p);
    DType values = node_type(k->node, "Tvalues"), splits = node_type(k->node, "Tsplits");
    for (int64_t i = 0; i < out->n; i++) {
        const Object *object = ((Object *const *)encoded->data)[i];
        NEED(object && object->type == &ragged_type, INVALID_ARGUMENT,
             "Input Variant element at index %lld doesn't hold a RaggedTensorVariant: %s", (long long)i,
             object ? object->type->name : "nothing");
        out->p[i] = (const RaggedVariant *)object;
        NEED(out->p[i]->values.dtype == values, INVALID_ARGUMENT, "Expected values Tensor dtype: %s, found: %s",
             dtype_name(values), dtype_name(out->p[i]->values.dtype));
        NEED(out->p[i]->n == rank, INVALID_ARGUMENT, "Encoded input RaggedTensorVariant has ragged_rank=%d. Expected "
             "ragged_rank=%lld.", out->p[i]->n, (long long)rank);
        for (int d = 0; d < rank; d++)
            NEED(out->p[i]->splits[d].dtype == splits, INVALID_ARGUMENT, "Expected row_splits Tensor dtype: %s, found: %s",
                 dtype_name(splits), dtype_name(out->p[i]->splits[d].dtype));
    }
    return OK;
}

// How many rows an element has: by its outermost splits, or by its values.
static int64_t rows_in(const RaggedVariant *piece) {
    return piece->n ? tensor_count(&piece->splits[0]) - 1 : piece->values.shape.rank ? piece->values.shape.dims[0] : 1;
}

// The splits that the encoded tensor's dimensions become: even ones, but for the last, which counts the rows of elements.
static Status *outer_splits(Kernel *k, const Pieces *pieces) {
    const Shape *shape = &k->in[0]->shape;
    int64_t rows = 1;
    for (int d = 0; d < pieces->dims; d++) {
        bool last = d == pieces->dims - 1;
        int64_t each = last ? 0 : shape->dims[d + 1], sum = 0;
        rows *= shape->dims[d];
        TRY(kernel_output(k, d, SHAPE(rows + 1)));
        put_split(k->out[d], 0, 0);
        for (int64_t i = 0; i < rows; i++) {
            sum += last ? rows_in(pieces->p[i]) : each;
            put_split(k->out[d], i + 1, sum);
        }
    }
    return OK;
}

static Status *inner_splits(Kernel *k, const Pieces *pieces) {
    for (int d = 0; d < pieces->inner; d++) {
        int64_t n = 1, at = 1, base = 0;
        for (int64_t i = 0; i < pieces->n; i++)
            n += tensor_count(&pieces->p[i]->splits[d]) - 1;
        const Tensor *out = k->out[pieces->dims + d];
        TRY(kernel_output(k, pieces->dims + d, SHAPE(n)));
        put_split(out, 0, 0);
        for (int64_t i = 0; i < pieces->n; i++) {
            const Tensor *from = &pieces->p[i]->splits[d];
            int64_t count = tensor_count(from);
            for (int64_t j = 1; j < count; j++)
                put_split(out, at++, base + tensor_int(from, j));
            base += tensor_int(from, count - 1);
        }
    }
    return OK;
}

static Status *joined_values(Kernel *k, const Pieces *pieces, int output) {
    Shape shape = SHAPE(0);
    for (int64_t i = 0; i < pieces->n; i++) {
        const Shape *one = &pieces->p[i]->values.shape;
        int64_t before = shape.dims[0], rows = one->rank ? one->dims[0] : 1;
        Shape wanted = *one;
        if (!one->rank)
            wanted = SHAPE(1);
        if (!i)
            shape = wanted;
        NEED(wanted.rank == shape.rank && !memcmp(wanted.dims + 1, shape.dims + 1, (size_t)(shape.rank - 1) * sizeof(int64_t)),
             INVALID_ARGUMENT, "All flat_values must have compatible shapes. Shape at index 0: %s. Shape at index %lld: %s.",
             shape_text(&pieces->p[0]->values.shape), (long long)i, shape_text(one));
        shape.dims[0] = i ? before + rows : rows;
    }
    TRY(kernel_output(k, output, shape));
    char *to = k->out[output]->data;
    for (int64_t i = 0; i < pieces->n; i++) {
        const Tensor *from = &pieces->p[i]->values;
        Tensor part = {.data = to, .dtype = from->dtype, .shape = from->shape};
        TRY(tensor_copy_elements(from, &part));
        to += (size_t)tensor_count(from) * dtype_size(from->dtype);
    }
    return OK;
}

static Status *from_run(Kernel *k) {
    AUTO(arena) Arena arena = {0};
    Pieces pieces;
    TRY(pieces_get(k, &arena, &pieces));
    TRY(outer_splits(k, &pieces));
    TRY(inner_splits(k, &pieces));
    if (pieces.dims || pieces.n != 1)
        return joined_values(k, &pieces, k->n_out - 1);
    kernel_set_output(k, k->n_out - 1, tensor_retain(&pieces.p[0]->values));
    return OK;
}

static Status *from_shape(Shapes *s) {
    int64_t rank = node_int(s->node, "input_ragged_rank"), all = node_int(s->node, "output_ragged_rank");
    NEED(rank < 0 || s->in[0].rank < 0 || all == rank + s->in[0].rank, INVALID_ARGUMENT,
         "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(): %lld, %lld and %d", (long long)all,
         (long long)rank, s->in[0].rank);
    for (int i = 0; i + 1 < s->n_out; i++)
        s->out[i] = SHAPE(UNKNOWN_DIM);
    return OK;
}

const Op op_RaggedTensorFromVariant = {
    .signature = "RaggedTensorFromVariant(encoded_ragged: variant) -> output_nested_splits: output_ragged_rank * Tsplits, "
                 "output_dense_values: Tvalues; input_ragged_rank: int >= -1; output_ragged_rank: int >= 0; Tvalues: type; "
                 "Tsplits: {int32, int64} = int64",
    .doc = "The ragged tensor that variants hold, whose dimensions become ragged ones.", .shape = from_shape,
    .cpu = ANY_TYPE(from_run), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};

// ---------------------------------------- the gradient of the values

// Gradients of rows, dense ones, into the places of the values; `splits` say which rows of values each has.
static Status *gradient_run(Kernel *k) {
    const Tensor *encoded = k->in[0], *splits = k->in[1];
    int64_t n = tensor_count(encoded), at = 0;
    Shape shape;
    TRY(tensor_to_shape(k->in[2], &shape));
    TRY(kernel_output(k, 0, shape));
    const Tensor *out = k->out[0];
    int64_t room = tensor_count(out);
    NEED(tensor_count(splits) == 0 || tensor_count(splits) == n + 1, INVALID_ARGUMENT, "%lld gradients for %lld splits",
         (long long)n, (long long)tensor_count(splits));
    for (int64_t i = 0; i < n; i++) {
        const Object *object = ((Object *const *)encoded->data)[i];
        NEED(object && object->type == &ragged_type, INVALID_ARGUMENT, "gradient %lld is no ragged tensor", (long long)i);
        const Tensor *from = &((const RaggedVariant *)object)->values;
        NEED(from->dtype == out->dtype, INVALID_ARGUMENT, "Expected values Tensor dtype: %s, found: %s",
             dtype_name(out->dtype), dtype_name(from->dtype));
        int64_t count = tensor_count(from);
        NEED(count <= room - at, INVALID_ARGUMENT, "the gradients have more elements than %s", shape_text(&shape));
        Tensor to = {.data = (char *)out->data + (size_t)at * dtype_size(out->dtype), .dtype = out->dtype, .shape = from->shape};
        TRY(tensor_copy_elements(from, &to));
        at += count;
    }
    NEED(at == room, INVALID_ARGUMENT, "the gradients have %lld elements, %s has %lld", (long long)at, shape_text(&shape),
         (long long)room);
    return OK;
}

static Status *gradient_shape(Shapes *s) {
    return shapes_input_shape(s, 2, &s->out[0]);
}

const Op op_RaggedTensorToVariantGradient = {
    .signature = "RaggedTensorToVariantGradient(encoded_ragged_grad: variant, row_splits: Tsplits, dense_values_shape: int32) "
                 "-> dense_values_grad: Tvalues; Tvalues: type; Tsplits: {int32, int64} = int64",
    .doc = "The gradient of a ragged tensor's values, of the gradients of its rows.",
    .needs = "vector(encoded_ragged_grad), vector(row_splits), vector(dense_values_shape)", .shape = gradient_shape,
    .host = BIT(2), .cpu = ANY_TYPE(gradient_run), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
