// Lane — the side that wants the bytes; see lane.h.
#include "rpc/lane.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "rpc/address.h"
#include "rpc/lane_internal.h"

enum { MOST_FETCHES = 65536, SLOT = MOST_FETCHES - 1 };

typedef struct Fetch {
    _Atomic int references;   // the completion's, the timer's, the beginner's
    Lane *lane;               // retained
    uint32_t id;              // its slot, and above that how often the slot was used
    bool listed, finished, sized;
    uint64_t got, most_bytes;
    Received received;
    PayloadMemory memory;
    EventTimer timer;
    Cancellation *cancellation;
    CancelWatch watch;
    Status *status;
    EventTask task;
    LaneDone *done;
    void *arg;
    size_t key_n;
    char key[];
} Fetch;

struct Lane {
    Guard guard;
    _Atomic int references;   // the user's, those of fetches and sockets
    EventLoop *loop;
    char *address, *secret;
    Addresses addresses;
    int at;                   // the next address to try
    LaneSocket *socket;       // NULL: none
    VEC(Fetch *) slots;
    VEC(uint32_t) unused;     // ids of slots that are free
    bool freed;
};

static void release_lane(Lane *lane) {
    if (atomic_fetch_sub_explicit(&lane->references, 1, memory_order_acq_rel) != 1)
        return;
    guard_clear(&lane->guard);
    vec_clear(&lane->slots);
    vec_clear(&lane->unused);
    free(lane->address);
    free(lane->secret);
    free(lane);
}

// ---- fetches

static void release_fetch(Fetch *fetch, int references) {
    if (atomic_fetch_sub_explicit(&fetch->references, references, memory_order_acq_rel) != references)
        return;
    Lane *lane = fetch->lane;
    received_clear(&fetch->received);
    status_free(fetch->status);
    free(fetch);
    release_lane(lane);
}

static void run_done(EventTask *task) {
    Fetch *fetch = (Fetch *)((char *)task - offsetof(Fetch, task));
    bool had_timer = event_loop_clear_timer(fetch->lane->loop, &fetch->timer);
    if (fetch->cancellation)
        cancellation_unwatch(fetch->cancellation, &fetch->watch);
    fetch->done(fetch->arg, fetch->status, &fetch->received);
    release_fetch(fetch, had_timer ? 2 : 1);
}

static Fetch *find(const Lane *lane, uint32_t id) {
    size_t slot = id & SLOT;
    Fetch *fetch = slot < lane->slots.n ? lane->slots.p[slot] : NULL;
    return fetch && fetch->id == id ? fetch : NULL;
}

static Status *take_slot(Lane *lane, Fetch *fetch) {
    NEED_MEMORY(vec_reserve(&lane->unused, lane->slots.n + 1));  // giving one back can't fail
    if (lane->unused.n) {
        fetch->id = lane->unused.p[--lane->unused.n];
    } else {
        NEED(lane->slots.n < MOST_FETCHES, RESOURCE_EXHAUSTED, "more than %d fetches at once", MOST_FETCHES);
        fetch->id = (uint32_t)lane->slots.n;
        NEED_MEMORY(vec_push(&lane->slots, NULL));
    }
    lane->slots.p[fetch->id & SLOT] = fetch;
    fetch->listed = true;
    return OK;
}

// Takes the status. Under the guard; on the wire the fetch may go on until the server has heard.
static void finish(Fetch *fetch, Status *status) {
    Lane *lane = fetch->lane;
    if (fetch->finished) {
        status_free(status);
        return;
    }
    fetch->finished = true;
    fetch->status = status_prefix(status, "lane %s", lane->address);
    LaneSocket *socket = lane->socket;
    if (status) {
        received_clear(&fetch->received);
        if (socket && socket->left && socket->in.head.id == fetch->id)
            socket->to = NULL;
    }
    if (fetch->listed) {
        lane->slots.p[fetch->id & SLOT] = NULL;
        lane->unused.p[lane->unused.n++] = fetch->id + MOST_FETCHES;
        if (status && socket && !socket->failure) {
            Status *put = lane_socket_put(socket, LANE_CANCEL, 0, fetch->id, 0, STR(""));
            if (put)
                lane_socket_lose(socket, put);
            lane_socket_flush(socket);
        }
    }
    guard_defer(&lane->guard, &fetch->task);
}

