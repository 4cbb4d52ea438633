// Optional — see optional.h: the object, and its ops.
#include "ops/data/optional.h"

#include "ops/op.h"

typedef struct {
    Object object;
    bool has_value;
    int n;
    Tensor components[];
} Optional;

static void optional_free(Object *object) {
    Optional *optional = (Optional *)object;
    tuple_clear(optional->components, optional->n);
    free(optional);
}

static void optional_print(const Object *object, void *text) {
    const Optional *optional = (const Optional *)object;
    text_format(text, optional->has_value ? "<Optional of %d>" : "<Optional>", optional->n);
}

static const ObjectType optional_type = {.name = "Optional", .free = optional_free, .print = optional_print};

Status *optional_tensor(Tensor *element, int n, Tensor *out) {
    Optional *optional = calloc(1, sizeof *optional + (size_t)n * sizeof *element);
    Status *status = optional ? tensor_new(DT_variant, SCALAR_SHAPE, out) : OUT_OF_MEMORY;
    if (status) {
        tuple_clear(element, n);
        free(optional);
        return status;
    }
    object_init(&optional->object, &optional_type);
    optional->has_value = element != NULL;
    optional->n = n;
    for (int i = 0; i < n; i++)
        optional->components[i] = element[i];
    *(Object **)out->data = &optional->object;
    return OK;
}

static Status *get(const Tensor *tensor, const Optional **out) {
    const Object *object = tensor->dtype == DT_variant && tensor->shape.rank == 0 ? *(Object **)tensor->data : NULL;
    NEED(object && object->type == &optional_type, INVALID_ARGUMENT,
         "Input to OptionalHasValue must be a scalar containing an OptionalVariant object, got %s%s",
         object ? object->type->name : dtype_name(tensor->dtype), shape_text(&tensor->shape));
    *out = (const Optional *)object;
    return OK;
}

static Status *from_value_run(Kernel *k) {
    Tensor *components = calloc((size_t)k->n_in + 1, sizeof *components), optional;
    NEED_MEMORY(components);
    Status *status = OK;
    int n = 0;
    for (; n < k->n_in && !status; n++)
        status = kernel_keep(k, n, &components[n]);
    if (status)
        tuple_clear(components, k->n_in);
    else
        status = optional_tensor(components, k->n_in, &optional);
    free(components);
    TRY(status);
    kernel_set_output(k, 0, optional);
    return OK;
}

static Status *none_run(Kernel *k) {
    Tensor optional;
    TRY(optional_tensor(NULL, 0, &optional));
    kernel_set_output(k, 0, optional);
    return OK;
}

static Status *has_value_run(Kernel *k) {
    const Optional *optional;
    TRY(get(k->in[0], &optional));
    *(bool *)k->out[0]->data = optional->has_value;
    return OK;
}

static Status *get_value_run(Kernel *k) {
    const Optional *optional;
    TRY(get(k->in[0], &optional));
    NEED(optional->has_value, INVALID_ARGUMENT, "The given optional does not have a value.");
    NEED(optional->n == k->n_out, INVALID_ARGUMENT, "The given optional has %d components, expected %d.", optional->n, k->n_out);
    const AttrValue *shapes = node_list(k->node, "output_shapes");
    for (int i = 0; i < optional->n; i++) {
        const Tensor *component = &optional->components[i];
        NEED(component->dtype == k->node->output_types[i], INVALID_ARGUMENT,
             "The given optional does not match the expected type for component %d. Expected: %s. Actual: %s.", i,
             dtype_name(k->node->output_types[i]), dtype_name(component->dtype));
        NEED(shapes->kind != ATTR_SHAPE || i >= shapes->n || shape_compatible(&component->shape, &shapes->shapes[i]),
             INVALID_ARGUMENT, "The given optional does not match the expected shape for component %d: %s.", i,
             shape_text(&component->shape));
    }
    for (int i = 0; i < optional->n; i++)
        kernel_set_output(k, i, tensor_retain(&optional->components[i]));
    return OK;
}

static Status *get_value_shape(Shapes *s) {
    const AttrValue *shapes = node_list(s->node, "output_shapes");
    for (int i = 0; shapes->kind == ATTR_SHAPE && i < shapes->n && i < s->n_out; i++)
        s->out[i] = shapes->shapes[i];
    return OK;
}

#define MAKES_OPTIONAL .shape = shape_scalar, .flags = OP_DYNAMIC_SHAPE | OP_CHEAP | OP_NO_GRADIENT
const Op op_OptionalFromValue = {
    .signature = "OptionalFromValue(components: Toutput_types) -> optional: variant; Toutput_types: list(type) >= 1",
    .doc = "An optional that has these components.", .keeps = BIT(0), .cpu = ANY_TYPE(from_value_run), MAKES_OPTIONAL,
};

const Op op_OptionalNone = {
    .signature = "OptionalNone() -> optional: variant", .doc = "An optional without a value.", .cpu = ANY_TYPE(none_run),
    MAKES_OPTIONAL,
};

const Op op_OptionalHasValue = {
    .signature = "OptionalHasValue(optional: variant) -> has_value: bool", .doc = "Whether the optional has a value.",
    .shape = shape_scalar, .cpu = ANY_TYPE(has_value_run), .flags = OP_NO_GRADIENT,
};

const Op op_OptionalGetValue = {
    .signature = "OptionalGetValue(optional: variant) -> components: output_types; output_types: list(type) >= 1; "
                 "output_shapes: list(shape) >= 1",
    .doc = "The components of an optional that has a value.", .needs = "scalar(optional)",
    .shape = get_value_shape, .cpu = ANY_TYPE(get_value_run), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
