// Matrix products of one real type, row-major: what is packed, and in which order the tiles are walked. Included once
// per type, as level/gemm_tile.h is, which it includes.
//
// A panel of b, as wide as a tile, is packed, k rows one after the other, and serves all tiles of a block of a, which
// stays in the second cache. What comes next is fetched ahead from memory, some lines before each tile: without,
// packing waits for memory, 5 % of a product of 80 MB. a is read where it lies, unless that is transposed.
//
// After K. Goto and R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008.
#include "loops/level/gemm_tile.h"

// Panels of b's columns, filled up with zeros. Either of row and column is 1.
static void FN(pack_b)(const T *b, int64_t row, int64_t column, int64_t k, int64_t n, T *out) {
    for (int64_t j = 0; j < n; j += FN(PANEL), out += k * FN(PANEL)) {
        int64_t width = n - j < FN(PANEL) ? n - j : FN(PANEL), whole = width / WIDTH * WIDTH, deep = k / WIDTH * WIDTH;
        if (column == 1) {
            for (int64_t p = 0; p < k; p++, b += row) {
                for (int v = 0; v < FN(PANEL) && whole == FN(PANEL); v += WIDTH)
                    *(FN(Vector) *)(out + p * FN(PANEL) + v) = *(const FN(Vector) *)(b + j + v);
                for (int l = 0; l < FN(PANEL) && whole < FN(PANEL); l++)
                    out[p * FN(PANEL) + l] = l < width ? b[j + l] : 0;
            }
            b -= k * row;
            continue;
        }
        for (int64_t v = 0; v < whole; v += WIDTH)
            for (int64_t p = 0; p < deep; p += WIDTH)
                FN(transpose)(b + (j + v) * column + p, column, out + p * FN(PANEL) + v, FN(PANEL));
        for (int64_t p = 0; p < k; p++)
            for (int64_t l = p < deep ? whole : 0; l < FN(PANEL); l++)
                out[p * FN(PANEL) + l] = l < width ? b[(j + l) * column + p] : 0;
    }
}

// A transposed a, k rows of `step`: the rows of each tile side by side. Eight elements are written where a tile has six
// or less: what is too much is overwritten by what comes next.
static void FN(pack_a)(const T *a, int64_t step, int64_t m, int64_t k, T *out) {
    enum { MOST = 8 };
    int64_t tiles = (m + FN(MOST_ROWS) - 1) / FN(MOST_ROWS);
    for (int64_t tile = 0, at = 0; tile < tiles; tile++) {
        int64_t rows = m / tiles + (tile < m % tiles);
        const T *from = a + at;
        T *to = out + at * k;
        if (at + MOST <= m)
            for (int64_t p = 0; p < k; p++)
                memcpy(to + p * rows, from + p * step, MOST * sizeof(T));
        else
            for (int64_t p = 0; p < k; p++)
                for (int64_t r = 0; r < rows; r++)
                    to[p * rows + r] = from[p * step + r];
        at += rows;
    }
}

// ---------------------------------------- by tiles

// A block of a, its rows a_step apart, against some columns of b, in panels b_step apart.
typedef struct {
    FN(Tile) tile;
    const T *a, *b, *bias;
    T *c;
    int64_t rows, columns, a_step, b_step;
    bool packed_a;
} FN(Block);

// Tiles of heights as equal as can be; those of the same rows one after the other.
static void FN(walk)(FN(Block) *block) {
    FN(Tile) t = block->tile;
    int64_t tiles = (block->rows + FN(MOST_ROWS) - 1) / FN(MOST_ROWS), columns = block->columns;
    for (int64_t tile = 0, i = 0, rows; tile < tiles; tile++, i += rows) {
        rows = block->rows / tiles + (tile < block->rows % tiles);
        if (block->packed_a)
            t.am = 1, t.ak = rows;
        const T *a = block->a + i * block->a_step, *b = block->b;
        T *c = block->c + i * t.ldc;
        for (int64_t j = 0; j < columns; j += FN(PANEL), b += block->b_step) {
            int64_t width = columns - j < FN(PANEL) ? columns - j : FN(PANEL);
            t.bias = block->bias ? block->bias + j : NULL;
            if (width % WIDTH)
                FN(edge)(&t, a, b, c + j, (int)rows, width);
            else
                FN(tiles)[rows][width / WIDTH - 1](&t, a, b, c + j);
        }
    }
    block->tile = t;
}

