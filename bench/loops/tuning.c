// tuning — finds the numbers of src/loops/tuning.def again, on this machine and at the CPU level that MILLRACE_CPU names.
//
//     ./run bench tuning [words of a name]
//
// Beside each number in use stands what is measured best. A cost is measured as it is; a number that chooses between two
// ways is found by running both over a range of sizes, and "loses" is by how much the number in use is slower than the
// better way at each of these sizes, on average: 3 % is no reason to change it. What only bounds a piece of work ("-") is a
// matter of the caches: within a factor of two either way little changes.
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "loops/gemm.h"
#include "loops/level/table.h"
#include "loops/move.h"
#include "loops/onednn.h"
#include "loops/tile.h"
#include "loops/tuning.h"
#include "loops/window.h"
#include "thread/pool.h"

typedef void Work(void *arg);
enum { FOUND_NOTHING = -1, LARGE = 8 << 20 };
static float *a, *b, *c;
static char *scratch;

// Seconds per call: the best of several rounds of two milliseconds, since whatever else runs only adds to it.
static double seconds(Work *work, void *arg) {
    enum { ROUNDS = 12 };
    const double round = 2e-3;
    double best = 1e9;
    int64_t calls = 1;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t begin = clock_now();
        for (int64_t n = 0; n < calls; n++)
            work(arg);
        double each = (double)(clock_now() - begin) * 1e-9 / (double)calls;
        best = each < best ? each : best;
        calls = each > round ? 1 : (int64_t)(round / (each + 1e-9)) + 1;
    }
    return best;
}

// Time of the second way in that of the first, at that size; 0 where there is no such way.
typedef double Ratio(int64_t size);
// What of a size the number in question counts.
typedef int64_t Count(int64_t size);
static int64_t used;    // the number in use
static double loses;    // what it loses, in logarithms; negative: nothing was chosen

static int64_t as_it_is(int64_t size) {
    return size;
}

// How much slower than the better way is the second one from `from` on and the first one before, on average.
static double loss(const double *logs, const int64_t *counts, int n, int64_t from) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += counts[i] >= from ? fmax(logs[i], 0) : fmax(-logs[i], 0);
    return sum / n;
}

// The count from which to take the second way, by the least loss in all: in logarithms, so that one bad measurement
// among many matters little.
static int64_t crossing(const int64_t *sizes, int n, Ratio *ratio, Count *count) {
    enum { MOST = 16 };
    double logs[MOST];
    int64_t counts[MOST], best = FOUND_NOTHING;
    for (int i = 0; i < n; i++) {
        double r = ratio(sizes[i]);
        if (r <= 0)
            return FOUND_NOTHING;
        logs[i] = log(r);
        counts[i] = count(sizes[i]);
    }
    double least = loss(logs, counts, n, INT64_MAX);
    for (int i = n; i-- > 0;) {
        if (loss(logs, counts, n, counts[i]) < least) {
            least = loss(logs, counts, n, counts[i]);
            best = counts[i];
        }
    }
    loses = loss(logs, counts, n, used);
    return best;
}
#define SIZES(...) (const int64_t[]){__VA_ARGS__}, (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

// ---------------------------------------- threads

// `ns` of computing, cut into 64 units that take as long each.
static double unit_ns;
static void spin_units(void *arg, int64_t first, int64_t last) {
    (void)arg;
    int64_t until = clock_now() + (int64_t)((double)(last - first) * unit_ns);
    while (clock_now() < until)
        continue;
}
static double shared_time(bool awake, int64_t ns) {
    double sum = 0;
    enum { TIMES = 40, UNITS = 64, SLEEP_US = 300 };
    unit_ns = (double)ns / UNITS;
    for (int i = 0; i < TIMES; i++) {
        if (awake)
            pool_parallel(2, UNITS, spin_units, NULL);
        else
            usleep(SLEEP_US);
        int64_t begin = clock_now();
        if (awake)
            pool_parallel_awake(2, UNITS, spin_units, NULL);
        else
            pool_parallel(2, UNITS, spin_units, NULL);
        sum += (double)(clock_now() - begin);
    }
    return sum / TIMES;
}
static double asleep_ratio(int64_t ns) {
    return pool_limit() > 1 ? shared_time(false, ns) / (double)ns : 0;
}
static double awake_ratio(int64_t ns) {
    return pool_limit() > 1 ? shared_time(true, ns) / (double)ns : 0;
}
static int64_t share_asleep(void) {
    return crossing(SIZES(2000, 4000, 8000, 12000, 16000, 20000, 30000, 40000, 80000), asleep_ratio, as_it_is);
}
static int64_t share_awake(void) {
    return crossing(SIZES(1000, 2000, 4000, 6000, 8000, 12000, 16000, 30000), awake_ratio, as_it_is);
}

