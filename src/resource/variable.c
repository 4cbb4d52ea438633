// Variable — see variable.h: a value behind a lock of one word.
//
// Reading is taking a reference under the lock; an update writes in place if nobody holds the buffer, else into a copy
// (copy on write), so a value that was read never changes. Several variables are locked in the order of their
// addresses, which is the same for all, so that two steps can't wait for each other.
#include "resource/variable.h"

#include <limits.h>
#include <stdlib.h>

#include "resource/handle.h"
#include "thread/pool.h"

static void copy_free(VariableCopy *copy) {
    if (copy)
        tensor_clear(&copy->value);
    free(copy);
}

static void variable_clear(Resource *resource) {
    Variable *variable = (Variable *)resource;
    tensor_clear(&variable->value);
    copy_free(variable->copy);
}

static void variable_drop_resource(Resource *resource) {
    variable_drop((Variable *)resource);
}

const ResourceType variable_type = {"Variable", sizeof(Variable), variable_clear, variable_drop_resource};

Status *variable_new(DType dtype, Shape shape, Variable **out) {
    NEED(dtype_is_valid(dtype) && !dtype_is_ref(dtype), INVALID_ARGUMENT, "%s is not the type of a variable",
         dtype_name(dtype));
    Resource *resource;
    TRY(resource_new(&variable_type, &resource));
    Variable *variable = (Variable *)resource;
    variable->dtype = dtype;
    variable->shape = shape;
    *out = variable;
    return OK;
}

Variable *variable_of(Resource *resource) {
    return resource && resource->type == &variable_type ? (Variable *)resource : NULL;
}

// ---- the lock: many readers or one writer; a waiting writer goes before readers that come later
//
// One word: WRITING, or the number of readers. Sections are short, so whoever must wait looks again for a while before
// it sleeps; but a writer may be in there for a whole update, and may have lost its processor.

// Some microseconds: as long as a short section takes.
enum { LOOKS = 200 };  // some microseconds
static const uint32_t WRITING = 1u << 31, SLEEPING = 1u << 30;  // somebody sleeps
static const uint32_t WANTED = 1u << 29;                        // somebody will write

static bool try_lock(FutexWord *lock, VariableAccess access) {
    uint32_t word = atomic_load_explicit(lock, memory_order_relaxed);
    if (access == VARIABLE_READ)
        return !(word & (WRITING | WANTED)) &&
               atomic_compare_exchange_strong_explicit(lock, &word, word + 1, memory_order_acquire,
                                                       memory_order_relaxed);
    return !(word & ~(SLEEPING | WANTED)) &&
           atomic_compare_exchange_strong_explicit(lock, &word, (word & SLEEPING) | WRITING, memory_order_acquire,
                                                   memory_order_relaxed);
}

// On one processor spinning would keep the holder from its work.
static void wait_and_lock(FutexWord *lock, VariableAccess access) {
    for (int looks = pool_cpu_count() > 1 ? 0 : LOOKS; !try_lock(lock, access); looks++) {
        if (looks < LOOKS) {
            spin_pause();
            continue;
        }
        uint32_t mark = access == VARIABLE_READ ? SLEEPING : SLEEPING | WANTED;
        uint32_t word = atomic_load_explicit(lock, memory_order_relaxed);
        bool busy = access == VARIABLE_READ ? word & (WRITING | WANTED) : word & ~(SLEEPING | WANTED);
        if (busy && ((word & mark) == mark ||
                     atomic_compare_exchange_strong_explicit(lock, &word, word | mark, memory_order_relaxed,
                                                             memory_order_relaxed)))
            futex_wait(lock, word | mark, NO_DEADLINE);
    }
}

static inline void lock_for(Variable *variable, VariableAccess access) {
    if (__builtin_expect(!try_lock(&variable->lock, access), 0))
        wait_and_lock(&variable->lock, access);
}

