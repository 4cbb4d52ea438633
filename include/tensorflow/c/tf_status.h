// tf_status.h — how a call ended: a canonical code and a message.
#ifndef TENSORFLOW_C_TF_STATUS_H_
#define TENSORFLOW_C_TF_STATUS_H_

#include "tensorflow/c/c_api_macros.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_Status TF_Status;

typedef enum TF_Code {
    TF_OK = 0,
    TF_CANCELLED = 1,
    TF_UNKNOWN = 2,
    TF_INVALID_ARGUMENT = 3,
    TF_DEADLINE_EXCEEDED = 4,
    TF_NOT_FOUND = 5,
    TF_ALREADY_EXISTS = 6,
    TF_PERMISSION_DENIED = 7,
    TF_RESOURCE_EXHAUSTED = 8,
    TF_FAILED_PRECONDITION = 9,
    TF_ABORTED = 10,
    TF_OUT_OF_RANGE = 11,
    TF_UNIMPLEMENTED = 12,
    TF_INTERNAL = 13,
    TF_UNAVAILABLE = 14,
    TF_DATA_LOSS = 15,
    TF_UNAUTHENTICATED = 16,
} TF_Code;

// Called once per payload of a status; the strings are valid during the call only.
typedef void (*TF_PayloadVisitor)(const char *key, const char *value, void *capture);

// A new status is OK. The text of TF_Message is "" for OK and valid until the status changes. A status belongs to one
// thread at a time. TF_SetStatusFromIOError takes an errno.
TF_CAPI_EXPORT extern TF_Status *TF_NewStatus(void);
TF_CAPI_EXPORT extern void TF_DeleteStatus(TF_Status *);
TF_CAPI_EXPORT extern void TF_SetStatus(TF_Status *s, TF_Code code, const char *msg);
TF_CAPI_EXPORT extern void TF_SetPayload(TF_Status *s, const char *key, const char *value);
TF_CAPI_EXPORT extern void TF_ForEachPayload(const TF_Status *s, TF_PayloadVisitor visitor, void *capture);
TF_CAPI_EXPORT extern void TF_SetStatusFromIOError(TF_Status *s, int error_code, const char *context);
TF_CAPI_EXPORT extern TF_Code TF_GetCode(const TF_Status *s);
TF_CAPI_EXPORT extern const char *TF_Message(const TF_Status *s);

#ifdef __cplusplus
}
#endif

#endif  // TENSORFLOW_C_TF_STATUS_H_
