// Reduce — see reduce.h. The plan turns any axes into rows (innermost folded) or columns (innermost kept).
//
// Dimensions of one sort that lie side by side are merged, so most reductions are a fold of rows, of columns, or of
// columns of rows. Work is cut into units by shape alone and parts are joined in a fixed order: the bits are the same
// on any number of threads. float is gathered in double, as its sums lose bits with their length.
#include "loops/reduce.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "loops/level/table.h"
#include "loops/move.h"
#include "loops/tuning.h"

ELEMENTWISE(LogicalNot);

enum {
    TILE = 1024,          // elements converted at a time
    MOST_COLUMNS = 4096,
};

// Any and All are the greatest and the least of bool; a norm is the root of the squares.
static Fold fold_of(ReduceOp op) {
    switch (op) {
    case REDUCE_PROD: return FOLD_PROD;
    case REDUCE_MAX: case REDUCE_ANY: return FOLD_MAX;
    case REDUCE_MIN: case REDUCE_ALL: return FOLD_MIN;
    case REDUCE_SQUARES: case REDUCE_NORM: return FOLD_SQUARES;
    default: return FOLD_SUM;
    }
}

static bool type_of(DType compute, ComputeType *type, size_t *accumulator) {
    switch (compute) {
    case DT_float: *type = TYPE_F32, *accumulator = 8; return true;
    case DT_double: *type = TYPE_F64, *accumulator = 8; return true;
    case DT_int32: *type = TYPE_I32, *accumulator = 4; return true;
    case DT_int64: *type = TYPE_I64, *accumulator = 8; return true;
    case DT_uint32: *type = TYPE_U32, *accumulator = 4; return true;
    case DT_uint64: *type = TYPE_U64, *accumulator = 8; return true;
    case DT_complex64: *type = TYPE_C64, *accumulator = 16; return true;
    case DT_complex128: *type = TYPE_C128, *accumulator = 16; return true;
    case DT_bool: *type = TYPE_BOOL, *accumulator = 1; return true;
    default: return false;
    }
}

// Merges the dimensions and sets the strides.
static void collapse(const Shape *shape, uint32_t axes, ReducePlan *plan) {
    plan->outputs = plan->folded = 1;
    for (int i = 0; i < shape->rank; i++) {
        int64_t extent = shape->dims[i];
        bool reduced = axes >> i & 1;
        *(reduced ? &plan->folded : &plan->outputs) *= extent;
        if (extent == 1)
            continue;
        if (plan->rank > 0 && plan->reduced[plan->rank - 1] == reduced) {
            plan->dims[plan->rank - 1] *= extent;
            continue;
        }
        plan->dims[plan->rank] = extent;
        plan->reduced[plan->rank++] = reduced;
    }
    if (plan->rank == 1 && !plan->reduced[0]) {  // columns always have a folded dimension beside them
        plan->dims[1] = plan->dims[0], plan->reduced[1] = false;
        plan->dims[0] = 1, plan->reduced[0] = true;
        plan->rank = 2;
    }
    int64_t stride = 1;
    for (int i = plan->rank - 1; i >= 0; i--) {
        plan->step[i] = stride;
        stride *= plan->dims[i];
    }
}

