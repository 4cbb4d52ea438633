// Pending — what a device was asked to do and has not done yet: uploads, runs, reading of checks.
//
// A plug-in tells that something is done on a thread of its own, or inside the call that asks to be told. There a
// number is taken off the list, and no more; who waits does so for all that was begun before.
#include <stdlib.h>

#include "base/clock.h"
#include "device/pjrt/plugin.h"
#include "kernel/kernel.h"

typedef struct Pending {
    PjrtDevice *device;
    PjEvent *event;
    EndedFn *ended;
    void *arg;
    uint64_t number;
    struct Pending *before, *next;
} Pending;

static void take_error(PjrtDevice *device, Status *status) REQUIRES(device->lock) {
    if (device->error)
        status_free(status);
    else
        device->error = status;
}

static void unlink_pending(PjrtDevice *device, const Pending *pending) REQUIRES(device->lock) {
    *(pending->before ? &pending->before->next : &device->first) = pending->next;
    *(pending->next ? &pending->next->before : &device->last) = pending->before;
}

static void over(PjError *error, void *arg) {
    Pending *pending = arg;
    PjrtDevice *device = pending->device;
    Status *failed = plugin_error(device->plugin, error), *later = pending->ended ? pending->ended(pending->arg) : OK;
    PJ_ARGS(PjEventArgs, destroy, .event = pending->event);
    plugin_drop(device->plugin, Pj_Event_Destroy, &destroy);
    mutex_lock(&device->lock);
    take_error(device, failed);
    take_error(device, later);
    unlink_pending(device, pending);
    condition_notify_all(&device->changed);
    mutex_unlock(&device->lock);
    free(pending);
}

static void add(PjrtDevice *device, Pending *pending) {
    mutex_lock(&device->lock);
    pending->number = ++device->begun;
    pending->before = device->last;
    *(device->last ? &device->last->next : &device->first) = pending;
    device->last = pending;
    mutex_unlock(&device->lock);
}

void pjrt_pending(PjrtDevice *device, PjEvent *event, EndedFn *ended, void *arg) {
    Pending *pending = malloc(sizeof *pending);
    Status *status = OK;
    if (pending) {
        *pending = (Pending){.device = device, .event = event, .ended = ended, .arg = arg};
        add(device, pending);
        PJ_ARGS(PjOnReadyArgs, watch, .event = event, .callback = over, .arg = pending);
        status = plugin_call(device->plugin, Pj_Event_OnReady, &watch);
        if (!status)
            return;
        mutex_lock(&device->lock);
        unlink_pending(device, pending);
        mutex_unlock(&device->lock);
        free(pending);
    }
    // It can't be watched: it is waited for.
    Status *failed = plugin_await(device->plugin, event), *later = ended ? ended(arg) : OK;
    mutex_lock(&device->lock);
    take_error(device, status);
    take_error(device, failed);
    take_error(device, later);
    mutex_unlock(&device->lock);
}

// A step that is cancelled is noticed within a moment of 50 ms. What it leaves behind ends on its own, or never.
Status *pjrt_wait(PjrtDevice *device, const StepContext *step) {
    Status *given_up = OK;
    mutex_lock(&device->lock);
    uint64_t until = device->begun;
    while (!given_up && device->first && device->first->number <= until)
        if (!condition_wait_until(&device->changed, &device->lock, clock_now() + 50 * CLOCK_MS))
            given_up = context_check(step);
    Status *error = given_up ? OK : device->error;
    if (!given_up)
        device->error = OK;
    mutex_unlock(&device->lock);
    return given_up ? status_prefix(given_up, "device %s has not answered", device->plugin->type.name) : error;
}
