// Rendezvous — see rendezvous.h: the one of a single process.
//
// A table by key of what was put and not yet taken, or is waited for and not yet put; an item goes with the second of
// the two. Nobody blocks: a take that comes first leaves its callback, which the put then calls. Callbacks run without
// the lock, since they may put and take themselves.
#include "run/rendezvous.h"

#include <stdlib.h>

#include "base/map.h"
#include "run/stress.h"

// What lies under a key, or who waits for it.
typedef struct RendezvousItem {
    Tensor value;
    RendezvousTake *take;      // NULL: the value is here
    bool dead;
    Str key;                   // behind it
    struct RendezvousItem *next;
} RendezvousItem;

typedef struct {
    Rendezvous rendezvous;     // first
    Mutex lock;
    Map items;                 // by key; guarded by lock, as is what follows
    RendezvousUse use;
    Status *reason;            // not NULL: aborted
} LocalRendezvous;

static LocalRendezvous *local_of(Rendezvous *rendezvous) {
    return (LocalRendezvous *)rendezvous;
}

// The key lies behind the item, as map_set keeps the pointer.
static RendezvousItem *item_new(Str key) {
    RendezvousItem *item = calloc(1, sizeof *item + key.n);
    if (!item)
        return NULL;
    memcpy(item + 1, key.p, key.n);
    item->key = (Str){(const char *)(item + 1), key.n};
    return item;
}

static size_t bytes_of(const Tensor *value) {
    return value->data ? tensor_bytes(value) : 0;
}

// ---- by key, under the lock

// A key is used once in a step: two values for one come from a graph that was cut wrongly, or from a peer's fault.
static Status *lay_down(LocalRendezvous *local, Str key, Tensor value, bool dead, RendezvousItem **out_waiting) {
    if (local->reason)
        return status_copy(local->reason);
    *out_waiting = map_find(&local->items, key);
    if (*out_waiting) {
        NEED((*out_waiting)->take, INTERNAL, "two values were sent under the key %.*s", STR_ARGS(key));
        map_take(&local->items, key);
        local->use.waiting--;
        return OK;
    }
    RendezvousItem *item = item_new(key);
    if (!item || !map_set(&local->items, item->key, item)) {
        free(item);
        return OUT_OF_MEMORY;
    }
    item->value = value;
    item->dead = dead;
    local->use.values++;
    local->use.bytes += bytes_of(&value);
    if (local->use.bytes > local->use.most_bytes)
        local->use.most_bytes = local->use.bytes;
    return OK;
}

// `*out_there` is what lies there, taken out; NULL: the take waits, or there is a status.
static Status *pick_up(LocalRendezvous *local, Str key, RendezvousTake *take, RendezvousItem **out_there) {
    if (local->reason)
        return status_copy(local->reason);
    RendezvousItem *item = map_find(&local->items, key);
    if (item) {
        NEED(!item->take, INTERNAL, "two receive under the key %.*s", STR_ARGS(key));
        map_take(&local->items, key);
        local->use.values--;
        local->use.bytes -= bytes_of(&item->value);
        *out_there = item;
        return OK;
    }
    item = item_new(key);
    if (!item || !map_set(&local->items, item->key, item)) {
        free(item);
        return OUT_OF_MEMORY;
    }
    item->take = take;
    local->use.waiting++;
    return OK;
}

// ---- the calls

static Status *put(Rendezvous *rendezvous, Str key, Tensor value, bool dead) {
    LocalRendezvous *local = local_of(rendezvous);
    RendezvousItem *waiting = NULL;
    stress_yield();
    mutex_lock(&local->lock);
    Status *status = lay_down(local, key, value, dead, &waiting);
    mutex_unlock(&local->lock);
    if (status) {
        tensor_clear(&value);
        return status;
    }
    if (waiting) {
        waiting->take->done(waiting->take, OK, value, dead);
        free(waiting);
    }
    return OK;
}

// `take->done` is called exactly once, here, by the put or by the abort, unless give_up takes it back.
static void take(Rendezvous *rendezvous, Str key, RendezvousTake *take) {
    LocalRendezvous *local = local_of(rendezvous);
    RendezvousItem *there = NULL;
    stress_yield();
    mutex_lock(&local->lock);
    Status *status = pick_up(local, key, take, &there);
    mutex_unlock(&local->lock);
    if (status)
        take->done(take, status, (Tensor){0}, false);
    if (!there)
        return;
    take->done(take, OK, there->value, there->dead);
    free(there);
}

