// Steps — see steps.h.
#define _GNU_SOURCE
#include "cluster/steps.h"

#include <stdlib.h>

#include "base/map.h"
#include "cluster/tensor_lane.h"
#include "thread/pool.h"

typedef struct {
    Rendezvous rendezvous;   // first
    Rendezvous *local;
    int64_t id;
    TaskSession *_Atomic session;  // whose parts run here; NULL: none yet
    Cancellation ending;     // of the calls that ask others
} StepRendezvous;

typedef struct {
    int64_t id;              // its bytes are the key
    Rendezvous *rendezvous;
    const void *session;     // NULL: nothing of it has run here yet
    int visitors;
} StepEntry;

struct Steps {
    Mutex lock;
    Map entries;             // guarded by lock
    bool closed;
};

Status *step_key_parse(Str key, StepKey *out) {
    Str parts[5];
    size_t n = 0, from = 0;
    for (size_t i = 0; i <= key.n && n < 5; i++)
        if (i == key.n || (key.p[i] == ';' && n < 4)) {
            parts[n++] = (Str){key.p + from, i - from};
            from = i + 1;
        }
    NEED(n == 5, INVALID_ARGUMENT, "Invalid  rendezvous key: %.*s", STR_ARGS(key));
    *out = (StepKey){parts[0], parts[1], parts[2], parts[3], parts[4]};
    return OK;
}

// ---------------------------------------- asking others

enum { DECODE_AWAY = 256 << 10 };  // bytes of an answer that would hold up the loop

typedef struct {
    StepRendezvous *step;    // retained
    RendezvousTake *take;
    Peer *peer;              // whom it asks
    RpcReply reply;
    Arena arena;             // of what the answer says
    TensorAnswer answer;
} Fetch;

static StepRendezvous *step_of(Rendezvous *rendezvous) {
    return (StepRendezvous *)rendezvous;
}

// Takes the status.
static void fetch_end(void *arg, Status *status) {
    Fetch *fetch = arg;
    StepRendezvous *step = fetch->step;
    RendezvousTake *take = fetch->take;
    Tensor value = fetch->answer.value;
    bool dead = fetch->answer.dead;
    if (status && cancellation_is_set(&step->ending)) {
        status_free(status);
        status = cancellation_check(&step->ending);
    }
    status = peer_error(peer_task(fetch->peer), status);
    if (status) {
        tensor_clear(&value);
        value = (Tensor){0};
    }
    rpc_reply_clear(&fetch->reply);
    arena_clear(&fetch->arena);
    free(fetch);
    take->done(take, status, value, dead);
    rendezvous_release(&step->rendezvous);
}

static void fetch_bulk(void *arg) {
    Fetch *fetch = arg;
    tensor_lane_fetch(fetch->peer, fetch->answer.ticket, &fetch->answer.value, &fetch->step->ending, fetch_end, fetch);
}

static void fetch_read(void *arg) {
    Fetch *fetch = arg;
    Status *status = fetch->reply.status;
    fetch->reply.status = OK;
    if (!status)
        status = tensor_from_answer((Str){(const char *)fetch->reply.message.bytes, fetch->reply.message.n}, &fetch->arena,
                                    &fetch->answer);
    if (status || !fetch->answer.ticket)
        fetch_end(fetch, status);
    else if (!pool_elastic(fetch_bulk, fetch))
        fetch_end(fetch, status_new(RESOURCE_EXHAUSTED, __FILE__, __LINE__, "no thread for a tensor"));
}

static void fetch_done(void *arg, RpcReply *reply) {
    Fetch *fetch = arg;
    fetch->reply = *reply;
    *reply = (RpcReply){0};
    if (fetch->reply.message.n < DECODE_AWAY || !pool_elastic(fetch_read, fetch))
        fetch_read(fetch);
}

