// Indices of extremes, and running folds — see reduce.h.
//
// ArgMax gives the first of equals and passes NaN over; cumulative sums and products add in the order of the axis. Both
// as TensorFlow's CPU kernels do.
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "loops/level/table.h"
#include "loops/reduce.h"

static void store_index(DType index, void *out, int64_t at, int64_t value) {
    switch (index) {
    case DT_int16: case DT_uint16: ((uint16_t *)out)[at] = (uint16_t)value; break;
    case DT_int32: ((int32_t *)out)[at] = (int32_t)value; break;
    default: ((int64_t *)out)[at] = value; break;
    }
}

static const ArgLoops *arg_loops(DType compute) {
    const ArgLoops *const *arg = loops_table()->arg;
    switch (compute) {
    case DT_float: return arg[TYPE_F32];
    case DT_double: return arg[TYPE_F64];
    case DT_int32: return arg[TYPE_I32];
    case DT_int64: return arg[TYPE_I64];
    case DT_uint32: return arg[TYPE_U32];
    case DT_uint64: return arg[TYPE_U64];
    case DT_bool: return arg[TYPE_BOOL];
    default: return NULL;
    }
}

// Columns that are searched side by side, and elements of a widened piece: 16 KiB, half of the smallest first cache.
enum { STRIP = 64, TILE = 4096 };

// Narrow types are widened a strip of neighbours at a time, in pieces of the axis; the winners of the pieces compete.
static void widened(const ElementwiseLoop *path, const ArgLoops *loops, bool greatest, const char *in, int64_t n,
                    int64_t inner, int64_t count, int64_t *best) {
    _Alignas(64) uint32_t tile[TILE];
    _Alignas(64) uint32_t winner[2 * STRIP];
    int64_t found[STRIP], piece = max_i64(1, TILE / count);
    for (int64_t first = 0; first < n; first += piece) {
        int64_t rows = min_i64(piece, n - first);
        for (int64_t r = 0; r < rows; r++)
            path->load(in + (size_t)((first + r) * inner) * path->in_size, tile + r * count, count);
        (greatest ? loops->greatest : loops->least)(tile, rows, count, count, found);
        for (int64_t j = 0; j < count; j++) {
            winner[count + j] = tile[found[j] * count + j];
            if (first == 0)
                best[j] = found[j], winner[j] = winner[count + j];
        }
        if (first == 0)
            continue;
        int64_t later[STRIP];
        (greatest ? loops->greatest : loops->least)(winner, 2, count, count, later);
        for (int64_t j = 0; j < count; j++)
            if (later[j])
                best[j] = first + found[j], winner[j] = winner[count + j];
    }
}

static bool extreme(bool greatest, DType dtype, DType index, const void *in, void *out, int64_t outer, int64_t n,
                    int64_t inner) {
    ElementwiseLoop path;
    if (!elementwise_find(&elementwise_Equal, dtype, &path))
        return false;
    const ArgLoops *loops = arg_loops(path.compute);
    if (!loops)
        return false;
    int64_t best[STRIP];
    for (int64_t o = 0; o < outer; o++)
        for (int64_t at = 0; at < inner; at += STRIP) {
            int64_t count = min_i64(STRIP, inner - at);
            const char *p = (const char *)in + (size_t)(o * n * inner + at) * path.in_size;
            if (path.load)
                widened(&path, loops, greatest, p, n, inner, count, best);
            else
                (greatest ? loops->greatest : loops->least)(p, n, inner, count, best);
            for (int64_t j = 0; j < count; j++)
                store_index(index, out, o * inner + at + j, best[j]);
        }
    return true;
}

bool reduce_argmax(DType dtype, DType index, const void *in, void *out, int64_t outer, int64_t n, int64_t inner) {
    return extreme(true, dtype, index, in, out, outer, n, inner);
}

bool reduce_argmin(DType dtype, DType index, const void *in, void *out, int64_t outer, int64_t n, int64_t inner) {
    return extreme(false, dtype, index, in, out, outer, n, inner);
}

// ---- running folds ----

// One running value a column, in the order of the axis: scanning by blocks, as GPUs do, would add in another order and
// give other bits.
// LOAD and STORE make a 16-bit float a float, A is what is gathered in.
#define SCAN(name, T, A, LOAD, STORE, neutral, expression)                                                  \
    static void name(const T *in, T *out, int64_t outer, int64_t n, int64_t inner, bool exclusive,          \
                     bool reverse) {                                                                        \
        for (int64_t o = 0; o < outer; o++)                                                                 \
            for (int64_t j = 0; j < inner; j++) {                                                           \
                A y = neutral;                                                                              \
                for (int64_t i = 0; i < n; i++) {                                                           \
                    int64_t at = (o * n + (reverse ? n - 1 - i : i)) * inner + j;                           \
                    A x = LOAD(in[at]), before = y;                                                         \
                    y = expression;                                                                         \
                    out[at] = STORE(exclusive ? before : y);                                                \
                }                                                                                           \
            }                                                                                               \
    }
