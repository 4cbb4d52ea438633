// TF_Session, TF_SessionOptions — see c_api.h. A call allocates nothing but its output tensors: edges are passed on as
// they are, and arrays of up to FEW_EDGES lie on the stack.
//
// A step takes no lock of the graph; the session takes it where it has to plan (src/session/README.md).
#include "api/tf/session.h"

#include <stdlib.h>

#include "api/interrupt.h"
#include "cluster/remote_session.h"
#include "proto/tensor_proto.h"
#include "resource/handle.h"
#include "run/trace.h"
#include "session/step_stats.h"

// ---------------------------------------- options

TF_SessionOptions *TF_NewSessionOptions(void) {
    TF_SessionOptions *options = calloc(1, sizeof *options);
    if (options)
        options->config = session_config_default();
    return options;
}

void TF_SetTarget(TF_SessionOptions *options, const char *target) {
    free(options->target);
    options->target = target && *target ? strdup(target) : NULL;
}

void TF_SetConfig(TF_SessionOptions *options, const void *proto, size_t proto_len, TF_Status *status) {
    SessionConfig config = session_config_default();
    Text copy = {0};
    text_add(&copy, api_bytes(proto, proto_len));
    Status *error = copy.failed ? OUT_OF_MEMORY : session_config_parse(api_bytes(proto, proto_len), &config);
    if (api_failed(status, error)) {
        text_clear(&copy);
        return;
    }
    options->config = config;
    text_clear(&options->proto);
    options->proto = copy;
}

void TF_DeleteSessionOptions(TF_SessionOptions *options) {
    if (!options)
        return;
    free(options->target);
    text_clear(&options->proto);
    free(options);
}

// ---------------------------------------- life

static Status *open_remote(TF_Graph *graph, const TF_SessionOptions *opts, TF_Session *session) {
    NEED(strncmp(opts->target, "grpc://", 7) == 0, NOT_FOUND,
         "Session factory was not registered for the given session options: {target: \"%s\"}", opts->target);
    RemoteOptions options = {.address = opts->target + 7, .config = text_str(&opts->proto),
                             .timeout_ms = opts->config.timeout_ms};
    return remote_session_new(graph->graph, &graph->lock, &options, &session->session);
}

static Status *open_session(TF_Graph *graph, const TF_SessionOptions *opts, TF_Session *session) {
    SessionConfig config = opts ? opts->config : session_config_default();
    if (opts && opts->target)
        return open_remote(graph, opts, session);
    mutex_lock(&graph->lock);
    Status *status = environment_session(graph->graph, &graph->lock, &config, &session->session);
    mutex_unlock(&graph->lock);
    return status;
}

TF_Session *TF_NewSession(TF_Graph *graph, const TF_SessionOptions *opts, TF_Status *status) {
    TF_Session *session = calloc(1, sizeof *session);
    if (!session) {
        api_set(status, OUT_OF_MEMORY);
        return NULL;
    }
    if (api_failed(status, open_session(graph, opts, session))) {
        free(session);
        return NULL;
    }
    mutex_init(&session->lock);
    api_graph_retain(graph);
    session->graph = graph;
    return session;
}

void TF_CloseSession(TF_Session *session, TF_Status *status) {
    session_close(session->session);
    api_ok(status);
}

void TF_DeleteSession(TF_Session *session, TF_Status *status) {
    api_ok(status);
    if (!session)
        return;
    session_close(session->session);
    session_drop_runs(session);
    session_free(session->session);
    api_graph_release(session->graph);
    mutex_clear(&session->lock);
    free(session);
}

void TF_ExtendSession(TF_Session *session, TF_Status *status) {
    api_set(status, session_extend(session->session));
}

// ---------------------------------------- a call

// On the path of every call, so a bad edge is only noticed here, and described in api_output_check.
static Status *check_edges(const Graph *graph, const TF_Output *edges, int n) {
    for (int i = 0; i < n; i++) {
        const Node *node = api_node(edges[i].oper);
        bool good = node && node->graph == graph && edges[i].index >= 0 && edges[i].index < node->n_outputs;
        if (__builtin_expect(!good, 0))
            return api_output_check(graph, edges[i]);
    }
    return OK;
}

Status *session_signature(const TF_Session *session, const TF_Output *inputs, int ninputs, const TF_Output *outputs,
                          int noutputs, const TF_Operation *const *targets, int ntargets, StepSignature *out) {
    const Graph *graph = session->graph->graph;
    NEED(ninputs >= 0 && noutputs >= 0 && ntargets >= 0, INVALID_ARGUMENT, "a negative number of feeds or fetches");
    TRY(check_edges(graph, inputs, ninputs));
    TRY(check_edges(graph, outputs, noutputs));
    for (int i = 0; i < ntargets; i++) {
        const Node *node = api_node(targets[i]);
        NEED(node && node->graph == graph && node->id >= 0, INVALID_ARGUMENT, "target %d is not of this graph", i);
    }
    *out = (StepSignature){.feeds = (const Output *)inputs, .fetches = (const Output *)outputs,
                           .targets = (Node *const *)targets, .n_feeds = ninputs, .n_fetches = noutputs,
                           .n_targets = ntargets};
    return OK;
}

