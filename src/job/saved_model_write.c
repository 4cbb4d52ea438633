// SavedModel, written — see saved_model_write.h.
#include "job/saved_model_write.h"

#include "graph/build.h"
#include "graph/graph_def.h"
#include "proto/tensor_proto.h"

// What is written, while it is made: a copy of the graph, to which what saves and restores is added.
typedef struct {
    const SavedModelSpec *spec;
    Graph *copy;
    Arena arena;
    bool *kept;              // by id of the copy's nodes
    size_t n_kept;
    GraphVariables variables;  // of the session's graph, those that are needed
    Node **reads, **assigns;   // in the copy
    Node *filename, *saved, *restore;
} Writing;

static void writing_auto(Writing *w) {
    variables_clear(&w->variables);
    arena_clear(&w->arena);
    if (w->copy)
        graph_release(w->copy);
}

// ---- the graph

static Status *copy_graph(Writing *w, const Graph *graph, Mutex *lock) {
    AUTO(text) Text bytes = {0};
    if (lock)
        mutex_lock(lock);
    Status *status = graph_to_proto(graph, &bytes);
    if (lock)
        mutex_unlock(lock);
    TRY(status);
    ImportResults results = {0};
    TRY(graph_new(&w->copy));
    TRY(graph_import(w->copy, text_str(&bytes), NULL, &results));
    import_results_clear(&results);
    return OK;
}

static Status *find(const Writing *w, const Node *node, Node **out) {
    *out = node ? graph_find(w->copy, node->name) : NULL;
    NEED(*out, INVALID_ARGUMENT, "an end of a signature is no node of the graph");
    return OK;
}

typedef VEC(Node *) NodeStack;

static bool keep(Writing *w, NodeStack *stack, Node *node) {
    if (!node || w->kept[node->id])
        return true;
    w->kept[node->id] = true;
    return vec_push(stack, node);
}

static Status *keep_roots(Writing *w, NodeStack *stack) {
    const SavedModelSpec *spec = w->spec;
    Node *node;
    bool good = true;
    for (int i = 0; i < spec->n_signatures; i++) {
        const SignatureSpec *s = &spec->signatures[i];
        for (int j = 0; j < s->n_inputs + s->n_outputs; j++) {
            TRY(find(w, (j < s->n_inputs ? s->inputs[j] : s->outputs[j - s->n_inputs]).edge.node, &node));
            good = good && keep(w, stack, node);
        }
    }
    for (int i = 0; i < spec->n_assets; i++) {
        TRY(find(w, spec->assets[i].edge.node, &node));
        good = good && keep(w, stack, node);
    }
    if (spec->init) {
        TRY(find(w, spec->init, &node));
        good = good && keep(w, stack, node);
    }
    for (size_t i = 0; i < w->copy->nodes.n && spec->whole; i++)
        good = good && keep(w, stack, w->copy->nodes.p[i]);
    NEED_MEMORY(good);
    return OK;
}

static Status *mark_needed(Writing *w) {
    NodeStack stack = {0};
    w->n_kept = w->copy->nodes.n;
    w->kept = ARENA_ARRAY(&w->arena, bool, w->n_kept + 1);
    NEED_MEMORY(w->kept);
    Status *status = keep_roots(w, &stack);
    bool good = true;
    while (!status && good && stack.n) {
        const Node *node = stack.p[--stack.n];
        for (int i = 0; i < node->n_inputs; i++)
            good = good && keep(w, &stack, node->inputs[i].node);
        for (int i = 0; i < node->n_controls; i++)
            good = good && keep(w, &stack, node->controls[i]);
    }
    vec_clear(&stack);
    TRY(status);
    NEED_MEMORY(good);
    return OK;
}

// Variables that nothing kept reads are left out.
static Status *choose_variables(Writing *w, Graph *graph, Mutex *lock) {
    if (lock)
        mutex_lock(lock);
    Status *status = variables_open(graph, &w->variables);
    if (lock)
        mutex_unlock(lock);
    TRY(status);
    size_t n = 0;
    for (size_t i = 0; i < w->variables.list.n; i++) {
        const Node *node = graph_find(w->copy, w->variables.list.p[i].node->name);
        if (node && w->kept[node->id])
            w->variables.list.p[n++] = w->variables.list.p[i];
    }
    w->variables.list.n = n;
    return OK;
}

