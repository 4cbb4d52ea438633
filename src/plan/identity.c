// Identity — takes out nodes that pass their input on and order nothing, or nothing that their readers couldn't wait
// for.
//
// An identity costs no copy, but it hides its producer from every pass that looks at a node and its neighbours:
// patterns and fusion see through none. Identities with many waits are control_prune's, which runs later and for all
// readers.
#include "plan/pass.h"

// n waits times m readers are n * m edges in place of n + m: only where both are few.
enum { MOST_WAITS = 4 };  // that its readers take over

// Deadness travels along control edges, so what control flow feeds is left alone.
static bool may_leave_waiting(const Node *node) {
    bool good = node->n_controls <= MOST_WAITS && node->uses.n <= MOST_WAITS &&
        node_flow(node->inputs[0].node) == FLOW_NONE;
    for (int i = 0; i < node->n_controls; i++)
        good &= node_flow(node->controls[i]) == FLOW_NONE;
    for (size_t i = 0; i < node->uses.n; i++)
        good &= node_flow(node->uses.p[i].node) == FLOW_NONE;
    return good;
}

// An identity that others wait for has a purpose: it is a place in the order.
static bool has_no_purpose(const Node *node) {
    const Op *op = node_op(node);
    if (!op || !(op->flags & OP_IDENTITY) || node->n_inputs != 1 || node->n_outputs != 1 ||
        (node->n_controls && !may_leave_waiting(node)) ||
        dtype_is_ref(node->inputs[0].node->output_types[node->inputs[0].index]))
        return false;
    // It is a copy between devices then.
    if (draft_moves(node))
        return false;
    for (size_t i = 0; i < node->uses.n; i++)
        if (node->uses.p[i].index == CONTROL)
            return false;
    return !node->is_target;
}

// What it waits for its readers wait for.
static Status *leave_waiting(const Node *node) {
    for (size_t i = 0; i < node->uses.n; i++)
        for (int c = 0; c < node->n_controls; c++)
            TRY(node_add_control(node->uses.p[i].node, node->controls[c]));
    return OK;
}

Status *pass_identity(Draft *draft) {
    for (size_t i = 0; i < draft->graph->nodes.n; i++) {
        Node *node = draft->graph->nodes.p[i];
        if (!node || !has_no_purpose(node))
            continue;
        TRY(leave_waiting(node));
        TRY(graph_replace_output((Output){node, 0}, node->inputs[0]));
    }
    return OK;
}
