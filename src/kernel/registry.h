// Registry — kernels that were registered at run time (TF_RegisterKernelBuilder): they win over those compiled in.
#pragma once
#include "kernel/kernel.h"

typedef struct DynamicKernel DynamicKernel;
struct DynamicKernel {
    const OpType *type;
    Str device_type;                       // "CPU"
    struct { Str attr; DType dtype; } *constraints;
    int n_constraints;
    int32_t priority;                      // the highest that matches wins
    Str label;                             // must equal attr "_kernel", if any
    RunFn *run;
    void *plugin;                          // for `run`
    DynamicKernel *next;
};

// Takes ownership. ALREADY_EXISTS for an equal one.
FALLIBLE Status *dynamic_kernel_register(DynamicKernel *kernel);
const DynamicKernel *dynamic_kernel_find(const Node *node, const char *device_type);
const DynamicKernel *dynamic_kernel_at(size_t index);  // NULL after the last
