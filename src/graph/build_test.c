// Build test — every rule of making a node, and the message of each one broken.
#include <check.h>

#include "base/suite_test.h"
#include "graph/build.h"
#include "graph/toy_ops_test.h"

static Graph *graph;
static Node *x, *w, *i, *s;
static NodeBuilder b;

static void set_up(void) {
    op_table_set(toy_ops, NULL);
    ck_assert_ptr_null(graph_new(&graph));
    x = toy_placeholder(graph, "x", DT_float, SHAPE(2, 3));
    w = toy_placeholder(graph, "w", DT_float, SHAPE(3, 4));
    i = toy_placeholder(graph, "i", DT_int32, SHAPE(2));
    s = toy_placeholder(graph, "s", DT_string, SCALAR_SHAPE);
}

static void tear_down(void) {
    Status *status = graph_check(graph);
    ck_assert_msg(!status, "%s", status_message(status));
    graph_release(graph);
}

static void start(const char *type) {
    builder_init(&b, graph, str_of(type), STR("a"));
}

// The node can't be made, for that reason, and the graph is as it was.
static void fails(Code code, const char *text) {
    size_t nodes = graph->nodes.n, tensors = graph->tensors.n, uses = x->uses.n;
    Node *node = NULL;
    Status *status = builder_finish(&b, &node);
    ck_assert_msg(status_code(status) == code, "%s: %s", code_name(status_code(status)), status_message(status));
    ck_assert_msg(strstr(status_message(status), text) != NULL, "%s", status_message(status));
    if (!strstr(text, "Duplicate"))
        ck_assert_msg(strstr(status_message(status), "{{node a}}") != NULL, "%s", status_message(status));
    status_free(status);
    builder_clear(&b);
    ck_assert_ptr_null(node);
    ck_assert_int_eq(graph->nodes.n, nodes);
    ck_assert_int_eq(graph->tensors.n, tensors);
    ck_assert_int_eq(x->uses.n, uses);
}

START_TEST(infers_types_and_defaults) {
    start("MatMul");
    builder_input(&b, out_of(x));
    builder_input(&b, out_of(w));
    builder_device(&b, STR("/device:CPU:0"));
    builder_control(&b, i);
    builder_control(&b, i);
    builder_attr(&b, STR("_note"), &ATTR_OF_STRING(STR("kept")));
    Node *a = toy_finish(&b);
    ck_assert_int_eq(a->n_attrs, 3);
    ck_assert(str_is(a->attrs[0].name, "transpose_a") && !a->attrs[0].value.b);
    ck_assert(str_is(a->attrs[1].name, "T") && a->attrs[1].value.type == DT_float);
    ck_assert(str_is(node_str(a, "_note"), "kept"));
    ck_assert(str_is(a->device, "/device:CPU:0"));
    ck_assert_int_eq(a->n_controls, 1);
    ck_assert_int_eq(a->n_outputs, 1);
    ck_assert_int_eq(a->output_types[0], DT_float);
    ck_assert(shape_equal(&a->output_shapes[0], &SHAPE(2, 4)));
}
END_TEST

START_TEST(infers_lists) {
    start("ConcatV2");
    builder_input_list(&b, (Output[]){out_of(x), out_of(w), out_of(x)}, 3);
    builder_input(&b, out_of(i));
    Node *a = toy_finish(&b);
    ck_assert_int_eq(node_int(a, "N"), 3);
    ck_assert_int_eq(node_type(a, "T"), DT_float);
    ck_assert_int_eq(node_type(a, "Tidx"), DT_int32);
    int first, count;
    node_input_span(a, 1, &first, &count);
    ck_assert(first == 3 && count == 1);
    ck_assert_int_eq(node_input_arg(a, STR("values"), &first, &count), 0);
    ck_assert(first == 0 && count == 3);
    ck_assert_int_eq(node_input_type(a, 3), DT_int32);
    builder_init(&b, graph, STR("IdentityN"), STR("n"));
    builder_input_list(&b, (Output[]){out_of(x), out_of(i)}, 2);
    Node *n = toy_finish(&b);
    ck_assert_int_eq(n->n_outputs, 2);
    ck_assert_int_eq(n->output_types[1], DT_int32);
    node_output_span(n, 0, &first, &count);
    ck_assert(first == 0 && count == 2);
}
END_TEST

