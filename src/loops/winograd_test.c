// Tests of winograd.h against direct convolutions in double, on every CPU level that has it.
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/suite_test.h"
#include "loops/level/table.h"
#include "loops/winograd.h"

#define EXPECT(condition, ...)           \
    do {                                 \
        if (!(condition))                \
            ck_abort_msg(__VA_ARGS__);   \
    } while (0)

static const int levels[] = {3, 4};
static uint32_t seed = 7;

static float *random_values(int64_t n) {
    float *v = malloc((size_t)(n + 1) * sizeof *v);
    for (int64_t i = 0; i <= n; i++) {
        seed = seed * 1664525u + 1013904223u;
        v[i] = (float)((seed >> 8) % 2001) / 1000 - 1;
    }
    return v;
}

typedef struct {
    WindowShape s;
    int64_t x_n, filter_n, y_n;
    float *x, *filter, *y, *bias;
} Case;

static Case case_of(const WindowShape *s) {
    Case c = {.s = *s, .x_n = s->batch * s->in_h * s->in_w * s->in_c,
              .filter_n = s->filter_h * s->filter_w * s->in_c * s->out_c,
              .y_n = s->batch * s->out_h * s->out_w * s->out_c};
    c.x = random_values(c.x_n), c.filter = random_values(c.filter_n), c.y = random_values(c.y_n);
    c.bias = random_values(s->out_c);
    return c;
}

static void release(Case *c) {
    free(c->x), free(c->filter), free(c->y), free(c->bias);
}

// The result of a pass by its definition.
static double *expected(const Case *c, ConvPass pass) {
    const WindowShape *s = &c->s;
    int64_t n = pass == CONV_FORWARD ? c->y_n : pass == CONV_INPUT ? c->x_n : c->filter_n;
    double *out = calloc((size_t)n + 1, sizeof *out);
    int64_t taps = s->filter_h * s->filter_w;
    for (int64_t i = 0; i < s->batch * s->out_h * s->out_w * taps; i++) {
        int64_t tap = i % taps, pixel = i / taps, ox = pixel % s->out_w, oy = pixel / s->out_w % s->out_h;
        int64_t image = pixel / s->out_w / s->out_h, iy = oy - s->pad_top + tap / s->filter_w;
        int64_t ix = ox - s->pad_left + tap % s->filter_w;
        if (iy < 0 || iy >= s->in_h || ix < 0 || ix >= s->in_w)
            continue;
        int64_t at = ((image * s->in_h + iy) * s->in_w + ix) * s->in_c;
        const float *x = c->x + at, *dy = c->y + pixel * s->out_c, *f = c->filter + tap * s->in_c * s->out_c;
        for (int64_t k = 0; k < s->in_c; k++)
            for (int64_t o = 0; o < s->out_c; o++)
                if (pass == CONV_FORWARD)
                    out[pixel * s->out_c + o] += (double)x[k] * f[k * s->out_c + o];
                else if (pass == CONV_INPUT)
                    out[at + k] += (double)dy[o] * f[k * s->out_c + o];
                else
                    out[tap * s->in_c * s->out_c + k * s->out_c + o] += (double)x[k] * dy[o];
    }
    return out;
}

static void *room(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
    memset(memory, 0xff, bytes);  // not a number, wherever it is read
    return memory;
}

// What a pass gives; units and packing run backwards, `step` at a time.
static float *result(const Case *c, ConvPass pass, int threads, int64_t step, bool relu, int64_t *out_n) {
    WinogradPlan p;
    ck_assert(winograd_prepare(pass, &c->s, threads, &p));
    *out_n = pass == CONV_FORWARD ? c->y_n : pass == CONV_INPUT ? c->x_n : c->filter_n;
    float *out = room((size_t)(*out_n + 1) * sizeof *out), *packed = room(p.packed), *partial = room(p.partial);
    void *scratch = room(p.scratch);
    memset(out, 0, (size_t)(*out_n + 1) * sizeof *out);
    for (int64_t i = p.pack_units; i > 0 && pass != CONV_FILTER; i -= step)
        winograd_pack(&p, c->filter, packed, i > step ? i - step : 0, i);
    for (int64_t i = p.units; i > 0; i -= step) {
        int64_t first = i > step ? i - step : 0;
        if (pass == CONV_FILTER)
            winograd_filter(&p, c->x, c->y, out, partial, scratch, first, i);
        else
            winograd_run(&p, pass == CONV_FORWARD ? c->x : c->y, packed, relu ? c->bias : NULL, relu, out, scratch,
                         first, i);
    }
    if (pass == CONV_FILTER)
        winograd_filter_finish(&p, out, partial, 0, p.finish_units);
    free(packed), free(partial), free(scratch);
    return out;
}

