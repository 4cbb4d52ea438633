// Dataset — see dataset.h: what all types of datasets share, made from nodes and pulled.
#include "data/dataset.h"

#include <stdlib.h>

#include "base/clock.h"
#include "kernel/call.h"

// ---- life

static void dataset_free(Object *object) {
    Dataset *dataset = (Dataset *)object;
    if (dataset->type->clear)
        dataset->type->clear(dataset);
    for (int i = 0; i < dataset->n_inputs; i++)
        dataset_release(dataset->inputs[i]);
    for (size_t i = 0; i < dataset->captured.n; i++)
        tensor_clear(&dataset->captured.p[i]);
    vec_clear(&dataset->captured);
    tensor_list_auto(&dataset->tensors);
    arena_clear(&dataset->arena);
    free(dataset);
}

static void dataset_print(const Object *object, void *text) {
    text_format(text, "<%sDataset>", ((const Dataset *)object)->type->name);
}

static const ObjectType dataset_object = {.name = "Dataset", .free = dataset_free, .print = dataset_print};

Status *dataset_set_components(Dataset *dataset, int n, const DType *dtypes, const Shape *shapes) {
    NEED(n <= DATASET_COMPONENTS, INVALID_ARGUMENT, "elements of %d components", n);
    dataset->dtypes = ARENA_ARRAY(&dataset->arena, DType, n);
    dataset->shapes = ARENA_ARRAY(&dataset->arena, Shape, n);
    NEED_MEMORY(dataset->dtypes && dataset->shapes);
    for (int i = 0; i < n; i++) {
        dataset->dtypes[i] = dtypes[i];
        dataset->shapes[i] = shapes[i];
    }
    dataset->n_components = n;
    return OK;
}

static Status *dataset_alloc(const DatasetType *type, Dataset **out) {
    Dataset *dataset = calloc(1, type->size ? type->size : sizeof *dataset);
    NEED_MEMORY(dataset);
    object_init(&dataset->object, &dataset_object);
    dataset->type = type;
    *out = dataset;
    return OK;
}

Status *dataset_new(const DatasetType *type, int n, const DType *dtypes, const Shape *shapes, Dataset **out) {
    Dataset *dataset;
    TRY(dataset_alloc(type, &dataset));
    Status *status = dataset_set_components(dataset, n, dtypes, shapes);
    if (status)
        dataset_release(dataset);
    else
        *out = dataset;
    return status;
}

Status *dataset_tensor(Dataset *dataset, Tensor *out) {
    Status *status = tensor_new(DT_variant, SCALAR_SHAPE, out);
    if (status)
        dataset_release(dataset);
    else
        *(Object **)out->data = &dataset->object;
    return status;
}

Status *dataset_get(const Tensor *tensor, Dataset **out) {
    const Object *object = tensor->dtype == DT_variant && tensor->shape.rank == 0 ? *(Object **)tensor->data : NULL;
    NEED(object && object->type == &dataset_object, INVALID_ARGUMENT,
         "The tensor must be a variant scalar that holds a dataset, got %s%s",
         object ? object->type->name : dtype_name(tensor->dtype), shape_text(&tensor->shape));
    *out = (Dataset *)(uintptr_t)object;
    return OK;
}

// ---- from a node

// What the node says of elements; the types of the op's components where it says no other.
static Status *read_components(const Node *node, Dataset *dataset) {
    const AttrValue *types = node_attr_find(node, "output_types"), *shapes = node_attr_find(node, "output_shapes");
    types = types ? types : node_attr_find(node, "Toutput_types");
    if (!types)
        return OK;
    NEED(!shapes || !shapes->n || shapes->n == types->n, INVALID_ARGUMENT, "%d types of components, but %d shapes",
         types->n, shapes->n);
    NEED(types->n <= DATASET_COMPONENTS, INVALID_ARGUMENT, "elements of %d components", types->n);
    dataset->dtypes = ARENA_ARRAY(&dataset->arena, DType, types->n);
    dataset->shapes = ARENA_ARRAY(&dataset->arena, Shape, types->n);
    NEED_MEMORY(dataset->dtypes && dataset->shapes);
    for (int i = 0; i < types->n; i++) {
        dataset->dtypes[i] = types->types[i];
        dataset->shapes[i] = shapes && shapes->n ? shapes->shapes[i] : UNKNOWN_SHAPE;
    }
    dataset->n_components = types->n;
    return OK;
}

