// Worker — see worker.h.
#include "cluster/worker.h"

#include <stdlib.h>

#include "cluster/client_error.h"
#include "cluster/worker_internal.h"
#include "proto/tensor_proto.h"
#include "resource/resource.h"
#include "session/step_stats.h"

// A master's session on this task.
typedef struct Entry {
    _Atomic int references;
    TaskSession *session;
    Arena arena;
    Str handle, master_task;
    int64_t master_incarnation;
    Mutex lock;
    Map parts;               // graph handle -> Part *; guarded by lock, as is what follows
    int64_t last_part;
} Entry;

static Entry *entry_retain(Entry *entry) {
    atomic_fetch_add(&entry->references, 1);
    return entry;
}

static void entry_release(Entry *entry) {
    if (!entry || atomic_fetch_sub(&entry->references, 1) != 1)
        return;
    size_t at = 0;
    Str key;
    void *part;
    while (map_next(&entry->parts, &at, &key, &part))
        part_release(part);
    map_clear(&entry->parts);
    task_session_release(entry->session);
    mutex_clear(&entry->lock);
    arena_clear(&entry->arena);
    free(entry);
}

static void entry_auto(Entry **entry) {
    entry_release(*entry);
}

// Taken out of the table before.
static void entry_close(Worker *worker, Entry *entry) {
    task_session_close(entry->session);
    steps_end_session(worker->steps, entry->session);
    entry_release(entry);
}

static Status *find_session(Worker *worker, Str handle, Entry **out) {
    mutex_lock(&worker->lock);
    Entry *entry = map_find(&worker->sessions, handle);
    if (entry)
        entry_retain(entry);
    mutex_unlock(&worker->lock);
    NEED(entry, ABORTED, "Session handle is not found: %.*s. Possibly this worker (\"%.*s\") just restarted.",
         STR_ARGS(handle), STR_ARGS(worker_task(worker)));
    *out = entry;
    return OK;
}

// ---------------------------------------- sessions

static Status *get_status(void *arg, ServiceCall *call, const void *message, void *response) {
    const DeviceSet *devices = &((Worker *)arg)->environment->devices;
    GetStatusResponseProto *out = response;
    (void)message;
    DeviceAttributesProto *protos = ARENA_ARRAY(&call->arena, DeviceAttributesProto, devices->n);
    DeviceLocalityProto *localities = ARENA_ARRAY(&call->arena, DeviceLocalityProto, devices->n);
    NEED_MEMORY(protos && localities);
    for (int i = 0; i < devices->n; i++) {
        const Device *device = devices->devices[i];
        protos[i] = (DeviceAttributesProto){.name = str_of(device->name), .device_type = str_of(device->type->name),
                                            .memory_limit = device->memory_limit, .locality = &localities[i],
                                            .incarnation = device->incarnation, .xla_global_id = -1};
    }
    out->device_attributes.p = protos;
    out->device_attributes.n = (size_t)devices->n;
    return OK;
}

// Sessions of the same master before it was restarted: nobody closes them any more.
static Entry *take_stale(Worker *worker, const CreateWorkerSessionRequestProto *request) {
    size_t at = 0;
    Str key;
    void *value;
    Entry *found = NULL;
    mutex_lock(&worker->lock);
    while (!found && request->master_task.n && map_next(&worker->sessions, &at, &key, &value)) {
        Entry *entry = value;
        if (str_equal(entry->master_task, request->master_task) &&
            entry->master_incarnation != request->master_incarnation)
            found = entry;
    }
    if (found)
        map_take(&worker->sessions, found->handle);
    mutex_unlock(&worker->lock);
    return found;
}

static Status *fill_entry(Worker *worker, const CreateWorkerSessionRequestProto *request, Entry *entry) {
    SessionConfig config = session_config_default();
    entry->handle = str_copy(&entry->arena, request->session_handle);
    entry->master_task = str_copy(&entry->arena, request->master_task);
    entry->master_incarnation = request->master_incarnation;
    NEED_MEMORY(entry->handle.p && entry->master_task.p);
    const ServerDef *def = request->server_def;
    TaskSessionOptions options = {.config = &config, .isolated = request->isolate_session_state, .task = worker_task(worker),
                                  .peers = worker->peers};
    if (def && def->cluster && def->cluster->job.n) {
        options.cluster = def->cluster;
        options.task = str_format(&entry->arena, "/job:%.*s/replica:%d/task:%d", STR_ARGS(def->job_name), def->replica,
                                  def->task_index);
        NEED_MEMORY(options.task.p);
    }
    return task_session_new(worker->environment, &options, &entry->session);
}

