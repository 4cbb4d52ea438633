// Cluster steps — all parts of a step at the same time: this task's on the caller's thread, the others' by one RunGraph each.
//
// The first part that fails ends the others; what they say afterwards is what came of that.
#include <stdlib.h>
#include <sys/random.h>

#include "cluster/cluster_internal.h"
#include "session/step_stats.h"

// What is missed of another task is one of its nodes.
static Status *name_node(const ClusterStep *step, Status *status) {
    for (size_t i = 0; i < step->plan->n_parts; i++)
        if (strstr(status_message(status), peer_task(step->plan->parts[i].peer)))
            return cluster_part_error(&step->plan->parts[i], status);
    return status;
}

void cluster_step_note(ClusterStep *step, Status *status) {
    if (!status)
        return;
    status = name_node(step, status);
    mutex_lock(&step->lock);
    bool first = !step->status;
    if (first)
        step->status = status;
    Status *reason = first ? status_copy(status) : OK;
    mutex_unlock(&step->lock);
    if (first)
        cancellation_cancel(&step->cancellation, reason);
    else
        status_free(status);
}

static void lost(void *arg, Status *reason) {
    cluster_step_note(((Running *)arg)->step, reason);
}

static Status *result_of(ClusterStep *step, const RpcReply *reply) {
    AUTO(arena) Arena arena = {0};
    RunGraphResponseProto *answer;
    Str bytes = {(const char *)reply->message.bytes, reply->message.n};
    TRY(PROTO_DECODE(RunGraphResponseProto, &arena, bytes, &answer));
    NEED(!answer->status_code, (Code)answer->status_code, "%.*s", STR_ARGS(answer->status_error_message));
    if (step->trace && answer->step_stats)
        step_stats_add(answer->step_stats, step->trace);
    for (size_t i = 0; step->trace && i < answer->partition_graph.n; i++)
        trace_add_graph(step->trace, answer->partition_graph.p[i]);
    return OK;
}

static void part_done(void *arg, RpcReply *reply) {
    Running *running = arg;
    ClusterStep *step = running->step;
    Status *status = reply->status;
    reply->status = OK;
    if (!status)
        status = result_of(step, reply);
    cluster_step_note(step, peer_error(peer_task(running->part->peer), status));
    mutex_lock(&step->lock);
    step->left--;
    condition_notify_all(&step->ended);
    mutex_unlock(&step->lock);
}

static Status *begin_part(ClusterStep *step, Running *running) {
    ExecutorOptsProto options = {.record_timeline = step->trace != NULL,
                                 .record_partition_graphs = step->trace && step->trace->keeps_graphs};
    RunGraphRequestProto request = {
        .graph_handle = running->part->handle, .step_id = step->id, .exec_opts = &options,
        .session_handle = step->session->handle, .store_errors_in_response_body = true,
        .create_worker_session_called = true,
    };
    NEED(getrandom(&request.request_id, sizeof request.request_id, 0) == sizeof request.request_id, INTERNAL,
         "the system gives no random numbers");
    PeerCall call = {.method = "RunGraph", .type = &message_RunGraphRequestProto, .request = &request,
                     .cancellation = &step->cancellation};
    running->watch = (PeerWatch){.lost = lost, .arg = running};
    peer_watch(running->part->peer, &running->watch);
    running->begun = true;
    mutex_lock(&step->lock);
    step->left++;
    mutex_unlock(&step->lock);
    Status *status = peer_call(running->part->peer, &call, part_done, running);
    if (!status)
        return OK;
    mutex_lock(&step->lock);
    step->left--;
    mutex_unlock(&step->lock);
    return peer_error(peer_task(running->part->peer), status);
}

// Every call ends: with its task, or with the step's cancellation.
static void wait_for_others(ClusterStep *step, int64_t deadline) {
    bool in_time = true;
    mutex_lock(&step->lock);
    while (step->left && in_time)
        in_time = condition_wait_until(&step->ended, &step->lock, deadline);
    mutex_unlock(&step->lock);
    if (!in_time)
        cluster_step_note(step, status_new(DEADLINE_EXCEEDED, __FILE__, __LINE__, "the step ran past its deadline"));
    mutex_lock(&step->lock);
    while (step->left)
        condition_wait(&step->ended, &step->lock);
    mutex_unlock(&step->lock);
}

