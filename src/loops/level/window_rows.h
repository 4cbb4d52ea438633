// Rows of moments and local response, and the channels of pooling windows, for one float type.
// Included once per type with T, NAME and M(name), the vector functions, set.
#define PASTE3_(a, b) a##_##b
#define PASTE3(a, b) PASTE3_(a, b)
#define FN(name) PASTE3(name, NAME)

// sums[c] += x - shift, sums[channels + c] += (x - shift) * (y - shift_y), over rows; y = x for squares. With gates a
// and b an x counts as 0 unless y * a + b > 0. Rows are read from end to end: by tiles of 128 channels memory gave 9
// GB/s, so 23.
INLINE void FN(moments_of)(const void *x_, const void *y_, const void *shift_x, const void *shift_y, bool gated,
                           const void *gate_a, const void *gate_b, int64_t rows, int64_t channels, double *sums) {
    enum { ROWS = 64, TILE = 2048, APART = 64 / sizeof(T) };  // sums that are 4 KiB apart would wait for each other
    T once[TILE + APART], twice[TILE];
    for (int64_t first = 0; first < rows; first += ROWS)
        for (int64_t at = 0; at < channels; at += TILE) {
            int64_t last = rows - first < ROWS ? rows : first + ROWS, n = channels - at < TILE ? channels - at : TILE;
            const T *sx = (const T *)shift_x + at, *sy = (const T *)shift_y + at;
            const T *a = gated ? (const T *)gate_a + at : sx, *b = gated ? (const T *)gate_b + at : sx;
            memset(once, 0, (size_t)n * sizeof(T));
            memset(twice, 0, (size_t)n * sizeof(T));
            for (int64_t r = first; r < last; r++) {
                const T *x = (const T *)x_ + r * channels + at, *y = (const T *)y_ + r * channels + at;
                for (int64_t c = 0; c < n; c++) {
                    T v = !gated || y[c] * a[c] + b[c] > 0 ? x[c] : 0, d = v - sx[c];
                    once[c] += d;
                    twice[c] += d * (y[c] - sy[c]);
                }
            }
            for (int64_t c = 0; c < n; c++) {
                sums[at + c] += (double)once[c];
                sums[channels + at + c] += (double)twice[c];
            }
        }
}

static void FN(moments)(const void *x, const void *y, const void *shift_x, const void *shift_y, const void *gate_a,
                        const void *gate_b, int64_t rows, int64_t channels, double *sums) {
    if (gate_a)
        FN(moments_of)(x, y, shift_x, shift_y, true, gate_a, gate_b, rows, channels, sums);
    else
        FN(moments_of)(x, y, shift_x, shift_y, false, NULL, NULL, rows, channels, sums);
}

// y = x * a + b, by channel, + side where there is one.
static void FN(scale_rows)(const void *x_, const void *a_, const void *b_, const void *side_, void *y_, int64_t rows,
                           int64_t channels, bool relu) {
    const T *a = a_, *b = b_;
    T least = relu ? 0 : -(T)INFINITY;
    for (int64_t r = 0; r < rows; r++) {
        const T *x = (const T *)x_ + r * channels, *side = side_ ? (const T *)side_ + r * channels : NULL;
        T *y = (T *)y_ + r * channels;
        if (side) {
            VECTOR_LOOP
            for (int64_t c = 0; c < channels; c++) {
                T v = x[c] * a[c] + b[c] + side[c];
                y[c] = v < least ? least : v;
            }
        } else {
            VECTOR_LOOP
            for (int64_t c = 0; c < channels; c++) {
                T v = x[c] * a[c] + b[c];
                y[c] = v < least ? least : v;
            }
        }
    }
}

// out = dy * a + x * b + d, by channel; with gates dy counts as 0 unless x * gate_a + gate_b > 0. out may be dy.
static void FN(blend_rows)(const void *dy_, const void *x_, const void *a_, const void *b_, const void *d_,
                           const void *gate_a, const void *gate_b, void *out, int64_t rows, int64_t channels) {
    const T *a = a_, *b = b_, *d = d_, *ga = gate_a, *gb = gate_b;
    for (int64_t r = 0; r < rows; r++) {
        const T *dy = (const T *)dy_ + r * channels, *x = (const T *)x_ + r * channels;
        T *y = (T *)out + r * channels;
        if (ga) {
            VECTOR_LOOP
            for (int64_t c = 0; c < channels; c++) {
                T g = x[c] * ga[c] + gb[c] > 0 ? dy[c] : 0;
                y[c] = g * a[c] + x[c] * b[c] + d[c];
            }
        } else {
            VECTOR_LOOP
            for (int64_t c = 0; c < channels; c++)
                y[c] = dy[c] * a[c] + x[c] * b[c] + d[c];
        }
    }
}

