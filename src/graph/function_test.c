// Function test — libraries, bodies made into nodes, and parts of graphs made into functions.
#include <check.h>

#include "base/suite_test.h"
#include "graph/build.h"
#include "graph/graph_def.h"
#include "ops/all_ops.h"
#include "proto/text.h"

static Graph *graph;

static void set_up(void) {
    op_table_set(all_ops, all_rewrites);
    Status *status = graph_new(&graph);
    ck_assert(!status);
}

static void tear_down(void) {
    Status *status = graph_check(graph);
    ck_assert_msg(!status, "%s", status_message(status));
    graph_release(graph);
}

static void good(Status *status) {
    ck_assert_msg(!status, "%s", status_message(status));
}

static void bad(Status *status, Code code, const char *part) {
    ck_assert(status != NULL);
    ck_assert_msg(status_code(status) == code && strstr(status_message(status), part), "%s: %s",
                  code_name(status_code(status)), status_message(status));
    status_free(status);
}

static Status *try_function(const char *text, Function **out) {
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text bytes = {0};
    FunctionDef *def;
    good(PROTO_PARSE(FunctionDef, &arena, str_of(text), &def));
    good(PROTO_ENCODE(FunctionDef, def, &bytes));
    return function_new(text_str(&bytes), out);
}

static Function *function(const char *text) {
    Function *out;
    good(try_function(text, &out));
    return out;
}

static Output placeholder(const char *name, DType dtype) {
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, graph, STR("Placeholder"), str_of(name));
    AttrValue type = ATTR_OF_TYPE(dtype);
    builder_attr(&builder, STR("dtype"), &type);
    Node *node;
    good(builder_finish(&builder, &node));
    return (Output){node, 0};
}

static Node *node(const char *name) {
    Node *found = graph_find(graph, str_of(name));
    ck_assert_msg(found != NULL, "no node %s", name);
    return found;
}

#define ARG(name) "input_arg { name: '" name "' type: DT_FLOAT } "
#define RESULT(name) "output_arg { name: '" name "' type: DT_FLOAT } "
#define T_FLOAT "attr { key: 'T' value { type: DT_FLOAT } } "
#define ADD(name, x, y) "node_def { name: '" name "' op: 'AddV2' input: '" x "' input: '" y "' " T_FLOAT "} "
#define SIMPLE(name)                                                                                       \
    "signature { name: '" name "' " ARG("a") ARG("b") RESULT("sum") "} " ADD("two", "one:z:0", "b") \
        ADD("one", "a", "b") "ret { key: 'sum' value: 'two:z:0' } "

static Status *inline_with(const Function *f, Output *arguments, int n, Output *results, int n_results) {
    Inlining in = {.graph = graph, .prefix = STR("p"), .arguments = arguments, .n_arguments = n, .results = results,
                   .n_results = n_results};
    return function_inline(f, &in);
}

// ---------------------------------------- libraries

START_TEST(add_and_remove) {
    Function *f = function(SIMPLE("F")), *same = function(SIMPLE("F")), *other = function("signature { name: 'F' }");
    good(function_add(graph, f));
    good(function_add(graph, same));
    ck_assert_ptr_eq(function_find(graph, STR("F")), f);
    ck_assert_int_eq(graph->versions.min_consumer, 12);
    bad(function_add(graph, other), INVALID_ARGUMENT, "different function");
    Function *op = function("signature { name: 'AddV2' }");
    bad(function_add(graph, op), INVALID_ARGUMENT, "op with the same name");
    good(function_set_gradient(graph, STR("F"), STR("G")));
    good(function_set_gradient(graph, STR("F"), STR("G")));
    bad(function_set_gradient(graph, STR("F"), STR("H")), INVALID_ARGUMENT, "already has gradient");
    ck_assert(str_is(function_gradient(graph, STR("F")), "G"));
    good(function_remove(graph, STR("F")));
    bad(function_remove(graph, STR("F")), NOT_FOUND, "F");
    function_release(f), function_release(same), function_release(other), function_release(op);
}
END_TEST

START_TEST(equal_in_another_order) {
    Function *a = function("signature { name: 'F' } ret { key: 'x' value: '1' } ret { key: 'y' value: '2' }");
    Function *b = function("signature { name: 'F' } ret { key: 'y' value: '2' } ret { key: 'x' value: '1' }");
    Function *c = function("signature { name: 'G' } arg_attr { key: 0 value { attr { key: 'a' value { i: 1 } } attr { "
                           "key: 'b' value { i: 2 } } } } arg_attr { key: 1 } resource_arg_unique_id { key: 0 value: 1 "
                           "} resource_arg_unique_id { key: 1 value: 2 }");
    Function *d = function("signature { name: 'G' } arg_attr { key: 1 } arg_attr { key: 0 value { attr { key: 'b' "
                           "value { i: 2 } } attr { key: 'a' value { i: 1 } } } } resource_arg_unique_id { key: 1 "
                           "value: 2 } resource_arg_unique_id { key: 0 value: 1 }");
    good(function_add(graph, a));
    good(function_add(graph, b));
    good(function_add(graph, c));
    good(function_add(graph, d));
    function_release(a), function_release(b), function_release(c), function_release(d);
}
END_TEST

