// Plan test — for tests: a graph to write formulas into, and sessions that plan it with the passes that are named.
#pragma once
#include "base/status_test.h"
#include "base/suite_test.h"
#include "formula/ops.h"
#include "graph/rewrite.h"
#include "ops/all_ops.h"
#include "plan/pass.h"
#include "session/session.h"

static Graph *graph;
static Formula formula;

static inline void setup(void) {
    op_table_set(all_ops, all_rewrites);
    GOOD(graph_new(&graph));
    formula = (Formula){.graph = graph, .scope = STR("t")};
}

static inline void teardown(void) {
    graph_release(graph);
    status_free(formula.status);
}

// `passes`: bits of PASS_FOLD and so on.
static inline Session *session_with(uint32_t passes, int threads) {
    SessionConfig config = session_config_default();
    config.intra_threads = threads;
    config.inter_threads = 1;
    config.passes = passes;
    Session *session;
    GOOD(session_new(graph, NULL, &config, &session));
    return session;
}

// All passes, without the rewrites of that name.
static inline Session *session_without(const char *rewrite) {
    SessionConfig config = session_config_default();
    config.intra_threads = config.inter_threads = 1;
    config.rewrites_off = rewrite_bit(str_of(rewrite));
    ck_assert(config.rewrites_off);
    Session *session;
    GOOD(session_new(graph, NULL, &config, &session));
    return session;
}

// How many nodes of the op the plan runs.
static inline int planned_nodes(uint32_t passes, const StepSignature *signature, const char *op) {
    Session *session = session_with(passes, 1);
    Plan *plan;
    GOOD(session_plan(session, signature, &plan));
    int found = 0;
    for (int32_t i = 0; i < plan->n_nodes; i++)
        found += str_is(plan->nodes[i].binding.node->type->name, op);
    plan_release(plan);
    session_free(session);
    return found;
}
