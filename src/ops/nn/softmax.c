// Softmax — exponentials of each row, scaled to sum to one.
#define SELF "ops/nn/softmax.c"
#include "ops/op.h"

#ifdef T  // ---------------------------------------- kernel, once per dtype
static void FN(softmax_rows)(void *arg, int64_t first, int64_t last) {
    Kernel *k = arg;
    const Rows *rows = k->own;
    for (int64_t r = first; r < last; r++) {
        const T *x = (const T *)k->in[0]->data + r * rows->length;
        T *y = (T *)k->out[0]->data + r * rows->length;
        ACC most = LOAD(x[0]), sum = 0;
        for (int64_t i = 1; i < rows->length; i++)
            most = LOAD(x[i]) > most ? LOAD(x[i]) : most;
        for (int64_t i = 0; i < rows->length; i++)
            sum += (ACC)exp((double)(LOAD(x[i]) - most));
        for (int64_t i = 0; i < rows->length; i++)
            y[i] = STORE((ACC)exp((double)(LOAD(x[i]) - most)) / sum);
    }
}
static Status *FN(softmax)(Kernel *k) {
    const Rows *rows = k->own;
    if (rows->length)
        kernel_parallel(k, rows->count, rows->length * 8, FN(softmax_rows), k);
    return OK;
}
#else     // ---------------------------------------- schema and gradient
typedef struct {
    int64_t count, length;
} Rows;

#define EACH_FLOAT
#include "ops/each_dtype.h"

static Status *prepare_rows(Prepare *p) {
    const Shape *shape = &p->in[0]->shape;
    Rows *rows = p->own;
    rows->length = shape->dims[shape->rank - 1];
    rows->count = shape_span(shape, 0, shape->rank - 1);
    p->cost = rows->count * rows->length * 8;
    return OK;
}

static void softmax_grad(Formula *f) {  // dx = (dy - sum(dy * y)) * y
    Output y = f->y[0], dy = f->dy[0];
    f->dx[0] = Mul(Sub(dy, SumLast(Mul(dy, y))), y);
}

const Op op_Softmax = {
    .signature = "Softmax(logits: T) -> softmax: T; T: {half, bfloat16, float, double}",
    .doc = "Exponentials of each row, scaled to sum to one.", .needs = "rank(logits) >= 1", .shape = shape_unchanged,
    .grad = softmax_grad, .prepare = prepare_rows, .own_size = sizeof(Rows), .cpu = KERNELS(FLOATS, softmax),
};
#endif
