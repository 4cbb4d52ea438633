// inception3 — Szegedy's third network: large filters made of small ones and of long, thin ones. Try: inception3
// --steps 100
#include <stdio.h>
#include <string.h>

#include "shared/images.h"

// Where a layer goes: "5b/way/conv2".
typedef struct Place {
    mr_net *net;
    const char *block;
    int count;   // of the layers so far
} Place;

static TF_Output conv(Place *p, TF_Output x, int filters, int height, int width, int stride, const char *padding) {
    char name[48];
    snprintf(name, sizeof name, "%s/conv%d", p->block, ++p->count);
    x = mr_convolve(p->net, name, x, filters, height, width, stride, padding);
    return mr_batch_norm(p->net, name, x, "Relu");
}

static TF_Output pool(Place *p, const char *op, TF_Output x, int stride, const char *padding) {
    return mr_pool(p->net, p->block, op, x, 3, stride, padding);
}

static TF_Output join(Place *p, const TF_Output *ways, int n) {
    return mr_concat(p->net, ways, n, 3);
}

// 1 x 1; 5 x 5; 3 x 3 twice; pooled.
static TF_Output block_a(mr_net *net, const char *name, TF_Output x, int pooled) {
    Place p = {net, name, 0};
    TF_Output one = conv(&p, x, 64, 1, 1, 1, "SAME");
    TF_Output five = conv(&p, conv(&p, x, 48, 1, 1, 1, "SAME"), 64, 5, 5, 1, "SAME");
    TF_Output twice = conv(&p, conv(&p, x, 64, 1, 1, 1, "SAME"), 96, 3, 3, 1, "SAME");
    twice = conv(&p, twice, 96, 3, 3, 1, "SAME");
    TF_Output mean = conv(&p, pool(&p, "AvgPool", x, 1, "SAME"), pooled, 1, 1, 1, "SAME");
    return join(&p, (TF_Output[]){one, five, twice, mean}, 4);
}

static TF_Output smaller_a(mr_net *net, const char *name, TF_Output x, const char *padding) {
    Place p = {net, name, 0};
    TF_Output three = conv(&p, x, 384, 3, 3, 2, padding);
    TF_Output twice = conv(&p, conv(&p, x, 64, 1, 1, 1, "SAME"), 96, 3, 3, 1, "SAME");
    twice = conv(&p, twice, 96, 3, 3, 2, padding);
    return join(&p, (TF_Output[]){three, twice, pool(&p, "MaxPool", x, 2, padding)}, 3);
}

// 7 x 7 as 1 x 7 and 7 x 1, `n` filters between.
static TF_Output block_b(mr_net *net, const char *name, TF_Output x, int n) {
    Place p = {net, name, 0};
    TF_Output one = conv(&p, x, 192, 1, 1, 1, "SAME");
    TF_Output seven = conv(&p, conv(&p, x, n, 1, 1, 1, "SAME"), n, 1, 7, 1, "SAME");
    seven = conv(&p, seven, 192, 7, 1, 1, "SAME");
    TF_Output twice = conv(&p, conv(&p, x, n, 1, 1, 1, "SAME"), n, 7, 1, 1, "SAME");
    twice = conv(&p, conv(&p, twice, n, 1, 7, 1, "SAME"), n, 7, 1, 1, "SAME");
    twice = conv(&p, twice, 192, 1, 7, 1, "SAME");
    TF_Output mean = conv(&p, pool(&p, "AvgPool", x, 1, "SAME"), 192, 1, 1, 1, "SAME");
    return join(&p, (TF_Output[]){one, seven, twice, mean}, 4);
}

static TF_Output smaller_b(mr_net *net, const char *name, TF_Output x, const char *padding) {
    Place p = {net, name, 0};
    TF_Output three = conv(&p, conv(&p, x, 192, 1, 1, 1, "SAME"), 320, 3, 3, 2, padding);
    TF_Output seven = conv(&p, conv(&p, x, 192, 1, 1, 1, "SAME"), 192, 1, 7, 1, "SAME");
    seven = conv(&p, conv(&p, seven, 192, 7, 1, 1, "SAME"), 192, 3, 3, 2, padding);
    return join(&p, (TF_Output[]){three, seven, pool(&p, "MaxPool", x, 2, padding)}, 3);
}

static TF_Output fork_wide(Place *p, TF_Output x) {
    TF_Output flat = conv(p, x, 384, 1, 3, 1, "SAME"), upright = conv(p, x, 384, 3, 1, 1, "SAME");
    return join(p, (TF_Output[]){flat, upright}, 2);
}

static TF_Output block_c(mr_net *net, const char *name, TF_Output x) {
    Place p = {net, name, 0};
    TF_Output one = conv(&p, x, 320, 1, 1, 1, "SAME");
    TF_Output three = fork_wide(&p, conv(&p, x, 384, 1, 1, 1, "SAME"));
    TF_Output twice = conv(&p, conv(&p, x, 448, 1, 1, 1, "SAME"), 384, 3, 3, 1, "SAME");
    twice = fork_wide(&p, twice);
    TF_Output mean = conv(&p, pool(&p, "AvgPool", x, 1, "SAME"), 192, 1, 1, 1, "SAME");
    return join(&p, (TF_Output[]){one, three, twice, mean}, 4);
}

// Small pictures keep their size at the beginning.
static TF_Output inception3(mr_net *net, TF_Output x, int size, int classes, TF_Output dropout) {
    int small = size < 100;
    const char *const padding = small ? "SAME" : "VALID";
    Place p = {net, "stem", 0};
    x = conv(&p, conv(&p, x, 32, 3, 3, small ? 1 : 2, padding), 32, 3, 3, 1, padding);
    x = pool(&p, "MaxPool", conv(&p, x, 64, 3, 3, 1, "SAME"), 2, padding);
    x = conv(&p, conv(&p, x, 80, 1, 1, 1, padding), 192, 3, 3, 1, padding);
    x = pool(&p, "MaxPool", x, 2, padding);
    x = block_a(net, "5b", x, 32);
    x = block_a(net, "5c", x, 64);
    x = block_a(net, "5d", x, 64);
    x = smaller_a(net, "6a", x, padding);
    x = block_b(net, "6b", x, 128);
    x = block_b(net, "6c", x, 160);
    x = block_b(net, "6d", x, 160);
    x = block_b(net, "6e", x, 192);
    x = smaller_b(net, "7a", x, padding);
    x = block_c(net, "7b", x);
    x = mr_global_average(net, "average", block_c(net, "7c", x));
    x = dropout.oper ? mr_dropout(net, "dropout", x, dropout) : x;
    return mr_dense(net, "dense", x, classes, NULL);
}

int main(int argc, char **argv) {
    return image_program(argc, argv, &(ImageNet){"Inception-v3", 299, 3, 8, 100, 1e-3, inception3});
}
