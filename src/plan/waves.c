// Waves — see waves.h.
//
// A wave is the longest chain of started nodes (dequeues, receives) that a node waits for. A list in order of waves
// waits once for each wave instead of propagating node by node: a training step that reads from a queue keeps its
// packed memory and prepared kernels.
#include "plan/waves.h"

#include <stdlib.h>
#include <string.h>

// So many fit a word: what a node waits for is a set of started nodes, passed on by `|`.
enum { STARTS_MOST = 64 };  // so many fit a word

typedef struct {
    uint64_t before;   // BIT of the started nodes that it waits for
    int32_t wave;
    int32_t start;     // which of the started nodes it is; -1: none
    bool computed;     // it waits for a node that a step has to run
    bool early;        // a started node of its own wave waits for it, or it is one
} Standing;

// Fed values, constants and handles are there when the step begins.
static bool is_given(const Node *node) {
    return node_flow(node) == FLOW_ARG || node->value || node_op(node)->value;
}

// State that others see, other than variables and what is the step's own to read. A variable's update is ordered among
// the step's own nodes, so delaying it delays nobody else.
static bool is_seen(const Node *node) {
    const Op *op = node_op(node);
    return op->start || (node_is_stateful(node) && !op->value && !(op->update | op->replace | op->read));
}

// A Recv that is never given a dead value: who cut the graph says so.
static bool is_alive(const Node *node) {
    const AttrValue *alive = node_flow(node) == FLOW_RECV ? node_attr_find(node, "_alive") : NULL;
    return alive && alive->kind == ATTR_BOOL && alive->b;
}

// How many nodes are started; -1: among the others are some that no list runs, or not beside them. What blocks its
// thread (files) would hold up the wait for the others.
static int count_starts(Node *const *order, size_t n) {
    int starts = 0;
    for (size_t i = 0; i < n; i++) {
        const Op *op = node_op(order[i]);
        Flow flow = node_flow(order[i]);
        const Device *device = order[i]->placed;
        bool runs = flow == FLOW_NONE || flow == FLOW_ARG || flow == FLOW_SEND || is_alive(order[i]);
        if (!op || !runs || (op->flags & OP_BLOCKS) || !device)
            return -1;
        starts += op->start != NULL;
    }
    return starts <= STARTS_MOST ? starts : -1;
}

// Forwards for waves, then backwards for who is early: the order is topological, so each needs one walk.
static void find_waves(Node *const *order, size_t n, Standing *standings) {
    int32_t starts = 0;
    for (size_t i = 0; i < n; i++) {
        order[i]->mark = (int)i;
        standings[i].start = node_op(order[i])->start ? starts++ : -1;
    }
    for (size_t i = 0; i < n; i++) {
        const Standing *from = &standings[i];
        uint64_t before = from->before | (from->start >= 0 ? UINT64_C(1) << from->start : 0);
        int32_t wave = from->wave + (from->start >= 0);
        bool computed = from->computed || !is_given(order[i]);
        for (size_t u = 0; u < order[i]->uses.n; u++) {
            int to = order[i]->uses.p[u].node->mark;
            if (to < 0)
                continue;
            standings[to].before |= before;
            standings[to].wave = wave > standings[to].wave ? wave : standings[to].wave;
            standings[to].computed |= computed;
        }
    }
    for (size_t i = n; i-- > 0;) {
        standings[i].early |= standings[i].start >= 0;
        for (size_t u = 0; u < order[i]->uses.n && !standings[i].early; u++) {
            int to = order[i]->uses.p[u].node->mark;
            standings[i].early = to >= 0 && standings[to].early && standings[to].wave == standings[i].wave;
        }
    }
}

// Whether nothing that others can see is kept waiting for what it need not wait for. In a list a node of wave w runs
// when all started nodes of earlier waves have ended, needed or not; if one of these can only end after the node has
// run (it dequeues what the node enqueues), the list would wait for itself.
static bool may_wait(Node *const *order, size_t n, const Standing *standings, int32_t n_waves) {
    uint64_t earlier[STARTS_MOST + 1] = {0};
    for (size_t i = 0; i < n; i++)
        for (int32_t w = standings[i].wave + 1; w < n_waves && standings[i].start >= 0; w++)
            earlier[w] |= UINT64_C(1) << standings[i].start;
    for (size_t i = 0; i < n; i++)
        if (is_seen(order[i]) && standings[i].before != earlier[standings[i].wave])
            return false;
    return true;
}

// Puts the nodes in order of their waves, in each those first for which a started one waits, so that starts overlap
// with the rest of the wave. Within both the given order stays.
static Status *arrange(Plan *plan, Node **order, size_t n, const Standing *standings, int32_t n_waves, int n_starts) {
    Node **sorted = malloc((n + 1) * sizeof *sorted);
    plan->waves = ARENA_ARRAY(&plan->arena, PlanWave, n_waves);
    plan->starts = ARENA_ARRAY(&plan->arena, PlanStart, n_starts);
    if (!sorted || !plan->waves || !plan->starts) {
        free(sorted);
        return OUT_OF_MEMORY;
    }
    size_t at = 0;
    for (int32_t w = 0; w < n_waves; w++) {
        for (int early = 1; early >= 0; early--) {
            for (size_t i = 0; i < n; i++) {
                if (standings[i].wave != w || standings[i].early != early)
                    continue;
                if (standings[i].start >= 0) {
                    plan->starts[plan->n_starts++] =
                        (PlanStart){.node = (int32_t)at, .key = plan->n_awaited, .ready = !standings[i].computed};
                    plan->n_awaited += order[i]->n_outputs;
                }
                sorted[at++] = order[i];
            }
        }
        plan->waves[w] = (PlanWave){.nodes = (int32_t)at, .starts = plan->n_starts};
    }
    plan->n_waves = n_waves;
    memcpy(order, sorted, n * sizeof *sorted);
    free(sorted);
    return OK;
}

Status *waves_find(Plan *plan, Node **order, size_t n) {
    int starts = count_starts(order, n);
    // Kernels of one thread each may run side by side: those are propagated (run/README.md).
    if (starts <= 0 || plan->partial || (plan->threads == 1 && plan->inter_threads > 1))
        return OK;
    Standing *standings = calloc(n, sizeof *standings);
    NEED_MEMORY(standings);
    find_waves(order, n, standings);
    int32_t n_waves = 0;
    for (size_t i = 0; i < n; i++)
        n_waves = standings[i].wave >= n_waves ? standings[i].wave + 1 : n_waves;
    Status *status = OK;
    if (may_wait(order, n, standings, n_waves))
        status = arrange(plan, order, n, standings, n_waves, starts);
    free(standings);
    return status;
}
