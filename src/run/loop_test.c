// Loop tests — loops that become one node: what becomes of them, and that they compute what propagated loops do.
#include <check.h>

#include "plan/loops.h"
#include "plan/plan_test.h"

enum { ALL = BIT(PASSES) - 1, WITHOUT = ALL & ~BIT(PASS_LOOPS) };

// ---- loops in the way that TensorFlow's Python writes them

typedef struct {
    const char *name;
    Output merged[4], gates[4];
    int n;
    Output cond;
} Frames;

static Output enter(const Frames *l, Output x, bool constant) {
    Formula *f = &formula;
    return OpWith("Enter", ATTRS({"frame_name", ATTR_OF_STRING(str_of(l->name))}, BOOL_ATTR("is_constant", constant),
                                 INT_ATTR("parallel_iterations", 10)), x);
}

static Output invariant(const Frames *l, Output x) {
    return enter(l, x, true);
}

static int variable(Frames *l, Output x) {
    Output entered = enter(l, x, false);
    l->merged[l->n] = formula_of_list(&formula, "Merge", (Output[]){entered, entered}, 2, NULL);
    l->merged[l->n].node->output_shapes[0] = UNKNOWN_SHAPE;
    return l->n++;
}

// While the first variable is less than `limit`.
static void below(Frames *l, Output limit) {
    Formula *f = &formula;
    l->cond = formula_1(f, "LoopCond", Op("Less", l->merged[0], invariant(l, limit)));
    for (int i = 0; i < l->n; i++)
        l->gates[i] = formula_2(f, "Switch", l->merged[i], l->cond);
}

static Output now(const Frames *l, int i) {
    return At(l->gates[i], 1);
}

static void next(const Frames *l, int i, Output value) {
    GOOD(formula.status);
    GOOD(node_set_input(l->merged[i].node, 1, formula_1(&formula, "NextIteration", value)));
}

static Output result(const Frames *l, int i) {
    return formula_1(&formula, "Exit", At(l->gates[i], 0));
}

static void count(const Frames *l) {
    Formula *f = &formula;
    next(l, 0, Add(now(l, 0), invariant(l, Int(1))));
}

static Output fed(DType dtype, Shape shape) {
    Formula *f = &formula;
    AttrValue value = {.kind = ATTR_SHAPE, .shape = &shape};
    return formula_op(f, "Placeholder", NULL, 0, ATTRS(TYPE_ATTR("dtype", dtype), {"shape", value}));
}

// ---- running them

static Status *run_status(uint32_t passes, const Output *feeds, const Tensor *values, int n, Output fetch, int steps,
                          int64_t timeout_ms, Tensor *out) {
    Session *session = session_with(passes, 1);
    const Tensor *fed_values[4];
    for (int i = 0; i < n; i++)
        fed_values[i] = &values[i];
    StepSignature signature = {.feeds = feeds, .fetches = &fetch, .n_feeds = n, .n_fetches = 1};
    RunSettings settings = {.timeout_ms = timeout_ms};
    Status *status = OK;
    *out = (Tensor){0};
    for (int i = 0; i < steps && !status; i++) {
        tensor_clear(out);
        status = session_run(session, &signature, &settings, fed_values, out);
    }
    session_free(session);
    return status;
}

// The same bits with and without, in the first step (dynamic) and later ones (specialised).
static void same_bits(const Output *feeds, const Tensor *values, int n, Output fetch) {
    Tensor want, got;
    GOOD(formula.status);
    GOOD(run_status(WITHOUT, feeds, values, n, fetch, 1, 0, &want));
    for (int steps = 1; steps < 4; steps++) {
        GOOD(run_status(ALL, feeds, values, n, fetch, steps, 0, &got));
        ck_assert(shape_equal(&want.shape, &got.shape));
        ck_assert_mem_eq(want.data, got.data, tensor_bytes(&want));
        tensor_clear(&got);
    }
    tensor_clear(&want);
}

