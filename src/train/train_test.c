// Train tests — each optimizer as formulas and as its fused op, schedules, clipping, first values, layers, freezing.
#include "train/net_test.h"

static Output floats(int n, const float *values) {
    Tensor tensor;
    GOOD(tensor_new(DT_float, SHAPE(n), &tensor));
    memcpy(tensor.data, values, (size_t)n * sizeof(float));
    Output y = formula_tensor(&net.f, &tensor);
    tensor_clear(&tensor);
    return y;
}

// ---------------------------------------- optimizers

enum { WAY_FORMULA, WAY_FUSED, WAY_FUSED_REF, WAY_FORMULA_REF, WAYS };

// The variable after some steps down a bowl.
static void descend(OptimizerKind kind, bool nesterov, int way, float out[4]) {
    setup();
    net.refs = way == WAY_FUSED_REF || way == WAY_FORMULA_REF;
    Formula *f = &net.f;
    int w = net_variable(&net, "w", floats(4, (float[]){1, -2, 3, 0.5f}), true);
    Output target = floats(4, (float[]){0.5f, 1, -1, 0.25f});
    Output loss = Sum(Mul(Square(Sub(net_value(&net, w), target)), floats(4, (float[]){1, 2, 0.5f, 3})), Int(0), false);
    Optimizer optimizer = optimizer_of(kind);
    optimizer.fused = way == WAY_FUSED || way == WAY_FUSED_REF;
    optimizer.nesterov = nesterov;
    Node *train = optimizer_minimize(&net, &optimizer, Number(0.05, DT_float), loss, NULL);
    Node *init = net_init_all(&net);
    run(init);
    double before = number(loss);
    for (int i = 0; i < 7; i++)
        run(train);
    ck_assert_double_lt(number(loss), before);
    Tensor value = fetch(net_value(&net, w));
    memcpy(out, value.data, 4 * sizeof(float));
    tensor_clear(&value);
    teardown();
}

static void same_ways(OptimizerKind kind, bool nesterov) {
    float ways[WAYS][4];
    for (int way = 0; way < WAYS; way++)
        descend(kind, nesterov, way, ways[way]);
    for (int way = 1; way < WAYS; way++)
        for (int i = 0; i < 4; i++)
            ck_assert_msg(fabsf(ways[way][i] - ways[0][i]) <= 1e-6f * (1 + fabsf(ways[0][i])),
                          "%s, way %d: %g instead of %g", optimizer_name(kind), way, (double)ways[way][i],
                          (double)ways[0][i]);
}

START_TEST(fused_is_formula) {
    same_ways((OptimizerKind)_i, false);
}
END_TEST

START_TEST(nesterov_too) {
    same_ways(OPTIMIZER_MOMENTUM, true);
}
END_TEST

START_TEST(adam_takes_the_known_first_step) {  // whatever the gradient, the first step is as long as the rate
    Formula *f = &net.f;
    int w = net_variable(&net, "w", Number(3, DT_float), true);
    Optimizer adam = optimizer_of(OPTIMIZER_ADAM);
    Node *train = optimizer_minimize(&net, &adam, Number(0.1, DT_float),
                                     Mul(Scalar(7, net_value(&net, w)), net_value(&net, w)), NULL);
    run(net_init_all(&net));
    run(train);
    ck_assert_double_eq_tol(number(net_value(&net, w)), 2.9, 1e-5);
}
END_TEST

// ---------------------------------------- schedules, clipping

START_TEST(schedules) {
    Formula *f = &net.f;
    Output ten = Int64(10);
    ck_assert_double_eq_tol(number(schedule_exponential(&net, 0.1, ten, 4, 0.5, false)), 0.1 * pow(0.5, 2.5), 1e-7);
    ck_assert_double_eq_tol(number(schedule_exponential(&net, 0.1, ten, 4, 0.5, true)), 0.025, 1e-7);
    ck_assert_double_eq_tol(number(schedule_polynomial(&net, 1, ten, 20, 0.5, 2)), 0.5 * 0.25 + 0.5, 1e-6);
    ck_assert_double_eq_tol(number(schedule_polynomial(&net, 1, ten, 5, 0.5, 2)), 0.5, 1e-6);
    ck_assert_double_eq_tol(number(schedule_cosine(&net, 1, ten, 20, 0)), 0.5, 1e-6);
    ck_assert_double_eq_tol(number(schedule_inverse_time(&net, 1, ten, 5, 0.5)), 0.5, 1e-6);
    const int64_t bounds[] = {5, 10, 20};
    const double rates[] = {4, 3, 2, 1};
    ck_assert_double_eq(number(schedule_piecewise(&net, ten, bounds, rates, 3)), 3);
    ck_assert_double_eq(number(schedule_piecewise(&net, Int64(11), bounds, rates, 3)), 2);
    ck_assert_double_eq(number(schedule_piecewise(&net, Int64(21), bounds, rates, 3)), 1);
    ck_assert_double_eq_tol(number(schedule_warmup(&net, Number(2, DT_float), Int64(4), 10)), 1, 1e-6);
    ck_assert_double_eq_tol(number(schedule_warmup(&net, Number(2, DT_float), Int64(40), 10)), 2, 1e-6);
}
END_TEST

