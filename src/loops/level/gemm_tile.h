// The insides of matrix products of one real type: tiles of the result that lie in registers, and transposes.
// Included once per type with T, NAME and WIDTH, the lanes of a vector, set.
//
// A tile of MOST_ROWS rows by MOST_VECTORS vectors of columns runs down k: 6 by 4 with 32 registers, since each element
// of a then serves 4 multiplications. 117 of 117 GFLOP/s on Zen 4, where 12 by 2 gave 110 to 116.
#define PASTE3_(a, b) a##_##b
#define PASTE3(a, b) PASTE3_(a, b)
#define FN(name) PASTE3(name, NAME)

enum { FN(MOST_ROWS) = LOOPS_LEVEL == 1 ? 4 : 6, FN(MOST_VECTORS) = LOOPS_LEVEL == 4 ? 4 : 2 };
enum { FN(PANEL) = FN(MOST_VECTORS) * WIDTH, FN(DOT_ROWS) = LOOPS_LEVEL == 4 ? 6 : 2 };
typedef T FN(Vector) __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(T)), may_alias));

// What will be read next: `runs` of `lines` cache lines, `step` bytes apart. A few are fetched every CHUNK steps of k:
// all at once they would hold up what the tile itself reads.
typedef struct {
    const char *from;
    int64_t step, runs, lines, each, run, line;
} FN(Ahead);
enum { FN(CHUNK) = 16 };

// Spread over `tiles` tiles of depth k.
static FN(Ahead) FN(ahead)(const T *from, int64_t step, int64_t runs, int64_t length, int64_t tiles, int64_t k) {
    int64_t size = sizeof(T), lines = (length * size + 63) / 64, times = tiles * ((k + FN(CHUNK) - 1) / FN(CHUNK));
    return (FN(Ahead)){(const char *)from, step * size, runs, lines, times ? (runs * lines + times - 1) / times : 0, 0,
                       0};
}

INLINE void FN(fetch)(FN(Ahead) *ahead) {
    for (int64_t n = ahead->each; n > 0 && ahead->run < ahead->runs; n--) {
        __builtin_prefetch(ahead->from + ahead->run * ahead->step + ahead->line * 64);
        if (++ahead->line == ahead->lines)
            ahead->line = 0, ahead->run++;
    }
}

typedef struct {
    int64_t k, am, ak, bk, ldc;   // steps of a along rows and along k, of b along k, of c along rows
    T scale;                      // of the product
    bool scaled, accumulate, relu;
    const T *bias;                // of these columns; NULL: none
    FN(Ahead) next_a, next_b;
} FN(Tile);

// The tile's sums, on their way out. Each step goes over all of them, since a branch for each costs as much as the
// step.
INLINE void FN(finish)(const FN(Tile) *t, FN(Vector) (*sum)[FN(MOST_VECTORS)], const T *c, const int rows,
                       const int vectors) {
#define EACH(...)                                 \
    _Pragma("GCC unroll 8")                       \
    for (int i = 0; i < rows; i++)                \
        _Pragma("GCC unroll 4")                   \
        for (int j = 0; j < vectors; j++) {       \
            __VA_ARGS__;                          \
        }
#define HELD (*(const FN(Vector) *)(c + i * t->ldc + j * WIDTH))
    if (t->scaled && t->accumulate)
        EACH(sum[i][j] = sum[i][j] * t->scale + HELD)
    else if (t->scaled)
        EACH(sum[i][j] *= t->scale)
    else if (t->accumulate)
        EACH(sum[i][j] += HELD)
#undef HELD
#undef EACH
}

// What is rarer, when the tile has been written but is in the first cache yet: in each tile it would be half of the
// code.
NOINLINE static void FN(bias_and_relu)(const FN(Tile) *t, T *c, int rows, int vectors) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < vectors; j++) {
            FN(Vector) *at = (FN(Vector) *)(c + i * t->ldc + j * WIDTH), x = *at, zero = {0};
            if (t->bias)
                x += *(const FN(Vector) *)(t->bias + j * WIDTH);
            *at = t->relu ? (FN(Vector))(~(x < zero) & (__typeof__(zero < zero))x) : x;
        }
}

