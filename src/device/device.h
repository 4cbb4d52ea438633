// Device — where kernels run: a memory, a way to move bytes in and out of it, and the kernels that it has.
//
// Every device of a process stands behind this interface; nothing else knows what memory lies where. int32 values and
// whatever an op declares as host input or output stay in host memory on every device, as in TensorFlow.
#pragma once
#include "kernel/kernel.h"

typedef struct Device Device;

// Bytes; -1 where the device doesn't tell.
typedef struct {
    int64_t in_use, peak, limit;
} DeviceMemory;

// What all devices of a type have in common. A type is registered once and lives as long as the process.
typedef struct DeviceType {
    const char *name;  // "CPU", "GPU", "FAKE"
    int priority;      // higher is preferred where a node asks for nothing
    bool host;         // its memory is the host's: no Send and Recv between such devices is ever a copy
    int count;         // how many a session has that doesn't say
    // What it has for the op; NULL: nothing.
    const Kernels *(*kernels)(const Op *op);
    // Makes the device's memory and whatever else it needs (allocator, memory_limit, state); NULL: it works in host
    // memory.
    Status *(*open)(Device *device);
    void (*close)(Device *device);  // NULL: nothing to do. No step runs any more.
    // Calls k->run with what the device needs around it, or puts the call into the device's queue: what it needs of `k`
    // it copies and retains, but for k->own, which lasts until `sync` has returned. Errors may come later, from
    // copy_out or sync. What is queued runs in that order: a step that has one block of the device's memory for many
    // values writes over one when all who read it are queued. NULL: k->run is called directly.
    Status *(*run)(const Device *device, Kernel *k);
    // Copies the elements, when all that was queued before is done. Shapes and types agree, destinations are allocated.
    Status *(*copy_in)(const Device *device, const Tensor *host, const Tensor *inside);
    Status *(*copy_out)(const Device *device, const Tensor *inside, const Tensor *host);
    // Waits until what was queued is done, or the step shall not go on (context_check); a step that used the device ends
    // with it. NULL: nothing is ever queued.
    Status *(*sync)(const Device *device, const struct StepContext *step);
    // What it does where it takes whole parts of a plan instead of single nodes; NULL: it does not. Its values lie in
    // buffers of their own, each from the allocator, for their addresses mean nothing.
    const struct Compiler *compiler;
} DeviceType;

struct Device {
    union {
        DeviceBase base;
        struct {               // the same by the names that everybody uses
            Allocator *allocator;
            char name[96];
        };
    };
    const DeviceType *type;
    int ordinal;
    uint64_t incarnation;      // random per process start: tells a restarted device from the old one
    int64_t memory_limit;      // bytes
    void *state;               // the type's own
};
_Static_assert(offsetof(Device, name) == offsetof(DeviceBase, name), "a Device begins with its DeviceBase");

// Adds a type of devices, before sessions are made that have some. ALREADY_EXISTS where the name is taken;
// RESOURCE_EXHAUSTED beyond MAX_DEVICE_TYPES. The CPU, and FAKE for tests, are there from the start.
enum { MAX_DEVICE_TYPES = 16 };
FALLIBLE Status *device_type_register(const DeviceType *type);
const DeviceType *device_type_find(Str name);  // NULL: none of that name
const DeviceType *device_type_at(int index);   // in the order of registration, the CPU first; NULL after the last
// The type's kernel for the op and that element type; NULL: none.
RunFn *device_type_kernel(const DeviceType *type, const Op *op, DType dtype);

// The devices of one session or eager context. Owner: one; devices live as long as it does.
typedef struct DeviceSet {
    Device **devices;          // the first is CPU:0
    int n;
} DeviceSet;

// `counts` says how many of each type ("CPU", 1); a type not named has its default (one CPU, no other).
typedef struct {
    Str type;
    int count;
} DeviceCount;
// `task` is what their names begin with. INVALID_ARGUMENT for other counts than 0 to 1024 and for a task of too long a name.
// The first call in a process that MILLRACE_PJRT names plug-ins to opens those (device/pjrt/plugin.h).
#define LOCAL_TASK "/job:localhost/replica:0/task:0"
FALLIBLE Status *device_set_init(DeviceSet *set, const char *task, const DeviceCount *counts, int n);
void device_set_clear(DeviceSet *set);

// A device string in parts; -1 and empty where a part is not given. INVALID_ARGUMENT for malformed text. Accepts
// "/job:a/replica:0/task:1/device:GPU:0", the short "/gpu:0", "/device:GPU:*" and the empty string.
typedef struct {
    Str job, type;
    int replica, task, ordinal;
} DeviceSpec;
// "/job:a/replica:0/task:1": what the device's name begins with.
Str device_task(const Device *device);
FALLIBLE Status *device_spec_parse(Str text, DeviceSpec *out);
bool device_spec_matches(const DeviceSpec *spec, const Device *device);

extern const DeviceType device_cpu, device_fake;

// True where the device keeps values of that type in host memory.
static inline bool device_hosts(const Device *device, DType dtype) {
    return device->type->host || dtype == DT_int32 || !dtype_is_plain(dtype);
}
