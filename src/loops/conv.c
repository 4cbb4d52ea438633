// Convolutions — patches of the input laid out as rows (im2col), then matrix products. See window.h.
//
// A block of output pixels at a time, so that its patches stay in the second cache; a whole im2col matrix would be the
// input nine times over for 3x3. The gradient of the input is the same walked back: products, then rows of patches
// added to where they came from (col2im). The filter's gradient is a product of the patches, transposed, with dy. What
// takes over from here where it is faster is oneDNN (onednn.c) or Winograd (winograd.c).
#include <string.h>

#include "base/checked.h"
#include "loops/level/table.h"
#include "loops/tuning.h"
#include "loops/window.h"

// A convolution by 1x1 in steps of 1: pixels are the rows already.
static bool is_plain(const WindowShape *s) {
    return s->filter_d == 1 && s->filter_h == 1 && s->filter_w == 1 && s->stride_d == 1 && s->stride_h == 1 &&
           s->stride_w == 1 && s->pad_front == 0 && s->pad_top == 0 && s->pad_left == 0 && s->out_d == s->in_d &&
           s->out_h == s->in_h && s->out_w == s->in_w;
}

// To a few channels a product has too few columns to fill a vector: there the loop goes along the window instead.
bool conv_is_narrow(const WindowShape *shape) {
    enum { SHORT = 16 };
    WindowShape s = window_in_depth(shape);
    return s.groups == 1 && s.out_c <= NARROW && s.dilation_w == 1 && s.filter_d * s.filter_h <= NARROW_RUNS &&
           s.filter_w > 1 && s.filter_w * s.in_c >= SHORT;
}

static void plan_narrow(ConvPlan *plan, int64_t size) {
    const WindowShape *s = &plan->shape;
    plan->narrow = true;
    plan->units = s->batch * s->out_d * s->out_h;
    plan->scratch = round_up((size_t)(plan->positions * s->in_c * s->out_c * size), 64);
}

bool conv_prepare(ConvPass pass, DType dtype, const WindowShape *shape, ConvPlan *plan) {
    if (dtype != DT_float && dtype != DT_double)
        return false;
    ConvPlan p = {.pass = pass, .shape = window_in_depth(shape), .dtype = dtype};
    shape = &p.shape;
    int64_t size = dtype == DT_double ? 8 : 4, channels = shape->in_c / max_i64(1, shape->groups);
    int64_t positions = shape->filter_d * shape->filter_h * shape->filter_w;
    int64_t image = shape->out_d * shape->out_h * shape->out_w, depth = positions * channels;
    p.pixels_each = image, p.positions = positions;
    // Positions of the filter in groups of at least 48 rows: fewer would leave the product's tiles half empty.
    if (pass == CONV_FILTER) {
        p.group_positions = min_i64(max_i64(1, positions), max_i64(1, div_up(48, max_i64(1, channels))));
        depth = p.group_positions * channels;
    }
    p.pixels = max_i64(TUNED_PATCH_LEAST, min_i64(TUNED_PATCH_MOST, TUNED_PATCH_BYTES / max_i64(1, depth * size)));
    p.pixels = max_i64(1, min_i64(p.pixels, image));
    p.blocks = image ? div_up(image, p.pixels) : 0;
    p.pixels = p.blocks ? div_up(image, p.blocks) : 1;
    p.cuts = 1;
    int64_t group_out = shape->out_c / max_i64(1, shape->groups);
    p.cut = group_out;
    if (pass == CONV_FORWARD)
        p.units = shape->batch * p.blocks;
    // By images: windows overlap, so two units of one image would add to the same pixels.
    else if (pass == CONV_INPUT)
        p.units = shape->batch;
    else {
        int64_t parts = div_up(positions, p.group_positions);
        if (parts < 8 && group_out >= 128) {
            p.cuts = min_i64(8, group_out / 64);
            p.cut = (int64_t)round_up((size_t)div_up(group_out, p.cuts), 32);
            p.cuts = div_up(group_out, p.cut);
        }
        p.units = parts * p.cuts * shape->groups;
    }
    p.scratch = gemm_most_scratch() + round_up((size_t)(p.pixels * depth * size), 64);
    if (pass == CONV_FORWARD && conv_is_narrow(shape))
        plan_narrow(&p, size);
    *plan = p;
    return true;
}

