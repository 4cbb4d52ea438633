// Lowering, called — what has no gradient of its own but stands for other nodes is copied out, and gradients go to the
// copy.
//
// A stateless node stays as it is: its copy computes the same, and the planner joins the two. A stateful one would have
// its effects twice and draw other random numbers: it becomes an IdentityN of the copy's results.
#include "formula/lower.h"

#include "autodiff/autodiff_internal.h"
#include "formula/ops.h"
#include "graph/function.h"

enum {
    MAX_ROUNDS = 64,        // calls inside calls
    MAX_COPIES = 1 << 20,   // nodes: recursion without end stops here
};

// The name of the gradient function that a library gives a function (GradientDef); such a call isn't looked into.
Str called_gradient(const Autodiff *a, const Node *node) {
    const AttrValue *ref = node_flow(node) == FLOW_CALL ? node_attr_find(node, "f") : NULL;
    if (node->type->function)
        return function_gradient(a->graph, node->type->name);
    return ref && ref->kind == ATTR_FUNC && !ref->is_list ? function_gradient(a->graph, ref->func->name) : (Str){0};
}

// On a path from xs to ys, standing for others, and without a gradient of its own by op, client or library.
static bool is_wanted(const Autodiff *a, const Node *node) {
    const Op *op = node->type->op;
    const Info *info = info_of(a, node);
    if (!is_between(a, node) || info->stand_ins || info->own || info->stops || !lower_is_needed(node) ||
        called_gradient(a, node).n)
        return false;
    return !op || !(op->grad || (op->flags & OP_NO_GRADIENT));
}

static Status *copy_out(Autodiff *a, Node *node, Output *results, Node ***controls, int32_t *n_controls) {
    const Info *info = info_of(a, node);
    Formula f = {.graph = a->graph, .node = node, .x = node->inputs, .n_x = node->n_inputs, .n_y = node->n_outputs,
                 .results = results, .device = node->device};
    Str wanted = str_format(&a->arena, "%.*s/%.*s", (int)a->scope.n, a->scope.p, (int)node->name.n, node->name.p);
    NEED_MEMORY(wanted.p);
    TRY(graph_unique_name(a->graph, wanted, &f.scope));
    // Constants of the copy must be where the call is.
    if ((is_loop(info->frame) || info->branch) && node->n_inputs)
        f.before = node->inputs[0].node;
    TRY(lower_node(&f, controls, n_controls));
    return infos_grow(a);
}

// Identities, since a result of the copy may be an argument as it is, whose gradient would be mistaken for the call's.
static Status *keep_stand_ins(Autodiff *a, Node *node, const Output *results) {
    Formula f = {.graph = a->graph, .scope = a->scope};
    Output *stand_ins = ARENA_ARRAY(&a->arena, Output, node->n_outputs);
    NEED_MEMORY(stand_ins);
    for (int i = 0; i < node->n_outputs; i++)
        stand_ins[i] = formula_op(&f, "Identity", &results[i], 1, NULL);
    TRY(f.status);
    TRY(infos_grow(a));
    for (int i = 0; i < node->n_outputs; i++)
        info_of(a, stand_ins[i].node)->stands_for = node;
    info_of(a, node)->stand_ins = stand_ins;
    return OK;
}

// The node is an IdentityN from now on; what it was goes to a new node, so that this can be undone.
static Status *replace(Autodiff *a, Node *node, const Output *results, Node *const *controls, int32_t n_controls) {
    Formula f = {.graph = a->graph, .scope = a->scope};
    Node *twin = formula_node(&f, "IdentityN", &(FormulaArg){results, node->n_outputs, true}, 1, NULL);
    TRY(f.status);
    for (int i = 0; i < node->n_controls; i++)
        TRY(node_add_control(twin, node->controls[i]));
    for (int i = 0; i < n_controls; i++)
        TRY(node_add_control(twin, controls[i]));
    TRY(infos_grow(a));
    NEED_MEMORY(vec_push(&a->replaced, (Replaced){node, twin}));
    graph_swap_nodes(node, twin);
    return OK;
}

// Fewer unknown extents make fewer nodes: gradients of broadcasts ask for shapes at run time where they aren't known.
static void take_shapes(Node *node, const Output *results) {
    for (int i = 0; i < node->n_outputs; i++) {
        Shape merged;
        Status *status = shape_merge(&node->output_shapes[i], output_shape(results[i]), &merged);
        if (!status)
            node->output_shapes[i] = merged;
        status_free(status);
    }
}

static Status *lower_one(Autodiff *a, Node *node) {
    Output *results = ARENA_ARRAY(&a->arena, Output, node->n_outputs);
    NEED_MEMORY(results);
    Node **controls;
    int32_t n_controls;
    TRY(copy_out(a, node, results, &controls, &n_controls));
    take_shapes(node, results);
    if (node->n_outputs > 0 && node_is_stateful(node))
        return replace(a, node, results, controls, n_controls);
    return keep_stand_ins(a, node, results);
}

// What was unknown behind a call may be known from its copy. Nothing depends on it but fewer nodes.
static Status *infer_shapes_anew(Autodiff *a) {
    Graph *graph = a->graph;
    Node **order = calloc(graph->nodes.n + 1, sizeof *order);
    NEED_MEMORY(order);
    size_t n = 0;
    Status *status = graph_order(graph, order, &n);
    for (size_t i = 0; i < n && !status; i++)
        status_free(node_infer_shapes(order[i]));
    free(order);
    return status;
}

Status *lower_calls(Autodiff *a, bool *changed) {
    *changed = false;
    size_t n = a->graph->nodes.n;
    for (size_t i = 0; i < n; i++) {
        Node *node = a->graph->nodes.p[i];
        if (!node || !is_wanted(a, node))
            continue;
        TRY(lower_one(a, node));
        *changed = true;
    }
    a->rounds++;
    NEED(!*changed || (a->rounds < MAX_ROUNDS && a->graph->nodes.n - a->first_new < MAX_COPIES), UNIMPLEMENTED,
         "Cannot compute gradients of functions that call themselves");
    return *changed ? infer_shapes_anew(a) : OK;
}