// Wakes all who sleep: those who can't go on yet say again what they wait for. Simpler than choosing whom to wake, and
// rare: sections are short.
static void unlock_from(Variable *variable, VariableAccess access) {
    FutexWord *lock = &variable->lock;
    uint32_t left;
    if (access != VARIABLE_READ)
        left = atomic_fetch_and_explicit(lock, ~WRITING, memory_order_release) & ~WRITING;
    else
        left = atomic_fetch_sub_explicit(lock, 1, memory_order_release) - 1;
    if (__builtin_expect(left & (SLEEPING | WANTED), 0) && !(left & ~(SLEEPING | WANTED))) {
        atomic_fetch_and_explicit(lock, ~(SLEEPING | WANTED), memory_order_relaxed);
        futex_wake(lock, INT_MAX);
    }
}

static Status *need_initialized(const Variable *variable) {
    NEED(variable->initialized, FAILED_PRECONDITION, "Attempting to use uninitialized value %.*s",
         STR_ARGS(variable->resource.name));
    return OK;
}

// ---- a copy elsewhere

// Held alone: the value here becomes what the copy is.
static Status *bring_home(Variable *variable) {
    VariableCopy *copy = variable->copy;
    if (!copy || !copy->newer)
        return OK;
    Tensor *here = &variable->value, fresh;
    if (!here->buffer || !buffer_is_unique(here->buffer) || !shape_equal(&here->shape, &copy->value.shape)) {
        TRY(tensor_new(copy->value.dtype, copy->value.shape, &fresh));
        tensor_clear(here);
        *here = fresh;
    }
    TRY(status_prefix(copy->bring(&copy->value, here), "variable '%.*s'", STR_ARGS(variable->resource.name)));
    here->buffer->stamp = buffer_next_stamp();
    copy->newer = false;
    return OK;
}

// As lock_for, with the value at home. On failure nothing is held.
static Status *lock_at_home(Variable *variable, VariableAccess access) {
    lock_for(variable, access);
    while (__builtin_expect(variable->copy != NULL, 0) && variable->copy->newer) {
        if (access == VARIABLE_READ) {
            unlock_from(variable, access);
            lock_for(variable, VARIABLE_UPDATE);
        }
        Status *status = bring_home(variable);
        if (access == VARIABLE_READ || status)
            unlock_from(variable, VARIABLE_UPDATE);
        TRY(status);
        if (access == VARIABLE_READ)
            lock_for(variable, access);
    }
    return OK;
}

// Held alone, about to be written.
static void drop_copy(Variable *variable) {
    copy_free(variable->copy);
    variable->copy = NULL;
}

// ---- one value

Status *variable_read(Variable *variable, Tensor *out) {
    TRY(lock_at_home(variable, VARIABLE_READ));
    Status *status = need_initialized(variable);
    if (!status)
        *out = tensor_retain(&variable->value);
    unlock_from(variable, VARIABLE_READ);
    return status;
}

Status *variable_read_handle(const Tensor *handle, Tensor *out) {
    Resource *resource;
    TRY(handle_resource(handle, 0, NULL, &variable_type, &resource));
    Status *status = variable_read(variable_of(resource), out);
    resource_release(resource);
    return status;
}

bool variable_is_initialized(Variable *variable) {
    lock_for(variable, VARIABLE_READ);
    bool initialized = variable->initialized;
    unlock_from(variable, VARIABLE_READ);
    return initialized;
}

// Whole, plain, and host memory of our own: only such a buffer can be written in place later.
static bool can_adopt(const Tensor *value) {
    const Buffer *buffer = value->buffer;
    return buffer && buffer->allocator && buffer->allocator->host && value->layout == LAYOUT_PLAIN &&
           value->data == buffer->data;
}

