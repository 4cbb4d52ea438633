// Bundle reader — see bundle.h: TensorFlow's V2 checkpoints, an index (a sorted table) and data files.
//
// Nothing of a file is believed: sizes are held against the file's own before memory is taken, and every tensor against
// its checksum. Errors have TensorFlow's codes and words, which clients look at. Data is read where it is needed, at
// most once.
#include <stdlib.h>

#include "base/checked.h"
#include "base/cursor.h"
#include "file/bundle.h"
#include "file/bundle_variant.h"
#include "file/crc32c.h"
#include "proto/tensor_proto.h"

enum { MOST_SHARDS = 1 << 20 };

void bundle_data_name(Str prefix, int32_t shard, int32_t n_shards, Text *out) {
    text_add(out, prefix);
    text_format(out, ".data-%05d-of-%05d", shard, n_shards);
}

// ---- opening

static Status *read_header(BundleReader *reader) {
    Str prefix = text_str(&reader->prefix);
    const TableEntry *entry = table_find(&reader->table, STR(""));
    NEED(entry, DATA_LOSS, "%.*s: the index has no header", STR_ARGS(prefix));
    BundleHeaderProto *header;
    TRY(status_with_code(PROTO_DECODE(BundleHeaderProto, &reader->arena, entry->value, &header), DATA_LOSS));
    NEED(header->num_shards >= 0 && header->num_shards <= MOST_SHARDS, DATA_LOSS, "%.*s: %d shards", STR_ARGS(prefix),
         header->num_shards);
    int32_t consumer = header->version ? header->version->min_consumer : 0;
    NEED(consumer <= 1, FAILED_PRECONDITION, "%.*s: the checkpoint needs a reader of version %d", STR_ARGS(prefix),
         consumer);
    reader->n_shards = header->num_shards;
    reader->swapped = header->endianness == BundleHeaderProto_Endianness_BIG;
    reader->files = ARENA_ARRAY(&reader->arena, int, header->num_shards);
    reader->sizes = ARENA_ARRAY(&reader->arena, uint64_t, header->num_shards);
    NEED_MEMORY(reader->files && reader->sizes);
    for (int32_t i = 0; i < header->num_shards; i++)
        reader->files[i] = -1;
    return OK;
}

static Status *open_index(Str prefix, BundleReader *reader) {
    AUTO(text) Text name = {0};
    AUTO(text) Text bytes = {0};
    text_add(&reader->prefix, prefix);
    text_add(&name, prefix);
    text_add(&name, STR(".index"));
    NEED_MEMORY(!reader->prefix.failed && !name.failed);
    NEED(disk_exists(text_str(&name)), NOT_FOUND,
         "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for %.*s", STR_ARGS(prefix));
    TRY(disk_read(text_str(&name), &bytes));
    TRY(table_read(text_str(&bytes), text_str(&name), &reader->table));
    return read_header(reader);
}

bool bundle_exists(Str prefix) {
    AUTO(text) Text name = {0};
    text_add(&name, prefix);
    text_add(&name, STR(".index"));
    return !name.failed && disk_exists(text_str(&name));
}

Status *bundle_open(Str prefix, BundleReader *out) {
    *out = (BundleReader){0};
    Status *status = open_index(prefix, out);
    if (status)
        bundle_close(out);
    return status;
}

void bundle_close(BundleReader *reader) {
    for (int32_t i = 0; reader->files && i < reader->n_shards; i++)
        disk_close(reader->files[i]);
    text_clear(&reader->prefix);
    table_clear(&reader->table);
    arena_clear(&reader->arena);
    *reader = (BundleReader){0};
}

// ---- entries

static Status *find(BundleReader *reader, Str key, Str name, BundleEntry *out) {
    const TableEntry *found = table_find(&reader->table, key);
    NEED(found && name.n, NOT_FOUND, "Key %.*s not found in checkpoint", STR_ARGS(name));
    BundleEntryProto *entry;
    BundleEntry result = {.dtype = DT_INVALID};
    TRY(status_with_code(PROTO_DECODE(BundleEntryProto, &reader->arena, found->value, &entry), DATA_LOSS));
    TRY(status_with_code(shape_from_proto(entry->shape, &result.shape), DATA_LOSS));
    result.entry = entry;
    result.dtype = (DType)entry->dtype;
    NEED(dtype_is_valid(result.dtype) && shape_is_known(&result.shape), DATA_LOSS,
         "the checkpoint's entry of %.*s is malformed", STR_ARGS(name));
    *out = result;
    return OK;
}