static Plan *plan_of(uint32_t passes, const Output *feeds, int n, Output fetch, Session **session) {
    Plan *plan;
    StepSignature signature = {.feeds = feeds, .fetches = &fetch, .n_feeds = n, .n_fetches = 1};
    *session = session_with(passes, 1);
    GOOD(formula.status);
    GOOD(session_plan(*session, &signature, &plan));
    return plan;
}

static int count_of(const Plan *plan, const char *op) {
    int found = 0;
    for (int32_t i = 0; i < plan->n_nodes; i++)
        found += str_is(plan->nodes[i].binding.node->type->name, op);
    return found;
}

static Tensor int_tensor(int value) {
    Tensor tensor;
    GOOD(tensor_new(DT_int32, SCALAR_SHAPE, &tensor));
    *(int32_t *)tensor.data = value;
    return tensor;
}

static Tensor float_tensor(Shape shape) {
    Tensor tensor;
    GOOD(tensor_new(DT_float, shape, &tensor));
    for (int64_t i = 0; i < tensor_count(&tensor); i++)
        ((float *)tensor.data)[i] = (float)(i % 13) / 16 - 0.3f;
    return tensor;
}

// ---- tests

// h = tanh(h w exp(b)) as often as `limit` says: exp(b), and what stands for w, is computed once.
static Output recurrent(Output limit, Output h, Output w, Output b) {
    Formula *f = &formula;
    Frames l = {.name = "loop"};
    variable(&l, Int(0));
    int state = variable(&l, h);
    below(&l, limit);
    count(&l);
    Output weights = Mul(invariant(&l, w), Exp(invariant(&l, b)));
    next(&l, state, Tanh(Op("MatMul", now(&l, state), weights)));
    return result(&l, state);
}

START_TEST(becomes_one_node_of_a_list) {
    Formula *f = &formula;
    Output feeds[] = {fed(DT_int32, SCALAR_SHAPE), fed(DT_float, SHAPE(3, 5)),
                      fed(DT_float, SHAPE(5, 5)), fed(DT_float, SHAPE(5))};
    Output y = Neg(recurrent(feeds[0], feeds[1], feeds[2], feeds[3]));
    Session *session;
    Plan *plan = plan_of(ALL, feeds, 4, y, &session);
    ck_assert(!plan->propagated);
    ck_assert_int_eq(plan->n_loops, 1);
    ck_assert_int_eq(count_of(plan, "_Loop"), 1);
    const PlanLoop *loop = &plan->loops[0];
    ck_assert(!loop->body->propagated);
    ck_assert_int_eq(loop->n_variables, 2);
    ck_assert_ptr_nonnull(loop->lasting);
    ck_assert_int_eq(count_of(loop->lasting, "Exp") + count_of(loop->lasting, "_Fused"), 1);
    ck_assert_int_eq(count_of(loop->body, "Exp") + count_of(loop->body, "Mul"), 0);
    plan_release(plan);
    session_free(session);
    plan = plan_of(WITHOUT, feeds, 4, y, &session);
    ck_assert(plan->propagated);
    ck_assert_int_eq(count_of(plan, "_Loop"), 0);
    plan_release(plan);
    session_free(session);
}
END_TEST

START_TEST(computes_the_same) {
    Formula *f = &formula;
    Output feeds[] = {fed(DT_int32, SCALAR_SHAPE), fed(DT_float, UNKNOWN_SHAPE),
                      fed(DT_float, SHAPE(5, 5)), fed(DT_float, SHAPE(5))};
    Output y = Neg(recurrent(feeds[0], feeds[1], feeds[2], feeds[3]));
    for (int turns = 0; turns < 5; turns++) {
        Tensor values[] = {int_tensor(turns), float_tensor(SHAPE(3, 5)), float_tensor(SHAPE(5, 5)),
                           float_tensor(SHAPE(5))};
        same_bits(feeds, values, 4, y);
        for (int i = 0; i < 4; i++)
            tensor_clear(&values[i]);
    }
}
END_TEST

