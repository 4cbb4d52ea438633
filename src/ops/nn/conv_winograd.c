// Convolutions by Winograd's transforms — 3x3 and 5x5 in steps of 1, where that is faster than multiplying directly.
#include "ops/nn/conv.h"
#include "thread/pool.h"

typedef struct {
    const Conv *conv;
    const float *a, *b;      // in and the packed filter, or x and dy
    ConvOut out;
    float *partial;
    Lanes lanes;
} Work;

typedef struct {
    const WinogradPlan *plan;
    const float *filter;
    float *packed;
} PackWork;

static void pack_units(void *arg, int64_t first, int64_t last) {
    const PackWork *work = arg;
    winograd_pack(work->plan, work->filter, work->packed, first, last);
}

static bool pack_filter(const void *object, const void *plain, void *packed) {
    const Conv *conv = object;
    PackWork work = {&conv->winograd, plain, packed};
    pool_parallel(conv->pack_threads, conv->winograd.pack_units, pack_units, &work);
    return true;
}

static void run_units(void *arg, int64_t first, int64_t last) {
    Work *work = arg;
    const WinogradPlan *plan = &work->conv->winograd;
    int lane = lanes_take(&work->lanes);
    void *scratch = lanes_memory(&work->lanes, lane);
    if (plan->pass == CONV_FILTER)
        winograd_filter(plan, work->a, work->b, work->out.to, work->partial, scratch, first, last);
    else
        winograd_run(plan, work->a, work->b, work->out.bias, work->out.relu, work->out.to, scratch, first, last);
    lanes_give(&work->lanes, lane);
}

static void finish_rows(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    winograd_filter_finish(&work->conv->winograd, work->out.to, work->partial, first, last);
}

static Status *run_winograd(Kernel *k) {
    const Conv *conv = k->own;
    const WinogradPlan *plan = &conv->winograd;
    const void *a, *b;
    AUTO(buffer) Buffer *kept = NULL;
    TRY(conv_load_packed(conv, k, &kept, &a, &b));
    Work work = {.conv = conv, .a = a, .b = b, .partial = (float *)((char *)k->scratch + conv->at_partial)};
    work.out = conv_begin(conv, k);
    lanes_open(k, &conv->lanes, &work.lanes);
    kernel_parallel(k, plan->units, conv->unit_cost, run_units, &work);
    if (plan->finish_units)
        kernel_parallel(k, plan->finish_units, plan->cuts * plan->out_c / 4, finish_rows, &work);
    conv_end(conv, k);
    return OK;
}

bool conv_prepare_winograd(Prepare *p, Conv *conv) {
    WinogradPlan *plan = &conv->winograd;
    if (!winograd_prepare(conv->pass, &conv->window, p->threads, plan) || !winograd_pays(plan))
        return false;
    int64_t filter = plan->in_c * plan->out_c;
    if (conv->tail)
        *conv_within(conv) = conv_wanted_simply(conv);
    conv->pack_threads = filter >= 4096 ? p->threads : 1;
    p->cost = p->cost / 3 + filter / 16;
    conv->unit_cost = max_i64(1, p->cost / plan->units);
    if (conv->pass != CONV_FILTER)
        packing_prepare(p, conv->pass == CONV_FORWARD ? conv->in_b : conv->in_a, plan->packed, pack_filter, conv,
                        &conv->packing);
    conv->at_partial = round_up(p->scratch, 64);
    p->scratch = conv->at_partial + plan->partial;
    lanes_prepare(p, plan->scratch, plan->units, &conv->lanes);
    p->implementation = "winograd";
    p->run = run_winograd;
    return true;
}
