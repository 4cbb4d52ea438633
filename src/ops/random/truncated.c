// ParameterizedTruncatedNormal — normal numbers between bounds, each row of the result with parameters of its own.
//
// By rejection, after Robert (1995): from the normal distribution where bounds are wide, from a uniform one where they
// are narrow, from an exponential one in a tail. The numbers are those that TensorFlow draws on one thread.
#include "ops/random/stream.h"

enum { MOST_TRIES = 1000, PIECE = 100 };
#define WIDE 1.3  // deviations inside the bounds from which on the normal distribution is drawn from

typedef struct {
    int64_t rows, each;      // rows of parameters, and numbers of each
} Truncated;

static Status *truncated_shape(Shapes *s) {
    for (int i = 1; i < 5; i++)
        NEED(s->in[i].rank <= 1, INVALID_ARGUMENT, "Input parameters must have rank 0 or 1, got %s",
             shape_text(&s->in[i]));
    return random_shape(s);
}

static Status *truncated_prepare(Prepare *p) {
    Truncated *own = p->own;
    const Shape *shape = &p->out[0]->shape;
    NEED(shape->rank >= 1, INVALID_ARGUMENT, "Input shape should have at least one element");
    int64_t count = shape_count(shape);
    own->rows = shape->dims[0];
    own->each = own->rows ? count / own->rows : 0;
    for (int i = 1; i < 5; i++) {
        int64_t n = shape_count(&p->in[i]->shape);
        NEED(n == 1 || n == own->rows, INVALID_ARGUMENT,
             "Input parameter %d should have length 1 or shape[0] = %lld, got shape %s", i, (long long)own->rows,
             shape_text(&p->in[i]->shape));
    }
    bool alike = true;       // all rows are: they are cut anew, into pieces that are worth a thread
    for (int i = 1; i < 5; i++)
        alike = alike && shape_count(&p->in[i]->shape) == 1;
    if (alike && count)
        *own = (Truncated){div_up(count, PIECE), PIECE};
    p->cost = count * 100;
    return OK;
}

static double load(const Tensor *from, int64_t row) {
    int64_t i = tensor_count(from) == 1 ? 0 : row;
    switch (from->dtype) {
    case DT_half: return (double)half_to_float(((const Half *)from->data)[i]);
    case DT_bfloat16: return (double)bfloat16_to_float(((const Bfloat16 *)from->data)[i]);
    case DT_float: return (double)((const float *)from->data)[i];
    default: return ((const double *)from->data)[i];
    }
}

static void store(const Tensor *to, int64_t i, double value) {
    switch (to->dtype) {
    case DT_half: ((Half *)to->data)[i] = half_from_float((float)value); break;
    case DT_bfloat16: ((Bfloat16 *)to->data)[i] = bfloat16_from_float((float)value); break;
    case DT_float: ((float *)to->data)[i] = (float)value; break;
    default: ((double *)to->data)[i] = value; break;
    }
}

// Numbers of one generator, a block at a time: as many as the type has in one.
typedef struct {
    Philox philox;
    DType dtype;
    int n;                   // 2 of double, 4 of others
} Draws;

static void draw(Draws *d, RandomKind kind, double *out) {
    union { Half h[4]; Bfloat16 b[4]; float f[4]; double d[2]; } block;
    Tensor drawn = {.data = &block, .dtype = d->dtype, .shape = SHAPE(d->n)};
    (void)random_fill(&d->philox, kind, d->dtype, &block, 0, d->n);
    philox_skip(&d->philox, 1);
    for (int i = 0; i < d->n; i++)
        out[i] = load(&drawn, i);
}

// What is asked for in one row, as a standard normal distribution between bounds; mirrored where that helps.
typedef struct {
    double low, high, mean, deviation;
    int64_t at, end;         // elements
    int tries;
} Row;

static bool put(const Tensor *out, Row *row, double x) {
    store(out, row->at++, x * row->deviation + row->mean);
    row->tries = 0;
    return row->at < row->end;
}

static Status *from_normal(Draws *d, const Tensor *out, Row *row) {
    double x[4];
    for (;;) {
        draw(d, RANDOM_NORMAL, x);
        for (int i = 0; i < d->n; i++) {
            if (x[i] < row->low || x[i] > row->high)
                NEED(++row->tries <= MOST_TRIES, INTERNAL, "TruncatedNormal randn rejection sampler exceeded maximum "
                     "iterations for [%g, %g]", row->low, row->high);
            else if (!put(out, row, x[i]))
                return OK;
        }
    }
}