// What the columns of b behind [j, j + n) will need from memory; behind the last: the first ones, `deeper` rows further
// on.
static FN(Ahead) FN(next_columns)(const GemmShape *g, const GemmBlocks *s, const T *b, int64_t j, int64_t n, int64_t k,
                                  int64_t deeper, int64_t tiles) {
    int64_t next = j + n, rows = k;
    if (next >= g->n)
        next = 0, rows = deeper, b += k * (g->tb ? 1 : g->ldb);
    int64_t columns = g->n - next < s->columns ? g->n - next : s->columns;
    if (!s->packs_b || rows <= 0)
        return (FN(Ahead)){0};
    return FN(ahead)(b + next * (g->tb ? g->ldb : 1), g->ldb, g->tb ? columns : rows, g->tb ? rows : columns, tiles, k);
}

// k rows of b, some columns after the others, against a block of a; `deeper`: how many rows come behind them.
static void FN(walk_columns)(const GemmShape *g, const GemmBlocks *s, FN(Block) *block, const T *b, int64_t deeper,
                             T *packed) {
    int64_t b_row = g->tb ? 1 : g->ldb, b_column = g->tb ? g->ldb : 1, k = block->tile.k, whole = g->n / WIDTH * WIDTH;
    int64_t tiles = (block->rows + FN(MOST_ROWS) - 1) / FN(MOST_ROWS);
    const T *bias = block->bias;
    T *c = block->c;
    for (int64_t j = 0, n; j < g->n; j += n) {
        const T *right = b + j * b_column;
        bool packs = s->packs_b || j == whole;   // a tile reads whole vectors
        n = g->n - j < s->columns ? g->n - j : s->columns;
        n = !packs && n > whole - j ? whole - j : n;
        block->b = right, block->b_step = FN(PANEL), block->tile.bk = b_row;
        if (packs) {
            FN(pack_b)(right, b_row, b_column, k, n, packed);
            block->b = packed, block->b_step = k * FN(PANEL), block->tile.bk = FN(PANEL);
        }
        block->tile.next_b = FN(next_columns)(g, s, b, j, n, k, deeper, tiles * ((n + FN(PANEL) - 1) / FN(PANEL)));
        block->bias = bias ? bias + j : NULL, block->c = c + j, block->columns = n;
        FN(walk)(block);
    }
}

// The block of a behind rows `ic` and depth `pc`: deeper, or further down.
static FN(Ahead) FN(next_block)(const GemmShape *g, const GemmBlocks *s, const T *a, int64_t ic, int64_t pc) {
    int64_t rows = g->m - ic < s->rows ? g->m - ic : s->rows;
    int64_t tiles = (rows + FN(MOST_ROWS) - 1) / FN(MOST_ROWS) * ((g->n + FN(PANEL) - 1) / FN(PANEL));
    pc += s->depth;
    if (pc >= g->k)
        pc = 0, ic += s->rows;
    if (ic >= g->m)
        return (FN(Ahead)){0};
    rows = g->m - ic < s->rows ? g->m - ic : s->rows;
    int64_t k = g->k - pc < s->depth ? g->k - pc : s->depth;
    return FN(ahead)(a + (g->ta ? pc * g->lda + ic : ic * g->lda + pc), g->lda, g->ta ? k : rows, g->ta ? rows : k,
                     tiles, s->depth);
}

