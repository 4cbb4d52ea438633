// FixedCache — see fixed_cache.h. Each specialisation is in three lists: its executor's, its hash's and the clock's.
#include "run/fixed_cache.h"

#include <stdlib.h>

#include "run/executor.h"
#include "run/kernels.h"

enum { FIRST_CHAINS = 16, ADMITTED = 8 };

Status *fixed_cache_new(size_t most, FixedCache **out) {
    FixedCache *cache = calloc(1, sizeof *cache);
    Fixed **table = calloc(FIRST_CHAINS, sizeof *table);
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

FixedCache *fixed_cache_retain(FixedCache *cache) {
    atomic_fetch_add(&cache->references, 1);
    return cache;
}

void fixed_cache_release(FixedCache *cache) {
    if (!cache || atomic_fetch_sub(&cache->references, 1) != 1)
        return;
    mutex_clear(&cache->lock);
    free(cache->table);
    free(cache);
}

// ---- the lists

static void unlink_used(FixedCache *cache, Fixed *fixed) REQUIRES(cache->lock) {
    *(fixed->newer ? &fixed->newer->older : &cache->newest) = fixed->older;
    *(fixed->older ? &fixed->older->newer : &cache->oldest) = fixed->newer;
    fixed->newer = fixed->older = NULL;
}

static void link_newest(FixedCache *cache, Fixed *fixed) REQUIRES(cache->lock) {
    fixed->newer = NULL;
    fixed->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = fixed;
    cache->newest = fixed;
}

static Fixed **chain_of(FixedCache *cache, const Executor *owner, uint64_t hash) REQUIRES(cache->lock) {
    return &cache->table[(hash ^ ((uintptr_t)owner >> 6)) & cache->mask];
}

// More chains; without memory for them the old ones get longer.
static void grow(FixedCache *cache) REQUIRES(cache->lock) {
    size_t mask = cache->mask * 2 + 1;
    Fixed **table = calloc(mask + 1, sizeof *table), **old = cache->table;
    if (!table)
        return;
    size_t before = cache->mask;
    cache->table = table;
    cache->mask = mask;
    for (size_t i = 0; i <= before; i++) {
        for (Fixed *fixed = old[i], *next; fixed; fixed = next) {
            next = fixed->same_hash;
            Fixed **chain = chain_of(cache, fixed->owner, fixed->hash);
            fixed->same_hash = *chain;
            *chain = fixed;
        }
    }
    free(old);
}

static void link_all(FixedCache *cache, Executor *executor, Fixed *fixed) REQUIRES(cache->lock) {
    if (++cache->n > cache->mask)
        grow(cache);
    fixed->owner = executor;
    Fixed **chain = chain_of(cache, executor, fixed->hash);
    fixed->same_hash = *chain;
    *chain = fixed;
    fixed->next = executor->specialisations;
    if (fixed->next)
        fixed->next->link = &fixed->next;
    fixed->link = &executor->specialisations;
    executor->specialisations = fixed;
    link_newest(cache, fixed);
}

static void drop(FixedCache *cache, Fixed *fixed) REQUIRES(cache->lock) {
    Fixed **link = chain_of(cache, fixed->owner, fixed->hash);
    while (*link != fixed)
        link = &(*link)->same_hash;
    *link = fixed->same_hash;
    *fixed->link = fixed->next;
    if (fixed->next)
        fixed->next->link = fixed->link;
    unlink_used(cache, fixed);
    cache->bytes -= fixed->bytes;
    cache->n--;
    atomic_store_explicit(&fixed->dropped, true, memory_order_release);
    fixed_release(fixed);
}

// ---- keeping within the bytes

// Steps that wait for their next caller let go of what was dropped; those in flight do so when they end. An executor
// that goes comes through fixed_cache_forget first, under the lock that is held here: so it is there.
static void sweep_idle(Executor *executor) {
    for (int i = 0; i < THREAD_PLACES; i++) {
        _Atomic(Step *) *place = &executor->spare[i].step;
        Step *none = NULL, *step = atomic_exchange_explicit(place, NULL, memory_order_acquire);
        if (!step)
            continue;
        step_sweep(step);
        if (!atomic_compare_exchange_strong_explicit(place, &none, step, memory_order_release, memory_order_relaxed))
            step_free(step);
    }
}

static void make_room(FixedCache *cache, const Fixed *keep) REQUIRES(cache->lock) {
    if (cache->bytes <= cache->most)
        return;
    Executor *to_sweep = NULL;
    cache->pressed = true;
    while (cache->bytes > cache->most - cache->most / 8 && cache->newest != cache->oldest) {
        Fixed *fixed = cache->oldest;
        if (fixed == keep || atomic_exchange_explicit(&fixed->used, false, memory_order_relaxed)) {
            unlink_used(cache, fixed);
            link_newest(cache, fixed);
            continue;
        }
        Executor *executor = fixed->owner;
        if (!executor->sweeping) {
            executor->sweeping = true;
            executor->next_to_sweep = to_sweep;
            to_sweep = executor;
        }
        drop(cache, fixed);
    }
    atomic_fetch_add_explicit(&cache->evictions, 1, memory_order_release);
    for (; to_sweep; to_sweep = to_sweep->next_to_sweep) {
        to_sweep->sweeping = false;
        sweep_idle(to_sweep);
    }
}

// ---- finding and keeping

Fixed *fixed_cache_find(FixedCache *cache, Executor *executor, const Tensor *const *keys, bool *out_make) {
    uint64_t hash = fixed_hash(executor->plan, keys);
    mutex_lock(&cache->lock);
    Fixed *fixed = *chain_of(cache, executor, hash);
    while (fixed && (fixed->owner != executor || fixed->hash != hash || !fixed_fits(fixed, executor->plan, keys)))
        fixed = fixed->same_hash;
    *out_make = !fixed && !executor->specialising && (!cache->pressed || ++cache->misses % ADMITTED == 0);
    executor->specialising |= *out_make;
    if (fixed) {
        atomic_store_explicit(&fixed->used, true, memory_order_relaxed);
        fixed_retain(fixed);
    }
    mutex_unlock(&cache->lock);
    return fixed;
}

void fixed_cache_put(FixedCache *cache, Executor *executor, Fixed *fixed) {
    mutex_lock(&cache->lock);
    executor->specialising = false;
    if (fixed) {
        fixed_retain(fixed);
        link_all(cache, executor, fixed);
        cache->bytes += fixed->bytes;
        make_room(cache, fixed);
    }
    mutex_unlock(&cache->lock);
}

void fixed_cache_charge(FixedCache *cache, Fixed *fixed, size_t bytes) {
    mutex_lock(&cache->lock);
    if (!atomic_load_explicit(&fixed->dropped, memory_order_relaxed)) {
        fixed->bytes += bytes;
        cache->bytes += bytes;
        make_room(cache, fixed);
    }
    mutex_unlock(&cache->lock);
}

void fixed_cache_forget(FixedCache *cache, Executor *executor) {
    mutex_lock(&cache->lock);
    while (executor->specialisations)
        drop(cache, executor->specialisations);
    cache->pressed &= cache->bytes > cache->most / 2;
    mutex_unlock(&cache->lock);
}
