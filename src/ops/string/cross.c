// SparseCross, SparseCrossV2 — every combination of a row's features, one of each column: joined, or hashed to a
// number.
//
// Columns are sparse matrices, whose rows stand together, and matrices behind them. The last column varies fastest.
#include "base/number.h"
#include "base/vec.h"
#include "ops/string/strings.h"

typedef struct {
    int sparse;              // how many columns are sparse; the dense ones follow
    int64_t buckets;
    uint64_t key;
    bool hashed;
    DType internal;          // what is joined or hashed; DT_INVALID: each as it is
} CrossOwn;

static Status *cross_prepare(Prepare *p) {
    CrossOwn *own = p->own;
    bool hashed = node_attr_find(p->node, "hashed_output") && node_bool(p->node, "hashed_output");
    *own = (CrossOwn){.sparse = (int)node_int(p->node, "N"), .hashed = hashed};
    if (!node_attr_find(p->node, "hashed_output"))
        return OK;
    own->buckets = node_int(p->node, "num_buckets");
    own->key = (uint64_t)node_int(p->node, "hash_key");
    own->internal = node_type(p->node, "internal_type");
    NEED(hashed == (node_type(p->node, "out_type") == DT_int64) && (hashed || own->internal == DT_string),
         UNIMPLEMENTED,
         "no kernel for out_type %s with hashed_output %s", dtype_name(node_type(p->node, "out_type")),
         hashed ? "true" : "false");
    return OK;
}

static Status *cross_shape(Shapes *s) {
    s->out[0] = SHAPE(UNKNOWN_DIM, 2);
    s->out[1] = SHAPE(UNKNOWN_DIM);
    s->out[2] = SHAPE(2);
    return OK;
}

// ---------------------------------------- columns

typedef struct {
    const Tensor *values;
    int64_t *starts;         // batch + 1; NULL: `width` to a row
    int64_t width;
} Column;

static int64_t column_first(const Column *c, int64_t row) {
    return c->starts ? c->starts[row] : row * c->width;
}

static int64_t column_count(const Column *c, int64_t row) {
    return c->starts ? c->starts[row + 1] - c->starts[row] : c->width;
}

// Where each row's values begin; the rows are in ascending order, those outside the batch are passed over.
static Status *find_starts(Column *c, const Tensor *indices, int64_t batch, Arena *arena) {
    int64_t n = indices->shape.dims[0], at = 0, step = indices->shape.dims[1];
    const int64_t *rows = indices->data;
    c->starts = ARENA_ARRAY(arena, int64_t, batch + 1);
    NEED_MEMORY(c->starts);
    for (int64_t i = 0; i < n; i++) {
        int64_t before = i ? rows[(i - 1) * step] : 0;
        NEED(rows[i * step] >= before, INVALID_ARGUMENT,
             "the rows of sparse indices must ascend from 0: %lld behind %lld",
             (long long)rows[i * step], (long long)before);
    }
    for (int64_t row = 0; row <= batch; row++) {
        while (at < n && rows[at * step] < row)
            at++;
        c->starts[row] = at;
    }
    return OK;
}

static Status *check_sparse(const Kernel *k, int i, int n, int64_t batch) {
    const Tensor *indices = k->in[i], *values = k->in[n + i], *shape = k->in[2 * n + i];
    NEED(indices->shape.rank == 2 && indices->shape.dims[1] >= 1, INVALID_ARGUMENT,
         "Input indices should be a matrix but received shape %s at position %d", shape_text(&indices->shape), i);
    NEED(values->shape.rank == 1 && values->shape.dims[0] == indices->shape.dims[0], INVALID_ARGUMENT,
         "Expected size of values to be %lld got %s at position %d", (long long)indices->shape.dims[0],
         shape_text(&values->shape), i);
    NEED(shape->shape.rank == 1 && shape->shape.dims[0] == 2, INVALID_ARGUMENT,
         "shape should imply a 2D tensor, but got %s at position %d", shape_text(&shape->shape), i);
    NEED(((const int64_t *)shape->data)[0] == batch, INVALID_ARGUMENT,
         "Expected batch size %lld got %lld at position %d",
         (long long)batch, (long long)((const int64_t *)shape->data)[0], i);
    return OK;
}

