// Reach — how the backward side of a loop sees forward values: what entered from outside enters again, and what each
// iteration computed was appended to a list, from whose end the backward iterations take it.
//
// TensorFlow uses stacks here (StackPushV2); a TensorList is a value, so it needs no resource, no order of effects and
// no name, and gradients of gradients differentiate it like any other variable of the loop.
#include <stdio.h>

#include "autodiff/autodiff_internal.h"
#include "formula/ops.h"

// ---------------------------------------- nodes at a known place

Status *place_op(Autodiff *a, Frame *frame, Frame *backward, Branch *branch, const char *op, const FormulaArg *args,
                 int n_args, const FormulaAttr *attrs, Node **out) {
    // Nodes that a formula has just made are not placed yet: they must be before others come behind them.
    Formula f = {.graph = a->graph, .scope = a->scope};
    Node *node = formula_node(&f, op, args, n_args, attrs);
    if (!node)
        return f.status;
    TRY(infos_grow(a));
    *info_of(a, node) = (Info){.frame = frame, .branch = branch, .backward = backward, .known = true};
    *out = node;
    return OK;
}

typedef struct {
    Autodiff *a;
    Frame *frame, *backward;
    Branch *branch;
} Place;

static Status *make(const Place *at, const char *op, const Output *in, int n_in, const FormulaAttr *attrs, Node **out) {
    FormulaArg args[4];
    for (int i = 0; i < n_in; i++)
        args[i] = (FormulaArg){&in[i], 1, false};
    return place_op(at->a, at->frame, at->backward, at->branch, op, args, n_in, attrs, out);
}

static Place place_in(Autodiff *a, Frame *frame, bool backward) {
    return (Place){a, frame, backward && is_loop(frame) ? frame : NULL, NULL};
}

// ---------------------------------------- entering frames

// The window of the forward loop is the backward one's, too.
static Status *enter(Autodiff *a, Frame *frame, bool backward, Output value, bool constant, Output *out) {
    Place at = place_in(a, frame, backward);
    Node *node, *model = frame->vars.n ? frame->vars.p[0].enter : frame->constants.p[0];
    TRY(make(&at, "Enter", &value, 1,
             ATTRS({"frame_name", ATTR_OF_STRING(backward ? frame->back_name : frame->name)},
                   BOOL_ATTR("is_constant", constant),
                   INT_ATTR("parallel_iterations", node_int(model, "parallel_iterations"))),
             &node));
    *out = (Output){node, 0};
    return OK;
}

// One Enter or list for a value, however many nodes of the backward body read it.
static Status *remember(Autodiff *a, Map *map, Output key, Output value) {
    Str bytes = str_format(&a->arena, "%d:%d", key.node->id, key.index);
    Output *kept = ARENA_NEW(&a->arena, Output);
    NEED_MEMORY(bytes.p && kept);
    *kept = value;
    NEED_MEMORY(map_set(map, bytes, kept));
    return OK;
}

static const Output *recall(const Map *map, Output key) {
    char bytes[32];
    int n = snprintf(bytes, sizeof bytes, "%d:%d", key.node->id, key.index);
    return map_find(map, (Str){bytes, (size_t)n});
}

// Frame by frame: a recursion as deep as loops nest.
Status *frame_enter(Autodiff *a, Frame *frame, Output value, Output *out) {
    if (info_of(a, value.node)->frame == frame) {
        *out = value;
        return OK;
    }
    const Output *known = recall(&frame->entered, value);
    if (known) {
        *out = *known;
        return OK;
    }
    NEED(is_loop(frame), INTERNAL, "a value of no frame around this one");
    Output outer;
    TRY(frame_enter(a, frame->parent, value, &outer));
    TRY(enter(a, frame, false, outer, true, out));
    return remember(a, &frame->entered, value, *out);
}

Status *loop_forward_enter(Autodiff *a, Frame *loop, Output value, Output *out) {
    return enter(a, loop, false, value, false, out);
}

Status *loop_back_enter(Autodiff *a, Frame *loop, Output value, bool constant, Output *out) {
    Output outer;
    TRY(loop_reach(a, loop->parent, value, &outer));
    return enter(a, loop, true, outer, constant, out);
}

