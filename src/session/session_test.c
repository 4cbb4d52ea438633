// Session tests — graphs built by hand and run: plans, feeds, fetches, variables, control flow, errors.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tensor/blocks.h"
#include "session/local.h"
#include "session/one_session_test.h"

static void setup(void) {
    open_graph();
    SessionConfig config = session_config_default();
    config.intra_threads = config.inter_threads = 1;
    config.devices[0] = (DeviceCount){STR("FAKE"), 1};
    config.n_devices = 1;
    open_session_with(&config);
}

static Output placeholder(DType dtype) {
    Formula *f = &formula;
    Output out = formula_op(f, "Placeholder", NULL, 0, ATTRS(TYPE_ATTR("dtype", dtype)));
    GOOD(f->status);
    return out;
}

static Tensor scalar(float value) {
    Tensor t;
    GOOD(tensor_new(DT_float, SCALAR_SHAPE, &t));
    *(float *)t.data = value;
    return t;
}

static float run1(Output feed, float value, Output fetch) {
    Tensor x = scalar(value), y;
    const Tensor *feeds[] = {&x};
    StepSignature signature = {.feeds = &feed, .fetches = &fetch, .n_feeds = 1, .n_fetches = 1};
    GOOD(session_run(session, &signature, &run_settings_default, feeds, &y));
    float result = *(float *)y.data;
    tensor_clear(&x);
    tensor_clear(&y);
    return result;
}

START_TEST(adds_one) {
    Formula *f = &formula;
    Output x = placeholder(DT_float);
    Output y = Add(x, Scalar(1, x));
    GOOD(f->status);
    for (int i = 0; i < 3; i++)
        ck_assert_float_eq(run1(x, (float)i, y), (float)i + 1);
}
END_TEST

START_TEST(switches_and_merges) {
    Formula *f = &formula;
    Output x = placeholder(DT_float);
    Output positive = Greater(x, Scalar(0, x));
    Output choice = formula_2(f, "Switch", x, positive);
    Output yes = Mul(At(choice, 1), Scalar(2, x)), no = Neg(At(choice, 0));
    Output merged = formula_of_list(f, "Merge", (Output[]){no, yes}, 2, NULL);
    GOOD(f->status);
    ck_assert_float_eq(run1(x, 3, merged), 6);
    ck_assert_float_eq(run1(x, -3, merged), 3);
}
END_TEST

START_TEST(assigns_and_reads) {
    Formula *f = &formula;
    Output x = placeholder(DT_float);
    Shape shape = SCALAR_SHAPE;
    AttrValue shape_value = {.kind = ATTR_SHAPE, .shape = &shape};
    Output v = formula_op(f, "VariableV2", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float), {"shape", shape_value}));
    Output set = formula_2(f, "Assign", v, x);
    Output read = Mul(v, Scalar(10, x));
    GOOD(f->status);
    Tensor y;
    StepSignature early = {.fetches = &read, .n_fetches = 1};
    Status *status = session_run(session, &early, &run_settings_default, NULL, &y);
    ck_assert_int_eq(status_code(status), FAILED_PRECONDITION);
    status_free(status);
    ck_assert_float_eq(run1(x, 4, set), 4);
    GOOD(session_run(session, &early, &run_settings_default, NULL, &y));
    ck_assert_float_eq(*(float *)y.data, 40);
    tensor_clear(&y);
}
END_TEST

// A reference is read when its reader runs: after an update that the reader waits for.
START_TEST(reads_a_reference_after_its_update) {
    Formula *f = &formula;
    Output x = placeholder(DT_float);
    Shape shape = SCALAR_SHAPE;
    AttrValue shape_value = {.kind = ATTR_SHAPE, .shape = &shape};
    Output v = formula_op(f, "VariableV2", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float), {"shape", shape_value}));
    Output set = formula_2(f, "Assign", v, x), add = formula_2(f, "AssignAdd", v, x);
    Output read = Mul(v, Scalar(10, x));
    GOOD(f->status);
    GOOD(node_add_control(read.node, add.node));
    ck_assert_float_eq(run1(x, 4, set), 4);
    ck_assert_float_eq(run1(x, 1, read), 50);
    ck_assert_float_eq(run1(x, 1, read), 60);
}
END_TEST

