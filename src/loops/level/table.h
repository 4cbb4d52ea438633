// LoopTable — what one CPU level offers. The tables are equal in shape; loops_table() gives the one to use.
#pragma once
#include "base/env_var.h"
#include "loops/elementwise.h"
#include "loops/reduce.h"
#include "loops/gemm.h"
#include "loops/level/level.h"

typedef enum { TYPE_F32, TYPE_F64, TYPE_I32, TYPE_I64, TYPE_U32, TYPE_U64, TYPE_C64, TYPE_C128, TYPE_BOOL,
              TYPES } ComputeType;

typedef enum { CAST_F32, CAST_F64, CAST_I32, CAST_I64, CAST_U32, CAST_U64, CAST_I8, CAST_U8, CAST_I16, CAST_U16,
              CAST_BOOL,
               CAST_TYPES } CastType;

typedef struct {
    ConvertFn half_to_float, bfloat16_to_float, float_to_half, float_to_bfloat16;
} SixteenTable;

// Reductions gather in an accumulator of the type's own width or, for float and complex64, of twice that.
typedef enum { FOLD_SUM, FOLD_PROD, FOLD_MAX, FOLD_MIN, FOLD_SQUARES, FOLDS } Fold;
enum { FOLD_SHORT = 24 };
typedef struct {
    // *acc = fold(*acc, in[0] .. in[n - 1])
    void (*row)(const void *in, int64_t n, void *acc);
    // acc[j] = fold(acc[j], in[r * stride + j] over r), 0 <= j < n
    void (*rows)(const void *in, int64_t rows, int64_t stride, int64_t n, void *acc);
    // acc[r] = fold(acc[r], in[r * n] .. in[r * n + n - 1]); rows of up to FOLD_SHORT elements one after the other
    void (*each)(const void *in, int64_t rows, int64_t n, void *acc);
} FoldLoops;
typedef struct {
    // Index of the first greatest (least) of in[0], in[step] ... n elements, for each of `inner` neighbours.
    void (*greatest)(const void *in, int64_t n, int64_t step, int64_t inner, int64_t *out);
    void (*least)(const void *in, int64_t n, int64_t step, int64_t inner, int64_t *out);
} ArgLoops;

// out[j * to + i] = in[i * from + j], 0 <= i < rows, 0 <= j < columns.
typedef void (*TransposeFn)(const void *in, void *out, int64_t rows, int64_t columns, int64_t from, int64_t to);

// The whole product on this thread. `scratch` holds the packed blocks of both operands.
typedef void (*GemmPackFn)(const GemmShape *shape, const void *b, void *packed);
typedef void (*GemmFn)(const GemmShape *shape, GemmWay way, const void *a, const void *b, void *c, void *scratch);

// Blocks counter + skip, counter + skip + 1 ... of a Philox generator.
typedef void (*PhiloxFn)(const uint32_t *key, const uint32_t *counter, uint64_t skip, int64_t blocks, uint32_t *out);

// Arrays by type: [0] float, [1] double. The contracts are those of norm.h. Up to SOFTMAX_SHORT floats a row,
// SOFTMAX_ABREAST rows go at once.
enum { SOFTMAX_SHORT = 128, SOFTMAX_ABREAST = 16 };
typedef struct {
    void (*softmax[2])(const void *in, void *out, int64_t rows, int64_t n, bool logarithm);
    void (*cross_entropy[2])(const void *logits, const void *labels, const void *factor, void *loss, void *gradient,
                             int64_t rows, int64_t n);
    void (*sparse_cross_entropy[2])(const void *logits, const int64_t *labels, const void *factor, void *loss,
                                    void *gradient, int64_t rows, int64_t n);
} SoftmaxTable;

// Of a convolution to few channels: where the rows of a window lie, in elements. Filters follow each other, `filter`
// apart; neighbouring pixels have their windows `pixel` apart.
enum { NARROW = 3, NARROW_RUNS = 64 };
typedef struct {
    int64_t at[NARROW_RUNS], filter_at[NARROW_RUNS], length[NARROW_RUNS], n, pixel, filter;
    bool rest;   // some are no whole vectors
} NarrowRuns;

#define POOL_NEAR 1e-5
// Arrays by type: [0] float, [1] double and, for pooling, [2] int32, [3] int64. The contracts are those of norm.h.
typedef struct {
    void (*moments[2])(const void *x, const void *y, const void *shift_x, const void *shift_y, const void *gate_a,
                       const void *gate_b, int64_t rows, int64_t channels, double *sums);
    void (*scale_rows[2])(const void *x, const void *a, const void *b, const void *side, void *y, int64_t rows,
                          int64_t channels, bool relu);
    void (*blend_rows[2])(const void *dy, const void *x, const void *a, const void *b, const void *d,
                          const void *gate_a, const void *gate_b, void *out, int64_t rows, int64_t channels);
    void (*add_channels[2])(const void *x, void *y, int64_t n, double scale);
    // y[p * outs + o] = bias[o] + the dot products of all runs of pixel p and filter o, then relu; outs is at most
    // NARROW.
    void (*narrow[2])(const void *x, const NarrowRuns *runs, const void *filter, const void *bias, bool relu, void *y,
                      int64_t pixels, int64_t outs);
    // y[c] = (more ? y[c] : 0) + the sum of x[at[i] + c] * weights[i]; or of those where equal[c] is less
    // than POOL_NEAR from greatest[at[i] + c]: TensorFlow's kernel takes that for the greatest element of a window.
    void (*gather_mean[2])(const void *x, const int64_t *at, const double *weights, int64_t n, void *y,
                           int64_t channels, bool more);
    void (*gather_equal[2])(const void *x, const void *equal, const void *greatest, const int64_t *at, int64_t n,
                            void *y, int64_t channels, bool more);
    void (*local_response[2])(const void *in, void *out, void *work, int64_t rows, int64_t n, int64_t radius,
                              double bias, double alpha, double beta);
    void (*local_response_grad[2])(const void *gradients, const void *in, const void *result, void *out, void *work,
                                   int64_t rows, int64_t n, int64_t radius, double bias, double alpha, double beta);
    void (*max_first[4])(const void *x, void *greatest, int64_t n);  // the first of a window
    void (*max[4])(const void *x, void *greatest, int64_t n);
    void (*max_at[4])(const void *x, void *greatest, int32_t *place, int32_t at, int64_t n);
    // One row of a plane: out[x] = max(out[x], row[x * stride - pad + j], 0 <= j < window) over what lies in the row;
    // the other adds instead.
    void (*max_along[4])(const void *row, int64_t extent, void *out, int64_t count, int64_t stride, int64_t pad,
                         int64_t window);
    void (*add_along[2])(const void *row, int64_t extent, void *out, int64_t count, int64_t stride, int64_t pad,
                         int64_t window);
    void (*max_grad[4])(const int32_t *place, int32_t at, const void *dy, void *dx, int64_t n);
    // The four pixels of a whole 2x2 window in reading order: their greatest; dy to the first greatest, zeros to the
    // rest.
    void (*max_2x2[4])(const void *const x[4], void *greatest, int64_t n);
    void (*max_grad_2x2[4])(const void *const x[4], const void *dy, void *const dx[4], int64_t n);
} WindowTable;

