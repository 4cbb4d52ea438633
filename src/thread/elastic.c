// Elastic threads — for tasks that may block; see pool_elastic in pool.h.
//
// Outside of the pool's budget, since a thread that waits for a file computes nothing. Made on demand, and gone after
// two idle seconds.
#include "thread/pool_internal.h"

enum {
    IDLE_MS = 2000,
    MOST_ELASTIC = 1024,  // beyond these, tasks wait for a thread
};

static struct {
    Mutex lock;
    Condition come;  // a task was queued
    TaskQueue queue;
    int threads, idle;
} elastic = {.lock = MUTEX_INIT, .come = CONDITION_INIT};

// The next task; fn is NULL when none came for a while and the thread should end.
static struct Task next_task(void) REQUIRES(elastic.lock);

static struct Task next_task(void) {
    int64_t deadline = clock_now() + (int64_t)IDLE_MS * CLOCK_MS;
    elastic.idle++;
    while (!elastic.queue.n && condition_wait_until(&elastic.come, &elastic.lock, deadline)) {
    }
    elastic.idle--;
    return elastic.queue.n ? task_queue_pop(&elastic.queue) : (struct Task){0};
}

static void *elastic_main(void *arg) {
    (void)arg;
    mutex_lock(&elastic.lock);
    for (;;) {
        struct Task task = elastic.queue.n ? task_queue_pop(&elastic.queue) : next_task();
        if (!task.fn)
            break;
        mutex_unlock(&elastic.lock);
        task.fn(task.arg);
        mutex_lock(&elastic.lock);
    }
    elastic.threads--;
    mutex_unlock(&elastic.lock);
    return NULL;
}

bool pool_elastic(TaskFn *fn, void *arg) {
    // A forked child must find the queue empty, so the handlers are there before the first task is.
    pool_watch_fork();
    mutex_lock(&elastic.lock);
    bool queued = task_queue_push(&elastic.queue, fn, arg);
    if (queued && elastic.queue.n <= (size_t)elastic.idle) {
        condition_notify_one(&elastic.come);
    } else if (queued && elastic.threads < MOST_ELASTIC) {
        if (pool_start_thread(elastic_main, NULL)) {
            elastic.threads++;
        } else if (!elastic.threads) {
            // Nobody will ever look at the queue, which held nothing else.
            task_queue_pop(&elastic.queue);
            queued = false;
        }
    }
    mutex_unlock(&elastic.lock);
    return queued;
}

void UNCHECKED_LOCKING elastic_before_fork(void) {
    mutex_lock(&elastic.lock);
}

void UNCHECKED_LOCKING elastic_after_fork(bool in_child) {
    if (in_child) {
        task_queue_clear(&elastic.queue);
        elastic.threads = 0;
        elastic.idle = 0;
        // The parent's waiters are not the child's.
        condition_init(&elastic.come);
    }
    mutex_unlock(&elastic.lock);
}
