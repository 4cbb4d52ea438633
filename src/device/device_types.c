// DeviceType — see device.h: the types of devices that this process knows.
#include "device/device.h"
#include "thread/mutex.h"

// Those behind `n_types` are never read, and a type that is there never changes: readers need no lock, only the acquire
// that pairs with the release in add().
static const DeviceType *types[MAX_DEVICE_TYPES] = {&device_cpu, &device_fake};
static _Atomic int n_types = 2;
static Mutex registering = MUTEX_INIT;

const DeviceType *device_type_at(int index) {
    return index < atomic_load_explicit(&n_types, memory_order_acquire) ? types[index] : NULL;
}

const DeviceType *device_type_find(Str name) {
    const DeviceType *type;
    for (int i = 0; (type = device_type_at(i)); i++)
        if (str_is(name, type->name))
            return type;
    return NULL;
}

static Status *add(const DeviceType *type) {
    int n = atomic_load_explicit(&n_types, memory_order_relaxed);
    NEED(!device_type_find(str_of(type->name)), ALREADY_EXISTS, "there is a device type %s", type->name);
    NEED(n < MAX_DEVICE_TYPES, RESOURCE_EXHAUSTED, "device type %s: there are %d already", type->name, n);
    types[n] = type;
    atomic_store_explicit(&n_types, n + 1, memory_order_release);
    return OK;
}

Status *device_type_register(const DeviceType *type) {
    mutex_lock(&registering);
    Status *status = add(type);
    mutex_unlock(&registering);
    return status;
}

// Rows are few (a kernel for each dtype); DT_INVALID is one for all types, for ops that only move bytes.
RunFn *device_type_kernel(const DeviceType *type, const Op *op, DType dtype) {
    const Kernels *kernels = type->kernels(op);
    for (const KernelRow *row = kernels ? kernels->rows : NULL; row && row->run; row++)
        if (row->dtype == dtype || row->dtype == DT_INVALID)
            return row->run;
    return NULL;
}
