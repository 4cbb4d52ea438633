// Winograd — the transforms of F(4x4, 3x3), vectors of channels at a time, and the products between them.
//
// A tile of 6 x 6 pixels d and a filter g of 3 x 3 become 36 points each, B'dB and GgG'; their products, summed over the
// input's channels, become 4 x 4 pixels by A'mA. The rows of B', G and A' are those of the points 0, 1, -1, 2, -2 and
// infinity. The gradient of the filter is the same chain walked back: dg = G' ((B'dB) * (A dy A')) G.
//
// Transformed images lie as [point][vector of channels][tile][LANES], so that a product reads a few tiles' channels from
// consecutive lines. Rows of points are a number of lines apart that is odd: they fall into different sets of the caches.
#include "loops/level/table.h"

#if LOOPS_LEVEL >= 3

enum { ROWS = LOOPS_LEVEL == 4 ? 12 : 6, GRADIENT_ROWS = LOOPS_LEVEL == 4 ? 8 : 4 };

static const float NEAR = 0.70710678f, FAR = 1.41421356f;  // sqrt(1/2), sqrt(2)

typedef float Vector __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

INLINE Vector load(const float *from) {
    return *(const Vector *)from;
}

INLINE void store(float *to, Vector x) {
    *(Vector *)to = x;
}

// The first n lanes of a vector; the others are 0.
static Vector load_some(const float *from, int64_t n) {
    float lanes[LANES] = {0};
    memcpy(lanes, from, (size_t)n * sizeof *lanes);
    return load(lanes);
}

static void store_some(float *to, Vector x, int64_t n) {
    float lanes[LANES];
    store(lanes, x);
    memcpy(to, lanes, (size_t)n * sizeof *lanes);
}

// ---------------------------------------- transforms of one row or column

// t = B' d
INLINE void image_points(const Vector *d, Vector *t) {
    Vector even = d[4] - 2 * d[2], odd = d[3] - 2 * d[1], far_even = d[4] - 0.5f * d[2], far_odd = d[3] - 0.5f * d[1];
    t[0] = d[4] + d[0] - 2.5f * d[2];
    t[1] = even + NEAR * odd;
    t[2] = even - NEAR * odd;
    t[3] = far_even + FAR * far_odd;
    t[4] = far_even - FAR * far_odd;
    t[5] = d[5] + d[1] - 2.5f * d[3];
}

// y = A' m
INLINE void pixels_of(const Vector *m, Vector *y) {
    Vector sum = m[1] + m[2], difference = m[1] - m[2], far_sum = m[3] + m[4], far_difference = m[3] - m[4];
    y[0] = m[0] + sum + far_sum;
    y[1] = NEAR * difference + FAR * far_difference;
    y[2] = 0.5f * sum + 2 * far_sum;
    y[3] = 0.5f * NEAR * difference + 2 * FAR * far_difference + m[5];
}

// t = A d
INLINE void gradient_points(const Vector *d, Vector *t) {
    Vector even = d[0] + 0.5f * d[2], odd = d[1] + 0.5f * d[3], far_even = d[0] + 2 * d[2], far_odd = d[1] + 2 * d[3];
    t[0] = d[0];
    t[1] = even + NEAR * odd;
    t[2] = even - NEAR * odd;
    t[3] = far_even + FAR * far_odd;
    t[4] = far_even - FAR * far_odd;
    t[5] = d[3];
}

// t = G g
INLINE void filter_points(const Vector *g, Vector *t) {
    Vector even = g[0] + 0.5f * g[2], far_even = g[0] + 2 * g[2];
    t[0] = g[0];
    t[1] = (even + NEAR * g[1]) * (-2.0f / 3);
    t[2] = (even - NEAR * g[1]) * (-2.0f / 3);
    t[3] = (far_even + FAR * g[1]) * (1.0f / 6);
    t[4] = (far_even - FAR * g[1]) * (1.0f / 6);
    t[5] = g[2];
}

// g = G' t
INLINE void filter_of(const Vector *t, Vector *g) {
    Vector sum = (t[1] + t[2]) * (-2.0f / 3), difference = (t[1] - t[2]) * (-2.0f / 3);
    Vector far_sum = (t[3] + t[4]) * (1.0f / 6), far_difference = (t[3] - t[4]) * (1.0f / 6);
    g[0] = t[0] + sum + far_sum;
    g[1] = NEAR * difference + FAR * far_difference;
    g[2] = 0.5f * sum + 2 * far_sum + t[5];
}

// ---------------------------------------- transforms of tiles

