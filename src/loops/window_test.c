// Tests of window.h and norm.h against plain loops in double, on every CPU level.
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/suite_test.h"
#include "loops/level/table.h"
#include "loops/norm.h"
#include "loops/window.h"

// Speaks only when something is wrong: a ck_assert that holds costs a message to the parent process.
#define EXPECT(condition, ...)                  \
    do {                                        \
        if (!(condition))                       \
            ck_abort_msg(__VA_ARGS__);          \
    } while (0)

static const int levels[] = {1, 3, 4};
static uint32_t seed = 99;
static double random_value(void) {
    seed = seed * 1664525u + 1013904223u;
    return (double)((seed >> 8) % 2001) / 1000 - 1;
}

// An array of `n` random values, as float or double, and its double twin.
typedef struct {
    void *raw;
    double *wide;
    DType dtype;
    int64_t n;
} Values;
static double at(const Values *v, int64_t i) {
    return v->dtype == DT_double ? ((double *)v->raw)[i] : (double)((float *)v->raw)[i];
}
static Values values(DType dtype, int64_t n) {
    Values v = {.raw = malloc((size_t)(n + 1) * 8), .wide = malloc((size_t)(n + 1) * 8), .dtype = dtype, .n = n};
    for (int64_t i = 0; i < n; i++) {
        double x = random_value();
        if (dtype == DT_double)
            ((double *)v.raw)[i] = x;
        else
            ((float *)v.raw)[i] = (float)x;
        v.wide[i] = at(&v, i);
    }
    return v;
}
static void release(Values *v) {
    free(v->raw), free(v->wide);
}
static void expect_close(const Values *got, const double *want, const char *what) {
    double tolerance = got->dtype == DT_double ? 1e-11 : 2e-5;
    for (int64_t i = 0; i < got->n; i++)
        EXPECT(fabs(at(got, i) - want[i]) <= tolerance * (1 + fabs(want[i])), "%s %s: element %d is %.9g, expected %.9g",
                      what, dtype_name(got->dtype), (int)i, at(got, i), want[i]);
}

typedef void (*EachProduct)(const WindowShape *s, int64_t x, int64_t filter, int64_t y, double *const *arrays);
// Calls back for every product of the convolution: places in x, filter and y.
static void each_product(const WindowShape *s, EachProduct each, double *const *arrays) {
    int64_t in_c = s->in_c / s->groups, out_c = s->out_c / s->groups;
    int64_t positions = s->filter_d * s->filter_h * s->filter_w, pixels = s->out_d * s->out_h * s->out_w;
    for (int64_t pixel = 0; pixel < s->batch * pixels; pixel++)
        for (int64_t q = 0; q < positions; q++) {
            int64_t n = pixel / pixels, x = pixel % s->out_w, y = pixel / s->out_w % s->out_h;
            int64_t z = pixel / (s->out_w * s->out_h) % s->out_d;
            int64_t kx = q % s->filter_w, ky = q / s->filter_w % s->filter_h, kz = q / (s->filter_w * s->filter_h);
            int64_t iz = z * s->stride_d - s->pad_front + kz * s->dilation_d;
            int64_t iy = y * s->stride_h - s->pad_top + ky * s->dilation_h;
            int64_t ix = x * s->stride_w - s->pad_left + kx * s->dilation_w;
            if (iz < 0 || iz >= s->in_d || iy < 0 || iy >= s->in_h || ix < 0 || ix >= s->in_w)
                continue;
            int64_t in = ((n * s->in_d + iz) * s->in_h + iy) * s->in_w + ix;
            for (int64_t o = 0; o < s->out_c; o++)
                for (int64_t c = 0; c < in_c; c++)
                    each(s, in * s->in_c + o / out_c * in_c + c, (q * in_c + c) * s->out_c + o, pixel * s->out_c + o, arrays);
        }
}
static void forward_product(const WindowShape *s, int64_t x, int64_t f, int64_t y, double *const *a) {
    (void)s;
    a[3][y] += a[0][x] * a[1][f];
}
static void input_product(const WindowShape *s, int64_t x, int64_t f, int64_t y, double *const *a) {
    (void)s;
    a[3][x] += a[2][y] * a[1][f];
}
static void filter_product(const WindowShape *s, int64_t x, int64_t f, int64_t y, double *const *a) {
    (void)s;
    a[3][f] += a[2][y] * a[0][x];
}

