// Fft — discrete Fourier transforms of any length, many at once.
//
// Values lie as two planes, real and imaginary parts, each [n][lanes]: the transform goes over n, and each lane is a
// transform of its own. Stockham's way: each pass reads one pair of planes and writes another, in order.
#pragma once
#include "tensor/dtype.h"

enum { FFT_MOST_PASSES = 40 };

typedef struct {
    int64_t n;                 // the length
    int64_t passes;
    int radix[FFT_MOST_PASSES];
    bool is_double;
    void *roots;               // n pairs: cos, -sin of 2 pi k / n
    // Where n has a large prime factor: as a convolution of `wide` places (Bluestein), else 0.
    int64_t wide;
    void *chirp, *filter;      // n pairs; `wide` pairs
    const void *inner;         // the plan of `wide`
} FftPlan;

// Bytes that a plan of this length needs beside itself, aligned to 64; 0 where the length is too large.
size_t fft_plan_bytes(int64_t n, bool is_double);
// `memory`: that many bytes, which live as long as the plan.
void fft_prepare(int64_t n, bool is_double, void *memory, FftPlan *plan);
// n pairs: cos, -sin of 2 pi k / n.
void fft_roots(int64_t n, bool is_double, void *out);
// Bytes of scratch for so many lanes.
size_t fft_scratch(const FftPlan *plan, int64_t lanes);
// Over re and im, in place. Backwards: without the factor 1 / n.
void fft_run(const FftPlan *plan, bool backwards, int64_t lanes, void *re, void *im, void *scratch);
