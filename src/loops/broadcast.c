// Broadcast — see broadcast.h: a binary op over shapes that differ, as runs of one elementwise loop.
//
// Neighbouring dimensions that both inputs walk in the same way become one, so most broadcasts come down to one or two
// dimensions (a matrix and a row, a matrix and a column). The innermost is the run of the elementwise loop; the others
// are walked by an odometer. Runs below TUNED_BROADCAST_RUN cost more to call than to copy: rows of both inputs are
// laid into tiles first.
#include "loops/broadcast.h"

#include <string.h>

#include "base/checked.h"
#include "loops/tuning.h"

enum { TILE = 1024 };

// A stride of 0 repeats: extents of 1, and dimensions that the shape doesn't have.
static void strides_against(const Shape *shape, const Shape *out, int64_t *step) {
    int64_t stride = 1;
    for (int i = out->rank - 1, j = shape->rank - 1; i >= 0; i--, j--) {
        int64_t extent = j >= 0 ? shape->dims[j] : 1;
        step[i] = extent == 1 ? 0 : stride;
        stride *= extent;
    }
}

void broadcast_prepare(const Shape *a, const Shape *b, const Shape *out, BroadcastPlan *plan) {
    int64_t step_a[MAX_RANK] = {0}, step_b[MAX_RANK] = {0};
    *plan = (BroadcastPlan){0};
    strides_against(a, out, step_a);
    strides_against(b, out, step_b);
    // From the innermost outwards: a dimension joins its inner neighbour where both inputs go on in the same way.
    int64_t dims[MAX_RANK + 1], walk_a[MAX_RANK + 1], walk_b[MAX_RANK + 1];
    int n = 0;
    for (int i = out->rank - 1; i >= 0; i--) {
        int64_t extent = out->dims[i];
        if (extent == 1)
            continue;
        if (n > 0 && step_a[i] == walk_a[n - 1] * dims[n - 1] && step_b[i] == walk_b[n - 1] * dims[n - 1]) {
            dims[n - 1] *= extent;
            continue;
        }
        dims[n] = extent, walk_a[n] = step_a[i], walk_b[n] = step_b[i];
        n++;
    }
    // Units of about TUNED_BROADCAST_PIECE elements: long runs are cut, short ones grouped. By shape alone, so that the
    // bits don't depend on threads.
    plan->inner = n ? dims[0] : 1;
    plan->sa = n ? walk_a[0] : 1;
    plan->sb = n ? walk_b[0] : 1;
    plan->rows = 1;
    plan->rank = n > 0 ? n - 1 : 0;
    for (int i = 0; i < plan->rank; i++) {
        int from = n - 1 - i;
        plan->dims[i] = dims[from], plan->step_a[i] = walk_a[from], plan->step_b[i] = walk_b[from];
        plan->rows *= dims[from];
    }
    int64_t elements = plan->rows * plan->inner;
    plan->short_runs = plan->rank > 0 && plan->inner < TUNED_BROADCAST_RUN;
    plan->cuts = max_i64(1, div_up(plan->inner, TUNED_BROADCAST_PIECE));
    plan->piece = max_i64(1, div_up(plan->inner, plan->cuts));
    plan->group = 1;
    if (plan->cuts == 1 && plan->inner > 0)
        plan->group = max_i64(1, TUNED_BROADCAST_PIECE / plan->inner);
    plan->units = elements ? div_up(plan->rows, plan->group) * plan->cuts : 0;
}

// Where a row begins in each input, kept as an odometer: a division for each dimension once a unit, additions from
// there.
typedef struct {
    int64_t index[MAX_RANK], a, b;
} Position;

static Position position_of(const BroadcastPlan *plan, int64_t row) {
    Position at = {0};
    for (int i = plan->rank - 1; i >= 0; i--) {
        at.index[i] = row % plan->dims[i];  // units are only run where no extent is 0
        row /= plan->dims[i];
        at.a += at.index[i] * plan->step_a[i];
        at.b += at.index[i] * plan->step_b[i];
    }
    return at;
}

