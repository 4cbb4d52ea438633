// Hlo test — the text of modules, what their arguments and results are, and what no module can be made of.
#include <check.h>

#include "base/status_test.h"
#include "base/suite_test.h"
#include "graph/graph_def.h"
#include "hlo/module.h"
#include "ops/all_ops.h"
#include "proto/text.h"

#define T_FLOAT "attr { key: 'T' value { type: DT_FLOAT } } "
#define X "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } } "
#define NODE(name, op, rest) "node { name: '" name "' op: '" op "' " rest " } "
#define HANDLE "node { name: 'v' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_FLOAT } } " \
               "attr { key: 'shape' value { shape { dim { size: 3 } } } } } "
#define D_FLOAT "attr { key: 'dtype' value { type: DT_FLOAT } } "

static Graph *graph;
static HloModule module;

static void set_up(void) {
    op_table_set(all_ops, all_rewrites);
    GOOD(graph_new(&graph));
}

static void tear_down(void) {
    hlo_module_clear(&module);
    graph_release(graph);
}

static void import(const char *text) {
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text bytes = {0};
    AUTO(import_results) ImportResults results = {0};
    GraphDef *def;
    GOOD(PROTO_PARSE(GraphDef, &arena, str_of(text), &def));
    GOOD(PROTO_ENCODE(GraphDef, def, &bytes));
    GOOD(graph_import(graph, text_str(&bytes), NULL, &results));
}

static Node *node(const char *name) {
    Node *found = graph_find(graph, str_of(name));
    ck_assert_msg(found != NULL, "no node %s", name);
    return found;
}

// A module of `members`, over x of that shape and the variable v; the last member's first output is fetched, if it has one.
static Status *write(Shape shape, int n, const char *const *members, size_t max_text) {
    Node *nodes[8];
    HloInput inputs[2];
    HloVariable variable = {DT_float, SHAPE(3)};
    int n_inputs = 0;
    for (int i = 0; i < n; i++)
        nodes[i] = node(members[i]);
    if (graph_find(graph, STR("x")))
        inputs[n_inputs++] = (HloInput){.edge = {node("x"), 0}, .variable = -1, .dtype = DT_float, .shape = shape};
    if (graph_find(graph, STR("v")))
        inputs[n_inputs++] = (HloInput){.edge = {node("v"), 0}, .variable = 0};
    Output output = {nodes[n - 1], 0};
    HloSpec spec = {.members = nodes, .n_members = n, .inputs = inputs, .n_inputs = n_inputs, .variables = &variable,
                    .n_variables = 1, .outputs = &output, .n_outputs = nodes[n - 1]->n_outputs > 0, .max_text = max_text};
    return hlo_module(&spec, &module);
}

#define MEMBERS(...) (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), (const char *[]){__VA_ARGS__}

static void is_text(const char *expected) {
    ck_assert_str_eq(module.text.p, expected);
}

START_TEST(one_operation) {
    import(X NODE("y", "Tanh", "input: 'x' " T_FLOAT));
    GOOD(write(SHAPE(2, 3), MEMBERS("y"), 0));
    is_text("module @millrace {\n"
            "  func.func public @main(%0: tensor<2x3xf32>) -> (tensor<2x3xf32>) {\n"
            "    %1 = stablehlo.tanh %0 : tensor<2x3xf32>\n"
            "    return %1 : tensor<2x3xf32>\n  }\n}\n");
    ck_assert(module.n_arguments == 1 && module.arguments[0].kind == HLO_INPUT && module.results[0].kind == HLO_OUTPUT);
}
END_TEST

START_TEST(constants_stand_in_front_once) {
    import(X NODE("a", "Relu", "input: 'x' " T_FLOAT) NODE("y", "Relu", "input: 'a' " T_FLOAT));
    GOOD(write(SHAPE(2), MEMBERS("a", "y"), 0));
    is_text("module @millrace {\n"
            "  func.func public @main(%0: tensor<2xf32>) -> (tensor<2xf32>) {\n"
            "    %1 = stablehlo.constant dense<0.0> : tensor<f32>\n"
            "    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<2xf32>\n"
            "    %3 = stablehlo.maximum %0, %2 : tensor<2xf32>\n"
            "    %4 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<2xf32>\n"
            "    %5 = stablehlo.maximum %3, %4 : tensor<2xf32>\n"
            "    return %5 : tensor<2xf32>\n  }\n}\n");
}
END_TEST

