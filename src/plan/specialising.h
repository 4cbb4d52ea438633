// Specialising — what the parts of the partial evaluation share: specialisation.c walks the nodes,
// specialising_memory.c gives values their places, recompute_choose.c chooses which are computed again instead of being
// kept.
#pragma once
#include "plan/specialisation.h"

typedef struct {
    const Plan *plan;
    Specialisation *result;
    const Tensor *seen;  // by slot, the shapes of a step before; NULL: none
    Tensor *known;       // by slot: shape, and data where the value is known
    Tensor **in, **out;  // room for the widest node
    StepContext context;
    int32_t *last;       // by root slot: last reader through aliases, in list order
    int32_t *owner;      // by root slot: the root whose memory it took over in place, or is a piece of
    int64_t *at;         // and the byte where it begins in it
    bool *in_pieces;     // by root slot: something else than all of its memory goes by another name
    bool choosing;       // recompute_choose.c tries: what is computed again holds nothing it reads
} Specialising;

// A node that at its time computes again what its first input was, which it doesn't read then.
static inline bool specialising_recomputes(const Specialising *s, int32_t i) {
    return s->result->recomputed[i];
}
// A node that only gives its input another name.
static inline bool specialising_renames(const Specialising *s, int32_t i) {
    const PlanNode *p = &s->plan->nodes[i];
    return p->binding.run == kernel_nothing && p->binding.direct && !specialising_recomputes(s, i);
}
// The slot whose memory a slot has by the ops' declarations: what is computed again has its own.
static inline int32_t specialising_root(const Specialising *s, int32_t slot) {
    int32_t producer = s->plan->slots[slot].producer;
    return producer >= 0 && specialising_recomputes(s, producer) ? slot : s->plan->slots[slot].root;
}

// ---- specialising_memory.c

// The slot of the input that a specialised node's only output equals; -1: none does.
int32_t specialising_equal_input(const Specialising *s, int32_t i);
// The slot whose memory a slot has, by declaration, equality or in place.
int32_t specialising_owner(const Specialising *s, int32_t slot);
// Where in that memory it begins.
int64_t specialising_place(const Specialising *s, int32_t slot);
// A root that lies in the arena of its memory: plain data of a specialised node that nobody sees after its last planned
// use.
bool specialising_in_arena(const Specialising *s, int32_t root);
// Finds last uses and who takes over whose memory, given what is computed again.
void specialising_share(Specialising *s);
// What then lies in the arena of that memory and when: slots, and the scratch of nodes as -1 - node. Room for
// n_slots + n_nodes.
FALLIBLE Status *specialising_intervals(Specialising *s, int16_t memory, Interval *intervals, int32_t *who, int *out_n);
// The places of all values.
FALLIBLE Status *specialising_pack(Specialising *s);

// ---- recompute_choose.c

// Chooses which values are computed again: sets specialisation->recomputed and what it saves.
FALLIBLE Status *recompute_choose(Specialising *s);
