// Autodiff test — gradients against differences of the function itself, through every kind of control flow, and
// refusals.
#include <check.h>

#include "autodiff/toy_evaluator_test.h"
#include "base/suite_test.h"
#include "graph/function.h"
#include "graph/graph_def.h"
#include "ops/all_ops.h"

static Graph *graph;
static Formula formula, *f = &formula;
static Output x, w, p;   // scalars: p decides conditionals

static Output hold(const char *name, DType dtype, Shape shape) {
    NodeBuilder b;
    Node *node = NULL;
    builder_init(&b, graph, STR("Placeholder"), str_of(name));
    builder_attr(&b, STR("dtype"), &ATTR_OF_TYPE(dtype));
    builder_attr(&b, STR("shape"), &(AttrValue){.kind = ATTR_SHAPE, .shape = &shape});
    Status *status = builder_finish(&b, &node);
    ck_assert_msg(!status, "%s", status_message(status));
    builder_clear(&b);
    return (Output){node, 0};
}

// The real ops, and over them the toys that the evaluator knows.
static const Op *table[2048];

static void set_up(void) {
    size_t n = 0;
    for (size_t i = 0; all_ops[i]; i++)
        table[n++] = all_ops[i];
    for (size_t i = 0; toy_math[i]; i++)
        table[n++] = toy_math[i];
    ck_assert_uint_lt(n, sizeof table / sizeof *table);
    op_table_set(table, all_rewrites);
    ck_assert_ptr_null(graph_new(&graph));
    formula = (Formula){.graph = graph, .scope = STR("model")};
    x = hold("x", DT_float, SCALAR_SHAPE);
    w = hold("w", DT_float, SCALAR_SHAPE);
    p = hold("p", DT_float, SCALAR_SHAPE);
}

static void tear_down(void) {
    Status *status = graph_check(graph);
    ck_assert_msg(!status, "%s", status_message(status));
    graph_release(graph);
}

static void must(Status *status) {
    ck_assert_msg(!status, "%s: %s (%s)", code_name(status_code(status)), status_message(status), status_where(status));
}

static double value_of(Output y, double xv, double wv, double pv) {
    Toy toy = {0};
    map_set(&toy.fed, STR("x"), toy_number(&toy, xv));
    map_set(&toy.fed, STR("w"), toy_number(&toy, wv));
    map_set(&toy.fed, STR("p"), toy_number(&toy, pv));
    const ToyValue *value = toy_eval(&toy, y, (ToyPlace){0});
    ck_assert_msg(!value->dead, "%.*s is dead", STR_ARGS(y.node->name));
    double number = value->number;
    map_clear(&toy.known);
    map_clear(&toy.fed);
    arena_clear(&toy.arena);
    return number;
}

static void close_to(double value, double expected, const char *what) {
    ck_assert_msg(fabs(value - expected) <= 1e-5 * fmax(1, fabs(expected)), "%s: %.9g, expected %.9g", what, value,
                  expected);
}

// The gradients of y with respect to x and w are what small steps say, on both sides of p.
static void check_gradients(Output y) {
    Output xs[] = {x, w}, dxs[2] = {{0}};
    must(f->status);
    must(autodiff_gradients(graph, STR(""), &y, 1, xs, 2, NULL, dxs));
    must(graph_check(graph));
    for (double pv = 0.25; pv < 1; pv += 0.5) {
        double step = 1e-5, at = 0.7, by = 1.1;
        double dx = (value_of(y, at + step, by, pv) - value_of(y, at - step, by, pv)) / (2 * step);
        double dw = (value_of(y, at, by + step, pv) - value_of(y, at, by - step, pv)) / (2 * step);
        close_to(value_of(dxs[0], at, by, pv), dx, "dy/dx");
        close_to(value_of(dxs[1], at, by, pv), dw, "dy/dw");
    }
}

// A refusal leaves the graph as it was.
static void refuses(Output y, Output of, Code code, const char *text) {
    size_t n = graph->nodes.n, uses = x.node->uses.n;
    uint64_t edit = graph->edit;
    Output dx = {0};
    must(f->status);
    Status *status = autodiff_gradients(graph, STR(""), &y, 1, &of, 1, NULL, &dx);
    ck_assert_msg(status_code(status) == code, "%s: %s", code_name(status_code(status)), status_message(status));
    ck_assert_msg(strstr(status_message(status), text) != NULL, "%s", status_message(status));
    status_free(status);
    ck_assert_ptr_null(dx.node);
    ck_assert_int_eq(graph->nodes.n, n);
    ck_assert_int_eq(x.node->uses.n, uses);
    ck_assert_int_eq(graph->edit, edit);
}

