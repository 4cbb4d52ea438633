// soak — sessions made, run and deleted, a thousand times or as often as told: the process must not grow.
//
//     soak [SESSIONS]
//
// Each round has a graph of its own with variables, a queue, a loop, a gradient and an error; every tenth is imported
// from the bytes of the one before. Prints the resident memory after each tenth of the rounds; fails where the second
// half grew.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tensorflow/c/c_api.h"

static TF_Status *status;
static int failures;

static void expect(TF_Code code, const char *what) {
    if (TF_GetCode(status) == code)
        return;
    fprintf(stderr, "%s: %d: %s\n", what, TF_GetCode(status), TF_Message(status));
    failures++;
}

static long resident_kib(void) {
    long pages = 0, ignored;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (!statm)
        return 0;
    if (fscanf(statm, "%ld %ld", &ignored, &pages) != 2)
        pages = 0;
    fclose(statm);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static TF_Tensor *vector(int64_t n, float value) {
    TF_Tensor *t = TF_AllocateTensor(TF_FLOAT, &n, 1, (size_t)n * 4);
    for (int64_t i = 0; i < n; i++)
        ((float *)TF_TensorData(t))[i] = value;
    return t;
}

static TF_OperationDescription *begin(TF_Graph *graph, const char *op, const char *name, const TF_Output *in, int n) {
    TF_OperationDescription *desc = TF_NewOperation(graph, op, name);
    for (int i = 0; i < n; i++)
        TF_AddInput(desc, in[i]);
    return desc;
}

static TF_Output finish(TF_OperationDescription *desc) {
    TF_Output out = {TF_FinishOperation(desc, status), 0};
    expect(TF_OK, "building");
    return out;
}

static TF_Output node(TF_Graph *graph, const char *op, const char *name, TF_Output a, TF_Output b) {
    return finish(begin(graph, op, name, (TF_Output[]){a, b}, b.oper ? 2 : 1));
}

typedef struct {
    TF_Output x, y, slope, read, size, bad;
    TF_Operation *assign, *enqueue;
} Ends;

static void add_state(TF_Graph *graph, Ends *e) {
    TF_OperationDescription *desc = begin(graph, "VarHandleOp", "v", NULL, 0);
    TF_SetAttrType(desc, "dtype", TF_FLOAT);
    TF_SetAttrShape(desc, "shape", NULL, -1);
    TF_Output v = finish(desc);
    desc = begin(graph, "AssignVariableOp", "assign", (TF_Output[]){v, e->x}, 2);
    TF_SetAttrType(desc, "dtype", TF_FLOAT);
    e->assign = finish(desc).oper;
    desc = begin(graph, "ReadVariableOp", "read", &v, 1);
    TF_SetAttrType(desc, "dtype", TF_FLOAT);
    e->read = finish(desc);
    desc = begin(graph, "FIFOQueueV2", "queue", NULL, 0);
    TF_SetAttrTypeList(desc, "component_types", (TF_DataType[]){TF_FLOAT}, 1);
    TF_Output queue = finish(desc);
    desc = begin(graph, "QueueEnqueueV2", "enqueue", &queue, 1);
    TF_AddInputList(desc, &e->x, 1);
    e->enqueue = finish(desc).oper;
    e->size = finish(begin(graph, "QueueSizeV2", "size", &queue, 1));
}

static Ends build(TF_Graph *graph) {
    Ends e;
    TF_OperationDescription *desc = begin(graph, "Placeholder", "x", NULL, 0);
    TF_SetAttrType(desc, "dtype", TF_FLOAT);
    e.x = finish(desc);
    TF_Output square = node(graph, "Mul", "square", e.x, e.x);
    e.y = node(graph, "Exp", "y", square, (TF_Output){0});
    TF_AddGradients(graph, &e.y, 1, &e.x, 1, NULL, status, &e.slope);
    expect(TF_OK, "gradients");
    e.bad = node(graph, "MatMul", "bad", e.x, e.x);  // of vectors: an error each time
    add_state(graph, &e);
    return e;
}

static void run(TF_Session *session, const Ends *e, int round) {
    TF_Output fetches[3] = {e->y, e->slope, e->size};
    for (int i = 0; i < 3; i++) {
        TF_Tensor *in = vector(1 + (round + i) % 64, 0.5f), *out[3] = {0};
        const TF_Operation *targets[] = {e->assign, e->enqueue};
        TF_SessionRun(session, NULL, &e->x, &in, 1, fetches, out, 3, targets, 2, NULL, status);
        expect(TF_OK, "running");
        for (int o = 0; o < 3; o++)
            TF_DeleteTensor(out[o]);
        TF_SessionRun(session, NULL, NULL, NULL, 0, &e->read, out, 1, NULL, 0, NULL, status);
        expect(TF_OK, "reading");
        TF_DeleteTensor(out[0]);
        TF_SessionRun(session, NULL, &e->x, &in, 1, &e->bad, out, 1, NULL, 0, NULL, status);
        expect(TF_INVALID_ARGUMENT, "a product of vectors");
        TF_DeleteTensor(in);
    }
}

static void one_round(int round, TF_Buffer **bytes) {
    TF_Graph *graph = TF_NewGraph();
    if (round % 10 == 0 && *bytes) {
        TF_ImportGraphDefOptions *options = TF_NewImportGraphDefOptions();
        TF_ImportGraphDefOptionsSetPrefix(options, "imported");
        TF_GraphImportGraphDef(graph, *bytes, options, status);
        expect(TF_OK, "importing");
        TF_DeleteImportGraphDefOptions(options);
    }
    Ends ends = build(graph);
    TF_SessionOptions *options = TF_NewSessionOptions();
    TF_Session *session = TF_NewSession(graph, options, status);
    expect(TF_OK, "a session");
    TF_DeleteSessionOptions(options);
    run(session, &ends, round);
    if (round % 10 == 9) {
        TF_DeleteBuffer(*bytes);
        *bytes = TF_NewBuffer();
        TF_GraphToGraphDef(graph, *bytes, status);
        expect(TF_OK, "exporting");
    }
    if (round % 2)
        TF_DeleteGraph(graph);
    if (round % 3)
        TF_CloseSession(session, status);
    TF_DeleteSession(session, status);
    if (round % 2 == 0)
        TF_DeleteGraph(graph);
}

int main(int n, char **args) {
    int rounds = n > 1 ? atoi(args[1]) : 1000;
    long half = 0;
    status = TF_NewStatus();
    TF_Buffer *bytes = NULL;
    for (int round = 0; round < rounds; round++) {
        one_round(round, &bytes);
        if (rounds >= 10 && (round + 1) % (rounds / 10) == 0)
            printf("%6d sessions: %ld KiB\n", round + 1, resident_kib());
        if (round == rounds / 2)
            half = resident_kib();
    }
    TF_DeleteBuffer(bytes);
    TF_DeleteStatus(status);
    long grown = resident_kib() - half;
    printf("the second half of %d sessions grew by %ld KiB; %d failures\n", rounds, grown, failures);
    return failures || (rounds >= 100 && grown > 1024);
}
