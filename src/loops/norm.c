// Norm — see norm.h. The rows are in level/window_rows.h; here are the factors by channel.
//
// A batch normalisation is y = a x + b with two factors a channel, and its gradient dx = a dy + b x + d with three, all
// computed in double from sums. So both passes over memory are one multiplication and one addition an element.
#include "loops/norm.h"

#include <math.h>

#include "base/checked.h"
#include "loops/level/table.h"

static int slot(DType dtype) {
    return dtype == DT_double;
}
static double get(DType dtype, const void *p, int64_t i) {
    return dtype == DT_double ? ((const double *)p)[i] : (double)((const float *)p)[i];
}
static void put(DType dtype, void *p, int64_t i, double v) {
    if (dtype == DT_double)
        ((double *)p)[i] = v;
    else
        ((float *)p)[i] = (float)v;
}
static size_t width(DType dtype) {
    return dtype == DT_double ? 8 : 4;
}

int64_t softmax_abreast(DType dtype, int64_t n) {
    return dtype == DT_float && n <= SOFTMAX_SHORT ? SOFTMAX_ABREAST : 1;
}

int64_t softmax_picoseconds(DType dtype) {
    return dtype == DT_float ? 500 : 5000;
}

void softmax_rows(DType dtype, const void *x, void *y, int64_t rows, int64_t n, bool logarithm) {
    loops_table()->softmax->softmax[slot(dtype)](x, y, rows, n, logarithm);
}

void cross_entropy_rows(DType dtype, const void *logits, const void *labels, const void *factor, void *loss,
                        void *gradient, int64_t rows, int64_t n) {
    loops_table()->softmax->cross_entropy[slot(dtype)](logits, labels, factor, loss, gradient, rows, n);
}

// TensorFlow's CPU kernel fails for a label out of range; the row is NaN all the same, since the op may only report it
// after other rows were written.
static void spoil_row(DType dtype, void *loss, void *gradient, int64_t r, int64_t n) {
    put(dtype, loss, r, (double)NAN);
    for (int64_t i = r * n; i < (r + 1) * n; i++)
        put(dtype, gradient, i, (double)NAN);
}

int64_t sparse_cross_entropy_rows(DType dtype, const void *logits, const void *labels, DType index, const void *factor,
                                  void *loss, void *gradient, int64_t rows, int64_t n) {
    enum { STRIP = 64 };
    size_t size = width(dtype);
    int64_t bad = -1, wide[STRIP];
    bool good[STRIP];
    for (int64_t first = 0; first < rows; first += STRIP) {
        int64_t count = min_i64(STRIP, rows - first), faults = 0;
        for (int64_t r = 0; r < count; r++) {
            int64_t label = index == DT_int32 ? ((const int32_t *)labels)[first + r]
                : ((const int64_t *)labels)[first + r];
            good[r] = label >= 0 && label < n;
            wide[r] = good[r] ? label : 0;
            faults += !good[r];
        }
        size_t at = (size_t)first * size, whole = at * (size_t)n;
        loops_table()->softmax->sparse_cross_entropy[slot(dtype)](
            (const char *)logits + whole, wide, factor ? (const char *)factor + at : NULL, (char *)loss + at,
            (char *)gradient + whole, count, n);
        for (int64_t r = 0; faults && r < count; r++)
            if (!good[r]) {
                bad = first + r;
                spoil_row(dtype, loss, gradient, bad, n);
            }
    }
    return bad;
}

void batch_norm_moments(DType dtype, const void *x, const void *y, const void *shift_x, const void *shift_y,
                        NormGate gate, int64_t rows, int64_t channels, double *sums) {
    loops_table()->window->moments[slot(dtype)](x, y, shift_x, shift_y, gate.a, gate.b, rows, channels, sums);
}

void batch_norm_statistics(DType dtype, const double *sums, const void *shift, int64_t rows, int64_t channels,
                           void *mean, void *variance) {
    // sums are of x - shift: with a shift near the mean the difference of two large numbers loses nothing. fmax:
    // rounding may give a variance below 0.
    double n = rows > 0 ? (double)rows : 1;
    for (int64_t c = 0; c < channels; c++) {
        double first = sums[c] / n, second = sums[channels + c] / n;
        put(dtype, mean, c, get(dtype, shift, c) + first);
        put(dtype, variance, c, fmax(0, second - first * first));
    }
}

void batch_norm_factors(DType dtype, const void *mean, const void *variance, const void *scale, const void *offset,
                        double epsilon, int64_t channels, void *a, void *b) {
    for (int64_t c = 0; c < channels; c++) {
        double factor = get(dtype, scale, c) / sqrt(get(dtype, variance, c) + epsilon);
        put(dtype, a, c, factor);
        put(dtype, b, c, get(dtype, offset, c) - get(dtype, mean, c) * factor);
    }
}

void batch_norm_rows(DType dtype, const void *x, const void *a, const void *b, const void *side, void *y, int64_t rows,
                     int64_t channels, bool relu) {
    loops_table()->window->scale_rows[slot(dtype)](x, a, b, side, y, rows, channels, relu);
}

void batch_norm_grad_factors(DType dtype, const double *sums, const void *mean, const void *variance,
                             const void *scale, double epsilon, bool training, int64_t rows, int64_t channels,
                             void *d_scale, void *d_offset, void *a, void *b, void *d) {
    double n = rows > 0 ? (double)rows : 1;
    for (int64_t c = 0; c < channels; c++) {
        double inverse = 1 / sqrt(get(dtype, variance, c) + epsilon), m = get(dtype, mean, c);
        double sum = sums[c], product = sums[channels + c], factor = get(dtype, scale, c) * inverse;
        double slope = training ? -factor * product * inverse * inverse / n : 0;
        put(dtype, d_offset, c, sum);
        put(dtype, d_scale, c, product * inverse);
        put(dtype, a, c, factor);
        put(dtype, b, c, slope);
        put(dtype, d, c, training ? -factor * sum / n - slope * m : 0);
    }
}

void batch_norm_grad_rows(DType dtype, const void *dy, const void *x, const void *a, const void *b, const void *d,
                          NormGate gate, void *dx, int64_t rows, int64_t channels) {
    loops_table()->window->blend_rows[slot(dtype)](dy, x, a, b, d, gate.a, gate.b, dx, rows, channels);
}

size_t local_response_work(DType dtype, int64_t channels) {
    return 3 * (size_t)channels * width(dtype);
}

// A radius beyond the channels adds nothing.
void local_response_rows(DType dtype, const void *x, void *y, void *work, int64_t rows, int64_t channels,
                         int64_t radius, double bias, double alpha, double beta) {
    radius = min_i64(radius, channels);
    loops_table()->window->local_response[slot(dtype)](x, y, work, rows, channels, radius, bias, alpha, beta);
}

void local_response_grad_rows(DType dtype, const void *dy, const void *x, const void *y, void *dx, void *work,
                              int64_t rows, int64_t channels, int64_t radius, double bias, double alpha, double beta) {
    radius = min_i64(radius, channels);
    loops_table()->window->local_response_grad[slot(dtype)](dy, x, y, dx, work, rows, channels, radius, bias, alpha,
                                                            beta);
}
