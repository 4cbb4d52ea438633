// Pad, PadV2, MirrorPad, MirrorPadGrad — a tensor with more around it.
//
// Copies go by rows of the innermost dimension (loops/rows.c): where a row comes from is found once for all its
// elements. The gradient of a mirror adds several elements of dy to one of dx, so it walks dy in order on one thread:
// the order of the sums, and with it their bits, is the same for any number of threads.
#define SELF "ops/array/pad.c"
#include "ops/array/moving.h"
#include "ops/array/pad.h"

#ifdef T  // ---------------------------------------- MirrorPadGrad, once per dtype
// Every element of the padded input is added to the element that it mirrors.
static Status *FN(fold_back)(Kernel *k) {
    const Padding *own = k->own;
    const Tensor *in = k->in[0], *out = k->out[0];
    const T *x = in->data;
    T *y = out->data;
    memset(y, 0, tensor_bytes(out));
    int64_t n = tensor_count(in), rank = in->shape.rank;
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, at = 0, step = 1;
        for (int64_t d = rank - 1; d >= 0; d--) {
            int64_t extent = out->shape.dims[d], place = rest % in->shape.dims[d] - own->before[d];
            int64_t edge = own->mode == PAD_REFLECT ? 0 : 1;
            rest /= in->shape.dims[d];
            place = place < 0 ? -place - edge : place >= extent ? 2 * extent - 2 + edge - place : place;
            at += place * step;
            step *= extent;
        }
#ifdef IS_INTEGER
        y[at] = (T)((uint64_t)y[at] + (uint64_t)x[i]);  // wraps
#else
        y[at] = STORE(LOAD(y[at]) + LOAD(x[i]));
#endif
    }
    return OK;
}
#else     // ---------------------------------------- shapes and schema
typedef struct {
    PadMode mode;
    int64_t before[MAX_RANK], after[MAX_RANK];
    int64_t rows, cost;   // cost: ns
    size_t size;
} Padding;

#define EACH_NUMBER
#include "ops/each_dtype.h"

Status *padded_shape(const Shape *in, const Shape *paddings, const Tensor *value, int sign, Shape *out_shape) {
    int64_t n = paddings->rank == 2 ? paddings->dims[0] : -1;
    NEED(paddings->rank < 0 || paddings->dims[1] < 0 || paddings->dims[1] == 2, INVALID_ARGUMENT,
         "paddings must be a matrix with 2 columns: %s", shape_text(paddings));
    NEED(in->rank < 0 || n < 0 || n == in->rank, INVALID_ARGUMENT,
         "The first dimension of paddings must be the rank of inputs: %s for an input of shape %s",
         shape_text(paddings), shape_text(in));
    int64_t rank = in->rank >= 0 ? in->rank : n;
    *out_shape = UNKNOWN_SHAPE;
    if (rank < 0)
        return OK;
    NEED(rank <= MAX_RANK, INVALID_ARGUMENT, "a shape has at most %d dimensions", MAX_RANK);
    Shape out = {.rank = (int32_t)rank};
    for (int i = 0; i < rank; i++) {
        out.dims[i] = UNKNOWN_DIM;
        if (!value)
            continue;
        int64_t before = tensor_int(value, 2 * i), after = tensor_int(value, 2 * i + 1), both;
        NEED(before >= 0 && after >= 0, INVALID_ARGUMENT, "Paddings must be non-negative: %lld %lld", (long long)before,
             (long long)after);
        NEED(add_i64(before, after, &both), INVALID_ARGUMENT, "paddings are too large");
        if (in->rank >= 0 && in->dims[i] >= 0)
            NEED(add_i64(in->dims[i], sign * both, &out.dims[i]) && out.dims[i] >= 0, INVALID_ARGUMENT,
                 "paddings of %lld and %lld don't fit an extent of %lld", (long long)before, (long long)after,
                 (long long)in->dims[i]);
    }
    TRY(shape_check(&out));
    *out_shape = out;
    return OK;
}

static Status *pad_shape(Shapes *s) {
    return padded_shape(&s->in[0], &s->in[1], s->value[1], 1, &s->out[0]);
}

static Status *unpad_shape(Shapes *s) {
    TRY(padded_shape(&s->in[0], &s->in[1], s->value[1], -1, &s->out[0]));
    return s->value[1] ? OK : padded_shape(&UNKNOWN_SHAPE, &s->in[1], NULL, -1, &s->out[0]);
}