START_TEST(infers_from_flat_inputs) {
    builder_init(&b, graph, STR("DynamicStitch"), STR("d"));
    builder_flat_inputs(&b, (Output[]){out_of(i), out_of(i), out_of(i), out_of(i)}, 4);
    ck_assert_int_eq(node_int(toy_finish(&b), "N"), 2);
    builder_init(&b, graph, STR("IdentityN"), STR("n"));
    builder_flat_inputs(&b, (Output[]){out_of(x), out_of(i)}, 2);
    ck_assert_int_eq(toy_finish(&b)->output_types[1], DT_int32);
    start("DynamicStitch");
    builder_flat_inputs(&b, (Output[]){out_of(i), out_of(i), out_of(i)}, 3);
    fails(INVALID_ARGUMENT, "missing attr 'N'");
    start("Add");
    builder_flat_inputs(&b, (Output[]){out_of(x)}, 1);
    fails(INVALID_ARGUMENT, "expected 2 inputs, got 1");
}
END_TEST

START_TEST(references) {
    builder_init(&b, graph, STR("VariableV2"), STR("variable"));
    builder_attr(&b, STR("dtype"), &ATTR_OF_TYPE(DT_float));
    builder_attr(&b, STR("shape"), &(AttrValue){.kind = ATTR_SHAPE, .shape = &SHAPE(2, 3)});
    Node *variable = toy_finish(&b);
    ck_assert_int_eq(variable->output_types[0], DT_float + DT_REF);
    ck_assert(node_is_stateful(variable));
    Node *read = toy_node(graph, "Identity", "read", variable, NULL);
    ck_assert_int_eq(read->output_types[0], DT_float);
    Node *sum = toy_node(graph, "Add", "sum", x, variable);
    ck_assert_int_eq(sum->output_types[0], DT_float);
    Node *assign = toy_node(graph, "Assign", "assign", variable, x);
    ck_assert_int_eq(assign->output_types[0], DT_float + DT_REF);
    ck_assert(node_input_is_ref(assign, 0) && !node_input_is_ref(assign, 1));
    builder_init(&b, graph, STR("Assign"), STR("a"));
    builder_input(&b, out_of(x));
    builder_input(&b, out_of(x));
    fails(INVALID_ARGUMENT, "passed float expected ref type");
    Status *status = node_set_input(assign, 0, out_of(x));
    ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    status_free(status);
}
END_TEST

START_TEST(colocations_are_a_sorted_set) {
    start("NoOp");
    builder_colocate(&b, STR("z"));
    builder_attr(&b, STR("_class"), &(AttrValue){.kind = ATTR_STRING, .is_list = true, .n = 2,
                                                 .ss = (Str[]){STR("loc:@x"), STR("loc:@i")}});
    builder_colocate(&b, STR("w"));
    builder_colocate(&b, STR("x"));
    const AttrValue *value = node_list(toy_finish(&b), "_class");
    ck_assert_int_eq(value->n, 3);
    ck_assert(str_is(value->ss[0], "loc:@i") && str_is(value->ss[1], "loc:@w") && str_is(value->ss[2], "loc:@x"));
    start("NoOp");
    builder_attr(&b, STR("_class"), &ATTR_OF_INT(3));
    builder_clear(&b);
}
END_TEST

