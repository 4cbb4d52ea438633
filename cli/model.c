// Models — GraphDef files and SavedModel folders, and the names of edges in them.
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "wire.h"

// ConfigProto: intra_op_parallelism_threads is field 2, inter_op_parallelism_threads field 5.
static TF_SessionOptions *session_options(int threads, TF_Status *status) {
    TF_SessionOptions *options = TF_NewSessionOptions();
    unsigned char config[] = {0x10, (unsigned char)threads, 0x28, (unsigned char)threads};
    if (threads > 0 && threads < 128)
        TF_SetConfig(options, config, sizeof config, status);
    return options;
}

bool model_is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

// What lies in a folder that should hold a SavedModel.
static bool report_folder(const char *path) {
    char list[512] = "nothing";
    size_t used = 0;
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && used < sizeof list - 100 && (entry = readdir(folder));)
        if (entry->d_name[0] != '.')
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%.80s", used ? ", " : "", entry->d_name);
    if (folder)
        closedir(folder);
    fail("%s: is no SavedModel and holds no checkpoint: saved_model.pb is not in it; there is %s", path, list);
    return false;
}

bool model_file(const char *folder, char *out, size_t room) {
    for (int text = 0; text < 2; text++) {
        snprintf(out, room, "%s/saved_model.pb%s", folder, text ? "txt" : "");
        if (access(out, F_OK) == 0)
            return true;
    }
    return report_folder(folder);
}

static void open_folder(const char *path, int threads, Model *model, TF_Status *status) {
    TF_SessionOptions *options = session_options(threads, status);
    const char *tags[] = {"serve"};
    TF_Buffer *meta = TF_NewBuffer();
    model->session = TF_LoadSessionFromSavedModel(options, NULL, path, tags, 1, model->graph, meta, status);
    if (model->session && meta->data)
        signature_read(model, meta->data, meta->length);
    TF_DeleteBuffer(meta);
    TF_DeleteSessionOptions(options);
}

// Files of others: what they are, and what makes a SavedModel of them.
static const char *foreign_file(const char *path, const char *data, size_t size) {
    const char *dot = strrchr(path, '.');
    dot = dot ? dot : "";
    if (size >= 8 && memcmp(data, "\x89HDF\r\n\x1a\n", 8) == 0)
        return "is a Keras model or its weights in HDF5; in Python, keras.models.load_model(FILE).export(FOLDER) makes a SavedModel "
               "of a whole model";
    if (strcmp(dot, ".keras") == 0 && size >= 2 && memcmp(data, "PK", 2) == 0)
        return "is a Keras archive; in Python, keras.models.load_model(FILE).export(FOLDER) makes a SavedModel of it";
    if (size >= 2 && memcmp(data, "PK", 2) == 0)
        return "is an archive (zip); of a PyTorch model torch.onnx.export and then onnx2tf make a SavedModel";
    if (size >= 8 && memcmp(data + 4, "TFL3", 4) == 0)
        return "is a TensorFlow Lite model, which leads back to no graph: take the SavedModel that it was made of";
    if (strcmp(dot, ".onnx") == 0)
        return "is an ONNX model; `onnx2tf -i FILE -o FOLDER` makes a SavedModel of it";
    return NULL;
}

static bool is_text(const char *path) {
    size_t n = strlen(path);
    return n >= 6 && strcmp(path + n - 6, ".pbtxt") == 0;
}

static void free_bytes(void *data, size_t size) {
    (void)size;
    free(data);
}

static void take_bytes(TF_Buffer *out, char *data, size_t size) {
    *out = (TF_Buffer){data, size, free_bytes};
}

// The bytes of a message, out of a file in binary or in text form.
bool message_read(const char *path, const char *message, TF_Buffer *out) {
    size_t size;
    char *data = read_file(path, &size);
    if (!data)
        return false;
    const char *foreign = foreign_file(path, data, size);
    bool malformed = size > 0 && !foreign && !is_text(path) && !wire_valid((Bytes){(unsigned char *)data, (unsigned char *)data + size});
    bool done = size > 0 && !foreign && !malformed;
    if (malformed)
        fail("%s: is no %s: a file in binary form is expected, or text in one whose name ends in .pbtxt", path, message);
    else if (foreign)
        fail("%s: %s", path, foreign);
    else if (!size)
        fail("%s: is empty", path);
    TF_Status *status = TF_NewStatus();
    if (done && is_text(path))
        mr_message_parse(message, data, size, out, status);
    else if (done)
        take_bytes(out, data, size), data = NULL;
    done = done && good(status, path);
    TF_DeleteStatus(status);
    free(data);
    return done;
}

