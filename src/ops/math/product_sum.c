// Product sum — see product_sum.h; and the node that stands for products which are only added.
//
// Several terms are laid one under the other: a long product, which writes its output once. So only the forms where
// that is a copy of whole rows are taken, a transposed and b not: gradients of weights that are used several times.
#include "ops/math/product_sum.h"

#include <string.h>

#include "loops/tuning.h"

// ---------------------------------------- shapes

static int64_t extent(const Shape *shape, int i) {
    return shape->rank < 0 ? UNKNOWN_DIM : shape->dims[i];
}

Status *product_term_shape(const Node *node, const Shape *a, const Shape *b, Shape *out) {
    bool ta = node_bool(node, "transpose_a"), tb = node_bool(node, "transpose_b");
    NEED((a->rank < 0 || a->rank == 2) && (b->rank < 0 || b->rank == 2), INVALID_ARGUMENT,
         "products are of matrices: In[0]: %s, In[1]: %s", shape_text(a), shape_text(b));
    int64_t k1 = extent(a, !ta), k2 = extent(b, tb);
    NEED(k1 < 0 || k2 < 0 || k1 == k2, INVALID_ARGUMENT, "Matrix size-incompatible: In[0]: %s, In[1]: %s%s%s",
         shape_text(a), shape_text(b), ta ? ", the first transposed" : "", tb ? ", the second transposed" : "");
    Shape term = SHAPE(extent(a, ta), extent(b, !tb));
    return shape_merge(out, &term, out);
}

// ---------------------------------------- geometry

static void free_library(void *op) {
    onednn_free(op);
}

static void cut(ProductSum *s, int threads) {
    s->across = max_i64(1, div_up(s->n, TUNED_PRODUCT_SUM_ROW));
    s->columns = (int64_t)round_up((size_t)div_up(s->n, s->across), 16);
    s->columns = min_i64(max_i64(s->columns, 1), max_i64(s->n, 1));
    int64_t most = max_i64(16, TUNED_PRODUCT_SUM_BLOCK / s->columns);
    int64_t wanted = s->across == 1 ? max_i64(threads, 1) : 1;   // no fewer blocks than threads, where that is worth it
    s->rows = min_i64(most, max_i64(16, div_up(s->m, wanted)));
    s->rows = min_i64(s->rows, max_i64(s->m, 1));
    s->rows = div_up(s->m, max_i64(1, div_up(s->m, s->rows)));
    s->rows = max_i64(1, min_i64(s->m, (int64_t)round_up((size_t)s->rows, 8)));
    s->down = div_up(s->m, s->rows);
    s->across = div_up(s->n, s->columns);
}

static Status *choose_library(Prepare *p, ProductSum *s, size_t *work) {
    const GemmShape *shape = &s->plan.shape;
    if (p->in[s->first]->dtype != DT_float || shape->m == 1 || shape->n == 1 ||
        (double)shape->m * (double)shape->n * (double)shape->k < tuning()->product_library)
        return OK;
    s->library = onednn_matmul(1, shape, NULL, false, 1);
    if (!s->library)
        return OK;
    TRY(prepare_cleanup(p, free_library, s->library));
    size_t wanted = onednn_scratch(s->library);
    *work = wanted > *work ? wanted : *work;
    p->implementation = onednn_name(s->library);
    return OK;
}

static size_t reserve(Prepare *p, size_t bytes) {
    size_t at = p->scratch;
    p->scratch += round_up(bytes, 64);
    return at;
}

static void reserve_lanes(Prepare *p, ProductSum *s, int threads, size_t work) {
    int64_t units = s->use == PRODUCT_ADDED ? s->plan.units : s->down * s->across;
    s->cost = units ? p->cost / units + 1 : 1;
    lanes_prepare(p, s->at_work + work, min_i64(threads, units), &s->lanes);
}

