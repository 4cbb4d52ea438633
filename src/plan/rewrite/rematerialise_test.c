// Recompute tests — what is computed again for a backward pass is the same to the bit, saves memory, and only where it
// pays.
#include <check.h>
#include <string.h>

#include "autodiff/autodiff.h"
#include "plan/specialisation.h"
#include "plan/plan_test.h"

enum { ALL = BIT(PASSES) - 1, CHANNELS = 32, MOST = 16 };

static Tensor ramp(Shape shape, float step) {
    Tensor tensor;
    GOOD(tensor_new(DT_float, shape, &tensor));
    for (int64_t i = 0; i < tensor_count(&tensor); i++)
        ((float *)tensor.data)[i] = (float)(i * 7 % 23 - 11) * step;
    return tensor;
}

static Output constant(Shape shape, float step) {
    Tensor tensor = ramp(shape, step);
    Output out = formula_tensor(&formula, &tensor);
    tensor_clear(&tensor);
    return out;
}

// ---------------------------------------- a net of normalised convolutions

typedef struct {
    Output x, y;
    Output filters[MOST], gradients[MOST];
    int n;
    bool training, pools;
    const char *format;
} Net;

static Output layer(Net *net, Output x) {
    Formula *f = &formula;
    static const int64_t ones[] = {1, 1, 1, 1};
    AttrValue strides = {.kind = ATTR_INT, .is_list = true, .n = 4, .is = (int64_t *)ones};
    FormulaAttr padding = {"padding", ATTR_OF_STRING(STR("SAME"))};
    FormulaAttr format = {"data_format", ATTR_OF_STRING(str_of(net->format))};
    Output filter = constant(SHAPE(5, 5, CHANNELS, CHANNELS), 0.002f + 0.001f * (float)net->n);
    Output given = constant(SHAPE(net->training ? 0 : CHANNELS), 0), spread = given;
    if (!net->training)
        spread = Add(given, Scalar(1, given));
    net->filters[net->n++] = filter;
    Output c = OpWith("Conv2D", ATTRS({"strides", strides}, padding, format), x, filter);
    static const int64_t threes[] = {1, 3, 3, 1};
    AttrValue ksize = {.kind = ATTR_INT, .is_list = true, .n = 4, .is = (int64_t *)threes};
    if (net->pools)
        return OpWith("MaxPool", ATTRS({"ksize", ksize}, {"strides", strides}, padding), Op("Relu", c));
    return OpWith("FusedBatchNormV3", ATTRS(BOOL_ATTR("is_training", net->training), format), c,
                  constant(SHAPE(CHANNELS), 0.1f), constant(SHAPE(CHANNELS), -0.02f), given, spread);
}

// Layers in a row; with `sums`, every second one adds what came before its pair.
static void build(Net *net, int layers, bool sums) {
    Formula *f = &formula;
    AttrValue shape = {.kind = ATTR_SHAPE, .shape = &SHAPE(-1, 32, 32, CHANNELS)};
    net->format = net->format ? net->format : "NHWC";
    net->x = formula_op(f, "Placeholder", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float), {"shape", shape}));
    Output before = net->x;
    net->y = Neg(net->x);
    for (int i = 0; i < layers; i++) {
        Output norm = layer(net, net->y);
        net->y = net->pools ? norm : Op("Relu", sums && i % 2 ? Add(norm, before) : norm);
        before = i % 2 ? net->y : before;
    }
    GOOD(f->status);
}

static void differentiate(Net *net, Output loss, const Output *dy) {
    GOOD(formula.status);
    GOOD(autodiff_gradients(graph, STR("g"), &loss, 1, net->filters, net->n, dy, net->gradients));
}

static Specialisation *fixed_of(Session *session, const Net *net, int n_more, const Output *more, const Tensor *fed,
                       Plan **out_plan) {
    Output fetches[2 * MOST];
    for (int i = 0; i < net->n; i++)
        fetches[i] = net->gradients[i];
    for (int i = 0; i < n_more; i++)
        fetches[net->n + i] = more[i];
    StepSignature step = {.feeds = &net->x, .fetches = fetches, .n_feeds = 1, .n_fetches = net->n + n_more};
    Specialisation *specialisation;
    GOOD(session_plan(session, &step, out_plan));
    GOOD(specialisation_make(*out_plan, &fed, NULL, &specialisation));
    return specialisation;
}

