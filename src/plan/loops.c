// Loops, which — see loops.h: finds the frames of a graph and looks at each whether it is a straight loop.
//
// The innermost first: when they have become nodes, the loops around them may be straight too. A loop that isn't stays
// as it is, and is run by propagation.
#include <stdlib.h>

#include "plan/loops.h"
#include "plan/rewrite/rewrite.h"

// The limits of frames.c again; a round raises one level of nesting.
// The limit of frames.c again; a round raises one level of nesting, and what is deeper is propagated.
enum { MOST_FRAMES = 1 << 16, MOST_ROUNDS = 64 };

// ---- frames

static int32_t find_frame(Raising *r, Node *enter, int32_t parent) {
    Str name = node_str(enter, "frame_name");
    for (size_t i = r->frames.n; i-- > 1;)
        if (r->frames.p[i].parent == parent && str_equal(node_str(r->frames.p[i].enter, "frame_name"), name))
            return (int32_t)i;
    if (r->frames.n >= MOST_FRAMES || !vec_push(&r->frames, (LoopFrame){.parent = parent, .enter = enter,
                                                                        .straight = true}))
        return -1;
    r->frames.p[parent].children++;
    return (int32_t)r->frames.n - 1;
}

// False: no frames by the book (inputs of different frames, Exit outside of a loop). The graph is left as it is, and
// frames.c, which comes later, says why.
static bool find_frames(Raising *r, int32_t *lands) {
    if (!vec_push(&r->frames, (LoopFrame){0}))
        return false;
    for (size_t i = 0; i < r->n; i++) {
        Node *node = r->order[i];
        int32_t frame = -1;
        for (int in = 0; in < node->n_inputs + node->n_controls; in++) {
            const Node *from = in < node->n_inputs ? node->inputs[in].node : node->controls[in - node->n_inputs];
            if (from->mark >= (int32_t)i)
                continue;  // a back edge
            int32_t own = from->mark < 0 ? 0 : lands[from->mark];
            if (frame >= 0 && frame != own)
                return false;
            frame = own;
        }
        frame = frame < 0 ? 0 : frame;
        r->nodes[i] = (LoopedNode){.node = node, .frame = frame};
        lands[i] = frame;
        if (node_flow(node) == FLOW_ENTER)
            lands[i] = find_frame(r, node, frame);
        else if (node_flow(node) == FLOW_EXIT)
            lands[i] = frame ? r->frames.p[frame].parent : -1;
        if (lands[i] < 0)
            return false;
        if (node_flow(node) == FLOW_ENTER)
            r->nodes[i].frame = lands[i];  // among the loop's nodes
    }
    return true;
}

// A counting sort: it is stable, so each frame's nodes keep the order of the graph, in which the halves are found and
// the drafts are written.
static void sort_by_frame(Raising *r) {
    for (size_t i = 0; i < r->n; i++)
        r->frames.p[r->nodes[i].frame].n++;
    int32_t at = 0;
    for (size_t f = 0; f < r->frames.n; f++) {
        r->frames.p[f].first = at;
        at += r->frames.p[f].n;
        r->frames.p[f].n = 0;
    }
    for (size_t i = 0; i < r->n; i++) {
        LoopFrame *frame = &r->frames.p[r->nodes[i].frame];
        r->by_frame[frame->first + frame->n++] = (int32_t)i;
    }
}

// ---- whether one is straight

static bool in_frame(const Raising *r, const Node *node, const LoopFrame *frame) {
    return node->mark >= 0 && &r->frames.p[r->nodes[node->mark].frame] == frame;
}

// A loop variable is Merge(Enter, NextIteration). Which of the two came (output 1) nobody may ask: a list can't tell.
static bool is_variable(const Raising *r, const Node *merge, const LoopFrame *frame) {
    if (merge->n_inputs != 2 || merge->n_controls)
        return false;
    int enters = 0, nexts = 0;
    for (int i = 0; i < 2; i++) {
        const Node *from = merge->inputs[i].node;
        enters += node_flow(from) == FLOW_ENTER && !node_bool(from, "is_constant") && in_frame(r, from, frame);
        nexts += node_flow(from) == FLOW_NEXT && in_frame(r, from, frame);
    }
    for (size_t i = 0; i < merge->uses.n; i++)
        if (merge->uses.p[i].index == 1)
            return false;
    return enters == 1 && nexts == 1;
}

