// PlanTable — see plans.h: open addressing by the hash of the call's arrays; sets of edges by chains.
//
// Readers walk the slots without a lock while a writer, who holds the session's, changes them: entries are put in and
// taken out by one atomic store, a table that is full is replaced by a larger one, and what is taken out is freed when
// every reader that could have seen it has ended (epoch-based reclamation, Readers). An emptied place keeps a mark, so
// that probing goes on behind it.
#include "session/plans.h"

#include <stdlib.h>

typedef struct PlanSlots {
    size_t mask;
    size_t filled;            // entries, and places where one was
    struct PlanSlots *next;   // of those taken out: a reader may still be in it
    _Atomic(PlanEntry *) entry[];
} PlanSlots;

static PlanEntry emptied;     // stands where an entry was: no call is like it

enum { FIRST_ROOM = 64 };

// ---- keys

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

// In the order of the arrays: comparing what the client passed as it stands is what makes the lookup cheap.
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

// The same for every order of the arrays: a sum. Feeds, fetches and targets begin with different numbers, so that an
// edge fed is not the same as one fetched.
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

// ---- slots

static Status *slots_new(size_t room, PlanSlots **out) {
    PlanSlots *slots = calloc(1, sizeof *slots + room * sizeof slots->entry[0]);
    NEED_MEMORY(slots);
    slots->mask = room - 1;
    *out = slots;
    return OK;
}

static void slots_put(PlanSlots *slots, PlanEntry *entry) {
    size_t i = entry->hash;
    while (atomic_load_explicit(&slots->entry[i & slots->mask], memory_order_relaxed))
        i++;
    slots->filled++;
    atomic_store_explicit(&slots->entry[i & slots->mask], entry, memory_order_release);
}

// Sequentially consistent, like the load in plan_table_find: with readers_begin's increment that decides whether a
// reader saw the entry or its successor sees the reader.
static void slots_take(PlanSlots *slots, const PlanEntry *entry) {
    size_t i = entry->hash;
    while (atomic_load_explicit(&slots->entry[i & slots->mask], memory_order_relaxed) != entry)
        i++;
    atomic_store(&slots->entry[i & slots->mask], &emptied);
}

// Readers may walk the old array: it waits with the entries.
static void retire_slots(PlanTable *table) {
    PlanSlots *slots = atomic_load(&table->slots);
    slots->next = table->collected.slots;
    table->collected.slots = slots;
}

// Room for one more, at most half full; what was emptied is left behind.
static Status *slots_reserve(PlanTable *table) {
    PlanSlots *before = atomic_load(&table->slots), *grown;
    if ((before->filled + 1) * 2 <= before->mask)
        return OK;
    size_t room = FIRST_ROOM;
    while (room < (table->n + 1) * 4)
        room *= 2;
    TRY(slots_new(room, &grown));
    for (PlanEntry *entry = table->entries; entry; entry = entry->next)
        slots_put(grown, entry);
    retire_slots(table);
    atomic_store(&table->slots, grown);
    return OK;
}

// Open addressing with linear probing; the table is at most half full, so probing ends at an empty place.
const PlanEntry *plan_table_find(PlanTable *table, uint64_t hash, const StepSignature *signature) {
    // Sequential order: see readers_begin.
    const PlanSlots *slots = atomic_load(&table->slots);
    for (size_t i = hash;; i++) {
        PlanEntry *entry = atomic_load(&slots->entry[i & slots->mask]);
        if (!entry)
            return NULL;
        if (entry->hash != hash || !signature_equal(&entry->signature, signature) || entry == &emptied)
            continue;
        // Written once after each new plan, so that callers of one plan don't meet here.
        uint32_t now = atomic_load_explicit(&table->clock, memory_order_relaxed);
        if (atomic_load_explicit(&entry->used, memory_order_relaxed) != now) {
            atomic_store_explicit(&entry->used, now, memory_order_relaxed);
            if (entry->like)
                atomic_store_explicit(&entry->like->used, now, memory_order_relaxed);
        }
        return entry;
    }
}

