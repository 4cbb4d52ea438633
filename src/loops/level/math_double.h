// Double functions — the C library's, under the names of the row macros.
#pragma once
#include <math.h>

#include "loops/level/level.h"

#define f64_fabs __builtin_fabs
#define f64_sqrt __builtin_sqrt
#define f64_exp exp
#define f64_exp_below exp
#define f64_expm1 expm1
#define f64_log log
#define f64_log1p log1p
#define f64_sin sin
#define f64_cos cos
#define f64_tan tan
#define f64_asin asin
#define f64_acos acos
#define f64_atan atan
#define f64_atan2 atan2
#define f64_sinh sinh
#define f64_cosh cosh
#define f64_tanh tanh
#define f64_asinh asinh
#define f64_acosh acosh
#define f64_atanh atanh
#define f64_erf erf
#define f64_erfc erfc
#define f64_floor __builtin_floor
#define f64_ceil __builtin_ceil
#define f64_trunc __builtin_trunc
#define f64_rint __builtin_rint
#define f64_fmod fmod
#define f64_pow pow
#define f64_is_wide(x) false
#define f64_careful_sin sin
#define f64_careful_cos cos
#define f64_careful_tan tan

INLINE double f64_sigmoid(double x) { return 1 / (1 + exp(-x)); }
INLINE double f64_softplus(double x) { return (x < 0 ? 0 : x) + log1p(exp(-__builtin_fabs(x))); }
INLINE double f64_elu(double x) { return x < 0 ? expm1(x) : x; }
INLINE double f64_selu(double x) {
    return x < 0 ? 1.7580993408473768599402175208123 * expm1(x) : 1.0507009873554804934193349852946 * x;
}
INLINE double f64_floor_mod(double x, double y) {
    double r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
// lgamma_r, because lgamma writes a global.
INLINE double f64_lgamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}
// The asymptotic series after a shift beyond 10; below zero the reflection.
INLINE double f64_digamma(double x) {
    double reflection = 0, y = 0;
    if (x <= 0) {
        double fraction = x - __builtin_floor(x);
        if (fraction == 0)
            return (double)NAN;
        reflection = 3.14159265358979323846 / tan(3.14159265358979323846 * fraction);
        x = 1 - x;
    }
    while (x < 10) {
        y -= 1 / x;
        x += 1;
    }
    double inverse = 1 / x, z = inverse * inverse;
    y += log(x) - 0.5 * inverse;
    y -= z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 -
         z * (1.0 / 12)))))));
    return y - reflection;
}
