// RaggedTensorToTensor — rows of different lengths as a tensor: cut where they are too long, filled up where too short.
#include "ops/array/moving.h"

enum { MOST_ROWS = INT32_MAX };  // of a level: more than memory holds
typedef enum { ROW_SPLITS, FIRST_DIM_SIZE, VALUE_ROWIDS } Partition;

typedef struct {
    const Partition *kinds;
    int n;                   // partitions
    int ragged;              // dimensions whose extents come from them, the first excepted
} RaggedOwn;

static Status *partition_of(Str name, Partition *out) {
    static const char *const NAMES[] = {"ROW_SPLITS", "FIRST_DIM_SIZE", "VALUE_ROWIDS"};
    for (int i = 0; i < 3; i++)
        if (str_is(name, NAMES[i])) {
            *out = (Partition)i;
            return OK;
        }
    FAIL(INVALID_ARGUMENT, "Unknown string for partition info type: %.*s", STR_ARGS(name));
}

// How many dimensions of the output are ragged: one for each partition that tells rows.
static Status *ragged_rank(const Node *node, Partition *kinds, int *out_n, int *out) {
    const AttrValue *names = node_attr_find(node, "row_partition_types");
    int64_t n = node_int(node, "num_row_partition_tensors");
    NEED(names->n == n && n >= 1, INVALID_ARGUMENT, "%d row_partition_types for %lld row_partition_tensors", names->n,
         (long long)n);
    for (int64_t i = 0; i < n; i++) {
        Partition kind;
        TRY(partition_of(names->ss[i], &kind));
        NEED(i == 0 ? kind != VALUE_ROWIDS : kind != FIRST_DIM_SIZE, INVALID_ARGUMENT,
             "%s can't be partition %lld", i ? "FIRST_DIM_SIZE" : "VALUE_ROWIDS", (long long)i);
        if (kinds)
            kinds[i] = kind;
        if (i == 0)
            *out = (int)n - (kind == FIRST_DIM_SIZE);
    }
    *out_n = (int)n;
    return OK;
}

static Status *ragged_prepare(Prepare *p) {
    RaggedOwn *own = p->own;
    Partition *kinds = ARENA_ARRAY(p->arena, Partition, p->n_in);
    NEED_MEMORY(kinds);
    own->kinds = kinds;
    return ragged_rank(p->node, kinds, &own->n, &own->ragged);
}

// What `wanted` (the input "shape") and the values say of the output: unknown extents are the longest row's.
static Status *ragged_extents(const Shape *wanted, const Shape *values, int ragged, Shape *out) {
    *out = UNKNOWN_SHAPE;
    if (values->rank < 0)
        return OK;
    int rank = values->rank + ragged;
    NEED(rank <= MAX_RANK, INVALID_ARGUMENT, "a shape has at most %d dimensions", MAX_RANK);
    NEED(wanted->rank < 0 || wanted->rank == rank, INVALID_ARGUMENT,
         "The shape %s has %d dimensions, the ragged tensor has %d", shape_text(wanted), wanted->rank, rank);
    *out = (Shape){.rank = rank};
    for (int d = 0; d < rank; d++) {
        int64_t asked = wanted->rank < 0 ? UNKNOWN_DIM : wanted->dims[d];
        int64_t own = d > ragged ? values->dims[d - ragged] : UNKNOWN_DIM;
        NEED(asked < 0 || own < 0 || asked == own, INVALID_ARGUMENT,
             "The shape %s has extent %lld where the values have %lld", shape_text(wanted), (long long)asked,
             (long long)own);
        out->dims[d] = asked < 0 ? own : asked;
    }
    return shape_check(out);
}

static Status *ragged_shape(Shapes *s) {
    int n, ragged;
    Shape wanted = UNKNOWN_SHAPE;
    TRY(ragged_rank(s->node, NULL, &n, &ragged));
    NEED(s->in[1].rank != 0, INVALID_ARGUMENT, "the values of a ragged tensor have a dimension at least");
    if (s->in[0].rank == 1 || (s->in[0].rank == 0 && s->value[0] && tensor_int(s->value[0], 0) != -1))
        TRY(shapes_input_shape(s, 0, &wanted));
    return ragged_extents(&wanted, &s->in[1], ragged, &s->out[0]);
}

// ---------------------------------------- where each row of values goes

