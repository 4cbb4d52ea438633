// Simplify — nodes that come to something smaller, given what they read (REWRITE_SIMPLIFY): algebraic simplification,
// strength reduction, shapes that constants tell.
//
// A rewrite is a formula over the node's inputs; what it writes takes the place of the outputs that it sets, the rest
// of the node dies unread. It runs before folding: what it writes may be constants in the making.
#include "formula/formula.h"
#include "plan/rewrite/rewrite.h"

enum { MOST_RESULTS = 8 };

// The first rewrite that gives something is the node's; what that left of it dies unread.
static Status *simplify(Draft *draft, Node *node, bool flows) {
    const Rewrite *rewrite;
    for (int at = 0; (rewrite = rewrite_next(draft, node, REWRITE_SIMPLIFY, &at));) {
        Output results[MOST_RESULTS] = {0};
        Formula f = {.graph = draft->graph, .scope = node->name, .device = node->device, .node = node,
                     .x = node->inputs, .results = results, .n_x = node->n_inputs, .n_y = node->n_outputs};
        if (flows && node->n_inputs)
            f.before = node->inputs[0].node;  // new constants belong to the same frame
        rewrite->formula(&f);
        TRY(f.status);
        bool any = false;
        for (int o = 0; o < node->n_outputs; o++) {
            if (!results[o].node)
                continue;
            TRY(graph_replace_output((Output){node, o}, results[o]));
            any = true;
        }
        if (any)
            return OK;
    }
    return OK;
}

// A node with control inputs stays, since what is written for it wouldn't wait; control pruning comes before the second
// round.
Status *pass_simplify(Draft *draft) {
    size_t n = draft->graph->nodes.n;
    bool flows = draft_has_flow(draft);
    for (size_t i = 0; i < n; i++) {
        Node *node = draft->graph->nodes.p[i];
        if (node && node->type->rewrites && !node->n_controls && node->n_outputs <= MOST_RESULTS &&
            !node->is_target)
            TRY(simplify(draft, node, flows));
    }
    return OK;
}
