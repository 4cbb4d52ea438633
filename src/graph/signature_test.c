// Signature test — the grammar feature by feature, its errors, and every known op there and back.
#include <check.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/number.h"
#include "base/suite_test.h"
#include "graph/known_ops.h"
#include "graph/notation.h"
#include "graph/signature.h"

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

static Signature parsed(const char *text) {
    Signature signature = {0};
    Status *status = signature_parse(str_of(text), &arena, &tensors, &signature);
    ck_assert_msg(!status, "%s: %s", text, status_message(status));
    return signature;
}

// The printed form is the one given, or the same text.
static void prints_as(const char *text, const char *expected) {
    Signature signature = parsed(text);
    AUTO(text) Text printed = {0};
    signature_print(&printed, &signature);
    ck_assert_str_eq(printed.p, expected);
}

static void same(const char *text) {
    prints_as(text, text);
}

static void fails(const char *text, const char *part) {
    Signature untouched = {.n_attrs = 77};
    size_t before = tensors.n;
    AUTO(status) Status *status = signature_parse(str_of(text), &arena, &tensors, &untouched);
    ck_assert_msg(status != NULL, "parsed: %s", text);
    ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    ck_assert_msg(strstr(status_message(status), part) != NULL, "%s: '%s' lacks '%s'", text, status_message(status),
                  part);
    ck_assert_int_eq(untouched.n_attrs, 77);
    ck_assert_uint_eq(tensors.n, before);
}

START_TEST(arguments) {
    same("NoOp()");
    same("Abs(x: T) -> y: T; T: {bfloat16, half, float}");
    same("Switch(data: T, pred: bool) -> output_false: T, output_true: T; T: type");
    same("ConcatV2(values: N * T, axis: Tidx) -> output: T; N: int >= 2; T: type; Tidx: {int32, int64} = int32");
    same("StringJoin(inputs: N * string) -> output: string; N: int >= 0");
    same("IdentityN(input: T) -> output: T; T: list(type) >= 1");
    same("RefMerge(inputs: ref N * T) -> output: ref T, value_index: int32; T: type; N: int >= 1");
    same("Odd(a: ref, b: ref ref) -> c: \"float\", d: float; ref: type; float: type");
    prints_as(" Abs ( x :T )\t->y:T ;T : { half,float }\n", "Abs(x: T) -> y: T; T: {half, float}");
    prints_as("X(a:ref  T);T:type", "X(a: ref T); T: type");

    Signature concat = parsed("ConcatV2(values: N * T, axis: Tidx) -> output: T; N: int >= 2; T: type; Tidx: type");
    ck_assert(str_is(concat.name, "ConcatV2"));
    ck_assert_int_eq(concat.n_inputs, 2);
    ck_assert_int_eq(concat.n_outputs, 1);
    ck_assert_int_eq(concat.n_attrs, 3);
    ck_assert_int_eq(concat.inputs[0].number_attr, 0);
    ck_assert_int_eq(concat.inputs[0].type_attr, 1);
    ck_assert_int_eq(concat.inputs[0].list_attr, -1);
    ck_assert_int_eq(concat.inputs[0].dtype, DT_INVALID);
    ck_assert_int_eq(concat.inputs[1].number_attr, -1);
    ck_assert_int_eq(signature_attr(&concat, STR("Tidx")), 2);
    ck_assert_int_eq(signature_attr(&concat, STR("values")), -1);
    Signature odd = parsed("Odd(a: ref, b: ref ref) -> c: \"float\", d: float; ref: type; float: type");
    ck_assert(!odd.inputs[0].is_ref && odd.inputs[1].is_ref);
    ck_assert_int_eq(odd.outputs[0].type_attr, 1);
    ck_assert_int_eq(odd.outputs[1].dtype, DT_float);
    Signature list = parsed("IdentityN(input: T) -> output: T; T: list(type) >= 1");
    ck_assert_int_eq(list.inputs[0].list_attr, 0);
    ck_assert_int_eq(list.inputs[0].type_attr, -1);
}
END_TEST

