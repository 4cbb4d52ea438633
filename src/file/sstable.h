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

// `entries` in byte order of their keys, each key once.
FALLIBLE Status *table_write(DiskWriter *writer, const TableEntry *entries, size_t n);
