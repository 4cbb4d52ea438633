// Slice, Reverse, Roll — parts of a tensor, and tensors turned around.
#include "ops/array/moving.h"

// ---------------------------------------- Slice

static Status *slice_shape(Shapes *s) {
    const Shape *in = &s->in[0];
    const Tensor *begin = s->value[1], *size = s->value[2];
    int64_t n = s->in[1].rank == 1 ? s->in[1].dims[0] : -1;
    if (n < 0)
        n = s->in[2].rank == 1 ? s->in[2].dims[0] : -1;
    if (n < 0)
        n = in->rank;
    if (n < 0)
        return OK;
    NEED(n <= MAX_RANK && (in->rank < 0 || in->rank == n), INVALID_ARGUMENT,
         "Expected begin and size arguments to be 1-D tensors of size %d, but got %lld", in->rank, (long long)n);
    NEED(!begin || tensor_count(begin) == n, INVALID_ARGUMENT, "begin has %lld elements, expected %lld",
         (long long)tensor_count(begin), (long long)n);
    NEED(!size || tensor_count(size) == n, INVALID_ARGUMENT, "size has %lld elements, expected %lld",
         (long long)tensor_count(size), (long long)n);
    Shape out = {.rank = (int32_t)n}, sizes = UNKNOWN_SHAPE;
    if (!size)
        TRY(shapes_input_shape(s, 2, &sizes));
    for (int i = 0; i < n; i++) {
        int64_t extent = in->rank < 0 ? -1 : in->dims[i], from = begin ? tensor_int(begin, i) : -1;
        int64_t many = size ? tensor_int(size, i) : sizes.rank == n && sizes.dims[i] >= 0 ? sizes.dims[i] : -2;
        NEED(!begin || (from >= 0 && (extent < 0 || from <= extent)), INVALID_ARGUMENT,
             "Expected begin[%d] in [0, %lld], but got %lld", i, (long long)extent, (long long)from);
        NEED(many >= -2 && (!size || many >= -1), INVALID_ARGUMENT, "Expected size[%d] >= -1, but got %lld", i,
             (long long)many);
        NEED(many < 0 || from < 0 || extent < 0 || many <= extent - from, INVALID_ARGUMENT,
             "Expected size[%d] in [0, %lld], but got %lld", i, (long long)(extent - from), (long long)many);
        out.dims[i] = many >= 0 ? many : many == -1 && from >= 0 && extent >= 0 ? extent - from : UNKNOWN_DIM;
    }
    TRY(shape_check(&out));
    s->out[0] = out;
    return OK;
}

static Status *slice_prepare(Prepare *p) {
    NEED_VALUE(p, 1);
    NEED_VALUE(p, 2);
    Move *move = p->own;
    int64_t begin[MAX_RANK], stride[MAX_RANK];
    for (int i = 0; i < p->in[0]->shape.rank; i++) {
        begin[i] = prepare_input_int(p, 1, i);
        stride[i] = 1;
    }
    copy_slice(&p->in[0]->shape, begin, stride, &p->out[0]->shape, moved_size(p->out[0]->dtype), &move->copy);
    move_ready(p, move, 0);
    return OK;
}

static Status *slice_partial(Shapes *s, Shape *value) {
    Shape whole;
    if (s->in[0].rank != 1 || !s->value[1] || !s->value[2])
        return OK;
    TRY(shapes_input_shape(s, 0, &whole));
    int64_t from = tensor_int(s->value[1], 0), many = tensor_int(s->value[2], 0);
    if (whole.rank < 0 || from < 0 || from > whole.rank || many > whole.rank - from)
        return OK;
    *value = (Shape){.rank = (int32_t)(many < 0 ? whole.rank - from : many)};
    for (int i = 0; i < value->rank; i++)
        value->dims[i] = whole.dims[from + i];
    return OK;
}

static void slice_grad(Formula *f) {  // zeros around dy
    Output begin = f->x[1], x = f->x[0], dy = f->dy[0];
    DType index = output_type(begin);
    Output behind = Sub(Sub(formula_shape(f, x, index), formula_shape(f, dy, index)), begin);
    f->dx[0] = Pad(dy, Pack(((Output[]){begin, behind}), 2, 1));
}

// ---------------------------------------- for devices that compile

// Where the begin isn't known the size must be, and the part has to lie inside.
static COLD Status *slice_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0);
    const Shape *size = hlo_out_shape(h, 0);
    NEED(shape_is_known(size), UNIMPLEMENTED, "the size is not known");
    if (hlo_known(h, 1)) {
        Shape begin = hlo_need_list(h, 1), end = begin;
        for (int i = 0; i < end.rank; i++)
            end.dims[i] += size->dims[i];
        return hlo_out(h, 0, hlo_slice(h, x, begin, end, NULL));
    }
    HloValue begin = hlo_in(h, 1), at[MAX_RANK];
    for (int i = 0; i < size->rank; i++) {
        at[i] = hlo_reshape(h, hlo_part(h, begin, 0, i, i + 1), SCALAR_SHAPE);
        hlo_check_range(h, at[i], x->shape.dims[i] - size->dims[i] + 1, "the slice is not inside of the input");
    }
    return hlo_out(h, 0, hlo_dynamic_slice(h, x, at, *size));
}

