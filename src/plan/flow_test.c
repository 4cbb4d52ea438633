// Flow tests — plans with control flow: which frames agree, what a feed stands for, devices that can be had.
#include <check.h>
#include <math.h>

#include "autodiff/autodiff.h"
#include "graph/graph_def.h"
#include "plan/plan_test.h"
#include "proto/text.h"
#include "tensor/literal.h"

enum { ALL = BIT(PASSES) - 1 };

static Output placeholder(DType dtype) {
    return formula_op(&formula, "Placeholder", NULL, 0, ATTRS(TYPE_ATTR("dtype", dtype)));
}

static Output enter(Output x, const char *frame) {
    return formula_op(&formula, "Enter", &x, 1, ATTRS({"frame_name", ATTR_OF_STRING(str_of(frame))}));
}

static Output merge(Output x) {
    return formula_of_list(&formula, "Merge", (Output[]){x, x}, 2, NULL);
}

static Status *run_in(Session *session, Output fetch, Output feed, const Tensor *value, Tensor *out) {
    StepSignature signature = {.feeds = &feed, .n_feeds = feed.node != NULL, .fetches = &fetch, .n_fetches = 1};
    return session_run(session, &signature, &(RunSettings){.timeout_ms = 5000}, &value, out);
}

// One run, in a session of its own.
static Status *run(Output fetch, Output feed, const Tensor *value, Tensor *out) {
    GOOD(formula.status);
    Session *session = session_with(ALL, 1);
    Status *status = run_in(session, fetch, feed, value, out);
    session_free(session);
    return status;
}

static Tensor boolean(bool value) {
    Tensor tensor;
    GOOD(tensor_new(DT_bool, SCALAR_SHAPE, &tensor));
    *(bool *)tensor.data = value;
    return tensor;
}

static Tensor number(float value) {
    Tensor tensor;
    GOOD(tensor_new(DT_float, SCALAR_SHAPE, &tensor));
    *(float *)tensor.data = value;
    return tensor;
}

static void refused(Status *status, Code code, const char *part, const char *other) {
    ck_assert_ptr_nonnull(status);
    const char *message = status_message(status);
    ck_assert_msg(status_code(status) == code && strstr(message, part) && strstr(message, other), "%s", message);
    status_free(status);
}

// ---------------------------------------- frames

START_TEST(loop_cond_alone) {
    Formula *f = &formula;
    Output x = placeholder(DT_bool), y = Op("LoopCond", x);
    AUTO(tensor) Tensor yes = boolean(true), out = {0};
    GOOD(run(y, x, &yes, &out));
    ck_assert(*(bool *)out.data);
}
END_TEST

START_TEST(back_edge_of_another_frame) {
    Formula *f = &formula;
    Output m = merge(Int(1)), next = Op("NextIteration", enter(m, "a"));
    GOOD(node_set_input(m.node, 1, next));
    Tensor out;
    refused(run(m, NONE, NULL, &out), INVALID_ARGUMENT, "{{node t/Merge}}", "'t/NextIteration'");
    // Two loops, each with the other's back edge.
    Output a = merge(enter(Int(1), "b")), b = merge(enter(Int(2), "c"));
    GOOD(node_set_input(a.node, 1, Op("NextIteration", b)));
    GOOD(node_set_input(b.node, 1, Op("NextIteration", a)));
    refused(run(Op("Exit", a), NONE, NULL, &out), INVALID_ARGUMENT, "different frames", "NextIteration");
}
END_TEST

// The Exit reads what comes in, not what the Switch lets out: of its values the first leaves the loop, as in
// TensorFlow.
START_TEST(exit_more_than_once) {
    Formula *f = &formula;
    Output x = placeholder(DT_float), m = merge(enter(formula_number(f, 2, DT_float), "a"));
    Output limit = OpWith("Enter", ATTRS({"frame_name", ATTR_OF_STRING(STR("a"))}, BOOL_ATTR("is_constant", true)),
                          formula_number(f, 3, DT_float));
    Output choice = formula_2(f, "Switch", m, Op("LoopCond", Less(m, limit)));
    Output next = Op("NextIteration", Mul(At(choice, 1), At(choice, 1)));
    GOOD(node_set_input(m.node, 1, next));
    Output early = Op("Exit", m), y = Add(early, Add(Exp(x), Op("Exit", choice)));
    AUTO(tensor) Tensor value = number(1), out = {0};
    GOOD(run(y, x, &value, &out));
    ck_assert_float_eq_tol(*(float *)out.data, 2 + expf(1) + 4, 1e-5f);
}
END_TEST

