// Extension test — ops and kernels made at run time, their lists and documentation, changes of graphs, the first
// session.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_test.h"
#include "millrace/millrace.h"
#include "tensorflow/c/c_api_experimental.h"
#include "tensorflow/c/env.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

static void set_up(void) {
    s = TF_NewStatus();
}

static void tear_down(void) {
    TF_DeleteStatus(s);
}

static bool contains(const TF_Buffer *b, const char *text) {
    size_t n = strlen(text);
    for (size_t i = 0; i + n <= b->length; i++)
        if (memcmp((const char *)b->data + i, text, n) == 0)
            return true;
    return false;
}

// ---------------------------------------- an op: y = x * scale, y.shape = x.shape

static int made, deleted;

static void *scale_new(TF_OpKernelConstruction *ctx) {
    float *scale = malloc(sizeof *scale);
    TF_Status *status = TF_NewStatus();
    TF_OpKernelConstruction_GetAttrFloat(ctx, "scale", scale, status);
    if (TF_GetCode(status) == TF_OK && *scale < 0) {
        TF_SetStatus(status, TF_INVALID_ARGUMENT, "scale is negative");
        TF_OpKernelConstruction_Failure(ctx, status);
    }
    TF_DeleteStatus(status);
    made++;
    return scale;
}

static void scale_delete(void *kernel) {
    deleted++;
    free(kernel);
}

static void scale_run(void *kernel, TF_OpKernelContext *ctx) {
    TF_Status *status = TF_NewStatus();
    TF_Tensor *in = NULL, *out = NULL, *temp = NULL;
    ck_assert_int_eq(TF_NumInputs(ctx), 1);
    ck_assert_int_eq(TF_NumOutputs(ctx), 1);
    ck_assert_int_eq(TF_ExpectedOutputDataType(ctx, 0), TF_FLOAT);
    TF_GetInput(ctx, 1, &in, status);
    ck_assert_int_eq(TF_GetCode(status), TF_OUT_OF_RANGE);
    TF_GetInput(ctx, 0, &in, status);
    ck_assert_int_eq(TF_GetCode(status), TF_OK);
    int64_t dims[2] = {TF_Dim(in, 0), 0};
    temp = TF_AllocateTemp(ctx, TF_FLOAT, dims, TF_NumDims(in), NULL, status);
    ck_assert_int_eq(TF_GetCode(status), TF_OK);
    out = TF_AllocateOutput(ctx, 0, TF_INT32, dims, TF_NumDims(in), 0, status);
    ck_assert_int_eq(TF_GetCode(status), TF_INVALID_ARGUMENT);
    out = TF_AllocateOutput(ctx, 0, TF_FLOAT, dims, TF_NumDims(in), TF_TensorByteSize(in), status);
    if (TF_GetCode(status) != TF_OK)
        TF_OpKernelContext_Failure(ctx, status);
    for (int64_t i = 0; out && i < TF_TensorElementCount(in); i++)
        ((float *)TF_TensorData(out))[i] = ((float *)TF_TensorData(in))[i] * *(float *)kernel;
    if (out && ((float *)TF_TensorData(in))[0] == 666) {
        TF_SetStatus(status, TF_DATA_LOSS, "the number of the beast");
        TF_OpKernelContext_Failure(ctx, status);
    }
    TF_DeleteTensor(in);
    TF_DeleteTensor(out);
    TF_DeleteTensor(temp);
    TF_DeleteStatus(status);
}

static void scale_shape(TF_ShapeInferenceContext *ctx, TF_Status *status) {
    TF_ShapeHandle *shape = TF_NewShapeHandle(), *checked = TF_NewShapeHandle();
    TF_DimensionHandle *dim = TF_NewDimensionHandle();
    ck_assert_int_eq((int)TF_ShapeInferenceContextNumInputs(ctx), 1);
    TF_ShapeInferenceContextGetInput(ctx, 0, shape, status);
    TF_ShapeInferenceContextWithRankAtMost(ctx, shape, 1, checked, status);
    if (TF_GetCode(status) == TF_OK) {
        TF_ShapeInferenceContextDim(ctx, checked, 0, dim);
        TF_ShapeInferenceContextSetOutput(ctx, 0, checked, status);
    }
    TF_DeleteDimensionHandle(dim);
    TF_DeleteShapeHandle(shape);
    TF_DeleteShapeHandle(checked);
}

