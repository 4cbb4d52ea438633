// fuzz_graph_import — any bytes as a GraphDef: refused and nothing changed, or a graph that holds together and comes
// back from its own export; its functions are inlined as far as that goes.
#include <stdlib.h>

#include "graph/build.h"
#include "graph/graph_def.h"
#include "ops/all_ops.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void must(Status *status) {
    if (status)
        abort();
}

static void inline_all(Graph *graph) {
    size_t n = graph->functions->order.n;
    for (size_t i = 0; i < n && i < 4; i++) {
        const Function *function = graph->functions->order.p[i];
        Output results[64];
        size_t before = graph->nodes.n;
        Inlining inlining = {.graph = graph, .prefix = STR("inlined"), .results = results};
        inlining.n_results = function->type.signature.n_outputs;
        if (inlining.n_results > 64)
            continue;
        Status *status = function_inline(function, &inlining);
        if (status && graph->nodes.n != before)
            abort();
        status_free(status);
        must(graph_check(graph));
    }
}

static void check(Graph *graph) {
    AUTO(text) Text first = {0};
    AUTO(text) Text second = {0};
    must(graph_check(graph));
    must(graph_to_proto(graph, &first));
    Graph *again;
    ImportResults results;
    must(graph_new(&again));
    ImportOptions options = {.validate_colocation = true};
    must(graph_import(again, text_str(&first), &options, &results));
    import_results_clear(&results);
    must(graph_to_proto(again, &second));
    if (!str_equal(text_str(&first), text_str(&second)))
        abort();
    inline_all(again);
    graph_release(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    op_table_set(all_ops, all_rewrites);
    Graph *graph;
    must(graph_new(&graph));
    ImportResults results;
    Status *status = graph_import(graph, (Str){(const char *)bytes, n}, NULL, &results);
    if (status) {
        if (graph->nodes.n || graph->names.n || graph->functions->order.n || graph->tensors.n || graph->version)
            abort();
        status_free(status);
    } else {
        import_results_clear(&results);
        check(graph);
    }
    graph_release(graph);
    return 0;
}
