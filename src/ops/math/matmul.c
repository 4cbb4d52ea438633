// MatMul, BatchMatMul — matrix products, alone or in batches that broadcast.
//
// What the loops don't take is prepared for them in scratch: 8- and 16-bit integers are widened to int32, complex
// adjoints are conjugated. Integers wrap, so the low bits are right. Large float products go to oneDNN where it is.
#include "loops/cast.h"
#include "loops/gemm.h"
#include "loops/onednn.h"
#include "ops/op.h"

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

enum { MOST_SLOTS = 64 };  // threads that work on one product

typedef struct {
    GemmPlan plan;
    int64_t products;                     // calls of the plan; each has plan.units units
    int rank;                             // of the dimensions that are walked from call to call
    int64_t dims[MAX_RANK], step_a[MAX_RANK], step_b[MAX_RANK];  // elements
    int64_t step_c;
    int64_t size;                         // bytes of an element as computed
    int64_t cost;                         // ns per unit
    int slots;
    bool widen, conjugate_a, conjugate_b;
    size_t at_a, at_b, at_c;              // of prepared copies in scratch, where there are any
    CastLoop widening, narrowing;
    ElementwiseLoop conjugate;
    OnednnOp *library;                    // NULL: the loops
} Product;

typedef struct {
    Kernel *k;
    const char *a, *b;
    char *c;
    _Atomic uint64_t busy;                // slots of scratch in use
} Work;

static int take_slot(Work *w, int slots) {
    uint64_t busy = atomic_load(&w->busy);
    for (;;) {
        int slot = 0;
        while (slot < slots - 1 && (busy & ((uint64_t)1 << slot)))
            slot++;
        if (atomic_compare_exchange_weak(&w->busy, &busy, busy | ((uint64_t)1 << slot)))
            return slot;
    }
}

static void product_range(void *arg, int64_t first, int64_t last) {
    Work *w = arg;
    const Product *p = w->k->own;
    int slot = take_slot(w, p->slots);
    char *scratch = (char *)w->k->scratch + (size_t)slot * p->plan.scratch;
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
        gemm_run(&p->plan, w->a + a * p->size, w->b + b * p->size, w->c + product * p->step_c * p->size, scratch,
                 begin, end);
        unit += end - begin;
    }
    atomic_fetch_and(&w->busy, ~((uint64_t)1 << slot));
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

static Status *product_run(Kernel *k) {
    const Product *p = k->own;
    Work w = {.k = k, .a = prepared_input(k, p, 0, p->conjugate_a, p->at_a),
              .b = prepared_input(k, p, 1, p->conjugate_b, p->at_b), .c = k->out[0]->data};
    if (p->widen)
        w.c = (char *)k->scratch + p->at_c;
    int64_t units = p->products * p->plan.units;
    if (units)
        kernel_parallel(k, units, p->cost, product_range, &w);
    if (p->widen)
        cast_run(&p->narrowing, w.c, k->out[0]->data, tensor_count(k->out[0]));
    return OK;
}

// One product that isn't worth sharing out.
static Status *small_run(Kernel *k) {
    const Product *p = k->own;
    gemm_run(&p->plan, k->in[0]->data, k->in[1]->data, k->out[0]->data, k->scratch, 0, p->plan.units);
    return OK;
}

// The library's product; should it fail, the loops' beside it.
static Status *library_run(Kernel *k) {
    const Product *p = k->own;
    if (onednn_run(p->library, k->in[0]->data, k->in[1]->data, NULL, k->out[0]->data, k->scratch))
        return OK;
    return product_run(k);
}

// ---------------------------------------- geometry

