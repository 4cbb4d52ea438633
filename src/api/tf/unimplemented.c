// What the C interface declares and this library doesn't do: one row each, so that bindings which look up every name
// load. Those with a status answer UNIMPLEMENTED; the others do nothing, or give what stands for nothing.
#include "api/api.h"
#include "tensorflow/c/eager/c_api_experimental.h"
#include "tensorflow/c/kernels.h"

#define REFUSE(status) api_set((status), API_ERROR(UNIMPLEMENTED, "%s is not implemented", __func__))
#define NO(name, ...) void name(__VA_ARGS__, TF_Status *status) { REFUSE(status); }
#define NO_VALUE(Type, name, value, ...) Type name(__VA_ARGS__, TF_Status *status) { REFUSE(status); return value; }
#define NOTHING(name, ...) void name(__VA_ARGS__) { }
#define VALUE(Type, name, value, ...) Type name(__VA_ARGS__) { return value; }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"

// ---------------------------------------- plug-ins for files and devices
NO(TF_RegisterFilesystemPlugin, const char *file)
NO_VALUE(TF_Library *, TF_LoadPluggableDeviceLibrary, NULL, const char *file)
NOTHING(TF_DeletePluggableDeviceLibraryHandle, TF_Library *library)

// ---------------------------------------- the XLA compiler
NOTHING(TF_EnableXLACompilation, TF_SessionOptions *options, unsigned char enable)
VALUE(unsigned char, TF_SetXlaEnableLazyCompilation, 0, unsigned char enable)
VALUE(unsigned char, TF_SetTfXlaCpuGlobalJit, 0, unsigned char enable)
NOTHING(TF_SetXlaAutoJitMode, const char *mode)
VALUE(unsigned char, TF_GetXlaAutoJitEnabled, 0, void)
NOTHING(TF_SetXlaMinClusterSize, int size)
VALUE(unsigned char, TF_GetXlaConstantFoldingDisabled, 0, void)
NOTHING(TF_SetXlaConstantFoldingDisabled, unsigned char disable)

// ---------------------------------------- queues of named tensors
NO_VALUE(TF_Tensor *, TF_DequeueNamedTensor, NULL, TF_Session *session, int id)
NO(TF_EnqueueNamedTensor, TF_Session *session, int id, TF_Tensor *tensor)

// ---------------------------------------- graphs of C++ objects, hacks of one binding
NOTHING(TF_SetFullType, TF_Graph *graph, TF_Operation *op, const TF_Buffer *proto)
NOTHING(TF_SetRequireShapeInferenceFns, TF_Graph *graph, bool require)
NO(TF_AddWhileInputHack, TF_Graph *graph, TF_Output source, TF_Operation *to)

// ---------------------------------------- eager contexts across a cluster
NO(TFE_ContextSetServerDef, TFE_Context *ctx, int keep_alive, const void *proto, size_t n)
NO(TFE_ContextUpdateServerDef, TFE_Context *ctx, int keep_alive, const void *proto, size_t n)
NO(TFE_ContextUpdateServerDefWithTimeout, TFE_Context *ctx, int keep_alive, const void *proto, size_t n,
   int64_t timeout)
void TFE_ContextSetServerDefWithTimeout(TFE_Context *ctx, int keep_alive, const void *proto, size_t n, int64_t timeout,
                                        TF_Status *status, bool clear) {
    REFUSE(status);
}
void TFE_ContextSetServerDefWithTimeoutAndRetries(TFE_Context *ctx, int keep_alive, const void *proto, size_t n,
                                                  int64_t timeout, int retries, TF_Status *status, bool clear) {
    REFUSE(status);
}
NO(TFE_InitializeLocalOnlyContext, TFE_Context *ctx, int keep_alive, const void *proto, size_t n)
NO_VALUE(bool, TFE_ContextCheckAlive, false, TFE_Context *ctx, const char *worker)
NO(TFE_InsertConfigKeyValue, TFE_Context *ctx, const char *key, const char *value)
NO(TFE_GetConfigKeyValue, TFE_Context *ctx, const char *key, int64_t timeout, TF_Buffer *value)
NO(TFE_DeleteConfigKeyValue, TFE_Context *ctx, const char *key)
NO(TFE_ReportErrorToCluster, TFE_Context *ctx, int code, const char *message)
NO(TFE_WaitAtBarrier, TFE_Context *ctx, const char *barrier, int64_t timeout)
NO(TFE_EnableCollectiveOps, TFE_Context *ctx, const void *proto, size_t n)
NO(TFE_AbortCollectiveOps, TFE_Context *ctx)
NO(TFE_CollectiveOpsCheckPeerHealth, TFE_Context *ctx, const char *task, int64_t timeout)
NO_VALUE(TF_Buffer *, TFE_GetServerDef, NULL, const char *text)

