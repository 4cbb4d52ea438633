// Cast — elements of one type as another.
//
// Float to integer follows x86 (level/cast.c), bool is x != 0, complex to real drops the imaginary part: as
// TensorFlow's CPU kernels do. Types of 8 bits and less go by way of double.
#include "loops/cast.h"
#include "ops/array/moving.h"
#include "tensor/float8.h"

typedef struct {
    CastLoop loop;
    int64_t cost;    // ns
} Casting;

typedef struct {
    const Casting *own;
    const char *in;
    char *out;
} Work;

static void cast_range(void *arg, int64_t first, int64_t last) {
    const Work *w = arg;
    const CastLoop *loop = &w->own->loop;
    cast_run(loop, w->in + first * loop->from_size, w->out + first * loop->to_size, last - first);
}

static Status *cast_kernel(Kernel *k) {
    Work work = {k->own, k->in[0]->data, k->out[0]->data};
    kernel_share(k, tensor_count(k->out[0]), work.own->cost, cast_range, &work);
    return OK;
}

static Status *same_view(Kernel *k, const void *const *in, void *const *out) {
    memcpy(out[0], in[0], (size_t)tensor_count(k->out[0]) * moved_size(k->out[0]->dtype));
    return OK;
}

static Status *same_kernel(Kernel *k) {
    return move_elements(k, same_view);
}

// ---------------------------------------- types of a few bits, by way of float

static bool is_small(DType dtype) {
    return dtype_kind(dtype) == KIND_SMALL;
}

// Bits of an integer type of 2 or 4 bits; 0 for others.
static int few_bits(DType dtype) {
    return dtype == DT_int4 || dtype == DT_uint4 ? 4 : dtype == DT_int2 || dtype == DT_uint2 ? 2 : 0;
}

static float small_to_float(DType dtype, uint8_t bits) {
    int n = few_bits(dtype);
    if (!n)
        return float8_to_float(dtype, bits);
    int value = bits & ((1 << n) - 1);
    bool is_signed = dtype == DT_int4 || dtype == DT_int2;
    return (float)(is_signed && value >> (n - 1) ? value - (1 << n) : value);
}

// Rounded once: to odd first (tensor/float8.c). Integers of few bits keep the low bits and sign, as a C cast would.
static uint8_t small_from_double(DType dtype, double value) {
    int n = few_bits(dtype);
    if (!n)
        return float8_from_float(dtype, float_to_odd(value));
    int whole = value > -128 && value < 256 ? (int)value : 0;
    int low = whole & ((1 << n) - 1);
    bool is_signed = dtype == DT_int4 || dtype == DT_int2;
    return (uint8_t)(is_signed && low >> (n - 1) ? low - (1 << n) : low);
}

enum { TILE = 256 };

static Status *small_kernel(Kernel *k) {
    const Tensor *in = k->in[0], *out = k->out[0];
    CastLoop load, store;
    double tile[TILE];
    NEED(is_small(in->dtype) || cast_find(in->dtype, DT_double, &load), UNIMPLEMENTED, "no cast");
    NEED(is_small(out->dtype) || cast_find(DT_double, out->dtype, &store), UNIMPLEMENTED, "no cast");
    int64_t n = tensor_count(out), in_size = (int64_t)dtype_size(in->dtype), out_size = (int64_t)dtype_size(out->dtype);
    for (int64_t first = 0; first < n; first += TILE) {
        int64_t count = min_i64(TILE, n - first);
        const char *from = (const char *)in->data + first * in_size;
        char *to = (char *)out->data + first * out_size;
        if (!is_small(in->dtype))
            cast_run(&load, from, tile, count);
        for (int64_t i = 0; i < count && is_small(in->dtype); i++)
            tile[i] = (double)small_to_float(in->dtype, (uint8_t)from[i]);
        if (!is_small(out->dtype))
            cast_run(&store, tile, to, count);
        for (int64_t i = 0; i < count && is_small(out->dtype); i++)
            to[i] = (char)small_from_double(out->dtype, tile[i]);
    }
    return OK;
}

// ---------------------------------------- the op

static bool casts_small(DType dtype) {
    CastLoop loop;
    return is_small(dtype) || cast_find(dtype, DT_double, &loop);
}

static Status *cast_prepare(Prepare *p) {
    Casting *own = p->own;
    DType from = p->in[0]->dtype, to = p->out[0]->dtype;
    int64_t count = shape_count(&p->out[0]->shape);
    p->cost = own->cost = kernel_cost(count, 250, count * (int64_t)(moved_size(from) + moved_size(to)));
    if (from == to)
        p->run = same_kernel;
    else if ((is_small(from) || is_small(to)) && casts_small(from) && casts_small(to))
        p->run = small_kernel;
    else
        NEED(cast_find(from, to, &own->loop), UNIMPLEMENTED, "Cast %s to %s is not supported", dtype_name(from),
             dtype_name(to));
    return OK;
}

static bool may_differentiate(DType dtype) {
    return dtype_is_float(dtype) || dtype_is_complex(dtype);
}

static void cast_grad(Formula *f) {
    DType from = output_type(f->x[0]), to = output_type(f->y[0]);
    if (may_differentiate(from) && may_differentiate(to))
        f->dx[0] = Cast(f->dy[0], from);
}

static bool is_index(DType dtype) {
    return dtype == DT_int32 || dtype == DT_int64;
}

// A shape that is cast from int32 to int64 is known if it was known before.
static Status *cast_partial(Shapes *s, Shape *value) {
    bool integers = is_index(node_type(s->node, "SrcT")) && is_index(node_type(s->node, "DstT"));
    return integers && (s->in[0].rank == 0 || s->in[0].rank == 1) ? shapes_input_shape(s, 0, value) : OK;
}

static COLD Status *cast_hlo(Hlo *h) {
    NEED(!node_bool(h->node, "Truncate"), UNIMPLEMENTED, "a cast that truncates");
    return hlo_out(h, 0, hlo_cast(h, hlo_in(h, 0), hlo_out_type(h, 0)));
}

const Op op_Cast = {
    .signature = "Cast(x: SrcT) -> y: DstT; SrcT: type; DstT: type; Truncate: bool = false",
    .doc = "The elements as another type: floats are cut towards zero, real numbers become complex.",
    .shape = shape_unchanged, .partial = cast_partial, .grad = cast_grad, .prepare = cast_prepare,
    .own_size = sizeof(Casting), .cpu = ANY_TYPE(cast_kernel), .hlo = cast_hlo,
};
