// TF_LoadSessionFromSavedModel — see c_api.h. The graph is filled only if everything worked.
#include <stdlib.h>

#include "api/tf/session.h"
#include "session/saved_model.h"

typedef struct {
    SavedModel model;
    Graph *graph;
    Session *session;
} Loading;

static Status *read_settings(const TF_Buffer *run_options, RunSettings *out) {
    *out = run_settings_default;
    if (!run_options || !run_options->length)
        return OK;
    AUTO(arena) Arena arena = {0};
    RunOptionsProto *proto;
    TRY(PROTO_DECODE(RunOptionsProto, &arena, api_bytes(run_options->data, run_options->length), &proto));
    out->timeout_ms = proto->timeout_in_ms;
    return OK;
}

static Status *fill_graph(const TF_Graph *graph, Loading *l) {
    NEED(graph->graph->nodes.n == 0, INVALID_ARGUMENT, "Graph is non-empty.");
    TRY(graph_new(&l->graph));
    for (size_t i = 0; i < graph->graph->functions->order.n; i++)
        TRY(function_add(l->graph, graph->graph->functions->order.p[i]));
    AUTO(import_results) ImportResults none = {0};
    return graph_import(l->graph, l->model.graph_def, NULL, &none);
}

static Status *load(const TF_SessionOptions *options, const TF_Buffer *run_options, const char *folder,
                    const char *const *tags, int n_tags, TF_Graph *graph, TF_Buffer *meta_graph, Loading *l) {
    RunSettings settings;
    NEED(!meta_graph || !meta_graph->data, INVALID_ARGUMENT, "Passing non-empty TF_Buffer is invalid.");
    TRY(read_settings(run_options, &settings));
    TRY(saved_model_open(folder, tags, n_tags, &l->model));
    TRY(fill_graph(graph, l));
    SessionConfig config = options ? options->config : session_config_default();
    TRY(environment_session(l->graph, &graph->lock, &config, &l->session));
    TRY(saved_model_start(&l->model, l->graph, l->session, &settings));
    AUTO(text) Text bytes = {0};
    text_add(&bytes, l->model.bytes);
    return meta_graph ? buffer_fill(meta_graph, &bytes) : OK;
}

static void give_graph(TF_Graph *graph, Loading *l) {
    mutex_lock(&graph->lock);
    graph_release(graph->graph);
    graph->graph = l->graph;
    l->graph = NULL;
    mutex_unlock(&graph->lock);
}

TF_Session *TF_LoadSessionFromSavedModel(const TF_SessionOptions *session_options, const TF_Buffer *run_options,
                                         const char *export_dir, const char *const *tags, int tags_len,
                                         TF_Graph *graph, TF_Buffer *meta_graph_def, TF_Status *status) {
    api_begin();
    Loading l = {0};
    TF_Session *session = calloc(1, sizeof *session);
    bool failed = api_failed(status, session ? load(session_options, run_options, export_dir, tags, tags_len, graph,
                                                    meta_graph_def, &l)
                                             : OUT_OF_MEMORY);
    saved_model_clear(&l.model);
    if (failed) {
        session_free(l.session);
        graph_release(l.graph);
        free(session);
        return NULL;
    }
    give_graph(graph, &l);
    session->session = l.session;
    mutex_init(&session->lock);
    api_graph_retain(graph);
    session->graph = graph;
    return session;
}
