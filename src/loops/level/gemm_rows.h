// Matrix products of one real type, row-major. Included once per type with T and NAME set, and TALL where tiles of
// more than 8 rows are worth their code.
//
// A register tile of up to MOST_ROWS rows by two vectors of columns runs down k. Large operands are packed into panels that
// stay in the caches; small ones are read where they lie.
#define PASTE3_(a, b) a##_##b
#define PASTE3(a, b) PASTE3_(a, b)
#define FN(name) PASTE3(name, NAME)

#if LOOPS_LEVEL == 4 && defined(TALL)
enum { FN(MOST_ROWS) = 12 };
#elif LOOPS_LEVEL == 4
enum { FN(MOST_ROWS) = 8 };
#elif LOOPS_LEVEL == 3
enum { FN(MOST_ROWS) = 6 };
#else
enum { FN(MOST_ROWS) = 4 };
#endif
enum { FN(WIDTH) = LANES * (int)sizeof(float) / (int)sizeof(T) };
typedef T FN(Vector) __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(T)), may_alias));

typedef struct {
    int64_t k, am, ak, bk, ldc;   // steps of a along rows and along k, of b along k, of c along rows
    bool accumulate, relu;
    const T *bias;                // of these columns; NULL: none
} FN(Tile);

// c[rows][vectors * WIDTH] = a * b, + c, + bias, cut at 0.
INLINE void FN(tile)(const FN(Tile) *t, const T *a, const T *b, T *c, const int rows, const int vectors) {
    FN(Vector) sum[FN(MOST_ROWS)][2];
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int j = 0; j < vectors; j++)
            sum[i][j] = (FN(Vector)){0};
    int64_t am = t->am, ak = t->ak, bk = t->bk;
    for (int64_t p = t->k; p > 0; p--) {
        FN(Vector) column[2];
#pragma GCC unroll 2
        for (int j = 0; j < vectors; j++)
            column[j] = *(const FN(Vector) *)(b + j * FN(WIDTH));
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            T x = a[i * am];
#pragma GCC unroll 2
            for (int j = 0; j < vectors; j++)
                sum[i][j] += x * column[j];
        }
        a += ak;
        b += bk;
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int j = 0; j < vectors; j++) {
            FN(Vector) *to = (FN(Vector) *)(c + i * t->ldc + j * FN(WIDTH)), x = sum[i][j];
            if (t->accumulate)
                x += *to;
            if (t->bias)
                x += *(const FN(Vector) *)(t->bias + j * FN(WIDTH));
            if (t->relu) {
                FN(Vector) zero = {0};
                x = (FN(Vector))(~(x < zero) & (__typeof__(x < zero))x);
            }
            *to = x;
        }
}

typedef void (*FN(TileFn))(const FN(Tile) *t, const T *a, const T *b, T *c);
#define ONE_TILE(rows, vectors)                                                                   \
    static void FN(tile_##rows##_##vectors)(const FN(Tile) *t, const T *a, const T *b, T *c) {    \
        FN(tile)(t, a, b, c, rows, vectors);                                                      \
    }
#define BOTH(rows) ONE_TILE(rows, 1) ONE_TILE(rows, 2)
BOTH(1) BOTH(2) BOTH(3) BOTH(4)
#if LOOPS_LEVEL >= 3
BOTH(5) BOTH(6)
#endif
#if LOOPS_LEVEL >= 4
BOTH(7) BOTH(8)
#ifdef TALL
BOTH(9) BOTH(10) BOTH(11) BOTH(12)
#endif
#endif
#undef BOTH
#undef ONE_TILE
#define BOTH(rows) {FN(tile_##rows##_1), FN(tile_##rows##_2)}
static const FN(TileFn) FN(tiles)[FN(MOST_ROWS) + 1][2] = {
    {NULL, NULL}, BOTH(1), BOTH(2), BOTH(3), BOTH(4),
#if LOOPS_LEVEL >= 3
    BOTH(5), BOTH(6),
#endif
#if LOOPS_LEVEL >= 4
    BOTH(7), BOTH(8),
#ifdef TALL
    BOTH(9), BOTH(10), BOTH(11), BOTH(12),
#endif
#endif
};
#undef BOTH

// A tile narrower than its vectors goes through a full one. b must have whole vectors to read.
static void FN(edge)(FN(Tile) t, const T *a, const T *b, T *c, int rows, int64_t width) {
    T tile[FN(MOST_ROWS) * 2 * FN(WIDTH)], bias[2 * FN(WIDTH)] = {0};
    int vectors = width > FN(WIDTH) ? 2 : 1, full = vectors * FN(WIDTH);
    for (int i = 0; i < rows && t.accumulate; i++)
        for (int j = 0; j < full; j++)
            tile[i * full + j] = j < width ? c[i * t.ldc + j] : 0;
    if (t.bias) {
        for (int j = 0; j < width; j++)
            bias[j] = t.bias[j];
        t.bias = bias;
    }
    int64_t ldc = t.ldc;
    t.ldc = full;
    FN(tiles)[rows][vectors - 1](&t, a, b, tile);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < width; j++)
            c[i * ldc + j] = tile[i * full + j];
}

