// Concat, Pack, Split, Unpack — tensors joined along a dimension, and cut again.
//
// All of them move rows of bytes of several tensors that lie side by side, a row being what follows the axis; so no
// kernel looks at an element's type. Along the last dimension of narrow tensors rows are short and many: loops/rows.c
// copies those of 4, 8 and 16 bytes without a call.
#include "ops/array/moving.h"

// The inputs (outputs) as rows: those of the dimensions before the axis, each `bytes[i]` long.
typedef struct {
    int64_t rows, cost;   // ns for all
    size_t *bytes;
    int first, n;         // which inputs
} Rows;

typedef struct {
    const Rows *rows;
    const void *const *many_in;
    void *const *many_out;
    const void *in;
    void *out;
} Work;

static void concat_range(void *arg, int64_t first, int64_t last) {
    const Work *w = arg;
    concat_run(w->many_in, w->rows->bytes, w->rows->n, w->out, first, last);
}

static Status *concat_move(Kernel *k, const void *const *in, void *const *out) {
    const Rows *rows = k->own;
    Work w = {.rows = rows, .many_in = in + rows->first, .out = out[0]};
    if (rows->rows)
        kernel_share(k, rows->rows, rows->cost, concat_range, &w);
    return OK;
}

static Status *join_run(Kernel *k) {
    return move_elements(k, concat_move);
}

static void split_range(void *arg, int64_t first, int64_t last) {
    const Work *w = arg;
    split_run(w->in, w->many_out, w->rows->bytes, w->rows->n, first, last);
}

static Status *split_move(Kernel *k, const void *const *in, void *const *out) {
    const Rows *rows = k->own;
    Work w = {.rows = rows, .in = in[rows->first], .many_out = out};
    if (rows->rows)
        kernel_share(k, rows->rows, rows->cost, split_range, &w);
    return OK;
}

static Status *cut_run(Kernel *k) {
    return move_elements(k, split_move);
}

// Of n tensors that lie side by side from dimension `axis` on.
static Status *prepare_rows(Prepare *p, const Tensor *const *parts, int n, int axis) {
    Rows *rows = p->own;
    rows->n = n;
    rows->bytes = ARENA_ARRAY(p->arena, size_t, n);
    NEED_MEMORY(rows->bytes);
    rows->rows = n ? shape_span(&parts[0]->shape, 0, axis) : 0;
    size_t all = 0;
    for (int i = 0; i < n; i++) {
        rows->bytes[i] = (size_t)shape_span(&parts[i]->shape, axis, parts[i]->shape.rank) * moved_size(parts[i]->dtype);
        all += rows->bytes[i];
    }
    // 4 ns for each piece of a row, whatever its length, and the bytes both read and written.
    p->cost = rows->cost = kernel_cost(rows->rows * n, 4000, 2 * rows->rows * (int64_t)all);
    return OK;
}

// ---------------------------------------- Concat

// `first`: where the values begin among the inputs; the axis is the input before or behind them.
static Status *join_shape(Shapes *s, int first, int axis_input) {
    int n = s->n_in - 1, axis = -1;
    Shape out = UNKNOWN_SHAPE;
    const Tensor *value = s->value[axis_input];
    for (int i = first; i < first + n; i++) {
        const Shape *in = &s->in[i];
        if (in->rank < 0)
            continue;
        NEED(in->rank > 0, INVALID_ARGUMENT, "Can't concatenate scalars (use tf.stack instead)");
        NEED(out.rank < 0 || out.rank == in->rank, INVALID_ARGUMENT,
             "Dimensions of inputs should match: shape[0] = %s vs. shape[%d] = %s", shape_text(&out), i - first,
             shape_text(in));
        out.rank = in->rank;
    }
    if (out.rank < 0)
        return OK;
    if (value && tensor_count(value) == 1) {
        int64_t asked = tensor_int(value, 0);
        NEED(asked >= -out.rank && asked < out.rank, INVALID_ARGUMENT,
             "ConcatOp : Expected concatenating dimensions in the range [%d, %d), but got %lld", -out.rank, out.rank,
             (long long)asked);
        TRY(shape_axis(asked, out.rank, &axis));
    }
    for (int d = 0; d < out.rank; d++) {
        int64_t extent = d == axis ? 0 : UNKNOWN_DIM;
        for (int i = first; i < first + n && (axis >= 0 || n == 1); i++) {
            int64_t of_input = s->in[i].rank < 0 ? UNKNOWN_DIM : s->in[i].dims[d];
            if (d == axis) {
                bool known = extent >= 0 && of_input >= 0;
                NEED(!known || add_i64(extent, of_input, &extent), INVALID_ARGUMENT, "too many elements");
                extent = known ? extent : UNKNOWN_DIM;
            } else if (of_input >= 0) {
                NEED(extent < 0 || extent == of_input, INVALID_ARGUMENT,
                     "ConcatOp : Dimension %d in both shapes must be equal: shape[0] = %s vs. shape[%d] = %s", d,
                     shape_text(&s->in[first]), i - first, shape_text(&s->in[i]));
                extent = of_input;
            }
        }
        out.dims[d] = extent;
    }
    TRY(shape_check(&out));
    s->out[0] = out;
    return OK;
}

