// Disk — see disk.h: files opened, read and written with errors that name them.
//
// What is written appears whole or not at all: under another name, synced, then renamed.
#define _GNU_SOURCE
#include "file/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

enum { GATHERED = 1 << 18 };  // bytes of small writes kept before they are written

#define SYSTEM_ERROR(path) \
    status_new(code_from_errno(errno), __FILE__, __LINE__, "%.*s; %s", STR_ARGS(path), strerror(errno))

// The path with a NUL behind it.
static Status *native(Str path, Text *out) {
    if (str_starts(path, STR("file://")))
        path = (Str){path.p + 7, path.n - 7};
    NEED(path.n == 0 || !memchr(path.p, 0, path.n), INVALID_ARGUMENT, "a path has a NUL in it");
    text_add(out, path);
    text_char(out, 0);
    NEED_MEMORY(!out->failed);
    out->n--;
    return OK;
}

Str disk_parent(Str path) {
    while (path.n && path.p[path.n - 1] != '/')
        path.n--;
    while (path.n > 1 && path.p[path.n - 1] == '/')
        path.n--;
    return path;
}

// ---- reading

// A signal that comes while a network's file system looks for the file is none of the caller's business.
static int open_patiently(const char *name, int flags) {
    int fd;
    do
        fd = open(name, flags | O_CLOEXEC, 0666);
    while (fd < 0 && errno == EINTR);
    return fd;
}

Status *disk_open(Str path, int *out_fd, uint64_t *out_size) {
    AUTO(text) Text name = {0};
    TRY(native(path, &name));
    int fd = open_patiently(name.p, O_RDONLY);
    if (fd < 0)
        return SYSTEM_ERROR(path);
    struct stat info;
    Status *status = fstat(fd, &info) ? SYSTEM_ERROR(path) : OK;
    if (!status && S_ISDIR(info.st_mode))
        status = status_new(FAILED_PRECONDITION, __FILE__, __LINE__, "%.*s; Is a directory", STR_ARGS(path));
    if (status) {
        close(fd);
        return status;
    }
    *out_fd = fd;
    *out_size = (uint64_t)info.st_size;
    return OK;
}

void disk_close(int fd) {
    if (fd >= 0)
        close(fd);
}