START_TEST(a_variable_takes_its_own_memory) {
    import(X HANDLE NODE("add", "AssignAddVariableOp", "input: 'v' input: 'x' " D_FLOAT)
           NODE("y", "ReadVariableOp", "input: 'v' input: '^add' " D_FLOAT));
    GOOD(write(SHAPE(3), MEMBERS("add", "y"), 0));
    is_text("module @millrace {\n"
            "  func.func public @main(%0: tensor<3xf32> {tf.aliasing_output = 1 : i32}, %1: tensor<3xf32>) -> "
            "(tensor<3xf32>, tensor<3xf32>) {\n"
            "    %2 = stablehlo.add %0, %1 : tensor<3xf32>\n"
            "    return %2, %2 : tensor<3xf32>, tensor<3xf32>\n  }\n}\n");
    ck_assert(module.results[1].kind == HLO_ASSIGNED && module.results[1].argument == 0);
}
END_TEST

START_TEST(what_is_only_assigned_is_no_argument) {
    import(X HANDLE NODE("set", "AssignVariableOp", "input: 'v' input: 'x' " D_FLOAT));
    GOOD(write(SHAPE(3), MEMBERS("set"), 0));
    ck_assert(module.n_arguments == 1 && module.arguments[0].kind == HLO_INPUT);
    ck_assert(module.n_results == 1 && module.results[0].kind == HLO_ASSIGNED && module.results[0].argument == -1);
}
END_TEST

START_TEST(an_index_is_checked) {
    import(X "node { name: 'i' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'value' value { tensor { "
           "dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: 0 int_val: 9 } } } } "
           NODE("y", "Gather", "input: 'x' input: 'i' attr { key: 'Tparams' value { type: DT_FLOAT } } "
                "attr { key: 'Tindices' value { type: DT_INT32 } }"));
    GOOD(write(SHAPE(4), MEMBERS("i", "y"), 0));
    ck_assert(module.n_results == 2 && module.results[1].kind == HLO_CHECKED && module.results[1].node == node("y"));
    ck_assert(module.results[1].code == INVALID_ARGUMENT && module.results[1].dtype == DT_bool);
}
END_TEST

START_TEST(refusals) {
    import(X NODE("y", "Softmax", "input: 'x' " T_FLOAT) NODE("w", "Where", "input: 'x' " T_FLOAT));
    AUTO(status) Status *unknown = write(SHAPE(-1), MEMBERS("y"), 0);
    ck_assert_msg(status_code(unknown) == UNIMPLEMENTED && strstr(status_message(unknown), "{{node y}}"), "%s", status_message(unknown));
    AUTO(status) Status *scalar = write(SCALAR_SHAPE, MEMBERS("y"), 0);
    ck_assert(status_code(scalar) == INVALID_ARGUMENT);
    AUTO(status) Status *none = write(SHAPE(3), MEMBERS("w"), 0);
    ck_assert(status_code(none) == UNIMPLEMENTED);
    AUTO(status) Status *long_text = write(SHAPE(2, 3), MEMBERS("y"), 100);
    ck_assert(status_code(long_text) == RESOURCE_EXHAUSTED);
    ck_assert(hlo_emits(node("y")) && !hlo_emits(node("w")));
}
END_TEST

START_TEST(most_operations_have_a_text) {
    int n = 0;
    for (size_t i = 0; all_ops[i]; i++)
        n += all_ops[i]->hlo != NULL;
    ck_assert_msg(n >= 340, "%d operations have .hlo", n);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("hlo");
    TCase *c = tcase_create("modules");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, one_operation);
    tcase_add_test(c, constants_stand_in_front_once);
    tcase_add_test(c, a_variable_takes_its_own_memory);
    tcase_add_test(c, what_is_only_assigned_is_no_argument);
    tcase_add_test(c, an_index_is_checked);
    tcase_add_test(c, refusals);
    tcase_add_test(c, most_operations_have_a_text);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return run_suite(suite());
}
