// TFE_TensorHandle — see eager/c_api.h: a value that lies in host memory.
#include <stdlib.h>

#include "api/tf/eager.h"
#include "api/tf/session.h"

#define CPU_NAME "/job:localhost/replica:0/task:0/device:CPU:0"

TFE_TensorHandle *handle_new(Tensor *tensor, TF_Status *status) {
    TFE_TensorHandle *handle = malloc(sizeof *handle);
    if (!handle) {
        tensor_clear(tensor);
        api_set(status, OUT_OF_MEMORY);
        return NULL;
    }
    handle->tensor = *tensor;
    *tensor = (Tensor){0};
    api_ok(status);
    return handle;
}

// Shares the tensor's memory; resources are decoded.
TFE_TensorHandle *TFE_NewTensorHandle(const TF_Tensor *t, TF_Status *status) {
    Tensor decoded[1] = {{0}};
    const Tensor *scratch[1];
    const Tensor *const *out;
    TF_Tensor *one = (TF_Tensor *)t;
    if (api_failed(status, session_feeds(&one, 1, scratch, decoded, &out)))
        return NULL;
    Tensor tensor = decoded[0].buffer ? decoded[0] : tensor_retain(out[0]);
    return handle_new(&tensor, status);
}

TFE_TensorHandle *TFE_NewTensorHandleFromTensor(TFE_Context *ctx, TF_Tensor *t, TF_Status *status) {
    (void)ctx;
    return TFE_NewTensorHandle(t, status);
}

TFE_TensorHandle *TFE_NewTensorHandleFromScalar(TF_DataType data_type, void *data, size_t len, TF_Status *status) {
    Tensor tensor;
    bool plain = dtype_is_valid((DType)data_type) && dtype_is_plain((DType)data_type);
    if (!plain || dtype_size((DType)data_type) != len) {
        api_set(status, API_ERROR(INVALID_ARGUMENT, "%zu bytes are no scalar of type %d", len, (int)data_type));
        return NULL;
    }
    if (api_failed(status, tensor_new((DType)data_type, SCALAR_SHAPE, &tensor)))
        return NULL;
    memcpy(tensor.data, data, len);
    return handle_new(&tensor, status);
}

TF_Tensor *TFE_AllocateHostTensor(TFE_Context *ctx, TF_DataType dtype, const int64_t *dims, int num_dims,
                                  TF_Status *status) {
    (void)ctx;
    Shape shape;
    Tensor tensor;
    Status *error = api_shape(dims, num_dims, &shape);
    if (!error)
        error = tensor_new((DType)dtype, shape, &tensor);
    TF_Tensor *out = error ? NULL : api_tensor(&tensor);
    api_set(status, !error && !out ? OUT_OF_MEMORY : error);
    return out;
}

void TFE_DeleteTensorHandle(TFE_TensorHandle *h) {
    if (!h)
        return;
    tensor_clear(&h->tensor);
    free(h);
}

TF_DataType TFE_TensorHandleDataType(TFE_TensorHandle *h) {
    return (TF_DataType)h->tensor.dtype;
}

static bool is_handle(const TFE_TensorHandle *h, TF_Status *status) {
    api_set(status, h ? OK : API_ERROR(INVALID_ARGUMENT, "Invalid handle"));
    return h != NULL;
}

int TFE_TensorHandleNumDims(TFE_TensorHandle *h, TF_Status *status) {
    return is_handle(h, status) ? h->tensor.shape.rank : -1;
}

int64_t TFE_TensorHandleNumElements(TFE_TensorHandle *h, TF_Status *status) {
    return is_handle(h, status) ? tensor_count(&h->tensor) : -1;
}

int64_t TFE_TensorHandleDim(TFE_TensorHandle *h, int dim_index, TF_Status *status) {
    if (!is_handle(h, status))
        return -1;
    bool good = dim_index >= 0 && dim_index < h->tensor.shape.rank;
    if (!good)
        api_set(status, API_ERROR(INVALID_ARGUMENT, "dimension %d of a tensor of rank %d", dim_index,
                                  h->tensor.shape.rank));
    return good ? h->tensor.shape.dims[dim_index] : -1;
}

