// Cross — the cross product of vectors of three elements.
#define SELF "ops/math/cross.c"
#include "ops/op.h"

#ifdef T  // ---------------------------------------- kernel, once per dtype
static Status *FN(cross)(Kernel *k) {
    const T *a = k->in[0]->data, *b = k->in[1]->data;
    T *y = k->out[0]->data;
    int64_t n = tensor_count(k->out[0]);
    for (int64_t i = 0; i + 2 < n; i += 3)
        for (int64_t j = 0; j < 3; j++) {
            int64_t next = i + (j + 1) % 3, last = i + (j + 2) % 3;
            ACC p = LOAD(a[next]), q = LOAD(b[last]), r = LOAD(a[last]), s = LOAD(b[next]);
#ifdef IS_INTEGER
            y[i + j] = (T)((uint64_t)p * (uint64_t)q - (uint64_t)r * (uint64_t)s);
#else
            y[i + j] = STORE(p * q - r * s);
#endif
        }
    return OK;
}
#else     // ---------------------------------------- schema and gradient
#define EACH_REAL
#include "ops/each_dtype.h"

static void cross_grad(Formula *f) {
    f->dx[0] = formula_2(f, "Cross", f->x[1], f->dy[0]);
    f->dx[1] = formula_2(f, "Cross", f->dy[0], f->x[0]);
}

static COLD HloValue turned(Hlo *h, HloValue x, int by) {  // the last axis
    int axis = x->shape.rank - 1;
    return hlo_concat(h, (HloValue[]){hlo_part(h, x, axis, by, 3), hlo_part(h, x, axis, 0, by)}, 2, axis);
}

static COLD Status *cross_hlo(Hlo *h) {
    HloValue a = hlo_in(h, 0), b = hlo_in(h, 1);
    return hlo_out(h, 0, hlo_sub(h, hlo_mul(h, turned(h, a, 1), turned(h, b, 2)),
                                 hlo_mul(h, turned(h, a, 2), turned(h, b, 1))));
}

const Op op_Cross = {
    .signature = "Cross(a: T, b: T) -> product: T; T: reals",
    .doc = "The cross product of vectors of three elements.",
    .needs = "rank(a) >= 1, same_shape(a, b), dim(a, -1) == 3, dim(b, -1) == 3", .shape = shape_same_all,
    .grad = cross_grad, .cpu = KERNELS(REALS, cross), .hlo = cross_hlo,
};
#endif
