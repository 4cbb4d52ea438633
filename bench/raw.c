// Raw — see raw.h. oneDNN is opened by name, as the library does, but as it comes: its threads are those of its OpenMP.
#define _GNU_SOURCE
#include "raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shapes.h"

#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

#if DNNL_VERSION_MAJOR == 2
typedef dnnl_memory_desc_t Layout;
#define EACH_OF_VERSION(F)                               \
    F(dnnl_memory_desc_init_by_tag)                      \
    F(dnnl_convolution_forward_desc_init)                \
    F(dnnl_convolution_backward_data_desc_init)          \
    F(dnnl_convolution_backward_weights_desc_init)       \
    F(dnnl_matmul_desc_init)                             \
    F(dnnl_primitive_desc_create)
#else
typedef struct dnnl_memory_desc Layout;
#define EACH_OF_VERSION(F)                                 \
    F(dnnl_memory_desc_create_with_tag)                    \
    F(dnnl_convolution_forward_primitive_desc_create)      \
    F(dnnl_convolution_backward_data_primitive_desc_create) \
    F(dnnl_convolution_backward_weights_primitive_desc_create) \
    F(dnnl_matmul_primitive_desc_create)
#endif
#define EACH_FUNCTION(F)                                                                                             \
    F(dnnl_engine_create) F(dnnl_stream_create) F(dnnl_stream_wait) F(dnnl_memory_create) F(dnnl_memory_desc_get_size) \
    F(dnnl_memory_set_data_handle) F(dnnl_primitive_desc_query_md) F(dnnl_primitive_create) F(dnnl_primitive_execute)  \
    F(dnnl_primitive_desc_destroy) EACH_OF_VERSION(F)

static struct {
#define F(name) __typeof__(name) *name;
    EACH_FUNCTION(F)
#undef F
    dnnl_engine_t engine;
    dnnl_stream_t stream;
} lib;

