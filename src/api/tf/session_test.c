// Session test — running, functions, gradients and single operations through the C interface.
#define _GNU_SOURCE  // memmem
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_test.h"
#include "tensorflow/c/c_api_experimental.h"
#include "tensorflow/c/eager/c_api.h"

static TF_Graph *graph;
static TF_Session *session;

static void open_session(void) {
    TF_SessionOptions *options = TF_NewSessionOptions();
    session = TF_NewSession(graph, options, s);
    TF_DeleteSessionOptions(options);
    ok();
}

static void set_up(void) {
    graph = TF_NewGraph();
    s = TF_NewStatus();
    open_session();
}

static void tear_down(void) {
    TF_DeleteGraph(graph);  // before the session: it lives as long as that
    if (session)
        TF_DeleteSession(session, s);
    TF_DeleteStatus(s);
}

static TF_Output placeholder(TF_Graph *g, const char *name) {
    TF_OperationDescription *desc = TF_NewOperation(g, "Placeholder", name);
    TF_SetAttrType(desc, "dtype", TF_FLOAT);
    TF_Operation *op = TF_FinishOperation(desc, s);
    ok();
    return (TF_Output){op, 0};
}

static TF_Output binary(TF_Graph *g, const char *type, const char *name, TF_Output x, TF_Output y) {
    TF_OperationDescription *desc = TF_NewOperation(g, type, name);
    TF_AddInput(desc, x);
    TF_AddInput(desc, y);
    TF_Operation *op = TF_FinishOperation(desc, s);
    ok();
    return (TF_Output){op, 0};
}

static TF_Tensor *number(float value) {
    TF_Tensor *t = TF_AllocateTensor(TF_FLOAT, NULL, 0, 4);
    *(float *)TF_TensorData(t) = value;
    return t;
}

static TF_Output constant(TF_Graph *g, const char *name, float value) {
    TF_OperationDescription *desc = TF_NewOperation(g, "Const", name);
    TF_Tensor *t = number(value);
    TF_SetAttrTensor(desc, "value", t, s);
    ok();
    TF_SetAttrType(desc, "dtype", TF_FLOAT);
    TF_DeleteTensor(t);
    TF_Operation *op = TF_FinishOperation(desc, s);
    ok();
    return (TF_Output){op, 0};
}

static float run(TF_Output feed, float value, TF_Output fetch) {
    TF_Tensor *in = number(value), *out = NULL;
    TF_SessionRun(session, NULL, &feed, &in, 1, &fetch, &out, 1, NULL, 0, NULL, s);
    ok();
    float result = *(float *)TF_TensorData(out);
    *(float *)TF_TensorData(out) = -1;  // the client's to write into
    TF_DeleteTensor(in);
    TF_DeleteTensor(out);
    return result;
}

// ---------------------------------------- running

static void import_as(const char *prefix, TF_Buffer *def) {
    TF_ImportGraphDefOptions *opts = TF_NewImportGraphDefOptions();
    TF_ImportGraphDefOptionsSetPrefix(opts, prefix);
    TF_GraphImportGraphDef(graph, def, opts, s);
    ok();
    TF_DeleteImportGraphDefOptions(opts);
}

static void refuses_to_run(TF_Session *with, TF_Output fetch, const char *why) {
    TF_Tensor *out;
    TF_SessionRun(with, NULL, NULL, NULL, 0, &fetch, &out, 1, NULL, 0, NULL, s);
    failed(TF_INVALID_ARGUMENT, why);
}

// An import under a prefix may repeat names. Then sessions refuse, as TensorFlow's do.
START_TEST(repeated_names) {
    TF_Output x = placeholder(graph, "x"), y = binary(graph, "AddV2", "y", x, constant(graph, "c", 2));
    TF_Buffer *def = TF_NewBuffer();
    TF_GraphToGraphDef(graph, def, s);
    ok();
    import_as("p", def);
    TF_Operation *first = TF_GraphOperationByName(graph, "p/y");
    ck_assert(run(x, 1, y) == 3);
    import_as("p", def);
    ck_assert(first != TF_GraphOperationByName(graph, "p/y"));
    refuses_to_run(session, y, "GraphDef argument to Extend includes node 'p/x', which was created by");
    TF_DeleteSession(session, s);
    open_session();
    refuses_to_run(session, y, "Node 'p/x' is not unique");
    TF_DeleteBuffer(def);
}
END_TEST

