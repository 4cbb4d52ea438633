// TF_ImportGraphDefOptions, TF_ImportGraphDefResults, TF_GraphImportGraphDef* — see c_api.h.
#include <stdlib.h>

#include "api/api.h"

struct TF_ImportGraphDefOptions {
    Arena arena;                // names
    ImportOptions options;      // without its arrays, which are:
    VEC(InputMapping) mappings;
    VEC(Node *) controls;
    VEC(TensorName) outputs;
    VEC(Str) nodes;
    bool failed;                // memory ran out while options were set: reported by the import
};

struct TF_ImportGraphDefResults {
    ImportResults results;
    int n_outputs, n_nodes;
    const char **missing_names;
    int *missing_indexes;
};

TF_ImportGraphDefOptions *TF_NewImportGraphDefOptions(void) {
    TF_ImportGraphDefOptions *opts = calloc(1, sizeof *opts);
    if (opts)
        opts->options.validate_colocation = true;
    return opts;
}

void TF_DeleteImportGraphDefOptions(TF_ImportGraphDefOptions *opts) {
    if (!opts)
        return;
    vec_clear(&opts->mappings);
    vec_clear(&opts->controls);
    vec_clear(&opts->outputs);
    vec_clear(&opts->nodes);
    arena_clear(&opts->arena);
    free(opts);
}

static Str keep(TF_ImportGraphDefOptions *opts, const char *text) {
    Str copy = str_copy(&opts->arena, str_of(text));
    opts->failed |= !copy.p;
    return copy;
}

void TF_ImportGraphDefOptionsSetPrefix(TF_ImportGraphDefOptions *opts, const char *prefix) {
    opts->options.prefix = keep(opts, prefix);
}

void TF_ImportGraphDefOptionsSetDefaultDevice(TF_ImportGraphDefOptions *opts, const char *device) {
    opts->options.default_device = keep(opts, device);
}

void TF_ImportGraphDefOptionsSetUniquifyNames(TF_ImportGraphDefOptions *opts, unsigned char uniquify_names) {
    opts->options.uniquify_names = uniquify_names != 0;
}

void TF_ImportGraphDefOptionsSetUniquifyPrefix(TF_ImportGraphDefOptions *opts, unsigned char uniquify_prefix) {
    opts->options.uniquify_prefix = uniquify_prefix != 0;
}

void TF_ImportGraphDefOptionsSetValidateColocationConstraints(TF_ImportGraphDefOptions *opts, unsigned char enable) {
    opts->options.validate_colocation = enable != 0;
}

void TF_ImportGraphDefOptionsAddInputMapping(TF_ImportGraphDefOptions *opts, const char *src_name, int src_index,
                                             TF_Output dst) {
    InputMapping mapping = {{keep(opts, src_name), src_index}, api_output(dst)};
    opts->failed |= !vec_push(&opts->mappings, mapping);
}

void TF_ImportGraphDefOptionsRemapControlDependency(TF_ImportGraphDefOptions *opts, const char *src_name,
                                                    TF_Operation *dst) {
    InputMapping mapping = {{keep(opts, src_name), CONTROL}, {api_node(dst), CONTROL}};
    opts->failed |= !vec_push(&opts->mappings, mapping);
}

void TF_ImportGraphDefOptionsAddControlDependency(TF_ImportGraphDefOptions *opts, TF_Operation *oper) {
    opts->failed |= !vec_push(&opts->controls, api_node(oper));
}

void TF_ImportGraphDefOptionsAddReturnOutput(TF_ImportGraphDefOptions *opts, const char *oper_name, int index) {
    TensorName name = {keep(opts, oper_name), index};
    opts->failed |= !vec_push(&opts->outputs, name);
}

int TF_ImportGraphDefOptionsNumReturnOutputs(const TF_ImportGraphDefOptions *opts) {
    return (int)opts->outputs.n;
}

void TF_ImportGraphDefOptionsAddReturnOperation(TF_ImportGraphDefOptions *opts, const char *oper_name) {
    opts->failed |= !vec_push(&opts->nodes, keep(opts, oper_name));
}

int TF_ImportGraphDefOptionsNumReturnOperations(const TF_ImportGraphDefOptions *opts) {
    return (int)opts->nodes.n;
}

// ---------------------------------------- results

void TF_DeleteImportGraphDefResults(TF_ImportGraphDefResults *results) {
    if (!results)
        return;
    import_results_clear(&results->results);
    free(results);
}

void TF_ImportGraphDefResultsReturnOutputs(TF_ImportGraphDefResults *results, int *num_outputs, TF_Output **outputs) {
    *num_outputs = results->n_outputs;
    *outputs = (TF_Output *)results->results.return_outputs;
}

void TF_ImportGraphDefResultsReturnOperations(TF_ImportGraphDefResults *results, int *num_opers,
                                              TF_Operation ***opers) {
    *num_opers = results->n_nodes;
    *opers = (TF_Operation **)results->results.return_nodes;
}