// Where the window of an output pixel begins, in the input.
typedef struct {
    int64_t front, top, left;
} Corner;
// Where the window of an output pixel begins in the input, padding included: it may lie outside.
static Corner corner_of(const WindowShape *s, int64_t pixel) {
    int64_t row = pixel / s->out_w, layer = row / s->out_h;
    return (Corner){layer * s->stride_d - s->pad_front, row % s->out_h * s->stride_h - s->pad_top,
                    pixel % s->out_w * s->stride_w - s->pad_left};
}

// The input's row that row `row` of the window (its layers' rows one after the other) lies on, or -1 outside.
static int64_t input_row(const WindowShape *s, const Corner *corner, int64_t row) {
    int64_t z = corner->front + row / s->filter_h * s->dilation_d, y = corner->top + row % s->filter_h * s->dilation_h;
    return z >= 0 && z < s->in_d && y >= 0 && y < s->in_h ? z * s->in_h + y : -1;
}

// Rows of patches of output pixels [from, to) of one image: positions [first, last) of the window, `channels` from c0.
// Neighbours in a row of the window are neighbours in memory: inside of the image they are one copy.
static void patches(const ConvPlan *plan, const char *image, int64_t c0, int64_t channels, int64_t from, int64_t to,
                    int64_t first, int64_t last, char *out) {
    const WindowShape *s = &plan->shape;
    int64_t size = plan->dtype == DT_double ? 8 : 4, bytes = channels * size, in_row = s->in_w * s->in_c;
    for (int64_t pixel = from; pixel < to; pixel++) {
        Corner corner = corner_of(s, pixel);
        int64_t row = first / s->filter_w, kx = first % s->filter_w;
        for (int64_t q = first; q < last;) {
            int64_t y = input_row(s, &corner, row), x = corner.left + kx * s->dilation_w;
            int64_t run = min_i64(last - q, s->filter_w - kx);
            bool inside = y >= 0 && x >= 0 && x + (run - 1) * s->dilation_w < s->in_w;
            if (inside && s->dilation_w == 1 && channels == s->in_c) {
                memcpy(out, image + (y * in_row + x * s->in_c) * size, (size_t)(run * bytes));
                out += run * bytes;
            } else {
                for (int64_t i = 0; i < run; i++, x += s->dilation_w, out += bytes)
                    if (y >= 0 && x >= 0 && x < s->in_w)
                        memcpy(out, image + (y * in_row + x * s->in_c + c0) * size, (size_t)bytes);
                    else
                        memset(out, 0, (size_t)bytes);
            }
            q += run;
            kx = 0, row++;
        }
    }
}

// ---- to few channels ----

enum { MOST_LANES = 16 };

// The filter with its output channels first, as the loop along the window reads it.
static void turn_filter(const ConvPlan *plan, const void *filter, void *out) {
    int64_t depth = plan->positions * plan->shape.in_c, outs = plan->shape.out_c;
    for (int64_t o = 0; o < outs; o++)
        for (int64_t i = 0; i < depth; i++)
            if (plan->dtype == DT_double)
                ((double *)out)[o * depth + i] = ((const double *)filter)[i * outs + o];
            else
                ((float *)out)[o * depth + i] = ((const float *)filter)[i * outs + o];
}

// The rows of a window that lie in the image, without what is left and right of it.
static void narrow_runs(const WindowShape *s, const Corner *corner, NarrowRuns *runs) {
    int64_t from = max_i64(0, -corner->left), to = min_i64(s->filter_w, s->in_w - corner->left);
    runs->n = 0;
    for (int64_t row = 0; row < s->filter_d * s->filter_h && from < to; row++) {
        int64_t y = input_row(s, corner, row);
        if (y < 0)
            continue;
        runs->at[runs->n] = (y * s->in_w + corner->left + from) * s->in_c;
        runs->filter_at[runs->n] = (row * s->filter_w + from) * s->in_c;
        runs->length[runs->n++] = (to - from) * s->in_c;
    }
}