// What ran when, for who asks.
START_TEST(traced) {
    TF_Output x = placeholder(graph, "x"), y = binary(graph, "AddV2", "sum", x, constant(graph, "two", 2));
    TF_Buffer *options = TF_CreateRunOptions(1), *metadata = TF_NewBuffer();
    for (int run = 0; run < 3; run++) {
        TF_Tensor *in = number(3), *out = NULL;
        TF_SessionRun(session, options, &x, &in, 1, &y, &out, 1, NULL, 0, metadata, s);
        ok();
        ck_assert_float_eq(*(float *)TF_TensorData(out), 5);
        ck_assert_ptr_nonnull(memmem(metadata->data, metadata->length, "sum = AddV2(", 12));
        ck_assert_ptr_nonnull(memmem(metadata->data, metadata->length, "device:CPU:0", 12));
        TF_DeleteBuffer(metadata);
        metadata = TF_NewBuffer();
        TF_DeleteTensor(in);
        TF_DeleteTensor(out);
    }
    TF_DeleteBuffer(metadata);
    TF_DeleteBuffer(options);
}
END_TEST

START_TEST(run_a_graph) {
    TF_Output x = placeholder(graph, "x"), y = binary(graph, "AddV2", "y", x, constant(graph, "two", 2));
    ck_assert_float_eq(run(x, 3, y), 5);
    ck_assert_float_eq(run(x, 4, y), 6);
    TF_Output z = binary(graph, "Mul", "z", y, y);  // the graph grows, the session follows
    ck_assert_float_eq(run(x, 1, z), 9);
    ck_assert_float_eq(run(y, 5, z), 25);           // an inner edge is fed
    TF_Tensor *both[2] = {number(1), number(10)}, *out;
    TF_Output feeds[] = {x, y};
    TF_SessionRun(session, NULL, feeds, both, 2, &z, &out, 1, NULL, 0, NULL, s);
    ok();
    ck_assert_float_eq(*(float *)TF_TensorData(out), 100);
    TF_DeleteTensor(out);
    TF_DeleteTensor(both[0]);
    TF_DeleteTensor(both[1]);
}
END_TEST

START_TEST(refusals) {
    TF_Output x = placeholder(graph, "x"), y = binary(graph, "AddV2", "y", x, x);
    TF_Tensor *in = number(1), *out = (TF_Tensor *)&in;
    TF_SessionRun(session, NULL, NULL, NULL, 0, &y, &out, 1, NULL, 0, NULL, s);
    failed(TF_INVALID_ARGUMENT, "You must feed a value for placeholder tensor 'x'");
    ck_assert_ptr_null(out);  // outputs are NULL after an error
    TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, NULL, 0, NULL, s);
    failed(TF_INVALID_ARGUMENT, "Must specify at least one target");
    TF_SessionRun(session, NULL, &x, &in, 1, &x, &out, 1, NULL, 0, NULL, s);
    failed(TF_INVALID_ARGUMENT, "fed");
    TF_Output bad = {y.oper, 3};
    TF_SessionRun(session, NULL, &x, &in, 1, &bad, &out, 1, NULL, 0, NULL, s);
    failed(TF_OUT_OF_RANGE, "");
    TF_Buffer *full = TF_NewBufferFromString("x", 1);
    TF_SessionRun(session, NULL, &x, &in, 1, &y, &out, 1, NULL, 0, full, s);
    failed(TF_INVALID_ARGUMENT, "non-empty run_metadata");
    TF_SessionRun(session, full, &x, &in, 1, &y, &out, 1, NULL, 0, NULL, s);
    failed(TF_INVALID_ARGUMENT, "Unparseable RunOptions");
    TF_DeleteBuffer(full);
    TF_Tensor *wrong = TF_AllocateTensor(TF_INT32, NULL, 0, 4);
    TF_SessionRun(session, NULL, &x, &wrong, 1, &y, &out, 1, NULL, 0, NULL, s);
    failed(TF_INVALID_ARGUMENT, "");
    TF_DeleteTensor(wrong);
    TF_Buffer *metadata = TF_NewBuffer();
    TF_SessionRun(session, NULL, &x, &in, 1, &y, &out, 1, NULL, 0, metadata, s);
    ok();
    ck_assert_ptr_nonnull(metadata->data);
    TF_DeleteBuffer(metadata);
    TF_DeleteTensor(out);
    TF_DeleteTensor(in);
}
END_TEST

