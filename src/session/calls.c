// Calls — see calls.h. A function called with the same attributes runs the same plan.
#include "session/calls.h"

#include <stdlib.h>

#include "graph/build.h"
#include "graph/function.h"

typedef struct {
    Graph *graph;   // the function's body, arguments as _Arg nodes
    Plan *plan;
} Call;

static void call_free(Call *call) {
    if (!call)
        return;
    plan_release(call->plan);
    if (call->graph)
        graph_release(call->graph);
    free(call);
}

static Status *body_of(Calls *calls, const Function *function, const AttrEntry *attrs, int n_attrs, int n_arguments,
                       int n_results, Graph **out, Output *results, Node ***controls, int32_t *n_controls) {
    Graph *graph;
    TRY(graph_new(&graph));
    *out = graph;
    for (size_t i = 0; i < calls->graph->functions->order.n; i++)
        TRY(function_add(graph, calls->graph->functions->order.p[i]));
    Inlining inlining = {.graph = graph, .prefix = function->type.name, .n_arguments = n_arguments, .attrs = attrs,
                         .n_attrs = n_attrs, .results = results, .n_results = n_results};
    TRY(function_inline(function, &inlining));
    *controls = inlining.controls;
    *n_controls = inlining.n_controls;
    return OK;
}

static Status *find_arguments(const Graph *graph, int n, Output *arguments) {
    for (size_t i = 0; i < graph->nodes.n; i++) {
        Node *node = graph->nodes.p[i];
        if (!node || node_flow(node) != FLOW_ARG)
            continue;
        int64_t index = node_int(node, "index");
        NEED(index >= 0 && index < n, INVALID_ARGUMENT, "argument %lld of a function with %d", (long long)index, n);
        arguments[index] = (Output){node, 0};
    }
    return OK;
}

static Status *call_make(Calls *calls, const Function *function, const AttrEntry *attrs, int n_attrs, int n_arguments,
                         int n_results, Call *call) {
    AUTO(arena) Arena arena = {0};
    Output *arguments = ARENA_ARRAY(&arena, Output, n_arguments), *results = ARENA_ARRAY(&arena, Output, n_results);
    NEED_MEMORY(arguments && results);
    Node **controls;
    int32_t n_controls;
    TRY(body_of(calls, function, attrs, n_attrs, n_arguments, n_results, &call->graph, results, &controls,
                &n_controls));
    TRY(find_arguments(call->graph, n_arguments, arguments));
    StepSignature signature = {arguments, results, controls, n_arguments, n_results, n_controls};
    return plan_make(call->graph, &signature, &calls->options, &call->plan);
}

static Status *find_call(Calls *calls, Str name, const AttrEntry *attrs, int n_attrs, int n_arguments, int n_results,
                         Call **out) REQUIRES(calls->lock) {
    AUTO(text) Text key = {0};
    text_add(&key, name);
    for (int i = 0; i < n_attrs; i++) {
        text_format(&key, ";%.*s=", STR_ARGS(attrs[i].name));
        attr_print(&key, &attrs[i].value);
    }
    *out = map_find(&calls->plans, text_str(&key));
    if (*out)
        return OK;
    const Function *function = function_find(calls->graph, name);
    NEED(function, NOT_FOUND, "function '%.*s' is not in the library", STR_ARGS(name));
    Call *call = calloc(1, sizeof *call);
    NEED_MEMORY(call);
    Status *status = call_make(calls, function, attrs, n_attrs, n_arguments, n_results, call);
    Str kept = str_copy(&calls->arena, text_str(&key));
    if (status || !kept.p || !map_set(&calls->plans, kept, call)) {
        call_free(call);
        TRY(status);
        return OUT_OF_MEMORY;
    }
    *out = call;
    return OK;
}

static Status *run_call(const Caller *caller, Kernel *k, Str function, const AttrEntry *attrs, int n_attrs,
                        const Tensor *arguments, int n_arguments, Tensor *out_results, int n_results) {
    Calls *calls = (Calls *)caller;
    const Step *outer = (const Step *)k->step;
    NEED(outer->options->depth < MAX_CALL_DEPTH, RESOURCE_EXHAUSTED, "functions call each other more than %d deep",
         MAX_CALL_DEPTH);
    mutex_lock(&calls->lock);
    Call *call = NULL;
    Status *status = find_call(calls, function, attrs, n_attrs, n_arguments, n_results, &call);
    mutex_unlock(&calls->lock);
    TRY(status);
    AUTO(arena) Arena arena = {0};
    const Tensor **feeds = ARENA_ARRAY(&arena, const Tensor *, n_arguments);
    NEED_MEMORY(feeds);
    for (int i = 0; i < n_arguments; i++)
        feeds[i] = &arguments[i];
    StepOptions options = calls->step;
    options.parent = k->step->cancellation;
    options.deadline = k->step->deadline;
    options.depth = outer->options->depth + 1;
    options.place = thread_place();
    options.step_id = k->step->step_id;
    options.trace = k->step->trace;
    return step_run(call->plan, &options, feeds, out_results);
}

void calls_init(Calls *calls) {
    calls->caller.call = run_call;
    mutex_init(&calls->lock);
}

void calls_clear(Calls *calls) {
    size_t at = 0;
    Str key;
    void *call;
    while (map_next(&calls->plans, &at, &key, &call))
        call_free(call);
    map_clear(&calls->plans);
    arena_clear(&calls->arena);
    mutex_clear(&calls->lock);
}
