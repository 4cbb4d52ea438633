// First graph — x * x, its slope by x, and one step of a session.
#include <stdio.h>
#include <tensorflow/c/c_api.h>

int main(void) {
    TF_Status *status = TF_NewStatus();
    TF_Graph *graph = TF_NewGraph();

    TF_OperationDescription *desc = TF_NewOperation(graph, "Placeholder", "x");
    TF_SetAttrType(desc, "dtype", TF_FLOAT);
    TF_Output x = {TF_FinishOperation(desc, status), 0};

    desc = TF_NewOperation(graph, "Mul", "square");
    TF_AddInput(desc, x);
    TF_AddInput(desc, x);
    TF_Output square = {TF_FinishOperation(desc, status), 0};

    TF_Output slope;
    TF_AddGradients(graph, &square, 1, &x, 1, NULL, status, &slope);

    TF_SessionOptions *options = TF_NewSessionOptions();
    TF_Session *session = TF_NewSession(graph, options, status);
    TF_Tensor *three = TF_AllocateTensor(TF_FLOAT, NULL, 0, sizeof(float));
    *(float *)TF_TensorData(three) = 3;
    TF_Tensor *result = NULL;
    TF_SessionRun(session, NULL, &x, &three, 1, &slope, &result, 1, NULL, 0, NULL, status);

    int failed = TF_GetCode(status) != TF_OK;
    if (failed)
        printf("%s\n", TF_Message(status));
    else
        printf("the slope of x * x at 3 is %g\n", *(float *)TF_TensorData(result));

    TF_DeleteTensor(result);
    TF_DeleteTensor(three);
    TF_DeleteSession(session, status);
    TF_DeleteSessionOptions(options);
    TF_DeleteGraph(graph);
    TF_DeleteStatus(status);
    return failed;
}
