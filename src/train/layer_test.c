// Layer tests — values worked out by hand, gradients against finite differences, sharing between learning and testing.
#include "train/net_test.h"

// Numbers between -1 and 1 that look like none in particular.
static Tensor waves(Shape shape) {
    Tensor tensor;
    GOOD(tensor_new(DT_float, shape, &tensor));
    for (int64_t i = 0; i < tensor_count(&tensor); i++)
        ((float *)tensor.data)[i] = (float)sin(1.7 * (double)i + 0.3);
    return tensor;
}

static Output constant(Tensor value) {
    Output y = formula_tensor(&net.f, &value);
    tensor_clear(&value);
    return y;
}

// The derivatives of sum(y * weights) by x, where they are asked for, against differences of values.
static void check_gradient(Output y, Output x, double tolerance) {
    Formula *f = &net.f;
    net_scope(&net, NULL);
    good_net();
    Tensor shape_of = fetch(y);
    Output total = Sum(Reshape(Mul(y, constant(waves(shape_of.shape))), Ints(-1)), Int(0), false), dx;
    tensor_clear(&shape_of);
    GOOD(autodiff_gradients(graph, (Str){0}, &total, 1, &x, 1, NULL, &dx));
    Tensor at = fetch(x), slope = fetch(dx);
    ck_assert_int_eq(tensor_count(&at), tensor_count(&slope));
    int64_t stride = tensor_count(&at) / 17 + 1;
    for (int64_t i = 0; i < tensor_count(&at); i += stride) {
        double values[2];
        for (int side = 0; side < 2; side++) {
            Tensor moved;
            GOOD(tensor_new(DT_float, at.shape, &moved));
            memcpy(moved.data, at.data, tensor_bytes(&at));
            ((float *)moved.data)[i] += side ? 1e-2f : -1e-2f;
            Tensor result = fetch_fed(total, &x, &moved);
            values[side] = *(float *)result.data;
            tensor_clear(&result);
            tensor_clear(&moved);
        }
        double expected = (values[1] - values[0]) / 2e-2, got = ((float *)slope.data)[i];
        ck_assert_msg(fabs(expected - got) <= tolerance * (1 + fabs(expected)), "element %lld: %g instead of %g",
                      (long long)i, got, expected);
    }
    tensor_clear(&at);
    tensor_clear(&slope);
}

static void check_variables(Output y, double tolerance) {
    run(net_init_all(&net));
    size_t n = net.variables.n;
    for (size_t i = 0; i < n; i++)
        if (net.variables.p[i].trainable && !net.variables.p[i].by_rows)
            check_gradient(y, net.variables.p[i].value, tolerance);
}

// ---------------------------------------- images

START_TEST(convolution_pads) {
    Output x = constant(waves(SHAPE(1, 7, 7, 2)));
    ck_assert_str_eq(shape_text(output_shape(layer_convolve(&net, "a", x, 3, 3, 3, 2, "SAME"))), "[1,4,4,3]");
    ck_assert_str_eq(shape_text(output_shape(layer_convolve(&net, "b", x, 3, 3, 3, 2, "VALID"))), "[1,3,3,3]");
    ck_assert_str_eq(shape_text(output_shape(layer_convolve(&net, "c", x, 3, 5, 1, 1, "2"))), "[1,7,11,3]");
    ck_assert_str_eq(shape_text(output_shape(layer_pool(&net, "d", "MaxPool", x, 3, 2, "SAME"))), "[1,4,4,2]");
}
END_TEST

START_TEST(convolution_gradients) {
    check_variables(layer_convolve(&net, "conv", constant(waves(SHAPE(1, 7, 7, 2))), 3, 3, 3, 2, "1"), 1e-2);
}
END_TEST

START_TEST(bias_and_dense) {
    Output x = constant(waves(SHAPE(3, 4)));
    check_variables(layer_bias(&net, "bias", layer_dense(&net, "dense", x, 5, NULL), "Tanh"), 1e-2);
    ck_assert_uint_eq(net.variables.n, 3);
}
END_TEST

START_TEST(global_average) {
    Formula *f = &net.f;
    Output x = Reshape(Range(Number(0, DT_float), Number(8, DT_float), Number(1, DT_float)), Ints(1, 2, 2, 2));
    Tensor mean = fetch(layer_global_average(&net, "average", x));  // of 0 2 4 6 and of 1 3 5 7
    ck_assert_double_eq(((float *)mean.data)[0], 3);
    ck_assert_double_eq(((float *)mean.data)[1], 4);
    tensor_clear(&mean);
}
END_TEST

