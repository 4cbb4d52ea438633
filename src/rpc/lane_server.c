// Lane server — the side of a lane that has the bytes; see lane.h.
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rpc/address.h"
#include "rpc/lane_internal.h"
#include "rpc/wire.h"

enum { MOST_REQUESTS = 65536 };  // at once of a client

typedef struct LaneClient LaneClient;

struct LaneServer {
    _Atomic int references;     // the user's and those of clients
    EventLoop *loop;
    char *secret;
    LaneHandler *handler;
    void *arg;
    EventSource listener;       // fd -1: none
    EventTask end;
    Mutex lock;
    Condition changed;
    int n_clients;              // guarded by lock
    bool ended;                 // guarded by lock: the listener is closed, and clients are told
    LaneClient *clients;        // on the loop's thread
};

struct LaneClient {
    Guard guard;
    LaneServer *server;         // retained
    LaneSocket *socket;
    bool trusted;
    LaneRequest *requests;      // neither cancelled nor sent
    size_t n_requests;
    LaneRequest *sending, **last;  // in turn
    LaneClient *next, **link;
};

struct LaneRequest {
    _Atomic int references;     // the list's, the handler's, the task's
    LaneClient *client;         // alive while the socket is
    LaneSocket *socket;         // retained
    uint32_t id;
    Text key;
    Cancellation cancellation;
    bool answered;
    Payload *payload;
    uint64_t left;              // of the answer
    size_t piece, at;           // where its next byte lies
    LaneRequest *next, **link;  // of requests; link NULL: not there any more
    LaneRequest *next_sending;
    EventTask run, cancel;
};

// ---- requests

static void release_request(LaneRequest *request, int references) {
    if (atomic_fetch_sub_explicit(&request->references, references, memory_order_acq_rel) != references)
        return;
    LaneSocket *socket = request->socket;
    cancellation_clear(&request->cancellation);
    payload_release(request->payload);
    text_clear(&request->key);
    free(request);
    lane_socket_release(socket);
}

Str lane_request_key(const LaneRequest *request) {
    return text_str(&request->key);
}

Cancellation *lane_request_cancellation(LaneRequest *request) {
    return &request->cancellation;
}

static void run_handler(EventTask *task) {
    LaneRequest *request = (LaneRequest *)((char *)task - offsetof(LaneRequest, run));
    LaneServer *server = request->client->server;
    server->handler(server->arg, request);
}

static void run_cancel(EventTask *task) {
    LaneRequest *request = (LaneRequest *)((char *)task - offsetof(LaneRequest, cancel));
    cancellation_cancel(&request->cancellation, NULL);
    release_request(request, 1);
}

static void unlist(LaneRequest *request) {
    *request->link = request->next;
    if (request->next)
        request->next->link = request->link;
    request->link = NULL;
    request->client->n_requests--;
}

// Nobody waits for it any more: what is being sent ends at its chunk.
static void drop(LaneRequest *request) {
    unlist(request);
    request->left = 0;
    if (request->answered)
        return;  // the list's reference goes with its turn
    guard_defer(&request->client->guard, &request->cancel);  // with the list's reference
}

static void enqueue(LaneRequest *request) {
    LaneClient *client = request->client;
    request->next_sending = NULL;
    *client->last = request;
    client->last = &request->next_sending;
}

void lane_answer(LaneRequest *request, Status *status, Payload *payload) {
    LaneClient *client = request->client;
    LaneSocket *socket = request->socket;
    Guard *guard = &client->guard;
    Str text = str_of(status_message(status));
    text.n = text.n < LANE_KEY ? text.n : LANE_KEY;
    int references = 1;  // the handler's
    guard_lock(guard);
    if (request->link && !socket->failure) {
        request->answered = true;
        request->left = payload && !status ? payload->bytes : 0;
        Status *put = lane_socket_put(socket, status ? LANE_FAIL : LANE_SIZE, (int)status_code(status), request->id, request->left,
                                      status ? text : STR(""));
        if (put)
            lane_socket_lose(socket, put);
        if (request->left) {
            request->payload = payload_retain(payload);
            enqueue(request);
        } else {
            unlist(request);
            references = 2;
        }
        lane_socket_flush(socket);
    }
    guard_unlock(guard);
    payload_release(payload);
    status_free(status);
    release_request(request, references);
}

