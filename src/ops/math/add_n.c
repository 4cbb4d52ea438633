// AddN, AccumulateNV2 — the sum of several tensors of one shape.
#include "graph/extents.h"
#include "loops/elementwise.h"
#include "ops/array/pad.h"
#include "ops/math/product_sum.h"

typedef struct {
    ElementwiseLoop add;
    int64_t cost;    // ns
} Adding;

enum { PIECE = 4096 };  // elements that stay in the cache while all inputs are added

static void add_range(void *arg, int64_t first, int64_t last) {
    Kernel *k = arg;
    const ElementwiseLoop *add = &((const Adding *)k->own)->add;
    // The output may be one of the inputs: that one is read first.
    int base = 0;
    for (int i = 1; i < k->n_in; i++)
        base = k->in[i]->data == k->out[0]->data ? i : base;
    for (int64_t at = first; at < last; at += PIECE) {
        int64_t n = min_i64(PIECE, last - at), offset = at * add->in_size;
        char *out = (char *)k->out[0]->data + offset;
        const char *sum = (const char *)k->in[base]->data + offset;
        for (int i = 0; i < k->n_in; i++) {
            if (i == base)
                continue;
            elementwise_run(add, sum, (const char *)k->in[i]->data + offset, out, n, 1, 1);
            sum = out;
        }
        if (k->n_in == 1 && out != sum)
            memcpy(out, sum, (size_t)n * add->in_size);
    }
}

// The output may be one of the inputs, of which each element is replaced once it was added.
static Status *add_objects(Kernel *k) {
    for (int64_t at = 0; at < tensor_count(k->out[0]); at++) {
        AUTO(object) Object *sum = object_retain(((Object **)k->in[0]->data)[at]);
        for (int i = 1; i < k->n_in; i++) {
            Object *more;
            TRY(object_add(sum, ((Object **)k->in[i]->data)[at], 0, &more));
            object_release(sum);
            sum = more;
        }
        Object **slot = (Object **)k->out[0]->data + at, *before = *slot;
        *slot = sum;
        sum = before;
    }
    return OK;
}

static Status *add_n_run(Kernel *k) {
    kernel_share(k, tensor_count(k->out[0]), ((const Adding *)k->own)->cost, add_range, k);
    return OK;
}

static Status *add_n_prepare(Prepare *p) {
    Adding *own = p->own;
    if (p->in[0]->dtype == DT_variant) {
        p->run = add_objects;
        return OK;
    }
    NEED(elementwise_find(ELEMENTWISE_Add, p->in[0]->dtype, &own->add), UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(p->in[0]->dtype));
    int64_t count = shape_count(&p->out[0]->shape) * p->n_in;
    int64_t each = elementwise_picoseconds(ELEMENTWISE_Add, &own->add);
    p->cost = own->cost = kernel_cost(count, each, count * own->add.in_size);
    return OK;
}

static void add_n_grad(Formula *f) {
    for (int i = 0; i < f->n_x; i++)
        f->dx[i] = f->dy[0];
}

// ---------------------------------------- sums of products

static bool add_n_takes(const Node *node, const Node *before) {
    return is_product_sum(before) && node_bool(before, "transpose_a") && !node_bool(before, "transpose_b") &&
           before->n_inputs == 2 && node->n_inputs > 1;
}

static Status *add_n_write(NodeBuilder *builder, const Node *node) {
    const Node **products = ARENA_ARRAY(&builder->arena, const Node *, node->n_inputs);
    NEED_MEMORY(products);
    for (int i = 0; i < node->n_inputs; i++)
        products[i] = node->inputs[i].node;
    return product_sum_inputs(builder, products, node->n_inputs);
}

static const Intake of_padded = {"_PadAddN", "inputs", pad_sum_takes, pad_sum_write, NULL};
static const Intake intake = {"_MatMulAddN", "inputs", add_n_takes, add_n_write, &of_padded};

// Two of one shape: a sum that may be fused. Products stay, and what is padded: they become one.
static void add_n_simplify(Formula *f) {
    DType type = output_type(f->x[0]);
    if (f->n_x != 2 || (is_padded(f->x[0].node) && is_padded(f->x[1].node)) || is_product_sum(f->x[0].node) ||
        is_product_sum(f->x[1].node))
        return;
    if ((type == DT_float || type == DT_double) && outputs_have_one_shape(f->x[0], f->x[1]))
        f->results[0] = Add(f->x[0], f->x[1]);
}

#define ADD_N .needs = "same_shape(inputs, inputs)", .shape = shape_same_all, .grad = add_n_grad, \
    .prepare = add_n_prepare, .own_size = sizeof(Adding), .cpu = ANY_TYPE(add_n_run), .inplace = BIT(0), .intake = &intake

const Op op_AddN = {
    .signature = "AddN(inputs: N * T) -> sum: T; N: int >= 1; T: {float, double, int32, uint8, int16, int8, complex64, "
                 "int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, "
                 "variant}; commutative; aggregate",
    .doc = "Sum of all inputs, which have one shape.", ADD_N, .simplify = add_n_simplify, .flags = OP_ELEMENTWISE,
};
const Op op_AccumulateNV2 = {
    .signature = "AccumulateNV2(inputs: N * T) -> sum: T; N: int >= 1; T: {float, double, int32, uint8, int16, int8, "
                 "complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, "
                 "uint64}; shape: shape; commutative; aggregate",
    .doc = "Sum of all inputs, which have one shape.", ADD_N,
};
