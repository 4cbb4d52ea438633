// Folder test — tests of files: a folder of their own, tensors by their text.
#pragma once
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/status_test.h"
#include "base/suite_test.h"
#include "tensor/literal.h"

#define BAD(wanted, expression)                                                                    \
    do {                                                                                           \
        Status *status_ = (expression);                                                            \
        ck_assert_msg(status_code(status_) == (wanted), "%s: %s", code_name(status_code(status_)), \
                      status_message(status_));                                                    \
        status_free(status_);                                                                      \
    } while (0)

static char folder[] = "/tmp/file_test_XXXXXX";
static char path[sizeof folder + 64];

// Valid until the next call.
static Str in_folder(const char *name) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return str_of(path);
}

static Tensor tensor(const char *text) {
    Tensor t;
    GOOD(literal_parse(str_of(text), DT_INVALID, &t, NULL));
    return t;
}

static void same(const Tensor *got, const char *wanted) {
    AUTO(text) Text text = {0}, expected = {0};
    AUTO(tensor) Tensor other = tensor(wanted);
    literal_print(&text, got, NULL);
    literal_print(&expected, &other, NULL);
    ck_assert_str_eq(text.p, expected.p);
    ck_assert_int_eq(got->dtype, other.dtype);
}