static Status *fetch_begin(StepRendezvous *step, Peer *peer, Str key, RendezvousTake *take) {
    Fetch *fetch = calloc(1, sizeof *fetch);
    NEED_MEMORY(fetch);
    *fetch = (Fetch){.step = step, .take = take, .peer = peer};
    AnyProto offer = *tensor_lane_offer();
    RecvTensorRequestProto request = {.step_id = step->id, .rendezvous_key = key, .transport_options = &offer};
    PeerCall call = {.method = "RecvTensor", .type = &message_RecvTensorRequestProto, .request = &request,
                     .cancellation = &step->ending};
    rendezvous_retain(&step->rendezvous);
    Status *status = peer_call(peer, &call, fetch_done, fetch);
    if (!status)
        return OK;
    free(fetch);
    rendezvous_release(&step->rendezvous);
    return status;
}

// ---------------------------------------- the rendezvous of a step

static Status *put(Rendezvous *rendezvous, Str key, Tensor value, bool dead) {
    return rendezvous_put(step_of(rendezvous)->local, key, value, dead);
}

// The task in whose memory the value is; NULL: this one.
static Status *sender(const StepRendezvous *step, Str key, Peer **out) {
    StepKey parts;
    TaskSession *session = atomic_load(&step->session);
    TRY(step_key_parse(key, &parts));
    NEED(session, INTERNAL, "nothing of the step runs here");
    const char *device = parts.from.n ? memmem(parts.from.p, parts.from.n, "/device:", 8) : NULL;
    Str task = {parts.from.p, device ? (size_t)(device - parts.from.p) : parts.from.n};
    *out = NULL;
    if (str_equal(task, task_session_task(session)))
        return OK;
    *out = peers_find(task_session_peers(session), task);
    NEED(*out, INVALID_ARGUMENT, "%.*s is to be received from %.*s, which is no task of this cluster", STR_ARGS(parts.tensor),
         STR_ARGS(task));
    return OK;
}

static void take(Rendezvous *rendezvous, Str key, RendezvousTake *taking) {
    StepRendezvous *step = step_of(rendezvous);
    Peer *peer = NULL;
    Status *status = cancellation_is_set(&step->ending) ? cancellation_check(&step->ending) : sender(step, key, &peer);
    if (!status && !peer) {
        rendezvous_take(step->local, key, taking);
        return;
    }
    if (!status)
        status = fetch_begin(step, peer, key, taking);
    if (status)
        taking->done(taking, status, (Tensor){0}, false);
}

// What is asked of others ends with the step alone.
static bool give_up(Rendezvous *rendezvous, Str key, RendezvousTake *taking) {
    return rendezvous_give_up(step_of(rendezvous)->local, key, taking);
}

static void abort_step(Rendezvous *rendezvous, Status *reason) {
    StepRendezvous *step = step_of(rendezvous);
    if (!reason)
        reason = status_new(CANCELLED, __FILE__, __LINE__, "the step was cancelled");
    cancellation_cancel(&step->ending, status_copy(reason));
    rendezvous_abort(step->local, reason);
}

static void free_step(Rendezvous *rendezvous) {
    StepRendezvous *step = step_of(rendezvous);
    rendezvous_release(step->local);
    cancellation_clear(&step->ending);
    free(step);
}

static const RendezvousType step_type = {
    .put = put, .take = take, .give_up = give_up, .abort = abort_step, .free = free_step,
};

Rendezvous *steps_local(Rendezvous *rendezvous) {
    return step_of(rendezvous)->local;
}

static Status *step_rendezvous_new(int64_t id, Rendezvous **out) {
    StepRendezvous *step = calloc(1, sizeof *step);
    NEED_MEMORY(step);
    *step = (StepRendezvous){.rendezvous = {.type = &step_type, .references = 1}, .id = id};
    cancellation_init(&step->ending, NULL);
    Status *status = local_rendezvous_new(&step->local);
    if (status)
        free_step(&step->rendezvous);
    else
        *out = &step->rendezvous;
    return status;
}

// ---------------------------------------- by number

static Str key_of(const int64_t *id) {
    return (Str){(const char *)id, sizeof *id};
}

