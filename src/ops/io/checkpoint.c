// Checkpoints — tensors saved to and restored from files in TensorFlow's format.
#include "file/bundle.h"
#include "ops/io/saved_slices.h"
#include "ops/op.h"

static Str string_at(const Tensor *strings, int64_t i) {
    return tstring_str((const TString *)strings->data + i);
}

// One name and one slice text for each of n tensors.
static Status *check_names(Kernel *k, int n) {
    NEED(tensor_count(k->in[0]) == 1, INVALID_ARGUMENT, "Input prefix should have a single element, got shape %s",
         shape_text(&k->in[0]->shape));
    for (int i = 1; i <= 2; i++)
        NEED(tensor_count(k->in[i]) == n, INVALID_ARGUMENT,
             "%s should have %d elements, one for each tensor, got %lld", i == 1 ? "tensor_names" : "shape_and_slices",
             n, (long long)tensor_count(k->in[i]));
    return OK;
}

// ---------------------------------------- saving

static Status *save_run(Kernel *k) {
    int n = k->n_in - 3;
    TRY(check_names(k, n));
    AUTO(BundleWriter) BundleWriter writer = {.data = DISK_WRITER_NONE};
    TRY(bundle_writer_open(string_at(k->in[0], 0), &writer));
    for (int i = 0; i < n; i++) {
        Str name = string_at(k->in[1], i), text = string_at(k->in[2], i);
        TRY(context_check(k->step));
        if (!text.n) {
            TRY(bundle_add(&writer, name, k->in[3 + i]));
            continue;
        }
        Shape whole;
        Slice slice;
        TRY(slice_parse(text, &whole, &slice));
        TRY(bundle_add_slice(&writer, name, &whole, &slice, k->in[3 + i]));
    }
    return bundle_commit(&writer);
}

const Op op_SaveV2 = {
    .signature = "SaveV2(prefix: string, tensor_names: string, shape_and_slices: string, tensors: dtypes); "
                 "dtypes: list(type) >= 1; stateful",
    .doc = "Writes tensors to a checkpoint, all of them or none.",
    .needs = "scalar(prefix), vector(tensor_names), vector(shape_and_slices)", .shape = shape_none,
    .cpu = ANY_TYPE(save_run), .flags = OP_BLOCKS | OP_NO_GRADIENT,
};

// ---------------------------------------- restoring

static Status *restore_shape(Shapes *s) {
    const Tensor *texts = s->value[2];
    for (int i = 0; texts && i < s->n_out && i < tensor_count(texts); i++) {
        Str text = string_at(texts, i);
        Shape whole;
        Slice slice;
        if (!text.n)
            continue;
        TRY(slice_parse(text, &whole, &slice));
        TRY(slice_shape(&slice, &whole, &s->out[i]));
    }
    return OK;
}

static Status *restore_one(Kernel *k, BundleReader *reader, int i) {
    Str name = string_at(k->in[1], i), text = string_at(k->in[2], i);
    BundleEntry entry;
    Shape whole;
    Slice slice;
    TRY(bundle_find(reader, name, &entry));
    DType wanted = k->node->output_types[i];
    NEED(entry.dtype == wanted, INVALID_ARGUMENT,
         "tensor_name = %.*s; expected dtype %s does not equal original dtype %s", STR_ARGS(name), dtype_name(wanted),
         dtype_name(entry.dtype));
    if (text.n) {
        TRY(slice_parse(text, &whole, &slice));
        NEED(shape_equal(&whole, &entry.shape), INVALID_ARGUMENT,
             "tensor_name = %.*s; shape in shape_and_slice spec %s does not match the shape stored in checkpoint: %s",
             STR_ARGS(name), shape_text(&whole), shape_text(&entry.shape));
    }
    Tensor value;
    TRY(bundle_read(reader, name, &entry, text.n ? &slice : NULL, &value));
    kernel_set_output(k, i, value);
    return OK;
}

