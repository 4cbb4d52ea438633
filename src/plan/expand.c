// Expand — writes out what stands for something else: function calls, If and While, composed ops.
//
// A call is replaced by the nodes of its function; If becomes Switch and Merge, While becomes a frame. What the expansion
// brings is expanded again. A function that reaches itself stays a call and runs as a step of its own (kernel/call.h), so
// recursion costs a step and everything else costs nothing.
#include "graph/function.h"
#include "plan/pass.h"

#include <stdlib.h>

#include "formula/ops.h"
#include "graph/function.h"
#include "plan/pass.h"

enum { MAX_NODES = 4 << 20, MAX_NESTING = 256 };

// ---- which functions reach themselves

typedef struct {
    const Graph *graph;
    Map state;        // Str -> VISITING, DONE or RECURSIVE
    Arena arena;
} Reach;

static int visiting, done, recursive;  // addresses as marks

static Status *visit(Reach *reach, Str name, int depth);

static Status *visit_attr(Reach *reach, const AttrValueProto *value, int depth) {
    if (value->which == AttrValueProto_func && value->func)
        TRY(visit(reach, value->func->name, depth));
    if (value->which == AttrValueProto_list && value->list)
        for (size_t i = 0; i < value->list->func.n; i++)
            TRY(visit(reach, value->list->func.p[i].name, depth));
    return OK;
}

static Status *visit(Reach *reach, Str name, int depth) {
    const Function *function = function_find(reach->graph, name);
    void *state = map_find(&reach->state, name);
    if (!function || state == &done || state == &recursive)
        return OK;
    NEED(depth < MAX_NESTING, RESOURCE_EXHAUSTED, "functions are nested more than %d deep at '%.*s'", MAX_NESTING,
         STR_ARGS(name));
    if (state == &visiting) {
        NEED_MEMORY(map_set(&reach->state, function->type.name, &recursive));
        return OK;
    }
    NEED_MEMORY(map_set(&reach->state, function->type.name, &visiting));
    const FunctionDef *def;
    TRY(function_body(function, &reach->arena, &def));
    for (size_t i = 0; i < def->node_def.n; i++) {
        TRY(visit(reach, def->node_def.p[i].op, depth + 1));
        for (size_t a = 0; a < def->node_def.p[i].attr.n; a++)
            if (def->node_def.p[i].attr.p[a].value)
                TRY(visit_attr(reach, def->node_def.p[i].attr.p[a].value, depth + 1));
    }
    if (map_find(&reach->state, name) == &visiting)
        NEED_MEMORY(map_set(&reach->state, function->type.name, &done));
    return OK;
}

static Status *is_recursive(Reach *reach, Str name, bool *out) {
    TRY(visit(reach, name, 0));
    *out = map_find(&reach->state, name) == &recursive;
    return OK;
}

// ---- what stands in a node's place

typedef struct {
    Draft *draft;
    Reach reach;
} Expansion;

static Formula formula_at(Expansion *e, const Node *node) {
    return (Formula){.graph = e->draft->graph, .scope = node->name, .device = node->device};
}

// One node to stand for all of the node's control inputs; NULL where it has none.
static Node *before_of(Formula *f, const Node *node) {
    if (!node->n_controls)
        return NULL;
    if (node->n_controls == 1)
        return node->controls[0];
    Node *before = formula_node(f, "NoOp", NULL, 0, NULL);
    for (int i = 0; before && i < node->n_controls; i++)
        formula_fail(f, node_add_control(before, node->controls[i]));
    return before;
}

// Who waited for the node waits for `after`; its outputs come from `results`; then it goes.
static Status *replace(Expansion *e, Node *node, const Output *results, Node *after) {
    for (int i = 0; i < node->n_outputs; i++)
        if (results[i].node)
            TRY(graph_replace_output((Output){node, i}, results[i]));
    while (node->uses.n) {
        Use use = vec_last(&node->uses);
        if (use.index != CONTROL)
            BUG("{{node %.*s}} (%.*s): output %d was not replaced", NODE_ARGS(node), use.index);
        for (int c = 0; c < use.node->n_controls; c++) {
            if (use.node->controls[c] == node) {
                node_remove_control(use.node, c);
                break;
            }
        }
        TRY(node_add_control(use.node, after));
    }
    for (int i = 0; i < e->draft->n_targets; i++)
        if (e->draft->targets[i] == node)
            e->draft->targets[i] = after;
    graph_remove(node);
    return OK;
}

