// Claimed test — a type of devices made here that compiles: what is claimed for it, in how many parts, where variables
// are, and what happens where it can't.
//
// JIT's programs are the nodes themselves, run one by one on the host over copies; its values' addresses can't be
// followed. A variable's old value is emptied when it is given up. Nothing outside this file knows of it.
#include <stdlib.h>
#include <unistd.h>

#include "device/compiler.h"
#include "graph/function.h"
#include "proto/text.h"
#include "resource/handle.h"
#include "resource/variable.h"
#include "session/one_session_test.h"

// ---------------------------------------- memory

static const uintptr_t FAR = (uintptr_t)0xa5a5 << 48;
static _Atomic int n_buffers, n_copied_in, n_copied_out, n_compiled, n_runs;
static bool refuses;   // to compile

static void *near(const void *data) {
    return (void *)((uintptr_t)data ^ FAR);
}

static void jit_free(Buffer *buffer) {
    n_buffers--;
    buffer_release(buffer->owner);
    free(buffer);
}

static Buffer *jit_alloc(Allocator *allocator, size_t bytes) {
    Buffer *buffer = calloc(1, sizeof *buffer), *inside = buffer ? host_allocator.alloc(&host_allocator, bytes) : NULL;
    if (!inside) {
        free(buffer);
        return NULL;
    }
    *buffer = (Buffer){.references = 1, .bytes = bytes, .data = near(inside->data), .allocator = allocator,
                       .free = jit_free, .owner = inside};
    n_buffers++;
    return buffer;
}

static Allocator jit_allocator = {"jit", false, jit_alloc};

static Status *jit_open(Device *device) {
    device->allocator = &jit_allocator;
    return OK;
}

static Status *jit_copy_in(const Device *device, const Tensor *host, const Tensor *inside) {
    (void)device;
    n_copied_in++;
    memcpy(near(inside->data), host->data, tensor_bytes(host));
    return OK;
}

static Status *jit_bring(const Tensor *inside, const Tensor *host) {
    n_copied_out++;
    NEED(inside->buffer->owner, FAILED_PRECONDITION, "the memory was given up");
    memcpy(host->data, near(inside->data), tensor_bytes(host));
    return OK;
}

static Status *jit_copy_out(const Device *device, const Tensor *inside, const Tensor *host) {
    (void)device;
    return jit_bring(inside, host);
}

static Status *jit_sync(const Device *device, const StepContext *step) {
    (void)device;
    (void)step;
    return OK;
}

static const Kernels *no_kernels(const Op *op) {
    (void)op;
    return NULL;
}

// ---------------------------------------- programs

typedef struct {
    Program base;
    HloSpec spec;
    bool *assigns;
    Arena arena;
} JitProgram;

static bool has_functions(const Node *node) {
    return node_flow(node) == FLOW_IF || node_flow(node) == FLOW_WHILE;
}

// Everything the CPU has but for square roots and v -= x, so that there is something to stay behind. Conditionals and
// loops, too, but it can't compile these.
static bool jit_claims(const Device *device, const Node *node) {
    (void)device;
    static const char *const NOT[] = {"Sqrt", "AssignSubVariableOp", "VarHandleOp", "Placeholder"};
    for (size_t i = 0; i < sizeof NOT / sizeof *NOT; i++)
        if (str_is(node->type->name, NOT[i]))
            return false;
    return node_op(node)->cpu != NULL || has_functions(node);
}

static void jit_release(Program *program) {
    arena_clear(&((JitProgram *)program)->arena);
    free(program);
}

static int input_of(const HloSpec *spec, Output edge) {
    for (int i = 0; i < spec->n_inputs; i++)
        if (output_equal(spec->inputs[i].edge, edge))
            return i;
    return -1;
}

#define COPIED(member, n) memcpy(arena_alloc(&p->arena, sizeof *spec->member * (size_t)((n) + 1)), spec->member, \
                                 sizeof *spec->member * (size_t)(n))