// Cuts the work: by outputs where there are enough of them (rows of 48, cut in 16, took 30 times as long), else also
// along the longest folded dimension.
static void cut(ReducePlan *plan) {
    int64_t total = plan->outputs * plan->folded;
    plan->splits = 1;
    plan->inner_reduced = plan->rank == 0 || plan->reduced[plan->rank - 1];
    if (plan->inner_reduced) {
        bool cut = total >= TUNED_REDUCE_SPLIT && plan->outputs >= TUNED_REDUCE_SPLITS;
        int64_t even = cut ? plan->outputs / TUNED_REDUCE_SPLITS : plan->outputs;
        plan->per_unit = max_i64(1, min_i64(even, TUNED_REDUCE_UNIT / max_i64(1, plan->folded)));
        plan->blocks = div_up(plan->outputs, plan->per_unit);
    } else {
        plan->columns = plan->dims[plan->rank - 1];
        int64_t width = (int64_t)round_up((size_t)div_up(plan->columns, TUNED_REDUCE_SPLITS), 64);
        plan->width = min_i64(plan->columns, min_i64(MOST_COLUMNS, max_i64(TUNED_REDUCE_COLUMNS, width)));
        int64_t cuts = plan->width ? div_up(plan->columns, plan->width) : 0;
        plan->blocks = plan->columns ? plan->outputs / plan->columns * cuts : 0;
    }
    if (plan->blocks > 0 && plan->blocks < TUNED_REDUCE_SPLITS && total >= TUNED_REDUCE_SPLIT) {
        for (int i = 0; i < plan->rank; i++)
            if (plan->reduced[i] && (plan->splits == 1 || plan->dims[i] > plan->dims[plan->split_dim])) {
                plan->split_dim = i;
                plan->splits = min_i64(TUNED_REDUCE_SPLITS, plan->dims[i]);
            }
    }
    plan->units = plan->blocks * plan->splits;
}

bool reduce_prepare(ReduceOp op, DType dtype, const Shape *shape, uint32_t axes, ReducePlan *plan) {
    ReducePlan p = {.op = op, .dtype = dtype, .compute = dtype};
    ElementwiseLoop path;
    ComputeType type;
    if ((op == REDUCE_ANY || op == REDUCE_ALL) != (dtype == DT_bool))
        return false;
    // Square (of bool LogicalNot) stands for any op of the type: its path says how small types are widened and
    // narrowed.
    if (!elementwise_find(dtype == DT_bool ? &elementwise_LogicalNot : &elementwise_Square, dtype, &path))
        return false;
    if (!type_of(path.compute, &type, &p.accumulator))
        return false;
    p.compute = path.compute;
    p.load = path.load, p.store = path.store;
    p.element = path.in_size;
    p.loops = &loops_table()->fold[type][fold_of(op)];
    if (!((const FoldLoops *)p.loops)->row)
        return false;
    collapse(shape, axes, &p);
    cut(&p);
    *plan = p;
    return true;
}

size_t reduce_scratch(const ReducePlan *plan) {
    return plan->splits > 1 ? (size_t)(plan->splits * plan->outputs) * plan->accumulator : 0;
}

// ---- accumulators ----

static void begin(const ReducePlan *plan, void *acc, int64_t n) {
    Fold fold = fold_of(plan->op);
    _Alignas(Complex128) char one[sizeof(Complex128)];
#define BEGIN(T, low, high) *(T *)one = fold == FOLD_PROD ? 1 : fold == FOLD_MAX ? low : fold == FOLD_MIN ? high : 0
    switch (plan->compute) {
    case DT_float: case DT_double: BEGIN(double, -INFINITY, INFINITY); break;
    case DT_complex64: case DT_complex128: *(Complex128 *)one = fold == FOLD_PROD; break;
    case DT_int32: BEGIN(int32_t, INT32_MIN, INT32_MAX); break;
    case DT_int64: BEGIN(int64_t, INT64_MIN, INT64_MAX); break;
    case DT_uint32: BEGIN(uint32_t, 0, UINT32_MAX); break;
    case DT_uint64: BEGIN(uint64_t, 0, UINT64_MAX); break;
    default: BEGIN(uint8_t, 0, 1); break;
    }
    fill_run(one, plan->accumulator, acc, n);
}

