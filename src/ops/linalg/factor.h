// Factor — LU and Cholesky factors of one matrix, and triangular systems: blocked, the bulk of the work in gemm.
//
// Own code rather than LAPACK: the library stays without a dependency of 10 MB that has its own threads, and half of a
// factorisation's work is a product of matrices, which loops/gemm does at the speed of the CPU. One thread factors one
// matrix; a batch is shared out by matrices.
#pragma once
#include "kernel/kernel.h"

enum {
    FACTOR_BLOCK = 48,   // columns at a time: a block of doubles fills 18 KB, half of L1
    WORK_MATRIX = 3,     // of a thread's memory, what callers have; the first are the functions' below
};

// Memory of one thread; grows, and is kept from matrix to matrix.
typedef struct {
    void *p[4];
    size_t n[4];
} Work;

// At least so many bytes; NULL where memory is out.
void *work_get(Work *work, int which, size_t bytes);
void work_clear(Work *work);
static inline void Work_auto(Work *work) {
    work_clear(work);
}

// Calls one(k, i, work) for each of n matrices, on several threads where `cost` ns for each pays; the first error.
typedef Status *MatrixFn(Kernel *k, int64_t i, Work *work);
FALLIBLE Status *each_matrix(Kernel *k, int64_t n, int64_t cost, MatrixFn *one);

// Of float, double, complex64 and complex128, all row-major without gaps, n x n:
//   lu_X          in place; pivots[i] is the row that i was exchanged with; false: out of memory
//   cholesky_X    the lower factor in place, above it zeros; *good is false where the matrix isn't positive definite
//   triangle_X    b [n, k] becomes the solution of t x = b; `unit`: the diagonal counts as ones
#define FACTOR_TYPES(X) X(float, float) X(double, double) X(complex64, Complex64) X(complex128, Complex128)
#define DECLARE(name, T)                                                                                      \
    FALLIBLE bool lu_##name(T *a, int64_t n, int64_t *pivots, Work *work);                                    \
    FALLIBLE bool cholesky_##name(T *a, int64_t n, Work *work, bool *good);                                   \
    FALLIBLE bool triangle_##name(const T *t, int64_t n, bool lower, bool unit, T *b, int64_t k, Work *work);
FACTOR_TYPES(DECLARE)
#undef DECLARE
