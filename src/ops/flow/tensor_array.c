// TensorArray — elements written and read by index in the course of one step, each written once: what older loops
// collect. A float, the flow, goes through every op and so puts them into an order.
//
// An array's gradient is another array, kept with it under the name of who asks; there, writes to one place add up.
#include "base/vec.h"
#include "loops/elementwise.h"
#include "ops/op.h"
#include "resource/handle.h"
#include "thread/mutex.h"

typedef struct {
    Tensor value;         // no buffer: not written
    bool read;            // and given up
} Element;

typedef struct Gradient {
    char *source;
    struct TensorArray *array;
} Gradient;

typedef struct TensorArray {
    Resource resource;
    DType dtype;
    Shape element_shape;
    bool grows, gives_up, adds;   // dynamic_size, clear_after_read; a gradient's writes add up
    bool closed;                  // this and the rest: guarded by lock
    Mutex lock;
    VEC(Element) items;
    VEC(Gradient) gradients;
} TensorArray;

enum { MOST_ELEMENTS = 1 << 28 };

static void array_clear(Resource *resource);
static const ResourceType array_type = {"TensorArray", sizeof(TensorArray), array_clear, NULL};

static void drop_items(TensorArray *array) {
    for (size_t i = 0; i < array->items.n; i++)
        tensor_clear(&array->items.p[i].value);
    vec_clear(&array->items);
}

static void array_clear(Resource *resource) {
    TensorArray *array = (TensorArray *)resource;
    drop_items(array);
    for (size_t i = 0; i < array->gradients.n; i++) {
        free(array->gradients.p[i].source);
        resource_release(&array->gradients.p[i].array->resource);
    }
    vec_clear(&array->gradients);
    mutex_clear(&array->lock);
}

static Status *resize(TensorArray *array, int64_t n) {
    NEED(n >= 0 && n <= MOST_ELEMENTS, INVALID_ARGUMENT, "a TensorArray can't have %lld elements", (long long)n);
    NEED_MEMORY(vec_reserve(&array->items, n));
    while (array->items.n < (size_t)n)
        array->items.p[array->items.n++] = (Element){.value.shape = UNKNOWN_SHAPE};
    return OK;
}

static Status *array_new(DType dtype, const Shape *element_shape, int64_t n, TensorArray **out) {
    Resource *resource;
    NEED(n >= 0, INVALID_ARGUMENT, "Size should be >= 0.");
    TRY(resource_new(&array_type, &resource));
    TensorArray *array = (TensorArray *)resource;
    mutex_init(&array->lock);
    array->dtype = dtype;
    array->element_shape = *element_shape;
    Status *status = resize(array, n);
    if (status) {
        resource_release(resource);
        return status;
    }
    *out = array;
    return OK;
}

// ---------------------------------------- making

static Status *put_flow(Kernel *k, int output, float flow) {
    TRY(kernel_output(k, output, SCALAR_SHAPE));
    *(float *)k->out[output]->data = flow;
    return OK;
}

static Status *put_array(Kernel *k, TensorArray *array) {
    Tensor handle;
    TRY(handle_tensor(&array->resource, kernel_device_name(k->node), array->dtype, UNKNOWN_SHAPE, &handle));
    kernel_set_output(k, 0, handle);
    return put_flow(k, 1, 0);
}

static Status *make_run(Kernel *k) {
    TensorArray *array;
    TRY(array_new(node_type(k->node, "dtype"), node_attr_find(k->node, "element_shape")->shape, tensor_int(k->in[0], 0),
                  &array));
    array->grows = node_bool(k->node, "dynamic_size");
    array->gives_up = node_bool(k->node, "clear_after_read");
    Status *status = put_array(k, array);
    resource_release(&array->resource);
    return status;
}

static Status *find(Kernel *k, TensorArray **out) {
    Resource *resource;
    TRY(kernel_resource(k, 0, &array_type, &resource));
    *out = (TensorArray *)resource;
    return OK;
}

// Runs with the array locked.
typedef Status *LockedFn(Kernel *k, TensorArray *array);

