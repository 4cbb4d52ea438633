// Plans of the C interface — see millrace/millrace.h: what a session would run, in which order and memory.
#include <stdio.h>
#include <stdlib.h>

#include "api/tf/session.h"
#include "millrace/millrace.h"
#include "plan/specialisation.h"

struct mr_plan {
    Plan *plan;
    Specialisation *specialisation;       // NULL: nothing is known of the feeds' shapes
    Arena arena;        // names with a NUL behind them
    const char **feeds; // the edges fed
};

static const char *text_of(const mr_plan *plan, Str text) {
    Arena *arena = (Arena *)&plan->arena;
    const char *copy = arena_copy(arena, text.p, text.n);
    return copy ? copy : "";
}

// "a" or "a:1"
static const char *edge_name(const mr_plan *plan, const Node *node, int output) {
    const char *name = text_of(plan, node->name);
    size_t room = strlen(name) + 12;
    char *edge = output > 0 ? arena_alloc((Arena *)&plan->arena, room) : NULL;
    if (edge)
        snprintf(edge, room, "%s:%d", name, output);
    return edge ? edge : name;
}

static Status *name_feeds(mr_plan *plan, const TF_Output *edges, int n) {
    NEED_MEMORY(plan->feeds = ARENA_ARRAY(&plan->arena, const char *, n));
    for (int i = 0; i < n; i++)
        plan->feeds[i] = edge_name(plan, (const Node *)(const void *)edges[i].oper, edges[i].index);
    return OK;
}

static Status *plan(TF_Session *session, const TF_Output *inputs, TF_Tensor *const *values, int ninputs,
                    const TF_Output *outputs, int noutputs, const TF_Operation *const *targets, int ntargets,
                    mr_plan *out) {
    StepSignature signature;
    TRY(session_signature(session, inputs, ninputs, outputs, noutputs, targets, ntargets, &signature));
    TRY(session_plan(session->session, &signature, &out->plan));
    TRY(name_feeds(out, inputs, ninputs));
    const Tensor **feeds = ARENA_ARRAY(&out->arena, const Tensor *, ninputs);
    NEED_MEMORY(feeds);
    // What a queue will give has no shape yet.
    bool all = (values != NULL || ninputs == 0) && !out->plan->n_awaited;
    for (int i = 0; i < ninputs && all; i++) {
        all = values[i] != NULL;
        feeds[i] = all ? &values[i]->tensor : NULL;
    }
    return all && !out->plan->propagated ? specialisation_make(out->plan, feeds, NULL, &out->specialisation) : OK;
}

mr_plan *mr_plan_new(TF_Session *session, const TF_Output *inputs, TF_Tensor *const *values, int ninputs,
                     const TF_Output *outputs, int noutputs, const TF_Operation *const *targets, int ntargets,
                     TF_Status *status) {
    mr_plan *out = calloc(1, sizeof *out);
    Status *error = out ? plan(session, inputs, values, ninputs, outputs, noutputs, targets, ntargets, out)
                        : OUT_OF_MEMORY;
    if (!api_failed(status, error))
        return out;
    mr_plan_delete(out);
    return NULL;
}

void mr_plan_delete(mr_plan *plan) {
    if (!plan)
        return;
    if (plan->specialisation)
        specialisation_release(plan->specialisation);
    if (plan->plan)
        plan_release(plan->plan);
    arena_clear(&plan->arena);
    free(plan);
}

// Only what the caller's struct has room for, behind its size.
static void give(void *out, const void *from, size_t size) {
    size_t room;
    memcpy(&room, out, sizeof room);
    if (room > size)
        room = size;
    if (room > sizeof room)
        memcpy((char *)out + sizeof room, (const char *)from + sizeof room, room - sizeof room);
}

static bool is_listed(const Plan *plan, int32_t i) {
    return plan->nodes[i].flow != FLOW_ARG;  // a feed
}

// What a step allocates besides its arena and what it lays out anew, where that can be known.
static void count_step(const Plan *plan, const Specialisation *specialisation, mr_plan_info *info) {
    for (int32_t i = 0; i < specialisation->n_run; i++) {
        const PlanNode *p = &plan->nodes[specialisation->run[i]];
        if (specialisation->modes[specialisation->run[i]] == NODE_DYNAMIC) {
            info->num_dynamic++;
            continue;
        }
        int64_t reordered = specialisation->prepared[specialisation->run[i]].making->reordered;
        info->num_reorders += reordered > 0;
        info->reordered_bytes += reordered;
        for (int32_t slot = p->out; slot < p->out + p->binding.n_out; slot++) {
            size_t bytes;
            if (specialisation->offsets[slot] != IN_NO_ARENA || plan->slots[slot].root != slot)
                continue;
            Status *unknown = shape_bytes(&specialisation->shapes[slot], plan->slots[slot].dtype, &bytes);
            info->own_bytes += unknown ? 0 : (int64_t)bytes;
            status_free(unknown);
        }
    }
}

