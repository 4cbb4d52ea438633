// Gamma and Poisson — random numbers of distributions with a parameter each, by rejection.
//
// Every number has its own part of the stream, 256 blocks, so that it doesn't matter who draws which.
#include "ops/random/stream.h"

enum { BLOCKS_EACH = 256 };

typedef struct {
    int64_t parameters, each;   // parameters, and numbers of each
} Distribution;

// The extents of `shape`, then those of the parameters.
static Status *distribution_shape(Shapes *s) {
    Shape front;
    TRY(random_shape(s));
    front = s->out[0];
    const Shape *back = &s->in[1];
    s->out[0] = UNKNOWN_SHAPE;
    if (front.rank < 0 || back->rank < 0)
        return OK;
    NEED(front.rank + back->rank <= MAX_RANK, INVALID_ARGUMENT, "the result has %d dimensions, more than %d",
         front.rank + back->rank, MAX_RANK);
    for (int i = 0; i < back->rank; i++)
        front.dims[front.rank + i] = back->dims[i];
    front.rank += back->rank;
    TRY(shape_check(&front));
    s->out[0] = front;
    return OK;
}

static Status *distribution_prepare(Prepare *p) {
    Distribution *own = p->own;
    own->parameters = shape_count(&p->in[1]->shape);
    int64_t count = shape_count(&p->out[0]->shape);
    own->each = own->parameters ? count / own->parameters : 0;
    p->cost = count * 100;
    return OK;
}

// Uniform and normal numbers of one stream, in pairs, the later of a pair first.
typedef struct {
    Philox philox;
    double uniform[2], normal[2];
    int uniforms, normals;      // left of each pair
} Draws;

static double draw_uniform(Draws *d) {
    if (!d->uniforms) {
        (void)random_fill(&d->philox, RANDOM_UNIFORM, DT_double, d->uniform, 0, 2);
        philox_skip(&d->philox, 1);
        d->uniforms = 2;
    }
    return d->uniform[--d->uniforms];
}

static double draw_normal(Draws *d) {
    if (!d->normals) {
        (void)random_fill(&d->philox, RANDOM_NORMAL, DT_double, d->normal, 0, 2);
        philox_skip(&d->philox, 1);
        d->normals = 2;
    }
    return d->normal[--d->normals];
}

// Marsaglia and Tsang (2000): a cubed normal number, accepted nearly always. For alpha < 1 that of alpha + 1, times
// U^(1 / alpha). 0.0331 is the paper's squeeze, which mostly saves the logarithms.
static double draw_gamma(Draws *draws, double alpha) {
    if (alpha == 1)
        return -log1p(-draw_uniform(draws));
    double d = alpha + (alpha < 1 ? 2.0 / 3 : -1.0 / 3), c = 1.0 / 3 / sqrt(d);
    if (!(d > 0) || !isfinite(d))
        return NAN;
    for (;;) {
        double x = draw_normal(draws), v = 1 + c * x;
        if (v <= 0)
            continue;
        v = v * v * v;
        double u = draw_uniform(draws);
        if (u < 1 - 0.0331 * (x * x) * (x * x) || log(u) < 0.5 * x * x + d * (1 - v + log(v)))
            return d * v * (alpha < 1 ? pow(draw_uniform(draws), 1 / alpha) : 1);
    }
}

// Knuth: multiplies uniform numbers until they are below exp(-rate). It takes about `rate` draws, so larger rates go
// the other way.
static double draw_poisson_few(Draws *draws, double rate, double most) {
    double limit = exp(-rate), product = 1;
    for (double x = 0;; x++) {
        product *= draw_uniform(draws);
        if (product <= limit && x <= most)
            return x;
        if (x > most)
            return most;
    }
}

// Hörmann (1993): transformed rejection (PTRS), for rates of 10 and more; the constants are the paper's. A few draws
// whatever the rate is.
static double draw_poisson_many(Draws *draws, double rate, double most) {
    double b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b, inverse = 1.1239 + 1.1328 / (b - 3.4);
    for (int tries = 0; tries < 10000; tries++) {
        double u = draw_uniform(draws) - 0.5, v = draw_uniform(draws), shifted = 0.5 - fabs(u);
        double k = floor((2 * a / shifted + b) * u + rate + 0.43);
        if (k > most)
            continue;
        if (shifted >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2))
            return k;
        if (k < 0 || (shifted < 0.013 && v > shifted))
            continue;
        int sign;
        if (log(v * inverse / (a / (shifted * shifted) + b)) <= -rate + k * log(rate) - lgamma_r(k + 1, &sign))
            return k;
    }
    return most;  // the rate is beyond what the type can hold
}