typedef struct {
    Kernel *k;
    const void *in, *value;
    void *out;
} Work;

static void pad_range(void *arg, int64_t first, int64_t last) {
    const Work *w = arg;
    const Padding *own = w->k->own;
    pad_run(own->mode, &w->k->in[0]->shape, own->before, own->after, w->value, own->size, w->in, w->out, first, last);
}

static Status *pad_move(Kernel *k, const void *const *in, void *const *out) {
    const Padding *own = k->own;
    static const uint64_t zero[4] = {0};
    Work w = {k, in[0], k->n_in > 2 ? in[2] : zero, out[0]};
    if (own->rows)
        kernel_share(k, own->rows, own->cost, pad_range, &w);
    return OK;
}

static Status *pad_kernel(Kernel *k) {
    return move_elements(k, pad_move);
}

static Status *padding_of(Prepare *p, const Shape *inner) {
    NEED_VALUE(p, 1);
    Padding *own = p->own;
    for (int i = 0; i < inner->rank; i++) {
        own->before[i] = prepare_input_int(p, 1, 2 * i);
        own->after[i] = prepare_input_int(p, 1, 2 * i + 1);
    }
    own->size = moved_size(p->out[0]->dtype);
    own->rows = pad_rows(inner, own->before, own->after);
    p->cost = own->cost = kernel_cost(own->rows, 10000, 2 * shape_count(&p->out[0]->shape) * (int64_t)own->size);
    return OK;
}

static Status *pad_prepare(Prepare *p) {
    ((Padding *)p->own)->mode = PAD_CONSTANT;
    return padding_of(p, &p->in[0]->shape);
}

// How far a mirror reaches.
static Status *mirror_check(Prepare *p, const Shape *inner) {
    Padding *own = p->own;
    own->mode = str_is(node_str(p->node, "mode"), "REFLECT") ? PAD_REFLECT : PAD_SYMMETRIC;
    TRY(padding_of(p, inner));
    for (int i = 0; i < inner->rank; i++) {
        int64_t most = inner->dims[i] - (own->mode == PAD_REFLECT);
        NEED(own->before[i] <= most && own->after[i] <= most, INVALID_ARGUMENT,
             "paddings must be no greater than the dimension size%s: %lld, %lld greater than %lld",
             own->mode == PAD_REFLECT ? " less one" : "", (long long)own->before[i], (long long)own->after[i],
             (long long)most);
    }
    return OK;
}

static Status *mirror_prepare(Prepare *p) {
    return mirror_check(p, &p->in[0]->shape);
}

static Status *mirror_grad_prepare(Prepare *p) {
    return mirror_check(p, &p->out[0]->shape);
}

static void pad_grad(Formula *f) {  // the part of dy that is x
    Output paddings = f->x[1], x = f->x[0];
    Output rank = Rank(x);
    Output column = Slice(paddings, Cast(Ints(0, 0), output_type(paddings)),
                          Cast(Pack(((Output[]){rank, Int(1)}), 2, 0), output_type(paddings)));
    f->dx[0] = Slice(f->dy[0], Reshape(column, Ints(-1)), formula_shape(f, x, output_type(paddings)));
}

static void mirror_grad(Formula *f) {
    f->dx[0] = Like("MirrorPadGrad", f->dy[0], f->x[1]);
}
static void mirror_grad_grad(Formula *f) {
    f->dx[0] = Like("MirrorPad", f->dy[0], f->x[1]);
}

// ---------------------------------------- for devices that compile

static COLD Status *known_paddings(Hlo *h, Shape *low, Shape *high) {
    const Tensor *paddings;
    TRY(hlo_need(h, 1, &paddings));
    *low = *high = (Shape){.rank = hlo_in_shape(h, 0)->rank};
    for (int i = 0; i < low->rank; i++) {
        low->dims[i] = host_int(paddings, 2 * i);
        high->dims[i] = host_int(paddings, 2 * i + 1);
    }
    return OK;
}

static COLD Status *pad_hlo(Hlo *h) {
    Shape low, high;
    TRY(known_paddings(h, &low, &high));
    HloValue value = h->n_in > 2 ? hlo_in(h, 2) : hlo_number(h, 0, hlo_out_type(h, 0));
    return hlo_out(h, 0, hlo_pad(h, hlo_in(h, 0), value, low, high, NULL));
}

