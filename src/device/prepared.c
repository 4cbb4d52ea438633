// Prepared — see binding.h: needs, shapes and geometry of one node for given input shapes, and the guard over them.
#include "device/binding.h"
#include "graph/needs.h"
#include "graph/shapes.h"

typedef struct PrepareCleanup {
    void (*fn)(void *);
    void *arg;
    struct PrepareCleanup *next;
} PrepareCleanup;

Status *prepare_cleanup(Prepare *p, void (*fn)(void *), void *arg) {
    PrepareCleanup *cleanup = ARENA_NEW(p->arena, PrepareCleanup);
    if (!cleanup)
        fn(arg);
    NEED_MEMORY(cleanup);
    *cleanup = (PrepareCleanup){fn, arg, p->cleanups};
    p->cleanups = cleanup;
    return OK;
}

int64_t prepare_input_int(const Prepare *p, int i, int64_t j) {
    return tensor_int(p->in[i], j);
}

static void clean_up(PrepareCleanup *cleanups) {
    for (PrepareCleanup *cleanup = cleanups; cleanup; cleanup = cleanup->next)
        cleanup->fn(cleanup->arg);
}

void prepared_clear(Prepared *prepared) {
    clean_up(prepared->cleanups);
    arena_clear(&prepared->arena);
    arena_clear(&prepared->spare);
    *prepared = (Prepared){0};
}

bool prepared_values_fit(const Prepared *prepared, Tensor *const *in) {
    for (int i = 0; i < prepared->n_watched; i++) {
        const Watched *watched = &prepared->watched[i];
        for (int j = 0; j < watched->n; j++)
            if (tensor_int(in[watched->input], j) != watched->values[j])
                return false;
    }
    return true;
}

// Remembers the value of a host input; false where it is too large, or no integers.
static bool watch(Prepared *prepared, int input, const Tensor *value) {
    int64_t n = tensor_count(value);
    if (n > WATCHED_VALUES || (value->dtype != DT_int32 && value->dtype != DT_int64))
        return false;
    Watched *watched = &prepared->watched[prepared->n_watched++];
    *watched = (Watched){.input = (int16_t)input, .n = (int16_t)n};
    for (int j = 0; j < n; j++)
        watched->values[j] = tensor_int(value, j);
    return true;
}

static Status *prepared_values(Prepared *prepared, const Binding *binding, Tensor *const *in, const Tensor ***out) {
    const Tensor **values = ARENA_ARRAY(&prepared->arena, const Tensor *, binding->n_in);
    prepared->watched = ARENA_ARRAY(&prepared->arena, Watched, binding->n_in);
    NEED_MEMORY(values && prepared->watched);
    prepared->reusable = true;
    for (int i = 0; i < binding->n_in; i++) {
        if (!(binding->in_flags[i] & EDGE_HOST) || !in[i]->data)
            continue;
        values[i] = in[i];
        if (!watch(prepared, i, in[i]))
            prepared->reusable = false;
    }
    *out = values;
    return OK;
}

// What the shape function sees of input i. A reference that the op takes unread is a handle, one element of memory: what
// counts there is the declared shape of its variable.
static Shape input_shape(const Prepared *prepared, const Binding *binding, int i) {
    const Node *node = binding->node;
    if (!node_input_is_ref(node, i) || (binding->in_flags[i] & EDGE_VARIABLE))
        return prepared->in[i];
    Output from = node->inputs ? node->inputs[i] : (Output){0};
    return from.node ? from.node->output_shapes[from.index] : UNKNOWN_SHAPE;
}

// The memory of a reference is its handle, whatever the shape of the variable.
static void shape_references(Prepared *prepared, const Binding *binding) {
    for (int i = 0; i < binding->n_out; i++)
        if (dtype_is_ref(binding->node->output_types[i]))
            prepared->out[i] = SCALAR_SHAPE;
}

