// Expression tests — calls as text: what they become, the types of literals, what is refused and how it is named.
#include <check.h>

#include "base/status_test.h"
#include "base/suite_test.h"
#include "formula/expression.h"
#include "ops/all_ops.h"

static Graph *graph;
static Arena arena;

static void setup(void) {
    op_table_set(all_ops, all_rewrites);
    GOOD(graph_new(&graph));
}

static void teardown(void) {
    graph_release(graph);
    arena_clear(&arena);
}

static Status *build_forced(const char *text, bool shapes, int forced_attr, DType forced, Node **out) {
    Expression *call;
    size_t used;
    TRY(expression_parse(str_of(text), shapes, &arena, &call, &used));
    AUTO(expression_build) ExpressionBuild build = {.graph = graph, .forced_attr = forced_attr, .forced = forced};
    return expression_build(&build, call, out);
}

static Node *build(const char *text) {
    Node *node;
    GOOD(build_forced(text, false, -1, DT_INVALID, &node));
    return node;
}

static void refuses(const char *text, Code code, const char *word) {
    Node *node;
    Status *status = build_forced(text, false, -1, DT_INVALID, &node);
    ck_assert_msg(status != NULL, "%s is taken", text);
    ck_assert_msg(status_code(status) == code && strstr(status_message(status), word), "%s: %s: %s", text,
                  code_name(status_code(status)), status_message(status));
    status_free(status);
}

START_TEST(types_of_literals) {
    ck_assert_int_eq(build("Identity(3)")->output_types[0], DT_float);
    ck_assert_int_eq(build("Identity(int64 3)")->output_types[0], DT_int64);
    ck_assert_int_eq(build("Identity(\"a\")")->output_types[0], DT_string);
    ck_assert_int_eq(build("Identity(true)")->output_types[0], DT_bool);
    ck_assert_int_eq(build("Identity(3; T=double)")->output_types[0], DT_double);
    ck_assert_int_eq(build("Add(1, double 2)")->output_types[0], DT_double);          // the other argument tells
    ck_assert_int_eq(build("Add(1, Identity(int32 2))")->output_types[0], DT_int32);  // a call tells
    ck_assert_int_eq(node_input_type(build("Sum([1 2], 0)"), 1), DT_int32);           // the op's default
    ck_assert_int_eq(node_input_type(build("Fill([2 2], 1)"), 0), DT_int32);
    Node *node = build("IdentityN({1, \"a\", int32 [3]})");
    ck_assert_int_eq(node->n_outputs, 3);
    ck_assert_int_eq(node->output_types[1], DT_string);
    ck_assert_int_eq(node->output_types[2], DT_int32);
}
END_TEST

START_TEST(forced_types) {
    Node *node;
    GOOD(build_forced("Add([1 2], 3)", false, 0, DT_half, &node));
    ck_assert_int_eq(node->output_types[0], DT_half);
    Status *status = build_forced("Add([0.5], 3)", false, 0, DT_int32, &node);
    ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    status_free(status);
}
END_TEST

START_TEST(nesting_and_outputs) {
    Node *node = build("Neg(Add([1 2], Mul(3, 4)))");
    ck_assert(str_is(node->inputs[0].node->type->name, "Add"));
    ck_assert(str_is(node->inputs[0].node->inputs[1].node->type->name, "Mul"));
    ck_assert_int_eq(build("Neg(IdentityN({1, 2}).1)")->inputs[0].index, 1);
    ck_assert_int_eq(build("ConcatV2({[1 2], [3]}, 0)")->output_shapes[0].dims[0], 3);
}
END_TEST

START_TEST(attributes) {
    ck_assert(node_bool(build("Sum([1 2], 0; keep_dims=true)"), "keep_dims"));
    Node *node = build("Conv2D(zeros[1 4 4 1], zeros[3 3 1 2]; strides=[1, 1, 1, 1], padding=SAME)");
    ck_assert_int_eq(node_list(node, "strides")->n, 4);
    ck_assert(str_is(node_str(node, "padding"), "SAME"));
    ck_assert_int_eq(build("Cast(1.5; DstT=int32)")->output_types[0], DT_int32);
}
END_TEST

START_TEST(shapes_are_no_values) {
    Node *node;
    Status *status = build_forced("Sum([? 3], 1)", true, -1, DT_INVALID, &node);
    ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    status_free(status);
}
END_TEST

