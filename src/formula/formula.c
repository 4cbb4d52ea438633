// Formula — see formula.h.
//
// Nodes are made as if by a list of calls without checks in between: the first error stays in the formula, and later
// calls do nothing. Formulas build gradients, expansions of composite ops and networks, in one notation.
#include "formula/formula.h"

void formula_fail(Formula *f, Status *status) {
    if (f->status)
        status_free(status);
    else
        f->status = status;
}

DType output_type(Output output) {
    return output.node ? dtype_base(output.node->output_types[output.index]) : DT_INVALID;
}

const Shape *output_shape(Output output) {
    static const Shape unknown = {.rank = UNKNOWN_RANK};
    return output.node ? &output.node->output_shapes[output.index] : &unknown;
}

bool formula_is_zero(Output output) {
    return output.node == NULL;
}

// ---------------------------------------- nodes

static Status *unique_name(Formula *f, const char *op, Str *out) {
    AUTO(text) Text wanted = {0};
    text_add(&wanted, f->scope);
    if (f->scope.n)
        text_char(&wanted, '/');
    text_add(&wanted, str_of(op));
    NEED_MEMORY(!wanted.failed);
    return graph_unique_name(f->graph, text_str(&wanted), out);
}

// A node without data inputs gets a control edge from `before`: inside a conditional or a loop it would otherwise have
// no input of the frame, and run once outside of it.
static Status *add_node(Formula *f, const char *op, const FormulaArg *args, int n_args, const FormulaAttr *attrs,
                        Node **out) {
    Str name;
    TRY(unique_name(f, op, &name));
    AUTO(builder) NodeBuilder builder;
    builder_init(&builder, f->graph, str_of(op), name);
    if (f->device.n)
        builder_device(&builder, f->device);
    builder.placed = f->node ? f->node->placed : NULL;
    int edges = 0;
    for (int i = 0; i < n_args; i++) {
        if (args[i].is_list)
            builder_input_list(&builder, args[i].edges, args[i].n);
        else
            builder_input(&builder, args[i].edges[0]);
        edges += args[i].n;
    }
    if (edges == 0 && f->before)
        builder_control(&builder, f->before);
    for (; attrs && attrs->name; attrs++)
        builder_attr(&builder, str_of(attrs->name), &attrs->value);
    return builder_finish(&builder, out);
}

Node *formula_node(Formula *f, const char *op, const FormulaArg *args, int n_args, const FormulaAttr *attrs) {
    if (f->status)
        return NULL;
    Node *node = NULL;
    Status *status = add_node(f, op, args, n_args, attrs, &node);
    if (!status)
        return node;
    formula_fail(f, status);
    return NULL;
}

enum { MOST_INPUTS = 32 };  // of a node with plain inputs only; the longest op of TensorFlow has 27

Output formula_op(Formula *f, const char *op, const Output *in, int n_in, const FormulaAttr *attrs) {
    FormulaArg args[MOST_INPUTS];
    if (n_in > MOST_INPUTS) {
        formula_fail(f, status_new(INTERNAL, __FILE__, __LINE__, "%s with %d inputs", op, n_in));
        return (Output){0};
    }
    for (int i = 0; i < n_in; i++)
        args[i] = (FormulaArg){&in[i], 1, false};
    return (Output){formula_node(f, op, args, n_in, attrs), 0};
}

// Whether an attribute of the signature follows from the types or number of inputs.
static bool is_inferred(const Signature *signature, int attr) {
    for (int i = 0; i < signature->n_inputs; i++) {
        const ArgSpec *arg = &signature->inputs[i];
        if (arg->type_attr == attr || arg->number_attr == attr || arg->list_attr == attr)
            return true;
    }
    return false;
}

Output formula_alike(Formula *f, const char *op, const Output *in, int n_in) {
    enum { MOST_ATTRS = 32 };
    FormulaAttr attrs[MOST_ATTRS + 1] = {0};
    char names[MOST_ATTRS][64];
    const OpType *type;
    Status *status = op_type_find(str_of(op), &type);
    if (status) {
        formula_fail(f, status);
        return (Output){0};
    }
    int n = 0;
    for (int i = 0; i < type->signature.n_attrs && n < MOST_ATTRS; i++) {
        Str name = type->signature.attrs[i].name;
        if (is_inferred(&type->signature, i) || name.n >= sizeof names[n])
            continue;
        memcpy(names[n], name.p, name.n);
        names[n][name.n] = 0;
        const AttrValue *value = node_attr_find(f->node, names[n]);
        if (value) {
            attrs[n] = (FormulaAttr){names[n], *value};
            n++;
        }
    }
    return formula_op(f, op, in, n_in, attrs);
}

// ---------------------------------------- constants

static bool store_number(DType dtype, double value, void *to) {
    switch (dtype) {
    case DT_float: *(float *)to = (float)value; return true;
    case DT_double: *(double *)to = value; return true;
    case DT_half: *(Half *)to = half_from_float((float)value); return true;
    case DT_bfloat16: *(Bfloat16 *)to = bfloat16_from_float((float)value); return true;
    case DT_complex64: *(Complex64 *)to = (float)value; return true;
    case DT_complex128: *(Complex128 *)to = value; return true;
    case DT_bool: *(bool *)to = value != 0; return true;
    case DT_int8: *(int8_t *)to = (int8_t)value; return true;
    case DT_int16: *(int16_t *)to = (int16_t)value; return true;
    case DT_int32: *(int32_t *)to = (int32_t)value; return true;
    case DT_int64: *(int64_t *)to = (int64_t)value; return true;
    case DT_uint8: *(uint8_t *)to = (uint8_t)value; return true;
    case DT_uint16: *(uint16_t *)to = (uint16_t)value; return true;
    case DT_uint32: *(uint32_t *)to = (uint32_t)value; return true;
    case DT_uint64: *(uint64_t *)to = (uint64_t)value; return true;
    default: return false;
    }
}

