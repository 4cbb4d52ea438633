// zero_out — an operation that comes from outside: registered by a library while the program runs, through the C
// interface for kernels alone. Keeps the first element of its input and makes the others zero.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

typedef struct ZeroOut {
    int64_t keep;    // how many elements stay
} ZeroOut;

static void *zero_out_new(TF_OpKernelConstruction *construction) {
    ZeroOut *own = calloc(1, sizeof *own);
    TF_Status *status = TF_NewStatus();
    TF_OpKernelConstruction_GetAttrInt64(construction, "keep", &own->keep, status);
    if (TF_GetCode(status) != TF_OK)
        TF_OpKernelConstruction_Failure(construction, status);
    TF_DeleteStatus(status);
    return own;
}

static void zero_out_run(void *kernel, TF_OpKernelContext *context) {
    const ZeroOut *own = kernel;
    TF_Status *status = TF_NewStatus();
    TF_Tensor *input = NULL, *output = NULL;
    TF_GetInput(context, 0, &input, status);
    if (TF_GetCode(status) == TF_OK) {
        int64_t dims[8];
        int rank = TF_NumDims(input);
        for (int i = 0; i < rank && i < 8; i++)
            dims[i] = TF_Dim(input, i);
        output = TF_AllocateOutput(context, 0, TF_ExpectedOutputDataType(context, 0), dims, rank,
                                   TF_TensorByteSize(input), status);
    }
    if (TF_GetCode(status) == TF_OK) {
        const int32_t *from = TF_TensorData(input);
        int32_t *to = TF_TensorData(output);
        int64_t count = (int64_t)(TF_TensorByteSize(input) / sizeof *from);
        for (int64_t i = 0; i < count; i++)
            to[i] = i < own->keep ? from[i] : 0;
    } else {
        TF_OpKernelContext_Failure(context, status);
    }
    if (input)
        TF_DeleteTensor(input);
    if (output)
        TF_DeleteTensor(output);
    TF_DeleteStatus(status);
}

static void zero_out_shape(TF_ShapeInferenceContext *context, TF_Status *status) {
    TF_ShapeHandle *shape = TF_NewShapeHandle();
    TF_ShapeInferenceContextGetInput(context, 0, shape, status);
    if (TF_GetCode(status) == TF_OK)
        TF_ShapeInferenceContextSetOutput(context, 0, shape, status);
    TF_DeleteShapeHandle(shape);
}

__attribute__((constructor)) static void zero_out_register(void) {
    TF_Status *status = TF_NewStatus();
    TF_OpDefinitionBuilder *op = TF_NewOpDefinitionBuilder("KindsZeroOut");
    TF_OpDefinitionBuilderAddInput(op, "x: int32");
    TF_OpDefinitionBuilderAddOutput(op, "y: int32");
    TF_OpDefinitionBuilderAddAttr(op, "keep: int = 1");
    TF_OpDefinitionBuilderSetShapeInferenceFunction(op, zero_out_shape);
    TF_RegisterOpDefinition(op, status);
    TF_KernelBuilder *kernel = TF_NewKernelBuilder("KindsZeroOut", "CPU", zero_out_new, zero_out_run, free);
    TF_RegisterKernelBuilder("KindsZeroOut", kernel, status);
    TF_DeleteStatus(status);
}
