// Lanes — scratch memory for the threads that share a kernel's work: each range that runs has a lane to itself.
#pragma once
#include <sched.h>
#include <stdatomic.h>

#include "base/checked.h"
#include "kernel/kernel.h"
#include "thread/pool.h"

typedef struct {
    size_t at, bytes;   // where they begin in the kernel's scratch; bytes of one
    int n;
} LanePlan;

// Lanes while a kernel runs.
typedef struct {
    char *base;
    size_t bytes;
    int n;
    _Atomic uint64_t busy[POOL_MOST_THREADS / 64];  // bit i: lane i is held
} Lanes;

// Adds lanes for as many threads as share `units` to the scratch of the kernel.
static inline void lanes_prepare(Prepare *p, size_t bytes, int64_t units, LanePlan *out) {
    int64_t n = min_i64(min_i64(p->threads, POOL_MOST_THREADS), units);
    *out = (LanePlan){.at = round_up(p->scratch, 64), .bytes = round_up(bytes, 64), .n = n > 0 ? (int)n : 1};
    p->scratch = out->at + out->bytes * (size_t)out->n;
}

static inline void lanes_open(const Kernel *k, const LanePlan *plan, Lanes *out) {
    out->base = (char *)k->scratch + plan->at;
    out->bytes = plan->bytes;
    out->n = plan->n;
    for (int i = 0; i < POOL_MOST_THREADS / 64; i++)
        atomic_init(&out->busy[i], 0);
}

// A lane of one's own; waits where more threads run than were foreseen.
static inline int lanes_take(Lanes *lanes) {
    for (;;) {
        for (int i = 0; i < lanes->n; i++) {
            uint64_t bit = (uint64_t)1 << i % 64;
            if (!(atomic_fetch_or_explicit(&lanes->busy[i / 64], bit, memory_order_acquire) & bit))
                return i;
        }
        sched_yield();
    }
}

static inline void lanes_give(Lanes *lanes, int lane) {
    atomic_fetch_and_explicit(&lanes->busy[lane / 64], ~((uint64_t)1 << lane % 64), memory_order_release);
}

static inline void *lanes_memory(const Lanes *lanes, int lane) {
    return lanes->base + (size_t)lane * lanes->bytes;
}
