// Pooling — windows reduced to their greatest or mean element. See window.h.
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "loops/level/table.h"
#include "loops/window.h"

static int slot_of(DType dtype) {
    return dtype == DT_float ? 0 : dtype == DT_double ? 1 : dtype == DT_int32 ? 2 : dtype == DT_int64 ? 3 : -1;
}

bool max_pool_takes(DType dtype) {
    return slot_of(dtype) >= 0;
}

size_t max_pool_work(DType dtype, const WindowShape *s) {
    size_t row = (size_t)max_i64(s->in_c, s->in_w) + 1;
    return row * dtype_size(dtype) + row * sizeof(int32_t);
}

static void lowest(DType dtype, void *out) {
    switch (dtype) {
    case DT_float: *(float *)out = -INFINITY; break;
    case DT_double: *(double *)out = -(double)INFINITY; break;
    case DT_int32: *(int32_t *)out = INT32_MIN; break;
    default: *(int64_t *)out = INT64_MIN; break;
    }
}

// The part of one window along one axis that lies inside the image.
typedef struct {
    int64_t from, to;
} Part;
static Part inside(int64_t at, int64_t stride, int64_t pad, int64_t window, int64_t extent) {
    int64_t begin = at * stride - pad;
    return (Part){max_i64(0, begin), min_i64(extent, begin + window)};
}

static void fill_lowest(DType dtype, void *out, int64_t n) {
    char value[8];
    size_t size = dtype_size(dtype);
    lowest(dtype, value);
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)out + (size_t)i * size, value, size);
}

// Windows of 2x2 side by side, the commonest pools: those wholly inside are done four pixels at once.
static bool is_2x2(const WindowShape *s) {
    return s->filter_h == 2 && s->filter_w == 2 && s->stride_h == 2 && s->stride_w == 2;
}
// Every pixel is in one window.
static bool covers_2x2(const WindowShape *s) {
    return is_2x2(s) && !s->pad_top && !s->pad_left && s->in_h == 2 * s->out_h && s->in_w == 2 * s->out_w;
}
static bool whole_2x2(Part rows, Part columns) {
    return rows.to - rows.from == 2 && columns.to - columns.from == 2;
}

int64_t pool_units(const WindowShape *s, bool nchw) {
    return s->batch * (nchw ? s->in_c : s->out_h);
}

// Row y of the result.
static void max_row(DType dtype, const WindowShape *s, const char *in, int64_t y, char *out) {
    void (*max)(const void *, void *, int64_t) = loops_table()->window->max[slot_of(dtype)];
    bool pairs = is_2x2(s);
    int64_t pixel = s->in_c * (int64_t)dtype_size(dtype);
    Part rows = inside(y, s->stride_h, s->pad_top, s->filter_h, s->in_h);
    for (int64_t x = 0; x < s->out_w; x++, out += pixel) {
        Part columns = inside(x, s->stride_w, s->pad_left, s->filter_w, s->in_w);
        bool begun = false;
        if (pairs && whole_2x2(rows, columns)) {
            const char *p = in + (rows.from * s->in_w + columns.from) * pixel, *q = p + s->in_w * pixel;
            loops_table()->window->max_2x2[slot_of(dtype)]((const void *[]){p, p + pixel, q, q + pixel}, out, s->in_c);
            continue;
        }
        for (int64_t i = rows.from; i < rows.to; i++)
            for (int64_t j = columns.from; j < columns.to; j++) {
                const char *p = in + (i * s->in_w + j) * pixel;
                if (begun)
                    max(p, out, s->in_c);
                else
                    memcpy(out, p, (size_t)pixel), begun = true;
            }
        if (!begun)
            fill_lowest(dtype, out, s->in_c);
    }
}

// A plane: rows of the window are folded whole, then the columns of the result.
static void max_plane(DType dtype, const WindowShape *s, const char *in, char *out, char *work) {
    void (*max)(const void *, void *, int64_t) = loops_table()->window->max[slot_of(dtype)];
    int64_t size = (int64_t)dtype_size(dtype);
    for (int64_t y = 0; y < s->out_h; y++) {
        Part rows = inside(y, s->stride_h, s->pad_top, s->filter_h, s->in_h);
        fill_lowest(dtype, work, s->in_w);
        for (int64_t i = rows.from; i < rows.to; i++)
            max(in + i * s->in_w * size, work, s->in_w);
        fill_lowest(dtype, out, s->out_w);
        loops_table()->window->max_along[slot_of(dtype)](work, s->in_w, out, s->out_w, s->stride_w, s->pad_left,
                                                         s->filter_w);
        out += s->out_w * size;
    }
}