START_TEST(neighbours_divide) {
    Formula *f = &net.f;
    Output x = Reshape(Range(Number(1, DT_float), Number(4, DT_float), Number(1, DT_float)), Ints(1, 1, 1, 3));
    Tensor y = fetch(layer_lrn(&net, "lrn", x, 1, 2, 0.5, 0.5));
    ck_assert_double_eq_tol(((float *)y.data)[0], 1 / sqrt(2 + 0.5 * 5), 1e-5);
    ck_assert_double_eq_tol(((float *)y.data)[1], 2 / sqrt(2 + 0.5 * 14), 1e-5);
    tensor_clear(&y);
}
END_TEST

START_TEST(normalises) {
    Formula *f = &net.f;
    Output x = constant(waves(SHAPE(2, 3, 3, 2)));
    Output y = layer_batch_norm(&net, "norm", x, NULL);
    Output loss = Mean(Reshape(y, Ints(-1)), Int(0), false);
    Optimizer descent = optimizer_of(OPTIMIZER_GRADIENT_DESCENT);
    check_variables(y, 1e-2);
    ck_assert_double_eq_tol(number(loss), 0, 1e-5);
    ck_assert_double_eq_tol(number(Mean(Reshape(Square(y), Ints(-1)), Int(0), false)), 1, 5e-3);  // but for epsilon
    Node *train = optimizer_minimize(&net, &descent, Number(0, DT_float), loss, NULL);
    net.testing = true;
    Output tested = layer_batch_norm(&net, "norm", x, NULL);
    ck_assert_uint_eq(net.variables.n, 4);
    run(net_init_all(&net));
    for (int i = 0; i < 1000; i++)
        run(train);
    Tensor a = fetch(y), b = fetch(tested);  // the variance that is kept is that of the population: 18/17 of the
                                             // batch's
    for (int i = 0; i < 36; i++)
        ck_assert_double_eq_tol(((float *)a.data)[i], ((float *)b.data)[i], 0.08);
    tensor_clear(&a);
    tensor_clear(&b);
}
END_TEST

// ---------------------------------------- sequences

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

// One unit, one feature, two steps, by hand.
START_TEST(lstm_remembers) {
    Formula *f = &net.f;
    Output x = Reshape(Range(Number(1, DT_float), Number(3, DT_float), Number(1, DT_float)), Ints(2, 1, 1));
    Output state[2] = {NONE, NONE};
    Output y = layer_lstm(&net, "lstm", x, 1, state);
    run(net_init_all(&net));
    Tensor w = fetch(net_value(&net, 0)), u = fetch(net_value(&net, 1)), b = fetch(net_value(&net, 2)), all = fetch(y);
    const float *wp = w.data, *up = u.data, *bp = b.data;
    ck_assert_double_eq(bp[2], 1);
    double h = 0, c = 0;
    for (int t = 0; t < 2; t++) {
        double gate[4];
        for (int i = 0; i < 4; i++)
            gate[i] = (t + 1.0) * (double)wp[i] + h * (double)up[i] + (double)bp[i];
        c = sigmoid(gate[2]) * c + sigmoid(gate[0]) * tanh(gate[1]);
        h = sigmoid(gate[3]) * tanh(c);
        ck_assert_double_eq_tol(((float *)all.data)[t], h, 1e-5);
    }
    ck_assert_double_eq_tol(number(state[0]), h, 1e-5);
    ck_assert_double_eq_tol(number(state[1]), c, 1e-5);
    Tensor *const used[] = {&w, &u, &b, &all};
    for (int i = 0; i < 4; i++)
        tensor_clear(used[i]);
}
END_TEST

START_TEST(lstm_gradients) {
    Output state[2] = {NONE, NONE}, x = constant(waves(SHAPE(3, 2, 4)));
    check_variables(layer_lstm(&net, "lstm", x, 3, state), 1e-2);
}
END_TEST

// Only the rows that were looked at change; one that came twice changes twice as much.
START_TEST(embedding_changes_its_rows) {
    Formula *f = &net.f;
    Output ids = Ints(2, 0, 2);
    Output loss = Sum(Reshape(layer_embedding(&net, "words", ids, 4, 3), Ints(-1)), Int(0), false);
    Optimizer descent = optimizer_of(OPTIMIZER_GRADIENT_DESCENT);
    Node *train = optimizer_minimize(&net, &descent, Number(0.5, DT_float), loss, NULL);
    run(net_init_all(&net));
    Tensor before = fetch(net_value(&net, 0));
    run(train);
    Tensor after = fetch(net_value(&net, 0));
    const double moved[] = {0.5, 0, 1, 0};
    for (int i = 0; i < 12; i++)
        ck_assert_double_eq_tol(((float *)before.data)[i] - ((float *)after.data)[i], moved[i / 3], 1e-6);
    tensor_clear(&before);
    tensor_clear(&after);
}
END_TEST