// Registering is for ever: tests that run in one process share it.
static void define_scale(void) {
    static bool defined;
    if (defined)
        return;
    defined = true;
    TF_OpDefinitionBuilder *op = TF_NewOpDefinitionBuilder("TestScale");
    TF_OpDefinitionBuilderAddInput(op, "x: T");
    TF_OpDefinitionBuilderAddOutput(op, "y: T");
    TF_OpDefinitionBuilderAddAttr(op, "T: {float, double} = DT_FLOAT");
    TF_OpDefinitionBuilderAddAttr(op, "scale: float = 2.0");
    TF_OpDefinitionBuilderAddAttr(op, "mode: {'a', 'b'} = 'a'");
    TF_OpDefinitionBuilderSetShapeInferenceFunction(op, scale_shape);
    TF_RegisterOpDefinition(op, s);
    ok();
    TF_KernelBuilder *kernel = TF_NewKernelBuilder("TestScale", "CPU", scale_new, scale_run, scale_delete);
    TF_KernelBuilder_TypeConstraint(kernel, "T", TF_FLOAT, s);
    ok();
    TF_RegisterKernelBuilder("TestScale", kernel, s);
    ok();
}

static TF_Output placeholder(TF_Graph *graph, const char *name, TF_DataType type, int rank) {
    int64_t dims[] = {3, 3};
    TF_OperationDescription *desc = TF_NewOperation(graph, "Placeholder", name);
    TF_SetAttrType(desc, "dtype", type);
    TF_SetAttrShape(desc, "shape", dims, rank);
    TF_Operation *op = TF_FinishOperation(desc, s);
    ok();
    return (TF_Output){op, 0};
}

static TF_Output scale(TF_Graph *graph, const char *name, TF_Output x, float by) {
    TF_OperationDescription *desc = TF_NewOperation(graph, "TestScale", name);
    TF_AddInput(desc, x);
    TF_SetAttrFloat(desc, "scale", by);
    return (TF_Output){TF_FinishOperation(desc, s), 0};
}

START_TEST(custom_op) {
    define_scale();
    made = deleted = 0;
    TF_Graph *graph = TF_NewGraph();
    TF_Output x = placeholder(graph, "x", TF_FLOAT, 1), y = scale(graph, "y", x, 3), z = scale(graph, "z", y, 2);
    ok();
    ck_assert_int_eq(TF_GraphGetTensorNumDims(graph, z, s), 1);  // by its shape function
    TF_Output bad = scale(graph, "bad", x, -1);
    ok();
    scale(graph, "worse", placeholder(graph, "m", TF_FLOAT, 2), 1);
    failed(TF_INVALID_ARGUMENT, "at most rank 1");
    TF_Output d = scale(graph, "d", placeholder(graph, "double", TF_DOUBLE, 1), 1);
    ok();
    TF_SessionOptions *options = TF_NewSessionOptions();
    TF_Session *session = TF_NewSession(graph, options, s);
    TF_DeleteSessionOptions(options);
    int64_t dims[] = {3};
    TF_Tensor *in = TF_AllocateTensor(TF_FLOAT, dims, 1, 12), *out;
    for (int i = 0; i < 3; i++)
        ((float *)TF_TensorData(in))[i] = (float)i;
    for (int i = 0; i < 3; i++) {
        TF_SessionRun(session, NULL, &x, &in, 1, &z, &out, 1, NULL, 0, NULL, s);
        ok();
        ck_assert_float_eq(((float *)TF_TensorData(out))[2], 12);
        TF_DeleteTensor(out);
    }
    ck_assert_int_eq(made, 2);  // one object for each node
    ((float *)TF_TensorData(in))[0] = 666;
    TF_SessionRun(session, NULL, &x, &in, 1, &y, &out, 1, NULL, 0, NULL, s);
    failed(TF_DATA_LOSS, "the number of the beast");
    TF_SessionRun(session, NULL, &x, &in, 1, &bad, &out, 1, NULL, 0, NULL, s);
    failed(TF_INVALID_ARGUMENT, "scale is negative");
    TF_SessionRun(session, NULL, NULL, NULL, 0, &d, &out, 1, NULL, 0, NULL, s);
    ck_assert_int_ne(TF_GetCode(s), TF_OK);  // no kernel for double
    TF_DeleteTensor(in);
    TF_DeleteSession(session, s);
    ck_assert_int_eq(made, deleted);
    TF_DeleteGraph(graph);
}
END_TEST

