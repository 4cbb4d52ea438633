// Float8 — see float8.h: five formats of 8 bits, as numbers of fraction bits, bias and two rules; rounding to even.
#include "tensor/float8.h"

#include <math.h>

typedef struct {
    int fraction;       // bits
    int bias;
    bool infinity;      // the highest exponent is infinity and NaN, as in IEEE 754
    bool unsigned_zero; // 0x80 is the only NaN
} Format;

static Format format_of(DType dtype) {
    switch (dtype) {
    case DT_float8_e5m2: return (Format){2, 15, true, false};
    case DT_float8_e4m3fn: return (Format){3, 7, false, false};
    case DT_float8_e4m3fnuz: return (Format){3, 8, false, true};
    case DT_float8_e4m3b11fnuz: return (Format){3, 11, false, true};
    case DT_float8_e5m2fnuz: return (Format){2, 16, false, true};
    default: return (Format){0};
    }
}

bool dtype_is_float8(DType dtype) {
    return format_of(dtype).fraction != 0;
}

// The bits of the largest finite magnitude.
static int largest(Format format) {
    if (format.infinity)
        return 0x7f - (1 << format.fraction);
    return format.unsigned_zero ? 0x7f : 0x7e;
}

// Rounding twice (double to float, float to 8 bits) would differ from rounding once in halfway cases; to odd keeps a
// sticky last bit that makes the second rounding right.
float float_to_odd(double value) {
    float f = (float)value;
    if (!isfinite(value) || (double)f == value || f == 0)
        return f;
    if (fabs((double)f) > fabs(value))
        f = nextafterf(f, 0);
    uint32_t bits;
    memcpy(&bits, &f, 4);
    bits |= 1;
    memcpy(&f, &bits, 4);
    return f;
}

float float8_to_float(DType dtype, uint8_t bits) {
    Format format = format_of(dtype);
    if (!format.fraction)
        return 0;
    int magnitude = bits & 0x7f, one = 1 << format.fraction;
    if (format.unsigned_zero && bits == 0x80)
        return NAN;
    if (magnitude > largest(format))
        return format.infinity && magnitude == largest(format) + 1 ? (bits & 0x80 ? -INFINITY : INFINITY) : NAN;
    int exponent = magnitude >> format.fraction, fraction = magnitude & (one - 1);
    float value = exponent ? ldexpf((float)(one + fraction), exponent - format.bias - format.fraction)
                           : ldexpf((float)fraction, 1 - format.bias - format.fraction);
    return bits & 0x80 ? -value : value;
}

uint8_t float8_from_float(DType dtype, float value) {
    Format format = format_of(dtype);
    if (!format.fraction)
        return 0;
    int sign = signbit(value) ? 0x80 : 0;
    int nan = format.unsigned_zero ? 0x80 : format.infinity ? sign | 0x7e : sign | 0x7f;
    if (isnan(value))
        return (uint8_t)nan;
    int above = format.infinity ? sign | (largest(format) + 1) : nan;
    if (isinf(value))
        return (uint8_t)above;
    if (value == 0)
        return (uint8_t)(format.unsigned_zero ? 0 : sign);
    // In units of the last place at this exponent; rintf rounds to even, and a carry runs into the exponent.
    int exponent;
    frexpf(value, &exponent);
    int place = exponent - 1 + format.bias;
    if (place < 1)
        place = 1;
    int steps = (int)rintf(ldexpf(fabsf(value), format.bias + format.fraction - place));
    // Far beyond the range the exponent alone overflows; it is at most 128 + 16.
    int magnitude = ((place - 1) << format.fraction) + steps;
    if (magnitude > largest(format))
        return (uint8_t)above;
    if (format.unsigned_zero && magnitude == 0)
        return 0;
    return (uint8_t)(sign | magnitude);
}
