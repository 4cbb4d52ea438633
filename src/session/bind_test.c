// Bind test — plans that are made without a session, and run by executors of their own.
#include "base/suite_test.h"
#include "graph/shapes.h"
#include "kernel/kernel.h"
#include "plan/pass.h"
#include "resource/resource.h"
#include "session/bind.h"
#include "run/step.h"
#include "session/one_session_test.h"

// What a worker has beside the plans that it is given.
typedef struct {
    ResourceTable *resources;
    NodeStates states;
    SpecialisationCache *cache;
} Worker;

static DeviceSet devices;
static Worker workers[2];

static void open_worker(Worker *worker) {
    GOOD(resource_table_new(&worker->resources));
    GOOD(specialisation_cache_new(SPECIALISATION_CACHE_BYTES, &worker->cache));
    node_states_init(&worker->states, worker->resources);
}

static void close_worker(Worker *worker) {
    node_states_clear(&worker->states);
    specialisation_cache_release(worker->cache);
    resource_table_free(worker->resources);
}

static void setup(void) {
    open_graph();
    GOOD(device_set_init(&devices, LOCAL_TASK, &(DeviceCount){STR("CPU"), 2}, 1));
    open_worker(&workers[0]);
    open_worker(&workers[1]);
}

static void teardown(void) {
    close_worker(&workers[0]);
    close_worker(&workers[1]);
    device_set_clear(&devices);
    close_all();
}

static Plan *plan_of(const StepSignature *signature, const PlacementRecord *placed) {
    PlanOptions options = {.devices = &devices, .intra_threads = 1, .inter_threads = 1,
                           .passes = session_config_default().passes,
                           .placed = placed};
    Plan *plan;
    GOOD(plan_make(graph, signature, &options, &plan));
    return plan;
}

static Executor *bind(Worker *worker, Plan *plan) {
    Executor *executor;
    GOOD(bind_plan(&worker->states, plan, worker->cache, &executor));
    return executor;
}

static float run(Worker *worker, Executor *executor) {
    StepOptions options = {.deadline = NO_DEADLINE, .resources = worker->resources, .intra_threads = 1,
                           .inter_threads = 1};
    Tensor out;
    GOOD(step_run(executor, &options, NULL, &out));
    float value = *(float *)out.data;
    tensor_clear(&out);
    return value;
}

static Output variable(void) {
    Formula *f = &formula;
    Shape shape = SCALAR_SHAPE;
    AttrValue value = {.kind = ATTR_SHAPE, .shape = &shape};
    return formula_op(f, "VariableV2", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float), {"shape", value}));
}

// Plans that are made before there is anything to run them with. What each worker opens for them is its own, and of
// one worker the same for all plans.
START_TEST(a_plan_runs_wherever_it_is_bound) {
    Formula *f = &formula;
    Output v = variable(), set = formula_2(f, "Assign", v, formula_number(f, 1, DT_float));
    Output add = formula_2(f, "AssignAdd", v, formula_number(f, 1, DT_float));
    GOOD(f->status);
    Plan *begin = plan_of(&(StepSignature){.fetches = &set, .n_fetches = 1}, NULL);
    Plan *go_on = plan_of(&(StepSignature){.fetches = &add, .n_fetches = 1}, NULL);
    for (int32_t slot = 0; slot < go_on->n_slots; slot++)
        ck_assert(go_on->constants[slot].dtype != DT_resource);
    Executor *sets[2], *adds[2];
    for (int w = 0; w < 2; w++) {
        sets[w] = bind(&workers[w], begin);
        adds[w] = bind(&workers[w], go_on);
        ck_assert_float_eq(run(&workers[w], sets[w]), 1);
    }
    for (int i = 0; i < 3; i++)
        ck_assert_float_eq(run(&workers[0], adds[0]), (float)i + 2);
    ck_assert_float_eq(run(&workers[1], adds[1]), 2);
    Executor *again = bind(&workers[0], go_on);
    ck_assert_float_eq(run(&workers[0], again), 5);
    executor_release(again);
    for (int w = 0; w < 2; w++) {
        executor_release(sets[w]);
        executor_release(adds[w]);
    }
    ck_assert_int_eq(begin->references, 1);
    plan_release(begin);
    plan_release(go_on);
}
END_TEST

static Plan *plan_of_queue(DType dtype) {
    Formula *f = &formula;
    AttrValue types = {.kind = ATTR_TYPE, .is_list = true, .types = &dtype, .n = 1};
    Output queue = formula_op(f, "FIFOQueueV2", NULL, 0,
                              ATTRS({"component_types", types}, {"shared_name", ATTR_OF_STRING(STR("q"))}));
    Output size = formula_op(f, "QueueSizeV2", &queue, 1, NULL);
    GOOD(f->status);
    return plan_of(&(StepSignature){.fetches = &size, .n_fetches = 1}, NULL);
}

// What an op can't open is said when its plan is bound; the plan is as good as before.
START_TEST(binding_fails_and_leaves_nothing) {
    Plan *plan = plan_of_queue(DT_float), *other = plan_of_queue(DT_int64);
    Executor *first = bind(&workers[0], plan), *executor = NULL;
    Status *status = bind_plan(&workers[0].states, other, workers[0].cache, &executor);
    ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(status_message(status), "{{node t/FIFOQueueV2_1}} (FIFOQueueV2)"));
    ck_assert_ptr_null(executor);
    status_free(status);
    ck_assert_int_eq(other->references, 1);
    executor_release(bind(&workers[1], other));
    executor_release(first);
    plan_release(plan);
    plan_release(other);
}
END_TEST

