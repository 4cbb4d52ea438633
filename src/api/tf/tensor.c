// TF_Tensor, TF_Shape, element sizes — see tf_tensor.h.
//
// Resources come and go as TensorFlow's V1 clients have them: the bytes of a serialized handle. Their tensors, and
// those of variants, are raw bytes here: the buffer under them is one of uint8, and only SessionRun translates.
#include <stdlib.h>

#include "api/api.h"
#include "base/checked.h"

static DType buffer_dtype(DType dtype) {
    return dtype_kind(dtype) == KIND_OBJECT ? DT_uint8 : dtype;
}

static bool is_raw(const TF_Tensor *t) {
    return dtype_kind(t->tensor.dtype) == KIND_OBJECT && t->tensor.buffer->dtype == DT_uint8;
}

// Bytes that elements of that shape take at least; false where the shape is none.
static bool least_bytes(DType dtype, const Shape *shape, size_t *out) {
    *out = 0;
    if (dtype_kind(dtype) == KIND_OBJECT)
        return true;
    Status *status = shape_bytes(shape, dtype, out);
    status_free(status);
    return !status;
}

static bool read_shape(DType dtype, const int64_t *dims, int num_dims, size_t length, Shape *out) {
    size_t bytes;
    if (!dtype_is_valid(dtype) || dtype_is_ref(dtype) || num_dims < 0 || (num_dims > 0 && !dims))
        return false;
    Status *status = shape_make(dims, num_dims, out);
    status_free(status);
    return !status && shape_is_known(out) && least_bytes(dtype, out, &bytes) && bytes <= length;
}

static TF_Tensor *wrap(Buffer *buffer, DType dtype, Shape shape, size_t bytes) {
    TF_Tensor *t = malloc(sizeof *t);
    if (!t) {
        buffer_release(buffer);
        return NULL;
    }
    *t = (TF_Tensor){{.data = buffer->data, .buffer = buffer, .dtype = dtype, .shape = shape}, bytes};
    return t;
}

TF_Tensor *api_tensor(Tensor *tensor) {
    TF_Tensor *t = malloc(sizeof *t);
    if (!t) {
        tensor_clear(tensor);
        return NULL;
    }
    t->tensor = *tensor;
    t->bytes = tensor_bytes(tensor);
    *tensor = (Tensor){0};
    return t;
}

Status *api_tensor_in(const TF_Tensor *from, Tensor *out) {
    NEED(from, INVALID_ARGUMENT, "a tensor is NULL");
    NEED(!is_raw(from), INVALID_ARGUMENT, "%s tensors can't be given from outside", dtype_name(from->tensor.dtype));
    *out = tensor_retain(&from->tensor);
    return OK;
}

size_t TF_TensorDefaultAlignment(void) {
    return BUFFER_ALIGNMENT;
}

static bool is_aligned(const void *data) {
    return (uintptr_t)data % BUFFER_ALIGNMENT == 0;
}

// The client's memory is adopted without a copy where it is aligned as kernels expect. Else it is copied, and the
// deallocator is called here. It is also called where the call fails: the memory belongs to the tensor in any case.
TF_Tensor *TF_NewTensor(TF_DataType dtype, const int64_t *dims, int num_dims, void *data, size_t len,
                        void (*deallocator)(void *data, size_t len, void *arg), void *deallocator_arg) {
    DType type = (DType)dtype;
    Shape shape;
    Buffer *buffer = NULL;
    bool good = read_shape(type, dims, num_dims, len, &shape) && (data || len == 0);
    if (good && dtype_is_plain(type) && (!is_aligned(data) || !data)) {
        Status *status = buffer_new(&host_allocator, type, len, &buffer);
        if (!status && len)
            memcpy(buffer->data, data, len);
        status_free(status);
    } else if (good) {
        Status *status = buffer_adopt(data, len, buffer_dtype(type), deallocator, deallocator_arg, &buffer);
        status_free(status);
        return status ? NULL : wrap(buffer, type, shape, len);
    }
    if (deallocator)
        deallocator(data, len, deallocator_arg);
    return buffer ? wrap(buffer, type, shape, len) : NULL;
}

TF_Tensor *TF_AllocateTensor(TF_DataType dtype, const int64_t *dims, int num_dims, size_t len) {
    DType type = (DType)dtype;
    Shape shape;
    Buffer *buffer;
    if (!read_shape(type, dims, num_dims, len, &shape))
        return NULL;
    Status *status = buffer_new(&host_allocator, buffer_dtype(type), len, &buffer);
    status_free(status);
    return status ? NULL : wrap(buffer, type, shape, len);
}

