// Collective — see collective.h: a group is a resource, whose lock is the list of those who wait.
#include "resource/collective.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/clock.h"
#include "resource/wait_list.h"
#include "thread/pool.h"

typedef struct {
    Resource resource;
    WaitList calls;          // its lock guards the rest
    Condition changed;       // a call ended, or one with an earlier deadline came
    bool is_watched;         // an elastic thread looks after the deadlines
} Group;

typedef struct {
    Wait wait;               // holds a reference to the group
    CollectiveSpec spec;
    Tensor input, result;
    int64_t deadline;
    bool ready, late;
    CollectiveDone *done;
    void *arg;
} Call;

// ---------------------------------------- the calls of an instance

static Call *next_of(const Call *call, Wait *from) {
    while (from && ((Call *)from)->spec.instance_key != call->spec.instance_key)
        from = from->next;
    return (Call *)from;
}

// By type and number: CPU:2 before CPU:10.
static int compare_devices(Str a, Str b) {
    return a.n != b.n ? (a.n < b.n ? -1 : 1) : str_compare(a, b);
}

static Status *check_agrees(const Call *first, const Call *other) {
    const CollectiveSpec *a = &first->spec, *b = &other->spec;
    NEED(a->group_size == b->group_size, INVALID_ARGUMENT,
         "Collective group %d, instance %d: %.*s says that the group has %d members, %.*s %d", a->group_key, a->instance_key,
         STR_ARGS(b->device), b->group_size, STR_ARGS(a->device), a->group_size);
    NEED(a->kind == b->kind && a->dtype == b->dtype && a->mean == b->mean && (a->kind != COLLECTIVE_REDUCE || strcmp(a->op, b->op) == 0),
         INVALID_ARGUMENT, "Collective group %d, instance %d: %.*s asks for another operation or type (%s) than %.*s (%s)",
         a->group_key, a->instance_key, STR_ARGS(b->device), dtype_name(b->dtype), STR_ARGS(a->device), dtype_name(a->dtype));
    Shape x = a->shape, y = b->shape;
    if (a->kind == COLLECTIVE_GATHER && x.rank > 0 && y.rank > 0)
        x.dims[0] = y.dims[0];
    NEED(shape_equal(&x, &y), INVALID_ARGUMENT,
         "Shape mismatch in the collective instance %d. Op at device %.*s expected shape %s but another member in the group "
         "expected shape %s. This is likely due to different input shapes at different members of the collective op.",
         a->instance_key, STR_ARGS(b->device), shape_text(&b->shape), shape_text(&a->shape));
    NEED(!str_equal(a->device, b->device), INVALID_ARGUMENT, "Collective group %d, instance %d: %.*s is a member already",
         a->group_key, a->instance_key, STR_ARGS(a->device));
    return OK;
}

// All calls of the instance that wait, by member; false when memory is out.
static bool list_members(Call *first, Call ***out, int *out_n) {
    int n = 0;
    for (Call *call = first; call; call = next_of(first, call->wait.next))
        n++;
    Call **members = malloc((size_t)n * sizeof *members);
    *out = members;
    *out_n = n;
    if (!members)
        return false;
    n = 0;
    for (Call *call = first; call; call = next_of(first, call->wait.next)) {
        int at = n++;
        for (; at > 0 && compare_devices(members[at - 1]->spec.device, call->spec.device) > 0; at--)
            members[at] = members[at - 1];
        members[at] = call;
    }
    return true;
}

// ---------------------------------------- what they do

static Status *reduce(Call **members, int n) {
    const CollectiveSpec *spec = &members[0]->spec;
    Tensor sum = {0};
    int64_t count = tensor_count(&members[0]->input);
    TRY(tensor_copy(&members[0]->input, &sum));
    for (int i = 1; i < n; i++)
        spec->math.merge(sum.data, members[i]->input.data, count);
    if (spec->mean)
        spec->math.divide(sum.data, n, count);
    for (int i = 0; i < n; i++)
        members[i]->result = tensor_retain(&sum);
    tensor_clear(&sum);
    return OK;
}

