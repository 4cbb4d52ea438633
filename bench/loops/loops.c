// loops — what the inner loops cost on this machine: per op, per CPU level, against the speed of memory.
//
//     ninja -C build bench_loops && build/bench/bench_loops [elementwise|gemm|memory|window|winograd [words of a name]]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "loops/broadcast.h"
#include "loops/gemm.h"
#include "loops/level/table.h"
#include "loops/move.h"
#include "loops/norm.h"
#include "loops/onednn.h"
#include "loops/reduce.h"
#include "loops/window.h"
#include "loops/winograd.h"

static const int levels[] = {1, 3, 4};
enum { LARGE = 1 << 20 };
static float *a, *b, *c;

typedef void Work(void *arg);

// The best of several rounds of at least two milliseconds, in seconds per call.
static double seconds(Work *work, void *arg) {
    double best = 1e9;
    int64_t calls = 1;
    for (int round = 0; round < 7; round++) {
        int64_t begin = clock_now();
        for (int64_t i = 0; i < calls; i++)
            work(arg);
        double each = (double)(clock_now() - begin) * 1e-9 / (double)calls;
        best = each < best ? each : best;
        calls = each > 2e-3 ? 1 : (int64_t)(2e-3 / (each + 1e-9)) + 1;
    }
    return best;
}

typedef struct {
    ElementwiseLoop loop;
    int64_t n;
} Elements;
static void run_elements(void *arg) {
    Elements *e = arg;
    elementwise_run(&e->loop, a, b, c, e->n, 1, 1);
}

static void elementwise(void) {
    printf("%-20s ps/element of 1,024 and of 1,048,576, by level\n", "elementwise");
    for (int i = 0; elementwise_at(i); i++) {
        const ElementwiseOp *op = elementwise_at(i);
        Elements e;
        if (!elementwise_find(op, DT_float, &e.loop))
            continue;
        printf("%-20s", op->name);
        for (int l = 0; l < 3; l++) {
            if (!loops_choose_level(levels[l]))
                continue;
            elementwise_find(op, DT_float, &e.loop);
            for (e.n = 1024; e.n <= LARGE; e.n *= 1024)
                printf("%9.0f", seconds(run_elements, &e) / (double)e.n * 1e12);
            printf("  |");
        }
        printf("\n");
    }
}

// A product as a plan of the loops and as the library's object; `op` NULL: the former.
typedef struct {
    GemmPlan plan;
    OnednnOp *op;
    float *a, *b, *c;
    void *scratch;
} Product;
static void run_product(void *arg) {
    Product *p = arg;
    if (p->op)
        onednn_run(p->op, p->a, p->b, NULL, p->c, p->scratch);
    else
        gemm_run(&p->plan, p->a, p->b, p->c, p->scratch, 0, p->plan.units);
}

static float *numbers(int64_t n) {
    float *x = aligned_alloc(64, ((size_t)n * sizeof *x + 127) / 64 * 64);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)(i % 1000) * 0.01f;
    return x;
}

static void product(const GemmShape *g) {
    Product p = {.a = numbers(g->m * g->k), .b = numbers(g->k * g->n), .c = numbers(g->m * g->n)};
    printf("%5d %5d %5d %d %d ", (int)g->m, (int)g->n, (int)g->k, g->ta, g->tb);
    double flops = 2.0 * (double)g->m * (double)g->n * (double)g->k;
    for (int l = flops > 1e9; l <= 3; l++) {   // the lowest level takes seconds for the large ones
        bool there = l < 3 ? loops_choose_level(levels[l]) && gemm_prepare(DT_float, g, 1, 0, 0, 0, 1, &p.plan)
                           : (p.op = onednn_matmul(1, g, NULL, false, 1)) != NULL;
        if (!there)
            continue;
        p.scratch = aligned_alloc(64, (p.op ? onednn_scratch(p.op) : p.plan.scratch) + 64);
        double t = seconds(run_product, &p);
        printf("%8.1f (%9.0f)", 1e-9 * flops / t, t * 1e9);
        free(p.scratch);
    }
    printf("  %s\n", p.op ? onednn_name(p.op) : "");
    fflush(stdout);
    onednn_free(p.op);
    free(p.a), free(p.b), free(p.c);
}

