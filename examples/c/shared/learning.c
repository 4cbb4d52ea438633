// Learning — see learning.h.
#define _GNU_SOURCE
#include "learning.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---------------------------------------- the end

static volatile sig_atomic_t ended;

static void end(int number) {
    if (ended)
        _exit(128 + number);
    ended = number;
}

void learning_begin(void) {
    signal(SIGINT, end);
    signal(SIGTERM, end);
}

int learning_asked_to_end(void) {
    return ended;
}

int learning_code(void) {
    return ended ? 128 + ended : 0;
}

// ---------------------------------------- the checkpoint's nodes

enum { MOST_VARIABLES = 2048, NUMBERS = 2 };
static const char NUMBERS_NAME[] = "examples/steps_and_kind";

typedef struct Names {
    TF_Operation *variables[MOST_VARIABLES];
    int n;
} Names;

static Names find_variables(TF_Graph *graph) {
    Names names = {.n = 0};
    size_t at = 0;
    for (TF_Operation *node; (node = TF_GraphNextOperation(graph, &at));) {
        if (strcmp(TF_OperationOpType(node), "VarHandleOp") != 0)
            continue;
        if (names.n == MOST_VARIABLES - 1)
            quit("more than %d variables can't be saved here", MOST_VARIABLES - 1);
        names.variables[names.n++] = node;
    }
    return names;
}

static TF_Output texts(TF_Graph *graph, const char *name, const Names *names, int named, TF_Status *status) {
    int64_t n = names->n + 1;
    TF_Tensor *tensor = TF_AllocateTensor(TF_STRING, &n, 1, (size_t)n * sizeof(TF_TString));
    TF_TString *text = TF_TensorData(tensor);
    for (int i = 0; i < n; i++) {
        const char *what = !named ? "" : i < names->n ? TF_OperationName(names->variables[i]) : NUMBERS_NAME;
        TF_StringInit(&text[i]);
        TF_StringCopy(&text[i], what, strlen(what));
    }
    TF_OperationDescription *node = TF_NewOperation(graph, "Const", name);
    TF_SetAttrType(node, "dtype", TF_STRING);
    TF_SetAttrTensor(node, "value", tensor, status);
    check(status);
    TF_Output output = {TF_FinishOperation(node, status), 0};
    check(status);
    TF_DeleteTensor(tensor);
    return output;
}

static TF_Output placeholder(TF_Graph *graph, const char *name, TF_DataType dtype, TF_Status *status) {
    TF_OperationDescription *node = TF_NewOperation(graph, "Placeholder", name);
    TF_SetAttrType(node, "dtype", dtype);
    TF_Output output = {TF_FinishOperation(node, status), 0};
    check(status);
    return output;
}

static TF_DataType dtype_of(TF_Operation *variable, TF_Status *status) {
    TF_DataType dtype;
    TF_OperationGetAttrType(variable, "dtype", &dtype, status);
    check(status);
    return dtype;
}

static void write_save(TF_Graph *graph, const Names *names, TF_Output text[2], Checkpoint *c, TF_Status *status) {
    TF_Output values[MOST_VARIABLES];
    char name[64];
    for (int i = 0; i < names->n; i++) {
        snprintf(name, sizeof name, "save/read%d", i);
        TF_OperationDescription *read = TF_NewOperation(graph, "ReadVariableOp", name);
        TF_AddInput(read, (TF_Output){names->variables[i], 0});
        TF_SetAttrType(read, "dtype", dtype_of(names->variables[i], status));
        values[i] = (TF_Output){TF_FinishOperation(read, status), 0};
        check(status);
    }
    values[names->n] = c->numbers;
    TF_OperationDescription *save = TF_NewOperation(graph, "SaveV2", "save/save");
    TF_AddInput(save, c->prefix);
    TF_AddInput(save, text[0]);
    TF_AddInput(save, text[1]);
    TF_AddInputList(save, values, names->n + 1);
    c->save = TF_FinishOperation(save, status);
    check(status);
}

