// TF_KernelBuilder — kernels that clients write; and how the machine opens, runs and closes them.
//
// A kernel object belongs to one node in one session and may be called by several steps at once, as in TensorFlow.
// Nothing that was registered is ever taken back, so builders live for ever.
#include "api/tf/plugin.h"

#include <stdlib.h>

#include "thread/notification.h"

// ---------------------------------------- the op behind it

Status *plugin_op_new(const char *signature, PluginOp **out) {
    PluginOp *plugin = calloc(1, sizeof *plugin);
    NEED_MEMORY(plugin);
    plugin->op = (Op){
        .signature = signature,
        .doc = "A custom operation.",
        .open = plugin_open,
        .close = plugin_close,
        .state_size = sizeof(PluginState),
        .keeps = UINT32_MAX,  // clients may hold on to what TF_GetInput gave them
        .flags = OP_STATEFUL | OP_DYNAMIC_SHAPE,
    };
    *out = plugin;
    return OK;
}

Status *plugin_open(Opening *opening) {
    PluginState *state = opening->state;
    const DynamicKernel *kernel = dynamic_kernel_find(opening->node, "CPU");
    NEED(kernel && kernel->plugin, UNIMPLEMENTED, "{{node %.*s}} (%.*s): no kernel was registered for it",
         NODE_ARGS(opening->node));
    const TF_KernelBuilder *builder = kernel->plugin;
    TF_OpKernelConstruction construction = {.node = opening->node};
    state->builder = builder;
    if (builder->create)
        state->object = builder->create(&construction);
    if (construction.failure && builder->destroy && state->object) {
        builder->destroy(state->object);
        state->object = NULL;
    }
    return construction.failure;
}

void plugin_close(void *state) {
    PluginState *plugin = state;
    if (plugin->builder && plugin->builder->destroy && plugin->object)
        plugin->builder->destroy(plugin->object);
    plugin->object = NULL;
}

// ---------------------------------------- running

struct TF_AsyncOpKernelDoneCallback {
    Notification done;
};

void TF_RunAsyncOpKernelDoneCallback(TF_AsyncOpKernelDoneCallback *callback) {
    notification_notify(&callback->done);
}

// The thread waits for its kernel: custom asynchronous kernels are rare, and this keeps their context on the stack.
static void run_async(const PluginState *state, TF_OpKernelContext *context) {
    TF_AsyncOpKernelDoneCallback callback = {0};
    state->builder->compute_async(state->object, context, &callback);
    notification_wait(&callback.done, NO_DEADLINE);
}

static Status *check_outputs(const Kernel *k) {
    for (int i = 0; i < k->n_out; i++)
        NEED(k->out[i]->buffer, INTERNAL, "Missing %d-th output from the kernel", i);
    return OK;
}

Status *plugin_run(Kernel *k) {
    const PluginState *state = k->state;
    NEED(state && state->builder, FAILED_PRECONDITION, "a custom kernel runs in sessions only");
    TF_OpKernelContext context = {.k = k};
    if (state->builder->compute_async)
        run_async(state, &context);
    else
        state->builder->compute(state->object, &context);
    return context.failure ? context.failure : check_outputs(k);
}

// ---------------------------------------- registering

static TF_KernelBuilder *builder_new(const char *op_name, const char *device_name) {
    TF_KernelBuilder *builder = calloc(1, sizeof *builder);
    if (!builder)
        return NULL;
    builder->op_name = str_copy(&builder->arena, str_of(op_name));
    builder->kernel.device_type = str_copy(&builder->arena, str_of(device_name));
    builder->kernel.run = plugin_run;
    builder->kernel.plugin = builder;
    builder->failed = !builder->op_name.p || !builder->kernel.device_type.p;
    return builder;
}

TF_KernelBuilder *TF_NewKernelBuilder(const char *op_name, const char *device_name,
                                      void *(*create_func)(TF_OpKernelConstruction *),
                                      void (*compute_func)(void *, TF_OpKernelContext *),
                                      void (*delete_func)(void *)) {
    TF_KernelBuilder *builder = builder_new(op_name, device_name);
    if (builder) {
        builder->create = create_func;
        builder->compute = compute_func;
        builder->destroy = delete_func;
    }
    return builder;
}