static void check_conv(DType dtype, const WindowShape *shape) {
    WindowShape deep = window_in_depth(shape), *s = &deep;
    Values x = values(dtype, s->batch * s->in_d * s->in_h * s->in_w * s->in_c);
    Values filter = values(dtype, s->filter_d * s->filter_h * s->filter_w * (s->in_c / s->groups) * s->out_c);
    Values dy = values(dtype, s->batch * s->out_d * s->out_h * s->out_w * s->out_c), bias = values(dtype, s->out_c);
    Values *shapes[3] = {&dy, &x, &filter};
    EachProduct each[3] = {forward_product, input_product, filter_product};
    for (int pass = CONV_FORWARD; pass <= CONV_FILTER; pass++) {
        ConvPlan plan;
        ck_assert(conv_prepare((ConvPass)pass, dtype, shape, &plan));
        void *scratch = aligned_alloc(64, plan.scratch + 64);
        Values got = values(dtype, shapes[pass]->n);
        double *want = calloc((size_t)got.n + 1, 8);
        each_product(s, each[pass], (double *const[]){x.wide, filter.wide, dy.wide, want});
        for (int64_t unit = plan.units - 1; unit >= 0; unit--)
            if (pass == CONV_FORWARD)
                conv_forward(&plan, x.raw, filter.raw, bias.raw, true, got.raw, scratch, unit, unit + 1);
            else if (pass == CONV_INPUT)
                conv_input(&plan, dy.raw, filter.raw, got.raw, scratch, unit, unit + 1);
            else
                conv_filter(&plan, x.raw, dy.raw, got.raw, scratch, unit, unit + 1);
        for (int64_t i = 0; i < got.n && pass == CONV_FORWARD; i++)
            want[i] = fmax(0, want[i] + bias.wide[i % s->out_c]);
        expect_close(&got, want, pass == CONV_FORWARD ? "forward" : pass == CONV_INPUT ? "input" : "filter");
        free(scratch), free(want), release(&got);
    }
    release(&x), release(&filter), release(&dy), release(&bias);
}

