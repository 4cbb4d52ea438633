// Expand — writes out what stands for something else: function calls, If and While, composed ops.
//
// A call is replaced by the nodes of its function (inlining); If becomes Switch and Merge, While becomes a frame
// (lowering), as TensorFlow does; how is formula/lower.c's. What the expansion brings is expanded again. A function
// that reaches itself stays a call and runs as a step of its own (kernel/call.h), so recursion costs a step and
// everything else costs nothing.
#include <stdlib.h>

#include "device/compiler.h"
#include "formula/lower.h"
#include "formula/ops.h"
#include "graph/function.h"
#include "plan/pass.h"

// A few lines of hostile library expand to 2^n nodes (each function calls the next one twice); MAX_ADDED ends that. The
// depth is bounded since visit() recurses, on the caller's stack.
enum { MAX_ADDED = 1 << 20, MAX_NESTING = 256 };

// ---- which functions reach themselves

typedef struct {
    const Graph *graph;
    Map state;        // Str -> VISITING, DONE or RECURSIVE
    Arena arena;
} Reach;

// Depth-first search in three colours. A function met again while it is being visited closes a cycle; only that one is
// marked: the others on the cycle are inlined up to the call of it.
static int visiting, done, recursive;  // addresses as marks

static Status *visit(Reach *reach, Str name, int depth);

// Functions are reached through attributes (the branches of an If, lists of them in Case) as well as by op name.
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
    size_t seen;     // nodes that were asked
    bool loops;      // one of them enters a frame
} Expansion;

// Whether the graph enters a frame. Each node is looked at once, and the answer never goes back to no: functions that
// call others by the thousand ask again after each call, and walks over the whole graph would be quadratic.
static bool has_frames(Expansion *e) {
    const Graph *graph = e->draft->graph;
    for (; e->seen < graph->nodes.n; e->seen++)
        e->loops |= graph->nodes.p[e->seen] && node_flow(graph->nodes.p[e->seen]) == FLOW_ENTER;
    return e->loops;
}

// One node to stand for all of the node's control inputs, so that each node of the expansion waits by one edge; NULL
// where it has none.
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
    for (int i = 0; node->is_target && i < e->draft->n_targets; i++)
        if (e->draft->targets[i] == node)
            e->draft->targets[i] = after;
    if (node->is_target && after)
        after->is_target = true;
    graph_remove(node);
    return OK;
}

// The node that who waited for the call waits for: all effects of the body and all results, as a call is done when
// everything in it is. An empty body passes its own wait on.
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

// The function that the node calls directly, by its op's name or an attribute `f`; NULL where it calls none. If and
// While call, too, but what stands in their place reaches functions only through further nodes.
static const FuncRef *called(const Node *node, FuncRef *room) {
    if (node->type->function) {
        *room = (FuncRef){node->type->name, (AttrEntry *)node->attrs, node->n_attrs};  // only read
        return room;
    }
    const AttrValue *value = node_flow(node) == FLOW_CALL ? node_attr_find(node, "f") : NULL;
    return value && value->kind == ATTR_FUNC && !value->is_list ? value->func : NULL;
}

// A conditional or a loop that a device takes as it is stays for claim.c. In the master's own task: others get a graph
// that is written out.
static bool stays_functional(const Draft *draft, const Node *node) {
    const DeviceSet *devices = draft->options->devices;
    Str home = draft->options->home;
    DeviceSpec spec = {.ordinal = -1};
    bool flows = node_flow(node) == FLOW_IF || node_flow(node) == FLOW_WHILE;
    if (!flows || !draft->written_out || draft->options->partial || map_find(draft->written_out, node->name))
        return false;
    AUTO(status) Status *status = node->device.n ? device_spec_parse(node->device, &spec) : OK;
    for (int d = 0; d < devices->n && !status; d++) {
        const Device *device = devices->devices[d];
        if (device->type->compiler && (!home.n || str_equal(device_task(device), home)) &&
            (!node->device.n || device_spec_matches(&spec, device)))
            return device->type->compiler->claims(device, node);
    }
    return false;
}

static Status *expand_node(Expansion *e, Node *node) {
    const Op *op = node_op(node);
    // A composed op that has a kernel as well keeps the kernel.
    if (!lower_is_needed(node) || (op && op->expand && op->cpu))
        return OK;
    if (stays_functional(e->draft, node)) {
        e->draft->n_functional++;
        return OK;
    }
    FuncRef room;
    const FuncRef *ref = called(node, &room);
    bool keep = false;
    if (ref)
        TRY(node_error(node, is_recursive(&e->reach, ref->name, &keep)));
    if (keep)
        return OK;
    AUTO(arena) Arena arena = {0};
    Output *y = ARENA_ARRAY(&arena, Output, node->n_outputs), *results = ARENA_ARRAY(&arena, Output, node->n_outputs);
    NEED_MEMORY(y && results);
    Formula f = {.graph = e->draft->graph, .scope = node->name, .device = node->device, .node = node, .x = node->inputs,
                 .y = y, .results = results, .n_x = node->n_inputs, .n_y = node->n_outputs};
    f.before = before_of(&f, node);
    if (!f.before && node->n_inputs && node_flow(node) != FLOW_WHILE && has_frames(e))
        f.before = node->inputs[0].node;  // constants of what stands for it belong to the same frame
    TRY(f.status);
    Node **controls = NULL;
    int32_t n_controls = 0;
    TRY(node_error(node, lower_node(&f, &controls, &n_controls)));
    Node *after = make_after(&f, results, node->n_outputs, controls, n_controls, f.before);
    TRY(f.status);
    return replace(e, node, results, after);
}

// A fixed point by construction: the list grows behind the walk until nothing is added, or too much is.
static Status *expand_all(Expansion *e) {
    Graph *graph = e->draft->graph;
    size_t before = graph->nodes.n;
    // Nodes that an expansion adds come behind, so one walk over the growing list sees them too.
    for (size_t i = 0; i < graph->nodes.n; i++) {
        NEED(graph->nodes.n - before <= MAX_ADDED, RESOURCE_EXHAUSTED, "the functions expand to more than %d nodes",
             MAX_ADDED);
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
