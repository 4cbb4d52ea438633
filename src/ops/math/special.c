// Special — Erfinv, Ndtri, BesselI0e, BesselI1e, Polygamma, Zeta, Igamma, Igammac, IgammaGradA, Betainc, NextAfter,
// PopulationCount: computed in double, one element at a time.
#define SELF "ops/math/special.c"
#include "ops/math/elementwise.h"
#include "ops/math/special_functions.h"

#ifdef T  // ---------------------------------------- kernels, once per dtype
static void FN(range)(void *arg, int64_t first, int64_t last) {
    Kernel *k = arg;
    const Special *own = k->own;
    const T *const x[] = {k->in[0]->data, k->in[k->n_in > 1]->data, k->in[k->n_in > 2 ? 2 : 0]->data};
    T *y = k->out[0]->data;
    for (int64_t i = first; i < last; i++) {
        double v[3];
        for (int j = 0; j < k->n_in; j++)
            v[j] = (double)LOAD(x[j][own->flat[j] ? i : broadcast_place(&k->out[0]->shape, own->step[j], i)]);
        y[i] = STORE((ACC)(k->n_in == 1 ? own->of->one(v[0]) : k->n_in == 2 ? own->of->two(v[0], v[1])
                                                                           : own->of->three(v[0], v[1], v[2])));
    }
}
static Status *FN(special)(Kernel *k) {
    kernel_parallel(k, tensor_count(k->out[0]), 100, FN(range), k);
    return OK;
}
#else     // ---------------------------------------- schema and gradients
typedef struct {
    double (*one)(double);
    double (*two)(double, double);
    double (*three)(double, double, double);
} RealFunction;

typedef struct {
    const RealFunction *of;
    bool flat[3];
    int64_t step[3][MAX_RANK];
} Special;

#define EACH_FLOAT
#include "ops/each_dtype.h"

static Status *special_prepare(Prepare *p) {
    Special *own = p->own;
    own->of = node_op(p->node)->row;
    for (int i = 0; i < p->n_in; i++) {
        own->flat[i] = shape_equal(&p->in[i]->shape, &p->out[0]->shape);
        broadcast_steps(&p->in[i]->shape, &p->out[0]->shape, own->step[i]);
    }
    p->cost = shape_count(&p->out[0]->shape) * 100;
    return OK;
}

#define SPECIAL .prepare = special_prepare, .own_size = sizeof(Special)
#define ALL_FLOATS .cpu = KERNELS(FLOATS, special)
#define TWO_FLOATS .cpu = (const KernelRow[]){{DT_float, special_float}, {DT_double, special_double}, {DT_INVALID, NULL}}

// ---------------------------------------- for devices that compile: those that they have

static COLD Status *Erfinv_hlo(Hlo *h) {
    return hlo_out(h, 0, hlo_unary(h, "chlo.erf_inv", hlo_in(h, 0)));
}
// Of the upper tail q <= 1/4: Abramowitz and Stegun 26.2.23, within 4.5e-4, then Halley's steps on erfc(x / sqrt 2) / 2 = q.
static COLD HloValue upper_quantile(Hlo *h, HloValue q) {
    HloValue t = hlo_sqrt(h, hlo_times(h, hlo_log(h, q), -2));
    HloValue above = hlo_plus(h, hlo_mul(h, t, hlo_plus(h, hlo_times(h, t, 0.010328), 0.802853)), 2.515517);
    HloValue below = hlo_plus(h, hlo_mul(h, t, hlo_plus(h, hlo_times(h, t, 0.001308), 0.189269)), 1.432788);
    HloValue x = hlo_sub(h, t, hlo_div(h, above, hlo_plus(h, hlo_mul(h, t, below), 1)));
    for (int i = 0; i < 3; i++) {
        HloValue half = hlo_times(h, x, 0.5);
        HloValue tail = hlo_times(h, hlo_unary(h, "chlo.erfc", hlo_times(h, x, 0.70710678118654752)), 0.5);
        HloValue weight = hlo_times(h, hlo_exp(h, hlo_mul(h, x, half)), 2.5066282746310002);
        HloValue step = hlo_mul(h, hlo_sub(h, tail, q), weight);
        x = hlo_add(h, x, hlo_div(h, step, hlo_sub(h, hlo_like(h, 1, x), hlo_mul(h, step, half))));
    }
    return x;
}
static COLD Status *Ndtri_hlo(Hlo *h) {  // sqrt(2) erfinv(2 x - 1), which loses what is small against 1
    HloValue p = hlo_wide(h, hlo_in(h, 0)), rest = hlo_sub(h, hlo_like(h, 1, p), p);
    HloValue q = hlo_min(h, p, rest), low = hlo_lt(h, p, rest);
    HloValue middle = hlo_times(h, hlo_unary(h, "chlo.erf_inv", hlo_plus(h, hlo_times(h, p, 2), -1)), 1.4142135623730951);
    HloValue far = upper_quantile(h, q);
    far = hlo_select(h, low, hlo_neg(h, far), far);
    HloValue inside = hlo_and(h, hlo_lt(h, q, hlo_like(h, 0.25, q)), hlo_is(h, "GT", q, 0));
    return hlo_out(h, 0, hlo_cast(h, hlo_select(h, inside, far, middle), hlo_in(h, 0)->dtype));
}
static COLD Status *BesselI1e_hlo(Hlo *h) {
    return hlo_out(h, 0, hlo_unary(h, "chlo.bessel_i1e", hlo_in(h, 0)));
}
static COLD Status *Polygamma_hlo(Hlo *h) {
    return hlo_out(h, 0, hlo_binary(h, "chlo.polygamma", hlo_in(h, 0), hlo_in(h, 1)));
}
static COLD Status *Zeta_hlo(Hlo *h) {
    return hlo_out(h, 0, hlo_binary(h, "chlo.zeta", hlo_in(h, 0), hlo_in(h, 1)));
}
#define BesselI0e_hlo NULL
#define Igamma_hlo NULL
#define Igammac_hlo NULL

