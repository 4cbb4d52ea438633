// Plug-in — see plugin.h: finding, opening, its client and its devices.
#include "device/pjrt/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "device/pjrt/pjrt.h"

enum { OLDEST_MINOR = 40, MOST_OPTIONS = 16, MOST_TEXT = 4000 };

static bool forked;

static void note_fork(void) {
    forked = true;
}

// ---- calls

static bool has(const PjApi *api, int function) {
    size_t n = (api->size - offsetof(PjApi, fn)) / sizeof(PjFn *);
    return (size_t)function < n && api->fn[function];
}

Status *plugin_error(const Plugin *plugin, PjError *error) {
    if (!error)
        return OK;
    PJ_ARGS(PjErrorCodeArgs, code, .error = error);
    PJ_ARGS(PjErrorMessageArgs, message, .error = error);
    PJ_ARGS(PjErrorDestroyArgs, destroy, .error = error);
    PjError *none = plugin->api->fn[Pj_Error_GetCode](&code);
    plugin->api->fn[Pj_Error_Message](&message);
    int n = message.n < MOST_TEXT ? (int)message.n : MOST_TEXT;
    Code known = none || code.code < CANCELLED || code.code > UNAUTHENTICATED ? UNKNOWN : (Code)code.code;
    Status *status = status_new(known, __FILE__, __LINE__, "%.*s", n, message.text ? message.text : "");
    plugin->api->fn[Pj_Error_Destroy](&destroy);
    return status;
}

Status *plugin_call(const Plugin *plugin, int function, void *args) {
    NEED(!forked, FAILED_PRECONDITION, "device %s: a plug-in can't be used in the child of a fork", plugin->type.name);
    NEED(has(plugin->api, function), UNIMPLEMENTED, "device %s: the plug-in lacks function %d", plugin->type.name,
         function);
    return plugin_error(plugin, plugin->api->fn[function](args));
}

void plugin_drop(const Plugin *plugin, int function, void *args) {
    status_free(plugin_call(plugin, function, args));
}

Status *plugin_await(const Plugin *plugin, PjEvent *event) {
    if (!event)
        return OK;
    PJ_ARGS(PjEventArgs, args, .event = event);
    Status *status = plugin_call(plugin, Pj_Event_Await, &args);
    plugin_drop(plugin, Pj_Event_Destroy, &args);
    return status;
}

// ---- the library

static Status *load(Plugin *plugin, const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    NEED(library, NOT_FOUND, "%s", dlerror());
    const PjApi *(*get)(void);
    *(void **)&get = dlsym(library, "GetPjrtApi");
    NEED(get, INVALID_ARGUMENT, "it has no GetPjrtApi");
    plugin->api = get();
    NEED(plugin->api && plugin->api->size > offsetof(PjApi, fn), INVALID_ARGUMENT, "GetPjrtApi gave no table");
    NEED(plugin->api->version.major == 0 && plugin->api->version.minor >= OLDEST_MINOR &&
             has(plugin->api, Pj_LoadedExecutable_Execute),
         FAILED_PRECONDITION, "it speaks PJRT %d.%d, expected 0.%d or later", plugin->api->version.major,
         plugin->api->version.minor, OLDEST_MINOR);
    PJ_ARGS(PjInitializeArgs, initialize, .extensions = NULL);
    return has(plugin->api, Pj_Plugin_Initialize) ? plugin_call(plugin, Pj_Plugin_Initialize, &initialize) : OK;
}

