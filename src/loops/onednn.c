// oneDNN — see onednn.h. An op is a primitive for the wanted number of threads and its twin for one.
#include "loops/onednn.h"

#include "loops/onednn_internal.h"

#ifndef HAVE_ONEDNN

bool onednn_available(void) { return false; }
bool onednn_has_threads(void) { return false; }
OnednnOp *onednn_conv(ConvPass pass, const WindowShape *shape, bool bias, bool relu, int threads) {
    (void)pass, (void)shape, (void)bias, (void)relu, (void)threads;
    return NULL;
}
OnednnOp *onednn_matmul(int64_t batch, int64_t m, int64_t n, int64_t k, bool ta, bool tb, bool bias, bool relu,
                        bool pack, int threads) {
    (void)batch, (void)m, (void)n, (void)k, (void)ta, (void)tb, (void)bias, (void)relu, (void)pack, (void)threads;
    return NULL;
}
void onednn_free(OnednnOp *op) { (void)op; }
size_t onednn_scratch(const OnednnOp *op) { return (void)op, (size_t)0; }
size_t onednn_packed_bytes(const OnednnOp *op) { return (void)op, (size_t)0; }
bool onednn_pack(const OnednnOp *op, const void *plain, void *packed) { return (void)op, (void)plain, (void)packed, false; }
bool onednn_run(OnednnOp *op, const void *a, const void *b, const void *bias, void *out, void *scratch) {
    return (void)op, (void)a, (void)b, (void)bias, (void)out, (void)scratch, false;
}
const char *onednn_name(const OnednnOp *op) { return (void)op, ""; }

#else
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

enum { ARG_A, ARG_B, ARG_BIAS, ARG_OUT, ARG_SCRATCH, ARGS };

// The memory objects of one run: an op keeps a set, a second thread that comes meanwhile makes its own.
typedef struct {
    dnnl_memory_t memory[ARGS];
} MemorySet;

typedef struct {
    dnnl_primitive_t primitive;
    dnnl_memory_desc_t desc[ARGS];   // those of ARG_B and ARG_OUT are the same in both variants
    MemorySet spare;
    atomic_flag busy;
} Variant;

struct OnednnOp {
    Variant variant[2];              // [0] one thread, [1] `threads`
    int threads;
    int names[ARGS];                 // DNNL_ARG_* of each argument; 0: unused
    dnnl_stream_t stream;
    char name[64];
    size_t scratch, work;            // bytes in all; of them the library's own
    // Weights: plain -> what the primitive reads, or what it writes -> plain.
    bool reorders, reorders_out;
    dnnl_memory_desc_t plain, own;
    dnnl_primitive_t reorder;
};

bool onednn_available(void) {
    return onednn_library() != NULL;
}

bool onednn_has_threads(void) {
    const Onednn *lib = onednn_library();
    return lib && lib->patched;
}

static bool is_slow(const char *name) {
    return !name || strstr(name, "ref") != NULL;
}

// The first implementation that is not a reference one.
static dnnl_primitive_desc_t choose(const Onednn *lib, const_dnnl_op_desc_t desc, const_dnnl_primitive_attr_t attr,
                                    const_dnnl_primitive_desc_t hint, char name[64]) {
    dnnl_primitive_desc_iterator_t it = NULL;
    if (lib->dnnl_primitive_desc_iterator_create(&it, desc, attr, lib->engine, hint) != dnnl_success)
        return NULL;
    dnnl_primitive_desc_t found = NULL;
    do {
        dnnl_primitive_desc_t pd = lib->dnnl_primitive_desc_iterator_fetch(it);
        const char *text = NULL;
        if (!pd)
            break;
        lib->dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &text);
        if (!is_slow(text)) {
            strncpy(name, text, 63);
            name[63] = 0;
            found = pd;
            break;
        }
        lib->dnnl_primitive_desc_destroy(pd);
    } while (lib->dnnl_primitive_desc_iterator_next(it) == dnnl_success);
    lib->dnnl_primitive_desc_iterator_destroy(it);
    return found;
}

static dnnl_primitive_attr_t make_attr(const Onednn *lib, bool relu) {
    dnnl_primitive_attr_t attr = NULL;
    if (lib->dnnl_primitive_attr_create(&attr) != dnnl_success)
        return NULL;
    lib->dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    dnnl_post_ops_t post = NULL;
    if (relu && lib->dnnl_post_ops_create(&post) == dnnl_success) {
        lib->dnnl_post_ops_append_eltwise(post, 1, dnnl_eltwise_relu, 0, 0);
        lib->dnnl_primitive_attr_set_post_ops(attr, post);
        lib->dnnl_post_ops_destroy(post);
    }
    return attr;
}

