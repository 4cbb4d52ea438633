// Hostile graph test — GraphDefs that are cyclic, broken, half a loop, too deep or very large: refused with the right
// code, or run in good time. What imports is run, and must answer with a status too.
#include <check.h>
#include <stdio.h>
#include <time.h>

#include "base/status_test.h"
#include "base/suite_test.h"
#include "graph/graph_def.h"
#include "ops/all_ops.h"
#include "proto/text.h"
#include "session/session.h"

#define NODE(name, op, rest) "node { name: '" name "' op: '" op "' " rest " } "
#define IN(name) "input: '" name "' "
#define T_FLOAT "attr { key: 'T' value { type: DT_FLOAT } } "
#define T_BOOL "attr { key: 'T' value { type: DT_BOOL } } "
#define CONST(name) NODE(name, "Const", "attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { " \
                         "tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } }")
#define TRUE(name) NODE(name, "Const", "attr { key: 'dtype' value { type: DT_BOOL } } attr { key: 'value' value { " \
                        "tensor { dtype: DT_BOOL tensor_shape { } bool_val: true } } }")
#define ENTER(name, from, frame) NODE(name, "Enter", IN(from) T_FLOAT "attr { key: 'frame_name' value { s: '" frame "' } }")
#define ADD(name, a, b) NODE(name, "AddV2", IN(a) IN(b) T_FLOAT)
#define MERGE(name, a, b) NODE(name, "Merge", IN(a) IN(b) T_FLOAT "attr { key: 'N' value { i: 2 } }")

static Graph *graph;
static Session *session;

static void set_up(void) {
    op_table_set(all_ops, all_rewrites);
    GOOD(graph_new(&graph));
    SessionConfig config = session_config_default();
    config.intra_threads = config.inter_threads = 1;
    GOOD(session_new(graph, NULL, &config, &session));
}

static void tear_down(void) {
    session_free(session);
    graph_release(graph);
}

static Status *import(const char *text) {
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text bytes = {0};
    AUTO(import_results) ImportResults results = {0};
    GraphDef *def;
    GOOD(PROTO_PARSE(GraphDef, &arena, str_of(text), &def));
    GOOD(PROTO_ENCODE(GraphDef, def, &bytes));
    return graph_import(graph, text_str(&bytes), NULL, &results);
}

// A deadline, or 0: only where the deadline is what should end it, since any may pass on a busy machine.
static Status *run(Str name, int64_t timeout_ms, Tensor *out) {
    Node *node = graph_find(graph, name);
    NEED(node, NOT_FOUND, "no node %.*s", STR_ARGS(name));
    Output fetch = {node, 0};
    StepSignature signature = {.fetches = &fetch, .targets = &node, .n_fetches = node->n_outputs > 0,
                               .n_targets = node->n_outputs == 0};
    return session_run(session, &signature, &(RunSettings){.timeout_ms = timeout_ms}, NULL, out);
}

// ---------------------------------------- refused by the import