static Status *prepared_shapes(Prepared *prepared, const Binding *binding, const Tensor *const *values) {
    const Node *node = binding->node;
    Arena *arena = &prepared->arena;
    const HandleShape **handles = ARENA_ARRAY(arena, const HandleShape *, binding->n_in);
    HandleShape **handles_out = ARENA_ARRAY(arena, HandleShape *, binding->n_out);
    Shape *in = ARENA_ARRAY(arena, Shape, binding->n_in);
    NEED_MEMORY(handles && handles_out && in);
    for (int i = 0; i < binding->n_in; i++)
        in[i] = input_shape(prepared, binding, i);
    for (int i = 0; i < binding->n_in; i++)
        if (node->inputs && node->inputs[i].node && node->inputs[i].node->handles)
            handles[i] = node->inputs[i].node->handles[node->inputs[i].index];
    for (int i = 0; i < binding->n_out; i++)
        prepared->out[i] = UNKNOWN_SHAPE;
    if (node->type->needs)
        TRY(needs_check(node->type->needs, node, in, values));
    if (!binding->op->shape) {
        shape_references(prepared, binding);
        return OK;
    }
    Shapes shapes = {
        .node = node, .in = in, .value = values, .handle = handles, .out = prepared->out,
        .handle_out = handles_out, .n_in = binding->n_in, .n_out = binding->n_out, .arena = arena,
    };
    TRY(binding->op->shape(&shapes));
    shape_references(prepared, binding);
    return OK;
}

static Status *prepared_geometry(Prepared *prepared, const Binding *binding, Tensor *const *in, int threads,
                                 const void *before) {
    const Op *op = binding->op;
    prepared->run = binding->run;
    if (!op->prepare)
        return OK;
    Tensor *seen = ARENA_ARRAY(&prepared->arena, Tensor, binding->n_in + binding->n_out);
    const Tensor **views = ARENA_ARRAY(&prepared->arena, const Tensor *, binding->n_in + binding->n_out);
    prepared->own = arena_aligned(&prepared->arena, op->own_size, BUFFER_ALIGNMENT);
    NEED_MEMORY(seen && views && prepared->own);
    for (int i = 0; i < binding->n_in + binding->n_out; i++)
        views[i] = &seen[i];
    for (int i = 0; i < binding->n_in; i++) {
        seen[i] = *in[i];
        if (!(binding->in_flags[i] & EDGE_HOST))
            seen[i].data = NULL;
        // No prepare has to ask whether the numbers that it reads are there: until they are, the node is late.
        else
            NEED(seen[i].data || (seen[i].dtype != DT_int32 && seen[i].dtype != DT_int64), FAILED_PRECONDITION,
                 "the value of input %d is not known yet", i);
    }
    for (int i = 0; i < binding->n_out; i++)
        seen[binding->n_in + i] =
            (Tensor){.dtype = node_value_type(binding->node, i), .shape = prepared->out[i]};
    Prepare prepare = {
        .node = binding->node, .in = views, .out = views + binding->n_in, .n_in = binding->n_in,
        .n_out = binding->n_out, .own = prepared->own, .before = before, .arena = &prepared->arena, .run = binding->run,
        .threads = threads,
    };
    Status *status = op->prepare(&prepare);
    prepared->cleanups = prepare.cleanups;
    prepared->run = prepare.run;
    prepared->scratch = prepare.scratch;
    prepared->cost = prepare.cost;
    return status;
}

static Status *prepared_fill(Prepared *prepared, const Binding *binding, Tensor *const *in, int threads,
                             const void *before) {
    prepared->in = ARENA_ARRAY(&prepared->arena, Shape, binding->n_in);
    prepared->out = ARENA_ARRAY(&prepared->arena, Shape, binding->n_out);
    prepared->out_bytes = ARENA_ARRAY(&prepared->arena, size_t, binding->n_out);
    NEED_MEMORY(prepared->in && prepared->out && prepared->out_bytes);
    for (int i = 0; i < binding->n_in; i++)
        prepared->in[i] = in[i]->shape;
    const Tensor **values;
    TRY(prepared_values(prepared, binding, in, &values));
    TRY(prepared_shapes(prepared, binding, values));
    for (int i = 0; i < binding->n_out; i++) {
        prepared->out_bytes[i] = OUT_OPEN;
        if (shape_is_known(&prepared->out[i]) && !(binding->op->flags & OP_LATE))
            TRY(shape_bytes(&prepared->out[i], node_value_type(binding->node, i), &prepared->out_bytes[i]));
    }
    TRY(prepared_geometry(prepared, binding, in, threads, before));
    prepared->ready = true;
    return OK;
}

// Where sizes change from step to step this runs each time: the two arenas take turns, and a prepare may copy from the one
// before what doesn't depend on shapes.
Status *prepared_init(Prepared *prepared, const Binding *binding, Tensor *const *in, int threads) {
    const void *before = prepared->ready ? prepared->own : NULL;
    PrepareCleanup *cleanups = prepared->cleanups;
    *prepared = (Prepared){.arena = prepared->spare, .spare = prepared->arena};
    arena_reset(&prepared->arena);
    Status *status = prepared_fill(prepared, binding, in, threads, before);
    clean_up(cleanups);
    return status;
}
