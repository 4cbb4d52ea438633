// Plan test — for tests: a graph to write formulas into, and sessions that plan it with the passes that are named.
#pragma once
#include "base/status_test.h"
#include "base/suite_test.h"
#include "formula/ops.h"
#include "ops/all_ops.h"
#include "plan/pass.h"
#include "session/session.h"

static Graph *graph;
static Formula formula;

static inline void setup(void) {
    op_table_set(all_ops);
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
