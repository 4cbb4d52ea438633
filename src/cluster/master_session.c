// MasterSession — see master_session.h.
#include "cluster/master_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "cluster/cluster_session.h"
#include "cluster/edges.h"
#include "graph/graph_def.h"
#include "proto/tensor_proto.h"
#include "run/trace.h"
#include "session/plans.h"
#include "session/step_stats.h"

typedef struct OpenRun {
    struct OpenRun *next;
    PartialRun *run;
    int64_t number;          // its handle, as text
    int feeds_left, fetches_left;
    bool busy;               // some call is in it
} OpenRun;

typedef struct Callable {
    struct Callable *next;
    Arena arena;
    StepSignature signature; // of the session's graph
    int64_t number, timeout_ms;
    bool times, graphs;      // to be told of its steps
} Callable;

struct MasterSession {
    _Atomic int references;
    char handle[MASTER_HANDLE];
    Graph *graph;
    Mutex graph_lock;        // guards the graph
    Session *session;
    Mutex lock;              // guards what follows; taken before the graph's
    int64_t version, last_run, last_callable;
    OpenRun *runs;
    Callable *callables;
};

// ---------------------------------------- life

static Status *import(MasterSession *session, Str graph_def) {
    ImportResults results;
    mutex_lock(&session->graph_lock);
    Status *status = graph_import(session->graph, graph_def, &(ImportOptions){.extends = true}, &results);
    mutex_unlock(&session->graph_lock);
    if (!status)
        import_results_clear(&results);
    return status;
}

static Status *master_session_open(MasterSession *session, const CreateSessionRequestProto *request, Worker *worker,
                                   Cancellation *cancellation) {
    Str bytes = request->config;
    AUTO(arena) Arena arena = {0};
    ConfigProto *proto;
    SessionConfig config = session_config_default();
    uint64_t number;
    TRY(session_config_parse(bytes, &config));
    TRY(PROTO_DECODE(ConfigProto, &arena, bytes, &proto));
    NEED(getrandom(&number, sizeof number, 0) == sizeof number, INTERNAL, "the system gives no random numbers");
    snprintf(session->handle, sizeof session->handle, "%016llx", (unsigned long long)number);
    config.environment = proto->isolate_session_state ? NULL : worker_environment(worker);
    TRY(graph_new(&session->graph));
    TRY(import(session, request->graph_def));
    ClusterSessionOptions options = {.config = bytes, .target = request->target, .handle = str_of(session->handle)};
    if (peers_count(worker_peers(worker)) || proto->cluster_def)
        return cluster_session_new(session->graph, &session->graph_lock, &options, worker, cancellation, &session->session);
    return session_new(session->graph, &session->graph_lock, &config, &session->session);
}

Status *master_session_new(const CreateSessionRequestProto *request, Worker *worker, Cancellation *cancellation,
                           MasterSession **out) {
    MasterSession *session = calloc(1, sizeof *session);
    NEED_MEMORY(session);
    atomic_init(&session->references, 1);
    mutex_init(&session->graph_lock);
    mutex_init(&session->lock);
    Status *status = master_session_open(session, request, worker, cancellation);
    if (status)
        master_session_release(session);
    else
        *out = session;
    return status;
}

Str master_session_handle(const MasterSession *session) {
    return str_of(session->handle);
}

MasterSession *master_session_retain(MasterSession *session) {
    atomic_fetch_add(&session->references, 1);
    return session;
}

static void callable_free(Callable *callable) {
    arena_clear(&callable->arena);
    free(callable);
}

void master_session_release(MasterSession *session) {
    if (!session || atomic_fetch_sub(&session->references, 1) != 1)
        return;
    while (session->runs) {
        OpenRun *run = session->runs;
        session->runs = run->next;
        session_partial_end(run->run);
        free(run);
    }
    while (session->callables) {
        Callable *callable = session->callables;
        session->callables = callable->next;
        callable_free(callable);
    }
    session_free(session->session);
    graph_release(session->graph);
    mutex_clear(&session->graph_lock);
    mutex_clear(&session->lock);
    free(session);
}

void master_session_close(MasterSession *session) {
    session_close(session->session);
}

Status *master_session_extend(MasterSession *session, Str graph_def, int64_t version, int64_t *out_version) {
    mutex_lock(&session->lock);
    Status *status = OK;
    if (version != session->version)
        status = status_new(ABORTED, __FILE__, __LINE__, "Current version is %lld but caller expected %lld.",
                            (long long)session->version, (long long)version);
    if (!status)
        status = import(session, graph_def);
    if (!status)
        status = session_extend(session->session);
    if (!status)
        *out_version = ++session->version;
    mutex_unlock(&session->lock);
    return status;
}

