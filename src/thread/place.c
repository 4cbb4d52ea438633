// Place — see place.h: a small number for each thread, by which counters and spare steps are kept apart.
//
// A bit for each place, taken at a thread's first question and given back when it ends; more threads than places share.
#include "thread/place.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

static _Atomic uint32_t taken;      // BIT(place) of the threads that live
static _Atomic unsigned crowd;      // threads that found none free
static _Thread_local int own_place = -1;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void leave(void *arg) {
    int place = (int)(intptr_t)arg - 1;
    own_place = -1;
    atomic_fetch_and_explicit(&taken, ~(UINT32_C(1) << place), memory_order_release);
}

static void make_key(void) {
    pthread_key_create(&key, leave);
}

static int take_place(void) {
    uint32_t seen = atomic_load_explicit(&taken, memory_order_relaxed);
    while (seen != (UINT32_C(1) << THREAD_PLACES) - 1) {
        int place = __builtin_ctz(~seen);
        if (!atomic_compare_exchange_weak_explicit(&taken, &seen, seen | UINT32_C(1) << place, memory_order_acquire,
                                                   memory_order_relaxed))
            continue;
        pthread_once(&once, make_key);
        pthread_setspecific(key, (void *)(intptr_t)(place + 1));
        return place;
    }
    return (int)(atomic_fetch_add_explicit(&crowd, 1, memory_order_relaxed) % THREAD_PLACES);
}

int thread_place(void) {
    if (__builtin_expect(own_place < 0, 0))
        own_place = take_place();
    return own_place;
}
