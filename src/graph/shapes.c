// Shapes — see shapes.h: running a node's shape function, what is known of values, and functions that serve many ops.
//
// Inference runs when a node is built and again when folding has told more. What is found is merged with what is there:
// knowledge only grows. Shapes are often computed (Shape, slices, Pack): `partial` of an op says what of such a vector
// is known though no constant holds it, backwards through a few ops.
#include "graph/shapes.h"

#include "graph/needs.h"
#include "graph/shape_rule.h"

// Of the walk backwards: so many ops deep, so many ops in all; a Pack of Packs would else be exponential.
enum { PARTIAL_DEPTH = 8, PARTIAL_BUDGET = 64 };

// ---------------------------------------- known values

// An op that passes on its only input: its output 0 is that very buffer, in that shape and type.
static bool is_identity(const Node *node) {
    const Op *op = node->type->op;
    return op && (op->alias & BIT(0)) && op->flow == FLOW_NONE && op->shape == shape_unchanged && node->n_inputs == 1 &&
           node->n_outputs == 1 && !dtype_is_ref(node->output_types[0]) && node->inputs[0].node &&
           node->inputs[0].node->output_types[node->inputs[0].index] == node->output_types[0];
}

const Tensor *output_constant(Output output) {
    Node *node = output.node;
    // Chains of identities are followed as far as they go: a loop of them can't be, since flow nodes end it.
    for (int steps = 0; node && is_identity(node) && !node->value && steps < 1000; steps++) {
        output = node->inputs[0];
        node = output.node;
    }
    if (!node || output.index != 0)
        return NULL;
    if (node->value)
        return node->value;
    if (node->n_inputs != 0 || node->n_outputs != 1 || node_is_stateful(node))
        return NULL;
    const AttrValue *value = node_attr_find(node, "value");
    return value && value->kind == ATTR_TENSOR && !value->is_list ? value->tensor : NULL;
}

// ---------------------------------------- running the function

enum { FEW = 12 };

// The arrays of a Shapes; those of nodes with few inputs lie inside.
typedef struct {
    Shapes s;
    Arena arena;
    Shape in[FEW], out[FEW];
    const Tensor *value[FEW];
    const HandleShape *handle[FEW];
    HandleShape *handle_out[FEW];
} Frame;

static Status *frame_open(Frame *frame, const Node *node) {
    int n_in = node->n_inputs, n_out = node->n_outputs;
    bool few_in = n_in <= FEW, few_out = n_out <= FEW;
    frame->arena = (Arena){0};
    Shape *in = few_in ? frame->in : ARENA_ARRAY(&frame->arena, Shape, n_in);
    Shape *out = few_out ? frame->out : ARENA_ARRAY(&frame->arena, Shape, n_out);
    const Tensor **value = few_in ? frame->value : ARENA_ARRAY(&frame->arena, const Tensor *, n_in);
    const HandleShape **handle = few_in ? frame->handle : ARENA_ARRAY(&frame->arena, const HandleShape *, n_in);
    HandleShape **handle_out = few_out ? frame->handle_out : ARENA_ARRAY(&frame->arena, HandleShape *, n_out);
    NEED_MEMORY(in && out && value && handle && handle_out);
    for (int i = 0; i < n_in; i++) {
        Output from = node->inputs[i];
        in[i] = from.node ? from.node->output_shapes[from.index] : UNKNOWN_SHAPE;
        value[i] = output_constant(from);
        handle[i] = from.node ? from.node->handles[from.index] : NULL;
    }
    for (int i = 0; i < n_out; i++) {
        out[i] = UNKNOWN_SHAPE;
        handle_out[i] = NULL;
    }
    frame->s = (Shapes){.node = node, .in = in, .value = value, .handle = handle, .out = out, .handle_out = handle_out,
                        .n_in = n_in, .n_out = n_out, .arena = &node->graph->arena};
    return OK;
}

// What the op's function knows beside what the outputs have already; nothing where it refuses.
static Status *add_shapes(Shapes *s, ShapeFn *shape) {
    Shape *outs = s->out;
    s->out = ARENA_ARRAY(s->arena, Shape, s->n_out);
    if (!s->out) {
        s->out = outs;
        NEED_MEMORY(NULL);
    }
    for (int i = 0; i < s->n_out; i++)
        s->out[i] = UNKNOWN_SHAPE;
    Status *status = shape(s);
    for (int i = 0; i < s->n_out && !status; i++)
        status_free(shape_merge(&outs[i], &s->out[i], &outs[i]));
    s->out = outs;
    status_free(status);
    return OK;
}

