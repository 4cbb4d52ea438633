// Queries — what a variable is: there, initialized, of which shape; and reading parts of it while it is locked.
#include "ops/array/moving.h"
#include "resource/handle.h"
#include "resource/variable.h"

// ---------------------------------------- is it there

// A variable that doesn't exist (any more) is not initialized; *out is NULL then.
static Status *find_variable(Kernel *k, Variable **out) {
    Resource *resource;
    *out = NULL;
    Status *status = kernel_resource(k, 0, &variable_type, &resource);
    if (status_code(status) == NOT_FOUND) {
        status_free(status);
        return OK;
    }
    TRY(status);
    *out = variable_of(resource);
    return OK;
}

static Status *initialized_run(Kernel *k) {
    Variable *variable;
    TRY(find_variable(k, &variable));
    *(bool *)k->out[0]->data = variable && variable_is_initialized(variable);
    resource_release(variable ? &variable->resource : NULL);
    return OK;
}

const Op op_VarIsInitializedOp = {
    .signature = "VarIsInitializedOp(resource: resource) -> is_initialized: bool; stateful",
    .doc = "Whether the variable has a value.", .shape = shape_scalar, .cpu = ANY_TYPE(initialized_run),
    .flags = OP_NO_GRADIENT,
};
// Readers share a variable's memory and writers copy what they hold: there is no other mode to leave.
static Status *disable_run(Kernel *k) {
    Variable *variable;
    TRY(find_variable(k, &variable));
    bool there = variable && variable_is_initialized(variable);
    resource_release(variable ? &variable->resource : NULL);
    NEED(there, FAILED_PRECONDITION, "Could not find the variable. This could mean that it has been deleted, or is "
         "uninitialized.");
    return OK;
}

const Op op_DisableCopyOnRead = {
    .signature = "DisableCopyOnRead(resource: resource); stateful",
    .doc = "Ends a mode of the variable in which each reading copies it; there is none here.", .shape = shape_none,
    .cpu = ANY_TYPE(disable_run), .flags = OP_NO_GRADIENT,
};
const Op op_IsVariableInitialized = {
    .signature = "IsVariableInitialized(ref: ref dtype) -> is_initialized: bool; dtype: type; allows_uninitialized",
    .doc = "Whether the variable has a value.", .shape = shape_scalar, .cpu = ANY_TYPE(initialized_run),
    .flags = OP_STATEFUL | OP_NO_GRADIENT,
};

typedef struct {
    bool ignore;
} DestroyOwn;

static Status *destroy_prepare(Prepare *p) {
    ((DestroyOwn *)p->own)->ignore = node_bool(p->node, "ignore_lookup_error");
    return OK;
}

static Status *destroy_run(Kernel *k) {
    const Handle *handle;
    TRY(handle_get(k->in[0], 0, &handle));
    Status *status = OK;
    if (handle->resource && k->step->resources)
        status = resource_remove(k->step->resources, handle->resource);
    if (status_code(status) == NOT_FOUND && ((const DestroyOwn *)k->own)->ignore) {
        status_free(status);
        return OK;
    }
    return status;
}

const Op op_DestroyResourceOp = {
    .signature = "DestroyResourceOp(resource: resource); ignore_lookup_error: bool = true; stateful",
    .doc = "Takes the resource out of its table and empties it.", .shape = shape_none, .prepare = destroy_prepare,
    .own_size = sizeof(DestroyOwn), .cpu = ANY_TYPE(destroy_run), .flags = OP_NO_GRADIENT | OP_WRITES,
};

// ---------------------------------------- its shape

static Status *variable_shape_shape(Shapes *s) {
    int64_t rank = s->handle[0] ? s->handle[0]->shape.rank : UNKNOWN_DIM;
    s->out[0] = SHAPE(rank < 0 ? UNKNOWN_DIM : rank);
    return OK;
}

static Status *variable_shape_run(Kernel *k) {
    const Shape *shape = &k->in[0]->shape;
    for (int i = 0; i < shape->rank; i++) {
        if (k->out[0]->dtype == DT_int64)
            ((int64_t *)k->out[0]->data)[i] = shape->dims[i];
        else
            ((int32_t *)k->out[0]->data)[i] = (int32_t)shape->dims[i];
    }
    return OK;
}

static COLD Status *variable_shape_hlo(Hlo *h) {
    return hlo_out_ints(h, 0, *hlo_in_shape(h, 0));
}

