// Record — TFRecord files: for each record its length as a uint64, the masked checksum of that, the bytes, their
// masked checksum; all little-endian.
#pragma once
#include "file/file_stream.h"

// The next record, a view that is valid until the stream's next call; false in `out_found` at the end. DATA_LOSS
// "truncated record at N" and "corrupted record at N", N being the byte, decompressed, where the record or, where these
// are not what the checksum says, its bytes begin.
FALLIBLE Status *record_read(FileStream *stream, Str *out, bool *out_found);
// Appends the record of those bytes.
void record_write(Str bytes, Text *out);
