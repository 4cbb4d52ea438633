// Cancellation — see cancellation.h.
//
// Most are never cancelled and never watched: these cost one flag (`touched`) and no lock. A child joins its parent
// only when somebody watches it. Callbacks run without the lock, on the thread that cancels; unwatching waits for one
// that runs, unless it is called from within it.
#include "thread/cancellation.h"

static void parent_cancelled(void *arg) {
    Cancellation *child = arg;
    cancellation_cancel(child, cancellation_check(child->parent));
}

// From now on the parent's cancellation runs this one's watches; false where it is set already. Locks: child, parent.
static bool join_parent(Cancellation *child) REQUIRES(child->lock) {
    if (child->parent && !child->joined)
        child->joined = cancellation_watch(child->parent, &child->in_parent, parent_cancelled, child);
    return !child->parent || child->joined;
}

static void touch(Cancellation *cancellation) {
    atomic_store(&cancellation->touched, true);
}

void cancellation_init(Cancellation *cancellation, Cancellation *parent) {
    *cancellation = (Cancellation){.lock = MUTEX_INIT, .ended = CONDITION_INIT};
    cancellation_adopt(cancellation, parent);
}

void cancellation_adopt(Cancellation *cancellation, Cancellation *parent) {
    cancellation->parent = parent;
    if (!parent || !parent->parent)
        return;
    touch(cancellation);
    mutex_lock(&cancellation->lock);
    bool open = join_parent(cancellation);
    mutex_unlock(&cancellation->lock);
    if (!open)
        parent_cancelled(cancellation);
}

void cancellation_clear(Cancellation *cancellation) {
    if (!atomic_load(&cancellation->touched)) {
        cancellation->parent = NULL;
        return;
    }
    mutex_lock(&cancellation->lock);
    if (cancellation->joined) {
        mutex_unlock(&cancellation->lock);  // the parent may be running our callback, which takes it
        cancellation_unwatch(cancellation->parent, &cancellation->in_parent);
        mutex_lock(&cancellation->lock);
    }
    while (cancellation->cancels)
        condition_wait(&cancellation->ended, &cancellation->lock);
    Status *reason = cancellation->reason;
    cancellation->reason = NULL;
    mutex_unlock(&cancellation->lock);
    status_free(reason);
    condition_clear(&cancellation->ended);
    mutex_clear(&cancellation->lock);
    cancellation_init(cancellation, NULL);
}

static void watch_unlink(CancelWatch *watch) {
    *watch->link = watch->next;
    if (watch->next)
        watch->next->link = watch->link;
    watch->link = NULL;
}

// Runs one callback after the other, the latest registered first, without the lock. A callback may free its own watch.
static void run_watches(Cancellation *cancellation) REQUIRES(cancellation->lock);

static void run_watches(Cancellation *cancellation) {
    cancellation->runner = pthread_self();
    while (cancellation->watches) {
        CancelWatch *watch = cancellation->watches;
        watch_unlink(watch);
        void (*fn)(void *) = watch->fn;
        void *arg = watch->arg;
        cancellation->running = watch;
        mutex_unlock(&cancellation->lock);
        fn(arg);
        mutex_lock(&cancellation->lock);
        cancellation->running = NULL;
        condition_notify_all(&cancellation->ended);
    }
}

bool cancellation_cancel(Cancellation *cancellation, Status *reason) {
    if (!reason)
        reason = status_new(CANCELLED, __FILE__, __LINE__, "cancelled");
    touch(cancellation);
    mutex_lock(&cancellation->lock);
    bool first = !cancellation->reason;
    if (first) {
        cancellation->reason = reason;
        cancellation->cancels++;
        atomic_store_explicit(&cancellation->set, true, memory_order_release);
        run_watches(cancellation);
        cancellation->cancels--;
        condition_notify_all(&cancellation->ended);
    }
    mutex_unlock(&cancellation->lock);
    if (!first)
        status_free(reason);
    return first;
}

// A child that hasn't joined doesn't know of its parent's cancellation: it asks.
Status *cancellation_check(Cancellation *cancellation) {
    if (!cancellation || !cancellation_is_set(cancellation))
        return OK;
    mutex_lock(&cancellation->lock);
    Status *copy = status_copy(cancellation->reason);
    mutex_unlock(&cancellation->lock);
    return copy ? copy : cancellation_check(cancellation->parent);
}

bool cancellation_watch(Cancellation *cancellation, CancelWatch *watch, void (*fn)(void *), void *arg) {
    *watch = (CancelWatch){.fn = fn, .arg = arg};
    touch(cancellation);
    mutex_lock(&cancellation->lock);
    bool open = !cancellation->reason && join_parent(cancellation);
    if (open) {
        watch->next = cancellation->watches;
        watch->link = &cancellation->watches;
        if (watch->next)
            watch->next->link = &watch->next;
        cancellation->watches = watch;
    }
    mutex_unlock(&cancellation->lock);
    return open;
}

// After it the watch's memory may go: its callback has ended, or never begins.
bool cancellation_unwatch(Cancellation *cancellation, CancelWatch *watch) {
    mutex_lock(&cancellation->lock);
    bool linked = watch->link != NULL;
    if (linked)
        watch_unlink(watch);
    while (cancellation->running == watch && !pthread_equal(cancellation->runner, pthread_self()))
        condition_wait(&cancellation->ended, &cancellation->lock);
    mutex_unlock(&cancellation->lock);
    return linked;
}
