// Graph test — nodes, edges, uses, names, order, and a chain of a million nodes.
#include <check.h>
#include <stdio.h>
#include <time.h>

#include "base/suite_test.h"
#include "graph/function.h"
#include "graph/graph.h"
#include "graph/toy_ops_test.h"

static Graph *graph;

static void set_up(void) {
    op_table_set(toy_ops, NULL);
    ck_assert_ptr_null(graph_new(&graph));
}

static void tear_down(void) {
    Status *status = graph_check(graph);
    ck_assert_msg(!status, "%s", status_message(status));
    graph_release(graph);
}

static void expect(Status *status, Code code, const char *text) {
    ck_assert_msg(status_code(status) == code, "%s: %s", code_name(status_code(status)), status_message(status));
    ck_assert_msg(strstr(status_message(status), text) != NULL, "%s", status_message(status));
    status_free(status);
}

START_TEST(finds_nodes_and_uses) {
    Node *x = toy_placeholder(graph, "x", DT_float, SHAPE(2, 3));
    Node *y = toy_node(graph, "Add", "y", x, x);
    Node *z = toy_node(graph, "Neg", "z", y, NULL);
    ck_assert_ptr_eq(graph_find(graph, STR("y")), y);
    ck_assert_ptr_null(graph_find(graph, STR("w")));
    ck_assert_int_eq(x->uses.n, 2);
    ck_assert_ptr_eq(x->uses.p[1].node, y);
    ck_assert_int_eq(x->uses.p[1].input, 1);
    ck_assert_int_eq(y->uses.n, 1);
    ck_assert_int_eq(z->uses.n, 0);
    ck_assert(shape_equal(&z->output_shapes[0], &SHAPE(2, 3)));
    ck_assert_int_eq(node_type(z, "T"), DT_float);
    ck_assert_int_eq(node_int(z, "T"), 0);
    ck_assert_int_eq(node_input_type(y, 1), DT_float);
    ck_assert_int_eq(node_input_type(y, 2), DT_INVALID);
}
END_TEST

START_TEST(rewires) {
    Node *x = toy_placeholder(graph, "x", DT_float, SHAPE(2));
    Node *w = toy_placeholder(graph, "w", DT_float, SHAPE(2));
    Node *i = toy_placeholder(graph, "i", DT_int32, SHAPE(2));
    Node *y = toy_node(graph, "Add", "y", x, x);
    uint64_t edit = graph->edit;
    ck_assert_ptr_null(node_set_input(y, 1, out_of(w)));
    ck_assert(graph->edit > edit);
    ck_assert_int_eq(x->uses.n, 1);
    ck_assert_int_eq(w->uses.n, 1);
    expect(node_set_input(y, 0, out_of(i)), INVALID_ARGUMENT,
           "Input 0 of node y was passed int32 from i:0 incompatible with expected float.");
    expect(node_set_input(y, 2, out_of(w)), OUT_OF_RANGE, "no input 2");
    expect(node_set_input(y, 0, (Output){w, 1}), OUT_OF_RANGE, "no output 1");
    ck_assert_ptr_null(node_add_control(y, i));
    ck_assert_ptr_null(node_add_control(y, i));
    ck_assert_int_eq(y->n_controls, 1);
    ck_assert_ptr_null(graph_replace_output(out_of(x), out_of(w)));
    ck_assert_int_eq(x->uses.n, 0);
    ck_assert_int_eq(w->uses.n, 2);
    expect(graph_replace_output(out_of(w), out_of(i)), INVALID_ARGUMENT, "incompatible");
    node_remove_control(y, 0);
    ck_assert_int_eq(i->uses.n, 0);
}
END_TEST

START_TEST(removes) {
    Node *x = toy_placeholder(graph, "x", DT_float, SHAPE(2));
    Node *y = toy_node(graph, "Neg", "y", x, NULL);
    toy_node(graph, "Neg", "z", x, NULL);
    graph_remove(y);
    ck_assert_ptr_null(graph_find(graph, STR("y")));
    ck_assert_ptr_null(graph->nodes.p[1]);
    ck_assert_int_eq(x->uses.n, 1);
    graph_remove_last(graph);
    ck_assert_int_eq(x->uses.n, 0);
    ck_assert_int_eq(graph->nodes.n, 2);
    toy_node(graph, "Neg", "y", x, NULL);
}
END_TEST

