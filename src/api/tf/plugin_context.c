// TF_OpKernelContext — what a custom kernel sees of one call: inputs, outputs, the step.
#include "api/tf/plugin.h"

// A client's view of a value of the machine: shares its buffer, or points into the step's memory while the call lasts.
static Status *view(const Tensor *from, TF_Tensor **out) {
    Tensor tensor = *from;
    if (tensor.buffer)
        buffer_retain(tensor.buffer);
    else
        TRY(buffer_adopt(tensor.data, tensor_bytes(from), tensor.dtype, NULL, NULL, &tensor.buffer));
    *out = api_tensor(&tensor);
    NEED_MEMORY(*out);
    return OK;
}

static Status *check_index(int i, int n, const char *what) {
    NEED(i >= 0 && i < n, OUT_OF_RANGE, "%s index out of range: %d is not in [0, %d)", what, i, n);
    return OK;
}

// ---------------------------------------- inputs

int TF_NumInputs(TF_OpKernelContext *ctx) {
    return ctx->k->n_in;
}

int TF_NumOutputs(TF_OpKernelContext *ctx) {
    return ctx->k->n_out;
}

static Status *get_input(TF_OpKernelContext *ctx, int i, TF_Tensor **tensor) {
    TRY(check_index(i, ctx->k->n_in, "input"));
    Tensor own;
    TRY(kernel_keep(ctx->k, i, &own));
    *tensor = api_tensor(&own);
    NEED_MEMORY(*tensor);
    return OK;
}

void TF_GetInput(TF_OpKernelContext *ctx, int i, TF_Tensor **tensor, TF_Status *status) {
    *tensor = NULL;
    api_set(status, get_input(ctx, i, tensor));
}

TF_DataType TF_InputDatatype(TF_OpKernelContext *ctx, int index) {
    return index >= 0 && index < ctx->k->n_in ? (TF_DataType)ctx->k->in[index]->dtype : (TF_DataType)0;
}

void TF_InputRange(TF_OpKernelContext *ctx, const char *name, TF_InputRange_Args *args) {
    int first, count;
    bool found = node_input_arg(ctx->k->node, str_of(name), &first, &count) >= 0;
    args->start = found ? first : 0;
    args->stop = found ? first + count : 0;
    api_set(args->status, found ? OK : API_ERROR(INVALID_ARGUMENT, "no input is named '%s'", name));
}

bool TF_IsHostMemoryInput(TF_OpKernelContext *ctx, int i, TF_Status *status) {
    return !api_failed(status, check_index(i, ctx->k->n_in, "input"));
}

bool TF_IsHostMemoryOutput(TF_OpKernelContext *ctx, int i, TF_Status *status) {
    return !api_failed(status, check_index(i, ctx->k->n_out, "output"));
}

// ---------------------------------------- outputs

static DType output_type(const TF_OpKernelContext *ctx, int i) {
    return dtype_base(ctx->k->node->output_types[i]);
}

TF_DataType TF_ExpectedOutputDataType(TF_OpKernelContext *ctx, int i) {
    return i >= 0 && i < ctx->k->n_out ? (TF_DataType)output_type(ctx, i) : (TF_DataType)0;
}

// Output i in that shape: made now, or by an earlier call of this kernel. It is there if it has a buffer: a slot that
// was emptied after an earlier step still points to where that step's value lay.
static Status *make_output(TF_OpKernelContext *ctx, int i, DType dtype, const Shape *shape) {
    TRY(check_index(i, ctx->k->n_out, "output"));
    NEED(dtype == output_type(ctx, i), INVALID_ARGUMENT, "output %d is a %s, not a %s", i,
         dtype_name(output_type(ctx, i)), dtype_name(dtype));
    NEED(shape_is_known(shape), INVALID_ARGUMENT, "the shape of output %d isn't known", i);
    const Tensor *out = ctx->k->out[i];
    if (!out->buffer)
        return kernel_output(ctx->k, i, *shape);
    NEED(shape_equal(&out->shape, shape), INVALID_ARGUMENT, "output %d is allocated as %s, but its shape is %s", i,
         shape_text(shape), shape_text(&out->shape));
    return OK;
}

static Status *set_output(TF_OpKernelContext *ctx, int i, const TF_Tensor *from) {
    NEED(from, INVALID_ARGUMENT, "output %d is set to NULL", i);
    TRY(make_output(ctx, i, from->tensor.dtype, &from->tensor.shape));
    if (ctx->k->out[i]->data == from->tensor.data)
        return OK;
    return tensor_copy_elements(&from->tensor, ctx->k->out[i]);
}

void TF_SetOutput(TF_OpKernelContext *ctx, int i, const TF_Tensor *tensor, TF_Status *status) {
    api_set(status, set_output(ctx, i, tensor));
}

