// FileStream — see file_stream.h. A source gives compressed bytes, a decoder makes plain ones of them.
#include "file/file_stream.h"

#include <zlib.h>

#include "file/disk.h"
#include "file/snappy.h"

enum {
    STEP = 1 << 18,            // bytes read from the file at once
    SNAPPY_MOST = 1 << 30,     // decompressed bytes of one frame
};

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

struct FileStream {
    FileCoding coding;
    int fd;                    // -1: the bytes are in memory
    Text path;
    uint64_t at, size;         // of the file: read so far, and in all
    Str source;                // compressed bytes that wait
    char *input;               // the memory of `source`, of a file
    char *buffer;              // plain bytes
    size_t first, end, room;   // those not taken yet, of `room`
    uint64_t position;
    bool is_over;              // no more plain bytes come
    bool inflates;             // `z` is open
    bool in_member;            // the decoder is inside a member
    z_stream z;
};

Status *file_coding_find(Str name, FileCoding *out) {
    static const char *const names[] = {"", "ZLIB", "GZIP", "SNAPPY"};
    for (int i = 0; i < 4; i++)
        if (str_is(name, names[i])) {
            *out = (FileCoding)i;
            return OK;
        }
    NEED(str_is(name, "NONE"), INVALID_ARGUMENT,
         "Unsupported compression_type: %.*s. Supported are \"\", \"ZLIB\", \"GZIP\" and \"SNAPPY\"", STR_ARGS(name));
    *out = CODING_NONE;
    return OK;
}

// ---------------------------------------- opening

static Status *new_stream(FileCoding coding, FileStream **out) {
    FileStream *stream = calloc(1, sizeof *stream);
    NEED_MEMORY(stream);
    stream->coding = coding;
    stream->fd = -1;
    if (coding == CODING_ZLIB || coding == CODING_GZIP) {
        if (inflateInit2(&stream->z, MAX_WBITS + (coding == CODING_GZIP ? 16 : 0)) != Z_OK) {
            free(stream);
            return OUT_OF_MEMORY;
        }
        stream->inflates = true;
    }
    *out = stream;
    return OK;
}

static Status *open_file(FileStream *stream, Str path) {
    text_add(&stream->path, path);
    NEED_MEMORY(!stream->path.failed);
    TRY(disk_open(path, &stream->fd, &stream->size));
    if (stream->coding == CODING_NONE)
        return OK;
    stream->input = malloc(STEP);
    NEED_MEMORY(stream->input);
    return OK;
}

Status *file_stream_open(Str path, FileCoding coding, FileStream **out) {
    FileStream *stream;
    TRY(new_stream(coding, &stream));
    Status *status = open_file(stream, path);
    if (status)
        file_stream_free(stream);
    else
        *out = stream;
    return status;
}

Status *file_stream_of(Str bytes, FileCoding coding, FileStream **out) {
    TRY(new_stream(coding, out));
    (*out)->source = bytes;
    return OK;
}

void file_stream_free(FileStream *stream) {
    if (!stream)
        return;
    if (stream->inflates)
        inflateEnd(&stream->z);
    disk_close(stream->fd);
    text_clear(&stream->path);
    free(stream->input);
    free(stream->buffer);
    free(stream);
}

uint64_t file_stream_position(const FileStream *stream) {
    return stream->position;
}

bool file_stream_is_slow(const FileStream *stream) {
    return stream->fd >= 0 && !stream->size;
}

// ---------------------------------------- the source

// Some of the file's next bytes, at most n; none at its end.
static Status *read_file(FileStream *stream, void *to, size_t n, size_t *out) {
    *out = 0;
    if (stream->fd < 0)
        return OK;
    TRY(disk_read_some(stream->fd, to, n, text_str(&stream->path), out));
    stream->at += *out;
    return OK;
}

