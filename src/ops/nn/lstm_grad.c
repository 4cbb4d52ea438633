// LSTMBlockCellGrad, BlockLSTMGrad, BlockLSTMGradV2 — the gradients of lstm.c, from the last step to the first.
//
// do = o (1 - o) dh co;  dcs = (1 - co^2) dh o + dcs' (+ do wco);  di, df, dci likewise;  what the cells before get is
// dcs f (+ di wci + df wcf). The products with inputs and weights wait until a span of steps is through.
#include "ops/nn/lstm.h"

// The inputs behind those of the op itself, for a cell: a block has the hidden states before the gradients.
enum { OF_I = N_LSTM_IN, OF_CS, OF_F, OF_O, OF_CI, OF_CO, OF_H };
enum { MOST_IN = 18 };

typedef struct {
    const Lstm *own;
    const float *in[MOST_IN];
    const float *cs_grad, *h_grad;    // from outside
    float *cs_prev_grad, *h_prev_grad;  // of one step: what it hands to the step before; h NULL for a cell
    float *wci_grad, *wcf_grad, *wco_grad, *b_grad;  // b NULL for a cell
    float *gates;
    const float *cs_prev;
    bool carried;                     // cs_prev_grad and h_prev_grad hold what the step after handed over
} Step;

// ---------------------------------------- one step

static void gradient_row(const Step *s, int64_t row) {
    const Lstm *own = s->own;
    int64_t n = own->cells, at = row * n;
    const float *i = s->in[OF_I] + at, *f = s->in[OF_F] + at, *o = s->in[OF_O] + at, *ci = s->in[OF_CI] + at;
    const float *co = s->in[OF_CO] + at, *before = s->cs_prev + at, *cs_grad = s->cs_grad + at,
        *h_grad = s->h_grad + at;
    float *gates = s->gates + row * 4 * n, *carried = s->cs_prev_grad + at;
    const float *wci = s->in[WCI], *wcf = s->in[WCF], *wco = s->in[WCO];
    for (int64_t c = 0; c < n; c++) {
        float dh = h_grad[c] + (s->carried ? s->h_prev_grad[at + c] : 0);
        float out = o[c] * (1 - o[c]) * dh * co[c];
        float dcs = (1 - co[c] * co[c]) * dh * o[c] + (cs_grad[c] + (s->carried ? carried[c] : 0));
        if (own->peephole)
            dcs += out * wco[c];
        float in = i[c] * (1 - i[c]) * dcs * ci[c], forget = f[c] * (1 - f[c]) * dcs * before[c];
        carried[c] = dcs * f[c];
        if (own->peephole)
            carried[c] += in * wci[c] + forget * wcf[c];
        gates[own->gate[IN] + c] = in;
        gates[own->gate[CANDIDATE] + c] = (1 - ci[c] * ci[c]) * dcs * i[c];
        gates[own->gate[FORGET] + c] = forget;
        gates[own->gate[OUT] + c] = out;
    }
}

static void gradient_rows(void *arg, int64_t first, int64_t last) {
    for (int64_t row = first; row < last; row++)
        gradient_row(arg, row);
}

// Sums over the batch, for the cells [first, last): of the bias and the peepholes.
static void gradient_sums(void *arg, int64_t first, int64_t last) {
    const Step *s = arg;
    const Lstm *own = s->own;
    int64_t n = own->cells;
    for (int64_t row = 0; row < own->batch; row++) {
        const float *gates = s->gates + row * 4 * n, *cs = s->in[OF_CS] + row * n, *before = s->cs_prev + row * n;
        for (int64_t c = first; c < last && s->b_grad; c++)
            for (int gate = 0; gate < N_GATES; gate++)
                s->b_grad[gate * n + c] += gates[gate * n + c];
        for (int64_t c = first; c < last && own->peephole; c++) {
            s->wci_grad[c] += gates[own->gate[IN] + c] * before[c];
            s->wcf_grad[c] += gates[own->gate[FORGET] + c] * before[c];
            s->wco_grad[c] += gates[own->gate[OUT] + c] * cs[c];
        }
    }
}

static void gradient_step(Kernel *k, Step *step) {
    const Lstm *own = step->own;
    kernel_parallel(k, own->batch, own->cells * 8, gradient_rows, step);
    if (step->b_grad || own->peephole)
        kernel_parallel(k, own->cells, own->batch * 4, gradient_sums, step);
}

static void zero(float *at, int64_t n) {
    if (n)
        memset(at, 0, (size_t)n * sizeof *at);
}

