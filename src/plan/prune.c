// Prune — copies what a step needs out of the session's graph: the backward closure of its fetches and targets.
//
// The walk stops at fed edges, which become _Arg nodes; a fetched edge ends in a _Retval. Both are walls that no later
// pass crosses. A copy knows its origin: state and placement belong to the original node.
#include <stdlib.h>

#include "graph/build.h"
#include "graph/function.h"
#include "plan/pass.h"

// What is known of a node of the session's graph. A small step of a large graph must not pay for the whole graph: only
// nodes that the step meets are listed, and a node's mark is its place in the list, if it is there at all.
typedef struct {
    Node *node, *copy;
    int32_t fed;       // 1 + the first feed of that node, 0 for none
    bool needed;
} Met;

typedef struct {
    const StepSignature *signature;
    Draft *draft;
    VEC(Node *) stack;
    VEC(Node *) needed;
    VEC(Met) met;
} Pruning;

// A mark may be stale, from an earlier plan: it is believed only if the list has this node there. So marks of the
// session's graph needn't be cleared, which would touch every node.
static Met *met_find(const Pruning *p, const Node *node) {
    uint32_t at = (uint32_t)node->mark;
    return at < p->met.n && p->met.p[at].node == node ? &p->met.p[at] : NULL;
}

// The pointer is valid until the next call: the list may move.
static Status *meet(Pruning *p, Node *node, Met **out) {
    *out = met_find(p, node);
    if (*out)
        return OK;
    NEED_MEMORY(vec_push(&p->met, (Met){.node = node}));
    node->mark = (int32_t)(p->met.n - 1);
    *out = &vec_last(&p->met);
    return OK;
}

// Which feed replaces the edge; -1 for none. Feeds of one node are mostly one; the search begins at its first.
static int feed_of(const Pruning *p, const Met *met, Output edge) {
    if (!met || !met->fed)
        return -1;
    for (int i = met->fed - 1; i < p->signature->n_feeds; i++)
        if (output_equal(p->signature->feeds[i], edge))
            return i;
    return -1;
}

// The feed that stands for the whole node: a placeholder whose value is given has nothing left to do, and who waits for
// it has waited. A node with inputs or effects runs even where its value is fed, for the sake of those who wait for it.
static int feed_for_node(const Pruning *p, Node *node) {
    bool bare = node->n_inputs == 0 && node->n_outputs == 1 && !node->type->signature.stateful;
    return bare ? feed_of(p, met_find(p, node), (Output){node, 0}) : -1;
}

// A worklist, not recursion: graphs may be deeper than a stack.
static Status *need_met(Pruning *p, Met *met) {
    if (met->needed)
        return OK;
    met->needed = true;
    NEED_MEMORY(vec_push(&p->needed, met->node));
    NEED_MEMORY(vec_push(&p->stack, met->node));
    return OK;
}

static Status *need(Pruning *p, Node *node) {
    Met *met;
    TRY(meet(p, node, &met));
    return need_met(p, met);
}

// Messages are TensorFlow's where its tests look at them. Feeds are walked from the last, so that `fed` ends as the
// first of the node; the walk finds a double when it meets the earlier one.
static Status *check_signature(Pruning *p, const Graph *graph) {
    const StepSignature *s = p->signature;
    NEED(s->n_fetches + s->n_targets > 0, INVALID_ARGUMENT, "Must specify at least one target to fetch or execute.");
    for (int i = 0; i < s->n_feeds + s->n_fetches; i++) {
        Output edge = i < s->n_feeds ? s->feeds[i] : s->fetches[i - s->n_feeds];
        const char *what = i < s->n_feeds ? "fed" : "fetched";
        NEED(edge.node && edge.node->graph == graph, INVALID_ARGUMENT, "a %s operation is not in the session's graph",
             what);
        NEED(edge.index >= 0 && edge.index < edge.node->n_outputs, OUT_OF_RANGE,
             "{{node %.*s}} (%.*s): output %d was %s, but it has %d outputs", NODE_ARGS(edge.node), edge.index, what,
             edge.node->n_outputs);
    }
    for (int i = s->n_feeds; i--;) {
        Met *met;
        TRY(meet(p, s->feeds[i].node, &met));
        int before = feed_of(p, met, s->feeds[i]);
        NEED(before < 0, INVALID_ARGUMENT, "%.*s:%d is fed twice", STR_ARGS(s->feeds[i].node->name),
             s->feeds[i].index);
        met->fed = i + 1;
    }
    for (int i = 0; i < s->n_fetches; i++)
        NEED(feed_of(p, met_find(p, s->fetches[i].node), s->fetches[i]) < 0, INVALID_ARGUMENT,
             "%.*s:%d is both fed and fetched.", STR_ARGS(s->fetches[i].node->name), s->fetches[i].index);
    for (int i = 0; i < s->n_targets; i++)
        NEED(s->targets[i] && s->targets[i]->graph == graph, INVALID_ARGUMENT,
             "a target is not in the session's graph");
    return OK;
}

