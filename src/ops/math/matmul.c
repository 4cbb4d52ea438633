// MatMul, BatchMatMul — matrix products, alone or in batches that broadcast.
//
// What the loops don't take is prepared for them in scratch: 8- and 16-bit integers are widened to int32, complex
// adjoints are conjugated. Integers wrap, so the low bits are right. Float products go to oneDNN where it is
// (matmul_library.c). _FusedMatMul is MatMul with what follows it.
#include "ops/math/matmul.h"
#include "loops/tuning.h"

// ---------------------------------------- shapes

typedef struct {
    const char *ta, *tb;   // the attributes that transpose
    bool conjugate;        // they also conjugate
    bool batched, broadcasts;
} ProductRow;

static const ProductRow matmul_row = {"transpose_a", "transpose_b", false, false, false};
static const ProductRow batch_row = {"adj_x", "adj_y", true, true, false};
static const ProductRow batch_v2_row = {"adj_x", "adj_y", true, true, true};

static int64_t dim_of(const Shape *shape, int from_end) {
    return shape->dims[shape->rank - from_end];
}

static Status *product_shape(Shapes *s) {
    const ProductRow *row = node_op(s->node)->row;
    const Shape *a = &s->in[0], *b = &s->in[1];
    bool ta = node_bool(s->node, row->ta), tb = node_bool(s->node, row->tb);
    Shape out = UNKNOWN_SHAPE;
    if (a->rank >= 0 && b->rank >= 0) {
        Shape front_a = *a, front_b = *b;
        front_a.rank -= 2, front_b.rank -= 2;
        front_a.dims[front_a.rank] = front_a.dims[front_a.rank + 1] = 0;
        front_b.dims[front_b.rank] = front_b.dims[front_b.rank + 1] = 0;
        TRY(row->broadcasts ? shape_broadcast(&front_a, &front_b, &out) : shape_merge(&front_a, &front_b, &out));
    } else if (!row->batched) {
        out = SCALAR_SHAPE;
    }
    int64_t k1 = a->rank < 0 ? -1 : dim_of(a, ta ? 2 : 1), k2 = b->rank < 0 ? -1 : dim_of(b, tb ? 1 : 2);
    NEED(k1 < 0 || k2 < 0 || k1 == k2, INVALID_ARGUMENT,
         "Matrix size-incompatible: In[0]: %s, In[1]: %s%s%s", shape_text(a), shape_text(b),
         ta ? ", the first transposed" : "", tb ? ", the second transposed" : "");
    if (out.rank >= 0) {
        out.dims[out.rank++] = a->rank < 0 ? -1 : dim_of(a, ta ? 1 : 2);
        out.dims[out.rank++] = b->rank < 0 ? -1 : dim_of(b, tb ? 2 : 1);
    }
    s->out[0] = out;
    return OK;
}

// ---------------------------------------- kernel

typedef struct {
    Kernel *k;
    GemmPlan plan;                        // with this call's bias
    const char *a, *b;
    char *c;
    Lanes lanes;
} Work;

// Units of all products in one row, so that threads share products and parts of products alike. Which product a unit
// belongs to gives the places of its factors, by the strides of the batch (0 where a factor is broadcast).
static void product_range(void *arg, int64_t first, int64_t last) {
    Work *w = arg;
    const Product *p = w->k->own;
    int lane = lanes_take(&w->lanes);
    void *scratch = lanes_memory(&w->lanes, lane);
    for (int64_t unit = first; unit < last;) {
        int64_t product = unit / p->plan.units, begin = unit % p->plan.units;
        int64_t end = min_i64(p->plan.units, begin + last - unit);
        int64_t a = 0, b = 0, rest = product;
        for (int i = p->rank - 1; i >= 0; i--) {
            int64_t at = rest % p->dims[i];
            rest /= p->dims[i];
            a += at * p->step_a[i];
            b += at * p->step_b[i];
        }
        gemm_run(&w->plan, w->a + a * p->size, w->b + b * p->size, w->c + product * p->step_c * p->size, scratch,
                 begin, end);
        unit += end - begin;
    }
    lanes_give(&w->lanes, lane);
}

