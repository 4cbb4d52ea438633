// Cluster partial runs — a step over several tasks in several calls of its client.
//
// Feeds come in and fetches go out on this task alone, so only its part is taken in several calls: the others run as ever, and
// wait for what is sent to them.
#include <stdlib.h>

#include "cluster/cluster_internal.h"
#include "session/partial_ends.h"

typedef struct {
    PartialRun run;        // first
    ClusterSession *session;
    ClusterPlan *plan;
    ClusterStep step;
    Rendezvous *rendezvous;
    StepOptions options;
    Step *home;
    PartialEnds ends;
    Arena arena;
    Mutex lock;            // one call at a time
    bool opened, over, finished;
} ClusterPartialRun;

// ---------------------------------------- what can be fetched

static bool is_fed(const PartialEnds *ends, Output edge, bool *out_now) {
    for (int i = 0; i < ends->whole.n_feeds; i++)
        if (output_equal(ends->whole.feeds[i], edge)) {
            *out_now = ends->fed[i] || ends->feeds[i];
            return true;
        }
    return false;
}

typedef VEC(Node *) Nodes;

static Status *need(const PartialEnds *ends, Output edge, Output fetch, Nodes *nodes) {
    bool given = false;
    if (is_fed(ends, edge, &given)) {
        NEED(given, INVALID_ARGUMENT, "{{node %.*s}} (%.*s): can't be computed from the feeds that were given so far: it "
             "waits for '%.*s'", NODE_ARGS(fetch.node), STR_ARGS(edge.node->name));
        return OK;
    }
    if (edge.node->mark)
        return OK;
    edge.node->mark = 1;
    NEED_MEMORY(vec_push(nodes, edge.node));
    return OK;
}

static Status *need_all(const PartialEnds *ends, Output fetch, Nodes *nodes) {
    TRY(need(ends, fetch, fetch, nodes));
    while (nodes->n) {
        const Node *node = nodes->p[--nodes->n];
        for (int i = 0; i < node->n_inputs; i++)
            TRY(need(ends, node->inputs[i], fetch, nodes));
        for (int i = 0; i < node->n_controls; i++)
            TRY(need(ends, (Output){node->controls[i], CONTROL}, fetch, nodes));
    }
    return OK;
}

// In the session's graph: what a value of another task waits for isn't seen in this one's part.
static Status *check_fetches(ClusterPartialRun *run) {
    const PartialEnds *ends = &run->ends;
    Graph *graph = run->session->graph;
    Nodes nodes = {0};
    Status *status = OK;
    mutex_lock(run->session->graph_lock);
    for (size_t i = 0; i < graph->nodes.n; i++)
        if (graph->nodes.p[i])
            graph->nodes.p[i]->mark = 0;
    for (int i = 0; i < ends->whole.n_fetches && !status; i++)
        if (ends->fetches[i])
            status = need_all(ends, ends->whole.fetches[i], &nodes);
    mutex_unlock(run->session->graph_lock);
    vec_clear(&nodes);
    return status;
}

// ---------------------------------------- life

static Status *open_step(ClusterPartialRun *run) {
    ClusterSession *session = run->session;
    RunSettings settings = run_settings_default;
    TRY(cluster_step_open(&run->step, session, run->plan, &settings));
    run->opened = true;
    PartRun part = {.step_id = run->step.id, .deadline = NO_DEADLINE, .cancellation = &run->step.cancellation};
    TRY(steps_enter(worker_steps(session->worker), run->step.id, session->home, &run->rendezvous));
    part.rendezvous = run->rendezvous;
    TRY(part_options(run->plan->home, &part, &run->options));
    TRY(step_take(part_executor(run->plan->home), &run->options, &run->home));
    return cluster_step_begin(&run->step);
}

Status *cluster_partial_begin(Session *any, const StepSignature *signature, PartialRun **out) {
    ClusterSession *session = (ClusterSession *)any;
    ClusterPartialRun *run = calloc(1, sizeof *run);
    NEED_MEMORY(run);
    run->run.type = any->type;
    run->session = session;
    mutex_init(&run->lock);
    Status *status = partial_ends_init(&run->ends, &run->arena, signature);
    if (!status)
        status = cluster_plan_partial(session, signature, task_session_cancellation(session->home), &run->plan);
    if (!status)
        status = open_step(run);
    if (status)
        cluster_partial_end(&run->run);
    else
        *out = &run->run;
    return status;
}

static void finish(ClusterPartialRun *run, int64_t deadline) {
    if (!run->opened || run->finished)
        return;
    run->finished = true;
    cluster_step_finish(&run->step, deadline);  // first: others may still ask for what lies here
    if (run->home)
        step_free_partial(run->home);
    run->home = NULL;
}

void cluster_partial_end(PartialRun *partial) {
    ClusterPartialRun *run = (ClusterPartialRun *)partial;
    if (run->opened) {
        if (!run->finished)
            cluster_step_note(&run->step, status_new(CANCELLED, __FILE__, __LINE__, "the partial run was given up"));
        finish(run, NO_DEADLINE);
        status_free(run->step.status);
        cluster_step_close(&run->step);
    }
    rendezvous_release(run->rendezvous);
    cluster_plan_release(run->plan);
    mutex_clear(&run->lock);
    arena_clear(&run->arena);
    free(run);
}

// ---------------------------------------- calls

static Status *check_part(ClusterPartialRun *run, const StepSignature *part, const Tensor *const *feeds, Tensor *out) {
    NEED(!run->over, FAILED_PRECONDITION, "this partial run has ended");
    TRY(partial_ends_take(&run->ends, part, feeds, out));
    return check_fetches(run);
}

// The first error of any part is what the client gets.
static Status *continue_run(ClusterPartialRun *run) {
    RunSettings settings = run_settings_default;
    bool last = partial_ends_last(&run->ends);
    int64_t deadline = cluster_step_deadline(run->session, &settings);
    run->home->context.deadline = deadline;
    Status *status = step_continue(run->home, run->ends.feeds, run->ends.fetches, last);
    bool given = !status;
    cluster_step_note(&run->step, status);
    partial_ends_done(&run->ends);
    mutex_lock(&run->step.lock);
    run->over = last || run->step.status;
    mutex_unlock(&run->step.lock);
    if (!run->over)
        return OK;
    finish(run, deadline);
    status = run->step.status;
    run->step.status = OK;
    for (int i = 0; status && given && i < run->ends.whole.n_fetches; i++)
        if (run->ends.fetches[i])
            tensor_clear(run->ends.fetches[i]);
    return status;
}

Status *cluster_partial_run(PartialRun *partial, const StepSignature *part, const Tensor *const *feeds, Tensor *out) {
    ClusterPartialRun *run = (ClusterPartialRun *)partial;
    mutex_lock(&run->lock);
    Status *status = check_part(run, part, feeds, out);
    if (!status)
        status = continue_run(run);
    mutex_unlock(&run->lock);
    return status;
}

bool cluster_partial_is_over(const PartialRun *run) {
    return ((const ClusterPartialRun *)run)->over;
}
