// Cluster plans — the parts of each signature: made and registered once, found by later steps.
#include <stdlib.h>

#include "base/log.h"
#include "cluster/cluster_internal.h"

static uint64_t edit_of(ClusterSession *session) {
    mutex_lock(session->graph_lock);
    uint64_t edit = session->graph->edit;
    mutex_unlock(session->graph_lock);
    return edit;
}

static bool same(const StepSignature *a, const StepSignature *b) {
    bool equal = a->n_feeds == b->n_feeds && a->n_fetches == b->n_fetches && a->n_targets == b->n_targets;
    for (int i = 0; equal && i < a->n_feeds; i++)
        equal = output_equal(a->feeds[i], b->feeds[i]);
    for (int i = 0; equal && i < a->n_fetches; i++)
        equal = output_equal(a->fetches[i], b->fetches[i]);
    for (int i = 0; equal && i < a->n_targets; i++)
        equal = a->targets[i] == b->targets[i];
    return equal;
}

// ---------------------------------------- making

// A task that has yet to register its part.
typedef struct {
    Peer *peer;
    PeerWatch watch;
    Cancellation cancellation;
} Registering;

static void lost(void *arg, Status *reason) {
    cancellation_cancel(&((Registering *)arg)->cancellation, reason);
}

Status *cluster_part_error(const RemotePart *part, Status *status) {
    status = peer_error(peer_task(part->peer), status);
    Code code = status_code(status);
    if ((code != UNAVAILABLE && code != ABORTED) || !part->node.n || strstr(status_message(status), "{{node "))
        return status;
    Status *named = status_new(code, __FILE__, __LINE__, "%s\n\t [[{{node %.*s}}]]", status_message(status),
                               STR_ARGS(part->node));
    status_free(status);
    return named;
}

static Status *register_part(ClusterPlan *plan, Peer *peer, const DraftPart *part, Cancellation *cancellation) {
    ClusterSession *session = plan->session;
    AUTO(arena) Arena arena = {0};
    EmptyProto none = {0};
    RegisterGraphResponseProto *reply;
    RegisterGraphRequestProto request = {.session_handle = session->handle, .graph_def = text_str(&part->graph),
                                         .graph_options = &none,
                                         .debug_options = &none, .create_worker_session_called = true,
                                         .config_proto = session->config_bytes};
    Registering registering = {.peer = peer, .watch = {.lost = lost, .arg = &registering}};
    cancellation_init(&registering.cancellation, cancellation);
    PeerCall call = {.method = "RegisterGraph", .type = &message_RegisterGraphRequestProto, .request = &request,
                     .cancellation = &registering.cancellation};
    peer_watch(peer, &registering.watch);
    Status *status = peer_call_wait(peer, &call, &message_RegisterGraphResponseProto, &arena, (void **)&reply);
    peer_unwatch(peer, &registering.watch);
    cancellation_clear(&registering.cancellation);
    RemotePart made = {.peer = peer, .node = str_copy(&plan->arena, part->node)};
    TRY(cluster_part_error(&made, status));
    made.handle = str_copy(&plan->arena, reply->graph_handle);
    NEED_MEMORY(made.handle.p);
    plan->parts[plan->n_parts++] = made;
    return OK;
}

static Status *register_parts(ClusterPlan *plan, const Draft *draft, Cancellation *cancellation) {
    plan->parts = ARENA_ARRAY(&plan->arena, RemotePart, draft->n_parts);
    NEED_MEMORY(plan->parts);
    for (int i = 0; i < draft->n_parts; i++) {
        Str task = text_str(&draft->parts[i].task);
        Peer *peer = peers_find(task_session_peers(plan->session->home), task);
        NEED(peer, INTERNAL, "%.*s is no task of this cluster", STR_ARGS(task));
        TRY(register_part(plan, peer, &draft->parts[i], cancellation));
    }
    return OK;
}

static Status *cut(ClusterSession *session, const StepSignature *signature, const PlanOptions *options, Draft *out) {
    mutex_lock(session->graph_lock);
    Status *status = OK;
    if (session->graph->twice)
        status = status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "GraphDef argument to Extend includes node '%.*s', which "
                            "was created by a previous call to Create or Extend in this session.",
                            STR_ARGS(session->graph->twice->name));
    if (!status)
        status = draft_make(session->graph, signature, options, out);
    mutex_unlock(session->graph_lock);
    return status;
}

