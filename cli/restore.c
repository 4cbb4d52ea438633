// Restore — variables of a graph get the values that a checkpoint has under their names.
#include "cli.h"

enum { MOST_VARIABLES = 4096 };

// The name that a checkpoint knows a variable by; false where the node is none.
static bool variable_name(TF_Operation *node, char *name, size_t room) {
    const char *op = TF_OperationOpType(node);
    if (strcmp(op, "VarHandleOp") != 0 && strcmp(op, "VariableV2") != 0 && strcmp(op, "Variable") != 0)
        return false;
    TF_Status *status = TF_NewStatus();
    memset(name, 0, room);
    TF_OperationGetAttrString(node, "shared_name", name, room - 1, status);
    if (TF_GetCode(status) != TF_OK || !*name)
        snprintf(name, room, "%s", TF_OperationName(node));
    TF_DeleteStatus(status);
    return true;
}

// The node that gives the variable the value fed to `*value`.
static TF_Operation *make_assign(TF_Graph *graph, TF_Operation *variable, const char *name, TF_DataType dtype,
                                 TF_Output *value, TF_Status *status) {
    char text[600];
    snprintf(text, sizeof text, "millrace_restore/%.500s/value", name);
    TF_OperationDescription *in = TF_NewOperation(graph, "Placeholder", text);
    TF_SetAttrType(in, "dtype", dtype);
    *value = (TF_Output){TF_FinishOperation(in, status), 0};
    if (!value->oper)
        return NULL;
    bool resource = strcmp(TF_OperationOpType(variable), "VarHandleOp") == 0;
    snprintf(text, sizeof text, "millrace_restore/%.500s", name);
    TF_OperationDescription *assign = TF_NewOperation(graph, resource ? "AssignVariableOp" : "Assign", text);
    TF_AddInput(assign, (TF_Output){variable, 0});
    TF_AddInput(assign, *value);
    return TF_FinishOperation(assign, status);
}

static bool restore_one(const Model *model, TF_CheckpointReader *reader, TF_Operation *node, const char *name) {
    TF_Status *status = TF_NewStatus();
    TF_Tensor *tensor = TF_CheckpointReaderGetTensor(reader, name, status);
    TF_Output value;
    const TF_Operation *assign = NULL;
    if (tensor)
        assign = make_assign(model->graph, node, name, TF_TensorType(tensor), &value, status);
    if (assign)
        TF_SessionRun(model->session, NULL, &value, &tensor, 1, NULL, NULL, 0, &assign, 1, NULL, status);
    bool done = good(status, name);
    TF_DeleteTensor(tensor);
    TF_DeleteStatus(status);
    return done;
}

// A variable that the checkpoint lacks.
static bool report_missing(TF_CheckpointReader *reader, const char *prefix, const char *name) {
    Hint hint = {.wanted = name};
    for (int i = 0; i < TF_CheckpointReaderSize(reader); i++)
        hint_offer(&hint, TF_CheckpointReaderGetVariable(reader, i));
    fail("%s has no variable '%s'%s", prefix, name,
         *hint.best ? hint_text(&hint) : "; `millrace inspect` lists what a checkpoint holds");
    return false;
}

static bool restore_all(const Model *model, TF_CheckpointReader *reader, const char *prefix) {
    TF_Operation *nodes[MOST_VARIABLES];   // the graph grows meanwhile
    int n = 0;
    size_t at = 0;
    char name[512];
    for (TF_Operation *node; n < MOST_VARIABLES && (node = TF_GraphNextOperation(model->graph, &at));)
        if (variable_name(node, name, sizeof name))
            nodes[n++] = node;
    for (int i = 0; i < n; i++) {
        variable_name(nodes[i], name, sizeof name);
        if (!TF_CheckpointReaderHasTensor(reader, name))
            return report_missing(reader, prefix, name);
        if (!restore_one(model, reader, nodes[i], name))
            return false;
    }
    if (!n)
        fail("%s has no variables for %s", model->path, prefix);
    return n > 0;
}

bool model_restore(const Model *model, const char *path) {
    char prefix[4200];
    if (!checkpoint_find(path, prefix, sizeof prefix)) {
        fail("%s: is no checkpoint: there is no %s.index", path, path);
        return false;
    }
    TF_Status *status = TF_NewStatus();
    TF_CheckpointReader *reader = TF_NewCheckpointReader(prefix, status);
    bool done = good(status, prefix) && restore_all(model, reader, prefix);
    TF_DeleteCheckpointReader(reader);
    TF_DeleteStatus(status);
    return done;
}
