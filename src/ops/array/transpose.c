// Transpose, ConjugateTranspose, InvertPermutation — dimensions in another order.
#include "ops/array/moving.h"

static Status *read_perm(const Tensor *perm, int rank, int *out) {
    uint32_t seen = 0;
    NEED(tensor_count(perm) == rank, INVALID_ARGUMENT,
         "transpose expects a vector of size %d, but input(1) is a vector of size %lld",
         rank, (long long)tensor_count(perm));
    for (int i = 0; i < rank; i++) {
        int64_t axis = tensor_int(perm, i);
        axis += axis < 0 ? rank : 0;
        NEED(axis >= 0 && axis < rank, INVALID_ARGUMENT, "perm[%d] = %lld is out of range [0, %d)", i,
             (long long)tensor_int(perm, i), rank);
        NEED(!(seen & BIT(axis)), INVALID_ARGUMENT, "%lld is named twice in perm", (long long)axis);
        seen |= BIT(axis);
        out[i] = (int)axis;
    }
    return OK;
}

static Status *transpose_shape(Shapes *s) {
    const Shape *in = &s->in[0], *perm = &s->in[1];
    int64_t n = perm->rank == 1 ? perm->dims[0] : -1;
    if (in->rank < 0 && n < 0)
        return OK;
    NEED(in->rank < 0 || n < 0 || n == in->rank, INVALID_ARGUMENT,
         "transpose expects a vector of size %d, but input(1) is a vector of size %lld", in->rank, (long long)n);
    NEED(n <= MAX_RANK, INVALID_ARGUMENT, "a shape has at most %d dimensions", MAX_RANK);
    Shape out = {.rank = in->rank < 0 ? (int32_t)n : in->rank};
    for (int i = 0; i < out.rank; i++)
        out.dims[i] = UNKNOWN_DIM;
    if (in->rank >= 0 && s->value[1]) {
        int order[MAX_RANK];
        TRY(read_perm(s->value[1], in->rank, order));
        for (int i = 0; i < out.rank; i++)
            out.dims[i] = in->dims[order[i]];
    }
    s->out[0] = out;
    return OK;
}

static Status *transpose_prepare(Prepare *p) {
    NEED_VALUE(p, 1);
    Move *move = p->own;
    int order[MAX_RANK];
    TRY(read_perm(p->in[1], p->in[0]->shape.rank, order));
    copy_transpose(&p->in[0]->shape, order, moved_size(p->out[0]->dtype), &move->copy);
    move_ready(p, move, 0);
    return OK;
}

static void transpose_grad(Formula *f) {
    f->dx[0] = Transpose(f->dy[0], InvertPermutation(f->x[1]));
}

static COLD Status *transpose_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0);
    Shape perm = hlo_need_list(h, 1);
    for (int i = 0; i < perm.rank; i++)
        perm.dims[i] += perm.dims[i] < 0 ? x->shape.rank : 0;
    TRY(h->status);
    return hlo_out(h, 0, hlo_transpose(h, x, perm));
}

const Op op_Transpose = {
    .signature = "Transpose(x: T, perm: Tperm) -> y: T; T: type; Tperm: {int32, int64} = int32",
    .doc = "The dimensions in another order: dimension i of the result is perm[i] of the input.",
    .needs = "vector(perm)", .shape = transpose_shape, .grad = transpose_grad, .prepare = transpose_prepare,
    .own_size = sizeof(Move), .cpu = ANY_TYPE(move_run), .host = BIT(1), .hlo = transpose_hlo,
};

static void conjugate_expand(Formula *f) {
    f->results[0] = Conj(Transpose(f->x[0], f->x[1]));
}

const Op op_ConjugateTranspose = {
    .signature = "ConjugateTranspose(x: T, perm: Tperm) -> y: T; T: type; Tperm: {int32, int64} = int32",
    .doc = "The dimensions in another order, and the complex conjugate.", .needs = "vector(perm)",
    .shape = transpose_shape, .expand = conjugate_expand, .host = BIT(1),
};

static Status *invert_run(Kernel *k) {
    const Tensor *in = k->in[0], *out = k->out[0];
    int64_t n = tensor_count(in);
    for (int64_t i = 0; i < n; i++) {
        int64_t to = tensor_int(in, i);
        if (to < 0 || to >= n)
            KERNEL_INDEX_ERROR("x", i, to, n);
    }
    memset(out->data, 0xff, tensor_bytes(out));
    for (int64_t i = 0; i < n; i++) {
        int64_t to = tensor_int(in, i);
        NEED(tensor_int(out, to) == -1, INVALID_ARGUMENT, "%lld is duplicated in the input", (long long)to);
        if (out->dtype == DT_int32)
            ((int32_t *)out->data)[to] = (int32_t)i;
        else
            ((int64_t *)out->data)[to] = i;
    }
    return OK;
}

// As a rule it is known; else the places in order of what stands there.
static COLD Status *invert_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0), sorted, at;
    hlo_sort(h, "LT", x, &sorted, &at);
    TRY(h->status);
    hlo_check(h, hlo_eq(h, sorted, hlo_iota(h, x->dtype, x->shape, 0)), INVALID_ARGUMENT, "the input is no permutation");
    return hlo_out(h, 0, hlo_cast(h, at, x->dtype));
}

const Op op_InvertPermutation = {
    .signature = "InvertPermutation(x: T) -> y: T; T: {int32, int64} = int32",
    .doc = "The permutation that undoes the input: y[x[i]] = i.", .needs = "vector(x)", .shape = shape_unchanged,
    .cpu = ANY_TYPE(invert_run), .flags = OP_NO_GRADIENT, .hlo = invert_hlo,
};