static Status *join_prepare(Prepare *p, int first, int axis_input) {
    NEED_VALUE(p, axis_input);
    int axis;
    TRY(shape_axis(prepare_input_int(p, axis_input, 0), p->out[0]->shape.rank, &axis));
    ((Rows *)p->own)->first = first;
    return prepare_rows(p, p->in + first, p->n_in - 1, axis);
}

static Status *concat_shape(Shapes *s) {
    return join_shape(s, 1, 0);
}
static Status *concat_v2_shape(Shapes *s) {
    return join_shape(s, 0, s->n_in - 1);
}
static Status *concat_prepare(Prepare *p) {
    return join_prepare(p, 1, 0);
}
static Status *concat_v2_prepare(Prepare *p) {
    return join_prepare(p, 0, p->n_in - 1);
}

// A shape made of pieces: vectors of extents, one behind the other.
static Status *concat_v2_partial(Shapes *s, Shape *value) {
    Shape all = {0};
    for (int i = 0; i < s->n_in - 1; i++) {
        Shape piece;
        if (s->in[i].rank != 1)
            return OK;
        TRY(shapes_input_shape(s, i, &piece));
        if (piece.rank < 0 || all.rank + piece.rank > MAX_RANK)
            return OK;
        for (int d = 0; d < piece.rank; d++)
            all.dims[all.rank++] = piece.dims[d];
    }
    *value = all;
    return OK;
}

// Each input's part of dy: cut at known places, or sliced at computed ones.
static void join_grad(Formula *f, int first, int axis_input) {
    int n = f->n_x - 1;
    Output axis = f->x[axis_input], dy = f->dy[0];
    const Tensor *value = output_constant(axis);
    int64_t sizes[64];
    bool known = value && n <= 64;
    for (int i = 0; i < n && known; i++) {
        const Shape *shape = output_shape(f->x[first + i]);
        int64_t at = shape->rank < 0 ? -1 : tensor_int(value, 0);
        at += at < 0 ? shape->rank : 0;
        known = at >= 0 && at < shape->rank && shape->dims[at] >= 0;
        if (known)
            sizes[i] = shape->dims[at];
    }
    // With known extents it is one SplitV, which is sized beforehand; slices at computed offsets are dynamic.
    if (known) {
        Output cut = OpWith("SplitV", ATTRS(INT_ATTR("num_split", n)), dy, formula_ints(f, sizes, n, DT_int32),
                            Cast(axis, DT_int32));
        for (int i = 0; i < n; i++)
            f->dx[first + i] = At(cut, i);
        return;
    }
    Output *shapes = ARENA_ARRAY(&f->graph->arena, Output, n);
    if (!shapes) {
        formula_fail(f, OUT_OF_MEMORY);
        return;
    }
    for (int i = 0; i < n; i++)
        shapes[i] = ShapeOf(f->x[first + i]);
    Output where = Cast(axis, DT_int32);
    Node *offsets = formula_node(f, "ConcatOffset", (FormulaArg[]){{&where, 1, false}, {shapes, n, true}}, 2, NULL);
    for (int i = 0; i < n; i++)
        f->dx[first + i] = Slice(dy, ((Output){offsets, i}), shapes[i]);
}