static const struct {
    const char *text;
    Code code;
} refused[] = {
    {ADD("a", "b", "b") ADD("b", "a", "a"), INVALID_ARGUMENT},                                     // a cycle
    {ADD("a", "a", "a"), INVALID_ARGUMENT},                                                        // of one
    {CONST("c") NODE("a", "Identity", IN("c") IN("^b") T_FLOAT) NODE("b", "Identity", IN("a") T_FLOAT), INVALID_ARGUMENT},
    {CONST("c") CONST("c"), INVALID_ARGUMENT},                                                     // a name twice
    {NODE("a", "Identity", IN("nobody") T_FLOAT), INVALID_ARGUMENT},
    {NODE("a", "Identity", IN("^nobody") IN("x") T_FLOAT), INVALID_ARGUMENT},
    {CONST("c") NODE("a", "Identity", IN("c:1") T_FLOAT), INVALID_ARGUMENT},                       // no such output
    {CONST("c") NODE("a", "Identity", IN("c:2147483648") T_FLOAT), INVALID_ARGUMENT},
    {CONST("c") NODE("a", "Identity", IN("c:-1") T_FLOAT), INVALID_ARGUMENT},
    {CONST("c") NODE("a", "AddV2", IN("c") T_FLOAT), INVALID_ARGUMENT},                            // too few inputs
    {CONST("c") NODE("a", "Identity", IN("c") IN("c") T_FLOAT), INVALID_ARGUMENT},                 // too many
    {CONST("c") NODE("a", "Identity", IN("c") T_BOOL), INVALID_ARGUMENT},                          // another type
    {CONST("c") NODE("a", "AddN", IN("c") T_FLOAT "attr { key: 'N' value { i: 9223372036854775807 } }"), INVALID_ARGUMENT},
    {CONST("c") NODE("a", "AddN", IN("c") T_FLOAT "attr { key: 'N' value { i: -1 } }"), INVALID_ARGUMENT},
    {NODE("a", "NoSuchOp", ""), NOT_FOUND},
    {NODE("", "NoOp", ""), INVALID_ARGUMENT},
    {NODE("../a b", "NoOp", ""), INVALID_ARGUMENT},
    {NODE("c", "Const", "attr { key: 'dtype' value { type: DT_FLOAT } }"), INVALID_ARGUMENT},      // no value
    {NODE("c", "Const", "attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor { "
          "dtype: DT_INT32 tensor_shape { } int_val: 1 } } }"), INVALID_ARGUMENT},
    {NODE("c", "Const", "attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor { "
          "dtype: DT_FLOAT tensor_shape { dim { size: -1 } } } } }"), INVALID_ARGUMENT},
    {NODE("c", "Const", "attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor { dtype: "
          "DT_FLOAT tensor_shape { dim { size: 4611686018427387904 } dim { size: 4 } } float_val: 1 } } }"), INVALID_ARGUMENT},
};

START_TEST(is_refused) {
    AUTO(status) Status *status = import(refused[_i].text);
    ck_assert_msg(status != NULL, "imported: %s", refused[_i].text);
    ck_assert_msg(status_code(status) == refused[_i].code, "%s: %s", code_name(status_code(status)), status_message(status));
    ck_assert_uint_eq(graph->names.n, 0);
}
END_TEST

// ---------------------------------------- refused by the step, or run

static const struct {
    const char *text, *fetch;
    Code code;
} loops[] = {
    {CONST("c") ENTER("e", "c", "f"), "e", INVALID_ARGUMENT},                                      // fetched inside
    {CONST("c") ENTER("e", "c", "f") ADD("a", "e", "c"), "a", INVALID_ARGUMENT},                   // past Enter
    {CONST("c") NODE("x", "Exit", IN("c") T_FLOAT), "x", INVALID_ARGUMENT},                        // of no loop
    {CONST("c") NODE("n", "NextIteration", IN("c") T_FLOAT), "n", INVALID_ARGUMENT},
    {CONST("c") ENTER("e", "c", "f") ENTER("d", "c", "g") MERGE("m", "e", "d"), "m", INVALID_ARGUMENT},
    {CONST("c") ENTER("e", "c", "f") ENTER("d", "c", "g") ADD("a", "e", "d") NODE("x", "Exit", IN("a") T_FLOAT), "x",
     INVALID_ARGUMENT},
    {CONST("c") ENTER("e", "c", "f") NODE("x", "Exit", IN("e") T_FLOAT) NODE("y", "Exit", IN("x") T_FLOAT), "y",
     INVALID_ARGUMENT},
    {CONST("c") ENTER("e", "c", "f") NODE("x", "Exit", IN("e") T_FLOAT), "x", CODE_OK},
    // A loop whose condition never ends it: only the deadline does.
    {CONST("c") TRUE("t") ENTER("e", "c", "f") MERGE("m", "e", "n") NODE("u", "Enter", IN("t") T_BOOL
     "attr { key: 'frame_name' value { s: 'f' } } attr { key: 'is_constant' value { b: true } }")
     NODE("l", "LoopCond", IN("u")) NODE("s", "Switch", IN("m") IN("l") T_FLOAT) ADD("a", "s:1", "s:1")
     NODE("n", "NextIteration", IN("a") T_FLOAT) NODE("x", "Exit", IN("s") T_FLOAT), "x", DEADLINE_EXCEEDED},
    // A loop without a condition.
    {CONST("c") ENTER("e", "c", "f") MERGE("m", "e", "n") NODE("n", "NextIteration", IN("m") T_FLOAT)
     NODE("x", "Exit", IN("m") T_FLOAT), "x", DEADLINE_EXCEEDED},
    // Merge of a branch with itself, with a dead one, and of two that are both dead.
    {CONST("c") TRUE("t") NODE("s", "Switch", IN("c") IN("t") T_FLOAT) MERGE("m", "s", "s"), "m", INVALID_ARGUMENT},
    {CONST("c") TRUE("t") NODE("s", "Switch", IN("c") IN("t") T_FLOAT) MERGE("m", "s:1", "s:1"), "m", CODE_OK},
    {CONST("c") TRUE("t") NODE("s", "Switch", IN("c") IN("t") T_FLOAT), "s", INVALID_ARGUMENT},
    {CONST("c") NODE("s", "Switch", IN("c") IN("p") T_FLOAT) NODE("p", "Const", "attr { key: 'dtype' value { type: DT_BOOL } }"
     "attr { key: 'value' value { tensor { dtype: DT_BOOL tensor_shape { dim { size: 2 } } bool_val: true } } }"), "s",
     INVALID_ARGUMENT},
};

