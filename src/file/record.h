// Record — TFRecord files: for each record its length as a uint64, the masked checksum of that, the bytes, their
// masked checksum; all little-endian.
#pragma once
#include "file/file_stream.h"

// The next record, a view that is valid until the stream's next call; false in `out_found` at the end. DATA_LOSS
// "corrupted record at N" and "truncated record at N", N being the byte where the record begins, decompressed.
FALLIBLE Status *record_read(FileStream *stream, Str *out, bool *out_found);
// Appends the record of those bytes.
void record_write(Str bytes, Text *out);