static Node *make_after(Formula *f, const Output *results, int n, Node *const *controls, int n_controls, Node *before) {
    Node *after = formula_node(f, "NoOp", NULL, 0, NULL);
    if (!after)
        return NULL;
    for (int i = 0; i < n_controls; i++)
        formula_fail(f, node_add_control(after, controls[i]));
    for (int i = 0; i < n; i++)
        formula_fail(f, node_add_control(after, results[i].node));
    if (before && !n && !n_controls)
        formula_fail(f, node_add_control(after, before));
    return after;
}

static Status *inline_named(Expansion *e, const Node *node, const FuncRef *ref, Str part, const Output *arguments,
                            int n, Node *before, Output *results, int n_results, Inlining *out) {
    const Function *function = function_find(e->draft->graph, ref->name);
    NEED(function, NOT_FOUND, "{{node %.*s}} (%.*s): function '%.*s' is not in the library", NODE_ARGS(node),
         STR_ARGS(ref->name));
    AUTO(arena) Arena arena = {0};
    Str prefix = part.n ? str_format(&arena, "%.*s/%.*s", STR_ARGS(node->name), STR_ARGS(part)) : node->name;
    *out = (Inlining){.graph = e->draft->graph, .prefix = prefix, .arguments = arguments, .n_arguments = n,
                      .attrs = ref->attrs, .n_attrs = ref->n_attrs, .before = before, .device = node->device,
                      .results = results, .n_results = n_results};
    return node_error(node, function_inline(function, out));
}

static const FuncRef *function_attr(const Node *node, const char *name) {
    const AttrValue *value = node_attr_find(node, name);
    return value && value->kind == ATTR_FUNC && !value->is_list ? value->func : NULL;
}

static Status *expand_call(Expansion *e, Node *node, const FuncRef *ref) {
    AUTO(arena) Arena arena = {0};
    Output *results = ARENA_ARRAY(&arena, Output, node->n_outputs);
    NEED_MEMORY(results);
    Formula f = formula_at(e, node);
    Node *before = before_of(&f, node);
    TRY(f.status);
    Inlining body;
    TRY(inline_named(e, node, ref, (Str){0}, node->inputs, node->n_inputs, before, results, node->n_outputs, &body));
    Node *after = make_after(&f, results, node->n_outputs, body.controls, body.n_controls, before);
    TRY(f.status);
    return replace(e, node, results, after);
}

// A predicate of another type: numbers are true unless zero, as TensorFlow's unlowered If has it.
static Output as_bool(Formula *f, Output cond) {
    if (output_type(cond) == DT_bool)
        return cond;
    return NotEqual(cond, ZerosLike(cond));
}

typedef struct {
    Output *arguments, *results;
    Node *pivot, *end;       // end: a node that runs once the branch's side effects are done
    Inlining body;
} Branch;

static Status *expand_branch(Expansion *e, Formula *f, Node *node, const char *attr, const Output *switched, int side,
                             Output pivot, Branch *branch, Arena *arena) {
    int n = node->n_inputs - 1;
    const FuncRef *ref = function_attr(node, attr);
    NEED(ref, INVALID_ARGUMENT, "{{node %.*s}} (%.*s): attribute %s names no function", NODE_ARGS(node), attr);
    branch->arguments = ARENA_ARRAY(arena, Output, n);
    branch->results = ARENA_ARRAY(arena, Output, node->n_outputs);
    NEED_MEMORY(branch->arguments && branch->results);
    for (int i = 0; i < n; i++)
        branch->arguments[i] = At(switched[i], side);
    branch->pivot = Identity(At(pivot, side)).node;
    TRY(f->status);
    TRY(inline_named(e, node, ref, str_of(attr), branch->arguments, n, branch->pivot, branch->results, node->n_outputs,
                     &branch->body));
    Output end = formula_1(f, "Identity", (Output){branch->pivot, 0});
    TRY(f->status);
    branch->end = end.node;
    for (int i = 0; i < branch->body.n_controls; i++)
        TRY(node_add_control(end.node, branch->body.controls[i]));
    for (int i = 0; i < node->n_outputs; i++)
        TRY(node_add_control(end.node, branch->results[i].node));
    return OK;
}