static bool open_library(void) {
    char name[32];
    snprintf(name, sizeof name, "libdnnl.so.%d", DNNL_VERSION_MAJOR);
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    for (int minor = DNNL_VERSION_MINOR; !handle && DNNL_VERSION_MAJOR > 2 && minor >= 0; minor--) {
        snprintf(name, sizeof name, "libdnnl.so.%d.%d", DNNL_VERSION_MAJOR, minor);
        handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (!handle)
        return false;
#define F(function)                                     \
    *(void **)&lib.function = dlsym(handle, #function); \
    if (!lib.function)                                  \
        return false;
    EACH_FUNCTION(F)
#undef F
    return lib.dnnl_engine_create(&lib.engine, dnnl_cpu, 0) == dnnl_success &&
           lib.dnnl_stream_create(&lib.stream, lib.engine, dnnl_stream_default_flags) == dnnl_success;
}

// ---------------------------------------- one primitive

enum { ARGS = 3 };    // the two that are read, the one that is written

typedef struct Part {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[ARGS];
    size_t bytes[ARGS];
} Part;

typedef struct Parts {
    Part *p;
    int n;
    float *memory[ARGS];    // as much as the largest part wants: only one runs at a time
} Parts;

// The library reads as many numbers as it has dimensions at most.
typedef struct Dims {
    dnnl_dims_t d;
} Dims;
#define DIMS(...) ((Dims){{__VA_ARGS__}})

static const Layout *any(int rank, Dims dims) {
#if DNNL_VERSION_MAJOR == 2
    static Layout layouts[4];
    static int turn;
    Layout *layout = &layouts[turn++ % 4];
    lib.dnnl_memory_desc_init_by_tag(layout, rank, dims.d, dnnl_f32, dnnl_format_tag_any);
    return layout;
#else
    Layout *layout = NULL;
    lib.dnnl_memory_desc_create_with_tag(&layout, rank, dims.d, dnnl_f32, dnnl_format_tag_any);
    return layout;
#endif
}

static bool add_part(Parts *parts, dnnl_primitive_desc_t pd, const dnnl_query_t *queries, const int *names) {
    Part part = {0};
    Part *grown = realloc(parts->p, (size_t)(parts->n + 1) * sizeof part);
    if (!grown || lib.dnnl_primitive_create(&part.primitive, pd) != dnnl_success)
        return false;
    parts->p = grown;
    for (int i = 0; i < ARGS; i++) {
        const Layout *layout = lib.dnnl_primitive_desc_query_md(pd, queries[i], 0);
        part.args[i].arg = names[i];
        part.bytes[i] = lib.dnnl_memory_desc_get_size(layout);
        if (lib.dnnl_memory_create(&part.args[i].memory, layout, lib.engine, DNNL_MEMORY_NONE) != dnnl_success)
            return false;
    }
    parts->p[parts->n++] = part;
    return true;
}

// The descriptions of a convolution's passes. Layouts are left to each.
typedef enum Pass { FORWARD, INPUT, WEIGHTS } Pass;

static dnnl_primitive_desc_t describe(const Conv *c, Pass pass, dnnl_primitive_desc_t hint) {
    const Layout *x = any(4, DIMS(c->x[0], c->x[3], c->x[1], c->x[2]));
    const Layout *w = any(4, DIMS(c->filter[3], c->filter[2], c->filter[0], c->filter[1]));
    const Layout *y = any(4, DIMS(c->y[0], c->y[3], c->y[1], c->y[2]));
    Dims strides = DIMS(c->strides[0], c->strides[1]), before = DIMS(c->before[0], c->before[1]);
    Dims after = DIMS(c->after[0], c->after[1]);
    dnnl_primitive_desc_t pd = NULL;
#if DNNL_VERSION_MAJOR == 2
    dnnl_convolution_desc_t d;
    if (pass == FORWARD)
        lib.dnnl_convolution_forward_desc_init(&d, dnnl_forward_training, dnnl_convolution_auto, x, w, NULL, y,
                                               strides.d, before.d, after.d);
    else if (pass == INPUT)
        lib.dnnl_convolution_backward_data_desc_init(&d, dnnl_convolution_auto, x, w, y, strides.d, before.d, after.d);
    else
        lib.dnnl_convolution_backward_weights_desc_init(&d, dnnl_convolution_auto, x, w, NULL, y, strides.d, before.d,
                                                        after.d);
    return lib.dnnl_primitive_desc_create(&pd, &d, NULL, lib.engine, hint) == dnnl_success ? pd : NULL;
#else
    const Dims dense = DIMS(0);
    dnnl_status_t status;
    if (pass == FORWARD)
        status = lib.dnnl_convolution_forward_primitive_desc_create(&pd, lib.engine, dnnl_forward_training,
                                                                    dnnl_convolution_auto, x, w, NULL, y, strides.d,
                                                                    dense.d, before.d, after.d, NULL);
    else if (pass == INPUT)
        status = lib.dnnl_convolution_backward_data_primitive_desc_create(&pd, lib.engine, dnnl_convolution_auto, x, w,
                                                                          y,
                                                                          strides.d, dense.d, before.d, after.d, hint,
                                                                          NULL);
    else
        status = lib.dnnl_convolution_backward_weights_primitive_desc_create(&pd, lib.engine, dnnl_convolution_auto, x,
                                                                             w,
                                                                             NULL, y, strides.d, dense.d, before.d,
                                                                             after.d, hint, NULL);
    return status == dnnl_success ? pd : NULL;
#endif
}

static bool add_conv(Parts *parts, const Conv *c) {
    static const dnnl_query_t queries[][ARGS] = {{dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md},
                                                     {dnnl_query_diff_dst_md, dnnl_query_weights_md,
                                                      dnnl_query_diff_src_md},
                                                     {dnnl_query_src_md, dnnl_query_diff_dst_md,
                                                      dnnl_query_diff_weights_md}};
    static const int names[][ARGS] = {{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
                                          {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC},
                                          {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS}};
    const bool wanted[] = {c->forward, c->input, c->weights};
    dnnl_primitive_desc_t forward = describe(c, FORWARD, NULL);
    for (int pass = FORWARD; pass <= WEIGHTS; pass++) {
        dnnl_primitive_desc_t pd = pass ? wanted[pass] ? describe(c, (Pass)pass, forward) : NULL : forward;
        if (wanted[pass] && (!pd || !add_part(parts, pd, queries[pass], names[pass])))
            return false;
    }
    return true;
}

static bool add_product(Parts *parts, const Product *p) {
    static const dnnl_query_t queries[] = {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md};
    static const int names[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    dnnl_primitive_desc_t pd = NULL;
    const Layout *a = any(2, DIMS(p->m, p->k)), *b = any(2, DIMS(p->k, p->n));
    const Layout *y = any(2, DIMS(p->m, p->n));
#if DNNL_VERSION_MAJOR == 2
    dnnl_matmul_desc_t d;
    if (lib.dnnl_matmul_desc_init(&d, a, b, NULL, y) != dnnl_success ||
        lib.dnnl_primitive_desc_create(&pd, &d, NULL, lib.engine, NULL) != dnnl_success)
        return false;
#else
    if (lib.dnnl_matmul_primitive_desc_create(&pd, lib.engine, a, b, NULL, y, NULL) != dnnl_success)
        return false;
#endif
    return add_part(parts, pd, queries, names);
}

// ---------------------------------------- all of a workload

static bool give_memory(Parts *parts) {
    for (int i = 0; i < ARGS; i++) {
        size_t most = 64;
        for (int j = 0; j < parts->n; j++)
            most = parts->p[j].bytes[i] > most ? parts->p[j].bytes[i] : most;
        parts->memory[i] = aligned_alloc(64, (most + 63) / 64 * 64);
        for (size_t j = 0; parts->memory[i] && j < most / 4; j++)
            parts->memory[i][j] = (float)(j * 7919 % 251) / 251.0f - 0.5f;
        if (!parts->memory[i])
            return false;
        for (int j = 0; j < parts->n; j++)
            lib.dnnl_memory_set_data_handle(parts->p[j].args[i].memory, parts->memory[i]);
    }
    return true;
}

static bool make_parts(const Work *work, Parts *parts) {
    for (int i = 0; i < work->conv_count; i++)
        if (!add_conv(parts, &work->convs[i]))
            return false;
    for (int i = 0; i < work->product_count; i++)
        if (!add_product(parts, &work->products[i]))
            return false;
    return give_memory(parts);
}

static void forget_parts(Parts *parts) {
    for (int i = 0; i < ARGS; i++)
        free(parts->memory[i]);
    free(parts->p);
    *parts = (Parts){0};
}

static double run_parts(const Parts *parts) {
    double begin = now_seconds();
    for (int i = 0; i < parts->n; i++) {
        lib.dnnl_primitive_execute(parts->p[i].primitive, lib.stream, ARGS, parts->p[i].args);
        lib.dnnl_stream_wait(lib.stream);
    }
    return now_seconds() - begin;
}

int raw_main(const char *library, int threads) {
    char error[400] = "", line[128], number[16];
    Api api;
    Parts parts = {0};
    snprintf(number, sizeof number, "%d", threads);
    setenv("OMP_NUM_THREADS", number, 1);
    if (!api_open(library, &api, error, sizeof error) || !open_library()) {
        printf("error no oneDNN %s\n", error);
        return 1;
    }
    printf("library oneDNN\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        Work work;
        if (!strncmp(line, "open ", 5) && !work_read(&api, line + 5, &work, error, sizeof error))
            printf("error %s\n", error);
        else if (!strncmp(line, "open ", 5)) {
            forget_parts(&parts);
            bool made = make_parts(&work, &parts);
            work_clear(&work);
            if (made)
                run_parts(&parts);
            printf(made ? "value %d\n" : "error oneDNN refuses primitive %d\n", parts.n);
        } else if (!strcmp(line, "round"))
            printf("seconds %.9g\n", run_parts(&parts));
        else
            printf("memory 0 0 0\n");
        fflush(stdout);
    }
    fflush(stdout);
    _exit(0);
}
#else
int raw_main(const char *library, int threads) {
    (void)library, (void)threads;
    printf("error built without oneDNN\n");
    return 1;
}
#endif
