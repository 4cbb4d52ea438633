// Emits — whether a node may be part of a module: see module.h.
#include "hlo/hlo_internal.h"

enum { MOST_NODES = 1 << 14 };  // of functions in functions that are looked at

static bool emits(const Node *node, int depth, int *budget);

// What the host computes when the module is written: of shapes, or of small integers alone.
static bool is_known(const OpType *type) {
    const Op *op = type->op;
    uint32_t all = type->signature.n_inputs < MAX_ARGS ? BIT(type->signature.n_inputs) - 1 : 0;
    return (op->flags & OP_FROM_SHAPES) || (all && (op->host & all) == all && !(op->flags & OP_STATEFUL) && !op->open);
}

static bool writes(const OpType *type) {
    const Op *op = type->op;
    return op && (op->hlo || op->expand || (op->flags & OP_IDENTITY) || is_known(type));
}

static bool fragment_emits(const HloFragment *fragment, int depth, int *budget) {
    AUTO(arena) Arena arena = {0};
    Node **order;
    size_t n;
    AUTO(status) Status *status = hlo_fragment_order(fragment, &arena, &order, &n);
    bool good = !status;
    for (size_t i = 0; i < n && good; i++) {
        bool is_argument = false;
        for (int j = 0; j < fragment->n_arguments; j++)
            is_argument |= fragment->arguments[j].node == order[i];
        good = is_argument || emits(order[i], depth + 1, budget);
    }
    return good;
}

static bool function_emits(const Node *node, const FuncRef *ref, int n_arguments, int n_results, int depth, int *budget) {
    AUTO(arena) Arena arena = {0};
    HloFragment fragment = {0};
    Status *status = hlo_function(node->graph, ref, n_arguments, n_results, &arena, &fragment);
    bool good = !status && fragment_emits(&fragment, depth, budget);
    status_free(status);
    if (fragment.graph)
        graph_release(fragment.graph);
    return good;
}

static bool expansion_emits(const Node *node, int depth, int *budget) {
    AUTO(arena) Arena arena = {0};
    HloFragment fragment = {0};
    Shape *in = ARENA_ARRAY(&arena, Shape, node->n_inputs);
    const Tensor **known = ARENA_ARRAY(&arena, const Tensor *, node->n_inputs);
    if (!in || !known)
        return false;
    for (int i = 0; i < node->n_inputs; i++) {
        in[i] = node->inputs[i].node->output_shapes[node->inputs[i].index];
        known[i] = output_constant(node->inputs[i]);
    }
    Status *status = hlo_expansion(node, in, known, &arena, &fragment);
    bool good = !status && fragment_emits(&fragment, depth, budget);
    status_free(status);
    if (fragment.graph)
        graph_release(fragment.graph);
    return good;
}

// The functions that attributes of its op name: branches, condition and body.
static bool functions_emit(const Node *node, int depth, int *budget) {
    int skipped = node_flow(node) == FLOW_IF;  // the condition isn't handed on
    for (int a = 0; a < node->n_attrs; a++) {
        const AttrValue *value = &node->attrs[a].value;
        if (value->kind != ATTR_FUNC)
            continue;
        bool condition = node_flow(node) == FLOW_WHILE && str_is(node->attrs[a].name, "cond");
        for (int i = 0; i < (value->is_list ? value->n : 1); i++)
            if (!function_emits(node, value->is_list ? &value->funcs[i] : value->func, node->n_inputs - skipped,
                                condition ? 1 : node->n_outputs, depth, budget))
                return false;
    }
    return true;
}

static bool types_are_known(const Node *node) {
    for (int i = 0; i < node->n_inputs; i++) {
        DType dtype = node_input_type(node, i);
        if (!node->inputs[i].node || (dtype != DT_resource && !hlo_type_name(dtype)))
            return false;
    }
    for (int i = 0; i < node->n_outputs; i++) {
        DType dtype = dtype_base(node->output_types[i]);
        if (dtype != DT_resource && !hlo_type_name(dtype))
            return false;
    }
    return true;
}

static bool emits(const Node *node, int depth, int *budget) {
    const Op *op = node->type->op;
    FuncRef room;
    if (depth > HLO_DEPTH || --*budget < 0 || !types_are_known(node))
        return false;
    if (depth && op && op->open && !(op->flags & OP_CACHES))  // a random stream is that of a node of the plan
        return false;
    const FuncRef *called = hlo_called(node, &room);
    if (called)
        return function_emits(node, called, node->n_inputs, node->n_outputs, depth, budget);
    if (!writes(node->type))
        return output_constant((Output){(Node *)node, 0}) != NULL && !node->n_inputs;
    if (node_flow(node) == FLOW_IF || node_flow(node) == FLOW_WHILE)
        return op->hlo && functions_emit(node, depth, budget);
    return op->hlo || (op->flags & OP_IDENTITY) || is_known(node->type) || expansion_emits(node, depth, budget);
}

bool hlo_emits(const Node *node) {
    int budget = MOST_NODES;
    return emits(node, 0, &budget);
}