// Both directions of a transform from `from` x `from` to `to` x `to`; in and out are walked by rows.
#define BOTH_DIRECTIONS(transform, from, to, in, out)       \
    do {                                                    \
        Vector half_[6][6];                                 \
        _Pragma("GCC unroll 6")                             \
        for (int x_ = 0; x_ < (from); x_++) {               \
            Vector a_[6], b_[6];                            \
            _Pragma("GCC unroll 6")                         \
            for (int y_ = 0; y_ < (from); y_++)             \
                a_[y_] = (in)[y_ * (from) + x_];            \
            transform(a_, b_);                              \
            _Pragma("GCC unroll 6")                         \
            for (int y_ = 0; y_ < (to); y_++)               \
                half_[y_][x_] = b_[y_];                     \
        }                                                   \
        _Pragma("GCC unroll 6")                             \
        for (int y_ = 0; y_ < (to); y_++)                   \
            transform(half_[y_], (out) + y_ * (to));        \
    } while (0)

// The loads of a tile of `count` pixels, and the stores of 36 points.
INLINE void load_pixels(const float *const *pixels, const int count, int64_t c, int64_t channels, Vector *out) {
    if (c + LANES <= channels) {
#pragma GCC unroll 36
        for (int i = 0; i < count; i++)
            out[i] = load(pixels[i] + c);
        return;
    }
    for (int i = 0; i < count; i++)
        out[i] = load_some(pixels[i] + c, channels - c);
}

INLINE void store_points(const Vector *points, float *out, int64_t point) {
#pragma GCC unroll 36
    for (int i = 0; i < 36; i++)
        store(out + i * point, points[i]);
}

static void image_tile(const float *const pixels[36], int64_t channels, float *out, int64_t point, int64_t block) {
    for (int64_t c = 0; c < channels; c += LANES, out += block) {
        Vector d[36], t[36];
        load_pixels(pixels, 36, c, channels, d);
        BOTH_DIRECTIONS(image_points, 6, 6, d, t);
        store_points(t, out, point);
    }
}

static void gradient_tile(const float *const pixels[16], int64_t channels, float *out, int64_t point, int64_t block) {
    for (int64_t c = 0; c < channels; c += LANES, out += block) {
        Vector d[16], t[36];
        load_pixels(pixels, 16, c, channels, d);
        BOTH_DIRECTIONS(gradient_points, 4, 6, d, t);
        store_points(t, out, point);
    }
}

static void result_tile(const float *in, int64_t point, int64_t block, int64_t channels, const float *bias, bool relu,
                        float *const pixels[16]) {
    for (int64_t c = 0; c < channels; c += LANES, in += block) {
        Vector m[36], y[16];
        bool whole = c + LANES <= channels;
#pragma GCC unroll 36
        for (int i = 0; i < 36; i++)
            m[i] = load(in + i * point);
        BOTH_DIRECTIONS(pixels_of, 6, 4, m, y);
        if (bias) {
            Vector add = whole ? load(bias + c) : load_some(bias + c, channels - c);
            for (int i = 0; i < 16; i++)
                y[i] += add;
        }
        if (relu)
            for (int i = 0; i < 16; i++) {
                Vector zero = {0};
                y[i] = (Vector)(~(y[i] < zero) & (__typeof__(y[i] < zero))y[i]);
            }
#pragma GCC unroll 16
        for (int i = 0; i < 16; i++)
            if (pixels[i]) {
                if (whole)
                    store(pixels[i] + c, y[i]);
                else
                    store_some(pixels[i] + c, y[i], channels - c);
            }
    }
}

// Points of the filters from one input channel to n output channels, whose nine numbers begin at `taps`.
static void filter_row(const float *const taps[9], int64_t n, float *out, int64_t point, int64_t panel) {
    for (int64_t c = 0; c < n; c += LANES) {
        Vector g[9], t[36];
        load_pixels(taps, 9, c, n, g);
        BOTH_DIRECTIONS(filter_points, 3, 6, g, t);
        store_points(t, out + c / (2 * LANES) * panel + c % (2 * LANES), point);
    }
}

// d_filter's nine taps of one input channel from 36 points.
static void filter_gradient_row(const float *in, int64_t point, int64_t n, float *const taps[9]) {
    for (int64_t c = 0; c < n; c += LANES) {
        Vector t[36], g[9];
#pragma GCC unroll 36
        for (int i = 0; i < 36; i++)
            t[i] = load(in + i * point + c);
        BOTH_DIRECTIONS(filter_of, 6, 3, t, g);
#pragma GCC unroll 9
        for (int i = 0; i < 9; i++)
            if (c + LANES <= n)
                store(taps[i] + c, g[i]);
            else
                store_some(taps[i] + c, g[i], n - c);
    }
}

// ---------------------------------------- products

// c[vector][row] = sum over k of a[k / LANES][row][k % LANES] * b[k][vector]; `a_block`, `c_block`: from a vector of
// channels to the next.
INLINE void product(const float *a, int64_t a_block, int64_t k, const float *b, float *c, int64_t c_block,
                    const int rows, const int vectors) {
    Vector sum[ROWS][2];
#pragma GCC unroll 12
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int j = 0; j < vectors; j++)
            sum[i][j] = (Vector){0};
    for (; k > 0; k -= LANES, a += a_block) {
        const float *end = a + (k < LANES ? k : LANES);
        for (const float *p = a; p < end; p++, b += 2 * LANES) {
            Vector column[2];
#pragma GCC unroll 2
            for (int j = 0; j < vectors; j++)
                column[j] = load(b + j * LANES);
#pragma GCC unroll 12
            for (int i = 0; i < rows; i++) {
                float x = p[i * LANES];
#pragma GCC unroll 2
                for (int j = 0; j < vectors; j++)
                    sum[i][j] += x * column[j];
            }
        }
    }
