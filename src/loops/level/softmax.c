// Softmax and its losses: rows one after the other where they are long, sixteen abreast where they are short.
//
// The greatest element is taken off before the exponentials, so that none overflows. A short row fills no vector, and
// its maximum and sum would cost more shuffles than additions: sixteen rows are transposed instead, one to a lane.
#include "loops/level/math_double.h"
#include "loops/level/math_float.h"
#include "loops/level/table.h"

#define T float
#define NAME f32
#define M(name) f32_##name
#include "loops/level/softmax_rows.h"
#undef T
#undef NAME
#undef M
#define T double
#define NAME f64
#define M(name) f64_##name
#include "loops/level/softmax_rows.h"
#undef T
#undef NAME
#undef M

// ---- short rows of float: each lane of a vector has a row ----

enum { SIDE = SOFTMAX_ABREAST, SHORT = SOFTMAX_SHORT };

typedef float Four __attribute__((vector_size(16), aligned(4), may_alias));

// Four rows of four elements become four columns.
INLINE void turn_four(const float *from, int64_t step, float *to, int64_t stride) {
    Four a = *(const Four *)from, b = *(const Four *)(from + step);
    Four c = *(const Four *)(from + 2 * step), d = *(const Four *)(from + 3 * step);
    Four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    Four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    *(Four *)to = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    *(Four *)(to + stride) = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    *(Four *)(to + 2 * stride) = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
    *(Four *)(to + 3 * stride) = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

// tile[c][r] = x[r][c]; lanes without a row repeat the first. The last four columns may come twice.
static void rows_to_lanes(const float *x, int64_t rows, int64_t n, float tile[][SIDE]) {
    if (rows < SIDE || n < 4) {
        for (int64_t c = 0; c < n; c++)
            for (int64_t r = 0; r < SIDE; r++)
                tile[c][r] = x[(r < rows ? r : 0) * n + c];
        return;
    }
    for (int64_t c = 0; c < n; c += 4) {
        int64_t at = n - c < 4 ? n - 4 : c;
        for (int64_t r = 0; r < SIDE; r += 4)
            turn_four(x + r * n + at, n, &tile[at][r], SIDE);
    }
}

static void lanes_to_rows(float tile[][SIDE], float *y, int64_t rows, int64_t n) {
    if (rows < SIDE || n < 4) {
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < n; c++)
                y[r * n + c] = tile[c][r];
        return;
    }
    for (int64_t c = 0; c < n; c += 4) {
        int64_t at = n - c < 4 ? n - 4 : c;
        for (int64_t r = 0; r < SIDE; r += 4)
            turn_four(&tile[at][r], SIDE, y + r * n + at, n);
    }
}

// x minus the greatest of each row, e to that, and the sums of those.
static void lane_exponentials(float x[][SIDE], float e[][SIDE], int64_t n, float *total) {
    float most[SIDE], sum[SIDE] = {0};
    for (int l = 0; l < SIDE; l++)
        most[l] = x[0][l];
    for (int64_t c = 1; c < n; c++)
        for (int l = 0; l < SIDE; l++)
            most[l] = x[c][l] > most[l] ? x[c][l] : most[l];
    for (int64_t c = 0; c < n; c++) {
        VECTOR_LOOP
        for (int l = 0; l < SIDE; l++) {
            float d = x[c][l] - most[l];
            x[c][l] = d;
            e[c][l] = f32_exp_below(d);
        }
    }
    int64_t c = 0;
    for (; c + 4 <= n; c += 4)
        for (int l = 0; l < SIDE; l++)
            sum[l] += (e[c][l] + e[c + 1][l]) + (e[c + 2][l] + e[c + 3][l]);
    for (; c < n; c++)
        for (int l = 0; l < SIDE; l++)
            sum[l] += e[c][l];
    memcpy(total, sum, sizeof sum);
}

static void short_softmax(const float *x, float *y, int64_t rows, int64_t n, bool logarithm) {
    float d[SHORT][SIDE], e[SHORT][SIDE], total[SIDE];
    rows_to_lanes(x, rows, n, d);
    lane_exponentials(d, e, n, total);
    if (logarithm) {
        for (int l = 0; l < SIDE; l++)
            total[l] = f32_log(total[l]);
        for (int64_t c = 0; c < n; c++)
            for (int l = 0; l < SIDE; l++)
                e[c][l] = d[c][l] - total[l];
    } else {
        for (int l = 0; l < SIDE; l++)
            total[l] = 1 / total[l];
        for (int64_t c = 0; c < n; c++)
            for (int l = 0; l < SIDE; l++)
                e[c][l] *= total[l];
    }
    lanes_to_rows(e, y, rows, n);
}

// total becomes its reciprocal; f: 1, or the rows' factors.
static void lane_factors(float *total, const float *factor, int64_t rows, float *shift, float *f) {
    VECTOR_LOOP
    for (int l = 0; l < SIDE; l++)
        shift[l] = f32_log(total[l]);
    for (int l = 0; l < SIDE; l++)
        total[l] = 1 / total[l];
    for (int l = 0; l < SIDE; l++)
        f[l] = 1;
    if (factor)
        memcpy(f, factor, (size_t)rows * sizeof *f);
}

