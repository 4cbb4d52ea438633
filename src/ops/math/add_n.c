// AddN, AccumulateNV2 — the sum of several tensors of one shape.
//
// Piece by piece, so that the piece of the result stays in the cache while all inputs are added to it: n + 1 passes
// over memory, where additions two by two take 3 (n - 1). From left to right, as TensorFlow adds.
#include "graph/rewrite.h"
#include "loops/elementwise.h"
#include "loops/tuning.h"
#include "ops/math/product_sum.h"

typedef struct {
    ElementwiseLoop add;
    int64_t cost;    // ns
} Adding;

static void add_range(void *arg, int64_t first, int64_t last) {
    Kernel *k = arg;
    const ElementwiseLoop *add = &((const Adding *)k->own)->add;
    // The output may be one of the inputs: that one is read first.
    int base = 0;
    for (int i = 1; i < k->n_in; i++)
        base = k->in[i]->data == k->out[0]->data ? i : base;
    for (int64_t at = first; at < last; at += TUNED_ADD_N_PIECE) {
        int64_t n = min_i64(TUNED_ADD_N_PIECE, last - at), offset = at * add->in_size;
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
    NEED(elementwise_find(&elementwise_Add, p->in[0]->dtype, &own->add), UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(p->in[0]->dtype));
    int64_t count = shape_count(&p->out[0]->shape) * p->n_in;
    int64_t each = elementwise_picoseconds(&elementwise_Add, &own->add);
    p->cost = own->cost = kernel_cost(count, each, count * own->add.in_size);
    return OK;
}

static void add_n_grad(Formula *f) {
    for (int i = 0; i < f->n_x; i++)
        f->dx[i] = f->dy[0];
}

// ---------------------------------------- sums of products

static bool takes_product(const Match *match, const Node *before) {
    return is_product_sum(before) && node_bool(before, "transpose_a") && !node_bool(before, "transpose_b") &&
           before->n_inputs == 2 && match->nodes[0]->n_inputs > 1;
}

static Status *write_products(NodeBuilder *builder, const Match *match) {
    return product_sum_inputs(builder, match->nodes + 1, match->n - 1);
}

const Rewrite rewrite_products_added = {
    .name = "sum-of-products", .kind = REWRITE_FUSE_PRODUCERS, .roots = ROOTS("AddN"),
    .input = "inputs", .op = "_MatMulAddN", .takes = takes_product, .write = write_products,
};

static COLD Status *add_n_hlo(Hlo *h) {
    HloValue sum = hlo_in(h, 0);
    for (int i = 1; i < h->n_in; i++)
        sum = hlo_add(h, sum, hlo_in(h, i));
    return hlo_out(h, 0, sum);
}

const Op op_AddN = {
    .signature = "AddN(inputs: N * T) -> sum: T; N: int >= 1; T: {numbers, variant}; commutative; aggregate",
    .doc = "Sum of all inputs, which have one shape.", .needs = "same_shape(inputs, inputs)", .shape = shape_same_all,
    .grad = add_n_grad, .prepare = add_n_prepare, .own_size = sizeof(Adding), .cpu = ANY_TYPE(add_n_run),
    .inplace = BIT(0), .flags = OP_ELEMENTWISE, .hlo = add_n_hlo,
};

// TensorFlow's AccumulateNV2 differs only in when inputs may come.
static void accumulate_expand(Formula *f) {
    f->results[0] = AddN(f->x, f->n_x);
}

const Op op_AccumulateNV2 = {
    .signature = "AccumulateNV2(inputs: N * T) -> sum: T; N: int >= 1; T: numbers; shape: shape; commutative; "
                 "aggregate",
    .doc = "Sum of all inputs, which have one shape.", .needs = "same_shape(inputs, inputs)", .shape = shape_same_all,
    .expand = accumulate_expand,
};
