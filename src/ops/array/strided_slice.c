// StridedSlice — x[2:5, ..., ::-1, newaxis, 3]: a part of a tensor with strides, as Python writes it.
//
// The spec has one entry per position: a range, a single index (shrink_axis_mask), a new axis, or one ellipsis that
// stands for all dimensions that the others leave over. It becomes a range for each dimension of the input, and a list
// that says how the result's dimensions follow from those.
#include "ops/array/moving.h"

typedef struct {
    int rank;                                   // of the input
    int64_t begin[MAX_RANK], stride[MAX_RANK];  // of each dimension of the input
    Shape cut;                                  // what is taken, in the input's dimensions
    Shape out;                                  // the same with indexed dimensions gone and new ones put in
} Cut;

typedef struct {
    uint64_t begin, end, ellipsis, new_axis, shrink;
} Masks;

static Masks masks_of(const Node *node) {
    return (Masks){(uint64_t)node_int(node, "begin_mask"), (uint64_t)node_int(node, "end_mask"),
                   (uint64_t)node_int(node, "ellipsis_mask"), (uint64_t)node_int(node, "new_axis_mask"),
                   (uint64_t)node_int(node, "shrink_axis_mask")};
}

static bool has(uint64_t mask, int64_t i) {
    return i < 64 && (mask >> i & 1);
}

// A bound of a range, clamped as Python does: from the end where negative, and to what a walk of that direction may
// reach. Going backwards that is [-1, extent - 1], -1 being the place before the first element.
static int64_t bound(int64_t x, int64_t extent, int64_t stride, bool open, bool is_end) {
    int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? extent : extent - 1;
    if (open)
        return (stride > 0) == is_end ? high : low;
    x = x < 0 ? x + extent : x;
    return x < low ? low : x > high ? high : x;
}

typedef struct {
    const Tensor *begin, *end, *strides;  // NULL where not known
    Masks masks;
} Spec;

// One dimension of the input under entry i of the spec; extents and values may be unknown.
static Status *cut_dimension(const Spec *spec, int64_t i, int64_t extent, int d, Cut *cut) {
    bool shrinks = has(spec->masks.shrink, i), open_begin = has(spec->masks.begin, i),
        open_end = has(spec->masks.end, i);
    int64_t stride = spec->strides ? host_int(spec->strides, i) : 1;
    NEED(stride != 0, INVALID_ARGUMENT, "strides[%lld] must be non-zero", (long long)i);
    NEED(!shrinks || stride > 0, INVALID_ARGUMENT, "only stride 1 allowed on non-range indexing.");
    cut->stride[d] = stride;
    cut->cut.dims[d] = shrinks ? 1 : UNKNOWN_DIM;
    if (shrinks) {
        if (!spec->begin || extent < 0)
            return OK;
        int64_t at = host_int(spec->begin, i);
        cut->begin[d] = at < 0 ? at + extent : at;
        NEED(cut->begin[d] >= 0 && cut->begin[d] < extent, INVALID_ARGUMENT,
             "slice index %lld of dimension %d out of bounds.", (long long)at, d);
        return OK;
    }
    if (!spec->strides || extent < 0 || (!spec->begin && !open_begin) || (!spec->end && !open_end))
        return OK;
    int64_t from = bound(open_begin ? 0 : host_int(spec->begin, i), extent, stride, open_begin, false);
    int64_t to = bound(open_end ? 0 : host_int(spec->end, i), extent, stride, open_end, true);
    int64_t length = to - from;
    cut->begin[d] = from;
    cut->cut.dims[d] = length == 0 || (length < 0) != (stride < 0) ? 0 : length / stride + (length % stride != 0);
    return OK;
}

static Status *append(Shape *out, int64_t extent) {
    NEED(out->rank < MAX_RANK, INVALID_ARGUMENT, "a shape has at most %d dimensions", MAX_RANK);
    out->dims[out->rank++] = extent;
    return OK;
}

