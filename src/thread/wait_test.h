// Wait test — a thread of a test that waits for an event, unless it is cancelled first. The library has no such wait: what
// waits there holds no thread.
#pragma once
#include <limits.h>

#include "thread/cancellation.h"

// Changes the word without making the event happen, so that its waiters look around.
static inline void poke_event(void *arg) {
    Notification *event = arg;
    atomic_fetch_add_explicit(&event->word, 2, memory_order_acq_rel);
    futex_wake(&event->word, INT_MAX);
}

static inline Status *wait_watched(Cancellation *cancellation, Notification *event, int64_t deadline) {
    for (;;) {
        uint32_t word = atomic_load_explicit(&event->word, memory_order_acquire);
        if (word & 1)
            return OK;
        TRY(cancellation_check(cancellation));
        if (!futex_wait(&event->word, word, deadline) && !notification_has_happened(event))
            FAIL(DEADLINE_EXCEEDED, "the deadline has passed");
    }
}

// OK when it has happened, the reason of the cancellation (which may be NULL: none), or DEADLINE_EXCEEDED.
FALLIBLE static inline Status *wait_for_event(Cancellation *cancellation, Notification *event, int64_t deadline) {
    CancelWatch watch;
    if (notification_has_happened(event))
        return OK;
    if (cancellation && !cancellation_watch(cancellation, &watch, poke_event, event))
        return cancellation_check(cancellation);
    Status *status = wait_watched(cancellation, event, deadline);
    if (cancellation)
        cancellation_unwatch(cancellation, &watch);
    return status;
}
