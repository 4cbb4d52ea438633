// Varied — batches whose shapes vary from step to step: how much a step costs of which every shape has come before, by
// one caller and by two. With 10,000 shapes what is kept for a shape is more than there is room for.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

enum { MOST_CALLERS = 2, SIDE = 20 };

typedef struct Varied {
    TF_Tensor **values;      // of the shapes, in turn
    Step step;
    int shapes, callers;
    int at[MOST_CALLERS];    // the next shape of each
} Varied;

typedef struct Caller {
    Run run;                 // with a status of its own
    Step step;
    int *at, n;
    bool ok;
    char pad[64];
} Caller;

// A softmax of rows, by hand, and some moving to and fro: ten kernels for a few hundred numbers.
static void varied_graph(GraphDef *g) {
    node(g, "x", "Placeholder", "", "dtype=float shape=<-1,-1,-1>");
    node_const(g, "last", TF_INT32, 1, (int64_t[]){1}, (int32_t[]){2}, 4);
    node_const(g, "turn", TF_INT32, 1, (int64_t[]){3}, (int32_t[]){1, 0, 2}, 12);
    node_const(g, "every", TF_INT32, 1, (int64_t[]){3}, (int32_t[]){0, 1, 2}, 12);
    node_int32(g, "axis", 2);
    node(g, "most", "Max", "x last", "T=float Tidx=int32 keep_dims=true");
    node(g, "less", "Sub", "x most", "T=float");
    node(g, "e", "Exp", "less", "T=float");
    node(g, "sum", "Sum", "e last", "T=float Tidx=int32 keep_dims=true");
    node(g, "p", "RealDiv", "e sum", "T=float");
    node(g, "turned", "Transpose", "p turn", "T=float Tperm=int32");
    node(g, "twice", "ConcatV2", "turned turned axis", "T=float N=2 Tidx=int32");
    node(g, "square", "Square", "twice", "T=float");
    node(g, "y", "Mean", "square every", "T=float Tidx=int32 keep_dims=false");
}

static void *call(void *arg) {
    Caller *caller = arg;
    const Varied *varied = caller->run.own;
    int at = *caller->at;
    caller->ok = true;
    for (int i = 0; i < caller->n && caller->ok; i++) {
        caller->step.values[0] = varied->values[at];
        caller->ok = step_run(&caller->run, &caller->step, caller->run.status, NULL);
        at = at + 1 < varied->shapes ? at + 1 : 0;
    }
    *caller->at = at;
    return NULL;
}

static bool varied_steps(Run *run, int n, double *out_first) {
    Varied *varied = run->own;
    Caller callers[MOST_CALLERS];
    pthread_t threads[MOST_CALLERS];
    bool ok = true;
    for (int i = 0; i < varied->callers; i++) {
        callers[i] = (Caller){.run = *run, .step = varied->step, .at = &varied->at[i], .n = n};
        callers[i].run.status = run->api->TF_NewStatus();
    }
    for (int i = 1; i < varied->callers; i++)
        if (pthread_create(&threads[i], NULL, call, &callers[i]))
            return false;
    call(&callers[0]);
    for (int i = 0; i < varied->callers; i++) {
        if (i)
            pthread_join(threads[i], NULL);
        if (!callers[i].ok)
            snprintf(run->error, sizeof run->error, "%s", callers[i].run.error);
        ok &= callers[i].ok;
        run->api->TF_DeleteStatus(callers[i].run.status);
    }
    *out_first = 0.5;    // which shape comes first in a round is chance
    return ok;
}

static void prepare(Run *run, int shapes, int callers) {
    Varied *varied = run->own = calloc(1, sizeof *varied);
    varied->shapes = shapes;
    varied->callers = callers;
    varied->values = calloc((size_t)shapes, sizeof *varied->values);
    for (int i = 0; i < shapes; i++) {
        int64_t dims[] = {1 + i % SIDE, 1 + i / SIDE % SIDE, 1 + i / (SIDE * SIDE)};
        varied->values[i] = tensor_new(run, TF_FLOAT, 3, dims, NULL);
    }
    for (int i = 0; i < callers; i++)
        varied->at[i] = i * shapes / callers;
    step_feed(run, &varied->step, "x", varied->values[0]);
    step_fetch(run, &varied->step, "y");
    double ignored;
    varied_steps(run, 2 * shapes / callers, &ignored);    // every shape has come, twice
}

static void varied_release(Run *run) {
    Varied *varied = run->own;
    for (int i = 0; varied && i < varied->shapes; i++)
        run->api->TF_DeleteTensor(varied->values[i]);
    if (varied)
        free(varied->values);
    free(varied);
}

#define VARIED(shapes, callers)                                                                                        \
    static void prepare_##shapes##_##callers(Run *run) {                                                               \
        prepare(run, shapes, callers);                                                                                 \
    }                                                                                                                  \
    const Bench bench_shapes_##shapes##_##callers = {                                                                  \
        "shapes." #shapes "." #callers, "step", #shapes " shapes in turn, callers: " #callers, ITEMS_PER_SECOND, callers, \
        varied_graph, prepare_##shapes##_##callers, varied_steps, varied_release};
VARIED(1, 1)
VARIED(1, 2)
VARIED(1000, 1)
VARIED(1000, 2)
VARIED(10000, 1)
VARIED(10000, 2)
