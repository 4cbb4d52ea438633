// SavedSlices — TensorFlow's checkpoint of the first version: one table, of a list of all tensors and a message for each
// slice with its values; a checkpoint in shards is several such files, which a pattern names.
#pragma once
#include "file/slice.h"
#include "file/sstable.h"
#include "proto/messages.h"

typedef struct {
    TableFile table;
    const SavedTensorSliceMetaProto *meta;
} SavedSlicesFile;

typedef struct {
    VEC(SavedSlicesFile) files;
    Arena arena;          // of the lists
} SavedSlicesReader;

// NOT_FOUND where no file matches, DATA_LOSS where one is damaged.
FALLIBLE Status *saved_slices_open(Str pattern, SavedSlicesReader *out);
void saved_slices_close(SavedSlicesReader *reader);
static inline void SavedSlicesReader_auto(SavedSlicesReader *reader) {
    saved_slices_close(reader);
}
// Type and shape of the whole tensor. `*out_found` is false where there is none of that name.
FALLIBLE Status *saved_slices_find(const SavedSlicesReader *reader, Str name, DType *out_dtype, Shape *out_shape,
                                   bool *out_found);
// The whole of a tensor that was found, or a slice of it (NULL: whole), put together of what is stored.
FALLIBLE Status *saved_slices_read(const SavedSlicesReader *reader, Str name, const Slice *slice, Tensor *out);

typedef struct {
    VEC(TableEntry) entries;          // of values
    VEC(SavedSliceMetaProto) tensors;
    Arena arena;
} SavedSlicesWriter;

// All that is added lies in memory until it is written.
#define SAVED_SLICES_WRITER_NONE {0}
// INVALID_ARGUMENT where it doesn't go with what was added under that name, UNIMPLEMENTED for a type that the format
// doesn't have.
FALLIBLE Status *saved_slices_add(SavedSlicesWriter *writer, Str name, const Shape *whole, const Slice *slice,
                                  const Tensor *tensor);
FALLIBLE Status *saved_slices_write(SavedSlicesWriter *writer, Str path);
void saved_slices_writer_clear(SavedSlicesWriter *writer);
static inline void SavedSlicesWriter_auto(SavedSlicesWriter *writer) {
    saved_slices_writer_clear(writer);
}