START_TEST(a_loop_gone_wrong) {
    AUTO(tensor) Tensor out = {0};
    AUTO(status) Status *status = import(loops[_i].text);
    if (!status)
        status = run(str_of(loops[_i].fetch), loops[_i].code == DEADLINE_EXCEEDED ? 100 : 0, &out);
    ck_assert_msg(status_code(status) == loops[_i].code, "%s: %s", code_name(status_code(status)), status_message(status));
}
END_TEST

// ---------------------------------------- functions

#define FUNCTION(name, body) "library { function { signature { name: '" name "' input_arg { name: 'x' type: DT_FLOAT } " \
                             "output_arg { name: 'y' type: DT_FLOAT } } " body " } } "
#define CALL(name, f, from) NODE(name, "PartitionedCall", IN(from) "attr { key: 'Tin' value { list { type: DT_FLOAT } } } " \
                                 "attr { key: 'Tout' value { list { type: DT_FLOAT } } } " \
                                 "attr { key: 'f' value { func { name: '" f "' } } }")
#define BODY_NODE(name, op, rest) "node_def { name: '" name "' op: '" op "' " rest " } "

static const struct {
    const char *text;
    Code code;  // 0: any error
} functions[] = {
    {FUNCTION("f", "ret { key: 'y' value: 'x' }") CONST("c") CALL("a", "f", "c"), CODE_OK},
    {FUNCTION("f", "ret { key: 'y' value: 'z:z:0' }") CONST("c") CALL("a", "f", "c"), INVALID_ARGUMENT},
    {FUNCTION("f", "") CONST("c") CALL("a", "f", "c"), INVALID_ARGUMENT},                          // no ret
    {FUNCTION("f", "ret { key: 'w' value: 'x' }") CONST("c") CALL("a", "f", "c"), INVALID_ARGUMENT},
    {CONST("c") CALL("a", "g", "c"), INVALID_ARGUMENT},                                            // no function
    {FUNCTION("f", BODY_NODE("a", "Identity", IN("b:output:0") T_FLOAT) BODY_NODE("b", "Identity", IN("a:output:0") T_FLOAT)
              "ret { key: 'y' value: 'a:output:0' }") CONST("c") CALL("a", "f", "c"), INVALID_ARGUMENT},
    {FUNCTION("f", BODY_NODE("a", "NoSuchOp", "") "ret { key: 'y' value: 'x' }") CONST("c") CALL("a", "f", "c"), NOT_FOUND},
    // It calls itself for ever.
    {FUNCTION("f", BODY_NODE("a", "PartitionedCall", IN("x") "attr { key: 'Tin' value { list { type: DT_FLOAT } } } "
                             "attr { key: 'Tout' value { list { type: DT_FLOAT } } } attr { key: 'f' value { func { name: 'f' } } }")
              "ret { key: 'y' value: 'a:output:0' }") CONST("c") CALL("a", "f", "c"), RESOURCE_EXHAUSTED},
    // Called with other numbers of arguments and results than it has.
    {FUNCTION("f", "ret { key: 'y' value: 'x' }") NODE("a", "PartitionedCall", "attr { key: 'Tin' value { list { } } } "
     "attr { key: 'Tout' value { list { type: DT_FLOAT type: DT_FLOAT } } } attr { key: 'f' value { func { name: 'f' } } }"),
     INVALID_ARGUMENT},
};

