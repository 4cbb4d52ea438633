// Assembly — see assembly.h: many nodes at once, from an imported GraphDef or a function's body, in an order that their
// edges allow.
//
// Files list nodes in any order, and loops have no order at all. Nodes are made in topological order (Kahn's algorithm
// with a heap, so that of those that are ready the first in the file comes first, as in TensorFlow); back edges into
// loops are closed at the end. Most nodes of a large graph look like another (same op, attributes and input types):
// those share what was resolved for the first (AttrMemo). A graph that fails is left as it was.
#include "graph/assembly.h"

#include "graph/function.h"
#include "proto/tensor_proto.h"

void assembly_begin(Assembly *assembly, Graph *graph) {
    assembly->graph = graph;
    assembly->budget = SPLAT_BUDGET;
    assembly->nodes_before = graph->nodes.n;
    assembly->tensors_before = graph->tensors.n;
    assembly->version_before = graph->version;
    assembly->edit_before = graph->edit;
}

// The counters too: what has not changed must not void the sessions' plans.
void assembly_undo(Assembly *assembly) {
    Graph *graph = assembly->graph;
    while (graph->nodes.n > assembly->nodes_before)
        graph_remove_last(graph);
    tensor_list_cut(&graph->tensors, assembly->tensors_before);
    graph->version = assembly->version_before;
    graph->edit = assembly->edit_before;
}

void assembly_clear(Assembly *assembly) {
    vec_clear(&assembly->sources);
    vec_clear(&assembly->edges);
    vec_clear(&assembly->controls);
    vec_clear(&assembly->types);
    builder_clear(&assembly->builder);
    arena_clear(&assembly->scratch);
    attr_memo_clear(&assembly->memo);
}

// ---------------------------------------- edges

static Flow part_flow(const Part *part) {
    return part->type->op ? part->type->op->flow : FLOW_NONE;
}

// From a NextIteration to a Merge, among the new nodes: the one edge that may lead backwards.
static bool is_back_edge(const Assembly *a, const Part *part, const Source *source) {
    return source->part != OUTSIDE && source->index != CONTROL && part_flow(part) == FLOW_MERGE &&
           part_flow(&a->parts[source->part]) == FLOW_NEXT;
}

Status *assembly_source(const Assembly *a, const Source *source, Node **out_node, int *first, int *count) {
    const Part *from = &a->parts[source->part];
    int start = 0, n = from->node->n_outputs;
    if (source->arg != FLAT)
        node_output_span(from->node, source->arg, &start, &n);
    if (source->index != WHOLE_LIST) {
        NEED(source->index >= 0 && source->index < n, INVALID_ARGUMENT,
             "Connecting to invalid output %d of source node %.*s which has %d outputs.", source->index,
             STR_ARGS(from->name), n);
        start += source->index;
        n = 1;
    }
    *out_node = from->node;
    *first = start;
    *count = n;
    return OK;
}

static Status *push_edge(Assembly *a, const Source *source) {
    if (source->part == OUTSIDE) {
        NEED_MEMORY(vec_push(&a->edges, source->outside));
        return OK;
    }
    if (!a->parts[source->part].node) {  // a back edge: closed at the end
        NEED_MEMORY(vec_push(&a->edges, (Output){0}));
        return OK;
    }
    Node *node;
    int first, count;
    TRY(assembly_source(a, source, &node, &first, &count));
    for (int i = 0; i < count; i++)
        NEED_MEMORY(vec_push(&a->edges, (Output){node, first + i}));
    return OK;
}

// ---------------------------------------- one node