// Only edges that nobody feeds are followed: what lies behind a fed edge doesn't run, which is how a client runs part
// of a graph.
static Status *close_backwards(Pruning *p) {
    const StepSignature *s = p->signature;
    for (int i = 0; i < s->n_fetches; i++)
        TRY(need(p, s->fetches[i].node));
    for (int i = 0; i < s->n_targets; i++)
        if (feed_for_node(p, s->targets[i]) < 0)
            TRY(need(p, s->targets[i]));
    while (p->stack.n) {
        Node *node = p->stack.p[--p->stack.n];
        for (int i = 0; i < node->n_inputs; i++) {
            Met *met;
            TRY(meet(p, node->inputs[i].node, &met));
            if (feed_of(p, met, node->inputs[i]) < 0)
                TRY(need_met(p, met));
        }
        for (int i = 0; i < node->n_controls; i++)
            if (feed_for_node(p, node->controls[i]) < 0)
                TRY(need(p, node->controls[i]));
    }
    return OK;
}

// A function's argument outside of a function has its value from nobody.
static Status *check_fed(const Node *node) {
    NEED(node_flow(node) != FLOW_ARG, INVALID_ARGUMENT,
         "{{node %.*s}} (%.*s): an argument outside of a function must be fed with a value of type %s", NODE_ARGS(node),
         dtype_name(dtype_base(node->output_types[0])));
    return OK;
}

// A node as it is, with room for its edges. Attributes, types and shapes are shared with the original, which the
// session keeps: copying them would cost more than the rest of the pass.
static Status *copy_node(Pruning *p, Node *from) {
    Graph *graph = p->draft->graph;
    TRY(check_fed(from));
    Node *node = arena_aligned(&graph->arena, sizeof *node, _Alignof(Node));
    NEED_MEMORY(node);
    *node = *from;
    node->graph = graph;
    node->id = -1;
    node->origin = from;
    node->inputs = graph_inputs_new(graph, (size_t)from->n_inputs);
    node->controls = graph_controls_new(graph, (size_t)from->n_controls);
    node->uses = (UseList){0};
    node->value = NULL;
    NEED_MEMORY(node->inputs && node->controls);
    met_find(p, from)->copy = node;
    return OK;
}

// Of a step over several tasks: feeds come in, and fetches go out, where the client is connected.
static void put_at_client(const Pruning *p, NodeBuilder *builder, DType dtype) {
    const PlanOptions *options = p->draft->options;
    if (options->home.n && dtype != DT_resource)
        builder_device(builder, str_of(options->devices->devices[0]->name));
}

// A fed handle (a resource or reference as a value) keeps what the graph knows of the variable behind it.
static Status *make_arg(Pruning *p, int feed, Node **out) {
    Output edge = p->signature->feeds[feed];
    DType dtype = dtype_base(edge.node->output_types[edge.index]);
    AUTO(arena) Arena arena = {0};
    Str name = str_format(&arena, "_feed/%d/%.*s", feed, STR_ARGS(edge.node->name));
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, p->draft->graph, STR("_Arg"), name);
    put_at_client(p, &builder, dtype);
    builder_attr(&builder, STR("T"), &ATTR_OF_TYPE(dtype));
    builder_attr(&builder, STR("index"), &ATTR_OF_INT(feed));
    TRY(builder_finish(&builder, out));
    if (dtype_is_ref(edge.node->output_types[edge.index]) || dtype == DT_resource)
        TRY(node_set_handle(*out, 0, edge.node->handles[edge.index]));
    return OK;
}

static Status *make_retval(Pruning *p, int fetch, Output source, Node **out) {
    AUTO(arena) Arena arena = {0};
    Str name = str_format(&arena, "_fetch/%d/%.*s", fetch, STR_ARGS(source.node->name));
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, p->draft->graph, STR("_Retval"), name);
    put_at_client(p, &builder, output_base_type(source));
    builder_input(&builder, source);
    builder_attr(&builder, STR("index"), &ATTR_OF_INT(fetch));
    return builder_finish(&builder, out);
}

