// Cluster — runs what a device compiles of a plan: the program for the shapes at hand, or the same nodes on the host.
//
// Shapes that come a second time are compiled, on a thread beside; until then, and where it can't be, the host runs the
// cluster's list. Variables of a program live on the device (VariableCopy): they are held while the run is begun, not
// while it lasts, and the host has their values again when somebody asks.
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "device/compiler.h"
#include "resource/handle.h"
#include "resource/variable.h"
#include "run/cluster.h"
#include "run/kernels.h"
#include "thread/pool.h"

const EnvVar compile_variable = {"MILLRACE_COMPILE", "now strict never tf32", true, NULL};
enum { COMPILE_NOW = 1, COMPILE_STRICT = 2, COMPILE_NEVER = 4, COMPILE_TF32 = 8 };

enum { MOST_PROGRAMS = 8 };  // shapes of one cluster; others run on the host

typedef enum { SEEN, COMPILING, READY, REFUSED } ProgramState;

typedef struct {
    Shape *shapes;            // by input: a value's, or that of a variable's value
    ProgramState state;
    Program *program;         // READY
    Status *why;              // REFUSED
} ClusterProgram;

struct ClusterPrograms {
    const PlanCluster *cluster;
    Mutex lock;
    Condition compiled;
    ClusterProgram all[MOST_PROGRAMS];
    int n, compiling;         // guarded by lock
    _Atomic int64_t n_device, n_host, n_brought;  // runs there and here; values of variables taken there: for people
    uint64_t mode;            // of MILLRACE_COMPILE
    bool told;                // that there are too many shapes
};

// One run.
typedef struct {
    Kernel *k;
    const PlanCluster *cluster;
    struct ClusterPrograms *programs;
    VariableUse *uses;        // by variable
    Resource **found;
    int32_t *variable_of;     // by input: -1: a value
    Shape *shapes;            // by input
    int n_variables;
    Arena arena;
} ClusterRun;

// ---------------------------------------- programs

Status *cluster_programs_new(const PlanCluster *cluster, struct ClusterPrograms **out) {
    struct ClusterPrograms *programs = calloc(1, sizeof *programs);
    NEED_MEMORY(programs);
    programs->cluster = cluster;
    programs->mode = env_var_read(&compile_variable, NULL);
    mutex_init(&programs->lock);
    condition_init(&programs->compiled);
    *out = programs;
    return OK;
}

void cluster_programs_free(struct ClusterPrograms *programs) {
    if (!programs)
        return;
    mutex_lock(&programs->lock);
    while (programs->compiling)
        condition_wait(&programs->compiled, &programs->lock);
    mutex_unlock(&programs->lock);
    log_write(LOG_INFO, "%s: a cluster of %d nodes ran %lld times there and %lld times on the host; %lld values of variables "
              "were taken there", programs->cluster->device->name, programs->cluster->host->n_nodes,
              (long long)programs->n_device, (long long)programs->n_host, (long long)programs->n_brought);
    for (int i = 0; i < programs->n; i++) {
        if (programs->all[i].program)
            programs->cluster->device->type->compiler->release(programs->all[i].program);
        status_free(programs->all[i].why);
        free(programs->all[i].shapes);
    }
    condition_clear(&programs->compiled);
    mutex_clear(&programs->lock);
    free(programs);
}

// ---- what is compiled

typedef struct {
    struct ClusterPrograms *programs;
    ClusterProgram *program;
    HloVariable *variables;   // as the spec wants them
    int32_t *variable_of;
    int n_variables;
    Arena arena;
} Compilation;