static Status *with_array(Kernel *k, LockedFn *fn) {
    TensorArray *array;
    TRY(find(k, &array));
    mutex_lock(&array->lock);
    Status *status = array->closed
                         ? status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "TensorArray has already been closed.")
                         : fn(k, array);
    mutex_unlock(&array->lock);
    resource_release(&array->resource);
    return status;
}

static Status *gradient_locked(Kernel *k, TensorArray *array) {
    Str source = node_str(k->node, "source");
    for (size_t i = 0; i < array->gradients.n; i++)
        if (str_is(source, array->gradients.p[i].source))
            return put_array(k, array->gradients.p[i].array);
    TensorArray *fresh;
    TRY(array_new(array->dtype, &array->element_shape, (int64_t)array->items.n, &fresh));
    fresh->adds = true;
    Gradient gradient = {strndup(source.n ? source.p : "", source.n), fresh};
    if (!gradient.source || !vec_push(&array->gradients, gradient)) {
        free(gradient.source);
        resource_release(&fresh->resource);
        return OUT_OF_MEMORY;
    }
    // What was given up in reading still has a shape, which the gradient may need: zeros stand where nothing is
    // written.
    for (size_t i = 0; i < array->items.n; i++)
        fresh->items.p[i].value.shape = array->items.p[i].value.shape;
    return put_array(k, fresh);
}

static Status *gradient_run(Kernel *k) {
    return with_array(k, gradient_locked);
}

// ---------------------------------------- elements

static Status *check_index(const TensorArray *array, int64_t index) {
    NEED(index >= 0 && index < (int64_t)array->items.n, INVALID_ARGUMENT,
         "Tried to read from index %lld but array size is: %zu", (long long)index, array->items.n);
    return OK;
}

static Status *add_to(const Tensor *sum, const Tensor *more) {
    ElementwiseLoop loop;
    NEED(shape_equal(&sum->shape, &more->shape), INVALID_ARGUMENT,
         "Could not aggregate a gradient of shape %s to one of "
         "shape %s", shape_text(&more->shape), shape_text(&sum->shape));
    NEED(elementwise_find(&elementwise_Add, sum->dtype, &loop), UNIMPLEMENTED, "gradients of type %s",
         dtype_name(sum->dtype));
    elementwise_run(&loop, sum->data, more->data, sum->data, tensor_count(sum), 1, 1);
    return OK;
}

// Takes the value over, also on failure.
static Status *write_value(TensorArray *array, int64_t index, Tensor *value) {
    NEED(index >= 0 && (index < (int64_t)array->items.n || array->grows), INVALID_ARGUMENT,
         "Tried to write to index %lld but array is not resizeable and size is: %zu", (long long)index, array->items.n);
    NEED(value->dtype == array->dtype, INVALID_ARGUMENT, "TensorArray dtype is %s but Op is trying to write dtype %s.",
         dtype_name(array->dtype), dtype_name(value->dtype));
    NEED(shape_compatible(&array->element_shape, &value->shape), INVALID_ARGUMENT,
         "Could not write to TensorArray index %lld because the value shape is %s which is incompatible with the "
         "TensorArray's inferred element shape: %s", (long long)index, shape_text(&value->shape),
         shape_text(&array->element_shape));
    if (index >= (int64_t)array->items.n)
        TRY(resize(array, index + 1));
    Element *element = &array->items.p[index];
    NEED(!element->read, INVALID_ARGUMENT,
         "Could not write to TensorArray index %lld because it has already been read.", (long long)index);
    if (element->value.buffer && array->adds) {
        AUTO(tensor) Tensor sum = {0};
        TRY(tensor_copy(&element->value, &sum));
        TRY(add_to(&sum, value));
        tensor_clear(&element->value);
        element->value = tensor_retain(&sum);
        return OK;
    }
    NEED(!element->value.buffer, INVALID_ARGUMENT,
         "Could not write to TensorArray index %lld because it has already been written to.", (long long)index);
    element->value = *value;
    *value = (Tensor){0};
    return OK;
}

