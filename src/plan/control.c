// Control — takes out control edges that other edges imply: from a node whose value is read anyway, twice from the same
// node, or from a node that another predecessor has waited for already.
#include "plan/pass.h"

static bool waits_for(const Node *node, const Node *before) {
    for (int i = 0; i < node->n_inputs; i++)
        if (node->inputs[i].node == before)
            return true;
    for (int i = 0; i < node->n_controls; i++)
        if (node->controls[i] == before)
            return true;
    return false;
}

// Deadness travels along control edges, so what control flow feeds is left alone.
static bool is_plain(const Node *node) {
    return node_flow(node) == FLOW_NONE;
}

static bool implied(const Node *node, int control) {
    const Node *before = node->controls[control];
    if (!is_plain(before) || !is_plain(node))
        return false;
    for (int i = 0; i < node->n_inputs; i++)
        if (node->inputs[i].node == before || (is_plain(node->inputs[i].node) && waits_for(node->inputs[i].node, before)))
            return true;
    for (int i = 0; i < node->n_controls; i++) {
        if (i == control)
            continue;
        if ((node->controls[i] == before && i < control) ||
            (is_plain(node->controls[i]) && node->controls[i] != before && waits_for(node->controls[i], before)))
            return true;
    }
    return false;
}

Status *pass_control(Draft *draft) {
    for (size_t i = 0; i < draft->graph->nodes.n; i++) {
        Node *node = draft->graph->nodes.p[i];
        for (int c = node ? node->n_controls - 1 : -1; c >= 0; c--)
            if (implied(node, c))
                node_remove_control(node, c);
    }
    return OK;
}
