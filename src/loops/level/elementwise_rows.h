// The loops of every row of the elementwise .def files that takes one compute type, and their table.
// Included once per type with T, R (real part's type, or T), KIND (F, I, U, C or B), TYPE (names: f32 ...) set, and the
// functions that the rows mention. WHOLE where the long expressions become vectors: as many elements as any of them
// takes; UNSIGNED for a signed integer: the TYPE whose loops serve it too.
#include "loops/elementwise_index.h"
#include "loops/level/elementwise_kinds.h"

#define FN_PASTE_(op, type) loop_##op##_##type
#define FN_PASTE(op, type) FN_PASTE_(op, type)
#define FN(op) FN_PASTE(op, TYPE)
#define FN_TEXT_(name) #name
#define FN_TEXT(name) FN_TEXT_(name)

#define UNARY_LOOP(name, OUT, expression)                                                                   \
    static int64_t FN(name)(const void *a, const void *b, void *out, int64_t n, int64_t sa, int64_t sb,     \
                            double P) {                                                                     \
        (void)b, (void)sb, (void)P;                                                                         \
        const T *p = a;                                                                                     \
        OUT *o = out;                                                                                       \
        int64_t faults = 0, count = sa ? n : n > 0;                                                         \
        VECTOR_LOOP                                                                                         \
        for (int64_t i = 0; i < count; i++) {                                                               \
            T x = p[i];                                                                                     \
            o[i] = (OUT)(expression);                                                                       \
        }                                                                                                   \
        for (int64_t i = count; i < n; i++)                                                                 \
            o[i] = o[0];                                                                                    \
        return faults;                                                                                      \
    }

// The body of a row without the ends: elements side by side, no scalars. Returns the faults.
typedef int64_t FN(Body)(const T *p, const T *q, void *o, int64_t n, double P);

// Scalars are spread over a tile of this many elements.
enum { FN(TILE) = 256 };

static void FN(spread_one)(T one, T *tile, int64_t n) {
    int64_t whole = n < FN(TILE) ? (n + 15) & -16 : FN(TILE);
    for (int64_t i = 0; i < whole; i++)
        tile[i] = one;
}

// Runs the body of a row whose scalars (sa or sb 0) have no loop of their own. `size` is that of an output.
static int64_t FN(spread)(FN(Body) *body, const T *p, const T *q, char *o, size_t size, int64_t n, int64_t sa,
                          int64_t sb, double P) {
    if (n <= 0)
        return 0;
    if (!(sa | sb)) {
        int64_t faults = body(p, q, o, 1, P);
        for (int64_t i = 1; i < n; i++)
            memcpy(o + (size_t)i * size, o, size);
        return faults;
    }
    T tile[FN(TILE)];
    FN(spread_one)(sa ? q[0] : p[0], tile, n);
    int64_t faults = 0;
    for (int64_t first = 0; first < n; first += FN(TILE)) {
        int64_t count = n - first < FN(TILE) ? n - first : FN(TILE);
        char *to = o + (size_t)first * size;
        faults += sa ? body(p + first, tile, to, count, P) : body(tile, q + first, to, count, P);
    }
    return faults;
}

#ifdef WHOLE
// A long row has a body that takes multiples of WHOLE elements only, and one for a single element: together they are
// half of what the compiler makes of a loop with its ends.
typedef T FN(Single)(T x, T y, double P);

typedef T FN(Four) __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias));
typedef T FN(Eight) __attribute__((vector_size(8 * sizeof(T)), aligned(sizeof(T)), may_alias));

// Fills a tile with the n elements at p, 4 < n < WHOLE, by moves of fixed length: some come twice.
static inline void FN(take_few)(const T *p, int64_t n, T *tile) {
    if (n < 8) {
        FN(Four) *to = (FN(Four) *)tile;
        to[0] = to[2] = *(const FN(Four) *)p;
        to[1] = to[3] = *(const FN(Four) *)(p + n - 4);
    } else {
        FN(Eight) *to = (FN(Eight) *)tile;
        to[0] = *(const FN(Eight) *)p;
        to[1] = *(const FN(Eight) *)(p + n - 8);
    }
}