// More of the compressed bytes behind those that wait; false at the end. Those that wait are fewer than STEP.
static Status *more_source(FileStream *stream, bool *out) {
    *out = false;
    if (stream->fd < 0)
        return OK;
    size_t waiting = stream->source.n, got;
    if (waiting)
        memmove(stream->input, stream->source.p, waiting);
    TRY(read_file(stream, stream->input + waiting, STEP - waiting, &got));
    stream->source = (Str){stream->input, waiting + got};
    *out = got > 0;
    return OK;
}

// ---------------------------------------- the decoders

// Room for `more` bytes behind those that wait.
static Status *make_room(FileStream *stream, size_t more) {
    if (stream->room - stream->end >= more)
        return OK;
    size_t kept = stream->end - stream->first;
    if (stream->room - kept < more) {
        size_t half_more = stream->room + stream->room / 2;
        size_t room = kept + more > half_more ? kept + more : half_more;
        char *grown = malloc(room);
        NEED_MEMORY(grown);
        if (kept)
            memcpy(grown, stream->buffer + stream->first, kept);
        free(stream->buffer);
        stream->buffer = grown;
        stream->room = room;
    } else if (kept) {
        memmove(stream->buffer, stream->buffer + stream->first, kept);
    }
    stream->first = 0;
    stream->end = kept;
    return OK;
}

// Of a file as it stands: up to `wanted` bytes, and what a step brings beside them.
// At least a step, so that small reads don't go to the system each.
static Status *decode_none(FileStream *stream, uint64_t wanted) {
    if (stream->fd < 0) {
        TRY(make_room(stream, stream->source.n + 1));
        memcpy(stream->buffer + stream->end, stream->source.p ? stream->source.p : "", stream->source.n);
        stream->end += stream->source.n;
        stream->is_over = true;
        return OK;
    }
    // A file may hold less than was asked for: memory is taken for what it can hold, and step by step where it has no
    // size.
    uint64_t left = stream->size > stream->at ? stream->size - stream->at + 1 : STEP;
    uint64_t step = wanted < left ? wanted : left;
    TRY(make_room(stream, step > STEP ? (size_t)step : STEP));
    size_t got;
    TRY(read_file(stream, stream->buffer + stream->end, stream->room - stream->end, &got));
    stream->end += got;
    stream->is_over = got == 0;
    return OK;
}

static Status *damaged(const FileStream *stream, const char *why) {
    FAIL(DATA_LOSS, "inflate() failed: %s%s%.*s", why, stream->path.n ? ": " : "", STR_ARGS(text_str(&stream->path)));
}

// One call of inflate with what is there. A member that ends may be followed by another.
// zlib counts in 32 bits, so at most a gigabyte at a time.
static Status *inflate_some(FileStream *stream) {
    z_stream *z = &stream->z;
    if (!stream->in_member && z->total_in)
        inflateReset(z);
    stream->in_member = true;
    size_t given = smaller(stream->source.n, 1u << 30), room = smaller(stream->room - stream->end, 1u << 30);
    z->next_in = (Bytef *)(uintptr_t)stream->source.p;
    z->avail_in = (uInt)given;
    z->next_out = (Bytef *)stream->buffer + stream->end;
    z->avail_out = (uInt)room;
    int result = inflate(z, Z_NO_FLUSH);
    stream->source.p += given - z->avail_in;
    stream->source.n -= given - z->avail_in;
    stream->end += room - z->avail_out;
    if (result == Z_STREAM_END)
        stream->in_member = false;
    else if (result != Z_OK && result != Z_BUF_ERROR)
        return damaged(stream, z->msg ? z->msg : "no memory, or a dictionary is asked for");
    return OK;
}

static Status *decode_zlib(FileStream *stream) {
    TRY(make_room(stream, STEP));
    size_t before = stream->end;
    while (stream->end == before) {
        bool more = true;
        // What inflate holds back comes out without more input, but only inside a member.
        if (!stream->source.n)
            TRY(more_source(stream, &more));
        if (!more && !stream->in_member) {
            stream->is_over = true;
            return OK;
        }
        TRY(inflate_some(stream));
        if (!more && stream->end == before && stream->in_member)
            return damaged(stream, "the data ends too early");
    }
    return OK;
}

