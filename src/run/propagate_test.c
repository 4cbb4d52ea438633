// Propagation tests — loops in loops under windows of any size, values shared and passed on, dead loops, failures
// inside.
#include <check.h>
#include <stdio.h>

#include "base/status_test.h"
#include "base/suite_test.h"
#include "graph/graph_def.h"
#include "ops/all_ops.h"
#include "plan/pass.h"
#include "proto/text.h"
#include "session/session.h"

static Graph *graph;
static Session *session;

static void set_up_with(uint32_t passes) {
    op_table_set(all_ops, all_rewrites);
    GOOD(graph_new(&graph));
    SessionConfig config = session_config_default();
    config.intra_threads = config.inter_threads = 1;
    config.passes &= passes;
    GOOD(session_new(graph, NULL, &config, &session));
}

static void set_up(void) {
    set_up_with(~BIT(PASS_LOOPS));
}

// Straight loops become nodes, and are not propagated themselves.
static void set_up_nodes(void) {
    set_up_with(UINT32_MAX);
}

static void tear_down(void) {
    session_free(session);
    graph_release(graph);
}

// ---- graphs as text

static void node(Text *text, const char *name, const char *op, const char *type, const char *a, const char *b,
                 const char *more) {
    text_format(text, "node { name: '%s' op: '%s' ", name, op);
    if (a)
        text_format(text, "input: '%s' ", a);
    if (b)
        text_format(text, "input: '%s' ", b);
    if (type)
        text_format(text, "attr { key: 'T' value { type: %s } } ", type);
    text_format(text, "%s } ", more ? more : "");
}

static void constant(Text *text, const char *name, int value) {
    text_format(text,
                "node { name: '%s' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'value' "
                "value { tensor { dtype: DT_INT32 tensor_shape { } int_val: %d } } } } ", name, value);
}

typedef struct Loop {
    const char *name;     // of the frame, and the beginning of its nodes' names
    int parallel;
    const char *divisor;  // an edge to divide the counter by in each turn, or NULL
    const struct Loop *inner;
} Loop;

static const char *of(const Loop *loop, const char *rest) {
    static char names[64][64];
    static int next;
    char *name = names[next++ % 64];
    snprintf(name, sizeof names[0], "%s_%s", loop->name, rest);
    return name;
}

static void enter(Text *text, const Loop *loop, const char *name, const char *from, bool is_constant) {
    char more[256];
    snprintf(more, sizeof more,
             "attr { key: 'frame_name' value { s: '%s' } } attr { key: 'is_constant' value { b: %s } } "
             "attr { key: 'parallel_iterations' value { i: %d } }", loop->name, is_constant ? "true" : "false",
             loop->parallel);
    node(text, of(loop, name), "Enter", "DT_INT32", from, NULL, more);
}

#define MERGE_OF_TWO "attr { key: 'N' value { i: 2 } }"

// `limit` turns of x = x + 1, or of the loop inside; "NAME_exit" is what comes out. Each turn also adds x + -x, so that
// a result written over a value that is still to be read shows.
static void write_loop(Text *text, const Loop *loop, const char *zero, const char *one, const char *limit,
                       const char *x) {
    const char *type = "DT_INT32";
    enter(text, loop, "i", zero, false);
    enter(text, loop, "x", x, false);
    enter(text, loop, "one", one, true);
    enter(text, loop, "limit", limit, true);
    node(text, of(loop, "mi"), "Merge", type, of(loop, "i"), of(loop, "ni"), MERGE_OF_TWO);
    node(text, of(loop, "mx"), "Merge", type, of(loop, "x"), of(loop, "nx"), MERGE_OF_TWO);
    node(text, of(loop, "less"), "Less", type, of(loop, "mi"), of(loop, "limit"), NULL);
    node(text, of(loop, "cond"), "LoopCond", NULL, of(loop, "less"), NULL, NULL);
    node(text, of(loop, "si"), "Switch", type, of(loop, "mi"), of(loop, "cond"), NULL);
    node(text, of(loop, "sx"), "Switch", type, of(loop, "mx"), of(loop, "cond"), NULL);
    node(text, of(loop, "inc"), "AddV2", type, of(loop, "si:1"), of(loop, "one"), NULL);
    node(text, of(loop, "ni"), "NextIteration", type, of(loop, "inc"), NULL, NULL);
    node(text, of(loop, "neg"), "Neg", type, of(loop, "sx:1"), NULL, NULL);
    node(text, of(loop, "nothing"), "AddV2", type, of(loop, "sx:1"), of(loop, "neg"), NULL);
    const char *y = of(loop, "y"), *next = y;
    if (loop->divisor) {
        enter(text, loop, "divisor", loop->divisor, true);
        node(text, of(loop, "left"), "Sub", type, of(loop, "divisor"), of(loop, "si:1"), NULL);
        node(text, of(loop, "quotient"), "FloorDiv", type, of(loop, "one"), of(loop, "left"), NULL);
        node(text, of(loop, "none"), "Sub", type, of(loop, "quotient"), of(loop, "quotient"), NULL);
        node(text, of(loop, "x1"), "AddV2", type, of(loop, "sx:1"), of(loop, "none"), NULL);
        node(text, y, "AddV2", type, of(loop, "x1"), of(loop, "one"), NULL);
    } else if (loop->inner) {
        node(text, y, "AddV2", type, of(loop, "sx:1"), of(loop, "nothing"), NULL);
        node(text, of(loop, "start"), "Sub", type, of(loop, "si:1"), of(loop, "si:1"), NULL);
        write_loop(text, loop->inner, of(loop, "start"), of(loop, "one"), of(loop, "limit"), of(loop, "y"));
        next = of(loop->inner, "exit");
    } else {
        node(text, of(loop, "x1"), "AddV2", type, of(loop, "sx:1"), of(loop, "one"), NULL);
        node(text, y, "AddV2", type, of(loop, "x1"), of(loop, "nothing"), NULL);
    }
    node(text, of(loop, "nx"), "NextIteration", type, next, NULL, NULL);
    node(text, of(loop, "exit"), "Exit", type, of(loop, "sx"), NULL, NULL);
}

