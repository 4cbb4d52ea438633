// _MulSum — the products of two tensors, summed along the last axis: one pass instead of two. A product that is
// summed becomes one.
#include "graph/extents.h"
#include "graph/rewrite.h"
#include "loops/reduce.h"
#include "ops/op.h"

typedef struct {
    DotsFn dots;
    int64_t rows, n, cost;   // ns
    size_t size;
} MulSum;

static Status *mul_sum_shape(Shapes *s) {
    Shape shape;
    TRY(shape_merge(&s->in[0], &s->in[1], &shape));
    if (shape.rank > 0) {
        shape.dims[shape.rank - 1] = 1;
        shape.rank -= !node_bool(s->node, "keep_dims");
    }
    s->out[0] = shape;
    return OK;
}

static void rows_range(void *arg, int64_t first, int64_t last) {
    Kernel *k = arg;
    const MulSum *own = k->own;
    size_t at = (size_t)(first * own->n) * own->size;
    own->dots((const char *)k->in[0]->data + at, (const char *)k->in[1]->data + at, last - first, own->n,
              (char *)k->out[0]->data + (size_t)first * own->size);
}

static Status *mul_sum_run(Kernel *k) {
    const MulSum *own = k->own;
    kernel_share(k, own->rows, own->cost, rows_range, k);
    return OK;
}

static Status *mul_sum_prepare(Prepare *p) {
    MulSum *own = p->own;
    const Shape *in = &p->in[0]->shape;
    DType dtype = p->in[0]->dtype;
    *own = (MulSum){.dots = reduce_dots(dtype), .rows = shape_count(&p->out[0]->shape), .n = in->dims[in->rank - 1],
                    .size = dtype_size(dtype)};
    NEED(own->dots, UNIMPLEMENTED, "no kernel for type %s", dtype_name(dtype));
    int64_t count = shape_count(in);
    p->cost = own->cost = kernel_cost(count, 30, 2 * count * (int64_t)own->size);
    return OK;
}

const Op op__MulSum = {
    .signature = "_MulSum(x: T, y: T) -> sum: T; T: {float, double}; keep_dims: bool = false",
    .doc = "The products of two tensors, summed along the last axis.", .needs = "same_shape(x, y), rank(x) >= 1",
    .shape = mul_sum_shape, .prepare = mul_sum_prepare, .own_size = sizeof(MulSum), .cpu = ANY_TYPE(mul_sum_run),
    .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- what becomes one

// Whether `node` sums its input 0 along the last axis alone.
static bool sums_rows(const Node *node, const Shape *shape) {
    const Tensor *by = str_is(node->type->name, "Sum") ? output_constant(node->inputs[1]) : NULL;
    if (!by || tensor_count(by) != 1)
        return false;
    int64_t axis = tensor_int(by, 0);
    return axis == -1 || axis == shape->rank - 1;
}

// Short rows gain nothing, long ones are summed with more care.
static bool takes_sum(const Match *match, const Node *next) {
    enum { SHORTEST = 32, LONGEST = 1024 };
    const Node *product = match->nodes[0];
    const Shape *shape = &product->output_shapes[0];
    if (match->n != 1 || shape->rank < 1)
        return false;
    int64_t width = shape->dims[shape->rank - 1];
    return width >= SHORTEST && width <= LONGEST && next->inputs[0].node == product && sums_rows(next, shape) &&
           outputs_have_one_shape(product->inputs[0], product->inputs[1]);
}

static Status *write_sum(NodeBuilder *builder, const Match *match) {
    const Node *product = match->nodes[0], *sum = match->nodes[1];
    builder_input(builder, product->inputs[0]);
    builder_input(builder, product->inputs[1]);
    builder_attr(builder, STR("keep_dims"), node_attr_find(sum, "keep_dims"));
    return OK;
}

const Rewrite rewrite_product_summed = {
    .name = "sum-of-products", .kind = REWRITE_FUSE_READERS, .roots = ROOTS("Mul"), .op = "_MulSum", .takes = takes_sum,
    .write = write_sum,
};
