// Norm — rows that are normalised: softmax and its losses, batch normalisation, local response normalisation.
//
// dtype is float or double everywhere; callers widen 16-bit floats. Rows are [rows, n] and may be shared out.
#pragma once
#include "tensor/dtype.h"

// How many rows of softmax and the losses go at once: they are best shared out by multiples of that. And what an
// element takes.
int64_t softmax_abreast(DType dtype, int64_t n);
int64_t softmax_picoseconds(DType dtype);
// y = e^x / sum e^x of each row, or its logarithm. n >= 1; y may be x.
void softmax_rows(DType dtype, const void *x, void *y, int64_t rows, int64_t n, bool logarithm);
// loss[r] = sum labels * (ln sum e^x - x) and gradient = (softmax - labels) * factor[r]; NULL: 1. n >= 1; gradient may
// be logits.
void cross_entropy_rows(DType dtype, const void *logits, const void *labels, const void *factor, void *loss,
                        void *gradient, int64_t rows, int64_t n);
// The same for one label per row, int32 or int64. Returns -1, or a row whose label is outside [0, n): its loss and
// gradient are NaN, as TensorFlow's are on devices that can't report.
int64_t sparse_cross_entropy_rows(DType dtype, const void *logits, const void *labels, DType index, const void *factor,
                                  void *loss, void *gradient, int64_t rows, int64_t n);

// ---- batch normalisation of [rows, channels] ----

// A relu behind the normalisation, as its gradient sees it: dy counts as 0 unless x * a + b > 0, by the factors of the
// forward pass. {NULL, NULL}: there is none.
typedef struct {
    const void *a, *b;
} NormGate;

// Adds to sums[0..channels) the sums of x - shift_x and to sums[channels..2*channels) those of (x - shift_x) * (y -
// shift_y). For variances y is x and the shift any row of it. A gate closes by y. Threads have sums of their own.
void batch_norm_moments(DType dtype, const void *x, const void *y, const void *shift_x, const void *shift_y,
                        NormGate gate, int64_t rows, int64_t channels, double *sums);
// mean and (biased) variance of the sums of all rows, taken with x as y; either type as dtype.
void batch_norm_statistics(DType dtype, const double *sums, const void *shift, int64_t rows, int64_t channels,
                           void *mean, void *variance);
// y = (x - mean) / sqrt(variance + epsilon) * scale + offset, as y = x * a + b: first a and b, then rows.
void batch_norm_factors(DType dtype, const void *mean, const void *variance, const void *scale, const void *offset,
                        double epsilon, int64_t channels, void *a, void *b);
// `side` (NULL: none) is added behind that, then the result is cut at 0 if `relu`. y may be x or side.
void batch_norm_rows(DType dtype, const void *x, const void *a, const void *b, const void *side, void *y, int64_t rows,
                     int64_t channels, bool relu);
// The gradient, of sums taken by moments(dy, x, zeros, mean, gate): d_scale, d_offset and dx = dy * a + x * b + d by
// rows. In inference (`training` false) the statistics are constants.
void batch_norm_grad_factors(DType dtype, const double *sums, const void *mean, const void *variance,
                             const void *scale, double epsilon, bool training, int64_t rows, int64_t channels,
                             void *d_scale, void *d_offset, void *a, void *b, void *d);
// dx may be dy.
void batch_norm_grad_rows(DType dtype, const void *dy, const void *x, const void *a, const void *b, const void *d,
                          NormGate gate, void *dx, int64_t rows, int64_t channels);

// ---- local response normalisation over the channels of [rows, channels] ----

// y = x / (bias + alpha * sum of squares within `radius` channels)^beta. `work` has local_response_work() bytes.
size_t local_response_work(DType dtype, int64_t channels);
void local_response_rows(DType dtype, const void *x, void *y, void *work, int64_t rows, int64_t channels,
                         int64_t radius, double bias, double alpha, double beta);
void local_response_grad_rows(DType dtype, const void *dy, const void *x, const void *y, void *dx, void *work,
                              int64_t rows, int64_t channels, int64_t radius, double bias, double alpha, double beta);
