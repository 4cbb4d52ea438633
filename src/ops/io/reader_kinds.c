// Reader kinds — see reader_kinds.h. All have one state; those that read a file whole, or not at all, use little of it.
#include "ops/io/reader_kinds.h"

#include <stdlib.h>

#include "file/disk.h"
#include "file/record.h"

typedef struct {
    ReaderSpec spec;
    FileStream *stream;
    Text key, value;
    size_t name;       // bytes of the key that are the file's name; 0: none yet
    int64_t number;    // records or lines of this file so far
    Status *failed;    // an error within a file: it stays the same however often one tries
} KindState;

Status *reader_kind_state(const ReaderSpec *spec, void **out) {
    KindState *state = calloc(1, sizeof *state);
    NEED_MEMORY(state);
    state->spec = *spec;
    *out = state;
    return OK;
}

static void end_file(void *arg) {
    KindState *state = arg;
    file_stream_free(state->stream);
    state->stream = NULL;
    status_free(state->failed);
    state->failed = OK;
    state->number = 0;
    state->key.n = state->name = 0;
}

static void free_state(void *arg) {
    KindState *state = arg;
    text_clear(&state->key);
    text_clear(&state->value);
    free(state);
}

static ReaderPosition tell(const void *arg) {
    const KindState *state = arg;
    return (ReaderPosition){state->stream ? (int64_t)file_stream_position(state->stream) : 0, state->number};
}

static Status *seek(void *arg, ReaderPosition position) {
    KindState *state = arg;
    uint64_t skipped, behind = file_stream_position(state->stream);
    state->number = position.number;
    if ((uint64_t)position.offset <= behind)
        return OK;
    return file_stream_skip(state->stream, (uint64_t)position.offset - behind, &skipped);
}

static bool is_slow(const void *arg) {
    return file_stream_is_slow(((const KindState *)arg)->stream);
}

// "name:number"; of one file only the number changes.
static Status *give(KindState *state, Str work, int64_t number, Str value, ReaderRecord *out) {
    char digits[24], *first = digits + sizeof digits;
    for (int64_t left = number; left || first == digits + sizeof digits; left /= 10)
        *--first = (char)('0' + left % 10);
    if (!state->name) {
        text_add(&state->key, work);
        text_char(&state->key, ':');
        state->name = state->key.n;
    }
    state->key.n = state->name;
    text_add(&state->key, (Str){first, (size_t)(digits + sizeof digits - first)});
    NEED_MEMORY(!state->key.failed);
    *out = (ReaderRecord){.key = text_str(&state->key), .value = value, .produced = true};
    return OK;
}

static Status *open_stream(KindState *state, Str work) {
    end_file(state);
    return file_stream_open(work, state->spec.coding, &state->stream);
}

// Calls `read` unless that has failed before in this file.
static Status *read_once(KindState *state, Str work, ReaderRecord *out,
                         Status *(*read)(KindState *, Str, ReaderRecord *)) {
    if (!state->failed)
        state->failed = read(state, work, out);
    return status_copy(state->failed);
}

// ---------------------------------------- TextLineReader

static Status *begin_lines(void *arg, Str work) {
    KindState *state = arg;
    TRY(open_stream(state, work));
    bool found = true;
    while (found && state->number < state->spec.skipped) {
        Str line;
        TRY(file_stream_line(state->stream, &line, &found));
        state->number++;
    }
    return OK;
}

static Status *next_line(KindState *state, Str work, ReaderRecord *out) {
    Str line;
    bool found;
    TRY(file_stream_line(state->stream, &line, &found));
    out->at_end = !found;
    return found ? give(state, work, ++state->number, line, out) : OK;
}

static Status *read_line(void *arg, Str work, ReaderRecord *out) {
    return read_once(arg, work, out, next_line);
}

const ReaderKind text_line_reader = {"TextLineReader", begin_lines, read_line, end_file, tell, seek, is_slow,
                                     free_state};

// ---------------------------------------- TFRecordReader

static Status *begin_records(void *arg, Str work) {
    return open_stream(arg, work);
}

static Status *next_record(KindState *state, Str work, ReaderRecord *out) {
    int64_t at = (int64_t)file_stream_position(state->stream);
    Str record;
    bool found;
    TRY(record_read(state->stream, &record, &found));
    state->number++;
    out->at_end = !found;
    return found ? give(state, work, at, record, out) : OK;
}

static Status *read_record(void *arg, Str work, ReaderRecord *out) {
    return read_once(arg, work, out, next_record);
}

const ReaderKind tf_record_reader = {"TFRecordReader", begin_records, read_record, end_file, tell, seek, is_slow,
                                     free_state};

// ---------------------------------------- FixedLengthRecordReader

static Status *begin_fixed(void *arg, Str work) {
    KindState *state = arg;
    TRY(open_stream(state, work));
    uint64_t skipped;
    TRY(file_stream_skip(state->stream, (uint64_t)state->spec.header, &skipped));
    NEED(skipped == (uint64_t)state->spec.header, OUT_OF_RANGE, "reached end of file");
    return OK;
}

// Between two records lies the hop from the beginning of the first, and behind the last one must be room for the
// footer.
static Status *next_fixed(KindState *state, Str work, ReaderRecord *out) {
    const ReaderSpec *spec = &state->spec;
    uint64_t hop = state->number ? (uint64_t)(spec->hop ? spec->hop : spec->record) : 0, skipped;
    TRY(file_stream_skip(state->stream, hop, &skipped));
    Str there;
    uint64_t wanted = (uint64_t)spec->record + (uint64_t)spec->footer;
    TRY(file_stream_peek(state->stream, wanted, &there));
    if (skipped < hop || there.n < wanted) {
        out->at_end = true;
        return OK;
    }
    return give(state, work, state->number++, (Str){there.p, (size_t)spec->record}, out);
}

static Status *read_fixed(void *arg, Str work, ReaderRecord *out) {
    return read_once(arg, work, out, next_fixed);
}

const ReaderKind fixed_length_reader = {"FixedLengthRecordReader", begin_fixed, read_fixed, end_file, tell, seek,
                                        is_slow, free_state};

// ---------------------------------------- WholeFileReader, IdentityReader

static Status *read_whole(void *arg, Str work, ReaderRecord *out) {
    KindState *state = arg;
    state->value.n = 0;
    TRY(disk_read(work, &state->value));
    *out = (ReaderRecord){.key = work, .value = text_str(&state->value), .produced = true, .at_end = true};
    return OK;
}

static bool is_always_slow(const void *arg) {
    (void)arg;
    return true;
}

static Status *read_name(void *arg, Str work, ReaderRecord *out) {
    (void)arg;
    *out = (ReaderRecord){.key = work, .value = work, .produced = true, .at_end = true};
    return OK;
}

const ReaderKind whole_file_reader = {.name = "WholeFileReader", .read = read_whole, .end = end_file,
                                      .is_slow = is_always_slow, .free = free_state};
const ReaderKind identity_reader = {.name = "IdentityReader", .read = read_name, .end = end_file, .free = free_state};
