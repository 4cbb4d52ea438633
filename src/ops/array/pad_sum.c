// _PadAddN — the sum of tensors of which each lies in zeros of its own: gradients of the parts of one tensor.
//
// Written out, each part would be filled up to the size of the whole, which then is read once for every part. Here the
// whole is written once: copied from the part that lies there, added where several do, zero where none does.
#include "graph/rewrite.h"
#include "loops/elementwise.h"
#include "ops/array/moving.h"
#include "ops/array/pad.h"

enum { MOST_PARTS = 16 };

typedef struct {
    int64_t begin, end;       // along the axis
} Part;

typedef struct {
    ElementwiseLoop add;
    int axis;                 // the only one that is padded; -1: there are several
    int64_t outer, extent;    // of the whole; bytes of one step along the axis
    size_t inner;
    Part parts[MOST_PARTS];
    int64_t before[MOST_PARTS][MAX_RANK];
    int n;
    int64_t cost;             // ns
} PadSum;

// ---------------------------------------- geometry

static Status *pad_sum_shape(Shapes *s) {
    int n = s->n_in / 2;
    for (int i = 0; i < n; i++) {
        Shape out;
        TRY(padded_shape(&s->in[i], &s->in[n + i], s->value[n + i], 1, &out));
        TRY(shape_merge(&s->out[0], &out, &s->out[0]));
    }
    return OK;
}

static void find_axis(PadSum *own, const Prepare *p) {
    const Shape *out = &p->out[0]->shape;
    int padded = 0;
    own->axis = 0;
    for (int d = 0; d < out->rank; d++) {
        bool here = false;
        for (int i = 0; i < own->n; i++)
            here |= p->in[i]->shape.dims[d] != out->dims[d];
        own->axis = here ? d : own->axis;
        padded += here;
    }
    if (padded > 1 || !out->rank)
        own->axis = -1;
}

static Status *pad_sum_prepare(Prepare *p) {
    PadSum *own = p->own;
    const Shape *out = &p->out[0]->shape;
    own->n = p->n_in / 2;
    NEED(own->n <= MOST_PARTS, INTERNAL, "%d parts are too many", own->n);
    NEED(elementwise_find(&elementwise_Add, p->in[0]->dtype, &own->add), UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(p->in[0]->dtype));
    for (int i = 0; i < own->n; i++) {
        NEED_VALUE(p, own->n + i);
        for (int d = 0; d < out->rank; d++)
            own->before[i][d] = prepare_input_int(p, own->n + i, 2 * d);
    }
    find_axis(own, p);
    size_t size = dtype_size(p->out[0]->dtype);
    own->inner = size, own->outer = own->extent = 1;
    for (int d = 0; d < out->rank && own->axis >= 0; d++) {
        if (d < own->axis)
            own->outer *= out->dims[d];
        else if (d == own->axis)
            own->extent = out->dims[d];
        else
            own->inner *= (size_t)out->dims[d];
    }
    for (int i = 0; i < own->n && own->axis >= 0; i++) {
        int64_t begin = own->before[i][own->axis];
        own->parts[i] = (Part){begin, begin + p->in[i]->shape.dims[own->axis]};
    }
    p->cost = own->cost = kernel_cost(0, 0, 2 * shape_count(out) * (int64_t)size);
    return OK;
}

// ---------------------------------------- kernel

static void add_to(const PadSum *own, char *to, const char *from, size_t bytes) {
    (void)elementwise_run(&own->add, to, from, to, (int64_t)(bytes / own->add.in_size), 1, 1);
}

// The end of the stretch that begins at `at`, in which the same parts lie.
static int64_t stretch(const PadSum *own, int64_t at) {
    int64_t end = own->extent;
    for (int i = 0; i < own->n; i++) {
        if (own->parts[i].begin > at)
            end = min_i64(end, own->parts[i].begin);
        if (own->parts[i].end > at)
            end = min_i64(end, own->parts[i].end);
    }
    return end;
}

