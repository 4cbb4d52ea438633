// TF_ShapeInferenceContext — shape functions of custom ops; see ops.h. Handles are the caller's: a shape, an extent.
#include <stdlib.h>

#include "api/tf/plugin.h"
#include "base/checked.h"

struct TF_ShapeInferenceContext {
    Shapes *s;
};

struct TF_ShapeHandle {
    Shape shape;
};

struct TF_DimensionHandle {
    int64_t value;
};

Status *plugin_shape(Shapes *s) {
    const PluginOp *plugin = (const PluginOp *)s->node->type->op;
    TF_ShapeInferenceContext context = {s};
    TF_Status status = {0};
    plugin->shape(&context, &status);
    Status *error = status.error;
    status.error = NULL;
    api_ok(&status);
    return error;
}

// ---------------------------------------- handles

static TF_ShapeHandle *handle_of(Shape shape) {
    TF_ShapeHandle *handle = malloc(sizeof *handle);
    if (handle)
        handle->shape = shape;
    return handle;
}

TF_ShapeHandle *TF_NewShapeHandle(void) {
    return handle_of(UNKNOWN_SHAPE);
}

void TF_DeleteShapeHandle(TF_ShapeHandle *handle) {
    free(handle);
}

TF_DimensionHandle *TF_NewDimensionHandle(void) {
    TF_DimensionHandle *handle = malloc(sizeof *handle);
    if (handle)
        handle->value = UNKNOWN_DIM;
    return handle;
}

void TF_DeleteDimensionHandle(TF_DimensionHandle *handle) {
    free(handle);
}

int TF_DimensionHandleValueKnown(TF_DimensionHandle *dim_handle) {
    return dim_handle->value >= 0;
}

int64_t TF_DimensionHandleValue(TF_DimensionHandle *dim_handle) {
    return dim_handle->value;
}

// ---------------------------------------- inputs and outputs

int64_t TF_ShapeInferenceContextNumInputs(TF_ShapeInferenceContext *ctx) {
    return ctx->s->n_in;
}

void TF_ShapeInferenceContextGetInput(TF_ShapeInferenceContext *ctx, int i, TF_ShapeHandle *handle,
                                      TF_Status *status) {
    bool good = i >= 0 && i < ctx->s->n_in;
    if (good)
        handle->shape = ctx->s->in[i];
    api_set(status, good ? OK : API_ERROR(INVALID_ARGUMENT, "input index %d is out of range", i));
}

void TF_ShapeInferenceContextSetOutput(TF_ShapeInferenceContext *ctx, int i, TF_ShapeHandle *handle,
                                       TF_Status *status) {
    bool good = i >= 0 && i < ctx->s->n_out;
    if (good)
        ctx->s->out[i] = handle->shape;
    api_set(status, good ? OK : API_ERROR(INVALID_ARGUMENT, "output index %d is out of range", i));
}

void TF_ShapeInferenceContextSetUnknownShape(TF_ShapeInferenceContext *ctx, TF_Status *status) {
    for (int i = 0; i < ctx->s->n_out; i++)
        ctx->s->out[i] = UNKNOWN_SHAPE;
    api_ok(status);
}

void TF_ShapeInferenceContext_GetAttrType(TF_ShapeInferenceContext *ctx, const char *attr_name, TF_DataType *val,
                                          TF_Status *status) {
    TF_OperationGetAttrType(api_operation(ctx->s->node), attr_name, val, status);
}

TF_ShapeHandle *TF_ShapeInferenceContextScalar(TF_ShapeInferenceContext *ctx) {
    (void)ctx;
    return handle_of(SCALAR_SHAPE);
}

TF_ShapeHandle *TF_ShapeInferenceContextVectorFromSize(TF_ShapeInferenceContext *ctx, size_t size) {
    (void)ctx;
    return handle_of(SHAPE((int64_t)size));
}

// ---------------------------------------- shapes of shapes

int64_t TF_ShapeInferenceContextRank(TF_ShapeInferenceContext *ctx, TF_ShapeHandle *handle) {
    (void)ctx;
    return handle->shape.rank;
}

int TF_ShapeInferenceContextRankKnown(TF_ShapeInferenceContext *ctx, TF_ShapeHandle *handle) {
    (void)ctx;
    return handle->shape.rank >= 0;
}

