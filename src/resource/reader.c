// Reader — see reader.h: TensorFlow 1's readers (files by name from a queue, records one by one).
//
// One operation has the reader at a time; others wait in turn, without a thread. Reading files may block, so it happens
// on an elastic thread, unless what is open answers at once. The next name is dequeued asynchronously: asker and answer
// exchange one word, and whoever comes second goes on.
#include "resource/reader.h"

#include <stdlib.h>

#include "resource/wait_list.h"
#include "thread/pool.h"

struct Reader {
    Resource resource;
    const ReaderKind *kind;
    void *state;
    WaitList turns;                // who waits for the reader; its lock guards `is_taken` alone
    bool is_taken;
    _Atomic int64_t started, finished, records;
    // Of whoever has the reader:
    Text work;
    bool is_open;                  // the kind has begun with `work`
    ReaderPosition resume;         // where to go on in a work that was restored
};

typedef enum { ASKING, CAME, WAITS } Dequeue;

// Of a reader's user, from its call to `done`.
typedef struct {
    Wait wait;
    Reader *reader;
    Queue *queue;
    Cancellation *cancellation;
    int64_t most, got;
    bool up_to;
    bool is_elastic;               // runs on a thread that may block
    pthread_t beginner;
    ReaderPutFn *put;
    ReaderDoneFn *done;
    ReaderActFn *act;              // instead of reading
    void *arg;
    Status *status;                // what the queue said
    _Atomic int dequeue;           // Dequeue: whoever of asker and answer comes second goes on
} Operation;

// ---------------------------------------- having the reader

static bool serve(void *owner, Wait *wait) {
    (void)wait;
    Reader *reader = owner;
    if (reader->is_taken)
        return false;
    reader->is_taken = true;
    return true;
}

// Frees it before the callback, which may start the next one.
static void end_operation(Operation *op, Status *status, bool was_served) {
    Reader *reader = op->reader;
    Queue *queue = op->queue;
    ReaderDoneFn *done = op->done;
    void *arg = op->arg;
    free(op);
    if (was_served) {
        wait_list_lock(&reader->turns);
        reader->is_taken = false;
        wait_list_unlock(&reader->turns);
    }
    resource_release((Resource *)queue);
    resource_release((Resource *)reader);
    done(arg, status);
}

static void read_on(void *arg);

// On a thread that may block, if there is one.
static void go_elastic(Operation *op) {
    op->is_elastic = true;
    if (!pool_elastic(read_on, op))
        read_on(op);
}

static void finish(void *owner, Wait *wait) {
    (void)owner;
    Operation *op = (Operation *)wait;
    if (wait->status) {
        end_operation(op, wait->status, false);
    } else if (op->act) {
        Status *status = op->act(op->reader, op->arg);
        end_operation(op, status, true);
    } else if (!pthread_equal(op->beginner, pthread_self())) {
        go_elastic(op);  // whoever gave the reader back goes on with its own step
    } else {
        read_on(op);
    }
}

static void clear_reader(Resource *resource) {
    Reader *reader = (Reader *)resource;
    if (reader->state) {
        reader->kind->end(reader->state);
        reader->kind->free(reader->state);
    }
    text_clear(&reader->work);
    wait_list_clear(&reader->turns);
}

const ResourceType reader_type = {"Reader", sizeof(Reader), clear_reader, NULL};

Status *reader_new(const ReaderKind *kind, void *state, Reader **out) {
    Resource *resource;
    Status *status = resource_new(&reader_type, &resource);
    if (status) {
        kind->free(state);
        return status;
    }
    Reader *reader = (Reader *)resource;
    reader->kind = kind;
    reader->state = state;
    wait_list_init(&reader->turns, reader, "ReaderRead");
    reader->turns.serve = serve;
    reader->turns.finish = finish;
    reader->turns.in_turn = true;
    *out = reader;
    return OK;
}

Reader *reader_of(Resource *resource) {
    return resource && resource->type == &reader_type ? (Reader *)resource : NULL;
}

