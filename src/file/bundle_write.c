// Bundle writer — see bundle.h: data first, the index last; a checkpoint is there when its index is.
//
// The index is renamed into place, so a crash leaves the old checkpoint or the new one, never half of each. Data files
// are written under names that no present index speaks of (shards_beside).
#include <stdlib.h>

#include "file/bundle.h"
#include "file/bundle_variant.h"
#include "file/crc32c.h"
#include "proto/tensor_proto.h"

// ---- the index

// Tables are sorted by bytes, the header's empty key first.
static int by_key(const void *a, const void *b) {
    const BundleItem *x = a, *y = b;
    return str_compare(x->key, y->key);
}

static Status *encode_items(const BundleItem *items, size_t n, int32_t n_shards, Arena *arena, TableEntry *out) {
    AUTO(text) Text text = {0};
    VersionDef version = {.producer = 1};
    BundleHeaderProto header = {.num_shards = n_shards, .version = &version};
    TRY(PROTO_ENCODE(BundleHeaderProto, &header, &text));
    out[0] = (TableEntry){STR(""), str_copy(arena, text_str(&text))};
    NEED_MEMORY(out[0].value.p);
    for (size_t i = 0; i < n; i++) {
        text.n = 0;
        TRY(PROTO_ENCODE(BundleEntryProto, &items[i].entry, &text));
        out[i + 1] = (TableEntry){items[i].key, str_copy(arena, text_str(&text))};
        NEED_MEMORY(out[i + 1].value.p);
    }
    return OK;
}

// Sorts the items.
FALLIBLE static Status *bundle_write_index(Str prefix, BundleItem *items, size_t n, int32_t n_shards) {
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text name = {0};
    AUTO(DiskWriter) DiskWriter writer = DISK_WRITER_NONE;
    TableEntry *entries = ARENA_ARRAY(&arena, TableEntry, n + 1);
    text_add(&name, prefix);
    text_add(&name, STR(".index"));
    NEED_MEMORY(entries && !name.failed);
    if (n)
        qsort(items, n, sizeof *items, by_key);
    TRY(encode_items(items, n, n_shards, &arena, entries));
    TRY(disk_writer_open(&writer, text_str(&name)));
    TRY(table_write(&writer, entries, n + 1));
    return disk_writer_commit(&writer);
}

// ---- in the place of another

// Over how many files the checkpoint under that name is spread; 0 where there is none that can be read.
static int32_t shards_there(Str prefix) {
    BundleReader reader;
    Status *status = bundle_open(prefix, &reader);
    int32_t n = status ? 0 : reader.n_shards;
    if (!status)
        bundle_close(&reader);
    status_free(status);
    return n;
}

// Data files carry their number and how many there are. Where the checkpoint that is to be replaced has as many, the new
// one has one more, an empty one: so its files have names of their own, and the old index speaks of the old data until
// the new index takes its place, in one rename.
static int32_t shards_beside(int32_t wanted, int32_t replaced) {
    return wanted == replaced ? wanted + 1 : wanted;
}

static Status *write_empty_shard(Str prefix, int32_t shard, int32_t n_shards) {
    AUTO(text) Text name = {0};
    AUTO(DiskWriter) DiskWriter writer = DISK_WRITER_NONE;
    bundle_data_name(prefix, shard, n_shards, &name);
    NEED_MEMORY(!name.failed);
    TRY(disk_writer_open(&writer, text_str(&name)));
    return disk_writer_commit(&writer);
}

static void remove_shards(Str prefix, int32_t n_shards) {
    for (int32_t i = 0; i < n_shards; i++) {
        AUTO(text) Text name = {0};
        bundle_data_name(prefix, i, n_shards, &name);
        if (!name.failed)
            disk_remove(text_str(&name));
    }
}

// ---- writing

Status *bundle_writer_open(Str prefix, BundleWriter *out) {
    *out = (BundleWriter){.data = DISK_WRITER_NONE};
    AUTO(text) Text name = {0};
    text_add(&out->prefix, prefix);
    out->replaced = shards_there(prefix);
    out->n_shards = shards_beside(1, out->replaced);
    bundle_data_name(prefix, 0, out->n_shards, &name);
    Status *status = out->prefix.failed || name.failed
                         ? OUT_OF_MEMORY
                         : disk_writer_open(&out->data, text_str(&name));
    if (status)
        bundle_writer_drop(out);
    return status;
}

void bundle_writer_drop(BundleWriter *writer) {
    disk_writer_drop(&writer->data);
    text_clear(&writer->prefix);
    vec_clear(&writer->items);
    map_clear(&writer->places);
    arena_clear(&writer->arena);
    *writer = (BundleWriter){.data = DISK_WRITER_NONE};
}

