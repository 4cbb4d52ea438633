// Program — what a PJRT device compiles of a plan, and its runs.
//
// A plug-in looks at the sizes of arguments alone: types, shapes and whether a value is still there are checked here.
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "device/pjrt/executable.h"
#include "device/pjrt/pjrt.h"
#include "device/pjrt/value.h"

typedef struct {
    Program base;
    PjrtDevice *device;
    Executable *executable;
    HloModule module;          // without its text
    PjBuffer **constants;      // by argument; NULL for others
} PjrtProgram;

static const PjrtProgram *program_of(const Program *program) {
    return (const PjrtProgram *)program;
}

// ---- compiling

static bool claims(const Device *device, const Node *node) {
    (void)device;
    return hlo_emits(node);
}

static void release(Program *base) {
    PjrtProgram *program = (PjrtProgram *)base;
    if (!program)
        return;
    for (int32_t i = 0; program->constants && i < program->module.n_arguments; i++)
        value_drop(program->device, program->constants[i]);
    log_write(LOG_INFO, "%s: %lld programs begun, %lld values taken there, %lld brought here so far",
              program->device->plugin->type.name, (long long)program->device->executions, (long long)program->device->uploads,
              (long long)program->device->downloads);
    executable_release(program->executable);
    hlo_module_clear(&program->module);
    free(program);
}

// What the host has to know of it.
static Status *describe(PjrtProgram *program, const HloSpec *spec) {
    HloModule *module = &program->module;
    bool *assigns = ARENA_ARRAY(&module->arena, bool, spec->n_variables);
    ProgramStream *streams = ARENA_ARRAY(&module->arena, ProgramStream, module->n_arguments);
    program->constants = ARENA_ARRAY(&module->arena, PjBuffer *, module->n_arguments);
    NEED_MEMORY(assigns && streams && program->constants);
    program->base = (Program){.assigns = assigns, .streams = streams, .n_variables = spec->n_variables,
                              .text_bytes = module->text.n};
    for (int32_t i = 0; i < module->n_arguments; i++) {
        const HloArgument *argument = &module->arguments[i];
        NEED(pjrt_type(argument->dtype), UNIMPLEMENTED, "%s is no type of the device", dtype_name(argument->dtype));
        if (argument->kind == HLO_STREAM)
            streams[program->base.n_streams++] = (ProgramStream){argument->node, argument->blocks};
        if (argument->kind == HLO_CONSTANT)
            TRY(value_upload(program->device, &argument->constant, &program->constants[i]));
    }
    for (int32_t i = 0; i < module->n_results; i++) {
        const HloResult *result = &module->results[i];
        NEED(pjrt_type(result->dtype), UNIMPLEMENTED, "%s is no type of the device", dtype_name(result->dtype));
        if (result->kind == HLO_ASSIGNED)
            assigns[result->index] = true;
    }
    return OK;
}

static Status *fill(PjrtProgram *program, const HloSpec *spec) {
    HloModule *module = &program->module;
    TRY(hlo_module(spec, module));
    TRY(describe(program, spec));
    TRY(executable_get(program->device, text_str(&module->text), &program->executable));
    text_clear(&module->text);
    program->base.compile_ns = program->executable->compile_ns;
    program->base.stored = !program->executable->compile_ns;
    NEED(program->executable->n_outputs == (size_t)module->n_results, INTERNAL,
         "the compiled program gives %zu results, expected %d", program->executable->n_outputs, module->n_results);
    return OK;
}

static Status *compile(const Device *device, const HloSpec *spec, Program **out) {
    PjrtProgram *program = calloc(1, sizeof *program);
    NEED_MEMORY(program);
    program->device = pjrt_of(device);
    Status *status = fill(program, spec);
    if (status)
        release(&program->base);
    else
        *out = &program->base;
    return status;
}

// ---- a run

typedef struct {
    const Device *device;
    PjrtDevice *at;
    const PjrtProgram *program;
    const ProgramRun *run;
    PjBuffer **in, **uploaded, **out;   // by argument; by argument, ours; by result
    Tensor *results;                    // by result: made before the run, filled behind it
    int64_t *keep;
    size_t n_keep;
    Arena arena;
} Running;