Status *product_sum_prepare(Prepare *p, int first, ProductUse use, ProductSum *s) {
    int terms = (p->n_in - first) / 2;
    bool ta = node_bool(p->node, "transpose_a"), tb = node_bool(p->node, "transpose_b");
    DType dtype = p->in[first]->dtype;
    NEED(terms == 1 || (ta && !tb), UNIMPLEMENTED,
         "a sum of products whose first factor is not transposed, or the second is");
    int64_t k = 0;
    Shape out = UNKNOWN_SHAPE;
    for (int i = 0; i < terms; i++) {
        const Shape *a = &p->in[first + i]->shape;
        TRY(product_term_shape(p->node, a, &p->in[first + terms + i]->shape, &out));
        k += a->dims[!ta];
    }
    s->m = out.dims[0], s->n = out.dims[1];
    s->terms = terms, s->first = first, s->use = use;
    s->size = (int64_t)dtype_size(dtype);
    int threads = p->threads < 1 ? 1 : p->threads;
    double ns = (double)s->m * (double)s->n * (double)(k + 8) / 50;
    p->cost = ns > 1e15 ? (int64_t)1e15 : (int64_t)ns;
    threads = ns < TUNED_SHARE_AWAKE ? 1 : threads;
    cut(s, threads);
    int64_t ld_a = ta ? s->m : k, ld_b = tb ? k : s->n;
    GemmShape shape = {.m = s->rows, .n = s->columns, .k = k, .lda = ld_a, .ldb = ld_b,
                       .ldc = use == PRODUCT_KEPT ? s->n : s->columns, .ta = ta, .tb = tb};
    if (use == PRODUCT_ADDED)
        shape.m = s->m, shape.n = shape.ldc = s->n, shape.accumulate = shape.scales = true;
    NEED(gemm_prepare(dtype, &shape, 1, 0, 0, 0, use == PRODUCT_ADDED ? threads : 1, &s->plan), UNIMPLEMENTED,
         "no kernel for type %s", dtype_name(dtype));
    size_t work = s->plan.scratch;
    p->implementation = "loops";
    if (use != PRODUCT_ADDED)
        TRY(choose_library(p, s, &work));
    if (terms > 1) {
        s->at_a = reserve(p, (size_t)(k * s->m * s->size));
        s->at_b = reserve(p, (size_t)(k * s->n * s->size));
    }
    s->at_work = use == PRODUCT_IN_BLOCKS ? round_up((size_t)(s->rows * s->columns * s->size), 64) : 0;
    reserve_lanes(p, s, threads, work);
    return OK;
}

// ---------------------------------------- kernel

typedef struct {
    Kernel *k;
    const ProductSum *sum;
    const char *a, *b;
    char *out;
    ProductBlockFn *fn;
    void *arg;
    Lanes lanes;
} Work;

static void one_block(const Work *w, int64_t row, int64_t column, char *lane) {
    const ProductSum *s = w->sum;
    const GemmShape *whole = &s->plan.shape;
    int64_t rows = min_i64(s->rows, s->m - row), columns = min_i64(s->columns, s->n - column);
    const char *a = w->a + (whole->ta ? row : row * whole->lda) * s->size;
    const char *b = w->b + (whole->tb ? column * whole->ldb : column) * s->size;
    char *c = s->use == PRODUCT_KEPT ? w->out + (row * whole->ldc + column) * s->size : lane, *work = lane + s->at_work;
    if (rows == s->rows && columns == s->columns) {
        if (!s->library || !onednn_run(s->library, a, b, NULL, c, work))
            gemm_run(&s->plan, a, b, c, work, 0, 1);
    } else {
        GemmPlan plan = s->plan;
        plan.shape.m = rows, plan.shape.n = columns;
        plan.shape.ldc = s->use == PRODUCT_KEPT ? whole->ldc : columns;
        gemm_run(&plan, a, b, c, work, 0, 1);
    }
    if (w->fn)
        w->fn(w->arg, row, column, rows, columns, c);
}

static void block_range(void *arg, int64_t first, int64_t last) {
    Work *w = arg;
    const ProductSum *s = w->sum;
    int lane = lanes_take(&w->lanes);
    for (int64_t i = first; i < last; i++)
        one_block(w, i / s->across * s->rows, i % s->across * s->columns, lanes_memory(&w->lanes, lane));
    lanes_give(&w->lanes, lane);
}

// The matrices in inputs [first, first + n), one under the other.
static const char *one_under_the_other(Kernel *k, int first, int n, size_t at) {
    if (n == 1)
        return k->in[first]->data;
    char *start = (char *)k->scratch + at, *to = start;
    for (int i = first; i < first + n; i++) {
        size_t bytes = tensor_bytes(k->in[i]);
        if (bytes)
            memcpy(to, k->in[i]->data, bytes);
        to += bytes;
    }
    return start;
}