// REFLECT leaves the edge out of the image, SYMMETRIC repeats it.
static COLD Status *mirror_hlo(Hlo *h) {
    Shape low, high;
    TRY(known_paddings(h, &low, &high));
    int64_t edge = str_is(node_str(h->node, "mode"), "REFLECT");
    HloValue x = hlo_in(h, 0);
    for (int i = 0; i < low.rank; i++) {
        int64_t n = x->shape.dims[i];
        HloValue parts[3];
        int count = 0;
        if (low.dims[i])
            parts[count++] = hlo_reverse(h, hlo_part(h, x, i, edge, edge + low.dims[i]), BIT(i));
        parts[count++] = x;
        if (high.dims[i])
            parts[count++] = hlo_reverse(h, hlo_part(h, x, i, n - edge - high.dims[i], n - edge), BIT(i));
        x = hlo_concat(h, parts, count, i);
    }
    return hlo_out(h, 0, x);
}

// What went into the image comes back, from the last dimension to the first.
static COLD Status *mirror_grad_hlo(Hlo *h) {
    Shape low, high;
    TRY(known_paddings(h, &low, &high));
    int64_t edge = str_is(node_str(h->node, "mode"), "REFLECT");
    HloValue dy = hlo_in(h, 0);
    for (int i = 0; i < low.rank; i++) {
        int64_t wide = dy->shape.dims[i], n = wide - low.dims[i] - high.dims[i];
        Shape before = {.rank = low.rank}, after = before;
        HloValue dx = hlo_part(h, dy, i, low.dims[i], low.dims[i] + n);
        if (low.dims[i]) {
            before.dims[i] = edge;
            after.dims[i] = n - edge - low.dims[i];
            HloValue part = hlo_reverse(h, hlo_part(h, dy, i, 0, low.dims[i]), BIT(i));
            dx = hlo_add(h, dx, hlo_pad(h, part, NULL, before, after, NULL));
        }
        if (high.dims[i]) {
            after.dims[i] = edge;
            before.dims[i] = n - edge - high.dims[i];
            HloValue part = hlo_reverse(h, hlo_part(h, dy, i, wide - high.dims[i], wide), BIT(i));
            dx = hlo_add(h, dx, hlo_pad(h, part, NULL, before, after, NULL));
        }
        dy = dx;
    }
    return hlo_out(h, 0, dy);
}

const Op op_Pad = {
    .signature = "Pad(input: T, paddings: Tpaddings) -> output: T; T: type; Tpaddings: {int32, int64} = int32",
    .doc = "The input with zeros around it; strings are empty.", .needs = "matrix(paddings)", .shape = pad_shape,
    .grad = pad_grad, .prepare = pad_prepare, .own_size = sizeof(Padding), .cpu = ANY_TYPE(pad_kernel), .host = BIT(1),
    .hlo = pad_hlo,
};
const Op op_PadV2 = {
    .signature = "PadV2(input: T, paddings: Tpaddings, constant_values: T) -> output: T; T: type; "
                 "Tpaddings: {int32, int64} = int32",
    .doc = "The input with a given value around it.", .needs = "matrix(paddings), scalar(constant_values)",
    .shape = pad_shape, .grad = pad_grad, .prepare = pad_prepare, .own_size = sizeof(Padding),
    .cpu = ANY_TYPE(pad_kernel), .host = BIT(1), .hlo = pad_hlo,
};
#define MIRROR_ATTRIBUTES \
    "(input: T, paddings: Tpaddings) -> output: T; T: type; Tpaddings: {int32, int64} = int32; " \
    "mode: {\"REFLECT\", \"SYMMETRIC\"}"
const Op op_MirrorPad = {
    .signature = "MirrorPad" MIRROR_ATTRIBUTES, .doc = "The input with its mirror image around it.",
    .needs = "matrix(paddings)", .shape = pad_shape, .grad = mirror_grad, .prepare = mirror_prepare,
    .own_size = sizeof(Padding), .cpu = ANY_TYPE(pad_kernel), .host = BIT(1), .hlo = mirror_hlo,
};
const Op op_MirrorPadGrad = {
    .signature = "MirrorPadGrad" MIRROR_ATTRIBUTES, .doc = "Gradient of MirrorPad: the mirror images folded back.",
    .needs = "matrix(paddings)", .shape = unpad_shape, .grad = mirror_grad_grad, .prepare = mirror_grad_prepare,
    .own_size = sizeof(Padding), .cpu = KERNELS(NUMBERS, fold_back), .host = BIT(1), .hlo = mirror_grad_hlo,
};
#endif
