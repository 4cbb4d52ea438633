// TFE_Op — one operation: inputs, device, execution. Its attributes are in eager_attrs.c.
#include <stdlib.h>

#include "api/tf/eager.h"

static void op_clear(TFE_Op *op) {
    for (size_t i = 0; i < op->inputs.n; i++)
        tensor_clear(&op->inputs.p[i]);
    op->inputs.n = 0;
    op->lists.n = 0;
    op->attrs.entries.n = 0;
    status_free(op->attrs.error);
    op->attrs.error = NULL;
    tensor_list_cut(&op->attrs.tensors, 0);
    arena_clear(&op->attrs.arena);
    free(op->device);
    op->device = NULL;
}

TFE_Op *TFE_NewOp(TFE_Context *ctx, const char *op_or_function_name, TF_Status *status) {
    const OpType *type;
    if (api_failed(status, eager_find_type(ctx->eager, str_of(op_or_function_name), &type)))
        return NULL;
    TFE_Op *op = calloc(1, sizeof *op);
    if (!op) {
        api_set(status, OUT_OF_MEMORY);
        return NULL;
    }
    op->context = ctx;
    op->type = type;
    return op;
}

void TFE_DeleteOp(TFE_Op *op) {
    if (!op)
        return;
    op_clear(op);
    vec_clear(&op->inputs);
    vec_clear(&op->lists);
    vec_clear(&op->attrs.entries);
    vec_clear(&op->attrs.tensors);
    free(op);
}

void TFE_OpReset(TFE_Op *op_to_reset, const char *op_or_function_name, const char *raw_device_name, TF_Status *status) {
    const OpType *type;
    if (api_failed(status, eager_find_type(op_to_reset->context->eager, str_of(op_or_function_name), &type)))
        return;
    op_clear(op_to_reset);
    op_to_reset->type = type;
    if (raw_device_name)
        TFE_OpSetDevice(op_to_reset, raw_device_name, status);
}

const char *TFE_OpGetName(const TFE_Op *op, TF_Status *status) {
    api_ok(status);
    return api_type_name(op->type);
}

TFE_Context *TFE_OpGetContext(const TFE_Op *op, TF_Status *status) {
    api_ok(status);
    return op->context;
}

void TFE_OpSetDevice(TFE_Op *op, const char *device_name, TF_Status *status) {
    DeviceSpec spec;
    if (api_failed(status, device_spec_parse(str_of(device_name), &spec)))
        return;
    free(op->device);
    op->device = device_name && *device_name ? strdup(device_name) : NULL;
}

const char *TFE_OpGetDevice(const TFE_Op *op, TF_Status *status) {
    api_ok(status);
    return op->device ? op->device : "";
}

// ---------------------------------------- inputs

static Status *add_input(TFE_Op *op, const TFE_TensorHandle *input) {
    NEED(input, INVALID_ARGUMENT, "Invalid handle");
    NEED_MEMORY(vec_reserve(&op->inputs, op->inputs.n + 1));
    op->inputs.p[op->inputs.n++] = tensor_retain(&input->tensor);
    return OK;
}

// The type attribute that an argument determines. Clients set it too, and not always as the input is (tfjs-node's Mean of
// a cast tensor): the input's type counts.
static Status *add_one(TFE_Op *op, const TFE_TensorHandle *input) {
    const Signature *signature = &op->type->signature;
    TRY(add_input(op, input));
    NEED_MEMORY(vec_push(&op->lists, -1));
    // A list that is given value by value makes the place unknown from there on.
    for (size_t i = 0; i < op->lists.n && i < (size_t)signature->n_inputs; i++)
        if (signature->inputs[i].number_attr >= 0 || signature->inputs[i].list_attr >= 0)
            return OK;
    const ArgSpec *arg = op->lists.n <= (size_t)signature->n_inputs ? &signature->inputs[op->lists.n - 1] : NULL;
    if (!arg || arg->type_attr < 0)
        return OK;
    return eager_attr_keep(op, signature->attrs[arg->type_attr].name, &ATTR_OF_TYPE(input->tensor.dtype));
}

void TFE_OpAddInput(TFE_Op *op, TFE_TensorHandle *input, TF_Status *status) {
    api_set(status, add_one(op, input));
}