const char *TFE_TensorHandleDeviceName(TFE_TensorHandle *h, TF_Status *status) {
    return is_handle(h, status) ? CPU_NAME : NULL;
}

const char *TFE_TensorHandleBackingDeviceName(TFE_TensorHandle *h, TF_Status *status) {
    return is_handle(h, status) ? CPU_NAME : NULL;
}

const char *TFE_TensorHandleDeviceType(TFE_TensorHandle *h, TF_Status *status) {
    return is_handle(h, status) ? "CPU" : NULL;
}

int TFE_TensorHandleDeviceID(TFE_TensorHandle *h, TF_Status *status) {
    return is_handle(h, status) ? 0 : -1;
}

void TFE_TensorHandleGetStatus(TFE_TensorHandle *h, TF_Status *status) {
    is_handle(h, status);
}

TFE_TensorHandle *TFE_TensorHandleCopySharingTensor(TFE_TensorHandle *h, TF_Status *status) {
    if (!is_handle(h, status))
        return NULL;
    Tensor tensor = tensor_retain(&h->tensor);
    return handle_new(&tensor, status);
}

// Clients write into what they resolve and the handle must not change, so a resolved tensor may share memory only as
// TensorFlow's does: read-only by agreement.
TF_Tensor *TFE_TensorHandleResolve(TFE_TensorHandle *h, TF_Status *status) {
    if (!is_handle(h, status))
        return NULL;
    Tensor tensor = tensor_retain(&h->tensor);
    TF_Tensor *out = NULL;
    api_set(status, session_results(&tensor, 1, &out));
    return out;
}

TFE_TensorHandle *TFE_TensorHandleCopyToDevice(TFE_TensorHandle *h, TFE_Context *ctx, const char *device_name,
                                               TF_Status *status) {
    DeviceSpec spec;
    if (!is_handle(h, status) || api_failed(status, device_spec_parse(str_of(device_name), &spec)))
        return NULL;
    const DeviceSet *devices = eager_devices(ctx->eager);
    for (int i = 0; i < devices->n; i++)
        if (device_spec_matches(&spec, devices->devices[i]))
            return TFE_TensorHandleCopySharingTensor(h, status);
    api_set(status, API_ERROR(INVALID_ARGUMENT, "%s unknown device.", device_name));
    return NULL;
}

void *TFE_TensorHandleDevicePointer(TFE_TensorHandle *h, TF_Status *status) {
    return is_handle(h, status) ? h->tensor.data : NULL;
}

size_t TFE_TensorHandleDeviceMemorySize(TFE_TensorHandle *h, TF_Status *status) {
    return is_handle(h, status) ? tensor_bytes(&h->tensor) : 0;
}

// ---------------------------------------- debug info

struct TFE_TensorDebugInfo {
    Shape shape;
};

TFE_TensorDebugInfo *TFE_TensorHandleTensorDebugInfo(TFE_TensorHandle *h, TF_Status *status) {
    if (!is_handle(h, status))
        return NULL;
    TFE_TensorDebugInfo *info = malloc(sizeof *info);
    if (info)
        info->shape = h->tensor.shape;
    else
        api_set(status, OUT_OF_MEMORY);
    return info;
}

void TFE_DeleteTensorDebugInfo(TFE_TensorDebugInfo *debug_info) {
    free(debug_info);
}

int TFE_TensorDebugInfoOnDeviceNumDims(TFE_TensorDebugInfo *debug_info) {
    return debug_info->shape.rank;
}

int64_t TFE_TensorDebugInfoOnDeviceDim(TFE_TensorDebugInfo *debug_info, int dim_index) {
    bool good = dim_index >= 0 && dim_index < debug_info->shape.rank;
    return good ? debug_info->shape.dims[dim_index] : -1;
}
