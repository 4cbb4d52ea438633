// The loops of every row of the elementwise .def files that takes one compute type, and their table.
// Included once per type with T, R (real part's type, or T), KIND (F, I, U, C or B), TYPE (names: f32 ...) set, and the
// functions that the rows mention.
#include "loops/level/elementwise_kinds.h"

#define FN_PASTE_(op, type) loop_##op##_##type
#define FN_PASTE(op, type) FN_PASTE_(op, type)
#define FN(op) FN_PASTE(op, TYPE)

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

// Blocks that hold an argument beyond the fast expression's reach take the careful one, element by element.
#define UNARY_GUARDED_LOOP(name, expression, guard, careful)                                                \
    static int64_t FN(name)(const void *a, const void *b, void *out, int64_t n, int64_t sa, int64_t sb,     \
                            double P) {                                                                     \
        (void)b, (void)sb, (void)P;                                                                         \
        const T *p = a;                                                                                     \
        T *o = out;                                                                                         \
        int64_t count = sa ? n : n > 0;                                                                     \
        for (int64_t first = 0; first < count; first += 256) {                                              \
            int64_t last = count - first < 256 ? count : first + 256;                                       \
            int beyond = 0;                                                                                 \
            for (int64_t i = first; i < last; i++) {                                                        \
                T x = p[i];                                                                                 \
                (void)x;                                                                                    \
                beyond |= (guard);                                                                          \
            }                                                                                               \
            if (beyond) {                                                                                   \
                for (int64_t i = first; i < last; i++) {                                                    \
                    T x = p[i];                                                                             \
                    o[i] = careful;                                                                         \
                }                                                                                           \
                continue;                                                                                   \
            }                                                                                               \
            VECTOR_LOOP                                                                                     \
            for (int64_t i = first; i < last; i++) {                                                        \
                T x = p[i];                                                                                 \
                o[i] = expression;                                                                          \
            }                                                                                               \
        }                                                                                                   \
        for (int64_t i = count; i < n; i++)                                                                 \
            o[i] = o[0];                                                                                    \
        return 0;                                                                                           \
    }

#define BINARY_LOOP(name, OUT, expression)                                                                  \
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

#define UNARY(name, kinds, expression) IF_##kinds(UNARY_LOOP(name, T, expression))
#define UNARY_ALSO UNARY
#define UNARY_TO_BOOL(name, kinds, expression) IF_##kinds(UNARY_LOOP(name, uint8_t, expression))
#define UNARY_TO_REAL(name, kinds, expression) IF_##kinds(UNARY_LOOP(name, R, expression))
#define UNARY_GUARDED(name, kinds, expression, guard, careful) \
    IF_##kinds(UNARY_GUARDED_LOOP(name, expression, guard, careful))
#define BINARY(name, kinds, expression) IF_##kinds(BINARY_LOOP(name, T, expression))
#define BINARY_ALSO BINARY
#define COMPARE(name, kinds, expression) IF_##kinds(BINARY_LOOP(name, uint8_t, expression))
#define COMPARE_ALSO COMPARE
#include "loops/unary.def"
#include "loops/binary.def"
#include "loops/compare.def"
#include "loops/elementwise_undef.h"

#define ENTRY(name) [ELEMENTWISE_##name] = FN(name),
#define UNARY(name, kinds, expression) IF_##kinds(ENTRY(name))
#define UNARY_ALSO UNARY
#define UNARY_TO_BOOL UNARY
#define UNARY_TO_REAL UNARY
#define UNARY_GUARDED(name, kinds, expression, guard, careful) IF_##kinds(ENTRY(name))
#define BINARY UNARY
#define BINARY_ALSO UNARY
#define COMPARE UNARY
#define COMPARE_ALSO UNARY
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
#undef UNARY_LOOP
#undef UNARY_GUARDED_LOOP
#undef BINARY_LOOP