// ---------------------------------------- the next work

static Status *take_name(Operation *op, const Tensor *names, int components) {
    NEED(components == 1, INVALID_ARGUMENT, "Expected single component queue");
    NEED(names->dtype == DT_string, INVALID_ARGUMENT, "Expected queue with single string component");
    NEED(tensor_count(names) == 1, INVALID_ARGUMENT, "Expected to dequeue a one-element string tensor");
    Text *work = &op->reader->work;
    work->n = 0;
    text_add(work, tstring_str(names->data));
    NEED_MEMORY(!work->failed);
    return OK;
}

static void name_came(void *arg, Status *status, Tensor *components) {
    Operation *op = arg;
    int n = queue_components(op->queue);
    if (!status && components)
        status = take_name(op, components, n);
    for (int i = 0; i < n && components; i++)
        tensor_clear(&components[i]);
    op->status = status;
    if (atomic_exchange(&op->dequeue, CAME) == WAITS)
        go_elastic(op);  // whoever filled the queue reads no files
}

// True: `work` is the next one, or status says why not. False: somebody else goes on.
static bool next_name(Operation *op, Status **out_status) {
    atomic_store(&op->dequeue, ASKING);
    queue_dequeue(op->queue, op->cancellation, name_came, op);
    if (atomic_exchange(&op->dequeue, WAITS) != CAME)
        return false;
    *out_status = op->status;
    op->status = OK;
    return true;
}

// Started one more work than it has finished: in the middle of one, also right after a restore.
static bool is_within(const Reader *reader) {
    return atomic_load(&reader->started) > atomic_load(&reader->finished);
}

// Opens the work, once more where it was restored.
static Status *open_work(Reader *reader) {
    Str work = text_str(&reader->work);
    bool again = is_within(reader);
    if (reader->kind->begin)
        TRY(reader->kind->begin(reader->state, work));
    Status *status = again && reader->kind->seek ? reader->kind->seek(reader->state, reader->resume) : OK;
    if (status) {
        reader->kind->end(reader->state);
        return status;
    }
    if (!again)
        atomic_fetch_add(&reader->started, 1);
    reader->is_open = true;
    return OK;
}

// ---------------------------------------- reading

static Status *read_one(Operation *op, ReaderRecord *record) {
    Reader *reader = op->reader;
    *record = (ReaderRecord){0};
    TRY(reader->kind->read(reader->state, text_str(&reader->work), record));
    if (record->produced) {
        TRY(op->put(op->arg, record->key, record->value));
        atomic_fetch_add(&reader->records, 1);
        op->got++;
    }
    if (record->at_end) {
        reader->kind->end(reader->state);
        reader->is_open = false;
        atomic_store(&reader->finished, atomic_load(&reader->started));
    }
    return OK;
}

static bool has_enough(const Operation *op, bool at_end) {
    return op->got >= op->most || (op->up_to && at_end && op->got > 0);
}

// Opening may take long, and so may what is behind a pipe.
static bool is_slow(const Reader *reader) {
    if (!reader->is_open)
        return reader->kind->begin != NULL;
    return reader->kind->is_slow && reader->kind->is_slow(reader->state);
}

// The answer of the queue, when it came while nobody ran. False: the operation has ended.
static bool take_answer(Operation *op, bool *has_name) {
    *has_name = atomic_load(&op->dequeue) == CAME;
    atomic_store(&op->dequeue, ASKING);
    Status *status = op->status;
    op->status = OK;
    if (status)
        end_operation(op, status, true);
    return !status;
}