static bool make_memories(const Onednn *lib, const OnednnOp *op, const Variant *variant, MemorySet *set) {
    for (int i = 0; i < ARGS; i++)
        if (op->names[i] && lib->dnnl_memory_create(&set->memory[i], &variant->desc[i], lib->engine,
                                                    DNNL_MEMORY_NONE) != dnnl_success)
            return false;
    return true;
}
static void free_memories(const Onednn *lib, MemorySet *set) {
    for (int i = 0; i < ARGS; i++)
        if (set->memory[i])
            lib->dnnl_memory_destroy(set->memory[i]);
}

// Makes the primitive of a variant; the descriptors of its arguments are the caller's, but for the scratchpad.
static bool finish_variant(const Onednn *lib, OnednnOp *op, Variant *variant, dnnl_primitive_desc_t pd) {
    const dnnl_memory_desc_t *scratch = lib->dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    if (scratch)
        variant->desc[ARG_SCRATCH] = *scratch;
    size_t bytes = scratch ? lib->dnnl_memory_desc_get_size(scratch) : 0;
    op->work = bytes > op->work ? bytes : op->work;
    atomic_flag_clear(&variant->busy);
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
    }
    if (op->reorder)
        lib->dnnl_primitive_destroy(op->reorder);
    if (op->stream)
        lib->dnnl_stream_destroy(op->stream);
    free(op);
}

// The conversion between the plain layout of weights and the op's own, if they differ.
static bool make_reorder(const Onednn *lib, OnednnOp *op, bool out) {
    if (lib->dnnl_memory_desc_equal(&op->plain, &op->own))
        return true;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_attr_t attr = make_attr(lib, false);
    const dnnl_memory_desc_t *from = out ? &op->own : &op->plain, *to = out ? &op->plain : &op->own;
    bool good = attr && lib->dnnl_reorder_primitive_desc_create(&pd, from, lib->engine, to, lib->engine, attr) ==
                            dnnl_success;
    good = good && lib->dnnl_primitive_create(&op->reorder, pd) == dnnl_success;
    const dnnl_memory_desc_t *scratch = good ? lib->dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0) : NULL;
    good = good && (!scratch || lib->dnnl_memory_desc_get_size(scratch) == 0);
    if (pd)
        lib->dnnl_primitive_desc_destroy(pd);
    if (attr)
        lib->dnnl_primitive_attr_destroy(attr);
    op->reorders = true, op->reorders_out = out;
    return good;
}

// ---- convolutions ----

typedef struct {
    dnnl_memory_desc_t x, filter, bias, y;
    dnnl_dims_t strides, dilations, left, right;
} ConvDescs;

static bool conv_descs(const Onednn *lib, const WindowShape *s, bool any, ConvDescs *d) {
    dnnl_dims_t x = {s->batch, s->in_c, s->in_h, s->in_w}, y = {s->batch, s->out_c, s->out_h, s->out_w};
    dnnl_dims_t bias = {s->out_c}, plain = {s->out_c, s->in_c, s->filter_h, s->filter_w};
    dnnl_dims_t grouped = {s->groups, s->out_c / s->groups, s->in_c / s->groups, s->filter_h, s->filter_w};
    bool group = s->groups > 1;
    int64_t beyond_y = (s->out_h - 1) * s->stride_h + (s->filter_h - 1) * s->dilation_h + 1 - s->in_h - s->pad_top;
    int64_t beyond_x = (s->out_w - 1) * s->stride_w + (s->filter_w - 1) * s->dilation_w + 1 - s->in_w - s->pad_left;
    memset(d, 0, sizeof *d);
    d->strides[0] = s->stride_h, d->strides[1] = s->stride_w;
    d->dilations[0] = s->dilation_h - 1, d->dilations[1] = s->dilation_w - 1;
    d->left[0] = s->pad_top, d->left[1] = s->pad_left;
    d->right[0] = max_i64(0, beyond_y), d->right[1] = max_i64(0, beyond_x);
    dnnl_format_tag_t tag = any ? dnnl_format_tag_any : group ? dnnl_hwigo : dnnl_hwio;
    return lib->dnnl_memory_desc_init_by_tag(&d->x, 4, x, dnnl_f32, dnnl_nhwc) == dnnl_success &&
           lib->dnnl_memory_desc_init_by_tag(&d->y, 4, y, dnnl_f32, dnnl_nhwc) == dnnl_success &&
           lib->dnnl_memory_desc_init_by_tag(&d->bias, 1, bias, dnnl_f32, dnnl_a) == dnnl_success &&
           lib->dnnl_memory_desc_init_by_tag(&d->filter, group ? 5 : 4, group ? grouped : plain, dnnl_f32, tag) ==
               dnnl_success;
}

