// Geometry — see geometry.h.
#include "ops/nn/geometry.h"

// ---------------------------------------- attributes

static Status *read_format(const Node *node, int axes, Sliding *s) {
    const AttrValue *format = node_attr_find(node, "data_format");
    const char *pixels = axes == 3 ? "NDHWC" : "NHWC", *planes = axes == 3 ? "NCDHW" : "NCHW";
    Str name = format ? format->s : str_of(pixels);
    NEED(str_is(name, pixels) || str_is(name, planes), UNIMPLEMENTED, "no kernel for data_format %.*s", STR_ARGS(name));
    s->planes = str_is(name, planes);
    s->axes = axes;
    s->n = 0;
    s->c = s->planes ? 1 : axes + 1;
    for (int i = 0; i < axes; i++)
        s->axis[i] = i + (s->planes ? 2 : 1);
    return OK;
}

// The numbers of a list attribute: those of the axes, and of the batch and the channels.
static Status *read_list(const Node *node, const char *name, const int64_t *given, const Sliding *s, int64_t axes[3],
                         int64_t *out_n, int64_t *out_c) {
    const AttrValue *list = given ? NULL : node_list(node, name);
    int rank = s->axes + 2;
    NEED(given || list->n == rank, INVALID_ARGUMENT, "%s must specify %d dimensions, got %d", name, rank, list->n);
    const int64_t *values = given ? given : list->is;
    for (int i = 0; i < rank; i++)
        NEED(values[i] > 0 && values[i] <= INT32_MAX, INVALID_ARGUMENT, "%s must be positive and fit 31 bits, got %lld",
             name, (long long)values[i]);
    for (int i = 0; i < s->axes; i++)
        axes[i] = values[s->axis[i]];
    *out_n = values[s->n];
    *out_c = values[s->c];
    return OK;
}

static Status *read_padding(const Node *node, Sliding *s) {
    Str padding = node_str(node, "padding");
    s->padding = str_is(padding, "SAME") ? PADDING_SAME : str_is(padding, "EXPLICIT") ? PADDING_EXPLICIT
        : PADDING_VALID;
    const AttrValue *list = node_attr_find(node, "explicit_paddings");
    if (s->padding != PADDING_EXPLICIT) {
        NEED(!list || list->n == 0, INVALID_ARGUMENT, "explicit_paddings must be empty where padding is %.*s",
             STR_ARGS(padding));
        return OK;
    }
    int values = 2 * (s->axes + 2);
    NEED(list && list->n == values, INVALID_ARGUMENT, "explicit_paddings must have %d values, got %d", values,
         list ? list->n : 0);
    for (int i = 0; i < values; i++)
        NEED(list->is[i] >= 0 && list->is[i] <= INT32_MAX, INVALID_ARGUMENT,
             "explicit_paddings must be nonnegative and fit 31 bits, got %lld", (long long)list->is[i]);
    NEED(!list->is[2 * s->n] && !list->is[2 * s->n + 1] && !list->is[2 * s->c] && !list->is[2 * s->c + 1],
         INVALID_ARGUMENT, "explicit_paddings of batch and channels must be 0");
    for (int i = 0; i < s->axes; i++) {
        s->before[i] = list->is[2 * s->axis[i]];
        s->after[i] = list->is[2 * s->axis[i] + 1];
    }
    return OK;
}

Status *sliding_of_conv(const Node *node, int axes, Sliding *out) {
    Sliding s = {.depth_window = 1, .window = {1, 1, 1}};
    int64_t n, c;
    TRY(read_format(node, axes, &s));
    TRY(read_list(node, "strides", NULL, &s, s.stride, &n, &c));
    NEED(n == 1 && c == 1, INVALID_ARGUMENT, "strides of batch and channels must be 1");
    TRY(read_list(node, "dilations", NULL, &s, s.dilation, &n, &c));
    NEED(n == 1 && c == 1, INVALID_ARGUMENT, "dilations of batch and channels must be 1");
    TRY(read_padding(node, &s));
    *out = s;
    return OK;
}

