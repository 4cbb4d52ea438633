// Tests of onednn.h against the portable siblings, on one thread, on a gang, and from several threads at once.
// Where the library is missing, everything must say so.
#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/suite_test.h"
#include "loops/gemm.h"
#include "loops/onednn.h"
#include "thread/pool.h"

// Speaks only when something is wrong: a ck_assert that holds costs a message to the parent process.
#define EXPECT(condition, ...)                  \
    do {                                        \
        if (!(condition))                       \
            ck_abort_msg(__VA_ARGS__);          \
    } while (0)

static _Thread_local uint32_t seed = 5;
static float *random_floats(int64_t n) {
    float *p = aligned_alloc(64, ((size_t)n * 4 + 127) / 64 * 64);
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        p[i] = (float)((seed >> 8) % 2001) / 1000 - 1;
    }
    return p;
}
static void expect_close(const float *got, const float *want, int64_t n, const char *what) {
    for (int64_t i = 0; i < n; i++)
        EXPECT(fabsf(got[i] - want[i]) <= 1e-4f * (1 + fabsf(want[i])), "%s: element %d is %g, expected %g", what,
                      (int)i, (double)got[i], (double)want[i]);
}

static const WindowShape shapes[] = {
    {2, 14, 14, 16, 14, 14, 32, 3, 3, 1, 1, 1, 1, 1, 1, .groups = 1},
    {1, 15, 13, 3, 8, 7, 16, 3, 3, 2, 2, 1, 1, 1, 1, .groups = 1},
    {1, 12, 12, 8, 8, 8, 8, 3, 3, 1, 1, 2, 2, 0, 0, .groups = 1},
    {2, 7, 7, 32, 7, 7, 16, 1, 1, 1, 1, 1, 1, 0, 0, .groups = 1},
    {1, 8, 8, 16, 8, 8, 16, 3, 3, 1, 1, 1, 1, 1, 1, .groups = 2},
    {1, 10, 10, 4, 4, 4, 8, 3, 3, 2, 2, 1, 1, 0, 0, .groups = 1},
    {2, 7, 6, 16, 7, 6, 24, 3, 3, 1, 1, 1, 1, 1, 1, 1, 5, 5, 3, 1, 1, 1},  // volumes
    {1, 9, 9, 8, 4, 4, 16, 3, 3, 2, 2, 1, 1, 0, 0, 1, 8, 4, 2, 2, 1, 0},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

// What the library does on the way out, in plain C. `held`: what the output held before.
static void finish_plainly(const Epilogue *e, const float *held, float *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        float v = y[i] + (e->sum ? held[i] : 0);
        switch (e->activation) {
        case ACTIVATION_NONE: break;
        case ACTIVATION_RELU: v = v > 0 ? v : 0; break;
        case ACTIVATION_RELU6: v = v > 6 ? 6 : v > 0 ? v : 0; break;
        case ACTIVATION_ELU: v = v > 0 ? v : expm1f(v); break;
        case ACTIVATION_TANH: v = tanhf(v); break;
        case ACTIVATION_SIGMOID: v = 1 / (1 + expf(-v)); break;
        case ACTIVATION_LEAKY_RELU: v = v > 0 ? v : e->alpha * v; break;
        }
        y[i] = v;
    }
}

static float *packed_weights(const OnednnOp *op, const float *plain) {
    if (!onednn_packed_bytes(op))
        return NULL;
    float *packed = aligned_alloc(64, (onednn_packed_bytes(op) + 127) / 64 * 64);
    ck_assert(onednn_pack(op, plain, packed));
    return packed;
}

static int check_conv(const WindowShape *shape, ConvPass pass, const Epilogue *epilogue, int threads) {
    WindowShape deep = window_in_depth(shape), *s = &deep;
    OnednnOp *op = onednn_conv(pass, shape, epilogue, threads);
    if (!op)
        return 0;
    int64_t nx = s->batch * s->in_d * s->in_h * s->in_w * s->in_c,
        ny = s->batch * s->out_d * s->out_h * s->out_w * s->out_c;
    int64_t nf = s->filter_d * s->filter_h * s->filter_w * s->in_c / s->groups * s->out_c;
    float *x = random_floats(nx), *y = random_floats(ny), *filter = random_floats(nf), *bias = random_floats(s->out_c);
    int64_t n = pass == CONV_FORWARD ? ny : pass == CONV_INPUT ? nx : nf;
    float *got = random_floats(n), *want = random_floats(n), *held = random_floats(n);
    void *scratch = aligned_alloc(64, onednn_scratch(op) + 64);
    float *packed = packed_weights(op, filter);
    const void *weights = packed ? packed : filter;
    const void *a = pass == CONV_INPUT ? y : x, *b = pass == CONV_FILTER ? y : weights;
    for (int again = 0; again < 2; again++) {
        memcpy(got, held, (size_t)n * sizeof *got);
        ck_assert(onednn_run(op, a, b, pass == CONV_FORWARD && epilogue->bias ? bias : NULL, got, scratch));
    }
    ConvPlan plan;
    ck_assert(conv_prepare(pass, DT_float, s, &plan));
    void *own = aligned_alloc(64, plan.scratch);
    if (pass == CONV_FORWARD)
        conv_forward(&plan, x, filter, epilogue->bias ? bias : NULL, false, want, own, 0, plan.units);
    else if (pass == CONV_INPUT)
        conv_input(&plan, y, filter, want, own, 0, plan.units);
    else
        conv_filter(&plan, x, y, want, own, 0, plan.units);
    if (pass == CONV_FORWARD)
        finish_plainly(epilogue, held, want, n);
    expect_close(got, want, n, onednn_name(op));
    onednn_free(op);
    free(x), free(y), free(filter), free(bias), free(got), free(want), free(held), free(scratch), free(packed),
        free(own);
    return 1;
}

