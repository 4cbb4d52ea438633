// Pool test — every unit once, in every kind of use. [threads]
#define _GNU_SOURCE  // RUSAGE_THREAD
#include <check.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/suite_test.h"
#include "thread/gang.h"
#include "thread/mutex.h"
#include "thread/notification.h"
#include "thread/pool.h"
#include "thread/rest_test.h"

typedef struct {
    int64_t units;
    _Atomic int *seen;
    int nested;   // threads of a nested call; 0: none
    bool inside;  // what is cut must know it
    _Atomic int bad;
} Cover;

static void count_one(void *arg, int64_t first, int64_t last) {
    _Atomic int64_t *sum = arg;
    for (int64_t i = first; i < last; i++)
        atomic_fetch_add(sum, i);
}

static void cover(void *arg, int64_t first, int64_t last) {
    Cover *c = arg;
    if (first < 0 || last > c->units || first >= last)
        atomic_fetch_add(&c->bad, 1);
    for (int64_t i = first; i < last; i++)
        atomic_fetch_add(&c->seen[i], 1);
    if (c->nested) {
        if (c->inside && !pool_is_inside())
            atomic_fetch_add(&c->bad, 1);
        _Atomic int64_t sum = 0;
        pool_parallel(c->nested, 10, count_one, &sum);
        if (sum != 45)
            atomic_fetch_add(&c->bad, 1);
    }
}

typedef void Parallel(int max_threads, int64_t units, RangeFn *fn, void *arg);

static int uncovered_by(Parallel *parallel, int threads, int64_t units, int nested) {
    Cover c = {.units = units, .seen = calloc((size_t)units + 1, sizeof(int)), .nested = nested,
               .inside = pool_ranges(threads, units) > 1};
    parallel(threads, units, cover, &c);
    int bad = c.bad;
    for (int64_t i = 0; i < units; i++)
        bad += c.seen[i] != 1;
    free(c.seen);
    return bad;
}

static int uncovered(int threads, int64_t units, int nested) {
    return uncovered_by(pool_parallel, threads, units, nested);
}

START_TEST(one_thread_is_a_plain_call) {
    int before = pool_workers();
    ck_assert_int_eq(uncovered(1, 1000, 0), 0);
    ck_assert_int_eq(uncovered(0, 10, 0), 0);
    ck_assert_int_eq(pool_workers(), before);
    ck_assert(!pool_is_inside());
}
END_TEST

START_TEST(every_unit_exactly_once) {
    pool_set_limit(8);
    int64_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 100, 1000, 4097};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int threads = 1; threads <= 9; threads++) {
            ck_assert_int_eq(uncovered(threads, sizes[i], i % 2 ? threads : 0), 0);
            ck_assert_int_eq(uncovered_by(pool_parallel_awake, threads, sizes[i], i % 2 ? threads : 0), 0);
        }
    ck_assert_int_le(pool_workers(), 7);
    pool_set_limit(0);
}
END_TEST

START_TEST(ranges_depend_on_units_and_threads_only) {
    int64_t units[] = {1, 5, 16, 17, 1000, INT64_MAX};
    for (size_t u = 0; u < 6; u++) {
        for (int threads = 1; threads < 300; threads += 7) {
            int64_t n = pool_ranges(threads, units[u]);
            ck_assert_int_ge(n, 1);
            ck_assert_int_eq(pool_range_first(threads, units[u], 0), 0);
            ck_assert_int_eq(pool_range_first(threads, units[u], n), units[u]);
            for (int64_t i = 0; i < n; i++)
                ck_assert_int_lt(pool_range_first(threads, units[u], i), pool_range_first(threads, units[u], i + 1));
        }
    }
    ck_assert_int_eq(pool_ranges(4, 0), 0);
}
END_TEST

// ---- helpers that don't run

typedef struct {
    pthread_t caller;
    _Atomic bool taken, released;
    _Atomic int others;
    long sleeps;           // of the caller until its last range had ended
} Holding;

static long own_sleeps(void) {
    struct rusage usage;
    ck_assert_int_eq(getrusage(RUSAGE_THREAD, &usage), 0);
    return usage.ru_nvcsw;
}

// The helper that takes a range first keeps it until it is released; the caller waits only for that.
static void hold_one(void *arg, int64_t first, int64_t last) {
    Holding *h = arg;
    (void)first, (void)last;
    if (pthread_equal(pthread_self(), h->caller)) {
        for (int i = 0; i < 100 && !h->taken; i++)
            usleep(1000);
        h->sleeps = own_sleeps();
        return;
    }
    if (atomic_fetch_add(&h->others, 1))
        return;
    h->taken = true;
    while (!h->released)
        usleep(100);
}

static void *release_later(void *arg) {
    Holding *h = arg;
    usleep(200000);
    h->released = true;
    return NULL;
}

START_TEST(the_caller_sleeps_for_the_last_range) {
    pool_set_limit(2);
    Holding h = {.caller = pthread_self()};
    pthread_t thread;
    pthread_create(&thread, NULL, release_later, &h);
    pool_parallel(2, 8, hold_one, &h);
    ck_assert(!h.taken || own_sleeps() > h.sleeps);
    ck_assert(!h.taken || h.released);
    pthread_join(thread, NULL);
    pool_set_limit(0);
}
END_TEST

