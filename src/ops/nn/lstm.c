// LSTMBlockCell, BlockLSTM, BlockLSTMV2 — the cells of an LSTM, for one step and for all.
//
// i, f, o = sigmoid, ci = tanh of [x h'] w + b;  cs = i ci + f cs';  h = o tanh(cs). With peepholes i and f also see
// cs', and o sees cs. The inputs' share of many steps is one product; the hidden state's follows step by step.
#include "ops/nn/lstm.h"
#include "loops/tuning.h"

// ---------------------------------------- products

Status *product_plan(Prepare *p, const GemmShape *shape, size_t *lane_bytes, Product *out) {
    *out = (Product){.cost = 1};
    if (!shape->m || !shape->n || !shape->k)
        return OK;
    int threads = p->threads < 1 ? 1 : p->threads;
    NEED(gemm_prepare(DT_float, shape, 1, 0, 0, 0, threads, &out->plan), INTERNAL, "no product of float");
    double ns = (double)shape->m * (double)shape->n * (double)shape->k / 8;
    if (out->plan.units)
        out->cost = ns > 1e15 ? (int64_t)1e15 : (int64_t)ns / out->plan.units + 1;
    *lane_bytes = out->plan.scratch > *lane_bytes ? out->plan.scratch : *lane_bytes;
    return OK;
}

typedef struct {
    const Product *product;
    Lanes *lanes;
    const float *a, *b;
    float *c;
} Multiplying;

static void product_units(void *arg, int64_t first, int64_t last) {
    const Multiplying *w = arg;
    int lane = lanes_take(w->lanes);
    gemm_run(&w->product->plan, w->a, w->b, w->c, lanes_memory(w->lanes, lane), first, last);
    lanes_give(w->lanes, lane);
}

void product_run(Kernel *k, const Product *product, Lanes *lanes, const float *a, const float *b, float *c) {
    Multiplying w = {product, lanes, a, b, c};
    if (product->plan.units)
        kernel_parallel(k, product->plan.units, product->cost, product_units, &w);
}

// ---------------------------------------- shapes

static Status *agree(int64_t *known, int64_t seen, const char *what) {
    NEED(seen < 0 || *known < 0 || *known == seen, INVALID_ARGUMENT, "%s is %lld here and %lld there", what,
         (long long)*known, (long long)seen);
    *known = seen < 0 ? *known : seen;
    return OK;
}

static int64_t dim_at(const Shape *shape, int i) {
    return shape->rank < 0 ? -1 : shape->dims[i];
}

Status *lstm_dims(const Shapes *s, const LstmRow *row, LstmDims *out) {
    const Shape *in = s->in + row->block;
    int at = row->block;
    *out = (LstmDims){row->block ? dim_at(&in[X], 0) : 1, dim_at(&in[X], at), dim_at(&in[X], at + 1), -1};
    for (int i = CS_PREV; i <= H_PREV; i++) {
        TRY(agree(&out->batch, dim_at(&in[i], 0), "the batch"));
        TRY(agree(&out->cells, dim_at(&in[i], 1), "the number of cells"));
    }
    for (int i = WCI; i <= WCO && (row->block || node_bool(s->node, "use_peephole")); i++)
        TRY(agree(&out->cells, dim_at(&in[i], 0), "the number of cells"));
    int64_t gates = dim_at(&in[B], 0), rows = dim_at(&in[W], 0);
    TRY(agree(&gates, dim_at(&in[W], 1), "the width of the gates"));
    NEED(gates < 0 || gates % 4 == 0, INVALID_ARGUMENT, "the width of the gates is %lld, not a multiple of 4",
         (long long)gates);
    TRY(agree(&out->cells, gates < 0 ? -1 : gates / 4, "the number of cells"));
    NEED(rows < 0 || out->cells < 0 || rows >= out->cells, INVALID_ARGUMENT, "w has %lld rows for %lld cells",
         (long long)rows, (long long)out->cells);
    return agree(&out->inputs, rows < 0 || out->cells < 0 ? -1 : rows - out->cells, "the number of inputs");
}

Status *lstm_agree(const Shapes *s, const LstmRow *row, int first, int last, LstmDims *dims) {
    for (int i = first; i < last; i++) {
        const Shape *in = &s->in[row->block + i];
        if (row->block)
            TRY(agree(&dims->time, dim_at(in, 0), "the number of steps"));
        TRY(agree(&dims->batch, dim_at(in, row->block), "the batch"));
        TRY(agree(&dims->cells, dim_at(in, row->block + 1), "the number of cells"));
    }
    return OK;
}

