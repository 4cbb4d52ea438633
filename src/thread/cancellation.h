// Cancellation — the wish that a step ends: one object per step, a flag that is cheap to read, and callbacks for waits.
//
// A kernel that loops reads cancellation_is_set now and then. Whoever waits registers a CancelWatch, whose callback
// ends the wait. Deadlines need no timer thread: every wait takes its own.
//
// A child is cancelled with its parent. It reads its parent's flag beside its own and is entered in the parent's list
// only when somebody watches it: so steps that never wait don't meet at their session's lock. The child of a child is
// entered at once, since a flag is looked at one level up and no further.
#pragma once
#include "thread/mutex.h"
#include "thread/notification.h"

// Lies in whatever waits; linked into the cancellation while registered. Touch the fields through the functions only.
typedef struct CancelWatch {
    void (*fn)(void *arg);
    void *arg;
    struct CancelWatch *next, **link;  // link: the pointer to this; NULL when not registered. Guarded by the lock
} CancelWatch;

typedef struct Cancellation {
    _Atomic bool set;
    _Atomic bool touched;     // somebody watched or cancelled: there is something to clear
    Mutex lock;
    Condition ended;          // a callback that somebody waits for has ended
    Status *reason;           // NULL until set, then unchanged. Guarded by lock
    CancelWatch *watches;     // guarded by lock
    CancelWatch *running;     // whose callback runs now; compared, never followed. Guarded by lock
    pthread_t runner;         // the thread that runs it. Guarded by lock
    int cancels;              // calls of cancellation_cancel inside. Guarded by lock
    struct Cancellation *parent;
    CancelWatch in_parent;    // registered there once `joined`
    bool joined;              // guarded by lock
} Cancellation;

// `parent` may be NULL and outlives this one; where it is already set, so is this one.
void cancellation_init(Cancellation *cancellation, Cancellation *parent);
// Leaves the parent and waits for a cancellation_cancel that is still inside. No watch is registered any more. It is
// then as cancellation_init made it, without a parent; where nothing had happened this costs a look.
void cancellation_clear(Cancellation *cancellation);
// Gives one that has none a parent: init for one that is used again and again.
void cancellation_adopt(Cancellation *cancellation, Cancellation *parent);

// Sets the flag and runs every registered callback once, on this thread, with no lock held. Takes `reason` (NULL stands
// for a plain CANCELLED). Only the first call counts: false, and the reason freed, for later ones.
bool cancellation_cancel(Cancellation *cancellation, Status *reason);

static inline bool cancellation_is_set(const Cancellation *cancellation) {
    return atomic_load_explicit(&cancellation->set, memory_order_relaxed) ||
           (cancellation->parent && atomic_load_explicit(&cancellation->parent->set, memory_order_relaxed));
}
// The same for a loop that asks at every turn: where the two flags lie.
typedef struct {
    const _Atomic bool *own, *parents;
} CancellationFlags;
static inline CancellationFlags cancellation_flags(const Cancellation *cancellation) {
    const Cancellation *parent = cancellation->parent ? cancellation->parent : cancellation;
    return (CancellationFlags){&cancellation->set, &parent->set};
}
static inline bool cancellation_flagged(const CancellationFlags *flags) {
    int own = atomic_load_explicit(flags->own, memory_order_relaxed);
    return own | (int)atomic_load_explicit(flags->parents, memory_order_relaxed);  // one branch for both
}
// A copy of the reason, its own or its parent's, once set; OK before. NULL is never cancelled.
FALLIBLE Status *cancellation_check(Cancellation *cancellation);

// Registers `fn(arg)` to be run when the cancellation is set. False, and nothing registered, when it already is.
FALLIBLE bool cancellation_watch(Cancellation *cancellation, CancelWatch *watch, void (*fn)(void *), void *arg);
// True: taken out, the callback has not run and won't. False: it has run; when it is running on another thread, waits
// for its end. So hold no lock that the callback takes. May be called from inside any callback, its own included.
bool cancellation_unwatch(Cancellation *cancellation, CancelWatch *watch);
