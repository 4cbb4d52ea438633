// Updates — variables changed in place: added to, subtracted from, and scattered into by rows or by points.
//
// Each op exists twice, for references and for resources; input 0 is the variable and the machine locks it. What is
// done to the elements is a row of the elementwise loops, or a copy.
#include "graph/rewrite.h"
#include "loops/elementwise.h"
#include "loops/tuning.h"
#include "ops/array/moving.h"

ELEMENTWISE(AddScaled);

typedef struct {
    ElementwiseLoop loop;  // unused for a copy
    bool negative;         // the scale of scaled updates is
    bool copies, ignores;  // ignores: indices outside are passed over
    int64_t row;           // elements that one index names
    int64_t rows;          // indices
    int depth;             // integers of one index
    int64_t dims[MAX_RANK], steps[MAX_RANK];  // of the indexed dimensions
    bool one;              // the update is a scalar for all
    int64_t cost;          // ns, of the whole variable
} Update;

typedef struct {
    const char *word, *name, *hlo;
} Operation;

// What the op's name says is done: ResourceScatterNdMin -> Minimum. NULL stands for a copy.
static const Operation *operation(const Node *node) {
    static const Operation words[] = {
        {"Add", "AddV2", "add"}, {"Sub", "Sub", "subtract"}, {"Mul", "Mul", "multiply"}, {"Div", "Div", "divide"},
        {"Min", "Minimum", "minimum"}, {"Max", "Maximum", "maximum"},
    };
    Str name = node->type->name;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        Str word = str_of(words[i].word);
        bool variable_op = name.n > 10 && memcmp(name.p + name.n - 10, "VariableOp", 10) == 0;
        size_t end = name.n - (variable_op ? 10 : 0);
        if (end >= word.n && memcmp(name.p + end - word.n, word.p, word.n) == 0)
            return &words[i];
    }
    return NULL;
}

static Status *find_loop(const Node *node, Update *update) {
    const Operation *op = operation(node);
    DType dtype = node_input_type(node, node->n_inputs - 1);
    update->copies = !op;
    bool found = update->copies || elementwise_find(elementwise_named(str_of(op->name)), dtype, &update->loop);
    NEED(found, UNIMPLEMENTED, "no kernel for type %s", dtype_name(dtype));
    return OK;
}

// The shape of the variable: of a resource, what its handle promises.
static Shape variable_shape(const Shapes *s) {
    if (node_input_type(s->node, 0) != DT_resource)
        return s->in[0];
    return s->handle[0] ? s->handle[0]->shape : UNKNOWN_SHAPE;
}

static void give_reference(Shapes *s, const Shape *variable) {
    if (s->n_out)
        s->out[0] = *variable;
}

#define IN_PLACE \
    .own_size = sizeof(Update), .update = BIT(0)
#define REFERENCE IN_PLACE, .alias = BIT(0), .flags = OP_STATEFUL | OP_NO_GRADIENT
#define RESOURCE IN_PLACE, .flags = OP_NO_GRADIENT

// ---------------------------------------- the whole variable

static Status *add_shape(Shapes *s) {
    Shape variable = variable_shape(s), merged;
    TRY(shape_merge(&variable, &s->in[1], &merged));
    give_reference(s, &merged);
    return OK;
}

static Status *add_prepare(Prepare *p) {
    Update *update = p->own;
    Shape merged;
    TRY(shape_merge(&p->in[0]->shape, &p->in[1]->shape, &merged));
    TRY(find_loop(p->node, update));
    int64_t count = tensor_count(p->in[1]), size = (int64_t)dtype_size(p->in[1]->dtype);
    p->cost = update->cost = kernel_cost(count, 60, 3 * count * size);
    return OK;
}

static void add_range(void *arg, int64_t first, int64_t last) {
    Kernel *k = arg;
    const Update *update = k->own;
    size_t size = dtype_size(k->in[0]->dtype);
    char *x = (char *)k->in[0]->data + (size_t)first * size;
    const char *y = (const char *)k->in[1]->data + (size_t)first * size;
    elementwise_run(&update->loop, x, y, x, last - first, 1, 1);
}

