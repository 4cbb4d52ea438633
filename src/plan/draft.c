// Draft — what several passes ask of the graph that they work on.
#include <stdlib.h>

#include "plan/claim.h"

void draft_clear(Draft *draft) {
    free(draft->fetches);
    free(draft->feeds);
    free(draft->targets);
    draft->fetches = draft->feeds = draft->targets = NULL;
    for (int i = 0; i < draft->n_parts; i++) {
        text_clear(&draft->parts[i].task);
        text_clear(&draft->parts[i].graph);
    }
    free(draft->parts);
    draft->parts = NULL;
    draft->n_parts = 0;
    cluster_drafts_free(draft->clusters);
    draft->clusters = NULL;
}

// Whether the op's first type may be that. Asked before a rewrite makes the node: building one of a type that its
// signature doesn't allow would fail the plan instead of leaving the graph as it is.
static bool takes_type(const OpType *type, DType dtype) {
    const Signature *signature = &type->signature;
    for (int i = 0; i < signature->n_attrs; i++) {
        const AttrSpec *attr = &signature->attrs[i];
        if (attr->kind != ATTR_TYPE || attr->is_list)
            continue;
        for (int t = 0; t < attr->allowed.n; t++)
            if (attr->allowed.types[t] == dtype)
                return true;
        return !attr->allowed.is_list;
    }
    return true;
}

// The error of an op that is not registered counts as no.
bool draft_has_kernel(const Node *node, const char *op) {
    const Device *device = node->placed;
    const OpType *type;
    Status *status = op_type_find(str_of(op), &type);
    DType dtype = binding_dtype(node);
    bool has = !status && device && type->op && takes_type(type, dtype) &&
               device_type_kernel(device->type, type->op, dtype);
    status_free(status);
    return has;
}

// Before placement `placed` is NULL on both sides, and only an explicit request that differs from the input's tells.
bool draft_moves(const Node *node) {
    const Node *from = node->inputs[0].node;
    return node->placed != from->placed || (!node->placed && node->device.n && !str_equal(node->device, from->device));
}

// _Arg, _Retval and _Loop are tags, too, but nothing that they give is ever dead.
bool draft_has_flow(const Draft *draft) {
    for (size_t i = 0; i < draft->graph->nodes.n; i++) {
        const Node *node = draft->graph->nodes.p[i];
        Flow flow = node ? node_flow(node) : FLOW_NONE;
        if (flow != FLOW_NONE && flow != FLOW_ARG && flow != FLOW_RETVAL && flow != FLOW_LOOP &&
            flow != FLOW_CLUSTER)
            return true;
    }
    return false;
}