// ---------------------------------------- plain graphs

START_TEST(sums_all_paths) {
    check_gradients(Mul(Add(x, Mul(x, w)), Sin(x)));
}
END_TEST

START_TEST(unused_outputs_count_as_zero) {
    Output powers = formula_1(f, "PowersOf", x);
    check_gradients(Mul(At(powers, 1), w));
}
END_TEST

START_TEST(y_may_be_an_x) {
    Output a = Mul(x, w), b = Sin(a), ys[] = {a, b}, xs[] = {a, x}, dxs[2];
    must(autodiff_gradients(graph, STR(""), ys, 2, xs, 2, NULL, dxs));
    close_to(value_of(dxs[0], 0.5, 2, 0), 1 + cos(1), "da");
    close_to(value_of(dxs[1], 0.5, 2, 0), 2 * (1 + cos(1)), "dx");
    must(autodiff_gradients(graph, STR("again"), &x, 1, &x, 1, NULL, dxs));
    close_to(value_of(dxs[0], 0.5, 2, 0), 1, "dx/dx");
}
END_TEST

START_TEST(seeds_are_taken) {
    Output y = Mul(x, x), dx, seed = Scalar(3, x), wrong = Int(3);
    must(autodiff_gradients(graph, STR(""), &y, 1, &x, 1, &seed, &dx));
    close_to(value_of(dx, 2, 0, 0), 12, "3 dy/dx");
    Status *status = autodiff_gradients(graph, STR(""), &y, 1, &x, 1, &wrong, &dx);
    ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    status_free(status);
}
END_TEST

START_TEST(ends_at_ops_without_influence) {
    Output y = Add(formula_1(f, "StopGradient", Mul(x, w)), w), xs[] = {x, w}, dxs[2];
    must(autodiff_gradients(graph, STR(""), &y, 1, xs, 2, NULL, dxs));
    ck_assert_ptr_null(dxs[0].node);
    close_to(value_of(dxs[1], 2, 3, 0), 1, "dw");
}
END_TEST

START_TEST(second_derivatives) {
    Output y = Mul(Sin(Mul(x, w)), x), dx;
    must(autodiff_gradients(graph, STR(""), &y, 1, &x, 1, NULL, &dx));
    check_gradients(Mul(dx, dx));
}
END_TEST

START_TEST(names) {
    Output y = Mul(x, w), dx;
    size_t n = graph->nodes.n;
    must(autodiff_gradients(graph, STR(""), &y, 1, &x, 1, NULL, &dx));
    for (size_t i = n; i < graph->nodes.n; i++)
        ck_assert(str_starts(graph->nodes.p[i]->name, STR("gradients/")));
    n = graph->nodes.n;
    must(autodiff_gradients(graph, STR(""), &y, 1, &x, 1, NULL, &dx));
    for (size_t i = n; i < graph->nodes.n; i++)
        ck_assert(str_starts(graph->nodes.p[i]->name, STR("gradients_1/")));
    must(autodiff_gradients(graph, STR("mine"), &y, 1, &x, 1, NULL, &dx));
    ck_assert(str_starts(dx.node->name, STR("mine/")));
    Status *status = autodiff_gradients(graph, STR("mine"), &y, 1, &x, 1, NULL, &dx);
    ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    ck_assert(strstr(status_message(status), "prefix [mine] conflicts") != NULL);
    status_free(status);
}
END_TEST

// ---------------------------------------- sparse gradients