START_TEST(malformed) {
    Function *f;
    bad(function_new(STR("\xff\xff"), &f), INVALID_ARGUMENT, "malformed");
    bad(function_new(STR(""), &f), INVALID_ARGUMENT, "without a signature");
    bad(try_function("signature { name: 'F' } attr { key: '' value { i: 1 } }", &f), INVALID_ARGUMENT, "no name");
    bad(try_function("signature { }", &f), INVALID_ARGUMENT, "name");
    bad(try_function("signature { name: 'F' input_arg { name: 'a' } }", &f), INVALID_ARGUMENT, "no type");
    bad(try_function("signature { name: 'F' input_arg { name: 'a' type_attr: 'T' } }", &f), INVALID_ARGUMENT,
        "no attribute 'T'");
    bad(try_function("signature { name: 'F' attr { name: 'T' type: 'what' } }", &f), INVALID_ARGUMENT, "what");
    bad(try_function("signature { name: 'F' " ARG("a") ARG("a") "}", &f), INVALID_ARGUMENT, "two arguments");
}
END_TEST

// ---------------------------------------- inlining

START_TEST(body_out_of_order) {
    Function *f = function(SIMPLE("F"));
    Output arguments[] = {placeholder("x", DT_float), placeholder("y", DT_float)}, sum;
    good(inline_with(f, arguments, 2, &sum, 1));
    ck_assert_ptr_eq(sum.node, node("p/two"));
    ck_assert_ptr_eq(node("p/two")->inputs[0].node, node("p/one"));
    ck_assert_ptr_eq(node("p/one")->inputs[1].node, arguments[1].node);
    bad(inline_with(f, arguments, 2, &sum, 1), INVALID_ARGUMENT, "p/one");  // the names are taken
    Inlining own = {.graph = graph, .prefix = STR("own"), .results = &sum, .n_results = 1};
    good(function_inline(f, &own));  // no arguments: _Arg nodes
    ck_assert(str_is(node("own/b")->type->name, "_Arg"));
    ck_assert_int_eq((int)node_int(node("own/b"), "index"), 1);
    function_release(f);
}
END_TEST

START_TEST(results_that_are_arguments) {
    Function *f = function("signature { name: 'F' " ARG("a") RESULT("r") "} ret { key: 'r' value: 'a' }");
    Output x = placeholder("x", DT_float), r;
    good(inline_with(f, &x, 1, &r, 1));
    ck_assert(output_equal(x, r));
    function_release(f);
}
END_TEST

START_TEST(lists_and_placeholders) {
    Function *f = function(
        "signature { name: 'F' input_arg { name: 'all' type_attr: 'U' number_attr: 'N' } output_arg { name: 'r' "
        "type_attr: 'U' number_attr: 'N' } attr { name: 'U' type: 'type' } attr { name: 'N' type: 'int' } } "
        "node_def { name: 'pack' op: 'IdentityN' input: 'all' attr { key: 'T' value { list { type: DT_INT32 type: "
        "DT_INT32 } } } } node_def { name: 'last' op: 'Identity' input: 'all:1' attr { key: 'T' value { placeholder: 'U' } } }"
        "ret { key: 'r' value: 'pack:output' }");
    Output xs[] = {placeholder("x", DT_int32), placeholder("y", DT_int32)}, results[2];
    AttrEntry attrs[] = {{STR("U"), ATTR_OF_TYPE(DT_int32)}, {STR("N"), ATTR_OF_INT(2)}};
    Inlining in = {.graph = graph, .prefix = STR("p"), .arguments = xs, .n_arguments = 2, .attrs = attrs, .n_attrs = 2,
                   .results = results, .n_results = 2};
    good(function_inline(f, &in));
    ck_assert(results[1].node == node("p/pack") && results[1].index == 1);
    ck_assert_ptr_eq(node("p/last")->inputs[0].node, xs[1].node);
    ck_assert_int_eq(node_type(node("p/last"), "T"), DT_int32);
    in.prefix = STR("q");
    in.n_attrs = 1;
    bad(function_inline(f, &in), INVALID_ARGUMENT, "length");
    attrs[1].value.i = 3;
    in.n_attrs = 2;
    bad(function_inline(f, &in), INVALID_ARGUMENT, "2 arguments for 3");
    function_release(f);
}
END_TEST

