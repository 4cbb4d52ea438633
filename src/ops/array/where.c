// Where — the places of the elements that are not zero.
#include "loops/cast.h"
#include "ops/array/moving.h"

static Status *where_shape(Shapes *s) {
    s->out[0] = SHAPE(UNKNOWN_DIM, s->in[0].rank < 0 ? UNKNOWN_DIM : s->in[0].rank);
    return OK;
}

static Status *where_prepare(Prepare *p) {
    CastLoop *cast = p->own;
    NEED(cast_find(p->in[0]->dtype, DT_bool, cast), UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(p->in[0]->dtype));
    p->scratch = p->in[0]->dtype == DT_bool ? 0 : (size_t)shape_count(&p->in[0]->shape);
    p->cost = shape_count(&p->in[0]->shape);
    return OK;
}

// A complex number that is not zero, though as a bool it is what its real part is.
static void complex_truth(const Tensor *in, int64_t n, uint8_t *out) {
    for (int64_t i = 0; i < n; i++)
        out[i] = in->dtype == DT_complex64 ? ((const Complex64 *)in->data)[i] != 0 : ((const Complex128 *)in->data)[i] != 0;
}

static Status *where_run(Kernel *k) {
    const Tensor *in = k->in[0];
    const Shape *shape = &in->shape;
    int64_t n = tensor_count(in), found = 0;
    const uint8_t *set = in->data;
    if (in->dtype != DT_bool && n) {
        if (dtype_is_complex(in->dtype))
            complex_truth(in, n, k->scratch);
        else
            cast_run(k->own, in->data, k->scratch, n);
        set = k->scratch;
    }
    for (int64_t i = 0; i < n; i++)
        found += set[i] != 0;
    TRY(kernel_output(k, 0, SHAPE(found, shape->rank)));
    int64_t *out = k->out[0]->data, steps[MAX_RANK];
    for (int d = shape->rank - 1, step = 0; d >= 0; d--, step++)
        steps[d] = step ? steps[d + 1] * shape->dims[d + 1] : 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i;
        for (int d = 0; set[i] && d < shape->rank; d++) {
            *out++ = rest / steps[d];
            rest %= steps[d];
        }
    }
    return OK;
}

const Op op_Where = {
    .signature = "Where(input: T) -> index: int64; T: {numbers, bool} = bool",
    .doc = "The indices of the elements that are not zero, one row for each.", .shape = where_shape,
    .prepare = where_prepare, .own_size = sizeof(CastLoop), .cpu = ANY_TYPE(where_run),
    .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
