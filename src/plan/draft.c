// Draft — what several passes ask of the graph that they work on.
#include "plan/pass.h"

bool draft_is_target(const Draft *draft, const Node *node) {
    (void)draft;
    return node->is_target;
}

bool draft_has_flow(const Draft *draft) {
    for (size_t i = 0; i < draft->graph->nodes.n; i++) {
        const Node *node = draft->graph->nodes.p[i];
        Flow flow = node ? node_flow(node) : FLOW_NONE;
        if (flow != FLOW_NONE && flow != FLOW_ARG && flow != FLOW_RETVAL)
            return true;
    }
    return false;
}