// A reference to the element, not a copy. What was never written reads as zeros where the shape is known: a gradient
// array has no writes for elements that the loss doesn't depend on. With clear_after_read (the default) the array lets
// go of the element, which bounds the memory of a loop that reads what another has written.
static Status *read_value(TensorArray *array, int64_t index, Tensor *out) {
    TRY(check_index(array, index));
    Element *element = &array->items.p[index];
    NEED(!element->read, INVALID_ARGUMENT,
         "Could not read index %lld twice because it was cleared after a previous read "
         "(perhaps try setting clear_after_read = false?)", (long long)index);
    if (!element->value.buffer) {
        Shape shape = shape_is_known(&element->value.shape) ? element->value.shape : array->element_shape;
        NEED(shape_is_known(&shape), INVALID_ARGUMENT, "Could not read from TensorArray index %lld. Furthermore, the "
             "element shape is not fully defined: %s. It is possible you are working with a resizeable TensorArray and "
             "stop_gradients is not allowing the gradients to be written.", (long long)index, shape_text(&shape));
        NEED(array->adds || dtype_is_plain(array->dtype), INVALID_ARGUMENT,
             "Could not read from TensorArray index %lld: it was not written", (long long)index);
        TRY(tensor_new(array->dtype, shape, &element->value));
        if (dtype_is_plain(array->dtype))
            memset(element->value.data, 0, tensor_bytes(&element->value));
    }
    *out = tensor_retain(&element->value);
    if (array->gives_up) {
        Shape shape = element->value.shape;
        tensor_clear(&element->value);
        element->value.shape = shape;
        element->read = true;
    }
    return OK;
}

static float flow_of(const Kernel *k) {
    return *(const float *)k->in[k->n_in - 1]->data;
}

static Status *write_locked(Kernel *k, TensorArray *array) {
    AUTO(tensor) Tensor value = {0};
    TRY(kernel_keep(k, 2, &value));
    TRY(write_value(array, tensor_int(k->in[1], 0), &value));
    return put_flow(k, 0, flow_of(k));
}

static Status *write_run(Kernel *k) {
    return with_array(k, write_locked);
}

static Status *check_type(const Kernel *k, const TensorArray *array) {
    DType wanted = node_value_type(k->node, 0);
    NEED(wanted == array->dtype, INVALID_ARGUMENT, "TensorArray dtype is %s but Op requested dtype %s.",
         dtype_name(array->dtype), dtype_name(wanted));
    return OK;
}

static Status *read_locked(Kernel *k, TensorArray *array) {
    Tensor value;
    TRY(check_type(k, array));
    TRY(read_value(array, tensor_int(k->in[1], 0), &value));
    kernel_set_output(k, 0, value);
    return OK;
}

static Status *read_run(Kernel *k) {
    return with_array(k, read_locked);
}

static Status *size_locked(Kernel *k, TensorArray *array) {
    *(int32_t *)k->out[0]->data = (int32_t)array->items.n;
    return OK;
}

static Status *size_run(Kernel *k) {
    return with_array(k, size_locked);
}

static Status *close_locked(Kernel *k, TensorArray *array) {
    (void)k;
    array->closed = true;
    drop_items(array);
    return OK;
}

static Status *close_run(Kernel *k) {
    return with_array(k, close_locked);
}

// ---------------------------------------- many at once

// What is known of elements where there are none: by the array, and by who asks.
static Status *empty_shape(Kernel *k, const TensorArray *array, bool joins, Shape *out) {
    const AttrValue *asked = node_attr_find(k->node, joins ? "element_shape_except0" : "element_shape");
    Shape shape = asked ? *asked->shape : (Shape)UNKNOWN_SHAPE;
    if (joins && shape.rank >= 0) {
        NEED(shape.rank < MAX_RANK, INVALID_ARGUMENT, "elements of more than %d dimensions", MAX_RANK);
        memmove(shape.dims + 1, shape.dims, (size_t)shape.rank * sizeof *shape.dims);
        shape.dims[0] = UNKNOWN_DIM;
        shape.rank++;
    }
    TRY(shape_merge(&array->element_shape, &shape, out));
    NEED(out->rank > 0 || (out->rank == 0 && !joins), INVALID_ARGUMENT,
         "the shape of an empty TensorArray's elements is not known");
    return OK;
}

