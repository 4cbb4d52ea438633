// Pattern fusion tests — products that go into a variable or a sum, losses with their factors: what the plan has, and
// that it comes to the same.
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plan/plan_test.h"

// ---------------------------------------- a variable and what trains it

typedef struct {
    bool ref;
    DType dtype;
    Shape shape;
    Output variable, read;   // `read` waits for nothing
    Node *set;
} Trained;

static Output ramp(DType dtype, Shape shape, float step) {
    Formula *f = &formula;
    Tensor tensor;
    GOOD(tensor_new(DT_float, shape, &tensor));
    for (int64_t i = 0; i < tensor_count(&tensor); i++)
        ((float *)tensor.data)[i] = (float)(i * 7 % 23 - 11) * step;
    Output out = formula_tensor(f, &tensor);
    tensor_clear(&tensor);
    return dtype == DT_float ? out : Cast(out, dtype);
}

// Not known while planning, so that nothing is folded; in every session the same.
static Output noise(DType dtype, int64_t rows, int64_t columns) {
    Formula *f = &formula;
    static int64_t seed;
    Tensor tensor;
    GOOD(tensor_new(DT_int64, SHAPE(2), &tensor));
    ((int64_t *)tensor.data)[0] = rows;
    ((int64_t *)tensor.data)[1] = columns;
    Output shape = formula_tensor(f, &tensor);
    tensor_clear(&tensor);
    AttrValue number = ATTR_OF_INT(++seed);
    Output out = formula_op(f, "RandomUniform", &shape, 1, (FormulaAttr[]){TYPE_ATTR("dtype", DT_float),
                                                                           {"seed", number}, {0}});
    return dtype == DT_float ? out : Cast(out, dtype);
}

static Trained variable(bool ref, DType dtype, Shape shape) {
    Formula *f = &formula;
    Trained t = {.ref = ref, .dtype = dtype, .shape = shape};
    FormulaAttr attrs[] = {TYPE_ATTR("dtype", dtype), {"shape", {.kind = ATTR_SHAPE, .shape = &t.shape}}, {0}};
    t.variable = formula_op(f, ref ? "VariableV2" : "VarHandleOp", NULL, 0, attrs);
    Output value = shape.rank < 0 ? ramp(dtype, SHAPE(3, 4), 0.1f) : ramp(dtype, shape, 0.1f);
    t.set = formula_op(f, ref ? "Assign" : "AssignVariableOp", (Output[]){t.variable, value}, 2, NULL).node;
    t.read = ref ? Identity(t.variable)
                 : formula_op(f, "ReadVariableOp", &t.variable, 1, (FormulaAttr[]){TYPE_ATTR("dtype", dtype), {0}});
    GOOD(f->status);
    return t;
}

static Output number(DType dtype, float value) {
    Formula *f = &formula;
    Tensor tensor;
    GOOD(tensor_new(DT_float, SCALAR_SHAPE, &tensor));
    *(float *)tensor.data = value;
    Output x = formula_tensor(f, &tensor);
    tensor_clear(&tensor);
    return dtype == DT_float ? x : Cast(x, dtype);
}

static Node *descend(const Trained *t, Output gradient) {
    Output in[] = {t->variable, number(t->dtype, 0.1f), gradient};
    Node *node = formula_op(&formula, t->ref ? "ApplyGradientDescent" : "ResourceApplyGradientDescent", in, 3,
                            NULL).node;
    GOOD(formula.status);
    return node;
}

static void run_target(Session *session, Node *target) {
    StepSignature step = {.targets = &target, .n_targets = 1};
    GOOD(session_run(session, &step, &run_settings_default, NULL, NULL));
}

static Tensor value_of(Session *session, Output fetch) {
    StepSignature step = {.fetches = &fetch, .n_fetches = 1};
    Tensor out;
    GOOD(session_run(session, &step, &run_settings_default, NULL, &out));
    return out;
}

static int count_of(Node *target, const Output *fetches, int n_fetches, const char *op) {
    StepSignature step = {.targets = &target, .n_targets = target != NULL, .fetches = fetches, .n_fetches = n_fetches};
    return planned_nodes(BIT(PASSES) - 1, &step, op);
}