// Steps of one session, whose shapes and numbers of turns differ.
START_TEST(shapes_and_turns_that_vary) {
    Formula *f = &formula;
    Output feeds[] = {fed(DT_int32, SCALAR_SHAPE), fed(DT_float, UNKNOWN_SHAPE),
                      fed(DT_float, SHAPE(5, 5)), fed(DT_float, SHAPE(5))};
    Output y = Neg(recurrent(feeds[0], feeds[1], feeds[2], feeds[3]));
    Session *sessions[] = {session_with(ALL, 1), session_with(WITHOUT, 1)};
    StepSignature signature = {.feeds = feeds, .fetches = &y, .n_feeds = 4, .n_fetches = 1};
    GOOD(f->status);
    for (int i = 0; i < 60; i++) {
        Tensor values[] = {int_tensor(i % 7), float_tensor(SHAPE(1 + i / 3 % 4, 5)), float_tensor(SHAPE(5, 5)),
                           float_tensor(SHAPE(5))};
        Tensor out[2];
        const Tensor *given[] = {&values[0], &values[1], &values[2], &values[3]};
        for (int s = 0; s < 2; s++)
            GOOD(session_run(sessions[s], &signature, &run_settings_default, given, &out[s]));
        ck_assert_mem_eq(out[0].data, out[1].data, tensor_bytes(&out[1]));
        for (int s = 0; s < 2; s++)
            tensor_clear(&out[s]);
        for (int v = 0; v < 4; v++)
            tensor_clear(&values[v]);
    }
    session_free(sessions[0]);
    session_free(sessions[1]);
}
END_TEST

// x becomes [x, x]: each iteration has another shape.
START_TEST(shapes_that_grow) {
    Formula *f = &formula;
    Output feeds[] = {fed(DT_int32, SCALAR_SHAPE), fed(DT_float, SHAPE(3))};
    Frames l = {.name = "loop"};
    variable(&l, Int(0));
    int x = variable(&l, feeds[1]);
    below(&l, feeds[0]);
    count(&l);
    next(&l, x, formula_list_and(f, "ConcatV2", (Output[]){now(&l, x), Neg(now(&l, x))}, 2, invariant(&l, Int(0))));
    Output y = Neg(result(&l, x));
    for (int turns = 0; turns < 8; turns++) {
        Tensor values[] = {int_tensor(turns), float_tensor(SHAPE(3))};
        same_bits(feeds, values, 2, y);
        tensor_clear(&values[0]);
        tensor_clear(&values[1]);
    }
}
END_TEST

// Variables that change places, one that stays, one that nobody reads, and one value for two of them.
START_TEST(variables_that_change_places) {
    Formula *f = &formula;
    Output feeds[] = {fed(DT_int32, SCALAR_SHAPE), fed(DT_float, SHAPE(4)), fed(DT_float, SHAPE(4))};
    for (int kind = 0; kind < 3; kind++) {
        Frames l = {.name = kind ? kind == 1 ? "one" : "two" : "none"};
        variable(&l, Int(0));
        int a = variable(&l, feeds[1]), b = variable(&l, feeds[2]), c = variable(&l, feeds[2]);
        below(&l, feeds[0]);
        count(&l);
        Output sum = Add(now(&l, a), now(&l, b));
        next(&l, a, kind == 2 ? sum : now(&l, b));
        next(&l, b, kind == 0 ? now(&l, a) : sum);
        next(&l, c, now(&l, c));
        Output y = Add(Add(result(&l, a), Mul(result(&l, b), Scalar(3, feeds[1]))), result(&l, c));
        for (int turns = 0; turns < 6; turns++) {
            Tensor values[] = {int_tensor(turns), float_tensor(SHAPE(4)), float_tensor(SHAPE(4))};
            ((float *)values[2].data)[1] = 7;
            same_bits(feeds, values, 3, y);
            for (int i = 0; i < 3; i++)
                tensor_clear(&values[i]);
        }
    }
}
END_TEST

