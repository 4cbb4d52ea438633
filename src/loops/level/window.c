// Rows of normalisations, and the channel loops of pooling windows.
//
// Channels lie innermost, so each loop is one pass over vectors of channels; which pixels come together is the caller's
// (pool.c, norm.c).
#include <float.h>

#include "loops/level/table.h"
#include "loops/level/math_double.h"
#include "loops/level/math_float.h"

#define T float
#define NAME f32
#define M(name) f32_##name
#include "loops/level/window_rows.h"
#undef T
#undef NAME
#undef M
#define T double
#define NAME f64
#define M(name) f64_##name
#include "loops/level/window_rows.h"
#undef T
#undef NAME
#undef M

// greatest[c] = max(greatest[c], x[c]); where it changes, place[c] = at. In gradients the first of equals receives.
// A NaN is not greater than anything, so a maximum passes it over; nothing but NaNs, or -inf, gives the least finite
// value: TensorFlow's answers on CPUs.
#define POOL(name, T, LOWEST)                                                                                \
    static void name##_max_first(const void *x_, void *greatest, int64_t n) {                                \
        const T *x = x_;                                                                                     \
        T *y = greatest;                                                                                     \
        VECTOR_LOOP                                                                                          \
        for (int64_t i = 0; i < n; i++)                                                                      \
            y[i] = x[i] > LOWEST ? x[i] : LOWEST;                                                            \
    }                                                                                                        \
    static void name##_max(const void *x_, void *greatest, int64_t n) {                                      \
        const T *x = x_;                                                                                     \
        T *y = greatest;                                                                                     \
        VECTOR_LOOP                                                                                          \
        for (int64_t i = 0; i < n; i++)                                                                      \
            y[i] = x[i] > y[i] ? x[i] : y[i];                                                                \
    }                                                                                                        \
    static void name##_max_at(const void *x_, void *greatest, int32_t *place, int32_t at, int64_t n) {       \
        const T *x = x_;                                                                                     \
        T *y = greatest;                                                                                     \
        VECTOR_LOOP                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            bool better = x[i] > y[i];                                                                       \
            place[i] = better ? at : place[i];                                                               \
            y[i] = better ? x[i] : y[i];                                                                     \
        }                                                                                                    \
    }                                                                                                        \
    static void name##_max_grad(const int32_t *place, int32_t at, const void *dy_, void *dx_, int64_t n) {   \
        const T *dy = dy_;                                                                                   \
        T *dx = dx_;                                                                                         \
        VECTOR_LOOP                                                                                          \
        for (int64_t i = 0; i < n; i++)                                                                      \
            dx[i] += place[i] == at ? dy[i] : 0;                                                             \
    }                                                                                                        \
    static void name##_max_2x2(const void *const x[4], void *greatest, int64_t n) {                          \
        const T *a = x[0], *b = x[1], *c = x[2], *d = x[3];                                                  \
        T *y = greatest;                                                                                     \
        VECTOR_LOOP                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            T m = a[i] > LOWEST ? a[i] : LOWEST;                                                             \
            m = b[i] > m ? b[i] : m;                                                                         \
            m = c[i] > m ? c[i] : m;                                                                         \
            y[i] = d[i] > m ? d[i] : m;                                                                      \
        }                                                                                                    \
    }                                                                                                        \
    static void name##_max_grad_2x2(const void *const x[4], const void *dy_, void *const dx[4], int64_t n) { \
        const T *a = x[0], *b = x[1], *c = x[2], *d = x[3], *dy = dy_;                                       \
        T *da = dx[0], *db = dx[1], *dc = dx[2], *dd = dx[3];                                                \
        VECTOR_LOOP                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            T zero = 0, m = b[i] > a[i] ? b[i] : a[i], o = c[i] > m ? c[i] : m;                              \
            T later = d[i] > o ? zero : dy[i], last = d[i] > o ? dy[i] : zero;                               \
            T third = c[i] > m ? later : zero, early = c[i] > m ? zero : later;                              \
            da[i] = b[i] > a[i] ? zero : early;                                                              \
            db[i] = b[i] > a[i] ? early : zero;                                                              \
            dc[i] = third;                                                                                   \
            dd[i] = last;                                                                                    \
        }                                                                                                    \
    }
// Outputs whose element j of the window lies inside the row: first <= x < last.
INLINE void along_range(int64_t j, int64_t extent, int64_t count, int64_t stride, int64_t pad, int64_t *first,
                        int64_t *last) {
    int64_t shift = pad - j, most = extent - 1 + shift;
    *first = shift > 0 ? (shift + stride - 1) / stride : 0;
    *last = most < 0 ? 0 : most / stride + 1;
    *last = *last > count ? count : *last;
}
#define ALONG(name, T, expression)                                                                           \
    static void name(const void *row_, int64_t extent, void *out_, int64_t count, int64_t stride,            \
                     int64_t pad, int64_t window) {                                                          \
        const T *row = row_;                                                                                 \
        T *out = out_;                                                                                       \
        for (int64_t j = 0; j < window; j++) {                                                               \
            int64_t first, last;                                                                             \
            along_range(j, extent, count, stride, pad, &first, &last);                                       \
            VECTOR_LOOP                                                                                      \
            for (int64_t i = first; i < last; i++) {                                                         \
                T x = row[i * stride - pad + j], y = out[i];                                                 \
                out[i] = expression;                                                                         \
            }                                                                                                \
        }                                                                                                    \
    }
ALONG(f32_max_along, float, x > y ? x : y)
ALONG(f64_max_along, double, x > y ? x : y)
ALONG(i32_max_along, int32_t, x > y ? x : y)
ALONG(i64_max_along, int64_t, x > y ? x : y)
ALONG(f32_add_along, float, x + y)
ALONG(f64_add_along, double, x + y)

POOL(f32, float, -FLT_MAX)
POOL(f64, double, -DBL_MAX)
POOL(i32, int32_t, INT32_MIN)
POOL(i64, int64_t, INT64_MIN)

const WindowTable LEVEL(loop_windows) = {
    .moments = {moments_f32, moments_f64},
    .scale_rows = {scale_rows_f32, scale_rows_f64},
    .blend_rows = {blend_rows_f32, blend_rows_f64},
    .add_channels = {add_channels_f32, add_channels_f64},
    .narrow = {narrow_f32, narrow_f64},
    .gather_mean = {gather_mean_f32, gather_mean_f64},
    .gather_equal = {gather_equal_f32, gather_equal_f64},
    .local_response = {local_response_f32, local_response_f64},
    .local_response_grad = {local_response_grad_f32, local_response_grad_f64},
    .max_first = {f32_max_first, f64_max_first, i32_max_first, i64_max_first},
    .max = {f32_max, f64_max, i32_max, i64_max},
    .max_at = {f32_max_at, f64_max_at, i32_max_at, i64_max_at},
    .max_along = {f32_max_along, f64_max_along, i32_max_along, i64_max_along},
    .add_along = {f32_add_along, f64_add_along},
    .max_grad = {f32_max_grad, f64_max_grad, i32_max_grad, i64_max_grad},
    .max_2x2 = {f32_max_2x2, f64_max_2x2, i32_max_2x2, i64_max_2x2},
    .max_grad_2x2 = {f32_max_grad_2x2, f64_max_grad_2x2, i32_max_grad_2x2, i64_max_grad_2x2},
};
