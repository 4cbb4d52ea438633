// PlanTable — see plans.h: open addressing by the hash of the call's arrays.
#include "session/plans.h"

#include <stdlib.h>

typedef struct PlanSlots {
    size_t mask;
    struct PlanSlots *older;  // kept: a reader may still be in it
    _Atomic(PlanEntry *) entry[];
} PlanSlots;

enum { FIRST_ROOM = 64 };

// ---- keys

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

uint64_t signature_hash(const StepSignature *s) {
    uint64_t hash = (uint64_t)s->n_feeds * 31 + (uint64_t)s->n_fetches * 7 + (uint64_t)s->n_targets;
    for (int i = 0; i < s->n_feeds; i++)
        hash = mix(mix(hash, (uintptr_t)s->feeds[i].node), (uint64_t)s->feeds[i].index);
    for (int i = 0; i < s->n_fetches; i++)
        hash = mix(mix(hash, (uintptr_t)s->fetches[i].node), (uint64_t)s->fetches[i].index);
    for (int i = 0; i < s->n_targets; i++)
        hash = mix(hash, (uintptr_t)s->targets[i]);
    return hash;
}

// The same for every order of the arrays.
static uint64_t set_hash_of(const StepSignature *s) {
    uint64_t sum = 0;
    for (int i = 0; i < s->n_feeds; i++)
        sum += mix(mix(1, (uintptr_t)s->feeds[i].node), (uint64_t)s->feeds[i].index);
    for (int i = 0; i < s->n_fetches; i++)
        sum += mix(mix(2, (uintptr_t)s->fetches[i].node), (uint64_t)s->fetches[i].index);
    for (int i = 0; i < s->n_targets; i++)
        sum += mix(3, (uintptr_t)s->targets[i]);
    return sum;
}

static bool outputs_equal(const Output *a, const Output *b, int n) {
    for (int i = 0; i < n; i++)
        if (!output_equal(a[i], b[i]))
            return false;
    return true;
}

static bool same_numbers(const StepSignature *a, const StepSignature *b) {
    return a->n_feeds == b->n_feeds && a->n_fetches == b->n_fetches && a->n_targets == b->n_targets;
}

static bool signature_equal(const StepSignature *a, const StepSignature *b) {
    if (!same_numbers(a, b))
        return false;
    for (int i = 0; i < a->n_targets; i++)
        if (a->targets[i] != b->targets[i])
            return false;
    return outputs_equal(a->feeds, b->feeds, a->n_feeds) && outputs_equal(a->fetches, b->fetches, a->n_fetches);
}

Status *signature_copy(Arena *arena, const StepSignature *from, StepSignature *out) {
    Output *ends = ARENA_ARRAY(arena, Output, from->n_feeds + from->n_fetches);
    Node **targets = ARENA_ARRAY(arena, Node *, from->n_targets);
    NEED_MEMORY(ends && targets);
    for (int i = 0; i < from->n_feeds; i++)
        ends[i] = from->feeds[i];
    for (int i = 0; i < from->n_fetches; i++)
        ends[from->n_feeds + i] = from->fetches[i];
    for (int i = 0; i < from->n_targets; i++)
        targets[i] = from->targets[i];
    *out = (StepSignature){ends, ends + from->n_feeds, targets, from->n_feeds, from->n_fetches, from->n_targets};
    return OK;
}

// ---- the table

static Status *slots_new(PlanTable *table, size_t room) {
    PlanSlots *slots = calloc(1, sizeof *slots + room * sizeof slots->entry[0]);
    NEED_MEMORY(slots);
    slots->mask = room - 1;
    slots->older = atomic_load(&table->slots);
    atomic_store_explicit(&table->slots, slots, memory_order_release);
    return OK;
}

static void slots_put(PlanSlots *slots, PlanEntry *entry) {
    size_t i = entry->hash;
    while (atomic_load_explicit(&slots->entry[i & slots->mask], memory_order_relaxed))
        i++;
    atomic_store_explicit(&slots->entry[i & slots->mask], entry, memory_order_release);
}

Status *plan_table_init(PlanTable *table) {
    return slots_new(table, FIRST_ROOM);
}

Status *plan_table_void(PlanTable *table) {
    TRY(slots_new(table, FIRST_ROOM));
    table->n = 0;
    return OK;
}

void plan_table_clear(PlanTable *table) {
    for (PlanEntry *entry = table->entries; entry; entry = entry->next)
        if (!entry->like)
            plan_release(entry->plan);
    for (PlanSlots *slots = atomic_load(&table->slots); slots;) {
        PlanSlots *older = slots->older;
        free(slots);
        slots = older;
    }
    arena_clear(&table->arena);
}

