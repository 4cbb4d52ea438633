// SavedSlices — see saved_slices.h: TensorFlow's V1 checkpoints, a sorted table whose values are the slices themselves.
#include "file/saved_slices.h"

#include <stdlib.h>

#include "base/checked.h"
#include "file/bundle.h"
#include "proto/tensor_proto.h"

// ---- opening

static Status *open_file(Str path, Arena *arena, SavedSlicesFile *file) {
    Str bytes;
    bool found;
    TRY(table_file_open(path, &file->table));
    TRY(table_file_find(&file->table, STR(""), arena, &bytes, &found));
    NEED(found, DATA_LOSS, "%.*s: no list of tensors in the checkpoint", STR_ARGS(path));
    SavedTensorSlicesProto *slices;
    TRY(status_with_code(PROTO_DECODE(SavedTensorSlicesProto, arena, bytes, &slices), DATA_LOSS));
    NEED(slices->meta, DATA_LOSS, "%.*s: no list of tensors in the checkpoint", STR_ARGS(path));
    int32_t consumer = slices->meta->versions ? slices->meta->versions->min_consumer : 0;
    NEED(consumer <= 1, FAILED_PRECONDITION, "%.*s: the checkpoint needs a reader of version %d", STR_ARGS(path),
         consumer);
    file->meta = slices->meta;
    return OK;
}

static Status *open_all(const DiskPaths *paths, Str pattern, SavedSlicesReader *reader) {
    NEED(paths->paths.n, NOT_FOUND,
         "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for %.*s", STR_ARGS(pattern));
    NEED_MEMORY(vec_reserve(&reader->files, paths->paths.n));
    for (size_t i = 0; i < paths->paths.n; i++) {
        SavedSlicesFile file = {.table = TABLE_FILE_NONE};
        Status *status = open_file(str_of(paths->paths.p[i]), &reader->arena, &file);
        if (status) {
            table_file_close(&file.table);
            return status;
        }
        reader->files.p[reader->files.n++] = file;
    }
    return OK;
}

Status *saved_slices_open(Str pattern, SavedSlicesReader *out) {
    *out = (SavedSlicesReader){0};
    DiskPaths paths = {0};
    Status *status = disk_match(pattern, &paths);
    if (!status)
        status = open_all(&paths, pattern, out);
    disk_paths_clear(&paths);
    if (status)
        saved_slices_close(out);
    return status;
}

void saved_slices_close(SavedSlicesReader *reader) {
    for (size_t i = 0; i < reader->files.n; i++)
        table_file_close(&reader->files.p[i].table);
    vec_clear(&reader->files);
    arena_clear(&reader->arena);
    *reader = (SavedSlicesReader){0};
}

// ---- reading

static const SavedSliceMetaProto *find_in(const SavedSlicesFile *file, Str name) {
    for (size_t i = 0; i < file->meta->tensor.n; i++)
        if (str_equal(file->meta->tensor.p[i].name, name))
            return &file->meta->tensor.p[i];
    return NULL;
}

static Status *check_meta(const SavedSliceMetaProto *meta, Shape *out) {
    DType dtype = (DType)meta->type;
    TRY(status_with_code(shape_from_proto(meta->shape, out), DATA_LOSS));
    NEED(dtype_is_valid(dtype) && !dtype_is_ref(dtype) && shape_is_known(out), DATA_LOSS,
         "the checkpoint's entry of %.*s is malformed", STR_ARGS(meta->name));
    return OK;
}

Status *saved_slices_find(const SavedSlicesReader *reader, Str name, DType *out_dtype, Shape *out_shape,
                          bool *out_found) {
    DType dtype = DT_INVALID;
    Shape whole = {0}, shape;
    for (size_t i = 0; i < reader->files.n; i++) {
        const SavedSliceMetaProto *meta = find_in(&reader->files.p[i], name);
        if (!meta)
            continue;
        TRY(check_meta(meta, &shape));
        NEED(dtype == DT_INVALID || (dtype == (DType)meta->type && shape_equal(&shape, &whole)), DATA_LOSS,
             "the shards of the checkpoint disagree on type or shape of '%.*s'", STR_ARGS(name));
        dtype = (DType)meta->type;
        whole = shape;
    }
    *out_found = dtype != DT_INVALID;
    *out_dtype = dtype;
    *out_shape = whole;
    return OK;
}

