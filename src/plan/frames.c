// Frames — see frames.h. A node runs in the frame of its inputs; Enter leads into a child frame, Exit out of it.
//
// Which frame a node is in is a constant of the plan, and so are the frame's nodes and slots, numbered from 0: an
// iteration is one block of memory that begins as a copy of a template, and nothing is looked up by name while a step
// runs. A node whose inputs come from different frames is refused here, as by TensorFlow's executor.
#include <stdlib.h>

#include "base/murmur.h"
#include "base/vec.h"
#include "plan/frames.h"

// Limits of what a hostile graph may ask for: each frame has arrays in every step, and the depth is walked.
enum { NO_FRAME = -1, MAX_FRAMES = 1 << 16, MAX_NESTING = 256 };

typedef VEC(PlanFrame) FrameVec;

typedef struct {
    Plan *plan;
    FrameVec frames;
    Map by_name;      // "parent/name" -> frame + 1
    Arena arena;      // of its keys
    int32_t *lands;   // by node: the frame where its outputs are
} Framing;

// Nodes that Enter by one name out of one frame enter the same one: as in TensorFlow, the parent is part of the name.
static Status *enter_frame(Framing *f, const Node *enter, int32_t parent, int32_t *out) {
    Str name = str_format(&f->arena, "%d/%.*s", parent, STR_ARGS(node_str(enter, "frame_name")));
    NEED_MEMORY(name.p);
    intptr_t found = (intptr_t)map_find(&f->by_name, name);
    if (found) {
        *out = (int32_t)found - 1;
        return OK;
    }
    NEED(f->frames.n < MAX_FRAMES, RESOURCE_EXHAUSTED, "{{node %.*s}} (%.*s): more than %d loops", NODE_ARGS(enter),
         MAX_FRAMES);
    int depth = 0;
    for (int32_t i = parent; i; i = f->frames.p[i].parent)
        depth++;
    NEED(depth < MAX_NESTING, RESOURCE_EXHAUSTED, "{{node %.*s}} (%.*s): loops nest more than %d deep",
         NODE_ARGS(enter), MAX_NESTING);
    // The window: iterations that may be in flight at once. TensorFlow's Python asks for 10; 1024 bounds the memory.
    int64_t parallel = node_int(enter, "parallel_iterations");
    PlanFrame frame = {
        .name_hash = murmur_hash(node_str(enter, "frame_name")), .parent = parent, .child_index = f->frames.p[parent].n_children++,
        .parallel = parallel < 1 ? 1 : parallel > 1024 ? 1024 : (int32_t)parallel,
    };
    NEED_MEMORY(vec_push(&f->frames, frame) && map_set(&f->by_name, name, (void *)(intptr_t)f->frames.n));
    *out = (int32_t)f->frames.n - 1;
    return OK;
}

// Inputs come before the node in the order, so their frames are known; a NextIteration comes behind its Merge and is
// looked at afterwards (check_back_edges).
static Status *frame_of_inputs(Framing *f, int32_t i, int32_t *out) {
    Plan *plan = f->plan;
    const Node *node = plan->nodes[i].binding.node;
    int32_t frame = NO_FRAME;
    for (int in = 0; in < node->n_inputs + node->n_controls; in++) {
        const Node *from = in < node->n_inputs ? node->inputs[in].node : node->controls[in - node->n_inputs];
        if (from->mark < 0 || from->mark >= i)
            continue;  // a back edge, or a node outside the plan
        int32_t lands = f->lands[from->mark];
        NEED(frame == NO_FRAME || frame == lands, INVALID_ARGUMENT,
             "{{node %.*s}} (%.*s): its inputs come from different frames (input %d from '%.*s'); an edge into a loop "
             "must go through Enter", NODE_ARGS(node), in, STR_ARGS(from->name));
        frame = lands;
    }
    *out = frame == NO_FRAME ? 0 : frame;
    return OK;
}

// An Exit takes part in the loop's frame and gives its value to the parent's, an Enter the other way round: `frame` is
// where a node runs, `lands` where its outputs are read.
static Status *place_node(Framing *f, int32_t i) {
    PlanNode *p = &f->plan->nodes[i];
    const Node *node = p->binding.node;
    TRY(frame_of_inputs(f, i, &p->frame));
    f->lands[i] = p->frame;
    if (p->flow == FLOW_ENTER) {
        TRY(enter_frame(f, node, p->frame, &p->child));
        p->constant_enter = node_bool(node, "is_constant");
        f->frames.p[p->child].enters++;
        f->frames.p[p->child].n_constants += p->constant_enter;
        f->lands[i] = p->child;
    } else if (p->flow == FLOW_EXIT) {
        NEED(p->frame != 0, INVALID_ARGUMENT, "{{node %.*s}} (%.*s): is not in a loop", NODE_ARGS(node));
        p->child = p->frame;
        f->frames.p[p->frame].n_exits++;
        f->lands[i] = f->frames.p[p->frame].parent;
    } else if (p->flow == FLOW_NEXT) {
        NEED(p->frame != 0, INVALID_ARGUMENT, "{{node %.*s}} (%.*s): is not in a loop", NODE_ARGS(node));
        p->child = p->frame;
    } else if (p->flow == FLOW_MERGE) {
        for (int in = 0; in < node->n_inputs; in++)
            p->merges[node_flow(node->inputs[in].node) == FLOW_NEXT]++;
        if (p->merges[1] == 0)
            p->merges[1] = p->merges[0];  // not a loop's: whatever the iteration, every input can come
    }
    f->frames.p[p->frame].n_nodes++;
    return OK;
}