static BundleItem *item_of(BundleWriter *writer, Str key) {
    uintptr_t place = (uintptr_t)map_find(&writer->places, key);
    return place ? &writer->items.p[place - 1] : NULL;
}

// The item's key lives as long as the writer.
static Status *add_item(BundleWriter *writer, BundleItem item) {
    NEED_MEMORY(vec_push(&writer->items, item));
    NEED_MEMORY(map_set(&writer->places, item.key, (void *)(uintptr_t)writer->items.n));
    return OK;
}

static void add_varint(Text *text, uint64_t value) {
    for (; value >= 128; value >>= 7)
        text_char(text, (char)(value | 128));
    text_char(text, (char)value);
}

// The lengths have a checksum of their own: TensorFlow wants them before it allocates.
static Status *write_strings(DiskWriter *data, const Tensor *tensor, uint32_t *out_crc) {
    AUTO(text) Text lengths = {0};
    const TString *strings = tensor->data;
    uint32_t crc = 0;
    for (int64_t i = 0, n = tensor_count(tensor); i < n; i++) {
        uint64_t length = tstring_str(&strings[i]).n;
        uint32_t narrow = (uint32_t)length;
        // As TensorFlow does: lengths beyond 32 bits came later, and the sums of older files stay valid.
        crc = length <= UINT32_MAX ? crc32c(crc, &narrow, 4) : crc32c(crc, &length, 8);
        add_varint(&lengths, length);
    }
    uint32_t sum = crc32c_mask(crc);
    text_add(&lengths, (Str){(const char *)&sum, 4});
    NEED_MEMORY(!lengths.failed);
    TRY(disk_write(data, lengths.p, lengths.n));
    crc = crc32c(crc, &sum, 4);
    for (int64_t i = 0, n = tensor_count(tensor); i < n; i++) {
        Str s = tstring_str(&strings[i]);
        TRY(disk_write(data, s.p, s.n));
        crc = crc32c(crc, s.p, s.n);
    }
    *out_crc = crc;
    return OK;
}

static Status *write_variants(DiskWriter *data, const Tensor *tensor, uint32_t *out_crc) {
    AUTO(text) Text bytes = {0};
    TRY(bundle_variant_write(tensor, &bytes, out_crc));
    return bytes.n ? disk_write(data, bytes.p, bytes.n) : OK;
}

// Writes the tensor behind the others and adds its entry; `key` is copied.
static Status *add(BundleWriter *writer, Str key, const Tensor *tensor) {
    NEED(tensor->dtype == DT_string || tensor->dtype == DT_variant || dtype_is_plain(tensor->dtype), UNIMPLEMENTED,
         "a tensor of type %s can't be saved", dtype_name(tensor->dtype));
    BundleItem item = {.key = str_copy(&writer->arena, key)};
    NEED_MEMORY(item.key.p);
    item.entry.dtype = (int32_t)tensor->dtype;
    item.entry.offset = (int64_t)writer->data.written;
    TRY(shape_to_proto(&writer->arena, &tensor->shape, &item.entry.shape));
    uint32_t crc = 0;
    if (tensor->dtype == DT_string) {
        TRY(write_strings(&writer->data, tensor, &crc));
    } else if (tensor->dtype == DT_variant) {
        TRY(write_variants(&writer->data, tensor, &crc));
    } else {
        size_t bytes = tensor_bytes(tensor);
        if (bytes)
            TRY(disk_write(&writer->data, tensor->data, bytes));
        crc = crc32c(0, tensor->data, bytes);
    }
    item.entry.size = (int64_t)writer->data.written - item.entry.offset;
    item.entry.crc32c = crc32c_mask(crc);
    return add_item(writer, item);
}

Status *bundle_add(BundleWriter *writer, Str name, const Tensor *tensor) {
    NEED(name.n, INVALID_ARGUMENT, "a tensor in a checkpoint needs a name");
    NEED(!item_of(writer, name), INVALID_ARGUMENT, "Adding duplicate key: %.*s", STR_ARGS(name));
    return add(writer, name, tensor);
}

// The entry of a whole tensor that comes in slices.
static Status *whole_item(BundleWriter *writer, Str name, const Shape *whole, DType dtype, BundleItem **out) {
    BundleItem *item = item_of(writer, name);
    if (!item) {
        BundleItem fresh = {.key = str_copy(&writer->arena, name)};
        fresh.entry.dtype = (int32_t)dtype;
        NEED_MEMORY(fresh.key.p);
        TRY(shape_to_proto(&writer->arena, whole, &fresh.entry.shape));
        TRY(add_item(writer, fresh));
        item = &vec_last(&writer->items);
    } else {
        Shape shape;
        TRY(shape_from_proto(item->entry.shape, &shape));
        NEED(item->entry.slices.n && item->entry.dtype == (int32_t)dtype && shape_equal(&shape, whole),
             INVALID_ARGUMENT, "Adding duplicate key: %.*s", STR_ARGS(name));
    }
    *out = item;
    return OK;
}

