// resnet50 — He's network of 50 layers, each group of three adding to what it got. Try: resnet50 --steps 100
#include <stdio.h>

#include "shared/images.h"

static TF_Output conv(mr_net *net, const char *block, const char *part, TF_Output x, int filters, int size, int stride,
                      const char *activation) {
    char name[48];
    snprintf(name, sizeof name, "%s/%s", block, part);
    const char *const side = size == 1 ? "VALID" : size == 3 ? "1" : "3";
    return mr_batch_norm(net, name, mr_convolve(net, name, x, filters, size, size, stride, side), activation);
}

static TF_Output bottleneck(mr_net *net, const char *name, TF_Output x, int filters, int stride, int first) {
    TF_Output y = conv(net, name, "conv1", x, filters, 1, 1, "Relu");
    y = conv(net, name, "conv2", y, filters, 3, stride, "Relu");
    y = conv(net, name, "conv3", y, 4 * filters, 1, 1, NULL);
    if (first)
        x = conv(net, name, "shortcut", x, 4 * filters, 1, stride, NULL);
    TF_Output sum = mr_op(net, "AddV2", (TF_Output[]){x, y}, 2);
    return mr_op(net, "Relu", &sum, 1);
}

static TF_Output resnet50(mr_net *net, TF_Output x, int size, int classes, TF_Output dropout) {
    static const int BLOCKS[] = {3, 4, 6, 3};
    char name[32];
    (void)dropout;
    x = conv(net, "stem", "conv", x, 64, 7, size < 100 ? 1 : 2, "Relu");
    x = mr_pool(net, "pool", "MaxPool", x, 3, 2, "SAME");
    for (int stage = 0; stage < 4; stage++) {
        for (int block = 0; block < BLOCKS[stage]; block++) {
            snprintf(name, sizeof name, "stage%d/block%d", stage + 1, block + 1);
            x = bottleneck(net, name, x, 64 << stage, stage && !block ? 2 : 1, !block);
        }
    }
    return mr_dense(net, "dense", mr_global_average(net, "average", x), classes, NULL);
}

int main(int argc, char **argv) {
    return image_program(argc, argv, &(ImageNet){"ResNet-50", 224, 3, 8, 200, 1e-3, resnet50});
}
