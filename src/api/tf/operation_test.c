// Operation test — graphs and operations through the C interface: building, looking, attributes, export, import.
#include <stdlib.h>
#include <string.h>

#include "api/api_test.h"
#include "tensorflow/c/c_api_experimental.h"

static TF_Graph *graph;

static void set_up(void) {
    graph = TF_NewGraph();
    s = TF_NewStatus();
}

static void tear_down(void) {
    TF_DeleteGraph(graph);
    TF_DeleteStatus(s);
}

static TF_Output placeholder(const char *name, TF_DataType dtype) {
    TF_OperationDescription *desc = TF_NewOperation(graph, "Placeholder", name);
    TF_SetAttrType(desc, "dtype", dtype);
    TF_Operation *op = TF_FinishOperation(desc, s);
    ok();
    return (TF_Output){op, 0};
}

static TF_Operation *add(const char *name, TF_Output x, TF_Output y) {
    TF_OperationDescription *desc = TF_NewOperation(graph, "AddN", name);
    TF_Output inputs[] = {x, y};
    TF_AddInputList(desc, inputs, 2);
    return TF_FinishOperation(desc, s);
}

static TF_Operation *noop(const char *name, TF_Operation *before) {
    TF_OperationDescription *desc = TF_NewOperation(graph, "NoOp", name);
    if (before)
        TF_AddControlInput(desc, before);
    TF_Operation *op = TF_FinishOperation(desc, s);
    ok();
    return op;
}

// ---------------------------------------- building

START_TEST(build_and_look) {
    TF_Output x = placeholder("x", TF_FLOAT), y = placeholder("y", TF_FLOAT);
    TF_Operation *sum = add("sum", x, y);
    ok();
    TF_Operation *end = noop("end", sum);
    ck_assert_str_eq(TF_OperationName(sum), "sum");
    ck_assert_str_eq(TF_OperationOpType(sum), "AddN");
    ck_assert_str_eq(TF_OperationDevice(sum), "");
    ck_assert_int_eq(TF_OperationNumInputs(sum), 2);
    ck_assert_int_eq(TF_OperationNumOutputs(sum), 1);
    ck_assert_int_eq(TF_OperationInputListLength(sum, "inputs", s), 2);
    ok();
    ck_assert_int_eq(TF_OperationOutputListLength(sum, "sum", s), 1);
    ok();
    ck_assert_int_eq(TF_OperationOutputListLength(sum, "none", s), -1);
    failed(TF_INVALID_ARGUMENT, "Output arg 'none' not found");
    ck_assert_int_eq(TF_OperationInputType((TF_Input){sum, 1}), TF_FLOAT);
    ck_assert_int_eq(TF_OperationOutputType((TF_Output){sum, 0}), TF_FLOAT);
    TF_Output from = TF_OperationInput((TF_Input){sum, 1});
    ck_assert_ptr_eq(from.oper, y.oper);
    TF_Output all[2];
    TF_OperationAllInputs(sum, all, 1);
    ck_assert_ptr_eq(all[0].oper, x.oper);
    TF_Input consumer;
    add("twice", x, x);
    ok();
    ck_assert_int_eq(TF_OperationOutputNumConsumers(x), 3);
    ck_assert_int_eq(TF_OperationOutputConsumers(x, &consumer, 1), 3);  // the true count
    ck_assert(consumer.oper == sum && consumer.index == 0);
    ck_assert_int_eq(TF_OperationNumControlInputs(end), 1);
    ck_assert_int_eq(TF_OperationNumControlOutputs(sum), 1);
    TF_Operation *other;
    ck_assert_int_eq(TF_OperationGetControlInputs(end, &other, 1), 1);
    ck_assert_ptr_eq(other, sum);
    ck_assert_int_eq(TF_OperationGetControlOutputs(sum, &other, 1), 1);
    ck_assert_ptr_eq(other, end);
}
END_TEST

