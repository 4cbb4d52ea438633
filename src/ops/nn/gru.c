// GRUBlockCell, GRUBlockCellGrad — one step of a gated recurrent unit, and its gradient.
//
// [r u] = sigmoid([x h'] w_ru + b_ru);  c = tanh([x, h' r] w_c + b_c);  h = (1 - u) c + u h'.
#include "ops/nn/lstm.h"

enum { GRU_X, GRU_H_PREV, GRU_W_RU, GRU_W_C, GRU_B_RU, GRU_B_C, N_GRU_IN };
enum { OF_R = N_GRU_IN, OF_U, OF_C, OF_DH };
enum { Y_R, Y_U, Y_C, Y_OUT };
enum { D_X, D_H_PREV, D_C_BAR, D_R_BAR_U_BAR };

typedef struct {
    int64_t batch, inputs, cells;
    ElementwiseLoop sigmoid, tanh;
    Product inputs_to_gates, hidden_to_gates, inputs_to_c, hidden_to_c;  // and back, in the gradient
    LanePlan lanes;
    size_t at_gates, at_hidden;
} Gru;

typedef struct {
    const Gru *own;
    Tensor *const *in, *const *out;
    float *gates, *hidden;
} Rows;

// ---------------------------------------- shapes

static Status *agree(int64_t *known, const Shape *shape, int i, const char *what) {
    int64_t seen = shape->rank < 0 ? -1 : shape->dims[i];
    NEED(seen < 0 || *known < 0 || *known == seen, INVALID_ARGUMENT, "%s: %lld and %lld", what, (long long)*known,
         (long long)seen);
    *known = seen < 0 ? *known : seen;
    return OK;
}

// [batch, inputs, cells] as all inputs have them.
static Status *gru_dims(const Shapes *s, int64_t dims[3]) {
    const Shape *in = s->in;
    dims[0] = dims[1] = dims[2] = -1;
    TRY(agree(&dims[0], &in[GRU_X], 0, "the batch"));
    TRY(agree(&dims[1], &in[GRU_X], 1, "the number of inputs"));
    TRY(agree(&dims[0], &in[GRU_H_PREV], 0, "the batch"));
    TRY(agree(&dims[2], &in[GRU_H_PREV], 1, "the number of cells"));
    TRY(agree(&dims[2], &in[GRU_W_C], 1, "the number of cells"));
    TRY(agree(&dims[2], &in[GRU_B_C], 0, "the number of cells"));
    int64_t rows = dims[1] < 0 || dims[2] < 0 ? -1 : dims[1] + dims[2], gates = dims[2] < 0 ? -1 : 2 * dims[2];
    TRY(agree(&rows, &in[GRU_W_RU], 0, "the rows of w_ru"));
    TRY(agree(&rows, &in[GRU_W_C], 0, "the rows of w_c"));
    TRY(agree(&gates, &in[GRU_W_RU], 1, "the width of w_ru"));
    TRY(agree(&gates, &in[GRU_B_RU], 0, "the size of b_ru"));
    for (int i = OF_R; i < s->n_in; i++) {
        TRY(agree(&dims[0], &in[i], 0, "the batch"));
        TRY(agree(&dims[2], &in[i], 1, "the number of cells"));
    }
    return OK;
}

static Status *gru_shape(Shapes *s) {
    int64_t dims[3];
    TRY(gru_dims(s, dims));
    for (int i = 0; i < 4; i++)
        s->out[i] = SHAPE(dims[0], dims[2]);
    return OK;
}

static Status *gru_grad_shape(Shapes *s) {
    int64_t dims[3];
    TRY(gru_dims(s, dims));
    s->out[D_X] = SHAPE(dims[0], dims[1]);
    s->out[D_H_PREV] = s->out[D_C_BAR] = SHAPE(dims[0], dims[2]);
    s->out[D_R_BAR_U_BAR] = SHAPE(dims[0], dims[2] < 0 ? -1 : 2 * dims[2]);
    return OK;
}

// ---------------------------------------- geometry

