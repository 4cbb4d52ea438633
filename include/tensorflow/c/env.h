// env.h — files, time, threads and shared libraries of the host.
#ifndef TENSORFLOW_C_ENV_H_
#define TENSORFLOW_C_ENV_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_file_statistics.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_WritableFileHandle TF_WritableFileHandle;
typedef struct TF_StringStream TF_StringStream;
typedef struct TF_Thread TF_Thread;

typedef struct TF_ThreadOptions {
    size_t stack_size;  // 0: the default of the system
    size_t guard_size;
    int numa_node;
} TF_ThreadOptions;

// Files and folders.
TF_CAPI_EXPORT extern void TF_CreateDir(const char *dirname, TF_Status *status);
TF_CAPI_EXPORT extern void TF_DeleteDir(const char *dirname, TF_Status *status);
TF_CAPI_EXPORT extern void TF_DeleteRecursively(const char *dirname, int64_t *undeleted_file_count,
                                                int64_t *undeleted_dir_count, TF_Status *status);
TF_CAPI_EXPORT extern void TF_FileStat(const char *filename, TF_FileStatistics *stats, TF_Status *status);
TF_CAPI_EXPORT extern void TF_NewWritableFile(const char *filename, TF_WritableFileHandle **handle, TF_Status *status);
TF_CAPI_EXPORT extern void TF_CloseWritableFile(TF_WritableFileHandle *handle, TF_Status *status);
TF_CAPI_EXPORT extern void TF_SyncWritableFile(TF_WritableFileHandle *handle, TF_Status *status);
TF_CAPI_EXPORT extern void TF_FlushWritableFile(TF_WritableFileHandle *handle, TF_Status *status);
TF_CAPI_EXPORT extern void TF_AppendWritableFile(TF_WritableFileHandle *handle, const char *data, size_t length,
                                                 TF_Status *status);
TF_CAPI_EXPORT extern void TF_DeleteFile(const char *filename, TF_Status *status);

// A list of strings: each stays valid until the next call; TF_StringStreamDone frees the list.
TF_CAPI_EXPORT extern bool TF_StringStreamNext(TF_StringStream *list, const char **result);
TF_CAPI_EXPORT extern void TF_StringStreamDone(TF_StringStream *list);
TF_CAPI_EXPORT extern TF_StringStream *TF_GetChildren(const char *filename, TF_Status *status);
TF_CAPI_EXPORT extern TF_StringStream *TF_GetLocalTempDirectories(void);

// malloc'd.
TF_CAPI_EXPORT extern char *TF_GetTempFileName(const char *extension);

// Time since 1970.
TF_CAPI_EXPORT extern uint64_t TF_NowNanos(void);
TF_CAPI_EXPORT extern uint64_t TF_NowMicros(void);
TF_CAPI_EXPORT extern uint64_t TF_NowSeconds(void);

// Threads.
TF_CAPI_EXPORT extern void TF_DefaultThreadOptions(TF_ThreadOptions *options);
TF_CAPI_EXPORT extern TF_Thread *TF_StartThread(const TF_ThreadOptions *options, const char *thread_name,
                                                void (*work_func)(void *), void *param);
TF_CAPI_EXPORT extern void TF_JoinThread(TF_Thread *thread);

// Shared libraries.
TF_CAPI_EXPORT extern void *TF_LoadSharedLibrary(const char *library_filename, TF_Status *status);
TF_CAPI_EXPORT extern void *TF_GetSymbolFromLibrary(void *handle, const char *symbol_name, TF_Status *status);

#ifdef __cplusplus
}
#endif

#endif  // TENSORFLOW_C_ENV_H_