static Status *jit_compile(const Device *device, const HloSpec *spec, Program **out) {
    (void)device;
    NEED(!refuses, UNIMPLEMENTED, "JIT takes nothing today");
    for (int m = 0; m < spec->n_members; m++)
        NEED(!has_functions(spec->members[m]), UNIMPLEMENTED, "JIT can't compile functions");
    JitProgram *p = calloc(1, sizeof *p);
    p->spec = *spec;
    p->spec.members = COPIED(members, spec->n_members);
    p->spec.inputs = COPIED(inputs, spec->n_inputs);
    p->spec.outputs = COPIED(outputs, spec->n_outputs);
    p->assigns = ARENA_ARRAY(&p->arena, bool, spec->n_variables);
    for (int m = 0; m < spec->n_members; m++) {
        const Node *node = spec->members[m];
        const Op *op = node_op(node);
        for (int i = 0; i < node->n_inputs; i++) {
            int from = input_of(spec, node->inputs[i]);
            bool writes = (op->update | op->replace) & BIT(i) || (i == 0 && op->flags & OP_WRITES);
            if (from >= 0 && spec->inputs[from].variable >= 0 && writes)
                p->assigns[spec->inputs[from].variable] = true;
        }
    }
    p->base = (Program){.assigns = p->assigns, .n_variables = spec->n_variables};
    n_compiled++;
    *out = &p->base;
    return OK;
}

typedef struct {
    const JitProgram *p;
    const Device *host;
    Tensor *variables;    // handles
    Tensor **values;      // by member, by output
    Tensor *inputs;       // in host memory
} JitRun;

static Tensor *value_of(const JitRun *r, Output edge) {
    const HloSpec *spec = &r->p->spec;
    int i = input_of(spec, edge);
    if (i >= 0)
        return spec->inputs[i].variable >= 0 ? &r->variables[spec->inputs[i].variable] : &r->inputs[i];
    for (int m = 0; m < spec->n_members; m++)
        if (spec->members[m] == edge.node)
            return &r->values[m][edge.index];
    return NULL;
}

static Status *run_member(JitRun *r, int m) {
    const Node *node = r->p->spec.members[m];
    AUTO(arena) Arena arena = {0};
    Binding binding;
    Prepared prepared = {0};
    StepContext step = {.threads = 1, .deadline = NO_DEADLINE};
    TRY(binding_init(&binding, node, r->host, &arena));
    Tensor *in[16], *out[16];
    for (int i = 0; i < node->n_inputs; i++)
        in[i] = value_of(r, node->inputs[i]);
    for (int o = 0; o < node->n_outputs; o++)
        out[o] = &r->values[m][o];
    Kernel k = {.in = in, .out = out, .n_in = binding.n_in, .n_out = binding.n_out, .node = node, .step = &step};
    Status *status = invoke(&binding, &prepared, &k, 0);
    prepared_clear(&prepared);
    return node_error(node, status);
}

static Status *jit_run_members(JitRun *r, const ProgramRun *run, const Device *device) {
    const HloSpec *spec = &r->p->spec;
    for (int m = 0; m < spec->n_members; m++)
        TRY(run_member(r, m));
    for (int o = 0; o < spec->n_outputs; o++) {
        const Tensor *value = value_of(r, spec->outputs[o]);
        if (device_hosts(device, value->dtype)) {
            TRY(tensor_copy(value, &run->outputs[o]));
            continue;
        }
        TRY(tensor_new_on(&jit_allocator, value->dtype, value->shape, &run->outputs[o]));
        memcpy(near(run->outputs[o].data), value->data, tensor_bytes(value));
    }
    for (int v = 0; v < spec->n_variables; v++) {
        Resource *resource;
        AUTO(tensor) Tensor now = {0};
        if (!r->p->assigns[v])
            continue;
        TRY(handle_resource(&r->variables[v], 0, NULL, &variable_type, &resource));
        Status *status = variable_read(variable_of(resource), &now);
        resource_release(resource);
        TRY(status);
        Buffer *old = run->variables[v].buffer;
        if (old) {  // given up: whoever holds it still finds nothing
            buffer_release(old->owner);
            old->owner = NULL;
        }
        tensor_clear(&run->variables[v]);
        TRY(tensor_new_on(&jit_allocator, now.dtype, now.shape, &run->variables[v]));
        memcpy(near(run->variables[v].data), now.data, tensor_bytes(&now));
    }
    return OK;
}

