// learn — a network that learns exclusive or, written with the layers of millrace.h.
#include "shared/learning.h"

static const char ABOUT[] =
    "Learns exclusive or, with two layers. Ctrl-C ends it; what was learned until then is kept.";
static const Option OPTIONS[] = {{"steps", "N", "steps to take, 200"}, LEARNING_OPTIONS, {0}};

static TF_Output constant(mr_net *net, const char *text, TF_DataType dtype) {
    TF_Status *status = TF_NewStatus();
    TF_Tensor *tensor = mr_tensor_parse(text, dtype, status);
    check(status);
    TF_Output output = mr_constant(net, tensor);
    TF_DeleteTensor(tensor);
    TF_DeleteStatus(status);
    return output;
}

static void print(TF_Session *session, TF_Output output, const char *label) {
    TF_Status *status = TF_NewStatus();
    TF_Tensor *value = session_fetch(session, NULL, NULL, 0, output);
    TF_Buffer *text = TF_NewBuffer();
    mr_tensor_print(value, MR_PLAIN, text, status);
    check(status);
    printf("%s %s\n", label, (const char *)text->data);
    TF_DeleteBuffer(text);
    TF_DeleteTensor(value);
    TF_DeleteStatus(status);
}

int main(int argc, char **argv) {
    check_options(argc, argv, ABOUT, OPTIONS);
    int wanted = (int)option_number(argc, argv, "steps", 200), taken = 0;
    TF_Graph *graph = TF_NewGraph();
    mr_net *net = mr_net_new(graph, 1);

    TF_Output x = constant(net, "[[0 0] [0 1] [1 0] [1 1]]", TF_FLOAT);
    TF_Output labels = constant(net, "[0 1 1 0]", TF_INT32);
    TF_Output hidden = mr_dense(net, "hidden", x, 16, "Tanh");
    TF_Output logits = mr_dense(net, "logits", hidden, 2, NULL);
    TF_Output loss = mr_loss_softmax(net, logits, labels);
    TF_Output answers = mr_op(net, "Softmax", &logits, 1);
    mr_optimizer adam = {.struct_size = sizeof adam, .name = "adam"};
    TF_Operation *step = mr_minimize(net, &adam, mr_scalar(net, 0.05, TF_FLOAT), loss);
    TF_Operation *init = mr_init(net);
    TF_Status *status = TF_NewStatus();
    mr_net_status(net, status);
    check(status);
    TF_DeleteStatus(status);

    Checkpoint kept = checkpoint_new(graph, argc, argv);
    TF_Session *session = session_new(graph, 0);
    session_step(session, NULL, NULL, 0, NULL, NULL, 0, init);
    int64_t begin = checkpoint_load(&kept, session, 0);
    print(session, loss, "loss before");
    learning_begin();
    for (; taken < wanted && !learning_asked_to_end(); taken++)
        session_step(session, NULL, NULL, 0, NULL, NULL, 0, step);
    print(session, loss, "loss after ");
    print(session, answers, "answers    ");
    checkpoint_save(&kept, session, begin + taken, 0);
    checkpoint_tell(&kept, begin + taken);

    session_delete(session);
    mr_net_delete(net);
    TF_DeleteGraph(graph);
    output_written();
    return learning_code();
}
