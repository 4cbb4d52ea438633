// fuzz_graph_run — any bytes as a GraphDef: what is imported is run, node by node: values or errors, nothing else.
#include "graph/graph_def.h"
#include "ops/all_ops.h"
#include "session/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

enum { MOST_FETCHES = 8, STEP_MS = 300 };

// Whatever the graph computes without being fed may be asked for.
static void run(Graph *graph) {
    SessionConfig config = session_config_default();
    config.intra_threads = config.inter_threads = 1;
    Session *session;
    AUTO(status) Status *status = session_new(graph, NULL, &config, &session);
    if (status)
        return;
    int tried = 0;
    for (size_t i = graph->nodes.n; i-- && tried < MOST_FETCHES;) {
        Node *node = graph->nodes.p[i];
        if (!node)
            continue;
        Output fetch = {node, 0};
        StepSignature signature = {.fetches = &fetch, .targets = &node, .n_fetches = node->n_outputs > 0,
                                   .n_targets = node->n_outputs == 0};
        Tensor out = {0};
        Status *failed = session_run(session, &signature, &(RunSettings){.timeout_ms = STEP_MS}, NULL, &out);
        if (!failed)
            tensor_clear(&out);
        status_free(failed);
        tried++;
    }
    session_free(session);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    op_table_set(all_ops, all_rewrites);
    Graph *graph;
    AUTO(status) Status *made = graph_new(&graph);
    if (made)
        return 0;
    AUTO(import_results) ImportResults results = {0};
    AUTO(status) Status *status = graph_import(graph, (Str){(const char *)bytes, n}, NULL, &results);
    if (!status)
        run(graph);
    graph_release(graph);
    return 0;
}
