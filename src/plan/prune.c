// Prune — copies what a step needs out of the session's graph: the backward closure of its fetches and targets.
//
// The walk stops at fed edges, which become _Arg nodes; a fetched edge ends in a _Retval. Both are walls that no later
// pass crosses. A copy knows its origin: state and placement belong to the original node.
#include <stdlib.h>

#include "graph/build.h"
#include "graph/function.h"
#include "plan/pass.h"

typedef struct {
    const StepSignature *signature;
    Draft *draft;
    VEC(Node *) stack;
    size_t n;          // nodes of the session's graph
    uint8_t *needed;   // by id
    int32_t *fed;      // by id: 1 + the first feed of that node, 0 for none
    Node **copies;     // by id
} Pruning;

// Which feed replaces the edge; -1 for none.
static int feed_of(const Pruning *p, Output edge) {
    if (!p->fed[edge.node->id])
        return -1;
    for (int i = p->fed[edge.node->id] - 1; i < p->signature->n_feeds; i++)
        if (output_equal(p->signature->feeds[i], edge))
            return i;
    return -1;
}

static Status *need(Pruning *p, Node *node) {
    if (p->needed[node->id])
        return OK;
    p->needed[node->id] = 1;
    NEED_MEMORY(vec_push(&p->stack, node));
    return OK;
}

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
        int before = feed_of(p, s->feeds[i]);
        NEED(before < 0, INVALID_ARGUMENT, "%.*s:%d is fed twice", STR_ARGS(s->feeds[i].node->name),
             s->feeds[i].index);
        p->fed[s->feeds[i].node->id] = i + 1;
    }
    for (int i = 0; i < s->n_fetches; i++)
        NEED(feed_of(p, s->fetches[i]) < 0, INVALID_ARGUMENT, "%.*s:%d is both fed and fetched.",
             STR_ARGS(s->fetches[i].node->name), s->fetches[i].index);
    for (int i = 0; i < s->n_targets; i++)
        NEED(s->targets[i] && s->targets[i]->graph == graph, INVALID_ARGUMENT,
             "a target is not in the session's graph");
    return OK;
}

static Status *close_backwards(Pruning *p) {
    const StepSignature *s = p->signature;
    for (int i = 0; i < s->n_fetches; i++)
        TRY(need(p, s->fetches[i].node));
    for (int i = 0; i < s->n_targets; i++)
        TRY(need(p, s->targets[i]));
    while (p->stack.n) {
        Node *node = p->stack.p[--p->stack.n];
        for (int i = 0; i < node->n_inputs; i++)
            if (feed_of(p, node->inputs[i]) < 0)
                TRY(need(p, node->inputs[i].node));
        for (int i = 0; i < node->n_controls; i++)
            TRY(need(p, node->controls[i]));
    }
    return OK;
}

// A node as it is, without its edges. Attributes, types and shapes are shared with the original, which the session keeps.
static Status *copy_node(Pruning *p, Node *from) {
    Graph *graph = p->draft->graph;
    Node *node = ARENA_NEW(&graph->arena, Node);
    NEED_MEMORY(node);
    *node = *from;
    node->graph = graph;
    node->id = (int32_t)graph->nodes.n;
    node->origin = from;
    node->inputs = ARENA_ARRAY(&graph->arena, Output, from->n_inputs);
    node->controls = NULL;
    node->n_controls = 0;
    memset(&node->uses, 0, sizeof node->uses);
    node->value = NULL;
    NEED_MEMORY(node->inputs && vec_push(&graph->nodes, node) && map_set(&graph->names, node->name, node));
    p->copies[from->id] = node;
    return OK;
}

static Status *make_arg(Pruning *p, int feed, Node **out) {
    Output edge = p->signature->feeds[feed];
    DType dtype = dtype_base(edge.node->output_types[edge.index]);
    AUTO(arena) Arena arena = {0};
    Str name = str_format(&arena, "_feed/%d/%.*s", feed, STR_ARGS(edge.node->name));
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, p->draft->graph, STR("_Arg"), name);
    builder_attr(&builder, STR("T"), &ATTR_OF_TYPE(dtype));
    builder_attr(&builder, STR("index"), &ATTR_OF_INT(feed));
    TRY(builder_finish(&builder, out));
    if (dtype_is_ref(edge.node->output_types[edge.index]) || dtype == DT_resource)
        (*out)->handles[0] = edge.node->handles ? edge.node->handles[edge.index] : NULL;
    return OK;
}