static Status *upload(Running *r, int32_t i, const Tensor *host) {
    const HloArgument *argument = &r->program->module.arguments[i];
    NEED(host->dtype == argument->dtype && shape_equal(&host->shape, &argument->shape), INVALID_ARGUMENT,
         "argument %d is of type %s and shape %s, expected %s and %s", i, dtype_name(host->dtype),
         shape_text(&host->shape), dtype_name(argument->dtype), shape_text(&argument->shape));
    TRY(value_upload(r->at, host, &r->uploaded[i]));
    r->in[i] = r->uploaded[i];
    return OK;
}

static Status *gather(Running *r) {
    const HloModule *module = &r->program->module;
    int32_t stream = 0;
    for (int32_t i = 0; i < module->n_arguments; i++) {
        const HloArgument *argument = &module->arguments[i];
        const Tensor *value = argument->kind == HLO_INPUT ? &r->run->inputs[argument->index]
                              : argument->kind == HLO_VARIABLE ? &r->run->variables[argument->index] : NULL;
        if (argument->kind == HLO_VARIABLE && r->run->keep && r->run->keep[argument->index])
            r->keep[r->n_keep++] = i;
        if (argument->kind == HLO_CONSTANT) {
            r->in[i] = r->program->constants[i];
        } else if (argument->kind == HLO_STREAM) {
            Tensor words = {.data = (void *)(uintptr_t)r->run->streams[stream++], .dtype = DT_uint32,
                            .shape = argument->shape};
            TRY(upload(r, i, &words));
        } else if (value_of(value)) {
            TRY(value_buffer(r->at, value, argument->dtype, &argument->shape, &r->in[i]));
        } else {
            TRY(upload(r, i, value));
        }
    }
    return OK;
}

// So that nothing can fail once the program has taken the variables' memory.
static Status *make_results(Running *r) {
    const HloModule *module = &r->program->module;
    for (int32_t i = 0; i < module->n_results; i++)
        if (module->results[i].kind != HLO_CHECKED)
            TRY(tensor_new_on(r->device->allocator, module->results[i].dtype, module->results[i].shape, &r->results[i]));
    return OK;
}

static Status *execute(Running *r) {
    const HloModule *module = &r->program->module;
    PjEvent *done = NULL;
    PJ_ARGS(PjExecuteOptions, options, .keep = r->keep, .n_keep = r->n_keep);
    PJ_ARGS(PjExecuteArgs, args, .loaded = r->program->executable->loaded, .options = &options,
            .arguments = (PjBuffer *const *const[]){r->in}, .n_devices = 1, .n_arguments = (size_t)module->n_arguments,
            .outputs = (PjBuffer **const[]){r->out}, .done = &done, .device = r->at->device);
    TRY(plugin_call(r->at->plugin, Pj_LoadedExecutable_Execute, &args));
    __atomic_fetch_add(&r->at->executions, 1, __ATOMIC_RELAXED);
    if (done)
        pjrt_pending(r->at, done, NULL, NULL);
    return OK;
}

// ---- checks

typedef struct {
    PjrtDevice *at;
    PjBuffer *buffer;
    Status *failure;
    bool good;
} Check;

static Status *checked(void *arg) {
    Check *check = arg;
    Status *status = check->good ? OK : check->failure;
    if (check->good)
        status_free(check->failure);
    value_drop(check->at, check->buffer);
    free(check);
    return status;
}

