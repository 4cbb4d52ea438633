// ClusterSession — see cluster_session.h.
#include "cluster/cluster_session.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "cluster/cluster_internal.h"

// ---------------------------------------- who takes part

static bool allows(const ConfigProto *config, Str task) {
    DeviceSpec wanted, own;
    bool allowed = !config->device_filters.n;
    Status *status = device_spec_parse(task, &own);
    for (size_t i = 0; i < config->device_filters.n && !allowed && !status; i++) {
        status = device_spec_parse(config->device_filters.p[i], &wanted);
        allowed = !status && (!wanted.job.n || str_equal(wanted.job, own.job)) &&
                  (wanted.task < 0 || wanted.task == own.task);
    }
    status_free(status);
    return allowed;
}

// Asks until it answers, as TensorFlow's clients start in any order; a line now and then says for whom it waits.
static Status *wait_for(Peer *peer, Arena *arena, Cancellation *cancellation, GetStatusResponseProto **out) {
    enum { TRY_MS = 10000 };
    EmptyProto none = {0};
    for (;;) {
        PeerCall call = {.method = "GetStatus", .type = &message_EmptyProto, .request = &none, .wait_for_ready = true,
                         .deadline = clock_now() + TRY_MS * (int64_t)CLOCK_MS, .cancellation = cancellation};
        Status *status = peer_call_wait(peer, &call, &message_GetStatusResponseProto, arena, (void **)out);
        Code code = status_code(status);
        if (!status || cancellation_is_set(cancellation) || (code != DEADLINE_EXCEEDED && code != UNAVAILABLE))
            return status;
        status_free(status);
        log_write(LOG_WARNING, "CreateSession still waiting for response from worker: %s", peer_task(peer));
    }
}

// By the name of the task here, which is another to itself in a cluster that a client has brought.
static Status *fill_device(const char *task, const DeviceAttributesProto *from, Device *to) {
    DeviceSpec spec;
    TRY(device_spec_parse(from->name, &spec));
    int n = snprintf(to->name, sizeof to->name, "%s/device:%.*s:%d", task, STR_ARGS(from->device_type), spec.ordinal);
    NEED(n > 0 && (size_t)n < sizeof to->name, INVALID_ARGUMENT, "a device's name is too long: %s %.*s", task,
         STR_ARGS(from->name));
    to->ordinal = spec.ordinal;
    to->incarnation = from->incarnation;
    to->memory_limit = from->memory_limit;
    to->allocator = &host_allocator;
    return OK;
}

// Devices of types that this process doesn't know are left out.
static Status *add_member(ClusterSession *session, Peer *peer, const GetStatusResponseProto *answer) {
    Member *member = &session->members[session->n_members++];
    *member = (Member){.peer = peer, .devices = ARENA_ARRAY(&session->arena, Device, answer->device_attributes.n)};
    NEED_MEMORY(member->devices);
    for (size_t i = 0; i < answer->device_attributes.n; i++) {
        const DeviceAttributesProto *from = &answer->device_attributes.p[i];
        Device *device = &member->devices[member->n_devices];
        device->type = device_type_find(from->device_type);
        if (!device->type)
            continue;
        TRY(fill_device(peer_task(peer), from, device));
        member->n_devices++;
    }
    return OK;
}

static Status *open_member(ClusterSession *session, Member *member, const ConfigProto *config, Cancellation *cancellation) {
    AUTO(arena) Arena arena = {0};
    EmptyProto *reply;
    DeviceSpec spec;
    TRY(device_spec_parse(str_of(peer_task(member->peer)), &spec));
    ServerDef def = {.cluster = config->cluster_def, .job_name = spec.job, .task_index = spec.task, .protocol = STR("grpc")};
    const Device *own = task_session_environment(session->home)->devices.devices[0];
    CreateWorkerSessionRequestProto request = {
        .session_handle = session->handle, .server_def = &def, .master_task = task_session_task(session->home),
        .isolate_session_state = config->isolate_session_state || config->cluster_def, .master_incarnation = (int64_t)own->incarnation,
    };
    PeerCall call = {.method = "CreateWorkerSession", .type = &message_CreateWorkerSessionRequestProto, .request = &request,
                     .cancellation = cancellation, .deadline = clock_now() + 2 * PEER_LEASE_MS * (int64_t)CLOCK_MS};
    return peer_call_wait(member->peer, &call, &message_EmptyProto, &arena, (void **)&reply);
}

static Status *find_members(ClusterSession *session, const ConfigProto *config, Cancellation *cancellation) {
    Peers *peers = task_session_peers(session->home);
    session->members = ARENA_ARRAY(&session->arena, Member, peers_count(peers));
    NEED_MEMORY(session->members);
    for (size_t i = 0; i < peers_count(peers); i++) {
        AUTO(arena) Arena arena = {0};
        GetStatusResponseProto *answer;
        Peer *peer = peers_at(peers, i);
        if (!allows(config, str_of(peer_task(peer))))
            continue;
        TRY(wait_for(peer, &arena, cancellation, &answer));
        TRY(add_member(session, peer, answer));
    }
    return OK;
}