static void FN(add_channels)(const void *x_, void *y_, int64_t n, double scale) {
    const T *x = x_;
    T *y = y_, s = (T)scale;
    VECTOR_LOOP
    for (int64_t i = 0; i < n; i++)
        y[i] += x[i] * s;
}

// Sums over pixels that stay in registers: y = (more ? y : 0) + the sum of weight * what lies `at` elements behind x.
// With an `equal` pixel a channel counts where the one of `greatest`, at the same places, is less than POOL_NEAR away.
typedef T FN(Channels) __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(T)), may_alias));
enum { FN(EACH) = LANES * sizeof(float) / sizeof(T), FN(BLOCK) = 4 };

INLINE void FN(gather_block)(const T *x, const T *equal, const T *greatest, const int64_t *at, const double *weights,
                             int64_t n, T *y, const int vectors, bool more) {
    FN(Channels) sums[FN(BLOCK)];
    _Pragma("GCC unroll 4")
    for (int v = 0; v < vectors; v++)
        sums[v] = more ? *(const FN(Channels) *)(y + v * FN(EACH)) : (FN(Channels)){0};
    for (int64_t i = 0; i < n; i++) {
        T weight = equal ? 1 : (T)weights[i];
        _Pragma("GCC unroll 4")
        for (int v = 0; v < vectors; v++) {
            FN(Channels) value = *(const FN(Channels) *)(x + at[i] + v * FN(EACH));
            if (equal) {
                FN(Channels) apart = *(const FN(Channels) *)(equal + v * FN(EACH)) -
                                     *(const FN(Channels) *)(greatest + at[i] + v * FN(EACH));
                __typeof__(apart < apart) near = (apart < (T)POOL_NEAR) & (apart > -(T)POOL_NEAR);
                sums[v] += (FN(Channels))((__typeof__(near))value & near);
            } else {
                sums[v] += value * weight;
            }
        }
    }
    _Pragma("GCC unroll 4")
    for (int v = 0; v < vectors; v++)
        *(FN(Channels) *)(y + v * FN(EACH)) = sums[v];
}
INLINE void FN(gather_of)(const T *x, const T *equal, const T *greatest, const int64_t *at, const double *weights,
                          int64_t n, T *y, int64_t channels, bool more) {
    int64_t c = 0, wide = FN(BLOCK) * FN(EACH);
#define AT_CHANNEL x + c, equal ? equal + c : NULL, equal ? greatest + c : NULL, at, weights, n, y + c
    for (; c + wide <= channels; c += wide)
        FN(gather_block)(AT_CHANNEL, FN(BLOCK), more);
    for (; c + FN(EACH) <= channels; c += FN(EACH))
        FN(gather_block)(AT_CHANNEL, 1, more);
#undef AT_CHANNEL
    for (; c < channels; c++) {
        T sum = more ? y[c] : 0;
        for (int64_t i = 0; i < n; i++)
            if (!equal)
                sum += x[at[i] + c] * (T)weights[i];
            else
                sum += M(fabs)(equal[c] - greatest[at[i] + c]) < (T)POOL_NEAR ? x[at[i] + c] : 0;
        y[c] = sum;
    }
}
static void FN(gather_mean)(const void *x, const int64_t *at, const double *weights, int64_t n, void *y,
                            int64_t channels, bool more) {
    FN(gather_of)(x, NULL, NULL, at, weights, n, y, channels, more);
}
static void FN(gather_equal)(const void *x, const void *equal, const void *greatest, const int64_t *at, int64_t n,
                             void *y, int64_t channels, bool more) {
    FN(gather_of)(x, equal, greatest, at, NULL, n, y, channels, more);
}

// What is left of runs behind whole vectors.
static __attribute__((noinline)) T FN(narrow_rest)(const T *x, const NarrowRuns *runs, const T *filter) {
    T sum = 0;
    for (int64_t r = 0; r < runs->n; r++)
        for (int64_t i = runs->length[r] & -(int64_t)FN(EACH); i < runs->length[r]; i++)
            sum += x[runs->at[r] + i] * filter[runs->filter_at[r] + i];
    return sum;
}