static void expect_alike(const Tensor *a, const Tensor *b, float tolerance) {
    ck_assert(shape_equal(&a->shape, &b->shape));
    for (int64_t i = 0; i < tensor_count(a); i++) {
        float x = ((float *)a->data)[i], y = ((float *)b->data)[i];
        if (!(fabsf(x - y) <= tolerance * (1 + fabsf(x))))
            ck_abort_msg("element %d: %g and %g", (int)i, (double)x, (double)y);
    }
}

static void expect_same_value(Output fetch, float tolerance) {
    Session *plain = session_with(0, 1), *joined = session_with(BIT(PASSES) - 1, 2);
    Tensor want = value_of(plain, fetch), got = value_of(joined, fetch);
    expect_alike(&want, &got, tolerance);
    tensor_clear(&want);
    tensor_clear(&got);
    session_free(plain);
    session_free(joined);
}

// Three steps with and without the pass, on one thread and on two.
static void check_training(const Trained *t, Node *const *sets, int n_sets, Node *step, Output result) {
    Formula *f = &formula;
    Output wide = t->dtype == DT_float ? result : Cast(result, DT_float);
    GOOD(f->status);
    float tolerance = t->dtype == DT_bfloat16 ? 0.05f : t->dtype == DT_half ? 0.01f : 1e-4f;
    Tensor want = {0};
    for (int way = 0; way < 3; way++) {
        Session *session = session_with(way ? BIT(PASSES) - 1 : 0, way == 2 ? 2 : 1);
        for (int i = 0; i < n_sets; i++)
            run_target(session, sets[i]);
        for (int i = 0; i < 3; i++)
            run_target(session, step);
        Tensor got = value_of(session, wide);
        session_free(session);
        if (way) {
            expect_alike(&want, &got, tolerance);
            tensor_clear(&got);
        } else {
            want = got;
        }
    }
    tensor_clear(&want);
}

static void check(const Trained *t, Node *step) {
    check_training(t, &t->set, 1, step, t->read);
}

static Output product(DType dtype, int64_t m, int64_t n, int64_t k, bool ta, bool tb) {
    Formula *f = &formula;
    return MatMul(ta ? noise(dtype, k, m) : noise(dtype, m, k), tb ? noise(dtype, n, k) : noise(dtype, k, n), ta, tb);
}

static const char *taken(const Trained *t) {
    return t->ref ? "_ApplyGradientDescentMatMul" : "_ResourceApplyGradientDescentMatMul";
}

// ---------------------------------------- products

START_TEST(products_go_into_variables) {
    static const struct { int64_t m, n, k; } sizes[] = {{129, 131, 5}, {333, 170, 9}, {200, 5000, 7}, {900, 600, 40},
                                                        {1, 20000, 8}, {20000, 1, 8}, {200, 100, 0}, {90, 180, 4},
                                                        {0, 4, 3}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int way = 0; way < 4; way++) {
            Trained t = variable(i & 1, DT_float, SHAPE(sizes[i].m, sizes[i].n));
            Node *step = descend(&t, product(DT_float, sizes[i].m, sizes[i].n, sizes[i].k, way & 1, way >> 1));
            bool small = sizes[i].m * sizes[i].n <= 1 << 14;  // stays in the cache anyway
            ck_assert_int_eq(count_of(step, NULL, 0, taken(&t)), !small);
            ck_assert_int_eq(count_of(step, NULL, 0, "MatMul"), small);
            check(&t, step);
        }
}
END_TEST

START_TEST(every_float_type_has_its_kernel) {
    static const DType types[] = {DT_half, DT_bfloat16, DT_double};
    for (int i = 0; i < 3; i++) {
        Trained t = variable(false, types[i], SHAPE(170, 130));
        Node *step = descend(&t, product(types[i], 170, 130, 30, true, false));
        ck_assert_int_eq(count_of(step, NULL, 0, taken(&t)), 1);
        check(&t, step);
    }
    Trained t = variable(false, DT_complex64, SHAPE(200, 100));
    ck_assert_int_eq(count_of(descend(&t, product(DT_complex64, 200, 100, 3, true, false)), NULL, 0, taken(&t)), 0);
}
END_TEST

