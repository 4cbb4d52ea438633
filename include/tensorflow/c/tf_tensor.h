// tf_tensor.h — an array of elements of one type, counted and shared.
#ifndef TENSORFLOW_C_TF_TENSOR_H_
#define TENSORFLOW_C_TF_TENSOR_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_datatype.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Where a kernel wants memory. `struct_size` is the size that the caller was compiled with.
typedef struct TF_AllocatorAttributes {
    size_t struct_size;
    TF_Bool on_host;
} TF_AllocatorAttributes;

#define TF_ALLOCATOR_ATTRIBUTES_STRUCT_SIZE TF_OFFSET_OF_END(TF_AllocatorAttributes, on_host)

typedef struct TF_Tensor TF_Tensor;

// TF_NewTensor adopts `data` where it is aligned and calls the deallocator at the last release; otherwise it copies and
// calls it at once. NULL when `len` is too small for the shape. Elements of TF_STRING are TF_TString, 24 bytes each,
// which the caller initialises. TF_TensorMaybeMove returns its argument, or NULL where the memory is shared.
TF_CAPI_EXPORT extern TF_Tensor *TF_NewTensor(TF_DataType, const int64_t *dims, int num_dims, void *data, size_t len,
                                              void (*deallocator)(void *data, size_t len, void *arg),
                                              void *deallocator_arg);
TF_CAPI_EXPORT extern size_t TF_TensorDefaultAlignment(void);
TF_CAPI_EXPORT extern TF_Tensor *TF_AllocateTensor(TF_DataType, const int64_t *dims, int num_dims, size_t len);
TF_CAPI_EXPORT extern TF_Tensor *TF_TensorMaybeMove(TF_Tensor *tensor);
TF_CAPI_EXPORT extern void TF_DeleteTensor(TF_Tensor *);
TF_CAPI_EXPORT extern TF_DataType TF_TensorType(const TF_Tensor *);
TF_CAPI_EXPORT extern void TF_SetShape(TF_Tensor *tensor, const int64_t *dims, int num_dims);
TF_CAPI_EXPORT extern int TF_NumDims(const TF_Tensor *);
TF_CAPI_EXPORT extern int64_t TF_Dim(const TF_Tensor *tensor, int dim_index);
TF_CAPI_EXPORT extern size_t TF_TensorByteSize(const TF_Tensor *);
TF_CAPI_EXPORT extern void *TF_TensorData(const TF_Tensor *);
TF_CAPI_EXPORT extern int64_t TF_TensorElementCount(const TF_Tensor *tensor);
TF_CAPI_EXPORT extern void TF_TensorBitcastFrom(const TF_Tensor *from, TF_DataType type, TF_Tensor *to,
                                                const int64_t *new_dims, int num_new_dims, TF_Status *status);
TF_CAPI_EXPORT extern bool TF_TensorIsAligned(const TF_Tensor *);

#ifdef __cplusplus
}
#endif

#endif  // TENSORFLOW_C_TF_TENSOR_H_
