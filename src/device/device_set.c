// DeviceSet — the devices of a session, and the device strings that choose among them.
//
// Names are TensorFlow's: /job:J/replica:R/task:T/device:TYPE:N. A request names any part of that; "*" and what is left
// out match everything, types regardless of case.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "device/device.h"
#include "device/pjrt/plugin.h"

static int count_of(const DeviceType *type, const DeviceCount *counts, int n) {
    for (int i = 0; i < n; i++)
        if (str_is(counts[i].type, type->name))
            return counts[i].count;
    return type->count;
}

static Status *device_new(const DeviceType *type, const char *task, int ordinal, Device **out) {
    Device *device = calloc(1, sizeof *device);
    NEED_MEMORY(device);
    // 256 MiB is what TensorFlow's CPU devices report; nothing is limited by it.
    *device = (Device){.type = type, .ordinal = ordinal, .memory_limit = 256 << 20, .allocator = &host_allocator};
    // The incarnation tells this process's devices from those of one that had the same name before: masters compare it.
    // Never 0, which means unknown.
    int64_t seed[3] = {clock_now(), (int64_t)(uintptr_t)device, getpid()};
    device->incarnation = hash_bytes(seed, sizeof seed, 0) | 1;
    int n = snprintf(device->name, sizeof device->name, "%s/device:%s:%d", task, type->name, ordinal);
    Status *status = OK;
    if (n < 0 || (size_t)n >= sizeof device->name)
        status = status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "the name of task %s is too long", task);
    else if (type->open)
        status = type->open(device);
    if (status)
        free(device);
    else
        *out = device;
    return status;
}

static Status *add_devices(DeviceSet *set, const char *task, const DeviceType *type, int count) {
    NEED(count >= 0 && count <= 1024, INVALID_ARGUMENT, "device_count of %s is %d, expected 0 to 1024", type->name,
         count);
    for (int i = 0; i < count; i++) {
        Device **grown = realloc(set->devices, (size_t)(set->n + 1) * sizeof *grown);
        NEED_MEMORY(grown);
        set->devices = grown;
        TRY(device_new(type, task, i, &set->devices[set->n]));
        set->n++;
    }
    return OK;
}

Status *device_set_init(DeviceSet *set, const char *task, const DeviceCount *counts, int n) {
    *set = (DeviceSet){0};
    const DeviceType *type;
    TRY(pjrt_open_all());
    for (int t = 0; (type = device_type_at(t)); t++) {
        int count = count_of(type, counts, n);
        // A session without a CPU can't hold its int32 values: one is made even where none is asked for.
        bool host_is_missing = type == &device_cpu && count == 0;
        TRY(add_devices(set, task, type, host_is_missing ? 1 : count));
    }
    return OK;
}

void device_set_clear(DeviceSet *set) {
    for (int i = 0; i < set->n; i++) {
        if (set->devices[i]->type->close)
            set->devices[i]->type->close(set->devices[i]);
        free(set->devices[i]);
    }
    free(set->devices);
    *set = (DeviceSet){0};
}

// -1 is any.
static bool take_index(Str text, int *out) {
    int64_t value;
    if (str_is(text, "*")) {
        *out = -1;
        return true;
    }
    if (!str_to_int(text, &value) || value < 0 || value > INT32_MAX)
        return false;
    *out = (int)value;
    return true;
}

// "GPU:1", "GPU:*" or "GPU".
static bool take_type(Str text, DeviceSpec *out) {
    const char *colon = text.n ? memchr(text.p, ':', text.n) : NULL;
    out->type = colon ? (Str){text.p, (size_t)(colon - text.p)} : text;
    if (str_is(out->type, "*"))
        out->type = (Str){0};
    return !colon || take_index((Str){colon + 1, text.n - out->type.n - 1}, &out->ordinal);
}

// One part between slashes. An unknown key is an error, not ignored: a misspelt request would run anywhere.
static bool take_part(Str part, DeviceSpec *out) {
    const char *colon = memchr(part.p, ':', part.n);
    Str key = colon ? (Str){part.p, (size_t)(colon - part.p)} : part;
    Str value = colon ? (Str){colon + 1, part.n - key.n - 1} : (Str){0};
    if (str_is(key, "job")) {
        out->job = value;
        return value.n > 0;
    }
    if (str_is(key, "replica"))
        return take_index(value, &out->replica);
    if (str_is(key, "task"))
        return take_index(value, &out->task);
    if (str_is(key, "device"))
        return value.n > 0 && take_type(value, out);
    // The old short form: "/cpu:0", "/gpu:1".
    if (key.n == 3 && (!strncasecmp(key.p, "cpu", 3) || !strncasecmp(key.p, "gpu", 3)))
        return take_type(part, out);
    return false;
}

Status *device_spec_parse(Str text, DeviceSpec *out) {
    DeviceSpec spec = {.replica = -1, .task = -1, .ordinal = -1};
    size_t at = 0;
    while (at < text.n) {
        NEED(text.p[at] == '/', INVALID_ARGUMENT, "malformed device '%.*s': expected '/job:..', '/task:..' or "
             "'/device:TYPE:N'", STR_ARGS(text));
        size_t end = ++at;
        while (end < text.n && text.p[end] != '/')
            end++;
        Str part = {text.p + at, end - at};
        NEED(part.n && take_part(part, &spec), INVALID_ARGUMENT, "malformed device '%.*s' at '/%.*s'", STR_ARGS(text),
             STR_ARGS(part));
        at = end;
    }
    *out = spec;
    return OK;
}

// Asked only where a request names a job, replica or task; most name a device at most.
static bool names_task(const DeviceSpec *spec, const Device *device) {
    DeviceSpec own;
    Status *status = device_spec_parse(str_of(device->name), &own);
    bool same = !status && (!spec->job.n || str_equal(spec->job, own.job)) &&
                (spec->replica < 0 || spec->replica == own.replica) && (spec->task < 0 || spec->task == own.task);
    status_free(status);
    return same;
}

Str device_task(const Device *device) {
    const char *end = strstr(device->name, "/device:");
    return (Str){device->name, end ? (size_t)(end - device->name) : strlen(device->name)};
}

bool device_spec_matches(const DeviceSpec *spec, const Device *device) {
    if ((spec->job.n || spec->replica >= 0 || spec->task >= 0) && !names_task(spec, device))
        return false;
    if (spec->type.n && (strlen(device->type->name) != spec->type.n ||
                         strncasecmp(spec->type.p, device->type->name, spec->type.n) != 0))
        return false;
    return spec->ordinal < 0 || spec->ordinal == device->ordinal;
}
