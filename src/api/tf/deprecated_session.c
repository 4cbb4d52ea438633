// TF_DeprecatedSession — the session of the first C interface: a graph that is extended by GraphDefs, edges by their
// names.
#define _GNU_SOURCE  // memrchr
#include <stdlib.h>

#include "api/tf/session.h"
#include "graph/graph_def.h"

struct TF_DeprecatedSession {
    TF_Graph *graph;
    TF_Session *session;
};

TF_DeprecatedSession *TF_NewDeprecatedSession(const TF_SessionOptions *options, TF_Status *status) {
    TF_DeprecatedSession *session = calloc(1, sizeof *session);
    if (session)
        session->graph = TF_NewGraph();
    if (!session || !session->graph) {
        free(session);
        api_set(status, OUT_OF_MEMORY);
        return NULL;
    }
    session->session = TF_NewSession(session->graph, options, status);
    if (session->session)
        return session;
    TF_DeleteGraph(session->graph);
    free(session);
    return NULL;
}

void TF_CloseDeprecatedSession(TF_DeprecatedSession *session, TF_Status *status) {
    TF_CloseSession(session->session, status);
}

void TF_DeleteDeprecatedSession(TF_DeprecatedSession *session, TF_Status *status) {
    api_ok(status);
    if (!session)
        return;
    TF_DeleteSession(session->session, status);
    TF_DeleteGraph(session->graph);
    free(session);
}

void TF_Reset(const TF_SessionOptions *opt, const char **containers, int ncontainers, TF_Status *status) {
    (void)opt, (void)containers, (void)ncontainers;
    api_set(status,
            API_ERROR(UNIMPLEMENTED, "TF_Reset is for sessions on a server; a local session's state is its own"));
}

void TF_ExtendGraph(TF_DeprecatedSession *session, const void *proto, size_t proto_len, TF_Status *status) {
    ImportResults results;
    mutex_lock(&session->graph->lock);
    Status *error = graph_import(session->graph->graph, api_bytes(proto, proto_len), &(ImportOptions){.extends = true},
                                 &results);
    mutex_unlock(&session->graph->lock);
    if (!error)
        import_results_clear(&results);
    api_set(status, error);
}

TF_DeviceList *TF_DeprecatedSessionListDevices(TF_DeprecatedSession *session, TF_Status *status) {
    return TF_SessionListDevices(session->session, status);
}

// ---------------------------------------- names

typedef struct {
    Arena arena;
    TF_Output *inputs, *outputs;
    TF_Operation **targets;
} Edges;

static void edges_auto(Edges *edges) {
    arena_clear(&edges->arena);
}

// "name" or "name:1".
static Status *find_edge(TF_DeprecatedSession *session, const char *name, TF_Output *out) {
    Str text = str_of(name);
    int64_t index = 0;
    const char *colon = text.n ? memrchr(text.p, ':', text.n) : NULL;
    if (colon && str_to_int((Str){colon + 1, (size_t)(text.p + text.n - colon - 1)}, &index))
        text.n = (size_t)(colon - text.p);
    mutex_lock(&session->graph->lock);
    Node *node = graph_find(session->graph->graph, text);
    mutex_unlock(&session->graph->lock);
    NEED(node && index >= 0 && index < node->n_outputs, NOT_FOUND, "Tensor %s is not in the graph", name);
    *out = (TF_Output){api_operation(node), (int)index};
    return OK;
}

static Status *find_edges(TF_DeprecatedSession *session, const char **inputs, int n_in, const char **outputs, int n_out,
                          const char **targets, int n_targets, Edges *edges) {
    edges->inputs = ARENA_ARRAY(&edges->arena, TF_Output, n_in);
    edges->outputs = ARENA_ARRAY(&edges->arena, TF_Output, n_out);
    edges->targets = ARENA_ARRAY(&edges->arena, TF_Operation *, n_targets);
    NEED_MEMORY(edges->inputs && edges->outputs && edges->targets);
    for (int i = 0; i < n_in; i++)
        TRY(find_edge(session, inputs[i], &edges->inputs[i]));
    for (int i = 0; i < n_out; i++)
        TRY(find_edge(session, outputs[i], &edges->outputs[i]));
    for (int i = 0; i < n_targets; i++) {
        edges->targets[i] = TF_GraphOperationByName(session->graph, targets[i]);
        NEED(edges->targets[i], NOT_FOUND, "Node %s is not in the graph", targets[i]);
    }
    return OK;
}

// ---------------------------------------- running

void TF_Run(TF_DeprecatedSession *session, const TF_Buffer *run_options, const char **input_names, TF_Tensor **inputs,
            int ninputs, const char **output_names, TF_Tensor **outputs, int noutputs, const char **target_oper_names,
            int ntargets, TF_Buffer *run_metadata, TF_Status *status) {
    AUTO(edges) Edges edges = {0};
    if (!api_failed(status, find_edges(session, input_names, ninputs, output_names, noutputs, target_oper_names,
                                       ntargets, &edges)))
        TF_SessionRun(session->session, run_options, edges.inputs, inputs, ninputs, edges.outputs, outputs, noutputs,
                      (const TF_Operation *const *)edges.targets, ntargets, run_metadata, status);
}

void TF_PRunSetup(TF_DeprecatedSession *session, const char **input_names, int ninputs, const char **output_names,
                  int noutputs, const char **target_oper_names, int ntargets, const char **handle, TF_Status *status) {
    AUTO(edges) Edges edges = {0};
    *handle = NULL;
    if (!api_failed(status, find_edges(session, input_names, ninputs, output_names, noutputs, target_oper_names,
                                       ntargets, &edges)))
        TF_SessionPRunSetup(session->session, edges.inputs, ninputs, edges.outputs, noutputs,
                            (const TF_Operation *const *)edges.targets, ntargets, handle, status);
}

void TF_PRun(TF_DeprecatedSession *session, const char *handle, const char **input_names, TF_Tensor **inputs,
             int ninputs, const char **output_names, TF_Tensor **outputs, int noutputs, const char **target_oper_names,
             int ntargets, TF_Status *status) {
    AUTO(edges) Edges edges = {0};
    if (!api_failed(status, find_edges(session, input_names, ninputs, output_names, noutputs, target_oper_names,
                                       ntargets, &edges)))
        TF_SessionPRun(session->session, handle, edges.inputs, inputs, ninputs, edges.outputs, outputs, noutputs,
                       (const TF_Operation *const *)edges.targets, ntargets, status);
}