// One input as the loops take it: where it lies, or a copy in scratch.
static const char *prepared_input(Kernel *k, const Product *p, int i, bool conjugate, size_t at) {
    char *copy = (char *)k->scratch + at;
    int64_t n = tensor_count(k->in[i]);
    if (p->widen)
        cast_run(&p->widening, k->in[i]->data, copy, n);
    else if (conjugate)
        elementwise_run(&p->conjugate, k->in[i]->data, NULL, copy, n, 1, 0);
    else
        return k->in[i]->data;
    return copy;
}

static GemmPlan plan_with_bias(const Kernel *k, const Product *p) {
    GemmPlan plan = p->plan;
    plan.shape.bias = p->epilogue.bias ? k->in[2]->data : NULL;
    return plan;
}

static void activation_range(void *arg, int64_t first, int64_t last) {
    Kernel *k = arg;
    const Product *p = k->own;
    char *out = (char *)k->out[0]->data + first * p->activation.out_size;
    (void)elementwise_run(&p->activation, out, NULL, out, last - first, 1, 1);
}

// What the product itself can't do while it writes: a second pass over the output, which is in the cache mostly.
static void activate(Kernel *k) {
    kernel_parallel(k, tensor_count(k->out[0]), 1, activation_range, k);
}

void matmul_finish(Kernel *k) {
    const Product *p = k->own;
    if (p->activates)
        activate(k);
}

Status *matmul_run(Kernel *k) {
    const Product *p = k->own;
    Work w = {.k = k, .plan = plan_with_bias(k, p), .a = prepared_input(k, p, 0, p->conjugate_a, p->at_a),
              .b = prepared_input(k, p, 1, p->conjugate_b, p->at_b), .c = k->out[0]->data};
    if (p->widen)
        w.c = (char *)k->scratch + p->at_c;
    lanes_open(k, &p->lanes, &w.lanes);
    int64_t units = p->products * p->plan.units;
    if (units)
        kernel_parallel(k, units, p->cost, product_range, &w);
    if (p->widen)
        cast_run(&p->narrowing, w.c, k->out[0]->data, tensor_count(k->out[0]));
    matmul_finish(k);
    return OK;
}

typedef struct {
    GemmPlan plan;
    const void *a, *packed;
    void *c, *scratch;
} PackedWork;

static void packed_range(void *arg, int64_t first, int64_t last) {
    const PackedWork *w = arg;
    gemm_run_packed(&w->plan, w->a, w->packed, w->c, w->scratch, first, last);
}

// Nothing is laid out in scratch.
void matmul_run_packed(Kernel *k, const void *packed) {
    const Product *p = k->own;
    PackedWork w = {p->packed_plan, k->in[0]->data, packed, k->out[0]->data, k->scratch};
    w.plan.shape.bias = p->epilogue.bias ? k->in[2]->data : NULL;
    if (w.plan.units == 1)
        packed_range(&w, 0, 1);
    else
        kernel_parallel(k, w.plan.units, p->cost, packed_range, &w);
    if (p->epilogue.activation && p->epilogue.activation != ACTIVATION_RELU)  // whatever the library does by itself
        activate(k);
}

// One product that isn't worth sharing out.
static Status *small_run(Kernel *k) {
    const Product *p = k->own;
    gemm_run(&p->plan, k->in[0]->data, k->in[1]->data, k->out[0]->data, k->scratch, 0, p->plan.units);
    return OK;
}

static Status *small_fused_run(Kernel *k) {
    GemmPlan plan = plan_with_bias(k, k->own);
    gemm_run(&plan, k->in[0]->data, k->in[1]->data, k->out[0]->data, k->scratch, 0, plan.units);
    matmul_finish(k);
    return OK;
}

// ---------------------------------------- geometry

