// Integer operations that C leaves undefined, defined: they wrap, or count a fault and give 0.
// Included once per type with T, WRAP (its unsigned twin), IS_SIGNED and INTEGER(name) set.
#undef NEGATIVE
#define NEGATIVE(x) ((x) < 1 && (x) != 0)  // without a compiler's remark on unsigned types

static inline T INTEGER(divide)(T x, T y, int64_t *faults) {
    if (y == 0) {
        ++*faults;
        return 0;
    }
    return IS_SIGNED && y == (T)-1 ? (T)(0 - (WRAP)x) : (T)(x / y);
}
static inline T INTEGER(modulo)(T x, T y, int64_t *faults) {
    if (y == 0) {
        ++*faults;
        return 0;
    }
    return IS_SIGNED && y == (T)-1 ? 0 : (T)(x % y);
}
static inline T INTEGER(floor_divide)(T x, T y, int64_t *faults) {
    T q = INTEGER(divide)(x, y, faults);
    if (!IS_SIGNED || y == 0 || y == (T)-1)
        return q;
    return x % y != 0 && NEGATIVE(x) != NEGATIVE(y) ? (T)(q - 1) : q;
}
static inline T INTEGER(floor_mod)(T x, T y, int64_t *faults) {
    T r = INTEGER(modulo)(x, y, faults);
    return IS_SIGNED && r != 0 && NEGATIVE(r) != NEGATIVE(y) ? (T)(r + y) : r;
}
static inline T INTEGER(power)(T x, T y, int64_t *faults) {
    if (IS_SIGNED && NEGATIVE(y)) {
        ++*faults;
        return 0;
    }
    WRAP result = 1, base = (WRAP)x;
    for (WRAP n = (WRAP)y; n; n >>= 1, base *= base)
        if (n & 1)
            result *= base;
    return (T)result;
}
// The amount is held to [0, bits - 1], as in TensorFlow; `bits` is the width of the type in memory.
static inline T INTEGER(amount)(T y, int bits) {
    T most = (T)(bits - 1);
    return IS_SIGNED && NEGATIVE(y) ? 0 : y > most ? most : y;
}
static inline T INTEGER(shift_left)(T x, T y, int bits) {
    return (T)((WRAP)x << INTEGER(amount)(y, bits));
}
static inline T INTEGER(shift_right)(T x, T y, int bits) {
    return (T)(x >> INTEGER(amount)(y, bits));
}
static inline double INTEGER(distance)(T x, T y) {
    return x > y ? (double)(WRAP)((WRAP)x - (WRAP)y) : (double)(WRAP)((WRAP)y - (WRAP)x);
}