// `n` entries of the spec over an input of known rank.
static Status *cut_input(const Shape *in, const Spec *spec, int64_t n, Cut *cut) {
    NEED(n <= 32, INVALID_ARGUMENT, "a slice has at most 32 entries, got %lld", (long long)n);
    int64_t taken = 0, ellipses = 0;
    for (int64_t i = 0; i < n; i++) {
        ellipses += has(spec->masks.ellipsis, i);
        taken += !has(spec->masks.ellipsis, i) && !has(spec->masks.new_axis, i);
    }
    NEED(ellipses <= 1, INVALID_ARGUMENT, "Multiple ellipses in slice spec not allowed");
    NEED(taken <= in->rank, INVALID_ARGUMENT, "Index out of range using input dim %d; input has only %d dims", in->rank,
         in->rank);
    *cut = (Cut){.rank = in->rank, .cut = {.rank = in->rank}};
    int d = 0;
    // Without an ellipsis there is one at the end.
    for (int64_t i = 0; i <= n; i++) {
        if (i == n ? ellipses == 0 : has(spec->masks.ellipsis, i)) {
            for (int64_t all = in->rank - taken; all > 0; all--, d++) {
                cut->stride[d] = 1;
                cut->cut.dims[d] = in->dims[d];
                TRY(append(&cut->out, in->dims[d]));
            }
        } else if (i < n && has(spec->masks.new_axis, i)) {
            TRY(append(&cut->out, 1));
        } else if (i < n) {
            TRY(cut_dimension(spec, i, in->dims[d], d, cut));
            if (!has(spec->masks.shrink, i))
                TRY(append(&cut->out, cut->cut.dims[d]));
            d++;
        }
    }
    return OK;
}

// The number of entries, from whichever of the three tells; -1 where none does.
static Status *entries(const Shape *begin, const Shape *end, const Shape *strides, int64_t *out) {
    const Shape *all[] = {begin, end, strides};
    int64_t n = -1;
    for (int i = 0; i < 3; i++) {
        int64_t known = all[i]->rank == 1 ? all[i]->dims[0] : -1;
        NEED(known < 0 || n < 0 || known == n, INVALID_ARGUMENT,
             "Expected begin, end, and strides to be 1D equal size tensors, but got shapes %s, %s, and %s instead.",
             shape_text(begin), shape_text(end), shape_text(strides));
        n = known >= 0 ? known : n;
    }
    *out = n;
    return OK;
}

// ---------------------------------------- StridedSlice

static Status *cut_of(Shapes *s, const Shape *in, Cut *cut, bool *known) {
    int64_t n;
    TRY(entries(&s->in[1], &s->in[2], &s->in[3], &n));
    *known = n >= 0 && in->rank >= 0 && s->value[3];
    Spec spec = {s->value[1], s->value[2], s->value[3], masks_of(s->node)};
    return *known ? cut_input(in, &spec, n, cut) : OK;
}

static Status *strided_shape(Shapes *s) {
    Cut cut;
    bool known;
    TRY(cut_of(s, &s->in[0], &cut, &known));
    if (known)
        s->out[0] = cut.out;
    return OK;
}

// What a slice of shape(x) holds is known as far as x's shape is, so x[:2] as a target of Reshape has a static shape.
static Status *strided_partial(Shapes *s, Shape *value) {
    Shape whole;
    Cut cut;
    bool known;
    if (s->in[0].rank != 1 || !s->value[1] || !s->value[2] || !s->value[3])
        return OK;
    TRY(shapes_input_shape(s, 0, &whole));
    if (whole.rank < 0)
        return OK;
    Shape in = SHAPE(whole.rank);
    TRY(cut_of(s, &in, &cut, &known));
    if (!known || cut.out.rank > 1 || cut.cut.dims[0] < 0)
        return OK;
    *value = (Shape){.rank = (int32_t)cut.cut.dims[0]};
    for (int i = 0; i < value->rank; i++)
        value->dims[i] = whole.dims[cut.begin[0] + i * cut.stride[0]];
    return OK;
}