// ---- sets of edges

// Only entries with a plan of their own are in sets; these tables are the writer's alone and may be freed at once.
static Status *sets_reserve(PlanTable *table) {
    if (table->n < table->n_sets)
        return OK;
    size_t room = table->n_sets ? table->n_sets * 2 : FIRST_ROOM;
    PlanEntry **sets = calloc(room, sizeof *sets);
    NEED_MEMORY(sets);
    for (PlanEntry *entry = table->entries; entry; entry = entry->next) {
        PlanEntry **set = &sets[entry->set_hash & (room - 1)];
        if (entry->like)
            continue;
        entry->next_in_set = *set;
        *set = entry;
    }
    free(table->sets);
    table->sets = sets;
    table->n_sets = room;
    return OK;
}

static void set_take(PlanTable *table, const PlanEntry *entry) {
    PlanEntry **link = &table->sets[entry->set_hash & (table->n_sets - 1)];
    while (*link != entry)
        link = &(*link)->next_in_set;
    *link = entry->next_in_set;
}

// ---- life

// A shared plan's executor belongs to the entry that it is shared from (`like`).
static void entry_free(PlanEntry *entry) {
    if (!entry->like)
        executor_release(entry->executor);
    free(entry);
}

static void retired_free(PlanTable *table, struct Retired *retired) {
    for (PlanEntry *entry = retired->entries, *next; entry; entry = next) {
        next = entry->next;
        table->n_retired--;
        entry_free(entry);
    }
    for (PlanSlots *slots = retired->slots, *next; slots; slots = next) {
        next = slots->next;
        free(slots);
    }
    *retired = (struct Retired){0};
}

Status *plan_table_init(PlanTable *table, Readers *readers) {
    PlanSlots *slots;
    table->readers = readers;
    table->most = PLAN_TABLE_BYTES;
    TRY(slots_new(FIRST_ROOM, &slots));
    atomic_store(&table->slots, slots);
    return OK;
}

// No reader that begins now finds it: it is in no slot any more.
static void retire_entry(PlanTable *table, PlanEntry *entry) {
    *(entry->previous ? &entry->previous->next : &table->entries) = entry->next;
    if (entry->next)
        entry->next->previous = entry->previous;
    table->n--;
    table->bytes -= entry->bytes;
    entry->next = table->collected.entries;
    table->collected.entries = entry;
    table->n_retired++;
}

// All at once, by a new empty array: the graph has changed.
Status *plan_table_void(PlanTable *table) {
    PlanSlots *slots;
    TRY(slots_new(FIRST_ROOM, &slots));
    retire_slots(table);
    atomic_store(&table->slots, slots);
    while (table->entries)
        retire_entry(table, table->entries);
    if (table->n_sets)
        memset(table->sets, 0, table->n_sets * sizeof *table->sets);
    return OK;
}

void plan_table_clear(PlanTable *table) {
    while (table->entries)
        retire_entry(table, table->entries);
    retired_free(table, &table->awaited);
    retired_free(table, &table->collected);
    free(table->sets);
    free(atomic_load(&table->slots));
}

// Two batches take turns: `awaited` waits until each place where readers count was seen empty once; what is taken out
// meanwhile collects for the next. Two rounds, since the first may end the one and begin the other.
void plan_table_tidy(PlanTable *table, int place, Ticket ticket) {
    for (int round = 0; round < 2; round++) {
        if (!table->awaited.entries && !table->awaited.slots) {
            table->awaited = table->collected;
            table->collected = (struct Retired){0};
            table->waiting = (uint32_t)READERS_ALL;
        }
        if ((!table->awaited.entries && !table->awaited.slots) ||
            !readers_look(table->readers, place, ticket, &table->waiting))
            return;
        retired_free(table, &table->awaited);
    }
}

// ---- keeping the bound

typedef struct {
    PlanEntry *entry;
    uint32_t used;  // as it was: readers go on
} LastUse;

