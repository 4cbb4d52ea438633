// Loops — the gradient of a while loop is a loop that runs as often, backwards.
//
// The forward loop gets a counter. The backward loop counts it down and has one variable for the gradient of each
// differentiable variable of the forward loop, and one for each differentiable constant of it, which adds up. Its body
// is the walk of the forward body. This is TensorFlow's construction (while_loop of V1: WhileContext), after Y. Yu et
// al., "Dynamic Control Flow in Large-Scale Machine Learning", EuroSys 2018.
#include "autodiff/autodiff_internal.h"
#include "formula/ops.h"

static Status *one_op(Autodiff *a, Frame *frame, bool backward, const char *op, Output x, Output y, Output *out) {
    Output in[] = {x, y};
    FormulaArg args[] = {{&in[0], 1, false}, {&in[1], 1, false}};
    Node *node;
    TRY(place_op(a, frame, backward ? frame : NULL, NULL, op, args, y.node ? 2 : 1, NULL, &node));
    *out = (Output){node, 0};
    return OK;
}

static Status *root_int(Autodiff *a, int value, Output *out) {
    Formula f = {.graph = a->graph, .scope = a->scope};
    *out = formula_int(&f, value, DT_int32);
    if (f.status)
        return f.status;
    TRY(infos_grow(a));
    *info_of(a, out->node) = (Info){.frame = a->root, .known = true};
    return OK;
}

// A number of the root enters the frames around the loop as a constant first: an edge may cross one frame at a time.
static Status *enter_number(Autodiff *a, Frame *loop, bool backward, Output number, bool constant, Output *out) {
    if (backward)
        return loop_back_enter(a, loop, number, constant, out);
    if (constant)
        return frame_enter(a, loop, number, out);
    Output outer;
    TRY(frame_enter(a, loop->parent, number, &outer));
    return loop_forward_enter(a, loop, outer, out);
}

// How many iterations the forward loop makes.
static Status *count_forward(Autodiff *a, Frame *loop, Output *out) {
    Output zero, one, next;
    Node *merge, *choice;
    TRY(root_int(a, 0, &zero));
    TRY(root_int(a, 1, &one));
    TRY(enter_number(a, loop, false, zero, false, &zero));
    TRY(enter_number(a, loop, false, one, true, &one));
    TRY(loop_var_make(a, loop, false, zero, &SCALAR_SHAPE, &merge, &choice));
    TRY(one_op(a, loop, false, "AddV2", (Output){choice, 1}, one, &next));
    TRY(loop_var_close(a, loop, false, merge, next));
    return loop_var_exit(a, loop, false, choice, out);
}

// The backward loop's counter: makes its LoopCond and its pivot, a node of each iteration that what has no input can
// wait for, so that it belongs to the frame.
static Status *count_backward(Autodiff *a, Frame *loop, Output count) {
    Output zero, one, more, cond, pivot, next;
    Node *merge, *choice = NULL;
    TRY(root_int(a, 0, &zero));
    TRY(root_int(a, 1, &one));
    TRY(enter_number(a, loop, true, count, false, &count));
    TRY(enter_number(a, loop, true, zero, true, &zero));
    TRY(enter_number(a, loop, true, one, true, &one));
    TRY(loop_var_make(a, loop, true, count, &SCALAR_SHAPE, &merge, &choice));
    TRY(one_op(a, loop, true, "Greater", (Output){merge, 0}, zero, &more));
    TRY(one_op(a, loop, true, "LoopCond", more, NONE, &cond));
    loop->back_cond = cond.node;
    TRY(one_op(a, loop, true, "Switch", (Output){merge, 0}, cond, &next));
    TRY(one_op(a, loop, true, "Identity", At(next, 1), NONE, &pivot));
    loop->pivot = pivot.node;
    TRY(one_op(a, loop, true, "Sub", pivot, one, &next));
    return loop_var_close(a, loop, true, merge, next);
}

// ---------------------------------------- variables

// Counters and lists go round as well, without one.
static bool var_has_gradient(const Autodiff *a, const LoopVar *var) {
    return var->merge && is_between(a, var->merge) && dtype_has_gradient(var->merge->output_types[0]) &&
           dtype_base(var->merge->output_types[0]) != DT_resource;
}

