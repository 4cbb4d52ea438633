// Master tests — a server and a client of its MasterService in one process: sessions, steps, what is refused. [threads]
#include <check.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/status_test.h"
#include "base/suite_test.h"
#include "cluster/remote_session.h"
#include "cluster/server.h"
#include "formula/ops.h"
#include "graph/graph_def.h"
#include "ops/all_ops.h"
#include "proto/tensor_proto.h"
#include "rpc/channel.h"

static Server *server;
static Channel *channel;
static Arena arena;      // of requests and replies
static Graph *graph;     // what the client builds

// ---------------------------------------- the wire

static Server *server_of(const char *job, int task, const char *address) {
    Int32ToStringEntry entry = {.key = 0, .value = str_of(address)};
    JobDef jobs = {.name = STR("worker")};
    jobs.tasks.p = &entry;
    jobs.tasks.n = 1;
    ClusterDef cluster = {0};
    cluster.job.p = &jobs;
    cluster.job.n = 1;
    ServerDef def = {.cluster = &cluster, .job_name = str_of(job), .task_index = task, .protocol = STR("grpc")};
    AUTO(text) Text text = {0};
    GOOD(PROTO_ENCODE(ServerDef, &def, &text));
    Server *made = NULL;
    Status *status = server_new(text_str(&text), &made);
    ck_assert_int_eq(status_code(status), made ? CODE_OK : INVALID_ARGUMENT);
    status_free(status);
    return made;
}

static void setup(void) {
    op_table_set(all_ops, all_rewrites);
    server = server_of("worker", 0, "localhost:0");
    GOOD(server_start(server));
    ck_assert(str_starts(str_of(server_target(server)), STR("grpc://localhost:")));
    GOOD(channel_new(server_target(server) + 7, NULL, &channel));
    GOOD(graph_new(&graph));
}

static void teardown(void) {
    graph_release(graph);
    channel_free(channel);
    server_free(server);
    arena_clear(&arena);
}

static Status *call_until(const char *method, const MessageType *type, const void *request, const MessageType *reply_type,
                          void **out, int64_t deadline) {
    Text text = {0};
    GOOD(proto_encode(type, request, &text));
    Payload *payload;
    GOOD(payload_new(&payload));
    GOOD(payload_add(payload, (Piece){text.p, text.n, free, text.p}));
    RpcCallOptions options = {.method = method, .request = payload, .deadline = deadline};
    RpcReply reply = {0};
    Status *status = channel_call_wait(channel, &options, &reply);
    if (!status) {
        Str bytes = str_copy(&arena, (Str){(const char *)reply.message.bytes, reply.message.n});
        GOOD(proto_decode(&arena, reply_type, bytes, out));
    }
    rpc_reply_clear(&reply);
    return status;
}

#define CALL(Method, Request, request, Reply, out)                                                                       \
    call_until("/tensorflow.MasterService/" Method, &message_##Request##Proto, request, &message_##Reply##Proto,         \
               (void **)(out), clock_now() + (int64_t)20000 * CLOCK_MS)

static void refused(Status *status, Code code, const char *words) {
    ck_assert_msg(status_code(status) == code, "%s: %s", code_name(status_code(status)), status_message(status));
    ck_assert_msg(strstr(status_message(status), words), "%s", status_message(status));
    status_free(status);
}

// ---------------------------------------- a client

static Str graph_bytes(void) {
    Text text = {0};
    GOOD(graph_to_proto(graph, &text));
    Str bytes = str_copy(&arena, text_str(&text));
    text_clear(&text);
    return bytes;
}

static Str open_session(Str config) {
    CreateSessionRequestProto request = {.graph_def = graph_bytes(), .config = config};
    CreateSessionResponseProto *reply;
    GOOD(CALL("CreateSession", CreateSessionRequest, &request, CreateSessionResponse, &reply));
    ck_assert_uint_eq(reply->session_handle.n, 16);
    return reply->session_handle;
}

typedef struct {
    RunStepRequestProto request;
    NamedTensorProto feed;
    Str names[2], target;
    Tensor value;
} StepCall;

static StepCall step_of(Str handle, const char *feed, float value, const char *fetch) {
    StepCall step = {.request = {.session_handle = handle}, .names = {str_of(fetch)}};
    if (feed) {
        GOOD(tensor_new(DT_float, SCALAR_SHAPE, &step.value));
        *(float *)step.value.data = value;
        step.feed.name = str_of(feed);
        GOOD(tensor_to_proto(&arena, &step.value, &step.feed.tensor));
        step.request.feed.n = 1;
    }
    step.request.fetch.n = fetch != NULL;
    return step;
}

