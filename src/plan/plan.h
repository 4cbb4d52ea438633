// Plan — what a session runs for one signature of feeds, fetches and targets: the graph as flat arrays, immutable.
//
// A plan is made by pure functions: graph -> graph (plan/pass.h) -> plan (plan/order.c). It opens nothing and knows no
// session: any number of executors (run/executor.h), each with the state of a session, may run it. A specialisation
// (plan/specialisation.h) adds what is known once the shapes of the feeds are: prepared kernels and packed memory. A
// step (run/step.h) is the private state of one run.
#pragma once
#include "device/binding.h"

typedef struct Plan Plan;

// One node of the plan, in an order that respects the edges. Two cache lines: the binding, and what a run asks of it.
typedef struct {
    _Alignas(64) Binding binding;
    int32_t in;            // its inputs' slots are plan->in_slots[in .. in + n_in)
    int32_t out;           // its outputs' slots are [out, out + n_out)
    int32_t place;         // among the nodes of its frame
    int32_t out_place;     // of its first output among the slots of the frame where they land; the others follow
    int32_t edges, n_edges;  // plan->edges: whom to tell when it is done
    int32_t drops, n_drops;  // plan->drops: slots that nobody reads after this node, in list order
    int32_t frame;         // the loop it runs in; 0 is the step itself
    int32_t child;         // FLOW_ENTER: the frame it enters; FLOW_EXIT, FLOW_NEXT: the one it is in; FLOW_LOOP: of
                           // plan->loops; FLOW_CLUSTER: of plan->clusters
    uint32_t last;         // BIT(i): in list order, nobody reads input i after this node
    int32_t position;      // of an Exit among the frame's exits, of a constant Enter among its constants, of a started
                           // node among plan->starts
    int16_t merges[2];     // FLOW_MERGE: how many inputs can come, in a frame's first iteration and in later ones
    uint8_t flow;          // Flow
    bool constant_enter;   // FLOW_ENTER of a loop invariant
    bool async;            // starts, or blocks: ends by a completion
    bool constant;         // no step runs it: its outputs are among plan->constants, or its one output is the handle
                           // that its state gives (Op.value) once an executor has opened that
} PlanNode;
_Static_assert(sizeof(PlanNode) == 128, "a PlanNode is two cache lines");

// A consumer of a node, told when it is done.
typedef struct {
    int32_t node;
    int32_t input;         // CONTROL, or which input of the consumer
    int32_t output;        // CONTROL, or which output of the producer
    int32_t place;         // of the consumer, in its frame
    uint8_t flow;          // of the consumer
} PlanEdge;

// One value. In list mode a slot is one Tensor of the step; in a frame, of each iteration.
typedef struct {
    int32_t producer;      // node; -1 for feeds
    int32_t readers;       // nodes that read it, fetches included
    int32_t root;          // the slot whose memory it shares through aliases; itself if none
    bool escapes;          // fetched, kept or handed to a started op, itself or through an alias: needs its own buffer
    int16_t memory;        // of plan->memories: where it lies
    DType dtype;
    int32_t frame;         // whose iterations hold it
    int32_t place;         // index within the iteration's slots
} PlanSlot;

// What an iteration of a frame keeps of one value, and of one node.
typedef struct {
    struct Value *value;   // NULL: not here yet, dead, or read by all
    int32_t readers;       // who has yet to read it
} IterationSlot;

typedef struct {
    int32_t pending;       // inputs and controls that have not come; of a Merge only controls, and -1 once it has fired; run
                           // may keep its own numbers below
    uint16_t dead;         // of a Merge: dead inputs so far; of others: whether there is one
    int16_t came;          // of a Merge: the input that came alive, or -1
} IterationNode;

// A loop. frame 0 is the step.
typedef struct {
    uint64_t name_hash;    // of the name by which it is entered: the rest of a value's key between tasks
    int32_t parent;
    int32_t child_index;   // among the parent's children
    int32_t n_children;
    int32_t n_nodes, n_slots;
    int32_t enters;        // Enter nodes that lead in
    int32_t parallel;      // iterations in flight
    int32_t *nodes;        // of this frame
    int32_t *exits;
    int32_t n_exits;
    int32_t n_constants;   // constant Enter slots, copied into every iteration
    int32_t *constants;    // the Enter nodes
    IterationSlot *slots;  // how an iteration begins: n_slots, by place
    IterationNode *states; // n_nodes, by place; one block with the slots
} PlanFrame;

// A loop that is one node (plan/loops.h): its inputs are the variables' first values and what doesn't change, its
// outputs last values of variables. Each part is a plan of its own, which the node's plan owns.
typedef struct {
    struct Plan *first;    // variables, invariants -> whether there is a first iteration
    struct Plan *lasting;  // invariants -> what is computed from them alone, once, if there is one; NULL: nothing
    struct Plan *body;     // variables, invariants, what lasts -> the next variables, whether there is another
                           // iteration
    int32_t n_variables, n_invariants;
    int32_t *results;      // by output: the variable
} PlanLoop;