static void short_cross_entropy(const float *x, const float *labels, const float *factor, float *loss, float *g,
                                int64_t rows, int64_t n) {
    float d[SHORT][SIDE], e[SHORT][SIDE], p[SHORT][SIDE], total[SIDE], shift[SIDE], cost[SIDE] = {0}, f[SIDE];
    rows_to_lanes(x, rows, n, d);
    rows_to_lanes(labels, rows, n, p);
    lane_exponentials(d, e, n, total);
    lane_factors(total, factor, rows, shift, f);
    for (int64_t c = 0; c < n; c++)
        for (int l = 0; l < SIDE; l++) {
            float part = p[c][l] * (shift[l] - d[c][l]);
            cost[l] += p[c][l] == 0 ? 0 : part;
            e[c][l] = (e[c][l] * total[l] - p[c][l]) * f[l];
        }
    lanes_to_rows(e, g, rows, n);
    memcpy(loss, cost, (size_t)rows * sizeof *loss);
}

// The label's own column is p - 1, computed apart since p near 1 loses nothing that way; labels are in range.
static void short_sparse_cross_entropy(const float *x, const int64_t *labels, const float *factor, float *loss,
                                       float *g, int64_t rows, int64_t n) {
    float d[SHORT][SIDE], e[SHORT][SIDE], total[SIDE], shift[SIDE], f[SIDE], here[SIDE];
    rows_to_lanes(x, rows, n, d);
    lane_exponentials(d, e, n, total);
    lane_factors(total, factor, rows, shift, f);
    for (int64_t r = 0; r < rows; r++) {
        loss[r] = shift[r] - d[labels[r]][r];
        here[r] = (e[labels[r]][r] * total[r] - 1) * f[r];
    }
    for (int64_t c = 0; c < n; c++)
        for (int l = 0; l < SIDE; l++)
            e[c][l] = e[c][l] * total[l] * f[l];
    lanes_to_rows(e, g, rows, n);
    for (int64_t r = 0; r < rows; r++)
        g[r * n + labels[r]] = here[r];
}

// ---- by length ----

static int64_t abreast(int64_t rows, int64_t first) {
    return rows - first < SIDE ? rows - first : SIDE;
}

static void softmax_f32(const void *in, void *out, int64_t rows, int64_t n, bool logarithm) {
    if (n > SHORT)
        softmax_of_f32(in, out, rows, n, logarithm);
    else
        for (int64_t r = 0; r < rows; r += SIDE)
            short_softmax((const float *)in + r * n, (float *)out + r * n, abreast(rows, r), n, logarithm);
}

static void cross_entropy_f32(const void *logits, const void *labels, const void *factor, void *loss, void *gradient,
                              int64_t rows, int64_t n) {
    const float *f = factor;
    if (n > SHORT)
        cross_entropy_of_f32(logits, labels, f, loss, gradient, rows, n);
    else
        for (int64_t r = 0; r < rows; r += SIDE)
            short_cross_entropy((const float *)logits + r * n, (const float *)labels + r * n, f ? f + r : NULL,
                                (float *)loss + r, (float *)gradient + r * n, abreast(rows, r), n);
}

static void sparse_cross_entropy_f32(const void *logits, const int64_t *labels, const void *factor, void *loss,
                                     void *gradient, int64_t rows, int64_t n) {
    const float *f = factor;
    if (n > SHORT)
        sparse_cross_entropy_of_f32(logits, labels, f, loss, gradient, rows, n);
    else
        for (int64_t r = 0; r < rows; r += SIDE)
            short_sparse_cross_entropy((const float *)logits + r * n, labels + r, f ? f + r : NULL, (float *)loss + r,
                                       (float *)gradient + r * n, abreast(rows, r), n);
}

static void softmax_f64(const void *in, void *out, int64_t rows, int64_t n, bool logarithm) {
    softmax_of_f64(in, out, rows, n, logarithm);
}
static void cross_entropy_f64(const void *logits, const void *labels, const void *factor, void *loss, void *gradient,
                              int64_t rows, int64_t n) {
    cross_entropy_of_f64(logits, labels, factor, loss, gradient, rows, n);
}
static void sparse_cross_entropy_f64(const void *logits, const int64_t *labels, const void *factor, void *loss,
                                     void *gradient, int64_t rows, int64_t n) {
    sparse_cross_entropy_of_f64(logits, labels, factor, loss, gradient, rows, n);
}

const SoftmaxTable LEVEL(loop_softmaxes) = {
    .softmax = {softmax_f32, softmax_f64},
    .cross_entropy = {cross_entropy_f32, cross_entropy_f64},
    .sparse_cross_entropy = {sparse_cross_entropy_f32, sparse_cross_entropy_f64},
};
