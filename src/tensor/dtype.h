// DType — the element types, with TensorFlow's numbers. A reference type is its base + 100.
#pragma once
#include <complex.h>

#include "base/str.h"

typedef struct { uint16_t bits; } Half;      // IEEE binary16; a struct, so that C can't compute on the bits by accident
typedef struct { uint16_t bits; } Bfloat16;  // the upper half of a float
typedef float _Complex Complex64;
typedef double _Complex Complex128;

typedef enum {
    DT_INVALID = 0,
#define DTYPE(token, number, c_type, bytes, kind) DT_##token = number,
#include "tensor/dtype.def"
#undef DTYPE
    DTYPES = 33,   // one past the last
    DT_REF = 100,  // added to a base type: a reference to a variable of that type
} DType;

typedef enum {
    KIND_NONE, KIND_FLOAT, KIND_INT, KIND_UINT, KIND_BOOL, KIND_COMPLEX, KIND_QUANTIZED, KIND_SMALL, KIND_STRING,
    KIND_OBJECT,  // a counted Object: resource and variant
} DTypeKind;

const char *dtype_name(DType dtype);             // "float", "float_ref"; "invalid" for no type
DType dtype_find(Str name);                      // DT_INVALID where there is none
size_t dtype_size(DType dtype);                  // bytes of one element in memory; 0 for an invalid type
DTypeKind dtype_kind(DType dtype);

static inline bool dtype_is_ref(DType dtype) {
    return (int)dtype > DT_REF;
}
static inline DType dtype_base(DType dtype) {
    return dtype_is_ref(dtype) ? (DType)((int)dtype - DT_REF) : dtype;
}
static inline bool dtype_is_valid(DType dtype) {
    return (int)dtype_base(dtype) > 0 && (int)dtype_base(dtype) < DTYPES;
}
// Bytes that may be copied and compared: everything but strings, resources and variants.
static inline bool dtype_is_plain(DType dtype) {
    DTypeKind kind = dtype_kind(dtype);
    return kind != KIND_STRING && kind != KIND_OBJECT && kind != KIND_NONE;
}
static inline bool dtype_is_float(DType dtype) {
    return dtype_kind(dtype) == KIND_FLOAT;
}
static inline bool dtype_is_integer(DType dtype) {
    return dtype_kind(dtype) == KIND_INT || dtype_kind(dtype) == KIND_UINT;
}
static inline bool dtype_is_complex(DType dtype) {
    return dtype_kind(dtype) == KIND_COMPLEX;
}

// One element to and from float; round to nearest even. The tiled loops convert whole rows.
float half_to_float(Half h);
Half half_from_float(float f);
static inline float bfloat16_to_float(Bfloat16 b) {
    uint32_t bits = (uint32_t)b.bits << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}
Bfloat16 bfloat16_from_float(float f);
