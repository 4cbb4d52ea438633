// Env — files, time, threads and shared libraries of the host, for clients written against env.h.
#define _GNU_SOURCE  // mkostemps
#include "tensorflow/c/env.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api.h"
#include "base/clock.h"

static void set_errno(TF_Status *status, int error, const char *what) {
    if (error)
        TF_SetStatusFromIOError(status, error, what);
    else
        api_ok(status);
}

// ---------------------------------------- folders and files

void TF_CreateDir(const char *dirname, TF_Status *status) {
    set_errno(status, mkdir(dirname, 0755) == 0 ? 0 : errno, dirname);
}

void TF_DeleteDir(const char *dirname, TF_Status *status) {
    set_errno(status, rmdir(dirname) == 0 ? 0 : errno, dirname);
}

void TF_DeleteFile(const char *filename, TF_Status *status) {
    set_errno(status, unlink(filename) == 0 ? 0 : errno, filename);
}

static char *join(const char *folder, const char *name) {
    size_t n = strlen(folder) + strlen(name) + 2;
    char *path = malloc(n);
    if (path)
        snprintf(path, n, "%s/%s", folder, name);
    return path;
}

enum { MAX_DEPTH = 200 };  // folders within folders

static void delete_all(const char *path, int depth, int64_t *files, int64_t *folders) {
    struct stat stat_;
    if (lstat(path, &stat_) != 0)
        return;
    if (!S_ISDIR(stat_.st_mode)) {
        *files += unlink(path) != 0;
        return;
    }
    DIR *dir = depth < MAX_DEPTH ? opendir(path) : NULL;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char *inner = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 ? join(path, entry->d_name)
        : NULL;
        if (inner)
            delete_all(inner, depth + 1, files, folders);
        free(inner);
    }
    if (dir)
        closedir(dir);
    *folders += rmdir(path) != 0;
}

void TF_DeleteRecursively(const char *dirname, int64_t *undeleted_file_count, int64_t *undeleted_dir_count,
                          TF_Status *status) {
    *undeleted_file_count = *undeleted_dir_count = 0;
    if (access(dirname, F_OK) != 0) {
        *undeleted_dir_count = 1;
        set_errno(status, errno, dirname);
        return;
    }
    delete_all(dirname, 0, undeleted_file_count, undeleted_dir_count);
    bool all = *undeleted_file_count == 0 && *undeleted_dir_count == 0;
    api_set(status, all ? OK : API_ERROR(PERMISSION_DENIED, "%s; not everything could be deleted", dirname));
}

void TF_FileStat(const char *filename, TF_FileStatistics *stats, TF_Status *status) {
    struct stat stat_;
    if (stat(filename, &stat_) != 0) {
        set_errno(status, errno, filename);
        return;
    }
    stats->length = stat_.st_size;
    stats->mtime_nsec = (int64_t)stat_.st_mtim.tv_sec * 1000000000 + stat_.st_mtim.tv_nsec;
    stats->is_directory = S_ISDIR(stat_.st_mode);
    api_ok(status);
}

// ---------------------------------------- writing

struct TF_WritableFileHandle {
    FILE *file;
};

void TF_NewWritableFile(const char *filename, TF_WritableFileHandle **handle, TF_Status *status) {
    TF_WritableFileHandle *made = calloc(1, sizeof *made);
    FILE *file = made ? fopen(filename, "we") : NULL;
    if (!file) {
        set_errno(status, made ? errno : ENOMEM, filename);
        free(made);
        return;
    }
    made->file = file;
    *handle = made;
    api_ok(status);
}

void TF_CloseWritableFile(TF_WritableFileHandle *handle, TF_Status *status) {
    int error = fclose(handle->file) == 0 ? 0 : errno;
    free(handle);
    set_errno(status, error, "close");
}

void TF_FlushWritableFile(TF_WritableFileHandle *handle, TF_Status *status) {
    set_errno(status, fflush(handle->file) == 0 ? 0 : errno, "flush");
}

void TF_SyncWritableFile(TF_WritableFileHandle *handle, TF_Status *status) {
    bool good = fflush(handle->file) == 0 && fsync(fileno(handle->file)) == 0;
    set_errno(status, good ? 0 : errno, "sync");
}

void TF_AppendWritableFile(TF_WritableFileHandle *handle, const char *data, size_t length, TF_Status *status) {
    set_errno(status, fwrite(data, 1, length, handle->file) == length ? 0 : errno, "append");
}

// ---------------------------------------- lists of strings

struct TF_StringStream {
    VEC(char *) names;
    size_t at;
};

