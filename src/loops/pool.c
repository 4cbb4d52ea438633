// Pooling — windows reduced to their greatest or mean element. See window.h.
//
// With channels innermost a window's pixels are rows of channels, folded by vectors; with channels first a plane's rows
// are folded along. Means and their gradients collect the offsets of the pixels of a window and add all of them in one
// pass over the channels (Gather); windows side by side have the same offsets, so these are found once a row.
#include <float.h>
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

// What an empty window gives, as in TensorFlow: the least value of the type.
static void lowest(DType dtype, void *out) {
    switch (dtype) {
    case DT_float: *(float *)out = -FLT_MAX; break;
    case DT_double: *(double *)out = -DBL_MAX; break;
    case DT_int32: *(int32_t *)out = INT32_MIN; break;
    default: *(int64_t *)out = INT64_MIN; break;
    }
}

// The part of one window along one axis that lies inside the image.
typedef struct {
    int64_t from, to;
} Part;
// The part of one window along one axis that lies inside the image: padding takes no part, neither in a maximum nor in
// what a mean is divided by (TensorFlow's rule for SAME).
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

// The part of one window that lies inside the image, or the volume.
typedef struct {
    Part layers, rows, columns;
} Box;
static Part layers_of(const WindowShape *s, int64_t z) {
    return inside(z, s->stride_d, s->pad_front, s->filter_d, s->in_d);
}
static Part rows_of(const WindowShape *s, int64_t y) {
    return inside(y, s->stride_h, s->pad_top, s->filter_h, s->in_h);
}
static Part columns_of(const WindowShape *s, int64_t x) {
    return inside(x, s->stride_w, s->pad_left, s->filter_w, s->in_w);
}
// That of row `row` of the result, its layers' rows one after the other, and column x.
static Box box_of(const WindowShape *s, int64_t row, int64_t x) {
    return (Box){layers_of(s, row / s->out_h), rows_of(s, row % s->out_h), columns_of(s, x)};
}
static int64_t box_count(const Box *b) {
    return max_i64(0, b->layers.to - b->layers.from) * max_i64(0, b->rows.to - b->rows.from) *
           max_i64(0, b->columns.to - b->columns.from);
}
static int64_t place_in(const WindowShape *s, int64_t z, int64_t y, int64_t x) {
    return (z * s->in_h + y) * s->in_w + x;
}

static int64_t in_pixels(const WindowShape *s) {
    return s->in_d * s->in_h * s->in_w;
}
static int64_t out_rows(const WindowShape *s) {
    return s->out_d * s->out_h;
}

// Windows of 2x2 side by side, the commonest pools: those wholly inside are done four pixels at once.
// Windows of 2x2 side by side, the commonest pools: those wholly inside are done four pixels at once.
static bool is_2x2(const WindowShape *s) {
    return s->filter_h == 2 && s->filter_w == 2 && s->stride_h == 2 && s->stride_w == 2;
}
// Every pixel is in one window.
static bool covers_2x2(const WindowShape *s) {
    bool flat = s->filter_d == 1 && s->stride_d == 1 && s->in_d == s->out_d && !s->pad_front;
    return flat && is_2x2(s) && !s->pad_top && !s->pad_left && s->in_h == 2 * s->out_h && s->in_w == 2 * s->out_w;
}
static bool whole_2x2(Part rows, Part columns) {
    return rows.to - rows.from == 2 && columns.to - columns.from == 2;
}

int64_t pool_units(const WindowShape *s, bool nchw) {
    return s->batch * (nchw ? s->in_c : s->out_h * max_i64(1, s->out_d));
}

