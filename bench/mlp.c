// Mlp — one training step of a small network: 32 inputs, 64 hidden units, 10 classes, batch 8, plain gradient descent.
// The work of the step is small enough that the machine's own cost shows.
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

enum { BATCH = 8, INPUTS = 32, HIDDEN = 64, CLASSES = 10 };

typedef struct Mlp {
    Step train;
} Mlp;

static void variable(GraphDef *g, const char *name, int rank, const int64_t *dims) {
    char attributes[96], start[64];
    const char *shape = rank == 2 ? "<-1,-1>" : "<-1>";
    snprintf(attributes, sizeof attributes, "dtype=float shape=%s shared_name='%s'", shape, name);
    node(g, name, "VarHandleOp", "", attributes);
    snprintf(start, sizeof start, "%s_start", name);
    node_weights(g, start, rank, dims);
    node_printed(g, "AssignVariableOp", "dtype=float", "%s_init|%s %s_start", name, name, name);
    node_printed(g, "ReadVariableOp", "dtype=float", "%s_read|%s", name, name);
}

static void descend(GraphDef *g, const char *name, const char *gradient) {
    node_printed(g, "ResourceApplyGradientDescent", "T=float use_locking=false", "%s_apply|%s rate %s", name, name,
                 gradient);
}

static void network(GraphDef *g) {
    node_float(g, "rate", 0.01f);
    node_float(g, "share", 1.0f / BATCH);
    node_const(g, "axis", TF_INT32, 1, (int64_t[]){1}, &(int32_t){0}, 4);
    variable(g, "w1", 2, (int64_t[]){INPUTS, HIDDEN});
    variable(g, "b1", 1, (int64_t[]){HIDDEN});
    variable(g, "w2", 2, (int64_t[]){HIDDEN, CLASSES});
    variable(g, "b2", 1, (int64_t[]){CLASSES});
    node(g, "init", "NoOp", "^w1_init ^b1_init ^w2_init ^b2_init", "");

    node(g, "mm1", "MatMul", "x w1_read", "T=float transpose_a=false transpose_b=false");
    node(g, "ba1", "BiasAdd", "mm1 b1_read", "T=float data_format='NHWC'");
    node(g, "h", "Relu", "ba1", "T=float");
    node(g, "mm2", "MatMul", "h w2_read", "T=float transpose_a=false transpose_b=false");
    node(g, "logits", "BiasAdd", "mm2 b2_read", "T=float data_format='NHWC'");
    node(g, "xent", "SoftmaxCrossEntropyWithLogits", "logits labels", "T=float");
    node(g, "loss", "Mean", "xent axis", "T=float Tidx=int32 keep_dims=false");

    node(g, "d_logits", "Mul", "xent:1 share", "T=float");
    node(g, "d_b2", "BiasAddGrad", "d_logits", "T=float data_format='NHWC'");
    node(g, "d_w2", "MatMul", "h d_logits", "T=float transpose_a=true transpose_b=false");
    node(g, "d_h", "MatMul", "d_logits w2_read", "T=float transpose_a=false transpose_b=true");
    node(g, "d_ba1", "ReluGrad", "d_h h", "T=float");
    node(g, "d_b1", "BiasAddGrad", "d_ba1", "T=float data_format='NHWC'");
    node(g, "d_w1", "MatMul", "x d_ba1", "T=float transpose_a=true transpose_b=false");
    descend(g, "w1", "d_w1");
    descend(g, "b1", "d_b1");
    descend(g, "w2", "d_w2");
    descend(g, "b2", "d_b2");
    node(g, "train", "NoOp", "^w1_apply ^b1_apply ^w2_apply ^b2_apply", "");
}

static void mlp_graph(GraphDef *g) {
    node(g, "x", "Placeholder", "", "dtype=float shape=<8,32>");
    node(g, "labels", "Placeholder", "", "dtype=float shape=<8,10>");
    network(g);
}

// The batch comes out of a queue, and goes back into it.
static void queue_graph(GraphDef *g) {
    node(g, "fed_x", "Placeholder", "", "dtype=float shape=<8,32>");
    node(g, "fed_labels", "Placeholder", "", "dtype=float shape=<8,10>");
    node(g, "queue", "FIFOQueueV2", "", "component_types=[float,float] capacity=4");
    node(g, "fill", "QueueEnqueueV2", "queue fed_x fed_labels", "Tcomponents=[float,float]");
    node(g, "batch", "QueueDequeueV2", "queue", "component_types=[float,float]");
    node(g, "again", "QueueEnqueueV2", "queue batch batch:1", "Tcomponents=[float,float]");
    node(g, "x", "Identity", "batch", "T=float");
    node(g, "labels", "Identity", "batch:1", "T=float");
    network(g);
}

// The same network with the gradients and updates that TensorFlow's Python writes.
static void mlp_read(GraphDef *g) {
    if (!graphdef_read(g, "mlp.pb"))
        g->whole = true;
}

static void prepare(Run *run, bool trains) {
    Step init = {0};
    step_target(run, &init, "init");
    step_run(run, &init, run->status, NULL);
    Mlp *mlp = run->own = calloc(1, sizeof *mlp);
    float labels[BATCH][CLASSES] = {{0}};
    for (int i = 0; i < BATCH; i++)
        labels[i][i * 3 % CLASSES] = 1;
    step_feed(run, &mlp->train, "x", tensor_new(run, TF_FLOAT, 2, (int64_t[]){BATCH, INPUTS}, NULL));
    step_feed(run, &mlp->train, "labels", tensor_new(run, TF_FLOAT, 2, (int64_t[]){BATCH, CLASSES}, labels));
    step_fetch(run, &mlp->train, "loss");
    if (trains)
        step_target(run, &mlp->train, "train");
}

static void mlp_prepare(Run *run) {
    prepare(run, true);
}

static void forward_prepare(Run *run) {
    prepare(run, false);
}

static void queue_prepare(Run *run) {
    prepare(run, true);
    Mlp *mlp = run->own;
    Step fill = {0};
    step_feed(run, &fill, "fed_x", mlp->train.values[0]);
    step_feed(run, &fill, "fed_labels", mlp->train.values[1]);
    step_target(run, &fill, "fill");
    step_run(run, &fill, run->status, NULL);
    step_release(run, &fill);
    mlp->train.feed_count = 0;
    step_target(run, &mlp->train, "again");
}

static bool mlp_steps(Run *run, int n, double *out_first) {
    const Mlp *mlp = run->own;
    for (int i = 0; i < n; i++)
        if (!step_run(run, &mlp->train, run->status, out_first))
            return false;
    return true;
}

static void mlp_release(Run *run) {
    Mlp *mlp = run->own;
    if (mlp)
        step_release(run, &mlp->train);
    free(mlp);
}

const Bench bench_mlp = {
    "mlp", "step", "train step of a 32-64-10 network, batch 8, gradient descent", US_PER_ITEM, 1, mlp_graph,
    mlp_prepare, mlp_steps, mlp_release};
const Bench bench_mlp_queue = {
    "mlp.queue", "step", "mlp, its batch from a queue and back into it", US_PER_ITEM, 1, queue_graph, queue_prepare,
    mlp_steps, mlp_release};
const Bench bench_mlp_theirs = {
    "mlp.theirs", "step", "mlp as TensorFlow's Python writes it", US_PER_ITEM, 1, mlp_read, mlp_prepare, mlp_steps,
    mlp_release};
const Bench bench_mlp_forward = {
    "mlp.forward", "step", "mlp's loss alone, nothing learned", US_PER_ITEM, 1, mlp_graph, forward_prepare, mlp_steps,
    mlp_release};