// The batch dimensions: one plan for all products where each input steps evenly, else one call for each product.
static Status *plan_batches(Prepare *p, const GemmShape *shape, DType dtype, int threads) {
    Product *own = p->own;
    const Shape *a = &p->in[0]->shape, *b = &p->in[1]->shape, *c = &p->out[0]->shape;
    int rank = c->rank - 2;
    int64_t count_a = shape_span(a, 0, a->rank - 2), count_b = shape_span(b, 0, b->rank - 2);
    int64_t count = shape_span(c, 0, rank), of_a = dim_of(a, 1) * dim_of(a, 2), of_b = dim_of(b, 1) * dim_of(b, 2);
    int64_t of_c = shape->m * shape->n;
    bool even = (count_a == 1 || count_a == count) && (count_b == 1 || count_b == count);
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

static void free_library(void *op) {
    onednn_free(op);
}

// Below so many multiplications the loops are as fast as the library, or faster.
enum { WORTH_THE_LIBRARY = 1 << 24 };

static Status *choose_library(Prepare *p, const GemmShape *shape, int threads) {
    Product *own = p->own;
    const GemmPlan *plan = &own->plan;
    bool even = plan->batch == 1 || (plan->step_a && plan->step_b);
    double work = (double)plan->batch * (double)shape->m * (double)shape->n * (double)shape->k;
    if (p->in[0]->dtype != DT_float || own->widen || own->products != 1 || !even || work < WORTH_THE_LIBRARY)
        return OK;
    own->library = onednn_matmul(plan->batch, shape->m, shape->n, shape->k, shape->ta, shape->tb, NULL, false, threads);
    if (!own->library)
        return OK;
    size_t scratch = onednn_scratch(own->library);
    p->scratch = scratch > p->scratch ? scratch : p->scratch;
    p->run = library_run;
    return prepare_cleanup(p, free_library, own->library);
}

static Status *product_prepare(Prepare *p) {
    const ProductRow *row = node_op(p->node)->row;
    Product *own = p->own;
    const Shape *a = &p->in[0]->shape, *b = &p->in[1]->shape, *c = &p->out[0]->shape;
    bool ta = node_bool(p->node, row->ta), tb = node_bool(p->node, row->tb);
    DType dtype = p->in[0]->dtype, out = p->out[0]->dtype, compute = out;
    NEED(p->in[1]->dtype == dtype, UNIMPLEMENTED, "products of %s and %s", dtype_name(dtype),
         dtype_name(p->in[1]->dtype));
    if (out == DT_uint8 || out == DT_int8 || out == DT_uint16 || out == DT_int16)
        compute = DT_int32;
    own->widen = compute != dtype || compute != out;
    GemmShape shape = {.m = dim_of(c, 2), .n = dim_of(c, 1), .k = dim_of(a, ta ? 2 : 1), .lda = dim_of(a, 1),
                       .ldb = dim_of(b, 1), .ldc = dim_of(c, 1), .ta = ta, .tb = tb};
    int threads = p->threads < 1 ? 1 : p->threads > MOST_SLOTS ? MOST_SLOTS : p->threads;
    TRY(plan_batches(p, &shape, compute, threads));
    own->size = (int64_t)dtype_size(compute);
    own->slots = threads;
    p->scratch = own->plan.scratch * (size_t)threads;
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
        NEED(elementwise_find(ELEMENTWISE_Conj, dtype, &own->conjugate), INTERNAL, "no conjugate");
    double ns = (double)shape_count(c) * (double)shape.k / 8;
    p->cost = ns > 1e15 ? (int64_t)1e15 : (int64_t)ns;
    int64_t units = own->products * own->plan.units;
    own->cost = units > 0 ? p->cost / units + 1 : 1;
    if (own->products == 1 && !own->widen && !conjugates && (p->cost < 20000 || threads == 1))
        p->run = small_run;
    return choose_library(p, &shape, threads);
}

// ---------------------------------------- gradients

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

#define PRODUCT .shape = product_shape, .prepare = product_prepare, .own_size = sizeof(Product), .cpu = ANY_TYPE(product_run)

const Op op_MatMul = {
    .signature = "MatMul(a: T, b: T) -> product: T; transpose_a: bool = false; transpose_b: bool = false; T: {bfloat16, "
                 "half, float, double, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128}; "
                 "grad_a: bool = false; grad_b: bool = false",
    .doc = "Product of two matrices.", .needs = "matrix(a), matrix(b)", .grad = matmul_grad, PRODUCT,
    .row = &matmul_row,
};
const Op op_BatchMatMul = {
    .signature = "BatchMatMul(x: T, y: T) -> output: T; T: {bfloat16, half, float, double, int32, int64, complex64, "
                 "complex128}; adj_x: bool = false; adj_y: bool = false; grad_x: bool = false; grad_y: bool = false",
    .doc = "Products of the matrices in two tensors of equal leading dimensions.",
    .needs = "rank(x) >= 2, rank(y) >= 2, same_rank(x, y)", .grad = batch_grad, PRODUCT, .row = &batch_row,
};
const Op op_BatchMatMulV2 = {
    .signature = "BatchMatMulV2(x: T, y: T) -> output: T; T: {bfloat16, half, float, double, int16, int32, int64, uint8, "
                 "uint16, uint32, uint64, complex64, complex128}; adj_x: bool = false; adj_y: bool = false; "
                 "grad_x: bool = false; grad_y: bool = false",
    .doc = "Products of the matrices in two tensors, whose leading dimensions broadcast.",
    .needs = "rank(x) >= 2, rank(y) >= 2", .grad = batch_grad, PRODUCT, .row = &batch_v2_row,
};
const Op op_BatchMatMulV3 = {
    .signature = "BatchMatMulV3(x: Ta, y: Tb) -> output: Tout; Ta: {bfloat16, half, float, double, uint8, int8, int16, "
                 "int32, int64, complex64, complex128}; Tb: {bfloat16, half, float, double, uint8, int8, int16, int32, "
                 "int64, complex64, complex128}; Tout: {bfloat16, half, float, double, int16, int32, int64, complex64, "
                 "complex128}; adj_x: bool = false; adj_y: bool = false; grad_x: bool = false; grad_y: bool = false",
    .doc = "Products of the matrices in two tensors of one type, given as another.",
    .needs = "rank(x) >= 2, rank(y) >= 2", .grad = batch_grad, PRODUCT, .row = &batch_v2_row,
};
