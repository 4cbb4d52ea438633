// SavedModel — see saved_model.h: reading the file, choosing a meta graph by its tags, restoring variables and running
// the initializer, in TensorFlow's order and with its errors.
//
// Only the chosen meta graph is decoded: a file may hold several, each with all its functions. The graph's bytes are
// kept as they are, for the importer.
#include "session/saved_model.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "graph/wire.h"
#include "proto/text.h"

// ---------------------------------------- the file

// All of it, read to where it stays: constants make some models gigabytes.
// "e": not inherited by a child process of the client.
static Status *read_file(Arena *arena, const char *path, Str *out) {
    FILE *file = fopen(path, "re");
    NEED(file, code_from_errno(errno), "can't open %s", path);
    struct stat found;
    size_t size = fstat(fileno(file), &found) == 0 ? (size_t)found.st_size : 0;
    char *bytes = arena_alloc(arena, size + 1);
    size_t n = bytes ? fread(bytes, 1, size, file) : 0;
    bool bad = ferror(file);
    fclose(file);
    NEED_MEMORY(bytes);
    NEED(!bad && n == size, DATA_LOSS, "can't read %s", path);
    bytes[size] = 0;
    *out = (Str){bytes, size};
    return OK;
}

// A text form becomes the binary one, so that the rest knows one form only.
static Status *read_text(Arena *arena, Str file, Str *out) {
    SavedModelProto *model;
    AUTO(text) Text bytes = {0};
    TRY(status_with_code(PROTO_PARSE(SavedModelProto, arena, file, &model), DATA_LOSS));
    TRY(PROTO_ENCODE(SavedModelProto, model, &bytes));
    char *copy = arena_copy(arena, text_str(&bytes).p, bytes.n);
    NEED_MEMORY(copy);
    *out = (Str){copy, bytes.n};
    return OK;
}

static Status *read_model(SavedModel *model, Str *out) {
    Arena *arena = &model->arena;
    Str folder = model->folder;
    Str binary = str_format(arena, "%.*s/saved_model.pb", (int)folder.n, folder.p);
    Str text = str_format(arena, "%.*s/saved_model.pbtxt", (int)folder.n, folder.p);
    NEED_MEMORY(binary.p && text.p);
    if (access(binary.p, F_OK) == 0)
        return read_file(arena, binary.p, out);
    NEED(access(text.p, F_OK) == 0, NOT_FOUND,
         "Could not find SavedModel .pb or .pbtxt at supplied export directory path: %.*s", STR_ARGS(folder));
    Str file;
    TRY(read_file(arena, text.p, &file));
    return read_text(arena, file, out);
}

// ---------------------------------------- the meta graph

// The set must be equal, not a subset, as in TensorFlow: {serve} doesn't choose {serve, gpu}.
static bool tags_match(const MetaGraphDef_MetaInfoDef *info, const char *const *tags, int n_tags) {
    size_t n = info ? info->tags.n : 0;
    for (size_t i = 0; i < n; i++) {
        bool wanted = false;
        for (int j = 0; j < n_tags; j++)
            wanted |= str_is(info->tags.p[i], tags[j]);
        if (!wanted)
            return false;
    }
    for (int j = 0; j < n_tags; j++) {
        bool there = false;
        for (size_t i = 0; i < n; i++)
            there |= str_is(info->tags.p[i], tags[j]);
        if (!there)
            return false;
    }
    return true;
}

// The last bytes of a field in a message, undecoded: in the wire format the last of several counts.
static Str find_field(Str message, uint32_t wanted) {
    Cursor c = cursor_of(message.p, message.n);
    uint32_t field;
    uint64_t value;
    Str inner, found = {0};
    while (wire_next(&c, &field, &inner, &value))
        if (field == wanted)
            found = inner;
    return found;
}

// Whether the field at which reading failed says that more bytes follow than do. TensorFlow tells a file that is cut
// off (OUT_OF_RANGE) from one that is no message (DATA_LOSS).
static bool ends_early(Cursor c) {
    uint64_t tag, size;
    if (!cursor_varint(&c, &tag))
        return cursor_left(&c) < 10;
    bool known = (tag & 7) <= 2 || (tag & 7) == 5;
    return known && tag >> 3 && ((tag & 7) != 2 || !cursor_varint(&c, &size) || size > cursor_left(&c));
}