static Status *run(StepCall *step, RunStepResponseProto **out) {
    step->request.feed.p = &step->feed;
    step->request.fetch.p = step->names;
    step->request.target.p = &step->target;
    step->request.target.n = step->target.n > 0;
    Status *status = CALL("RunStep", RunStepRequest, &step->request, RunStepResponse, out);
    tensor_clear(&step->value);
    return status;
}

static float number_of(const RunStepResponseProto *reply) {
    Tensor value;
    size_t budget = SPLAT_BUDGET;
    ck_assert_uint_eq(reply->tensor.n, 1);
    GOOD(tensor_from_proto(reply->tensor.p[0].tensor, &budget, &value));
    float number = *(float *)value.data;
    tensor_clear(&value);
    return number;
}

static float value_of(Str handle, const char *feed, float value, const char *fetch) {
    RunStepResponseProto *reply;
    StepCall step = step_of(handle, feed, value, fetch);
    GOOD(run(&step, &reply));
    ck_assert(str_is(reply->tensor.p[0].name, fetch));
    return number_of(reply);
}

static Status *error_of(Str handle, const char *feed, const char *fetch) {
    RunStepResponseProto *reply;
    StepCall step = step_of(handle, feed, 1, fetch);
    return run(&step, &reply);
}

static void close_session(Str handle, Code code) {
    CloseSessionRequestProto request = {.session_handle = handle};
    EmptyProto *reply;
    Status *status = CALL("CloseSession", CloseSessionRequest, &request, Empty, &reply);
    ck_assert_int_eq(status_code(status), code);
    status_free(status);
}

static Formula formula_in(Str scope) {
    return (Formula){.graph = graph, .scope = scope};
}

static Output scalar_input(Formula *f) {
    Shape shape = SCALAR_SHAPE;
    AttrValue value = {.kind = ATTR_SHAPE, .shape = &shape};
    return formula_op(f, "Placeholder", NULL, 0, (FormulaAttr[]){TYPE_ATTR("dtype", DT_float), {"shape", value}, {0}});
}

// ---------------------------------------- tests

START_TEST(a_graph_is_run_and_extended) {
    Formula mine = formula_in(STR("a")), *f = &mine;
    Output x = scalar_input(f);
    Square(x);
    GOOD(f->status);
    Str handle = open_session((Str){0});
    ck_assert_float_eq(value_of(handle, "a/Placeholder:0", 3, "a/Square:0"), 9);
    ck_assert_float_eq(value_of(handle, "a/Placeholder", 4, "a/Square"), 16);
    // Only what is new, which reads what is there.
    Graph *first = graph;
    GOOD(graph_new(&graph));
    Formula more = formula_in(STR("a"));
    f = &more;
    Output again = scalar_input(f), y = Neg(Square(again));
    (void)y;
    GOOD(f->status);
    GraphDef *def;
    Str bytes = graph_bytes();
    GOOD(PROTO_DECODE(GraphDef, &arena, bytes, &def));
    size_t n = 0;
    for (size_t i = 0; i < def->node.n; i++)
        if (str_is(def->node.p[i].op, "Neg"))
            def->node.p[n++] = def->node.p[i];
    def->node.n = n;
    ck_assert_uint_eq(n, 1);
    AUTO(text) Text text = {0};
    GOOD(PROTO_ENCODE(GraphDef, def, &text));
    ExtendSessionRequestProto request = {.session_handle = handle, .graph_def = text_str(&text)};
    ExtendSessionResponseProto *reply;
    GOOD(CALL("ExtendSession", ExtendSessionRequest, &request, ExtendSessionResponse, &reply));
    ck_assert_int_eq(reply->new_graph_version, 1);
    ck_assert_float_eq(value_of(handle, "a/Placeholder:0", 3, "a/Neg:0"), -9);
    refused(CALL("ExtendSession", ExtendSessionRequest, &request, ExtendSessionResponse, &reply), ABORTED,
            "Current version is 1 but caller expected 0.");
    request.current_graph_version = 1;
    refused(CALL("ExtendSession", ExtendSessionRequest, &request, ExtendSessionResponse, &reply), INVALID_ARGUMENT,
            "includes node 'a/Neg'");
    close_session(handle, CODE_OK);
    close_session(handle, ABORTED);
    refused(error_of(handle, NULL, "a/Neg:0"), ABORTED, "is not found.");
    graph_release(first);
}
END_TEST

