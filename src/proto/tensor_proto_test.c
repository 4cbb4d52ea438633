// TensorProto test — every type there and back, the forms that TensorFlow writes, and what must be refused.
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "base/suite_test.h"
#include "proto/tensor_proto.h"
#include "proto/text.h"

static Arena arena;

static void set_up(void) {
    arena = (Arena){0};
}
static void tear_down(void) {
    arena_clear(&arena);
}

static TensorProto *proto_of(const char *text) {
    TensorProto *proto = NULL;
    Status *status = PROTO_PARSE(TensorProto, &arena, str_of(text), &proto);
    ck_assert_msg(!status, "%s", status_message(status));
    return proto;
}

static Tensor read(const char *text) {
    Tensor tensor = {0};
    size_t budget = 1000;
    Status *status = tensor_from_proto(proto_of(text), &budget, &tensor);
    ck_assert_msg(!status, "%s: %s", text, status_message(status));
    return tensor;
}

static void refused(const char *text, Code code, const char *message) {
    Tensor tensor = {0};
    size_t budget = 1000;
    AUTO(status) Status *status = tensor_from_proto(proto_of(text), &budget, &tensor);
    ck_assert_msg(status_code(status) == code, "%s: %s", text, code_name(status_code(status)));
    ck_assert_str_eq(status_message(status), message);
    ck_assert_ptr_null(tensor.buffer);
}

// The tensor of `text` has these bytes.
static void bytes_are(const char *text, const void *bytes, size_t n) {
    AUTO(tensor) Tensor tensor = read(text);
    ck_assert_msg(tensor_bytes(&tensor) == n, "%s: %zu bytes", text, tensor_bytes(&tensor));
    ck_assert_msg(memcmp(tensor.data, bytes, n) == 0, "%s", text);
}

// Encoded on the wire and read again, with nothing of a budget to draw on.
static void comes_back(const Tensor *tensor) {
    TensorProto *proto, *again;
    AUTO(text) Text wire = {0};
    ck_assert_ptr_null(tensor_to_proto(&arena, tensor, &proto));
    ck_assert_ptr_null(PROTO_ENCODE(TensorProto, proto, &wire));
    ck_assert_ptr_null(PROTO_DECODE(TensorProto, &arena, text_str(&wire), &again));
    AUTO(tensor) Tensor same = {0};
    size_t budget = SPLAT_BUDGET;
    Status *status = tensor_from_proto(again, &budget, &same);
    ck_assert_msg(!status, "%s%s: %s", dtype_name(tensor->dtype), shape_text(&tensor->shape), status_message(status));
    ck_assert_int_eq(same.dtype, tensor->dtype);
    ck_assert(shape_equal(&same.shape, &tensor->shape));
    if (tensor->dtype != DT_string) {
        ck_assert_mem_eq(same.data, tensor->data, tensor_bytes(tensor));
        return;
    }
    for (int64_t i = 0; i < tensor_count(tensor); i++)
        ck_assert(str_equal(tstring_str((TString *)same.data + i), tstring_str((TString *)tensor->data + i)));
}

// Random elements; the last `equal` ones are equal.
static void fill(const Tensor *tensor, int64_t equal) {
    size_t size = dtype_size(tensor->dtype);
    int64_t count = tensor_count(tensor);
    for (int64_t i = 0; i < count; i++) {
        char *at = (char *)tensor->data + (size_t)i * size;
        if (i > count - equal) {
            memcpy(at, at - size, size);
            continue;
        }
        for (size_t k = 0; k < size; k++)
            at[k] = (char)(tensor->dtype == DT_bool ? rand() & 1 : rand() >> 8);
    }
}

static void fill_strings(const Tensor *tensor, int64_t equal) {
    TString *at = tensor->data;
    int64_t count = tensor_count(tensor);
    char letters[64];
    memset(letters, 'x', sizeof letters);
    for (int64_t i = 0; i < count; i++) {
        Str text = i > count - equal ? tstring_str(&at[i - 1]) : (Str){letters, (size_t)rand() % 64};
        ck_assert(tstring_assign(&at[i], text));
    }
}