static Status *add_entry(Worker *worker, Entry *entry) {
    mutex_lock(&worker->lock);
    Status *status = OK;
    bool there = map_find(&worker->sessions, entry->handle) != NULL;  // a request that came again
    if (worker->closed)
        status = status_new(UNAVAILABLE, __FILE__, __LINE__, "the server ends");
    else if (!there && !map_set(&worker->sessions, entry->handle, entry))
        status = OUT_OF_MEMORY;
    mutex_unlock(&worker->lock);
    if (status || there)
        entry_release(entry);
    return status;
}

static Status *create_session(void *arg, ServiceCall *call, const void *message, void *response) {
    Worker *worker = arg;
    const CreateWorkerSessionRequestProto *request = message;
    (void)call, (void)response;
    for (Entry *stale; (stale = take_stale(worker, request));)
        entry_close(worker, stale);
    Entry *entry = calloc(1, sizeof *entry);
    NEED_MEMORY(entry);
    atomic_init(&entry->references, 1);
    mutex_init(&entry->lock);
    Status *status = fill_entry(worker, request, entry);
    if (!status)
        return add_entry(worker, entry);
    entry_release(entry);
    return status;
}

static Status *delete_session(void *arg, ServiceCall *call, const void *message, void *response) {
    Worker *worker = arg;
    const DeleteWorkerSessionRequestProto *request = message;
    (void)call, (void)response;
    mutex_lock(&worker->lock);
    Entry *entry = map_take(&worker->sessions, request->session_handle);
    mutex_unlock(&worker->lock);
    if (entry)
        entry_close(worker, entry);
    return OK;
}

// ---------------------------------------- graphs

static Status *keep_part(Entry *entry, Part *part, Str *out_handle) {
    mutex_lock(&entry->lock);
    Str handle = str_format(&entry->arena, "%016llx", (unsigned long long)++entry->last_part);
    Status *status = handle.p && map_set(&entry->parts, handle, part) ? OK : OUT_OF_MEMORY;
    mutex_unlock(&entry->lock);
    if (status)
        part_release(part);
    else
        *out_handle = handle;
    return status;
}

static Status *register_graph(void *arg, ServiceCall *call, const void *message, void *response) {
    const RegisterGraphRequestProto *request = message;
    RegisterGraphResponseProto *out = response;
    AUTO(entry) Entry *entry = NULL;
    Part *part;
    Str handle;
    TRY(find_session(arg, request->session_handle, &entry));
    TRY(part_of_proto(entry->session, request->graph_def, &part));
    TRY(keep_part(entry, part, &handle));
    out->graph_handle = str_copy(&call->arena, handle);
    NEED_MEMORY(out->graph_handle.p);
    return OK;
}

static Status *deregister_graph(void *arg, ServiceCall *call, const void *message, void *response) {
    const DeregisterGraphRequestProto *request = message;
    AUTO(entry) Entry *entry = NULL;
    (void)call, (void)response;
    TRY(find_session(arg, request->session_handle, &entry));
    mutex_lock(&entry->lock);
    Part *part = map_take(&entry->parts, request->graph_handle);
    mutex_unlock(&entry->lock);
    NEED(part, ABORTED, "Graph handle is not found: %.*s. Possibly, this worker just restarted.",
         STR_ARGS(request->graph_handle));
    part_release(part);
    return OK;
}

static Status *find_part(Entry *entry, Str handle, Part **out) {
    mutex_lock(&entry->lock);
    Part *part = map_find(&entry->parts, handle);
    if (part)
        part_retain(part);
    mutex_unlock(&entry->lock);
    NEED(part, ABORTED, "Graph handle is not found: %.*s", STR_ARGS(handle));
    *out = part;
    return OK;
}

// ---------------------------------------- steps

// What a call holds until its answer is encoded and its cancellation has left the session.
typedef struct {
    Entry *entry;
    Part *part;
    Rendezvous *rendezvous;
    VEC(Tensor) results;
    Trace trace;
    bool traced;
} Kept;

static void release_kept(void *arg) {
    Kept *kept = arg;
    for (size_t i = 0; i < kept->results.n; i++)
        tensor_clear(&kept->results.p[i]);
    vec_clear(&kept->results);
    if (kept->traced)
        trace_clear(&kept->trace);
    rendezvous_release(kept->rendezvous);
    part_release(kept->part);
    entry_release(kept->entry);
}