static Status *get_output(TF_OpKernelContext *ctx, int i, TF_Tensor **out) {
    TRY(check_index(i, ctx->k->n_out, "output"));
    NEED(ctx->k->out[i]->buffer, FAILED_PRECONDITION, "output %d is not allocated yet", i);
    return view(ctx->k->out[i], out);
}

TF_Tensor *TF_GetMutableOutput(TF_OpKernelContext *ctx, int i, TF_Status *status) {
    TF_Tensor *out = NULL;
    api_set(status, get_output(ctx, i, &out));
    return out;
}

static Status *allocate(TF_OpKernelContext *ctx, int i, DType dtype, const int64_t *dims, int num_dims,
                        TF_Tensor **out) {
    Shape shape;
    TRY(api_shape(dims, num_dims, &shape));
    TRY(make_output(ctx, i, dtype, &shape));
    return view(ctx->k->out[i], out);
}

TF_Tensor *TF_AllocateOutput(TF_OpKernelContext *context, int index, TF_DataType dtype, const int64_t *dims,
                             int num_dims, size_t len, TF_Status *status) {
    (void)len;
    TF_Tensor *out = NULL;
    api_set(status, allocate(context, index, (DType)dtype, dims, num_dims, &out));
    return out;
}

// Inputs are never forwarded: the machine plans memory before it calls.
TF_Tensor *TF_ForwardInputOrAllocateOutput(TF_OpKernelContext *context, const int *candidate_input_indices,
                                           int num_candidate_input_indices, int output_index,
                                           const int64_t *output_dims, int output_num_dims, int *forwarded_input,
                                           TF_Status *status) {
    (void)candidate_input_indices, (void)num_candidate_input_indices;
    if (forwarded_input)
        *forwarded_input = -1;
    return TF_AllocateOutput(context, output_index, TF_ExpectedOutputDataType(context, output_index), output_dims,
                             output_num_dims, 0, status);
}

TF_Tensor *TF_AllocateTemp(TF_OpKernelContext *context, TF_DataType dtype, const int64_t *dims, int num_dims,
                           TF_AllocatorAttributes *alloc_attrs, TF_Status *status) {
    (void)context, (void)alloc_attrs;
    Shape shape;
    Tensor tensor = {0};
    Status *error = api_shape(dims, num_dims, &shape);
    if (!error)
        error = tensor_new((DType)dtype, shape, &tensor);
    TF_Tensor *out = error ? NULL : api_tensor(&tensor);
    api_set(status, !error && !out ? OUT_OF_MEMORY : error);
    return out;
}

void TF_OpKernelContext_Failure(TF_OpKernelContext *ctx, TF_Status *status) {
    if (!ctx->failure)
        ctx->failure = status_copy(status->error);
}

// ---------------------------------------- the step and the node

SP_Stream TF_GetStream(TF_OpKernelContext *ctx, TF_Status *status) {
    (void)ctx;
    api_set(status, API_ERROR(UNIMPLEMENTED, "CPU kernels have no stream"));
    return NULL;
}

int64_t TF_StepId(TF_OpKernelContext *ctx) {
    return (int64_t)ctx->k->step->step_id;
}

int64_t TF_GetStepId(TF_OpKernelContext *ctx) {
    return TF_StepId(ctx);
}

uint64_t TF_GetFrameId(TF_OpKernelContext *ctx) {
    return (uint64_t)(uintptr_t)ctx->k->frame;
}

int64_t TF_GetIterId(TF_OpKernelContext *ctx) {
    (void)ctx;
    return 0;
}

int TF_GetDeviceId(TF_OpKernelContext *ctx) {
    (void)ctx;
    return 0;
}

static TF_StringView view_of(Str s) {
    return (TF_StringView){s.p, s.n};
}

TF_StringView TF_GetDeviceName(TF_OpKernelContext *ctx) {
    return view_of(kernel_device_name(ctx->k->node));
}

int TF_GetGraphDefVersion(TF_OpKernelContext *ctx) {
    return ctx->k->node->graph->versions.producer;
}

TF_StringView TF_GetOpKernelName(TF_OpKernelContext *ctx) {
    return view_of(ctx->k->node->name);
}

TF_StringView TF_GetResourceMgrDefaultContainerName(TF_OpKernelContext *ctx) {
    (void)ctx;
    return view_of(STR("localhost"));
}

TF_StringView TF_GetOpKernelRequestedInput(TF_OpKernelContext *ctx, size_t index) {
    const Node *node = ctx->k->node;
    bool good = index < (size_t)node->n_inputs && node->inputs[index].node;
    return good ? view_of(node->inputs[index].node->name) : (TF_StringView){"", 0};
}
