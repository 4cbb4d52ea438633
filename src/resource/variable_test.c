// Variable test — snapshots stay, updates are alone, many lock without deadlock. [threads]
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/suite_test.h"
#include "resource/handle.h"
#include "resource/variable.h"
#include "tensor/literal.h"

static Tensor tensor_of(const char *text) {
    Tensor tensor = {0};
    Status *status = literal_parse(str_of(text), DT_INVALID, &tensor, NULL);
    ck_assert_msg(!status, "%s", status_message(status));
    return tensor;
}

static Variable *make_variable(const char *text) {
    Variable *variable = NULL;
    Tensor value = tensor_of(text);
    Status *status = variable_new(value.dtype, value.shape, &variable);
    ck_assert_ptr_null(status);
    status = variable_assign(variable, &value, false);
    ck_assert_ptr_null(status);
    ck_assert_ptr_null(value.data);
    return variable;
}

static void release(Variable *variable) {
    resource_release((Resource *)variable);
}

static void is(const Tensor *tensor, const char *expected) {
    AUTO(text) Text text = {0};
    literal_print(&text, tensor, NULL);
    ck_assert_str_eq(text.p, expected);
}

static void fails(Status *status, Code code, const char *words) {
    ck_assert_int_eq(status_code(status), code);
    ck_assert_msg(strstr(status_message(status), words), "%s", status_message(status));
    status_free(status);
}

START_TEST(uninitialized_until_assigned) {
    ResourceTable *table;
    Status *status = resource_table_new(&table);
    ck_assert_ptr_null(status);
    Variable *v;
    status = variable_new(DT_float, SHAPE(2), &v);
    ck_assert_ptr_null(status);
    status = resource_add(table, (Str){0}, STR("w"), (Resource *)v);
    ck_assert_ptr_null(status);
    Tensor got = {0};
    fails(variable_read(v, &got), FAILED_PRECONDITION, "Attempting to use uninitialized value w");
    VariableUse update = {.variable = v, .access = VARIABLE_UPDATE};
    fails(variables_begin(&update, 1), FAILED_PRECONDITION, "uninitialized value w");
    ck_assert_ptr_null(got.data);
    ck_assert(!variable_is_initialized(v));

    Tensor value = tensor_of("[1 2]");
    status = variable_assign(v, &value, false);
    ck_assert_ptr_null(status);
    ck_assert(variable_is_initialized(v));
    status = variable_read(v, &got);
    ck_assert_ptr_null(status);
    is(&got, "[1 2]");

    // Removed: empty for those who still hold it; what was read stays.
    status = resource_remove(table, (Resource *)v);
    ck_assert_ptr_null(status);
    fails(resource_remove(table, (Resource *)v), NOT_FOUND, "w/Variable does not exist");
    ck_assert(!variable_is_initialized(v));
    is(&got, "[1 2]");
    tensor_clear(&got);
    release(v);
    resource_table_free(table);
}
END_TEST

START_TEST(assign_checks_type_and_shape) {
    Variable *v = make_variable("[1 2]");
    Tensor whole = tensor_of("int32 [1 2]"), long_one = tensor_of("[1 2 3]");
    fails(variable_assign(v, &whole, false), INVALID_ARGUMENT, "wrong dtype. Expected float got int32");
    fails(variable_assign(v, &long_one, false), INVALID_ARGUMENT, "shape [2] a value of shape [3]");
    ck_assert_ptr_nonnull(long_one.data);
    Status *status = variable_assign(v, &long_one, true);
    ck_assert_ptr_null(status);
    AUTO(tensor) Tensor got = {0};
    status = variable_read(v, &got);
    ck_assert_ptr_null(status);
    is(&got, "[1 2 3]");
    tensor_clear(&whole);
    release(v);
    Variable *none;
    fails(variable_new((DType)(DT_float + DT_REF), SCALAR_SHAPE, &none), INVALID_ARGUMENT, "float_ref");
}
END_TEST

