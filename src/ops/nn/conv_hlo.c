// Convolutions for devices that compile — all passes are one operation with other dimensions, strides and dilations.
//
// The gradient by the input slides the mirrored filter over dy, whose pixels lie a stride apart; that by the filter slides
// dy over x, with batch and channels in each other's place.
#include "ops/nn/conv.h"

// Along one axis.
typedef struct {
    int64_t in, out, filter, stride, dilation, before;
} Axis;

static Axis axis_of(const WindowShape *w, int axes, int i) {
    if (axes == 3 && i == 0)
        return (Axis){w->in_d, w->out_d, w->filter_d, w->stride_d, w->dilation_d, w->pad_front};
    if (i == axes - 2)
        return (Axis){w->in_h, w->out_h, w->filter_h, w->stride_h, w->dilation_h, w->pad_top};
    return (Axis){w->in_w, w->out_w, w->filter_w, w->stride_w, w->dilation_w, w->pad_left};
}

static void slide(const WindowShape *w, int axes, ConvPass pass, HloConv *conv) {
    conv->n = axes;
    for (int i = 0; i < axes; i++) {
        Axis a = axis_of(w, axes, i);
        int64_t wide = (a.filter - 1) * a.dilation + 1, reach = (a.out - 1) * a.stride;
        conv->stride[i] = pass == CONV_FORWARD ? a.stride : pass == CONV_INPUT ? 1 : a.dilation;
        conv->x_dilation[i] = pass == CONV_INPUT ? a.stride : 1;
        conv->kernel_dilation[i] = pass == CONV_FILTER ? a.stride : a.dilation;
        conv->low[i] = pass == CONV_INPUT ? wide - 1 - a.before : a.before;
        conv->high[i] = pass == CONV_INPUT ? a.in + a.before - 1 - reach : reach + wide - a.in - a.before;
    }
}

// [.., I/g, O] -> [.., O/g, I], mirrored: what the gradient by the input slides.
static HloValue mirrored(Hlo *h, HloValue filter, int axes, int64_t groups) {
    int64_t in = filter->shape.dims[axes], out = filter->shape.dims[axes + 1];
    Shape apart = filter->shape, perm = {.rank = axes + 3}, joined = filter->shape;
    apart.rank = axes + 3;
    apart.dims[axes + 1] = groups;
    apart.dims[axes + 2] = out / groups;
    for (int i = 0; i < axes; i++)
        perm.dims[i] = i;
    perm.dims[axes] = axes + 2;
    perm.dims[axes + 1] = axes + 1;
    perm.dims[axes + 2] = axes;
    joined.dims[axes] = out / groups;
    joined.dims[axes + 1] = groups * in;
    HloValue turned = hlo_transpose(h, hlo_reshape(h, filter, apart), perm);
    return hlo_reverse(h, hlo_reshape(h, turned, joined), BIT(axes) - 1);
}

// "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]" and its kin.
static const char *dimensions(ConvPass pass, int axes, bool planes) {
    static const char *const texts[2][2][2] = {
        {{"[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "[b, f, 0, 1]x[0, 1, i, o]->[b, f, 0, 1]"},
         {"[b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f]", "[b, f, 0, 1, 2]x[0, 1, 2, i, o]->[b, f, 0, 1, 2]"}},
        {{"[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]", "[f, b, 0, 1]x[i, o, 0, 1]->[0, 1, b, f]"},
         {"[f, 0, 1, 2, b]x[i, 0, 1, 2, o]->[0, 1, 2, b, f]", "[f, b, 0, 1, 2]x[i, o, 0, 1, 2]->[0, 1, 2, b, f]"}},
    };
    return texts[pass == CONV_FILTER][axes == 3][planes];
}

Status *conv_hlo(Hlo *h) {
    const ConvRow *row = node_op(h->node)->row;
    int axes = conv_axes(row);
    Sliding sliding;
    WindowShape w;
    TRY(sliding_of_conv(h->node, axes, &sliding));
    HloValue a = hlo_in(h, row->a), b = hlo_in(h, row->b);
    Shape made = *hlo_out_shape(h, 0);
    TRY(h->status);
    NEED(shape_is_known(&made), UNIMPLEMENTED, "the sizes of the output are not known");
    Shape x = row->pass == CONV_INPUT ? made : a->shape;
    Shape filter = row->pass == CONV_FORWARD ? b->shape : row->pass == CONV_INPUT ? a->shape : made;
    TRY(conv_window(&sliding, &x, &filter, row->depthwise, &w));
    NEED(shape_count(&a->shape) > 0 && shape_count(&b->shape) > 0, UNIMPLEMENTED, "images or filters without elements");
    w = axes == 3 ? window_in_depth(&w) : w;
    Shape plain = filter;  // a depthwise one as groups of one channel
    if (row->depthwise) {
        plain.dims[axes] = 1;
        plain.dims[axes + 1] = filter.dims[axes] * filter.dims[axes + 1];
    }
    HloConv conv = {.dims = dimensions(row->pass, axes, sliding.planes)};
    slide(&w, axes, row->pass, &conv);
    *(row->pass == CONV_FILTER ? &conv.batch_groups : &conv.groups) = w.groups;
    if (row->pass == CONV_INPUT)  // filter and dy
        return hlo_out(h, 0, hlo_conv(h, b, mirrored(h, hlo_reshape(h, a, plain), axes, w.groups), &conv, made));
    if (row->pass == CONV_FORWARD)
        return hlo_out(h, 0, hlo_conv(h, a, hlo_reshape(h, b, plain), &conv, made));
    return hlo_out(h, 0, hlo_reshape(h, hlo_conv(h, a, b, &conv, plain), made));
}