// Neighbours whose windows lie wholly between left and right have the same runs, a step apart.
static int64_t neighbours(const WindowShape *s, int64_t x, int64_t left) {
    int64_t room = s->in_w - s->filter_w - left;
    return left < 0 || room < 0 ? 1 : min_i64(s->out_w - x, room / s->stride_w + 1);
}

static void conv_narrow(const ConvPlan *plan, const char *x, const void *filter, const void *bias, bool relu, char *y,
                        void *scratch, int64_t first, int64_t last) {
    const WindowShape *s = &plan->shape;
    bool wide = plan->dtype == DT_double;
    int64_t size = wide ? 8 : 4, rows = s->out_d * s->out_h, image = s->in_d * s->in_h * s->in_w * s->in_c;
    NarrowRuns runs = {.pixel = s->stride_w * s->in_c, .filter = plan->positions * s->in_c,
                       .rest = s->in_c % MOST_LANES != 0};
    turn_filter(plan, filter, scratch);
    for (int64_t unit = first; unit < last; unit++)
        for (int64_t at = 0, many; at < s->out_w; at += many) {
            Corner corner = corner_of(s, unit % rows * s->out_w + at);
            many = neighbours(s, at, corner.left);
            narrow_runs(s, &corner, &runs);
            loops_table()->window->narrow[wide](x + unit / rows * image * size, &runs, scratch, bias, relu,
                                                y + (unit * s->out_w + at) * s->out_c * size, many, s->out_c);
        }
}

void conv_forward(const ConvPlan *plan, const void *x, const void *filter, const void *bias, bool relu, void *y,
                  void *scratch, int64_t first, int64_t last) {
    const WindowShape *s = &plan->shape;
    int64_t size = plan->dtype == DT_double ? 8 : 4, in_c = s->in_c / s->groups, out_c = s->out_c / s->groups;
    int64_t positions = plan->positions, depth = positions * in_c, image = plan->pixels_each;
    if (plan->narrow) {
        conv_narrow(plan, x, filter, bias, relu, y, scratch, first, last);
        return;
    }
    char *rows = (char *)scratch + gemm_most_scratch();
    for (int64_t unit = first; unit < last; unit++) {
        int64_t n = unit / plan->blocks, from = unit % plan->blocks * plan->pixels;
        int64_t to = min_i64(image, from + plan->pixels);
        const char *in = (const char *)x + n * s->in_d * s->in_h * s->in_w * s->in_c * size;
        for (int64_t g = 0; g < s->groups && from < to; g++) {
            GemmShape product = {.m = to - from, .n = out_c, .k = depth, .lda = depth, .ldb = s->out_c, .ldc = s->out_c,
                                 .relu = relu, .bias = bias ? (const char *)bias + g * out_c * size : NULL};
            const char *a = rows;
            if (is_plain(s))
                a = in + (from * s->in_c + g * in_c) * size, product.lda = s->in_c;
            else
                patches(plan, in, g * in_c, in_c, from, to, 0, positions, rows);
            gemm_at_once(plan->dtype, &product, a, (const char *)filter + g * out_c * size,
                 (char *)y + ((n * image + from) * s->out_c + g * out_c) * size, scratch);
        }
    }
}

// Adds rows of patches back to where they came from (col2im).
static void scatter(const ConvPlan *plan, const char *rows, int64_t c0, int64_t channels, int64_t from, int64_t to,
                    char *image) {
    const WindowShape *s = &plan->shape;
    int64_t size = plan->dtype == DT_double ? 8 : 4, bytes = channels * size;
    void (*add)(const void *, void *, int64_t, double) = loops_table()->window->add_channels[plan->dtype == DT_double];
    for (int64_t pixel = from; pixel < to; pixel++) {
        Corner corner = corner_of(s, pixel);
        int64_t left = corner.left;
        for (int64_t row = 0; row < s->filter_d * s->filter_h; row++) {
            int64_t y = input_row(s, &corner, row);
            bool in_rows = y >= 0;
            if (in_rows && s->dilation_w == 1 && channels == s->in_c && left >= 0 && left + s->filter_w <= s->in_w) {
                add(rows, image + (y * s->in_w + left) * s->in_c * size, s->filter_w * channels, 1);
                rows += s->filter_w * bytes;
                continue;
            }
            for (int64_t kx = 0; kx < s->filter_w; kx++, rows += bytes) {
                int64_t x = left + kx * s->dilation_w;
                if (in_rows && x >= 0 && x < s->in_w)
                    add(rows, image + ((y * s->in_w + x) * s->in_c + c0) * size, channels, 1);
            }
        }
    }
}