START_TEST(wrong_names_are_told) {
    Formula mine = formula_in(STR("a")), *f = &mine;
    Square(scalar_input(f));
    GOOD(f->status);
    Str handle = open_session((Str){0});
    refused(error_of(handle, NULL, "nothing:0"), NOT_FOUND, "FetchOutputs node nothing:0: not found");
    refused(error_of(handle, "nothing:0", "a/Square:0"), NOT_FOUND, "FeedInputs: unable to find feed output nothing:0");
    refused(error_of(handle, NULL, "a/Square:7"), INVALID_ARGUMENT, "output index too large, must be < 1");
    refused(error_of(handle, NULL, "a/Square:0"), INVALID_ARGUMENT, "a/Placeholder");
    RunStepResponseProto *reply;
    StepCall step = step_of(handle, NULL, 0, NULL);
    step.target = STR("nope");
    refused(run(&step, &reply), NOT_FOUND, "PruneForTargets: Some target nodes not found: nope");
    step = step_of(handle, NULL, 0, "a/Square:0");
    step.request.store_errors_in_response_body = true;
    GOOD(run(&step, &reply));
    ck_assert_int_eq(reply->status_code, INVALID_ARGUMENT);
    ck_assert(reply->status_error_message.n > 0);
    step = step_of(handle, "a/Placeholder:0", 2, "a/Square:0");
    step.request.request_id = 77;
    GOOD(run(&step, &reply));
    step = step_of(handle, "a/Placeholder:0", 2, "a/Square:0");
    step.request.request_id = 77;
    refused(run(&step, &reply), ABORTED, "received twice");
}
END_TEST

// A variable that one session has set is there for the next, unless that asks for state of its own.
START_TEST(sessions_share_the_server) {
    Formula mine = formula_in(STR("v")), *f = &mine;
    Shape shape = SCALAR_SHAPE;
    FormulaAttr attrs[] = {TYPE_ATTR("dtype", DT_float), {"shape", {.kind = ATTR_SHAPE, .shape = &shape}}, {0}};
    Output variable = formula_op(f, "VarHandleOp", NULL, 0, attrs);
    formula_op(f, "AssignVariableOp", (Output[]){variable, formula_number(f, 5, DT_float)}, 2, NULL);
    formula_op(f, "ReadVariableOp", &variable, 1, (FormulaAttr[]){TYPE_ATTR("dtype", DT_float), {0}});
    GOOD(f->status);
    Str first = open_session((Str){0});
    RunStepResponseProto *reply;
    StepCall set = step_of(first, NULL, 0, NULL);
    set.target = STR("v/AssignVariableOp");
    GOOD(run(&set, &reply));
    close_session(first, CODE_OK);
    Str second = open_session((Str){0});
    ck_assert_float_eq(value_of(second, NULL, 0, "v/ReadVariableOp:0"), 5);
    ConfigProto own = {.isolate_session_state = true};
    AUTO(text) Text config = {0};
    GOOD(PROTO_ENCODE(ConfigProto, &own, &config));
    Str third = open_session(text_str(&config));
    refused(error_of(third, NULL, "v/ReadVariableOp:0"), FAILED_PRECONDITION, "v/ReadVariableOp");
    ResetRequestProto reset = {0};
    EmptyProto *nothing;
    GOOD(CALL("Reset", ResetRequest, &reset, Empty, &nothing));
    refused(error_of(second, NULL, "v/ReadVariableOp:0"), ABORTED, "is not found.");
    Str fourth = open_session((Str){0});
    refused(error_of(fourth, NULL, "v/ReadVariableOp:0"), FAILED_PRECONDITION, "v/ReadVariableOp");
}
END_TEST

