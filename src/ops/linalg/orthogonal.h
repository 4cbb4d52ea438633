// Orthogonal — QR, singular values and the eigenvalues of Hermitian matrices, by reflections and rotations.
//
// In double and complex128 only: float loses half its digits here, and single precision gains little where most of the
// time goes into moving rows. Entries should be about one (elements_scale); matrices are row-major without gaps.
// Matrices of vectors come turned, one vector a row: rotations then go over memory that lies together.
#pragma once
#include "tensor/dtype.h"

typedef struct {
    // a [m, n] becomes R; qt [columns, m] the first columns of Q, at least min(m, n). R's diagonal is real.
    void (*qr)(void *a, int64_t m, int64_t n, void *qt, int64_t columns, void *work);
    // s[n] descending of a [m, n], m >= n, which is destroyed; ut [columns, m], at least n, and vt [n, n], or NULL both.
    // False where there is no end of it.
    bool (*svd)(void *a, int64_t m, int64_t n, double *s, void *ut, int64_t columns, void *vt, void *work);
    // e[n] ascending of a [n, n], of which the lower triangle counts and which is destroyed; vt [n, n] or NULL.
    bool (*eigen)(void *a, int64_t n, double *e, void *vt, void *work);
} Orthogonal;

extern const Orthogonal orthogonal_double, orthogonal_complex128;
static inline const Orthogonal *orthogonal_of(bool is_complex) {
    return is_complex ? &orthogonal_complex128 : &orthogonal_double;
}
// Elements of `work`.
static inline int64_t orthogonal_work(int64_t m, int64_t n) {
    return 6 * ((m > n ? m : n) + 1);
}
