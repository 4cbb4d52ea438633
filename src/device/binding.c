// Binding, alias — see binding.h: the choice of a kernel, and its call.
//
// invoke() is the one way to run a node outside of a specialised list: check, shape, allocate, prepare, run. Folding,
// specialising, dynamic nodes, frames and eager calls all come here, so they cannot differ.
#include "device/binding.h"

#include "base/checked.h"
#include "device/variables.h"
#include "kernel/registry.h"

// What scratch points to where there is none: an address, so that no kernel has to ask.
_Alignas(BUFFER_ALIGNMENT) char no_scratch[BUFFER_ALIGNMENT];
static char guard_failed;
Status *const GUARD_FAILED = (Status *)(void *)&guard_failed;  // compared, never read or freed

// Whatever fails in a node is told with its name, once.
Status *node_error(const Node *node, Status *status) {
    Flow flow = node_flow(node);
    if (!status || status == GUARD_FAILED || flow == FLOW_LOOP || flow == FLOW_CLUSTER ||
        flow == FLOW_RECV)  // they have said who is to blame
        return status;
    return status_prefix(status, "{{node %.*s}} (%.*s)", NODE_ARGS(node));
}

// By which the kernel is chosen: the first type attribute that isn't a list, as ops declare their dtype first.
DType binding_dtype(const Node *node) {
    const Signature *signature = &node->type->signature;
    for (int i = 0; i < signature->n_attrs; i++)
        if (signature->attrs[i].kind == ATTR_TYPE && !signature->attrs[i].is_list && i < node->n_attrs)
            return dtype_base(node->attrs[i].value.type);
    return DT_INVALID;
}

static RunFn *find_run(const Node *node, const Device *device) {
    return node->type->op ? device_type_kernel(device->type, node->type->op, binding_dtype(node)) : NULL;
}

RunFn *binding_recompute(const Binding *binding) {
    return binding->op && (binding->op->flags & OP_RECOMPUTES) ? find_run(binding->node, binding->device) : NULL;
}

// Control flow is run by the machine itself on any device; started ops run on the host only.
bool binding_exists(const Node *node, const Device *device) {
    const Op *op = node->type->op;
    return op && (op->flow != FLOW_NONE || (op->start && device->type->host) || find_run(node, device) ||
                  dynamic_kernel_find(node, device->type->name));
}

// A list is one argument and many inputs: the flags of all of them are the argument's.
static void spread(uint32_t mask, uint8_t flag, int arg, int first, int count, uint8_t *flags) {
    if (arg < MAX_ARGS && (mask & BIT(arg)))
        for (int i = first; i < first + count; i++)
            flags[i] |= flag;
}

// From masks by argument to flags by edge, once, so that a step tests one byte.
static void binding_flags(Binding *binding) {
    const Node *node = binding->node;
    const Op *op = binding->op;
    for (int arg = 0; arg < node->type->signature.n_inputs; arg++) {
        int first, count;
        node_input_span(node, arg, &first, &count);
        spread(op->host, EDGE_HOST, arg, first, count, binding->in_flags);
        spread(op->keeps, EDGE_KEEP, arg, first, count, binding->in_flags);
        spread(op->update, EDGE_UPDATE, arg, first, count, binding->in_flags);
        spread(op->replace, EDGE_REPLACE, arg, first, count, binding->in_flags);
        spread(op->read, EDGE_READ, arg, first, count, binding->in_flags);
        spread(op->inplace, EDGE_IN_PLACE, arg, first, count, binding->in_flags);
        spread(op->alias, EDGE_ALIAS, arg, first, count, binding->in_flags);
        spread(op->shape_only, EDGE_SHAPE_ONLY, arg, first, count, binding->in_flags);
        for (int i = first; i < first + count; i++)
            binding->n_variables = (int16_t)(binding->n_variables + ((binding->in_flags[i] & EDGE_VARIABLE) != 0));
    }
    for (int arg = 0; arg < node->type->signature.n_outputs; arg++) {
        int first, count;
        node_output_span(node, arg, &first, &count);
        spread(op->host_out, EDGE_HOST, arg, first, count, binding->out_flags);
        spread(op->alias, EDGE_ALIAS, arg, first, count, binding->out_flags);
    }
}