// ---------------------------------------- a cell

static Status *cell_grad_shape(Shapes *s) {
    const LstmRow *row = node_op(s->node)->row;
    LstmDims d;
    TRY(lstm_dims(s, row, &d));
    TRY(lstm_agree(s, row, OF_I, OF_H + 2, &d));
    s->out[0] = SHAPE(d.batch, d.cells);
    s->out[1] = SHAPE(d.batch, d.cells < 0 ? -1 : 4 * d.cells);
    for (int i = 2; i < 5; i++)
        s->out[i] = s->in[WCI + i - 2];
    return OK;
}

static Status *cell_grad_prepare(Prepare *p) {
    return lstm_prepare_shapes(p, p->own);
}

static Status *cell_grad_run(Kernel *k) {
    const Lstm *own = k->own;
    Step step = {.own = own};
    float *out[5];
    for (int i = 0; i < k->n_in; i++)
        step.in[i] = stage_load(&own->in[i], k, k->in[i]->data);
    for (int i = 0; i < 5; i++)
        out[i] = stage_target(&own->out[i], k, k->out[i]->data);
    for (int i = 2; i < 5; i++)
        zero(out[i], tensor_count(k->out[i]));
    step.cs_prev = step.in[CS_PREV];
    step.cs_grad = step.in[OF_H];    // a cell's hidden state is no input
    step.h_grad = step.in[OF_H + 1];
    step.cs_prev_grad = out[0];
    step.gates = out[1];
    step.wci_grad = out[2], step.wcf_grad = out[3], step.wco_grad = out[4];
    gradient_step(k, &step);
    for (int i = 0; i < 5; i++)
        stage_store(&own->out[i], k, k->out[i]->data);
    return OK;
}

// ---------------------------------------- a block

static Status *block_grad_shape(Shapes *s) {
    const LstmRow *row = node_op(s->node)->row;
    LstmDims d;
    TRY(lstm_dims(s, row, &d));
    TRY(lstm_agree(s, row, OF_I, OF_H + 3, &d));
    for (int i = 0; i < N_LSTM_IN; i++)
        s->out[i] = s->in[1 + i];
    s->out[CS_PREV] = s->out[H_PREV] = SHAPE(d.batch, d.cells);
    return OK;
}

static Status *block_grad_prepare(Prepare *p) {
    Lstm *own = p->own;
    TRY(lstm_prepare_shapes(p, own));
    int64_t wide = 4 * own->cells, joined = own->inputs + own->cells;
    size_t bytes = 0;
    for (int i = 0; i < 2; i++) {
        int64_t rows = (i ? own->steps % own->span : own->span) * own->batch;
        GemmShape inputs = {.m = rows, .n = own->inputs, .k = wide, .lda = wide, .ldb = wide, .ldc = own->inputs,
                            .tb = true};
        GemmShape weights = {.m = joined, .n = wide, .k = rows, .lda = joined, .ldb = wide, .ldc = wide, .ta = true,
                             .accumulate = true};
        TRY(product_plan(p, &inputs, &bytes, &own->to_inputs[i]));
        TRY(product_plan(p, &weights, &bytes, &own->to_weights[i]));
    }
    GemmShape hidden = {.m = own->batch, .n = own->cells, .k = wide, .lda = wide, .ldb = wide, .ldc = own->cells,
                        .tb = true};
    TRY(product_plan(p, &hidden, &bytes, &own->to_hidden));
    TRY(lstm_reserve(p, own->span * own->batch, wide, &own->at_gates));
    TRY(lstm_reserve(p, own->span * own->batch, joined, &own->at_joined));
    lanes_prepare(p, bytes, p->threads, &own->lanes);
    p->cost = p->cost > INT64_MAX / 2 ? p->cost : 2 * p->cost;
    return OK;
}

// [x h'] of the steps [first, first + span), one row for each of the batch.
static void join(const Step *whole, float *joined, int64_t first, int64_t span) {
    const Lstm *own = whole->own;
    int64_t rows = own->batch, n = own->cells, inputs = own->inputs;
    for (int64_t i = 0; i < span * rows; i++) {
        int64_t at = first * rows + i;
        const float *hidden = at < rows ? whole->in[H_PREV] + at * n : whole->in[OF_H] + (at - rows) * n;
        memcpy(joined + i * (inputs + n), whole->in[X] + at * inputs, (size_t)inputs * sizeof(float));
        memcpy(joined + i * (inputs + n) + inputs, hidden, (size_t)n * sizeof(float));
    }
}