static void along_range(void *arg, int64_t first, int64_t last) {
    Kernel *k = arg;
    const PadSum *own = k->own;
    char *out = (char *)k->out[0]->data + (size_t)(first * own->extent) * own->inner;
    for (int64_t o = first; o < last; o++) {
        for (int64_t at = 0, end; at < own->extent; at = end) {
            bool any = false;
            end = stretch(own, at);
            size_t bytes = (size_t)(end - at) * own->inner;
            for (int i = 0; i < own->n; i++) {
                const Part *part = &own->parts[i];
                if (part->begin > at || part->end <= at)
                    continue;
                int64_t row = o * (part->end - part->begin) + at - part->begin;
                const char *from = (const char *)k->in[i]->data + (size_t)row * own->inner;
                if (any)
                    add_to(own, out, from, bytes);
                else
                    memcpy(out, from, bytes);
                any = true;
            }
            if (!any)
                memset(out, 0, bytes);
            out += bytes;
        }
    }
}

// Parts that are padded along several axes: added to zeros, a row of the part at a time.
static void add_part(Kernel *k, int i) {
    const PadSum *own = k->own;
    const Shape *in = &k->in[i]->shape, *out = &k->out[0]->shape;
    int inner = in->rank - 1;
    int64_t rows = inner < 0 || !in->dims[inner] ? 0 : shape_count(in) / in->dims[inner];
    size_t size = own->add.in_size, bytes = rows ? (size_t)in->dims[inner] * size : 0;
    for (int64_t row = 0; row < rows; row++) {
        int64_t rest = row, at = own->before[i][inner], step = out->dims[inner];
        for (int d = inner - 1; d >= 0; d--) {
            at += (rest % in->dims[d] + own->before[i][d]) * step;
            rest /= in->dims[d];
            step *= out->dims[d];
        }
        add_to(own, (char *)k->out[0]->data + (size_t)at * size, (const char *)k->in[i]->data + (size_t)row * bytes,
               bytes);
    }
}

static Status *pad_sum_run(Kernel *k) {
    const PadSum *own = k->own;
    if (own->axis >= 0 && tensor_count(k->out[0])) {
        kernel_share(k, own->outer, own->cost, along_range, k);
        return OK;
    }
    if (k->out[0]->shape.rank == 0) {
        memcpy(k->out[0]->data, k->in[0]->data, own->add.in_size);
        for (int i = 1; i < own->n; i++)
            add_to(own, k->out[0]->data, k->in[i]->data, own->add.in_size);
        return OK;
    }
    memset(k->out[0]->data, 0, tensor_bytes(k->out[0]));
    for (int i = 0; i < own->n; i++)
        add_part(k, i);
    return OK;
}

// ---------------------------------------- in a graph

bool is_padded(const Node *node) {
    return str_is(node->type->name, "Pad");
}

static bool takes_padded(const Match *match, const Node *before) {
    const Node *node = match->nodes[0];
    ElementwiseLoop add;
    return is_padded(before) && node->n_inputs > 1 && node->n_inputs <= MOST_PARTS &&
           output_type(before->inputs[1]) == output_type(node->inputs[0].node->inputs[1]) &&
           dtype_is_plain(node->output_types[0]) && elementwise_find(&elementwise_Add, node->output_types[0], &add);
}

static Status *write_padded(NodeBuilder *builder, const Match *match) {
    const Node *node = match->nodes[0];
    Output *inputs = ARENA_ARRAY(&builder->arena, Output, 2 * node->n_inputs);
    NEED_MEMORY(inputs);
    for (int i = 0; i < node->n_inputs; i++) {
        inputs[i] = node->inputs[i].node->inputs[0];
        inputs[node->n_inputs + i] = node->inputs[i].node->inputs[1];
    }
    builder_input_list(builder, inputs, node->n_inputs);
    builder_input_list(builder, inputs + node->n_inputs, node->n_inputs);
    return OK;
}

const Rewrite rewrite_padded_added = {
    .name = "sum-of-padded", .kind = REWRITE_FUSE_PRODUCERS, .roots = ROOTS("AddN"),
    .input = "inputs", .op = "_PadAddN", .takes = takes_padded, .write = write_padded,
};

const Op op__PadAddN = {
    .signature = "_PadAddN(inputs: N * T, paddings: N * Tpaddings) -> sum: T; N: int >= 1; T: type; "
                 "Tpaddings: {int32, int64} = int32",
    .doc = "Sum of inputs with zeros around them.", .shape = pad_sum_shape, .prepare = pad_sum_prepare,
    .own_size = sizeof(PadSum), .cpu = ANY_TYPE(pad_sum_run), .host = BIT(1), .flags = OP_NO_GRADIENT,
};
