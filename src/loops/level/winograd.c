// Winograd — the transforms of F(4x4, 3x3), vectors of channels at a time, and the products between them.
//
// A tile of 6 x 6 pixels d and a filter g of 3 x 3 become 36 points each, B'dB and GgG'; their products, summed over
// the input's channels, become 4 x 4 pixels by A'mA. The rows of B', G and A' are those of the points 0, +-sqrt(1/2),
// +-sqrt(2) and infinity, which lose half as many bits as the usual 0, +-1, +-2 and infinity. The gradient of the
// filter is the same chain walked back: dg = G' ((B'dB) * (A dy A')) G.
//
// Where an image ends with one or two rows or columns, a short tile makes only two, of 4 pixels and without the points
// +-sqrt(2). Its B' makes up for the factors of G, so that the filter is the same.
//
// Transformed images lie as [point][vector of channels][tile][LANES], so that a product reads a few tiles' channels
// from consecutive lines. Rows of points are a number of lines apart that is odd: they fall into different sets of the
// caches.
//
// After A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks", 2016, with other points.
#include "loops/level/table.h"

#if LOOPS_LEVEL >= 3

enum { ROWS = LOOPS_LEVEL == 4 ? 12 : 6, GRADIENT_ROWS = LOOPS_LEVEL == 4 ? 8 : 4 };

// The points: sqrt(1/2) and sqrt(2), whose squares are exact.
#define NEAR 0.70710678f
#define FAR 1.41421356f

typedef float Vector __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

INLINE Vector load(const float *from) {
    return *(const Vector *)from;
}

INLINE void store(float *to, Vector x) {
    *(Vector *)to = x;
}

// ---------------------------------------- transforms
//
// Two rows of points are made at a time, of all columns: few enough values to stay in registers, and nothing is
// computed twice. The pairs are those of 0 and infinity, +-sqrt(1/2) and +-sqrt(2).

enum { ENDS, NEAR_PAIR, FAR_PAIR };
static const int ROWS_OF[3][2] = {{0, 5}, {1, 2}, {3, 4}};

// A pair of rows of a matrix times a column.
typedef void PairFn(const Vector *d, const int pair, Vector *first, Vector *second);

// B' d
INLINE void image_pair(const Vector *d, const int pair, Vector *first, Vector *second) {
    if (pair == ENDS) {
        *first = d[4] + d[0] - 2.5f * d[2];
        *second = d[5] + d[1] - 2.5f * d[3];
        return;
    }
    float p = pair == NEAR_PAIR ? NEAR : FAR, other = pair == NEAR_PAIR ? 2 : 0.5f;  // the square of the other pair
    Vector even = d[4] - other * d[2], odd = d[3] - other * d[1];
    *first = even + p * odd;
    *second = even - p * odd;
}

INLINE void short_image_pair(const Vector *d, const int pair, Vector *first, Vector *second) {
    if (pair == ENDS) {
        *first = d[0] - 2 * d[2];
        *second = d[3] - 0.5f * d[1];
        return;
    }
    *first = -1.5f * d[2] - 1.5f * NEAR * d[1];
    *second = -1.5f * d[2] + 1.5f * NEAR * d[1];
}

// A d
INLINE void gradient_pair(const Vector *d, const int pair, Vector *first, Vector *second) {
    if (pair == ENDS) {
        *first = d[0];
        *second = d[3];
        return;
    }
    float p = pair == NEAR_PAIR ? NEAR : FAR, square = pair == NEAR_PAIR ? 0.5f : 2;
    Vector even = d[0] + square * d[2], odd = d[1] + square * d[3];
    *first = even + p * odd;
    *second = even - p * odd;
}

INLINE void short_gradient_pair(const Vector *d, const int pair, Vector *first, Vector *second) {
    *first = d[0];
    *second = d[1];
    if (pair == NEAR_PAIR) {
        *first += NEAR * d[1];
        *second = d[0] - NEAR * d[1];
    }
}

// G g
INLINE void filter_pair(const Vector *g, const int pair, Vector *first, Vector *second) {
    if (pair == ENDS) {
        *first = g[0];
        *second = g[2];
        return;
    }
    float p = pair == NEAR_PAIR ? NEAR : FAR, square = pair == NEAR_PAIR ? 0.5f : 2;
    float scale = pair == NEAR_PAIR ? -2.0f / 3 : 1.0f / 6;
    Vector even = scale * g[0] + scale * square * g[2];
    *first = even + scale * p * g[1];
    *second = even - scale * p * g[1];
}

