// AudioSpectrogram, Mfcc — the frequencies of sound over time, and the cepstral coefficients that speech is told by.
#include "loops/fft.h"
#include "ops/op.h"

// ---------------------------------------- spectrogram

typedef struct {
    int64_t samples, channels, window, stride, slices, bins;
    bool squared;
    FftPlan plan;               // of 2 (bins - 1) places
    const double *weights;      // of Hann's window
} Spectrogram;

static Status *read_window(const Node *node, int64_t *window, int64_t *stride, int64_t *bins) {
    *window = node_int(node, "window_size");
    *stride = node_int(node, "stride");
    NEED(*window >= 2 && *window <= INT32_MAX / 2 && *stride >= 1 && *stride <= INT32_MAX, INVALID_ARGUMENT,
         "window_size must be at least 2 and stride at least 1, got %lld and %lld", (long long)*window, (long long)*stride);
    int64_t places = 1;
    while (places < *window)
        places *= 2;
    *bins = places / 2 + 1;
    return OK;
}

static Status *spectrogram_shape(Shapes *s) {
    const Shape *in = &s->in[0];
    int64_t window, stride, bins;
    TRY(read_window(s->node, &window, &stride, &bins));
    NEED(in->rank < 0 || in->rank == 2, INVALID_ARGUMENT, "input must be 2-dimensional, got %s", shape_text(in));
    int64_t samples = in->rank < 0 ? UNKNOWN_DIM : in->dims[0];
    s->out[0] = SHAPE(in->rank < 0 ? UNKNOWN_DIM : in->dims[1],
                      samples < 0 ? UNKNOWN_DIM : samples < window ? 0 : 1 + (samples - window) / stride, bins);
    return shape_is_known(&s->out[0]) ? shape_check(&s->out[0]) : OK;
}

static Status *spectrogram_prepare(Prepare *p) {
    Spectrogram *own = p->own;
    TRY(read_window(p->node, &own->window, &own->stride, &own->bins));
    own->samples = p->in[0]->shape.dims[0];
    own->channels = p->in[0]->shape.dims[1];
    own->slices = p->out[0]->shape.dims[1];
    own->squared = node_bool(p->node, "magnitude_squared");
    int64_t n = 2 * (own->bins - 1);
    double *weights = ARENA_ARRAY(p->arena, double, own->window);
    void *memory = arena_aligned(p->arena, fft_plan_bytes(n, true), 64);
    NEED_MEMORY(weights && memory);
    for (int64_t i = 0; i < own->window; i++)
        weights[i] = 0.5 - 0.5 * cos(2 * M_PI * (double)i / (double)own->window);
    own->weights = weights;
    fft_prepare(n, true, memory, &own->plan);
    p->scratch = round_up(2 * (size_t)n * sizeof(double), 64) + fft_scratch(&own->plan, 1);
    p->cost = own->channels * own->slices * n * 20;
    return OK;
}

static Status *spectrogram_run(Kernel *k) {
    const Spectrogram *own = k->own;
    const float *x = k->in[0]->data;
    float *y = k->out[0]->data;
    int64_t n = 2 * (own->bins - 1);
    double *re = k->scratch, *im = re + n;
    char *rest = (char *)k->scratch + round_up(2 * (size_t)n * sizeof(double), 64);
    for (int64_t c = 0; c < own->channels; c++)
        for (int64_t s = 0; s < own->slices; s++) {
            memset(re, 0, 2 * (size_t)n * sizeof *re);
            for (int64_t i = 0; i < own->window; i++)
                re[i] = (double)x[(s * own->stride + i) * own->channels + c] * own->weights[i];
            fft_run(&own->plan, false, 1, re, im, rest);
            for (int64_t i = 0; i < own->bins; i++) {
                double square = re[i] * re[i] + im[i] * im[i];
                *y++ = (float)(own->squared ? square : sqrt(square));
            }
            TRY(s % 64 ? OK : context_check(k->step));
        }
    return OK;
}