Status *bundle_find(BundleReader *reader, Str name, BundleEntry *out) {
    return find(reader, name, name, out);
}

Status *bundle_slice_of(const TensorSliceProto *proto, Slice *out) {
    NEED(proto->extent.n <= MAX_RANK, DATA_LOSS, "a slice has %zu dimensions", proto->extent.n);
    Slice slice = {.rank = (int)proto->extent.n};
    for (int i = 0; i < slice.rank; i++) {
        const TensorSliceProto_Extent *extent = &proto->extent.p[i];
        slice.start[i] = extent->start;
        slice.length[i] = extent->which == TensorSliceProto_Extent_length ? extent->length : SLICE_ALL;
    }
    *out = slice;
    return OK;
}

// ---- data

static Status *open_shard(BundleReader *reader, int32_t shard, Text *name) {
    bundle_data_name(text_str(&reader->prefix), shard, reader->n_shards, name);
    NEED_MEMORY(!name->failed);
    NEED(shard >= 0 && shard < reader->n_shards, DATA_LOSS, "%.*s: an entry lies in shard %d of %d",
         STR_ARGS(text_str(&reader->prefix)), shard, reader->n_shards);
    return reader->files[shard] >= 0 ? OK : disk_open(text_str(name), &reader->files[shard], &reader->sizes[shard]);
}

// Checkpoints of big-endian machines: complex numbers are swapped by their halves.
static void swap_bytes(void *data, size_t n, size_t unit) {
    unsigned char *p = data;
    for (size_t i = 0; i + unit <= n; i += unit)
        for (size_t j = 0; j < unit / 2; j++) {
            unsigned char kept = p[i + j];
            p[i + j] = p[i + unit - 1 - j];
            p[i + unit - 1 - j] = kept;
        }
}

static Status *check_sum(uint32_t crc, const BundleEntryProto *entry, Str name) {
    NEED(crc32c_mask(crc) == entry->crc32c, DATA_LOSS, "Checksum does not match: stored %u vs. calculated on the "
         "restored bytes %u, in the tensor '%.*s'", entry->crc32c, crc32c_mask(crc), STR_ARGS(name));
    return OK;
}

static Status *read_plain(BundleReader *reader, const BundleEntry *at, Str name, Str file, Tensor *out) {
    const BundleEntryProto *entry = at->entry;
    size_t bytes = (size_t)entry->size;
    AUTO(tensor) Tensor tensor = {0};
    TRY(tensor_new(at->dtype, at->shape, &tensor));
    if (bytes)
        TRY(disk_read_at(reader->files[entry->shard_id], (uint64_t)entry->offset, tensor.data, bytes, file));
    TRY(check_sum(crc32c(0, tensor.data, bytes), entry, name));
    if (reader->swapped)
        swap_bytes(tensor.data, bytes, dtype_size(at->dtype) / (dtype_is_complex(at->dtype) ? 2 : 1));
    *out = tensor_retain(&tensor);
    return OK;
}

// The lengths of all strings, their checksum, the strings.
static Status *parse_strings(Str bytes, const BundleEntry *at, Str name, const Tensor *tensor) {
    int64_t count = tensor_count(tensor);
    Cursor lengths = cursor_of(bytes.p, bytes.n), c = lengths;
    uint32_t crc = 0, stored;
    for (int64_t i = 0; i < count; i++) {
        uint64_t length;
        NEED(cursor_varint(&c, &length), DATA_LOSS, "'%.*s' has fewer strings than it says", STR_ARGS(name));
        uint32_t narrow = (uint32_t)length;
        crc = length <= UINT32_MAX ? crc32c(crc, &narrow, 4) : crc32c(crc, &length, 8);
    }
    NEED(cursor_fixed32(&c, &stored) && stored == crc32c_mask(crc), DATA_LOSS,
         "The length checksum does not match in the tensor '%.*s'", STR_ARGS(name));
    crc = crc32c(crc, &stored, 4);
    crc = crc32c(crc, c.p, cursor_left(&c));
    TRY(check_sum(crc, at->entry, name));
    for (int64_t i = 0; i < count; i++) {
        uint64_t length = 0;
        Str text;
        bool good = cursor_varint(&lengths, &length) && length <= cursor_left(&c) &&
                    cursor_bytes(&c, (size_t)length, &text);
        NEED(good, DATA_LOSS, "'%.*s' has shorter strings than it says", STR_ARGS(name));
        NEED_MEMORY(tstring_assign((TString *)tensor->data + i, text));
    }
    return OK;
}