static Status *add_attrs(Assembly *a, const Part *part, NodeBuilder *builder) {
    const NodeDef *def = part->def;
    for (size_t i = 0; i < def->attr.n; i++) {
        Str name = def->attr.p[i].key;
        bool internal = name.n > 0 && name.p[0] == '_';
        if (!internal && signature_attr(&part->type->signature, name) < 0)
            continue;  // of a newer TensorFlow: importing programs ignore what they don't know
        if (str_equal(name, STR("_output_shapes")))
            continue;  // what inference said where the graph was written; often stale
        AttrValue value;
        TRY(status_prefix(attr_from_proto(def->attr.p[i].value, &builder->arena, &builder->tensors, &a->budget, &value),
                          "attr '%.*s'", STR_ARGS(name)));
        if (a->attr)
            TRY(a->attr(a, part, name, &value, builder));
        if (value.kind != ATTR_NONE || value.is_list)
            builder_attr(builder, name, &value);
    }
    return OK;
}

static int compare_ids(const void *a, const void *b) {
    int32_t x = (*(Node *const *)a)->id, y = (*(Node *const *)b)->id;
    return (x > y) - (x < y);
}

// A part's edges and their types; controls by id and each once, as in build.c, so that equal nodes have equal lists.
static Status *list_edges(Assembly *a, const Part *part) {
    a->edges.n = a->controls.n = a->types.n = 0;
    for (int i = 0; i < part->n_sources; i++) {
        const Source *source = &a->sources.p[part->first_source + (size_t)i];
        if (source->index != CONTROL)
            TRY(push_edge(a, source));
        else
            NEED_MEMORY(vec_push(&a->controls, source->part == OUTSIDE ? source->outside.node
                                 : a->parts[source->part].node));
    }
    if (a->controls.n > 1)
        qsort(a->controls.p, a->controls.n, sizeof *a->controls.p, compare_ids);
    size_t kept = 0;
    for (size_t i = 0; i < a->controls.n; i++)
        if (kept == 0 || a->controls.p[kept - 1] != a->controls.p[i])
            a->controls.p[kept++] = a->controls.p[i];
    a->controls.n = kept;
    NEED_MEMORY(vec_reserve(&a->types, a->edges.n));
    for (size_t i = 0; i < a->edges.n; i++) {
        Output edge = a->edges.p[i];
        a->types.p[i] = edge.node ? edge.node->output_types[edge.index] : DT_INVALID;
    }
    a->types.n = a->edges.n;
    return OK;
}

// A node whose like was made before: nothing is left to be decoded or resolved.
static Status *make_alike(Assembly *a, Part *part, const AttrSet *set) {
    Graph *graph = a->graph;
    NEED(a->may_repeat || !graph_find(graph, part->name), INVALID_ARGUMENT, "Duplicate node name in graph: '%.*s'",
         STR_ARGS(part->name));
    Node *node;
    TRY(node_new(graph, &(NodeParts){.name = part->name, .device = part->device, .hash = part->hash, .set = set,
                                     .n_inputs = a->edges.n, .n_controls = a->controls.n}, &node));
    for (size_t i = 0; i < a->edges.n; i++)
        node->inputs[i] = a->edges.p[i];
    for (size_t i = 0; i < a->controls.n; i++)
        node->controls[i] = a->controls.p[i];
    TRY(node_insert(graph, node));
    Status *status = node_infer_shapes(node);
    if (status)
        graph_remove_last(graph);
    else
        part->node = node;
    return status;
}

// Decodes the attributes now, into memory that the next node takes over.
static Status *make_slowly(Assembly *a, Part *part) {
    NodeBuilder *builder = &a->builder;
    NodeDef *def = NULL;
    arena_reset(&a->scratch);
    if (!part->def) {
        TRY(PROTO_DECODE(NodeDef, &a->scratch, part->bytes, &def));
        part->def = def;
    }
    builder_flat_inputs(builder, a->edges.p, (int)a->edges.n);
    for (size_t i = 0; i < a->controls.n; i++)
        builder_control(builder, a->controls.p[i]);
    Status *status = add_attrs(a, part, builder);
    if (def)
        part->def = NULL;
    return status;
}