static Status *add_run(Kernel *k) {
    kernel_share(k, tensor_count(k->in[0]), ((const Update *)k->own)->cost, add_range, k);
    return OK;
}

// The variable's new value, for devices that compile.
static COLD Status *updated(Hlo *h, HloValue value) {
    hlo_assign(h, 0, value);
    return h->n_out ? hlo_out_variable(h, 0, 0) : OK;
}

static COLD Status *add_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0), y = hlo_in(h, 1);
    return updated(h, hlo_binary(h, operation(h->node)->hlo, x, y));
}

#define WHOLE(Word, text)                                                                                  \
    const Op op_Assign##Word = {                                                                           \
        .signature = "Assign" #Word "(ref: ref T, value: T) -> output_ref: ref T; T: numbers"              \
                     "; use_locking: bool = false",                                                        \
        .doc = text, .shape = add_shape, .prepare = add_prepare, .cpu = ANY_TYPE(add_run), REFERENCE,      \
        .hlo = add_hlo,                                                                                    \
    };                                                                                                     \
    const Op op_Assign##Word##VariableOp = {                                                               \
        .signature = "Assign" #Word "VariableOp(resource: resource, value: dtype); dtype: type; stateful", \
        .doc = text, .shape = add_shape, .prepare = add_prepare, .cpu = ANY_TYPE(add_run), RESOURCE,       \
        .hlo = add_hlo,                                                                                    \
    };
WHOLE(Add, "Adds value to the variable.")
WHOLE(Sub, "Subtracts value from the variable.")

// ---------------------------------------- rows and points of it

// The dimensions of a but the last `skip_last`, then those of b from `first`; unknown where a rank is.
static Status *joined(const Shape *a, int skip_last, const Shape *b, int first, Shape *out) {
    *out = UNKNOWN_SHAPE;
    if (a->rank < 0 || b->rank < 0)
        return OK;
    int64_t dims[2 * MAX_RANK];
    int n = 0;
    for (int i = 0; i < a->rank - skip_last; i++)
        dims[n++] = a->dims[i];
    for (int i = first; i < b->rank; i++)
        dims[n++] = b->dims[i];
    return shape_make(dims, n, out);
}

// The updates of a Scatter are one row of the variable for each index, or a single scalar.
static Status *scatter_check(const Shape *variable, const Shape *indices, const Shape *updates) {
    NEED(variable->rank != 0, INVALID_ARGUMENT, "var must be at least 1 dimensional");
    if (updates->rank == 0)
        return OK;
    Shape expected;
    TRY(joined(indices, 0, variable, 1, &expected));
    NEED(shape_compatible(&expected, updates), INVALID_ARGUMENT,
         "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape %s, "
         "indices.shape %s, params.shape %s", shape_text(updates), shape_text(indices), shape_text(variable));
    return OK;
}

// Those of a ScatterNd: indices.shape[:-1] + variable.shape[depth:].
static Status *scatter_nd_check(const Shape *variable, const Shape *indices, const Shape *updates) {
    NEED(indices->rank != 0, INVALID_ARGUMENT, "indices must be at least a vector, got shape []");
    if (indices->rank < 0 || variable->rank < 0 || indices->dims[indices->rank - 1] < 0)
        return OK;
    int64_t depth = indices->dims[indices->rank - 1];
    NEED(depth <= variable->rank, INVALID_ARGUMENT, "the indices have %lld dimensions, but the variable has rank %d",
         (long long)depth, variable->rank);
    Shape expected;
    TRY(joined(indices, 1, variable, (int)depth, &expected));
    NEED(shape_compatible(&expected, updates), INVALID_ARGUMENT,
         "Must have updates.shape = indices.shape[:-1] + params.shape[indices.shape[-1]:], got updates.shape %s, "
         "indices.shape %s, params.shape %s", shape_text(updates), shape_text(indices), shape_text(variable));
    return OK;
}

static Status *scatter_shape(Shapes *s) {
    Shape variable = variable_shape(s);
    TRY(scatter_check(&variable, &s->in[1], &s->in[2]));
    give_reference(s, &variable);
    return OK;
}