START_TEST(rows_stay_sparse) {
    Output table = hold("table", DT_float, SHAPE(10, 4)), rows = hold("rows", DT_int32, SHAPE(3));
    Output same = formula_1(f, "Identity", table);
    Output one = Gather(same, rows, Int(0)), two = Gather(same, rows, Int(0)), ys[] = {one, two};
    Gradient sparse;
    Output dense;
    must(autodiff_sparse_gradients(graph, STR(""), &one, 1, &table, 1, NULL, &sparse));
    ck_assert_ptr_eq(sparse.indices.node, rows.node);
    must(autodiff_sparse_gradients(graph, STR(""), ys, 2, &table, 1, NULL, &sparse));
    ck_assert(toy_is(sparse.values.node, "ConcatV2") && toy_is(sparse.indices.node, "ConcatV2"));
    must(autodiff_gradients(graph, STR(""), ys, 2, &table, 1, NULL, &dense));
    ck_assert(toy_is(dense.node, "UnsortedSegmentSum"));
    ck_assert_ptr_nonnull(output_constant(dense.node->inputs[2]));
    Output scaled = Mul(one, Sin(one));
    (void)scaled;
    Output through = Gather(Sin(table), rows, Int(0));
    must(autodiff_sparse_gradients(graph, STR(""), &through, 1, &table, 1, NULL, &sparse));
    ck_assert_ptr_null(sparse.indices.node);  // the gradient of Sin needs it dense
}
END_TEST

// ---------------------------------------- conditionals

static Output below_half(void) {
    return Less(p, Scalar(0.5, p));
}

static Output merge(Output no, Output yes) {
    return formula_of_list(f, "Merge", (Output[]){no, yes}, 2, NULL);
}

START_TEST(conditionals) {
    Output pred = below_half(), sx = formula_2(f, "Switch", x, pred), sw = formula_2(f, "Switch", w, pred);
    check_gradients(Mul(merge(Sin(sx), Mul(At(sx, 1), At(sw, 1))), x));
}
END_TEST

START_TEST(branches_may_read_what_was_not_switched) {
    Output pred = below_half(), sx = formula_2(f, "Switch", x, pred);
    check_gradients(merge(Sin(sx), Mul(At(sx, 1), w)));
}
END_TEST

START_TEST(conditionals_twice_differentiated) {
    Output pred = below_half(), sx = formula_2(f, "Switch", x, pred), dx;
    Output y = Mul(merge(Sin(sx), Mul(At(sx, 1), w)), Mul(x, w));
    must(autodiff_gradients(graph, STR(""), &y, 1, &x, 1, NULL, &dx));
    check_gradients(Mul(dx, dx));
}
END_TEST

// ---------------------------------------- loops

typedef struct {
    Output head, choice, body, result;
} Var;

static Output enter(Output value, const char *frame, bool constant) {
    return OpWith("Enter", ATTRS({"frame_name", ATTR_OF_STRING(str_of(frame))}, BOOL_ATTR("is_constant", constant)),
                  value);
}

static Var var_begin(Output value, const char *frame) {
    Output entered = enter(value, frame, false);
    return (Var){.head = merge(entered, entered)};
}

static void var_choose(Var *var, Output cond) {
    var->choice = formula_2(f, "Switch", var->head, cond);
    var->body = Identity(At(var->choice, 1));
    var->result = formula_1(f, "Exit", var->choice);
}

static void var_end(Var *var, Output next) {
    must(f->status);
    must(node_set_input(var->head.node, 1, formula_1(f, "NextIteration", next)));
}

// for (i = 0; i < n; i++) a = a * w + sin(a);
static Output power(Output a0, Output factor, Output from, Output times, const char *frame) {
    Var i = var_begin(from, frame), a = var_begin(a0, frame);
    Output limit = enter(times, frame, true), one = enter(Int(1), frame, true), wc = enter(factor, frame, true);
    Output cond = formula_1(f, "LoopCond", Less(i.head, limit));
    var_choose(&i, cond);
    var_choose(&a, cond);
    var_end(&i, Add(i.body, one));
    var_end(&a, Add(Mul(a.body, wc), Sin(a.body)));
    return a.result;
}

START_TEST(loops) {
    check_gradients(power(x, w, Int(0), Int(4), "loop"));
}
END_TEST

START_TEST(loops_that_never_run) {
    check_gradients(Mul(power(x, w, Int(0), Int(0), "loop"), w));
}
END_TEST

START_TEST(loops_one_after_the_other) {
    Output first = power(x, w, Int(0), Int(3), "first");
    check_gradients(Mul(power(first, w, Int(0), Int(2), "second"), first));
}
END_TEST