static void concat_grad(Formula *f) {
    join_grad(f, 1, 0);
}
static void concat_v2_grad(Formula *f) {
    join_grad(f, 0, f->n_x - 1);
}

// ---------------------------------------- for devices that compile

static COLD Status *join_hlo(Hlo *h, int first, int n, int axis, bool new_axis) {
    HloValue list[64], joined = NULL;
    TRY(h->status);
    for (int i = 0; i < n;) {  // 63 and what is joined already
        int k = 0;
        if (joined)
            list[k++] = joined;
        for (; i < n && k < 64; i++) {
            HloValue x = hlo_in(h, first + i);
            list[k++] = new_axis ? hlo_expand(h, x, axis) : x;
        }
        joined = hlo_concat(h, list, k, axis);
    }
    return hlo_out(h, 0, joined);
}

static COLD Status *concat_hlo(Hlo *h) {
    return join_hlo(h, 1, h->n_in - 1, hlo_need_axis(h, 0, hlo_in_shape(h, 1)->rank), false);
}
static COLD Status *concat_v2_hlo(Hlo *h) {
    return join_hlo(h, 0, h->n_in - 1, hlo_need_axis(h, h->n_in - 1, hlo_in_shape(h, 0)->rank), false);
}
static COLD Status *pack_hlo(Hlo *h) {
    int axis;
    TRY(shape_axis(node_int(h->node, "axis"), hlo_in_shape(h, 0)->rank + 1, &axis));
    return join_hlo(h, 0, h->n_in, axis, true);
}

// The outputs' shapes say how it is cut.
static COLD Status *cut_hlo(Hlo *h, int from, int axis, bool drop) {
    HloValue x = hlo_in(h, from);
    TRY(h->status);
    int64_t at = 0;
    for (int i = 0; i < h->n_out; i++) {
        const Shape *out = hlo_out_shape(h, i);
        NEED(shape_is_known(out), UNIMPLEMENTED, "the size of part %d is not known", i);
        int64_t n = drop ? 1 : out->dims[axis];
        TRY(hlo_out(h, i, hlo_reshape(h, hlo_part(h, x, axis, at, at + n), *out)));
        at += n;
    }
    return OK;
}

static COLD Status *unpack_hlo(Hlo *h) {
    int axis;
    TRY(shape_axis(node_int(h->node, "axis"), hlo_in_shape(h, 0)->rank, &axis));
    return cut_hlo(h, 0, axis, true);
}
static COLD Status *split_hlo(Hlo *h) {
    return cut_hlo(h, 1, hlo_need_axis(h, 0, hlo_in_shape(h, 1)->rank), false);
}
static COLD Status *split_v_hlo(Hlo *h) {
    return cut_hlo(h, 0, hlo_need_axis(h, 2, hlo_in_shape(h, 0)->rank), false);
}

const Op op_Concat = {
    .signature = "Concat(concat_dim: int32, values: N * T) -> output: T; N: int >= 2; T: type",
    .doc = "The values one behind the other along a dimension.", .needs = "scalar(concat_dim)", .shape = concat_shape,
    .grad = concat_grad, .prepare = concat_prepare, .own_size = sizeof(Rows), .cpu = ANY_TYPE(join_run), .host = BIT(0),
    .hlo = concat_hlo,
};
const Op op_ConcatV2 = {
    .signature = "ConcatV2(values: N * T, axis: Tidx) -> output: T; N: int >= 2; T: type; Tidx: {int32, int64} = int32",
    .doc = "The values one behind the other along a dimension.", .needs = "scalar(axis)", .shape = concat_v2_shape,
    .partial = concat_v2_partial, .grad = concat_v2_grad, .prepare = concat_v2_prepare, .own_size = sizeof(Rows),
    .cpu = ANY_TYPE(join_run), .host = BIT(1), .hlo = concat_v2_hlo,
};

// ---------------------------------------- ConcatOffset

static Status *offset_shape(Shapes *s) {
    for (int i = 0; i < s->n_out; i++)
        s->out[i] = s->in[i + 1];
    return OK;
}

