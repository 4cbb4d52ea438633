// Bundle — TensorFlow's checkpoint (V2): `prefix.index`, a table of names, and data files with the tensors' bytes.
//
// Entries are found by name. A variable that was saved in slices has an entry that lists them, and one entry for each.
// Written so that a crash leaves the old checkpoint or the new one: data first, then the index, each synced and
// renamed. Where a checkpoint has the name already, the new data goes under names of its own, and the old data goes
// when the new index is in place.
#pragma once
#include "base/map.h"
#include "file/slice.h"
#include "file/sstable.h"
#include "proto/messages.h"

typedef struct {
    Text prefix;
    Table table;
    int32_t n_shards;
    bool swapped;         // written by a machine of the other byte order
    int *files;           // n_shards, -1 until opened
    uint64_t *sizes;
    Arena arena;          // of decoded entries
} BundleReader;

typedef struct {
    DType dtype;
    Shape shape;          // of the whole tensor
    const BundleEntryProto *entry;
} BundleEntry;

// Whether there is an index.
bool bundle_exists(Str prefix);
// NOT_FOUND where there is no checkpoint, DATA_LOSS where it is damaged.
FALLIBLE Status *bundle_open(Str prefix, BundleReader *out);
void bundle_close(BundleReader *reader);
static inline void BundleReader_auto(BundleReader *reader) {
    bundle_close(reader);
}
// NOT_FOUND "Key v not found in checkpoint".
FALLIBLE Status *bundle_find(BundleReader *reader, Str name, BundleEntry *out);
// The whole tensor, or a slice of it (NULL: whole). DATA_LOSS where a checksum is wrong.
FALLIBLE Status *bundle_read(BundleReader *reader, Str name, const BundleEntry *entry, const Slice *slice, Tensor *out);
// Reads everything that a checkpoint holds. What bundle_open and bundle_read say of it.
FALLIBLE Status *bundle_verify(Str prefix);

typedef struct BundleItem {
    Str key;
    BundleEntryProto entry;
} BundleItem;

typedef struct {
    Text prefix;
    DiskWriter data;
    int32_t n_shards, replaced;   // data files, all but the first empty; those of the checkpoint that was there
    VEC(BundleItem) items;
    Map places;                   // of the items by key: place + 1
    Arena arena;
} BundleWriter;

FALLIBLE Status *bundle_writer_open(Str prefix, BundleWriter *out);
// INVALID_ARGUMENT for a name that is there already, or a type that can't be written.
FALLIBLE Status *bundle_add(BundleWriter *writer, Str name, const Tensor *tensor);
FALLIBLE Status *bundle_add_slice(BundleWriter *writer, Str name, const Shape *whole, const Slice *slice,
                                  const Tensor *tensor);
FALLIBLE Status *bundle_commit(BundleWriter *writer);
void bundle_writer_drop(BundleWriter *writer);  // nothing is left of what was not committed
static inline void BundleWriter_auto(BundleWriter *writer) {
    bundle_writer_drop(writer);
}

// Makes one checkpoint of several by renaming their data files; the old index files are removed. With `missing_ok`
// prefixes without a checkpoint are passed over.
FALLIBLE Status *bundle_merge(const Str *prefixes, size_t n, Str destination, bool missing_ok);

// ---- shared by reader, writer and merge
void bundle_data_name(Str prefix, int32_t shard, int32_t n_shards, Text *out);
FALLIBLE Status *bundle_slice_of(const TensorSliceProto *proto, Slice *out);