// The description of a pass; `hint` is the forward one, which the backward passes want to see.
static dnnl_primitive_desc_t conv_pass(const Onednn *lib, ConvPass pass, const ConvDescs *d, bool bias, bool relu,
                                       const_dnnl_primitive_desc_t hint, char name[64]) {
    dnnl_convolution_desc_t desc;
    dnnl_status_t status;
    if (pass == CONV_FORWARD)
        status = lib->dnnl_dilated_convolution_forward_desc_init(
            &desc, dnnl_forward_training, dnnl_convolution_direct, &d->x, &d->filter, bias ? &d->bias : NULL, &d->y,
            d->strides, d->dilations, d->left, d->right);
    else if (pass == CONV_INPUT)
        status = lib->dnnl_dilated_convolution_backward_data_desc_init(
            &desc, dnnl_convolution_direct, &d->x, &d->filter, &d->y, d->strides, d->dilations, d->left, d->right);
    else
        status = lib->dnnl_dilated_convolution_backward_weights_desc_init(
            &desc, dnnl_convolution_direct, &d->x, &d->filter, NULL, &d->y, d->strides, d->dilations, d->left, d->right);
    if (status != dnnl_success)
        return NULL;
    dnnl_primitive_attr_t attr = make_attr(lib, relu && pass == CONV_FORWARD);
    if (!attr)
        return NULL;
    dnnl_primitive_desc_t pd = choose(lib, &desc, attr, hint, name);
    lib->dnnl_primitive_attr_destroy(attr);
    return pd;
}

static void conv_names(OnednnOp *op, ConvPass pass, bool bias) {
    static const int names[3][3] = {{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
                                    {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC},
                                    {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS}};
    op->names[ARG_A] = names[pass][0];
    op->names[ARG_B] = names[pass][1];
    op->names[ARG_OUT] = names[pass][2];
    op->names[ARG_BIAS] = bias && pass == CONV_FORWARD ? DNNL_ARG_BIAS : 0;
    op->names[ARG_SCRATCH] = DNNL_ARG_SCRATCHPAD;
}

static bool conv_variant(const Onednn *lib, OnednnOp *op, Variant *variant, ConvPass pass, ConvDescs *d, bool bias,
                         bool relu, char name[64]) {
    char ignored[64];
    dnnl_primitive_desc_t hint = NULL;
    if (pass != CONV_FORWARD) {
        // The forward twin may have another filter layout: it is only asked about the geometry.
        ConvDescs open = *d;
        if (d->filter.format_kind != dnnl_format_kind_any)
            open.filter.format_kind = dnnl_format_kind_any;
        hint = conv_pass(lib, CONV_FORWARD, &open, false, false, NULL, ignored);
        if (!hint)
            return false;
    }
    dnnl_primitive_desc_t pd = conv_pass(lib, pass, d, bias, relu, hint, name);
    bool good = false;
    if (pd) {
        dnnl_query_t which = pass == CONV_FILTER ? dnnl_query_diff_weights_md : dnnl_query_weights_md;
        const dnnl_memory_desc_t *filter = lib->dnnl_primitive_desc_query_md(pd, which, 0);
        if (filter)
            d->filter = *filter;
        variant->desc[ARG_A] = pass == CONV_INPUT ? d->y : d->x;
        variant->desc[ARG_B] = pass == CONV_FILTER ? d->y : d->filter;
        variant->desc[ARG_OUT] = pass == CONV_FORWARD ? d->y : pass == CONV_INPUT ? d->x : d->filter;
        variant->desc[ARG_BIAS] = d->bias;
        good = filter && finish_variant(lib, op, variant, pd);
        lib->dnnl_primitive_desc_destroy(pd);
    }
    if (hint)
        lib->dnnl_primitive_desc_destroy(hint);
    return good;
}

// The scratch of an op: the library's own, then room for weights that it writes in its own layout.
static void sum_scratch(const Onednn *lib, OnednnOp *op) {
    op->work = round_up(op->work, 64);
    op->scratch = op->work + (op->reorders_out ? round_up(lib->dnnl_memory_desc_get_size(&op->own), 64) : 0);
}

// The library is C++ and throws where numbers are absurd, which no C caller survives: such shapes stay with the sibling.
static bool is_sane(const WindowShape *s) {
    enum { MOST_EXTENT = 1 << 24, MOST_STEP = 1 << 15 };
    const int64_t extents[] = {s->batch, s->in_h, s->in_w, s->in_c, s->out_h, s->out_w, s->out_c, s->groups};
    const int64_t steps[] = {s->filter_h, s->filter_w, s->stride_h, s->stride_w, s->dilation_h, s->dilation_w,
                             s->pad_top + 1, s->pad_left + 1};
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++)
        if (extents[i] <= 0 || extents[i] > MOST_EXTENT)
            return false;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i] <= 0 || steps[i] > MOST_STEP)
            return false;
    return true;
}

