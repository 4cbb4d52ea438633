// alexnet — Krizhevsky's network in one tower: five convolutions, three dense layers. Try: alexnet --steps 300
#include "shared/images.h"

static TF_Output conv(mr_net *net, const char *name, TF_Output x, int filters, int size, int stride,
                      const char *padding) {
    return mr_bias(net, name, mr_convolve(net, name, x, filters, size, size, stride, padding), "Relu");
}

// Small pictures get small filters, and half as many.
static TF_Output alexnet(mr_net *net, TF_Output x, int size, int classes, TF_Output dropout) {
    int small = size < 100, part = small ? 2 : 1;
    x = conv(net, "conv1", x, 64 / part, small ? 5 : 11, small ? 1 : 4, "2");
    x = mr_max_pool(net, "pool1", x, 3, 2);
    x = conv(net, "conv2", x, 192 / part, 5, 1, "2");
    x = mr_max_pool(net, "pool2", x, 3, 2);
    x = conv(net, "conv3", x, 384 / part, 3, 1, "1");
    x = conv(net, "conv4", x, 256 / part, 3, 1, "1");
    x = conv(net, "conv5", x, 256 / part, 3, 1, "1");
    x = mr_flatten(net, "flat", mr_max_pool(net, "pool5", x, 3, 2));
    for (int i = 0; i < 2; i++) {
        const char *const names[] = {"dense6", "dense7"};
        x = dropout.oper ? mr_dropout(net, "dropout", x, dropout) : x;
        x = mr_dense(net, names[i], x, small ? 512 : 4096, "Relu");
    }
    return mr_dense(net, "dense8", x, classes, NULL);
}

int main(int argc, char **argv) {
    return image_program(argc, argv, &(ImageNet){"AlexNet", 224, 3, 32, 1000, 1e-3, alexnet});
}