START_TEST(closed_session) {
    TF_Output x = placeholder(graph, "x");
    TF_Tensor *in = number(1), *out;
    TF_Output y = binary(graph, "AddV2", "y", x, x);
    TF_CloseSession(session, s);
    ok();
    TF_SessionRun(session, NULL, &x, &in, 1, &y, &out, 1, NULL, 0, NULL, s);
    failed(TF_CANCELLED, "Session has been closed.");
    TF_CloseSession(session, s);
    ok();
    TF_DeleteTensor(in);
}
END_TEST

START_TEST(options) {
    TF_SessionOptions *options = TF_NewSessionOptions();
    TF_SetConfig(options, "\xff\xff\xff", 3, s);
    failed(TF_INVALID_ARGUMENT, "Unparseable ConfigProto");
    TF_SetConfig(options, "\x10\x01\x28\x01", 4, s);  // one thread
    ok();
    TF_SetTarget(options, "local");
    ck_assert_ptr_null(TF_NewSession(graph, options, s));
    failed(TF_NOT_FOUND, "local");
    TF_SetTarget(options, "");
    TF_Session *other = TF_NewSession(graph, options, s);
    ok();
    TF_DeviceList *list = TF_SessionListDevices(other, s);
    ok();
    ck_assert_int_eq(TF_DeviceListCount(list), 1);
    ck_assert_str_eq(TF_DeviceListName(list, 0, s), "/job:localhost/replica:0/task:0/device:CPU:0");
    ck_assert_str_eq(TF_DeviceListType(list, 0, s), "CPU");
    ck_assert_uint_ne(TF_DeviceListIncarnation(list, 0, s), 0);
    ck_assert_int_gt(TF_DeviceListMemoryBytes(list, 0, s), 0);
    ok();
    ck_assert_ptr_null(TF_DeviceListName(list, 1, s));
    failed(TF_INVALID_ARGUMENT, "Index out of bounds");
    TF_DeleteDeviceList(list);
    TF_DeleteDeviceList(NULL);
    TF_DeleteSession(other, s);
    TF_DeleteSessionOptions(options);
    TF_DeleteSessionOptions(NULL);
}
END_TEST

