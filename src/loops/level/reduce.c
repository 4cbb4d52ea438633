// Folds of float and double: sum, product, greatest, least and sum of squares; indices of the greatest and least.
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
