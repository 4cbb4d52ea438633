// The folds of one type. Included once per type with T, A (the accumulator), NAME and the folds' expressions set, in
// the order of Fold.
//
// Sums are blocked: a few hundred elements in the type itself, in as many running sums as keep the vector units busy,
// then into the wider accumulator. The order depends on the extents only.
#define PASTE3_(a, b) a##_##b
#define PASTE3(a, b) PASTE3_(a, b)
#define FN(fold) PASTE3(fold, NAME)

enum { FN(SPREAD) = 64 / sizeof(T) * 4, FN(WIDE) = sizeof(A) > sizeof(T) ? FN(SPREAD) : FN(SPREAD) / 4,
      FN(BLOCK) = 1024,
       FN(NARROW) = 64 / sizeof(T), FN(FEW) = FN(NARROW) * 16,
       FN(TILE) = 16384 / sizeof(T) };

// Half of the sums to the other half: with lengths that the compiler knows.
#define FOLD_HALF(all, half, join)                                                                            \
        for (int j = 0; 2 * half <= all && j < half; j++) {                                                   \
            A x = wide[j + half], y = wide[j];                                                                \
            wide[j] = join;                                                                                   \
        }
// `begin` is the fold's neutral element; step folds one element into a running value, join an accumulator's.
#define FOLD_LANES(name, n_lanes, n_wide, begin, step, join)                                                  \
    static inline A FN(name)(const T *p, int64_t block) {                                                     \
        T lanes[n_lanes];                                                                                     \
        A wide[n_wide];                                                                                       \
        int64_t i = 0;                                                                                        \
        for (int j = 0; j < n_lanes; j++)                                                                     \
            lanes[j] = begin;                                                                                 \
        for (; i + n_lanes <= block; i += n_lanes)                                                            \
            for (int j = 0; j < n_lanes; j++) {                                                               \
                T x = p[i + j], y = lanes[j];                                                                 \
                lanes[j] = step;                                                                              \
            }                                                                                                 \
        for (int64_t j = 0; i + j < block; j++) {                                                             \
            T x = p[i + j], y = lanes[j];                                                                     \
            lanes[j] = step;                                                                                  \
        }                                                                                                     \
        for (int n = n_lanes / 2; n > n_wide / 2; n /= 2)                                                     \
            for (int j = 0; j < n; j++) {                                                                     \
                T x = lanes[j + n], y = lanes[j];                                                             \
                lanes[j] = join;                                                                              \
            }                                                                                                 \
        for (int j = 0; j < n_wide; j++)                                                                      \
            wide[j] = (A)lanes[j];                                                                            \
        FOLD_HALF(n_wide, 32, join)                                                                           \
        FOLD_HALF(n_wide, 16, join)                                                                           \
        FOLD_HALF(n_wide, 8, join)                                                                            \
        FOLD_HALF(n_wide, 4, join)                                                                            \
        FOLD_HALF(n_wide, 2, join)                                                                            \
        FOLD_HALF(n_wide, 1, join)                                                                            \
        return wide[0];                                                                                       \
    }
// Eight rows into a tile of running values: memory streams from eight places at once, and the tile moves once for all.
#define FOLD_ONE(k, step)                                                                                     \
        {                                                                                                     \
            T x = p[j + k * stride];                                                                          \
            y = step;                                                                                         \
        }
#define FOLD_EIGHT(name, step)                                                                                \
    INLINE void FN(name)(const T *restrict p, int64_t stride, int64_t n, T *restrict tile) {                  \
        VECTOR_LOOP                                                                                           \
        for (int64_t j = 0; j < n; j++) {                                                                     \
            T y = tile[j];                                                                                    \
            FOLD_ONE(0, step)                                                                                 \
            FOLD_ONE(1, step)                                                                                 \
            FOLD_ONE(2, step)                                                                                 \
            FOLD_ONE(3, step)                                                                                 \
            FOLD_ONE(4, step)                                                                                 \
            FOLD_ONE(5, step)                                                                                 \
            FOLD_ONE(6, step)                                                                                 \
            FOLD_ONE(7, step)                                                                                 \
            tile[j] = y;                                                                                      \
        }                                                                                                     \
    }
