// Pool, inside — workers, and how ranges and gangs get hold of them.
#pragma once
#include "thread/futex.h"
#include "thread/gang.h"
#include "thread/mutex.h"
#include "thread/pool.h"

typedef struct Work Work;

// What a worker is handed: a pointer to it, in the slot of a worker that was claimed before.
struct Work {
    void (*run)(Work *work, int worker);  // ends by pool_return(worker), unless the claim goes on
};

enum { POOL_WORKERS = POOL_MOST_THREADS, POOL_WORDS = POOL_WORKERS / 64 };

typedef struct {
    uint64_t bits[POOL_WORDS];
} WorkerSet;

// Tasks waiting for a thread: a ring.
typedef struct {
    struct Task { TaskFn *fn; void *arg; } *tasks;
    size_t head, n, room;
} TaskQueue;

bool task_queue_push(TaskQueue *queue, TaskFn *fn, void *arg);
struct Task task_queue_pop(TaskQueue *queue);  // not empty
void task_queue_clear(TaskQueue *queue);

// Takes up to `wanted` idle workers, making new ones while there are fewer than that; returns how many.
int pool_claim(int wanted, WorkerSet *out);
// Makes a claimed worker idle again; it may be claimed anew at once.
void pool_return(int worker);
// Hands work to a claimed worker, waking it.
void pool_hand(int worker, Work *work);
// Takes work back that the worker has not begun. The claim stays.
bool pool_take_back(int worker, Work *work);
// Waits until the count in `left` is zero; the threads that lower it use pool_leave.
void pool_join(FutexWord *left, unsigned epoch);
void pool_leave(FutexWord *left);
// Changes in a forked child.
unsigned pool_epoch(void);
void pool_watch_fork(void);
bool pool_start_thread(void *(*main)(void *), void *arg);  // detached, named, no signals

// The elastic half of fork handling: the lock is held across the fork.
void elastic_before_fork(void);
void elastic_after_fork(bool in_child);

// Sets in `set`, in rising order: `for (int w = -1; (w = worker_next(set, w)) >= 0;)`.
static inline int worker_next(const WorkerSet *set, int after) {
    for (int i = after + 1; i < POOL_WORKERS; i = (i | 63) + 1) {
        uint64_t rest = set->bits[i / 64] >> (i % 64);
        if (rest)
            return i + __builtin_ctzll(rest);
    }
    return -1;
}

extern _Thread_local bool pool_inside;  // this thread is in a range or a gang: parallel work runs inline
