// RandomShuffle, StatelessShuffle — the rows of a tensor in a random order.
#include "ops/random/stream.h"

typedef struct {
    int64_t rows;
    Shape shape;
} Shuffle;

static Status *shuffle_prepare(Prepare *p) {
    Shuffle *shuffle = p->own;
    shuffle->shape = p->in[0]->shape;
    shuffle->rows = shuffle->shape.rank ? shuffle->shape.dims[0] : 1;
    if (shape_count(&shuffle->shape) == 0)
        shuffle->rows = 0;
    NEED(shuffle->rows <= UINT32_MAX, UNIMPLEMENTED, "%lld rows are too many to shuffle", (long long)shuffle->rows);
    p->scratch = (size_t)shuffle->rows * sizeof(int64_t);
    return OK;
}

// Row `to` of the output is row `from` of the input; strings are copied and objects shared.
static Status *move_row(const Tensor *in, const Tensor *out, const Shape *row, size_t bytes, int64_t from, int64_t to) {
    Tensor source = {.data = (char *)in->data + (size_t)from * bytes, .dtype = in->dtype, .shape = *row};
    Tensor target = {.data = (char *)out->data + (size_t)to * bytes, .dtype = in->dtype, .shape = *row};
    return tensor_copy_elements(&source, &target);
}

static Status *shuffle_by(Kernel *k, const Philox *philox) {
    const Shuffle *shuffle = k->own;
    int64_t n = shuffle->rows, *order = k->scratch;
    PhiloxNumbers numbers = {.philox = *philox};
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    for (int64_t i = 0; i < n - 1; i++) {
        int64_t j = i + philox_number(&numbers) % (uint32_t)(n - i), moved = order[i];
        order[i] = order[j];
        order[j] = moved;
    }
    Shape row = {.rank = shuffle->shape.rank - 1};
    for (int i = 0; i < row.rank; i++)
        row.dims[i] = shuffle->shape.dims[i + 1];
    size_t bytes = (size_t)shape_count(&row) * dtype_size(k->in[0]->dtype);
    for (int64_t i = 0; i < n; i++)
        TRY(move_row(k->in[0], k->out[0], &row, bytes, order[i], i));
    return OK;
}

static Status *shuffle_run(Kernel *k) {
    int64_t n = ((const Shuffle *)k->own)->rows;
    Philox philox;
    if (n <= 1)
        return tensor_copy_elements(k->in[0], k->out[0]);
    TRY(stream_take(k, (uint64_t)div_up(n - 1, 4), &philox));
    return shuffle_by(k, &philox);
}

static Status *stateless_run(Kernel *k) {
    Philox philox;
    TRY(stateless_keyed(k->in[1], k->in[2], k->in[3], &philox));
    if (((const Shuffle *)k->own)->rows <= 1)
        return tensor_copy_elements(k->in[0], k->out[0]);
    return shuffle_by(k, &philox);
}

const Op op_RandomShuffle = {
    .signature = "RandomShuffle(value: T) -> output: T; seed: int = 0; seed2: int = 0; T: type; stateful",
    .doc = "The rows of the tensor in a random order.", .shape = shape_unchanged,
    .prepare = shuffle_prepare, .own_size = sizeof(Shuffle), .cpu = ANY_TYPE(shuffle_run), HAS_STREAM,
};
const Op op_StatelessShuffle = {
    .signature = "StatelessShuffle(value: T, key: uint64, counter: uint64, alg: int32) -> output: T; T: type",
    .doc = "The rows of the tensor in an order that follows from key and counter.", .shape = shape_unchanged,
    .needs = "vector(key), dim(key, 0) == 1, vector(counter), scalar(alg)", .prepare = shuffle_prepare,
    .own_size = sizeof(Shuffle), .cpu = ANY_TYPE(stateless_run), .flags = OP_NO_GRADIENT,
};
