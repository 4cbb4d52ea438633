// Tests of millrace.h — text, ops, plans, networks, freezing; through the header alone.
#include "millrace/millrace.h"

#include <math.h>
#include <stdlib.h>

#include "api/api_test.h"
#include "millrace/eager.h"
#include "millrace/gradients.h"
#include "millrace/messages.h"
#include "tensorflow/c/eager/c_api.h"

static void setup(void) {
    s = TF_NewStatus();
}

static void teardown(void) {
    TF_DeleteStatus(s);
}

static void is_text(const TF_Tensor *tensor, int style, const char *wanted) {
    TF_Buffer *text = TF_NewBuffer();
    mr_tensor_print(tensor, style, text, s);
    ok();
    ck_assert_str_eq(text->data, wanted);
    ck_assert_uint_eq(text->length, strlen(wanted));
    TF_DeleteBuffer(text);
}

START_TEST(tensors_as_text) {
    TF_Tensor *t = mr_tensor_parse("[[1 2] [3 4]]", (TF_DataType)0, s);
    ok();
    ck_assert_int_eq(TF_TensorType(t), TF_FLOAT);
    is_text(t, MR_PLAIN, "[[1 2] [3 4]]");
    is_text(t, MR_JSON, "[[1, 2], [3, 4]]");
    TF_DeleteTensor(t);
    t = mr_tensor_parse("[1 2]", TF_INT64, s);
    ok();
    ck_assert_int_eq(((int64_t *)TF_TensorData(t))[1], 2);
    is_text(t, MR_PLAIN, "int64 [1 2]");
    TF_DeleteTensor(t);
    ck_assert_ptr_null(mr_tensor_parse("[1 2", (TF_DataType)0, s));
    ck_assert_int_eq(TF_GetCode(s), TF_INVALID_ARGUMENT);
    ck_assert_str_eq(mr_dtype_name(TF_BFLOAT16), "bfloat16");
    ck_assert_ptr_null(mr_dtype_name((TF_DataType)77));
    ck_assert_int_eq(mr_dtype_find("double"), TF_DOUBLE);
}
END_TEST

START_TEST(eval) {
    TF_Tensor *results[2] = {NULL, NULL};
    ck_assert_int_eq(mr_eval("IdentityN({1, 2, 3})", results, 2, s), 3);  // more than there is room for
    ok();
    is_text(results[1], MR_PLAIN, "2");
    TF_DeleteTensor(results[0]);
    TF_DeleteTensor(results[1]);
    ck_assert_int_eq(mr_eval("Softmax(3)", results, 2, s), -1);
    ck_assert_int_eq(TF_GetCode(s), TF_INVALID_ARGUMENT);
    ck_assert_int_eq(mr_eval("NoOp()", results, 2, s), 0);
    ok();
}
END_TEST

START_TEST(ops) {
    mr_op_info op = {.struct_size = sizeof op};
    ck_assert(mr_op_find("Softmax", &op));
    ck_assert_str_eq(op.name, "Softmax");
    ck_assert(op.has_kernel && !op.is_stateful && op.gradient == MR_GRADIENT_DEFINED && op.num_dtypes == 4);
    ck_assert(mr_op_find("Greater", &op) && op.gradient == MR_GRADIENT_ZERO);
    ck_assert(mr_op_find("VarHandleOp", &op) && op.is_stateful);
    ck_assert(!mr_op_find("Softmix", &op));
    // An older program's struct is not written beyond its end.
    struct { mr_op_info op; } small;
    memset(&small, 0x55, sizeof small);
    small.op.struct_size = offsetof(mr_op_info, is_stateful);
    ck_assert(mr_op_find("VarHandleOp", &small.op));
    ck_assert_int_eq(small.op.is_stateful, 0x55555555);
    size_t n = 0;
    op.struct_size = sizeof op;
    while (n < 400 && mr_op_at(n, &op))
        n++;
    ck_assert_uint_gt(n, 300);
    TF_Buffer *text = TF_NewBuffer();
    mr_op_signature("Softmax", text, s);
    ok();
    ck_assert(strncmp(text->data, "Softmax(logits: T) -> softmax: T", 32) == 0);
    TF_DeleteBuffer(text);
}
END_TEST

// ---------------------------------------- networks

