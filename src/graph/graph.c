// Graph — see graph.h: nodes by name and id, edges and who uses them, order, and what must hold.
//
// An id is a place in the list of nodes; a node that goes leaves NULL there, so ids stay. Memory is the graph's arena,
// which goes with the last reference. `version` counts every change, `edit` those that void a session's plans: a node
// more does not.
#include "graph/graph.h"

#include "graph/edges_internal.h"
#include "graph/function.h"
#include "graph/graph_def.h"

Status *graph_new(Graph **out) {
    Graph *graph = calloc(1, sizeof *graph);
    NEED_MEMORY(graph);
    atomic_init(&graph->references, 1);
    graph->functions = calloc(1, sizeof *graph->functions);
    if (!graph->functions) {
        free(graph);
        return OUT_OF_MEMORY;
    }
    graph->versions = (Versions){.producer = GRAPH_DEF_VERSION, .min_consumer = GRAPH_DEF_MIN_CONSUMER};
    *out = graph;
    return OK;
}

Graph *graph_retain(Graph *graph) {
    atomic_fetch_add_explicit(&graph->references, 1, memory_order_relaxed);
    return graph;
}

void graph_release(Graph *graph) {
    if (!graph || atomic_fetch_sub_explicit(&graph->references, 1, memory_order_acq_rel) != 1)
        return;
    vec_clear(&graph->nodes);
    name_index_clear(&graph->names);
    attr_sets_clear(&graph->sets);
    map_clear(&graph->suffixes);
    tensor_list_auto(&graph->tensors);
    vec_clear(&graph->versions.bad_consumers);
    function_library_free(graph->functions);
    arena_clear(&graph->arena);
    free(graph);
}

// ---------------------------------------- names

// The last of the name where several have it, as a client sees it.
Node *graph_find(const Graph *graph, Str name) {
    uint32_t hash = name_hash(name);
    size_t at = name_index_first(&graph->names, hash);
    Node *last = NULL;
    for (int32_t id; (id = name_index_next(&graph->names, hash, &at)) >= 0;) {
        if (!str_equal(graph->nodes.p[id]->name, name) || (last && last->id > id))
            continue;
        last = graph->nodes.p[id];
        if (!graph->twice)
            break;
    }
    return last;
}

Status *graph_unique_name(Graph *graph, Str wanted, Str *out) {
    Str name = str_copy(&graph->arena, wanted), key = name;
    NEED_MEMORY(name.p);
    if (graph_find(graph, name)) {
        // Goes on where the last search for this name ended, so a thousand "Add" cost a thousand steps.
        uintptr_t suffix = (uintptr_t)map_find(&graph->suffixes, key);
        do {
            suffix++;
            name = str_format(&graph->arena, "%.*s_%zu", (int)wanted.n, wanted.p, (size_t)suffix);
            NEED_MEMORY(name.p);
        } while (graph_find(graph, name));
        NEED_MEMORY(map_set(&graph->suffixes, key, (void *)suffix));
    }
    *out = name;
    return OK;
}

// ---------------------------------------- nodes come and go

// Everything that can fail first.
Status *node_insert(Graph *graph, Node *node) {
    NEED(graph->nodes.n < INT32_MAX, RESOURCE_EXHAUSTED, "a graph holds at most 2^31 nodes");
    NEED_MEMORY(vec_reserve(&graph->nodes, graph->nodes.n + 1));
    NEED_MEMORY(name_index_reserve(&graph->names, graph->names.n + 1));
    NEED_MEMORY(node_add_edges(node));
    node->id = (int32_t)graph->nodes.n;
    (void)name_index_add(&graph->names, node->name_hash, node->id);
    graph->nodes.p[graph->nodes.n++] = node;
    graph->version++;
    return OK;
}

static void unlink_node(Node *node) {
    Graph *graph = node->graph;
    node_drop_edges(node);
    name_index_remove(&graph->names, node->name_hash, node->id);
    node_drop_uses(node);
    if (graph->twice == node)
        graph->twice = NULL;  // nodes go in the order in which they came, the last one first
    graph->nodes.p[node->id] = NULL;
    node->id = -1;
    graph->version++;
}

void graph_remove(Node *node) {
    unlink_node(node);
    node->graph->edit++;
}

void graph_remove_last(Graph *graph) {
    if (graph->nodes.n && vec_last(&graph->nodes))
        unlink_node(vec_last(&graph->nodes));
    if (graph->nodes.n)
        graph->nodes.n--;
}

// ---------------------------------------- order