const Op op_VariableShape = {
    .signature = "VariableShape(input: resource) -> output: out_type; out_type: {int32, int64} = int32; stateful",
    .doc = "The shape of the variable's value.", .shape = variable_shape_shape, .read = BIT(0),
    .cpu = ANY_TYPE(variable_shape_run), .host_out = BIT(0), .flags = OP_FROM_SHAPES | OP_CHEAP | OP_NO_GRADIENT,
    .hlo = variable_shape_hlo,
};

// ---------------------------------------- parts of it

typedef struct {
    int64_t batch_dims;
} GatherOwn;

// Dimensions [0, n_a) of a, [from_b, ...) of b, [from_c, ...) of c; unknown where a rank is.
static Status *three_parts(const Shape *a, int n_a, const Shape *b, int from_b, const Shape *c, int from_c,
                           Shape *out) {
    *out = UNKNOWN_SHAPE;
    if (a->rank < 0 || b->rank < 0 || c->rank < 0)
        return OK;
    int64_t dims[3 * MAX_RANK];
    int n = 0;
    for (int i = 0; i < n_a; i++)
        dims[n++] = a->dims[i];
    for (int i = from_b; i < b->rank; i++)
        dims[n++] = b->dims[i];
    for (int i = from_c; i < c->rank; i++)
        dims[n++] = c->dims[i];
    return shape_make(dims, n, out);
}

static Status *gathered_shape(const Shape *params, const Shape *indices, int64_t batch, Shape *out) {
    *out = UNKNOWN_SHAPE;
    if (params->rank < 0 || indices->rank < 0)
        return OK;
    batch = batch < 0 ? batch + indices->rank : batch;
    NEED(batch >= 0 && batch <= indices->rank && batch < params->rank, INVALID_ARGUMENT,
         "params of shape %s must have at least 1 dimension more than batch_dims = %lld, which indices of shape %s has",
         shape_text(params), (long long)batch, shape_text(indices));
    for (int i = 0; i < batch; i++)
        NEED(params->dims[i] < 0 || indices->dims[i] < 0 || params->dims[i] == indices->dims[i], INVALID_ARGUMENT,
             "params of shape %s and indices of shape %s disagree in batch dimension %d", shape_text(params),
             shape_text(indices), i);
    return three_parts(params, (int)batch, indices, (int)batch, params, (int)batch + 1, out);
}

static Shape declared(const Shapes *s) {
    return s->handle[0] ? s->handle[0]->shape : UNKNOWN_SHAPE;
}

static Status *gather_shape(Shapes *s) {
    Shape params = declared(s);
    return gathered_shape(&params, &s->in[1], node_int(s->node, "batch_dims"), &s->out[0]);
}

static Status *gather_prepare(Prepare *p) {
    ((GatherOwn *)p->own)->batch_dims = node_int(p->node, "batch_dims");
    return OK;
}

static Status *copy_rows(const Tensor *params, int64_t from, const Tensor *out, int64_t to, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        TRY(element_copy(params, from + i, out, to + i));
    return OK;
}

// Strings and objects, element by element.
static Status *gather_objects(Kernel *k, int64_t extent, int64_t row, int64_t b, int64_t n) {
    for (int64_t i = b * n; i < (b + 1) * n; i++) {
        int64_t index = tensor_int(k->in[1], i);
        if (index < 0 || index >= extent)
            KERNEL_INDEX_ERROR("indices", i, index, extent);
        TRY(copy_rows(k->in[0], (b * extent + index) * row, k->out[0], i * row, row));
    }
    return OK;
}

static Status *gather_run(Kernel *k) {
    const Tensor *params = k->in[0], *indices = k->in[1];
    int64_t batch = ((const GatherOwn *)k->own)->batch_dims;
    batch = batch < 0 ? batch + indices->shape.rank : batch;
    int at = (int)batch;
    int64_t batches = shape_span(&params->shape, 0, at), extent = params->shape.dims[at];
    int64_t row = shape_span(&params->shape, at + 1, params->shape.rank);
    int64_t n = shape_span(&indices->shape, at, indices->shape.rank);
    size_t bytes = (size_t)row * dtype_size(params->dtype), index_size = dtype_size(indices->dtype);
    for (int64_t b = 0; b < batches && n; b++) {
        if (!dtype_is_plain(params->dtype)) {
            TRY(gather_objects(k, extent, row, b, n));
            continue;
        }
        int64_t bad = gather_rows((const char *)params->data + (size_t)(b * extent) * bytes, extent, bytes,
                                  (const char *)indices->data + (size_t)(b * n) * index_size, indices->dtype, n,
                                  (char *)k->out[0]->data + (size_t)(b * n) * bytes, 0, n);
        if (bad >= 0)
            KERNEL_INDEX_ERROR("indices", b * n + bad, tensor_int(indices, b * n + bad), extent);
    }
    return OK;
}

