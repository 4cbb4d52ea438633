// Pool — see pool.h. A worker is idle (its bit is set), claimed, or at work; only who clears the bit may hand it work.
//
// One pool for the process: its limit is the budget of all sessions together. Claiming and handing over are a few
// atomic operations, no lock: idle workers spin for 50 us before they sleep, so that the kernels of one step find them
// awake. A caller never waits for workers to be free: it takes those that are, and works itself. After a fork the child
// has none of the threads; the epoch tells claims of before from those of after.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "thread/pool_internal.h"
#include "thread/quota.h"

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPIN_NS = 50000,           // how long an idle worker, or a caller that waits for helpers, looks before it sleeps
    RETRY_NS = 100 * CLOCK_MS, // after a refused pthread_create
    RANGES_PER_THREAD = 4,     // finer than the threads, so that a helper that wakes late costs little
};

typedef struct {
    _Alignas(64) _Atomic(Work *) work;
    FutexWord asleep;
} Worker;

static Worker workers[POOL_WORKERS];

static struct {
    _Alignas(64) _Atomic uint64_t idle[POOL_WORDS];
    _Alignas(64) _Atomic int made;       // workers that exist: 0 to made - 1. Written under lock
    _Atomic int limit;                   // 0: the CPUs
    _Atomic int cpus;                    // 0: not counted yet
    _Atomic unsigned epoch;
    _Atomic size_t pending;              // tasks in the queue
    Mutex lock;
    TaskQueue queue;                     // guarded by lock
    _Atomic int64_t retry_at;            // no new thread before
} pool = {.lock = MUTEX_INIT};

_Thread_local bool pool_inside;

// ---- limits

// CPUs that this process may run on, or fewer where a container pays for fewer (quota.c); counted once.
int pool_cpu_count(void) {
    int known = atomic_load_explicit(&pool.cpus, memory_order_relaxed);
    if (known)
        return known;
    int count = 1;
    for (int most = 1024; most <= 1 << 20; most *= 4) {
        cpu_set_t *set = CPU_ALLOC(most);
        size_t size = CPU_ALLOC_SIZE(most);
        int failed = !set || sched_getaffinity(0, size, set) != 0;
        if (!failed)
            count = CPU_COUNT_S(size, set);
        if (set)
            CPU_FREE(set);
        if (!failed)
            break;
    }
    int paid = quota_processors("");
    count = paid && paid < count ? paid : count;
    count = count < 1 ? 1 : count > POOL_MOST_THREADS ? POOL_MOST_THREADS : count;
    atomic_store_explicit(&pool.cpus, count, memory_order_relaxed);
    return count;
}

int pool_limit(void) {
    int limit = atomic_load_explicit(&pool.limit, memory_order_relaxed);
    return limit ? limit : pool_cpu_count();
}

void pool_set_limit(int threads) {
    int limit = threads < 0 ? 0 : threads > POOL_MOST_THREADS ? POOL_MOST_THREADS : threads;
    atomic_store_explicit(&pool.limit, limit, memory_order_relaxed);
}

// Workers in use at once; a task needs one even where everything else runs on its caller.
static int helpers_allowed(void) {
    int limit = pool_limit();
    return limit > 1 ? limit - 1 : 1;
}

int pool_workers(void) {
    return atomic_load_explicit(&pool.made, memory_order_relaxed);
}

bool pool_is_inside(void) {
    return pool_inside;
}

unsigned pool_epoch(void) {
    return atomic_load_explicit(&pool.epoch, memory_order_relaxed);
}

// ---- handing over

void pool_hand(int worker, Work *work) {
    Worker *slot = &workers[worker];
    atomic_store(&slot->work, work);
    // Sequential order here and in next_work: either the worker sees the work, or we see that it sleeps.
    if (atomic_load(&slot->asleep) && atomic_exchange(&slot->asleep, 0))
        futex_wake(&slot->asleep, 1);
}

bool pool_take_back(int worker, Work *work) {
    return atomic_compare_exchange_strong(&workers[worker].work, &work, NULL);
}

