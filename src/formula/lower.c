// Lowering — see lower.h.
#include "formula/lower.h"

#include <stdio.h>

#include "formula/ops.h"
#include "graph/function.h"
#include "graph/shapes.h"

bool lower_is_needed(const Node *node) {
    Flow flow = node_flow(node);
    return node->type->function || flow == FLOW_CALL || flow == FLOW_IF || flow == FLOW_WHILE ||
           (node->type->op && node->type->op->expand);
}

typedef struct {
    Node **list;
    int32_t n;
} Controls;

// ---------------------------------------- calls

static Status *function_of(const Formula *f, const FuncRef *ref, const Function **out) {
    *out = function_find(f->graph, ref->name);
    NEED(*out, NOT_FOUND, "Function '%.*s' is not defined", STR_ARGS(ref->name));
    return OK;
}

static Status *func_attr(const Node *node, const char *name, const FuncRef **out) {
    const AttrValue *value = node_attr_find(node, name);
    NEED(value && value->kind == ATTR_FUNC && !value->is_list, INVALID_ARGUMENT, "attr '%s' is no function", name);
    *out = value->func;
    return OK;
}

static Status *sub_scope(const Formula *f, const char *name, Str *out) {
    *out = f->scope.n ? str_format(&f->graph->arena, "%.*s/%s", (int)f->scope.n, f->scope.p, name)
                      : str_copy(&f->graph->arena, str_of(name));
    NEED_MEMORY(out->p);
    return OK;
}

// The body of a function over these arguments; `results` has room for `n_results`.
static Status *inline_body(const Formula *f, const Function *function, const AttrEntry *attrs, int n_attrs, Str prefix,
                           const Output *args, int n_args, Node *before, Output *results, int n_results,
                           Controls *controls) {
    Inlining in = {.graph = f->graph, .prefix = prefix, .arguments = args, .n_arguments = n_args, .attrs = attrs,
                   .n_attrs = n_attrs, .before = before, .device = f->device, .results = results,
                   .n_results = n_results};
    TRY(status_prefix(function_inline(function, &in), "in function '%.*s'", STR_ARGS(function->type.name)));
    if (controls)
        *controls = (Controls){in.controls, in.n_controls};
    return OK;
}

static Status *lower_call(Formula *f, Controls *controls) {
    const Node *node = f->node;
    if (node->type->function)
        return inline_body(f, node->type->function, node->attrs, node->n_attrs, f->scope, f->x, f->n_x, f->before,
                           f->results, node->n_outputs, controls);
    const FuncRef *ref;
    const Function *function;
    TRY(func_attr(node, "f", &ref));
    TRY(function_of(f, ref, &function));
    return inline_body(f, function, ref->attrs, ref->n_attrs, f->scope, f->x, f->n_x, f->before, f->results,
                       node->n_outputs, controls);
}

// ---------------------------------------- conditionals

// Numbers are true when not zero, strings and larger tensors when not empty. A bool of unknown rank is taken for a
// scalar where asking would cost each iteration of a loop; the Switches refuse another, as those of TensorFlow's loops
// do.
static Output truth(Formula *f, Output value, bool each_iteration) {
    int rank = output_shape(value)->rank;
    bool is_one = output_type(value) == DT_bool && (rank == 0 || (rank < 0 && each_iteration));
    return is_one ? value : formula_1(f, "ToBool", value);
}

// One side of a conditional: its function over its side of the Switches.
typedef struct {
    const FuncRef *ref;
    const char *name;
    int side;
    Output *results;
} Side;

static Status *inline_side(Formula *f, const Side *side, const Output *switched, int n, Node *pivot, int n_results,
                           Controls *controls) {
    const Function *function;
    TRY(function_of(f, side->ref, &function));
    Str scope;
    TRY(sub_scope(f, side->name, &scope));
    Output *args = ARENA_ARRAY(&f->graph->arena, Output, n);
    NEED_MEMORY(args);
    for (int i = 0; i < n; i++)
        args[i] = At(switched[i], side->side);
    return inline_body(f, function, side->ref->attrs, side->ref->n_attrs, scope, args, n, pivot, side->results,
                       n_results, controls);
}

// The switched inputs, and on each side a node that runs when that side does.
static Status *switch_inputs(Formula *f, Output pred, const Output *in, int n, Output *switched, Node *pivots[2]) {
    for (int i = 0; i < n; i++)
        switched[i] = formula_2(f, "Switch", in[i], pred);
    Output both = formula_2(f, "Switch", pred, pred);
    for (int side = 0; side < 2; side++)
        pivots[side] = Identity(At(both, side)).node;
    Status *status = f->status;
    f->status = NULL;
    return status;
}