// Row `row` of the result.
static void max_row(DType dtype, const WindowShape *s, const char *in, int64_t row, char *out) {
    const WindowTable *table = loops_table()->window;
    int slot = slot_of(dtype);
    bool pairs = is_2x2(s);
    int64_t pixel = s->in_c * (int64_t)dtype_size(dtype);
    for (int64_t x = 0; x < s->out_w; x++, out += pixel) {
        Box box = box_of(s, row, x);
        bool whole = pairs && whole_2x2(box.rows, box.columns), begun = false;
        for (int64_t z = box.layers.from; z < box.layers.to; z++) {
            if (whole && !begun) {
                const char *p = in + place_in(s, z, box.rows.from, box.columns.from) * pixel, *q = p + s->in_w * pixel;
                table->max_2x2[slot]((const void *[]){p, p + pixel, q, q + pixel}, out, s->in_c);
                begun = true;
                continue;
            }
            for (int64_t i = box.rows.from; i < box.rows.to; i++)
                for (int64_t j = box.columns.from; j < box.columns.to; j++) {
                    const char *p = in + place_in(s, z, i, j) * pixel;
                    (begun ? table->max : table->max_first)[slot](p, out, s->in_c);
                    begun = true;
                }
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

void max_pool(DType dtype, const WindowShape *shape, bool nchw, const void *x, void *y, void *work, int64_t first,
              int64_t last) {
    const WindowShape deep = window_in_depth(shape), *s = &deep;
    int64_t size = (int64_t)dtype_size(dtype), in_plane = in_pixels(s), out_plane = s->out_h * s->out_w,
        rows = out_rows(s);
    for (int64_t unit = first; unit < last; unit++) {
        if (nchw)
            max_plane(dtype, s, (const char *)x + unit * in_plane * size, (char *)y + unit * out_plane * size, work);
        else
            max_row(dtype, s, (const char *)x + unit / rows * in_plane * s->in_c * size, unit % rows,
                    (char *)y + unit * s->out_w * s->in_c * size);
    }
}

// The greatest of each channel's window and its place in the box, for one output pixel.
// The first of equals wins: that is who gets the gradient, as in TensorFlow on the CPU.
static void find_pixel(DType dtype, const WindowShape *s, const Box *box, const char *in, char *greatest,
                       int32_t *place) {
    const WindowTable *table = loops_table()->window;
    int64_t pixel = s->in_c * (int64_t)dtype_size(dtype);
    int32_t at = 0;
    for (int64_t z = box->layers.from; z < box->layers.to; z++)
        for (int64_t i = box->rows.from; i < box->rows.to; i++)
            for (int64_t j = box->columns.from; j < box->columns.to; j++, at++) {
                const char *p = in + place_in(s, z, i, j) * pixel;
                if (at > 0) {
                    table->max_at[slot_of(dtype)](p, greatest, place, at, s->in_c);
                    continue;
                }
                memcpy(greatest, p, (size_t)pixel);
                memset(place, 0, (size_t)s->in_c * sizeof *place);
            }
    if (!at) {
        fill_lowest(dtype, greatest, s->in_c);
        memset(place, 0, (size_t)s->in_c * sizeof *place);
    }
}

void max_pool_argmax(DType dtype, const WindowShape *shape, bool include_batch, const void *x, void *y, int64_t *argmax,
                     void *work, int64_t first, int64_t last) {
    const WindowShape deep = window_in_depth(shape), *s = &deep;
    int64_t size = (int64_t)dtype_size(dtype), image = in_pixels(s) * s->in_c;
    int32_t *place = work;
    for (int64_t n = first; n < last; n++)
        for (int64_t i = 0; i < out_rows(s); i++)
            for (int64_t j = 0; j < s->out_w; j++) {
                int64_t to = ((n * out_rows(s) + i) * s->out_w + j) * s->in_c;
                Box box = box_of(s, i, j);
                find_pixel(dtype, s, &box, (const char *)x + n * image * size, (char *)y + to * size, place);
                int64_t width = max_i64(1, box.columns.to - box.columns.from);
                int64_t height = max_i64(1, box.rows.to - box.rows.from);
                for (int64_t c = 0; c < s->in_c; c++) {
                    int64_t row = place[c] / width, column = box.columns.from + place[c] % width;
                    int64_t at = place_in(s, box.layers.from + row / height, box.rows.from + row % height, column);
                    argmax[to + c] = (include_batch ? n * image : 0) + at * s->in_c + c;
                }
            }
}

// What one unit of a gradient writes: the input's layers that belong to rows [row, row_end) of the result alone.
typedef struct {
    int64_t n, row, row_end, layer, layer_end;
} Slab;
// Layers whose windows don't overlap can be written by different threads; otherwise an image is one unit.
static int64_t slabs_of(const WindowShape *s, bool nchw) {
    return !nchw && s->out_d > 1 && s->stride_d >= s->filter_d ? s->out_d : 1;
}
static Slab slab_of(const WindowShape *s, bool nchw, int64_t unit) {
    int64_t slabs = slabs_of(s, nchw), z = unit % slabs, next = (z + 1) * s->stride_d - s->pad_front;
    Slab slab = {.n = unit / slabs, .row = z * s->out_h, .row_end = slabs > 1 ? (z + 1) * s->out_h : out_rows(s)};
    slab.layer = z ? min_i64(s->in_d, max_i64(0, next - s->stride_d)) : 0;
    slab.layer_end = z + 1 < slabs ? max_i64(slab.layer, min_i64(s->in_d, next)) : s->in_d;
    return slab;
}

int64_t pool_grad_units(const WindowShape *shape, bool nchw) {
    const WindowShape deep = window_in_depth(shape);
    return deep.batch * slabs_of(&deep, nchw);
}

static void max_grad_rows(DType dtype, const WindowShape *s, const Slab *slab, const char *in, const char *dy, char *dx,
                          char *work) {
    const WindowTable *table = loops_table()->window;
    bool pairs = is_2x2(s);
    int64_t pixel = s->in_c * (int64_t)dtype_size(dtype);
    char *greatest = work;
    int32_t *place = (int32_t *)(work + round_up((size_t)pixel, 4));
    dy += slab->row * s->out_w * pixel;
    for (int64_t y = slab->row; y < slab->row_end; y++)
        for (int64_t x = 0; x < s->out_w; x++, dy += pixel) {
            Box box = box_of(s, y, x);
            if (pairs && whole_2x2(box.rows, box.columns) && box.layers.to - box.layers.from == 1) {
                int64_t upper = place_in(s, box.layers.from, box.rows.from, box.columns.from) * pixel;
                int64_t lower = upper + s->in_w * pixel;
                table->max_grad_2x2[slot_of(dtype)](
                    (const void *[]){in + upper, in + upper + pixel, in + lower, in + lower + pixel}, dy,
                    (void *[]){dx + upper, dx + upper + pixel, dx + lower, dx + lower + pixel}, s->in_c);
                continue;
            }
            find_pixel(dtype, s, &box, in, greatest, place);
            int32_t at = 0;
            for (int64_t z = box.layers.from; z < box.layers.to; z++)
                for (int64_t i = box.rows.from; i < box.rows.to; i++)
                    for (int64_t j = box.columns.from; j < box.columns.to; j++, at++)
                        table->max_grad[slot_of(dtype)](place, at, dy, dx + place_in(s, z, i, j) * pixel, s->in_c);
        }
}

void max_pool_grad(DType dtype, const WindowShape *shape, bool nchw, const void *x, const void *dy, void *dx,
                   void *work, int64_t first, int64_t last) {
    const WindowShape deep = window_in_depth(shape), *s = &deep;
    int64_t size = (int64_t)dtype_size(dtype), in_plane = in_pixels(s), out_plane = out_rows(s) * s->out_w;
    int64_t layer = s->in_h * s->in_w * s->in_c * size;
    for (int64_t unit = first; unit < last; unit++) {
        Slab slab = slab_of(s, nchw, unit);
        const char *in = (const char *)x + slab.n * in_plane * s->in_c * size;
        const char *from = (const char *)dy + slab.n * out_plane * s->in_c * size;
        char *to = (char *)dx + slab.n * in_plane * s->in_c * size;
        if (!covers_2x2(s))
            memset(to + slab.layer * layer, 0, (size_t)((slab.layer_end - slab.layer) * layer));
        if (!nchw) {
            max_grad_rows(dtype, s, &slab, in, from, to, work);
            continue;
        }
        WindowShape plane = *s;  // a plane is an image of one channel
        plane.in_c = plane.out_c = 1;
        for (int64_t c = 0; c < s->in_c; c++)
            max_grad_rows(dtype, &plane, &slab, in + c * in_plane * size, from + c * out_plane * size,
                          to + c * in_plane * size, work);
    }
}

// ---- sums over pixels, gathered into one ----

// Pixels that are waiting to be added to `out`, as offsets from `from`.
enum { GATHERED = 64 };
typedef struct {
    const WindowTable *table;
    DType dtype;
    int64_t at[GATHERED], n, channels;
    double weights[GATHERED];
    const void *from, *equal, *greatest;
    void *out;
    bool more;
} Gather;

static void gather_now(Gather *g) {
    bool wide = g->dtype == DT_double;
    if (g->equal)
        g->table->gather_equal[wide](g->from, g->equal, g->greatest, g->at, g->n, g->out, g->channels, g->more);
    else
        g->table->gather_mean[wide](g->from, g->at, g->weights, g->n, g->out, g->channels, g->more);
}
// A window of more pixels than there is room for is added in several passes.
static void gather(Gather *g, int64_t pixel, double weight) {
    if (g->n == GATHERED) {
        gather_now(g);
        g->n = 0;
        g->more = true;
    }
    g->at[g->n] = pixel * g->channels;
    g->weights[g->n++] = weight;
}
static void gather_begin(Gather *g, void *out) {
    g->out = out;
    g->n = 0;
    g->more = false;
}

// Row `row` of the result, the means of windows. Neighbouring windows have their pixels at the same places.
static void avg_row(DType dtype, const WindowShape *s, int64_t row, const char *in, char *out) {
    Gather g = {.table = loops_table()->window, .dtype = dtype, .channels = s->in_c};
    int64_t pixel = s->in_c * (int64_t)dtype_size(dtype), width = -1;
    for (int64_t x = 0; x < s->out_w; x++, out += pixel) {
        Box box = box_of(s, row, x);
        int64_t count = box_count(&box), columns = box.columns.to - box.columns.from;
        int64_t first = place_in(s, box.layers.from, box.rows.from, box.columns.from);
        g.from = count ? in + first * pixel : in;
        if (columns == width && !g.more) {
            g.out = out;
            gather_now(&g);
            continue;
        }
        gather_begin(&g, out);
        for (int64_t z = box.layers.from; z < box.layers.to; z++)
            for (int64_t i = box.rows.from; i < box.rows.to; i++)
                for (int64_t j = box.columns.from; j < box.columns.to; j++)
                    gather(&g, place_in(s, z, i, j) - first, 1.0 / (double)count);
        gather_now(&g);
        width = columns;
    }
}

// The windows along one axis that hold position `at`.
// Walking the input's pixels instead of the windows, so that each unit writes its own rows and nothing is added twice.
static Part windows_of(int64_t at, int64_t stride, int64_t pad, int64_t window, int64_t count) {
    int64_t place = at + pad;
    return (Part){place >= window ? (place - window) / stride + 1 : 0, min_i64(count, place / stride + 1)};
}

enum { PHASES = 4 };
static void gather_phases(Gather *phases, DType dtype, int64_t channels) {
    for (int i = 0; i < PHASES; i++)
        phases[i] = (Gather){.table = loops_table()->window, .dtype = dtype, .channels = channels};
}

static bool is_whole(const WindowShape *s, int64_t x) {
    Part part = columns_of(s, x);
    return part.to - part.from == s->filter_w;
}

// What the windows in `columns` of one layer and row of windows give to a pixel, from the first of the columns on.
static void gather_windows(const WindowShape *s, Gather *g, int64_t a, int64_t b, Part columns, bool means) {
    Part layers = layers_of(s, a), rows = rows_of(s, b);
    double share = means ? 1.0 / (double)((layers.to - layers.from) * (rows.to - rows.from)) : 1;
    for (int64_t c = columns.from; c < columns.to; c++) {
        Part part = means ? columns_of(s, c) : (Part){0, 1};
        gather(g, (a * s->out_h + b) * s->out_w + c - columns.from, share / (double)(part.to - part.from));
    }
}

// Row `row` of the input: what the windows that hold its pixels give them. Pixels a step apart, whose windows are
// whole, have theirs at the same places: each phase of the step keeps its own.
static void grad_row(const WindowShape *s, int64_t row, bool means, char *dx, const char *x, const char *dy,
                     const char *y, Gather *phases) {
    int64_t z = row / s->in_h, i = row % s->in_h, pixel = s->in_c * (int64_t)dtype_size(phases->dtype);
    Part layers = windows_of(z, s->stride_d, s->pad_front, s->filter_d, s->out_d);
    Part rows = windows_of(i, s->stride_h, s->pad_top, s->filter_h, s->out_h);
    int64_t kept[PHASES] = {-1, -1, -1, -1};
    for (int64_t j = 0; j < s->in_w; j++) {
        Part columns = windows_of(j, s->stride_w, s->pad_left, s->filter_w, s->out_w);
        int64_t phase = s->stride_w <= PHASES ? (j + s->pad_left) % s->stride_w : 0, many = columns.to - columns.from;
        Gather *g = &phases[phase];
        bool whole = s->stride_w <= PHASES && many > 0;
        whole = whole && (!means || (is_whole(s, columns.from) && is_whole(s, columns.to - 1)));
        int64_t first = many > 0 ? columns.from * pixel : 0;
        g->from = dy + first;
        g->greatest = y ? y + first : NULL;
        g->equal = x ? x + j * pixel : NULL;
        if (whole && kept[phase] == many) {
            g->out = dx + j * pixel;
            gather_now(g);
            continue;
        }
        gather_begin(g, dx + j * pixel);
        for (int64_t a = layers.from; a < layers.to; a++)
            for (int64_t b = rows.from; b < rows.to; b++)
                gather_windows(s, g, a, b, columns, means);
        gather_now(g);
        kept[phase] = whole && !g->more ? many : -1;
    }
}

int64_t pool_row_units(const WindowShape *s) {
    return s->batch * max_i64(1, s->in_d) * s->in_h;
}

void max_pool_share(DType dtype, const WindowShape *shape, const void *x, const void *y, const void *dy, void *dx,
                    int64_t first, int64_t last) {
    const WindowShape deep = window_in_depth(shape), *s = &deep;
    Gather phases[PHASES];
    gather_phases(phases, dtype, s->in_c);
    int64_t rows = s->in_d * s->in_h, pixel = s->in_c * (int64_t)dtype_size(dtype);
    for (int64_t unit = first; unit < last; unit++) {
        int64_t small = unit / rows * out_rows(s) * s->out_w * pixel, large = unit * s->in_w * pixel;
        grad_row(s, unit % rows, false, (char *)dx + large, (const char *)x + large, (const char *)dy + small,
                 (const char *)y + small, phases);
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

void avg_pool(DType dtype, const WindowShape *shape, bool nchw, const void *x, void *y, int64_t first, int64_t last) {
    const WindowShape deep = window_in_depth(shape), *s = &deep;
    int64_t size = (int64_t)dtype_size(dtype), in_plane = in_pixels(s), out_row = s->out_w * s->in_c,
        rows = out_rows(s);
    if (nchw) {
        out_row = s->out_h * s->out_w;
        memset((char *)y + first * out_row * size, 0, (size_t)((last - first) * out_row * size));
    }
    for (int64_t unit = first; unit < last; unit++) {
        char *out = (char *)y + unit * out_row * size;
        if (nchw)
            avg_plane(dtype, s, (const char *)x + unit * in_plane * size, out);
        else
            avg_row(dtype, s, unit % rows, (const char *)x + unit / rows * in_plane * s->in_c * size, out);
    }
}

int64_t avg_pool_grad_units(const WindowShape *s, bool nchw) {
    return nchw ? s->batch * s->in_c : pool_row_units(s);
}

void avg_pool_grad(DType dtype, const WindowShape *shape, bool nchw, const void *dy, void *dx, int64_t first,
                   int64_t last) {
    WindowShape deep = window_in_depth(shape), *s = &deep;
    if (nchw)
        s->in_c = s->out_c = 1;  // a plane is an image of one channel
    int64_t rows = s->in_d * s->in_h, pixel = s->in_c * (int64_t)dtype_size(dtype), each = nchw ? rows : 1;
    Gather phases[PHASES];
    gather_phases(phases, dtype, s->in_c);
    for (int64_t unit = first * each; unit < last * each; unit++)
        grad_row(s, unit % rows, true, (char *)dx + unit * s->in_w * pixel, NULL,
                 (const char *)dy + unit / rows * out_rows(s) * s->out_w * pixel, NULL, phases);
}
