// Multinomial — classes drawn with the probabilities that rows of logits give.
#include "loops/cast.h"
#include "ops/random/stream.h"

typedef struct {
    int64_t rows, classes, samples;
    bool casts;
    CastLoop cast;
} Draw;

static Status *multinomial_shape(Shapes *s) {
    int64_t samples = UNKNOWN_DIM;
    if (shapes_input_int(s, 1, &samples))
        NEED(samples >= 0, INVALID_ARGUMENT, "num_samples should be nonnegative, got %lld", (long long)samples);
    s->out[0] = SHAPE(s->in[0].rank == 2 ? s->in[0].dims[0] : UNKNOWN_DIM, samples);
    return OK;
}

static Status *multinomial_prepare(Prepare *p) {
    Draw *own = p->own;
    DType dtype = p->in[0]->dtype;
    own->rows = p->in[0]->shape.dims[0];
    own->classes = p->in[0]->shape.dims[1];
    own->samples = p->out[0]->shape.dims[1];
    NEED(own->classes > 0, INVALID_ARGUMENT, "num_classes should be positive, got %lld", (long long)own->classes);
    own->casts = dtype != DT_double;
    NEED(!own->casts || cast_find(dtype, DT_double, &own->cast), UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(dtype));
    p->scratch = (size_t)own->classes * 2 * sizeof(double);
    p->cost = own->rows * (own->classes + own->samples) * 10;
    return OK;
}

// Numbers in [0, 1) with 52 bits, two from each block.
typedef struct {
    Philox philox;
    double pair[2];
    int left;
} Uniform;

static double next_uniform(Uniform *u) {
    if (!u->left) {
        (void)random_fill(&u->philox, RANDOM_UNIFORM, DT_double, u->pair, 0, 2);
        philox_skip(&u->philox, 1);
        u->left = 2;
    }
    return u->pair[2 - u->left--];
}

// The running sum of e^(logit - greatest); a logit that is not finite has no share.
static double accumulate(const double *logits, int64_t n, double *sums) {
    double most = -INFINITY, total = 0;
    for (int64_t j = 0; j < n; j++)
        if (isfinite(logits[j]) && logits[j] > most)
            most = logits[j];
    for (int64_t j = 0; j < n; j++) {
        if (isfinite(logits[j]))
            total += exp(logits[j] - most);
        sums[j] = total;
    }
    return total;
}

// The first class whose sum is above; n where none is.
static int64_t first_above(const double *sums, int64_t n, double value) {
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (sums[middle] > value)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static Status *draw(Kernel *k, const Philox *philox) {
    const Draw *own = k->own;
    Uniform uniform = {.philox = *philox};
    double *row = k->scratch, *sums = row + own->classes;
    size_t bytes = (size_t)own->classes * dtype_size(k->in[0]->dtype);
    bool narrow = k->out[0]->dtype == DT_int32;
    for (int64_t r = 0; r < own->rows; r++) {
        const char *logits = (const char *)k->in[0]->data + (size_t)r * bytes;
        if (own->casts)
            cast_run(&own->cast, logits, row, own->classes);
        else
            memcpy(row, logits, bytes);
        double total = accumulate(row, own->classes, sums);
        for (int64_t j = 0; j < own->samples; j++) {
            int64_t class = first_above(sums, own->classes, next_uniform(&uniform) * total);
            if (narrow)
                ((int32_t *)k->out[0]->data)[r * own->samples + j] = (int32_t)class;
            else
                ((int64_t *)k->out[0]->data)[r * own->samples + j] = class;
        }
    }
    return OK;
}

static Status *multinomial_run(Kernel *k) {
    const Draw *own = k->own;
    Philox philox;
    uint64_t each = (uint64_t)div_up(own->samples, 4) * 8;
    TRY(stream_take(k, random_reserved((uint64_t)own->rows * each), &philox));
    return draw(k, &philox);
}

static Status *stateless_run(Kernel *k) {
    Philox philox = stateless_philox(k->in[2]);
    return draw(k, &philox);
}

#define DRAW_FIELDS                                                                                       \
    .shape = multinomial_shape, .host = BIT(1), .prepare = multinomial_prepare, .own_size = sizeof(Draw), \
    .flags = OP_NO_GRADIENT
const Op op_Multinomial = {
    .signature = "Multinomial(logits: T, num_samples: int32) -> output: output_dtype; seed: int = 0; seed2: int = 0; "
                 "T: reals; output_dtype: {int32, int64} = int64; stateful",
    .doc = "Classes drawn with the probabilities that each row of logits gives.",
    .needs = "matrix(logits), scalar(num_samples)", .cpu = ANY_TYPE(multinomial_run), HAS_STREAM, DRAW_FIELDS,
};
const Op op_StatelessMultinomial = {
    .signature = "StatelessMultinomial(logits: T, num_samples: int32, seed: Tseed) -> output: output_dtype; "
                 "T: reals; Tseed: {int32, int64} = int64; output_dtype: {int32, int64} = int64",
    .doc = "Classes drawn with the probabilities that each row of logits gives; they follow from the seed.",
    .needs = "matrix(logits), scalar(num_samples), vector(seed), dim(seed, 0) == 2", .cpu = ANY_TYPE(stateless_run),
    DRAW_FIELDS,
};
