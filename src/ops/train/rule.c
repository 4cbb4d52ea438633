// Rule — see rule.h: shapes, geometry and the walk of updates.
#include "base/checked.h"
#include "ops/train/rule.h"

const char rule_descends[] = "var -= scalar * gradient";

// Which input is what follows from the signature, so that one rule serves all optimizers: what is updated comes first,
// then scalars, the gradient and indices by name.
static Status *find_inputs(const Node *node, Rule *rule) {
    const Signature *signature = &node->type->signature;
    uint32_t update = node_op(node)->update;
    rule->grad = rule->indices = rule->factors = -1;
    for (int i = 0; i < signature->n_inputs; i++) {
        Str name = signature->inputs[i].name;
        if (update & BIT(i))
            rule->n_vars = i + 1;
        else if (str_is(name, "grad") || str_is(name, "delta"))
            rule->grad = i;
        else if (str_is(name, "indices"))
            rule->indices = i;
        else if (signature->inputs[i].number_attr >= 0)
            rule->factors = rule->factors < 0 ? i : rule->factors;
        else if (rule->n_scalars < MOST_SCALARS)
            rule->scalar[rule->n_scalars++] = i;
    }
    NEED(rule->n_vars && rule->n_vars <= MOST_VARS && (rule->grad >= 0 || rule->factors >= 0), INTERNAL,
         "a rule needs variables and a gradient");
    return OK;
}

// The shapes must agree: `shapes[i]` of input i, which for a variable is its value's; `grad` of the gradient.
static Status *check_shapes(const Node *node, const Rule *rule, const Shape *shapes, const Shape *grad, Shape *out) {
    const ArgSpec *args = node->type->signature.inputs;
    Shape merged = shapes[0];
    for (int i = 0; i < rule->n_vars; i++)
        TRY(shape_merge(&merged, &shapes[i], &merged));
    for (int j = 0; j < rule->n_scalars; j++) {
        const Shape *scalar = &shapes[rule->scalar[j]];
        NEED(scalar->rank <= 0, INVALID_ARGUMENT, "%.*s is not a scalar: %s", STR_ARGS(args[rule->scalar[j]].name),
             shape_text(scalar));
    }
    if (rule->indices < 0) {
        Str name = rule->grad < 0 ? STR("the gradient") : args[rule->grad].name;
        NEED(shape_compatible(&merged, grad), INVALID_ARGUMENT, "var and %.*s do not have the same shape: %s %s",
             STR_ARGS(name), shape_text(&merged), shape_text(grad));
        *out = merged;
        return OK;
    }
    const Shape *indices = &shapes[rule->indices];
    NEED(indices->rank < 0 || indices->rank == 1, INVALID_ARGUMENT, "indices must be one-dimensional, but has shape %s",
         shape_text(indices));
    NEED(merged.rank != 0, INVALID_ARGUMENT, "var must be at least 1 dimensional");
    Shape expected = merged;
    if (expected.rank > 0) {
        expected.dims[0] = indices->rank == 1 ? indices->dims[0] : UNKNOWN_DIM;
        NEED(shape_compatible(&expected, grad), INVALID_ARGUMENT, "grad must have one row of var for each index: %s, "
             "but has shape %s", shape_text(&expected), shape_text(grad));
    }
    *out = merged;
    return OK;
}

Status *rule_shape(Shapes *s) {
    Rule rule = {0};
    TRY(find_inputs(s->node, &rule));
    Shape shapes[MAX_ARGS], out, grad = rule.grad < 0 ? UNKNOWN_SHAPE : s->in[rule.grad];
    int single = rule.factors < 0 ? s->n_in : rule.factors, terms = (s->n_in - single) / 2;
    NEED(single <= MAX_ARGS, INTERNAL, "a rule has too many inputs");
    for (int i = 0; i < single; i++) {
        shapes[i] = s->in[i];
        if (i < rule.n_vars && node_input_type(s->node, i) == DT_resource)
            shapes[i] = s->handle[i] ? s->handle[i]->shape : UNKNOWN_SHAPE;
    }
    for (int i = 0; i < terms; i++)
        TRY(product_term_shape(s->node, &s->in[single + i], &s->in[single + terms + i], &grad));
    TRY(check_shapes(s->node, &rule, shapes, &grad, &out));
    if (s->n_out)
        s->out[0] = out;
    return OK;
}