static Status *put_feeds(Rendezvous *rendezvous, const RunGraphRequestProto *request) {
    size_t budget = SPLAT_BUDGET;
    for (size_t i = 0; i < request->send.n; i++) {
        const NamedTensorProto *feed = &request->send.p[i];
        Tensor value;
        NEED(feed->tensor, INVALID_ARGUMENT, "feed '%.*s' has no tensor", STR_ARGS(feed->name));
        TRY(tensor_from_proto(feed->tensor, &budget, &value));
        TRY(rendezvous_put(rendezvous, feed->name, value, false));
    }
    return OK;
}

static Status *take_result(Rendezvous *rendezvous, Str key, Tensor *out) {
    bool dead;
    Status *status = rendezvous_take_now(rendezvous, key, out, &dead);
    if (status_code(status) == NOT_FOUND)
        return status_with_code(status, INVALID_ARGUMENT);
    TRY(status);
    NEED(!dead, INVALID_ARGUMENT, "The tensor returned for %.*s was not valid.", STR_ARGS(key));
    return OK;
}

static Status *give_results(Kept *kept, const RunGraphRequestProto *request, Arena *arena, RunGraphResponseProto *out) {
    size_t n = request->recv_key.n;
    NamedTensorProto *named = ARENA_ARRAY(arena, NamedTensorProto, n);
    NEED_MEMORY(named && vec_reserve(&kept->results, n));
    for (size_t i = 0; i < n; i++) {
        Tensor *value = &kept->results.p[kept->results.n];
        named[i].name = request->recv_key.p[i];
        TRY(take_result(steps_local(kept->rendezvous), named[i].name, value));
        kept->results.n++;
        TRY(tensor_to_proto(arena, value, &named[i].tensor));
    }
    out->recv.p = named;
    out->recv.n = n;
    return OK;
}

static Status *run_part(Worker *worker, ServiceCall *call, const RunGraphRequestProto *request, Kept *kept,
                        RunGraphResponseProto *out) {
    TRY(find_session(worker, request->session_handle, &kept->entry));
    TRY(find_part(kept->entry, request->graph_handle, &kept->part));
    NEED(!request->is_partial || !request->recv_key.n, UNIMPLEMENTED, "a partial run whose results go with its answers");
    NEED(recent_ids_add(&worker->requests, request->request_id), ABORTED,
         "The same RunGraph request was received twice (request id %lld).", (long long)request->request_id);
    TRY(steps_enter(worker->steps, request->step_id, kept->entry->session, &kept->rendezvous));
    TRY(put_feeds(steps_local(kept->rendezvous), request));
    if (request->is_partial) {
        WorkerStep step = {kept->entry->session, kept->part, kept->rendezvous};
        return worker_run_partial(worker, request->step_id, &step, request->is_last_partial_run, &call->cancelled);
    }
    const ExecutorOptsProto *wanted = request->exec_opts;
    kept->traced = wanted && (wanted->record_timeline || wanted->record_partition_graphs);
    if (kept->traced)
        trace_begin(&kept->trace);
    kept->trace.keeps_graphs = wanted && wanted->record_partition_graphs;
    cancellation_adopt(&call->cancelled, task_session_cancellation(kept->entry->session));
    PartRun run = {.step_id = request->step_id, .deadline = NO_DEADLINE, .rendezvous = kept->rendezvous,
                   .cancellation = &call->cancelled, .trace = kept->traced ? &kept->trace : NULL};
    TRY(part_run(kept->part, &run, NULL, NULL));
    if (wanted && wanted->record_timeline)
        TRY(step_stats_message(&kept->trace, &call->arena, &out->step_stats));
    out->partition_graph.p = kept->trace.graphs.p;
    out->partition_graph.n = kept->trace.graphs.n;
    return give_results(kept, request, &call->arena, out);
}

static Status *run_graph(void *arg, ServiceCall *call, const void *message, void *response) {
    Worker *worker = arg;
    const RunGraphRequestProto *request = message;
    RunGraphResponseProto *out = response;
    Kept *kept = ARENA_NEW(&call->arena, Kept);
    NEED_MEMORY(kept);
    call->kept = kept;
    call->release = release_kept;
    Status *status = client_error(run_part(worker, call, request, kept, out));
    // Who would ask for it, or clean up, is gone.
    if (status && cancellation_is_set(&call->cancelled))
        steps_end(worker->steps, request->step_id);
    if (!status || !request->store_errors_in_response_body)
        return status;
    *out = (RunGraphResponseProto){.status_code = (int32_t)status_code(status)};
    out->status_error_message = str_copy(&call->arena, str_of(status_message(status)));
    status_free(status);
    NEED_MEMORY(out->status_error_message.p);
    return OK;
}

