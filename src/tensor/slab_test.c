// Slab test — small constants side by side: aligned, apart, and alive for as long as somebody holds them.
#include <check.h>

#include "base/suite_test.h"
#include "tensor/slab.h"

enum { MANY = 1000 };

static Tensor number(int64_t value) {
    Tensor t;
    ck_assert_ptr_null(tensor_new(DT_int64, SHAPE(2), &t));
    ((int64_t *)t.data)[0] = value;
    ((int64_t *)t.data)[1] = -value;
    return t;
}

START_TEST(buffers_outlive_the_slab) {
    Slab slab = {0};
    Tensor kept[MANY];
    for (int i = 0; i < MANY; i++) {
        Tensor from = number(i);
        ck_assert(slab_takes(&from));
        ck_assert_ptr_null(slab_copy(&slab, &from, &kept[i]));
        tensor_clear(&from);
    }
    slab_clear(&slab);
    for (int i = 0; i < MANY; i++) {
        ck_assert_uint_eq((uintptr_t)kept[i].data % BUFFER_ALIGNMENT, 0);
        ck_assert_int_eq(((int64_t *)kept[i].data)[0], i);
        ck_assert_int_eq(((int64_t *)kept[i].data)[1], -i);
        ck_assert(shape_equal(&kept[i].shape, &SHAPE(2)));
    }
    for (int i = 0; i < MANY; i++) {
        Tensor *t = &kept[(i * 7) % MANY];
        Tensor again = tensor_retain(t);
        tensor_clear(t);
        ck_assert_int_eq(((int64_t *)again.data)[0], (i * 7) % MANY);
        tensor_clear(&again);
    }
}
END_TEST

START_TEST(takes_what_is_small_and_plain) {
    Tensor t;
    ck_assert_ptr_null(tensor_new(DT_float, SHAPE(SLAB_MOST / 4), &t));
    ck_assert(slab_takes(&t));
    tensor_clear(&t);
    ck_assert_ptr_null(tensor_new(DT_float, SHAPE(SLAB_MOST / 4 + 1), &t));
    ck_assert(!slab_takes(&t));
    tensor_clear(&t);
    ck_assert_ptr_null(tensor_new(DT_string, SHAPE(1), &t));
    ck_assert(!slab_takes(&t));
    tensor_clear(&t);
    Slab slab = {0};
    Tensor none;
    ck_assert_ptr_null(tensor_new(DT_float, SHAPE(0, 3), &t));
    ck_assert_ptr_null(slab_copy(&slab, &t, &none));
    ck_assert_int_eq(tensor_count(&none), 0);
    ck_assert_ptr_nonnull(none.data);
    tensor_clear(&none);
    tensor_clear(&t);
    slab_clear(&slab);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("slab");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, buffers_outlive_the_slab);
    tcase_add_test(tests, takes_what_is_small_and_plain);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
