// Graph — see graph.h: nodes by name and id, edges and who uses them, order, and what must hold.
#include "graph/graph.h"

#include "graph/function.h"
#include "graph/graph_def.h"

Status *graph_new(Graph **out) {
    Graph *graph = calloc(1, sizeof *graph);
    NEED_MEMORY(graph);
    atomic_init(&graph->references, 1);
    graph->functions = calloc(1, sizeof *graph->functions);
    if (!graph->functions) {
        free(graph);
        FAIL(RESOURCE_EXHAUSTED, "out of memory");
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
    for (size_t i = 0; i < graph->nodes.n; i++)
        if (graph->nodes.p[i])
            vec_clear(&graph->nodes.p[i]->uses);
    vec_clear(&graph->nodes);
    map_clear(&graph->names);
    map_clear(&graph->suffixes);
    for (size_t i = 0; i < graph->tensors.n; i++)
        tensor_clear(&graph->tensors.p[i]);
    vec_clear(&graph->tensors);
    vec_clear(&graph->versions.bad_consumers);
    function_library_free(graph->functions);
    arena_clear(&graph->arena);
    free(graph);
}

// ---------------------------------------- names

Node *graph_find(const Graph *graph, Str name) {
    return map_find(&graph->names, name);
}

Status *graph_unique_name(Graph *graph, Str wanted, Str *out) {
    Str name = str_copy(&graph->arena, wanted), key = name;
    NEED_MEMORY(name.p);
    if (map_find(&graph->names, name)) {
        // Goes on where the last search for this name ended, so a thousand "Add" cost a thousand steps.
        uintptr_t suffix = (uintptr_t)map_find(&graph->suffixes, key);
        do {
            suffix++;
            name = str_format(&graph->arena, "%.*s_%zu", (int)wanted.n, wanted.p, (size_t)suffix);
            NEED_MEMORY(name.p);
        } while (map_find(&graph->names, name));
        NEED_MEMORY(map_set(&graph->suffixes, key, (void *)suffix));
    }
    *out = name;
    return OK;
}

// ---------------------------------------- uses

static void use_drop(Output source, const Node *node, int input) {
    if (!source.node)
        return;
    Node *from = source.node;
    for (size_t i = from->uses.n; i-- > 0;) {
        Use *use = &from->uses.p[i];
        if (use->node == node && use->input == input && use->index == source.index) {
            *use = vec_last(&from->uses);
            from->uses.n--;
            return;
        }
    }
}

static void drop_uses(const Node *node) {
    for (int i = 0; i < node->n_inputs; i++)
        use_drop(node->inputs[i], node, i);
    for (int i = 0; i < node->n_controls; i++)
        use_drop((Output){node->controls[i], CONTROL}, node, CONTROL);
}

static void unlink_node(Node *node) {
    Graph *graph = node->graph;
    drop_uses(node);
    if (map_find(&graph->names, node->name) == node)
        map_take(&graph->names, node->name);
    vec_clear(&node->uses);
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

static bool types_fit(DType wanted, DType given) {
    return wanted == given || wanted == dtype_base(given);
}

static Status *source_check(const Node *node, int input, Output source) {
    NEED(source.node && source.node->graph == node->graph && source.node->id >= 0, INVALID_ARGUMENT,
         "{{node %.*s}} (%.*s): the new input %d is not of this graph", NODE_ARGS(node), input);
    NEED(source.index >= 0 && source.index < source.node->n_outputs, OUT_OF_RANGE,
         "{{node %.*s}} has no output %d", STR_ARGS(source.node->name), source.index);
    DType wanted = node_input_type(node, input), given = source.node->output_types[source.index];
    if (node_input_is_ref(node, input))
        wanted = (DType)((int)wanted + DT_REF);
    NEED(types_fit(wanted, given), INVALID_ARGUMENT,
         "Input %d of node %.*s was passed %s from %.*s:%d incompatible with expected %s.", input,
         STR_ARGS(node->name), dtype_name(given), STR_ARGS(source.node->name), source.index, dtype_name(wanted));
    return OK;
}

Status *node_set_input(Node *node, int input, Output source) {
    NEED(input >= 0 && input < node->n_inputs, OUT_OF_RANGE, "{{node %.*s}} has no input %d", STR_ARGS(node->name),
         input);
    TRY(source_check(node, input, source));
    NEED_MEMORY(vec_push(&source.node->uses, (Use){node, input, source.index}));
    use_drop(node->inputs[input], node, input);
    node->inputs[input] = source;
    node->graph->version++;
    node->graph->edit++;
    return OK;
}

Status *node_add_control(Node *node, Node *before) {
    NEED(before->graph == node->graph && before->id >= 0 && before != node, INVALID_ARGUMENT,
         "{{node %.*s}} can't run after a node of another graph or itself", STR_ARGS(node->name));
    for (int i = 0; i < node->n_controls; i++)
        if (node->controls[i] == before)
            return OK;
    Node **grown = ARENA_ARRAY(&node->graph->arena, Node *, node->n_controls + 1);
    NEED_MEMORY(grown);
    NEED_MEMORY(vec_push(&before->uses, (Use){node, CONTROL, CONTROL}));
    if (node->n_controls)
        memcpy(grown, node->controls, (size_t)node->n_controls * sizeof *grown);
    grown[node->n_controls++] = before;
    node->controls = grown;
    node->graph->version++;
    node->graph->edit++;
    return OK;
}

void node_remove_control(Node *node, int control) {
    use_drop((Output){node->controls[control], CONTROL}, node, CONTROL);
    node->n_controls--;
    for (int i = control; i < node->n_controls; i++)
        node->controls[i] = node->controls[i + 1];
    node->graph->version++;
    node->graph->edit++;
}

Status *graph_replace_output(Output from, Output to) {
    if (output_equal(from, to))
        return OK;
    Node *old = from.node;
    size_t n = 0;
    for (size_t i = 0; i < old->uses.n; i++)
        if (old->uses.p[i].index == from.index && from.index != CONTROL) {
            TRY(source_check(old->uses.p[i].node, old->uses.p[i].input, to));
            n++;
        }
    NEED_MEMORY(vec_reserve(&to.node->uses, to.node->uses.n + n));
    size_t kept = 0;
    for (size_t i = 0, total = old->uses.n; i < total; i++) {
        Use use = old->uses.p[i];
        if (use.index != from.index || use.index == CONTROL) {
            old->uses.p[kept++] = use;
            continue;
        }
        use.node->inputs[use.input] = to;
        if (to.node == old)
            old->uses.p[kept++] = (Use){use.node, use.input, to.index};
        else
            to.node->uses.p[to.node->uses.n++] = (Use){use.node, use.input, to.index};
    }
    old->uses.n = kept;
    old->graph->version++;
    old->graph->edit++;
    return OK;
}

// There is room: as many uses were dropped before.
static void add_uses(Node *node) {
    for (int i = 0; i < node->n_inputs; i++)
        if (node->inputs[i].node)
            (void)vec_push(&node->inputs[i].node->uses, (Use){node, i, node->inputs[i].index});
    for (int i = 0; i < node->n_controls; i++)
        (void)vec_push(&node->controls[i]->uses, (Use){node, CONTROL, CONTROL});
}

void graph_swap_nodes(Node *a, Node *b) {
    drop_uses(a);
    drop_uses(b);
    Node was = *a;
    a->type = b->type;
    b->type = was.type;
    a->inputs = b->inputs;
    b->inputs = was.inputs;
    a->n_inputs = b->n_inputs;
    b->n_inputs = was.n_inputs;
    a->controls = b->controls;
    b->controls = was.controls;
    a->n_controls = b->n_controls;
    b->n_controls = was.n_controls;
    a->attrs = b->attrs;
    b->attrs = was.attrs;
    a->n_attrs = b->n_attrs;
    b->n_attrs = was.n_attrs;
    add_uses(a);
    add_uses(b);
    a->graph->version++;
    a->graph->edit++;
}

// ---------------------------------------- order

static bool is_back_edge(const Node *node, Output input) {
    return !input.node || (node_flow(node) == FLOW_MERGE && node_flow(input.node) == FLOW_NEXT);
}

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
                FAIL(INVALID_ARGUMENT, "Graph is invalid, contains a cycle with %zu nodes, among them {{node %.*s}} (%.*s)",
                     total - n, NODE_ARGS(node));
        }
    *out_count = n;
    return OK;
}

// ---------------------------------------- what must hold

static Status *node_check(const Graph *graph, const Node *node, size_t id) {
    NEED(node->graph == graph && (size_t)node->id == id, INTERNAL, "node %.*s doesn't know its place",
         STR_ARGS(node->name));
    NEED(graph_find(graph, node->name) == node, INVALID_ARGUMENT, "Duplicate node name in graph: '%.*s'",
         STR_ARGS(node->name));
    for (int i = 0; i < node->n_inputs; i++)
        TRY(source_check(node, i, node->inputs[i]));
    for (int i = 0; i < node->n_controls; i++)
        NEED(node->controls[i]->graph == graph && node->controls[i]->id >= 0, INVALID_ARGUMENT,
             "{{node %.*s}} runs after a node that is not of this graph", STR_ARGS(node->name));
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