// The walk relies on the form that TensorFlow's while_loop writes; another is refused by name instead of given a wrong
// gradient.
static Status *check_form(const Autodiff *a, const Frame *loop) {
    NEED(loop->cond, INVALID_ARGUMENT, "Cannot compute gradients of the loop '%.*s': it has no LoopCond",
         STR_ARGS(loop->name));
    for (size_t i = 0; i < loop->vars.n; i++) {
        const LoopVar *var = &loop->vars.p[i];
        NEED(!is_between(a, var->enter) || (var->merge && var->choice && var->next), UNIMPLEMENTED,
             "Cannot compute gradients of the loop '%.*s': {{node %.*s}} begins no variable of Merge, Switch and "
             "NextIteration", STR_ARGS(loop->name), STR_ARGS(var->enter->name));
    }
    for (size_t i = 0; i < loop->exits.n; i++) {
        const Node *exit = loop->exits.p[i];
        NEED(info_of(a, exit->inputs[0].node)->var > 0 && exit->inputs[0].index == 0, UNIMPLEMENTED,
             "Cannot compute gradients of the loop '%.*s': {{node %.*s}} leaves from no variable", STR_ARGS(loop->name),
             STR_ARGS(exit->name));
    }
    return OK;
}

// What comes to the loop's results, zeros where nothing does; in the parent's region: the values with which the
// backward variables begin.
static Status *first_gradients(Autodiff *a, Frame *loop, Output *first) {
    // Zeros need a result to be like: variables that nobody read after the loop get an Exit.
    for (size_t i = 0; i < loop->vars.n; i++) {
        LoopVar *var = &loop->vars.p[i];
        Output exit;
        if (!var_has_gradient(a, var) || var->exit)
            continue;
        TRY(loop_var_exit(a, loop, false, var->choice, &exit));
        loop->vars.p[i].exit = exit.node;
    }
    Formula f;
    formula_begin(a, &f, loop->parent, loop->name);
    for (size_t i = 0; i < loop->vars.n; i++) {
        LoopVar *var = &loop->vars.p[i];
        if (!var_has_gradient(a, var))
            continue;
        Output exit = {var->exit, 0};
        Gradient sum = partial_sum(a, &f, exit);
        first[i] = sum.values.node ? gradient_dense(&f, sum) : formula_op(&f, "ZerosLike", &exit, 1, NULL);
    }
    return formula_end(a, &f, loop->parent);
}

// At the start of a backward iteration the variable is the gradient of the next value (NextIteration's input).
static Status *open_vars(Autodiff *a, Frame *loop, const Output *first) {
    for (size_t i = 0; i < loop->vars.n; i++) {
        LoopVar *var = &loop->vars.p[i];
        if (!var_has_gradient(a, var))
            continue;
        Output entered;
        Shape shape = var->merge->output_shapes[0];
        TRY(loop_back_enter(a, loop, first[i], false, &entered));
        TRY(loop_var_make(a, loop, true, entered, &shape, &var->back_merge, &var->back_choice));
        Output gradient = {var->back_choice, 1};
        TRY(partial_add(a, var->next->inputs[0], (Gradient){.values = gradient}));
    }
    return OK;
}

// The gradient at the start of an iteration: what came to the variable in the body, and in the condition.
static Status *last_gradient(Autodiff *a, Formula *f, const LoopVar *var, Output *out) {
    Output body = {var->choice, 1}, head = {var->merge, 0};
    Gradient in_head = partial_sum(a, f, head);
    if (in_head.values.node)
        TRY(partial_add(a, body, in_head));
    Gradient left = partial_sum(a, f, (Output){var->choice, 0});
    NEED(!left.values.node, UNIMPLEMENTED, "the last value of a loop's variable is used inside the loop");
    Gradient sum = partial_sum(a, f, body);
    Output like = {var->back_choice, 1};
    *out = sum.values.node ? gradient_dense(f, sum) : formula_op(f, "ZerosLike", &like, 1, NULL);
    return OK;
}

// Last, when the whole body has been walked: only then is each sum complete.
static Status *close_vars(Autodiff *a, Frame *loop) {
    for (size_t i = 0; i < loop->vars.n; i++) {
        LoopVar *var = &loop->vars.p[i];
        if (!var_has_gradient(a, var))
            continue;
        Formula f;
        Output next = NONE, result;
        formula_begin(a, &f, loop, loop->name);
        Status *status = last_gradient(a, &f, var, &next);
        if (status)
            formula_fail(&f, status);
        TRY(formula_end(a, &f, loop));
        TRY(loop_var_close(a, loop, true, var->back_merge, next));
        TRY(loop_var_exit(a, loop, true, var->back_choice, &result));
        formula_begin(a, &f, loop->parent, loop->name);
        TRY(contribute(a, &f, loop->branch, var->enter->inputs[0], (Gradient){.values = result}));
        TRY(formula_end(a, &f, loop->parent));
    }
    return OK;
}

