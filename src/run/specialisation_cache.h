// SpecialisationCache — the specialisations of a session's executors, found by the hash of their shapes and kept by
// bytes.
//
// Steps keep what they have run (run/bound.c) and come here only for what they see first, so that callers of one plan
// don't meet. When the bytes are spent an eighth of them is freed at once: what was not used since the hand last passed
// (CLOCK). From then on only one miss in eight is specialised: of shapes that come in turn, more than there is room
// for, as many as fit stay and the others run dynamically, instead of each driving out the next.
#pragma once
#include "plan/specialisation.h"
#include "thread/mutex.h"

struct Executor;

enum { SPECIALISATION_CACHE_BYTES = 64 << 20 };  // of a session

// Counted: the session and its executors hold it.
typedef struct SpecialisationCache {
    _Atomic int32_t references;
    Mutex lock;
    size_t most;
    size_t bytes;                // guarded by lock, as is all that follows, and the lists of the executors
    Specialisation *newest, *oldest;  // by the hand of the clock
    Specialisation **table;      // chains by hash
    size_t n, mask;
    uint32_t misses;
    bool pressed;                // the bytes have been spent
    _Atomic uint32_t evictions;  // times that some were dropped: steps look here for whether theirs may be among them
} SpecialisationCache;

FALLIBLE Status *specialisation_cache_new(size_t most, SpecialisationCache **out);
SpecialisationCache *specialisation_cache_retain(SpecialisationCache *cache);
void specialisation_cache_release(SpecialisationCache *cache);

// The executor's specialisation for these shapes, retained; NULL: there is none. `*out_make`: the caller shall make it,
// and then call specialisation_cache_put; else it runs dynamically, as somebody makes one or there is no room.
Specialisation *specialisation_cache_find(SpecialisationCache *cache, struct Executor *executor,
                                          const Tensor *const *keys, bool *out_make);
// What the caller made; NULL: it could not. Takes a reference of its own. The newest stays whatever its size.
void specialisation_cache_put(SpecialisationCache *cache, struct Executor *executor, Specialisation *specialisation);
// A step keeps so many bytes for the specialisation, as long as it is not dropped.
void specialisation_cache_charge(SpecialisationCache *cache, Specialisation *specialisation, size_t bytes);
// The executor goes.
void specialisation_cache_forget(SpecialisationCache *cache, struct Executor *executor);