static void on_deadline(EventTimer *timer) {
    Fetch *fetch = (Fetch *)((char *)timer - offsetof(Fetch, timer));
    Guard *guard = &fetch->lane->guard;
    guard_lock(guard);
    finish(fetch, status_new(DEADLINE_EXCEEDED, __FILE__, __LINE__, "the deadline has passed, with %zu of %zu bytes here",
                             (size_t)fetch->got, fetch->received.n));
    guard_unlock_and_run(guard);
    release_fetch(fetch, 1);
}

static void on_cancelled(void *arg) {
    Fetch *fetch = arg;
    Guard *guard = &fetch->lane->guard;
    guard_lock(guard);
    finish(fetch, cancellation_check(fetch->cancellation));
    guard_unlock(guard);
}

// ---- what the socket does, under the guard

static Status *begin_answer(Fetch *fetch, uint64_t n) {
    NEED(!fetch->most_bytes || n <= fetch->most_bytes, RESOURCE_EXHAUSTED, "%llu bytes; %llu at most are taken", (unsigned long long)n,
         (unsigned long long)fetch->most_bytes);
    fetch->sized = true;
    return received_init(&fetch->received, &fetch->memory, (size_t)n);
}

static Status *take_record(LaneSocket *socket, const LaneHead *head, const char *text, uint8_t **out_to) {
    Lane *lane = socket->owner;
    Fetch *fetch = find(lane, head->id);
    bool chunk = head->kind == LANE_CHUNK, size = head->kind == LANE_SIZE;
    NEED(chunk || size || head->kind == LANE_FAIL, UNAVAILABLE, "the peer speaks another language");
    if (!fetch)
        return OK;  // given up meanwhile
    if (chunk) {
        NEED(fetch->sized && head->bytes && head->bytes <= fetch->received.n - fetch->got, UNAVAILABLE,
             "the peer sends more than it said");
        *out_to = fetch->received.bytes + fetch->got;
        return OK;
    }
    NEED(!fetch->sized, UNAVAILABLE, "the peer answers twice");
    Code code = head->code && head->code <= UNAUTHENTICATED ? (Code)head->code : UNKNOWN;
    Status *status = size ? begin_answer(fetch, head->bytes)
                          : status_new(code, __FILE__, __LINE__, "%.*s", (int)head->text, text);
    if (status || !head->bytes)
        finish(fetch, status);
    return OK;
}

static void on_arrived(LaneSocket *socket, const LaneHead *head) {
    Fetch *fetch = find(socket->owner, head->id);
    if (!fetch)
        return;
    fetch->got += head->bytes;
    if (fetch->got == fetch->received.n)
        finish(fetch, OK);
}

static Status *nothing_to_add(LaneSocket *socket) {
    (void)socket;
    return OK;
}

static void on_lost(LaneSocket *socket) {
    Lane *lane = socket->owner;
    if (lane->socket == socket)
        lane->socket = NULL;
    for (size_t i = 0; i < lane->slots.n; i++)
        if (lane->slots.p[i])
            finish(lane->slots.p[i], status_new(UNAVAILABLE, __FILE__, __LINE__, "%s", status_message(socket->failure)));
}

static void on_freed(void *owner) {
    release_lane(owner);
}

static const LaneRole client_role = {
    .record = take_record, .arrived = on_arrived, .fill = nothing_to_add, .lost = on_lost, .freed = on_freed,
};

// ---- the lane

Status *lane_new(EventLoop *loop, const char *address, const char *secret, Lane **out) {
    Addresses found;
    TRY(address_resolve(address, false, &found));
    NEED(found.n, NOT_FOUND, "'%s' has no address", address);
    NEED(!secret || strlen(secret) <= LANE_KEY, INVALID_ARGUMENT, "a secret of more than %d bytes", LANE_KEY);
    if (!loop)
        TRY(event_loop_shared(&loop));
    Lane *lane = calloc(1, sizeof *lane);
    NEED_MEMORY(lane);
    *lane = (Lane){.references = 1, .loop = loop, .addresses = found, .address = strdup(address)};
    lane->secret = secret ? strdup(secret) : NULL;
    guard_init(&lane->guard, loop);
    if (!lane->address || (secret && !lane->secret)) {
        release_lane(lane);
        return OUT_OF_MEMORY;
    }
    *out = lane;
    return OK;
}

