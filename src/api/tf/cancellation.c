// TFE_CancellationManager — lets a client cancel; callbacks run once, on the thread that cancels. Operations run to
// their end on their caller's thread, so one that is set on an operation refuses to start it when it is cancelled
// already.
#include <stdlib.h>

#include "api/tf/eager.h"

typedef struct Callback {
    struct Callback *next;
    TFE_CancellationToken token;
    TFE_CancelCallback call;
} Callback;

struct TFE_CancellationManager {
    Mutex lock;
    Callback *callbacks;       // guarded by lock, as is the rest
    TFE_CancellationToken last;
    bool cancelling, cancelled;
};

TFE_CancellationManager *TFE_NewCancellationManager(void) {
    TFE_CancellationManager *manager = calloc(1, sizeof *manager);
    if (manager)
        mutex_init(&manager->lock);
    return manager;
}

void TFE_DeleteCancellationManager(TFE_CancellationManager *manager) {
    if (!manager)
        return;
    while (manager->callbacks) {
        Callback *next = manager->callbacks->next;
        free(manager->callbacks);
        manager->callbacks = next;
    }
    mutex_clear(&manager->lock);
    free(manager);
}

static bool flag(TFE_CancellationManager *manager, const bool *which) {
    mutex_lock(&manager->lock);
    bool value = *which;
    mutex_unlock(&manager->lock);
    return value;
}

bool TFE_CancellationManagerIsCancelled(TFE_CancellationManager *manager) {
    return flag(manager, &manager->cancelled);
}

bool TFE_CancellationManagerIsCancelling(TFE_CancellationManager *manager) {
    return flag(manager, &manager->cancelling);
}

void TFE_CancellationManagerStartCancel(TFE_CancellationManager *manager) {
    mutex_lock(&manager->lock);
    bool first = !manager->cancelling && !manager->cancelled;
    manager->cancelling |= first;
    Callback *callbacks = first ? manager->callbacks : NULL;
    if (first)
        manager->callbacks = NULL;
    mutex_unlock(&manager->lock);
    while (callbacks) {
        Callback *next = callbacks->next;
        callbacks->call.callback(callbacks->call.context);
        free(callbacks);
        callbacks = next;
    }
    if (!first)
        return;
    mutex_lock(&manager->lock);
    manager->cancelling = false;
    manager->cancelled = true;
    mutex_unlock(&manager->lock);
}

TFE_CancellationToken TFE_CancellationManagerGetToken(TFE_CancellationManager *manager) {
    mutex_lock(&manager->lock);
    TFE_CancellationToken token = ++manager->last;
    mutex_unlock(&manager->lock);
    return token;
}

bool TFE_CancellationManagerRegisterCallback(TFE_CancellationManager *manager, TFE_CancellationToken token,
                                             const TFE_CancelCallback *c_callback, const char *callback_name) {
    (void)callback_name;
    Callback *callback = malloc(sizeof *callback);
    mutex_lock(&manager->lock);
    bool good = callback && !manager->cancelling && !manager->cancelled;
    if (good) {
        *callback = (Callback){manager->callbacks, token, *c_callback};
        manager->callbacks = callback;
    }
    mutex_unlock(&manager->lock);
    if (!good)
        free(callback);
    return good;
}

bool TFE_CancellationManagerDeregisterCallback(TFE_CancellationManager *manager, TFE_CancellationToken token) {
    Callback *found = NULL;
    mutex_lock(&manager->lock);
    for (Callback **at = &manager->callbacks; *at; at = &(*at)->next)
        if ((*at)->token == token) {
            found = *at;
            *at = found->next;
            break;
        }
    mutex_unlock(&manager->lock);
    free(found);
    return found != NULL;
}

bool TFE_CancellationManagerTryDeregisterCallback(TFE_CancellationManager *manager, TFE_CancellationToken token) {
    return TFE_CancellationManagerDeregisterCallback(manager, token);
}

void TFE_OpSetCancellationManager(TFE_Op *op, TFE_CancellationManager *cancellation_manager, TF_Status *status) {
    if (cancellation_manager && flag(cancellation_manager, &cancellation_manager->cancelled) && !op->attrs.error)
        op->attrs.error = API_ERROR(CANCELLED, "Operation was cancelled");
    api_ok(status);
}

// ---------------------------------------- memory of the client as a handle

TFE_TensorHandle *TFE_NewTensorHandleFromDeviceMemory(TFE_Context *ctx, const char *device_name, TF_DataType dtype,
                                                      const int64_t *dims, int num_dims, void *data, size_t len,
                                                      void (*deallocator)(void *data, size_t len, void *arg),
                                                      void *deallocator_arg, TF_Status *status) {
    (void)ctx, (void)device_name;
    TF_Tensor *tensor = TF_NewTensor(dtype, dims, num_dims, data, len, deallocator, deallocator_arg);
    if (!tensor) {
        api_set(status, API_ERROR(INVALID_ARGUMENT, "%zu bytes are too few for that shape", len));
        return NULL;
    }
    TFE_TensorHandle *handle = TFE_NewTensorHandle(tensor, status);
    TF_DeleteTensor(tensor);
    return handle;
}