START_TEST(loops_in_loops) {
    Var i = var_begin(Int(0), "outer"), a = var_begin(x, "outer");
    Output limit = enter(Int(3), "outer", true), one = enter(Int(1), "outer", true), wc = enter(w, "outer", true);
    Output cond = formula_1(f, "LoopCond", Less(i.head, limit));
    var_choose(&i, cond);
    var_choose(&a, cond);
    var_end(&i, Add(i.body, one));
    Output inner = power(a.body, wc, i.body, limit, "inner");
    var_end(&a, Mul(inner, Sin(a.body)));
    check_gradients(a.result);
}
END_TEST

START_TEST(conditionals_in_loops) {
    Var i = var_begin(Int(0), "loop"), a = var_begin(x, "loop");
    Output limit = enter(Int(4), "loop", true), one = enter(Int(1), "loop", true), wc = enter(w, "loop", true);
    Output cond = formula_1(f, "LoopCond", Less(i.head, limit));
    var_choose(&i, cond);
    var_choose(&a, cond);
    var_end(&i, Add(i.body, one));
    Output early = Less(i.body, enter(Int(2), "loop", true)), sa = formula_2(f, "Switch", a.body, early);
    var_end(&a, merge(Add(Mul(Sin(sa), Sin(sa)), wc), Mul(At(sa, 1), wc)));
    check_gradients(a.result);
}
END_TEST

START_TEST(loops_in_conditionals) {
    Output sx = formula_2(f, "Switch", x, below_half());
    check_gradients(merge(Sin(sx), power(At(sx, 1), w, Int(0), Int(3), "loop")));
}
END_TEST

START_TEST(loops_twice_differentiated) {
    Output y = power(x, w, Int(0), Int(3), "loop"), dx;
    must(autodiff_gradients(graph, STR(""), &y, 1, &x, 1, NULL, &dx));
    check_gradients(Mul(dx, dx));
}
END_TEST

// ---------------------------------------- functions

// A function of one or two arguments, the first a float, with up to two results that `body` makes.
static void define(const char *name, int n_inputs, DType second, int n_results,
                   void (*body)(Output a, Output b, Output *results)) {
    Graph *was = graph;
    Graph *inner;
    must(graph_new(&inner));
    for (size_t i = 0; i < was->functions->order.n; i++)
        must(function_add(inner, was->functions->order.p[i]));
    graph = inner;
    formula.graph = inner;
    Output in[] = {hold("a", DT_float, SCALAR_SHAPE), hold("b", second, SCALAR_SHAPE)}, results[2] = {{0}};
    body(in[0], in[1], results);
    must(f->status);
    FunctionSpec spec = {.name = str_of(name), .n_nodes = -1, .inputs = in, .n_inputs = n_inputs, .outputs = results,
                         .n_outputs = n_results};
    Function *function;
    must(function_from_graph(inner, &spec, &function));
    graph_release(inner);
    graph = was;
    formula.graph = was;
    must(function_add(was, function));
    function_release(function);
}

static Output call(const char *op, const char *attr, const char *function, Output a, Output b) {
    DType types[] = {output_type(a), output_type(b)}, result = DT_float;
    FuncRef ref = {.name = str_of(function)};
    AttrValue in = {.kind = ATTR_TYPE, .is_list = true, .n = 2, .types = types};
    AttrValue out = {.kind = ATTR_TYPE, .is_list = true, .n = 1, .types = &result};
    return (Output){formula_node(f, op, &(FormulaArg){(Output[]){a, b}, 2, true}, 1,
                                 ATTRS({"Tin", in}, {"Tout", out}, {attr, {.kind = ATTR_FUNC, .func = &ref}})), 0};
}

static void body_product(Output a, Output b, Output *results) {
    results[0] = Add(Mul(Sin(a), b), Mul(Scalar(2, a), a));
}

static void body_of_calls(Output a, Output b, Output *results) {
    results[0] = Mul(call("PartitionedCall", "f", "product", a, b), call("PartitionedCall", "f", "product", b, a));
}

static void body_sum(Output a, Output b, Output *results) {
    results[0] = Add(Sin(a), b);
}

static void body_step(Output a, Output i, Output *results) {
    results[0] = Mul(a, Sin(a));
    results[1] = Add(i, Int(1));
}

