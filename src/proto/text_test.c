// Text form test — what is printed, what is read, and where errors are said to be.
#include <check.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>

#include "base/suite_test.h"
#include "proto/messages.h"
#include "proto/text.h"

static Arena arena;

static void set_up(void) {
    arena = (Arena){0};
}
static void tear_down(void) {
    arena_clear(&arena);
}

#define PARSED(Type, text)                                                      \
    __extension__({                                                             \
        Type *message_ = NULL;                                                  \
        Status *status_ = PROTO_PARSE(Type, &arena, str_of(text), &message_);   \
        ck_assert_msg(!status_, "%s", status_message(status_));                 \
        message_;                                                               \
    })

// Reads `text` and prints it: that gives `expected`.
static void prints_as(const MessageType *type, const char *text, const char *expected) {
    void *message;
    Status *status = proto_parse(&arena, type, str_of(text), &message);
    ck_assert_msg(!status, "%s: %s", text, status_message(status));
    AUTO(text) Text printed = {0};
    ck_assert_ptr_null(proto_print(type, message, &printed));
    ck_assert_str_eq(text_str(&printed).p, expected);
}

static void stays(const MessageType *type, const char *text) {
    prints_as(type, text, text);
}

static void fails(const MessageType *type, const char *text, const char *message) {
    void *out;
    AUTO(status) Status *status = proto_parse(&arena, type, str_of(text), &out);
    ck_assert_msg(status_code(status) == INVALID_ARGUMENT, "%s: %s", text, status_message(status));
    ck_assert_str_eq(status_message(status), message);
}

static void string_is(const char *written, const char *bytes, size_t n) {
    AUTO(text) Text text = {0};
    text_format(&text, "name: %s", written);
    NodeDef *node = PARSED(NodeDef, text.p);
    ck_assert_msg(node->name.n == n && memcmp(node->name.p, bytes, n) == 0, "%s", written);
}

START_TEST(graphs_are_printed_as_ever) {
    stays(&message_GraphDef,
          "node {\n"
          "  name: \"x\"\n"
          "  op: \"Const\"\n"
          "  input: \"^a\"\n"
          "  input: \"b:1\"\n"
          "  attr {\n"
          "    key: \"dtype\"\n"
          "    value {\n"
          "      type: DT_FLOAT\n"
          "    }\n"
          "  }\n"
          "  attr {\n"
          "    key: \"value\"\n"
          "    value {\n"
          "      tensor {\n"
          "        dtype: DT_FLOAT\n"
          "        tensor_shape {\n"
          "          dim {\n"
          "            size: -1\n"
          "          }\n"
          "        }\n"
          "        float_val: 0.1\n"
          "        float_val: -inf\n"
          "        float_val: nan\n"
          "      }\n"
          "    }\n"
          "  }\n"
          "}\n"
          "versions {\n"
          "  producer: 27\n"
          "}\n");
}
END_TEST

START_TEST(scalars_are_printed) {
    stays(&message_AttrValueProto, "b: false\n");
    stays(&message_AttrValueProto, "i: -9223372036854775808\n");
    stays(&message_AttrValueProto, "f: 1.4013e-45\n");
    stays(&message_AttrValueProto, "f: 3.4028235e+38\n");
    stays(&message_AttrValueProto, "f: -0\n");
    stays(&message_AttrValueProto, "type: DT_COMPLEX64_REF\n");
    prints_as(&message_AttrValueProto, "type: 1234", "type: 1234\n");
    prints_as(&message_AttrValueProto, "type: 0x1", "type: DT_FLOAT\n");
    stays(&message_AttrValueProto, "s: \"a\\n\\r\\t\\\"\\'\\\\\\000\\177\\303\\244z\"\n");
    stays(&message_AttrValueProto, "list {\n}\n");
    stays(&message_HistogramProto, "min: 1e-300\nmax: 0.1\nbucket: 1.7976931348623157e+308\n");
    stays(&message_TensorProto, "uint32_val: 4294967295\nuint64_val: 18446744073709551615\n");
    stays(&message_DeviceAttributesProto, "incarnation: 18446744073709551615\n");
    stays(&message_OptimizerOptionsProto, "opt_level: L0\n");
    stays(&message_ConfigProto, "device_count {\n  key: \"\"\n  value: 0\n}\n");
    stays(&message_JobDef, "tasks {\n  key: 0\n  value: \"a:1\"\n}\n");
    prints_as(&message_GraphDef, "", "");
}
END_TEST

