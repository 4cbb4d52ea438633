// Bind — see bind.h: the states of nodes, which outlive plans.
//
// One table by the name of a state (a node's own, or the shared one that plan_state_name gives): where its node was
// placed first, and what its op's `open` made. Both belong to the session: a variable that two plans hold is one, and a
// random stream goes on whichever plan draws from it, as in TensorFlow.
#include "session/bind.h"

#include <stdlib.h>

#include "base/cursor.h"

typedef struct {
    const Device *device;   // NULL: not placed yet
    const Op *op;
    void *state;            // NULL: not opened yet
    Str lasting;            // of a checkpoint, for when it is opened; in the arena
} NodeState;

static NodeStates *of_placed(const PlacementRecord *placed) {
    return (NodeStates *)(uintptr_t)placed;
}

static NodeStates *of_opener(StateOpener *opener) {
    return (NodeStates *)((char *)opener - offsetof(NodeStates, opener));
}

// Entries never go before the session does: executors hold pointers to the states.
static NodeState *find_or_add(NodeStates *states, Str name) REQUIRES(states->lock) {
    NodeState *state = map_find(&states->states, name);
    if (state)
        return state;
    state = ARENA_NEW(&states->arena, NodeState);
    Str key = str_copy(&states->arena, name);
    return state && key.p && map_set(&states->states, key, state) ? state : NULL;
}

// ---- where nodes were placed

// Asked by placement, which runs under the graph's lock: this lock is taken inside of that one and alone.
static const Device *device_of(const PlacementRecord *placed, Str node) {
    NodeStates *states = of_placed(placed);
    mutex_lock(&states->lock);
    const NodeState *state = map_find(&states->states, node);
    const Device *device = state ? state->device : NULL;
    mutex_unlock(&states->lock);
    return device;
}

// The first placement stays. Plans of loops hold nodes that the plan around them doesn't list.
static Status *record(NodeStates *states, const Plan *plan) REQUIRES(states->lock) {
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const Binding *binding = &plan->nodes[i].binding;
        if (!node_is_stateful(binding->node))
            continue;
        NodeState *state = find_or_add(states, plan_state_name(binding->node));
        NEED_MEMORY(state);
        if (!state->device)
            state->device = binding->device;
    }
    for (int32_t i = 0; i < plan->n_loops; i++) {
        const PlanLoop *loop = &plan->loops[i];
        TRY(record(states, loop->first));
        if (loop->lasting)
            TRY(record(states, loop->lasting));
        TRY(record(states, loop->body));
    }
    for (int32_t i = 0; i < plan->n_clusters; i++)
        TRY(record(states, plan->clusters[i].host));
    return OK;
}

Status *node_states_record(NodeStates *states, const Plan *plan) {
    mutex_lock(&states->lock);
    Status *status = record(states, plan);
    mutex_unlock(&states->lock);
    return status;
}

// ---- states

// What a checkpoint kept (a random stream's counter) takes the place of what open made. It may come before the node is
// opened, or after.
static Status *take_lasting(NodeState *state, Str name) {
    Str bytes = state->lasting;
    if (!bytes.n)
        return OK;
    NEED(bytes.n == state->op->lasting_size, INVALID_ARGUMENT, "the state of '%.*s' in the checkpoint has %zu bytes, not %u",
         STR_ARGS(name), bytes.n, state->op->lasting_size);
    memcpy((char *)state->state + state->op->lasting_at, bytes.p, bytes.n);
    state->lasting = (Str){0};
    return OK;
}

static Status *open_state(const NodeStates *states, NodeState *state, const Node *node) {
    const Op *op = node->type->op;
    void *room = calloc(1, op->state_size ? op->state_size : 1);
    NEED_MEMORY(room);
    Opening opening = {.node = node, .name = plan_state_name(node), .resources = states->resources, .state = room};
    Status *status = op->open(&opening);
    if (status) {
        if (op->close)
            op->close(room);
        free(room);
        return node_error(node, status);
    }
    state->op = op;
    state->state = room;
    return take_lasting(state, node->name);
}

// At the first question, under the lock: two plans that are bound at the same time open a state once.
static Status *open_node(StateOpener *opener, const Node *node, void **out) {
    NodeStates *states = of_opener(opener);
    mutex_lock(&states->lock);
    NodeState *state = find_or_add(states, plan_state_name(node));
    Status *status = OK;
    if (!state)
        status = OUT_OF_MEMORY;
    else if (!state->state)
        status = open_state(states, state, node);
    if (!status)
        *out = state->state;
    mutex_unlock(&states->lock);
    return status;
}

Status *bind_plan(NodeStates *states, Plan *plan, SpecialisationCache *cache, Executor **out) {
    return executor_new(plan, &states->opener, cache, out);
}

// ---- what lasts

// Length, then bytes. The format is of this library alone and stays on machines of one byte order.
static void put(Text *out, Str bytes) {
    uint32_t n = (uint32_t)bytes.n;
    text_add(out, (Str){(const char *)&n, sizeof n});
    text_add(out, bytes);
}

static bool get(Cursor *from, Str *out) {
    uint32_t n;
    return cursor_fixed32(from, &n) && cursor_bytes(from, n, out);
}

// Also what was loaded and not opened yet: a job that resumes and saves before it has used a node must not lose it.
Status *node_states_save(NodeStates *states, Text *out) {
    size_t at = 0;
    Str key;
    void *value;
    mutex_lock(&states->lock);
    while (map_next(&states->states, &at, &key, &value)) {
        const NodeState *state = value;
        Str bytes = state->lasting;
        if (state->state && state->op->lasting_size)
            bytes = (Str){(const char *)state->state + state->op->lasting_at, state->op->lasting_size};
        if (bytes.n) {
            put(out, key);
            put(out, bytes);
        }
    }
    mutex_unlock(&states->lock);
    NEED_MEMORY(!out->failed);
    return OK;
}

static Status *load_one(NodeStates *states, Str name, Str bytes) REQUIRES(states->lock) {
    NodeState *state = find_or_add(states, name);
    NEED_MEMORY(state);
    NEED_MEMORY((state->lasting = str_copy(&states->arena, bytes)).p);
    return state->state ? take_lasting(state, name) : OK;
}

Status *node_states_load(NodeStates *states, Str bytes) {
    Cursor from = cursor_of(bytes.p, bytes.n);
    Status *status = OK;
    Str name, value;
    mutex_lock(&states->lock);
    while (!status && cursor_left(&from)) {
        if (!get(&from, &name) || !get(&from, &value))
            status = status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "the states of nodes are cut off");
        else
            status = load_one(states, name, value);
    }
    mutex_unlock(&states->lock);
    return status;
}

// ---- life

void node_states_init(NodeStates *states, struct ResourceTable *resources) {
    *states = (NodeStates){.placed = {.device_of = device_of}, .opener = {open_node}, .resources = resources};
    mutex_init(&states->lock);
}

// No step runs any more.
void node_states_clear(NodeStates *states) {
    size_t at = 0;
    Str key;
    void *value;
    while (map_next(&states->states, &at, &key, &value)) {
        NodeState *state = value;
        if (state->state && state->op->close)
            state->op->close(state->state);
        free(state->state);
    }
    map_clear(&states->states);
    arena_clear(&states->arena);
    mutex_clear(&states->lock);
}