static void bring_together(Work *w) {
    const ProductSum *s = w->sum;
    w->a = one_under_the_other(w->k, s->first, s->terms, s->at_a);
    w->b = one_under_the_other(w->k, s->first + s->terms, s->terms, s->at_b);
}

static void run(Work *w) {
    const ProductSum *s = w->sum;
    int64_t blocks = s->down * s->across;
    lanes_open(w->k, &s->lanes, &w->lanes);
    bring_together(w);
    if (blocks == 1)
        one_block(w, 0, 0, lanes_memory(&w->lanes, 0));
    else if (blocks)
        kernel_parallel(w->k, blocks, s->cost, block_range, w);
}

void product_sum_run(Kernel *k, const ProductSum *sum, ProductBlockFn *fn, void *arg) {
    Work w = {.k = k, .sum = sum, .fn = fn, .arg = arg};
    run(&w);
}

static void product_sum_write(Kernel *k, const ProductSum *sum, void *out) {
    Work w = {.k = k, .sum = sum, .out = out};
    run(&w);
}

typedef struct {
    Work work;
    GemmPlan plan;   // with this call's scale
} Adding;

static void add_range(void *arg, int64_t first, int64_t last) {
    Adding *adding = arg;
    Work *w = &adding->work;
    int lane = lanes_take(&w->lanes);
    void *scratch = lanes_memory(&w->lanes, lane);
    gemm_run(&adding->plan, w->a, w->b, w->out, scratch, first, last);
    lanes_give(&w->lanes, lane);
}

void product_sum_add(Kernel *k, const ProductSum *sum, double scale, void *to) {
    Adding adding = {.work = {.k = k, .sum = sum, .out = to}, .plan = sum->plan};
    adding.plan.shape.scale = scale;
    lanes_open(k, &sum->lanes, &adding.work.lanes);
    bring_together(&adding.work);
    if (sum->plan.units)
        kernel_parallel(k, sum->plan.units, sum->cost, add_range, &adding);
}

// ---------------------------------------- in a graph

static bool is_float(DType type) {
    return type == DT_half || type == DT_bfloat16 || type == DT_float || type == DT_double;
}

static bool is_sum_node(const Node *node) {
    return str_is(node->type->name, "_MatMulAddN");
}

static bool is_product(const Node *node) {
    return str_is(node->type->name, "MatMul") && is_float(node->output_types[0]);
}

bool is_product_sum(const Node *node) {
    return is_product(node) || is_sum_node(node);
}

Status *product_sum_inputs(NodeBuilder *builder, Node *const *products, int n) {
    int terms = is_sum_node(products[0]) ? products[0]->n_inputs / 2 : n;
    Output *factors = ARENA_ARRAY(&builder->arena, Output, 2 * terms);
    NEED_MEMORY(factors);
    for (int i = 0; i < 2 * terms; i++)
        factors[i] = is_sum_node(products[0]) ? products[0]->inputs[i] : products[i % terms]->inputs[i / terms];
    builder_input_list(builder, factors, terms);
    builder_input_list(builder, factors + terms, terms);
    builder_attr(builder, STR("N"), &ATTR_OF_INT(terms));
    builder_attr(builder, STR("transpose_a"), node_attr_find(products[0], "transpose_a"));
    builder_attr(builder, STR("transpose_b"), node_attr_find(products[0], "transpose_b"));
    return OK;
}

// ---------------------------------------- products that are added

static Status *sum_shape(Shapes *s) {
    int terms = s->n_in / 2;
    for (int i = 0; i < terms; i++)
        TRY(product_term_shape(s->node, &s->in[i], &s->in[terms + i], &s->out[0]));
    return OK;
}

static Status *sum_prepare(Prepare *p) {
    return product_sum_prepare(p, 0, PRODUCT_KEPT, p->own);
}

static Status *sum_run(Kernel *k) {
    product_sum_write(k, k->own, k->out[0]->data);
    return OK;
}

const Op op__MatMulAddN = {
    .signature = "_MatMulAddN(a: N * T, b: N * T) -> sum: T; N: int >= 1; T: floats_half_first; "
                 "transpose_a: bool = false; transpose_b: bool = false",
    .doc = "Sum of matrix products.", .shape = sum_shape, .prepare = sum_prepare, .own_size = sizeof(ProductSum),
    .cpu = ANY_TYPE(sum_run),
};
