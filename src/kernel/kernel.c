// Kernel — see kernel.h: what kernels call.
//
// None of it knows how a node is run: list, frames and eager calls set up the same Kernel.
#include "kernel/kernel.h"

#include "loops/tuning.h"
#include "resource/handle.h"
#include "thread/pool.h"

Status *kernel_nothing(Kernel *k) {
    (void)k;
    return OK;
}

// Always on the host; the machine brings it to the device (device/binding.c). The shape may come from data, so it is
// checked before it is multiplied.
Status *kernel_output(Kernel *k, int i, Shape shape) {
    Tensor *out = k->out[i];
    DType dtype = node_value_type(k->node, i);
    size_t bytes;
    TRY(shape_check(&shape));
    TRY(shape_bytes(&shape, dtype, &bytes));
    Buffer *buffer;
    TRY(buffer_new(&host_allocator, dtype, bytes, &buffer));
    buffer_release(out->buffer);
    *out = (Tensor){.data = buffer->data, .buffer = buffer, .dtype = dtype, .shape = shape};
    return OK;
}

void kernel_set_output(Kernel *k, int i, Tensor value) {
    Tensor *out = k->out[i];
    buffer_release(out->buffer);
    *out = value;
}

// Holding a reference is enough for a plain counted buffer. What lies in the step's arena, or in a library's layout,
// must be copied: it is gone, or not plain, when the step is over.
Status *kernel_keep(Kernel *k, int i, Tensor *out) {
    const Tensor *in = k->in[i];
    if (in->buffer && in->layout == LAYOUT_PLAIN) {
        *out = tensor_retain(in);
        return OK;
    }
    return tensor_copy(in, out);
}

// By what waking costs: below the first figure a wake-up takes longer than the work, and only threads that are still
// awake are worth asking; below the second not even these.
void kernel_share(Kernel *k, int64_t units, int64_t total_ns, void (*fn)(void *arg, int64_t first, int64_t last),
                  void *arg) {
    if (total_ns >= TUNED_SHARE_ASLEEP)
        pool_parallel(k->step->threads, units, fn, arg);
    else if (total_ns >= TUNED_SHARE_AWAKE)
        pool_parallel_awake(k->step->threads, units, fn, arg);
    else if (units > 0)
        fn(arg, 0, units);
}

void kernel_parallel(Kernel *k, int64_t units, int64_t cost_ns, void (*fn)(void *arg, int64_t first, int64_t last),
                     void *arg) {
    int64_t total;
    kernel_share(k, units, __builtin_mul_overflow(units, cost_ns, &total) ? INT64_MAX : total, fn, arg);
}

// Arithmetic plus memory, by the speed of whichever level the bytes fit in. An estimate: it decides about threads,
// branches and rematerialisation, never about results. The bound keeps sums of costs within an int64_t.
int64_t kernel_cost(int64_t elements, int64_t picoseconds, int64_t bytes) {
    double ns = (double)elements * (double)picoseconds * 1e-3;
    ns += (double)bytes / (bytes > TUNED_CACHED ? TUNED_MEMORY_SPEED : TUNED_CACHED_SPEED);
    return ns > 1e15 ? (int64_t)1e15 : (int64_t)ns;
}

// Cancellation first: when a step was cancelled by its deadline, the reason it gives is the better one.
Status *context_check(const StepContext *context) {
    TRY(cancellation_check(context->cancellation));
    NEED(context->deadline == NO_DEADLINE || clock_now() <= context->deadline, DEADLINE_EXCEEDED,
         "the step ran past its deadline");
    return OK;
}

void kernel_done(Kernel *k, Status *status) {
    k->step->done(k, status);
}

Status *kernel_resource(Kernel *k, int i, const struct ResourceType *type, Resource **out) {
    return handle_resource(k->in[i], 0, k->step->resources, type, out);
}
