// Shapes — reshaping and broadcasting that nothing needs, given the shapes that are known.
#include <stdio.h>

#include "graph/extents.h"
#include "graph/rewrite.h"
#include "kernel/kernel.h"
#include "ops/op.h"

static bool is_shape(const Node *node) {
    return str_is(node->type->name, "Shape");
}

// ---------------------------------------- reshaping

// To the shape that the value has.
static void reshape_to_itself(Formula *f) {
    const Node *shape = f->x[1].node;
    if (is_shape(shape) && outputs_have_one_shape(f->x[0], shape->inputs[0]))
        f->results[0] = f->x[0];
}

const Rewrite rewrite_reshape_to_itself = {
    .name = "reshape-to-itself", .kind = REWRITE_SIMPLIFY, .roots = ROOTS("Reshape"), .formula = reshape_to_itself,
};

// Marks the extents of 1 that `in` has more than `out`; false where that isn't the difference.
static bool drops_ones(const Shape *in, const Shape *out, bool *dropped) {
    int kept = 0;
    if (!shape_is_known(in) || !shape_is_known(out) || out->rank >= in->rank)
        return false;
    for (int i = 0; i < in->rank; i++) {
        dropped[i] = kept == out->rank || in->dims[i] != out->dims[kept];
        if (dropped[i] && in->dims[i] != 1)
            return false;
        kept += !dropped[i];
    }
    return kept == out->rank;
}

static Output without(Formula *f, Output value, const bool *dropped) {
    const Shape *shape = output_shape(value);
    int64_t dims[MAX_RANK];
    int rank = 0;
    for (int i = 0; i < shape->rank; i++)
        if (!dropped[i])
            dims[rank++] = shape->dims[i];
    return Reshape(value, formula_ints(f, dims, rank, DT_int64));
}

// An elementwise op of two inputs that broadcasts, has no attribute but its type, and only one reader.
static bool is_plain_binary(const Node *node) {
    const Op *op = node_op(node);
    return op && (op->flags & OP_ELEMENTWISE) && op->shape == shape_broadcast_all &&
           node->type->signature.n_attrs == 1 && node->n_inputs == 2 && !node->n_controls && node->uses.n == 1;
}

// Where the result of a calculation loses extents of 1, its inputs do instead: so it meets what may join it.
static void reshape_before_binary(Formula *f) {
    const Node *node = f->x[0].node;
    bool dropped[MAX_RANK];
    if (!is_plain_binary(node) || !drops_ones(&node->output_shapes[0], &f->node->output_shapes[0], dropped))
        return;
    for (int i = 0; i < 2; i++)
        if (!shape_equal(output_shape(node->inputs[i]), &node->output_shapes[0]))
            return;
    char name[FORMULA_NAME];
    snprintf(name, sizeof name, "%.*s", STR_ARGS(node->type->name));
    f->results[0] = formula_2(f, name, without(f, node->inputs[0], dropped), without(f, node->inputs[1], dropped));
}

const Rewrite rewrite_reshape_before_binary = {
    .name = "reshape-before-binary", .kind = REWRITE_SIMPLIFY, .roots = ROOTS("Reshape"),
    .formula = reshape_before_binary,
};

// ---------------------------------------- broadcasting

// Of two values that have one shape, whatever it is, nothing is repeated.
static void repeats_nothing(Formula *f) {
    const Node *a = f->x[0].node, *b = f->x[1].node;
    if (is_shape(a) && is_shape(b) && outputs_have_one_shape(a->inputs[0], b->inputs[0]))
        f->results[0] = f->results[1] = formula_ints(f, NULL, 0, output_type(f->x[0]));
}

const Rewrite rewrite_repeats_nothing = {
    .name = "repeats-nothing", .kind = REWRITE_SIMPLIFY, .roots = ROOTS("BroadcastGradientArgs"),
    .formula = repeats_nothing,
};

// What `spread` repeats along its last axis, with an extent of 1 there: that of BroadcastTo, and of what is only called
// so in another shape. Nothing where it doesn't.
static Output unspread(Formula *f, Output spread, int depth) {
    const Node *node = spread.node;
    const Op *op = node_op(node);
    Output from = op && node->n_inputs ? node->inputs[0] : (Output){0};
    if (!from.node || node->n_outputs != 1 || node->n_controls || output_type(from) != output_type(spread) || !depth)
        return (Output){0};
    Shape out = *output_shape(spread), in = *output_shape(from);
    if (!shape_is_known(&out) || !shape_is_known(&in) || !out.rank || !in.rank || out.dims[out.rank - 1] < 2)
        return (Output){0};
    int64_t repeats = out.dims[out.rank - 1], width = in.dims[in.rank - 1];
    out.dims[out.rank - 1] = 1;
    if (str_is(node->type->name, "BroadcastTo"))
        return shape_equal(&in, &out) ? from : (Output){0};
    Output column = op_only_renames(op) && width == repeats ? unspread(f, from, depth - 1) : (Output){0};
    return column.node ? Reshape(column, formula_ints(f, out.dims, out.rank, DT_int64)) : column;
}

// A column that is repeated beside a value of that width needn't be: the op broadcasts by itself.
static void broadcast_by_itself(Formula *f) {
    enum { DEPTH = 4 };
    for (int i = 0; i < 2; i++) {
        const Shape *mine = output_shape(f->x[i]), *other = output_shape(f->x[1 - i]);
        if (mine->rank < 1 || other->rank < 1 || mine->dims[mine->rank - 1] != other->dims[other->rank - 1])
            continue;
        Output column = unspread(f, f->x[i], DEPTH);
        if (!column.node)
            continue;
        char name[FORMULA_NAME];
        snprintf(name, sizeof name, "%.*s", STR_ARGS(f->node->type->name));
        f->results[0] = formula_2(f, name, i ? f->x[0] : column, i ? column : f->x[1]);
        return;
    }
}

#define BINARY(Name, ...) #Name,
#define COMPARE(Name, ...)
#define TWIN(Name, ...)
const Rewrite rewrite_broadcast_by_itself = {
    .name = "broadcast-by-itself", .kind = REWRITE_SIMPLIFY, .formula = broadcast_by_itself,
    .roots = (const char *const[]){
#include "ops/math/binary.def"
        NULL},
};
