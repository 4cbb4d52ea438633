// Calls — see calls.h. A function called with the same attributes runs the same plan.
//
// Called are functions that expansion left alone: recursive ones, those that kernels call (data sets map by one), and
// those that a client calls. The body is inlined into a graph of its own, whose arguments are fed and whose results are
// fetched, and is planned as any step's graph.
#include "session/calls.h"

#include <stdlib.h>

#include "graph/build.h"
#include "graph/function.h"

typedef struct {
    Graph *graph;   // the function's body, arguments as _Arg nodes
    Executor *executor;
} Call;

static void call_free(Call *call) {
    if (!call)
        return;
    executor_release(call->executor);
    if (call->graph)
        graph_release(call->graph);
    free(call);
}

// ---- making

// What is called, with how many values.
typedef struct {
    const FuncRef *name;
    int n_arguments, n_results;
} Wanted;

static Status *body_of(Calls *calls, const Function *function, const Wanted *wanted, Graph **out, Output *results,
                       Node ***controls, int32_t *n_controls) {
    Graph *graph;
    TRY(graph_new(&graph));
    *out = graph;
    TRY(function_add_library(graph, calls->graph));
    Inlining inlining = {.graph = graph, .prefix = function->type.name, .n_arguments = wanted->n_arguments,
                         .attrs = wanted->name->attrs, .n_attrs = wanted->name->n_attrs, .results = results,
                         .n_results = wanted->n_results};
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
    for (int i = 0; i < n; i++)
        NEED(arguments[i].node, INVALID_ARGUMENT, "there is no argument %d", i);
    return OK;
}

// Effects of the body that no result needs are targets: a function is done when everything in it is.
static Status *make_plan(Calls *calls, const Wanted *wanted, Call *call, Plan **out) {
    const Function *function = function_find(calls->graph, wanted->name->name);
    NEED(function, NOT_FOUND, "it is not in the library");
    AUTO(arena) Arena arena = {0};
    Output *arguments = ARENA_ARRAY(&arena, Output, wanted->n_arguments);
    Output *results = ARENA_ARRAY(&arena, Output, wanted->n_results);
    NEED_MEMORY(arguments && results);
    Node **controls;
    int32_t n_controls;
    TRY(body_of(calls, function, wanted, &call->graph, results, &controls, &n_controls));
    TRY(find_arguments(call->graph, wanted->n_arguments, arguments));
    for (int i = 0; i < wanted->n_results; i++)
        NEED(results[i].node, INVALID_ARGUMENT, "there is no result %d", i);
    StepSignature signature = {arguments, results, controls, wanted->n_arguments, wanted->n_results, n_controls};
    TRY(plan_make(call->graph, &signature, &calls->options, out));
    Status *status = node_states_record(calls->states, *out);
    if (status)
        plan_release(*out);
    return status;
}

// The library may grow meanwhile: it is the session's graph's, so that is locked while the body is copied and planned.
static Status *call_make(Calls *calls, const Wanted *wanted, Call *call) {
    Plan *plan;
    mutex_lock_if(calls->graph_lock);
    Status *status = make_plan(calls, wanted, call, &plan);
    mutex_unlock_if(calls->graph_lock);
    TRY(status);
    status = bind_plan(calls->states, plan, calls->cache, &call->executor);
    plan_release(plan);
    return status;
}

// The lock is held while a plan is made: who calls the same function waits for it instead of making it twice. The key
// is the name and the attributes as text, in the order given.
static Status *find_call(Calls *calls, const Wanted *wanted, Call **out) REQUIRES(calls->lock) {
    AUTO(text) Text key = {0};
    text_add(&key, wanted->name->name);
    for (int i = 0; i < wanted->name->n_attrs; i++) {
        text_format(&key, ";%.*s=", STR_ARGS(wanted->name->attrs[i].name));
        attr_print(&key, &wanted->name->attrs[i].value);
    }
    *out = map_find(&calls->plans, text_str(&key));
    if (*out)
        return OK;
    Call *call = calloc(1, sizeof *call);
    NEED_MEMORY(call);
    Status *status = call_make(calls, wanted, call);
    Str kept = str_copy(&calls->arena, text_str(&key));
    if (status || !kept.p || !map_set(&calls->plans, kept, call)) {
        call_free(call);
        TRY(status_prefix(status, "function '%.*s'", STR_ARGS(wanted->name->name)));
        return OUT_OF_MEMORY;
    }
    *out = call;
    return OK;
}

// ---- running

static Status *check(const Plan *plan, const Wanted *wanted, const Tensor *arguments) {
    NEED(plan->n_feeds == wanted->n_arguments && plan->n_fetches == wanted->n_results, INVALID_ARGUMENT,
         "function '%.*s' has %d arguments and %d results, but is called with %d and %d", STR_ARGS(wanted->name->name),
         plan->n_feeds, plan->n_fetches, wanted->n_arguments, wanted->n_results);
    // A kernel computed these; a wrong type would be read as another's memory.
    for (int i = 0; i < plan->n_feeds; i++)
        NEED(arguments[i].dtype == plan->feeds[i].dtype, INVALID_ARGUMENT,
             "argument %d of function '%.*s' is of type %s, but was given a %s", i, STR_ARGS(wanted->name->name),
             dtype_name(plan->feeds[i].dtype), dtype_name(arguments[i].dtype));
    return OK;
}

// The call is a step of its own within its caller's: its cancellation, deadline, trace and id. `depth` bounds recursion
// before the thread's stack does.
static Status *run_call(const Caller *caller, const StepContext *context, const FuncRef *function,
                        const Tensor *arguments, int n_arguments, Tensor *out_results, int n_results) {
    Calls *calls = (Calls *)caller;
    Wanted wanted = {function, n_arguments, n_results};
    NEED(context->depth < MAX_CALL_DEPTH, RESOURCE_EXHAUSTED, "functions call each other more than %d deep",
         MAX_CALL_DEPTH);
    mutex_lock(&calls->lock);
    Call *call = NULL;
    Status *status = find_call(calls, &wanted, &call);
    mutex_unlock(&calls->lock);
    TRY(status);
    TRY(check(call->executor->plan, &wanted, arguments));
    AUTO(arena) Arena arena = {0};
    const Tensor **feeds = ARENA_ARRAY(&arena, const Tensor *, n_arguments);
    NEED_MEMORY(feeds);
    for (int i = 0; i < n_arguments; i++)
        feeds[i] = &arguments[i];
    StepOptions options = calls->step;
    options.parent = context->cancellation;
    options.deadline = context->deadline;
    options.depth = context->depth + 1;
    options.place = thread_place();
    options.step_id = context->step_id;
    options.trace = context->trace;
    return step_run(call->executor, &options, feeds, out_results);
}

// ---- life

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