static Status *choose(SavedModel *model, Str file, const char *const *tags, int n_tags) {
    Cursor c = cursor_of(file.p, file.n);
    uint32_t field;
    uint64_t value;
    Str inner;
    while (wire_next(&c, &field, &inner, &value)) {
        MetaGraphDef_MetaInfoDef *info;
        if (field != SavedModelProto_meta_graphs)
            continue;
        Str told = find_field(inner, MetaGraphDef_meta_info_def);
        TRY(status_with_code(PROTO_DECODE(MetaGraphDef_MetaInfoDef, &model->arena, told, &info), DATA_LOSS));
        if (!tags_match(info, tags, n_tags))
            continue;
        MetaGraphDef *meta;
        TRY(status_with_code(PROTO_DECODE(MetaGraphDef, &model->arena, inner, &meta), DATA_LOSS));
        model->bytes = inner;
        model->graph_def = find_field(inner, MetaGraphDef_graph_def);
        model->meta = meta;
        return OK;
    }
    NEED(cursor_left(&c) == 0 || !ends_early(c), OUT_OF_RANGE,
         "Read less bytes than requested: the SavedModel in %.*s is cut off", STR_ARGS(model->folder));
    NEED(cursor_left(&c) == 0, DATA_LOSS, "Can't parse the SavedModel in %.*s", STR_ARGS(model->folder));
    AUTO(text) Text list = {0};
    for (int i = 0; i < n_tags; i++)
        text_format(&list, " %s", tags[i]);
    FAIL(NOT_FOUND, "Could not find meta graph def matching supplied tags: {%s }", text_str(&list).p);
}

// ---------------------------------------- what TensorFlow refuses before it imports

// What TensorFlow refuses in a loaded model, by its messages: a Const that couldn't be made.
static Status *check_node(const NodeDef *node) {
    if (!str_is(node->op, "Const"))
        return OK;
    const AttrValueProto *value = NULL;
    for (size_t i = 0; i < node->attr.n; i++)
        if (str_is(node->attr.p[i].key, "value"))
            value = node->attr.p[i].value;
    NEED(value && value->which == AttrValueProto_tensor && value->tensor, FAILED_PRECONDITION,
         "Saved model contains a node %.*s (op Const) without a value", STR_ARGS(node->name));
    const TensorShapeProto *shape = value->tensor->tensor_shape;
    for (size_t i = 0; shape && i < shape->dim.n; i++)
        NEED(shape->dim.p[i].size >= 0, FAILED_PRECONDITION,
             "Saved model contains node \"%.*s\" which initializes from a tensor of negative size",
             STR_ARGS(node->name));
    return OK;
}

static Status *check_graph(const GraphDef *graph) {
    for (size_t i = 0; i < graph->node.n; i++)
        TRY(check_node(&graph->node.p[i]));
    for (size_t i = 0; graph->library && i < graph->library->function.n; i++) {
        const FunctionDef *function = &graph->library->function.p[i];
        for (size_t j = 0; j < function->node_def.n; j++) {
            TRY(check_node(&function->node_def.p[j]));
            NEED(!function->signature || !str_equal(function->node_def.p[j].op, function->signature->name),
                 FAILED_PRECONDITION, "Function %.*s is self recursive and TensorFlow does not support this scenario.",
                 STR_ARGS(function->signature->name));
        }
    }
    return OK;
}

static Status *open_model(const char *folder, const char *const *tags, int n_tags, SavedModel *model) {
    Str file;
    model->folder = str_copy(&model->arena, str_of(folder));
    NEED_MEMORY(model->folder.p);
    while (model->folder.n > 1 && model->folder.p[model->folder.n - 1] == '/')
        model->folder.n--;
    TRY(read_model(model, &file));
    TRY(choose(model, file, tags, n_tags));
    NEED(model->meta->graph_def, INVALID_ARGUMENT, "the SavedModel in %.*s has no graph", STR_ARGS(model->folder));
    return check_graph(model->meta->graph_def);
}