static Status *lstm_shape(Shapes *s) {
    const LstmRow *row = node_op(s->node)->row;
    LstmDims d;
    TRY(lstm_dims(s, row, &d));
    for (int i = 0; i < N_LSTM_OUT; i++)
        s->out[i] = row->block ? SHAPE(d.time, d.batch, d.cells) : SHAPE(d.batch, d.cells);
    return OK;
}

// ---------------------------------------- geometry

Status *lstm_reserve(Prepare *p, int64_t rows, int64_t columns, size_t *out) {
    size_t n, bytes;
    *out = round_up(p->scratch, 64);
    NEED(mul_size((size_t)rows, (size_t)columns, &n) && mul_size(n, 4 * sizeof(float), &bytes), RESOURCE_EXHAUSTED,
         "%lld rows of %lld are too many", (long long)rows, (long long)columns);
    p->scratch = *out + n * sizeof(float);
    return OK;
}

Status *lstm_prepare_shapes(Prepare *p, Lstm *own) {
    const LstmRow *row = node_op(p->node)->row;
    int first = row->block;
    const Shape *x = &p->in[first + X]->shape, *cs = &p->in[first + CS_PREV]->shape;
    *own = (Lstm){.block = row->block, .time = first ? x->dims[0] : 1, .batch = x->dims[first],
                  .inputs = x->dims[first + 1], .cells = cs->dims[1], .peephole = node_bool(p->node, "use_peephole")};
    own->steps = own->time;
    if (row->block) {
        own->steps = prepare_input_int(p, 0, 0);
        NEED(own->steps >= 0 && own->steps <= own->time, INVALID_ARGUMENT, "seq_len_max = %lld is not in [0, %lld]",
             (long long)own->steps, (long long)own->time);
    }
    own->gate[CANDIDATE] = (row->forget_first ? 2 : 1) * own->cells;
    own->gate[FORGET] = (row->forget_first ? 1 : 2) * own->cells;
    own->gate[OUT] = 3 * own->cells;
    double step = (double)own->batch * (double)own->cells * 16;
    own->span = step > 0 && step < TUNED_LSTM_SPAN ? min_i64((int64_t)(TUNED_LSTM_SPAN / step), own->steps) : 1;
    own->span = own->span < 1 ? 1 : own->span;
    DType dtype = p->out[0]->dtype;
    for (int i = first; i < p->n_in; i++)
        TRY(stage_input(p, dtype, DT_float, &p->in[i]->shape, false, &own->in[i - first]));
    for (int i = 0; i < p->n_out; i++)
        TRY(stage_output(p, dtype, DT_float, &p->out[i]->shape, false, &own->out[i]));
    NEED(elementwise_find(&elementwise_Sigmoid, DT_float, &own->sigmoid) &&
             elementwise_find(&elementwise_Tanh, DT_float, &own->tanh), INTERNAL, "no loops of float");
    double work = (double)own->steps * (double)own->batch * (double)own->cells * (double)(own->inputs + own->cells);
    p->cost = work > 1e15 ? (int64_t)1e15 : (int64_t)work;
    return OK;
}

static Status *lstm_prepare(Prepare *p) {
    Lstm *own = p->own;
    TRY(lstm_prepare_shapes(p, own));
    const AttrValue *bias = node_attr_find(p->node, "forget_bias");
    own->forget_bias = bias ? bias->f : 0;
    own->clip = node_float(p->node, "cell_clip");
    int64_t wide = 4 * own->cells;
    GemmShape inputs = {.n = wide, .k = own->inputs, .lda = own->inputs, .ldb = wide, .ldc = wide};
    size_t bytes = 0;
    for (int i = 0; i < 2; i++) {
        inputs.m = (i ? own->steps % own->span : own->span) * own->batch;
        TRY(product_plan(p, &inputs, &bytes, &own->of_inputs[i]));
    }
    GemmShape hidden = {.m = own->batch, .n = wide, .k = own->cells, .lda = own->cells, .ldb = wide, .ldc = wide,
                        .accumulate = true};
    TRY(product_plan(p, &hidden, &bytes, &own->of_hidden));
    TRY(lstm_reserve(p, own->span * own->batch, wide, &own->at_gates));
    lanes_prepare(p, bytes, p->threads, &own->lanes);
    return OK;
}

// ---------------------------------------- kernel

// One step: rows of the batch.
typedef struct {
    const Lstm *own;
    const float *in[N_LSTM_IN];
    float *out[N_LSTM_OUT];
    float *gates;
    const float *cs_prev, *h_prev;
} Step;