static Status *make_variable(const HloVariable *info, const Tensor *there, Tensor *out) {
    Variable *variable;
    TRY(variable_new(info->dtype, UNKNOWN_SHAPE, &variable));
    if (there->buffer) {
        Tensor value;
        TRY(tensor_new(there->dtype, there->shape, &value));
        memcpy(value.data, near(there->data), tensor_bytes(&value));
        TRY(variable_assign(variable, &value, true));
    }
    Status *status = handle_tensor(&variable->resource, (Str){0}, info->dtype, UNKNOWN_SHAPE, out);
    resource_release(&variable->resource);
    return status;
}

static Status *jit_run(const Device *device, const Program *program, const ProgramRun *run) {
    const JitProgram *p = (const JitProgram *)program;
    const HloSpec *spec = &p->spec;
    AUTO(arena) Arena arena = {0};
    JitRun r = {.p = p, .host = spec->context};
    n_runs++;
    r.variables = ARENA_ARRAY(&arena, Tensor, spec->n_variables);
    r.inputs = ARENA_ARRAY(&arena, Tensor, spec->n_inputs);
    r.values = ARENA_ARRAY(&arena, Tensor *, spec->n_members);
    for (int v = 0; v < spec->n_variables; v++)
        TRY(make_variable(&(HloVariable){run->variables[v].buffer ? run->variables[v].dtype : DT_float, UNKNOWN_SHAPE},
                          &run->variables[v], &r.variables[v]));
    for (int i = 0; i < spec->n_inputs; i++) {
        const HloInput *input = &spec->inputs[i];
        if (input->known) {
            r.inputs[i] = *input->known;
        } else if (input->variable < 0) {
            r.inputs[i] = run->inputs[i];
            if (run->inputs[i].buffer && run->inputs[i].buffer->allocator == &jit_allocator)
                r.inputs[i].data = near(run->inputs[i].data);
        }
    }
    for (int m = 0; m < spec->n_members; m++)
        r.values[m] = ARENA_ARRAY(&arena, Tensor, spec->members[m]->n_outputs);
    Status *status = jit_run_members(&r, run, device);
    for (int v = 0; v < spec->n_variables; v++)
        tensor_clear(&r.variables[v]);
    for (int m = 0; m < spec->n_members; m++)
        for (int o = 0; o < spec->members[m]->n_outputs; o++)
            tensor_clear(&r.values[m][o]);
    return status;
}

static const Compiler jit_compiler = {
    .claims = jit_claims, .compile = jit_compile, .release = jit_release, .run = jit_run, .bring = jit_bring,
};

static const DeviceType jit = {
    .name = "JIT", .priority = 200, .kernels = no_kernels, .open = jit_open, .copy_in = jit_copy_in,
    .copy_out = jit_copy_out, .sync = jit_sync, .compiler = &jit_compiler,
};

// ---------------------------------------- sessions

static void open_it(void) {
    SessionConfig config = session_config_default();
    config.soft_placement = true;
    config.devices[0] = (DeviceCount){STR("JIT"), 1};
    config.n_devices = 1;
    open_session_with(&config);
}

static void setup(void) {
    open_graph();
    status_free(device_type_register(&jit));
    n_copied_in = n_copied_out = n_compiled = n_runs = 0;
    refuses = false;
    setenv("MILLRACE_COMPILE", "strict", 1);
    open_it();
}

static void teardown(void) {
    close_all();
    ck_assert_int_eq(n_buffers, 0);
}

static void place(const char *device) {
    formula.device = str_of(device);
}
#define ON_JIT "/device:JIT:0"
#define ON_CPU "/device:CPU:0"

static Output fed(void) {
    place(ON_CPU);
    return formula_op(&formula, "Placeholder", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float)));
}

