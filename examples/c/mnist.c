// mnist — the small network of tutorials: two convolutions of 5 x 5, two dense layers.
#include "shared/images.h"

static TF_Output mnist(mr_net *net, TF_Output x, int size, int classes, TF_Output dropout) {
    (void)size;
    x = mr_max_pool(net, "pool1", mr_conv(net, "conv1", x, 32, 5, 1, "Relu"), 2, 2);
    x = mr_max_pool(net, "pool2", mr_conv(net, "conv2", x, 64, 5, 1, "Relu"), 2, 2);
    x = mr_dense(net, "dense3", mr_flatten(net, "flat", x), 1024, "Relu");
    x = dropout.oper ? mr_dropout(net, "dropout", x, dropout) : x;
    return mr_dense(net, "dense4", x, classes, NULL);
}

int main(int argc, char **argv) {
    return image_program(argc, argv, &(ImageNet){"MNIST convnet", 28, 1, 64, 1000, 1e-3, mnist});
}