static void open_gates(const Step *s, float *gates, const float *cs_prev) {
    const Lstm *own = s->own;
    const float *bias = s->in[B];
    float *in = gates, *forget = gates + own->gate[FORGET];
    for (int64_t c = 0; c < 4 * own->cells; c++)
        gates[c] += bias[c];
    for (int64_t c = 0; c < own->cells; c++)
        forget[c] += own->forget_bias;
    for (int64_t c = 0; c < own->cells && own->peephole; c++) {
        in[c] += cs_prev[c] * s->in[WCI][c];
        forget[c] += cs_prev[c] * s->in[WCF][c];
    }
}

static void cell_rows(void *arg, int64_t first, int64_t last) {
    const Step *s = arg;
    const Lstm *own = s->own;
    int64_t n = own->cells;
    for (int64_t row = first; row < last; row++) {
        float *gates = s->gates + row * 4 * n, *y[N_LSTM_OUT];
        const float *before = s->cs_prev + row * n;
        for (int i = 0; i < N_LSTM_OUT; i++)
            y[i] = s->out[i] + row * n;
        open_gates(s, gates, before);
        elementwise_run(&own->sigmoid, gates + own->gate[IN], NULL, y[Y_I], n, 1, 0);
        elementwise_run(&own->sigmoid, gates + own->gate[FORGET], NULL, y[Y_F], n, 1, 0);
        elementwise_run(&own->tanh, gates + own->gate[CANDIDATE], NULL, y[Y_CI], n, 1, 0);
        for (int64_t c = 0; c < n; c++)
            y[Y_CS][c] = y[Y_I][c] * y[Y_CI][c] + y[Y_F][c] * before[c];
        for (int64_t c = 0; c < n && own->clip > 0; c++)
            y[Y_CS][c] = fminf(fmaxf(y[Y_CS][c], -own->clip), own->clip);
        elementwise_run(&own->tanh, y[Y_CS], NULL, y[Y_CO], n, 1, 0);
        float *out = gates + own->gate[OUT];
        for (int64_t c = 0; c < n && own->peephole; c++)
            out[c] += y[Y_CS][c] * s->in[WCO][c];
        elementwise_run(&own->sigmoid, out, NULL, y[Y_O], n, 1, 0);
        for (int64_t c = 0; c < n; c++)
            y[Y_H][c] = y[Y_O][c] * y[Y_CO][c];
    }
}

static void run_steps(Kernel *k, const Step *whole, Lanes *lanes, float *gates, int64_t first) {
    const Lstm *own = whole->own;
    int64_t rows = own->batch, n = own->cells, span = lstm_span(own, first);
    if (!own->inputs)
        memset(gates, 0, (size_t)(span * rows * 4 * n) * sizeof(float));
    product_run(k, lstm_product(own, own->of_inputs, first), lanes, whole->in[X] + first * rows * own->inputs,
                whole->in[W], gates);
    for (int64_t t = first; t < first + span; t++) {
        Step step = *whole;
        step.gates = gates + (t - first) * rows * 4 * n;
        step.cs_prev = t ? whole->out[Y_CS] + (t - 1) * rows * n : whole->in[CS_PREV];
        step.h_prev = t ? whole->out[Y_H] + (t - 1) * rows * n : whole->in[H_PREV];
        for (int i = 0; i < N_LSTM_OUT; i++)
            step.out[i] += t * rows * n;
        product_run(k, &own->of_hidden, lanes, step.h_prev, whole->in[W] + own->inputs * 4 * n, step.gates);
        kernel_parallel(k, rows, n * 10, cell_rows, &step);
    }
}

static Status *lstm_run(Kernel *k) {
    const Lstm *own = k->own;
    Lanes lanes;
    Step whole = {.own = own};
    for (int i = 0; i < N_LSTM_IN; i++)
        whole.in[i] = stage_load(&own->in[i], k, k->in[own->block + i]->data);
    for (int i = 0; i < N_LSTM_OUT; i++)
        whole.out[i] = stage_target(&own->out[i], k, k->out[i]->data);
    lanes_open(k, &own->lanes, &lanes);
    float *gates = (float *)(void *)((char *)k->scratch + own->at_gates);
    int64_t each = own->batch * own->cells, after = own->steps * each;
    for (int64_t t = 0; t < own->steps && each; t += own->span)
        run_steps(k, &whole, &lanes, gates, t);
    for (int i = 0; i < N_LSTM_OUT && each; i++)
        memset(whole.out[i] + after, 0, (size_t)((own->time - own->steps) * each) * sizeof(float));
    for (int i = 0; i < N_LSTM_OUT; i++)
        stage_store(&own->out[i], k, k->out[i]->data);
    return OK;
}