START_TEST(clips) {
    Formula *f = &net.f;
    Output x = floats(2, (float[]){3, -4});
    ck_assert_double_eq(number(Sum(clip_value(&net, x, 2), Int(0), false)), 0);
    ck_assert_double_eq_tol(number(Sum(Square(clip_norm(&net, x, 2)), Int(0), false)), 4, 1e-5);
    ck_assert_double_eq_tol(number(Sum(Square(clip_norm(&net, x, 9)), Int(0), false)), 25, 1e-5);
    Output xs[] = {x, NONE, floats(1, (float[]){12})};
    ck_assert_double_eq_tol(number(clip_global_norm(&net, xs, 3, 6.5)), 13, 1e-5);
    ck_assert_double_eq_tol(number(Reshape(xs[2], NoInts)), 6, 1e-5);
    ck_assert_ptr_null(xs[1].node);
}
END_TEST

// ---------------------------------------- first values

static void check_random(Output y, double deviation, double limit) {
    Tensor value = fetch(y);
    int64_t n = tensor_count(&value);
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = ((float *)value.data)[i];
        ck_assert_double_le(fabs(x), limit * 1.0001);
        sum += x;
        squares += x * x;
    }
    ck_assert_double_eq_tol(sum / (double)n, 0, 0.05 * deviation);
    ck_assert_double_eq_tol(sqrt(squares / (double)n), deviation, 0.03 * deviation);
    tensor_clear(&value);
}

START_TEST(first_values) {
    Shape dense = SHAPE(300, 100), conv = SHAPE(3, 3, 50, 100);
    double glorot = sqrt(6.0 / 400), he = sqrt(2.0 / 450);
    check_random(initial_glorot_uniform(&net, dense, DT_float), glorot / sqrt(3), glorot);
    check_random(initial_glorot_normal(&net, dense, DT_float), sqrt(2.0 / 400), 2.3 * sqrt(2.0 / 400));
    check_random(initial_he_normal(&net, conv, DT_float), he, 2.3 * he);
    check_random(initial_he_uniform(&net, conv, DT_float), he, he * sqrt(3));
    check_random(initial_truncated_normal(&net, dense, DT_float, 0.5), 0.5 * 0.8796, 1);
    Output a = initial_glorot_uniform(&net, SHAPE(4), DT_float), b = initial_glorot_uniform(&net, SHAPE(4), DT_float);
    Tensor x = fetch(a), y = fetch(b);
    ck_assert_int_ne(memcmp(x.data, y.data, 16), 0);
    tensor_clear(&x);
    tensor_clear(&y);
}
END_TEST

// ---------------------------------------- a network

static Output grid(void) {
    Formula *f = &net.f;
    return Reshape(floats(8, (float[]){0, 0, 0, 1, 1, 0, 1, 1}), Ints(4, 2));
}