OnednnOp *onednn_conv(ConvPass pass, const WindowShape *shape, bool bias, bool relu, int threads) {
    const Onednn *lib = onednn_library();
    if (!lib || !is_sane(shape))
        return NULL;
    OnednnOp *op = calloc(1, sizeof *op);
    if (!op)
        return NULL;
    op->threads = lib->patched && threads > 1 ? threads : 1;
    conv_names(op, pass, bias);
    ConvDescs plain, own;
    char serial_name[64];
    bool good = conv_descs(lib, shape, false, &plain) && conv_descs(lib, shape, true, &own) &&
                lib->dnnl_stream_create(&op->stream, lib->engine, dnnl_stream_default_flags) == dnnl_success;
    // The variant for many threads chooses the layout of the weights; the other one follows.
    if (good && op->threads > 1) {
        OnednnScope scope = onednn_begin(op->threads, NULL);
        good = conv_variant(lib, op, &op->variant[1], pass, &own, bias, relu, op->name);
        onednn_end(scope);
    }
    if (good) {
        OnednnScope scope = onednn_begin(1, NULL);
        good = conv_variant(lib, op, &op->variant[0], pass, &own, bias, relu, op->threads > 1 ? serial_name : op->name);
        op->plain = plain.filter, op->own = own.filter;
        good = good && make_reorder(lib, op, pass == CONV_FILTER);
        onednn_end(scope);
    }
    if (!good) {
        onednn_free(op);
        return NULL;
    }
    sum_scratch(lib, op);
    return op;
}

// ---- matrix products ----

static bool matrix_desc(const Onednn *lib, int64_t batch, int64_t rows, int64_t columns, bool transposed,
                        dnnl_memory_desc_t *out) {
    int64_t down = transposed ? 1 : columns, across = transposed ? rows : 1;
    dnnl_dims_t one = {rows, columns}, one_steps = {down, across};
    dnnl_dims_t many = {batch, rows, columns}, many_steps = {rows * columns, down, across};
    bool single = batch == 1;
    return lib->dnnl_memory_desc_init_by_strides(out, single ? 2 : 3, single ? one : many, dnnl_f32,
                                                 single ? one_steps : many_steps) == dnnl_success;
}

static bool matmul_variant(const Onednn *lib, OnednnOp *op, Variant *variant, bool relu, dnnl_memory_desc_t desc[ARGS],
                           char name[64]) {
    dnnl_matmul_desc_t d;
    bool bias = op->names[ARG_BIAS] != 0;
    if (lib->dnnl_matmul_desc_init(&d, &desc[ARG_A], &desc[ARG_B], bias ? &desc[ARG_BIAS] : NULL, &desc[ARG_OUT]) !=
        dnnl_success)
        return false;
    dnnl_primitive_attr_t attr = make_attr(lib, relu);
    if (!attr)
        return false;
    dnnl_primitive_desc_t pd = choose(lib, &d, attr, NULL, name);
    lib->dnnl_primitive_attr_destroy(attr);
    if (!pd)
        return false;
    const dnnl_memory_desc_t *weights = lib->dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
    if (weights)
        desc[ARG_B] = *weights;
    memcpy(variant->desc, desc, sizeof variant->desc);
    bool good = weights && finish_variant(lib, op, variant, pd);
    lib->dnnl_primitive_desc_destroy(pd);
    return good;
}