// ---------------------------------------- for devices that compile

typedef struct {
    const LstmRow *row;
    HloValue in[N_LSTM_IN];         // as float; x of all steps
    bool peephole;
    double forget_bias, clip;
} LstmWords;

static COLD HloValue gate_of(Hlo *h, HloValue gates, int at) {
    int64_t n = gates->shape.dims[1] / N_GATES;
    return hlo_part(h, gates, 1, at * n, (at + 1) * n);
}

// One step: what the outputs are.
static COLD void cell_words(Hlo *h, const LstmWords *own, HloValue x, HloValue cs, HloValue hidden, HloValue *y) {
    const HloValue *in = own->in;
    Shape none = {0}, last = SHAPE(1), first = SHAPE(0);
    HloValue both = hlo_concat(h, (HloValue[]){x, hidden}, 2, 1);
    HloValue gates = hlo_add(h, hlo_dot(h, both, in[W], none, none, last, first), in[B]);
    HloValue input = gate_of(h, gates, 0), candidate = gate_of(h, gates, own->row->forget_first ? 2 : 1);
    HloValue forget = hlo_plus(h, gate_of(h, gates, own->row->forget_first ? 1 : 2), own->forget_bias);
    HloValue out = gate_of(h, gates, 3);
    if (own->peephole) {
        input = hlo_add(h, input, hlo_mul(h, cs, in[WCI]));
        forget = hlo_add(h, forget, hlo_mul(h, cs, in[WCF]));
    }
    y[Y_I] = hlo_sigmoid(h, input);
    y[Y_F] = hlo_sigmoid(h, forget);
    y[Y_CI] = hlo_tanh(h, candidate);
    y[Y_CS] = hlo_add(h, hlo_mul(h, y[Y_I], y[Y_CI]), hlo_mul(h, y[Y_F], cs));
    if (own->clip > 0)
        y[Y_CS] = hlo_min(h, hlo_max(h, y[Y_CS], hlo_like(h, -own->clip, cs)), hlo_like(h, own->clip, cs));
    y[Y_CO] = hlo_tanh(h, y[Y_CS]);
    y[Y_O] = hlo_sigmoid(h, own->peephole ? hlo_add(h, out, hlo_mul(h, y[Y_CS], in[WCO])) : out);
    y[Y_H] = hlo_mul(h, y[Y_O], y[Y_CO]);
}

// State: cells, hidden, then the outputs of all steps.
static COLD void block_step(Hlo *h, HloValue i, HloValue *state, void *context) {
    const LstmWords *own = context;
    HloValue zero = hlo_int(h, 0, DT_int32), at[3] = {i, zero, zero}, x = own->in[X], y[N_LSTM_OUT];
    Shape one = x->shape;
    one.dims[0] = 1;
    x = hlo_reshape(h, hlo_dynamic_slice(h, x, at, one), SHAPE(one.dims[1], one.dims[2]));
    cell_words(h, own, x, state[0], state[1], y);
    for (int k = 0; k < N_LSTM_OUT; k++)
        state[2 + k] = hlo_update_slice(h, state[2 + k], hlo_expand(h, y[k], 0), at);
    state[0] = y[Y_CS];
    state[1] = y[Y_H];
}

static COLD Status *lstm_hlo(Hlo *h) {
    const AttrValue *bias = node_attr_find(h->node, "forget_bias");
    LstmWords own = {.row = node_op(h->node)->row, .peephole = node_bool(h->node, "use_peephole"),
                     .forget_bias = bias ? (double)bias->f : 0, .clip = (double)node_float(h->node, "cell_clip")};
    int first = own.row->block;
    for (int i = 0; i < N_LSTM_IN; i++)
        own.in[i] = hlo_wide(h, hlo_in(h, first + i));
    HloValue state[2 + N_LSTM_OUT] = {own.in[CS_PREV], own.in[H_PREV]}, *y = state + 2;
    TRY(h->status);
    if (own.row->block) {
        int64_t steps = (int64_t)hlo_need_number(h, 0, 0);
        NEED(shape_is_known(hlo_out_shape(h, 0)) && steps <= own.in[X]->shape.dims[0], UNIMPLEMENTED, "%lld steps", (long long)steps);
        for (int i = 0; i < N_LSTM_OUT; i++)
            y[i] = hlo_fill(h, 0, DT_float, *hlo_out_shape(h, i));
        hlo_loop(h, steps, state, 2 + N_LSTM_OUT, block_step, &own);
    } else {
        cell_words(h, &own, own.in[X], state[0], state[1], y);
    }
    for (int i = 0; i < N_LSTM_OUT; i++)
        TRY(hlo_out(h, i, hlo_cast(h, y[i], hlo_out_type(h, i))));
    return OK;
}

