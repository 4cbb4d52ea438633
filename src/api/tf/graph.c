// TF_Graph — see c_api.h: life, shapes of tensors, looking up operations, export.
#include <stdlib.h>

#include "api/api.h"
#include "base/trim.h"

TF_Graph *TF_NewGraph(void) {
    api_begin();
    TF_Graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return NULL;
    Status *status = graph_new(&graph->graph);
    if (status) {
        status_free(status);
        free(graph);
        return NULL;
    }
    mutex_init(&graph->lock);
    atomic_init(&graph->references, 1);
    return graph;
}

void api_graph_retain(TF_Graph *graph) {
    atomic_fetch_add_explicit(&graph->references, 1, memory_order_relaxed);
}

void api_graph_release(TF_Graph *graph) {
    if (atomic_fetch_sub_explicit(&graph->references, 1, memory_order_acq_rel) != 1)
        return;
    size_t bytes = graph->graph->arena.used;
    graph_release(graph->graph);
    mutex_clear(&graph->lock);
    free(graph);
    trim_heap(bytes);
}

void TF_DeleteGraph(TF_Graph *graph) {
    if (graph)
        api_graph_release(graph);
}

// ---------------------------------------- shapes

Status *api_output_check(const Graph *graph, TF_Output output) {
    const Node *node = api_node(output.oper);
    NEED(node && node->graph == graph && node->id >= 0, INVALID_ARGUMENT, "the operation is not of this graph");
    NEED(output.index >= 0 && output.index < node->n_outputs, OUT_OF_RANGE,
         "Node '%.*s' (type: '%.*s', num of outputs: %d) does not have output %d", NODE_ARGS(node), node->n_outputs,
         output.index);
    return OK;
}

static Status *set_shape(TF_Graph *graph, TF_Output output, const int64_t *dims, int num_dims) {
    Shape shape;
    TRY(api_output_check(graph->graph, output));
    TRY(api_shape(dims, num_dims, &shape));
    Shape *there = &api_node(output.oper)->output_shapes[output.index];
    TRY(shape_merge(there, &shape, there));
    return OK;
}

void TF_GraphSetTensorShape(TF_Graph *graph, TF_Output output, const int64_t *dims, int num_dims, TF_Status *status) {
    mutex_lock(&graph->lock);
    api_set(status, set_shape(graph, output, dims, num_dims));
    mutex_unlock(&graph->lock);
}

int TF_GraphGetTensorNumDims(TF_Graph *graph, TF_Output output, TF_Status *status) {
    int rank = -1;
    mutex_lock(&graph->lock);
    if (!api_failed(status, api_output_check(graph->graph, output)))
        rank = api_node(output.oper)->output_shapes[output.index].rank;
    mutex_unlock(&graph->lock);
    return rank;
}

static Status *get_shape(const TF_Graph *graph, TF_Output output, int64_t *dims, int num_dims) {
    TRY(api_output_check(graph->graph, output));
    const Shape *shape = &api_node(output.oper)->output_shapes[output.index];
    NEED(num_dims == shape->rank, INVALID_ARGUMENT, "Expected rank is %d but actual rank is %d", num_dims, shape->rank);
    for (int i = 0; i < shape->rank; i++)
        dims[i] = shape->dims[i];
    return OK;
}

void TF_GraphGetTensorShape(TF_Graph *graph, TF_Output output, int64_t *dims, int num_dims, TF_Status *status) {
    mutex_lock(&graph->lock);
    api_set(status, get_shape(graph, output, dims, num_dims));
    mutex_unlock(&graph->lock);
}

// ---------------------------------------- operations of a graph

TF_Operation *TF_GraphOperationByName(TF_Graph *graph, const char *oper_name) {
    mutex_lock(&graph->lock);
    Node *node = graph_find(graph->graph, str_of(oper_name));
    mutex_unlock(&graph->lock);
    return api_operation(node);
}

TF_Operation *TF_GraphNextOperation(TF_Graph *graph, size_t *pos) {
    Node *node = NULL;
    mutex_lock(&graph->lock);
    while (!node && *pos < graph->graph->nodes.n)
        node = graph->graph->nodes.p[(*pos)++];
    mutex_unlock(&graph->lock);
    return api_operation(node);
}

// ---------------------------------------- export

static Status *export_graph(const TF_Graph *graph, TF_Buffer *out) {
    NEED(out && !out->data, INVALID_ARGUMENT, "Passing non-empty TF_Buffer is invalid.");
    AUTO(text) Text text = {0};
    TRY(graph_to_proto(graph->graph, &text));
    return buffer_fill(out, &text);
}

void TF_GraphToGraphDef(TF_Graph *graph, TF_Buffer *output_graph_def, TF_Status *status) {
    mutex_lock(&graph->lock);
    api_set(status, export_graph(graph, output_graph_def));
    mutex_unlock(&graph->lock);
}

static Status *export_op_def(const TF_Graph *graph, const char *name, TF_Buffer *out) {
    const Function *function = function_find(graph->graph, str_of(name));
    const OpType *type = function ? &function->type : NULL;
    if (!type)
        TRY(op_type_find(str_of(name), &type));
    AUTO(arena) Arena arena = {0};
    OpDef def;
    TRY(signature_to_op_def(&type->signature, &arena, &def));
    if (type->op)
        def.summary = str_of(type->op->doc);
    return buffer_fill_message(out, &message_OpDef, &def);
}

void TF_GraphGetOpDef(TF_Graph *graph, const char *op_name, TF_Buffer *output_op_def, TF_Status *status) {
    mutex_lock(&graph->lock);
    api_set(status, export_op_def(graph, op_name, output_op_def));
    mutex_unlock(&graph->lock);
}

void TF_GraphVersions(TF_Graph *graph, TF_Buffer *output_version_def, TF_Status *status) {
    mutex_lock(&graph->lock);
    const Versions *versions = &graph->graph->versions;
    VersionDef def = {.producer = versions->producer, .min_consumer = versions->min_consumer};
    def.bad_consumers.p = versions->bad_consumers.p;
    def.bad_consumers.n = versions->bad_consumers.n;
    api_set(status, buffer_fill_message(output_version_def, &message_VersionDef, &def));
    mutex_unlock(&graph->lock);
}