Status *binding_init(Binding *binding, const Node *node, const Device *device, Arena *arena) {
    const Op *op = node->type->op;
    NEED(node->n_inputs <= INT16_MAX && node->n_outputs <= INT16_MAX, RESOURCE_EXHAUSTED,
         "{{node %.*s}} (%.*s): a node has at most %d inputs and outputs", NODE_ARGS(node), INT16_MAX);
    *binding = (Binding){.node = node, .op = op, .device = device, .n_in = (int16_t)node->n_inputs,
                         .n_out = (int16_t)node->n_outputs};
    // A kernel that a plug-in registered wins over those compiled in.
    const DynamicKernel *dynamic = dynamic_kernel_find(node, device->type->name);
    if (dynamic) {
        binding->run = dynamic->run;
    } else if (op) {
        binding->run = op->flags & OP_RECOMPUTES ? kernel_nothing : find_run(node, device);
        binding->start = op->start;
    }
    NEED(op && (binding->run || binding->start || op->flow != FLOW_NONE), UNIMPLEMENTED,
         "{{node %.*s}} (%.*s): no kernel for type %s on device %s", NODE_ARGS(node),
         dtype_name(binding_dtype(node)), device->name);
    binding->in_flags = arena_alloc(arena, (size_t)node->n_inputs);
    binding->out_flags = arena_alloc(arena, (size_t)node->n_outputs);
    NEED_MEMORY(binding->in_flags && binding->out_flags);
    binding_flags(binding);
    // Then a step calls the kernel itself: no locks to take, no device that wraps the call.
    binding->direct = binding->n_variables == 0 && !device->type->run;
    return OK;
}

static Status *device_run(const Binding *binding, Kernel *k) {
    return binding->device->type->run ? binding->device->type->run(binding->device, k) : k->run(k);
}

// Outputs that pass on the handle of a variable, while k->in still holds it.
static void alias_handles(const Binding *binding, Kernel *k) {
    for (int i = 0; i < binding->n_out && i < binding->n_in; i++) {
        if (!(binding->out_flags[i] & EDGE_ALIAS) || !(binding->in_flags[i] & EDGE_VARIABLE))
            continue;
        buffer_release(k->out[i]->buffer);
        *k->out[i] = *k->in[i];
        buffer_retain(k->out[i]->buffer);
    }
}

// Locks first, then the guard: a variable's shape is looked at only while nobody can change it. The order in which
// several are locked is variables_begin's.
Status *binding_run(const Binding *binding, const Prepared *prepared, Kernel *k) {
    if (!binding->n_variables)
        return device_run(binding, k);
    alias_handles(binding, k);
    VariableLocks locks;
    TRY(variables_lock(binding, k, &locks));
    Status *status = OK;
    for (int i = 0; i < binding->n_in && !status; i++)
        if ((binding->in_flags[i] & (EDGE_UPDATE | EDGE_READ)) &&
            !shape_equal(&k->in[i]->shape, &prepared->making->in[i]))
            status = GUARD_FAILED;
    if (!status)
        status = device_run(binding, k);
    variables_unlock(k, &locks);
    return status;
}

// Output i as another view of input i's memory; in the input's shape where the op promises none.
static void alias_output(Kernel *k, int i, const Shape *shape) {
    Tensor *out = k->out[i];
    *out = *k->in[i];
    if (shape_is_known(shape))
        out->shape = *shape;
    buffer_retain(out->buffer);
}

// An input that dies here and has the output's size may lend its buffer: one that nobody else holds, whole, of plain
// layout, and without a stamp by which a kernel knows its contents again.
static inline bool reuse_input(const Prepared *prepared, Kernel *k, uint32_t last, Tensor *out) {
    for (uint32_t lend = prepared->lend & last; lend; lend &= lend - 1) {
        Tensor *in = k->in[__builtin_ctz(lend)];
        if (in->buffer && in->layout == LAYOUT_PLAIN && buffer_is_unique(in->buffer) && in->data == in->buffer->data &&
            !in->buffer->stamp && in->buffer->allocator) {
            out->buffer = in->buffer;  // moved: the input keeps its address for this call, and no count changes
            out->data = in->data;
            in->buffer = NULL;
            return true;
        }
    }
    return false;
}