static Status *parse_variants(Str bytes, const BundleEntry *at, Str name, const Tensor *tensor) {
    uint32_t crc;
    TRY(bundle_variant_read(bytes, name, tensor, &crc));
    return check_sum(crc, at->entry, name);
}

// Strings and variants.
static Status *read_parsed(BundleReader *reader, const BundleEntry *at, Str name, Str file, Tensor *out) {
    const BundleEntryProto *entry = at->entry;
    AUTO(text) Text bytes = {0};
    AUTO(tensor) Tensor tensor = {0};
    NEED_MEMORY(text_reserve(&bytes, (size_t)entry->size));
    TRY(disk_read_at(reader->files[entry->shard_id], (uint64_t)entry->offset, bytes.p, (size_t)entry->size, file));
    TRY(tensor_new(at->dtype, at->shape, &tensor));
    Str all = {bytes.p, (size_t)entry->size};
    TRY(at->dtype == DT_string ? parse_strings(all, at, name, &tensor) : parse_variants(all, at, name, &tensor));
    *out = tensor_retain(&tensor);
    return OK;
}

// Opens the file that the entry lies in. What is read then takes no more memory than is in that file.
static Status *open_entry(BundleReader *reader, Str name, const BundleEntry *at, Text *file) {
    const BundleEntryProto *entry = at->entry;
    TRY(open_shard(reader, entry->shard_id, file));
    uint64_t size = reader->sizes[entry->shard_id];
    size_t bytes;
    NEED(entry->offset >= 0 && entry->size >= 0 && (uint64_t)entry->offset <= size &&
             (uint64_t)entry->size <= size - (uint64_t)entry->offset,
         OUT_OF_RANGE, "Read less bytes than requested: '%.*s' lies outside the file %.*s", STR_ARGS(name),
         STR_ARGS(text_str(file)));
    if (at->dtype == DT_string || at->dtype == DT_variant) {
        NEED(shape_count(&at->shape) <= entry->size, DATA_LOSS, "'%.*s' has fewer elements than its shape %s says",
             STR_ARGS(name), shape_text(&at->shape));
        return OK;
    }
    NEED(dtype_is_plain(at->dtype), UNIMPLEMENTED, "'%.*s' is of type %s, which is not read", STR_ARGS(name),
         dtype_name(at->dtype));
    TRY(shape_bytes(&at->shape, at->dtype, &bytes));
    NEED((uint64_t)entry->size == bytes, DATA_LOSS, "'%.*s' takes %lld bytes in the checkpoint, but %s%s takes %zu",
         STR_ARGS(name), (long long)entry->size, dtype_name(at->dtype), shape_text(&at->shape), bytes);
    return OK;
}

static Status *read_entry(BundleReader *reader, Str name, const BundleEntry *at, Tensor *out) {
    AUTO(text) Text file = {0};
    TRY(open_entry(reader, name, at, &file));
    return dtype_is_plain(at->dtype) ? read_plain(reader, at, name, text_str(&file), out)
                                     : read_parsed(reader, at, name, text_str(&file), out);
}

// ---- slices

static Status *find_slice(BundleReader *reader, Str name, const BundleEntry *whole, const Slice *stored,
                          BundleEntry *out) {
    AUTO(text) Text key = {0};
    slice_key(name, stored, &key);
    NEED_MEMORY(!key.failed);
    BundleEntry part;
    Shape shape;
    TRY(find(reader, text_str(&key), name, &part));
    TRY(slice_shape(stored, &whole->shape, &shape));
    NEED(part.dtype == whole->dtype && shape_equal(&part.shape, &shape), DATA_LOSS,
         "a slice of '%.*s' is %s%s, expected %s%s", STR_ARGS(name), dtype_name(part.dtype), shape_text(&part.shape),
         dtype_name(whole->dtype), shape_text(&shape));
    *out = part;
    return OK;
}

static bool meet(const Slice *a, const Slice *b) {
    for (int i = 0; i < a->rank; i++)
        if (a->start[i] >= b->start[i] + b->length[i] || b->start[i] >= a->start[i] + a->length[i])
            return false;
    return true;
}

