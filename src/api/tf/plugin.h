// What custom ops and kernels written against ops.h and kernels.h are to the machine.
#pragma once
#include "api/api.h"
#include "graph/shapes.h"
#include "kernel/kernel.h"
#include "kernel/registry.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

// An op made at run time; lives for ever. Begins with the Op that the graph layer sees.
typedef struct {
    Op op;
    void (*shape)(TF_ShapeInferenceContext *ctx, TF_Status *status);  // NULL: nothing is known of the outputs
} PluginOp;

// An Op of that signature, not yet registered; the text is taken over. RESOURCE_EXHAUSTED.
FALLIBLE Status *plugin_op_new(const char *signature, PluginOp **out);

// What a TF_KernelBuilder has collected, and what stays of it once it is registered.
struct TF_KernelBuilder {
    Arena arena;
    DynamicKernel kernel;
    Str op_name;
    void *(*create)(TF_OpKernelConstruction *);
    void (*compute)(void *, TF_OpKernelContext *);
    void (*compute_async)(void *, TF_OpKernelContext *, TF_AsyncOpKernelDoneCallback *);
    void (*destroy)(void *);
    bool failed;            // memory ran out on the way
};

// The state of one node in one session: what create made.
typedef struct {
    const TF_KernelBuilder *builder;
    void *object;
} PluginState;

struct TF_OpKernelConstruction {
    const Node *node;
    Status *failure;
};

struct TF_OpKernelContext {
    Kernel *k;
    Status *failure;
};

Status *plugin_open(Opening *opening);
void plugin_close(void *state);
Status *plugin_run(Kernel *k);
Status *plugin_shape(Shapes *s);
