// Pool — the threads of the process: one budget, shared by every session, step and kernel.
//
// Work comes in three kinds. *Ranges*: a kernel is cut into ranges of units, the caller runs them and idle workers
// help. *Gangs* (gang.h): all threads at once, for kernels with barriers. *Tasks*: one function, run once, on some
// worker; and on elastic threads, outside the budget, if it may block. Nothing here waits for a busy worker, so nothing
// deadlocks.
//
// Workers are made when first needed, spin up to 50 us after their last work and then sleep; they end with the process.
// A forked child starts with no worker and no pending task. Signals of the host never run on our threads.
#pragma once
#include "base/status.h"

enum { POOL_MOST_THREADS = 256 };

typedef void RangeFn(void *arg, int64_t first, int64_t last);
typedef void TaskFn(void *arg);

// Runs fn over [0, units) cut into ranges, each unit exactly once, on this thread and up to `max_threads - 1` idle
// workers; returns when all is done. The ranges depend on (units, max_threads) alone, never on load: see pool_ranges.
// max_threads <= 1: one plain call. Inside a range or a gang: the same ranges, one after the other, on this thread.
// Threads beyond pool_limit are not used. fn must not wait for another range.
void pool_parallel(int max_threads, int64_t units, RangeFn *fn, void *arg);
// The same, with the help of workers that spin alone: for work that takes hardly longer than to wake one.
void pool_parallel_awake(int max_threads, int64_t units, RangeFn *fn, void *arg);

// How pool_parallel cuts: the number of ranges, and where range i begins (i == number: units). For partial results.
int64_t pool_ranges(int max_threads, int64_t units);
int64_t pool_range_first(int max_threads, int64_t units, int64_t i);

// True on a thread that is inside a range or a gang of more than one: parallel work would run inline.
bool pool_is_inside(void);

// Queues a task for the next idle worker; first come, first served. Tasks may use pool_parallel but must not wait for
// other tasks. False when no worker exists nor can be made, or memory is out: then the caller runs it.
FALLIBLE bool pool_submit(TaskFn *fn, void *arg);

// Runs a task that may block (file I/O, a wait for the network) on a thread of its own, at once; such threads are
// reused and end when idle for two seconds. False when no thread can be made: then the caller runs it.
FALLIBLE bool pool_elastic(TaskFn *fn, void *arg);

// The most threads, the caller included, that work at once. By default the CPUs that the process may use: by its
// affinity, and by the quota of its control group.
int pool_limit(void);
// From an explicit configuration: 1 to POOL_MOST_THREADS; 0 returns to the default. Workers already made stay.
void pool_set_limit(int threads);
int pool_cpu_count(void);
// Workers that exist now (elastic threads not counted).
int pool_workers(void);