static Status *gather(Call **members, int n) {
    Shape shape = members[0]->spec.shape;
    Tensor all = {0};
    NEED(shape.rank > 0, INVALID_ARGUMENT, "Collective group %d: what is gathered has no rows", members[0]->spec.group_key);
    int64_t rows = 0;
    for (int i = 0; i < n; i++)
        NEED(!__builtin_add_overflow(rows, members[i]->spec.shape.dims[0], &rows), INVALID_ARGUMENT,
             "Collective group %d: too many rows", members[0]->spec.group_key);
    shape.dims[0] = rows;
    TRY(tensor_new(members[0]->spec.dtype, shape, &all));
    char *to = all.data;
    for (int i = 0; i < n; i++) {
        size_t bytes = tensor_bytes(&members[i]->input);
        memcpy(to, members[i]->input.data, bytes);
        to += bytes;
    }
    for (int i = 0; i < n; i++)
        members[i]->result = tensor_retain(&all);
    tensor_clear(&all);
    return OK;
}

static Status *broadcast(Call **members, int n) {
    const Call *source = NULL;
    for (int i = 0; i < n; i++) {
        NEED(!members[i]->input.dtype || !source, INVALID_ARGUMENT, "Collective group %d, instance %d: both %.*s and %.*s send",
             source->spec.group_key, source->spec.instance_key, STR_ARGS(source->spec.device), STR_ARGS(members[i]->spec.device));
        source = members[i]->input.dtype ? members[i] : source;
    }
    NEED(source, INTERNAL, "Instance %d found no source for broadcast. This could mean that there were group_size=%d BcastRecvs "
         "but no BcastSend.", members[0]->spec.instance_key, n);
    for (int i = 0; i < n; i++)
        members[i]->result = tensor_retain(&source->input);
    return OK;
}

// Row j of member i becomes row i of member j.
static Status *all_to_all(Call **members, int n) {
    const Shape *shape = &members[0]->spec.shape;
    NEED(shape->rank > 0 && shape->dims[0] == n, INVALID_ARGUMENT,
         "input to all-to-all first dimension size (%lld) must be the same as the group size (%d)",
         (long long)(shape->rank > 0 ? shape->dims[0] : 0), n);
    size_t bytes = tensor_bytes(&members[0]->input) / (size_t)n;
    for (int j = 0; j < n; j++) {
        TRY(tensor_new(members[j]->spec.dtype, *shape, &members[j]->result));
        for (int i = 0; i < n; i++)
            memcpy((char *)members[j]->result.data + (size_t)i * bytes, (char *)members[i]->input.data + (size_t)j * bytes, bytes);
    }
    return OK;
}

static Status *compute(Call **members, int n) {
    switch (members[0]->spec.kind) {
    case COLLECTIVE_REDUCE: return reduce(members, n);
    case COLLECTIVE_GATHER: return gather(members, n);
    case COLLECTIVE_BROADCAST: return broadcast(members, n);
    default: return all_to_all(members, n);
    }
}

// ---------------------------------------- serving

static Status *late_status(const Call *call) {
    FAIL(DEADLINE_EXCEEDED, "Collective has timed out waiting for other workers. Group %d, instance %d: %.*s waited %g seconds",
         call->spec.group_key, call->spec.instance_key, STR_ARGS(call->spec.device), call->spec.timeout);
}

// With `first` the oldest of its instance: whether those who are there are done, one way or the other.
static bool settle(Call *first) {
    Status *status = OK;
    int n = 1;
    for (Call *call = next_of(first, first->wait.next); call && !status; call = next_of(first, call->wait.next)) {
        status = check_agrees(first, call);
        for (Call *other = next_of(first, first->wait.next); other != call && !status; other = next_of(first, other->wait.next))
            status = check_agrees(other, call);
        n++;
    }
    if (!status && n < first->spec.group_size)
        return false;
    Call **members = NULL;
    if (!status)
        status = list_members(first, &members, &n) ? compute(members, n) : OUT_OF_MEMORY;
    free(members);
    for (Call *call = first; call; call = next_of(first, call->wait.next)) {
        call->ready = true;
        call->wait.status = status_copy(status);
    }
    status_free(status);
    return true;
}

static bool serve(void *owner, Wait *wait) {
    const Group *group = owner;
    Call *call = (Call *)wait;
    if (call->late && !call->ready) {
        wait->status = late_status(call);
        return true;
    }
    return call->ready || (next_of(call, group->calls.first) == call && settle(call));
}

static void finish(void *owner, Wait *wait) {
    Group *group = owner;
    Call *call = (Call *)wait;
    mutex_lock(&group->calls.lock);
    if (!group->calls.first)
        condition_notify_all(&group->changed);
    mutex_unlock(&group->calls.lock);
    if (wait->status)
        tensor_clear(&call->result);
    call->done(call->arg, wait->status, call->result);
    tensor_clear(&call->input);
    resource_release(owner);
    free(call);
}