static Status *scatter_nd_shape(Shapes *s) {
    Shape variable = variable_shape(s);
    TRY(scatter_nd_check(&variable, &s->in[1], &s->in[2]));
    give_reference(s, &variable);
    return OK;
}

static void geometry(Prepare *p, int depth, int64_t rows) {
    Update *update = p->own;
    const Shape *variable = &p->in[0]->shape;
    update->depth = depth;
    update->rows = rows;
    update->row = shape_span(variable, depth, variable->rank);
    for (int i = 0; i < depth; i++) {
        update->dims[i] = variable->dims[i];
        update->steps[i] = shape_span(variable, i + 1, variable->rank);
    }
    p->cost = tensor_count(p->in[2]);
}

static Status *scatter_prepare(Prepare *p) {
    Update *update = p->own;
    TRY(scatter_check(&p->in[0]->shape, &p->in[1]->shape, &p->in[2]->shape));
    geometry(p, 1, tensor_count(p->in[1]));
    update->one = p->in[2]->shape.rank == 0;
    return find_loop(p->node, update);
}

static Status *scatter_nd_prepare(Prepare *p) {
    Update *update = p->own;
    const Shape *indices = &p->in[1]->shape;
    TRY(scatter_nd_check(&p->in[0]->shape, indices, &p->in[2]->shape));
    geometry(p, (int)indices->dims[indices->rank - 1], shape_span(indices, 0, indices->rank - 1));
    Str policy = node_str(p->node, "bad_indices_policy");
    update->ignores = str_is(policy, "IGNORE");
    NEED(update->ignores || !policy.n || str_is(policy, "DEFAULT") || str_is(policy, "ERROR"), INVALID_ARGUMENT,
         "bad_indices_policy '%.*s' is not known", STR_ARGS(policy));
    return find_loop(p->node, update);
}

// Where index i points, in elements; -1 for an index outside.
static int64_t place_of(const Update *update, const Tensor *indices, int64_t i) {
    int64_t place = 0;
    for (int d = 0; d < update->depth; d++) {
        int64_t at = tensor_int(indices, i * update->depth + d);
        if (at < 0 || at >= update->dims[d])
            return -1;
        place += at * update->steps[d];
    }
    return place;
}

static Status *index_error(const Update *update, const Tensor *indices, int64_t i) {
    if (update->depth == 1)
        KERNEL_INDEX_ERROR("indices", i, tensor_int(indices, i), update->dims[0]);
    AUTO(text) Text point = {0};
    for (int d = 0; d < update->depth; d++)
        text_format(&point, "%s%lld", d ? ", " : "", (long long)tensor_int(indices, i * update->depth + d));
    Str str = text_str(&point);
    FAIL(INVALID_ARGUMENT, "indices[%lld] = [%.*s] does not index into the variable", (long long)i, STR_ARGS(str));
}

static Status *copy_row(const Kernel *k, const Update *update, int64_t to, int64_t from) {
    const Tensor *variable = k->in[0], *updates = k->in[2];
    size_t size = dtype_size(variable->dtype);
    bool bytes = dtype_is_plain(variable->dtype) && !update->one;
    if (bytes && update->row)
        memcpy((char *)variable->data + (size_t)to * size, (const char *)updates->data + (size_t)from * size,
               (size_t)update->row * size);
    for (int64_t j = 0; j < update->row && !bytes; j++)
        TRY(element_copy(updates, update->one ? 0 : from + j, variable, to + j));
    return OK;
}

// Rows lie anywhere: the first lines of one are asked for while others are worked on.
static void ask_for(const Update *update, const Tensor *indices, const char *x, int64_t i) {
    enum { LINE = 64 };
    int64_t bytes = update->row * update->loop.in_size;
    if (i + TUNED_PREFETCH_WRITE >= update->rows)
        return;
    const char *row = x + tensor_int(indices, i + TUNED_PREFETCH_WRITE) * bytes;
    for (int64_t at = 0; at < bytes && at < TUNED_PREFETCH_LINES * LINE; at += LINE)
        __builtin_prefetch(row + at, 1);
}