const Op op_AudioSpectrogram = {
    .signature = "AudioSpectrogram(input: float) -> spectrogram: float; window_size: int; stride: int; "
                 "magnitude_squared: bool = false",
    .doc = "How much of each frequency there is in each channel, over time.", .needs = "rank(input) == 2",
    .shape = spectrogram_shape, .prepare = spectrogram_prepare, .own_size = sizeof(Spectrogram),
    .cpu = ANY_TYPE(spectrogram_run), .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- cepstral coefficients

typedef struct {
    int64_t rows, bins, filters, coefficients;
    double low, high;
    const double *cosines;      // [coefficients, filters]
} Cepstrum;

static Status *cepstrum_shape(Shapes *s) {
    const Shape *in = &s->in[0];
    NEED(in->rank < 0 || in->rank == 3, INVALID_ARGUMENT, "spectrogram must be 3-dimensional, got %s", shape_text(in));
    NEED(s->in[1].rank <= 0, INVALID_ARGUMENT, "sample_rate must be a scalar, got %s", shape_text(&s->in[1]));
    int64_t count = node_int(s->node, "dct_coefficient_count");
    NEED(count >= 0, INVALID_ARGUMENT, "dct_coefficient_count must not be negative, got %lld", (long long)count);
    s->out[0] = SHAPE(in->rank < 0 ? UNKNOWN_DIM : in->dims[0], in->rank < 0 ? UNKNOWN_DIM : in->dims[1], count);
    return shape_is_known(&s->out[0]) ? shape_check(&s->out[0]) : OK;
}

static Status *cepstrum_prepare(Prepare *p) {
    Cepstrum *own = p->own;
    const Shape *in = &p->in[0]->shape;
    own->rows = in->dims[0] * in->dims[1];
    own->bins = in->dims[2];
    own->filters = node_int(p->node, "filterbank_channel_count");
    own->coefficients = node_int(p->node, "dct_coefficient_count");
    own->low = (double)node_float(p->node, "lower_frequency_limit");
    own->high = (double)node_float(p->node, "upper_frequency_limit");
    NEED(own->bins >= 2 && own->filters >= 1 && own->filters <= INT16_MAX && own->coefficients >= 1 &&
         own->coefficients <= own->filters && own->low >= 0 && own->high > own->low, INVALID_ARGUMENT,
         "MFCC: %lld bins, %lld filters, %lld coefficients, frequencies from %g to %g: there must be two bins, a filter for "
         "each coefficient, and an upper limit above the lower one", (long long)own->bins, (long long)own->filters,
         (long long)own->coefficients, own->low, own->high);
    double *cosines = ARENA_ARRAY(p->arena, double, own->coefficients * own->filters);
    NEED_MEMORY(cosines);
    for (int64_t i = 0; i < own->coefficients; i++)
        for (int64_t j = 0; j < own->filters; j++)
            cosines[i * own->filters + j] = sqrt(2.0 / (double)own->filters) *
                                            cos((double)i * M_PI / (double)own->filters * ((double)j + 0.5));
    own->cosines = cosines;
    p->scratch = (size_t)(own->bins + 2 * own->filters + 1) * sizeof(double) + (size_t)own->bins * sizeof(int64_t);
    p->cost = own->rows * (own->bins * 10 + own->filters * own->coefficients);
    return OK;
}

static double mel(double hertz) {
    return 1127 * log1p(hertz / 700);
}

// Filters are triangles over the mel scale, each from the centre of the one before to that of the next. Of bin i a share of
// weights[i] goes to filter left[i], the rest to the one behind it.
typedef struct {
    double *weights, *centres, *energy;
    int64_t *left, first, last;
} Filters;

static Filters filters_of(const Kernel *k, int32_t rate) {
    const Cepstrum *own = k->own;
    Filters f = {.weights = k->scratch};
    f.centres = f.weights + own->bins;
    f.energy = f.centres + own->filters + 1;
    f.left = (int64_t *)(void *)(f.energy + own->filters);
    double low = mel(own->low), spacing = (mel(own->high) - low) / (double)(own->filters + 1);
    double width = 0.5 * rate / (double)(own->bins - 1);
    for (int64_t i = 0; i <= own->filters; i++)
        f.centres[i] = low + spacing * (double)(i + 1);
    f.first = (int64_t)fmin(1.5 + own->low / width, (double)own->bins);
    f.last = (int64_t)fmin(own->high / width, (double)own->bins);
    for (int64_t i = f.first, at = 0; i <= f.last && i < own->bins; i++) {
        double here = mel((double)i * width);
        while (at < own->filters && f.centres[at] < here)
            at++;
        f.left[i] = at - 1;
        double from = at ? f.centres[at - 1] : low;
        f.weights[i] = (f.centres[at] - here) / (f.centres[at] - from);
    }
    return f;
}

static Status *cepstrum_run(Kernel *k) {
    const Cepstrum *own = k->own;
    int32_t rate = *(const int32_t *)k->in[1]->data;
    NEED(rate > 0, INVALID_ARGUMENT, "sample_rate must be positive, got %d", rate);
    Filters f = filters_of(k, rate);
    NEED(f.last < own->bins, INVALID_ARGUMENT, "%lld bins of a sample_rate of %d don't reach up to %g Hz",
         (long long)own->bins, rate, own->high);
    const float *x = k->in[0]->data;
    float *y = k->out[0]->data;
    for (int64_t row = 0; row < own->rows; row++, x += own->bins) {
        memset(f.energy, 0, (size_t)own->filters * sizeof *f.energy);
        for (int64_t i = f.first; i <= f.last; i++) {
            double size = sqrt((double)x[i]), part = size * f.weights[i];
            if (f.left[i] >= 0)
                f.energy[f.left[i]] += part;
            if (f.left[i] + 1 < own->filters)
                f.energy[f.left[i] + 1] += size - part;
        }
        for (int64_t i = 0; i < own->filters; i++)
            f.energy[i] = log(fmax(f.energy[i], 1e-12));
        for (int64_t i = 0; i < own->coefficients; i++) {
            double sum = 0;
            for (int64_t j = 0; j < own->filters; j++)
                sum += own->cosines[i * own->filters + j] * f.energy[j];
            *y++ = (float)sum;
        }
    }
    return OK;
}

const Op op_Mfcc = {
    .signature = "Mfcc(spectrogram: float, sample_rate: int32) -> output: float; upper_frequency_limit: float = 4000; "
                 "lower_frequency_limit: float = 20; filterbank_channel_count: int = 40; dct_coefficient_count: int = 13",
    .doc = "Mel-frequency cepstral coefficients of a spectrogram of squares.",
    .needs = "rank(spectrogram) == 3, scalar(sample_rate)", .shape = cepstrum_shape, .prepare = cepstrum_prepare,
    .own_size = sizeof(Cepstrum), .cpu = ANY_TYPE(cepstrum_run), .flags = OP_NO_GRADIENT, .host = BIT(1),
};