typedef struct {
    TF_Graph *graph;
    mr_net *net;
    TF_Session *session;
    TF_Output x, labels, logits, loss;
    TF_Operation *init, *train;
} Example;

static TF_Tensor *parse(const char *text, TF_DataType dtype) {
    TF_Tensor *tensor = mr_tensor_parse(text, dtype, s);
    ok();
    return tensor;
}

static void build(Example *e) {
    *e = (Example){.graph = TF_NewGraph()};
    e->net = mr_net_new(e->graph, 7);
    int64_t dims[] = {-1, 2}, batch = -1;
    e->x = mr_input(e->net, "x", TF_FLOAT, dims, 2);
    e->labels = mr_input(e->net, "labels", TF_INT32, &batch, 1);
    e->logits = mr_named(e->net, "answer", mr_dense(e->net, "out", mr_dense(e->net, "hidden", e->x, 8, "Tanh"), 2,
                                                    NULL));
    e->loss = mr_loss_softmax(e->net, e->logits, e->labels);
    mr_optimizer adam = {.struct_size = sizeof adam, .name = "adam", .clip_global_norm = 5};
    e->train = mr_minimize(e->net, &adam, mr_scalar(e->net, 0.05, TF_FLOAT), e->loss);
    e->init = mr_init(e->net);
    mr_net_status(e->net, s);
    ok();
    TF_SessionOptions *options = TF_NewSessionOptions();
    e->session = TF_NewSession(e->graph, options, s);
    TF_DeleteSessionOptions(options);
    ok();
    const TF_Operation *init = e->init;
    TF_SessionRun(e->session, NULL, NULL, NULL, 0, NULL, NULL, 0, &init, 1, NULL, s);
    ok();
}

static void drop(Example *e) {
    TF_DeleteSession(e->session, s);
    mr_net_delete(e->net);
    TF_DeleteGraph(e->graph);
}

static float train(Example *e, int steps) {
    TF_Tensor *values[] = {parse("[[0 0] [0 1] [1 0] [1 1]]", TF_FLOAT), parse("[0 1 1 0]", TF_INT32)};
    TF_Output feeds[] = {e->x, e->labels};
    const TF_Operation *step = e->train;
    float loss = 0;
    for (int i = 0; i < steps; i++) {
        TF_Tensor *out;
        TF_SessionRun(e->session, NULL, feeds, values, 2, &e->loss, &out, 1, &step, 1, NULL, s);
        ok();
        loss = *(float *)TF_TensorData(out);
        TF_DeleteTensor(out);
    }
    TF_DeleteTensor(values[0]);
    TF_DeleteTensor(values[1]);
    return loss;
}

static TF_Tensor *ask(TF_Session *session, TF_Output x, TF_Output y) {
    TF_Tensor *in = parse("[[1 0] [1 1]]", TF_FLOAT), *out = NULL;
    TF_SessionRun(session, NULL, &x, &in, 1, &y, &out, 1, NULL, 0, NULL, s);
    ok();
    TF_DeleteTensor(in);
    return out;
}

START_TEST(learns_and_freezes) {
    Example e;
    build(&e);
    float first = train(&e, 1);
    ck_assert_float_lt(train(&e, 150), first / 4);
    TF_Buffer *bytes = TF_NewBuffer();
    mr_freeze(e.session, &e.logits, 1, bytes, s);
    ok();
    TF_Graph *graph = TF_NewGraph();
    TF_ImportGraphDefOptions *import = TF_NewImportGraphDefOptions();
    TF_GraphImportGraphDef(graph, bytes, import, s);
    ok();
    TF_SessionOptions *options = TF_NewSessionOptions();
    TF_Session *session = TF_NewSession(graph, options, s);
    ok();
    TF_Output x = {TF_GraphOperationByName(graph, "x"), 0}, y = {TF_GraphOperationByName(graph, "answer"), 0};
    ck_assert(x.oper && y.oper);
    ck_assert_ptr_null(TF_GraphOperationByName(graph, "labels"));
    TF_Tensor *there = ask(session, x, y), *here = ask(e.session, e.x, e.logits);
    ck_assert_int_eq(memcmp(TF_TensorData(there), TF_TensorData(here), TF_TensorByteSize(here)), 0);
    TF_DeleteTensor(there);
    TF_DeleteTensor(here);
    TF_DeleteSession(session, s);
    TF_DeleteSessionOptions(options);
    TF_DeleteImportGraphDefOptions(import);
    TF_DeleteGraph(graph);
    TF_DeleteBuffer(bytes);
    drop(&e);
}
END_TEST