// The waiting compressed bytes are at least n, or the file ends: a frame is longer than a step at times.
static Status *gather(FileStream *stream, Text *frame, size_t n) {
    while (frame->n < n) {
        bool more = true;
        if (!stream->source.n)
            TRY(more_source(stream, &more));
        if (!more || !stream->source.n)
            FAIL(DATA_LOSS, "a snappy frame ends too early%s%.*s", stream->path.n ? ": " : "",
                 STR_ARGS(text_str(&stream->path)));
        size_t part = smaller(n - frame->n, stream->source.n);
        text_add(frame, (Str){stream->source.p, part});
        NEED_MEMORY(!frame->failed);
        stream->source.p += part;
        stream->source.n -= part;
    }
    return OK;
}

static Status *decode_snappy(FileStream *stream) {
    bool more = true;
    if (!stream->source.n)
        TRY(more_source(stream, &more));
    if (!more || !stream->source.n) {
        stream->is_over = true;
        return OK;
    }
    AUTO(text) Text frame = {0};
    AUTO(text) Text plain = {0};
    TRY(gather(stream, &frame, 4));
    const unsigned char *head = (const unsigned char *)frame.p;
    size_t length = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
    frame.n = 0;
    TRY(gather(stream, &frame, length));
    TRY(snappy_decode(text_str(&frame), SNAPPY_MOST, &plain));
    TRY(make_room(stream, plain.n));
    if (plain.n)
        memcpy(stream->buffer + stream->end, plain.p, plain.n);
    stream->end += plain.n;
    return OK;
}

static Status *decode(FileStream *stream, uint64_t wanted) {
    switch (stream->coding) {
    case CODING_ZLIB:
    case CODING_GZIP: return decode_zlib(stream);
    case CODING_SNAPPY: return decode_snappy(stream);
    default: return decode_none(stream, wanted);
    }
}

// ---------------------------------------- taking

Status *file_stream_peek(FileStream *stream, uint64_t n, Str *out) {
    while (stream->end - stream->first < n && !stream->is_over)
        TRY(decode(stream, n - (stream->end - stream->first)));
    size_t there = stream->end - stream->first;
    *out = (Str){stream->buffer ? stream->buffer + stream->first : "", n < there ? (size_t)n : there};
    return OK;
}

static void pass(FileStream *stream, size_t n) {
    stream->first += n;
    stream->position += n;
}

Status *file_stream_take(FileStream *stream, uint64_t n, Str *out) {
    TRY(file_stream_peek(stream, n, out));
    pass(stream, out->n);
    return OK;
}

Status *file_stream_skip(FileStream *stream, uint64_t n, uint64_t *out_skipped) {
    uint64_t left = n;
    while (left) {
        Str some;
        TRY(file_stream_take(stream, left < STEP ? left : STEP, &some));
        if (!some.n)
            break;
        left -= some.n;
    }
    *out_skipped = n - left;
    return OK;
}

Status *file_stream_line(FileStream *stream, Str *out, bool *out_found) {
    size_t looked = 0;
    const char *newline = NULL;
    for (;;) {
        Str there;
        TRY(file_stream_peek(stream, looked + 1, &there));
        there.n = stream->end - stream->first;
        newline = there.n > looked ? memchr(there.p + looked, '\n', there.n - looked) : NULL;
        if (newline || there.n == looked)
            break;
        looked = there.n;
    }
    Str line = {stream->buffer ? stream->buffer + stream->first : "", 0};
    line.n = newline ? (size_t)(newline - line.p) : stream->end - stream->first;
    pass(stream, line.n + (newline ? 1 : 0));
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    *out_found = newline || line.n;
    *out = line;
    return OK;
}