START_TEST(names_are_unique) {
    Str name;
    ck_assert_ptr_null(graph_unique_name(graph, STR("a"), &name));
    ck_assert(str_is(name, "a"));
    toy_node(graph, "NoOp", "a", NULL, NULL);
    toy_node(graph, "NoOp", "a_1", NULL, NULL);
    ck_assert_ptr_null(graph_unique_name(graph, STR("a"), &name));
    ck_assert(str_is(name, "a_2"));
    ck_assert_ptr_null(graph_unique_name(graph, STR("a"), &name));
    ck_assert(str_is(name, "a_3"));
}
END_TEST

START_TEST(order_follows_edges) {
    Node *x = toy_placeholder(graph, "x", DT_float, SHAPE(2));
    Node *a = toy_node(graph, "Neg", "a", x, NULL), *b = toy_node(graph, "Neg", "b", x, NULL);
    ck_assert_ptr_null(node_set_input(a, 0, out_of(b)));
    Node *order[3];
    size_t n;
    ck_assert_ptr_null(graph_order(graph, order, &n));
    ck_assert_int_eq(n, 3);
    ck_assert(order[0] == x && order[1] == b && order[2] == a);
    ck_assert_ptr_null(node_set_input(b, 0, out_of(a)));
    expect(graph_order(graph, order, &n), INVALID_ARGUMENT, "{{node a}} (Neg)");
    ck_assert_ptr_null(node_set_input(b, 0, out_of(x)));
    ck_assert_ptr_null(node_add_control(x, a));
    expect(graph_order(graph, order, &n), INVALID_ARGUMENT, "cycle");
    node_remove_control(x, 0);
}
END_TEST

START_TEST(loops_close_through_next_iteration) {
    Node *x = toy_placeholder(graph, "x", DT_float, SHAPE(2));
    NodeBuilder b;
    builder_init(&b, graph, STR("Merge"), STR("merge"));
    builder_attr(&b, STR("N"), &ATTR_OF_INT(2));
    Output edges[] = {out_of(x), {0}};
    builder_flat_inputs(&b, edges, 2);
    Node *merge = toy_finish(&b);
    ck_assert_int_eq(merge->n_outputs, 2);
    expect(graph_check(graph), INVALID_ARGUMENT, "merge");
    Node *body = toy_node(graph, "Neg", "body", merge, NULL);
    Node *next = toy_node(graph, "NextIteration", "next", body, NULL);
    ck_assert_ptr_null(node_set_input(merge, 1, out_of(next)));
    Node *order[4];
    size_t n;
    ck_assert_ptr_null(graph_order(graph, order, &n));
    ck_assert_int_eq(n, 4);
}
END_TEST

START_TEST(attributes_change) {
    Node *x = toy_placeholder(graph, "x", DT_float, SHAPE(2));
    ck_assert_ptr_null(node_set_attr(x, STR("_mark"), &ATTR_OF_INT(3)));
    ck_assert_ptr_null(node_set_attr(x, STR("_mark"), &ATTR_OF_INT(4)));
    ck_assert_int_eq(node_int(x, "_mark"), 4);
    ck_assert_int_eq(x->n_attrs, 3);
    ck_assert(node_attr_find(x, "absent") == NULL);
    ck_assert_int_eq(node_list(x, "absent")->n, 0);
    ck_assert(str_is(node_str(x, "absent"), ""));
}
END_TEST

// What many nodes have in common is theirs together; who changes it gets his own.
START_TEST(attributes_are_shared) {
    Node *x = toy_placeholder(graph, "x", DT_float, SHAPE(2));
    Node *a = toy_node(graph, "Neg", "a", x, NULL), *b = toy_node(graph, "Neg", "b", x, NULL);
    Node *i = toy_placeholder(graph, "i", DT_int32, SHAPE(2)), *c = toy_node(graph, "Neg", "c", i, NULL);
    ck_assert_ptr_eq(a->attrs, b->attrs);
    ck_assert_ptr_ne(a->attrs, c->attrs);
    ck_assert_ptr_null(node_set_attr(a, STR("T"), &ATTR_OF_TYPE(DT_double)));
    ck_assert_int_eq(node_type(a, "T"), DT_double);
    ck_assert_int_eq(node_type(b, "T"), DT_float);
    ck_assert_ptr_null(node_set_attr(a, STR("T"), &ATTR_OF_TYPE(DT_float)));
}
END_TEST

static void check_now(void) {
    Status *status = graph_check(graph);
    ck_assert_msg(!status, "%s", status_message(status));
}

