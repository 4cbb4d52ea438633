// Convnet — the demo's network as a bench: two 3x3 convolutions with pooling, two dense layers, Adam, batch 64.
// Same network and same updates as demo/tensorflow_demo.py; the images are made up, the arithmetic is not.
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

enum { BATCH = 64 };

typedef struct Convnet {
    Step train;
} Convnet;

static void text(char *out, size_t room, const char *name, const char *what) {
    snprintf(out, room, "%s%s", name, what);
}

static void zeros_like(GraphDef *g, const char *name, const char *slot, const char *shape) {
    node_printed(g, "VarHandleOp", shape, "%s_%s|", name, slot);
    node_printed(g, "ZerosLike", "T=float", "%s_%s_start|%s_start", name, slot, name);
    node_printed(g, "AssignVariableOp", "dtype=float", "%s_%s_init|%s_%s %s_%s_start", name, slot, name, slot, name,
                 slot);
}

static void variable(GraphDef *g, const char *name, const char *shape_attribute, int rank, const int64_t *dims) {
    char attributes[96], start[64];
    snprintf(attributes, sizeof attributes, "dtype=float shape=%s shared_name='%s'", shape_attribute, name);
    text(start, sizeof start, name, "_start");
    node(g, name, "VarHandleOp", "", attributes);
    node_weights(g, start, rank, dims);
    node_printed(g, "AssignVariableOp", "dtype=float", "%s_init|%s %s_start", name, name, name);
    node_printed(g, "ReadVariableOp", "dtype=float", "%s_read|%s", name, name);
    snprintf(attributes, sizeof attributes, "dtype=float shape=%s shared_name='%s_m'", shape_attribute, name);
    zeros_like(g, name, "m", attributes);
    snprintf(attributes, sizeof attributes, "dtype=float shape=%s shared_name='%s_v'", shape_attribute, name);
    zeros_like(g, name, "v", attributes);
}

static const char *const WEIGHTS[] = {"k1", "c1", "k2", "c2", "w1", "b1", "w2", "b2"};

static void variables(GraphDef *g) {
    variable(g, "k1", "<3,3,1,32>", 4, (int64_t[]){3, 3, 1, 32});
    variable(g, "c1", "<32>", 1, (int64_t[]){32});
    variable(g, "k2", "<3,3,32,64>", 4, (int64_t[]){3, 3, 32, 64});
    variable(g, "c2", "<64>", 1, (int64_t[]){64});
    variable(g, "w1", "<3136,128>", 2, (int64_t[]){3136, 128});
    variable(g, "b1", "<128>", 1, (int64_t[]){128});
    variable(g, "w2", "<128,10>", 2, (int64_t[]){128, 10});
    variable(g, "b2", "<10>", 1, (int64_t[]){10});
    node(g, "init", "NoOp",
         "^k1_init ^c1_init ^k2_init ^c2_init ^w1_init ^b1_init ^w2_init ^b2_init "
         "^k1_m_init ^c1_m_init ^k2_m_init ^c2_m_init ^w1_m_init ^b1_m_init ^w2_m_init ^b2_m_init "
         "^k1_v_init ^c1_v_init ^k2_v_init ^c2_v_init ^w1_v_init ^b1_v_init ^w2_v_init ^b2_v_init",
         "");
    node(g, "power1", "VarHandleOp", "", "dtype=float shape=<> shared_name='power1'");
    node(g, "power2", "VarHandleOp", "", "dtype=float shape=<> shared_name='power2'");
    node(g, "power1_init", "AssignVariableOp", "power1 beta1", "dtype=float");
    node(g, "power2_init", "AssignVariableOp", "power2 beta2", "dtype=float");
    node(g, "power1_read", "ReadVariableOp", "power1", "dtype=float");
    node(g, "power2_read", "ReadVariableOp", "power2", "dtype=float");
    node(g, "init_all", "NoOp", "^init ^power1_init ^power2_init", "");
}

