// ExtractImagePatches — windows of pictures, each as the depth of one pixel.
#include "ops/op.h"

typedef struct {
    int64_t batch, in_h, in_w, out_h, out_w, rows, columns;    // rows, columns: of a window
    int64_t step[2], rate[2], before[2];                       // down and across; `before` is padding
    size_t pixel;                                              // bytes
} Patches;

static Status *read_pair(const Node *node, const char *name, int64_t out[2]) {
    const AttrValue *list = node_attr_find(node, name);
    NEED(list && list->n == 4, INVALID_ARGUMENT, "%s must have 4 elements", name);
    NEED(list->is[0] == 1 && list->is[3] == 1, UNIMPLEMENTED, "%s must be 1 in the batch and depth dimensions", name);
    for (int i = 0; i < 2; i++) {
        out[i] = list->is[i + 1];
        NEED(out[i] > 0 && out[i] <= INT32_MAX, OUT_OF_RANGE, "%s must be positive, got %lld", name, (long long)out[i]);
    }
    return OK;
}

// Windows along one dimension, and what stands before the first.
static Status *windows(bool same, int64_t in, int64_t size, int64_t step, int64_t rate, int64_t *out, int64_t *before) {
    int64_t reach;
    NEED(mul_i64(size - 1, rate, &reach) && add_i64(reach, 1, &reach), INVALID_ARGUMENT, "windows are too large");
    *before = 0;
    if (in < 0) {
        *out = UNKNOWN_DIM;
        return OK;
    }
    *out = same ? div_up(in, step) : in < reach ? 0 : (in - reach) / max_i64(step, 1) + 1;
    if (same)
        *before = max_i64(0, (*out - 1) * step + reach - in) / 2;
    return OK;
}

static Status *patches_shape(Shapes *s) {
    const Shape *in = &s->in[0];
    int64_t size[2], step[2], rate[2], before, out[2], depth = UNKNOWN_DIM;
    NEED(in->rank < 0 || in->rank == 4, INVALID_ARGUMENT, "images must be 4-D, got %s", shape_text(in));
    TRY(read_pair(s->node, "ksizes", size));
    TRY(read_pair(s->node, "strides", step));
    TRY(read_pair(s->node, "rates", rate));
    bool same = str_is(node_str(s->node, "padding"), "SAME");
    for (int i = 0; i < 2; i++)
        TRY(windows(same, in->rank < 0 ? UNKNOWN_DIM : in->dims[i + 1], size[i], step[i], rate[i], &out[i], &before));
    if (in->rank == 4 && in->dims[3] >= 0)
        NEED(mul_i64(in->dims[3], size[0], &depth) && mul_i64(depth, size[1], &depth), INVALID_ARGUMENT,
             "windows are too large");
    s->out[0] = SHAPE(in->rank < 0 ? UNKNOWN_DIM : in->dims[0], out[0], out[1], depth);
    return shape_is_known(&s->out[0]) ? shape_check(&s->out[0]) : OK;
}

static Status *patches_prepare(Prepare *p) {
    Patches *own = p->own;
    const Shape *in = &p->in[0]->shape, *out = &p->out[0]->shape;
    int64_t size[2], unused;
    TRY(read_pair(p->node, "ksizes", size));
    TRY(read_pair(p->node, "strides", own->step));
    TRY(read_pair(p->node, "rates", own->rate));
    bool same = str_is(node_str(p->node, "padding"), "SAME");
    for (int i = 0; i < 2; i++)
        TRY(windows(same, in->dims[i + 1], size[i], own->step[i], own->rate[i], &unused, &own->before[i]));
    own->batch = in->dims[0];
    own->in_h = in->dims[1];
    own->in_w = in->dims[2];
    own->out_h = out->dims[1];
    own->out_w = out->dims[2];
    own->rows = size[0];
    own->columns = size[1];
    own->pixel = (size_t)in->dims[3] * dtype_size(p->in[0]->dtype);
    p->cost = kernel_cost(0, 0, shape_count(out) * (int64_t)dtype_size(p->in[0]->dtype));
    return OK;
}

