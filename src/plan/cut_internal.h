// Cut, inside — what cut.c and cut_loops.c share.
#pragma once
#include "graph/build.h"
#include "plan/pass.h"

enum { CUT_ROOT = 0 };  // the frame that is the step itself

// A loop, wherever its nodes are.
typedef struct {
    int32_t parent;
    const Node *enter;     // one of those that lead into it
    Node *condition;       // its LoopCond; NULL: it has none
} CutFrame;

// Nodes are told apart by `mark`, the part that they go to: cheaper to compare than names of tasks at every edge.
typedef struct {
    Draft *draft;
    Str home;
    Arena arena;
    Map received;          // "edge;task" -> the node that stands for it there; "loop@task" -> see cut_loop
    VEC(const Device *) tasks;  // of each other task a device; a node's mark is 1 + its task's place, or 0: home
    VEC(CutFrame) frames;  // empty: there are no loops
    int32_t *lands;        // by id: the frame that the node's outputs are in; of the nodes that were there before the cut
    bool alive;            // nothing is ever dead
    int edges;
} Cutting;

// ---- cut.c
// Of the same task, in whose memory the network reads and writes: Send and Recv are host kernels. To and from another memory
// the copy is partition's, as for any reader on the host.
const Device *cut_host(const Cutting *c, const Device *device);
// A node that stands beside `like`, on its task. TensorFlow's workers keep some kernels under their names, for all
// graphs of a session: so no name comes twice in a process.
FALLIBLE Status *cut_begin(Cutting *c, NodeBuilder *builder, Str op, const Node *like, const char *suffix);
FALLIBLE Status *cut_finish(NodeBuilder *builder, const Device *device, int32_t mark, Node **out);
// An empty tensor on that task, there once `before` has run; NULL: at once.
FALLIBLE Status *cut_token(Cutting *c, const Node *like, Node *before, const Device *device, int32_t mark, Output *out);
// What `reader`, on another task, reads instead of the edge.
FALLIBLE Status *cut_cross(Cutting *c, Output edge, const Node *reader, Node **out);

// ---- cut_loops.c
static inline int32_t cut_frame(const Cutting *c, const Node *node) {
    return c->frames.n ? c->lands[node->id] : CUT_ROOT;
}
// Finds the loops, and moves what passes values on to where these come from or go.
FALLIBLE Status *cut_find_loops(Cutting *c);
// The Merge of the control loop that runs through the iterations of the frame on the task of `at`, made when it is first
// asked for; NULL: in the root there is none.
FALLIBLE Status *cut_loop(Cutting *c, int32_t frame, const Node *at, Node **out);