static Status *expand_if(Expansion *e, Node *node) {
    AUTO(arena) Arena arena = {0};
    int n = node->n_inputs - 1;
    Formula formula = formula_at(e, node), *f = &formula;
    f->before = before_of(f, node);
    Output cond = as_bool(f, node->inputs[0]);
    Output pivot = formula_2(f, "Switch", cond, cond);
    if (f->before && pivot.node)
        formula_fail(f, node_add_control(pivot.node, f->before));
    Output *switched = ARENA_ARRAY(&arena, Output, n), *results = ARENA_ARRAY(&arena, Output, node->n_outputs);
    NEED_MEMORY(switched && results);
    for (int i = 0; i < n; i++)
        switched[i] = formula_2(f, "Switch", node->inputs[1 + i], cond);
    TRY(f->status);
    Branch yes, no;
    TRY(expand_branch(e, f, node, "then_branch", switched, 1, pivot, &yes, &arena));
    TRY(expand_branch(e, f, node, "else_branch", switched, 0, pivot, &no, &arena));
    for (int i = 0; i < node->n_outputs; i++)
        results[i] = formula_of_list(f, "Merge", (Output[]){no.results[i], yes.results[i]}, 2, NULL);
    Output end = formula_of_list(f, "Merge", (Output[]){{no.end, 0}, {yes.end, 0}}, 2, NULL);
    TRY(f->status);
    return replace(e, node, results, end.node);
}

// ---- While

typedef struct {
    Node *node;
    int n;
    Output *enters, *merges, *switches, *next, *exits, *results;
} Loop;

static Status *loop_arrays(Loop *loop, Arena *arena) {
    Output **arrays[] = {&loop->enters, &loop->merges, &loop->switches, &loop->next, &loop->exits, &loop->results};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = ARENA_ARRAY(arena, Output, loop->n);
        NEED_MEMORY(*arrays[i]);
    }
    return OK;
}

static Status *loop_head(Formula *f, Loop *loop) {
    const Node *node = loop->node;
    for (int i = 0; i < loop->n; i++) {
        loop->enters[i] = formula_op(f, "Enter", &node->inputs[i], 1,
                                     ATTRS({"frame_name", ATTR_OF_STRING(node->name)},
                                           INT_ATTR("parallel_iterations", node_int(node, "parallel_iterations"))));
        for (int c = 0; loop->enters[i].node && c < node->n_controls; c++)
            formula_fail(f, node_add_control(loop->enters[i].node, node->controls[c]));
        loop->merges[i] = formula_of_list(f, "Merge", (Output[]){loop->enters[i], loop->enters[i]}, 2, NULL);
    }
    return f->status;
}