START_TEST(custom_op_refusals) {
    define_scale();
    TF_RegisterOpDefinition(TF_NewOpDefinitionBuilder("TestScale"), s);
    failed(TF_ALREADY_EXISTS, "TestScale");
    TF_OpDefinitionBuilder *op = TF_NewOpDefinitionBuilder("TestBroken");
    TF_OpDefinitionBuilderAddInput(op, "x; T");
    TF_RegisterOpDefinition(op, s);
    failed(TF_INVALID_ARGUMENT, "");
    TF_DeleteOpDefinitionBuilder(TF_NewOpDefinitionBuilder("TestUnused"));
    TF_DeleteKernelBuilder(TF_NewKernelBuilder("TestUnused", "CPU", NULL, scale_run, NULL));
    TF_RegisterKernelBuilder("x", TF_NewKernelBuilder("TestNoSuchOp", "CPU", NULL, scale_run, NULL), s);
    failed(TF_NOT_FOUND, "TestNoSuchOp");
    TF_RegisterKernelBuilder("x", TF_NewKernelBuilder("AddV2", "CPU", NULL, scale_run, NULL), s);
    failed(TF_ALREADY_EXISTS, "AddV2");
}
END_TEST

START_TEST(lists) {
    define_scale();
    TF_Buffer *ops = TF_GetAllOpList();
    ck_assert(contains(ops, "TestScale"));
    ck_assert(contains(ops, "AddV2"));
    ck_assert(!contains(ops, "_Retval"));
    TF_DeleteBuffer(ops);
    TF_Buffer *kernels = TF_GetRegisteredKernelsForOp("TestScale", s);
    ok();
    ck_assert(contains(kernels, "TestScale") && contains(kernels, "CPU"));
    TF_DeleteBuffer(kernels);
    kernels = TF_GetAllRegisteredKernels(s);
    ok();
    ck_assert(contains(kernels, "AddV2"));
    TF_DeleteBuffer(kernels);
    ck_assert_int_eq(TF_OpIsStateful("VarHandleOp", s), 1);
    ok();
    ck_assert_int_eq(TF_OpIsStateful("AddV2", s), 0);
    ck_assert_str_eq(TF_GetNumberAttrForOpListInput("AddN", 0, s), "N");
    ok();
    ck_assert_ptr_null(TF_LoadLibrary("/no/such/library.so", s));
    failed(TF_NOT_FOUND, "");
}
END_TEST

START_TEST(api_defs) {
    TF_Buffer *ops = TF_GetAllOpList();
    TF_ApiDefMap *map = TF_NewApiDefMap(ops, s);
    ok();
    TF_DeleteBuffer(ops);
    const char *text = "op { graph_op_name: \"AddV2\" summary: \"Adds.\" description: <<END\nTwo\nlines.\nEND\n "
                       "in_arg { name: \"x\" description: \"the first\" } }";
    TF_ApiDefMapPut(map, text, strlen(text), s);
    ok();
    TF_ApiDefMapPut(map, "op {", 4, s);
    failed(TF_INVALID_ARGUMENT, "");
    TF_Buffer *def = TF_ApiDefMapGet(map, "AddV2", 5, s);
    ok();
    ck_assert(contains(def, "Adds.") && contains(def, "Two\nlines.") && contains(def, "the first"));
    TF_DeleteBuffer(def);
    TF_SetStatus(s, TF_ABORTED, "as it was");
    ck_assert_ptr_null(TF_ApiDefMapGet(map, "None", 4, s));
    failed(TF_ABORTED, "as it was");
    TF_ApiDefMapPut(map, text, strlen(text), s);
    failed(TF_FAILED_PRECONDITION, "");
    TF_DeleteApiDefMap(map);
    TF_DeleteApiDefMap(NULL);
    TF_Buffer garbage = {"\xff", 1, NULL};
    ck_assert_ptr_null(TF_NewApiDefMap(&garbage, s));
    failed(TF_INVALID_ARGUMENT, "");
}
END_TEST

// ---------------------------------------- changes

START_TEST(changes) {
    TF_Graph *graph = TF_NewGraph();
    TF_Output x = placeholder(graph, "x", TF_FLOAT, 1), y = placeholder(graph, "y", TF_FLOAT, 1);
    TF_Output i = placeholder(graph, "i", TF_INT32, 1);
    TF_OperationDescription *desc = TF_NewOperation(graph, "Neg", "neg");
    TF_AddInput(desc, x);
    TF_AddControlInput(desc, y.oper);
    TF_Operation *neg = TF_FinishOperation(desc, s);
    ok();
    TF_UpdateEdge(graph, y, (TF_Input){neg, 0}, s);
    ok();
    ck_assert_ptr_eq(TF_OperationInput((TF_Input){neg, 0}).oper, y.oper);
    ck_assert_int_eq(TF_OperationOutputNumConsumers(x), 0);
    TF_UpdateEdge(graph, i, (TF_Input){neg, 0}, s);
    failed(TF_INVALID_ARGUMENT, "");
    TF_UpdateEdge(graph, y, (TF_Input){neg, 1}, s);
    failed(TF_OUT_OF_RANGE, "");
    TF_RemoveAllControlInputs(graph, neg);
    ck_assert_int_eq(TF_OperationNumControlInputs(neg), 0);
    TF_AddOperationControlInput(graph, neg, x.oper);
    ck_assert_int_eq(TF_OperationNumControlInputs(neg), 1);
    TF_SetRequestedDevice(graph, neg, "/cpu:0");
    ck_assert_str_eq(TF_OperationDevice(neg), "/cpu:0");
    TF_Buffer seven = {"\x18\x07", 2, NULL};
    TF_SetAttr(graph, neg, "_mine", &seven, s);
    ok();
    int64_t value;
    TF_OperationGetAttrInt(neg, "_mine", &value, s);
    ck_assert_int_eq((int)value, 7);
    TF_ClearAttr(graph, neg, "_mine", s);
    ok();
    TF_OperationGetAttrInt(neg, "_mine", &value, s);
    failed(TF_NOT_FOUND, "_mine");
    TF_DeleteGraph(graph);
}
END_TEST