static Status *offset_run(Kernel *k) {
    int64_t rank = tensor_count(k->in[1]), asked = tensor_int(k->in[0], 0), offset = 0;
    int64_t axis = asked < 0 ? asked + rank : asked;
    NEED(axis >= 0 && axis < rank, INVALID_ARGUMENT, "Concat dim is out of range: %lld vs. %lld", (long long)asked,
         (long long)rank);
    for (int i = 0; i < k->n_out; i++) {
        NEED(tensor_count(k->in[i + 1]) == rank, INVALID_ARGUMENT, "input %d should contain %lld elements, got %lld", i,
             (long long)rank, (long long)tensor_count(k->in[i + 1]));
        for (int64_t d = 0; d < rank; d++) {
            int64_t extent = tensor_int(k->in[i + 1], d), value = d == axis ? offset : 0;
            NEED(d == axis || extent == tensor_int(k->in[1], d), INVALID_ARGUMENT,
                 "All dimensions except %lld must match. Input %d has shape dimension %lld = %lld, input 0 has %lld",
                 (long long)axis, i, (long long)d, (long long)extent, (long long)tensor_int(k->in[1], d));
            if (k->out[i]->dtype == DT_int32)
                ((int32_t *)k->out[i]->data)[d] = (int32_t)value;
            else
                ((int64_t *)k->out[i]->data)[d] = value;
        }
        NEED(add_i64(offset, tensor_int(k->in[i + 1], axis), &offset), INVALID_ARGUMENT, "too many elements");
    }
    return OK;
}

const Op op_ConcatOffset = {
    .signature = "ConcatOffset(concat_dim: int32, shape: N * shape_type) -> offset: N * shape_type; N: int >= 2; "
                 "shape_type: {int32, int64} = int32",
    .doc = "Where each input begins in their concatenation.", .needs = "scalar(concat_dim), vector(shape)",
    .shape = offset_shape, .cpu = ANY_TYPE(offset_run), .host = BIT(0) | BIT(1), .host_out = BIT(0),
    .flags = OP_CHEAP | OP_NO_GRADIENT,
};

// ---------------------------------------- Pack, Unpack