#define ONE(Name, function, text, gradient)                                                    \
    static void Name##_grad(Formula *f) {                                                      \
        Output x = f->x[0], y = f->y[0], dy = f->dy[0];                                        \
        (void)x, (void)y;                                                                      \
        f->dx[0] = gradient;                                                                   \
    }                                                                                          \
    static const RealFunction Name##_row = {.one = function};                                  \
    const Op op_##Name = {                                                                     \
        .signature = #Name "(x: T) -> y: T; T: floats", .doc = text, .shape = shape_unchanged, \
        .grad = Name##_grad, SPECIAL, ALL_FLOATS, .row = &Name##_row, .hlo = Name##_hlo,       \
    };
ONE(Erfinv, special_erfinv, "Inverse of the error function.",
    Mul(dy, Mul(Scalar(0.88622692545275801, x), Exp(Square(y)))))
ONE(Ndtri, special_ndtri, "Quantile of the standard normal distribution.",
    Mul(dy, Mul(Scalar(2.5066282746310002, x), Exp(Mul(Scalar(0.5, x), Square(y))))))
ONE(BesselI0e, special_bessel_i0e, "exp(-|x|) I0(x), the modified Bessel function.",
    Mul(dy, Sub(formula_1(f, "BesselI1e", x), Mul(Sign(x), y))))
ONE(BesselI1e, special_bessel_i1e, "exp(-|x|) I1(x), the modified Bessel function.",
    Mul(dy, Select(Equal(x, ZerosLike(x)), Scalar(0.5, x),
                   Sub(formula_1(f, "BesselI0e", x), Mul(y, Add(Sign(x), Reciprocal(x)))))))

static Output two(Formula *f, const char *op, Output a, Output x) {
    return formula_2(f, op, a, x);
}

// exp(-x + (a - 1) log x - lgamma a)
static Output gamma_density(Formula *f, Output a, Output x) {
    return Exp(Sub(Sub(Mul(Sub(a, Scalar(1, a)), Log(x)), x), Lgamma(a)));
}

#define TWO(Name, function, a, b, z, types, rows, text, da, db)                                                 \
    static void Name##_grad(Formula *f) {                                                                       \
        Output x1 = f->x[0], x2 = f->x[1], dy = f->dy[0], d1 = da, d2 = db;                                      \
        f->dx[0] = formula_is_zero(d1) ? NONE : SumTo(Mul(dy, d1), x1);                                          \
        f->dx[1] = formula_is_zero(d2) ? NONE : SumTo(Mul(dy, d2), x2);                                          \
    }                                                                                                           \
    static const RealFunction Name##_row = {.two = function};                                                       \
    const Op op_##Name = {                                                                                      \
        .signature = #Name "(" #a ": T, " #b ": T) -> " #z ": T; T: " types, .doc = text,                        \
        .shape = shape_broadcast_all, .grad = Name##_grad, SPECIAL, rows, .row = &Name##_row, .hlo = Name##_hlo, \
    };
TWO(Polygamma, special_polygamma, a, x, z, "{float, double}", TWO_FLOATS, "The a-th derivative of Digamma.",
    NONE, two(f, "Polygamma", Add(x1, Scalar(1, x1)), x2))
TWO(Zeta, special_zeta, x, q, z, "{float, double}", TWO_FLOATS, "Hurwitz zeta function: the sum of (q + n)^-x.",
    NONE, Neg(Mul(x1, two(f, "Zeta", Add(x1, Scalar(1, x1)), x2))))
TWO(Igamma, special_igamma, a, x, z, "floats", ALL_FLOATS, "Lower incomplete gamma function, regularised.",
    two(f, "IgammaGradA", x1, x2), gamma_density(f, x1, x2))