bool TF_StringStreamNext(TF_StringStream *list, const char **result) {
    *result = list && list->at < list->names.n ? list->names.p[list->at++] : NULL;
    return *result != NULL;
}

void TF_StringStreamDone(TF_StringStream *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->names.n; i++)
        free(list->names.p[i]);
    vec_clear(&list->names);
    free(list);
}

static void stream_add(TF_StringStream *list, const char *name) {
    char *copy = strdup(name);
    if (copy && !vec_push(&list->names, copy))
        free(copy);
}

TF_StringStream *TF_GetChildren(const char *filename, TF_Status *status) {
    TF_StringStream *list = calloc(1, sizeof *list);
    DIR *dir = list ? opendir(filename) : NULL;
    if (!dir) {
        set_errno(status, list ? errno : ENOMEM, filename);
        free(list);
        return NULL;
    }
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            stream_add(list, entry->d_name);
    closedir(dir);
    api_ok(status);
    return list;
}

static const char *const temporary[] = {"TEST_TMPDIR", "TMPDIR", "TMP"};

TF_StringStream *TF_GetLocalTempDirectories(void) {
    TF_StringStream *list = calloc(1, sizeof *list);
    for (size_t i = 0; list && i < sizeof temporary / sizeof *temporary; i++) {
        const char *folder = getenv(temporary[i]);
        if (folder && access(folder, W_OK) == 0)
            stream_add(list, folder);
    }
    if (list && access("/tmp", W_OK) == 0)
        stream_add(list, "/tmp");
    return list;
}

char *TF_GetTempFileName(const char *extension) {
    const char *folder = "/tmp";
    for (size_t i = sizeof temporary / sizeof *temporary; i-- > 0;)
        if (getenv(temporary[i]) && access(getenv(temporary[i]), W_OK) == 0)
            folder = getenv(temporary[i]);
    size_t n = strlen(folder) + strlen(extension) + 32;
    char *name = malloc(n);
    if (!name)
        return NULL;
    snprintf(name, n, "%s/tempfile-XXXXXX%s%s", folder, *extension ? "." : "", extension);
    int fd = mkostemps(name, (int)(strlen(extension) + (*extension != 0)), O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return name;
}

// ---------------------------------------- time

uint64_t TF_NowMicros(void) {
    return (uint64_t)clock_wall();
}

uint64_t TF_NowNanos(void) {
    return TF_NowMicros() * 1000;
}

uint64_t TF_NowSeconds(void) {
    return TF_NowMicros() / 1000000;
}

// ---------------------------------------- threads

struct TF_Thread {
    pthread_t thread;
    void (*work)(void *);
    void *param;
};

void TF_DefaultThreadOptions(TF_ThreadOptions *options) {
    *options = (TF_ThreadOptions){.numa_node = -1};
}

static void *thread_main(void *arg) {
    TF_Thread *thread = arg;
    thread->work(thread->param);
    return NULL;
}

TF_Thread *TF_StartThread(const TF_ThreadOptions *options, const char *thread_name, void (*work_func)(void *),
                          void *param) {
    (void)thread_name;
    TF_Thread *thread = calloc(1, sizeof *thread);
    pthread_attr_t attributes;
    if (!thread || pthread_attr_init(&attributes) != 0) {
        free(thread);
        return NULL;
    }
    if (options && options->stack_size)
        pthread_attr_setstacksize(&attributes, options->stack_size);
    if (options && options->guard_size)
        pthread_attr_setguardsize(&attributes, options->guard_size);
    thread->work = work_func;
    thread->param = param;
    int error = pthread_create(&thread->thread, &attributes, thread_main, thread);
    pthread_attr_destroy(&attributes);
    if (error) {
        free(thread);
        return NULL;
    }
    return thread;
}

void TF_JoinThread(TF_Thread *thread) {
    if (!thread)
        return;
    pthread_join(thread->thread, NULL);
    free(thread);
}

// ---------------------------------------- shared libraries

void *TF_LoadSharedLibrary(const char *library_filename, TF_Status *status) {
    void *handle = dlopen(library_filename, RTLD_NOW | RTLD_LOCAL);
    api_set(status, handle ? OK : API_ERROR(NOT_FOUND, "%s", dlerror()));
    return handle;
}

void *TF_GetSymbolFromLibrary(void *handle, const char *symbol_name, TF_Status *status) {
    void *symbol = dlsym(handle, symbol_name);
    api_set(status, symbol ? OK : API_ERROR(NOT_FOUND, "%s", dlerror()));
    return symbol;
}