// Whole rows of a type that the loop takes as it lies, by one index each.
static void scatter_rows(const Kernel *k, const Update *update) {
    const ElementwiseLoop *loop = &update->loop;
    const Tensor *indices = k->in[1];
    char *x = k->in[0]->data;
    const char *y = k->in[2]->data;
    int64_t bytes = update->row * loop->in_size;
    for (int64_t i = 0; i < update->rows; i++) {
        ask_for(update, indices, x, i);
        char *row = x + tensor_int(indices, i) * bytes;
        (void)loop->fn(row, y, row, update->row, 1, !update->one, loop->param);
        y += update->one ? 0 : bytes;
    }
}

// Whether integers that name rows all do.
static bool are_inside(const Tensor *indices, int64_t n, int64_t extent) {
    const int32_t *narrow = indices->data;
    const int64_t *wide = indices->data;
    bool outside = false;
    if (indices->dtype == DT_int32)
        for (int64_t i = 0; i < n; i++)
            outside |= narrow[i] < 0 || narrow[i] >= extent;
    else
        for (int64_t i = 0; i < n; i++)
            outside |= wide[i] < 0 || wide[i] >= extent;
    return !outside;
}

// All indices are checked before anything is written.
static Status *check_indices(const Update *update, const Tensor *indices) {
    if (update->depth == 1 && are_inside(indices, update->rows, update->dims[0]))
        return OK;
    for (int64_t i = 0; i < update->rows && !update->ignores; i++)
        if (place_of(update, indices, i) < 0)
            return index_error(update, indices, i);
    return OK;
}

static Status *scatter_run(Kernel *k) {
    const Update *update = k->own;
    const Tensor *variable = k->in[0], *indices = k->in[1], *updates = k->in[2];
    TRY(check_indices(update, indices));
    bool is_float = variable->dtype == DT_float || variable->dtype == DT_double;  // no faults
    if (is_float && update->depth == 1 && !update->copies && !update->ignores) {
        scatter_rows(k, update);
        return OK;
    }
    size_t size = dtype_size(variable->dtype);
    int64_t faults = 0;
    for (int64_t i = 0; i < update->rows; i++) {
        int64_t to = place_of(update, indices, i), from = update->one ? 0 : i * update->row;
        if (to < 0)
            continue;
        if (update->copies) {
            TRY(copy_row(k, update, to, from));
            continue;
        }
        char *x = (char *)variable->data + (size_t)to * size;
        const char *y = (const char *)updates->data + (size_t)from * size;
        faults += elementwise_run(&update->loop, x, y, x, update->row, 1, !update->one);
    }
    NEED(!faults, INVALID_ARGUMENT, "Integer division by zero");
    return OK;
}

// ---------------------------------------- rows that are scaled first: a step against the gradient

static Status *scaled_prepare(Prepare *p) {
    Update *update = p->own;
    DType dtype = p->in[2]->dtype;
    TRY(scatter_check(&p->in[0]->shape, &p->in[1]->shape, &p->in[2]->shape));
    geometry(p, 1, tensor_count(p->in[1]));
    update->negative = node_bool(p->node, "negative");
    NEED(p->in[2]->shape.rank > 0 && elementwise_find(&elementwise_AddScaled, dtype, &update->loop), UNIMPLEMENTED,
         "scaled updates of %s", dtype_name(dtype));
    return OK;
}

#define SCALED_NUMBERS(T)                                                                      \
    static void scaled_##T(const Kernel *k, const Update *update) {                            \
        T *x = k->in[0]->data;                                                                 \
        const T *y = k->in[2]->data, scale = update->negative ? -*(T *)k->in[3]->data : *(T *)k->in[3]->data; \
        for (int64_t i = 0; i < update->rows; i++) {                                           \
            T step = y[i] * scale;                                                             \
            x[tensor_int(k->in[1], i)] += step;                                                \
        }                                                                                      \
    }
SCALED_NUMBERS(float)
SCALED_NUMBERS(double)