// False: it has been taken or ended, and `done` is called or about to be; whoever gives up must wait for it.
static bool give_up(Rendezvous *rendezvous, Str key, RendezvousTake *take) {
    LocalRendezvous *local = local_of(rendezvous);
    mutex_lock(&local->lock);
    RendezvousItem *item = map_find(&local->items, key);
    bool waits = item && item->take == take;
    if (waits) {
        map_take(&local->items, key);
        local->use.waiting--;
    }
    mutex_unlock(&local->lock);
    if (waits)
        free(item);
    return waits;
}

// Takes all items out of the table, in a list.
static RendezvousItem *take_all(LocalRendezvous *local) {
    RendezvousItem *all = NULL;
    size_t at = 0;
    Str key;
    void *value;
    while (map_next(&local->items, &at, &key, &value)) {
        RendezvousItem *item = value;
        item->next = all;
        all = item;
    }
    map_clear(&local->items);
    local->use.values = local->use.waiting = local->use.bytes = 0;
    return all;
}

static void end_all(RendezvousItem *items, const Status *reason) {
    while (items) {
        RendezvousItem *next = items->next;
        if (items->take)
            items->take->done(items->take, status_copy(reason), (Tensor){0}, false);
        else
            tensor_clear(&items->value);
        free(items);
        items = next;
    }
}

// The first reason stays, for those that come later. All that wait are ended outside of the lock.
static void abort_all(Rendezvous *rendezvous, Status *reason) {
    LocalRendezvous *local = local_of(rendezvous);
    RendezvousItem *items = NULL;
    if (!reason)
        reason = status_new(CANCELLED, __FILE__, __LINE__, "the step was cancelled");
    mutex_lock(&local->lock);
    bool first = !local->reason;
    if (first) {
        local->reason = reason;
        items = take_all(local);
    }
    mutex_unlock(&local->lock);
    // The reason stays as long as the rendezvous, which its caller holds.
    if (first)
        end_all(items, reason);
    else
        status_free(reason);
}

// Whoever takes holds the rendezvous: no take waits any more.
static void free_local(Rendezvous *rendezvous) {
    LocalRendezvous *local = local_of(rendezvous);
    end_all(take_all(local), NULL);
    status_free(local->reason);
    mutex_clear(&local->lock);
    free(local);
}

static const RendezvousType local_type = {
    .put = put, .take = take, .give_up = give_up, .abort = abort_all, .free = free_local,
};

Status *local_rendezvous_new(Rendezvous **out) {
    LocalRendezvous *local = calloc(1, sizeof *local);
    NEED_MEMORY(local);
    local->rendezvous.type = &local_type;
    atomic_init(&local->rendezvous.references, 1);
    mutex_init(&local->lock);
    *out = &local->rendezvous;
    return OK;
}

RendezvousUse local_rendezvous_use(Rendezvous *rendezvous) {
    LocalRendezvous *local = local_of(rendezvous);
    mutex_lock(&local->lock);
    RendezvousUse use = local->use;
    mutex_unlock(&local->lock);
    return use;
}

// ---- at once

typedef struct {
    RendezvousTake take;     // first
    Status *status;
    Tensor value;
    bool dead, done;
} TakeNow;

static void taken_now(RendezvousTake *take, Status *status, Tensor value, bool dead) {
    TakeNow *now = (TakeNow *)take;
    *now = (TakeNow){.status = status, .value = value, .dead = dead, .done = true};
}

Status *rendezvous_take_now(Rendezvous *rendezvous, Str key, Tensor *out, bool *out_dead) {
    TakeNow now = {.take.done = taken_now};
    rendezvous_take(rendezvous, key, &now.take);
    NEED(now.done || !rendezvous_give_up(rendezvous, key, &now.take), NOT_FOUND, "nothing was sent under the key %.*s",
         STR_ARGS(key));
    TRY(now.status);
    *out = now.value;
    *out_dead = now.dead;
    return OK;
}