// left[i] = fold(left[i], right[i]), n accumulators each.
static void join(const ReducePlan *plan, void *left, const void *right, int64_t n) {
    Fold fold = fold_of(plan->op);
#define JOIN(T, WRAP)                                                                            \
    for (int64_t i = 0; i < n; i++) {                                                            \
        T x = ((T *)left)[i], y = ((const T *)right)[i];                                         \
        ((T *)left)[i] = fold == FOLD_PROD  ? (T)((WRAP)x * (WRAP)y)                             \
                         : fold == FOLD_MAX ? (x > y || x != x ? x : y)                          \
                         : fold == FOLD_MIN ? (x < y || x != x ? x : y)                          \
                                            : (T)((WRAP)x + (WRAP)y);                            \
    }
    switch (plan->compute) {
    case DT_float: case DT_double: JOIN(double, double) break;
    case DT_int32: JOIN(int32_t, uint32_t) break;
    case DT_int64: JOIN(int64_t, uint64_t) break;
    case DT_uint32: JOIN(uint32_t, uint32_t) break;
    case DT_uint64: JOIN(uint64_t, uint64_t) break;
    case DT_complex64: case DT_complex128:
        for (int64_t i = 0; i < n; i++) {
            Complex128 *x = (Complex128 *)left + i, y = ((const Complex128 *)right)[i];
            *x = fold == FOLD_PROD ? *x * y : *x + y;
        }
        break;
    default: JOIN(uint8_t, uint32_t) break;
    }
}

// The results of n accumulators as elements of the compute type. Means of integers are divided as integers, as in
// TensorFlow.
static void settle(const ReducePlan *plan, const void *acc, void *out, int64_t n) {
    bool mean = plan->op == REDUCE_MEAN, norm = plan->op == REDUCE_NORM;
    double count = (double)plan->folded;
    int64_t whole = max_i64(1, plan->folded);
#define SETTLE(T, A, result)                                                                     \
    for (int64_t i = 0; i < n; i++) {                                                            \
        A x = ((const A *)acc)[i];                                                               \
        ((T *)out)[i] = (T)(result);                                                             \
    }
#define SETTLE_INTEGER(T, Wide) SETTLE(T, T, mean ? (T)((Wide)x / (Wide)whole) : norm ? (T)sqrt(fmax((double)x, 0)) : x)
    switch (plan->compute) {
    case DT_float: SETTLE(float, double, mean ? x / count : norm ? sqrt(x) : x) break;
    case DT_double: SETTLE(double, double, mean ? x / count : norm ? sqrt(x) : x) break;
    case DT_complex64: SETTLE(Complex64, Complex128, mean ? x / count : x) break;
    case DT_complex128: SETTLE(Complex128, Complex128, mean ? x / count : x) break;
    case DT_int32: SETTLE_INTEGER(int32_t, int64_t) break;
    case DT_int64: SETTLE_INTEGER(int64_t, int64_t) break;
    case DT_uint32: SETTLE_INTEGER(uint32_t, uint64_t) break;
    case DT_uint64: SETTLE_INTEGER(uint64_t, uint64_t) break;
    default: memcpy(out, acc, (size_t)n); break;
    }
}

// Writes n results to out[at ...], or, where the work is split, keeps the accumulators for finish.
static void deliver(const ReducePlan *plan, const void *acc, void *out, void *scratch, int64_t split, int64_t at,
                    int64_t n) {
    if (plan->splits > 1) {
        memcpy((char *)scratch + (size_t)(split * plan->outputs + at) * plan->accumulator, acc,
               (size_t)n * plan->accumulator);
        return;
    }
    char *to = (char *)out + (size_t)at * plan->element;
    if (!plan->store) {
        settle(plan, acc, to, n);
        return;
    }
    uint32_t tile[256];
    for (int64_t i = 0; i < n; i += 256) {
        int64_t count = min_i64(256, n - i);
        settle(plan, (const char *)acc + (size_t)i * plan->accumulator, tile, count);
        plan->store(tile, to + (size_t)i * plan->element, count);
    }
}

// ---- walking ----

// The odometer over the dimensions of one sort, the first `rank` of the plan's, as offsets into the input.
typedef struct {
    int n;
    int64_t dims[MAX_RANK], step[MAX_RANK], index[MAX_RANK], at;
} Walk;