// What a V1 client holds of a resource: the bytes of its ResourceHandleProto.
static Status *decode_handle(const TF_Tensor *from, Tensor *out) {
    AUTO(arena) Arena arena = {0};
    ResourceHandleProto *proto;
    NEED(from->tensor.dtype == DT_resource, INVALID_ARGUMENT, "%s tensors can't be fed",
         dtype_name(from->tensor.dtype));
    NEED(from->tensor.shape.rank == 0, INVALID_ARGUMENT, "Malformed TF_RESOURCE tensor: not a scalar");
    TRY(PROTO_DECODE(ResourceHandleProto, &arena, api_bytes(from->tensor.data, from->bytes), &proto));
    DType dtype = DT_INVALID;
    Shape shape = UNKNOWN_SHAPE;
    if (proto->dtypes_and_shapes.n) {
        dtype = (DType)proto->dtypes_and_shapes.p[0].dtype;
        TRY(shape_from_proto(proto->dtypes_and_shapes.p[0].shape, &shape));
    }
    return handle_tensor_named(proto->container, proto->name, proto->maybe_type_name, proto->device, dtype, shape,
                               out);
}

static bool is_raw(const TF_Tensor *t) {
    return dtype_kind(t->tensor.dtype) == KIND_OBJECT && t->tensor.buffer->dtype == DT_uint8;
}

Status *session_feeds(TF_Tensor *const *values, int ninputs, const Tensor **scratch, Tensor *decoded,
                      const Tensor *const **out) {
    for (int i = 0; i < ninputs; i++) {
        NEED(values[i], INVALID_ARGUMENT, "feed %d is NULL", i);
        scratch[i] = &values[i]->tensor;
        if (__builtin_expect(is_raw(values[i]), 0)) {
            TRY(decode_handle(values[i], &decoded[i]));
            scratch[i] = &decoded[i];
        }
    }
    *out = scratch;
    return OK;
}

// The reverse of decode_handle: a resource that is fetched leaves as bytes, which the client may feed in a later call.
static Status *encode_handle(Tensor *tensor) {
    const Handle *handle;
    NEED(tensor->shape.rank == 0, INVALID_ARGUMENT, "Unexpected non-scalar DT_RESOURCE tensor seen (shape: %s).",
         shape_text(&tensor->shape));
    TRY(handle_get(tensor, 0, &handle));
    ResourceHandleProto proto = {.container = handle->container, .name = handle->name,
                                 .maybe_type_name = handle->type, .device = handle->device};
    ResourceHandleProto_DtypeAndShape typed = {.dtype = (int32_t)handle->dtype};
    AUTO(arena) Arena arena = {0};
    if (handle->dtype != DT_INVALID) {
        TRY(shape_to_proto(&arena, &handle->shape, &typed.shape));
        proto.dtypes_and_shapes.p = &typed;
        proto.dtypes_and_shapes.n = 1;
    }
    AUTO(text) Text text = {0};
    TRY(PROTO_ENCODE(ResourceHandleProto, &proto, &text));
    Buffer *buffer;
    TRY(buffer_new(&host_allocator, DT_uint8, text.n, &buffer));
    memcpy(buffer->data, text.p, text.n);
    tensor_clear(tensor);
    *tensor = (Tensor){.data = buffer->data, .buffer = buffer, .dtype = DT_resource};
    return OK;
}

Status *session_results(Tensor *results, int noutputs, TF_Tensor **outputs) {
    Status *status = OK;
    for (int i = 0; i < noutputs; i++) {
        bool resource = results[i].dtype == DT_resource;
        if (resource && !status)
            status = encode_handle(&results[i]);
        outputs[i] = api_tensor(&results[i]);
        if (!outputs[i] && !status)
            status = OUT_OF_MEMORY;
        else if (resource && !status)
            outputs[i]->bytes = outputs[i]->tensor.buffer->bytes;
    }
    for (int i = 0; status && i < noutputs; i++) {
        TF_DeleteTensor(outputs[i]);
        outputs[i] = NULL;
    }
    return status;
}

static Status *run_with(TF_Session *session, const StepSignature *signature, const RunSettings *settings,
                        TF_Tensor *const *input_values, TF_Tensor **output_values, const Tensor **scratch,
                        Tensor *decoded, Tensor *results) {
    const Tensor *const *feeds;
    Status *status = session_feeds(input_values, signature->n_feeds, scratch, decoded, &feeds);
    if (!status)
        status = session_run(session->session, signature, settings, feeds, results);
    for (int i = 0; i < signature->n_feeds; i++)
        if (__builtin_expect(decoded[i].buffer != NULL, 0))
            tensor_clear(&decoded[i]);
    return status ? status : session_results(results, signature->n_fetches, output_values);
}

