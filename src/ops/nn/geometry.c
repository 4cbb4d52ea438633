// Geometry — see geometry.h.
#include "ops/nn/geometry.h"

// ---------------------------------------- attributes

static Status *read_format(const Node *node, Sliding *s) {
    const AttrValue *format = node_attr_find(node, "data_format");
    Str name = format ? format->s : STR("NHWC");
    NEED(str_is(name, "NHWC") || str_is(name, "NCHW"), UNIMPLEMENTED, "no kernel for data_format %.*s", STR_ARGS(name));
    s->planes = str_is(name, "NCHW");
    s->n = 0;
    s->c = s->planes ? 1 : 3;
    s->axis[0] = s->planes ? 2 : 1;
    s->axis[1] = s->planes ? 3 : 2;
    return OK;
}

// Four numbers of a list attribute: those of the two axes, and of the batch and the channels.
static Status *read_four(const Node *node, const char *name, const int64_t *given, const Sliding *s, int64_t axes[2],
                         int64_t *out_n, int64_t *out_c) {
    const AttrValue *list = given ? NULL : node_list(node, name);
    NEED(given || list->n == 4, INVALID_ARGUMENT, "%s must specify 4 dimensions, got %d", name, list->n);
    const int64_t *values = given ? given : list->is;
    for (int i = 0; i < 4; i++)
        NEED(values[i] > 0 && values[i] <= INT32_MAX, INVALID_ARGUMENT, "%s must be positive and fit 31 bits, got %lld",
             name, (long long)values[i]);
    axes[0] = values[s->axis[0]];
    axes[1] = values[s->axis[1]];
    *out_n = values[s->n];
    *out_c = values[s->c];
    return OK;
}

static Status *read_padding(const Node *node, Sliding *s) {
    Str padding = node_str(node, "padding");
    s->padding = str_is(padding, "SAME") ? PADDING_SAME : str_is(padding, "EXPLICIT") ? PADDING_EXPLICIT : PADDING_VALID;
    const AttrValue *list = node_attr_find(node, "explicit_paddings");
    if (s->padding != PADDING_EXPLICIT) {
        NEED(!list || list->n == 0, INVALID_ARGUMENT, "explicit_paddings must be empty where padding is %.*s",
             STR_ARGS(padding));
        return OK;
    }
    NEED(list && list->n == 8, INVALID_ARGUMENT, "explicit_paddings must have 8 values, got %d", list ? list->n : 0);
    for (int i = 0; i < 8; i++)
        NEED(list->is[i] >= 0 && list->is[i] <= INT32_MAX, INVALID_ARGUMENT,
             "explicit_paddings must be nonnegative and fit 31 bits, got %lld", (long long)list->is[i]);
    NEED(!list->is[2 * s->n] && !list->is[2 * s->n + 1] && !list->is[2 * s->c] && !list->is[2 * s->c + 1],
         INVALID_ARGUMENT, "explicit_paddings of batch and channels must be 0");
    for (int i = 0; i < 2; i++) {
        s->before[i] = list->is[2 * s->axis[i]];
        s->after[i] = list->is[2 * s->axis[i] + 1];
    }
    return OK;
}

Status *sliding_of_conv(const Node *node, Sliding *out) {
    Sliding s = {.depth_window = 1, .window = {1, 1}};
    int64_t n, c;
    TRY(read_format(node, &s));
    TRY(read_four(node, "strides", NULL, &s, s.stride, &n, &c));
    NEED(n == 1 && c == 1, INVALID_ARGUMENT, "strides of batch and channels must be 1");
    TRY(read_four(node, "dilations", NULL, &s, s.dilation, &n, &c));
    NEED(n == 1 && c == 1, INVALID_ARGUMENT, "dilations of batch and channels must be 1");
    TRY(read_padding(node, &s));
    *out = s;
    return OK;
}

Status *sliding_of_pool(const Node *node, const int64_t *ksize, const int64_t *strides, Sliding *out) {
    Sliding s = {.dilation = {1, 1}};
    int64_t window_n, stride_n, stride_c;
    TRY(read_format(node, &s));
    TRY(read_four(node, "ksize", ksize, &s, s.window, &window_n, &s.depth_window));
    TRY(read_four(node, "strides", strides, &s, s.stride, &stride_n, &stride_c));
    NEED(window_n == 1 && stride_n == 1, UNIMPLEMENTED, "Pooling is not yet supported on the batch dimension");
    NEED(stride_c == s.depth_window, INVALID_ARGUMENT, "ksize and strides of the channels must be equal");
    bool flat = s.window[0] == 1 && s.window[1] == 1 && s.stride[0] == 1 && s.stride[1] == 1;
    NEED(s.depth_window == 1 || flat, UNIMPLEMENTED,
         "Pooling is either along the channels or along height and width, not both");
    TRY(read_padding(node, &s));
    for (int i = 0; i < 2; i++)
        NEED(s.padding != PADDING_EXPLICIT || (s.before[i] < s.window[i] && s.after[i] < s.window[i]), INVALID_ARGUMENT,
             "explicit padding must be smaller than the window");
    *out = s;
    return OK;
}

