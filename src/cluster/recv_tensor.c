// RecvTensor — what other tasks ask for: answered when it is there, by whoever puts it there. No thread waits.
#include <stdlib.h>

#include "cluster/client_error.h"
#include "cluster/tensor_wire.h"
#include "cluster/worker_internal.h"
#include "resource/variable.h"

typedef enum { STARTING, WAITING, ENDED } RecvState;

typedef struct {
    RendezvousTake take;     // first
    Worker *worker;
    RpcRequest *request;
    Rendezvous *rendezvous;  // retained
    int64_t step_id;
    Str key;                 // behind it, as is the next
    AnyProto offer;          // of the request; no type: none
    CancelWatch watch;
    bool watched;
    _Atomic int state;
    Status *status;          // the result
    Tensor value;
    bool dead;
} Recv;

// A reference is what its variable is by now.
static Status *read_reference(Tensor *value) {
    Tensor handle = *value;
    if (handle.dtype != DT_resource)
        return OK;
    *value = (Tensor){0};
    Status *status = variable_read_handle(&handle, value);
    tensor_clear(&handle);
    return status;
}

static void answer(Recv *recv) {
    Payload *payload = NULL;
    Status *status = client_error(recv->status);
    if (!status && !recv->dead)
        status = read_reference(&recv->value);
    if (recv->watched)
        cancellation_unwatch(rpc_request_cancellation(recv->request), &recv->watch);
    if (!status && !recv->dead && tensor_lanes_take(recv->worker->lanes, &recv->value, &recv->offer)) {
        status = tensor_lanes_answer(recv->worker->lanes, recv->step_id, recv->value, &recv->offer, &payload);
        recv->value = (Tensor){0};
    } else if (!status) {
        status = tensor_to_answer(&recv->value, recv->dead, &payload);
    }
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

// A restarted task is not the one that the key was made for: this is how others notice. In a cluster that a client has
// brought the same device has another name.
static Status *check_sender(const Worker *worker, const StepKey *key) {
    const DeviceSet *devices = &worker->environment->devices;
    char text[32];
    for (int d = 0; d < devices->n; d++) {
        const Device *device = devices->devices[d];
        snprintf(text, sizeof text, "%016llx", (unsigned long long)device->incarnation);
        if (str_is(key->incarnation, text))
            return OK;
        NEED(!str_is(key->from, device->name), ABORTED,
             "RecvTensor expects a different device incarnation: %.*s vs. %s. Your worker job (\"%.*s\") was probably "
             "restarted. Check your worker job for the reason why it was restarted.", STR_ARGS(key->incarnation), text,
             STR_ARGS(worker_task(worker)));
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
    const AnyProto *offer = request->transport_options;
    size_t n = request->rendezvous_key.n, n_offer = offer && str_is(offer->type_url, LANE_OFFER_TYPE) ? offer->value.n : 0;
    Recv *recv = calloc(1, sizeof *recv + n + n_offer);
    NEED_MEMORY(recv);
    char *texts = (char *)(recv + 1);
    memcpy(texts, request->rendezvous_key.p, n);
    *recv = (Recv){.take.done = recv_done, .worker = worker, .request = rpc, .step_id = request->step_id,
                   .key = {texts, n}};
    if (n_offer) {
        memcpy(texts + n, offer->value.p, n_offer);
        recv->offer = (AnyProto){.type_url = STR(LANE_OFFER_TYPE), .value = {texts + n, n_offer}};
    }
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
