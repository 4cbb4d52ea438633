// FixedCache — see fixed_cache.h. Each specialisation is in two lists: its plan's, and that of the session by last use.
#include "plan/fixed_cache.h"

#include <stdlib.h>

Status *fixed_cache_new(size_t most, FixedCache **out) {
    FixedCache *cache = calloc(1, sizeof *cache);
    NEED_MEMORY(cache);
    atomic_init(&cache->references, 1);
    mutex_init(&cache->lock);
    cache->most = most;
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
    free(cache);
}

// ---- the list by last use

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

static void drop(FixedCache *cache, Fixed *fixed) REQUIRES(cache->lock) {
    Fixed **link = &fixed->plan->specialisations;
    while (*link != fixed)
        link = &(*link)->next;
    *link = fixed->next;
    unlink_used(cache, fixed);
    cache->bytes -= fixed->bytes;
    fixed_release(fixed);
}

// ---- finding and keeping

Fixed *fixed_cache_find(FixedCache *cache, Plan *plan, const Tensor *const *feeds, bool *out_make) {
    mutex_lock(&cache->lock);
    Fixed *fixed = plan->specialisations;
    while (fixed && !fixed_fits(fixed, plan, feeds))
        fixed = fixed->next;
    *out_make = !fixed && !plan->specialising;
    plan->specialising |= *out_make;
    if (fixed) {
        unlink_used(cache, fixed);
        link_newest(cache, fixed);
        fixed_retain(fixed);
    }
    mutex_unlock(&cache->lock);
    return fixed;
}

void fixed_cache_put(FixedCache *cache, Plan *plan, Fixed *fixed) {
    mutex_lock(&cache->lock);
    plan->specialising = false;
    if (fixed) {
        fixed_retain(fixed);
        fixed->plan = plan;
        fixed->next = plan->specialisations;
        plan->specialisations = fixed;
        link_newest(cache, fixed);
        cache->bytes += fixed->bytes;
        while (cache->bytes > cache->most && cache->oldest != fixed)
            drop(cache, cache->oldest);
    }
    mutex_unlock(&cache->lock);
}

void fixed_cache_forget(FixedCache *cache, Plan *plan) {
    mutex_lock(&cache->lock);
    while (plan->specialisations)
        drop(cache, plan->specialisations);
    mutex_unlock(&cache->lock);
}
