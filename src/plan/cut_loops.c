// Cut, loops — how the tasks of a loop go through its iterations together, without waiting for each other.
//
// Each task that receives inside of a loop, or sends without having its condition, runs a control loop of the same frame: an
// empty value goes round as long as the condition, which comes from where it is computed, says so. A Recv waits for the
// control loop's Merge: so it is asked for once an iteration, as soon as the one before has been decided. What a task
// sends in an iteration that isn't computed (the last, or all of a loop that isn't entered) is dead. TensorFlow's masters
// cut the same way, so workers need to know nothing of it.
//
// Enter and NextIteration give nothing in some iterations: they go, or are copied, to the tasks of their readers, and what
// crosses is what they read. So a loop's invariants cross once, not once an iteration.
#include <stdlib.h>

#include "plan/cut_internal.h"

enum { MAX_LOOPS = 1 << 16, MAX_NESTING = 256 };  // as in frames.c: depths are walked

// ---- which frame

typedef struct {
    Cutting *cutting;
    Map by_name;           // "parent/name" -> frame
} Finding;

static int32_t frame_of_inputs(const Cutting *c, const Node *node) {
    int32_t frame = CUT_ROOT;
    for (int in = 0; in < node->n_inputs + node->n_controls; in++) {
        const Node *from = in < node->n_inputs ? node->inputs[in].node : node->controls[in - node->n_inputs];
        if (frame == CUT_ROOT && node_flow(from) != FLOW_NEXT)
            frame = c->lands[from->id];
    }
    return frame;
}

static Status *enter_frame(Finding *f, const Node *enter, int32_t parent, int32_t *out) {
    Cutting *c = f->cutting;
    Str key = str_format(&c->arena, "%d/%.*s", parent, STR_ARGS(node_str(enter, "frame_name")));
    NEED_MEMORY(key.p);
    *out = (int32_t)(intptr_t)map_find(&f->by_name, key);
    if (*out)
        return OK;
    int depth = 0;
    for (int32_t i = parent; i != CUT_ROOT; i = c->frames.p[i].parent)
        depth++;
    NEED(c->frames.n < MAX_LOOPS && depth < MAX_NESTING, RESOURCE_EXHAUSTED,
         "{{node %.*s}} (%.*s): more than %d loops, or more than %d deep", NODE_ARGS(enter), MAX_LOOPS, MAX_NESTING);
    *out = (int32_t)c->frames.n;
    NEED_MEMORY(vec_push(&c->frames, ((CutFrame){parent, enter, NULL})) &&
                map_set(&f->by_name, key, (void *)(intptr_t)*out));
    return OK;
}

static Status *land(Finding *f, Node *node) {
    Cutting *c = f->cutting;
    int32_t frame = frame_of_inputs(c, node), *lands = &c->lands[node->id];
    *lands = frame;
    if (node_flow(node) == FLOW_ENTER)
        return enter_frame(f, node, frame, lands);
    if (node_flow(node) == FLOW_EXIT)
        *lands = c->frames.p[frame].parent;
    else if (node_flow(node) == FLOW_LOOP_COND && !c->frames.p[frame].condition)
        c->frames.p[frame].condition = node;
    return OK;
}

// graph_order has its own use for marks.
static Status *order_of(Cutting *c, Node ***out, size_t *out_n) {
    Graph *graph = c->draft->graph;
    size_t n = graph->nodes.n;
    Node **order = ARENA_ARRAY(&c->arena, Node *, n);
    int32_t *marks = ARENA_ARRAY(&c->arena, int32_t, n);
    NEED_MEMORY(order && marks);
    for (size_t i = 0; i < n; i++)
        marks[i] = graph->nodes.p[i] ? graph->nodes.p[i]->mark : 0;
    Status *status = graph_order(graph, order, out_n);
    for (size_t i = 0; i < n; i++)
        if (graph->nodes.p[i])
            graph->nodes.p[i]->mark = marks[i];
    *out = order;
    return status;
}

static Status *find_frames(Finding *f) {
    Cutting *c = f->cutting;
    Node **order;
    size_t n;
    c->lands = ARENA_ARRAY(&c->arena, int32_t, c->draft->graph->nodes.n);
    NEED_MEMORY(c->lands && vec_push(&c->frames, (CutFrame){0}));
    TRY(order_of(c, &order, &n));
    for (size_t i = 0; i < n; i++)
        TRY(land(f, order[i]));
    return OK;
}

// ---- what passes values on

static void move_to(const Cutting *c, Node *node, const Node *to) {
    if (node->mark == to->mark)
        return;
    node->placed = cut_host(c, to->placed);
    node->mark = to->mark;
}

// The node again, on the task of one of its readers.
static Status *copy_to(Cutting *c, Node *node, const Node *reader, Node **out) {
    Str key = str_format(&c->arena, "=%d;%d", node->id, reader->mark);
    NEED_MEMORY(key.p);
    *out = map_find(&c->received, key);
    if (*out)
        return OK;
    AUTO(builder) NodeBuilder builder = {0};
    TRY(cut_begin(c, &builder, node->type->name, node, "_L"));
    for (int32_t a = 0; a < node->n_attrs; a++)
        builder_attr(&builder, node->attrs[a].name, &node->attrs[a].value);
    builder_input(&builder, node->inputs[0]);
    for (int i = 0; i < node->n_controls; i++)
        builder_control(&builder, node->controls[i]);
    TRY(cut_finish(&builder, cut_host(c, reader->placed), reader->mark, out));
    (*out)->output_shapes[0] = node->output_shapes[0];
    NEED_MEMORY(map_set(&c->received, key, *out));
    return OK;
}

