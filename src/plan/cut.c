// Cut — takes a graph that was placed on several tasks apart: one part a task, with Send and Recv where edges cross.
//
// One tensor goes once per destination task: all its readers there share one Recv. A control edge becomes an empty
// tensor. What is left in the draft is the part of the master's own task, where feeds come in and fetches go out; the
// others are written as GraphDefs (PlanOptions.cut). Only ops that all of TensorFlow's servers know go to them.
#include <stdlib.h>

#include "graph/build.h"
#include "graph/graph_def.h"
#include "plan/pass.h"

typedef struct {
    Draft *draft;
    Str home;
    Arena arena;
    Map received;          // "edge;task" -> the node that stands for it there
    VEC(const Device *) tasks;  // of each other task a device; a node's mark is 1 + its task's place, or 0: home
    int32_t *depths;       // by id: loops around what reads the node's outputs; NULL: there are no loops
    bool alive;            // nothing is ever dead
    int edges;
} Cutting;

// ---- which task

static Status *task_of(Cutting *c, const Device *device, int32_t *out) {
    Str task = device_task(device);
    *out = 0;
    if (str_equal(task, c->home))
        return OK;
    for (size_t i = 0; i < c->tasks.n && !*out; i++)
        if (str_equal(task, device_task(c->tasks.p[i])))
            *out = (int32_t)i + 1;
    if (*out)
        return OK;
    NEED_MEMORY(vec_push(&c->tasks, device));
    *out = (int32_t)c->tasks.n;
    return OK;
}

static Status *mark_tasks(Cutting *c) {
    const Device *last = NULL;
    int32_t mark = 0;
    for (size_t i = 0; i < c->draft->graph->nodes.n; i++) {
        Node *node = c->draft->graph->nodes.p[i];
        if (!node)
            continue;
        if (node->placed != last)
            TRY(task_of(c, node->placed, &mark));
        last = node->placed;
        node->mark = mark;
    }
    return OK;
}

// A device of the same task in whose memory the network reads and writes.
static const Device *host_beside(const Cutting *c, const Device *device) {
    const DeviceSet *all = c->draft->options->devices;
    for (int d = 0; d < all->n && !device->type->host; d++)
        if (all->devices[d]->type->host && str_equal(device_task(all->devices[d]), device_task(device)))
            return all->devices[d];
    return device;
}

// ---- loops

static Status *find_depths(Cutting *c) {
    Graph *graph = c->draft->graph;
    size_t n;
    Node **order = ARENA_ARRAY(&c->arena, Node *, graph->nodes.n);
    int32_t *marks = ARENA_ARRAY(&c->arena, int32_t, graph->nodes.n);
    int32_t *depths = ARENA_ARRAY(&c->arena, int32_t, graph->nodes.n);
    NEED_MEMORY(order && marks && depths);
    for (size_t i = 0; i < graph->nodes.n; i++)
        marks[i] = graph->nodes.p[i] ? graph->nodes.p[i]->mark : 0;
    Status *status = graph_order(graph, order, &n);
    for (size_t i = 0; i < graph->nodes.n; i++)
        if (graph->nodes.p[i])
            graph->nodes.p[i]->mark = marks[i];
    TRY(status);
    for (size_t i = 0; i < n; i++) {
        const Node *node = order[i];
        int32_t depth = 0;
        for (int in = 0; in < node->n_inputs + node->n_controls; in++) {
            const Node *from = in < node->n_inputs ? node->inputs[in].node : node->controls[in - node->n_inputs];
            if (node_flow(from) != FLOW_NEXT && depths[from->id] > depth)
                depth = depths[from->id];
        }
        depths[node->id] = depth + (node_flow(node) == FLOW_ENTER) - (node_flow(node) == FLOW_EXIT && depth > 0);
    }
    c->depths = depths;
    return OK;
}

// ---- edges

static void add_ends(NodeBuilder *builder, const Str *name, const Device *from, const Device *to) {
    builder_attr(builder, STR("tensor_name"), &ATTR_OF_STRING(*name));
    builder_attr(builder, STR("send_device"), &ATTR_OF_STRING(str_of(from->name)));
    builder_attr(builder, STR("recv_device"), &ATTR_OF_STRING(str_of(to->name)));
    builder_attr(builder, STR("send_device_incarnation"), &ATTR_OF_INT((int64_t)from->incarnation));
}