START_TEST(momentum_and_adam_too) {
    Formula *f = &formula;
    for (int ref = 0; ref < 2; ref++) {
        Trained w = variable(ref, DT_float, SHAPE(300, 70)), m = variable(ref, DT_float, SHAPE(300, 70));
        Trained v = variable(ref, DT_float, SHAPE(300, 70));
        Output in[] = {w.variable, m.variable, number(DT_float, 0.1f), product(DT_float, 300, 70, 40, true, false),
                       number(DT_float, 0.9f)};
        Node *step = formula_op(f, ref ? "ApplyMomentum" : "ResourceApplyMomentum", in, 5,
                                (FormulaAttr[]){BOOL_ATTR("use_nesterov", true), {0}}).node;
        Node *sets[] = {w.set, m.set, v.set};
        GOOD(f->status);
        ck_assert_int_eq(count_of(step, NULL, 0, ref ? "_ApplyMomentumMatMul" : "_ResourceApplyMomentumMatMul"), 1);
        check_training(&w, sets, 2, step, w.read);
        check_training(&w, sets, 2, step, m.read);
        Output beta = number(DT_float, 0.9f), beta2 = number(DT_float, 0.99f), rate = number(DT_float, 0.1f);
        Output adam[] = {w.variable, m.variable, v.variable, beta, beta2, rate, beta, beta2, rate,
                         product(DT_float, 300, 70, 40, false, true)};
        v.set = formula_op(f, ref ? "Assign" : "AssignVariableOp",
                           (Output[]){v.variable, Square(ramp(DT_float, v.shape, 0.1f))}, 2, NULL).node;
        sets[2] = v.set;
        step = formula_op(f, ref ? "ApplyAdam" : "ResourceApplyAdam", adam, 10, NULL).node;
        GOOD(f->status);
        ck_assert_int_eq(count_of(step, NULL, 0, ref ? "_ApplyAdamMatMul" : "_ResourceApplyAdamMatMul"), 1);
        check_training(&w, sets, 3, step, w.read);
    }
}
END_TEST

START_TEST(added_products_are_one) {
    Formula *f = &formula;
    for (int n = 2; n <= 20; n += 9) {
        Output products[20];
        for (int i = 0; i < n; i++)
            products[i] = product(DT_float, 190, 90, i % 5, true, false);
        Output sum = formula_of_list(f, "AddN", products, n, NULL);
        Trained t = variable(n & 1, DT_float, SHAPE(190, 90));
        Node *step = descend(&t, sum);
        ck_assert_int_eq(count_of(step, NULL, 0, taken(&t)), 1);
        ck_assert_int_eq(count_of(step, NULL, 0, "AddN"), 0);
        ck_assert_int_eq(count_of(NULL, &sum, 1, "_MatMulAddN"), 1);
        ck_assert_int_eq(count_of(NULL, &sum, 1, "MatMul"), 0);
        check(&t, step);
        expect_same_value(sum, 1e-4f);
    }
    Output mixed[] = {product(DT_float, 5, 6, 4, true, false), product(DT_float, 5, 6, 4, false, false)};
    Output sum = formula_of_list(f, "AddN", mixed, 2, NULL);
    ck_assert_int_eq(count_of(NULL, &sum, 1, "AddN"), 1);  // these can't be laid one under the other
}
END_TEST

// ---------------------------------------- parts of one tensor

static Output padded(Output x, int before, int after) {
    Formula *f = &formula;
    return Pad(x, Reshape(Ints(before, after, 0, 0), Ints(2, 2)));
}

// Each part begins where the next one of a cache line does, so that no plan copies it; what comes of it is put together
// again.
START_TEST(gradients_of_parts_are_written_once) {
    Formula *f = &formula;
    Output x = noise(DT_float, 12, 16), top = Slice(x, Ints(0, 0), Ints(5, 16)),
        rest = Slice(x, Ints(5, 0), Ints(7, 16));
    Output parts[] = {padded(Square(top), 0, 7), padded(Square(rest), 5, 0), padded(Exp(rest), 4, 1)};
    for (int n = 2; n <= 3; n++) {
        Output sum = formula_of_list(f, "AddN", parts, n, NULL);
        ck_assert_int_eq(count_of(NULL, &sum, 1, "_PadAddN"), 1);
        ck_assert_int_eq(count_of(NULL, &sum, 1, "Pad"), 0);
        expect_same_value(sum, 1e-5f);
    }
}
END_TEST