// How a tile is read: pixels of a column and of a row, and what turns them into points. Short ones have no FAR_PAIR.
typedef struct {
    int height, width;
    bool low, narrow;
    PairFn *column, *row;
} Form;

INLINE void store_row(const Vector *values, const Form form, float *out, int64_t point) {
    Vector t[6];
    form.row(values, ENDS, t, t + 5);
    form.row(values, NEAR_PAIR, t + 1, t + 2);
    if (!form.narrow)
        form.row(values, FAR_PAIR, t + 3, t + 4);
#pragma GCC unroll 6
    for (int x = 0; x < 6; x++)
        if (!form.narrow || x < 3 || x > 4)
            store(out + x * point, t[x]);
}

// A pair of rows of points; whole vectors of channels.
INLINE void pair_of_rows(const float *const *pixels, int64_t channels, float *out, int64_t point, int64_t block,
                         const Form form, const int pair) {
    float *top = out + ROWS_OF[pair][0] * 6 * point, *bottom = out + ROWS_OF[pair][1] * 6 * point;
    for (int64_t c = 0; c < channels; c += LANES, top += block, bottom += block) {
        Vector first[6], second[6];
#pragma GCC unroll 6
        for (int x = 0; x < form.width; x++) {
            Vector d[6];
#pragma GCC unroll 6
            for (int y = 0; y < form.height; y++)
                d[y] = load(pixels[y * form.width + x] + c);
            form.column(d, pair, first + x, second + x);
        }
        store_row(first, form, top, point);
        store_row(second, form, bottom, point);
    }
}

INLINE void all_pairs(const float *const *pixels, int64_t channels, float *out, int64_t point, int64_t block,
                      const Form form) {
    pair_of_rows(pixels, channels, out, point, block, form, ENDS);
    pair_of_rows(pixels, channels, out, point, block, form, NEAR_PAIR);
    if (!form.low)
        pair_of_rows(pixels, channels, out, point, block, form, FAR_PAIR);
}

// The channels beyond the whole vectors, copied out and filled up with zeros.
typedef struct {
    float values[36][LANES];
    const float *pixels[36];
} Rest;

static void copy_rest(const float *const *pixels, int count, int64_t from, int64_t channels, Rest *rest) {
    memset(rest->values, 0, sizeof rest->values);
    for (int i = 0; i < count; i++) {
        memcpy(rest->values[i], pixels[i] + from, (size_t)(channels - from) * sizeof(float));
        rest->pixels[i] = rest->values[i];
    }
}

// Tiles of whole vectors of channels.
typedef void TileFn(const float *const *pixels, bool low, bool narrow, int64_t channels, float *out, int64_t point,
                    int64_t block);

#define FORMS(name, size, less, whole, shorter)                                                                  \
    __attribute__((noinline)) static void name(const float *const *pixels, bool low, bool narrow, int64_t channels, \
                                               float *out, int64_t point, int64_t block) {                        \
        if (low && narrow)                                                                                        \
            all_pairs(pixels, channels, out, point, block, (Form){less, less, 1, 1, shorter, shorter});           \
        else if (low)                                                                                             \
            all_pairs(pixels, channels, out, point, block, (Form){less, size, 1, 0, shorter, whole});             \
        else if (narrow)                                                                                          \
            all_pairs(pixels, channels, out, point, block, (Form){size, less, 0, 1, whole, shorter});             \
        else                                                                                                      \
            all_pairs(pixels, channels, out, point, block, (Form){size, size, 0, 0, whole, whole});               \
    }
FORMS(image_vectors, 6, 4, image_pair, short_image_pair)
FORMS(gradient_vectors, 4, 2, gradient_pair, short_gradient_pair)
#undef FORMS
__attribute__((noinline)) static void filter_vectors(const float *const *taps, bool low, bool narrow, int64_t channels,
                                                     float *out, int64_t point, int64_t block) {
    (void)low, (void)narrow;  // there are none
    all_pairs(taps, channels, out, point, block, (Form){3, 3, 0, 0, filter_pair, filter_pair});
}

