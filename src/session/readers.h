// Readers — counts a session's steps in flight, and tells when what was taken out of the session can be freed.
//
// A step is counted by the place of its thread, in one word: how many are in flight, and how many of them, begun in one
// of two epochs, still read what they found without holding a reference. What is taken out is freed once each count of
// each place was seen at zero afterwards. The epoch changes as soon as nobody reads in the other one, so that places
// whose threads go from step to step come to zero, too. The price on a step's way: none, it has been counted anyway.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "thread/place.h"

typedef struct {
    char before[CACHE_LINE - sizeof(uint64_t)];
    _Atomic uint64_t n;
} ReaderCount;

typedef struct {
    ReaderCount count[THREAD_PLACES];
    _Atomic uint32_t epoch;
} Readers;

typedef uint64_t Ticket;  // what a step has added to its place's word

enum { READERS_SHIFT = 32, READERS_BITS = 16 };

// In sequential order with what follows: either whoever takes something out sees the count, or the step doesn't find
// it.
static inline Ticket readers_begin(Readers *readers, int place) {
    uint32_t epoch = atomic_load_explicit(&readers->epoch, memory_order_relaxed) & 1;
    Ticket ticket = 1 + ((uint64_t)1 << (READERS_SHIFT + READERS_BITS * epoch));
    atomic_fetch_add(&readers->count[place].n, ticket);
    return ticket;
}
// The step goes on with references of its own: it may take as long as it likes.
static inline void readers_stop_reading(Readers *readers, int place, Ticket *ticket) {
    atomic_fetch_sub_explicit(&readers->count[place].n, *ticket - 1, memory_order_release);
    *ticket = 1;
}
static inline void readers_end(Readers *readers, int place, Ticket ticket) {
    atomic_fetch_sub_explicit(&readers->count[place].n, ticket, memory_order_release);
}
static inline bool readers_in_flight(Readers *readers, int place) {
    return (uint32_t)atomic_load(&readers->count[place].n) != 0;
}

// Waits for those who were reading at some moment, a look at a time: each bit stands for a place and an epoch.
enum { READERS_ALL = -1 };
_Static_assert(THREAD_PLACES * 2 == 32, "a word has a bit for each place and epoch");
// Takes out of *waiting what has come to zero. The caller's own step, at `place` with `ticket`, isn't waited for.
static inline bool readers_look(Readers *readers, int place, Ticket ticket, uint32_t *waiting) {
    for (int epoch = 0; epoch < 2; epoch++)
        for (int p = 0; p < THREAD_PLACES; p++) {
            uint64_t n = atomic_load(&readers->count[p].n) - (p == place ? ticket : 0);
            if (!(n >> (READERS_SHIFT + READERS_BITS * epoch) & ((1u << READERS_BITS) - 1)))
                *waiting &= ~(1u << (epoch * THREAD_PLACES + p));
        }
    uint32_t epoch = atomic_load_explicit(&readers->epoch, memory_order_relaxed) & 1;
    if (!(*waiting >> ((epoch ^ 1) * THREAD_PLACES) & ((1u << THREAD_PLACES) - 1)))
        atomic_store_explicit(&readers->epoch, epoch ^ 1, memory_order_relaxed);
    return *waiting == 0;
}