void mr_plan_get_info(const mr_plan *plan, mr_plan_info *out) {
    mr_plan_info info = {.is_propagated = plan->plan->propagated, .is_specialised = plan->specialisation != NULL};
    for (int32_t i = 0; i < plan->plan->n_nodes; i++)
        info.num_nodes += is_listed(plan->plan, i);
    info.num_run = plan->specialisation ? (size_t)plan->specialisation->n_run : info.num_nodes;
    if (plan->specialisation) {
        for (int32_t m = 0; m < plan->plan->n_memories; m++) {
            info.arena_bytes += (int64_t)plan->specialisation->packed[m].bytes;
            info.lower_bound += (int64_t)plan->specialisation->packed[m].lower_bound;
        }
        info.num_recomputed = (size_t)plan->specialisation->n_recomputed;
        info.recompute_saves = (int64_t)plan->specialisation->recompute_saves;
        count_step(plan->plan, plan->specialisation, &info);
    }
    give(out, &info, sizeof info);
}

// A node of the plan or of a loop in it: behind the loop's own comes what it computes once, then its body.
typedef struct {
    const Plan *plan;
    int32_t node;
    int depth;
} Place;

static bool find_place(const Plan *plan, int depth, size_t *index, Place *out) {
    for (int32_t i = 0; plan && i < plan->n_nodes; i++) {
        if (!is_listed(plan, i))
            continue;
        if ((*index)-- == 0) {
            *out = (Place){plan, i, depth};
            return true;
        }
        if (plan->nodes[i].flow != FLOW_LOOP)
            continue;
        const PlanLoop *loop = &plan->loops[plan->nodes[i].child];
        if (find_place(loop->lasting, depth + 1, index, out) || find_place(loop->body, depth + 1, index, out))
            return true;
    }
    return false;
}

// The name of what gives that slot its value; "" for what a loop hands its body.
static const char *slot_name(const mr_plan *handle, const Plan *plan, int32_t slot) {
    int32_t i = plan->slots[slot].producer;
    if (i >= 0 && is_listed(plan, i))
        return edge_name(handle, plan->nodes[i].binding.node, slot - plan->nodes[i].out);
    for (int32_t f = 0; plan == handle->plan && f < plan->n_feeds; f++)
        if (plan->feeds[f].slot == slot)
            return handle->feeds[f];
    return "";
}

static void give_inputs(const mr_plan *handle, const Plan *plan, const PlanNode *p, mr_plan_node *out) {
    const char **names = ARENA_ARRAY((Arena *)&handle->arena, const char *, p->binding.n_in);
    for (int i = 0; names && i < p->binding.n_in; i++)
        names[i] = slot_name(handle, plan, plan->in_slots[p->in + i]);
    out->inputs = names;
    out->num_inputs = names ? p->binding.n_in : 0;
}

int mr_plan_node_at(const mr_plan *handle, size_t index, mr_plan_node *out) {
    Place place;
    if (!find_place(handle->plan, 0, &index, &place))
        return 0;
    const Plan *plan = place.plan;
    const Specialisation *specialisation = place.depth ? NULL : handle->specialisation;
    int32_t i = place.node;
    const PlanNode *p = &plan->nodes[i];
    const Node *node = p->binding.node;
    mr_plan_node info = {.name = text_of(handle, node->name),
                         .op = text_of(handle, node->type->name),
                         .device = p->binding.device ? p->binding.device->name : "",
                         .num_outputs = p->binding.n_out,
                         .mode = specialisation ? (mr_node_mode)specialisation->modes[i] : MR_NODE_DYNAMIC,
                         .offset = -1,
                         .depth = place.depth};
    for (int o = 0; o < p->binding.n_out; o++) {
        int32_t slot = p->out + o;
        if (p->constant)
            info.mode = MR_NODE_KNOWN;
        size_t bytes;
        Status *unknown = specialisation && shape_is_known(&specialisation->shapes[slot])
                              ? shape_bytes(&specialisation->shapes[slot], plan->slots[slot].dtype, &bytes)
                              : API_ERROR(UNKNOWN, "no shape");
        info.bytes = unknown || info.bytes < 0 ? -1 : info.bytes + (int64_t)bytes;
        status_free(unknown);
    }
    if (specialisation && p->binding.n_out && specialisation->offsets[p->out] != IN_NO_ARENA)
        info.offset = specialisation->offsets[p->out];
    if (specialisation && specialisation->prepared[i].making) {
        info.implementation = specialisation->prepared[i].making->implementation;
        info.reordered_bytes = specialisation->prepared[i].making->reordered;
    }
    if (out->struct_size > offsetof(mr_plan_node, inputs))
        give_inputs(handle, plan, p, &info);
    give(out, &info, sizeof info);
    return 1;
}