static Status *find_or_add(Steps *steps, int64_t id, StepEntry **out) REQUIRES(steps->lock) {
    *out = map_find(&steps->entries, key_of(&id));
    if (*out)
        return OK;
    NEED(!steps->closed, UNAVAILABLE, "the server ends");
    StepEntry *entry = calloc(1, sizeof *entry);
    NEED_MEMORY(entry);
    entry->id = id;
    Status *status = step_rendezvous_new(id, &entry->rendezvous);
    if (!status && !map_set(&steps->entries, key_of(&entry->id), entry))
        status = OUT_OF_MEMORY;
    if (status) {
        rendezvous_release(entry->rendezvous);
        free(entry);
        return status;
    }
    *out = entry;
    return OK;
}

Status *steps_enter(Steps *steps, int64_t id, TaskSession *session, Rendezvous **out) {
    StepEntry *entry;
    mutex_lock(&steps->lock);
    Status *status = find_or_add(steps, id, &entry);
    if (!status) {
        entry->session = session;
        atomic_store(&step_of(entry->rendezvous)->session, session);
        *out = rendezvous_retain(entry->rendezvous);
    }
    mutex_unlock(&steps->lock);
    return status;
}

Status *steps_visit(Steps *steps, int64_t id, Rendezvous **out) {
    StepEntry *entry;
    mutex_lock(&steps->lock);
    Status *status = find_or_add(steps, id, &entry);
    if (!status) {
        entry->visitors++;
        *out = rendezvous_retain(entry->rendezvous);
    }
    mutex_unlock(&steps->lock);
    return status;
}

// Takes it out; NULL: it is not there.
static Rendezvous *take_out(Steps *steps, int64_t id) REQUIRES(steps->lock) {
    StepEntry *entry = map_take(&steps->entries, key_of(&id));
    Rendezvous *rendezvous = entry ? entry->rendezvous : NULL;
    free(entry);
    return rendezvous;
}

// Nothing is left of a step that was only asked for.
void steps_leave(Steps *steps, int64_t id) {
    mutex_lock(&steps->lock);
    StepEntry *entry = map_find(&steps->entries, key_of(&id));
    bool over = entry && --entry->visitors <= 0 && !entry->session;
    Rendezvous *rendezvous = over ? take_out(steps, id) : NULL;
    mutex_unlock(&steps->lock);
    rendezvous_release(rendezvous);
}

static void end(Rendezvous *rendezvous, int64_t id) {
    if (!rendezvous)
        return;
    rendezvous_abort(rendezvous, status_new(ABORTED, __FILE__, __LINE__, "Step %lld is over.", (long long)id));
    rendezvous_release(rendezvous);
}

void steps_end(Steps *steps, int64_t id) {
    mutex_lock(&steps->lock);
    Rendezvous *rendezvous = take_out(steps, id);
    mutex_unlock(&steps->lock);
    end(rendezvous, id);
}

// `session` NULL: any.
static bool take_one(Steps *steps, const void *session, int64_t *out_id, Rendezvous **out) {
    size_t at = 0;
    Str key;
    void *value;
    bool found = false;
    mutex_lock(&steps->lock);
    steps->closed |= !session;
    while (!found && map_next(&steps->entries, &at, &key, &value))
        found = !session || ((StepEntry *)value)->session == session;
    if (found) {
        *out_id = ((StepEntry *)value)->id;
        *out = take_out(steps, *out_id);
    }
    mutex_unlock(&steps->lock);
    return found;
}

void steps_end_session(Steps *steps, const void *session) {
    int64_t id;
    Rendezvous *rendezvous;
    while (take_one(steps, session, &id, &rendezvous))
        end(rendezvous, id);
}

size_t steps_count(Steps *steps) {
    mutex_lock(&steps->lock);
    size_t n = steps->entries.n;
    mutex_unlock(&steps->lock);
    return n;
}

Status *steps_new(Steps **out) {
    Steps *steps = calloc(1, sizeof *steps);
    NEED_MEMORY(steps);
    mutex_init(&steps->lock);
    *out = steps;
    return OK;
}

void steps_free(Steps *steps) {
    if (!steps)
        return;
    steps_end_session(steps, NULL);
    map_clear(&steps->entries);
    mutex_clear(&steps->lock);
    free(steps);
}