// Rows that a partition makes, of `parents` rows; checked.
static Status *count_rows(const Tensor *partition, Partition kind, int64_t parents, int64_t *out_rows,
                          int64_t *out_longest) {
    int64_t n = tensor_count(partition), longest = 0, run = 0;
    *out_rows = kind == ROW_SPLITS ? (n ? tensor_int(partition, n - 1) : 0) : n;
    if (kind == ROW_SPLITS) {
        NEED(n == parents + 1 || (n == 0 && parents == 0), INVALID_ARGUMENT,
             "Invalid row split size: %lld splits for %lld rows", (long long)n, (long long)parents);
        NEED(n == 0 || tensor_int(partition, 0) == 0, INVALID_ARGUMENT, "row splits must start with 0");
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t at = tensor_int(partition, i), before = i ? tensor_int(partition, i - 1) : kind == ROW_SPLITS ? 0 : -1;
        if (kind == ROW_SPLITS) {
            NEED(at >= before, INVALID_ARGUMENT, "row splits must ascend: %lld behind %lld", (long long)at,
                 (long long)before);
            longest = max_i64(longest, at - before);
            continue;
        }
        NEED(at >= 0 && at >= before && at < parents, INVALID_ARGUMENT,
             "row ids must ascend within [0, %lld), got %lld", (long long)parents, (long long)at);
        run = at == before ? run + 1 : 1;
        longest = max_i64(longest, run);
    }
    *out_longest = longest;
    return OK;
}

// places[i] of a row of the next level, given its parent's; -1 is outside.
static void place_rows(const Tensor *partition, Partition kind, const int64_t *parents, int64_t extent,
                       int64_t *places) {
    int64_t n = tensor_count(partition), column = 0;
    if (kind == ROW_SPLITS) {
        for (int64_t row = 0; row + 1 < n; row++)
            for (int64_t i = tensor_int(partition, row), j = 0; i < tensor_int(partition, row + 1); i++, j++)
                places[i] = parents[row] < 0 || j >= extent ? -1 : parents[row] * extent + j;
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t row = tensor_int(partition, i);
        column = i && tensor_int(partition, i - 1) == row ? column + 1 : 0;
        places[i] = parents[row] < 0 || column >= extent ? -1 : parents[row] * extent + column;
    }
}

// The output's shape, and where each row of the values goes in it.
static Status *find_places(Kernel *k, Shape *shape, int64_t **out, Arena *arena) {
    const RaggedOwn *own = k->own;
    const Tensor *first = k->in[3];
    int skip = own->kinds[0] == FIRST_DIM_SIZE;
    NEED(!skip || tensor_count(first) == 1, INVALID_ARGUMENT, "FIRST_DIM_SIZE must be a scalar");
    int64_t rows = skip ? tensor_int(first, 0) : max_i64(tensor_count(first) - 1, 0), *places;
    NEED(rows >= 0 && rows <= MOST_ROWS, INVALID_ARGUMENT, "a ragged tensor of %lld rows", (long long)rows);
    if (shape->dims[0] < 0)
        shape->dims[0] = rows;
    places = ARENA_ARRAY(arena, int64_t, rows + 1);
    NEED_MEMORY(places);
    for (int64_t i = 0; i < rows; i++)
        places[i] = i < shape->dims[0] ? i : -1;
    for (int d = 1; d <= own->ragged; d++) {
        const Tensor *partition = k->in[3 + skip + d - 1];
        Partition kind = own->kinds[skip + d - 1];
        int64_t next, longest;
        NEED(partition->shape.rank == 1, INVALID_ARGUMENT, "a row partition must be a vector, got %s",
             shape_text(&partition->shape));
        TRY(count_rows(partition, kind, rows, &next, &longest));
        NEED(next <= k->in[1]->shape.dims[0] || d < own->ragged, INVALID_ARGUMENT,
             "the rows end at %lld, there are %lld values", (long long)next, (long long)k->in[1]->shape.dims[0]);
        NEED(next <= MOST_ROWS, INVALID_ARGUMENT, "a ragged tensor of %lld rows", (long long)next);
        if (shape->dims[d] < 0)
            shape->dims[d] = longest;
        int64_t *deeper = ARENA_ARRAY(arena, int64_t, next + 1);
        NEED_MEMORY(deeper);
        TRY(shape_check(shape));
        place_rows(partition, kind, places, shape->dims[d], deeper);
        places = deeper;
        rows = next;
    }
    NEED(rows == k->in[1]->shape.dims[0], INVALID_ARGUMENT, "the row partitions are of %lld values, there are %lld",
         (long long)rows, (long long)k->in[1]->shape.dims[0]);
    *out = places;
    return OK;
}

// ---------------------------------------- kernel

typedef struct {
    const int64_t *places;
    int64_t row, rows;       // elements of a value, values of the output
} Filling;

