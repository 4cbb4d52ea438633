// Eager — see eager.h.
//
// Each call is a graph of one node with placeholders for its inputs, run by a session: the same plans, kernels and
// errors as in graphs. A call that looks like an earlier one (op, device, dtypes, list lengths, attributes) finds that
// one's node again, and the session finds its plan, so that a repeated call makes nothing new.
#include "eager/eager.h"

#include <stdio.h>
#include <stdlib.h>

#include "graph/build.h"
#include "graph/function.h"

struct EagerContext {
    Graph *graph;
    Mutex lock;              // of the graph; guards the map and the counters too
    WorkerEnvironment *environment;
    Session *session;
    Map calls;               // key -> Prepared call
    Arena arena;             // of keys and calls
    uint64_t last;           // number of the last node
    uint64_t last_unnamed;   // number of the last resource without a name
};

// ---------------------------------------- life

Status *eager_new(const SessionConfig *config, EagerContext **out) {
    EagerContext *context = calloc(1, sizeof *context);
    NEED_MEMORY(context);
    mutex_init(&context->lock);
    SessionConfig own = *config;
    Status *status = graph_new(&context->graph);
    if (!status)
        status = worker_environment_new(LOCAL_TASK, config->devices, config->n_devices, &context->environment);
    own.environment = context->environment;
    if (!status)
        status = session_new(context->graph, &context->lock, &own, &context->session);
    if (status)
        eager_free(context);
    else
        *out = context;
    return status;
}

void eager_free(EagerContext *context) {
    if (!context)
        return;
    session_free(context->session);
    worker_environment_release(context->environment);
    graph_release(context->graph);
    map_clear(&context->calls);
    arena_clear(&context->arena);
    mutex_clear(&context->lock);
    free(context);
}

Session *eager_session(EagerContext *context) {
    return context->session;
}

const DeviceSet *eager_devices(const EagerContext *context) {
    return &context->environment->devices;
}

// ---------------------------------------- what a call looks like

// TensorFlow 2 gives this name to variables and tables that shall be nobody else's.
#define ANONYMOUS "cd2c89b7-88b7-44c8-ad83-06c2a9158347"

// TensorFlow 2 gives this name to variables and tables that shall be nobody else's. Each such call gets a node and a
// name of its own, and is never found again.
static bool is_anonymous(const EagerCall *call) {
    for (int i = 0; i < call->n_attrs; i++)
        if (str_is(call->attrs[i].name, "shared_name") && call->attrs[i].value.kind == ATTR_STRING &&
            str_is(call->attrs[i].value.s, ANONYMOUS))
            return true;
    return false;
}

// Parts end with a NUL, so that no two calls have one text.
static void key_add(Text *key, Str part) {
    text_add(key, part);
    text_char(key, 0);
}

static void key_value(Text *key, const AttrEntry *attr);

static void key_func(Text *key, const FuncRef *func) {
    key_add(key, func->name);
    for (int i = 0; i < func->n_attrs; i++)
        key_value(key, &func->attrs[i]);
    text_char(key, 0);
}

// Functions nest as deep as the client built them, or as a proto may nest.
// The whole value, not the shortened form of messages: a tensor attribute decides with all its elements.
static void key_value(Text *key, const AttrEntry *attr) {
    const AttrValue *value = &attr->value;
    key_add(key, attr->name);
    if (value->kind != ATTR_FUNC)
        attr_print_whole(key, value);
    else if (!value->is_list)
        key_func(key, value->func);
    for (int i = 0; value->kind == ATTR_FUNC && value->is_list && i < value->n; i++)
        key_func(key, &value->funcs[i]);
    text_char(key, 0);
}

// Everything that decides which node it is. Attributes come in any order: the same call in two orders makes two nodes.
static Status *call_key(const EagerCall *call, Text *out) {
    key_add(out, call->name);
    key_add(out, call->device);
    for (int i = 0; i < call->n_inputs; i++)
        text_char(out, (char)call->inputs[i]->dtype);
    text_char(out, 0);
    if (call->lists)
        text_add(out, (Str){(const char *)call->lists, (size_t)call->n_args * sizeof *call->lists});
    for (int i = 0; i < call->n_attrs; i++)
        key_value(out, &call->attrs[i]);
    NEED_MEMORY(!out->failed);
    return OK;
}

// ---------------------------------------- making a node

static Status *make_feed(EagerContext *context, DType dtype, Output *out) REQUIRES(context->lock) {
    char name[40];
    snprintf(name, sizeof name, "input_%llu", (unsigned long long)++context->last);
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, context->graph, STR("Placeholder"), str_of(name));
    AttrValue type = ATTR_OF_TYPE(dtype);
    builder_attr(&builder, STR("dtype"), &type);
    Node *node;
    TRY(builder_finish(&builder, &node));
    *out = (Output){node, 0};
    return OK;
}

static void add_inputs(NodeBuilder *builder, const EagerCall *call, const Output *feeds) {
    if (!call->lists) {
        builder_flat_inputs(builder, feeds, call->n_inputs);
        return;
    }
    for (int i = 0, at = 0; i < call->n_args; at += call->lists[i] < 0 ? 1 : call->lists[i], i++) {
        if (call->lists[i] < 0)
            builder_input(builder, feeds[at]);
        else
            builder_input_list(builder, feeds + at, call->lists[i]);
    }
}

static void add_attrs(EagerContext *context, NodeBuilder *builder, const EagerCall *call) REQUIRES(context->lock) {
    for (int i = 0; i < call->n_attrs; i++)
        builder_attr(builder, call->attrs[i].name, &call->attrs[i].value);
    if (is_anonymous(call)) {
        char name[40];
        snprintf(name, sizeof name, "anonymous_%llu", (unsigned long long)++context->last_unnamed);
        AttrValue value = ATTR_OF_STRING(str_of(name));
        builder_attr(builder, STR("shared_name"), &value);
    }
}

