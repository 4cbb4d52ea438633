// Datasets of files — the records, lines or pieces of fixed length of each file in turn, decompressed on the way.
#include "file/disk.h"
#include "file/record.h"
#include "ops/data/dataset_op.h"

typedef struct {
    Dataset dataset;
    Str *files;
    int64_t n_files;
    FileCoding coding;
    const int64_t *offsets;            // in each file, where to begin; NULL: at the start
    int64_t header, record, footer;    // bytes, where records have one length
} FileDataset;

typedef struct {
    Source source;
    int64_t at;                        // which file
    FileStream *stream;                // NULL: it is to be opened
} FileSource;

static Status *read_files(Kernel *k, FileDataset *own) {
    Arena *arena = &own->dataset.arena;
    const Tensor *files = k->in[0];
    NEED(files->shape.rank <= 1, INVALID_ARGUMENT, "`filenames` must be a scalar or a vector.");
    own->n_files = tensor_count(files);
    own->files = ARENA_ARRAY(arena, Str, own->n_files);
    NEED_MEMORY(own->files);
    for (int64_t i = 0; i < own->n_files; i++) {
        own->files[i] = str_copy(arena, tstring_str((const TString *)files->data + i));
        NEED_MEMORY(own->files[i].p);
    }
    DType dtype = DT_string;
    Shape shape = SCALAR_SHAPE;
    return dataset_set_components(&own->dataset, 1, &dtype, &shape);
}

// The op's other inputs, where it has them. How much is read at once is the stream's own business.
static Status *fill_with(Kernel *k, Dataset *dataset, int64_t least) {
    FileDataset *own = (FileDataset *)dataset;
    int first, count;
    TRY(read_files(k, own));
    if (node_input_arg(k->node, STR("compression_type"), &first, &count) >= 0) {
        NEED(k->in[first]->shape.rank == 0, INVALID_ARGUMENT, "`compression_type` must be a scalar.");
        TRY(file_coding_find(tstring_str(k->in[first]->data), &own->coding));
    }
    if (node_input_arg(k->node, STR("buffer_size"), &first, &count) >= 0) {
        int64_t size;
        TRY(dataset_int(k, "buffer_size", &size));
        NEED(size >= least, INVALID_ARGUMENT, "`buffer_size` must be >= 0 (0 == default)");
    }
    if (node_input_arg(k->node, STR("byte_offsets"), &first, &count) >= 0) {
        NEED(tensor_count(k->in[first]) == own->n_files, INVALID_ARGUMENT,
             "`byte_offsets` must have as many elements as `filenames`: %lld, not %lld", (long long)own->n_files,
             (long long)tensor_count(k->in[first]));
        int64_t *offsets = ARENA_ARRAY(&dataset->arena, int64_t, own->n_files);
        NEED_MEMORY(offsets);
        for (int64_t i = 0; i < own->n_files; i++) {
            offsets[i] = tensor_int(k->in[first], i);
            NEED(offsets[i] >= 0, INVALID_ARGUMENT, "byte_offsets[%lld] = %lld is negative", (long long)i, (long long)offsets[i]);
        }
        own->offsets = offsets;
    }
    return OK;
}

static Status *file_fill(Kernel *k, Dataset *dataset) {
    return fill_with(k, dataset, 0);
}

static int64_t file_cardinality(const Dataset *dataset) {
    return ((const FileDataset *)dataset)->n_files ? CARDINALITY_UNKNOWN : 0;
}

static void file_close(Source *source) {
    file_stream_free(((FileSource *)source)->stream);
}

static void next_file(FileSource *from) {
    file_stream_free(from->stream);
    from->stream = NULL;
    from->at++;
}

// Records of one length fill a file that is not compressed: what doesn't is told before the first comes.
static Status *check_length(const FileDataset *own, Str file) {
    if (!own->record || own->coding != CODING_NONE)
        return OK;
    int fd;
    uint64_t size, around, body;
    TRY(disk_open(file, &fd, &size));
    disk_close(fd);
    bool fits = !__builtin_add_overflow((uint64_t)own->header, (uint64_t)own->footer, &around) &&
                !__builtin_sub_overflow(size, around, &body);
    NEED(fits && body % (uint64_t)own->record == 0, INVALID_ARGUMENT,
         "Excluding the header (%lld bytes) and footer (%lld bytes), input file \"%.*s\" has body length %lld bytes, which is "
         "not an exact multiple of the record length (%lld bytes).", (long long)own->header, (long long)own->footer,
         STR_ARGS(file), fits ? (long long)body : -1, (long long)own->record);
    return OK;
}

