// Lanes tests — each of the ranges that run at once has a lane to itself, however many threads there are.
#include <check.h>
#include <stdlib.h>

#include "base/suite_test.h"
#include "kernel/lanes.h"

static Prepare prepare;
static LanePlan plan;
static Lanes lanes;
static char *scratch;

static void open_lanes(int threads, int64_t units) {
    prepare = (Prepare){.threads = threads, .scratch = 10};
    lanes_prepare(&prepare, 100, units, &plan);
    scratch = aligned_alloc(64, round_up(prepare.scratch, 64));
    ck_assert_ptr_nonnull(scratch);
    lanes_open(&(Kernel){.scratch = scratch}, &plan, &lanes);
}

static void close_lanes(void) {
    free(scratch);
}

START_TEST(one_for_each_thread) {
    open_lanes(_i, INT64_MAX);
    ck_assert_int_eq(plan.n, _i);
    bool taken[POOL_MOST_THREADS] = {0};
    for (int i = 0; i < _i; i++) {
        int lane = lanes_take(&lanes);
        ck_assert(lane >= 0 && lane < _i && !taken[lane]);
        taken[lane] = true;
        char *memory = lanes_memory(&lanes, lane);
        ck_assert(memory >= scratch + 64 && memory + 100 <= scratch + prepare.scratch);
        memset(memory, i, 100);
    }
    lanes_give(&lanes, _i / 2);
    ck_assert_int_eq(lanes_take(&lanes), _i / 2);
    close_lanes();
}
END_TEST

START_TEST(no_more_than_units) {
    open_lanes(100, 3);
    ck_assert_int_eq(plan.n, 3);
    close_lanes();
    open_lanes(0, 0);
    ck_assert_int_eq(plan.n, 1);
    close_lanes();
    open_lanes(10 * POOL_MOST_THREADS, INT64_MAX);
    ck_assert_int_eq(plan.n, POOL_MOST_THREADS);
    close_lanes();
}
END_TEST

// ---------------------------------------- by threads

typedef struct {
    Lanes *lanes;
    _Atomic int users[POOL_MOST_THREADS];
    _Atomic int clashes;
} Shared;

static void use_lane(void *arg, int64_t first, int64_t last) {
    Shared *shared = arg;
    for (int64_t i = first; i < last; i++) {
        int lane = lanes_take(shared->lanes);
        shared->clashes += atomic_fetch_add(&shared->users[lane], 1) != 0;
        sched_yield();
        atomic_fetch_sub(&shared->users[lane], 1);
        lanes_give(shared->lanes, lane);
    }
}

// Fewer lanes than threads: some wait, none share.
START_TEST(never_twice) {
    pool_set_limit(8);
    open_lanes(3, INT64_MAX);
    Shared shared = {.lanes = &lanes};
    pool_parallel(8, 4000, use_lane, &shared);
    ck_assert_int_eq(shared.clashes, 0);
    close_lanes();
    pool_set_limit(0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lanes");
    TCase *c = tcase_create("all");
    static const int threads[] = {1, 2, 63, 64, 65, 100, 128, POOL_MOST_THREADS};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
        tcase_add_loop_test(c, one_for_each_thread, threads[i], threads[i] + 1);
    tcase_add_test(c, no_more_than_units);
    tcase_add_test(c, never_twice);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