// Tiles of any number of channels; `count` pixels.
INLINE void tile(const float *const *pixels, int count, bool low, bool narrow, int64_t channels, float *out,
                 int64_t point, int64_t block, TileFn *vectors) {
    int64_t whole = channels / LANES * LANES;
    vectors(pixels, low, narrow, whole, out, point, block);
    if (whole < channels) {
        Rest rest;
        copy_rest(pixels, count, whole, channels, &rest);
        vectors(rest.pixels, low, narrow, LANES, out + whole / LANES * block, point, block);
    }
}

static void image_tile(const float *const *pixels, bool low, bool narrow, int64_t channels, float *out, int64_t point,
                       int64_t block) {
    tile(pixels, (low ? 4 : 6) * (narrow ? 4 : 6), low, narrow, channels, out, point, block, image_vectors);
}

static void gradient_tile(const float *const *pixels, bool low, bool narrow, int64_t channels, float *out,
                          int64_t point, int64_t block) {
    tile(pixels, (low ? 2 : 4) * (narrow ? 2 : 4), low, narrow, channels, out, point, block, gradient_vectors);
}

// The row of one input channel, panel by panel.
static void filter_row(const float *const *taps, int64_t n, float *out, int64_t point, int64_t panel) {
    for (int64_t c = 0; c < n; c += 2 * LANES, out += panel) {
        const float *at[9];
        for (int i = 0; i < 9; i++)
            at[i] = taps[i] + c;
        tile(at, 9, false, false, n - c < 2 * LANES ? n - c : 2 * LANES, out, point, LANES, filter_vectors);
    }
}

// Rows 0 and 2, and rows 1 and 3, of y = A' m.
INLINE void even_pixels(const Vector *m, Vector *y0, Vector *y2) {
    Vector near = m[1] + m[2], far = m[3] + m[4];
    *y0 = m[0] + near + far;
    *y2 = NEAR * NEAR * near + FAR * FAR * far;
}
INLINE void odd_pixels(const Vector *m, Vector *y1, Vector *y3) {
    Vector near = m[1] - m[2], far = m[3] - m[4];
    *y1 = NEAR * near + FAR * far;
    *y3 = NEAR * NEAR * NEAR * near + FAR * FAR * FAR * far + m[5];
}

// g = G' t
INLINE void filter_of(const Vector *t, Vector *g) {
    Vector near = (t[1] + t[2]) * (-2.0f / 3), near_odd = (t[1] - t[2]) * (-2.0f / 3);
    Vector far = (t[3] + t[4]) * (1.0f / 6), far_odd = (t[3] - t[4]) * (1.0f / 6);
    g[0] = t[0] + near + far;
    g[1] = NEAR * near_odd + FAR * far_odd;
    g[2] = NEAR * NEAR * near + FAR * FAR * far + t[5];
}

// Both rows of a short tile.
INLINE void short_pixels(const Vector *m, Vector *y0, Vector *y1) {
    *y0 = m[0] + (m[1] + m[2]);
    *y1 = NEAR * (m[1] - m[2]) + m[5];
}

// Which rows or columns of pixels are made of points: 0 and 2, 1 and 3, or both of a tile that has two.
typedef enum { EVEN_PIXELS, ODD_PIXELS, SHORT_PIXELS } Part;

// Two rows of the pixels, whole vectors. `columns`: EVEN_PIXELS stands for all four.
INLINE void result_rows(const float *in, int64_t point, int64_t block, int64_t channels, const float *bias, bool relu,
                        float *const *pixels, const Part part, const Part columns) {
    for (int64_t c = 0; c < channels; c += LANES, in += block) {
        Vector rows[2][6], y[4], zero = {0}, add = bias ? load(bias + c) : zero;
#pragma GCC unroll 6
        for (int x = 0; x < 6; x++) {
            if (columns == SHORT_PIXELS && (x == 3 || x == 4))
                continue;
            Vector m[6];
#pragma GCC unroll 6
            for (int i = 0; i < 6; i++)
                if (part != SHORT_PIXELS || i < 3 || i > 4)
                    m[i] = load(in + (i * 6 + x) * point);
            if (part == SHORT_PIXELS)
                short_pixels(m, &rows[0][x], &rows[1][x]);
            else if (part == ODD_PIXELS)
                odd_pixels(m, &rows[0][x], &rows[1][x]);
            else
                even_pixels(m, &rows[0][x], &rows[1][x]);
        }
#pragma GCC unroll 2
        for (int i = 0; i < 2; i++) {
            float *const *to = pixels + (part == SHORT_PIXELS ? i : i * 2 + (part == ODD_PIXELS)) * 4;
            if (columns == SHORT_PIXELS)
                short_pixels(rows[i], y, y + 1);
            else {
                even_pixels(rows[i], y, y + 2);
                odd_pixels(rows[i], y + 1, y + 3);
            }
#pragma GCC unroll 4
            for (int x = 0; x < 4; x++) {
                if (columns == SHORT_PIXELS && x > 1)
                    continue;
                y[x] += add;
                if (relu)
                    y[x] = (Vector)(~(y[x] < zero) & (__typeof__(y[x] < zero))y[x]);
                if (to[x])
                    store(to[x] + c, y[x]);
            }
        }
    }
}