START_TEST(a_function_gone_wrong) {
    AUTO(tensor) Tensor out = {0};
    AUTO(status) Status *status = import(functions[_i].text);
    if (!status)
        status = run(STR("a"), 0, &out);
    Code code = status_code(status);
    bool good = code == functions[_i].code || (functions[_i].code == INVALID_ARGUMENT && code == NOT_FOUND);
    ck_assert_msg(good, "%d: %s: %s", _i, code_name(code), status_message(status));
}
END_TEST

// ---------------------------------------- size and depth

// Our own, whatever else the machine does.
static double seconds_since(clock_t start) {
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

// n nodes as `write` makes them; then the last one is run.
static void import_and_run(int n, const char *last, void (*write)(Text *text, int i)) {
    AUTO(text) Text text = {0};
    text_format(&text, CONST("n0") TRUE("t"));
    for (int i = 1; i <= n; i++)
        write(&text, i);
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text bytes = {0};
    AUTO(import_results) ImportResults results = {0};
    GraphDef *def;
    GOOD(PROTO_PARSE(GraphDef, &arena, text_str(&text), &def));
    GOOD(PROTO_ENCODE(GraphDef, def, &bytes));
    clock_t start = clock();
    GOOD(graph_import(graph, text_str(&bytes), NULL, &results));
    double imported = seconds_since(start);
    start = clock();
    AUTO(tensor) Tensor out = {0};
    AUTO(status) Status *status = run(str_of(last), 0, &out);
    ck_assert_msg(!status || status_code(status) == RESOURCE_EXHAUSTED, "%s", status_message(status));
    printf("%d nodes, the last is %s: import %.2f s, first run %.2f s\n", n, last, imported, seconds_since(start));
    ck_assert_msg(imported + seconds_since(start) < 60, "%.1f + %.1f s", imported, seconds_since(start));
}

static void write_chain(Text *text, int i) {
    text_format(text, "node { name: 'n%d' op: 'AddV2' input: 'n%d' input: 'n0' " T_FLOAT "} ", i, i - 1);
}
static void write_wide(Text *text, int i) {
    text_format(text, "node { name: 'n%d' op: 'Neg' input: 'n%d' " T_FLOAT "} ", i, i / 2);
}
// Never folded, each of its own bytes.
static void write_random(Text *text, int i) {
    if (i == 1)
        text_format(text, NODE("s", "Const", "attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'value' value { "
                               "tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 8 } } }"));
    text_format(text, "node { name: 'r%d' op: 'RandomUniform' input: 's' attr { key: 'T' value { type: DT_INT32 } } "
                "attr { key: 'dtype' value { type: DT_FLOAT } } } ", i);
    text_format(text, "node { name: 'n%d' op: 'AddV2' input: 'n%d' input: 'r%d' " T_FLOAT "} ", i, i - 1, i);
}
// Large enough to be fused.
static void write_elementwise(Text *text, int i) {
    if (i == 1)
        text_format(text, NODE("s", "Const", "attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'value' value { "
                               "tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 1024 } } }")
                    NODE("r", "RandomUniform", "input: 's' attr { key: 'T' value { type: DT_INT32 } } "
                         "attr { key: 'dtype' value { type: DT_FLOAT } }") ADD("n1", "r", "n0"));
    else
        write_chain(text, i);
}
static void write_switches(Text *text, int i) {
    text_format(text, "node { name: 's%d' op: 'Switch' input: 'n%d' input: 't' " T_FLOAT "} ", i, i - 1);
    text_format(text, "node { name: 'n%d' op: 'Merge' input: 's%d' input: 's%d:1' " T_FLOAT
                "attr { key: 'N' value { i: 2 } } } ", i, i, i);
}
static void write_frames(Text *text, int i) {
    text_format(text, "node { name: 'n%d' op: 'Enter' input: 'n%d' attr { key: 'frame_name' value { s: 'f' } } " T_FLOAT "} ",
                i, i - 1);
    if (i == 2000) {
        text_format(text, "node { name: 'x%d' op: 'Exit' input: 'n%d' " T_FLOAT "} ", i, i);
        for (int j = i - 1; j > 0; j--)
            text_format(text, "node { name: 'x%d' op: 'Exit' input: 'x%d' " T_FLOAT "} ", j, j + 1);
    }
}

#ifdef __SANITIZE_THREAD__
enum { MANY = 20000 };
#else
enum { MANY = 100000 };
#endif

START_TEST(a_long_chain) {
    char last[16];
    snprintf(last, sizeof last, "n%d", MANY);
    import_and_run(MANY, last, write_chain);
}
END_TEST
START_TEST(a_wide_graph) {
    import_and_run(MANY, "n1", write_wide);
}
END_TEST
START_TEST(many_values_of_their_own) {
    char last[16];
    snprintf(last, sizeof last, "n%d", MANY / 4);
    import_and_run(MANY / 4, last, write_random);
}
END_TEST
START_TEST(a_long_chain_that_fuses) {
    char last[16];
    snprintf(last, sizeof last, "n%d", MANY);
    import_and_run(MANY, last, write_elementwise);
}
END_TEST
START_TEST(many_switches) {
    char last[16];
    snprintf(last, sizeof last, "n%d", MANY / 4);
    import_and_run(MANY / 4, last, write_switches);
}
END_TEST
START_TEST(deep_loops) {
    import_and_run(2000, "x1", write_frames);
}
END_TEST

// Each function calls the next one twice: 2^30 nodes, if they were written out.
START_TEST(functions_that_double) {
    AUTO(text) Text text = {0};
    text_format(&text, "library { ");
    for (int i = 0; i < 30; i++)
        text_format(&text, "function { signature { name: 'f%d' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' "
                    "type: DT_FLOAT } } node_def { name: 'a' op: 'f%d' input: 'x' } node_def { name: 'b' op: 'f%d' "
                    "input: 'a:y:0' } ret { key: 'y' value: 'b:y:0' } } ", i, i + 1, i + 1);
    text_format(&text, "function { signature { name: 'f30' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' "
                "type: DT_FLOAT } } node_def { name: 'a' op: 'Neg' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } } "
                "ret { key: 'y' value: 'a:y:0' } } } " CONST("c") CALL("a", "f0", "c"));
    AUTO(status) Status *imported = import(text.p);
    ck_assert_msg(!imported, "%s", status_message(imported));
    clock_t start = clock();
    AUTO(tensor) Tensor out = {0};
    AUTO(status) Status *status = run(STR("a"), 0, &out);
    printf("functions that double: %.2f s, %s\n", seconds_since(start), code_name(status_code(status)));
    ck_assert_int_eq(status_code(status), RESOURCE_EXHAUSTED);
    ck_assert(seconds_since(start) < 60);
}
END_TEST

#define COUNT(table) (int)(sizeof(table) / sizeof *(table))

int main(void) {
    Suite *suite = suite_create("hostile graphs");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 200);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, is_refused, 0, COUNT(refused));
    tcase_add_loop_test(tests, a_loop_gone_wrong, 0, COUNT(loops));
    tcase_add_loop_test(tests, a_function_gone_wrong, 0, COUNT(functions));
    tcase_add_test(tests, a_long_chain);
    tcase_add_test(tests, a_wide_graph);
    tcase_add_test(tests, many_values_of_their_own);
    tcase_add_test(tests, a_long_chain_that_fuses);
    tcase_add_test(tests, many_switches);
    tcase_add_test(tests, deep_loops);
    tcase_add_test(tests, functions_that_double);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