static void clean_up(ClusterStep *step) {
    CleanupGraphRequestProto request = {.step_id = step->id};
    for (size_t i = 0; step->running && i < step->plan->n_parts; i++) {
        Running *running = &step->running[i];
        if (!running->begun)
            continue;
        peer_unwatch(running->part->peer, &running->watch);
        PeerCall call = {.method = "CleanupGraph", .type = &message_CleanupGraphRequestProto, .request = &request,
                         .deadline = clock_now() + PEER_LEASE_MS * (int64_t)CLOCK_MS};
        peer_tell(running->part->peer, &call);
    }
    steps_end(worker_steps(step->session->worker), step->id);
}

void cluster_step_finish(ClusterStep *step, int64_t deadline) {
    wait_for_others(step, deadline);
    clean_up(step);
}

Status *cluster_step_begin(ClusterStep *step) {
    step->running = ARENA_ARRAY(&step->arena, Running, step->plan->n_parts);
    NEED_MEMORY(step->running);
    for (size_t i = 0; i < step->plan->n_parts; i++) {
        step->running[i] = (Running){.step = step, .part = &step->plan->parts[i]};
        TRY(begin_part(step, &step->running[i]));
    }
    return OK;
}

Status *cluster_step_open(ClusterStep *step, ClusterSession *session, ClusterPlan *plan, const RunSettings *settings) {
    uint64_t number;
    NEED(getrandom(&number, sizeof number, 0) == sizeof number, INTERNAL, "the system gives no random numbers");
    *step = (ClusterStep){.session = session, .plan = plan, .trace = settings->trace, .id = (int64_t)(number >> 8 | 1)};
    mutex_init(&step->lock);
    condition_init(&step->ended);
    cancellation_init(&step->cancellation, settings->cancellation ? settings->cancellation
                                                                  : task_session_cancellation(session->home));
    return OK;
}

void cluster_step_close(ClusterStep *step) {
    cancellation_clear(&step->cancellation);
    condition_clear(&step->ended);
    mutex_clear(&step->lock);
    arena_clear(&step->arena);
}

int64_t cluster_step_deadline(const ClusterSession *session, const RunSettings *settings) {
    int64_t ms = settings->timeout_ms ? settings->timeout_ms : session->config.timeout_ms;
    int64_t most = INT64_MAX / CLOCK_MS / 2;
    return ms > 0 && ms < most ? clock_now() + ms * CLOCK_MS : NO_DEADLINE;
}

// ---------------------------------------- whole steps

static Status *run_home(ClusterStep *step, int64_t deadline, const Tensor *const *feeds, Tensor *out) {
    Steps *steps = worker_steps(step->session->worker);
    PartRun run = {.step_id = step->id, .deadline = deadline, .cancellation = &step->cancellation, .trace = step->trace};
    TRY(steps_enter(steps, step->id, step->session->home, &run.rendezvous));
    Status *status = part_run(step->plan->home, &run, feeds, out);
    rendezvous_release(run.rendezvous);
    return status;
}

Status *cluster_step_run(ClusterSession *session, ClusterPlan *plan, const RunSettings *settings,
                         const Tensor *const *feeds, Tensor *out) {
    ClusterStep step;
    int64_t deadline = cluster_step_deadline(session, settings);
    TRY(cluster_step_open(&step, session, plan, settings));
    Status *status = cluster_step_begin(&step);
    bool given = false;
    if (!status) {
        status = run_home(&step, deadline, feeds, out);
        given = !status;
    }
    cluster_step_note(&step, status);
    cluster_step_finish(&step, deadline);
    status = step.status;
    cluster_step_close(&step);
    for (int i = 0; status && given && i < plan->signature.n_fetches; i++)
        tensor_clear(&out[i]);
    return status;
}