Output formula_tensor(Formula *f, const Tensor *value) {
    return formula_op(f, "Const", NULL, 0,
                      (FormulaAttr[]){{"value", {.kind = ATTR_TENSOR, .tensor = (Tensor *)value}},
                                      {"dtype", ATTR_OF_TYPE(value->dtype)},
                                      {0}});
}

Output formula_number(Formula *f, double value, DType dtype) {
    if (f->status)
        return (Output){0};
    AUTO(tensor) Tensor tensor = {0};
    Status *status = tensor_new(dtype, SCALAR_SHAPE, &tensor);
    if (!status && !store_number(dtype, value, tensor.data))
        status = status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "no number is of type %s", dtype_name(dtype));
    if (!status)
        return formula_tensor(f, &tensor);
    formula_fail(f, status);
    return (Output){0};
}

Output formula_scalar(Formula *f, double value, Output like) {
    return formula_number(f, value, output_type(like));
}

// Elements of int32 or int64; `rank` 0 or 1.
static Output integers(Formula *f, const int64_t *values, int n, int rank, DType dtype) {
    if (f->status)
        return (Output){0};
    AUTO(tensor) Tensor tensor = {0};
    Status *status = tensor_new(dtype, rank ? SHAPE(n) : SCALAR_SHAPE, &tensor);
    if (!status && dtype != DT_int32 && dtype != DT_int64)
        status = status_new(INTERNAL, __FILE__, __LINE__, "indices of type %s", dtype_name(dtype));
    if (status) {
        formula_fail(f, status);
        return (Output){0};
    }
    for (int i = 0; i < n; i++) {
        if (dtype == DT_int32)
            ((int32_t *)tensor.data)[i] = (int32_t)values[i];
        else
            ((int64_t *)tensor.data)[i] = values[i];
    }
    return formula_tensor(f, &tensor);
}

Output formula_int(Formula *f, int64_t value, DType dtype) {
    return integers(f, &value, 1, 0, dtype);
}

Output formula_ints(Formula *f, const int64_t *values, int n, DType dtype) {
    return integers(f, values, n, 1, dtype);
}

// ---------------------------------------- fragments

static Output node_1(Formula *f, const char *op, Output x) {
    return formula_op(f, op, &x, 1, NULL);
}

static Output node_2(Formula *f, const char *op, Output x, Output y) {
    return formula_op(f, op, (Output[]){x, y}, 2, NULL);
}

// Shapes known when the graph is made become constants, which constant folding then propagates; int32 can't hold all.
Output formula_shape(Formula *f, Output x, DType dtype) {
    const Shape *shape = output_shape(x);
    bool fits = shape_is_known(shape);
    for (int i = 0; i < shape->rank && fits && dtype == DT_int32; i++)
        fits = shape->dims[i] <= INT32_MAX;
    if (fits)
        return formula_ints(f, shape->dims, shape->rank, dtype);
    return formula_op(f, "Shape", &x, 1, (FormulaAttr[]){{"out_type", ATTR_OF_TYPE(dtype)}, {0}});
}

// In a loop's backward side a forward value would have to be kept for its shape alone; so zeros of a known shape are a
// Fill there.
Output formula_zeros(Formula *f, Output like) {
    // In a loop's backward side a forward value would have to be kept for its shape alone.
    if (!f->before || !shape_is_known(output_shape(like)) || dtype_kind(output_type(like)) == KIND_OBJECT)
        return node_1(f, "ZerosLike", like);
    return node_2(f, "Fill", formula_shape(f, like, DT_int32), formula_number(f, 0, output_type(like)));
}

// Which axes of x were made by broadcasting `like`, where that can be told: like's extents must be known.
static bool broadcast_axes(const Shape *x, const Shape *like, int64_t *axes, int *out_n) {
    if (x->rank < 0 || !shape_is_known(like) || like->rank > x->rank)
        return false;
    int more = x->rank - like->rank, n = 0;
    for (int i = 0; i < x->rank; i++)
        if (i < more || (like->dims[i - more] == 1 && x->dims[i] != 1))
            axes[n++] = i;
    *out_n = n;
    return true;
}

// The reverse of broadcasting. Where the static shapes don't tell which axes were broadcast, TensorFlow's
// BroadcastGradientArgs computes them in the step.
Output formula_sum_to(Formula *f, Output x, Output like) {
    const Shape *from = output_shape(x), *to = output_shape(like);
    if (f->status || (shape_is_known(from) && shape_equal(from, to)))
        return x;
    int64_t axes[MAX_RANK];
    int n;
    if (!broadcast_axes(from, to, axes, &n)) {
        Output shape = formula_shape(f, like, DT_int32);
        Output which = node_2(f, "BroadcastGradientArgs", shape, formula_shape(f, x, DT_int32));
        return node_2(f, "Reshape", node_2(f, "Sum", x, which), shape);
    }
    if (n == 0)
        return x;
    Output sum = node_2(f, "Sum", x, formula_ints(f, axes, n, DT_int32));
    return from->rank - n == to->rank ? sum : node_2(f, "Reshape", sum, formula_shape(f, like, DT_int32));
}