// The one worker is busy with another's task: nobody waits for it.
static void busy_until_released(void *arg) {
    Holding *h = arg;
    h->taken = true;
    while (!h->released)
        usleep(100);
    h->others = 1;
}

START_TEST(a_helper_that_comes_late_costs_nothing) {
    pool_set_limit(2);
    Holding h = {0};
    ck_assert(pool_submit(busy_until_released, &h));
    while (!h.taken)
        usleep(100);
    ck_assert_int_eq(uncovered(2, 1000, 0), 0);
    ck_assert(!h.released);
    h.released = true;
    while (!h.others)
        usleep(100);
    pool_set_limit(0);
}
END_TEST

START_TEST(limit_bounds_the_workers) {
    ck_assert_int_ge(pool_cpu_count(), 1);
    ck_assert_int_eq(pool_limit(), pool_cpu_count());
    pool_set_limit(100000);
    ck_assert_int_eq(pool_limit(), POOL_MOST_THREADS);
    pool_set_limit(3);
    ck_assert_int_eq(uncovered(64, 500, 0), 0);
    pool_set_limit(0);
}
END_TEST

enum { CALLERS = 8, ROUNDS = 300 };

static void *call_often(void *arg) {
    int *bad = arg;
    for (int i = 0; i < ROUNDS; i++)
        *bad += uncovered_by(i % 5 ? pool_parallel : pool_parallel_awake, 1 + i % 6, 40 + i, i % 3 == 0 ? 3 : 0);
    return NULL;
}

START_TEST(many_callers_at_once) {
    pool_set_limit(6);
    pthread_t threads[CALLERS];
    int bad[CALLERS] = {0};
    for (int i = 0; i < CALLERS; i++)
        pthread_create(&threads[i], NULL, call_often, &bad[i]);
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_int_eq(bad[i], 0);
    }
    pool_set_limit(0);
}
END_TEST

// ---- tasks

typedef struct {
    _Atomic int left;
    Notification done;
    _Atomic int bad;
} Tasks;

static void one_task(void *arg) {
    Tasks *tasks = arg;
    atomic_fetch_add(&tasks->bad, uncovered(3, 20, 0));
    if (atomic_fetch_sub(&tasks->left, 1) == 1)
        notification_notify(&tasks->done);
}

static void run_tasks(bool elastic, int n) {
    Tasks *tasks = calloc(1, sizeof *tasks);
    tasks->left = n;
    for (int i = 0; i < n; i++)
        if (!(elastic ? pool_elastic(one_task, tasks) : pool_submit(one_task, tasks)))
            one_task(tasks);
    ck_assert(notification_wait(&tasks->done, clock_now() + 20000ll * CLOCK_MS));
    ck_assert_int_eq(tasks->bad, 0);
    free(tasks);
}

START_TEST(tasks_run_once) {
    run_tasks(false, 1);
    run_tasks(false, 1000);
    pool_set_limit(1);
    run_tasks(false, 100);
    pool_set_limit(0);
}
END_TEST

typedef struct {
    Notification *go;
    _Atomic int *arrived;
    Notification all;
    int n;
} Blockers;

static void block(void *arg) {
    Blockers *b = arg;
    if (atomic_fetch_add(b->arrived, 1) + 1 == b->n)
        notification_notify(&b->all);
    notification_wait(b->go, NO_DEADLINE);
    atomic_fetch_sub(b->arrived, 1);
}

START_TEST(elastic_tasks_block_without_blocking_others) {
    Notification go = {0};
    _Atomic int arrived = 0;
    Blockers b = {.go = &go, .arrived = &arrived, .n = 20};
    for (int i = 0; i < b.n; i++)
        ck_assert(pool_elastic(block, &b));
    // All twenty are inside at once: each got its own thread.
    ck_assert(notification_wait(&b.all, clock_now() + 20000ll * CLOCK_MS));
    notification_notify(&go);
    while (atomic_load(&arrived))
        usleep(100);
    run_tasks(true, 50);
}
END_TEST

// ---- gangs

typedef struct {
    _Atomic int here, members;
    _Atomic int bad;
    int rounds;
} Meeting;

static void meet(void *arg, int id, int n) {
    Meeting *m = arg;
    atomic_fetch_add(&m->members, 1);
    if (id < 0 || id >= n || (n > 1 && !pool_is_inside()))
        atomic_fetch_add(&m->bad, 1);
    for (int i = 0; i < m->rounds; i++) {  // a barrier: who isn't running would never come
        atomic_fetch_add(&m->here, 1);
        while (atomic_load(&m->here) < (i + 1) * n)
            sched_yield();
    }
}

// Claims, runs and releases. How many threads ran: `threads`, or 1.
static int run_gang(int threads, GangFn *fn, void *arg) {
    Gang gang;
    int n = gang_claim(&gang, threads);
    gang_run(&gang, fn, arg);
    gang_release(&gang);
    return n;
}

