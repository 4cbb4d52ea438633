// TF_TryEvaluateConstant — the value of an output that depends on constants alone: a step of a session made for it.
#include <stdlib.h>

#include "api/tf/session.h"

// Whether everything that the node reads is known. Depth first over marks; loops and conditionals count as unknown.
static bool is_constant(Node *node, Arena *arena, size_t n_nodes) {
    Node **stack = ARENA_ARRAY(arena, Node *, n_nodes + 1);
    bool *seen = ARENA_ARRAY(arena, bool, n_nodes);
    size_t n = 0;
    if (!stack || !seen)
        return false;
    stack[n++] = node;
    seen[node->id] = true;
    while (n) {
        Node *at = stack[--n];
        bool leaf = at->n_inputs == 0 && !(at->n_outputs == 1 && output_constant((Output){at, 0}));
        if (leaf || node_is_stateful(at) || node_flow(at) != FLOW_NONE || at->type->function)
            return false;
        for (int i = 0; i < at->n_inputs; i++) {
            Node *from = at->inputs[i].node;
            if (!from)
                return false;
            if (!seen[from->id]) {
                seen[from->id] = true;
                stack[n++] = from;
            }
        }
    }
    return true;
}

static Status *evaluate(const Graph *graph, TF_Output output, TF_Tensor **out) {
    AUTO(arena) Arena arena = {0};
    TRY(api_output_check(graph, output));
    if (!is_constant(api_node(output.oper), &arena, graph->nodes.n))
        return OK;
    SessionConfig config = session_config_default();
    config.intra_threads = config.inter_threads = 1;
    Session *session;
    TRY(environment_session((Graph *)graph, NULL, &config, &session));
    Output fetch = api_output(output);
    StepSignature signature = {.fetches = &fetch, .n_fetches = 1};
    Tensor result;
    Status *status = session_run(session, &signature, &run_settings_default, NULL, &result);
    session_free(session);
    if (status) {
        status_free(status);  // it can't be computed here; a session will say why
        return OK;
    }
    *out = api_tensor(&result);
    NEED_MEMORY(*out);
    return OK;
}

unsigned char TF_TryEvaluateConstant(TF_Graph *graph, TF_Output output, TF_Tensor **result, TF_Status *status) {
    *result = NULL;
    mutex_lock(&graph->lock);
    api_set(status, evaluate(graph->graph, output, result));
    mutex_unlock(&graph->lock);
    return *result != NULL;
}