// Elements as one tensor: stacked, or (`joins`) one behind the other along their first dimension.
static Status *collect(Kernel *k, TensorArray *array, const Tensor *indices, int64_t n, bool joins, Tensor *values) {
    Shape shape = UNKNOWN_SHAPE;
    int64_t rows = 0;
    for (int64_t i = 0; i < n; i++) {
        TRY(read_value(array, indices ? tensor_int(indices, i) : i, &values[i]));
        Shape own = values[i].shape;
        NEED(!joins || own.rank > 0, INVALID_ARGUMENT, "Concat saw a scalar shape at index %lld but requires at least "
             "vectors.", (long long)i);
        if (joins) {
            rows += own.dims[0];
            own.dims[0] = UNKNOWN_DIM;
        }
        TRY(shape_merge(&shape, &own, &shape));
    }
    if (n == 0)
        TRY(empty_shape(k, array, joins, &shape));
    int64_t dims[MAX_RANK + 1] = {joins ? rows : n};
    int first = joins ? 1 : 0;
    for (int i = first; i < shape.rank; i++)
        dims[i + 1 - first] = shape.dims[i];
    Shape whole;
    NEED(shape.rank >= 0, INVALID_ARGUMENT, "the shape of an empty TensorArray's elements is not known");
    TRY(shape_make(dims, shape.rank + 1 - first, &whole));
    NEED(shape_is_known(&whole), INVALID_ARGUMENT,
         "TensorArray has size zero, but element shape %s is not fully defined.", shape_text(&shape));
    TRY(kernel_output(k, 0, whole));
    size_t size = dtype_size(array->dtype);
    char *at = k->out[0]->data;
    for (int64_t i = 0; i < n; i++) {
        Tensor target = values[i];
        target.data = at;
        TRY(tensor_copy_elements(&values[i], &target));
        at += (size_t)tensor_count(&values[i]) * size;
    }
    return OK;
}

static Status *gather_locked(Kernel *k, TensorArray *array) {
    bool joins = k->n_in == 2;  // handle, flow
    int64_t n = joins ? (int64_t)array->items.n : tensor_count(k->in[1]);
    AUTO(arena) Arena arena = {0};
    Tensor *values = ARENA_ARRAY(&arena, Tensor, n);
    NEED_MEMORY(values);
    TRY(check_type(k, array));
    Status *status = collect(k, array, joins ? NULL : k->in[1], n, joins, values);
    if (!status && joins)
        status = kernel_output(k, 1, SHAPE(n));
    for (int64_t i = 0; i < n; i++) {
        if (!status && joins)
            ((int64_t *)k->out[1]->data)[i] = values[i].shape.dims[0];
        tensor_clear(&values[i]);
    }
    return status;
}

static Status *gather_run(Kernel *k) {
    return with_array(k, gather_locked);
}

// Rows [first, first + n) as a tensor of its own; one row without its dimension unless `keep`.
static Status *rows_of(const Tensor *from, int64_t first, int64_t n, bool keep, Tensor *out) {
    int64_t row = shape_span(&from->shape, 1, from->shape.rank);
    Tensor part = *from;
    part.data = (char *)from->data + (size_t)(first * row) * dtype_size(from->dtype);
    if (keep) {
        part.shape.dims[0] = n;
    } else {
        memmove(part.shape.dims, part.shape.dims + 1, sizeof part.shape.dims - sizeof *part.shape.dims);
        part.shape.dims[MAX_RANK - 1] = 0;
        part.shape.rank--;
    }
    return tensor_copy(&part, out);
}