// A call with few edges keeps its arrays on the stack.
static Status *run(TF_Session *session, const StepSignature *signature, const RunSettings *settings,
                   TF_Tensor *const *input_values, TF_Tensor **output_values) {
    int n_feeds = signature->n_feeds, n_fetches = signature->n_fetches;
    if (__builtin_expect(n_feeds <= FEW_EDGES && n_fetches <= FEW_EDGES, 1)) {
        const Tensor *scratch[FEW_EDGES];
        Tensor decoded[FEW_EDGES], results[FEW_EDGES];
        for (int i = 0; i < n_feeds; i++)
            decoded[i].buffer = NULL;
        return run_with(session, signature, settings, input_values, output_values, scratch, decoded, results);
    }
    AUTO(arena) Arena arena = {0};
    const Tensor **scratch = ARENA_ARRAY(&arena, const Tensor *, n_feeds);
    Tensor *decoded = ARENA_ARRAY(&arena, Tensor, n_feeds), *results = ARENA_ARRAY(&arena, Tensor, n_fetches);
    NEED_MEMORY(scratch && decoded && results);
    return run_with(session, signature, settings, input_values, output_values, scratch, decoded, results);
}

// What is to be told of a step.
typedef struct {
    bool times, graphs;
} Telling;

// Trace levels for hardware alone (1 is software, 2 hardware, 3 full) give nothing.
static Status *read_options(const TF_Buffer *run_options, RunSettings *settings, Telling *out) {
    *settings = run_settings_default;
    *out = (Telling){0};
    if (!run_options)
        return OK;
    AUTO(arena) Arena arena = {0};
    RunOptionsProto *proto;
    Status *status = PROTO_DECODE(RunOptionsProto, &arena, api_bytes(run_options->data, run_options->length), &proto);
    if (status) {
        status_free(status);
        FAIL(INVALID_ARGUMENT, "Unparseable RunOptions proto");
    }
    settings->timeout_ms = proto->timeout_in_ms;
    out->times = proto->trace_level == RunOptions_TraceLevel_SOFTWARE_TRACE ||
                 proto->trace_level == RunOptions_TraceLevel_FULL_TRACE;
    out->graphs = proto->output_partition_graphs;
    return OK;
}

static Status *fill_metadata(TF_Buffer *run_metadata) {
    AUTO(text) Text none = {0};
    return buffer_fill(run_metadata, &none);
}

static Status *run_traced(TF_Session *session, const StepSignature *signature, Telling telling, RunSettings *settings,
                          TF_Tensor *const *input_values, TF_Tensor **output_values, TF_Buffer *run_metadata) {
    AUTO(trace) Trace trace;
    trace_begin(&trace);
    trace.keeps_graphs = telling.graphs;
    settings->trace = &trace;
    TRY(run(session, signature, settings, input_values, output_values));
    AUTO(arena) Arena arena = {0};
    RunMetadataProto metadata = {0};
    if (telling.times)
        TRY(step_stats_message(&trace, &arena, &metadata.step_stats));
    if (telling.graphs)
        TRY(step_graphs_message(&trace, &arena, &metadata));
    return buffer_fill_message(run_metadata, &message_RunMetadataProto, &metadata);
}

void TF_SessionRun(TF_Session *session, const TF_Buffer *run_options, const TF_Output *inputs,
                   TF_Tensor *const *input_values, int ninputs, const TF_Output *outputs, TF_Tensor **output_values,
                   int noutputs, const TF_Operation *const *target_opers, int ntargets, TF_Buffer *run_metadata,
                   TF_Status *status) {
    StepSignature signature;
    RunSettings settings;
    for (int i = 0; i < noutputs; i++)
        output_values[i] = NULL;
    if (run_metadata && run_metadata->data) {
        api_set(status, API_ERROR(INVALID_ARGUMENT, "Passing non-empty run_metadata is invalid."));
        return;
    }
    Telling telling;
    Status *error = read_options(run_options, &settings, &telling);
    if (!error && noutputs <= 0 && ntargets <= 0)
        error = API_ERROR(INVALID_ARGUMENT, "Must specify at least one target to fetch or execute.");
    if (!error)
        error = session_signature(session, inputs, ninputs, outputs, noutputs, target_opers, ntargets, &signature);
    Cancellation *interruption = settings.cancellation = error ? NULL : interrupt_step_begins();
    if (!error && (telling.times || telling.graphs) && run_metadata)
        error = run_traced(session, &signature, telling, &settings, input_values, output_values, run_metadata);
    else if (!error)
        error = run(session, &signature, &settings, input_values, output_values);
    interrupt_step_ended(interruption);
    if (!error && run_metadata && !run_metadata->data)
        error = fill_metadata(run_metadata);
    for (int i = 0; error && i < noutputs; i++) {
        TF_DeleteTensor(output_values[i]);
        output_values[i] = NULL;
    }
    api_set(status, error);
}
