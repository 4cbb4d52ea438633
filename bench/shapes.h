// Shapes — the convolutions and products of a workload's graph, with the shapes that they have there.
#pragma once
#include "api.h"

typedef struct Conv {
    int64_t x[4], filter[4], y[4];    // NHWC, HWIO, NHWC
    int64_t strides[2], before[2], after[2];
    bool forward, input, weights;     // which of the three are calculated
} Conv;

typedef struct Product {
    int64_t m, n, k;
} Product;

typedef struct Work {
    Conv *convs;
    Product *products;
    int conv_count, product_count;
} Work;

// False with the reason in `error`. Where a graph has gradients, each convolution has that of its weights, and that of
// its input unless it is fed (the node may be there: nothing runs it); the counts are checked.
bool work_read(const Api *api, const char *workload, Work *out, char *error, size_t room);
void work_clear(Work *work);
