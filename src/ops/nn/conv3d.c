// Conv3D — convolutions over volumes and their gradients: conv.c does the work.
#include "ops/nn/conv.h"

static void conv3d_grad(Formula *f) {
    Output x = f->x[0], filter = f->x[1], dy = f->dy[0];
    f->dx[0] = Like("Conv3DBackpropInputV2", ShapeOf(x), filter, dy);
    f->dx[1] = Like("Conv3DBackpropFilterV2", x, ShapeOf(filter), dy);
}
static void conv3d_input_grad(Formula *f) {
    Output filter = f->x[1], dy = f->x[2], dz = f->dy[0];
    f->dx[1] = Like("Conv3DBackpropFilterV2", dz, ShapeOf(filter), dy);
    f->dx[2] = Like("Conv3D", dz, filter);
}
static void conv3d_filter_grad(Formula *f) {
    Output x = f->x[0], dy = f->x[2], dz = f->dy[0];
    f->dx[0] = Like("Conv3DBackpropInputV2", ShapeOf(x), dz, dy);
    f->dx[2] = Like("Conv3D", x, dz);
}

static const ConvRow forward_row = {CONV_FORWARD, false, 0, 1, .sizes = -1, .volumes = true};
static const ConvRow input_row = {CONV_INPUT, false, 1, 2, .sizes = 0, .volumes = true};
static const ConvRow filter_row = {CONV_FILTER, false, 0, 2, .sizes = 1, .volumes = true};
static const ConvRow input_like_row = {CONV_INPUT, false, 1, 2, .sizes = 0, .volumes = true, .like = true};
static const ConvRow filter_like_row = {CONV_FILTER, false, 0, 2, .sizes = 1, .volumes = true, .like = true};

#define VOLUME_ATTRIBUTES "strides: list(int) >= 5; padding: {\"SAME\", \"VALID\"}; "
#define VOLUME_FORMATS "data_format: {\"NDHWC\", \"NCDHW\"} = \"NDHWC\"; "
#define DILATIONS "dilations: list(int) = [1, 1, 1, 1, 1]"
#define CONV3D_FIELDS                                                                                           \
    .shape = conv_output_shape, .prepare = conv_prepare_op, .own_size = sizeof(Conv), .cpu = ANY_TYPE(conv_run), \
    .hlo = conv_hlo,                                                                                            \
    .open = packed_open, .close = packed_close, .state_size = sizeof(PackedState), .flags = OP_CACHES
const Op op_Conv3D = {
    .signature = "Conv3D(input: T, filter: T) -> output: T; T: floats_half_first; " VOLUME_ATTRIBUTES
                 VOLUME_FORMATS DILATIONS,
    .doc = "Slides the filter over volumes: each output sums the products of a window.", .grad = conv3d_grad,
    .row = &forward_row, .same_rows = 1, CONV3D_FIELDS,
};
const Op op_Conv3DBackpropInputV2 = {
    .signature = "Conv3DBackpropInputV2(input_sizes: Tshape, filter: T, out_backprop: T) -> output: T; "
                 "T: floats_half_first; "
                 VOLUME_ATTRIBUTES VOLUME_FORMATS DILATIONS "; Tshape: {int32, int64} = int32",
    .doc = "Gradient of Conv3D by its volumes.", .grad = conv3d_input_grad, .host = BIT(0), .row = &input_row,
    .same_rows = 3, CONV3D_FIELDS,
};
const Op op_Conv3DBackpropFilterV2 = {
    .signature = "Conv3DBackpropFilterV2(input: T, filter_sizes: int32, out_backprop: T) -> output: T; "
                 "T: floats_half_first; "
                 VOLUME_ATTRIBUTES
                 VOLUME_FORMATS DILATIONS,
    .doc = "Gradient of Conv3D by its filter.", .grad = conv3d_filter_grad, .host = BIT(1), .row = &filter_row,
    CONV3D_FIELDS,
};
const Op op_Conv3DBackpropInput = {
    .signature = "Conv3DBackpropInput(input: T, filter: T, out_backprop: T) -> output: T; T: {half, float, double}; "
                 VOLUME_ATTRIBUTES DILATIONS "; deprecated(10, \"use Conv3DBackpropInputV2\")",
    .doc = "Gradient of Conv3D by its volumes; the older Conv3DBackpropInputV2.", .row = &input_like_row, CONV3D_FIELDS,
};
const Op op_Conv3DBackpropFilter = {
    .signature = "Conv3DBackpropFilter(input: T, filter: T, out_backprop: T) -> output: T; T: {half, float, double}; "
                 VOLUME_ATTRIBUTES DILATIONS "; deprecated(10, \"use Conv3DBackpropFilterV2\")",
    .doc = "Gradient of Conv3D by its filter; the older Conv3DBackpropFilterV2.", .row = &filter_like_row,
    CONV3D_FIELDS,
};
