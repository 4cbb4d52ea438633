// Schur — see schur.h.
#include "ops/linalg/schur.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

typedef Complex128 Z;

enum { STEPS = 60 };  // for one eigenvalue; two or three are the rule

// ---------------------------------------- the form

// Zeros below the elements beside the diagonal, by reflections that q collects.
static void hessenberg(Z *a, int64_t n, Z *q, Z *v) {
    for (int64_t k = 0; k + 2 < n; k++) {
        int64_t rest = n - k - 1;
        double tail = 0;
        for (int64_t i = 0; i < rest; i++) {
            v[i] = a[(k + 1 + i) * n + k];
            tail += i > 0 ? creal(v[i]) * creal(v[i]) + cimag(v[i]) * cimag(v[i]) : 0;
        }
        if (tail == 0)
            continue;
        double size = cabs(v[0]), length = hypot(size, sqrt(tail));
        Z beta = size > 0 ? -v[0] / size * length : -length;
        v[0] -= beta;
        double factor = 2 / (creal(v[0]) * creal(v[0]) + cimag(v[0]) * cimag(v[0]) + tail);
        for (int64_t j = k; j < n; j++) {  // a -= factor v (v^H a)
            Z sum = 0;
            for (int64_t i = 0; i < rest; i++)
                sum += conj(v[i]) * a[(k + 1 + i) * n + j];
            for (int64_t i = 0; i < rest; i++)
                a[(k + 1 + i) * n + j] -= factor * sum * v[i];
        }
        for (int64_t part = 0; part < (q ? 2 : 1); part++)  // a -= factor (a v) v^H; q too
            for (int64_t i = 0; i < n; i++) {
                Z *row = (part ? q : a) + i * n + k + 1, sum = 0;
                for (int64_t j = 0; j < rest; j++)
                    sum += row[j] * v[j];
                for (int64_t j = 0; j < rest; j++)
                    row[j] -= factor * sum * conj(v[j]);
            }
        for (int64_t i = 1; i < rest; i++)
            a[(k + 1 + i) * n + k] = 0;
    }
}

// The eigenvalue of the last two rows that is nearer to the last element.
static Z shift_of(const Z *a, int64_t n, int64_t high) {
    Z d = a[high * n + high], half = (a[(high - 1) * n + high - 1] - d) / 2;
    Z product = a[(high - 1) * n + high] * a[high * n + high - 1], root = csqrt(half * half + product);
    Z under = creal(half * conj(root)) >= 0 ? half + root : half - root;
    return under != 0 ? d - product / under : d;
}

// One implicit step of the QR iteration over the block [low, high].
static void schur_step(Z *a, int64_t n, int64_t low, int64_t high, Z shift, Z *q) {
    Z x = a[low * n + low] - shift, y = a[(low + 1) * n + low];
    for (int64_t k = low; k < high; k++) {
        double length = hypot(cabs(x), cabs(y));
        Z c = length > 0 ? x / length : 1, s = length > 0 ? y / length : 0;
        Z *upper = a + k * n, *lower = upper + n;
        for (int64_t j = k > low ? k - 1 : low; j < n; j++) {
            Z kept = upper[j];
            upper[j] = conj(c) * kept + conj(s) * lower[j];
            lower[j] = c * lower[j] - s * kept;
        }
        int64_t last = k + 2 < high ? k + 2 : high;
        for (int64_t part = 0; part < (q ? 2 : 1); part++)
            for (int64_t i = 0; i < (part ? n : last + 1); i++) {
                Z *pair = (part ? q : a) + i * n + k, kept = pair[0];
                pair[0] = c * kept + s * pair[1];
                pair[1] = conj(c) * pair[1] - conj(s) * kept;
            }
        if (k + 1 < high) {
            x = a[(k + 1) * n + k];
            y = a[(k + 2) * n + k];
        }
    }
}

bool schur_form(Z *a, int64_t n, Z *q, Z *work) {
    for (int64_t i = 0; i < n * n && q; i++)
        q[i] = i % (n + 1) == 0;
    hessenberg(a, n, q, work);
    int64_t high = n - 1, steps = 0;
    while (high > 0) {
        int64_t low = high;
        for (; low > 0; low--) {
            double beside = cabs(a[(low - 1) * n + low - 1]) + cabs(a[low * n + low]);
            if (cabs(a[low * n + low - 1]) <= DBL_EPSILON * beside + DBL_MIN)
                break;
        }
        if (low > 0)
            a[low * n + low - 1] = 0;
        if (low == high) {
            high--;
            steps = 0;
            continue;
        }
        if (++steps > STEPS)
            return false;
        Z shift = shift_of(a, n, high);
        if (steps % 10 == 0)  // a cycle is left by a shift of no meaning
            shift = cabs(a[high * n + high - 1]) + (high > 1 ? cabs(a[(high - 1) * n + high - 2]) : 0);
        schur_step(a, n, low, high, shift, q);
    }
    for (int64_t i = 1; i < n; i++)
        memset(a + i * n, 0, (size_t)i * sizeof *a);
    return true;
}

// ---------------------------------------- what follows from it

void schur_vectors(const Z *t, const Z *q, int64_t n, Z *v, Z *x) {
    double most = 0;
    for (int64_t i = 0; i < n * n; i++)
        most = fmax(most, cabs(t[i]));
    for (int64_t k = 0; k < n; k++) {
        memset(x, 0, (size_t)n * sizeof *x);
        x[k] = 1;
        for (int64_t i = k - 1; i >= 0; i--) {
            Z sum = 0, under = t[i * n + i] - t[k * n + k];
            for (int64_t j = i + 1; j <= k; j++)
                sum += t[i * n + j] * x[j];
            x[i] = -sum / (under != 0 ? under : DBL_EPSILON * fmax(most, DBL_MIN));
        }
        double length = 0;
        for (int64_t i = 0; i < n; i++) {
            Z sum = 0;
            for (int64_t j = 0; j <= k; j++)
                sum += q[i * n + j] * x[j];
            v[i * n + k] = sum;
            length = hypot(length, cabs(sum));
        }
        for (int64_t i = 0; i < n && length > 0; i++)
            v[i * n + k] /= length;
    }
}

void schur_root(const Z *t, int64_t n, Z *root) {
    memset(root, 0, (size_t)(n * n) * sizeof *root);
    for (int64_t j = 0; j < n; j++) {
        root[j * n + j] = csqrt(t[j * n + j]);
        for (int64_t i = j - 1; i >= 0; i--) {
            Z sum = t[i * n + j], under = root[i * n + i] + root[j * n + j];
            for (int64_t k = i + 1; k < j; k++)
                sum -= root[i * n + k] * root[k * n + j];
            root[i * n + j] = sum == 0 ? 0 : sum / under;
        }
    }
}

void schur_product(const Z *a, const Z *b, int64_t n, Z *c) {
    memset(c, 0, (size_t)(n * n) * sizeof *c);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++) {
            double re = creal(a[i * n + k]), im = cimag(a[i * n + k]);
            const double *from = (const double *)(b + k * n);
            double *to = (double *)(c + i * n);
            for (int64_t j = 0; j < 2 * n && (re != 0 || im != 0); j += 2) {
                to[j] += re * from[j] - im * from[j + 1];
                to[j + 1] += re * from[j + 1] + im * from[j];
            }
        }
}

void schur_back(const Z *q, const Z *x, int64_t n, Z *a, Z *work) {
    schur_product(q, x, n, work);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            Z sum = 0;
            for (int64_t k = 0; k < n; k++)
                sum += work[i * n + k] * conj(q[j * n + k]);
            a[i * n + j] = sum;
        }
}
