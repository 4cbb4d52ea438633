// Edges by name — see edges.h.
#include "cluster/edges.h"

// "name" stands for "name:0", "^name" for no edge at all.
static Str split(Str text, int64_t *index) {
    size_t colon = text.n;
    *index = 0;
    while (colon && text.p[colon - 1] != ':')
        colon--;
    if (!colon || !str_to_int((Str){text.p + colon, text.n - colon}, index))
        return text;
    return (Str){text.p, colon - 1};
}

static Status *find_feed(Graph *graph, Str text, Output *out) {
    int64_t index;
    Node *node = graph_find(graph, split(text, &index));
    NEED(node && index >= 0 && index < node->n_outputs, NOT_FOUND, "FeedInputs: unable to find feed output %.*s",
         STR_ARGS(text));
    *out = (Output){node, (int32_t)index};
    return OK;
}

static Status *find_fetch(Graph *graph, Str text, Output *out) {
    int64_t index;
    Node *node = graph_find(graph, split(text, &index));
    NEED(node, NOT_FOUND, "FetchOutputs node %.*s: not found", STR_ARGS(text));
    NEED(node->n_outputs, INVALID_ARGUMENT, "Tried to fetch data for '%.*s', which produces no output.  To run to a node but "
         "not fetch any data, pass '%.*s' as an argument to the 'target_node_names' argument of the Session::Run API.",
         STR_ARGS(text), STR_ARGS(node->name));
    NEED(index >= 0 && index < node->n_outputs, INVALID_ARGUMENT,
         "FetchOutputs %.*s: output index too large, must be < %d", STR_ARGS(text), node->n_outputs);
    *out = (Output){node, (int32_t)index};
    return OK;
}

static Status *find_target(Graph *graph, Str text, Node **out) {
    int64_t index;
    Node *node = graph_find(graph, split(text, &index));
    NEED(node, NOT_FOUND, "PruneForTargets: Some target nodes not found: %.*s ", STR_ARGS(text));
    *out = node;
    return OK;
}

static Status *find_all(Graph *graph, const Names *feeds, const Names *fetches, const Names *targets, Output *in,
                        Output *out, Node **nodes) {
    for (size_t i = 0; i < feeds->n; i++)
        TRY(find_feed(graph, feeds->p[i], &in[i]));
    for (size_t i = 0; i < fetches->n; i++)
        TRY(find_fetch(graph, fetches->p[i], &out[i]));
    for (size_t i = 0; i < targets->n; i++)
        TRY(find_target(graph, targets->p[i], &nodes[i]));
    return OK;
}

Status *edges_find(Graph *graph, Mutex *lock, const Names *feeds, const Names *fetches, const Names *targets,
                   Arena *arena, StepSignature *out) {
    Output *in = ARENA_ARRAY(arena, Output, feeds->n), *results = ARENA_ARRAY(arena, Output, fetches->n);
    Node **nodes = ARENA_ARRAY(arena, Node *, targets->n);
    NEED_MEMORY(in && results && nodes);
    NEED(feeds->n < INT32_MAX && fetches->n < INT32_MAX && targets->n < INT32_MAX, RESOURCE_EXHAUSTED,
         "a step of so many feeds, fetches and targets");
    mutex_lock(lock);
    Status *status = find_all(graph, feeds, fetches, targets, in, results, nodes);
    mutex_unlock(lock);
    TRY(status);
    *out = (StepSignature){.feeds = in, .fetches = results, .targets = nodes, .n_feeds = (int)feeds->n,
                           .n_fetches = (int)fetches->n, .n_targets = (int)targets->n};
    return OK;
}