static Status *read_inputs(Kernel *k, Dataset *dataset) {
    if (!dataset->type->n_inputs)
        return OK;
    int first, count, n = dataset->type->n_inputs;
    node_input_span(k->node, 0, &first, &count);
    n = count > 1 ? count : n;
    NEED(n <= k->n_in, INTERNAL, "%d datasets, but %d inputs", n, k->n_in);
    dataset->inputs = ARENA_ARRAY(&dataset->arena, Dataset *, n);
    NEED_MEMORY(dataset->inputs);
    for (int i = 0; i < n; i++) {
        Dataset *input;
        TRY(dataset_get(k->in[i], &input));
        dataset->inputs[dataset->n_inputs++] = dataset_retain(input);
        dataset->depth = input->depth >= dataset->depth ? input->depth + 1 : dataset->depth;
    }
    NEED(dataset->depth < DATASET_DEPTH, RESOURCE_EXHAUSTED, "more than %d datasets one over the other", DATASET_DEPTH);
    return OK;
}

Status *dataset_read_function(Kernel *k, Dataset *dataset, const char *attribute, const char *captured,
                              DatasetFunction *out) {
    const AttrValue *named = node_attr_find(k->node, attribute);
    NEED(named && named->kind == ATTR_FUNC && !named->is_list, INVALID_ARGUMENT, "there is no function '%s'", attribute);
    AttrValue copy;
    TRY(attr_copy(&dataset->arena, &dataset->tensors, named, &copy));
    out->name = *copy.func;
    int first = 0, count = 0;
    if (node_input_arg(k->node, str_of(captured), &first, &count) < 0)
        count = 0;
    out->captured = ARENA_ARRAY(&dataset->arena, Tensor, count);
    NEED_MEMORY(out->captured);
    for (int i = 0; i < count; i++) {
        NEED_MEMORY(vec_reserve(&dataset->captured, dataset->captured.n + 1));
        TRY(kernel_keep(k, first + i, &out->captured[i]));
        dataset->captured.p[dataset->captured.n++] = out->captured[i];
        out->n_captured = i + 1;
    }
    return OK;
}

Status *dataset_int(const Kernel *k, const char *argument, int64_t *out) {
    int first, count;
    NEED(node_input_arg(k->node, str_of(argument), &first, &count) >= 0 && count == 1, INTERNAL, "no input %s", argument);
    const Tensor *value = k->in[first];
    NEED(value->shape.rank == 0, INVALID_ARGUMENT, "%s must be a scalar, got %s", argument, shape_text(&value->shape));
    *out = value->dtype == DT_bool ? *(const bool *)value->data : tensor_int(value, 0);
    return OK;
}

static Status *fill(Kernel *k, Dataset *dataset) {
    const DatasetType *type = dataset->type;
    if (!type->same)
        TRY(read_components(k->node, dataset));
    TRY(read_inputs(k, dataset));
    if (type->same)
        TRY(dataset_set_components(dataset, dataset->inputs[0]->n_components, dataset->inputs[0]->dtypes,
                                   dataset->inputs[0]->shapes));
    if (type->function)
        TRY(dataset_read_function(k, dataset, type->function, "other_arguments", &dataset->function));
    return type->fill ? type->fill(k, dataset) : OK;
}

Status *dataset_make(Kernel *k, Dataset **out) {
    Dataset *dataset;
    TRY(dataset_alloc(node_op(k->node)->row, &dataset));
    Status *status = fill(k, dataset);
    if (status)
        dataset_release(dataset);
    else
        *out = dataset;
    return status;
}

Status *dataset_run(Kernel *k) {
    Dataset *dataset;
    Tensor handle;
    TRY(dataset_make(k, &dataset));
    TRY(dataset_tensor(dataset, &handle));
    kernel_set_output(k, 0, handle);
    return OK;
}

int64_t dataset_cardinality(const Dataset *dataset) {
    if (dataset->type->cardinality)
        return dataset->type->cardinality(dataset);
    return dataset->n_inputs ? dataset_cardinality(dataset->inputs[0]) : CARDINALITY_UNKNOWN;
}

// ---- pipelines

Status *pipeline_new(Background *background, Pipeline **out) {
    NEED(background, FAILED_PRECONDITION, "a dataset needs a session to run in");
    Pipeline *pipeline = calloc(1, sizeof *pipeline);
    NEED_MEMORY(pipeline);
    atomic_init(&pipeline->references, 1);
    pipeline->background = background_retain(background);
    cancellation_init(&pipeline->cancellation, &background->cancellation);
    *out = pipeline;
    return OK;
}

Pipeline *pipeline_retain(Pipeline *pipeline) {
    atomic_fetch_add_explicit(&pipeline->references, 1, memory_order_relaxed);
    return pipeline;
}

void pipeline_release(Pipeline *pipeline) {
    if (!pipeline || atomic_fetch_sub_explicit(&pipeline->references, 1, memory_order_acq_rel) != 1)
        return;
    cancellation_clear(&pipeline->cancellation);
    background_release(pipeline->background);
    free(pipeline);
}

// ---- sources

