// FileStream — the bytes of a file from its first to its last, decompressed where it is compressed.
//
// What is handed out is a view into the stream's buffer: 256 KiB, and longer only once so many bytes have come, so a
// length that a damaged file names takes no memory. A stream belongs to one thread at a time.
#pragma once
#include "base/str.h"

// ZLIB: RFC 1950; GZIP: RFC 1952, any number of members; SNAPPY: TensorFlow's frames, each a big-endian uint32 of
// compressed bytes and a raw block.
typedef enum { CODING_NONE, CODING_ZLIB, CODING_GZIP, CODING_SNAPPY } FileCoding;

// "", "NONE", "ZLIB", "GZIP" or "SNAPPY". INVALID_ARGUMENT.
FALLIBLE Status *file_coding_find(Str name, FileCoding *out);

typedef struct FileStream FileStream;

// NOT_FOUND, PERMISSION_DENIED ..., RESOURCE_EXHAUSTED.
FALLIBLE Status *file_stream_open(Str path, FileCoding coding, FileStream **out);
// Of bytes in memory, which live as long as the stream.
FALLIBLE Status *file_stream_of(Str bytes, FileCoding coding, FileStream **out);
void file_stream_free(FileStream *stream);
static inline void file_stream_auto(FileStream **stream) {
    file_stream_free(*stream);
}

// The next n bytes, or those that are left: fewer only at the end. Valid until the next call. DATA_LOSS where the
// compressed bytes are damaged, or end within a part.
FALLIBLE Status *file_stream_take(FileStream *stream, uint64_t n, Str *out);
// The same without passing over them.
FALLIBLE Status *file_stream_peek(FileStream *stream, uint64_t n, Str *out);
// Passes over n bytes; `out_skipped` is less where the end comes first.
FALLIBLE Status *file_stream_skip(FileStream *stream, uint64_t n, uint64_t *out_skipped);
// The next line, without the newline and without one carriage return in front of it. False in `out_found`: the end.
FALLIBLE Status *file_stream_line(FileStream *stream, Str *out, bool *out_found);
// Whether a call may wait long: there is a pipe or a device behind it, which have no size.
bool file_stream_is_slow(const FileStream *stream);
// How many (decompressed) bytes lie behind.
uint64_t file_stream_position(const FileStream *stream);