static Status *open_file(FileSource *from) {
    const FileDataset *own = (const FileDataset *)from->source.dataset;
    uint64_t skipped, start = (uint64_t)(own->offsets ? own->offsets[from->at] : own->header);
    Status *status = check_length(own, own->files[from->at]);
    if (!status)
        status = file_stream_open(own->files[from->at], own->coding, &from->stream);
    if (status)
        from->at++;  // the next pull goes on with the next file
    TRY(status);
    TRY(file_stream_skip(from->stream, start, &skipped));
    NEED(skipped == start || own->record, OUT_OF_RANGE, "file %.*s ends before byte %llu", STR_ARGS(own->files[from->at]),
         (unsigned long long)start);
    return OK;
}

typedef Status *ReadFn(const FileDataset *own, FileStream *stream, Str *out, bool *out_found);

static Status *read_next(Source *source, Tensor *out, Pulled *how, ReadFn *read) {
    FileSource *from = (FileSource *)source;
    const FileDataset *own = (const FileDataset *)source->dataset;
    while (from->at < own->n_files) {
        if (!from->stream)
            TRY(open_file(from));
        Str bytes;
        bool found = false;
        Status *status = read(own, from->stream, &bytes, &found);
        if (status || !found)
            next_file(from);
        TRY(status);
        if (!found)
            continue;
        TRY(tensor_new(DT_string, SCALAR_SHAPE, out));
        if (!tstring_assign(out->data, bytes)) {
            tensor_clear(out);
            return OUT_OF_MEMORY;
        }
        return pulled(how);
    }
    return pulled_end(how);
}

#define OF_FILES(kind)                                                                                                   \
    .size = sizeof(FileDataset), .source_size = sizeof(FileSource), .cardinality = file_cardinality, .next = kind##_next, \
    .close = file_close, .position = file_position
#define FILES "(filenames: string, "

// A file that is compressed is decompressed again up to there.
static Status *file_position(Source *source, Position *p) {
    FileSource *from = (FileSource *)source;
    const FileDataset *own = (const FileDataset *)source->dataset;
    int64_t byte = from->stream ? (int64_t)file_stream_position(from->stream) : -1;
    uint64_t skipped;
    TRY(position_int(p, &from->at, 0, own->n_files));
    TRY(position_int(p, &byte, -1, from->at < own->n_files ? INT64_MAX : -1));
    if (!p->loads || byte < 0)
        return OK;
    Str file = own->files[from->at];
    TRY(file_stream_open(file, own->coding, &from->stream));
    TRY(file_stream_skip(from->stream, (uint64_t)byte, &skipped));
    NEED(skipped == (uint64_t)byte, DATA_LOSS, "file %.*s ends before byte %lld, where the iterator stood", STR_ARGS(file),
         (long long)byte);
    return OK;
}

// ---------------------------------------- records

// A buffer of -1 bytes is one of which nothing was said.
static Status *record_fill(Kernel *k, Dataset *dataset) {
    return fill_with(k, dataset, -1);
}

static Status *read_record(const FileDataset *own, FileStream *stream, Str *out, bool *out_found) {
    (void)own;
    return record_read(stream, out, out_found);
}

static Status *record_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    (void)pull;
    return read_next(source, out, how, read_record);
}

static const DatasetType record_type = {.name = "TFRecord", .fill = record_fill, OF_FILES(record)};