#define CONV "T=float strides=[1,1,1,1] padding='SAME' data_format='NHWC' dilations=[1,1,1,1] use_cudnn_on_gpu=true"
#define POOL "T=float ksize=[1,2,2,1] strides=[1,2,2,1] padding='VALID' data_format='NHWC'"
#define BIAS "T=float data_format='NHWC'"

static void forward(GraphDef *g) {
    node(g, "y1", "Conv2D", "x k1_read", CONV);
    node(g, "y1b", "BiasAdd", "y1 c1_read", BIAS);
    node(g, "r1", "Relu", "y1b", "T=float");
    node(g, "p1", "MaxPool", "r1", POOL);
    node(g, "y2", "Conv2D", "p1 k2_read", CONV);
    node(g, "y2b", "BiasAdd", "y2 c2_read", BIAS);
    node(g, "r2", "Relu", "y2b", "T=float");
    node(g, "p2", "MaxPool", "r2", POOL);
    node_const(g, "flat_shape", TF_INT32, 1, (int64_t[]){2}, (int32_t[]){-1, 3136}, 8);
    node(g, "flat", "Reshape", "p2 flat_shape", "T=float Tshape=int32");
    node(g, "d1", "MatMul", "flat w1_read", "T=float transpose_a=false transpose_b=false");
    node(g, "d1b", "BiasAdd", "d1 b1_read", BIAS);
    node(g, "r3", "Relu", "d1b", "T=float");
    node(g, "d2", "MatMul", "r3 w2_read", "T=float transpose_a=false transpose_b=false");
    node(g, "logits", "BiasAdd", "d2 b2_read", BIAS);
    node(g, "xent", "SparseSoftmaxCrossEntropyWithLogits", "logits labels", "T=float Tlabels=int32");
    node_const(g, "axis", TF_INT32, 1, (int64_t[]){1}, &(int32_t){0}, 4);
    node(g, "loss", "Mean", "xent axis", "T=float Tidx=int32 keep_dims=false");
}

static void backward(GraphDef *g) {
    node_float(g, "share", 1.0f / BATCH);
    node(g, "g_logits", "Mul", "xent:1 share", "T=float");
    node(g, "g_b2", "BiasAddGrad", "g_logits", BIAS);
    node(g, "g_w2", "MatMul", "r3 g_logits", "T=float transpose_a=true transpose_b=false");
    node(g, "g_r3", "MatMul", "g_logits w2_read", "T=float transpose_a=false transpose_b=true");
    node(g, "g_d1", "ReluGrad", "g_r3 r3", "T=float");
    node(g, "g_b1", "BiasAddGrad", "g_d1", BIAS);
    node(g, "g_w1", "MatMul", "flat g_d1", "T=float transpose_a=true transpose_b=false");
    node(g, "g_flat", "MatMul", "g_d1 w1_read", "T=float transpose_a=false transpose_b=true");
    node(g, "p2_shape", "Shape", "p2", "T=float out_type=int32");
    node(g, "g_p2", "Reshape", "g_flat p2_shape", "T=float Tshape=int32");
    node(g, "g_r2", "MaxPoolGrad", "r2 p2 g_p2", POOL);
    node(g, "g_y2", "ReluGrad", "g_r2 r2", "T=float");
    node(g, "g_c2", "BiasAddGrad", "g_y2", BIAS);
    node_const(g, "k1_shape", TF_INT32, 1, (int64_t[]){4}, (int32_t[]){3, 3, 1, 32}, 16);
    node_const(g, "k2_shape", TF_INT32, 1, (int64_t[]){4}, (int32_t[]){3, 3, 32, 64}, 16);
    node(g, "p1_shape", "Shape", "p1", "T=float out_type=int32");
    node(g, "g_k2", "Conv2DBackpropFilter", "p1 k2_shape g_y2", CONV);
    node(g, "g_p1", "Conv2DBackpropInput", "p1_shape k2_read g_y2", CONV);
    node(g, "g_r1", "MaxPoolGrad", "r1 p1 g_p1", POOL);
    node(g, "g_y1", "ReluGrad", "g_r1 r1", "T=float");
    node(g, "g_c1", "BiasAddGrad", "g_y1", BIAS);
    node(g, "g_k1", "Conv2DBackpropFilter", "x k1_shape g_y1", CONV);
}