Status *disk_read_at(int fd, uint64_t offset, void *out, size_t n, Str path) {
    char *to = out;
    while (n) {
        ssize_t got = pread(fd, to, n < (1u << 30) ? n : (1u << 30), (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return SYSTEM_ERROR(path);
        NEED(got > 0, OUT_OF_RANGE, "%.*s; the file ends at byte %llu", STR_ARGS(path), (unsigned long long)offset);
        to += got;
        offset += (uint64_t)got;
        n -= (size_t)got;
    }
    return OK;
}

Status *disk_read_some(int fd, void *out, size_t n, Str path, size_t *out_got) {
    ssize_t got;
    do {
        got = read(fd, out, n < (1u << 30) ? n : (1u << 30));
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return SYSTEM_ERROR(path);
    *out_got = (size_t)got;
    return OK;
}

// Special files have no size beforehand, so reading goes on until there is no more.
static Status *read_all(int fd, uint64_t size, Text *out, Str path) {
    size_t step = size < (1u << 30) ? (size_t)size + 1 : (size_t)1 << 30;
    for (;;) {
        NEED_MEMORY(text_reserve(out, step));
        size_t got;
        TRY(disk_read_some(fd, out->p + out->n, step, path, &got));
        if (got == 0)
            break;
        out->n += got;
        step = step < 4096 ? 4096 : step;
    }
    out->p[out->n] = 0;
    return OK;
}

Status *disk_read(Str path, Text *out) {
    int fd;
    uint64_t size;
    TRY(disk_open(path, &fd, &size));
    Status *status = read_all(fd, size, out, path);
    close(fd);
    return status;
}

bool disk_exists(Str path) {
    AUTO(text) Text name = {0};
    Status *status = native(path, &name);
    bool there = !status && access(name.p, F_OK) == 0;
    status_free(status);
    return there;
}

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

Status *disk_match(Str pattern, DiskPaths *out) {
    AUTO(text) Text name = {0};
    TRY(native(pattern, &name));
    glob_t found = {0};
    int result = glob(name.p, GLOB_NOSORT, NULL, &found);
    Status *status = OK;
    size_t first = out->paths.n;
    for (size_t i = 0; result == 0 && i < found.gl_pathc && !status; i++) {
        char *path = strdup(found.gl_pathv[i]);
        if (!path || !vec_push(&out->paths, path)) {
            free(path);
            status = OUT_OF_MEMORY;
        }
    }
    globfree(&found);
    TRY(status);
    NEED_MEMORY(result != GLOB_NOSPACE);
    if (out->paths.n > first)
        qsort(out->paths.p + first, out->paths.n - first, sizeof *out->paths.p, by_bytes);
    return OK;
}

void disk_paths_clear(DiskPaths *paths) {
    for (size_t i = 0; i < paths->paths.n; i++)
        free(paths->paths.p[i]);
    vec_clear(&paths->paths);
}

// ---- names

Status *disk_make_parents(Str path) {
    AUTO(text) Text name = {0};
    TRY(native(disk_parent(path), &name));
    for (size_t i = 1; i <= name.n; i++) {
        if (i < name.n && name.p[i] != '/')
            continue;
        char kept = name.p[i];
        name.p[i] = 0;
        int failed = mkdir(name.p, 0777);
        name.p[i] = kept;
        if (failed && errno != EEXIST && i == name.n)
            return SYSTEM_ERROR(path);
    }
    return OK;
}

static Status *sync_parent(Str path) {
    AUTO(text) Text name = {0};
    Str parent = disk_parent(path);
    TRY(native(parent.n ? parent : STR("."), &name));
    int fd = open_patiently(name.p, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return SYSTEM_ERROR(path);
    // Some file systems can't sync a directory: they say EINVAL, and order their renames by themselves.
    Status *status = fsync(fd) && errno != EINVAL && errno != ENOTSUP ? SYSTEM_ERROR(path) : OK;
    close(fd);
    return status;
}

// A rename puts a file in the place of whatever has the name, for root even of /dev/null.
static Status *check_not_device(const char *name) {
    struct stat info;
    NEED(lstat(name, &info) || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode) || S_ISLNK(info.st_mode),
         FAILED_PRECONDITION, "%s; is not a file, so no file takes its place", name);
    return OK;
}

Status *disk_rename(Str from, Str to) {
    AUTO(text) Text source = {0};
    AUTO(text) Text target = {0};
    TRY(native(from, &source));
    TRY(native(to, &target));
    TRY(check_not_device(source.p));
    TRY(check_not_device(target.p));
    if (rename(source.p, target.p))
        return SYSTEM_ERROR(from);
    return sync_parent(text_str(&target));
}

void disk_remove(Str path) {
    AUTO(text) Text name = {0};
    Status *status = native(path, &name);
    if (!status)
        unlink(name.p);
    status_free(status);
}

void disk_remove_directory(Str path) {
    AUTO(text) Text name = {0};
    Status *status = native(path, &name);
    if (!status)
        rmdir(name.p);
    status_free(status);
}

// ---- writing

Status *disk_create(Str path, int *out_fd) {
    AUTO(text) Text name = {0};
    TRY(native(path, &name));
    TRY(disk_make_parents(path));
    int fd = open_patiently(name.p, O_WRONLY | O_CREAT | O_EXCL | O_APPEND);
    if (fd < 0)
        return SYSTEM_ERROR(path);
    *out_fd = fd;
    return OK;
}

Status *disk_append(int fd, Str bytes, Str path) {
    const char *p = bytes.p;
    for (size_t n = bytes.n; n;) {
        ssize_t put = write(fd, p, n < (1u << 30) ? n : (1u << 30));
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return SYSTEM_ERROR(path);
        NEED(put > 0, RESOURCE_EXHAUSTED, "%.*s; the system writes no more", STR_ARGS(path));
        p += put;
        n -= (size_t)put;
    }
    return OK;
}

Status *disk_writer_open(DiskWriter *writer, Str path) {
    static _Atomic unsigned serial;
    TRY(native(path, &writer->path));
    text_format(&writer->temporary, "%s.tempstate%llx-%x-%x", writer->path.p, (unsigned long long)clock_wall(),
                (unsigned)getpid(), serial++);
    NEED_MEMORY(!writer->temporary.failed);
    TRY(disk_make_parents(path));
    writer->fd = open_patiently(writer->temporary.p, O_WRONLY | O_CREAT | O_EXCL);
    if (writer->fd < 0)
        return SYSTEM_ERROR(path);
    return OK;
}

static Status *write_out(DiskWriter *writer, const char *p, size_t n) {
    return disk_append(writer->fd, (Str){p, n}, text_str(&writer->path));
}

static Status *flush(DiskWriter *writer) {
    size_t n = writer->pending.n;
    writer->pending.n = 0;
    return n ? write_out(writer, writer->pending.p, n) : OK;
}

Status *disk_write(DiskWriter *writer, const void *bytes, size_t n) {
    writer->written += n;
    if (writer->pending.n + n > GATHERED)
        TRY(flush(writer));
    if (n > GATHERED)
        return write_out(writer, bytes, n);
    text_add(&writer->pending, (Str){bytes, n});
    NEED_MEMORY(!writer->pending.failed);
    return OK;
}

static Status *commit(DiskWriter *writer) {
    Str path = text_str(&writer->path);
    TRY(flush(writer));
    // A failed sync is final: the system may have dropped the pages, and a second one would say that all is well.
    if (fsync(writer->fd))
        return SYSTEM_ERROR(path);
    int fd = writer->fd;
    writer->fd = -1;
    if (close(fd) && errno != EINTR) {  // a signal interrupts no more than the call: the file is closed
        Status *status = SYSTEM_ERROR(path);
        unlink(writer->temporary.p);
        return status;
    }
    Status *status = disk_rename(text_str(&writer->temporary), path);
    if (status)
        unlink(writer->temporary.p);
    return status;
}

Status *disk_writer_commit(DiskWriter *writer) {
    Status *status = commit(writer);
    disk_writer_drop(writer);
    return status;
}

void disk_writer_drop(DiskWriter *writer) {
    if (writer->fd >= 0) {
        close(writer->fd);
        unlink(writer->temporary.p);
    }
    text_clear(&writer->path);
    text_clear(&writer->temporary);
    text_clear(&writer->pending);
    *writer = (DiskWriter)DISK_WRITER_NONE;
}
