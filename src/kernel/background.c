// Background — see background.h: who works for a session between its steps (prefetching data sets), and how closing it
// waits for them.
//
// A count under a lock: who begins is counted in unless the session is closed, and closing waits for the last to leave.
#include "kernel/background.h"

#include <stdlib.h>

Status *background_new(Background **out) {
    Background *background = calloc(1, sizeof *background);
    NEED_MEMORY(background);
    atomic_init(&background->references, 1);
    cancellation_init(&background->cancellation, NULL);
    mutex_init(&background->lock);
    condition_init(&background->left);
    *out = background;
    return OK;
}

Background *background_retain(Background *background) {
    atomic_fetch_add_explicit(&background->references, 1, memory_order_relaxed);
    return background;
}

void background_release(Background *background) {
    if (!background || atomic_fetch_sub_explicit(&background->references, 1, memory_order_acq_rel) != 1)
        return;
    cancellation_clear(&background->cancellation);
    condition_clear(&background->left);
    mutex_clear(&background->lock);
    free(background);
}

Status *background_begin(Background *background) {
    mutex_lock(&background->lock);
    bool closed = background->closed;
    background->inside += !closed;
    mutex_unlock(&background->lock);
    NEED(!closed, CANCELLED, "Session has been closed.");
    return OK;
}

void background_end(Background *background) {
    mutex_lock(&background->lock);
    if (!--background->inside && background->closed)
        condition_notify_all(&background->left);
    mutex_unlock(&background->lock);
}

// Refuse first, then cancel: else one could begin that nobody cancels. Without the lock, since cancelling calls back.
void background_close(Background *background) {
    mutex_lock(&background->lock);
    background->closed = true;
    mutex_unlock(&background->lock);
    cancellation_cancel(&background->cancellation,
                        status_new(CANCELLED, __FILE__, __LINE__, "Session has been closed."));
}

void background_wait(Background *background) {
    mutex_lock(&background->lock);
    while (background->inside)
        condition_wait(&background->left, &background->lock);
    mutex_unlock(&background->lock);
}