// ---------------------------------------- deadlines

// The earliest deadline of those who wait; those whose has passed are late.
static int64_t look_at_deadlines(Group *group) {
    int64_t earliest = NO_DEADLINE, now = clock_now();
    for (Wait *wait = group->calls.first; wait; wait = wait->next) {
        Call *call = (Call *)wait;
        call->late |= call->deadline <= now;
        if (!call->late && call->deadline < earliest)
            earliest = call->deadline;
    }
    return earliest;
}

static void watch_deadlines(void *arg) {
    Group *group = arg;
    wait_list_lock(&group->calls);
    for (int64_t next = look_at_deadlines(group); group->calls.first && next != NO_DEADLINE; next = look_at_deadlines(group)) {
        condition_wait_until(&group->changed, &group->calls.lock, next);
        look_at_deadlines(group);
        wait_list_unlock(&group->calls);
        wait_list_lock(&group->calls);
    }
    group->is_watched = false;
    wait_list_unlock(&group->calls);
    resource_release((Resource *)group);
}

static Status *mind_deadline(Group *group, int64_t deadline) {
    if (deadline == NO_DEADLINE)
        return OK;
    mutex_lock(&group->calls.lock);
    bool begin = !group->is_watched;
    group->is_watched = true;
    condition_notify_all(&group->changed);
    mutex_unlock(&group->calls.lock);
    if (!begin)
        return OK;
    resource_retain((Resource *)group);
    if (pool_elastic(watch_deadlines, group))
        return OK;
    resource_release((Resource *)group);
    FAIL(RESOURCE_EXHAUSTED, "no thread to watch the deadlines of collectives");
}

// ---------------------------------------- the resource

static void clear(Resource *resource) {
    Group *group = (Group *)resource;
    condition_clear(&group->changed);
    wait_list_clear(&group->calls);
}

static void drop(Resource *resource) {
    Group *group = (Group *)resource;
    wait_list_lock(&group->calls);
    wait_list_close(&group->calls, status_new(CANCELLED, __FILE__, __LINE__, "the collective's group was dropped"));
    wait_list_unlock(&group->calls);
}

static const ResourceType group_type = {"CollectiveGroup", sizeof(Group), clear, drop};

static Status *create(void *arg, Resource **out) {
    (void)arg;
    TRY(resource_new(&group_type, out));
    Group *group = (Group *)*out;
    condition_init(&group->changed);
    wait_list_init(&group->calls, group, "Collective");
    group->calls.serve = serve;
    group->calls.finish = finish;
    return OK;
}

static Status *join(ResourceTable *resources, const CollectiveSpec *spec, const Tensor *input, CollectiveDone *done, void *arg,
                    Group **out_group, Call **out) {
    NEED(spec->group_size > 0, INVALID_ARGUMENT, "group_size must be positive, got %d", spec->group_size);
    NEED(spec->timeout >= 0 && spec->timeout < 1e9, INVALID_ARGUMENT, "timeout_seconds is %g", spec->timeout);
    AUTO(text) Text name = {0};
    text_format(&name, "collective/%d", spec->group_key);
    NEED_MEMORY(!name.failed);
    Call *call = calloc(1, sizeof *call);
    NEED_MEMORY(call);
    Resource *group = NULL;
    Status *status = resource_find_or_create(resources, (Str){0}, text_str(&name), &group_type, create, NULL, &group);
    call->spec = *spec;
    call->input = input->dtype ? tensor_retain(input) : (Tensor){0};
    call->done = done;
    call->arg = arg;
    call->deadline = spec->timeout > 0 ? clock_now() + (int64_t)(spec->timeout * 1e9) : NO_DEADLINE;
    *out_group = (Group *)group;
    *out = call;
    if (status) {
        tensor_clear(&call->input);
        free(call);
    }
    return status;
}

void collective_join(ResourceTable *resources, const CollectiveSpec *spec, const Tensor *input, Cancellation *cancellation,
                     CollectiveDone *done, void *arg) {
    Group *group;
    Call *call;
    Status *status = join(resources, spec, input, done, arg, &group, &call);
    if (status) {
        done(arg, status, (Tensor){0});
        return;
    }
    // The call may be gone once it is in the list: the group is held for what comes after.
    int64_t deadline = call->deadline;
    resource_retain((Resource *)group);
    wait_list_add(&group->calls, &call->wait, cancellation);
    status = mind_deadline(group, deadline);
    if (status)
        drop((Resource *)group);
    status_free(status);
    resource_release((Resource *)group);
}
