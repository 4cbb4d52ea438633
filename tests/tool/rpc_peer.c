// rpc_peer — a server and a client of src/rpc, for the tests against gRPC's own library and for the bench.
//
//     rpc_peer serve [options]                     says its port, serves until its input ends
//     rpc_peer call ADDRESS METHOD [options]       sends its input; says code, message and metadata, then the reply's bytes
//     rpc_peer time ADDRESS REQUEST REPLY CALLS AT-ONCE [options]   microseconds of calls: half of them, 99 of 100, and a second's
//
// Options: --secret S, --roots FILE, --chain FILE, --key FILE, --name HOST, --timeout MS, --metadata NAME=VALUE,
// --bulk ADDRESS (time: 100 MB at a time are fetched from there meanwhile), --message-bytes N.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rpc/channel.h"
#include "rpc/rpc_server.h"
#include "thread/pool.h"
#include "thread/wait_test.h"

typedef struct {
    ChannelOptions called;
    RpcServerOptions served;
    RpcLimits limits;
    TlsFiles tls;
    Metadata metadata;
    int64_t timeout_ms;
    const char *bulk;
} Options;

static int fail(Status *status) {
    fprintf(stderr, "rpc_peer: %s\n", status_message(status));
    status_free(status);
    return 1;
}

static bool read_options(char **words, Options *o) {
    for (; *words; words += 2) {
        const char *name = words[0], *value = words[1];
        if (!value)
            return false;
        if (!strcmp(name, "--secret"))
            o->called.secret = o->served.secret = value;
        else if (!strcmp(name, "--roots"))
            o->tls.roots = value;
        else if (!strcmp(name, "--chain"))
            o->tls.chain = value;
        else if (!strcmp(name, "--key"))
            o->tls.key = value;
        else if (!strcmp(name, "--name"))
            o->tls.name = value;
        else if (!strcmp(name, "--bulk"))
            o->bulk = value;
        else if (!strcmp(name, "--timeout"))
            o->timeout_ms = atoll(value);
        else if (!strcmp(name, "--message-bytes"))
            o->limits.message_bytes = (size_t)atoll(value);
        else if (!strcmp(name, "--metadata") && strchr(value, '='))
            (void)!metadata_add(&o->metadata, (Str){value, (size_t)(strchr(value, '=') - value)}, str_of(strchr(value, '=') + 1));
        else
            return false;
    }
    if (o->tls.roots || o->tls.chain)
        o->called.tls = o->served.tls = &o->tls;
    return true;
}

// ---- the server

static Payload *zeros;  // what Size answers from

static void free_received(void *owner) {
    Received *received = owner;
    received_clear(received);
    free(received);
}

static void echo(void *arg, RpcRequest *request) {
    (void)arg;
    Str value;
    Payload *answer = NULL;
    Status *status = OK;
    if (rpc_request_metadata(request, STR("echo-header"), &value))
        status = rpc_request_add_header(request, STR("echo-header"), value);
    if (!status && rpc_request_metadata(request, STR("echo-trailer-bin"), &value))
        status = rpc_request_add_trailer(request, STR("echo-trailer-bin"), value);
    Received *message = rpc_request_message(request), *taken = status ? NULL : malloc(sizeof *taken);
    status = status ? status : payload_new(&answer);
    if (!status && taken) {
        *taken = *message;
        message->bytes = NULL;
        status = payload_add(answer, (Piece){taken->bytes, taken->n, free_received, taken});
    }
    rpc_request_answer(request, status, answer);
}

static void release_zeros(void *owner) {
    payload_release(owner);
}

// The request begins with how many bytes are wanted, as 8 bytes.
static void size(void *arg, RpcRequest *request) {
    (void)arg;
    uint64_t n = 0;
    Payload *answer = NULL;
    const Received *message = rpc_request_message(request);
    if (message->n >= sizeof n)
        memcpy(&n, message->bytes, sizeof n);
    Status *status = n > zeros->bytes ? status_new(OUT_OF_RANGE, __FILE__, __LINE__, "%zu bytes at most", zeros->bytes)
                                      : payload_new(&answer);
    if (!status && n < 4096)
        status = payload_copy(answer, zeros->pieces[0].bytes, n);
    else if (!status)
        status = payload_add(answer, (Piece){zeros->pieces[0].bytes, n, release_zeros, payload_retain(zeros)});
    rpc_request_answer(request, status, answer);
}

static void refuse(void *arg, RpcRequest *request) {
    (void)arg;
    rpc_request_answer(request, status_new(FAILED_PRECONDITION, __FILE__, __LINE__, "100%% of \xc3\xa9\n\t [[{{node a}}]]"), NULL);
}

