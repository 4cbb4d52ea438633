// Staging — see staging.h: areas that hold tuples between steps (StagingArea), by key or by position.
//
// One wait list for puts and takes: each is served when it can be, in any order, since a take by key may wait for one
// that comes long after others. Tuples may come in parts, and parts of them may be taken; limits count tuples and
// bytes.
#include "resource/staging.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/map.h"
#include "resource/wait_list.h"

// A tuple; values that haven't come yet, or have gone, have no data.
typedef struct Tuple {
    int64_t key;
    struct Tuple *before, *after;
    int width, here;  // values in all; that are here
    Tensor values[];
} Tuple;

struct Staging {
    Resource resource;
    StagingSpec spec;
    WaitList waits;        // its lock guards the rest
    Tuple *first, *last;   // the complete ones
    Map complete;          // by key; of an area without keys nothing
    Map partials;
    int64_t count, bytes;
};

typedef struct {
    Wait wait;             // holds a reference to the area
    StagingPart part;
    StagingChoice choice;
    bool put, peek;
    int width;             // of the whole tuple
    int64_t bytes;         // what is put
    Tensor *values;        // what is put, or what was taken: part.n of them
    StagingDone *done;
    void *arg;
} Ask;

// ---- tuples

static bool is_keyed(const Staging *s) {
    return s->resource.type != &staging_type;
}

static Str key_bytes(const int64_t *key) {
    return (Str){(const char *)key, sizeof *key};
}

static int64_t tensor_weight(const Tensor *value) {
    return (int64_t)tensor_bytes(value);
}

static void tuple_free(Tuple *tuple) {
    for (int i = 0; tuple && i < tuple->width; i++)
        tensor_clear(&tuple->values[i]);
    free(tuple);
}

static void unlink_tuple(Staging *s, Tuple *tuple) {
    *(tuple->before ? &tuple->before->after : &s->first) = tuple->after;
    *(tuple->after ? &tuple->after->before : &s->last) = tuple->before;
    if (is_keyed(s))
        map_take(&s->complete, key_bytes(&tuple->key));
    s->count--;
}

// Ordered maps are kept in order by searching from the end: keys mostly come in ascending order.
static void link_tuple(Staging *s, Tuple *tuple) {
    Tuple *before = s->last;
    while (s->resource.type == &ordered_map_staging_type && before && before->key > tuple->key)
        before = before->before;
    tuple->before = before;
    tuple->after = before ? before->after : s->first;
    *(tuple->after ? &tuple->after->before : &s->last) = tuple;
    *(before ? &before->after : &s->first) = tuple;
    s->count++;
}

// With a key that is there already it is dropped, as TensorFlow does.
static Status *add_complete(Staging *s, Tuple *tuple) {
    if (is_keyed(s) && map_find(&s->complete, key_bytes(&tuple->key))) {
        for (int i = 0; i < tuple->width; i++)
            s->bytes -= tensor_weight(&tuple->values[i]);
        tuple_free(tuple);
        return OK;
    }
    if (is_keyed(s) && !map_set(&s->complete, key_bytes(&tuple->key), tuple)) {
        tuple_free(tuple);
        return OUT_OF_MEMORY;
    }
    link_tuple(s, tuple);
    return OK;
}

static void empty(Staging *s) {
    while (s->first) {
        Tuple *tuple = s->first;
        unlink_tuple(s, tuple);
        tuple_free(tuple);
    }
    size_t at = 0;
    Str key;
    void *value;
    while (map_next(&s->partials, &at, &key, &value))
        tuple_free(value);
    map_clear(&s->partials);
    s->partials = (Map){0};
    s->bytes = 0;
}

// ---- putting

static bool is_whole(const Ask *ask) {
    return ask->part.n == ask->width;
}

static Status *check_put(const Staging *s, const Ask *ask) {
    const StagingPart *part = &ask->part;
    NEED(!s->spec.memory_limit || ask->bytes <= s->spec.memory_limit, RESOURCE_EXHAUSTED,
         "Attempted to insert tensors with combined size of '%lld' bytes into Staging Area with a memory limit of "
         "'%lld'.", (long long)ask->bytes, (long long)s->spec.memory_limit);
    const Tuple *tuple = is_keyed(s) && !is_whole(ask) ? map_find(&s->partials, key_bytes(&part->key)) : NULL;
    NEED(!tuple || tuple->width == ask->width, INVALID_ARGUMENT, "a tuple of %d values, expected %d", ask->width,
         tuple->width);
    for (int i = 0; tuple && i < part->n; i++)
        NEED(!tuple->values[part->indices[i]].data, INVALID_ARGUMENT,
             "The tensor for index '%d' for key '%lld' was already initialized '%d'.", (int)part->indices[i],
             (long long)part->key, tuple->width);
    return OK;
}