// Rows [0, m) of one strip of at most two vectors of columns.
static void FN(strip)(FN(Tile) t, const T *a, int64_t panel, const T *b, T *c, int64_t m, int64_t width) {
    int vectors = width > FN(WIDTH) ? 2 : 1;
    bool whole = width == vectors * FN(WIDTH);
    for (int64_t i = 0; i < m; i += FN(MOST_ROWS)) {
        int rows = (int)(m - i < FN(MOST_ROWS) ? m - i : FN(MOST_ROWS));
        const T *left = a + i * panel;
        if (whole)
            FN(tiles)[rows][vectors - 1](&t, left, b, c + i * t.ldc);
        else
            FN(edge)(t, left, b, c + i * t.ldc, rows, width);
    }
}

// Panels of two vectors of columns, rows of k one after the other, the last panel filled up with zeros.
static void FN(pack_b)(const T *b, int64_t row, int64_t column, int64_t k, int64_t n, T *out) {
    enum { PANEL = 2 * FN(WIDTH) };
    for (int64_t j = 0; j < n; j += PANEL) {
        int64_t width = n - j < PANEL ? n - j : PANEL;
        if (column == 1 && width == PANEL) {
            for (int64_t p = 0; p < k; p++)
                memcpy(out + p * PANEL, b + p * row + j, PANEL * sizeof(T));
        } else if (column == 1) {
            for (int64_t p = 0; p < k; p++)
                for (int l = 0; l < PANEL; l++)
                    out[p * PANEL + l] = l < width ? b[p * row + j + l] : 0;
        } else {
            if (width < PANEL)
                memset(out, 0, (size_t)(k * PANEL) * sizeof(T));
            // row is 1 here: b lies transposed
            LEVEL(loop_transposes)[sizeof(T) == 4 ? 2 : 3](b + j * column, out, width, k, column, PANEL);
        }
        out += k * PANEL;
    }
}

// Panels of MOST_ROWS rows, columns of k one after the other.
static void FN(pack_a)(const T *a, int64_t row, int64_t column, int64_t m, int64_t k, T *out) {
    for (int64_t i = 0; i < m; i += FN(MOST_ROWS)) {
        int64_t rows = m - i < FN(MOST_ROWS) ? m - i : FN(MOST_ROWS);
        if (row == 1)
            for (int64_t p = 0; p < k; p++)
                for (int64_t r = 0; r < rows; r++)
                    out[p * FN(MOST_ROWS) + r] = a[i + r + p * column];
        else
            for (int64_t r = 0; r < rows; r++)
                for (int64_t p = 0; p < k; p++)
                    out[p * FN(MOST_ROWS) + r] = a[(i + r) * row + p * column];
        out += k * FN(MOST_ROWS);
    }
}

// y[j] = x . b[:, j] for b of rows [k, n]: eight rows of b at a time.
static void FN(row_times_matrix)(const GemmShape *g, const T *x, int64_t step, const T *b, T *y) {
    int64_t n = g->n, p = 0;
    if (!g->accumulate)
        memset(y, 0, (size_t)n * sizeof(T));
    for (; p + 8 <= g->k; p += 8) {
        const T *q = b + p * g->ldb;
        T s[8];
        for (int i = 0; i < 8; i++)
            s[i] = x[(p + i) * step];
        for (int64_t j = 0; j < n; j++)
            y[j] += s[0] * q[j] + s[1] * q[j + g->ldb] + s[2] * q[j + 2 * g->ldb] + s[3] * q[j + 3 * g->ldb] +
                    s[4] * q[j + 4 * g->ldb] + s[5] * q[j + 5 * g->ldb] + s[6] * q[j + 6 * g->ldb] +
                    s[7] * q[j + 7 * g->ldb];
    }
    for (; p < g->k; p++)
        for (int64_t j = 0; j < n; j++)
            y[j] += x[p * step] * b[p * g->ldb + j];
    for (int64_t j = 0; j < n && g->bias; j++)
        y[j] += ((const T *)g->bias)[j];
    for (int64_t j = 0; j < n && g->relu; j++)
        y[j] = y[j] < 0 ? 0 : y[j];
}

