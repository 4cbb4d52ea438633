// Variable — see variable.h.
#include "resource/variable.h"

static void variable_clear(Resource *resource) {
    Variable *variable = (Variable *)resource;
    tensor_clear(&variable->value);
    condition_clear(&variable->changed);
    mutex_clear(&variable->lock);
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
    mutex_init(&variable->lock);
    condition_init(&variable->changed);
    variable->dtype = dtype;
    variable->shape = shape;
    *out = variable;
    return OK;
}

Variable *variable_of(Resource *resource) {
    return resource && resource->type == &variable_type ? (Variable *)resource : NULL;
}

// ---- the lock: many readers or one writer; a waiting writer goes before readers that come later

static void lock_for(Variable *variable, VariableAccess access) {
    mutex_lock(&variable->lock);
    if (access == VARIABLE_UPDATE) {
        variable->waiting++;
        while (variable->writing || variable->readers)
            condition_wait(&variable->changed, &variable->lock);
        variable->waiting--;
        variable->writing = true;
    } else {
        while (variable->writing || variable->waiting)
            condition_wait(&variable->changed, &variable->lock);
        variable->readers++;
    }
    mutex_unlock(&variable->lock);
}

static void unlock_from(Variable *variable, VariableAccess access) {
    mutex_lock(&variable->lock);
    if (access == VARIABLE_UPDATE)
        variable->writing = false;
    else
        variable->readers--;
    condition_notify_all(&variable->changed);
    mutex_unlock(&variable->lock);
}

static Status *need_initialized(const Variable *variable) {
    NEED(variable->initialized, FAILED_PRECONDITION, "Attempting to use uninitialized value %.*s",
         STR_ARGS(variable->resource.name));
    return OK;
}

// ---- one value

Status *variable_read(Variable *variable, Tensor *out) {
    lock_for(variable, VARIABLE_READ);
    Status *status = need_initialized(variable);
    if (!status)
        *out = tensor_retain(&variable->value);
    unlock_from(variable, VARIABLE_READ);
    return status;
}

bool variable_is_initialized(Variable *variable) {
    lock_for(variable, VARIABLE_READ);
    bool initialized = variable->initialized;
    unlock_from(variable, VARIABLE_READ);
    return initialized;
}

// Ours alone, whole, and our memory: a client may go on writing into what it lent.
static bool can_adopt(const Tensor *value) {
    const Buffer *buffer = value->buffer;
    return buffer && buffer->allocator && buffer->allocator->host && value->layout == LAYOUT_PLAIN &&
           value->data == buffer->data && buffer_is_unique(buffer);
}

Status *variable_assign(Variable *variable, Tensor *value, bool any_shape) {
    NEED(value->dtype == variable->dtype, INVALID_ARGUMENT,
         "Trying to assign variable '%.*s' with wrong dtype. Expected %s got %s", STR_ARGS(variable->resource.name),
         dtype_name(variable->dtype), dtype_name(value->dtype));
    NEED(any_shape || shape_compatible(&variable->shape, &value->shape), INVALID_ARGUMENT,
         "Trying to assign to variable '%.*s' of shape %s a value of shape %s", STR_ARGS(variable->resource.name),
         shape_text(&variable->shape), shape_text(&value->shape));
    AUTO(tensor) Tensor fresh = {0};
    if (can_adopt(value)) {
        fresh = *value;
        *value = (Tensor){0};
    } else {
        TRY(tensor_copy(value, &fresh));
    }
    fresh.buffer->stamp = buffer_next_stamp();
    lock_for(variable, VARIABLE_UPDATE);
    Tensor before = variable->value;
    variable->value = fresh;
    variable->initialized = true;
    unlock_from(variable, VARIABLE_UPDATE);
    fresh = before;  // released outside the lock
    tensor_clear(value);
    return OK;
}

void variable_drop(Variable *variable) {
    lock_for(variable, VARIABLE_UPDATE);
    Tensor before = variable->value;
    variable->value = (Tensor){0};
    variable->initialized = false;
    unlock_from(variable, VARIABLE_UPDATE);
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

static bool is_again(const VariableUse *uses, int position) {
    return position > 0 && uses[uses[position].order].variable == uses[uses[position - 1].order].variable;
}

static void end_first(VariableUse *uses, int n) {
    for (int i = n - 1; i >= 0; i--)
        if (!is_again(uses, i))
            unlock_from(uses[uses[i].order].variable, uses[uses[i].order].access);
}

Status *variables_begin(VariableUse *uses, int n) {
    NEED(n <= INT16_MAX, INVALID_ARGUMENT, "too many variables");
    sort_uses(uses, n);
    for (int i = 0; i < n; i++) {
        VariableUse *use = &uses[uses[i].order];
        Status *status = OK;
        if (!is_again(uses, i)) {
            lock_for(use->variable, use->access);
            status = need_initialized(use->variable);
            if (!status && use->access == VARIABLE_UPDATE)
                status = make_unique(use->variable);
        }
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

Status *variable_update_begin(Variable *variable, Tensor *out) {
    VariableUse use = {.variable = variable, .access = VARIABLE_UPDATE};
    TRY(variables_begin(&use, 1));
    *out = use.value;
    return OK;
}

void variable_update_end(Variable *variable) {
    unlock_from(variable, VARIABLE_UPDATE);
}