static double draw_poisson(Draws *draws, double rate, double most) {
    if (isnan(rate) || rate < 0)
        return NAN;
    if (isinf(rate))
        return INFINITY;
    return rate < 10 ? draw_poisson_few(draws, rate, most) : draw_poisson_many(draws, rate, most);
}

// ---------------------------------------- kernels

static double load(const Tensor *from, int64_t i) {
    switch (from->dtype) {
    case DT_half: return (double)half_to_float(((const Half *)from->data)[i]);
    case DT_float: return (double)((const float *)from->data)[i];
    case DT_double: return ((const double *)from->data)[i];
    default: return (double)tensor_int(from, i);
    }
}

static double most_of(DType dtype) {
    return dtype == DT_half ? 65504 : dtype == DT_int32 ? (double)INT32_MAX : dtype == DT_int64 ? 9007199254740992.0 :
           dtype == DT_float ? 3.4028234663852886e38 : 1.7976931348623157e308;
}

static void store(const Tensor *to, int64_t i, double value) {
    double whole = isnan(value) ? 0 : fmax(0, fmin(value, most_of(to->dtype)));
    switch (to->dtype) {
    case DT_half: ((Half *)to->data)[i] = half_from_float((float)value); break;
    case DT_float: ((float *)to->data)[i] = (float)value; break;
    case DT_double: ((double *)to->data)[i] = value; break;
    case DT_int32: ((int32_t *)to->data)[i] = (int32_t)whole; break;
    default: ((int64_t *)to->data)[i] = (int64_t)whole; break;
    }
}

typedef struct {
    Kernel *k;
    const Tensor *parameters;
    const Philox *philox;
    bool poisson;
} Work;

static void draw_numbers(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    const Distribution *own = work->k->own;
    for (int64_t i = first; i < last; i++) {
        Draws draws = {.philox = *work->philox};
        philox_skip(&draws.philox, (uint64_t)i * BLOCKS_EACH);
        int64_t which = i / own->each, number = i % own->each;
        double parameter = load(work->parameters, which);
        store(work->k->out[0], number * own->parameters + which,
              work->poisson ? draw_poisson(&draws, parameter, most_of(work->k->out[0]->dtype))
                            : draw_gamma(&draws, parameter));
    }
}

static Status *draw_all(Kernel *k, const Tensor *parameters, const Philox *philox, bool poisson) {
    const Distribution *own = k->own;
    Work work = {k, parameters, philox, poisson};
    kernel_parallel(k, own->parameters * own->each, 100, draw_numbers, &work);
    return OK;
}

static Status *distribution_run(Kernel *k, bool poisson) {
    const Distribution *own = k->own;
    int64_t count = own->parameters * own->each;
    Philox philox;
    if (!count)
        return OK;
    TRY(stream_take(k, random_reserved((uint64_t)count), &philox));
    return draw_all(k, k->in[1], &philox, poisson);
}

static Status *gamma_run(Kernel *k) {
    return distribution_run(k, false);
}
static Status *poisson_run(Kernel *k) {
    return distribution_run(k, true);
}

// d sample / d alpha, where the share of smaller samples stays: -(dP/da) / (dP/dx).
static void gamma_grad_expand(Formula *f) {
    Output alpha = f->x[0], sample = f->x[1];
    Output log_density = Sub(Sub(Mul(Sub(alpha, Scalar(1, alpha)), Log(sample)), sample), Lgamma(alpha));
    f->results[0] = Neg(Mul(formula_2(f, "IgammaGradA", alpha, sample), Exp(Neg(log_density))));
}

// Each draw's share, summed over the draws, which stand before alpha's own dimensions.
static void gamma_grad(Formula *f) {
    Output alpha = f->x[1], sample = f->y[0];
    DType dtype = output_type(alpha) == DT_double ? DT_double : DT_float;
    Output draws = Reshape(SizeOf(f->x[0]), NoInts);
    Output by_alpha = formula_2(f, "RandomGammaGrad", Cast(alpha, dtype), Cast(sample, dtype));
    f->dx[1] = Sum(Mul(f->dy[0], Cast(by_alpha, output_type(sample))), Range(Int(0), draws, Int(1)), false);
}

const Op op_RandomGammaGrad = {
    .signature = "RandomGammaGrad(alpha: T, sample: T) -> output: T; T: {float, double}",
    .doc = "How numbers of the gamma distribution change with its shape alpha.", .shape = shape_broadcast_all,
    .expand = gamma_grad_expand,
};

