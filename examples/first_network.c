// First network — a network that learns exclusive or, as a newcomer would write it: the one in README.md.
#include <stdio.h>
#include <millrace/millrace.h>

int main(void) {
    TF_Status *status = TF_NewStatus();
    TF_Graph *graph = TF_NewGraph();
    mr_net *net = mr_net_new(graph, 1);

    // Exclusive or: two layers and the step that learns it.
    TF_Output x = mr_input(net, "x", TF_FLOAT, (int64_t[]){-1, 2}, 2);
    TF_Output labels = mr_input(net, "labels", TF_INT32, (int64_t[]){-1}, 1);
    TF_Output logits = mr_dense(net, "logits", mr_dense(net, "hidden", x, 16, "Tanh"), 2, NULL);
    mr_optimizer adam = {.struct_size = sizeof adam, .name = "adam"};
    TF_Operation *step = mr_minimize(net, &adam, mr_scalar(net, 0.05, TF_FLOAT), mr_loss_softmax(net, logits, labels));
    TF_Output answers = mr_op(net, "Softmax", &logits, 1);
    const TF_Operation *init = mr_init(net), *learn = step;
    mr_net_status(net, status);  // the first error, if there was one

    TF_Tensor *values[] = {mr_tensor_parse("[[0 0] [0 1] [1 0] [1 1]]", TF_FLOAT, status),
                           mr_tensor_parse("[0 1 1 0]", TF_INT32, status)};
    TF_SessionOptions *options = TF_NewSessionOptions();
    TF_Session *session = TF_NewSession(graph, options, status);
    if (TF_GetCode(status) == TF_OK)
        TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, &init, 1, NULL, status);
    for (int i = 0; i < 200 && TF_GetCode(status) == TF_OK; i++)
        TF_SessionRun(session, NULL, (TF_Output[]){x, labels}, values, 2, NULL, NULL, 0, &learn, 1, NULL, status);
    TF_Tensor *result = NULL;
    if (TF_GetCode(status) == TF_OK)
        TF_SessionRun(session, NULL, &x, values, 1, &answers, &result, 1, NULL, 0, NULL, status);

    int failed = TF_GetCode(status) != TF_OK;
    if (failed)
        printf("%s\n", TF_Message(status));
    for (int i = 0; i < 4 && !failed; i++)
        printf("%d xor %d: %.2f\n", i / 2, i % 2, ((float *)TF_TensorData(result))[2 * i + 1]);

    TF_DeleteTensor(result);
    TF_DeleteTensor(values[0]);
    TF_DeleteTensor(values[1]);
    TF_DeleteSession(session, status);
    TF_DeleteSessionOptions(options);
    mr_net_delete(net);
    TF_DeleteGraph(graph);
    TF_DeleteStatus(status);
    return failed;
}
