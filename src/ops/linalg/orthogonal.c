// Orthogonal — see orthogonal.h.
#define SELF "ops/linalg/orthogonal.c"
#ifndef T
#include "ops/linalg/orthogonal.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"

enum { STEPS = 60 };  // for one value; two or three are the rule

// Two rows of doubles, or of complex numbers as pairs of them: the plane's rotation that takes (c, s) to (1, 0).
static void rotate(double *x, double *y, int64_t n, double c, double s) {
    for (int64_t i = 0; i < n; i++) {
        double kept = x[i];
        x[i] = c * kept + s * y[i];
        y[i] = c * y[i] - s * kept;
    }
}

// The length of (x, y), and its direction.
static double direction(double x, double y, double *c, double *s) {
    double r = hypot(x, y);
    *c = r > 0 ? x / r : 1;
    *s = r > 0 ? y / r : 0;
    return r;
}

// The eigenvalue of [a b; b d] that is nearer to d.
static double nearer_eigenvalue(double a, double b, double d) {
    double half = (a - d) / 2, root = hypot(half, b);
    double under = half >= 0 ? half + root : half - root;
    return under != 0 ? d - b / under * b : d;
}

static bool negligible(double off, double a, double b) {
    return fabs(off) <= DBL_EPSILON * (fabs(a) + fabs(b)) + DBL_MIN;
}

static void exchange_rows(double *x, double *y, int64_t n) {
    for (int64_t i = 0; i < n && x != y; i++) {
        double kept = x[i];
        x[i] = y[i];
        y[i] = kept;
    }
}

// Puts the largest (`sign` 1) or the smallest (-1) first; `rows` and `more`, where there are any, follow.
static void sort_values(double *value, int64_t n, double sign, double *rows, int64_t width, double *more,
                        int64_t more_width) {
    for (int64_t i = 0; i < n; i++) {
        int64_t best = i;
        for (int64_t j = i + 1; j < n; j++)
            best = sign * value[j] > sign * value[best] ? j : best;
        exchange_rows(value + i, value + best, 1);
        if (rows)
            exchange_rows(rows + i * width, rows + best * width, width);
        if (more)
            exchange_rows(more + i * more_width, more + best * more_width, more_width);
    }
}

// ---------------------------------------- the bidiagonal matrix

// Singular values d[n] of the matrix of diagonal d and the elements e[n - 1] right of it; rows of u and v are turned
// along.
typedef struct {
    double *d, *e, *u, *v;
    int64_t n, u_width, v_width;
} Bidiagonal;

static void turn_u(const Bidiagonal *b, int64_t i, int64_t j, double c, double s) {
    if (b->u)
        rotate(b->u + i * b->u_width, b->u + j * b->u_width, b->u_width, c, s);
}
static void turn_v(const Bidiagonal *b, int64_t i, int64_t j, double c, double s) {
    if (b->v)
        rotate(b->v + i * b->v_width, b->v + j * b->v_width, b->v_width, c, s);
}

// A zero on the diagonal of the block [low, high]: what is right of it goes, and what is above the last.
static bool split_at_zero(const Bidiagonal *b, int64_t low, int64_t high, double tiny) {
    double *d = b->d, *e = b->e, c, s;
    for (int64_t i = low; i < high; i++) {
        if (fabs(d[i]) > tiny)
            continue;
        double rest = e[i];
        d[i] = e[i] = 0;
        for (int64_t j = i + 1; j <= high && rest != 0; j++) {
            d[j] = direction(d[j], rest, &c, &s);
            turn_u(b, j, i, c, s);
            if (j < high) {
                rest = -s * e[j];
                e[j] *= c;
            }
        }
        return true;
    }
    if (fabs(d[high]) > tiny)
        return false;
    double rest = e[high - 1];
    d[high] = e[high - 1] = 0;
    for (int64_t j = high - 1; j >= low && rest != 0; j--) {
        d[j] = direction(d[j], rest, &c, &s);
        turn_v(b, j, high, c, s);
        if (j > low) {
            rest = -s * e[j - 1];
            e[j - 1] *= c;
        }
    }
    return true;
}