// The handle of a variable is known when the plan is bound: no step asks for it.
// An Identity of a reference is the variable's memory by another name, for who waits for the update.
START_TEST(names_of_references_follow_updates) {
    Formula *f = &formula;
    Shape shape = SCALAR_SHAPE;
    AttrValue shape_value = {.kind = ATTR_SHAPE, .shape = &shape};
    Output x = placeholder(DT_float);
    Output v = formula_op(f, "VariableV2", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float), {"shape", shape_value}));
    Output set = formula_2(f, "Assign", v, x), name = Identity(v), add = formula_2(f, "AssignAdd", v, x);
    Output before = Neg(name), after = Add(name, Scalar(0, x));
    GOOD(f->status);
    GOOD(node_add_control(after.node, add.node));
    ck_assert_float_eq(run1(x, 3, set), 3);
    ck_assert_float_eq(run1(x, 4, after), 7);
    ck_assert_float_eq(run1(x, 4, after), 11);
    ck_assert_float_eq(run1(x, 0, before), -11);
}
END_TEST

START_TEST(handles_are_constants_of_the_executor) {
    Formula *f = &formula;
    Shape shape = SCALAR_SHAPE;
    AttrValue shape_value = {.kind = ATTR_SHAPE, .shape = &shape};
    Output v = formula_op(f, "VarHandleOp", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float), {"shape", shape_value}));
    Output read = formula_op(f, "ReadVariableOp", &v, 1, ATTRS(TYPE_ATTR("dtype", DT_float)));
    Output x = placeholder(DT_float);
    Node *set = formula_node(f, "AssignVariableOp", (FormulaArg[]){{&v, 1, false}, {&x, 1, false}}, 2, NULL);
    GOOD(f->status);
    Tensor value = scalar(3);
    const Tensor *feeds[] = {&value};
    StepSignature assign = {.feeds = &x, .targets = &set, .n_feeds = 1, .n_targets = 1};
    GOOD(session_run(session, &assign, &run_settings_default, feeds, NULL));
    tensor_clear(&value);
    StepSignature signature = {.fetches = (Output[]){read, v}, .n_fetches = 2};
    Executor *executor;
    GOOD(local_session_executor(session, &signature, &executor));
    int handles = 0;
    for (int32_t slot = 0; slot < executor->plan->n_slots; slot++) {
        ck_assert_ptr_null(executor->plan->constants[slot].buffer);  // the plan knows no session
        handles += executor->constants[slot].buffer && executor->constants[slot].dtype == DT_resource;
    }
    ck_assert_int_eq(handles, 1);
    executor_release(executor);
    for (int i = 0; i < 3; i++) {
        Tensor both[2];
        GOOD(session_run(session, &signature, &run_settings_default, NULL, both));
        ck_assert_float_eq(*(float *)both[0].data, 3);
        ck_assert_int_eq(both[1].dtype, DT_resource);
        tensor_clear(&both[0]);
        tensor_clear(&both[1]);
    }
}
END_TEST

// What follows from the shape of a variable is settled beforehand, and computed again once the shape is another.
START_TEST(shapes_of_variables_are_foreseen) {
    Formula *f = &formula;
    Shape shape = SHAPE(2, 1);
    AttrValue shape_value = {.kind = ATTR_SHAPE, .shape = &shape};
    Output v = formula_op(f, "VarHandleOp", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float), {"shape", shape_value}));
    Output x = placeholder(DT_float);
    Node *set = formula_node(f, "AssignVariableOp", (FormulaArg[]){{&v, 1, false}, {&x, 1, false}}, 2, NULL);
    Output seen = OpWith("VariableShape", ATTRS(TYPE_ATTR("out_type", DT_int32)), v);
    Output count = Prod(seen, Int(0), false), rows = Fill(Reshape(count, Ints(1)), Scalar(7, x));
    GOOD(f->status);
    StepSignature assign = {.feeds = &x, .targets = &set, .n_feeds = 1, .n_targets = 1};
    StepSignature signature = {.fetches = (Output[]){seen, count, rows}, .n_fetches = 3};
    const int32_t rows_of[] = {2, 2, 3, 3, 2, 2};
    for (int i = 0; i < 6; i++) {
        Tensor value, out[3];
        GOOD(tensor_new(DT_float, SHAPE(rows_of[i], i % 2 + 1), &value));
        memset(value.data, 0, tensor_bytes(&value));
        const Tensor *feeds[] = {&value};
        GOOD(session_run(session, &assign, &run_settings_default, feeds, NULL));
        tensor_clear(&value);
        for (int again = 0; again < 2; again++) {
            GOOD(session_run(session, &signature, &run_settings_default, NULL, out));
            ck_assert_int_eq(((int32_t *)out[0].data)[0], rows_of[i]);
            ck_assert_int_eq(((int32_t *)out[0].data)[1], i % 2 + 1);
            ck_assert_int_eq(*(int32_t *)out[1].data, rows_of[i] * (i % 2 + 1));
            ck_assert_int_eq(tensor_count(&out[2]), rows_of[i] * (i % 2 + 1));
            ck_assert_float_eq(((float *)out[2].data)[rows_of[i] - 1], 7);
            for (int j = 0; j < 3; j++)
                tensor_clear(&out[j]);
        }
    }
}
END_TEST