static inline void FN(put_few)(const T *tile, int64_t n, T *o) {
    if (n < 8) {
        *(FN(Four) *)o = ((const FN(Four) *)tile)[0];
        *(FN(Four) *)(o + n - 4) = ((const FN(Four) *)tile)[1];
    } else {
        *(FN(Eight) *)o = ((const FN(Eight) *)tile)[0];
        *(FN(Eight) *)(o + n - 8) = ((const FN(Eight) *)tile)[1];
    }
}

// n elements side by side. What is left over behind whole vectors is calculated first, in a vector that overlaps them.
static int64_t FN(run_long)(FN(Body) *body, FN(Single) *single, const T *p, const T *q, T *o, int64_t n, double P) {
    T left[WHOLE], right[WHOLE], result[WHOLE];
    int64_t whole = n & -WHOLE, rest = n - whole;
    if (n <= 4) {
        for (int64_t i = 0; i < n; i++)
            o[i] = single(p[i], q[i], P);
    } else if (n < WHOLE) {
        FN(take_few)(p, n, left);
        FN(take_few)(q, n, right);
        body(left, right, result, WHOLE, P);
        FN(put_few)(result, n, o);
    } else {
        if (rest)
            body(p + n - WHOLE, q + n - WHOLE, result, WHOLE, P);
        body(p, q, o, whole, P);
        if (rest)
            memcpy(o + whole, result + WHOLE - rest, (size_t)rest * sizeof(T));
    }
    return 0;
}

static NOINLINE int64_t FN(run_long_scalar)(FN(Body) *body, FN(Single) *single, const T *p, const T *q, T *o, int64_t n,
                                            int64_t sa, int64_t sb, double P) {
    if (n <= 0)
        return 0;
    if (!(sa | sb)) {
        o[0] = single(p[0], q[0], P);
        for (int64_t i = 1; i < n; i++)
            o[i] = o[0];
        return 0;
    }
    T tile[FN(TILE)];
    FN(spread_one)(sa ? q[0] : p[0], tile, n);
    for (int64_t first = 0; first < n; first += FN(TILE)) {
        int64_t count = n - first < FN(TILE) ? n - first : FN(TILE);
        FN(run_long)(body, single, sa ? p + first : tile, sb ? q + first : tile, o + first, count, P);
    }
    return 0;
}

#define LONG_BODY(name, expression)                                                                         \
    static NOINLINE int64_t FN(name##_body)(const T *p, const T *q, void *out, int64_t n, double P) {       \
        (void)q, (void)P;                                                                                   \
        T *o = out;                                                                                         \
        n &= -WHOLE;                                                                                        \
        VECTOR_LOOP                                                                                         \
        for (int64_t i = 0; i < n; i++) {                                                                   \
            T x = p[i], y = q[i];                                                                           \
            (void)y;                                                                                        \
            o[i] = expression;                                                                              \
        }                                                                                                   \
        return 0;                                                                                           \
    }                                                                                                       \
    static NOINLINE T FN(name##_single)(T x, T y, double P) {                                               \
        (void)y, (void)P;                                                                                   \
        return expression;                                                                                  \
    }