START_TEST(convolutions) {
    static const WindowShape shapes[] = {
        {2, 9, 8, 3, 9, 8, 5, 3, 3, 1, 1, 1, 1, 1, 1, .groups = 1},      // same padding
        {1, 12, 11, 4, 5, 4, 6, 3, 4, 2, 2, 1, 1, 0, 0, .groups = 1},    // stride
        {1, 13, 13, 2, 9, 9, 3, 3, 3, 1, 1, 2, 2, 0, 0, .groups = 1},    // dilation
        {2, 6, 7, 8, 6, 7, 16, 1, 1, 1, 1, 1, 1, 0, 0, .groups = 1},     // a matrix product
        {1, 8, 8, 6, 8, 8, 4, 5, 5, 1, 1, 1, 1, 2, 2, .groups = 2},      // groups
        {1, 5, 5, 1, 3, 3, 130, 3, 3, 2, 2, 1, 1, 1, 1, .groups = 1},    // many outputs
        {0, 5, 5, 1, 3, 3, 3, 3, 3, 2, 2, 1, 1, 1, 1, .groups = 1},      // nothing
        {1, 40, 40, 3, 40, 40, 4, 3, 3, 1, 1, 1, 1, 1, 1, .groups = 1},  // several blocks
        {1, 3, 3, 2, 7, 7, 2, 3, 3, 1, 1, 1, 1, 3, 3, .groups = 1},      // windows that lie outside
        {2, 7, 23, 16, 7, 23, 1, 3, 3, 1, 1, 1, 1, 1, 1, .groups = 1},   // to few channels
        {1, 9, 20, 6, 5, 10, 3, 5, 4, 2, 2, 1, 1, 2, 1, .groups = 1},
        {1, 6, 9, 33, 3, 9, 2, 3, 3, 1, 1, 2, 1, 0, 1, .groups = 1},
        {1, 5, 12, 16, 5, 12, 2, 3, 3, 1, 1, 1, 1, 1, 1, 1, 4, 4, 3, 1, 1, 1},
        // volumes: same padding; strides and no padding; dilation and windows that lie outside; groups, several blocks
        {2, 5, 4, 3, 5, 4, 4, 3, 3, 1, 1, 1, 1, 1, 1, 1, 6, 6, 3, 1, 1, 1},
        {1, 9, 8, 2, 4, 3, 5, 3, 4, 2, 2, 1, 1, 0, 0, 1, 7, 3, 2, 2, 1, 0},
        {1, 6, 5, 2, 8, 7, 3, 3, 3, 1, 1, 1, 1, 2, 2, 1, 4, 4, 3, 1, 2, 2},
        {1, 8, 9, 6, 8, 9, 4, 3, 3, 1, 1, 1, 1, 1, 1, 2, 12, 12, 3, 1, 1, 1},
    };
    for (int l = 0; l < 3; l++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes && loops_choose_level(levels[l]); i++) {
            check_conv(DT_float, &shapes[i]);
            check_conv(DT_double, &shapes[i]);
        }
    ConvPlan plan;
    ck_assert(!conv_prepare(CONV_FORWARD, DT_int32, &shapes[0], &plan));
}
END_TEST

// Row y of an image, or of a volume's layers one after the other.
static int64_t place(const WindowShape *s, bool nchw, bool in, int64_t n, int64_t y, int64_t x, int64_t c) {
    int64_t h = in ? s->in_d * s->in_h : s->out_d * s->out_h, w = in ? s->in_w : s->out_w;
    return nchw ? ((n * s->in_c + c) * h + y) * w + x : ((n * h + y) * w + x) * s->in_c + c;
}