void max_pool(DType dtype, const WindowShape *s, bool nchw, const void *x, void *y, void *work, int64_t first,
              int64_t last) {
    int64_t size = (int64_t)dtype_size(dtype), in_plane = s->in_h * s->in_w, out_plane = s->out_h * s->out_w;
    for (int64_t unit = first; unit < last; unit++) {
        if (nchw)
            max_plane(dtype, s, (const char *)x + unit * in_plane * size, (char *)y + unit * out_plane * size, work);
        else
            max_row(dtype, s, (const char *)x + unit / s->out_h * in_plane * s->in_c * size, unit % s->out_h,
                    (char *)y + unit * s->out_w * s->in_c * size);
    }
}

// The greatest of each channel's window and its place in it, for one output pixel.
static void find_pixel(DType dtype, const WindowShape *s, const char *in, int64_t y, int64_t x, char *greatest,
                       int32_t *place) {
    const WindowTable *table = loops_table()->window;
    int64_t pixel = s->in_c * (int64_t)dtype_size(dtype);
    Part rows = inside(y, s->stride_h, s->pad_top, s->filter_h, s->in_h);
    Part columns = inside(x, s->stride_w, s->pad_left, s->filter_w, s->in_w);
    bool begun = false;
    for (int64_t i = rows.from; i < rows.to; i++)
        for (int64_t j = columns.from; j < columns.to; j++) {
            const char *p = in + (i * s->in_w + j) * pixel;
            int32_t at = (int32_t)((i - rows.from) * (columns.to - columns.from) + (j - columns.from));
            if (begun) {
                table->max_at[slot_of(dtype)](p, greatest, place, at, s->in_c);
                continue;
            }
            memcpy(greatest, p, (size_t)pixel);
            memset(place, 0, (size_t)s->in_c * sizeof *place);
            begun = true;
        }
    if (!begun) {
        fill_lowest(dtype, greatest, s->in_c);
        memset(place, 0, (size_t)s->in_c * sizeof *place);
    }
}

void max_pool_argmax(DType dtype, const WindowShape *s, bool include_batch, const void *x, void *y, int64_t *argmax,
                     void *work, int64_t first, int64_t last) {
    int64_t size = (int64_t)dtype_size(dtype), image = s->in_h * s->in_w * s->in_c;
    int32_t *place = work;
    for (int64_t n = first; n < last; n++)
        for (int64_t i = 0; i < s->out_h; i++)
            for (int64_t j = 0; j < s->out_w; j++) {
                int64_t to = ((n * s->out_h + i) * s->out_w + j) * s->in_c;
                find_pixel(dtype, s, (const char *)x + n * image * size, i, j, (char *)y + to * size, place);
                Part rows = inside(i, s->stride_h, s->pad_top, s->filter_h, s->in_h);
                Part columns = inside(j, s->stride_w, s->pad_left, s->filter_w, s->in_w);
                int64_t width = max_i64(1, columns.to - columns.from);
                for (int64_t c = 0; c < s->in_c; c++) {
                    int64_t row = rows.from + place[c] / width, column = columns.from + place[c] % width;
                    argmax[to + c] = (include_batch ? n * image : 0) + (row * s->in_w + column) * s->in_c + c;
                }
            }
}

static void max_grad_pixels(DType dtype, const WindowShape *s, const char *in, const char *dy, char *dx, char *work) {
    const WindowTable *table = loops_table()->window;
    bool pairs = is_2x2(s);
    int64_t pixel = s->in_c * (int64_t)dtype_size(dtype);
    char *greatest = work;
    int32_t *place = (int32_t *)(work + round_up((size_t)pixel, 4));
    for (int64_t y = 0; y < s->out_h; y++)
        for (int64_t x = 0; x < s->out_w; x++, dy += pixel) {
            Part rows = inside(y, s->stride_h, s->pad_top, s->filter_h, s->in_h);
            Part columns = inside(x, s->stride_w, s->pad_left, s->filter_w, s->in_w);
            if (pairs && whole_2x2(rows, columns)) {
                int64_t upper = (rows.from * s->in_w + columns.from) * pixel, lower = upper + s->in_w * pixel;
                table->max_grad_2x2[slot_of(dtype)](
                    (const void *[]){in + upper, in + upper + pixel, in + lower, in + lower + pixel}, dy,
                    (void *[]){dx + upper, dx + upper + pixel, dx + lower, dx + lower + pixel}, s->in_c);
                continue;
            }
            find_pixel(dtype, s, in, y, x, greatest, place);
            int32_t at = 0;
            for (int64_t i = rows.from; i < rows.to; i++)
                for (int64_t j = columns.from; j < columns.to; j++, at++)
                    table->max_grad[slot_of(dtype)](place, at, dy, dx + (i * s->in_w + j) * pixel, s->in_c);
        }
}