START_TEST(every_type_comes_back) {
    Shape shapes[] = {SCALAR_SHAPE, SHAPE(1), SHAPE(7), SHAPE(3, 5), SHAPE(100), SHAPE(2, 0, 3), SHAPE(3000)};
    srand(7);
    for (int dtype = 1; dtype < DTYPES; dtype++) {
        if (dtype_kind((DType)dtype) == KIND_OBJECT)
            continue;
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            int64_t count = shape_count(&shapes[s]);
            int64_t equal[] = {1, count / 2, count - 1, count};
            for (int e = 0; e < 4; e++) {
                AUTO(tensor) Tensor tensor = {0};
                ck_assert_ptr_null(tensor_new((DType)dtype, shapes[s], &tensor));
                if (dtype == DT_string)
                    fill_strings(&tensor, equal[e]);
                else
                    fill(&tensor, equal[e]);
                comes_back(&tensor);
            }
        }
    }
}
END_TEST

#define WRITTEN(dtype_, shape_, ...)                                                             \
    __extension__({                                                                              \
        Tensor tensor_ = {.data = (__VA_ARGS__), .dtype = dtype_, .shape = shape_};              \
        TensorProto *proto_;                                                                     \
        Status *status_ = tensor_to_proto(&arena, &tensor_, &proto_);                            \
        ck_assert_msg(!status_, "%s", status_message(status_));                                  \
        Text text_ = {0};                                                                        \
        ck_assert_ptr_null(PROTO_PRINT(TensorProto, proto_, &text_));                            \
        const char *copy_ = arena_copy(&arena, text_.p, text_.n);                                \
        text_clear(&text_);                                                                      \
        copy_;                                                                                   \
    })

START_TEST(the_shorter_form_is_written) {
    ck_assert_str_eq(WRITTEN(DT_float, SCALAR_SHAPE, (float[]){0}),
                     "dtype: DT_FLOAT\ntensor_shape {\n}\nfloat_val: 0\n");
    ck_assert_str_eq(WRITTEN(DT_float, SHAPE(4), (float[]){1, 2, 2, 2}),
                     "dtype: DT_FLOAT\ntensor_shape {\n  dim {\n    size: 4\n  }\n}\nfloat_val: 1\nfloat_val: 2\n");
    ck_assert_str_eq(WRITTEN(DT_float, SHAPE(2), (float[]){1, -1}),
                     "dtype: DT_FLOAT\ntensor_shape {\n  dim {\n    size: 2\n  }\n}\n"
                     "tensor_content: \"\\000\\000\\200?\\000\\000\\200\\277\"\n");
    // -0.0 and 0.0 differ.
    ck_assert_str_eq(WRITTEN(DT_float, SHAPE(3), (float[]){0, -0.0f, -0.0f}),
                     "dtype: DT_FLOAT\ntensor_shape {\n  dim {\n    size: 3\n  }\n}\nfloat_val: 0\nfloat_val: -0\n");
    ck_assert_str_eq(WRITTEN(DT_int32, SHAPE(2), (int32_t[]){3, -1}),
                     "dtype: DT_INT32\ntensor_shape {\n  dim {\n    size: 2\n  }\n}\n"
                     "tensor_content: \"\\003\\000\\000\\000\\377\\377\\377\\377\"\n");
    ck_assert_str_eq(WRITTEN(DT_int32, SHAPE(2), (int32_t[]){3, 4}),
                     "dtype: DT_INT32\ntensor_shape {\n  dim {\n    size: 2\n  }\n}\nint_val: 3\nint_val: 4\n");
    ck_assert_str_eq(WRITTEN(DT_int8, SCALAR_SHAPE, (int8_t[]){-3}),
                     "dtype: DT_INT8\ntensor_shape {\n}\nint_val: -3\n");
    ck_assert_str_eq(WRITTEN(DT_uint16, SCALAR_SHAPE, (uint16_t[]){65535}),
                     "dtype: DT_UINT16\ntensor_shape {\n}\nint_val: 65535\n");
    ck_assert_str_eq(WRITTEN(DT_bfloat16, SCALAR_SHAPE, (uint16_t[]){0xbf80}),
                     "dtype: DT_BFLOAT16\ntensor_shape {\n}\nhalf_val: 49024\n");
    ck_assert_str_eq(WRITTEN(DT_complex64, SCALAR_SHAPE, (float[]){1, 2}),
                     "dtype: DT_COMPLEX64\ntensor_shape {\n}\nscomplex_val: 1\nscomplex_val: 2\n");
    ck_assert_str_eq(WRITTEN(DT_float8_e5m2, SCALAR_SHAPE, (char[]){'A'}),
                     "dtype: DT_FLOAT8_E5M2\ntensor_shape {\n}\nfloat8_val: \"A\"\n");
    ck_assert_str_eq(WRITTEN(DT_bool, SHAPE(0), (bool[]){0}),
                     "dtype: DT_BOOL\ntensor_shape {\n  dim {\n  }\n}\n");
}
END_TEST

