// Prepared — see binding.h: needs, shapes and geometry of one node for given input shapes, and the guard over them.
//
// What costs time (checking, the shape function, attributes, choosing a loop or a library's primitive) is done once for
// a set of input shapes; the guard says whether it still holds. Shapes are compared as one row of words; values only of
// inputs on the host that the preparation read.
#include <stdlib.h>

#include "device/binding.h"
#include "graph/needs.h"
#include "graph/shapes.h"

// Nodes of so many inputs and outputs find room on the stack; nearly all are.
enum { NARROW = 8 };  // nodes of so many inputs and outputs find room on the stack

typedef struct PrepareCleanup {
    void (*fn)(void *);
    void *arg;
    struct PrepareCleanup *next;
} PrepareCleanup;

// Takes over `arg`: where it can't be noted it is freed now.
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

// ---- memory

// One that can be made anew has memory of its own: `arena` is reset for each preparation, `lasting` keeps what no shape
// changes (packed constants, attributes read).
typedef struct {
    Preparation making;
    Arena arena, lasting;
} Private;

static Preparation *private_new(void) {
    Private *private = calloc(1, sizeof *private);
    if (!private)
        return NULL;
    private->making.arena = &private->arena;
    private->making.lasting = &private->lasting;
    return &private->making;
}

static void private_free(Preparation *making) {
    arena_clear(making->arena);
    arena_clear(making->lasting);
    free(making);  // the first member of its Private
}

// One in a specialisation's arena has both arenas the same, and they are not its own.
void prepared_clear(Prepared *prepared) {
    Preparation *making = prepared->making;
    if (making) {
        clean_up(making->cleanups);
        if (making->lasting != making->arena)
            private_free(making);
    }
    *prepared = (Prepared){0};
}

bool prepared_values_fit(const Prepared *prepared, Tensor *const *in) {
    for (int i = 0; i < prepared->n_watched; i++) {
        const Watched *watched = &prepared->making->watched[i];
        for (int j = 0; j < watched->n; j++)
            if (tensor_int(in[watched->input], j) != watched->values[j])
                return false;
    }
    return true;
}

// ---- what the guard compares

// Ranks and extents in one array, compared by one loop (prepared_fits). Up to GUARD_WORDS it lies in the record itself.
static Status *guard_shapes(Prepared *prepared, const Binding *binding) {
    const Shape *in = prepared->making->in;
    size_t words = 0;
    for (int i = 0; i < binding->n_in; i++)
        words += 1 + (size_t)(in[i].rank > 0 ? in[i].rank : 0);
    int64_t *word = prepared->words;
    if (words > GUARD_WORDS) {
        word = ARENA_ARRAY(prepared->making->arena, int64_t, words);
        NEED_MEMORY(word);
        prepared->guard = word;
    }
    for (int i = 0; i < binding->n_in; i++) {
        *word++ = in[i].rank;
        for (int d = 0; d < in[i].rank; d++)
            *word++ = in[i].dims[d];
    }
    return OK;
}

// Remembers the value of a host input; false where it is too large, or no integers: such a node is prepared each time.
static bool watch(Prepared *prepared, int input, const Tensor *value) {
    int64_t n = tensor_count(value);
    if (n > WATCHED_VALUES || (value->dtype != DT_int32 && value->dtype != DT_int64))
        return false;
    Watched *watched = &prepared->making->watched[prepared->n_watched++];
    *watched = (Watched){.input = (int16_t)input, .n = (int16_t)n};
    for (int j = 0; j < n; j++)
        watched->values[j] = tensor_int(value, j);
    return true;
}

// The values of host inputs, as far as they are known; the others stay NULL. What the preparation may have read must be
// watched, whether it did or not.
static Status *watch_values(Prepared *prepared, const Binding *binding, Tensor *const *in, const Tensor **values) {
    prepared->reusable = true;
    for (int i = 0; i < binding->n_in; i++) {
        values[i] = NULL;
        if (!(binding->in_flags[i] & EDGE_HOST) || !in[i]->data)
            continue;
        values[i] = in[i];
        if (!prepared->making->watched)
            prepared->making->watched = ARENA_ARRAY(prepared->making->arena, Watched, binding->n_in);
        NEED_MEMORY(prepared->making->watched);
        if (!watch(prepared, i, in[i]))
            prepared->reusable = false;
    }
    return OK;
}

// ---- shapes

// What the shape function sees of input i. A reference that the op takes unread is a handle, one element of memory:
// what counts there is the declared shape of its variable.
static Shape input_shape(const Prepared *prepared, const Binding *binding, int i) {
    const Node *node = binding->node;
    if (!node_input_is_ref(node, i) || (binding->in_flags[i] & EDGE_VARIABLE))
        return prepared->making->in[i];
    Output from = node->inputs ? node->inputs[i] : (Output){0};
    return from.node ? from.node->output_shapes[from.index] : UNKNOWN_SHAPE;
}

