// Elementwise — finding the loop of an op for a type, and running it on types that are computed on as another.
//
// The rows of unary.def, binary.def and compare.def give each op its number and its kind; the loops themselves are
// compiled once for each CPU level (level/elementwise_*.c) and found by type and number.
#include "loops/elementwise.h"

#include "base/checked.h"
#include "loops/elementwise_index.h"
#include "loops/level/table.h"
#include "loops/tuning.h"

#define ROW(name, arity, to_bool, to_real, is_long) \
    const ElementwiseOp elementwise_##name = {#name, ELEMENTWISE_##name, arity, to_bool, to_real, is_long};
#define UNARY(name, kinds, expression) ROW(name, 1, false, false, false)
#define UNARY_LONG(name, kinds, expression) ROW(name, 1, false, false, true)
#define UNARY_TO_BOOL(name, kinds, expression) ROW(name, 1, true, false, false)
#define UNARY_TO_REAL(name, kinds, expression) ROW(name, 1, false, true, false)
#define UNARY_GUARDED(name, kinds, expression, guard, careful) ROW(name, 1, false, false, true)
#define UNARY_ALSO(name, kinds, expression)
#define BINARY(name, kinds, expression) ROW(name, 2, false, false, false)
#define BINARY_HOT BINARY
#define BINARY_HOT_ALSO(name, kinds, expression)
#define BINARY_LONG(name, kinds, expression) ROW(name, 2, false, false, true)
#define BINARY_ALSO(name, kinds, expression)
#define COMPARE(name, kinds, expression) ROW(name, 2, true, false, false)
#define COMPARE_ALSO(name, kinds, expression)
#define TWIN(name)
#include "loops/unary.def"
#include "loops/binary.def"
#include "loops/compare.def"

static const ElementwiseOp *const all_rows[] = {
#undef ROW
#define ROW(name, arity, to_bool, to_real, is_long) &elementwise_##name,
#include "loops/unary.def"
#include "loops/binary.def"
#include "loops/compare.def"
#include "loops/elementwise_undef.h"
};

// An estimate of an element's arithmetic, from which costs are made: whether threads help, what fusing saves.
int elementwise_picoseconds(const ElementwiseOp *op, const ElementwiseLoop *loop) {
    if (!op)
        return 0;
    bool divides = op == &elementwise_Div || op == &elementwise_FloorDiv || op == &elementwise_FloorMod ||
                   op == &elementwise_Pow || op == &elementwise_TruncateDiv || op == &elementwise_TruncateMod ||
                   op == &elementwise_Reciprocal;
    bool is_float = loop->compute == DT_float, is_double = loop->compute == DT_double;
    bool is_complex = loop->compute == DT_complex64 || loop->compute == DT_complex128;
    int simple = divides && !is_float && !is_double ? TUNED_DIVISION : TUNED_SIMPLE * loop->compute_size / 4;
    int each = !op->is_long ? simple
               : is_float   ? TUNED_LONG
               : is_double  ? TUNED_LONG_DOUBLE
               : is_complex ? TUNED_LONG_COMPLEX
                            : simple;
    return each + (loop->load || loop->store ? TUNED_CONVERSION : 0);
}

// Other names of the same loops.
static const struct {
    const char *name;
    const ElementwiseOp *op;
// Other names of the same loops: TensorFlow renamed some ops and kept the old ones.
} twins[] = {
    {"AddV2", &elementwise_Add},           {"RealDiv", &elementwise_Div},
    {"Inv", &elementwise_Reciprocal},      {"InvGrad", &elementwise_ReciprocalGrad},
    {"Mod", &elementwise_TruncateMod},     {"Rint", &elementwise_Round},
};

const ElementwiseOp *elementwise_named(Str name) {
    for (int i = 0; i < ELEMENTWISE_OPS; i++)
        if (str_is(name, all_rows[i]->name))
            return all_rows[i];
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++)
        if (str_is(name, twins[i].name))
            return twins[i].op;
    return NULL;
}

const ElementwiseOp *elementwise_at(int index) {
    return index < ELEMENTWISE_OPS ? all_rows[index] : NULL;
}

// Sums, products and shifts that wrap have the same low bits in 32 bits as in 8 or 16, so storing just cuts. Of the
// same sign, since quotients, comparisons and extremes look at it.
// ---- small integers, to and from the 32-bit type of the same sign ----

// Small integers, to and from the 32-bit type of the same sign. Sums, products and shifts that wrap have the same low
// bits in 32 bits as in 8 or 16, so storing just cuts. Of the same sign, since quotients, comparisons and extremes look
// at it.
#define WIDEN(name, From, To)                                       \
    static void name(const void *from, void *to, int64_t n) {       \
        const From *p = from;                                       \
        To *o = to;                                                 \
        for (int64_t i = 0; i < n; i++)                             \
            o[i] = (To)p[i];                                        \
    }
WIDEN(int8_to_int32, int8_t, int32_t)
WIDEN(int16_to_int32, int16_t, int32_t)
WIDEN(uint8_to_uint32, uint8_t, uint32_t)
WIDEN(uint16_to_uint32, uint16_t, uint32_t)
WIDEN(low_8_bits, uint32_t, uint8_t)
WIDEN(low_16_bits, uint32_t, uint16_t)