// The batch dimensions: one plan for all products where each input steps evenly, else one call for each product. A
// batch against one matrix, which a dense layer over sequences is, is one long product.
static Status *plan_batches(Prepare *p, GemmShape *shape, DType dtype, int threads) {
    Product *own = p->own;
    const Shape *a = &p->in[0]->shape, *b = &p->in[1]->shape, *c = &p->out[0]->shape;
    int rank = c->rank - 2;
    int64_t count_a = shape_span(a, 0, a->rank - 2), count_b = shape_span(b, 0, b->rank - 2);
    int64_t count = shape_span(c, 0, rank), of_a = dim_of(a, 1) * dim_of(a, 2), of_b = dim_of(b, 1) * dim_of(b, 2);
    int64_t of_c = shape->m * shape->n;
    bool even = (count_a == 1 || count_a == count) && (count_b == 1 || count_b == count);
    if (even && count_b == 1 && !shape->ta && count > 0) {  // the rows of all products are one matrix
        shape->m *= count;
        count = 1;
    }
    if (even) {
        own->products = count > 0;
        NEED(gemm_prepare(dtype, shape, count, count_a == 1 ? 0 : of_a, count_b == 1 ? 0 : of_b, of_c, threads,
                          &own->plan),
             UNIMPLEMENTED, "no kernel for type %s", dtype_name(dtype));
        return OK;
    }
    own->products = count;
    own->step_c = of_c;
    own->rank = rank;
    int64_t step_a = of_a, step_b = of_b;
    for (int i = rank - 1; i >= 0; i--) {
        int ia = i - (rank - (a->rank - 2)), ib = i - (rank - (b->rank - 2));
        int64_t da = ia < 0 ? 1 : a->dims[ia], db = ib < 0 ? 1 : b->dims[ib];
        own->dims[i] = c->dims[i];
        own->step_a[i] = da == 1 ? 0 : step_a;
        own->step_b[i] = db == 1 ? 0 : step_b;
        step_a *= da;
        step_b *= db;
    }
    NEED(gemm_prepare(dtype, shape, 1, 0, 0, 0, count >= threads ? 1 : threads, &own->plan), UNIMPLEMENTED,
         "no kernel for type %s", dtype_name(dtype));
    return OK;
}

static size_t reserve(Prepare *p, int64_t elements, int64_t size) {
    size_t at = p->scratch;
    p->scratch += round_up((size_t)(elements * size), 64);
    return at;
}

// Multiplications in a nanosecond, roughly: floats by vectors of 256 bits; integers and complex numbers take plain
// loops.
static double products_per_ns(DType compute) {
    return compute == DT_float ? 50 : compute == DT_double ? 25 : dtype_size(compute) == 2 ? 25 : 4;
}

static Status *product_prepare(Prepare *p) {
    const ProductRow *row = node_op(p->node)->row;
    Product *own = p->own;
    const Shape *a = &p->in[0]->shape, *b = &p->in[1]->shape, *c = &p->out[0]->shape;
    bool ta = node_bool(p->node, row->ta), tb = node_bool(p->node, row->tb);
    // 8- and 16-bit integers are summed in 32 bits and cut: the low bits are the same.
    DType dtype = p->in[0]->dtype, out = p->out[0]->dtype, compute = out;
    NEED(p->in[1]->dtype == dtype, UNIMPLEMENTED, "products of %s and %s", dtype_name(dtype),
         dtype_name(p->in[1]->dtype));
    if (out == DT_uint8 || out == DT_int8 || out == DT_uint16 || out == DT_int16)
        compute = DT_int32;
    own->widen = compute != dtype || compute != out;
    GemmShape shape = {.m = dim_of(c, 2), .n = dim_of(c, 1), .k = dim_of(a, ta ? 2 : 1), .lda = dim_of(a, 1),
                       .ldb = dim_of(b, 1), .ldc = dim_of(c, 1), .ta = ta, .tb = tb,
                       .relu = own->epilogue.activation == ACTIVATION_RELU};
    int threads = p->threads < 1 ? 1 : p->threads;
    TRY(plan_batches(p, &shape, compute, threads));
    own->size = (int64_t)dtype_size(compute);
    lanes_prepare(p, own->plan.scratch, own->products * own->plan.units, &own->lanes);
    bool conjugates = row->conjugate && dtype_is_complex(dtype);
    NEED(!conjugates || !own->widen, UNIMPLEMENTED, "products of %s as %s", dtype_name(dtype), dtype_name(out));
    own->conjugate_a = conjugates && ta;
    own->conjugate_b = conjugates && tb;
    if (own->widen || own->conjugate_a)
        own->at_a = reserve(p, shape_count(a), own->size);
    if (own->widen || own->conjugate_b)
        own->at_b = reserve(p, shape_count(b), own->size);
    if (own->widen) {
        own->at_c = reserve(p, shape_count(c), own->size);
        NEED(cast_find(dtype, compute, &own->widening) && cast_find(compute, out, &own->narrowing), INTERNAL,
             "no cast");
    }
    if (conjugates)
        NEED(elementwise_find(&elementwise_Conj, dtype, &own->conjugate), INTERNAL, "no conjugate");
    double ns = (double)shape_count(c) * (double)shape.k / products_per_ns(compute);
    p->cost = ns > 1e15 ? (int64_t)1e15 : (int64_t)ns;
    int64_t units = own->products * own->plan.units;
    own->cost = units > 0 ? p->cost / units + 1 : 1;
    p->implementation = "loops";
    bool fused = own->epilogue.bias || own->epilogue.activation;
    if (own->products == 1 && !own->widen && !conjugates && (p->cost < TUNED_SHARE_AWAKE || threads == 1))
        p->run = fused ? small_fused_run : small_run;
    return matmul_choose_library(p, &shape, p->cost < TUNED_SHARE_AWAKE ? 1 : threads);
}

