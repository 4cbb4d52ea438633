// Feeds and fetches — "x=[1 2]", "x=@a.npy", "y", "y=@b.npy" of a command line.
#include "cli.h"

TF_Tensor *convert_tensor(TF_Tensor *value, TF_DataType wanted, const char *name) {
    if (TF_TensorType(value) == wanted)
        return value;
    TF_Status *status = TF_NewStatus();
    TF_Graph *graph = TF_NewGraph();
    TF_OperationDescription *in = TF_NewOperation(graph, "Placeholder", "in");
    TF_SetAttrType(in, "dtype", TF_TensorType(value));
    TF_Output from = {TF_FinishOperation(in, status), 0};
    TF_Tensor *result = NULL;
    if (from.oper) {
        TF_OperationDescription *cast = TF_NewOperation(graph, "Cast", "cast");
        TF_AddInput(cast, from);
        TF_SetAttrType(cast, "DstT", wanted);
        TF_Output to = {TF_FinishOperation(cast, status), 0};
        TF_SessionOptions *options = TF_NewSessionOptions();
        TF_Session *session = to.oper ? TF_NewSession(graph, options, status) : NULL;
        if (session) {
            TF_SessionRun(session, NULL, &from, &value, 1, &to, &result, 1, NULL, 0, NULL, status);
            TF_Status *ignored = TF_NewStatus();
            TF_DeleteSession(session, ignored);
            TF_DeleteStatus(ignored);
        }
        TF_DeleteSessionOptions(options);
    }
    good(status, name);
    TF_DeleteGraph(graph);
    TF_DeleteStatus(status);
    TF_DeleteTensor(value);
    return result;
}

// Whether the tensor has the shape that the graph tells of the edge; else it is deleted, after a message.
static bool fits(const Model *model, TF_Output edge, TF_Tensor **value) {
    TF_Status *status = TF_NewStatus();
    int64_t dims[16];
    int rank = TF_GraphGetTensorNumDims(model->graph, edge, status);
    bool fine = rank < 0 || rank > 16 || rank == TF_NumDims(*value);
    if (fine && rank > 0 && rank <= 16) {
        TF_GraphGetTensorShape(model->graph, edge, dims, rank, status);
        for (int i = 0; i < rank && TF_GetCode(status) == TF_OK; i++)
            fine = fine && (dims[i] < 0 || dims[i] == TF_Dim(*value, i));
    }
    TF_DeleteStatus(status);
    if (fine)
        return true;
    char shape[512] = "";
    size_t used = 0;
    for (int i = 0; i < TF_NumDims(*value) && used < sizeof shape - 24; i++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, i ? " %lld" : "%lld", (long long)TF_Dim(*value, i));
    fail("%s: the input '%s' is of shape %s, but the tensor of shape [%s]", model->path, edge_name(edge),
         edge_shape(model, edge), shape);
    TF_DeleteTensor(*value);
    *value = NULL;
    return false;
}

bool feeds_add(Feeds *feeds, const Model *model, const char *text) {
    const char *equals = strchr(text, '=');
    char name[4096];
    if (feeds->n == MOST_EDGES) {
        fail("at most %d inputs are possible", MOST_EDGES);
        return false;
    }
    if (!equals || equals == text || (size_t)(equals - text) >= sizeof name) {
        fail("'%s' is no input: NAME=TENSOR or NAME=@FILE is expected", text);
        return false;
    }
    snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    TF_Output edge;
    if (!model_edge(model, name, &edge))
        return false;
    TF_DataType dtype = TF_OperationOutputType(edge);
    TF_Tensor *value;
    if (equals[1] == '@') {
        value = read_tensor(equals + 2);
        value = value ? convert_tensor(value, dtype, name) : NULL;
    } else {
        TF_Status *status = TF_NewStatus();
        value = mr_tensor_parse(equals + 1, dtype, status);
        good(status, name);
        TF_DeleteStatus(status);
    }
    if (!value || !fits(model, edge, &value))
        return false;
    feeds->edges[feeds->n] = edge;
    feeds->values[feeds->n++] = value;
    return true;
}

void feeds_clear(Feeds *feeds) {
    for (int i = 0; i < feeds->n; i++)
        TF_DeleteTensor(feeds->values[i]);
    *feeds = (Feeds){0};
}

bool fetches_add(Fetches *fetches, const Model *model, const char *text) {
    const char *file = strstr(text, "=@");
    char name[4096];
    if (fetches->n == MOST_EDGES) {
        fail("at most %d outputs are possible", MOST_EDGES);
        return false;
    }
    snprintf(name, sizeof name, "%.*s", file ? (int)(file - text) : (int)strlen(text), text);
    if (!model_edge(model, name, &fetches->edges[fetches->n]))
        return false;
    fetches->files[fetches->n++] = file ? strdup(file + 2) : NULL;
    return true;
}

void fetches_clear(Fetches *fetches) {
    for (int i = 0; i < fetches->n; i++)
        free(fetches->files[i]);
    *fetches = (Fetches){0};
}
