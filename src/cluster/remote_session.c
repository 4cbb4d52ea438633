// Remote session — see remote_session.h.
#include "cluster/remote_session.h"

#include <stdlib.h>

#include "base/clock.h"
#include "graph/graph_def.h"
#include "proto/messages.h"
#include "proto/tensor_proto.h"
#include "rpc/channel.h"
#include "run/trace.h"
#include "session/step_stats.h"

enum { CLOSE_MS = 10000 };   // a server that doesn't answer keeps nobody from closing

typedef struct {
    Session session;         // first
    Graph *graph;
    Mutex *graph_lock;
    Channel *channel;
    Text config;
    int64_t timeout_ms;
    Cancellation cancellation;  // of all calls: when it closes
    Mutex lock;              // guards what follows; taken before the graph's
    Arena arena;             // of the handle
    Str handle;              // empty: not opened yet
    int64_t version;         // of the server's graph
    size_t n_sent;           // nodes that it has
    int64_t calls;           // of clients, inside
    bool closed;
    Condition idle;          // no calls
} RemoteSession;

typedef struct {
    PartialRun run;          // first
    RemoteSession *session;
    Text handle;
    bool over;
} RemoteRun;

static const SessionType remote_session_type;

// ---------------------------------------- calls

static int64_t deadline_in(int64_t ms) {
    return ms > 0 ? clock_now() + ms * CLOCK_MS : NO_DEADLINE;
}

// The reply lies in the arena.
static Status *call(RemoteSession *s, const char *method, const MessageType *type, const void *request,
                    const MessageType *reply_type, int64_t deadline, Cancellation *cancellation, Arena *arena, void **out) {
    Text text = {0};
    Payload *payload;
    Status *status = proto_encode(type, request, &text);
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
    RpcCallOptions options = {.method = method, .request = payload, .deadline = deadline, .cancellation = cancellation};
    RpcReply reply = {0};
    status = channel_call_wait(s->channel, &options, &reply);
    if (!status) {
        Str bytes = str_copy(arena, (Str){(const char *)reply.message.bytes, reply.message.n});
        status = bytes.p ? proto_decode(arena, reply_type, bytes, out) : OUT_OF_MEMORY;
    }
    rpc_reply_clear(&reply);
    return status;
}

#define CALL(s, Method, Request, request, Reply, deadline, cancellation, arena, out)                            \
    call(s, "/tensorflow.MasterService/" Method, &message_##Request##Proto, request, &message_##Reply##Proto, \
         deadline, cancellation, arena, (void **)(out))

// ---------------------------------------- who is inside

static Status *enter(RemoteSession *s) {
    mutex_lock(&s->lock);
    bool closed = s->closed;
    s->calls += !closed;
    mutex_unlock(&s->lock);
    NEED(!closed, CANCELLED, "Session has been closed.");
    return OK;
}

static Status *leave(RemoteSession *s, Status *status) {
    mutex_lock(&s->lock);
    if (--s->calls == 0)
        condition_notify_all(&s->idle);
    mutex_unlock(&s->lock);
    return status;
}

// ---------------------------------------- the server's graph

// What the server lacks of the graph.
static Status *write_rest(RemoteSession *s, Text *out, size_t *out_n) {
    mutex_lock(s->graph_lock);
    *out_n = s->graph->nodes.n;
    Status *status = graph_rest_to_proto(s->graph, s->n_sent, out);
    mutex_unlock(s->graph_lock);
    return status;
}

static Status *remote_open(RemoteSession *s, Arena *arena) REQUIRES(s->lock) {
    AUTO(text) Text graph = {0};
    size_t n;
    TRY(write_rest(s, &graph, &n));
    CreateSessionRequestProto request = {.graph_def = text_str(&graph), .config = text_str(&s->config)};
    CreateSessionResponseProto *reply;
    TRY(CALL(s, "CreateSession", CreateSessionRequest, &request, CreateSessionResponse, deadline_in(s->timeout_ms),
             &s->cancellation, arena, &reply));
    s->handle = str_copy(&s->arena, reply->session_handle);
    NEED_MEMORY(s->handle.p);
    s->version = reply->graph_version;
    s->n_sent = n;
    return OK;
}

