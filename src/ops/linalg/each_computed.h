// Includes SELF for double and for complex128, with T, NAME(f), CONJ, REAL, IMAG, SQUARED (of the absolute value)
// and DOUBLES (in one) set.
#define T double
#define DOUBLES 1
#define NAME(f) f##_double
#define CONJ(x) (x)
#define REAL(x) (x)
#define IMAG(x) 0.0
#define SQUARED(x) ((x) * (x))
#include SELF
#undef T
#undef DOUBLES
#undef NAME
#undef CONJ
#undef REAL
#undef IMAG
#undef SQUARED

#define T Complex128
#define DOUBLES 2
#define NAME(f) f##_complex128
#define CONJ(x) conj(x)
#define REAL(x) creal(x)
#define IMAG(x) cimag(x)
#define SQUARED(x) (creal(x) * creal(x) + cimag(x) * cimag(x))
#include SELF
#undef T
#undef DOUBLES
#undef NAME
#undef CONJ
#undef REAL
#undef IMAG
#undef SQUARED
