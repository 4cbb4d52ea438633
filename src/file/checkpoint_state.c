// CheckpointState — see checkpoint_state.h: the file "checkpoint" in a folder, which names the checkpoints that are
// kept.
//
// TensorFlow's text format. Paths in it are relative to the folder where they can be, so that a folder may move.
#include "file/checkpoint_state.h"

#include <math.h>

#include "file/disk.h"
#include "proto/messages.h"
#include "proto/text.h"

static Status *path_in(Str folder, Str file, Text *out) {
    text_add(out, folder);
    if (folder.n && folder.p[folder.n - 1] != '/')
        text_char(out, '/');
    text_add(out, file);
    NEED_MEMORY(!out->failed);
    return OK;
}

// ---- records

Status *checkpoint_state_add(CheckpointState *state, Str prefix, double time, double metric) {
    CheckpointRecord record = {strndup(prefix.p ? prefix.p : "", prefix.n), time, metric};
    if (record.prefix && vec_push(&state->records, record))
        return OK;
    free(record.prefix);
    return OUT_OF_MEMORY;
}

void checkpoint_state_drop(CheckpointState *state, size_t index) {
    free(state->records.p[index].prefix);
    state->records.n--;
    for (size_t i = index; i < state->records.n; i++)
        state->records.p[i] = state->records.p[i + 1];
}

void checkpoint_state_clear(CheckpointState *state) {
    for (size_t i = 0; i < state->records.n; i++)
        free(state->records.p[i].prefix);
    vec_clear(&state->records);
    *state = (CheckpointState){0};
}

// ---- reading

static Status *add_path(CheckpointState *state, Str folder, Str path, double time) {
    AUTO(text) Text whole = {0};
    bool absolute = path.n && path.p[0] == '/';
    TRY(path_in(absolute ? STR("") : folder, path, &whole));
    return checkpoint_state_add(state, text_str(&whole), time, NAN);
}

// The newest comes last, whatever place it has in the list.
static Status *take(const CheckpointStateProto *proto, Str folder, CheckpointState *out) {
    Str newest = proto->model_checkpoint_path;
    double newest_time = 0;
    for (size_t i = 0; i < proto->all_model_checkpoint_paths.n; i++) {
        Str path = proto->all_model_checkpoint_paths.p[i];
        double time = i < proto->all_model_checkpoint_timestamps.n ? proto->all_model_checkpoint_timestamps.p[i] : 0;
        if (str_equal(path, newest))
            newest_time = time;
        else
            TRY(add_path(out, folder, path, time));
    }
    out->preserved = proto->last_preserved_timestamp;
    return newest.n ? add_path(out, folder, newest, newest_time) : OK;
}

Status *checkpoint_state_read(Str folder, Str file, CheckpointState *out) {
    AUTO(text) Text path = {0};
    AUTO(text) Text bytes = {0};
    AUTO(arena) Arena arena = {0};
    CheckpointStateProto *proto;
    TRY(path_in(folder, file, &path));
    TRY(disk_read(text_str(&path), &bytes));
    Status *status = status_with_code(PROTO_PARSE(CheckpointStateProto, &arena, text_str(&bytes), &proto), DATA_LOSS);
    TRY(status_prefix(status, "%.*s", STR_ARGS(text_str(&path))));
    CheckpointState state = {0};
    status = take(proto, folder, &state);
    if (status)
        checkpoint_state_clear(&state);
    else
        *out = state;
    return status;
}

// ---- writing

static Str relative(Str folder, const char *prefix) {
    Str path = str_of(prefix);
    size_t n = folder.n;
    while (n && folder.p[n - 1] == '/')
        n--;
    if (n && path.n > n && memcmp(path.p, folder.p, n) == 0 && path.p[n] == '/')
        return (Str){path.p + n + 1, path.n - n - 1};
    return path;
}

Status *checkpoint_state_write(Str folder, Str file, const CheckpointState *state) {
    AUTO(text) Text path = {0};
    AUTO(text) Text text = {0};
    AUTO(arena) Arena arena = {0};
    AUTO(DiskWriter) DiskWriter writer = DISK_WRITER_NONE;
    size_t n = state->records.n;
    Str *paths = ARENA_ARRAY(&arena, Str, n + 1);
    double *times = ARENA_ARRAY(&arena, double, n + 1);
    NEED_MEMORY(paths && times);
    for (size_t i = 0; i < n; i++) {
        paths[i] = relative(folder, state->records.p[i].prefix);
        times[i] = state->records.p[i].time;
    }
    CheckpointStateProto proto = {.model_checkpoint_path = n ? paths[n - 1] : STR(""),
                                  .last_preserved_timestamp = state->preserved};
    proto.all_model_checkpoint_paths.p = paths;
    proto.all_model_checkpoint_timestamps.p = times;
    proto.all_model_checkpoint_paths.n = proto.all_model_checkpoint_timestamps.n = n;
    TRY(PROTO_PRINT(CheckpointStateProto, &proto, &text));
    TRY(path_in(folder, file, &path));
    TRY(disk_writer_open(&writer, text_str(&path)));
    TRY(disk_write(&writer, text.p, text.n));
    return disk_writer_commit(&writer);
}
