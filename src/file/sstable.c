// Table — see sstable.h: LevelDB's sorted tables, as the index of a checkpoint is one: blocks of entries that share
// prefixes with the one before, a block of blocks, a footer.
#include "file/sstable.h"

#include "base/cursor.h"
#include "file/crc32c.h"
#include "file/snappy.h"

#define MAGIC UINT64_C(0xdb4775248b80fb57)
enum {
    FOOTER = 48,
    TRAILER = 5,               // type and checksum behind each block
    RESTART_EVERY = 16,        // entries that share prefixes with the one before
    BLOCK_BYTES = 256 << 10,
    MOST_BLOCK = 1 << 30,      // of a compressed block, decoded
};

typedef struct {
    uint64_t offset, size;
} BlockHandle;

// ---- reading

static bool read_handle(Cursor *c, BlockHandle *out) {
    return cursor_varint(c, &out->offset) && cursor_varint(c, &out->size);
}

// The entries' part of a block, checked; `decoded` holds it where it was compressed.
static Status *read_block(Str file, Str what, BlockHandle at, Text *decoded, Str *out) {
    NEED(at.offset <= file.n && at.size <= file.n - at.offset && file.n - at.offset - at.size >= TRAILER, DATA_LOSS,
         "%.*s: a block lies outside the file", STR_ARGS(what));
    const char *block = file.p + at.offset;
    Cursor trailer = cursor_of(block + at.size + 1, 4);
    uint32_t stored = 0;
    bool there = cursor_fixed32(&trailer, &stored);
    NEED(there && crc32c_mask(crc32c(0, block, (size_t)at.size + 1)) == stored, DATA_LOSS,
         "%.*s: block checksum mismatch", STR_ARGS(what));
    Str bytes = {block, (size_t)at.size};
    if (block[at.size] == 1) {
        TRY(snappy_decode(bytes, MOST_BLOCK, decoded));
        bytes = text_str(decoded);
    } else {
        NEED(block[at.size] == 0, DATA_LOSS, "%.*s: bad block type", STR_ARGS(what));
    }
    NEED(bytes.n >= 4, DATA_LOSS, "%.*s: a block is too short", STR_ARGS(what));
    Cursor end = cursor_of(bytes.p + bytes.n - 4, 4);
    uint32_t restarts = 0;
    there = cursor_fixed32(&end, &restarts);
    NEED(there && restarts <= (bytes.n - 4) / 4, DATA_LOSS, "%.*s: a block's restarts lie outside it", STR_ARGS(what));
    *out = (Str){bytes.p, bytes.n - 4 - (size_t)restarts * 4};
    return OK;
}

// The next entry; `key` holds the whole key of the one before, then of this one.
static Status *next_entry(Cursor *c, Str what, Text *key, Str *value) {
    uint64_t shared, own, length;
    Str suffix;
    NEED(cursor_varint(c, &shared) && cursor_varint(c, &own) && cursor_varint(c, &length) && shared <= key->n &&
             own <= cursor_left(c) && cursor_bytes(c, (size_t)own, &suffix) && length <= cursor_left(c) &&
             cursor_bytes(c, (size_t)length, value),
         DATA_LOSS, "%.*s: bad entry in block", STR_ARGS(what));
    key->n = (size_t)shared;
    text_add(key, suffix);
    NEED_MEMORY(!key->failed);
    return OK;
}

static Status *read_entries(Str file, Str what, BlockHandle at, Table *out) {
    AUTO(text) Text decoded = {0};
    AUTO(text) Text key = {0};
    Str bytes, value;
    TRY(read_block(file, what, at, &decoded, &bytes));
    Cursor c = cursor_of(bytes.p, bytes.n);
    while (cursor_left(&c)) {
        TRY(next_entry(&c, what, &key, &value));
        NEED(!out->entries.n || str_compare(vec_last(&out->entries).key, text_str(&key)) < 0, DATA_LOSS,
             "%.*s: keys are out of order", STR_ARGS(what));
        TableEntry entry = {str_copy(&out->arena, text_str(&key)), str_copy(&out->arena, value)};
        NEED_MEMORY(entry.key.p && entry.value.p && vec_push(&out->entries, entry));
    }
    return OK;
}