// The last ones: mlp_big's and lm.full's.
static void products(void) {
    static const int shapes[][5] = {
        {8, 64, 32}, {8, 10, 64}, {8, 32, 64, 0, 1}, {32, 64, 8, 1}, {32, 32, 32}, {64, 64, 64}, {128, 128, 128},
        {512, 512, 512}, {128, 1000, 1024}, {1, 1024, 1024}, {3136, 64, 256}, {128, 256, 784}, {784, 256, 128, 1},
        {128, 10, 256}, {256, 10, 128, 1}, {128, 256, 10, 0, 1}, {320, 40000, 512}, {320, 512, 40000, 0, 1},
        {512, 40000, 320, 1}, {16, 2048, 1024}, {16, 1024, 2048, 0, 1}, {1024, 2048, 320, 1}};
    printf("%-20s GF/s (ns) by level, and by the library\n", "gemm m n k ta tb");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int *s = shapes[i];
        GemmShape g = {.m = s[0], .n = s[1], .k = s[2], .ta = s[3], .tb = s[4]};
        g.lda = g.ta ? g.m : g.k, g.ldb = g.tb ? g.k : g.n, g.ldc = g.n;
        product(&g);
    }
}

static void report(const char *what, double bytes, Work *work, void *arg) {
    double t = seconds(work, arg);
    printf("%-36s %9.1f us %7.1f GB/s\n", what, t * 1e6, bytes / t * 1e-9);
}
static void run_copy(void *arg) {
    (void)arg;
    memcpy(c, a, LARGE * sizeof *a);
}
static void run_plan(void *arg) {
    const CopyPlan *plan = arg;
    copy_run(plan, a, c, 0, plan->units);
}
static void run_reduce(void *arg) {
    const ReducePlan *plan = arg;
    reduce_run(plan, a, c, b, 0, plan->units);
    reduce_finish(plan, c, b);
}

static void memory(void) {
    Shape square = SHAPE(1024, 1024), images = SHAPE(16, 64, 32, 32), narrow = SHAPE(LARGE / 4, 4);
    double both = 8.0 * LARGE, once = 4.0 * LARGE;
    CopyPlan copy;
    ReducePlan reduce;
    report("memcpy 4 MiB", both, run_copy, NULL);
    copy_transpose(&square, (int[]){1, 0}, 4, &copy);
    report("transpose 1024 x 1024", both, run_plan, &copy);
    copy_transpose(&images, (int[]){0, 2, 3, 1}, 4, &copy);
    report("NCHW to NHWC 16 x 64 x 32 x 32", both, run_plan, &copy);
    copy_reverse(&square, 2, 4, &copy);
    report("reverse rows", both, run_plan, &copy);
    for (uint32_t axes = 1; axes <= 3; axes++) {
        char name[64];
        snprintf(name, sizeof name, "sum 1024 x 1024, axes %s", axes == 1 ? "0" : axes == 2 ? "1" : "0 1");
        if (reduce_prepare(REDUCE_SUM, DT_float, &square, axes, &reduce))
            report(name, once, run_reduce, &reduce);
    }
    if (reduce_prepare(REDUCE_SUM, DT_float, &narrow, 1, &reduce))
        report("sum 262144 x 4, axis 0", once, run_reduce, &reduce);
    if (reduce_prepare(REDUCE_MAX, DT_float, &narrow, 2, &reduce))
        report("max 262144 x 4, axis 1", once, run_reduce, &reduce);
}

static const WindowShape pooling = {5, 55, 55, 64, 27, 27, 64, 3, 3, 2, 2, 1, 1, 0, 0, .groups = 1};
static void run_max(void *arg) {
    max_pool(DT_float, &pooling, arg != NULL, a, c, b, 0, pooling.batch);
}
static void run_max_grad(void *arg) {
    (void)arg;
    max_pool_grad(DT_float, &pooling, false, a, a, c, b, 0, pooling.batch);
}
static void run_softmax(void *arg) {
    (void)arg;
    softmax_rows(DT_float, a, c, 128, 1000, false);
}
typedef struct {
    ConvPlan plan;
    OnednnOp *op;
    void *scratch, *packed;
} Conv;
static void run_conv(void *arg) {
    Conv *v = arg;
    if (v->op)
        onednn_run(v->op, a, v->packed ? v->packed : b, NULL, c, v->scratch);
    else
        conv_forward(&v->plan, a, b, NULL, false, c, v->scratch, 0, v->plan.units);
}