static bool flag_of(const Node *node, const char *name, bool otherwise) {
    return node_attr_find(node, name) ? node_bool(node, name) : otherwise;
}

static void find_flags(const Node *node, Rule *rule) {
    rule->nesterov = flag_of(node, "use_nesterov", false);
    rule->update_slots = flag_of(node, "update_slots", true);
    rule->linear_by_lr = flag_of(node, "multiply_linear_by_lr", false);
}

Status *rule_prepare(Prepare *p) {
    Rule *rule = p->own;
    TRY(find_inputs(p->node, rule));
    Shape shapes[MAX_ARGS], out, grad;
    for (int i = 0; i < p->n_in && i < MAX_ARGS; i++)
        shapes[i] = p->in[i]->shape;
    if (rule->factors >= 0) {
        ProductSum *sum = &((ProductRule *)p->own)->sum;
        bool adds = node_op(p->node)->row == rule_descends && (p->in[0]->dtype == DT_float ||
                                                               p->in[0]->dtype == DT_double);
        TRY(product_sum_prepare(p, rule->factors, adds ? PRODUCT_ADDED : PRODUCT_IN_BLOCKS, sum));
        grad = SHAPE(sum->m, sum->n);
    } else {
        grad = shapes[rule->grad];
    }
    TRY(check_shapes(p->node, rule, shapes, &grad, &out));
    find_flags(p->node, rule);
    rule->count = shape_count(&grad);
    if (rule->indices >= 0) {
        rule->rows = out.dims[0];
        rule->row = shape_span(&out, 1, out.rank);
    }
    DType dtype = p->in[0]->dtype;
    rule->narrow = dtype == DT_half || dtype == DT_bfloat16;
    if (rule->narrow)
        NEED(cast_find(dtype, DT_float, &rule->widen) && cast_find(DT_float, dtype, &rule->narrowed), INTERNAL,
             "no way from %s to float and back", dtype_name(dtype));
    p->cost += rule->count * rule->n_vars;
    return OK;
}

typedef struct {
    Kernel *k;
    RuleFn *fn;
} Work;

static const char *element(const Tensor *tensor, int64_t at) {
    return (const char *)tensor->data + (size_t)at * dtype_size(tensor->dtype);
}

// A tile of floats of each variable and of the gradient, computed on and put back.
// Elements: 1 KiB of each of up to MOST_VARS variables and of the gradient stays in the first cache.
enum { TILE = 256 };

static void update_narrow(const Kernel *k, RuleFn *fn, RuleData data, int64_t at, int64_t n) {
    const Rule *rule = k->own;
    const char *narrow = data.gradient;
    size_t size = dtype_size(k->in[0]->dtype);
    float scalars[MOST_SCALARS], x[MOST_VARS][TILE], gradient[TILE];
    for (int j = 0; j < rule->n_scalars; j++) {
        if (k->in[rule->scalar[j]]->dtype != k->in[0]->dtype)
            continue;  // a step's number
        cast_run(&rule->widen, data.scalar[j], &scalars[j], 1);
        data.scalar[j] = &scalars[j];
    }
    data.gradient = gradient;
    for (int64_t first = 0; first < n; first += TILE) {
        int64_t count = min_i64(TILE, n - first);
        cast_run(&rule->widen, narrow + (size_t)first * size, gradient, count);
        for (int i = 0; i < rule->n_vars; i++) {
            data.x[i] = x[i];
            cast_run(&rule->widen, element(k->in[i], at + first), x[i], count);
        }
        fn(rule, &data, count);
        for (int i = rule->n_vars - 1; i >= 0; i--)
            cast_run(&rule->narrowed, x[i], (void *)element(k->in[i], at + first), count);
    }
}