// What a device compiles, that is one node (plan/claim.h).
typedef struct {
    struct Plan *host;     // inputs -> outputs: the same nodes as a list, for while it isn't compiled and for when it can't
                           // be. A handle stays a handle
    const Device *device;
} PlanCluster;

enum { HOST_MEMORY = 0 };  // of plan->memories

typedef struct {
    int32_t slot;          // what the client gives or gets
    DType dtype;
    Shape shape;           // as declared; feeds of other shapes are accepted, as in TensorFlow
} PlanEnd;

// A list that waits for started nodes (plan/waves.h): where a wave ends among the nodes, and among the started ones.
typedef struct {
    int32_t nodes, starts;
} PlanWave;

typedef struct {
    int32_t node;
    int32_t key;           // of its first output among the awaited ones
    bool ready;            // it reads feeds and constants only
} PlanStart;

struct Plan {
    _Atomic int32_t references;
    Arena arena;
    Graph *graph;          // the plan's own, after the passes; nodes point to their origin
    PlanNode *nodes;
    PlanSlot *slots;
    PlanEdge *edges;
    PlanFrame *frames;
    PlanLoop *loops;
    PlanCluster *clusters;
    int32_t *in_slots;
    int32_t *in_places;    // the same slots by their place in the node's frame
    int32_t *drops;
    int32_t *roots;        // nodes that wait for nothing, other than the feeds of a partial run
    PlanEnd *feeds, *fetches;
    PlanWave *waves;       // NULL: it waits for nothing
    PlanStart *starts;     // in list order
    int32_t n_waves, n_starts;
    int32_t n_awaited;     // outputs of started nodes
    int32_t n_keys;        // values whose shapes choose the specialisation: the feeds, then what is awaited
    int32_t n_nodes, n_slots, n_frames, n_feeds, n_fetches, n_in_slots, n_roots, n_loops, n_clusters;
    const Device **memories;  // where its values lie: the host's memory, for which NULL stands, and those of devices
                              // that have one of their own
    int32_t n_memories;
    const Device **queues; // the devices of its nodes that do their work later: a step ends when they are done
    int32_t n_queues;
    Tensor *constants;     // n_slots: values known when the plan was made; {0} where not
    bool propagated;       // control flow, started ops that no list waits for, a partial run: propagated instead of
                           // listed
    bool partial;          // made for a partial run: feeds arrive later
    bool waits;            // some node is started, or blocks: a step may take as long as the world outside
    size_t bytes;          // that it costs to keep, with one step and without its specialisations; no weights of the
                           // graph
    int threads;           // a kernel's limit
    int inter_threads;     // nodes that run at once, see PlanOptions
};

// Of the plan's memories that of the device.
static inline int16_t plan_memory_of(const Plan *plan, const Device *device) {
    int16_t m = HOST_MEMORY;
    for (int32_t i = 1; i < plan->n_memories; i++)
        if (plan->memories[i] == device)
            m = (int16_t)i;
    return m;
}

Plan *plan_retain(Plan *plan);
void plan_release(Plan *plan);

// What a plan is made of. Edges are of the session's graph.
typedef struct {
    const Output *feeds, *fetches;
    Node *const *targets;
    int n_feeds, n_fetches, n_targets;
} StepSignature;

// Where nodes that keep state were placed before: plans that share the state go to the same device. Asked while a plan
// is made; who makes plans notes afterwards where theirs went.
typedef struct PlacementRecord {
    const Device *(*device_of)(const struct PlacementRecord *record, Str node);  // NULL: nowhere yet
    // Told of each such node once it is placed; NULL: nobody asks, the plan shows it.
    Status *(*placed)(const struct PlacementRecord *record, Str node, const Device *device);
} PlacementRecord;

typedef struct PlanOptions {
    const DeviceSet *devices;
    Str home;              // the master's task, where there may be devices of others: the graph is cut; empty: it is not
    bool soft_placement;
    bool partial;
    int intra_threads;     // threads of one kernel
    int inter_threads;     // kernels of one step at once, the caller's among them: run/README.md says which
    uint32_t passes;       // BIT of plan/pass.h; what to run
    uint64_t rewrites_off; // of graph/rewrite.h; what not to
    const PlacementRecord *placed;  // NULL: nothing was placed before
    bool log_placement;    // a line per node on stderr
} PlanOptions;

// The name under which a node's state and placement are kept: of the node in the session's graph that it stands for; a
// node of a function's body has none there, its full name in the plan stands for it.
static inline Str plan_state_name(const Node *node) {
    return node->origin ? node->origin->name : node->name;
}

// The whole way: prune, passes, place, partition, order. INVALID_ARGUMENT: a missing feed, a fetch of a fed edge, a
// cycle;
// UNIMPLEMENTED: a node that the step needs has no kernel. Errors name the node.
FALLIBLE Status *plan_make(const Graph *graph, const StepSignature *signature, const PlanOptions *options, Plan **out);
