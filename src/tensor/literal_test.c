// Literal test — what is read, what is refused and where, and that every type prints so that it reads back.
#include <check.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>

#include "base/suite_test.h"
#include "tensor/float8.h"
#include "tensor/literal.h"

static const char *printed(const char *source, DType wanted, const LiteralStyle *style) {
    static char kept[4][4096];
    static int at;
    char *to = kept[at++ % 4];
    AUTO(tensor) Tensor tensor = {0};
    AUTO(status) Status *status = literal_parse(str_of(source), wanted, &tensor, NULL);
    if (status) {
        snprintf(to, sizeof kept[0], "! %s %s", code_name(status_code(status)), status_message(status));
        return to;
    }
    AUTO(text) Text text = {0};
    literal_print(&text, &tensor, style);
    snprintf(to, sizeof kept[0], "%s", text.p ? text.p : "");
    return to;
}

static void same(const char *source, const char *expected) {
    ck_assert_str_eq(printed(source, DT_INVALID, NULL), expected);
}

static void refused(const char *source, const char *words) {
    const char *got = printed(source, DT_INVALID, NULL);
    ck_assert_msg(!strncmp(got, "! INVALID_ARGUMENT", 18) && strstr(got, words), "%s gave %s", source, got);
}

START_TEST(reads_what_people_write) {
    same("3", "3");
    same("  [1,2 , 3]  ", "[1 2 3]");
    same("[[1 2 3] [4 5 6]]", "[[1 2 3] [4 5 6]]");
    same("[[1,2,3],\n [4,5,6]]", "[[1 2 3] [4 5 6]]");
    same("int32 [[1][-2]]", "int32 [[1] [-2]]");
    same("int32[1 2]", "int32 [1 2]");
    same("double 0.1", "double 0.1");
    same("[]", "[]");
    same("[[] []]", "zeros[2 0]");
    same("int64 []", "int64 []");
    same("[true false]", "[true false]");
    same("bool [1 0]", "[true false]");
    same("\"a\\tb\\x41\\\"\"", "\"a\\tbA\\\"\"");
    same("string [\"\" \"[1 2]\"]", "[\"\" \"[1 2]\"]");
    same("[1 2i -1.5-3i nan+infi]", "[1+0i 0+2i -1.5-3i nan+infi]");
    same("complex128 1e-5-2e+3j", "complex128 1e-05-2000i");
    same("[nan inf -inf -0]", "[nan inf -inf -0]");
    same("uint8 0xff", "uint8 255");
    same("float 3", "3");
}
END_TEST

START_TEST(fills) {
    same("zeros[2 3]", "[[0 0 0] [0 0 0]]");
    same("int32 zeros[2 0 3]", "int32 zeros[2 0 3]");
    same("zeros[0,3]", "zeros[0 3]");
    same("zeros[]", "0");
    same("ones[4]", "[1 1 1 1]");
    same("bool ones[2]", "[true true]");
    same("string zeros[2]", "[\"\" \"\"]");
    same("int64 iota[2 3]", "int64 [[0 1 2] [3 4 5]]");
    same("complex64 iota[2]", "[0+0i 1+0i]");
    same("fill[2 2] 7", "[[7 7] [7 7]]");
    same("fill[3] \"a long string that lies on the heap\"",
         "[\"a long string that lies on the heap\" \"a long string that lies on the heap\" "
         "\"a long string that lies on the heap\"]");
    same("fill[2] true", "[true true]");
    refused("int8 iota[200]", "128 is not a value of int8");
    refused("string ones[1]", "not a value of string");
    refused("zeros[-1]", "expected an extent");
    refused("zeros 3", "expected the extents");
    refused("fill[2]", "expected a value");
}
END_TEST