static Status *prepared_cut(Prepare *p, const Shape *in, Cut *cut) {
    NEED_VALUE(p, 1);
    NEED_VALUE(p, 2);
    NEED_VALUE(p, 3);
    Spec spec = {p->in[1], p->in[2], p->in[3], masks_of(p->node)};
    return cut_input(in, &spec, tensor_count(p->in[1]), cut);
}

static Status *strided_prepare(Prepare *p) {
    Move *move = p->own;
    Cut cut;
    TRY(prepared_cut(p, &p->in[0]->shape, &cut));
    copy_slice(&p->in[0]->shape, cut.begin, cut.stride, &cut.cut, moved_size(p->out[0]->dtype), &move->copy);
    move_ready(p, move, 0);
    return OK;
}

// dy goes back into zeros of x's shape: where a slice takes only a part, all else had no influence.
static void strided_grad(Formula *f) {
    DType index = output_type(f->x[1]) == DT_int64 ? DT_int64 : DT_int32;  // StridedSliceGrad takes no int16
    Output begin = Cast(f->x[1], index), end = Cast(f->x[2], index), strides = Cast(f->x[3], index);
    f->dx[0] = Like("StridedSliceGrad", formula_shape(f, f->x[0], index), begin, end, strides, f->dy[0]);
}

#define MASKS \
    "begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; new_axis_mask: int = 0; shrink_axis_mask: int = 0"

// ---------------------------------------- for devices that compile

static COLD Status *known_cut(Hlo *h, const Shape *in, Cut *cut) {
    const Tensor *begin, *end, *strides;
    TRY(hlo_need(h, 1, &begin));
    TRY(hlo_need(h, 2, &end));
    TRY(hlo_need(h, 3, &strides));
    Spec spec = {begin, end, strides, masks_of(h->node)};
    return cut_input(in, &spec, tensor_count(strides), cut);
}

// The same elements read forwards: where they begin, how far they are apart, and which dimensions then run backwards.
static COLD uint32_t forwards(const Cut *cut, Shape *begin, Shape *step) {
    uint32_t backwards = 0;
    *begin = *step = (Shape){.rank = cut->rank};
    for (int i = 0; i < cut->rank; i++) {
        int64_t n = cut->cut.dims[i], stride = cut->stride[i];
        begin->dims[i] = n == 0 ? 0 : stride < 0 ? cut->begin[i] + (n - 1) * stride : cut->begin[i];
        step->dims[i] = stride < 0 ? -stride : stride;
        backwards |= stride < 0 ? BIT(i) : 0;
    }
    return backwards;
}

static COLD Status *strided_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0);
    Cut cut;
    Shape begin, step, end;
    TRY(known_cut(h, &x->shape, &cut));
    uint32_t backwards = forwards(&cut, &begin, &step);
    end = begin;
    for (int i = 0; i < cut.rank; i++)
        end.dims[i] += cut.cut.dims[i] ? (cut.cut.dims[i] - 1) * step.dims[i] + 1 : 0;
    return hlo_out(h, 0, hlo_reshape(h, hlo_reverse(h, hlo_slice(h, x, begin, end, &step), backwards), cut.out));
}

// Zeros of that shape with the value in the cut's places.
static COLD HloValue placed(Hlo *h, HloValue value, const Cut *cut, const Shape *shape) {
    Shape low, interior, high = {.rank = cut->rank};
    value = hlo_reverse(h, hlo_reshape(h, value, cut->cut), forwards(cut, &low, &interior));
    for (int i = 0; i < cut->rank; i++) {
        int64_t n = cut->cut.dims[i];
        interior.dims[i] = n ? interior.dims[i] - 1 : 0;
        high.dims[i] = shape->dims[i] - low.dims[i] - (n ? n + (n - 1) * interior.dims[i] : 0);
    }
    return hlo_pad(h, value, NULL, low, high, &interior);
}

