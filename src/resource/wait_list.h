// WaitList — operations that wait for a change of a resource, in the order in which they came; none holds a thread.
//
// A resource that is waited for has a WaitList as its lock. An operation is a struct that begins with a Wait. Whenever
// the lock is given back, `serve` is asked of those that wait, from the first on, whether they are done now; those that
// are get their `finish`, with no lock held, on the thread that gave the lock back. A queue, whose operations are many
// and have two lists, has its own (queue.c).
#pragma once
#include "thread/cancellation.h"

typedef struct Wait Wait;
typedef struct WaitList WaitList;

struct Wait {
    Status *status;               // its result, for `finish`, which takes it
    WaitList *list;
    Wait *next;
    bool listed, cancelled;       // guarded by the list's lock
    Cancellation *cancellation;
    CancelWatch watch;
    bool watched;
};

struct WaitList {
    Mutex lock;
    Wait *first, **end;           // where the next one goes; guarded by lock, as is what follows
    Status *closed;               // set: nobody waits any more; all end with a copy of this, unless they are served
    bool in_turn;                 // nobody is served before the one in front of it
    // Under the lock: true once `wait` has what it waits for, or `status` says why it never will. It does not call the
    // list.
    bool (*serve)(void *owner, Wait *wait);
    // With no lock held, exactly once: tells whoever asked, and frees `wait`. The list may be gone afterwards.
    void (*finish)(void *owner, Wait *wait);
    void *owner;                  // for both
    const char *what;             // "TakeGrad": "TakeGrad operation was cancelled"
};

void wait_list_init(WaitList *list, void *owner, const char *what);
void wait_list_clear(WaitList *list);  // nobody waits

void wait_list_lock(WaitList *list) ACQUIRES(list->lock);
// Serves who can be served, gives the lock back and finishes them.
void wait_list_unlock(WaitList *list) RELEASES(list->lock);
// From now on what can't be served at once ends with `status`, which is taken. Only the first call counts.
void wait_list_close(WaitList *list, Status *status) REQUIRES(list->lock);

// Serves `wait` or lets it wait; `finish` is called before this returns, or later from any thread. `cancellation` may be
// NULL and outlives the wait.
void wait_list_add(WaitList *list, Wait *wait, Cancellation *cancellation);
