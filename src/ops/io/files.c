// Files — whole files read and written, and their names.
#include "file/disk.h"
#include "ops/op.h"

static Status *read_run(Kernel *k) {
    AUTO(text) Text bytes = {0};
    TRY(disk_read(tstring_str(k->in[0]->data), &bytes));
    NEED_MEMORY(tstring_assign(k->out[0]->data, text_str(&bytes)));
    return OK;
}

const Op op_ReadFile = {
    .signature = "ReadFile(filename: string) -> contents: string", .doc = "The bytes of a file.",
    .needs = "scalar(filename)", .shape = shape_scalar, .cpu = ANY_TYPE(read_run),
    .flags = OP_BLOCKS | OP_STATEFUL | OP_NO_GRADIENT,
};

static Status *write_run(Kernel *k) {
    AUTO(DiskWriter) DiskWriter writer = DISK_WRITER_NONE;
    Str contents = tstring_str(k->in[1]->data);
    TRY(disk_writer_open(&writer, tstring_str(k->in[0]->data)));
    TRY(disk_write(&writer, contents.p, contents.n));
    return disk_writer_commit(&writer);
}

const Op op_WriteFile = {
    .signature = "WriteFile(filename: string, contents: string); stateful",
    .doc = "Replaces a file by one with those bytes, and makes the directories above it.",
    .needs = "scalar(filename), scalar(contents)", .shape = shape_none, .cpu = ANY_TYPE(write_run),
    .flags = OP_BLOCKS | OP_NO_GRADIENT,
};

static Status *matching_shape(Shapes *s) {
    s->out[0] = SHAPE(UNKNOWN_DIM);
    return OK;
}

static Status *put_paths(Kernel *k, const DiskPaths *paths) {
    TRY(kernel_output(k, 0, SHAPE((int64_t)paths->paths.n)));
    for (size_t i = 0; i < paths->paths.n; i++)
        NEED_MEMORY(tstring_assign((TString *)k->out[0]->data + i, str_of(paths->paths.p[i])));
    return OK;
}

static Status *matching_run(Kernel *k) {
    DiskPaths paths = {0};
    Status *status = OK;
    for (int64_t i = 0; i < tensor_count(k->in[0]) && !status; i++)
        status = disk_match(tstring_str((const TString *)k->in[0]->data + i), &paths);
    if (!status)
        status = put_paths(k, &paths);
    disk_paths_clear(&paths);
    return status;
}

const Op op_MatchingFiles = {
    .signature = "MatchingFiles(pattern: string) -> filenames: string",
    .doc = "The names of the files that match a pattern, or any of several.", .needs = "scalar_or_vector(pattern)",
    .shape = matching_shape, .cpu = ANY_TYPE(matching_run), .flags = OP_BLOCKS | OP_DYNAMIC_SHAPE | OP_STATEFUL | OP_NO_GRADIENT,
};