static void run(Session *session, const Net *net, const Tensor *fed, Tensor *out) {
    StepSignature step = {.feeds = &net->x, .fetches = net->gradients, .n_feeds = 1, .n_fetches = net->n};
    GOOD(session_run(session, &step, &run_settings_default, &fed, out));
}

static void expect_same(const Net *net, Tensor *want, Tensor *got) {
    for (int i = 0; i < net->n; i++) {
        ck_assert_msg(!memcmp(want[i].data, got[i].data, tensor_bytes(&want[i])), "gradient %d", i);
        tensor_clear(&got[i]);
    }
}

static size_t bound_without(const Net *net, int threads, const Tensor *fed) {
    Plan *plan;
    Session *session = session_with(ALL & ~BIT(PASS_REMATERIALISE), threads);
    Specialisation *specialisation = fixed_of(session, net, 0, NULL, fed, &plan);
    size_t bound = specialisation->packed[HOST_MEMORY].lower_bound;
    ck_assert_int_eq(specialisation->n_recomputed, 0);
    specialisation_release(specialisation);
    plan_release(plan);
    session_free(session);
    return bound;
}

// How many values are computed again; results and the bound's gain are checked on the way.
static int recomputed(const Net *net, int64_t batch) {
    Tensor fed = ramp(SHAPE(batch, 32, 32, CHANNELS), 0.1f), want[MOST], got[MOST];
    Session *session = session_with(ALL & ~BIT(PASS_REMATERIALISE), 1);
    run(session, net, &fed, want);
    session_free(session);
    int n = 0;
    for (int threads = 1; threads <= 2; threads++) {
        Plan *plan;
        session = session_with(ALL, threads);
        Specialisation *specialisation = fixed_of(session, net, 0, NULL, &fed, &plan);
        n = specialisation->n_recomputed;
        const Packed *packed = &specialisation->packed[HOST_MEMORY];
        ck_assert_uint_eq(packed->lower_bound + specialisation->recompute_saves, bound_without(net, threads, &fed));
        ck_assert_uint_le(packed->bytes, packed->lower_bound + packed->lower_bound / 10);
        for (int turn = 0; turn < 2; turn++) {
            run(session, net, &fed, got);
            expect_same(net, want, got);
        }
        specialisation_release(specialisation);
        plan_release(plan);
        session_free(session);
    }
    for (int i = 0; i < net->n; i++)
        tensor_clear(&want[i]);
    tensor_clear(&fed);
    return n;
}

START_TEST(what_is_computed_again_is_the_same) {
    Formula *f = &formula;
    Net net = {.training = _i < 2};
    build(&net, 8, _i % 2);
    differentiate(&net, Op("L2Loss", net.y), NULL);
    ck_assert_int_ge(recomputed(&net, 8), 3);
}
END_TEST

// What a pool gave is kept neither for the filters behind it nor for its own gradient.
START_TEST(pools_are_computed_again) {
    Formula *f = &formula;
    Net net = {.pools = true};
    build(&net, 8, false);
    differentiate(&net, Op("L2Loss", net.y), NULL);
    ck_assert_int_ge(recomputed(&net, 8), 3);
    Session *session = session_with(ALL, 1);
    StepSignature step = {.feeds = &net.x, .fetches = net.gradients, .n_feeds = 1, .n_fetches = net.n};
    Plan *plan;
    GOOD(session_plan(session, &step, &plan));
    int n = 0;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const Node *node = plan->nodes[i].binding.node;
        if (!str_is(node->type->name, "MaxPoolGrad"))
            continue;
        ck_assert(str_is(node->inputs[1].node->type->name, "MaxPool"));  // its shape is all that is read
        n++;
    }
    ck_assert_int_eq(n, 8);
    plan_release(plan);
    session_free(session);
}
END_TEST

START_TEST(small_steps_keep_what_they_have) {
    Formula *f = &formula;
    Net net = {.training = true};
    build(&net, 8, false);
    differentiate(&net, Op("L2Loss", net.y), NULL);
    ck_assert_int_eq(recomputed(&net, 7), 0);
}
END_TEST

