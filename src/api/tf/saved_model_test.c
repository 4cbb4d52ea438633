// SavedModel test — folders written here, loaded through the C interface: tags, assets, initializer, refusals.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api_test.h"
#include "tensorflow/c/c_api_experimental.h"

static TF_Graph *graph;
static char folder[64];

static void set_up(void) {
    graph = TF_NewGraph();
    s = TF_NewStatus();
    strcpy(folder, "/tmp/saved_model_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void tear_down(void) {
    char path[128];
    snprintf(path, sizeof path, "%s/saved_model.pbtxt", folder);
    unlink(path);
    rmdir(folder);
    TF_DeleteGraph(graph);
    TF_DeleteStatus(s);
}

static void write_bytes(const char *name, const char *bytes, size_t n) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

static void write_model(const char *text) {
    write_bytes("saved_model.pbtxt", text, strlen(text));
}

static TF_Session *load(const char *tag, TF_Buffer *meta) {
    TF_SessionOptions *options = TF_NewSessionOptions();
    TF_Session *session = TF_LoadSessionFromSavedModel(options, NULL, folder, &tag, tag ? 1 : 0, graph, meta, s);
    TF_DeleteSessionOptions(options);
    return session;
}

static void refused(const char *tag, TF_Code code, const char *part) {
    size_t pos = 0;
    ck_assert_ptr_null(load(tag, NULL));
    ck_assert_msg(TF_GetCode(s) == code && strstr(TF_Message(s), part), "%d: %s", TF_GetCode(s), TF_Message(s));
    ck_assert_ptr_null(TF_GraphNextOperation(graph, &pos));  // the graph stays empty
}

#define MODEL(body) "saved_model_schema_version: 1 meta_graphs { meta_info_def { tags: 'serve' } " body " }"
#define NODE(name, op, more) "node { name: '" name "' op: '" op "' " more " } "
#define TYPE(key, type) "attr { key: '" key "' value { type: " type " } } "

static const char *const with_asset = MODEL(
    "graph_def { " NODE("path", "Const", TYPE("dtype", "DT_STRING") "attr { key: 'value' value { tensor { dtype: DT_STRING "
                                         "tensor_shape { } string_val: 'unset' } } }")
    NODE("v", "VarHandleOp", TYPE("dtype", "DT_STRING") "attr { key: 'shape' value { shape { } } }")
    NODE("init", "AssignVariableOp", "input: ['v', 'path'] " TYPE("dtype", "DT_STRING"))
    NODE("read", "ReadVariableOp", "input: 'v' " TYPE("dtype", "DT_STRING")) "versions { producer: 1000 } } "
    "saver_def { filename_tensor_name: 'path:0' restore_op_name: 'absent' } "  // no variables: not run
    "asset_file_def { tensor_info { name: 'path:0' } filename: 'words.txt' } "
    "signature_def { key: '__saved_model_init_op' value { outputs { key: '__saved_model_init_op' value { name: 'init' } } } }");

START_TEST(assets_and_initializer) {
    write_model(with_asset);
    TF_Buffer *meta = TF_NewBuffer();
    TF_Session *session = load("serve", meta);
    ck_assert_msg(TF_GetCode(s) == TF_OK, "%s", TF_Message(s));
    ck_assert_uint_gt(meta->length, 100);
    TF_DeleteBuffer(meta);
    TF_Output read = {TF_GraphOperationByName(graph, "read"), 0};
    ck_assert_ptr_nonnull(read.oper);
    TF_Tensor *out;
    TF_SessionRun(session, NULL, NULL, NULL, 0, &read, &out, 1, NULL, 0, NULL, s);
    ck_assert_msg(TF_GetCode(s) == TF_OK, "%s", TF_Message(s));
    char expected[128];
    snprintf(expected, sizeof expected, "%s/assets/words.txt", folder);
    const TF_TString *text = TF_TensorData(out);
    ck_assert_uint_eq(TF_TString_GetSize(text), strlen(expected));
    ck_assert_mem_eq(TF_TString_GetDataPointer(text), expected, strlen(expected));
    TF_DeleteTensor(out);
    TF_DeleteSession(session, s);
}
END_TEST

// A table as Keras has it, filled by LookupTableImportV2, behind one that is filled from a file among the assets.
#define CONST(name, dtype, content) \
    NODE(name, "Const", TYPE("dtype", dtype) "attr { key: 'value' value { tensor { dtype: " dtype " " content " } } }")
#define WORDS(name, words) CONST(name, "DT_STRING", "tensor_shape { dim { size: 2 } } " words)
#define NUMBER(name, number) CONST(name, "DT_INT64", "tensor_shape { } int64_val: " number)
#define TABLE(name) \
    NODE(name, "HashTableV2", TYPE("key_dtype", "DT_STRING") TYPE("value_dtype", "DT_INT64") \
         "attr { key: 'shared_name' value { s: '" name "' } }")
#define KEYS(in, out) TYPE(in, "DT_STRING") TYPE(out, "DT_INT64")
static const char *const with_tables = MODEL(
    "graph_def { " CONST("path", "DT_STRING", "tensor_shape { } string_val: ''") TABLE("some") TABLE("listed")
    WORDS("keys", "string_val: 'a' string_val: 'b'") NUMBER("other", "-1")
    CONST("values", "DT_INT64", "tensor_shape { dim { size: 2 } } int64_val: 7 int64_val: 8")
    NODE("import", "LookupTableImportV2", "input: ['some', 'keys', 'values'] " KEYS("Tin", "Tout"))
    NODE("lines", "InitializeTableFromTextFileV2", "input: ['listed', 'path'] attr { key: 'key_index' value { i: -2 } } "
         "attr { key: 'value_index' value { i: -1 } } attr { key: 'offset' value { i: 5 } }")
    NODE("init", "NoOp", "input: ['^import', '^lines']") WORDS("asked", "string_val: 'b' string_val: 'x'")
    NODE("found", "LookupTableFindV2", "input: ['some', 'asked', 'other'] " KEYS("Tin", "Tout"))
    NODE("line", "LookupTableFindV2", "input: ['listed', 'asked', 'other'] " KEYS("Tin", "Tout")) "versions { producer: 1000 } } "
    "asset_file_def { tensor_info { name: 'path:0' } filename: 'words.txt' } "
    "signature_def { key: '__saved_model_init_op' value { outputs { key: '__saved_model_init_op' value { name: 'init' } } } }");

static void check_pair(TF_Session *session, const char *node, int64_t first, int64_t second) {
    TF_Output fetch = {TF_GraphOperationByName(graph, node), 0};
    TF_Tensor *out = NULL;
    ck_assert_ptr_nonnull(fetch.oper);
    TF_SessionRun(session, NULL, NULL, NULL, 0, &fetch, &out, 1, NULL, 0, NULL, s);
    ck_assert_msg(TF_GetCode(s) == TF_OK, "%s", TF_Message(s));
    const int64_t *found = TF_TensorData(out);
    ck_assert_int_eq(found[0], first);
    ck_assert_int_eq(found[1], second);
    TF_DeleteTensor(out);
}

START_TEST(tables) {
    char path[128];
    snprintf(path, sizeof path, "%s/assets", folder);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    write_model(with_tables);
    refused("serve", TF_NOT_FOUND, "words.txt");
    write_bytes("assets/words.txt", "", 0);
    refused("serve", TF_OUT_OF_RANGE, "no lines");
    write_bytes("assets/words.txt", "a\n\nb\n", 5);
    refused("serve", TF_INVALID_ARGUMENT, "empty");
    write_bytes("assets/words.txt", "x\nb\n", 4);
    TF_Session *session = load("serve", NULL);
    ck_assert_msg(TF_GetCode(s) == TF_OK, "%s", TF_Message(s));
    check_pair(session, "found", 8, -1);
    check_pair(session, "line", 6, 5);
    TF_DeleteSession(session, s);
    snprintf(path, sizeof path, "%s/assets/words.txt", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/assets", folder);
    rmdir(path);
}
END_TEST

// A binary file says how many bytes its parts have: fewer are OUT_OF_RANGE, others DATA_LOSS.
START_TEST(damaged) {
    static const char whole[] = "\x08\x01\x12\x09\x0a\x07\x22\x05serve";
    size_t n = sizeof whole - 1;
    write_bytes("saved_model.pb", whole, n);
    refused("serve", TF_INVALID_ARGUMENT, "no graph");
    for (size_t cut = 1; cut < n; cut++) {
        write_bytes("saved_model.pb", whole, cut);
        refused("serve", cut == 2 ? TF_NOT_FOUND : TF_OUT_OF_RANGE, "");
    }
    write_bytes("saved_model.pb", "\x12\xff\xff\xff\xff\x7f..", 8);  // says that it has terabytes
    refused("serve", TF_OUT_OF_RANGE, "less bytes");
    write_bytes("saved_model.pb", "hello world", 11);
    refused("serve", TF_DATA_LOSS, "Can't parse");
    write_bytes("saved_model.pb", "\x12\x04\x0a\x02\x22\x05", 6);
    refused("serve", TF_DATA_LOSS, "");
    write_bytes("saved_model.pb", "", 0);
    refused("serve", TF_NOT_FOUND, "tags");
    char path[128];
    snprintf(path, sizeof path, "%s/saved_model.pb", folder);
    unlink(path);
}
END_TEST

START_TEST(refusals) {
    refused("serve", TF_NOT_FOUND, "Could not find SavedModel .pb or .pbtxt");
    write_model(with_asset);
    refused("train", TF_NOT_FOUND, "matching supplied tags: { train }");
    refused(NULL, TF_NOT_FOUND, "tags");  // the empty set is another one
    write_model("meta_graphs {");
    refused("serve", TF_DATA_LOSS, "");
    write_model(MODEL(""));
    refused("serve", TF_INVALID_ARGUMENT, "no graph");
    write_model(MODEL("graph_def { " NODE("c", "Const", TYPE("dtype", "DT_FLOAT")) "}"));
    refused("serve", TF_FAILED_PRECONDITION, "without a value");
    write_model(MODEL("graph_def { " NODE("c", "Const", TYPE("dtype", "DT_FLOAT") "attr { key: 'value' value { tensor { "
                      "dtype: DT_FLOAT tensor_shape { dim { size: -3 } } } } }") "}"));
    refused("serve", TF_FAILED_PRECONDITION, "negative size");
    write_model(MODEL("graph_def { library { function { signature { name: 'F' } node_def { name: 'n' op: 'F' } } } }"));
    refused("serve", TF_FAILED_PRECONDITION, "self recursive");
    write_model(MODEL("graph_def { " NODE("c", "NoSuchOp", "") "}"));
    refused("serve", TF_NOT_FOUND, "NoSuchOp");
    write_model(MODEL("graph_def { } collection_def { key: 'saved_model_main_op' value { node_list { value: ['a', 'b'] } } }"));
    refused("serve", TF_FAILED_PRECONDITION, "exactly one main op");
    write_model(MODEL("graph_def { } collection_def { key: 'legacy_init_op' value { node_list { value: 'gone' } } }"));
    refused("serve", TF_NOT_FOUND, "gone");
}
END_TEST

START_TEST(graph_must_be_empty) {
    write_model(with_asset);
    TF_FinishOperation(TF_NewOperation(graph, "NoOp", "there"), s);
    ck_assert_ptr_null(load("serve", NULL));
    ck_assert_int_eq(TF_GetCode(s), TF_INVALID_ARGUMENT);
    ck_assert_str_eq(TF_Message(s), "Graph is non-empty.");
}
END_TEST

// ---------------------------------------- checkpoints

static TF_Output string_const(const char *name, const char *text, bool vector) {
    int64_t one[] = {1};
    TF_Tensor *t = TF_AllocateTensor(TF_STRING, one, vector, sizeof(TF_TString));
    TF_TString_Copy(TF_TensorData(t), text, strlen(text));
    TF_OperationDescription *desc = TF_NewOperation(graph, "Const", name);
    TF_SetAttrTensor(desc, "value", t, s);
    TF_SetAttrType(desc, "dtype", TF_STRING);
    TF_DeleteTensor(t);
    return (TF_Output){TF_FinishOperation(desc, s), 0};
}

START_TEST(checkpoint) {
    char prefix[128], path[160];
    snprintf(prefix, sizeof prefix, "%s/ckpt", folder);
    TF_Output inputs[] = {string_const("prefix", prefix, false), string_const("names", "v/w", true),
                          string_const("slices", "", true)};
    int64_t dims[] = {2, 1};
    TF_Tensor *t = TF_AllocateTensor(TF_FLOAT, dims, 2, 8);
    ((float *)TF_TensorData(t))[0] = 1.5F;
    ((float *)TF_TensorData(t))[1] = -2;
    TF_OperationDescription *desc = TF_NewOperation(graph, "Const", "value");
    TF_SetAttrTensor(desc, "value", t, s);
    TF_SetAttrType(desc, "dtype", TF_FLOAT);
    TF_Output value = {TF_FinishOperation(desc, s), 0};
    TF_DeleteTensor(t);
    desc = TF_NewOperation(graph, "SaveV2", "save");
    for (int i = 0; i < 3; i++)
        TF_AddInput(desc, inputs[i]);
    TF_AddInputList(desc, &value, 1);
    const TF_Operation *save = TF_FinishOperation(desc, s);
    ck_assert_msg(TF_GetCode(s) == TF_OK, "%s", TF_Message(s));
    TF_SessionOptions *options = TF_NewSessionOptions();
    TF_Session *session = TF_NewSession(graph, options, s);
    TF_DeleteSessionOptions(options);
    TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, &save, 1, NULL, s);
    ck_assert_msg(TF_GetCode(s) == TF_OK, "%s", TF_Message(s));
    TF_DeleteSession(session, s);

    TF_CheckpointReader *reader = TF_NewCheckpointReader(prefix, s);
    ck_assert_msg(TF_GetCode(s) == TF_OK, "%s", TF_Message(s));
    ck_assert_int_eq(TF_CheckpointReaderSize(reader), 1);
    ck_assert_str_eq(TF_CheckpointReaderGetVariable(reader, 0), "v/w");
    ck_assert_ptr_null(TF_CheckpointReaderGetVariable(reader, 1));
    ck_assert_int_eq(TF_CheckpointReaderHasTensor(reader, "v/w"), 1);
    ck_assert_int_eq(TF_CheckpointReaderHasTensor(reader, ""), 0);
    ck_assert_int_eq(TF_CheckpointReaderGetVariableDataType(reader, "v/w"), TF_FLOAT);
    ck_assert_int_eq(TF_CheckpointReaderGetVariableNumDims(reader, "v/w"), 2);
    TF_CheckpointReaderGetVariableShape(reader, "v/w", dims, 2, s);
    ck_assert(TF_GetCode(s) == TF_OK && dims[0] == 2 && dims[1] == 1);
    TF_CheckpointReaderGetVariableShape(reader, "v/w", dims, 1, s);
    ck_assert_int_eq(TF_GetCode(s), TF_INVALID_ARGUMENT);
    t = TF_CheckpointReaderGetTensor(reader, "v/w", s);
    ck_assert_msg(TF_GetCode(s) == TF_OK, "%s", TF_Message(s));
    ck_assert_float_eq(((float *)TF_TensorData(t))[1], -2);
    TF_DeleteTensor(t);
    ck_assert_ptr_null(TF_CheckpointReaderGetTensor(reader, "none", s));
    ck_assert_int_eq(TF_GetCode(s), TF_NOT_FOUND);
    TF_DeleteCheckpointReader(reader);
    TF_DeleteCheckpointReader(NULL);
    ck_assert_ptr_null(TF_NewCheckpointReader("/no/such/checkpoint", s));
    ck_assert_int_eq(TF_GetCode(s), TF_NOT_FOUND);
    snprintf(path, sizeof path, "%s.index", prefix);
    unlink(path);
    snprintf(path, sizeof path, "%s.data-00000-of-00001", prefix);
    unlink(path);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("api saved model");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, assets_and_initializer);
    tcase_add_test(c, tables);
    tcase_add_test(c, damaged);
    tcase_add_test(c, refusals);
    tcase_add_test(c, graph_must_be_empty);
    tcase_add_test(c, checkpoint);
    suite_add_tcase(suite, c);
    return suite;
}

int main(void) {
    return run_suite(suite());
}