// Rows of the variable that were read get what came back for them: IndexedSlices.
static void gather_grad(Formula *f) {
    if (node_int(f->node, "batch_dims") != 0) {
        formula_fail(f, status_new(UNIMPLEMENTED, __FILE__, __LINE__, "No gradient defined for batch_dims != 0"));
        return;
    }
    Output shape = OpWith("VariableShape", ATTRS(TYPE_ATTR("out_type", DT_int32)), f->x[0]);
    Output count = Reshape(SizeOf(f->x[1]), Ints(1));
    Output row = Slice(shape, Ints(1), Ints(-1));
    f->dx[0] = Reshape(f->dy[0], Concat(((Output[]){count, row}), 2, Int(0)));
    f->dx_indices[0] = Reshape(f->x[1], Ints(-1));
    f->dx_shape[0] = shape;
}

static COLD Status *gather_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0), indices = hlo_in(h, 1);
    int64_t batch = node_int(h->node, "batch_dims");
    TRY(h->status);
    batch += batch < 0 ? indices->shape.rank : 0;
    hlo_check_range(h, indices, x->shape.dims[batch], "indices are out of range");
    return hlo_out(h, 0, hlo_take(h, x, indices, (int)batch, (int)batch));
}

const Op op_ResourceGather = {
    .signature = "ResourceGather(resource: resource, indices: Tindices) -> output: dtype; batch_dims: int = 0; "
                 "validate_indices: bool = true; dtype: type; Tindices: {int32, int64}; stateful",
    .doc = "Rows of the variable, read without a copy of the rest.", .shape = gather_shape, .grad = gather_grad,
    .prepare = gather_prepare, .own_size = sizeof(GatherOwn), .read = BIT(0), .cpu = ANY_TYPE(gather_run),
    .hlo = gather_hlo,
};

static Status *gathered_nd_shape(const Shape *params, const Shape *indices, Shape *out) {
    *out = UNKNOWN_SHAPE;
    NEED(indices->rank != 0, INVALID_ARGUMENT, "indices must be at least a vector");
    if (params->rank < 0 || indices->rank < 0 || indices->dims[indices->rank - 1] < 0)
        return OK;
    int64_t depth = indices->dims[indices->rank - 1];
    NEED(depth <= params->rank, INVALID_ARGUMENT, "index innermost dimension length must be <= params rank; saw: %lld "
         "vs. %d", (long long)depth, params->rank);
    Shape none = SCALAR_SHAPE;
    return three_parts(indices, indices->rank - 1, &none, 0, params, (int)depth, out);
}

static Status *gather_nd_shape(Shapes *s) {
    Shape params = declared(s);
    return gathered_nd_shape(&params, &s->in[1], &s->out[0]);
}

static Status *gather_nd_run(Kernel *k) {
    const Tensor *params = k->in[0], *indices = k->in[1];
    int depth = (int)indices->shape.dims[indices->shape.rank - 1];
    int64_t n = shape_span(&indices->shape, 0, indices->shape.rank - 1);
    int64_t row = shape_span(&params->shape, depth, params->shape.rank);
    size_t bytes = (size_t)row * dtype_size(params->dtype);
    for (int64_t i = 0; i < n; i++) {
        int64_t from = 0;
        for (int d = 0; d < depth; d++) {
            int64_t at = tensor_int(indices, i * depth + d);
            NEED(at >= 0 && at < params->shape.dims[d], INVALID_ARGUMENT,
                 "indices[%lld] does not index into param shape %s: %lld in dimension %d", (long long)i,
                 shape_text(&params->shape), (long long)at, d);
            from = from * params->shape.dims[d] + at;
        }
        if (!dtype_is_plain(params->dtype))
            TRY(copy_rows(params, from * row, k->out[0], i * row, row));
        else if (bytes)
            memcpy((char *)k->out[0]->data + (size_t)i * bytes, (const char *)params->data + (size_t)from * bytes,
                   bytes);
    }
    return OK;
}

static void gather_nd_grad(Formula *f) {
    Output shape = OpWith("VariableShape", ATTRS(TYPE_ATTR("out_type", output_type(f->x[1]))), f->x[0]);
    f->dx[0] = ScatterNd(f->x[1], f->dy[0], shape);
}

static COLD Status *gather_nd_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0), indices = hlo_in(h, 1);
    TRY(h->status);
    int last = indices->shape.rank - 1;
    for (int i = 0; i < indices->shape.dims[last] && !h->status; i++)
        hlo_check_range(h, hlo_part(h, indices, last, i, i + 1), x->shape.dims[i], "indices are out of range");
    return hlo_out(h, 0, hlo_take_nd(h, x, indices));
}