// Without a backward pass nothing is read late.
START_TEST(forward_passes_offer_nothing) {
    Net net = {.training = true};
    build(&net, 4, true);
    Session *session = session_with(ALL, 1);
    StepSignature step = {.feeds = &net.x, .fetches = &net.y, .n_feeds = 1, .n_fetches = 1};
    Plan *plan;
    GOOD(session_plan(session, &step, &plan));
    for (int32_t i = 0; i < plan->n_nodes; i++)
        ck_assert(!(plan->nodes[i].binding.op->flags & OP_RECOMPUTES));
    plan_release(plan);
    session_free(session);
}
END_TEST

// What is fetched is kept anyway.
START_TEST(what_is_fetched_is_kept) {
    Formula *f = &formula;
    Net net = {.training = true};
    build(&net, 8, false);
    differentiate(&net, Op("L2Loss", net.y), NULL);
    Tensor fed = ramp(SHAPE(8, 32, 32, CHANNELS), 0.1f);
    Session *session = session_with(ALL, 1);
    Output fetched[MOST] = {0};
    int n = 0;
    for (size_t i = 0; i < graph->nodes.n; i++)
        if (graph->nodes.p[i] && str_is(graph->nodes.p[i]->type->name, "Relu"))
            fetched[n++] = (Output){graph->nodes.p[i], 0};
    Plan *plan;
    Specialisation *specialisation = fixed_of(session, &net, n, fetched, &fed, &plan);
    ck_assert_int_eq(n, 8);
    ck_assert_int_eq(specialisation->n_recomputed, 0);
    specialisation_release(specialisation);
    plan_release(plan);
    session_free(session);
    tensor_clear(&fed);
}
END_TEST

// ---------------------------------------- the rest of a step runs dynamically

// Between the passes a variable is read, which has a new shape in the second step: the backward pass then runs
// dynamically, over values that were not kept.
START_TEST(a_late_rest_finds_its_values) {
    Formula *f = &formula;
    Net net = {.training = true};
    build(&net, 8, true);
    AttrValue shape = {.kind = ATTR_SHAPE, .shape = &SHAPE(CHANNELS)};
    Output v = formula_op(f, "VariableV2", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float), {"shape", shape}));
    const FormulaAttr *unchecked = ATTRS(BOOL_ATTR("validate_shape", false));
    Node *wide = formula_op(f, "Assign", (Output[]){v, constant(SHAPE(CHANNELS), 0.2f)}, 2, unchecked).node;
    Node *narrow = formula_op(f, "Assign", (Output[]){v, constant(SHAPE(1), 0.3f)}, 2, unchecked).node;
    Output read = Identity(v), dy = Mul(net.y, read);
    GOOD(f->status);
    GOOD(node_add_control(read.node, Op("L2Loss", net.y).node));
    differentiate(&net, net.y, &dy);
    Tensor fed = ramp(SHAPE(8, 32, 32, CHANNELS), 0.1f), want[2][MOST], got[MOST];
    for (int way = 0; way < 2; way++) {
        Session *session = session_with(way ? ALL : ALL & ~BIT(PASS_REMATERIALISE), 1);
        Plan *plan;
        Specialisation *specialisation = fixed_of(session, &net, 0, NULL, &fed, &plan);
        ck_assert_int_eq(specialisation->n_recomputed > 2, way);
        specialisation_release(specialisation);
        plan_release(plan);
        for (int turn = 0; turn < 4; turn++) {
            Node *set = turn % 2 ? narrow : wide;
            StepSignature assign = {.targets = &set, .n_targets = 1};
            GOOD(session_run(session, &assign, &run_settings_default, NULL, NULL));
            run(session, &net, &fed, way || turn > 1 ? got : want[turn]);
            if (way || turn > 1)
                expect_same(&net, want[turn % 2], got);
        }
        session_free(session);
    }
    for (int i = 0; i < net.n; i++) {
        tensor_clear(&want[0][i]);
        tensor_clear(&want[1][i]);
    }
    tensor_clear(&fed);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("recompute");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, what_is_computed_again_is_the_same, 0, 4);
    tcase_add_test(tests, pools_are_computed_again);
    tcase_add_test(tests, small_steps_keep_what_they_have);
    tcase_add_test(tests, forward_passes_offer_nothing);
    tcase_add_test(tests, what_is_fetched_is_kept);
    tcase_add_test(tests, a_late_rest_finds_its_values);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