START_TEST(errors_surface_at_the_end) {
    TF_OperationDescription *desc = TF_NewOperation(graph, "NoSuchOp", "a");
    TF_SetAttrInt(desc, "n", 3);
    ck_assert_ptr_null(TF_FinishOperation(desc, s));
    failed(TF_INVALID_ARGUMENT, "NoSuchOp");
    placeholder("x", TF_FLOAT);
    desc = TF_NewOperation(graph, "NoOp", "x");
    ck_assert_ptr_null(TF_FinishOperation(desc, s));
    failed(TF_INVALID_ARGUMENT, "Duplicate node name in graph: 'x'");
    desc = TF_NewOperation(graph, "Placeholder", "y");
    ck_assert_ptr_null(TF_FinishOperation(desc, s));
    failed(TF_INVALID_ARGUMENT, "dtype");
    desc = TF_NewOperation(graph, "AddN", "z");
    TF_AddInput(desc, placeholder("w", TF_FLOAT));  // a list is expected
    ck_assert_ptr_null(TF_FinishOperation(desc, s));
    failed(TF_INVALID_ARGUMENT, "inputs");
    ck_assert_ptr_null(add("v", placeholder("f", TF_FLOAT), placeholder("i", TF_INT32)));
    failed(TF_INVALID_ARGUMENT, "v");
    desc = TF_NewOperation(graph, "NoOp", "u");
    TF_AddInput(desc, (TF_Output){NULL, 0});
    ck_assert_ptr_null(TF_FinishOperation(desc, s));
    failed(TF_INVALID_ARGUMENT, "");
    ck_assert_ptr_null(TF_GraphOperationByName(graph, "v"));
}
END_TEST

START_TEST(removed_op) {
    TF_Output image = placeholder("image", TF_FLOAT), size = placeholder("size", TF_INT64);
    TF_OperationDescription *desc = TF_NewOperation(graph, "RandomCrop", "crop");
    TF_AddInput(desc, image);
    TF_AddInput(desc, size);
    ck_assert_ptr_null(TF_FinishOperation(desc, s));
    failed(TF_UNIMPLEMENTED, "removed in version 8");
}
END_TEST

START_TEST(walk) {
    placeholder("a", TF_FLOAT);
    noop("b", NULL);
    size_t pos = 0;
    ck_assert_str_eq(TF_OperationName(TF_GraphNextOperation(graph, &pos)), "a");
    ck_assert_str_eq(TF_OperationName(TF_GraphNextOperation(graph, &pos)), "b");
    ck_assert_ptr_null(TF_GraphNextOperation(graph, &pos));
    ck_assert_ptr_null(TF_GraphNextOperation(graph, &pos));
    noop("c", NULL);
    ck_assert_str_eq(TF_OperationName(TF_GraphNextOperation(graph, &pos)), "c");
    ck_assert_ptr_null(TF_GraphOperationByName(graph, "d"));
    ck_assert_ptr_nonnull(TF_GraphOperationByName(graph, "a"));
}
END_TEST

START_TEST(bad_input_index) {
    TF_Output x = placeholder("x", TF_FLOAT);
    TF_Operation *sum = add("sum", x, x);
    TF_Output none = TF_OperationInput((TF_Input){sum, 2});
    ck_assert(!none.oper && none.index == -1);
}
END_TEST

START_TEST(shapes) {
    TF_Output x = placeholder("x", TF_FLOAT);
    int64_t dims[2] = {2, -1}, got[2] = {0, 0};
    TF_GraphSetTensorShape(graph, x, dims, 2, s);
    ok();
    ck_assert_int_eq(TF_GraphGetTensorNumDims(graph, x, s), 2);
    ok();
    dims[0] = -1, dims[1] = 3;
    TF_GraphSetTensorShape(graph, x, dims, 2, s);  // merges
    ok();
    TF_GraphGetTensorShape(graph, x, got, 2, s);
    ok();
    ck_assert(got[0] == 2 && got[1] == 3);
    TF_GraphGetTensorShape(graph, x, got, 1, s);
    failed(TF_INVALID_ARGUMENT, "Expected rank is 1");
    dims[0] = 4;
    TF_GraphSetTensorShape(graph, x, dims, 2, s);
    failed(TF_INVALID_ARGUMENT, "");
    ck_assert_int_eq(TF_GraphGetTensorNumDims(graph, (TF_Output){x.oper, 1}, s), -1);
    ck_assert_int_ne(TF_GetCode(s), TF_OK);
}
END_TEST

START_TEST(colocation_is_a_sorted_set) {
    TF_Operation *a = noop("a", NULL), *b = noop("b", NULL);
    TF_OperationDescription *desc = TF_NewOperation(graph, "NoOp", "c");
    TF_ColocateWith(desc, b);
    TF_ColocateWith(desc, a);
    TF_ColocateWith(desc, b);
    TF_Operation *c = TF_FinishOperation(desc, s);
    ok();
    TF_AttrMetadata m = TF_OperationGetAttrMetadata(c, "_class", s);
    ok();
    ck_assert(m.is_list == 1 && m.list_size == 2 && m.type == TF_ATTR_STRING && m.total_size == 12);
    void *values[2];
    size_t lengths[2];
    char storage[12];
    TF_OperationGetAttrStringList(c, "_class", values, lengths, 2, storage, 12, s);
    ok();
    ck_assert_mem_eq(values[0], "loc:@a", 6);
    ck_assert_mem_eq(values[1], "loc:@b", 6);
    TF_OperationGetAttrStringList(c, "_class", values, lengths, 2, storage, 11, s);
    failed(TF_INVALID_ARGUMENT, "storage");
}
END_TEST

