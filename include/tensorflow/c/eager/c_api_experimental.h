// eager/c_api_experimental.h — the experimental part of the eager interface: what bindings use of it.
#ifndef TENSORFLOW_C_EAGER_C_API_EXPERIMENTAL_H_
#define TENSORFLOW_C_EAGER_C_API_EXPERIMENTAL_H_

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/eager/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

TF_CAPI_EXPORT extern void TFE_OpReset(TFE_Op *op_to_reset, const char *op_or_function_name,
                                       const char *raw_device_name, TF_Status *status);
TF_CAPI_EXPORT extern void TFE_ContextEnableGraphCollection(TFE_Context *ctx);
TF_CAPI_EXPORT extern void TFE_ContextDisableGraphCollection(TFE_Context *ctx);
TF_CAPI_EXPORT extern void TFE_ContextOptionsSetTfrt(TFE_ContextOptions *, bool use_tfrt);
TF_CAPI_EXPORT extern uint64_t TFE_GetContextId(TFE_Context *ctx);

// Cancellation of operations in flight.
typedef struct TFE_CancellationManager TFE_CancellationManager;
typedef int64_t TFE_CancellationToken;

typedef struct TFE_CancelCallback {
    void (*callback)(void *context);
    void *context;
} TFE_CancelCallback;

TF_CAPI_EXPORT extern TFE_CancellationManager *TFE_NewCancellationManager(void);
TF_CAPI_EXPORT extern bool TFE_CancellationManagerIsCancelled(TFE_CancellationManager *);
TF_CAPI_EXPORT extern bool TFE_CancellationManagerIsCancelling(TFE_CancellationManager *);
TF_CAPI_EXPORT extern void TFE_CancellationManagerStartCancel(TFE_CancellationManager *);
TF_CAPI_EXPORT extern TFE_CancellationToken TFE_CancellationManagerGetToken(TFE_CancellationManager *);
TF_CAPI_EXPORT extern bool TFE_CancellationManagerRegisterCallback(TFE_CancellationManager *,
                                                                   TFE_CancellationToken token,
                                                                   const TFE_CancelCallback *c_callback,
                                                                   const char *callback_name);
TF_CAPI_EXPORT extern bool TFE_CancellationManagerDeregisterCallback(TFE_CancellationManager *,
                                                                     TFE_CancellationToken token);
TF_CAPI_EXPORT extern bool TFE_CancellationManagerTryDeregisterCallback(TFE_CancellationManager *,
                                                                        TFE_CancellationToken token);
TF_CAPI_EXPORT extern void TFE_DeleteCancellationManager(TFE_CancellationManager *);
TF_CAPI_EXPORT extern void TFE_OpSetCancellationManager(TFE_Op *op, TFE_CancellationManager *cancellation_manager,
                                                        TF_Status *status);

// Executors: the queue of operations of one thread, synchronous or not.
typedef struct TFE_Executor TFE_Executor;

TF_CAPI_EXPORT extern TFE_Executor *TFE_NewExecutor(bool is_async, bool enable_streaming_enqueue,
                                                    int in_flight_nodes_limit);
TF_CAPI_EXPORT extern void TFE_DeleteExecutor(TFE_Executor *);
TF_CAPI_EXPORT extern bool TFE_ExecutorIsAsync(TFE_Executor *);
TF_CAPI_EXPORT extern void TFE_ExecutorWaitForAllPendingNodes(TFE_Executor *, TF_Status *status);
TF_CAPI_EXPORT extern void TFE_ExecutorClearError(TFE_Executor *);
TF_CAPI_EXPORT extern void TFE_ContextSetExecutorForThread(TFE_Context *, TFE_Executor *);
TF_CAPI_EXPORT extern TFE_Executor *TFE_ContextGetExecutorForThread(TFE_Context *);
TF_CAPI_EXPORT extern void TFE_ContextAsyncWait(TFE_Context *ctx, TF_Status *status);

// Contexts that span a cluster (ServerDef messages), and the values that its tasks share.
TF_CAPI_EXPORT extern void TFE_ContextUpdateServerDef(TFE_Context *ctx, int keep_alive_secs, const void *proto,
                                                      size_t proto_len, TF_Status *status);
TF_CAPI_EXPORT extern void TFE_ContextUpdateServerDefWithTimeout(TFE_Context *ctx, int keep_alive_secs,
                                                                 const void *proto, size_t proto_len,
                                                                 int64_t init_timeout_in_ms, TF_Status *status);
TF_CAPI_EXPORT extern void TFE_ContextSetServerDefWithTimeout(TFE_Context *ctx, int keep_alive_secs, const void *proto,
                                                              size_t proto_len, int64_t init_timeout_in_ms,
                                                              TF_Status *status, bool clear_existing_contexts);
TF_CAPI_EXPORT extern void TFE_ContextSetServerDefWithTimeoutAndRetries(TFE_Context *ctx, int keep_alive_secs,
                                                                        const void *proto, size_t proto_len,
                                                                        int64_t init_timeout_in_ms, int retries,
                                                                        TF_Status *status,
                                                                        bool clear_existing_contexts);
TF_CAPI_EXPORT extern bool TFE_ContextCheckAlive(TFE_Context *ctx, const char *worker_name, TF_Status *status);
TF_CAPI_EXPORT extern void TFE_InsertConfigKeyValue(TFE_Context *ctx, const char *key, const char *value,
                                                    TF_Status *status);