static void write_restore(TF_Graph *graph, const Names *names, TF_Output text[2], Checkpoint *c, TF_Status *status) {
    TF_DataType dtypes[MOST_VARIABLES];
    char name[64];
    for (int i = 0; i < names->n; i++)
        dtypes[i] = dtype_of(names->variables[i], status);
    dtypes[names->n] = TF_INT64;
    TF_OperationDescription *node = TF_NewOperation(graph, "RestoreV2", "save/restore");
    TF_AddInput(node, c->prefix);
    TF_AddInput(node, text[0]);
    TF_AddInput(node, text[1]);
    TF_SetAttrTypeList(node, "dtypes", dtypes, names->n + 1);
    TF_Operation *restore = TF_FinishOperation(node, status);
    check(status);
    TF_OperationDescription *all = TF_NewOperation(graph, "NoOp", "save/restore_all");
    for (int i = 0; i < names->n; i++) {
        snprintf(name, sizeof name, "save/assign%d", i);
        TF_OperationDescription *assign = TF_NewOperation(graph, "AssignVariableOp", name);
        TF_AddInput(assign, (TF_Output){names->variables[i], 0});
        TF_AddInput(assign, (TF_Output){restore, i});
        TF_AddControlInput(all, TF_FinishOperation(assign, status));
        check(status);
    }
    c->restore = TF_FinishOperation(all, status);
    c->restored = (TF_Output){restore, names->n};
    check(status);
}

Checkpoint checkpoint_new(TF_Graph *graph, int argc, char **argv) {
    const char *slash = strrchr(argv[0], '/'), *to = option(argc, argv, "save", NULL);
    Checkpoint c = {.from = option(argc, argv, "from", NULL)};
    if (!to)
        snprintf(c.save_to, sizeof c.save_to, "%s.ckpt", slash ? slash + 1 : argv[0]);
    else if (strcmp(to, "none") != 0)
        snprintf(c.save_to, sizeof c.save_to, "%s", to);
    if (!*c.save_to && !c.from)
        return c;
    TF_Status *status = TF_NewStatus();
    Names names = find_variables(graph);
    c.prefix = placeholder(graph, "save/prefix", TF_STRING, status);
    c.numbers = placeholder(graph, "save/numbers", TF_INT64, status);
    TF_Output text[2] = {texts(graph, "save/names", &names, 1, status), texts(graph, "save/slices", &names, 0, status)};
    write_save(graph, &names, text, &c, status);
    write_restore(graph, &names, text, &c, status);
    TF_DeleteStatus(status);
    return c;
}

// ---------------------------------------- saving and restoring

static TF_Tensor *text_tensor(const char *text) {
    TF_Tensor *tensor = TF_AllocateTensor(TF_STRING, NULL, 0, sizeof(TF_TString));
    TF_StringInit(TF_TensorData(tensor));
    TF_StringCopy(TF_TensorData(tensor), text, strlen(text));
    return tensor;
}

int64_t checkpoint_load(const Checkpoint *c, TF_Session *session, int64_t kind) {
    if (!c->from)
        return 0;
    TF_Status *status = TF_NewStatus();
    TF_Tensor *prefix = text_tensor(c->from), *numbers = NULL;
    const TF_Operation *restore = c->restore;
    TF_SessionRun(session, NULL, &c->prefix, &prefix, 1, &c->restored, &numbers, 1, &restore, 1, NULL, status);
    if (TF_GetCode(status) != TF_OK)
        quit("%s: can't be gone on from: %s", c->from, TF_Message(status));
    const int64_t *found = TF_TensorData(numbers);
    if (TF_TensorElementCount(numbers) != NUMBERS || found[1] != kind)
        quit("%s: was learned from something else, or with other options", c->from);
    int64_t steps = found[0];
    printf("going on from %s, step %lld\n", c->from, (long long)steps);
    TF_DeleteTensor(numbers);
    TF_DeleteTensor(prefix);
    TF_DeleteStatus(status);
    return steps;
}

void checkpoint_save(const Checkpoint *c, TF_Session *session, int64_t steps, int64_t kind) {
    if (!*c->save_to)
        return;
    TF_Status *status = TF_NewStatus();
    TF_Tensor *values[] = {text_tensor(c->save_to), tensor_of(TF_INT64, 1, (int64_t[]){NUMBERS})};
    ((int64_t *)TF_TensorData(values[1]))[0] = steps;
    ((int64_t *)TF_TensorData(values[1]))[1] = kind;
    const TF_Operation *save = c->save;
    TF_SessionRun(session, NULL, (TF_Output[]){c->prefix, c->numbers}, values, 2, NULL, NULL, 0, &save, 1, NULL, status);
    if (TF_GetCode(status) != TF_OK)
        quit("%s: can't be saved: %s", c->save_to, TF_Message(status));
    TF_DeleteTensor(values[0]);
    TF_DeleteTensor(values[1]);
    TF_DeleteStatus(status);
}

void checkpoint_tell(const Checkpoint *c, int64_t steps) {
    if (ended)
        printf("ended after step %lld\n", (long long)steps);
    if (*c->save_to)
        printf("what was learned is in %s: --from %s goes on\n", c->save_to, c->save_to);
}