static void scaled_rows(const Kernel *k, const Update *update) {
    const ElementwiseLoop *add = &update->loop;
    double scale = k->in[3]->dtype == DT_float ? (double)*(float *)k->in[3]->data : *(double *)k->in[3]->data;
    scale = update->negative ? -scale : scale;
    int64_t bytes = update->row * add->in_size;
    char *x = k->in[0]->data;
    const char *y = k->in[2]->data;
    for (int64_t i = 0; i < update->rows; i++, y += bytes) {
        ask_for(update, k->in[1], x, i);
        char *row = x + tensor_int(k->in[1], i) * bytes;
        (void)add->fn(row, y, row, update->row, 1, 1, scale);
    }
}

static Status *scaled_run(Kernel *k) {
    const Update *update = k->own;
    TRY(check_indices(update, k->in[1]));
    if (update->row == 1 && k->in[0]->dtype == DT_float)
        scaled_float(k, update);
    else if (update->row == 1)
        scaled_double(k, update);
    else
        scaled_rows(k, update);
    return OK;
}

// The factor of a product that is a scalar by its shape alone; -1: none, or both.
static int scalar_factor(const Node *product) {
    int found = -1;
    for (int i = 0; i < 2; i++) {
        Output in = product->inputs[i], other = product->inputs[1 - i];
        if (in.node->output_shapes[in.index].rank == 0 && other.node->output_shapes[other.index].rank > 0)
            found = i;
    }
    return found;
}

static bool takes_scaled(const Match *match, const Node *before) {
    (void)match;
    return str_is(before->type->name, "Mul") && scalar_factor(before) >= 0;
}

static Status *write_scaled(NodeBuilder *builder, const Match *match) {
    const Node *node = match->nodes[0], *product = match->nodes[1];
    int factor = scalar_factor(product);
    Output updates = product->inputs[1 - factor];
    bool negative = str_is(node->type->name, "ResourceScatterSub"), turned = str_is(updates.node->type->name, "Neg");
    builder_input(builder, node->inputs[0]);
    builder_input(builder, node->inputs[1]);
    builder_input(builder, turned ? updates.node->inputs[0] : updates);
    builder_input(builder, product->inputs[factor]);
    AttrValue value = {.kind = ATTR_BOOL, .b = negative != turned};
    builder_attr(builder, STR("negative"), &value);
    return OK;
}
const Rewrite rewrite_scaled_updates = {
    .name = "scaled-updates", .kind = REWRITE_FUSE_PRODUCERS, .input = "updates",
    .roots = ROOTS("ResourceScatterAdd", "ResourceScatterSub"), .op = "_ResourceScatterAddScaled",
    .takes = takes_scaled, .write = write_scaled,
};

const Op op__ResourceScatterAddScaled = {
    .signature = "_ResourceScatterAddScaled(resource: resource, indices: Tindices, updates: dtype, scale: dtype); "
                 "dtype: {float, double}; Tindices: {int32, int64}; negative: bool = false; stateful",
    .doc = "Adds to rows of the variable what is scaled first.", .needs = "scalar(scale)", .shape = scatter_shape,
    .prepare = scaled_prepare, .cpu = ANY_TYPE(scaled_run), RESOURCE,
};

// ---------------------------------------- for devices that compile

static COLD Status *scatter_into(Hlo *h, bool nd) {
    HloValue x = hlo_in(h, 0), indices = hlo_in(h, 1), updates = hlo_in(h, 2);
    TRY(h->status);
    const Operation *op = operation(h->node);
    const char *word = op ? op->hlo : NULL;
    int last = indices->shape.rank - 1;
    NEED(!nd || node_str(h->node, "bad_indices_policy").n == 0, UNIMPLEMENTED, "a bad_indices_policy");
    for (int i = 0; i < (nd ? indices->shape.dims[last] : 1) && !h->status; i++)
        hlo_check_range(h, nd ? hlo_part(h, indices, last, i, i + 1) : indices, x->shape.dims[i], "indices are out of range");
    if (word && word[0] == 's') {  // what is added may come in any order
        updates = hlo_neg(h, updates);
        word = "add";
    }
    if (word && word[0] == 'd')
        updates = hlo_divisor(h, updates);
    return updated(h, hlo_put(h, word, x, indices, updates, nd));
}