void TF_ImportGraphDefResultsMissingUnusedInputMappings(TF_ImportGraphDefResults *results,
                                                        int *num_missing_unused_input_mappings,
                                                        const char ***src_names, int **src_indexes) {
    *num_missing_unused_input_mappings = results->results.n_unused_mappings;
    *src_names = results->missing_names;
    *src_indexes = results->missing_indexes;
}

// The names as C strings: they lie in an arena that put a NUL behind each.
static Status *list_missing(TF_ImportGraphDefResults *out) {
    ImportResults *results = &out->results;
    out->missing_names = ARENA_ARRAY(&results->arena, const char *, results->n_unused_mappings);
    out->missing_indexes = ARENA_ARRAY(&results->arena, int, results->n_unused_mappings);
    NEED_MEMORY(out->missing_names && out->missing_indexes);
    for (int i = 0; i < results->n_unused_mappings; i++) {
        out->missing_names[i] = results->unused_mappings[i].name.p;
        out->missing_indexes[i] = results->unused_mappings[i].index;
    }
    return OK;
}

// ---------------------------------------- import

static Status *import_locked(TF_Graph *graph, const TF_Buffer *graph_def, const TF_ImportGraphDefOptions *opts,
                             TF_ImportGraphDefResults *out) {
    NEED_MEMORY(!opts->failed);
    ImportOptions options = opts->options;
    options.input_map = opts->mappings.p;
    options.n_input_map = (int32_t)opts->mappings.n;
    options.controls = opts->controls.p;
    options.n_controls = (int32_t)opts->controls.n;
    options.return_outputs = opts->outputs.p;
    options.n_return_outputs = (int32_t)opts->outputs.n;
    options.return_nodes = opts->nodes.p;
    options.n_return_nodes = (int32_t)opts->nodes.n;
    Str bytes = graph_def ? api_bytes(graph_def->data, graph_def->length) : (Str){0};
    TRY(graph_import(graph->graph, bytes, &options, &out->results));
    out->n_outputs = options.n_return_outputs;
    out->n_nodes = options.n_return_nodes;
    return list_missing(out);
}

TF_ImportGraphDefResults *TF_GraphImportGraphDefWithResults(TF_Graph *graph, const TF_Buffer *graph_def,
                                                            const TF_ImportGraphDefOptions *options,
                                                            TF_Status *status) {
    TF_ImportGraphDefResults *results = calloc(1, sizeof *results);
    if (!results) {
        api_set(status, OUT_OF_MEMORY);
        return NULL;
    }
    static const TF_ImportGraphDefOptions none = {.options = {.validate_colocation = true}};
    mutex_lock(&graph->lock);
    bool failed = api_failed(status, import_locked(graph, graph_def, options ? options : &none, results));
    mutex_unlock(&graph->lock);
    if (!failed)
        return results;
    TF_DeleteImportGraphDefResults(results);
    return NULL;
}

TF_ImportGraphDefResults *TF_GraphImportGraphDefWithResultsNoSerialization(TF_Graph *graph, const TF_Buffer *graph_def,
                                                                           const TF_ImportGraphDefOptions *options,
                                                                           TF_Status *status) {
    (void)graph, (void)graph_def, (void)options;
    api_set(status, API_ERROR(UNIMPLEMENTED, "A GraphDef object of C++ can't be read; pass its bytes to "
                                             "TF_GraphImportGraphDefWithResults"));
    return NULL;
}

void TF_GraphImportGraphDefWithReturnOutputs(TF_Graph *graph, const TF_Buffer *graph_def,
                                             const TF_ImportGraphDefOptions *options, TF_Output *return_outputs,
                                             int num_return_outputs, TF_Status *status) {
    int expected = options ? (int)options->outputs.n : 0;
    if (num_return_outputs != expected) {
        api_set(status, API_ERROR(INVALID_ARGUMENT, "Expected 'num_return_outputs' to be %d, got %d", expected,
                                  num_return_outputs));
        return;
    }
    if (num_return_outputs > 0 && !return_outputs) {
        api_set(status, API_ERROR(INVALID_ARGUMENT, "'return_outputs' must be preallocated to length %d",
                                  num_return_outputs));
        return;
    }
    TF_ImportGraphDefResults *results = TF_GraphImportGraphDefWithResults(graph, graph_def, options, status);
    if (results && num_return_outputs)
        memcpy(return_outputs, results->results.return_outputs, (size_t)num_return_outputs * sizeof *return_outputs);
    TF_DeleteImportGraphDefResults(results);
}

void TF_GraphImportGraphDef(TF_Graph *graph, const TF_Buffer *graph_def, const TF_ImportGraphDefOptions *options,
                            TF_Status *status) {
    TF_DeleteImportGraphDefResults(TF_GraphImportGraphDefWithResults(graph, graph_def, options, status));
}
