// Matrices — batches of matrices: their shapes, and their elements in the type that they are computed in.
#pragma once
#include "formula/formula.h"
#include "graph/shapes.h"
#include "kernel/kernel.h"
#include "loops/cast.h"

// ---- shapes

// What is known of an input that has two dimensions and more; `square`: the last two extents are one.
FALLIBLE Status *matrix_shape(const Shapes *s, int input, bool square, Shape *out);
Shape matrix_batch(Shape shape);                                   // of a known rank, without its last two dimensions
Shape matrix_append(Shape batch, int64_t extent);                  // the batch with one more dimension
int64_t extent_least(int64_t a, int64_t b);                        // of extents that may be unknown
// One output of a square matrix's shape; one for each matrix of the batch.
Status *matrix_square_shape(Shapes *s);
// The batch of both inputs, square matrices and their right sides, with n rows and the right sides' columns.
FALLIBLE Status *matrix_system_shape(Shapes *s, const Shape *batch, int64_t n);

// ---- geometry

// Which matrix of `part` goes into each of the n matrices of `whole`, whose batch it broadcasts to.
FALLIBLE Status *matrix_match(Prepare *p, const Shape *part, const Shape *whole, int64_t n, const int64_t **out);

// ---- elements

// To and from the type that is computed in: double, or complex128 where an input or an output is complex.
typedef struct {
    bool is_complex;                 // complex128
    size_t size;                  // bytes of one in memory
    CastLoop load, store, real;   // `real`: from double in any case
} Elements;

FALLIBLE Status *elements_init(DType dtype, bool is_complex, Elements *out);
static inline size_t elements_size(const Elements *elements) {
    return elements->is_complex ? 16 : 8;
}
void elements_load(const Elements *elements, const void *data, int64_t first, int64_t n, void *to);
void elements_store(const Elements *elements, const void *from, int64_t n, void *data, int64_t first);
void elements_store_real(const Elements *elements, const double *from, int64_t n, void *data, int64_t first);
// Divides by a power of two, so that the largest is about one, and tells which. NaN where one is not finite: then all
// become zeros, and what comes of them is times NaN.
double elements_scale(const Elements *elements, void *x, int64_t n);
void elements_times(const Elements *elements, void *x, int64_t n, double factor);
void elements_fill(const Elements *elements, void *x, int64_t n, double value);
// `to` [n, m] is `from` [m, n] turned; its conjugate too.
void matrix_turn(bool is_complex, const void *from, int64_t m, int64_t n, bool conjugate, void *to);

// ---- gradients

enum { TO_THE_END = INT32_MAX };

Output matrix_adjoint(Formula *f, Output x);
// Rows (or columns) [from, to) of each matrix; a negative `to` counts from the end.
Output matrix_rows(Formula *f, Output x, int64_t from, int64_t to);
Output matrix_columns(Formula *f, Output x, int64_t from, int64_t to);
// Each row (or column) in the place of the one before (`by` -1) or behind (1) it; zeros come in.
Output matrix_shift(Formula *f, Output x, bool rows, int by);