START_TEST(switch_wants_a_scalar) {
    Formula *f = &formula;
    Output pred = placeholder(DT_bool), y = formula_2(f, "Switch", Int(1), pred);
    AUTO(tensor) Tensor value = {0}, out = {0};
    GOOD(tensor_new(DT_bool, SHAPE(1), &value));
    *(bool *)value.data = false;
    refused(run(y, pred, &value, &out), INVALID_ARGUMENT, "{{node t/Switch}}", "[1]");
}
END_TEST

// What is wired across frames has no gradient, and does not hurt.
START_TEST(gradient_across_frames) {
    Formula *f = &formula;
    Output x = placeholder(DT_float), m = merge(enter(x, "a"));
    GOOD(node_add_control(m.node, enter(m, "b").node));
    Output next = Op("NextIteration", Mul(m, m)), dx;
    GOOD(node_set_input(m.node, 1, next));
    Output y = Op("Exit", m);
    GOOD(formula.status);
    refused(autodiff_gradients(graph, STR(""), &y, 1, &x, 1, NULL, &dx), INVALID_ARGUMENT, "{{node t/", "");
}
END_TEST

// ---------------------------------------- conditions

#define CONSTANT(name, dtype, value)                                                                                   \
    "node_def { name: '" name "' op: 'Const' attr { key: 'dtype' value { type: " dtype " } } attr { key: 'value' value { " \
    "tensor { dtype: " dtype " tensor_shape { } " value " } } } }"
#define TYPE(name, dtype) "attr { key: '" name "' value { type: " dtype " } }"
#define CALLS(name, function) "attr { key: '" name "' value { func { name: '" function "' } } }"

static const char functions[] =
    "library { "
    "function { signature { name: 'yes' output_arg { name: 'o' type: DT_INT32 } } " CONSTANT("c", "DT_INT32", "int_val: 1")
    " ret { key: 'o' value: 'c:output:0' } } "
    "function { signature { name: 'no' output_arg { name: 'o' type: DT_INT32 } } " CONSTANT("c", "DT_INT32", "int_val: 0")
    " ret { key: 'o' value: 'c:output:0' } } "
    "function { signature { name: 'same' input_arg { name: 'i' type: DT_INT32 } output_arg { name: 'o' type: DT_INT32 } } "
    "node_def { name: 'x' op: 'Identity' input: 'i' " TYPE("T", "DT_INT32") " } ret { key: 'o' value: 'x:output:0' } } "
    "function { signature { name: 'less' input_arg { name: 'i' type: DT_INT32 } output_arg { name: 'o' type: DT_INT32 } } "
    CONSTANT("c", "DT_INT32", "int_val: 1") " node_def { name: 'x' op: 'Sub' input: 'i' input: 'c:output:0' "
    TYPE("T", "DT_INT32") " } ret { key: 'o' value: 'x:z:0' } } } ";

static void import(const char *nodes) {
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text whole = {0}, bytes = {0};
    AUTO(import_results) ImportResults results = {0};
    GraphDef *def;
    text_format(&whole, "%s%s", functions, nodes);
    GOOD(PROTO_PARSE(GraphDef, &arena, text_str(&whole), &def));
    GOOD(PROTO_ENCODE(GraphDef, def, &bytes));
    GOOD(graph_import(graph, text_str(&bytes), NULL, &results));
}

// Checked against TensorFlow's If.
static const struct {
    const char *type, *value;
    int wanted;
} conditions[] = {
    {"DT_FLOAT", "float [0 0]", 1}, {"DT_FLOAT", "float []", 0}, {"DT_FLOAT", "float [0]", 1},
    {"DT_FLOAT", "float 0.5", 1},
    {"DT_FLOAT", "float 0", 0}, {"DT_STRING", "[\"\"]", 1}, {"DT_STRING", "\"\"", 0}, {"DT_STRING", "\"x\"", 1},
    {"DT_INT8", "int8 0", 0}, {"DT_BOOL", "[false]", 1}, {"DT_BOOL", "bool []", 0}, {"DT_BOOL", "true", 1},
};

