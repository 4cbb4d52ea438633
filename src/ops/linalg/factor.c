// Factor — see factor.h. The file includes itself once for each type, with T, NAME(f), ABS and CONJ set.
//
// Right-looking blocked factorisations: a panel of columns is factored by plain loops, then what lies right of it is
// updated by one product, which is where nearly all of the n^3 operations are.
#ifndef T
#include "ops/linalg/factor.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "loops/gemm.h"
#include "thread/mutex.h"

enum { WORK_LEFT, WORK_RIGHT, WORK_GEMM };

// ---------------------------------------- memory and threads

void *work_get(Work *work, int which, size_t bytes) {
    if (work->n[which] >= bytes && work->p[which])
        return work->p[which];
    free(work->p[which]);
    work->n[which] = 0;
    work->p[which] = aligned_alloc(64, round_up(bytes ? bytes : 1, 64));
    if (work->p[which])
        work->n[which] = bytes;
    return work->p[which];
}

void work_clear(Work *work) {
    for (size_t i = 0; i < sizeof work->p / sizeof *work->p; i++)
        free(work->p[i]);
    *work = (Work){0};
}

typedef struct {
    Kernel *k;
    MatrixFn *one;
    Mutex lock;
    Status *status;  // the first error; guarded by lock
} Batch;

static void run_range(void *arg, int64_t first, int64_t last) {
    Batch *batch = arg;
    AUTO(Work) Work work = {0};
    Status *status = OK;
    for (int64_t i = first; i < last && !status; i++) {
        status = context_check(batch->k->step);
        if (!status)
            status = batch->one(batch->k, i, &work);
    }
    if (!status)
        return;
    mutex_lock(&batch->lock);
    Status *late = batch->status ? status : NULL;
    if (!late)
        batch->status = status;
    mutex_unlock(&batch->lock);
    status_free(late);
}

Status *each_matrix(Kernel *k, int64_t n, int64_t cost, MatrixFn *one) {
    Batch batch = {.k = k, .one = one, .lock = MUTEX_INIT};
    kernel_parallel(k, n, cost, run_range, &batch);
    mutex_clear(&batch.lock);
    return batch.status;
}

// c -= a b; a [m, k] is negated already and lies without gaps.
static bool add_product(DType dtype, const void *a, const void *b, int64_t ldb, void *c, int64_t ldc, int64_t m,
                        int64_t n, int64_t k, Work *work) {
    if (m == 0 || n == 0 || k == 0)
        return true;
    GemmShape shape = {.m = m, .n = n, .k = k, .lda = k, .ldb = ldb, .ldc = ldc, .accumulate = true};
    GemmPlan plan;
    if (!gemm_prepare(dtype, &shape, 1, 0, 0, 0, 1, &plan))
        return false;
    void *scratch = work_get(work, WORK_GEMM, plan.scratch);
    if (!scratch)
        return false;
    gemm_run(&plan, a, b, c, scratch, 0, plan.units);
    return true;
}

#define T float
#define NAME(f) f##_float
#define DTYPE DT_float
#define ABS(x) fabsf(x)
#define CONJ(x) (x)
#define REAL(x) (x)
#include "ops/linalg/factor.c"
#define T double
#define NAME(f) f##_double
#define DTYPE DT_double
#define ABS(x) fabs(x)
#define CONJ(x) (x)
#define REAL(x) (x)
#include "ops/linalg/factor.c"
#define T Complex64
#define NAME(f) f##_complex64
#define DTYPE DT_complex64
#define ABS(x) cabsf(x)
#define CONJ(x) conjf(x)
#define REAL(x) crealf(x)
#include "ops/linalg/factor.c"
#define T Complex128
#define NAME(f) f##_complex128
#define DTYPE DT_complex128
#define ABS(x) cabs(x)
#define CONJ(x) conj(x)
#define REAL(x) creal(x)
#include "ops/linalg/factor.c"

#else  // ---------------------------------------- once per type

// c [m, n] -= a [m, k] b [k, n], parts of larger matrices.
static bool NAME(subtract)(const T *a, int64_t lda, const T *b, int64_t ldb, T *c, int64_t ldc, int64_t m, int64_t n,
                           int64_t k, Work *work) {
    T *left = work_get(work, WORK_LEFT, (size_t)(m * k) * sizeof *left);
    if (!left)
        return false;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < k; j++)
            left[i * k + j] = -a[i * lda + j];
    return add_product(DTYPE, left, b, ldb, c, ldc, m, n, k, work);
}

