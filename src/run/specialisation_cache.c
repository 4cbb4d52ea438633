// SpecialisationCache — see specialisation_cache.h. Each specialisation is in three lists: its executor's, its hash's
// and the clock's.
//
// Bytes decide, not numbers: one of a large model weighs as much as thousands of small ones. What goes is chosen by the
// clock (second chance), an approximation of least recently used that needs no write where one was used a moment ago.
#include "run/specialisation_cache.h"

#include <stdlib.h>

#include "run/executor.h"
#include "run/kernels.h"

// ADMITTED: once the cache has had to drop some, only every eighth miss makes a new one. A stream of shapes that never
// come back would otherwise be specialised at full cost each time; one that comes back is admitted soon enough.
enum { FIRST_CHAINS = 16, ADMITTED = 8 };

Status *specialisation_cache_new(size_t most, SpecialisationCache **out) {
    SpecialisationCache *cache = calloc(1, sizeof *cache);
    Specialisation **table = calloc(FIRST_CHAINS, sizeof *table);
    if (!cache || !table) {
        free(cache);
        free(table);
    }
    NEED_MEMORY(cache && table);
    atomic_init(&cache->references, 1);
    mutex_init(&cache->lock);
    cache->most = most;
    cache->table = table;
    cache->mask = FIRST_CHAINS - 1;
    *out = cache;
    return OK;
}

SpecialisationCache *specialisation_cache_retain(SpecialisationCache *cache) {
    atomic_fetch_add(&cache->references, 1);
    return cache;
}

void specialisation_cache_release(SpecialisationCache *cache) {
    if (!cache || atomic_fetch_sub(&cache->references, 1) != 1)
        return;
    mutex_clear(&cache->lock);
    free(cache->table);
    free(cache);
}

// ---- the lists

// A doubly linked list without a head node: the ends are fields of the cache.
static void unlink_used(SpecialisationCache *cache, Specialisation *specialisation) REQUIRES(cache->lock) {
    *(specialisation->newer ? &specialisation->newer->older : &cache->newest) = specialisation->older;
    *(specialisation->older ? &specialisation->older->newer : &cache->oldest) = specialisation->newer;
    specialisation->newer = specialisation->older = NULL;
}

static void link_newest(SpecialisationCache *cache, Specialisation *specialisation) REQUIRES(cache->lock) {
    specialisation->newer = NULL;
    specialisation->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = specialisation;
    cache->newest = specialisation;
}

// The owner is part of the key: executors of one session see the same shapes. >> 6: allocations are aligned.
static Specialisation **chain_of(SpecialisationCache *cache, const Executor *owner, uint64_t hash)
    REQUIRES(cache->lock) {
    return &cache->table[(hash ^ ((uintptr_t)owner >> 6)) & cache->mask];
}

// More chains; without memory for them the old ones get longer.
static void grow(SpecialisationCache *cache) REQUIRES(cache->lock) {
    size_t mask = cache->mask * 2 + 1;
    Specialisation **table = calloc(mask + 1, sizeof *table), **old = cache->table;
    if (!table)
        return;
    size_t before = cache->mask;
    cache->table = table;
    cache->mask = mask;
    for (size_t i = 0; i <= before; i++) {
        for (Specialisation *specialisation = old[i], *next; specialisation; specialisation = next) {
            next = specialisation->same_hash;
            Specialisation **chain = chain_of(cache, specialisation->owner, specialisation->hash);
            specialisation->same_hash = *chain;
            *chain = specialisation;
        }
    }
    free(old);
}

static void link_all(SpecialisationCache *cache, Executor *executor, Specialisation *specialisation)
    REQUIRES(cache->lock) {
    if (++cache->n > cache->mask)
        grow(cache);
    specialisation->owner = executor;
    Specialisation **chain = chain_of(cache, executor, specialisation->hash);
    specialisation->same_hash = *chain;
    *chain = specialisation;
    specialisation->next = executor->specialisations;
    if (specialisation->next)
        specialisation->next->link = &specialisation->next;
    specialisation->link = &executor->specialisations;
    executor->specialisations = specialisation;
    link_newest(cache, specialisation);
}

// The cache's reference goes; steps that run it hold their own and look at `dropped` when they end.
static void drop(SpecialisationCache *cache, Specialisation *specialisation) REQUIRES(cache->lock) {
    Specialisation **link = chain_of(cache, specialisation->owner, specialisation->hash);
    while (*link != specialisation)
        link = &(*link)->same_hash;
    *link = specialisation->same_hash;
    *specialisation->link = specialisation->next;
    if (specialisation->next)
        specialisation->next->link = specialisation->link;
    unlink_used(cache, specialisation);
    cache->bytes -= specialisation->bytes;
    cache->n--;
    atomic_store_explicit(&specialisation->dropped, true, memory_order_release);
    specialisation_release(specialisation);
}

