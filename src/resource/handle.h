// Handle — the element of a resource tensor: names a resource and its device and, where that is in this process, holds
// it.
//
// A handle may come from a file or another process with names alone; then it is looked up in the step's table.
#pragma once
#include "resource/resource.h"
#include "tensor/tensor.h"

typedef struct Handle {
    Object object;
    Resource *resource;         // one reference; NULL: names only
    Str container, name, type;  // type: "Variable", the name of the ResourceType
    Str device;                 // the full name of the device that the resource is on; empty: not told
    DType dtype;                // of the value behind it; DT_INVALID: not told
    Shape shape;
    char *text;                 // owns the four names
} Handle;

// A scalar resource tensor whose element holds `resource`, which is on that device.
FALLIBLE Status *handle_tensor(Resource *resource, Str device, DType dtype, Shape shape, Tensor *out);
// The same by names alone.
FALLIBLE Status *handle_tensor_named(Str container, Str name, Str type, Str device, DType dtype, Shape shape,
                                     Tensor *out);
// Element i of a resource tensor, borrowed from it. INVALID_ARGUMENT: no resource tensor, or an empty element.
FALLIBLE Status *handle_get(const Tensor *tensor, int64_t i, const Handle **out);
// What element i stands for, retained. INVALID_ARGUMENT where it is of another type; NOT_FOUND. `table` may be NULL.
FALLIBLE Status *handle_resource(const Tensor *tensor, int64_t i, ResourceTable *table, const ResourceType *type,
                                 Resource **out);
// The same without a reference where the handle holds one, and so for as long as the tensor lives: steps that share a
// variable don't meet at its count. What was found by name is retained: `*found` is to be released, NULL otherwise.
FALLIBLE Status *handle_borrow(const Tensor *tensor, int64_t i, ResourceTable *table, const ResourceType *type,
                               Resource **out, Resource **found);
