// Shapes test — inference through constants, partial values and handles; conditions of `needs` one by one.
#include <check.h>

#include "base/suite_test.h"
#include "graph/toy_ops_test.h"

static Graph *graph;

static void set_up(void) {
    op_table_set(toy_ops, NULL);
    ck_assert_ptr_null(graph_new(&graph));
}

static void tear_down(void) {
    graph_release(graph);
}

static void has_shape(const Node *node, Shape shape) {
    ck_assert_msg(shape_equal(&node->output_shapes[0], &shape), "%.*s: %s, not %s", STR_ARGS(node->name),
                  shape_text(&node->output_shapes[0]), shape_text(&shape));
}

START_TEST(values_come_from_constants) {
    Node *x = toy_placeholder(graph, "x", DT_float, SHAPE(6));
    Node *c = toy_ints(graph, "c", 2, (int32_t[]){3, 2});
    Node *same = toy_node(graph, "Identity", "same", c, NULL);
    ck_assert_ptr_nonnull(output_constant(out_of(same)));
    ck_assert_ptr_null(output_constant(out_of(x)));
    ck_assert_ptr_null(output_constant((Output){0}));
    has_shape(toy_node(graph, "Reshape", "r", x, same), SHAPE(3, 2));
}
END_TEST

START_TEST(values_come_from_shapes) {
    Node *x = toy_placeholder(graph, "x", DT_float, SHAPE(-1, 3));
    Node *shape = toy_node(graph, "Shape", "shape", x, NULL);
    has_shape(toy_node(graph, "Reshape", "r", x, shape), SHAPE(-1, 3));
    Node *vector = toy_placeholder(graph, "v", DT_int32, SHAPE(2));
    has_shape(toy_node(graph, "Reshape", "q", x, vector), SHAPE(-1, -1));
    Node *open = toy_placeholder(graph, "o", DT_int32, UNKNOWN_SHAPE);
    has_shape(toy_node(graph, "Reshape", "p", x, open), UNKNOWN_SHAPE);
    NodeBuilder b;
    builder_init(&b, graph, STR("Reshape"), STR("m"));
    builder_input(&b, out_of(x));
    builder_input(&b, out_of(toy_placeholder(graph, "matrix", DT_int32, SHAPE(2, 2))));
    Node *node;
    Status *status = builder_finish(&b, &node);
    ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    status_free(status);
    builder_clear(&b);
}
END_TEST

// Values that are no shapes are left alone, however long; those of a fully known shape are values as constants are.
START_TEST(long_vectors_are_no_shapes) {
    Node *x = toy_placeholder(graph, "x", DT_int32, SHAPE(40000));
    Node *reshaped = toy_node(graph, "Reshape", "r", x, toy_ints(graph, "c", 1, (int32_t[]){40000}));
    has_shape(toy_node(graph, "Neg", "n", reshaped, NULL), SHAPE(40000));
    Node *shape = toy_node(graph, "Shape", "s", x, NULL);
    has_shape(toy_node(graph, "Reshape", "q", x, shape), SHAPE(40000));
}
END_TEST

START_TEST(what_is_known_is_merged) {
    Node *x = toy_placeholder(graph, "x", DT_float, SHAPE(-1, 3));
    x->output_shapes[0] = SHAPE(2, 3);
    ck_assert_ptr_null(node_infer_shapes(x));
    has_shape(x, SHAPE(2, 3));
    x->output_shapes[0] = SHAPE(2, 4);
    Status *status = node_infer_shapes(x);
    ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    status_free(status);
}
END_TEST

START_TEST(handles_carry_shapes) {
    NodeBuilder b;
    builder_init(&b, graph, STR("VarHandleOp"), STR("v"));
    builder_attr(&b, STR("dtype"), &ATTR_OF_TYPE(DT_float));
    builder_attr(&b, STR("shape"), &(AttrValue){.kind = ATTR_SHAPE, .shape = &SHAPE(4, 5)});
    Node *v = toy_finish(&b);
    Node *same = toy_node(graph, "Identity", "same", v, NULL);
    builder_init(&b, graph, STR("ReadVariableOp"), STR("r"));
    builder_input(&b, out_of(same));
    builder_attr(&b, STR("dtype"), &ATTR_OF_TYPE(DT_float));
    has_shape(toy_finish(&b), SHAPE(4, 5));
}
END_TEST

static const Signature *two(void) {
    const OpType *type;
    ck_assert_ptr_null(op_type_find(STR("Add"), &type));
    return &type->signature;
}

static bool holds(const char *text, Shape x, Shape y) {
    Arena arena = {0};
    Needs *needs;
    Status *status = needs_compile(text, two(), &arena, &needs);
    ck_assert_msg(!status, "%s", status_message(status));
    status = needs_check(needs, NULL, (Shape[]){x, y}, NULL);
    ck_assert(!status || status_code(status) == INVALID_ARGUMENT);
    bool good = !status;
    status_free(status);
    arena_clear(&arena);
    return good;
}