// The first row of the output is filled with the default, broadcast; it is then copied to all others, and the values
// are put over it. So each element is written at most twice.
static Status *ragged_move(Kernel *k, const void *const *in, void *const *out) {
    const Filling *f = k->scratch;
    const Shape *filler = &k->in[2]->shape, *values = &k->in[1]->shape;
    Shape inner = {.rank = values->rank - 1};
    size_t size = moved_size(k->out[0]->dtype), bytes = size * (size_t)f->row;
    memcpy(inner.dims, values->dims + 1, (size_t)inner.rank * sizeof *inner.dims);
    for (int64_t i = 0; i < f->row && f->rows; i++) {
        int64_t rest = i, from = 0, step = 1;
        for (int d = inner.rank - 1; d >= 0; d--) {
            int64_t extent = inner.dims[d], at = rest % extent;
            int e = d - (inner.rank - filler->rank);
            if (e >= 0) {
                from += filler->dims[e] == 1 ? 0 : at * step;
                step *= filler->dims[e];
            }
            rest /= extent;
        }
        memcpy((char *)out[0] + (size_t)i * size, (const char *)in[2] + (size_t)from * size, size);
    }
    for (int64_t i = 1; i < f->rows && bytes; i++)
        memcpy((char *)out[0] + (size_t)i * bytes, out[0], bytes);
    for (int64_t i = 0; i < values->dims[0] && bytes; i++)
        if (f->places[i] >= 0)
            memcpy((char *)out[0] + (size_t)f->places[i] * bytes, (const char *)in[1] + (size_t)i * bytes, bytes);
    return OK;
}

static Status *check_filler(const Shape *filler, const Shape *values) {
    bool fits = filler->rank < values->rank;
    for (int d = 0; d < filler->rank && fits; d++) {
        int64_t extent = values->dims[values->rank - filler->rank + d];
        fits = filler->dims[d] == 1 || filler->dims[d] == extent;
    }
    NEED(fits, INVALID_ARGUMENT, "default_value of shape %s can't be broadcast to the rows of values of shape %s",
         shape_text(filler), shape_text(values));
    return OK;
}

static Status *ragged_run(Kernel *k) {
    const RaggedOwn *own = k->own;
    const Shape *values = &k->in[1]->shape;
    Shape wanted = UNKNOWN_SHAPE, shape;
    AUTO(arena) Arena arena = {0};
    int64_t *places;
    NEED(values->rank >= 1, INVALID_ARGUMENT, "the values of a ragged tensor have a dimension at least");
    NEED(k->in[0]->shape.rank == 1 || (k->in[0]->shape.rank == 0 && tensor_int(k->in[0], 0) == -1), INVALID_ARGUMENT,
         "shape must be a vector, or the scalar -1");
    if (k->in[0]->shape.rank == 1)
        TRY(tensor_to_shape(k->in[0], &wanted));
    TRY(check_filler(&k->in[2]->shape, values));
    TRY(ragged_extents(&wanted, values, own->ragged, &shape));
    TRY(find_places(k, &shape, &places, &arena));
    TRY(kernel_output(k, 0, shape));
    Filling filling = {places, shape_span(values, 1, values->rank), shape_span(&shape, 0, own->ragged + 1)};
    Kernel moving = *k;
    moving.scratch = &filling;
    return move_elements(&moving, ragged_move);
}

// A value's gradient is found by its number: 1, 2, ... n, laid out by the same op with filler 0, tell for each row of
// dy which value stood there. A segment sum by these numbers is the values' gradient; segment 0 is the default's.
static void ragged_grad(Formula *f) {
    int n, ragged;
    Status *status = ragged_rank(f->node, NULL, &n, &ragged);
    if (status) {
        formula_fail(f, status);
        return;
    }
    Output values = f->x[1], one = Int(1), shape = ShapeOf(values);
    Output rows = Gather(shape, Int(0), Int(0)), numbers = Range(one, Add(rows, one), one);
    Output outer = Slice(ShapeOf(f->y[0]), Ints(0), Ints(ragged + 1)), zero = Int(0);
    const FormulaAttr attrs[] = {{"row_partition_types", *node_attr_find(f->node, "row_partition_types")}, {0}};
    Node *laid = formula_node(f, "RaggedTensorToTensor",
                              (FormulaArg[]){{&outer, 1, false}, {&numbers, 1, false}, {&zero, 1, false},
                                             {f->x + 3, n, true}}, 4, attrs);
    Output inner = Slice(shape, Ints(1), Ints(-1));
    Output flat = Reshape(f->dy[0], Concat(((Output[]){Ints(-1), inner}), 2, Int(0)));
    Output sums = UnsortedSegmentSum(flat, Reshape(((Output){laid, 0}), Ints(-1)), Add(rows, one));
    f->dx[1] = Gather(sums, numbers, Int(0));
    f->dx[2] = formula_sum_to(f, Gather(sums, zero, Int(0)), f->x[2]);
}

const Op op_RaggedTensorToTensor = {
    .signature = "RaggedTensorToTensor(shape: Tshape, values: T, default_value: T, row_partition_tensors: "
                 "num_row_partition_tensors * Tindex) -> result: T; T: type; Tindex: {int64, int32}; Tshape: {int64, int32}; "
                 "num_row_partition_tensors: int >= 1; row_partition_types: list(string)",
    .doc = "Rows of different lengths as a tensor, filled up with a default.", .shape = ragged_shape,
    .grad = ragged_grad,
    .prepare = ragged_prepare, .own_size = sizeof(RaggedOwn), .cpu = ANY_TYPE(ragged_run), .host = BIT(0) | BIT(3),
    .flags = OP_DYNAMIC_SHAPE,
};