// Of a copy: the values change while qsort runs, which would be undefined.
static int by_use(const void *a, const void *b) {
    uint32_t x = ((const LastUse *)a)->used, y = ((const LastUse *)b)->used;
    return (x > y) - (x < y);
}

static void take_out(PlanTable *table, PlanEntry *entry) {
    slots_take(atomic_load(&table->slots), entry);
    if (!entry->like)
        set_take(table, entry);
    retire_entry(table, entry);
}

// Down to seven eighths of what is allowed, so that it isn't done anew for each plan. The longest unused go; the newest
// stay, as does `made`. Calls that share a plan go with it.
static void keep_bound(PlanTable *table, const PlanEntry *made) {
    if (table->bytes <= table->most || table->n <= PLANS_KEPT)
        return;
    LastUse *uses = malloc(table->n * sizeof *uses);
    if (!uses)
        return;  // next time
    size_t n = 0, left = table->bytes;
    for (PlanEntry *entry = table->entries; entry; entry = entry->next)
        uses[n++] = (LastUse){entry, atomic_load_explicit(&entry->used, memory_order_relaxed)};
    qsort(uses, n, sizeof *uses, by_use);
    for (size_t i = 0; i + PLANS_KEPT < n && left > table->most - table->most / 8; i++) {
        PlanEntry *entry = uses[i].entry;
        entry->gone = entry != made && entry != made->like;
        left -= entry->gone ? entry->bytes : 0;
    }
    for (size_t i = 0; i < n; i++)
        if (uses[i].entry->gone || (uses[i].entry->like && uses[i].entry->like->gone))
            take_out(table, uses[i].entry);
    free(uses);
}

// ---- putting in

// An entry with its arrays behind it, in one block.
static Status *entry_new(const StepSignature *from, PlanEntry **out) {
    size_t ends = (size_t)from->n_feeds + (size_t)from->n_fetches, targets = (size_t)from->n_targets;
    size_t bytes = sizeof(PlanEntry) + ends * (sizeof(Output) + sizeof(int32_t)) + targets * sizeof(Node *);
    PlanEntry *entry = calloc(1, bytes);
    NEED_MEMORY(entry);
    Output *edges = (Output *)(entry + 1);
    Node **nodes = (Node **)(edges + ends);
    for (int i = 0; i < from->n_feeds; i++)
        edges[i] = from->feeds[i];
    for (int i = 0; i < from->n_fetches; i++)
        edges[from->n_feeds + i] = from->fetches[i];
    for (int i = 0; i < from->n_targets; i++)
        nodes[i] = from->targets[i];
    entry->signature =
        (StepSignature){edges, edges + from->n_feeds, nodes, from->n_feeds, from->n_fetches, from->n_targets};
    entry->feed_at = (int32_t *)(nodes + targets);
    entry->fetch_at = entry->feed_at + from->n_feeds;
    entry->bytes = bytes;
    *out = entry;
    return OK;
}

// Room in all tables; what then follows can't fail.
static Status *reserve(PlanTable *table) {
    TRY(slots_reserve(table));
    return sets_reserve(table);
}

// The clock ticks with each new plan; `used` is the tick at which an entry was found last.
static void put(PlanTable *table, PlanEntry *entry) {
    uint32_t now = atomic_load_explicit(&table->clock, memory_order_relaxed) + 1;
    atomic_store_explicit(&table->clock, now, memory_order_relaxed);
    atomic_store_explicit(&entry->used, now, memory_order_relaxed);
    if (entry->like)
        atomic_store_explicit(&entry->like->used, now, memory_order_relaxed);
    entry->next = table->entries;
    if (entry->next)
        entry->next->previous = entry;
    table->entries = entry;
    if (!entry->like) {
        PlanEntry **set = &table->sets[entry->set_hash & (table->n_sets - 1)];
        entry->next_in_set = *set;
        *set = entry;
    }
    table->n++;
    table->bytes += entry->bytes;
    slots_put(atomic_load(&table->slots), entry);
    keep_bound(table, entry);
}