START_TEST(partial_runs) {
    TF_Output a = placeholder(graph, "a"), b = placeholder(graph, "b");
    TF_Output x = binary(graph, "AddV2", "x", a, constant(graph, "one", 1)), y = binary(graph, "Mul", "y", x, b);
    TF_Output feeds[] = {a, b}, fetches[] = {x, y};
    const char *handle, *abandoned;
    TF_SessionPRunSetup(session, feeds, 2, fetches, 2, NULL, 0, &handle, s);
    ok();
    TF_SessionPRunSetup(session, feeds, 2, fetches, 2, NULL, 0, &abandoned, s);
    ok();
    TF_Tensor *two = number(2), *out, *wrong = TF_AllocateTensor(TF_INT32, NULL, 0, 4);
    // What is refused takes nothing, and the run goes on.
    TF_SessionPRun(session, handle, &a, &wrong, 1, &x, &out, 1, NULL, 0, s);
    failed(TF_INVALID_ARGUMENT, "fed a int32");
    TF_SessionPRun(session, handle, &x, &two, 1, &x, &out, 1, NULL, 0, s);
    failed(TF_INVALID_ARGUMENT, "not among the feeds");
    TF_SessionPRun(session, handle, &a, &two, 1, &y, &out, 1, NULL, 0, s);
    failed(TF_INVALID_ARGUMENT, "can't be computed");
    TF_DeleteTensor(wrong);
    TF_SessionPRun(session, handle, &a, &two, 1, &x, &out, 1, NULL, 0, s);
    ok();
    ck_assert_float_eq(*(float *)TF_TensorData(out), 3);
    TF_DeleteTensor(out);
    TF_SessionPRun(session, handle, &b, &two, 1, &y, &out, 1, NULL, 0, s);
    ok();
    ck_assert_float_eq(*(float *)TF_TensorData(out), 6);
    TF_DeleteTensor(out);
    TF_SessionPRun(session, handle, &b, &two, 1, &y, &out, 1, NULL, 0, s);
    failed(TF_INVALID_ARGUMENT, "setup");  // it is over
    TF_DeletePRunHandle(handle);
    TF_DeletePRunHandle(abandoned);
    TF_DeleteTensor(two);
}
END_TEST

START_TEST(evaluate_constants) {
    TF_Output x = placeholder(graph, "x"), two = constant(graph, "two", 2);
    TF_Output four = binary(graph, "Mul", "four", two, two), y = binary(graph, "Mul", "y", two, x);
    TF_Tensor *value;
    ck_assert_int_eq(TF_TryEvaluateConstant(graph, four, &value, s), 1);
    ok();
    ck_assert_float_eq(*(float *)TF_TensorData(value), 4);
    TF_DeleteTensor(value);
    ck_assert_int_eq(TF_TryEvaluateConstant(graph, y, &value, s), 0);
    ok();
    ck_assert_ptr_null(value);
}
END_TEST

static TF_Output shared_x, shared_y;

static void *run_often(void *arg) {
    TF_Status *mine = TF_NewStatus();
    for (int i = 0; i < 500; i++) {
        TF_Tensor *in = number((float)i), *out = NULL;
        TF_SessionRun(session, NULL, &shared_x, &in, 1, &shared_y, &out, 1, NULL, 0, NULL, mine);
        if (TF_GetCode(mine) != TF_OK || *(float *)TF_TensorData(out) != (float)(2 * i))
            *(int *)arg += 1;
        TF_DeleteTensor(in);
        TF_DeleteTensor(out);
    }
    TF_DeleteStatus(mine);
    return NULL;
}

START_TEST(many_threads) {
    shared_x = placeholder(graph, "x");
    shared_y = binary(graph, "AddV2", "y", shared_x, shared_x);
    pthread_t threads[4];
    int wrong[4] = {0};
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, run_often, &wrong[i]);
    for (int i = 0; i < 20; i++) {  // meanwhile the graph grows
        char name[16];
        snprintf(name, sizeof name, "more_%d", i);
        binary(graph, "Mul", name, shared_x, shared_y);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_int_eq(wrong[i], 0);
    }
}
END_TEST

// ---------------------------------------- functions

// f(a) = a * a + a
static TF_Function *make_function(const char *name) {
    TF_Graph *body = TF_NewGraph();
    TF_Output a = placeholder(body, "A/In"), square = binary(body, "Mul", "square", a, a);
    TF_Output sum = binary(body, "AddV2", "sum", square, a);
    TF_Function *f = TF_GraphToFunction(body, name, 0, -1, NULL, 1, &a, 1, &sum, NULL, NULL, "a function", s);
    TF_DeleteGraph(body);
    return f;
}