static Status *scatter_locked(Kernel *k, TensorArray *array) {
    const Tensor *indices = k->in[1], *value = k->in[2];
    NEED(value->shape.dims[0] == tensor_count(indices), INVALID_ARGUMENT,
         "Expected len(indices) == values.shape[0], but saw: %lld vs. %lld", (long long)tensor_count(indices),
         (long long)value->shape.dims[0]);
    for (int64_t i = 0; i < tensor_count(indices); i++) {
        AUTO(tensor) Tensor row = {0};
        TRY(rows_of(value, i, 1, false, &row));
        TRY(write_value(array, tensor_int(indices, i), &row));
    }
    return put_flow(k, 0, flow_of(k));
}

static Status *scatter_run(Kernel *k) {
    return with_array(k, scatter_locked);
}

static Status *split_locked(Kernel *k, TensorArray *array) {
    const Tensor *value = k->in[1], *lengths = k->in[2];
    int64_t at = 0, rows = value->shape.dims[0], n = tensor_count(lengths);
    NEED(n <= (int64_t)array->items.n || array->grows, INVALID_ARGUMENT,
         "TensorArray's size is not equal to the size of lengths (%zu vs. %lld), and the TensorArray is not marked as "
         "dynamically resizeable", array->items.n, (long long)n);
    for (int64_t i = 0; i < n; i++) {
        int64_t length = tensor_int(lengths, i);
        NEED(length >= 0 && length <= rows - at, INVALID_ARGUMENT, "Expected sum of lengths to be equal to "
             "values.shape[0], but sum of lengths is larger than %lld", (long long)rows);
        AUTO(tensor) Tensor part = {0};
        TRY(rows_of(value, at, length, true, &part));
        TRY(write_value(array, i, &part));
        at += length;
    }
    NEED(at == rows, INVALID_ARGUMENT, "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
         "%lld and value's shape is: %s", (long long)at, shape_text(&value->shape));
    return put_flow(k, 0, flow_of(k));
}

static Status *split_run(Kernel *k) {
    return with_array(k, split_locked);
}

// ---------------------------------------- gradients

// All gradients of one call write into one array: its name is the scope without the part of this node, "/node_grad".
static Str gradient_source(const Formula *f) {
    size_t own = f->node->name.n + 6;
    bool ends = f->scope.n > own && f->scope.p[f->scope.n - own] == '/';
    return ends ? (Str){f->scope.p, f->scope.n - own} : f->scope;
}

// The gradient's array; output 1 is its flow.
static Output gradient_of(Formula *f, Output handle, Output flow) {
    Str source = gradient_source(f);
    AttrValue text = {.kind = ATTR_STRING, .s = source};
    return formula_op(f, "TensorArrayGradV3", (Output[]){handle, flow}, 2, ATTRS({"source", text}));
}

#define OF_TYPE(x) ATTRS(TYPE_ATTR("dtype", output_type(x)))

static void read_grad(Formula *f) {
    Output g = gradient_of(f, f->x[0], f->x[2]);
    f->dx[2] = formula_op(f, "TensorArrayWriteV3", (Output[]){g, f->x[1], f->dy[0], At(g, 1)}, 4, NULL);
}

static void write_grad(Formula *f) {
    Output g = gradient_of(f, f->x[0], f->dy[0]);
    f->dx[2] = formula_op(f, "TensorArrayReadV3", (Output[]){g, f->x[1], At(g, 1)}, 3, OF_TYPE(f->x[2]));
    f->dx[3] = f->dy[0];
}

static void gather_grad(Formula *f) {
    Output g = gradient_of(f, f->x[0], f->x[2]);
    f->dx[2] = formula_op(f, "TensorArrayScatterV3", (Output[]){g, f->x[1], f->dy[0], At(g, 1)}, 4, NULL);
}

static void scatter_grad(Formula *f) {
    Output g = gradient_of(f, f->x[0], f->dy[0]);
    f->dx[2] = formula_op(f, "TensorArrayGatherV3", (Output[]){g, f->x[1], At(g, 1)}, 3, OF_TYPE(f->x[2]));
    f->dx[3] = f->dy[0];
}

static void concat_grad(Formula *f) {
    Output g = gradient_of(f, f->x[0], f->x[1]);
    f->dx[1] = formula_op(f, "TensorArraySplitV3", (Output[]){g, f->dy[0], f->y[1], At(g, 1)}, 4, NULL);
}

