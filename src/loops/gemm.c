// Gemm — see gemm.h. Cuts products into units; 16-bit floats are widened, a unit at a time.
//
// After K. Goto and R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008: register tiles in
// level/gemm_tile.h, blocks for the caches in level/gemm_blocks.h. Here is the choice of the way by shape: packing pays
// only where what is packed is read often enough. The choice depends on the whole product's shape, never on how it is
// cut, so that the bits are the same on any number of threads.
#include "loops/gemm.h"

#include <string.h>

#include "base/checked.h"
#include "loops/level/gemm_blocks.h"
#include "loops/level/table.h"
#include "loops/tuning.h"

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

// A panel of b, and a block of a where that is transposed.
static size_t pack_bytes(const GemmShape *unit, GemmWay way, size_t size) {
    if (way == GEMM_DOTS || way == GEMM_ROW)
        return 0;
    if (way == GEMM_TURNED)
        return (round_up((size_t)(unit->m * unit->n), GEMM_PANEL) + (size_t)(gemm_depth(unit->k) * GEMM_PANEL)) * size;
    GemmBlocks s = gemm_blocks(unit, way, size);
    enum { SLACK = 8 };   // a block of a is written in pieces of so many elements
    int64_t elements = s.depth * s.columns + (s.packs_a ? s.rows * s.depth + SLACK : 0);
    return round_up((size_t)elements * size, 64);
}

// Whether b is packed though it would fit where it lies: its rows fall into few sets of the caches.
static bool packs_right(const GemmShape *g, size_t size, double bytes) {
    const Tuning *t = tuning();
    bool apart = (size_t)g->ldb * size % (size_t)t->gemm_apart == 0;
    return bytes > t->gemm_pack_bytes && g->m >= (apart ? t->gemm_pack_rows_apart : t->gemm_pack_rows);
}

// GEMM_ROW: one row times b as it lies. GEMM_DOTS: both factors lie along k. GEMM_TURNED: the transposed product is
// computed, where b is narrow. GEMM_SHALLOW: few rows, large b, read in place. Else tiles, with b packed or not.
static GemmWay choose_way(const GemmShape *g, size_t size) {
    bool along_k = (!g->ta || g->lda == 1) && (g->tb || g->ldb == 1);
    if (g->m == 1 && !g->tb && g->n >= 4)
        return GEMM_ROW;
    if (along_k && (g->m == 1 || g->n == 1 || (g->tb && g->m <= TUNED_GEMM_FEW_ROWS && g->k >= TUNED_GEMM_DOT_DEPTH)))
        return GEMM_DOTS;
    double bytes = (double)size, k = (double)g->k;
    if (g->ta && !g->tb && g->n <= TUNED_GEMM_TURNED_COLUMNS && g->m >= GEMM_PANEL &&
        k * (double)g->m * bytes <= TUNED_GEMM_IN_PLACE_B &&
        k * (double)g->n * bytes <= TUNED_GEMM_IN_PLACE_A &&
        (double)g->m * (double)g->n * bytes <= TUNED_GEMM_TURNED_BYTES)
        return GEMM_TURNED;
    double right = k * (double)g->n * bytes;
    if (g->m <= TUNED_GEMM_FEW_ROWS && !g->tb && right > TUNED_GEMM_IN_PLACE_B)
        return GEMM_SHALLOW;
    return !g->tb && packs_right(g, size, right) ? GEMM_PACKED : GEMM_TILES;
}

size_t gemm_most_scratch(void) {
    return (TUNED_GEMM_DEPTH * GEMM_GROUP + 8) * sizeof(double) + TUNED_GEMM_BLOCK_BYTES;
}

// For convolutions, whose units are products already.
void gemm_at_once(DType dtype, const GemmShape *shape, const void *a, const void *b, void *c, void *scratch) {
    bool wide = dtype == DT_double;
    loops_table()->gemm[wide ? TYPE_F64 : TYPE_F32](shape, choose_way(shape, wide ? 8 : 4), a, b, c, scratch);
}

static bool is_sixteen(DType dtype) {
    return dtype == DT_half || dtype == DT_bfloat16;
}

// Rows and columns of a unit: those of the product shared out evenly.
static int64_t part_rows(const GemmPlan *plan) {
    return div_up(plan->shape.m, plan->cuts_m);
}
static int64_t part_columns(const GemmPlan *plan) {
    return (int64_t)round_up((size_t)div_up(plan->shape.n, plan->cuts_n), GEMM_PANEL);
}

