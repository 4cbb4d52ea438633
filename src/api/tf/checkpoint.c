// TF_CheckpointReader — see c_api_experimental.h: names, types, shapes and values of what a checkpoint holds.
#include <stdlib.h>

#include "api/api.h"
#include "file/bundle.h"

struct TF_CheckpointReader {
    BundleReader bundle;
    Mutex lock;              // of the reader's files and arena
    Arena arena;             // of the names
    VEC(const char *) names;
};

// Keys of slices begin with a zero byte, the header's key is empty.
static bool is_variable(Str key) {
    return key.n > 0 && key.p[0] != 0;
}

static Status *list_names(TF_CheckpointReader *reader) {
    const Table *table = &reader->bundle.table;
    for (size_t i = 0; i < table->entries.n; i++) {
        Str key = table->entries.p[i].key;
        if (!is_variable(key))
            continue;
        const char *name = arena_copy(&reader->arena, key.p, key.n);
        NEED_MEMORY(name);
        NEED_MEMORY(vec_push(&reader->names, name));
    }
    return OK;
}

TF_CheckpointReader *TF_NewCheckpointReader(const char *filename, TF_Status *status) {
    TF_CheckpointReader *reader = calloc(1, sizeof *reader);
    Status *error = reader ? bundle_open(str_of(filename), &reader->bundle)
                           : OUT_OF_MEMORY;
    if (api_failed(status, error)) {
        free(reader);
        return NULL;
    }
    mutex_init(&reader->lock);
    if (!api_failed(status, list_names(reader)))
        return reader;
    TF_DeleteCheckpointReader(reader);
    return NULL;
}

void TF_DeleteCheckpointReader(TF_CheckpointReader *reader) {
    if (!reader)
        return;
    bundle_close(&reader->bundle);
    vec_clear(&reader->names);
    arena_clear(&reader->arena);
    mutex_clear(&reader->lock);
    free(reader);
}

int TF_CheckpointReaderHasTensor(TF_CheckpointReader *reader, const char *name) {
    return is_variable(str_of(name)) && table_find(&reader->bundle.table, str_of(name)) != NULL;
}

const char *TF_CheckpointReaderGetVariable(TF_CheckpointReader *reader, int index) {
    return index >= 0 && (size_t)index < reader->names.n ? reader->names.p[index] : NULL;
}

int TF_CheckpointReaderSize(TF_CheckpointReader *reader) {
    return (int)reader->names.n;
}

static Status *find(TF_CheckpointReader *reader, const char *name, BundleEntry *out) {
    NEED(is_variable(str_of(name)), NOT_FOUND, "Key %s not found in checkpoint", name ? name : "");
    mutex_lock(&reader->lock);
    Status *status = bundle_find(&reader->bundle, str_of(name), out);
    mutex_unlock(&reader->lock);
    return status;
}

TF_DataType TF_CheckpointReaderGetVariableDataType(TF_CheckpointReader *reader, const char *name) {
    BundleEntry entry = {0};
    status_free(find(reader, name, &entry));
    return (TF_DataType)entry.dtype;
}

int TF_CheckpointReaderGetVariableNumDims(TF_CheckpointReader *reader, const char *name) {
    BundleEntry entry = {.shape = UNKNOWN_SHAPE};
    status_free(find(reader, name, &entry));
    return entry.shape.rank;
}

static Status *get_shape(TF_CheckpointReader *reader, const char *name, int64_t *dims, int num_dims) {
    BundleEntry entry;
    TRY(find(reader, name, &entry));
    NEED(num_dims == entry.shape.rank, INVALID_ARGUMENT, "Expected rank is %d but actual rank is %d", num_dims,
         entry.shape.rank);
    for (int i = 0; i < num_dims; i++)
        dims[i] = entry.shape.dims[i];
    return OK;
}

void TF_CheckpointReaderGetVariableShape(TF_CheckpointReader *reader, const char *name, int64_t *dims, int num_dims,
                                         TF_Status *status) {
    api_set(status, get_shape(reader, name, dims, num_dims));
}

static Status *get_tensor(TF_CheckpointReader *reader, const char *name, TF_Tensor **out) {
    BundleEntry entry;
    Tensor tensor;
    TRY(find(reader, name, &entry));
    mutex_lock(&reader->lock);
    Status *status = bundle_read(&reader->bundle, str_of(name), &entry, NULL, &tensor);
    mutex_unlock(&reader->lock);
    TRY(status);
    *out = api_tensor(&tensor);
    NEED_MEMORY(*out);
    return OK;
}

TF_Tensor *TF_CheckpointReaderGetTensor(TF_CheckpointReader *reader, const char *name, TF_Status *status) {
    TF_Tensor *out = NULL;
    api_set(status, get_tensor(reader, name, &out));
    return out;
}