static Status *placeholder(ExpressionBuild *build, int arg, Tensor *value, Output *out) {
    if (value->data)
        return expression_constant(build, arg, value, out);
    AUTO(builder) NodeBuilder builder;
    Str name;
    TRY(graph_unique_name(build->graph, STR("x"), &name));
    builder_init(&builder, build->graph, STR("Placeholder"), name);
    builder_attr(&builder, STR("dtype"), &ATTR_OF_TYPE(value->dtype));
    builder_attr(&builder, STR("shape"), &(AttrValue){.kind = ATTR_SHAPE, .shape = &value->shape});
    Node *node;
    TRY(builder_finish(&builder, &node));
    *out = (Output){node, 0};
    return OK;
}

START_TEST(shapes_with_values) {  // what the op reads on the host is a value, everything else a shape
    Expression *call;
    size_t used;
    GOOD(expression_parse(STR("Reshape([? 6], [3 -1])"), true, &arena, &call, &used));
    AUTO(expression_build) ExpressionBuild build = {.graph = graph, .forced_attr = -1, .leaf = placeholder};
    Node *node;
    GOOD(expression_build(&build, call, &node));
    Shape wanted = SHAPE(3, UNKNOWN_DIM);
    ck_assert(shape_equal(&node->output_shapes[0], &wanted));
}
END_TEST

START_TEST(variables) {
    Expression *call;
    size_t used;
    GOOD(expression_parse(STR("AssignVariableOp([1 2], [3 4])"), false, &arena, &call, &used));
    AUTO(expression_build) ExpressionBuild build = {.graph = graph, .forced_attr = -1};
    Node *node;
    GOOD(expression_build(&build, call, &node));
    ck_assert_uint_eq(build.inits.n, 1);
    ck_assert_uint_eq(build.variables.n, 1);
    ck_assert(str_is(node->inputs[0].node->type->name, "VarHandleOp"));
}
END_TEST

START_TEST(refused) {
    refuses("", INVALID_ARGUMENT, "name of an operation");
    refuses("Softmax", INVALID_ARGUMENT, "expected (");
    refuses("Softmax(", INVALID_ARGUMENT, "column");
    refuses("Softmax(1", INVALID_ARGUMENT, "expected");
    refuses("Softmax(1 2)", INVALID_ARGUMENT, "expected");
    refuses("Softmax(1, 2)", INVALID_ARGUMENT, "1 arguments");
    refuses("Softmax()", INVALID_ARGUMENT, "");
    refuses("Softmax([1 2]; a=1)", INVALID_ARGUMENT, "attribute a");
    refuses("Softmax([1 2]; T)", INVALID_ARGUMENT, "attribute=value");
    refuses("Softmax([1 2]; T=floaty)", INVALID_ARGUMENT, "T");
    refuses("Nothing(1)", NOT_FOUND, "Nothing");
    refuses("Neg(Neg(1).1)", INVALID_ARGUMENT, "1 outputs");
    refuses("AddN({1, 2)", INVALID_ARGUMENT, "list");
    refuses("Neg({1, 2})", INVALID_ARGUMENT, "");
    refuses("AddN(1)", INVALID_ARGUMENT, "");
}
END_TEST

START_TEST(too_deep) {
    AUTO(text) Text text = {0};
    for (int i = 0; i < 100000; i++)
        text_add(&text, STR("Neg("));
    ck_assert(!text.failed);
    refuses(text.p, INVALID_ARGUMENT, "nested");
}
END_TEST

START_TEST(items) {
    ck_assert_uint_eq(expression_item(STR("[1, 2], 3"), ","), 6);
    ck_assert_uint_eq(expression_item(STR("\"a,\\\",b\", 3"), ","), 8);
    ck_assert_uint_eq(expression_item(STR("abc"), ","), 3);
    ck_assert(str_is(expression_trim(STR("  a b \n")), "a b"));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("expression");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, types_of_literals);
    tcase_add_test(tests, forced_types);
    tcase_add_test(tests, nesting_and_outputs);
    tcase_add_test(tests, attributes);
    tcase_add_test(tests, shapes_are_no_values);
    tcase_add_test(tests, shapes_with_values);
    tcase_add_test(tests, variables);
    tcase_add_test(tests, refused);
    tcase_add_test(tests, too_deep);
    tcase_add_test(tests, items);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