static Status *attr_axis(const Node *node, int rank, int *out) {
    int64_t axis = node_int(node, "axis");
    NEED(axis >= -rank && axis < rank, INVALID_ARGUMENT, "axis = %lld not in [%d, %d)", (long long)axis, -rank, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return OK;
}

static Status *pack_shape(Shapes *s) {
    Shape each = UNKNOWN_SHAPE;
    int axis;
    for (int i = 0; i < s->n_in; i++)
        TRY(shape_merge(&each, &s->in[i], &each));
    if (each.rank < 0)
        return OK;
    NEED(each.rank < MAX_RANK, INVALID_ARGUMENT, "a shape has at most %d dimensions", MAX_RANK);
    TRY(attr_axis(s->node, each.rank + 1, &axis));
    Shape out = {.rank = each.rank + 1};
    for (int i = 0; i < out.rank; i++)
        out.dims[i] = i < axis ? each.dims[i] : i == axis ? s->n_in : each.dims[i - 1];
    TRY(shape_check(&out));
    s->out[0] = out;
    return OK;
}

static Status *pack_prepare(Prepare *p) {
    int axis;
    TRY(attr_axis(p->node, p->out[0]->shape.rank, &axis));
    return prepare_rows(p, p->in, p->n_in, axis);
}

static Status *pack_partial(Shapes *s, Shape *value) {
    if (s->n_in > MAX_RANK)
        return OK;
    Shape all = {.rank = s->n_in};
    for (int i = 0; i < s->n_in; i++) {
        if (s->in[i].rank != 0)
            return OK;
        if (!shapes_input_int(s, i, &all.dims[i]) || all.dims[i] < 0)
            all.dims[i] = UNKNOWN_DIM;
    }
    *value = all;
    return OK;
}

static void pack_grad(Formula *f) {
    Output parts = Unpack(f->dy[0], f->n_x, node_int(f->node, "axis"));
    for (int i = 0; i < f->n_x; i++)
        f->dx[i] = At(parts, i);
}

const Op op_Pack = {
    .signature = "Pack(values: N * T) -> output: T; N: int >= 1; T: type; axis: int = 0",
    .doc = "The values, of one shape, side by side along a new dimension.", .needs = "same_shape(values, values)",
    .shape = pack_shape, .partial = pack_partial, .grad = pack_grad, .prepare = pack_prepare, .own_size = sizeof(Rows),
    .cpu = ANY_TYPE(join_run), .hlo = pack_hlo,
};

static Status *unpack_shape(Shapes *s) {
    const Shape *in = &s->in[0];
    int axis;
    if (in->rank < 0)
        return OK;
    TRY(attr_axis(s->node, in->rank, &axis));
    NEED(in->dims[axis] < 0 || in->dims[axis] == s->n_out, INVALID_ARGUMENT,
         "Input shape axis %d must equal %d, got shape %s", axis, s->n_out, shape_text(in));
    for (int i = 0; i < s->n_out; i++) {
        s->out[i] = (Shape){.rank = in->rank - 1};
        for (int d = 0; d < in->rank - 1; d++)
            s->out[i].dims[d] = in->dims[d < axis ? d : d + 1];
    }
    return OK;
}

static Status *unpack_prepare(Prepare *p) {
    int axis;
    TRY(attr_axis(p->node, p->in[0]->shape.rank, &axis));
    return prepare_rows(p, p->out, p->n_out, axis);
}

static void unpack_grad(Formula *f) {
    int n;
    node_output_span(f->node, 0, &(int){0}, &n);
    f->dx[0] = Pack(f->dy, n, node_int(f->node, "axis"));
}

const Op op_Unpack = {
    .signature = "Unpack(value: T) -> output: num * T; num: int >= 0; T: type; axis: int = 0",
    .doc = "The slices of the value along a dimension.", .needs = "rank(value) >= 1", .shape = unpack_shape,
    .grad = unpack_grad, .prepare = unpack_prepare, .own_size = sizeof(Rows), .cpu = ANY_TYPE(cut_run),
    .hlo = unpack_hlo,
};

// ---------------------------------------- Split, SplitV

// Which dimension, as far as the value of the input tells: -1 where unknown.
static Status *split_axis(const Tensor *value, const Shape *in, int *out) {
    *out = -1;
    NEED(!value || value->shape.rank == 0, INVALID_ARGUMENT, "split_dim must be a scalar, got shape %s",
         shape_text(&value->shape));
    if (!value || in->rank < 0 || tensor_count(value) != 1)
        return OK;
    int64_t asked = tensor_int(value, 0);
    NEED(asked >= -in->rank && asked < in->rank, INVALID_ARGUMENT,
         "-input rank(-%d) <= split_dim < input rank (%d), but got %lld", in->rank, in->rank, (long long)asked);
    return shape_axis(asked, in->rank, out);
}

static void open_shapes(Shapes *s, const Shape *in) {
    for (int i = 0; i < s->n_out && in->rank >= 0; i++) {
        s->out[i] = (Shape){.rank = in->rank};
        for (int d = 0; d < in->rank; d++)
            s->out[i].dims[d] = UNKNOWN_DIM;
    }
}

static Status *split_shape(Shapes *s) {
    const Shape *in = &s->in[1];
    int axis;
    TRY(split_axis(s->value[0], in, &axis));
    if (axis < 0) {
        open_shapes(s, in);
        return OK;
    }
    NEED(in->dims[axis] < 0 || in->dims[axis] % s->n_out == 0, INVALID_ARGUMENT,
         "Number of ways to split should evenly divide the split dimension, but got split_dim %d (size = %lld) and num_split %d",
         axis, (long long)in->dims[axis], s->n_out);
    for (int i = 0; i < s->n_out; i++) {
        s->out[i] = *in;
        s->out[i].dims[axis] = in->dims[axis] < 0 ? UNKNOWN_DIM : in->dims[axis] / s->n_out;
    }
    return OK;
}

static Status *split_prepare(Prepare *p) {
    NEED_VALUE(p, 0);
    int axis;
    TRY(split_axis(p->in[0], &p->in[1]->shape, &axis));
    ((Rows *)p->own)->first = 1;
    return prepare_rows(p, p->out, p->n_out, axis);
}

static void split_grad(Formula *f) {
    f->dx[1] = f->n_y == 1 ? f->dy[0] : Concat(f->dy, f->n_y, f->x[0]);
}

const Op op_Split = {
    .signature = "Split(split_dim: int32, value: T) -> output: num_split * T; num_split: int >= 1; T: type",
    .doc = "The value cut into equal parts along a dimension.", .needs = "scalar(split_dim), rank(value) >= 1",
    .shape = split_shape, .grad = split_grad, .prepare = split_prepare, .own_size = sizeof(Rows),
    .cpu = ANY_TYPE(cut_run), .host = BIT(0), .hlo = split_hlo,
};

// The parts' extents; one may be -1, what remains.
static Status *part_sizes(const Tensor *sizes, int64_t extent, int n, Shapes *s, int axis) {
    int open = -1;
    int64_t sum = 0;
    NEED(tensor_count(sizes) == n, INVALID_ARGUMENT, "size_splits has %lld elements, but there are %d outputs",
         (long long)tensor_count(sizes), n);
    for (int i = 0; i < n; i++) {
        int64_t size = host_int(sizes, i);
        NEED(size >= -1, INVALID_ARGUMENT, "Split size at index %d must be >= 0. Got: %lld", i, (long long)size);
        NEED(size >= 0 || open < 0, INVALID_ARGUMENT, "There can only be one -1 in the input.");
        if (size < 0)
            open = i;
        else
            NEED(add_i64(sum, size, &sum), INVALID_ARGUMENT, "the sizes are too large");
        s->out[i].dims[axis] = size < 0 ? UNKNOWN_DIM : size;
    }
    if (extent < 0)
        return OK;
    NEED(open >= 0 ? sum <= extent : sum == extent, INVALID_ARGUMENT,
         "Determined shape must either match input shape along split_dim exactly if fully specified, or be less than "
         "the size of the input along split_dim if not fully specified. Got: %lld, expected %lld",
         (long long)sum, (long long)extent);
    if (open >= 0)
        s->out[open].dims[axis] = extent - sum;
    return OK;
}

static Status *split_v_shape(Shapes *s) {
    const Shape *in = &s->in[0];
    int axis;
    TRY(split_axis(s->value[2], in, &axis));
    NEED(s->in[1].rank != 1 || s->in[1].dims[0] < 0 || s->in[1].dims[0] == s->n_out, INVALID_ARGUMENT,
         "size_splits has %lld elements, but there are %d outputs", (long long)s->in[1].dims[0], s->n_out);
    open_shapes(s, in);
    if (axis < 0)
        return OK;
    for (int i = 0; i < s->n_out; i++) {
        s->out[i] = *in;
        s->out[i].dims[axis] = UNKNOWN_DIM;
    }
    return s->value[1] ? part_sizes(s->value[1], in->dims[axis], s->n_out, s, axis) : OK;
}

static Status *split_v_prepare(Prepare *p) {
    NEED_VALUE(p, 2);
    int axis;
    TRY(split_axis(p->in[2], &p->in[0]->shape, &axis));
    return prepare_rows(p, p->out, p->n_out, axis);
}

static void split_v_grad(Formula *f) {
    f->dx[0] = f->n_y == 1 ? f->dy[0] : Concat(f->dy, f->n_y, f->x[2]);
}

const Op op_SplitV = {
    .signature = "SplitV(value: T, size_splits: Tlen, split_dim: int32) -> output: num_split * T; num_split: int >= 1; "
                 "T: type; Tlen: {int8, int32, int64} = int64",
    .doc = "The value cut into parts of given sizes along a dimension.",
    .needs = "scalar(split_dim), vector(size_splits), rank(value) >= 1", .shape = split_v_shape, .grad = split_v_grad,
    .prepare = split_v_prepare, .own_size = sizeof(Rows), .cpu = ANY_TYPE(cut_run), .host = BIT(1) | BIT(2),
    .hlo = split_v_hlo,
};