START_TEST(learns_exclusive_or) {
    Formula *f = &net.f;
    Output labels = Cast(floats(4, (float[]){0, 1, 1, 0}), DT_int32);
    Output hidden = layer_dense(&net, "hidden", grid(), 16, "Tanh");
    Output logits = layer_dense(&net, "logits", hidden, 2, NULL);
    Output loss = loss_softmax(&net, logits, labels), accuracy = net_accuracy(&net, logits, labels);
    Optimizer adam = optimizer_of(OPTIMIZER_ADAM);
    Node *train = optimizer_minimize(&net, &adam, Number(0.05, DT_float), loss, &(Clip){.global_norm = 1});
    run(net_init_all(&net));
    for (int i = 0; i < 200; i++)
        run(train);
    ck_assert_double_lt(number(loss), 0.05);
    ck_assert_double_eq(number(accuracy), 1);
    ck_assert_ptr_nonnull(graph_find(graph, STR("hidden/kernel")));

    // The same answer without the session's state.
    OutputList reads = {0};
    Tensor values[16], before = fetch(logits), after;
    GOOD(freeze_reads(graph, &logits, 1, &reads));
    ck_assert_uint_eq(reads.n, 4);
    for (size_t i = 0; i < reads.n; i++)
        values[i] = fetch(reads.p[i]);
    Graph *frozen;
    GOOD(freeze_write(graph, &logits, 1, &reads, values, &frozen));
    ck_assert_ptr_null(graph_find(frozen, STR("hidden/kernel")));
    Session *other;
    SessionConfig config = session_config_default();
    GOOD(session_new(frozen, NULL, &config, &other));
    Output there = {graph_find(frozen, logits.node->name), 0};
    StepSignature signature = {.fetches = &there, .n_fetches = 1};
    GOOD(session_run(other, &signature, &run_settings_default, NULL, &after));
    ck_assert_int_eq(memcmp(before.data, after.data, tensor_bytes(&before)), 0);
    session_free(other);
    graph_release(frozen);
    for (size_t i = 0; i < reads.n; i++)
        tensor_clear(&values[i]);
    vec_clear(&reads);
    tensor_clear(&before);
    tensor_clear(&after);
}
END_TEST

START_TEST(losses) {
    Formula *f = &net.f;
    Output x = floats(2, (float[]){1, -3}), t = floats(2, (float[]){0, 1});
    ck_assert_double_eq_tol(number(loss_squared(&net, x, t)), 8.5, 1e-6);
    ck_assert_double_eq_tol(number(loss_absolute(&net, x, t)), 2.5, 1e-6);
    ck_assert_double_eq_tol(number(loss_huber(&net, x, t, 2)), (0.5 + 6) / 2, 1e-6);
    double sigmoid = (log1p(exp(1)) + log1p(exp(3))) / 2;
    ck_assert_double_eq_tol(number(loss_sigmoid(&net, x, t)), sigmoid, 1e-5);
    Output logits = Reshape(floats(4, (float[]){0, 1, 2, 0}), Ints(2, 2)),
        classes = Cast(floats(2, (float[]){1, 0}), DT_int32);
    Output chances = Reshape(floats(4, (float[]){0, 1, 0.25f, 0.75f}), Ints(2, 2));
    double both = log1p(exp(-1)) + log1p(exp(-2));
    ck_assert_double_eq_tol(number(loss_softmax(&net, logits, classes)), both / 2, 1e-5);
    ck_assert_double_eq_tol(number(loss_softmax_dense(&net, logits, chances)), (both + 0.75 * 2) / 2, 1e-5);
    ck_assert_ptr_null(loss_weights(&net, 0.5).node);
    net_variable(&net, "weights", initial_constant(&net, SHAPE(3, 4), DT_float, 2), true);
    net_variable(&net, "moments", initial_constant(&net, SHAPE(5), DT_float, 2), false);
    run(net_init_all(&net));
    ck_assert_double_eq_tol(number(loss_weights(&net, 0.5)), 0.5 * 12 * 4 / 2, 1e-5);
    Output dropped = layer_dropout(&net, "dropout", initial_constant(&net, SHAPE(10000), DT_float, 1),
                                   Number(0.25, DT_float));
    ck_assert_double_eq_tol(number(Mean(dropped, Int(0), false)), 1, 0.03);
}
END_TEST

START_TEST(names_what_is_wrong) {
    layer_conv(&net, "conv1", grid(), 8, 3, 1, "Relu");
    ck_assert_ptr_nonnull(net.f.status);
    ck_assert_int_eq(status_code(net.f.status), INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(status_message(net.f.status), "conv1"));
    ck_assert_ptr_null(net_init_all(&net));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("train");
    TCase *alone = tcase_create("optimizers");
    tcase_add_loop_test(alone, fused_is_formula, 0, OPTIMIZERS);
    tcase_add_test(alone, nesterov_too);
    suite_add_tcase(suite, alone);
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, adam_takes_the_known_first_step);
    tcase_add_test(tests, schedules);
    tcase_add_test(tests, clips);
    tcase_add_test(tests, first_values);
    tcase_add_test(tests, learns_exclusive_or);
    tcase_add_test(tests, losses);
    tcase_add_test(tests, names_what_is_wrong);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
