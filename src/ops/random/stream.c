// Stream — see stream.h.
#include "ops/random/stream.h"

#include <sys/random.h>

uint64_t stream_system_seed(void) {
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
        seed = (uint64_t)clock_now() * 0x9e3779b97f4a7c15u + (uint64_t)clock_wall();
    return seed;
}

Philox seeded_philox(const Node *node) {
    uint64_t seed = (uint64_t)node_int(node, "seed"), seed2 = (uint64_t)node_int(node, "seed2");
    if (!seed && !seed2) {
        seed = stream_system_seed();
        seed2 = stream_system_seed();
    }
    return philox_seeded(seed, seed2);
}

Status *stream_open(Opening *o) {
    Stream *stream = o->state;
    mutex_init(&stream->lock);
    stream->philox = seeded_philox(o->node);
    return OK;
}

void stream_close(void *state) {
    mutex_clear(&((Stream *)state)->lock);
}

// Takes a part of the node's stream for one call; the lock is held for as long as it takes to skip. Which of two
// concurrent steps gets which part isn't determined, as in TensorFlow.
Status *stream_take(Kernel *k, uint64_t blocks, Philox *out) {
    Stream *stream = k->state;
    NEED(stream, FAILED_PRECONDITION, "a random stream needs a session to live in");
    mutex_lock(&stream->lock);
    *out = stream->philox;
    philox_skip(&stream->philox, blocks);
    mutex_unlock(&stream->lock);
    return OK;
}

void stream_draw(void *state, uint64_t blocks, uint32_t out[6]) {
    Stream *stream = state;
    mutex_lock(&stream->lock);
    memcpy(out, &stream->philox, sizeof stream->philox);
    philox_skip(&stream->philox, blocks);
    mutex_unlock(&stream->lock);
}

Status *random_shape(Shapes *s) {
    const Tensor *value = s->value[0];
    for (int64_t i = 0; value && i < tensor_count(value); i++)
        NEED(tensor_int(value, i) >= 0, INVALID_ARGUMENT, "Dimension %lld must be >= 0, got %lld", (long long)i,
             (long long)tensor_int(value, i));
    return shapes_input_shape(s, 0, &s->out[0]);
}

Status *filling_prepare(Prepare *p, RandomKind kind) {
    Filling *filling = p->own;
    filling->kind = kind;
    filling->dtype = p->out[0]->dtype;
    filling->count = shape_count(&p->out[0]->shape);
    p->cost = filling->count * 4;
    return OK;
}

int64_t random_int(const Tensor *tensor, int64_t i) {
    switch (tensor->dtype) {
    case DT_uint32: return (int64_t)((const uint32_t *)tensor->data)[i];
    case DT_uint64: return (int64_t)((const uint64_t *)tensor->data)[i];
    default: return tensor_int(tensor, i);
    }
}

typedef struct {
    Kernel *k;
    const Philox *philox;
    int64_t low, high;
} Fill;

// Philox is counter-based: a unit computes its numbers from their place alone, so the result is the same however units
// are shared out among threads.
static void fill_units(void *arg, int64_t first, int64_t last) {
    const Fill *fill = arg;
    const Filling *filling = fill->k->own;
    int64_t from = first * RANDOM_UNIT, to = min_i64(last * RANDOM_UNIT, filling->count);
    (void)random_fill(fill->philox, filling->kind, filling->dtype, fill->k->out[0]->data, from, to);
}

Status *filling_run(Kernel *k, const Philox *philox) {
    const Filling *filling = k->own;
    Fill fill = {.k = k, .philox = philox};
    kernel_parallel(k, div_up(filling->count, RANDOM_UNIT), RANDOM_UNIT * 4, fill_units, &fill);
    return OK;
}

static void fill_int_units(void *arg, int64_t first, int64_t last) {
    const Fill *fill = arg;
    const Filling *filling = fill->k->own;
    int64_t from = first * RANDOM_UNIT, to = min_i64(last * RANDOM_UNIT, filling->count);
    // Unsigned numbers are made of the same bits.
    DType dtype = filling->dtype == DT_uint32 ? DT_int32 : filling->dtype == DT_uint64 ? DT_int64 : filling->dtype;
    (void)random_fill_int(fill->philox, dtype, fill->low, fill->high, fill->k->out[0]->data, from, to);
}

Status *filling_run_int(Kernel *k, const Philox *philox, const Tensor *low, const Tensor *high) {
    const Filling *filling = k->own;
    if (!filling->count)
        return OK;
    Fill fill = {k, philox, random_int(low, 0), random_int(high, 0)};
    bool less = low->dtype == DT_uint64 ? (uint64_t)fill.low < (uint64_t)fill.high : fill.low < fill.high;
    NEED(less, INVALID_ARGUMENT, "Need minval < maxval, got %lld >= %lld", (long long)fill.low, (long long)fill.high);
    kernel_parallel(k, div_up(filling->count, RANDOM_UNIT), RANDOM_UNIT * 2, fill_int_units, &fill);
    return OK;
}
