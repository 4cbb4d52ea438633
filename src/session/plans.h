// PlanTable — the plans of a session by the calls that they answer. Found without a lock: a table that only grows, and is
// replaced as a whole.
#pragma once
#include "plan/plan.h"

// A plan and a call that it answers, arrays as they stood. Lives until the table is cleared.
typedef struct PlanEntry {
    uint64_t hash, set_hash;
    StepSignature signature;
    Plan *plan;                     // one reference, of the entry that it was made for
    // A call that names the same edges in another order shares a plan: `like` is the entry of that plan's own order.
    // Where it is not NULL, the plan's feed i is the call's feed feed_at[i], and the call's fetch i is the plan's fetch_at[i].
    const struct PlanEntry *like;
    int32_t *feed_at, *fetch_at;
    struct PlanEntry *next;         // of all, for freeing
} PlanEntry;

typedef struct PlanTable {
    _Atomic(struct PlanSlots *) slots;
    size_t n;                       // entries in them. This and the rest: one writer at a time
    PlanEntry *entries;
    Arena arena;
} PlanTable;

uint64_t signature_hash(const StepSignature *signature);
FALLIBLE Status *signature_copy(Arena *arena, const StepSignature *from, StepSignature *out);

// Zeroed before. The table is empty.
FALLIBLE Status *plan_table_init(PlanTable *table);
void plan_table_clear(PlanTable *table);
// From any thread, at any time. NULL: not there.
const PlanEntry *plan_table_find(const PlanTable *table, uint64_t hash, const StepSignature *signature);

// The rest is for one thread at a time.
// An entry for this call that shares the plan of another order of the same edges; `*out` is NULL where there is none.
FALLIBLE Status *plan_table_share(PlanTable *table, uint64_t hash, const StepSignature *signature, const PlanEntry **out);
// Takes over the plan, unless it fails.
FALLIBLE Status *plan_table_put(PlanTable *table, uint64_t hash, const StepSignature *signature, Plan *plan,
                                const PlanEntry **out);
// No plan is found any more; all are kept for those who run them.
FALLIBLE Status *plan_table_void(PlanTable *table);