static Status *make_node(EagerContext *context, const EagerCall *call, KnownCall *known) REQUIRES(context->lock) {
    char name[40];
    for (int i = 0; i < call->n_inputs; i++)
        TRY(make_feed(context, call->inputs[i]->dtype, &known->feeds[i]));
    snprintf(name, sizeof name, "eager_%llu", (unsigned long long)++context->last);
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, context->graph, call->name, str_of(name));
    builder_device(&builder, call->device);
    add_inputs(&builder, call, known->feeds);
    add_attrs(context, &builder, call);
    TRY(builder_finish(&builder, &known->node));
    known->n_fetches = known->node->n_outputs;
    known->fetches = ARENA_ARRAY(&context->arena, Output, known->n_fetches);
    NEED_MEMORY(known->fetches);
    for (int i = 0; i < known->n_fetches; i++)
        known->fetches[i] = (Output){known->node, i};
    return OK;
}

static Status *make_call(EagerContext *context, const EagerCall *call, KnownCall **out) REQUIRES(context->lock) {
    KnownCall *known = ARENA_NEW(&context->arena, KnownCall);
    NEED_MEMORY(known);
    known->feeds = ARENA_ARRAY(&context->arena, Output, call->n_inputs);
    NEED_MEMORY(known->feeds);
    known->n_feeds = call->n_inputs;
    // What fails leaves the graph as it was: the placeholders come off again.
    size_t nodes = context->graph->nodes.n;
    uint64_t edit = context->graph->edit;
    Status *status = make_node(context, call, known);
    if (status) {
        while (context->graph->nodes.n > nodes)
            graph_remove_last(context->graph);
        context->graph->edit = edit;  // nothing that any plan knew has changed
        return status;
    }
    *out = known;
    return OK;
}

static Status *find_or_make(EagerContext *context, const EagerCall *call, Str key, KnownCall **out)
    REQUIRES(context->lock) {
    *out = map_find(&context->calls, key);
    if (*out)
        return OK;
    TRY(make_call(context, call, out));
    Str kept = str_copy(&context->arena, key);
    NEED_MEMORY(kept.p);
    if (!is_anonymous(call))
        NEED_MEMORY(map_set(&context->calls, kept, *out));
    return OK;
}

Status *eager_find_call(EagerContext *context, const EagerCall *call, const KnownCall **out) {
    AUTO(text) Text key = {0};
    TRY(call_key(call, &key));
    KnownCall *known;
    mutex_lock(&context->lock);
    Status *status = find_or_make(context, call, text_str(&key), &known);
    mutex_unlock(&context->lock);
    TRY(status);
    *out = known;
    return OK;
}

// ---------------------------------------- executing

Status *eager_run_call(EagerContext *context, const KnownCall *known, const Tensor *const *inputs, Tensor *out) {
    StepSignature signature = {.feeds = known->feeds, .fetches = known->fetches, .targets = &known->node,
                               .n_feeds = known->n_feeds, .n_fetches = known->n_fetches,
                               .n_targets = known->n_fetches == 0};
    return session_run(context->session, &signature, &run_settings_default, inputs, out);
}

Status *eager_execute(EagerContext *context, const EagerCall *call, Tensor *out, int *n_out) {
    const KnownCall *known;
    TRY(eager_find_call(context, call, &known));
    NEED(known->n_fetches <= *n_out, INVALID_ARGUMENT, "Expecting %d outputs, but *num_retvals is %d", known->n_fetches,
         *n_out);
    TRY(eager_run_call(context, known, call->inputs, out));
    *n_out = known->n_fetches;
    return OK;
}

Status *eager_arg_length(EagerContext *context, const EagerCall *call, Str arg, bool output, int *out) {
    const KnownCall *known;
    TRY(eager_find_call(context, call, &known));
    const Signature *signature = &known->node->type->signature;
    const ArgSpec *args = output ? signature->outputs : signature->inputs;
    for (int i = 0; i < (output ? signature->n_outputs : signature->n_inputs); i++) {
        int first;
        if (!str_equal(args[i].name, arg))
            continue;
        if (output)
            node_output_span(known->node, i, &first, out);
        else
            node_input_span(known->node, i, &first, out);
        return OK;
    }
    FAIL(INVALID_ARGUMENT, "%s '%.*s' not found", output ? "Output" : "Input", STR_ARGS(arg));
}

// ---------------------------------------- functions

Status *eager_find_type(EagerContext *context, Str name, const OpType **out) {
    mutex_lock(&context->lock);
    const Function *function = function_find(context->graph, name);
    mutex_unlock(&context->lock);
    if (!function)
        return op_type_find(name, out);
    *out = &function->type;
    return OK;
}

Status *eager_add_function(EagerContext *context, Function *function) {
    mutex_lock(&context->lock);
    Status *status = function_add(context->graph, function);
    mutex_unlock(&context->lock);
    return status;
}

// Known calls of the function stay; a new one of that name would find them, so they are forgotten.
Status *eager_remove_function(EagerContext *context, Str name) {
    mutex_lock(&context->lock);
    Status *status = function_remove(context->graph, name);
    if (!status)
        map_clear(&context->calls);
    mutex_unlock(&context->lock);
    return status;
}

Function *eager_find_function(EagerContext *context, Str name) {
    mutex_lock(&context->lock);
    Function *function = function_find(context->graph, name);
    mutex_unlock(&context->lock);
    return function;
}