static Status *run(const Output *feed, const Tensor *value, const Output *fetch, Node *const *target, Tensor *out) {
    GOOD(formula.status);
    StepSignature signature = {.feeds = feed, .n_feeds = feed != NULL, .fetches = fetch, .n_fetches = fetch != NULL,
                               .targets = target, .n_targets = target != NULL};
    return session_run(session, &signature, &(RunSettings){0}, &value, out);
}

static Tensor filled(int64_t n, float first) {
    Tensor t;
    GOOD(tensor_new(DT_float, SHAPE(n), &t));
    for (int64_t i = 0; i < n; i++)
        ((float *)t.data)[i] = first + (float)i;
    return t;
}

static int count_clusters(const Output *feed, const Output *fetch) {
    StepSignature signature = {.feeds = feed, .n_feeds = 1, .fetches = fetch, .n_fetches = 1};
    Plan *plan;
    GOOD(formula.status);
    GOOD(session_plan(session, &signature, &plan));
    int n = plan->n_clusters;
    plan_release(plan);
    return n;
}

static void expect(const Output *feed, const Output *fetch, float in, float wanted) {
    AUTO(tensor) Tensor value = filled(3, in);
    AUTO(tensor) Tensor got = {0};
    GOOD(run(feed, &value, fetch, NULL, &got));
    ck_assert_float_eq_tol(((float *)got.data)[0], wanted, 1e-4F);
}

static Output variable(void) {
    Shape shape = SHAPE(3);
    place(ON_JIT);
    return formula_op(&formula, "VarHandleOp", NULL, 0,
                      ATTRS(TYPE_ATTR("dtype", DT_float), {"shape", {.kind = ATTR_SHAPE, .shape = &shape}}));
}

static Output value_in(Output handle) {
    return formula_op(&formula, "ReadVariableOp", &handle, 1, ATTRS(TYPE_ATTR("dtype", DT_float)));
}

static Node *store(const char *op, Output handle, Output value) {
    return formula_node(&formula, op, (FormulaArg[]){{&handle, 1, false}, {&value, 1, false}}, 2, NULL);
}

// ---------------------------------------- what is claimed

START_TEST(what_is_asked_for_is_one_program) {
    Formula *f = &formula;
    Output x = fed();
    place(ON_JIT);
    Output y = Mul(Add(x, x), x);
    ck_assert_int_eq(count_clusters(&x, &y), 1);
    expect(&x, &y, 3, 18);
    expect(&x, &y, 4, 32);
    ck_assert_int_eq(n_compiled, 1);
    ck_assert_int_eq(n_runs, 2);
}
END_TEST

// x -> A -> sqrt -> B, x -> C: what depends on the host's node is a second part; C is in the first.
START_TEST(parts_are_convex_and_few) {
    Formula *f = &formula;
    Output x = fed();
    place(ON_JIT);
    Output a = Mul(x, x), c = Add(x, x);
    Output b = Add(Sqrt(a), c), out = Mul(b, a);
    ck_assert_int_eq(count_clusters(&x, &out), 2);
    expect(&x, &out, 3, 81);
}
END_TEST

START_TEST(little_is_left_alone_unless_asked_for) {
    Formula *f = &formula;
    Output x = fed();
    place("");
    Output y = Add(x, x), z = y;
    ck_assert_int_eq(count_clusters(&x, &y), 0);
    expect(&x, &y, 3, 6);
    for (int i = 0; i < 9; i++)
        z = Mul(z, Add(x, x));
    ck_assert_int_eq(count_clusters(&x, &z), 1);
    ck_assert_int_eq(n_runs, 0);
}
END_TEST