START_TEST(attributes) {
    same("A(); a: string; b: int; c: float; d: bool; e: type; f: shape; g: tensor; h: func");
    same("A(); a: list(string); b: list(int) >= 4; c: list(float); d: list(bool); e: list(type) >= 0; f: list(shape); "
         "g: list(tensor); h: list(func)");
    same("A(); a: {\"SAME\", \"VALID\"} = \"SAME\"; b: list({\"x\"}) = [\"x\", \"x\"]; c: list({int32, half}) >= 1 = [half]");
    same("A(); n: int >= -2 = -1; m: int >= -9223372036854775808 = 9223372036854775807");
    same("A(); list: list(int); type: type; int: int; stateful: bool");
    AttrSpec spec = parsed("A(); n: int >= 0; s: list({\"a\"}) >= 1 = [\"a\"]").attrs[1];
    ck_assert_int_eq(spec.kind, ATTR_STRING);
    ck_assert(spec.is_list && spec.has_minimum && spec.has_default);
    ck_assert_int_eq(spec.minimum, 1);
    ck_assert_int_eq(spec.allowed.n, 1);
    ck_assert_int_eq(spec.fallback.n, 1);
    AttrSpec none = parsed("A(); n: int >= 0").attrs[0];
    ck_assert(none.has_minimum && none.minimum == 0 && !none.has_default && !none.is_list && !none.allowed.is_list);
    ck_assert_int_eq(none.fallback.kind, ATTR_NONE);
}
END_TEST

START_TEST(sets_of_types) {
    prints_as("A(); T: floats", "A(); T: {bfloat16, half, float, double}");
    prints_as("A(); T: floats_half_first = float", "A(); T: {half, bfloat16, float, double} = float");
    prints_as("A(); T: { floats,complexes, string }",
              "A(); T: {bfloat16, half, float, double, complex64, complex128, string}");
    prints_as("A(); T: list({int64, quantized}) >= 1",
              "A(); T: list({int64, qint8, quint8, qint32, qint16, quint16}) >= 1");
    prints_as("A(); T: list(complexes)", "A(); T: list({complex64, complex128})");
    prints_as("A(floats: int32); T: {unsigned_integers, signed_integers}",
              "A(floats: int32); T: {uint8, uint16, uint32, uint64, int8, int16, int32, int64}");
    ck_assert_int_eq(parsed("A(); T: reals").attrs[0].allowed.n, 12);
    ck_assert_int_eq(parsed("A(); T: numbers").attrs[0].allowed.n, 19);
    fails("A(); T: float_s", "column 9: expected the kind of an attribute");
    fails("A(); T: {floats string}", "column 17: expected , or } in a list");
    fails("A(); T: {floats, integer}", "column 18: expected a type");
    fails("A(); T: floats = int32", "not in the list of allowed values");
    fails("A(a: floats)", "expected a type or an attribute of kind type");
}
END_TEST