static void position_advance(const BroadcastPlan *plan, Position *at) {
    for (int i = plan->rank - 1; i >= 0; i--) {
        at->a += plan->step_a[i];
        at->b += plan->step_b[i];
        if (++at->index[i] < plan->dims[i])
            return;
        at->a -= plan->step_a[i] * plan->dims[i];
        at->b -= plan->step_b[i] * plan->dims[i];
        at->index[i] = 0;
    }
}

#define COPY_RUNS(name, T)                                                                            \
    static inline void name(const char *from, char *to, int64_t n, int64_t stride) {                  \
        const T *p = (const T *)from;                                                                 \
        T *o = (T *)to;                                                                               \
        for (int64_t i = 0; i < n; i++)                                                               \
            o[i] = p[i * stride];                                                                     \
    }
typedef struct { uint64_t low, high; } Pair;
COPY_RUNS(copy_1, uint8_t)
COPY_RUNS(copy_2, uint16_t)
COPY_RUNS(copy_4, uint32_t)
COPY_RUNS(copy_8, uint64_t)
COPY_RUNS(copy_16, Pair)

static inline void copy_run(const char *from, char *to, int64_t n, int64_t stride, size_t size) {
    switch (size) {
    case 1: copy_1(from, to, n, stride); break;
    case 2: copy_2(from, to, n, stride); break;
    case 4: copy_4(from, to, n, stride); break;
    case 8: copy_8(from, to, n, stride); break;
    default: copy_16(from, to, n, stride); break;
    }
}

// Each of `rows` elements, `step` apart, n times: by sixteen bytes, beyond the run where another follows or the tile
// has room.
#define SPREAD_RUNS(name, T)                                                                          \
    static inline void name(const char *from, char *to, int64_t rows, int64_t n, int64_t step) {      \
        typedef T Sixteen __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));            \
        enum { EACH = 16 / sizeof(T) };                                                               \
        T *o = (T *)to;                                                                               \
        for (int64_t r = 0; r < rows; r++, o += n) {                                                  \
            Sixteen v = (Sixteen){0} + ((const T *)from)[r * step];                                   \
            for (int64_t i = 0; i < n; i += EACH)                                                     \
                *(Sixteen *)(o + i) = v;                                                              \
        }                                                                                             \
    }
SPREAD_RUNS(spread_1, uint8_t)
SPREAD_RUNS(spread_2, uint16_t)
SPREAD_RUNS(spread_4, uint32_t)
SPREAD_RUNS(spread_8, uint64_t)

static void spread_runs(const char *from, char *to, int64_t rows, int64_t n, int64_t step, size_t size) {
    switch (size) {
    case 1: spread_1(from, to, rows, n, step); break;
    case 2: spread_2(from, to, rows, n, step); break;
    case 4: spread_4(from, to, rows, n, step); break;
    case 8: spread_8(from, to, rows, n, step); break;
    default:
        for (int64_t r = 0; r < rows; r++)
            copy_16(from + r * step * 16, to + r * n * 16, n, 0);
        break;
    }
}

// Rows [first, first + count) of an input of a matrix: as they lie, or laid into the tile: an element for each row, or
// one row for all, of which the tile keeps as many as its first filling had.
static const char *rows_of(const BroadcastPlan *plan, const char *in, int64_t step, int64_t stride, size_t size,
                           int64_t first, int64_t count, bool filled, char *tile) {
    const char *from = in + first * step * (int64_t)size;
    if (stride && step)
        return from;
    if (!stride)
        spread_runs(from, tile, count, plan->inner, step, size);
    else if (!filled) {
        size_t row = (size_t)plan->inner * size, whole = (size_t)count * row;
        memcpy(tile, from, row);
        for (size_t done = row; done < whole; done *= 2)
            memcpy(tile + done, tile, done < whole - done ? done : whole - done);
    }
    return tile;
}