// How many of the wanted elements slice i of the entry has; where it lies.
static Status *meeting(const BundleEntry *whole, size_t i, const Slice *wanted, Slice *stored, Slice *at,
                       int64_t *out_count) {
    TRY(bundle_slice_of(&whole->entry->slices.p[i], stored));
    TRY(slice_resolve(stored, &whole->shape, at));
    *out_count = meet(at, wanted) ? 1 : 0;
    for (int d = 0; d < at->rank && *out_count; d++) {
        int64_t first = at->start[d] > wanted->start[d] ? at->start[d] : wanted->start[d];
        int64_t end = at->start[d] + at->length[d], wanted_end = wanted->start[d] + wanted->length[d];
        *out_count *= (end < wanted_end ? end : wanted_end) - first;  // within the wanted shape, whose count fits
    }
    return OK;
}

// What is not there takes no memory: the slices are counted first.
static Status *check_slices(BundleReader *reader, Str name, const BundleEntry *whole, const Slice *wanted,
                            int64_t wanted_count) {
    int64_t found = 0, count;
    Slice stored, at;
    BundleEntry part;
    for (size_t i = 0; i < whole->entry->slices.n; i++) {
        AUTO(text) Text file = {0};
        TRY(meeting(whole, i, wanted, &stored, &at, &count));
        if (!count)
            continue;
        TRY(find_slice(reader, name, whole, &stored, &part));
        TRY(open_entry(reader, name, &part, &file));
        NEED(add_i64(found, count, &found) && found <= wanted_count, DATA_LOSS, "the slices of '%.*s' overlap",
             STR_ARGS(name));
    }
    NEED(found == wanted_count, INVALID_ARGUMENT,
         "Does not have sufficient slices for partitioned tensor %.*s to restore a slice of it", STR_ARGS(name));
    return OK;
}

// Puts the wanted part together of the slices that were stored.
static Status *assemble(BundleReader *reader, Str name, const BundleEntry *whole, const Slice *wanted, Tensor *out) {
    Shape shape;
    int64_t count;
    BundleEntry entry;
    AUTO(tensor) Tensor result = {0};
    TRY(slice_shape(wanted, &whole->shape, &shape));
    TRY(check_slices(reader, name, whole, wanted, shape_count(&shape)));
    TRY(tensor_new(whole->dtype, shape, &result));
    for (size_t i = 0; i < whole->entry->slices.n; i++) {
        Slice stored, at;
        TRY(meeting(whole, i, wanted, &stored, &at, &count));
        if (!count)
            continue;
        AUTO(tensor) Tensor part = {0};
        TRY(find_slice(reader, name, whole, &stored, &entry));
        TRY(read_entry(reader, name, &entry, &part));
        TRY(slice_copy(&at, &part, wanted, &result, &count));
    }
    *out = tensor_retain(&result);
    return OK;
}

Status *bundle_read(BundleReader *reader, Str name, const BundleEntry *entry, const Slice *slice, Tensor *out) {
    Slice whole = slice_whole(entry->shape.rank), wanted;
    TRY(slice_resolve(slice ? slice : &whole, &entry->shape, &wanted));
    if (entry->entry->slices.n)
        return assemble(reader, name, entry, &wanted, out);
    if (!slice)
        return read_entry(reader, name, entry, out);
    AUTO(tensor) Tensor all = {0};
    AUTO(tensor) Tensor part = {0};
    Shape shape;
    int64_t count;
    TRY(read_entry(reader, name, entry, &all));
    TRY(slice_shape(slice, &entry->shape, &shape));
    TRY(tensor_new(entry->dtype, shape, &part));
    TRY(slice_resolve(&whole, &entry->shape, &whole));
    TRY(slice_copy(&whole, &all, &wanted, &part, &count));
    *out = tensor_retain(&part);
    return OK;
}

// Reads all that is there, as a saver does before it relies on a checkpoint.
Status *bundle_verify(Str prefix) {
    AUTO(BundleReader) BundleReader reader = {0};
    TRY(bundle_open(prefix, &reader));
    for (size_t i = 0; i < reader.table.entries.n; i++) {
        Str key = reader.table.entries.p[i].key;
        BundleEntry entry;
        AUTO(tensor) Tensor tensor = {0};
        if (!key.n)
            continue;
        TRY(bundle_find(&reader, key, &entry));
        if (!entry.entry->slices.n)  // the slices stand under keys of their own
            TRY(bundle_read(&reader, key, &entry, NULL, &tensor));
    }
    return OK;
}
