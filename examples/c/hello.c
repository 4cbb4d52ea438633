// hello — a graph with TensorFlow's C interface alone: y = x * x + 1.
//
// It compiles and runs against TensorFlow's own library as well: nothing of Millrace's own is used.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

static void check(TF_Status *status) {
    if (TF_GetCode(status) != TF_OK) {
        fprintf(stderr, "%s\n", TF_Message(status));
        exit(1);
    }
}

static TF_Output finish(TF_OperationDescription *node, TF_Status *status) {
    TF_Output output = {TF_FinishOperation(node, status), 0};
    check(status);
    return output;
}

static TF_Output binary(TF_Graph *graph, const char *op, const char *name, TF_Output x, TF_Output y,
                        TF_Status *status) {
    TF_OperationDescription *node = TF_NewOperation(graph, op, name);
    TF_AddInput(node, x);
    TF_AddInput(node, y);
    return finish(node, status);
}

static TF_Tensor *scalar(float value) {
    TF_Tensor *tensor = TF_AllocateTensor(TF_FLOAT, NULL, 0, sizeof value);
    *(float *)TF_TensorData(tensor) = value;
    return tensor;
}

int main(int argc, char **argv) {
    if (argc > 1) {
        int asked = !strcmp(argv[1], "--help");
        fprintf(asked ? stdout : stderr, "usage: hello\n\nCalculates 3 * 3 + 1 with TensorFlow's C interface alone.\n");
        return asked ? 0 : 2;
    }
    TF_Status *status = TF_NewStatus();
    TF_Graph *graph = TF_NewGraph();

    TF_OperationDescription *node = TF_NewOperation(graph, "Placeholder", "x");
    TF_SetAttrType(node, "dtype", TF_FLOAT);
    TF_Output x = finish(node, status);

    TF_Tensor *one = scalar(1);
    node = TF_NewOperation(graph, "Const", "one");
    TF_SetAttrType(node, "dtype", TF_FLOAT);
    TF_SetAttrTensor(node, "value", one, status);
    check(status);
    TF_Output y = binary(graph, "AddV2", "y", binary(graph, "Mul", "square", x, x, status), finish(node, status),
                         status);

    TF_SessionOptions *options = TF_NewSessionOptions();
    TF_Session *session = TF_NewSession(graph, options, status);
    check(status);
    TF_Tensor *in = scalar(3), *out = NULL;
    TF_SessionRun(session, NULL, &x, &in, 1, &y, &out, 1, NULL, 0, NULL, status);
    check(status);
    printf("TensorFlow %s: 3 * 3 + 1 = %g\n", TF_Version(), (double)*(float *)TF_TensorData(out));

    TF_DeleteTensor(in);
    TF_DeleteTensor(out);
    TF_DeleteTensor(one);
    TF_DeleteSession(session, status);
    TF_DeleteSessionOptions(options);
    TF_DeleteGraph(graph);
    TF_DeleteStatus(status);
    return 0;
}
