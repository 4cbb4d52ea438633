// TF_AddGradients — see c_api.h: autodiff, with TensorFlow's names.
#include "api/api.h"
#include "autodiff/autodiff.h"

static Status *check_all(const Graph *graph, const TF_Output *edges, int n) {
    for (int i = 0; i < n; i++)
        TRY(api_output_check(graph, edges[i]));
    return OK;
}

static Status *add_gradients(Graph *graph, const char *prefix, const TF_Output *y, int ny, const TF_Output *x, int nx,
                             const TF_Output *dx, TF_Output *dy) {
    NEED(ny > 0 && nx >= 0, INVALID_ARGUMENT, "there is nothing to differentiate");
    TRY(check_all(graph, y, ny));
    TRY(check_all(graph, x, nx));
    if (dx)
        TRY(check_all(graph, dx, ny));
    return autodiff_gradients(graph, str_of(prefix), (const Output *)y, ny, (const Output *)x, nx, (const Output *)dx,
                              (Output *)dy);
}

// A zero gradient is {NULL, -1} upstream, too.
void TF_AddGradientsWithPrefix(TF_Graph *g, const char *prefix, TF_Output *y, int ny, TF_Output *x, int nx,
                               TF_Output *dx, TF_Status *status, TF_Output *dy) {
    mutex_lock(&g->lock);
    bool failed = api_failed(status, add_gradients(g->graph, prefix, y, ny, x, nx, dx, dy));
    mutex_unlock(&g->lock);
    for (int i = 0; !failed && i < nx; i++)
        if (!dy[i].oper)
            dy[i].index = -1;
}

void TF_AddGradients(TF_Graph *g, TF_Output *y, int ny, TF_Output *x, int nx, TF_Output *dx, TF_Status *status,
                     TF_Output *dy) {
    TF_AddGradientsWithPrefix(g, NULL, y, ny, x, nx, dx, status, dy);
}
