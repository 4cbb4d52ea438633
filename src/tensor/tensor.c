// Tensor — see tensor.h: a view (address, type, shape) of a counted buffer.
#include "tensor/tensor.h"

Status *tensor_new_on(Allocator *allocator, DType dtype, Shape shape, Tensor *out) {
    NEED(dtype_is_valid(dtype) && !dtype_is_ref(dtype), INVALID_ARGUMENT, "%s is not the type of a tensor",
         dtype_name(dtype));
    TRY(shape_check(&shape));
    size_t bytes;
    TRY(shape_bytes(&shape, dtype, &bytes));
    Buffer *buffer;
    TRY(buffer_new(allocator, dtype, bytes, &buffer));
    *out = (Tensor){.data = buffer->data, .buffer = buffer, .dtype = dtype, .shape = shape};
    return OK;
}

Status *tensor_new(DType dtype, Shape shape, Tensor *out) {
    return tensor_new_on(&host_allocator, dtype, shape, out);
}

Tensor tensor_retain(const Tensor *from) {
    buffer_retain(from->buffer);
    return *from;
}

void tensor_clear(Tensor *tensor) {
    buffer_release(tensor->buffer);
    *tensor = (Tensor){0};
}

int64_t tensor_count(const Tensor *tensor) {
    return shape_count(&tensor->shape);
}

size_t tensor_bytes(const Tensor *tensor) {
    return (size_t)shape_count(&tensor->shape) * dtype_size(tensor->dtype);
}

Status *tensor_copy_elements(const Tensor *from, const Tensor *to) {
    int64_t count = tensor_count(from);
    if (!count)
        return OK;  // of nothing there need be no address
    if (dtype_is_plain(from->dtype)) {
        memcpy(to->data, from->data, tensor_bytes(from));
    } else if (dtype_kind(from->dtype) == KIND_STRING) {
        for (int64_t i = 0; i < count; i++)
            NEED_MEMORY(tstring_assign((TString *)to->data + i, tstring_str((const TString *)from->data + i)));
    } else {
        for (int64_t i = 0; i < count; i++) {
            Object **slot = (Object **)to->data + i, *old = *slot;
            *slot = object_retain(((Object **)from->data)[i]);
            object_release(old);
        }
    }
    return OK;
}

Status *tensor_copy(const Tensor *from, Tensor *out) {
    AUTO(tensor) Tensor copy = {0};
    TRY(tensor_new(from->dtype, from->shape, &copy));
    TRY(tensor_copy_elements(from, &copy));
    *out = tensor_retain(&copy);
    return OK;
}

Status *tensor_to_shape(const Tensor *tensor, Shape *out) {
    NEED((tensor->dtype == DT_int32 || tensor->dtype == DT_int64) && tensor->shape.rank <= 1, INVALID_ARGUMENT,
         "a shape must be a vector of int32 or int64, got %s%s", dtype_name(tensor->dtype),
         shape_text(&tensor->shape));
    int64_t count = tensor_count(tensor);
    NEED(count <= MAX_RANK, INVALID_ARGUMENT, "a shape has at most %d dimensions, got %lld", MAX_RANK,
         (long long)count);
    int64_t dims[MAX_RANK];
    for (int64_t i = 0; i < count; i++)
        dims[i] = tensor_int(tensor, i);
    return shape_make(dims, count, out);
}