static Status *send_rest(RemoteSession *s, Arena *arena) REQUIRES(s->lock) {
    AUTO(text) Text graph = {0};
    size_t n;
    TRY(write_rest(s, &graph, &n));
    ExtendSessionRequestProto request = {.session_handle = s->handle, .graph_def = text_str(&graph),
                                         .current_graph_version = s->version};
    ExtendSessionResponseProto *reply;
    TRY(CALL(s, "ExtendSession", ExtendSessionRequest, &request, ExtendSessionResponse, deadline_in(s->timeout_ms),
             &s->cancellation, arena, &reply));
    s->version = reply->new_graph_version;
    s->n_sent = n;
    return OK;
}

// Sees to it that the server has the graph as it is.
static Status *bring_up_to_date(RemoteSession *s, Arena *arena) {
    mutex_lock(s->graph_lock);
    size_t n = s->graph->nodes.n;
    mutex_unlock(s->graph_lock);
    mutex_lock(&s->lock);
    Status *status = OK;
    if (!s->handle.n)
        status = remote_open(s, arena);
    else if (s->n_sent < n)
        status = send_rest(s, arena);
    mutex_unlock(&s->lock);
    return status;
}

static Status *extend(Session *session) {
    RemoteSession *s = (RemoteSession *)session;
    AUTO(arena) Arena arena = {0};
    TRY(enter(s));
    return leave(s, bring_up_to_date(s, &arena));
}

// ---------------------------------------- steps

static Str edge_name(Arena *arena, Output edge) {
    return str_format(arena, "%.*s:%d", STR_ARGS(edge.node->name), edge.index);
}

static Status *write_step(Arena *arena, const StepSignature *signature, const Tensor *const *feeds,
                          RunStepRequestProto *out) {
    out->feed.p = ARENA_ARRAY(arena, NamedTensorProto, signature->n_feeds);
    out->fetch.p = ARENA_ARRAY(arena, Str, signature->n_fetches);
    out->target.p = ARENA_ARRAY(arena, Str, signature->n_targets);
    NEED_MEMORY(out->feed.p && out->fetch.p && out->target.p);
    out->feed.n = (size_t)signature->n_feeds;
    out->fetch.n = (size_t)signature->n_fetches;
    out->target.n = (size_t)signature->n_targets;
    for (int i = 0; i < signature->n_feeds; i++) {
        NamedTensorProto *feed = &out->feed.p[i];
        feed->name = edge_name(arena, signature->feeds[i]);
        NEED_MEMORY(feed->name.p);
        if (feeds)
            TRY(status_prefix(tensor_to_proto(arena, feeds[i], &feed->tensor), "feed '%.*s'", STR_ARGS(feed->name)));
    }
    for (int i = 0; i < signature->n_fetches; i++)
        NEED_MEMORY((out->fetch.p[i] = edge_name(arena, signature->fetches[i])).p);
    for (int i = 0; i < signature->n_targets; i++)
        out->target.p[i] = signature->targets[i]->name;
    return OK;
}

// A server gives each value once, however often it was fetched.
static Status *read_results(const RunStepRequestProto *request, const RunStepResponseProto *reply, Tensor *out) {
    size_t budget = SPLAT_BUDGET, n = 0;
    Status *status = OK;
    for (; n < request->fetch.n && !status; n++) {
        size_t i = n < reply->tensor.n && str_equal(reply->tensor.p[n].name, request->fetch.p[n]) ? n : 0;
        while (i < reply->tensor.n && !str_equal(reply->tensor.p[i].name, request->fetch.p[n]))
            i++;
        if (i == reply->tensor.n || !reply->tensor.p[i].tensor)
            status = status_new(INTERNAL, __FILE__, __LINE__, "the server sent no '%.*s'", STR_ARGS(request->fetch.p[n]));
        else
            status = tensor_from_proto(reply->tensor.p[i].tensor, &budget, &out[n]);
    }
    for (size_t i = 0; status && i + 1 < n; i++)
        tensor_clear(&out[i]);
    return status;
}

static Status *take_metadata(const RunMetadataProto *metadata, Trace *trace) {
    if (metadata->step_stats)
        step_stats_add(metadata->step_stats, trace);
    for (size_t i = 0; i < metadata->partition_graphs.n; i++) {
        AUTO(text) Text text = {0};
        TRY(PROTO_ENCODE(GraphDef, &metadata->partition_graphs.p[i], &text));
        trace_add_graph(trace, text_str(&text));
    }
    return OK;
}