// ---------------------------------------- variables of loops

// Merge and Switch of a new variable; without a LoopCond yet the Switch is missing, and made by the caller.
Status *loop_var_make(Autodiff *a, Frame *loop, bool backward, Output entered, const Shape *shape, Node **merge,
                      Node **choice) {
    Place at = place_in(a, loop, backward);
    // The back edge begins as a second edge from the Enter and is turned when its source exists.
    Output both[] = {entered, entered};
    TRY(place_op(a, at.frame, at.backward, NULL, "Merge", &(FormulaArg){both, 2, true}, 1, NULL, merge));
    (*merge)->output_shapes[0] = *shape;
    Output cond = {backward ? loop->back_cond : loop->cond, 0};
    if (!cond.node)
        return OK;
    return make(&at, "Switch", (Output[]){{*merge, 0}, cond}, 2, NULL, choice);
}

Status *loop_var_close(Autodiff *a, Frame *loop, bool backward, Node *merge, Output next) {
    Place at = place_in(a, loop, backward);
    Node *node;
    TRY(make(&at, "NextIteration", &next, 1, NULL, &node));
    return node_set_input(merge, 1, (Output){node, 0});
}

Status *loop_var_exit(Autodiff *a, Frame *loop, bool backward, Node *choice, Output *out) {
    Place at = place_in(a, loop->parent, backward);
    at.branch = loop->branch;
    Node *node;
    TRY(make(&at, "Exit", &(Output){choice, 0}, 1, NULL, &node));
    *out = (Output){node, 0};
    return OK;
}

// ---------------------------------------- lists

static Status *root_number(Autodiff *a, double value, DType dtype, Output *out) {
    Formula f = {.graph = a->graph, .scope = a->scope};
    *out = formula_number(&f, value, dtype);
    if (f.status)
        return f.status;
    TRY(infos_grow(a));
    *info_of(a, out->node) = (Info){.frame = a->root, .known = true};
    return OK;
}

static Status *empty_list(Autodiff *a, DType dtype, Output *out) {
    if (!a->minus_one.node)
        TRY(root_number(a, -1, DT_int32, &a->minus_one));
    Place at = place_in(a, a->root, false);
    Node *node;
    TRY(make(&at, "EmptyTensorList", (Output[]){a->minus_one, a->minus_one}, 2,
             ATTRS(TYPE_ATTR("element_dtype", dtype)), &node));
    *out = (Output){node, 0};
    return OK;
}

// Something to put into the list where the branch that makes the value wasn't taken.
static Status *dummy(Autodiff *a, DType dtype, Output *out) {
    if (dtype == DT_variant)
        return empty_list(a, DT_float, out);
    NEED(dtype != DT_resource && dtype != DT_string, UNIMPLEMENTED,
         "gradients of a loop that computes a %s inside a conditional", dtype_name(dtype));
    return root_number(a, 0, dtype, out);
}

// The value where its branch was taken, else a dummy: so that each iteration appends exactly one element.
static Status *value_or_dummy(Autodiff *a, Frame *loop, Branch *branch, Output *value) {
    Place at = place_in(a, loop, false);
    for (; branch; branch = branch->parent) {
        Output zero;
        Node *other, *merge;
        TRY(dummy(a, output_type(*value), &zero));
        TRY(frame_enter(a, loop, zero, &zero));
        at.branch = branch->parent;
        TRY(make(&at, "Switch", (Output[]){zero, branch->pred}, 2, NULL, &other));
        Output sides[2];
        sides[branch->side] = *value;
        sides[1 - branch->side] = (Output){other, 1 - branch->side};
        TRY(place_op(a, loop, NULL, branch->parent, "Merge", &(FormulaArg){sides, 2, true}, 1, NULL, &merge));
        *value = (Output){merge, 0};
    }
    return OK;
}

