// vgg — Simonyan's network "A": convolutions of 3 x 3, one after the other.
#include <stdio.h>

#include "shared/images.h"

static TF_Output vgg(mr_net *net, TF_Output x, int size, int classes, TF_Output dropout) {
    const int filters[] = {64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0};  // 0: a pool
    int small = size < 100, part = small ? 4 : 1;
    char name[16];
    for (int i = 0; i < (int)(sizeof filters / sizeof *filters) - small; i++) {
        snprintf(name, sizeof name, filters[i] ? "conv%d" : "pool%d", i + 1);
        x = filters[i] ? mr_conv(net, name, x, filters[i] / part, 3, 1, "Relu") : mr_max_pool(net, name, x, 2, 2);
    }
    x = mr_flatten(net, "flat", x);
    x = mr_dense(net, "dense1", dropout.oper ? mr_dropout(net, "dropout", x, dropout) : x, 4096 / part, "Relu");
    x = mr_dense(net, "dense2", dropout.oper ? mr_dropout(net, "dropout", x, dropout) : x, 4096 / part, "Relu");
    return mr_dense(net, "dense3", x, classes, NULL);
}

int main(int argc, char **argv) {
    return image_program(argc, argv, &(ImageNet){"VGG-A", 224, 3, 16, 500, 5e-4, vgg});
}