// ---- keeping within the bytes

// Steps that wait for their next caller let go of what was dropped; those in flight do so when they end. A spare step
// is taken like by a caller, so a caller that comes meanwhile finds another or makes one. An executor that goes comes
// through specialisation_cache_forget first, under the lock that is held here: so it is there.
static void release_evicted_of_idle(Executor *executor) {
    for (int i = 0; i < THREAD_PLACES; i++) {
        _Atomic(Step *) *place = &executor->spare[i].step;
        Step *none = NULL, *step = atomic_exchange_explicit(place, NULL, memory_order_acquire);
        if (!step)
            continue;
        step_release_evicted(step);
        if (!atomic_compare_exchange_strong_explicit(place, &none, step, memory_order_release, memory_order_relaxed))
            step_free(step);
    }
}

// An eighth more than needed, so that the next one doesn't begin anew. `keep` is the one that was just made: it stays
// even if it alone is more than the limit, and so does the last one.
static void make_room(SpecialisationCache *cache, const Specialisation *keep) REQUIRES(cache->lock) {
    if (cache->bytes <= cache->most)
        return;
    Executor *affected = NULL;
    cache->pressed = true;
    while (cache->bytes > cache->most - cache->most / 8 && cache->newest != cache->oldest) {
        Specialisation *specialisation = cache->oldest;
        if (specialisation == keep || atomic_exchange_explicit(&specialisation->used, false, memory_order_relaxed)) {
            unlink_used(cache, specialisation);
            link_newest(cache, specialisation);
            continue;
        }
        Executor *executor = specialisation->owner;
        if (!executor->evicted) {
            executor->evicted = true;
            executor->next_evicted = affected;
            affected = executor;
        }
        drop(cache, specialisation);
    }
    atomic_fetch_add_explicit(&cache->evictions, 1, memory_order_release);
    for (; affected; affected = affected->next_evicted) {
        affected->evicted = false;
        release_evicted_of_idle(affected);
    }
}

// ---- finding and keeping

Specialisation *specialisation_cache_find(SpecialisationCache *cache, Executor *executor, const Tensor *const *keys,
                                          bool *out_make) {
    uint64_t hash = specialisation_hash(executor->plan, keys);
    mutex_lock(&cache->lock);
    Specialisation *specialisation = *chain_of(cache, executor, hash);
    while (specialisation && (specialisation->owner != executor || specialisation->hash != hash ||
                              !specialisation_fits(specialisation, executor->plan, keys)))
        specialisation = specialisation->same_hash;
    // One at a time for an executor: the others with a miss run dynamically and find it the next time.
    *out_make = !specialisation && !executor->specialising && (!cache->pressed || ++cache->misses % ADMITTED == 0);
    executor->specialising |= *out_make;
    if (specialisation) {
        atomic_store_explicit(&specialisation->used, true, memory_order_relaxed);
        specialisation_retain(specialisation);
    }
    mutex_unlock(&cache->lock);
    return specialisation;
}

void specialisation_cache_put(SpecialisationCache *cache, Executor *executor, Specialisation *specialisation) {
    mutex_lock(&cache->lock);
    executor->specialising = false;
    if (specialisation) {
        specialisation_retain(specialisation);
        link_all(cache, executor, specialisation);
        cache->bytes += specialisation->bytes;
        make_room(cache, specialisation);
    }
    mutex_unlock(&cache->lock);
}

// What is dropped already doesn't count any more.
void specialisation_cache_charge(SpecialisationCache *cache, Specialisation *specialisation, size_t bytes) {
    mutex_lock(&cache->lock);
    if (!atomic_load_explicit(&specialisation->dropped, memory_order_relaxed)) {
        specialisation->bytes += bytes;
        cache->bytes += bytes;
        make_room(cache, specialisation);
    }
    mutex_unlock(&cache->lock);
}

void specialisation_cache_forget(SpecialisationCache *cache, Executor *executor) {
    mutex_lock(&cache->lock);
    while (executor->specialisations)
        drop(cache, executor->specialisations);
    // Half empty again: new shapes are admitted without drawing lots.
    cache->pressed &= cache->bytes > cache->most / 2;
    mutex_unlock(&cache->lock);
}