static Status *make_retval(Pruning *p, int fetch, Output source, Node **out) {
    AUTO(arena) Arena arena = {0};
    Str name = str_format(&arena, "_fetch/%d/%.*s", fetch, STR_ARGS(source.node->name));
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, p->draft->graph, STR("_Retval"), name);
    builder_input(&builder, source);
    builder_attr(&builder, STR("index"), &ATTR_OF_INT(fetch));
    return builder_finish(&builder, out);
}

static Status *connect(Pruning *p, Node *from) {
    Node *node = p->copies[from->id];
    for (int i = 0; i < from->n_inputs; i++) {
        int feed = feed_of(p, from->inputs[i]);
        Output source = feed >= 0 ? (Output){p->draft->feeds[feed], 0}
                                  : (Output){p->copies[from->inputs[i].node->id], from->inputs[i].index};
        node->inputs[i] = source;
        NEED_MEMORY(vec_push(&source.node->uses, ((Use){node, i, source.index})));
    }
    for (int i = 0; i < from->n_controls; i++)
        TRY(node_add_control(node, p->copies[from->controls[i]->id]));
    return OK;
}

static Status *copy_all(Pruning *p, const Graph *graph) {
    const StepSignature *s = p->signature;
    Draft *draft = p->draft;
    TRY(graph_new(&draft->graph));
    draft->graph->versions.producer = graph->versions.producer;
    for (size_t i = 0; i < graph->functions->order.n; i++)
        TRY(function_add(draft->graph, graph->functions->order.p[i]));
    draft->feeds = calloc((size_t)s->n_feeds + 1, sizeof *draft->feeds);
    draft->fetches = calloc((size_t)s->n_fetches + 1, sizeof *draft->fetches);
    draft->targets = calloc((size_t)s->n_targets + 1, sizeof *draft->targets);
    NEED_MEMORY(draft->feeds && draft->fetches && draft->targets);
    for (int i = 0; i < s->n_feeds; i++)
        TRY(make_arg(p, i, &draft->feeds[i]));
    draft->n_feeds = s->n_feeds;
    for (size_t i = 0; i < p->n; i++)
        if (p->needed[i])
            TRY(copy_node(p, graph->nodes.p[i]));
    for (size_t i = 0; i < p->n; i++)
        if (p->needed[i])
            TRY(connect(p, graph->nodes.p[i]));
    for (int i = 0; i < s->n_fetches; i++) {
        Output source = {p->copies[s->fetches[i].node->id], s->fetches[i].index};
        TRY(make_retval(p, i, source, &draft->fetches[i]));
    }
    draft->n_fetches = s->n_fetches;
    for (int i = 0; i < s->n_targets; i++)
        draft->targets[i] = p->copies[s->targets[i]->id];
    draft->n_targets = s->n_targets;
    return OK;
}

Status *pass_prune(const Graph *graph, const StepSignature *signature, Draft *draft) {
    size_t n = graph->nodes.n;
    Pruning p = {.signature = signature, .draft = draft, .n = n};
    p.needed = calloc(n + 1, 1);
    p.fed = calloc(n + 1, sizeof *p.fed);
    p.copies = calloc(n + 1, sizeof *p.copies);
    Status *status = OK;
    if (!p.needed || !p.fed || !p.copies)
        status = status_new(RESOURCE_EXHAUSTED, __FILE__, __LINE__, "out of memory");
    if (!status)
        status = check_signature(&p, graph);
    if (!status)
        status = close_backwards(&p);
    if (!status)
        status = copy_all(&p, graph);
    free(p.needed);
    free(p.fed);
    free(p.copies);
    vec_clear(&p.stack);
    return status;
}