static int closed;

static Status *half_open(Opening *o) {
    *(void **)o->state = malloc(1);
    FAIL(DATA_LOSS, "half of it is there");
}
static void half_close(void *state) {
    closed++;
    free(*(void **)state);
}
static Status *half_run(Kernel *k) {
    (void)k;
    return OK;
}

// What was opened by half is closed, by the machine.
START_TEST(what_fails_to_open_is_closed) {
    static const KernelRow rows[] = {{DT_INVALID, half_run}, {DT_INVALID, NULL}};
    static const Op op = {.signature = "OpensByHalf() -> x: float; stateful", .shape = shape_scalar, .open = half_open,
                          .close = half_close, .state_size = sizeof(void *), .cpu = rows};
    const OpType *type;
    GOOD(op_register(&op, &type));
    Formula *f = &formula;
    Output x = formula_op(f, "OpensByHalf", NULL, 0, NULL);
    GOOD(f->status);
    Plan *plan = plan_of(&(StepSignature){.fetches = &x, .n_fetches = 1}, NULL);
    Executor *executor = NULL;
    for (int i = 1; i <= 2; i++) {
        Status *status = bind_plan(&workers[0].states, plan, workers[0].cache, &executor);
        ck_assert_int_eq(status_code(status), DATA_LOSS);
        status_free(status);
        ck_assert_int_eq(closed, i);
    }
    plan_release(plan);
}
END_TEST

static const char *device_of_variable(const Plan *plan) {
    for (int32_t i = 0; i < plan->n_nodes; i++)
        if (str_is(plan->nodes[i].binding.node->type->name, "VariableV2"))
            return plan->nodes[i].binding.device->name;
    return "";
}

// A plan is placed by what it is told of earlier ones, and by that alone.
START_TEST(state_stays_where_it_was_placed) {
    Formula *f = &formula;
    Output v = variable(), one = formula_number(f, 1, DT_float), read = Neg(v);
    f->device = STR("/device:CPU:1");
    Output set = formula_2(f, "Assign", v, one);
    GOOD(f->status);
    const PlacementRecord *placed = &workers[0].states.placed;
    Plan *there = plan_of(&(StepSignature){.fetches = &set, .n_fetches = 1}, placed);
    Plan *before = plan_of(&(StepSignature){.fetches = &read, .n_fetches = 1}, placed);
    GOOD(node_states_record(&workers[0].states, there));
    Plan *after = plan_of(&(StepSignature){.fetches = &read, .n_fetches = 1}, placed);
    ck_assert_ptr_nonnull(strstr(device_of_variable(there), "CPU:1"));
    ck_assert_ptr_nonnull(strstr(device_of_variable(before), "CPU:0"));
    ck_assert_ptr_nonnull(strstr(device_of_variable(after), "CPU:1"));
    plan_release(there);
    plan_release(before);
    plan_release(after);
}
END_TEST

// What a master leaves is a graph: every node has its device, values go from memory to memory by Send and Recv, nothing
// is folded or fused. A worker makes a plan of that alone.
START_TEST(a_master_places_and_a_worker_plans) {
    Formula *f = &formula;
    DeviceSet own;
    GOOD(device_set_init(&own, LOCAL_TASK, (DeviceCount[]){{STR("CPU"), 1}, {STR("FAKE"), 1}}, 2));
    f->device = STR("/device:FAKE:0");
    Output far = Neg(Exp(formula_number(f, 0, DT_float)));
    f->device = STR("/device:CPU:0");
    Output near = Mul(far, Add(formula_number(f, 2, DT_float), formula_number(f, 3, DT_float)));
    GOOD(f->status);
    PlanOptions of_master = {.devices = &own, .passes = session_config_default().passes};
    PlanOptions of_worker = of_master;
    of_worker.intra_threads = of_worker.inter_threads = 1;
    Draft draft;
    GOOD(draft_make(graph, &(StepSignature){.fetches = &near, .n_fetches = 1}, &of_master, &draft));
    int sends = 0, calculations = 0;
    for (size_t i = 0; i < draft.graph->nodes.n; i++) {
        const Node *node = draft.graph->nodes.p[i];
        ck_assert_ptr_nonnull(node->placed);
        sends += node_flow(node) == FLOW_COPY_OUT;
        calculations += str_is(node->type->name, "Neg") || str_is(node->type->name, "Exp");
        for (int in = 0; in < node->n_inputs; in++)
            ck_assert_ptr_eq(node->inputs[in].node->placed, node->placed);
    }
    ck_assert_int_eq(sends, 1);
    ck_assert_int_eq(calculations, 2);
    draft.options = &of_worker;
    Plan *plan;
    GOOD(draft_plan(&draft, &plan));
    draft_clear(&draft);
    Executor *executor = bind(&workers[0], plan);
    ck_assert_float_eq(run(&workers[0], executor), -5);
    executor_release(executor);
    plan_release(plan);
    device_set_clear(&own);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("bind");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_plan_runs_wherever_it_is_bound);
    tcase_add_test(tests, binding_fails_and_leaves_nothing);
    tcase_add_test(tests, what_fails_to_open_is_closed);
    tcase_add_test(tests, state_stays_where_it_was_placed);
    tcase_add_test(tests, a_master_places_and_a_worker_plans);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