// The Switch of a variable by the loop's one condition. Its true side is the body's; what leaves by the other side
// leaves the loop, and only variables do: any other value of the last iteration would have to be kept for it.
static bool is_gate(const Raising *r, const Node *gate, const LoopFrame *frame) {
    if (gate->n_inputs != 2 || gate->n_outputs != 2 || gate->inputs[1].node != frame->cond)
        return false;
    for (size_t i = 0; i < gate->uses.n; i++)
        if (gate->uses.p[i].index == 0 &&
            (node_flow(gate->uses.p[i].node) != FLOW_EXIT || node_flow(gate->inputs[0].node) != FLOW_MERGE))
            return false;
    return in_frame(r, gate->inputs[0].node, frame);
}

// A NextIteration that others read or wait for takes part in two iterations.
static bool only_merges_read(const Raising *r, const Node *node, const LoopFrame *frame) {
    for (size_t i = 0; i < node->uses.n; i++)
        if (node->uses.p[i].index == CONTROL || node_flow(node->uses.p[i].node) != FLOW_MERGE ||
            !in_frame(r, node->uses.p[i].node, frame))
            return false;
    return true;
}

// One device, since a list of a body has no place for copies between memories; nothing that blocks or is started, since
// a step would hold the caller's thread for all iterations; no reference, as updates of one are seen by later reads in
// an order that only propagation keeps.
static bool is_ordinary(const Node *node, const LoopFrame *frame) {
    const Op *op = node_op(node);
    if (!op || !looped_is_ordinary(node) || op->start || (op->flags & OP_BLOCKS) || node->is_target)
        return false;
    if (!node->placed || !node->placed->type->host || node->placed != frame->cond->placed)
        return false;
    for (int i = 0; i < node->n_outputs; i++)
        if (dtype_is_ref(node->output_types[i]))
            return false;
    return true;
}

// Fed and fetched edges need no check: their _Arg and _Retval are outside of every frame, so an edge of the loop that
// is fed isn't there, and one that is fetched was refused.
static bool fits(const Raising *r, const Node *node, LoopFrame *frame) {
    if (node->n_outputs && dtype_is_ref(node->output_types[0]))
        return false;
    switch (node_flow(node)) {
    case FLOW_ENTER: {
        bool constant = node_bool(node, "is_constant");
        for (size_t i = 0; i < node->uses.n && !constant; i++)
            if (node_flow(node->uses.p[i].node) != FLOW_MERGE)
                return false;
        return !node->is_target;
    }
    case FLOW_MERGE:
        frame->variables++;
        return is_variable(r, node, frame) && !node->is_target;
    case FLOW_SWITCH:
        return is_gate(r, node, frame) && !node->is_target;
    case FLOW_NEXT:
        return only_merges_read(r, node, frame) && !node->is_target;
    case FLOW_EXIT: {
        Output from = node->inputs[0];
        return node_flow(from.node) == FLOW_SWITCH && from.index == 0 && in_frame(r, from.node, frame);
    }
    case FLOW_LOOP_COND:
        return !node->is_target;
    default:
        return is_ordinary(node, frame);
    }
}

static bool has_state(const Node *node) {
    const Op *op = node_op(node);
    return node_is_stateful(node) || op->open || op->update || op->replace || op->read;
}

// Which half of an iteration a node belongs to: before the Switches (the condition's, which also runs when the loop
// ends) or behind them (the body's). Rotation runs the condition's half once before the loop and then at the end of
// each body, so what the body reads of it is computed a second time: not where it has a state or reads what has
// ("tainted"), as a random number drawn twice is two numbers. False there, and where the condition depends on the body.
static bool find_halves(Raising *r, LoopFrame *frame) {
    for (int32_t i = 0; i < frame->n; i++) {
        LoopedNode *looped = &r->nodes[r->by_frame[frame->first + i]];
        Node *node = looped->node;
        if (node_flow(node) == FLOW_ENTER || node_flow(node) == FLOW_MERGE)
            continue;
        bool ordinary = looped_is_ordinary(node), taints = ordinary && has_state(node);
        for (int in = 0; in < node->n_inputs + node->n_controls; in++) {
            bool data = in < node->n_inputs;
            Output from = data ? node->inputs[in] : (Output){node->controls[in - node->n_inputs], CONTROL};
            const LoopedNode *before = &r->nodes[from.node->mark];
            bool gate = node_flow(from.node) == FLOW_SWITCH;
            looped->body |= before->body || (gate && from.index == 1);
            taints |= data && before->tainted;
        }
        if (node_flow(node) == FLOW_SWITCH || node_flow(node) == FLOW_LOOP_COND) {
            if (looped->body)
                return false;
            looped->tainted = taints;
            continue;
        }
        if (node_flow(node) == FLOW_NEXT && !looped->body)
            return false;  // it would go on for ever
        looped->tainted = taints && !looped->body;
        for (int in = 0; in < node->n_inputs && looped->body; in++)
            if (r->nodes[node->inputs[in].node->mark].tainted)
                return false;
    }
    return true;
}