// What may be dead is not for a program.
START_TEST(branches_stay_on_the_host) {
    Formula *f = &formula;
    Output x = fed();
    place(ON_CPU);
    Output condition = formula_op(f, "Placeholder", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_bool)));
    Node *gate = formula_node(f, "Switch", (FormulaArg[]){{&x, 1, false}, {&condition, 1, false}}, 2, NULL);
    place(ON_JIT);
    Output is = {gate, 1}, is_not = {gate, 0}, yes = Add(is, x), no = Mul(is_not, x);
    Output out = formula_of_list(f, "Merge", (const Output[]){yes, no}, 2, NULL);
    GOOD(f->status);
    AUTO(tensor) Tensor in = filled(3, 3);
    AUTO(tensor) Tensor truth = {0};
    AUTO(tensor) Tensor got = {0};
    GOOD(tensor_new(DT_bool, SCALAR_SHAPE, &truth));
    *(bool *)truth.data = true;
    StepSignature signature = {.feeds = (const Output[]){x, condition}, .n_feeds = 2, .fetches = &out, .n_fetches = 1};
    GOOD(session_run(session, &signature, &(RunSettings){0}, (const Tensor *const[]){&in, &truth}, &got));
    ck_assert_float_eq(*(float *)got.data, 6);
    ck_assert_int_eq(n_runs, 0);
}
END_TEST

// ---------------------------------------- variables

// In a loop of steps a variable's value goes neither up nor down; whoever asks for it gets the newest.
START_TEST(variables_stay_there) {
    Formula *f = &formula;
    Output x = fed(), v = variable();
    place(ON_CPU);
    Node *first = store("AssignVariableOp", v, x);
    Output seen = value_in(v);
    place(ON_JIT);
    Output step = Mul(value_in(v), Add(x, x));
    Node *update = store("AssignVariableOp", v, step);
    Node *less = store("AssignSubVariableOp", v, x);
    AUTO(tensor) Tensor one = filled(3, 1);
    AUTO(tensor) Tensor half = filled(3, 0.5F);
    AUTO(tensor) Tensor got = {0};
    GOOD(run(&x, &one, NULL, &first, NULL));
    n_runs = n_copied_in = 0;
    for (int i = 0; i < 5; i++)
        GOOD(run(&x, &half, NULL, &update, NULL));
    ck_assert_int_eq(n_runs, 5);
    ck_assert_int_eq(n_copied_out, 0);
    ck_assert_int_eq(n_copied_in, 5);   // the feed each time
    GOOD(run(NULL, NULL, &seen, NULL, &got));
    ck_assert_float_eq(((float *)got.data)[0], 1);        // 1 (2 0.5)^5
    ck_assert_float_eq(((float *)got.data)[1], 2 * 243);  // 2 (2 1.5)^5
    ck_assert_int_eq(n_copied_out, 1);
    // What the host writes is what the device reads next.
    GOOD(run(&x, &one, NULL, &less, NULL));
    GOOD(run(&x, &half, NULL, &update, NULL));
    ck_assert_int_eq(n_copied_out, 1);
    ck_assert_int_eq(n_copied_in, 5 + 2);
    for (int i = 0; i < 2; i++) {
        tensor_clear(&got);
        GOOD(run(NULL, NULL, &seen, NULL, &got));
        ck_assert_float_eq(((float *)got.data)[1], (486 - 2) * 3);
    }
    ck_assert_int_eq(n_copied_out, 2);
}
END_TEST

START_TEST(a_variable_begins_there) {
    Formula *f = &formula;
    Output x = fed(), v = variable();
    place(ON_JIT);
    Node *first = store("AssignVariableOp", v, Add(x, x));
    place(ON_CPU);
    Output seen = value_in(v);
    AUTO(tensor) Tensor one = filled(3, 1);
    AUTO(tensor) Tensor got = {0};
    Status *status = run(NULL, NULL, &seen, NULL, &got);
    ck_assert_int_eq(status_code(status), FAILED_PRECONDITION);
    status_free(status);
    GOOD(run(&x, &one, NULL, &first, NULL));
    GOOD(run(NULL, NULL, &seen, NULL, &got));
    ck_assert_float_eq(((float *)got.data)[2], 6);
}
END_TEST

// ---------------------------------------- conditionals and loops

static void function(const char *text) {
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text bytes = {0};
    FunctionDef *def;
    Function *made;
    GOOD(PROTO_PARSE(FunctionDef, &arena, str_of(text), &def));
    GOOD(PROTO_ENCODE(FunctionDef, def, &bytes));
    GOOD(function_new(text_str(&bytes), &made));
    GOOD(function_add(graph, made));
    function_release(made);
}