START_TEST(defaults) {
    same("A(); a: string = \"\"; b: string = \"q\\\"b\\\\n\\nt\\tz\\x00\\xff~;)\"");
    same("A(); a: float = 0.1; b: float = -inf; c: float = inf; d: float = nan; e: float = 1e-05; f: float = 16777216; "
         "g: float = 3.4028235e+38; h: float = 1.4013e-45; i: float = -0");
    same("A(); a: bool = true; b: bool = false; c: type = float; d: type = int4; e: int = -3");
    same("A(); a: shape = ?; b: shape = []; c: shape = [2, ?, 0]; d: list(shape) = [[], [1], ?, [?, ?]]");
    same("A(); a: tensor = uint8[4] {255, 0, 0, 255}; b: tensor = float[] {0.1}; c: tensor = string[2, 1] {\"a,}\", \"\"}; "
         "d: tensor = complex64[1] {1 -2}; e: tensor = int8[2] {-128, 127}; f: tensor = bool[2] {true, false}; "
         "g: tensor = double[1] {0.1}; h: tensor = half[1] {0.5}; i: tensor = uint64[1] {18446744073709551615}; "
         "j: tensor = int64[1] {-9223372036854775808}; k: tensor = float[0, 3] {}; l: tensor = bfloat16[1] {-inf}; "
         "m: tensor = complex128[2] {0.1 0, 1 nan}; n: tensor = float8_e5m2[1] {255}; o: tensor = int4[1] {-8}");
    same("A(); a: list(tensor) = [int32[] {1}, string[] {\"x\"}]; b: func = f; c: list(func) = [f, \"g h\"]");
    same("A(); a: list(int) = []; b: list(int) = [1, -1]; c: list(float) = [0.75, 1.33]; d: list(bool) = [true, false]; "
         "e: list(type) = [float, variant]; f: list(string) = [\"a\", \"\\\"\"]");
    Signature signature = parsed("A(); a: string = \"a\\x00b\"; t: tensor = uint8[4] {255, 0, 0, 7}; s: shape = ?");
    ck_assert(str_equal(signature.attrs[0].fallback.s, (Str){"a\0b", 3}));
    const Tensor *tensor = signature.attrs[1].fallback.tensor;
    ck_assert_int_eq(tensor->dtype, DT_uint8);
    ck_assert_int_eq(((const uint8_t *)tensor->data)[3], 7);
    ck_assert(vec_last(&tensors) == tensor->buffer);
    ck_assert(buffer_is_unique(tensor->buffer));
    ck_assert_int_eq(signature.attrs[2].fallback.shape->rank, UNKNOWN_RANK);
}
END_TEST

START_TEST(flags_and_names) {
    same("A(); stateful; commutative; aggregate; allows_uninitialized; distributed; deprecated(8, \"use \\\"B\\\"\"); "
         "control_output a; control_output \"b c\"");
    same("Namespace>Op()");
    same("\"__inference/f-1\"(\"a b\": T) -> \"0\": T; T: type");
    Signature signature = parsed("A() -> x: int32; stateful; deprecated(8, \"use B\"); control_output c");
    ck_assert(signature.stateful && !signature.commutative && !signature.distributed);
    ck_assert_int_eq(signature.deprecated_version, 8);
    ck_assert(str_is(signature.deprecated_text, "use B"));
    ck_assert_int_eq(signature.n_control_outputs, 1);
    ck_assert(str_is(signature.control_outputs[0], "c"));
}
END_TEST