// A client that doesn't wait any longer ends its step; so does the end of the server.
START_TEST(waiting_ends) {
    Formula mine = formula_in(STR("q")), *f = &mine;
    AttrValue types = {.kind = ATTR_TYPE, .is_list = true, .n = 1, .types = (DType[]){DT_float}};
    Output queue = formula_op(f, "FIFOQueueV2", NULL, 0, (FormulaAttr[]){{"component_types", types}, {0}});
    formula_op(f, "QueueDequeueV2", &queue, 1, (FormulaAttr[]){{"component_types", types}, {0}});
    GOOD(f->status);
    Str handle = open_session((Str){0}), names[] = {STR("q/QueueDequeueV2:0")};
    RunStepRequestProto request = {.session_handle = handle};
    request.fetch.p = names;
    request.fetch.n = 1;
    RunStepResponseProto *reply;
    for (int i = 0; i < 3; i++)
        refused(call_until("/tensorflow.MasterService/RunStep", &message_RunStepRequestProto, &request,
                           &message_RunStepResponseProto, (void **)&reply, clock_now() + 50 * CLOCK_MS),
                DEADLINE_EXCEEDED, "");
    RunOptionsProto options = {.timeout_in_ms = 50};
    request.options = &options;
    refused(CALL("RunStep", RunStepRequest, &request, RunStepResponse, &reply), DEADLINE_EXCEEDED, "");
    close_session(handle, CODE_OK);
}
END_TEST

START_TEST(callables_and_partial_runs) {
    Formula mine = formula_in(STR("a")), *f = &mine;
    Output x = scalar_input(f);
    Neg(Square(x));
    GOOD(f->status);
    Str handle = open_session((Str){0});
    Str feed = STR("a/Placeholder:0"), fetches[] = {STR("a/Square:0"), STR("a/Neg:0")};
    CallableOptionsProto options = {0};
    options.feed.p = &feed;
    options.fetch.p = fetches;
    options.feed.n = 1;
    options.fetch.n = 2;
    MakeCallableRequestProto make = {.session_handle = handle, .options = &options};
    MakeCallableResponseProto *made;
    GOOD(CALL("MakeCallable", MakeCallableRequest, &make, MakeCallableResponse, &made));
    StepCall value = step_of(handle, "a/Placeholder:0", 3, NULL);
    RunCallableRequestProto call = {.session_handle = handle, .handle = made->handle};
    RunCallableResponseProto *results;
    refused(CALL("RunCallable", RunCallableRequest, &call, RunCallableResponse, &results), INVALID_ARGUMENT,
            "Expected 1 feed tensors, but got 0");
    call.feed.p = value.feed.tensor;
    call.feed.n = 1;
    GOOD(CALL("RunCallable", RunCallableRequest, &call, RunCallableResponse, &results));
    ck_assert_uint_eq(results->fetch.n, 2);
    ReleaseCallableRequestProto release = {.session_handle = handle, .handle = made->handle};
    EmptyProto *nothing;
    GOOD(CALL("ReleaseCallable", ReleaseCallableRequest, &release, Empty, &nothing));
    refused(CALL("RunCallable", RunCallableRequest, &call, RunCallableResponse, &results), INVALID_ARGUMENT,
            "No such callable handle");
    tensor_clear(&value.value);

    PartialRunSetupRequestProto setup_request = {.session_handle = handle};
    setup_request.feed.p = &feed;
    setup_request.feed.n = 1;
    setup_request.fetch.p = fetches;
    setup_request.fetch.n = 2;
    PartialRunSetupResponseProto *begun;
    GOOD(CALL("PartialRunSetup", PartialRunSetupRequest, &setup_request, PartialRunSetupResponse, &begun));
    RunStepResponseProto *reply;
    StepCall part = step_of(handle, "a/Placeholder:0", 2, "a/Square:0");
    part.request.partial_run_handle = begun->partial_run_handle;
    GOOD(run(&part, &reply));
    ck_assert_float_eq(number_of(reply), 4);
    part = step_of(handle, NULL, 0, "a/Neg:0");
    part.request.partial_run_handle = begun->partial_run_handle;
    GOOD(run(&part, &reply));
    ck_assert_float_eq(number_of(reply), -4);
    part = step_of(handle, NULL, 0, "a/Neg:0");
    part.request.partial_run_handle = begun->partial_run_handle;
    refused(run(&part, &reply), INVALID_ARGUMENT, "Must run PartialRunSetup");
}
END_TEST

