// DType — see dtype.h: the table of dtype.def, and the 16-bit floats in portable C. Loops over many elements are
// loops/level/select.c's, to the same bits.
#include "tensor/dtype.h"

#include "tensor/object.h"
#include "tensor/tstring.h"

_Static_assert(sizeof(void *) == 8 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "64-bit little-endian only");

typedef struct {
    const char *name, *ref_name;
    size_t size;
    DTypeKind kind;
} DTypeRow;

static const DTypeRow rows[DTYPES] = {
    [DT_INVALID] = {"invalid", "invalid_ref", 0, KIND_NONE},
#define DTYPE(token, number, c_type, bytes, kind) [DT_##token] = {#token, #token "_ref", sizeof(c_type), kind},
#include "tensor/dtype.def"
#undef DTYPE
};

#define DTYPE(token, number, c_type, bytes, kind) _Static_assert(sizeof(c_type) == bytes, #token);
#include "tensor/dtype.def"
#undef DTYPE

static const DTypeRow *row_of(DType dtype) {
    return &rows[dtype_is_valid(dtype) ? dtype_base(dtype) : DT_INVALID];
}

const char *dtype_name(DType dtype) {
    return dtype_is_ref(dtype) ? row_of(dtype)->ref_name : row_of(dtype)->name;
}

DType dtype_find(Str name) {
    for (int i = 1; i < DTYPES; i++) {
        if (str_is(name, rows[i].name))
            return (DType)i;
        if (str_is(name, rows[i].ref_name))
            return (DType)(i + DT_REF);
    }
    return DT_INVALID;
}

size_t dtype_size(DType dtype) {
    return row_of(dtype)->size;
}

DTypeKind dtype_kind(DType dtype) {
    return row_of(dtype)->kind;
}

float half_to_float(Half h) {
    uint32_t sign = (uint32_t)(h.bits & 0x8000) << 16, rest = h.bits & 0x7fff, bits;
    float f;
    if (rest >= 0x7c00) {
        bits = (rest << 13) + 0x70000000;  // infinity, NaN
    } else if (rest >= 0x400) {
        bits = (rest << 13) + 0x38000000;  // rebias the exponent by 127 - 15
    } else {
        f = (float)rest * 0x1p-24f;        // subnormal
        memcpy(&bits, &f, 4);
    }
    bits |= sign;
    memcpy(&f, &bits, 4);
    return f;
}

Half half_from_float(float f) {
    uint32_t bits, rest, half;
    memcpy(&bits, &f, 4);
    rest = bits & 0x7fffffff;
    if (rest > 0x7f800000) {
        half = 0x7e00 | ((rest >> 13) & 0x3ff);  // NaN
    } else if (rest >= 0x477ff000) {
        half = 0x7c00;                           // rounds to infinity
    } else if (rest < 0x38800000) {
        float small;                             // the addition rounds into the subnormal's last bit
        memcpy(&small, &rest, 4);
        small += 0.5f;
        memcpy(&half, &small, 4);
        half -= 0x3f000000;
    } else {
        half = (rest - 0x38000000 + 0xfff + ((rest >> 13) & 1)) >> 13;
    }
    return (Half){(uint16_t)(half | ((bits >> 16) & 0x8000))};
}

Bfloat16 bfloat16_from_float(float f) {
    uint32_t bits;
    memcpy(&bits, &f, 4);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (Bfloat16){(uint16_t)((bits >> 16) | 0x40)};
    return (Bfloat16){(uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}
