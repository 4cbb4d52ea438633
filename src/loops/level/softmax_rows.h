// Softmax and its losses by rows, for one float type. Included once per type with T, NAME and M(name), the vector
// functions, set.
#define PASTE3_(a, b) a##_##b
#define PASTE3(a, b) PASTE3_(a, b)
#define FN(name) PASTE3(name, NAME)

enum { FN(SPREAD) = 2 * LANES * (int)sizeof(float) / (int)sizeof(T) };

// A tree over SPREAD lanes: x of the upper half joins y of the lower.
#define HALVE(v, w, expression)                                              \
    for (int j = 0; 2 * w <= FN(SPREAD) && j < w; j++) {                     \
        T x_ = v[j + w], y_ = v[j];                                          \
        v[j] = expression;                                                   \
    }
#define LANES_TO_ONE(v, expression)                                          \
    HALVE(v, 16, expression)                                                 \
    HALVE(v, 8, expression)                                                  \
    HALVE(v, 4, expression)                                                  \
    HALVE(v, 2, expression)                                                  \
    HALVE(v, 1, expression)

INLINE T FN(greatest_of)(const T *x, int64_t n) {
    T m[FN(SPREAD)], most = x[0];
    int64_t i = 0;
    if (n >= FN(SPREAD)) {
        for (int j = 0; j < FN(SPREAD); j++)
            m[j] = x[j];
        for (i = FN(SPREAD); i + FN(SPREAD) <= n; i += FN(SPREAD))
            for (int j = 0; j < FN(SPREAD); j++)
                m[j] = x[i + j] > m[j] ? x[i + j] : m[j];
        LANES_TO_ONE(m, x_ > y_ ? x_ : y_)
        most = m[0] > most ? m[0] : most;
    }
    for (; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

INLINE T FN(sum_of)(const T *x, int64_t n) {
    T s[FN(SPREAD)] = {0}, total = 0;
    int64_t i = 0;
    for (; i + FN(SPREAD) <= n; i += FN(SPREAD))
        for (int j = 0; j < FN(SPREAD); j++)
            s[j] += x[i + j];
    LANES_TO_ONE(s, x_ + y_)
    for (; i < n; i++)
        total += x[i];
    return s[0] + total;
}

// y[i] = e^(x[i] - most), which may be x, and their sum; y NULL: that alone. What lies `ahead` comes into the cache
// meanwhile: the next row.
static T FN(exponentials)(const T *x, T most, T *y, int64_t n, int64_t ahead) {
    enum { BLOCK = 512, LINE = 64 / sizeof(T) };
    double total = 0;
    T tile[BLOCK];
    for (int64_t first = 0; first < n; first += BLOCK) {
        int64_t count = n - first < BLOCK ? n - first : BLOCK;
        const T *from = x + first;
        T *to = y ? y + first : tile;
        for (int64_t i = 0; ahead && i < count; i += LINE)
            __builtin_prefetch(from + ahead + i, 0, 2);
        VECTOR_LOOP
        for (int64_t i = 0; i < count; i++)
            to[i] = M(exp_below)(from[i] - most);
        total += (double)FN(sum_of)(to, count);
    }
    return (T)total;
}

static void FN(softmax_of)(const T *x, T *y, int64_t rows, int64_t n, bool logarithm) {
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        T most = FN(greatest_of)(x, n);
        int64_t ahead = r + 1 < rows ? n : 0;
        if (!logarithm) {
            T scale = 1 / FN(exponentials)(x, most, y, n, ahead);
            for (int64_t i = 0; i < n; i++)
                y[i] *= scale;
            continue;
        }
        T shift = M(log)(FN(exponentials)(x, most, NULL, n, ahead));
        VECTOR_LOOP
        for (int64_t i = 0; i < n; i++)
            y[i] = x[i] - most - shift;
    }
}

static void FN(cross_entropy_of)(const T *x, const T *p, const T *factor, T *loss, T *g, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; r++, x += n, p += n, g += n) {
        T most = FN(greatest_of)(x, n), cost = 0, f = factor ? factor[r] : 1;
        T total = FN(exponentials)(x, most, NULL, n, 0), scale = 1 / total, shift = M(log)(total);
        T s[FN(SPREAD)] = {0};
        int64_t i = 0;
        for (; i + FN(SPREAD) <= n; i += FN(SPREAD)) {
            VECTOR_LOOP
            for (int j = 0; j < FN(SPREAD); j++) {
                T d = x[i + j] - most, label = p[i + j], part = label * (shift - d);
                s[j] += label == 0 ? 0 : part;
                g[i + j] = (M(exp_below)(d) * scale - label) * f;
            }
        }
        for (; i < n; i++) {
            T d = x[i] - most, label = p[i];
            cost += label == 0 ? 0 : label * (shift - d);
            g[i] = (M(exp_below)(d) * scale - label) * f;
        }
        LANES_TO_ONE(s, x_ + y_)
        loss[r] = cost + s[0];
    }
}

static void FN(sparse_cross_entropy_of)(const T *x, const int64_t *labels, const T *factor, T *loss, T *g, int64_t rows,
                                        int64_t n) {
    for (int64_t r = 0; r < rows; r++, x += n, g += n) {
        T most = FN(greatest_of)(x, n), at = x[labels[r]], f = factor ? factor[r] : 1;
        T total = FN(exponentials)(x, most, g, n, r + 1 < rows ? n : 0), scale = 1 / total;
        T here = g[labels[r]] * scale - 1;
        for (int64_t i = 0; i < n; i++)
            g[i] = g[i] * scale * f;
        g[labels[r]] = here * f;
        loss[r] = M(log)(total) - (at - most);
    }
}
#undef HALVE
#undef LANES_TO_ONE
#undef FN
#undef PASTE3
#undef PASTE3_
