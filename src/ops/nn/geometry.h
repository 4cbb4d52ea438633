// Geometry — strides, padding, dilations and data formats of everything that slides a window over images or volumes.
#pragma once
#include "loops/window.h"
#include "ops/op.h"

typedef enum { PADDING_VALID, PADDING_SAME, PADDING_EXPLICIT } Padding;

// What the attributes say; the axes are height and width, of volumes depth, height and width.
typedef struct {
    bool planes;                     // NCHW, NCDHW; else NHWC, NDHWC
    int axes;                        // 2 or 3
    int n, c, axis[3];               // places of batch, channels and the axes
    Padding padding;
    int64_t stride[3], dilation[3], before[3], after[3];
    int64_t window[3];               // of pools
    int64_t depth_window, depth_stride;  // of pools: along the channels
} Sliding;

// Reads strides, dilations, padding, explicit_paddings and data_format of a convolution. INVALID_ARGUMENT,
// UNIMPLEMENTED.
FALLIBLE Status *sliding_of_conv(const Node *node, int axes, Sliding *out);
// The same with ksize for a pool. `ksize` and `strides` may come from inputs (the V2 ops): NULL reads the attributes.
FALLIBLE Status *sliding_of_pool(const Node *node, int axes, const int64_t *ksize, const int64_t *strides,
                                 Sliding *out);

// Extent of the output along an axis, and what is added before the input; unknown (-1) where an extent is.
// INVALID_ARGUMENT where the window does not fit.
FALLIBLE Status *sliding_extent(const Sliding *s, int axis, int64_t in, int64_t window, int64_t *out,
                                int64_t *out_before);

// The shape of a convolution's result, as far as known, with all checks on what is known.
FALLIBLE Status *conv_shape(const Sliding *s, const Shape *x, const Shape *filter, bool depthwise, Shape *out);
// What a loop needs for x and filter of known shapes.
FALLIBLE Status *conv_window(const Sliding *s, const Shape *x, const Shape *filter, bool depthwise, WindowShape *out);
// That the gradient of the result has the result's shape.
FALLIBLE Status *conv_check_gradient(const Sliding *s, const Shape *x, const Shape *filter, bool depthwise,
                                     const Shape *dy);

// The same for pools. A graph takes windows along channels that no kernel has (pool_check_kernel), as TensorFlow's does.
FALLIBLE Status *pool_shape(const Sliding *s, const Shape *x, Shape *out);
// UNIMPLEMENTED, INVALID_ARGUMENT.
FALLIBLE Status *pool_check_kernel(const Sliding *s, const Shape *x);
FALLIBLE Status *pool_window(const Sliding *s, const Shape *x, WindowShape *out);
