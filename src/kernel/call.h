// Caller — how a kernel calls a function of the graph's library: recursion, map functions, gradients by function.
#pragma once
#include "kernel/kernel.h"

typedef struct Caller Caller;
struct Caller {
    // Runs the function on the arguments, to the end, on this thread. `context` is a kernel's k->step: the call is part
    // of that step. Or one of the caller's own, where there is no kernel at hand: its cancellation, deadline and trace
    // hold, its depth and step_id are 0, and the call is a step of its own. Results have references of their own.
    Status *(*call)(const Caller *caller, const StepContext *context, const FuncRef *function, const Tensor *arguments,
                    int n_arguments, Tensor *out_results, int n_results);
    struct Background *background;  // for whoever calls outside a step (kernel/background.h)
};
enum { MAX_CALL_DEPTH = 128 };  // functions within functions in one step