// ---------------------------------------- memory

typedef struct {
    int64_t bytes;
} Copy;
static void run_copy(void *arg) {
    memcpy(c, a, (size_t)((Copy *)arg)->bytes);
}
static int64_t speed_of(int64_t bytes) {
    return (int64_t)(2e-9 * (double)bytes / seconds(run_copy, &(Copy){bytes}));
}
static int64_t cached_speed(void) {
    return speed_of(1 << 17);
}
static int64_t memory_speed(void) {
    return speed_of((int64_t)LARGE * (int64_t)sizeof *a);
}
static void run_fill_call(void *arg) {
    memset(c, 1, (size_t)((Copy *)arg)->bytes);
}
static void run_fill_loop(void *arg) {
    static const float one = 1.5f;  // its bytes differ: no call
    fill_run(&one, sizeof one, c, ((Copy *)arg)->bytes / (int64_t)sizeof one);
}
static double fill_ratio(int64_t bytes) {
    Copy copy = {bytes};
    return seconds(run_fill_call, &copy) / seconds(run_fill_loop, &copy);
}
static int64_t fill_call(void) {
    return crossing(SIZES(64, 128, 256, 512, 1024, 2048, 4096), fill_ratio, as_it_is);
}

// ---------------------------------------- elementwise loops

ELEMENTWISE(Exp);
ELEMENTWISE(FloorDiv);
ELEMENTWISE(Neg);

enum { IN_CACHE = 1024 };
static void run_elements(void *arg) {
    elementwise_run(arg, a, b, c, IN_CACHE, 1, 1);
}
static int64_t picoseconds(const ElementwiseOp *op, DType dtype) {
    ElementwiseLoop loop;
    return elementwise_find(op, dtype, &loop) ? (int64_t)(seconds(run_elements, &loop) / IN_CACHE * 1e12)
                                              : FOUND_NOTHING;
}
static int64_t simple(void) {
    return picoseconds(&elementwise_Add, DT_float);
}
static int64_t long_float(void) {
    return picoseconds(&elementwise_Exp, DT_float);
}
static int64_t long_double(void) {
    return picoseconds(&elementwise_Exp, DT_double);
}
static int64_t long_complex(void) {
    return picoseconds(&elementwise_Exp, DT_complex64);
}
static int64_t division(void) {
    for (int i = 0; i < 2 * IN_CACHE; i++)
        ((int32_t *)b)[i] = i + 1;
    int64_t found = picoseconds(&elementwise_FloorDiv, DT_int32);
    for (int i = 0; i < 2 * IN_CACHE; i++)
        b[i] = 1.5f;
    return found;
}
static int64_t conversion(void) {
    return picoseconds(&elementwise_Neg, DT_bfloat16) - picoseconds(&elementwise_Neg, DT_float);
}

// Four additions as one program, and one after the other with what a node takes besides.
static TileProgram chain;
static void run_chain(void *arg) {
    (void)arg;
    tile_program_run(&chain, (const void *[]){a, b}, c, 0, chain.count);
}
static void run_nodes(void *arg) {
    (void)arg;
    for (int i = 0; i < chain.n_steps; i++)
        elementwise_run(&chain.steps[0].loop, i ? c + (i & 1) * chain.count : a, b, c + (~i & 1) * chain.count,
                        chain.count, 1, 1);
}
static double fuse_ratio(int64_t elements) {
    enum { STEPS = 4 };
    const double node = 5e-9;
    chain = (TileProgram){.inputs = {{.stride = 1}, {.stride = 1}}, .n_inputs = 2, .n_steps = STEPS, .count = elements};
    for (int i = 0; i < STEPS; i++) {
        chain.steps[i].a = (TileOperand){i > 0, (int16_t)(i ? i - 1 : 0)};
        chain.steps[i].b = (TileOperand){false, 1};
        if (!elementwise_find(&elementwise_Add, DT_float, &chain.steps[i].loop))
            return 0;
    }
    tile_program_registers(&chain);
    return (seconds(run_chain, NULL) + node) / (seconds(run_nodes, NULL) + STEPS * node);
}
static int64_t fuse_least(void) {
    return crossing(SIZES(64, 128, 256, 512, 1024, 2048, 4096, 16384, 65536), fuse_ratio, as_it_is);
}