// b is packed, panel after panel, each down all of k: a panel stays in the first cache while the rows of a go by.
static void FN(walk_packed)(const GemmShape *g, FN(Block) *block, const T *b) {
    int64_t tiles = (block->rows + FN(MOST_ROWS) - 1) / FN(MOST_ROWS), panel = g->k * FN(PANEL);
    const T *bias = block->bias;
    T *c = block->c;
    block->tile.bk = FN(PANEL);
    for (int64_t j = 0; j < g->n; j += FN(PANEL), b += panel) {
        bool last = g->n - j <= FN(PANEL);
        block->b = b, block->c = c + j, block->bias = bias ? bias + j : NULL;
        block->columns = last ? g->n - j : FN(PANEL);
        block->tile.next_b = last ? (FN(Ahead)){0} : FN(ahead)(b + panel, 0, 1, block->tile.k * FN(PANEL), tiles,
                                                               block->tile.k);
        FN(walk)(block);
    }
}

static void FN(pack_all)(const GemmShape *g, const void *b, void *packed) {
    FN(pack_b)(b, g->tb ? 1 : g->ldb, g->tb ? g->ldb : 1, g->k, g->n, packed);
}

static void FN(gemm_by_tiles)(const GemmShape *g, GemmWay way, const T *a, const T *b, T *c, T *scratch) {
    GemmBlocks s = gemm_blocks(g, way, sizeof(T));
    int64_t a_row = g->ta ? 1 : g->lda, a_column = g->ta ? g->lda : 1, b_row = g->tb ? 1 : g->ldb;
    T *packed_a = scratch + s.depth * s.columns;
    for (int64_t ic = 0; ic < g->m; ic += s.rows)
        for (int64_t pc = 0; pc < g->k || pc == 0; pc += s.depth) {
            int64_t m = g->m - ic < s.rows ? g->m - ic : s.rows, k = g->k - pc < s.depth ? g->k - pc : s.depth;
            int64_t behind = g->k - pc - k;
            FN(Block) block = {.a = a + ic * a_row + pc * a_column, .c = c + ic * g->ldc,
                               .bias = behind ? NULL : g->bias,
                               .rows = m, .a_step = a_row, .packed_a = s.packs_a};
            block.tile = (FN(Tile)){.k = k, .am = a_row, .ak = a_column, .ldc = g->ldc, .scale = (T)g->scale,
                                    .scaled = g->scales, .accumulate = g->accumulate || pc > 0,
                                    .relu = !behind && g->relu};
            if (s.packs_a) {
                FN(pack_a)(block.a, a_column, m, k, packed_a);
                block.a = packed_a, block.a_step = k;
            }
            block.tile.next_a = FN(next_block)(g, &s, a, ic, pc);
            if (g->packed)
                FN(walk_packed)(g, &block, b + pc * FN(PANEL));
            else
                FN(walk_columns)(g, &s, &block, b + pc * b_row, behind < s.depth ? behind : s.depth, scratch);
        }
}

// The transposed product has long rows: b's few columns are its rows. It is laid into scratch, and then where it
// belongs.
static void FN(gemm_turned)(const GemmShape *g, const T *a, const T *b, T *c, T *scratch) {
    GemmShape turned = {.m = g->n, .n = g->m, .k = g->k, .lda = g->ldb, .ldb = g->lda, .ldc = g->m, .ta = true,
                        .scales = g->scales, .scale = g->scale};
    FN(gemm_by_tiles)(&turned, GEMM_TILES, b, a, scratch, scratch + (g->m * g->n + GEMM_PANEL - 1) / GEMM_PANEL *
                      GEMM_PANEL);
    const T *bias = g->bias;
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            T *to = c + i * g->ldc + j, x = scratch[j * g->m + i];
            x += g->accumulate ? *to : 0;
            x += bias ? bias[j] : 0;
            *to = g->relu && x < 0 ? 0 : x;
        }
}