static COLD Status *scatter_hlo(Hlo *h) {
    return scatter_into(h, false);
}
static COLD Status *scatter_nd_hlo(Hlo *h) {
    return scatter_into(h, true);
}

#define SCATTER(Word, text, types, resource_types, locking, ...)                                                    \
    const Op op_Scatter##Word = {                                                                                   \
        .signature = "Scatter" #Word "(ref: ref T, indices: Tindices, updates: T) -> output_ref: ref T; T: " types   \
                     "; Tindices: {int32, int64}; use_locking: bool = " locking,                                    \
        .doc = text, .shape = scatter_shape, .prepare = scatter_prepare, .cpu = ANY_TYPE(scatter_run), REFERENCE,    \
        .hlo = scatter_hlo,                                                                                         \
    };                                                                                                              \
    const Op op_ResourceScatter##Word = {                                                                           \
        .signature = "ResourceScatter" #Word "(resource: resource, indices: Tindices, updates: dtype); dtype: "      \
                     resource_types "; Tindices: {int32, int64}; stateful",                                         \
        .doc = text, .shape = scatter_shape, .prepare = scatter_prepare, .cpu = ANY_TYPE(scatter_run), RESOURCE,     \
        .hlo = scatter_hlo, __VA_ARGS__                                                                             \
    };
SCATTER(Update, "Writes rows of the variable.", "type", "type", "true", )
SCATTER(Add, "Adds to rows of the variable.", "numbers", "numbers", "false", )
SCATTER(Sub, "Subtracts from rows of the variable.", "numbers", "numbers", "false", )
SCATTER(Mul, "Multiplies rows of the variable.", "numbers", "numbers", "false", )
SCATTER(Div, "Divides rows of the variable.", "numbers", "numbers", "false", )
SCATTER(Min, "The smaller of rows of the variable and the updates, kept in it.",
        "{floats_half_first, int32, int64}", "numbers", "false", )
SCATTER(Max, "The greater of rows of the variable and the updates, kept in it.",
        "{floats_half_first, int32, int64}", "numbers", "false", )

#define SCATTER_ND(Word, text, types, locking)                                                                       \
    const Op op_ScatterNd##Word = {                                                                                  \
        .signature = "ScatterNd" #Word "(ref: ref T, indices: Tindices, updates: T) -> output_ref: ref T; T: " types  \
                     "; Tindices: {int32, int64}; use_locking: bool = " locking                                      \
                     "; bad_indices_policy: string = \"\"",                                                          \
        .doc = text, .shape = scatter_nd_shape, .prepare = scatter_nd_prepare, .cpu = ANY_TYPE(scatter_run),          \
        REFERENCE, .hlo = scatter_nd_hlo,                                                                            \
    };                                                                                                               \
    const Op op_ResourceScatterNd##Word = {                                                                          \
        .signature = "ResourceScatterNd" #Word "(ref: resource, indices: Tindices, updates: T); T: type"               \
                     "; Tindices: {int32, int64}; use_locking: bool = true; bad_indices_policy: string = \"\"; "      \
                     "stateful",                                                                                     \
        .doc = text, .shape = scatter_nd_shape, .prepare = scatter_nd_prepare, .cpu = ANY_TYPE(scatter_run),          \
        RESOURCE, .hlo = scatter_nd_hlo,                                                                             \
    };
SCATTER_ND(Update, "Writes slices of the variable.", "type", "true")
SCATTER_ND(Add, "Adds to slices of the variable.", "numbers", "false")
SCATTER_ND(Sub, "Subtracts from slices of the variable.", "numbers", "false")
SCATTER_ND(Min, "The smaller of slices of the variable and the updates, kept in it.", "numbers", "false")
SCATTER_ND(Max, "The greater of slices of the variable and the updates, kept in it.", "numbers", "false")