// Controls come and go over every power of two, taken from the beginning, the middle and the end.
START_TEST(controls_keep_their_places) {
    enum { MANY = 40 };
    Node *before[MANY], *node = toy_node(graph, "NoOp", "node", NULL, NULL);
    for (int i = 0; i < MANY; i++) {
        char name[16];
        snprintf(name, sizeof name, "b%d", i);
        before[i] = toy_node(graph, "NoOp", name, NULL, NULL);
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++) {
            ck_assert_ptr_null(node_add_control(node, before[i]));
            check_now();
        }
        while (node->n_controls > 0) {
            node_remove_control(node, round == 0 ? 0 : round == 1 ? node->n_controls - 1 : node->n_controls / 2);
            check_now();
        }
    }
}
END_TEST

// A value of very many readers loses them in any order, each at the same cost: 60,000 twice over would be 10^9 steps.
START_TEST(many_readers) {
    enum { MANY = 60000 };
    Node **readers = calloc(MANY, sizeof *readers);
    Node *x = toy_placeholder(graph, "x", DT_float, SHAPE(2)), *y = toy_placeholder(graph, "y", DT_float, SHAPE(2));
    for (int i = 0; i < MANY; i++) {
        char name[16];
        snprintf(name, sizeof name, "r%d", i);
        readers[i] = toy_node(graph, "Add", name, x, x);
    }
    clock_t start = clock();
    for (int i = 0; i < MANY; i++)
        ck_assert_ptr_null(node_set_input(readers[(int64_t)i * 7919 % MANY], 1, out_of(y)));
    for (int i = 0; i < MANY; i++)
        ck_assert_ptr_null(node_set_input(readers[i], 0, out_of(y)));
    ck_assert_int_eq(x->uses.n, 0);
    ck_assert_int_eq(y->uses.n, 2 * MANY);
    check_now();
    for (int i = 0; i < MANY; i++)
        graph_remove(readers[(int64_t)i * 7919 % MANY]);
    ck_assert_int_eq(y->uses.n, 0);
    ck_assert_int_lt((clock() - start) / (CLOCKS_PER_SEC / 1000), 5000);  // 15 ms optimized
    free(readers);
}
END_TEST

enum { MS = CLOCKS_PER_SEC / 1000 };

static Node *chain(Graph *g, int n) {
    Node *last = toy_placeholder(g, "x", DT_float, SHAPE(2));
    for (int i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "n%d", i);
        last = toy_node(g, "Neg", name, last, NULL);
    }
    return last;
}

START_TEST(a_million_nodes) {
    clock_t start = clock();
    Graph *big;
    ck_assert_ptr_null(graph_new(&big));
    Node *last = chain(big, 1000000);
    Node *first = big->nodes.p[1];
    clock_t built = clock();
    Node **order = calloc(big->nodes.n, sizeof *order);
    size_t n;
    ck_assert_ptr_null(graph_order(big, order, &n));
    ck_assert_int_eq(n, 1000001);
    // Backwards: the first node now reads one that comes later, so the order has to be searched for.
    Node *y = toy_placeholder(big, "y", DT_float, SHAPE(2));
    ck_assert_ptr_null(node_set_input(first, 0, out_of(y)));
    free(order);
    order = calloc(big->nodes.n, sizeof *order);
    ck_assert_ptr_null(graph_order(big, order, &n));
    ck_assert_ptr_eq(order[n - 1], last);
    free(order);
    clock_t ordered = clock();
    graph_release(big);
    clock_t freed = clock();
    printf("a million nodes: built in %d ms, ordered twice in %d ms, freed in %d ms\n", (int)((built - start) / MS),
           (int)((ordered - built) / MS), (int)((freed - ordered) / MS));
    ck_assert_int_lt((freed - start) / MS, 60 * 1000);  // 1.3 s optimized, 8 s under the address sanitizer
}
END_TEST

int main(void) {
    Suite *suite = suite_create("graph");
    TCase *tests = tcase_create("graph");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, finds_nodes_and_uses);
    tcase_add_test(tests, rewires);
    tcase_add_test(tests, removes);
    tcase_add_test(tests, names_are_unique);
    tcase_add_test(tests, order_follows_edges);
    tcase_add_test(tests, loops_close_through_next_iteration);
    tcase_add_test(tests, attributes_change);
    tcase_add_test(tests, attributes_are_shared);
    tcase_add_test(tests, controls_keep_their_places);
    tcase_add_test(tests, many_readers);
    tcase_add_test(tests, a_million_nodes);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