// Parts that overlap, read by one node or after one another: none is written over while another is still to be read.
START_TEST(parts_that_overlap_stay_whole) {
    Formula *f = &formula;
    Output x = Square(noise(DT_float, 9, 16)), a = Slice(x, Ints(0, 0), Ints(6, 16)),
        b = Slice(x, Ints(2, 0), Ints(6, 16));
    Output c = Slice(a, Ints(1, 0), Ints(4, 16)), d = Slice(x, Ints(0, 0), Ints(4, 16));
    expect_same_value(Maximum(a, b), 1e-5f);
    expect_same_value(Maximum(b, a), 1e-5f);
    Output mixed = Sub(Maximum(c, d), Minimum(d, c));
    expect_same_value(Concat(((Output[]){mixed, Maximum(b, a), x, Exp(c)}), 4, Int(0)), 1e-5f);
    Output pieces[] = {Reshape(c, Ints(64)), Reshape(Slice(b, Ints(2, 0), Ints(4, 16)), Ints(64))};
    expect_same_value(formula_of_list(f, "AddN", pieces, 2, NULL), 1e-5f);
}
END_TEST

// ---------------------------------------- the gradient of a loss, times what comes in

static const char *const scaled_names[] = {"_ScaledSparseSoftmaxCrossEntropyWithLogits",
                                           "_ScaledSoftmaxCrossEntropyWithLogits"};

static Output loss_of(Output logits, bool dense) {
    Formula *f = &formula;
    if (dense)
        return formula_op(f, "SoftmaxCrossEntropyWithLogits", (Output[]){logits, noise(output_type(logits), 6, 5)}, 2,
                          NULL);
    Output in[] = {logits, Ints(0, 4, 2, 1, 3, 3)};
    return formula_op(f, "SparseSoftmaxCrossEntropyWithLogits", in, 2, NULL);
}

static Output gradient_of(Output loss) {
    return (Output){loss.node, 1};
}

START_TEST(losses_take_in_their_factors) {
    Formula *f = &formula;
    static const DType types[] = {DT_float, DT_double, DT_half, DT_bfloat16};
    for (int way = 0; way < 16; way++) {
        DType dtype = types[way >> 2];
        bool dense = way & 1, turned = way & 2;
        Output loss = loss_of(noise(dtype, 6, 5), dense), column = noise(dtype, 6, 1);
        Output dx = turned ? Mul(column, gradient_of(loss)) : Mul(gradient_of(loss), column);
        Output both = Add(Cast(dx, DT_float), Cast(ExpandDims(loss, Int(-1)), DT_float));
        ck_assert_int_eq(count_of(NULL, &both, 1, scaled_names[dense]), 1);
        ck_assert_int_eq(count_of(NULL, &both, 1, "Mul"), 0);
        expect_same_value(both, dtype == DT_float || dtype == DT_double ? 0 : dtype == DT_half ? 2e-3f : 0.02f);
    }
}
END_TEST

// A mean's gradient begins with ones in the loss's shape: known, they wait for no loss.
START_TEST(factors_of_the_shape_alone) {
    Formula *f = &formula;
    Output logits = noise(DT_float, 6, 5), loss = loss_of(logits, false), mean = Mean(loss, Int(0), false);
    Output ones = BroadcastTo(Div(OnesLike(mean), number(DT_float, 6)), Ints(6));
    Output dx = Mul(gradient_of(loss), ExpandDims(ones, Int(-1))), both = Add(dx, mean);
    ck_assert_int_eq(count_of(NULL, &both, 1, scaled_names[0]), 1);
    expect_same_value(both, 0);
    Output waiting = Neg(noise(DT_float, 2, 2));  // who waits for the product waits for what stands for it
    GOOD(node_add_control(waiting.node, dx.node));
    Output fetched[] = {both, waiting};
    ck_assert_int_eq(count_of(NULL, fetched, 2, scaled_names[0]), 1);
    expect_same_value(waiting, 0);
    ck_assert_int_eq(count_of(dx.node, &both, 1, scaled_names[0]), 0);
}
END_TEST