Status *source_open(const Dataset *dataset, Pipeline *pipeline, const Source *parent, Source **out) {
    const DatasetType *type = dataset->type;
    int depth = parent ? parent->depth + 1 : 0;
    NEED(depth < 2 * DATASET_DEPTH, RESOURCE_EXHAUSTED, "datasets lie in more than %d others", 2 * DATASET_DEPTH);
    Source *source = calloc(1, type->source_size ? type->source_size : sizeof *source);
    NEED_MEMORY(source);
    source->type = type;
    source->dataset = dataset_retain(dataset);
    source->pipeline = pipeline_retain(pipeline);
    source->depth = depth;
    Status *status = OK;
    if (type->open)
        status = type->open(source);
    else if (dataset->n_inputs)
        status = source_open(dataset->inputs[0], pipeline, source, &source->input);
    if (status)
        source_close(source);
    else
        *out = source;
    return status;
}

void source_close(Source *source) {
    if (!source)
        return;
    if (source->type->close)
        source->type->close(source);
    source_close(source->input);
    dataset_release(source->dataset);
    pipeline_release(source->pipeline);  // NOLINT(clang-analyzer-unix.Malloc): its input was another source
    free(source);
}

static Status *check_types(const Source *source, Tensor *out) {
    const Dataset *dataset = source->dataset;
    for (int i = 0; i < dataset->n_components; i++)
        if (out[i].dtype != dataset->dtypes[i]) {
            DType found = out[i].dtype;
            tuple_clear(out, dataset->n_components);
            FAIL(INVALID_ARGUMENT, "component %d of an element of %sDataset is of type %s, expected %s", i,
                 source->type->name, dtype_name(found), dtype_name(dataset->dtypes[i]));
        }
    return OK;
}

Status *source_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    if (pull->cancellation && cancellation_is_set(pull->cancellation))
        TRY(cancellation_check(pull->cancellation));
    NEED(pull->deadline == NO_DEADLINE || clock_now() < pull->deadline, DEADLINE_EXCEEDED,
         "the deadline passed before the element came");
    TRY(source->type->next(source, pull, out, how));
    return *how == PULLED ? check_types(source, out) : OK;
}

// ---- functions

static Status *call_inside(const Source *source, const Pull *pull, const DatasetFunction *function, const Tensor *all,
                           int n_all, Tensor *out, int n_out) {
    Background *background = source->pipeline->background;
    Cancellation *cancellation = pull->cancellation ? pull->cancellation : &source->pipeline->cancellation;
    StepContext context = {.cancellation = cancellation, .deadline = pull->deadline, .threads = background->threads,
                           .resources = background->resources, .caller = background->caller, .depth = pull->depth,
                           .trace = pull->trace};
    return background->caller->call(background->caller, &context, &function->name, all, n_all, out, n_out);
}

Status *source_call(const Source *source, const Pull *pull, const DatasetFunction *function, const Tensor *arguments,
                    int n_arguments, Tensor *out, int n_out) {
    enum { FEW = 16 };
    int n = n_arguments + function->n_captured;
    Tensor few[FEW], *all = n <= FEW ? few : malloc((size_t)n * sizeof *all);
    NEED_MEMORY(all);
    for (int i = 0; i < n; i++)
        all[i] = i < n_arguments ? arguments[i] : function->captured[i - n_arguments];
    Status *status = background_begin(source->pipeline->background);
    if (!status) {
        status = call_inside(source, pull, function, all, n, out, n_out);
        background_end(source->pipeline->background);
    }
    if (all != few)
        free(all);
    return status;
}

Status *source_call_scalar(const Source *source, const Pull *pull, const DatasetFunction *function,
                           const Tensor *arguments, int n_arguments, DType dtype, int64_t *out) {
    AUTO(tensor) Tensor result = {0};
    TRY(source_call(source, pull, function, arguments, n_arguments, &result, 1));
    NEED(result.dtype == dtype && result.shape.rank == 0, INVALID_ARGUMENT,
         "function '%.*s' must return a scalar of type %s, got %s%s", STR_ARGS(function->name.name), dtype_name(dtype),
         dtype_name(result.dtype), shape_text(&result.shape));
    *out = dtype == DT_bool ? *(const bool *)result.data : tensor_int(&result, 0);
    return OK;
}

Status *source_call_open(const Source *source, const Pull *pull, const DatasetFunction *function,
                         const Tensor *arguments, int n_arguments, Source **out) {
    AUTO(tensor) Tensor result = {0};
    TRY(source_call(source, pull, function, arguments, n_arguments, &result, 1));
    Dataset *dataset;
    TRY(dataset_get(&result, &dataset));
    const Dataset *own = source->dataset;
    NEED(dataset->n_components == own->n_components, INVALID_ARGUMENT,
         "function '%.*s' returns a dataset of %d components, expected %d", STR_ARGS(function->name.name),
         dataset->n_components, own->n_components);
    return source_open(dataset, source->pipeline, source, out);
}