// The memory of a reference is its handle, whatever the shape of the variable: one element.
static void shape_references(Prepared *prepared, const Binding *binding) {
    for (int i = 0; i < binding->n_out; i++)
        if (dtype_is_ref(binding->node->output_types[i]))
            prepared->out[i] = SCALAR_SHAPE;
}

// What handles say of what is behind them. Of a variable that the kernel works on, its value is here and says more.
static void shape_handles(const Prepared *prepared, const Binding *binding, Tensor *const *in, HandleShape *variables,
                          const HandleShape **handles) {
    const Node *node = binding->node;
    for (int i = 0; i < binding->n_in; i++) {
        if (node->inputs && node->inputs[i].node && node->inputs[i].node->handles)
            handles[i] = node->inputs[i].node->handles[node->inputs[i].index];
        if (!(binding->in_flags[i] & (EDGE_UPDATE | EDGE_READ)) || node_input_is_ref(node, i))
            continue;
        variables[i] = (HandleShape){in[i]->dtype, prepared->making->in[i]};
        handles[i] = &variables[i];
    }
}

static Status *prepared_shapes(Prepared *prepared, const Binding *binding, Tensor *const *inputs,
                               const Tensor *const *values) {
    const Node *node = binding->node;
    Arena *arena = prepared->making->arena;
    const HandleShape *few_handles[NARROW] = {0}, **handles = few_handles;
    HandleShape few_variables[NARROW], *variables = few_variables;
    HandleShape *few_handles_out[NARROW] = {0}, **handles_out = few_handles_out;
    Shape few_in[NARROW], *in = few_in;
    if (binding->n_in > NARROW || binding->n_out > NARROW) {
        handles = ARENA_ARRAY(arena, const HandleShape *, binding->n_in);
        variables = ARENA_ARRAY(arena, HandleShape, binding->n_in);
        handles_out = ARENA_ARRAY(arena, HandleShape *, binding->n_out);
        in = ARENA_ARRAY(arena, Shape, binding->n_in);
        NEED_MEMORY(handles && variables && handles_out && in);
    }
    for (int i = 0; i < binding->n_in; i++)
        in[i] = input_shape(prepared, binding, i);
    shape_handles(prepared, binding, inputs, variables, handles);
    for (int i = 0; i < binding->n_out; i++)
        prepared->out[i] = UNKNOWN_SHAPE;
    // What the op demands comes before its shape function, which may rely on it.
    if (node->type->needs)
        TRY(needs_check(node->type->needs, node, in, values));
    if (binding->op->shape) {
        Shapes shapes = {
            .node = node, .in = in, .value = values, .handle = handles, .out = prepared->out,
            .handle_out = handles_out, .n_in = binding->n_in, .n_out = binding->n_out, .arena = arena,
        };
        TRY(binding->op->shape(&shapes));
    }
    shape_references(prepared, binding);
    return OK;
}

// ---- geometry

// `prepare` sees shapes, and data only of inputs on the host: what it made must hold for all data of these shapes.
static Status *prepared_geometry(Prepared *prepared, const Binding *binding, Tensor *const *in, int threads) {
    const Kernels *kernels = binding->device->type->kernels(binding->op);
    Preparation *making = prepared->making;
    prepared->run = binding->run;
    if (!kernels || !kernels->prepare)
        return OK;
    int n = binding->n_in + binding->n_out;
    Tensor few_seen[NARROW], *seen = few_seen;
    const Tensor *few_views[NARROW], **views = few_views;
    if (n > NARROW) {
        seen = ARENA_ARRAY(making->arena, Tensor, n);
        views = ARENA_ARRAY(making->arena, const Tensor *, n);
    }
    prepared->own = arena_aligned(making->arena, kernels->own_size, BUFFER_ALIGNMENT);
    NEED_MEMORY(seen && views && prepared->own);
    for (int i = 0; i < n; i++)
        views[i] = &seen[i];
    for (int i = 0; i < binding->n_in; i++) {
        seen[i] = *in[i];
        if (!(binding->in_flags[i] & EDGE_HOST))
            seen[i].data = NULL;
        // No prepare has to ask whether the numbers that it reads are there: until they are, the node is dynamic.
        else
            NEED(seen[i].data || (seen[i].dtype != DT_int32 && seen[i].dtype != DT_int64), FAILED_PRECONDITION,
                 "the value of input %d is not known yet", i);
    }
    for (int i = 0; i < binding->n_out; i++)
        seen[binding->n_in + i] =
            (Tensor){.dtype = node_value_type(binding->node, i), .shape = prepared->out[i]};
    Prepare prepare = {
        .node = binding->node, .in = views, .out = views + binding->n_in, .n_in = binding->n_in,
        .n_out = binding->n_out, .own = prepared->own, .arena = making->arena, .lasting = making->lasting,
        .persistent = making->persistent, .run = binding->run, .threads = threads,
    };
    Status *status = kernels->prepare(&prepare);
    making->cleanups = prepare.cleanups;
    making->persistent = prepare.persistent;
    making->cost = prepare.cost;
    making->equal_input = prepare.equal_input;
    making->equal_at = prepare.equal_at;
    making->reordered = prepare.reordered;
    making->implementation = prepare.implementation;
    prepared->run = prepare.run;
    prepared->scratch = prepare.scratch;
    return status;
}