// Bytes count for parts, too; only whole tuples count as elements.
static bool is_full(const Staging *s, const Ask *ask) {
    return (s->spec.memory_limit && s->bytes + ask->bytes > s->spec.memory_limit) ||
           (s->spec.capacity && is_whole(ask) && s->count >= s->spec.capacity);
}

// A new tuple with no values.
static Status *tuple_new(const Ask *ask, Tuple **out) {
    Tuple *tuple = calloc(1, sizeof *tuple + (size_t)ask->width * sizeof(Tensor));
    NEED_MEMORY(tuple);
    tuple->key = ask->part.key;
    tuple->width = ask->width;
    *out = tuple;
    return OK;
}

static void move_in(Staging *s, const Ask *ask, Tuple *tuple) {
    for (int i = 0; i < ask->part.n; i++) {
        tuple->values[ask->part.indices ? ask->part.indices[i] : i] = ask->values[i];
        ask->values[i] = (Tensor){0};
    }
    tuple->here += ask->part.n;
    s->bytes += ask->bytes;
}

static Status *put(Staging *s, const Ask *ask) {
    Tuple *tuple = is_whole(ask) ? NULL : map_find(&s->partials, key_bytes(&ask->part.key));
    if (!tuple) {
        TRY(tuple_new(ask, &tuple));
        if (!is_whole(ask) && !map_set(&s->partials, key_bytes(&tuple->key), tuple)) {
            tuple_free(tuple);
            return OUT_OF_MEMORY;
        }
    }
    move_in(s, ask, tuple);
    if (tuple->here < tuple->width)
        return OK;
    if (!is_whole(ask))
        map_take(&s->partials, key_bytes(&tuple->key));
    return add_complete(s, tuple);
}

static bool serve_put(Staging *s, Ask *ask) {
    ask->wait.status = check_put(s, ask);
    if (ask->wait.status)
        return true;
    if (is_full(s, ask))
        return false;
    ask->wait.status = put(s, ask);
    return true;
}

// ---- taking

// By key, by position, or the first.
static Tuple *choose(const Staging *s, const Ask *ask) {
    if (ask->choice == STAGING_KEY)
        return map_find(&s->complete, key_bytes(&ask->part.key));
    int64_t skip = ask->choice == STAGING_AT ? ask->part.key : 0;
    if (skip >= s->count)
        return NULL;
    Tuple *tuple = s->first;
    while (tuple && skip-- > 0)
        tuple = tuple->after;
    return tuple;
}

static Status *check_take(const Tuple *tuple, const StagingPart *part) {
    NEED(part->indices || part->n == tuple->width, INVALID_ARGUMENT, "Mismatch stage/unstage: %d vs. %d", tuple->width,
         part->n);
    for (int i = 0; part->indices && i < part->n; i++) {
        NEED(part->indices[i] >= 0 && part->indices[i] < tuple->width, INVALID_ARGUMENT,
             "Index '%d' for key '%lld' was out of bounds '%d'.", (int)part->indices[i], (long long)tuple->key,
             tuple->width);
        NEED(tuple->values[part->indices[i]].data, INVALID_ARGUMENT,
             "Tensor at index '%d' for key '%lld' has already been removed.", (int)part->indices[i],
             (long long)tuple->key);
    }
    return OK;
}

static void move_out(Staging *s, Ask *ask, Tuple *tuple) {
    for (int i = 0; i < ask->part.n; i++) {
        Tensor *value = &tuple->values[ask->part.indices ? ask->part.indices[i] : i];
        ask->values[i] = tensor_retain(value);
        if (!ask->peek) {
            s->bytes -= tensor_weight(value);
            tensor_clear(value);
        }
    }
    ask->part.key = tuple->key;
    if (ask->peek)
        return;
    tuple->here -= ask->part.n;
    if (tuple->here > 0)
        return;
    unlink_tuple(s, tuple);
    tuple_free(tuple);
}

static bool serve_take(Staging *s, Ask *ask) {
    Tuple *tuple = choose(s, ask);
    if (!tuple)
        return false;
    ask->wait.status = check_take(tuple, &ask->part);
    if (!ask->wait.status)
        move_out(s, ask, tuple);
    return true;
}

static bool serve(void *owner, Wait *wait) {
    Ask *ask = (Ask *)wait;
    return ask->put ? serve_put(owner, ask) : serve_take(owner, ask);
}

// ---- asking

static void ask_free(Ask *ask) {
    for (int i = 0; ask && i < ask->part.n && ask->values; i++)
        tensor_clear(&ask->values[i]);
    if (ask) {
        free(ask->values);
        free((void *)ask->part.indices);
    }
    free(ask);
}

static void finish(void *owner, Wait *wait) {
    Ask *ask = (Ask *)wait;
    bool gives = !wait->status && !ask->put;
    ask->done(ask->arg, wait->status, ask->part.key, gives ? ask->values : NULL, gives ? ask->part.n : 0);
    for (int i = 0; gives && i < ask->part.n; i++)
        ask->values[i] = (Tensor){0};  // the callee's
    ask_free(ask);
    resource_release(owner);
}

