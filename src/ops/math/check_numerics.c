// CheckNumerics, CheckNumericsV2 — the input, and an error where it holds an infinity or a NaN.
#include "loops/elementwise.h"
#include "ops/op.h"

ELEMENTWISE(IsFinite);

static Status *check_prepare(Prepare *p) {
    NEED(elementwise_find(&elementwise_IsFinite, p->in[0]->dtype, p->own), UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(p->in[0]->dtype));
    p->cost = shape_count(&p->in[0]->shape);
    return OK;
}

enum { TILE = 1024 };

static bool is_nan(const Tensor *x, int64_t i) {
    switch (x->dtype) {
    case DT_half: return isnan(half_to_float(((const Half *)x->data)[i]));
    case DT_bfloat16: return isnan(bfloat16_to_float(((const Bfloat16 *)x->data)[i]));
    case DT_double: return isnan(((const double *)x->data)[i]);
    default: return isnan(((const float *)x->data)[i]);
    }
}

static Status *check_run(Kernel *k) {
    const ElementwiseLoop *finite = k->own;
    const Tensor *x = k->in[0];
    bool tile[TILE], nan = false, infinite = false;
    int64_t n = tensor_count(x);
    for (int64_t first = 0; first < n; first += TILE) {
        int64_t count = min_i64(TILE, n - first);
        elementwise_run(finite, (const char *)x->data + first * finite->in_size, NULL, tile, count, 1, 0);
        for (int64_t i = 0; i < count; i++)
            if (!tile[i]) {
                nan |= is_nan(x, first + i);
                infinite |= !is_nan(x, first + i);
            }
    }
    Str message = node_str(k->node, "message");
    NEED(!nan && !infinite, INVALID_ARGUMENT, "%.*s : Tensor had %s values", STR_ARGS(message),
         nan && infinite ? "Inf and NaN" : nan ? "NaN" : "Inf");
    return OK;
}

static void check_grad(Formula *f) {
    AUTO(text) Text text = {0};
    Str message = node_str(f->node, "message");
    text_format(&text, "Not a number (NaN) or infinity (Inf) values detected in gradient. %.*s", STR_ARGS(message));
    f->dx[0] = OpWith("CheckNumerics", ATTRS({"message", ATTR_OF_STRING(text_str(&text))}), f->dy[0]);
}

static COLD Status *check_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0);
    hlo_check(h, hlo_to(h, "is_finite", x, DT_bool), INVALID_ARGUMENT, "the tensor had Inf or NaN values");
    return hlo_out(h, 0, x);
}

const Op op_CheckNumerics = {
    .signature = "CheckNumerics(tensor: T) -> output: T; T: floats; message: string; stateful",
    .doc = "The input, which must hold neither infinities nor NaN.", .shape = shape_unchanged, .grad = check_grad,
    .prepare = check_prepare, .own_size = sizeof(ElementwiseLoop), .cpu = ANY_TYPE(check_run), .alias = BIT(0),
    .hlo = check_hlo,
};
const Op op_CheckNumericsV2 = {
    .signature = "CheckNumericsV2(tensor: T) -> output: T; T: floats; message: string; stateful",
    .doc = "The input, which must hold neither infinities nor NaN.", .shape = shape_unchanged, .grad = check_grad,
    .prepare = check_prepare, .own_size = sizeof(ElementwiseLoop), .cpu = ANY_TYPE(check_run), .alias = BIT(0),
    .hlo = check_hlo,
};
