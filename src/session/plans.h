// PlanTable — the plans of a session by the calls that they answer. Found without a lock; kept by bytes, the least
// recently used go.
#pragma once
#include "run/executor.h"
#include "session/readers.h"

enum {
    PLAN_TABLE_BYTES = 512 << 20,  // or PLAN_TABLE_GRAPHS times the graph; unless the session says otherwise
    PLAN_TABLE_GRAPHS = 4,
    PLANS_KEPT = 8,                // whatever they take: what trains, tests and saves takes turns
};

// A plan with its executor, and a call that it answers, arrays as they stood.
typedef struct PlanEntry {
    uint64_t hash, set_hash;
    StepSignature signature;
    const Plan *plan;               // the executor's
    Executor *executor;             // one reference, of the entry that it was made for
    // A call that names the same edges in another order shares a plan: `like` is the entry of that plan's own order.
    // Where it is not NULL, the plan's feed i is the call's feed feed_at[i], and the call's fetch i is the plan's
    // fetch_at[i].
    struct PlanEntry *like;
    int32_t *feed_at, *fetch_at;
    _Atomic uint32_t used;          // the table's clock when it was last found
    bool gone;                      // taken out, with those that share its plan
    size_t bytes;                   // that it costs, with its plan if it owns one
    struct PlanEntry *next, *previous;  // of all; of those taken out
    struct PlanEntry *next_in_set;      // of those with a plan of their own, by set_hash
} PlanEntry;

typedef struct PlanTable {
    _Atomic(struct PlanSlots *) slots;
    _Atomic uint32_t clock;         // counts plans made. What follows: one writer at a time
    Readers *readers;               // of the session
    PlanEntry *entries;
    PlanEntry **sets;               // n_sets of them, a power of two: by set_hash
    size_t n, n_sets, bytes, most;
    // Taken out: no reader that begins now finds it. First collected, then waited for, then freed.
    struct Retired {
        PlanEntry *entries;
        struct PlanSlots *slots;
    } collected, awaited;
    uint32_t waiting;               // for whom `awaited` waits (readers.h)
    size_t n_retired;               // entries among them
} PlanTable;

uint64_t signature_hash(const StepSignature *signature);
FALLIBLE Status *signature_copy(Arena *arena, const StepSignature *from, StepSignature *out);

// Zeroed before. The table is empty.
FALLIBLE Status *plan_table_init(PlanTable *table, Readers *readers);
void plan_table_clear(PlanTable *table);
// From any thread that counts among the readers, who may use the entry until it ends. NULL: not there.
const PlanEntry *plan_table_find(PlanTable *table, uint64_t hash, const StepSignature *signature);

// What plans may take unless the session says otherwise.
static inline size_t plan_table_most(size_t graph_bytes) {
    size_t graphs = PLAN_TABLE_GRAPHS * graph_bytes;
    return graphs > PLAN_TABLE_BYTES ? graphs : PLAN_TABLE_BYTES;
}

// The rest is for one thread at a time, whose own step is at `place` with `ticket`.
// An entry for this call that shares the plan of another order of the same edges; `*out` is NULL where there is none.
FALLIBLE Status *plan_table_share(PlanTable *table, uint64_t hash, const StepSignature *signature,
                                  const PlanEntry **out);
// Takes over the executor, unless it fails. Plans that were used least recently go where there are too many bytes.
// `table->most` is set.
FALLIBLE Status *plan_table_put(PlanTable *table, uint64_t hash, const StepSignature *signature, Executor *executor,
                                const PlanEntry **out);
// No plan is found any more.
FALLIBLE Status *plan_table_void(PlanTable *table);
// Frees what was taken out and nobody reads any more.
void plan_table_tidy(PlanTable *table, int place, Ticket ticket);