// ---------------------------------------- plans

static Executor *executor_of(const StepSignature *signature) {
    Executor *executor;
    GOOD(local_session_executor(session, signature, &executor));
    executor_release(executor);  // the session keeps it
    return executor;
}

static Plan *plan_of(const StepSignature *signature) {
    return executor_of(signature)->plan;
}

START_TEST(another_order_shares_the_plan) {
    Formula *f = &formula;
    Output a = placeholder(DT_float), b = placeholder(DT_float), c = placeholder(DT_int32);
    Output less = Sub(a, b), more = Add(a, b), cast = Mul(c, c);
    Node *nothing = formula_node(f, "NoOp", NULL, 0, NULL), *nothing_2 = formula_node(f, "NoOp", NULL, 0, NULL);
    GOOD(f->status);
    Tensor two = scalar(2), five = scalar(5), three, out[4];
    GOOD(tensor_new(DT_int32, SCALAR_SHAPE, &three));
    *(int32_t *)three.data = 3;
    StepSignature first = {(Output[]){a, b, c}, (Output[]){less, more, cast, less}, (Node *[]){nothing, nothing_2}, 3,
                           4, 2};
    StepSignature second = {(Output[]){c, b, a}, (Output[]){cast, less, less, more}, (Node *[]){nothing_2, nothing}, 3,
                            4, 2};
    StepSignature other = {(Output[]){c, b, a}, (Output[]){cast, more, less, more}, (Node *[]){nothing_2, nothing}, 3,
                           4, 2};
    ck_assert_ptr_eq(plan_of(&first), plan_of(&second));
    ck_assert_ptr_ne(plan_of(&first), plan_of(&other));
    for (int i = 0; i < 3; i++) {
        GOOD(session_run(session, &second, &run_settings_default, (const Tensor *[]){&three, &five, &two}, out));
        ck_assert_int_eq(*(int32_t *)out[0].data, 9);
        ck_assert_float_eq(*(float *)out[1].data, -3);
        ck_assert_float_eq(*(float *)out[2].data, -3);
        ck_assert_float_eq(*(float *)out[3].data, 7);
        ck_assert_ptr_ne(out[1].buffer, out[2].buffer);
        for (int o = 0; o < 4; o++)
            tensor_clear(&out[o]);
    }
    // The message names the node that was fed wrongly, whatever the order.
    Status *status = session_run(session, &second, &run_settings_default, (const Tensor *[]){&three, &three, &two},
                                 out);
    ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    char expected[80];
    snprintf(expected, sizeof expected, "{{node %.*s}}", STR_ARGS(b.node->name));
    ck_assert_msg(strstr(status_message(status), expected), "%s", status_message(status));
    status_free(status);
    tensor_clear(&two);
    tensor_clear(&five);
    tensor_clear(&three);
}
END_TEST

static int specialisations(const Executor *executor) {
    int n = 0;
    for (const Specialisation *specialisation = executor->specialisations; specialisation;
         specialisation = specialisation->next)
        n++;
    return n;
}

static void run_length(Output feed, Output fetch, int64_t n) {
    Tensor x, y;
    GOOD(tensor_new(DT_float, (Shape){.rank = 1, .dims = {n}}, &x));
    memset(x.data, 0, (size_t)n * sizeof(float));
    const Tensor *feeds[] = {&x};
    StepSignature signature = {.feeds = &feed, .fetches = &fetch, .n_feeds = 1, .n_fetches = 1};
    GOOD(session_run(session, &signature, &run_settings_default, feeds, &y));
    ck_assert_float_eq(*(float *)y.data, (float)n * 2);
    tensor_clear(&x);
    tensor_clear(&y);
}