// c[rows][vectors * WIDTH] = scale * a * b, + c, + bias, cut at 0.
INLINE void FN(tile)(FN(Tile) *t, const T *a, const T *b, T *c, const int rows, const int vectors) {
    FN(Vector) sum[FN(MOST_ROWS)][FN(MOST_VECTORS)];
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++)
            sum[i][j] = (FN(Vector)){0};
    int64_t am = t->am, ak = t->ak, bk = t->bk;
    const T *lower = a + 3 * am;   // two pointers reach six rows by what an address can hold
    for (int64_t left = t->k, chunk = 0; left > 0; left -= FN(CHUNK), chunk++) {
        for (int j = 0; j < vectors && chunk < rows; j++)
            __builtin_prefetch(c + chunk * t->ldc + j * WIDTH, 1);
        FN(fetch)(&t->next_a);
        FN(fetch)(&t->next_b);
        for (int64_t p = left < FN(CHUNK) ? left : FN(CHUNK); p > 0; p--) {
            FN(Vector) column[FN(MOST_VECTORS)];
#pragma GCC unroll 4
            for (int j = 0; j < vectors; j++)
                column[j] = *(const FN(Vector) *)(b + j * WIDTH);
#pragma GCC unroll 8
            for (int i = 0; i < rows; i++) {
                T x = i < 3 ? a[i * am] : lower[(i - 3) * am];
#pragma GCC unroll 4
                for (int j = 0; j < vectors; j++)
                    sum[i][j] += x * column[j];
            }
            a += ak, lower += ak, b += bk;
        }
    }
    FN(finish)(t, sum, c, rows, vectors);
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++)
            *(FN(Vector) *)(c + i * t->ldc + j * WIDTH) = sum[i][j];
    if (t->bias || t->relu)
        FN(bias_and_relu)(t, c, rows, vectors);
}

typedef void (*FN(TileFn))(FN(Tile) *t, const T *a, const T *b, T *c);
#define ONE_TILE(rows, vectors)                                                                   \
    static void FN(tile_##rows##_##vectors)(FN(Tile) *t, const T *a, const T *b, T *c) {    \
        FN(tile)(t, a, b, c, rows, vectors);                                                      \
    }
#if LOOPS_LEVEL == 4
#define TILES(rows) ONE_TILE(rows, 1) ONE_TILE(rows, 2) ONE_TILE(rows, 3) ONE_TILE(rows, 4)
#else
#define TILES(rows) ONE_TILE(rows, 1) ONE_TILE(rows, 2)
#endif
TILES(1) TILES(2) TILES(3) TILES(4)
#if LOOPS_LEVEL > 1
TILES(5) TILES(6)
#endif
#undef TILES
#undef ONE_TILE
#if LOOPS_LEVEL == 4
#define TILES(rows) {FN(tile_##rows##_1), FN(tile_##rows##_2), FN(tile_##rows##_3), FN(tile_##rows##_4)}
#else
#define TILES(rows) {FN(tile_##rows##_1), FN(tile_##rows##_2)}
#endif
static const FN(TileFn) FN(tiles)[FN(MOST_ROWS) + 1][FN(MOST_VECTORS)] = {
    {NULL}, TILES(1), TILES(2), TILES(3), TILES(4),
#if LOOPS_LEVEL > 1
    TILES(5), TILES(6),
#endif
};
#undef TILES

// A tile narrower than its vectors goes through a full one. b must have whole vectors to read.
static void FN(edge)(FN(Tile) *to, const T *a, const T *b, T *c, int rows, int64_t width) {
    FN(Tile) t = *to;
    T tile[FN(MOST_ROWS) * FN(PANEL)], bias[FN(PANEL)] = {0};
    int64_t vectors = (width + WIDTH - 1) / WIDTH, full = vectors * WIDTH, ldc = t.ldc;
    for (int i = 0; i < rows && t.accumulate; i++)
        for (int64_t j = 0; j < full; j++)
            tile[i * full + j] = j < width ? c[i * ldc + j] : 0;
    if (t.bias) {
        memcpy(bias, t.bias, (size_t)width * sizeof(T));
        t.bias = bias;
    }
    t.ldc = full;
    FN(tiles)[rows][vectors - 1](&t, a, b, tile);
    to->next_a = t.next_a, to->next_b = t.next_b;
    for (int i = 0; i < rows; i++)
        memcpy(c + i * ldc, tile + i * full, (size_t)width * sizeof(T));
}

// ---------------------------------------- vectors side by side

// The first halves of x and y, lane by lane in turn; the second ones.
#if WIDTH == 16
#define LOW(x, y) __builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH(x, y) __builtin_shufflevector(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#elif WIDTH == 8
#define LOW(x, y) __builtin_shufflevector(x, y, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH(x, y) __builtin_shufflevector(x, y, 4, 12, 5, 13, 6, 14, 7, 15)
#elif WIDTH == 4
#define LOW(x, y) __builtin_shufflevector(x, y, 0, 4, 1, 5)
#define HIGH(x, y) __builtin_shufflevector(x, y, 2, 6, 3, 7)
#else
#define LOW(x, y) __builtin_shufflevector(x, y, 0, 2)
#define HIGH(x, y) __builtin_shufflevector(x, y, 1, 3)
#endif

