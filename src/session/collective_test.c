// [threads] Collective test — groups of several devices in one process: what they get, what disagrees, what never comes.
#include <pthread.h>
#include <stdlib.h>

#include "session/one_session_test.h"

enum { N = 4 };

static void setup(void) {
    open_graph();
    SessionConfig config = session_config_default();
    config.devices[0] = (DeviceCount){STR("CPU"), N};
    config.n_devices = 1;
    open_session_with(&config);
}

static void teardown(void) {
    close_all();
}

static void go(int device) {
    static const char *const names[] = {"/device:CPU:0", "/device:CPU:1", "/device:CPU:2", "/device:CPU:3"};
    formula.device = str_of(names[device]);
}

typedef struct {
    const char *op, *merge, *final;
    int size, group, instance;
    float timeout;
} How;

static Output collective(Output input, How how) {
    Formula *f = &formula;
    Output size = Int(how.size), group = Int(how.group), instance = Int(how.instance);
    FormulaArg args[] = {{&input, 1, false}, {&size, 1, false}, {&group, 1, false}, {&instance, 1, false}, {NULL, 0, true}};
    FormulaAttr attrs[4] = {{"timeout_seconds", ATTR_OF_FLOAT(how.timeout)}};
    if (how.merge) {
        attrs[1] = (FormulaAttr){"merge_op", ATTR_OF_STRING(str_of(how.merge))};
        attrs[2] = (FormulaAttr){"final_op", ATTR_OF_STRING(str_of(how.final))};
    }
    return (Output){formula_node(f, how.op, args, strstr(how.op, "Bcast") ? 4 : 5, attrs), 0};
}

static Output rows(int first, int n) {
    Formula *f = &formula;
    return Reshape(Range(Number(first, DT_float), Number(first + 2 * n, DT_float), Number(1, DT_float)), Ints(n, 2));
}

static Status *fetch_all(const Output *ys, int n, Tensor *out) {
    GOOD(formula.status);
    StepSignature signature = {.fetches = ys, .n_fetches = n};
    return session_run(session, &signature, &run_settings_default, NULL, out);
}

static void expect_rows(const Tensor *t, int n, const float *values) {
    ck_assert_int_eq(tensor_count(t), n);
    for (int i = 0; i < n; i++)
        ck_assert_float_eq(((const float *)t->data)[i], values[i]);
}

START_TEST(reduces) {
    static const struct {
        const char *merge, *final;
        float value;
    } WAYS[] = {{"Add", "Id", 100}, {"Add", "Div", 25}, {"Mul", "Id", 240000}, {"Min", "Id", 10}, {"Max", "Id", 40}};
    Formula *f = &formula;
    for (size_t way = 0; way < sizeof WAYS / sizeof *WAYS; way++) {
        Output ys[N];
        Tensor values[N];
        for (int i = 0; i < N; i++) {
            go(i);
            ys[i] = collective(Number(10 * (i + 1), DT_float),
                               (How){"CollectiveReduceV2", WAYS[way].merge, WAYS[way].final, N, 1, (int)way, 0});
        }
        for (int step = 0; step < 3; step++) {
            GOOD(fetch_all(ys, N, values));
            for (int i = 0; i < N; i++) {
                expect_rows(&values[i], 1, &WAYS[way].value);
                tensor_clear(&values[i]);
            }
        }
    }
}
END_TEST

START_TEST(gathers_in_the_order_of_devices) {
    Output ys[3];
    Tensor values[3];
    for (int i = 2; i >= 0; i--) {  // of 1, 2 and 3 rows
        go(i);
        ys[i] = collective(rows(10 * i, i + 1), (How){"CollectiveGatherV2", NULL, NULL, 3, 2, 1, 0});
    }
    GOOD(fetch_all(ys, 3, values));
    for (int i = 0; i < 3; i++) {
        expect_rows(&values[i], 12, (float[]){0, 1, 10, 11, 12, 13, 20, 21, 22, 23, 24, 25});
        tensor_clear(&values[i]);
    }
}
END_TEST

START_TEST(broadcasts) {
    Formula *f = &formula;
    Output ys[2];
    Tensor values[2];
    go(1);
    ys[1] = collective(rows(3, 1), (How){"CollectiveBcastSendV2", NULL, NULL, 2, 3, 1, 0});
    go(0);
    Output keys[] = {Int(2), Int(3), Int(1), Ints(1, 2)};
    ys[0] = formula_op(f, "CollectiveBcastRecvV2", keys, 4, ATTRS(TYPE_ATTR("T", DT_float)));
    GOOD(fetch_all(ys, 2, values));
    for (int i = 0; i < 2; i++) {
        expect_rows(&values[i], 2, (float[]){3, 4});
        tensor_clear(&values[i]);
    }
}
END_TEST