// ---------------------------------------- extents

Status *sliding_extent(const Sliding *s, int axis, int64_t in, int64_t window, int64_t *out, int64_t *out_before) {
    *out = UNKNOWN_DIM;
    *out_before = s->before[axis];
    if (in < 0 || window < 0)
        return OK;
    int64_t stride = s->stride[axis], reach, sum;
    NEED(window > 0, INVALID_ARGUMENT, "a window has no extent");
    NEED(mul_i64(window - 1, s->dilation[axis], &reach) && add_i64(reach, 1, &reach), INVALID_ARGUMENT,
         "a window of %lld with dilation %lld is too large", (long long)window, (long long)s->dilation[axis]);
    if (s->padding == PADDING_SAME) {
        *out = div_up(in, stride);
        int64_t needed = (*out - 1) * stride - in;
        NEED(add_i64(needed, reach, &needed), INVALID_ARGUMENT, "a window of %lld is too large", (long long)window);
        *out_before = *out > 0 && needed > 0 ? needed / 2 : 0;
        return OK;
    }
    NEED(add_i64(in, s->before[axis] + s->after[axis] + stride, &sum) && reach <= sum, INVALID_ARGUMENT,
         "Computed output size would be negative: input %lld, window %lld", (long long)in, (long long)reach);
    *out = (sum - reach) / stride;
    return OK;
}

// ---------------------------------------- convolutions

// Channels that one output sees, groups, and output channels; what is unknown is -1.
static Status *conv_channels(int64_t in_c, const Shape *filter, bool depthwise, int64_t *out_c, int64_t *out_groups) {
    *out_c = *out_groups = UNKNOWN_DIM;
    if (filter->rank < 0)
        return OK;
    int64_t taken = filter->dims[2], made = filter->dims[3];
    NEED(taken != 0 && made != 0 && in_c != 0, INVALID_ARGUMENT,
         "filter and input must have channels, got filter %s and %lld input channels", shape_text(filter),
         (long long)in_c);
    if (depthwise) {
        NEED(taken < 0 || in_c < 0 || taken == in_c, INVALID_ARGUMENT,
             "input and filter must have the same depth: %lld vs. %lld", (long long)in_c, (long long)taken);
        int64_t groups = taken < 0 ? in_c : taken;
        *out_groups = groups;
        if (groups > 0 && made > 0)
            NEED(mul_i64(groups, made, out_c), INVALID_ARGUMENT, "too many output channels");
        return OK;
    }
    *out_c = made;
    if (taken < 0 || in_c < 0)
        return OK;
    NEED(in_c % taken == 0, INVALID_ARGUMENT,
         "input depth must be evenly divisible by filter depth: %lld vs %lld", (long long)in_c, (long long)taken);
    *out_groups = in_c / taken;
    NEED(made < 0 || made % *out_groups == 0, INVALID_ARGUMENT,
         "output depth must be evenly divisible by number of groups: %lld vs %lld", (long long)made,
         (long long)*out_groups);
    return OK;
}

Status *conv_shape(const Sliding *s, const Shape *x, const Shape *filter, bool depthwise, Shape *out) {
    NEED(x->rank < 0 || x->rank == 4, INVALID_ARGUMENT, "input must be 4-dimensional, got %s", shape_text(x));
    NEED(filter->rank < 0 || filter->rank == 4, INVALID_ARGUMENT, "filter must be 4-dimensional, got %s",
         shape_text(filter));
    Shape result = {.rank = 4, .dims = {UNKNOWN_DIM, UNKNOWN_DIM, UNKNOWN_DIM, UNKNOWN_DIM}};
    int64_t groups, before;
    if (x->rank == 4)
        result.dims[s->n] = x->dims[s->n];
    TRY(conv_channels(x->rank == 4 ? x->dims[s->c] : UNKNOWN_DIM, filter, depthwise, &result.dims[s->c], &groups));
    for (int i = 0; i < 2; i++) {
        int64_t in = x->rank == 4 ? x->dims[s->axis[i]] : UNKNOWN_DIM;
        int64_t window = filter->rank == 4 ? filter->dims[i] : UNKNOWN_DIM;
        TRY(sliding_extent(s, i, in, window, &result.dims[s->axis[i]], &before));
    }
    if (shape_is_known(&result))
        TRY(shape_check(&result));
    *out = result;
    return OK;
}

