// Save, SaveSlices, Restore, RestoreSlice — checkpoints of the first version: all tensors in one file.
#include "file/saved_slices.h"

#include "ops/io/saved_slices.h"
#include "ops/op.h"

static Str string_at(const Tensor *strings, int64_t i) {
    return tstring_str((const TString *)strings->data + i);
}

static Status *check_count(const Kernel *k, int input, const char *what, int64_t n) {
    NEED(tensor_count(k->in[input]) == n, INVALID_ARGUMENT, "%s should have %lld elements, one for each tensor, got %lld",
         what, (long long)n, (long long)tensor_count(k->in[input]));
    return OK;
}

// ---------------------------------------- saving

static Status *save(Kernel *k, bool sliced) {
    int first = sliced ? 3 : 2, n = k->n_in - first;
    TRY(check_count(k, 1, "tensor_names", n));
    if (sliced)
        TRY(check_count(k, 2, "shapes_and_slices", n));
    AUTO(SavedSlicesWriter) SavedSlicesWriter writer = SAVED_SLICES_WRITER_NONE;
    for (int i = 0; i < n; i++) {
        const Tensor *value = k->in[first + i];
        Str text = sliced ? string_at(k->in[2], i) : (Str){0};
        Shape whole = value->shape;
        Slice slice = slice_whole(whole.rank);
        TRY(context_check(k->step));
        if (text.n)
            TRY(slice_parse(text, &whole, &slice));
        TRY(saved_slices_add(&writer, string_at(k->in[1], i), &whole, &slice, value));
    }
    return saved_slices_write(&writer, string_at(k->in[0], 0));
}

static Status *save_run(Kernel *k) {
    return save(k, false);
}

static Status *save_slices_run(Kernel *k) {
    return save(k, true);
}

const Op op_Save = {
    .signature = "Save(filename: string, tensor_names: string, data: T); T: list(type) >= 1; stateful",
    .doc = "Writes tensors to a file of the first checkpoint format, all of them or none.",
    .needs = "scalar(filename), vector(tensor_names)", .shape = shape_none, .cpu = ANY_TYPE(save_run),
    .flags = OP_BLOCKS | OP_NO_GRADIENT,
};

const Op op_SaveSlices = {
    .signature = "SaveSlices(filename: string, tensor_names: string, shapes_and_slices: string, data: T); "
                 "T: list(type) >= 1; stateful",
    .doc = "Writes slices of tensors to a file of the first checkpoint format, all of them or none.",
    .needs = "scalar(filename), vector(tensor_names), vector(shapes_and_slices)", .shape = shape_none,
    .cpu = ANY_TYPE(save_slices_run), .flags = OP_BLOCKS | OP_NO_GRADIENT,
};

// ---------------------------------------- restoring

static Status *restore_one(Kernel *k, const SavedSlicesReader *reader, int i, Str text) {
    Str name = string_at(k->in[1], i);
    DType dtype, wanted = k->node->output_types[i];
    Shape stored, whole;
    Slice slice;
    bool found;
    TRY(saved_slices_find(reader, name, &dtype, &stored, &found));
    NEED(found, NOT_FOUND, "Tensor name \"%.*s\" not found in checkpoint files %.*s", STR_ARGS(name),
         STR_ARGS(string_at(k->in[0], 0)));
    NEED(dtype == wanted, INVALID_ARGUMENT,
         "Expected to restore a tensor of type %s, got a tensor of type %s instead: tensor_name = %.*s",
         dtype_name(wanted), dtype_name(dtype), STR_ARGS(name));
    if (text.n) {
        TRY(slice_parse(text, &whole, &slice));
        NEED(shape_equal(&whole, &stored), INVALID_ARGUMENT,
             "Shape in shape_and_slice spec %s does not match the shape in the save file: %s",
             shape_text(&whole), shape_text(&stored));
    }
    Tensor value;
    TRY(saved_slices_read(reader, name, text.n ? &slice : NULL, &value));
    kernel_set_output(k, i, value);
    return OK;
}

Status *saved_slices_restore(Kernel *k, bool sliced) {
    AUTO(SavedSlicesReader) SavedSlicesReader reader = {0};
    TRY(saved_slices_open(string_at(k->in[0], 0), &reader));
    for (int i = 0; i < k->n_out; i++) {
        TRY(context_check(k->step));
        TRY(restore_one(k, &reader, i, sliced ? string_at(k->in[2], i) : (Str){0}));
    }
    return OK;
}

static Status *restore_run(Kernel *k) {
    return saved_slices_restore(k, false);
}

static Status *restore_slice_run(Kernel *k) {
    return saved_slices_restore(k, true);
}

static Status *restore_slice_shape(Shapes *s) {
    const Tensor *text = s->value[2];
    if (!text || tensor_count(text) != 1 || !string_at(text, 0).n)
        return OK;
    Shape whole;
    Slice slice;
    TRY(slice_parse(string_at(text, 0), &whole, &slice));
    return slice_shape(&slice, &whole, &s->out[0]);
}

const Op op_Restore = {
    .signature = "Restore(file_pattern: string, tensor_name: string) -> tensor: dt; dt: type; preferred_shard: int = -1; "
                 "stateful",
    .doc = "Reads a tensor from files of the first checkpoint format.",
    .needs = "scalar(file_pattern), scalar(tensor_name)", .shape = shape_none, .cpu = ANY_TYPE(restore_run),
    .flags = OP_BLOCKS | OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};

const Op op_RestoreSlice = {
    .signature = "RestoreSlice(file_pattern: string, tensor_name: string, shape_and_slice: string) -> tensor: dt; "
                 "dt: type; preferred_shard: int = -1; stateful",
    .doc = "Reads a slice of a tensor from files of the first checkpoint format.",
    .needs = "scalar(file_pattern), scalar(tensor_name), scalar(shape_and_slice)", .shape = restore_slice_shape,
    .cpu = ANY_TYPE(restore_slice_run), .flags = OP_BLOCKS | OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