static Status *list_all(ClusterSession *session) {
    const DeviceSet *own = &task_session_environment(session->home)->devices;
    size_t n = (size_t)own->n;
    for (size_t m = 0; m < session->n_members; m++)
        n += session->members[m].n_devices;
    session->devices.devices = ARENA_ARRAY(&session->arena, Device *, n);
    NEED_MEMORY(session->devices.devices);
    for (int i = 0; i < own->n; i++)
        session->devices.devices[session->devices.n++] = own->devices[i];
    for (size_t m = 0; m < session->n_members; m++)
        for (size_t i = 0; i < session->members[m].n_devices; i++)
            session->devices.devices[session->devices.n++] = &session->members[m].devices[i];
    return OK;
}

// ---------------------------------------- where nodes were placed

static ClusterSession *of_record(const PlacementRecord *record) {
    return (ClusterSession *)((char *)(uintptr_t)record - offsetof(ClusterSession, placed));
}

static const Device *device_of(const PlacementRecord *record, Str node) {
    ClusterSession *session = of_record(record);
    mutex_lock(&session->placed_lock);
    const Device *device = map_find(&session->placements, node);
    mutex_unlock(&session->placed_lock);
    return device;
}

static Status *note_placed(const PlacementRecord *record, Str node, const Device *device) {
    ClusterSession *session = of_record(record);
    Status *status = OK;
    mutex_lock(&session->placed_lock);
    if (!map_find(&session->placements, node)) {
        Str name = str_copy(&session->placement_names, node);
        if (!name.p || !map_set(&session->placements, name, (void *)(uintptr_t)device))
            status = OUT_OF_MEMORY;
    }
    mutex_unlock(&session->placed_lock);
    return status;
}

// ---------------------------------------- the session's calls

static ClusterSession *cluster_of(Session *session) {
    return (ClusterSession *)session;
}

static Status *check_feeds(const StepSignature *signature, const Tensor *const *feeds) {
    for (int i = 0; i < signature->n_feeds; i++) {
        DType wanted = output_base_type(signature->feeds[i]);
        NEED(feeds[i]->dtype == wanted, INVALID_ARGUMENT, "{{node %.*s}} (%.*s): output %d is of type %s, but was fed a %s",
             NODE_ARGS(signature->feeds[i].node), signature->feeds[i].index, dtype_name(wanted),
             dtype_name(feeds[i]->dtype));
    }
    return OK;
}

static Status *run(Session *any, const StepSignature *signature, const RunSettings *settings, const Tensor *const *feeds,
                   Tensor *out) {
    ClusterSession *session = cluster_of(any);
    ClusterPlan *plan;
    if (settings->cancellation)
        cancellation_adopt(settings->cancellation, task_session_cancellation(session->home));
    TRY(check_feeds(signature, feeds));
    TRY(cluster_plan_find(session, signature, settings->cancellation ? settings->cancellation
                                              : task_session_cancellation(session->home), &plan));
    Status *status = cluster_step_run(session, plan, settings, feeds, out);
    cluster_plan_release(plan);
    return status;
}

// For what is of this task alone.
static Status *local_of(ClusterSession *session, Session **out) {
    SessionConfig config = session->config;
    config.environment = task_session_environment(session->home);
    mutex_lock(&session->lock);
    Status *status = session->local ? OK : session_new(session->graph, session->graph_lock, &config, &session->local);
    *out = session->local;
    mutex_unlock(&session->lock);
    return status;
}

static Status *call(Session *any, const FuncRef *function, const RunSettings *settings, const Tensor *arguments,
                    int n_arguments, Tensor *out_results, int n_results) {
    Session *local;
    TRY(local_of(cluster_of(any), &local));
    return session_call(local, function, settings, arguments, n_arguments, out_results, n_results);
}

static Status *extend(Session *session) {
    (void)session;
    return OK;
}

static Status *list_devices(Session *any, Arena *arena, SessionDevice **out, int *out_n) {
    const DeviceSet *devices = &cluster_of(any)->devices;
    *out = ARENA_ARRAY(arena, SessionDevice, devices->n);
    NEED_MEMORY(*out);
    *out_n = devices->n;
    for (int i = 0; i < devices->n; i++) {
        const Device *device = devices->devices[i];
        (*out)[i] = (SessionDevice){str_copy(arena, str_of(device->name)), str_of(device->type->name),
                                    device->memory_limit, device->incarnation};
        NEED_MEMORY((*out)[i].name.p);
    }
    return OK;
}