// ---------------------------------------- attributes

// A NoOp takes any attribute that begins with _.
static TF_Operation *with_attrs(void) {
    TF_OperationDescription *desc = TF_NewOperation(graph, "NoOp", "attrs");
    const void *texts[] = {"a", "bcd", ""};
    size_t lengths[] = {1, 3, 0};
    int64_t ints[] = {1, -2}, two_three[] = {2, 3}, four[] = {-1};
    const int64_t *dims[] = {two_three, NULL, four};
    int ranks[] = {2, -1, 1};
    float floats[] = {1.5F};
    unsigned char bools[] = {1, 0};
    TF_DataType types[] = {TF_INT32, TF_STRING};
    TF_SetAttrString(desc, "_s", "hello", 5);
    TF_SetAttrStringList(desc, "_ss", texts, lengths, 3);
    TF_SetAttrInt(desc, "_i", -7);
    TF_SetAttrIntList(desc, "_is", ints, 2);
    TF_SetAttrFloat(desc, "_f", 2.5F);
    TF_SetAttrFloatList(desc, "_fs", floats, 1);
    TF_SetAttrBool(desc, "_b", 1);
    TF_SetAttrBoolList(desc, "_bs", bools, 2);
    TF_SetAttrType(desc, "_t", TF_HALF);
    TF_SetAttrTypeList(desc, "_ts", types, 2);
    TF_SetAttrShape(desc, "_shape", two_three, 2);
    TF_SetAttrShape(desc, "_unknown", NULL, -1);
    TF_SetAttrShapeList(desc, "_shapes", dims, ranks, 3);
    TF_SetAttrFuncName(desc, "_func", "F", 1);
    TF_SetAttrPlaceholder(desc, "_p", "T");
    TF_Tensor *t = TF_AllocateTensor(TF_INT64, NULL, 0, 8);
    *(int64_t *)TF_TensorData(t) = 42;
    TF_SetAttrTensor(desc, "_tensor", t, s);
    ok();
    *(int64_t *)TF_TensorData(t) = 43;  // too late
    TF_SetAttrTensorList(desc, "_tensors", &t, 1, s);
    ok();
    TF_DeleteTensor(t);
    TF_Operation *op = TF_FinishOperation(desc, s);
    ok();
    return op;
}

static void is_meta(TF_Operation *op, const char *name, int is_list, int64_t size, TF_AttrType type, int64_t total) {
    TF_AttrMetadata m = TF_OperationGetAttrMetadata(op, name, s);
    ok();
    ck_assert_msg(m.is_list == is_list && m.list_size == size && m.type == type && m.total_size == total,
                  "%s: %d %d %d %d", name, m.is_list, (int)m.list_size, m.type, (int)m.total_size);
}

START_TEST(metadata) {
    TF_Operation *op = with_attrs();
    is_meta(op, "_s", 0, -1, TF_ATTR_STRING, 5);
    is_meta(op, "_ss", 1, 3, TF_ATTR_STRING, 4);
    is_meta(op, "_i", 0, -1, TF_ATTR_INT, -1);
    is_meta(op, "_f", 0, -1, TF_ATTR_FLOAT, -1);
    is_meta(op, "_b", 0, -1, TF_ATTR_BOOL, -1);
    is_meta(op, "_t", 0, -1, TF_ATTR_TYPE, -1);
    is_meta(op, "_shape", 0, -1, TF_ATTR_SHAPE, 2);
    is_meta(op, "_unknown", 0, -1, TF_ATTR_SHAPE, -1);
    is_meta(op, "_shapes", 1, 3, TF_ATTR_SHAPE, 3);
    is_meta(op, "_tensor", 0, -1, TF_ATTR_TENSOR, -1);
    is_meta(op, "_func", 0, -1, TF_ATTR_FUNC, -1);
    is_meta(op, "_p", 0, -1, TF_ATTR_PLACEHOLDER, -1);
    TF_OperationGetAttrMetadata(op, "_none", s);
    failed(TF_INVALID_ARGUMENT, "Operation 'attrs' has no attr named '_none'.");
    TF_OperationGetAttrMetadata(op, "_i", s);  // a status that was bad before is good again
    ok();
}
END_TEST

