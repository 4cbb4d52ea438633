// RPC server — see rpc_server.h: listening, its clients, and how it ends.
#define _GNU_SOURCE
#include "rpc/rpc_server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rpc/address.h"
#include "rpc/rpc_server_internal.h"

enum { ACCEPTS = 64, PAUSE_MS = 100 };

// ---- made and freed

void rpc_server_retain(RpcServer *server) {
    atomic_fetch_add_explicit(&server->references, 1, memory_order_relaxed);
}

static void clear_methods(RpcServer *server) {
    size_t at = 0;
    Str name;
    void *value;
    while (map_next(&server->methods, &at, &name, &value)) {
        RpcMethod *method = value;
        free(method->name);
        free(method);
    }
    map_clear(&server->methods);
}

void rpc_server_release(RpcServer *server) {
    if (atomic_fetch_sub_explicit(&server->references, 1, memory_order_acq_rel) != 1)
        return;
    clear_methods(server);
    tls_context_free(server->tls);
    condition_clear(&server->changed);
    mutex_clear(&server->lock);
    free(server->secret);
    free(server);
}

static Status *fill(RpcServer *server, const RpcServerOptions *options) {
    server->secret = options->secret ? strdup(options->secret) : NULL;
    NEED_MEMORY(server->secret || !options->secret);
    if (options->tls)
        TRY(tls_context_new(options->tls, true, &server->tls));
    return health_add(server);
}

Status *rpc_server_new(const RpcServerOptions *options, RpcServer **out) {
    static const RpcServerOptions usual = {0};
    options = options ? options : &usual;
    EventLoop *loop = options->loop;
    if (!loop)
        TRY(event_loop_shared(&loop));
    RpcServer *server = calloc(1, sizeof *server);
    NEED_MEMORY(server);
    server->references = 1;
    server->loop = loop;
    server->limits = options->limits ? *options->limits : rpc_limits_of_server();
    mutex_init(&server->lock);
    condition_init(&server->changed);
    Status *status = fill(server, options);
    if (status)
        rpc_server_release(server);
    else
        *out = server;
    return status;
}

Status *rpc_server_add_method(RpcServer *server, const char *name, RpcHandler *handler, void *arg, bool open) {
    NEED(name[0] == '/', INVALID_ARGUMENT, "'%s' is no method: /package.Service/Method is expected", name);
    NEED(!map_find(&server->methods, str_of(name)), ALREADY_EXISTS, "the method %s is there already", name);
    RpcMethod *method = malloc(sizeof *method);
    NEED_MEMORY(method);
    *method = (RpcMethod){strdup(name), handler, arg, open};
    if (!method->name || !map_set(&server->methods, str_of(method->name), method)) {
        free(method->name);
        free(method);
        return OUT_OF_MEMORY;
    }
    return OK;
}

Status *rpc_server_add(RpcServer *server, const char *method, RpcHandler *handler, void *arg) {
    return rpc_server_add_method(server, method, handler, arg, false);
}

// ---- clients, on the loop's thread

static void count(RpcServer *server, int change) {
    mutex_lock(&server->lock);
    server->connections += change;
    condition_notify_all(&server->changed);
    mutex_unlock(&server->lock);
}

int rpc_server_connections(RpcServer *server) {
    mutex_lock(&server->lock);
    int n = server->connections;
    mutex_unlock(&server->lock);
    return n;
}

void rpc_server_lost(RpcPeer *peer) {
    *peer->link = peer->next;
    if (peer->next)
        peer->next->link = peer->link;
    count(peer->server, -1);
}

static Status *make_peer(RpcServer *server, int fd, const char *name, RpcPeer **out) {
    Tls *tls = NULL;
    if (server->tls)
        TRY(tls_new(server->tls, NULL, &tls));
    RpcPeer *peer = calloc(1, sizeof *peer);
    if (!peer) {
        tls_free(tls);
        return OUT_OF_MEMORY;
    }
    peer->server = server;
    guard_init(&peer->guard, server->loop);
    Status *status = connection_new(&rpc_server_role, peer, &peer->guard, fd, name, &server->limits, tls, &peer->connection);
    if (status) {
        tls_free(tls);
        guard_clear(&peer->guard);
        free(peer);
        return status;
    }
    rpc_server_retain(server);  // the peer's
    *out = peer;
    return OK;
}

// Takes the socket, but on failure.
static Status *take_client(RpcServer *server, int fd, const char *name) {
    RpcPeer *peer;
    address_tune(fd, server->limits.keepalive_wait);
    TRY(make_peer(server, fd, name, &peer));
    Connection *connection = peer->connection;
    Status *status = connection_start(connection);
    if (status) {
        connection->source.fd = -1;  // the caller closes it
    } else {
        peer->next = server->peers;
        peer->link = &server->peers;
        if (peer->next)
            peer->next->link = &peer->next;
        server->peers = peer;
        count(server, 1);
    }
    connection_release(connection);
    return status;
}

static void resume(EventTimer *timer) {
    Listener *listener = (Listener *)((char *)timer - offsetof(Listener, pause));
    event_loop_change(listener->server->loop, &listener->source, EPOLLIN);
}

