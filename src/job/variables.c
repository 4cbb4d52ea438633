// GraphVariables — see variables.h.
//
// Variables are found by their nodes (VarHandleOp, and nodes with a reference as output), and get nodes that read and
// assign them; several nodes of one shared_name are one variable. Values go in and out through a session, as they do
// for any client.
#include "job/variables.h"

#include <fnmatch.h>

#include "job/save_node.h"

// ---- finding

static bool is_resource(const Node *node) {
    return str_is(node->type->name, "VarHandleOp");
}

static bool is_variable(const Node *node) {
    return node && node->n_inputs == 0 && node->n_outputs == 1 &&
           (is_resource(node) || dtype_is_ref(node->output_types[0]));
}

static Status *open_one(Graph *graph, GraphVariable *v) {
    Node *node;
    AttrEntry dtype = {STR("dtype"), ATTR_OF_TYPE(v->dtype)};
    Output handle = {v->node, 0};
    bool resource = is_resource(v->node);
    TRY(save_node_add(graph, resource ? "ReadVariableOp" : "Identity", v->name, "read", &handle, 1, &dtype, resource, &node));
    v->read = (Output){node, 0};
    TRY(save_node_add(graph, "Placeholder", v->name, "value", NULL, 0, &dtype, 1, &node));
    v->value = (Output){node, 0};
    Output inputs[] = {handle, v->value};
    return save_node_add(graph, resource ? "AssignVariableOp" : "Assign", v->name, "assign", inputs, 2, NULL, 0, &v->assign);
}

static Status *find_all(const Graph *graph, GraphVariables *out) {
    Map seen = {0};
    bool good = true;
    for (size_t i = 0; i < graph->nodes.n && good; i++) {
        Node *node = graph->nodes.p[i];
        if (!is_variable(node))
            continue;
        Str shared = node_attr_find(node, "shared_name") ? node_str(node, "shared_name") : (Str){0};
        GraphVariable v = {.node = node, .dtype = node_type(node, "dtype"), .shape = UNKNOWN_SHAPE};
        const AttrValue *shape = node_attr_find(node, "shape");
        if (shape && shape->kind == ATTR_SHAPE)
            v.shape = *shape->shape;
        v.name = str_copy(&out->arena, shared.n ? shared : node->name);
        good = v.name.p && (map_find(&seen, v.name) || (map_set(&seen, v.name, node) && vec_push(&out->list, v)));
    }
    map_clear(&seen);
    NEED_MEMORY(good);
    return OK;
}

Status *variables_open(Graph *graph, GraphVariables *out) {
    GraphVariables found = {0};
    Status *status = find_all(graph, &found);
    for (size_t i = 0; i < found.list.n && !status; i++)
        status = open_one(graph, &found.list.p[i]);
    if (status)
        variables_clear(&found);
    else
        *out = found;
    return status;
}

void variables_clear(GraphVariables *variables) {
    vec_clear(&variables->list);
    arena_clear(&variables->arena);
    *variables = (GraphVariables){0};
}

// ---- values

void named_tensors_clear(NamedTensors *tensors) {
    for (size_t i = 0; i < tensors->n; i++)
        tensor_clear(&tensors->p[i].tensor);
    vec_clear(tensors);
}

Status *variables_read(const GraphVariables *variables, Session *session, NamedTensors *out) {
    AUTO(arena) Arena arena = {0};
    size_t n = variables->list.n;
    Output *edges = ARENA_ARRAY(&arena, Output, n + 1);
    Tensor *values = ARENA_ARRAY(&arena, Tensor, n + 1);
    NEED_MEMORY(edges && values && vec_reserve(out, out->n + n + 1));
    for (size_t i = 0; i < n; i++)
        edges[i] = variables->list.p[i].read;
    StepSignature signature = {.fetches = edges, .n_fetches = (int)n};
    if (n)
        TRY(session_run(session, &signature, &run_settings_default, NULL, values));
    for (size_t i = 0; i < n; i++)
        out->p[out->n++] = (NamedTensor){variables->list.p[i].name, values[i]};
    return OK;
}

// ---- restoring

static bool matches(Str name, const char *const *patterns, int n) {
    char text[1024];
    if (name.n >= sizeof text)
        return false;
    memcpy(text, name.p, name.n);
    text[name.n] = 0;
    for (int i = 0; i < n; i++)
        if (fnmatch(patterns[i], text, 0) == 0)
            return true;
    return false;
}