static Status *send_step(RemoteSession *s, RunStepRequestProto *request, const RunSettings *settings, Arena *arena,
                         Tensor *out) {
    int64_t ms = settings->timeout_ms > 0 ? settings->timeout_ms : s->timeout_ms;
    Trace *trace = settings->trace;
    RunOptionsProto options = {
        .timeout_in_ms = ms, .output_partition_graphs = trace && trace->keeps_graphs,
        .trace_level = trace ? RunOptions_TraceLevel_FULL_TRACE : RunOptions_TraceLevel_NO_TRACE,
    };
    RunStepResponseProto *reply;
    Cancellation *cancellation = &s->cancellation;
    if (settings->cancellation) {
        cancellation_adopt(settings->cancellation, &s->cancellation);
        cancellation = settings->cancellation;
    }
    request->session_handle = s->handle;
    request->store_errors_in_response_body = true;
    request->options = &options;
    TRY(CALL(s, "RunStep", RunStepRequest, request, RunStepResponse, deadline_in(ms), cancellation, arena, &reply));
    NEED(!reply->status_code, (Code)reply->status_code, "%.*s", STR_ARGS(reply->status_error_message));
    if (trace && reply->metadata)
        TRY(take_metadata(reply->metadata, trace));
    return read_results(request, reply, out);
}

static Status *run_inside(RemoteSession *s, const StepSignature *signature, const RunSettings *settings,
                          const Tensor *const *feeds, Tensor *out) {
    AUTO(arena) Arena arena = {0};
    RunStepRequestProto request = {0};
    TRY(bring_up_to_date(s, &arena));
    TRY(write_step(&arena, signature, feeds, &request));
    return send_step(s, &request, settings, &arena, out);
}

static Status *run(Session *session, const StepSignature *signature, const RunSettings *settings,
                   const Tensor *const *feeds, Tensor *out) {
    RemoteSession *s = (RemoteSession *)session;
    TRY(enter(s));
    return leave(s, run_inside(s, signature, settings, feeds, out));
}

static Status *call_function(Session *session, const FuncRef *function, const RunSettings *settings,
                             const Tensor *arguments, int n_arguments, Tensor *out_results, int n_results) {
    (void)session, (void)function, (void)settings, (void)arguments, (void)n_arguments, (void)out_results, (void)n_results;
    FAIL(UNIMPLEMENTED, "calls of functions in a session on a server");
}

// ---------------------------------------- partial runs

static Status *begin_inside(RemoteSession *s, const StepSignature *signature, PartialRun **out) {
    AUTO(arena) Arena arena = {0};
    RunStepRequestProto names = {0};
    PartialRunSetupResponseProto *reply;
    TRY(bring_up_to_date(s, &arena));
    TRY(write_step(&arena, signature, NULL, &names));
    Str *feeds = ARENA_ARRAY(&arena, Str, names.feed.n);
    NEED_MEMORY(feeds);
    for (size_t i = 0; i < names.feed.n; i++)
        feeds[i] = names.feed.p[i].name;
    PartialRunSetupRequestProto request = {.session_handle = s->handle};
    request.feed.p = feeds;
    request.feed.n = names.feed.n;
    request.fetch.p = names.fetch.p;
    request.fetch.n = names.fetch.n;
    request.target.p = names.target.p;
    request.target.n = names.target.n;
    TRY(CALL(s, "PartialRunSetup", PartialRunSetupRequest, &request, PartialRunSetupResponse, deadline_in(s->timeout_ms),
             &s->cancellation, &arena, &reply));
    RemoteRun *run = calloc(1, sizeof *run);
    NEED_MEMORY(run);
    *run = (RemoteRun){.run = {&remote_session_type}, .session = s};
    text_add(&run->handle, reply->partial_run_handle);
    *out = &run->run;
    return OK;
}

static Status *partial_begin(Session *session, const StepSignature *signature, PartialRun **out) {
    RemoteSession *s = (RemoteSession *)session;
    TRY(enter(s));
    return leave(s, begin_inside(s, signature, out));
}

static Status *partial_run(PartialRun *partial, const StepSignature *part, const Tensor *const *feeds, Tensor *out) {
    RemoteRun *run = (RemoteRun *)partial;
    AUTO(arena) Arena arena = {0};
    RunStepRequestProto request = {.partial_run_handle = text_str(&run->handle)};
    TRY(write_step(&arena, part, feeds, &request));
    TRY(enter(run->session));
    Status *status = leave(run->session, send_step(run->session, &request, &run_settings_default, &arena, out));
    run->over |= status && status_code(status) != INVALID_ARGUMENT && status_code(status) != NOT_FOUND;
    return status;
}

