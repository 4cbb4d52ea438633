// Products by oneDNN — its object is made when shapes are known, a second one for weights that stay the same.
//
// Few rows against weights that have to be brought from far are where a packed layout pays: twice as fast and more, at
// 64 rows a tenth. Packing costs as much as a call or several, so it is done for weights that were seen twice, and
// kept. A single row is a matter of memory, where the loops are as fast.
#include <string.h>

#include "loops/level/table.h"
#include "loops/tuning.h"
#include "ops/math/matmul.h"

// With vectors of 256 bits, against the library's older way.
static bool narrow_loops_are_faster(const GemmShape *s) {
    const Tuning *t = tuning();
    double work = (double)s->m * (double)s->n * (double)s->k;
    if (s->tb || s->n < t->loops_columns)
        return false;
    if (work < t->product_gang)
        return work < t->product_parts && (double)s->k * (double)s->n <= t->loops_small;
    return s->ta || (s->ldb * (int64_t)sizeof(float) % t->loops_apart == 0 && s->m >= t->loops_apart_rows);
}

// Where the library (2.6) has brgemm alone. Its older way packs as our loops do.
static bool wide_loops_are_faster(const GemmShape *s, const OnednnOp *library) {
    const Tuning *t = tuning();
    return s->m >= t->loops_large_rows && (double)s->n * (double)s->k >= t->loops_large &&
           !strncmp(onednn_name(library), TUNED_BRGEMM, sizeof TUNED_BRGEMM - 1);
}

static bool loops_are_faster(const GemmShape *s, const OnednnOp *library) {
    return narrow_loops_are_faster(s) || wide_loops_are_faster(s, library);
}

static void free_library(void *op) {
    onednn_free(op);
}

static bool pack_weights(const void *object, const void *plain, void *packed) {
    return onednn_pack(object, plain, packed);
}

static Status *library_run(Kernel *k) {
    const Product *p = k->own;
    AUTO(buffer) Buffer *kept = NULL;
    const void *a = k->in[0]->data, *b = k->in[1]->data, *bias = p->epilogue.bias ? k->in[2]->data : NULL;
    if (p->packed || p->packs)
        TRY(packing_find(&p->packing, k, b, &kept));
    if (!kept && !p->library)
        return matmul_run(k);
    if (kept && !p->packed) {
        matmul_run_packed(k, kept->data);
        return OK;
    }
    bool done = kept ? onednn_run(p->packed, a, kept->data, bias, k->out[0]->data, k->scratch)
                     : onednn_run(p->library, a, b, bias, k->out[0]->data, k->scratch);
    NEED(done, INTERNAL, "oneDNN failed in %s", onednn_name(kept ? p->packed : p->library));
    matmul_finish(k);
    return OK;
}

typedef struct {
    Kernel *k;
    Lanes lanes;
    _Atomic bool failed;
} Parts;

static void part_range(void *arg, int64_t first, int64_t last) {
    Parts *work = arg;
    const Product *p = work->k->own;
    const GemmShape *s = &p->plan.shape;
    int lane = lanes_take(&work->lanes);
    const float *a = work->k->in[0]->data, *b = work->k->in[1]->data,
        *bias = p->epilogue.bias ? work->k->in[2]->data : NULL;
    float *c = work->k->out[0]->data;
    void *scratch = lanes_memory(&work->lanes, lane);
    for (int64_t i = first; i < last; i++) {
        int64_t row = i * p->part;
        OnednnOp *op = i == p->parts - 1 && p->last ? p->last : p->library;
        if (!onednn_run(op, a + row * (s->ta ? 1 : s->lda), b, bias, c + row * s->ldc, scratch))
            work->failed = true;
    }
    lanes_give(&work->lanes, lane);
}

static Status *library_run_parts(Kernel *k) {
    const Product *p = k->own;
    Parts work = {.k = k};
    lanes_open(k, &p->part_lanes, &work.lanes);
    kernel_parallel(k, p->parts, p->cost, part_range, &work);
    NEED(!work.failed, INTERNAL, "oneDNN failed in %s", onednn_name(p->library));
    matmul_finish(k);
    return OK;
}

static bool pack_panels(const void *object, const void *plain, void *packed) {
    gemm_pack(object, plain, packed);
    return true;
}

// Without the library's own packed way the loops have theirs: for 8 rows 1.6 times as fast as the library with plain
// weights, for 64 1.4 times (512 x 256, AVX2).
static void pack_for_loops(Prepare *p, const GemmShape *shape) {
    Product *own = p->own;
    own->packed_plan = own->plan;
    if (!packing_may_keep(p, 1) || !gemm_packing_pays(shape) || !gemm_may_pack(&own->packed_plan))
        return;
    own->packs = true;
    packing_init(p, 1, gemm_packed_bytes(&own->packed_plan), pack_panels, &own->packed_plan, &own->packing);
    own->packing.after = (int32_t)max_i64(1, tuning()->product_packing_rows / shape->m);
}