// Under the graph's lock, which functions and attributes may be read beneath; the calls to others are made without.
static Status *fill(ClusterPlan *plan, const StepSignature *signature, bool partial, Cancellation *cancellation) {
    ClusterSession *session = plan->session;
    PlanOptions options = task_session_options(session->home);
    options.devices = &session->devices;
    options.home = task_session_task(session->home);
    options.soft_placement = session->config.soft_placement;
    options.placed = &session->placed;
    options.partial = partial;
    Draft draft;
    TRY(signature_copy(&plan->arena, signature, &plan->signature));
    TRY(cut(session, signature, &options, &draft));
    Status *status = register_parts(plan, &draft, cancellation);
    if (status) {
        graph_release(draft.graph);
    } else {
        mutex_lock(session->graph_lock);
        status = part_of_draft(session->home, session->graph, session->graph_lock, &draft, &plan->home);
        mutex_unlock(session->graph_lock);
    }
    draft_clear(&draft);
    return status;
}

static void deregister(const ClusterPlan *plan) {
    for (size_t i = 0; i < plan->n_parts; i++) {
        DeregisterGraphRequestProto request = {.graph_handle = plan->parts[i].handle,
                                               .session_handle = plan->session->handle,
                                               .create_worker_session_called = true};
        PeerCall call = {.method = "DeregisterGraph", .type = &message_DeregisterGraphRequestProto, .request = &request,
                         .deadline = clock_now() + PEER_LEASE_MS * (int64_t)CLOCK_MS};
        peer_tell(plan->parts[i].peer, &call);
    }
}

void cluster_plan_release(ClusterPlan *plan) {
    if (!plan || atomic_fetch_sub(&plan->references, 1) != 1)
        return;
    deregister(plan);
    part_release(plan->home);
    arena_clear(&plan->arena);
    free(plan);
}

static Status *make(ClusterSession *session, const StepSignature *signature, bool partial, Cancellation *cancellation,
                    ClusterPlan **out) {
    ClusterPlan *plan = calloc(1, sizeof *plan);
    NEED_MEMORY(plan);
    atomic_init(&plan->references, 1);
    plan->session = session;
    plan->hash = signature_hash(signature);
    plan->edit = edit_of(session);
    Status *status = fill(plan, signature, partial, cancellation);
    if (status)
        cluster_plan_release(plan);
    else
        *out = plan;
    return status;
}

Status *cluster_plan_partial(ClusterSession *session, const StepSignature *signature, Cancellation *cancellation,
                             ClusterPlan **out) {
    return make(session, signature, true, cancellation, out);
}

// ---------------------------------------- finding

static ClusterPlan **bucket_of(ClusterSession *session, uint64_t hash) {
    return &session->plans[hash % CLUSTER_BUCKETS];
}

// Retained; NULL: there is none.
static ClusterPlan *look(ClusterSession *session, const StepSignature *signature, uint64_t hash) REQUIRES(session->lock) {
    uint64_t edit = edit_of(session);
    ClusterPlan *plan = *bucket_of(session, hash);
    while (plan && (plan->hash != hash || plan->edit != edit || !same(&plan->signature, signature)))
        plan = plan->next;
    if (plan)
        atomic_fetch_add(&plan->references, 1);
    return plan;
}

static void drop_all(ClusterSession *session) REQUIRES(session->lock) {
    for (size_t b = 0; b < CLUSTER_BUCKETS; b++)
        while (session->plans[b]) {
            ClusterPlan *plan = session->plans[b];
            session->plans[b] = plan->next;
            cluster_plan_release(plan);
        }
    session->n_plans = 0;
}

void cluster_plans_clear(ClusterSession *session) {
    mutex_lock(&session->lock);
    drop_all(session);
    mutex_unlock(&session->lock);
}

// Two threads may make the same plan: one of them is found from then on, and the other goes with its step.
Status *cluster_plan_find(ClusterSession *session, const StepSignature *signature, Cancellation *cancellation,
                          ClusterPlan **out) {
    uint64_t hash = signature_hash(signature);
    mutex_lock(&session->lock);
    *out = look(session, signature, hash);
    mutex_unlock(&session->lock);
    if (*out)
        return OK;
    ClusterPlan *plan;
    TRY(make(session, signature, false, cancellation, &plan));
    log_write(LOG_INFO, "planned a step in %zu parts", plan->n_parts + 1);
    mutex_lock(&session->lock);
    if (session->n_plans >= CLUSTER_PLANS)
        drop_all(session);
    session->n_plans++;
    plan->next = *bucket_of(session, hash);
    *bucket_of(session, hash) = plan;
    atomic_fetch_add(&plan->references, 1);
    mutex_unlock(&session->lock);
    *out = plan;
    return OK;
}