START_TEST(exchanges_rows) {
    Output ys[2];
    Tensor values[2];
    for (int i = 0; i < 2; i++) {
        go(i);
        ys[i] = collective(rows(10 * i, 2), (How){"CollectiveAllToAllV2", NULL, NULL, 2, 4, 1, 0});
    }
    GOOD(fetch_all(ys, 2, values));
    expect_rows(&values[0], 4, (float[]){0, 1, 10, 11});
    expect_rows(&values[1], 4, (float[]){2, 3, 12, 13});
    tensor_clear(&values[0]);
    tensor_clear(&values[1]);
}
END_TEST

// ---------------------------------------- what goes wrong

static void refused(Output a, Output b, Code code, const char *words) {
    Tensor values[2];
    Status *status = fetch_all((Output[]){a, b}, 2, values);
    ck_assert_msg(status_code(status) == code && strstr(status_message(status), words), "%s: %s", code_name(status_code(status)),
                  status_message(status));
    status_free(status);
}

static Output on(int device, Output input, How how) {
    go(device);
    return collective(input, how);
}

START_TEST(members_that_disagree) {
    Formula *f = &formula;
    How how = {"CollectiveReduceV2", "Add", "Id", 2, 5, 1, 0}, other = how;
    refused(on(0, rows(0, 1), how), on(1, rows(0, 2), how), INVALID_ARGUMENT, "Shape mismatch in the collective instance 1");
    refused(on(0, Number(1, DT_float), how), on(1, Number(1, DT_double), how), INVALID_ARGUMENT, "another operation or type");
    other.merge = "Max";
    refused(on(0, rows(0, 1), how), on(1, rows(0, 1), other), INVALID_ARGUMENT, "another operation");
    other = how;
    other.size = 3;
    refused(on(0, rows(0, 1), how), on(1, rows(0, 1), other), INVALID_ARGUMENT, "members");
    refused(on(2, rows(0, 1), how), on(2, rows(0, 1), how), INVALID_ARGUMENT, "is a member already");
    How send = {"CollectiveBcastSendV2", NULL, NULL, 2, 6, 1, 0};
    refused(on(0, rows(0, 1), send), on(1, rows(0, 1), send), INVALID_ARGUMENT, "both");
    // After all that the same groups work.
    Tensor values[2];
    GOOD(fetch_all((Output[]){on(0, rows(0, 1), how), on(1, rows(0, 1), how)}, 2, values));
    expect_rows(&values[0], 2, (float[]){0, 2});
    tensor_clear(&values[0]);
    tensor_clear(&values[1]);
}
END_TEST

START_TEST(members_that_never_come) {
    How how = {"CollectiveReduceV2", "Add", "Id", 3, 7, 1, 0.05f};
    refused(on(0, rows(0, 1), how), on(1, rows(0, 1), how), DEADLINE_EXCEEDED, "timed out waiting for other workers");
    how.timeout = 0;
    Output ys[] = {on(0, rows(0, 1), how), on(1, rows(0, 1), how)};
    Tensor values[2];
    StepSignature signature = {.fetches = ys, .n_fetches = 2};
    RunSettings settings = run_settings_default;
    settings.timeout_ms = 50;
    Status *status = session_run(session, &signature, &settings, NULL, values);
    ck_assert_msg(status_code(status) == DEADLINE_EXCEEDED, "%s", status_message(status));
    status_free(status);
}
END_TEST

// Two steps at once, each with one member.
static void *run_second(void *arg) {
    Tensor value;
    GOOD(fetch_all(arg, 1, &value));
    expect_rows(&value, 2, (float[]){10, 12});
    tensor_clear(&value);
    return NULL;
}

START_TEST(members_in_several_steps) {
    How how = {"CollectiveReduceV2", "Add", "Id", 2, 8, 1, 0};
    Output first = on(0, rows(0, 1), how), second = on(1, rows(10, 1), how);
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        ck_assert_int_eq(pthread_create(&thread, NULL, run_second, &second), 0);
        run_second(&first);
        pthread_join(thread, NULL);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("collective");
    TCase *tests = tcase_create("tests");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, reduces);
    tcase_add_test(tests, gathers_in_the_order_of_devices);
    tcase_add_test(tests, broadcasts);
    tcase_add_test(tests, exchanges_rows);
    tcase_add_test(tests, members_that_disagree);
    tcase_add_test(tests, members_that_never_come);
    tcase_add_test(tests, members_in_several_steps);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
