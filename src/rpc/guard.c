// Guard — see guard.h.
#include "rpc/guard.h"

void guard_init(Guard *guard, EventLoop *loop) {
    mutex_init(&guard->lock);
    guard->loop = loop;
    guard->after = NULL;
    guard->last = &guard->after;
}

void guard_clear(Guard *guard) {
    mutex_clear(&guard->lock);
}

void UNCHECKED_LOCKING guard_lock(Guard *guard) {
    mutex_lock(&guard->lock);
}

static EventTask *UNCHECKED_LOCKING unlock(Guard *guard) {
    EventTask *task = guard->after;
    guard->after = NULL;
    guard->last = &guard->after;
    mutex_unlock(&guard->lock);
    return task;
}

void UNCHECKED_LOCKING guard_unlock(Guard *guard) {
    EventLoop *loop = guard->loop;  // the guard may go with the first task
    for (EventTask *task = unlock(guard), *next; task; task = next) {
        next = task->next;
        event_loop_post(loop, task);
    }
}

void UNCHECKED_LOCKING guard_unlock_and_run(Guard *guard) {
    for (EventTask *task = unlock(guard), *next; task; task = next) {
        next = task->next;
        task->run(task);
    }
}

void guard_defer(Guard *guard, EventTask *task) {
    task->next = NULL;
    *guard->last = task;
    guard->last = &task->next;
}
