// Passes test — for tests of passes: what becomes of a small graph, and what it gives.
#pragma once
#include "plan/plan_test.h"

// How many nodes of the op the plan runs.
static inline int count_of(uint32_t passes, const Output *feeds, int n_feeds, const Output *fetches, int n_fetches,
                    const char *op) {
    Session *session = session_with(passes, 1);
    StepSignature signature = {.feeds = feeds, .fetches = fetches, .n_feeds = n_feeds, .n_fetches = n_fetches};
    Plan *plan;
    GOOD(session_plan(session, &signature, &plan));
    int found = 0;
    for (int32_t i = 0; i < plan->n_nodes; i++)
        found += str_is(plan->nodes[i].binding.node->type->name, op);
    plan_release(plan);
    session_free(session);
    return found;
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