static Status *check_internal(const CrossOwn *own, const Tensor *values) {
    NEED(own->internal != DT_string || values->dtype == DT_string, INVALID_ARGUMENT,
         "Input values should be of internal type string but received %s", dtype_name(values->dtype));
    return OK;
}

static Status *find_columns(const Kernel *k, const CrossOwn *own, int64_t batch, Arena *arena, Column *columns, int n) {
    for (int i = 0; i < own->sparse; i++) {
        TRY(check_sparse(k, i, own->sparse, batch));
        columns[i].values = k->in[own->sparse + i];
        TRY(find_starts(&columns[i], k->in[i], batch, arena));
    }
    for (int i = own->sparse; i < n; i++) {
        const Tensor *values = k->in[2 * own->sparse + i];
        NEED(values->shape.rank == 2, INVALID_ARGUMENT,
             "Dense inputs should be a matrix but received shape %s at position %d",
             shape_text(&values->shape), i - own->sparse);
        NEED(values->shape.dims[0] == batch, INVALID_ARGUMENT, "Expected batch size %lld got %lld at dense tensor %d",
             (long long)batch, (long long)values->shape.dims[0], i - own->sparse);
        columns[i] = (Column){.values = values, .width = values->shape.dims[1]};
    }
    for (int i = 0; i < n; i++)
        TRY(check_internal(own, columns[i].values));
    return OK;
}

static Status *batch_of(const Kernel *k, const CrossOwn *own, int n, int64_t *out) {
    *out = 0;
    if (own->sparse) {
        const Tensor *shape = k->in[2 * own->sparse];
        NEED(tensor_count(shape) == 2, INVALID_ARGUMENT, "shape should imply a 2D tensor, but got %s",
             shape_text(&shape->shape));
        *out = ((const int64_t *)shape->data)[0];
    } else if (n && k->in[0]->shape.rank == 2) {
        *out = k->in[0]->shape.dims[0];
    }
    NEED(*out >= 0 && *out <= (INT64_C(1) << 40), INVALID_ARGUMENT, "a batch of %lld rows", (long long)*out);
    return OK;
}

// ---------------------------------------- combinations

static uint64_t shift_mix(uint64_t v) {
    return v ^ v >> 47;
}

// TensorFlow's FingerprintCat64, since models are trained on the buckets: Murmur's factor, two rounds of a shift.
static uint64_t fingerprints_joined(uint64_t a, uint64_t b) {
    const uint64_t factor = UINT64_C(0xc6a4a7935bd1e995);
    uint64_t hash = ((a ^ factor) ^ shift_mix(b * factor) * factor) * factor;
    return shift_mix(shift_mix(hash) * factor);
}

static Status *join(const Column *columns, const int64_t *at, int n, Str separator, Text *joined) {
    for (int i = 0; i < n; i++) {
        const Tensor *values = columns[i].values;
        if (i)
            text_add(joined, separator);
        if (values->dtype == DT_string)
            text_add(joined, string_at(values, at[i]));
        else
            text_format(joined, "%lld", (long long)((const int64_t *)values->data)[at[i]]);
    }
    return OK;
}

static int64_t hash_of(const CrossOwn *own, const Column *columns, const int64_t *at, int n) {
    uint64_t hash = own->key;
    for (int i = 0; i < n; i++) {
        const Tensor *values = columns[i].values;
        uint64_t one = values->dtype == DT_string ? farm_hash(string_at(values, at[i]))
                                                  : (uint64_t)((const int64_t *)values->data)[at[i]];
        hash = fingerprints_joined(hash, one);
    }
    return (int64_t)(hash % (own->buckets > 0 ? (uint64_t)own->buckets : (uint64_t)INT64_MAX));
}

static Status *count_combinations(const Column *columns, int n, int64_t row, int64_t *out) {
    *out = n > 0;
    for (int i = 0; i < n; i++)
        NEED(mul_i64(*out, column_count(&columns[i], row), out), RESOURCE_EXHAUSTED, "a row has too many combinations");
    return OK;
}

typedef struct {
    Kernel *k;
    const CrossOwn *own;
    const Column *columns;
    int n;
    Str separator;
    int64_t *at, *choice;    // of each column: the value's place, and which of its row
    Text joined;
} Cross;