static Status *prepare_shapes(Prepare *p, Gru *own) {
    const Shape *x = &p->in[GRU_X]->shape;
    *own = (Gru){.batch = x->dims[0], .inputs = x->dims[1], .cells = p->in[GRU_H_PREV]->shape.dims[1]};
    NEED(elementwise_find(&elementwise_Sigmoid, DT_float, &own->sigmoid) &&
             elementwise_find(&elementwise_Tanh, DT_float, &own->tanh), INTERNAL, "no loops of float");
    double work = (double)own->batch * (double)own->cells * (double)(own->inputs + own->cells);
    p->cost = work > 1e15 ? (int64_t)1e15 : (int64_t)work;
    return OK;
}

static Status *gru_prepare(Prepare *p) {
    Gru *own = p->own;
    size_t bytes = 0;
    TRY(prepare_shapes(p, own));
    int64_t n = own->cells, inputs = own->inputs;
    GemmShape x_gates = {.m = own->batch, .n = 2 * n, .k = inputs, .lda = inputs, .ldb = 2 * n, .ldc = 2 * n};
    GemmShape h_gates = {.m = own->batch, .n = 2 * n, .k = n, .lda = n, .ldb = 2 * n, .ldc = 2 * n, .accumulate = true};
    GemmShape x_c = {.m = own->batch, .n = n, .k = inputs, .lda = inputs, .ldb = n, .ldc = n};
    GemmShape h_c = {.m = own->batch, .n = n, .k = n, .lda = n, .ldb = n, .ldc = n, .accumulate = true};
    TRY(product_plan(p, &x_gates, &bytes, &own->inputs_to_gates));
    TRY(product_plan(p, &h_gates, &bytes, &own->hidden_to_gates));
    TRY(product_plan(p, &x_c, &bytes, &own->inputs_to_c));
    TRY(product_plan(p, &h_c, &bytes, &own->hidden_to_c));
    TRY(lstm_reserve(p, own->batch, 2 * n, &own->at_gates));
    TRY(lstm_reserve(p, own->batch, n, &own->at_hidden));
    lanes_prepare(p, bytes, p->threads, &own->lanes);
    return OK;
}

static Status *gru_grad_prepare(Prepare *p) {
    Gru *own = p->own;
    size_t bytes = 0;
    TRY(prepare_shapes(p, own));
    int64_t n = own->cells, inputs = own->inputs;
    GemmShape x_c = {.m = own->batch, .n = inputs, .k = n, .lda = n, .ldb = n, .ldc = inputs, .tb = true};
    GemmShape h_c = {.m = own->batch, .n = n, .k = n, .lda = n, .ldb = n, .ldc = n, .tb = true};
    GemmShape x_gates = {.m = own->batch, .n = inputs, .k = 2 * n, .lda = 2 * n, .ldb = 2 * n, .ldc = inputs,
                         .tb = true,
                         .accumulate = true};
    GemmShape h_gates = {.m = own->batch, .n = n, .k = 2 * n, .lda = 2 * n, .ldb = 2 * n, .ldc = n, .tb = true};
    TRY(product_plan(p, &x_c, &bytes, &own->inputs_to_c));
    TRY(product_plan(p, &h_c, &bytes, &own->hidden_to_c));
    TRY(product_plan(p, &x_gates, &bytes, &own->inputs_to_gates));
    TRY(product_plan(p, &h_gates, &bytes, &own->hidden_to_gates));
    TRY(lstm_reserve(p, own->batch, n, &own->at_hidden));
    lanes_prepare(p, bytes, p->threads, &own->lanes);
    return OK;
}

// ---------------------------------------- forward

static float *floats(const Tensor *tensor) {
    return tensor->data;
}

static void gate_rows(void *arg, int64_t first, int64_t last) {
    const Rows *w = arg;
    int64_t n = w->own->cells;
    const float *bias = floats(w->in[GRU_B_RU]);
    for (int64_t row = first; row < last; row++) {
        float *gates = w->gates + row * 2 * n, *r = floats(w->out[Y_R]) + row * n;
        const float *before = floats(w->in[GRU_H_PREV]) + row * n;
        for (int64_t c = 0; c < 2 * n; c++)
            gates[c] += bias[c];
        elementwise_run(&w->own->sigmoid, gates, NULL, r, n, 1, 0);
        elementwise_run(&w->own->sigmoid, gates + n, NULL, floats(w->out[Y_U]) + row * n, n, 1, 0);
        for (int64_t c = 0; c < n; c++)
            w->hidden[row * n + c] = before[c] * r[c];
    }
}