// Small integers and shapes are computed on the host, by the kernels.
static Status *compute(void *context, const Node *node, const Tensor *const *in, Tensor *out) {
    const Device *host = context;
    AUTO(arena) Arena arena = {0};
    Binding binding;
    Prepared prepared = {0};
    StepContext step = {.threads = 1, .deadline = NO_DEADLINE};
    TRY(binding_init(&binding, node, host, &arena));
    NEED(binding.run, UNIMPLEMENTED, "no kernel");
    Tensor **outs = ARENA_ARRAY(&arena, Tensor *, node->n_outputs + 1);
    Tensor **ins = ARENA_ARRAY(&arena, Tensor *, node->n_inputs + 1);
    NEED_MEMORY(outs && ins);
    for (int i = 0; i < node->n_outputs; i++) {
        out[i] = (Tensor){0};
        outs[i] = &out[i];
    }
    for (int i = 0; i < node->n_inputs; i++)
        ins[i] = (Tensor *)(uintptr_t)in[i];  // only read: nothing is lent
    Kernel kernel = {.in = ins, .out = outs, .n_in = binding.n_in, .n_out = binding.n_out, .node = node, .step = &step};
    Status *status = invoke(&binding, &prepared, &kernel, 0);
    prepared_clear(&prepared);
    for (int i = 0; i < node->n_outputs && status; i++)
        tensor_clear(&out[i]);
    return status;
}

static Status *check(void *context, const Node *node, const Tensor *const *in) {
    AUTO(arena) Arena arena = {0};
    Binding binding;
    Prepared prepared = {0};
    TRY(binding_init(&binding, node, context, &arena));
    Status *status = binding.run ? prepared_init(&prepared, &binding, (Tensor *const *)in, 1) : OK;  // only read
    prepared_clear(&prepared);
    if (!status || status_code(status) == INVALID_ARGUMENT)
        return status;
    status_free(status);
    return OK;
}

static Output edge_of(const Plan *plan, int32_t slot) {
    const PlanNode *p = &plan->nodes[plan->slots[slot].producer];
    return (Output){(Node *)(uintptr_t)p->binding.node, slot - p->out};
}

static Status *list_inputs(const Compilation *c, const Plan *plan, Arena *arena, HloSpec *spec) {
    HloInput *inputs = ARENA_ARRAY(arena, HloInput, plan->n_feeds + plan->n_nodes);
    NEED_MEMORY(inputs);
    spec->inputs = inputs;
    // The first are the node's inputs, in its order, but for those that nothing reads.
    for (int i = 0; i < plan->n_feeds; i++)
        if (plan->feeds[i].slot >= 0)
            inputs[spec->n_inputs++] = (HloInput){.edge = edge_of(plan, plan->feeds[i].slot),
                                                  .variable = c->variable_of[i], .dtype = plan->feeds[i].dtype,
                                                  .shape = c->program->shapes[i]};
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const PlanNode *p = &plan->nodes[i];
        if (!p->constant || p->flow == FLOW_ARG)
            continue;
        const Tensor *value = &plan->constants[p->out];
        inputs[spec->n_inputs++] = (HloInput){.edge = {(Node *)(uintptr_t)p->binding.node, 0}, .variable = -1,
                                              .dtype = value->dtype, .shape = value->shape, .known = value};
    }
    return OK;
}

static Status *list_members(const Plan *plan, Arena *arena, HloSpec *spec) {
    Node **members = ARENA_ARRAY(arena, Node *, plan->n_nodes);
    Output *outputs = ARENA_ARRAY(arena, Output, plan->n_fetches);
    NEED_MEMORY(members && outputs);
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const PlanNode *p = &plan->nodes[i];
        if (p->flow != FLOW_ARG && !p->constant && p->binding.n_in + p->binding.n_out > 0)
            members[spec->n_members++] = (Node *)(uintptr_t)p->binding.node;
    }
    for (int i = 0; i < plan->n_fetches; i++)
        outputs[spec->n_outputs++] = edge_of(plan, plan->fetches[i].slot);
    spec->members = members;
    spec->outputs = outputs;
    return OK;
}

