// logging.h — lines in the log of the library.
#ifndef TENSORFLOW_C_LOGGING_H_
#define TENSORFLOW_C_LOGGING_H_

#include "tensorflow/c/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum TF_LogLevel {
    TF_INFO = 0,
    TF_WARNING = 1,
    TF_ERROR = 2,
    TF_FATAL = 3,
} TF_LogLevel;

// `fmt` is printf's. TF_VLog takes a verbosity, TF_DVLog the same for builds with debug checks.
TF_CAPI_EXPORT extern void TF_Log(TF_LogLevel level, const char *fmt, ...);
TF_CAPI_EXPORT extern void TF_VLog(int level, const char *fmt, ...);
TF_CAPI_EXPORT extern void TF_DVLog(int level, const char *fmt, ...);

#ifdef __cplusplus
}
#endif

#endif  // TENSORFLOW_C_LOGGING_H_