// The rule stands for the needs, and for the function if it has results; with a + at its end for refusals only.
static Status *shapes_run(Shapes *s) {
    const OpType *type = s->node->type;
    Str rule = type->rule;
    bool told = false, more = rule.n && rule.p[rule.n - 1] == '+';
    rule.n -= more;
    if (rule.n)
        TRY(shape_rule_apply(rule, s, &told));
    if (told && more && type->shape)
        return add_shapes(s, type->shape);
    return type->shape && !told ? type->shape(s) : OK;
}

static Status *partial_value(Output from, int depth, int *budget, Shape *out, bool *known);

// Whole numbers that are known though no constant holds them (a shape's extents, packed constants) as values of inputs.
static Status *find_values(Frame *frame, const Node *node) {
    for (int i = 0; i < node->n_inputs; i++) {
        Output from = node->inputs[i];
        const Op *op = from.node && !frame->s.value[i] ? from.node->type->op : NULL;
        DType type = op && op->partial ? from.node->output_types[from.index] : DT_INVALID;
        const Shape *shape = &frame->s.in[i];
        if ((type != DT_int32 && type != DT_int64) || shape->rank < 0 || shape->rank > 1 ||
            shape_count(shape) < 0 || shape_count(shape) > MAX_RANK)
            continue;
        int budget = PARTIAL_BUDGET;
        bool known;
        Shape value;
        Status *status = partial_value(from, 0, &budget, &value, &known);  // no shape at all, perhaps
        bool failed = status != OK;
        status_free(status);
        if (failed || !known || !shape_is_known(&value) || value.rank != (shape->rank ? shape->dims[0] : 1))
            continue;
        Tensor *tensor = ARENA_NEW(&frame->arena, Tensor);
        NEED_MEMORY(tensor);
        *tensor = (Tensor){.dtype = type, .shape = *shape, .data = ARENA_ARRAY(&frame->arena, int64_t, value.rank + 1)};
        NEED_MEMORY(tensor->data);
        for (int k = 0; k < value.rank; k++) {
            if (type == DT_int32)
                ((int32_t *)tensor->data)[k] = (int32_t)value.dims[k];
            else
                ((int64_t *)tensor->data)[k] = value.dims[k];
        }
        ((const Tensor **)(uintptr_t)frame->s.value)[i] = tensor;
    }
    return OK;
}

static Status *infer(Frame *frame, Node *node) {
    Shapes *s = &frame->s;
    if (node->type->needs && !node->type->rule.n)
        TRY(needs_check(node->type->needs, node, s->in, s->value));
    TRY(find_values(frame, node));
    TRY(shapes_run(s));
    for (int i = 0; i < s->n_out; i++)
        TRY(shape_merge(&node->output_shapes[i], &s->out[i], &s->out[i]));
    for (int i = 0; i < s->n_out; i++) {
        node->output_shapes[i] = s->out[i];
        if (s->handle_out[i] && s->handle_out[i] != node->handles[i])
            TRY(node_set_handle(node, i, s->handle_out[i]));
    }
    return OK;
}

// TensorFlow's message, which its tests compare: "<message> for '{{node a}} = Add[...](x, y)' with input shapes: [2],
// [3]."
static Status *shape_error(Status *status, const Frame *frame, const Node *node) {
    AUTO(text) Text text = {0};
    text_format(&text, "%s for '{{node %.*s}} = %.*s(", status_message(status), NODE_ARGS(node));
    for (int i = 0; i < node->n_inputs && i < FEW; i++) {
        Str name = node->inputs[i].node ? node->inputs[i].node->name : STR("?");
        text_format(&text, "%s%.*s", i ? ", " : "", STR_ARGS(name));
        if (node->inputs[i].index > 0)
            text_format(&text, ":%d", node->inputs[i].index);
    }
    text_add(&text, node->n_inputs > FEW ? STR(", ...)'") : STR(")'"));
    for (int i = 0; i < node->n_inputs && i < FEW; i++)
        text_format(&text, "%s%s", i ? ", " : " with input shapes: ", shape_text(&frame->s.in[i]));
    text_char(&text, '.');
    Status *full = text.failed ? OK : status_new(status_code(status), __FILE__, __LINE__, "%s", text.p);
    if (!full)
        return status;
    status_free(status);
    return full;
}

Status *node_infer_shapes(Node *node) {
    Frame frame;
    Status *status = frame_open(&frame, node);
    if (!status) {
        status = infer(&frame, node);
        if (status && status_code(status) != RESOURCE_EXHAUSTED)
            status = shape_error(status, &frame, node);
    }
    arena_clear(&frame.arena);
    return status;
}

