// Value — a value in a PJRT device's memory: a buffer of ours whose bytes only the plug-in can reach.
#pragma once
#include "device/pjrt/plugin.h"

// Buffer.data is no address that could be followed.
typedef struct DeviceValue {
    Buffer base;
    PjrtDevice *device;
    PjBuffer *buffer;          // NULL: nothing was put in yet, or a program has taken its memory
} DeviceValue;

// Of an allocator of ours; NULL for any other.
DeviceValue *value_of(const Tensor *tensor);
// A tensor of the device for a plug-in's buffer, which it takes over, also when it fails.
FALLIBLE Status *value_adopt(PjrtDevice *device, PjBuffer *buffer, DType dtype, Shape shape, Tensor *out);
// The plug-in's buffer of a value on that device, of that type and shape. INVALID_ARGUMENT, FAILED_PRECONDITION where
// there is none any more.
FALLIBLE Status *value_buffer(const PjrtDevice *device, const Tensor *tensor, DType dtype, const Shape *shape,
                              PjBuffer **out);
// Host bytes as a new buffer of the plug-in. The tensor's bytes are read until the device's queue is done.
FALLIBLE Status *value_upload(PjrtDevice *device, const Tensor *host, PjBuffer **out);
// Into host memory; waits.
FALLIBLE Status *value_download(PjrtDevice *device, PjBuffer *buffer, const Tensor *host);
void value_drop(const PjrtDevice *device, PjBuffer *buffer);