// Elements [at, at + n) of the variables by as many of the gradient.
static void update(const Kernel *k, RuleFn *fn, int64_t at, const void *gradient, int64_t n) {
    const Rule *rule = k->own;
    RuleData data = {.gradient = gradient};
    for (int j = 0; j < rule->n_scalars; j++)
        data.scalar[j] = k->in[rule->scalar[j]]->data;
    if (rule->narrow) {
        update_narrow(k, fn, data, at, n);
        return;
    }
    for (int i = 0; i < rule->n_vars; i++)
        data.x[i] = (void *)element(k->in[i], at);
    fn(rule, &data, n);
}

static void dense_range(void *arg, int64_t first, int64_t last) {
    const Work *work = arg;
    const Rule *rule = work->k->own;
    update(work->k, work->fn, first, element(work->k->in[rule->grad], first), last - first);
}

static void update_by_block(void *arg, int64_t row, int64_t column, int64_t rows, int64_t columns, const void *block) {
    const Work *work = arg;
    int64_t n = ((const ProductRule *)work->k->own)->sum.n;
    size_t size = dtype_size(work->k->in[0]->dtype);
    if (columns == n) {
        update(work->k, work->fn, row * n, block, rows * n);
        return;
    }
    for (int64_t i = 0; i < rows; i++)
        update(work->k, work->fn, (row + i) * n + column, (const char *)block + (size_t)(i * columns) * size, columns);
}

static void update_by_products(Kernel *k, RuleFn *fn) {
    const ProductRule *own = k->own;
    Work work = {k, fn};
    if (own->sum.use == PRODUCT_ADDED) {
        const Tensor *rate = k->in[own->rule.scalar[0]];
        double scale = rate->dtype == DT_double ? *(const double *)rate->data : (double)*(const float *)rate->data;
        product_sum_add(k, &own->sum, -scale, k->in[0]->data);
    } else {
        product_sum_run(k, &own->sum, update_by_block, &work);
    }
}

Status *rule_run(Kernel *k, RuleFn *fn) {
    const Rule *rule = k->own;
    Work work = {k, fn};
    if (rule->factors >= 0) {
        update_by_products(k, fn);
        return OK;
    }
    if (rule->indices < 0) {
        kernel_parallel(k, rule->count, rule->n_vars, dense_range, &work);
        return OK;
    }
    // All indices are looked at before any row is changed: an error leaves the variable as it was. Rows may repeat, so
    // they are updated in order, on one thread.
    const Tensor *indices = k->in[rule->indices];
    int64_t n = tensor_count(indices);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = tensor_int(indices, i);
        if (at < 0 || at >= rule->rows)
            KERNEL_INDEX_ERROR("indices", i, at, rule->rows);
    }
    for (int64_t i = 0; i < n; i++)
        update(k, fn, tensor_int(indices, i) * rule->row, element(k->in[rule->grad], i * rule->row), rule->row);
    return OK;
}

// ---------------------------------------- for devices that compile

typedef struct {
    void (*words)(Hlo *h, RuleWords *r);
    RuleWords whole;       // what doesn't go from row to row
    HloValue indices;
    DType dtype;
} RowByRow;