// out[j * to + i] = in[i * from + j], WIDTH by WIDTH: interleaving log2(WIDTH) times what lies half of them apart.
INLINE void FN(transpose)(const T *in, int64_t from, T *out, int64_t to) {
    FN(Vector) row[WIDTH], mixed[WIDTH];
#pragma GCC unroll 16
    for (int i = 0; i < WIDTH; i++)
        row[i] = *(const FN(Vector) *)(in + i * from);
#pragma GCC unroll 4
    for (int half = WIDTH; half > 1; half /= 2) {
#pragma GCC unroll 8
        for (int i = 0; i < WIDTH / 2; i++) {
            mixed[2 * i] = LOW(row[i], row[i + WIDTH / 2]);
            mixed[2 * i + 1] = HIGH(row[i], row[i + WIDTH / 2]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < WIDTH; i++)
            row[i] = mixed[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < WIDTH; i++)
        *(FN(Vector) *)(out + i * to) = row[i];
}

// The sums of the lanes of four vectors, each by the same tree.
INLINE void FN(sums_of_lanes)(FN(Vector) x0, FN(Vector) x1, FN(Vector) x2, FN(Vector) x3, T *out) {
    FN(Vector) even = LOW(x0, x2) + HIGH(x0, x2), odd = LOW(x1, x3) + HIGH(x1, x3);
    if (WIDTH == 2) {
        for (int j = 0; j < 4; j++)
            out[j] = j & 1 ? odd[j / 2] : even[j / 2];
        return;
    }
    FN(Vector) all = LOW(even, odd) + HIGH(even, odd);
#pragma GCC unroll 4
    for (int groups = WIDTH / 4; groups > 1; groups /= 2)
        all = LOW(all, all) + HIGH(all, all);
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++)
        out[j] = all[j * (WIDTH / 4) % WIDTH];
}
#undef LOW
#undef HIGH

// ---------------------------------------- vectors along k

// sums[r][j] = a's row r times b's row j: whole vectors, `deep` at a time, then what is left of k.
INLINE void FN(dot)(const T *a, int64_t am, const T *b, int64_t bn, int64_t k, const int rows, const int columns,
                    const int deep, T (*sums)[4]) {
    FN(Vector) sum[FN(DOT_ROWS)][4][2];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int j = 0; j < columns; j++)
            sum[r][j][0] = sum[r][j][1] = (FN(Vector)){0};
    const T *lower = a + 3 * am, *far = b + 2 * bn;
    int64_t p = 0;
    for (; p + deep * WIDTH <= k; p += deep * WIDTH)
#pragma GCC unroll 2
        for (int d = 0; d < deep; d++) {
            FN(Vector) column[4];
#pragma GCC unroll 4
            for (int j = 0; j < columns; j++)
                column[j] = *(const FN(Vector) *)((j < 2 ? b + j * bn : far + (j - 2) * bn) + p + d * WIDTH);
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++) {
                FN(Vector) row = *(const FN(Vector) *)((r < 3 ? a + r * am : lower + (r - 3) * am) + p + d * WIDTH);
#pragma GCC unroll 4
                for (int j = 0; j < columns; j++)
                    sum[r][j][d] += row * column[j];
            }
        }
    const int second = columns > 1, third = columns > 1 ? 2 : 0, fourth = columns - 1;
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 4
        for (int j = 0; j < columns && deep == 2; j++)
            sum[r][j][0] += sum[r][j][1];
        FN(sums_of_lanes)(sum[r][0][0], sum[r][second][0], sum[r][third][0], sum[r][fourth][0], sums[r]);
        for (int j = 0; j < columns; j++) {
            T rest = 0;
            for (int64_t q = p; q < k; q++)
                rest += a[r * am + q] * b[j * bn + q];
            sums[r][j] += rest;
        }
    }
}

typedef void (*FN(DotFn))(const T *a, int64_t am, const T *b, int64_t bn, int64_t k, T (*sums)[4]);
#define ONE_DOT(name, rows, columns, deep)                                                                          \
    static void FN(dot_##name##_##columns)(const T *a, int64_t am, const T *b, int64_t bn, int64_t k, T (*sums)[4]) {  \
        FN(dot)(a, am, b, bn, k, rows, columns, deep, sums);                                                        \
    }
#define DOTS(name, rows, deep) ONE_DOT(name, rows, 1, deep) ONE_DOT(name, rows, 4, deep)
DOTS(alone, 1, 2) DOTS(1, 1, 1) DOTS(2, 2, 1)
#if LOOPS_LEVEL == 4
DOTS(3, 3, 1) DOTS(4, 4, 1) DOTS(5, 5, 1) DOTS(6, 6, 1)
#endif
#undef DOTS
#undef ONE_DOT
#define DOTS(name) {FN(dot_##name##_1), FN(dot_##name##_4)}
// [0]: a product that has but one row, two vectors at a time.
static const FN(DotFn) FN(dots)[FN(DOT_ROWS) + 1][2] = {
    DOTS(alone), DOTS(1), DOTS(2),
#if LOOPS_LEVEL == 4
    DOTS(3), DOTS(4), DOTS(5), DOTS(6),
#endif
};
#undef DOTS
