// Schur — a = q t q^H with t upper triangular, and what is found through it: eigenvectors, functions of a matrix.
//
// Of one complex matrix [n, n]: real ones have complex eigenvalues, and one form serves them all.
#pragma once
#include "tensor/dtype.h"

// a becomes t; q [n, n] or NULL. Entries should be about one (elements_scale). work: 3 n elements. False where there is no
// end of it.
bool schur_form(Complex128 *a, int64_t n, Complex128 *q, Complex128 *work);
// v [n, n]: eigenvectors of q t q^H in its columns, of length one. work: n elements.
void schur_vectors(const Complex128 *t, const Complex128 *q, int64_t n, Complex128 *v, Complex128 *work);
// The square root of t, upper triangular.
void schur_root(const Complex128 *t, int64_t n, Complex128 *root);
// a becomes q x q^H; work: n x n elements.
void schur_back(const Complex128 *q, const Complex128 *x, int64_t n, Complex128 *a, Complex128 *work);
// c = a b, all [n, n].
void schur_product(const Complex128 *a, const Complex128 *b, int64_t n, Complex128 *c);
