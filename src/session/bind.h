// Bind — makes an executor of a plan: opens the states of its nodes, and keeps what of them outlives the plan.
//
// A NodeStates belongs to a session: the states of its stateful nodes, and the devices that they were placed on. Both
// are kept by the name of the node in the session's graph, so RandomUniform goes on with its stream whichever fetches
// run it, and the first plan that holds a variable fixes its device for all later ones.
#pragma once
#include "run/executor.h"
#include "thread/mutex.h"

typedef struct NodeStates {
    PlacementRecord placed;   // what plans are made with
    StateOpener opener;
    struct ResourceTable *resources;  // where ops find or make what they open
    Mutex lock;
    Map states;          // Str of the name -> NodeState *; guarded by lock
    Arena arena;         // guarded by lock
} NodeStates;

void node_states_init(NodeStates *states, struct ResourceTable *resources);
void node_states_clear(NodeStates *states);   // closes every state; no step runs any more
// What of the states a checkpoint keeps (Op.lasting_at), by the names of their nodes: appended, and taken back, also for
// nodes that no plan has opened yet. No step runs meanwhile. INVALID_ARGUMENT for bytes that are malformed.
FALLIBLE Status *node_states_save(NodeStates *states, Text *out);
FALLIBLE Status *node_states_load(NodeStates *states, Str bytes);
// Notes where the plan's stateful nodes are: what is there already stays.
FALLIBLE Status *node_states_record(NodeStates *states, const Plan *plan);
// An executor of the plan with these states. RESOURCE_EXHAUSTED, or what an op says that can't open its state.
FALLIBLE Status *bind_plan(NodeStates *states, Plan *plan, SpecialisationCache *cache, Executor **out);
