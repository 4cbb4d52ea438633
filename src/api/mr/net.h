// Net of the C interface — what a mr_net is inside, and how its functions write into the graph.
#pragma once
#include "api/api.h"
#include "millrace/millrace.h"
#include "train/optimizer.h"

struct mr_net {
    TF_Graph *graph;
    Net net;
};

static inline TF_Output outside(Output output) {
    return (TF_Output){api_operation(output.node), output.index};
}

// One call under the graph's lock. `f` is the ambient formula.
#define WRITE(expression)                   \
    mutex_lock(&net->graph->lock);          \
    Formula *f = &net->net.f;               \
    (void)f;                                \
    Output result_ = (expression);          \
    mutex_unlock(&net->graph->lock);        \
    return outside(result_)

// An edge that is none is the net's error.
static inline Output inside(mr_net *net, TF_Output x) {
    Output output = api_output(x);
    if (!output.node && !net->net.f.status)
        formula_fail(&net->net.f, API_ERROR(INVALID_ARGUMENT, "an edge of no operation"));
    return output;
}

FALLIBLE Status *net_read_optimizer(const mr_optimizer *from, Optimizer *out, Clip *clip);