static Status *read_instead(Node *reader, int32_t input, Node *node, Node *instead) {
    if (input != CONTROL)
        return node_set_input(reader, input, (Output){instead, 0});
    for (int i = 0; i < reader->n_controls; i++)
        if (reader->controls[i] == node) {
            node_remove_control(reader, i);
            break;
        }
    return node_add_control(reader, instead);
}

static Status *go_to_readers(Cutting *c, Node *node) {
    bool read = false;
    for (uint32_t u = 0; u < node->uses.n;) {
        Use use = node->uses.p[u];
        Node *there;
        if (use.node->mark == node->mark) {
            u++;
            continue;
        }
        TRY(copy_to(c, node, use.node, &there));
        TRY(read_instead(use.node, use.input, node, there));
        read = true;
    }
    if (read && !node->uses.n && !node->is_target)
        graph_remove(node);
    return OK;
}

static Status *settle(Cutting *c, size_t n) {
    Graph *graph = c->draft->graph;
    for (size_t i = 0; i < n; i++) {
        Node *node = graph->nodes.p[i];
        Flow flow = node ? node_flow(node) : FLOW_NONE;
        if (flow == FLOW_LOOP_COND || flow == FLOW_EXIT)
            move_to(c, node, node->inputs[0].node);
    }
    // From the last to the first: what one loop enters from another is read by copies then.
    for (size_t i = n; i-- > 0;) {
        Node *node = graph->nodes.p[i];
        Flow flow = node ? node_flow(node) : FLOW_NONE;
        if (flow == FLOW_ENTER || flow == FLOW_NEXT)
            TRY(go_to_readers(c, node));
    }
    return OK;
}

Status *cut_find_loops(Cutting *c) {
    Finding finding = {.cutting = c};
    size_t n = c->draft->graph->nodes.n;
    Status *status = find_frames(&finding);
    map_clear(&finding.by_name);
    TRY(status);
    return settle(c, n);
}

// ---- control loops

static Status *add_enter(Cutting *c, const CutFrame *frame, Output first, const Device *device, int32_t mark, Node **out) {
    AUTO(builder) NodeBuilder builder = {0};
    TRY(cut_begin(c, &builder, STR("Enter"), frame->condition, "_cloop_enter"));
    builder_input(&builder, first);
    builder_attr(&builder, STR("frame_name"), &ATTR_OF_STRING(node_str(frame->enter, "frame_name")));
    builder_attr(&builder, STR("is_constant"), &ATTR_OF_BOOL(false));
    builder_attr(&builder, STR("parallel_iterations"), &ATTR_OF_INT(node_int(frame->enter, "parallel_iterations")));
    return cut_finish(&builder, device, mark, out);
}

static Status *add_node(Cutting *c, const CutFrame *frame, Str op, const Output *inputs, int n, bool list,
                        const Node *beside, Node **out) {
    AUTO(builder) NodeBuilder builder = {0};
    TRY(cut_begin(c, &builder, op, frame->condition, "_cloop"));
    if (list)
        builder_input_list(&builder, inputs, n);
    for (int i = 0; i < n && !list; i++)
        builder_input(&builder, inputs[i]);
    return cut_finish(&builder, beside->placed, beside->mark, out);
}

// Once the Merge is known, since the condition comes by a Recv that waits for it.
static Status *close_loop(Cutting *c, const CutFrame *frame, Node *merge) {
    Node *condition = frame->condition, *choice, *next;
    if (condition->mark != merge->mark)
        TRY(cut_cross(c, (Output){condition, 0}, merge, &condition));
    TRY(add_node(c, frame, STR("Switch"), (Output[]){{merge, 0}, {condition, 0}}, 2, false, merge, &choice));
    TRY(add_node(c, frame, STR("NextIteration"), (Output[]){{choice, 1}}, 1, false, merge, &next));
    return node_set_input(merge, 1, (Output){next, 0});
}

Status *cut_loop(Cutting *c, int32_t frame, const Node *at, Node **out) {
    *out = NULL;
    if (frame == CUT_ROOT)
        return OK;
    const CutFrame loop = c->frames.p[frame];
    Str key = str_format(&c->arena, "@%d;%d", frame, at->mark);
    NEED_MEMORY(key.p);
    *out = map_find(&c->received, key);
    if (*out)
        return OK;
    NEED(loop.condition, INVALID_ARGUMENT, "{{node %.*s}} (%.*s): the loop that it enters has nodes on several tasks, but "
         "no LoopCond", NODE_ARGS(loop.enter));
    const Device *device = cut_host(c, at->placed);
    Node *outer, *enter;
    Output first;
    TRY(cut_loop(c, loop.parent, at, &outer));
    if (outer)
        first = (Output){outer, 0};
    else
        TRY(cut_token(c, loop.condition, NULL, device, at->mark, &first));
    TRY(add_enter(c, &loop, first, device, at->mark, &enter));
    TRY(add_node(c, &loop, STR("Merge"), (Output[]){{enter, 0}, {enter, 0}}, 2, true, enter, out));
    NEED_MEMORY(map_set(&c->received, key, *out));
    return close_loop(c, &loop, *out);
}