static COLD Status *reverse_hlo(Hlo *h) {
    const Tensor *dims;
    TRY(hlo_need(h, 1, &dims));
    uint32_t axes = 0;
    for (int64_t i = 0; i < tensor_count(dims) && i < MAX_RANK; i++)
        axes |= ((const bool *)dims->data)[i] ? BIT(i) : 0;
    return hlo_out(h, 0, hlo_reverse(h, hlo_in(h, 0), axes));
}

static COLD Status *reverse_v2_hlo(Hlo *h) {
    uint32_t axes = hlo_need_axes(h, 1, hlo_in_shape(h, 0)->rank);
    return hlo_out(h, 0, hlo_reverse(h, hlo_in(h, 0), axes));
}

const Op op_Slice = {
    .signature = "Slice(input: T, begin: Index, size: Index) -> output: T; T: type; Index: {int32, int64}",
    .doc = "The part that begins there and has that size; -1: all the rest.", .needs = "vector(begin), vector(size)",
    .shape = slice_shape, .partial = slice_partial, .grad = slice_grad, .prepare = slice_prepare,
    .own_size = sizeof(Move), .cpu = ANY_TYPE(move_run), .host = BIT(1) | BIT(2), .hlo = slice_hlo,
};

// ---------------------------------------- Reverse

#define REVERSIBLE \
    "{uint8, int8, uint16, int16, uint32, int32, uint64, int64, bool, floats, complexes, string}"

static Status *reverse_prepare(Prepare *p) {
    NEED_VALUE(p, 1);
    Move *move = p->own;
    const Shape *in = &p->in[0]->shape;
    NEED(tensor_count(p->in[1]) == in->rank, INVALID_ARGUMENT,
         "'dims' must have the same number of values as 'tensor' has dimensions, got %lld for %d",
         (long long)tensor_count(p->in[1]), in->rank);
    uint32_t axes = 0;
    for (int i = 0; i < in->rank; i++)
        axes |= ((const bool *)p->in[1]->data)[i] ? BIT(i) : 0;
    copy_reverse(in, axes, moved_size(p->out[0]->dtype), &move->copy);
    move_ready(p, move, 0);
    return OK;
}

static void reverse_grad(Formula *f) {
    f->dx[0] = formula_2(f, "Reverse", f->dy[0], f->x[1]);
}

const Op op_Reverse = {
    .signature = "Reverse(tensor: T, dims: bool) -> output: T; T: " REVERSIBLE,
    .doc = "The dimensions that are true run backwards.", .needs = "vector(dims)", .shape = shape_unchanged,
    .grad = reverse_grad, .prepare = reverse_prepare, .own_size = sizeof(Move), .cpu = ANY_TYPE(move_run),
    .host = BIT(1), .hlo = reverse_hlo,
};

static Status *reverse_v2_shape(Shapes *s) {
    uint32_t axes;
    if (s->value[1] && s->in[0].rank >= 0)
        TRY(axes_to_bits(s->value[1], s->in[0].rank, "axis", &axes));
    s->out[0] = s->in[0];
    return OK;
}

static Status *reverse_v2_prepare(Prepare *p) {
    NEED_VALUE(p, 1);
    Move *move = p->own;
    uint32_t axes;
    TRY(axes_to_bits(p->in[1], p->in[0]->shape.rank, "axis", &axes));
    copy_reverse(&p->in[0]->shape, axes, moved_size(p->out[0]->dtype), &move->copy);
    move_ready(p, move, 0);
    return OK;
}

static void reverse_v2_grad(Formula *f) {
    f->dx[0] = Reverse(f->dy[0], f->x[1]);
}

const Op op_ReverseV2 = {
    .signature = "ReverseV2(tensor: T, axis: Tidx) -> output: T; Tidx: {int32, int64} = int32; "
                 "T: {uint8, int8, uint16, int16, int32, uint32, int64, uint64, bool, floats, complexes, string}",
    .doc = "The dimensions that are named run backwards.", .needs = "vector(axis)", .shape = reverse_v2_shape,
    .grad = reverse_v2_grad, .prepare = reverse_v2_prepare, .own_size = sizeof(Move), .cpu = ANY_TYPE(move_run),
    .host = BIT(1), .hlo = reverse_v2_hlo,
};
