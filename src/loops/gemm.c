// Gemm — see gemm.h. Cuts products into units; 16-bit floats are widened, a unit at a time.
#include "loops/gemm.h"

#include <string.h>

#include "base/checked.h"
#include "loops/level/table.h"

// Packed blocks of both operands, in whole panels: the widest is 2 vectors of 16 floats, the tallest 12 rows.
static size_t pack_bytes(int64_t m, int64_t n, int64_t k, size_t element) {
    size_t depth = (size_t)min_i64(k, GEMM_DEPTH), columns = round_up((size_t)min_i64(n, GEMM_COLUMNS), 32);
    size_t rows = (size_t)min_i64(m, GEMM_ROWS) + 12;
    return round_up(depth * (columns + (m * k > GEMM_IN_PLACE ? rows : 0)) * element, 64);
}

size_t gemm_float_scratch(void) {
    return pack_bytes(GEMM_ROWS, GEMM_COLUMNS, GEMM_DEPTH, 4);
}

void gemm_float(const GemmShape *shape, const float *a, const float *b, float *c, void *scratch) {
    loops_table()->gemm[TYPE_F32](shape, a, b, c, scratch);
}

static bool type_of(DType dtype, ComputeType *type) {
    switch (dtype) {
    case DT_float: case DT_half: case DT_bfloat16: *type = TYPE_F32; return true;
    case DT_double: *type = TYPE_F64; return true;
    case DT_int32: *type = TYPE_I32; return true;
    case DT_int64: *type = TYPE_I64; return true;
    case DT_uint32: *type = TYPE_U32; return true;
    case DT_uint64: *type = TYPE_U64; return true;
    case DT_complex64: *type = TYPE_C64; return true;
    case DT_complex128: *type = TYPE_C128; return true;
    default: return false;
    }
}

static bool is_sixteen(DType dtype) {
    return dtype == DT_half || dtype == DT_bfloat16;
}

// Rows and columns of a unit: those of the product shared out evenly.
static int64_t part_rows(const GemmPlan *plan) {
    return div_up(plan->shape.m, plan->cuts_m);
}
static int64_t part_columns(const GemmPlan *plan) {
    return (int64_t)round_up((size_t)div_up(plan->shape.n, plan->cuts_n), 32);
}

bool gemm_prepare(DType dtype, const GemmShape *shape, int64_t batch, int64_t step_a, int64_t step_b, int64_t step_c,
                  int threads, GemmPlan *plan) {
    ComputeType type;
    if (!type_of(dtype, &type))
        return false;
    GemmPlan p = {.shape = *shape, .dtype = dtype, .batch = batch, .step_a = step_a, .step_b = step_b, .step_c = step_c,
                  .cuts_m = 1, .cuts_n = 1};
    double work = (double)shape->m * (double)shape->n * (double)shape->k;
    if (threads > 1 && batch < threads && work > 200000) {
        int64_t wanted = 2 * threads;
        if (shape->m >= shape->n)
            p.cuts_m = max_i64(1, min_i64(wanted, shape->m / 24));
        else
            p.cuts_n = max_i64(1, min_i64(wanted, shape->n / 64));
    }
    if (p.cuts_n > 1)
        p.cuts_n = div_up(shape->n, part_columns(&p));
    p.units = batch * p.cuts_m * p.cuts_n;
    p.scratch = pack_bytes(shape->m, shape->n, shape->k, type == TYPE_F64 ? 8 : 4);
    if (is_sixteen(dtype)) {
        size_t m = (size_t)part_rows(&p), n = (size_t)min_i64(shape->n, part_columns(&p)), k = (size_t)shape->k;
        p.scratch += round_up((m * k + k * n + m * n + n) * 4 + 256, 64);
    }
    *plan = p;
    return true;
}

// rows x columns of 16-bit floats at `from` (rows `ld` apart), closely packed as floats.
static void widen(ConvertFn load, const char *from, int64_t ld, int64_t rows, int64_t columns, float *to) {
    for (int64_t i = 0; i < rows; i++)
        load(from + i * ld * 2, to + i * columns, columns);
}

static void run_sixteen(const GemmPlan *plan, GemmShape g, const char *a, const char *b, char *c, char *scratch) {
    const SixteenTable *sixteen = loops_table()->sixteen;
    bool half = plan->dtype == DT_half;
    ConvertFn load = half ? sixteen->half_to_float : sixteen->bfloat16_to_float;
    ConvertFn store = half ? sixteen->float_to_half : sixteen->float_to_bfloat16;
    GemmShape whole = plan->shape;
    float *wide_a = (float *)(scratch + pack_bytes(whole.m, whole.n, whole.k, 4)), *wide_b = wide_a + g.m * g.k;
    float *wide_c = wide_b + g.k * g.n, *bias = wide_c + g.m * g.n;
    widen(load, a, g.lda, g.ta ? g.k : g.m, g.ta ? g.m : g.k, wide_a);
    widen(load, b, g.ldb, g.tb ? g.n : g.k, g.tb ? g.k : g.n, wide_b);
    int64_t ldc = g.ldc;
    if (g.accumulate)
        widen(load, c, ldc, g.m, g.n, wide_c);
    if (g.bias) {
        load(g.bias, bias, g.n);
        g.bias = bias;
    }
    g.lda = g.ta ? g.m : g.k, g.ldb = g.tb ? g.k : g.n, g.ldc = g.n;
    loops_table()->gemm[TYPE_F32](&g, wide_a, wide_b, wide_c, scratch);
    for (int64_t i = 0; i < g.m; i++)
        store(wide_c + i * g.n, c + i * ldc * 2, g.n);
}

void gemm_run(const GemmPlan *plan, const void *a, const void *b, void *c, void *scratch, int64_t first, int64_t last) {
    int64_t size = (int64_t)dtype_size(plan->dtype), rows = part_rows(plan);
    int64_t columns = plan->cuts_n > 1 ? part_columns(plan) : plan->shape.n;
    ComputeType type = TYPE_F32;
    if (!type_of(plan->dtype, &type))
        return;
    GemmFn fn = loops_table()->gemm[type];
    for (int64_t unit = first; unit < last; unit++) {
        int64_t product = unit / (plan->cuts_m * plan->cuts_n), part = unit % (plan->cuts_m * plan->cuts_n);
        int64_t i = part / plan->cuts_n * rows, j = part % plan->cuts_n * columns;
        GemmShape g = plan->shape;
        g.m = min_i64(rows, g.m - i), g.n = min_i64(columns, g.n - j);
        if (g.m <= 0 || g.n <= 0)
            continue;
        if (g.bias)
            g.bias = (const char *)g.bias + j * size;
        const char *pa = (const char *)a + (product * plan->step_a + (g.ta ? i : i * g.lda)) * size;
        const char *pb = (const char *)b + (product * plan->step_b + (g.tb ? j * g.ldb : j)) * size;
        char *pc = (char *)c + (product * plan->step_c + i * g.ldc + j) * size;
        if (is_sixteen(plan->dtype))
            run_sixteen(plan, g, pa, pb, pc, scratch);
        else
            fn(&g, pa, pb, pc, scratch);
    }
}