#pragma GCC unroll 2
    for (int j = 0; j < vectors; j++)
#pragma GCC unroll 12
        for (int i = 0; i < rows; i++)
            store(c + j * c_block + i * LANES, sum[i][j]);
}

typedef void (*ProductFn)(const float *a, int64_t a_block, int64_t k, const float *b, float *c, int64_t c_block);
#define ONE(rows, vectors)                                                                                         \
    static void product_##rows##_##vectors(const float *a, int64_t a_block, int64_t k, const float *b, float *c,     \
                                           int64_t c_block) {                                                        \
        product(a, a_block, k, b, c, c_block, rows, vectors);                                                       \
    }
#define BOTH(rows) ONE(rows, 1) ONE(rows, 2)
BOTH(1) BOTH(2) BOTH(3) BOTH(4) BOTH(5) BOTH(6)
#if LOOPS_LEVEL == 4
BOTH(7) BOTH(8) BOTH(9) BOTH(10) BOTH(11) BOTH(12)
#endif
#undef BOTH
#undef ONE
#define BOTH(rows) {product_##rows##_1, product_##rows##_2}
static const ProductFn product_of[ROWS + 1][2] = {
    {NULL, NULL}, BOTH(1), BOTH(2), BOTH(3), BOTH(4), BOTH(5), BOTH(6),
#if LOOPS_LEVEL == 4
    BOTH(7), BOTH(8), BOTH(9), BOTH(10), BOTH(11), BOTH(12),
#endif
};
#undef BOTH

static void products(const float *a, int64_t a_block, int64_t tiles, int64_t k, const float *b, int64_t vectors, float *c,
                     int64_t c_block) {
    int64_t parts = (tiles + ROWS - 1) / ROWS;
    for (int64_t v = 0; v < vectors; v += 2, b += 2 * LANES * k, c += 2 * c_block)
        for (int64_t part = 0, row = 0; part < parts; part++) {
            int64_t rows = (tiles - row + parts - part - 1) / (parts - part);
            product_of[rows][vectors - v > 1](a + row * LANES, a_block, k, b, c + row * LANES, c_block);
            row += rows;
        }
}

// c[row][vector] (+)= sum over tiles of a[tile][row] * b[vector][tile].
INLINE void gradient_product(const float *a, const float *b, int64_t b_block, int64_t tiles, float *c, int64_t ldc,
                             bool add, const int rows, const int vectors) {
    Vector sum[GRADIENT_ROWS][3];
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 3
        for (int j = 0; j < vectors; j++)
            sum[i][j] = add ? load(c + i * ldc + j * LANES) : (Vector){0};
    for (int64_t t = 0; t < tiles; t++, a += LANES, b += LANES) {
        Vector column[3];
#pragma GCC unroll 3
        for (int j = 0; j < vectors; j++)
            column[j] = load(b + j * b_block);
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            float x = a[i];
#pragma GCC unroll 3
            for (int j = 0; j < vectors; j++)
                sum[i][j] += x * column[j];
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 3
        for (int j = 0; j < vectors; j++)
            store(c + i * ldc + j * LANES, sum[i][j]);
}

static void gradient_products(const float *a, int64_t a_block, int64_t rows, const float *b, int64_t b_block,
                              int64_t vectors, int64_t tiles, float *c, int64_t ldc, bool add) {
    for (int64_t v = 0; v < vectors;) {
        int64_t left = vectors - v, width = left == 3 || left > 4 ? 3 : left == 1 ? 1 : 2;
        for (int64_t r = 0; r < rows; r += GRADIENT_ROWS) {
            const float *from = a + r / LANES * a_block + r % LANES, *with = b + v * b_block;
            float *to = c + r * ldc + v * LANES;
            if (width == 3)
                gradient_product(from, with, b_block, tiles, to, ldc, add, GRADIENT_ROWS, 3);
            else if (width == 2)
                gradient_product(from, with, b_block, tiles, to, ldc, add, GRADIENT_ROWS, 2);
            else
                gradient_product(from, with, b_block, tiles, to, ldc, add, GRADIENT_ROWS, 1);
        }
        v += width;
    }
}

const WinogradTable LEVEL(loop_winograd) = {
    .lanes = LANES, .rows = ROWS, .gradient_rows = GRADIENT_ROWS,
    .image_tile = image_tile, .gradient_tile = gradient_tile, .result_tile = result_tile,
    .filter_row = filter_row, .filter_gradient_row = filter_gradient_row,
    .products = products, .gradient_products = gradient_products,
};
#else
const WinogradTable LEVEL(loop_winograd) = {.lanes = 0};
#endif