static Status *read_all(Str file, Str what, Table *out) {
    NEED(file.n >= FOOTER, DATA_LOSS, "%.*s: file is too short to be an sstable", STR_ARGS(what));
    Cursor magic = cursor_of(file.p + file.n - 8, 8), footer = cursor_of(file.p + file.n - FOOTER, FOOTER - 8);
    uint64_t found = 0;
    bool there = cursor_fixed64(&magic, &found);
    NEED(there && found == MAGIC, DATA_LOSS, "%.*s: not an sstable (bad magic number)", STR_ARGS(what));
    BlockHandle meta, index, block;
    NEED(read_handle(&footer, &meta) && read_handle(&footer, &index), DATA_LOSS, "%.*s: bad block handle",
         STR_ARGS(what));
    AUTO(text) Text decoded = {0};
    AUTO(text) Text key = {0};
    Str bytes, value;
    TRY(read_block(file, what, index, &decoded, &bytes));
    Cursor c = cursor_of(bytes.p, bytes.n);
    while (cursor_left(&c)) {
        TRY(next_entry(&c, what, &key, &value));
        Cursor handle = cursor_of(value.p, value.n);
        NEED(read_handle(&handle, &block), DATA_LOSS, "%.*s: bad block handle", STR_ARGS(what));
        TRY(read_entries(file, what, block, out));
    }
    return OK;
}

Status *table_read(Str bytes, Str what, Table *out) {
    Table table = {0};
    Status *status = read_all(bytes, what, &table);
    if (status)
        table_clear(&table);
    else
        *out = table;
    return status;
}

void table_clear(Table *table) {
    vec_clear(&table->entries);
    arena_clear(&table->arena);
}