START_TEST(plans) {
    Example e;
    build(&e);
    TF_Tensor *in = parse("[[1 0] [1 1]]", TF_FLOAT);
    mr_plan *plan = mr_plan_new(e.session, &e.x, &in, 1, &e.logits, 1, NULL, 0, s);
    ok();
    mr_plan_info info = {.struct_size = sizeof info};
    mr_plan_get_info(plan, &info);
    ck_assert(info.num_nodes > 5 && info.num_run <= info.num_nodes && !info.is_propagated && info.is_specialised);
    ck_assert_int_ge(info.arena_bytes, info.lower_bound);
    mr_plan_node node = {.struct_size = sizeof node};
    size_t n = 0;
    bool product = false;
    while (mr_plan_node_at(plan, n, &node)) {
        product |= strcmp(node.op, "_FusedMatMul") == 0 && strstr(node.device, "CPU:0");
        n++;
    }
    ck_assert(product && n == info.num_nodes);
    mr_plan_delete(plan);
    plan = mr_plan_new(e.session, NULL, NULL, 0, &e.logits, 1, NULL, 0, s);  // shapes unknown, a feed missing
    if (plan)
        mr_plan_delete(plan);
    TF_DeleteTensor(in);
    drop(&e);
}
END_TEST

static TF_Tensor *fetch(TF_Session *session, TF_Output y, const TF_Operation *target) {
    TF_Tensor *out = NULL;
    TF_SessionRun(session, NULL, NULL, NULL, 0, &y, &out, 1, &target, target != NULL, NULL, s);
    ok();
    return out;
}

// A picture through every layer of images, a sequence through those of words: what learns and what is tested share
// variables.
START_TEST(layers_have_doors) {
    TF_Graph *graph = TF_NewGraph();
    mr_net *net = mr_net_new(graph, 1);
    TF_Output loss[2], memory[2] = {{0}, {0}};
    TF_Tensor *picture = parse("[[[[1] [2]] [[3] [4]]] [[[2] [2]] [[1] [3]]]]", TF_FLOAT),
        *ids = parse("[[0 1] [2 1]]", TF_INT32);
    TF_Tensor *names = parse("[1 0]", TF_INT32);
    TF_Operation *train = NULL, *init = NULL;
    mr_schedule cosine = {.struct_size = sizeof cosine, .name = "cosine", .rate = 0.1, .steps = 4, .warmup = 2};
    mr_optimizer rule = {.struct_size = sizeof rule, .name = "gradient-descent"};
    TF_Output rate = mr_rate(net, &cosine);
    for (int testing = 0; testing < 2; testing++) {
        mr_testing(net, testing);
        TF_Output labels = mr_constant(net, names);
        TF_Output x = mr_convolve(net, "conv", mr_constant(net, picture), 2, 1, 2, 1, "1");
        x = mr_lrn(net, "lrn", mr_batch_norm(net, "norm", mr_bias(net, "bias", x, "Tanh"), NULL), 1, 1, 0.1, 0.5);
        x = mr_global_average(net, "mean", mr_pool(net, "pool", "AvgPool", x, 2, 1, "SAME"));
        TF_Output words = mr_lstm(net, "lstm", mr_embedding(net, "words", mr_constant(net, ids), 3, 2), 2, memory);
        words = mr_rows(net, mr_cast(net, mr_cast(net, words, TF_DOUBLE), TF_FLOAT), 4);
        x = mr_concat(net, (TF_Output[]){x, words}, 2, 1);
        TF_Output parts[] = {mr_loss_sampled_softmax(net, "a", x, labels, 5, 3),
                             mr_loss_nce(net, "b", x, labels, 5, 3)};
        loss[testing] = mr_op(net, "AddV2", parts, 2);
        ck_assert_int_eq(TF_GraphGetTensorNumDims(graph, mr_all_logits(net, "a", x, 5), s), 2);
        memory[0] = memory[1] = (TF_Output){0};
        if (testing)
            continue;
        train = mr_minimize(net, &rule, rate, loss[0]);
        init = mr_init(net);
    }
    mr_net_status(net, s);
    ok();
    ck_assert_ptr_null(TF_GraphOperationByName(graph, "conv_1/kernel"));
    TF_SessionOptions *options = TF_NewSessionOptions();
    TF_Session *session = TF_NewSession(graph, options, s);
    ok();
    TF_DeleteTensor(fetch(session, rate, init));
    const double rates[] = {0.05, 0.1 * (1 + M_SQRT1_2) / 2, 0.05, 0.1 * (1 - M_SQRT1_2) / 2, 0, 0};
    for (int i = 0; i < 6; i++) {
        TF_Tensor *now = fetch(session, rate, NULL), *count = fetch(session, mr_steps(net), NULL);
        ck_assert_double_eq_tol(*(float *)TF_TensorData(now), rates[i], 1e-6);
        ck_assert_int_eq(*(int64_t *)TF_TensorData(count), i);
        TF_DeleteTensor(now);
        TF_DeleteTensor(count);
        TF_DeleteTensor(fetch(session, loss[0], train));
    }
    TF_Tensor *tested = fetch(session, loss[1], NULL);
    ck_assert(isfinite(*(float *)TF_TensorData(tested)) && *(float *)TF_TensorData(tested) > 0);
    TF_Tensor *const used[] = {tested, picture, ids, names};
    for (int i = 0; i < 4; i++)
        TF_DeleteTensor(used[i]);
    cosine.name = "moon";
    mr_rate(net, &cosine);
    mr_net_status(net, s);
    ck_assert_int_eq(TF_GetCode(s), TF_NOT_FOUND);
    TF_DeleteSession(session, s);
    TF_DeleteSessionOptions(options);
    mr_net_delete(net);
    TF_DeleteGraph(graph);
}
END_TEST