static void placeholder(Text *text, const char *name, const char *type) {
    char more[128];
    snprintf(more, sizeof more, "attr { key: 'dtype' value { type: %s } } attr { key: 'shape' value { shape { } } }",
             type);
    node(text, name, "Placeholder", NULL, NULL, NULL, more);
}

static void import(const Text *text) {
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text bytes = {0};
    AUTO(import_results) ImportResults results = {0};
    GraphDef *def;
    GOOD(PROTO_PARSE(GraphDef, &arena, text_str(text), &def));
    GOOD(PROTO_ENCODE(GraphDef, def, &bytes));
    GOOD(graph_import(graph, text_str(&bytes), NULL, &results));
}

// Runs with the int32 scalars fed by name; *out is the fetched one.
static Status *run(const char *const *names, const int *values, int n, Output fetch, int *out) {
    Output feeds[4];
    Tensor tensors[4] = {0}, result = {0};
    const Tensor *fed[4];
    for (int i = 0; i < n; i++) {
        feeds[i] = (Output){graph_find(graph, str_of(names[i])), 0};
        GOOD(tensor_new(feeds[i].node->output_types[0], SCALAR_SHAPE, &tensors[i]));
        if (tensors[i].dtype == DT_bool)
            *(bool *)tensors[i].data = values[i];
        else
            *(int32_t *)tensors[i].data = values[i];
        fed[i] = &tensors[i];
    }
    StepSignature signature = {.feeds = feeds, .fetches = &fetch, .n_feeds = n, .n_fetches = 1};
    Status *status = session_run(session, &signature, &run_settings_default, fed, &result);
    if (!status)
        *out = *(int32_t *)result.data;
    tensor_clear(&result);
    for (int i = 0; i < n; i++)
        tensor_clear(&tensors[i]);
    return status;
}

static Output edge(const char *name) {
    Node *found = graph_find(graph, str_of(name));
    ck_assert_msg(found != NULL, "no node %s", name);
    return (Output){found, 0};
}

// ---- tests

static const int WINDOWS[] = {1, 2, 3, 10, 1000};
enum { WINDOW_COUNT = sizeof WINDOWS / sizeof *WINDOWS };

// _i: the window of the outer loop and that of the inner one.
START_TEST(loops_in_loops) {
    Loop inner = {.name = "inner", .parallel = WINDOWS[_i / WINDOW_COUNT]};
    Loop outer = {.name = "outer", .parallel = WINDOWS[_i % WINDOW_COUNT], .inner = &inner};
    AUTO(text) Text text = {0};
    constant(&text, "zero", 0);
    constant(&text, "one", 1);
    placeholder(&text, "limit", "DT_INT32");
    placeholder(&text, "x", "DT_INT32");
    write_loop(&text, &outer, "zero", "one", "limit", "x");
    import(&text);
    const char *const names[] = {"x", "limit"};
    for (int limit = 0; limit < 24; limit = limit * 2 + 1) {
        int got = -1;
        GOOD(run(names, (int[]){limit * 7, limit}, 2, edge("outer_exit"), &got));
        ck_assert_int_eq(got, limit * 7 + limit * limit);
    }
}
END_TEST