static void run_move(void *arg) {
    const CopyPlan *plan = arg;
    copy_run(plan, a, c, 0, plan->units);
}
static int64_t move_transposed(void) {
    enum { SIDE = 128 };
    CopyPlan plan;
    copy_transpose(&SHAPE(SIDE, SIDE), (int[]){1, 0}, sizeof *a, &plan);
    return (int64_t)(seconds(run_move, &plan) / (SIDE * SIDE) * 1e12);
}
static int64_t move_strided(void) {
    enum { N = 4096 };
    CopyPlan plan;
    copy_slice(&SHAPE(2 * N), (int64_t[]){0}, (int64_t[]){2}, &SHAPE(N), sizeof *a, &plan);
    return (int64_t)(seconds(run_move, &plan) / N * 1e12);
}

// ---------------------------------------- products

typedef struct {
    GemmPlan plan;
    OnednnOp *op;      // NULL: by the plan
} Product;
static void run_product(void *arg) {
    Product *p = arg;
    if (p->op)
        onednn_run(p->op, a, b, NULL, c, scratch);
    else
        gemm_run(&p->plan, a, b, c, scratch, 0, p->plan.units);
}
static GemmShape plain(int64_t m, int64_t n, int64_t k) {
    return (GemmShape){.m = m, .n = n, .k = k, .lda = k, .ldb = n, .ldc = n};
}
// The second way in the first, both of our loops, whatever they would choose.
static double ways_ratio(GemmShape shape, GemmWay first, GemmWay second) {
    Product p = {0};
    if (!gemm_prepare(DT_float, &shape, 1, 0, 0, 0, 1, &p.plan))
        return 0;
    p.plan.way = first;
    double one = seconds(run_product, &p);
    p.plan.way = second;
    return seconds(run_product, &p) / one;
}
static double dots_ratio(int64_t k) {
    GemmShape shape = plain(4, 64, k);
    shape.tb = true, shape.ldb = k;
    return ways_ratio(shape, GEMM_TILES, GEMM_DOTS);
}
static int64_t dot_depth(void) {
    return crossing(SIZES(64, 128, 256, 512, 1024, 2048, 4096), dots_ratio, as_it_is);
}
static double pack_ratio(int64_t m) {
    return ways_ratio(plain(m, 192, 768), GEMM_TILES, GEMM_PACKED);
}
static double pack_apart_ratio(int64_t m) {
    return ways_ratio(plain(m, 512, 320), GEMM_TILES, GEMM_PACKED);
}
static int64_t pack_rows(void) {
    return crossing(SIZES(8, 16, 32, 64, 96, 128, 192, 256), pack_ratio, as_it_is);
}
static int64_t pack_rows_apart(void) {
    return crossing(SIZES(8, 16, 32, 64, 96, 128), pack_apart_ratio, as_it_is);
}
static double tiles_ratio(int64_t m) {
    return ways_ratio(plain(m, 1000, 1024), GEMM_SHALLOW, GEMM_TILES);
}
static int64_t few_rows(void) {
    used++;  // the last that is few
    int64_t from = crossing(SIZES(4, 8, 12, 16, 24, 32, 48, 64, 96), tiles_ratio, as_it_is);
    return from == FOUND_NOTHING ? from : from - 1;
}

// The library in our loops; `threads` as many for both, `most` > 0: the library with one in that with several.
static double library_ratio(GemmShape shape, int64_t batch, int threads, int threads_before) {
    Product p = {0};
    int64_t each = batch > 1;
    if (!gemm_prepare(DT_float, &shape, batch, each * shape.m * shape.k, each * shape.k * shape.n,
                      each * shape.m * shape.n, 1, &p.plan))
        return 0;
    if (threads_before)
        p.op = onednn_matmul(batch, &shape, NULL, false, threads_before);
    double before = seconds(run_product, &p);
    onednn_free(p.op);
    p.op = onednn_matmul(batch, &shape, NULL, false, threads);
    double ratio = p.op ? seconds(run_product, &p) / before : 0;
    onednn_free(p.op);
    return ratio;
}
static double cube_ratio(int64_t side) {
    return library_ratio(plain(side, side, side), 1, 1, 0);
}
static double batch_ratio(int64_t side) {
    return library_ratio(plain(side, side, side), 8, 1, 0);
}
static double gang_ratio(int64_t side) {
    return pool_limit() > 1 ? library_ratio(plain(side, side, side), 1, 2, 1) : 0;
}
static int64_t cubed(int64_t side) {
    return side * side * side;
}
static int64_t product_library(void) {
    return crossing(SIZES(16, 24, 32, 40, 48, 56, 80, 104, 152, 200), cube_ratio, cubed);
}
static int64_t product_library_each(void) {
    return crossing(SIZES(16, 24, 32, 40, 56, 80, 104), batch_ratio, cubed);
}
static int64_t product_gang(void) {
    return crossing(SIZES(48, 64, 80, 96, 116, 144, 192, 256), gang_ratio, cubed);
}