#define SHAPE_3 "tensor_shape { dim { size: 3 } } "

START_TEST(values_are_read_from_their_list) {
    bytes_are("dtype: DT_FLOAT " SHAPE_3 "float_val: [1, 2, 3]", (float[]){1, 2, 3}, 12);
    bytes_are("dtype: DT_FLOAT " SHAPE_3 "float_val: [1, 2]", (float[]){1, 2, 2}, 12);
    bytes_are("dtype: DT_FLOAT " SHAPE_3, (float[]){0, 0, 0}, 12);
    bytes_are("dtype: DT_FLOAT " SHAPE_3 "float_val: [1, 2, 3, 4]", (float[]){1, 2, 3}, 12);  // as TensorFlow does
    bytes_are("dtype: DT_FLOAT " SHAPE_3 "double_val: 7", (float[]){0, 0, 0}, 12);
    bytes_are("dtype: DT_FLOAT float_val: 5", (float[]){5}, 4);
    bytes_are("dtype: DT_INT32 tensor_shape { dim { size: 0 } }", "", 0);
    bytes_are("dtype: DT_INT8 " SHAPE_3 "int_val: [-1, 300]", (int8_t[]){-1, 44, 44}, 3);
    bytes_are("dtype: DT_UINT16 " SHAPE_3 "int_val: [-1, 65536, 5]", (uint16_t[]){65535, 0, 5}, 6);
    bytes_are("dtype: DT_HALF " SHAPE_3 "half_val: [15360, 80896]", (uint16_t[]){15360, 15360, 15360}, 6);
    bytes_are("dtype: DT_BFLOAT16 " SHAPE_3 "half_val: 16256", (uint16_t[]){16256, 16256, 16256}, 6);
    bytes_are("dtype: DT_COMPLEX64 " SHAPE_3 "scomplex_val: [1, 2, 3, 4]", (float[]){1, 2, 3, 4, 3, 4}, 24);
    bytes_are("dtype: DT_COMPLEX128 dcomplex_val: [1, 2]", (double[]){1, 2}, 16);
    bytes_are("dtype: DT_BOOL " SHAPE_3 "bool_val: [true, false]", (bool[]){1, 0, 0}, 3);
    bytes_are("dtype: DT_UINT64 uint64_val: 18446744073709551615", (uint64_t[]){UINT64_MAX}, 8);
    bytes_are("dtype: DT_UINT32 uint32_val: 4294967295", (uint32_t[]){UINT32_MAX}, 4);
    bytes_are("dtype: DT_QUINT8 " SHAPE_3 "int_val: [255, 1]", (uint8_t[]){255, 1, 1}, 3);
    bytes_are("dtype: DT_INT4 " SHAPE_3 "int_val: [-8, 7]", (int8_t[]){-8, 7, 7}, 3);
    bytes_are("dtype: DT_FLOAT8_E4M3FN " SHAPE_3 "float8_val: 'ab'", "abb", 3);
    bytes_are("dtype: DT_INT16 " SHAPE_3 "tensor_content: '\\001\\000\\002\\000\\377\\377'", (int16_t[]){1, 2, -1}, 6);
    bytes_are("dtype: DT_BOOL " SHAPE_3 "tensor_content: '\\000\\001\\377'", (bool[]){0, 1, 1}, 3);
}
END_TEST

static void strings_are(const char *text, const char *const *expected, int64_t n) {
    AUTO(tensor) Tensor tensor = read(text);
    ck_assert_int_eq(tensor_count(&tensor), n);
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(str_is(tstring_str((TString *)tensor.data + i), expected[i]), "%s", text);
}

