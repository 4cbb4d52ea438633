// Includes SELF once for each element type of the set that was asked for, with these set:
//
//     T      the type in memory          LOAD(x)   an element as ACC
//     ACC    the type to compute in      STORE(v)  an ACC as an element
//     FN(n)  n_float, n_half ...         the names that KERNELS(set, n) puts in the table
//
// Ask with EACH_FLOAT (half, bfloat16, float, double), EACH_REAL (and the integers), EACH_NUMBER (and the complex
// ones).
#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define FN(name) JOIN(name, DTYPE_NAME)
#if defined(EACH_NUMBER)
#define EACH_REAL
#endif
#if defined(EACH_REAL)
#define EACH_FLOAT
#endif

#ifdef EACH_FLOAT
#define IS_SIXTEEN_BITS
#define T Half
#define ACC float
#define DTYPE_NAME half
#define LOAD half_to_float
#define STORE half_from_float
#include SELF
#undef T
#undef DTYPE_NAME
#undef LOAD
#undef STORE

#define T Bfloat16
#define DTYPE_NAME bfloat16
#define LOAD bfloat16_to_float
#define STORE bfloat16_from_float
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME
#undef LOAD
#undef STORE
#undef IS_SIXTEEN_BITS

#define LOAD(x) (x)
#define STORE(v) ((T)(v))
#define T float
#define ACC float
#define DTYPE_NAME float
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME

#define T double
#define ACC double
#define DTYPE_NAME double
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME
#endif

#ifdef EACH_REAL
#define IS_INTEGER
#define T int8_t
#define ACC int8_t
#define DTYPE_NAME int8
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME

#define T int16_t
#define ACC int16_t
#define DTYPE_NAME int16
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME

#define T int32_t
#define ACC int32_t
#define DTYPE_NAME int32
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME

#define T int64_t
#define ACC int64_t
#define DTYPE_NAME int64
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME

#define T uint8_t
#define ACC uint8_t
#define DTYPE_NAME uint8
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME

#define T uint16_t
#define ACC uint16_t
#define DTYPE_NAME uint16
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME

#define T uint32_t
#define ACC uint32_t
#define DTYPE_NAME uint32
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME

#define T uint64_t
#define ACC uint64_t
#define DTYPE_NAME uint64
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME
#undef IS_INTEGER
#endif

#ifdef EACH_NUMBER
#define IS_COMPLEX
#define T Complex64
#define ACC Complex64
#define DTYPE_NAME complex64
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME

#define T Complex128
#define ACC Complex128
#define DTYPE_NAME complex128
#include SELF
#undef T
#undef ACC
#undef DTYPE_NAME
#undef IS_COMPLEX
#endif

#undef LOAD
#undef STORE
#undef EACH_FLOAT
#undef EACH_REAL
#undef EACH_NUMBER