START_TEST(functions) {
    TF_Function *f = make_function("F");
    ok();
    ck_assert_str_eq(TF_FunctionName(f), "F");
    TF_GraphCopyFunction(graph, f, NULL, s);
    ok();
    TF_GraphCopyFunction(graph, f, NULL, s);  // the same one again
    ok();
    ck_assert_int_eq(TF_GraphNumFunctions(graph), 1);
    TF_Buffer *def = TF_NewBuffer();
    TF_FunctionToFunctionDef(f, def, s);
    ok();
    TF_Function *again = TF_FunctionImportFunctionDef(def->data, def->length, s);
    ok();
    TF_GraphCopyFunction(graph, again, NULL, s);
    ok();
    TF_FunctionSetAttrValueProto(again, "_x", "\x18\x07", 2, s);
    ok();
    TF_Buffer *value = TF_NewBuffer();
    TF_FunctionGetAttrValueProto(again, "_x", value, s);
    ok();
    ck_assert_uint_eq(value->length, 2);
    TF_GraphCopyFunction(graph, again, NULL, s);  // another one of that name now
    failed(TF_INVALID_ARGUMENT, "different function");
    TF_FunctionGetAttrValueProto(f, "_x", value, s);
    failed(TF_INVALID_ARGUMENT, "_x");
    TF_DeleteBuffer(value);
    TF_DeleteBuffer(def);
    TF_DeleteFunction(again);
    TF_DeleteFunction(f);
    TF_DeleteFunction(NULL);

    TF_Output x = placeholder(graph, "x");
    TF_OperationDescription *desc = TF_NewOperation(graph, "F", "call");
    TF_AddInput(desc, x);
    TF_Operation *call = TF_FinishOperation(desc, s);
    ok();
    ck_assert_str_eq(TF_OperationOpType(call), "F");
    ck_assert_float_eq(run(x, 3, (TF_Output){call, 0}), 12);
    TF_Function *got;
    ck_assert_int_eq(TF_GraphGetFunctions(graph, &got, 1, s), 1);
    ok();
    ck_assert_str_eq(TF_FunctionName(got), "F");
    TF_DeleteFunction(got);
}
END_TEST

START_TEST(function_refusals) {
    TF_Output x = placeholder(graph, "x"), y = placeholder(graph, "y"), z = binary(graph, "AddV2", "z", x, y);
    TF_Output twice[] = {x, x};
    ck_assert_ptr_null(TF_GraphToFunction(graph, "F", 0, -1, NULL, 2, twice, 1, &z, NULL, NULL, NULL, s));
    failed(TF_INVALID_ARGUMENT, "more than once");
    const TF_Operation *body[] = {z.oper};
    ck_assert_ptr_null(TF_GraphToFunction(graph, "F", 0, 1, body, 1, &x, 1, &z, NULL, NULL, NULL, s));
    failed(TF_INVALID_ARGUMENT, "Input 1, 'y:0', of node 'z' in function 'F' is not available");
    TF_Output both[] = {x, y}, outs[] = {z, z};
    const char *names[] = {"out", "out"};
    ck_assert_ptr_null(TF_GraphToFunction(graph, "F", 0, 1, body, 2, both, 2, outs, names, NULL, NULL, s));
    failed(TF_INVALID_ARGUMENT, "duplicate output names");
    TF_Function *f = TF_GraphToFunction(graph, "F", 1, 1, body, 2, both, 1, &z, NULL, NULL, NULL, s);
    ok();
    ck_assert_int_eq((int)strlen(TF_FunctionName(f)), 18);  // F, _ and 16 digits
    TF_DeleteFunction(f);
    ck_assert_ptr_null(TF_FunctionImportFunctionDef("\xff\xff", 2, s));
    failed(TF_INVALID_ARGUMENT, "");
}
END_TEST

// ---------------------------------------- gradients