const PlanEntry *plan_table_find(const PlanTable *table, uint64_t hash, const StepSignature *signature) {
    const PlanSlots *slots = atomic_load_explicit(&table->slots, memory_order_acquire);
    for (size_t i = hash;; i++) {
        const PlanEntry *entry = atomic_load_explicit(&slots->entry[i & slots->mask], memory_order_acquire);
        if (!entry || (entry->hash == hash && signature_equal(&entry->signature, signature)))
            return entry;
    }
}

static Status *put(PlanTable *table, const PlanEntry *made, const PlanEntry **out) {
    PlanEntry *entry = ARENA_NEW(&table->arena, PlanEntry);
    NEED_MEMORY(entry);
    *entry = *made;
    TRY(signature_copy(&table->arena, &made->signature, &entry->signature));
    PlanSlots *slots = atomic_load(&table->slots);
    if ((table->n + 1) * 2 > slots->mask) {
        PlanSlots *before = slots;
        TRY(slots_new(table, (before->mask + 1) * 2));
        slots = atomic_load(&table->slots);
        for (size_t i = 0; i <= before->mask; i++)
            if (atomic_load(&before->entry[i]))
                slots_put(slots, atomic_load(&before->entry[i]));
    }
    entry->next = table->entries;
    table->entries = entry;
    table->n++;
    slots_put(slots, entry);
    *out = entry;
    return OK;
}

Status *plan_table_put(PlanTable *table, uint64_t hash, const StepSignature *signature, Plan *plan,
                       const PlanEntry **out) {
    PlanEntry entry = {.hash = hash, .set_hash = set_hash_of(signature), .signature = *signature, .plan = plan};
    return put(table, &entry, out);
}

// ---- other orders

// at[i]: where `from` has what `to` has at i, each used once. False where they are not the same edges.
static bool match_edges(const Output *from, const Output *to, int n, bool *used, int32_t *at) {
    memset(used, 0, (size_t)n * sizeof *used);
    for (int i = 0; i < n; i++) {
        int j = 0;
        while (j < n && (used[j] || !output_equal(from[j], to[i])))
            j++;
        if (j == n)
            return false;
        used[j] = true;
        at[i] = j;
    }
    return true;
}

static bool match_targets(const StepSignature *a, const StepSignature *b, bool *used) {
    memset(used, 0, (size_t)a->n_targets * sizeof *used);
    for (int i = 0; i < a->n_targets; i++) {
        int j = 0;
        while (j < a->n_targets && (used[j] || b->targets[j] != a->targets[i]))
            j++;
        if (j == a->n_targets)
            return false;
        used[j] = true;
    }
    return true;
}

static Status *share_with(PlanTable *table, const PlanEntry *like, uint64_t hash, const StepSignature *call,
                          const PlanEntry **out) {
    AUTO(arena) Arena arena = {0};
    size_t most = (size_t)call->n_feeds + (size_t)call->n_fetches + (size_t)call->n_targets;
    bool *used = ARENA_ARRAY(&arena, bool, most);
    int32_t *feed_at = ARENA_ARRAY(&table->arena, int32_t, call->n_feeds);
    int32_t *fetch_at = ARENA_ARRAY(&table->arena, int32_t, call->n_fetches);
    NEED_MEMORY(used && feed_at && fetch_at);
    const StepSignature *own = &like->signature;
    if (!match_edges(call->feeds, own->feeds, call->n_feeds, used, feed_at) ||
        !match_edges(own->fetches, call->fetches, call->n_fetches, used, fetch_at) || !match_targets(own, call, used))
        return OK;
    PlanEntry entry = {.hash = hash, .set_hash = like->set_hash, .signature = *call, .plan = like->plan, .like = like,
                       .feed_at = feed_at, .fetch_at = fetch_at};
    return put(table, &entry, out);
}

Status *plan_table_share(PlanTable *table, uint64_t hash, const StepSignature *signature, const PlanEntry **out) {
    uint64_t set_hash = set_hash_of(signature);
    const PlanSlots *slots = atomic_load(&table->slots);
    *out = NULL;
    for (size_t i = 0; i <= slots->mask && !*out; i++) {
        const PlanEntry *entry = atomic_load(&slots->entry[i]);
        if (entry && !entry->like && entry->set_hash == set_hash && same_numbers(&entry->signature, signature))
            TRY(share_with(table, entry, hash, signature, out));
    }
    return OK;
}