// A loop in a loop becomes a node of a node's list.
START_TEST(loops_in_loops) {
    Formula *f = &formula;
    Output feeds[] = {fed(DT_int32, SCALAR_SHAPE), fed(DT_float, SHAPE(4))};
    Frames l = {.name = "outer"};
    variable(&l, Int(0));
    int x = variable(&l, feeds[1]);
    below(&l, feeds[0]);
    count(&l);
    Frames inner = {.name = "inner"};
    variable(&inner, Sub(now(&l, 0), now(&l, 0)));
    int y = variable(&inner, now(&l, x));
    below(&inner, now(&l, 0));
    next(&inner, 0, Add(now(&inner, 0), invariant(&inner, invariant(&l, Int(1)))));
    next(&inner, y, Tanh(Add(now(&inner, y), invariant(&inner, invariant(&l, feeds[1])))));
    next(&l, x, result(&inner, y));
    Output out = Neg(result(&l, x));
    Session *session;
    Plan *plan = plan_of(ALL, feeds, 2, out, &session);
    ck_assert(!plan->propagated);
    ck_assert_int_eq(plan->n_loops, 1);
    ck_assert_int_eq(plan->loops[0].body->n_loops, 1);
    plan_release(plan);
    session_free(session);
    for (int turns = 0; turns < 6; turns++) {
        Tensor values[] = {int_tensor(turns), float_tensor(SHAPE(4))};
        same_bits(feeds, values, 2, out);
        tensor_clear(&values[0]);
        tensor_clear(&values[1]);
    }
}
END_TEST

// The loop is on a branch that may be dead: then so is the node.
START_TEST(dead_branches) {
    Formula *f = &formula;
    Output feeds[] = {fed(DT_int32, SCALAR_SHAPE), fed(DT_bool, SCALAR_SHAPE)};
    Output ways = formula_2(f, "Switch", feeds[0], feeds[1]), taken = At(ways, 1);
    Frames l = {.name = "loop"};
    variable(&l, Sub(taken, taken));
    int x = variable(&l, taken);
    below(&l, taken);
    next(&l, 0, Add(now(&l, 0), FloorDiv(invariant(&l, taken), invariant(&l, taken))));
    next(&l, x, Add(now(&l, x), now(&l, x)));
    Output y = formula_of_list(f, "Merge", (Output[]){Neg(ways), result(&l, x)}, 2, NULL);
    Session *session;
    Plan *plan = plan_of(ALL, feeds, 2, y, &session);
    ck_assert(plan->propagated);
    ck_assert_int_eq(plan->n_loops, 1);
    plan_release(plan);
    session_free(session);
    for (int i = 0; i < 6; i++) {
        Tensor values[] = {int_tensor(1 + i), {0}};
        GOOD(tensor_new(DT_bool, SCALAR_SHAPE, &values[1]));
        *(bool *)values[1].data = i & 1;
        same_bits(feeds, values, 2, y);
        tensor_clear(&values[0]);
        tensor_clear(&values[1]);
    }
}
END_TEST

// What fails in an iteration says its own name; what is taken out of a loop that has no iteration doesn't run.
START_TEST(failures) {
    Formula *f = &formula;
    Output feeds[] = {fed(DT_int32, SCALAR_SHAPE), fed(DT_float, SHAPE(2)), fed(DT_int32, SCALAR_SHAPE)};
    Frames l = {.name = "loop"};
    variable(&l, Int(0));
    int x = variable(&l, feeds[1]);
    below(&l, feeds[0]);
    count(&l);
    Output checked = formula_3(f, "GatherV2", Exp(invariant(&l, feeds[1])), invariant(&l, feeds[2]),
                               invariant(&l, Int(0)));
    next(&l, x, Add(now(&l, x), checked));
    Output y = result(&l, x);
    for (int turns = 0; turns < 3; turns++) {
        Tensor values[] = {int_tensor(turns), float_tensor(SHAPE(2)), int_tensor(9)}, out;
        AUTO(status) Status *status = run_status(ALL, feeds, values, 3, y, 2, 0, &out);
        ck_assert_int_eq(status_code(status), turns ? INVALID_ARGUMENT : 0);
        if (status)
            ck_assert_ptr_nonnull(strstr(status_message(status), checked.node->name.p));
        tensor_clear(&out);
        for (int i = 0; i < 3; i++)
            tensor_clear(&values[i]);
    }
}
END_TEST

