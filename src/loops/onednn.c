// oneDNN — see onednn.h. An op is a primitive for the wanted number of threads and its twin for one.
//
// How many threads are free is known only when the op runs; a primitive's work is laid out for a number of threads when
// it is made. So there are two, which share the layout of the weights. What the library refuses, or would compute by
// its reference loops, is NULL here, and the caller takes the loops of this folder.
#include "loops/onednn.h"

#include "loops/onednn_internal.h"

#ifndef HAVE_ONEDNN

bool onednn_available(void) { return false; }
bool onednn_has_threads(void) { return false; }
OnednnOp *onednn_conv(ConvPass pass, const WindowShape *shape, const Epilogue *epilogue, int threads) {
    (void)pass, (void)shape, (void)epilogue, (void)threads;
    return NULL;
}
OnednnOp *onednn_matmul(int64_t batch, const GemmShape *shape, const Epilogue *epilogue, bool pack, int threads) {
    (void)batch, (void)shape, (void)epilogue, (void)pack, (void)threads;
    return NULL;
}
void onednn_free(OnednnOp *op) { (void)op; }
size_t onednn_scratch(const OnednnOp *op) { return (void)op, (size_t)0; }
size_t onednn_packed_bytes(const OnednnOp *op) { return (void)op, (size_t)0; }
bool onednn_pack(const OnednnOp *op, const void *plain, void *packed) {
    return (void)op, (void)plain, (void)packed, false;
}
bool onednn_run(OnednnOp *op, const void *a, const void *b, const void *bias, void *out, void *scratch) {
    return (void)op, (void)a, (void)b, (void)bias, (void)out, (void)scratch, false;
}
const char *onednn_name(const OnednnOp *op) { return (void)op, ""; }

#else
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "loops/tuning.h"

enum { ARG_A, ARG_B, ARG_BIAS, ARG_OUT, ARG_SCRATCH, ARGS };

// The memory objects of one run: an op keeps a set, so that a run makes none; a second thread that comes meanwhile
// makes its own.
typedef struct {
    dnnl_memory_t memory[ARGS];
} MemorySet;

typedef struct {
    dnnl_primitive_t primitive;
    Layout *scratch;
    MemorySet spare;
    atomic_flag busy;
} Variant;

struct OnednnOp {
    Variant variant[2];              // [0] one thread, [1] `threads`
    int threads;
    int names[ARGS];                 // DNNL_ARG_* of each argument; 0: unused
    Layout *layout[ARGS];            // the same in both variants, but for the scratch
    dnnl_stream_t stream;
    char name[64];
    size_t scratch, work;            // bytes in all; of them the library's own
    // Weights: plain -> what the primitive reads, or what it writes -> plain.
    int weights;                     // which argument they are
    Layout *plain;
    dnnl_primitive_t reorder[2];     // by one thread, by `threads`; NULL: the plain ones are taken, or written
};

bool onednn_available(void) {
    return onednn_library() != NULL;
}

bool onednn_has_threads(void) {
    const Onednn *lib = onednn_library();
    return lib && lib->patched;
}

// "ref" implementations are plain loops for comparison; this folder's are better.
static bool is_fast(const char *name) {
    return name && !strstr(name, "ref");
}

static bool is_gemm(const char *name) {
    return name && !strncmp(name, "gemm:", 5) && is_fast(name);
}

// Bias, sum and activation inside of the library's kernel save a pass over the result.
static bool append_epilogue(const Onednn *lib, dnnl_post_ops_t post, const Epilogue *epilogue) {
    if (epilogue->sum && !append_sum(lib, post))
        return false;
    switch (epilogue->activation) {
    case ACTIVATION_NONE: return true;
    case ACTIVATION_RELU: return append_activation(lib, post, dnnl_eltwise_relu, 0, 0);
    case ACTIVATION_RELU6: return append_activation(lib, post, dnnl_eltwise_clip, 0, 6);
    case ACTIVATION_ELU: return append_activation(lib, post, dnnl_eltwise_elu, 1, 0);
    case ACTIVATION_TANH: return append_activation(lib, post, dnnl_eltwise_tanh, 0, 0);
    case ACTIVATION_SIGMOID: return append_activation(lib, post, dnnl_eltwise_logistic, 0, 0);
    case ACTIVATION_LEAKY_RELU: return append_activation(lib, post, dnnl_eltwise_relu, epilogue->alpha, 0);
    }
    return false;
}

