// TensorList — a list of tensors as a value, the element of a variant tensor: what loops collect.
//
// A list is immutable to those who share it: who changes it copies it first, unless it alone holds it. Elements share
// their buffers. An element that was never set has no buffer; it reads as zeros.
#pragma once
#include "ops/op.h"

typedef struct {
    Object object;
    DType dtype;
    Shape element_shape;   // what every element fits; may be unknown
    int64_t most;          // elements; < 0: no limit
    VEC(Tensor) items;
} VariantList;

// What the ops read from their attributes.
typedef struct {
    DType dtype;           // element_dtype; DT_INVALID: any
    int64_t count;         // num_elements; -1: any
    bool grows;            // resize_if_index_out_of_bounds
    Shape shape;           // element_shape, where it is an attribute
} ListOwn;
Status *list_prepare(Prepare *p);

// Most elements that a list may be asked to have without data for them.
enum { LIST_MOST = 1 << 28 };

// The list in input i, borrowed. INVALID_ARGUMENT where there is none, or one of another type than own->dtype.
FALLIBLE Status *list_get(const Kernel *k, int i, const VariantList **out);
// The list that a variant is. As list_get.
FALLIBLE Status *list_of(const Kernel *k, const Object *object, const VariantList **out);
// Output i becomes a scalar variant that holds a new, empty list; borrowed.
FALLIBLE Status *list_make(Kernel *k, int i, DType dtype, const Shape *element_shape, VariantList **out);
// Output 0 becomes the list of input 0, to be changed: the same one where nobody else can see it, else a copy.
// Borrowed.
FALLIBLE Status *list_change(Kernel *k, size_t room, VariantList **out);
// A copy of the list, whose elements share their buffers. One reference.
FALLIBLE Status *list_copy(const VariantList *from, size_t room, VariantList **out);
// `n` elements: drops those behind, or adds such that were never set.
FALLIBLE Status *list_resize(VariantList *list, int64_t n);
FALLIBLE Status *list_push(VariantList *list, Tensor item);  // takes the item over, also on failure

// The tensor of element shapes: -1, or a vector with -1 for unknown extents.
FALLIBLE Status *list_read_shape(const Tensor *value, Shape *out);
// The same in a shape function; unknown where the value is.
FALLIBLE Status *list_known_shape(const Shapes *s, int input, Shape *out);
// What all elements have, the list and `wanted` agree on. INVALID_ARGUMENT where they don't.
FALLIBLE Status *list_element_shape(const VariantList *list, const Shape *wanted, Shape *out);
// Element i as a tensor with a reference: zeros of `shape`, which must be known then, where it was never set.
FALLIBLE Status *list_element(const VariantList *list, int64_t i, const Shape *shape, Tensor *out);
// Row i of the tensor, in a buffer of its own.
FALLIBLE Status *list_row(const Tensor *tensor, int64_t first, int64_t n, bool keep_dim, Tensor *out);
// Output i: elements indices[j] (all, where indices is NULL) one above the other.
FALLIBLE Status *list_stack(Kernel *k, int i, const VariantList *list, const Tensor *indices, const Shape *wanted);
FALLIBLE Status *list_check_index(const VariantList *list, int64_t index);
FALLIBLE Status *list_check_item(const VariantList *list, const Tensor *item, const char *what);
// Elements [from, from + count of to) of `from` into `to`.
FALLIBLE Status *list_copy_span(const Tensor *from, int64_t first, const Tensor *to, int64_t at, int64_t n);