static Status *add_list(TFE_Op *op, TFE_TensorHandle **inputs, int num_inputs) {
    for (int i = 0; i < num_inputs; i++)
        TRY(add_input(op, inputs[i]));
    NEED_MEMORY(vec_push(&op->lists, num_inputs < 0 ? 0 : num_inputs));
    return OK;
}

void TFE_OpAddInputList(TFE_Op *op, TFE_TensorHandle **inputs, int num_inputs, TF_Status *status) {
    api_set(status, add_list(op, inputs, num_inputs));
}

int TFE_OpGetFlatInputCount(const TFE_Op *op, TF_Status *status) {
    api_ok(status);
    return (int)op->inputs.n;
}

TFE_TensorHandle *TFE_OpGetFlatInput(const TFE_Op *op, int index, TF_Status *status) {
    if (index < 0 || (size_t)index >= op->inputs.n) {
        api_set(status, API_ERROR(INVALID_ARGUMENT, "input %d of %zu", index, op->inputs.n));
        return NULL;
    }
    Tensor tensor = tensor_retain(&op->inputs.p[index]);
    return handle_new(&tensor, status);
}

// ---------------------------------------- execution

// Arguments given one by one are counted against the signature; where a list was given value by value, the attributes
// say how to cut.
static bool matches_arguments(const TFE_Op *op) {
    const Signature *signature = &op->type->signature;
    if (op->lists.n != (size_t)signature->n_inputs)
        return false;
    for (size_t i = 0; i < op->lists.n; i++) {
        const ArgSpec *arg = &signature->inputs[i];
        if ((arg->number_attr >= 0 || arg->list_attr >= 0) != (op->lists.p[i] >= 0))
            return false;
    }
    return true;
}

EagerCall eager_op_call(const TFE_Op *op, const Tensor **inputs) {
    for (size_t i = 0; i < op->inputs.n; i++)
        inputs[i] = &op->inputs.p[i];
    bool by_argument = matches_arguments(op);
    return (EagerCall){
        .name = op->type->name,
        .device = str_of(op->device),
        .inputs = inputs,
        .lists = by_argument ? op->lists.p : NULL,
        .n_inputs = (int32_t)op->inputs.n,
        .n_args = (int32_t)op->lists.n,
        .attrs = op->attrs.entries.p,
        .n_attrs = (int32_t)op->attrs.entries.n,
    };
}

static Status *execute(TFE_Op *op, TFE_TensorHandle **retvals, int *num_retvals, TF_Status *out_status) {
    AUTO(arena) Arena arena = {0};
    if (op->attrs.error)
        return status_copy(op->attrs.error);
    int room = *num_retvals < 0 ? 0 : *num_retvals;
    const Tensor **inputs = ARENA_ARRAY(&arena, const Tensor *, op->inputs.n);
    Tensor *results = ARENA_ARRAY(&arena, Tensor, room);
    NEED_MEMORY(inputs && results);
    EagerCall call = eager_op_call(op, inputs);
    TRY(eager_execute(op->context->eager, &call, results, &room));
    for (int i = 0; i < room; i++)
        retvals[i] = handle_new(&results[i], out_status);
    *num_retvals = room;
    for (int i = 0; i < room; i++)
        NEED_MEMORY(retvals[i]);
    return OK;
}

void TFE_Execute(TFE_Op *op, TFE_TensorHandle **retvals, int *num_retvals, TF_Status *status) {
    api_set(status, execute(op, retvals, num_retvals, status));
}

static int arg_length(TFE_Op *op, const char *name, bool output, TF_Status *status) {
    AUTO(arena) Arena arena = {0};
    const Tensor **inputs = ARENA_ARRAY(&arena, const Tensor *, op->inputs.n);
    int length = -1;
    if (!inputs) {
        api_set(status, OUT_OF_MEMORY);
        return -1;
    }
    EagerCall call = eager_op_call(op, inputs);
    return api_failed(status, eager_arg_length(op->context->eager, &call, str_of(name), output, &length)) ? -1 : length;
}

int TFE_OpGetInputLength(TFE_Op *op, const char *input_name, TF_Status *status) {
    return arg_length(op, input_name, false, status);
}

int TFE_OpGetOutputLength(TFE_Op *op, const char *output_name, TF_Status *status) {
    return arg_length(op, output_name, true, status);
}