// TensorFlow's workers keep the kernel of a Send or Recv under its name, for all graphs of a session: so no name comes twice
// in a process.
static Status *begin_node(Cutting *c, NodeBuilder *builder, const char *op, const Node *like, const char *suffix) {
    static _Atomic uint64_t made = 0;
    Str name;
    Str wanted = str_format(&c->arena, "%.*s%s%llu", STR_ARGS(like->name), suffix,
                            (unsigned long long)atomic_fetch_add(&made, 1));
    NEED_MEMORY(wanted.p);
    TRY(graph_unique_name(c->draft->graph, wanted, &name));
    builder_init(builder, c->draft->graph, str_of(op), name);
    return OK;
}

static Status *send(Cutting *c, Output edge, const Node *reader, Str name, Node **out) {
    const Device *from = host_beside(c, edge.node->placed), *to = host_beside(c, reader->placed);
    AUTO(builder) NodeBuilder builder = {0};
    TRY(begin_node(c, &builder, "_Send", edge.node, "_S"));
    builder_input(&builder, edge);
    add_ends(&builder, &name, from, to);
    TRY(builder_finish(&builder, out));
    (*out)->placed = from;
    (*out)->mark = edge.node->mark;
    return OK;
}

static Status *receive(Cutting *c, Output edge, const Node *reader, Str name, Node **out) {
    const Device *from = host_beside(c, edge.node->placed), *to = host_beside(c, reader->placed);
    AUTO(builder) NodeBuilder builder = {0};
    TRY(begin_node(c, &builder, "_Recv", edge.node, "_R"));
    builder_attr(&builder, STR("tensor_type"), &ATTR_OF_TYPE(output_base_type(edge)));
    add_ends(&builder, &name, from, to);
    if (c->alive)
        builder_attr(&builder, STR("_alive"), &ATTR_OF_BOOL(true));
    TRY(builder_finish(&builder, out));
    (*out)->placed = to;
    (*out)->mark = reader->mark;
    (*out)->output_shapes[0] = edge.node->output_shapes[edge.index];
    return OK;
}

static Status *check_edge(const Cutting *c, Output edge, const Node *reader) {
    DType dtype = output_base_type(edge);
    NEED(!c->depths || !c->depths[edge.node->id], UNIMPLEMENTED,
         "{{node %.*s}} (%.*s): it is on %s and reads '%.*s' on %s inside of a loop; a loop over several tasks is not "
         "there yet", NODE_ARGS(reader), reader->placed->name, STR_ARGS(edge.node->name), edge.node->placed->name);
    NEED(dtype != DT_resource, INVALID_ARGUMENT, "{{node %.*s}} (%.*s): it is on %s, but the resource that it reads, "
         "'%.*s', is on %s, and resources stay on their task", NODE_ARGS(reader), reader->placed->name,
         STR_ARGS(edge.node->name), edge.node->placed->name);
    return OK;
}

// What `reader`, on another task, reads instead of the edge.
static Status *cross(Cutting *c, Output edge, const Node *reader, Node **out) {
    Str key = str_format(&c->arena, "%d:%d;%d", edge.node->id, edge.index, reader->mark);
    NEED_MEMORY(key.p);
    *out = map_find(&c->received, key);
    if (*out)
        return OK;
    TRY(check_edge(c, edge, reader));
    Str name = str_format(&c->arena, "edge_%d_%.*s", c->edges, STR_ARGS(edge.node->name));
    NEED_MEMORY(name.p);
    Node *sent;
    TRY(send(c, edge, reader, name, &sent));
    TRY(receive(c, edge, reader, name, out));
    c->edges++;
    NEED_MEMORY(map_set(&c->received, key, *out));
    return OK;
}

// An empty tensor that is there once `before` has run.
static Status *token(Cutting *c, Node *before, Output *out) {
    Tensor none;
    TRY(tensor_new(DT_float, SHAPE(0), &none));
    AttrValue value = {.kind = ATTR_TENSOR, .tensor = &none};
    AUTO(builder) NodeBuilder builder = {0};
    Node *node = NULL;
    Status *status = begin_node(c, &builder, "Const", before, "_C");
    if (!status) {
        builder_attr(&builder, STR("value"), &value);
        builder_attr(&builder, STR("dtype"), &ATTR_OF_TYPE(DT_float));
        builder_control(&builder, before);
        status = builder_finish(&builder, &node);
    }
    tensor_clear(&none);
    TRY(status);
    node->placed = host_beside(c, before->placed);
    node->mark = before->mark;
    *out = (Output){node, 0};
    return OK;
}

