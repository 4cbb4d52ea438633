// Value — see value.h: buffers, and the copies between host and device.
#include "device/pjrt/value.h"

#include <stdlib.h>

#include "device/pjrt/pjrt.h"

// No address on x86-64 or arm64: who follows it faults at once.
static const uintptr_t FAR = (uintptr_t)0x5a5a << 48;

static PjrtDevice *device_of(const Allocator *allocator) {
    return (PjrtDevice *)((char *)(uintptr_t)allocator - offsetof(PjrtDevice, allocator));
}

void value_drop(const PjrtDevice *device, PjBuffer *buffer) {
    PJ_ARGS(PjBufferArgs, destroy, .buffer = buffer);
    if (buffer)
        plugin_drop(device->plugin, Pj_Buffer_Destroy, &destroy);
}

static void free_value(Buffer *buffer) {
    DeviceValue *value = (DeviceValue *)buffer;
    value_drop(value->device, value->buffer);
    free(value);
}

static Buffer *alloc_value(Allocator *allocator, size_t bytes) {
    DeviceValue *value = calloc(1, sizeof *value);
    if (!value)
        return NULL;
    uintptr_t address = ((uintptr_t)value & ~(uintptr_t)(BUFFER_ALIGNMENT - 1)) ^ FAR;
    value->base = (Buffer){.references = 1, .bytes = bytes, .data = (void *)address, .allocator = allocator,
                           .free = free_value};
    value->device = device_of(allocator);
    return &value->base;
}

const Allocator pjrt_allocator = {"pjrt", false, alloc_value};

DeviceValue *value_of(const Tensor *tensor) {
    const Buffer *buffer = tensor->buffer;
    return buffer && buffer->allocator && buffer->allocator->alloc == alloc_value ? (DeviceValue *)buffer : NULL;
}

Status *value_adopt(PjrtDevice *device, PjBuffer *buffer, DType dtype, Shape shape, Tensor *out) {
    Tensor tensor;
    Status *status = tensor_new_on(&device->allocator, dtype, shape, &tensor);
    if (status) {
        value_drop(device, buffer);
        return status;
    }
    value_of(&tensor)->buffer = buffer;
    *out = tensor;
    return OK;
}

Status *value_buffer(const PjrtDevice *device, const Tensor *tensor, DType dtype, const Shape *shape, PjBuffer **out) {
    const DeviceValue *value = value_of(tensor);
    NEED(value && value->device == device, INTERNAL, "a value is not in the memory of the device that reads it");
    NEED(tensor->dtype == dtype && shape_equal(&tensor->shape, shape), INVALID_ARGUMENT,
         "a value of type %s and shape %s, expected %s and %s", dtype_name(tensor->dtype), shape_text(&tensor->shape),
         dtype_name(dtype), shape_text(shape));
    NEED(value->buffer, FAILED_PRECONDITION, "the memory of a value was given to another");
    *out = value->buffer;
    return OK;
}

// ---- to the device

static Status *uploaded(void *arg) {
    buffer_release(arg);
    return OK;
}

// A client may write into what it lent as soon as the step is over, which waits for this; others may not write into a
// buffer that is held.
Status *value_upload(PjrtDevice *device, const Tensor *host, PjBuffer **out) {
    enum { SMALL = 1 << 14 };  // copied within the call: one event less
    bool later = host->buffer && tensor_bytes(host) > SMALL;
    int type = pjrt_type(host->dtype);
    NEED(type != PJ_NONE, UNIMPLEMENTED, "%s is no type of device %s", dtype_name(host->dtype),
         device->plugin->type.name);
    NEED(shape_is_known(&host->shape) && host->layout == LAYOUT_PLAIN, INTERNAL, "a value is not as devices take it");
    int64_t dims[MAX_RANK + 1];
    memcpy(dims, host->shape.dims, sizeof *dims * (size_t)host->shape.rank);
    PJ_ARGS(PjFromHostArgs, put, .client = device->plugin->client, .data = host->data, .type = type, .dims = dims,
            .rank = (size_t)host->shape.rank, .promise = later ? PJ_UNTIL_DONE : PJ_DURING_CALL,
            .device = device->device);
    TRY(plugin_call(device->plugin, Pj_Client_BufferFromHostBuffer, &put));
    NEED(put.buffer, INTERNAL, "the plug-in gave no buffer");
    __atomic_fetch_add(&device->uploads, 1, __ATOMIC_RELAXED);
    PJ_ARGS(PjEventArgs, destroy, .event = put.host_free);
    if (later && put.host_free)
        pjrt_pending(device, put.host_free, uploaded, buffer_retain(host->buffer));
    else if (put.host_free)
        plugin_drop(device->plugin, Pj_Event_Destroy, &destroy);
    *out = put.buffer;
    return OK;
}

Status *pjrt_copy_in(const Device *device, const Tensor *host, const Tensor *inside) {
    PjrtDevice *at = pjrt_of(device);
    DeviceValue *value = value_of(inside);
    NEED(value && value->device == at, INTERNAL, "a value is not in the memory of %s", device->name);
    PjBuffer *buffer;
    TRY(value_upload(at, host, &buffer));
    value_drop(at, value->buffer);
    value->buffer = buffer;
    return OK;
}

// ---- to the host

Status *value_download(PjrtDevice *device, PjBuffer *buffer, const Tensor *host) {
    size_t bytes = tensor_bytes(host);
    if (!bytes)
        return OK;
    int64_t order[MAX_RANK + 1];  // row major, whatever the device's own order is
    for (int d = 0; d < host->shape.rank; d++)
        order[d] = host->shape.rank - 1 - d;
    PjLayout layout = {.size = sizeof layout, .type = 0};
    layout.tiled.size = sizeof layout.tiled;
    layout.tiled.minor_to_major = order;
    layout.tiled.n = (size_t)host->shape.rank;
    PJ_ARGS(PjToHostArgs, get, .from = buffer, .to = host->data, .n = bytes,
            .host_layout = device->plugin->is_cpu ? NULL : &layout);
    TRY(plugin_call(device->plugin, Pj_Buffer_ToHostBuffer, &get));
    __atomic_fetch_add(&device->downloads, 1, __ATOMIC_RELAXED);
    return plugin_await(device->plugin, get.event);
}

Status *pjrt_bring(const Tensor *inside, const Tensor *host) {
    DeviceValue *value = value_of(inside);
    NEED(value, INTERNAL, "a value is not in a device's memory");
    PjBuffer *buffer;
    TRY(value_buffer(value->device, inside, host->dtype, &host->shape, &buffer));
    return value_download(value->device, buffer, host);
}

Status *pjrt_copy_out(const Device *device, const Tensor *inside, const Tensor *host) {
    (void)device;
    return pjrt_bring(inside, host);
}