static Status *add_slice_proto(Arena *arena, BundleEntryProto *entry, const Slice *slice) {
    size_t n = entry->slices.n;
    TensorSliceProto *slices = ARENA_ARRAY(arena, TensorSliceProto, n + 1);
    TensorSliceProto_Extent *extents = ARENA_ARRAY(arena, TensorSliceProto_Extent, slice->rank);
    NEED_MEMORY(slices && extents);
    if (n)
        memcpy(slices, entry->slices.p, n * sizeof *slices);
    for (int i = 0; i < slice->rank; i++) {
        extents[i].start = slice->start[i];
        if (slice->length[i] != SLICE_ALL) {
            extents[i].which = TensorSliceProto_Extent_length;
            extents[i].length = slice->length[i];
        }
    }
    slices[n].extent.p = extents;
    slices[n].extent.n = (size_t)slice->rank;
    entry->slices.p = slices;
    entry->slices.n = n + 1;
    return OK;
}

Status *bundle_add_slice(BundleWriter *writer, Str name, const Shape *whole, const Slice *slice, const Tensor *tensor) {
    Shape shape;
    BundleItem *item;
    AUTO(text) Text key = {0};
    NEED(name.n, INVALID_ARGUMENT, "a tensor in a checkpoint needs a name");
    TRY(slice_shape(slice, whole, &shape));
    NEED(shape_equal(&shape, &tensor->shape), INVALID_ARGUMENT, "Slice of '%.*s' has shape %s, but its tensor %s",
         STR_ARGS(name), shape_text(&shape), shape_text(&tensor->shape));
    slice_key(name, slice, &key);
    NEED_MEMORY(!key.failed);
    NEED(!item_of(writer, text_str(&key)), INVALID_ARGUMENT, "a slice of %.*s is saved twice", STR_ARGS(name));
    TRY(whole_item(writer, name, whole, tensor->dtype, &item));
    TRY(add_slice_proto(&writer->arena, &item->entry, slice));
    return add(writer, text_str(&key), tensor);
}

static Status *commit(BundleWriter *writer) {
    Str prefix = text_str(&writer->prefix);
    for (int32_t i = 1; i < writer->n_shards; i++)
        TRY(write_empty_shard(prefix, i, writer->n_shards));
    TRY(disk_writer_commit(&writer->data));
    return bundle_write_index(prefix, writer->items.p, writer->items.n, writer->n_shards);
}

// A failure behind the index's rename leaves both data: nobody knows which index a crash would leave.
Status *bundle_commit(BundleWriter *writer) {
    Status *status = commit(writer);
    Str prefix = text_str(&writer->prefix);
    if (!status)
        remove_shards(prefix, writer->replaced);
    else if (shards_there(prefix) != writer->n_shards)
        remove_shards(prefix, writer->n_shards);
    bundle_writer_drop(writer);
    return status;
}

// ---- merging

typedef struct {
    VEC(BundleItem) items;
    VEC(int32_t) shards;     // of each prefix that is there
    VEC(size_t) sources;     // which prefix that is
    Arena arena;
    int32_t n_shards;
    int32_t replaced, n_files;  // shards of the checkpoint at the destination; shards with the empty one, if there is one
} Merge;

static void merge_clear(Merge *merge) {
    vec_clear(&merge->items);
    vec_clear(&merge->shards);
    vec_clear(&merge->sources);
    arena_clear(&merge->arena);
}

// Two entries of one name are one variable in slices, which both know.
static Status *unite(Merge *merge, BundleItem *into, const BundleEntryProto *entry) {
    Shape a, b;
    TRY(shape_from_proto(into->entry.shape, &a));
    TRY(shape_from_proto(entry->shape, &b));
    NEED(into->entry.slices.n && entry->slices.n && into->entry.dtype == entry->dtype && shape_equal(&a, &b),
         INVALID_ARGUMENT, "Duplicate tensor keyed by %.*s encountered, when merging checkpoints", STR_ARGS(into->key));
    for (size_t i = 0; i < entry->slices.n; i++) {
        Slice slice;
        TRY(bundle_slice_of(&entry->slices.p[i], &slice));
        TRY(add_slice_proto(&merge->arena, &into->entry, &slice));
    }
    return OK;
}

