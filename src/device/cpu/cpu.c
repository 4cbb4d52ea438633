// CPU — the device that is the host: kernels are called as they are and nothing is copied.
#include "device/device.h"

static RunFn *cpu_kernel(const Device *device, const Op *op, DType dtype) {
    (void)device;
    for (const KernelRow *row = op->cpu; row && row->run; row++)
        if (row->dtype == dtype || row->dtype == DT_INVALID)
            return row->run;
    return NULL;
}

static Status *cpu_copy(const Device *device, const Tensor *from, const Tensor *to) {
    (void)device;
    return tensor_copy_elements(from, to);
}

const DeviceType device_cpu = {
    .name = "CPU", .priority = 50, .host = true, .kernel = cpu_kernel, .copy_in = cpu_copy, .copy_out = cpu_copy,
};
