// Float functions that vectorise — polynomials and selects in plain C, no table, no branch, no library call.
//
// The hot ones (exp, expm1, log, log1p, tanh, sigmoid, erf, erfc, softplus) compute in float, error 1 to 2.5 ulp. The
// others compute in double, where short series are exact enough for a correctly rounded float nearly always. A
// clamp is written `x > c ? c : x`, so that NaN passes through.
#pragma once
#include <math.h>

#include "loops/level/level.h"

#define SELU_SCALE ((T)1.0507009873554804934193349852946)
#define SELU_SCALE_ALPHA ((T)1.7580993408473768599402175208123)

INLINE uint32_t float_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
}
INLINE float float_of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, 4);
    return x;
}
INLINE uint64_t double_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return bits;
}
INLINE double double_of_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, 8);
    return x;
}

INLINE float f32_fabs(float x) { return __builtin_fabsf(x); }
INLINE float f32_sqrt(float x) { return __builtin_sqrtf(x); }

// Adding and subtracting 1.5 * 2^23 rounds to the nearest integer, ties to even.
INLINE float f32_rint(float x) {
#if LOOPS_LEVEL > 1
    return __builtin_rintf(x);
#else
    float a = f32_fabs(x);
    float r = (a + 0x1p23f) - 0x1p23f;
    return __builtin_copysignf(a < 0x1p23f ? r : a, x);
#endif
}
INLINE float f32_floor(float x) {
#if LOOPS_LEVEL > 1
    return __builtin_floorf(x);
#else
    float r = f32_rint(x);
    return __builtin_copysignf(r > x ? r - 1 : r, x);
#endif
}
INLINE float f32_ceil(float x) {
    return -f32_floor(-x);
}
INLINE float f32_trunc(float x) {
    return __builtin_copysignf(f32_floor(f32_fabs(x)), x);
}

// e^r - 1 for |r| <= ln 2 / 2.
INLINE float f32_expm1_series(float r) {
    float p = 0.0013814219773927751f;
    p = p * r + 0.0083688988742079678f;
    p = p * r + 0.04166840576586673f;
    p = p * r + 0.16666519127926491f;
    p = p * r + 0.49999993346222132f;
    return p * (r * r) + r;
}

// e^r - 1, where x = k ln 2 + r; k is in the low bits of *shifted.
INLINE float f32_expm1_of_rest(float x, float *out_shifted) {
    float shifted = *out_shifted = x * 1.44269504089f + 12582912.0f;
    float kf = shifted - 12582912.0f;
    float r = x - kf * 0.693359375f;
    return f32_expm1_series(r + kf * 2.12194440e-4f);
}
INLINE float f32_exp_of_rest(float x, float *out_shifted) {
    return f32_expm1_of_rest(x, out_shifted) + 1.0f;
}

// e^x: two scalings by halves of k reach both infinity and the subnormals.
INLINE float f32_exp(float x) {
    x = x > 89.0f ? 89.0f : x;
    x = x < -104.0f ? -104.0f : x;
    float shifted, p = f32_exp_of_rest(x, &shifted);
    int32_t k = (int32_t)(float_bits(shifted) - 0x4b400000u), half = k >> 1;
    float first = float_of_bits((uint32_t)(half + 127) << 23);
    float second = float_of_bits((uint32_t)(k - half + 127) << 23);
    return p * first * second;
}

// The same for x <= 0 in one scaling: results below 2^-126 are 0.
INLINE float f32_exp_below(float x) {
    float shifted, p = f32_exp_of_rest(x, &shifted);
    float y = p * float_of_bits((float_bits(shifted) << 23) + 0x3f800000u);
    return x < -87.3365f ? 0.0f : y;
}

// ln((1 + f) 2^k) + more, for 1 + f in [sqrt(1/2), sqrt(2)) and a small `more`.
INLINE float f32_log_of(float f, float k, float more) {
    float p = 0.067466843392271506f;
    p = p * f - 0.11675771772067141f;
    p = p * f + 0.11888209173429268f;
    p = p * f - 0.12405573781750349f;
    p = p * f + 0.1421954428101446f;
    p = p * f - 0.16667996344693903f;
    p = p * f + 0.2000211905503258f;
    p = p * f - 0.25000009596973155f;
    p = p * f + 0.33333312598548692f;
    float square = f * f;
    float tail = p * (f * square) + (k * -2.12194440e-4f + more);
    tail = tail - 0.5f * square;
    return f + tail + k * 0.693359375f;
}

