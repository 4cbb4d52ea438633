// Plug-in — a library that speaks PJRT, opened once a process: its client, its devices, what goes wrong in it.
//
// It is opened when the first environment with devices is made and MILLRACE_PJRT names one, and stays until the process
// ends: a plug-in keeps threads. It trusts its caller, so whatever is handed to it is checked here before.
#pragma once
#include "device/device.h"
#include "device/pjrt/abi.h"
#include "thread/mutex.h"

typedef struct Plugin Plugin;

// One device of the process, whichever environments have it.
typedef struct PjrtDevice {
    Plugin *plugin;
    PjDevice *device;
    Allocator allocator;       // of DeviceValues: buffers that are theirs (value.h)
    Mutex lock;
    Condition changed;
    struct Pending *first, *last;  // what was begun and has not ended, oldest first
    uint64_t begun;            // the number of what was begun last
    Status *error;             // the first since somebody asked
    int64_t executions, uploads, downloads, compiles, loads;  // counted for people and tests
} PjrtDevice;

struct Plugin {
    Plugin *next;
    const PjApi *api;
    PjClient *client;
    DeviceType type;           // what is registered: GPU, TPU or PJRT
    PjrtDevice *devices;
    int n_devices;
    bool is_cpu;
    Text identity;             // what compiled programs depend on: version, platform, the file's size and time, the device
};

// Opens what MILLRACE_PJRT names, paths with ':' between, and registers a type of devices for each; done once, by the
// first caller. Behind a path may stand what its client is made with: "libx.so?cpu_device_count=2&preallocate=false".
// NOT_FOUND, FAILED_PRECONDITION ... where one can't be opened, each time.
FALLIBLE Status *pjrt_open_all(void);
// Calls a function of the table. Its error as a status; UNIMPLEMENTED where the plug-in lacks the function,
// FAILED_PRECONDITION in the child of a fork.
FALLIBLE Status *plugin_call(const Plugin *plugin, int function, void *args);
// The same where there is nothing to be done about an error.
void plugin_drop(const Plugin *plugin, int function, void *args);
// The status of an error, which is freed; OK for NULL.
FALLIBLE Status *plugin_error(const Plugin *plugin, PjError *error);
// Waits for the event and destroys it.
FALLIBLE Status *plugin_await(const Plugin *plugin, PjEvent *event);
// What the device says of its memory. UNIMPLEMENTED where it keeps no statistics.
FALLIBLE Status *pjrt_memory(const PjrtDevice *device, DeviceMemory *out);

static inline PjrtDevice *pjrt_of(const Device *device) {
    return device->state;
}

#define PJ_ARGS(Type, name, ...) Type name = {.size = sizeof name, __VA_ARGS__}

// The element type of the interface; 0 where it has none.
int pjrt_type(DType dtype);

// ---- pending.c: what was begun and has not ended

// When the event fires, `ended` runs with `arg`, on whichever thread that is, perhaps before this returns; it must not
// wait. What it gives is the device's error. The event is destroyed. Where this fails the event is waited for.
typedef Status *EndedFn(void *arg);
void pjrt_pending(PjrtDevice *device, PjEvent *event, EndedFn *ended, void *arg);
// Waits for all that was begun before, and gives the first error; not longer than the step may take.
FALLIBLE Status *pjrt_wait(PjrtDevice *device, const StepContext *step);