static Status *compile(Compilation *c, Program **out) {
    const PlanCluster *cluster = c->programs->cluster;
    const Plan *plan = cluster->host;
    const Device *host = plan->n_nodes ? plan->nodes[0].binding.device : NULL;
    HloSpec spec = {.variables = c->variables, .n_variables = c->n_variables, .compute = compute, .check = check,
                    .context = (void *)(uintptr_t)host,
                    .fast_products = (c->programs->mode & COMPILE_TF32) != 0};
    TRY(list_inputs(c, plan, &c->arena, &spec));
    TRY(list_members(plan, &c->arena, &spec));
    return cluster->device->type->compiler->compile(cluster->device, &spec, out);
}

static void compile_task(void *arg) {
    Compilation *c = arg;
    struct ClusterPrograms *programs = c->programs;
    Program *program = NULL;
    Status *status = compile(c, &program);
    if (status)
        log_write(LOG_INFO, "%s: %d nodes run on the host: %s", programs->cluster->device->name,
                  programs->cluster->host->n_nodes, status_message(status));
    mutex_lock(&programs->lock);
    c->program->state = status ? REFUSED : READY;
    c->program->program = program;
    c->program->why = status;
    programs->compiling--;
    condition_notify_all(&programs->compiled);
    mutex_unlock(&programs->lock);
    arena_clear(&c->arena);
    free(c);
}

static Compilation *compilation_new(const ClusterRun *run, ClusterProgram *program) {
    Compilation *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->programs = run->programs;
    c->program = program;
    c->n_variables = run->n_variables;
    c->variables = ARENA_ARRAY(&c->arena, HloVariable, run->n_variables);
    c->variable_of = ARENA_ARRAY(&c->arena, int32_t, run->k->n_in);
    if (!c->variables || !c->variable_of) {
        arena_clear(&c->arena);
        free(c);
        return NULL;
    }
    for (int i = 0; i < run->k->n_in; i++) {
        int32_t v = c->variable_of[i] = run->variable_of[i];
        if (v >= 0)
            c->variables[v] = (HloVariable){run->uses[v].variable->dtype, run->shapes[i]};
    }
    return c;
}

// ---- which

static ClusterProgram *find(struct ClusterPrograms *programs, const Shape *shapes, int n) {
    for (int p = 0; p < programs->n; p++) {
        bool same = true;
        for (int i = 0; i < n && same; i++)
            same = shape_equal(&programs->all[p].shapes[i], &shapes[i]) ||
                   (shapes[i].rank < 0 && programs->all[p].shapes[i].rank < 0);
        if (same)
            return &programs->all[p];
    }
    return NULL;
}

static ClusterProgram *add(const ClusterRun *run) {
    struct ClusterPrograms *programs = run->programs;
    size_t n = (size_t)run->k->n_in;
    Shape *shapes = programs->n < MOST_PROGRAMS ? malloc((n + 1) * sizeof *shapes) : NULL;
    if (!shapes) {
        if (!programs->told)
            log_write(LOG_WARNING, "%s: a cluster has come in more than %d shapes: others run on the host",
                      programs->cluster->device->name, MOST_PROGRAMS);
        programs->told = true;
        return NULL;
    }
    memcpy(shapes, run->shapes, n * sizeof *shapes);
    programs->all[programs->n] = (ClusterProgram){.shapes = shapes, .state = SEEN};
    return &programs->all[programs->n++];
}