Status *conv_window(const Sliding *s, const Shape *x, const Shape *filter, bool depthwise, WindowShape *out) {
    Shape y;
    TRY(conv_shape(s, x, filter, depthwise, &y));
    NEED(shape_is_known(x) && shape_is_known(filter), INTERNAL, "the shapes of a convolution must be known");
    TRY(shape_check(&y));
    int64_t groups, out_c, extent;
    TRY(conv_channels(x->dims[s->c], filter, depthwise, &out_c, &groups));
    WindowShape w = {
        .batch = x->dims[s->n], .in_h = x->dims[s->axis[0]], .in_w = x->dims[s->axis[1]], .in_c = x->dims[s->c],
        .out_h = y.dims[s->axis[0]], .out_w = y.dims[s->axis[1]], .out_c = out_c, .filter_h = filter->dims[0],
        .filter_w = filter->dims[1], .stride_h = s->stride[0], .stride_w = s->stride[1], .dilation_h = s->dilation[0],
        .dilation_w = s->dilation[1], .groups = groups,
    };
    TRY(sliding_extent(s, 0, w.in_h, w.filter_h, &extent, &w.pad_top));
    TRY(sliding_extent(s, 1, w.in_w, w.filter_w, &extent, &w.pad_left));
    // What one image becomes as patches must be addressable.
    int64_t patches;
    NEED(mul_i64(w.filter_h * w.filter_w, w.in_c / groups, &patches) && mul_i64(patches, max_i64(1, w.out_h), &patches) &&
             mul_i64(patches, max_i64(1, w.out_w), &patches) && patches <= INT64_MAX / 16,
         INVALID_ARGUMENT, "a convolution of %s with %s is too large", shape_text(x), shape_text(filter));
    *out = w;
    return OK;
}

Status *conv_check_gradient(const Sliding *s, const Shape *x, const Shape *filter, bool depthwise, const Shape *dy) {
    Shape y;
    TRY(conv_shape(s, x, filter, depthwise, &y));
    NEED(shape_compatible(&y, dy), INVALID_ARGUMENT,
         "out_backprop has shape %s, but input %s and filter %s make %s", shape_text(dy), shape_text(x),
         shape_text(filter), shape_text(&y));
    return OK;
}

// ---------------------------------------- pools

Status *pool_shape(const Sliding *s, const Shape *x, Shape *out) {
    NEED(x->rank < 0 || x->rank == 4, INVALID_ARGUMENT, "input must be 4-dimensional, got %s", shape_text(x));
    Shape result = {.rank = 4, .dims = {UNKNOWN_DIM, UNKNOWN_DIM, UNKNOWN_DIM, UNKNOWN_DIM}};
    if (x->rank < 0) {
        *out = result;
        return OK;
    }
    result.dims[s->n] = x->dims[s->n];
    int64_t channels = x->dims[s->c], before;
    if (channels >= 0) {
        NEED(channels % s->depth_window == 0, UNIMPLEMENTED,
             "Depthwise pooling requires the depth window to evenly divide the input depth");
        result.dims[s->c] = channels / s->depth_window;
    }
    for (int i = 0; i < 2; i++) {
        int64_t in = x->dims[s->axis[i]], *extent = &result.dims[s->axis[i]];
        TRY(sliding_extent(s, i, in, s->window[i], extent, &before));
        NEED(s->padding == PADDING_SAME || in < 0 || *extent > 0, INVALID_ARGUMENT,
             "a window of %lld does not fit an input of %lld", (long long)s->window[i], (long long)in);
    }
    *out = result;
    return OK;
}

Status *pool_window(const Sliding *s, const Shape *x, WindowShape *out) {
    Shape y;
    TRY(pool_shape(s, x, &y));
    NEED(shape_is_known(x), INTERNAL, "the shape of a pool's input must be known");
    WindowShape w = {
        .batch = x->dims[s->n], .in_h = x->dims[s->axis[0]], .in_w = x->dims[s->axis[1]], .in_c = x->dims[s->c],
        .out_h = y.dims[s->axis[0]], .out_w = y.dims[s->axis[1]], .out_c = x->dims[s->c], .filter_h = s->window[0],
        .filter_w = s->window[1], .stride_h = s->stride[0], .stride_w = s->stride[1], .dilation_h = 1, .dilation_w = 1,
        .groups = 1,
    };
    int64_t extent;
    TRY(sliding_extent(s, 0, w.in_h, w.filter_h, &extent, &w.pad_top));
    TRY(sliding_extent(s, 1, w.in_w, w.filter_w, &extent, &w.pad_left));
    *out = w;
    return OK;
}