// The values of a stored slice; `shape` is its own.
static Status *read_values(const SavedSlicesFile *file, Str name, DType dtype, const Slice *slice, const Shape *shape,
                           Tensor *out) {
    AUTO(text) Text key = {0};
    AUTO(arena) Arena arena = {0};
    Str bytes;
    bool found;
    slice_key(name, slice, &key);
    NEED_MEMORY(!key.failed);
    TRY(table_file_find(&file->table, text_str(&key), &arena, &bytes, &found));
    NEED(found, DATA_LOSS, "a slice of '%.*s' is missing in the checkpoint", STR_ARGS(name));
    SavedTensorSlicesProto *slices;
    TRY(status_with_code(PROTO_DECODE(SavedTensorSlicesProto, &arena, bytes, &slices), DATA_LOSS));
    NEED(slices->data && slices->data->data, DATA_LOSS, "a slice of '%.*s' has no values", STR_ARGS(name));
    TensorProto *proto = slices->data->data;
    int64_t count = shape_count(shape);
    NEED(tensor_proto_listed(proto, dtype) == (size_t)count, DATA_LOSS,
         "a slice of '%.*s' has %zu values, its shape %s takes %lld", STR_ARGS(name),
         tensor_proto_listed(proto, dtype), shape_text(shape), (long long)count);
    proto->dtype = (int32_t)dtype;
    proto->tensor_content = (Str){0};
    TRY(shape_to_proto(&arena, shape, &proto->tensor_shape));
    size_t budget = (size_t)count * sizeof(TString);  // the values are there: nothing is made of one
    return status_with_code(tensor_from_proto(proto, &budget, out), DATA_LOSS);
}

static bool meet(const Slice *a, const Slice *b) {
    for (int i = 0; i < a->rank; i++)
        if (a->start[i] >= b->start[i] + b->length[i] || b->start[i] >= a->start[i] + a->length[i])
            return false;
    return true;
}

static bool is_same(const Slice *a, const Slice *b) {
    for (int i = 0; i < a->rank; i++)
        if (a->start[i] != b->start[i] || a->length[i] != b->length[i])
            return false;
    return true;
}

typedef struct {
    Str name;
    DType dtype;
    Shape whole, shape;  // of the tensor, and of what is wanted
    Slice wanted;
    Tensor result;       // made when there is something to put into it
    int64_t found;
} Assembly;

static Status *add_slice(const SavedSlicesFile *file, const TensorSliceProto *proto, Assembly *a) {
    Slice stored, at;
    Shape shape;
    AUTO(tensor) Tensor part = {0};
    int64_t count;
    TRY(bundle_slice_of(proto, &stored));
    TRY(status_with_code(slice_resolve(&stored, &a->whole, &at), DATA_LOSS));
    if (!meet(&at, &a->wanted))
        return OK;
    TRY(slice_shape(&stored, &a->whole, &shape));
    TRY(read_values(file, a->name, a->dtype, &stored, &shape, &part));
    if (is_same(&at, &a->wanted)) {
        tensor_clear(&a->result);
        a->result = tensor_retain(&part);
        a->found = shape_count(&shape);
        return OK;
    }
    if (!a->result.buffer) {
        TRY(tensor_new(a->dtype, a->shape, &a->result));
        if (dtype_is_plain(a->dtype))
            memset(a->result.data, 0, tensor_bytes(&a->result));
    }
    TRY(slice_copy(&at, &part, &a->wanted, &a->result, &count));
    NEED(add_i64(a->found, count, &a->found), DATA_LOSS, "the slices of '%.*s' overlap", STR_ARGS(a->name));
    return OK;
}

