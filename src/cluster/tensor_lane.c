// Tensor lane — see tensor_lane.h.
//
// One host: process_vm_readv copies once, from tensor to tensor. 100 MB take the time of a memcpy; nothing is set up or torn
// down, and a kernel that forbids it (another user, Yama) is found out by the first call: the lane is asked then.
#define _GNU_SOURCE  // process_vm_readv
#include "cluster/tensor_lane.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cluster/server.h"

#define TAKEN_PREFIX "taken "

const EnvVar lane_variable = {"MILLRACE_LANE", "tcp", false, NULL};

struct TensorLanes {
    Steps *steps;
    LaneServer *server;
    int port;
};

// ---------------------------------------- which host

// The kernel that runs, and whose numbers of processes are meant; empty: nobody is on the same host.
static char host[128];
static LaneOfferProto offer;
static char offer_bytes[160];
static AnyProto offer_any = {.type_url = {LANE_OFFER_TYPE, sizeof LANE_OFFER_TYPE - 1}};

static void find_host(void) {
    char boot[64] = "";
    char space[48] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    bool known = file && !env_var_read(&lane_variable, NULL) && fscanf(file, "%63s", boot) == 1;
    if (file)
        fclose(file);
    known = known && readlink("/proc/self/ns/pid", space, sizeof space - 1) > 0;
    if (known)
        snprintf(host, sizeof host, "%s %s", boot, space);
    AUTO(text) Text text = {0};
    offer.host = str_of(host);
    Status *status = PROTO_ENCODE(LaneOfferProto, &offer, &text);
    if (!status && text.n <= sizeof offer_bytes) {
        memcpy(offer_bytes, text.p, text.n);
        offer_any.value = (Str){offer_bytes, text.n};
    }
    status_free(status);
}

const AnyProto *tensor_lane_offer(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_host);
    return &offer_any;
}

// ---------------------------------------- the side that has tensors

// "STEP KEY", after TAKEN_PREFIX where the receiver has it already.
static Status *answer_key(TensorLanes *lanes, Str key, Tensor *out) {
    size_t space = 0;
    int64_t id;
    Rendezvous *rendezvous;
    while (space < key.n && key.p[space] != ' ')
        space++;
    NEED(space < key.n && str_to_int((Str){key.p, space}, &id), INVALID_ARGUMENT, "no key of a tensor: %.*s", STR_ARGS(key));
    TRY(steps_visit(lanes->steps, id, &rendezvous));
    Str rest = {key.p + space + 1, key.n - space - 1};
    bool dead;
    Status *status = rendezvous_take_now(steps_local(rendezvous), rest, out, &dead);
    steps_leave(lanes->steps, id);
    rendezvous_release(rendezvous);
    return status;
}

static void release_buffer(void *buffer) {
    buffer_release(buffer);
}

static Status *send_tensor(Tensor *value, Payload **out) {
    Payload *payload;
    TRY(payload_new(&payload));
    Status *status = payload_add(payload, (Piece){value->data, tensor_bytes(value), release_buffer, value->buffer});
    value->buffer = NULL;  // the piece's, also where that failed
    if (status)
        payload_release(payload);
    else
        *out = payload;
    return status;
}

static void answer_request(void *arg, LaneRequest *request) {
    Str key = lane_request_key(request);
    size_t n = strlen(TAKEN_PREFIX);
    bool taken = key.n > n && !memcmp(key.p, TAKEN_PREFIX, n);
    Payload *payload = NULL;
    Tensor value = {0};
    Status *status = answer_key(arg, taken ? (Str){key.p + n, key.n - n} : key, &value);
    if (!status && !taken)
        status = send_tensor(&value, &payload);
    tensor_clear(&value);
    lane_answer(request, status, payload);
}

Status *tensor_lanes_new(Steps *steps, Str address, TensorLanes **out) {
    char text[300];
    EventLoop *loop;
    TRY(event_loop_bulk(&loop));
    TensorLanes *lanes = calloc(1, sizeof *lanes);
    NEED_MEMORY(lanes);
    lanes->steps = steps;
    snprintf(text, sizeof text, "%.*s:0", STR_ARGS(address));
    Status *status = lane_server_new(loop, NULL, answer_request, lanes, &lanes->server);
    if (!status)
        status = lane_server_listen(lanes->server, text, &lanes->port);
    if (status)
        tensor_lanes_free(lanes);
    else
        *out = lanes;
    return status;
}

void tensor_lanes_free(TensorLanes *lanes) {
    if (!lanes)
        return;
    if (lanes->server)
        lane_server_free(lanes->server);
    free(lanes);
}

bool tensor_lanes_take(const TensorLanes *lanes, const Tensor *value, const AnyProto *options) {
    return lanes && options && str_is(options->type_url, LANE_OFFER_TYPE) && dtype_is_plain(value->dtype) &&
           value->buffer && tensor_bytes(value) >= LANE_BYTES;
}