// NULL where the library refuses. `epilogue` NULL: none.
static dnnl_primitive_attr_t make_attr(const Onednn *lib, const Epilogue *epilogue) {
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t post = NULL;
    if (lib->dnnl_primitive_attr_create(&attr) != dnnl_success)
        return NULL;
    // Scratch is the caller's (from the step's arena); the library's own would be one block for all threads, or one
    // each.
    bool good = lib->dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user) == dnnl_success;
    if (good && epilogue && (epilogue->sum || epilogue->activation)) {
        good = lib->dnnl_post_ops_create(&post) == dnnl_success && append_epilogue(lib, post, epilogue) &&
               lib->dnnl_primitive_attr_set_post_ops(attr, post) == dnnl_success;
        if (post)
            lib->dnnl_post_ops_destroy(post);
    }
    if (good)
        return attr;
    lib->dnnl_primitive_attr_destroy(attr);
    return NULL;
}

// Without addresses: those are set before each run.
static bool make_memories(const Onednn *lib, const OnednnOp *op, const Variant *variant, MemorySet *set) {
    for (int i = 0; i < ARGS; i++) {
        const Layout *layout = i == ARG_SCRATCH ? variant->scratch : op->layout[i];
        if (op->names[i] &&
            lib->dnnl_memory_create(&set->memory[i], layout, lib->engine, DNNL_MEMORY_NONE) != dnnl_success)
            return false;
    }
    return true;
}
static void free_memories(const Onednn *lib, MemorySet *set) {
    for (int i = 0; i < ARGS; i++)
        if (set->memory[i])
            lib->dnnl_memory_destroy(set->memory[i]);
}

// Makes the primitive of a variant. The first one chooses the layout of the weights, if `any` was asked for.
static bool finish_variant(const Onednn *lib, OnednnOp *op, Variant *variant, dnnl_primitive_desc_t pd) {
    dnnl_query_t which = op->weights == ARG_OUT ? dnnl_query_diff_weights_md : dnnl_query_weights_md;
    const Layout *weights = lib->dnnl_primitive_desc_query_md(pd, which, 0);
    if (!op->layout[op->weights])
        op->layout[op->weights] = layout_copy(lib, weights);
    variant->scratch = layout_copy(lib, lib->dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0));
    atomic_flag_clear(&variant->busy);
    if (!op->layout[op->weights] || !variant->scratch)
        return false;
    size_t bytes = lib->dnnl_memory_desc_get_size(variant->scratch);
    op->work = bytes > op->work ? bytes : op->work;
    return lib->dnnl_primitive_create(&variant->primitive, pd) == dnnl_success &&
           make_memories(lib, op, variant, &variant->spare);
}

void onednn_free(OnednnOp *op) {
    const Onednn *lib = onednn_library();
    if (!op || !lib)
        return;
    for (int v = 0; v < 2; v++) {
        free_memories(lib, &op->variant[v].spare);
        if (op->variant[v].primitive)
            lib->dnnl_primitive_destroy(op->variant[v].primitive);
        layout_free(lib, op->variant[v].scratch);
    }
    for (int i = 0; i < ARGS; i++)
        layout_free(lib, op->layout[i]);
    layout_free(lib, op->plain);
    for (int v = 0; v < 2; v++)
        if (op->reorder[v])
            lib->dnnl_primitive_destroy(op->reorder[v]);
    if (op->stream)
        lib->dnnl_stream_destroy(op->stream);
    free(op);
}