// The program for the shapes at hand; NULL: the host runs it this time.
static Status *find_program(ClusterRun *run, const Program **out) {
    struct ClusterPrograms *programs = run->programs;
    Compilation *begun = NULL;
    mutex_lock(&programs->lock);
    ClusterProgram *program = find(programs, run->shapes, run->k->n_in);
    bool now = programs->mode & (COMPILE_NOW | COMPILE_STRICT), first = !program;
    if (!program && !(programs->mode & COMPILE_NEVER))
        program = add(run);
    if (program && program->state == SEEN && (now || !first) && (begun = compilation_new(run, program))) {
        program->state = COMPILING;
        programs->compiling++;
    }
    if (begun) {
        mutex_unlock(&programs->lock);
        if (!pool_elastic(compile_task, begun))
            compile_task(begun);
        mutex_lock(&programs->lock);
    }
    Status *given_up = OK;
    while (now && program && program->state == COMPILING && !given_up)
        if (!condition_wait_until(&programs->compiled, &programs->lock, clock_now() + 50 * CLOCK_MS))
            given_up = context_check(run->k->step);
    if (given_up) {
        mutex_unlock(&programs->lock);
        return given_up;
    }
    *out = program && program->state == READY ? program->program : NULL;
    Status *status = program && (programs->mode & COMPILE_STRICT) ? status_copy(program->why) : OK;
    mutex_unlock(&programs->lock);
    return status;
}

// ---------------------------------------- variables

static Status *find_variables(ClusterRun *run) {
    Kernel *k = run->k;
    const Plan *host = run->cluster->host;
    run->uses = ARENA_ARRAY(&run->arena, VariableUse, k->n_in);
    run->found = ARENA_ARRAY(&run->arena, Resource *, k->n_in);
    run->variable_of = ARENA_ARRAY(&run->arena, int32_t, k->n_in);
    run->shapes = ARENA_ARRAY(&run->arena, Shape, k->n_in);
    NEED_MEMORY(run->uses && run->found && run->variable_of && run->shapes);
    for (int i = 0; i < k->n_in; i++) {
        run->variable_of[i] = -1;
        run->shapes[i] = k->in[i]->shape;
        if (k->in[i]->dtype != DT_resource || host->feeds[i].slot < 0)
            continue;
        Resource *resource;
        TRY(handle_borrow(k->in[i], 0, k->step->resources, &variable_type, &resource, &run->found[run->n_variables]));
        run->uses[run->n_variables] = (VariableUse){.variable = variable_of(resource), .access = VARIABLE_TAKE};
        run->variable_of[i] = run->n_variables++;
    }
    return OK;
}

static bool are_distinct(const ClusterRun *run) {
    for (int a = 0; a < run->n_variables; a++)
        for (int b = 0; b < a; b++)
            if (run->uses[a].variable == run->uses[b].variable)
                return false;
    return true;
}

static const Tensor *newest(const Variable *variable) {
    return variable->copy && variable->copy->newer ? &variable->copy->value : &variable->value;
}

static Shape shape_now(const Variable *variable) {
    return variable->initialized ? newest(variable)->shape : UNKNOWN_SHAPE;
}

// Whether the variables have these shapes; takes note of them.
static bool look_at_shapes(ClusterRun *run) {
    bool same = true;
    for (int i = 0; i < run->k->n_in; i++) {
        if (run->variable_of[i] < 0)
            continue;
        Shape now = shape_now(run->uses[run->variable_of[i]].variable);
        same &= shape_equal(&now, &run->shapes[i]) || (now.rank < 0 && run->shapes[i].rank < 0);
        run->shapes[i] = now;
    }
    return same;
}

// The value in the device's memory; brought there where it isn't.
static Status *copy_on(const Device *device, Variable *variable, _Atomic int64_t *n_brought, Tensor *out) {
    VariableCopy *copy = variable->copy;
    if (!variable->initialized)
        return OK;
    if (copy && copy->value.buffer && copy->value.buffer->allocator == device->allocator) {
        *out = tensor_retain(&copy->value);
        return OK;
    }
    AUTO(tensor) Tensor from_other = {0};
    const Tensor *here = &variable->value;
    if (copy && copy->newer) {  // on another device
        TRY(tensor_new(copy->value.dtype, copy->value.shape, &from_other));
        TRY(copy->bring(&copy->value, &from_other));
        here = &from_other;
    }
    Tensor there;
    TRY(tensor_new_on(device->allocator, here->dtype, here->shape, &there));
    Status *status = device->type->copy_in(device, here, &there);
    *n_brought += 1;
    if (status)
        tensor_clear(&there);
    else
        *out = there;
    return status;
}