static Status *restore_run(Kernel *k) {
    TRY(check_names(k, k->n_out));
    AUTO(BundleReader) BundleReader reader = {0};
    for (int i = 0; i < k->n_out; i++) {
        Shape whole;
        Slice slice;
        if (string_at(k->in[2], i).n)
            TRY(slice_parse(string_at(k->in[2], i), &whole, &slice));
    }
    if (!bundle_exists(string_at(k->in[0], 0)))
        return saved_slices_restore(k, true);
    TRY(bundle_open(string_at(k->in[0], 0), &reader));
    for (int i = 0; i < k->n_out; i++) {
        TRY(context_check(k->step));
        TRY(restore_one(k, &reader, i));
    }
    return OK;
}

const Op op_RestoreV2 = {
    .signature = "RestoreV2(prefix: string, tensor_names: string, shape_and_slices: string) -> tensors: dtypes; "
                 "dtypes: list(type) >= 1; stateful",
    .doc = "Reads tensors, or slices of them, from a checkpoint.",
    .needs = "scalar(prefix), vector(tensor_names), vector(shape_and_slices)", .shape = restore_shape,
    .cpu = ANY_TYPE(restore_run), .flags = OP_BLOCKS | OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};

// ---------------------------------------- names

static Status *put_name(Kernel *k, Text *name) {
    NEED_MEMORY(!name->failed && tstring_assign(k->out[0]->data, text_str(name)));
    return OK;
}

static Status *sharded_run(Kernel *k) {
    AUTO(text) Text name = {0};
    text_add(&name, string_at(k->in[0], 0));
    text_format(&name, "-%05d-of-%05d", (int)tensor_int(k->in[1], 0), (int)tensor_int(k->in[2], 0));
    return put_name(k, &name);
}

const Op op_ShardedFilename = {
    .signature = "ShardedFilename(basename: string, shard: int32, num_shards: int32) -> filename: string",
    .doc = "The name of one shard of a file: basename-00002-of-00007.",
    .needs = "scalar(basename), scalar(shard), scalar(num_shards)", .shape = shape_scalar, .cpu = ANY_TYPE(sharded_run),
    .flags = OP_NO_GRADIENT,
};

static Status *filespec_run(Kernel *k) {
    AUTO(text) Text name = {0};
    text_add(&name, string_at(k->in[0], 0));
    text_format(&name, "-????" "?-of-%05d", (int)tensor_int(k->in[1], 0));
    return put_name(k, &name);
}

const Op op_ShardedFilespec = {
    .signature = "ShardedFilespec(basename: string, num_shards: int32) -> filename: string",
    .doc = "The pattern of all shards of a file.", .needs = "scalar(basename), scalar(num_shards)",
    .shape = shape_scalar, .cpu = ANY_TYPE(filespec_run), .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- merging

typedef struct {
    bool delete_old, missing_ok;
} MergeOwn;

static Status *merge_prepare(Prepare *p) {
    *(MergeOwn *)p->own = (MergeOwn){node_bool(p->node, "delete_old_dirs"), node_bool(p->node, "allow_missing_files")};
    return OK;
}

static Status *merge_run(Kernel *k) {
    const MergeOwn *own = k->own;
    int64_t n = tensor_count(k->in[0]);
    AUTO(arena) Arena arena = {0};
    Str *prefixes = ARENA_ARRAY(&arena, Str, n);
    NEED_MEMORY(prefixes);
    for (int64_t i = 0; i < n; i++)
        prefixes[i] = string_at(k->in[0], i);
    Str destination = string_at(k->in[1], 0);
    TRY(bundle_merge(prefixes, (size_t)n, destination, own->missing_ok));
    for (int64_t i = 0; i < n && own->delete_old; i++) {
        Str folder = disk_parent(prefixes[i]);
        if (folder.n && !str_equal(folder, disk_parent(destination)))
            disk_remove_directory(folder);
    }
    return OK;
}

const Op op_MergeV2Checkpoints = {
    .signature = "MergeV2Checkpoints(checkpoint_prefixes: string, destination_prefix: string); "
                 "delete_old_dirs: bool = true; allow_missing_files: bool = false; stateful",
    .doc = "Makes one checkpoint of several.", .needs = "vector(checkpoint_prefixes), scalar(destination_prefix)",
    .shape = shape_none, .prepare = merge_prepare, .own_size = sizeof(MergeOwn), .cpu = ANY_TYPE(merge_run),
    .flags = OP_BLOCKS | OP_NO_GRADIENT,
};