START_TEST(values) {
    TF_Operation *op = with_attrs();
    char text[8] = "........";
    TF_OperationGetAttrString(op, "_s", text, 3, s);
    ok();
    ck_assert_mem_eq(text, "hel.....", 8);  // cut, and no NUL
    int64_t i[3] = {0, 0, 99};
    TF_OperationGetAttrInt(op, "_i", i, s);
    ok();
    ck_assert_int_eq(i[0], -7);
    TF_OperationGetAttrIntList(op, "_is", i, 3, s);
    ok();
    ck_assert(i[0] == 1 && i[1] == -2 && i[2] == 99);
    float f;
    TF_OperationGetAttrFloat(op, "_f", &f, s);
    ck_assert_float_eq(f, 2.5F);
    unsigned char b[2];
    TF_OperationGetAttrBoolList(op, "_bs", b, 2, s);
    ck_assert(b[0] == 1 && b[1] == 0);
    TF_DataType t[2];
    TF_OperationGetAttrTypeList(op, "_ts", t, 2, s);
    ck_assert(t[0] == TF_INT32 && t[1] == TF_STRING);
    TF_OperationGetAttrInt(op, "_f", i, s);
    failed(TF_INVALID_ARGUMENT, "AttrValue had value with type 'float' when 'int' expected");
    TF_OperationGetAttrInt(op, "_none", i, s);
    failed(TF_NOT_FOUND, "_none");
    TF_OperationGetAttrString(op, "_none", text, 3, s);
    failed(TF_INVALID_ARGUMENT, "_none");
    TF_OperationGetAttrShape(op, "_none", i, 3, s);
    failed(TF_NOT_FOUND, "_none");
    int64_t *dims[3], storage[3];
    int ranks[3];
    TF_OperationGetAttrShapeList(op, "_shapes", dims, ranks, 3, storage, 3, s);
    ok();
    ck_assert(ranks[0] == 2 && ranks[1] == -1 && ranks[2] == 1);
    ck_assert(dims[0][1] == 3 && dims[2][0] == -1);
    TF_Tensor *tensor;
    TF_OperationGetAttrTensor(op, "_tensor", &tensor, s);
    ok();
    ck_assert_int_eq(*(int64_t *)TF_TensorData(tensor), 42);
    *(int64_t *)TF_TensorData(tensor) = 1;
    TF_DeleteTensor(tensor);
    TF_OperationGetAttrTensor(op, "_tensor", &tensor, s);
    ck_assert_int_eq(*(int64_t *)TF_TensorData(tensor), 42);
    TF_DeleteTensor(tensor);
}
END_TEST

START_TEST(protos) {
    TF_Operation *op = with_attrs();
    TF_Buffer *b = TF_NewBuffer();
    TF_OperationGetAttrValueProto(op, "_i", b, s);
    ok();
    ck_assert_uint_eq(b->length, 11);  // field 3, a negative varint
    TF_OperationDescription *desc = TF_NewOperation(graph, "NoOp", "copy");
    TF_SetAttrValueProto(desc, "_i", b->data, b->length, s);
    ok();
    TF_Operation *copy = TF_FinishOperation(desc, s);
    int64_t i;
    TF_OperationGetAttrInt(copy, "_i", &i, s);
    ck_assert_int_eq(i, -7);
    TF_OperationGetAttrValueProto(op, "_i", b, s);
    failed(TF_INVALID_ARGUMENT, "non-empty");
    TF_DeleteBuffer(b);
    desc = TF_NewOperation(graph, "NoOp", "bad");
    TF_SetAttrValueProto(desc, "_i", "\xff\xff", 2, s);
    failed(TF_INVALID_ARGUMENT, "");
    TF_SetAttrTensorShapeProto(desc, "_i", "\xff\xff", 2, s);
    failed(TF_INVALID_ARGUMENT, "Unparseable TensorShapeProto");
    TF_FinishOperation(desc, s);
    ok();
}
END_TEST

