// SavedModel tests — what is written is loaded again and answers the same; what it does not need is not in it.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/suite_test.h"
#include "millrace/saved_model.h"

static char folder[] = "/tmp/saved_model_write_XXXXXX";

typedef struct {
    TF_Graph *graph;
    mr_net *net;
    TF_Session *session;
    TF_Output x, y, path;
    TF_Operation *init;
} Toy;

static void ok(TF_Status *status) {
    ck_assert_msg(TF_GetCode(status) == TF_OK, "%s", TF_Message(status));
}

static TF_Output add_read(TF_Graph *graph, TF_Output path, TF_Status *status) {
    TF_OperationDescription *node = TF_NewOperation(graph, "ReadFile", "words");
    TF_AddInput(node, path);
    return (TF_Output){TF_FinishOperation(node, status), 0};
}

static void toy_open(Toy *toy) {
    TF_Status *status = TF_NewStatus();
    int64_t dims[] = {-1, 3};
    *toy = (Toy){.graph = TF_NewGraph()};
    toy->net = mr_net_new(toy->graph, 3);
    toy->x = mr_input(toy->net, "x", TF_FLOAT, dims, 2);
    toy->path = mr_input(toy->net, "path", TF_STRING, NULL, 0);
    toy->y = mr_dense(toy->net, "dense", toy->x, 2, "Relu");
    mr_optimizer adam = {.struct_size = sizeof adam, .name = "adam"};
    mr_minimize(toy->net, &adam, mr_scalar(toy->net, 0.1, TF_FLOAT), mr_loss_squared(toy->net, toy->y, mr_scalar(toy->net, 1, TF_FLOAT)));
    toy->init = mr_init(toy->net);
    add_read(toy->graph, toy->path, status);
    mr_net_status(toy->net, status);
    ok(status);
    TF_SessionOptions *options = TF_NewSessionOptions();
    toy->session = TF_NewSession(toy->graph, options, status);
    ok(status);
    TF_DeleteSessionOptions(options);
    TF_DeleteStatus(status);
}

static void run_init(const Toy *toy) {
    TF_Status *status = TF_NewStatus();
    const TF_Operation *init = toy->init;
    TF_SessionRun(toy->session, NULL, NULL, NULL, 0, NULL, NULL, 0, &init, 1, NULL, status);
    ok(status);
    TF_DeleteStatus(status);
}

static void toy_close(Toy *toy) {
    TF_Status *status = TF_NewStatus();
    TF_DeleteSession(toy->session, status);
    mr_net_delete(toy->net);
    TF_DeleteGraph(toy->graph);
    TF_DeleteStatus(status);
}

static void answer(TF_Session *session, TF_Output x, TF_Output y, float out[4]) {
    TF_Status *status = TF_NewStatus();
    int64_t dims[] = {2, 3};
    TF_Tensor *value = TF_AllocateTensor(TF_FLOAT, dims, 2, 24), *result;
    memcpy(TF_TensorData(value), (float[]){1, 2, 3, -4, 5, -6}, 24);
    TF_SessionRun(session, NULL, &x, &value, 1, &y, &result, 1, NULL, 0, NULL, status);
    ok(status);
    memcpy(out, TF_TensorData(result), 16);
    TF_DeleteTensor(result);
    TF_DeleteTensor(value);
    TF_DeleteStatus(status);
}

static TF_Code write_toy(const Toy *toy, const char *name, int whole, const char *asset, char *message) {
    static const char *const INPUTS[] = {"features"}, *const OUTPUTS[] = {"answer"}, *const TAGS[] = {"serve", "mine"};
    TF_Status *status = TF_NewStatus();
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    mr_signature signature = {.struct_size = sizeof signature, .input_names = INPUTS, .inputs = &toy->x, .num_inputs = 1,
                              .output_names = OUTPUTS, .outputs = &toy->y, .num_outputs = 1};
    mr_saved_model_options options = {.struct_size = sizeof options, .signatures = &signature, .num_signatures = 1, .tags = TAGS,
                                      .num_tags = 2, .whole_graph = whole, .asset_paths = &asset, .asset_edges = &toy->path,
                                      .num_assets = asset != NULL};
    mr_saved_model_write(toy->session, path, &options, status);
    TF_Code code = TF_GetCode(status);
    snprintf(message, 500, "%s", TF_Message(status));
    TF_DeleteStatus(status);
    return code;
}

static char message[500];

static void load_and_compare(const char *name, const float wanted[4], bool whole) {
    TF_Status *status = TF_NewStatus();
    TF_SessionOptions *options = TF_NewSessionOptions();
    TF_Graph *graph = TF_NewGraph();
    char path[200];
    float got[4];
    const char *tags[] = {"mine", "serve"};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    TF_Session *session = TF_LoadSessionFromSavedModel(options, NULL, path, tags, 2, graph, NULL, status);
    ok(status);
    TF_Operation *y = TF_GraphOperationByName(graph, "dense/Relu");
    answer(session, (TF_Output){TF_GraphOperationByName(graph, "x"), 0}, (TF_Output){y, 0}, got);
    ck_assert_mem_eq(got, wanted, sizeof got);
    ck_assert_int_eq(TF_GraphOperationByName(graph, "train_step") != NULL, whole);
    TF_DeleteSession(session, status);
    TF_DeleteGraph(graph);
    TF_DeleteSessionOptions(options);
    TF_DeleteStatus(status);
}

START_TEST(comes_back) {
    Toy toy;
    float wanted[4];
    toy_open(&toy);
    run_init(&toy);
    answer(toy.session, toy.x, toy.y, wanted);
    char asset[200];
    snprintf(asset, sizeof asset, "%s/vocabulary.txt", folder);
    FILE *file = fopen(asset, "w");
    fputs("a\nb\n", file);
    fclose(file);
    ck_assert_msg(write_toy(&toy, "small", 0, asset, message) == TF_OK, "%s", message);
    ck_assert_msg(write_toy(&toy, "whole", 1, NULL, message) == TF_OK, "%s", message);
    ck_assert_msg(write_toy(&toy, "small", 0, asset, message) == TF_OK, "%s", message);  // over another
    load_and_compare("small", wanted, false);
    load_and_compare("whole", wanted, true);
    snprintf(asset, sizeof asset, "%s/small/assets/vocabulary.txt", folder);
    ck_assert_int_eq(access(asset, R_OK), 0);
    toy_close(&toy);
}
END_TEST

START_TEST(refuses) {
    Toy toy, other;
    toy_open(&toy);
    toy_open(&other);
    ck_assert_int_eq(write_toy(&toy, "empty", 0, NULL, message), TF_FAILED_PRECONDITION);  // no values yet
    run_init(&toy);
    ck_assert_int_eq(write_toy(&toy, "asset", 0, "/nowhere/x", message), TF_NOT_FOUND);
    TF_Output mine = toy.y;
    toy.y = other.y;
    ck_assert_int_eq(write_toy(&toy, "other", 0, NULL, message), TF_INVALID_ARGUMENT);
    toy.y = mine;
    ck_assert_int_ne(write_toy(&toy, "../../dev/null/x", 0, NULL, message), TF_OK);
    toy_close(&toy);
    toy_close(&other);
}
END_TEST

int main(void) {
    if (!mkdtemp(folder))
        return 2;
    Suite *suite = suite_create("saved_model_write");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, comes_back);
    tcase_add_test(tests, refuses);
    suite_add_tcase(suite, tests);
    int failed = run_suite(suite);
    char command[sizeof folder + 16];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 || failed;
}