static void check_pool(DType dtype, const WindowShape *shape, bool nchw) {
    WindowShape deep = window_in_depth(shape), *s = &deep;
    int64_t large = s->batch * s->in_d * s->in_h * s->in_w * s->in_c;
    int64_t small = s->batch * s->out_d * s->out_h * s->out_w * s->in_c;
    Values x = values(dtype, large), dy = values(dtype, small), y = values(dtype, small), dx = values(dtype, large);
    double *max = malloc((size_t)small * 8), *mean = calloc((size_t)small, 8), *dmax = calloc((size_t)large, 8);
    double *dmean = calloc((size_t)large, 8), *dshare = calloc((size_t)large, 8);
    int64_t *where = malloc((size_t)small * 8), *argmax = malloc((size_t)small * 8);
    for (int64_t i = 0; i < small; i++) {
        int64_t c = i % s->in_c, ox = i / s->in_c % s->out_w, row = i / (s->in_c * s->out_w) % (s->out_d * s->out_h);
        int64_t n = i / (s->in_c * s->out_w * s->out_d * s->out_h), oy = row % s->out_h, oz = row / s->out_h;
        int64_t out = place(s, nchw, false, n, row, ox, c), count = 0;
        for (int way = 0; way < 2; way++)
            for (int64_t q = 0; q < s->filter_d * s->filter_h * s->filter_w; q++) {
                int64_t kx = q % s->filter_w, ky = q / s->filter_w % s->filter_h, kz = q / (s->filter_w * s->filter_h);
                int64_t iz = oz * s->stride_d - s->pad_front + kz, iy = oy * s->stride_h - s->pad_top + ky;
                int64_t ix = ox * s->stride_w - s->pad_left + kx;
                if (iz < 0 || iz >= s->in_d || iy < 0 || iy >= s->in_h || ix < 0 || ix >= s->in_w)
                    continue;
                int64_t in = place(s, nchw, true, n, iz * s->in_h + iy, ix, c);
                if (way) {
                    dshare[in] += fabs(x.wide[in] - max[out]) < 1e-5 ? dy.wide[out] : 0;
                    mean[out] += x.wide[in] / (double)count;
                    dmean[in] += dy.wide[out] / (double)count;
                    continue;
                }
                if (!count || x.wide[in] > max[out])
                    max[out] = x.wide[in], where[out] = in;
                count++;
            }
        dmax[where[out]] += dy.wide[out];
    }
    void *work = malloc(max_pool_work(dtype, s));
    max_pool(dtype, shape, nchw, x.raw, y.raw, work, 0, pool_units(shape, nchw));
    expect_close(&y, max, "max pool");
    int64_t units = pool_grad_units(shape, nchw);
    max_pool_grad(dtype, shape, nchw, x.raw, dy.raw, dx.raw, work, 1, units);
    max_pool_grad(dtype, shape, nchw, x.raw, dy.raw, dx.raw, work, 0, 1);
    expect_close(&dx, dmax, "max pool gradient");
    avg_pool(dtype, shape, nchw, x.raw, y.raw, 0, pool_units(shape, nchw));
    expect_close(&y, mean, "mean pool");
    units = avg_pool_grad_units(shape, nchw);
    avg_pool_grad(dtype, shape, nchw, dy.raw, dx.raw, 1, units);
    avg_pool_grad(dtype, shape, nchw, dy.raw, dx.raw, 0, 1);
    expect_close(&dx, dmean, "mean pool gradient");
    if (!nchw) {
        max_pool(dtype, shape, nchw, x.raw, y.raw, work, 0, pool_units(shape, nchw));
        units = pool_row_units(shape);
        max_pool_share(dtype, shape, x.raw, y.raw, dy.raw, dx.raw, 1, units);
        max_pool_share(dtype, shape, x.raw, y.raw, dy.raw, dx.raw, 0, 1);
        expect_close(&dx, dshare, "max pool gradient, shared");
        max_pool_argmax(dtype, shape, true, x.raw, y.raw, argmax, work, 0, s->batch);
        for (int64_t i = 0; i < small; i++)
            EXPECT(argmax[i] == where[i], "argmax %d", (int)i);
    }
    free(work), free(max), free(mean), free(dmax), free(dmean), free(dshare), free(where), free(argmax);
    release(&x), release(&dy), release(&y), release(&dx);
}

START_TEST(pools) {
    static const WindowShape shapes[] = {
        {2, 9, 8, 5, 4, 3, 5, 3, 3, 2, 2, 1, 1, 0, 0, .groups = 1},
        {2, 7, 7, 19, 7, 7, 19, 3, 3, 1, 1, 1, 1, 1, 1, .groups = 1},
        {1, 6, 5, 33, 3, 3, 33, 2, 2, 2, 2, 1, 1, 0, 0, .groups = 1},
        {2, 6, 5, 9, 3, 3, 9, 2, 2, 2, 2, 1, 1, 0, 0, 1, 6, 3, 2, 2, 1, 0},  // volumes: side by side, as far as there are any
        {2, 7, 6, 5, 4, 3, 5, 3, 3, 2, 2, 1, 1, 1, 1, 1, 5, 5, 3, 1, 1, 1},  // and over each other
        {1, 4, 4, 3, 4, 4, 3, 1, 1, 1, 1, 1, 1, 0, 0, 1, 8, 3, 2, 3, 1, 0},  // layers in no window
    };
    for (int l = 0; l < 3; l++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes && loops_choose_level(levels[l]); i++)
            for (int way = 0; way < (shapes[i].filter_d ? 2 : 4); way++)
                check_pool(way & 1 ? DT_double : DT_float, &shapes[i], way >> 1);
    int32_t x[8] = {1, -5, 3, -2, -7, -8, 9, 0}, y[2];
    WindowShape s = {1, 2, 2, 2, 1, 1, 2, 2, 2, 2, 2, 1, 1, 0, 0, .groups = 1};
    ck_assert(max_pool_takes(DT_int32) && !max_pool_takes(DT_half));
    char work[64];
    max_pool(DT_int32, &s, false, x, y, work, 0, pool_units(&s, false));
    ck_assert(y[0] == 9 && y[1] == 0);
}
END_TEST