START_TEST(errors_of_form) {
    fails("", "column 1: expected the name of an op, found the end");
    fails("A", "expected (");
    fails("A(", "expected a name, found the end");
    fails("A(a)", "column 4: expected : behind the name of an argument, found ')'");
    fails("A(a: float b: float)", "column 12: expected , or )");
    fails("A(a: float,)", "expected a name");
    fails("A() ->", "expected a name");
    fails("A() x", "expected ; or the end, found 'x'");
    fails("A();", "expected a name");
    fails("A(); T", "expected an attribute with its kind, or a flag, found 'T'");
    fails("A(); T: wrong", "column 9: expected the kind of an attribute, found 'wrong'");
    fails("A(); T: list(x", "expected the kind of an attribute");
    fails("A(); T: list(type", "expected ) behind the kind of a list");
    fails("A(); T: list type", "expected ( behind list");
    fails("A(); T: {}", "at least one allowed value");
    fails("A(); T: {float", "expected , or }");
    fails("A(); T: {float, \"x\"}", "expected a type, found '\"x\"}'");
    fails("A(); T: {wrong}", "expected a type");
    fails("A(); stateful; T: type", "no attribute behind the flags");
    fails("A(); \"T\"", "expected : behind the name of an attribute");
    fails("A(); deprecated(0, \"x\")", "expected a version > 0");
    fails("A(); deprecated(8)", "expected , behind the version");
    fails("A(a: \"\" * T); T: type", "a name can't be empty");
    fails("\"\"()", "a name can't be empty");
    fails("A(); control_output", "expected a name");
    fails("A(); n: int = 9223372036854775808", "expected an integer of 64 bits");
    fails("A(); n: int = x", "column 15: expected an integer");
    fails("A(); n: float = 1x", "expected a number");
    fails("A(); n: bool = 1", "expected true or false");
    fails("A(); n: shape = [1", "expected , or ] in a shape");
    fails("A(); n: shape = [-1]", "expected a dimension >= 0");
    fails("A(); n: shape = [1, 1, 1, 1, 1, 1, 1, 1, 1]", "at most 8");
    fails("A(); n: shape = [4611686018427387904, 4611686018427387904]", "more elements than");
    fails("A(); n: string = \"abc", "expected a closing quote");
    fails("A(); n: string = \"a\\", "expected a closing quote");
    fails("A(); n: string = \"a\\q\"", "expected one of");
    fails("A(); n: string = \"a\\x0\"", "hexadecimal");
    fails("A(); n: list(int) = 1", "expected a list in brackets");
    fails("A(); n: list(int) = [1 2]", "expected , or ]");
    fails("A(); n: list(int) = [1,]", "expected an integer");
    fails("A(); n: string >= 1", "only an int and a list have a minimum");
}
END_TEST

START_TEST(errors_of_meaning) {
    fails("A(a: T)", "column 6: expected a type or an attribute of kind type, found 'T)'");
    fails("A(a: T); T: int", "expected a type or an attribute of kind type");
    fails("A(a: N * T); T: type", "expected an attribute of kind int before *");
    fails("A(a: N * T); N: float; T: type", "expected an attribute of kind int before *");
    fails("A(a: N * T); N: list(int); T: type", "expected an attribute of kind int before *");
    fails("A(a: N * T); N: int; T: list(type)", "expected an attribute of kind type behind *");
    fails("A(a: float_ref)", "expected a type or an attribute");
    fails("A(a: float, a: int32)", "column 13: the name a stands twice");
    fails("A(a: float) -> a: float", "the name a stands twice");
    fails("A(a: float); a: int", "the name a stands twice");
    fails("A(); a: int; a: float", "column 14: the name a stands twice");
    fails("A(); n: int >= 2 = 1", "column 20: Value for attr 'n' of 1 must be at least minimum 2");
    fails("A(); n: list(int) >= 2 = [1]", "Length for attr 'n' of 1 must be at least minimum 2");
    fails("A(); n: {float, half} = int32",
          "Value for attr 'n' of int32 is not in the list of allowed values: [float, half]");
    fails("A(); n: {\"a\"} = \"b\"", "not in the list of allowed values");
    fails("A(); n: list({\"a\"}) = [\"a\", \"b\"]", "not in the list of allowed values");
    fails("A(); n: list({half}) = [half, float]", "not in the list of allowed values");
    fails("A(); t: tensor = float[2] {1}", "expected , before element 1 of 2");
    fails("A(); t: tensor = float[1] {1, 2}", "expected } behind 1 elements");
    fails("A(); t: tensor = float[1000000000] {1}", "expected 1000000000 elements");
    fails("A(); t: tensor = float[?] {1}", "the shape of a tensor to be known");
    fails("A(); t: tensor = resource[1] {1}", "can't be written");
    fails("A(); t: tensor = uint8[1] {256}", "expected an integer of type uint8");
    fails("A(); t: tensor = uint8[1] {-1}", "expected an integer of type uint8");
    fails("A(); t: tensor = int8[1] {-129}", "expected an integer of type int8");
    fails("A(); t: list(tensor) = [int32[] {1}, int32[] {x}]", "expected an integer of type int32");
    fails("Op(); n: int = x", "signature of Op: ");
}
END_TEST

