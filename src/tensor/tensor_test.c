// Tensor test — types, narrow floats, strings, buffers, objects: who owns what, and when it goes.
#include <check.h>
#include <math.h>

#include "base/suite_test.h"
#include "tensor/tensor.h"

static void ok(Status *status) {
    ck_assert_msg(!status, "%s", status_message(status));
}

static void fails(Status *status, Code code) {
    ck_assert_int_eq(status_code(status), code);
    status_free(status);
}

START_TEST(types_have_tensorflow_numbers) {
    ck_assert_int_eq(DT_float, 1);
    ck_assert_int_eq(DT_string, 7);
    ck_assert_int_eq(DT_half, 19);
    ck_assert_int_eq(DT_uint64, 23);
    for (int i = 1; i < DTYPES; i++) {
        DType dtype = (DType)i, ref = (DType)(i + DT_REF);
        ck_assert_int_eq(dtype_find(str_of(dtype_name(dtype))), dtype);
        ck_assert_int_eq(dtype_find(str_of(dtype_name(ref))), ref);
        ck_assert(dtype_is_ref(ref) && dtype_is_valid(ref) && dtype_base(ref) == dtype);
        ck_assert_uint_gt(dtype_size(dtype), 0);
    }
    int wrong[] = {0, -1, 33, 99, 100, 133, 1000, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert(!dtype_is_valid((DType)wrong[i]));
        ck_assert_uint_eq(dtype_size((DType)wrong[i]), 0);
        ck_assert_int_eq(dtype_kind((DType)wrong[i]), KIND_NONE);
        ck_assert_ptr_nonnull(dtype_name((DType)wrong[i]));
    }
    ck_assert_int_eq(dtype_find(STR("flo")), DT_INVALID);
    ck_assert(!dtype_is_plain(DT_string) && !dtype_is_plain(DT_variant) && dtype_is_plain(DT_bool));
}
END_TEST

// The value of the bits, by the definition.
static double half_by_definition(uint16_t bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 31 ? (fraction ? NAN : INFINITY)
                 : exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return bits & 0x8000 ? -value : value;
}

START_TEST(half_rounds_to_the_nearest_even) {
    for (int i = 0; i < 65536; i++) {
        uint16_t bits = (uint16_t)i;
        double value = half_by_definition(bits);
        float f = half_to_float((Half){bits});
        if (isnan(value)) {
            ck_assert(isnan(f) && isnan(half_to_float(half_from_float(f))));
            continue;
        }
        ck_assert((double)f == value && !signbit(f) == !signbit(value));
        ck_assert_uint_eq(half_from_float(f).bits, bits);
        // Halfway to the next away from zero goes to the even one; a hair less stays; a hair more goes on.
        if ((bits & 0x7fff) >= 0x7c00)
            continue;
        double next = (bits & 0x7fff) == 0x7bff ? copysign(65536, value) : half_by_definition((uint16_t)(bits + 1));
        float middle = (float)((value + next) / 2);
        float away = value < 0 || signbit(value) ? -INFINITY : INFINITY;
        ck_assert_uint_eq(half_from_float(middle).bits, bits & 1 ? bits + 1 : bits);
        ck_assert_uint_eq(half_from_float(nextafterf(middle, 0)).bits, bits);
        ck_assert_uint_eq(half_from_float(nextafterf(middle, away)).bits, bits + 1);
    }
}
END_TEST

START_TEST(bfloat16_rounds_to_the_nearest_even) {
    for (uint32_t i = 0; i < 65536; i++) {
        float f = bfloat16_to_float((Bfloat16){(uint16_t)i});
        if (isnan(f)) {
            ck_assert(isnan(bfloat16_to_float(bfloat16_from_float(f))));
            continue;
        }
        ck_assert_uint_eq(bfloat16_from_float(f).bits, i);
        if (isinf(f))
            continue;
        uint32_t offsets[] = {0x7fff, 0x8000, 0x8001}, expected[] = {i, i + (i & 1), i + 1};
        for (int k = 0; k < 3; k++) {
            uint32_t bits = (i << 16) + offsets[k];
            memcpy(&f, &bits, 4);
            ck_assert_uint_eq(bfloat16_from_float(f).bits, expected[k]);
        }
    }
}
END_TEST

START_TEST(strings_of_every_length) {
    char bytes[300];
    TString s = {0};
    ck_assert_uint_eq(tstring_str(&s).n, 0);
    for (size_t n = 0; n < sizeof bytes; n++) {
        memset(bytes, (int)n, sizeof bytes);
        ck_assert(tstring_assign(&s, (Str){bytes, n}));
        ck_assert(str_equal(tstring_str(&s), (Str){bytes, n}));
        ck_assert_int_eq(tstring_str(&s).p[n], 0);
        ck_assert_uint_eq(s.small.size_kind & 3, n <= 22 ? TSTRING_SMALL : TSTRING_LARGE);
    }
    // Of itself.
    ck_assert(tstring_assign(&s, (Str){tstring_str(&s).p + 1, 5}));
    ck_assert_uint_eq(tstring_str(&s).n, 5);
    tstring_clear(&s);
    ck_assert_uint_eq(s.words[0], 0);
    TString view = {.view = {(uint64_t)3 << 2 | TSTRING_VIEW, "abc"}};
    ck_assert(str_is(tstring_str(&view), "abc"));
    tstring_clear(&view);
    struct { TString s; char text[4]; } behind = {.text = "xyz"};
    behind.s.offset.size_kind = 3 << 2 | TSTRING_OFFSET;
    behind.s.offset.offset = sizeof(TString);
    ck_assert(str_is(tstring_str(&behind.s), "xyz"));
}
END_TEST