START_TEST(conditions_of_any_kind) {
    AUTO(text) Text nodes = {0};
    const char *type = conditions[_i].type;
    text_format(&nodes,
                "node { name: 'p' op: 'Placeholder' attr { key: 'dtype' value { type: %s } } } node { name: 'y' op: '%s' "
                "input: 'p' attr { key: 'Tcond' value { type: %s } } attr { key: 'Tin' value { list { } } } attr { key: 'Tout' "
                "value { list { type: DT_INT32 } } } " CALLS("then_branch", "yes") CALLS("else_branch", "no") " }", type,
                _i % 2 ? "If" : "StatelessIf", type);
    text_char(&nodes, 0);
    import(nodes.p);
    AUTO(tensor) Tensor value = {0}, out = {0};
    size_t consumed;
    GOOD(literal_parse(str_of(conditions[_i].value), DT_INVALID, &value, &consumed));
    GOOD(run((Output){graph_find(graph, STR("y")), 0}, (Output){graph_find(graph, STR("p")), 0}, &value, &out));
    ck_assert_int_eq(*(int32_t *)out.data, conditions[_i].wanted);
}
END_TEST

static const struct {
    const char *index;
    int wanted;
} cases[] = {{"int32 0", 1}, {"int32 1", 0}, {"int32 2", 1}, {"int32 7", 1}, {"int32 -1", 1}};

START_TEST(case_of_any_index) {
    AUTO(text) Text nodes = {0};
    text_format(&nodes,
                "node { name: 'p' op: 'Placeholder' attr { key: 'dtype' value { type: DT_INT32 } } } node { name: 'y' op: '%s' "
                "input: 'p' attr { key: 'Tin' value { list { } } } attr { key: 'Tout' value { list { type: DT_INT32 } } } "
                "attr { key: 'branches' value { list { func { name: 'yes' } func { name: 'no' } func { name: 'yes' } } } } }",
                _i % 2 ? "Case" : "StatelessCase");
    text_char(&nodes, 0);
    import(nodes.p);
    AUTO(tensor) Tensor value = {0}, out = {0};
    size_t consumed;
    GOOD(literal_parse(str_of(cases[_i].index), DT_INVALID, &value, &consumed));
    GOOD(run((Output){graph_find(graph, STR("y")), 0}, (Output){graph_find(graph, STR("p")), 0}, &value, &out));
    ck_assert_int_eq(*(int32_t *)out.data, cases[_i].wanted);
}
END_TEST

START_TEST(while_not_zero) {
    import("node { name: 'p' op: 'Placeholder' attr { key: 'dtype' value { type: DT_INT32 } } } node { name: 'y' op: 'While' "
           "input: 'p' attr { key: 'T' value { list { type: DT_INT32 } } } " CALLS("cond", "same") CALLS("body", "less") " }");
    AUTO(tensor) Tensor value = {0}, out = {0};
    size_t consumed;
    GOOD(literal_parse(STR("int32 5"), DT_INVALID, &value, &consumed));
    GOOD(run((Output){graph_find(graph, STR("y")), 0}, (Output){graph_find(graph, STR("p")), 0}, &value, &out));
    ck_assert_int_eq(*(int32_t *)out.data, 0);
}
END_TEST

// ---------------------------------------- feeds

START_TEST(unfed_argument) {
    Formula *f = &formula;
    Output argument = formula_op(f, "_Arg", NULL, 0, ATTRS(TYPE_ATTR("T", DT_float), INT_ATTR("index", 0)));
    Output y = Neg(argument);
    AUTO(tensor) Tensor value = number(2), out = {0};
    refused(run(y, NONE, NULL, &out), INVALID_ARGUMENT, "{{node t/_Arg}}", "must be fed");
    GOOD(run(y, argument, &value, &out));
    ck_assert_float_eq(*(float *)out.data, -2);
}
END_TEST

static int nodes_of(Session *session, Output fetch, Output feed) {
    StepSignature signature = {.feeds = &feed, .n_feeds = 1, .fetches = &fetch, .n_fetches = 1};
    Plan *plan;
    GOOD(session_plan(session, &signature, &plan));
    int n = plan->n_nodes;
    plan_release(plan);
    return n;
}

// A constant that waits for a placeholder is a constant where that is fed; so is what is computed of it.
START_TEST(controls_of_a_fed_placeholder) {
    Formula *f = &formula;
    Output x = placeholder(DT_float), two = formula_number(f, 2, DT_float), loose = Neg(two);
    GOOD(node_add_control(two.node, x.node));
    GOOD(node_add_control(loose.node, x.node));
    Output y = Mul(x, loose);
    GOOD(formula.status);
    for (uint32_t passes = 0; passes <= ALL; passes += ALL) {
        Session *session = session_with(passes, 1);
        AUTO(tensor) Tensor value = number(3), out = {0};
        GOOD(run_in(session, y, x, &value, &out));
        ck_assert_float_eq(*(float *)out.data, -6);
        if (passes)
            ck_assert_int_eq(nodes_of(session, y, x), 3);  // the feed, -2, the product
        session_free(session);
    }
    // As a target, too.
    Session *session = session_with(ALL, 1);
    StepSignature signature = {.feeds = &x, .n_feeds = 1, .targets = &x.node, .n_targets = 1};
    AUTO(tensor) Tensor value = number(3);
    const Tensor *feed = &value;
    GOOD(session_run(session, &signature, &run_settings_default, &feed, NULL));
    session_free(session);
}
END_TEST