START_TEST(gang_meets_whole) {
    pool_set_limit(4);
    for (int threads = 1; threads <= 4; threads++) {
        Meeting m = {.rounds = 50};
        int n = run_gang(threads, meet, &m);
        ck_assert(n == threads || n == 1);
        ck_assert_int_eq(m.members, n);
        ck_assert_int_eq(m.bad, 0);
    }
    Gang gang;
    int n = gang_claim(&gang, 4);
    ck_assert_int_eq(n, 4);
    // The workers are taken: another gang is refused and runs alone, another kernel runs on its caller.
    Meeting alone = {.rounds = 2};
    ck_assert_int_eq(run_gang(2, meet, &alone), 1);
    ck_assert_int_eq(uncovered(4, 100, 0), 0);
    for (int i = 0; i < 20; i++) {
        Meeting m = {.rounds = 5};
        gang_run(&gang, meet, &m);
        ck_assert_int_eq(m.members, 4);
        ck_assert_int_eq(m.bad, 0);
    }
    gang_release(&gang);
    ck_assert_int_eq(run_gang(5, meet, &alone), 1);
    pool_set_limit(0);
}
END_TEST

static void *gang_often(void *arg) {
    int *bad = arg;
    for (int i = 0; i < ROUNDS / 3; i++) {
        Meeting m = {.rounds = 2};
        int threads = 2 + i % 3;
        int n = run_gang(threads, meet, &m);
        *bad += m.bad + (n != threads && n != 1) + (m.members != n) + uncovered(3, 30, 2);
    }
    return NULL;
}

START_TEST(gangs_and_ranges_share_the_workers) {
    pool_set_limit(5);
    pthread_t threads[CALLERS];
    int bad[CALLERS] = {0};
    for (int i = 0; i < CALLERS; i++)
        pthread_create(&threads[i], NULL, i % 2 ? gang_often : call_often, &bad[i]);
    run_tasks(false, 200);
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_int_eq(bad[i], 0);
    }
    pool_set_limit(0);
}
END_TEST

// ---- fork

static int use_everything(void) {
    Meeting m = {.rounds = 3};
    int n = run_gang(3, meet, &m);
    int bad = uncovered(4, 1000, 2) + m.bad + (n != 3);
    Tasks *tasks = calloc(1, sizeof *tasks);
    tasks->left = 20;
    for (int i = 0; i < 20; i++)
        if (!(i % 2 ? pool_elastic(one_task, tasks) : pool_submit(one_task, tasks)))
            one_task(tasks);
    bad += !notification_wait(&tasks->done, clock_now() + 20000ll * CLOCK_MS) + tasks->bad;
    free(tasks);
    return bad;
}

START_TEST(a_forked_child_starts_empty) {
    pool_set_limit(4);
    ck_assert_int_eq(use_everything(), 0);
    ck_assert_int_ge(pool_workers(), 1);
    for (int i = 0; i < 5; i++) {
        wait_for_rest();
        pid_t child = fork();
        if (child == 0) {
            alarm(30);
            int bad = pool_workers() != 0;
            bad += use_everything();
            _exit(bad);
        }
        int status = -1;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_int_eq(use_everything(), 0);
    pool_set_limit(0);
}
END_TEST

static void fork_inside(void *arg, int64_t first, int64_t last) {
    _Atomic int *failed = arg;
    for (int64_t i = first; i < last; i++) {
        if (i)
            continue;
        wait_for_rest();
        pid_t child = fork();
        if (child == 0) {
            alarm(30);
            _exit(uncovered(4, 100, 0));
        }
        int status = -1;
        if (waitpid(child, &status, 0) != child || status != 0)
            atomic_fetch_add(failed, 1);
    }
}

START_TEST(fork_inside_a_range) {
    pool_set_limit(4);
    _Atomic int failed = 0;
    for (int i = 0; i < 5; i++)
        pool_parallel(4, 64, fork_inside, &failed);
    ck_assert_int_eq(failed, 0);
    pool_set_limit(0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("pool");
    TCase *cases = tcase_create("pool");
    tcase_set_timeout(cases, 120);
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, one_thread_is_a_plain_call);
    tcase_add_test(cases, every_unit_exactly_once);
    tcase_add_test(cases, ranges_depend_on_units_and_threads_only);
    tcase_add_test(cases, limit_bounds_the_workers);
    tcase_add_test(cases, many_callers_at_once);
    tcase_add_test(cases, tasks_run_once);
    tcase_add_test(cases, elastic_tasks_block_without_blocking_others);
    tcase_add_test(cases, a_helper_that_comes_late_costs_nothing);
    tcase_add_test(cases, the_caller_sleeps_for_the_last_range);
    tcase_add_test(cases, gang_meets_whole);
    tcase_add_test(cases, gangs_and_ranges_share_the_workers);
    tcase_add_test(cases, a_forked_child_starts_empty);
    tcase_add_test(cases, fork_inside_a_range);
    return run_suite(suite);
}