START_TEST(wrong_inputs) {
    start("Add");
    builder_input(&b, out_of(x));
    fails(INVALID_ARGUMENT, "1 inputs specified of 2 inputs in Op");
    start("Neg");
    builder_input(&b, out_of(x));
    builder_input(&b, out_of(x));
    fails(INVALID_ARGUMENT, "More Input() calls than the 1 input_args");
    start("Add");
    builder_input(&b, out_of(x));
    builder_input(&b, out_of(i));
    fails(INVALID_ARGUMENT, "Input 1 ('y') passed int32 expected float");
    start("ConcatV2");
    builder_input(&b, out_of(x));
    builder_input(&b, out_of(i));
    fails(INVALID_ARGUMENT, "Single tensor passed to 'values', expected list");
    start("Neg");
    builder_input_list(&b, (Output[]){out_of(x)}, 1);
    fails(INVALID_ARGUMENT, "List provided to input 'x' when single Tensor expected");
    start("Neg");
    builder_input(&b, (Output){x, 1});
    builder_input(&b, (Output){x, -1});
    fails(INVALID_ARGUMENT, "Attempt to add output 1 of x not in range [0, 1)");
    start("Neg");
    builder_input(&b, (Output){0});
    fails(INVALID_ARGUMENT, "no node");
    Graph *other;
    ck_assert_ptr_null(graph_new(&other));
    Node *stranger = toy_placeholder(other, "x", DT_float, SHAPE(2));
    start("Neg");
    builder_input(&b, out_of(stranger));
    builder_control(&b, stranger);
    fails(INVALID_ARGUMENT, "not of this graph");
    graph_release(other);
}
END_TEST

START_TEST(wrong_attributes) {
    start("Placeholder");
    fails(INVALID_ARGUMENT, "NodeDef missing attr 'dtype' from Op<name=Placeholder>");
    start("Placeholder");
    builder_attr(&b, STR("dtype"), &ATTR_OF_INT(1));
    fails(INVALID_ARGUMENT, "AttrValue had value with type 'int' when 'type' expected for attr 'dtype'");
    start("Neg");
    builder_input(&b, out_of(s));
    fails(INVALID_ARGUMENT, "Value for attr 'T' of string is not in the list of allowed values: float, int32");
    start("Pool");
    builder_input(&b, out_of(x));
    builder_attr(&b, STR("ksize"), &(AttrValue){.kind = ATTR_INT, .is_list = true, .n = 1, .is = (int64_t[]){1}});
    fails(INVALID_ARGUMENT, "Length for attr 'ksize' of 1 must be at least minimum 2");
    start("Pool");
    builder_input(&b, out_of(x));
    builder_attr(&b, STR("ksize"), &(AttrValue){.kind = ATTR_INT, .is_list = true, .n = 2, .is = (int64_t[]){1, 2}});
    builder_attr(&b, STR("padding"), &ATTR_OF_STRING(STR("FULL")));
    fails(INVALID_ARGUMENT, "Value for attr 'padding' of FULL is not in the list of allowed values: SAME, VALID");
    start("ConcatV2");
    builder_input_list(&b, (Output[]){out_of(x)}, 1);
    builder_input(&b, out_of(i));
    fails(INVALID_ARGUMENT, "Value for attr 'N' of 1 must be at least minimum 2");
    start("ConcatV2");
    builder_input_list(&b, NULL, 0);
    builder_input(&b, out_of(i));
    fails(INVALID_ARGUMENT, "missing attr 'T'");
    start("ConcatV2");
    builder_attr(&b, STR("N"), &ATTR_OF_INT(4));
    builder_input_list(&b, (Output[]){out_of(x), out_of(x)}, 2);
    builder_input(&b, out_of(i));
    fails(INVALID_ARGUMENT, "Inconsistent values for attr 'N' 4 vs. 2");
    start("Neg");
    builder_attr(&b, STR("T"), &ATTR_OF_TYPE(DT_int32));
    builder_input(&b, out_of(x));
    fails(INVALID_ARGUMENT, "passed float expected int32");
    start("Unpack");
    builder_input(&b, out_of(x));
    builder_attr(&b, STR("num"), &ATTR_OF_INT(INT64_MAX));
    fails(INVALID_ARGUMENT, "num");
    start("Unpack");
    builder_input(&b, out_of(x));
    builder_attr(&b, STR("num"), &ATTR_OF_INT(INT32_MAX));
    fails(INVALID_ARGUMENT, "too many");
    start("Placeholder");
    builder_attr(&b, STR("dtype"), &ATTR_OF_TYPE((DType)77));
    fails(INVALID_ARGUMENT, "no valid type");
}
END_TEST

