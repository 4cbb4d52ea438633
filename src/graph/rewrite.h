// Rewrite — a pattern of nodes and the cheaper ones that stand for it: one constant per rewrite, beside the ops that it
// is about, and a word in ops/rewrite/all_rewrites.c.
//
// The planner (plan/rewrite/) knows no op by name. It finds the nodes whose op is among a rewrite's roots, sees to what
// holds for all rewrites (devices, who else reads or waits, cycles), and asks the rewrite for the rest. Results stay
// the same, but for the rounding of floats that are added in another order.
#pragma once
#include "graph/build.h"

typedef enum {
    // Before folding: outputs of the root become what `formula` gives. What it writes may be constants in the making.
    REWRITE_SIMPLIFY,
    // After placement: the root and what alone reads it, one node after another, become one node.
    REWRITE_FUSE_READERS,
    // Likewise the root and all producers of the argument `input`, or none.
    REWRITE_FUSE_PRODUCERS,
    // In the order in which nodes run: late readers of the root's output 0 read a node of `op` that computes it again,
    // to the bit, from what lives on beside it. The node's input 0 is that output, `write` adds the others; its op has
    // the flag OP_RECOMPUTES. Whether it does is for the specialisation to say (plan/recompute_choose.c).
    REWRITE_REMATERIALISE,
} RewriteKind;

// The nodes that a rewrite is about: the root, then what joins it. Owned by the planner.
typedef struct {
    Node *const *nodes;
    int n;
} Match;

struct Rewrite {
    const char *name;            // switches it off: MILLRACE_PASSES=-name. Rewrites of one purpose share a name.
    RewriteKind kind;
    const char *const *roots;    // names of ops that it may begin at; ends with NULL
    FormulaFn *formula;          // SIMPLIFY: sets f->results of outputs that become something else, or none
    const char *op;              // the others: the op that is made, where the device of the root has its kernel
    const char *input;           // FUSE_PRODUCERS: the argument whose producers join
    int output;                  // FUSE_READERS: the output of the root that is read by who joins. The made node's
                                 // output 0 is that of the last; then come the root's other outputs.
    // Whether `next` may join the match, or, of REMATERIALISE (next is NULL), whether the root may be computed again.
    bool (*takes)(const Match *match, const Node *next);
    // Gives the made node its inputs and attributes.
    Status *(*write)(NodeBuilder *builder, const Match *match);
};

// Names of roots: ROOTS("Conv2D", "Conv3D").
#define ROOTS(...) ((const char *const[]){__VA_ARGS__, NULL})

// A rewrite that may begin at nodes of a type.
typedef struct RewriteRow {
    const Rewrite *rewrite;      // NULL behind the last
    uint64_t bit;                // of all rewrites that share its name
} RewriteRow;

// What op_table_set says; of at most 64 names.
void rewrite_table_set(const Rewrite *const *table);
// The rewrites that may begin at nodes of that op: NULL for none.
FALLIBLE Status *rewrite_rows(Str op, Arena *arena, const RewriteRow **out);
// The bit of a name; 0: there is none.
uint64_t rewrite_bit(Str name);
// The i-th name, for messages; NULL behind the last.
const char *rewrite_name(int i);