START_TEST(softmax_and_losses) {
    for (int l = 0; l < 3; l++)
        for (int n = 1; n < 700 && loops_choose_level(levels[l]); n = n * 3 + 1)
            for (int d = 0; d < 2; d++) {
                DType dtype = d ? DT_double : DT_float;
                enum { ROWS = 37 };
                Values x = values(dtype, ROWS * n), labels = values(dtype, ROWS * n), y = values(dtype, ROWS * n);
                Values loss = values(dtype, ROWS), sparse_loss = values(dtype, ROWS), sparse = values(dtype, ROWS * n);
                double *soft = malloc(ROWS * (size_t)n * 8), *log_soft = malloc(ROWS * (size_t)n * 8), want[ROWS];
                double *gradient = malloc(ROWS * (size_t)n * 8), sparse_want[ROWS];
                int32_t picks[ROWS];
                for (int r = 0; r < ROWS; r++) {
                    double sum = 0;
                    for (int i = 0; i < n; i++) sum += exp(x.wide[r * n + i]);
                    want[r] = 0;
                    picks[r] = r % n;
                    for (int i = 0; i < n; i++) {
                        int k = r * n + i;
                        soft[k] = exp(x.wide[k]) / sum, log_soft[k] = x.wide[k] - log(sum);
                        want[r] -= labels.wide[k] * log_soft[k];
                        gradient[k] = soft[k] - labels.wide[k];
                    }
                    sparse_want[r] = -log_soft[r * n + picks[r]];
                }
                softmax_rows(dtype, x.raw, y.raw, ROWS, n, false), expect_close(&y, soft, "softmax");
                softmax_rows(dtype, x.raw, y.raw, ROWS, n, true), expect_close(&y, log_soft, "log softmax");
                cross_entropy_rows(dtype, x.raw, labels.raw, NULL, loss.raw, y.raw, ROWS, n);
                expect_close(&loss, want, "loss"), expect_close(&y, gradient, "loss gradient");
                ck_assert_int_eq(sparse_cross_entropy_rows(dtype, x.raw, picks, DT_int32, NULL, sparse_loss.raw, sparse.raw, ROWS, n), -1);
                for (int r = 0; r < ROWS; r++) soft[r * n + picks[r]] -= 1;
                expect_close(&sparse_loss, sparse_want, "sparse loss"), expect_close(&sparse, soft, "sparse gradient");
                picks[2] = n;
                ck_assert_int_eq(sparse_cross_entropy_rows(dtype, x.raw, picks, DT_int32, NULL, sparse_loss.raw, sparse.raw, ROWS, n), 2);
                ck_assert(isnan(at(&sparse_loss, 2)));
                release(&x), release(&labels), release(&y), release(&loss), release(&sparse_loss), release(&sparse);
                free(soft), free(log_soft), free(gradient);
            }
    float big[2] = {1000, 1000}, out[2];
    softmax_rows(DT_float, big, out, 1, 2, false);
    ck_assert(out[0] == 0.5f && out[1] == 0.5f);
}
END_TEST