Status *master_session_devices(MasterSession *session, Arena *arena, ListDevicesResponseProto *out) {
    SessionDevice *devices;
    int n;
    TRY(session_list_devices(session->session, arena, &devices, &n));
    DeviceAttributesProto *protos = ARENA_ARRAY(arena, DeviceAttributesProto, n);
    DeviceLocalityProto *localities = ARENA_ARRAY(arena, DeviceLocalityProto, n);
    NEED_MEMORY(protos && localities);
    for (int i = 0; i < n; i++)
        protos[i] = (DeviceAttributesProto){.name = devices[i].name, .device_type = devices[i].type,
                                            .memory_limit = devices[i].memory, .locality = &localities[i],
                                            .incarnation = devices[i].incarnation, .xla_global_id = -1};
    out->local_device.p = protos;
    out->local_device.n = (size_t)n;
    return OK;
}

// ---------------------------------------- feeds and results

void step_results_clear(StepResults *results) {
    for (size_t i = 0; i < results->tensors.n; i++)
        tensor_clear(&results->tensors.p[i]);
    vec_clear(&results->tensors);
    arena_clear(&results->arena);
    if (results->traced)
        trace_clear(&results->trace);
}

// What a step reads and gives.
typedef struct {
    StepSignature signature;
    Tensor *values;              // n_feeds
    const Tensor **feeds;        // the same
    Tensor *out;                 // n_fetches
    int n_decoded;
} Request;

static Status *step_begin(Request *step, Arena *arena) {
    int n_feeds = step->signature.n_feeds;
    step->values = ARENA_ARRAY(arena, Tensor, n_feeds);
    step->feeds = ARENA_ARRAY(arena, const Tensor *, n_feeds);
    step->out = ARENA_ARRAY(arena, Tensor, step->signature.n_fetches);
    NEED_MEMORY(step->values && step->feeds && step->out);
    for (int i = 0; i < n_feeds; i++)
        step->feeds[i] = &step->values[i];
    return OK;
}

static Status *decode_feed(Request *step, const TensorProto *proto, Str name, size_t *budget) {
    int i = step->n_decoded;
    Output edge = step->signature.feeds[i];
    NEED(proto, INVALID_ARGUMENT, "feed '%.*s' has no tensor", STR_ARGS(name));
    TRY(status_prefix(tensor_from_proto(proto, budget, &step->values[i]), "feed '%.*s'", STR_ARGS(name)));
    step->n_decoded++;
    DType wanted = dtype_base(edge.node->output_types[edge.index]), got = step->values[i].dtype;
    NEED(got == wanted, INVALID_ARGUMENT,
         "Output %d of type %s does not match declared output type %s for node {{node %.*s}}", edge.index,
         dtype_name(got), dtype_name(wanted), STR_ARGS(edge.node->name));
    return OK;
}

static void step_end(Request *step) {
    for (int i = 0; i < step->n_decoded; i++)
        tensor_clear(&step->values[i]);
}

// Hands the tensors that were fetched over to the results.
static Status *keep_results(Request *step, StepResults *results) {
    int n = step->signature.n_fetches;
    if (!vec_reserve(&results->tensors, (size_t)n)) {
        for (int i = 0; i < n; i++)
            tensor_clear(&step->out[i]);
        return OUT_OF_MEMORY;
    }
    for (int i = 0; i < n; i++)
        results->tensors.p[results->tensors.n++] = step->out[i];
    return OK;
}

static Status *name_results(StepResults *results, const Names *names, RunStepResponseProto *out) {
    size_t n = results->tensors.n;
    NamedTensorProto *named = ARENA_ARRAY(&results->arena, NamedTensorProto, n);
    NEED_MEMORY(named);
    for (size_t i = 0; i < n; i++) {
        named[i].name = names->p[i];
        TRY(status_prefix(tensor_to_proto(&results->arena, &results->tensors.p[i], &named[i].tensor), "fetch '%.*s'",
                          STR_ARGS(names->p[i])));
    }
    out->tensor.p = named;
    out->tensor.n = n;
    return OK;
}

// ---------------------------------------- whole steps

// What of a step's options says what is to be told of it.
typedef struct {
    bool times, graphs;
} Telling;

static Telling telling_of(const RunOptionsProto *options) {
    return (Telling){.times = options && options->trace_level > RunOptions_TraceLevel_NO_TRACE,
                     .graphs = options && options->output_partition_graphs};
}