static Status *expand_while(Expansion *e, Node *node) {
    AUTO(arena) Arena arena = {0};
    Loop loop = {.node = node, .n = node->n_inputs};
    const FuncRef *cond = function_attr(node, "cond"), *body = function_attr(node, "body");
    NEED(cond && body, INVALID_ARGUMENT, "{{node %.*s}} (%.*s): attributes cond and body must name functions",
         NODE_ARGS(node));
    NEED(loop.n > 0, INVALID_ARGUMENT, "{{node %.*s}} (%.*s): a loop without variables never ends", NODE_ARGS(node));
    TRY(loop_arrays(&loop, &arena));
    Formula formula = formula_at(e, node), *f = &formula;
    Status *status = loop_head(f, &loop);
    TRY(status);
    Output test;
    Inlining inlined;
    TRY(inline_named(e, node, cond, STR("cond"), loop.merges, loop.n, loop.merges[0].node, &test, 1, &inlined));
    Output go = formula_1(f, "LoopCond", as_bool(f, test));
    for (int i = 0; go.node && i < inlined.n_controls; i++)
        formula_fail(f, node_add_control(go.node, inlined.controls[i]));
    for (int i = 0; i < loop.n; i++)
        loop.switches[i] = formula_2(f, "Switch", loop.merges[i], go);
    for (int i = 0; i < loop.n; i++)
        loop.next[i] = Identity(At(loop.switches[i], 1));
    TRY(f->status);
    TRY(inline_named(e, node, body, STR("body"), loop.next, loop.n, loop.next[0].node, loop.results, loop.n,
                     &inlined));
    for (int i = 0; i < loop.n; i++) {
        Output next = formula_1(f, "NextIteration", loop.results[i]);
        // The body's side effects are part of the iteration: the next one waits for them.
        for (int c = 0; i == 0 && next.node && c < inlined.n_controls; c++)
            formula_fail(f, node_add_control(next.node, inlined.controls[c]));
        TRY(f->status);
        TRY(node_set_input(loop.merges[i].node, 1, next));
        loop.exits[i] = formula_1(f, "Exit", At(loop.switches[i], 0));
    }
    Node *after = make_after(f, loop.exits, loop.n, NULL, 0, NULL);
    TRY(f->status);
    return replace(e, node, loop.exits, after);
}

// ---- composed ops

static Status *expand_composed(Expansion *e, Node *node) {
    AUTO(arena) Arena arena = {0};
    Output *y = ARENA_ARRAY(&arena, Output, node->n_outputs), *results = ARENA_ARRAY(&arena, Output, node->n_outputs);
    NEED_MEMORY(y && results);
    Formula f = formula_at(e, node);
    f.node = node;
    f.x = node->inputs;
    f.n_x = node->n_inputs;
    f.y = y;
    f.n_y = node->n_outputs;
    f.results = results;
    f.before = before_of(&f, node);
    node_op(node)->expand(&f);
    TRY(node_error(node, f.status));
    f.status = OK;
    for (int i = 0; i < node->n_outputs; i++)
        NEED(results[i].node, UNIMPLEMENTED, "{{node %.*s}} (%.*s): can't be written out for inputs of unknown rank",
             NODE_ARGS(node));
    Node *after = make_after(&f, results, node->n_outputs, NULL, 0, f.before);
    TRY(f.status);
    return replace(e, node, results, after);
}

static bool calls_function(const Node *node, FuncRef *room, const FuncRef **out) {
    if (node->type->function) {
        *room = (FuncRef){node->type->name, node->attrs, node->n_attrs};
        *out = room;
        return true;
    }
    *out = node_flow(node) == FLOW_CALL ? function_attr(node, "f") : NULL;
    return *out != NULL;
}

static Status *expand_node(Expansion *e, Node *node) {
    FuncRef room;
    const FuncRef *ref;
    if (calls_function(node, &room, &ref)) {
        bool keep;
        TRY(node_error(node, is_recursive(&e->reach, ref->name, &keep)));
        return keep ? OK : expand_call(e, node, ref);
    }
    switch (node_flow(node)) {
    case FLOW_IF: return expand_if(e, node);
    case FLOW_WHILE: return expand_while(e, node);
    default: break;
    }
    const Op *op = node_op(node);
    if (op && op->expand && !op->cpu)
        return expand_composed(e, node);
    return OK;
}

static Status *expand_all(Expansion *e) {
    Graph *graph = e->draft->graph;
    // Nodes that an expansion adds come behind, so one walk over the growing list sees them too.
    for (size_t i = 0; i < graph->nodes.n; i++) {
        NEED(graph->nodes.n <= MAX_NODES, RESOURCE_EXHAUSTED, "the functions expand to more than %d nodes", MAX_NODES);
        if (graph->nodes.p[i])
            TRY(expand_node(e, graph->nodes.p[i]));
    }
    return OK;
}

Status *pass_expand(Draft *draft) {
    Expansion e = {.draft = draft, .reach = {.graph = draft->graph}};
    Status *status = expand_all(&e);
    map_clear(&e.reach.state);
    arena_clear(&e.reach.arena);
    return status;
}