static Status *take_entries(Merge *merge, const BundleReader *reader) {
    for (size_t i = 0; i < reader->table.entries.n; i++) {
        const TableEntry *from = &reader->table.entries.p[i];
        if (!from->key.n)
            continue;
        BundleItem item = {.key = str_copy(&merge->arena, from->key)};
        Str value = str_copy(&merge->arena, from->value);
        NEED_MEMORY(item.key.p && value.p);
        BundleEntryProto *entry;
        TRY(PROTO_DECODE(BundleEntryProto, &merge->arena, value, &entry));
        item.entry = *entry;
        if (!entry->slices.n)
            item.entry.shard_id += merge->n_shards;
        NEED_MEMORY(vec_push(&merge->items, item));
    }
    return OK;
}

// Equal keys lie side by side once sorted.
static Status *unite_equal(Merge *merge) {
    size_t n = 0;
    if (merge->items.n)
        qsort(merge->items.p, merge->items.n, sizeof *merge->items.p, by_key);
    for (size_t i = 0; i < merge->items.n; i++) {
        if (n && str_equal(merge->items.p[n - 1].key, merge->items.p[i].key))
            TRY(unite(merge, &merge->items.p[n - 1], &merge->items.p[i].entry));
        else
            merge->items.p[n++] = merge->items.p[i];
    }
    merge->items.n = n;
    return OK;
}

static Status *take_all(Merge *merge, const Str *prefixes, size_t n, bool missing_ok) {
    bool swapped = false;
    for (size_t i = 0; i < n; i++) {
        AUTO(BundleReader) BundleReader reader = {0};
        Status *status = bundle_open(prefixes[i], &reader);
        if (missing_ok && status_code(status) == NOT_FOUND) {
            status_free(status);
            continue;
        }
        TRY(status);
        NEED(!merge->shards.n || swapped == reader.swapped, INVALID_ARGUMENT,
             "checkpoints of different byte orders can't be merged");
        swapped = reader.swapped;
        NEED(!swapped, UNIMPLEMENTED, "checkpoints of the other byte order are not merged");
        NEED_MEMORY(vec_push(&merge->shards, reader.n_shards) && vec_push(&merge->sources, i));
        TRY(take_entries(merge, &reader));
        merge->n_shards += reader.n_shards;
    }
    NEED(merge->shards.n, NOT_FOUND, "there is no checkpoint to merge");
    return unite_equal(merge);
}

static Status *rename_shards(const Merge *merge, const Str *prefixes, Str destination) {
    int32_t to = 0;
    for (size_t i = 0; i < merge->shards.n; i++) {
        for (int32_t shard = 0; shard < merge->shards.p[i]; shard++) {
            AUTO(text) Text from_name = {0};
            AUTO(text) Text to_name = {0};
            bundle_data_name(prefixes[merge->sources.p[i]], shard, merge->shards.p[i], &from_name);
            bundle_data_name(destination, to++, merge->n_files, &to_name);
            NEED_MEMORY(!from_name.failed && !to_name.failed);
            TRY(disk_rename(text_str(&from_name), text_str(&to_name)));
        }
    }
    return OK;
}

// Parts that several workers wrote become one checkpoint: shards are renamed, entries renumbered, no data is copied.
static Status *merge_all(Merge *merge, const Str *prefixes, size_t n, Str destination, bool missing_ok) {
    bool is_source = false;
    TRY(take_all(merge, prefixes, n, missing_ok));
    TRY(disk_make_parents(destination));
    for (size_t i = 0; i < merge->sources.n; i++)
        is_source |= str_equal(prefixes[merge->sources.p[i]], destination);
    merge->replaced = is_source ? 0 : shards_there(destination);
    merge->n_files = shards_beside(merge->n_shards, merge->replaced);
    TRY(rename_shards(merge, prefixes, destination));
    if (merge->n_files > merge->n_shards)
        TRY(write_empty_shard(destination, merge->n_shards, merge->n_files));
    TRY(bundle_write_index(destination, merge->items.p, merge->items.n, merge->n_files));
    remove_shards(destination, merge->replaced);
    for (size_t i = 0; i < merge->sources.n; i++) {
        AUTO(text) Text name = {0};
        Str prefix = prefixes[merge->sources.p[i]];
        text_add(&name, prefix);
        text_add(&name, STR(".index"));
        if (!name.failed && !str_equal(prefix, destination))
            disk_remove(text_str(&name));
    }
    return OK;
}

Status *bundle_merge(const Str *prefixes, size_t n, Str destination, bool missing_ok) {
    Merge merge = {0};
    Status *status = merge_all(&merge, prefixes, n, destination, missing_ok);
    merge_clear(&merge);
    return status;
}
