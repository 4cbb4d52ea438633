// Includes SELF once for each element type of the sets that were asked for, with these set:
//
//     T      the type in memory          LOAD(x)      an element as ACC
//     ACC    the type to compute in      STORE(v)     an ACC as an element
//     FN(n)  n_float, n_half ...         the names that KERNELS(set, n) puts in the table
//     ACC_FN(n)  n_float for half, too   the same of ACC: for what is there once for each type that is computed in
//     CONJ_OF(x), ABS_OF(x)              of an ACC, but for integers
//
// Ask with EACH_FLOAT (half, bfloat16, float, double), EACH_REAL (and the integers), EACH_NUMBER (and the complex
// ones), or with any of EACH_SIXTEEN_BITS (half, bfloat16), EACH_WIDE_FLOAT (float, double), EACH_INT32, EACH_COMPLEX.
// IS_SIXTEEN_BITS, IS_BFLOAT16, IS_INTEGER and IS_COMPLEX say of which kind the type at hand is.
#ifndef JOIN
#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#endif
#define FN(name) JOIN(name, DTYPE_NAME)
#define ACC_FN(name) JOIN(name, ACC_NAME)
#if defined(EACH_NUMBER)
#define EACH_REAL
#define EACH_COMPLEX
#endif
#if defined(EACH_REAL)
#define EACH_FLOAT
#define EACH_INTEGER
#endif
#if defined(EACH_FLOAT)
#define EACH_SIXTEEN_BITS
#define EACH_WIDE_FLOAT
#endif

#define CONJ_OF(x) (x)
#define ABS_OF(x) fabsf(x)
#ifdef EACH_SIXTEEN_BITS
#define IS_SIXTEEN_BITS
#define LOAD half_to_float
#define STORE half_from_float
#define T Half
#define ACC float
#define DTYPE_NAME half
#define ACC_NAME float
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME
#undef ACC_NAME
#undef LOAD
#undef STORE

#define IS_BFLOAT16
#define LOAD bfloat16_to_float
#define STORE bfloat16_from_float
#define T Bfloat16
#define ACC float
#define DTYPE_NAME bfloat16
#define ACC_NAME float
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME
#undef ACC_NAME
#undef LOAD
#undef STORE
#undef IS_BFLOAT16
#undef IS_SIXTEEN_BITS
#endif

#define LOAD(x) (x)
#define STORE(v) ((T)(v))
#ifdef EACH_WIDE_FLOAT
#define T float
#define ACC float
#define DTYPE_NAME float
#define ACC_NAME float
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME
#undef ACC_NAME
#undef ABS_OF

#define ABS_OF(x) fabs(x)
#define T double
#define ACC double
#define DTYPE_NAME double
#define ACC_NAME double
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME
#undef ACC_NAME
#endif
#undef ABS_OF
#undef CONJ_OF

#define IS_INTEGER
#ifdef EACH_INTEGER
#define T int8_t
#define ACC int8_t
#define DTYPE_NAME int8
#define ACC_NAME int8
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME
#undef ACC_NAME

#define T int16_t
#define ACC int16_t
#define DTYPE_NAME int16
#define ACC_NAME int16
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME
#undef ACC_NAME
#endif
#if defined(EACH_INTEGER) || defined(EACH_INT32)
#define T int32_t
#define ACC int32_t
#define DTYPE_NAME int32
#define ACC_NAME int32
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME
#undef ACC_NAME
#endif
#ifdef EACH_INTEGER
#define T int64_t
#define ACC int64_t
#define DTYPE_NAME int64
#define ACC_NAME int64
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME
#undef ACC_NAME

#define T uint8_t
#define ACC uint8_t
#define DTYPE_NAME uint8
#define ACC_NAME uint8
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME
#undef ACC_NAME

#define T uint16_t
#define ACC uint16_t
#define DTYPE_NAME uint16
#define ACC_NAME uint16
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME
#undef ACC_NAME

#define T uint32_t
#define ACC uint32_t
#define DTYPE_NAME uint32
#define ACC_NAME uint32
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME
#undef ACC_NAME

#define T uint64_t
#define ACC uint64_t
#define DTYPE_NAME uint64
#define ACC_NAME uint64
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME
#undef ACC_NAME
#endif
#undef IS_INTEGER

#ifdef EACH_COMPLEX
#define IS_COMPLEX
#define CONJ_OF(x) conjf(x)
#define ABS_OF(x) cabsf(x)
#define T Complex64
#define ACC Complex64
#define DTYPE_NAME complex64
#define ACC_NAME complex64
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME
#undef ACC_NAME
#undef CONJ_OF
#undef ABS_OF

#define CONJ_OF(x) conj(x)
#define ABS_OF(x) cabs(x)
#define T Complex128
#define ACC Complex128
#define DTYPE_NAME complex128
#define ACC_NAME complex128
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME
#undef ACC_NAME
#undef CONJ_OF
#undef ABS_OF
#undef IS_COMPLEX
#endif

#undef LOAD
#undef STORE
#undef EACH_SIXTEEN_BITS
#undef EACH_WIDE_FLOAT
#undef EACH_FLOAT
#undef EACH_INT32
#undef EACH_INTEGER
#undef EACH_REAL
#undef EACH_COMPLEX
#undef EACH_NUMBER