START_TEST(devices_are_the_tasks_own) {
    Str handle = open_session((Str){0});
    ListDevicesRequestProto request = {.session_handle = handle};
    ListDevicesResponseProto *reply;
    GOOD(CALL("ListDevices", ListDevicesRequest, &request, ListDevicesResponse, &reply));
    ck_assert_uint_eq(reply->local_device.n, 1);
    ck_assert(str_is(reply->local_device.p[0].name, "/job:worker/replica:0/task:0/device:CPU:0"));
    ck_assert_uint_ne(reply->local_device.p[0].incarnation, 0);
    request.session_handle = STR("none");
    refused(CALL("ListDevices", ListDevicesRequest, &request, ListDevicesResponse, &reply), INVALID_ARGUMENT, "none");
    ck_assert_ptr_null(server_of("ps", 0, "localhost:0"));
    ck_assert_ptr_null(server_of("worker", 1, "localhost:0"));
    ck_assert_ptr_null(server_of("worker", 0, "localhost"));
}
END_TEST

// The other end: a session of this process on the server.
START_TEST(sessions_on_a_server) {
    Formula mine = formula_in(STR("a")), *f = &mine;
    Mutex lock = MUTEX_INIT;
    Session *session;
    Tensor three, out[2] = {{0}}, again;
    const Tensor *fed = &three;
    Output x = scalar_input(f), y = Square(x);
    GOOD(f->status);
    GOOD(tensor_new(DT_float, SCALAR_SHAPE, &three));
    *(float *)three.data = 3;
    RemoteOptions options = {.address = server_target(server) + 7, .timeout_ms = 20000};
    GOOD(remote_session_new(graph, &lock, &options, &session));
    Output twice[] = {y, y};
    StepSignature step = {.feeds = &x, .fetches = twice, .n_feeds = 1, .n_fetches = 2};
    GOOD(session_run(session, &step, &run_settings_default, &fed, out));
    for (int i = 0; i < 2; i++) {
        ck_assert_float_eq(*(float *)out[i].data, 9);
        tensor_clear(&out[i]);
    }
    Output z = Neg(y);  // the graph goes on
    GOOD(f->status);
    step = (StepSignature){.feeds = &x, .fetches = &z, .n_feeds = 1, .n_fetches = 1};
    GOOD(session_run(session, &step, &run_settings_default, &fed, &again));
    ck_assert_float_eq(*(float *)again.data, -9);
    tensor_clear(&again);
    step.n_feeds = 0;
    refused(session_run(session, &step, &run_settings_default, NULL, &again), INVALID_ARGUMENT, "a/Placeholder");
    SessionDevice *devices;
    int n;
    GOOD(session_list_devices(session, &arena, &devices, &n));
    ck_assert_int_eq(n, 1);
    ck_assert_uint_eq(strlen(devices[0].name.p), devices[0].name.n);  // as the C interface gives it
    ck_assert_str_eq(devices[0].type.p, "CPU");
    PartialRun *run;
    Output both[] = {y, z};
    StepSignature all = {.feeds = &x, .fetches = both, .n_feeds = 1, .n_fetches = 2};
    GOOD(session_partial_begin(session, &all, &run));
    StepSignature first = {.feeds = &x, .fetches = &y, .n_feeds = 1, .n_fetches = 1};
    GOOD(session_partial_run(run, &first, &fed, &again));
    ck_assert_float_eq(*(float *)again.data, 9);
    tensor_clear(&again);
    StepSignature second = {.fetches = &z, .n_fetches = 1};
    GOOD(session_partial_run(run, &second, NULL, &again));
    ck_assert_float_eq(*(float *)again.data, -9);
    tensor_clear(&again);
    session_partial_end(run);
    session_close(session);
    refused(session_run(session, &step, &run_settings_default, NULL, &again), CANCELLED, "closed");
    session_free(session);
    tensor_clear(&three);
    mutex_clear(&lock);
}
END_TEST

// A server that isn't there is an error, not a wait.
START_TEST(sessions_on_no_server) {
    Mutex lock = MUTEX_INIT;
    Session *session;
    RemoteOptions options = {.address = "localhost:1", .timeout_ms = 20000};
    GOOD(remote_session_new(graph, &lock, &options, &session));
    refused(session_extend(session), UNAVAILABLE, "localhost:1");
    session_free(session);
    mutex_clear(&lock);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("master");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_graph_is_run_and_extended);
    tcase_add_test(tests, wrong_names_are_told);
    tcase_add_test(tests, sessions_share_the_server);
    tcase_add_test(tests, waiting_ends);
    tcase_add_test(tests, callables_and_partial_runs);
    tcase_add_test(tests, devices_are_the_tasks_own);
    tcase_add_test(tests, sessions_on_a_server);
    tcase_add_test(tests, sessions_on_no_server);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