// The usual node: one plain output in host memory, so no flag has to be looked at. The shape comes from an equal input
// if there is one: its line is in the cache.
static inline Status *allocate_one(const Prepared *prepared, Kernel *k, uint32_t last) {
    Tensor *out = k->out[0];
    out->dtype = (DType)prepared->dtype;
    out->layout = LAYOUT_PLAIN;
    out->shape = prepared->like < 0 ? prepared->out[0] : k->in[prepared->like]->shape;
    out->buffer = NULL;
    out->data = NULL;
    if (reuse_input(prepared, k, last, out))
        return OK;
    TRY(buffer_new(&host_allocator, out->dtype, prepared->bytes, &out->buffer));
    out->data = out->buffer->data;
    return OK;
}

static Status *allocate_outputs(const Binding *binding, const Prepared *prepared, Kernel *k, uint32_t last) {
    for (int i = 0; i < binding->n_out; i++) {
        Tensor *out = k->out[i];
        if (binding->out_flags[i] & EDGE_ALIAS) {
            if (!(binding->in_flags[i] & EDGE_VARIABLE))
                alias_output(k, i, &prepared->out[i]);
            continue;
        }
        size_t bytes = prepared->out_bytes[i];
        out->dtype = node_value_type(binding->node, i);
        out->layout = LAYOUT_PLAIN;
        out->shape = prepared->out[i];
        out->buffer = NULL;
        out->data = NULL;
        // OUT_OPEN: the kernel allocates it, when it knows how much.
        if (bytes == OUT_OPEN || (i == 0 && reuse_input(prepared, k, last, out)))
            continue;
        bool host = (binding->out_flags[i] & EDGE_HOST) || device_hosts(binding->device, out->dtype);
        TRY(buffer_new(host ? &host_allocator : binding->device->allocator, out->dtype, bytes, &out->buffer));
        out->data = out->buffer->data;
    }
    return OK;
}

// What a kernel allocated itself (kernel_output) lies in host memory: copies it to where its readers look for it.
static Status *bring_inside(const Binding *binding, const Prepared *prepared, Kernel *k) {
    const Device *device = binding->device;
    for (int i = 0; i < binding->n_out; i++) {
        Tensor *out = k->out[i], inside;
        if (prepared->out_bytes[i] != OUT_OPEN || !out->buffer || (binding->out_flags[i] & (EDGE_HOST | EDGE_ALIAS)) ||
            device_hosts(device, out->dtype))
            continue;
        TRY(tensor_new_on(device->allocator, out->dtype, out->shape, &inside));
        Status *status = device->type->copy_in(device, out, &inside);
        tensor_clear(status ? &inside : out);
        if (status)
            return status;
        *out = inside;
    }
    return OK;
}

static Status *run_inside(const Binding *binding, const Prepared *prepared, Kernel *k) {
    TRY(device_run(binding, k));
    return binding->device->type->host ? OK : bring_inside(binding, prepared, k);
}

// The guard is one comparison of words where shapes stayed; only where they changed is the node prepared again.
static Status *invoke_unlocked(const Binding *binding, Prepared *prepared, Kernel *k, uint32_t last) {
    if (!prepared_fits(prepared, binding, k->in))
        TRY(prepared_init(prepared, binding, k->in, k->step->threads));
    TRY(prepared->plain ? allocate_one(prepared, k, last) : allocate_outputs(binding, prepared, k, last));
    k->own = prepared->own;
    k->run = prepared->run;
    k->scratch = no_scratch;
    if (__builtin_expect(!prepared->scratch, 1))
        return prepared->plain ? k->run(k) : run_inside(binding, prepared, k);
    AUTO(buffer) Buffer *scratch = NULL;
    TRY(buffer_new(binding->device->allocator, DT_uint8, prepared->scratch, &scratch));
    k->scratch = scratch->data;
    Status *status = run_inside(binding, prepared, k);
    k->scratch = no_scratch;
    return status;
}

Status *invoke(const Binding *binding, Prepared *prepared, Kernel *k, uint32_t last) {
    if (__builtin_expect(!binding->n_variables, 1))
        return invoke_unlocked(binding, prepared, k, last);
    alias_handles(binding, k);
    VariableLocks locks;
    // Preparing sees the variables' values, so it is inside of the lock, too.
    TRY(variables_lock(binding, k, &locks));
    // Nothing may be written over while it is locked: `last` is 0.
    Status *status = invoke_unlocked(binding, prepared, k, 0);
    variables_unlock(k, &locks);
    return status;
}