// A row's bits are the same alone and among others, in place and not; factors go to the gradient and nowhere else.
START_TEST(losses_by_rows) {
    enum { ROWS = 41 };
    static const int64_t lengths[] = {1, 2, 3, 4, 7, 10, 31, 128, 129, 1000, 1531};
    for (int l = 0; l < 3; l++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths && loops_choose_level(levels[l]); i++) {
            int64_t n = lengths[i], picks[ROWS];
            size_t row = (size_t)n * 4;
            Values x = values(DT_float, ROWS * (int)n), p = values(DT_float, ROWS * (int)n), f = values(DT_float, ROWS);
            Values g = values(DT_float, ROWS * (int)n), h = values(DT_float, ROWS * (int)n);
            float loss[ROWS], again[ROWS], *gradient = g.raw, *factor = f.raw, *one = malloc(row);
            for (int r = 0; r < ROWS; r++)
                picks[r] = (r * 7) % n;
            sparse_cross_entropy_rows(DT_float, x.raw, picks, DT_int64, NULL, loss, g.raw, ROWS, n);
            memcpy(h.raw, x.raw, ROWS * row);
            sparse_cross_entropy_rows(DT_float, h.raw, picks, DT_int64, factor, again, h.raw, ROWS, n);
            ck_assert_mem_eq(loss, again, sizeof loss);
            for (int64_t k = 0; k < ROWS * n; k++)
                if (((float *)h.raw)[k] != gradient[k] * factor[k / n])
                    ck_abort_msg("%lld of rows of %lld: %g", (long long)k, (long long)n, (double)gradient[k]);
            for (int r = 0; r < ROWS; r++) {
                sparse_cross_entropy_rows(DT_float, (float *)x.raw + r * n, picks + r, DT_int64, NULL, again, one, 1, n);
                ck_assert(again[0] == loss[r] && !memcmp(one, gradient + r * n, row));
            }
            cross_entropy_rows(DT_float, x.raw, p.raw, NULL, loss, g.raw, ROWS, n);
            memcpy(h.raw, x.raw, ROWS * row);
            cross_entropy_rows(DT_float, h.raw, p.raw, factor, again, h.raw, ROWS, n);
            ck_assert_mem_eq(loss, again, sizeof loss);
            for (int64_t k = 0; k < ROWS * n; k++)
                if (((float *)h.raw)[k] != gradient[k] * factor[k / n])
                    ck_abort_msg("%lld of dense rows of %lld", (long long)k, (long long)n);
            softmax_rows(DT_float, x.raw, g.raw, ROWS, n, false);
            softmax_rows(DT_float, (float *)x.raw + 39 * n, one, 1, n, false);
            ck_assert_mem_eq(one, gradient + 39 * n, row);
            release(&x), release(&p), release(&f), release(&g), release(&h), free(one);
        }
}
END_TEST

// What is far below the greatest is nothing; what is no number makes its row none, and no other row.
START_TEST(rows_without_numbers) {
    static const uint32_t odd = 0x7fc00123;  // a NaN with bits of its own
    for (int l = 0; l < 3; l++)
        for (int n = 2; n < 700 && loops_choose_level(levels[l]); n = n * 5 + 1) {
            float *x = calloc(20 * (size_t)n, 4), *y = malloc(20 * (size_t)n * 4);
            memcpy(&x[5 * n + n - 1], &odd, 4), memcpy(&x[6 * n], &odd, 4);
            x[7 * n + 1] = INFINITY, x[8 * n + 1] = -INFINITY, x[9 * n + 1] = -90, x[10 * n + 1] = -1e30f;
            x[11 * n + 1] = 300;
            softmax_rows(DT_float, x, y, 20, n, false);
            for (int r = 0; r < 20; r++) {
                float sum = 0;
                for (int i = 0; i < n; i++)
                    sum += y[r * n + i];
                ck_assert(r >= 5 && r <= 7 ? isnan(sum) : fabsf(sum - 1) < 1e-5f);
            }
            ck_assert(y[8 * n + 1] == 0 && y[9 * n + 1] < 1.2e-38f && y[10 * n + 1] == 0 && y[11 * n + 1] == 1);
            free(x), free(y);
        }
}
END_TEST

