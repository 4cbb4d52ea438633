// Loops — loops whose iterations are straight lists become nodes of their own.
//
// A loop of frames is straight where its variables go round by the book (Enter and NextIteration into a Merge, that
// into a Switch by the loop's LoopCond, that into an Exit) and where nothing else in it switches, merges, starts or
// blocks. Such a loop becomes one `_Loop` node with drafts of its own for what it does before, once and in each
// iteration: they pass through the passes as every graph does, their plans are lists, and so may be the plan around
// them.
//
// The loop is rotated, as compilers say: an iteration's list computes the next variables and from these whether there
// is another iteration. So there is one list to an iteration, and beside it only the condition on the first values
// (`first`).
#pragma once
#include "plan/pass.h"

// One that has become a node, until the plans are made of it.
typedef struct LoopDraft {
    Draft first, body;
    int32_t n_variables, n_invariants;
    int32_t *results;    // by output of the node: which variable
    int32_t n_results;
} LoopDraft;

typedef struct LoopDrafts {
    VEC(LoopDraft *) all;   // by the attribute `body`
} LoopDrafts;
void loop_drafts_clear(LoopDrafts *loops);

// ---- loops.c: which

typedef struct {
    Node *node;
    int32_t frame;       // where it runs; an Enter in the frame around its loop, like an Exit's reader
    bool body;           // not in the last iteration: behind a Switch's true side
    bool tainted;        // before the Switch, and has a state or reads what has
    Output now;          // what stands for its output 0 in the draft that is being written
} LoopedNode;

typedef struct {
    int32_t parent, first, n;   // its nodes: raising->by_frame[first .. first + n)
    Node *enter, *cond;
    int32_t variables, children;
    bool straight;
} LoopFrame;

typedef struct {
    Draft *draft;
    Node **order;
    size_t n;
    LoopedNode *nodes;      // by place in the order, which is node->mark
    int32_t *by_frame;      // places, frame after frame, each in order
    VEC(LoopFrame) frames;  // 0 is the step
} Raising;

// What runs in each iteration, but for what only moves values.
static inline bool looped_is_ordinary(const Node *node) {
    Flow flow = node_flow(node);
    return flow == FLOW_NONE || flow == FLOW_CALL || flow == FLOW_LOOP || flow == FLOW_TRIGGER;
}

// ---- plan.c: an empty plan
FALLIBLE Status *plan_new(const PlanOptions *options, Plan **out);

// ---- loops_write.c: what becomes of it
// A copy without edges; what it shares with the original lives as long as the graph that it comes from.
FALLIBLE Status *loop_copy_node(Graph *graph, Node *from, Node **out);
FALLIBLE Status *loop_write(Raising *raising, const LoopFrame *frame);

// ---- loops_plan.c: the plans of a node's loop, with arrays in the memory of `plan`, whose draft is `draft`
FALLIBLE Status *loop_plan(const Draft *draft, const Node *node, Plan *plan, PlanLoop *out);
void plan_loop_clear(PlanLoop *loop);
// Takes what depends on invariants alone out of a body. `lasting` is empty where that is nothing.
FALLIBLE Status *loop_split(LoopDraft *loop, Draft *lasting);
