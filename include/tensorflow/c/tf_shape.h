// tf_shape.h — a possibly unknown shape, opaque.
#ifndef TENSORFLOW_C_TF_SHAPE_H_
#define TENSORFLOW_C_TF_SHAPE_H_

#include <stdint.h>

#include "tensorflow/c/c_api_macros.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_Shape TF_Shape;

// A new shape has unknown rank: TF_ShapeDims is -1. An unknown dimension is -1.
TF_CAPI_EXPORT extern TF_Shape *TF_NewShape(void);
TF_CAPI_EXPORT extern int TF_ShapeDims(const TF_Shape *shape);
TF_CAPI_EXPORT extern int64_t TF_ShapeDimSize(const TF_Shape *shape, int d);
TF_CAPI_EXPORT extern void TF_DeleteShape(TF_Shape *shape);

#ifdef __cplusplus
}
#endif

#endif  // TENSORFLOW_C_TF_SHAPE_H_