const Op op_ResourceGatherNd = {
    .signature = "ResourceGatherNd(resource: resource, indices: Tindices) -> output: dtype; dtype: type; "
                 "Tindices: {int32, int64}; stateful",
    .doc = "Slices of the variable by points, read without a copy of the rest.", .shape = gather_nd_shape,
    .grad = gather_nd_grad, .read = BIT(0), .cpu = ANY_TYPE(gather_nd_run), .hlo = gather_nd_hlo,
};

// ---------------------------------------- counting

typedef struct {
    int64_t limit;
} CountOwn;

static Status *count_prepare(Prepare *p) {
    NEED(p->in[0]->shape.rank == 0, INVALID_ARGUMENT, "input is not a scalar: %s", shape_text(&p->in[0]->shape));
    ((CountOwn *)p->own)->limit = node_int(p->node, "limit");
    return OK;
}

static Status *count_run(Kernel *k) {
    int64_t limit = ((const CountOwn *)k->own)->limit, now = tensor_int(k->in[0], 0);
    NEED(now < limit, OUT_OF_RANGE, "Reached limit of %lld", (long long)limit);
    memcpy(k->out[0]->data, k->in[0]->data, dtype_size(k->in[0]->dtype));
    if (k->in[0]->dtype == DT_int64)
        *(int64_t *)k->in[0]->data = now + 1;
    else
        *(int32_t *)k->in[0]->data = (int32_t)(now + 1);
    return OK;
}

const Op op_CountUpTo = {
    .signature = "CountUpTo(ref: ref T) -> output: T; limit: int; T: {int32, int64}",
    .doc = "The variable's value, which then grows by one; OUT_OF_RANGE at the limit.", .shape = shape_scalar,
    .prepare = count_prepare, .own_size = sizeof(CountOwn), .update = BIT(0), .cpu = ANY_TYPE(count_run),
    .flags = OP_STATEFUL | OP_NO_GRADIENT,
};
const Op op_ResourceCountUpTo = {
    .signature = "ResourceCountUpTo(resource: resource) -> output: T; limit: int; T: {int32, int64}; stateful",
    .doc = "The variable's value, which then grows by one; OUT_OF_RANGE at the limit.", .shape = shape_scalar,
    .prepare = count_prepare, .own_size = sizeof(CountOwn), .update = BIT(0), .cpu = ANY_TYPE(count_run),
    .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- variables of a step

static Status *temporary_run(Kernel *k) {
    DType dtype = node_type(k->node, "dtype");
    Shape shape = *node_attr_find(k->node, "shape")->shape;
    Variable *variable;
    AUTO(tensor) Tensor value = {0};
    Tensor handle;
    NEED(shape_is_known(&shape), INVALID_ARGUMENT, "the shape of a temporary variable must be known: %s",
         shape_text(&shape));
    TRY(tensor_new(dtype, shape, &value));
    if (dtype_is_plain(dtype))
        memset(value.data, 0, tensor_bytes(&value));
    TRY(variable_new(dtype, shape, &variable));
    Status *status = variable_assign(variable, &value, false);
    if (!status)
        status = handle_tensor(&variable->resource, kernel_device_name(k->node), dtype, shape, &handle);
    resource_release(&variable->resource);
    TRY(status);
    kernel_set_output(k, 0, handle);
    return OK;
}

const Op op_TemporaryVariable = {
    .signature = "TemporaryVariable() -> ref: ref dtype; shape: shape; dtype: type; var_name: string = \"\"; stateful",
    .doc = "A variable that lives as long as somebody in the step refers to it.", .shape = shape_from_attr,
    .cpu = ANY_TYPE(temporary_run), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};

static Status *destroy_temporary_run(Kernel *k) {
    Resource *resource;
    Tensor value;
    TRY(kernel_resource(k, 0, &variable_type, &resource));
    Status *status = variable_read(variable_of(resource), &value);
    variable_drop(variable_of(resource));
    resource_release(resource);
    TRY(status);
    kernel_set_output(k, 0, value);
    return OK;
}

const Op op_DestroyTemporaryVariable = {
    .signature = "DestroyTemporaryVariable(ref: ref T) -> value: T; T: type; var_name: string",
    .doc = "The last value of a temporary variable.", .shape = shape_unchanged, .cpu = ANY_TYPE(destroy_temporary_run),
    .flags = OP_DYNAMIC_SHAPE | OP_STATEFUL | OP_NO_GRADIENT,
};