// ---------------------------------------- gradients

// The hidden state's and the cells' gradients are followed; those of the gates are not, as in TensorFlow, whose gates
// are outputs only for the backward pass.
static void cell_grad(Formula *f) {
    Output *x = f->x, *y = f->y, w = x[W];
    Output back = Like("LSTMBlockCellGrad", x[X], x[CS_PREV], x[H_PREV], w, x[WCI], x[WCF], x[WCO], x[B], y[Y_I],
                       y[Y_CS], y[Y_F], y[Y_O], y[Y_CI], y[Y_CO], f->dy[Y_CS], f->dy[Y_H]);
    Output gates = At(back, 1), joined = MatMul(gates, w, false, true);
    Output width = Slice(ShapeOf(x[X]), Ints(1), Ints(1)), none = Ints(0, 0);
    Output all[] = {x[X], x[H_PREV]}, begin[] = {Ints(0), width}, end[] = {Ints(-1), width};
    f->dx[X] = Slice(joined, none, Concat(end, 2, Int(0)));
    f->dx[CS_PREV] = At(back, 0);
    f->dx[H_PREV] = Slice(joined, Concat(begin, 2, Int(0)), Ints(-1, -1));
    f->dx[W] = MatMul(Concat(all, 2, Int(1)), gates, true, false);
    for (int i = 0; i < 3; i++)
        f->dx[WCI + i] = At(back, 2 + i);
    f->dx[B] = Sum(gates, Int(0), false);
}

static void grad_of(Formula *f, const char *op) {
    Output *x = f->x, *y = f->y, *of = f->x + 1;
    Output back = Like(op, x[0], of[X], of[CS_PREV], of[H_PREV], of[W], of[WCI], of[WCF], of[WCO], of[B], y[Y_I],
                       y[Y_CS], y[Y_F], y[Y_O], y[Y_CI], y[Y_CO], y[Y_H], f->dy[Y_CS], f->dy[Y_H]);
    for (int i = 0; i < N_LSTM_IN; i++)
        f->dx[1 + i] = At(back, i);
}
static void block_grad(Formula *f) {
    grad_of(f, "BlockLSTMGrad");
}
static void block_v2_grad(Formula *f) {
    grad_of(f, "BlockLSTMGradV2");
}

#define VECTORS "matrix(cs_prev), matrix(h_prev), matrix(w), vector(wci), vector(wcf), vector(wco), vector(b)"
#define LSTM_IN "x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T) -> " \
    "i: T, cs: T, f: T, o: T, ci: T, co: T, h: T; "
#define LSTM_END "use_peephole: bool = false; T: {half, float}"
#define LSTM_FIELDS .shape = lstm_shape, .prepare = lstm_prepare, .own_size = sizeof(Lstm), .cpu = ANY_TYPE(lstm_run), \
    .hlo = lstm_hlo
static const LstmRow one_cell = {false, false}, block = {true, false}, block_v2 = {true, true};

const Op op_LSTMBlockCell = {
    .signature = "LSTMBlockCell(" LSTM_IN "forget_bias: float = 1; cell_clip: float = 3; " LSTM_END,
    .doc = "One step of an LSTM.", .needs = "matrix(x), nonempty(cs_prev), " VECTORS, .grad = cell_grad,
    .row = &one_cell, LSTM_FIELDS,
};
const Op op_BlockLSTM = {
    .signature = "BlockLSTM(seq_len_max: int64, " LSTM_IN "forget_bias: float = 1; cell_clip: float = 3; " LSTM_END,
    .doc = "All steps of an LSTM.", .needs = "scalar(seq_len_max), rank(x) == 3, " VECTORS, .grad = block_grad,
    .row = &block, .host = BIT(0), LSTM_FIELDS,
};
const Op op_BlockLSTMV2 = {
    .signature = "BlockLSTMV2(seq_len_max: int64, " LSTM_IN "cell_clip: float = 0; " LSTM_END,
    .doc = "All steps of an LSTM, whose gates are in the order in, forget, candidate, out.",
    .needs = "scalar(seq_len_max), rank(x) == 3, " VECTORS, .grad = block_v2_grad, .row = &block_v2, .host = BIT(0),
    LSTM_FIELDS,
};