// ---------------------------------------- devices

static Session *session_of(int cpus, bool soft) {
    SessionConfig config = session_config_default();
    config.intra_threads = config.inter_threads = 1;
    config.devices[0] = (DeviceCount){STR("CPU"), cpus};
    config.n_devices = 1;
    config.soft_placement = soft;
    Session *session;
    GOOD(session_new(graph, NULL, &config, &session));
    return session;
}

static Status *run_on(int cpus, bool soft, Output fetch) {
    Session *session = session_of(cpus, soft);
    AUTO(tensor) Tensor out = {0};
    Status *status = run_in(session, fetch, NONE, NULL, &out);
    session_free(session);
    return status;
}

// Both are constants, which are folded before anything is placed.
START_TEST(unknown_device) {
    Formula *f = &formula;
    static const char *const names[] = {"/device:GPU:0", "/cpu:7", "/device:XPU:0"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        f->device = str_of(names[i]);
        Output sum = Add(Int(1), Int(2));
        GOOD(f->status);
        refused(run_on(1, false, sum), INVALID_ARGUMENT, names[i],
                "available devices are [ /job:localhost/replica:0/task:0/device:CPU:0 ]");
        GOOD(run_on(1, true, sum));
    }
    // Soft placement chooses another device of the task, not another task.
    f->device = STR("/job:ps/task:0");
    Output elsewhere = Add(Int(1), Int(2));
    refused(run_on(1, false, elsewhere), INVALID_ARGUMENT, "Cannot assign a device for operation", "/job:ps/task:0");
    refused(run_on(1, true, elsewhere), INVALID_ARGUMENT, "Cannot assign a device for operation", "/job:ps/task:0");
}
END_TEST

static Output placed(Output x, const char *device, const char *with) {
    Str name = str_of(with);
    AttrValue classes = {.kind = ATTR_STRING, .is_list = true, .n = 1, .ss = &name};
    formula.device = str_of(device);
    Output y = formula_op(&formula, "Neg", &x, 1, NULL);
    GOOD(formula.status);
    if (*with)
        GOOD(node_set_attr(y.node, STR("_class"), &classes));
    formula.device = STR("");
    return y;
}

START_TEST(impossible_colocation) {
    Formula *f = &formula;
    Output a = placed(Int(1), "/cpu:0", ""), b = placed(a, "/cpu:1", "loc:@t/Neg");
    refused(run_on(2, false, b), INVALID_ARGUMENT, "{{colocation_node t/Neg_1}} and {{colocation_node t/Neg}}",
            "t/Neg (Neg) on /cpu:0, t/Neg_1 (Neg) on /cpu:1");
    refused(run_on(2, false, b), INVALID_ARGUMENT, "device:CPU:0, /job", "device:CPU:1");
    GOOD(run_on(2, true, b));
    Output c = placed(Int(1), "", "loc:@t/Neg"), d = placed(c, "/cpu:1", "loc:@t/Neg_2");
    GOOD(run_on(2, false, d));
    // With what is not there to be run; but then with each other.
    Output one = placed(Int(1), "/cpu:0", "loc:@nobody"), other = placed(Int(1), "/cpu:1", "loc:@nobody");
    GOOD(run_on(2, false, one));
    GOOD(run_on(2, false, other));
    refused(run_on(2, false, Add(one, other)), INVALID_ARGUMENT, "Cannot colocate", "available devices");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("flow");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, loop_cond_alone);
    tcase_add_test(c, back_edge_of_another_frame);
    tcase_add_test(c, exit_more_than_once);
    tcase_add_test(c, switch_wants_a_scalar);
    tcase_add_test(c, gradient_across_frames);
    tcase_add_loop_test(c, conditions_of_any_kind, 0, (int)(sizeof conditions / sizeof *conditions));
    tcase_add_loop_test(c, case_of_any_index, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, while_not_zero);
    tcase_add_test(c, unfed_argument);
    tcase_add_test(c, controls_of_a_fed_placeholder);
    tcase_add_test(c, unknown_device);
    tcase_add_test(c, impossible_colocation);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