// Runs once either side has done what it must do.
static Status *join_controls(Formula *f, const Controls sides[2], Node *const pivots[2], Controls *out) {
    *out = (Controls){0};
    if (sides[0].n == 0 && sides[1].n == 0)
        return OK;
    Output done[2];
    for (int side = 0; side < 2; side++) {
        Output pivot = {pivots[side], 0};
        done[side] = Identity(pivot);
        for (int i = 0; i < sides[side].n && !f->status; i++)
            TRY(node_add_control(done[side].node, sides[side].list[i]));
    }
    Output joined = formula_of_list(f, "Merge", done, 2, NULL);
    Status *status = f->status;
    f->status = NULL;
    TRY(status);
    out->list = ARENA_NEW(&f->graph->arena, Node *);
    NEED_MEMORY(out->list);
    out->list[0] = joined.node;
    out->n = 1;
    return OK;
}

static Status *merge_results(Formula *f, const Output *no, const Output *yes, int n, Output *out) {
    for (int i = 0; i < n; i++)
        out[i] = formula_of_list(f, "Merge", (Output[]){no[i], yes[i]}, 2, NULL);
    Status *status = f->status;
    f->status = NULL;
    return status;
}

static Status *lower_if(Formula *f, Controls *controls) {
    const Node *node = f->node;
    int n = f->n_x - 1, n_out = node->n_outputs;
    Arena *arena = &f->graph->arena;
    Output *switched = ARENA_ARRAY(arena, Output, n), *no = ARENA_ARRAY(arena, Output, n_out),
           *yes = ARENA_ARRAY(arena, Output, n_out);
    NEED_MEMORY(switched && no && yes);
    Node *pivots[2];
    Controls sides[2];
    Side then_side = {.name = "then", .side = 1, .results = yes},
        else_side = {.name = "else", .side = 0, .results = no};
    TRY(func_attr(node, "then_branch", &then_side.ref));
    TRY(func_attr(node, "else_branch", &else_side.ref));
    TRY(switch_inputs(f, truth(f, f->x[0], false), f->x + 1, n, switched, pivots));
    TRY(inline_side(f, &else_side, switched, n, pivots[0], n_out, &sides[0]));
    TRY(inline_side(f, &then_side, switched, n, pivots[1], n_out, &sides[1]));
    TRY(merge_results(f, no, yes, n_out, f->results));
    return join_controls(f, sides, pivots, controls);
}

// A chain: is it branch 0? else, is it branch 1? ... The last branch also takes every index outside.
typedef struct {
    Formula *f;
    const AttrValue *branches;
    int n, n_out;
    Output index;
} Choice;

static Status *choose_from(Choice *c, int k, const Output *in, Node *pivot, Output *results, Controls *controls) {
    Formula *f = c->f;
    Arena *arena = &f->graph->arena;
    Output *switched = ARENA_ARRAY(arena, Output, c->n + 1), *no = ARENA_ARRAY(arena, Output, c->n_out),
           *yes = ARENA_ARRAY(arena, Output, c->n_out);
    char name[32];
    snprintf(name, sizeof name, "branch%d", k);
    NEED_MEMORY(switched && no && yes);
    if (k == c->branches->n - 1) {  // in[] is already on this branch's side
        Side last = {.ref = &c->branches->funcs[k], .name = name, .results = results};
        const Function *function;
        Str scope;
        TRY(function_of(f, last.ref, &function));
        TRY(sub_scope(f, name, &scope));
        return inline_body(f, function, last.ref->attrs, last.ref->n_attrs, scope, in + 1, c->n, pivot, results,
                           c->n_out, controls);
    }
    Node *pivots[2], *before = f->before;
    Controls sides[2];
    if (pivot)
        f->before = pivot;
    Output pred = Equal(in[0], Int(k));
    f->before = before;
    TRY(switch_inputs(f, pred, in, c->n + 1, switched, pivots));
    Side here = {.ref = &c->branches->funcs[k], .name = name, .side = 1, .results = yes};
    TRY(inline_side(f, &here, switched + 1, c->n, pivots[1], c->n_out, &sides[1]));
    // What is left goes to the other side: output 0 of each Switch, which is what `switched` names.
    TRY(choose_from(c, k + 1, switched, pivots[0], no, &sides[0]));
    TRY(merge_results(f, no, yes, c->n_out, results));
    return join_controls(f, sides, pivots, controls);
}

