// fuzz_saved_slices — any bytes as a checkpoint of the first version: refused, or read; memory bounded by the input.
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file/saved_slices.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static Status *read_all(Str path) {
    AUTO(SavedSlicesReader) SavedSlicesReader reader = {0};
    TRY(saved_slices_open(path, &reader));
    for (size_t i = 0; i < reader.files.p[0].meta->tensor.n; i++) {
        AUTO(tensor) Tensor whole = {0};
        Str name = reader.files.p[0].meta->tensor.p[i].name;
        Status *status = saved_slices_read(&reader, name, NULL, &whole);
        if (!status && tensor_bytes(&whole) > ((size_t)1 << 30))
            abort();
        status_free(status);
    }
    return OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    int file = memfd_create("checkpoint", 0);
    AUTO(text) Text path = {0};
    text_format(&path, "/proc/self/fd/%d", file);
    if (file >= 0 && write(file, bytes, n) == (ssize_t)n && !path.failed)
        status_free(read_all(text_str(&path)));
    close(file);
    return 0;
}