TWO(Igammac, special_igammac, a, x, z, "floats", ALL_FLOATS, "Upper incomplete gamma function, regularised.",
    Neg(two(f, "IgammaGradA", x1, x2)), Neg(gamma_density(f, x1, x2)))

static const RealFunction IgammaGradA_row = {.two = special_igamma_grad_a};
const Op op_IgammaGradA = {
    .signature = "IgammaGradA(a: T, x: T) -> z: T; T: {float, double}", .doc = "Derivative of Igamma in a.",
    .shape = shape_broadcast_all, SPECIAL, TWO_FLOATS, .row = &IgammaGradA_row,
};

// ---------------------------------------- Betainc

// Scalars broadcast; other shapes must be equal.
static Status *betainc_shape(Shapes *s) {
    Shape out = SCALAR_SHAPE;
    for (int i = 0; i < 3; i++) {
        NEED(s->in[i].rank <= 0 || out.rank <= 0 || shape_compatible(&s->in[i], &out), INVALID_ARGUMENT,
             "Shapes of a, b and x are inconsistent: %s and %s", shape_text(&out), shape_text(&s->in[i]));
        if (s->in[i].rank < 0)
            return OK;
        out = s->in[i].rank > 0 ? s->in[i] : out;
    }
    s->out[0] = out;
    return OK;
}

static void betainc_grad(Formula *f) {  // x^(a - 1) (1 - x)^(b - 1) / B(a, b)
    Output a = f->x[0], b = f->x[1], x = f->x[2], one = Scalar(1, f->x[0]);
    Output log_beta = Sub(Add(Lgamma(a), Lgamma(b)), Lgamma(Add(a, b)));
    Output slope = Exp(Sub(Add(Xlog1py(Sub(b, one), Neg(x)), Xlogy(Sub(a, one), x)), log_beta));
    f->dx[2] = SumTo(Mul(f->dy[0], slope), x);
}

static const RealFunction Betainc_row = {.three = special_betainc};
const Op op_Betainc = {
    .signature = "Betainc(a: T, b: T, x: T) -> z: T; T: {float, double}",
        .doc = "Incomplete beta function, regularised.",
    .shape = betainc_shape, .grad = betainc_grad, SPECIAL, TWO_FLOATS, .row = &Betainc_row,
};

// ---------------------------------------- NextAfter

static Status *next_after_run(Kernel *k) {
    const Special *own = k->own;
    const Tensor *out = k->out[0];
    for (int64_t i = 0, n = tensor_count(out); i < n; i++) {
        int64_t a = broadcast_place(&out->shape, own->step[0], i), b = broadcast_place(&out->shape, own->step[1], i);
        if (out->dtype == DT_float)
            ((float *)out->data)[i] = nextafterf(((const float *)k->in[0]->data)[a],
                                                 ((const float *)k->in[1]->data)[b]);
        else
            ((double *)out->data)[i] = nextafter(((const double *)k->in[0]->data)[a],
                                                 ((const double *)k->in[1]->data)[b]);
    }
    return OK;
}

static void next_after_grad(Formula *f) {
    f->dx[0] = SumTo(f->dy[0], f->x[0]);
    f->dx[1] = ZerosLike(f->x[1]);
}

static COLD Status *population_hlo(Hlo *h) {
    return hlo_out(h, 0, hlo_cast(h, hlo_unary(h, "popcnt", hlo_in(h, 0)), DT_uint8));
}
static COLD Status *next_after_hlo(Hlo *h) {
    return hlo_out(h, 0, hlo_binary(h, "chlo.next_after", hlo_in(h, 0), hlo_in(h, 1)));
}

const Op op_NextAfter = {
    .signature = "NextAfter(x1: T, x2: T) -> output: T; T: {double, float} = float",
    .doc = "The next number that can be represented from x1 towards x2.", .shape = shape_broadcast_all,
    .grad = next_after_grad, SPECIAL, .cpu = ANY_TYPE(next_after_run), .hlo = next_after_hlo,
};

// ---------------------------------------- PopulationCount

static Status *population_run(Kernel *k) {
    const Tensor *in = k->in[0];
    uint8_t *y = k->out[0]->data;
    int64_t n = tensor_count(in);
    size_t size = dtype_size(in->dtype);
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        memcpy(&bits, (const char *)in->data + (size_t)i * size, size);
        y[i] = (uint8_t)__builtin_popcountll(bits);
    }
    return OK;
}

const Op op_PopulationCount = {
    .signature = "PopulationCount(x: T) -> y: uint8; T: integers",
    .doc = "The number of bits that are set.", .shape = shape_unchanged, .cpu = ANY_TYPE(population_run),
    .flags = OP_NO_GRADIENT, .hlo = population_hlo,
};
#endif