// The variable's name in the checkpoint.
static Status *name_there(Str name, const RestoreRules *rules, Text *out) {
    for (int i = 0; i < rules->n_renames; i++) {
        Str rule = str_of(rules->renames[i]);
        const char *equals = strchr(rules->renames[i], '=');
        NEED(equals, INVALID_ARGUMENT, "'%s' renames nothing: HERE=THERE is expected", rules->renames[i]);
        Str here = {rule.p, (size_t)(equals - rule.p)};
        if (!str_starts(name, here))
            continue;
        text_add(out, str_of(equals + 1));
        text_add(out, (Str){name.p + here.n, name.n - here.n});
        NEED_MEMORY(!out->failed);
        return OK;
    }
    text_add(out, name);
    NEED_MEMORY(!out->failed);
    return OK;
}

static Status *check_fits(const GraphVariable *v, Str there, const BundleEntry *entry) {
    bool fits = entry->dtype == v->dtype && (v->shape.rank < 0 || v->shape.rank == entry->shape.rank);
    for (int i = 0; fits && i < v->shape.rank; i++)
        fits = v->shape.dims[i] < 0 || v->shape.dims[i] == entry->shape.dims[i];
    NEED(fits, INVALID_ARGUMENT, "'%.*s' is %s%s, but '%.*s' of the checkpoint is %s%s", STR_ARGS(v->name),
         dtype_name(v->dtype), shape_text(&v->shape), STR_ARGS(there), dtype_name(entry->dtype), shape_text(&entry->shape));
    return OK;
}

static Status *read_one(BundleReader *reader, const GraphVariable *v, const RestoreRules *rules, Tensor *out) {
    AUTO(text) Text there = {0};
    BundleEntry entry;
    TRY(name_there(v->name, rules, &there));
    TRY(bundle_find(reader, text_str(&there), &entry));
    TRY(check_fits(v, text_str(&there), &entry));
    return bundle_read(reader, text_str(&there), &entry, NULL, out);
}

typedef struct {
    Arena arena;
    Output *edges;
    Tensor *values;
    const Tensor **feeds;
    Node **targets;
    int n;
} Writing;

static void writing_auto(Writing *w) {
    for (int i = 0; i < w->n; i++)
        tensor_clear(&w->values[i]);
    arena_clear(&w->arena);
}

static Status *note_left_out(Text *left_out, Str name, const char *why) {
    text_format(left_out, "%.*s: %s\n", STR_ARGS(name), why);
    NEED_MEMORY(!left_out->failed);
    return OK;
}

static Status *choose_one(BundleReader *reader, const GraphVariable *v, const RestoreRules *rules, Writing *w,
                          Text *left_out) {
    if (rules->n_only && !matches(v->name, rules->only, rules->n_only))
        return note_left_out(left_out, v->name, "not asked for");
    if (matches(v->name, rules->except, rules->n_except))
        return note_left_out(left_out, v->name, "excepted");
    Status *status = read_one(reader, v, rules, &w->values[w->n]);
    Code code = status_code(status);
    if (rules->lenient && (code == NOT_FOUND || code == INVALID_ARGUMENT)) {
        Status *noted = note_left_out(left_out, v->name, status_message(status));
        status_free(status);
        return noted;
    }
    TRY(status);
    w->edges[w->n] = v->value;
    w->feeds[w->n] = &w->values[w->n];
    w->targets[w->n++] = v->assign;
    return OK;
}

Status *variables_restore(const GraphVariables *variables, Session *session, Str prefix, const RestoreRules *rules,
                          Text *left_out) {
    AUTO(BundleReader) BundleReader reader = {0};
    AUTO(writing) Writing w = {0};
    size_t n = variables->list.n;
    w.edges = ARENA_ARRAY(&w.arena, Output, n + 1);
    w.values = ARENA_ARRAY(&w.arena, Tensor, n + 1);
    w.feeds = ARENA_ARRAY(&w.arena, const Tensor *, n + 1);
    w.targets = ARENA_ARRAY(&w.arena, Node *, n + 1);
    NEED_MEMORY(w.edges && w.values && w.feeds && w.targets);
    TRY(bundle_open(prefix, &reader));
    for (size_t i = 0; i < n; i++)
        TRY(choose_one(&reader, &variables->list.p[i], rules, &w, left_out));
    StepSignature signature = {.feeds = w.edges, .targets = w.targets, .n_feeds = w.n, .n_targets = w.n};
    return w.n ? session_run(session, &signature, &run_settings_default, w.feeds, NULL) : OK;
}