static Status *check_indices(const StagingPart *part) {
    if (!part->indices)
        return OK;
    NEED(part->n > 0, INVALID_ARGUMENT, "Indices are empty");
    for (int i = 1; i < part->n; i++)
        NEED(part->indices[i - 1] < part->indices[i], INVALID_ARGUMENT, "Indices are not strictly ordered");
    return OK;
}

static Status *ask_new(StagingPart part, StagingDone *done, void *arg, Ask **out) {
    TRY(check_indices(&part));
    Ask *ask = calloc(1, sizeof *ask);
    NEED_MEMORY(ask);
    ask->part = part;
    ask->done = done;
    ask->arg = arg;
    ask->values = calloc((size_t)part.n + 1, sizeof *ask->values);
    int32_t *indices = part.indices ? calloc((size_t)part.n, sizeof *indices) : NULL;
    if (indices)
        memcpy(indices, part.indices, (size_t)part.n * sizeof *indices);
    ask->part.indices = indices;
    if (!ask->values || (part.indices && !indices)) {
        ask_free(ask);
        return OUT_OF_MEMORY;
    }
    *out = ask;
    return OK;
}

static void submit(Staging *s, Ask *ask, Cancellation *cancellation) {
    resource_retain(&s->resource);
    wait_list_add(&s->waits, &ask->wait, cancellation);
}

static Status *put_new(StagingPart part, int width, Tensor *values, StagingDone *done, void *arg, Ask **out) {
    for (int i = 0; part.indices && i < part.n; i++)
        NEED(part.indices[i] >= 0 && part.indices[i] < width, INVALID_ARGUMENT,
             "Index '%d' for key '%lld' was out of bounds '%d'.", (int)part.indices[i], (long long)part.key, width);
    Ask *ask;
    TRY(ask_new(part, done, arg, &ask));
    ask->put = true;
    ask->width = width;
    for (int i = 0; i < part.n; i++) {
        ask->values[i] = values[i];
        ask->bytes += tensor_weight(&values[i]);
    }
    *out = ask;
    return OK;
}

void staging_put(Staging *s, StagingPart part, int width, Tensor *values, Cancellation *cancellation,
                 StagingDone *done, void *arg) {
    Ask *ask;
    Status *status = put_new(part, width, values, done, arg, &ask);
    if (!status) {
        submit(s, ask, cancellation);
        return;
    }
    for (int i = 0; i < part.n; i++)
        tensor_clear(&values[i]);
    done(arg, status, part.key, NULL, 0);
}

void staging_take(Staging *s, StagingChoice choice, StagingPart part, bool peek, Cancellation *cancellation,
                  StagingDone *done, void *arg) {
    Ask *ask;
    Status *status = ask_new(part, done, arg, &ask);
    if (status) {
        done(arg, status, part.key, NULL, 0);
        return;
    }
    ask->choice = choice;
    ask->peek = peek;
    submit(s, ask, cancellation);
}

void staging_clear(Staging *s) {
    wait_list_lock(&s->waits);
    empty(s);
    wait_list_unlock(&s->waits);
}

int64_t staging_size(Staging *s) {
    wait_list_lock(&s->waits);
    int64_t n = s->count;
    wait_list_unlock(&s->waits);
    return n;
}

int64_t staging_incomplete(Staging *s) {
    wait_list_lock(&s->waits);
    int64_t n = (int64_t)s->partials.n;
    wait_list_unlock(&s->waits);
    return n;
}

// ---- the resource

static void clear(Resource *resource) {
    Staging *s = (Staging *)resource;
    empty(s);
    map_clear(&s->complete);
    wait_list_clear(&s->waits);
}

static Status *dropped_status(const Staging *s) {
    FAIL(CANCELLED, "Staging area '%.*s' was dropped", STR_ARGS(s->resource.name));
}

static void drop(Resource *resource) {
    Staging *s = (Staging *)resource;
    wait_list_lock(&s->waits);
    empty(s);
    wait_list_close(&s->waits, dropped_status(s));
    wait_list_unlock(&s->waits);
}

const ResourceType staging_type = {"StagingArea", sizeof(Staging), clear, drop};
const ResourceType map_staging_type = {"StagingMap", sizeof(Staging), clear, drop};
const ResourceType ordered_map_staging_type = {"OrderedStagingMap", sizeof(Staging), clear, drop};

Status *staging_new(const ResourceType *type, const StagingSpec *spec, Staging **out) {
    Resource *resource;
    TRY(resource_new(type, &resource));
    Staging *s = (Staging *)resource;
    s->spec = *spec;
    wait_list_init(&s->waits, s, "Staging");
    s->waits.serve = serve;
    s->waits.finish = finish;
    *out = s;
    return OK;
}