START_TEST(needs_compare) {
    Shape u = UNKNOWN_SHAPE, scalar = SCALAR_SHAPE, two_three = SHAPE(2, 3);
    ck_assert(holds("", u, u));
    ck_assert(holds("rank(x) >= 2", two_three, u) && !holds("rank(x) >= 2", scalar, u) && holds("rank(x) >= 2", u, u));
    ck_assert(holds("rank(x) == rank(y)", two_three, two_three) && !holds("rank(x) == rank(y)", two_three, scalar));
    ck_assert(holds("dim(x, -1) == 3", two_three, u) && !holds("dim(x, -1) == 2", two_three, u));
    ck_assert(holds("dim(x, 0) != 3", two_three, u) && !holds("dim(x, 0) != 2", two_three, u));
    ck_assert(holds("dim(x, 7) == 2", two_three, u));
    ck_assert(holds("dim(x, 0) < 2", SHAPE(-1, 3), u) && !holds("dim(x, 0) < 2", two_three, u));
    ck_assert(holds("size(x) <= 6, size(x) > 5", two_three, u) && !holds("size(x) <= 6, size(x) > 6", two_three, u));
    ck_assert(holds("1 <= rank(x)", two_three, u) && !holds("1 <= rank(x)", scalar, u));
}
END_TEST

START_TEST(needs_predicates) {
    Shape u = UNKNOWN_SHAPE, scalar = SCALAR_SHAPE, vector = SHAPE(4), matrix = SHAPE(2, 3), empty = SHAPE(0, 3);
    static const struct { const char *name; bool scalar, vector, matrix, empty; } rows[] = {
        {"scalar(x)", true, false, false, false},      {"vector(x)", false, true, false, false},
        {"matrix(x)", false, false, true, true},       {"scalar_or_vector(x)", true, true, false, false},
        {"one(x)", true, false, false, false},         {"nonempty(x)", true, true, true, false},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        ck_assert_int_eq(holds(rows[k].name, scalar, u), rows[k].scalar);
        ck_assert_int_eq(holds(rows[k].name, vector, u), rows[k].vector);
        ck_assert_int_eq(holds(rows[k].name, matrix, u), rows[k].matrix);
        ck_assert_int_eq(holds(rows[k].name, empty, u), rows[k].empty);
        ck_assert(holds(rows[k].name, u, u));
    }
    ck_assert(holds("one(x)", SHAPE(1, 1), u));
    ck_assert(holds("same_shape(x, y)", matrix, SHAPE(2, -1)) && !holds("same_shape(x, y)", matrix, vector));
    ck_assert(holds("same_rank(x, y)", matrix, empty) && !holds("same_rank(x, y)", matrix, vector));
}
END_TEST

static Status *stitch(int32_t index, int n) {
    Node *c = toy_ints(graph, "c", 1, &index);
    Node *d = toy_placeholder(graph, "d", DT_float, SHAPE(1)), *e = toy_placeholder(graph, "e", DT_float, SHAPE(n));
    NodeBuilder b;
    builder_init(&b, graph, STR("DynamicStitch"), STR("a"));
    builder_input_list(&b, (Output[]){out_of(c), out_of(c)}, 2);
    builder_input_list(&b, (Output[]){out_of(d), out_of(e)}, 2);
    Node *node;
    Status *status = builder_finish(&b, &node);
    builder_clear(&b);
    return status;
}

START_TEST(needs_of_lists) {
    Status *status = stitch(2, 1);
    ck_assert_ptr_null(status);
    graph_release(graph);
    ck_assert_ptr_null(graph_new(&graph));
    status = stitch(-2, 1);
    ck_assert_msg(strstr(status_message(status), "element 0 is -2") != NULL, "%s", status_message(status));
    status_free(status);
    graph_release(graph);
    ck_assert_ptr_null(graph_new(&graph));
    status = stitch(2, 3);  // only the second pair disagrees
    ck_assert_msg(strstr(status_message(status), "same_shape(indices, data) is required, but indices has shape [1] and "
                                                 "data has shape [3]") != NULL, "%s", status_message(status));
    status_free(status);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("shapes");
    TCase *tests = tcase_create("shapes");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, values_come_from_constants);
    tcase_add_test(tests, values_come_from_shapes);
    tcase_add_test(tests, long_vectors_are_no_shapes);
    tcase_add_test(tests, what_is_known_is_merged);
    tcase_add_test(tests, handles_carry_shapes);
    tcase_add_test(tests, needs_compare);
    tcase_add_test(tests, needs_predicates);
    tcase_add_test(tests, needs_of_lists);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
