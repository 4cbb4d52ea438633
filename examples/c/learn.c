// learn — a network that learns exclusive or, written with the layers of millrace.h.
#include <stdio.h>
#include <stdlib.h>

#include "millrace/millrace.h"

static void check(TF_Status *status) {
    if (TF_GetCode(status) != TF_OK) {
        fprintf(stderr, "%s\n", TF_Message(status));
        exit(1);
    }
}

static TF_Output constant(mr_net *net, const char *text, TF_DataType dtype, TF_Status *status) {
    TF_Tensor *tensor = mr_tensor_parse(text, dtype, status);
    check(status);
    TF_Output output = mr_constant(net, tensor);
    TF_DeleteTensor(tensor);
    return output;
}

static void run(TF_Session *session, TF_Output fetch, const TF_Operation *target, const char *label,
                TF_Status *status) {
    TF_Tensor *value = NULL;
    TF_SessionRun(session, NULL, NULL, NULL, 0, &fetch, &value, label != NULL, &target, target != NULL, NULL, status);
    check(status);
    if (!label)
        return;
    TF_Buffer *text = TF_NewBuffer();
    mr_tensor_print(value, MR_PLAIN, text, status);
    check(status);
    printf("%s %s\n", label, (const char *)text->data);
    TF_DeleteBuffer(text);
    TF_DeleteTensor(value);
}

int main(void) {
    TF_Status *status = TF_NewStatus();
    TF_Graph *graph = TF_NewGraph();
    mr_net *net = mr_net_new(graph, 1);

    TF_Output x = constant(net, "[[0 0] [0 1] [1 0] [1 1]]", TF_FLOAT, status);
    TF_Output labels = constant(net, "[0 1 1 0]", TF_INT32, status);
    TF_Output hidden = mr_dense(net, "hidden", x, 16, "Tanh");
    TF_Output logits = mr_dense(net, "logits", hidden, 2, NULL);
    TF_Output loss = mr_loss_softmax(net, logits, labels);
    TF_Output answers = mr_op(net, "Softmax", &logits, 1);
    mr_optimizer adam = {.struct_size = sizeof adam, .name = "adam"};
    TF_Operation *step = mr_minimize(net, &adam, mr_scalar(net, 0.05, TF_FLOAT), loss);
    TF_Operation *init = mr_init(net);
    mr_net_status(net, status);
    check(status);

    TF_SessionOptions *options = TF_NewSessionOptions();
    TF_Session *session = TF_NewSession(graph, options, status);
    check(status);
    run(session, loss, init, NULL, status);
    run(session, loss, NULL, "loss before", status);
    for (int i = 0; i < 200; i++)
        run(session, loss, step, NULL, status);
    run(session, loss, NULL, "loss after ", status);
    run(session, answers, NULL, "answers    ", status);

    TF_DeleteSession(session, status);
    TF_DeleteSessionOptions(options);
    mr_net_delete(net);
    TF_DeleteGraph(graph);
    TF_DeleteStatus(status);
    return 0;
}