// ---------------------------------------- convolutions

typedef struct {
    ConvPlan plan;
    OnednnOp *op;
} Conv;
static void run_conv(void *arg) {
    Conv *v = arg;
    if (v->op)
        onednn_run(v->op, a, b, NULL, c, scratch);
    else
        conv_forward(&v->plan, a, b, NULL, false, c, scratch, 0, v->plan.units);
}
static double conv_ratio(int64_t side) {
    WindowShape s = {1, side, side, 8, side, side, 8, 3, 3, 1, 1, 1, 1, 1, 1, .groups = 1};
    Conv v = {0};
    if (!conv_prepare(CONV_FORWARD, DT_float, &s, &v.plan))
        return 0;
    double loops = seconds(run_conv, &v);
    v.op = onednn_conv(CONV_FORWARD, &s, NULL, 1);
    double ratio = v.op ? seconds(run_conv, &v) / loops : 0;
    onednn_free(v.op);
    return ratio;
}
static int64_t conv_multiplications(int64_t side) {
    return side * side * 8 * 8 * 9;
}
static int64_t conv_library(void) {
    return crossing(SIZES(3, 4, 6, 8, 12, 16, 24, 32), conv_ratio, conv_multiplications);
}

// ---------------------------------------- the table

static const struct {
    const char *name;
    int64_t (*find)(void);
} cases[] = {
    {"SHARE_AWAKE", share_awake},           {"SHARE_ASLEEP", share_asleep},   {"CACHED_SPEED", cached_speed},
    {"MEMORY_SPEED", memory_speed},         {"FILL_CALL", fill_call},         {"SIMPLE", simple},
    {"LONG", long_float},                   {"LONG_DOUBLE", long_double},     {"LONG_COMPLEX", long_complex},
    {"DIVISION", division},                 {"CONVERSION", conversion},       {"FUSE_LEAST", fuse_least},
    {"MOVE_TRANSPOSED", move_transposed},   {"MOVE_STRIDED", move_strided},   {"GEMM_DOT_DEPTH", dot_depth},
    {"GEMM_FEW_ROWS", few_rows},            {"gemm_pack_rows", pack_rows},    {"gemm_pack_rows_apart", pack_rows_apart},
    {"product_library", product_library},   {"product_library_each", product_library_each},
    {"product_gang", product_gang},         {"conv_library", conv_library},
};

static void number(const char *only, const char *name, int64_t value, const char *unit, const char *meaning) {
    if (!strstr(name, only))
        return;
    char in_use[32], best[32] = "-", lost[32] = "";
    snprintf(in_use, sizeof in_use, value == INT32_MAX ? "off" : "%lld", (long long)value);
    used = value;
    loses = -1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, name) != 0)
            continue;
        int64_t found = cases[i].find();
        snprintf(best, sizeof best, found == FOUND_NOTHING ? "never" : "%lld", (long long)found);
        if (loses >= 0)
            snprintf(lost, sizeof lost, "%.1f %%", 100 * (exp(loses) - 1));
    }
    printf("%-24s %10s %10s %8s %-16s %s\n", name, in_use, best, lost, unit, meaning);
    fflush(stdout);
}

int main(int count, char **words) {
    const char *only = count > 1 ? words[1] : "";
    size_t room = (size_t)LARGE * sizeof *a;
    a = aligned_alloc(64, room), b = aligned_alloc(64, room), c = aligned_alloc(64, room);
    scratch = aligned_alloc(64, room);
    if (!a || !b || !c || !scratch)
        return 1;
    for (int i = 0; i < LARGE; i++)
        a[i] = (float)(i % 1000) * 0.01f, b[i] = 1.5f, c[i] = 0;
    memset(scratch, 0, room);
    const Tuning *level = tuning();
    printf("level %d, %d threads, oneDNN %s\n", loops_table()->level, pool_limit(),
           onednn_available() ? "there" : "not there");
    printf("%-24s %10s %10s %8s %-16s %s\n", "number", "in use", "best", "loses", "unit", "what");
#define TUNED(NAME, value, unit, meaning) number(only, #NAME, value, unit, meaning);
#define TUNED_BY_LEVEL(name, v1, v3, v4, unit, meaning) number(only, #name, level->name, unit, meaning);
#include "loops/tuning.def"
    free(a), free(b), free(c), free(scratch);
    return 0;
}
