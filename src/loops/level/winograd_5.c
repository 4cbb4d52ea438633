// Winograd — the transforms of F(4x4, 5x5): as winograd.c has them for 3x3, with tiles of 8 x 8 pixels and 64 points.
//
// The points are those of 0, +-1/2, +-1, +-2 and infinity. An eighth of the multiplications costs two bits more than
// those of F(4x4, 3x3) do.
#include "loops/level/table.h"

#if LOOPS_LEVEL >= 3

enum { SIDE = 8, FILTER = 5, PIXELS = 4, PAIRS = 4 };  // the first pair is that of 0 and infinity

typedef float Vector __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

static const int ROWS_OF[PAIRS][2] = {{0, 7}, {1, 2}, {3, 4}, {5, 6}};
#define POINT(pair) ((pair) == 1 ? 0.5f : (pair) == 2 ? 1.0f : 2.0f)
// What divides the rows of G: the product of a point's distances to the others.
#define DISTANCES(pair) ((pair) == 1 ? 45.0f / 32 : (pair) == 2 ? -4.5f : 90.0f)

INLINE Vector load(const float *from) {
    return *(const Vector *)from;
}

INLINE void store(float *to, Vector x) {
    *(Vector *)to = x;
}

// ---------------------------------------- transforms of a column: a pair of rows of a matrix times it

typedef void PairFn(const Vector *d, const int pair, Vector *first, Vector *second);

// B' d
INLINE void image_pair(const Vector *d, const int pair, Vector *first, Vector *second) {
    if (pair == 0) {
        *first = d[0] - d[6] + 5.25f * (d[4] - d[2]);
        *second = d[7] - d[1] + 5.25f * (d[3] - d[5]);
        return;
    }
    // The sum and the product of the squares of the other points.
    float sum = pair == 1 ? 5 : pair == 2 ? 4.25f : 1.25f, product = pair == 1 ? 4 : pair == 2 ? 1 : 0.25f;
    Vector even = d[6] - sum * d[4] + product * d[2], odd = d[5] - sum * d[3] + product * d[1];
    *first = even + POINT(pair) * odd;
    *second = even - POINT(pair) * odd;
}

// A d, of 4 pixels
INLINE void gradient_pair(const Vector *d, const int pair, Vector *first, Vector *second) {
    if (pair == 0) {
        *first = d[0];
        *second = d[3];
        return;
    }
    float p = POINT(pair);
    Vector even = d[0] + p * p * d[2], odd = p * d[1] + p * p * p * d[3];
    *first = even + odd;
    *second = even - odd;
}

// G g
INLINE void filter_pair(const Vector *g, const int pair, Vector *first, Vector *second) {
    if (pair == 0) {
        *first = g[0];
        *second = g[4];
        return;
    }
    float p = POINT(pair), scale = 1 / DISTANCES(pair);
    Vector even = scale * g[0] + scale * p * p * g[2] + scale * p * p * p * p * g[4];
    Vector odd = scale * p * g[1] + scale * p * p * p * g[3];
    *first = even + odd;
    *second = even - odd;
}

// Rows 0 and 2 (odd: 1 and 3) of A' m
INLINE void pixel_pair(const Vector *m, const int odd, Vector *first, Vector *second) {
    *first = *second = (Vector){0};
#pragma GCC unroll 3
    for (int pair = 1; pair < PAIRS; pair++) {
        float p = POINT(pair);
        Vector a = m[2 * pair - 1], b = m[2 * pair], x = odd ? p * (a - b) : a + b;
        *first += x;
        *second += p * p * x;
    }
    if (odd)
        *second += m[7];
    else
        *first += m[0];
}

// g = G' t
INLINE void filter_of(const Vector *t, Vector *g) {
    Vector zero = {0};
    g[0] = t[0], g[1] = g[2] = g[3] = zero, g[4] = t[7];
#pragma GCC unroll 3
    for (int pair = 1; pair < PAIRS; pair++) {
        float p = POINT(pair), scale = 1 / DISTANCES(pair);
        Vector even = scale * (t[2 * pair - 1] + t[2 * pair]), odd = scale * p * (t[2 * pair - 1] - t[2 * pair]);
        g[0] += even;
        g[1] += odd;
        g[2] += p * p * even;
        g[3] += p * p * odd;
        g[4] += p * p * p * p * even;
    }
}

// ---------------------------------------- tiles

// A pair of rows of the points of size x size numbers; whole vectors of channels.
INLINE void pair_of_rows(const float *const *pixels, int64_t channels, float *out, int64_t point, int64_t block,
                         const int size, PairFn *pair_of, const int pair) {
    for (int64_t c = 0; c < channels; c += LANES, out += block) {
        Vector rows[2][SIDE];
#pragma GCC unroll 8
        for (int x = 0; x < size; x++) {
            Vector d[SIDE];
#pragma GCC unroll 8
            for (int y = 0; y < size; y++)
                d[y] = load(pixels[y * size + x] + c);
            pair_of(d, pair, &rows[0][x], &rows[1][x]);
        }
#pragma GCC unroll 2
        for (int i = 0; i < 2; i++) {
            float *to = out + ROWS_OF[pair][i] * SIDE * point;
#pragma GCC unroll 4
            for (int j = 0; j < PAIRS; j++) {
                Vector first, second;
                pair_of(rows[i], j, &first, &second);
                store(to + ROWS_OF[j][0] * point, first);
                store(to + ROWS_OF[j][1] * point, second);
            }
        }
    }
}

INLINE void all_pairs(const float *const *pixels, int64_t channels, float *out, int64_t point, int64_t block,
                      const int size, PairFn *pair_of) {
    pair_of_rows(pixels, channels, out, point, block, size, pair_of, 0);
    pair_of_rows(pixels, channels, out, point, block, size, pair_of, 1);
    pair_of_rows(pixels, channels, out, point, block, size, pair_of, 2);
    pair_of_rows(pixels, channels, out, point, block, size, pair_of, 3);
}