static Status *run_step(MasterSession *session, Request *step, Telling telling, const RunSettings *settings,
                        StepResults *results) {
    RunSettings own = *settings;
    if (telling.times || telling.graphs) {
        trace_begin(&results->trace);
        results->trace.keeps_graphs = telling.graphs;
        results->traced = true;
        own.trace = &results->trace;
    }
    Status *status = session_run(session->session, &step->signature, &own, step->feeds, step->out);
    if (!status)
        status = keep_results(step, results);
    if (telling.times && !status)
        status = step_stats_message(&results->trace, &results->arena, &results->metadata.step_stats);
    if (telling.graphs && !status)
        status = step_graphs_message(&results->trace, &results->arena, &results->metadata);
    return status;
}

static Status *feed_names(const RunStepRequestProto *request, Arena *arena, Names *out) {
    Str *names = ARENA_ARRAY(arena, Str, request->feed.n);
    NEED_MEMORY(names);
    for (size_t i = 0; i < request->feed.n; i++)
        names[i] = request->feed.p[i].name;
    out->p = names;
    out->n = request->feed.n;
    return OK;
}

static Status *find_step(MasterSession *session, const RunStepRequestProto *request, Arena *arena, Request *step) {
    Names feeds;
    TRY(feed_names(request, arena, &feeds));
    TRY(edges_find(session->graph, &session->graph_lock, &feeds, NAMES(request->fetch),
                   NAMES(request->target), arena, &step->signature));
    size_t budget = SPLAT_BUDGET;
    TRY(step_begin(step, arena));
    for (size_t i = 0; i < request->feed.n; i++)
        TRY(decode_feed(step, request->feed.p[i].tensor, request->feed.p[i].name, &budget));
    return OK;
}

// ---------------------------------------- partial runs

static Status *take_run(MasterSession *session, Str handle, OpenRun **out) {
    int64_t number = 0;
    Status *status = status_new(INVALID_ARGUMENT, __FILE__, __LINE__,
                                "Must run PartialRunSetup before performing partial runs: there is no run '%.*s'",
                                STR_ARGS(handle));
    bool is_number = str_to_int(handle, &number);
    mutex_lock(&session->lock);
    for (OpenRun *run = session->runs; run && is_number; run = run->next) {
        if (run->number != number)
            continue;
        status_free(status);
        status = run->busy ? status_new(FAILED_PRECONDITION, __FILE__, __LINE__, "another call is in run '%.*s'",
                                        STR_ARGS(handle)) : OK;
        if (!run->busy) {
            run->busy = true;
            *out = run;
        }
        break;
    }
    mutex_unlock(&session->lock);
    return status;
}

// A call that was refused took nothing: the run goes on as if it had not been made.
static void leave_run(MasterSession *session, OpenRun *run, const StepSignature *part, bool failed) {
    bool over = session_partial_is_over(run->run);
    mutex_lock(&session->lock);
    run->busy = false;
    run->feeds_left -= failed ? 0 : part->n_feeds;
    run->fetches_left -= failed ? 0 : part->n_fetches;
    over |= run->feeds_left <= 0 && run->fetches_left <= 0;
    for (OpenRun **at = &session->runs; over && *at; at = &(*at)->next)
        if (*at == run) {
            *at = run->next;
            break;
        }
    mutex_unlock(&session->lock);
    if (over) {
        session_partial_end(run->run);
        free(run);
    }
}

static Status *run_part(MasterSession *session, Str handle, Request *step, StepResults *results) {
    OpenRun *run;
    TRY(take_run(session, handle, &run));
    Status *status = session_partial_run(run->run, &step->signature, step->feeds, step->out);
    if (!status)
        status = keep_results(step, results);
    leave_run(session, run, &step->signature, status != OK);
    return status;
}

Status *master_session_partial(MasterSession *session, const PartialRunSetupRequestProto *request, Arena *arena,
                               Str *out_handle) {
    StepSignature signature;
    TRY(edges_find(session->graph, &session->graph_lock, NAMES(request->feed), NAMES(request->fetch),
                   NAMES(request->target), arena, &signature));
    OpenRun *run = calloc(1, sizeof *run);
    NEED_MEMORY(run);
    Status *status = session_partial_begin(session->session, &signature, &run->run);
    if (status) {
        free(run);
        return status;
    }
    run->feeds_left = signature.n_feeds;
    run->fetches_left = signature.n_fetches;
    mutex_lock(&session->lock);
    run->number = session->last_run++;
    run->next = session->runs;
    session->runs = run;
    *out_handle = str_format(arena, "%lld", (long long)run->number);
    mutex_unlock(&session->lock);
    NEED_MEMORY(out_handle->p);
    return OK;
}