// A sum and a relu on the way out, and what a relu that is open where x * a + b > 0 lets through.
static void gated_rows(const Values *dy, const Values *x, const Values *a, const Values *b, const Values *m, int rows, int c) {
    DType dtype = dy->dtype;
    Values y = values(dtype, rows * c), zeros = values(dtype, c);
    double *want = malloc((size_t)(rows * c) * 8), *sums = calloc(4 * (size_t)c, 8);
    memset(zeros.raw, 0, (size_t)c * dtype_size(dtype));
    for (int i = 0; i < rows * c; i++)
        want[i] = fmax(0, x->wide[i] * a->wide[i % c] + b->wide[i % c] + dy->wide[i]);
    batch_norm_rows(dtype, x->raw, a->raw, b->raw, dy->raw, y.raw, rows, c, true);
    expect_close(&y, want, "relu of the sum");
    NormGate gate = {a->raw, b->raw};
    for (int i = 0; i < rows * c; i++) {
        double open = x->wide[i] * a->wide[i % c] + b->wide[i % c] > 0 ? dy->wide[i] : 0;
        want[i] = open * a->wide[i % c] + x->wide[i] * b->wide[i % c] + m->wide[i % c];
        sums[2 * c + i % c] += open, sums[3 * c + i % c] += open * (x->wide[i] - m->wide[i % c]);
    }
    batch_norm_moments(dtype, dy->raw, x->raw, zeros.raw, m->raw, gate, rows, c, sums);
    for (int i = 0; i < 2 * c; i++)
        ck_assert_double_eq_tol(sums[i], sums[2 * c + i], 1e-3);
    memcpy(y.raw, dy->raw, (size_t)(rows * c) * dtype_size(dtype));
    batch_norm_grad_rows(dtype, y.raw, x->raw, a->raw, b->raw, m->raw, gate, y.raw, rows, c);
    expect_close(&y, want, "gated gradient, in place");
    free(want), free(sums), release(&y), release(&zeros);
}

START_TEST(batch_normalisation) {
    enum { R = 150, C = 131 };
    for (int d = 0; d < 2; d++) {
        DType dtype = d ? DT_double : DT_float;
        Values x = values(dtype, R * C), dy = values(dtype, R * C), y = values(dtype, R * C), scale = values(dtype, C);
        Values offset = values(dtype, C), mean = values(dtype, C), variance = values(dtype, C), a = values(dtype, C);
        Values b = values(dtype, C), e = values(dtype, C), d_scale = values(dtype, C), d_offset = values(dtype, C);
        Values dx = values(dtype, R * C);
        double *sums = calloc(2 * C, 8), *want = malloc(R * C * 8), *want_dx = malloc(R * C * 8), eps = 1e-3;
        double m[C], v[C], ds[C], doff[C];
        for (int c = 0; c < C; c++) {
            m[c] = v[c] = ds[c] = doff[c] = 0;
            for (int r = 0; r < R; r++) m[c] += x.wide[r * C + c] / R;
            for (int r = 0; r < R; r++) v[c] += (x.wide[r * C + c] - m[c]) * (x.wide[r * C + c] - m[c]) / R;
            double inverse = 1 / sqrt(v[c] + eps);
            for (int r = 0; r < R; r++) {
                double hat = (x.wide[r * C + c] - m[c]) * inverse;
                want[r * C + c] = hat * scale.wide[c] + offset.wide[c];
                ds[c] += dy.wide[r * C + c] * hat, doff[c] += dy.wide[r * C + c];
            }
            for (int r = 0; r < R; r++) {
                double hat = (x.wide[r * C + c] - m[c]) * inverse;
                want_dx[r * C + c] = scale.wide[c] * inverse * (dy.wide[r * C + c] - doff[c] / R - hat * ds[c] / R);
            }
        }
        size_t half = 70 * C * dtype_size(dtype);
        batch_norm_moments(dtype, x.raw, x.raw, x.raw, x.raw, (NormGate){0}, 70, C, sums);
        batch_norm_moments(dtype, (char *)x.raw + half, (char *)x.raw + half, x.raw, x.raw, (NormGate){0}, R - 70,
                           C, sums);
        batch_norm_statistics(dtype, sums, x.raw, R, C, mean.raw, variance.raw);
        expect_close(&mean, m, "mean"), expect_close(&variance, v, "variance");
        batch_norm_factors(dtype, mean.raw, variance.raw, scale.raw, offset.raw, eps, C, a.raw, b.raw);
        batch_norm_rows(dtype, x.raw, a.raw, b.raw, NULL, y.raw, R, C, false);
        expect_close(&y, want, "normalised");
        void *zeros = calloc(C, 8);
        memset(sums, 0, 2 * C * 8);
        batch_norm_moments(dtype, dy.raw, x.raw, zeros, mean.raw, (NormGate){0}, R, C, sums);
        batch_norm_grad_factors(dtype, sums, mean.raw, variance.raw, scale.raw, eps, true, R, C, d_scale.raw,
                                d_offset.raw, a.raw, b.raw, e.raw);
        batch_norm_grad_rows(dtype, dy.raw, x.raw, a.raw, b.raw, e.raw, (NormGate){0}, dx.raw, R, C);
        expect_close(&d_scale, ds, "scale gradient"), expect_close(&d_offset, doff, "offset gradient");
        expect_close(&dx, want_dx, "gradient");
        gated_rows(&dy, &x, &scale, &offset, &offset, R, C);
        free(sums), free(want), free(want_dx), free(zeros);
        Values *all[] = {&x, &dy, &y, &scale, &offset, &mean, &variance, &a, &b, &e, &d_scale, &d_offset, &dx};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) release(all[i]);
    }
}
END_TEST