// One implicit step of the QR iteration over the block [low, high].
static void bidiagonal_step(const Bidiagonal *b, int64_t low, int64_t high) {
    double *d = b->d, *e = b->e, c, s, before = high - 1 > low ? e[high - 2] : 0;
    double shift = nearer_eigenvalue(d[high - 1] * d[high - 1] + before * before, d[high - 1] * e[high - 1],
                                     d[high] * d[high] + e[high - 1] * e[high - 1]);
    double y = d[low] * d[low] - shift, z = d[low] * e[low];
    for (int64_t k = low; k < high; k++) {
        double r = direction(y, z, &c, &s);
        if (k > low)
            e[k - 1] = r;
        y = c * d[k] + s * e[k];
        e[k] = c * e[k] - s * d[k];
        z = s * d[k + 1];
        d[k + 1] *= c;
        turn_v(b, k, k + 1, c, s);
        d[k] = direction(y, z, &c, &s);
        y = c * e[k] + s * d[k + 1];
        d[k + 1] = c * d[k + 1] - s * e[k];
        if (k + 1 < high) {
            z = s * e[k + 1];
            e[k + 1] *= c;
        }
        turn_u(b, k, k + 1, c, s);
    }
    e[high - 1] = y;
}

static bool bidiagonal_solve(const Bidiagonal *b) {
    double *d = b->d, *e = b->e, most = 0;
    for (int64_t i = 0; i < b->n; i++)
        most = fmax(most, fmax(fabs(d[i]), i + 1 < b->n ? fabs(e[i]) : 0));
    int64_t high = b->n - 1, steps = 0;
    while (high > 0) {
        int64_t low = high;
        while (low > 0 && !negligible(e[low - 1], d[low - 1], d[low]))
            low--;
        if (low == high) {
            e[--high] = 0;
            steps = 0;
        } else if (!split_at_zero(b, low, high, DBL_EPSILON * most / 4)) {
            bidiagonal_step(b, low, high);
        }
        if (++steps > STEPS * 2)
            return false;
    }
    for (int64_t i = 0; i < b->n; i++) {
        if (d[i] < 0 && b->v)
            for (int64_t j = 0; j < b->v_width; j++)
                b->v[i * b->v_width + j] *= -1;
        d[i] = fabs(d[i]);
    }
    sort_values(d, b->n, 1, b->u, b->u_width, b->v, b->v_width);
    return true;
}

// ---------------------------------------- the tridiagonal matrix

// Eigenvalues d[n] of the symmetric matrix of diagonal d and the elements e[n - 1] beside it; rows of v are turned along.
static bool tridiagonal_solve(double *d, double *e, int64_t n, double *v, int64_t width) {
    int64_t high = n - 1, steps = 0;
    while (high > 0) {
        int64_t low = high;
        while (low > 0 && !negligible(e[low - 1], d[low - 1], d[low]))
            low--;
        if (low == high) {
            high--;
            steps = 0;
            continue;
        }
        if (++steps > STEPS)
            return false;
        double x = d[low] - nearer_eigenvalue(d[high - 1], e[high - 1], d[high]), z = e[low], c, s;
        for (int64_t k = low; k < high; k++) {
            double r = direction(x, z, &c, &s), a = d[k], off = e[k], g = d[k + 1];
            if (k > low)
                e[k - 1] = r;
            d[k] = c * c * a + 2 * c * s * off + s * s * g;
            d[k + 1] = s * s * a - 2 * c * s * off + c * c * g;
            x = e[k] = c * s * (g - a) + (c * c - s * s) * off;
            if (k + 1 < high) {
                z = s * e[k + 1];
                e[k + 1] *= c;
            }
            if (v)
                rotate(v + k * width, v + (k + 1) * width, width, c, s);
        }
    }
    sort_values(d, n, -1, v, width, NULL, 0);
    return true;
}