static void say_cancelled(void *arg) {
    (void)arg;
    printf("cancelled\n");
    fflush(stdout);
}

static void wait_for_cancel(void *arg) {
    RpcRequest *request = arg;
    Notification never = {0};
    Status *reason = wait_for_event(rpc_request_cancellation(request), &never, clock_now() + 60000 * (int64_t)CLOCK_MS);
    say_cancelled(NULL);
    rpc_request_answer(request, reason, NULL);
}

static void hang(void *arg, RpcRequest *request) {
    (void)arg;
    if (!pool_elastic(wait_for_cancel, request))
        rpc_request_answer(request, OUT_OF_MEMORY, NULL);
}

static int serve(const Options *o) {
    RpcServer *server;
    int port;
    char byte;
    size_t n = (size_t)128 << 20;
    void *memory = calloc(1, n);
    Status *status = memory ? payload_new(&zeros) : OUT_OF_MEMORY;
    status = status ? status : payload_add(zeros, (Piece){memory, n, free, memory});
    status = status ? status : rpc_server_new(&o->served, &server);
    status = status ? status : rpc_server_add(server, "/test.Peer/Echo", echo, NULL);
    status = status ? status : rpc_server_add(server, "/test.Peer/Size", size, NULL);
    status = status ? status : rpc_server_add(server, "/test.Peer/Fail", refuse, NULL);
    status = status ? status : rpc_server_add(server, "/test.Peer/Hang", hang, NULL);
    status = status ? status : rpc_server_listen(server, "127.0.0.1:0", &port);
    if (status)
        return fail(status);
    printf("%d\n", port);
    fflush(stdout);
    while (read(0, &byte, 1) > 0) {
    }
    status = rpc_server_drain(server, clock_now() + 2000 * (int64_t)CLOCK_MS);
    printf("drained %s\n", code_name(status_code(status)));
    status_free(status);
    rpc_server_free(server);
    payload_release(zeros);
    return 0;
}

// ---- the client

static int call(const char *address, const char *method, const Options *o) {
    Text input = {0};
    while (text_reserve(&input, 1 << 20)) {
        ssize_t n = read(0, input.p + input.n, 1 << 20);
        if (n <= 0)
            break;
        input.n += (size_t)n;
    }
    Channel *channel;
    RpcReply reply = {0};
    RpcCallOptions options = {.method = method, .metadata = &o->metadata, .deadline = clock_now() + o->timeout_ms * (int64_t)CLOCK_MS};
    Status *status = payload_of(input.p, input.n, &options.request);
    status = status ? status : channel_new(address, &o->called, &channel);
    if (status)
        return fail(status);
    status = channel_call_wait(channel, &options, &reply);
    printf("%s %s\n", code_name(status_code(status)), status_message(status));
    size_t i = 0, at = 0;
    Str name, value;
    while (metadata_next(&reply.metadata, &i, &at, &name, &value))
        printf("%.*s=%.*s\n", STR_ARGS(name), STR_ARGS(value));
    printf("\n");
    fwrite(reply.message.bytes, 1, reply.message.n, stdout);
    status_free(status);
    rpc_reply_clear(&reply);
    channel_free(channel);
    text_clear(&input);
    return 0;
}

// ---- the clock

typedef struct {
    Channel *channel;
    size_t request_bytes;
    uint64_t reply_bytes;
    int calls, at_once, begun, ended;
    double *took;
    _Atomic int failed;
    Notification done;
} Timing;

typedef struct {
    Timing *timing;
    int64_t begun;
} Timed;

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static Payload *wish(const Timing *timing) {
    Payload *request;
    char bytes[65536] = {0};
    memcpy(bytes, &timing->reply_bytes, sizeof timing->reply_bytes);
    return payload_of(bytes, timing->request_bytes, &request) ? NULL : request;
}

static void begin(Timing *timing, Timed *slot);

// On the loop's thread, all of them.
static void ended(void *arg, RpcReply *reply) {
    Timed *slot = arg;
    Timing *timing = slot->timing;
    if (reply->status)
        atomic_fetch_add(&timing->failed, 1);
    timing->took[timing->ended++] = (double)(clock_now() - slot->begun) * 1e-3;
    if (timing->begun < timing->calls)
        begin(timing, slot);
    else if (timing->ended == timing->calls)
        notification_notify(&timing->done);
}

static void begin(Timing *timing, Timed *slot) {
    const RpcCallOptions options = {.method = "/test.Peer/Size", .request = wish(timing), .deadline = NO_DEADLINE};
    timing->begun++;
    slot->begun = clock_now();
    status_free(channel_call(timing->channel, &options, ended, slot, NULL));
}

