// Executable — see executable.h.
#include "device/pjrt/executable.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "device/pjrt/pjrt.h"

static Mutex lock = MUTEX_INIT;
static Executable *all GUARDED_BY(lock);

// ---- CompileOptionsProto

static char *varint(char *at, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        *at++ = (char)(value | 0x80);
    *at++ = (char)value;
    return at;
}

static char *field(char *at, int number, const char *bytes, size_t n) {
    at = varint(at, (uint64_t)number << 3 | 2);
    at = varint(at, n);
    memcpy(at, bytes, n);
    return at + n;
}

// One replica, one partition, for whichever device a run names. On the CPU the compiler's minimum and maximum would lose
// a NaN in the second operand.
static Str compile_options(const Plugin *plugin, char room[128]) {
    static const char EXACT[] = "xla_cpu_enable_fast_min_max";
    enum { DEVICE = 1 << 3, REPLICAS = 4 << 3, PARTITIONS = 5 << 3, PORTABLE = 4 << 3 };
    char build[32], entry[64], *at = build;
    *at++ = DEVICE;
    at = varint(at, (uint64_t)-1);  // none in particular
    *at++ = REPLICAS;
    *at++ = 1;
    *at++ = PARTITIONS;
    *at++ = 1;
    char *end = field(room, 3, build, (size_t)(at - build));
    *end++ = PORTABLE;
    *end++ = 1;
    if (plugin->is_cpu) {  // env_option_overrides: a map of a name to {2: bool}
        at = field(entry, 1, EXACT, sizeof EXACT - 1);
        at = field(at, 2, "\x10\x00", 2);
        end = field(end, 7, entry, (size_t)(at - entry));
    }
    return (Str){room, (size_t)(end - room)};
}

// ---- the disk

static void store(const Plugin *plugin, PjLoaded *loaded, const char *key) {
    PJ_ARGS(PjGetExecutableArgs, get, .loaded = loaded);
    Status *status = plugin_call(plugin, Pj_LoadedExecutable_GetExecutable, &get);
    if (!status) {
        PJ_ARGS(PjSerializeArgs, serialize, .executable = get.executable);
        status = plugin_call(plugin, Pj_Executable_Serialize, &serialize);
        if (!status) {
            store_put(key, (Str){serialize.bytes, serialize.n});
            if (serialize.drop)
                serialize.drop(serialize.backing);
        }
        PJ_ARGS(PjExecutableArgs, destroy, .executable = get.executable);
        plugin_drop(plugin, Pj_Executable_Destroy, &destroy);
    }
    status_free(status);  // it is compiled again next time
}

static PjLoaded *load_stored(PjrtDevice *device, const char *key) {
    AUTO(text) Text bytes = {0};
    if (!store_find(key, &bytes))
        return NULL;
    PJ_ARGS(PjDeserializeArgs, load, .client = device->plugin->client, .bytes = bytes.p, .n = bytes.n);
    Status *status = plugin_call(device->plugin, Pj_Executable_DeserializeAndLoad, &load);
    PjLoaded *loaded = status ? NULL : load.loaded;
    if (loaded)
        __atomic_fetch_add(&device->loads, 1, __ATOMIC_RELAXED);
    status_free(status);
    return loaded;
}

// ---- compiling

static Status *compile(PjrtDevice *device, Str text, Str options, Executable *out) {
    const Plugin *plugin = device->plugin;
    out->loaded = load_stored(device, out->key);
    if (out->loaded)
        return OK;
    int64_t began = clock_now();
    PJ_ARGS(PjProgram, program, .code = text.p, .code_size = text.n, .format = "mlir", .format_size = 4);
    PJ_ARGS(PjCompileArgs, args, .client = plugin->client, .program = &program, .options = options.p,
            .options_size = options.n);
    TRY(plugin_call(plugin, Pj_Client_Compile, &args));
    NEED(args.loaded, INTERNAL, "the plug-in gave no program");
    out->loaded = args.loaded;
    out->compile_ns = clock_now() - began;
    __atomic_fetch_add(&device->compiles, 1, __ATOMIC_RELAXED);
    log_write(LOG_INFO, "%s compiled %zu bytes of text in %.0f ms", plugin->type.name, text.n,
              (double)out->compile_ns / CLOCK_MS);
    store(plugin, out->loaded, out->key);
    return OK;
}

static Status *count_outputs(Executable *executable) {
    const Plugin *plugin = executable->plugin;
    PJ_ARGS(PjGetExecutableArgs, get, .loaded = executable->loaded);
    TRY(plugin_call(plugin, Pj_LoadedExecutable_GetExecutable, &get));
    PJ_ARGS(PjNumOutputsArgs, count, .executable = get.executable);
    Status *status = plugin_call(plugin, Pj_Executable_NumOutputs, &count);
    PJ_ARGS(PjExecutableArgs, destroy, .executable = get.executable);
    plugin_drop(plugin, Pj_Executable_Destroy, &destroy);
    executable->n_outputs = count.n;
    return status;
}

static void free_executable(Executable *executable) {
    PJ_ARGS(PjLoadedArgs, destroy, .loaded = executable->loaded);
    if (executable->loaded)
        plugin_drop(executable->plugin, Pj_LoadedExecutable_Destroy, &destroy);
    free(executable);
}

static Executable *find(const Plugin *plugin, const char *key) REQUIRES(lock) {
    Executable *found = all;
    while (found && (found->plugin != plugin || strcmp(found->key, key) != 0))
        found = found->next;
    if (found)
        found->references++;
    return found;
}

Status *executable_get(PjrtDevice *device, Str text, Executable **out) {
    Plugin *plugin = device->plugin;
    char room[128];
    Str options = compile_options(plugin, room);
    Executable *made = calloc(1, sizeof *made);
    NEED_MEMORY(made);
    *made = (Executable){.plugin = plugin, .references = 1};
    store_key((Str[]){text, options, text_str(&plugin->identity)}, 3, made->key);
    mutex_lock(&lock);
    *out = find(plugin, made->key);
    mutex_unlock(&lock);
    if (*out) {
        free(made);
        return OK;
    }
    Status *status = compile(device, text, options, made);  // two may compile the same: the later one is not kept
    if (!status)
        status = count_outputs(made);
    if (status) {
        free_executable(made);
        return status;
    }
    mutex_lock(&lock);
    *out = find(plugin, made->key);
    if (!*out) {
        made->next = all;
        all = *out = made;
        made = NULL;
    }
    mutex_unlock(&lock);
    if (made)
        free_executable(made);
    return OK;
}

void executable_release(Executable *executable) {
    if (!executable)
        return;
    mutex_lock(&lock);
    bool last = --executable->references == 0;
    for (Executable **link = &all; last && *link; link = &(*link)->next) {
        if (*link == executable) {
            *link = executable->next;
            break;
        }
    }
    mutex_unlock(&lock);
    if (last)
        free_executable(executable);
}