// So many bytes for all plans together: what was used last stays, whosever it is.
START_TEST(specialisations_are_kept_by_bytes) {
    unsetenv("MILLRACE_STRESS");  // under `dynamic` there are none
    enum { SHORT = 100, LENGTHS = 64, OTHERS = 3, TURNS = 20, MOST = 96 << 10 };
    Formula *f = &formula;
    Output x = placeholder(DT_float);
    Output ones = Exp(x);
    Output sum = Sum(Tile(ones, Ints(2)), Int(0), false), twin = Sum(Tile(Neg(Neg(ones)), Ints(2)), Int(0), false);
    GOOD(f->status);
    Executor *executor = executor_of(&(StepSignature){.feeds = &x, .fetches = &sum, .n_feeds = 1, .n_fetches = 1});
    Executor *other = executor_of(&(StepSignature){.feeds = &x, .fetches = &twin, .n_feeds = 1, .n_fetches = 1});
    ck_assert_ptr_eq(executor->cache, other->cache);
    ck_assert_uint_eq(executor->cache->most, 64u << 20);
    executor->cache->most = MOST;
    for (int i = 0; i < LENGTHS; i++) {
        run_length(x, sum, SHORT + i);
        ck_assert_uint_le(executor->cache->bytes, MOST);
    }
    int before = specialisations(executor);
    ck_assert_msg(before > 1 && before < LENGTHS, "%d specialisations of %zu bytes", before, executor->cache->bytes);
    int64_t used = executor->specialisations->feed_shapes[0].dims[0];
    for (int i = 0; i < OTHERS * TURNS; i++) {
        run_length(x, twin, SHORT + i % OTHERS);  // one of eight is specialised now
        run_length(x, sum, used);                 // used all the time: stays
        ck_assert_uint_le(executor->cache->bytes, MOST);
    }
    ck_assert_int_eq(specialisations(other), OTHERS);
    ck_assert_int_lt(specialisations(executor), before);
    bool kept = false;
    for (const Specialisation *specialisation = executor->specialisations; specialisation;
         specialisation = specialisation->next)
        kept |= specialisation->feed_shapes[0].dims[0] == used;
    ck_assert(kept);
}
END_TEST

// Shapes in turn, more than there is room for: some stay and are found each time.
START_TEST(too_many_shapes_are_not_driven_around) {
    unsetenv("MILLRACE_STRESS");
    enum { LENGTHS = 200, TURNS = 10, MOST = 256 << 10 };
    Formula *f = &formula;
    Output x = placeholder(DT_float), sum = Sum(Tile(Exp(x), Ints(2)), Int(0), false);
    GOOD(f->status);
    Executor *executor = executor_of(&(StepSignature){.feeds = &x, .fetches = &sum, .n_feeds = 1, .n_fetches = 1});
    executor->cache->most = MOST;
    int stayed = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        const Specialisation *first = executor->specialisations;
        for (int i = 0; i < LENGTHS; i++)
            run_length(x, sum, 1 + i);
        ck_assert_uint_le(executor->cache->bytes, MOST);
        int made = 0;
        for (const Specialisation *specialisation = executor->specialisations;
             specialisation && specialisation != first; specialisation = specialisation->next)
            made++;
        stayed += turn && made <= LENGTHS / 4;
    }
    ck_assert_int_eq(stayed, TURNS - 1);
}
END_TEST

static size_t large_blocks_of_a_run(Output x, Output y) {
    size_t before = blocks_use().fresh;
    run_length(x, y, 2 << 20);
    return blocks_use().fresh - before;
}

// The system is asked for large blocks once: the next step of this plan, or of another, has what the last one had.
START_TEST(memory_rests) {
    unsetenv("MILLRACE_STRESS");  // under `dynamic` nothing is packed
    Formula *f = &formula;
    Output x = placeholder(DT_float), e = Tile(Exp(x), Ints(2));
    Output sum = Sum(e, Int(0), false), twin = Sum(Neg(Neg(e)), Int(0), false);
    GOOD(f->status);
    blocks_trim();
    size_t first = large_blocks_of_a_run(x, sum);
    ck_assert(first == 2 || blocks_use().idle == 0);  // what is fed and what is packed; under the address sanitizer
                                                      // none
    ck_assert_uint_eq(large_blocks_of_a_run(x, sum), 0);
    ck_assert_uint_eq(large_blocks_of_a_run(x, twin), 0);
    ck_assert_uint_eq(large_blocks_of_a_run(x, sum), 0);
}
END_TEST

