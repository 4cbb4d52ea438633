// Fft — see fft.h. The passes are in level/fft.c.
//
// Stockham's mixed-radix transform: each pass sorts as it goes, so there is no bit reversal; radix 4 first, then 2, 3,
// 5 and other primes. Lengths with a prime factor of 64 or more go by Bluestein's algorithm, a convolution of a power
// of two, so every length takes O(n log n). Several rows are transformed side by side (`lanes`): a pass is vectorised
// over them.
#include "loops/fft.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "loops/level/table.h"

// A pass over a prime p takes p multiplications an element; from here on Bluestein's three transforms take its place.
enum { LARGE_PRIME = 64 };   // a pass over a prime p takes p multiplications an element

static const double TURN = 6.283185307179586476925286766559;

static size_t pairs(int64_t n, bool is_double) {
    return round_up((size_t)n * (is_double ? 16 : 8), 64);
}

// The prime factors, fours first; returns the largest.
static int64_t factors(int64_t n, FftPlan *plan) {
    int64_t largest = 1;
    plan->passes = 0;
    for (int64_t p = 4; n > 1;) {
        if (n % p == 0) {
            plan->radix[plan->passes++] = (int)p;
            largest = max_i64(largest, p == 4 ? 2 : p);
            n /= p;
            continue;
        }
        p = p == 4 ? 2 : p == 2 ? 3 : p + 2;
        if (p * p > n && p > 3)
            p = n;
    }
    return largest;
}

// A power of two that holds the linear convolution of two sequences of n: 2 n - 1 at least.
static int64_t wide_of(int64_t n) {
    int64_t wide = 4;
    while (wide < 2 * n)
        wide *= 2;
    return wide;
}

// 0 for what can't be transformed. MOST bounds the tables.
size_t fft_plan_bytes(int64_t n, bool is_double) {
    enum { MOST = 1 << 28 };
    FftPlan plan;
    if (n < 1 || n > MOST)
        return 0;
    if (factors(n, &plan) < LARGE_PRIME)
        return pairs(n, is_double);
    return pairs(n, is_double) + pairs(wide_of(n), is_double) + round_up(sizeof(FftPlan), 64) +
           fft_plan_bytes(wide_of(n), is_double);
}

static void put(void *to, bool is_double, int64_t i, double a, double b) {
    if (is_double)
        ((double *)to)[2 * i] = a, ((double *)to)[2 * i + 1] = b;
    else
        ((float *)to)[2 * i] = (float)a, ((float *)to)[2 * i + 1] = (float)b;
}

// The filter of Bluestein's convolution is the conjugate chirp, periodic over `wide`.
static void prepare_chirp(FftPlan *plan, char *memory) {
    int64_t n = plan->n, wide = plan->wide;
    FftPlan *inner = (FftPlan *)(void *)memory;
    fft_prepare(wide, plan->is_double, memory + round_up(sizeof *inner, 64), inner);
    plan->inner = inner;
    for (int64_t k = 0; k < n; k++) {
        // k * k modulo 2 n before it becomes an angle: the cosine of a large argument would lose the low bits.
        double angle = TURN * (double)(k * k % (2 * n)) / (double)(2 * n);
        put(plan->chirp, plan->is_double, k, cos(angle), -sin(angle));
    }
    for (int64_t k = 0; k < wide; k++) {
        int64_t at = k < n ? k : wide - k < n ? wide - k : -1;
        double angle = at < 0 ? 0 : TURN * (double)(at * at % (2 * n)) / (double)(2 * n);
        put(plan->filter, plan->is_double, k, at < 0 ? 0 : cos(angle), at < 0 ? 0 : sin(angle));
    }
}

// In double, then rounded: errors of the roots add up over the passes.
void fft_roots(int64_t n, bool is_double, void *out) {
    for (int64_t k = 0; k < n; k++)
        put(out, is_double, k, cos(TURN * (double)k / (double)n), -sin(TURN * (double)k / (double)n));
}

void fft_prepare(int64_t n, bool is_double, void *memory, FftPlan *plan) {
    *plan = (FftPlan){.n = n, .is_double = is_double, .roots = memory};
    if (factors(n, plan) < LARGE_PRIME) {
        fft_roots(n, is_double, memory);
        return;
    }
    plan->wide = wide_of(n);
    plan->chirp = memory;
    plan->filter = (char *)memory + pairs(n, is_double);
    prepare_chirp(plan, (char *)plan->filter + pairs(plan->wide, is_double));
}