static void on_accept(EventSource *source, uint32_t events) {
    Listener *listener = (Listener *)source;
    RpcServer *server = listener->server;
    (void)events;
    for (int i = 0; i < ACCEPTS; i++) {
        char name[ADDRESS_TEXT];
        Address from = {.n = sizeof from.of};
        int fd = accept4(source->fd, (struct sockaddr *)&from.of, &from.n, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
            event_loop_change(server->loop, source, 0);  // it would be ready without end
            event_loop_set_timer(server->loop, &listener->pause, clock_now() + PAUSE_MS * (int64_t)CLOCK_MS);
        }
        if (fd < 0)
            return;
        address_write(&from, name);
        bool room = (uint32_t)rpc_server_connections(server) < server->limits.connections;
        Status *status = room ? take_client(server, fd, name) : OK;
        if (!room || status)
            close(fd);
        status_free(status);
    }
}

// ---- listening

// What the loop's thread does for another, which waits.
typedef struct {
    EventTask task;
    RpcServer *server;
    Listener *listener;
    int fd;
    Status *status;
    Notification done;
} Order;

static Status *order(RpcServer *server, void (*run)(EventTask *), Order *order) {
    NEED(event_loop_is_alive(server->loop), FAILED_PRECONDITION, "the server was made before a fork");
    order->task.run = run;
    order->server = server;
    if (event_loop_is_inside(server->loop)) {
        run(&order->task);
    } else {
        event_loop_post(server->loop, &order->task);
        notification_wait(&order->done, NO_DEADLINE);  // the loop's thread blocks for nobody
    }
    return order->status;
}

static void run_listen(EventTask *task) {
    Order *order = (Order *)task;
    RpcServer *server = order->server;
    Listener *listener = order->listener;
    order->status = event_loop_add(server->loop, &listener->source, EPOLLIN);
    if (!order->status) {
        listener->next = server->listeners;
        server->listeners = listener;
    }
    notification_notify(&order->done);
}

Status *rpc_server_listen(RpcServer *server, const char *address, int *out_port) {
    int fd, port;
    TRY(address_listen(address, &fd, &port));
    Order listen = {.listener = calloc(1, sizeof *listen.listener)};
    Status *status = listen.listener ? OK : OUT_OF_MEMORY;
    if (!status) {
        *listen.listener = (Listener){.source = {fd, on_accept}, .pause.fire = resume, .server = server};
        status = order(server, run_listen, &listen);
    }
    if (status) {
        close(fd);
        free(listen.listener);
        return status;
    }
    *out_port = port;  // NOLINT(clang-analyzer-unix.Malloc): the loop has the listener, until close_listeners
    return OK;
}

static void run_adopt(EventTask *task) {
    Order *order = (Order *)task;
    order->status = take_client(order->server, order->fd, "a socket of our own");
    notification_notify(&order->done);
}

Status *rpc_server_adopt(RpcServer *server, int fd) {
    Status *status = order(server, run_adopt, &(Order){.fd = fd});
    if (status)
        close(fd);
    return status;
}

// ---- the end

static void close_listeners(RpcServer *server) {
    while (server->listeners) {
        Listener *listener = server->listeners;
        server->listeners = listener->next;
        event_loop_clear_timer(server->loop, &listener->pause);
        event_loop_remove(server->loop, &listener->source);
        close(listener->source.fd);
        free(listener);
    }
}

static void run_drain(EventTask *task) {
    Order *order = (Order *)task;
    RpcServer *server = order->server;
    atomic_store(&server->draining, true);
    close_listeners(server);
    for (RpcPeer *peer = server->peers; peer; peer = peer->next) {
        guard_lock(&peer->guard);
        connection_drain(peer->connection);
        guard_unlock(&peer->guard);
    }
    notification_notify(&order->done);
}

static void run_stop(EventTask *task) {
    Order *order = (Order *)task;
    RpcServer *server = order->server;
    atomic_store(&server->stopped, true);
    close_listeners(server);
    for (RpcPeer *peer = server->peers; peer; peer = peer->next) {
        guard_lock(&peer->guard);
        connection_lose(peer->connection, status_new(UNAVAILABLE, __FILE__, __LINE__, "the server has stopped"));
        guard_unlock(&peer->guard);
    }
    notification_notify(&order->done);
}

static int wait_for_clients(RpcServer *server, int64_t deadline) {
    mutex_lock(&server->lock);
    while (server->connections && condition_wait_until(&server->changed, &server->lock, deadline)) {
    }
    int n = server->connections;
    mutex_unlock(&server->lock);
    return n;
}

void rpc_server_leave(RpcServer *server) {
    atomic_store(&server->draining, true);
}

Status *rpc_server_drain(RpcServer *server, int64_t deadline) {
    NEED(!event_loop_is_inside(server->loop), FAILED_PRECONDITION, "the loop's thread can't wait for a server's calls");
    TRY(order(server, run_drain, &(Order){0}));
    int n = wait_for_clients(server, deadline);
    NEED(!n, DEADLINE_EXCEEDED, "%d clients still have calls running", n);
    return OK;
}

void rpc_server_stop(RpcServer *server) {
    Status *status = order(server, run_stop, &(Order){0});
    if (!status && !event_loop_is_inside(server->loop))
        wait_for_clients(server, NO_DEADLINE);
    status_free(status);
}

void rpc_server_free(RpcServer *server) {
    if (!server)
        return;
    rpc_server_stop(server);
    rpc_server_release(server);
}