START_TEST(many_names) {
    AUTO(text) Text text = {0};
    text_add(&text, STR("Big("));
    for (int i = 0; i < 20000; i++)
        text_format(&text, "%sa%d: T%d", i ? ", " : "", i, i);
    text_char(&text, ')');
    for (int i = 0; i < 20000; i++)
        text_format(&text, "; T%d: type", i);
    clock_t start = clock();
    Signature signature = parsed(text.p);
    ck_assert_int_lt(clock() - start, 2 * CLOCKS_PER_SEC);  // of our own; more where each name is looked for among all
    ck_assert_int_eq(signature.inputs[19999].type_attr, 19999);
    text_add(&text, STR("; T7: type"));
    fails(text.p, "the name T7 stands twice");
    text_clear(&text);
    text_add(&text, STR("Big(a0: float"));
    for (int i = 1; i < 40000; i++)
        text_format(&text, ", a%d: float", i);
    text_char(&text, ')');
    fails(text.p, "more than 32767 names");
}
END_TEST

START_TEST(values_against_their_attribute) {
    Signature s = parsed("A(); n: int >= 1; t: {float, half}; l: list(int) >= 2; e: list({\"a\"}) = []");
    AUTO(status) Status *kind = signature_check_value(&s.attrs[0], &ATTR_OF_FLOAT(1));
    ck_assert_str_eq(status_message(kind), "Value for attr 'n' is of kind float, expected int");
    ck_assert(!signature_check_value(&s.attrs[0], &ATTR_OF_INT(1)));
    ck_assert(!signature_check_value(&s.attrs[1], &ATTR_OF_TYPE(DT_half)));
    AttrValue empty = {.is_list = true};  // of no kind, as a proto gives it
    AUTO(status) Status *length = signature_check_value(&s.attrs[2], &empty);
    ck_assert_str_eq(status_message(length), "Length for attr 'l' of 0 must be at least minimum 2");
    ck_assert(!signature_check_value(&s.attrs[3], &empty));
    AUTO(status) Status *single = signature_check_value(&s.attrs[0], &empty);
    ck_assert_int_eq(status_code(single), INVALID_ARGUMENT);
    AUTO(status) Status *type = signature_check_value(&s.attrs[1], &ATTR_OF_TYPE(DT_int32));
    ck_assert_str_eq(status_message(type),
                     "Value for attr 't' of int32 is not in the list of allowed values: [float, half]");
}
END_TEST

START_TEST(equality_and_copies) {
    Signature s =
        parsed("A(); a: string = \"x\"; b: float = nan; c: shape = [1, ?]; d: tensor = string[2] {\"a\", \"b\"}; "
                         "e: list(tensor) = [int32[] {1}]; f: list(string) = [\"a\", \"b\"]; g: func = f; h: list(func) = [f]; "
                         "i: list(shape) = [?, []]; j: list(int) = [1, 2]; k: list(type) = [half]; l: list(float) = [0.5]; "
                         "m: list(bool) = [true]; n: type = int32; o: bool = true; p: int = 4; q: list(int) = []");
    for (int i = 0; i < s.n_attrs; i++) {
        AttrValue copy;
        Status *status = attr_copy(&arena, &tensors, &s.attrs[i].fallback, &copy);
        ck_assert(!status);
        ck_assert(attr_equal(&copy, &s.attrs[i].fallback));
        for (int k = 0; k < s.n_attrs; k++)
            ck_assert(attr_equal(&copy, &s.attrs[k].fallback) == (i == k));
    }
    ck_assert(s.attrs[3].fallback.tensor->buffer != NULL);
    AttrValue other, empty = {.is_list = true};
    ck_assert(attr_equal(&s.attrs[16].fallback, &empty));
    ck_assert(!attr_parse(STR("string[2] {\"a\", \"c\"}"), ATTR_TENSOR, false, &arena, &tensors, &other));
    ck_assert(!attr_equal(&other, &s.attrs[3].fallback));
    ck_assert(!attr_parse(STR("[1, 3]"), ATTR_INT, true, &arena, &tensors, &other));
    ck_assert(!attr_equal(&other, &s.attrs[9].fallback));
    AttrValue zero = ATTR_OF_FLOAT(0.0f), minus = ATTR_OF_FLOAT(-0.0f);
    ck_assert(!attr_equal(&zero, &minus));
}
END_TEST