static void result_vectors(const float *in, bool low, bool narrow, int64_t point, int64_t block, int64_t channels,
                           const float *bias, bool relu, float *const *pixels) {
    if (low && narrow)
        result_rows(in, point, block, channels, bias, relu, pixels, SHORT_PIXELS, SHORT_PIXELS);
    else if (low)
        result_rows(in, point, block, channels, bias, relu, pixels, SHORT_PIXELS, EVEN_PIXELS);
    else if (narrow) {
        result_rows(in, point, block, channels, bias, relu, pixels, EVEN_PIXELS, SHORT_PIXELS);
        result_rows(in, point, block, channels, bias, relu, pixels, ODD_PIXELS, SHORT_PIXELS);
    } else {
        result_rows(in, point, block, channels, bias, relu, pixels, EVEN_PIXELS, EVEN_PIXELS);
        result_rows(in, point, block, channels, bias, relu, pixels, ODD_PIXELS, EVEN_PIXELS);
    }
}

static void result_tile(const float *in, bool low, bool narrow, int64_t point, int64_t block, int64_t channels,
                        const float *bias, bool relu, float *const pixels[16]) {
    int64_t whole = channels / LANES * LANES;
    result_vectors(in, low, narrow, point, block, whole, bias, relu, pixels);
    if (whole == channels)
        return;
    float values[16][LANES], biases[LANES] = {0}, *rest[16];
    size_t left = (size_t)(channels - whole) * sizeof **values;
    for (int i = 0; i < 16; i++)
        rest[i] = pixels[i] ? values[i] : NULL;
    if (bias)
        memcpy(biases, bias + whole, left);
    result_vectors(in + whole / LANES * block, low, narrow, point, block, LANES, bias ? biases : NULL, relu, rest);
    for (int i = 0; i < 16; i++)
        if (pixels[i])
            memcpy(pixels[i] + whole, values[i], left);
}

// The taps of d_filter of one input channel from 36 points, in whole vectors.
static void filter_gradient_row(const float *in, int64_t point, int64_t n, float *const *taps) {
    for (int64_t c = 0; c < n; c += LANES) {
        Vector rows[3][6], g[9];
#pragma GCC unroll 6
        for (int x = 0; x < 6; x++) {
            Vector t[6];
#pragma GCC unroll 6
            for (int y = 0; y < 6; y++)
                t[y] = load(in + (y * 6 + x) * point + c);
            filter_of(t, g);
            rows[0][x] = g[0], rows[1][x] = g[1], rows[2][x] = g[2];
        }
#pragma GCC unroll 3
        for (int y = 0; y < 3; y++)
            filter_of(rows[y], g + y * 3);
        if (n - c >= LANES)
#pragma GCC unroll 9
            for (int t = 0; t < 9; t++)
                store(taps[t] + c, g[t]);
        else
            for (int t = 0; t < 9; t++)
                memcpy(taps[t] + c, g + t, (size_t)(n - c) * sizeof(float));
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

static void products(const float *a, int64_t a_block, int64_t tiles, int64_t k, const float *b, int64_t vectors,
                     float *c, int64_t c_block) {
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

static const WinogradTransforms transforms = {image_tile, gradient_tile, result_tile, filter_row, filter_gradient_row};
extern const WinogradTransforms LEVEL(loop_winograd_5);

const WinogradTable LEVEL(loop_winograd) = {
    .lanes = LANES, .rows = ROWS, .of_3 = &transforms, .of_5 = &LEVEL(loop_winograd_5),
    .products = products, .gradient_products = gradient_products,
};
#else
const WinogradTable LEVEL(loop_winograd) = {.lanes = 0};
#endif
