// SSTable — sorted keys and values in one file: blocks of entries, an index of blocks, a footer. LevelDB's format, as
// TensorFlow writes it: no filters; blocks plain or snappy, each with a checksum.
#pragma once
#include "base/arena.h"
#include "base/vec.h"
#include "file/disk.h"

typedef struct {
    Str key, value;
} TableEntry;

// All entries in the order of the file. They lie in the arena.
typedef struct {
    VEC(TableEntry) entries;
    Arena arena;
} Table;

// DATA_LOSS: no table, a wrong checksum, keys out of order. `what` names the file in messages.
FALLIBLE Status *table_read(Str bytes, Str what, Table *out);
void table_clear(Table *table);
const TableEntry *table_find(const Table *table, Str key);  // NULL where it is not

// A table on disk of which only the index of its blocks is read at once: for values that are large.
typedef struct {
    Text path;
    int fd;
    uint64_t size;
    Table index;          // a key not below the last of each block, and where the block lies
} TableFile;

#define TABLE_FILE_NONE {.fd = -1}
// NOT_FOUND ..., DATA_LOSS: no table.
FALLIBLE Status *table_file_open(Str path, TableFile *out);
void table_file_close(TableFile *file);
static inline void TableFile_auto(TableFile *file) {
    table_file_close(file);
}
// The value of the key, in the arena; `*out_found` is false where there is none.
FALLIBLE Status *table_file_find(const TableFile *file, Str key, Arena *arena, Str *out, bool *out_found);

// `entries` in byte order of their keys, each key once.
FALLIBLE Status *table_write(DiskWriter *writer, const TableEntry *entries, size_t n);
