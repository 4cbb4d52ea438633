// Settle test — tests of what waits: the end of one wait, which may have been cancelled.
#pragma once
#include <check.h>

#include "base/clock.h"
#include "thread/cancellation.h"

// Waits for the answer, 30 s at most, cancelling it first where told. Clears the cancellation.
static inline void settle_test(Notification *happened, Cancellation *c, bool cancel) {
    if (cancel)
        cancellation_cancel(c, NULL);
    bool came = notification_wait(happened, clock_now() + 30000ll * CLOCK_MS);
    cancellation_clear(c);
    ck_assert(came);
}
