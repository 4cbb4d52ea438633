// Identity — takes out nodes that pass their input on and order nothing.
#include "plan/pass.h"

// An identity that others wait for, or that waits for others, has a purpose: it is a place in the order.
static bool has_no_purpose(const Draft *draft, const Node *node) {
    const Op *op = node_op(node);
    if (!op || !(op->flags & OP_IDENTITY) || node->n_inputs != 1 || node->n_outputs != 1 || node->n_controls ||
        dtype_is_ref(node->inputs[0].node->output_types[node->inputs[0].index]))
        return false;
    if (node->device.n && !str_equal(node->device, node->inputs[0].node->device))
        return false;
    for (size_t i = 0; i < node->uses.n; i++)
        if (node->uses.p[i].index == CONTROL)
            return false;
    for (int i = 0; i < draft->n_targets; i++)
        if (draft->targets[i] == node)
            return false;
    return true;
}

Status *pass_identity(Draft *draft) {
    for (size_t i = 0; i < draft->graph->nodes.n; i++) {
        Node *node = draft->graph->nodes.p[i];
        if (node && has_no_purpose(draft, node))
            TRY(graph_replace_output((Output){node, 0}, node->inputs[0]));
    }
    return OK;
}