static Status *cross_control(Cutting *c, Node *before, const Node *reader, Node **out) {
    Str key = str_format(&c->arena, "^%d;%d", before->id, reader->mark);
    NEED_MEMORY(key.p);
    *out = map_find(&c->received, key);
    if (*out)
        return OK;
    NEED(!c->depths || !c->depths[before->id], UNIMPLEMENTED,
         "{{node %.*s}} (%.*s): it is on %s and waits for '%.*s' on %s inside of a loop; a loop over several tasks is not "
         "there yet", NODE_ARGS(reader), reader->placed->name, STR_ARGS(before->name), before->placed->name);
    Output edge;
    Node *sent;
    TRY(token(c, before, &edge));
    Str name = str_format(&c->arena, "edge_%d_%.*s", c->edges, STR_ARGS(before->name));
    NEED_MEMORY(name.p);
    TRY(send(c, edge, reader, name, &sent));
    TRY(receive(c, edge, reader, name, out));
    c->edges++;
    NEED_MEMORY(map_set(&c->received, key, *out));
    return OK;
}

static Status *cut_node(Cutting *c, Node *node) {
    Node *other;
    for (int in = 0; in < node->n_inputs; in++) {
        if (node->inputs[in].node->mark == node->mark)
            continue;
        TRY(cross(c, node->inputs[in], node, &other));
        TRY(node_set_input(node, in, (Output){other, 0}));
    }
    for (int i = 0; i < node->n_controls;) {
        Node *before = node->controls[i];
        if (before->mark == node->mark) {
            i++;
            continue;
        }
        TRY(cross_control(c, before, node, &other));
        node_remove_control(node, i);
        TRY(node_add_control(node, other));
    }
    return OK;
}

// ---- parts

static Status *write_parts(Cutting *c) {
    Draft *draft = c->draft;
    draft->parts = calloc(c->tasks.n + 1, sizeof *draft->parts);
    NEED_MEMORY(draft->parts);
    for (size_t i = 0; i < draft->graph->nodes.n; i++)
        if (draft->graph->nodes.p[i])
            draft->graph->nodes.p[i]->device = str_of(draft->graph->nodes.p[i]->placed->name);
    for (size_t t = 0; t < c->tasks.n; t++) {
        DraftPart *part = &draft->parts[draft->n_parts++];
        Str task = device_task(c->tasks.p[t]);
        text_add(&part->task, task);
        NEED_MEMORY(!part->task.failed);
        TRY(graph_marked_to_proto(draft->graph, (int32_t)t + 1, &part->graph));
    }
    return OK;
}

// The home part's targets are those that were asked for, where they are here, and all that is sent from here.
static Status *keep_home(Cutting *c) {
    Draft *draft = c->draft;
    size_t n_sends = 0;
    int kept = 0;
    for (size_t i = 0; i < draft->graph->nodes.n; i++)
        n_sends += draft->graph->nodes.p[i] && node_flow(draft->graph->nodes.p[i]) == FLOW_SEND;
    Node **targets = calloc((size_t)draft->n_targets + n_sends + 1, sizeof *targets);
    NEED_MEMORY(targets);
    for (int i = 0; i < draft->n_targets; i++)
        if (!draft->targets[i]->mark)
            targets[kept++] = draft->targets[i];
    for (size_t i = 0; i < draft->graph->nodes.n; i++) {
        Node *node = draft->graph->nodes.p[i];
        if (!node || node_flow(node) != FLOW_SEND || node->mark)
            continue;
        node->is_target = true;
        targets[kept++] = node;
    }
    free(draft->targets);
    draft->targets = targets;
    draft->n_targets = kept;
    return pass_dead_code(draft);
}

static Status *cut(Cutting *c) {
    Draft *draft = c->draft;
    TRY(mark_tasks(c));
    if (!c->tasks.n)
        return OK;
    c->alive = !draft_has_flow(draft);
    if (!c->alive)
        TRY(find_depths(c));
    size_t n = draft->graph->nodes.n;
    for (size_t i = 0; i < n; i++)
        if (draft->graph->nodes.p[i])
            TRY(cut_node(c, draft->graph->nodes.p[i]));
    TRY(write_parts(c));
    return keep_home(c);
}

Status *pass_cut(Draft *draft) {
    if (!draft->options->home.n)
        return OK;
    Cutting c = {.draft = draft, .home = draft->options->home};
    Status *status = cut(&c);
    map_clear(&c.received);
    vec_clear(&c.tasks);
    arena_clear(&c.arena);
    return status;
}