// Without the session's state the rows come from a constant.
START_TEST(embedding_freezes) {
    Formula *f = &net.f;
    Output rows = layer_embedding(&net, "words", Ints(2, 0, 2), 4, 3);
    run(net_init_all(&net));
    OutputList reads = {0};
    GOOD(freeze_reads(graph, &rows, 1, &reads));
    ck_assert_uint_eq(reads.n, 1);
    Tensor table = fetch(reads.p[0]), before = fetch(rows), after;
    Graph *frozen;
    GOOD(freeze_write(graph, &rows, 1, &reads, &table, &frozen));
    Session *other;
    SessionConfig config = session_config_default();
    GOOD(session_new(frozen, NULL, &config, &other));
    Output there = {graph_find(frozen, rows.node->name), 0};
    StepSignature signature = {.fetches = &there, .n_fetches = 1};
    GOOD(session_run(other, &signature, &run_settings_default, NULL, &after));
    ck_assert_int_eq(memcmp(before.data, after.data, tensor_bytes(&before)), 0);
    session_free(other);
    graph_release(frozen);
    vec_clear(&reads);
    Tensor *const used[] = {&table, &before, &after};
    for (int i = 0; i < 3; i++)
        tensor_clear(used[i]);
}
END_TEST

// What each rule makes of rows is what it makes of the same gradient in full.
START_TEST(rows_are_like_all) {
    float results[2][12];
    for (int way = 0; way < 2; way++) {
        if (way) {
            teardown();
            setup();
        }
        Formula *f = &net.f;
        Output table, rows, ids = Ints(2, 0, 2);
        int w = net_variable(&net, "table", constant(waves(SHAPE(4, 3))), true);
        table = net_value(&net, w);
        net.variables.p[w].by_rows = !way;
        Output hot = OpWith("OneHot", ATTRS(INT_ATTR("axis", -1)), ids, Int(4), Number(1, DT_float),
                            Number(0, DT_float));
        rows = way ? MatMul(hot, table, false, false)
                   : OpWith("ResourceGather", ATTRS(TYPE_ATTR("dtype", DT_float)), net.variables.p[w].handle, ids);
        Output loss = Sum(Reshape(Square(rows), Ints(-1)), Int(0), false);
        Optimizer rule = optimizer_of((OptimizerKind)_i);
        Node *train = optimizer_minimize(&net, &rule, Number(0.1, DT_float), loss, &(Clip){.value = 100});
        run(net_init_all(&net));
        for (int i = 0; i < 3; i++)
            run(train);
        Tensor after = fetch(net_value(&net, w));
        memcpy(results[way], after.data, sizeof results[way]);
        tensor_clear(&after);
    }
    for (int i = 0; i < 12; i++)
        ck_assert_double_eq_tol(results[0][i], results[1][i], 1e-5);
}
END_TEST

// ---------------------------------------- a choice of classes

// With very many samples of few classes the estimate is the loss over all of them.
START_TEST(sampled_is_full_in_the_end) {
    Formula *f = &net.f;
    enum { CLASSES = 7 };
    Output x = constant(waves(SHAPE(5, 3))), labels = Ints(0, 3, 6, 2, 3);
    Output sampled = loss_sampled_softmax(&net, "out", x, labels, CLASSES, 40000);
    net.testing = true;
    Output full = loss_sampled_softmax(&net, "out", x, labels, CLASSES, 40000);
    ck_assert_uint_eq(net.variables.n, 2);
    run(net_init_all(&net));
    ck_assert_double_eq_tol(number(sampled), number(full), 0.03);
    ck_assert_double_lt(number(full), 4);
}
END_TEST

START_TEST(estimates_noise_apart) {
    Output x = constant(waves(SHAPE(5, 3)));
    Formula *f = &net.f;
    Output labels = Ints(0, 3, 6, 2, 3);
    Output loss = loss_nce(&net, "out", x, labels, 100, 8);
    Optimizer adagrad = optimizer_of(OPTIMIZER_ADAGRAD);
    Node *train = optimizer_minimize(&net, &adagrad, Number(0.5, DT_float), loss, NULL);
    run(net_init_all(&net));
    double before = number(loss);
    for (int i = 0; i < 300; i++)
        run(train);
    ck_assert_double_lt(number(loss), before / 2);
}
END_TEST

