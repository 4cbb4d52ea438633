// Server — see server.h.
#include "cluster/server.h"

#include <stdlib.h>

#include "base/clock.h"
#include "cluster/master.h"

typedef enum { SERVER_NEW, SERVER_STARTED, SERVER_STOPPED } ServerState;

struct Server {
    Arena arena;
    const ClusterDef *cluster;
    Str host;                // of its own task, as the cluster names it
    int port;                // that it was given; 0: any
    char *target;
    WorkerEnvironment *environment;
    RpcServer *rpc;
    Master *master;
    Peers *peers;            // the other tasks
    Worker *worker;
    Service *service, *work; // the master's methods, and the worker's
    Mutex lock;
    Condition stopped;
    ServerState state;       // guarded by lock
};

// ---------------------------------------- who it is

static Status *find_task(const ServerDef *def, Str *out_address) {
    const ClusterDef *cluster = def->cluster;
    for (size_t j = 0; cluster && j < cluster->job.n; j++) {
        const JobDef *job = &cluster->job.p[j];
        if (!str_equal(job->name, def->job_name))
            continue;
        for (size_t t = 0; t < job->tasks.n; t++)
            if (job->tasks.p[t].key == def->task_index) {
                *out_address = job->tasks.p[t].value;
                return OK;
            }
        FAIL(INVALID_ARGUMENT, "Task %d is not defined in job \"%.*s\"", def->task_index, STR_ARGS(def->job_name));
    }
    FAIL(INVALID_ARGUMENT, "Job \"%.*s\" is not defined in the cluster", STR_ARGS(def->job_name));
}

// "host:port"; in brackets a host may have colons.
static Status *split_address(Str address, Str *out_host, int *out_port) {
    size_t colon = address.n;
    int64_t port = -1;
    while (colon && address.p[colon - 1] != ':')
        colon--;
    NEED(colon > 1 && str_to_int((Str){address.p + colon, address.n - colon}, &port) && port >= 0 && port <= UINT16_MAX,
         INVALID_ARGUMENT, "Could not parse port for local server from \"%.*s\"", STR_ARGS(address));
    *out_host = (Str){address.p, colon - 1};
    *out_port = (int)port;
    return OK;
}

static Status *read_def(Server *server, Str bytes, Str *out_task) {
    ServerDef *def;
    Str address, host;
    bytes = str_copy(&server->arena, bytes);
    NEED_MEMORY(bytes.p);
    TRY(PROTO_DECODE(ServerDef, &server->arena, bytes, &def));
    NEED(!def->protocol.n || str_is(def->protocol, "grpc"), NOT_FOUND,
         "No server factory registered for the given ServerDef: protocol \"%.*s\", there is \"grpc\"",
         STR_ARGS(def->protocol));
    TRY(find_task(def, &address));
    TRY(split_address(address, &host, &server->port));
    server->port = def->port ? def->port : server->port;
    server->host = str_copy(&server->arena, host);
    *out_task = str_format(&server->arena, "/job:%.*s/replica:%d/task:%d", STR_ARGS(def->job_name), def->replica,
                           def->task_index);
    NEED_MEMORY(server->host.p && out_task->p);
    server->cluster = def->cluster;
    return OK;
}

// ---------------------------------------- life

static Status *server_open(Server *server, Str bytes) {
    Str task;
    TRY(read_def(server, bytes, &task));
    TRY(worker_environment_new(task.p, NULL, 0, &server->environment));
    TRY(peers_new(server->cluster, task, &server->peers));
    TRY(worker_new(server->environment, server->peers, task, &server->worker));
    TRY(master_new(server->worker, &server->master));
    TRY(rpc_server_new(NULL, &server->rpc));
    TRY(service_new(server->rpc, worker_methods, server->worker, &server->work));
    TRY(worker_add_recv_tensor(server->worker, server->rpc));
    return service_new(server->rpc, master_methods, server->master, &server->service);
}

Status *server_new(Str server_def, Server **out) {
    Server *server = calloc(1, sizeof *server);
    NEED_MEMORY(server);
    mutex_init(&server->lock);
    condition_init(&server->stopped);
    Status *status = server_open(server, server_def);
    if (status)
        server_free(server);
    else
        *out = server;
    return status;
}

static Status *listen_and_name(Server *server) {
    int port;
    Str address = str_format(&server->arena, "%.*s:%d", STR_ARGS(server->host), server->port);
    NEED_MEMORY(address.p);
    if (peers_count(server->peers))
        TRY(worker_listen(server->worker, server->host));
    TRY(rpc_server_listen(server->rpc, address.p, &port));
    Text target = {0};
    text_format(&target, "grpc://%.*s:%d", STR_ARGS(server->host), port);
    NEED_MEMORY(!target.failed);
    server->target = target.p;
    return OK;
}

Status *server_start(Server *server) {
    Status *status = OK;
    mutex_lock(&server->lock);
    if (server->state == SERVER_STOPPED)
        status = status_new(FAILED_PRECONDITION, __FILE__, __LINE__, "Server has stopped; it does not start again.");
    else if (server->state == SERVER_NEW)
        status = listen_and_name(server);
    if (!status)
        server->state = SERVER_STARTED;
    mutex_unlock(&server->lock);
    return status;
}

Status *server_stop(Server *server) {
    mutex_lock(&server->lock);
    bool first = server->state != SERVER_STOPPED;
    server->state = SERVER_STOPPED;
    mutex_unlock(&server->lock);
    if (!first)
        return OK;
    master_close(server->master);
    worker_close(server->worker);
    rpc_server_stop(server->rpc);
    mutex_lock(&server->lock);
    condition_notify_all(&server->stopped);
    mutex_unlock(&server->lock);
    return OK;
}

static int64_t steps_that_run(const Server *server) {
    int64_t called = service_steps(server->service) + service_steps(server->work);
    // A part that has ended may have tensors that others have yet to get: until its master cleans up.
    int64_t known = (int64_t)steps_count(worker_steps(server->worker));
    return called > known ? called : known;
}

Status *server_drain(Server *server, int64_t deadline) {
    static const int64_t LOOK = 5 * (int64_t)CLOCK_MS;
    int64_t n;
    rpc_server_leave(server->rpc);
    service_drain(server->service);
    service_drain(server->work);
    mutex_lock(&server->lock);
    while ((n = steps_that_run(server)) && server->state == SERVER_STARTED && clock_now() < deadline)
        condition_wait_until(&server->stopped, &server->lock, clock_now() + LOOK);
    mutex_unlock(&server->lock);
    NEED(!n, DEADLINE_EXCEEDED, "%lld steps still run", (long long)n);
    return OK;
}

Status *server_join(Server *server) {
    mutex_lock(&server->lock);
    while (server->state == SERVER_STARTED)
        condition_wait(&server->stopped, &server->lock);
    mutex_unlock(&server->lock);
    return OK;
}

const char *server_target(const Server *server) {
    return server->target ? server->target : "";
}

void server_free(Server *server) {
    if (!server)
        return;
    if (server->rpc && server->master)
        status_free(server_stop(server));
    service_free(server->service);
    service_free(server->work);
    rpc_server_free(server->rpc);
    master_free(server->master);
    worker_free(server->worker);
    peers_free(server->peers);
    worker_environment_release(server->environment);
    condition_clear(&server->stopped);
    mutex_clear(&server->lock);
    free(server->target);
    arena_clear(&server->arena);
    free(server);
}
