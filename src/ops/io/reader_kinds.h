// Reader kinds — what readers take for a record: a line, so many bytes, a record of a TFRecord file, a file, its name.
#pragma once
#include "file/file_stream.h"
#include "resource/reader.h"

typedef struct {
    FileCoding coding;
    int64_t header, record, footer, hop;  // of FixedLengthRecordReader: bytes
    int64_t skipped;                      // of TextLineReader: lines at the beginning of each file
} ReaderSpec;

extern const ReaderKind text_line_reader, fixed_length_reader, tf_record_reader, whole_file_reader, identity_reader;

// The state of one, of any of these kinds. RESOURCE_EXHAUSTED.
FALLIBLE Status *reader_kind_state(const ReaderSpec *spec, void **out);