void lane_free(Lane *lane) {
    if (!lane || !event_loop_is_alive(lane->loop))
        return;
    guard_lock(&lane->guard);
    lane->freed = true;
    for (size_t i = 0; i < lane->slots.n; i++)
        if (lane->slots.p[i])
            finish(lane->slots.p[i], status_new(CANCELLED, __FILE__, __LINE__, "the lane has been freed"));
    if (lane->socket)
        lane_socket_lose(lane->socket, status_new(CANCELLED, __FILE__, __LINE__, "the lane has been freed"));
    lane->socket = NULL;
    guard_unlock(&lane->guard);
    release_lane(lane);
}

// Each address in turn, one for each loss.
static Status *connect_lane(Lane *lane) {
    int fd;
    TRY(address_connect(&lane->addresses.p[lane->at++ % lane->addresses.n], &fd));
    Status *status = lane_socket_new(&client_role, lane, &lane->guard, fd, true, &lane->socket);
    if (status) {
        close(fd);
        lane->socket = NULL;
        return status;
    }
    atomic_fetch_add(&lane->references, 1);  // the socket's
    lane_socket_release(lane->socket);       // the loop has another
    return lane_socket_put(lane->socket, LANE_HELLO, 0, 0, LANE_MAGIC, str_of(lane->secret ? lane->secret : ""));
}

static Status *send_key(Lane *lane, Fetch *fetch) {
    NEED(!lane->freed, CANCELLED, "the lane has been freed");
    if (!lane->socket)
        TRY(connect_lane(lane));
    NEED(!lane->socket->failure, UNAVAILABLE, "%s", status_message(lane->socket->failure));  // until it is closed
    TRY(take_slot(lane, fetch));
    TRY(lane_socket_put(lane->socket, LANE_ASK, 0, fetch->id, 0, (Str){fetch->key, fetch->key_n}));
    lane_socket_flush(lane->socket);
    return OK;
}

static void begin(Lane *lane, Fetch *fetch, int64_t deadline) {
    bool cancelled = false;
    if (deadline != NO_DEADLINE) {
        atomic_fetch_add(&fetch->references, 1);
        event_loop_set_timer(lane->loop, &fetch->timer, deadline);
    }
    if (fetch->cancellation)
        cancelled = !cancellation_watch(fetch->cancellation, &fetch->watch, on_cancelled, fetch);
    guard_lock(&lane->guard);
    Status *status = cancelled ? cancellation_check(fetch->cancellation) : fetch->finished ? OK : send_key(lane, fetch);
    if (status)
        finish(fetch, status);
    guard_unlock(&lane->guard);
    release_fetch(fetch, 1);
}

Status *lane_fetch(Lane *lane, const LaneFetch *options, LaneDone *done, void *arg) {
    NEED(options->key.n <= LANE_KEY, INVALID_ARGUMENT, "lane %s: a key of %zu bytes; %d at most", lane->address, options->key.n,
         LANE_KEY);
    NEED(event_loop_is_alive(lane->loop), FAILED_PRECONDITION, "lane %s: it was made before a fork", lane->address);
    Fetch *fetch = calloc(1, sizeof *fetch + options->key.n);
    NEED_MEMORY(fetch);
    fetch->references = 2;  // the completion's, and that of who begins it
    fetch->lane = lane;
    fetch->most_bytes = options->most_bytes;
    fetch->memory = options->memory ? *options->memory : (PayloadMemory){0};
    fetch->timer.fire = on_deadline;
    fetch->cancellation = options->cancellation;
    fetch->task.run = run_done;
    fetch->done = done;
    fetch->arg = arg;
    fetch->key_n = options->key.n;
    if (options->key.n)
        memcpy(fetch->key, options->key.p, options->key.n);
    atomic_fetch_add(&lane->references, 1);
    begin(lane, fetch, options->deadline);
    return OK;
}
