// Executable — a text that a plug-in has compiled: equal texts are compiled once a process, and once a disk.
#pragma once
#include "device/pjrt/plugin.h"

typedef struct Executable {
    Plugin *plugin;
    PjLoaded *loaded;
    size_t n_outputs;
    int64_t compile_ns;        // 0: it came from the disk
    int references;
    struct Executable *next;
    char key[65];
} Executable;

// Compiles, or finds; counted. The plug-in's own message where it refuses.
FALLIBLE Status *executable_get(PjrtDevice *device, Str text, Executable **out);
void executable_release(Executable *executable);