static bool writes_weights(const OnednnOp *op) {
    return op->weights == ARG_OUT;
}

// The conversion between the plain layout of weights and the op's own, if they differ, by the threads of a variant.
static bool make_reorder(const Onednn *lib, OnednnOp *op, int variant) {
    const Layout *own = op->layout[op->weights];
    if (lib->dnnl_memory_desc_equal(op->plain, own))
        return true;
    const Layout *from = writes_weights(op) ? own : op->plain, *to = writes_weights(op) ? op->plain : own;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_attr_t attr = make_attr(lib, NULL);
    bool good = attr && lib->dnnl_reorder_primitive_desc_create(&pd, from, lib->engine, to, lib->engine, attr) ==
                            dnnl_success;
    good = good && lib->dnnl_primitive_create(&op->reorder[variant], pd) == dnnl_success;
    const Layout *scratch = good ? lib->dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0) : NULL;
    good = good && (!scratch || lib->dnnl_memory_desc_get_size(scratch) == 0);
    if (pd)
        lib->dnnl_primitive_desc_destroy(pd);
    if (attr)
        lib->dnnl_primitive_attr_destroy(attr);
    return good;
}

// One variant: describes and makes its primitive.
typedef bool MakeVariant(const Onednn *lib, OnednnOp *op, Variant *variant, const void *what, char name[64]);

// Makes both variants, the one for many threads first: it chooses the layout of the weights, which the other has to
// take. Gives the op back, or frees it where something failed.
static OnednnOp *finish_op(const Onednn *lib, OnednnOp *op, bool good, MakeVariant *make, const void *what) {
    char ignored[64];
    good = good && lib->dnnl_stream_create(&op->stream, lib->engine, dnnl_stream_default_flags) == dnnl_success;
    if (good && op->threads > 1) {
        OnednnScope scope = onednn_begin(op->threads, NULL);
        good = make(lib, op, &op->variant[1], what, op->name) && make_reorder(lib, op, 1);
        onednn_end(scope);
    }
    if (good) {
        OnednnScope scope = onednn_begin(1, NULL);
        good = make(lib, op, &op->variant[0], what, op->threads > 1 ? ignored : op->name) &&
               make_reorder(lib, op, 0);
        onednn_end(scope);
    }
    if (!good) {
        onednn_free(op);
        return NULL;  // NOLINT(clang-analyzer-unix.Malloc): onednn_free gave it back
    }
    // The library's own scratch, then room for weights that it writes in its own layout.
    bool converts = op->reorder[0] && writes_weights(op);
    op->work = round_up(op->work, 64);
    op->scratch = op->work + (converts ? round_up(lib->dnnl_memory_desc_get_size(op->layout[ARG_OUT]), 64) : 0);
    return op;
}

// Without the patched OpenMP slots it is one thread (onednn_library.c).
static OnednnOp *new_op(const Onednn *lib, const int names[3], const Epilogue *epilogue, int weights, int threads) {
    OnednnOp *op = calloc(1, sizeof *op);
    if (!op)
        return NULL;
    op->threads = lib->patched && threads > 1 ? threads : 1;
    op->names[ARG_A] = names[0], op->names[ARG_B] = names[1], op->names[ARG_OUT] = names[2];
    op->names[ARG_BIAS] = epilogue && epilogue->bias ? DNNL_ARG_BIAS : 0;
    op->names[ARG_SCRATCH] = DNNL_ARG_SCRATCHPAD;
    op->weights = weights;
    return op;
}

// ---- convolutions ----

typedef struct {
    ConvPass pass;
    const WindowShape *window;
    const Epilogue *epilogue;
} ConvRequest;

// Volumes have a dimension more, in front of the others.
static bool is_deep(const WindowShape *s) {
    return s->filter_d > 0;
}

