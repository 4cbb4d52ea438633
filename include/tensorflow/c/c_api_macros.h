// c_api_macros.h — how the functions of the C interface are declared.
#ifndef TENSORFLOW_C_C_API_MACROS_H_
#define TENSORFLOW_C_C_API_MACROS_H_

#include <stddef.h>

#if defined(SWIG)
#define TF_CAPI_EXPORT
#elif defined(TF_CAPI_WEAK)
#define TF_CAPI_EXPORT __attribute__((visibility("default"), weak))
#else
#define TF_CAPI_EXPORT __attribute__((visibility("default")))
#endif

// One byte, 0 or 1.
#ifndef TF_Bool
#define TF_Bool unsigned char
#endif

// The size of a struct up to and with a member: structs grow at their end, and carry this number in `struct_size`.
#ifndef TF_OFFSET_OF_END
#define TF_OFFSET_OF_END(TYPE, MEMBER) (offsetof(TYPE, MEMBER) + sizeof(((TYPE *)0)->MEMBER))
#endif

#endif  // TENSORFLOW_C_C_API_MACROS_H_
