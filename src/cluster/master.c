// Master — see master.h.
#include "cluster/master.h"

#include <stdlib.h>

#include "cluster/client_error.h"
#include "cluster/master_session.h"
#include "cluster/recent_ids.h"
#include "resource/resource.h"

struct Master {
    Worker *worker;
    RecentIds requests;
    Mutex lock;
    Map sessions;            // handle -> MasterSession *; guarded by lock
    bool closed;             // guarded by lock
};

Status *master_new(Worker *worker, Master **out) {
    Master *master = calloc(1, sizeof *master);
    NEED_MEMORY(master);
    mutex_init(&master->lock);
    recent_ids_init(&master->requests);
    master->worker = worker;
    *out = master;
    return OK;
}

// Takes all sessions out of the table; the caller releases them.
static void take_all(Master *master, Map *out) {
    mutex_lock(&master->lock);
    *out = master->sessions;
    master->sessions = (Map){0};
    mutex_unlock(&master->lock);
}

static void close_all(Map *sessions) {
    size_t at = 0;
    Str handle;
    void *session;
    while (map_next(sessions, &at, &handle, &session)) {
        master_session_close(session);
    }
    // A key is the session's own text: it goes last.
    at = 0;
    while (map_next(sessions, &at, &handle, &session))
        master_session_release(session);
    map_clear(sessions);
}

void master_close(Master *master) {
    Map sessions;
    mutex_lock(&master->lock);
    master->closed = true;
    mutex_unlock(&master->lock);
    take_all(master, &sessions);
    close_all(&sessions);
}

void master_free(Master *master) {
    if (!master)
        return;
    master_close(master);
    recent_ids_clear(&master->requests);
    mutex_clear(&master->lock);
    free(master);
}

// ---------------------------------------- sessions by handle

// Retained. `code` and what is said of a session that isn't there are the method's own.
static Status *find(Master *master, Str handle, Code code, const char *more, MasterSession **out) {
    mutex_lock(&master->lock);
    MasterSession *session = map_find(&master->sessions, handle);
    if (session)
        master_session_retain(session);
    mutex_unlock(&master->lock);
    NEED(session, code, "Session %.*s is not found.%s", STR_ARGS(handle), more);
    *out = session;
    return OK;
}

static void session_auto(MasterSession **session) {
    master_session_release(*session);
}

static Status *check_new(Master *master, int64_t request_id, const char *method) {
    NEED(recent_ids_add(&master->requests, request_id), ABORTED,
         "The same %s (Master) request was received twice. This may be because the request was sent again after a lost "
         "connection (request id %lld).", method, (long long)request_id);
    return OK;
}

// ---------------------------------------- methods

static Status *create_session(void *arg, ServiceCall *call, const void *message, void *response) {
    Master *master = arg;
    const CreateSessionRequestProto *request = message;
    CreateSessionResponseProto *out = response;
    MasterSession *session;
    TRY(master_session_new(request, master->worker, &call->cancelled, &session));
    out->session_handle = str_copy(&call->arena, master_session_handle(session));
    mutex_lock(&master->lock);
    Status *status = OK;
    if (master->closed)
        status = status_new(UNAVAILABLE, __FILE__, __LINE__, "the server ends");
    else if (!out->session_handle.p || !map_set(&master->sessions, master_session_handle(session), session))
        status = OUT_OF_MEMORY;
    mutex_unlock(&master->lock);
    if (status)
        master_session_release(session);
    return status;
}

static Status *extend_session(void *arg, ServiceCall *call, const void *message, void *response) {
    const ExtendSessionRequestProto *request = message;
    ExtendSessionResponseProto *out = response;
    AUTO(session) MasterSession *session = NULL;
    (void)call;
    TRY(find(arg, request->session_handle, ABORTED, "", &session));
    return master_session_extend(session, request->graph_def, request->current_graph_version, &out->new_graph_version);
}

// What a call of a step holds until its answer is encoded and its cancellation has left the session.
typedef struct {
    MasterSession *session;
    StepResults results;
} Kept;

static void release_kept(void *arg) {
    Kept *kept = arg;
    step_results_clear(&kept->results);
    master_session_release(kept->session);
}

static Status *keep(Master *master, ServiceCall *call, Str handle, Kept **out) {
    Kept *kept = ARENA_NEW(&call->arena, Kept);
    NEED_MEMORY(kept);
    call->kept = kept;
    call->release = release_kept;
    *out = kept;
    return find(master, handle, ABORTED, "", &kept->session);
}

static Status *run_step(void *arg, ServiceCall *call, const void *message, void *response) {
    const RunStepRequestProto *request = message;
    RunStepResponseProto *out = response;
    Kept *kept;
    TRY(keep(arg, call, request->session_handle, &kept));
    TRY(check_new(arg, request->request_id, "RunStep"));
    Status *status = client_error(master_session_run(kept->session, request, &call->cancelled, &kept->results, out));
    if (!status || !request->store_errors_in_response_body)
        return status;
    *out = (RunStepResponseProto){.status_code = (int32_t)status_code(status), .metadata = &kept->results.metadata};
    out->status_error_message = str_copy(&call->arena, str_of(status_message(status)));
    status_free(status);
    NEED_MEMORY(out->status_error_message.p);
    return OK;
}

