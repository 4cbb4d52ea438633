// Specialisation — a plan specialised for the shapes of its feeds: kernels prepared, memory packed, small integers
// computed.
//
// Partial evaluation: nodes are walked in order with what is known (types, shapes, values of small host integers). What
// is wholly known is computed once; what can be sized is specialised; the rest is dynamic. A specialised node's outputs
// lie at constant offsets of the step's arena unless they escape.
#pragma once
#include "plan/plan.h"

typedef enum {
    NODE_DYNAMIC,        // checked, shaped and allocated just before it runs
    NODE_SPECIALISED,    // runs as prepared
    NODE_KNOWN,          // its value is known, or it is another name for an input's memory: not run at all
} NodeMode;

enum { IN_NO_ARENA = -1, WRONG_MOST = 4 };

// What a step has of one memory.
typedef struct {
    size_t bytes;             // of its arena
    size_t lower_bound;       // the most that is live at once: no packing can be smaller
} Packed;

typedef struct Specialisation {
    _Atomic int32_t references;
    Arena arena;
    Shape *feed_shapes;       // the key: n_keys
    uint64_t hash;            // of the key
    NodeMode *modes;          // n_nodes
    Prepared *prepared;       // n_nodes; ready for specialised ones
    Shape *shapes;            // n_slots; unknown where dynamic
    Tensor *values;           // n_slots: those computed at specialisation; {0} where not. Where its node runs all the
                              // same, it only looks whether its variables have the shapes that the value was computed
                              // from
    int64_t *offsets;         // n_slots: in the step's arena of the slot's memory, or IN_NO_ARENA
    int64_t *scratch;         // n_nodes: offset of its scratch in the arena of its device's memory, or IN_NO_ARENA
    bool *recomputed;         // n_nodes: those that compute again what their first input was (OP_RECOMPUTES), as it
                              // wasn't kept
    int32_t n_recomputed;
    size_t recompute_saves;   // bytes by which the lower bound is less than if all of it were kept
    _Atomic int32_t wrong;    // how often a dynamic node's shape was not the one foretold; past WRONG_MOST it isn't
                              // used any more
    bool branches;            // heavy nodes need not wait for each other: propagated, so that they run side by side
    int32_t *run;             // nodes to run, in order
    int32_t n_run;
    int32_t *fresh;           // slots that escape: given a new buffer at the start of each step
    size_t *fresh_bytes;      // of each
    int32_t n_fresh;
    int32_t *lent;            // n_slots: the fresh slot that is written over this one, whose buffer both have; -1: none
    int32_t plan_slots, plan_nodes;  // lengths of the arrays, for release
    Packed *packed;           // by plan->memories
    size_t bytes;             // that it costs to keep, with what steps keep for it. Guarded by the cache's lock once it
                              // is there
    _Atomic bool used;        // since the hand of the clock passed
    _Atomic bool dropped;     // the cache has it no more: a step lets go of it too
    struct Executor *owner;   // whose it is; this and the lists are the cache's (run/specialisation_cache.h)
    struct Specialisation *next, **link;  // of the owner
    struct Specialisation *same_hash;
    struct Specialisation *newer, *older;
} Specialisation;

// `seen`: the slots after a step with such feeds, whose shapes then stand for what can't be told beforehand; NULL:
// none.
FALLIBLE Status *specialisation_make(const Plan *plan, const Tensor *const *feeds, const Tensor *seen,
                                     Specialisation **out);
Specialisation *specialisation_retain(Specialisation *specialisation);
void specialisation_release(Specialisation *specialisation);
bool specialisation_fits(const Specialisation *specialisation, const Plan *plan, const Tensor *const *keys);
uint64_t specialisation_hash(const Plan *plan, const Tensor *const *keys);

// Greedy by size over live intervals [first, last] of list positions: largest first, lowest gap that fits.
typedef struct {
    int32_t first, last;
    size_t bytes;
    int64_t offset;   // out
} Interval;
FALLIBLE Status *memory_pack(Interval *intervals, int n, size_t *out_bytes, size_t *out_lower_bound);