typedef void TileFn(const float *const *pixels, int64_t channels, float *out, int64_t point, int64_t block);

#define VECTORS(name, size, pair_of)                                                                              \
    __attribute__((noinline)) static void name(const float *const *pixels, int64_t channels, float *out,          \
                                               int64_t point, int64_t block) {                                    \
        all_pairs(pixels, channels, out, point, block, size, pair_of);                                            \
    }
VECTORS(image_vectors, SIDE, image_pair)
VECTORS(gradient_vectors, PIXELS, gradient_pair)
VECTORS(filter_vectors, FILTER, filter_pair)
#undef VECTORS

// Channels beyond the whole vectors are copied out and filled up with zeros.
static void tile(const float *const *pixels, int count, int64_t channels, float *out, int64_t point, int64_t block,
                 TileFn *vectors) {
    int64_t whole = channels / LANES * LANES;
    vectors(pixels, whole, out, point, block);
    if (whole == channels)
        return;
    float values[SIDE * SIDE][LANES] = {{0}};
    const float *rest[SIDE * SIDE];
    for (int i = 0; i < count; i++) {
        memcpy(values[i], pixels[i] + whole, (size_t)(channels - whole) * sizeof **values);
        rest[i] = values[i];
    }
    vectors(rest, LANES, out + whole / LANES * block, point, block);
}

static void image_tile(const float *const *pixels, bool low, bool narrow, int64_t channels, float *out, int64_t point,
                       int64_t block) {
    (void)low, (void)narrow;  // there are none
    tile(pixels, SIDE * SIDE, channels, out, point, block, image_vectors);
}

static void gradient_tile(const float *const *pixels, bool low, bool narrow, int64_t channels, float *out,
                          int64_t point, int64_t block) {
    (void)low, (void)narrow;
    tile(pixels, PIXELS * PIXELS, channels, out, point, block, gradient_vectors);
}

static void filter_row(const float *const *taps, int64_t n, float *out, int64_t point, int64_t panel) {
    for (int64_t c = 0; c < n; c += 2 * LANES, out += panel) {
        const float *at[FILTER * FILTER];
        for (int i = 0; i < FILTER * FILTER; i++)
            at[i] = taps[i] + c;
        tile(at, FILTER * FILTER, n - c < 2 * LANES ? n - c : 2 * LANES, out, point, LANES, filter_vectors);
    }
}

// Rows 0 and 2, or 1 and 3, of the pixels.
INLINE void result_rows(const float *in, int64_t point, int64_t c, int64_t channels, Vector add, bool relu,
                        float *const *pixels, const int odd) {
    Vector rows[2][SIDE], y[PIXELS], zero = {0};
#pragma GCC unroll 8
    for (int x = 0; x < SIDE; x++) {
        Vector m[SIDE];
#pragma GCC unroll 8
        for (int i = 0; i < SIDE; i++)
            m[i] = load(in + (i * SIDE + x) * point);
        pixel_pair(m, odd, &rows[0][x], &rows[1][x]);
    }
    int64_t left = channels - c;
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        float *const *to = pixels + (i * 2 + odd) * PIXELS;
        pixel_pair(rows[i], 0, y, y + 2);
        pixel_pair(rows[i], 1, y + 1, y + 3);
#pragma GCC unroll 4
        for (int x = 0; x < PIXELS; x++) {
            y[x] += add;
            if (relu)
                y[x] = (Vector)(~(y[x] < zero) & (__typeof__(y[x] < zero))y[x]);
            if (to[x] && left >= LANES)
                store(to[x] + c, y[x]);
            else if (to[x])
                memcpy(to[x] + c, y + x, (size_t)left * sizeof(float));
        }
    }
}

static void result_tile(const float *in, bool low, bool narrow, int64_t point, int64_t block, int64_t channels,
                        const float *bias, bool relu, float *const pixels[16]) {
    (void)low, (void)narrow;
    for (int64_t c = 0; c < channels; c += LANES, in += block) {
        Vector add = {0};
        if (bias)
            memcpy(&add, bias + c, (size_t)(channels - c < LANES ? channels - c : LANES) * sizeof(float));
        result_rows(in, point, c, channels, add, relu, pixels, 0);
        result_rows(in, point, c, channels, add, relu, pixels, 1);
    }
}

static void filter_gradient_row(const float *in, int64_t point, int64_t n, float *const *taps) {
    for (int64_t c = 0; c < n; c += LANES) {
        Vector rows[FILTER][SIDE], g[FILTER];
        int64_t left = n - c;
        for (int x = 0; x < SIDE; x++) {
            Vector t[SIDE];
#pragma GCC unroll 8
            for (int y = 0; y < SIDE; y++)
                t[y] = load(in + (y * SIDE + x) * point + c);
            filter_of(t, g);
#pragma GCC unroll 5
            for (int y = 0; y < FILTER; y++)
                rows[y][x] = g[y];
        }
        for (int y = 0; y < FILTER; y++) {
            filter_of(rows[y], g);
#pragma GCC unroll 5
            for (int x = 0; x < FILTER; x++)
                if (left >= LANES)
                    store(taps[y * FILTER + x] + c, g[x]);
                else
                    memcpy(taps[y * FILTER + x] + c, g + x, (size_t)left * sizeof(float));
        }
    }
}

const WinogradTransforms LEVEL(loop_winograd_5) = {image_tile, gradient_tile, result_tile, filter_row,
                                                   filter_gradient_row};
#else
const WinogradTransforms LEVEL(loop_winograd_5) = {0};
#endif