static void read_on(void *arg) {
    Operation *op = arg;
    Reader *reader = op->reader;
    Status *status = OK;
    bool has_name;
    if (!take_answer(op, &has_name))
        return;
    for (ReaderRecord record = {0}; !status && !has_enough(op, record.at_end);) {
        if (!reader->is_open && !has_name && !is_within(reader)) {
            if (!next_name(op, &status))
                return;
            has_name = !status;
            record.at_end = false;
            continue;
        }
        if (is_slow(reader) && !op->is_elastic) {
            atomic_store(&op->dequeue, has_name ? CAME : ASKING);
            go_elastic(op);
            return;
        }
        if (!reader->is_open)
            status = open_work(reader);
        has_name = false;
        if (!status && op->cancellation && cancellation_is_set(op->cancellation))
            status = cancellation_check(op->cancellation);
        if (!status)
            status = read_one(op, &record);
    }
    end_operation(op, status, true);
}

static void begin_operation(Reader *reader, Operation like) {
    Operation *op = malloc(sizeof *op);
    if (!op) {
        like.done(like.arg, OUT_OF_MEMORY);
        return;
    }
    *op = like;
    op->reader = reader;
    op->beginner = pthread_self();
    resource_retain((Resource *)reader);
    resource_retain((Resource *)op->queue);
    wait_list_add(&reader->turns, &op->wait, op->cancellation);
}

void reader_read(Reader *reader, Queue *queue, Cancellation *cancellation, ReaderPutFn *put, ReaderDoneFn *done,
                 void *arg) {
    begin_operation(reader, (Operation){.queue = queue, .cancellation = cancellation, .most = 1, .put = put,
                                        .done = done, .arg = arg});
}

void reader_read_up_to(Reader *reader, Queue *queue, int64_t most, Cancellation *cancellation, ReaderPutFn *put,
                       ReaderDoneFn *done, void *arg) {
    begin_operation(reader, (Operation){.queue = queue, .cancellation = cancellation, .most = most, .up_to = true,
                                        .put = put, .done = done, .arg = arg});
}

void reader_act(Reader *reader, Cancellation *cancellation, ReaderActFn *act, ReaderDoneFn *done, void *arg) {
    begin_operation(reader, (Operation){.cancellation = cancellation, .act = act, .done = done, .arg = arg});
}

// ---------------------------------------- state

int64_t reader_records(const Reader *reader) {
    return atomic_load(&reader->records);
}

int64_t reader_works(const Reader *reader) {
    return atomic_load(&reader->finished);
}

ReaderState reader_state(const Reader *reader) {
    ReaderState state = {.started = atomic_load(&reader->started), .finished = atomic_load(&reader->finished),
                         .records = atomic_load(&reader->records), .work = text_str(&reader->work),
                         .is_within = is_within(reader), .position = reader->resume};
    if (reader->is_open && reader->kind->tell)
        state.position = reader->kind->tell(reader->state);
    return state;
}

void reader_reset(Reader *reader) {
    reader->kind->end(reader->state);
    reader->is_open = false;
    reader->work.n = 0;
    reader->resume = (ReaderPosition){0};
    atomic_store(&reader->started, 0);
    atomic_store(&reader->finished, 0);
    atomic_store(&reader->records, 0);
}

Status *reader_restore(Reader *reader, ReaderState state) {
    reader_reset(reader);
    bool within = state.started > state.finished;
    NEED(state.started >= 0 && state.finished >= 0 && state.records >= 0 && state.position.offset >= 0 &&
             state.position.number >= 0,
         INVALID_ARGUMENT, "Unexpected negative value when restoring in %s '%.*s'", reader->kind->name,
         STR_ARGS(reader->resource.name));
    NEED(!within || (reader->kind->tell && state.is_within && state.started - state.finished == 1), INVALID_ARGUMENT,
         "Inconsistent work started vs. finished when restoring in %s '%.*s': %lld and %lld", reader->kind->name,
         STR_ARGS(reader->resource.name), (long long)state.started, (long long)state.finished);
    text_add(&reader->work, state.work);
    NEED_MEMORY(!reader->work.failed);
    reader->resume = state.position;
    atomic_store(&reader->started, state.started);
    atomic_store(&reader->finished, state.finished);
    atomic_store(&reader->records, state.records);
    return OK;
}