START_TEST(enumerate_attrs) {
    TF_Output x = placeholder("x", TF_INT64);
    ck_assert_int_eq(TF_OperationGetNumAttrs(x.oper), 2);
    char name[8] = "xxxxxxx";
    bool seen = false;
    for (int i = 0; i < 2; i++) {
        int n = TF_OperationGetAttrNameLength(x.oper, i);
        TF_OperationGetAttrName(x.oper, i, name, s);
        ok();
        ck_assert_int_eq(name[n], 'x');  // no NUL
        seen |= n == 5 && memcmp(name, "dtype", 5) == 0;
        memset(name, 'x', 7);
    }
    ck_assert(seen);
    TF_OperationGetAttrName(x.oper, 2, name, s);
    ck_assert_int_ne(TF_GetCode(s), TF_OK);
}
END_TEST

START_TEST(empty_list_has_the_type_that_its_op_says) {
    TF_OperationDescription *desc = TF_NewOperation(graph, "Squeeze", "q");
    TF_AddInput(desc, placeholder("x", TF_FLOAT));
    TF_Operation *op = TF_FinishOperation(desc, s);
    ok();
    TF_AttrMetadata m = TF_OperationGetAttrMetadata(op, "squeeze_dims", s);
    ok();
    ck_assert(m.is_list && m.list_size == 0 && m.type == TF_ATTR_INT);
}
END_TEST

// ---------------------------------------- export and import

// Graphs of before version 24 write an unknown shape as a scalar's.
START_TEST(old_placeholders_are_unknown) {
    char bytes[] =
    "\x0a\x2a\x0a\x01x\x12\x0bPlaceholder\x2a\x0b\x0a\x05" "dtype\x12\x02\x30\x01\x2a\x0b\x0a\x05shape\x12\x02\x3a\x00"
                   "\x22\x02\x08\x17";
    for (int version = 23; version <= 24; version++) {
        bytes[sizeof bytes - 2] = (char)version;
        TF_Graph *old = TF_NewGraph();
        TF_Buffer *def = TF_NewBufferFromString(bytes, sizeof bytes - 1);
        TF_ImportGraphDefOptions *opts = TF_NewImportGraphDefOptions();
        TF_GraphImportGraphDef(old, def, opts, s);
        ok();
        TF_Output x = {TF_GraphOperationByName(old, "x"), 0};
        ck_assert_int_eq(TF_GraphGetTensorNumDims(old, x, s), version < 24 ? -1 : 0);
        TF_DeleteImportGraphDefOptions(opts);
        TF_DeleteBuffer(def);
        TF_DeleteGraph(old);
    }
}
END_TEST

START_TEST(there_and_back) {
    TF_Output x = placeholder("x", TF_FLOAT);
    TF_Operation *sum = add("sum", x, x);
    noop("end", sum);
    TF_Buffer *def = TF_NewBuffer();
    TF_GraphToGraphDef(graph, def, s);
    ok();
    TF_Buffer *versions = TF_NewBuffer();
    TF_GraphVersions(graph, versions, s);
    ok();
    ck_assert_uint_gt(versions->length, 0);
    TF_DeleteBuffer(versions);

    TF_Graph *other = TF_NewGraph();
    TF_ImportGraphDefOptions *opts = TF_NewImportGraphDefOptions();
    TF_ImportGraphDefOptionsSetPrefix(opts, "in");
    TF_ImportGraphDefOptionsAddReturnOutput(opts, "sum", 0);
    TF_ImportGraphDefOptionsAddReturnOperation(opts, "end");
    TF_ImportGraphDefOptionsAddInputMapping(opts, "absent", 3, (TF_Output){NULL, 0});
    ck_assert_int_eq(TF_ImportGraphDefOptionsNumReturnOutputs(opts), 1);
    ck_assert_int_eq(TF_ImportGraphDefOptionsNumReturnOperations(opts), 1);
    ck_assert_ptr_null(TF_GraphImportGraphDefWithResults(other, def, opts, s));  // NULL as target
    failed(TF_INVALID_ARGUMENT, "");
    size_t pos = 0;
    ck_assert_ptr_null(TF_GraphNextOperation(other, &pos));
    TF_DeleteImportGraphDefOptions(opts);

    opts = TF_NewImportGraphDefOptions();
    TF_ImportGraphDefOptionsSetPrefix(opts, "in");
    TF_ImportGraphDefOptionsAddReturnOutput(opts, "sum", 0);
    TF_ImportGraphDefOptionsAddReturnOperation(opts, "end");
    TF_ImportGraphDefResults *results = TF_GraphImportGraphDefWithResults(other, def, opts, s);
    ok();
    int n;
    TF_Output *outputs;
    TF_Operation **operations;
    TF_ImportGraphDefResultsReturnOutputs(results, &n, &outputs);
    ck_assert_int_eq(n, 1);
    ck_assert_str_eq(TF_OperationName(outputs[0].oper), "in/sum");
    TF_ImportGraphDefResultsReturnOperations(results, &n, &operations);
    ck_assert_str_eq(TF_OperationName(operations[0]), "in/end");
    TF_DeleteImportGraphDefResults(results);
    TF_Output one[2];
    TF_GraphImportGraphDefWithReturnOutputs(other, def, opts, one, 2, s);
    failed(TF_INVALID_ARGUMENT, "Expected 'num_return_outputs' to be 1, got 2");
    TF_ImportGraphDefOptionsSetPrefix(opts, "again");
    TF_GraphImportGraphDefWithReturnOutputs(other, def, opts, one, 1, s);
    ok();
    ck_assert_str_eq(TF_OperationName(one[0].oper), "again/sum");
    TF_DeleteImportGraphDefOptions(opts);
    TF_DeleteImportGraphDefOptions(NULL);
    TF_DeleteImportGraphDefResults(NULL);
    TF_DeleteBuffer(def);
    TF_DeleteGraph(other);
}
END_TEST

