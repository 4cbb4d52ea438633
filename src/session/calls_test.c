// [threads] Calls test — functions that are called by name, from outside of any step.
#include <pthread.h>
#include <stdio.h>

#include "graph/function.h"
#include "proto/text.h"
#include "session/one_session_test.h"

static Mutex graph_lock = MUTEX_INIT;

static void setup(void) {
    open_graph();
    SessionConfig config = session_config_default();
    config.intra_threads = config.inter_threads = 1;
    config.timeout_ms = 20000;
    GOOD(session_new(graph, &graph_lock, &config, &session));
}

// Adds it to the library.
static void function(const char *text) {
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text bytes = {0};
    FunctionDef *def;
    Function *made;
    GOOD(PROTO_PARSE(FunctionDef, &arena, str_of(text), &def));
    GOOD(PROTO_ENCODE(FunctionDef, def, &bytes));
    GOOD(function_new(text_str(&bytes), &made));
    mutex_lock(&graph_lock);
    Status *status = function_add(graph, made);
    mutex_unlock(&graph_lock);
    GOOD(status);
    function_release(made);
}

#define OF_T(name) "{ name: '" name "' type_attr: 'T' } "
#define NODE(name, op, inputs) \
    "node_def { name: '" name "' op: '" op "' " inputs "attr { key: 'T' value { placeholder: 'T' } } } "
#define TWICE(name)                                                                                                  \
    "signature { name: '" name "' input_arg " OF_T("a") "input_arg " OF_T("b") "output_arg " OF_T("two")              \
    "output_arg " OF_T("less") "attr { name: 'T' type: 'type' } } " NODE("sum", "AddV2", "input: 'a' input: 'a' ")    \
    NODE("minus", "Sub", "input: 'sum:z:0' input: 'b' ")                                                             \
    "ret { key: 'two' value: 'sum:z:0' } ret { key: 'less' value: 'minus:z:0' } "

static Status *call(const char *name, DType dtype, const Tensor *arguments, int n, Tensor *results, int n_results) {
    AttrEntry attrs[] = {{STR("T"), ATTR_OF_TYPE(dtype)}};
    FuncRef function = {str_of(name), attrs, 1};
    return session_call(session, &function, &run_settings_default, arguments, n, results, n_results);
}

static Tensor number(double value, DType dtype) {
    Tensor tensor;
    GOOD(tensor_new(dtype, SCALAR_SHAPE, &tensor));
    if (dtype == DT_float)
        *(float *)tensor.data = (float)value;
    else
        *(int32_t *)tensor.data = (int32_t)value;
    return tensor;
}

static void refused(Status *status, Code code, const char *part) {
    ck_assert_ptr_nonnull(status);
    ck_assert_msg(status_code(status) == code && strstr(status_message(status), part), "%s", status_message(status));
    status_free(status);
}

// ---------------------------------------- tests

START_TEST(by_name_and_attributes) {
    function(TWICE("twice"));
    for (int i = 0; i < 3; i++) {
        Tensor floats[] = {number(1.5, DT_float), number(1, DT_float)};
        Tensor ints[] = {number(4, DT_int32), number(i, DT_int32)};
        Tensor out[2];
        GOOD(call("twice", DT_float, floats, 2, out, 2));
        ck_assert_float_eq(*(float *)out[0].data, 3);
        ck_assert_float_eq(*(float *)out[1].data, 2);
        tensor_clear(&out[0]);
        tensor_clear(&out[1]);
        GOOD(call("twice", DT_int32, ints, 2, out, 2));
        ck_assert_int_eq(*(int32_t *)out[1].data, 8 - i);
        for (int k = 0; k < 2; k++) {
            tensor_clear(&out[k]);
            tensor_clear(&floats[k]);
            tensor_clear(&ints[k]);
        }
    }
}
END_TEST

START_TEST(wrong_calls_are_refused) {
    function(TWICE("twice"));
    Tensor floats[] = {number(1, DT_float), number(1, DT_float), number(1, DT_float)}, whole = number(1, DT_int32);
    Tensor mixed[] = {floats[0], whole}, out[3] = {0};
    refused(call("thrice", DT_float, floats, 2, out, 2), NOT_FOUND, "'thrice'");
    refused(call("twice", DT_float, floats, 1, out, 2), INVALID_ARGUMENT, "twice");
    refused(call("twice", DT_float, floats, 3, out, 2), INVALID_ARGUMENT, "twice");
    refused(call("twice", DT_float, floats, 2, out, 1), INVALID_ARGUMENT, "twice");
    refused(call("twice", DT_float, floats, 2, out, 3), INVALID_ARGUMENT, "twice");
    refused(call("twice", DT_float, mixed, 2, out, 2), INVALID_ARGUMENT, "type float, but was given a int32");
    GOOD(call("twice", DT_float, floats, 2, out, 2));
    refused(call("twice", DT_float, floats, 1, out + 2, 1), INVALID_ARGUMENT, "twice");
    tensor_clear(&out[0]);
    tensor_clear(&out[1]);
    session_close(session);
    refused(call("twice", DT_float, floats, 2, out, 2), CANCELLED, "closed");
    for (int i = 0; i < 3; i++)
        tensor_clear(&floats[i]);
    tensor_clear(&whole);
}
END_TEST

enum { CALLERS = 3, TURNS = 60 };

static void *call_often(void *arg) {
    Tensor x = number((double)(uintptr_t)arg, DT_float), both[] = {x, x};
    bool good = true;
    for (int i = 0; i < TURNS && good; i++) {
        Tensor out[2];
        Status *status = call("twice", DT_float, both, 2, out, 2);
        good = !status && *(float *)out[1].data == (float)(uintptr_t)arg;
        status_free(status);
        for (int k = 0; k < 2 && good; k++)
            tensor_clear(&out[k]);
    }
    tensor_clear(&x);
    return good ? NULL : arg;
}

// While others are added.
START_TEST(by_many_threads) {
    pthread_t threads[CALLERS];
    function(TWICE("twice"));
    for (uintptr_t i = 0; i < CALLERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, call_often, (void *)(i + 1)), 0);
    for (int i = 0; i < 10; i++) {
        char text[1024], *at;
        snprintf(text, sizeof text, "%s", TWICE("many_"));
        at = strstr(text, "many_");
        at[4] = (char)('a' + i);
        function(text);
    }
    for (int i = 0; i < CALLERS; i++) {
        void *bad;
        pthread_join(threads[i], &bad);
        ck_assert_ptr_null(bad);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("calls");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, close_all);
    tcase_add_test(tests, by_name_and_attributes);
    tcase_add_test(tests, wrong_calls_are_refused);
    tcase_add_test(tests, by_many_threads);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
