// Cluster steps — all parts of a step at the same time: this task's on the caller's thread, the others' by one RunGraph each.
//
// The first part that fails ends the others; what they say afterwards is what came of that.
#include <stdlib.h>
#include <sys/random.h>

#include "cluster/cluster_internal.h"

typedef struct ClusterStep ClusterStep;

typedef struct {
    ClusterStep *step;
    const RemotePart *part;
    PeerWatch watch;
    bool begun;
} Running;

struct ClusterStep {
    ClusterSession *session;
    const ClusterPlan *plan;
    int64_t id;
    Cancellation cancellation;   // of all parts
    Running *running;            // n_parts
    Mutex lock;
    Condition ended;
    size_t left;                 // calls that have not ended; guarded by lock, as is the next
    Status *status;              // the first error
};

// Takes the status: OK is none.
static void note(ClusterStep *step, Status *status) {
    if (!status)
        return;
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
    note(((Running *)arg)->step, reason);
}

static Status *result_of(const RpcReply *reply) {
    AUTO(arena) Arena arena = {0};
    RunGraphResponseProto *answer;
    Str bytes = {(const char *)reply->message.bytes, reply->message.n};
    TRY(PROTO_DECODE(RunGraphResponseProto, &arena, bytes, &answer));
    if (!answer->status_code)
        return OK;
    FAIL((Code)answer->status_code, "%.*s", STR_ARGS(answer->status_error_message));
}

static void part_done(void *arg, RpcReply *reply) {
    Running *running = arg;
    ClusterStep *step = running->step;
    Status *status = reply->status;
    reply->status = OK;
    if (!status)
        status = result_of(reply);
    note(step, peer_error(peer_task(running->part->peer), status));
    mutex_lock(&step->lock);
    step->left--;
    condition_notify_all(&step->ended);
    mutex_unlock(&step->lock);
}

static Status *begin_part(ClusterStep *step, Running *running) {
    ExecutorOptsProto options = {0};
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

static Status *run_home(ClusterStep *step, int64_t deadline, Trace *trace, const Tensor *const *feeds, Tensor *out) {
    Steps *steps = worker_steps(step->session->worker);
    PartRun run = {.step_id = step->id, .deadline = deadline, .cancellation = &step->cancellation, .trace = trace};
    TRY(steps_enter(steps, step->id, step->session->home, &run.rendezvous));
    Status *status = part_run(step->plan->home, &run, feeds, out);
    rendezvous_release(run.rendezvous);
    return status;
}

// Every call ends: with its task, or with the step's cancellation.
static void wait_for_others(ClusterStep *step, int64_t deadline) {
    bool in_time = true;
    mutex_lock(&step->lock);
    while (step->left && in_time)
        in_time = condition_wait_until(&step->ended, &step->lock, deadline);
    mutex_unlock(&step->lock);
    if (!in_time)
        note(step, status_new(DEADLINE_EXCEEDED, __FILE__, __LINE__, "the step ran past its deadline"));
    mutex_lock(&step->lock);
    while (step->left)
        condition_wait(&step->ended, &step->lock);
    mutex_unlock(&step->lock);
}

static void clean_up(ClusterStep *step) {
    CleanupGraphRequestProto request = {.step_id = step->id};
    for (size_t i = 0; i < step->plan->n_parts; i++) {
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

static void run_parts(ClusterStep *step, int64_t deadline, Trace *trace, const Tensor *const *feeds, Tensor *out,
                      bool *out_given) {
    Status *status = OK;
    for (size_t i = 0; i < step->plan->n_parts && !status; i++) {
        step->running[i] = (Running){.step = step, .part = &step->plan->parts[i]};
        status = begin_part(step, &step->running[i]);
    }
    if (!status) {
        status = run_home(step, deadline, trace, feeds, out);
        *out_given = !status;
    }
    note(step, status);
    wait_for_others(step, deadline);
    clean_up(step);
}

static int64_t deadline_of(const ClusterSession *session, const RunSettings *settings) {
    int64_t ms = settings->timeout_ms ? settings->timeout_ms : session->config.timeout_ms;
    int64_t most = INT64_MAX / CLOCK_MS / 2;
    return ms > 0 && ms < most ? clock_now() + ms * CLOCK_MS : NO_DEADLINE;
}

Status *cluster_step_run(ClusterSession *session, ClusterPlan *plan, const RunSettings *settings,
                         const Tensor *const *feeds, Tensor *out) {
    AUTO(arena) Arena arena = {0};
    uint64_t number;
    bool given = false;
    ClusterStep step = {.session = session, .plan = plan, .running = ARENA_ARRAY(&arena, Running, plan->n_parts)};
    NEED_MEMORY(step.running);
    NEED(getrandom(&number, sizeof number, 0) == sizeof number, INTERNAL, "the system gives no random numbers");
    step.id = (int64_t)(number >> 8 | 1);
    mutex_init(&step.lock);
    condition_init(&step.ended);
    cancellation_init(&step.cancellation, settings->cancellation ? settings->cancellation
                                                                 : task_session_cancellation(session->home));
    run_parts(&step, deadline_of(session, settings), settings->trace, feeds, out, &given);
    cancellation_clear(&step.cancellation);
    condition_clear(&step.ended);
    mutex_clear(&step.lock);
    for (int i = 0; step.status && given && i < plan->signature.n_fetches; i++)
        tensor_clear(&out[i]);
    return step.status;
}
