// Peers — see peers.h.
#include "cluster/peers.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "thread/mutex.h"

enum { PROBE_MS = PEER_LEASE_MS / 5 * 2, ANSWER_MS = PEER_LEASE_MS - PROBE_MS };

struct Peer {
    char *task, *address;
    Channel *channel;
    EventLoop *loop;
    EventTimer timer;        // of the next probe
    Mutex lock;
    PeerWatch *watches;      // guarded by lock, as is what follows
    bool probed;             // the timer is set, or a probe is out
    bool closed;
    Condition idle;          // not probed any more
    Cancellation ending;     // of probes
    Mutex lane_lock;
    Lane *lane;              // made when first asked for; guarded by lane_lock, as is the next
    int lane_port;
};

struct Peers {
    Peer *peers;
    size_t n;
};

// ---------------------------------------- probes

static void probe_done(void *arg, RpcReply *reply);

static bool probe_again(Peer *peer) {
    mutex_lock(&peer->lock);
    peer->probed = peer->watches && !peer->closed;
    bool again = peer->probed;
    condition_notify_all(&peer->idle);
    mutex_unlock(&peer->lock);
    return again;
}

static void probe(EventTimer *timer) {
    Peer *peer = (Peer *)((char *)timer - offsetof(Peer, timer));
    static const EmptyProto nothing = {0};
    PeerCall call = {.method = "GetStatus", .type = &message_EmptyProto, .request = &nothing,
                     .deadline = clock_now() + ANSWER_MS * (int64_t)CLOCK_MS, .cancellation = &peer->ending};
    if (!probe_again(peer))
        return;
    Status *status = peer_call(peer, &call, probe_done, peer);
    if (status)
        event_loop_set_timer(peer->loop, &peer->timer, clock_now() + PROBE_MS * (int64_t)CLOCK_MS);
    status_free(status);
}

// Under the lock: who unwatches afterwards can be sure of silence.
static void lose(Peer *peer, const Status *reason) {
    mutex_lock(&peer->lock);
    while (peer->watches) {
        PeerWatch *watch = peer->watches;
        peer->watches = watch->next;
        if (watch->next)
            watch->next->link = &peer->watches;
        watch->link = NULL;
        watch->lost(watch->arg, status_copy(reason));
    }
    mutex_unlock(&peer->lock);
}

static void probe_done(void *arg, RpcReply *reply) {
    Peer *peer = arg;
    Code code = status_code(reply->status);
    if (code == UNAVAILABLE || code == DEADLINE_EXCEEDED) {
        AUTO(status) Status *reason = status_new(
            UNAVAILABLE, __FILE__, __LINE__, "From %s:\nthe task does not answer: %s", peer->task,
            status_message(reply->status));
        lose(peer, reason);
    }
    if (probe_again(peer))
        event_loop_set_timer(peer->loop, &peer->timer, clock_now() + PROBE_MS * (int64_t)CLOCK_MS);
}

void peer_watch(Peer *peer, PeerWatch *watch) {
    mutex_lock(&peer->lock);
    watch->next = peer->watches;
    watch->link = &peer->watches;
    if (watch->next)
        watch->next->link = &watch->next;
    peer->watches = watch;
    bool first = !peer->probed && !peer->closed;
    peer->probed |= first;
    mutex_unlock(&peer->lock);
    if (first)
        event_loop_set_timer(peer->loop, &peer->timer, clock_now() + PROBE_MS * (int64_t)CLOCK_MS);
}

void peer_unwatch(Peer *peer, PeerWatch *watch) {
    mutex_lock(&peer->lock);
    if (watch->link) {
        *watch->link = watch->next;
        if (watch->next)
            watch->next->link = watch->link;
        watch->link = NULL;
    }
    mutex_unlock(&peer->lock);
}

// ---------------------------------------- calls

const char *peer_task(const Peer *peer) {
    return peer->task;
}

Status *peer_error(const char *task, Status *status) {
    const char *text = status_message(status), *way = strstr(text, " /tensorflow.WorkerService/");
    const char *words = way ? strstr(way, ": ") : NULL;
    if (words && strstr(words, "{{node "))
        text = words + 2;
    bool has_name = strstr(text, "From /job:") != NULL;
    if (!status || (has_name && text == status_message(status)))
        return status;
    Status *named = status_new(status_code(status), __FILE__, __LINE__, "%s%s%s%s", has_name ? "" : "From ",
                               has_name ? "" : task, has_name ? "" : ":\n", text);
    status_free(status);
    return named;
}

Status *peer_call(Peer *peer, const PeerCall *call, RpcDone *done, void *arg) {
    Text text = {0};
    Payload *payload;
    char method[80];
    snprintf(method, sizeof method, "/tensorflow.WorkerService/%s", call->method);
    Status *status = proto_encode(call->type, call->request, &text);
    if (!status)
        status = payload_new(&payload);
    if (status) {
        text_clear(&text);
        return status;
    }
    status = payload_add(payload, (Piece){text.p, text.n, free, text.p});
    if (status) {
        payload_release(payload);
        return status;
    }
    RpcCallOptions options = {.method = method, .request = payload, .cancellation = call->cancellation,
                              .deadline = call->deadline ? call->deadline : NO_DEADLINE,
                              .wait_for_ready = call->wait_for_ready};
    return channel_call(peer->channel, &options, done, arg, NULL);
}

typedef struct {
    Notification done;
    RpcReply reply;
} Waiting;

