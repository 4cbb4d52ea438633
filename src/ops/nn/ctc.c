// CTCGreedyDecoder — the likeliest class of each moment, blanks and (if wanted) repetitions left out.
#define SELF "ops/nn/ctc.c"
#include "ops/op.h"

#ifdef T  // ---------------------------------------- kernel, once per dtype

// The classes that are heard in one sequence go to `heard`; returns how many.
// The greedy path: the best class at each moment. Its score is the sum of the negated inputs, as TensorFlow's
// neg_sum_logits. Of equal classes the first counts.
static int64_t FN(hear)(const Decoder *own, const T *x, int64_t n, int64_t length, int64_t *heard, T *log_probability) {
    int64_t before = -1, many = 0;
    T sum = 0;
    for (int64_t t = 0; t < length; t++) {
        const T *row = x + (t * own->batch + n) * own->classes;
        int64_t best = 0;
        for (int64_t c = 1; c < own->classes; c++)
            best = row[c] > row[best] ? c : best;
        sum -= row[best];
        if (best != own->blank && !(own->merges && best == before))
            heard[many++] = best;
        before = best;
    }
    *log_probability = sum;
    return many;
}

static Status *FN(decode)(Kernel *k) {
    const Decoder *own = k->own;
    const int32_t *lengths = k->in[1]->data;
    TRY(kernel_output(k, 2, SHAPE(2)));
    TRY(kernel_output(k, 3, SHAPE(own->batch, 1)));
    int64_t *counts = k->scratch, *heard = counts + own->batch, total = 0, longest = 0;
    for (int64_t n = 0; n < own->batch; n++) {
        NEED(lengths[n] >= 0 && lengths[n] <= own->time, INVALID_ARGUMENT,
             "sequence_length(%lld) = %d is not in [0, %lld]", (long long)n, (int)lengths[n], (long long)own->time);
        counts[n] = FN(hear)(own, k->in[0]->data, n, lengths[n], heard + n * own->time, (T *)k->out[3]->data + n);
        total += counts[n];
        longest = max_i64(longest, counts[n]);
    }
    TRY(kernel_output(k, 0, SHAPE(total, 2)));
    TRY(kernel_output(k, 1, SHAPE(total)));
    int64_t *places = k->out[0]->data, *values = k->out[1]->data;
    for (int64_t n = 0; n < own->batch; n++)
        for (int64_t i = 0; i < counts[n]; i++) {
            *places++ = n;
            *places++ = i;
            *values++ = heard[n * own->time + i];
        }
    ((int64_t *)k->out[2]->data)[0] = own->batch;
    ((int64_t *)k->out[2]->data)[1] = longest;
    return OK;
}

#elif !defined(CTC_TYPES)  // ---------------------------------------- schema
#define CTC_TYPES
typedef struct {
    int64_t time, batch, classes, blank;
    bool merges;
} Decoder;

#define EACH_WIDE_FLOAT
#include "ops/each_dtype.h"

static Status *decode_shape(Shapes *s) {
    const Shape *in = &s->in[0], *lengths = &s->in[1];
    NEED(in->rank < 0 || in->rank == 3, INVALID_ARGUMENT, "inputs is not a 3-Tensor: %s", shape_text(in));
    NEED(lengths->rank < 0 || lengths->rank == 1, INVALID_ARGUMENT, "sequence_length is not a vector: %s",
         shape_text(lengths));
    int64_t batch = in->rank < 0 ? UNKNOWN_DIM : in->dims[1];
    NEED(batch < 0 || lengths->rank < 0 || lengths->dims[0] < 0 || lengths->dims[0] == batch, INVALID_ARGUMENT,
         "len(sequence_length) != batch_size: %s vs. %lld", shape_text(lengths), (long long)batch);
    s->out[0] = SHAPE(UNKNOWN_DIM, 2);
    s->out[1] = SHAPE(UNKNOWN_DIM);
    s->out[2] = SHAPE(2);
    s->out[3] = SHAPE(batch < 0 && lengths->rank == 1 ? lengths->dims[0] : batch, 1);
    return OK;
}

static Status *decode_prepare(Prepare *p) {
    Decoder *own = p->own;
    const Shape *in = &p->in[0]->shape;
    *own = (Decoder){.time = in->dims[0], .batch = in->dims[1], .classes = in->dims[2],
                     .merges = node_bool(p->node, "merge_repeated"), .blank = node_int(p->node, "blank_index")};
    NEED(own->time > 0 && own->classes > 0, INVALID_ARGUMENT, "inputs must have moments and classes, got %s",
         shape_text(in));
    own->blank += own->blank < 0 ? own->classes : 0;
    NEED(own->blank >= 0 && own->blank < own->classes, INVALID_ARGUMENT, "blank_index must be in [-%lld, %lld)",
         (long long)own->classes, (long long)own->classes);
    p->scratch = (size_t)(own->batch * (own->time + 1)) * sizeof(int64_t);
    p->cost = shape_count(in);
    return OK;
}

const Op op_CTCGreedyDecoder = {
    .signature =
        "CTCGreedyDecoder(inputs: T, sequence_length: int32) -> decoded_indices: int64, decoded_values: int64, "
                 "decoded_shape: int64, log_probability: T; merge_repeated: bool = false; blank_index: int = -1; "
                 "T: {float, double} = float",
    .doc = "What is heard of each sequence when each moment's likeliest class is taken.", .needs = "rank(inputs) == 3",
    .shape = decode_shape, .prepare = decode_prepare, .own_size = sizeof(Decoder),
    .cpu = (const KernelRow[]){{DT_float, decode_float}, {DT_double, decode_double}, {DT_INVALID, NULL}},
    .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
#endif
