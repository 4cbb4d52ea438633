// tf_buffer.h — a run of bytes with the function that frees it; carries serialized protocol messages.
#ifndef TENSORFLOW_C_TF_BUFFER_H_
#define TENSORFLOW_C_TF_BUFFER_H_

#include <stddef.h>

#include "tensorflow/c/c_api_macros.h"

#ifdef __cplusplus
extern "C" {
#endif

// Passed and returned by value: bindings mirror these 24 bytes. A NULL deallocator means that nobody frees the data.
typedef struct TF_Buffer {
    const void *data;
    size_t length;
    void (*data_deallocator)(void *data, size_t length);
} TF_Buffer;

// TF_NewBufferFromString copies; TF_NewBuffer is empty, the form that functions filling a buffer ask for.
TF_CAPI_EXPORT extern TF_Buffer *TF_NewBufferFromString(const void *proto, size_t proto_len);
TF_CAPI_EXPORT extern TF_Buffer *TF_NewBuffer(void);
TF_CAPI_EXPORT extern void TF_DeleteBuffer(TF_Buffer *);
TF_CAPI_EXPORT extern TF_Buffer TF_GetBuffer(TF_Buffer *buffer);

#ifdef __cplusplus
}
#endif

#endif  // TENSORFLOW_C_TF_BUFFER_H_