// Appends the value to a list in each iteration; the list leaves the loop.
// A list is a loop variable like others: it enters empty, is appended to, and leaves by an Exit.
static Status *list_of_values(Autodiff *a, Frame *loop, Output value, Branch *branch, Output *out) {
    Place at = place_in(a, loop, false);
    Output list;
    Node *merge, *choice, *push;
    TRY(value_or_dummy(a, loop, branch, &value));
    TRY(empty_list(a, output_type(value), &list));
    TRY(frame_enter(a, loop->parent, list, &list));
    TRY(enter(a, loop, false, list, false, &list));
    TRY(loop_var_make(a, loop, false, list, &SCALAR_SHAPE, &merge, &choice));
    TRY(make(&at, "TensorListPushBack", (Output[]){{choice, 1}, value}, 2, NULL, &push));
    TRY(loop_var_close(a, loop, false, merge, (Output){push, 0}));
    return loop_var_exit(a, loop, false, choice, out);
}

// The last element first: backward iterations come in the opposite order.
static Status *pop(Autodiff *a, Frame *loop, Output list, const Output *value, Output *out) {
    Place at = place_in(a, loop, true);
    Output any;
    Node *merge, *choice, *node;
    TRY(loop_back_enter(a, loop, list, false, &list));
    TRY(loop_var_make(a, loop, true, list, &SCALAR_SHAPE, &merge, &choice));
    TRY(loop_reach(a, loop, a->minus_one, &any));
    TRY(make(&at, "TensorListPopBack", (Output[]){{choice, 1}, any}, 2,
             ATTRS(TYPE_ATTR("element_dtype", output_type(*value))), &node));
    TRY(loop_var_close(a, loop, true, merge, (Output){node, 0}));
    *out = (Output){node, 1};
    return OK;
}

// What was a dummy is dead here too.
static Status *only_in_branch(Autodiff *a, Frame *loop, const Branch *branch, Output *value) {
    if (!branch)
        return OK;
    TRY(only_in_branch(a, loop, branch->parent, value));
    Place at = place_in(a, loop, true);
    Output pred;
    Node *node;
    TRY(loop_reach(a, loop, branch->pred, &pred));
    TRY(make(&at, "Switch", (Output[]){*value, pred}, 2, NULL, &node));
    *value = (Output){node, branch->side};
    return OK;
}

static Status *through_list(Autodiff *a, Frame *loop, Output value, Output *out) {
    Branch *branch;
    Output list;
    TRY(branch_of(a, value, &branch));
    TRY(list_of_values(a, loop, value, branch, &list));
    TRY(pop(a, loop, list, &value, out));
    TRY(only_in_branch(a, loop, branch, out));
    out->node->output_shapes[out->index] = *output_shape(value);
    return OK;
}

// ---------------------------------------- reaching

// The constant that a forward node is, made anew on this side.
static Status *constant_in_frame(Autodiff *a, Frame *loop, const Tensor *value, Output *out) {
    Formula f = {.graph = a->graph, .scope = a->scope, .before = loop->pivot};
    *out = formula_tensor(&f, value);
    if (f.status)
        return f.status;
    TRY(infos_grow(a));
    *info_of(a, out->node) = (Info){.frame = loop, .backward = loop, .known = true};
    return OK;
}

// From the cheapest: a constant is made anew, what doesn't change in the loop enters once, the rest goes through a
// list.
static Status *find_way(Autodiff *a, Frame *loop, Output value, Output *out) {
    const Info *info = info_of(a, value.node);
    bool forward_here = info->frame == loop && !info->backward;
    const Tensor *constant = loop->pivot ? output_constant(value) : NULL;
    if (constant && !info->backward)
        return constant_in_frame(a, loop, constant, out);
    if (!forward_here)
        return loop_back_enter(a, loop, value, true, out);
    if (node_flow(value.node) == FLOW_ENTER && node_bool(value.node, "is_constant"))
        return loop_back_enter(a, loop, value.node->inputs[0], true, out);
    return through_list(a, loop, value, out);
}

Status *loop_reach(Autodiff *a, Frame *loop, Output value, Output *out) {
    const Info *info = info_of(a, value.node);
    if (!is_loop(loop) || info->backward == loop) {
        *out = value;
        return OK;
    }
    const Output *known = recall(&loop->reachable, value);
    if (known) {
        *out = *known;
        return OK;
    }
    Output found;
    TRY(find_way(a, loop, value, &found));
    TRY(remember(a, &loop->reachable, value, found));
    *out = found;
    return OK;
}