static Status *assemble(const SavedSlicesReader *reader, Assembly *a) {
    int64_t wanted = shape_count(&a->shape);
    for (size_t i = 0; i < reader->files.n && a->found < wanted; i++) {
        const SavedSliceMetaProto *meta = find_in(&reader->files.p[i], a->name);
        for (size_t j = 0; meta && j < meta->slice.n && a->found < wanted; j++)
            TRY(add_slice(&reader->files.p[i], &meta->slice.p[j], a));
    }
    NEED(a->found >= wanted, INVALID_ARGUMENT,
         "Does not have sufficient slices for partitioned tensor %.*s to restore a slice of shape %s",
         STR_ARGS(a->name), shape_text(&a->shape));
    return a->result.buffer ? OK : tensor_new(a->dtype, a->shape, &a->result);
}

Status *saved_slices_read(const SavedSlicesReader *reader, Str name, const Slice *slice, Tensor *out) {
    Assembly a = {.name = name};
    bool found;
    TRY(saved_slices_find(reader, name, &a.dtype, &a.whole, &found));
    NEED(found, NOT_FOUND, "Tensor name \"%.*s\" not found in checkpoint files", STR_ARGS(name));
    Slice all = slice_whole(a.whole.rank);
    TRY(slice_shape(slice ? slice : &all, &a.whole, &a.shape));
    TRY(slice_resolve(slice ? slice : &all, &a.whole, &a.wanted));
    Status *status = assemble(reader, &a);
    if (status)
        tensor_clear(&a.result);
    else
        *out = a.result;
    return status;
}

// ---- writing

static bool is_written(DType dtype) {
    switch (dtype) {
    case DT_float: case DT_double: case DT_half: case DT_bool: case DT_string: case DT_complex64: case DT_complex128:
    case DT_int8: case DT_int16: case DT_int32: case DT_int64: case DT_uint8: case DT_uint16:
    case DT_qint8: case DT_quint8: case DT_qint32:
        return true;
    default:
        return false;
    }
}

static Status *slice_proto(Arena *arena, const Slice *slice, TensorSliceProto *out) {
    TensorSliceProto_Extent *extents = ARENA_ARRAY(arena, TensorSliceProto_Extent, slice->rank);
    NEED_MEMORY(extents);
    for (int i = 0; i < slice->rank; i++) {
        extents[i].start = slice->start[i];
        if (slice->length[i] != SLICE_ALL) {
            extents[i].which = TensorSliceProto_Extent_length;
            extents[i].length = slice->length[i];
        }
    }
    out->extent.p = extents;
    out->extent.n = (size_t)slice->rank;
    return OK;
}

// The list's entry of that name, new or of the same type and shape.
static Status *meta_of(SavedSlicesWriter *w, Str name, const Shape *whole, DType dtype, SavedSliceMetaProto **out) {
    for (size_t i = 0; i < w->tensors.n; i++) {
        SavedSliceMetaProto *meta = &w->tensors.p[i];
        if (!str_equal(meta->name, name))
            continue;
        Shape shape;
        TRY(shape_from_proto(meta->shape, &shape));
        NEED(meta->type == (int32_t)dtype && shape_equal(&shape, whole), INVALID_ARGUMENT,
             "Mismatching shapes or types: the tensor '%.*s' is saved as %s%s and as %s%s", STR_ARGS(name),
             dtype_name((DType)meta->type), shape_text(&shape), dtype_name(dtype), shape_text(whole));
        *out = meta;
        return OK;
    }
    SavedSliceMetaProto meta = {.name = str_copy(&w->arena, name), .type = (int32_t)dtype};
    NEED_MEMORY(meta.name.p);
    TRY(shape_to_proto(&w->arena, whole, &meta.shape));
    NEED_MEMORY(vec_push(&w->tensors, meta));
    *out = &vec_last(&w->tensors);
    return OK;
}

static Status *check_overlap(const SavedSliceMetaProto *meta, const Shape *whole, const Slice *slice) {
    Slice a, b;
    TRY(slice_resolve(slice, whole, &a));
    for (size_t i = 0; i < meta->slice.n; i++) {
        TRY(bundle_slice_of(&meta->slice.p[i], &b));
        TRY(slice_resolve(&b, whole, &b));
        NEED(!meet(&a, &b), INVALID_ARGUMENT, "Overlapping slices of '%.*s'", STR_ARGS(meta->name));
    }
    return OK;
}