static Status *cleanup_graph(void *arg, ServiceCall *call, const void *message, void *response) {
    int64_t id = ((const CleanupGraphRequestProto *)message)->step_id;
    (void)call, (void)response;
    worker_partial_end(arg, id);
    steps_end(((Worker *)arg)->steps, id);
    return OK;
}

static Status *cleanup_all(void *arg, ServiceCall *call, const void *message, void *response) {
    const CleanupAllRequestProto *request = message;
    struct ResourceTable *resources = ((Worker *)arg)->environment->resources;
    (void)call, (void)response;
    for (size_t i = 0; i < request->container.n; i++)
        resource_reset(resources, request->container.p[i]);
    if (!request->container.n)
        resource_reset(resources, DEFAULT_CONTAINER);
    return OK;
}

static Status *nothing(void *arg, ServiceCall *call, const void *message, void *response) {
    (void)arg, (void)call, (void)message, (void)response;
    return OK;
}

#define METHOD(Name, Request, Response, answer, begins) \
    {"/tensorflow.WorkerService/" Name, &message_##Request##Proto, &message_##Response##Proto, answer, begins}
const ServiceMethod worker_methods[] = {
    METHOD("GetStatus", Empty, GetStatusResponse, get_status, false),
    METHOD("CreateWorkerSession", CreateWorkerSessionRequest, Empty, create_session, true),
    METHOD("DeleteWorkerSession", DeleteWorkerSessionRequest, Empty, delete_session, false),
    METHOD("RegisterGraph", RegisterGraphRequest, RegisterGraphResponse, register_graph, false),
    METHOD("DeregisterGraph", DeregisterGraphRequest, Empty, deregister_graph, false),
    METHOD("RunGraph", RunGraphRequest, RunGraphResponse, run_graph, true),
    METHOD("CleanupGraph", CleanupGraphRequest, Empty, cleanup_graph, false),
    METHOD("CleanupAll", CleanupAllRequest, Empty, cleanup_all, false),
    METHOD("MarkRecvFinished", Empty, Empty, nothing, false),  // answers aren't kept to be sent again
    METHOD("Logging", Empty, Empty, nothing, false),           // nothing is logged but what RunGraph is asked to
    METHOD("Tracing", Empty, Empty, nothing, false),
    {0},
};

// ---------------------------------------- life

Status *worker_new(WorkerEnvironment *environment, Peers *peers, Str own, Worker **out) {
    Worker *worker = calloc(1, sizeof *worker);
    NEED_MEMORY(worker);
    mutex_init(&worker->lock);
    condition_init(&worker->idle);
    recent_ids_init(&worker->requests);
    recent_ids_init(&worker->received);
    worker->environment = worker_environment_retain(environment);
    worker->peers = peers;
    worker->own = strndup(own.p, own.n);
    Status *status = worker->own ? steps_new(&worker->steps) : OUT_OF_MEMORY;
    if (status)
        worker_free(worker);
    else
        *out = worker;
    return status;
}

Status *worker_listen(Worker *worker, Str host) {
    return worker->lanes ? OK : tensor_lanes_new(worker->steps, host, &worker->lanes);
}

void worker_close(Worker *worker) {
    Map sessions;
    size_t at = 0;
    Str key;
    void *entry;
    mutex_lock(&worker->lock);
    worker->closed = true;
    sessions = worker->sessions;
    worker->sessions = (Map){0};
    mutex_unlock(&worker->lock);
    while (map_next(&sessions, &at, &key, &entry))
        entry_close(worker, entry);
    map_clear(&sessions);
    if (worker->steps)
        steps_end_session(worker->steps, NULL);
}

void worker_free(Worker *worker) {
    if (!worker)
        return;
    worker_close(worker);
    mutex_lock(&worker->lock);
    while (worker->calls)
        condition_wait(&worker->idle, &worker->lock);
    mutex_unlock(&worker->lock);
    worker_partials_clear(worker);
    tensor_lanes_free(worker->lanes);
    steps_free(worker->steps);
    recent_ids_clear(&worker->requests);
    recent_ids_clear(&worker->received);
    worker_environment_release(worker->environment);
    condition_clear(&worker->idle);
    mutex_clear(&worker->lock);
    free(worker->own);
    free(worker);
}

Steps *worker_steps(Worker *worker) {
    return worker->steps;
}

Peers *worker_peers(Worker *worker) {
    return worker->peers;
}

WorkerEnvironment *worker_environment(Worker *worker) {
    return worker->environment;
}

Str worker_task(const Worker *worker) {
    return str_of(worker->own);
}
