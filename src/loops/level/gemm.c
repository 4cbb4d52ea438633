// Matrix products: float and double by register tiles, the other types by plain loops.
//
// The width of a tile is the level's vector in floats; gemm_tile.h is written in vector types, and included for each
// type.
#include <complex.h>
#undef I

#include "loops/level/gemm_blocks.h"
#include "loops/level/table.h"

void INTEGER_LEVEL(gemm_double)(const GemmShape *g, GemmWay way, const void *a, const void *b, void *c, void *scratch);
void INTEGER_LEVEL(gemm_double_pack)(const GemmShape *g, const void *b, void *packed);

#define T float
#define NAME f32
#if LOOPS_LEVEL == 4
#define WIDTH 16
#elif LOOPS_LEVEL == 3
#define WIDTH 8
#else
#define WIDTH 4
#endif
#include "loops/level/gemm_rows.h"
#undef T
#undef NAME
#undef WIDTH
// Doubles: 512 bits would bring nothing here (Zen 4) and take 65 KB.
#if LOOPS_LEVEL < 4
#define T double
#define NAME f64
#if LOOPS_LEVEL == 3
#define WIDTH 4
#else
#define WIDTH 2
#endif
#include "loops/level/gemm_rows.h"
#undef T
#undef NAME
#undef WIDTH
void LEVEL(gemm_double)(const GemmShape *g, GemmWay way, const void *a, const void *b, void *c, void *scratch) {
    gemm_f64(g, way, a, b, c, scratch);
}
void LEVEL(gemm_double_pack)(const GemmShape *g, const void *b, void *packed) {
    pack_all_f64(g, b, packed);
}
#endif

// Row by row of the result, along rows of b: no tiles, since integer and complex products are rare and small. Integers
// wrap.
#define PLAIN(name, T, WRAP)                                                                                     \
    static void name(const GemmShape *g, GemmWay way, const void *a_, const void *b_, void *c_, void *scratch) { \
        const T *a = a_, *b = b_, *bias = g->bias;                                                               \
        int64_t a_row = g->ta ? 1 : g->lda, a_column = g->ta ? g->lda : 1;                                       \
        (void)way, (void)scratch;                                                                                     \
        for (int64_t i = 0; i < g->m; i++) {                                                                     \
            T *c = (T *)c_ + i * g->ldc;                                                                         \
            for (int64_t j = 0; j < g->n; j++)                                                                   \
                c[j] = (T)((g->accumulate ? (WRAP)c[j] : 0) + (bias ? (WRAP)bias[j] : 0));                       \
            for (int64_t p = 0; p < g->k; p++) {                                                                 \
                WRAP x = (WRAP)a[i * a_row + p * a_column];                                                      \
                const T *q = g->tb ? b + p : b + p * g->ldb;                                                     \
                int64_t step = g->tb ? g->ldb : 1;                                                               \
                for (int64_t j = 0; j < g->n; j++)                                                               \
                    c[j] = (T)((WRAP)c[j] + TIMES(x, (WRAP)q[j * step]));                                        \
            }                                                                                                    \
            RELU                                                                                                 \
        }                                                                                                        \
    }
#define TIMES(x, y) ((x) * (y))
#define RELU                                                \
    for (int64_t j = 0; j < g->n && g->relu; j++)           \
        c[j] = c[j] < 1 ? 0 : c[j];
PLAIN(gemm_i32, int32_t, uint32_t)
PLAIN(gemm_i64, int64_t, uint64_t)
PLAIN(gemm_u32, uint32_t, uint32_t)
PLAIN(gemm_u64, uint64_t, uint64_t)
#undef TIMES
#undef RELU
#define RELU
#define TIMES(x, y) times_c64(x, y)
// Four multiplications: the operator would call __mulsc3, which looks for infinities, for each element.
INLINE float _Complex times_c64(float _Complex x, float _Complex y) {
    float _Complex z;
    __real__ z = __real__ x * __real__ y - __imag__ x * __imag__ y;
    __imag__ z = __real__ x * __imag__ y + __imag__ x * __real__ y;
    return z;
}
PLAIN(gemm_c64, float _Complex, float _Complex)
#undef TIMES
#define TIMES(x, y) times_c128(x, y)
INLINE double _Complex times_c128(double _Complex x, double _Complex y) {
    double _Complex z;
    __real__ z = __real__ x * __real__ y - __imag__ x * __imag__ y;
    __imag__ z = __real__ x * __imag__ y + __imag__ x * __real__ y;
    return z;
}
PLAIN(gemm_c128, double _Complex, double _Complex)

const GemmFn LEVEL(loop_gemms)[TYPES] = {
    [TYPE_F32] = gemm_f32, [TYPE_F64] = INTEGER_LEVEL(gemm_double), [TYPE_I32] = gemm_i32, [TYPE_I64] = gemm_i64,
    [TYPE_U32] = gemm_u32, [TYPE_U64] = gemm_u64, [TYPE_C64] = gemm_c64, [TYPE_C128] = gemm_c128,
};
const GemmPackFn LEVEL(loop_gemm_packs)[2] = {pack_all_f32, INTEGER_LEVEL(gemm_double_pack)};
// Doubles have half the lanes of floats, and 512 bits of them none.
const int8_t LEVEL(loop_gemm_panels)[2] = {PANEL_f32, LOOPS_LEVEL == 1 ? PANEL_f32 / 2 : 8};