static Walk walk_of(const ReducePlan *plan, int rank, bool reduced, int64_t split) {
    Walk w = {0};
    for (int i = 0; i < rank; i++) {
        if (plan->reduced[i] != reduced)
            continue;
        w.dims[w.n] = plan->dims[i], w.step[w.n] = plan->step[i];
        if (reduced && plan->splits > 1 && i == plan->split_dim) {
            int64_t from = plan->dims[i] * split / plan->splits, to = plan->dims[i] * (split + 1) / plan->splits;
            w.dims[w.n] = to - from;
            w.at += from * plan->step[i];
        }
        w.n++;
    }
    return w;
}
static void walk_to(Walk *w, int64_t place) {
    for (int i = w->n - 1; i >= 0; i--) {
        w->index[i] = place % w->dims[i];
        w->at += w->index[i] * w->step[i];
        place /= w->dims[i];
    }
}
static bool walk_next(Walk *w) {
    for (int i = w->n - 1; i >= 0; i--) {
        w->at += w->step[i];
        if (++w->index[i] < w->dims[i])
            return true;
        w->at -= w->step[i] * w->dims[i];
        w->index[i] = 0;
    }
    return false;
}

static void fold_row(const ReducePlan *plan, const char *in, int64_t n, void *acc) {
    const FoldLoops *loops = plan->loops;
    if (!plan->load) {
        loops->row(in, n, acc);
        return;
    }
    _Alignas(64) uint32_t tile[TILE];
    for (int64_t i = 0; i < n; i += TILE) {
        int64_t count = min_i64(TILE, n - i);
        plan->load(in + (size_t)i * plan->element, tile, count);
        loops->row(tile, count, acc);
    }
}

// 16 rows of 256 columns are widened at a time: 16 KiB.
static void fold_rows(const ReducePlan *plan, const char *in, int64_t rows, int64_t stride, int64_t n, void *acc) {
    const FoldLoops *loops = plan->loops;
    if (!plan->load) {
        loops->rows(in, rows, stride, n, acc);
        return;
    }
    _Alignas(64) uint32_t tile[16 * 256];
    for (int64_t at = 0; at < n; at += 256) {
        int64_t width = min_i64(256, n - at);
        for (int64_t first = 0; first < rows; first += 16) {
            int64_t count = min_i64(16, rows - first);
            for (int64_t r = 0; r < count; r++)
                plan->load(in + (size_t)((first + r) * stride + at) * plan->element, tile + r * width, width);
            loops->rows(tile, count, width, width, (char *)acc + (size_t)at * plan->accumulator);
        }
    }
}

// Neighbouring rows, a strip at a time.
static void run_whole_rows(const ReducePlan *plan, const char *in, void *out, int64_t first, int64_t last) {
    const FoldLoops *loops = plan->loops;
    int64_t n = plan->dims[1], strip = max_i64(1, TILE / n);
    _Alignas(64) char acc[TILE * 16];
    _Alignas(64) uint32_t tile[TILE];
    for (; first < last; first += strip) {
        int64_t rows = min_i64(strip, last - first);
        const void *from = in + (size_t)(first * n) * plan->element;
        if (plan->load) {
            plan->load(from, tile, rows * n);
            from = tile;
        }
        begin(plan, acc, rows);
        loops->each(from, rows, n, acc);
        deliver(plan, acc, out, NULL, 0, first, rows);
    }
}

// Innermost folded: outputs one after the other.
static void run_rows(const ReducePlan *plan, const char *in, void *out, void *scratch, int64_t block, int64_t split) {
    int64_t first = block * plan->per_unit, last = min_i64(plan->outputs, first + plan->per_unit);
    int outer = plan->rank > 0 ? plan->rank - 1 : 0;
    if (plan->rank == 2 && plan->splits == 1 && plan->folded > 0 && plan->folded <= TILE) {
        run_whole_rows(plan, in, out, first, last);
        return;
    }
    int64_t from = 0, n = plan->rank > 0 ? plan->dims[outer] : 1;
    if (plan->splits > 1 && plan->split_dim == outer) {
        from = n * split / plan->splits;
        n = n * (split + 1) / plan->splits - from;
    }
    Walk kept = walk_of(plan, outer, false, 0);
    walk_to(&kept, first);
    for (int64_t o = first; o < last; o++) {
        Complex128 acc;
        begin(plan, &acc, 1);
        if (plan->folded > 0) {
            Walk folded = walk_of(plan, outer, true, split);
            do
                fold_row(plan, in + (size_t)(kept.at + folded.at + from) * plan->element, n, &acc);
            while (walk_next(&folded));
        }
        deliver(plan, &acc, out, scratch, split, o, 1);
        walk_next(&kept);
    }
}

