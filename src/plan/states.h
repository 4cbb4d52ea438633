// NodeStates — what a session keeps of its stateful nodes across plans: the device they live on and their kernel's
// state.
//
// Keyed by the node of the session's graph, so RandomUniform goes on with its stream whichever fetches run it, and the
// first plan that holds a variable fixes its device for all later ones.
#pragma once
#include "device/device.h"
#include "thread/mutex.h"

typedef struct NodeStates {
    Mutex lock;
    Map states;          // Str of the key -> NodeState *; guarded by lock
    Arena arena;
} NodeStates;

void node_states_init(NodeStates *states);
void node_states_clear(NodeStates *states);   // closes every state; no step runs any more
// The device that the node was placed on before, or NULL.
const Device *node_states_device(NodeStates *states, const Node *origin);
FALLIBLE Status *node_states_place(NodeStates *states, const Node *origin, const Device *device);
// The kernel's state, opened at the first question. NULL where the op has none.
FALLIBLE Status *node_states_open(NodeStates *states, const Node *node, struct ResourceTable *resources, void **out);