// Batch and channels, or those of a filter's groups, then the extents.
static int with_extents(const WindowShape *s, dnnl_dims_t dims, int n, int64_t depth, int64_t height, int64_t width) {
    if (is_deep(s))
        dims[n++] = depth;
    dims[n++] = height;
    dims[n++] = width;
    return n;
}

static Layout *filter_layout(const Onednn *lib, const WindowShape *s, bool plain) {
    bool grouped = s->groups > 1;
    dnnl_dims_t one = {s->out_c, s->in_c}, many = {s->groups, s->out_c / s->groups, s->in_c / s->groups};
    int64_t *dims = grouped ? many : one;
    int rank = with_extents(s, dims, grouped ? 3 : 2, s->filter_d, s->filter_h, s->filter_w);
    dnnl_format_tag_t deep = grouped ? dnnl_dhwigo : dnnl_dhwio, flat = grouped ? dnnl_hwigo : dnnl_hwio;
    return layout_by_tag(lib, rank, dims, !plain ? dnnl_format_tag_any : is_deep(s) ? deep : flat);
}

// Which arguments are the images, the filter and the result of the forward pass.
static const struct {
    int names[3], x, y, filter;
} conv_roles[3] = {
    [CONV_FORWARD] = {{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST}, ARG_A, ARG_OUT, ARG_B},
    [CONV_INPUT] = {{DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC}, ARG_OUT, ARG_A, ARG_B},
    [CONV_FILTER] = {{DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS}, ARG_A, ARG_B, ARG_OUT},
};

static bool conv_layouts(const Onednn *lib, OnednnOp *op, const ConvRequest *request) {
    const WindowShape *s = request->window;
    dnnl_dims_t x = {s->batch, s->in_c}, y = {s->batch, s->out_c}, bias = {s->out_c};
    int rank = with_extents(s, x, 2, s->in_d, s->in_h, s->in_w);
    with_extents(s, y, 2, s->out_d, s->out_h, s->out_w);
    dnnl_format_tag_t pixels = is_deep(s) ? dnnl_ndhwc : dnnl_nhwc;
    int at_x = conv_roles[request->pass].x, at_y = conv_roles[request->pass].y;
    op->layout[at_x] = layout_by_tag(lib, rank, x, pixels);
    op->layout[at_y] = layout_by_tag(lib, rank, y, pixels);
    op->plain = filter_layout(lib, s, true);
    if (op->names[ARG_BIAS])
        op->layout[ARG_BIAS] = layout_by_tag(lib, 1, bias, dnnl_a);
    return op->layout[at_x] && op->layout[at_y] && op->plain && (!op->names[ARG_BIAS] || op->layout[ARG_BIAS]);
}

// What lies beyond the input's end under the last window.
static int64_t beyond(int64_t in, int64_t out, int64_t window, int64_t stride, int64_t dilation, int64_t before) {
    return max_i64(0, (out - 1) * stride + (window - 1) * dilation + 1 - in - before);
}

static void conv_steps(const WindowShape *s, ConvLayouts *c) {
    with_extents(s, c->strides, 0, s->stride_d, s->stride_h, s->stride_w);
    with_extents(s, c->dilations, 0, s->dilation_d - 1, s->dilation_h - 1, s->dilation_w - 1);
    with_extents(s, c->left, 0, s->pad_front, s->pad_top, s->pad_left);
    with_extents(s, c->right, 0, beyond(s->in_d, s->out_d, s->filter_d, s->stride_d, s->dilation_d, s->pad_front),
                 beyond(s->in_h, s->out_h, s->filter_h, s->stride_h, s->dilation_h, s->pad_top),
                 beyond(s->in_w, s->out_w, s->filter_w, s->stride_w, s->dilation_w, s->pad_left));
}