static Status *lower_case(Formula *f, const AttrValue *branches, Controls *controls) {
    enum { MAX_CASES = 1000 };  // one conditional inside the other
    NEED(branches->n >= 1 && branches->n <= MAX_CASES, UNIMPLEMENTED, "a Case of %d branches", branches->n);
    Choice c = {f, branches, f->n_x - 1, f->node->n_outputs, f->x[0]};
    return choose_from(&c, 0, f->x, f->before, f->results, controls);
}

// ---------------------------------------- loops

static const NodeDef *body_node(const FunctionDef *body, Str name) {
    for (size_t i = 0; i < body->node_def.n; i++)
        if (str_equal(body->node_def.p[i].name, name))
            return &body->node_def.p[i];
    return NULL;
}

static Str first_part(Str text) {
    const char *colon = text.n ? memchr(text.p, ':', text.n) : NULL;
    return (Str){text.p, colon ? (size_t)(colon - text.p) : text.n};
}

static bool hands_on(Str op) {
    const OpType *type;
    Status *status = op_type_find(op, &type);
    bool found = !status;
    status_free(status);
    return found && type->op && (type->op->alias & BIT(0)) && type->op->shape == shape_unchanged &&
           type->op->flow == FLOW_NONE && type->signature.n_inputs == 1;
}

// Whether result i of the body is argument i, perhaps through identities: then the value is the same in all iterations.
static bool is_invariant(const Function *function, const FunctionDef *body, int i) {
    Str want = function->type.signature.outputs[i].name, source = {0};
    for (size_t k = 0; k < body->ret.n; k++)
        if (str_equal(body->ret.p[k].key, want))
            source = body->ret.p[k].value;
    for (int steps = 0; steps < 16 && source.n; steps++) {
        Str name = first_part(source);
        if (str_equal(name, function->type.signature.inputs[i].name))
            return true;
        const NodeDef *node = body_node(body, name);
        if (!node || node->input.n == 0 || !hands_on(node->op))
            return false;
        source = node->input.p[0];
    }
    return false;
}

static Status *find_invariants(const Function *function, int n, bool *out) {
    const Signature *signature = &function->type.signature;
    AUTO(arena) Arena arena = {0};
    const FunctionDef *body;
    TRY(function_body(function, &arena, &body));
    for (int i = 0; i < n && signature->n_inputs == n && signature->n_outputs == n; i++)
        out[i] = is_invariant(function, body, i);
    return OK;
}

typedef struct {
    Formula *f;
    int n;
    bool *invariant;     // which variables never change
    Output *merged;      // what the condition reads
    Output *inside;      // what the body reads
    Output *choices;     // the Switches
    Output *next;        // what the body made
} Loop;

static Output enter(Loop *loop, Output x, bool constant) {
    Formula *f = loop->f;
    int64_t parallel = node_int(f->node, "parallel_iterations");
    return OpWith("Enter", ATTRS({"frame_name", ATTR_OF_STRING(f->scope)}, BOOL_ATTR("is_constant", constant),
                                 INT_ATTR("parallel_iterations", parallel > 0 ? parallel : 10)), x);
}

static Status *take_status(Formula *f) {
    Status *status = f->status;
    f->status = NULL;
    return status;
}

static Status *loop_begin(Loop *loop) {
    Formula *f = loop->f;
    const AttrValue *shapes = node_list(f->node, "output_shapes");
    for (int i = 0; i < loop->n; i++) {
        Output entered = enter(loop, f->x[i], loop->invariant[i]);
        // The back edge begins as a second edge from the Enter and is turned at the end.
        loop->merged[i] = loop->invariant[i] ? entered : formula_of_list(f, "Merge", (Output[]){entered, entered}, 2, NULL);
        // Shapes may change from iteration to iteration, but for what the While declares.
        bool declared = shapes->kind == ATTR_SHAPE && i < shapes->n;
        if (!loop->invariant[i] && !f->status)
            loop->merged[i].node->output_shapes[0] = declared ? shapes->shapes[i] : UNKNOWN_SHAPE;
    }
    return take_status(f);
}

static Status *loop_cond(Loop *loop, Output *out) {
    Formula *f = loop->f;
    const FuncRef *ref;
    const Function *function;
    Str scope;
    Output result;
    TRY(func_attr(f->node, "cond", &ref));
    TRY(function_of(f, ref, &function));
    TRY(sub_scope(f, "cond", &scope));
    TRY(inline_body(f, function, ref->attrs, ref->n_attrs, scope, loop->merged, loop->n, loop->merged[0].node, &result,
                    1, NULL));
    *out = formula_1(f, "LoopCond", truth(f, result, true));
    return take_status(f);
}

