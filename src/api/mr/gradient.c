// Gradients of the C interface — see millrace/gradients.h: autodiff for clients that have gradients of their own.
#include <stdlib.h>

#include "api/api.h"
#include "autodiff/autodiff.h"
#include "millrace/gradients.h"

typedef struct {
    TF_Graph *graph;
    const mr_gradients *question;
} Call;

// The client builds on the graph: it takes the lock for each operation that it adds.
static Status *UNCHECKED_LOCKING ask_client(void *arg, Node *node, const Output *dys, Output *dxs) {
    const Call *call = arg;
    TF_Status *status = TF_NewStatus();
    NEED_MEMORY(status);
    mutex_unlock(&call->graph->lock);
    call->question->gradient(call->question->arg, api_operation(node), (const TF_Output *)dys, (TF_Output *)dxs, status);
    mutex_lock(&call->graph->lock);
    Status *error = status->error;
    status->error = NULL;
    TF_DeleteStatus(status);
    for (int i = 0; i < node->n_inputs && !error; i++)
        if (dxs[i].node)
            error = api_output_check(call->graph->graph, (TF_Output){api_operation(dxs[i].node), dxs[i].index});
    return error;
}

static Status *check_nodes(const Graph *graph, TF_Operation *const *list, int n) {
    for (int i = 0; i < n; i++) {
        const Node *node = api_node(list[i]);
        NEED(node && node->graph == graph && node->id >= 0, INVALID_ARGUMENT, "an operation is not of this graph");
    }
    return OK;
}

static Status *check(const Graph *graph, const mr_gradients *q) {
    NEED(q->struct_size >= sizeof *q && q->values, INVALID_ARGUMENT, "mr_gradients: struct_size and values must be set");
    NEED(q->num_ys > 0 && q->num_xs >= 0 && q->num_stops >= 0 && q->num_own >= 0, INVALID_ARGUMENT,
         "there is nothing to differentiate");
    NEED(q->gradient || q->num_own == 0, INVALID_ARGUMENT, "operations of its own, but no function for their gradients");
    for (int i = 0; i < q->num_ys; i++)
        TRY(api_output_check(graph, q->ys[i]));
    for (int i = 0; i < q->num_xs; i++)
        TRY(api_output_check(graph, q->xs[i]));
    for (int i = 0; q->dys && i < q->num_ys; i++)
        if (q->dys[i].oper)
            TRY(api_output_check(graph, q->dys[i]));
    TRY(check_nodes(graph, q->stops, q->num_stops));
    return check_nodes(graph, q->own, q->num_own);
}

static TF_Output edge_of(Output output) {
    return (TF_Output){api_operation(output.node), output.node ? output.index : -1};
}

static Status *add(TF_Graph *graph, const mr_gradients *q) {
    TRY(check(graph->graph, q));
    Call call = {graph, q};
    AutodiffClient client = {.stops = (Node *const *)(const void *)q->stops, .n_stops = q->num_stops,
                             .own = (Node *const *)(const void *)q->own, .n_own = q->num_own,
                             .gradient = ask_client, .arg = &call};
    Gradient *found = calloc((size_t)q->num_xs + 1, sizeof *found);
    NEED_MEMORY(found);
    Status *status = autodiff_client_gradients(graph->graph, str_of(q->prefix), (const Output *)q->ys, q->num_ys,
                                               (const Output *)q->xs, q->num_xs, (const Output *)q->dys, &client, found);
    for (int i = 0; i < q->num_xs && !status; i++) {
        q->values[i] = edge_of(found[i].values);
        if (q->indices)
            q->indices[i] = edge_of(found[i].indices);
        if (q->shapes)
            q->shapes[i] = edge_of(found[i].shape);
    }
    free(found);
    return status;
}

void mr_add_gradients(TF_Graph *graph, const mr_gradients *question, TF_Status *status) {
    mutex_lock(&graph->lock);
    api_set(status, add(graph, question));
    mutex_unlock(&graph->lock);
}
