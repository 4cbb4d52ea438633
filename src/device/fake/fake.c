// Fake — an accelerator in software: its pointers can't be followed by the host, so every copy must go through here.
//
// An address of the device is the host's address with the upper 16 bits flipped: not canonical on x86-64 and arm64, so
// a kernel or a copy that forgets the device faults at once. Its kernels are the CPU's, called with the addresses
// turned back. What a test proves on it holds for a device with a memory of its own.
#include "device/device.h"

enum { MOST = 64 };  // inputs and outputs that are translated without allocating

static const uintptr_t FAR = (uintptr_t)0xffff << 48;

// User addresses have upper bits of 0, or of 1 beyond 2^48: flipped, 0xffff or 0xfffe.
static bool is_far(const void *data) {
    return ((uintptr_t)data >> 48) == 0xffff || ((uintptr_t)data >> 48) == 0xfffe;
}

static void *turn(const void *data) {
    return (void *)((uintptr_t)data ^ FAR);
}

static Buffer *fake_alloc(Allocator *allocator, size_t bytes) {
    Buffer *buffer = host_allocator.alloc(&host_allocator, bytes);
    if (!buffer)
        return NULL;
    // The header stays readable; only the data is far away. The host buffer's own free needs no more than `owner`.
    buffer->data = turn(buffer->data);
    buffer->allocator = allocator;
    return buffer;
}

static Status *fake_open(Device *device) {
    static Allocator allocator = {"fake", false, fake_alloc};
    device->allocator = &allocator;
    return OK;
}

static const Kernels *fake_kernels(const Op *op) {
    return device_cpu.kernels(op);
}

static void near(const Tensor *from, Tensor *to) {
    *to = *from;
    if (is_far(to->data))
        to->data = turn(to->data);
}

// The kernel sees host addresses in views of its inputs and outputs; what it put into the views goes back to the slots.
static Status *fake_run(const Device *device, Kernel *k) {
    (void)device;
    NEED(k->n_in + k->n_out <= MOST, UNIMPLEMENTED, "the fake device takes at most %d inputs and outputs", MOST);
    Tensor views[MOST], *pointers[MOST];
    for (int i = 0; i < k->n_in + k->n_out; i++) {
        near(i < k->n_in ? k->in[i] : k->out[i - k->n_in], &views[i]);
        pointers[i] = &views[i];
    }
    Tensor *const *in = k->in, *const *out = k->out;
    void *scratch = k->scratch;
    k->in = pointers;
    k->out = pointers + k->n_in;
    k->scratch = is_far(scratch) ? turn(scratch) : scratch;
    Status *status = k->run(k);
    k->in = in;
    k->out = out;
    k->scratch = scratch;
    for (int i = 0; i < k->n_out; i++) {
        const Tensor *view = &views[k->n_in + i];
        if (view->buffer != out[i]->buffer)
            *out[i] = *view;  // what the kernel allocated; the slot may still hold an address of the step before
        out[i]->shape = view->shape;
    }
    return status;
}

static Status *fake_copy(const Device *device, const Tensor *from, const Tensor *to) {
    (void)device;
    Tensor a, b;
    near(from, &a);
    near(to, &b);
    return tensor_copy_elements(&a, &b);
}

const DeviceType device_fake = {
    .name = "FAKE", .priority = 10, .host = false, .kernels = fake_kernels, .open = fake_open, .run = fake_run,
    .copy_in = fake_copy, .copy_out = fake_copy,
};
