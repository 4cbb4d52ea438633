// TFE_Context, TFE_ContextOptions — see eager/c_api.h. Everything runs on the caller's thread: asynchronous contexts
// are accepted and are done when they return.
#include <stdlib.h>

#include "api/environment.h"
#include "api/tf/device_list.h"
#include "api/tf/eager.h"

TFE_ContextOptions *TFE_NewContextOptions(void) {
    TFE_ContextOptions *options = calloc(1, sizeof *options);
    if (options) {
        options->config = session_config_default();
        options->policy = TFE_DEVICE_PLACEMENT_SILENT;
    }
    return options;
}

void TFE_ContextOptionsSetConfig(TFE_ContextOptions *options, const void *proto, size_t proto_len, TF_Status *status) {
    SessionConfig config = session_config_default();
    if (!api_failed(status, session_config_parse(api_bytes(proto, proto_len), &config)))
        options->config = config;
}

void TFE_ContextOptionsSetAsync(TFE_ContextOptions *options, unsigned char enable) {
    options->async = enable != 0;
}

void TFE_ContextOptionsSetDevicePlacementPolicy(TFE_ContextOptions *options, TFE_ContextDevicePlacementPolicy policy) {
    options->policy = policy;
}

void TFE_ContextOptionsSetTfrt(TFE_ContextOptions *options, bool use_tfrt) {
    (void)options, (void)use_tfrt;
}

void TFE_DeleteContextOptions(TFE_ContextOptions *options) {
    free(options);
}

static Status *open_context(const SessionConfig *config, EagerContext **out) {
    TRY(environment_check());
    return eager_new(config, out);
}

TFE_Context *TFE_NewContext(const TFE_ContextOptions *opts, TF_Status *status) {
    static _Atomic uint64_t last;
    api_begin();
    TFE_Context *context = calloc(1, sizeof *context);
    SessionConfig config = opts ? opts->config : session_config_default();
    if (api_failed(status, context ? open_context(&config, &context->eager) : OUT_OF_MEMORY)) {
        free(context);
        return NULL;
    }
    context->policy = opts ? opts->policy : TFE_DEVICE_PLACEMENT_SILENT;
    context->id = atomic_fetch_add(&last, 1) + 1;
    return context;
}

void TFE_DeleteContext(TFE_Context *ctx) {
    if (!ctx)
        return;
    eager_free(ctx->eager);
    free(ctx);
}

TF_DeviceList *TFE_ContextListDevices(TFE_Context *ctx, TF_Status *status) {
    return device_list_new(eager_session(ctx->eager), status);
}

void TFE_ContextClearCaches(TFE_Context *ctx) {
    (void)ctx;
}

void TFE_ContextSetThreadLocalDevicePlacementPolicy(TFE_Context *ctx, TFE_ContextDevicePlacementPolicy policy) {
    ctx->policy = policy;
}

TFE_ContextDevicePlacementPolicy TFE_ContextGetDevicePlacementPolicy(TFE_Context *ctx) {
    return ctx->policy;
}

uint64_t TFE_GetContextId(TFE_Context *ctx) {
    return ctx->id;
}

void TFE_ContextStartStep(TFE_Context *ctx) {
    (void)ctx;
}

void TFE_ContextEndStep(TFE_Context *ctx) {
    (void)ctx;
}

void TFE_ContextAsyncWait(TFE_Context *ctx, TF_Status *status) {
    (void)ctx;
    api_ok(status);
}

void TFE_ContextSetSoftDevicePlacement(TFE_Context *ctx, unsigned char enable, TF_Status *status) {
    (void)ctx, (void)enable;
    api_ok(status);
}

void TFE_ContextSetLogDevicePlacement(TFE_Context *ctx, unsigned char enable, TF_Status *status) {
    (void)ctx, (void)enable;
    api_ok(status);
}

void TFE_ContextEnableRunMetadata(TFE_Context *ctx) {
    (void)ctx;
}

void TFE_ContextDisableRunMetadata(TFE_Context *ctx) {
    (void)ctx;
}

void TFE_ContextExportRunMetadata(TFE_Context *ctx, TF_Buffer *buf, TF_Status *status) {
    (void)ctx;
    AUTO(text) Text none = {0};
    api_set(status, buffer_fill(buf, &none));
}

void TFE_ContextEnableGraphCollection(TFE_Context *ctx) {
    (void)ctx;
}

void TFE_ContextDisableGraphCollection(TFE_Context *ctx) {
    (void)ctx;
}

bool TFE_IsCustomDevice(TFE_Context *ctx, const char *device_name) {
    (void)ctx, (void)device_name;
    return false;
}

// ---------------------------------------- functions

void TFE_ContextAddFunctionDef(TFE_Context *ctx, const char *serialized_function_def, size_t size, TF_Status *status) {
    AUTO(function) Function *function = NULL;
    if (!api_failed(status, function_new(api_bytes(serialized_function_def, size), &function)))
        api_set(status, eager_add_function(ctx->eager, function));
}

void TFE_ContextAddFunction(TFE_Context *ctx, TF_Function *function, TF_Status *status) {
    api_set(status, eager_add_function(ctx->eager, function->function));
}

void TFE_ContextRemoveFunction(TFE_Context *ctx, const char *name, TF_Status *status) {
    api_set(status, eager_remove_function(ctx->eager, str_of(name)));
}

unsigned char TFE_ContextHasFunction(TFE_Context *ctx, const char *name) {
    return eager_find_function(ctx->eager, str_of(name)) != NULL;
}

static Status *find_function(TFE_Context *ctx, const char *name, Function **out) {
    *out = eager_find_function(ctx->eager, str_of(name));
    NEED(*out, NOT_FOUND, "Unable to find FunctionDef with name: %s", name);
    return OK;
}

void TFE_ContextGetFunctionDef(TFE_Context *ctx, const char *function_name, TF_Buffer *buf, TF_Status *status) {
    Function *function;
    if (api_failed(status, find_function(ctx, function_name, &function)))
        return;
    AUTO(text) Text text = {0};
    text_add(&text, function->bytes);
    api_set(status, buffer_fill(buf, &text));
}

TF_Function *TFE_ContextGetFunction(TFE_Context *ctx, const char *name, TF_Status *status) {
    Function *function;
    if (api_failed(status, find_function(ctx, name, &function)))
        return NULL;
    return api_function(function_retain(function));
}

// ---------------------------------------- executors: each is done when it returns

struct TFE_Executor {
    bool async;
};

TFE_Executor *TFE_NewExecutor(bool is_async, bool enable_streaming_enqueue, int in_flight_nodes_limit) {
    (void)enable_streaming_enqueue, (void)in_flight_nodes_limit;
    TFE_Executor *executor = calloc(1, sizeof *executor);
    if (executor)
        executor->async = is_async;
    return executor;
}

void TFE_DeleteExecutor(TFE_Executor *executor) {
    free(executor);
}

bool TFE_ExecutorIsAsync(TFE_Executor *executor) {
    return executor->async;
}

void TFE_ExecutorWaitForAllPendingNodes(TFE_Executor *executor, TF_Status *status) {
    (void)executor;
    api_ok(status);
}

void TFE_ExecutorClearError(TFE_Executor *executor) {
    (void)executor;
}

void TFE_ContextSetExecutorForThread(TFE_Context *ctx, TFE_Executor *executor) {
    (void)ctx, (void)executor;
}

TFE_Executor *TFE_ContextGetExecutorForThread(TFE_Context *ctx) {
    (void)ctx;
    return TFE_NewExecutor(false, false, 0);
}