void pool_leave(FutexWord *left) {
    // The top bit says that the joining thread sleeps. After the subtraction the memory may be gone.
    if (atomic_fetch_sub_explicit(left, 1, memory_order_acq_rel) == (1u << 31 | 1))
        futex_wake(left, 1);
}

void pool_join(FutexWord *left, unsigned epoch) {
    if (epoch != pool_epoch() || !atomic_load_explicit(left, memory_order_acquire))
        return;
    int64_t until = clock_now() + SPIN_NS;
    while (pool_cpu_count() > 1 && clock_now() < until) {
        for (int i = 0; i < 64; i++) {
            if (!atomic_load_explicit(left, memory_order_acquire))
                return;
            spin_pause();
        }
    }
    uint32_t count = atomic_fetch_or_explicit(left, 1u << 31, memory_order_acq_rel) | 1u << 31;
    while (count != 1u << 31) {
        futex_wait(left, count, NO_DEADLINE);
        count = atomic_load_explicit(left, memory_order_acquire);
    }
}

// ---- workers

// Reads before it writes: an exchange in a loop would take the line from whoever hands over.
static Work *look(Worker *slot) {
    if (!atomic_load_explicit(&slot->work, memory_order_relaxed))
        return NULL;
    return atomic_exchange(&slot->work, NULL);
}

static Work *next_work(Worker *slot) {
    for (;;) {
        int64_t until = clock_now() + SPIN_NS;
        Work *work = look(slot);
        while (!work && pool_cpu_count() > 1 && clock_now() < until) {
            for (int i = 0; i < 64 && !work; i++) {
                spin_pause();
                work = look(slot);
            }
        }
        if (work)
            return work;
        atomic_store(&slot->asleep, 1);
        if (!atomic_load(&slot->work))
            futex_wait(&slot->asleep, 1, NO_DEADLINE);
        atomic_store(&slot->asleep, 0);
    }
}

static void *worker_main(void *arg) {
    int self = (int)((Worker *)arg - workers);
    for (;;) {
        Work *work = next_work(&workers[self]);
        work->run(work, self);
    }
    return NULL;
}