#define DISTRIBUTION_FIELDS                                                                                   \
    .needs = "vector(shape)", .shape = distribution_shape, .host = BIT(0), .prepare = distribution_prepare,    \
    .own_size = sizeof(Distribution), HAS_STREAM
const Op op_RandomGamma = {
    .signature = "RandomGamma(shape: S, alpha: T) -> output: T; seed: int = 0; seed2: int = 0; S: {int32, int64}; "
                 "T: {half, float, double}; stateful",
    .doc = "Numbers of the gamma distribution with shape alpha and scale 1.", .grad = gamma_grad,
    .cpu = ANY_TYPE(gamma_run), DISTRIBUTION_FIELDS,
};
const Op op_RandomPoisson = {
    .signature = "RandomPoisson(shape: S, rate: dtype) -> output: dtype; seed: int = 0; seed2: int = 0; "
                 "S: {int32, int64}; dtype: {half, float, double}; stateful; deprecated(25, \"use RandomPoissonV2\")",
    .doc = "Numbers of the Poisson distribution; the older RandomPoissonV2.", .cpu = ANY_TYPE(poisson_run),
    .flags = OP_NO_GRADIENT, DISTRIBUTION_FIELDS,
};
const Op op_RandomPoissonV2 = {
    .signature = "RandomPoissonV2(shape: S, rate: R) -> output: dtype; seed: int = 0; seed2: int = 0; "
                 "S: {int32, int64}; R: sampled = double; "
                 "dtype: sampled = int64; stateful",
    .doc = "Numbers of the Poisson distribution.", .cpu = ANY_TYPE(poisson_run), .flags = OP_NO_GRADIENT,
    DISTRIBUTION_FIELDS,
};

// ---------------------------------------- without a state

// `shape` is all of the output's, and ends with the parameters' own.
static Status *whole_shape(Shapes *s) {
    TRY(random_shape(s));
    const Shape *all = &s->out[0], *back = &s->in[s->n_in - 1];
    if (all->rank < 0 || back->rank < 0)
        return OK;
    bool ends = back->rank <= all->rank;
    for (int d = 0; d < back->rank && ends; d++) {
        int64_t extent = all->dims[all->rank - back->rank + d];
        ends = extent < 0 || back->dims[d] < 0 || extent == back->dims[d];
    }
    NEED(ends, INVALID_ARGUMENT, "Shape passed in must end with broadcasted shape: %s doesn't end with %s",
         shape_text(all), shape_text(back));
    return OK;
}

static Status *whole_prepare(Prepare *p) {
    Distribution *own = p->own;
    int64_t count = shape_count(&p->out[0]->shape);
    own->parameters = shape_count(&p->in[p->n_in - 1]->shape);
    own->each = own->parameters ? count / own->parameters : 0;
    p->cost = count * 100;
    return OK;
}

static Status *seeded_gamma_run(Kernel *k) {
    Philox philox = stateless_philox(k->in[1]);
    return draw_all(k, k->in[2], &philox, false);
}

static Status *keyed_gamma_run(Kernel *k) {
    Philox philox;
    TRY(stateless_keyed(k->in[1], k->in[2], k->in[3], &philox));
    return draw_all(k, k->in[4], &philox, false);
}

#define WHOLE .shape = whole_shape, .host = BIT(0), .prepare = whole_prepare, .own_size = sizeof(Distribution), .flags = OP_NO_GRADIENT
const Op op_StatelessRandomGammaV2 = {
    .signature = "StatelessRandomGammaV2(shape: T, seed: Tseed, alpha: dtype) -> output: dtype; dtype: {half, float, double}; "
                 "T: {int32, int64}; Tseed: {int32, int64} = int64",
    .doc = "Numbers of the gamma distribution with shape alpha that follow from the seed.",
    .needs = "vector(shape), vector(seed), dim(seed, 0) == 2", .cpu = ANY_TYPE(seeded_gamma_run), WHOLE,
};
const Op op_StatelessRandomGammaV3 = {
    .signature = "StatelessRandomGammaV3(shape: shape_dtype, key: uint64, counter: uint64, alg: int32, alpha: dtype) -> "
                 "output: dtype; dtype: {half, float, double}; shape_dtype: {int32, int64} = int32",
    .doc = "Numbers of the gamma distribution with shape alpha that follow from key and counter.",
    .needs = "vector(shape), vector(key), dim(key, 0) == 1, vector(counter), scalar(alg)", .cpu = ANY_TYPE(keyed_gamma_run),
    WHOLE,
};