// Copies may not be in the graph yet when the first nodes read them: a loop's are not.
static Status *connect(Pruning *p, Node *from) {
    Node *node = met_find(p, from)->copy;
    for (int i = 0; i < from->n_inputs; i++) {
        const Met *met = met_find(p, from->inputs[i].node);
        int feed = feed_of(p, met, from->inputs[i]);
        node->inputs[i] = feed >= 0 ? (Output){p->draft->feeds[feed], 0} : (Output){met->copy, from->inputs[i].index};
    }
    // Fed values are there from the start, but in a partial run.
    // The count grows again as those that stay are written.
    node->n_controls = 0;
    for (int i = 0; i < from->n_controls; i++) {
        int feed = feed_for_node(p, from->controls[i]);
        if (feed < 0)
            node->controls[node->n_controls++] = met_find(p, from->controls[i])->copy;
        else if (p->draft->options->partial)
            node->controls[node->n_controls++] = p->draft->feeds[feed];
    }
    return node_insert(p->draft->graph, node);
}

static int by_id(const void *a, const void *b) {
    int32_t x = (*(Node *const *)a)->id, y = (*(Node *const *)b)->id;
    return (x > y) - (x < y);
}

// In the order of the session's graph, since later passes add and break ties in the graph's order: plans don't depend
// on the order of fetches. A walk that met a 16th of the graph doesn't sort but looks through all of it.
static void sort_needed(Pruning *p, const Graph *graph) {
    if (!p->needed.n)
        return;  // all that is fetched is fed
    if (p->needed.n < graph->nodes.n / 16) {
        qsort(p->needed.p, p->needed.n, sizeof *p->needed.p, by_id);
        return;
    }
    size_t n = 0;
    for (size_t i = 0; i < graph->nodes.n; i++) {
        Node *node = graph->nodes.p[i];
        const Met *met = node ? met_find(p, node) : NULL;
        if (met && met->needed)
            p->needed.p[n++] = node;
    }
}

// All copies exist before any is connected: edges into loops go backwards.
static Status *copy_all(Pruning *p, const Graph *graph) {
    const StepSignature *s = p->signature;
    Draft *draft = p->draft;
    TRY(graph_new(&draft->graph));
    draft->graph->versions.producer = graph->versions.producer;
    TRY(function_add_library(draft->graph, graph));
    draft->feeds = calloc((size_t)s->n_feeds + 1, sizeof *draft->feeds);
    draft->fetches = calloc((size_t)s->n_fetches + 1, sizeof *draft->fetches);
    draft->targets = calloc((size_t)s->n_targets + 1, sizeof *draft->targets);
    NEED_MEMORY(draft->feeds && draft->fetches && draft->targets);
    for (int i = 0; i < s->n_feeds; i++)
        TRY(make_arg(p, i, &draft->feeds[i]));
    draft->n_feeds = s->n_feeds;
    sort_needed(p, graph);
    for (size_t i = 0; i < p->needed.n; i++)
        TRY(copy_node(p, p->needed.p[i]));
    for (size_t i = 0; i < p->needed.n; i++)
        TRY(connect(p, p->needed.p[i]));
    for (int i = 0; i < s->n_fetches; i++) {
        Output source = {met_find(p, s->fetches[i].node)->copy, s->fetches[i].index};
        TRY(make_retval(p, i, source, &draft->fetches[i]));
    }
    draft->n_fetches = s->n_fetches;
    for (int i = 0; i < s->n_targets; i++) {
        int feed = feed_for_node(p, s->targets[i]);
        draft->targets[i] = feed < 0 ? met_find(p, s->targets[i])->copy : draft->feeds[feed];
        draft->targets[i]->is_target = true;
    }
    draft->n_targets = s->n_targets;
    return OK;
}

Status *pass_prune(const Graph *graph, const StepSignature *signature, Draft *draft) {
    Pruning p = {.signature = signature, .draft = draft};
    Status *status = check_signature(&p, graph);
    if (!status)
        status = close_backwards(&p);
    if (!status)
        status = copy_all(&p, graph);
    vec_clear(&p.met);
    vec_clear(&p.needed);
    vec_clear(&p.stack);
    return status;
}