OnednnOp *onednn_matmul(int64_t batch, int64_t m, int64_t n, int64_t k, bool ta, bool tb, bool bias, bool relu,
                        bool pack, int threads) {
    const Onednn *lib = onednn_library();
    if (!lib || batch <= 0 || m <= 0 || n <= 0 || k <= 0)
        return NULL;
    OnednnOp *op = calloc(1, sizeof *op);
    if (!op)
        return NULL;
    op->threads = lib->patched && threads > 1 ? threads : 1;
    op->names[ARG_A] = DNNL_ARG_SRC, op->names[ARG_B] = DNNL_ARG_WEIGHTS, op->names[ARG_OUT] = DNNL_ARG_DST;
    op->names[ARG_BIAS] = bias ? DNNL_ARG_BIAS : 0, op->names[ARG_SCRATCH] = DNNL_ARG_SCRATCHPAD;
    dnnl_memory_desc_t desc[ARGS];
    memset(desc, 0, sizeof desc);
    dnnl_dims_t row = {1, n}, rows = {1, 1, n};
    bool single = batch == 1;
    char serial_name[64];
    bool good = matrix_desc(lib, batch, m, k, ta, &desc[ARG_A]) && matrix_desc(lib, batch, k, n, tb, &desc[ARG_B]) &&
                matrix_desc(lib, batch, m, n, false, &desc[ARG_OUT]) &&
                lib->dnnl_memory_desc_init_by_tag(&desc[ARG_BIAS], single ? 2 : 3, single ? row : rows, dnnl_f32,
                                                  single ? dnnl_ab : dnnl_abc) == dnnl_success &&
                lib->dnnl_stream_create(&op->stream, lib->engine, dnnl_stream_default_flags) == dnnl_success;
    op->plain = desc[ARG_B];
    if (pack && batch == 1)
        good = good && lib->dnnl_memory_desc_init_by_tag(&desc[ARG_B], 2, desc[ARG_B].dims, dnnl_f32,
                                                         dnnl_format_tag_any) == dnnl_success;
    if (good && op->threads > 1) {
        OnednnScope scope = onednn_begin(op->threads, NULL);
        good = matmul_variant(lib, op, &op->variant[1], relu, desc, op->name);
        onednn_end(scope);
    }
    if (good) {
        OnednnScope scope = onednn_begin(1, NULL);
        good = matmul_variant(lib, op, &op->variant[0], relu, desc, op->threads > 1 ? serial_name : op->name);
        op->own = desc[ARG_B];
        good = good && make_reorder(lib, op, false);
        onednn_end(scope);
    }
    if (!good) {
        onednn_free(op);
        return NULL;  // NOLINT(clang-analyzer-unix.Malloc): onednn_free gave it back
    }
    sum_scratch(lib, op);
    return op;
}

// ---- running ----

size_t onednn_scratch(const OnednnOp *op) {
    return op->scratch;
}
const char *onednn_name(const OnednnOp *op) {
    return op->name;
}
size_t onednn_packed_bytes(const OnednnOp *op) {
    return op->reorders && !op->reorders_out ? onednn_library()->dnnl_memory_desc_get_size(&op->own) : 0;
}

static bool run_reorder(const Onednn *lib, const OnednnOp *op, const void *from, void *to) {
    dnnl_memory_t a = NULL, b = NULL;
    const dnnl_memory_desc_t *source = op->reorders_out ? &op->own : &op->plain;
    const dnnl_memory_desc_t *target = op->reorders_out ? &op->plain : &op->own;
    OnednnScope scope = onednn_begin(1, NULL);
    bool good = lib->dnnl_memory_create(&a, source, lib->engine, (void *)(uintptr_t)from) == dnnl_success &&
                lib->dnnl_memory_create(&b, target, lib->engine, to) == dnnl_success;
    if (good) {
        dnnl_exec_arg_t args[2] = {{DNNL_ARG_FROM, a}, {DNNL_ARG_TO, b}};
        good = lib->dnnl_primitive_execute(op->reorder, op->stream, 2, args) == dnnl_success &&
               lib->dnnl_stream_wait(op->stream) == dnnl_success;
    }
    onednn_end(scope);
    if (a)
        lib->dnnl_memory_destroy(a);
    if (b)
        lib->dnnl_memory_destroy(b);
    return good;
}

bool onednn_pack(const OnednnOp *op, const void *plain, void *packed) {
    return op->reorders && !op->reorders_out && run_reorder(onednn_library(), op, plain, packed);
}

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
    void *target = op->reorders_out ? work + op->work : out;
    void *data[ARGS] = {(void *)(uintptr_t)a, (void *)(uintptr_t)b, (void *)(uintptr_t)bias, target, work};
    Gang gang;
    int threads = op->threads > 1 ? gang_claim(&gang, op->threads) : 1;
    OnednnScope scope = onednn_begin(threads, threads > 1 ? &gang : NULL);
    bool good = execute(lib, op, &op->variant[threads > 1], data);
    onednn_end(scope);
    if (threads > 1)
        gang_release(&gang);
    return good && (!op->reorders_out || run_reorder(lib, op, target, out));
}
#endif
