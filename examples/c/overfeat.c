// overfeat — Sermanet's fast network: AlexNet with more filters.
#include "shared/images.h"

static TF_Output conv(mr_net *net, const char *name, TF_Output x, int filters, int size, int stride,
                      const char *padding) {
    return mr_bias(net, name, mr_convolve(net, name, x, filters, size, size, stride, padding), "Relu");
}

// Small pictures get small filters, and a quarter as many.
static TF_Output overfeat(mr_net *net, TF_Output x, int size, int classes, TF_Output dropout) {
    int small = size < 100, part = small ? 4 : 1;
    x = conv(net, "conv1", x, 96 / part, small ? 5 : 11, small ? 1 : 4, small ? "2" : "VALID");
    x = mr_max_pool(net, "pool1", x, 2, 2);
    x = conv(net, "conv2", x, 256 / part, 5, 1, small ? "2" : "VALID");
    x = mr_max_pool(net, "pool2", x, 2, 2);
    x = conv(net, "conv3", x, 512 / part, 3, 1, "1");
    x = conv(net, "conv4", x, 1024 / part, 3, 1, "1");
    x = conv(net, "conv5", x, 1024 / part, 3, 1, "1");
    x = mr_flatten(net, "flat", mr_max_pool(net, "pool5", x, 2, 2));
    x = mr_dense(net, "dense6", dropout.oper ? mr_dropout(net, "dropout", x, dropout) : x, 3072 / part, "Relu");
    x = mr_dense(net, "dense7", dropout.oper ? mr_dropout(net, "dropout", x, dropout) : x, 4096 / part, "Relu");
    return mr_dense(net, "dense8", x, classes, NULL);
}

int main(int argc, char **argv) {
    return image_program(argc, argv, &(ImageNet){"Overfeat", 231, 3, 16, 500, 1e-3, overfeat});
}