// ---- what a client's socket does, under its guard

static Status *ask(LaneClient *client, const LaneHead *head, const char *text) {
    NEED(client->n_requests < MOST_REQUESTS, RESOURCE_EXHAUSTED, "more than %d requests at once", MOST_REQUESTS);
    LaneRequest *request = calloc(1, sizeof *request);
    NEED_MEMORY(request);
    text_add(&request->key, (Str){text, head->text});
    request->references = 2;  // the list's, the handler's
    request->client = client;
    request->socket = client->socket;
    atomic_fetch_add(&client->socket->references, 1);
    request->id = head->id;
    request->run.run = run_handler;
    request->cancel.run = run_cancel;
    cancellation_init(&request->cancellation, NULL);
    request->next = client->requests;
    request->link = &client->requests;
    if (request->next)
        request->next->link = &request->next;
    client->requests = request;
    client->n_requests++;
    guard_defer(&client->guard, &request->run);
    return OK;
}

static Status *take_record(LaneSocket *socket, const LaneHead *head, const char *text, uint8_t **out_to) {
    LaneClient *client = socket->owner;
    const char *secret = client->server->secret;
    (void)out_to;
    if (head->kind == LANE_HELLO) {
        NEED(head->bytes == LANE_MAGIC && (!secret || wire_same_secret((Str){text, head->text}, str_of(secret))), UNAUTHENTICATED,
             "the secret is missing or wrong");
        client->trusted = true;
        return OK;
    }
    NEED(client->trusted && (head->kind == LANE_ASK || head->kind == LANE_CANCEL), UNAVAILABLE, "the peer speaks another language");
    if (head->kind == LANE_ASK)
        return ask(client, head, text);
    LaneRequest *request = client->requests;
    while (request && request->id != head->id)
        request = request->next;
    if (request)
        drop(request);
    return OK;
}

// A chunk of the answer whose turn it is.
static Status *put_chunk(LaneSocket *socket, LaneRequest *request) {
    uint64_t n = request->left < LANE_CHUNK_BYTES ? request->left : LANE_CHUNK_BYTES;
    TRY(lane_socket_put(socket, LANE_CHUNK, 0, request->id, n, STR("")));
    request->left -= n;
    while (n) {
        const Piece *piece = &request->payload->pieces[request->piece];
        size_t taken = piece->n - request->at < n ? piece->n - request->at : (size_t)n;
        if (taken)
            NEED_MEMORY(send_queue_view(&socket->queue, request->payload, (const uint8_t *)piece->bytes + request->at, taken));
        n -= taken;
        request->at += taken;
        if (request->at == piece->n) {
            request->piece++;
            request->at = 0;
        }
    }
    return OK;
}

static Status *fill(LaneSocket *socket) {
    LaneClient *client = socket->owner;
    while (client->sending && !socket->queue.bytes) {
        LaneRequest *request = client->sending;
        client->sending = request->next_sending;
        if (!client->sending)
            client->last = &client->sending;
        Status *status = request->left ? put_chunk(socket, request) : OK;
        if (request->left && !status) {
            enqueue(request);
            continue;
        }
        if (request->link)
            unlist(request);
        release_request(request, 1);  // the list's
        TRY(status);
    }
    return OK;
}

static void nothing_arrives(LaneSocket *socket, const LaneHead *head) {
    (void)socket, (void)head;
}

static void count(LaneServer *server, int change) {
    mutex_lock(&server->lock);
    server->n_clients += change;
    condition_notify_all(&server->changed);
    mutex_unlock(&server->lock);
}

static void on_lost(LaneSocket *socket) {
    LaneClient *client = socket->owner;
    while (client->requests)
        drop(client->requests);
    for (LaneRequest *request = client->sending, *next; request; request = next) {
        next = request->next_sending;
        release_request(request, 1);
    }
    client->sending = NULL;
    client->last = &client->sending;
    *client->link = client->next;
    if (client->next)
        client->next->link = client->link;
    count(client->server, -1);
}