static void check_pass(const Case *c, ConvPass pass, bool relu) {
    static const double limits[] = {1.5e-6, 2e-6, 1.5e-6};
    static const char *names[] = {"forward", "input", "filter"};
    double *want = expected(c, pass), error = 0, size = 1e-30;
    int64_t n, m;
    float *got = result(c, pass, 1, 1, relu, &n), *again = result(c, pass, 3, 5, relu, &m);
    for (int64_t i = 0; i < n; i++) {
        if (relu)
            want[i] = fmax(0, want[i] + c->bias[i % c->s.out_c]);
        error += (got[i] - want[i]) * (got[i] - want[i]);
        size += want[i] * want[i];
    }
    double limit = limits[pass] * (c->s.filter_h == 5 ? 3 : 1);  // 64 points lose more bits than 36
    EXPECT(sqrt(error / size) < limit, "%s %dx%dx%d to %d: off by %g", names[pass], (int)c->s.in_h, (int)c->s.in_w,
           (int)c->s.in_c, (int)c->s.out_c, sqrt(error / size));
    EXPECT(got[n] == 0 && !memcmp(got, again, (size_t)n * sizeof *got), "%s: other units, other bits", names[pass]);
    free(want), free(got), free(again);
}

static const WindowShape shapes[] = {
    {2, 14, 14, 32, 14, 14, 64, 3, 3, 1, 1, 1, 1, 1, 1, .groups = 1},   // same padding
    {1, 13, 9, 19, 11, 7, 33, 3, 3, 1, 1, 1, 1, 0, 0, .groups = 1},     // valid; no whole vectors
    {3, 7, 7, 40, 7, 7, 16, 3, 3, 1, 1, 1, 1, 1, 1, .groups = 1},
    {1, 5, 6, 16, 10, 9, 17, 3, 3, 1, 1, 1, 1, 4, 3, .groups = 1},      // explicit: windows that lie outside
    {2, 3, 3, 8, 1, 1, 9, 3, 3, 1, 1, 1, 1, 0, 0, .groups = 1},         // one pixel
    {1, 1, 1, 3, 1, 1, 1, 3, 3, 1, 1, 1, 1, 1, 1, .groups = 1},
    {9, 16, 12, 17, 16, 12, 48, 3, 3, 1, 1, 1, 1, 1, 1, .groups = 1},   // several blocks and cuts
    {1, 6, 5, 150, 6, 5, 290, 3, 3, 1, 1, 1, 1, 1, 1, .groups = 1},     // several chunks
    {3, 10, 8, 20, 10, 8, 24, 3, 3, 1, 1, 1, 1, 1, 1, .groups = 1},     // low tiles
    {3, 8, 9, 20, 8, 9, 24, 3, 3, 1, 1, 1, 1, 1, 1, .groups = 1},       // narrow tiles
    {2, 14, 14, 32, 14, 14, 64, 5, 5, 1, 1, 1, 1, 2, 2, .groups = 1},   // 5x5
    {1, 11, 12, 19, 7, 8, 33, 5, 5, 1, 1, 1, 1, 0, 0, .groups = 1},
    {2, 4, 5, 17, 9, 8, 150, 5, 5, 1, 1, 1, 1, 4, 3, .groups = 1},
    {0, 8, 8, 16, 8, 8, 16, 3, 3, 1, 1, 1, 1, 1, 1, .groups = 1},       // nothing
};

START_TEST(passes) {
    for (int l = 0; l < 2; l++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes && loops_choose_level(levels[l]); i++) {
            Case c = case_of(&shapes[i]);
            for (int pass = CONV_FORWARD; pass <= CONV_FILTER; pass++)
                check_pass(&c, (ConvPass)pass, false);
            check_pass(&c, CONV_FORWARD, true);
            release(&c);
        }
}
END_TEST

START_TEST(other_shapes) {
    WinogradPlan plan;
    WindowShape s = shapes[0];
    if (!loops_choose_level(3))
        return;
    ck_assert(winograd_prepare(CONV_FORWARD, &s, 1, &plan));
    s.stride_w = 2, s.out_w = 7;
    ck_assert(!winograd_prepare(CONV_FORWARD, &s, 1, &plan));
    s = shapes[0], s.dilation_h = 2;
    ck_assert(!winograd_prepare(CONV_FORWARD, &s, 1, &plan));
    s = shapes[0], s.filter_h = s.filter_w = 4;
    ck_assert(!winograd_prepare(CONV_FORWARD, &s, 1, &plan));
    s = shapes[0], s.filter_h = 5;
    ck_assert(!winograd_prepare(CONV_FORWARD, &s, 1, &plan));
    s = shapes[0], s.groups = 2;
    ck_assert(!winograd_prepare(CONV_FORWARD, &s, 1, &plan));
    ck_assert(loops_choose_level(1));
    ck_assert(!winograd_prepare(CONV_FORWARD, &shapes[0], 1, &plan));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("winograd");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, passes);
    tcase_add_test(tests, other_shapes);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
