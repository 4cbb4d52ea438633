// One session test — for tests of sessions: a graph to write formulas into, and a session that runs it.
#pragma once
#include <check.h>

#include "base/status_test.h"
#include "base/suite_test.h"
#include "formula/ops.h"
#include "ops/all_ops.h"
#include "session/session.h"

static Graph *graph;
static Session *session;
static Formula formula;

static inline void open_graph(void) {
    op_table_set(all_ops, all_rewrites);
    GOOD(graph_new(&graph));
    formula = (Formula){.graph = graph, .scope = STR("t")};
}

static inline void open_session_with(const SessionConfig *config) {
    GOOD(session_new(graph, NULL, config, &session));
}

static inline void close_all(void) {
    session_free(session);
    graph_release(graph);
    status_free(formula.status);
}