static Status *loop_body(Loop *loop, Output cond, const Function *function, const FuncRef *ref, Controls *controls) {
    Formula *f = loop->f;
    Str scope;
    Node *pivot = NULL;
    for (int i = 0; i < loop->n; i++) {
        loop->inside[i] = loop->merged[i];
        if (loop->invariant[i])
            continue;
        loop->choices[i] = formula_2(f, "Switch", loop->merged[i], cond);
        loop->inside[i] = Identity(At(loop->choices[i], 1));
    }
    Output both = formula_2(f, "Switch", cond, cond);
    pivot = Identity(At(both, 1)).node;
    TRY(take_status(f));
    TRY(sub_scope(f, "body", &scope));
    return inline_body(f, function, ref->attrs, ref->n_attrs, scope, loop->inside, loop->n, pivot, loop->next, loop->n,
                       controls);
}

static Status *loop_end(Loop *loop, const Controls *controls) {
    Formula *f = loop->f;
    Node *last = NULL;
    for (int i = 0; i < loop->n; i++) {
        if (loop->invariant[i])
            continue;
        Output next = formula_1(f, "NextIteration", loop->next[i]);
        f->results[i] = formula_1(f, "Exit", loop->choices[i]);
        TRY(take_status(f));
        TRY(node_set_input(loop->merged[i].node, 1, next));
        // An iteration ends when what its body must do is done.
        for (int k = 0; k < controls->n; k++)
            TRY(node_add_control(next.node, controls->list[k]));
        last = f->results[i].node;
    }
    // What doesn't change is there from the beginning, but whoever reads it waits for the loop.
    for (int i = 0; i < loop->n; i++) {
        if (!loop->invariant[i])
            continue;
        f->results[i] = Identity(f->x[i]);
        TRY(take_status(f));
        TRY(node_add_control(f->results[i].node, last));
    }
    return OK;
}

static Status *lower_while(Formula *f) {
    Arena *arena = &f->graph->arena;
    int n = f->n_x;
    Loop loop = {f, n, ARENA_ARRAY(arena, bool, n), ARENA_ARRAY(arena, Output, n), ARENA_ARRAY(arena, Output, n),
                 ARENA_ARRAY(arena, Output, n), ARENA_ARRAY(arena, Output, n)};
    NEED_MEMORY(loop.invariant && loop.merged && loop.inside && loop.choices && loop.next);
    NEED(n > 0, UNIMPLEMENTED, "a While without variables");
    const FuncRef *ref;
    const Function *body;
    Output cond;
    Controls controls;
    TRY(func_attr(f->node, "body", &ref));
    TRY(function_of(f, ref, &body));
    TRY(find_invariants(body, n, loop.invariant));
    bool changes = false;
    for (int i = 0; i < n; i++)
        changes |= !loop.invariant[i];
    if (!changes)  // it runs for ever or never; one variable keeps the form of a loop
        loop.invariant[0] = false;
    TRY(loop_begin(&loop));
    TRY(loop_cond(&loop, &cond));
    TRY(loop_body(&loop, cond, body, ref, &controls));
    return loop_end(&loop, &controls);
}

// ---------------------------------------- all

static Status *lower(Formula *f, Controls *controls) {
    const Op *op = f->node->type->op;
    const AttrValue *branches;
    switch (node_flow(f->node)) {
    case FLOW_IF:
        branches = node_attr_find(f->node, "branches");
        return branches && branches->is_list ? lower_case(f, branches, controls) : lower_if(f, controls);
    case FLOW_WHILE: return lower_while(f);
    case FLOW_CALL: return lower_call(f, controls);
    default: break;
    }
    if (f->node->type->function)
        return lower_call(f, controls);
    NEED(op && op->expand, INTERNAL, "op %.*s stands for nothing else", STR_ARGS(f->node->type->name));
    op->expand(f);
    return take_status(f);
}

Status *lower_node(Formula *f, Node ***controls, int32_t *n_controls) {
    Controls found = {0};
    Status *status = lower(f, &found);
    if (status) {
        status_free(take_status(f));
        return status_prefix(status, "{{node %.*s}} (%.*s)", NODE_ARGS(f->node));
    }
    *controls = found.list;
    *n_controls = found.n;
    return OK;
}