START_TEST(buffers_are_aligned_and_counted) {
    Tensor a = {0}, b;
    for (int64_t n = 0; n < 200; n += 13) {
        ok(tensor_new(DT_uint8, SHAPE(n), &a));
        ck_assert_uint_eq((uintptr_t)a.data % BUFFER_ALIGNMENT, 0);
        ck_assert_ptr_nonnull(a.data);
        memset(a.data, 1, tensor_bytes(&a));
        b = tensor_retain(&a);
        ck_assert(!buffer_is_unique(a.buffer));
        tensor_clear(&b);
        ck_assert(buffer_is_unique(a.buffer));
        tensor_clear(&a);
        ck_assert_ptr_null(a.buffer);
    }
    tensor_clear(&a);
    int64_t huge = (int64_t)1 << 60;
    fails(tensor_new(DT_double, SHAPE(huge, 8), &a), INVALID_ARGUMENT);
    fails(tensor_new(DT_double, SHAPE(huge), &a), RESOURCE_EXHAUSTED);
    fails(tensor_new(DT_double, SHAPE(-1), &a), INVALID_ARGUMENT);
    fails(tensor_new((DType)101, SHAPE(1), &a), INVALID_ARGUMENT);
    fails(tensor_new(DT_INVALID, SHAPE(1), &a), INVALID_ARGUMENT);
    ck_assert_uint_ne(buffer_next_stamp(), buffer_next_stamp());
}
END_TEST

static int released;

static void release(void *data, size_t bytes, void *arg) {
    released += data == arg && bytes == 8;
}

START_TEST(adopted_memory_goes_back_once) {
    static double lent;
    Buffer *buffer;
    ok(buffer_adopt(&lent, 8, DT_double, release, &lent, &buffer));
    buffer_retain(buffer);
    buffer_release(buffer);
    ck_assert_int_eq(released, 0);
    buffer_release(buffer);
    ck_assert_int_eq(released, 1);
    ok(buffer_adopt(&lent, 8, DT_double, NULL, NULL, &buffer));
    buffer_release(buffer);
    buffer_release(NULL);
}
END_TEST

static int freed;

static void count_free(Object *object) {
    (void)object;
    freed++;
}

START_TEST(copies_are_deep_but_share_objects) {
    static const ObjectType type = {.name = "Counted", .free = count_free};
    Object object;
    object_init(&object, &type);
    Tensor objects, strings, copy;
    ok(tensor_new(DT_variant, SHAPE(2), &objects));
    ((Object **)objects.data)[1] = object_retain(&object);
    ok(tensor_copy(&objects, &copy));
    ck_assert_ptr_eq(((Object **)copy.data)[1], &object);
    ck_assert_ptr_null(((Object **)copy.data)[0]);
    ck_assert_int_eq(object.references, 3);
    ok(tensor_copy_elements(&objects, &copy));
    ck_assert_int_eq(object.references, 3);
    tensor_clear(&objects);
    tensor_clear(&copy);
    ck_assert(object_is_unique(&object));
    object_release(&object);
    ck_assert_int_eq(freed, 1);

    ok(tensor_new(DT_string, SHAPE(2), &strings));
    ck_assert(tstring_assign(strings.data, STR("long enough to lie on the heap")));
    ok(tensor_copy(&strings, &copy));
    tensor_clear(&strings);
    ck_assert(str_is(tstring_str(copy.data), "long enough to lie on the heap"));
    tensor_clear(&copy);
}
END_TEST

START_TEST(tensors_as_shapes) {
    Tensor t;
    Shape shape;
    ok(tensor_new(DT_int64, SHAPE(3), &t));
    memcpy(t.data, (int64_t[]){2, -1, 4}, 24);
    ok(tensor_to_shape(&t, &shape));
    ck_assert(shape_equal(&shape, &SHAPE(2, -1, 4)));
    ck_assert_int_eq(tensor_int(&t, 2), 4);
    ((int64_t *)t.data)[0] = -2;
    fails(tensor_to_shape(&t, &shape), INVALID_ARGUMENT);
    tensor_clear(&t);
    ok(tensor_new(DT_int32, SHAPE(9), &t));
    memset(t.data, 0, 36);
    fails(tensor_to_shape(&t, &shape), INVALID_ARGUMENT);
    tensor_clear(&t);
    ok(tensor_new(DT_int32, SHAPE(1, 1), &t));
    fails(tensor_to_shape(&t, &shape), INVALID_ARGUMENT);
    tensor_clear(&t);
    ok(tensor_new(DT_float, SHAPE(1), &t));
    fails(tensor_to_shape(&t, &shape), INVALID_ARGUMENT);
    tensor_clear(&t);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("tensor");
    TCase *cases = tcase_create("tensor");
    tcase_set_timeout(cases, 60);
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, types_have_tensorflow_numbers);
    tcase_add_test(cases, half_rounds_to_the_nearest_even);
    tcase_add_test(cases, bfloat16_rounds_to_the_nearest_even);
    tcase_add_test(cases, strings_of_every_length);
    tcase_add_test(cases, buffers_are_aligned_and_counted);
    tcase_add_test(cases, adopted_memory_goes_back_once);
    tcase_add_test(cases, copies_are_deep_but_share_objects);
    tcase_add_test(cases, tensors_as_shapes);
    return run_suite(suite);
}