static COLD Status *strided_grad_hlo(Hlo *h) {
    Shape shape = hlo_need_list(h, 0);
    Cut cut;
    TRY(h->status);
    TRY(known_cut(h, &shape, &cut));
    return hlo_out(h, 0, placed(h, hlo_in(h, 4), &cut, &shape));
}

extern const Op op_TensorStridedSliceUpdate;

static COLD Status *slice_update_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0);
    Cut cut;
    TRY(h->status);
    TRY(known_cut(h, &x->shape, &cut));
    HloValue value = hlo_broadcast(h, hlo_in(h, 4), cut.out), there = hlo_fill(h, 1, DT_bool, cut.out);
    HloValue y = hlo_select(h, placed(h, there, &cut, &x->shape), placed(h, value, &cut, &x->shape), x);
    if (node_op(h->node) == &op_TensorStridedSliceUpdate)
        return hlo_out(h, 0, y);
    hlo_assign(h, 0, y);
    return h->n_out ? hlo_out_variable(h, 0, 0) : OK;
}

const Op op_StridedSlice = {
    .signature = "StridedSlice(input: T, begin: Index, end: Index, strides: Index) -> output: T; T: type; "
                 "Index: {int16, int32, int64}; " MASKS,
    .doc = "The part of a tensor that ranges with strides choose, as Python's x[1:9:2, ..., 3].",
    .needs = "vector(begin), vector(end), vector(strides)", .shape = strided_shape, .partial = strided_partial,
    .grad = strided_grad, .prepare = strided_prepare, .own_size = sizeof(Move), .cpu = ANY_TYPE(move_run),
    .host = BIT(1) | BIT(2) | BIT(3), .hlo = strided_hlo,
};

// ---------------------------------------- StridedSliceGrad

static Status *grad_shape(Shapes *s) {
    return shapes_input_shape(s, 0, &s->out[0]);
}

static Status *grad_move(Kernel *k, const void *const *in, void *const *out) {
    const Move *move = k->own;
    memset(out[0], 0, (size_t)tensor_count(k->out[0]) * moved_size(k->out[0]->dtype));
    move_parallel(k, move, in[4], out[0]);
    return OK;
}

static Status *grad_run(Kernel *k) {
    return move_elements(k, grad_move);
}

static Status *grad_prepare(Prepare *p) {
    NEED_VALUE(p, 0);
    Move *move = p->own;
    const Shape *whole = &p->out[0]->shape, *dy = &p->in[4]->shape;
    Cut cut;
    TRY(prepared_cut(p, whole, &cut));
    NEED(shape_equal(&cut.out, dy), INVALID_ARGUMENT, "shape of dy was %s instead of %s", shape_text(dy),
         shape_text(&cut.out));
    copy_into_slice(whole, cut.begin, cut.stride, &cut.cut, moved_size(p->out[0]->dtype), &move->copy);
    move_ready(p, move, 4);
    return OK;
}

static void grad_grad(Formula *f) {
    f->dx[4] = Like("StridedSlice", f->dy[0], f->x[1], f->x[2], f->x[3]);
}

const Op op_StridedSliceGrad = {
    .signature =
        "StridedSliceGrad(shape: Index, begin: Index, end: Index, strides: Index, dy: T) -> output: T; T: type; "
                 "Index: {int32, int64}; " MASKS,
    .doc = "Zeros of that shape with dy where StridedSlice would have read.",
    .needs = "vector(shape), each(shape) >= 0, vector(begin), vector(end), vector(strides)", .shape = grad_shape,
    .grad = grad_grad, .prepare = grad_prepare, .own_size = sizeof(Move), .cpu = ANY_TYPE(grad_run),
    .host = BIT(0) | BIT(1) | BIT(2) | BIT(3), .hlo = strided_grad_hlo,
};