// A row: whole blocks in running sums side by side, what is left over among the first of them, then pairs of sums as a
// tree; a vector of sums where the row is too short for more.
#define FOLD_LOOPS(fold, begin, step, join)                                                                   \
    FOLD_LANES(fold##_block, FN(SPREAD), FN(WIDE), begin, step, join)                                         \
    FOLD_LANES(fold##_narrow, FN(NARROW), FN(NARROW), begin, step, join)                                      \
    FOLD_EIGHT(fold##_eight, step)                                                                            \
    static inline A FN(fold##_short)(const T *p, int64_t n) {                                                 \
        T rest = begin;                                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                     \
            T x = p[i], y = rest;                                                                             \
            rest = step;                                                                                      \
        }                                                                                                     \
        return (A)rest;                                                                                       \
    }                                                                                                         \
    static void FN(fold##_row)(const void *in, int64_t n, void *acc) {                                        \
        const T *p = in;                                                                                      \
        A total = *(A *)acc;                                                                                  \
        for (int64_t block; n > 0; p += block, n -= block) {                                                  \
            block = n < FN(BLOCK) ? n : FN(BLOCK);                                                            \
            A y = total, x = block > FN(FEW)       ? FN(fold##_block)(p, block)                               \
                             : block > FOLD_SHORT ? FN(fold##_narrow)(p, block)                               \
                                                  : FN(fold##_short)(p, block);                               \
            total = join;                                                                                     \
        }                                                                                                     \
        *(A *)acc = total;                                                                                    \
    }                                                                                                         \
    static void FN(fold##_each)(const void *in, int64_t rows, int64_t n, void *acc) {                         \
        const T *p = in;                                                                                      \
        A *out = acc;                                                                                         \
        for (int64_t r = 0; r < rows; r++, p += n) {                                                          \
            if (n > FOLD_SHORT) {                                                                             \
                FN(fold##_row)(p, n, out + r);                                                                \
                continue;                                                                                     \
            }                                                                                                 \
            A x = FN(fold##_short)(p, n), y = out[r];                                                         \
            out[r] = join;                                                                                    \
        }                                                                                                     \
    }                                                                                                         \
    static void FN(fold##_rows)(const void *in, int64_t rows, int64_t stride, int64_t n, void *acc) {         \
        for (int64_t at = 0; at < n; at += FN(TILE)) {                                                        \
            int64_t width = n - at < FN(TILE) ? n - at : FN(TILE);                                            \
            A *total = (A *)acc + at;                                                                         \
            for (int64_t first = 0; first < rows; first += 64) {                                              \
                int64_t last = rows - first < 64 ? rows : first + 64, r = first;                              \
                T tile[FN(TILE)];                                                                             \
                for (int64_t j = 0; j < width; j++)                                                           \
                    tile[j] = begin;                                                                          \
                for (; r + 8 <= last; r += 8)                                                                 \
                    FN(fold##_eight)((const T *)in + r * stride + at, stride, width, tile);                   \
                for (; r < last; r++) {                                                                       \
                    const T *p = (const T *)in + r * stride + at;                                             \
                    for (int64_t j = 0; j < width; j++) {                                                     \
                        T x = p[j], y = tile[j];                                                              \
                        tile[j] = step;                                                                       \
                    }                                                                                         \
                }                                                                                             \
                for (int64_t j = 0; j < width; j++) {                                                         \
                    A x = (A)tile[j], y = total[j];                                                           \
                    total[j] = join;                                                                          \
                }                                                                                             \
            }                                                                                                 \
        }                                                                                                     \
    }
// The signed type's folds are the unsigned one's: the bits are the same.
#define FOLD_TWIN(fold)                                                                                       \
    static void FN(fold##_row)(const void *in, int64_t n, void *acc) TWIN(fold##_row);                        \
    static void FN(fold##_each)(const void *in, int64_t rows, int64_t n, void *acc) TWIN(fold##_each);        \
    static void FN(fold##_rows)(const void *in, int64_t rows, int64_t stride, int64_t n, void *acc)           \
        TWIN(fold##_rows);
#define TWIN(name) __attribute__((alias(TEXT(PASTE3(name, UNSIGNED)))))
#define TEXT_(name) #name
#define TEXT(name) TEXT_(name)
#define FOLD_NONE
REDUCE_FOLDS
#undef FOLD_NONE
#undef FOLD_LOOPS
#undef FOLD_LANES
#undef FOLD_HALF
#undef FOLD_EIGHT
#undef FOLD_ONE
#undef FOLD_TWIN
#undef TWIN
#undef TEXT
#undef TEXT_

#define FOLD_LOOPS(fold, begin, step, join) {FN(fold##_row), FN(fold##_rows), FN(fold##_each)},
#define FOLD_TWIN(fold) FOLD_LOOPS(fold, , , )
#define FOLD_NONE {0},
const FoldLoops LEVEL(FN(loop_folds))[FOLDS] = {REDUCE_FOLDS};
#undef FOLD_LOOPS
#undef FOLD_TWIN
#undef FOLD_NONE

#ifdef HAS_ORDER
#define ARG_LOOP(name, better)                                                                                \
    static void FN(name)(const void *in, int64_t n, int64_t step, int64_t inner, int64_t *out) {              \
        for (int64_t j = 0; j < inner; j++) {                                                                 \
            const T *p = (const T *)in + j;                                                                   \
            int64_t best = 0;                                                                                 \
            bool found = false;                                                                               \
            T y = p[0];                                                                                       \
            for (int64_t i = 0; i < n; i++) {                                                                 \
                T x = p[i * step];                                                                            \
                if (x == x && (!found || (better)))                                                           \
                    best = i, y = x, found = true;                                                            \
            }                                                                                                 \
            out[j] = best;                                                                                    \
        }                                                                                                     \
    }
ARG_LOOP(greatest, x > y)
ARG_LOOP(least, x < y)
#undef ARG_LOOP
const ArgLoops LEVEL(FN(loop_args)) = {FN(greatest), FN(least)};
#endif
#undef FN
#undef PASTE3
#undef PASTE3_