static void out_rows(void *arg, int64_t first, int64_t last) {
    const Rows *w = arg;
    int64_t n = w->own->cells;
    const float *bias = floats(w->in[GRU_B_C]);
    for (int64_t row = first; row < last; row++) {
        float *y = floats(w->out[Y_C]) + row * n, *h = floats(w->out[Y_OUT]) + row * n;
        const float *u = floats(w->out[Y_U]) + row * n, *before = floats(w->in[GRU_H_PREV]) + row * n;
        for (int64_t c = 0; c < n; c++)
            y[c] += bias[c];
        elementwise_run(&w->own->tanh, y, NULL, y, n, 1, 0);
        for (int64_t c = 0; c < n; c++)
            h[c] = u[c] * before[c] + (1 - u[c]) * y[c];
    }
}

static Rows rows_of(const Kernel *k) {
    const Gru *own = k->own;
    char *scratch = k->scratch;
    return (Rows){own, k->in, k->out, (float *)(void *)(scratch + own->at_gates),
                  (float *)(void *)(scratch + own->at_hidden)};
}

static Status *gru_run(Kernel *k) {
    const Gru *own = k->own;
    int64_t n = own->cells;
    if (!own->batch || !n)
        return OK;
    Lanes lanes;
    Rows w = rows_of(k);
    const float *x = floats(k->in[GRU_X]), *w_ru = floats(k->in[GRU_W_RU]), *w_c = floats(k->in[GRU_W_C]);
    float *y = floats(k->out[Y_C]);
    lanes_open(k, &own->lanes, &lanes);
    if (!own->inputs) {
        memset(w.gates, 0, (size_t)(own->batch * 2 * n) * sizeof(float));
        memset(y, 0, (size_t)(own->batch * n) * sizeof(float));
    }
    product_run(k, &own->inputs_to_gates, &lanes, x, w_ru, w.gates);
    product_run(k, &own->hidden_to_gates, &lanes, floats(k->in[GRU_H_PREV]), w_ru + own->inputs * 2 * n, w.gates);
    kernel_parallel(k, own->batch, n * 6, gate_rows, &w);
    product_run(k, &own->inputs_to_c, &lanes, x, w_c, y);
    product_run(k, &own->hidden_to_c, &lanes, w.hidden, w_c + own->inputs * n, y);
    kernel_parallel(k, own->batch, n * 6, out_rows, &w);
    return OK;
}

// ---------------------------------------- backward

// What comes through c and u, before the products.
static void back_rows(void *arg, int64_t first, int64_t last) {
    const Rows *w = arg;
    int64_t n = w->own->cells;
    for (int64_t row = first; row < last; row++) {
        const float *u = floats(w->in[OF_U]) + row * n, *y = floats(w->in[OF_C]) + row * n;
        const float *dh = floats(w->in[OF_DH]) + row * n, *before = floats(w->in[GRU_H_PREV]) + row * n;
        float *c_bar = floats(w->out[D_C_BAR]) + row * n, *u_bar = floats(w->out[D_R_BAR_U_BAR]) + row * 2 * n + n;
        for (int64_t c = 0; c < n; c++) {
            c_bar[c] = dh[c] * (1 - u[c]) * (1 - y[c] * y[c]);
            u_bar[c] = dh[c] * (before[c] - y[c]) * u[c] * (1 - u[c]);
        }
    }
}

// What comes through r; `hidden` is the gradient of h' r.
static void reset_rows(void *arg, int64_t first, int64_t last) {
    const Rows *w = arg;
    int64_t n = w->own->cells;
    for (int64_t row = first; row < last; row++) {
        const float *r = floats(w->in[OF_R]) + row * n, *before = floats(w->in[GRU_H_PREV]) + row * n;
        float *r_bar = floats(w->out[D_R_BAR_U_BAR]) + row * 2 * n;
        for (int64_t c = 0; c < n; c++)
            r_bar[c] = w->hidden[row * n + c] * before[c] * r[c] * (1 - r[c]);
    }
}

