// Simplify — nodes that come to something smaller, given what they read; the ops say when, and what (Op.simplify).
//
// It runs before folding: what it writes may be constants in the making.
#include "formula/formula.h"
#include "plan/pass.h"

enum { MOST_RESULTS = 8 };

Status *pass_simplify(Draft *draft) {
    size_t n = draft->graph->nodes.n;
    bool flows = draft_has_flow(draft);
    for (size_t i = 0; i < n; i++) {
        Node *node = draft->graph->nodes.p[i];
        const Op *op = node ? node_op(node) : NULL;
        if (!op || !op->simplify || node->n_controls || node->n_outputs > MOST_RESULTS || draft_is_target(draft, node))
            continue;
        Output results[MOST_RESULTS] = {0};
        Formula f = {.graph = draft->graph, .scope = node->name, .device = node->device, .node = node,
                     .x = node->inputs,
                     .results = results, .n_x = node->n_inputs, .n_y = node->n_outputs};
        if (flows && node->n_inputs)
            f.before = node->inputs[0].node;  // new constants belong to the same frame
        op->simplify(&f);
        TRY(f.status);
        for (int o = 0; o < node->n_outputs; o++)
            if (results[o].node)
                TRY(graph_replace_output((Output){node, o}, results[o]));
    }
    return OK;
}
