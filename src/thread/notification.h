// Notification — an event that happens once; any number of threads wait for it, with a deadline.
//
// It may lie on the waiter's stack: after notification_notify has made the event visible it touches nothing of it.
#pragma once
#include "thread/futex.h"

// Zero-initialised has not happened.
typedef struct {
    FutexWord word;  // bit 0: it happened; the others count pokes
} Notification;

// Idempotent. What was written before it is seen by whoever has waited.
void notification_notify(Notification *notification);
// False when `deadline` (NO_DEADLINE: wait for ever) passes first.
bool notification_wait(Notification *notification, int64_t deadline);

static inline bool notification_has_happened(const Notification *notification) {
    return atomic_load_explicit(&notification->word, memory_order_acquire) & 1;
}