// "cpu_device_count=2&preallocate=false": what the client is made with. Numbers and truth values are taken as such.
static Status *parse_options(Str text, PjNamed *options, size_t *n) {
    while (text.n) {
        const char *end = memchr(text.p, '&', text.n), *equal = memchr(text.p, '=', text.n);
        Str item = {text.p, end ? (size_t)(end - text.p) : text.n};
        NEED(equal && equal < item.p + item.n && *n < MOST_OPTIONS, INVALID_ARGUMENT,
             "option '%.*s' of a plug-in: expected NAME=VALUE, at most %d", STR_ARGS(item), MOST_OPTIONS);
        Str value = {equal + 1, (size_t)(item.p + item.n - equal - 1)};
        PjNamed *option = &options[(*n)++];
        *option = (PjNamed){.size = sizeof *option, .name = item.p, .name_size = (size_t)(equal - item.p),
                            .type = PJ_STRING, .string = value.p, .n = value.n};
        int64_t number;
        if (str_to_int(value, &number)) {
            option->type = PJ_INT64;
            option->int64 = number;
            option->n = 1;
        } else if (str_is(value, "true") || str_is(value, "false")) {
            option->type = PJ_BOOL;
            option->yes = str_is(value, "true");
            option->n = 1;
        }
        text = end ? (Str){end + 1, text.n - item.n - 1} : (Str){0};
    }
    return OK;
}

// A GPU plug-in takes three quarters of the memory unless it is told not to; other plug-ins don't know the option.
static bool is_for_gpu(const char *path) {
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    return strstr(name, "cuda") || strstr(name, "rocm") || strstr(path, "cuda");
}

// A TPU plug-in asks the cloud's metadata server who it is, for minutes where there is none: not without a TPU.
static void spare_questions(const char *path) {
    if (strstr(path, "libtpu") && access("/dev/accel0", F_OK) && access("/dev/vfio/0", F_OK))
        setenv("TPU_SKIP_MDS_QUERY", "1", 0);
}

static Status *open_client(Plugin *plugin, const char *path, Str text) {
    static const char PREALLOCATE[] = "preallocate";
    PjNamed options[MOST_OPTIONS];
    size_t n = 0;
    TRY(parse_options(text, options, &n));
    bool told = false;
    for (size_t i = 0; i < n; i++)
        told |= str_is((Str){options[i].name, options[i].name_size}, PREALLOCATE);
    if (!told && n < MOST_OPTIONS && is_for_gpu(path))
        options[n++] = (PjNamed){.size = sizeof *options, .name = PREALLOCATE, .name_size = strlen(PREALLOCATE),
                                 .type = PJ_BOOL, .yes = false, .n = 1};
    PJ_ARGS(PjClientCreateArgs, create, .options = options, .n_options = n);
    TRY(plugin_call(plugin, Pj_Client_Create, &create));
    NEED(create.client, INTERNAL, "the plug-in gave no client");
    plugin->client = create.client;
    return OK;
}

// ---- what it is

static Str client_text(const Plugin *plugin, int function) {
    PJ_ARGS(PjClientTextArgs, args, .client = plugin->client);
    Status *status = plugin_call(plugin, function, &args);
    Str text = status || !args.text ? (Str){"", 0} : (Str){args.text, args.n};
    status_free(status);
    return text;
}

static Str device_kind(const Plugin *plugin, PjDevice *device) {
    PJ_ARGS(PjDescriptionArgs, describe, .device = device);
    Status *status = plugin_call(plugin, Pj_Device_GetDescription, &describe);
    PJ_ARGS(PjDescriptionTextArgs, kind, .description = describe.description);
    if (!status)
        status = plugin_call(plugin, Pj_DeviceDescription_Kind, &kind);
    Str text = status || !kind.text ? (Str){"", 0} : (Str){kind.text, kind.n};
    status_free(status);
    return text;
}

static const char *type_name(Str platform) {
    if (str_is(platform, "cuda") || str_is(platform, "rocm") || str_is(platform, "gpu") || str_is(platform, "sycl"))
        return "GPU";
    return str_is(platform, "tpu") ? "TPU" : "PJRT";
}

