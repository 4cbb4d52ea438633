// Threads — callers of one session at once: how many steps per second it serves, one caller against eight.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "harness.h"

enum { CALLERS = 8 };

// What all callers do together. They take it in portions, so that none is left behind with work for itself alone.
typedef struct Work {
    const Bench *bench;
    int portion, portions;
    atomic_int taken;
} Work;

typedef struct Caller {
    Work *work;
    Run own;    // the run with a status of its own
    bool ok;
    double first;
} Caller;

static void *call(void *arg) {
    Caller *caller = arg;
    Work *work = caller->work;
    double first = 0;    // written at each step: not in what lies beside another caller's
    caller->ok = true;
    while (caller->ok && atomic_fetch_add(&work->taken, 1) < work->portions)
        caller->ok = work->bench->steps(&caller->own, work->portion, &first);
    caller->first = first;
    return NULL;
}

static bool steps_at_once(Run *run, const Bench *bench, int n, double *out_first) {
    pthread_t thread[CALLERS];
    Caller caller[CALLERS];
    int portion = n / 32 + 1;
    Work work = {.bench = bench, .portion = portion, .portions = (n * CALLERS + portion - 1) / portion};
    int started = 0;
    bool ok = true;
    for (int i = 0; i < CALLERS; i++) {
        caller[i] = (Caller){.work = &work, .own = *run};
        caller[i].own.status = run->api->TF_NewStatus();
    }
    while (started < CALLERS && !pthread_create(&thread[started], NULL, call, &caller[started]))
        started++;
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < CALLERS; i++) {
        if (i >= started || !caller[i].ok) {
            snprintf(run->error, sizeof run->error, "%s", i < started ? caller[i].own.error : "no thread");
            ok = false;
        }
        run->api->TF_DeleteStatus(caller[i].own.status);
    }
    for (int i = 0; i < CALLERS; i++)
        *out_first = caller[i].first != 0 ? caller[i].first : *out_first;    // who found no work has computed nothing
    return ok;
}

static void null_graph(GraphDef *g) {
    bench_null_step.graph(g);
}
static void null_prepare(Run *run) {
    bench_null_step.prepare(run);
}
static bool null_one(Run *run, int n, double *out_first) {
    return bench_null_step.steps(run, n, out_first);
}
static bool null_many(Run *run, int n, double *out_first) {
    return steps_at_once(run, &bench_null_step, n, out_first);
}
static void null_release(Run *run) {
    bench_null_step.release(run);
}
static void mlp_graph(GraphDef *g) {
    bench_mlp.graph(g);
}
static void mlp_prepare(Run *run) {
    bench_mlp.prepare(run);
}
static bool mlp_one(Run *run, int n, double *out_first) {
    return bench_mlp.steps(run, n, out_first);
}
// Eight callers train one set of weights, as asynchronous workers do; what they compute first depends on chance.
static bool mlp_many(Run *run, int n, double *out_first) {
    bool ok = steps_at_once(run, &bench_mlp, n, out_first);
    *out_first = 0;
    return ok;
}
static void mlp_release(Run *run) {
    bench_mlp.release(run);
}
static void forward_prepare(Run *run) {
    bench_mlp_forward.prepare(run);
}
static bool forward_many(Run *run, int n, double *out_first) {
    return steps_at_once(run, &bench_mlp_forward, n, out_first);
}

const Bench bench_threads_null_1 = {
    "threads.null.1", "step", "null_step, one caller", ITEMS_PER_SECOND, 1, null_graph, null_prepare, null_one,
    null_release};
const Bench bench_threads_null_8 = {
    "threads.null.8", "step", "null_step, eight callers in one session", ITEMS_PER_SECOND, CALLERS, null_graph,
    null_prepare, null_many, null_release};
const Bench bench_threads_mlp_1 = {
    "threads.mlp.1", "step", "mlp, one caller", ITEMS_PER_SECOND, 1, mlp_graph, mlp_prepare, mlp_one, mlp_release};
const Bench bench_threads_mlp_8 = {
    "threads.mlp.8", "step", "mlp, eight callers in one session", ITEMS_PER_SECOND, CALLERS, mlp_graph, mlp_prepare,
    mlp_many, mlp_release};
const Bench bench_threads_forward_1 = {
    "threads.forward.1", "step", "mlp.forward, one caller", ITEMS_PER_SECOND, 1, mlp_graph, forward_prepare, mlp_one,
    mlp_release};
const Bench bench_threads_forward_8 = {
    "threads.forward.8", "step", "mlp.forward, eight callers in one session", ITEMS_PER_SECOND, CALLERS, mlp_graph,
    forward_prepare, forward_many, mlp_release};