#include "ops/linalg/each_computed.h"

#else  // ---------------------------------------- once per type

// The reflection I - tau v v^H, v[0] = 1, whose adjoint takes x to (beta, 0 ...): gives beta, which is real; x becomes v.
static double NAME(reflect)(T *x, int64_t n, T *tau) {
    double tail = 0, beta = REAL(x[0]);
    for (int64_t i = 1; i < n; i++)
        tail += SQUARED(x[i]);
    *tau = 0;
    if (tail != 0 || IMAG(x[0]) != 0) {
        double length = sqrt(SQUARED(x[0]) + tail);
        beta = beta >= 0 ? -length : length;
        *tau = (beta - x[0]) / beta;
        T scale = 1 / (x[0] - beta);
        for (int64_t i = 1; i < n; i++)
            x[i] *= scale;
    }
    x[0] = 1;
    return beta;
}

static void NAME(gather)(const T *from, int64_t stride, int64_t n, bool conjugate, T *to) {
    for (int64_t i = 0; i < n; i++)
        to[i] = conjugate ? CONJ(from[i * stride]) : from[i * stride];
}

// What is behind the first of v, in the place of the zeros.
static void NAME(put)(const T *v, int64_t n, T *to, int64_t stride) {
    for (int64_t i = 1; i < n; i++)
        to[i * stride] = v[i];
}

// a [m, n] -= tau v (v^H a)
static void NAME(from_left)(T *a, int64_t lda, int64_t m, int64_t n, const T *v, T tau, T *w) {
    memset(w, 0, (size_t)n * sizeof *w);
    for (int64_t i = 0; i < m && tau != 0; i++) {
        T factor = CONJ(v[i]);
        for (int64_t j = 0; j < n; j++)
            w[j] += factor * a[i * lda + j];
    }
    for (int64_t i = 0; i < m && tau != 0; i++) {
        T factor = tau * v[i];
        for (int64_t j = 0; j < n; j++)
            a[i * lda + j] -= factor * w[j];
    }
}

// a [m, n] -= tau (a v) v^H
static void NAME(from_right)(T *a, int64_t lda, int64_t m, int64_t n, const T *v, T tau) {
    for (int64_t i = 0; i < m && tau != 0; i++) {
        T *row = a + i * lda, sum = 0;
        for (int64_t j = 0; j < n; j++)
            sum += row[j] * v[j];
        sum *= tau;
        for (int64_t j = 0; j < n; j++)
            row[j] -= sum * CONJ(v[j]);
    }
}

// qt [columns, rows]: the first columns of H_0 H_1 ..., turned. Element i of v_k is at first[k * step + i * stride];
// H_k leaves the first k + offset elements alone.
static void NAME(form)(const T *first, int64_t step, int64_t stride, const T *tau, int64_t count, int64_t offset, T *qt,
                       int64_t columns, int64_t rows, T *v) {
    memset(qt, 0, (size_t)(columns * rows) * sizeof *qt);
    for (int64_t i = 0; i < min_i64(columns, rows); i++)
        qt[i * rows + i] = 1;
    for (int64_t k = count - 1; k >= 0; k--) {
        int64_t at = k + offset;
        NAME(gather)(first + k * step, stride, rows - at, true, v);
        v[0] = 1;
        NAME(from_right)(qt + at * rows + at, rows, columns - at, rows - at, v, tau[k]);
    }
}

static void NAME(qr)(void *matrix, int64_t m, int64_t n, void *qt, int64_t columns, void *work) {
    T *a = matrix, *tau = work, *v = tau + max_i64(m, n), *w = v + max_i64(m, n);
    int64_t count = min_i64(m, n);
    for (int64_t k = 0; k < count; k++) {
        NAME(gather)(a + k * n + k, n, m - k, false, v);
        a[k * n + k] = NAME(reflect)(v, m - k, &tau[k]);
        NAME(put)(v, m - k, a + k * n + k, n);
        NAME(from_left)(a + k * n + k + 1, n, m - k, n - k - 1, v, CONJ(tau[k]), w);
    }
    NAME(form)(a, n + 1, n, tau, count, 0, qt, columns, m, v);
    for (int64_t i = 1; i < m; i++)
        memset(a + i * n, 0, (size_t)min_i64(i, n) * sizeof *a);
}

