// Fill, ZerosLike, OnesLike, BroadcastTo, Tile — tensors of repeated elements.
#include "ops/array/moving.h"

// ---------------------------------------- Fill

static Status *shape_of_input_0(Shapes *s) {
    return shapes_input_shape(s, 0, &s->out[0]);
}

static Status *fill_prepare(Prepare *p) {
    Shape one = SCALAR_SHAPE;
    Move *move = p->own;
    copy_broadcast(&one, &p->out[0]->shape, moved_size(p->out[0]->dtype), &move->copy);
    move_ready(p, move, 1);
    return OK;
}

static void fill_grad(Formula *f) {  // the value was given to every element
    Output rank = Rank(f->dy[0]);
    f->dx[1] = Sum(f->dy[0], Range(Int(0), rank, Int(1)), false);
}

// ---------------------------------------- for devices that compile

static COLD Status *fill_hlo(Hlo *h) {
    NEED(shape_is_known(hlo_out_shape(h, 0)), UNIMPLEMENTED, "the shape is not known");
    return hlo_out(h, 0, hlo_broadcast(h, hlo_in(h, 1), *hlo_out_shape(h, 0)));
}
static COLD Status *zeros_hlo(Hlo *h) {
    return hlo_out(h, 0, hlo_fill(h, 0, hlo_out_type(h, 0), *hlo_in_shape(h, 0)));
}
static COLD Status *ones_hlo(Hlo *h) {
    return hlo_out(h, 0, hlo_fill(h, 1, hlo_out_type(h, 0), *hlo_in_shape(h, 0)));
}
static COLD Status *broadcast_to_hlo(Hlo *h) {
    NEED(shape_is_known(hlo_out_shape(h, 0)), UNIMPLEMENTED, "the shape is not known");
    return hlo_out(h, 0, hlo_broadcast(h, hlo_in(h, 0), *hlo_out_shape(h, 0)));
}

// Axis by axis: [.., 1, n, ..] is repeated to [.., m, n, ..], and that read as [.., m n, ..].
static COLD Status *tile_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0);
    Shape multiples = hlo_need_list(h, 1);
    for (int axis = 0; axis < x->shape.rank; axis++) {
        if (multiples.dims[axis] == 1)
            continue;
        HloValue wide = hlo_expand(h, x, axis);
        Shape repeated = wide->shape, flat = x->shape;
        repeated.dims[axis] = multiples.dims[axis];
        flat.dims[axis] *= multiples.dims[axis];
        x = hlo_reshape(h, hlo_broadcast(h, wide, repeated), flat);
    }
    return hlo_out(h, 0, x);
}

const Op op_Fill = {
    .signature = "Fill(dims: index_type, value: T) -> output: T; T: type; index_type: {int32, int64} = int32",
    .doc = "A tensor of that shape, every element the value.",
    .needs = "vector(dims), scalar(value), each(dims) >= 0", .shape = shape_of_input_0, .grad = fill_grad,
    .prepare = fill_prepare, .own_size = sizeof(Move), .cpu = ANY_TYPE(move_run), .host = BIT(0), .hlo = fill_hlo,
};

// ---------------------------------------- ZerosLike, OnesLike

static Status *objects_zeros(const Tensor *in, const Tensor *out) {
    for (int64_t i = 0; i < tensor_count(out); i++) {
        Object *zeros, **slot = (Object **)out->data + i;
        TRY(object_zeros(((Object *const *)in->data)[i], 0, &zeros));
        object_release(*slot);
        *slot = zeros;
    }
    return OK;
}

static Status *zeros_run(Kernel *k) {
    NEED(k->out[0]->dtype != DT_resource, UNIMPLEMENTED, "no zero of type %s", dtype_name(k->out[0]->dtype));
    if (k->out[0]->dtype == DT_variant)
        return objects_zeros(k->in[0], k->out[0]);
    if (k->out[0]->dtype != DT_string)  // strings come empty
        memset(k->out[0]->data, 0, tensor_bytes(k->out[0]));
    return OK;
}

static Status *zeros_prepare(Prepare *p) {
    p->cost = shape_count(&p->out[0]->shape) / 4;
    return OK;
}

const Op op_ZerosLike = {
    .signature = "ZerosLike(x: T) -> y: T; T: type", .doc = "Zeros in the shape of the input; strings are empty.",
    .shape = shape_unchanged, .prepare = zeros_prepare, .cpu = ANY_TYPE(zeros_run),
    .flags = OP_FROM_SHAPES | OP_NO_GRADIENT, .hlo = zeros_hlo,
};

static Status *ones_run(Kernel *k) {
    const Tensor *out = k->out[0];
    union { Half h; Bfloat16 b; float f; double d; int8_t i8; int16_t i16; int32_t i32; int64_t i64; bool t;
            Complex64 c; Complex128 z; } one = {.i64 = 0};
    switch (out->dtype) {
    case DT_half: one.h = half_from_float(1); break;
    case DT_bfloat16: one.b = bfloat16_from_float(1); break;
    case DT_float: one.f = 1; break;
    case DT_double: one.d = 1; break;
    case DT_complex64: one.c = 1; break;
    case DT_complex128: one.z = 1; break;
    case DT_bool: one.t = true; break;
    default: one.i64 = 1; break;  // an integer of any width, the low byte first
    }
    fill_run(&one, dtype_size(out->dtype), out->data, tensor_count(out));
    return OK;
}

const Op op_OnesLike = {
    .signature =
        "OnesLike(x: T) -> y: T; "
        "T: {floats, integers_by_width, complexes, bool}",
    .doc = "Ones in the shape of the input.", .shape = shape_unchanged, .prepare = zeros_prepare,
    .cpu = ANY_TYPE(ones_run), .flags = OP_FROM_SHAPES | OP_NO_GRADIENT, .hlo = ones_hlo,
};

