// Net test — a graph, a session and a net for the tests of this folder, and how to look at what they calculate.
#pragma once
#include <math.h>

#include "base/status_test.h"
#include "base/suite_test.h"
#include "formula/ops.h"
#include "ops/all_ops.h"
#include "session/session.h"
#include "train/freeze.h"
#include "train/optimizer.h"

static Graph *graph;
static Session *session;
static Net net;

static inline void setup(void) {
    op_table_set(all_ops, all_rewrites);
    GOOD(graph_new(&graph));
    net_init(&net, graph, 1);
    SessionConfig config = session_config_default();
    config.intra_threads = config.inter_threads = 1;
    GOOD(session_new(graph, NULL, &config, &session));
}

static inline void teardown(void) {
    session_free(session);
    net_clear(&net);
    graph_release(graph);
}

static inline void good_net(void) {
    ck_assert_msg(!net.f.status, "%s (%s)", status_message(net.f.status), status_where(net.f.status));
}

static inline void run(Node *target) {
    good_net();
    StepSignature signature = {.targets = &target, .n_targets = 1};
    GOOD(session_run(session, &signature, &run_settings_default, NULL, NULL));
}

// y, a tensor of floats, where `x` is fed.
static inline Tensor fetch_fed(Output y, const Output *x, const Tensor *value) {
    good_net();
    Tensor result;
    StepSignature signature = {.feeds = x, .n_feeds = x != NULL, .fetches = &y, .n_fetches = 1};
    GOOD(session_run(session, &signature, &run_settings_default, &value, &result));
    return result;
}

static inline Tensor fetch(Output y) {
    return fetch_fed(y, NULL, NULL);
}

static inline double number(Output y) {
    Tensor value = fetch(y);
    ck_assert_int_eq(tensor_count(&value), 1);
    double x = value.dtype == DT_double ? *(double *)value.data : *(float *)value.data;
    tensor_clear(&value);
    return x;
}