START_TEST(gradients) {
    TF_Output x = placeholder(graph, "x"), two = constant(graph, "two", 2);
    TF_Output y = binary(graph, "Mul", "y", binary(graph, "Mul", "xx", x, x), two), dx;
    TF_AddGradients(graph, &y, 1, &x, 1, NULL, s, &dx);
    ok();
    ck_assert_float_eq(run(x, 3, dx), 12);
    ck_assert_ptr_eq(strstr(TF_OperationName(dx.oper), "gradients/"), TF_OperationName(dx.oper));
    TF_Output seed = constant(graph, "seed", 10);
    TF_AddGradientsWithPrefix(graph, "mine", &y, 1, &x, 1, &seed, s, &dx);
    ok();
    ck_assert_float_eq(run(x, 3, dx), 120);
    TF_AddGradientsWithPrefix(graph, "mine", &y, 1, &x, 1, NULL, s, &dx);
    failed(TF_INVALID_ARGUMENT, "");
    TF_Output other = placeholder(graph, "other");
    TF_AddGradients(graph, &y, 1, &other, 1, NULL, s, &dx);
    failed(TF_INVALID_ARGUMENT, "unreachable");
}
END_TEST

// ---------------------------------------- loops

// while (i < 10) { i = i + 1; x = x * 2 }
START_TEST(while_loop) {
    TF_Output inputs[] = {placeholder(graph, "i"), placeholder(graph, "x")}, outputs[2];
    TF_WhileParams params = TF_NewWhile(graph, inputs, 2, s);
    ok();
    ck_assert_int_eq(params.ninputs, 2);
    ck_assert_str_eq(TF_OperationName(params.cond_inputs[1].oper), "cond_input1");
    ck_assert_str_eq(TF_OperationName(params.body_inputs[0].oper), "body_input0");
    TF_Output ten = constant(params.cond_graph, "ten", 10);
    params.cond_output = binary(params.cond_graph, "Less", "less", params.cond_inputs[0], ten);
    TF_Output one = constant(params.body_graph, "one", 1), two = constant(params.body_graph, "two", 2);
    params.body_outputs[0] = binary(params.body_graph, "AddV2", "inc", params.body_inputs[0], one);
    params.body_outputs[1] = binary(params.body_graph, "Mul", "double", params.body_inputs[1], two);
    params.name = "loop";
    TF_FinishWhile(&params, s, outputs);
    ok();
    ck_assert_str_eq(TF_OperationOpType(outputs[0].oper), "Exit");
    ck_assert_ptr_null(TF_GraphOperationByName(graph, "loop/cond/cond_input0"));  // replaced by the variable
    TF_Tensor *in[] = {number(7), number(1)}, *out[2];
    TF_SessionRun(session, NULL, inputs, in, 2, outputs, out, 2, NULL, 0, NULL, s);
    ok();
    ck_assert_float_eq(*(float *)TF_TensorData(out[0]), 10);
    ck_assert_float_eq(*(float *)TF_TensorData(out[1]), 8);
    for (int i = 0; i < 2; i++) {
        TF_DeleteTensor(in[i]);
        TF_DeleteTensor(out[i]);
    }
}
END_TEST

START_TEST(while_refusals) {
    TF_Output input = placeholder(graph, "i"), output;
    TF_NewWhile(graph, &input, 0, s);
    failed(TF_INVALID_ARGUMENT, "at least one input");
    TF_WhileParams params = TF_NewWhile(graph, &input, 1, s);
    ok();
    TF_FinishWhile(&params, s, &output);
    failed(TF_INVALID_ARGUMENT, "`cond_output` field isn't set");
    TF_WhileParams wrong = TF_NewWhile(graph, &input, 1, s);
    wrong.cond_output = wrong.cond_inputs[0];  // no bool
    wrong.body_outputs[0] = wrong.body_inputs[0];
    wrong.name = "w";
    TF_FinishWhile(&wrong, s, &output);
    failed(TF_INVALID_ARGUMENT, "boolean");
    ck_assert_ptr_null(TF_GraphOperationByName(graph, "w/Enter"));  // nothing stays
    TF_WhileParams unused = TF_NewWhile(graph, &input, 1, s);
    TF_AbortWhile(&unused);
}
END_TEST

// ---------------------------------------- single operations

static TFE_TensorHandle *eager_number(float value) {
    TF_Tensor *t = number(value);
    TFE_TensorHandle *h = TFE_NewTensorHandle(t, s);
    ok();
    TF_DeleteTensor(t);
    return h;
}