// ---------------------------------------- BroadcastTo

static Status *broadcast_to_shape(Shapes *s) {
    Shape wanted, both;
    TRY(shapes_input_shape(s, 1, &wanted));
    if (s->value[1])
        for (int i = 0; i < wanted.rank; i++)
            NEED(wanted.dims[i] >= 0, INVALID_ARGUMENT, "a shape without negative extents is required, got %s",
                 shape_text(&wanted));
    s->out[0] = wanted;
    if (wanted.rank < 0 || s->in[0].rank < 0)
        return OK;
    NEED(s->in[0].rank <= wanted.rank, INVALID_ARGUMENT, "shape %s can't be broadcast to %s", shape_text(&s->in[0]),
         shape_text(&wanted));
    TRY(shape_broadcast(&s->in[0], &wanted, &both));
    NEED(shape_compatible(&both, &wanted), INVALID_ARGUMENT, "shape %s can't be broadcast to %s", shape_text(&s->in[0]),
         shape_text(&wanted));
    return OK;
}

static Status *broadcast_to_prepare(Prepare *p) {
    NEED_VALUE(p, 1);
    Move *move = p->own;
    copy_broadcast(&p->in[0]->shape, &p->out[0]->shape, moved_size(p->out[0]->dtype), &move->copy);
    move_ready(p, move, 0);
    return OK;
}

static void broadcast_to_grad(Formula *f) {
    f->dx[0] = SumTo(f->dy[0], f->x[0]);
}

const Op op_BroadcastTo = {
    .signature = "BroadcastTo(input: T, shape: Tidx) -> output: T; T: type; Tidx: {int32, int64} = int32",
    .doc = "The input repeated to that shape, as broadcasting does.", .needs = "vector(shape)",
    .shape = broadcast_to_shape, .grad = broadcast_to_grad, .prepare = broadcast_to_prepare, .own_size = sizeof(Move),
    .cpu = ANY_TYPE(move_run), .host = BIT(1), .hlo = broadcast_to_hlo,
};

// ---------------------------------------- Tile

static Status *tile_shape(Shapes *s) {
    Shape multiples;
    const Shape *in = &s->in[0];
    TRY(shapes_input_shape(s, 1, &multiples));
    if (in->rank < 0 && multiples.rank < 0)
        return OK;
    NEED(in->rank < 0 || multiples.rank < 0 || in->rank == multiples.rank, INVALID_ARGUMENT,
         "Expected multiples argument to be a vector of length %d but got length %d", in->rank, multiples.rank);
    Shape out = {.rank = in->rank < 0 ? multiples.rank : in->rank};
    for (int i = 0; i < out.rank; i++) {
        int64_t n = in->rank < 0 ? -1 : in->dims[i], times = multiples.rank < 0 ? -1 : multiples.dims[i];
        out.dims[i] = UNKNOWN_DIM;
        if (n >= 0 && times >= 0)
            NEED(mul_i64(n, times, &out.dims[i]), INVALID_ARGUMENT, "%lld times %lld elements are too many",
                 (long long)times, (long long)n);
    }
    TRY(shape_check(&out));
    s->out[0] = out;
    return OK;
}

static Status *tile_prepare(Prepare *p) {
    NEED_VALUE(p, 1);
    Move *move = p->own;
    int64_t multiples[MAX_RANK];
    for (int i = 0; i < p->in[0]->shape.rank; i++)
        multiples[i] = prepare_input_int(p, 1, i);
    copy_tile(&p->in[0]->shape, multiples, moved_size(p->out[0]->dtype), &move->copy);
    move_ready(p, move, 0);
    return OK;
}

// The copies lie side by side: dy as [m0, d0, m1, d1 ...] summed over the m, which is one reduction. Where that has too
// many dimensions, one dimension after the other: dy as [before, m, d, behind].
static void tile_grad(Formula *f) {
    int rank = output_shape(f->x[0])->rank;
    Output multiples = Cast(f->x[1], DT_int32), shape = ShapeOf(f->x[0]), dy = f->dy[0];
    if (2 * rank <= MAX_RANK) {
        Output split = Reshape(Transpose(Pack(((Output[]){multiples, shape}), 2, 0), Ints(1, 0)), Ints(-1));
        Output axes = Range(Int(0), SizeOf(split), Int(2));
        f->dx[0] = Reshape(Sum(Reshape(dy, split), axes, false), shape);
        return;
    }
    for (int i = 0; i < rank; i++) {
        Output before = Prod(Slice(shape, Ints(0), Ints(i)), Int(0), false);
        Output times = Reshape(Slice(multiples, Ints(i), Ints(1)), NoInts);
        Output extent = Reshape(Slice(shape, Ints(i), Ints(1)), NoInts);
        Output behind = Prod(Mul(Slice(multiples, Ints(i + 1), Ints(-1)), Slice(shape, Ints(i + 1), Ints(-1))), Int(0),
                             false);
        dy = Sum(Reshape(dy, Pack(((Output[]){before, times, extent, behind}), 4, 0)), Int(1), false);
    }
    f->dx[0] = Reshape(dy, shape);
}

const Op op_Tile = {
    .signature = "Tile(input: T, multiples: Tmultiples) -> output: T; T: type; Tmultiples: {int32, int64} = int32",
    .doc = "The input repeated side by side, so many times along each dimension.",
    .needs = "vector(multiples), each(multiples) >= 0", .shape = tile_shape, .grad = tile_grad, .prepare = tile_prepare,
    .own_size = sizeof(Move), .cpu = ANY_TYPE(move_run), .host = BIT(1), .hlo = tile_hlo,
};