START_TEST(names_what_is_wrong) {
    Formula *f = &net.f;
    Output state[2] = {NONE, NONE};
    layer_lstm(&net, "memory", Ints(1, 2), 3, state);
    ck_assert_int_eq(status_code(net.f.status), INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(status_message(net.f.status), "memory"));
    ck_assert_ptr_null(state[0].node);
}
END_TEST

// ---------------------------------------- sizes that are none

static void refused(const char *words) {
    ck_assert_ptr_nonnull(net.f.status);
    ck_assert_int_eq(status_code(net.f.status), INVALID_ARGUMENT);
    ck_assert_msg(strstr(status_message(net.f.status), words) != NULL, "%s", status_message(net.f.status));
    status_free(net.f.status);
    net.f.status = NULL;
}

START_TEST(sizes) {
    Formula *f = &net.f;
    Output rows = constant(waves(SHAPE(2, 3))), images = constant(waves(SHAPE(1, 4, 4, 2))),
        words = constant(waves(SHAPE(2, 1, 3)));
    Output labels = Ints(0, 1), state[2] = {NONE, NONE};
    layer_dense(&net, "d", rows, 0, NULL);
    refused("layer d: the number of units must be above 0, got 0");
    layer_dense(&net, "d", rows, -4, NULL);
    refused("got -4");
    layer_conv(&net, "c", images, 0, 3, 1, NULL);
    refused("filters");
    layer_conv(&net, "c", images, 4, 0, 1, NULL);
    refused("height");
    layer_conv(&net, "c", images, 4, 3, 0, NULL);
    refused("stride");
    layer_convolve(&net, "c", images, 4, 3, -1, 1, "SAME");
    refused("width");
    layer_pool(&net, "p", "MaxPool", images, 0, 1, "VALID");
    refused("window");
    layer_pool(&net, "p", "AvgPool", images, 2, 0, "VALID");
    refused("stride");
    layer_embedding(&net, "e", labels, 0, 4);
    refused("rows");
    layer_embedding(&net, "e", labels, 4, 0);
    refused("width");
    layer_lstm(&net, "l", words, 0, state);
    refused("units");
    loss_sampled_softmax(&net, "s", rows, labels, 0, 2);
    refused("classes");
    loss_sampled_softmax(&net, "s", rows, labels, 5, 0);
    refused("samples");
    loss_nce(&net, "s", rows, labels, 5, 0);
    refused("samples");
    layer_all_logits(&net, "s", rows, 0);
    refused("classes");
    ck_assert_uint_eq(net.variables.n, 0);
}
END_TEST

START_TEST(nothing_to_learn) {
    Formula *f = &net.f;
    Optimizer optimizer = optimizer_of(OPTIMIZER_GRADIENT_DESCENT);
    Output x = constant(waves(SHAPE(2))), loss = Sum(x, Int(0), false), rate = Number(0.1, DT_float);
    ck_assert_ptr_null(optimizer_minimize(&net, &optimizer, rate, loss, NULL));
    ck_assert_ptr_nonnull(net.f.status);
    ck_assert_int_eq(status_code(net.f.status), FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(status_message(net.f.status), "nothing to learn"));
    status_free(net.f.status);
    net.f.status = NULL;
}
END_TEST

int main(void) {
    Suite *suite = suite_create("layer");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, convolution_pads);
    tcase_add_test(tests, convolution_gradients);
    tcase_add_test(tests, bias_and_dense);
    tcase_add_test(tests, global_average);
    tcase_add_test(tests, neighbours_divide);
    tcase_add_test(tests, normalises);
    tcase_add_test(tests, lstm_remembers);
    tcase_add_test(tests, lstm_gradients);
    tcase_add_test(tests, embedding_changes_its_rows);
    tcase_add_test(tests, embedding_freezes);
    tcase_add_loop_test(tests, rows_are_like_all, 0, OPTIMIZERS);
    tcase_add_test(tests, sampled_is_full_in_the_end);
    tcase_add_test(tests, estimates_noise_apart);
    tcase_add_test(tests, names_what_is_wrong);
    tcase_add_test(tests, sizes);
    tcase_add_test(tests, nothing_to_learn);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