// The products of x with some rows at once; each is summed in the same order, however many there are.
INLINE void FN(dot)(const T *x, const T *row, int64_t step, int64_t n, const int rows, T *out) {
    FN(Vector) sum[4][2];
    int64_t i = 0;
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = (FN(Vector)){0};
    for (; i + 2 * FN(WIDTH) <= n; i += 2 * FN(WIDTH))
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
            for (int j = 0; j < 2; j++)
                sum[r][j] += *(const FN(Vector) *)(x + i + j * FN(WIDTH)) *
                             *(const FN(Vector) *)(row + r * step + i + j * FN(WIDTH));
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
        T total = 0, rest = 0;
        sum[r][0] += sum[r][1];
        for (int j = 0; j < FN(WIDTH); j++)
            total += sum[r][0][j];
        for (int64_t p = i; p < n; p++)
            rest += x[p] * row[r * step + p];
        out[r] = total + rest;
    }
}

// Every element a product of two contiguous vectors: one row against rows of b, or rows of a against one column.
static void FN(dots)(const GemmShape *g, const T *a, int64_t row, const T *b, int64_t column, T *c) {
    bool one_row = g->m == 1;
    const T *x = one_row ? a : b, *rows = one_row ? b : a;
    int64_t n = one_row ? g->n : g->m, step = one_row ? column : row, c_step = one_row ? 1 : g->ldc, some;
    for (int64_t i = 0; i < n; i += some) {
        T sums[4];
        some = n - i >= 4 ? 4 : 1;
        if (some == 4)
            FN(dot)(x, rows + i * step, step, g->k, 4, sums);
        else
            FN(dot)(x, rows + i * step, step, g->k, 1, sums);
        for (int r = 0; r < some; r++) {
            T *to = c + (i + r) * c_step, y = sums[r];
            y += g->accumulate ? *to : 0;
            y += g->bias ? ((const T *)g->bias)[one_row ? i + r : 0] : 0;
            *to = g->relu && y < 0 ? 0 : y;
        }
    }
}

static void FN(gemm)(const GemmShape *g, const void *a_, const void *b_, void *c_, void *scratch) {
    const T *a = a_, *b = b_;
    T *c = c_;
    enum { PANEL = 2 * FN(WIDTH) };
    int64_t a_row = g->ta ? 1 : g->lda, a_column = g->ta ? g->lda : 1;
    int64_t b_row = g->tb ? 1 : g->ldb, b_column = g->tb ? g->ldb : 1;
    if (g->m == 1 && !g->tb && g->n >= 4) {
        FN(row_times_matrix)(g, a, a_column, b, c);
        return;
    }
    if ((g->m == 1 && g->tb && a_column == 1) || (g->n == 1 && a_column == 1 && b_row == 1)) {
        FN(dots)(g, a, a_row, b, b_column, c);
        return;
    }
    bool pack_a = g->m * g->k > GEMM_IN_PLACE, pack_b = b_column != 1 || g->k * g->n > 32768;
    int64_t depth = g->k == 0 ? 1 : GEMM_DEPTH;
    int64_t widest = g->n < GEMM_COLUMNS ? g->n : GEMM_COLUMNS;  // see gemm_scratch
    T *packed_b = scratch, *packed_a = packed_b + (g->k < depth ? g->k : depth) * ((widest + PANEL - 1) / PANEL * PANEL);
    for (int64_t jc = 0; jc < g->n; jc += GEMM_COLUMNS)
        for (int64_t pc = 0; pc < g->k || pc == 0; pc += depth) {
            int64_t n = g->n - jc < GEMM_COLUMNS ? g->n - jc : GEMM_COLUMNS;
            int64_t k = g->k - pc < depth ? g->k - pc : depth;
            const T *right = b + pc * b_row + jc * b_column;
            int64_t whole = pack_b ? 0 : n / FN(WIDTH) * FN(WIDTH);  // columns read where they lie
            FN(pack_b)(right + whole * b_column, b_row, b_column, k, n - whole, packed_b);
            bool last = pc + depth >= g->k;
            FN(Tile) t = {.k = k, .ldc = g->ldc, .accumulate = g->accumulate || pc > 0, .relu = last && g->relu};
            for (int64_t ic = 0; ic < g->m; ic += GEMM_ROWS) {
                int64_t m = g->m - ic < GEMM_ROWS ? g->m - ic : GEMM_ROWS;
                const T *left = a + ic * a_row + pc * a_column;
                if (pack_a)
                    FN(pack_a)(left, a_row, a_column, m, k, packed_a);
                t.am = pack_a ? 1 : a_row, t.ak = pack_a ? FN(MOST_ROWS) : a_column;
                for (int64_t j = 0; j < n;) {
                    bool in_place = j < whole;
                    int64_t end = in_place ? whole : n, width = end - j < PANEL ? end - j : PANEL;
                    t.bk = in_place ? b_row : PANEL;
                    t.bias = last && g->bias ? (const T *)g->bias + jc + j : NULL;
                    FN(strip)(t, pack_a ? packed_a : left, pack_a ? k : a_row,
                              in_place ? right + j : packed_b + (j - whole) * k, c + ic * g->ldc + jc + j, m, width);
                    j += width;
                }
            }
        }
}
#undef FN
#undef PASTE3
#undef PASTE3_
