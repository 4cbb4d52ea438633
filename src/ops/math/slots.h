// Slots — who of the threads that share a kernel's work uses which part of its scratch.
#pragma once
#include <stdatomic.h>
#include <stdint.h>

enum {
    MOST_SLOTS = 64,     // threads that work on one product
    SMALL_COST = 8000,   // ns: not worth other threads
};

typedef _Atomic uint64_t Slots;  // a bit each that is in use

static inline int slot_take(Slots *slots, int n) {
    uint64_t busy = atomic_load(slots);
    for (;;) {
        int slot = 0;
        while (slot < n - 1 && (busy & ((uint64_t)1 << slot)))
            slot++;
        if (atomic_compare_exchange_weak(slots, &busy, busy | ((uint64_t)1 << slot)))
            return slot;
    }
}

static inline void slot_give(Slots *slots, int slot) {
    atomic_fetch_and(slots, ~((uint64_t)1 << slot));
}