// ---------------------------------------- constants

static Output zeros_of(Formula *f, Output outer) {
    if (output_type(outer) != DT_resource)
        return formula_zeros(f, outer);
    // A variable: its gradient has the shape of its value.
    const HandleShape *handle = outer.node->handles[outer.index];
    if (!handle || !shape_is_known(&handle->shape)) {
        formula_fail(f, status_new(UNIMPLEMENTED, __FILE__, __LINE__,
                                   "gradients of a variable of unknown shape, {{node %.*s}}, that a loop reads",
                                   STR_ARGS(outer.node->name)));
        return NONE;
    }
    Output shape = formula_ints(f, handle->shape.dims, handle->shape.rank, DT_int32);
    return Fill(shape, formula_number(f, 0, handle->dtype));
}

// A loop constant is read in each iteration, so its gradient is the sum over all: a variable that begins at zero.
static Status *sum_constant(Autodiff *a, Frame *loop, Node *constant) {
    Formula f;
    formula_begin(a, &f, loop, loop->name);
    Output part = gradient_dense(&f, partial_sum(a, &f, (Output){constant, 0}));
    TRY(formula_end(a, &f, loop));
    if (!part.node)
        return OK;
    formula_begin(a, &f, loop->parent, loop->name);
    Output zeros = zeros_of(&f, constant->inputs[0]), entered, sum, result;
    TRY(formula_end(a, &f, loop->parent));
    Node *merge, *choice;
    Shape shape = *output_shape(zeros);
    TRY(loop_back_enter(a, loop, zeros, false, &entered));
    TRY(loop_var_make(a, loop, true, entered, &shape, &merge, &choice));
    formula_begin(a, &f, loop, loop->name);
    sum = formula_of_list(&f, "AddN", (Output[]){{choice, 1}, part}, 2, NULL);
    TRY(formula_end(a, &f, loop));
    TRY(loop_var_close(a, loop, true, merge, sum));
    TRY(loop_var_exit(a, loop, true, choice, &result));
    formula_begin(a, &f, loop->parent, loop->name);
    TRY(contribute(a, &f, loop->branch, constant->inputs[0], (Gradient){.values = result}));
    return formula_end(a, &f, loop->parent);
}

// ---------------------------------------- the loop

// No gradient reaches the loop's results: it has none to give.
static bool anything_comes(const Autodiff *a, const Frame *loop) {
    for (size_t i = 0; i < loop->exits.n; i++)
        if (info_of(a, loop->exits.p[i])->partials)
            return true;
    return false;
}

// In this order: the counter must leave the forward loop before the backward one can enter it, and variables must be
// open before the body is walked into them.
static Status *loop_build(Autodiff *a, Frame *loop) {
    TRY(check_form(a, loop));
    Str wanted = str_format(&a->arena, "%.*s/%.*s_grad", (int)a->scope.n, a->scope.p, (int)loop->name.n, loop->name.p);
    Output *first = ARENA_ARRAY(&a->arena, Output, loop->vars.n), count;
    NEED_MEMORY(wanted.p && first);
    loop->back_name = str_format(&a->arena, "%.*s/%d", (int)wanted.n, wanted.p, loop->cond->id);
    NEED_MEMORY(loop->back_name.p);
    TRY(count_forward(a, loop, &count));
    TRY(first_gradients(a, loop, first));
    TRY(count_backward(a, loop, count));
    TRY(open_vars(a, loop, first));
    TRY(region_walk(a, loop));
    TRY(close_vars(a, loop));
    for (size_t i = 0; i < loop->constants.n; i++)
        if (is_between(a, loop->constants.p[i]) && dtype_has_gradient(loop->constants.p[i]->output_types[0]))
            TRY(sum_constant(a, loop, loop->constants.p[i]));
    return OK;
}

Status *loop_gradient(Autodiff *a, Frame *loop) {
    if (!anything_comes(a, loop))
        return OK;
    return status_prefix(loop_build(a, loop), "gradient of the loop '%.*s'", STR_ARGS(loop->name));
}