static bool is_back_edge(const Node *node, Output input) {
    return !input.node || (node_flow(node) == FLOW_MERGE && node_flow(input.node) == FLOW_NEXT);
}

// Whether ids are a topological order already, as in graphs that clients build node by node: then nothing is sorted.
static bool is_ordered(const Graph *graph) {
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const Node *node = graph->nodes.p[i];
        for (int j = 0; node && j < node->n_inputs; j++)
            if (!is_back_edge(node, node->inputs[j]) && node->inputs[j].node->id >= node->id)
                return false;
        for (int j = 0; node && j < node->n_controls; j++)
            if (node->controls[j]->id >= node->id)
                return false;
    }
    return true;
}

int32_t node_count_before(const Node *node) {
    int32_t n = node->n_controls;
    for (int j = 0; j < node->n_inputs; j++)
        n += !is_back_edge(node, node->inputs[j]);
    return n;
}

bool node_use_goes_back(const Node *node, Use use) {
    return use.index != CONTROL && is_back_edge(use.node, (Output){(Node *)node, use.index});
}

// Kahn's algorithm: `order` is its queue. Marks are used only where the graph is not in order.
Status *graph_order(const Graph *graph, Node **order, size_t *out_count) {
    size_t n = 0, total = 0;
    bool ordered = is_ordered(graph);
    for (size_t i = 0; i < graph->nodes.n; i++) {
        Node *node = graph->nodes.p[i];
        total += node != NULL;
        if (node && !ordered)
            node->mark = node_count_before(node);
        if (node && (ordered || node->mark == 0))
            order[n++] = node;
    }
    for (size_t done = 0; done < n && !ordered; done++) {
        const Node *node = order[done];
        for (size_t i = 0; i < node->uses.n; i++) {
            Use use = node->uses.p[i];
            if (!node_use_goes_back(node, use) && --use.node->mark == 0)
                order[n++] = use.node;
        }
    }
    if (n < total)
        for (size_t i = 0; i < graph->nodes.n; i++) {
            const Node *node = graph->nodes.p[i];
            if (node && node->mark > 0)
                FAIL(INVALID_ARGUMENT,
                     "Graph is invalid, contains a cycle with %zu nodes, among them {{node %.*s}} (%.*s)",
                     total - n, NODE_ARGS(node));
        }
    *out_count = n;
    return OK;
}

// ---------------------------------------- what must hold

static Status *node_check(const Graph *graph, const Node *node, size_t id) {
    NEED(node->graph == graph && (size_t)node->id == id, INTERNAL, "node %.*s doesn't know its place",
         STR_ARGS(node->name));
    NEED(graph->twice || graph_find(graph, node->name) == node, INVALID_ARGUMENT,
         "Duplicate node name in graph: '%.*s'", STR_ARGS(node->name));
    for (int i = 0; i < node->n_inputs; i++)
        TRY(node_check_source(node, i, node->inputs[i]));
    for (int i = 0; i < node->n_controls; i++)
        NEED(node->controls[i]->graph == graph && node->controls[i]->id >= 0, INVALID_ARGUMENT,
             "{{node %.*s}} runs after a node that is not of this graph", STR_ARGS(node->name));
    NEED(node_knows_its_places(node), INTERNAL, "%.*s is not where it should be among the users of its inputs",
         STR_ARGS(node->name));
    for (size_t i = 0; i < node->uses.n; i++) {
        Use use = node->uses.p[i];
        NEED(use.node->graph == graph && use.node->id >= 0, INTERNAL, "a node that was removed uses %.*s",
             STR_ARGS(node->name));
        NEED(use.index == CONTROL || (use.input < use.node->n_inputs && use.node->inputs[use.input].node == node &&
                                      use.node->inputs[use.input].index == use.index),
             INTERNAL, "%.*s is listed as a user of %.*s and isn't", STR_ARGS(use.node->name), STR_ARGS(node->name));
    }
    return OK;
}

// Debug builds ask this after each pass: every edge is a use and every use an edge.
Status *graph_check(const Graph *graph) {
    size_t edges = 0, uses = 0, n;
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const Node *node = graph->nodes.p[i];
        if (!node)
            continue;
        TRY(node_check(graph, node, i));
        edges += (size_t)(node->n_inputs + node->n_controls);
        uses += node->uses.n;
    }
    NEED(edges == uses, INTERNAL, "the graph has %zu edges and %zu uses", edges, uses);
    Node **order = calloc(graph->nodes.n + 1, sizeof *order);
    NEED_MEMORY(order);
    Status *status = graph_order(graph, order, &n);
    free(order);
    return status;
}
