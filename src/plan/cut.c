// Cut — takes a graph that was placed on several tasks apart: one part a task, with Send and Recv where edges cross.
//
// One tensor goes once per destination task: all its readers there share one Recv. A control edge becomes an empty
// tensor. cut_loops.c has what loops need. What is left in the draft is the part of the master's own task, where feeds come
// in and fetches go out; the others are written as GraphDefs. Only ops that all of TensorFlow's servers know go to them.
#include <stdlib.h>

#include "graph/graph_def.h"
#include "plan/cut_internal.h"

// ---- which task

// Parts are numbered as their tasks are met: few, so a list is as good as a map.
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

// Neighbours in the graph's list are mostly on one device: the task is looked up when that changes, not for each node.
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

const Device *cut_host(const Cutting *c, const Device *device) {
    const DeviceSet *all = c->draft->options->devices;
    for (int d = 0; d < all->n && !device->type->host; d++)
        if (all->devices[d]->type->host && str_equal(device_task(all->devices[d]), device_task(device)))
            return all->devices[d];
    return device;
}

// ---- edges

// The four attributes that TensorFlow makes a rendezvous key of; the incarnation tells a restarted task from the one
// that the step was cut for, so nobody waits for a tensor of a process that is gone.
static void add_ends(NodeBuilder *builder, const Str *name, const Device *from, const Device *to) {
    builder_attr(builder, STR("tensor_name"), &ATTR_OF_STRING(*name));
    builder_attr(builder, STR("send_device"), &ATTR_OF_STRING(str_of(from->name)));
    builder_attr(builder, STR("recv_device"), &ATTR_OF_STRING(str_of(to->name)));
    builder_attr(builder, STR("send_device_incarnation"), &ATTR_OF_INT((int64_t)from->incarnation));
}

Status *cut_begin(Cutting *c, NodeBuilder *builder, Str op, const Node *like, const char *suffix) {
    static _Atomic uint64_t made = 0;
    Str name;
    Str wanted = str_format(&c->arena, "%.*s%s%llu", STR_ARGS(like->name), suffix,
                            (unsigned long long)atomic_fetch_add(&made, 1));
    NEED_MEMORY(wanted.p);
    TRY(graph_unique_name(c->draft->graph, wanted, &name));
    builder_init(builder, c->draft->graph, op, name);
    return OK;
}

Status *cut_finish(NodeBuilder *builder, const Device *device, int32_t mark, Node **out) {
    TRY(builder_finish(builder, out));
    (*out)->placed = device;
    (*out)->mark = mark;
    return OK;
}

// An edge that goes over the network.
typedef struct {
    Output edge;
    int32_t frame;
    const Device *from, *to;
    Str name;
} Crossing;

// Nothing reads a Send: keep_home and the workers' GraphDefs hold them as targets, or dead-code elimination would take
// them. Who sends in a loop whose condition is elsewhere goes through its iterations, even where it receives nothing else.
static Status *send(Cutting *c, const Crossing *crossing, const Node *sender) {
    AUTO(builder) NodeBuilder builder = {0};
    Node *merge = NULL, *node;
    if (crossing->frame != CUT_ROOT && c->frames.p[crossing->frame].condition->mark != sender->mark)
        TRY(cut_loop(c, crossing->frame, sender, &merge));
    TRY(cut_begin(c, &builder, STR("_Send"), sender, "_S"));
    builder_input(&builder, crossing->edge);
    if (merge)
        builder_control(&builder, merge);
    add_ends(&builder, &crossing->name, crossing->from, crossing->to);
    return cut_finish(&builder, crossing->from, crossing->edge.node->mark, &node);
}

// The shape is known on this side: without it whoever reads the Recv could not be sized before the step. Without control flow
// no value is ever dead: the receiver may then wait for it in a list (waves.c) instead of having the whole plan propagated.
static Status *receive(Cutting *c, const Crossing *crossing, const Node *sender, const Node *reader, Node **out) {
    AUTO(builder) NodeBuilder builder = {0};
    Node *merge;
    TRY(cut_loop(c, crossing->frame, reader, &merge));
    TRY(cut_begin(c, &builder, STR("_Recv"), sender, "_R"));
    builder_attr(&builder, STR("tensor_type"), &ATTR_OF_TYPE(output_base_type(crossing->edge)));
    add_ends(&builder, &crossing->name, crossing->from, crossing->to);
    if (c->alive)
        builder_attr(&builder, STR("_alive"), &ATTR_OF_BOOL(true));
    if (merge)
        builder_control(&builder, merge);
    TRY(cut_finish(&builder, crossing->to, reader->mark, out));
    (*out)->output_shapes[0] = crossing->edge.node->output_shapes[crossing->edge.index];
    return OK;
}