static int64_t run_short_matrix(const BroadcastPlan *plan, const ElementwiseLoop *loop, const char *a, const char *b,
                                char *out, int64_t first_row, int64_t last_row) {
    _Alignas(64) char tile_a[TILE * 16], tile_b[TILE * 16];
    size_t size = loop->in_size;
    int64_t per_tile = TILE / plan->inner, faults = 0;
    for (int64_t row = first_row; row < last_row; row += per_tile) {
        int64_t count = min_i64(per_tile, last_row - row);
        bool filled = row > first_row;
        const char *x = rows_of(plan, a, plan->step_a[0], plan->sa, size, row, count, filled, tile_a);
        const char *y = loop->arity < 2 ? NULL
                        : rows_of(plan, b, plan->step_b[0], plan->sb, size, row, count, filled, tile_b);
        faults += elementwise_run(loop, x, y, out + row * plan->inner * loop->out_size, count * plan->inner, 1, 1);
    }
    return faults;
}

// Short runs: whole rows of both inputs are laid side by side in tiles, and the loop runs once per tile.
static int64_t run_short(const BroadcastPlan *plan, const ElementwiseLoop *loop, const char *a, const char *b,
                         char *out, int64_t first_row, int64_t last_row) {
    _Alignas(64) char tile_a[TILE * 16], tile_b[TILE * 16];
    size_t size = loop->in_size;
    int64_t per_tile = TILE / plan->inner, faults = 0;
    Position at = position_of(plan, first_row);
    for (int64_t row = first_row; row < last_row; row += per_tile) {
        int64_t count = min_i64(per_tile, last_row - row);
        for (int64_t i = 0; i < count; i++) {
            size_t place = (size_t)(i * plan->inner) * size;
            copy_run(a + at.a * (int64_t)size, tile_a + place, plan->inner, plan->sa, size);
            if (loop->arity == 2)
                copy_run(b + at.b * (int64_t)size, tile_b + place, plan->inner, plan->sb, size);
            position_advance(plan, &at);
        }
        faults += elementwise_run(loop, tile_a, tile_b, out + row * plan->inner * loop->out_size,
                                  count * plan->inner, 1, 1);
    }
    return faults;
}

int64_t broadcast_run(const BroadcastPlan *plan, const ElementwiseLoop *loop, const void *a, const void *b, void *out,
                      int64_t first, int64_t last) {
    const char *pa = a, *pb = b;
    char *po = out;
    int64_t in = loop->in_size, to = loop->out_size, faults = 0;
    if (first >= last)
        return 0;
    if (plan->cuts == 1) {
        int64_t row = first * plan->group, end = min_i64(plan->rows, last * plan->group);
        if (plan->short_runs && plan->rank == 1)
            return run_short_matrix(plan, loop, pa, pb, po, row, end);
        if (plan->short_runs)
            return run_short(plan, loop, pa, pb, po, row, end);
        if (plan->rank == 1) {
            for (; row < end; row++)
                faults += elementwise_run(loop, pa + row * plan->step_a[0] * in,
                                          pb ? pb + row * plan->step_b[0] * in : NULL,
                                          po + row * plan->inner * to, plan->inner, plan->sa, plan->sb);
            return faults;
        }
        Position at = position_of(plan, row);
        for (; row < end; row++) {
            faults += elementwise_run(loop, pa + at.a * in, pb ? pb + at.b * in : NULL, po + row * plan->inner * to,
                                      plan->inner, plan->sa, plan->sb);
            position_advance(plan, &at);
        }
        return faults;
    }
    for (int64_t unit = first; unit < last; unit++) {
        int64_t row = unit / plan->cuts, begin = unit % plan->cuts * plan->piece;
        int64_t n = min_i64(plan->piece, plan->inner - begin);
        Position at = position_of(plan, row);
        faults += elementwise_run(loop, pa + (at.a + begin * plan->sa) * in,
                                  pb ? pb + (at.b + begin * plan->sb) * in : NULL,
                                  po + (row * plan->inner + begin) * to, n, plan->sa, plan->sb);
    }
    return faults;
}