size_t fft_scratch(const FftPlan *plan, int64_t lanes) {
    size_t size = plan->is_double ? 8 : 4;
    if (!plan->wide)
        return 2 * round_up((size_t)(plan->n * lanes) * size, 64);
    // The padded planes, those of the transformed filter, and what the inner plan takes.
    return 2 * round_up((size_t)(plan->wide * lanes) * size, 64) + 2 * round_up((size_t)plan->wide * size, 64) +
           fft_scratch(plan->inner, lanes);
}

static void run_passes(const FftPlan *plan, bool backwards, int64_t lanes, void *re, void *im, void *scratch) {
    size_t plane = round_up((size_t)(plan->n * lanes) * (plan->is_double ? 8 : 4), 64);
    void *from[2] = {re, im}, *to[2] = {scratch, (char *)scratch + plane};
    int64_t n = plan->n, step = lanes;
    for (int64_t i = 0; i < plan->passes; i++) {
        int radix = plan->radix[i];
        FftPass pass = {.radix = radix, .m = n / radix, .step = step, .root_step = plan->n / n, .n = plan->n,
                        .roots = plan->roots};
        if (backwards)  // the other way round is the same with real and imaginary parts exchanged
            loops_table()->fft[plan->is_double](&pass, from[1], from[0], to[1], to[0]);
        else
            loops_table()->fft[plan->is_double](&pass, from[0], from[1], to[0], to[1]);
        for (int part = 0; part < 2; part++) {
            void *other = from[part];
            from[part] = to[part];
            to[part] = other;
        }
        n /= radix;
        step *= radix;
    }
    if (from[0] != re) {
        memcpy(re, from[0], (size_t)(plan->n * lanes) * (plan->is_double ? 8 : 4));
        memcpy(im, from[1], (size_t)(plan->n * lanes) * (plan->is_double ? 8 : 4));
    }
}

static double pair_of(const void *from, bool is_double, int64_t i) {
    return is_double ? ((const double *)from)[i] : (double)((const float *)from)[i];
}
static void times(void *re, void *im, bool is_double, int64_t i, double c, double s, void *to_re, void *to_im,
                  int64_t to) {
    if (is_double) {
        double a = ((double *)re)[i], b = ((double *)im)[i];
        ((double *)to_re)[to] = a * c - b * s, ((double *)to_im)[to] = a * s + b * c;
    } else {
        float a = ((float *)re)[i], b = ((float *)im)[i], fc = (float)c, fs = (float)s;
        ((float *)to_re)[to] = a * fc - b * fs, ((float *)to_im)[to] = a * fs + b * fc;
    }
}

// Bluestein: k n = (k^2 + n^2 - (k - n)^2) / 2 makes the transform a convolution with a chirp.
static void run_wide(const FftPlan *plan, int64_t lanes, void *re, void *im, void *scratch) {
    bool d = plan->is_double;
    size_t size = d ? 8 : 4, plane = round_up((size_t)(plan->wide * lanes) * size, 64);
    size_t column = round_up((size_t)plan->wide * size, 64);
    char *a = scratch, *b = a + plane, *fa = b + plane, *fb = fa + column, *rest = fb + column;
    memset(a, 0, 2 * plane);
    for (int64_t k = 0; k < plan->n; k++)
        for (int64_t l = 0; l < lanes; l++)
            times(re, im, d, k * lanes + l, pair_of(plan->chirp, d, 2 * k), pair_of(plan->chirp, d, 2 * k + 1), a, b,
                  k * lanes + l);
    for (int64_t k = 0; k < plan->wide; k++)
        times((void *)(uintptr_t)plan->filter, (char *)plan->filter + size, d, 2 * k, 1, 0, fa, fb, k);
    fft_run(plan->inner, false, 1, fa, fb, rest);
    fft_run(plan->inner, false, lanes, a, b, rest);
    double scale = 1 / (double)plan->wide;
    for (int64_t k = 0; k < plan->wide; k++)
        for (int64_t l = 0; l < lanes; l++)
            times(a, b, d, k * lanes + l, pair_of(fa, d, k) * scale, pair_of(fb, d, k) * scale, a, b, k * lanes + l);
    fft_run(plan->inner, true, lanes, a, b, rest);
    for (int64_t k = 0; k < plan->n; k++)
        for (int64_t l = 0; l < lanes; l++)
            times(a, b, d, k * lanes + l, pair_of(plan->chirp, d, 2 * k), pair_of(plan->chirp, d, 2 * k + 1), re, im,
                  k * lanes + l);
}

void fft_run(const FftPlan *plan, bool backwards, int64_t lanes, void *re, void *im, void *scratch) {
    if (!plan->wide)
        run_passes(plan, backwards, lanes, re, im, scratch);
    else if (backwards)
        run_wide(plan, lanes, im, re, scratch);
    else
        run_wide(plan, lanes, re, im, scratch);
}