// Memory that was adopted is still its client's.
TF_Tensor *TF_TensorMaybeMove(TF_Tensor *tensor) {
    bool ours = tensor && tensor->tensor.buffer->allocator;
    return ours && buffer_is_unique(tensor->tensor.buffer) ? tensor : NULL;
}

void TF_DeleteTensor(TF_Tensor *t) {
    if (!t)
        return;
    tensor_clear(&t->tensor);
    free(t);
}

TF_DataType TF_TensorType(const TF_Tensor *t) {
    return (TF_DataType)t->tensor.dtype;
}

// Upstream believes any shape; ours must fit the memory, and a shape that doesn't is ignored.
void TF_SetShape(TF_Tensor *tensor, const int64_t *dims, int num_dims) {
    Shape shape;
    if (read_shape(tensor->tensor.dtype, dims, num_dims, tensor->tensor.buffer->bytes, &shape))
        tensor->tensor.shape = shape;
}

int TF_NumDims(const TF_Tensor *t) {
    return t->tensor.shape.rank;
}

int64_t TF_Dim(const TF_Tensor *tensor, int dim_index) {
    const Shape *shape = &tensor->tensor.shape;
    return dim_index >= 0 && dim_index < shape->rank ? shape->dims[dim_index] : -1;
}

size_t TF_TensorByteSize(const TF_Tensor *t) {
    return t->bytes;
}

void *TF_TensorData(const TF_Tensor *t) {
    return t->tensor.data;
}

int64_t TF_TensorElementCount(const TF_Tensor *tensor) {
    return tensor_count(&tensor->tensor);
}

static Status *bitcast(const TF_Tensor *from, DType type, TF_Tensor *to, const int64_t *dims, int num_dims) {
    size_t bytes;
    Shape shape;
    DType old = from->tensor.dtype;
    NEED(dtype_is_valid(type) && dtype_is_plain(type) && dtype_is_plain(old), INVALID_ARGUMENT,
         "Cannot bitcast from %s to %s: both must have elements of a fixed size", dtype_name(old), dtype_name(type));
    TRY(api_shape(dims, num_dims, &shape));
    NEED(shape_is_known(&shape), INVALID_ARGUMENT, "Cannot bitcast to a shape that isn't known");
    TRY(shape_bytes(&shape, type, &bytes));
    NEED(bytes == tensor_bytes(&from->tensor), INVALID_ARGUMENT,
         "input and output sizes differ in a bitcast: %zu bytes and %zu", tensor_bytes(&from->tensor), bytes);
    Tensor view = tensor_retain(&from->tensor);
    view.dtype = type;
    view.shape = shape;
    tensor_clear(&to->tensor);
    to->tensor = view;
    to->bytes = bytes;
    return OK;
}

void TF_TensorBitcastFrom(const TF_Tensor *from, TF_DataType type, TF_Tensor *to, const int64_t *new_dims,
                          int num_new_dims, TF_Status *status) {
    api_set(status, bitcast(from, (DType)type, to, new_dims, num_new_dims));
}

bool TF_TensorIsAligned(const TF_Tensor *t) {
    return is_aligned(t->tensor.data);
}

size_t TF_DataTypeSize(TF_DataType dt) {
    DType dtype = (DType)dt;
    return dtype_is_valid(dtype) && !dtype_is_ref(dtype) && dtype_is_plain(dtype) ? dtype_size(dtype) : 0;
}

// ---------------------------------------- TF_Shape

struct TF_Shape {
    Shape shape;
};

TF_Shape *TF_NewShape(void) {
    TF_Shape *shape = malloc(sizeof *shape);
    if (shape)
        shape->shape = UNKNOWN_SHAPE;
    return shape;
}

int TF_ShapeDims(const TF_Shape *shape) {
    return shape->shape.rank;
}

int64_t TF_ShapeDimSize(const TF_Shape *shape, int d) {
    return d >= 0 && d < shape->shape.rank ? shape->shape.dims[d] : -1;
}

void TF_DeleteShape(TF_Shape *shape) {
    free(shape);
}

Status *api_shape(const int64_t *dims, int num_dims, Shape *out) {
    NEED(num_dims >= -1 && (num_dims <= 0 || dims), INVALID_ARGUMENT, "%d is no number of dimensions", num_dims);
    return shape_make(dims, num_dims, out);
}