// ---- what saves and restores

static Status *add(Writing *w, const char *op, const char *name, const Output *inputs, int n, const Output *list,
                   int n_list, const AttrEntry *attrs, int n_attrs, Node **out) {
    Str unique;
    TRY(graph_unique_name(w->copy, str_of(name), &unique));
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, w->copy, str_of(op), unique);
    for (int i = 0; i < n; i++)
        builder_input(&builder, inputs[i]);
    if (list)
        builder_input_list(&builder, list, n_list);
    for (int i = 0; i < n_attrs; i++)
        builder_attr(&builder, attrs[i].name, &attrs[i].value);
    return builder_finish(&builder, out);
}

static Status *add_strings(Writing *w, const char *name, bool names, Node **out) {
    size_t n = w->variables.list.n;
    AUTO(tensor) Tensor tensor = {0};
    TRY(tensor_new(DT_string, SHAPE((int64_t)n), &tensor));
    for (size_t i = 0; i < n && names; i++)
        NEED_MEMORY(tstring_assign((TString *)tensor.data + i, w->variables.list.p[i].name));
    AttrEntry attrs[] = {{STR("dtype"), ATTR_OF_TYPE(DT_string)}, {STR("value"), {.kind = ATTR_TENSOR, .tensor = &tensor}}};
    return add(w, "Const", name, NULL, 0, NULL, 0, attrs, 2, out);
}

static Status *add_assigns(Writing *w) {
    for (size_t i = 0; i < w->variables.list.n; i++) {
        const GraphVariable *v = &w->variables.list.p[i];
        bool resource = str_is(v->node->type->name, "VarHandleOp");
        AttrEntry dtype = {STR("dtype"), ATTR_OF_TYPE(v->dtype)};
        Output handle = {graph_find(w->copy, v->node->name), 0};
        TRY(add(w, resource ? "ReadVariableOp" : "Identity", "saver/read", &handle, 1, NULL, 0, &dtype, resource,
                &w->reads[i]));
        Output inputs[] = {handle, {w->restore, (int32_t)i}};
        TRY(add(w, resource ? "AssignVariableOp" : "Assign", "saver/assign", inputs, 2, NULL, 0, NULL, 0, &w->assigns[i]));
    }
    return OK;
}

static Status *add_end(Writing *w, const char *op, const char *name, const Output *input, Node *const *controls, size_t n,
                       Node **out) {
    Str unique;
    TRY(graph_unique_name(w->copy, str_of(name), &unique));
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, w->copy, str_of(op), unique);
    if (input)
        builder_input(&builder, *input);
    for (size_t i = 0; i < n; i++)
        builder_control(&builder, controls[i]);
    return builder_finish(&builder, out);
}

static Status *add_saver(Writing *w) {
    size_t n = w->variables.list.n;
    Node *names, *slices, *save;
    DType *dtypes = ARENA_ARRAY(&w->arena, DType, n + 1);
    Output *values = ARENA_ARRAY(&w->arena, Output, n + 1);
    w->reads = ARENA_ARRAY(&w->arena, Node *, n + 1);
    w->assigns = ARENA_ARRAY(&w->arena, Node *, n + 1);
    NEED_MEMORY(dtypes && values && w->reads && w->assigns);
    for (size_t i = 0; i < n; i++)
        dtypes[i] = w->variables.list.p[i].dtype;
    AttrEntry scalar[] = {{STR("dtype"), ATTR_OF_TYPE(DT_string)},
                          {STR("shape"), {.kind = ATTR_SHAPE, .shape = &SCALAR_SHAPE}}};
    TRY(add(w, "Placeholder", "saver_filename", NULL, 0, NULL, 0, scalar, 2, &w->filename));
    TRY(add_strings(w, "saver/names", true, &names));
    TRY(add_strings(w, "saver/slices", false, &slices));
    Output inputs[] = {{w->filename, 0}, {names, 0}, {slices, 0}};
    AttrEntry types = {STR("dtypes"), {.kind = ATTR_TYPE, .is_list = true, .n = (int32_t)n, .types = dtypes}};
    TRY(add(w, "RestoreV2", "saver/restore", inputs, 3, NULL, 0, &types, 1, &w->restore));
    TRY(add_assigns(w));
    for (size_t i = 0; i < n; i++)
        values[i] = (Output){w->reads[i], 0};
    TRY(add(w, "SaveV2", "saver/save", inputs, 3, values, (int)n, NULL, 0, &save));
    TRY(add_end(w, "Identity", "saver/saved", &inputs[0], &save, 1, &w->saved));
    return add_end(w, "NoOp", "saver/restored", NULL, w->assigns, n, &w->restore);
}

