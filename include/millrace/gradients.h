// gradients.h — derivatives for clients that have gradients of their own, stop some, or apply sparse ones.
#ifndef MILLRACE_GRADIENTS_H_
#define MILLRACE_GRADIENTS_H_

#include "millrace/millrace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A question for mr_add_gradients: the gradients of sum(ys) with respect to each x. Zero in a member means none. */
typedef struct mr_gradients {
    size_t struct_size;            /* to be set: sizeof(mr_gradients) */
    const char *prefix;            /* of the new nodes, not in use yet; NULL: the first free of gradients, gradients_1 ... */
    const TF_Output *ys, *xs;
    int num_ys, num_xs;
    const TF_Output *dys;          /* gradients of the ys; NULL, or an oper of NULL: ones */
    TF_Operation *const *stops;    /* gradients end at these operations, as if they were constants */
    int num_stops;
    TF_Operation *const *own;      /* operations whose gradient the client makes, by `gradient` */
    int num_own;
    /* Adds operations to the graph, and sets one dx for each input of `op`; oper NULL: zero. Called by the thread that asks,
     * which may build on the graph meanwhile; nobody else may. A status that is not OK ends all. */
    void (*gradient)(void *arg, TF_Operation *op, const TF_Output *dys, TF_Output *dxs, TF_Status *status);
    void *arg;
    /* The answer, num_xs each: a tensor, or the rows `values` at `indices` of a tensor whose shape is `shapes` (else oper
     * NULL). An oper of NULL in `values`: no y depends on that x, or none in a way that has a gradient. */
    TF_Output *values, *indices, *shapes;
} mr_gradients;

/* TF_AddGradients for clients that have gradients of their own, stop some, or apply sparse ones. */
MR_EXPORT void mr_add_gradients(TF_Graph *graph, const mr_gradients *question, TF_Status *status);

#ifdef __cplusplus
}
#endif
#endif  /* MILLRACE_GRADIENTS_H_ */