START_TEST(handle_data) {
    TF_Graph *graph = TF_NewGraph();
    TF_Output r = placeholder(graph, "r", TF_RESOURCE, 0);
    const char data[] = "\x08\x01\x12\x08\x0a\x04\x12\x02\x08\x05\x10\x01";  // set, one of shape [5] and float
    TF_SetHandleShapeAndType(graph, r, data, sizeof data - 1, s);
    ok();
    TF_Buffer *b = TF_GetHandleShapeAndType(graph, r);
    ck_assert_uint_eq(b->length, sizeof data - 1);
    ck_assert_mem_eq(b->data, data, sizeof data - 1);
    TF_DeleteBuffer(b);
    TF_SetHandleShapeAndType(graph, r, "\xff", 1, s);
    failed(TF_INVALID_ARGUMENT, "");
    TF_DeleteGraph(graph);
}
END_TEST

// ---------------------------------------- resources as clients see them, and the first session

START_TEST(resource_handles) {
    TF_Graph *graph = TF_NewGraph();
    TF_OperationDescription *desc = TF_NewOperation(graph, "VarHandleOp", "v");
    TF_SetAttrType(desc, "dtype", TF_FLOAT);
    TF_SetAttrShape(desc, "shape", NULL, 0);
    TF_Output v = {TF_FinishOperation(desc, s), 0}, x = placeholder(graph, "x", TF_FLOAT, 0);
    ok();
    TF_Output given = placeholder(graph, "given", TF_RESOURCE, 0);
    desc = TF_NewOperation(graph, "AssignVariableOp", "assign");
    TF_AddInput(desc, v);
    TF_AddInput(desc, x);
    const TF_Operation *assign = TF_FinishOperation(desc, s);
    ok();
    desc = TF_NewOperation(graph, "ReadVariableOp", "read");
    TF_AddInput(desc, given);
    TF_SetAttrType(desc, "dtype", TF_FLOAT);
    TF_Output read = {TF_FinishOperation(desc, s), 0};
    ok();
    TF_SessionOptions *options = TF_NewSessionOptions();
    TF_Session *session = TF_NewSession(graph, options, s);
    TF_DeleteSessionOptions(options);
    TF_Tensor *in = TF_AllocateTensor(TF_FLOAT, NULL, 0, 4), *handle, *out;
    *(float *)TF_TensorData(in) = 5;
    TF_SessionRun(session, NULL, &x, &in, 1, NULL, NULL, 0, &assign, 1, NULL, s);
    ok();
    TF_SessionRun(session, NULL, NULL, NULL, 0, &v, &handle, 1, NULL, 0, NULL, s);
    ok();
    ck_assert_int_eq(TF_TensorType(handle), TF_RESOURCE);
    ck_assert_uint_gt(TF_TensorByteSize(handle), 8);  // a serialized ResourceHandleProto
    TF_SessionRun(session, NULL, &given, &handle, 1, &read, &out, 1, NULL, 0, NULL, s);
    ok();
    ck_assert_float_eq(*(float *)TF_TensorData(out), 5);
    TF_DeleteTensor(out);
    TF_DeleteTensor(handle);
    handle = TF_AllocateTensor(TF_RESOURCE, NULL, 0, 3);
    memset(TF_TensorData(handle), 0xff, 3);
    TF_SessionRun(session, NULL, &given, &handle, 1, &read, &out, 1, NULL, 0, NULL, s);
    failed(TF_INVALID_ARGUMENT, "");
    TF_DeleteTensor(handle);
    TF_DeleteTensor(in);
    TF_DeleteSession(session, s);
    TF_DeleteGraph(graph);
}
END_TEST

