// Notification — see notification.h: one bit that is set once, and a futex for those who wait.
#include "thread/notification.h"

#include <limits.h>

void notification_notify(Notification *notification) {
    FutexWord *word = &notification->word;
    uint32_t before = atomic_fetch_or_explicit(word, 1, memory_order_acq_rel);
    if (!(before & 1))
        futex_wake(word, INT_MAX);
}

bool notification_wait(Notification *notification, int64_t deadline) {
    for (;;) {
        uint32_t word = atomic_load_explicit(&notification->word, memory_order_acquire);
        if (word & 1)
            return true;
        if (!futex_wait(&notification->word, word, deadline))
            return notification_has_happened(notification);
    }
}