void TF_ShapeInferenceContextWithRank(TF_ShapeInferenceContext *ctx, TF_ShapeHandle *handle, int64_t rank,
                                      TF_ShapeHandle *result, TF_Status *status) {
    (void)ctx;
    Shape wanted = {.rank = (int32_t)rank, .dims = {-1, -1, -1, -1, -1, -1, -1, -1}};
    for (int64_t i = max_i64(rank, 0); i < MAX_RANK; i++)
        wanted.dims[i] = 0;
    if (rank < 0 || rank > MAX_RANK || (handle->shape.rank >= 0 && handle->shape.rank != rank)) {
        api_set(status, API_ERROR(INVALID_ARGUMENT, "Shape must be rank %lld but is rank %d", (long long)rank,
                                  handle->shape.rank));
        return;
    }
    result->shape = handle->shape.rank >= 0 ? handle->shape : wanted;
    api_ok(status);
}

void TF_ShapeInferenceContextWithRankAtLeast(TF_ShapeInferenceContext *ctx, TF_ShapeHandle *handle, int64_t rank,
                                             TF_ShapeHandle *result, TF_Status *status) {
    (void)ctx;
    bool good = handle->shape.rank < 0 || handle->shape.rank >= rank;
    if (good)
        result->shape = handle->shape;
    api_set(status, good ? OK : API_ERROR(INVALID_ARGUMENT, "Shape must be at least rank %lld but is rank %d",
                                          (long long)rank, handle->shape.rank));
}

void TF_ShapeInferenceContextWithRankAtMost(TF_ShapeInferenceContext *ctx, TF_ShapeHandle *handle, int64_t rank,
                                            TF_ShapeHandle *result, TF_Status *status) {
    (void)ctx;
    bool good = handle->shape.rank <= rank;
    if (good)
        result->shape = handle->shape;
    api_set(status, good ? OK : API_ERROR(INVALID_ARGUMENT, "Shape must be at most rank %lld but is rank %d",
                                          (long long)rank, handle->shape.rank));
}

void TF_ShapeInferenceContextDim(TF_ShapeInferenceContext *ctx, TF_ShapeHandle *shape_handle, int64_t i,
                                 TF_DimensionHandle *result) {
    (void)ctx;
    const Shape *shape = &shape_handle->shape;
    int64_t at = i < 0 ? i + shape->rank : i;
    result->value = shape->rank >= 0 && at >= 0 && at < shape->rank ? shape->dims[at] : UNKNOWN_DIM;
}

static Status *subshape(const Shape *from, int64_t start, int64_t end, Shape *out) {
    if (from->rank < 0) {
        *out = UNKNOWN_SHAPE;
        return OK;
    }
    int64_t first = start < 0 ? start + from->rank : start, last = end < 0 ? end + from->rank : end;
    last = min_i64(last, from->rank);
    first = min_i64(first, from->rank);
    NEED(first >= 0 && last >= first, INVALID_ARGUMENT,
         "Subshape must have computed start <= end, but is %lld and %lld", (long long)first, (long long)last);
    return shape_make(from->dims + first, last - first, out);
}

void TF_ShapeInferenceContextSubshape(TF_ShapeInferenceContext *ctx, TF_ShapeHandle *shape_handle, int64_t start,
                                      int64_t end, TF_ShapeHandle *result, TF_Status *status) {
    (void)ctx;
    api_set(status, subshape(&shape_handle->shape, start, end, &result->shape));
}

static Status *concatenate(const Shape *a, const Shape *b, Shape *out) {
    if (a->rank < 0 || b->rank < 0) {
        *out = UNKNOWN_SHAPE;
        return OK;
    }
    int64_t dims[2 * MAX_RANK];
    for (int i = 0; i < a->rank; i++)
        dims[i] = a->dims[i];
    for (int i = 0; i < b->rank; i++)
        dims[a->rank + i] = b->dims[i];
    return shape_make(dims, a->rank + b->rank, out);
}

void TF_ShapeInferenceContextConcatenateShapes(TF_ShapeInferenceContext *ctx, TF_ShapeHandle *first,
                                               TF_ShapeHandle *second, TF_ShapeHandle *result, TF_Status *status) {
    (void)ctx;
    api_set(status, concatenate(&first->shape, &second->shape, &result->shape));
}