START_TEST(refuses_the_rest_with_its_column) {
    refused("", "expected a value, got the end");
    refused("[1 2", "column 5: the list does not end");
    refused("[[1 2] [3]]", "column 8: a ragged list: an element of shape [1] after one of [2]");
    refused("[1 [2]]", "column 4: a ragged list");
    refused("[[1] 2]", "column 6: a ragged list");
    refused("[1 two]", "column 4: 'two' is not a value of float");
    refused("uint8 [1 300]", "column 10: '300' is not a value of uint8");
    refused("uint8 -1", "'-1' is not a value of uint8");
    refused("int32 1.5", "'1.5' is not a value of int32");
    refused("uint64 18446744073709551616", "not a value of uint64");
    refused("int4 8", "not a value of int4");
    refused("[1 \"a\"]", "'1' is not a value of string");
    refused("[2 true]", "'2' is not a value of bool");
    refused("\"abc", "the string does not end");
    refused("\"abc\\", "the string does not end");
    refused("\"a\\q\"", "unknown escape \\q");
    refused("\"a\\x4\"", "two hexadecimal digits");
    refused("1 2", "column 3: text after the value");
    refused("[1]]", "text after");
    refused("1+2+3i", "not a value of complex64");
    refused("[[[[[[[[[1]]]]]]]]]", "more than 8 dimensions");
    refused("resource 1", "a resource has no literal");
    refused("float_ref 1", "no literal");
    refused("[zeros[2]]", "a ragged list");
    ck_assert_ptr_nonnull(strstr(printed("int32 1", DT_float, NULL), "expected float, got int32"));
    ck_assert_str_eq(printed("[1 2]", DT_half, NULL), "half [1 2]");
    ck_assert_str_eq(printed("half [1 2]", DT_half, NULL), "half [1 2]");
}
END_TEST

START_TEST(deep_nesting_ends_early) {
    char deep[20000];
    memset(deep, '[', sizeof deep);
    AUTO(tensor) Tensor tensor = {0};
    Status *status = literal_parse((Str){deep, sizeof deep}, DT_INVALID, &tensor, NULL);
    ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    status_free(status);
}
END_TEST

START_TEST(tells_how_much_it_read) {
    AUTO(tensor) Tensor tensor = {0};
    size_t consumed = 0;
    Status *status = literal_parse(STR(" [1 2]) = 3"), DT_INVALID, &tensor, &consumed);
    ck_assert_ptr_null(status);
    ck_assert_uint_eq(consumed, 6);
    tensor_clear(&tensor);
    status = literal_parse(STR("0.5, 3"), DT_INVALID, &tensor, &consumed);
    ck_assert_ptr_null(status);
    ck_assert_uint_eq(consumed, 3);
}
END_TEST

// Prints, reads, compares bytes.
static void round_trip(const Tensor *tensor) {
    AUTO(text) Text text = {0};
    AUTO(tensor) Tensor back = {0};
    literal_print(&text, tensor, NULL);
    Status *status = literal_parse(text_str(&text), DT_INVALID, &back, NULL);
    ck_assert_msg(!status, "%s: %s", text.p, status_message(status));
    ck_assert_int_eq(back.dtype, tensor->dtype);
    ck_assert(shape_equal(&back.shape, &tensor->shape));
    if (tensor->dtype == DT_string) {
        for (int64_t i = 0; i < tensor_count(tensor); i++)
            ck_assert(str_equal(tstring_str((TString *)tensor->data + i), tstring_str((TString *)back.data + i)));
    } else {
        ck_assert_msg(!memcmp(back.data, tensor->data, tensor_bytes(tensor)), "%s", text.p);
    }
}

