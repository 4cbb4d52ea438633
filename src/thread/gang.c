// Gang — see gang.h.
#include "thread/pool_internal.h"

#include <limits.h>
#include <sched.h>
#include <string.h>

enum { BARRIER_SPINS = 4000 };

typedef struct {
    Work work;
    Gang *gang;
    int id;
} Member;

int gang_claim(Gang *gang, int threads) {
    *gang = (Gang){.n = 1, .epoch = pool_epoch()};
    if (threads <= 1 || threads > pool_limit() || pool_here.inside)
        return 1;
    WorkerSet set;
    if (pool_claim(threads - 1, &set) == threads - 1) {
        gang->n = threads;
        gang->epoch = pool_epoch();
        memcpy(gang->members, set.bits, sizeof set.bits);
        return threads;
    }
    for (int w = -1; (w = worker_next(&set, w)) >= 0;)
        pool_return(w);
    return 1;
}

static void take_part(Gang *gang, int id) {
    PoolPlace before = pool_here;
    pool_here = (PoolPlace){.inside = before.inside || gang->n > 1, .gang = gang, .id = id};
    gang->fn(gang->arg, id, gang->n);
    pool_here = before;
}

static void member_run(Work *work, int worker) {
    (void)worker;
    Member *member = (Member *)work;
    Gang *gang = member->gang;
    take_part(gang, member->id);
    pool_leave(&gang->left);
}

void gang_run(Gang *gang, GangFn *fn, void *arg) {
    gang->fn = fn;
    gang->arg = arg;
    if (gang->n == 1) {
        take_part(gang, 0);
        return;
    }
    Member members[POOL_MOST_THREADS];
    WorkerSet set;
    memcpy(set.bits, gang->members, sizeof set.bits);
    atomic_store_explicit(&gang->left, (uint32_t)gang->n - 1, memory_order_relaxed);
    int id = 0;
    for (int w = -1; (w = worker_next(&set, w)) >= 0;) {
        id++;
        members[id] = (Member){{member_run}, gang, id};
        pool_hand(w, &members[id].work);
    }
    take_part(gang, 0);
    pool_join(&gang->left, gang->epoch);
}

void gang_release(Gang *gang) {
    WorkerSet set;
    memcpy(set.bits, gang->members, sizeof set.bits);
    if (gang->epoch == pool_epoch())
        for (int w = -1; (w = worker_next(&set, w)) >= 0;)
            pool_return(w);
    *gang = (Gang){.n = 1};
}

void gang_barrier(void) {
    Gang *gang = pool_here.gang;
    if (!gang || gang->n < 2)
        return;
    uint32_t round = atomic_load_explicit(&gang->round, memory_order_acquire);
    if (atomic_fetch_add_explicit(&gang->arrived, 1, memory_order_acq_rel) + 1 == (uint32_t)gang->n) {
        atomic_store_explicit(&gang->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&gang->round, round + 1, memory_order_release);
        return;
    }
    for (int i = 0; atomic_load_explicit(&gang->round, memory_order_acquire) == round; i++) {
        if (i < BARRIER_SPINS && pool_cpu_count() > 1)
            spin_pause();
        else
            sched_yield();
    }
}

int gang_size(void) {
    return pool_here.gang ? pool_here.gang->n : 1;
}

int gang_id(void) {
    return pool_here.gang ? pool_here.id : 0;
}

int pool_gang(int threads, GangFn *fn, void *arg) {
    Gang gang;
    int n = gang_claim(&gang, threads);
    gang_run(&gang, fn, arg);
    gang_release(&gang);
    return n;
}