static void release_server(LaneServer *server) {
    if (atomic_fetch_sub_explicit(&server->references, 1, memory_order_acq_rel) != 1)
        return;
    condition_clear(&server->changed);
    mutex_clear(&server->lock);
    free(server->secret);
    free(server);
}

static void on_freed(void *owner) {
    LaneClient *client = owner;
    LaneServer *server = client->server;
    guard_clear(&client->guard);
    free(client);
    release_server(server);
}

static const LaneRole server_role = {.record = take_record, .arrived = nothing_arrives, .fill = fill, .lost = on_lost, .freed = on_freed};

// ---- clients that come

static bool take_client(LaneServer *server, int fd) {
    LaneClient *client = calloc(1, sizeof *client);
    if (!client)
        return false;
    guard_init(&client->guard, server->loop);
    client->server = server;
    client->last = &client->sending;
    Status *status = lane_socket_new(&server_role, client, &client->guard, fd, false, &client->socket);
    if (status) {
        status_free(status);
        guard_clear(&client->guard);
        free(client);
        return false;
    }
    atomic_fetch_add(&server->references, 1);
    client->next = server->clients;
    client->link = &server->clients;
    if (client->next)
        client->next->link = &client->next;
    server->clients = client;
    count(server, 1);
    lane_socket_release(client->socket);  // the loop has another
    return true;
}

static void on_accept(EventSource *source, uint32_t events) {
    LaneServer *server = (LaneServer *)((char *)source - offsetof(LaneServer, listener));
    (void)events;
    int fd = accept4(source->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0 && !take_client(server, fd))
        close(fd);
}

Status *lane_server_new(EventLoop *loop, const char *secret, LaneHandler *handler, void *arg, LaneServer **out) {
    if (!loop)
        TRY(event_loop_shared(&loop));
    LaneServer *server = calloc(1, sizeof *server);
    NEED_MEMORY(server);
    *server = (LaneServer){.references = 1, .loop = loop, .handler = handler, .arg = arg, .listener = {-1, on_accept}};
    mutex_init(&server->lock);
    condition_init(&server->changed);
    server->secret = secret ? strdup(secret) : NULL;
    if (secret && !server->secret) {
        release_server(server);
        return OUT_OF_MEMORY;
    }
    *out = server;
    return OK;
}

Status *lane_server_listen(LaneServer *server, const char *address, int *out_port) {
    int fd, port;
    NEED(server->listener.fd < 0, FAILED_PRECONDITION, "'%s': the server of this lane listens already", address);
    TRY(address_listen(address, &fd, &port));
    server->listener.fd = fd;
    Status *status = event_loop_add(server->loop, &server->listener, EPOLLIN);
    if (status) {
        close(fd);
        server->listener.fd = -1;
        return status;
    }
    *out_port = port;
    return OK;
}

static void run_end(EventTask *task) {
    LaneServer *server = (LaneServer *)((char *)task - offsetof(LaneServer, end));
    if (server->listener.fd >= 0) {
        event_loop_remove(server->loop, &server->listener);
        close(server->listener.fd);
    }
    for (LaneClient *client = server->clients; client; client = client->next) {
        guard_lock(&client->guard);
        lane_socket_lose(client->socket, status_new(UNAVAILABLE, __FILE__, __LINE__, "the server has stopped"));
        guard_unlock(&client->guard);
    }
    mutex_lock(&server->lock);
    server->ended = true;
    condition_notify_all(&server->changed);
    mutex_unlock(&server->lock);
}

void lane_server_free(LaneServer *server) {
    if (!server || !event_loop_is_alive(server->loop))
        return;
    server->end.run = run_end;
    event_loop_post(server->loop, &server->end);
    mutex_lock(&server->lock);
    while (!server->ended || server->n_clients)
        condition_wait(&server->changed, &server->lock);
    mutex_unlock(&server->lock);
    release_server(server);
}