START_TEST(factors_that_need_the_loss_stay) {
    Formula *f = &formula;
    Output loss = loss_of(noise(DT_float, 6, 5), false), dx = gradient_of(loss), column = noise(DT_float, 6, 1);
    Output of_loss = Mul(dx, ExpandDims(Neg(Neg(loss)), Int(-1)));
    ck_assert_int_eq(count_of(NULL, &of_loss, 1, scaled_names[0]), 0);
    expect_same_value(of_loss, 0);
    Output others[] = {Mul(dx, noise(DT_float, 1, 1)), Mul(dx, noise(DT_float, 6, 5)), Mul(dx, noise(DT_float, 1, 5)),
                       Mul(dx, dx)};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ck_assert_int_eq(count_of(NULL, &others[i], 1, scaled_names[0]), 0);
        expect_same_value(others[i], 0);
    }
    Output twice[] = {Mul(dx, column), Neg(dx)}, fetched[] = {Mul(dx, column), dx};
    ck_assert_int_eq(count_of(NULL, twice, 2, scaled_names[0]), 0);
    ck_assert_int_eq(count_of(NULL, fetched, 2, scaled_names[0]), 0);
}
END_TEST

// The gradient is written over the logits, unless somebody reads them later.
START_TEST(logits_that_others_read_stay) {
    Formula *f = &formula;
    for (int later = 0; later < 2; later++) {
        Output logits = Square(noise(DT_float, 6, 5)), loss = loss_of(logits, false);
        Output dx = Mul(gradient_of(loss), noise(DT_float, 6, 1));
        Output y = later ? Add(MatMul(dx, logits, true, false), Sum(loss, Int(0), false)) : Exp(dx);
        ck_assert_int_eq(count_of(NULL, &y, 1, scaled_names[0]), 1);
        expect_same_value(y, 1e-5f);
    }
}
END_TEST

// ---------------------------------------- where it stops

START_TEST(products_that_others_want_stay) {
    Formula *f = &formula;
    Trained t = variable(false, DT_float, SHAPE(200, 100));
    Output shared = product(DT_float, 200, 100, 4, true, false), other = Neg(shared);
    Node *step = descend(&t, shared);
    ck_assert_int_eq(count_of(step, &other, 1, taken(&t)), 0);
    ck_assert_int_eq(count_of(step, &shared, 1, taken(&t)), 0);
    Output waited = product(DT_float, 200, 100, 4, true, false), waiting = Neg(ramp(DT_float, SHAPE(2), 1));
    GOOD(node_add_control(waiting.node, waited.node));
    step = descend(&t, waited);
    ck_assert_int_eq(count_of(step, &waiting, 1, taken(&t)), 1);  // one that waits for it waits for its inputs as well
    Node *all = formula_op(f, "NoOp", NULL, 0, NULL).node;
    GOOD(node_add_control(all, step));
    GOOD(node_add_control(all, waited.node));
    ck_assert_int_eq(count_of(all, NULL, 0, taken(&t)), 1);
    check(&t, all);
}
END_TEST

// As TensorFlow's Python writes it: whoever reads a gradient waits for its siblings.
START_TEST(gradients_wait_for_their_siblings) {
    Formula *f = &formula;
    Trained t = variable(false, DT_float, SHAPE(200, 100));
    Output dy = noise(DT_float, 8, 100), dw = MatMul(noise(DT_float, 8, 200), dy, true, false),
        dx = MatMul(dy, t.read, false, true);
    Node *both = formula_op(f, "NoOp", NULL, 0, NULL).node;
    GOOD(node_add_control(both, dw.node));
    GOOD(node_add_control(both, dx.node));
    Output late_w = Identity(dw), late_x = Identity(dx);
    GOOD(node_add_control(late_w.node, both));
    GOOD(node_add_control(late_x.node, both));
    Node *step = descend(&t, late_w);
    Output seen = Neg(late_x);
    ck_assert_int_eq(count_of(step, &seen, 1, taken(&t)), 1);
    ck_assert_int_eq(count_of(step, &seen, 1, "Identity"), 0);
    check(&t, step);
    for (int way = 0; way < 2; way++) {  // dx is of the value before the step, which waits for it
        Session *session = session_with(way ? BIT(PASSES) - 1 : 0, 1);
        run_target(session, t.set);
        StepSignature both_at_once = {.fetches = &seen, .n_fetches = 1, .targets = &step, .n_targets = 1};
        Tensor got, want;
        GOOD(session_run(session, &both_at_once, &run_settings_default, NULL, &got));
        session_free(session);
        session = session_with(0, 1);
        run_target(session, t.set);
        want = value_of(session, seen);
        session_free(session);
        expect_alike(&want, &got, 1e-4f);
        tensor_clear(&got);
        tensor_clear(&want);
    }
}
END_TEST

