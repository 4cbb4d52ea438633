// ArgMax, ArgMin — where the extreme element lies along an axis; of several, the first.
#include "loops/reduce.h"
#include "ops/op.h"

static Status *arg_shape(Shapes *s) {
    const Shape *in = &s->in[0];
    int64_t asked;
    int axis;
    if (in->rank < 0)
        return OK;
    Shape out = {.rank = in->rank > 0 ? in->rank - 1 : 0};
    for (int i = 0; i < out.rank; i++)
        out.dims[i] = UNKNOWN_DIM;
    // Without the axis only the rank is known.
    const Tensor *value = s->value[1];
    bool known = value && tensor_count(value) == 1;
    if (known && value->dtype == DT_int16)
        asked = *(const int16_t *)value->data;
    else if (known)
        asked = tensor_int(value, 0);
    if (known && in->rank > 0) {
        NEED(asked >= -in->rank && asked < in->rank, INVALID_ARGUMENT,
             "Dimension (%lld) must be in the range [%d, %d)", (long long)asked, -in->rank, in->rank);
        TRY(shape_axis(asked, in->rank, &axis));
        NEED(in->dims[axis] != 0, INVALID_ARGUMENT, "Reduction axis %d is empty in shape %s", axis, shape_text(in));
        for (int i = 0; i < out.rank; i++)
            out.dims[i] = in->dims[i < axis ? i : i + 1];
    }
    s->out[0] = out;
    return OK;
}

typedef struct {
    int64_t outer, n, inner;
    bool greatest;
} Arg;

static void arg_range(void *arg, int64_t first, int64_t last) {
    Kernel *k = arg;
    const Arg *own = k->own;
    const Tensor *in = k->in[0], *out = k->out[0];
    const char *from = (const char *)in->data + (size_t)(first * own->n * own->inner) * dtype_size(in->dtype);
    char *to = (char *)out->data + (size_t)(first * own->inner) * dtype_size(out->dtype);
    if (own->greatest)
        // The types were asked for in prepare: neither fails here.
        (void)reduce_argmax(in->dtype, out->dtype, from, to, last - first, own->n, own->inner);
    else
        (void)reduce_argmin(in->dtype, out->dtype, from, to, last - first, own->n, own->inner);
}

static Status *arg_run(Kernel *k) {
    const Arg *own = k->own;
    if (own->outer && own->inner)
        kernel_parallel(k, own->outer, own->n * own->inner / 2 + 1, arg_range, k);
    return OK;
}

static Status *arg_prepare(Prepare *p) {
    Arg *own = p->own;
    const Tensor *in = p->in[0];
    int axis = 0;
    NEED(p->in[1]->data, FAILED_PRECONDITION, "the axis is not known yet");
    int64_t asked = p->in[1]->dtype == DT_int16 ? *(const int16_t *)p->in[1]->data : tensor_int(p->in[1], 0);
    if (in->shape.rank > 0)
        TRY(shape_axis(asked, in->shape.rank, &axis));
    *own = (Arg){.outer = shape_span(&in->shape, 0, axis), .n = in->shape.rank ? in->shape.dims[axis] : 1,
                 .inner = shape_span(&in->shape, axis + 1, in->shape.rank), .greatest = node_op(p->node)->row != NULL};
    // Asks for the loop by running it on one element: the answer is the same for all.
    char one[16] = {0}, index[8];
    NEED(reduce_argmax(in->dtype, p->out[0]->dtype, one, index, 1, 1, 1), UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(in->dtype));
    p->cost = shape_count(&in->shape) / 2;
    return OK;
}

static COLD Status *arg_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0);
    int axis = hlo_need_axis(h, 1, x->shape.rank);
    x = x->dtype == DT_bool ? hlo_cast(h, x, DT_int32) : x;
    NEED(x->shape.dims[axis] > 0, UNIMPLEMENTED, "an axis without elements");
    return hlo_out(h, 0, hlo_arg(h, node_op(h->node)->row ? "GT" : "LT", x, axis, hlo_out_type(h, 0)));
}

const Op op_ArgMax = {
    .signature = "ArgMax(input: T, dimension: Tidx) -> output: output_type; T: {reals, quantized, bool}; "
                 "Tidx: {int16, int32, int64} = int32; output_type: {int16, uint16, int32, int64} = int64",
    .doc = "Index of the largest element along an axis.", .needs = "scalar(dimension)", .shape = arg_shape,
    .prepare = arg_prepare, .own_size = sizeof(Arg), .cpu = ANY_TYPE(arg_run), .host = BIT(1),
    .flags = OP_NO_GRADIENT, .row = "max", .hlo = arg_hlo,
};
const Op op_ArgMin = {
    .signature = "ArgMin(input: T, dimension: Tidx) -> output: output_type; T: {reals, quantized, bool}; "
                 "Tidx: {int32, int64} = int32; output_type: {int32, int64} = int64",
    .doc = "Index of the smallest element along an axis.", .needs = "scalar(dimension)", .shape = arg_shape,
    .prepare = arg_prepare, .own_size = sizeof(Arg), .cpu = ANY_TYPE(arg_run), .host = BIT(1),
    .flags = OP_NO_GRADIENT, .hlo = arg_hlo,
};