const Op op_TFRecordDataset = {
    .signature = "TFRecordDataset" FILES "compression_type: string, buffer_size: int64) -> handle: variant" METADATA
                 "; stateful",
    .doc = "A dataset of the records of TFRecord files.", .needs = "rank(filenames) <= 1, scalar(compression_type), "
                                                                   "scalar(buffer_size)",
    MAKES(record_type),
};
const Op op_TFRecordDatasetV2 = {
    .signature = "TFRecordDatasetV2" FILES "compression_type: string, buffer_size: int64, byte_offsets: int64) -> handle: "
                 "variant" METADATA "; stateful",
    .doc = "A dataset of the records of TFRecord files, from a byte of each on.",
    .needs = "rank(filenames) <= 1, scalar(compression_type), scalar(buffer_size)", MAKES(record_type),
};

// ---------------------------------------- lines

static Status *read_line(const FileDataset *own, FileStream *stream, Str *out, bool *out_found) {
    (void)own;
    return file_stream_line(stream, out, out_found);
}

static Status *line_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    (void)pull;
    return read_next(source, out, how, read_line);
}

static const DatasetType line_type = {.name = "TextLine", .fill = file_fill, OF_FILES(line)};

const Op op_TextLineDataset = {
    .signature = "TextLineDataset" FILES "compression_type: string, buffer_size: int64) -> handle: variant" METADATA
                 "; stateful",
    .doc = "A dataset of the lines of text files, without the newlines.",
    .needs = "rank(filenames) <= 1, scalar(compression_type), scalar(buffer_size)", MAKES(line_type),
};

// ---------------------------------------- pieces

static Status *fixed_fill(Kernel *k, Dataset *dataset) {
    FileDataset *own = (FileDataset *)dataset;
    TRY(file_fill(k, dataset));
    TRY(dataset_int(k, "header_bytes", &own->header));
    TRY(dataset_int(k, "record_bytes", &own->record));
    TRY(dataset_int(k, "footer_bytes", &own->footer));
    NEED(own->header >= 0, INVALID_ARGUMENT, "`header_bytes` must be >= 0");
    NEED(own->record > 0, INVALID_ARGUMENT, "`record_bytes` must be > 0");
    NEED(own->footer >= 0, INVALID_ARGUMENT, "`footer_bytes` must be >= 0");
    int64_t both;
    NEED(!__builtin_add_overflow(own->record, own->footer, &both), INVALID_ARGUMENT, "records of %lld bytes before %lld",
         (long long)own->record, (long long)own->footer);
    return OK;
}

// A record, if behind it there is room for the footer. The bytes between records and footer must be none.
static Status *read_piece(const FileDataset *own, FileStream *stream, Str *out, bool *out_found) {
    uint64_t record = (uint64_t)own->record, whole = record + (uint64_t)own->footer;
    Str ahead;
    TRY(file_stream_peek(stream, whole, &ahead));
    *out_found = ahead.n == whole;
    if (!*out_found) {
        NEED(ahead.n == (size_t)own->footer, INVALID_ARGUMENT,
             "Excluding the header (%lld bytes) and footer (%lld bytes), input file has a body whose length is not an exact "
             "multiple of the record length (%lld bytes).", (long long)own->header, (long long)own->footer,
             (long long)own->record);
        return OK;
    }
    return file_stream_take(stream, record, out);
}

static Status *fixed_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    (void)pull;
    return read_next(source, out, how, read_piece);
}

static const DatasetType fixed_type = {.name = "FixedLengthRecord", .fill = fixed_fill, OF_FILES(fixed)};

#define PIECES "header_bytes: int64, record_bytes: int64, footer_bytes: int64, buffer_size: int64"
#define PIECES_NEEDS \
    "rank(filenames) <= 1, scalar(header_bytes), scalar(record_bytes), scalar(footer_bytes), scalar(buffer_size)"
const Op op_FixedLengthRecordDataset = {
    .signature = "FixedLengthRecordDataset" FILES PIECES ") -> handle: variant" METADATA "; stateful",
    .doc = "A dataset of the records of record_bytes in files, between header and footer.", .needs = PIECES_NEEDS,
    MAKES(fixed_type),
};
const Op op_FixedLengthRecordDatasetV2 = {
    .signature = "FixedLengthRecordDatasetV2" FILES PIECES ", compression_type: string) -> handle: variant" METADATA
                 "; stateful",
    .doc = "A dataset of the records of record_bytes in files, between header and footer.",
    .needs = PIECES_NEEDS ", scalar(compression_type)", MAKES(fixed_type),
};