// `sender` is what the two are named after.
static Status *receive_and_send(Cutting *c, Output edge, int32_t frame, const Node *sender, const Node *reader, Str key,
                                Node **out) {
    Crossing crossing = {
        .edge = edge, .frame = frame, .from = cut_host(c, edge.node->placed), .to = cut_host(c, reader->placed),
        .name = str_format(&c->arena, "edge_%d_%.*s", c->edges++, STR_ARGS(sender->name)),
    };
    NEED_MEMORY(crossing.name.p);
    TRY(receive(c, &crossing, sender, reader, out));
    NEED_MEMORY(map_set(&c->received, key, *out));
    return send(c, &crossing, sender);
}

// Made for the first reader of a task, shared by the rest. What can't be cut is an error here, where both devices are known:
// later it would be a step that hangs.
Status *cut_cross(Cutting *c, Output edge, const Node *reader, Node **out) {
    Str key = str_format(&c->arena, "%d:%d;%d", edge.node->id, edge.index, reader->mark);
    NEED_MEMORY(key.p);
    *out = map_find(&c->received, key);
    if (*out)
        return OK;
    NEED(output_base_type(edge) != DT_resource, INVALID_ARGUMENT, "{{node %.*s}} (%.*s): it is on %s, but the resource that "
         "it reads, '%.*s', is on %s, and resources stay on their task", NODE_ARGS(reader), reader->placed->name,
         STR_ARGS(edge.node->name), edge.node->placed->name);
    return receive_and_send(c, edge, cut_frame(c, edge.node), edge.node, reader, key, out);
}

// The network carries values, so a control edge becomes one of no bytes, as in TensorFlow (a Const of float and shape [0],
// with a control edge).
Status *cut_token(Cutting *c, const Node *like, Node *before, const Device *device, int32_t mark, Output *out) {
    Tensor none;
    TRY(tensor_new(DT_float, SHAPE(0), &none));
    AttrValue value = {.kind = ATTR_TENSOR, .tensor = &none};
    AUTO(builder) NodeBuilder builder = {0};
    Node *node = NULL;
    Status *status = cut_begin(c, &builder, STR("Const"), like, "_C");
    if (!status) {
        builder_attr(&builder, STR("value"), &value);
        builder_attr(&builder, STR("dtype"), &ATTR_OF_TYPE(DT_float));
        if (before)
            builder_control(&builder, before);
        status = cut_finish(&builder, device, mark, &node);
    }
    tensor_clear(&none);
    TRY(status);
    *out = (Output){node, 0};
    return OK;
}

// The reader waits for the Recv as it waited for `before`: a control edge may come from any node.
static Status *cross_control(Cutting *c, Node *before, const Node *reader, Node **out) {
    Str key = str_format(&c->arena, "^%d;%d", before->id, reader->mark);
    NEED_MEMORY(key.p);
    *out = map_find(&c->received, key);
    if (*out)
        return OK;
    Output edge;
    TRY(cut_token(c, before, before, cut_host(c, before->placed), before->mark, &edge));
    return receive_and_send(c, edge, cut_frame(c, before), before, reader, key, out);
}

// A removed control leaves its place to the next; the Recv in its stead comes at the end, where it is of this task.
static Status *cut_node(Cutting *c, Node *node) {
    Node *other;
    for (int in = 0; in < node->n_inputs; in++) {
        if (node->inputs[in].node->mark == node->mark)
            continue;
        TRY(cut_cross(c, node->inputs[in], node, &other));
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

// The last: what the others are needed for.
static Str some_node(const Graph *graph, int32_t mark) {
    Str name = {0};
    for (size_t i = 0; i < graph->nodes.n; i++)
        if (graph->nodes.p[i] && graph->nodes.p[i]->mark == mark && graph->nodes.p[i]->origin)
            name = graph->nodes.p[i]->origin->name;
    return name;
}

// All parts before any leaves: a part's GraphDef names devices in full, as a worker of another process must read them.
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
        part->node = some_node(draft->graph, (int32_t)t + 1);
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
        TRY(cut_find_loops(c));
    // Sends and Recvs come behind these and are cut already.
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
    vec_clear(&c.frames);
    arena_clear(&c.arena);
    return status;
}