START_TEST(errors_stay) {
    TF_Graph *graph = TF_NewGraph();
    mr_net *net = mr_net_new(graph, 1);
    TF_Output x = mr_input(net, "x", TF_FLOAT, NULL, -1);
    TF_Output y = mr_dense(net, "first", x, 3, NULL);
    mr_net_status(net, s);
    ck_assert_int_eq(TF_GetCode(s), TF_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(TF_Message(s), "first"));
    ck_assert_ptr_null(y.oper);
    mr_dense(net, "second", y, 3, NULL);
    mr_optimizer none = {.struct_size = sizeof none, .name = "newton"};
    ck_assert_ptr_null(mr_minimize(net, &none, x, y));
    mr_net_status(net, s);
    ck_assert_ptr_nonnull(strstr(TF_Message(s), "first"));
    mr_net_delete(net);
    net = mr_net_new(graph, 1);
    ck_assert_ptr_null(mr_minimize(net, &none, x, x));
    mr_net_status(net, s);
    ck_assert_int_eq(TF_GetCode(s), TF_NOT_FOUND);
    mr_net_delete(net);
    TF_DeleteGraph(graph);
}
END_TEST

static void delete_session(TF_Session *session) {
    TF_Status *status = TF_NewStatus();
    TF_DeleteSession(session, status);
    TF_DeleteStatus(status);
}

// Each way of opening a session refuses a variable that holds what means nothing.
static void opens(TF_Code code, const char *word) {
    TF_Graph *graph = TF_NewGraph();
    TF_SessionOptions *options = TF_NewSessionOptions();
    TF_Tensor *result = NULL;
    for (int way = 0; way < 4; way++) {
        if (way == 0)
            mr_environment_check(s);
        else if (way == 1)
            delete_session(TF_NewSession(graph, options, s));
        else if (way == 2)
            mr_eval("NoOp()", &result, 1, s);
        else
            TFE_DeleteContext(TFE_NewContext(NULL, s));
        ck_assert_int_eq(TF_GetCode(s), code);
        ck_assert_msg(strstr(TF_Message(s), word), "%s: %s", word, TF_Message(s));
    }
    TF_DeleteSessionOptions(options);
    TF_DeleteGraph(graph);
}

