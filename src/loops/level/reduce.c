// Folds of float and double: sum, product, greatest, least and sum of squares; indices of the greatest and least.
//
// A row says the neutral element, how an element joins, and how two results join. `x != x` lets NaN through: a maximum
// with a NaN in it is NaN, as in TensorFlow. A is what is gathered in: float in double.
#include <math.h>

#include "loops/level/table.h"

#define FLOAT_FOLDS                                                                                     \
    FOLD_LOOPS(sum, 0, x + y, x + y)                                                                    \
    FOLD_LOOPS(prod, 1, x * y, x * y)                                                                   \
    FOLD_LOOPS(max, (T)-INFINITY, x > y || x != x ? x : y, x > y || x != x ? x : y)                     \
    FOLD_LOOPS(min, (T)INFINITY, x < y || x != x ? x : y, x < y || x != x ? x : y)                      \
    FOLD_LOOPS(squares, 0, x * x + y, x + y)

#define T float
#define A double
#define NAME f32
#define HAS_ORDER
#define REDUCE_FOLDS FLOAT_FOLDS
#include "loops/level/reduce_rows.h"
#undef T
#undef A
#undef NAME
#undef HAS_ORDER
#undef REDUCE_FOLDS

#define T double
#define A double
#define NAME f64
#define HAS_ORDER
#define REDUCE_FOLDS FLOAT_FOLDS
#include "loops/level/reduce_rows.h"
#undef T
#undef A
#undef NAME
#undef HAS_ORDER
#undef REDUCE_FOLDS

// ---------------------------------------- rows beside rows

// A dot product in LANES partial sums that are added as a tree: the order is the same at every vector width, so all
// levels give the same bits.
#define DOTS_HALF(half)                                                                                       \
        for (int j = 0; 2 * half <= LANES && j < half; j++)                                                   \
            lanes[j] += lanes[j + half];
#define DOTS(name, T)                                                                                         \
    static void name(const void *a, const void *b, int64_t rows, int64_t n, void *out) {                      \
        enum { LANES = 128 / sizeof(T) };                                                                     \
        const T *p = a, *q = b;                                                                               \
        T *o = out;                                                                                           \
        for (int64_t r = 0; r < rows; r++, p += n, q += n) {                                                  \
            T lanes[LANES] = {0};                                                                             \
            int64_t i = 0;                                                                                    \
            for (; i + LANES <= n; i += LANES)                                                                \
                for (int j = 0; j < LANES; j++)                                                               \
                    lanes[j] += p[i + j] * q[i + j];                                                          \
            for (int64_t j = 0; i + j < n; j++)                                                               \
                lanes[j] += p[i + j] * q[i + j];                                                              \
            DOTS_HALF(16)                                                                                     \
            DOTS_HALF(8)                                                                                      \
            DOTS_HALF(4)                                                                                      \
            DOTS_HALF(2)                                                                                      \
            DOTS_HALF(1)                                                                                      \
            o[r] = lanes[0];                                                                                  \
        }                                                                                                     \
    }
DOTS(dots_float, float)
DOTS(dots_double, double)
const DotsFn LEVEL(loop_dots)[2] = {dots_float, dots_double};