static const Epilogue bias_relu = {.bias = true, .activation = ACTIVATION_RELU};

START_TEST(epilogues_agree) {
    for (int activation = ACTIVATION_NONE; activation <= ACTIVATION_LEAKY_RELU; activation++)
        for (int way = 0; way < 4; way++)
            for (int i = 0; i < SHAPES; i++) {
                Epilogue e = {.bias = way & 1, .sum = way >> 1, .activation = (Activation)activation, .alpha = 0.2f};
                check_conv(&shapes[i], CONV_FORWARD, &e, 1 + way % 2);
            }
}
END_TEST

START_TEST(convolutions_agree) {
    int done = 0;
    for (int threads = 1; threads <= 3; threads++)
        for (int i = 0; i < SHAPES; i++)
            for (int pass = 0; pass < 3; pass++)
                done += check_conv(&shapes[i], (ConvPass)pass, &bias_relu, threads);
    ck_assert(onednn_available() ? done > SHAPES : done == 0);
    ck_assert(onednn_has_threads() == onednn_available());  // so it is with the libraries that were tried: 2.6, 3.7
}
END_TEST

static void check_matmul(int64_t batch, int m, int n, int k, int way, int threads) {
    bool ta = way & 1, tb = way >> 1 & 1, pack = way >> 2 & 1;
    Epilogue epilogue = {.bias = true, .activation = way & 1 ? ACTIVATION_RELU : ACTIVATION_NONE};
    GemmShape g = {.m = m, .n = n, .k = k, .lda = ta ? m : k, .ldb = tb ? k : n, .ldc = n, .ta = ta, .tb = tb};
    OnednnOp *op = onednn_matmul(batch, &g, &epilogue, pack, threads);
    if (!op)
        return;
    float *a = random_floats(batch * m * k), *b = random_floats(batch * n * k), *bias = random_floats(n);
    float *got = random_floats(batch * m * n), *want = random_floats(batch * m * n);
    void *scratch = aligned_alloc(64, onednn_scratch(op) + 64);
    float *packed = packed_weights(op, b);
    ck_assert(onednn_run(op, a, packed ? packed : b, bias, got, scratch));
    g.relu = way & 1, g.bias = bias;
    GemmPlan plan;
    ck_assert(gemm_prepare(DT_float, &g, batch, m * k, n * k, m * n, 1, &plan));
    void *own = aligned_alloc(64, plan.scratch);
    gemm_run(&plan, a, b, want, own, 0, plan.units);
    expect_close(got, want, batch * m * n, onednn_name(op));
    onednn_free(op);
    free(a), free(b), free(bias), free(got), free(want), free(scratch), free(packed), free(own);
}

START_TEST(matrix_products_agree) {
    for (int way = 0; way < 8; way++)
        for (int threads = 1; threads <= 2; threads++) {
            check_matmul(1, 64, 96, 80, way, threads);
            check_matmul(1, 7, 33, 5, way, threads);
            check_matmul(3, 20, 16, 12, way & 3, threads);
            check_matmul(1, 5, 144, 120, way, threads);    // few rows, and
            check_matmul(1, 9, 512, 520, way, threads);    // a large matrix
        }
    ck_assert(!onednn_matmul(1, &(GemmShape){.m = 0, .n = 4, .k = 4, .lda = 4, .ldb = 4, .ldc = 4}, NULL, false, 1));
}
END_TEST

static void *run_many(void *arg) {
    (void)arg;
    for (int i = 0; i < 20; i++)
        check_matmul(1, 64, 64, 64, 4, 2);
    return NULL;
}

// One object, many threads: whoever finds its memories taken makes some.
typedef struct {
    OnednnOp *op;
    const float *a, *b;
    const float *want;
} Shared;
static void *run_shared(void *arg) {
    Shared *s = arg;
    float *got = random_floats(64 * 64);
    void *scratch = aligned_alloc(64, onednn_scratch(s->op) + 64);
    for (int i = 0; i < 200; i++) {
        ck_assert(onednn_run(s->op, s->a, s->b, NULL, got, scratch));
        expect_close(got, s->want, 64 * 64, "shared");
    }
    free(got), free(scratch);
    return NULL;
}

START_TEST(threads_do_not_meet) {
    pthread_t thread[3];
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, run_many, NULL), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    GemmShape g = {.m = 64, .n = 64, .k = 64, .lda = 64, .ldb = 64, .ldc = 64};
    Shared s = {.op = onednn_matmul(1, &g, NULL, false, 2)};
    if (!s.op)
        return;
    float *a = random_floats(4096), *b = random_floats(4096), *want = random_floats(4096);
    void *scratch = aligned_alloc(64, gemm_most_scratch());
    gemm_at_once(DT_float, &g, a, b, want, scratch);
    s.a = a, s.b = b, s.want = want;
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, run_shared, &s), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    onednn_free(s.op);
    free(a), free(b), free(want), free(scratch);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("onednn");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, convolutions_agree);
    tcase_add_test(tests, epilogues_agree);
    tcase_add_test(tests, matrix_products_agree);
    tcase_add_test(tests, threads_do_not_meet);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
