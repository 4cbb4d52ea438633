// Service — see service.h.
#include "cluster/service.h"

#include <stdlib.h>

#include "thread/pool.h"

// A method of one service: what the server calls it with.
typedef struct {
    Service *service;
    const ServiceMethod *method;
} Slot;

struct Service {
    void *arg;
    Slot *slots;
    Mutex lock;
    Condition idle;
    int64_t calls;           // being answered; guarded by lock, as is what follows
    int64_t steps;           // those among them that began something
    bool drains;
};

typedef struct {
    ServiceCall call;        // first
    const ServiceMethod *method;
    CancelWatch watch;
} Task;

static void cancel(void *arg) {
    Task *task = arg;
    Status *reason = cancellation_check(rpc_request_cancellation(task->call.request));
    cancellation_cancel(&task->call.cancelled, reason);
}

static Status *answer(Task *task, Payload **out) {
    ServiceCall *call = &task->call;
    const ServiceMethod *method = task->method;
    void *request, *response = arena_alloc(&call->arena, method->response->size);
    NEED_MEMORY(response);
    Status *status = proto_decode(&call->arena, method->request, call->message, &request);
    if (status && status_code(status) == INVALID_ARGUMENT)
        return status_with_code(status_prefix(status, "Unable to parse request"), INTERNAL);
    TRY(status);
    TRY(method->answer(call->service->arg, call, request, response));
    Text text = {0};
    status = proto_encode(method->response, response, &text);
    if (!status)
        status = payload_new(out);
    if (!status)
        status = payload_add(*out, (Piece){text.p, text.n, free, text.p});
    else
        text_clear(&text);
    return status;
}

// False: it is refused.
static bool begun(Service *service, const ServiceMethod *method) {
    mutex_lock(&service->lock);
    bool good = !method->begins || !service->drains;
    service->calls += good;
    service->steps += good && method->begins;
    mutex_unlock(&service->lock);
    return good;
}

static void ended(Service *service, const ServiceMethod *method) {
    mutex_lock(&service->lock);
    service->steps -= method->begins;
    if (--service->calls == 0)
        condition_notify_all(&service->idle);
    mutex_unlock(&service->lock);
}

static void run(void *arg) {
    Task *task = arg;
    ServiceCall *call = &task->call;
    Service *service = call->service;
    const ServiceMethod *method = task->method;
    Payload *payload = NULL;
    Cancellation *client = rpc_request_cancellation(call->request);
    bool watched = cancellation_watch(client, &task->watch, cancel, task);
    Status *status = watched ? answer(task, &payload) : cancellation_check(client);
    if (watched)
        cancellation_unwatch(client, &task->watch);
    cancellation_clear(&call->cancelled);  // before what it may be a child of goes
    if (call->release)
        call->release(call->kept);
    if (status && payload) {
        payload_release(payload);
        payload = NULL;
    }
    rpc_request_answer(call->request, status, payload);
    arena_clear(&call->arena);
    free(task);
    ended(service, method);
}

static void take(void *arg, RpcRequest *request) {
    const Slot *slot = arg;
    Task *task = calloc(1, sizeof *task);
    if (!task || !begun(slot->service, slot->method)) {
        rpc_request_answer(request, task ? status_new(UNAVAILABLE, __FILE__, __LINE__, "the server is about to end") :
                                           OUT_OF_MEMORY, NULL);
        free(task);
        return;
    }
    Received *message = rpc_request_message(request);
    task->method = slot->method;
    task->call = (ServiceCall){.service = slot->service, .request = request,
                               .message = {(const char *)message->bytes, message->n}};
    cancellation_init(&task->call.cancelled, NULL);
    if (pool_elastic(run, task))
        return;
    rpc_request_answer(request, status_new(RESOURCE_EXHAUSTED, __FILE__, __LINE__, "no thread for the request"), NULL);
    cancellation_clear(&task->call.cancelled);
    free(task);
    ended(slot->service, slot->method);
}

void service_drain(Service *service) {
    mutex_lock(&service->lock);
    service->drains = true;
    mutex_unlock(&service->lock);
}

int64_t service_steps(Service *service) {
    mutex_lock(&service->lock);
    int64_t n = service->steps;
    mutex_unlock(&service->lock);
    return n;
}

Status *service_new(RpcServer *server, const ServiceMethod *methods, void *arg, Service **out) {
    size_t n = 0;
    while (methods[n].path)
        n++;
    Service *service = calloc(1, sizeof *service);
    NEED_MEMORY(service);
    mutex_init(&service->lock);
    condition_init(&service->idle);
    service->arg = arg;
    service->slots = calloc(n + 1, sizeof *service->slots);
    Status *status = service->slots ? OK : OUT_OF_MEMORY;
    for (size_t i = 0; i < n && !status; i++) {
        service->slots[i] = (Slot){service, &methods[i]};
        status = rpc_server_add(server, methods[i].path, take, &service->slots[i]);
    }
    if (status)
        service_free(service);
    else
        *out = service;
    return status;
}

void service_free(Service *service) {
    if (!service)
        return;
    mutex_lock(&service->lock);
    while (service->calls)
        condition_wait(&service->idle, &service->lock);
    mutex_unlock(&service->lock);
    condition_clear(&service->idle);
    mutex_clear(&service->lock);
    free(service->slots);
    free(service);
}