static Status *make_unmarked(Assembly *a, Part *part) {
    NEED(a->graph->nodes.n < MAX_GRAPH_NODES, RESOURCE_EXHAUSTED, "a graph of more than %d nodes", MAX_GRAPH_NODES);
    Status *status = list_edges(a, part);
    Spelling spelling = {part->type, part->attrs, a->types.p, a->types.n};
    const AttrSet *set = !status && !part->def ? attr_memo_find(&a->memo, &spelling) : NULL;
    if (set)
        return make_alike(a, part, set);
    if (!status) {
        a->builder.graph = a->graph;
        a->builder.may_repeat = a->may_repeat;
        builder_reuse(&a->builder, part->type->name, part->name);
        builder_device(&a->builder, part->device);
        status = make_slowly(a, part);
    }
    if (status)
        return status_prefix(status, "{{node %.*s}} (%.*s)", STR_ARGS(part->name), STR_ARGS(part->type->name));
    TRY(builder_finish(&a->builder, &part->node));
    // Names of nodes and frames in attributes may be changed on the way.
    bool alike = a->builder.shared && !a->builder.colocations.n && part_flow(part) != FLOW_ENTER;
    return alike && !part->def && part->attrs.p ? attr_memo_add(&a->memo, &spelling, a->builder.set) : OK;
}

// Where names may repeat (a prefix was asked for and not made unique) the first repetition is noted: sessions refuse
// it.
static Status *make_node(Assembly *a, Part *part) {
    bool repeats = a->may_repeat && graph_find(a->graph, part->name);
    TRY(make_unmarked(a, part));
    if (repeats && !a->graph->twice)
        a->graph->twice = part->node;
    return OK;
}

// ---------------------------------------- order

// Those parts that are ready, the first of the list on top.
typedef VEC(int32_t) Heap;