void conv_input(const ConvPlan *plan, const void *dy, const void *filter, void *dx, void *scratch, int64_t first,
                int64_t last) {
    const WindowShape *s = &plan->shape;
    int64_t size = plan->dtype == DT_double ? 8 : 4, in_c = s->in_c / s->groups, out_c = s->out_c / s->groups;
    int64_t depth = plan->positions * in_c, image = plan->pixels_each;
    int64_t extent = s->in_d * s->in_h * s->in_w * s->in_c;
    char *rows = (char *)scratch + gemm_most_scratch();
    for (int64_t n = first; n < last; n++) {
        char *out = (char *)dx + n * extent * size;
        memset(out, 0, (size_t)(extent * size));
        for (int64_t g = 0; g < s->groups; g++)
            for (int64_t from = 0; from < image; from += plan->pixels) {
                int64_t to = min_i64(image, from + plan->pixels);
                GemmShape product = {.m = to - from, .n = depth, .k = out_c, .lda = s->out_c, .ldb = s->out_c,
                                     .ldc = depth, .tb = true};
                char *c = rows;
                if (is_plain(s))
                    c = out + (from * s->in_c + g * in_c) * size, product.ldc = s->in_c;
                gemm_at_once(plan->dtype, &product, (const char *)dy + ((n * image + from) * s->out_c + g * out_c) *
                             size,
                     (const char *)filter + g * out_c * size, c, scratch);
                if (!is_plain(s))
                    scatter(plan, rows, g * in_c, in_c, from, to, out);
            }
    }
}

void conv_filter(const ConvPlan *plan, const void *x, const void *dy, void *d_filter, void *scratch, int64_t first,
                 int64_t last) {
    const WindowShape *s = &plan->shape;
    int64_t size = plan->dtype == DT_double ? 8 : 4, in_c = s->in_c / s->groups, out_c = s->out_c / s->groups;
    int64_t positions = plan->positions, image = plan->pixels_each;
    char *rows = (char *)scratch + gemm_most_scratch();
    for (int64_t unit = first; unit < last; unit++) {
        int64_t cut = unit % plan->cuts, rest = unit / plan->cuts, g = rest % s->groups, part = rest / s->groups;
        int64_t begin = part * plan->group_positions, end = min_i64(positions, begin + plan->group_positions);
        int64_t column = cut * plan->cut, columns = min_i64(plan->cut, out_c - column), depth = (end - begin) * in_c;
        char *to = (char *)d_filter + (begin * in_c * s->out_c + g * out_c + column) * size;
        GemmShape product = {.m = depth, .n = columns, .k = 0, .ta = true, .lda = depth, .ldb = s->out_c,
                             .ldc = s->out_c};
        // Nothing to sum: the product of depth 0 writes the zeros.
        if (s->batch * image == 0)
            gemm_at_once(plan->dtype, &product, rows, dy, to, scratch);
        for (int64_t n = 0; n < s->batch; n++)
            for (int64_t from = 0; from < image; from += plan->pixels) {
                product.k = min_i64(image, from + plan->pixels) - from;
                const char *in = (const char *)x + n * s->in_d * s->in_h * s->in_w * s->in_c * size, *a = rows;
                if (is_plain(s))
                    a = in + (from * s->in_c + g * in_c) * size, product.lda = s->in_c;
                else
                    patches(plan, in, g * in_c, in_c, from, from + product.k, begin, end, rows);
                gemm_at_once(plan->dtype, &product, a,
                     (const char *)dy + ((n * image + from) * s->out_c + g * out_c + column) * size, to, scratch);
                product.accumulate = true;
            }
    }
}