// What NextIteration gives stays in its loop: a Merge of another frame would look for it in iterations that it isn't
// in.
static Status *check_back_edges(const Framing *f, int32_t i) {
    const PlanNode *p = &f->plan->nodes[i];
    const Node *node = p->binding.node;
    for (int in = 0; in < node->n_inputs && p->flow == FLOW_MERGE; in++) {
        const Node *from = node->inputs[in].node;
        NEED(f->lands[from->mark] == p->frame, INVALID_ARGUMENT,
             "{{node %.*s}} (%.*s): its inputs come from different frames (input %d from '%.*s' (%.*s)); an edge into a "
             "loop must go through Enter, one out of it through Exit", NODE_ARGS(node), in, NODE_ARGS(from));
    }
    return OK;
}

// The lists of a frame, and how its iterations begin, still empty.
// Slots and states lie side by side: they are what one memcpy copies when an iteration begins.
static Status *frame_arrays(Plan *plan, PlanFrame *frame) {
    size_t slots = (size_t)frame->n_slots, nodes = (size_t)frame->n_nodes;
    frame->nodes = ARENA_ARRAY(&plan->arena, int32_t, nodes);
    frame->exits = ARENA_ARRAY(&plan->arena, int32_t, frame->n_exits);
    frame->constants = ARENA_ARRAY(&plan->arena, int32_t, frame->n_constants);
    frame->slots = arena_alloc(&plan->arena, slots * sizeof *frame->slots + nodes * sizeof *frame->states);
    NEED_MEMORY(frame->nodes && frame->exits && frame->constants && frame->slots);
    frame->states = (IterationNode *)(frame->slots + slots);
    frame->n_nodes = frame->n_slots = frame->n_exits = frame->n_constants = 0;
    return OK;
}

// A Merge waits for one input, not for all, so its inputs don't count among the pending; its controls do.
static void fill_node(Plan *plan, int32_t i, PlanFrame *lands) {
    PlanNode *p = &plan->nodes[i];
    const Node *node = p->binding.node;
    PlanFrame *frame = &plan->frames[p->frame];
    int32_t pending = node->n_controls + (p->flow == FLOW_MERGE ? 0 : node->n_inputs);
    p->place = frame->n_nodes;
    frame->states[frame->n_nodes] = (IterationNode){.pending = pending, .came = -1};
    frame->nodes[frame->n_nodes++] = i;
    // Nodes that a step begins with. The _Args of a partial run begin when they are fed.
    if (p->frame == 0 && pending == 0 && p->flow != FLOW_MERGE && !(p->flow == FLOW_ARG && plan->partial))
        plan->roots[plan->n_roots++] = i;
    if (p->flow == FLOW_EXIT) {
        p->position = frame->n_exits++;
        frame->exits[p->position] = i;
    }
    if (p->constant_enter) {
        p->position = plan->frames[p->child].n_constants++;
        plan->frames[p->child].constants[p->position] = i;
    }
    p->out_place = lands->n_slots;
    for (int out = 0; out < p->binding.n_out; out++) {
        PlanSlot *slot = &plan->slots[p->out + out];
        slot->frame = (int32_t)(lands - plan->frames);
        slot->place = lands->n_slots++;
        lands->slots[slot->place].readers = slot->readers;
    }
}

static Status *fill_frames(Framing *f) {
    Plan *plan = f->plan;
    plan->n_frames = (int32_t)f->frames.n;
    plan->frames = ARENA_ARRAY(&plan->arena, PlanFrame, f->frames.n);
    plan->in_places = ARENA_ARRAY(&plan->arena, int32_t, plan->n_in_slots);
    plan->roots = ARENA_ARRAY(&plan->arena, int32_t, plan->n_nodes);
    NEED_MEMORY(plan->frames && plan->in_places && plan->roots);
    for (int32_t i = 0; i < plan->n_nodes; i++)
        f->frames.p[f->lands[i]].n_slots += plan->nodes[i].binding.n_out;
    for (size_t i = 0; i < f->frames.n; i++) {
        plan->frames[i] = f->frames.p[i];
        TRY(frame_arrays(plan, &plan->frames[i]));
    }
    for (int32_t i = 0; i < plan->n_nodes; i++)
        fill_node(plan, i, &plan->frames[f->lands[i]]);
    for (int32_t i = 0; i < plan->n_in_slots; i++)
        plan->in_places[i] = plan->slots[plan->in_slots[i]].place;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        for (int32_t e = 0; e < plan->nodes[i].n_edges; e++) {
            PlanEdge *edge = &plan->edges[plan->nodes[i].edges + e];
            edge->place = plan->nodes[edge->node].place;
            edge->flow = plan->nodes[edge->node].flow;
        }
    }
    // A value inside a loop has one instance for each iteration; which one to give nobody could say.
    for (int i = 0; i < plan->n_fetches; i++)
        NEED(plan->slots[plan->fetches[i].slot].frame == 0, INVALID_ARGUMENT,
             "{{node %.*s}} (%.*s): can't be fetched from inside a loop",
             NODE_ARGS(plan->nodes[plan->slots[plan->fetches[i].slot].producer].binding.node));
    return OK;
}

static Status *find(Framing *f) {
    NEED_MEMORY(f->lands && vec_push(&f->frames, (PlanFrame){.parallel = 1}));
    for (int32_t i = 0; i < f->plan->n_nodes; i++)
        TRY(place_node(f, i));
    for (int32_t i = 0; i < f->plan->n_nodes; i++)
        TRY(check_back_edges(f, i));
    return fill_frames(f);
}

Status *frames_find(Plan *plan) {
    Framing framing = {.plan = plan, .lands = malloc(((size_t)plan->n_nodes + 1) * sizeof(int32_t))};
    Status *status = find(&framing);
    free(framing.lands);
    vec_clear(&framing.frames);
    map_clear(&framing.by_name);
    arena_clear(&framing.arena);
    return status;
}