static void wake(void *arg, RpcReply *reply) {
    Waiting *waiting = arg;
    waiting->reply = *reply;
    *reply = (RpcReply){0};
    notification_notify(&waiting->done);
}

Status *peer_call_wait(Peer *peer, const PeerCall *call, const MessageType *reply_type, Arena *arena, void **out) {
    Waiting waiting = {0};
    TRY(peer_error(peer->task, peer_call(peer, call, wake, &waiting)));
    notification_wait(&waiting.done, NO_DEADLINE);  // the call ends with its deadline or cancellation
    Status *status = waiting.reply.status;
    waiting.reply.status = OK;
    if (!status) {
        Str bytes = str_copy(arena, (Str){(const char *)waiting.reply.message.bytes, waiting.reply.message.n});
        status = bytes.p ? proto_decode(arena, reply_type, bytes, out) : OUT_OF_MEMORY;
    }
    rpc_reply_clear(&waiting.reply);
    return peer_error(peer->task, status);
}

// A task that was restarted has another port.
static Status *open_lane(Peer *peer, int port) REQUIRES(peer->lane_lock) {
    char address[300];
    EventLoop *loop;
    const char *colon = strrchr(peer->address, ':');
    if (peer->lane && peer->lane_port == port)
        return OK;
    TRY(event_loop_bulk(&loop));
    lane_free(peer->lane);
    peer->lane = NULL;
    peer->lane_port = port;
    snprintf(address, sizeof address, "%.*s:%d", colon ? (int)(colon - peer->address) : 0, peer->address, port);
    return lane_new(loop, address, NULL, &peer->lane);
}

Status *peer_lane_fetch(Peer *peer, int port, const LaneFetch *fetch, LaneDone *done, void *arg) {
    mutex_lock(&peer->lane_lock);
    Status *status = open_lane(peer, port);
    if (!status)
        status = lane_fetch(peer->lane, fetch, done, arg);
    mutex_unlock(&peer->lane_lock);
    return peer_error(peer->task, status);
}

static void forget(void *arg, RpcReply *reply) {
    (void)arg, (void)reply;
}

void peer_tell(Peer *peer, const PeerCall *call) {
    status_free(peer_call(peer, call, forget, NULL));
}

// ---------------------------------------- life

static Status *peer_open(Peer *peer, const JobDef *job, const Int32ToStringEntry *task, Str name) {
    peer->task = strndup(name.p, name.n);
    peer->address = strndup(task->value.p, task->value.n);
    mutex_init(&peer->lock);
    mutex_init(&peer->lane_lock);
    condition_init(&peer->idle);
    cancellation_init(&peer->ending, NULL);
    NEED_MEMORY(peer->task && peer->address);
    peer->timer.fire = probe;
    TRY(event_loop_shared(&peer->loop));
    return status_prefix(channel_new(peer->address, NULL, &peer->channel), "job '%.*s', task %d", STR_ARGS(job->name),
                         task->key);
}

static Status *open_all(Peers *peers, const ClusterDef *cluster, Str own) {
    AUTO(arena) Arena arena = {0};
    size_t n = 0;
    for (size_t j = 0; j < cluster->job.n; j++)
        n += cluster->job.p[j].tasks.n;
    peers->peers = calloc(n + 1, sizeof *peers->peers);
    NEED_MEMORY(peers->peers);
    for (size_t j = 0; j < cluster->job.n; j++) {
        const JobDef *job = &cluster->job.p[j];
        for (size_t t = 0; t < job->tasks.n; t++) {
            Str name = str_format(&arena, "/job:%.*s/replica:0/task:%d", STR_ARGS(job->name), job->tasks.p[t].key);
            NEED_MEMORY(name.p);
            if (!str_equal(name, own))
                TRY(peer_open(&peers->peers[peers->n++], job, &job->tasks.p[t], name));
        }
    }
    return OK;
}

Status *peers_new(const ClusterDef *cluster, Str own, Peers **out) {
    Peers *peers = calloc(1, sizeof *peers);
    NEED_MEMORY(peers);
    Status *status = open_all(peers, cluster, own);
    if (status)
        peers_free(peers);
    else
        *out = peers;
    return status;
}

static void peer_close(Peer *peer) {
    mutex_lock(&peer->lock);
    peer->closed = true;
    mutex_unlock(&peer->lock);
    bool was_set = peer->loop && event_loop_clear_timer(peer->loop, &peer->timer);
    cancellation_cancel(&peer->ending, NULL);
    mutex_lock(&peer->lock);
    while (peer->probed && !was_set)
        condition_wait(&peer->idle, &peer->lock);
    mutex_unlock(&peer->lock);
    cancellation_clear(&peer->ending);
    channel_free(peer->channel);
    lane_free(peer->lane);
    condition_clear(&peer->idle);
    free(peer->task);
    free(peer->address);
    mutex_clear(&peer->lane_lock);
    mutex_clear(&peer->lock);
}

void peers_free(Peers *peers) {
    if (!peers)
        return;
    for (size_t i = 0; i < peers->n; i++)
        peer_close(&peers->peers[i]);
    free(peers->peers);
    free(peers);
}

size_t peers_count(const Peers *peers) {
    return peers ? peers->n : 0;
}

Peer *peers_at(Peers *peers, size_t i) {
    return &peers->peers[i];
}

Peer *peers_find(Peers *peers, Str task) {
    for (size_t i = 0; i < peers_count(peers); i++)
        if (str_is(task, peers->peers[i].task))
            return &peers->peers[i];
    return NULL;
}