START_TEST(local_response) {
    enum { R = 7, C = 13, RADIUS = 2 };
    double bias = 1.5, alpha = 0.3, beta = 0.75;
    for (int d = 0; d < 2; d++) {
        DType dtype = d ? DT_double : DT_float;
        Values x = values(dtype, R * C), dy = values(dtype, R * C), y = values(dtype, R * C), dx = values(dtype, R * C);
        double want[R * C], scale[R * C], want_dx[R * C];
        for (int i = 0; i < R * C; i++) {
            double sum = 0;
            for (int j = -RADIUS; j <= RADIUS; j++)
                if (i % C + j >= 0 && i % C + j < C) sum += x.wide[i + j] * x.wide[i + j];
            scale[i] = bias + alpha * sum, want[i] = x.wide[i] * pow(scale[i], -beta);
        }
        for (int i = 0; i < R * C; i++) {
            double sum = 0;
            for (int j = -RADIUS; j <= RADIUS; j++)
                if (i % C + j >= 0 && i % C + j < C) sum += dy.wide[i + j] * want[i + j] / scale[i + j];
            want_dx[i] = dy.wide[i] * pow(scale[i], -beta) - 2 * alpha * beta * x.wide[i] * sum;
        }
        void *work = malloc(local_response_work(dtype, C));
        local_response_rows(dtype, x.raw, y.raw, work, R, C, RADIUS, bias, alpha, beta);
        expect_close(&y, want, "local response");
        local_response_grad_rows(dtype, dy.raw, x.raw, y.raw, dx.raw, work, R, C, RADIUS, bias, alpha, beta);
        expect_close(&dx, want_dx, "local response gradient");
        free(work), release(&x), release(&dy), release(&y), release(&dx);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("window");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, convolutions);
    tcase_add_test(tests, pools);
    tcase_add_test(tests, softmax_and_losses);
    tcase_add_test(tests, losses_by_rows);
    tcase_add_test(tests, rows_without_numbers);
    tcase_add_test(tests, batch_normalisation);
    tcase_add_test(tests, local_response);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