// "any" lets the library choose the layout of the filter; backward passes are described by a forward one, its hint.
static bool conv_variant(const Onednn *lib, OnednnOp *op, Variant *variant, const void *what, char name[64]) {
    const ConvRequest *request = what;
    Layout *any = filter_layout(lib, request->window, false), *found = op->layout[op->weights];
    ConvLayouts c = {.x = op->layout[conv_roles[request->pass].x], .y = op->layout[conv_roles[request->pass].y],
                     .filter = any};
    conv_steps(request->window, &c);
    dnnl_primitive_attr_t plain = make_attr(lib, NULL), attr = make_attr(lib, request->epilogue);
    dnnl_primitive_desc_t hint = NULL, pd = NULL;
    bool good = any && plain && attr;
    // The forward twin may have another filter layout: it is only asked about the geometry.
    if (good && request->pass != CONV_FORWARD) {
        char ignored[64];
        hint = describe_conv(lib, CONV_FORWARD, &c, plain, NULL, is_fast, ignored);
        good = hint != NULL;
    }
    c.filter = found ? found : any;
    c.bias = op->layout[ARG_BIAS];
    if (good)
        pd = describe_conv(lib, request->pass, &c, attr, hint, is_fast, name);
    good = pd && finish_variant(lib, op, variant, pd);
    if (pd)
        lib->dnnl_primitive_desc_destroy(pd);
    if (hint)
        lib->dnnl_primitive_desc_destroy(hint);
    if (plain)
        lib->dnnl_primitive_attr_destroy(plain);
    if (attr)
        lib->dnnl_primitive_attr_destroy(attr);
    layout_free(lib, any);
    return good;
}

// The library is C++ and throws where numbers are absurd, which no C caller survives: such shapes stay with the
// sibling.
static bool is_sane(const WindowShape *shape) {
    enum { MOST_EXTENT = 1 << 24, MOST_STEP = 1 << 15 };
    const WindowShape deep = window_in_depth(shape), *s = &deep;
    const int64_t extents[] = {s->batch, s->in_d, s->in_h, s->in_w, s->in_c, s->out_d, s->out_h, s->out_w, s->out_c,
                               s->groups};
    const int64_t steps[] = {s->filter_d, s->filter_h, s->filter_w, s->stride_d, s->stride_h, s->stride_w,
                             s->dilation_d,
                             s->dilation_h, s->dilation_w, s->pad_front + 1, s->pad_top + 1, s->pad_left + 1};
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++)
        if (extents[i] <= 0 || extents[i] > MOST_EXTENT)
            return false;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i] <= 0 || steps[i] > MOST_STEP)
            return false;
    return true;
}

OnednnOp *onednn_conv(ConvPass pass, const WindowShape *shape, const Epilogue *epilogue, int threads) {
    const Onednn *lib = onednn_library();
    if (!lib || !is_sane(shape))
        return NULL;
    ConvRequest request = {pass, shape, pass == CONV_FORWARD ? epilogue : NULL};
    OnednnOp *op = new_op(lib, conv_roles[pass].names, request.epilogue, conv_roles[pass].filter, threads);
    return op ? finish_op(lib, op, conv_layouts(lib, op, &request), conv_variant, &request) : NULL;
}

// ---- matrix products ----

typedef struct {
    int64_t batch;
    const GemmShape *shape;
    bool pack;
    const Epilogue *epilogue;
} ProductRequest;

static Layout *matrix_layout(const Onednn *lib, int64_t batch, int64_t rows, int64_t columns, int64_t ld,
                             bool transposed) {
    int64_t down = transposed ? 1 : ld, across = transposed ? ld : 1;
    dnnl_dims_t one = {rows, columns}, one_steps = {down, across};
    dnnl_dims_t many = {batch, rows, columns}, many_steps = {rows * columns, down, across};
    return batch == 1 ? layout_by_steps(lib, 2, one, one_steps) : layout_by_steps(lib, 3, many, many_steps);
}