// ---- the message

static Status *edge_text(Arena *arena, Str node, int index, Str *out) {
    *out = str_format(arena, "%.*s:%d", STR_ARGS(node), index);
    NEED_MEMORY(out->p);
    return OK;
}

static Status *info_of(Writing *w, Output edge, TensorInfoProto **out) {
    TensorInfoProto *info = ARENA_NEW(&w->arena, TensorInfoProto);
    NEED_MEMORY(info);
    Node *node;
    TRY(find(w, edge.node, &node));
    NEED(edge.index >= 0 && edge.index < node->n_outputs, INVALID_ARGUMENT, "'%.*s' (%.*s) has no output %d",
         NODE_ARGS(node), edge.index);
    info->which = TensorInfoProto_name;
    TRY(edge_text(&w->arena, node->name, edge.index, &info->name));
    info->dtype = (int32_t)dtype_base(node->output_types[edge.index]);
    *out = info;
    return shape_to_proto(&w->arena, &node->output_shapes[edge.index], &info->tensor_shape);
}

static Status *entries_of(Writing *w, const SignatureEnd *ends, int n, TensorInfoEntry **out) {
    TensorInfoEntry *entries = ARENA_ARRAY(&w->arena, TensorInfoEntry, n + 1);
    NEED_MEMORY(entries);
    for (int i = 0; i < n; i++) {
        entries[i].key = ends[i].name;
        TRY(info_of(w, ends[i].edge, &entries[i].value));
    }
    *out = entries;
    return OK;
}

#define INIT_KEY STR("__saved_model_init_op")

static Status *init_signature(Writing *w, SignatureDefEntry *out) {
    TensorInfoProto *info = ARENA_NEW(&w->arena, TensorInfoProto);
    TensorInfoEntry *entry = ARENA_NEW(&w->arena, TensorInfoEntry);
    TensorShapeProto *shape = ARENA_NEW(&w->arena, TensorShapeProto);
    SignatureDef *def = ARENA_NEW(&w->arena, SignatureDef);
    NEED_MEMORY(info && entry && shape && def);
    shape->unknown_rank = true;
    *info = (TensorInfoProto){.which = TensorInfoProto_name, .name = w->spec->init->name, .tensor_shape = shape};
    *entry = (TensorInfoEntry){.key = INIT_KEY, .value = info};
    def->outputs.p = entry;
    def->outputs.n = 1;
    *out = (SignatureDefEntry){.key = INIT_KEY, .value = def};
    return OK;
}

static Status *put_signatures(Writing *w, MetaGraphDef *meta) {
    const SavedModelSpec *spec = w->spec;
    SignatureDefEntry *entries = ARENA_ARRAY(&w->arena, SignatureDefEntry, spec->n_signatures + 1);
    NEED_MEMORY(entries);
    size_t n = 0;
    for (int i = 0; i < spec->n_signatures; i++) {
        const SignatureSpec *s = &spec->signatures[i];
        SignatureDef *def = ARENA_NEW(&w->arena, SignatureDef);
        NEED_MEMORY(def);
        TRY(entries_of(w, s->inputs, s->n_inputs, &def->inputs.p));
        TRY(entries_of(w, s->outputs, s->n_outputs, &def->outputs.p));
        def->inputs.n = (size_t)s->n_inputs;
        def->outputs.n = (size_t)s->n_outputs;
        def->method_name = STR("tensorflow/serving/predict");
        entries[n++] = (SignatureDefEntry){.key = s->name, .value = def};
    }
    if (spec->init)
        TRY(init_signature(w, &entries[n++]));
    meta->signature_def.p = entries;
    meta->signature_def.n = n;
    return OK;
}