static void update(GraphDef *g) {
    for (size_t i = 0; i < sizeof WEIGHTS / sizeof *WEIGHTS; i++) {
        const char *w = WEIGHTS[i];
        node_printed(g, "ResourceApplyAdam", "T=float use_locking=false use_nesterov=false",
                     "%s_apply|%s %s_m %s_v power1_read power2_read rate beta1 beta2 epsilon g_%s", w, w, w, w, w);
    }
    const char *applied = "^k1_apply ^c1_apply ^k2_apply ^c2_apply ^w1_apply ^b1_apply ^w2_apply ^b2_apply";
    node_printed(g, "Mul", "T=float", "next1|power1_read beta1 %s", applied);
    node_printed(g, "Mul", "T=float", "next2|power2_read beta2 %s", applied);
    node(g, "keep1", "AssignVariableOp", "power1 next1", "dtype=float");
    node(g, "keep2", "AssignVariableOp", "power2 next2", "dtype=float");
    node(g, "train", "NoOp", "^keep1 ^keep2", "");
}

static void convnet_graph(GraphDef *g) {
    node(g, "x", "Placeholder", "", "dtype=float shape=<-1,28,28,1>");
    node(g, "labels", "Placeholder", "", "dtype=int32 shape=<-1>");
    node_float(g, "rate", 1e-3f);
    node_float(g, "beta1", 0.9f);
    node_float(g, "beta2", 0.999f);
    node_float(g, "epsilon", 1e-8f);
    variables(g);
    forward(g);
    backward(g);
    update(g);
}

static void convnet_read(GraphDef *g) {
    if (!graphdef_read(g, "demo.pb"))
        g->whole = true;
}

static void convnet_prepare(Run *run) {
    Step init = {0};
    step_target(run, &init, run->api->TF_GraphOperationByName(run->graph, "init_all") ? "init_all" : "init");
    step_run(run, &init, run->status, NULL);
    Convnet *convnet = run->own = calloc(1, sizeof *convnet);
    int32_t labels[BATCH];
    for (int i = 0; i < BATCH; i++)
        labels[i] = i * 7 % 10;
    step_feed(run, &convnet->train, "x", tensor_new(run, TF_FLOAT, 4, (int64_t[]){BATCH, 28, 28, 1}, NULL));
    step_feed(run, &convnet->train, "labels", tensor_new(run, TF_INT32, 1, (int64_t[]){BATCH}, labels));
    step_fetch(run, &convnet->train, "loss");
    step_target(run, &convnet->train, "train");
}

static bool convnet_steps(Run *run, int n, double *out_first) {
    const Convnet *convnet = run->own;
    for (int i = 0; i < n; i++)
        if (!step_run(run, &convnet->train, run->status, out_first))
            return false;
    return true;
}

static void convnet_release(Run *run) {
    Convnet *convnet = run->own;
    if (convnet)
        step_release(run, &convnet->train);
    free(convnet);
}

const Bench bench_demo = {
    "demo", "image", "train step of the demo's convnet, batch 64, Adam", ITEMS_PER_SECOND, BATCH, convnet_graph,
    convnet_prepare, convnet_steps, convnet_release};
const Bench bench_demo_theirs = {
    "demo.theirs", "image", "demo as TensorFlow's Python writes it", ITEMS_PER_SECOND, BATCH, convnet_read,
    convnet_prepare, convnet_steps, convnet_release};