Status *plan_table_put(PlanTable *table, uint64_t hash, const StepSignature *signature, Executor *executor,
                       const PlanEntry **out) {
    TRY(reserve(table));
    PlanEntry *entry;
    TRY(entry_new(signature, &entry));
    entry->hash = hash;
    entry->set_hash = set_hash_of(signature);
    entry->plan = executor->plan;
    entry->executor = executor;
    entry->bytes += executor->plan->bytes + sizeof *executor;
    put(table, entry);
    *out = entry;
    return OK;
}

// ---- other orders

typedef struct {
    uintptr_t node;
    int32_t index, at;
} Place;

// With the place as the last key, so that an edge fetched twice pairs in a fixed way.
static int by_edge(const void *a, const void *b) {
    const Place *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static void sort_edges(const Output *edges, int n, Place *out) {
    for (int i = 0; i < n; i++)
        out[i] = (Place){(uintptr_t)edges[i].node, edges[i].index, i};
    if (n > 1)
        qsort(out, (size_t)n, sizeof *out, by_edge);
}

// at[i]: where `from` has what `to` has at i, each used once. False where they are not the same edges. Sorted and
// compared side by side; room for 2 n places.
static bool match_edges(const Output *from, const Output *to, int n, Place *room, int32_t *at) {
    Place *a = room, *b = room + n;
    sort_edges(from, n, a);
    sort_edges(to, n, b);
    for (int i = 0; i < n; i++) {
        if (a[i].node != b[i].node || a[i].index != b[i].index)
            return false;
        at[b[i].at] = a[i].at;
    }
    return true;
}

static bool match_targets(const StepSignature *a, const StepSignature *b, Place *room) {
    int n = a->n_targets;
    for (int i = 0; i < n; i++) {
        room[i] = (Place){(uintptr_t)a->targets[i], 0, 0};
        room[n + i] = (Place){(uintptr_t)b->targets[i], 0, 0};
    }
    if (n > 1) {
        qsort(room, (size_t)n, sizeof *room, by_edge);
        qsort(room + n, (size_t)n, sizeof *room, by_edge);
    }
    for (int i = 0; i < n; i++)
        if (room[i].node != room[n + i].node)
            return false;
    return true;
}

// Leaves *out as it is where it turns out that only the hashes are equal.
static Status *share_with(PlanTable *table, PlanEntry *like, uint64_t hash, const StepSignature *call,
                          const PlanEntry **out) {
    AUTO(arena) Arena arena = {0};
    size_t most = (size_t)call->n_feeds + (size_t)call->n_fetches + (size_t)call->n_targets;
    Place *room = ARENA_ARRAY(&arena, Place, 2 * most);
    NEED_MEMORY(room);
    TRY(reserve(table));
    PlanEntry *entry;
    TRY(entry_new(call, &entry));
    const StepSignature *own = &like->signature;
    if (!match_edges(call->feeds, own->feeds, call->n_feeds, room, entry->feed_at) ||
        !match_edges(own->fetches, call->fetches, call->n_fetches, room, entry->fetch_at) ||
        !match_targets(own, call, room)) {
        free(entry);
        return OK;
    }
    entry->hash = hash;
    entry->set_hash = like->set_hash;
    entry->plan = like->plan;
    entry->executor = like->executor;
    entry->like = like;
    put(table, entry);
    *out = entry;
    return OK;
}

Status *plan_table_share(PlanTable *table, uint64_t hash, const StepSignature *signature, const PlanEntry **out) {
    uint64_t set_hash = set_hash_of(signature);
    *out = NULL;
    PlanEntry *entry = table->n_sets ? table->sets[set_hash & (table->n_sets - 1)] : NULL;
    for (; entry && !*out; entry = entry->next_in_set)
        if (entry->set_hash == set_hash && same_numbers(&entry->signature, signature))
            TRY(share_with(table, entry, hash, signature, out));
    return OK;
}
