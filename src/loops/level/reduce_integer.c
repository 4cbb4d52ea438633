// Folds of the integers and bool: sum, product, greatest, least and sum of squares, which wrap; indices of extremes.
//
// Where signed and unsigned give the same bits the signed type takes the unsigned twin's loop (FOLD_TWIN); of bool any
// and all are what is asked for.
#include "loops/level/table.h"

#define UNSIGNED_FOLDS                                                                                  \
    FOLD_LOOPS(sum, 0, x + y, x + y)                                                                    \
    FOLD_LOOPS(prod, 1, x * y, x * y)                                                                   \
    FOLD_LOOPS(max, LOWEST, x > y ? x : y, x > y ? x : y)                                               \
    FOLD_LOOPS(min, HIGHEST, x < y ? x : y, x < y ? x : y)                                              \
    FOLD_LOOPS(squares, 0, x * x + y, x + y)
#define SIGNED_FOLDS                                                                                    \
    FOLD_TWIN(sum)                                                                                      \
    FOLD_TWIN(prod)                                                                                     \
    FOLD_LOOPS(max, LOWEST, x > y ? x : y, x > y ? x : y)                                               \
    FOLD_LOOPS(min, HIGHEST, x < y ? x : y, x < y ? x : y)                                              \
    FOLD_TWIN(squares)
#define BOOL_FOLDS                                                                                      \
    FOLD_NONE                                                                                           \
    FOLD_NONE                                                                                           \
    FOLD_LOOPS(max, 0, x | y, x | y)                                                                    \
    FOLD_LOOPS(min, 1, x & y, x & y)

#define LOWEST 0
#define HIGHEST UINT32_MAX
#define T uint32_t
#define A uint32_t
#define NAME u32
#define HAS_ORDER
#define REDUCE_FOLDS UNSIGNED_FOLDS
#include "loops/level/reduce_rows.h"
#undef T
#undef A
#undef NAME
#undef HAS_ORDER
#undef REDUCE_FOLDS
#undef LOWEST
#undef HIGHEST

#define LOWEST INT32_MIN
#define HIGHEST INT32_MAX
#define T int32_t
#define A int32_t
#define NAME i32
#define UNSIGNED u32
#define HAS_ORDER
#define REDUCE_FOLDS SIGNED_FOLDS
#include "loops/level/reduce_rows.h"
#undef T
#undef A
#undef NAME
#undef UNSIGNED
#undef HAS_ORDER
#undef REDUCE_FOLDS
#undef LOWEST
#undef HIGHEST

#define LOWEST 0
#define HIGHEST UINT64_MAX
#define T uint64_t
#define A uint64_t
#define NAME u64
#define HAS_ORDER
#define REDUCE_FOLDS UNSIGNED_FOLDS
#include "loops/level/reduce_rows.h"
#undef T
#undef A
#undef NAME
#undef HAS_ORDER
#undef REDUCE_FOLDS
#undef LOWEST
#undef HIGHEST

#define LOWEST INT64_MIN
#define HIGHEST INT64_MAX
#define T int64_t
#define A int64_t
#define NAME i64
#define UNSIGNED u64
#define HAS_ORDER
#define REDUCE_FOLDS SIGNED_FOLDS
#include "loops/level/reduce_rows.h"
#undef T
#undef A
#undef NAME
#undef UNSIGNED
#undef HAS_ORDER
#undef REDUCE_FOLDS
#undef LOWEST
#undef HIGHEST

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