TF_KernelBuilder *TF_NewAsyncKernelBuilder(const char *op_name, const char *device_name,
                                           void *(*create_func)(TF_OpKernelConstruction *),
                                           void (*compute_async_func)(void *, TF_OpKernelContext *,
                                                                      TF_AsyncOpKernelDoneCallback *done),
                                           void (*delete_func)(void *)) {
    TF_KernelBuilder *builder = builder_new(op_name, device_name);
    if (builder) {
        builder->create = create_func;
        builder->compute_async = compute_async_func;
        builder->destroy = delete_func;
    }
    return builder;
}

void TF_DeleteKernelBuilder(TF_KernelBuilder *builder) {
    if (!builder)
        return;
    arena_clear(&builder->arena);
    free(builder);
}

void TF_KernelBuilder_TypeConstraint(TF_KernelBuilder *kernel_builder, const char *attr_name, TF_DataType type,
                                     TF_Status *status) {
    DynamicKernel *kernel = &kernel_builder->kernel;
    size_t n = (size_t)kernel->n_constraints;
    void *grown = arena_array(&kernel_builder->arena, n + 1, sizeof *kernel->constraints);
    Str attr = str_copy(&kernel_builder->arena, str_of(attr_name));
    if (!grown || !attr.p) {
        api_set(status, OUT_OF_MEMORY);
        return;
    }
    if (n)
        memcpy(grown, kernel->constraints, n * sizeof *kernel->constraints);
    kernel->constraints = grown;
    kernel->constraints[n].attr = attr;
    kernel->constraints[n].dtype = (DType)type;
    kernel->n_constraints++;
    api_ok(status);
}

// All our memory is the host's where custom kernels run.
void TF_KernelBuilder_HostMemory(TF_KernelBuilder *kernel_builder, const char *arg_name) {
    (void)kernel_builder, (void)arg_name;
}

void TF_KernelBuilder_Priority(TF_KernelBuilder *kernel_builder, int32_t priority_number) {
    kernel_builder->kernel.priority = priority_number;
}

void TF_KernelBuilder_Label(TF_KernelBuilder *kernel_builder, const char *label) {
    Str copy = str_copy(&kernel_builder->arena, str_of(label));
    kernel_builder->kernel.label = copy.p ? copy : (Str){0};
    kernel_builder->failed |= !copy.p;
}

// An op that we only know by its signature gets its first kernel: from now on it is one with code.
static Status *give_op(const OpType *type) {
    AUTO(text) Text signature = {0};
    signature_print(&signature, &type->signature);
    NEED_MEMORY(!signature.failed && signature.p);
    PluginOp *plugin;
    TRY(plugin_op_new(signature.p, &plugin));
    signature = (Text){0};
    ((OpType *)type)->op = &plugin->op;
    return OK;
}

static Status *register_kernel(TF_KernelBuilder *builder) {
    static Mutex lock = MUTEX_INIT;
    NEED_MEMORY(!builder->failed);
    TRY(op_type_find(builder->op_name, &builder->kernel.type));
    mutex_lock(&lock);
    Status *status = builder->kernel.type->op ? OK : give_op(builder->kernel.type);
    mutex_unlock(&lock);
    TRY(status);
    NEED(builder->kernel.type->op->open == plugin_open, ALREADY_EXISTS, "op '%.*s' has its kernels in the library",
         STR_ARGS(builder->op_name));
    return dynamic_kernel_register(&builder->kernel);
}

void TF_RegisterKernelBuilder(const char *kernel_name, TF_KernelBuilder *builder, TF_Status *status) {
    (void)kernel_name;
    api_begin();
    if (api_failed(status, register_kernel(builder)))
        TF_DeleteKernelBuilder(builder);
}

static Status *read_kernel_def(const char *serialized, TF_KernelBuilder *builder) {
    AUTO(arena) Arena arena = {0};
    KernelDef *def;
    TRY(PROTO_DECODE(KernelDef, &arena, str_of(serialized), &def));
    builder->kernel.priority = def->priority;
    builder->kernel.label = str_copy(&builder->arena, def->label);
    NEED_MEMORY(builder->kernel.label.p);
    return OK;
}

void TF_RegisterKernelBuilderWithKernelDef(const char *serialized_kernel_def, const char *name,
                                           TF_KernelBuilder *builder, TF_Status *status) {
    if (api_failed(status, read_kernel_def(serialized_kernel_def, builder)))
        TF_DeleteKernelBuilder(builder);
    else
        TF_RegisterKernelBuilder(name, builder, status);
}
