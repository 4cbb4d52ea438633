// Cast — see cast.h: every type to every other in at most three loops.
//
// A table of all pairs of real types (level/cast.c); half and bfloat16 go through float, complex types through their
// real part. The steps of a pair run tile by tile, so that what lies between them stays in L1.
#include "loops/cast.h"

#include <string.h>

#include "base/checked.h"
#include "loops/level/table.h"

static void complex64_to_float(const void *in, void *out, int64_t n) {
    const float *p = in;
    float *o = out;
    for (int64_t i = 0; i < n; i++)
        o[i] = p[2 * i];
}
static void complex128_to_double(const void *in, void *out, int64_t n) {
    const double *p = in;
    double *o = out;
    for (int64_t i = 0; i < n; i++)
        o[i] = p[2 * i];
}
static void float_to_complex64(const void *in, void *out, int64_t n) {
    const float *p = in;
    float *o = out;
    for (int64_t i = 0; i < n; i++)
        o[2 * i] = p[i], o[2 * i + 1] = 0;
}
static void double_to_complex128(const void *in, void *out, int64_t n) {
    const double *p = in;
    double *o = out;
    for (int64_t i = 0; i < n; i++)
        o[2 * i] = p[i], o[2 * i + 1] = 0;
}
static void complex64_to_complex128(const void *in, void *out, int64_t n) {
    const float *p = in;
    double *o = out;
    for (int64_t i = 0; i < 2 * n; i++)
        o[i] = (double)p[i];
}
static void complex128_to_complex64(const void *in, void *out, int64_t n) {
    const double *p = in;
    float *o = out;
    for (int64_t i = 0; i < 2 * n; i++)
        o[i] = (float)p[i];
}
#define MOVE(size)                                                        \
    static void move_##size(const void *in, void *out, int64_t n) {       \
        memmove(out, in, (size_t)n * size);                               \
    }
MOVE(1)
MOVE(2)
MOVE(4)
MOVE(8)
MOVE(16)

// The type that a type is cast through: itself, the float of a 16-bit float, the part of a complex.
typedef struct {
    CastType type;
    ConvertFn to_real, from_real;  // NULL: it is that type itself
} Path;

// The type that a type is cast through: itself, the float of a 16-bit float, the part of a complex.
static bool path_of(DType dtype, const LoopTable *table, Path *out) {
    *out = (Path){0};
    switch (dtype) {
    case DT_float: out->type = CAST_F32; return true;
    case DT_double: out->type = CAST_F64; return true;
    case DT_int32: case DT_qint32: out->type = CAST_I32; return true;
    case DT_int64: out->type = CAST_I64; return true;
    case DT_uint32: out->type = CAST_U32; return true;
    case DT_uint64: out->type = CAST_U64; return true;
    case DT_int8: case DT_qint8: out->type = CAST_I8; return true;
    case DT_uint8: case DT_quint8: out->type = CAST_U8; return true;
    case DT_int16: case DT_qint16: out->type = CAST_I16; return true;
    case DT_uint16: case DT_quint16: out->type = CAST_U16; return true;
    case DT_bool: out->type = CAST_BOOL; return true;
    case DT_half: *out = (Path){CAST_F32, table->sixteen->half_to_float, table->sixteen->float_to_half}; return true;
    case DT_bfloat16: *out = (Path){CAST_F32, table->sixteen->bfloat16_to_float, table->sixteen->float_to_bfloat16};
        return true;
    case DT_complex64: *out = (Path){CAST_F32, complex64_to_float, float_to_complex64}; return true;
    case DT_complex128: *out = (Path){CAST_F64, complex128_to_double, double_to_complex128}; return true;
    default: return false;
    }
}

static ConvertFn mover_of(size_t size) {
    return size == 1 ? move_1 : size == 2 ? move_2 : size == 4 ? move_4 : size == 8 ? move_8 : move_16;
}

// Casts that must not go through a real number: a complex value keeps its imaginary part. What isn't complex gets the
// real part alone, bool too: 1j is false, as in TensorFlow (not in NumPy).
static ConvertFn direct(DType from, DType to) {
    if (from == to)
        return mover_of(dtype_size(from));
    if (from == DT_complex64)
        return to == DT_complex128 ? complex64_to_complex128 : NULL;
    if (from == DT_complex128)
        return to == DT_complex64 ? complex128_to_complex64 : NULL;
    return NULL;
}

static size_t real_size(const Path *path) {
    static const uint8_t sizes[CAST_TYPES] = {4, 8, 4, 8, 4, 8, 1, 1, 2, 2, 1};
    return sizes[path->type];
}

bool cast_find(DType from, DType to, CastLoop *out) {
    const LoopTable *table = loops_table();
    Path source, target;
    if (!path_of(from, table, &source) || !path_of(to, table, &target))
        return false;
    CastLoop loop = {.from_size = (uint8_t)dtype_size(from), .to_size = (uint8_t)dtype_size(to)};
    loop.first = direct(from, to);
    if (!loop.first) {
        ConvertFn steps[3];
        uint8_t sizes[3];
        int n = 0;
        if (source.to_real)
            sizes[n] = (uint8_t)real_size(&source), steps[n++] = source.to_real;
        if (source.type != target.type || (!source.to_real && !target.from_real))
            sizes[n] = (uint8_t)real_size(&target), steps[n++] = table->cast[source.type][target.type];
        if (target.from_real)
            sizes[n] = 0, steps[n++] = target.from_real;
        loop.first = steps[0];
        loop.middle = n > 1 ? steps[1] : NULL;
        loop.last = n > 2 ? steps[2] : NULL;
        loop.size_1 = sizes[0];
        loop.size_2 = n > 2 ? sizes[1] : 0;
    }
    *out = loop;
    return true;
}

// Elements: two tiles of 8 bytes are 8 KiB.
enum { TILE = 512 };

void cast_run(const CastLoop *loop, const void *in, void *out, int64_t n) {
    if (!loop->middle) {
        loop->first(in, out, n);
        return;
    }
    _Alignas(64) char tile_1[TILE * 8], tile_2[TILE * 8];
    for (int64_t first = 0; first < n; first += TILE) {
        int64_t count = min_i64(TILE, n - first);
        char *to = (char *)out + first * loop->to_size;
        loop->first((const char *)in + first * loop->from_size, tile_1, count);
        loop->middle(tile_1, loop->last ? tile_2 : to, count);
        if (loop->last)
            loop->last(tile_2, to, count);
    }
}
