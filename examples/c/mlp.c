// mlp — the smallest network that learns pictures: one hidden layer.
#include "shared/images.h"

static TF_Output mlp(mr_net *net, TF_Output x, int size, int classes, TF_Output dropout) {
    (void)size;
    x = mr_dense(net, "hidden", mr_flatten(net, "flat", x), 256, "Relu");
    x = dropout.oper ? mr_dropout(net, "dropout", x, dropout) : x;
    return mr_dense(net, "out", x, classes, NULL);
}

int main(int argc, char **argv) {
    return image_program(argc, argv, &(ImageNet){"perceptron", 28, 1, 128, 3000, 1e-3, mlp});
}