// What turns out to equal its input is another name for it, and nobody writes over what another name still needs.
START_TEST(copies_are_names) {
    unsetenv("MILLRACE_STRESS");  // under `dynamic` there are no specialisations
    Formula *f = &formula;
    Output x = placeholder(DT_float), e = Exp(x), tiled = Tile(e, Ints(1));
    Output sum = Sum(Neg(tiled), Int(0), true);  // Neg would write over `tiled`, which is `e`
    Output y = Sum(Mul(e, sum), Int(0), false);
    GOOD(f->status);
    StepSignature signature = {.feeds = &x, .fetches = &y, .n_feeds = 1, .n_fetches = 1};
    Tensor in, out;
    GOOD(tensor_new(DT_float, (Shape){.rank = 1, .dims = {2}}, &in));
    memset(in.data, 0, 2 * sizeof(float));
    GOOD(session_run(session, &signature, &run_settings_default, (const Tensor *[]){&in}, &out));
    ck_assert_float_eq(*(float *)out.data, -4);
    const Executor *executor = executor_of(&signature);
    const Plan *plan = executor->plan;
    for (int32_t i = 0; i < plan->n_nodes; i++)
        if (plan->nodes[i].binding.op == node_op(tiled.node))
            ck_assert_int_eq(executor->specialisations->modes[i], NODE_KNOWN);
    tensor_clear(&out);
    tensor_clear(&in);
}
END_TEST

// A class whose chance is none in floats, though its weight is some: it never turns up.
START_TEST(a_kernel_ends_at_the_deadline) {
    Formula *f = &formula;
    AttrValue chances = {.kind = ATTR_FLOAT, .is_list = true, .fs = (float[]){0x1p100f, 0x1p-100f}, .n = 2};
    Output words = Reshape(Cast(Int(1), DT_int64), Ints(1, 1));
    Output drawn = formula_op(f, "FixedUnigramCandidateSampler", &words, 1,
                              ATTRS({"num_true", ATTR_OF_INT(1)}, {"num_sampled", ATTR_OF_INT(2)},
                                    {"unique", ATTR_OF_BOOL(true)},
                                    {"range_max", ATTR_OF_INT(2)}, {"unigrams", chances}));
    GOOD(f->status);
    StepSignature signature = {.fetches = &drawn, .n_fetches = 1};
    Tensor out;
    Status *status = session_run(session, &signature, &(RunSettings){.timeout_ms = 30}, NULL, &out);
    ck_assert_int_eq(status_code(status), DEADLINE_EXCEEDED);
    status_free(status);
}
END_TEST

START_TEST(placement_is_logged) {
    Formula *f = &formula;
    Output x = placeholder(DT_float);
    f->device = STR("/device:FAKE:0");
    Output y = Add(x, x);
    f->device = (Str){0};
    GOOD(f->status);
    SessionConfig config = session_config_default();
    GOOD(session_config_parse((Str){"\x40\x01\x0a\x08\x0a\x04" "FAKE" "\x10\x01", 12}, &config));
    ck_assert(config.log_placement);
    session_free(session);
    GOOD(session_new(graph, NULL, &config, &session));
    char path[] = "/tmp/placementXXXXXX", text[4096] = "", line[200];
    int file = mkstemp(path), kept = dup(STDERR_FILENO);
    ck_assert(file >= 0 && dup2(file, STDERR_FILENO) >= 0);
    float result = run1(x, 4, y);
    dup2(kept, STDERR_FILENO);
    ck_assert_float_eq(result, 8);
    ck_assert_int_gt(pread(file, text, sizeof text - 1, 0), 0);
    close(file);
    close(kept);
    unlink(path);
    snprintf(line, sizeof line, "%.*s: (AddV2): /job:localhost/replica:0/task:0/device:FAKE:0\n",
             STR_ARGS(y.node->name));
    ck_assert_msg(strstr(text, line), "%s", text);
}
END_TEST

START_TEST(crosses_to_the_fake_device) {
    Formula *f = &formula;
    Output x = placeholder(DT_float);
    f->device = STR("/device:FAKE:0");
    Output far = Add(x, x);
    f->device = (Str){0};
    Output y = Mul(far, Scalar(3, x));
    GOOD(f->status);
    ck_assert_float_eq(run1(x, 2, y), 12);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("session");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, close_all);
    tcase_add_test(tests, adds_one);
    tcase_add_test(tests, switches_and_merges);
    tcase_add_test(tests, assigns_and_reads);
    tcase_add_test(tests, reads_a_reference_after_its_update);
    tcase_add_test(tests, names_of_references_follow_updates);
    tcase_add_test(tests, handles_are_constants_of_the_executor);
    tcase_add_test(tests, shapes_of_variables_are_foreseen);
    tcase_add_test(tests, another_order_shares_the_plan);
    tcase_add_test(tests, specialisations_are_kept_by_bytes);
    tcase_add_test(tests, too_many_shapes_are_not_driven_around);
    tcase_add_test(tests, memory_rests);
    tcase_add_test(tests, copies_are_names);
    tcase_add_test(tests, a_kernel_ends_at_the_deadline);
    tcase_add_test(tests, placement_is_logged);
    tcase_add_test(tests, crosses_to_the_fake_device);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