START_TEST(controls) {
    Function *f = function("signature { name: 'F' " ARG("a") "control_output: 'done' } "
                           "node_def { name: 'first' op: 'NoOp' } node_def { name: 'last' op: 'NoOp' input: '^first' input: "
                           "'^a' } control_ret { key: 'done' value: 'last' }");
    Output x = placeholder("x", DT_float), before = placeholder("before", DT_float);
    Inlining in = {.graph = graph, .prefix = STR("p"), .arguments = &x, .n_arguments = 1, .before = before.node};
    good(function_inline(f, &in));
    ck_assert_int_eq(in.n_controls, 1);
    ck_assert_ptr_eq(in.controls[0], node("p/last"));
    ck_assert_int_eq(node("p/first")->n_controls, 1);
    ck_assert_ptr_eq(node("p/first")->controls[0], before.node);
    ck_assert_int_eq(node("p/last")->n_controls, 2);
    function_release(f);
}
END_TEST

// Everything that can be wrong in a body leaves the graph as it was.
START_TEST(hostile_bodies) {
    const struct {
        const char *body, *message;
    } cases[] = {
        {ADD("x", "a", "nobody:z:0"), "nobody"},
        {ADD("x", "a", "x:z:0"), "cycle"},
        {ADD("x", "y:z:0", "a") ADD("y", "x:z:0", "a"), "cycle"},
        {ADD("x", "a", "a:1"), "1 elements"},
        {ADD("x", "a", "a:99999999999999999999"), "not a tensor's name"},
        {ADD("x", "a", "a") ADD("y", "x:none:0", "a"), "no output 'none'"},
        {ADD("x", "a", "a") ADD("y", "x:z:1", "a"), "invalid output 1"},
        {ADD("x", "a", "a") ADD("y", "x", "a"), "no output ''"},
        {ADD("x", "a", "a") ADD("x", "a", "a"), "two arguments or nodes"},
        {ADD("a", "a", "a"), "two arguments or nodes"},
        {ADD("x", "^a", "a"), "must come after"},
        {ADD("x", "a", "") , "neither"},
        {"node_def { name: 'x' op: 'NoSuchOp' } ", "NoSuchOp"},
        {"node_def { name: 'x' op: 'NoOp' input: '^gone' } ", "gone"},
        {"node_def { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { placeholder: 'P' } } } ", "'P'"},
        {"ret { key: 'other' value: 'a' } ", "nothing is returned as 'r'"},
        {"ret { key: 'r' value: 'gone:z:0' } ", "gone"},
        {"ret { key: 'r' value: 'a' } control_ret { key: 'c' value: 'a' } ", "control result"},
    };
    Output x = placeholder("x", DT_float), r;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(text) Text text = {0};
        text_format(&text, "signature { name: 'F' " ARG("a") RESULT("r") "} %s", cases[i].body);
        Function *f = function(text.p);
        bad(inline_with(f, &x, 1, &r, 1), i == 12 ? NOT_FOUND : INVALID_ARGUMENT, cases[i].message);
        ck_assert_uint_eq(graph->nodes.n, 1);
        function_release(f);
    }
    Function *f = function(SIMPLE("F"));
    Output wrong[] = {x, placeholder("i", DT_int32)};
    bad(inline_with(f, wrong, 2, &r, 1), INVALID_ARGUMENT, "argument 1 is int32");
    function_release(f);
}
END_TEST

// ---------------------------------------- outlining

START_TEST(there_and_back) {
    Output x = placeholder("in/X", DT_float), y = placeholder("in/x", DT_float), out;
    Function *f = function(SIMPLE("F"));
    Output both[] = {x, y};
    good(inline_with(f, both, 2, &out, 1));
    FunctionSpec spec = {.name = STR("G"), .n_nodes = -1, .inputs = both, .n_inputs = 2, .outputs = &out,
                         .n_outputs = 1};
    Function *g;
    good(function_from_graph(graph, &spec, &g));
    const Signature *signature = &g->type.signature;
    ck_assert(str_is(signature->inputs[0].name, "in_x") && str_is(signature->inputs[1].name, "in_x_0"));
    ck_assert(str_is(signature->outputs[0].name, "p_two"));
    Inlining in = {.graph = graph, .prefix = STR("again"), .arguments = both, .n_arguments = 2, .results = &out,
                   .n_results = 1};
    good(function_inline(g, &in));
    ck_assert_ptr_eq(out.node, node("again/p/two"));
    ck_assert_ptr_eq(out.node->inputs[1].node, y.node);
    function_release(f), function_release(g);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("function");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, add_and_remove);
    tcase_add_test(c, equal_in_another_order);
    tcase_add_test(c, malformed);
    tcase_add_test(c, body_out_of_order);
    tcase_add_test(c, results_that_are_arguments);
    tcase_add_test(c, lists_and_placeholders);
    tcase_add_test(c, controls);
    tcase_add_test(c, hostile_bodies);
    tcase_add_test(c, there_and_back);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return run_suite(suite());
}