static void before_rows(void *arg, int64_t first, int64_t last) {
    const Rows *w = arg;
    int64_t n = w->own->cells;
    for (int64_t at = first * n; at < last * n; at++)
        floats(w->out[D_H_PREV])[at] += w->hidden[at] * floats(w->in[OF_R])[at] +
                                        floats(w->in[OF_DH])[at] * floats(w->in[OF_U])[at];
}

// In the order of the chain rule: through c and u, the product with w_c, through r, the product with w_ru.
static Status *gru_grad_run(Kernel *k) {
    const Gru *own = k->own;
    int64_t n = own->cells;
    if (!own->batch || !n) {
        memset(k->out[D_X]->data, 0, tensor_bytes(k->out[D_X]));
        return OK;
    }
    Lanes lanes;
    Rows w = rows_of(k);
    const float *w_ru = floats(k->in[GRU_W_RU]), *w_c = floats(k->in[GRU_W_C]);
    float *c_bar = floats(k->out[D_C_BAR]), *gates = floats(k->out[D_R_BAR_U_BAR]);
    lanes_open(k, &own->lanes, &lanes);
    kernel_parallel(k, own->batch, n * 4, back_rows, &w);
    product_run(k, &own->inputs_to_c, &lanes, c_bar, w_c, floats(k->out[D_X]));
    product_run(k, &own->hidden_to_c, &lanes, c_bar, w_c + own->inputs * n, w.hidden);
    kernel_parallel(k, own->batch, n * 2, reset_rows, &w);
    product_run(k, &own->inputs_to_gates, &lanes, gates, w_ru, floats(k->out[D_X]));
    product_run(k, &own->hidden_to_gates, &lanes, gates, w_ru + own->inputs * 2 * n, floats(k->out[D_H_PREV]));
    kernel_parallel(k, own->batch, n * 2, before_rows, &w);
    return OK;
}

static void gru_grad(Formula *f) {
    Output *x = f->x, *y = f->y;
    Output back = Like("GRUBlockCellGrad", x[GRU_X], x[GRU_H_PREV], x[GRU_W_RU], x[GRU_W_C], x[GRU_B_RU], x[GRU_B_C],
                       y[Y_R], y[Y_U], y[Y_C], f->dy[Y_OUT]);
    Output gates = At(back, D_R_BAR_U_BAR), c_bar = At(back, D_C_BAR);
    Output seen[] = {x[GRU_X], x[GRU_H_PREV]}, reset[] = {x[GRU_X], Mul(x[GRU_H_PREV], y[Y_R])};
    f->dx[GRU_X] = At(back, D_X);
    f->dx[GRU_H_PREV] = At(back, D_H_PREV);
    f->dx[GRU_W_RU] = MatMul(Concat(seen, 2, Int(1)), gates, true, false);
    f->dx[GRU_W_C] = MatMul(Concat(reset, 2, Int(1)), c_bar, true, false);
    f->dx[GRU_B_RU] = Sum(gates, Int(0), false);
    f->dx[GRU_B_C] = Sum(c_bar, Int(0), false);
}

#define GRU_NEEDS "matrix(x), matrix(h_prev), matrix(w_ru), matrix(w_c), vector(b_ru), vector(b_c)"
// ---------------------------------------- for devices that compile

static COLD HloValue times(Hlo *h, HloValue a, HloValue b, bool transposed) {  // matrices
    Shape none = {0}, last = SHAPE(1), first = SHAPE(0);
    return hlo_dot(h, a, b, none, none, last, transposed ? last : first);
}