static void NAME(exchange)(T *a, T *b, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        T kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

// x [n] -= factor * y [n]
static void NAME(subtract_row)(T *x, T factor, const T *y, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        x[i] -= factor * y[i];
}

// Columns [from, to) below the diagonal, with partial pivoting: of each column the largest element becomes the pivot,
// and whole rows change places.
static void NAME(lu_panel)(T *a, int64_t n, int64_t from, int64_t to, int64_t *pivots) {
    for (int64_t j = from; j < to; j++) {
        int64_t best = j;
        for (int64_t i = j + 1; i < n; i++)
            best = ABS(a[i * n + j]) > ABS(a[best * n + j]) ? i : best;
        pivots[j] = best;
        if (best != j)
            NAME(exchange)(a + j * n, a + best * n, n);
        T pivot = a[j * n + j];
        if (pivot == 0)
            continue;
        for (int64_t i = j + 1; i < n; i++) {
            T factor = a[i * n + j] /= pivot;
            NAME(subtract_row)(a + i * n + j + 1, factor, a + j * n + j + 1, to - j - 1);
        }
    }
}

bool NAME(lu)(T *a, int64_t n, int64_t *pivots, Work *work) {
    for (int64_t from = 0; from < n; from += FACTOR_BLOCK) {
        int64_t to = min_i64(from + FACTOR_BLOCK, n);
        NAME(lu_panel)(a, n, from, to, pivots);
        for (int64_t i = from + 1; i < to; i++)
            for (int64_t j = from; j < i; j++)
                NAME(subtract_row)(a + i * n + to, a[i * n + j], a + j * n + to, n - to);
        if (!NAME(subtract)(a + to * n + from, n, a + from * n + to, n, a + to * n + to, n, n - to, n - to, to - from,
                            work))
            return false;
    }
    return true;
}

// Rows [from, to) of the solution, whose earlier rows are subtracted already.
static void NAME(triangle_block)(const T *t, int64_t n, bool lower, bool unit, T *b, int64_t k, int64_t from,
                                 int64_t to) {
    for (int64_t step = 0; step < to - from; step++) {
        int64_t i = lower ? from + step : to - 1 - step;
        for (int64_t j = lower ? from : i + 1; j < (lower ? i : to); j++)
            NAME(subtract_row)(b + i * k, t[i * n + j], b + j * k, k);
        for (int64_t c = 0; c < k && !unit; c++)
            b[i * k + c] /= t[i * n + i];
    }
}

bool NAME(triangle)(const T *t, int64_t n, bool lower, bool unit, T *b, int64_t k, Work *work) {
    for (int64_t done = 0; done < n; done += FACTOR_BLOCK) {
        int64_t size = min_i64(FACTOR_BLOCK, n - done), from = lower ? done : n - done - size, to = from + size;
        NAME(triangle_block)(t, n, lower, unit, b, k, from, to);
        int64_t first = lower ? to : 0, rest = lower ? n - to : from;
        if (!NAME(subtract)(t + first * n + from, n, b + from * k, k, b + first * k, k, rest, k, size, work))
            return false;
    }
    return true;
}

// The columns [from, to): the block on the diagonal, then the rows below; false where it isn't positive definite.
static bool NAME(cholesky_panel)(T *a, int64_t n, int64_t from, int64_t to) {
    for (int64_t i = from; i < n; i++)
        for (int64_t j = from; j < to && j <= i; j++) {
            T sum = a[i * n + j];
            for (int64_t m = from; m < j; m++)
                sum -= a[i * n + m] * CONJ(a[j * n + m]);
            if (i > j) {
                a[i * n + j] = sum / a[j * n + j];
                continue;
            }
            if (REAL(sum) <= 0)
                return false;
            a[i * n + i] = (T)sqrt(REAL(sum));
        }
    return true;
}

// What is right of the panel: a22 -= l21 l21^H, on and below the diagonal, in columns of blocks.
static bool NAME(cholesky_rest)(T *a, int64_t n, int64_t from, int64_t to, Work *work) {
    int64_t rest = n - to, k = to - from;
    T *turned = work_get(work, WORK_RIGHT, (size_t)(rest * k) * sizeof *turned);
    if (!turned)
        return false;
    for (int64_t i = 0; i < rest; i++)
        for (int64_t j = 0; j < k; j++)
            turned[j * rest + i] = CONJ(a[(to + i) * n + from + j]);
    for (int64_t at = to; at < n; at += FACTOR_BLOCK) {
        int64_t width = min_i64(FACTOR_BLOCK, n - at);
        if (!NAME(subtract)(a + at * n + from, n, turned + (at - to), rest, a + at * n + at, n, n - at, width, k, work))
            return false;
    }
    return true;
}

bool NAME(cholesky)(T *a, int64_t n, Work *work, bool *good) {
    *good = true;
    for (int64_t from = 0; from < n && *good; from += FACTOR_BLOCK) {
        int64_t to = min_i64(from + FACTOR_BLOCK, n);
        *good = NAME(cholesky_panel)(a, n, from, to);
        if (*good && to < n && !NAME(cholesky_rest)(a, n, from, to, work))
            return false;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++)
            a[i * n + j] = 0;
    return true;
}

#undef T
#undef NAME
#undef DTYPE
#undef ABS
#undef CONJ
#undef REAL
#endif