// ---------------------------------------- StridedSliceAssign, of a variable

static Status *assign_shape(Shapes *s) {
    if (s->n_out)
        s->out[0] = s->in[0];
    return OK;
}

static Status *assign_prepare(Prepare *p) {
    Move *move = p->own;
    const Shape *whole = &p->in[0]->shape, *value = &p->in[4]->shape;
    Cut cut;
    TRY(prepared_cut(p, whole, &cut));
    NEED(!node_op(p->node)->update || dtype_is_plain(p->in[4]->dtype), UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(p->in[4]->dtype));
    NEED(shape_equal(&cut.out, value), INVALID_ARGUMENT, "shape of value was %s instead of %s", shape_text(value),
         shape_text(&cut.out));
    copy_into_slice(whole, cut.begin, cut.stride, &cut.cut, moved_size(p->in[4]->dtype), &move->copy);
    move_ready(p, move, 4);
    return OK;
}

static Status *assign_run(Kernel *k) {
    move_parallel(k, k->own, k->in[4]->data, k->in[0]->data);
    return OK;
}

static Status *update_move(Kernel *k, const void *const *in, void *const *out) {
    if (in[0] != out[0])
        memcpy(out[0], in[0], (size_t)tensor_count(k->out[0]) * moved_size(k->out[0]->dtype));
    move_parallel(k, k->own, in[4], out[0]);
    return OK;
}

static Status *slice_update_run(Kernel *k) {
    return move_elements(k, update_move);
}

static void slice_update_grad(Formula *f) {
    Output dy = f->dy[0], begin = f->x[1], end = f->x[2], strides = f->x[3];
    f->dx[0] = Like("TensorStridedSliceUpdate", dy, begin, end, strides, ZerosLike(f->x[4]));
    f->dx[4] = Like("StridedSlice", dy, begin, end, strides);
}

const Op op_TensorStridedSliceUpdate = {
    .signature = "TensorStridedSliceUpdate(input: T, begin: Index, end: Index, strides: Index, value: T) -> output: T; "
                 "T: type; Index: {int32, int64}; " MASKS,
    .doc = "The tensor with the part that ranges with strides choose replaced.",
    .needs = "vector(begin), vector(end), vector(strides)", .shape = shape_unchanged, .prepare = assign_prepare,
    .own_size = sizeof(Move), .cpu = ANY_TYPE(slice_update_run), .grad = slice_update_grad,
    .host = BIT(1) | BIT(2) | BIT(3), .inplace = BIT(0), .hlo = slice_update_hlo,
};

#define ASSIGN_INPUTS "begin: Index, end: Index, strides: Index, value: T)"
#define ASSIGN_FIELDS                                                                                              \
    .doc = "Writes the part of a variable that ranges with strides choose.",                                       \
    .needs = "vector(begin), vector(end), vector(strides)", .shape = assign_shape, .prepare = assign_prepare,       \
    .own_size = sizeof(Move), .cpu = ANY_TYPE(assign_run), .host = BIT(1) | BIT(2) | BIT(3), .update = BIT(0)
const Op op_StridedSliceAssign = {
    .signature =
        "StridedSliceAssign(ref: ref T, " ASSIGN_INPUTS " -> output_ref: ref T; T: type; Index: {int32, int64}; "
                 MASKS,
    ASSIGN_FIELDS, .alias = BIT(0), .flags = OP_STATEFUL | OP_NO_GRADIENT, .hlo = slice_update_hlo,
};
const Op op_ResourceStridedSliceAssign = {
    .signature = "ResourceStridedSliceAssign(ref: resource, " ASSIGN_INPUTS "; T: type; Index: {int32, int64}; " MASKS
                 "; stateful",
    ASSIGN_FIELDS, .flags = OP_NO_GRADIENT, .hlo = slice_update_hlo,
};