START_TEST(strings_are_read) {
    const char *long_one = "a string that is too long to lie inside";
    strings_are("dtype: DT_STRING " SHAPE_3 "string_val: ['a', '', 'c']", (const char *[]){"a", "", "c"}, 3);
    strings_are("dtype: DT_STRING " SHAPE_3 "string_val: 'a string that is too long to lie inside'",
                (const char *[]){long_one, long_one, long_one}, 3);
    strings_are("dtype: DT_STRING " SHAPE_3, (const char *[]){"", "", ""}, 3);
    strings_are("dtype: DT_STRING " SHAPE_3 "tensor_content: '\\001\\000\\002abc'", (const char *[]){"a", "", "bc"}, 3);
    refused("dtype: DT_STRING " SHAPE_3 "tensor_content: '\\001\\000\\002ab'", INVALID_ARGUMENT,
            "3 strings take 3 bytes of a tensor's content, it has 2");
    refused("dtype: DT_STRING " SHAPE_3 "tensor_content: '\\001\\000\\001abc'", INVALID_ARGUMENT,
            "3 strings take 2 bytes of a tensor's content, it has 3");
    refused("dtype: DT_STRING " SHAPE_3 "tensor_content: '\\001\\000'", INVALID_ARGUMENT,
            "the length of string 2 in a tensor's content is malformed");
    refused("dtype: DT_STRING " SHAPE_3 "tensor_content: '\\377\\377\\377\\377\\377\\377\\377\\377\\377\\001ab'",
            INVALID_ARGUMENT, "the length of string 0 in a tensor's content is malformed");
}
END_TEST

START_TEST(what_does_not_fit_is_refused) {
    refused("", INVALID_ARGUMENT, "0 is not the type of a tensor");
    refused("dtype: DT_FLOAT_REF", INVALID_ARGUMENT, "101 is not the type of a tensor");
    refused("dtype: 77", INVALID_ARGUMENT, "77 is not the type of a tensor");
    refused("dtype: -1", INVALID_ARGUMENT, "-1 is not the type of a tensor");
    refused("dtype: DT_FLOAT " SHAPE_3 "tensor_content: 'abcd'", INVALID_ARGUMENT,
            "a tensor of type float and shape [3] takes 12 bytes, its content has 4");
    refused("dtype: DT_FLOAT tensor_shape { dim {} } tensor_content: 'abcd'", INVALID_ARGUMENT,
            "a tensor of type float and shape [0] takes 0 bytes, its content has 4");
    refused("dtype: DT_FLOAT tensor_shape { unknown_rank: true }", INVALID_ARGUMENT,
            "the shape <unknown> of a tensor is not fully known");
    refused("dtype: DT_FLOAT tensor_shape { dim { size: -1 } }", INVALID_ARGUMENT,
            "the shape [?] of a tensor is not fully known");
    refused("dtype: DT_COMPLEX64 scomplex_val: 1", INVALID_ARGUMENT, "complex values come in pairs, got 1 numbers");
    refused("dtype: DT_RESOURCE", UNIMPLEMENTED, "a resource tensor of shape [] can't be read from a message");
    AUTO(tensor) Tensor empty = read("dtype: DT_VARIANT tensor_shape { dim { size: 0 } }");
    TensorProto *proto;
    ck_assert_ptr_null(tensor_to_proto(&arena, &empty, &proto));
    Object *none = NULL;
    Tensor variant = {.data = &none, .dtype = DT_variant};
    AUTO(status) Status *status = tensor_to_proto(&arena, &variant, &proto);
    ck_assert_int_eq(status_code(status), UNIMPLEMENTED);
}
END_TEST

static Code splat(const char *text, size_t *budget) {
    AUTO(tensor) Tensor tensor = {0};
    AUTO(status) Status *status = tensor_from_proto(proto_of(text), budget, &tensor);
    return status_code(status);
}