START_TEST(ends_at_its_deadline) {
    Formula *f = &formula;
    Output feeds[] = {fed(DT_int32, SCALAR_SHAPE)};
    Frames l = {.name = "loop"};
    variable(&l, Int(0));
    below(&l, feeds[0]);
    next(&l, 0, Sub(now(&l, 0), invariant(&l, Int(0))));  // for ever
    Tensor value = int_tensor(5), out;
    Output y = result(&l, 0);
    GOOD(f->status);
    AUTO(status) Status *status = run_status(ALL, feeds, &value, 1, y, 1, 50, &out);
    ck_assert_int_eq(status_code(status), DEADLINE_EXCEEDED);
    tensor_clear(&value);
}
END_TEST

// A variable that the body changes is read in each iteration; one that nothing changes, once.
START_TEST(variables_of_the_session) {
    Formula *f = &formula;
    Shape shape = SCALAR_SHAPE;
    AttrValue shape_value = {.kind = ATTR_SHAPE, .shape = &shape};
    for (int changes = 0; changes < 2; changes++) {
        Output feeds[] = {fed(DT_int32, SCALAR_SHAPE)};
        Output handle = formula_op(f, "VarHandleOp", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float),
                                                                    {"shape", shape_value},
                                   {"shared_name", ATTR_OF_STRING(changes ? STR("a") : STR("b"))}));
        Output start = OpWith("AssignVariableOp", ATTRS(TYPE_ATTR("dtype", DT_float)), handle, Number(1, DT_float));
        Output zero = Int(0);
        zero = Identity(zero);
        GOOD(f->status);
        GOOD(node_add_control(zero.node, start.node));
        Frames l = {.name = changes ? "changes" : "stays"};
        variable(&l, zero);
        int sum = variable(&l, Number(0, DT_float));
        below(&l, feeds[0]);
        count(&l);
        Output inside = invariant(&l, handle);
        Output read = OpWith("ReadVariableOp", ATTRS(TYPE_ATTR("dtype", DT_float)), inside);
        Output total = Add(now(&l, sum), read);
        if (changes) {
            Output more = OpWith("AssignAddVariableOp", ATTRS(TYPE_ATTR("dtype", DT_float)), inside,
                                 invariant(&l, Number(1, DT_float)));
            GOOD(f->status);
            GOOD(node_add_control(more.node, read.node));
            total = Identity(total);
            GOOD(node_add_control(total.node, more.node));
        }
        GOOD(node_add_control(read.node, Identity(now(&l, 0)).node));
        next(&l, sum, total);
        Output y = result(&l, sum);
        Session *session;
        Plan *plan = plan_of(ALL, feeds, 1, y, &session);
        ck_assert_int_eq(plan->n_loops, 1);
        ck_assert_int_eq(count_of(plan->loops[0].body, "ReadVariableOp"), changes);
        plan_release(plan);
        session_free(session);
        Tensor value = int_tensor(5), out;
        for (int steps = 1; steps < 3; steps++) {
            GOOD(run_status(ALL, feeds, &value, 1, y, steps, 0, &out));
            ck_assert_float_eq(*(float *)out.data, changes ? 15 : 5);
            tensor_clear(&out);
        }
        tensor_clear(&value);
    }
}
END_TEST

