// Tensor — elements of one type in one shape: a view, with the counted buffer under it where there is one.
//
// Inside a step a value may lie in the step's arena: then `buffer` is NULL and the memory belongs to the step. Whatever
// outlives the step, and every string, resource and variant, has a buffer.
#pragma once
#include "tensor/buffer.h"
#include "tensor/object.h"
#include "tensor/shape.h"
#include "tensor/tstring.h"

typedef enum {
    LAYOUT_PLAIN = 0,    // row-major, the last dimension contiguous
    LAYOUT_BLOCKED = 1,  // a library's own order, described by what `packing` points to; only its kernels read it
} Layout;

typedef struct {
    void *data;           // the first element; unspecified but not NULL where there are none
    Buffer *buffer;       // NULL: memory of a step's arena
    DType dtype;          // a base type; references are edges of a graph, not values
    Layout layout;
    const void *packing;  // LAYOUT_BLOCKED: the library's description, kept by whoever prepared the kernel
    Shape shape;          // fully known once the value exists
} Tensor;

// A new tensor with its own host buffer, uninitialised (strings and objects empty). The caller owns one reference.
FALLIBLE Status *tensor_new(DType dtype, Shape shape, Tensor *out);
FALLIBLE Status *tensor_new_on(Allocator *allocator, DType dtype, Shape shape, Tensor *out);
// Another reference to the same buffer. `from` must have one.
Tensor tensor_retain(const Tensor *from);
// Releases the buffer and forgets everything. Zeroed tensors may be cleared.
void tensor_clear(Tensor *tensor);
// A deep copy in host memory, plain layout; strings are copied, objects are shared.
FALLIBLE Status *tensor_copy(const Tensor *from, Tensor *out);
// Copies the elements between equal shapes and types; strings are copied, objects retained.
FALLIBLE Status *tensor_copy_elements(const Tensor *from, const Tensor *to);
int64_t tensor_count(const Tensor *tensor);
size_t tensor_bytes(const Tensor *tensor);

// Element i of an int32 or int64 tensor: the index-like inputs of ops.
static inline int64_t tensor_int(const Tensor *tensor, int64_t i) {
    return tensor->dtype == DT_int32 ? ((const int32_t *)tensor->data)[i] : ((const int64_t *)tensor->data)[i];
}
// A host scalar or vector of int32 or int64 as a shape; INVALID_ARGUMENT otherwise.
FALLIBLE Status *tensor_to_shape(const Tensor *tensor, Shape *out);

static inline void tensor_auto(Tensor *tensor) {
    tensor_clear(tensor);
}