static bool pays(Prepare *p, const GemmShape *shape) {
    static char before;
    bool repeated = p->persistent != NULL;  // with other shapes
    p->persistent = &before;
    const Product *own = p->own;
    const GemmPlan *plan = &own->plan;
    bool even = plan->batch == 1 || (plan->step_a && plan->step_b);
    double each = (double)shape->m * (double)shape->n * (double)shape->k, work = each * (double)plan->batch;
    if (p->in[0]->dtype != DT_float || own->widen || own->products != 1 || !even || shape->m == 1 || shape->n == 1)
        return false;
    double least = repeated ? tuning()->product_library_anew : tuning()->product_library;
    return work >= least && (plan->batch == 1 || each >= tuning()->product_library_each);
}

// What the library can't do fast on its way out is done behind it.
static OnednnOp *make(const GemmPlan *plan, const GemmShape *s, Epilogue *epilogue, bool pack, int threads) {
    OnednnOp *op = onednn_matmul(plan->batch, s, epilogue, pack, threads);
    if (op || !epilogue->activation)
        return op;
    epilogue->activation = ACTIVATION_NONE;
    return onednn_matmul(plan->batch, s, epilogue, pack, threads);
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

// A product between what one thread does as fast and what is worth a gang: a part of the rows for each thread.
static Status *choose_parts(Prepare *p, const GemmShape *shape, int threads, bool *out) {
    Product *own = p->own;
    double work = (double)shape->m * (double)shape->n * (double)shape->k;
    int64_t parts = min_i64(threads, shape->m / tuning()->product_part_rows);
    *out = false;
    if (own->plan.batch != 1 || work < tuning()->product_parts || work >= tuning()->product_gang || parts < 2)
        return OK;
    GemmShape part = *shape;
    part.m = div_up(shape->m, parts);
    parts = div_up(shape->m, part.m);
    Epilogue epilogue = own->epilogue, same = own->epilogue;
    own->library = make(&own->plan, &part, &epilogue, false, 1);
    if (!own->library)
        return OK;
    TRY(prepare_cleanup(p, free_library, own->library));
    own->part = part.m, own->parts = parts;
    size_t scratch = onednn_scratch(own->library);
    part.m = shape->m - own->part * (parts - 1);
    if (part.m != own->part) {
        own->last = make(&own->plan, &part, &same, false, 1);
        if (!own->last || same.activation != epilogue.activation) {
            onednn_free(own->last);
            own->last = NULL;
            return OK;
        }
        TRY(prepare_cleanup(p, free_library, own->last));
        scratch = larger(scratch, onednn_scratch(own->last));
    }
    own->activates = own->epilogue.activation && !epilogue.activation;
    own->cost = p->cost / parts + 1;
    size_t before = p->scratch;  // of the loops, which don't run
    p->scratch = 0;
    lanes_prepare(p, scratch, parts, &own->part_lanes);
    p->scratch = larger(p->scratch, before);
    p->implementation = onednn_name(own->library);
    p->run = library_run_parts;
    *out = true;
    return OK;
}

Status *matmul_choose_library(Prepare *p, const GemmShape *shape, int threads) {
    Product *own = p->own;
    bool pack = own->plan.batch == 1 && shape->m <= tuning()->product_packed_rows && packing_may_keep(p, 1);
    if (!pays(p, shape))
        return OK;
    bool in_parts;
    TRY(choose_parts(p, shape, pack ? 1 : threads, &in_parts));
    if (in_parts)
        return OK;
    if ((double)shape->m * (double)shape->n * (double)shape->k * (double)own->plan.batch < tuning()->product_gang)
        threads = 1;
    Epilogue epilogue = own->epilogue;
    OnednnOp *library = make(&own->plan, shape, &epilogue, false, threads);
    if (!library)
        return OK;
    TRY(prepare_cleanup(p, free_library, library));
    bool relu = epilogue.activation == own->epilogue.activation && epilogue.activation <= ACTIVATION_RELU;
    GemmWay way = own->plan.way;
    bool loops = own->plan.batch == 1 && relu && (way == GEMM_DOTS || way == GEMM_TURNED ||
                                                  loops_are_faster(shape, library));
    if (!loops) {
        own->library = library;
        own->activates = own->epilogue.activation && !epilogue.activation;
    }
    size_t scratch = loops ? 0 : onednn_scratch(library);
    if (pack)
        own->packed = onednn_matmul(1, shape, &epilogue, true, threads);
    if (own->packed) {
        TRY(prepare_cleanup(p, free_library, own->packed));
        scratch = onednn_scratch(own->packed) > scratch ? onednn_scratch(own->packed) : scratch;
        size_t bytes = onednn_packed_bytes(own->packed);
        packing_init(p, 1, bytes, pack_weights, own->packed, &own->packing);
        if (!bytes)
            own->packed = NULL;
    }
    p->scratch = scratch > p->scratch ? scratch : p->scratch;
    if (!own->packed)
        pack_for_loops(p, shape);
    if (!own->library && !own->packed && !own->packs)
        return OK;
    p->implementation = own->packs ? "loops, packed" : onednn_name(own->packed ? own->packed : own->library);
    p->run = library_run;
    return OK;
}
