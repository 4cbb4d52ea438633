// Caller — how a kernel calls a function of the graph's library: recursion, map functions, gradients by function.
#pragma once
#include "kernel/kernel.h"

typedef struct Caller Caller;
struct Caller {
    // Runs the function that `node` names in its attribute `attr` on the arguments, to the end, inside the step of `k`:
    // same cancellation, deadline and resources. Results are the callee's: each has its own reference.
    Status *(*call)(const Caller *caller, Kernel *k, Str function, const AttrEntry *attrs, int n_attrs,
                    const Tensor *arguments, int n_arguments, Tensor *out_results, int n_results);
};
enum { MAX_CALL_DEPTH = 128 };  // functions within functions in one step