const TableEntry *table_find(const Table *table, Str key) {
    size_t low = 0, high = table->entries.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_compare(table->entries.p[middle].key, key);
        if (order == 0)
            return &table->entries.p[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

// ---- reading block by block

// The block at `at` as a file of its own.
static Status *load_block(const TableFile *file, BlockHandle at, Text *raw, Text *decoded, Str *out) {
    Str path = text_str(&file->path);
    NEED(at.offset <= file->size && at.size <= file->size - at.offset && file->size - at.offset - at.size >= TRAILER,
         DATA_LOSS, "%.*s: a block lies outside the file", STR_ARGS(path));
    size_t bytes = (size_t)at.size + TRAILER;
    NEED_MEMORY(text_reserve(raw, bytes));
    TRY(disk_read_at(file->fd, at.offset, raw->p, bytes, path));
    return read_block((Str){raw->p, bytes}, path, (BlockHandle){0, at.size}, decoded, out);
}

static Status *load_index(TableFile *file) {
    Str path = text_str(&file->path);
    char footer[FOOTER];
    NEED(file->size >= FOOTER, DATA_LOSS, "%.*s: file is too short to be an sstable", STR_ARGS(path));
    TRY(disk_read_at(file->fd, file->size - FOOTER, footer, FOOTER, path));
    Cursor magic = cursor_of(footer + FOOTER - 8, 8), c = cursor_of(footer, FOOTER - 8);
    uint64_t found = 0;
    bool there = cursor_fixed64(&magic, &found);
    NEED(there && found == MAGIC, DATA_LOSS, "%.*s: not an sstable (bad magic number)", STR_ARGS(path));
    BlockHandle meta, index;
    NEED(read_handle(&c, &meta) && read_handle(&c, &index), DATA_LOSS, "%.*s: bad block handle", STR_ARGS(path));
    AUTO(text) Text raw = {0}, decoded = {0}, key = {0};
    Str bytes, value;
    TRY(load_block(file, index, &raw, &decoded, &bytes));
    c = cursor_of(bytes.p, bytes.n);
    while (cursor_left(&c)) {
        TRY(next_entry(&c, path, &key, &value));
        TableEntry entry = {str_copy(&file->index.arena, text_str(&key)), str_copy(&file->index.arena, value)};
        NEED_MEMORY(entry.key.p && entry.value.p && vec_push(&file->index.entries, entry));
    }
    return OK;
}

Status *table_file_open(Str path, TableFile *out) {
    *out = (TableFile)TABLE_FILE_NONE;
    text_add(&out->path, path);
    Status *status = out->path.failed ? OUT_OF_MEMORY : disk_open(path, &out->fd, &out->size);
    if (!status)
        status = load_index(out);
    if (status)
        table_file_close(out);
    return status;
}

void table_file_close(TableFile *file) {
    disk_close(file->fd);
    text_clear(&file->path);
    table_clear(&file->index);
    *file = (TableFile)TABLE_FILE_NONE;
}

Status *table_file_find(const TableFile *file, Str key, Arena *arena, Str *out, bool *out_found) {
    Str path = text_str(&file->path), bytes, value;
    size_t at = 0;
    *out_found = false;
    while (at < file->index.entries.n && str_compare(file->index.entries.p[at].key, key) < 0)
        at++;
    if (at == file->index.entries.n)
        return OK;
    BlockHandle block;
    Cursor handle = cursor_of(file->index.entries.p[at].value.p, file->index.entries.p[at].value.n);
    NEED(read_handle(&handle, &block), DATA_LOSS, "%.*s: bad block handle", STR_ARGS(path));
    AUTO(text) Text raw = {0}, decoded = {0}, name = {0};
    TRY(load_block(file, block, &raw, &decoded, &bytes));
    Cursor c = cursor_of(bytes.p, bytes.n);
    while (cursor_left(&c) && !*out_found) {
        TRY(next_entry(&c, path, &name, &value));
        if (!str_equal(text_str(&name), key))
            continue;
        Str copy = str_copy(arena, value);
        NEED_MEMORY(copy.p);
        *out = copy;
        *out_found = true;
    }
    return OK;
}

// ---- writing

typedef struct {
    Text bytes;
    VEC(uint32_t) restarts;
    Str last;       // key before
    int since;      // entries since the last restart
    int every;
} BlockBuilder;

static void add_varint(Text *text, uint64_t value) {
    for (; value >= 128; value >>= 7)
        text_char(text, (char)(value | 128));
    text_char(text, (char)value);
}

static void add_fixed32(Text *text, uint32_t value) {
    for (int i = 0; i < 4; i++)
        text_char(text, (char)(value >> (8 * i)));
}

static Status *block_add(BlockBuilder *block, Str key, Str value) {
    size_t shared = 0;
    if (block->since == 0) {
        NEED_MEMORY(vec_push(&block->restarts, (uint32_t)block->bytes.n));
    } else {
        while (shared < key.n && shared < block->last.n && key.p[shared] == block->last.p[shared])
            shared++;
    }
    block->since = (block->since + 1) % block->every;
    add_varint(&block->bytes, shared);
    add_varint(&block->bytes, key.n - shared);
    add_varint(&block->bytes, value.n);
    text_add(&block->bytes, (Str){key.p + shared, key.n - shared});
    text_add(&block->bytes, value);
    block->last = key;
    NEED_MEMORY(!block->bytes.failed);
    return OK;
}

// Writes the block and empties the builder.
static Status *block_end(BlockBuilder *block, DiskWriter *writer, BlockHandle *out) {
    if (!block->restarts.n)
        NEED_MEMORY(vec_push(&block->restarts, 0));
    for (size_t i = 0; i < block->restarts.n; i++)
        add_fixed32(&block->bytes, block->restarts.p[i]);
    add_fixed32(&block->bytes, (uint32_t)block->restarts.n);
    *out = (BlockHandle){writer->written, block->bytes.n};
    text_char(&block->bytes, 0);  // not compressed
    NEED_MEMORY(!block->bytes.failed);
    add_fixed32(&block->bytes, crc32c_mask(crc32c(0, block->bytes.p, block->bytes.n)));
    NEED_MEMORY(!block->bytes.failed);
    TRY(disk_write(writer, block->bytes.p, block->bytes.n));
    block->bytes.n = block->restarts.n = 0;
    block->since = 0;
    block->last = (Str){0};
    return OK;
}

static void add_handle(Text *text, BlockHandle handle) {
    add_varint(text, handle.offset);
    add_varint(text, handle.size);
}

// A short key that is not below `last` and below `next` (NULL: there is no next block).
static Status *separator(Arena *arena, Str last, const Str *next, Str *out) {
    size_t at = 0;
    while (next && at < last.n && at < next->n && last.p[at] == next->p[at])
        at++;
    while (!next && at < last.n && (unsigned char)last.p[at] == 0xff)
        at++;
    *out = last;
    bool shortens = at < last.n && (unsigned char)last.p[at] < 0xff &&
                    (!next || (at < next->n && (unsigned char)last.p[at] + 1 < (unsigned char)next->p[at]));
    if (!shortens)
        return OK;
    char *key = arena_copy(arena, last.p, at + 1);
    NEED_MEMORY(key);
    key[at]++;
    *out = (Str){key, at + 1};
    return OK;
}

// The index names each block by a key that separates it from the next.
static Status *end_block(BlockBuilder *data, BlockBuilder *index, DiskWriter *writer, Str key) {
    BlockHandle handle;
    AUTO(text) Text place = {0};
    TRY(block_end(data, writer, &handle));
    add_handle(&place, handle);
    NEED_MEMORY(!place.failed);
    return block_add(index, key, text_str(&place));
}

static Status *write_footer(BlockBuilder *empty, BlockBuilder *index, DiskWriter *writer) {
    BlockHandle meta, at;
    AUTO(text) Text footer = {0};
    TRY(block_end(empty, writer, &meta));
    TRY(block_end(index, writer, &at));
    add_handle(&footer, meta);
    add_handle(&footer, at);
    while (footer.n < FOOTER - 8 && !footer.failed)
        text_char(&footer, 0);
    add_fixed32(&footer, (uint32_t)MAGIC);
    add_fixed32(&footer, (uint32_t)(MAGIC >> 32));
    NEED_MEMORY(!footer.failed);
    return disk_write(writer, footer.p, footer.n);
}

static Status *write_blocks(BlockBuilder *data, BlockBuilder *index, DiskWriter *writer, const TableEntry *entries,
                            size_t n, Arena *arena) {
    for (size_t i = 0; i < n; i++) {
        NEED(i == 0 || str_compare(entries[i - 1].key, entries[i].key) < 0, INVALID_ARGUMENT,
             "key '%.*s' stands twice or out of order", STR_ARGS(entries[i].key));
        TRY(block_add(data, entries[i].key, entries[i].value));
        if (data->bytes.n < BLOCK_BYTES && i + 1 < n)
            continue;
        Str key;
        TRY(separator(arena, entries[i].key, i + 1 < n ? &entries[i + 1].key : NULL, &key));
        TRY(end_block(data, index, writer, key));
    }
    BlockBuilder empty = {.every = RESTART_EVERY};
    Status *status = write_footer(&empty, index, writer);
    text_clear(&empty.bytes);
    vec_clear(&empty.restarts);
    return status;
}

Status *table_write(DiskWriter *writer, const TableEntry *entries, size_t n) {
    BlockBuilder data = {.every = RESTART_EVERY}, index = {.every = 1};
    AUTO(arena) Arena arena = {0};
    Status *status = write_blocks(&data, &index, writer, entries, n, &arena);
    text_clear(&data.bytes);
    vec_clear(&data.restarts);
    text_clear(&index.bytes);
    vec_clear(&index.restarts);
    return status;
}