// ---------------------------------------- a product and what follows it

static Status *fused_shape(Shapes *s) {
    TRY(product_shape(s));
    Epilogue e;
    TRY(epilogue_of_node(s->node, &e));
    if (!e.bias || s->n_in < 3)
        return OK;
    const Shape *bias = &s->in[2], *out = &s->out[0];
    NEED(bias->rank < 0 || bias->rank == 1, INVALID_ARGUMENT, "the bias must be a vector, got %s", shape_text(bias));
    NEED(bias->rank < 0 || bias->dims[0] < 0 || out->dims[1] < 0 || bias->dims[0] == out->dims[1], INVALID_ARGUMENT,
         "Must provide as many biases as the product has columns: %s vs. %s", shape_text(bias), shape_text(out));
    return OK;
}

static Status *fused_prepare(Prepare *p) {
    Product *own = p->own;
    TRY(epilogue_of_node(p->node, &own->epilogue));
    NEED(!own->epilogue.sum && !own->epilogue.apart, UNIMPLEMENTED, "fused_ops that were not written out as nodes");
    own->activates = own->epilogue.activation && own->epilogue.activation != ACTIVATION_RELU;
    if (own->epilogue.activation)
        TRY(epilogue_activation(&own->epilogue, p->out[0]->dtype, &own->activation));
    return product_prepare(p);
}

// ---------------------------------------- gradients

// Conj: of real numbers it is the number itself and folds away.
static void matmul_grad(Formula *f) {  // of c = a b: da = dc b', db = a' dc
    bool ta = node_bool(f->node, "transpose_a"), tb = node_bool(f->node, "transpose_b");
    Output a = Conj(f->x[0]), b = Conj(f->x[1]), dc = f->dy[0];
    f->dx[0] = !ta ? MatMul(dc, b, false, !tb) : MatMul(b, dc, tb, true);
    f->dx[1] = !tb ? MatMul(a, dc, !ta, false) : MatMul(dc, a, true, ta);
}

static void batch_grad(Formula *f) {
    if (output_type(f->x[0]) != output_type(f->y[0]) || output_type(f->x[1]) != output_type(f->y[0])) {
        formula_fail(f, status_new(UNIMPLEMENTED, __FILE__, __LINE__, "the gradient of a product of other types"));
        return;
    }
    bool ta = node_bool(f->node, "adj_x"), tb = node_bool(f->node, "adj_y");
    Output a = f->x[0], b = f->x[1], dc = f->dy[0];
    f->dx[0] = SumTo(!ta ? BatchMatMul(dc, b, false, !tb) : BatchMatMul(b, dc, tb, true), a);
    f->dx[1] = SumTo(!tb ? BatchMatMul(a, dc, !ta, false) : BatchMatMul(dc, a, true, ta), b);
}

// Leading dimensions go hand in hand, of which those of 1 are repeated.
static COLD HloValue with_batch(Hlo *h, HloValue x, Shape batch) {
    for (int i = 2; i > 0; i--)
        hlo_list_add(h, &batch, x->shape.dims[x->shape.rank - i]);
    return hlo_broadcast(h, x, batch);
}

