// Folds of every compute type: sum, product, greatest, least and sum of squares; indices of the greatest and least.
#include <complex.h>
#undef I
#include <math.h>

#include "loops/level/table.h"

#define FLOAT_FOLDS                                                                                     \
    FOLD_LOOPS(sum, 0, x + y, x + y)                                                                    \
    FOLD_LOOPS(prod, 1, x * y, x * y)                                                                   \
    FOLD_LOOPS(max, (T)-INFINITY, x > y || x != x ? x : y, x > y || x != x ? x : y)                     \
    FOLD_LOOPS(min, (T)INFINITY, x < y || x != x ? x : y, x < y || x != x ? x : y)                      \
    FOLD_LOOPS(squares, 0, x * x + y, x + y)
#define INTEGER_FOLDS                                                                                   \
    FOLD_LOOPS(sum, 0, (T)((WRAP)x + (WRAP)y), (T)((WRAP)x + (WRAP)y))                                  \
    FOLD_LOOPS(prod, 1, (T)((WRAP)x * (WRAP)y), (T)((WRAP)x * (WRAP)y))                                 \
    FOLD_LOOPS(max, LOWEST, x > y ? x : y, x > y ? x : y)                                               \
    FOLD_LOOPS(min, HIGHEST, x < y ? x : y, x < y ? x : y)                                              \
    FOLD_LOOPS(squares, 0, (T)((WRAP)x * (WRAP)x + (WRAP)y), (T)((WRAP)x + (WRAP)y))
#define COMPLEX_FOLDS                                                                                   \
    FOLD_LOOPS(sum, 0, x + y, x + y)                                                                    \
    FOLD_LOOPS(prod, 1, x * y, x * y)
#define BOOL_FOLDS                                                                                      \
    FOLD_LOOPS(max, 0, x | y, x | y)                                                                    \
    FOLD_LOOPS(min, 1, x & y, x & y)

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

#define WRAP uint32_t
#define LOWEST INT32_MIN
#define HIGHEST INT32_MAX
#define T int32_t
#define A int32_t
#define NAME i32
#define HAS_ORDER
#define REDUCE_FOLDS INTEGER_FOLDS
#include "loops/level/reduce_rows.h"
#undef T
#undef A
#undef NAME
#undef HAS_ORDER
#undef REDUCE_FOLDS
#undef WRAP
#undef LOWEST
#undef HIGHEST

#define WRAP uint64_t
#define LOWEST INT64_MIN
#define HIGHEST INT64_MAX
#define T int64_t
#define A int64_t
#define NAME i64
#define HAS_ORDER
#define REDUCE_FOLDS INTEGER_FOLDS
#include "loops/level/reduce_rows.h"
#undef T
#undef A
#undef NAME
#undef HAS_ORDER
#undef REDUCE_FOLDS
#undef WRAP
#undef LOWEST
#undef HIGHEST

#define WRAP uint32_t
#define LOWEST 0
#define HIGHEST UINT32_MAX
#define T uint32_t
#define A uint32_t
#define NAME u32
#define HAS_ORDER
#define REDUCE_FOLDS INTEGER_FOLDS
#include "loops/level/reduce_rows.h"
#undef T
#undef A
#undef NAME
#undef HAS_ORDER
#undef REDUCE_FOLDS
#undef WRAP
#undef LOWEST
#undef HIGHEST

#define WRAP uint64_t
#define LOWEST 0
#define HIGHEST UINT64_MAX
#define T uint64_t
#define A uint64_t
#define NAME u64
#define HAS_ORDER
#define REDUCE_FOLDS INTEGER_FOLDS
#include "loops/level/reduce_rows.h"
#undef T
#undef A
#undef NAME
#undef HAS_ORDER
#undef REDUCE_FOLDS
#undef WRAP
#undef LOWEST
#undef HIGHEST

#define T float _Complex
#define A double _Complex
#define NAME c64
#define REDUCE_FOLDS COMPLEX_FOLDS
#include "loops/level/reduce_rows.h"
#undef T
#undef A
#undef NAME
#undef HAS_ORDER
#undef REDUCE_FOLDS

#define T double _Complex
#define A double _Complex
#define NAME c128
#define REDUCE_FOLDS COMPLEX_FOLDS
#include "loops/level/reduce_rows.h"
#undef T
#undef A
#undef NAME
#undef HAS_ORDER
#undef REDUCE_FOLDS

#define T uint8_t
#define A uint8_t
#define NAME b8
#define HAS_ORDER
#define REDUCE_FOLDS BOOL_FOLDS
#include "loops/level/reduce_rows.h"
#undef T
#undef A
#undef NAME
#undef HAS_ORDER
#undef REDUCE_FOLDS

#define PAIR(fold, type) {fold##_row_##type, fold##_rows_##type, fold##_each_##type}
#define ALL_FIVE(type) {PAIR(sum, type), PAIR(prod, type), PAIR(max, type), PAIR(min, type), PAIR(squares, type)}
#define SUM_PROD(type) {PAIR(sum, type), PAIR(prod, type)}
const FoldLoops LEVEL(loop_folds)[TYPES][FOLDS] = {
    [TYPE_F32] = ALL_FIVE(f32), [TYPE_F64] = ALL_FIVE(f64), [TYPE_I32] = ALL_FIVE(i32), [TYPE_I64] = ALL_FIVE(i64),
    [TYPE_U32] = ALL_FIVE(u32), [TYPE_U64] = ALL_FIVE(u64), [TYPE_C64] = SUM_PROD(c64), [TYPE_C128] = SUM_PROD(c128),
    [TYPE_BOOL] = {[FOLD_MAX] = PAIR(max, b8), [FOLD_MIN] = PAIR(min, b8)},
};

#define ARGS(type) {greatest_##type, least_##type}
const ArgLoops LEVEL(loop_args)[TYPES] = {
    [TYPE_F32] = ARGS(f32), [TYPE_F64] = ARGS(f64), [TYPE_I32] = ARGS(i32), [TYPE_I64] = ARGS(i64),
    [TYPE_U32] = ARGS(u32), [TYPE_U64] = ARGS(u64), [TYPE_BOOL] = ARGS(b8),
};