// A uniform proposal in [low, high], accepted by the density relative to its highest point there. After MOST_TRIES the
// proposal is taken as it is, as in TensorFlow.
static void from_uniform(Draws *d, const Tensor *out, Row *row) {
    double x[4], u[4], nearest = row->low < 0 ? 0 : row->low * row->low;
    for (;;) {
        draw(d, RANDOM_UNIFORM, x);
        draw(d, RANDOM_UNIFORM, u);
        for (int i = 0; i < d->n; i++) {
            double z = x[i] * (row->high - row->low) + row->low;
            if (u[i] > exp((nearest - z * z) / 2) && row->tries + 1 < MOST_TRIES)
                row->tries++;
            else if (!put(out, row, z))
                return;
        }
    }
}

// An exponential proposal with the rate that Robert shows to be best, for a one-sided tail.
static void from_tail(Draws *d, const Tensor *out, Row *row) {
    double x[4], rate = (row->low + sqrt(row->low * row->low + 4)) / 2;
    for (;;) {
        draw(d, RANDOM_UNIFORM, x);
        for (int i = 0; i < d->n; i += 2) {
            double z = -log(x[i]) / rate + row->low, apart = row->low < rate ? z - rate : row->low - rate;
            if (!(x[i + 1] <= exp(-apart * apart / 2) && z < row->high) && row->tries + 1 < MOST_TRIES)
                row->tries++;
            else if (!put(out, row, z))
                return;
        }
    }
}

static Status *fill_row(Kernel *k, Draws *draws, int64_t index) {
    const Truncated *own = k->own;
    double mean = load(k->in[1], index), deviation = load(k->in[2], index);
    double low = load(k->in[3], index), high = load(k->in[4], index);
    NEED(deviation > 0 && low < high && (isfinite(low) || isfinite(high)) && isfinite(mean), INVALID_ARGUMENT,
         "Invalid parameters: mean %g, deviation %g, bounds %g and %g", mean, deviation, low, high);
    Row row = {.mean = mean, .deviation = deviation, .at = index * own->each};
    row.end = min_i64(row.at + own->each, tensor_count(k->out[0]));
    if ((isinf(low) && low < 0) || high < mean) {
        double kept = low;
        low = high;
        high = kept;
        row.deviation = -deviation;
    }
    row.low = (low - mean) / row.deviation;
    row.high = (high - mean) / row.deviation;
    double root = sqrt(row.low * row.low + 4), narrow = 2 * exp(0.5 + row.low * (row.low - root) / 4) / (row.low + root);
    if ((row.low < -WIDE && row.high >= 0) || (row.high > WIDE && row.low <= 0))
        return from_normal(draws, k->out[0], &row);
    if (row.high - row.low < narrow)
        from_uniform(draws, k->out[0], &row);
    else
        from_tail(draws, k->out[0], &row);
    return OK;
}

// One thread: a row begins where the generator stands after the one before.
static Status *truncated_run(Kernel *k) {
    const Truncated *own = k->own;
    Draws draws = {.dtype = k->out[0]->dtype, .n = k->out[0]->dtype == DT_double ? 2 : 4};
    if (!tensor_count(k->out[0]))
        return OK;
    TRY(stream_take(k, (uint64_t)own->rows * 2 * MOST_TRIES * ((uint64_t)own->each + 3) / 4, &draws.philox));
    for (int64_t row = 0; row < own->rows; row++) {
        TRY(context_check(k->step));
        TRY(fill_row(k, &draws, row));
    }
    return OK;
}

const Op op_ParameterizedTruncatedNormal = {
    .signature = "ParameterizedTruncatedNormal(shape: T, means: dtype, stdevs: dtype, minvals: dtype, maxvals: dtype) -> "
                 "output: dtype; seed: int = 0; seed2: int = 0; dtype: floats_half_first; T: {int32, int64}; stateful",
    .doc = "Normal numbers between bounds, each row with parameters of its own.", .needs = "vector(shape)",
    .shape = truncated_shape, .prepare = truncated_prepare, .own_size = sizeof(Truncated), .cpu = ANY_TYPE(truncated_run),
    .host = BIT(0), .flags = OP_NO_GRADIENT, HAS_STREAM,
};