// A list that only the loop holds is changed in place, however often.
START_TEST(lists_of_tensors) {
    Formula *f = &formula;
    Output feeds[] = {fed(DT_int32, SCALAR_SHAPE), fed(DT_float, SHAPE(3))};
    Output list = OpWith("TensorListReserve", ATTRS(TYPE_ATTR("element_dtype", DT_float)), Ints(3), feeds[0]);
    Frames l = {.name = "loop"};
    variable(&l, Int(0));
    int items = variable(&l, list), x = variable(&l, feeds[1]);
    below(&l, feeds[0]);
    count(&l);
    Output y = Tanh(Add(now(&l, x), invariant(&l, feeds[1])));
    next(&l, x, y);
    next(&l, items,
         OpWith("TensorListSetItem", ATTRS(TYPE_ATTR("element_dtype", DT_float)), now(&l, items), now(&l, 0), y));
    Output all = OpWith("TensorListStack", ATTRS(TYPE_ATTR("element_dtype", DT_float)), result(&l, items), Ints(3));
    for (int turns = 1; turns < 40; turns += 6) {
        Tensor values[] = {int_tensor(turns), float_tensor(SHAPE(3))};
        same_bits(feeds, values, 2, all);
        tensor_clear(&values[0]);
        tensor_clear(&values[1]);
    }
}
END_TEST

// One loop pushes what another pops: in place, but never what somebody else still sees.
START_TEST(lists_that_are_pushed_and_popped) {
    Formula *f = &formula;
    Output feeds[] = {fed(DT_int32, SCALAR_SHAPE), fed(DT_float, SHAPE(3))};
    Output list = OpWith("EmptyTensorList", ATTRS(TYPE_ATTR("element_dtype", DT_float)), Ints(3), Int(-1));
    Frames there = {.name = "there"}, back = {.name = "back"};
    variable(&there, Int(0));
    int pushed = variable(&there, list), x = variable(&there, feeds[1]);
    below(&there, feeds[0]);
    count(&there);
    next(&there, x, Tanh(Add(now(&there, x), invariant(&there, feeds[1]))));
    next(&there, pushed, OpWith("TensorListPushBack", ATTRS(TYPE_ATTR("element_dtype", DT_float)),
                                now(&there, pushed), now(&there, x)));
    Output whole = result(&there, pushed);
    variable(&back, Int(0));
    int popped = variable(&back, whole), sum = variable(&back, result(&there, x));
    below(&back, feeds[0]);
    count(&back);
    Output pop = OpWith("TensorListPopBack", ATTRS(TYPE_ATTR("element_dtype", DT_float)), now(&back, popped),
                        invariant(&back, Ints(3)));
    next(&back, popped, pop);
    next(&back, sum, Sub(Mul(now(&back, sum), now(&back, sum)), At(pop, 1)));
    Output length = formula_1(f, "TensorListLength", whole);  // seen after all: the second loop changes its own
    Output y = Add(result(&back, sum), Cast(length, DT_float));
    for (int turns = 0; turns < 12; turns += 3) {
        Tensor values[] = {int_tensor(turns), float_tensor(SHAPE(3))};
        same_bits(feeds, values, 2, y);
        tensor_clear(&values[0]);
        tensor_clear(&values[1]);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("loops");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, becomes_one_node_of_a_list);
    tcase_add_test(tests, computes_the_same);
    tcase_add_test(tests, shapes_and_turns_that_vary);
    tcase_add_test(tests, shapes_that_grow);
    tcase_add_test(tests, variables_that_change_places);
    tcase_add_test(tests, loops_in_loops);
    tcase_add_test(tests, dead_branches);
    tcase_add_test(tests, failures);
    tcase_add_test(tests, ends_at_its_deadline);
    tcase_add_test(tests, variables_of_the_session);
    tcase_add_test(tests, lists_of_tensors);
    tcase_add_test(tests, lists_that_are_pushed_and_popped);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
