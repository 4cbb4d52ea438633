// NodeStates — see states.h.
#include "plan/states.h"

#include <stdlib.h>

typedef struct {
    const Device *device;
    const Op *op;
    void *state;
} NodeState;

void node_states_init(NodeStates *states) {
    *states = (NodeStates){0};
    mutex_init(&states->lock);
}

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

// A node of a function's body has no origin in the session's graph; its full name in the plan stands for it.
static Str key_of(const Node *node) {
    return node->name;
}

static NodeState *find_or_add(NodeStates *states, const Node *node) REQUIRES(states->lock) {
    NodeState *state = map_find(&states->states, key_of(node));
    if (state)
        return state;
    state = ARENA_NEW(&states->arena, NodeState);
    Str key = str_copy(&states->arena, key_of(node));
    return state && key.p && map_set(&states->states, key, state) ? state : NULL;
}

const Device *node_states_device(NodeStates *states, const Node *origin) {
    mutex_lock(&states->lock);
    const NodeState *state = map_find(&states->states, key_of(origin));
    const Device *device = state ? state->device : NULL;
    mutex_unlock(&states->lock);
    return device;
}

Status *node_states_place(NodeStates *states, const Node *origin, const Device *device) {
    mutex_lock(&states->lock);
    NodeState *state = find_or_add(states, origin);
    if (state)
        state->device = device;
    mutex_unlock(&states->lock);
    NEED_MEMORY(state);
    return OK;
}

static Status *open_state(NodeState *state, const Node *node, struct ResourceTable *resources) {
    const Op *op = node->type->op;
    void *room = calloc(1, op->state_size ? op->state_size : 1);
    NEED_MEMORY(room);
    Opening opening = {.node = node, .resources = resources, .state = room};
    Status *status = op->open(&opening);
    if (status) {
        free(room);
        return status_prefix(status, "{{node %.*s}} (%.*s)", NODE_ARGS(node));
    }
    state->op = op;
    state->state = room;
    return OK;
}

Status *node_states_open(NodeStates *states, const Node *node, struct ResourceTable *resources, void **out) {
    if (!node->type->op || !node->type->op->open) {
        *out = NULL;
        return OK;
    }
    mutex_lock(&states->lock);
    NodeState *state = find_or_add(states, node);
    Status *status = OK;
    if (!state)
        status = OUT_OF_MEMORY;
    else if (!state->state)
        status = open_state(state, node, resources);
    if (!status)
        *out = state->state;
    mutex_unlock(&states->lock);
    return status;
}