// The collections by which TensorFlow's loaders know variables.
static Status *put_variables(Writing *w, MetaGraphDef *meta) {
    size_t n = w->variables.list.n;
    Str *texts = ARENA_ARRAY(&w->arena, Str, n + 1);
    CollectionDef_BytesList *list = ARENA_NEW(&w->arena, CollectionDef_BytesList);
    CollectionDef *collection = ARENA_NEW(&w->arena, CollectionDef);
    CollectionDefEntry *entries = ARENA_ARRAY(&w->arena, CollectionDefEntry, 2);
    NEED_MEMORY(texts && list && collection && entries);
    for (size_t i = 0; i < n; i++) {
        AUTO(text) Text bytes = {0};
        const Node *node = w->variables.list.p[i].node;
        VariableDef def = {.initializer_name = w->assigns[i]->name, .is_resource = str_is(node->type->name, "VarHandleOp"),
                           .trainable = true};
        TRY(edge_text(&w->arena, node->name, 0, &def.variable_name));
        TRY(edge_text(&w->arena, w->reads[i]->name, 0, &def.snapshot_name));
        const Node *assign = w->assigns[i];
        TRY(edge_text(&w->arena, assign->inputs[1].node->name, assign->inputs[1].index, &def.initial_value_name));
        TRY(PROTO_ENCODE(VariableDef, &def, &bytes));
        texts[i] = str_copy(&w->arena, text_str(&bytes));
        NEED_MEMORY(texts[i].p);
    }
    list->value.p = texts;
    list->value.n = n;
    *collection = (CollectionDef){.which = CollectionDef_bytes_list, .bytes_list = list};
    entries[0] = (CollectionDefEntry){.key = STR("trainable_variables"), .value = collection};
    entries[1] = (CollectionDefEntry){.key = STR("variables"), .value = collection};
    meta->collection_def.p = entries;
    meta->collection_def.n = n ? 2 : 0;
    return OK;
}

static Status *put_saver(Writing *w, MetaGraphDef *meta) {
    SaverDef *saver = ARENA_NEW(&w->arena, SaverDef);
    NEED_MEMORY(saver);
    *saver = (SaverDef){.restore_op_name = w->restore->name, .version = 2};
    TRY(edge_text(&w->arena, w->filename->name, 0, &saver->filename_tensor_name));
    TRY(edge_text(&w->arena, w->saved->name, 0, &saver->save_tensor_name));
    meta->saver_def = saver;
    return OK;
}

static Str last_name(Str path) {
    size_t n = disk_parent(path).n;
    while (n < path.n && path.p[n] == '/')
        n++;
    return (Str){path.p + n, path.n - n};
}

static Status *put_assets(Writing *w, MetaGraphDef *meta) {
    const SavedModelSpec *spec = w->spec;
    AssetFileDef *defs = ARENA_ARRAY(&w->arena, AssetFileDef, spec->n_assets + 1);
    NEED_MEMORY(defs);
    for (int i = 0; i < spec->n_assets; i++) {
        defs[i].filename = last_name(spec->assets[i].path);
        for (int j = 0; j < i; j++)
            NEED(!str_equal(defs[i].filename, defs[j].filename) || str_equal(spec->assets[i].path, spec->assets[j].path),
                 INVALID_ARGUMENT, "two assets are called %.*s", STR_ARGS(defs[i].filename));
        TRY(info_of(w, spec->assets[i].edge, &defs[i].tensor_info));
    }
    meta->asset_file_def.p = defs;
    meta->asset_file_def.n = (size_t)spec->n_assets;
    return OK;
}