// ---------------------------------------- one row, and vectors along k

// y[j] = x . b[:, j] for b of rows [k, n]: eight rows of b at a time.
static void FN(row_times_matrix)(const GemmShape *g, const T *x, int64_t step, const T *b, T *y) {
    int64_t n = g->n, p = 0;
    T scale = g->scales ? (T)g->scale : 1;
    if (!g->accumulate)
        memset(y, 0, (size_t)n * sizeof(T));
    for (; p + 8 <= g->k; p += 8) {
        const T *q = b + p * g->ldb;
        T s[8];
        for (int i = 0; i < 8; i++)
            s[i] = x[(p + i) * step] * scale;
        for (int64_t j = 0; j < n; j++)
            y[j] += s[0] * q[j] + s[1] * q[j + g->ldb] + s[2] * q[j + 2 * g->ldb] + s[3] * q[j + 3 * g->ldb] +
                    s[4] * q[j + 4 * g->ldb] + s[5] * q[j + 5 * g->ldb] + s[6] * q[j + 6 * g->ldb] +
                    s[7] * q[j + 7 * g->ldb];
    }
    for (; p < g->k; p++)
        for (int64_t j = 0; j < n; j++)
            y[j] += x[p * step] * scale * b[p * g->ldb + j];
    for (int64_t j = 0; j < n && g->bias; j++)
        y[j] += ((const T *)g->bias)[j];
    for (int64_t j = 0; j < n && g->relu; j++)
        y[j] = y[j] < 0 ? 0 : y[j];
}

// Up to DOT_ROWS rows of the left factor against 4 rows of the other, which lies along k too; `rows` times c_row and
// columns times c_column lead through c.
static void FN(gemm_by_dots)(const GemmShape *g, const T *a, const T *b, T *c) {
    bool swapped = g->n == 1;   // the many rows are a's
    int64_t m = swapped ? 1 : g->m, n = swapped ? g->m : g->n, c_row = swapped ? 1 : g->ldc,
        c_column = swapped ? g->ldc : 1;
    const T *x = swapped ? b : a, *y = swapped ? a : b, *bias = g->bias;
    int64_t x_step = swapped ? 0 : g->lda, y_step = swapped ? g->lda : g->ldb;
    int64_t tiles = (m + FN(DOT_ROWS) - 1) / FN(DOT_ROWS), columns;
    for (int64_t j = 0; j < n; j += columns) {
        columns = n - j >= 4 ? 4 : 1;
        for (int64_t tile = 0, i = 0, rows; tile < tiles; tile++, i += rows) {
            T sums[FN(DOT_ROWS)][4];
            rows = m / tiles + (tile < m % tiles);
            FN(dots)[m == 1 ? 0 : rows][columns == 4](x + i * x_step, x_step, y + j * y_step, y_step, g->k, sums);
            for (int64_t r = 0; r < rows; r++)
                for (int64_t l = 0; l < columns; l++) {
                    T *to = c + (i + r) * c_row + (j + l) * c_column, sum = sums[r][l];
                    sum *= g->scales ? (T)g->scale : 1;
                    sum += g->accumulate ? *to : 0;
                    sum += bias ? bias[swapped ? 0 : j + l] : 0;
                    *to = g->relu && sum < 0 ? 0 : sum;
                }
        }
    }
}

static void FN(gemm)(const GemmShape *g, GemmWay way, const void *a, const void *b, void *c, void *scratch) {
    if (way == GEMM_ROW)
        FN(row_times_matrix)(g, a, g->ta ? g->lda : 1, b, c);
    else if (way == GEMM_DOTS)
        FN(gemm_by_dots)(g, a, b, c);
    else if (way == GEMM_TURNED)
        FN(gemm_turned)(g, a, b, c, scratch);
    else
        FN(gemm_by_tiles)(g, way, a, b, c, scratch);
}
#undef FN
#undef PASTE3
#undef PASTE3_
