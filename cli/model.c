// Models — GraphDef files and SavedModel folders, and the names of edges in them.
#include <sys/stat.h>

#include "cli.h"

static void open_folder(const char *path, Model *model, TF_Status *status) {
    TF_SessionOptions *options = TF_NewSessionOptions();
    const char *tags[] = {"serve"};
    TF_Buffer *meta = TF_NewBuffer();
    model->session = TF_LoadSessionFromSavedModel(options, NULL, path, tags, 1, model->graph, meta, status);
    if (model->session && meta->data)
        signature_read(model, meta->data, meta->length);
    TF_DeleteBuffer(meta);
    TF_DeleteSessionOptions(options);
}

static bool open_file(const char *path, Model *model, TF_Status *status) {
    TF_Buffer bytes = {0};
    char *data = read_file(path, &bytes.length);
    if (!data)
        return false;
    if (!bytes.length) {
        fail("%s: is empty", path);
        free(data);
        return false;
    }
    bytes.data = data;
    TF_ImportGraphDefOptions *options = TF_NewImportGraphDefOptions();
    TF_GraphImportGraphDef(model->graph, &bytes, options, status);
    TF_DeleteImportGraphDefOptions(options);
    free(data);
    if (TF_GetCode(status) != TF_OK)
        return true;
    TF_SessionOptions *session = TF_NewSessionOptions();
    model->session = TF_NewSession(model->graph, session, status);
    TF_DeleteSessionOptions(session);
    return true;
}

bool model_open(const char *path, Model *out) {
    struct stat info;
    TF_Status *status = TF_NewStatus();
    *out = (Model){.graph = TF_NewGraph()};
    bool tried = true;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        open_folder(path, out, status);
    else
        tried = open_file(path, out, status);
    bool done = tried && good(status, path) && out->session;
    TF_DeleteStatus(status);
    if (!done)
        model_close(out);
    return done;
}

void model_close(Model *model) {
    TF_Status *status = TF_NewStatus();
    if (model->session)
        TF_DeleteSession(model->session, status);
    if (model->graph)
        TF_DeleteGraph(model->graph);
    TF_DeleteStatus(status);
    *model = (Model){0};
}

// "name:1" in parts; the node, or NULL.
static TF_Operation *find_node(const Model *model, const char *name, char *plain, size_t room, int *index) {
    snprintf(plain, room, "%s", name);
    char *colon = strrchr(plain, ':');
    *index = colon ? atoi(colon + 1) : 0;
    if (colon)
        *colon = 0;
    return TF_GraphOperationByName(model->graph, plain);
}

bool model_edge(const Model *model, const char *name, TF_Output *out) {
    char plain[4096];
    int index;
    TF_Operation *node = find_node(model, name, plain, sizeof plain, &index);
    for (int i = 0; i < model->n_ends && !node; i++)
        if (strcmp(model->ends[i].name, name) == 0)
            node = find_node(model, model->ends[i].edge, plain, sizeof plain, &index);
    if (!node) {
        fail("the model has no node '%s'", plain);
        return false;
    }
    if (index < 0 || index >= TF_OperationNumOutputs(node)) {
        fail("node '%s' has %d outputs, so no :%d", plain, TF_OperationNumOutputs(node), index);
        return false;
    }
    *out = (TF_Output){node, index};
    return true;
}

int model_ends(const Model *model, TF_Output *out, int most) {
    int n = 0;
    size_t at = 0;
    for (int i = 0; i < model->n_ends && n < most; i++)
        if (model->ends[i].is_output && !model_edge(model, model->ends[i].edge, &out[n++]))
            n--;
    if (n)
        return n;
    for (TF_Operation *node; (node = TF_GraphNextOperation(model->graph, &at));) {
        bool read = false;
        for (int i = 0; i < TF_OperationNumOutputs(node); i++)
            read = read || TF_OperationOutputNumConsumers((TF_Output){node, i}) > 0;
        const char *op = TF_OperationOpType(node);
        if (!read && strcmp(op, "Const") != 0 && strcmp(op, "Placeholder") != 0 && TF_OperationNumOutputs(node) > 0 &&
            n < most)
            out[n++] = (TF_Output){node, 0};
    }
    return n;
}

const char *edge_name(TF_Output edge) {
    static char texts[8][512];
    static int next;
    char *text = texts[next++ % 8];
    if (edge.index)
        snprintf(text, sizeof texts[0], "%s:%d", TF_OperationName(edge.oper), edge.index);
    else
        snprintf(text, sizeof texts[0], "%s", TF_OperationName(edge.oper));
    return text;
}

const char *edge_shape(const Model *model, TF_Output edge) {
    static char texts[8][256];
    static int next;
    char *text = texts[next++ % 8];
    TF_Status *status = TF_NewStatus();
    int rank = TF_GraphGetTensorNumDims(model->graph, edge, status);
    int64_t dims[16];
    if (rank < 0 || rank > 16) {
        snprintf(text, sizeof texts[0], "?");
    } else {
        TF_GraphGetTensorShape(model->graph, edge, dims, rank, status);
        size_t n = (size_t)snprintf(text, sizeof texts[0], "[");
        for (int i = 0; i < rank && n < sizeof texts[0] - 24; i++)
            n += (size_t)(dims[i] < 0 ? snprintf(text + n, sizeof texts[0] - n, i ? " ?" : "?")
                                      : snprintf(text + n, sizeof texts[0] - n, i ? " %lld" : "%lld", (long long)dims[i]));
        snprintf(text + n, sizeof texts[0] - n, "]");
    }
    TF_DeleteStatus(status);
    return text;
}