Status *sliding_of_pool(const Node *node, int axes, const int64_t *ksize, const int64_t *strides, Sliding *out) {
    Sliding s = {.dilation = {1, 1, 1}};
    int64_t window_n, stride_n;
    TRY(read_format(node, axes, &s));
    TRY(read_list(node, "ksize", ksize, &s, s.window, &window_n, &s.depth_window));
    TRY(read_list(node, "strides", strides, &s, s.stride, &stride_n, &s.depth_stride));
    NEED(window_n == 1 && stride_n == 1, UNIMPLEMENTED, "Pooling is not yet supported on the batch dimension");
    TRY(read_padding(node, &s));
    for (int i = 0; i < axes; i++)
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
static Status *conv_channels(int axes, int64_t in_c, const Shape *filter, bool depthwise, int64_t *out_c,
                             int64_t *out_groups) {
    *out_c = *out_groups = UNKNOWN_DIM;
    if (filter->rank < 0)
        return OK;
    int64_t taken = filter->dims[axes], made = filter->dims[axes + 1];
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
    NEED(axes == 2 || in_c == taken, INVALID_ARGUMENT, "input depth must be equal to filter depth: %lld vs. %lld",
         (long long)in_c, (long long)taken);
    NEED(in_c % taken == 0, INVALID_ARGUMENT,
         "input depth must be evenly divisible by filter depth: %lld vs %lld", (long long)in_c, (long long)taken);
    *out_groups = in_c / taken;
    NEED(made < 0 || made % *out_groups == 0, INVALID_ARGUMENT,
         "output depth must be evenly divisible by number of groups: %lld vs %lld", (long long)made,
         (long long)*out_groups);
    return OK;
}

// A shape of which only the rank is known.
static Shape unknown_of(const Sliding *s) {
    return (Shape){.rank = s->axes + 2, .dims = {UNKNOWN_DIM, UNKNOWN_DIM, UNKNOWN_DIM, UNKNOWN_DIM, UNKNOWN_DIM}};
}

static Status *check_rank(const Sliding *s, const char *name, const Shape *shape) {
    NEED(shape->rank < 0 || shape->rank == s->axes + 2, INVALID_ARGUMENT, "%s must be %d-dimensional, got %s", name,
         s->axes + 2, shape_text(shape));
    return OK;
}

Status *conv_shape(const Sliding *s, const Shape *x, const Shape *filter, bool depthwise, Shape *out) {
    TRY(check_rank(s, "input", x));
    TRY(check_rank(s, "filter", filter));
    Shape result = unknown_of(s);
    int64_t groups, before;
    if (x->rank >= 0)
        result.dims[s->n] = x->dims[s->n];
    TRY(conv_channels(s->axes, x->rank >= 0 ? x->dims[s->c] : UNKNOWN_DIM, filter, depthwise, &result.dims[s->c],
                      &groups));
    for (int i = 0; i < s->axes; i++) {
        int64_t in = x->rank >= 0 ? x->dims[s->axis[i]] : UNKNOWN_DIM;
        int64_t window = filter->rank >= 0 ? filter->dims[i] : UNKNOWN_DIM;
        TRY(sliding_extent(s, i, in, window, &result.dims[s->axis[i]], &before));
    }
    if (shape_is_known(&result))
        TRY(shape_check(&result));
    *out = result;
    return OK;
}

// What a window of these extents does from x to y; the channels are the caller's.
static Status *place_window(const Sliding *s, const Shape *x, const Shape *y, const int64_t *window, WindowShape *w) {
    int64_t extent;
    int h = s->axes - 2;
    w->batch = x->dims[s->n];
    w->in_c = x->dims[s->c];
    w->in_h = x->dims[s->axis[h]], w->in_w = x->dims[s->axis[h + 1]];
    w->out_h = y->dims[s->axis[h]], w->out_w = y->dims[s->axis[h + 1]];
    w->filter_h = window[h], w->filter_w = window[h + 1];
    w->stride_h = s->stride[h], w->stride_w = s->stride[h + 1];
    w->dilation_h = s->dilation[h], w->dilation_w = s->dilation[h + 1];
    TRY(sliding_extent(s, h, w->in_h, w->filter_h, &extent, &w->pad_top));
    TRY(sliding_extent(s, h + 1, w->in_w, w->filter_w, &extent, &w->pad_left));
    if (h == 0)
        return OK;
    w->in_d = x->dims[s->axis[0]], w->out_d = y->dims[s->axis[0]];
    w->filter_d = window[0], w->stride_d = s->stride[0], w->dilation_d = s->dilation[0];
    TRY(sliding_extent(s, 0, w->in_d, w->filter_d, &extent, &w->pad_front));
    // One layer deep: each layer of the volumes is an image of its own.
    int64_t layers;
    if (w->filter_d == 1 && w->stride_d == 1 && w->in_d == w->out_d && !w->pad_front &&
        mul_i64(w->batch, w->in_d, &layers)) {
        w->batch = layers;
        w->in_d = w->out_d = w->filter_d = w->stride_d = w->dilation_d = 0;
    }
    return OK;
}

Status *conv_window(const Sliding *s, const Shape *x, const Shape *filter, bool depthwise, WindowShape *out) {
    Shape y;
    TRY(conv_shape(s, x, filter, depthwise, &y));
    NEED(shape_is_known(x) && shape_is_known(filter), INTERNAL, "the shapes of a convolution must be known");
    TRY(shape_check(&y));
    WindowShape w = {0};
    TRY(place_window(s, x, &y, filter->dims, &w));
    TRY(conv_channels(s->axes, w.in_c, filter, depthwise, &w.out_c, &w.groups));
    // What one image becomes as patches must be addressable.
    int64_t patches = w.in_c / w.groups;
    const int64_t factors[] = {w.filter_h, w.filter_w, w.filter_d, w.out_h, w.out_w, w.out_d};
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        NEED(mul_i64(patches, max_i64(1, factors[i]), &patches) && patches <= INT64_MAX / 16, INVALID_ARGUMENT,
             "a convolution of %s with %s is too large", shape_text(x), shape_text(filter));
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

Status *pool_check_kernel(const Sliding *s, const Shape *x) {
    NEED(s->depth_stride == s->depth_window, INVALID_ARGUMENT, "ksize and strides of the channels must be equal");
    bool flat = s->axes == 2 && s->window[0] == 1 && s->window[1] == 1 && s->stride[0] == 1 && s->stride[1] == 1;
    NEED(s->depth_window == 1 || flat, UNIMPLEMENTED,
         "Pooling is either along the channels or along height and width, not both");
    NEED(x->rank < 0 || x->dims[s->c] % s->depth_window == 0, UNIMPLEMENTED,
         "Depthwise pooling requires the depth window to evenly divide the input depth");
    return OK;
}

Status *pool_shape(const Sliding *s, const Shape *x, Shape *out) {
    TRY(check_rank(s, "input", x));
    Shape result = unknown_of(s);
    if (x->rank < 0) {
        *out = result;
        return OK;
    }
    result.dims[s->n] = x->dims[s->n];
    int64_t channels = x->dims[s->c], before;
    if (channels >= 0) {
        int64_t rest = s->padding == PADDING_SAME ? channels - 1 : channels - s->depth_window;
        NEED(s->depth_stride > 0 && (rest >= 0 || channels == 0), INVALID_ARGUMENT,
             "a window of %lld does not fit %lld channels", (long long)s->depth_window, (long long)channels);
        result.dims[s->c] = channels ? rest / s->depth_stride + 1 : 0;
    }
    for (int i = 0; i < s->axes; i++) {
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
    WindowShape w = {.groups = 1};
    TRY(place_window(s, x, &y, s->window, &w));
    w.out_c = w.in_c;
    *out = w;
    return OK;
}