static uint64_t random_bits(void) {
    static uint64_t state = 88172645463325252ull;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

// Random bytes, but for what has several patterns with one text: NaN, and a bool that is neither 0 nor 1.
static void fill_randomly(const Tensor *tensor) {
    size_t size = dtype_size(tensor->dtype);
    for (int64_t i = 0; i < tensor_count(tensor); i++) {
        char *at = (char *)tensor->data + (size_t)i * size;
        uint64_t bits[2] = {random_bits(), random_bits()};
        if (i % 4 == 0)
            bits[0] = bits[1] = 0;
        memcpy(at, bits, size);
        switch (tensor->dtype) {
        case DT_float: if (isnan(*(float *)at)) *(float *)at = 1e-45f; break;
        case DT_double: if (isnan(*(double *)at)) *(double *)at = 5e-324; break;
        case DT_complex64: for (int k = 0; k < 2; k++) if (isnan(((float *)at)[k])) ((float *)at)[k] = 0.1f; break;
        case DT_complex128: for (int k = 0; k < 2; k++) if (isnan(((double *)at)[k])) ((double *)at)[k] = 0.1; break;
        case DT_half: if (isnan(half_to_float(*(Half *)at))) *(Half *)at = half_from_float(0.1f); break;
        case DT_bfloat16: if (isnan(bfloat16_to_float(*(Bfloat16 *)at))) *(Bfloat16 *)at = (Bfloat16){1}; break;
        case DT_bool: *at &= 1; break;
        case DT_int4: *at = (char)((*at & 15) - 8); break;
        case DT_uint4: *at &= 15; break;
        case DT_int2: *at = (char)((*at & 3) - 2); break;
        case DT_uint2: *at &= 3; break;
        default:
            if (dtype_is_float8(tensor->dtype) && isnan(float8_to_float(tensor->dtype, *(uint8_t *)at)))
                *at = 1;
        }
    }
}

START_TEST(every_type_reads_back) {
    for (int d = 1; d < DTYPES; d++) {
        DType dtype = (DType)d;
        if (!dtype_is_plain(dtype))
            continue;
        Shape shapes[] = {SCALAR_SHAPE, SHAPE(0), SHAPE(2, 0, 3), SHAPE(0, 2), SHAPE(7), SHAPE(200, 10)};
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            AUTO(tensor) Tensor tensor = {0};
            Status *status = tensor_new(dtype, shapes[i], &tensor);
            ck_assert_ptr_null(status);
            fill_randomly(&tensor);
            round_trip(&tensor);
        }
    }
}
END_TEST

START_TEST(every_narrow_value_reads_back) {
    DType types[] = {DT_half, DT_bfloat16, DT_float8_e5m2, DT_float8_e4m3fn, DT_float8_e4m3fnuz,
                     DT_float8_e4m3b11fnuz, DT_float8_e5m2fnuz};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        AUTO(tensor) Tensor tensor = {0};
        size_t size = dtype_size(types[t]);
        Status *status = tensor_new(types[t], SHAPE(size == 1 ? 256 : 65536), &tensor);
        ck_assert_ptr_null(status);
        for (int64_t i = 0; i < tensor_count(&tensor); i++) {
            uint16_t bits = (uint16_t)i;
            bool nan = size == 1 ? isnan(float8_to_float(types[t], (uint8_t)i))
                     : types[t] == DT_half ? isnan(half_to_float((Half){bits}))
                                           : isnan(bfloat16_to_float((Bfloat16){bits}));
            if (nan)
                bits = 0;
            memcpy((char *)tensor.data + (size_t)i * size, &bits, size);
        }
        round_trip(&tensor);
    }
}
END_TEST

START_TEST(strings_read_back) {
    AUTO(tensor) Tensor tensor = {0};
    Status *status = tensor_new(DT_string, SHAPE(300), &tensor);
    ck_assert_ptr_null(status);
    for (int64_t i = 0; i < 300; i++) {
        char bytes[64];
        size_t n = (size_t)(random_bits() % sizeof bytes);
        for (size_t k = 0; k < n; k++)
            bytes[k] = (char)(random_bits() >> 20);
        ck_assert(tstring_assign((TString *)tensor.data + i, (Str){bytes, n}));
    }
    round_trip(&tensor);
}
END_TEST

START_TEST(fewest_digits) {
    same("0.1", "0.1");
    same("half [0.1 0.3333 65504 6e-08]", "half [0.1 0.3333 65504 6e-08]");
    same("bfloat16 [0.1 3.14 3.39e+38]", "bfloat16 [0.1 3.14 3.39e+38]");
    same("float8_e4m3fn [0.1 448 1e9]", "float8_e4m3fn [0.1 448 nan]");
    same("float8_e5m2 [57344 1e9 -1e9]", "float8_e5m2 [57344 inf -inf]");
    same("float8_e4m3fnuz [240 -0 500]", "float8_e4m3fnuz [240 0 nan]");
    same("[16777217 1e10 1e30]", "[16777216 1e+10 1e+30]");
    same("double [0.30000000000000004 1e300]", "double [0.30000000000000004 1e+300]");
    // 1 + 2^-11 lies between two halves and goes to the even one; a little more goes up.
    same("half [1.00048828125 1.000488281250000001]", "half [1 1]");
    same("half 1.00048828126", "half 1.001");
}
END_TEST

