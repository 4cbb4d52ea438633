// Products by oneDNN — its object is made when shapes are known, a second one for weights that stay the same.
//
// Few rows against weights that have to be brought from far are where a packed layout pays: twice as fast and more, at 64
// rows a tenth. Packing costs as much as a call or several, so it is done for weights that were seen twice, and kept.
// Measured on Zen 4 with one thread. A single row is a matter of memory, where the loops are as fast.
#include "ops/math/matmul.h"

enum {
    WORTH_THE_LIBRARY = 1 << 16,         // multiplications; below, the loops are as fast or faster
    WORTH_ANOTHER_OBJECT = 1 << 24,      // ... where shapes change from call to call, and an object lasts for one
    WORTH_IN_A_BATCH = 1 << 15,          // ... of each product of a batch
    WORTH_A_GANG = 3 << 19,              // ... and other threads: below 30 us one is as fast, even where they are awake
    MOST_ROWS_PACKED = 63,
};

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
    if (p->packed)
        TRY(packing_find(&p->packing, k, b, &kept));
    bool done = kept ? onednn_run(p->packed, a, kept->data, bias, k->out[0]->data, k->scratch)
                     : onednn_run(p->library, a, b, bias, k->out[0]->data, k->scratch);
    NEED(done, INTERNAL, "oneDNN failed in %s", onednn_name(kept ? p->packed : p->library));
    matmul_finish(k);
    return OK;
}

static bool pays(Prepare *p, const GemmShape *shape) {
    static char before;
    bool again = p->kept != NULL;  // with other shapes
    p->kept = &before;
    const Product *own = p->own;
    const GemmPlan *plan = &own->plan;
    bool even = plan->batch == 1 || (plan->step_a && plan->step_b);
    double each = (double)shape->m * (double)shape->n * (double)shape->k, work = each * (double)plan->batch;
    if (p->in[0]->dtype != DT_float || own->widen || own->products != 1 || !even || shape->m == 1 || shape->n == 1)
        return false;
    double least = again ? (double)WORTH_ANOTHER_OBJECT : (double)WORTH_THE_LIBRARY;
    return work >= least && (plan->batch == 1 || each >= (double)WORTH_IN_A_BATCH);
}

// What the library can't do fast on its way out is done behind it.
static OnednnOp *make(const GemmPlan *plan, const GemmShape *s, Epilogue *epilogue, bool pack, int threads) {
    OnednnOp *op = onednn_matmul(plan->batch, s, epilogue, pack, threads);
    if (op || !epilogue->activation)
        return op;
    epilogue->activation = ACTIVATION_NONE;
    return onednn_matmul(plan->batch, s, epilogue, pack, threads);
}

Status *matmul_choose_library(Prepare *p, const GemmShape *shape, int threads) {
    Product *own = p->own;
    bool pack = own->plan.batch == 1 && shape->m <= MOST_ROWS_PACKED && packing_may_keep(p, 1);
    if (!pays(p, shape))
        return OK;
    if ((double)shape->m * (double)shape->n * (double)shape->k * (double)own->plan.batch < WORTH_A_GANG)
        threads = 1;
    Epilogue epilogue = own->epilogue;
    own->library = make(&own->plan, shape, &epilogue, false, threads);
    if (!own->library)
        return OK;
    TRY(prepare_cleanup(p, free_library, own->library));
    own->activates = own->epilogue.activation && !epilogue.activation;
    size_t scratch = onednn_scratch(own->library);
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
    p->how = onednn_name(own->packed ? own->packed : own->library);
    p->run = library_run;
    return OK;
}