START_TEST(adopts_what_is_alone_and_copies_what_is_shared) {
    Variable *v = make_variable("[0 0]");
    Tensor value = tensor_of("[1 2]");
    void *data = value.data;
    Status *status = variable_assign(v, &value, false);
    ck_assert_ptr_null(status);
    ck_assert_ptr_eq(v->value.data, data);
    uint64_t stamp = v->value.buffer->stamp;
    ck_assert_uint_ne(stamp, 0);

    value = tensor_of("[3 4]");
    Tensor mine = tensor_retain(&value);
    status = variable_assign(v, &value, false);
    ck_assert_ptr_null(status);
    ck_assert_ptr_ne(v->value.data, mine.data);
    ((float *)mine.data)[0] = 100;
    is(&v->value, "[3 4]");
    tensor_clear(&mine);

    // A value in a step's memory has no buffer to adopt.
    float inside[] = {5, 6};
    Tensor lent = {.data = inside, .dtype = DT_float, .shape = SHAPE(2)};
    status = variable_assign(v, &lent, false);
    ck_assert_ptr_null(status);
    ck_assert_ptr_ne(v->value.data, inside);
    is(&v->value, "[5 6]");
    ck_assert_uint_ne(v->value.buffer->stamp, stamp);
    release(v);
}
END_TEST

START_TEST(snapshots_stay_what_they_were) {
    Variable *v = make_variable("[1 2]");
    AUTO(tensor) Tensor before = {0};
    VariableUse update = {.variable = v, .access = VARIABLE_UPDATE};
    Status *status = variables_begin(&update, 1);
    ck_assert_ptr_null(status);
    void *data = update.value.data;
    uint64_t stamp = update.value.buffer->stamp;
    variables_end(&update, 1);

    // Nobody else has it: in place, with a new stamp.
    status = variables_begin(&update, 1);
    ck_assert_ptr_null(status);
    ck_assert_ptr_eq(update.value.data, data);
    ck_assert_uint_ne(update.value.buffer->stamp, stamp);
    variables_end(&update, 1);

    status = variable_read(v, &before);
    ck_assert_ptr_null(status);
    ck_assert_ptr_eq(before.data, data);
    status = variables_begin(&update, 1);
    ck_assert_ptr_null(status);
    ck_assert_ptr_ne(update.value.data, data);
    ((float *)update.value.data)[0] = 9;
    variables_end(&update, 1);
    is(&before, "[1 2]");
    is(&v->value, "[9 2]");
    release(v);
}
END_TEST

START_TEST(several_at_once) {
    Variable *a = make_variable("[1]"), *b = make_variable("[2]"), *empty;
    Status *status = variable_new(DT_float, SHAPE(1), &empty);
    ck_assert_ptr_null(status);
    VariableUse uses[] = {{.variable = b, .access = VARIABLE_UPDATE}, {.variable = a, .access = VARIABLE_READ},
                          {.variable = a, .access = VARIABLE_UPDATE}, {.variable = b, .access = VARIABLE_UPDATE}};
    status = variables_begin(uses, 4);
    ck_assert_ptr_null(status);
    ck_assert_ptr_eq(uses[0].value.data, uses[3].value.data);
    ck_assert_ptr_eq(uses[1].value.data, uses[2].value.data);
    ck_assert_ptr_ne(uses[0].value.data, uses[1].value.data);
    variables_end(uses, 4);

    // One is uninitialized: nothing is held afterwards.
    VariableUse bad[] = {{.variable = a, .access = VARIABLE_UPDATE}, {.variable = empty, .access = VARIABLE_READ},
                         {.variable = b, .access = VARIABLE_READ}};
    fails(variables_begin(bad, 3), FAILED_PRECONDITION, "uninitialized");
    status = variables_begin(uses, 4);
    ck_assert_ptr_null(status);
    variables_end(uses, 4);
    release(a);
    release(b);
    release(empty);
}
END_TEST

enum { THREADS = 6, ROUNDS = 500 };

typedef struct {
    Variable *all[3];
    int number, torn;
} Hand;

// Each update adds one to both elements of two variables; a snapshot with unequal elements is torn.
static void *work(void *arg) {
    Hand *hand = arg;
    for (int i = 0; i < ROUNDS; i++) {
        VariableUse uses[] = {{.variable = hand->all[(hand->number + i) % 3], .access = VARIABLE_UPDATE},
                              {.variable = hand->all[(hand->number + 2 * i + 1) % 3], .access = VARIABLE_UPDATE},
                              {.variable = hand->all[i % 3], .access = VARIABLE_READ}};
        Status *status = variables_begin(uses, 3);
        hand->torn += status != NULL;
        status_free(status);
        for (int u = 0; u < 2; u++)
            for (int k = 0; k < 2; k++)
                ((double *)uses[u].value.data)[k]++;
        hand->torn += ((double *)uses[2].value.data)[0] != ((double *)uses[2].value.data)[1];
        variables_end(uses, 3);

        Tensor seen;
        status = variable_read(hand->all[i % 3], &seen);
        hand->torn += ((double *)seen.data)[0] != ((double *)seen.data)[1];
        status_free(status);
        tensor_clear(&seen);
    }
    return NULL;
}

