// GenerateVocabRemapping, LoadAndRemapMatrix — warm starts where a vocabulary has changed: which of the new words are old
// ones, and a matrix of a checkpoint in the order of the new.
#include "base/map.h"
#include "file/bundle.h"
#include "file/disk.h"
#include "ops/string/strings.h"

// ---------------------------------------- vocabularies

// The next line without its end; false behind the last.
static bool next_line(Str *rest, Str *out) {
    if (!rest->n)
        return false;
    const char *end = memchr(rest->p, '\n', rest->n);
    size_t n = end ? (size_t)(end - rest->p) : rest->n;
    *out = (Str){rest->p, n && rest->p[n - 1] == '\r' ? n - 1 : n};
    rest->p += n + (end != NULL);
    rest->n -= n + (end != NULL);
    return true;
}

static Status *read_words(Str file, Text *bytes) {
    TRY(disk_read(file, bytes));
    NEED(bytes->n, OUT_OF_RANGE, "%.*s has no words", STR_ARGS(file));
    return OK;
}

// Number + 1 of each word of the old vocabulary.
static Status *read_old(Str file, int64_t most, Text *bytes, Map *out) {
    Str rest, line;
    int64_t i = 0;
    TRY(read_words(file, bytes));
    NEED(most, OUT_OF_RANGE, "Finished reading 0 of lines from %.*s", STR_ARGS(file));
    rest = text_str(bytes);
    for (; (most < 0 || i < most) && next_line(&rest, &line); i++) {
        NEED(!map_find(out, line), FAILED_PRECONDITION, "HashTable has different value for same key: %.*s has %.*s twice",
             STR_ARGS(file), STR_ARGS(line));
        NEED_MEMORY(map_set(out, line, (void *)(uintptr_t)(i + 1)));
    }
    NEED(most < 0 || i == most, INVALID_ARGUMENT, "Invalid vocab_size in %.*s: expected %lld but got %lld", STR_ARGS(file),
         (long long)most, (long long)i);
    return OK;
}

static Status *vocab_run(Kernel *k) {
    AUTO(text) Text new_bytes = {0};
    AUTO(text) Text old_bytes = {0};
    AUTO(map) Map old = {0};
    int64_t offset = node_int(k->node, "new_vocab_offset"), n = tensor_count(k->out[0]), *out = k->out[0]->data;
    int32_t present = 0;
    Str file = string_at(k->in[0], 0), rest, line;
    TRY(read_old(string_at(k->in[1], 0), node_int(k->node, "old_vocab_size"), &old_bytes, &old));
    TRY(read_words(file, &new_bytes));
    rest = text_str(&new_bytes);
    for (int64_t i = 0; i < n + offset; i++) {
        NEED(next_line(&rest, &line), INVALID_ARGUMENT, "%.*s has %lld words, %lld from %lld on are wanted", STR_ARGS(file),
             (long long)i, (long long)n, (long long)offset);
        if (i < offset)
            continue;
        out[i - offset] = (int64_t)(uintptr_t)map_find(&old, line) - 1;
        present += out[i - offset] >= 0;
    }
    *(int32_t *)k->out[1]->data = present;
    return OK;
}

static Status *vocab_shape(Shapes *s) {
    s->out[0] = SHAPE(node_int(s->node, "num_new_vocab"));
    s->out[1] = SCALAR_SHAPE;
    int64_t all;
    NEED(!__builtin_add_overflow(node_int(s->node, "num_new_vocab"), node_int(s->node, "new_vocab_offset"), &all), INVALID_ARGUMENT,
         "new_vocab_offset and num_new_vocab are too large");
    return shape_check(&s->out[0]);
}

const Op op_GenerateVocabRemapping = {
    .signature = "GenerateVocabRemapping(new_vocab_file: string, old_vocab_file: string) -> remapping: int64, num_present: "
                 "int32; new_vocab_offset: int >= 0; num_new_vocab: int >= 0; old_vocab_size: int >= -1 = -1",
    .doc = "For each word of a part of a new vocabulary its number in the old one, or -1.",
    .needs = "scalar(new_vocab_file), scalar(old_vocab_file)", .shape = vocab_shape, .cpu = ANY_TYPE(vocab_run),
    .flags = OP_BLOCKS | OP_NO_GRADIENT,
};

// ---------------------------------------- a matrix

// Which old row or column each new one is; -1: new. None comes twice.
static Status *check_remapping(const Tensor *remapping, int64_t old, const char *what, Arena *arena) {
    int64_t n = tensor_count(remapping);
    bool *seen = ARENA_ARRAY(arena, bool, old + 1);
    NEED_MEMORY(seen);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = tensor_int(remapping, i);
        if (at < 0)
            continue;
        NEED(at < old, INVALID_ARGUMENT, "%s_remapping[%lld] = %lld, but the tensor has %lld", what, (long long)i, (long long)at,
             (long long)old);
        NEED(!seen[at], UNIMPLEMENTED, "Old id %lld is present in %s_remapping twice: not implemented", (long long)at, what);
        seen[at] = true;
    }
    return OK;
}