START_TEST(updates_are_still_waited_for) {
    Formula *f = &formula;
    for (int ref = 0; ref < 2; ref++) {
        Trained t = variable(ref, DT_float, SHAPE(200, 100));
        Node *step = descend(&t, product(DT_float, 200, 100, 8, true, false));
        Output after = ref ? Identity(t.variable)
                           : formula_op(f, "ReadVariableOp", &t.variable, 1,
                                        (FormulaAttr[]){TYPE_ATTR("dtype", DT_float), {0}});
        GOOD(node_add_control(after.node, step));
        Node *all = formula_op(f, "NoOp", NULL, 0, NULL).node;
        GOOD(node_add_control(all, step));
        Output before = Add(after, after);
        GOOD(f->status);
        ck_assert_int_eq(count_of(all, &before, 1, taken(&t)), 1);
        Tensor values[2];
        for (int way = 0; way < 2; way++) {
            Session *session = session_with(way ? BIT(PASSES) - 1 : 0, 1);
            run_target(session, t.set);
            run_target(session, all);
            values[way] = value_of(session, before);
            session_free(session);
        }
        expect_alike(&values[0], &values[1], 1e-5f);
        tensor_clear(&values[0]);
        tensor_clear(&values[1]);
    }
}
END_TEST

START_TEST(snapshots_keep_the_old_value) {
    Formula *f = &formula;
    Trained t = variable(false, DT_float, SHAPE(140, 140));
    Node *own = descend(&t, MatMul(noise(DT_float, 140, 140), t.read, true, false));
    ck_assert_int_eq(count_of(own, NULL, 0, taken(&t)), 0);  // the variable's own value
    check(&t, own);
    Output indirect = Identity(Neg(Neg(t.read)));
    Node *step = descend(&t, MatMul(noise(DT_float, 140, 140), indirect, true, false));
    Output late = Neg(t.read);
    GOOD(node_add_control(step, t.read.node));
    GOOD(node_add_control(late.node, step));
    Session *session = session_with(BIT(PASSES) - 1, 1);
    run_target(session, t.set);
    Tensor before = value_of(session, Neg(t.read)), seen = value_of(session, late),
        after = value_of(session, Neg(t.read));
    expect_alike(&before, &seen, 0);
    ck_assert_float_ne(((float *)before.data)[0], ((float *)after.data)[0]);
    tensor_clear(&before);
    tensor_clear(&seen);
    tensor_clear(&after);
    session_free(session);
}
END_TEST

static void expect_error(Session *session, Node *target, Code code, Str name) {
    StepSignature step = {.targets = &target, .n_targets = 1};
    Status *status = session_run(session, &step, &run_settings_default, NULL, NULL);
    ck_assert_int_eq(status_code(status), code);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "{{node %.*s}}", STR_ARGS(name));
    ck_assert_msg(strstr(status_message(status), wanted) != NULL, "%s", status_message(status));
    status_free(status);
}

START_TEST(errors_name_the_update) {
    Trained t = variable(true, DT_float, UNKNOWN_SHAPE);
    Node *step = descend(&t, product(DT_float, 200, 100, 3, true, false));
    ck_assert_int_eq(count_of(step, NULL, 0, taken(&t)), 1);
    Session *session = session_with(BIT(PASSES) - 1, 1);
    expect_error(session, step, FAILED_PRECONDITION, step->name);
    run_target(session, t.set);
    expect_error(session, step, INVALID_ARGUMENT, step->name);
    session_free(session);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("products");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, products_go_into_variables);
    tcase_add_test(tests, every_float_type_has_its_kernel);
    tcase_add_test(tests, momentum_and_adam_too);
    tcase_add_test(tests, added_products_are_one);
    tcase_add_test(tests, gradients_of_parts_are_written_once);
    tcase_add_test(tests, parts_that_overlap_stay_whole);
    tcase_add_test(tests, losses_take_in_their_factors);
    tcase_add_test(tests, factors_of_the_shape_alone);
    tcase_add_test(tests, factors_that_need_the_loss_stay);
    tcase_add_test(tests, logits_that_others_read_stay);
    tcase_add_test(tests, products_that_others_want_stay);
    tcase_add_test(tests, gradients_wait_for_their_siblings);
    tcase_add_test(tests, updates_are_still_waited_for);
    tcase_add_test(tests, snapshots_keep_the_old_value);
    tcase_add_test(tests, errors_name_the_update);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
