// Lanes — scratch memory for the threads that share a loop: each running range holds one lane.
#pragma once
#include <sched.h>
#include <stdatomic.h>

#include "base/checked.h"
#include "kernel/kernel.h"

enum { MOST_LANES = 64 };

typedef struct {
    size_t at, bytes;   // where they begin in the kernel's scratch; bytes of one
    int n;
} LanePlan;

// Lanes while a kernel runs.
typedef struct {
    char *base;
    size_t bytes;
    int n;
    _Atomic uint64_t busy;  // bit i: lane i is held
} Lanes;

// Adds lanes for as many threads as share `units` to the scratch of the kernel.
static inline void lanes_prepare(Prepare *p, size_t bytes, int64_t units, LanePlan *out) {
    int64_t n = min_i64(min_i64(p->threads, MOST_LANES), units);
    *out = (LanePlan){.at = round_up(p->scratch, 64), .bytes = round_up(bytes, 64), .n = n > 0 ? (int)n : 1};
    p->scratch = out->at + out->bytes * (size_t)out->n;
}

static inline void lanes_open(const Kernel *k, const LanePlan *plan, Lanes *out) {
    out->base = plan->bytes ? (char *)k->scratch + plan->at : NULL;
    out->bytes = plan->bytes;
    out->n = plan->n;
    atomic_init(&out->busy, 0);
}

// A lane of one's own; waits where more threads run than were foreseen.
static inline int lanes_take(Lanes *lanes) {
    for (;;) {
        for (int i = 0; i < lanes->n; i++) {
            uint64_t bit = (uint64_t)1 << i;
            if (!(atomic_fetch_or_explicit(&lanes->busy, bit, memory_order_acquire) & bit))
                return i;
        }
        sched_yield();
    }
}

static inline void lanes_give(Lanes *lanes, int lane) {
    atomic_fetch_and_explicit(&lanes->busy, ~((uint64_t)1 << lane), memory_order_release);
}

static inline void *lanes_memory(const Lanes *lanes, int lane) {
    return lanes->base ? lanes->base + (size_t)lane * lanes->bytes : NULL;
}
