// What the parts of autodiff share: what is known of each node, the loops and branches that nodes lie in.
//
// A *region* is what runs in one frame: the whole graph outside of loops, or the body of one loop. Regions are walked
// backwards one by one; seen from its parent, a loop is a single unit with its Enters as inputs and Exits as outputs.
#pragma once
#include "autodiff/autodiff.h"
#include "formula/formula.h"

// One side of a conditional: values behind output `side` of the Switches on `pred`, inside `parent`. Each exists once.
typedef struct Branch {
    struct Branch *parent;
    Output pred;
    int32_t side, depth;
} Branch;

// A variable of a loop: Enter -> Merge <- NextIteration, Merge -> Switch -> Exit and body.
typedef struct {
    Node *enter, *merge, *next, *choice, *exit;  // `choice` is the Switch; exit is NULL where nobody reads the result
    Node *back_merge, *back_choice;              // of its gradient; NULL where it has none
} LoopVar;

typedef struct Frame {
    struct Frame *parent;        // NULL: the root
    Str name;
    int32_t depth;
    Branch *branch;              // of the parent's frame, in which the loop runs
    Node *cond;                  // LoopCond
    VEC(LoopVar) vars;
    VEC(Node *) constants;       // Enters of what stays the same in all iterations
    VEC(Node *) exits;           // those on a path
    VEC(Node *) members;         // nodes on a path that the walk visits
    VEC(struct Frame *) loops;   // right inside this one, with an Exit on a path
    int32_t pending;             // uses of its Exits that are not walked yet

    // The backward loop; unused at the root.
    Str back_name;
    Node *back_cond;
    Node *pivot;                 // runs in each backward iteration: the control input of its constants
    Map reachable;               // bytes of Output -> Output *: forward values as the backward loop sees them
    Map entered;                 // bytes of Output -> Output *: outer values as the forward loop sees them
} Frame;

// The gradients that came to one output.
typedef struct {
    Gradient *parts;
    int32_t n, room;
} Partials;

typedef struct {
    Frame *frame;                // where it runs; of an Exit: where its value goes
    Branch *branch;
    Frame *backward;             // of a node that was made here: the loop whose backward loop it runs in
    Partials *partials;          // one per output; NULL before the first
    Output *stand_ins;           // of a call: the results of its lowered copy, one per output
    Node *stands_for;            // of such a result: the call
    int32_t pending;             // uses of its outputs that are not walked yet
    int32_t var;                 // of a loop's Enter, Merge, Switch: index of the LoopVar + 1
    bool known;                  // frame and branch are set
    bool reached;                // depends on an x along differentiable edges
    bool needed;                 // some y depends on it
    bool stops, own;             // the client says so: AutodiffClient
} Info;

typedef struct {
    Node *node, *twin;           // they have swapped what they compute
} Replaced;

typedef struct {
    Graph *graph;
    Arena arena;
    Str scope;                   // "gradients"
    size_t first_new;            // nodes from here on were made here
    VEC(Info) infos;             // by node id
    VEC(Frame *) frames;
    Map frame_names;             // "parent:name" -> Frame *
    Map branches;                // bytes of Branch -> Branch *
    Frame *root;
    int32_t rounds;              // of lowering
    VEC(Replaced) replaced;
    Output minus_one;            // const -1: the element shape of lists that take anything
    const AutodiffClient *client;  // NULL: none
} Autodiff;

static inline Info *info_of(const Autodiff *a, const Node *node) {
    return &a->infos.p[node->id];
}
static inline bool is_between(const Autodiff *a, const Node *node) {
    const Info *info = info_of(a, node);
    return info->reached && info->needed;
}
static inline bool is_loop(const Frame *frame) {
    return frame->parent != NULL;
}
// Parts of a loop that the walk of its body doesn't visit.
static inline bool is_loop_part(const Autodiff *a, const Node *node) {
    Flow flow = node_flow(node);
    return flow == FLOW_ENTER || flow == FLOW_NEXT || flow == FLOW_LOOP_COND || info_of(a, node)->var > 0;
}
bool dtype_has_gradient(DType dtype);                                 // floats, complex, resources, variants

// structure.c
FALLIBLE Status *infos_grow(Autodiff *a);                             // room for the nodes that there are now
FALLIBLE Status *structure_find(Autodiff *a);                         // frames and branches of every node
FALLIBLE Status *structure_count(Autodiff *a);                        // members, loops and pending counts
void structure_clear(Autodiff *a);
FALLIBLE Status *branch_of(Autodiff *a, Output output, Branch **out); // NULL outside of conditionals
// Where gradients of a node go: to its inputs, or of a lowered call to the results of its copy.
int sources_of(const Autodiff *a, const Node *node, const Output **out);
// Marks what depends on xs and what ys depend on. INVALID_ARGUMENT for an x that no y depends on.
FALLIBLE Status *reach(Autodiff *a, const Output *ys, int ny, const Output *xs, int nx);

// sum.c
FALLIBLE Status *partial_add(Autodiff *a, Output of, Gradient gradient);
Gradient partial_sum(Autodiff *a, Formula *f, Output of);             // no values for zero
Output gradient_dense(Formula *f, Gradient gradient);
// Adds a partial that was computed in branch `from`: where `source` lies outside of it, the other side counts as zero.
FALLIBLE Status *contribute(Autodiff *a, Formula *f, Branch *from, Output source, Gradient gradient);

// walk.c
// Nodes made between these two belong to the backward side of a region; whatever forward values they read are replaced
// by what that side sees of them.
void formula_begin(Autodiff *a, Formula *f, Frame *frame, Str name);
FALLIBLE Status *formula_end(Autodiff *a, Formula *f, Frame *frame);
FALLIBLE Status *region_walk(Autodiff *a, Frame *frame);

// loop.c
FALLIBLE Status *loop_gradient(Autodiff *a, Frame *loop);

// reach.c
// A forward value as the backward loop sees it.
FALLIBLE Status *loop_reach(Autodiff *a, Frame *loop, Output value, Output *out);
// A value of the root or of a frame around it, as the forward side of `frame` sees it.
FALLIBLE Status *frame_enter(Autodiff *a, Frame *frame, Output value, Output *out);
// A value of the parent's frame, as the first one of a forward variable.
FALLIBLE Status *loop_forward_enter(Autodiff *a, Frame *loop, Output value, Output *out);
FALLIBLE Status *loop_back_enter(Autodiff *a, Frame *loop, Output value, bool constant, Output *out);
// A variable of a loop, on either side; `choice` is not made while that side has no LoopCond.
FALLIBLE Status *loop_var_make(Autodiff *a, Frame *loop, bool backward, Output enter, const Shape *shape, Node **merge,
                               Node **choice);
FALLIBLE Status *loop_var_close(Autodiff *a, Frame *loop, bool backward, Node *merge, Output next);
FALLIBLE Status *loop_var_exit(Autodiff *a, Frame *loop, bool backward, Node *choice, Output *out);
// Makes one node at a known place, as it is: nothing is replaced.
FALLIBLE Status *place_op(Autodiff *a, Frame *frame, Frame *backward, Branch *branch, const char *op,
                          const FormulaArg *args, int n_args, const FormulaAttr *attrs, Node **out);

// lower.c: copies of called functions, composed ops and functional control flow on a path, made of what has gradients.
FALLIBLE Status *lower_calls(Autodiff *a, bool *changed);
Str called_gradient(const Autodiff *a, const Node *node);  // the function registered as gradient of the one it calls
