// Api — the TensorFlow C functions that the benches call, taken by name from a library opened at run time.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct TF_Status TF_Status;
typedef struct TF_Graph TF_Graph;
typedef struct TF_Operation TF_Operation;
typedef struct TF_Session TF_Session;
typedef struct TF_SessionOptions TF_SessionOptions;
typedef struct TF_ImportGraphDefOptions TF_ImportGraphDefOptions;
typedef struct TF_Tensor TF_Tensor;
typedef struct TF_OperationDescription TF_OperationDescription;

typedef struct TF_Buffer {
    const void *data;
    size_t length;
    void (*data_deallocator)(void *data, size_t length);
} TF_Buffer;

typedef struct TF_Output {
    TF_Operation *oper;
    int index;
} TF_Output;

typedef struct TF_Input {
    TF_Operation *oper;
    int index;
} TF_Input;

enum { TF_FLOAT = 1, TF_INT32 = 3, TF_INT64 = 9, TF_BOOL = 10, TF_RESOURCE = 20 };

// clang-format off
#define EACH_API(X) \
    X(const char *, TF_Version, (void)) \
    X(TF_Status *, TF_NewStatus, (void)) \
    X(void, TF_DeleteStatus, (TF_Status *)) \
    X(int, TF_GetCode, (const TF_Status *)) \
    X(const char *, TF_Message, (const TF_Status *)) \
    X(TF_Graph *, TF_NewGraph, (void)) \
    X(void, TF_DeleteGraph, (TF_Graph *)) \
    X(TF_ImportGraphDefOptions *, TF_NewImportGraphDefOptions, (void)) \
    X(void, TF_DeleteImportGraphDefOptions, (TF_ImportGraphDefOptions *)) \
    X(void, TF_GraphImportGraphDef, (TF_Graph *, const TF_Buffer *, const TF_ImportGraphDefOptions *, TF_Status *)) \
    X(void, TF_ImportGraphDefOptionsAddInputMapping, (TF_ImportGraphDefOptions *, const char *, int, TF_Output)) \
    X(TF_Operation *, TF_GraphOperationByName, (TF_Graph *, const char *)) \
    X(TF_Operation *, TF_GraphNextOperation, (TF_Graph *, size_t *)) \
    X(int, TF_GraphGetTensorNumDims, (TF_Graph *, TF_Output, TF_Status *)) \
    X(void, TF_GraphGetTensorShape, (TF_Graph *, TF_Output, int64_t *, int, TF_Status *)) \
    X(const char *, TF_OperationOpType, (TF_Operation *)) \
    X(TF_Output, TF_OperationInput, (TF_Input)) \
    X(void, TF_OperationGetAttrString, (TF_Operation *, const char *, void *, size_t, TF_Status *)) \
    X(void, TF_OperationGetAttrIntList, (TF_Operation *, const char *, int64_t *, int, TF_Status *)) \
    X(void, TF_OperationGetAttrBool, (TF_Operation *, const char *, unsigned char *, TF_Status *)) \
    X(TF_OperationDescription *, TF_NewOperation, (TF_Graph *, const char *, const char *)) \
    X(void, TF_SetAttrType, (TF_OperationDescription *, const char *, int)) \
    X(void, TF_SetAttrShape, (TF_OperationDescription *, const char *, const int64_t *, int)) \
    X(TF_Operation *, TF_FinishOperation, (TF_OperationDescription *, TF_Status *)) \
    X(void, TF_AddGradients, (TF_Graph *, TF_Output *, int, TF_Output *, int, TF_Output *, TF_Status *, TF_Output *)) \
    X(TF_SessionOptions *, TF_NewSessionOptions, (void)) \
    X(void, TF_SetConfig, (TF_SessionOptions *, const void *, size_t, TF_Status *)) \
    X(void, TF_DeleteSessionOptions, (TF_SessionOptions *)) \
    X(TF_Session *, TF_NewSession, (TF_Graph *, const TF_SessionOptions *, TF_Status *)) \
    X(void, TF_CloseSession, (TF_Session *, TF_Status *)) \
    X(void, TF_DeleteSession, (TF_Session *, TF_Status *)) \
    X(void, TF_SessionRun, (TF_Session *, const TF_Buffer *, const TF_Output *, TF_Tensor *const *, int, \
                            const TF_Output *, TF_Tensor **, int, const TF_Operation *const *, int, TF_Buffer *, \
                            TF_Status *)) \
    X(TF_Tensor *, TF_AllocateTensor, (int, const int64_t *, int, size_t)) \
    X(void *, TF_TensorData, (const TF_Tensor *)) \
    X(size_t, TF_TensorByteSize, (const TF_Tensor *)) \
    X(void, TF_DeleteTensor, (TF_Tensor *))
// clang-format on

// mr_plan_info of millrace.h.
typedef struct PlanInfo {
    size_t struct_size, num_nodes, num_run;
    int is_propagated, is_specialised;
    int64_t arena_bytes, lower_bound;
} PlanInfo;

// clang-format off
#define EACH_MILLRACE(X) \
    X(void *, mr_plan_new, (TF_Session *, const TF_Output *, TF_Tensor *const *, int, const TF_Output *, int, \
                            const TF_Operation *const *, int, TF_Status *)) \
    X(void, mr_plan_delete, (void *)) \
    X(void, mr_plan_get_info, (const void *, PlanInfo *))
// clang-format on

typedef struct Api {
#define FIELD(type, name, arguments) type(*name) arguments;
    EACH_API(FIELD)
    EACH_MILLRACE(FIELD)    // NULL in other libraries
#undef FIELD
} Api;

// Opens the library and fills the table. On failure prints what is missing to `error`, of `room` bytes.
bool api_open(const char *path, Api *out, char *error, size_t room);
