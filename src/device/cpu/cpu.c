// CPU — the device that is the host: kernels are called as they are and nothing is copied.
#include "device/device.h"

static const Kernels *cpu_kernels(const Op *op) {
    return &op->kernels;
}

static Status *cpu_copy(const Device *device, const Tensor *from, const Tensor *to) {
    (void)device;
    return tensor_copy_elements(from, to);
}

const DeviceType device_cpu = {
    .name = "CPU", .priority = 50, .host = true, .count = 1, .kernels = cpu_kernels, .copy_in = cpu_copy, .copy_out = cpu_copy,
};