static void body_goes_on(Output a, Output i, Output *results) {
    (void)a;
    results[0] = Less(i, Int(3));
}

static void body_endless(Output a, Output b, Output *results) {
    results[0] = call("PartitionedCall", "f", "endless", a, b);
}

START_TEST(calls) {
    define("product", 2, DT_float, 1, body_product);
    define("calls", 2, DT_float, 1, body_of_calls);
    check_gradients(Mul(call("PartitionedCall", "f", "calls", x, w), x));
    ck_assert_int_eq(graph_find(graph, STR("model/PartitionedCall"))->n_inputs, 2);
}
END_TEST

START_TEST(calls_with_effects_become_their_copies) {
    define("product", 2, DT_float, 1, body_product);
    Output y = call("StatefulPartitionedCall", "f", "product", x, w);
    Output undone = formula_1(f, "Rint", y);
    refuses(undone, x, NOT_FOUND, "Rint");
    ck_assert(toy_is(y.node, "StatefulPartitionedCall"));
    check_gradients(y);
    ck_assert(toy_is(y.node, "IdentityN"));
    ck_assert(str_is(y.node->name, "model/StatefulPartitionedCall"));
}
END_TEST

static void body_square(Output a, Output b, Output *results) {
    (void)b;
    results[0] = Mul(a, a);
}

static void body_steeper(Output a, Output dy, Output *results) {
    results[0] = Mul(Mul(Scalar(100, a), dy), a);
}

// It wins, whatever the body says.
START_TEST(functions_with_their_own_gradient) {
    define("square", 1, DT_float, 1, body_square);
    define("steeper", 2, DT_float, 1, body_steeper);
    must(function_set_gradient(graph, STR("square"), STR("steeper")));
    Output y = Neg(formula_1(f, "square", Mul(x, w))), dx;
    must(autodiff_gradients(graph, STR(""), &y, 1, &x, 1, NULL, &dx));
    close_to(value_of(dx, 2, 3, 0), -100 * 6 * 3, "dx");
    must(function_set_gradient(graph, STR("steeper"), STR("square")));
    refuses(formula_2(f, "steeper", x, w), x, INVALID_ARGUMENT, "input_args");
}
END_TEST

START_TEST(functional_conditionals) {
    define("product", 2, DT_float, 1, body_product);
    define("sum", 2, DT_float, 1, body_sum);
    DType types[] = {DT_float, DT_float};
    FuncRef yes = {.name = STR("product")}, no = {.name = STR("sum")};
    AttrValue out = {.kind = ATTR_TYPE, .is_list = true, .n = 1, .types = types};
    Output pred = below_half();
    Node *node = formula_node(f, "StatelessIf", (FormulaArg[]){{&pred, 1, false}, {(Output[]){x, w}, 2, true}}, 2,
                              ATTRS({"Tout", out}, {"then_branch", {.kind = ATTR_FUNC, .func = &yes}},
                                    {"else_branch", {.kind = ATTR_FUNC, .func = &no}}));
    Output y = {node, 0};
    check_gradients(Mul(y, w));
}
END_TEST

START_TEST(functional_loops) {
    define("step", 2, DT_int32, 2, body_step);
    define("goes_on", 2, DT_int32, 1, body_goes_on);
    FuncRef step = {.name = STR("step")}, goes_on = {.name = STR("goes_on")};
    Output in[] = {Mul(x, w), Int(0)};
    Node *node = formula_node(f, "StatelessWhile", &(FormulaArg){in, 2, true}, 1,
                              ATTRS({"body", {.kind = ATTR_FUNC, .func = &step}},
                                    {"cond", {.kind = ATTR_FUNC, .func = &goes_on}}));
    check_gradients((Output){node, 0});
}
END_TEST

START_TEST(endless_recursion) {
    define("endless", 2, DT_float, 1, body_endless);
    refuses(call("PartitionedCall", "f", "endless", x, w), x, UNIMPLEMENTED, "functions that call themselves");
}
END_TEST

// ---------------------------------------- refusals