// Dot products of runs of the input and of `outs` filters, for `pixels` neighbours: each has its sums in registers.
INLINE void FN(narrow_block)(const T *x, const NarrowRuns *runs, const T *filter, const T *bias, bool relu, T *y,
                             const int pixels, const int outs) {
    FN(Channels) sums[4][NARROW];
    _Pragma("GCC unroll 4")
    for (int p = 0; p < pixels; p++)
        _Pragma("GCC unroll 3")
        for (int o = 0; o < outs; o++)
            sums[p][o] = (FN(Channels)){0};
    for (int64_t r = 0; r < runs->n; r++) {
        const T *a = x + runs->at[r], *b = filter + runs->filter_at[r];
        for (int64_t i = 0; i + FN(EACH) <= runs->length[r]; i += FN(EACH))
            _Pragma("GCC unroll 4")
            for (int p = 0; p < pixels; p++)
                _Pragma("GCC unroll 3")
                for (int o = 0; o < outs; o++)
                    sums[p][o] += *(const FN(Channels) *)(a + p * runs->pixel + i) *
                                  *(const FN(Channels) *)(b + o * runs->filter + i);
    }
    _Pragma("GCC unroll 4")
    for (int p = 0; p < pixels; p++)
        _Pragma("GCC unroll 3")
        for (int o = 0; o < outs; o++) {
            T sum = bias ? bias[o] : 0, lanes[FN(EACH)];
            *(FN(Channels) *)lanes = sums[p][o];
            if (runs->rest)
                sum += FN(narrow_rest)(x + p * runs->pixel, runs, filter + o * runs->filter);
            for (int i = 0; i < FN(EACH); i++)
                sum += lanes[i];
            y[p * outs + o] = relu && sum < 0 ? 0 : sum;
        }
}
static void FN(narrow)(const void *x_, const NarrowRuns *runs, const void *filter, const void *bias, bool relu,
                       void *y_, int64_t pixels, int64_t outs) {
    const T *x = x_;
    T *y = y_;
#define ROW(outs, abreast)                                                                            \
    do {                                                                                              \
        for (; pixels >= (abreast); pixels -= (abreast), x += (abreast) * runs->pixel, y += (abreast) * (outs)) \
            FN(narrow_block)(x, runs, filter, bias, relu, y, abreast, outs);                          \
        for (; pixels > 0; pixels--, x += runs->pixel, y += (outs))                                   \
            FN(narrow_block)(x, runs, filter, bias, relu, y, 1, outs);                                \
    } while (0)
    if (outs == 1)
        ROW(1, 4);
    else if (outs == 2)
        ROW(2, 4);
    else
        ROW(3, 2);
#undef ROW
}

// Sums of the squares of channels c - radius .. c + radius, in sliding pieces.
INLINE void FN(window_sums)(const T *x, T *sum, int64_t n, int64_t radius) {
    for (int64_t i = 0; i < n; i++)
        sum[i] = 0;
    for (int64_t d = -radius; d <= radius; d++) {
        int64_t from = d < 0 ? -d : 0, to = d > 0 ? n - d : n;
        for (int64_t i = from; i < to; i++)
            sum[i] += x[i + d];
    }
}
INLINE T FN(to_power)(T x, T beta) {
    return beta == (T)0.5 ? 1 / M(sqrt)(x) : beta == 1 ? 1 / x : M(exp)(-beta * M(log)(x));
}

static void FN(local_response)(const void *in, void *out, void *work, int64_t rows, int64_t n, int64_t radius,
                               double bias, double alpha, double beta) {
    T *square = work, *sum = square + n;
    for (int64_t r = 0; r < rows; r++) {
        const T *x = (const T *)in + r * n;
        T *y = (T *)out + r * n;
        for (int64_t i = 0; i < n; i++)
            square[i] = x[i] * x[i];
        FN(window_sums)(square, sum, n, radius);
        for (int64_t i = 0; i < n; i++)
            y[i] = x[i] * FN(to_power)((T)bias + (T)alpha * sum[i], (T)beta);
    }
}

// dx[i] = dy[i] scale[i]^-beta - 2 alpha beta x[i] * sum over the window of dy[j] y[j] / scale[j].
static void FN(local_response_grad)(const void *gradients, const void *in, const void *result, void *out, void *work,
                                    int64_t rows, int64_t n, int64_t radius, double bias, double alpha, double beta) {
    T *scale = work, *ratio = scale + n, *sum = ratio + n;
    for (int64_t r = 0; r < rows; r++) {
        const T *dy = (const T *)gradients + r * n, *x = (const T *)in + r * n, *y = (const T *)result + r * n;
        T *dx = (T *)out + r * n;
        for (int64_t i = 0; i < n; i++)
            ratio[i] = x[i] * x[i];
        FN(window_sums)(ratio, scale, n, radius);
        for (int64_t i = 0; i < n; i++) {
            scale[i] = (T)bias + (T)alpha * scale[i];
            ratio[i] = dy[i] * y[i] / scale[i];
        }
        FN(window_sums)(ratio, sum, n, radius);
        for (int64_t i = 0; i < n; i++)
            dx[i] = dy[i] * FN(to_power)(scale[i], (T)beta) - (T)(2 * alpha * beta) * x[i] * sum[i];
    }
}
#undef FN
#undef PASTE3
#undef PASTE3_