START_TEST(missing_mappings) {
    TF_Output x = placeholder("x", TF_FLOAT);
    TF_Buffer *def = TF_NewBuffer();
    TF_GraphToGraphDef(graph, def, s);
    TF_ImportGraphDefOptions *opts = TF_NewImportGraphDefOptions();
    TF_ImportGraphDefOptionsSetPrefix(opts, "p");
    TF_ImportGraphDefOptionsAddInputMapping(opts, "fake", 3, x);
    TF_ImportGraphDefOptionsAddInputMapping(opts, "x", 0, x);
    TF_ImportGraphDefOptionsAddInputMapping(opts, "x", 7, x);
    TF_ImportGraphDefResults *results = TF_GraphImportGraphDefWithResults(graph, def, opts, s);
    ok();
    int n, *indexes;
    const char **names;
    TF_ImportGraphDefResultsMissingUnusedInputMappings(results, &n, &names, &indexes);
    ck_assert_int_eq(n, 2);
    ck_assert(strcmp(names[0], "fake") == 0 && indexes[0] == 3);
    ck_assert(strcmp(names[1], "x") == 0 && indexes[1] == 7);
    TF_DeleteImportGraphDefResults(results);
    TF_DeleteImportGraphDefOptions(opts);
    TF_DeleteBuffer(def);
}
END_TEST

START_TEST(import_garbage) {
    TF_Buffer garbage = {"garbage", 7, NULL};
    TF_GraphImportGraphDef(graph, &garbage, NULL, s);
    failed(TF_INVALID_ARGUMENT, "");
}
END_TEST

START_TEST(op_defs) {
    TF_Buffer *b = TF_NewBuffer();
    TF_GraphGetOpDef(graph, "Add", b, s);
    ok();
    ck_assert_mem_eq(b->data, "\x0a\x03" "Add", 5);
    TF_DeleteBuffer(b);
    b = TF_NewBuffer();
    TF_GraphGetOpDef(graph, "NoSuchOp", b, s);
    ck_assert_int_eq(TF_GetCode(s), TF_NOT_FOUND);
    TF_DeleteBuffer(b);
    b = TF_GetAllOpList();
    ck_assert_uint_gt(b->length, 100000);
    TF_DeleteBuffer(b);
    b = TF_GetRegisteredKernelsForOp("NoSuchOp", s);
    ok();
    ck_assert_uint_eq(b->length, 0);
    TF_DeleteBuffer(b);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("api operation");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, build_and_look);
    tcase_add_test(c, errors_surface_at_the_end);
    tcase_add_test(c, removed_op);
    tcase_add_test(c, walk);
    tcase_add_test(c, bad_input_index);
    tcase_add_test(c, shapes);
    tcase_add_test(c, colocation_is_a_sorted_set);
    tcase_add_test(c, metadata);
    tcase_add_test(c, values);
    tcase_add_test(c, protos);
    tcase_add_test(c, enumerate_attrs);
    tcase_add_test(c, empty_list_has_the_type_that_its_op_says);
    tcase_add_test(c, there_and_back);
    tcase_add_test(c, missing_mappings);
    tcase_add_test(c, old_placeholders_are_unknown);
    tcase_add_test(c, import_garbage);
    tcase_add_test(c, op_defs);
    suite_add_tcase(suite, c);
    return suite;
}

int main(void) {
    return run_suite(suite());
}