#define ARG(name, type) "input_arg { name: '" name "' type: " type " } "
#define RESULT(name, type) "output_arg { name: '" name "' type: " type " } "
#define BINARY(name, op, inputs, type) \
    "node_def { name: '" name "' op: '" op "' " inputs " attr { key: 'T' value { type: " type " } } } "
#define NUMBER(name, value)                                                            \
    "node_def { name: '" name "' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } " \
    "attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: " value " } } } } "

static void make_functions(void) {
    function("signature { name: 'twice' " ARG("a", "DT_FLOAT") RESULT("y", "DT_FLOAT") "} "
             BINARY("sum", "AddV2", "input: 'a' input: 'a'", "DT_FLOAT") "ret { key: 'y' value: 'sum:z:0' }");
    function("signature { name: 'squared' " ARG("a", "DT_FLOAT") RESULT("y", "DT_FLOAT") "} "
             BINARY("product", "Mul", "input: 'a' input: 'a'", "DT_FLOAT") "ret { key: 'y' value: 'product:z:0' }");
    function("signature { name: 'more' " ARG("i", "DT_INT32") ARG("a", "DT_FLOAT") RESULT("y", "DT_BOOL") "} "
             NUMBER("n", "3") BINARY("less", "Less", "input: 'i' input: 'n:output:0'", "DT_INT32")
             "ret { key: 'y' value: 'less:z:0' }");
    function("signature { name: 'next' " ARG("i", "DT_INT32") ARG("a", "DT_FLOAT") RESULT("j", "DT_INT32")
             RESULT("b", "DT_FLOAT") "} " NUMBER("one", "1")
             BINARY("add", "AddV2", "input: 'i' input: 'one:output:0'", "DT_INT32")
             BINARY("sum", "AddV2", "input: 'a' input: 'a'", "DT_FLOAT")
             "ret { key: 'j' value: 'add:z:0' } ret { key: 'b' value: 'sum:z:0' }");
}

static const AttrValue *func(const char *name) {
    FuncRef *ref = ARENA_NEW(&graph->arena, FuncRef);
    AttrValue *value = ARENA_NEW(&graph->arena, AttrValue);
    *ref = (FuncRef){.name = str_of(name)};
    *value = (AttrValue){.kind = ATTR_FUNC, .func = ref};
    return value;
}

static Output conditional(Output condition, Output x) {
    Node *node = formula_node(&formula, "StatelessIf", (FormulaArg[]){{&condition, 1, false}, {&x, 1, true}}, 2,
                              ATTRS({"Tout", {.kind = ATTR_TYPE, .is_list = true, .n = 1, .types = (DType[]){DT_float}}},
                                    {"then_branch", *func("twice")}, {"else_branch", *func("squared")}));
    return (Output){node, 0};
}

static Output eight_fold(Output x) {
    Formula *f = &formula;
    Output in[] = {Int(0), x};
    Node *node = formula_node(&formula, "StatelessWhile", (FormulaArg[]){{in, 2, true}}, 1,
                              ATTRS({"cond", *func("more")}, {"body", *func("next")}));
    return (Output){node, 1};
}

START_TEST(loops_and_conditionals_are_claimed_as_they_are) {
    Formula *f = &formula;
    setenv("MILLRACE_COMPILE", "now", 1);
    session_free(session);
    open_it();
    make_functions();
    Output x = fed();
    place(ON_JIT);
    Output large = Greater(Sum(x, Int(0), false), Number(20, DT_float));
    Output out = conditional(large, eight_fold(x));
    ck_assert_int_eq(count_clusters(&x, &out), 1);
    expect(&x, &out, 3, 24 * 24);
    expect(&x, &out, 11, 2 * 88);
    ck_assert_int_eq(n_runs, 0);   // it is the host's list that has run
}
END_TEST

// Too little for a device: written out, as ever.
START_TEST(a_conditional_that_nobody_takes_is_written_out) {
    Formula *f = &formula;
    make_functions();
    Output x = fed();
    place("");
    Output out = conditional(Greater(Sum(x, Int(0), false), Number(12, DT_float)), x);
    ck_assert_int_eq(count_clusters(&x, &out), 0);
    expect(&x, &out, 3, 9);
    expect(&x, &out, 4, 8);
}
END_TEST

