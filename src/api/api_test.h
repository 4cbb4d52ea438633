// API test — what the tests of the C interface share: the status, and what is asked of it.
#pragma once
#include <string.h>

#include "base/suite_test.h"
#include "tensorflow/c/c_api.h"

static TF_Status *s;

static inline void ok(void) {
    ck_assert_msg(TF_GetCode(s) == TF_OK, "%s", TF_Message(s));
}

// The last call failed so, with these words in its message.
static inline void failed(TF_Code code, const char *part) {
    ck_assert_msg(TF_GetCode(s) == code, "%d: %s", TF_GetCode(s), TF_Message(s));
    ck_assert_msg(strstr(TF_Message(s), part) != NULL, "'%s' lacks '%s'", TF_Message(s), part);
}
