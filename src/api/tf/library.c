// TF_Library — a shared library whose constructors register ops and kernels; see c_api.h. Nothing is ever unloaded.
#include <dlfcn.h>
#include <stdlib.h>

#include "api/api.h"

struct TF_Library {
    TF_Buffer ops;   // serialized OpList of what it added
};

typedef struct Loaded {
    struct Loaded *next;
    void *handle;
    Text ops;
} Loaded;

static struct {
    Mutex lock;
    Loaded *first;
} libraries = {.lock = MUTEX_INIT};

static size_t count_ops(void) {
    size_t n = 0;
    while (op_at(n))
        n++;
    return n;
}

static Status *write_ops(size_t before, Text *out) {
    AUTO(arena) Arena arena = {0};
    size_t n = count_ops() - before;
    OpListProto list = {0};
    list.op.p = ARENA_ARRAY(&arena, OpDef, n);
    NEED_MEMORY(list.op.p);
    for (; list.op.n < n; list.op.n++) {
        const OpType *type;
        TRY(op_type_find(op_name(op_at(before + list.op.n)), &type));
        TRY(signature_to_op_def(&type->signature, &arena, &list.op.p[list.op.n]));
    }
    return PROTO_ENCODE(OpListProto, &list, out);
}

// The handle tells whether the file is in already: then its constructors didn't run again.
static Status *load(const char *path, Loaded **out) {
    size_t before = count_ops();
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    NEED(handle, NOT_FOUND, "%s", dlerror());
    for (Loaded *loaded = libraries.first; loaded; loaded = loaded->next)
        if (loaded->handle == handle) {
            dlclose(handle);
            *out = loaded;
            return OK;
        }
    void (*init)(void) = (void (*)(void))dlsym(handle, "TF_InitKernel");
    if (init)
        init();
    Loaded *loaded = calloc(1, sizeof *loaded);
    NEED_MEMORY(loaded);
    Status *status = write_ops(before, &loaded->ops);
    if (status) {
        text_clear(&loaded->ops);
        free(loaded);
        return status;
    }
    loaded->handle = handle;
    loaded->next = libraries.first;
    libraries.first = loaded;
    *out = loaded;
    return OK;
}

TF_Library *TF_LoadLibrary(const char *library_filename, TF_Status *status) {
    Loaded *loaded;
    api_begin();
    mutex_lock(&libraries.lock);
    bool failed = api_failed(status, load(library_filename, &loaded));
    mutex_unlock(&libraries.lock);
    if (failed)
        return NULL;
    TF_Library *library = calloc(1, sizeof *library);
    if (!library)
        api_set(status, OUT_OF_MEMORY);
    else
        library->ops = (TF_Buffer){text_str(&loaded->ops).p, loaded->ops.n, NULL};
    return library;
}

TF_Buffer TF_GetOpList(TF_Library *lib_handle) {
    return lib_handle->ops;
}

void TF_DeleteLibraryHandle(TF_Library *lib_handle) {
    free(lib_handle);
}
