// Guard — a mutex whose holder leaves work for afterwards: callbacks run on the loop's thread, with no lock held.
#pragma once
#include "rpc/event_loop.h"
#include "thread/mutex.h"

typedef struct CAPABILITY Guard {
    Mutex lock;
    EventLoop *loop;
    EventTask *after, **last;
} Guard;

void guard_init(Guard *guard, EventLoop *loop);
void guard_clear(Guard *guard);
void guard_lock(Guard *guard) ACQUIRES(*guard);
// What was deferred is posted to the loop: it does not run inside of who calls this.
void guard_unlock(Guard *guard) RELEASES(*guard);
// The same for what the loop itself calls: runs it here and now.
void guard_unlock_and_run(Guard *guard) RELEASES(*guard);
void guard_defer(Guard *guard, EventTask *task) REQUIRES(*guard);