START_TEST(every_spelling_is_read) {
    const char *same = "node {\n  name: \"n\"\n  input: \"a\"\n  input: \"b\"\n}\nnode {\n}\nversion: 10\n";
    prints_as(&message_GraphDef, "node{name:\"n\"input:\"a\"input:\"b\"}node{}version:10", same);
    prints_as(&message_GraphDef, "node: <name: 'n', input: ['a', 'b'];>, node <>; version: 0xA", same);
    prints_as(&message_GraphDef,
              " # one\nnode : [ # two\n{name:'n' input:[\"a\",'b'] input: [],}, {}] version\n:\n10 # end", same);
}
END_TEST

START_TEST(strings_have_many_forms) {
    string_is("\"plain\"", "plain", 5);
    string_is("'it\"s'", "it\"s", 4);
    string_is("\"\"", "", 0);
    string_is("\"a\" 'b' # and\n \"\\x41\" \"\"", "abA", 3);
    string_is("'' \"x\"", "x", 1);
    string_is("\"\\a\\b\\f\\n\\r\\t\\v\\\\\\'\\\"\\?\"", "\a\b\f\n\r\t\v\\'\"?", 11);
    string_is("\"\\0\\18\\1234\\377\"", "\0\0018\1234\377", 6);
    string_is("\"\\x4\\x41B\\xff\"", "\x04" "AB\xff", 4);
    string_is("\"\\u00e4\\u20ac\\U0001F600\"", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9);
    string_is("\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 4);
    string_is("\"\xc3\xa4\"", "\xc3\xa4", 2);
    fails(&message_NodeDef, "name: \"a\nb\"", "1:7: this string has no end on its line");
    fails(&message_NodeDef, "name: 'a", "1:7: this string has no end on its line");
    fails(&message_NodeDef, "name: 'a\\", "1:9: a string ends in an escape");
    fails(&message_NodeDef, "name: '\\q'", "1:8: unknown escape in a string");
    fails(&message_NodeDef, "name: '\\777'", "1:8: an octal escape is at most \\377");
    fails(&message_NodeDef, "name: '\\xg'", "1:8: \\x needs a hexadecimal digit");
    fails(&message_NodeDef, "name: '\\ud83d'", "1:8: not a Unicode character");
    fails(&message_NodeDef, "name: '\\U00110000'", "1:8: not a Unicode character");
    fails(&message_NodeDef, "name: 'a' 'b", "1:11: this string has no end on its line");
    fails(&message_NodeDef, "name: a", "1:7: expected a string");
}
END_TEST

START_TEST(texts_of_many_lines) {
    ApiDefsProto *apis = PARSED(ApiDefsProto,
                                "op {\n"
                                "  graph_op_name: \"Add\"\n"
                                "  visibility: HIDDEN\n"
                                "  summary: <<END\n"
                                "One \"line\".\n"
                                "END\n"
                                "  description: <<WORD_2 \n"
                                "\n"
                                "  first \\n\n"
                                "last\n"
                                "WORD_2\n"
                                "  description_prefix: <<E\nE\n"
                                "  in_arg { name: \"x\" rename_to: \"y\" }\n"
                                "}\n");
    const ApiDef *api = &apis->op.p[0];
    ck_assert(str_is(api->summary, "One \"line\"."));
    ck_assert(str_is(api->description, "\n  first \\n\nlast"));
    ck_assert_uint_eq(api->description_prefix.n, 0);
    ck_assert(str_is(api->in_arg.p[0].rename_to, "y"));
    ck_assert_int_eq(api->visibility, ApiDef_Visibility_HIDDEN);
    fails(&message_ApiDef, "summary: <<END\ntext\nEN", "1:10: no line ends this text with END");
    fails(&message_ApiDef, "summary: << \nx\n", "1:10: << needs a word and the end of the line behind it");
    fails(&message_ApiDef, "summary: <<END x\nEND\n", "1:10: << needs a word and the end of the line behind it");
}
END_TEST

START_TEST(numbers_have_bounds) {
    VersionDef *versions =
        PARSED(VersionDef, "producer: -2147483648 min_consumer: 0x7fffffff bad_consumers: [- 1, 017]");
    ck_assert_int_eq(versions->producer, INT32_MIN);
    ck_assert_int_eq(versions->min_consumer, INT32_MAX);
    ck_assert_int_eq(versions->bad_consumers.p[0], -1);
    ck_assert_int_eq(versions->bad_consumers.p[1], 15);
    fails(&message_VersionDef, "producer: 2147483648", "1:11: this integer is out of range");
    fails(&message_VersionDef, "producer: -2147483649", "1:11: this integer is out of range");
    fails(&message_AttrValueProto, "i: 9223372036854775808", "1:4: this integer is out of range");
    fails(&message_AttrValueProto, "i: 18446744073709551616", "1:4: expected an integer");
    fails(&message_TensorProto, "uint32_val: -1", "1:13: this integer is out of range");
    fails(&message_VersionDef, "producer: 1.5", "1:12: expected the name of a field of VersionDef");
    fails(&message_VersionDef, "producer: 08", "1:11: expected an integer");
    fails(&message_VersionDef, "producer: 1x", "1:11: expected an integer");
    TensorProto *tensor = PARSED(TensorProto, "float_val: [1, .5, 2f, 1e3F, -inf, INFINITY, -NaN, 0x10, 1e40, 16777217]"
                                              "double_val: [5e-324, -0.0, 1.e2]");
    float expected[] = {1, 0.5f, 2, 1000, -HUGE_VALF, HUGE_VALF, NAN, 16, HUGE_VALF, 16777216};
    for (int i = 0; i < 10; i++)
        ck_assert_msg(tensor->float_val.p[i] == expected[i] || (isnan(expected[i]) && isnan(tensor->float_val.p[i])),
                      "%d: %g", i, (double)tensor->float_val.p[i]);
    ck_assert(tensor->double_val.p[0] == 5e-324 && signbit(tensor->double_val.p[1]));
    ck_assert(tensor->double_val.p[2] == 100);
    fails(&message_AttrValueProto, "f: x", "1:4: expected a number");
    fails(&message_AttrValueProto, "f: 1.2.3", "1:4: expected a number");
    fails(&message_AttrValueProto, "f: 0x1p3", "1:4: expected a number");
    fails(&message_AttrValueProto, "f: ", "1:4: expected a number");
    fails(&message_AttrValueProto, "b: 2", "1:4: expected true or false");
    fails(&message_AttrValueProto, "type: DT_NONE", "1:7: DataType has no value \"DT_NONE\"");
}
END_TEST

START_TEST(errors_have_a_place) {
    fails(&message_GraphDef, "node {\n  nam: 1\n}", "2:3: NodeDef has no field \"nam\"");
    fails(&message_GraphDef, "node {\n  name: \"a\"\n", "1:6: this NodeDef has no } at its end");
    fails(&message_GraphDef, "node <}", "1:7: expected the name of a field of NodeDef");
    fails(&message_GraphDef, "}", "1:1: expected the name of a field of GraphDef");
    fails(&message_GraphDef, "node", "1:5: expected { and the fields of a NodeDef");
    fails(&message_GraphDef, "version 3", "1:9: expected : behind version");
    fails(&message_GraphDef, "version: 3 version: 4", "1:12: GraphDef.version is given twice");
    fails(&message_GraphDef, "versions {} versions {}", "1:13: GraphDef.versions is given twice");
    fails(&message_AttrValueProto, "i: 1 f: 2", "1:6: AttrValue.f stands beside another value of the same choice");
    fails(&message_NodeDef, "input: ['a' 'b', 'c'", "1:21: expected , or ] in a list");
    fails(&message_NodeDef, "name: ['a']", "1:7: expected a string");
    fails(&message_NodeDef, "[ext.name]: 1", "1:1: expected the name of a field of NodeDef");
    fails(&message_NodeDef, "name: 'a' \xff", "1:11: expected the name of a field of NodeDef");
}
END_TEST

START_TEST(maps_keep_the_last_of_equal_keys) {
    NodeDef *node = PARSED(NodeDef, "attr {key:'a' value {i:1}} attr {key:'b'} attr {key:'a' value {i:2}}");
    ck_assert_uint_eq(node->attr.n, 2);
    ck_assert_int_eq((int)node->attr.p[0].value->i, 2);
    ck_assert_ptr_nonnull(node->attr.p[1].value);
}
END_TEST

START_TEST(long_lists_grow) {
    AUTO(text) Text text = {0};
    for (int i = 0; i < 1000; i++)
        text_format(&text, "node { name: 'n%d' input: 'i' } ", i);
    GraphDef *graph = PARSED(GraphDef, text.p);
    ck_assert_uint_eq(graph->node.n, 1000);
    for (int i = 0; i < 1000; i++) {
        char name[8];
        snprintf(name, sizeof name, "n%d", i);
        ck_assert(str_is(graph->node.p[i].name, name));
        ck_assert_uint_eq(graph->node.p[i].input.n, 1);
    }
}
END_TEST

START_TEST(depth_and_memory_have_an_end) {
    // Three messages a level: 33 levels are the most.
    for (int levels = 33; levels <= 34; levels++) {
        AUTO(text) Text text = {0}, printed = {0};
        for (int i = 0; i < levels; i++)
            text_add(&text, STR("func{attr{key:''value{"));
        for (int i = 0; i < levels; i++)
            text_add(&text, STR("}}}"));
        AttrValueProto *value = NULL;
        AUTO(status) Status *status = PROTO_PARSE(AttrValueProto, &arena, text_str(&text), &value);
        ck_assert_int_eq(status_code(status), levels > 33 ? INVALID_ARGUMENT : CODE_OK);
        if (value)
            ck_assert_ptr_null(PROTO_PRINT(AttrValueProto, value, &printed));
    }
    AUTO(text) Text empty = {0};
    for (int i = 0; i < 100000; i++)
        text_add(&empty, STR("tensor{}"));
    AttrValue_ListValue *list;
    AUTO(status) Status *status = PROTO_PARSE(AttrValue_ListValue, &arena, text_str(&empty), &list);
    ck_assert_int_eq(status_code(status), RESOURCE_EXHAUSTED);
    ck_assert_uint_eq(arena.limit, 0);
}
END_TEST

START_TEST(unknown_fields_are_remarks) {
    NodeDef *node;
    Str bytes = {"\x0a\x01n\x4a\x02xy", 7};
    ck_assert_ptr_null(PROTO_DECODE(NodeDef, &arena, bytes, &node));
    AUTO(text) Text printed = {0};
    ck_assert_ptr_null(PROTO_PRINT(NodeDef, node, &printed));
    ck_assert_str_eq(printed.p, "name: \"n\"\n# 4 bytes of fields that are not known here\n");
    stays(&message_NodeDef, "name: \"n\"\n");
}
END_TEST

START_TEST(a_locale_changes_nothing) {
    setlocale(LC_ALL, "de_DE.UTF-8");  // has a comma; where it isn't installed this is a plain test
    stays(&message_AttrValueProto, "f: 0.5\n");
    setlocale(LC_ALL, "C");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("text form");
    TCase *test = tcase_create("text form");
    tcase_add_checked_fixture(test, set_up, tear_down);
    tcase_add_test(test, graphs_are_printed_as_ever);
    tcase_add_test(test, scalars_are_printed);
    tcase_add_test(test, every_spelling_is_read);
    tcase_add_test(test, strings_have_many_forms);
    tcase_add_test(test, texts_of_many_lines);
    tcase_add_test(test, numbers_have_bounds);
    tcase_add_test(test, errors_have_a_place);
    tcase_add_test(test, maps_keep_the_last_of_equal_keys);
    tcase_add_test(test, long_lists_grow);
    tcase_add_test(test, depth_and_memory_have_an_end);
    tcase_add_test(test, unknown_fields_are_remarks);
    tcase_add_test(test, a_locale_changes_nothing);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
