// Window — what slides over images and volumes: convolutions (by patches and matrix products) and pooling.
//
// Convolutions are NHWC with HWIO filters (volumes NDHWC, DHWIO), float or double. Each reports its units and the
// scratch of a thread that runs them; bits do not depend on how units are shared out.
#pragma once
#include "tensor/dtype.h"

typedef struct {
    int64_t batch, in_h, in_w, in_c;
    int64_t out_h, out_w, out_c;
    int64_t filter_h, filter_w;           // and in_c / groups channels
    int64_t stride_h, stride_w, dilation_h, dilation_w;
    int64_t pad_top, pad_left;            // what is beyond the right and bottom follows from the output's extents
    int64_t groups;                       // 1, or a divisor of in_c and out_c
    int64_t in_d, out_d, filter_d, stride_d, dilation_d, pad_front;  // of volumes; of images all are 0
} WindowShape;

// An image as a volume of one layer.
static inline WindowShape window_in_depth(const WindowShape *shape) {
    WindowShape s = *shape;
    if (!s.filter_d)
        s.in_d = s.out_d = s.filter_d = s.stride_d = s.dilation_d = 1;
    return s;
}

typedef enum { CONV_FORWARD, CONV_INPUT, CONV_FILTER } ConvPass;

typedef struct {
    ConvPass pass;
    WindowShape shape;                    // in depth
    DType dtype;
    int64_t pixels;                       // output pixels per block of patches
    int64_t blocks;                       // of an image (forward)
    int64_t pixels_each, positions;       // of a whole output image or volume, of a window
    int64_t group_positions, cuts, cut;   // filter: window positions per unit; cuts of the output channels
    bool narrow;                          // to so few channels that each is a dot product; units are rows of the output
    int64_t units;
    size_t scratch;                       // bytes per running thread, aligned to 64
} ConvPlan;

// False where the type is neither float nor double.
bool conv_prepare(ConvPass pass, DType dtype, const WindowShape *shape, ConvPlan *plan);
// Whether the convolution is one to few channels (ConvPlan.narrow), which libraries compute as many.
bool conv_is_narrow(const WindowShape *shape);
// y = x * filter (+ bias, then relu); units may run on any threads.
void conv_forward(const ConvPlan *plan, const void *x, const void *filter, const void *bias, bool relu, void *y,
                  void *scratch, int64_t first, int64_t last);
// dx of dy; every element of dx is written.
void conv_input(const ConvPlan *plan, const void *dy, const void *filter, void *dx, void *scratch, int64_t first,
                int64_t last);
// d_filter of x and dy.
void conv_filter(const ConvPlan *plan, const void *x, const void *dy, void *d_filter, void *scratch, int64_t first,
                 int64_t last);

// ---- pooling ----
// in_c is out_c, dilation and groups are 1. The forward passes of pools take units [first, last) of [0, pool_units):
// rows of the result, or its planes, so that one image occupies several threads. Gradients take those of [0,
// pool_grad_units): images, or layers of volumes where no two windows share one. max_pool_argmax takes images. `nchw`:
// planes instead of pixels, of images only.
int64_t pool_units(const WindowShape *shape, bool nchw);
int64_t pool_grad_units(const WindowShape *shape, bool nchw);

// float, double, int32, int64.
bool max_pool_takes(DType dtype);
// `work`: max_pool_work() bytes, for the passes below that take it.
size_t max_pool_work(DType dtype, const WindowShape *shape);
void max_pool(DType dtype, const WindowShape *shape, bool nchw, const void *x, void *y, void *work, int64_t first,
              int64_t last);
// Also where each greatest element is: ((z * in_h + y) * in_w + x) * in_c + c, counted over the whole batch if
// `include_batch`. NHWC.
void max_pool_argmax(DType dtype, const WindowShape *shape, bool include_batch, const void *x, void *y, int64_t *argmax,
                     void *work, int64_t first, int64_t last);
// dx gets dy at the first greatest element of each window; every element of dx is written.
void max_pool_grad(DType dtype, const WindowShape *shape, bool nchw, const void *x, const void *dy, void *dx,
                   void *work, int64_t first, int64_t last);
// float and double, pixels: dx gets dy wherever x is within 1e-5 of a window's greatest, y. Units are the input's rows.
int64_t pool_row_units(const WindowShape *shape);
void max_pool_share(DType dtype, const WindowShape *shape, const void *x, const void *y, const void *dy, void *dx,
                    int64_t first, int64_t last);
// float and double. Only elements inside the image count. The gradient's units are planes, or the input's rows.
void avg_pool(DType dtype, const WindowShape *shape, bool nchw, const void *x, void *y, int64_t first, int64_t last);
int64_t avg_pool_grad_units(const WindowShape *shape, bool nchw);
void avg_pool_grad(DType dtype, const WindowShape *shape, bool nchw, const void *dy, void *dx, int64_t first,
                   int64_t last);