static Status *partial_run_setup(void *arg, ServiceCall *call, const void *message, void *response) {
    const PartialRunSetupRequestProto *request = message;
    PartialRunSetupResponseProto *out = response;
    AUTO(session) MasterSession *session = NULL;
    TRY(find(arg, request->session_handle, ABORTED, "", &session));
    TRY(check_new(arg, request->request_id, "PartialRunSetup"));
    return master_session_partial(session, request, &call->arena, &out->partial_run_handle);
}

static Status *close_session(void *arg, ServiceCall *call, const void *message, void *response) {
    Master *master = arg;
    const CloseSessionRequestProto *request = message;
    (void)call, (void)response;
    mutex_lock(&master->lock);
    MasterSession *session = map_take(&master->sessions, request->session_handle);
    mutex_unlock(&master->lock);
    NEED(session, ABORTED, "Session %.*s is not found. Possibly, this master has restarted.",
         STR_ARGS(request->session_handle));
    master_session_close(session);
    master_session_release(session);
    return OK;
}

// All tasks that answer in time; one that is not there has nothing left to reset.
static Status *reset_others(Master *master, ServiceCall *call, const ResetRequestProto *request) {
    CleanupAllRequestProto cleanup = {.container = {request->container.p, request->container.n}};
    Peers *peers = worker_peers(master->worker);
    for (size_t i = 0; i < peers_count(peers); i++) {
        EmptyProto *reply;
        PeerCall cleaning = {.method = "CleanupAll", .type = &message_CleanupAllRequestProto, .request = &cleanup,
                             .deadline = clock_now() + PEER_LEASE_MS * (int64_t)CLOCK_MS, .cancellation = &call->cancelled};
        Status *status = peer_call_wait(peers_at(peers, i), &cleaning, &message_EmptyProto, &call->arena, (void **)&reply);
        if (status_code(status) != UNAVAILABLE)
            TRY(status);
        status_free(status);
    }
    return OK;
}

static Status *reset(void *arg, ServiceCall *call, const void *message, void *response) {
    Master *master = arg;
    const ResetRequestProto *request = message;
    Map sessions;
    (void)response;
    take_all(master, &sessions);
    close_all(&sessions);
    struct ResourceTable *resources = worker_environment(master->worker)->resources;
    for (size_t i = 0; i < request->container.n; i++)
        resource_reset(resources, request->container.p[i]);
    if (!request->container.n)
        resource_reset(resources, DEFAULT_CONTAINER);
    return reset_others(master, call, request);
}

static Status *list_devices(void *arg, ServiceCall *call, const void *message, void *response) {
    const ListDevicesRequestProto *request = message;
    AUTO(session) MasterSession *session = NULL;
    TRY(find(arg, request->session_handle, INVALID_ARGUMENT, "", &session));
    return master_session_devices(session, &call->arena, response);
}

static Status *make_callable(void *arg, ServiceCall *call, const void *message, void *response) {
    const MakeCallableRequestProto *request = message;
    MakeCallableResponseProto *out = response;
    AUTO(session) MasterSession *session = NULL;
    (void)call;
    TRY(find(arg, request->session_handle, ABORTED, "", &session));
    TRY(check_new(arg, request->request_id, "MakeCallable"));
    return master_session_make_callable(session, request->options, &out->handle);
}

static Status *run_callable(void *arg, ServiceCall *call, const void *message, void *response) {
    const RunCallableRequestProto *request = message;
    Kept *kept;
    TRY(keep(arg, call, request->session_handle, &kept));
    TRY(check_new(arg, request->request_id, "RunCallable"));
    return client_error(master_session_run_callable(kept->session, request, &call->cancelled, &kept->results, response));
}

static Status *release_callable(void *arg, ServiceCall *call, const void *message, void *response) {
    const ReleaseCallableRequestProto *request = message;
    AUTO(session) MasterSession *session = NULL;
    (void)call, (void)response;
    TRY(find(arg, request->session_handle, ABORTED, "", &session));
    return master_session_release_callable(session, request->handle);
}

#define METHOD(Name, Request, Response, answer, begins) \
    {"/tensorflow.MasterService/" Name, &message_##Request##Proto, &message_##Response##Proto, answer, begins}
const ServiceMethod master_methods[] = {
    METHOD("CreateSession", CreateSessionRequest, CreateSessionResponse, create_session, true),
    METHOD("ExtendSession", ExtendSessionRequest, ExtendSessionResponse, extend_session, false),
    METHOD("RunStep", RunStepRequest, RunStepResponse, run_step, true),
    METHOD("PartialRunSetup", PartialRunSetupRequest, PartialRunSetupResponse, partial_run_setup, true),
    METHOD("CloseSession", CloseSessionRequest, Empty, close_session, false),
    METHOD("Reset", ResetRequest, Empty, reset, false),
    METHOD("ListDevices", ListDevicesRequest, ListDevicesResponse, list_devices, false),
    METHOD("MakeCallable", MakeCallableRequest, MakeCallableResponse, make_callable, false),
    METHOD("RunCallable", RunCallableRequest, RunCallableResponse, run_callable, true),
    METHOD("ReleaseCallable", ReleaseCallableRequest, Empty, release_callable, false),
    {0},
};