START_TEST(environment) {
    static const char *const WRONG[][3] = {
        {"MILLRACE_LOG", "loud", "info, warning and error"},
        {"MILLRACE_CPU", "avx2", "v1, v3 and v4"},
        {"MILLRACE_PASSES", "-fold,fuse", "'fuse'"},
        {"MILLRACE_STRESS", "order,alloc:many", "'alloc:many'"},
    };
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        const char *kept = getenv(WRONG[i][0]);
        char *before = kept ? strdup(kept) : NULL;
        setenv(WRONG[i][0], WRONG[i][1], 1);
        opens(TF_INVALID_ARGUMENT, WRONG[i][0]);
        opens(TF_INVALID_ARGUMENT, WRONG[i][2]);
        setenv(WRONG[i][0], before ? before : "", 1);
        opens(TF_OK, "");
        free(before);
    }
}
END_TEST

// ---------------------------------------- gradients of a client's own

typedef struct {
    TF_Graph *graph;
    int asked;
} Client;

static TF_Output node_of(TF_Graph *graph, const char *op, const char *name, TF_Output x, TF_Output y) {
    TF_OperationDescription *desc = TF_NewOperation(graph, op, name);
    TF_AddInput(desc, x);
    if (y.oper)
        TF_AddInput(desc, y);
    TF_Operation *made = TF_FinishOperation(desc, s);
    ok();
    return (TF_Output){made, 0};
}

// A gradient of Identity that is not its own: 2 dy.
static void doubled(void *arg, TF_Operation *op, const TF_Output *dys, TF_Output *dxs, TF_Status *status) {
    Client *client = arg;
    client->asked++;
    ck_assert_str_eq(TF_OperationOpType(op), "Identity");
    TF_OperationDescription *desc = TF_NewOperation(client->graph, "AddV2", "doubled");
    TF_AddInput(desc, dys[0]);
    TF_AddInput(desc, dys[0]);
    dxs[0] = (TF_Output){TF_FinishOperation(desc, status), 0};
}

static void refuses(void *arg, TF_Operation *op, const TF_Output *dys, TF_Output *dxs, TF_Status *status) {
    (void)arg, (void)op, (void)dys, (void)dxs;
    TF_SetStatus(status, TF_UNIMPLEMENTED, "not this one");
}

static TF_Output placeholder_of(TF_Graph *graph, const char *name) {
    TF_OperationDescription *desc = TF_NewOperation(graph, "Placeholder", name);
    TF_SetAttrType(desc, "dtype", TF_FLOAT);
    TF_Operation *made = TF_FinishOperation(desc, s);
    ok();
    return (TF_Output){made, 0};
}

static float value_at(TF_Graph *graph, TF_Output x, TF_Output wanted) {
    TF_SessionOptions *options = TF_NewSessionOptions();
    TF_Session *session = TF_NewSession(graph, options, s);
    TF_DeleteSessionOptions(options);
    ok();
    TF_Tensor *three = mr_tensor_parse("3", TF_FLOAT, s), *result;
    ok();
    TF_SessionRun(session, NULL, &x, &three, 1, &wanted, &result, 1, NULL, 0, NULL, s);
    ok();
    float value = *(const float *)TF_TensorData(result);
    TF_DeleteTensor(result);
    TF_DeleteTensor(three);
    TF_DeleteSession(session, s);
    return value;
}

START_TEST(clients_gradients) {
    TF_Graph *graph = TF_NewGraph();
    TF_Output none = {NULL, 0}, x = placeholder_of(graph, "x"), other = placeholder_of(graph, "other");
    TF_Output same = node_of(graph, "Identity", "same", x, none), y = node_of(graph, "Mul", "y", same, same);
    Client client = {graph, 0};
    TF_Output xs[2] = {x, other}, values[2], indices[2], shapes[2];
    mr_gradients question = {.struct_size = sizeof question, .ys = &y, .num_ys = 1, .xs = xs, .num_xs = 2,
                             .own = &same.oper, .num_own = 1, .gradient = doubled, .arg = &client,
                             .values = values, .indices = indices, .shapes = shapes};
    mr_add_gradients(graph, &question, s);
    ok();
    ck_assert_int_eq(client.asked, 1);
    ck_assert_ptr_null(values[1].oper);
    ck_assert_ptr_null(indices[0].oper);
    ck_assert(value_at(graph, x, values[0]) == 12);   // 2 x, doubled

    question.gradient = refuses;
    mr_add_gradients(graph, &question, s);
    failed(TF_UNIMPLEMENTED, "not this one");

    question.own = NULL;
    question.num_own = 0;
    question.stops = &same.oper;
    question.num_stops = 1;
    mr_add_gradients(graph, &question, s);
    ok();
    ck_assert_ptr_null(values[0].oper);

    question.struct_size = 0;
    mr_add_gradients(graph, &question, s);
    failed(TF_INVALID_ARGUMENT, "struct_size");
    TF_DeleteGraph(graph);
}
END_TEST

