// OpDef test — every known op as TensorFlow's message and back, and messages that make no sense.
#include <check.h>
#include <time.h>

#include "base/suite_test.h"
#include "graph/known_ops.h"
#include "graph/op_def.h"
#include "proto/text.h"

static Arena arena;
static TensorList tensors;

static void set_up(void) {
    arena = (Arena){0};
    tensors = (TensorList){0};
}

static void tear_down(void) {
    tensor_list_auto(&tensors);
    arena_clear(&arena);
}

static void ok(Status *status) {
    ck_assert_msg(!status, "%s", status_message(status));
}

static OpDef *read_text(const char *text) {
    OpDef *def;
    ok(PROTO_PARSE(OpDef, &arena, str_of(text), &def));
    return def;
}

static void reads_as(const char *text, const char *expected) {
    Signature signature;
    AUTO(text) Text printed = {0};
    ok(signature_from_op_def(read_text(text), &arena, &tensors, &signature));
    signature_print(&printed, &signature);
    ck_assert_str_eq(printed.p, expected);
}

static void refused(const char *text, const char *part) {
    Signature signature;
    AUTO(status) Status *status = signature_from_op_def(read_text(text), &arena, &tensors, &signature);
    ck_assert_msg(status != NULL, "accepted: %s", text);
    ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    ck_assert_msg(strstr(status_message(status), part) != NULL, "'%s' lacks '%s'", status_message(status), part);
}

START_TEST(known_ops_as_messages) {
    Str line;
    size_t at = 0;
    while (known_op_next(&at, &line)) {
        Arena memory = {0};
        AUTO(tensor_list) TensorList held = {0};
        AUTO(text) Text bytes = {0}, printed = {0};
        Signature signature, again;
        OpDef def, *decoded;
        ok(signature_parse(line, &memory, &held, &signature));
        ok(signature_to_op_def(&signature, &memory, &def));
        ok(PROTO_ENCODE(OpDef, &def, &bytes));
        ok(PROTO_DECODE(OpDef, &memory, text_str(&bytes), &decoded));
        ok(signature_from_op_def(decoded, &memory, &held, &again));
        memset(bytes.p, '?', bytes.n);  // nothing may view the message
        signature_print(&printed, &again);
        ck_assert_msg(str_equal(text_str(&printed), line), "%.*s\n%s", STR_ARGS(line), printed.p);
        for (int i = 0; i < signature.n_attrs; i++) {
            ck_assert(attr_equal(&signature.attrs[i].fallback, &again.attrs[i].fallback));
            ck_assert_int_eq(signature.attrs[i].fallback.kind, again.attrs[i].fallback.kind);
        }
        arena_clear(&memory);
    }
}
END_TEST

START_TEST(messages_of_functions) {
    reads_as("name: 'f' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'x' type: DT_FLOAT } is_stateful: true "
             "control_output: 'c' description: 'no word of it' summary: 'nor of this'",
             "f(x: float) -> x: float; stateful; control_output c");
    reads_as("name: 'f' input_arg { name: 'x' type: DT_FLOAT_REF } input_arg { name: 'y' type_attr: 'T' is_ref: true } "
             "attr { name: 'T' type: 'type' }",
             "f(x: ref float, y: ref T); T: type");
    reads_as("name: 'f' attr { name: 'T' type: 'list(type)' default_value { list {} } has_minimum: true }",
             "f(); T: list(type) >= 0 = []");
}
END_TEST

START_TEST(messages_that_make_no_sense) {
    refused("input_arg { name: 'x' type: DT_FLOAT }", "name");
    refused("name: 'f' input_arg { name: 'x' }", "input 'x': no type");
    refused("name: 'f' input_arg { name: 'x' type: 999 }", "no data type");
    refused("name: 'f' output_arg { name: 'x' type_attr: 'T' }", "output 'x': no attribute 'T'");
    refused("name: 'f' input_arg { name: 'x' type_attr: 'T' } attr { name: 'T' type: 'int' }", "'T' is no type");
    refused("name: 'f' input_arg { name: 'x' type_attr: 'T' type: DT_INT32 } attr { name: 'T' type: 'type' }",
            "more than one type");
    refused("name: 'f' input_arg { name: 'x' type_list_attr: 'T' number_attr: 'N' } attr { name: 'T' type: 'list(type)' } "
            "attr { name: 'N' type: 'int' }",
            "a number and a list");
    refused("name: 'f' input_arg { name: 'x' type: DT_INT32 } input_arg { name: 'x' type: DT_INT32 }", "'x'");
    refused("name: 'f' attr { name: 'T' type: 'type' } attr { name: 'T' type: 'type' }",
            "two attributes are named 'T'");
    refused("name: 'f' attr { name: 'T' type: 'sort' }", "attribute 'T'");
    refused("name: 'f' attr { name: 'T' type: 'list()' }", "attribute 'T'");
    refused("name: 'f' attr { name: 'N' type: 'int' default_value { f: 1 } }", "of kind float, expected int");
    refused("name: 'f' attr { name: 'N' type: 'int' has_minimum: true minimum: 2 default_value { i: 1 } }",
            "at least minimum 2");
    refused("name: 'f' attr { name: 'T' type: 'type' allowed_values { list { type: DT_HALF } } default_value { type: DT_INT8 } }",
            "not in the list of allowed values");
    refused("name: 'f' attr { name: 'T' type: 'type' allowed_values { list { i: 1 } } }", "allowed values");
    refused("name: 'f' attr { name: 'T' type: 'list(int)' allowed_values { list { i: 1 } } default_value { list { i: 2 } } }",
            "only types and strings");
}
END_TEST

START_TEST(many_arguments) {
    enum { N = 30000 };
    OpDef def = {.name = STR("big")};
    def.attr.p = ARENA_ARRAY(&arena, OpDef_AttrDef, N);
    def.input_arg.p = ARENA_ARRAY(&arena, OpDef_ArgDef, N);
    def.attr.n = def.input_arg.n = N;
    for (int i = 0; i < N; i++) {
        def.attr.p[i].name = str_format(&arena, "T%05d", i);
        def.attr.p[i].type = STR("type");
    }
    for (int i = 0; i < N; i++) {
        def.input_arg.p[i].name = str_format(&arena, "x%05d", i);
        def.input_arg.p[i].type_attr = def.attr.p[N - 1 - i].name;
    }
    Signature signature;
    clock_t start = clock();
    ok(signature_from_op_def(&def, &arena, &tensors, &signature));
    ck_assert_int_lt(clock() - start, CLOCKS_PER_SEC);  // of our own; more where each name is looked for among all
    ck_assert_int_eq(signature.inputs[0].type_attr, N - 1);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("op_def");
    TCase *cases = tcase_create("op_def");
    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, known_ops_as_messages);
    tcase_add_test(cases, messages_of_functions);
    tcase_add_test(cases, messages_that_make_no_sense);
    tcase_add_test(cases, many_arguments);
    return run_suite(suite);
}