#define SAME(x) (x)
#define SCAN_REAL(suffix, T, A, LOAD, STORE)                                  \
    SCAN(sum_##suffix, T, A, LOAD, STORE, 0, y + x)                           \
    SCAN(prod_##suffix, T, A, LOAD, STORE, 1, y * x)
#define SCAN_INTEGER(suffix, T, WRAP)                                         \
    SCAN(sum_##suffix, T, T, SAME, SAME, 0, (T)((WRAP)y + (WRAP)x))           \
    SCAN(prod_##suffix, T, T, SAME, SAME, 1, (T)((WRAP)y * (WRAP)x))

// log(e^a + e^b) = high + log(1 + e^(low - high)): the exponent is never positive, so nothing overflows.
static inline double log_add(double a, double b) {
    double high = a > b ? a : b, low = a > b ? b : a;
    if (a != a || b != b)
        return a + b;
    return high == -INFINITY || high == INFINITY ? high : high + log1p(exp(low - high));
}
#define LOG_FLOAT(x) ((float)(x))
#define LOG_HALF(x) half_from_float((float)(x))
#define LOG_BFLOAT16(x) bfloat16_from_float((float)(x))
#define WIDE_HALF(x) ((double)half_to_float(x))
#define WIDE_BFLOAT16(x) ((double)bfloat16_to_float(x))
#define WIDE_FLOAT(x) ((double)(x))
SCAN_REAL(f32, float, float, SAME, SAME)
SCAN_REAL(f64, double, double, SAME, SAME)
SCAN_REAL(f16, Half, float, half_to_float, half_from_float)
SCAN_REAL(b16, Bfloat16, float, bfloat16_to_float, bfloat16_from_float)
SCAN_REAL(c64, Complex64, Complex64, SAME, SAME)
SCAN_REAL(c128, Complex128, Complex128, SAME, SAME)
SCAN_INTEGER(i8, int8_t, uint32_t)
SCAN_INTEGER(u8, uint8_t, uint32_t)
SCAN_INTEGER(i16, int16_t, uint32_t)
SCAN_INTEGER(u16, uint16_t, uint32_t)
SCAN_INTEGER(i32, int32_t, uint32_t)
SCAN_INTEGER(u32, uint32_t, uint32_t)
SCAN_INTEGER(i64, int64_t, uint64_t)
SCAN_INTEGER(u64, uint64_t, uint64_t)
SCAN(log_f32, float, double, WIDE_FLOAT, LOG_FLOAT, -INFINITY, log_add(y, x))
SCAN(log_f64, double, double, SAME, SAME, -INFINITY, log_add(y, x))
SCAN(log_f16, Half, double, WIDE_HALF, LOG_HALF, -INFINITY, log_add(y, x))
SCAN(log_b16, Bfloat16, double, WIDE_BFLOAT16, LOG_BFLOAT16, -INFINITY, log_add(y, x))

bool reduce_scan(ScanOp op, DType dtype, const void *in, void *out, int64_t outer, int64_t n, int64_t inner,
                 bool exclusive, bool reverse) {
#define RUN(name) return name(in, out, outer, n, inner, exclusive, reverse), true
#define EITHER(suffix)            \
    if (op == SCAN_SUM)           \
        RUN(sum_##suffix);        \
    if (op == SCAN_PROD)          \
        RUN(prod_##suffix);       \
    return false
#define ANY(suffix)               \
    if (op == SCAN_LOGSUMEXP)     \
        RUN(log_##suffix);        \
    EITHER(suffix)
    switch (dtype) {
    case DT_float: ANY(f32);
    case DT_double: ANY(f64);
    case DT_half: ANY(f16);
    case DT_bfloat16: ANY(b16);
    case DT_complex64: EITHER(c64);
    case DT_complex128: EITHER(c128);
    case DT_int8: EITHER(i8);
    case DT_uint8: EITHER(u8);
    case DT_int16: EITHER(i16);
    case DT_uint16: EITHER(u16);
    case DT_int32: EITHER(i32);
    case DT_uint32: EITHER(u32);
    case DT_int64: EITHER(i64);
    case DT_uint64: EITHER(u64);
    default: return false;
    }
}