static bool product_layouts(const Onednn *lib, OnednnOp *op, const ProductRequest *w) {
    const GemmShape *s = w->shape;
    dnnl_dims_t row = {1, s->n}, rows = {1, 1, s->n};
    op->layout[ARG_A] = matrix_layout(lib, w->batch, s->m, s->k, s->lda, s->ta);
    op->layout[ARG_OUT] = matrix_layout(lib, w->batch, s->m, s->n, s->ldc, false);
    op->plain = matrix_layout(lib, w->batch, s->k, s->n, s->ldb, s->tb);
    if (!w->pack)
        op->layout[ARG_B] = layout_copy(lib, op->plain);
    if (op->names[ARG_BIAS])
        op->layout[ARG_BIAS] = w->batch == 1 ? layout_by_tag(lib, 2, row, dnnl_ab)
            : layout_by_tag(lib, 3, rows, dnnl_abc);
    return op->layout[ARG_A] && op->layout[ARG_OUT] && op->plain && (w->pack || op->layout[ARG_B]) &&
           (!op->names[ARG_BIAS] || op->layout[ARG_BIAS]);
}

// Whether the first implementation that is offered copies the right matrix before each product, as the other one does
// not: by measurement (tuning.def), for the library doesn't tell.
static bool is_copied_in_vain(const ProductRequest *w) {
    const Tuning *t = tuning();
    const GemmShape *s = w->shape;
    double elements = (double)s->k * (double)s->n;
    if (w->batch != 1 || w->pack)
        return false;
    if (s->tb)
        return s->m <= t->copied_turned_rows && elements >= t->copied_turned;
    return elements >= (s->m <= t->copied_few_rows ? t->copied_few : t->copied_many);
}

static bool product_variant(const Onednn *lib, OnednnOp *op, Variant *variant, const void *what, char name[64]) {
    const ProductRequest *w = what;
    dnnl_dims_t dims = {w->shape->k, w->shape->n};
    Layout *any = op->layout[ARG_B] ? NULL : layout_by_tag(lib, 2, dims, dnnl_format_tag_any);
    const Layout *b = any ? any : op->layout[ARG_B];
    dnnl_primitive_attr_t attr = make_attr(lib, w->epilogue);
    dnnl_primitive_desc_t pd = NULL;
    if (attr && b && is_copied_in_vain(w))
        pd = describe_matmul(lib, op->layout[ARG_A], b, op->layout[ARG_BIAS], op->layout[ARG_OUT], attr, is_gemm, name);
    if (attr && b && !pd)
        pd = describe_matmul(lib, op->layout[ARG_A], b, op->layout[ARG_BIAS], op->layout[ARG_OUT], attr, is_fast, name);
    bool good = pd && finish_variant(lib, op, variant, pd);
    if (pd)
        lib->dnnl_primitive_desc_destroy(pd);
    if (attr)
        lib->dnnl_primitive_attr_destroy(attr);
    layout_free(lib, any);
    return good;
}

OnednnOp *onednn_matmul(int64_t batch, const GemmShape *shape, const Epilogue *epilogue, bool pack, int threads) {
    enum { MOST_EXTENT = 1 << 30 };
    const Onednn *lib = onednn_library();
    int64_t m = shape->m, n = shape->n, k = shape->k;
    if (!lib || batch <= 0 || m <= 0 || n <= 0 || k <= 0 || batch > MOST_EXTENT || m > MOST_EXTENT || n > MOST_EXTENT ||
        k > MOST_EXTENT)
        return NULL;
    const int names[3] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    ProductRequest request = {batch, shape, pack && batch == 1, epilogue};
    OnednnOp *op = new_op(lib, names, epilogue, ARG_B, threads);
    // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): finish_op gives it back or frees it
    return op ? finish_op(lib, op, product_layouts(lib, op, &request), product_variant, &request) : NULL;
}

// ---- running ----

size_t onednn_scratch(const OnednnOp *op) {
    return op->scratch;
}
const char *onednn_name(const OnednnOp *op) {
    return op->name;
}
size_t onednn_packed_bytes(const OnednnOp *op) {
    bool packs = op->reorder[0] && !writes_weights(op);
    return packs ? onednn_library()->dnnl_memory_desc_get_size(op->layout[ARG_B]) : 0;
}