static float eager_value(TFE_TensorHandle *h) {
    TF_Tensor *t = TFE_TensorHandleResolve(h, s);
    ok();
    float value = *(float *)TF_TensorData(t);
    TF_DeleteTensor(t);
    return value;
}

START_TEST(eager) {
    TFE_ContextOptions *options = TFE_NewContextOptions();
    TFE_Context *context = TFE_NewContext(options, s);
    ok();
    TFE_DeleteContextOptions(options);
    ck_assert_ptr_null(TFE_NewOp(context, "NoSuchOp", s));
    failed(TF_NOT_FOUND, "NoSuchOp");
    TFE_TensorHandle *three = eager_number(3), *four = eager_number(4), *out[1];
    ck_assert_int_eq(TFE_TensorHandleNumDims(three, s), 0);
    ck_assert_int_eq((int)TFE_TensorHandleNumElements(three, s), 1);
    ck_assert_str_eq(TFE_TensorHandleDeviceName(three, s), "/job:localhost/replica:0/task:0/device:CPU:0");
    for (int i = 0; i < 2; i++) {
        TFE_Op *op = TFE_NewOp(context, "Mul", s);
        ok();
        ck_assert_str_eq(TFE_OpGetName(op, s), "Mul");
        TFE_OpAddInput(op, three, s);
        TFE_OpAddInput(op, four, s);
        ok();
        int n = 0;
        TFE_Execute(op, out, &n, s);
        failed(TF_INVALID_ARGUMENT, "num_retvals");
        n = 1;
        TFE_Execute(op, out, &n, s);
        ok();
        ck_assert_int_eq(n, 1);
        ck_assert_float_eq(eager_value(out[0]), 12);
        TFE_DeleteTensorHandle(out[0]);
        TFE_DeleteOp(op);
    }
    TFE_Op *op = TFE_NewOp(context, "AddN", s);
    TFE_TensorHandle *list[] = {three, four, four};
    TFE_OpAddInputList(op, list, 3, s);  // N and T follow
    ok();
    ck_assert_int_eq(TFE_OpGetInputLength(op, "inputs", s), 3);
    ck_assert_int_eq(TFE_OpGetOutputLength(op, "sum", s), 1);
    unsigned char is_list;
    ck_assert_int_eq(TFE_OpGetAttrType(op, "N", &is_list, s), TF_ATTR_INT);
    ok();
    TFE_DeleteOp(op);
    TF_Function *f = make_function("G");
    ok();
    TFE_ContextAddFunction(context, f, s);
    ok();
    TF_DeleteFunction(f);
    ck_assert_int_eq(TFE_ContextHasFunction(context, "G"), 1);
    op = TFE_NewOp(context, "G", s);
    TFE_OpAddInput(op, three, s);
    int n = 1;
    TFE_Execute(op, out, &n, s);
    ok();
    ck_assert_float_eq(eager_value(out[0]), 12);
    TFE_DeleteTensorHandle(out[0]);
    TFE_DeleteOp(op);
    TFE_DeleteTensorHandle(three);
    TFE_DeleteTensorHandle(four);
    TFE_DeleteTensorHandle(NULL);
    TFE_DeleteOp(NULL);
    TFE_DeleteContext(context);
    TFE_DeleteContext(NULL);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("api session");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 30);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, repeated_names);
    tcase_add_test(c, traced);
    tcase_add_test(c, run_a_graph);
    tcase_add_test(c, refusals);
    tcase_add_test(c, closed_session);
    tcase_add_test(c, options);
    tcase_add_test(c, partial_runs);
    tcase_add_test(c, evaluate_constants);
    tcase_add_test(c, many_threads);
    tcase_add_test(c, functions);
    tcase_add_test(c, function_refusals);
    tcase_add_test(c, gradients);
    tcase_add_test(c, while_loop);
    tcase_add_test(c, while_refusals);
    tcase_add_test(c, eager);
    suite_add_tcase(suite, c);
    return suite;
}

int main(void) {
    return run_suite(suite());
}
