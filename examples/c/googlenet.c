// googlenet — Szegedy's network: layers that look at several scales at once. Try: googlenet --steps 200
#include <stdio.h>

#include "shared/images.h"

typedef struct Inception {
    const char *name;
    int ones, threes_in, threes, fives_in, fives, pooled;  // filters; *_in: of the 1 x 1 before
} Inception;

static TF_Output inception(mr_net *net, TF_Output x, const Inception *i) {
    char name[32];
#define CONV(part, from, filters, size) \
    (snprintf(name, sizeof name, "%s/%s", i->name, (part)), mr_conv(net, name, (from), (filters), (size), 1, "Relu"))
    TF_Output ones = CONV("1", x, i->ones, 1);
    TF_Output threes_in = CONV("3_in", x, i->threes_in, 1);
    TF_Output threes = CONV("3", threes_in, i->threes, 3);
    TF_Output fives_in = CONV("5_in", x, i->fives_in, 1);
    TF_Output fives = CONV("5", fives_in, i->fives, 5);
    snprintf(name, sizeof name, "%s/pool", i->name);
    TF_Output pool = mr_pool(net, name, "MaxPool", x, 3, 1, "SAME");
    TF_Output pooled = CONV("pooled", pool, i->pooled, 1);
#undef CONV
    return mr_concat(net, (TF_Output[]){ones, threes, fives, pooled}, 4, 3);
}

static TF_Output googlenet(mr_net *net, TF_Output x, int size, int classes, TF_Output dropout) {
    static const Inception LAYERS[] = {
        {"3a", 64, 96, 128, 16, 32, 32},     {"3b", 128, 128, 192, 32, 96, 64},   {"4a", 192, 96, 208, 16, 48, 64},
        {"4b", 160, 112, 224, 24, 64, 64},   {"4c", 128, 128, 256, 24, 64, 64},   {"4d", 112, 144, 288, 32, 64, 64},
        {"4e", 256, 160, 320, 32, 128, 128}, {"5a", 256, 160, 320, 32, 128, 128}, {"5b", 384, 192, 384, 48, 128, 128}};
    x = mr_conv(net, "conv1", x, 64, 7, size < 100 ? 1 : 2, "Relu");
    x = mr_pool(net, "pool1", "MaxPool", x, 3, 2, "SAME");
    x = mr_conv(net, "conv2_in", x, 64, 1, 1, "Relu");
    x = mr_conv(net, "conv2", x, 192, 3, 1, "Relu");
    x = mr_pool(net, "pool2", "MaxPool", x, 3, 2, "SAME");
    for (int i = 0; i < 9; i++) {
        x = inception(net, x, &LAYERS[i]);
        if (i == 1 || i == 6)
            x = mr_pool(net, i == 1 ? "pool3" : "pool4", "MaxPool", x, 3, 2, "SAME");
    }
    x = mr_global_average(net, "average", x);
    x = dropout.oper ? mr_dropout(net, "dropout", x, dropout) : x;
    return mr_dense(net, "dense", x, classes, NULL);
}

int main(int argc, char **argv) {
    return image_program(argc, argv, &(ImageNet){"GoogLeNet", 224, 3, 16, 300, 1e-3, googlenet});
}
