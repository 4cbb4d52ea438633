// FixedCache — the specialisations of all plans of a session, kept by their bytes: the least recently used go.
#pragma once
#include "plan/fixed.h"

enum { FIXED_CACHE_BYTES = 64 << 20 };  // of a session

// Counted: the session and its plans hold it.
typedef struct FixedCache {
    _Atomic int32_t references;
    Mutex lock;
    size_t most;
    size_t bytes;            // guarded by lock, as are the lists: this one and those of the plans
    Fixed *newest, *oldest;  // by their last use
} FixedCache;

FALLIBLE Status *fixed_cache_new(size_t most, FixedCache **out);
FixedCache *fixed_cache_retain(FixedCache *cache);
void fixed_cache_release(FixedCache *cache);

// The plan's specialisation for these feeds, now the latest used, retained; NULL: there is none. `*out_make`: there is none
// and nobody makes it, so the caller shall, and then call fixed_cache_put; others run late meanwhile.
Fixed *fixed_cache_find(FixedCache *cache, Plan *plan, const Tensor *const *feeds, bool *out_make);
// What the caller made; NULL: it could not. Takes a reference of its own. The newest stays whatever its size.
void fixed_cache_put(FixedCache *cache, Plan *plan, Fixed *fixed);
// The plan goes.
void fixed_cache_forget(FixedCache *cache, Plan *plan);
