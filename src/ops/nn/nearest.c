// NearestNeighbors — of each point, the k centers that are nearest, and how far they are, squared.
//
// All distances of a point, sorted; of equal ones the lower index first. Differences are squared, not |x|^2 - 2 x c +
// |c|^2, which cancels where points are near.
#include <stdlib.h>

#include "ops/op.h"

typedef struct {
    int64_t points, centers, extents, k;
} Nearest;

typedef struct {
    float distance;
    int64_t center;
} Neighbour;

static Status *nearest_shape(Shapes *s) {
    int64_t points = s->in[0].rank == 2 ? s->in[0].dims[0] : UNKNOWN_DIM;
    int64_t centers = s->in[1].rank == 2 ? s->in[1].dims[0] : UNKNOWN_DIM, k;
    bool known = shapes_input_int(s, 2, &k);
    NEED(!known || k >= 0, INVALID_ARGUMENT, "k must be non-negative, got %lld", (long long)k);
    s->out[0] = s->out[1] = SHAPE(points, known && centers >= 0 ? min_i64(k, centers) : UNKNOWN_DIM);
    return OK;
}

static Status *nearest_prepare(Prepare *p) {
    const Shape *points = &p->in[0]->shape, *centers = &p->in[1]->shape;
    *(Nearest *)p->own = (Nearest){points->dims[0], centers->dims[0], points->dims[1], p->out[0]->shape.dims[1]};
    p->scratch = (size_t)centers->dims[0] * sizeof(Neighbour);
    p->cost = points->dims[0] * centers->dims[0] * (points->dims[1] + 8);
    return OK;
}

static int by_distance(const void *a, const void *b) {
    const Neighbour *x = a, *y = b;
    if (x->distance != y->distance)
        return x->distance < y->distance ? -1 : 1;
    return x->center < y->center ? -1 : x->center > y->center;
}

static Status *nearest_run(Kernel *k) {
    const Nearest *own = k->own;
    const float *points = k->in[0]->data, *centers = k->in[1]->data;
    Neighbour *all = k->scratch;
    int64_t *indices = k->out[0]->data;
    float *distances = k->out[1]->data;
    for (int64_t i = 0; i < own->points; i++) {
        TRY(context_check(k->step));
        for (int64_t c = 0; c < own->centers; c++) {
            float sum = 0;
            for (int64_t d = 0; d < own->extents; d++) {
                float apart = points[i * own->extents + d] - centers[c * own->extents + d];
                sum += apart * apart;
            }
            all[c] = (Neighbour){sum, c};
        }
        if (own->centers > 1)
            qsort(all, (size_t)own->centers, sizeof *all, by_distance);
        for (int64_t j = 0; j < own->k; j++) {
            *indices++ = all[j].center;
            *distances++ = all[j].distance;
        }
    }
    return OK;
}

const Op op_NearestNeighbors = {
    .signature = "NearestNeighbors(points: float, centers: float, k: int64) -> nearest_center_indices: int64, "
                 "nearest_center_distances: float",
    .doc = "The nearest centers of each point, the nearest first, with the squares of their distances.",
    .needs = "rank(points) == 2, rank(centers) == 2, dim(points, 1) == dim(centers, 1), scalar(k)",
    .shape = nearest_shape, .prepare = nearest_prepare, .own_size = sizeof(Nearest), .cpu = ANY_TYPE(nearest_run),
    .host = BIT(2), .flags = OP_NO_GRADIENT,
};