// `adopt`: nobody else writes into the value's buffer, as a client may into what it lent.
static Status *assign(Variable *variable, Tensor *value, bool any_shape, bool adopt) {
    NEED(value->dtype == variable->dtype, INVALID_ARGUMENT,
         "Trying to assign variable '%.*s' with wrong dtype. Expected %s got %s", STR_ARGS(variable->resource.name),
         dtype_name(variable->dtype), dtype_name(value->dtype));
    NEED(any_shape || shape_compatible(&variable->shape, &value->shape), INVALID_ARGUMENT,
         "Trying to assign to variable '%.*s' of shape %s a value of shape %s", STR_ARGS(variable->resource.name),
         shape_text(&variable->shape), shape_text(&value->shape));
    AUTO(tensor) Tensor fresh = {0};
    if (adopt && can_adopt(value)) {
        fresh = *value;
        *value = (Tensor){0};
    } else {
        TRY(tensor_copy(value, &fresh));
    }
    // By its stamp a kernel knows whether the weights that it packed are still these.
    fresh.buffer->stamp = buffer_next_stamp();
    lock_for(variable, VARIABLE_UPDATE);
    Tensor before = variable->value;
    VariableCopy *copy = variable->copy;
    variable->value = fresh;
    variable->copy = NULL;
    variable->initialized = true;
    unlock_from(variable, VARIABLE_UPDATE);
    fresh = before;  // released outside the lock
    copy_free(copy);
    tensor_clear(value);
    return OK;
}

Status *variable_assign(Variable *variable, Tensor *value, bool any_shape) {
    return assign(variable, value, any_shape, value->buffer && buffer_is_unique(value->buffer));
}

Status *variable_adopt(Variable *variable, Tensor *value, bool any_shape) {
    return assign(variable, value, any_shape, true);
}

void variable_drop(Variable *variable) {
    lock_for(variable, VARIABLE_UPDATE);
    Tensor before = variable->value;
    VariableCopy *copy = variable->copy;
    variable->value = (Tensor){0};
    variable->copy = NULL;
    variable->initialized = false;
    unlock_from(variable, VARIABLE_UPDATE);
    copy_free(copy);
    tensor_clear(&before);
}

// Held for update: leaves the value in a buffer of its own.
static Status *make_unique(Variable *variable) {
    if (!buffer_is_unique(variable->value.buffer)) {
        Tensor copy;
        TRY(tensor_copy(&variable->value, &copy));
        tensor_clear(&variable->value);
        variable->value = copy;
    }
    variable->value.buffer->stamp = buffer_next_stamp();
    drop_copy(variable);
    return OK;
}

// ---- several

// order: the positions sorted by address, and of equal ones the stronger use first. Few, so by insertion.
static void sort_uses(VariableUse *uses, int n) {
    for (int i = 0; i < n; i++) {
        int at = i;
        for (; at > 0; at--) {
            const VariableUse *before = &uses[uses[at - 1].order];
            if ((uintptr_t)before->variable < (uintptr_t)uses[i].variable ||
                (before->variable == uses[i].variable && before->access >= uses[i].access))
                break;
            uses[at].order = uses[at - 1].order;
        }
        uses[at].order = (int16_t)i;
    }
}

static bool is_repeated(const VariableUse *uses, int position) {
    return position > 0 && uses[uses[position].order].variable == uses[uses[position - 1].order].variable;
}

static void end_first(VariableUse *uses, int n) {
    for (int i = n - 1; i >= 0; i--)
        if (!is_repeated(uses, i))
            unlock_from(uses[uses[i].order].variable, uses[uses[i].order].access);
}

// All or none. A variable that is named twice is locked once, for the stronger use.
Status *variables_begin(VariableUse *uses, int n) {
    NEED(n <= INT16_MAX, INVALID_ARGUMENT, "too many variables");
    sort_uses(uses, n);
    for (int i = 0; i < n; i++) {
        VariableUse *use = &uses[uses[i].order];
        if (is_repeated(uses, i))
            continue;
        if (use->access == VARIABLE_TAKE) {
            lock_for(use->variable, use->access);
            continue;
        }
        Status *status = lock_at_home(use->variable, use->access);
        if (status) {
            end_first(uses, i);
            return status;
        }
        status = need_initialized(use->variable);
        if (!status && use->access == VARIABLE_UPDATE)
            status = make_unique(use->variable);
        if (status) {
            end_first(uses, i + 1);
            return status;
        }
    }
    for (int i = 0; i < n; i++)
        uses[i].value = uses[i].variable->value;
    return OK;
}

void variables_end(VariableUse *uses, int n) {
    end_first(uses, n);
    for (int i = 0; i < n; i++)
        uses[i].value = (Tensor){0};
}