START_TEST(unknown_ops_and_names_taken) {
    start("Frobnicate");
    builder_input(&b, out_of(x));
    fails(INVALID_ARGUMENT, "Op type not registered 'Frobnicate'");
    builder_init(&b, graph, STR("NoOp"), STR("x"));
    fails(INVALID_ARGUMENT, "Duplicate node name in graph: 'x'");
    // Known by its signature only.
    start("BesselJ0");
    builder_input(&b, out_of(x));
    Node *a = toy_finish(&b);
    ck_assert_ptr_null(node_op(a));
    ck_assert_int_eq(a->output_shapes[0].rank, UNKNOWN_RANK);
}
END_TEST

START_TEST(shapes_are_checked) {
    start("MatMul");
    builder_input(&b, out_of(x));
    builder_input(&b, out_of(x));
    fails(INVALID_ARGUMENT, "dim(a, 1) == dim(b, 0) is required, but a has shape [2,3] and b has shape [2,3] for "
                            "'{{node a}} = MatMul(x, x)' with input shapes: [2,3], [2,3].");
    start("Add");
    builder_input(&b, out_of(x));
    builder_input(&b, out_of(w));
    fails(INVALID_ARGUMENT, "Incompatible shapes: [2,3] vs. [3,4]");
}
END_TEST

START_TEST(registers_ops) {
    static const Op plugin = {.signature = "ToyPlugin(x: float) -> y: float", .shape = shape_unchanged};
    static const Op known = {.signature = "BesselJ0(x: float) -> y: float"};
    const OpType *type, *again;
    ck_assert_ptr_null(op_register(&plugin, &type));
    ck_assert_ptr_null(op_type_find(STR("ToyPlugin"), &again));
    ck_assert_ptr_eq(type, again);
    Status *status = op_register(&plugin, &again);
    ck_assert_int_eq(status_code(status), ALREADY_EXISTS);
    status_free(status);
    status = op_register(&known, &again);
    ck_assert_int_eq(status_code(status), ALREADY_EXISTS);
    status_free(status);
    status = op_type_find(STR("Frobnicate"), &again);
    ck_assert_int_eq(status_code(status), NOT_FOUND);
    status_free(status);
    size_t n = 0;
    while (op_at(n))
        n++;
    ck_assert_int_eq(n, sizeof toy_ops / sizeof *toy_ops);  // one more than the table, whose end isn't an op
    ck_assert_ptr_eq(op_at(n - 1), &plugin);
    ck_assert(str_is(op_name(op_at(0)), "Const"));
}
END_TEST

START_TEST(registers_malformed_needs) {
    static const char *const wrong[] = {"rank(w) > 1", "rank(x)", "scalar(x) == 1", "frob(x)", "rank(x) > ",
                                        "rank(x) >= 1,, ",
                                        "dim(x) == 1", "rank(x) >= 1 rank(x) < 2", "same_shape(x)", "rank(x == 1"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        const OpType *type;
        ck_assert_ptr_null(op_type_find(STR("Add"), &type));
        Arena arena = {0};
        Needs *needs = NULL;
        Status *status = needs_compile(wrong[k], &type->signature, &arena, &needs);
        ck_assert_msg(status_code(status) == INTERNAL, "%s", wrong[k]);
        status_free(status);
        arena_clear(&arena);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("build");
    TCase *tests = tcase_create("build");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, infers_types_and_defaults);
    tcase_add_test(tests, infers_lists);
    tcase_add_test(tests, infers_from_flat_inputs);
    tcase_add_test(tests, references);
    tcase_add_test(tests, colocations_are_a_sorted_set);
    tcase_add_test(tests, wrong_inputs);
    tcase_add_test(tests, wrong_attributes);
    tcase_add_test(tests, unknown_ops_and_names_taken);
    tcase_add_test(tests, shapes_are_checked);
    tcase_add_test(tests, registers_ops);
    tcase_add_test(tests, registers_malformed_needs);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