// The nodes that are kept, and those that were added.
static Status *put_graph(Writing *w, Text *bytes, MetaGraphDef *meta) {
    GraphDef *graph;
    size_t n = 0;
    TRY(graph_to_proto(w->copy, bytes));
    TRY(PROTO_DECODE(GraphDef, &w->arena, text_str(bytes), &graph));
    for (size_t i = 0; i < graph->node.n; i++) {
        const Node *node = graph_find(w->copy, graph->node.p[i].name);
        if (node && ((size_t)node->id >= w->n_kept || w->kept[node->id]))
            graph->node.p[n++] = graph->node.p[i];
    }
    graph->node.n = n;
    meta->graph_def = graph;
    return OK;
}

static Status *write_message(Writing *w, Str folder) {
    AUTO(text) Text graph = {0};
    AUTO(text) Text bytes = {0};
    AUTO(text) Text path = {0};
    AUTO(DiskWriter) DiskWriter writer = DISK_WRITER_NONE;
    Str serve = STR("serve");
    MetaGraphDef_MetaInfoDef info = {.tensorflow_version = STR(TENSORFLOW_VERSION)};
    info.tags.p = w->spec->n_tags ? (Str *)(uintptr_t)w->spec->tags : &serve;
    info.tags.n = w->spec->n_tags ? (size_t)w->spec->n_tags : 1;
    MetaGraphDef meta = {.meta_info_def = &info};
    TRY(put_graph(w, &graph, &meta));
    TRY(put_signatures(w, &meta));
    TRY(put_assets(w, &meta));
    if (w->variables.list.n) {
        TRY(put_variables(w, &meta));
        TRY(put_saver(w, &meta));
    }
    SavedModelProto model = {.saved_model_schema_version = 1};
    model.meta_graphs.p = &meta;
    model.meta_graphs.n = 1;
    TRY(PROTO_ENCODE(SavedModelProto, &model, &bytes));
    text_format(&path, "%.*s/saved_model.pb", STR_ARGS(folder));
    NEED_MEMORY(!path.failed);
    TRY(disk_writer_open(&writer, text_str(&path)));
    TRY(disk_write(&writer, bytes.p, bytes.n));
    return disk_writer_commit(&writer);
}

// ---- files

static Status *write_variables(const Writing *w, Str folder, Session *session) {
    AUTO(text) Text prefix = {0};
    NamedTensors tensors = {0};
    AUTO(BundleWriter) BundleWriter writer = {.data = DISK_WRITER_NONE};
    text_format(&prefix, "%.*s/variables/variables", STR_ARGS(folder));
    NEED_MEMORY(!prefix.failed);
    Status *status = variables_read(&w->variables, session, &tensors);
    if (!status)
        status = bundle_writer_open(text_str(&prefix), &writer);
    for (size_t i = 0; i < tensors.n && !status; i++)
        status = bundle_add(&writer, tensors.p[i].name, &tensors.p[i].tensor);
    if (!status)
        status = bundle_commit(&writer);
    named_tensors_clear(&tensors);
    return status;
}

static Status *copy_asset(Str folder, Str path) {
    AUTO(text) Text to = {0};
    AUTO(text) Text bytes = {0};
    AUTO(DiskWriter) DiskWriter writer = DISK_WRITER_NONE;
    Str name = last_name(path);
    text_format(&to, "%.*s/assets/%.*s", STR_ARGS(folder), STR_ARGS(name));
    NEED_MEMORY(!to.failed);
    TRY(disk_read(path, &bytes));
    TRY(disk_writer_open(&writer, text_str(&to)));
    TRY(disk_write(&writer, bytes.p, bytes.n));
    return disk_writer_commit(&writer);
}

Status *saved_model_write(Str folder, const SavedModelSpec *spec, Graph *graph, Mutex *graph_lock, Session *session) {
    AUTO(writing) Writing w = {.spec = spec};
    NEED(folder.n, INVALID_ARGUMENT, "a SavedModel needs a folder");
    TRY(copy_graph(&w, graph, graph_lock));
    TRY(mark_needed(&w));
    TRY(choose_variables(&w, graph, graph_lock));
    TRY(session_extend(session));
    if (w.variables.list.n) {
        TRY(add_saver(&w));
        TRY(write_variables(&w, folder, session));
    }
    for (int i = 0; i < spec->n_assets; i++)
        TRY(copy_asset(folder, spec->assets[i].path));
    return write_message(&w, folder);
}
