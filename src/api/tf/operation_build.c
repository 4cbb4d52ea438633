// TF_OperationDescription — an operation under construction: inputs, device, controls. Its attributes are in
// attr_set.c.
#include "api/tf/operation_build.h"

#include <stdlib.h>

TF_OperationDescription *TF_NewOperationLocked(TF_Graph *graph, const char *op_type, const char *oper_name) {
    TF_OperationDescription *desc = calloc(1, sizeof *desc);
    if (!desc)
        return NULL;
    desc->graph = graph;
    builder_init(&desc->builder, graph->graph, str_of(op_type), str_of(oper_name));
    return desc;
}

TF_OperationDescription *TF_NewOperation(TF_Graph *graph, const char *op_type, const char *oper_name) {
    return TF_NewOperationLocked(graph, op_type, oper_name);
}

void description_fail(TF_OperationDescription *desc, Status *status) {
    if (desc->builder.error)
        status_free(status);
    else
        desc->builder.error = status;
}

void TF_SetDevice(TF_OperationDescription *desc, const char *device) {
    builder_device(&desc->builder, str_of(device));
}

void TF_AddInput(TF_OperationDescription *desc, TF_Output input) {
    builder_input(&desc->builder, api_output(input));
}

void TF_AddInputList(TF_OperationDescription *desc, const TF_Output *inputs, int num_inputs) {
    builder_input_list(&desc->builder, (const Output *)inputs, num_inputs < 0 ? 0 : num_inputs);
}

void TF_AddControlInput(TF_OperationDescription *desc, TF_Operation *input) {
    builder_control(&desc->builder, api_node(input));
}

void TF_ColocateWith(TF_OperationDescription *desc, TF_Operation *op) {
    builder_colocate(&desc->builder, api_node(op)->name);
}

static Status *finish(TF_OperationDescription *desc, Node **out) {
    NodeBuilder *builder = &desc->builder;
    const OpType *type;
    Status *unknown = op_type_find(builder->type, &type);  // builder_finish has a better word for it
    bool gone = !unknown && type->signature.deprecated_version > 0 &&
                builder->graph->versions.producer >= type->signature.deprecated_version;
    status_free(unknown);
    NEED(!gone, UNIMPLEMENTED,
         "Op %.*s is not available in GraphDef version %d. It has been removed in version %d. %.*s.",
         STR_ARGS(builder->type), builder->graph->versions.producer, type->signature.deprecated_version,
         STR_ARGS(type->signature.deprecated_text));
    return builder_finish(builder, out);
}

TF_Operation *TF_FinishOperationLocked(TF_OperationDescription *desc, TF_Status *status) {
    Node *node = NULL;
    api_set(status, finish(desc, &node));
    builder_clear(&desc->builder);
    free(desc);
    return api_operation(node);
}

TF_Operation *TF_FinishOperation(TF_OperationDescription *desc, TF_Status *status) {
    TF_Graph *graph = desc->graph;
    mutex_lock(&graph->lock);
    TF_Operation *oper = TF_FinishOperationLocked(desc, status);
    mutex_unlock(&graph->lock);
    return oper;
}
