// Algebra — calculations that come to less, given a constant that they read.
#include "graph/extents.h"
#include "graph/rewrite.h"
#include "loops/reduce.h"
#include "ops/array/pad.h"
#include "ops/math/product_sum.h"

static bool is_float(DType dtype) {
    return dtype == DT_float || dtype == DT_double;
}

// ---------------------------------------- powers

// x to a constant power that is a product, a root or their inverse; TensorFlow's rewriting does the same.
static void power(Formula *f) {
    static const struct {
        double power;
        const char *op;
    } roots[] = {{0.5, "Sqrt"}, {-0.5, "Rsqrt"}, {-1, "Reciprocal"}, {2, "Square"}};
    Output x = f->x[0];
    const Tensor *y = output_constant(f->x[1]);
    if (!y || y->shape.rank || !is_float(output_type(x)))
        return;
    double value = y->dtype == DT_float ? (double)*(const float *)y->data : *(const double *)y->data;
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
        if (value == roots[i].power)
            f->results[0] = formula_1(f, roots[i].op, x);
    if (value == 3)
        f->results[0] = Mul(formula_1(f, "Square", x), x);
}

const Rewrite rewrite_power = {
    .name = "power", .kind = REWRITE_SIMPLIFY, .roots = ROOTS("Pow"), .formula = power,
};

// ---------------------------------------- reductions

// Over no axis all but the norm, which takes the absolute value, give what they were given.
static void reduce_nothing(Formula *f) {
    const Tensor *axes = output_constant(f->x[1]);
    if (axes && !tensor_count(axes))
        f->results[0] = f->x[0];
}

const Rewrite rewrite_reduce_nothing = {
    .name = "reduce-nothing", .kind = REWRITE_SIMPLIFY, .formula = reduce_nothing,
    .roots = ROOTS("Sum", "Mean", "Prod", "Max", "Min", "All", "Any"),
};

// ---------------------------------------- products with ones

static bool is_ones(const Tensor *value) {
    if (!value || !is_float(value->dtype))
        return false;
    for (int64_t i = 0, n = tensor_count(value); i < n; i++)
        if (value->dtype == DT_float ? ((const float *)value->data)[i] != 1 : ((const double *)value->data)[i] != 1)
            return false;
    return true;
}

// A product with a matrix of ones sums the other factor's rows, or columns, and repeats the sums: m k + m n operations
// instead of m k n. TensorFlow's Python writes sums of rows so (nn_impl._sum_rows), and their gradients are such
// products.
static void multiply_by_ones(Formula *f) {
    const bool transposed[] = {node_bool(f->node, "transpose_a"), node_bool(f->node, "transpose_b")};
    for (int i = 0; i < 2; i++) {
        const Tensor *ones = output_constant(f->x[i]);
        const Shape *other = output_shape(f->x[!i]);
        if (!is_ones(ones) || ones->shape.rank != 2 || other->rank != 2)
            continue;
        // The ones are [repeats, terms] on the left and [terms, repeats] on the right.
        int64_t terms = ones->shape.dims[i ? transposed[1] : !transposed[0]];
        int64_t repeats = ones->shape.dims[i ? !transposed[1] : transposed[0]];
        int summed = i ? !transposed[0] : transposed[1];
        int64_t extent = other->dims[!summed];
        if (other->dims[summed] != terms || !terms || (repeats != 1 && extent < 0))
            continue;
        Output sums = terms == 1 ? f->x[!i] : Sum(f->x[!i], Int(summed), true);
        if (summed != i)  // of a transposed factor: a row where a column is wanted, or the other way round
            sums = Reshape(sums, i ? Ints(-1, 1) : Ints(1, -1));
        f->results[0] = repeats == 1 ? sums : BroadcastTo(sums, i ? Ints(extent, repeats) : Ints(repeats, extent));
        return;
    }
}

const Rewrite rewrite_multiply_by_ones = {
    .name = "multiply-by-ones", .kind = REWRITE_SIMPLIFY, .roots = ROOTS("MatMul"), .formula = multiply_by_ones,
};

// ---------------------------------------- sums of lists

// Two of one shape: a sum that elementwise fusion takes. Products stay, and what is padded: they become one node.
static void add_two(Formula *f) {
    if (f->n_x != 2 || (is_padded(f->x[0].node) && is_padded(f->x[1].node)) || is_product_sum(f->x[0].node) ||
        is_product_sum(f->x[1].node))
        return;
    if (is_float(output_type(f->x[0])) && outputs_have_one_shape(f->x[0], f->x[1]))
        f->results[0] = Add(f->x[0], f->x[1]);
}

const Rewrite rewrite_add_two = {
    .name = "add-two", .kind = REWRITE_SIMPLIFY, .roots = ROOTS("AddN"), .formula = add_two,
};