START_TEST(one_value_for_many_has_a_budget) {
    const char *thousand = "dtype: DT_FLOAT tensor_shape { dim { size: 1000 } } float_val: 1";
    size_t budget = 4000 - 16 * 4;
    ck_assert_int_eq(splat(thousand, &budget), CODE_OK);
    ck_assert_uint_eq(budget, 0);
    ck_assert_int_eq(splat(thousand, &budget), RESOURCE_EXHAUSTED);
    budget = 4000 - 16 * 4 - 1;
    ck_assert_int_eq(splat(thousand, &budget), RESOURCE_EXHAUSTED);
    ck_assert_uint_eq(budget, 4000 - 16 * 4 - 1);
    ck_assert_int_eq(splat("dtype: DT_FLOAT tensor_shape { dim { size: 16 } } float_val: 1", &(size_t){0}), CODE_OK);
    budget = SPLAT_BUDGET;
    ck_assert_int_eq(splat("dtype: DT_FLOAT tensor_shape { dim { size: 4611686018427387904 } }", &budget),
                     RESOURCE_EXHAUSTED);
    ck_assert_int_eq(splat("dtype: DT_INT8 tensor_shape { dim { size: 4611686018427387904 } }", &budget),
                     RESOURCE_EXHAUSTED);
    const char *too_many = "dtype: DT_INT8 tensor_shape { dim { size: 4611686018427387904 } dim { size: 4 } }";
    ck_assert_int_eq(splat(too_many, &budget), INVALID_ARGUMENT);
    ck_assert_int_eq(splat("dtype: DT_STRING tensor_shape { dim { size: 1000000000 } }", &budget), RESOURCE_EXHAUSTED);
    ck_assert_int_eq(splat("dtype: DT_STRING tensor_shape { dim { size: 1000000000 } } tensor_content: 'abc'", &budget),
                     RESOURCE_EXHAUSTED);
    budget = 24 * 100;
    const char *strings = "dtype: DT_STRING tensor_shape { dim { size: 100 } } string_val: '0123456789012345678901234'";
    ck_assert_int_eq(splat(strings, &budget), RESOURCE_EXHAUSTED);  // the heap is counted, too
    budget = SPLAT_BUDGET;
    ck_assert_int_eq(splat(strings, &budget), CODE_OK);
    ck_assert_uint_eq(SPLAT_BUDGET - budget, 24 * 100 + 99 * 26 - 16 * 27);
}
END_TEST

static void shape_stays(Shape shape) {
    TensorShapeProto *proto;
    Shape again;
    ck_assert_ptr_null(shape_to_proto(&arena, &shape, &proto));
    ck_assert_ptr_null(shape_from_proto(proto, &again));
    ck_assert(shape_equal(&shape, &again));
}

START_TEST(shapes_come_back) {
    shape_stays(SCALAR_SHAPE);
    shape_stays(UNKNOWN_SHAPE);
    shape_stays(SHAPE(2, UNKNOWN_DIM, 0));
    shape_stays(SHAPE(1, 2, 3, 4, 5, 6, 7, 8));
    Shape shape;
    ck_assert_ptr_null(shape_from_proto(NULL, &shape));
    ck_assert_int_eq(shape.rank, 0);
    TensorShapeProto_Dim dims[MAX_RANK + 1] = {{.size = 1}};
    TensorShapeProto nine = {.dim = {dims, MAX_RANK + 1}}, odd = {.dim = {dims, 1}, .unknown_rank = true};
    AUTO(status) Status *status = shape_from_proto(&nine, &shape);
    ck_assert_str_eq(status_message(status), "a shape has at most 8 dimensions, got 9");
    AUTO(status) Status *both = shape_from_proto(&odd, &shape);
    ck_assert_int_eq(status_code(both), INVALID_ARGUMENT);
    dims[0].size = -2;
    odd.unknown_rank = false;
    AUTO(status) Status *negative = shape_from_proto(&odd, &shape);
    ck_assert_int_eq(status_code(negative), INVALID_ARGUMENT);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("tensor proto");
    TCase *test = tcase_create("tensor proto");
    tcase_add_checked_fixture(test, set_up, tear_down);
    tcase_set_timeout(test, 60);
    tcase_add_test(test, every_type_comes_back);
    tcase_add_test(test, the_shorter_form_is_written);
    tcase_add_test(test, values_are_read_from_their_list);
    tcase_add_test(test, strings_are_read);
    tcase_add_test(test, what_does_not_fit_is_refused);
    tcase_add_test(test, one_value_for_many_has_a_budget);
    tcase_add_test(test, shapes_come_back);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