bool pool_start_thread(void *(*main)(void *), void *arg) {
    // Signals are the client's threads'.
    sigset_t every, before;
    sigfillset(&every);
    pthread_t thread;
    pthread_sigmask(SIG_SETMASK, &every, &before);
    int failed = pthread_create(&thread, NULL, main, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        return false;
    pthread_setname_np(thread, "millrace");
    pthread_detach(thread);
    return true;
}

static void UNCHECKED_LOCKING before_fork(void) {
    mutex_lock(&pool.lock);
    elastic_before_fork();
}

static void UNCHECKED_LOCKING after_fork_in_parent(void) {
    elastic_after_fork(false);
    mutex_unlock(&pool.lock);
}

static void UNCHECKED_LOCKING after_fork_in_child(void) {
    elastic_after_fork(true);
    for (int i = 0; i < POOL_WORDS; i++)
        atomic_store(&pool.idle[i], 0);
    for (int i = 0; i < POOL_WORKERS; i++) {
        atomic_store(&workers[i].work, NULL);
        atomic_store(&workers[i].asleep, 0);
    }
    atomic_store(&pool.made, 0);
    atomic_fetch_add(&pool.epoch, 1);
    // The tasks are the parent's to run.
    task_queue_clear(&pool.queue);
    atomic_store(&pool.pending, 0);
    mutex_unlock(&pool.lock);
}

static void watch_fork(void) {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void pool_watch_fork(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_fork);
}

// Makes workers until there are `wanted`; quietly fewer where the system refuses.
static void grow(int wanted) {
    if (clock_now() < atomic_load_explicit(&pool.retry_at, memory_order_relaxed))
        return;
    pool_watch_fork();
    mutex_lock(&pool.lock);
    for (int w = pool_workers(); w < wanted; w++) {
        if (!pool_start_thread(worker_main, &workers[w])) {
            atomic_store_explicit(&pool.retry_at, clock_now() + RETRY_NS, memory_order_relaxed);
            break;
        }
        atomic_store_explicit(&pool.made, w + 1, memory_order_relaxed);
        atomic_fetch_or(&pool.idle[w / 64], 1ull << (w % 64));
    }
    mutex_unlock(&pool.lock);
}

int pool_claim(int wanted, WorkerSet *out) {
    memset(out, 0, sizeof *out);
    if (wanted > POOL_WORKERS)
        wanted = POOL_WORKERS;
    if (pool_workers() < wanted)
        grow(wanted);
    int claimed = 0;
    int usable = helpers_allowed();  // the limit may have been lowered since workers were made
    // Low numbers first: they worked last and are the likeliest to be awake.
    for (int i = 0; i * 64 < usable && claimed < wanted; i++) {
        uint64_t allowed = usable - i * 64 < 64 ? (1ull << (usable - i * 64)) - 1 : ~0ull;
        uint64_t idle = atomic_load(&pool.idle[i]);
        uint64_t take;
        int n;
        do {
            take = 0;
            n = 0;
            for (uint64_t rest = idle & allowed; rest && claimed + n < wanted; rest &= rest - 1, n++)
                take |= rest & -rest;
        } while (take && !atomic_compare_exchange_weak(&pool.idle[i], &idle, idle & ~take));
        out->bits[i] = take;
        claimed += n;
    }
    return claimed;
}

// ---- tasks

static void run_tasks(Work *work, int worker);
static Work task_work = {run_tasks};

static bool claim_for_tasks(void) {
    WorkerSet set;
    if (!pool_claim(1, &set))
        return false;
    pool_hand(worker_next(&set, -1), &task_work);
    return true;
}

void pool_return(int worker) {
    atomic_fetch_or(&pool.idle[worker / 64], 1ull << (worker % 64));
    // Sequential order here and in pool_submit: either this sees the task, or the submitter sees the idle worker.
    if (atomic_load(&pool.pending))
        claim_for_tasks();
}

static void run_tasks(Work *work, int worker) {
    (void)work;
    while (atomic_load(&pool.pending)) {
        mutex_lock(&pool.lock);
        struct Task task = {0};
        if (pool.queue.n) {
            task = task_queue_pop(&pool.queue);
            atomic_fetch_sub(&pool.pending, 1);
        }
        mutex_unlock(&pool.lock);
        if (task.fn)
            task.fn(task.arg);
    }
    pool_return(worker);
}

bool pool_submit(TaskFn *fn, void *arg) {
    if (!pool_workers())
        grow(1);
    if (!pool_workers())
        return false;
    mutex_lock(&pool.lock);
    bool queued = task_queue_push(&pool.queue, fn, arg);
    if (queued)
        atomic_fetch_add(&pool.pending, 1);
    mutex_unlock(&pool.lock);
    if (queued && !claim_for_tasks() && pool_workers() < helpers_allowed()) {
        grow(pool_workers() + 1);
        claim_for_tasks();
    }
    return queued;
}

bool task_queue_push(TaskQueue *queue, TaskFn *fn, void *arg) {
    if (queue->n == queue->room) {
        size_t room = queue->room ? queue->room * 2 : 64;
        struct Task *tasks = calloc(room, sizeof *tasks);
        if (!tasks)
            return false;
        for (size_t i = 0; i < queue->n; i++)
            tasks[i] = queue->tasks[(queue->head + i) & (queue->room - 1)];
        free(queue->tasks);
        *queue = (TaskQueue){tasks, 0, queue->n, room};
    }
    queue->tasks[(queue->head + queue->n++) & (queue->room - 1)] = (struct Task){fn, arg};
    return true;
}

struct Task task_queue_pop(TaskQueue *queue) {
    struct Task task = queue->tasks[queue->head];
    queue->head = (queue->head + 1) & (queue->room - 1);
    queue->n--;
    return task;
}

void task_queue_clear(TaskQueue *queue) {
    free(queue->tasks);
    *queue = (TaskQueue){0};
}

// ---- ranges

typedef struct {
    Work work;
    RangeFn *fn;
    void *arg;
    int64_t units, ranges;
    int max_threads;
    _Alignas(64) _Atomic int64_t next;
    FutexWord left;  // helpers that may still touch this
} RangeJob;

// By units and threads asked for alone, never by how many come: what a kernel computes for a range doesn't depend on
// load.
int64_t pool_ranges(int max_threads, int64_t units) {
    if (max_threads <= 1 || units <= 1)
        return units > 0;
    int64_t most = (int64_t)(max_threads < POOL_MOST_THREADS ? max_threads : POOL_MOST_THREADS) * RANGES_PER_THREAD;
    return units < most ? units : most;
}

int64_t pool_range_first(int max_threads, int64_t units, int64_t i) {
    int64_t ranges = pool_ranges(max_threads, units);
    if (ranges <= 1 || i <= 0)
        return i <= 0 ? 0 : units;
    // The first `units % ranges` ranges have one unit more.
    int64_t each = units / ranges, more = units % ranges;
    return each * i + (i < more ? i : more);
}

// Ranges are taken one by one from a shared counter: whoever is faster takes more.
static void run_ranges(RangeJob *job) {
    bool before = pool_inside;
    pool_inside = true;
    for (;;) {
        int64_t i = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
        if (i >= job->ranges)
            break;
        int64_t first = pool_range_first(job->max_threads, job->units, i);
        job->fn(job->arg, first, pool_range_first(job->max_threads, job->units, i + 1));
    }
    pool_inside = before;
}

static void help(Work *work, int worker) {
    RangeJob *job = (RangeJob *)work;
    run_ranges(job);
    // Idle before the caller may go on: its next call finds this worker again.
    pool_return(worker);
    pool_leave(&job->left);
}

// Gives back the claimed workers that sleep; returns how many are left.
static int keep_awake(WorkerSet *set) {
    int left = 0;
    for (int w = -1; (w = worker_next(set, w)) >= 0;) {
        if (atomic_load_explicit(&workers[w].asleep, memory_order_relaxed)) {
            set->bits[w / 64] &= ~(1ull << (w % 64));
            pool_return(w);
        } else {
            left++;
        }
    }
    return left;
}

static void run_with_helpers(RangeJob *job, int wanted, bool awake) {
    WorkerSet set;
    int made = pool_workers();
    int helpers = pool_claim(awake && wanted > made ? made : wanted, &set);
    if (awake)
        helpers = keep_awake(&set);
    unsigned epoch = pool_epoch();
    atomic_store_explicit(&job->left, (uint32_t)helpers, memory_order_relaxed);
    for (int w = -1; (w = worker_next(&set, w)) >= 0;)
        pool_hand(w, &job->work);
    run_ranges(job);
    if (!helpers || epoch != pool_epoch())
        return;
    for (int w = -1; (w = worker_next(&set, w)) >= 0;) {
        if (pool_take_back(w, &job->work)) {
            pool_return(w);
            atomic_fetch_sub_explicit(&job->left, 1, memory_order_relaxed);
        }
    }
    pool_join(&job->left, epoch);
}

static void run_shared(int max_threads, int64_t units, RangeFn *fn, void *arg, bool awake) {
    if (units <= 0)
        return;
    int64_t ranges = pool_ranges(max_threads, units);
    if (ranges == 1) {
        fn(arg, 0, units);
        return;
    }
    RangeJob job = {.work = {help}, .fn = fn, .arg = arg, .units = units, .ranges = ranges, .max_threads = max_threads};
    int limit = pool_limit();
    int threads = max_threads < limit ? max_threads : limit;
    if (threads > ranges)
        threads = (int)ranges;
    if (pool_inside || threads <= 1)
        run_ranges(&job);
    else
        run_with_helpers(&job, threads - 1, awake);
}

void pool_parallel(int max_threads, int64_t units, RangeFn *fn, void *arg) {
    run_shared(max_threads, units, fn, arg, false);
}

void pool_parallel_awake(int max_threads, int64_t units, RangeFn *fn, void *arg) {
    run_shared(max_threads, units, fn, arg, true);
}