START_TEST(first_session) {
    TF_Graph *graph = TF_NewGraph();
    TF_OperationDescription *desc = TF_NewOperation(graph, "Neg", "y");
    TF_AddInput(desc, placeholder(graph, "x", TF_FLOAT, 0));
    TF_FinishOperation(desc, s);
    ok();
    TF_Buffer *def = TF_NewBuffer();
    TF_GraphToGraphDef(graph, def, s);
    TF_SessionOptions *options = TF_NewSessionOptions();
    TF_DeprecatedSession *session = TF_NewDeprecatedSession(options, s);
    ok();
    TF_DeleteSessionOptions(options);
    TF_ExtendGraph(session, def->data, def->length, s);
    ok();
    TF_ExtendGraph(session, def->data, def->length, s);
    failed(TF_INVALID_ARGUMENT, "includes node 'x'");
    // More of the graph, which reads what is there.
    static const char more[] = "node { name: 'z' op: 'Neg' input: 'y' attr { key: 'T' value { type: DT_FLOAT } } }";
    TF_Buffer *rest = TF_NewBuffer();
    mr_message_parse("GraphDef", more, sizeof more - 1, rest, s);
    ok();
    TF_ExtendGraph(session, rest->data, rest->length, s);
    ok();
    TF_DeleteBuffer(rest);
    TF_Tensor *in = TF_AllocateTensor(TF_FLOAT, NULL, 0, 4), *out;
    *(float *)TF_TensorData(in) = 5;
    const char *x = "x:0", *y = "y", *z = "z:0", *none = "none:0";
    TF_Run(session, NULL, &x, &in, 1, &z, &out, 1, NULL, 0, NULL, s);
    ok();
    ck_assert_float_eq(*(float *)TF_TensorData(out), 5);
    TF_DeleteTensor(out);
    TF_Run(session, NULL, &x, &in, 1, &y, &out, 1, NULL, 0, NULL, s);
    ok();
    ck_assert_float_eq(*(float *)TF_TensorData(out), -5);
    TF_DeleteTensor(out);
    TF_Run(session, NULL, &x, &in, 1, &none, &out, 1, NULL, 0, NULL, s);
    failed(TF_NOT_FOUND, "none");
    TF_DeleteTensor(in);
    TF_CloseDeprecatedSession(session, s);
    TF_DeleteDeprecatedSession(session, s);
    ok();
    TF_DeleteBuffer(def);
    TF_DeleteGraph(graph);
}
END_TEST

START_TEST(files) {
    char *name = TF_GetTempFileName("txt"), folder[256];
    ck_assert_ptr_nonnull(strstr(name, ".txt"));
    TF_WritableFileHandle *file;
    TF_NewWritableFile(name, &file, s);
    ok();
    TF_AppendWritableFile(file, "hello", 5, s);
    ok();
    TF_SyncWritableFile(file, s);
    ok();
    TF_CloseWritableFile(file, s);
    ok();
    TF_FileStatistics stats;
    TF_FileStat(name, &stats, s);
    ok();
    ck_assert(stats.length == 5 && !stats.is_directory);
    TF_DeleteFile(name, s);
    ok();
    TF_FileStat(name, &stats, s);
    failed(TF_NOT_FOUND, name);
    snprintf(folder, sizeof folder, "%s.d", name);
    TF_CreateDir(folder, s);
    ok();
    TF_CreateDir(folder, s);
    failed(TF_ALREADY_EXISTS, folder);
    char inner[300];
    snprintf(inner, sizeof inner, "%s/inner", folder);
    TF_CreateDir(inner, s);
    TF_StringStream *children = TF_GetChildren(folder, s);
    ok();
    const char *child;
    ck_assert(TF_StringStreamNext(children, &child));
    ck_assert_str_eq(child, "inner");
    ck_assert(!TF_StringStreamNext(children, &child));
    TF_StringStreamDone(children);
    int64_t files, folders;
    TF_DeleteRecursively(folder, &files, &folders, s);
    ok();
    TF_GetChildren(folder, s);
    failed(TF_NOT_FOUND, folder);
    free(name);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("api extension");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, custom_op);
    tcase_add_test(c, custom_op_refusals);
    tcase_add_test(c, lists);
    tcase_add_test(c, api_defs);
    tcase_add_test(c, changes);
    tcase_add_test(c, handle_data);
    tcase_add_test(c, resource_handles);
    tcase_add_test(c, first_session);
    tcase_add_test(c, files);
    suite_add_tcase(suite, c);
    return suite;
}

int main(void) {
    return run_suite(suite());
}