static bool partial_is_over(const PartialRun *run) {
    return ((const RemoteRun *)run)->over;
}

static void partial_end(PartialRun *partial) {
    RemoteRun *run = (RemoteRun *)partial;
    text_clear(&run->handle);
    free(run);
}

// ---------------------------------------- the rest

static Status *list_inside(RemoteSession *s, Arena *arena, SessionDevice **out, int *out_n) {
    TRY(bring_up_to_date(s, arena));
    ListDevicesRequestProto request = {.session_handle = s->handle};
    ListDevicesResponseProto *reply;
    TRY(CALL(s, "ListDevices", ListDevicesRequest, &request, ListDevicesResponse, deadline_in(s->timeout_ms),
             &s->cancellation, arena, &reply));
    size_t n = reply->local_device.n, all = n + reply->remote_device.n;
    *out = ARENA_ARRAY(arena, SessionDevice, all);
    NEED_MEMORY(*out);
    for (size_t i = 0; i < all; i++) {
        const DeviceAttributesProto *device = i < n ? &reply->local_device.p[i] : &reply->remote_device.p[i - n];
        // What came is not followed by a NUL, and goes with the answer's bytes.
        Str name = str_copy(arena, device->name), type = str_copy(arena, device->device_type);
        NEED_MEMORY(name.p && type.p);
        (*out)[i] = (SessionDevice){name, type, device->memory_limit, device->incarnation};
    }
    *out_n = (int)all;
    return OK;
}

static Status *list_devices(Session *session, Arena *arena, SessionDevice **out, int *out_n) {
    RemoteSession *s = (RemoteSession *)session;
    TRY(enter(s));
    return leave(s, list_inside(s, arena, out, out_n));
}

static Status *plan(Session *session, const StepSignature *signature, Plan **out) {
    (void)session, (void)signature, (void)out;
    FAIL(UNIMPLEMENTED, "plans of a session on a server are made there");
}

static void close_session(Session *session) {
    RemoteSession *s = (RemoteSession *)session;
    // First, since who opens or extends it holds the lock while the server answers.
    cancellation_cancel(&s->cancellation, status_new(CANCELLED, __FILE__, __LINE__, "Session has been closed."));
    mutex_lock(&s->lock);
    bool first = !s->closed && s->handle.n;
    s->closed = true;
    mutex_unlock(&s->lock);
    if (!first)
        return;
    AUTO(arena) Arena arena = {0};
    CloseSessionRequestProto request = {.session_handle = s->handle};
    EmptyProto *reply;
    status_free(CALL(s, "CloseSession", CloseSessionRequest, &request, Empty, deadline_in(CLOSE_MS), NULL, &arena, &reply));
}

static void free_session(Session *session) {
    RemoteSession *s = (RemoteSession *)session;
    close_session(session);
    mutex_lock(&s->lock);
    while (s->calls)
        condition_wait(&s->idle, &s->lock);
    mutex_unlock(&s->lock);
    channel_free(s->channel);
    cancellation_clear(&s->cancellation);
    condition_clear(&s->idle);
    mutex_clear(&s->lock);
    graph_release(s->graph);
    text_clear(&s->config);
    arena_clear(&s->arena);
    free(s);
}

static const SessionType remote_session_type = {
    .run = run, .call = call_function, .partial_begin = partial_begin, .partial_run = partial_run,
    .partial_is_over = partial_is_over, .partial_end = partial_end, .extend = extend, .list_devices = list_devices,
    .plan = plan, .close = close_session, .free = free_session,
};

Status *remote_session_new(Graph *graph, Mutex *graph_lock, const RemoteOptions *options, Session **out) {
    RemoteSession *s = calloc(1, sizeof *s);
    NEED_MEMORY(s);
    s->session.type = &remote_session_type;
    s->graph_lock = graph_lock;
    s->timeout_ms = options->timeout_ms;
    text_add(&s->config, options->config);
    Status *status = s->config.failed ? OUT_OF_MEMORY : channel_new(options->address, NULL, &s->channel);
    if (status) {
        text_clear(&s->config);
        free(s);
        return status;
    }
    mutex_init(&s->lock);
    condition_init(&s->idle);
    cancellation_init(&s->cancellation, NULL);
    s->graph = graph_retain(graph);
    *out = &s->session;
    return OK;
}