START_TEST(styles) {
    LiteralStyle edges = {.most = 10};
    ck_assert_str_eq(printed("iota[20]", DT_INVALID, &edges), "[0 1 2 ... 17 18 19]");
    ck_assert_str_eq(printed("iota[10]", DT_INVALID, &edges), "[0 1 2 3 4 5 6 7 8 9]");
    LiteralStyle one = {.most = 10, .edge = 1, .untyped = true};
    ck_assert_str_eq(printed("int32 iota[4 3]", DT_INVALID, &one), "[[0 ... 2] ... [9 ... 11]]");
    LiteralStyle lines = {.lines = true};
    ck_assert_str_eq(printed("iota[2 2 2]", DT_INVALID, &lines), "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]");
    LiteralStyle json = {.json = true};
    ck_assert_str_eq(printed("[[1 2] [3 nan]]", DT_INVALID, &json), "[[1, 2], [3, \"NaN\"]]");
    ck_assert_str_eq(printed("[-inf inf]", DT_INVALID, &json), "[\"-Infinity\", \"Infinity\"]");
    ck_assert_str_eq(printed("1-2i", DT_INVALID, &json), "[1, -2]");
    ck_assert_str_eq(printed("[\"a\\n\\x01\" \"\\xff\\xfe\\x00\" \"\\xc3\\xa9\"]", DT_INVALID, &json),
                     "[\"a\\n\\u0001\", {\"b64\": \"//4A\"}, \"\xc3\xa9\"]");
    ck_assert_str_eq(printed("\"\\xed\\xa0\\x80\\xc0\\x80\"", DT_INVALID, NULL), "\"\\xed\\xa0\\x80\\xc0\\x80\"");
}
END_TEST

START_TEST(the_locale_does_not_matter) {
    // Where the system has such a locale; elsewhere this is the plain case again.
    const char *names[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8"};
    for (size_t i = 0; i < 3; i++)
        if (setlocale(LC_ALL, names[i]))
            break;
    same("[0.5 1.25e-7]", "[0.5 1.25e-07]");
    setlocale(LC_ALL, "C");
}
END_TEST

START_TEST(float8_rounds_to_even) {
    ck_assert_uint_eq(float8_from_float(DT_float8_e4m3fn, 1.0625f), 0x38);  // halfway between 1 and 1.125
    ck_assert_uint_eq(float8_from_float(DT_float8_e4m3fn, 1.1875f), 0x3a);  // halfway between 1.125 and 1.25
    ck_assert_uint_eq(float8_from_float(DT_float8_e4m3fn, 0x1p-10f), 0);    // halfway below the smallest
    ck_assert_uint_eq(float8_from_float(DT_float8_e4m3fn, 0x1.8p-10f), 1);
    ck_assert_uint_eq(float8_from_float(DT_float8_e4m3fn, 464), 0x7e);      // halfway: the even one is 448
    ck_assert_uint_eq(float8_from_float(DT_float8_e4m3fn, 465), 0x7f);
    ck_assert_uint_eq(float8_from_float(DT_float8_e5m2, -INFINITY), 0xfc);
    ck_assert_uint_eq(float8_from_float(DT_float8_e5m2fnuz, -0.0f), 0);
    ck_assert_uint_eq(float8_from_float(DT_float8_e4m3b11fnuz, 1e30f), 0x80);
    ck_assert_uint_eq(float8_from_float(DT_float8_e4m3fn, 1e-40f), 0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("literal");
    TCase *cases = tcase_create("literal");
    tcase_set_timeout(cases, 60);
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, reads_what_people_write);
    tcase_add_test(cases, fills);
    tcase_add_test(cases, refuses_the_rest_with_its_column);
    tcase_add_test(cases, deep_nesting_ends_early);
    tcase_add_test(cases, tells_how_much_it_read);
    tcase_add_test(cases, every_type_reads_back);
    tcase_add_test(cases, every_narrow_value_reads_back);
    tcase_add_test(cases, strings_read_back);
    tcase_add_test(cases, fewest_digits);
    tcase_add_test(cases, styles);
    tcase_add_test(cases, the_locale_does_not_matter);
    tcase_add_test(cases, float8_rounds_to_even);
    return run_suite(suite);
}