// Convolutions by products at 36 points (3x3) and 64 (5x5); level/winograd.c says how things lie.
// `point`: floats from one point to the next, `block`: from a vector of channels to the next.
typedef struct {
    // A tile of 6 x 6 (8 x 8) pixels, row by row; a low one has 4 rows, a narrow one columns; of gradients 4 x 4, or 2.
    // Pixels beyond the image must point to zeros. Lanes beyond the channels are written as 0, points that the tile
    // lacks are not. Tiles of 5x5 are neither low nor narrow.
    void (*image_tile)(const float *const *pixels, bool low, bool narrow, int64_t channels, float *out, int64_t point,
                       int64_t block);
    void (*gradient_tile)(const float *const *pixels, bool low, bool narrow, int64_t channels, float *out,
                          int64_t point, int64_t block);
    // 4 x 4 pixels, whatever the tile; those that are NULL are left out.
    void (*result_tile)(const float *in, bool low, bool narrow, int64_t point, int64_t block, int64_t channels,
                        const float *bias, bool relu, float *const pixels[16]);
    // The row of one input channel in a filter packed as [point][panel][input channel][2 * lanes]; `panel`: floats from
    // a panel of two vectors of output channels to the next.
    void (*filter_row)(const float *const *taps, int64_t n, float *out, int64_t point, int64_t panel);
    void (*filter_gradient_row)(const float *in, int64_t point, int64_t n, float *const *taps);
} WinogradTransforms;
typedef struct {
    int lanes, rows;   // floats of a vector, 0: none; tiles that a product takes at a time
    const WinogradTransforms *of_3, *of_5;
    // At one point: c[vector][tile] = sum over k of a[k / lanes][tile][k % lanes] * b[panel][k][vector].
    void (*products)(const float *a, int64_t a_block, int64_t tiles, int64_t k, const float *b, int64_t vectors,
                     float *c, int64_t c_block);
    // At one point: c[row][vector] = sum over tiles of a[tile][row] * b[vector][tile], added to c if `add`; whole
    // vectors of rows.
    void (*gradient_products)(const float *a, int64_t a_block, int64_t rows, const float *b, int64_t b_block,
                              int64_t vectors, int64_t tiles, float *c, int64_t ldc, bool add);
} WinogradTable;

// One pass of Stockham's transform over planes of n rows: level/fft_rows.h.
typedef struct {
    int64_t radix, m, step;      // m blocks; neighbours in a row
    int64_t n, root_step;        // roots: n pairs, of which a pass of n / root_step rows reads each root_step-th
    const void *roots;
} FftPass;

typedef struct {
    int level;                                 // 1, 3 or 4
    const ElementwiseFn *elementwise[TYPES];   // by ElementwiseOp.index, NULL where the type has no such loop
    const SelectFn *select;                    // by log2 of the element's size, 1 to 16 bytes
    const SixteenTable *sixteen;
    const ConvertFn (*cast)[CAST_TYPES];       // [from][to]
    const FoldLoops *fold[TYPES];              // each [FOLDS], NULL functions where the type has no such fold
    const ArgLoops *arg[TYPES];                // NULL for complex types
    const DotsFn *dots;                        // float, double
    const TransposeFn *transpose;              // elements of 1, 2, 4, 8, 16 and 24 bytes
    void (*const *fft)(const FftPass *pass, const void *re, const void *im, void *to_re, void *to_im);  // float, double
    const GemmFn *gemm;                        // [type], NULL for bool
    const GemmPackFn *gemm_pack;               // float, double
    const int8_t *gemm_panel;                  // ... columns that lie together in what it writes
    const SoftmaxTable *softmax;
    const WindowTable *window;
    const WinogradTable *winograd;
    PhiloxFn philox;
} LoopTable;

extern const LoopTable loops_v1, loops_v3, loops_v4;

extern const EnvVar loops_variable;   // MILLRACE_CPU
// The table for this CPU: the highest level that it has, or the one that MILLRACE_CPU names (v1, v3, v4) if it has it.
const LoopTable *loops_table(void);
// Chooses a level from now on (loops found before keep theirs); false where the CPU lacks it. For tests and benchmarks.
bool loops_choose_level(int level);