static Status *put_row(Cross *c, int64_t row, int64_t combinations, int64_t to) {
    int64_t *indices = c->k->out[0]->data;
    memset(c->choice, 0, (size_t)c->n * sizeof *c->choice);
    for (int64_t j = 0; j < combinations; j++, to++) {
        for (int i = 0; i < c->n; i++)
            c->at[i] = column_first(&c->columns[i], row) + c->choice[i];
        indices[2 * to] = row;
        indices[2 * to + 1] = j;
        if (c->own->hashed) {
            ((int64_t *)c->k->out[1]->data)[to] = hash_of(c->own, c->columns, c->at, c->n);
        } else {
            TRY(join(c->columns, c->at, c->n, c->separator, &c->joined));
            TRY(string_put_text(c->k->out[1], to, &c->joined));
        }
        for (int i = c->n - 1; i >= 0 && ++c->choice[i] == column_count(&c->columns[i], row); i--)
            c->choice[i] = 0;
    }
    return OK;
}

// Counts first, then writes: the outputs are as long as the sum of all rows' products.
static Status *put_all(Cross *c, int64_t batch) {
    int64_t total = 0, most = 0, at = 0;
    for (int64_t row = 0; row < batch; row++) {
        int64_t count;
        TRY(count_combinations(c->columns, c->n, row, &count));
        NEED(add_i64(total, count, &total), RESOURCE_EXHAUSTED, "there are too many combinations");
        most = max_i64(most, count);
    }
    TRY(kernel_output(c->k, 0, SHAPE(total, 2)));
    TRY(kernel_output(c->k, 1, SHAPE(total)));
    TRY(kernel_output(c->k, 2, SHAPE(2)));
    for (int64_t row = 0; row < batch; row++) {
        int64_t count;
        TRY(count_combinations(c->columns, c->n, row, &count));
        TRY(put_row(c, row, count, at));
        at += count;
    }
    ((int64_t *)c->k->out[2]->data)[0] = batch;
    ((int64_t *)c->k->out[2]->data)[1] = most;
    return OK;
}

static Status *cross(Kernel *k, int n_in, Str separator) {
    const CrossOwn *own = k->own;
    int n = n_in - 2 * own->sparse;
    int64_t batch;
    AUTO(arena) Arena arena = {0};
    Column *columns = ARENA_ARRAY(&arena, Column, n + 1);
    Cross c = {.k = k, .own = own, .columns = columns, .n = n, .separator = separator,
               .at = ARENA_ARRAY(&arena, int64_t, n + 1), .choice = ARENA_ARRAY(&arena, int64_t, n + 1)};
    NEED_MEMORY(columns && c.at && c.choice);
    TRY(batch_of(k, own, n, &batch));
    TRY(find_columns(k, own, batch, &arena, columns, n));
    Status *status = put_all(&c, batch);
    text_clear(&c.joined);
    return status;
}

static Status *cross_run(Kernel *k) {
    return cross(k, k->n_in, STR("_X_"));
}

static Status *cross_2_run(Kernel *k) {
    return cross(k, k->n_in - 1, string_at(k->in[k->n_in - 1], 0));
}

#define LISTS "sparse_types: list({int64, string}) >= 0; dense_types: list({int64, string}) >= 0"
const Op op_SparseCross = {
    .signature = "SparseCross(indices: N * int64, values: sparse_types, shapes: N * int64, "
                 "dense_inputs: dense_types) -> output_indices: int64, output_values: out_type, output_shape: int64; "
                 "N: int >= 0; hashed_output: bool; num_buckets: int >= 0; hash_key: int; " LISTS "; out_type: "
                 "{int64, string}; internal_type: {int64, string}",
    .shape = cross_shape, .prepare = cross_prepare, .own_size = sizeof(CrossOwn), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
    .doc = "Every combination of a row's features, one of each column, joined or hashed.", .cpu = ANY_TYPE(cross_run),
};
const Op op_SparseCrossV2 = {
    .signature = "SparseCrossV2(indices: N * int64, values: sparse_types, shapes: N * int64, "
                 "dense_inputs: dense_types, sep: string) -> output_indices: int64, output_values: string, "
                 "output_shape: int64; N: int >= 0; " LISTS,
    .shape = cross_shape, .prepare = cross_prepare, .own_size = sizeof(CrossOwn), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
    .doc = "Every combination of a row's features, one of each column, joined.", .needs = "scalar(sep)",
    .cpu = ANY_TYPE(cross_2_run),
};