static void run_back(Kernel *k, const Step *whole, Lanes *lanes, float *const *out, int64_t first) {
    const Lstm *own = whole->own;
    int64_t rows = own->batch, n = own->cells, span = lstm_span(own, first);
    float *gates = (float *)(void *)((char *)k->scratch + own->at_gates);
    float *joined = (float *)(void *)((char *)k->scratch + own->at_joined);
    for (int64_t t = first + span - 1; t >= first; t--) {
        Step step = *whole;
        for (int i = OF_I; i <= OF_H; i++)
            step.in[i] += t * rows * n;
        step.cs_grad += t * rows * n;
        step.h_grad += t * rows * n;
        step.cs_prev = t ? whole->in[OF_CS] + (t - 1) * rows * n : whole->in[CS_PREV];
        step.gates = gates + (t - first) * rows * 4 * n;
        step.carried = t + 1 < own->steps;
        gradient_step(k, &step);
        product_run(k, &own->to_hidden, lanes, step.gates, whole->in[W] + own->inputs * 4 * n, whole->h_prev_grad);
    }
    join(whole, joined, first, span);
    product_run(k, lstm_product(own, own->to_inputs, first), lanes, gates, whole->in[W],
                out[X] + first * rows * own->inputs);
    product_run(k, lstm_product(own, own->to_weights, first), lanes, joined, gates, out[W]);
}

static Status *block_grad_run(Kernel *k) {
    const Lstm *own = k->own;
    Lanes lanes;
    Step whole = {.own = own};
    float *out[N_LSTM_IN];
    for (int i = 1; i < k->n_in; i++)
        whole.in[i - 1] = stage_load(&own->in[i - 1], k, k->in[i]->data);
    for (int i = 0; i < N_LSTM_IN; i++) {
        out[i] = stage_target(&own->out[i], k, k->out[i]->data);
        zero(out[i], tensor_count(k->out[i]));
    }
    lanes_open(k, &own->lanes, &lanes);
    whole.cs_grad = whole.in[OF_H + 1];
    whole.h_grad = whole.in[OF_H + 2];
    whole.cs_prev_grad = out[CS_PREV];
    whole.h_prev_grad = out[H_PREV];
    whole.wci_grad = out[WCI], whole.wcf_grad = out[WCF], whole.wco_grad = out[WCO], whole.b_grad = out[B];
    int64_t spans = own->steps ? (own->steps - 1) / own->span + 1 : 0;
    for (int64_t i = spans - 1; i >= 0 && own->batch && own->cells; i--)
        run_back(k, &whole, &lanes, out, i * own->span);
    for (int i = 0; i < N_LSTM_IN; i++)
        stage_store(&own->out[i], k, k->out[i]->data);
    return OK;
}

// ---------------------------------------- for devices that compile

typedef struct {
    const LstmRow *row;
    HloValue in[MOST_IN];              // as float
    HloValue cs_before, cs_grad, h_grad;
    bool peephole;
} BackWords;

typedef struct {
    HloValue gates, cs_grad;           // and what the step before gets
    HloValue wci, wcf, wco;            // NULL without peepholes
} BackResult;

static COLD HloValue slope(Hlo *h, HloValue y) {  // of a sigmoid
    return hlo_mul(h, y, hlo_minus(h, 1, y));
}

static COLD BackResult back_words(Hlo *h, const BackWords *w) {
    const HloValue *in = w->in;
    HloValue co = in[OF_CO], ci = in[OF_CI], before = w->cs_before;
    HloValue out = hlo_mul(h, slope(h, in[OF_O]), hlo_mul(h, w->h_grad, co));
    HloValue through = hlo_mul(h, hlo_minus(h, 1, hlo_square(h, co)), hlo_mul(h, w->h_grad, in[OF_O]));
    HloValue dcs = hlo_add(h, through, w->cs_grad);
    if (w->peephole)
        dcs = hlo_add(h, dcs, hlo_mul(h, out, in[WCO]));
    HloValue input = hlo_mul(h, slope(h, in[OF_I]), hlo_mul(h, dcs, ci));
    HloValue forget = hlo_mul(h, slope(h, in[OF_F]), hlo_mul(h, dcs, before));
    HloValue candidate = hlo_mul(h, hlo_minus(h, 1, hlo_square(h, ci)), hlo_mul(h, dcs, in[OF_I]));
    BackResult r = {.cs_grad = hlo_mul(h, dcs, in[OF_F])};
    if (w->peephole) {
        r.cs_grad = hlo_add(h, r.cs_grad, hlo_add(h, hlo_mul(h, input, in[WCI]), hlo_mul(h, forget, in[WCF])));
        r.wci = hlo_reduce(h, "add", hlo_mul(h, input, before), BIT(0), DROP);
        r.wcf = hlo_reduce(h, "add", hlo_mul(h, forget, before), BIT(0), DROP);
        r.wco = hlo_reduce(h, "add", hlo_mul(h, out, in[OF_CS]), BIT(0), DROP);
    }
    bool swap = w->row->forget_first;
    HloValue gates[] = {input, swap ? forget : candidate, swap ? candidate : forget, out};
    r.gates = hlo_concat(h, gates, N_GATES, 1);
    return r;
}

