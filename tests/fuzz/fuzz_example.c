// fuzz_example — any bytes as an Example, a SequenceExample, and a file of records in each coding: refused, or read;
// memory bounded by the input.
#include <stdlib.h>

#include "file/record.h"
#include "proto/example.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void read_feature(Str feature, size_t limit) {
    FeatureList list;
    if (!feature_list_open(feature, &list))
        return;
    int64_t count = feature_list_count(&list);
    if (count > (int64_t)limit)
        abort();  // each value takes a byte at least
    if (count <= 0)
        return;
    char *values = calloc((size_t)count, dtype_size(list.dtype));
    if (!values || !feature_list_read(&list, values))
        abort();
    for (int64_t i = 0; i < count && list.dtype == DT_string; i++)
        tstring_clear((TString *)values + i);
    free(values);
}

static void read_map(Str message, uint32_t field) {
    FeatureWalk walk = feature_walk(message, field);
    Str key, feature;
    while (feature_walk_next(&walk, &key, &feature)) {
        read_feature(feature, message.n);
        Cursor steps = cursor_of(feature.p, feature.n);
        bool is_malformed;
        for (Str step; field == 2 && feature_list_next(&steps, &step, &is_malformed);)
            read_feature(step, message.n);
    }
}

static Status *read_records(Str file, FileCoding coding) {
    AUTO(file_stream) FileStream *stream = NULL;
    TRY(file_stream_of(file, coding, &stream));
    for (bool found = true;;) {
        Str record;
        TRY(record_read(stream, &record, &found));
        if (!found)
            return OK;
        read_map(record, 1);
    }
}

static Status *read_lines(Str file, FileCoding coding) {
    AUTO(file_stream) FileStream *stream = NULL;
    TRY(file_stream_of(file, coding, &stream));
    for (bool found = true; found;) {
        Str line;
        TRY(file_stream_line(stream, &line, &found));
    }
    return OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    Str all = {(const char *)bytes, n};
    read_map(all, 1);
    read_map(all, 2);
    for (int coding = CODING_NONE; coding <= CODING_SNAPPY; coding++) {
        status_free(read_records(all, (FileCoding)coding));
        status_free(read_lines(all, (FileCoding)coding));
    }
    return 0;
}