static bool is_here(const AnyProto *options) {
    AUTO(arena) Arena arena = {0};
    LaneOfferProto *other;
    tensor_lane_offer();
    Status *status = PROTO_DECODE(LaneOfferProto, &arena, options->value, &other);
    bool here = !status && host[0] && str_is(other->host, host);
    status_free(status);
    return here;
}

Status *tensor_lanes_answer(TensorLanes *lanes, int64_t step_id, Tensor value, const AnyProto *options, Payload **out) {
    static _Atomic uint64_t made = 0;
    char key[80];
    Rendezvous *rendezvous;
    int n = snprintf(key, sizeof key, "%lld ", (long long)step_id);
    snprintf(key + n, sizeof key - (size_t)n, "lane %llu", (unsigned long long)atomic_fetch_add(&made, 1));
    LaneTicketProto ticket = {.key = str_of(key), .bytes = tensor_bytes(&value), .port = lanes->port};
    if (is_here(options)) {
        ticket.process = (int32_t)getpid();
        ticket.address = (uint64_t)(uintptr_t)value.data;
    }
    Status *status = tensor_to_ticket(&value, &ticket, out);
    if (status) {
        tensor_clear(&value);
        return status;
    }
    status = steps_visit(lanes->steps, step_id, &rendezvous);
    if (status) {
        tensor_clear(&value);
        payload_release(*out);
        return status;
    }
    status = rendezvous_put(steps_local(rendezvous), str_of(key + n), value, false);
    steps_leave(lanes->steps, step_id);
    rendezvous_release(rendezvous);
    if (status)
        payload_release(*out);
    return status;
}

// ---------------------------------------- the side that wants them

static _Atomic bool forbidden;  // by the kernel: not tried again

// False: it can't be had so.
static bool read_memory(const LaneTicketProto *ticket, Tensor *value) {
    size_t n = tensor_bytes(value), got = 0;
    while (ticket->process && got < n && !atomic_load(&forbidden)) {
        struct iovec to = {(char *)value->data + got, n - got};
        struct iovec from = {(void *)(uintptr_t)(ticket->address + got), n - got};  // NOLINT(performance-no-int-to-ptr)
        ssize_t part = process_vm_readv((pid_t)ticket->process, &to, 1, &from, 1, 0);
        if (part <= 0 && errno == EINTR)
            continue;
        if (part <= 0) {
            atomic_store(&forbidden, part < 0 && (errno == EPERM || errno == ENOSYS));
            break;
        }
        got += (size_t)part;
    }
    return n && got == n;
}

typedef struct {
    TensorLaneDone *done;
    void *arg;
    void *data;
    size_t bytes;            // that are to come
} Filling;

static void *where_it_goes(void *arg, size_t n) {
    const Filling *filling = arg;
    return n <= filling->bytes ? filling->data : NULL;
}

static void stays(void *arg, void *bytes) {
    (void)arg, (void)bytes;
}

static void filled(void *arg, Status *status, Received *received) {
    Filling filling = *(Filling *)arg;
    bool short_of = !status && received->n != filling.bytes;
    received->bytes = NULL;
    free(arg);
    filling.done(filling.arg, short_of ? status_new(INTERNAL, __FILE__, __LINE__, "a lane brought %zu of %zu bytes",
                                                    received->n, filling.bytes) : status_copy(status));
}

// What was read counts once the sender has said that it was still there afterwards: a step that was given up meanwhile
// may have left other things in its place.
static Status *begin(Peer *peer, const LaneTicketProto *ticket, Tensor *value, Cancellation *cancellation,
                     TensorLaneDone *done, void *arg) {
    bool read = read_memory(ticket, value);
    char key[128];
    int n = snprintf(key, sizeof key, "%s%.*s", read ? TAKEN_PREFIX : "", STR_ARGS(ticket->key));
    NEED(n > 0 && n < (int)sizeof key, INTERNAL, "a ticket whose key has %zu bytes", ticket->key.n);
    Filling *filling = malloc(sizeof *filling);
    NEED_MEMORY(filling);
    *filling = (Filling){done, arg, value->data, read ? 0 : tensor_bytes(value)};
    PayloadMemory memory = {where_it_goes, stays, filling};
    LaneFetch fetch = {.key = {key, (size_t)n}, .deadline = NO_DEADLINE, .cancellation = cancellation,
                       .memory = &memory, .most_bytes = tensor_bytes(value)};
    Status *status = peer_lane_fetch(peer, ticket->port, &fetch, filled, filling);
    if (status)
        free(filling);
    return status;
}

void tensor_lane_fetch(Peer *peer, const LaneTicketProto *ticket, Tensor *value, Cancellation *cancellation,
                       TensorLaneDone *done, void *arg) {
    Status *status = begin(peer, ticket, value, cancellation, done, arg);
    if (status)
        done(arg, status);
}
