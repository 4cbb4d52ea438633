// Session trace test — what a step notes of its nodes: each call once, with its place in time, however it is run.
#define _GNU_SOURCE  // memmem
#include <stdio.h>
#include <string.h>

#include "run/trace.h"
#include "session/one_session_test.h"
#include "session/threads_test.h"

static void setup(void) {
    open_graph();
    SessionConfig config = session_config_default();
    config.intra_threads = 1;
    config.inter_threads = 2;
    open_session_with(&config);
}

static Status *run(Output feed, const Tensor *value, Output fetch, Tensor *out, Trace *trace) {
    StepSignature signature = {.feeds = &feed, .n_feeds = 1, .fetches = &fetch, .n_fetches = 1};
    trace_begin(trace);
    return session_run(session, &signature, &(RunSettings){.trace = trace}, &value, out);
}

static Output fed(DType dtype) {
    return formula_op(&formula, "Placeholder", NULL, 0, ATTRS(TYPE_ATTR("dtype", dtype)));
}

// How many calls of nodes the op of which has that name were noted; each lies within the step.
static int calls_of(const Trace *trace, const char *op) {
    int n = 0;
    char call[64];
    snprintf(call, sizeof call, " = %s(", op);
    ck_assert(!trace->failed);
    for (size_t i = 0; i < trace->rows.n; i++) {
        const TraceRow *row = &trace->rows.p[i];
        ck_assert(row->start >= trace->start && row->end >= row->start && row->thread != 0);
        ck_assert(str_is(row->device, "/job:localhost/replica:0/task:0/device:CPU:0"));
        n += memmem(row->label.p, row->label.n, call, strlen(call)) != NULL;
    }
    return n;
}

START_TEST(lists) {
    Formula *f = &formula;
    Output x = fed(DT_float), y = MatMul(x, x, false, false), z = Sum(y, Int(0), false);
    GOOD(f->status);
    for (int round = 0; round < 3; round++) {  // of another shape the first time, then as it was prepared
        AUTO(tensor) Tensor in;
        GOOD(tensor_new(DT_float, SHAPE(2 + (round > 0), 2 + (round > 0)), &in));
        memset(in.data, 0, tensor_bytes(&in));
        AUTO(tensor) Tensor out = {0};
        AUTO(trace) Trace trace;
        GOOD(run(x, &in, z, &out, &trace));
        ck_assert_int_eq(calls_of(&trace, "MatMul"), 1);
        ck_assert_int_eq(calls_of(&trace, "Sum"), 1);
        ck_assert_int_eq(trace.rows.p[0].bytes, (int64_t)tensor_bytes(&in));
        ck_assert(trace.rows.p[1].start >= trace.rows.p[0].end);
    }
}
END_TEST

START_TEST(loops) {
    Output limit = fed(DT_int32), last = loop_to(&formula, limit);
    AUTO(tensor) Tensor in;
    GOOD(tensor_new(DT_int32, SHAPE(1), &in));
    *(int32_t *)in.data = 5;
    for (int round = 0; round < 2; round++) {
        AUTO(tensor) Tensor out = {0};
        AUTO(trace) Trace trace;
        GOOD(run(limit, &in, last, &out, &trace));
        ck_assert_int_eq(*(int32_t *)out.data, 5);
        ck_assert_int_eq(calls_of(&trace, "AddV2"), 5);
    }
}
END_TEST

START_TEST(nothing_is_noted_for_others) {
    Formula *f = &formula;
    Output x = fed(DT_float), y = Neg(x);
    GOOD(f->status);
    AUTO(tensor) Tensor in;
    GOOD(tensor_new(DT_float, SCALAR_SHAPE, &in));
    *(float *)in.data = 1;
    AUTO(trace) Trace trace;
    AUTO(tensor) Tensor out = {0};
    AUTO(tensor) Tensor other = {0};
    GOOD(run(x, &in, y, &out, &trace));
    size_t n = trace.rows.n;
    ck_assert_uint_gt(n, 0);
    StepSignature signature = {.feeds = &x, .n_feeds = 1, .fetches = &y, .n_fetches = 1};
    GOOD(session_run(session, &signature, &run_settings_default, (const Tensor *[]){&in}, &other));
    ck_assert_uint_eq(trace.rows.n, n);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("traces");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, close_all);
    tcase_add_test(tests, lists);
    tcase_add_test(tests, loops);
    tcase_add_test(tests, nothing_is_noted_for_others);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
