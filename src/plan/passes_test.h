// Passes test — for tests of passes: what becomes of a small graph, and what it gives.
#pragma once
#include <math.h>

#include "plan/plan_test.h"

#define INTS_ATTR(name, ...) \
    {(name), {.kind = ATTR_INT, .is_list = true, .n = 4, .is = (int64_t[]){__VA_ARGS__}}}
#define TEXT_ATTR(name, text) {(name), ATTR_OF_STRING(STR(text))}
#define TEXT_OF_ATTR(name, text) {(name), ATTR_OF_STRING(str_of(text))}

static inline int count_of(uint32_t passes, const Output *feeds, int n_feeds, const Output *fetches, int n_fetches,
                           const char *op) {
    StepSignature signature = {.feeds = feeds, .fetches = fetches, .n_feeds = n_feeds, .n_fetches = n_fetches};
    return planned_nodes(passes, &signature, op);
}

static inline Output placeholder(Shape shape) {
    Formula *f = &formula;
    AttrValue value = {.kind = ATTR_SHAPE, .shape = &shape};
    return formula_op(f, "Placeholder", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float), {"shape", value}));
}

static inline void run(uint32_t passes, Output feed, const Tensor *value, Output fetch, Tensor *out) {
    Session *session = session_with(passes, 1);
    StepSignature signature = {.feeds = &feed, .fetches = &fetch, .n_feeds = 1, .n_fetches = 1};
    GOOD(session_run(session, &signature, &run_settings_default, &value, out));
    session_free(session);
}

static inline Output constant_ramp(Shape shape, float step) {
    Tensor tensor;
    GOOD(tensor_new(DT_float, shape, &tensor));
    for (int64_t i = 0; i < tensor_count(&tensor); i++)
        ((float *)tensor.data)[i] = (float)(i * 7 % 23 - 11) * step;
    Output out = formula_tensor(&formula, &tensor);
    tensor_clear(&tensor);
    return out;
}

// Runs with and without the passes: the same, but for the last bits.
static inline void check_alike(uint32_t passes, Output x, Shape shape, Output y) {
    Tensor value, plain, fused;
    GOOD(formula.status);
    GOOD(tensor_new(DT_float, shape, &value));
    for (int64_t i = 0; i < tensor_count(&value); i++)
        ((float *)value.data)[i] = (float)(i % 101) / 50 - 1;
    run(0, x, &value, y, &plain);
    run(passes, x, &value, y, &fused);
    ck_assert(shape_equal(&plain.shape, &fused.shape));
    for (int64_t i = 0; i < tensor_count(&plain); i++) {
        float a = ((float *)plain.data)[i], b = ((float *)fused.data)[i];
        if (!(fabsf(a - b) <= 1e-5f * (1 + fabsf(a))))
            ck_abort_msg("element %d: %g and %g", (int)i, (double)a, (double)b);
    }
    tensor_clear(&plain);
    tensor_clear(&fused);
    tensor_clear(&value);
}

// The passes change no bit of y.
static inline void expect_same_bits(uint32_t passes, Output x, const Tensor *value, Output y) {
    Tensor plain, passed;
    run(0, x, value, y, &plain);
    run(passes, x, value, y, &passed);
    ck_assert_int_eq(plain.dtype, passed.dtype);
    ck_assert(shape_equal(&plain.shape, &passed.shape));
    ck_assert_mem_eq(plain.data, passed.data, tensor_bytes(&plain));
    tensor_clear(&plain);
    tensor_clear(&passed);
}

// Numbers from -2 to 2 with NaN, infinities and zeros of both signs among them.
static inline Tensor odd_numbers(DType dtype, Shape shape) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, 0, -0.0};
    Tensor value;
    GOOD(tensor_new(dtype, shape, &value));
    for (int64_t i = 0; i < tensor_count(&value); i++) {
        double x = i % 7 == 0 ? odd[i / 7 % 5] : (double)(i % 97) / 24 - 2;
        if (dtype == DT_float)
            ((float *)value.data)[i] = (float)x;
        else
            ((double *)value.data)[i] = x;
    }
    return value;
}

static inline Plan *plan_of(Session *session, Output feed, const Output *fetches, int n_fetches) {
    StepSignature signature = {.feeds = &feed, .fetches = fetches, .n_feeds = 1, .n_fetches = n_fetches};
    Plan *plan;
    GOOD(session_plan(session, &signature, &plan));
    return plan;
}

static inline const Node *planned(const Plan *plan, const char *op) {
    for (int32_t i = 0; i < plan->n_nodes; i++)
        if (str_is(plan->nodes[i].binding.node->type->name, op))
            return plan->nodes[i].binding.node;
    return NULL;
}

static inline int place_of(const Plan *plan, Output edge) {
    for (int32_t i = 0; i < plan->n_nodes; i++)
        if (plan->nodes[i].binding.node->origin == edge.node)
            return i;
    return -1;
}