// Row i of the gradient into the row of each variable that index i names: indices may repeat, so one after the other.
static COLD void update_row(Hlo *h, HloValue i, HloValue *state, void *context) {
    const RowByRow *own = context;
    const Rule *rule = own->whole.rule;
    RuleWords row = own->whole;
    HloValue at = hlo_reshape(h, hlo_dynamic_slice(h, own->indices, &i, SHAPE(1)), SCALAR_SHAPE);
    HloValue zero = hlo_int(h, 0, at->dtype), from[MAX_RANK] = {at}, of_grad[MAX_RANK] = {hlo_cast(h, i, at->dtype)};
    for (int d = 1; d < MAX_RANK; d++)
        from[d] = of_grad[d] = zero;
    Shape one = state[0]->shape;
    one.dims[0] = 1;
    row.g = hlo_dynamic_slice(h, own->whole.g, of_grad, one);
    for (int v = 0; v < rule->n_vars; v++)
        row.x[v] = hlo_wide(h, hlo_dynamic_slice(h, state[v], from, one));
    own->words(h, &row);
    for (int v = 0; v < rule->n_vars; v++)
        state[v] = hlo_update_slice(h, state[v], hlo_cast(h, row.x[v], own->dtype), from);
}

Status *rule_hlo(Hlo *h, void (*words)(Hlo *h, RuleWords *r)) {
    Rule rule = {0};
    RuleWords r = {.rule = &rule};
    TRY(find_inputs(h->node, &rule));
    NEED(rule.factors < 0, UNIMPLEMENTED, "a gradient that is a sum of products");
    find_flags(h->node, &rule);
    HloValue x[MOST_VARS];
    for (int i = 0; i < rule.n_vars; i++)
        x[i] = hlo_in(h, i);
    r.g = hlo_wide(h, hlo_in(h, rule.grad));
    for (int j = 0; j < rule.n_scalars; j++)
        r.s[j] = hlo_wide(h, hlo_in(h, rule.scalar[j]));
    TRY(h->status);
    DType dtype = x[0]->dtype;
    if (rule.indices >= 0) {
        RowByRow rows = {words, r, hlo_in(h, rule.indices), dtype};
        TRY(h->status);
        hlo_check_range(h, rows.indices, x[0]->shape.dims[0], "indices are out of range");
        hlo_loop(h, rows.indices->shape.dims[0], x, rule.n_vars, update_row, &rows);
    } else {
        for (int i = 0; i < rule.n_vars; i++)
            r.x[i] = hlo_wide(h, x[i]);
        words(h, &r);
        for (int i = 0; i < rule.n_vars; i++)
            x[i] = hlo_cast(h, r.x[i], dtype);
    }
    for (int i = 0; i < rule.n_vars; i++)
        hlo_assign(h, i, x[i]);
    return h->n_out ? hlo_out_variable(h, 0, 0) : OK;
}

// ---------------------------------------- in a graph

// A product of the variable itself would hold its value while it is updated: the update would have to copy it.
static bool reads(Output factor, Output variable) {
    const Node *node = factor.node;
    return node->n_inputs == 1 && output_equal(node->inputs[0], variable);
}

// A small gradient stays in the cache on its way to the rule: nothing is gained.
static bool is_small(const Node *product) {
    enum { SMALL = 1 << 14 };  // elements
    int64_t n = shape_count(&product->output_shapes[0]);
    return n >= 0 && n <= SMALL;
}

bool rule_takes(const Match *match, const Node *before) {
    const Node *node = match->nodes[0];
    if (!is_product_sum(before) || is_small(before))
        return false;
    for (int i = 0; i < before->n_inputs; i++)
        for (int v = 0; v < node->n_inputs && (node_op(node)->update & BIT(v)); v++)
            if (reads(before->inputs[i], node->inputs[v]))
                return false;
    return true;
}

Status *rule_write(NodeBuilder *builder, const Match *match) {
    const Node *node = match->nodes[0];
    Rule rule = {0};
    const OpType *type;
    TRY(find_inputs(node, &rule));
    TRY(op_type_find(builder->type, &type));
    for (int i = 0; i < node->n_attrs; i++)
        if (signature_attr(&type->signature, node->attrs[i].name) >= 0)
            builder_attr(builder, node->attrs[i].name, &node->attrs[i].value);
    for (int i = 0; i < node->n_inputs; i++)
        if (i != rule.grad)
            builder_input(builder, node->inputs[i]);
    return product_sum_inputs(builder, match->nodes + 1, 1);
}