TF_CAPI_EXPORT extern void TFE_GetConfigKeyValue(TFE_Context *ctx, const char *key, int64_t timeout_in_ms,
                                                 TF_Buffer *value_buf, TF_Status *status);
TF_CAPI_EXPORT extern void TFE_DeleteConfigKeyValue(TFE_Context *ctx, const char *key, TF_Status *status);
TF_CAPI_EXPORT extern void TFE_ReportErrorToCluster(TFE_Context *ctx, int error_code, const char *error_message,
                                                    TF_Status *status);
TF_CAPI_EXPORT extern void TFE_WaitAtBarrier(TFE_Context *ctx, const char *barrier_id, int64_t barrier_timeout_in_ms,
                                             TF_Status *status);
TF_CAPI_EXPORT extern void TFE_InitializeLocalOnlyContext(TFE_Context *ctx, int keep_alive_secs, const void *proto,
                                                          size_t proto_len, TF_Status *status);

// Memory of handles, and tensors made for a context.
TF_CAPI_EXPORT extern void *TFE_TensorHandleDevicePointer(TFE_TensorHandle *, TF_Status *);
TF_CAPI_EXPORT extern size_t TFE_TensorHandleDeviceMemorySize(TFE_TensorHandle *, TF_Status *);
TF_CAPI_EXPORT extern TFE_TensorHandle *TFE_NewTensorHandleFromDeviceMemory(
    TFE_Context *ctx, const char *device_name, TF_DataType, const int64_t *dims, int num_dims, void *data, size_t len,
    void (*deallocator)(void *data, size_t len, void *arg), void *deallocator_arg, TF_Status *status);
TF_CAPI_EXPORT extern void TFE_HostAddressSpace(TFE_Context *ctx, TF_Buffer *buf);
TF_CAPI_EXPORT extern TF_Tensor *TFE_AllocateHostTensor(TFE_Context *ctx, TF_DataType dtype, const int64_t *dims,
                                                        int num_dims, TF_Status *status);
TF_CAPI_EXPORT extern TFE_TensorHandle *TFE_NewTensorHandleFromTensor(TFE_Context *ctx, TF_Tensor *t,
                                                                      TF_Status *status);
TF_CAPI_EXPORT extern TFE_TensorHandle *TFE_CreatePackedTensorHandle(TFE_Context *ctx, TFE_TensorHandle **handles,
                                                                     int *num_handles, TF_Status *status);
TF_CAPI_EXPORT extern const char *TFE_TensorHandleDeviceType(TFE_TensorHandle *h, TF_Status *status);
TF_CAPI_EXPORT extern int TFE_TensorHandleDeviceID(TFE_TensorHandle *h, TF_Status *status);
TF_CAPI_EXPORT extern void TFE_TensorHandleGetStatus(TFE_TensorHandle *h, TF_Status *status);

// The attributes of an operation as an object.
typedef struct TFE_OpAttrs TFE_OpAttrs;

TF_CAPI_EXPORT extern const TFE_OpAttrs *TFE_OpGetAttrs(const TFE_Op *op);
TF_CAPI_EXPORT extern void TFE_OpAddAttrs(TFE_Op *op, const TFE_OpAttrs *attrs);
TF_CAPI_EXPORT extern void TFE_OpAttrsSerialize(const TFE_OpAttrs *attrs, TF_Buffer *buf, TF_Status *status);
TF_CAPI_EXPORT extern void TFE_OpSetAttrValueProto(const TFE_Op *op, const char *attr_name, const void *proto,
                                                   size_t proto_len, TF_Status *status);

TF_CAPI_EXPORT extern bool TFE_IsCustomDevice(TFE_Context *ctx, const char *device_name);

TF_CAPI_EXPORT extern void TFE_ContextGetFunctionDef(TFE_Context *ctx, const char *function_name, TF_Buffer *buf,
                                                     TF_Status *status);
TF_CAPI_EXPORT extern void TFE_ContextGetGraphDebugInfo(TFE_Context *ctx, const char *function_name, TF_Buffer *buf,
                                                        TF_Status *status);
TF_CAPI_EXPORT extern TF_Function *TFE_ContextGetFunction(TFE_Context *ctx, const char *name, TF_Status *status);
TF_CAPI_EXPORT extern void TFE_ContextSetSoftDevicePlacement(TFE_Context *ctx, unsigned char enable, TF_Status *status);
TF_CAPI_EXPORT extern void TFE_ContextSetLogDevicePlacement(TFE_Context *ctx, unsigned char enable, TF_Status *status);
TF_CAPI_EXPORT extern void TFE_ContextSetRunEagerOpAsFunction(TFE_Context *ctx, unsigned char enable,
                                                              TF_Status *status);
TF_CAPI_EXPORT extern void TFE_ContextSetJitCompileRewrite(TFE_Context *ctx, unsigned char enable, TF_Status *status);
TF_CAPI_EXPORT extern void TFE_GetExecutedOpNames(TFE_Context *ctx, TF_Buffer *buf, TF_Status *status);
TF_CAPI_EXPORT extern void TFE_SetLogicalCpuDevices(TFE_Context *ctx, int num_cpus, const char *prefix,
                                                    TF_Status *status);

#ifdef __cplusplus
}
#endif

#endif  // TENSORFLOW_C_EAGER_C_API_EXPERIMENTAL_H_