// What the op would have refused: the answer comes with the end of the step.
static void begin_check(Running *r, const HloResult *result, PjBuffer *buffer) {
    Check *check = calloc(1, sizeof *check);
    Status *failure = status_new(result->code, __FILE__, __LINE__, "{{node %.*s}} (%.*s): %s", NODE_ARGS(result->node),
                                 result->message);
    if (!check) {
        status_free(failure);
        value_drop(r->at, buffer);
        return;
    }
    *check = (Check){.at = r->at, .buffer = buffer, .failure = failure, .good = true};
    PJ_ARGS(PjToHostArgs, get, .from = buffer, .to = &check->good, .n = 1);
    Status *status = plugin_call(r->at->plugin, Pj_Buffer_ToHostBuffer, &get);
    if (!status) {
        pjrt_pending(r->at, get.event, checked, check);
        return;
    }
    status_free(status);  // the run's own error says it
    check->good = true;
    status_free(checked(check));
}

// ---- results

// A variable's new value has taken the place of its old one, whose buffer is an empty shell now.
static void assign(Running *r, const HloResult *result, Tensor *value) {
    Tensor *variable = &r->run->variables[result->index];
    DeviceValue *old = variable->buffer ? value_of(variable) : NULL;
    if (old && result->argument >= 0 && !(r->run->keep && r->run->keep[result->index])) {
        value_drop(r->at, old->buffer);
        old->buffer = NULL;
    }
    tensor_clear(variable);
    *variable = *value;
    *value = (Tensor){0};
}

static Status *give_output(Running *r, const HloResult *result, Tensor *value) {
    Tensor *out = &r->run->outputs[result->index];
    if (!device_hosts(r->device, result->dtype)) {
        *out = *value;
        *value = (Tensor){0};
        return OK;
    }
    Tensor host;
    TRY(pjrt_wait(r->at, r->run->step));
    TRY(tensor_new(result->dtype, result->shape, &host));
    Status *status = pjrt_bring(value, &host);
    if (status)
        tensor_clear(&host);
    else
        *out = host;
    return status;
}

// All variables first: an output that has to be awaited may fail.
static Status *take_results(Running *r) {
    const HloModule *module = &r->program->module;
    for (int32_t i = 0; i < module->n_results; i++)
        if (module->results[i].kind != HLO_CHECKED)
            value_of(&r->results[i])->buffer = r->out[i];
        else
            begin_check(r, &module->results[i], r->out[i]);
    for (int32_t i = 0; i < module->n_results; i++)
        if (module->results[i].kind == HLO_ASSIGNED)
            assign(r, &module->results[i], &r->results[i]);
    for (int32_t i = 0; i < module->n_results; i++)
        if (module->results[i].kind == HLO_OUTPUT)
            TRY(give_output(r, &module->results[i], &r->results[i]));
    return OK;
}

static Status *run_all(Running *r) {
    const HloModule *module = &r->program->module;
    size_t n_in = (size_t)module->n_arguments, n_out = (size_t)module->n_results;
    r->in = ARENA_ARRAY(&r->arena, PjBuffer *, n_in + 1);
    r->uploaded = ARENA_ARRAY(&r->arena, PjBuffer *, n_in + 1);
    r->out = ARENA_ARRAY(&r->arena, PjBuffer *, n_out + 1);
    r->results = ARENA_ARRAY(&r->arena, Tensor, n_out + 1);
    r->keep = ARENA_ARRAY(&r->arena, int64_t, n_in + 1);
    NEED_MEMORY(r->in && r->uploaded && r->out && r->results && r->keep);
    TRY(gather(r));
    TRY(make_results(r));
    TRY(execute(r));
    return take_results(r);
}

static Status *run(const Device *device, const Program *base, const ProgramRun *run) {
    Running r = {.device = device, .at = pjrt_of(device), .program = program_of(base), .run = run};
    Status *status = run_all(&r);
    for (int32_t i = 0; r.uploaded && i < r.program->module.n_arguments; i++)
        value_drop(r.at, r.uploaded[i]);
    for (int32_t i = 0; r.results && i < r.program->module.n_results; i++)
        tensor_clear(&r.results[i]);
    arena_clear(&r.arena);
    return status;
}

static Status *memory(const Device *device, DeviceMemory *out) {
    return pjrt_memory(pjrt_of(device), out);
}

const Compiler pjrt_compiler = {
    .claims = claims, .compile = compile, .release = release, .run = run, .bring = pjrt_bring, .memory = memory,
};