// `proto` once more behind the slices that the list has.
static Status *list_slice(Arena *arena, SavedSliceMetaProto *meta, TensorSliceProto proto) {
    size_t n = meta->slice.n;
    TensorSliceProto *slices = ARENA_ARRAY(arena, TensorSliceProto, n + 1);
    NEED_MEMORY(slices);
    if (n)
        memcpy(slices, meta->slice.p, n * sizeof *slices);
    slices[n] = proto;
    meta->slice.p = slices;
    meta->slice.n = n + 1;
    return OK;
}

static Status *encode_slice(SavedSlicesWriter *w, Str name, const Slice *slice, TensorSliceProto *at,
                            const Tensor *tensor) {
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text bytes = {0}, key = {0};
    TensorProto values = {0};
    TRY(tensor_to_value_list(&arena, tensor, &values));
    SavedSliceProto data = {.name = name, .slice = at, .data = &values};
    SavedTensorSlicesProto slices = {.data = &data};
    TRY(PROTO_ENCODE(SavedTensorSlicesProto, &slices, &bytes));
    slice_key(name, slice, &key);
    NEED_MEMORY(!key.failed);
    NEED(bytes.n < INT32_MAX, INVALID_ARGUMENT, "'%.*s' takes %zu bytes, more than this format of checkpoints holds",
         STR_ARGS(name), bytes.n);
    TableEntry entry = {str_copy(&w->arena, text_str(&key)), str_copy(&w->arena, text_str(&bytes))};
    NEED_MEMORY(entry.key.p && entry.value.p && vec_push(&w->entries, entry));
    return OK;
}

Status *saved_slices_add(SavedSlicesWriter *w, Str name, const Shape *whole, const Slice *slice,
                         const Tensor *tensor) {
    Shape shape;
    SavedSliceMetaProto *meta;
    TensorSliceProto proto = {0};
    NEED(is_written(tensor->dtype), UNIMPLEMENTED, "Saving data type %s not yet supported", dtype_name(tensor->dtype));
    TRY(slice_shape(slice, whole, &shape));
    NEED(shape_equal(&shape, &tensor->shape), INVALID_ARGUMENT,
         "Slice in shape_and_slice specification does not match the shape of the tensor to save: %.*s, tensor: %s",
         STR_ARGS(name), shape_text(&tensor->shape));
    TRY(slice_proto(&w->arena, slice, &proto));
    TRY(meta_of(w, name, whole, tensor->dtype, &meta));
    TRY(check_overlap(meta, whole, slice));
    TRY(list_slice(&w->arena, meta, proto));
    return encode_slice(w, name, slice, &proto, tensor);
}

static int by_key(const void *a, const void *b) {
    return str_compare(((const TableEntry *)a)->key, ((const TableEntry *)b)->key);
}

static int by_name(const void *a, const void *b) {
    return str_compare(((const SavedSliceMetaProto *)a)->name, ((const SavedSliceMetaProto *)b)->name);
}

Status *saved_slices_write(SavedSlicesWriter *w, Str path) {
    AUTO(text) Text bytes = {0};
    AUTO(DiskWriter) DiskWriter writer = DISK_WRITER_NONE;
    VersionDef version = {.producer = 1};
    if (w->tensors.n)
        qsort(w->tensors.p, w->tensors.n, sizeof *w->tensors.p, by_name);
    SavedTensorSliceMetaProto meta = {.tensor = {w->tensors.p, w->tensors.n}, .versions = &version};
    SavedTensorSlicesProto slices = {.meta = &meta};
    TRY(PROTO_ENCODE(SavedTensorSlicesProto, &slices, &bytes));
    NEED_MEMORY(vec_push(&w->entries, (TableEntry){STR(""), text_str(&bytes)}));
    qsort(w->entries.p, w->entries.n, sizeof *w->entries.p, by_key);
    TRY(disk_writer_open(&writer, path));
    TRY(table_write(&writer, w->entries.p, w->entries.n));
    return disk_writer_commit(&writer);
}

void saved_slices_writer_clear(SavedSlicesWriter *w) {
    vec_clear(&w->entries);
    vec_clear(&w->tensors);
    arena_clear(&w->arena);
}