// Innermost kept: a strip of columns at once. The folded dimension next to it gives the rows. Narrow strips whose rows
// are neighbours in memory are folded several rows abreast.
static void run_columns(const ReducePlan *plan, const char *in, void *out, void *scratch, int64_t block,
                        int64_t split) {
    _Alignas(64) char acc[MOST_COLUMNS * 16];
    int64_t cuts = div_up(plan->columns, plan->width), strip = block / cuts, at = block % cuts * plan->width;
    int64_t n = min_i64(plan->width, plan->columns - at);
    int inner = plan->rank - 2;  // the folded dimension beside the columns
    Walk kept = walk_of(plan, plan->rank - 1, false, 0);
    walk_to(&kept, strip);
    int64_t abreast = n * 4 <= 64 && plan->step[inner] == n ? 64 / n : 1;
    begin(plan, acc, n * abreast);
    if (plan->folded > 0) {
        Walk folded = walk_of(plan, inner, true, split);
        int64_t from = 0, rows = plan->dims[inner];
        if (plan->splits > 1 && plan->split_dim == inner) {
            from = rows * split / plan->splits;
            rows = rows * (split + 1) / plan->splits - from;
        }
        do {
            const char *p = in + (size_t)(kept.at + folded.at + from * plan->step[inner] + at) * plan->element;
            int64_t wide = rows / abreast, rest = rows % abreast;
            fold_rows(plan, p, wide, n * abreast == n ? plan->step[inner] : n * abreast, n * abreast, acc);
            if (rest)
                fold_rows(plan, p + (size_t)(wide * abreast * plan->step[inner]) * plan->element, rest,
                          plan->step[inner], n, acc);
        } while (walk_next(&folded));
    }
    for (int64_t k = 1; k < abreast; k++)
        join(plan, acc, acc + (size_t)(k * n) * plan->accumulator, n);
    deliver(plan, acc, out, scratch, split, strip * plan->columns + at, n);
}

void reduce_run(const ReducePlan *plan, const void *in, void *out, void *scratch, int64_t first, int64_t last) {
    for (int64_t unit = first; unit < last; unit++) {
        int64_t block = unit / plan->splits, split = unit % plan->splits;
        if (plan->inner_reduced)
            run_rows(plan, in, out, scratch, block, split);
        else
            run_columns(plan, in, out, scratch, block, split);
    }
}

void reduce_finish(const ReducePlan *plan, void *out, const void *scratch) {
    if (plan->splits <= 1)
        return;
    ReducePlan whole = *plan;
    whole.splits = 1;
    const char *partial = scratch;
    _Alignas(64) char acc[TILE * 16];
    for (int64_t at = 0; at < plan->outputs; at += TILE) {
        int64_t n = min_i64(TILE, plan->outputs - at);
        memcpy(acc, partial + (size_t)at * plan->accumulator, (size_t)n * plan->accumulator);
        for (int64_t s = 1; s < plan->splits; s++)
            join(plan, acc, partial + (size_t)(s * plan->outputs + at) * plan->accumulator, n);
        deliver(&whole, acc, out, NULL, 0, at, n);
    }
}

DotsFn reduce_dots(DType dtype) {
    return dtype == DT_float ? loops_table()->dots[0] : dtype == DT_double ? loops_table()->dots[1] : NULL;
}