static Status *read_matrix(const Kernel *k, BundleReader *reader, Tensor *out) {
    Str name = string_at(k->in[1], 0);
    BundleEntry entry;
    TRY(bundle_find(reader, name, &entry));
    NEED(entry.shape.rank == 2, INVALID_ARGUMENT, "Old tensor %.*s must be a matrix, got %s", STR_ARGS(name),
         shape_text(&entry.shape));
    NEED(entry.dtype == DT_float, INVALID_ARGUMENT, "Old tensor %.*s must be of type float, got %s", STR_ARGS(name),
         dtype_name(entry.dtype));
    return bundle_read(reader, name, &entry, NULL, out);
}

// Elements that the old matrix doesn't have are taken from initializing_values, in turn.
static Status *fill_matrix(Kernel *k, const Tensor *old) {
    const Tensor *rows = k->in[2], *columns = k->in[3], *fresh = k->in[4];
    int64_t n_rows = k->out[0]->shape.dims[0], n_columns = k->out[0]->shape.dims[1], old_columns = old->shape.dims[1], used = 0;
    bool keeps = tensor_count(columns) == 0;
    float *to = k->out[0]->data;
    for (int64_t i = 0; i < n_rows; i++)
        for (int64_t j = 0; j < n_columns; j++, to++) {
            int64_t row = tensor_int(rows, i), column = keeps ? j : tensor_int(columns, j);
            if (row >= 0 && column >= 0) {
                *to = ((const float *)old->data)[row * old_columns + column];
                continue;
            }
            NEED(used < tensor_count(fresh), INVALID_ARGUMENT, "initializing_values contained %lld elements, but more are missing",
                 (long long)tensor_count(fresh));
            *to = ((const float *)fresh->data)[used++];
        }
    NEED(used == tensor_count(fresh), INVALID_ARGUMENT,
         "initializing_values contained %lld elements, but %lld were used in output matrix", (long long)tensor_count(fresh),
         (long long)used);
    return OK;
}

static Status *matrix_run(Kernel *k) {
    AUTO(BundleReader) BundleReader reader = {0};
    AUTO(tensor) Tensor old = {0};
    AUTO(arena) Arena arena = {0};
    const Tensor *rows = k->in[2], *columns = k->in[3];
    int64_t n_rows = k->out[0]->shape.dims[0], n_columns = k->out[0]->shape.dims[1];
    NEED(tensor_count(rows) == n_rows, INVALID_ARGUMENT, "Size of row_remapping is %lld instead of being equal to num_rows=%lld",
         (long long)tensor_count(rows), (long long)n_rows);
    NEED(tensor_count(columns) == 0 || tensor_count(columns) == n_columns, INVALID_ARGUMENT,
         "Provided col_remapping, but its size is %lld instead of being equal to num_cols=%lld", (long long)tensor_count(columns),
         (long long)n_columns);
    TRY(bundle_open(string_at(k->in[0], 0), &reader));
    TRY(read_matrix(k, &reader, &old));
    NEED(tensor_count(columns) || old.shape.dims[1] == n_columns, INVALID_ARGUMENT,
         "Tensor has %lld columns, num_cols is %lld, and there is no col_remapping", (long long)old.shape.dims[1],
         (long long)n_columns);
    TRY(check_remapping(rows, old.shape.dims[0], "row", &arena));
    TRY(check_remapping(columns, old.shape.dims[1], "col", &arena));
    return fill_matrix(k, &old);
}

static Status *matrix_shape(Shapes *s) {
    s->out[0] = SHAPE(node_int(s->node, "num_rows"), node_int(s->node, "num_cols"));
    return shape_check(&s->out[0]);
}

const Op op_LoadAndRemapMatrix = {
    .signature = "LoadAndRemapMatrix(ckpt_path: string, old_tensor_name: string, row_remapping: int64, col_remapping: int64, "
                 "initializing_values: float) -> output_matrix: float; num_rows: int >= 0; num_cols: int >= 1; "
                 "max_rows_in_memory: int = -1; stateful",
    .doc = "A matrix of a checkpoint with its rows and columns in another order; new ones have the values that are given.",
    .needs = "scalar(ckpt_path), scalar(old_tensor_name), vector(row_remapping), vector(col_remapping)", .shape = matrix_shape,
    .cpu = ANY_TYPE(matrix_run), .flags = OP_BLOCKS | OP_NO_GRADIENT,
};