static bool NAME(svd)(void *matrix, int64_t m, int64_t n, double *s, void *ut, int64_t columns, void *vt, void *work) {
    T *a = matrix, *left = work, *right = left + n, *v = right + n, *w = v + m;
    double *e = (double *)(w + m);
    for (int64_t k = 0; k < n; k++) {
        int64_t rest = n - k - 1;
        NAME(gather)(a + k * n + k, n, m - k, false, v);
        s[k] = NAME(reflect)(v, m - k, &left[k]);
        NAME(put)(v, m - k, a + k * n + k, n);
        NAME(from_left)(a + k * n + k + 1, n, m - k, rest, v, CONJ(left[k]), w);
        if (rest == 0)
            continue;
        T *row = a + k * n + k + 1;
        NAME(gather)(row, 1, rest, true, v);
        e[k] = NAME(reflect)(v, rest, &right[k]);
        NAME(put)(v, rest, row, 1);
        NAME(from_right)(row + n, n, m - k - 1, rest, v, right[k]);
    }
    Bidiagonal b = {.d = s, .e = e, .n = n};
    if (ut) {
        NAME(form)(a, n + 1, n, left, n, 0, ut, columns, m, v);
        NAME(form)(a + 1, n + 1, 1, right, n - 1, 1, vt, n, n, v);
        b.u = ut;
        b.v = vt;
        b.u_width = m * DOUBLES;
        b.v_width = n * DOUBLES;
    }
    return bidiagonal_solve(&b);
}

// b [n, n], Hermitian, becomes H^H b H.
static void NAME(from_both)(T *b, int64_t ldb, int64_t n, const T *v, T tau, T *w) {
    T dot = 0;
    for (int64_t i = 0; i < n; i++) {
        T sum = 0;
        for (int64_t j = 0; j < n; j++)
            sum += b[i * ldb + j] * v[j];
        w[i] = tau * sum;
        dot += CONJ(w[i]) * v[i];
    }
    for (int64_t i = 0; i < n; i++)
        w[i] -= tau * dot / 2 * v[i];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            b[i * ldb + j] -= v[i] * CONJ(w[j]) + w[i] * CONJ(v[j]);
}

static bool NAME(eigen)(void *matrix, int64_t n, double *d, void *vt, void *work) {
    T *a = matrix, *tau = work, *v = tau + n, *w = v + n;
    double *e = (double *)(w + n);
    for (int64_t i = 0; i < n; i++) {
        a[i * n + i] = REAL(a[i * n + i]);
        for (int64_t j = i + 1; j < n; j++)
            a[i * n + j] = CONJ(a[j * n + i]);
    }
    for (int64_t k = 0; k + 1 < n; k++) {
        T *column = a + (k + 1) * n + k;
        int64_t rest = n - k - 1;
        NAME(gather)(column, n, rest, false, v);
        e[k] = NAME(reflect)(v, rest, &tau[k]);
        NAME(put)(v, rest, column, n);
        if (tau[k] != 0)
            NAME(from_both)(column + 1, n, rest, v, tau[k], w);
    }
    for (int64_t k = 0; k < n; k++)
        d[k] = REAL(a[k * n + k]);
    if (vt)
        NAME(form)(a + n, n + 1, n, tau, n - 1, 1, vt, n, n, v);
    return tridiagonal_solve(d, e, n, vt, n * DOUBLES);
}

const Orthogonal NAME(orthogonal) = {.qr = NAME(qr), .svd = NAME(svd), .eigen = NAME(eigen)};
#endif