// ---------------------------------------- when it is compiled, and when it can't be

START_TEST(what_cannot_be_compiled_runs_on_the_host) {
    Formula *f = &formula;
    Output x = fed();
    place(ON_JIT);
    Output y = Mul(Add(x, x), x);
    refuses = true;
    AUTO(tensor) Tensor in = filled(3, 3);
    AUTO(tensor) Tensor got = {0};
    Status *status = run(&x, &in, &y, NULL, &got);
    ck_assert_int_eq(status_code(status), UNIMPLEMENTED);
    ck_assert_ptr_nonnull(strstr(status_message(status), "JIT takes nothing today"));
    status_free(status);
    setenv("MILLRACE_COMPILE", "now", 1);
    session_free(session);
    open_it();
    expect(&x, &y, 3, 18);
    ck_assert_int_eq(n_runs, 0);
}
END_TEST

START_TEST(the_second_sight_of_a_shape_is_compiled_beside) {
    enum { MOST_TRIES = 2000 };
    Formula *f = &formula;
    unsetenv("MILLRACE_COMPILE");
    session_free(session);
    open_it();
    Output x = fed(), v = variable();
    place(ON_JIT);
    Node *first = store("AssignVariableOp", v, x), *update = store("AssignAddVariableOp", v, Add(x, x));
    place(ON_CPU);
    Output seen = value_in(v);
    AUTO(tensor) Tensor one = filled(3, 1);
    GOOD(run(&x, &one, NULL, &first, NULL));
    int steps = 0;
    for (; n_runs < 3 && steps < MOST_TRIES; steps++) {
        GOOD(run(&x, &one, NULL, &update, NULL));
        usleep(steps > 2 ? 1000 : 0);
    }
    ck_assert_int_ge(n_runs, 3);
    ck_assert_int_ge(steps, 4);   // the host had the first
    AUTO(tensor) Tensor got = {0};
    GOOD(run(NULL, NULL, &seen, NULL, &got));
    ck_assert_float_eq(((float *)got.data)[0], 1 + 2 * (float)steps);
}
END_TEST

START_TEST(it_may_be_told_never_to) {
    Formula *f = &formula;
    setenv("MILLRACE_COMPILE", "never", 1);
    session_free(session);
    open_it();
    Output x = fed();
    place(ON_JIT);
    Output y = Mul(Add(x, x), x);
    expect(&x, &y, 3, 18);
    expect(&x, &y, 3, 18);
    ck_assert_int_eq(n_compiled, 0);
}
END_TEST

START_TEST(errors_name_the_node) {
    Formula *f = &formula;
    Output x = fed();
    place(ON_JIT);
    Output bad = Reshape(x, Ints(5)), out = Mul(bad, bad);
    AUTO(tensor) Tensor in = filled(3, 3);
    AUTO(tensor) Tensor got = {0};
    Status *status = run(&x, &in, &out, NULL, &got);
    ck_assert_ptr_nonnull(status);
    ck_assert_ptr_nonnull(strstr(status_message(status), "(Reshape)"));
    status_free(status);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("claimed");
    TCase *tests = tcase_create("jit");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, what_is_asked_for_is_one_program);
    tcase_add_test(tests, parts_are_convex_and_few);
    tcase_add_test(tests, little_is_left_alone_unless_asked_for);
    tcase_add_test(tests, branches_stay_on_the_host);
    tcase_add_test(tests, variables_stay_there);
    tcase_add_test(tests, a_variable_begins_there);
    tcase_add_test(tests, loops_and_conditionals_are_claimed_as_they_are);
    tcase_add_test(tests, a_conditional_that_nobody_takes_is_written_out);
    tcase_add_test(tests, what_cannot_be_compiled_runs_on_the_host);
    tcase_add_test(tests, the_second_sight_of_a_shape_is_compiled_beside);
    tcase_add_test(tests, it_may_be_told_never_to);
    tcase_add_test(tests, errors_name_the_node);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