// Takes the value over.
static Status *keep_copy(const Device *device, Variable *variable, Tensor *value, bool newer) {
    if (!value->buffer)
        return OK;
    if (!variable->copy)
        variable->copy = calloc(1, sizeof *variable->copy);
    VariableCopy *copy = variable->copy;
    NEED_MEMORY(copy);
    bool was_newer = copy->newer && copy->value.buffer == value->buffer;
    tensor_clear(&copy->value);
    *copy = (VariableCopy){.value = *value, .newer = newer || was_newer, .bring = device->type->compiler->bring};
    *value = (Tensor){0};
    variable->initialized = true;
    return OK;
}

// ---------------------------------------- on the device

static Status *draw(const ClusterRun *run, const Program *program, uint32_t (*out)[6]) {
    const Step *step = (const Step *)run->k->step;
    const Executor *host = step->executor->clusters[step->plan->nodes[run->k->index].child].host;
    const Plan *plan = host->plan;
    for (int32_t s = 0; s < program->n_streams; s++) {
        const Node *node = program->streams[s].node;
        int32_t at = node->mark;
        if (at < 0 || at >= plan->n_nodes || plan->nodes[at].binding.node != node || !host->states[at] ||
            !node_op(node)->draw)
            BUG("{{node %.*s}} (%.*s): has no random stream", NODE_ARGS(node));
        node_op(node)->draw(host->states[at], program->streams[s].blocks, out[s]);
    }
    return OK;
}

static Status *run_program(ClusterRun *run, const Program *program) {
    Kernel *k = run->k;
    const Device *device = run->cluster->device;
    Tensor *inputs = ARENA_ARRAY(&run->arena, Tensor, k->n_in);
    Tensor *variables = ARENA_ARRAY(&run->arena, Tensor, run->n_variables);
    Tensor *outputs = ARENA_ARRAY(&run->arena, Tensor, k->n_out);
    uint32_t(*streams)[6] = arena_alloc(&run->arena, sizeof *streams * (size_t)(program->n_streams + 1));
    NEED_MEMORY(inputs && variables && outputs && streams);
    for (int i = 0, n = 0; i < k->n_in; i++)
        if (run->cluster->host->feeds[i].slot >= 0)
            inputs[n++] = *k->in[i];
    Status *status = draw(run, program, streams);
    for (int v = 0; v < run->n_variables && !status; v++)
        status = copy_on(device, run->uses[v].variable, &run->programs->n_brought, &variables[v]);
    if (!status)
        status = device->type->compiler->run(device, program,
                                             &(ProgramRun){.inputs = inputs, .variables = variables, .streams = streams,
                                                           .step = k->step, .outputs = outputs});
    for (int v = 0; v < run->n_variables; v++) {
        Status *kept = keep_copy(device, run->uses[v].variable, &variables[v], !status && program->assigns[v]);
        tensor_clear(&variables[v]);
        if (status)
            status_free(kept);
        else
            status = kept;
    }
    for (int i = 0; i < k->n_out; i++) {
        if (!status)
            kernel_set_output(k, i, outputs[i]);
        else
            tensor_clear(&outputs[i]);
    }
    return status_prefix(status, "{{node %.*s}} (%.*s)", NODE_ARGS(k->node));
}

// ---------------------------------------- on the host

static Status *host_step(Step *step, int32_t index, Step **out) {
    if (!step->clusters)
        step->clusters = ARENA_ARRAY(&step->arena, Step *, step->plan->n_clusters);
    NEED_MEMORY(step->clusters);
    if (!step->clusters[index])
        TRY(step_new(step->executor->clusters[index].host, &step->clusters[index]));
    *out = step->clusters[index];
    (*out)->context = step->context;
    (*out)->options = step->options;
    return OK;
}