static void windows(void) {
    double image = 4.0 * 5 * 64 * 55 * 55;
    report("max pool 3x3/2, 5 x 55 x 55 x 64", image * 1.25, run_max, NULL);
    report("the same, planes", image * 1.25, run_max, &image);
    report("its gradient", image * 3.25, run_max_grad, NULL);
    report("softmax 128 x 1000", 8.0 * 128000, run_softmax, NULL);
    WindowShape s = {4, 28, 28, 64, 28, 28, 64, 3, 3, 1, 1, 1, 1, 1, 1, .groups = 1};
    double flops = 2.0 * 4 * 28 * 28 * 64 * 64 * 9;
    for (int library = 0; library < 2; library++) {
        Conv v = {.op = library ? onednn_conv(CONV_FORWARD, &s, NULL, 1) : NULL};
        if ((library && !v.op) || !conv_prepare(CONV_FORWARD, DT_float, &s, &v.plan))
            continue;
        v.scratch = aligned_alloc(64, (library ? onednn_scratch(v.op) : v.plan.scratch) + 64);
        if (library && onednn_packed_bytes(v.op)) {
            v.packed = aligned_alloc(64, (onednn_packed_bytes(v.op) + 127) / 64 * 64);
            onednn_pack(v.op, b, v.packed);
        }
        double t = seconds(run_conv, &v);
        printf("convolution 3x3, 4 x 28 x 28 x 64    %9.1f us %7.1f GF/s  %s\n", t * 1e6, flops / t * 1e-9,
               library ? onednn_name(v.op) : "own");
        onednn_free(v.op);
        free(v.scratch), free(v.packed);
    }
}

// A convolution: all passes by winograd.h at each level, and by oneDNN at its own (ONEDNN_MAX_CPU_ISA lowers it).
typedef struct {
    const char *name;
    int batch, extent, in_c, out_c, size;  // size: of the filter
} Layer;
static const Layer layers[] = {
    {"demo c2", 64, 14, 32, 64, 3}, {"vgg c2", 4, 112, 64, 128, 3}, {"vgg c3", 4, 56, 128, 256, 3},
    {"vgg c4", 4, 56, 256, 256, 3}, {"vgg c5", 4, 28, 256, 512, 3}, {"vgg c6", 8, 28, 512, 512, 3},
    {"vgg c8", 16, 14, 512, 512, 3}, {"resnet 64", 8, 56, 64, 64, 3}, {"resnet 128", 8, 28, 128, 128, 3},
    {"resnet 256", 8, 14, 256, 256, 3}, {"resnet 512", 8, 7, 512, 512, 3}, {"googlenet c2", 16, 56, 64, 192, 3},
    {"googlenet 3a", 16, 28, 96, 128, 3}, {"alexnet c3", 32, 13, 192, 384, 3}, {"alexnet c4", 32, 13, 384, 256, 3},
    {"alexnet c5", 32, 13, 256, 256, 3}, {"mnist c2", 64, 14, 32, 64, 5}, {"alexnet c2", 32, 27, 64, 192, 5},
    {"googlenet 5x5", 16, 28, 32, 96, 5}, {"googlenet 4 5x5", 16, 14, 24, 64, 5}, {"narrow", 16, 28, 16, 32, 3},
    {"tiny", 1, 14, 32, 32, 3},
};
typedef struct {
    WinogradPlan plan;
    OnednnOp *op;
    float *x, *filter, *y, *packed, *partial;
    void *scratch;
} Passes;
static void run_pass(void *arg) {
    Passes *v = arg;
    const WinogradPlan *p = &v->plan;
    bool input = p->pass == CONV_INPUT;
    if (v->op)
        onednn_run(v->op, input ? v->y : v->x, p->pass == CONV_FILTER ? v->y : v->packed ? v->packed : v->filter, NULL,
                   p->pass == CONV_FORWARD ? v->y : input ? v->x : v->filter, v->scratch);
    else if (p->pass == CONV_FILTER) {
        winograd_filter(p, v->x, v->y, v->filter, v->partial, v->scratch, 0, p->units);
        winograd_filter_finish(p, v->filter, v->partial, 0, p->finish_units);
    } else
        winograd_run(p, input ? v->y : v->x, v->packed, NULL, false, input ? v->x : v->y, v->scratch, 0, p->units);
}
static void run_pack(void *arg) {
    Passes *v = arg;
    winograd_pack(&v->plan, v->filter, v->packed, 0, v->plan.pack_units);
}