// Claims the threads of an op, and tells the library of them. With one, nothing is claimed.
typedef struct {
    Gang gang;
    int threads;
    OnednnScope scope;
} Claim;

static void claim_begin(const OnednnOp *op, Claim *claim) {
    claim->threads = op->threads > 1 ? gang_claim(&claim->gang, op->threads) : 1;
    claim->scope = onednn_begin(claim->threads, claim->threads > 1 ? &claim->gang : NULL);
}
static void claim_end(Claim *claim) {
    onednn_end(claim->scope);
    if (claim->threads > 1)
        gang_release(&claim->gang);
}

static bool run_reorder(const Onednn *lib, const OnednnOp *op, int threads, const void *from, void *to) {
    dnnl_memory_t a = NULL, b = NULL;
    const Layout *own = op->layout[op->weights];
    const Layout *source = writes_weights(op) ? own : op->plain, *target = writes_weights(op) ? op->plain : own;
    bool good = lib->dnnl_memory_create(&a, source, lib->engine, (void *)(uintptr_t)from) == dnnl_success &&
                lib->dnnl_memory_create(&b, target, lib->engine, to) == dnnl_success;
    if (good) {
        dnnl_exec_arg_t args[2] = {{DNNL_ARG_FROM, a}, {DNNL_ARG_TO, b}};
        good = lib->dnnl_primitive_execute(op->reorder[threads > 1], op->stream, 2, args) == dnnl_success &&
               lib->dnnl_stream_wait(op->stream) == dnnl_success;
    }
    if (a)
        lib->dnnl_memory_destroy(a);
    if (b)
        lib->dnnl_memory_destroy(b);
    return good;
}

bool onednn_pack(const OnednnOp *op, const void *plain, void *packed) {
    if (!op->reorder[0] || writes_weights(op))
        return false;
    Claim claim;
    claim_begin(op, &claim);
    bool good = run_reorder(onednn_library(), op, claim.threads, plain, packed);
    claim_end(&claim);
    return good;
}

// The flag, not a lock: who finds the set in use doesn't wait.
static bool execute(const Onednn *lib, OnednnOp *op, Variant *variant, void *const data[ARGS]) {
    MemorySet own = {0}, *set = &variant->spare;
    bool borrowed = !atomic_flag_test_and_set_explicit(&variant->busy, memory_order_acquire), good = true;
    if (!borrowed) {
        good = make_memories(lib, op, variant, &own);
        set = &own;
    }
    dnnl_exec_arg_t args[ARGS];
    int n = 0;
    for (int i = 0; i < ARGS && good; i++)
        if (op->names[i]) {
            good = lib->dnnl_memory_set_data_handle(set->memory[i], data[i]) == dnnl_success;
            args[n++] = (dnnl_exec_arg_t){op->names[i], set->memory[i]};
        }
    good = good && lib->dnnl_primitive_execute(variant->primitive, op->stream, n, args) == dnnl_success &&
           lib->dnnl_stream_wait(op->stream) == dnnl_success;
    if (borrowed)
        atomic_flag_clear_explicit(&variant->busy, memory_order_release);
    else
        free_memories(lib, &own);
    return good;
}

bool onednn_run(OnednnOp *op, const void *a, const void *b, const void *bias, void *out, void *scratch) {
    const Onednn *lib = onednn_library();
    char *work = scratch;
    bool converts = op->reorder[0] && writes_weights(op);
    void *target = converts ? work + op->work : out;
    void *data[ARGS] = {(void *)(uintptr_t)a, (void *)(uintptr_t)b, (void *)(uintptr_t)bias, target, work};
    Claim claim;
    claim_begin(op, &claim);
    bool good = execute(lib, op, &op->variant[claim.threads > 1], data);
    good = good && (!converts || run_reorder(lib, op, claim.threads, target, out));
    claim_end(&claim);
    return good;
}
#endif
