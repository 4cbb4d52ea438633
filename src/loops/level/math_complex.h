// Complex functions, for one width — the C library's, products and quotients written out so that they vectorise.
// Included with T (complex), R (its real type), M(name) (this file's names), S(name) (the C library's suffix) and
// MR(name) (the real functions) set.

INLINE T M(make)(R re, R im) {
    T z;
    __real__ z = re;
    __imag__ z = im;
    return z;
}
INLINE T M(conj)(T x) { return M(make)(__real__ x, -__imag__ x); }
INLINE T M(mul)(T x, T y) {
    R a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
    return M(make)(a * c - b * d, a * d + b * c);
}
// Scaled by the larger part of the divisor, so that nothing overflows early.
INLINE T M(div)(T x, T y) {
    R a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
    bool tall = MR(fabs)(d) > MR(fabs)(c);
    R big = tall ? d : c, small = tall ? c : d;
    R ratio = big == 0 ? (R)0 : small / big;
    R scale = 1 / (big + small * ratio);
    R re = tall ? a * ratio + b : a + b * ratio;
    R im = tall ? b * ratio - a : b - a * ratio;
    return M(make)(re * scale, im * scale);
}
INLINE T M(inverse)(T x) {
    if (x == 0)
        return M(make)((R)NAN, (R)NAN);
    return M(div)(M(make)(1, 0), x);
}
INLINE R M(cabs)(T x) { return S(hypot)(__real__ x, __imag__ x); }
INLINE R M(angle)(T x) { return S(atan2)(__imag__ x, __real__ x); }
INLINE T M(sign)(T x) {
    R length = M(cabs)(x);
    return length == 0 ? 0 : M(make)(__real__ x / length, __imag__ x / length);
}
#define COMPLEX_FROM_LIBRARY(name) \
    INLINE T M(name)(T x) { return S(c##name)(x); }
COMPLEX_FROM_LIBRARY(sqrt)
COMPLEX_FROM_LIBRARY(exp)
COMPLEX_FROM_LIBRARY(log)
COMPLEX_FROM_LIBRARY(sin)
COMPLEX_FROM_LIBRARY(cos)
COMPLEX_FROM_LIBRARY(tan)
COMPLEX_FROM_LIBRARY(asin)
COMPLEX_FROM_LIBRARY(acos)
COMPLEX_FROM_LIBRARY(atan)
COMPLEX_FROM_LIBRARY(sinh)
COMPLEX_FROM_LIBRARY(cosh)
COMPLEX_FROM_LIBRARY(tanh)
COMPLEX_FROM_LIBRARY(asinh)
COMPLEX_FROM_LIBRARY(acosh)
COMPLEX_FROM_LIBRARY(atanh)
#undef COMPLEX_FROM_LIBRARY

// e^z - 1 without cancellation: Re = expm1(a) cos b - 2 sin^2(b / 2).
INLINE T M(expm1)(T x) {
    R a = __real__ x, b = __imag__ x, half = S(sin)(b / 2);
    return M(make)(S(expm1)(a) * S(cos)(b) - 2 * half * half, S(exp)(a) * S(sin)(b));
}
// ln(1 + z): the modulus through log1p where z is small.
INLINE T M(log1p)(T x) {
    R a = __real__ x, b = __imag__ x;
    if (MR(fabs)(a) < (R)0.5 && MR(fabs)(b) < (R)0.5)
        return M(make)((R)0.5 * S(log1p)(a * (2 + a) + b * b), S(atan2)(b, 1 + a));
    return M(log)(M(make)(1 + a, b));
}
INLINE T M(sigmoid)(T x) {
    T e = M(exp)(-x);
    return M(inverse)(M(make)(1 + __real__ e, __imag__ e));
}
INLINE T M(round)(T x) { return M(make)(MR(rint)(__real__ x), MR(rint)(__imag__ x)); }
INLINE T M(pow)(T x, T y) {
    if (y == 0)
        return M(make)(1, 0);
    if (__imag__ y == 0 && __real__ y > 0 && x == 0)
        return 0;
    return S(cpow)(x, y);
}
INLINE T M(squared_difference)(T x, T y) {
    T d = x - y;
    return M(mul)(M(conj)(d), d);
}
// TensorFlow takes y as it is in these two, and its conjugate in the three after them.
INLINE T M(tanh_grad)(T y, T dy) {
    return M(mul)(dy, 1 - M(mul)(y, y));
}
INLINE T M(sigmoid_grad)(T y, T dy) {
    return M(mul)(dy, M(mul)(y, 1 - y));
}
INLINE T M(sqrt_grad)(T y, T dy) {
    T w = M(conj)(y);
    return dy == 0 ? 0 : M(div)(dy * (R)0.5, w);
}
INLINE T M(rsqrt_grad)(T y, T dy) {
    T w = M(conj)(y);
    return dy == 0 ? 0 : M(mul)(dy * (R)-0.5, M(mul)(M(mul)(w, w), w));
}
INLINE T M(reciprocal_grad)(T y, T dy) {
    T w = M(conj)(y);
    return dy == 0 ? 0 : M(mul)(-dy, M(mul)(w, w));
}