#define BINARY_LONG_LOOP(name, expression)                                                                  \
    LONG_BODY(name, expression)                                                                             \
    static int64_t FN(name)(const void *a, const void *b, void *out, int64_t n, int64_t sa, int64_t sb,     \
                            double P) {                                                                     \
        if (sa & sb)                                                                                        \
            return FN(run_long)(FN(name##_body), FN(name##_single), a, b, out, n, P);                       \
        return FN(run_long_scalar)(FN(name##_body), FN(name##_single), a, b, out, n, sa, sb, P);            \
    }
#define UNARY_LONG_LOOP(name, expression)                                                                   \
    LONG_BODY(name, expression)                                                                             \
    static int64_t FN(name)(const void *a, const void *b, void *out, int64_t n, int64_t sa, int64_t sb,     \
                            double P) {                                                                     \
        (void)b, (void)sb;                                                                                  \
        if (sa)                                                                                             \
            return FN(run_long)(FN(name##_body), FN(name##_single), a, a, out, n, P);                       \
        return FN(run_long_scalar)(FN(name##_body), FN(name##_single), a, a, out, n, 0, 0, P);              \
    }
// Blocks that hold an argument beyond the fast expression's reach take the careful one, element by element.
#define UNARY_GUARDED_LOOP(name, expression, guard, careful)                                                \
    LONG_BODY(name, expression)                                                                             \
    static NOINLINE bool FN(name##_guard)(const T *p, int64_t n) {                                          \
        int beyond = 0;                                                                                     \
        for (int64_t i = 0; i < n; i++) {                                                                   \
            T x = p[i];                                                                                     \
            beyond |= (guard);                                                                              \
        }                                                                                                   \
        return beyond;                                                                                      \
    }                                                                                                       \
    static int64_t FN(name)(const void *a, const void *b, void *out, int64_t n, int64_t sa, int64_t sb,     \
                            double P) {                                                                     \
        (void)b, (void)sb;                                                                                  \
        const T *p = a;                                                                                     \
        T *o = out;                                                                                         \
        int64_t count = sa ? n : n > 0;                                                                     \
        for (int64_t first = 0; first < count; first += FN(TILE)) {                                         \
            int64_t block = count - first < FN(TILE) ? count - first : FN(TILE);                            \
            if (!FN(name##_guard)(p + first, block)) {                                                      \
                FN(run_long)(FN(name##_body), FN(name##_single), p + first, p + first, o + first, block, P);\
                continue;                                                                                   \
            }                                                                                               \
            for (int64_t i = first; i < first + block; i++) {                                               \
                T x = p[i];                                                                                 \
                o[i] = careful;                                                                             \
            }                                                                                               \
        }                                                                                                   \
        for (int64_t i = count; i < n; i++)                                                                 \
            o[i] = o[0];                                                                                    \
        return 0;                                                                                           \
    }
#else
#define UNARY_LONG_LOOP(name, expression) UNARY_LOOP(name, T, expression)
#define BINARY_LONG_LOOP(name, expression) BINARY_LOOP(name, T, expression)
#define UNARY_GUARDED_LOOP(name, expression, guard, careful) UNARY_LOOP(name, T, expression)
#endif

#define BINARY_LOOP(name, OUT, expression)                                                                  \
    static NOINLINE int64_t FN(name##_body)(const T *p, const T *q, void *out, int64_t n, double P) {       \
        (void)P;                                                                                            \
        OUT *o = out;                                                                                       \
        int64_t faults = 0;                                                                                 \
        VECTOR_LOOP                                                                                         \
        for (int64_t i = 0; i < n; i++) {                                                                   \
            T x = p[i], y = q[i];                                                                           \
            o[i] = (OUT)(expression);                                                                       \
        }                                                                                                   \
        return faults;                                                                                      \
    }                                                                                                       \
    static int64_t FN(name)(const void *a, const void *b, void *out, int64_t n, int64_t sa, int64_t sb,     \
                            double P) {                                                                     \
        if (sa & sb)                                                                                        \
            return FN(name##_body)(a, b, out, n, P);                                                        \
        return FN(spread)(FN(name##_body), a, b, out, sizeof(OUT), n, sa, sb, P);                           \
    }

#if LOOPS_LEVEL > 1
#define BINARY_HOT_LOOP(name, OUT, expression)                                                                  \
    static int64_t FN(name)(const void *a, const void *b, void *out, int64_t n, int64_t sa, int64_t sb,     \
                            double P) {                                                                     \
        (void)P;                                                                                            \
        const T *p = a, *q = b;                                                                             \
        OUT *o = out;                                                                                       \
        int64_t faults = 0;                                                                                 \
        if (n <= 0)                                                                                         \
            return 0;                                                                                       \
        if (sa & sb) {                                                                                      \
            VECTOR_LOOP                                                                                     \
            for (int64_t i = 0; i < n; i++) {                                                               \
                T x = p[i], y = q[i];                                                                       \
                o[i] = (OUT)(expression);                                                                   \
            }                                                                                               \
        } else if (sa) {                                                                                    \
            T y = q[0];                                                                                     \
            VECTOR_LOOP                                                                                     \
            for (int64_t i = 0; i < n; i++) {                                                               \
                T x = p[i];                                                                                 \
                o[i] = (OUT)(expression);                                                                   \
            }                                                                                               \
        } else {                                                                                            \
            T x = p[0];                                                                                     \
            int64_t count = sb ? n : 1;                                                                     \
            VECTOR_LOOP                                                                                     \
            for (int64_t i = 0; i < count; i++) {                                                           \
                T y = q[i];                                                                                 \
                o[i] = (OUT)(expression);                                                                   \
            }                                                                                               \
            for (int64_t i = count; i < n; i++)                                                             \
                o[i] = o[0];                                                                                \
        }                                                                                                   \
        return faults;                                                                                      \
    }
#else
#define BINARY_HOT_LOOP BINARY_LOOP
#endif

#define UNARY(name, kinds, expression) IF_##kinds(UNARY_LOOP(name, T, expression))
#define UNARY_ALSO UNARY
#define UNARY_LONG(name, kinds, expression) IF_##kinds(UNARY_LONG_LOOP(name, expression))
#define UNARY_TO_BOOL(name, kinds, expression) IF_##kinds(UNARY_LOOP(name, uint8_t, expression))
#define UNARY_TO_REAL(name, kinds, expression) IF_##kinds(UNARY_LOOP(name, R, expression))
#define UNARY_GUARDED(name, kinds, expression, guard, careful) \
    IF_##kinds(UNARY_GUARDED_LOOP(name, expression, guard, careful))
#define BINARY(name, kinds, expression) IF_##kinds(BINARY_LOOP(name, T, expression))
#define BINARY_ALSO BINARY
#define BINARY_HOT(name, kinds, expression) IF_##kinds(BINARY_HOT_LOOP(name, T, expression))
#define BINARY_HOT_ALSO BINARY_HOT
#define BINARY_LONG(name, kinds, expression) IF_##kinds(BINARY_LONG_LOOP(name, expression))
#define COMPARE(name, kinds, expression) IF_##kinds(BINARY_LOOP(name, uint8_t, expression))
#define COMPARE_ALSO COMPARE
#define TWIN(name)                                                                                          \
    IF_I(static int64_t FN(name)(const void *a, const void *b, void *out, int64_t n, int64_t sa, int64_t sb, \
                                 double P) __attribute__((alias(FN_TEXT(FN_PASTE(name, UNSIGNED)))));)
#include "loops/unary.def"
#include "loops/binary.def"
#include "loops/compare.def"
#include "loops/elementwise_undef.h"

#define ENTRY(name) [ELEMENTWISE_##name] = FN(name),
#define UNARY(name, kinds, expression) IF_##kinds(ENTRY(name))
#define UNARY_ALSO UNARY
#define UNARY_LONG UNARY
#define UNARY_TO_BOOL UNARY
#define UNARY_TO_REAL UNARY
#define UNARY_GUARDED(name, kinds, expression, guard, careful) IF_##kinds(ENTRY(name))
#define BINARY UNARY
#define BINARY_ALSO UNARY
#define BINARY_HOT UNARY
#define BINARY_HOT_ALSO UNARY
#define BINARY_LONG UNARY
#define COMPARE UNARY
#define COMPARE_ALSO UNARY
#define TWIN(name) IF_I(ENTRY(name))
const ElementwiseFn LEVEL(FN_PASTE(table, TYPE))[ELEMENTWISE_OPS] = {
#include "loops/unary.def"
#include "loops/binary.def"
#include "loops/compare.def"
};
#include "loops/elementwise_undef.h"
#undef ENTRY
#undef FN
#undef FN_PASTE
#undef FN_PASTE_
#undef FN_TEXT
#undef FN_TEXT_
#undef LONG_BODY
#undef UNARY_LONG_LOOP
#undef BINARY_LONG_LOOP
#undef BINARY_HOT_LOOP
#undef UNARY_LOOP
#undef UNARY_GUARDED_LOOP
#undef BINARY_LOOP
