// LRN — each element divided by a power of the squares of its neighbours among the channels; and the gradient.
#include "kernel/lanes.h"
#include "loops/norm.h"
#include "ops/nn/staging.h"
#include "ops/op.h"

typedef struct {
    DType compute;
    int64_t rows, channels, radius;
    double bias, alpha, beta;
    Stage in[3], out;
    LanePlan lanes;
} Response;

static Status *response_prepare(Prepare *p) {
    Response *own = p->own;
    const Shape *shape = &p->in[0]->shape;
    DType dtype = p->in[0]->dtype;
    own->compute = staging_float(dtype);
    own->channels = shape->dims[3];
    own->rows = own->channels ? shape_span(shape, 0, 3) : 0;
    own->radius = node_int(p->node, "depth_radius");
    NEED(own->radius >= 0 && own->radius <= INT32_MAX, INVALID_ARGUMENT, "depth_radius = %lld is not in [0, 2^31)",
         (long long)own->radius);
    own->bias = (double)node_float(p->node, "bias");
    own->alpha = (double)node_float(p->node, "alpha");
    own->beta = (double)node_float(p->node, "beta");
    for (int i = 0; i < p->n_in; i++)
        TRY(stage_input(p, dtype, own->compute, shape, false, &own->in[i]));
    TRY(stage_output(p, dtype, own->compute, shape, false, &own->out));
    lanes_prepare(p, local_response_work(own->compute, own->channels), own->rows, &own->lanes);
    p->cost = own->rows * own->channels * 10;
    return OK;
}

typedef struct {
    const Response *own;
    const char *in[3];
    char *out;
    bool gradient;
    Lanes lanes;
} Work;

static void response_rows(void *arg, int64_t first, int64_t last) {
    Work *work = arg;
    const Response *own = work->own;
    size_t at = (size_t)(first * own->channels) * dtype_size(own->compute);
    int lane = lanes_take(&work->lanes);
    void *memory = lanes_memory(&work->lanes, lane);
    if (work->gradient)
        local_response_grad_rows(own->compute, work->in[0] + at, work->in[1] + at, work->in[2] + at, work->out + at,
                                 memory, last - first, own->channels, own->radius, own->bias, own->alpha, own->beta);
    else
        local_response_rows(own->compute, work->in[0] + at, work->out + at, memory, last - first, own->channels,
                            own->radius, own->bias, own->alpha, own->beta);
    lanes_give(&work->lanes, lane);
}

static Status *response_run(Kernel *k) {
    const Response *own = k->own;
    Work work = {.own = own, .out = stage_target(&own->out, k, k->out[0]->data), .gradient = k->n_in > 1};
    for (int i = 0; i < k->n_in; i++)
        work.in[i] = stage_load(&own->in[i], k, k->in[i]->data);
    lanes_open(k, &own->lanes, &work.lanes);
    kernel_parallel(k, own->rows, own->channels * 10, response_rows, &work);
    stage_store(&own->out, k, k->out[0]->data);
    return OK;
}

static void response_grad(Formula *f) {
    f->dx[0] = Like("LRNGrad", f->dy[0], f->x[0], f->y[0]);
}

// ---------------------------------------- for devices that compile

static COLD HloValue neighbours(Hlo *h, HloValue x) {  // the sum over those within the radius
    int64_t radius = min_i64(node_int(h->node, "depth_radius"), x->shape.dims[3]);
    HloWindow window = {.size = SHAPE(1, 1, 1, 2 * radius + 1), .stride = SHAPE(1, 1, 1, 1), .low = SHAPE(0, 0, 0, radius),
                        .high = SHAPE(0, 0, 0, radius)};
    return hlo_window(h, "add", x, &window);
}

static COLD HloValue response_norm(Hlo *h, HloValue x) {  // bias + alpha times the squares around
    return hlo_plus(h, hlo_times(h, neighbours(h, hlo_square(h, x)), (double)node_float(h->node, "alpha")),
                    (double)node_float(h->node, "bias"));
}

static COLD Status *response_hlo(Hlo *h) {
    HloValue x = hlo_wide(h, hlo_in(h, 0)), norm = response_norm(h, x);
    double beta = (double)node_float(h->node, "beta");
    return hlo_out(h, 0, hlo_cast(h, hlo_mul(h, x, hlo_pow(h, norm, hlo_like(h, -beta, x))), hlo_out_type(h, 0)));
}

// dy norm^-beta - 2 alpha beta x (the sum around of dy y / norm)
static COLD Status *response_grad_hlo(Hlo *h) {
    HloValue dy = hlo_wide(h, hlo_in(h, 0)), x = hlo_wide(h, hlo_in(h, 1)), y = hlo_wide(h, hlo_in(h, 2));
    double alpha = (double)node_float(h->node, "alpha"), beta = (double)node_float(h->node, "beta");
    HloValue norm = response_norm(h, x), around = neighbours(h, hlo_div(h, hlo_mul(h, dy, y), norm));
    HloValue direct = hlo_mul(h, dy, hlo_pow(h, norm, hlo_like(h, -beta, x)));
    HloValue dx = hlo_sub(h, direct, hlo_times(h, hlo_mul(h, x, around), 2 * alpha * beta));
    return hlo_out(h, 0, hlo_cast(h, dx, hlo_out_type(h, 0)));
}

#define RESPONSE_ATTRIBUTES                                                                                  \
    "; depth_radius: int = 5; bias: float = 1; alpha: float = 1; beta: float = 0.5; T: {half, bfloat16, float} = float"
#define RESPONSE_FIELDS \
    .prepare = response_prepare, .own_size = sizeof(Response), .cpu = ANY_TYPE(response_run)
const Op op_LRN = {
    .signature = "LRN(input: T) -> output: T" RESPONSE_ATTRIBUTES,
    .doc = "Each element divided by a power of the squares of its neighbours among the channels.",
    .needs = "rank(input) == 4", .shape = shape_unchanged, .grad = response_grad, RESPONSE_FIELDS, .hlo = response_hlo,
};
const Op op_LRNGrad = {
    .signature = "LRNGrad(input_grads: T, input_image: T, output_image: T) -> output: T" RESPONSE_ATTRIBUTES,
    .doc = "Gradient of LRN.", .shape = shape_same_all,
    .needs = "rank(input_grads) == 4, same_shape(input_grads, input_image), same_shape(input_image, output_image)",
    RESPONSE_FIELDS, .hlo = response_grad_hlo,
};
