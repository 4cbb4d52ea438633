// RecvTensor — what other tasks ask for: answered when it is there, by whoever puts it there. No thread waits.
#include <stdlib.h>

#include "cluster/client_error.h"
#include "cluster/tensor_wire.h"
#include "cluster/worker_internal.h"

typedef enum { STARTING, WAITING, ENDED } RecvState;

typedef struct {
    RendezvousTake take;     // first
    Worker *worker;
    RpcRequest *request;
    Rendezvous *rendezvous;  // retained
    int64_t step_id;
    Str key;                 // behind it
    CancelWatch watch;
    bool watched;
    _Atomic int state;
    Status *status;          // the result
    Tensor value;
    bool dead;
} Recv;

static void answer(Recv *recv) {
    Payload *payload = NULL;
    Status *status = client_error(recv->status);
    if (recv->watched)
        cancellation_unwatch(rpc_request_cancellation(recv->request), &recv->watch);
    if (!status)
        status = tensor_to_answer(&recv->value, recv->dead, &payload);
    tensor_clear(&recv->value);
    rpc_request_answer(recv->request, status, payload);
    steps_leave(recv->worker->steps, recv->step_id);
    rendezvous_release(recv->rendezvous);
    worker_call_ends(recv->worker);
    free(recv);
}

// Who ends it second answers: the result may come while the beginning is still at work.
static void recv_done(RendezvousTake *take, Status *status, Tensor value, bool dead) {
    Recv *recv = (Recv *)take;
    recv->status = status;
    recv->value = value;
    recv->dead = dead;
    if (atomic_exchange(&recv->state, ENDED) == WAITING)
        answer(recv);
}

static void on_cancelled(void *arg) {
    Recv *recv = arg;
    if (rendezvous_give_up(recv->rendezvous, recv->key, &recv->take))
        recv_done(&recv->take, status_new(CANCELLED, __FILE__, __LINE__, "the receiver has gone"), (Tensor){0}, false);
}

static void wait_for_value(Recv *recv) {
    rendezvous_take(steps_local(recv->rendezvous), recv->key, &recv->take);
    if (atomic_load(&recv->state) == STARTING) {
        recv->watched = cancellation_watch(rpc_request_cancellation(recv->request), &recv->watch, on_cancelled, recv);
        if (!recv->watched)
            on_cancelled(recv);
    }
    int before = STARTING;
    if (!atomic_compare_exchange_strong(&recv->state, &before, WAITING))
        answer(recv);  // NOLINT(clang-analyzer-unix.Malloc): recv_done frees only what is WAITING
}

// A restarted task is not the one that the key was made for: this is how others notice.
static Status *check_sender(const Worker *worker, const StepKey *key) {
    const DeviceSet *devices = &worker->environment->devices;
    char text[32];
    for (int d = 0; d < devices->n; d++) {
        const Device *device = devices->devices[d];
        if (!str_is(key->from, device->name))
            continue;
        snprintf(text, sizeof text, "%016llx", (unsigned long long)device->incarnation);
        NEED(str_is(key->incarnation, text), ABORTED,
             "RecvTensor expects a different device incarnation: %.*s vs. %s. Your worker job (\"%.*s\") was probably "
             "restarted. Check your worker job for the reason why it was restarted.", STR_ARGS(key->incarnation), text,
             STR_ARGS(worker_task(worker)));
        return OK;
    }
    FAIL(INVALID_ARGUMENT, "RecvTensor of %.*s, a device that this task does not have", STR_ARGS(key->from));
}

static Status *begin(Worker *worker, RpcRequest *rpc, Recv **out) {
    AUTO(arena) Arena arena = {0};
    RecvTensorRequestProto *request;
    StepKey key;
    const Received *message = rpc_request_message(rpc);
    Status *status = PROTO_DECODE(RecvTensorRequestProto, &arena, ((Str){(const char *)message->bytes, message->n}), &request);
    if (status)
        return status_with_code(status_prefix(status, "Unable to parse request"), INTERNAL);
    TRY(step_key_parse(request->rendezvous_key, &key));
    TRY(check_sender(worker, &key));
    NEED(recent_ids_add(&worker->received, request->request_id), ABORTED,
         "The same RecvTensor (GrpcWorker) request was received twice.");
    Recv *recv = calloc(1, sizeof *recv + request->rendezvous_key.n);
    NEED_MEMORY(recv);
    memcpy(recv + 1, request->rendezvous_key.p, request->rendezvous_key.n);
    *recv = (Recv){.take.done = recv_done, .worker = worker, .request = rpc, .step_id = request->step_id,
                   .key = {(const char *)(recv + 1), request->rendezvous_key.n}};
    status = steps_visit(worker->steps, recv->step_id, &recv->rendezvous);
    if (status)
        free(recv);
    else
        *out = recv;
    return status;
}

static void recv_tensor(void *arg, RpcRequest *request) {
    Worker *worker = arg;
    Recv *recv;
    worker_call_begins(worker);
    Status *status = begin(worker, request, &recv);
    if (!status) {
        wait_for_value(recv);
        return;
    }
    rpc_request_answer(request, status, NULL);
    worker_call_ends(worker);
}

Status *worker_add_recv_tensor(Worker *worker, RpcServer *server) {
    return rpc_server_add(server, "/tensorflow.WorkerService/RecvTensor", recv_tensor, worker);
}