static COLD BackWords back_inputs(Hlo *h, int first) {
    BackWords w = {.row = node_op(h->node)->row, .peephole = node_bool(h->node, "use_peephole")};
    for (int i = 0; first + i < h->n_in; i++)
        w.in[i] = hlo_wide(h, hlo_in(h, first + i));
    return w;
}

static COLD Status *cell_grad_hlo(Hlo *h) {
    BackWords w = back_inputs(h, 0);
    w.cs_before = w.in[CS_PREV];
    w.cs_grad = w.in[OF_H];        // a cell's hidden state is no input
    w.h_grad = w.in[OF_H + 1];
    BackResult r = back_words(h, &w);
    TRY(hlo_out(h, 0, hlo_cast(h, r.cs_grad, hlo_out_type(h, 0))));
    TRY(hlo_out(h, 1, hlo_cast(h, r.gates, hlo_out_type(h, 1))));
    const HloValue sums[] = {r.wci, r.wcf, r.wco};
    for (int i = 0; i < 3; i++)
        TRY(hlo_out(h, 2 + i, w.peephole ? hlo_cast(h, sums[i], hlo_out_type(h, 2 + i))
                                         : hlo_fill(h, 0, hlo_out_type(h, 2 + i), *hlo_out_shape(h, 2 + i))));
    return OK;
}

typedef struct {
    BackWords whole;
    HloValue cells, hidden;        // of the steps before: [time, batch, cells]
    int64_t steps;
} BlockWords;

static COLD HloValue step_of(Hlo *h, HloValue x, const HloValue *at) {
    Shape one = x->shape;
    one.dims[0] = 1;
    return hlo_reshape(h, hlo_dynamic_slice(h, x, at, one), SHAPE(one.dims[1], one.dims[2]));
}

// From the last step to the first. State: the gradients in the order of the inputs, of cells and hidden state so far.
static COLD void block_back(Hlo *h, HloValue i, HloValue *state, void *context) {
    const BlockWords *own = context;
    BackWords w = own->whole;
    HloValue zero = hlo_int(h, 0, DT_int32), at[3] = {hlo_minus(h, (double)own->steps - 1, i), zero, zero};
    Shape none = {0}, last = SHAPE(1), first = SHAPE(0);
    for (int k = OF_I; k <= OF_CO; k++)
        w.in[k] = step_of(h, own->whole.in[k], at);
    w.cs_before = step_of(h, own->cells, at);
    w.cs_grad = hlo_add(h, step_of(h, own->whole.in[OF_H + 1], at), state[CS_PREV]);
    w.h_grad = hlo_add(h, step_of(h, own->whole.in[OF_H + 2], at), state[H_PREV]);
    BackResult r = back_words(h, &w);
    HloValue x = step_of(h, w.in[X], at), hidden = step_of(h, own->hidden, at);
    HloValue back = hlo_dot(h, r.gates, w.in[W], none, none, last, last);
    HloValue joined = hlo_concat(h, (HloValue[]){x, hidden}, 2, 1);
    int64_t inputs = x->shape.dims[1], all = joined->shape.dims[1];
    state[X] = hlo_update_slice(h, state[X], hlo_expand(h, hlo_part(h, back, 1, 0, inputs), 0), at);
    state[H_PREV] = hlo_part(h, back, 1, inputs, all);
    state[CS_PREV] = r.cs_grad;
    state[W] = hlo_add(h, state[W], hlo_dot(h, joined, r.gates, none, none, first, first));
    state[B] = hlo_add(h, state[B], hlo_reduce(h, "add", r.gates, BIT(0), DROP));
    if (w.peephole) {
        state[WCI] = hlo_add(h, state[WCI], r.wci);
        state[WCF] = hlo_add(h, state[WCF], r.wcf);
        state[WCO] = hlo_add(h, state[WCO], r.wco);
    }
}