static COLD Status *gru_hlo(Hlo *h) {
    HloValue in[N_GRU_IN];
    for (int i = 0; i < N_GRU_IN; i++)
        in[i] = hlo_in(h, i);
    TRY(h->status);
    HloValue before = in[GRU_H_PREV];
    int64_t n = before->shape.dims[1];
    HloValue both = hlo_concat(h, (HloValue[]){in[GRU_X], before}, 2, 1);
    HloValue gates = hlo_sigmoid(h, hlo_add(h, times(h, both, in[GRU_W_RU], false), in[GRU_B_RU]));
    HloValue r = hlo_part(h, gates, 1, 0, n), u = hlo_part(h, gates, 1, n, 2 * n);
    both = hlo_concat(h, (HloValue[]){in[GRU_X], hlo_mul(h, before, r)}, 2, 1);
    HloValue c = hlo_tanh(h, hlo_add(h, times(h, both, in[GRU_W_C], false), in[GRU_B_C]));
    TRY(hlo_out(h, Y_R, r));
    TRY(hlo_out(h, Y_U, u));
    TRY(hlo_out(h, Y_C, c));
    return hlo_out(h, Y_OUT, hlo_add(h, hlo_mul(h, u, before), hlo_mul(h, hlo_minus(h, 1, u), c)));
}

static COLD Status *gru_grad_hlo(Hlo *h) {
    HloValue in[OF_DH + 1];
    for (int i = 0; i <= OF_DH; i++)
        in[i] = hlo_in(h, i);
    TRY(h->status);
    HloValue before = in[GRU_H_PREV], r = in[OF_R], u = in[OF_U], c = in[OF_C], dh = in[OF_DH];
    int64_t inputs = in[GRU_X]->shape.dims[1], all = inputs + before->shape.dims[1];
    HloValue rest = hlo_minus(h, 1, u);
    HloValue c_bar = hlo_mul(h, hlo_mul(h, dh, rest), hlo_minus(h, 1, hlo_square(h, c)));
    HloValue u_bar = hlo_mul(h, hlo_mul(h, dh, hlo_sub(h, before, c)), hlo_mul(h, u, rest));
    HloValue of_c = times(h, c_bar, in[GRU_W_C], true), hidden = hlo_part(h, of_c, 1, inputs, all);
    HloValue r_bar = hlo_mul(h, hlo_mul(h, hidden, before), hlo_mul(h, r, hlo_minus(h, 1, r)));
    HloValue gates = hlo_concat(h, (HloValue[]){r_bar, u_bar}, 2, 1), of_gates = times(h, gates, in[GRU_W_RU], true);
    HloValue direct = hlo_add(h, hlo_mul(h, hidden, r), hlo_mul(h, dh, u));
    TRY(hlo_out(h, D_X, hlo_add(h, hlo_part(h, of_gates, 1, 0, inputs), hlo_part(h, of_c, 1, 0, inputs))));
    TRY(hlo_out(h, D_H_PREV, hlo_add(h, hlo_part(h, of_gates, 1, inputs, all), direct)));
    TRY(hlo_out(h, D_C_BAR, c_bar));
    return hlo_out(h, D_R_BAR_U_BAR, gates);
}

const Op op_GRUBlockCell = {
    .signature =
        "GRUBlockCell(x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T) -> r: T, u: T, c: T, h: T; T: {float}",
    .doc = "One step of a gated recurrent unit.", .needs = GRU_NEEDS, .shape = gru_shape, .grad = gru_grad,
    .prepare = gru_prepare, .own_size = sizeof(Gru), .cpu = ANY_TYPE(gru_run), .hlo = gru_hlo,
};
const Op op_GRUBlockCellGrad = {
    .signature = "GRUBlockCellGrad(x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T, r: T, u: T, c: T, d_h: T) -> "
                 "d_x: T, d_h_prev: T, d_c_bar: T, d_r_bar_u_bar: T; T: {float}",
    .doc = "Gradient of GRUBlockCell: of the gates, from which those of the weights follow.",
    .needs = GRU_NEEDS ", matrix(r), matrix(u), matrix(c), matrix(d_h)", .shape = gru_grad_shape,
    .prepare = gru_grad_prepare, .own_size = sizeof(Gru), .cpu = ANY_TYPE(gru_grad_run), .hlo = gru_grad_hlo,
};