// On the branch not taken a loop never begins; what leaves it is dead.
START_TEST(dead_loops) {
    Loop inner = {.name = "inner", .parallel = 3}, outer = {.name = "outer", .parallel = 3, .inner = &inner};
    AUTO(text) Text text = {0};
    constant(&text, "zero", 0);
    constant(&text, "one", 1);
    constant(&text, "limit", 5);
    placeholder(&text, "x", "DT_INT32");
    placeholder(&text, "taken", "DT_BOOL");
    node(&text, "switch", "Switch", "DT_INT32", "x", "taken", NULL);
    node(&text, "start", "Sub", "DT_INT32", "switch:1", "switch:1", NULL);
    node(&text, "step", "Switch", "DT_INT32", "one", "taken", NULL);
    node(&text, "turns", "Switch", "DT_INT32", "limit", "taken", NULL);
    write_loop(&text, &outer, "start", "step:1", "turns:1", "switch:1");
    node(&text, "other", "Neg", "DT_INT32", "switch", NULL, NULL);
    node(&text, "merge", "Merge", "DT_INT32", "outer_exit", "other", MERGE_OF_TWO);
    import(&text);
    const char *const names[] = {"x", "taken"};
    for (int i = 0; i < 6; i++) {
        int got = -1;
        GOOD(run(names, (int[]){i, i % 2}, 2, edge("merge"), &got));
        ck_assert_int_eq(got, i % 2 ? i + 25 : -i);
    }
}
END_TEST

// A kernel fails in the middle of the turns that are under way; the session runs on.
START_TEST(failures_inside) {
    Loop loop = {.name = "loop", .parallel = WINDOWS[_i], .divisor = "divisor"};
    AUTO(text) Text text = {0};
    constant(&text, "zero", 0);
    constant(&text, "one", 1);
    constant(&text, "limit", 20);
    placeholder(&text, "divisor", "DT_INT32");
    placeholder(&text, "x", "DT_INT32");
    write_loop(&text, &loop, "zero", "one", "limit", "x");
    import(&text);
    const char *const names[] = {"x", "divisor"};
    for (int i = 0; i < 8; i++) {
        int got = -1, divisor = i % 2 ? 7 : 100;
        AUTO(status) Status *status = run(names, (int[]){i, divisor}, 2, edge("loop_exit"), &got);
        if (divisor < 20)
            ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
        else
            ck_assert_int_eq(got, i + 20);
    }
}
END_TEST

// Of two living inputs a Merge takes one, and says which; the other is dropped.
START_TEST(merges_of_two_living) {
    AUTO(text) Text text = {0};
    placeholder(&text, "a", "DT_INT32");
    placeholder(&text, "b", "DT_INT32");
    node(&text, "c", "Neg", "DT_INT32", "a", NULL, NULL);
    node(&text, "d", "Neg", "DT_INT32", "b", NULL, NULL);
    node(&text, "merge", "Merge", "DT_INT32", "c", "d", MERGE_OF_TWO);
    constant(&text, "factor", 100);
    node(&text, "product", "Mul", "DT_INT32", "merge:1", "factor", NULL);
    node(&text, "sum", "AddV2", "DT_INT32", "product", "merge", NULL);
    import(&text);
    const char *const names[] = {"a", "b"};
    for (int i = 1; i < 9; i++) {
        int got = 0;
        GOOD(run(names, (int[]){i, 10 * i}, 2, edge("sum"), &got));
        ck_assert_msg(got == -i || got == 100 - 10 * i, "%d of %d", got, i);
    }
}
END_TEST

static TCase *all_tests(const char *name, void (*before)(void)) {
    TCase *tests = tcase_create(name);
    tcase_add_checked_fixture(tests, before, tear_down);
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, loops_in_loops, 0, WINDOW_COUNT * WINDOW_COUNT);
    tcase_add_test(tests, dead_loops);
    tcase_add_loop_test(tests, failures_inside, 0, WINDOW_COUNT);
    tcase_add_test(tests, merges_of_two_living);
    return tests;
}

int main(void) {
    Suite *suite = suite_create("propagation");
    suite_add_tcase(suite, all_tests("all", set_up));
    suite_add_tcase(suite, all_tests("loops as nodes", set_up_nodes));
    return run_suite(suite);
}