static bool heap_push(Heap *heap, int32_t part) {
    if (!vec_push(heap, part))
        return false;
    size_t at = heap->n - 1;
    while (at > 0 && heap->p[(at - 1) / 2] > part) {
        heap->p[at] = heap->p[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->p[at] = part;
    return true;
}

static int32_t heap_pop(Heap *heap) {
    int32_t top = heap->p[0];
    int32_t last = heap->p[--heap->n];
    size_t at = 0;
    for (size_t child = 1; child < heap->n; child = 2 * at + 1) {
        if (child + 1 < heap->n && heap->p[child + 1] < heap->p[child])
            child++;
        if (heap->p[child] >= last)
            break;
        heap->p[at] = heap->p[child];
        at = child;
    }
    if (heap->n)
        heap->p[at] = last;
    return top;
}

typedef struct {
    size_t *first;     // readers of part i: readers[first[i]] to readers[first[i + 1]]
    int32_t *readers;
    Heap ready;
    Arena arena;       // of first and readers
} Order;

static void order_auto(Order *order) {
    arena_clear(&order->arena);
    vec_clear(&order->ready);
}

// Counts what each part waits for; true if the list is in order already.
static bool count_waiting(Assembly *a) {
    bool ordered = true;
    for (size_t i = 0; i < a->n_parts; i++) {
        Part *part = &a->parts[i];
        part->waiting = 0;
        for (int j = 0; j < part->n_sources; j++) {
            const Source *source = &a->sources.p[part->first_source + (size_t)j];
            if (source->part == OUTSIDE || is_back_edge(a, part, source))
                continue;
            part->waiting++;
            ordered &= (size_t)source->part < i;
        }
    }
    return ordered;
}

// Readers by part in one array (compressed rows): two passes, count and fill.
static Status *order_init(const Assembly *a, Order *order) {
    order->first = ARENA_ARRAY(&order->arena, size_t, a->n_parts + 2);
    order->readers = ARENA_ARRAY(&order->arena, int32_t, a->sources.n + 1);
    NEED_MEMORY(order->first && order->readers);
    // Counting two places ahead leaves each part's own place free to serve as the cursor while filling.
    for (int fill = 0; fill < 2; fill++) {
        for (size_t i = 0; i < a->n_parts; i++) {
            const Part *part = &a->parts[i];
            for (int j = 0; j < part->n_sources; j++) {
                const Source *source = &a->sources.p[part->first_source + (size_t)j];
                if (source->part == OUTSIDE || is_back_edge(a, part, source))
                    continue;
                if (fill)
                    order->readers[order->first[source->part + 1]++] = (int32_t)i;
                else
                    order->first[source->part + 2]++;
            }
        }
        for (size_t i = 2; !fill && i < a->n_parts + 2; i++)
            order->first[i] += order->first[i - 1];
    }
    return OK;
}

// What never became ready lies in a cycle or behind one.
static Status *cycle_error(const Assembly *a, size_t made) {
    for (size_t i = 0; i < a->n_parts; i++)
        if (a->parts[i].waiting > 0)
            FAIL(INVALID_ARGUMENT, "%zu nodes in a cycle, or behind one: the first is {{node %.*s}} (%.*s)",
                 a->n_parts - made, STR_ARGS(a->parts[i].name), STR_ARGS(a->parts[i].type->name));
    BUG("a cycle without nodes");
}

static Status *make_in_order(Assembly *a) {
    AUTO(order) Order order = {0};
    TRY(order_init(a, &order));
    for (size_t i = 0; i < a->n_parts; i++)
        if (a->parts[i].waiting == 0)
            NEED_MEMORY(heap_push(&order.ready, (int32_t)i));
    size_t made = 0;
    while (order.ready.n) {
        int32_t next = heap_pop(&order.ready);
        TRY(make_node(a, &a->parts[next]));
        made++;
        for (size_t i = order.first[next]; i < order.first[next + 1]; i++)
            if (--a->parts[order.readers[i]].waiting == 0)
                NEED_MEMORY(heap_push(&order.ready, order.readers[i]));
    }
    return made == a->n_parts ? OK : cycle_error(a, made);
}

// ---------------------------------------- all

static Status *close_loops(Assembly *a) {
    for (size_t i = 0; i < a->n_parts; i++) {
        Part *part = &a->parts[i];
        if (part_flow(part) != FLOW_MERGE)
            continue;
        int input = 0;
        for (int j = 0; j < part->n_sources && input < part->node->n_inputs; j++) {
            const Source *source = &a->sources.p[part->first_source + (size_t)j];
            int first = 0, count = 1;
            Node *node = source->outside.node;
            if (source->part != OUTSIDE && source->index != CONTROL)
                TRY(status_prefix(assembly_source(a, source, &node, &first, &count), "{{node %.*s}} (%.*s)",
                                  NODE_ARGS(part->node)));
            if (!part->node->inputs[input].node && source->index != CONTROL) {
                NEED(count == 1, INVALID_ARGUMENT, "{{node %.*s}} (%.*s): a back edge of %d values",
                     NODE_ARGS(part->node), count);
                TRY(node_set_input(part->node, input, (Output){node, first}));
            }
            input += source->index == CONTROL ? 0 : count;
        }
    }
    return OK;
}

// In the order of the list where that is one: no heap, no readers.
static Status *make_all(Assembly *a) {
    NEED_MEMORY(vec_reserve(&a->graph->nodes, a->graph->nodes.n + a->n_parts));
    NEED_MEMORY(name_index_reserve(&a->graph->names, a->graph->names.n + a->n_parts));
    if (!count_waiting(a)) {
        TRY(make_in_order(a));
    } else {
        for (size_t i = 0; i < a->n_parts; i++)
            TRY(make_node(a, &a->parts[i]));
    }
    TRY(close_loops(a));
    // Closing a loop of new nodes changes nothing that was there. With a name that repeats no session goes on.
    const Node *twice = a->graph->twice;
    uint64_t edit = a->edit_before + (twice && (size_t)twice->id >= a->nodes_before);
    if (edit != a->graph->edit)
        a->graph->edit = edit;
    return OK;
}

Status *assembly_run(Assembly *assembly) {
    NEED(assembly->n_parts <= MAX_GRAPH_NODES, RESOURCE_EXHAUSTED, "more than %d nodes", MAX_GRAPH_NODES);
    Status *status = make_all(assembly);
    if (status)
        assembly_undo(assembly);
    return status;
}