static void split_grad(Formula *f) {
    Output g = gradient_of(f, f->x[0], f->dy[0]);
    f->dx[1] = formula_op(f, "TensorArrayConcatV3", (Output[]){g, At(g, 1)}, 2, OF_TYPE(f->x[1]));
    f->dx[3] = f->dy[0];
}

// ---------------------------------------- schemas

static Status *make_shape(Shapes *s) {
    s->out[0] = s->out[1] = SCALAR_SHAPE;
    return OK;
}

#define ARRAY_OP(Name, arguments, text, shape_fn, run, ...)                                                   \
    const Op op_##Name = {                                                                                    \
        .signature = #Name arguments "; stateful", .doc = text, .shape = shape_fn, .cpu = ANY_TYPE(run), __VA_ARGS__ \
    };
ARRAY_OP(TensorArrayV3,
         "(size: int32) -> handle: resource, flow: float; dtype: type; element_shape: shape = ?; dynamic_size: bool = "
         "false; clear_after_read: bool = true; identical_element_shapes: bool = false; tensor_array_name: string = \"\"",
         "An array for the values of one step.", make_shape, make_run, .needs = "scalar(size)",
         .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT)
ARRAY_OP(TensorArrayGradV3,
         "(handle: resource, flow_in: float) -> grad_handle: resource, flow_out: float; source: string",
         "The array of the gradients of an array's elements.", make_shape, gradient_run,
         .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT)
ARRAY_OP(TensorArrayWriteV3, "(handle: resource, index: int32, value: T, flow_in: float) -> flow_out: float; T: type",
         "Writes one element.", shape_scalar, write_run, .needs = "scalar(index)", .grad = write_grad, .keeps = BIT(2),
         .flags = OP_DYNAMIC_SHAPE)
ARRAY_OP(TensorArrayReadV3, "(handle: resource, index: int32, flow_in: float) -> value: dtype; dtype: type",
         "Reads one element.", shape_none, read_run, .needs = "scalar(index)", .grad = read_grad, .flags = OP_DYNAMIC_SHAPE)
ARRAY_OP(TensorArrayGatherV3,
         "(handle: resource, indices: int32, flow_in: float) -> value: dtype; dtype: type; element_shape: shape = ?",
         "Some elements, stacked.", shape_none, gather_run, .needs = "vector(indices)", .grad = gather_grad,
         .flags = OP_DYNAMIC_SHAPE)
ARRAY_OP(TensorArrayScatterV3,
         "(handle: resource, indices: int32, value: T, flow_in: float) -> flow_out: float; T: type",
         "Writes rows of a tensor as elements.", shape_scalar, scatter_run,
         .needs = "vector(indices), rank(value) >= 1",
         .grad = scatter_grad, .flags = OP_DYNAMIC_SHAPE)
ARRAY_OP(TensorArrayConcatV3,
         "(handle: resource, flow_in: float) -> value: dtype, lengths: int64; dtype: type; element_shape_except0: shape "
         "= ?",
         "All elements, one behind the other along their first dimension.", shape_none, gather_run, .grad = concat_grad,
         .flags = OP_DYNAMIC_SHAPE)
ARRAY_OP(TensorArraySplitV3,
         "(handle: resource, value: T, lengths: int64, flow_in: float) -> flow_out: float; T: type",
         "Writes parts of a tensor, cut along its first dimension, as elements.", shape_scalar, split_run,
         .needs = "vector(lengths), rank(value) >= 1", .grad = split_grad, .flags = OP_DYNAMIC_SHAPE)
ARRAY_OP(TensorArraySizeV3, "(handle: resource, flow_in: float) -> size: int32", "The number of elements.",
         shape_scalar, size_run, .host_out = BIT(0), .flags = OP_NO_GRADIENT)
ARRAY_OP(TensorArrayCloseV3, "(handle: resource)", "Ends the use of the array.", shape_none, close_run,
         .flags = OP_NO_GRADIENT)