START_TEST(refusals) {
    refuses(Sin(x), w, INVALID_ARGUMENT,
            "Cannot compute the partial derivative for node 'w' as it's unreachable from the output node(s).");
    refuses(formula_1(f, "Rint", Mul(Sin(x), w)), x, NOT_FOUND, "No gradient defined for op: Rint");
    refuses(formula_1(f, "WrongType", Mul(Sin(x), w)), x, INTERNAL, "WrongType");
    refuses(formula_1(f, "Failing", Mul(Sin(x), w)), x, INVALID_ARGUMENT, "Frobnicate");
    refuses((Output){x.node, 1}, x, OUT_OF_RANGE, "no output 1");
    refuses((Output){0}, x, INVALID_ARGUMENT, "not of this graph");
    Output inside = enter(x, "loop", true);
    refuses(inside, x, INVALID_ARGUMENT, "lies inside a loop");
    Output open = formula_1(f, "Exit", enter(x, "odd", false));
    refuses(open, x, INVALID_ARGUMENT, "has no LoopCond");
}
END_TEST

START_TEST(undone_inside_of_loops) {
    Var i = var_begin(Int(0), "loop"), a = var_begin(x, "loop");
    Output cond = formula_1(f, "LoopCond", Less(i.head, enter(Int(3), "loop", true)));
    var_choose(&i, cond);
    var_choose(&a, cond);
    var_end(&i, Add(i.body, enter(Int(1), "loop", true)));
    var_end(&a, formula_1(f, "Rint", Mul(a.body, Sin(a.body))));
    refuses(a.result, x, NOT_FOUND, "No gradient defined for op: Rint");
}
END_TEST

// A chain and a fan: neither the stack nor the time may depend on more than the count.
START_TEST(deep_graphs) {
    enum { DEEP = 20000 };
    Output y = x, dx;
    for (int i = 0; i < DEEP; i++)
        y = i & 1 ? Neg(y) : Add(y, x);
    must(f->status);
    must(autodiff_gradients(graph, STR(""), &y, 1, &x, 1, NULL, &dx));
    ck_assert(toy_is(dx.node, "AddN"));
    ck_assert_int_eq(dx.node->n_inputs, DEEP / 2 + 1);
}
END_TEST

// A sum of more gradients than a node may have inputs is made by parts.
START_TEST(sums_of_very_many) {
    enum { MANY = 40000, MOST = 32767 };
    Output y = x, dx;
    for (int i = 0; i < MANY; i++)
        y = Add(y, x);
    must(f->status);
    must(autodiff_gradients(graph, STR(""), &y, 1, &x, 1, NULL, &dx));
    ck_assert(toy_is(dx.node, "AddN"));
    ck_assert_int_eq(dx.node->n_inputs, MANY / (1 << 14) + 1);
    for (size_t i = 0; i < graph->nodes.n; i++)
        ck_assert_int_le(graph->nodes.p[i]->n_inputs, MOST);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("autodiff");
    TCase *tests = tcase_create("autodiff");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, sums_all_paths);
    tcase_add_test(tests, unused_outputs_count_as_zero);
    tcase_add_test(tests, y_may_be_an_x);
    tcase_add_test(tests, seeds_are_taken);
    tcase_add_test(tests, ends_at_ops_without_influence);
    tcase_add_test(tests, second_derivatives);
    tcase_add_test(tests, names);
    tcase_add_test(tests, rows_stay_sparse);
    tcase_add_test(tests, conditionals);
    tcase_add_test(tests, branches_may_read_what_was_not_switched);
    tcase_add_test(tests, conditionals_twice_differentiated);
    tcase_add_test(tests, loops);
    tcase_add_test(tests, loops_that_never_run);
    tcase_add_test(tests, loops_one_after_the_other);
    tcase_add_test(tests, loops_in_loops);
    tcase_add_test(tests, conditionals_in_loops);
    tcase_add_test(tests, loops_in_conditionals);
    tcase_add_test(tests, loops_twice_differentiated);
    tcase_add_test(tests, calls);
    tcase_add_test(tests, calls_with_effects_become_their_copies);
    tcase_add_test(tests, functions_with_their_own_gradient);
    tcase_add_test(tests, functional_conditionals);
    tcase_add_test(tests, functional_loops);
    tcase_add_test(tests, endless_recursion);
    tcase_add_test(tests, refusals);
    tcase_add_test(tests, undone_inside_of_loops);
    tcase_add_test(tests, deep_graphs);
    tcase_add_test(tests, sums_of_very_many);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
