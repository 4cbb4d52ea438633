// Gang — see gang.h: threads that all run at once, for work with barriers (oneDNN's regions).
//
// All wanted workers or none: a barrier that waits for a thread which never comes would wait for ever. They stay
// claimed between runs, so that a primitive's several regions don't claim them each time.
#include "thread/pool_internal.h"

#include <string.h>

typedef struct {
    Work work;
    Gang *gang;
    int id;
} Member;

int gang_claim(Gang *gang, int threads) {
    *gang = (Gang){.n = 1, .epoch = pool_epoch()};
    if (threads <= 1 || threads > pool_limit() || pool_inside)
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

// Inside, nested calls of the pool run on their caller alone.
static void take_part(Gang *gang, int id) {
    bool before = pool_inside;
    pool_inside = before || gang->n > 1;
    gang->fn(gang->arg, id, gang->n);
    pool_inside = before;
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