// The compute type of an element type and the conversions; false for a type that has no arithmetic.
static bool path_of(DType dtype, const LoopTable *table, ComputeType *type, ElementwiseLoop *loop) {
    loop->compute = dtype;
    loop->load = loop->store = NULL;
    switch (dtype) {
    case DT_float: *type = TYPE_F32; return true;
    case DT_double: *type = TYPE_F64; return true;
    case DT_int32: *type = TYPE_I32; return true;
    case DT_int64: *type = TYPE_I64; return true;
    case DT_uint32: *type = TYPE_U32; return true;
    case DT_uint64: *type = TYPE_U64; return true;
    case DT_complex64: *type = TYPE_C64; return true;
    case DT_complex128: *type = TYPE_C128; return true;
    case DT_bool: *type = TYPE_BOOL; return true;
    case DT_half: loop->load = table->sixteen->half_to_float, loop->store = table->sixteen->float_to_half; break;
    case DT_bfloat16: loop->load = table->sixteen->bfloat16_to_float, loop->store = table->sixteen->float_to_bfloat16;
        break;
    case DT_int8: case DT_qint8: loop->load = int8_to_int32, loop->store = low_8_bits; break;
    case DT_int16: case DT_qint16: loop->load = int16_to_int32, loop->store = low_16_bits; break;
    case DT_uint8: case DT_quint8: loop->load = uint8_to_uint32, loop->store = low_8_bits; break;
    case DT_uint16: case DT_quint16: loop->load = uint16_to_uint32, loop->store = low_16_bits; break;
    case DT_qint32: *type = TYPE_I32; return true;
    default: return false;
    }
    bool is_float = dtype == DT_half || dtype == DT_bfloat16;
    bool is_signed = dtype == DT_int8 || dtype == DT_int16 || dtype == DT_qint8 || dtype == DT_qint16;
    *type = is_float ? TYPE_F32 : is_signed ? TYPE_I32 : TYPE_U32;
    loop->compute = is_float ? DT_float : is_signed ? DT_int32 : DT_uint32;
    return true;
}

bool elementwise_find(const ElementwiseOp *op, DType dtype, ElementwiseLoop *out) {
    ElementwiseLoop loop = {0};
    ComputeType type;
    const LoopTable *table = loops_table();
    if (!op || !path_of(dtype, table, &type, &loop))
        return false;
    loop.fn = table->elementwise[type][op->index];
    if (!loop.fn)
        return false;
    loop.in = loop.out = dtype;
    if (op->to_bool)
        loop.out = DT_bool, loop.store = NULL;
    if (op->to_real)
        loop.out = dtype == DT_complex64 ? DT_float : DT_double;
    loop.in_size = (uint8_t)dtype_size(loop.in);
    loop.out_size = (uint8_t)dtype_size(loop.out);
    loop.compute_size = (uint8_t)dtype_size(loop.compute);
    loop.arity = op->arity;
    // Shifts by the width of the element or more give 0 or the sign, also where it is computed on as 32 bits.
    loop.param = op == &elementwise_LeftShift || op == &elementwise_RightShift ? 8.0 * loop.in_size : 0;
    *out = loop;
    return true;
}

SelectFn elementwise_select(size_t element_size) {
    const LoopTable *table = loops_table();
    switch (element_size) {
    case 1: return table->select[0];
    case 2: return table->select[1];
    case 4: return table->select[2];
    case 8: return table->select[3];
    case 16: return table->select[4];
    default: return NULL;
    }
}

// The compute type has 4 bytes here: only half, bfloat16 and small integers are converted.
enum { TILE = 1024 };  // elements: three tiles are 12 KiB of the first cache, which has 32 or 48

// A scalar operand is widened once, not once a tile.
static int64_t run_converted(const ElementwiseLoop *loop, const char *a, const char *b, char *out, int64_t n,
                             int64_t sa, int64_t sb) {
    _Alignas(64) uint32_t tile_a[TILE], tile_b[TILE], tile_out[TILE];
    int64_t faults = 0;
    bool binary = loop->arity == 2;
    if (!sa)
        loop->load(a, tile_a, 1);
    if (binary && !sb)
        loop->load(b, tile_b, 1);
    for (int64_t first = 0; first < n; first += TILE) {
        int64_t count = min_i64(n - first, TILE);
        if (sa)
            loop->load(a + first * loop->in_size, tile_a, count);
        if (binary && sb)
            loop->load(b + first * loop->in_size, tile_b, count);
        char *to = out + first * loop->out_size;
        faults += loop->fn(tile_a, tile_b, loop->store ? (void *)tile_out : to, count, sa, sb, loop->param);
        if (loop->store)
            loop->store(tile_out, to, count);
    }
    return faults;
}

int64_t elementwise_run(const ElementwiseLoop *loop, const void *a, const void *b, void *out, int64_t n, int64_t sa,
                        int64_t sb) {
    if (!loop->load)
        return loop->fn(a, b, out, n, sa, sb, loop->param);
    return run_converted(loop, a, b, out, n, sa, sb);
}