static Status *identify(Plugin *plugin, const char *path) {
    struct stat file = {0};
    if (stat(path, &file) != 0)
        file = (struct stat){0};
    Str platform = client_text(plugin, Pj_Client_PlatformName), version = client_text(plugin,
                                                                                     Pj_Client_PlatformVersion);
    Str kind = device_kind(plugin, plugin->devices[0].device);
    text_format(&plugin->identity, "%.*s\n%.*s\n%.*s\n%d.%d %lld %lld.%ld", STR_ARGS(platform), STR_ARGS(version),
                STR_ARGS(kind), plugin->api->version.major, plugin->api->version.minor, (long long)file.st_size,
                (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
    plugin->is_cpu = str_is(platform, "cpu");
    plugin->type = pjrt_type_of(type_name(platform), plugin->n_devices);
    NEED_MEMORY(!plugin->identity.failed);
    return OK;
}

static Status *list_devices(Plugin *plugin) {
    PJ_ARGS(PjDevicesArgs, list, .client = plugin->client);
    TRY(plugin_call(plugin, Pj_Client_AddressableDevices, &list));
    NEED(list.n > 0 && list.n <= 1024, FAILED_PRECONDITION, "it has %zu devices", list.n);
    plugin->devices = calloc(list.n, sizeof *plugin->devices);
    NEED_MEMORY(plugin->devices);
    for (size_t i = 0; i < list.n; i++) {
        PjrtDevice *device = &plugin->devices[i];
        *device = (PjrtDevice){.plugin = plugin, .device = list.devices[i], .allocator = pjrt_allocator};
        mutex_init(&device->lock);
        condition_init(&device->changed);
    }
    plugin->n_devices = (int)list.n;
    return OK;
}

static Plugin *plugins;  // those that were tried; they stay: a library that was opened keeps threads

static Status *open_plugin(const char *path, Str options) {
    Plugin *plugin = calloc(1, sizeof *plugin);
    NEED_MEMORY(plugin);
    plugin->next = plugins;
    plugins = plugin;
    plugin->type.name = "PJRT";
    spare_questions(path);
    TRY(load(plugin, path));
    TRY(open_client(plugin, path, options));
    TRY(list_devices(plugin));
    TRY(identify(plugin, path));
    return device_type_register(&plugin->type);
}

// ---- all of them

static Status *open_named(char *list) {
    for (char *rest = list, *path; (path = strsep(&rest, ":"));) {
        char *options = strchr(path, '?');
        if (options)
            *options++ = 0;
        if (*path)
            TRY(status_prefix(open_plugin(path, str_of(options)), "MILLRACE_PJRT: %s", path));
    }
    return OK;
}

Status *pjrt_open_all(void) {
    static Mutex lock = MUTEX_INIT;
    static bool done;
    static Status *failed;  // told to whoever asks for devices
    const char *named = getenv("MILLRACE_PJRT");
    if (!named || !*named)
        return OK;
    mutex_lock(&lock);
    if (!done) {
        done = true;
        setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0);  // a failing call writes to stderr else; its status says it all
        char *list = strdup(named);
        pthread_atfork(NULL, NULL, note_fork);
        failed = list ? open_named(list) : OUT_OF_MEMORY;
        free(list);
    }
    Status *status = status_copy(failed);
    mutex_unlock(&lock);
    return status;
}

// ---- what it tells

Status *pjrt_memory(const PjrtDevice *device, DeviceMemory *out) {
    PJ_ARGS(PjMemoryStatsArgs, stats, .device = device->device);
    TRY(plugin_call(device->plugin, Pj_Device_MemoryStats, &stats));
    *out = (DeviceMemory){.in_use = stats.in_use, .peak = stats.peak.set ? stats.peak.value : -1,
                          .limit = stats.limit.set ? stats.limit.value : -1};
    return OK;
}

int pjrt_type(DType dtype) {
    switch (dtype) {
    case DT_bool: return PJ_PRED;
    case DT_int8: return PJ_S8;
    case DT_int16: return PJ_S16;
    case DT_int32: return PJ_S32;
    case DT_int64: return PJ_S64;
    case DT_uint8: return PJ_U8;
    case DT_uint16: return PJ_U16;
    case DT_uint32: return PJ_U32;
    case DT_uint64: return PJ_U64;
    case DT_half: return PJ_F16;
    case DT_bfloat16: return PJ_BF16;
    case DT_float: return PJ_F32;
    case DT_double: return PJ_F64;
    case DT_complex64: return PJ_C64;
    case DT_complex128: return PJ_C128;
    case DT_float8_e5m2: return PJ_F8E5M2;
    case DT_float8_e4m3fn: return PJ_F8E4M3FN;
    default: return PJ_NONE;
    }
}