// ---- outputs

// The sizes of the outputs, and which inputs may lend their memory: of the same type and number of bytes, where the op
// says that it may run in place.
static Status *prepared_outputs(Prepared *prepared, const Binding *binding, Tensor *const *in) {
    const Node *node = binding->node;
    for (int i = 0; i < binding->n_out; i++) {
        // A list that another is made of, in place where it can be, is one object whatever is in it.
        bool object = i == 0 && binding->op->inplace && !dtype_is_plain(node_value_type(node, i));
        prepared->out_bytes[i] = OUT_OPEN;
        if (shape_is_known(&prepared->out[i]) && (object || !(binding->op->flags & OP_DYNAMIC_SHAPE)))
            TRY(shape_bytes(&prepared->out[i], node_value_type(node, i), &prepared->out_bytes[i]));
    }
    prepared->like = -1;
    if (!binding->n_out)
        return OK;
    DType dtype = node_value_type(node, 0);
    size_t bytes = prepared->out_bytes[0];
    for (int i = 0; i < binding->n_in && i < MAX_ARGS && bytes != OUT_OPEN; i++) {
        if (prepared->like < 0 && shape_equal(&prepared->making->in[i], &prepared->out[0]))
            prepared->like = (int8_t)i;
        if ((binding->in_flags[i] & EDGE_IN_PLACE) && in[i]->dtype == dtype && bytes && tensor_bytes(in[i]) == bytes)
            prepared->lend |= BIT(i);
    }
    prepared->bytes = bytes;
    prepared->dtype = (uint8_t)dtype;
    prepared->plain = binding->n_out == 1 && binding->direct && !(binding->out_flags[0] & EDGE_ALIAS) &&
                      bytes != OUT_OPEN &&
                      ((binding->out_flags[0] & EDGE_HOST) || device_hosts(binding->device, dtype));
    return OK;
}

// Guard first, geometry last: each step reads what those before it found.
static Status *fill_with(Prepared *prepared, const Binding *binding, Tensor *const *in, int threads) {
    Preparation *making = prepared->making;
    prepared->out = ARENA_ARRAY(making->arena, Shape, binding->n_out);
    prepared->out_bytes = ARENA_ARRAY(making->arena, size_t, binding->n_out);
    const Tensor *few_values[NARROW], **values = few_values;
    if (binding->n_in > NARROW)
        values = ARENA_ARRAY(making->arena, const Tensor *, binding->n_in);
    NEED_MEMORY(making->in && prepared->out && prepared->out_bytes && values);
    for (int i = 0; i < binding->n_in; i++)
        making->in[i] = in[i]->shape;
    TRY(guard_shapes(prepared, binding));
    TRY(watch_values(prepared, binding, in, values));
    TRY(prepared_shapes(prepared, binding, in, values));
    TRY(prepared_outputs(prepared, binding, in));
    return prepared_geometry(prepared, binding, in, threads);
}

// The shapes of the inputs are kept only where variables are compared with them at each call: 72 bytes an input.
static Status *prepared_fill(Prepared *prepared, const Binding *binding, Tensor *const *in, int threads) {
    Preparation *making = prepared->making;
    Shape few_in[NARROW];
    bool passing = binding->n_in <= NARROW && !binding->n_variables;
    making->in = passing ? few_in : ARENA_ARRAY(making->arena, Shape, binding->n_in);
    Status *status = fill_with(prepared, binding, in, threads);
    if (passing)
        making->in = NULL;
    return status;
}

// Where sizes change from step to step this runs each time, in the same memory.
Status *prepared_init(Prepared *prepared, const Binding *binding, Tensor *const *in, int threads) {
    Preparation *making = prepared->making ? prepared->making : private_new();
    NEED_MEMORY(making);
    *prepared = (Prepared){.making = making};
    clean_up(making->cleanups);
    making->cleanups = NULL;
    making->watched = NULL;
    arena_reset(making->arena);
    Status *status = prepared_fill(prepared, binding, in, threads);
    prepared->reusable &= !status;
    return status;
}

// For a specialisation: made once, freed with its arena.
Status *prepared_init_in(Arena *arena, Prepared *prepared, const Binding *binding, Tensor *const *in, int threads) {
    Preparation *making = ARENA_NEW(arena, Preparation);
    NEED_MEMORY(making);
    making->arena = making->lasting = arena;
    *prepared = (Prepared){.making = making};
    Status *status = prepared_fill(prepared, binding, in, threads);
    prepared->reusable &= !status;
    return status;
}