START_TEST(functions_nest_to_a_bound) {
    AttrEntry entries[60];
    FuncRef funcs[60];
    for (int i = 0; i < 60; i++) {
        entries[i] = (AttrEntry){STR("g"), {.kind = ATTR_FUNC, .func = &funcs[i + 1 < 60 ? i + 1 : i]}};
        funcs[i] = (FuncRef){STR("f"), &entries[i], i < 59};
    }
    AttrValue shallow = {.kind = ATTR_FUNC, .func = &funcs[30]}, deep = {.kind = ATTR_FUNC, .func = &funcs[0]}, copy;
    ck_assert(!attr_copy(&arena, &tensors, &shallow, &copy));
    ck_assert(attr_equal(&shallow, &copy));
    AUTO(status) Status *status = attr_copy(&arena, &tensors, &deep, &copy);
    ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    AUTO(text) Text text = {0};
    attr_print(&text, &deep);
    ck_assert_str_eq(text.p, "f {g = f {g = f {g = f {g = f {g = f {g = f {g = f {g = f {...}}}}}}}}}");
}
END_TEST

START_TEST(printed_short) {
    AttrValue value;
    AUTO(text) Text long_list = {0}, text = {0};
    text_add(&long_list, STR("[0"));
    for (int i = 1; i < 100; i++)
        text_format(&long_list, ", %d", i);
    text_char(&long_list, ']');
    ck_assert(!attr_parse(text_str(&long_list), ATTR_INT, true, &arena, &tensors, &value));
    attr_print(&text, &value);
    ck_assert_str_eq(text.p, "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, ...]");
    text_clear(&text);
    attr_print_whole(&text, &value);
    ck_assert_str_eq(text.p, long_list.p);
    ck_assert_str_eq(attr_kind_name(ATTR_TYPE, false), "type");
    ck_assert_str_eq(attr_kind_name(ATTR_INT, true), "list(int)");
    text_clear(&text);
    attr_print(&text, &(AttrValue){.kind = ATTR_PLACEHOLDER, .s = STR("T")});
    ck_assert_str_eq(text.p, "$T");
    AUTO(status) Status *more = attr_parse(STR("1 2"), ATTR_INT, false, &arena, &tensors, &value);
    ck_assert(strstr(status_message(more), "column 3: expected nothing more"));
}
END_TEST

START_TEST(numbers_in_any_locale) {
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        setlocale(LC_ALL, "C.UTF-8");
    same("A(); a: float = 0.1; b: tensor = double[1] {1e-300}");
    double d = 0;
    float f = 0;
    ck_assert(str_to_double(STR("-2.5e3"), &d) && d == -2500);
    ck_assert(str_to_float(STR("inf"), &f) && isinf(f));
    ck_assert(!str_to_double(STR(""), &d) && !str_to_double(STR(" 1"), &d) && !str_to_double(STR("1 "), &d));
    ck_assert(!str_to_double(STR("1,5"), &d) && !str_to_double((Str){"1\0", 2}, &d));
    char digits[200];
    memset(digits, '1', sizeof digits);
    ck_assert(str_to_double((Str){digits, sizeof digits}, &d) && d > 1e199);
    for (uint32_t bits = 1; bits < 0x7f800000; bits += 9999991) {
        float value, again;
        memcpy(&value, &bits, 4);
        AUTO(text) Text text = {0};
        text_float(&text, value);
        ck_assert(str_to_float(text_str(&text), &again) && again == value);
    }
}
END_TEST