// Frames are by name: two loops that share a name out of one frame would have two conditions.
static bool is_straight(Raising *r, LoopFrame *frame) {
    if (frame->children)
        return false;
    for (int32_t i = 0; i < frame->n; i++) {
        Node *node = r->nodes[r->by_frame[frame->first + i]].node;
        if (node_flow(node) != FLOW_LOOP_COND)
            continue;
        if (frame->cond)
            return false;
        frame->cond = node;
    }
    if (!frame->cond)
        return false;
    for (int32_t i = 0; i < frame->n; i++)
        if (!fits(r, r->nodes[r->by_frame[frame->first + i]].node, frame))
            return false;
    return frame->variables > 0 && find_halves(r, frame);
}

// ---- rounds

// One level at a time. Marks are places in the order, -1 outside of it, as what is written below adds nodes.
// One level at a time. Marks are places in the order, -1 outside of it, as what is written below adds nodes.
static Status *raise_innermost(Raising *r, int32_t *lands, bool *out_any) {
    TRY(graph_order(r->draft->graph, r->order, &r->n));
    for (size_t i = 0; i < r->draft->graph->nodes.n; i++)
        if (r->draft->graph->nodes.p[i])
            r->draft->graph->nodes.p[i]->mark = -1;
    for (size_t i = 0; i < r->n; i++)
        r->order[i]->mark = (int32_t)i;
    if (!find_frames(r, lands) || r->frames.n == 1)
        return OK;
    sort_by_frame(r);
    for (size_t f = 1; f < r->frames.n; f++) {
        if (!is_straight(r, &r->frames.p[f]))
            continue;
        TRY(loop_write(r, &r->frames.p[f]));
        *out_any = true;
    }
    return OK;
}

// The arrays are made anew in each round: the graph has changed.
static Status *raise_round(Draft *draft, bool *out_any) {
    size_t most = draft->graph->nodes.n + 1;
    Raising r = {.draft = draft, .order = malloc(most * sizeof *r.order), .nodes = malloc(most * sizeof *r.nodes),
                 .by_frame = malloc(most * sizeof *r.by_frame)};
    int32_t *lands = malloc(most * sizeof *lands);
    Status *status = r.order && r.nodes && r.by_frame && lands
                         ? raise_innermost(&r, lands, out_any)
                         : OUT_OF_MEMORY;
    free(r.order);
    free(r.nodes);
    free(r.by_frame);
    free(lands);
    vec_clear(&r.frames);
    return status;
}

static bool has_loops(const Draft *draft) {
    for (size_t i = 0; i < draft->graph->nodes.n; i++)
        if (draft->graph->nodes.p[i] && node_flow(draft->graph->nodes.p[i]) == FLOW_LOOP_COND)
            return true;
    return false;
}

// What was around a loop that has become a node may now be part of a plan without control flow, of which control_prune,
// folding and the rest may ask more than of one with it.
static Status *tidy(Draft *draft) {
    uint32_t passes = draft->options->passes;
    TRY(pass_dead_code(draft));
    if (passes & BIT(PASS_CONTROL))
        TRY(pass_control(draft));
    if (passes & BIT(PASS_SIMPLIFY))
        TRY(pass_simplify(draft));
    if (passes & BIT(PASS_FOLD))
        TRY(pass_fold(draft));
    if (passes & BIT(PASS_CSE))
        TRY(pass_cse(draft));
    return pass_dead_code(draft);
}

Status *pass_loops(Draft *draft) {
    bool any = has_loops(draft), raised = false;
    for (int round = 0; any && round < MOST_ROUNDS; round++) {
        any = false;
        TRY(raise_round(draft, &any));
        if (any)
            TRY(pass_dead_code(draft));
        raised |= any;
    }
    return raised ? tidy(draft) : OK;
}
