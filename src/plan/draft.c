// Draft — what several passes ask of the graph that they work on.
#include <stdlib.h>

#include "plan/pass.h"

void draft_clear(Draft *draft) {
    free(draft->fetches);
    free(draft->feeds);
    free(draft->targets);
    draft->fetches = draft->feeds = draft->targets = NULL;
}

bool draft_is_target(const Draft *draft, const Node *node) {
    (void)draft;
    return node->is_target;
}

bool draft_has_kernel(const Draft *draft, const Node *node, const char *op) {
    const Device *device = device_set_find(draft->options->devices, node->device);
    const OpType *type;
    Status *status = op_type_find(str_of(op), &type);
    bool has = !status && device && type->op && device_type_kernel(device->type, type->op, binding_dtype(node));
    status_free(status);
    return has;
}

bool draft_has_flow(const Draft *draft) {
    for (size_t i = 0; i < draft->graph->nodes.n; i++) {
        const Node *node = draft->graph->nodes.p[i];
        Flow flow = node ? node_flow(node) : FLOW_NONE;
        if (flow != FLOW_NONE && flow != FLOW_ARG && flow != FLOW_RETVAL && flow != FLOW_LOOP)
            return true;
    }
    return false;
}
