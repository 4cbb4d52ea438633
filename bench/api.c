// Api — see api.h.
#define _GNU_SOURCE
#include "api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

bool api_open(const char *path, Api *out, char *error, size_t room) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(error, room, "%s", dlerror());
        return false;
    }
    void *symbol;
#define TAKE(type, name, arguments)                             \
    symbol = dlsym(library, #name);                             \
    if (!symbol) {                                              \
        snprintf(error, room, "%s: no symbol " #name, path);    \
        return false;                                           \
    }                                                           \
    memcpy(&out->name, &symbol, sizeof symbol);
    EACH_API(TAKE)
#undef TAKE
#define TAKE_ANYWAY(type, name, arguments)      \
    symbol = dlsym(library, #name);             \
    memcpy(&out->name, &symbol, sizeof symbol);
    EACH_MILLRACE(TAKE_ANYWAY)
#undef TAKE_ANYWAY
    return true;
}