START_TEST(updates_are_atomic_under_threads) {
    Hand hands[THREADS];
    pthread_t threads[THREADS];
    Variable *all[3];
    for (int i = 0; i < 3; i++)
        all[i] = make_variable("double [0 0]");
    for (int i = 0; i < THREADS; i++) {
        hands[i] = (Hand){.number = i};
        memcpy(hands[i].all, all, sizeof all);
        pthread_create(&threads[i], NULL, work, &hands[i]);
    }
    double sum = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_int_eq(hands[i].torn, 0);
    }
    for (int i = 0; i < 3; i++) {
        sum += ((double *)all[i]->value.data)[0];
        release(all[i]);
    }
    ck_assert_double_eq(sum, 2.0 * THREADS * ROUNDS);
}
END_TEST

// ---- tables and handles

static Status *create(void *arg, Resource **out) {
    _Atomic int *made = arg;
    atomic_fetch_add(made, 1);
    Variable *variable;
    TRY(variable_new(DT_float, SCALAR_SHAPE, &variable));
    *out = (Resource *)variable;
    return OK;
}

static Status *refuse(void *arg, Resource **out) {
    (void)arg;
    (void)out;
    FAIL(ABORTED, "not today");
}

static const ResourceType other_type = {"Other", sizeof(Resource), NULL, NULL};

static void *read_once(void *arg) {
    Tensor got;
    Status *status = variable_read(arg, &got);
    ck_assert_ptr_null(status);
    ck_assert_float_eq(((float *)got.data)[0], ((float *)got.data)[1]);
    tensor_clear(&got);
    return NULL;
}

static void *update_once(void *arg) {
    VariableUse update = {.variable = arg, .access = VARIABLE_UPDATE};
    Status *status = variables_begin(&update, 1);
    ck_assert_ptr_null(status);
    ((float *)update.value.data)[0] += 1;
    usleep(1000);
    ((float *)update.value.data)[1] += 1;
    variables_end(&update, 1);
    return NULL;
}

// Longer than anybody looks: those who wait sleep, and all of them are woken.
START_TEST(a_long_update_is_waited_for) {
    Variable *v = make_variable("[0 0]");
    for (int round = 0; round < 20; round++) {
        VariableUse use = {.variable = v, .access = round % 2 ? VARIABLE_READ : VARIABLE_UPDATE};
        Status *status = variables_begin(&use, 1);
        ck_assert_ptr_null(status);
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, i % 2 ? read_once : update_once, v);
        usleep(5000);
        variables_end(&use, 1);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    ck_assert_float_eq(((float *)v->value.data)[0], 20.0f * THREADS / 2);
    ck_assert_uint_eq(v->lock, 0);
    release(v);
}
END_TEST

START_TEST(a_table_finds_by_container_name_and_type) {
    ResourceTable *table;
    Status *status = resource_table_new(&table);
    ck_assert_ptr_null(status);
    _Atomic int made = 0;
    Resource *first, *again, *elsewhere, *other;
    status = resource_find_or_create(table, (Str){0}, STR("x"), &variable_type, create, &made, &first);
    ck_assert_ptr_null(status);
    status = resource_find_or_create(table, STR("localhost"), STR("x"), &variable_type, create, &made, &again);
    ck_assert_ptr_null(status);
    ck_assert_ptr_eq(first, again);
    status = resource_find_or_create(table, STR("box"), STR("x"), &variable_type, create, &made, &elsewhere);
    ck_assert_ptr_null(status);
    ck_assert_int_eq(made, 2);
    ck_assert(str_is(elsewhere->container, "box") && str_is(elsewhere->name, "x"));
    ck_assert_str_eq(first->name.p, "x");
    fails(resource_find(table, (Str){0}, STR("x"), &other_type, &other), NOT_FOUND,
          "Resource localhost/x/Other does not exist.");
    fails(resource_find_or_create(table, (Str){0}, STR("y"), &other_type, refuse, NULL, &other), ABORTED, "not today");

    status = resource_new(&other_type, &other);
    ck_assert_ptr_null(status);
    status = resource_add(table, (Str){0}, STR("x"), other);
    ck_assert_ptr_null(status);
    fails(resource_add(table, (Str){0}, STR("z"), other), FAILED_PRECONDITION, "already has a table");
    Resource *twin;
    status = resource_new(&other_type, &twin);
    ck_assert_ptr_null(status);
    fails(resource_add(table, (Str){0}, STR("x"), twin), ALREADY_EXISTS, "x/Other");
    fails(resource_add(table, (Str){0}, (Str){"a\0b", 3}, twin), INVALID_ARGUMENT, "NUL");
    resource_release(twin);
    resource_reset(table, (Str){0});
    fails(resource_find(table, (Str){0}, STR("x"), &variable_type, &twin), NOT_FOUND, "localhost/x");
    status = resource_find(table, STR("box"), STR("x"), &variable_type, &twin);
    ck_assert_ptr_null(status);
    resource_release(twin);
    Resource *all[] = {first, again, elsewhere, other};
    for (int i = 0; i < 4; i++)
        resource_release(all[i]);
    resource_table_free(table);
}
END_TEST