static TFE_TensorHandle *handle_of(float value) {
    TF_Tensor *tensor = TF_AllocateTensor(TF_FLOAT, NULL, 0, sizeof value);
    *(float *)TF_TensorData(tensor) = value;
    TFE_TensorHandle *handle = TFE_NewTensorHandle(tensor, s);
    ok();
    TF_DeleteTensor(tensor);
    return handle;
}

static double scalar_in(TFE_TensorHandle *handle) {
    TF_Tensor *tensor = TFE_TensorHandleResolve(handle, s);
    ok();
    double value = *(const float *)TF_TensorData(tensor);
    TF_DeleteTensor(tensor);
    return value;
}

START_TEST(prepared_calls) {
    TFE_Context *context = TFE_NewContext(NULL, s);
    ok();
    TFE_Op *op = TFE_NewOp(context, "Sub", s);
    float numbers[2] = {5, 3};
    TFE_TensorHandle *x[2], *results[1] = {NULL};
    for (int i = 0; i < 2; i++) {
        x[i] = handle_of(numbers[i]);
        TFE_OpAddInput(op, x[i], s);
    }
    mr_call *call = mr_call_new(op, s);
    ok();
    TFE_DeleteOp(op);
    ck_assert_int_eq(mr_call_num_outputs(call), 1);
    ck_assert_int_eq(mr_call_output_type(call, 0), TF_FLOAT);
    ck_assert_int_eq(mr_call_output_type(call, 1), 0);
    mr_call_run(call, x, results, s);
    ok();
    ck_assert(scalar_in(results[0]) == 2);
    TFE_TensorHandle *swapped = mr_call_one(call, x[1], x[0], s);
    ck_assert(scalar_in(swapped) == -2);
    ck_assert(!mr_call_one(call, x[0], NULL, s));
    ck_assert_int_eq(TF_GetCode(s), TF_INVALID_ARGUMENT);
    TFE_DeleteTensorHandle(swapped);
    TFE_DeleteTensorHandle(results[0]);
    mr_call_delete(call);
    op = TFE_NewOp(context, "Neg", s);
    TFE_OpAddInput(op, x[0], s);
    call = mr_call_new(op, s);
    ok();
    ck_assert(!mr_call_one(call, x[0], x[1], s));
    mr_call_delete(call);
    TFE_DeleteOp(op);
    TFE_DeleteTensorHandle(x[0]);
    TFE_DeleteTensorHandle(x[1]);
    TFE_DeleteContext(context);
}
END_TEST

START_TEST(tables_of_messages) {
    mr_field field = {.struct_size = sizeof field};
    int number = 0, messages = 0;
    while (mr_message_at((size_t)messages))
        messages++;
    ck_assert_int_gt(messages, 50);
    ck_assert_int_eq(mr_message_field("NodeDef", 0, &field), 1);
    ck_assert_str_eq(field.name, "name");
    ck_assert_int_eq(field.kind, MR_FIELD_STRING);
    ck_assert_int_eq(mr_message_field("NodeDef", 100, &field), 0);
    ck_assert_int_eq(mr_message_field("Nothing", 0, &field), 0);
    ck_assert_str_eq(mr_enum_value("RunOptions_TraceLevel", 3, &number), "FULL_TRACE");
    ck_assert_int_eq(number, 3);
    ck_assert_ptr_null(mr_enum_value("RunOptions_TraceLevel", 4, &number));
    ck_assert_ptr_null(mr_enum_value("Nothing", 0, &number));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("millrace.h");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, tensors_as_text);
    tcase_add_test(tests, eval);
    tcase_add_test(tests, ops);
    tcase_add_test(tests, learns_and_freezes);
    tcase_add_test(tests, plans);
    tcase_add_test(tests, layers_have_doors);
    tcase_add_test(tests, errors_stay);
    tcase_add_test(tests, environment);
    tcase_add_test(tests, clients_gradients);
    tcase_add_test(tests, tables_of_messages);
    tcase_add_test(tests, prepared_calls);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
