// Range, LinSpace — numbers at equal distances.
#define SELF "ops/array/range.c"
#include "ops/array/moving.h"

#ifdef T  // ---------------------------------------- kernels, once per dtype
static int64_t FN(range_size)(const Tensor *const *in, const char **why) {
    ACC start = LOAD(*(const T *)in[0]->data), limit = LOAD(*(const T *)in[1]->data),
        delta = LOAD(*(const T *)in[2]->data);
    bool up = delta > 0;
    *why = delta == 0 ? "Requires delta != 0" : up && start > limit ? "Requires start <= limit when delta > 0"
         : !up && start < limit ? "Requires start >= limit when delta < 0" : NULL;
    if (*why)
        return -1;
#ifdef IS_INTEGER
    uint64_t distance = up ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    uint64_t step = up ? (uint64_t)delta : 0 - (uint64_t)delta;
    uint64_t n = distance / step + (distance % step != 0);
#else
    double n = ceil(fabs(((double)limit - (double)start) / (double)delta));
#endif
    if (!(n < (1ull << 62)))
        *why = "Requires a size that fits int64";
    return *why ? -1 : (int64_t)n;
}
static Status *FN(range)(Kernel *k) {
    ACC start = LOAD(*(const T *)k->in[0]->data), delta = LOAD(*(const T *)k->in[2]->data);
    T *y = k->out[0]->data;
    int64_t n = tensor_count(k->out[0]);
    for (int64_t i = 0; i < n; i++)
#ifdef IS_INTEGER
        y[i] = (T)((uint64_t)start + (uint64_t)i * (uint64_t)delta);
#else
        y[i] = STORE(start + (ACC)i * delta);
#endif
    return OK;
}
#ifndef IS_INTEGER
static Status *FN(lin_space)(Kernel *k) {
    ACC start = LOAD(*(const T *)k->in[0]->data), stop = LOAD(*(const T *)k->in[1]->data);
    T *y = k->out[0]->data;
    int64_t n = tensor_count(k->out[0]);
    ACC step = n > 1 ? LOAD(STORE((stop - start) / (ACC)(n - 1))) : 0;
    for (int64_t i = 0; i < n; i++)
        y[i] = STORE(start + step * (ACC)i);
    if (n > 1)
        y[n - 1] = STORE(stop);
    return OK;
}
#endif
#else     // ---------------------------------------- shapes and schema
#define EACH_REAL
#include "ops/each_dtype.h"

static int64_t size_of(const Tensor *const *in, const char **why) {
    *why = NULL;
    switch (in[0]->dtype) {
#define SIZE(dtype, unused) case DT_##dtype: return range_size_##dtype(in, why);
    REALS(SIZE, 0)
#undef SIZE
    default: return -1;
    }
}

static Status *range_shape(Shapes *s) {
    const char *why;
    s->out[0] = SHAPE(UNKNOWN_DIM);
    if (!s->value[0] || !s->value[1] || !s->value[2])
        return OK;
    int64_t n = size_of(s->value, &why);
    NEED(!why, INVALID_ARGUMENT, "%s", why);
    s->out[0].dims[0] = n;
    return OK;
}

static COLD Status *range_hlo(Hlo *h) {
    NEED(shape_is_known(hlo_out_shape(h, 0)), UNIMPLEMENTED, "the length is not known");
    HloValue at = hlo_iota(h, hlo_out_type(h, 0), *hlo_out_shape(h, 0), 0);
    return hlo_out(h, 0, hlo_add(h, hlo_in(h, 0), hlo_mul(h, at, hlo_in(h, 2))));
}

const Op op_Range = {
    .signature = "Range(start: Tidx, limit: Tidx, delta: Tidx) -> output: Tidx; "
                 "Tidx: {floats, signed_integers, uint16, uint32, uint64} = int32",
    .doc = "Numbers from start up to, and without, limit, delta apart.",
    .needs = "scalar(start), scalar(limit), scalar(delta)", .shape = range_shape, .cpu = KERNELS(REALS, range),
    .host = BIT(0) | BIT(1) | BIT(2), .host_out = BIT(0), .flags = OP_NO_GRADIENT, .hlo = range_hlo,
};

static Status *lin_space_shape(Shapes *s) {
    int64_t n;
    s->out[0] = SHAPE(UNKNOWN_DIM);
    if (!shapes_input_int(s, 2, &n))
        return OK;
    NEED(n > 0, INVALID_ARGUMENT, "Requires num > 0: %lld", (long long)n);
    s->out[0].dims[0] = n;
    return OK;
}

static COLD Status *lin_space_hlo(Hlo *h) {
    const Shape *out = hlo_out_shape(h, 0);
    NEED(shape_is_known(out), UNIMPLEMENTED, "the length is not known");
    HloValue start = hlo_in(h, 0), stop = hlo_in(h, 1), at = hlo_iota(h, start->dtype, *out, 0);
    double last = (double)out->dims[0] - 1;
    if (last == 0)
        return hlo_out(h, 0, hlo_broadcast(h, start, *out));
    HloValue step = hlo_div(h, hlo_sub(h, stop, start), hlo_like(h, last, start));
    HloValue number = hlo_iota(h, DT_int32, *out, 0), inside = hlo_add(h, start, hlo_mul(h, step, at));
    return hlo_out(h, 0, hlo_select(h, hlo_is(h, "EQ", number, last), stop, inside));
}

const Op op_LinSpace = {
    .signature = "LinSpace(start: T, stop: T, num: Tidx) -> output: T; T: floats; "
                 "Tidx: {int32, int64} = int32",
    .doc = "So many numbers from start to stop, both included, at equal distances.",
    .needs = "scalar(start), scalar(stop), scalar(num)", .shape = lin_space_shape, .cpu = KERNELS(FLOATS, lin_space),
    .host = BIT(2), .flags = OP_NO_GRADIENT, .hlo = lin_space_hlo,
};
#endif