// ln x: x = m 2^k with m in [sqrt(1/2), sqrt(2)).
INLINE float f32_log(float x) {
    float tiny = x < 0x1p-126f ? 1.0f : 0.0f;
    float scaled = x < 0x1p-126f ? x * 0x1p23f : x;
    uint32_t bits = float_bits(scaled) - 0x3f3504f3u;
    float k = (float)((int32_t)bits >> 23) - tiny * 23.0f;
    float f = float_of_bits((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    float y = f32_log_of(f, k, 0.0f);
    y = x == (float)INFINITY ? x : y;
    y = x == 0 ? -(float)INFINITY : y;
    return x < 0 || x != x ? (float)NAN : y;
}

// ln(1 + x): of the rounded sum u, and what it lost as a part of u, for which a rough 1 / m does.
INLINE float f32_log1p(float x) {
    float u = 1.0f + x, one = u - x, lost = (x - (u - one)) + (1.0f - one);
    uint32_t bits = float_bits(u) - 0x3f3504f3u;
    int32_t k = (int32_t)bits >> 23, down = k > 64 ? 64 : k;
    float f = float_of_bits((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    lost = lost * float_of_bits((uint32_t)(127 - down) << 23);
    float y = f32_log_of(f, (float)k, lost * (1.0f - f * (1.0f - f * (1.0f - f))));
    y = x == (float)INFINITY || x == 0 ? x : y;
    y = u == 0 ? -(float)INFINITY : y;
    return u < 0 || x != x ? (float)NAN : y;
}

// e^x - 1 = (e^r - 1) 2^k + (2^k - 1), exact in its second part; 2^k in two halves, since k may be 128.
INLINE float f32_expm1(float x) {
    float z = x > 89.0f ? 89.0f : x;
    z = z < -30.0f ? -30.0f : z;
    float shifted, p = f32_expm1_of_rest(z, &shifted);
    int32_t k = (int32_t)(float_bits(shifted) - 0x4b400000u), half = k >> 1;
    float first = float_of_bits((uint32_t)(half + 127) << 23);
    float second = float_of_bits((uint32_t)(k - half + 127) << 23);
    float inverse = float_of_bits((uint32_t)(half - k + 127) << 23);
    return x == 0 ? x : (p * first + (first - inverse)) * second;
}

// erfc x = t e^(-x^2) P(2 t - 1) with t = 1 / (1 + x / 2). x^2 is the square of what 12 bits hold, which is exact, and
// the rest. t, on which all hangs twice, and the last step of P are in double: 2.4 ulp, 4.9 without; 2.3 ns an element
// at AVX2 for 1.1.
INLINE float f32_erfc(float x) {
    float a = f32_fabs(x);
    a = a > 10.5f ? 10.5f : a;
    double t = 1 / (1 + 0.5 * (double)a), wide = 2 * t - 1;
    float u = (float)wide, p = 3.6559445e-05f;
    p = p * u - 2.6723218e-05f;
    p = p * u - 0.00029673767f;
    p = p * u + 0.00041919375f;
    p = p * u + 0.0015307381f;
    p = p * u - 0.0032389852f;
    p = p * u - 0.0107526272f;
    p = p * u + 0.018221025f;
    p = p * u + 0.13973586f;
    p = p * u + 0.34358034f;
    float head = float_of_bits(float_bits(a) & 0xfffff000u), rest = (head - a) * (a + head);
    float shifted = head * head * -1.44269504089f + 12582912.0f, kf = shifted - 12582912.0f;
    float r = (-(head * head) - kf * 0.693359375f) + (kf * 2.12194440e-4f + rest);
    float w = (float)(((double)p * wide + (double)0.51079135f) * t), y = w + w * f32_expm1_series(r);
    int32_t k = (int32_t)(float_bits(shifted) - 0x4b400000u), half = k >> 1;
    y = y * float_of_bits((uint32_t)(half + 127) << 23) * float_of_bits((uint32_t)(k - half + 127) << 23);
    return x < 0 ? 2.0f - y : y;
}

INLINE float f32_tanh(float x) {
    float a = f32_fabs(x), z = x * x;
    float p = 0.0021475368756369911f;
    p = p * z - 0.0081826738726035169f;
    p = p * z + 0.021702967110273468f;
    p = p * z - 0.053947204269975124f;
    p = p * z + 0.13333209763797832f;
    p = p * z - 0.33333330906671688f;
    float small = p * z * x + x;
    float big = 1.0f - 2.0f / (f32_exp(a + a) + 1.0f);
    return a < 0.625f ? small : __builtin_copysignf(big, x);
}

INLINE float f32_sigmoid(float x) {
    return 1.0f / (1.0f + f32_exp(-x));
}

INLINE float f32_erf(float x) {
    float a = f32_fabs(x), z = x * x;
    float p = 8.4099207837523337e-05f;
    p = p * z - 0.00081526279997053543f;
    p = p * z + 0.0052019602338932523f;
    p = p * z - 0.02685979859981398f;
    p = p * z + 0.11283703314872914f;
    p = p * z - 0.37612634295616232f;
    p = p * z + 0.12837916670289012f;
    float small = x + x * p;
    float t = a > 4.0f ? 4.0f : a;  // ln(erfc t) is a gentle curve
    float q = -2.0909554943768875e-05f;
    q = q * t + 0.00043230299828366853f;
    q = q * t - 0.0041605269624900706f;
    q = q * t + 0.02509149670635041f;
    q = q * t - 0.10823661923008111f;
    q = q * t - 0.63338664664290967f;
    q = q * t - 1.1294951590250506f;
    q = q * t + 0.00017055202488425181f;
    float big = 1.0f - f32_exp(q);
    return a < 0.92f ? small : __builtin_copysignf(big, x);
}

// ln(1 + e) = 2 atanh(t / 2) for e = exp(-|x|) and t = 2 e / (2 + e), at most 2/3.
INLINE float f32_softplus(float x) {
    float e = f32_exp(-f32_fabs(x)), t = e / (1.0f + 0.5f * e), z = t * t;
    float p = 0.00011340004502748073f;
    p = p * z + 0.00042395655861946239f;
    p = p * z + 0.0022337779683032598f;
    p = p * z + 0.012499908228728108f;
    p = p * z + 0.083333334150659244f;
    return (x > 0 ? x : 0) + (p * (z * t) + t);
}

// ---- in double ----

INLINE double wide_exp(double x) {
    x = x > 200.0 ? 200.0 : x;
    x = x < -200.0 ? -200.0 : x;
    double shifted = x * 1.4426950408889634 + 6755399441055744.0;
    double k = shifted - 6755399441055744.0;
    double r = x - k * 0.693147180369123816490;
    r = r - k * 1.90821492927058770002e-10;
    double p = 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    return p * double_of_bits((double_bits(shifted) + 1023) << 52);
}

// ln x for x a float's value, or a product of a few, held in a double (never subnormal): ln m = 2 atanh((m-1)/(m+1)).
INLINE double wide_log(double x) {
    uint64_t bits = double_bits(x) - 0x3fe6a09e667f3bcdull;
    uint64_t biased = ((bits >> 52) + 0x800) & 0xfff;   // k + 2048, so that it stays unsigned
    double k = double_of_bits(biased | 0x4330000000000000ull) - 4503599627370496.0 - 2048.0;
    double m = double_of_bits((bits & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull);
    double s = (m - 1) / (m + 1), z = s * s;
    double p = 2.0 / 17;
    p = p * z + 2.0 / 15;
    p = p * z + 2.0 / 13;
    p = p * z + 2.0 / 11;
    p = p * z + 2.0 / 9;
    p = p * z + 2.0 / 7;
    p = p * z + 2.0 / 5;
    p = p * z + 2.0 / 3;
    double y = p * (z * s) + 2 * s + k * 0.69314718055994530942;
    y = x == (double)INFINITY ? x : y;
    y = x == 0 ? -(double)INFINITY : y;
    return x < 0 || x != x ? (double)NAN : y;
}

INLINE double wide_log1p(double x) {
    double p = 1.0 / 7;
    p = p * x - 1.0 / 6;
    p = p * x + 1.0 / 5;
    p = p * x - 1.0 / 4;
    p = p * x + 1.0 / 3;
    p = p * x - 0.5;
    double small = p * (x * x) + x;
    double big = wide_log(1 + x);
    return x < 0.01 && x > -0.01 ? small : big;
}

INLINE double wide_atan(double x) {
    double a = __builtin_fabs(x);
    double inner = a > 1 ? 1 / a : a;
    double z = inner > 0.41421356237309503 ? (inner - 1) / (inner + 1) : inner;
    double s = z * z, p = 1.0 / 29;
    p = 1.0 / 27 - p * s;
    p = 1.0 / 25 - p * s;
    p = 1.0 / 23 - p * s;
    p = 1.0 / 21 - p * s;
    p = 1.0 / 19 - p * s;
    p = 1.0 / 17 - p * s;
    p = 1.0 / 15 - p * s;
    p = 1.0 / 13 - p * s;
    p = 1.0 / 11 - p * s;
    p = 1.0 / 9 - p * s;
    p = 1.0 / 7 - p * s;
    p = 1.0 / 5 - p * s;
    p = 1.0 / 3 - p * s;
    double y = z - z * s * p;
    y = inner > 0.41421356237309503 ? y + 0.78539816339744830962 : y;
    y = a > 1 ? 1.57079632679489661923 - y : y;
    return __builtin_copysign(y, x);
}

// sin and cos of r + k pi / 2: returns r, |r| <= pi / 4, and the low bits of k.
INLINE double wide_quarter(double x, uint64_t *k) {
    double shifted = x * 0.63661977236758134308 + 6755399441055744.0;
    double n = shifted - 6755399441055744.0;
    *k = double_bits(shifted);
    double r = x - n * 1.57079632673412561417;   // 33 bits: the product is exact for |n| < 2^20
    return r - n * 6.07710050650619224932e-11;
}
INLINE double wide_sin_part(double r) {
    double z = r * r, p = 1.0 / 6227020800;
    p = p * z - 1.0 / 39916800;
    p = p * z + 1.0 / 362880;
    p = p * z - 1.0 / 5040;
    p = p * z + 1.0 / 120;
    p = p * z - 1.0 / 6;
    return p * (z * r) + r;
}
INLINE double wide_cos_part(double r) {
    double z = r * r, p = -1.0 / 87178291200;
    p = p * z + 1.0 / 479001600;
    p = p * z - 1.0 / 3628800;
    p = p * z + 1.0 / 40320;
    p = p * z - 1.0 / 720;
    p = p * z + 1.0 / 24;
    p = p * z - 0.5;
    return p * z + 1;
}
INLINE double wide_sin(double x) {
    uint64_t k;
    double r = wide_quarter(x, &k);
    double y = k & 1 ? wide_cos_part(r) : wide_sin_part(r);
    return double_of_bits(double_bits(y) ^ ((k & 2) << 62));
}
INLINE double wide_cos(double x) {
    uint64_t k;
    double r = wide_quarter(x, &k);
    double y = k & 1 ? wide_sin_part(r) : wide_cos_part(r);
    return double_of_bits(double_bits(y) ^ (((k + 1) & 2) << 62));
}

// Arguments that wide_quarter can't reduce go to the C library, a block at a time.
INLINE bool f32_is_wide(float x) { return f32_fabs(x) > 1e6f; }
#define f32_careful_sin sinf
#define f32_careful_cos cosf
#define f32_careful_tan tanf
INLINE float f32_sin(float x) {
    float y = (float)wide_sin((double)x);
    return x == 0 ? x : y;
}
INLINE float f32_cos(float x) { return (float)wide_cos((double)x); }
INLINE float f32_tan(float x) {
    uint64_t k;
    double r = wide_quarter((double)x, &k);
    double s = wide_sin_part(r), c = wide_cos_part(r);
    double top = k & 1 ? -c : s, bottom = k & 1 ? s : c;
    return x == 0 ? x : (float)(top / bottom);
}
INLINE float f32_asin(float x) {
    double d = (double)x;
    return (float)wide_atan(d / __builtin_sqrt((1 - d) * (1 + d)));
}
INLINE float f32_acos(float x) {
    double d = (double)x;
    return (float)(2 * wide_atan(__builtin_sqrt((1 - d) / (1 + d))));
}
INLINE float f32_atan(float x) { return (float)wide_atan((double)x); }
INLINE float f32_atan2(float y, float x) {
    double top = __builtin_fabs((double)y), bottom = __builtin_fabs((double)x);
    double ratio = top / bottom;
    ratio = top == bottom ? (top == 0 ? 0.0 : 1.0) : ratio;
    double angle = wide_atan(ratio);
    angle = __builtin_copysignf(1.0f, x) < 0 ? 3.14159265358979323846 - angle : angle;
    return (float)__builtin_copysign(angle, (double)y);
}
INLINE float f32_sinh(float x) {
    double d = (double)x, a = __builtin_fabs(d), z = d * d;
    double small = d + d * z * (1.0 / 6 + z * (1.0 / 120 + z * (1.0 / 5040 + z * (1.0 / 362880))));
    double e = wide_exp(a);
    double big = __builtin_copysign((e - 1 / e) * 0.5, d);
    return (float)(a < 0.3 ? small : big);
}
INLINE float f32_cosh(float x) {
    double e = wide_exp(__builtin_fabs((double)x));
    return (float)((e + 1 / e) * 0.5);
}
INLINE float f32_asinh(float x) {
    double d = (double)x, a = __builtin_fabs(d), z = d * d;
    double y = wide_log1p(a + z / (1 + __builtin_sqrt(z + 1)));
    y = a == (double)INFINITY ? a : y;
    return (float)__builtin_copysign(y, d);
}
INLINE float f32_acosh(float x) {
    double t = (double)x - 1;
    double y = wide_log1p(t + __builtin_sqrt(t * (2 + t)));
    return x < 1 ? (float)NAN : (float)y;
}
INLINE float f32_atanh(float x) {
    double d = (double)x;
    return (float)__builtin_copysign(0.5 * wide_log1p(2 * __builtin_fabs(d) / (1 - __builtin_fabs(d))), d);
}
INLINE float f32_elu(float x) {
    float below = f32_expm1(x);
    return x < 0 ? below : x;
}
INLINE float f32_selu(float x) {
    float below = 1.7580993408473768f * f32_expm1(x);
    return x < 0 ? below : 1.0507009873554805f * x;
}

// The distance to the nearest integer, signed; 0 for every float beyond 2^23.
INLINE double wide_fraction(double x) {
    double rounded = (x + 6755399441055744.0) - 6755399441055744.0;
    return __builtin_fabs(x) < 0x1p40 ? x - rounded : x - x;
}

// A choice by bits. Where many values hang on one comparison the compiler would make branches of it, and the loop
// scalar.
INLINE uint64_t wide_is_negative(double x) {
    return 0 - (double_bits(x) >> 63);
}
INLINE double wide_choose(uint64_t mask, double a, double b) {
    return double_of_bits((double_bits(a) & mask) | (double_bits(b) & ~mask));
}

// Stirling's series after a shift by 8; below 1/2 the reflection at 1/2.
INLINE float f32_lgamma(float x) {
    double d = (double)x;
    uint64_t below = wide_is_negative(d - 0.5);
    double w = wide_choose(below, 1 - d, d);
    uint64_t near = wide_is_negative(w - 8);
    double u = wide_choose(near, w, 1);
    double product = u * (u + 1) * (u + 2) * (u + 3) * (u + 4) * (u + 5) * (u + 6) * (u + 7);
    double shifted = w + wide_choose(near, 8, 0), inverse = 1 / shifted, z = inverse * inverse;
    double series = inverse * (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z * (1.0 / 1680 - z * (1.0 / 1188)))));
    double y = (shifted - 0.5) * wide_log(shifted) - shifted + 0.91893853320467274178 + series;
    y -= wide_choose(near, wide_log(product), 0);
    double fraction = wide_fraction(d);
    double sine = wide_sin(3.14159265358979323846 * __builtin_fabs(fraction));
    double reflected = 1.14472988584940017414 - wide_log(wide_choose(below, sine, 1)) - y;
    y = wide_choose(below, reflected, y);
    y = d <= 0 && fraction == 0 ? (double)INFINITY : y;
    y = d == 1 || d == 2 ? 0 : y;
    return x == (float)INFINITY || x == -(float)INFINITY ? (float)INFINITY : (float)y;
}
INLINE float f32_digamma(float x) {
    double d = (double)x, w = d <= 0 ? 1 - d : d;
    double near = w < 8 ? 1.0 : 0.0;
    double sum = 1 / w + 1 / (w + 1) + 1 / (w + 2) + 1 / (w + 3) + 1 / (w + 4) + 1 / (w + 5) + 1 / (w + 6) +
                 1 / (w + 7);
    double shifted = w + near * 8;
    double inverse = 1 / shifted, z = inverse * inverse;
    double series = z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132)))));
    double y = wide_log(shifted) - 0.5 * inverse - series - near * sum;
    double fraction = wide_fraction(d);
    double pi_fraction = 3.14159265358979323846 * fraction;
    double reflected = y - 3.14159265358979323846 * wide_cos(pi_fraction) / wide_sin(pi_fraction);
    y = d <= 0 ? reflected : y;
    return d <= 0 && fraction == 0 ? (float)NAN : (float)y;
}

INLINE float f32_pow(float x, float y) {
    double base = __builtin_fabs((double)x), power = (double)y;
    double magnitude = wide_exp(power * wide_log(base));
    float half = f32_fabs(y) * 0.5f;
    bool odd = f32_floor(half) != half && f32_floor(y) == y;
    bool integral = f32_floor(y) == y;
    double z = odd && __builtin_copysignf(1.0f, x) < 0 ? -magnitude : magnitude;
    z = x < 0 && x > -(float)INFINITY && !integral ? (double)NAN : z;
    z = (base == 1 && __builtin_fabs(power) == (double)INFINITY) || x == 1 || y == 0 ? 1 : z;
    return (float)z;
}
INLINE float f32_fmod(float x, float y) { return __builtin_fmodf(x, y); }
INLINE float f32_floor_mod(float x, float y) {
    float r = __builtin_fmodf(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