Status *master_session_run(MasterSession *session, const RunStepRequestProto *request, Cancellation *cancellation,
                           StepResults *results, RunStepResponseProto *out) {
    RunSettings settings = {.cancellation = cancellation,
                            .timeout_ms = request->options ? request->options->timeout_in_ms : 0};
    Request step = {0};
    Status *status = find_step(session, request, &results->arena, &step);
    if (!status && request->partial_run_handle.n)
        status = run_part(session, request->partial_run_handle, &step, results);
    else if (!status)
        status = run_step(session, &step, telling_of(request->options), &settings, results);
    step_end(&step);
    TRY(status);
    out->metadata = &results->metadata;
    return name_results(results, NAMES(request->fetch), out);
}

// ---------------------------------------- callables

Status *master_session_make_callable(MasterSession *session, const CallableOptionsProto *options,
                                     int64_t *out_handle) {
    NEED(options, INVALID_ARGUMENT, "a callable without options");
    NEED(!options->tensor_connection.n, UNIMPLEMENTED, "callables with connections between tensors");
    Callable *callable = calloc(1, sizeof *callable);
    NEED_MEMORY(callable);
    Status *status = edges_find(session->graph, &session->graph_lock, NAMES(options->feed),
                                NAMES(options->fetch), NAMES(options->target), &callable->arena,
                                &callable->signature);
    if (status) {
        callable_free(callable);
        return status;
    }
    callable->timeout_ms = options->run_options ? options->run_options->timeout_in_ms : 0;
    callable->times = telling_of(options->run_options).times;
    callable->graphs = telling_of(options->run_options).graphs;
    mutex_lock(&session->lock);
    *out_handle = callable->number = session->last_callable++;
    callable->next = session->callables;
    session->callables = callable;
    mutex_unlock(&session->lock);
    return OK;
}

static Callable **callable_place(MasterSession *session, int64_t handle) REQUIRES(session->lock) {
    Callable **at = &session->callables;
    while (*at && (*at)->number != handle)
        at = &(*at)->next;
    return at;
}

// A copy, so that a callable may be released while it runs.
static Status *find_callable(MasterSession *session, int64_t handle, Arena *arena, Callable *out) {
    mutex_lock(&session->lock);
    const Callable *callable = *callable_place(session, handle);
    Status *status = OK;
    if (callable) {
        *out = *callable;
        status = signature_copy(arena, &callable->signature, &out->signature);
    } else {
        status = status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "No such callable handle: %lld", (long long)handle);
    }
    mutex_unlock(&session->lock);
    return status;
}

static Status *call(MasterSession *session, const RunCallableRequestProto *request, const Callable *callable,
                    const RunSettings *settings, Request *step, StepResults *results) {
    size_t budget = SPLAT_BUDGET;
    step->signature = callable->signature;
    NEED(request->feed.n == (size_t)step->signature.n_feeds, INVALID_ARGUMENT, "Expected %d feed tensors, but got %zu",
         step->signature.n_feeds, request->feed.n);
    TRY(step_begin(step, &results->arena));
    for (size_t i = 0; i < request->feed.n; i++)
        TRY(decode_feed(step, &request->feed.p[i], step->signature.feeds[i].node->name, &budget));
    return run_step(session, step, (Telling){callable->times, callable->graphs}, settings, results);
}

Status *master_session_run_callable(MasterSession *session, const RunCallableRequestProto *request,
                                    Cancellation *cancellation, StepResults *results, RunCallableResponseProto *out) {
    Callable callable;
    TRY(find_callable(session, request->handle, &results->arena, &callable));
    RunSettings settings = {.cancellation = cancellation, .timeout_ms = callable.timeout_ms};
    Request step = {0};
    Status *status = call(session, request, &callable, &settings, &step, results);
    step_end(&step);
    TRY(status);
    size_t n = results->tensors.n;
    TensorProto *protos = ARENA_ARRAY(&results->arena, TensorProto, n), *proto;
    NEED_MEMORY(protos);
    for (size_t i = 0; i < n; i++) {
        TRY(tensor_to_proto(&results->arena, &results->tensors.p[i], &proto));
        protos[i] = *proto;
    }
    out->fetch.p = protos;
    out->fetch.n = n;
    out->metadata = &results->metadata;
    return OK;
}

Status *master_session_release_callable(MasterSession *session, int64_t handle) {
    mutex_lock(&session->lock);
    Callable **at = callable_place(session, handle), *callable = *at;
    if (callable)
        *at = callable->next;
    mutex_unlock(&session->lock);
    NEED(callable, INVALID_ARGUMENT, "No such callable handle: %lld", (long long)handle);
    callable_free(callable);
    return OK;
}