// By columns, where each part packs its own share of b; by rows where a is the longer one, or has to be packed for each
// part.
// Two units a thread, so that one that begins late costs half a unit.
static void cut(GemmPlan *p, int64_t wanted) {
    const GemmShape *s = &p->shape;
    bool by_rows = s->n < wanted * GEMM_PANEL || (s->ta ? s->m >= s->n : s->m >= 8 * s->n);
    if (by_rows)
        p->cuts_m = max_i64(1, min_i64(wanted, s->m / 24));
    else
        p->cuts_n = max_i64(1, min_i64(wanted, s->n / GEMM_PANEL));
    if (p->cuts_n > 1)
        p->cuts_n = div_up(s->n, part_columns(p));
}

bool gemm_prepare(DType dtype, const GemmShape *shape, int64_t batch, int64_t step_a, int64_t step_b, int64_t step_c,
                  int threads, GemmPlan *plan) {
    ComputeType type;
    if (!type_of(dtype, &type))
        return false;
    GemmPlan p = {.shape = *shape, .dtype = dtype, .batch = batch, .step_a = step_a, .step_b = step_b, .step_c = step_c,
                  .cuts_m = 1, .cuts_n = 1};
    size_t size = type == TYPE_F64 ? 8 : 4;
    p.way = choose_way(shape, size);
    double work = (double)shape->m * (double)shape->n * (double)shape->k;
    if (threads > 1 && batch < threads && work > TUNED_GEMM_CUT)
        // Two units a thread, which evens out threads that begin late.
        cut(&p, 2 * threads);
    p.units = batch * p.cuts_m * p.cuts_n;
    GemmShape unit = *shape;
    unit.m = part_rows(&p), unit.n = min_i64(shape->n, part_columns(&p));
    p.packed = p.scratch = pack_bytes(&unit, p.way, size);
    // Room for the factors as floats: sums of 16-bit floats in 16 bits would lose all but the first few bits, and
    // TensorFlow sums in float, too.
    if (is_sixteen(dtype)) {
        size_t m = (size_t)unit.m, n = (size_t)unit.n, k = (size_t)shape->k;
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
    float *wide_a = (float *)(scratch + plan->packed), *wide_b = wide_a + g.m * g.k;
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
    loops_table()->gemm[TYPE_F32](&g, plan->way, wide_a, wide_b, wide_c, scratch);
    for (int64_t i = 0; i < g.m; i++)
        store(wide_c + i * g.n, c + i * ldc * 2, g.n);
}

bool gemm_may_pack(GemmPlan *plan) {
    GemmPlan p = *plan;
    if (p.batch != 1 || (p.dtype != DT_float && p.dtype != DT_double) || p.shape.ta || p.shape.m < 2 || p.shape.n < 2 ||
        p.shape.k < 1)
        return false;
    if (p.way != GEMM_TILES && p.way != GEMM_SHALLOW)
        p.way = GEMM_TILES;
    GemmShape unit = p.shape;
    unit.m = part_rows(&p), unit.n = min_i64(p.shape.n, part_columns(&p));
    p.packed = p.scratch = pack_bytes(&unit, p.way, dtype_size(p.dtype));
    *plan = p;
    return true;
}

// With 128 rows packing at each call costs 3 %, with 512 bits the library is as fast.
bool gemm_packing_pays(const GemmShape *shape) {
    enum { MOST_ROWS = 128 };
    return shape->m > 1 && shape->m <= MOST_ROWS && loops_table() != &loops_v4;
}

static int64_t panel_of(const GemmPlan *plan) {
    return loops_table()->gemm_panel[plan->dtype == DT_double];
}

size_t gemm_packed_bytes(const GemmPlan *plan) {
    return round_up((size_t)plan->shape.n, (size_t)panel_of(plan)) * (size_t)plan->shape.k * dtype_size(plan->dtype);
}

void gemm_pack(const GemmPlan *plan, const void *b, void *packed) {
    loops_table()->gemm_pack[plan->dtype == DT_double](&plan->shape, b, packed);
}

void gemm_run_packed(const GemmPlan *plan, const void *a, const void *packed, void *c, void *scratch, int64_t first,
                     int64_t last) {
    GemmPlan with = *plan;
    with.shape.packed = true;
    gemm_run(&with, a, packed, c, scratch, first, last);
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
        const char *pb = (const char *)b + (product * plan->step_b + (g.packed ? j * g.k : g.tb ? j * g.ldb : j)) *
            size;
        char *pc = (char *)c + (product * plan->step_c + i * g.ldc + j) * size;
        if (is_sixteen(plan->dtype))
            run_sixteen(plan, g, pa, pb, pc, scratch);
        else
            fn(&g, plan->way, pa, pb, pc, scratch);
    }
}