static COLD HloValue moved_on(Hlo *h, HloValue before, HloValue all) {  // a step later: `before`, then all but the last
    HloValue parts[] = {hlo_expand(h, before, 0), hlo_part(h, all, 0, 0, all->shape.dims[0] - 1)};
    return hlo_concat(h, parts, 2, 0);
}

static COLD Status *block_grad_hlo(Hlo *h) {
    BlockWords own = {.whole = back_inputs(h, 1), .steps = (int64_t)hlo_need_number(h, 0, 0)};
    HloValue state[N_LSTM_IN];
    TRY(h->status);
    const HloValue *in = own.whole.in;
    NEED(own.steps <= in[X]->shape.dims[0] && in[X]->shape.dims[0] > 0, UNIMPLEMENTED, "%lld steps", (long long)own.steps);
    own.cells = moved_on(h, in[CS_PREV], in[OF_CS]);
    own.hidden = moved_on(h, in[H_PREV], in[OF_H]);
    for (int i = 0; i < N_LSTM_IN; i++)
        state[i] = hlo_fill(h, 0, DT_float, in[i]->shape);
    hlo_loop(h, own.steps, state, N_LSTM_IN, block_back, &own);
    for (int i = 0; i < N_LSTM_IN; i++)
        TRY(hlo_out(h, i, hlo_cast(h, state[i], hlo_out_type(h, i))));
    return OK;
}

#define OF_OP "x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T, i: T, cs: T, f: T, o: T, ci: T, co: T, "
#define TO_OP "x_grad: T, cs_prev_grad: T, h_prev_grad: T, w_grad: T, wci_grad: T, wcf_grad: T, wco_grad: T, b_grad: T; "
#define GRAD_END "use_peephole: bool; T: {half, float}"
#define VECTORS "matrix(cs_prev), matrix(h_prev), matrix(w), vector(wci), vector(wcf), vector(wco), vector(b), "
#define IN_TIME "rank(i) == 3, rank(cs) == 3, rank(f) == 3, rank(o) == 3, rank(ci) == 3, rank(co) == 3, rank(h) == 3, " \
    "rank(cs_grad) == 3, rank(h_grad) == 3"
static const LstmRow one_cell = {false, false}, block = {true, false}, block_v2 = {true, true};

const Op op_LSTMBlockCellGrad = {
    .signature = "LSTMBlockCellGrad(" OF_OP "cs_grad: T, h_grad: T) -> cs_prev_grad: T, dicfo: T, wci_grad: T, "
                 "wcf_grad: T, wco_grad: T; " GRAD_END,
    .doc = "Gradient of LSTMBlockCell: of the gates, from which those of inputs and weights follow.",
    .needs = "matrix(x), " VECTORS "matrix(i), matrix(cs), matrix(f), matrix(o), matrix(ci), matrix(co), "
             "matrix(cs_grad), matrix(h_grad)",
    .shape = cell_grad_shape, .prepare = cell_grad_prepare, .own_size = sizeof(Lstm), .cpu = ANY_TYPE(cell_grad_run),
    .row = &one_cell, .hlo = cell_grad_hlo,
};
const Op op_BlockLSTMGrad = {
    .signature = "BlockLSTMGrad(seq_len_max: int64, " OF_OP "h: T, cs_grad: T, h_grad: T) -> " TO_OP GRAD_END,
    .doc = "Gradient of BlockLSTM.", .needs = "scalar(seq_len_max), rank(x) == 3, " VECTORS IN_TIME,
    .shape = block_grad_shape, .prepare = block_grad_prepare, .own_size = sizeof(Lstm),
    .cpu = ANY_TYPE(block_grad_run), .row = &block, .host = BIT(0), .hlo = block_grad_hlo,
};
const Op op_BlockLSTMGradV2 = {
    .signature = "BlockLSTMGradV2(seq_len_max: int64, " OF_OP "h: T, cs_grad: T, h_grad: T) -> " TO_OP GRAD_END,
    .doc = "Gradient of BlockLSTMV2.", .needs = "scalar(seq_len_max), rank(x) == 3, " VECTORS IN_TIME,
    .shape = block_grad_shape, .prepare = block_grad_prepare, .own_size = sizeof(Lstm),
    .cpu = ANY_TYPE(block_grad_run), .row = &block_v2, .host = BIT(0), .hlo = block_grad_hlo,
};
