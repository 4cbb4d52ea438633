// Folds of complex64 and complex128: sum and product. There is no order, so no extremes.
#include <complex.h>
#undef I

#include "loops/level/table.h"

#define COMPLEX_FOLDS                                                                                   \
    FOLD_LOOPS(sum, 0, x + y, x + y)                                                                    \
    FOLD_LOOPS(prod, 1, x * y, x * y)

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
