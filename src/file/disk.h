// Disk — whole files read, and files written so that a crash leaves the old one or the new one, never a mixture.
//
// A path is bytes without NUL; "file://" in front is dropped. Errors carry the path and the reason of the system.
#pragma once
#include "base/str.h"
#include "base/vec.h"

// The whole file, appended. NOT_FOUND, PERMISSION_DENIED ..., RESOURCE_EXHAUSTED.
FALLIBLE Status *disk_read(Str path, Text *out);
bool disk_exists(Str path);
// Makes the directory that will hold `path`, and those above it.
FALLIBLE Status *disk_make_parents(Str path);
// Moves a file within a file system and makes the move last.
FALLIBLE Status *disk_rename(Str from, Str to);
// Nothing happens where there is no such file or directory; a directory must be empty.
void disk_remove(Str path);
void disk_remove_directory(Str path);
Str disk_parent(Str path);  // "" where there is none

typedef struct {
    VEC(char *) paths;  // each from malloc
} DiskPaths;
// Appends the paths that match a shell pattern, in byte order.
FALLIBLE Status *disk_match(Str pattern, DiskPaths *out);
void disk_paths_clear(DiskPaths *paths);

// A file to read at places. Closed by disk_close.
FALLIBLE Status *disk_open(Str path, int *out_fd, uint64_t *out_size);
FALLIBLE Status *disk_read_at(int fd, uint64_t offset, void *out, size_t n, Str path);
// Some of the next bytes, at most n; none only at the end.
FALLIBLE Status *disk_read_some(int fd, void *out, size_t n, Str path, size_t *out_got);
void disk_close(int fd);

// A file that grows: made here, ALREADY_EXISTS where it is there, then written to its end. Closed by disk_close.
FALLIBLE Status *disk_create(Str path, int *out_fd);
FALLIBLE Status *disk_append(int fd, Str bytes, Str path);

// A file under a name of its own beside the final one, until it is committed.
typedef struct {
    Text path, temporary;
    Text pending;      // small writes, gathered
    uint64_t written;  // bytes so far
    int fd;            // -1: closed
} DiskWriter;

#define DISK_WRITER_NONE {.fd = -1}
FALLIBLE Status *disk_writer_open(DiskWriter *writer, Str path);
FALLIBLE Status *disk_write(DiskWriter *writer, const void *bytes, size_t n);
// Everything on the disk, under the final name. On failure the old file is as it was, and the writer is done.
FALLIBLE Status *disk_writer_commit(DiskWriter *writer);
void disk_writer_drop(DiskWriter *writer);  // removes what was not committed
static inline void DiskWriter_auto(DiskWriter *writer) {
    disk_writer_drop(writer);
}
