// Convolutions by oneDNN — its object is made when shapes are known; the filter is laid out anew only when it changes.
#include "ops/nn/conv.h"
#include "loops/tuning.h"

static void free_library(void *arg) {
    onednn_free(arg);
}

// The input that is a filter; -1 in the pass that makes one.
static int filter_input(const Conv *conv) {
    return conv->pass == CONV_FORWARD ? conv->in_b : conv->pass == CONV_INPUT ? conv->in_a : -1;
}

static bool pack_filter(const void *object, const void *plain, void *packed) {
    return onednn_pack(object, plain, packed);
}

static Status *run_library(Kernel *k) {
    const Conv *conv = k->own;
    const void *a, *b;
    AUTO(buffer) Buffer *kept = NULL;
    TRY(conv_load_packed(conv, k, &kept, &a, &b));
    ConvOut out = conv_begin(conv, k);
    NEED(onednn_run(conv->library, a, b, out.bias, out.to, (char *)k->scratch + conv->at_library), INTERNAL,
         "oneDNN failed in %s", onednn_name(conv->library));
    conv_end(conv, k);
    return OK;
}

static bool is_empty(const WindowShape *w) {
    return !w->batch || !w->in_h || !w->in_w || !w->out_h || !w->out_w || (w->filter_d && (!w->in_d || !w->out_d));
}

// 1x1 in steps of 1: a product of all pixels and the filter.
static bool is_pointwise(const WindowShape *w) {
    return !w->filter_d && w->filter_h == 1 && w->filter_w == 1 && w->stride_h == 1 && w->stride_w == 1 &&
        w->groups == 1 && !w->pad_top &&
           !w->pad_left && w->out_h == w->in_h && w->out_w == w->in_w;
}

// A 1x1 filter's gradient, x^T dy, from few channels to many.
static bool is_wide_product(const Conv *conv) {
    const Tuning *t = tuning();
    const WindowShape *w = &conv->window;
    return conv->pass == CONV_FILTER && is_pointwise(w) && w->in_c <= t->conv_gradient_channels &&
           w->out_c >= 4 * w->in_c && w->batch * w->out_h * w->out_w * w->out_c >= t->conv_gradient_least;
}

// Of few pixels and few channels.
static bool is_small_product(const Conv *conv, int threads) {
    const Tuning *t = tuning();
    const WindowShape *w = &conv->window;
    return threads > 1 && conv->pass == CONV_FORWARD && is_pointwise(w) && w->out_c <= t->conv_product_channels &&
           w->batch * w->out_h * w->out_w <= t->conv_product_pixels;
}

static OnednnOp *make_object(const Conv *conv, const Epilogue *epilogue, int threads) {
    const WindowShape *w = &conv->window;
    int64_t pixels = w->batch * w->out_h * w->out_w;
    OnednnOp *object = NULL;
    if (is_wide_product(conv)) {
        GemmShape product = {.m = w->in_c, .n = w->out_c, .k = pixels, .lda = w->in_c, .ldb = w->out_c, .ldc = w->out_c,
                             .ta = true};
        object = onednn_matmul(1, &product, NULL, false, threads);
    } else if (is_small_product(conv, threads)) {
        GemmShape product = {.m = pixels, .n = w->out_c, .k = w->in_c, .lda = w->in_c, .ldb = w->out_c,
                             .ldc = w->out_c};
        object = onednn_matmul(1, &product, epilogue, true, threads);
    }
    return object ? object : onednn_conv(conv->pass, w, epilogue, threads);
}

Status *conv_prepare_library(Prepare *p, Conv *conv, int64_t multiplications) {
    if (multiplications < tuning()->conv_library || is_empty(&conv->window) || !onednn_available())
        return OK;
    // What it can't do fast on its way out is done behind it: the bias at least it takes.
    Epilogue wanted = conv_wanted(conv);
    conv->library = make_object(conv, &wanted, p->threads);
    if (!conv->library && conv->tail) {
        wanted = (Epilogue){.bias = wanted.bias};
        conv->library = make_object(conv, &wanted, p->threads);
    }
    if (!conv->library)
        return OK;
    if (conv->tail)
        *conv_within(conv) = wanted;
    TRY(prepare_cleanup(p, free_library, conv->library));
    if (conv->pass != CONV_FILTER)
        packing_prepare(p, filter_input(conv), onednn_packed_bytes(conv->library), pack_filter, conv->library,
                        &conv->packing);
    conv->at_library = round_up(p->scratch, 64);
    p->scratch = conv->at_library + onednn_scratch(conv->library) + 64;
    p->implementation = onednn_name(conv->library);
    p->run = run_library;
    return OK;
}
