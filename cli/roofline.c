// Roofline — what this machine does at best: a product of square matrices, and a sum over a tensor that no cache
// holds, and that is only read: pages of a new result would be counted, too.
#include <time.h>

#include "cli.h"
#include "time_table.h"

enum { ROUNDS = 5, SIDE = 1024, FLOATS = 1 << 24 };

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static TF_Output placeholder(TF_Graph *graph, TF_Status *status) {
    TF_OperationDescription *node = TF_NewOperation(graph, "Placeholder", "x");
    TF_SetAttrType(node, "dtype", TF_FLOAT);
    return (TF_Output){TF_FinishOperation(node, status), 0};
}

// The shortest of some runs of op(x), or op(x, x), in seconds.
static double shortest(TF_Session *session, TF_Graph *graph, TF_Output x, const char *op, int n, const int64_t *dims, int rank,
                       size_t bytes, TF_Status *status) {
    TF_OperationDescription *node = TF_NewOperation(graph, op, op);
    for (int i = 0; i < n; i++)
        TF_AddInput(node, x);
    TF_Output y = {TF_FinishOperation(node, status), 0};
    TF_Tensor *value = TF_AllocateTensor(TF_FLOAT, dims, rank, bytes), *result = NULL;
    double best = 1e9;
    if (value)
        for (size_t i = 0; i < bytes / sizeof(float); i++)
            ((float *)TF_TensorData(value))[i] = (float)(i % 7);
    for (int i = 0; i < ROUNDS && value && TF_GetCode(status) == TF_OK; i++) {
        double began = seconds();
        TF_SessionRun(session, NULL, &x, &value, 1, &y, &result, 1, NULL, 0, NULL, status);
        double took = seconds() - began;
        TF_DeleteTensor(result);
        result = NULL;
        best = took < best ? took : best;
    }
    TF_DeleteTensor(value);
    return best;
}

bool roofline_measure(int threads, Roofline *out) {
    TF_Status *status = TF_NewStatus();
    TF_Graph *graph = TF_NewGraph();
    TF_SessionOptions *options = TF_NewSessionOptions();
    char config[] = {16, (char)threads, 40, (char)threads};  // ConfigProto: intra_op 2, inter_op 5
    if (threads)
        TF_SetConfig(options, config, sizeof config, status);
    TF_Session *session = TF_NewSession(graph, options, status);
    TF_DeleteSessionOptions(options);
    if (good(status, "the roofline")) {
        TF_Output x = placeholder(graph, status);
        double product = shortest(session, graph, x, "MatMul", 2, (int64_t[]){SIDE, SIDE}, 2, SIDE * SIDE * sizeof(float),
                                  status);
        double sum = shortest(session, graph, x, "L2Loss", 1, (int64_t[]){FLOATS}, 1, FLOATS * sizeof(float), status);
        *out = (Roofline){.bytes = 1.0 * FLOATS * sizeof(float) / sum, .flops = 2.0 * SIDE * SIDE * SIDE / product};
    }
    bool done = good(status, "the roofline");
    if (session) {
        TF_Status *ignored = TF_NewStatus();
        TF_DeleteSession(session, ignored);
        TF_DeleteStatus(ignored);
    }
    TF_DeleteGraph(graph);
    TF_DeleteStatus(status);
    return done;
}