static COLD Status *product_hlo(Hlo *h) {
    const ProductRow *row = node_op(h->node)->row;
    bool ta = node_bool(h->node, row->ta), tb = node_bool(h->node, row->tb);
    DType out = hlo_out_type(h, 0);
    HloValue a = hlo_cast(h, hlo_in(h, 0), out), b = hlo_cast(h, hlo_in(h, 1), out);
    a = ta && row->conjugate ? hlo_conj(h, a) : a;
    b = tb && row->conjugate ? hlo_conj(h, b) : b;
    Shape batch, batch_a = a->shape, batch_b = b->shape, axes = {0};
    batch_a.rank -= 2;
    batch_b.rank -= 2;
    TRY(shape_broadcast(&batch_a, &batch_b, &batch));
    a = with_batch(h, a, batch);
    b = with_batch(h, b, batch);
    for (int i = 0; i < batch.rank; i++)
        hlo_list_add(h, &axes, i);
    Shape last_a = SHAPE(batch.rank + (ta ? 0 : 1)), last_b = SHAPE(batch.rank + (tb ? 1 : 0));
    return hlo_out(h, 0, hlo_dot(h, a, b, axes, axes, last_a, last_b));
}

#define PRODUCT_KERNEL                                                                                           \
    .own_size = sizeof(Product), .cpu = ANY_TYPE(matmul_run), .open = packed_open, .close = packed_close,      \
    .state_size = sizeof(PackedState), .flags = OP_CACHES
#define PRODUCT .shape = product_shape, .prepare = product_prepare, .hlo = product_hlo, PRODUCT_KERNEL

const Op op_MatMul = {
    .signature =
        "MatMul(a: T, b: T) -> product: T; transpose_a: bool = false; transpose_b: bool = false; "
        "T: {floats, int32, int64, unsigned_integers, complexes}; "
                 "grad_a: bool = false; grad_b: bool = false",
    .doc = "Product of two matrices.", .needs = "matrix(a), matrix(b)", .grad = matmul_grad, PRODUCT,
    .row = &matmul_row,
};
const Op op__FusedMatMul = {
    .signature = "_FusedMatMul(a: T, b: T, args: num_args * T) -> product: T; transpose_a: bool = false; "
                 "transpose_b: bool = false; T: floats; num_args: int >= 0; "
                 "fused_ops: list(string) = []; epsilon: float = 0.0001; leakyrelu_alpha: float = 0.2",
    .doc = "A product of two matrices, then what fused_ops says: BiasAdd and an activation.",
    .needs = "matrix(a), matrix(b)", .shape = fused_shape, .prepare = fused_prepare, PRODUCT_KERNEL, .row = &matmul_row,
};
const Op op_BatchMatMul = {
    .signature = "BatchMatMul(x: T, y: T) -> output: T; T: {floats, int32, int64, complexes}; adj_x: bool = false; "
                 "adj_y: bool = false; grad_x: bool = false; grad_y: bool = false",
    .doc = "Products of the matrices in two tensors of equal leading dimensions.",
    .needs = "rank(x) >= 2, rank(y) >= 2, same_rank(x, y)", .grad = batch_grad, PRODUCT, .row = &batch_row,
};
const Op op_BatchMatMulV2 = {
    .signature =
        "BatchMatMulV2(x: T, y: T) -> output: T; T: {floats, int16, int32, int64, unsigned_integers, complexes}; "
        "adj_x: bool = false; adj_y: bool = false; "
                 "grad_x: bool = false; grad_y: bool = false",
    .doc = "Products of the matrices in two tensors, whose leading dimensions broadcast.",
    .needs = "rank(x) >= 2, rank(y) >= 2", .grad = batch_grad, PRODUCT, .row = &batch_v2_row,
};
const Op op_BatchMatMulV3 = {
    .signature = "BatchMatMulV3(x: Ta, y: Tb) -> output: Tout; Ta: {floats, uint8, signed_integers, complexes}; "
                 "Tb: {floats, uint8, signed_integers, complexes}; Tout: {floats, int16, int32, int64, complexes}; "
                 "adj_x: bool = false; adj_y: bool = false; grad_x: bool = false; grad_y: bool = false",
    .doc = "Products of the matrices in two tensors of one type, given as another.",
    .needs = "rank(x) >= 2, rank(y) >= 2", .grad = batch_grad, PRODUCT, .row = &batch_v2_row,
};
