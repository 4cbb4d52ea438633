// PJRT — see pjrt.h: the type of device.
#include "device/pjrt/pjrt.h"

#include "device/pjrt/plugin.h"

// It runs no kernel by itself: what isn't part of a program runs on the host.
static const Kernels *no_kernels(const Op *op) {
    (void)op;
    return NULL;
}

static Plugin *plugin_of(const DeviceType *type) {
    return (Plugin *)((char *)(uintptr_t)type - offsetof(Plugin, type));
}

static Status *pjrt_open(Device *device) {
    Plugin *plugin = plugin_of(device->type);
    NEED(device->ordinal < plugin->n_devices, INVALID_ARGUMENT, "there are %d devices of type %s", plugin->n_devices,
         device->type->name);
    PjrtDevice *at = &plugin->devices[device->ordinal];
    DeviceMemory memory;
    Status *unknown = pjrt_memory(at, &memory);
    if (!unknown && memory.limit > 0)
        device->memory_limit = memory.limit;
    status_free(unknown);
    device->allocator = &at->allocator;
    device->state = at;
    return OK;
}

static Status *pjrt_sync(const Device *device, const StepContext *step) {
    return pjrt_wait(pjrt_of(device), step);
}

DeviceType pjrt_type_of(const char *name, int count) {
    return (DeviceType){.name = name, .priority = 210, .count = count, .kernels = no_kernels, .open = pjrt_open,
                        .copy_in = pjrt_copy_in, .copy_out = pjrt_copy_out, .sync = pjrt_sync,
                        .compiler = &pjrt_compiler};
}