void max_pool_grad(DType dtype, const WindowShape *s, bool nchw, const void *x, const void *dy, void *dx, void *work,
                   int64_t first, int64_t last) {
    int64_t size = (int64_t)dtype_size(dtype), in_plane = s->in_h * s->in_w, out_plane = s->out_h * s->out_w;
    for (int64_t n = first; n < last; n++) {
        const char *in = (const char *)x + n * in_plane * s->in_c * size;
        const char *from = (const char *)dy + n * out_plane * s->in_c * size;
        char *to = (char *)dx + n * in_plane * s->in_c * size;
        if (!covers_2x2(s))
            memset(to, 0, (size_t)(in_plane * s->in_c * size));
        if (!nchw) {
            max_grad_pixels(dtype, s, in, from, to, work);
            continue;
        }
        WindowShape plane = *s;  // a plane is an image of one channel
        plane.in_c = plane.out_c = 1;
        for (int64_t c = 0; c < s->in_c; c++)
            max_grad_pixels(dtype, &plane, in + c * in_plane * size, from + c * out_plane * size,
                            to + c * in_plane * size, work);
    }
}

// The windows of row y of the small side, which begins at `in` or `out`: `forward` gathers into out, else out is spread
// into the windows.
static void avg_row(DType dtype, const WindowShape *s, bool forward, int64_t y, const char *in, char *out) {
    void (*add)(const void *, void *, int64_t, double) = loops_table()->window->add_channels[dtype == DT_double];
    int64_t pixel = s->in_c * (int64_t)dtype_size(dtype);
    Part rows = inside(y, s->stride_h, s->pad_top, s->filter_h, s->in_h);
    for (int64_t x = 0; x < s->out_w; x++) {
        Part columns = inside(x, s->stride_w, s->pad_left, s->filter_w, s->in_w);
        int64_t count = max_i64(0, rows.to - rows.from) * max_i64(0, columns.to - columns.from);
        double scale = count ? 1.0 / (double)count : 0;
        for (int64_t i = rows.from; i < rows.to; i++)
            for (int64_t j = columns.from; j < columns.to; j++) {
                int64_t large = (i * s->in_w + j) * pixel;
                add(in + (forward ? large : x * pixel), out + (forward ? x * pixel : large), s->in_c, scale);
            }
    }
}

// A plane: the rows of each window are added along, then divided by how many elements they had.
static void avg_plane(DType dtype, const WindowShape *s, const char *in, char *out) {
    const WindowTable *table = loops_table()->window;
    int64_t size = (int64_t)dtype_size(dtype);
    for (int64_t y = 0; y < s->out_h; y++, out += s->out_w * size) {
        Part rows = inside(y, s->stride_h, s->pad_top, s->filter_h, s->in_h);
        for (int64_t i = rows.from; i < rows.to; i++)
            table->add_along[dtype == DT_double](in + i * s->in_w * size, s->in_w, out, s->out_w, s->stride_w,
                                                 s->pad_left, s->filter_w);
        for (int64_t x = 0; x < s->out_w; x++) {
            Part columns = inside(x, s->stride_w, s->pad_left, s->filter_w, s->in_w);
            int64_t count = max_i64(1, max_i64(0, rows.to - rows.from) * max_i64(0, columns.to - columns.from));
            if (dtype == DT_double)
                ((double *)(void *)out)[x] /= (double)count;
            else
                ((float *)(void *)out)[x] /= (float)count;
        }
    }
}

void avg_pool(DType dtype, const WindowShape *s, bool nchw, const void *x, void *y, int64_t first, int64_t last) {
    int64_t size = (int64_t)dtype_size(dtype), in_plane = s->in_h * s->in_w, out_row = s->out_w * s->in_c;
    if (nchw)
        out_row = s->out_h * s->out_w;
    memset((char *)y + first * out_row * size, 0, (size_t)((last - first) * out_row * size));
    for (int64_t unit = first; unit < last; unit++) {
        char *out = (char *)y + unit * out_row * size;
        if (nchw)
            avg_plane(dtype, s, (const char *)x + unit * in_plane * size, out);
        else
            avg_row(dtype, s, true, unit % s->out_h, (const char *)x + unit / s->out_h * in_plane * s->in_c * size, out);
    }
}

void avg_pool_grad(DType dtype, const WindowShape *s, bool nchw, const void *dy, void *dx, int64_t first,
                   int64_t last) {
    int64_t size = (int64_t)dtype_size(dtype), image = s->in_h * s->in_w * s->in_c, planes = nchw ? s->in_c : 1;
    WindowShape plane = *s;
    plane.in_c = plane.out_c = s->in_c / planes;
    int64_t row = s->out_w * plane.in_c;
    memset((char *)dx + first * image * size, 0, (size_t)((last - first) * image * size));
    for (int64_t n = first * planes; n < last * planes; n++)
        for (int64_t y = 0; y < s->out_h; y++)
            avg_row(dtype, &plane, false, y, (const char *)dy + (n * s->out_h + y) * row * size,
                    (char *)dx + n * (image / planes) * size);
}