Status *saved_model_open(const char *folder, const char *const *tags, int n_tags, SavedModel *out) {
    SavedModel model = {0};
    Status *status = open_model(folder ? folder : "", tags, n_tags, &model);
    if (status) {
        saved_model_clear(&model);
    } else {
        log_write(LOG_INFO, "opened the SavedModel %s: %zu bytes of graph", folder, model.graph_def.n);
        *out = model;
    }
    return status;
}

void saved_model_clear(SavedModel *model) {
    arena_clear(&model->arena);
    *model = (SavedModel){0};
}

// ---------------------------------------- starting

enum { MAX_ASSETS = 10000 };

// What every step of the start is fed: paths, by the placeholders or constants that hold them.
typedef struct {
    const SavedModel *model;
    const Graph *graph;
    Arena arena;
    Output *edges;
    Tensor *values;
    const Tensor **pointers;
    int n, room;
} Feeds;

// "name:0" is a tensor, "name" an operation; models have both.
static Str node_of(Str tensor_name) {
    const char *colon = tensor_name.n ? memchr(tensor_name.p, ':', tensor_name.n) : NULL;
    return colon ? (Str){tensor_name.p, (size_t)(colon - tensor_name.p)} : tensor_name;
}

static Status *find_node(const Feeds *feeds, Str tensor_name, Node **out) {
    *out = graph_find(feeds->graph, node_of(tensor_name));
    NEED(*out, NOT_FOUND, "the SavedModel names '%.*s', which is not in its graph", STR_ARGS(tensor_name));
    return OK;
}

static Status *add_path(Feeds *feeds, Str tensor_name, Str path) {
    Node *node;
    TRY(find_node(feeds, tensor_name, &node));
    NEED(node->n_outputs > 0, INVALID_ARGUMENT, "'%.*s' has no output to feed", STR_ARGS(tensor_name));
    for (int i = 0; i < feeds->n; i++)
        if (feeds->edges[i].node == node)
            return OK;  // two assets of one placeholder: the first stays
    NEED(feeds->n < feeds->room, INTERNAL, "more feeds than files");
    Tensor *value = &feeds->values[feeds->n];
    TRY(tensor_new(DT_string, SCALAR_SHAPE, value));
    feeds->edges[feeds->n] = (Output){node, 0};
    feeds->pointers[feeds->n] = value;
    feeds->n++;
    NEED_MEMORY(tstring_assign(value->data, path));
    return OK;
}

static Status *add_asset(Feeds *feeds, const AssetFileDef *asset) {
    NEED(asset->tensor_info && asset->tensor_info->which == TensorInfoProto_name, INVALID_ARGUMENT,
         "the asset %.*s belongs to no tensor", STR_ARGS(asset->filename));
    Str folder = feeds->model->folder;
    Str path = str_format(&feeds->arena, "%.*s/assets/%.*s", (int)folder.n, folder.p, (int)asset->filename.n,
                          asset->filename.p);
    NEED_MEMORY(path.p);
    return add_path(feeds, asset->tensor_info->name, path);
}

static const CollectionDef *find_collection(const MetaGraphDef *meta, const char *key) {
    for (size_t i = 0; i < meta->collection_def.n; i++)
        if (str_is(meta->collection_def.p[i].key, key))
            return meta->collection_def.p[i].value;
    return NULL;
}

// Newer models list assets in a field, older ones in a collection of packed messages.
// The collection dates from TensorFlow 1.
static Status *add_assets(Feeds *feeds) {
    const MetaGraphDef *meta = feeds->model->meta;
    for (size_t i = 0; i < meta->asset_file_def.n; i++)
        TRY(add_asset(feeds, &meta->asset_file_def.p[i]));
    const CollectionDef *old = find_collection(meta, "saved_model_assets");
    if (meta->asset_file_def.n || !old || old->which != CollectionDef_any_list)
        return OK;
    for (size_t i = 0; i < old->any_list->value.n; i++) {
        AssetFileDef *asset;
        TRY(PROTO_DECODE(AssetFileDef, &feeds->arena, old->any_list->value.p[i].value, &asset));
        TRY(add_asset(feeds, asset));
    }
    return OK;
}