START_TEST(known_ops_there_and_back) {
    Str line, before = {0};
    size_t at = 0, n = 0;
    while (known_op_next(&at, &line)) {
        Arena memory = {0};
        AUTO(tensor_list) TensorList held = {0};
        AUTO(text) Text printed = {0};
        Signature signature;
        Status *status = signature_parse(line, &memory, &held, &signature);
        ck_assert_msg(!status, "%.*s: %s", STR_ARGS(line), status_message(status));
        signature_print(&printed, &signature);
        ck_assert_msg(str_equal(text_str(&printed), line), "%.*s\n%s", STR_ARGS(line), printed.p);
        Str name = known_op_name(line), found;
        ck_assert(str_equal(name, signature.name));
        ck_assert_msg(str_compare(before, name) < 0, "%.*s is not in its place", STR_ARGS(name));
        ck_assert(known_op_find(name, &found) && found.p == line.p && found.n == line.n);
        arena_clear(&memory);
        before = name;
        n++;
    }
    ck_assert_uint_gt(n, 100);
    ck_assert(!known_op_find(STR(""), &line));
    ck_assert(!known_op_find(STR("A"), &line));
    ck_assert(!known_op_find(STR("Zzz"), &line));
    ck_assert(!known_op_find(STR("NoSuchOp"), &line));
    ck_assert(!known_op_find(STR("//"), &line));
    AUTO(text) Text longer = {0};
    text_add(&longer, before);
    text_char(&longer, 'x');
    ck_assert(!known_op_find(text_str(&longer), &line));
    ck_assert(!known_op_find((Str){before.p, before.n - 1}, &line));
}
END_TEST

// Every prefix of a line, and every line with one byte changed, is parsed or refused, and nothing else.
START_TEST(broken_lines) {
    const char *whole = "A(a: ref N * T, b: \"float\") -> c: L; N: int >= 1 = 2; T: {float, half} = half; float: type; "
                        "L: list(type) >= 0 = []; s: string = \"x\\x41\"; t: tensor = string[1] {\"a\"}; f: func = g; "
                        "u: list(shape) = [?, [1, ?]]; stateful; deprecated(3, \"b\"); control_output z";
    size_t n = strlen(whole);
    const char bytes[] = "\0 \"\\(){}[]:;,?->=*ax09\xff";
    for (size_t i = 0; i < n; i++) {
        for (size_t b = 0; b <= sizeof bytes; b++) {
            size_t length = b == sizeof bytes ? i : n;
            char *copy = malloc(length + 1);  // exact, for the address sanitizer
            memcpy(copy, whole, length);
            if (b < sizeof bytes)
                copy[i] = bytes[b];
            char *exact = realloc(copy, length ? length : 1);
            Arena memory = {0};
            AUTO(tensor_list) TensorList held = {0};
            Signature signature;
            Status *status = signature_parse((Str){exact, length}, &memory, &held, &signature);
            if (status)
                ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
            status_free(status);
            arena_clear(&memory);
            free(exact);
        }
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("signature");
    TCase *cases = tcase_create("signature");
    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, arguments);
    tcase_add_test(cases, attributes);
    tcase_add_test(cases, sets_of_types);
    tcase_add_test(cases, defaults);
    tcase_add_test(cases, flags_and_names);
    tcase_add_test(cases, errors_of_form);
    tcase_add_test(cases, errors_of_meaning);
    tcase_add_test(cases, many_names);
    tcase_add_test(cases, values_against_their_attribute);
    tcase_add_test(cases, equality_and_copies);
    tcase_add_test(cases, functions_nest_to_a_bound);
    tcase_add_test(cases, printed_short);
    tcase_add_test(cases, numbers_in_any_locale);
    tcase_add_test(cases, known_ops_there_and_back);
    tcase_add_test(cases, broken_lines);
    return run_suite(suite);
}
