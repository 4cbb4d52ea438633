// Passes — pure functions over a plan's own graph, each testable alone and switchable (MILLRACE_PASSES=-fold,-fuse
// ...).
//
// A fed or fetched edge is a wall: no pass merges, fuses or renames what crosses it. Fed edges read `_Arg` nodes and
// fetched edges end in `_Retval` nodes, so a pass that respects edges respects the wall without knowing it.
#pragma once
#include "base/env_var.h"
#include "plan/plan.h"

// What a task other than the master's has to run: a GraphDef whose nodes name their devices.
typedef struct {
    Text task, graph;              // "/job:ps/replica:0/task:0"
    Str node;                      // one of the session's graph that runs there
} DraftPart;

typedef struct Draft {
    Graph *graph;                  // rewritten in place: it belongs to the plan
    const PlanOptions *options;
    Node **fetches, **feeds;       // the _Retval and _Arg nodes
    int n_fetches, n_feeds;
    Node **targets;
    int n_targets;
    DraftPart *parts;              // of other tasks (cut.c)
    int n_parts;
    struct ClusterDrafts *clusters;  // what devices compile (plan/claim.h); NULL: nothing
    const Map *written_out;        // names of conditionals and loops that no device that compiles has taken as they are;
                                   // NULL: none is left for one
    int n_functional;                   // that were left for one
    struct LoopDrafts *loops;      // of all loops that have become nodes, whichever graph they are in (plan/loops.h)
} Draft;
void draft_clear(Draft *draft);    // its arrays; the graph is the plan's

// The two halves of plan_make (plan.c), with nothing between them but a graph whose nodes have their devices and names.
// The first is a master's, who knows the session's graph and all devices: prune, expand, place, cut, partition. The
// second is that of the worker who runs the graph, and takes it.
FALLIBLE Status *draft_make(const Graph *graph, const StepSignature *signature, const PlanOptions *options, Draft *out);
FALLIBLE Status *draft_plan(Draft *draft, Plan **out);

enum {
    PASS_FOLD = 0,       // constant folding: stateless, <= 10 MiB
    PASS_CSE,            // equal stateless nodes become one
    PASS_EXPAND,         // functions inlined, If and While lowered, composed ops written out
    PASS_IDENTITY,       // Identity nodes without a purpose removed
    PASS_CONTROL,        // control edges that others imply removed
    PASS_FUSE,           // elementwise chains become one tiled loop
    PASS_SIMPLIFY,       // nodes that come to something smaller, given what they read
    PASS_PATTERNS,       // a node and its neighbours become one: convolutions with bias, sum and activation
    PASS_LOOPS,          // loops without conditionals become nodes of their own
    PASS_REMATERIALISE,  // values that are computed again for late readers instead of being kept
    PASSES,
};
extern const EnvVar passes_variable;   // MILLRACE_PASSES
// What MILLRACE_PASSES leaves on: passes (BIT(PASS_*)), and the rewrites that it takes away by name.
void passes_enabled(uint32_t *out_passes, uint64_t *out_rewrites_off);

// Copies what the step needs from the session's graph: the backward closure of fetches and targets, cut at feeds.
FALLIBLE Status *pass_prune(const Graph *graph, const StepSignature *signature, Draft *draft);
FALLIBLE Status *pass_expand(Draft *draft);
FALLIBLE Status *pass_deref(Draft *draft);     // reads of references become nodes of their own; always runs
FALLIBLE Status *pass_fold(Draft *draft);
FALLIBLE Status *pass_cse(Draft *draft);
FALLIBLE Status *pass_identity(Draft *draft);
FALLIBLE Status *pass_control(Draft *draft);
FALLIBLE Status *pass_control_prune(Draft *draft);      // the first part of control
FALLIBLE Status *pass_fuse(Draft *draft);
// Whoever waits for the node may wait for what it waits for instead: nobody can tell whether it has run. And does so.
bool control_may_pass_over(const Draft *draft, const Node *node);
FALLIBLE Status *control_pass_over(const Draft *draft, Node *node);
FALLIBLE Status *pass_dead_code(Draft *draft);     // removes what no fetch, target or side effect needs any more
FALLIBLE Status *pass_place(Draft *draft);     // sets node->placed; later passes put new nodes where those are that they
                                               // stand for
FALLIBLE Status *pass_loops(Draft *draft);     // loops of straight iterations become nodes (plan/loops.h)
FALLIBLE Status *pass_cut(Draft *draft);       // the parts of other tasks; what stays is the home task's
FALLIBLE Status *pass_claim(Draft *draft);     // parts for devices that compile become nodes (plan/claim.h)
FALLIBLE Status *pass_partition(Draft *draft); // copies where an edge crosses memories
FALLIBLE Status *pass_order(Draft *draft, Plan *plan);

// ---- draft.c
// Whether the device of the node, which was placed, has a kernel of that op for the node's element type.
bool draft_has_kernel(const Node *node, const char *op);
// Whether a node that passes its input on takes it to another device, by where both are or, before that is known, by
// what they ask for.
bool draft_moves(const Node *node);
// Whether deadness may travel: something switches, merges or loops.
bool draft_has_flow(const Draft *draft);