// ---------------------------------------- eager: other memories, other compilers, statistics
NO_VALUE(TFE_TensorHandle *, TFE_CreatePackedTensorHandle, NULL, TFE_Context *ctx, TFE_TensorHandle **handles, int *n)
NOTHING(TFE_HostAddressSpace, TFE_Context *ctx, TF_Buffer *buf)
NO(TFE_ContextGetGraphDebugInfo, TFE_Context *ctx, const char *function, TF_Buffer *buf)
NO(TFE_ContextSetRunEagerOpAsFunction, TFE_Context *ctx, unsigned char enable)
NO(TFE_ContextSetJitCompileRewrite, TFE_Context *ctx, unsigned char enable)
NO(TFE_GetExecutedOpNames, TFE_Context *ctx, TF_Buffer *buf)
NO(TFE_SetLogicalCpuDevices, TFE_Context *ctx, int n, const char *prefix)
void TFE_InferShapes(TFE_Op *op, TF_ShapeAndTypeList *input_shapes, TF_Tensor **input_tensors,
                     TF_ShapeAndTypeList *input_tensor_as_shapes,
                     TF_ShapeAndTypeList **input_resource_shapes_and_types, TF_ShapeAndTypeList **output_shapes,
                     TF_ShapeAndTypeList ***output_resource_shapes_and_types, TF_Status *status) {
    REFUSE(status);
}

// ---------------------------------------- what only Java's binding looks up: metrics, devices and tasks of its own
typedef struct { void *functions[6]; } CustomDevice;  // by value: larger than what goes in registers
#define METRIC(Kind) \
    TF_CAPI_EXPORT void *TFE_MonitoringNew##Kind(const char *name, TF_Status *status, ...) { REFUSE(status); return NULL; } \
    TF_CAPI_EXPORT NOTHING(TFE_MonitoringDelete##Kind, void *metric) \
    TF_CAPI_EXPORT VALUE(void *, TFE_MonitoringGetCell##Kind, NULL, void *metric, ...)
#define SAMPLER(Kind) \
    TF_CAPI_EXPORT void *TFE_MonitoringNew##Kind(const char *name, void *buckets, TF_Status *status, ...) { \
        REFUSE(status); \
        return NULL; \
    } \
    TF_CAPI_EXPORT NOTHING(TFE_MonitoringDelete##Kind, void *metric) \
    TF_CAPI_EXPORT VALUE(void *, TFE_MonitoringGetCell##Kind, NULL, void *metric, ...)
METRIC(Counter0) METRIC(Counter1) METRIC(Counter2)
METRIC(IntGauge0) METRIC(IntGauge1) METRIC(IntGauge2)
METRIC(BoolGauge0) METRIC(BoolGauge1) METRIC(BoolGauge2)
METRIC(StringGauge0) METRIC(StringGauge1) METRIC(StringGauge2) METRIC(StringGauge3) METRIC(StringGauge4)
SAMPLER(Sampler0) SAMPLER(Sampler1) SAMPLER(Sampler2)
TF_CAPI_EXPORT NOTHING(TFE_MonitoringCounterCellIncrementBy, void *cell, int64_t value)
TF_CAPI_EXPORT VALUE(int64_t, TFE_MonitoringCounterCellValue, 0, void *cell)
TF_CAPI_EXPORT NOTHING(TFE_MonitoringIntGaugeCellSet, void *cell, int64_t value)
TF_CAPI_EXPORT VALUE(int64_t, TFE_MonitoringIntGaugeCellValue, 0, void *cell)
TF_CAPI_EXPORT NOTHING(TFE_MonitoringBoolGaugeCellSet, void *cell, bool value)
TF_CAPI_EXPORT VALUE(bool, TFE_MonitoringBoolGaugeCellValue, false, void *cell)
TF_CAPI_EXPORT NOTHING(TFE_MonitoringStringGaugeCellSet, void *cell, const char *value)
TF_CAPI_EXPORT NOTHING(TFE_MonitoringStringGaugeCellValue, void *cell, TF_Buffer *value)
TF_CAPI_EXPORT NOTHING(TFE_MonitoringSamplerCellAdd, void *cell, double value)
TF_CAPI_EXPORT NOTHING(TFE_MonitoringSamplerCellValue, void *cell, TF_Buffer *value)
TF_CAPI_EXPORT VALUE(void *, TFE_MonitoringNewExponentialBuckets, NULL, double scale, double growth, int n)
TF_CAPI_EXPORT NOTHING(TFE_MonitoringDeleteBuckets, void *buckets)
TF_CAPI_EXPORT NO(TFE_GetTaskStates, TFE_Context *ctx, const TF_Buffer *tasks, void *states)
TF_CAPI_EXPORT NO(TFE_RegisterCustomDevice, TFE_Context *ctx, CustomDevice device, const char *name, void *info)
TF_CAPI_EXPORT NO_VALUE(TFE_TensorHandle *, TFE_NewCustomDeviceTensorHandle, NULL, TFE_Context *ctx, const char *device,
                        TF_DataType dtype, void *data, CustomDevice methods)

// ---------------------------------------- custom kernels: what only some devices have
NO(TF_GetSerializedFunctionDefLibrary, TF_OpKernelContext *ctx, TF_Buffer *out)
NO(TF_GetSerializedConfigProto, TF_OpKernelContext *ctx, TF_Buffer *out)
NO(TF_GetSerializedResourceHandleProto, TF_OpKernelContext *ctx, int i, TF_Buffer *out)
NOTHING(TF_IncNumDeferredOps, TF_OpKernelContext *ctx)
NOTHING(TF_DecNumDeferredOps, TF_OpKernelContext *ctx)


#pragma GCC diagnostic pop