static Status *no_plan(Session *session, const StepSignature *signature, Plan **out) {
    (void)session, (void)signature, (void)out;
    FAIL(UNIMPLEMENTED, "the plan of a step over several tasks is in parts");
}

// ---------------------------------------- life

static void close_session(Session *any) {
    ClusterSession *session = cluster_of(any);
    task_session_close(session->home);
    mutex_lock(&session->lock);
    if (session->local)
        session_close(session->local);
    mutex_unlock(&session->lock);
}

static void free_session(Session *any) {
    ClusterSession *session = cluster_of(any);
    DeleteWorkerSessionRequestProto request = {.session_handle = session->handle};
    cluster_plans_clear(session);
    for (size_t i = 0; i < session->n_members; i++) {
        PeerCall call = {.method = "DeleteWorkerSession", .type = &message_DeleteWorkerSessionRequestProto,
                         .request = &request, .deadline = clock_now() + 2 * PEER_LEASE_MS * (int64_t)CLOCK_MS};
        peer_tell(session->members[i].peer, &call);
    }
    session_free(session->local);
    task_session_release(session->home);
    map_clear(&session->placements);
    arena_clear(&session->placement_names);
    arena_clear(&session->arena);
    mutex_clear(&session->lock);
    mutex_clear(&session->placed_lock);
    graph_release(session->graph);
    free(session);
}

static const SessionType cluster_session_type = {
    .run = run, .call = call, .partial_begin = cluster_partial_begin, .partial_run = cluster_partial_run,
    .partial_is_over = cluster_partial_is_over, .partial_end = cluster_partial_end, .extend = extend,
    .list_devices = list_devices,
    .plan = no_plan, .close = close_session, .free = free_session,
};

// Which task of the cluster that the client has brought is this one: that at the address where the client has found it.
static Status *find_task(ClusterSession *session, const ClusterDef *cluster, Str target, Str *out) {
    Str scheme = STR("grpc://");
    if (target.n > scheme.n && !memcmp(target.p, scheme.p, scheme.n))
        target = (Str){target.p + scheme.n, target.n - scheme.n};
    *out = (Str){0};
    for (size_t j = 0; j < cluster->job.n; j++)
        for (size_t t = 0; t < cluster->job.p[j].tasks.n; t++) {
            const Int32ToStringEntry *task = &cluster->job.p[j].tasks.p[t];
            if (!str_equal(task->value, target))
                continue;
            NEED(!out->p, INVALID_ARGUMENT, "Found multiple matching tasks that correspond to the master. Master target: "
                 "%.*s", STR_ARGS(target));
            *out = str_format(&session->arena, "/job:%.*s/replica:0/task:%d", STR_ARGS(cluster->job.p[j].name), task->key);
            NEED_MEMORY(out->p);
        }
    NEED(out->p, INVALID_ARGUMENT, "the cluster that the session names has no task at %.*s, where its master is",
         STR_ARGS(target));
    return OK;
}

static Status *open_session(ClusterSession *session, Str config, Str target, Str handle, Cancellation *cancellation) {
    ConfigProto *proto;
    session->config_bytes = str_copy(&session->arena, config);
    session->handle = str_copy(&session->arena, handle);
    NEED_MEMORY(session->config_bytes.p && session->handle.p);
    TRY(PROTO_DECODE(ConfigProto, &session->arena, session->config_bytes, &proto));
    TaskSessionOptions options = {.config = &session->config, .isolated = proto->isolate_session_state,
                                  .task = worker_task(session->worker), .peers = worker_peers(session->worker),
                                  .cluster = proto->cluster_def};
    if (proto->cluster_def)
        TRY(find_task(session, proto->cluster_def, target, &options.task));
    TRY(task_session_new(worker_environment(session->worker), &options, &session->home));
    TRY(find_members(session, proto, cancellation));
    for (size_t m = 0; m < session->n_members; m++)
        TRY(open_member(session, &session->members[m], proto, cancellation));
    return list_all(session);
}

Status *cluster_session_new(Graph *graph, Mutex *graph_lock, const ClusterSessionOptions *options, Worker *worker,
                            Cancellation *cancellation, Session **out) {
    SessionConfig parsed = session_config_default();
    TRY(session_config_parse(options->config, &parsed));
    ClusterSession *session = calloc(1, sizeof *session);
    NEED_MEMORY(session);
    *session = (ClusterSession){.session = {&cluster_session_type}, .graph = graph_retain(graph), .graph_lock = graph_lock,
                                .config = parsed, .worker = worker, .placed = {device_of, note_placed}};
    mutex_init(&session->lock);
    mutex_init(&session->placed_lock);
    Status *status = open_session(session, options->config, options->target, options->handle, cancellation);
    if (status)
        free_session(&session->session);
    else
        *out = &session->session;
    return status;
}