// ---------------------------------------- values of inputs

static Status *partial_value(Output from, int depth, int *budget, Shape *out, bool *known) {
    const Op *op = from.node ? from.node->type->op : NULL;
    *known = false;
    // Of several shapes each output is the shape of its own input.
    bool own = op && (op->flags & OP_FROM_SHAPES) && from.node->n_outputs == from.node->n_inputs;
    if (!op || !op->partial || (from.index != 0 && !own) || depth >= PARTIAL_DEPTH || --*budget < 0)
        return OK;
    Frame frame;
    Status *status = frame_open(&frame, from.node);
    if (!status)
        frame.s.in += from.index;
    frame.s.partial_depth = depth;
    frame.s.partial_budget = budget;
    Shape value = UNKNOWN_SHAPE;
    if (!status)
        status = op->partial(&frame.s, &value);
    arena_clear(&frame.arena);
    if (!status && value.rank >= 0) {
        *out = value;
        *known = true;
    }
    return status;
}

Status *shapes_input_shape(Shapes *s, int input, Shape *out) {
    if (s->value[input])
        return tensor_to_shape(s->value[input], out);
    int budget = PARTIAL_BUDGET;
    bool known = false;
    if (s->node && input < s->node->n_inputs)
        TRY(partial_value(s->node->inputs[input], s->partial_depth + 1,
                          s->partial_budget ? s->partial_budget : &budget, out, &known));
    if (known)
        return OK;
    const Shape *in = &s->in[input];
    NEED(in->rank <= 1, INVALID_ARGUMENT, "a shape must be a vector, got one of shape %s", shape_text(in));
    Shape shape = UNKNOWN_SHAPE;
    int64_t n = in->rank == 0 ? 1 : in->rank == 1 ? in->dims[0] : UNKNOWN_DIM;
    NEED(n <= MAX_RANK, INVALID_ARGUMENT, "a shape has at most %d dimensions, got %lld", MAX_RANK, (long long)n);
    if (n >= 0)
        shape = (Shape){.rank = (int32_t)n};
    for (int i = 0; i < n; i++)
        shape.dims[i] = UNKNOWN_DIM;
    *out = shape;
    return OK;
}

bool shapes_input_int(Shapes *s, int input, int64_t *out) {
    const Tensor *value = s->value[input];
    if (value && (value->dtype == DT_int32 || value->dtype == DT_int64) && tensor_count(value) == 1) {
        *out = tensor_int(value, 0);
        return true;
    }
    Shape shape;
    if (value || s->in[input].rank > 0)
        return false;
    Status *status = shapes_input_shape(s, input, &shape);
    bool known = !status && shape.rank == 1 && shape.dims[0] >= 0;
    if (known)
        *out = shape.dims[0];
    status_free(status);
    return known;
}

// ---------------------------------------- functions that serve many ops

Status *shape_unchanged(Shapes *s) {
    NEED(s->n_in > 0, INTERNAL, "an op without inputs has no shape to hand on");
    for (int i = 0; i < s->n_out; i++) {
        s->out[i] = s->in[0];
        s->handle_out[i] = (HandleShape *)s->handle[0];
    }
    return OK;
}

Status *shape_scalar(Shapes *s) {
    for (int i = 0; i < s->n_out; i++)
        s->out[i] = SCALAR_SHAPE;
    return OK;
}

Status *shape_broadcast_all(Shapes *s) {
    Shape shape = SCALAR_SHAPE;
    for (int i = 0; i < s->n_in; i++)
        TRY(shape_broadcast(&shape, &s->in[i], &shape));
    for (int i = 0; i < s->n_out; i++)
        s->out[i] = shape;
    return OK;
}

Status *shape_same_all(Shapes *s) {
    Shape shape = UNKNOWN_SHAPE;
    for (int i = 0; i < s->n_in; i++)
        TRY(shape_merge(&shape, &s->in[i], &shape));
    for (int i = 0; i < s->n_out; i++)
        s->out[i] = shape;
    return OK;
}

Status *shape_from_attr(Shapes *s) {
    const AttrValue *value = node_attr_find(s->node, "shape");
    if (value && value->kind == ATTR_SHAPE && !value->is_list)
        for (int i = 0; i < s->n_out; i++)
            s->out[i] = *value->shape;
    return OK;
}

Status *shape_none(Shapes *s) {
    (void)s;
    return OK;
}