// The reply always goes to the same place, as a tensor's does that is fetched at every step.
static void *keep_alloc(void *arg, size_t n) {
    Text *kept = arg;
    return text_reserve(kept, n) ? kept->p : NULL;
}

static void keep_free(void *arg, void *bytes) {
    (void)arg, (void)bytes;
}

static void one_by_one(Timing *timing) {
    Text kept = {0};
    const PayloadMemory memory = {keep_alloc, keep_free, &kept};
    for (int i = 0; i < timing->calls; i++) {
        RpcReply reply = {0};
        const RpcCallOptions options = {.method = "/test.Peer/Size", .request = wish(timing), .deadline = NO_DEADLINE,
                                        .memory = &memory};
        int64_t begun = clock_now();
        Status *status = channel_call_wait(timing->channel, &options, &reply);
        timing->took[i] = (double)(clock_now() - begun) * 1e-3;
        timing->failed += status != NULL;
        status_free(status);
        rpc_reply_clear(&reply);
    }
    text_clear(&kept);
}

static void many_at_once(Timing *timing) {
    Timed *slots = calloc((size_t)timing->at_once, sizeof *slots);
    for (int i = 0; i < timing->at_once && i < timing->calls; i++) {
        slots[i].timing = timing;
        begin(timing, &slots[i]);
    }
    notification_wait(&timing->done, NO_DEADLINE);
    free(slots);
}

static double processor_seconds(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) + 1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static _Atomic bool bulk_ends;

static void fetch_bulk(void *arg) {
    Timing bulk = {.channel = arg, .request_bytes = 8, .reply_bytes = 100000000};
    while (!atomic_load(&bulk_ends)) {
        RpcReply reply = {0};
        const RpcCallOptions options = {.method = "/test.Peer/Size", .request = wish(&bulk), .deadline = NO_DEADLINE};
        status_free(channel_call_wait(bulk.channel, &options, &reply));
        rpc_reply_clear(&reply);
    }
    notification_notify(&bulk.done);
    channel_free(bulk.channel);
    atomic_store(&bulk_ends, false);
}

static int time_calls(char **words, const Options *o) {
    Timing timing = {.request_bytes = (size_t)atoll(words[1]), .reply_bytes = (uint64_t)atoll(words[2]), .calls = atoi(words[3]),
                     .at_once = atoi(words[4])};
    Channel *bulk = NULL;
    Status *status = channel_new(words[0], &o->called, &timing.channel);
    if (!status && o->bulk)
        status = channel_new(o->bulk, &o->called, &bulk);
    timing.request_bytes = timing.request_bytes < 8 ? 8 : timing.request_bytes > 65536 ? 65536 : timing.request_bytes;
    timing.took = calloc((size_t)timing.calls + 1, sizeof *timing.took);
    if (status || !timing.took || timing.calls < 1)
        return fail(status);
    Timing warm = timing;
    warm.calls = timing.calls < 20 ? 1 : 20;
    one_by_one(&warm);
    if (bulk && !pool_elastic(fetch_bulk, bulk))
        return 1;
    double processor = processor_seconds();
    int64_t begun = clock_now();
    if (timing.at_once > 1)
        many_at_once(&timing);
    else
        one_by_one(&timing);
    double seconds = (double)(clock_now() - begun) * 1e-9;
    processor = processor_seconds() - processor;
    atomic_store(&bulk_ends, bulk != NULL);
    qsort(timing.took, (size_t)timing.calls, sizeof *timing.took, compare);
    printf("%.2f %.2f %.0f %d %.2f\n", timing.took[timing.calls / 2], timing.took[timing.calls / 100 * 99], timing.calls / seconds,
           (int)timing.failed, processor / timing.calls * 1e6);
    while (atomic_load(&bulk_ends))
        usleep(1000);
    channel_free(timing.channel);
    free(timing.took);
    return timing.failed != 0;
}

int main(int n, char **words) {
    Options o = {.timeout_ms = 60000, .limits = rpc_limits_of_server()};
    const char *mode = n > 1 ? words[1] : "";
    int first = !strcmp(mode, "serve") ? 2 : !strcmp(mode, "call") ? 4 : !strcmp(mode, "time") ? 7 : n + 1;
    o.served.limits = &o.limits;
    if (first > n || !read_options(words + first, &o)) {
        fprintf(stderr, "usage: rpc_peer serve | call ADDRESS METHOD | time ADDRESS REQUEST REPLY CALLS AT-ONCE\n");
        return 2;
    }
    int code = first == 2 ? serve(&o) : first == 4 ? call(words[2], words[3], &o) : time_calls(words + 2, &o);
    metadata_clear(&o.metadata);
    return code;
}