static bool open_file(const char *path, int threads, Model *model, TF_Status *status) {
    TF_Buffer *bytes = TF_NewBuffer();
    bool read = message_read(path, "GraphDef", bytes);
    if (read) {
        TF_ImportGraphDefOptions *options = TF_NewImportGraphDefOptions();
        TF_GraphImportGraphDef(model->graph, bytes, options, status);
        TF_DeleteImportGraphDefOptions(options);
    }
    TF_DeleteBuffer(bytes);
    if (!read || TF_GetCode(status) != TF_OK)
        return read;
    TF_SessionOptions *session = session_options(threads, status);
    model->session = TF_NewSession(model->graph, session, status);
    TF_DeleteSessionOptions(session);
    return true;
}

bool model_open(const char *path, int threads, Model *out) {
    char file[4200];
    TF_Status *status = TF_NewStatus();
    *out = (Model){.graph = TF_NewGraph(), .path = path};
    bool tried = true;
    if (!model_is_folder(path))
        tried = open_file(path, threads, out, status);
    else if ((tried = model_file(path, file, sizeof file)))
        open_folder(path, threads, out, status);
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
    bool numbered = colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1) && strlen(colon) < 10;
    *index = numbered ? atoi(colon + 1) : 0;
    if (numbered)
        *colon = 0;
    return TF_GraphOperationByName(model->graph, plain);
}

// No such node: what was meant, or what there is to feed and to fetch.
static bool report_node(const Model *model, const char *name) {
    Hint hint = {.wanted = name};
    size_t at = 0;
    for (int i = 0; i < model->n_ends; i++)
        hint_offer(&hint, model->ends[i].name);
    for (TF_Operation *node; (node = TF_GraphNextOperation(model->graph, &at));)
        hint_offer(&hint, TF_OperationName(node));
    if (*hint.best) {
        fail("%s has no node '%s'%s", model->path, name, hint_text(&hint));
        return false;
    }
    TF_Output ends[8];
    char list[1024] = "";
    size_t used = 0;
    int n = model_ends(model, ends, 8);
    for (int i = 0; i < model->n_ends && i < 8; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.80s", used ? ", " : "", model->ends[i].name);
    for (int i = 0; i < n && !model->n_ends; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.80s", used ? ", " : "", edge_name(ends[i]));
    for (at = 0; !model->n_ends && used < sizeof list - 100;) {
        TF_Operation *node = TF_GraphNextOperation(model->graph, &at);
        if (!node)
            break;
        if (strncmp(TF_OperationOpType(node), "Placeholder", 11) == 0)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%.80s", used ? ", " : "",
                                     TF_OperationName(node));
    }
    fail("%s has no node '%s'; there are %s: `millrace inspect --nodes` lists all", model->path, name, list);
    return false;
}

bool model_targets(const Model *model, char *const *names, int n, const TF_Operation **out) {
    for (int i = 0; i < n; i++)
        if (!(out[i] = TF_GraphOperationByName(model->graph, names[i])))
            return report_node(model, names[i]);
    return true;
}

bool model_edge(const Model *model, const char *name, TF_Output *out) {
    char plain[4096];
    int index;
    TF_Operation *node = find_node(model, name, plain, sizeof plain, &index);
    for (int i = 0; i < model->n_ends && !node; i++)
        if (strcmp(model->ends[i].name, name) == 0)
            node = find_node(model, model->ends[i].edge, plain, sizeof plain, &index);
    if (!node)
        return report_node(model, plain);
    if (index < 0 || index >= TF_OperationNumOutputs(node)) {
        int n = TF_OperationNumOutputs(node);
        fail("%s: node '%s' has %d output%s, so there is no '%s:%d'", model->path, plain, n, n == 1 ? "" : "s", plain, index);
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
                                      : snprintf(text + n, sizeof texts[0] - n, i ? " %lld" : "%lld",
                                                 (long long)dims[i]));
        snprintf(text + n, sizeof texts[0] - n, "]");
    }
    TF_DeleteStatus(status);
    return text;
}