static void *room(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
    memset(memory, 0, bytes);
    return memory;
}

// GF/s of a plain convolution of the same size, with and without the packing of the filter.
static void layer(const Layer *l, int level) {
    int size = l->size, pad = size / 2;
    WindowShape s = {l->batch, l->extent, l->extent, l->in_c, l->extent, l->extent, l->out_c, size, size, 1, 1, 1, 1,
                     pad, pad,
                     .groups = 1};
    double flops = 2.0 * size * size * l->batch * l->extent * l->extent * l->in_c * l->out_c;
    size_t pixels = (size_t)l->batch * (size_t)(l->extent * l->extent) * sizeof(float);
    printf("%-14s %2d x %3d^2 x %3d to %3d %s", l->name, l->batch, l->extent, l->in_c, l->out_c,
           level == 4 ? "v4" : level == 3 ? "v3" : "library");
    for (int pass = CONV_FORWARD; pass <= CONV_FILTER; pass++) {
        Passes v = {.x = room(pixels * (size_t)l->in_c), .y = room(pixels * (size_t)l->out_c),
                    .filter = room((size_t)(size * size * l->in_c * l->out_c) * sizeof(float))};
        bool there = winograd_prepare((ConvPass)pass, &s, 1, &v.plan);
        if (!level)
            there = (v.op = onednn_conv((ConvPass)pass, &s, NULL, 1)) != NULL;
        if (there) {
            size_t packed = v.op ? onednn_packed_bytes(v.op) : v.plan.packed;
            v.scratch = room(v.op ? onednn_scratch(v.op) : v.plan.scratch);
            v.packed = packed ? room(packed) : NULL;
            v.partial = room(v.plan.partial);
            double pack = v.op || pass == CONV_FILTER ? 0 : seconds(run_pack, &v), t = seconds(run_pass, &v);
            printf(" | %6.1f (%6.1f) %7.0f us", flops / t * 1e-9, flops / (t + pack) * 1e-9, (t + pack) * 1e6);
            free(v.scratch), free(v.packed), free(v.partial);
        }
        onednn_free(v.op);
        free(v.x), free(v.y), free(v.filter);
    }
    printf("\n");
    fflush(stdout);
}

static void winograd(const char *only) {
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        for (int level = 4; level >= 3 && strstr(layers[i].name, only); level--) {
            if (level == 4)
                loops_choose_level(4), layer(&layers[i], 0);
            if (loops_choose_level(level))
                layer(&layers[i], level);
        }
}

int main(int count, char **words) {
    const char *only = count > 1 ? words[1] : "";
    size_t room = 8 * LARGE * sizeof *a;
    a = aligned_alloc(64, room), b = aligned_alloc(64, room), c = aligned_alloc(64, room);
    for (int i = 0; i < 8 * LARGE; i++)
        a[i] = (float)(i % 1000) * 0.01f, b[i] = 1.5f, c[i] = 0;
    if (!*only || !strcmp(only, "elementwise"))
        elementwise();
    if (!*only || !strcmp(only, "gemm"))
        products();
    if (!*only || !strcmp(only, "memory"))
        memory();
    if (!*only || !strcmp(only, "window"))
        windows();
    if (!*only || !strcmp(only, "winograd"))
        winograd(count > 2 ? words[2] : "");
    free(a), free(b), free(c);
    return 0;
}