static Status *feeds_open(Feeds *feeds) {
    const CollectionDef *old = find_collection(feeds->model->meta, "saved_model_assets");
    size_t n = feeds->model->meta->asset_file_def.n + 1;
    if (old && old->which == CollectionDef_any_list)
        n += old->any_list->value.n;
    NEED(n <= MAX_ASSETS, INVALID_ARGUMENT, "more than %d assets", MAX_ASSETS);
    feeds->room = (int)n;
    feeds->edges = ARENA_ARRAY(&feeds->arena, Output, n);
    feeds->values = ARENA_ARRAY(&feeds->arena, Tensor, n);
    feeds->pointers = ARENA_ARRAY(&feeds->arena, const Tensor *, n);
    NEED_MEMORY(feeds->edges && feeds->values && feeds->pointers);
    return add_assets(feeds);
}

static void feeds_auto(Feeds *feeds) {
    for (int i = 0; i < feeds->n; i++)
        tensor_clear(&feeds->values[i]);
    arena_clear(&feeds->arena);
}

static Status *run_target(const Feeds *feeds, Str name, Session *session, const RunSettings *settings) {
    Node *target;
    TRY(find_node(feeds, name, &target));
    StepSignature signature = {.feeds = feeds->edges, .targets = &target, .n_feeds = feeds->n, .n_targets = 1};
    return session_run(session, &signature, settings, feeds->pointers, NULL);
}

// A model without variables has no index file, and nothing to restore. The path is fed for this step alone.
static Status *restore(Feeds *feeds, Session *session, const RunSettings *settings) {
    const SaverDef *saver = feeds->model->meta->saver_def;
    Str folder = feeds->model->folder;
    Str prefix = str_format(&feeds->arena, "%.*s/variables/variables", (int)folder.n, folder.p);
    Str index = str_format(&feeds->arena, "%.*s.index", (int)prefix.n, prefix.p);
    NEED_MEMORY(prefix.p && index.p);
    if (!saver || !saver->restore_op_name.n || access(index.p, F_OK) != 0)
        return OK;
    TRY(add_path(feeds, saver->filename_tensor_name, prefix));
    Status *status = run_target(feeds, saver->restore_op_name, session, settings);
    tensor_clear(&feeds->values[--feeds->n]);
    return status_prefix(status, "restoring the variables of %.*s", STR_ARGS(folder));
}

// The name of the initializer; empty where there is none. Three generations of models: a signature, a collection with
// one main op, and before these the legacy init op.
static Status *find_initializer(const MetaGraphDef *meta, Str *out) {
    static const char *const key = "__saved_model_init_op";
    *out = (Str){0};
    for (size_t i = 0; i < meta->signature_def.n; i++) {
        const SignatureDef *signature = meta->signature_def.p[i].value;
        if (!str_is(meta->signature_def.p[i].key, key))
            continue;
        for (size_t j = 0; j < signature->outputs.n; j++)
            if (str_is(signature->outputs.p[j].key, key) &&
                signature->outputs.p[j].value->which == TensorInfoProto_name)
                *out = signature->outputs.p[j].value->name;
        return OK;
    }
    const CollectionDef *old = find_collection(meta, "saved_model_main_op");
    if (!old)
        old = find_collection(meta, "legacy_init_op");
    if (!old)
        return OK;
    NEED(old->which == CollectionDef_node_list && old->node_list->value.n == 1, FAILED_PRECONDITION,
         "Expected exactly one main op");
    *out = old->node_list->value.p[0];
    return OK;
}

Status *saved_model_start(const SavedModel *model, const Graph *graph, Session *session, const RunSettings *settings) {
    AUTO(feeds) Feeds feeds = {.model = model, .graph = graph};
    Str initializer;
    TRY(feeds_open(&feeds));
    TRY(restore(&feeds, session, settings));
    TRY(find_initializer(model->meta, &initializer));
    if (!initializer.n)
        return OK;
    return status_prefix(run_target(&feeds, initializer, session, settings), "initializing %.*s",
                         STR_ARGS(model->folder));
}