START_TEST(handles) {
    ResourceTable *table;
    Status *status = resource_table_new(&table);
    ck_assert_ptr_null(status);
    Variable *v = make_variable("3");
    status = resource_add(table, (Str){0}, STR("v"), (Resource *)v);
    ck_assert_ptr_null(status);
    AUTO(tensor) Tensor held = {0};
    AUTO(tensor) Tensor named = {0};
    AUTO(tensor) Tensor empty = {0};
    AUTO(tensor) Tensor number = tensor_of("1");
    status = handle_tensor((Resource *)v, STR("/device:CPU:0"), DT_float, SCALAR_SHAPE, &held);
    ck_assert_ptr_null(status);
    status = handle_tensor_named(STR("localhost"), STR("v"), STR("Variable"), STR(""), DT_float, SCALAR_SHAPE, &named);
    ck_assert_ptr_null(status);
    status = tensor_new(DT_resource, SCALAR_SHAPE, &empty);
    ck_assert_ptr_null(status);
    is(&held, "<Variable v>");

    Resource *found = NULL;
    const Tensor *both[] = {&held, &named};
    for (int i = 0; i < 2; i++) {
        status = handle_resource(both[i], 0, table, &variable_type, &found);
        ck_assert_ptr_null(status);
        ck_assert_ptr_eq(variable_of(found), v);
        resource_release(found);
        fails(handle_resource(both[i], 0, table, &other_type, &found), INVALID_ARGUMENT,
              "resource v using the wrong type. Expected Other got Variable");
    }
    fails(handle_resource(&empty, 0, table, &variable_type, &found), INVALID_ARGUMENT, "empty");
    fails(handle_resource(&number, 0, table, &variable_type, &found), INVALID_ARGUMENT, "got float[]");
    fails(handle_resource(&held, 1, table, &variable_type, &found), INVALID_ARGUMENT, "expected a resource handle");
    fails(handle_resource(&named, 0, NULL, &variable_type, &found), NOT_FOUND, "localhost/v/Variable");
    release(v);
    resource_table_free(table);
    fails(variable_read(v, &number), FAILED_PRECONDITION, "uninitialized value v");  // the handle still holds it
}
END_TEST

typedef struct {
    ResourceTable *table;
    _Atomic int *made;
    Resource *got;
} Finder;

static void *find(void *arg) {
    Finder *finder = arg;
    Status *status = resource_find_or_create(finder->table, (Str){0}, STR("one"), &variable_type, create, finder->made,
                                             &finder->got);
    status_free(status);
    return NULL;
}

START_TEST(one_creates) {
    for (int round = 0; round < 20; round++) {
        ResourceTable *table;
        Status *status = resource_table_new(&table);
        ck_assert_ptr_null(status);
        _Atomic int made = 0;
        Finder finders[THREADS];
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++) {
            finders[i] = (Finder){table, &made, NULL};
            pthread_create(&threads[i], NULL, find, &finders[i]);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            ck_assert_ptr_eq(finders[i].got, finders[0].got);
        }
        for (int i = 0; i < THREADS; i++)
            resource_release(finders[i].got);
        ck_assert_int_eq(made, 1);
        resource_table_free(table);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("variable");
    TCase *cases = tcase_create("variable");
    tcase_set_timeout(cases, 60);
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, uninitialized_until_assigned);
    tcase_add_test(cases, assign_checks_type_and_shape);
    tcase_add_test(cases, adopts_what_is_alone_and_copies_what_is_shared);
    tcase_add_test(cases, snapshots_stay_what_they_were);
    tcase_add_test(cases, several_at_once);
    tcase_add_test(cases, updates_are_atomic_under_threads);
    tcase_add_test(cases, a_long_update_is_waited_for);
    tcase_add_test(cases, a_table_finds_by_container_name_and_type);
    tcase_add_test(cases, handles);
    tcase_add_test(cases, one_creates);
    return run_suite(suite);
}