// A row of a window: pixels at `rate`, zeros outside.
static void copy_row(const Patches *own, const char *row, int64_t left, char *out) {
    bool inside = left >= 0 && left + (own->columns - 1) * own->rate[1] < own->in_w;
    if (inside && own->rate[1] == 1) {
        memcpy(out, row + (size_t)left * own->pixel, (size_t)own->columns * own->pixel);
        return;
    }
    for (int64_t j = 0; j < own->columns; j++, out += own->pixel) {
        int64_t x = left + j * own->rate[1];
        if (x >= 0 && x < own->in_w)
            memcpy(out, row + (size_t)x * own->pixel, own->pixel);
        else
            memset(out, 0, own->pixel);
    }
}

static void patch_rows(void *arg, int64_t first, int64_t last) {
    const Kernel *k = arg;
    const Patches *own = k->own;
    size_t window_row = (size_t)own->columns * own->pixel;
    char *out = (char *)k->out[0]->data + (size_t)(first * own->out_w * own->rows) * window_row;
    for (int64_t at = first; at < last; at++) {
        int64_t n = at / own->out_h, top = at % own->out_h * own->step[0] - own->before[0];
        for (int64_t x = 0; x < own->out_w; x++)
            for (int64_t i = 0; i < own->rows; i++, out += window_row) {
                int64_t y = top + i * own->rate[0];
                const char *row = (const char *)k->in[0]->data + (size_t)((n * own->in_h + y) * own->in_w) * own->pixel;
                if (y >= 0 && y < own->in_h)
                    copy_row(own, row, x * own->step[1] - own->before[1], out);
                else
                    memset(out, 0, window_row);
            }
    }
}

static Status *patches_run(Kernel *k) {
    const Patches *own = k->own;
    if (tensor_count(k->out[0]))
        kernel_parallel(k, own->batch * own->out_h,
                        max_i64(1, own->out_w * own->rows * own->columns * (int64_t)own->pixel / 8), patch_rows, k);
    return OK;
}

// Where each element came from is found by taking the patches of a picture of numbers: 1, 2, 3 ..., and 0 outside. What came
// from one place is added up there.
static void patches_grad(Formula *f) {
    Output shape = ShapeOf(f->x[0]);
    Output size = Slice(shape, Ints(1), Ints(2)), depth = Slice(shape, Ints(3), Ints(1));
    Output pixels = Prod(size, Int(0), false), one = Ints(1), batch = Slice(shape, Ints(0), Ints(1));
    Output numbers = Range(Int(1), Add(pixels, Int(1)), Int(1));
    Output picture = Reshape(numbers, Concat(((Output[]){one, size, one}), 3, Int(0)));
    Output from = Reshape(Like("ExtractImagePatches", picture), Ints(-1));
    Output parts[] = {batch, Ints(-1), depth};
    Output rows = Transpose(Reshape(f->dy[0], Concat(parts, 3, Int(0))), Ints(1, 0, 2));
    Output sums = UnsortedSegmentSum(rows, from, Add(pixels, Int(1)));
    sums = Slice(sums, Ints(1, 0, 0), Ints(-1, -1, -1));
    f->dx[0] = Reshape(Transpose(sums, Ints(1, 0, 2)), shape);
}

const Op op_ExtractImagePatches = {
    .signature = "ExtractImagePatches(images: T) -> patches: T; ksizes: list(int) >= 4; strides: list(int) >= 4; rates: "
                 "list(int) >= 4; T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, "
                 "uint64, complex64, complex128, bool}; padding: {\"SAME\", \"VALID\"}",
    .doc = "Windows of pictures, each as the depth of one pixel.", .needs = "rank(images) == 4", .shape = patches_shape,
    .grad = patches_grad, .prepare = patches_prepare, .own_size = sizeof(Patches), .cpu = ANY_TYPE(patches_run),
    .same_rows = 1,
};