void step_free_clusters(Step *step) {
    for (int32_t i = 0; step->clusters && i < step->plan->n_clusters; i++)
        step_free(step->clusters[i]);
}

static Status *give_output(Kernel *k, int o, const Device *device, const Tensor *value) {
    Tensor out;
    if (device_hosts(device, value->dtype)) {
        if (value->buffer && value->layout == LAYOUT_PLAIN)
            out = tensor_retain(value);
        else
            TRY(tensor_copy(value, &out));
    } else {
        TRY(tensor_new_on(device->allocator, value->dtype, value->shape, &out));
        Status *status = device->type->copy_in(device, value, &out);
        if (status) {
            tensor_clear(&out);
            return status;
        }
    }
    kernel_set_output(k, o, out);
    return OK;
}

static Status *run_list(ClusterRun *run, Step *host, Tensor *inputs, const Tensor **feeds) {
    Kernel *k = run->k;
    const Step *step = (Step *)k->step;
    const PlanNode *p = &step->plan->nodes[k->index];
    const Device *device = run->cluster->device;
    for (int i = 0; i < k->n_in; i++) {
        bool there = step->plan->slots[step->plan->in_slots[p->in + i]].memory != HOST_MEMORY;
        feeds[i] = k->in[i];
        if (!there)
            continue;
        TRY(tensor_new(k->in[i]->dtype, k->in[i]->shape, &inputs[i]));
        TRY(device->type->sync(device, k->step));  // a copy has no deadline
        TRY(device->type->copy_out(device, k->in[i], &inputs[i]));
        feeds[i] = &inputs[i];
    }
    TRY(step_run_list(host, feeds));
    for (int o = 0; o < k->n_out; o++)
        TRY(give_output(k, o, device, &host->slots[host->plan->fetches[o].slot]));
    return OK;
}

static Status *run_on_host(ClusterRun *run) {
    Kernel *k = run->k;
    Step *step = (Step *)k->step, *host;
    Tensor *inputs = ARENA_ARRAY(&run->arena, Tensor, k->n_in);
    const Tensor **feeds = ARENA_ARRAY(&run->arena, const Tensor *, k->n_in);
    NEED_MEMORY(inputs && feeds);
    TRY(host_step(step, step->plan->nodes[k->index].child, &host));
    Status *status = run_list(run, host, inputs, feeds);
    step_empty(host);
    step_rest_memory(host);
    if (host->evictions_seen != atomic_load_explicit(&host->executor->cache->evictions, memory_order_relaxed))
        step_release_evicted(host);
    for (int i = 0; i < k->n_in; i++)
        tensor_clear(&inputs[i]);
    return status;
}

// ---------------------------------------- either

static Status *run_either(ClusterRun *run) {
    const Program *program = NULL;
    run->programs->n_host++;
    TRY(find_variables(run));
    if (!are_distinct(run) || run->programs->mode & COMPILE_NEVER)
        return run_on_host(run);
    TRY(variables_begin(run->uses, run->n_variables));
    look_at_shapes(run);
    variables_end(run->uses, run->n_variables);
    TRY(find_program(run, &program));
    if (!program)
        return run_on_host(run);
    TRY(variables_begin(run->uses, run->n_variables));
    bool fits = look_at_shapes(run);
    run->programs->n_host -= fits;
    run->programs->n_device += fits;
    Status *status = fits ? run_program(run, program) : OK;
    variables_end(run->uses, run->n_variables);
    return fits ? status : run_on_host(run);
}

Status *run_cluster(Kernel *k) {
    const Step *step = (Step *)k->step;
    int32_t index = step->plan->nodes[k->index].child;
    ClusterRun run = {.k = k, .cluster = &step->plan->clusters[index],
                      .programs = step->executor->clusters[index].programs};
    Status *status = run_either(&run);
    for (int v = 0; v < run.n_variables; v++)
        resource_release(run.found[v]);
    arena_clear(&run.arena);
    return status;
}
