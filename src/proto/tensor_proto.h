// TensorProto, TensorShapeProto — the written forms of tensors and shapes, to and from the values themselves.
#pragma once
#include "proto/messages.h"
#include "tensor/tensor.h"

// NULL is a scalar's shape, as an absent message is. INVALID_ARGUMENT for more than MAX_RANK dimensions, for extents
// below -1 and for a count that doesn't fit. Names of dimensions are dropped.
FALLIBLE Status *shape_from_proto(const TensorShapeProto *proto, Shape *out);
// In the arena. RESOURCE_EXHAUSTED.
FALLIBLE Status *shape_to_proto(Arena *arena, const Shape *shape, TensorShapeProto **out);

// A proto may be tiny and its tensor huge: one value stands for all. What a tensor takes beyond PROTO_EXPANSION times
// the bytes of its values comes out of `budget`, which the caller shares among all tensors of one input.
// This much is a good start for a file.
#define SPLAT_BUDGET ((size_t)1 << 30)

// A new tensor. The values are `tensor_content`, exactly the bytes of the tensor (strings: all lengths as varints, then
// all bytes), or the list that belongs to the type, of which the last value fills the rest; no value means zeros.
//   INVALID_ARGUMENT    no such type, a shape that isn't fully known, content of another size
//   RESOURCE_EXHAUSTED  the budget or memory is out
//   UNIMPLEMENTED       resources and variants, unless there are no elements
FALLIBLE Status *tensor_from_proto(const TensorProto *proto, size_t *budget, Tensor *out);

// The message of a tensor in plain layout and host memory, in the arena. Its strings and `tensor_content` view the
// tensor, which must live as long. Values that repeat at the end are written once; otherwise the shorter of the two
// forms is taken. UNIMPLEMENTED for resources and variants, unless there are no elements.
FALLIBLE Status *tensor_to_proto(Arena *arena, const Tensor *tensor, TensorProto **out);

// All values of the tensor in the list of its type, and nothing else: neither type nor shape. Strings view the tensor.
FALLIBLE Status *tensor_to_value_list(Arena *arena, const Tensor *tensor, TensorProto *out);
// The serialized message, its numbers as they lie and its strings one by one; and a tensor from one.
FALLIBLE Status *tensor_serialize(const Tensor *tensor, Text *out);
// As that, with the strings in `tensor_content`, too: the other of the two forms that TensorFlow writes.
FALLIBLE Status *tensor_serialize_content(const Tensor *tensor, Text *out);
FALLIBLE Status *tensor_parse(Str bytes, Tensor *out);
// How many elements of that type stand in their list.
size_t tensor_proto_listed(const TensorProto *proto, DType dtype);
