// Status test — for tests: a status that should be OK and, if it isn't, says what and where.
#pragma once
#include <check.h>

#include "base/status.h"

#define GOOD(expression)                                                                    \
    do {                                                                                    \
        Status *status_ = (expression);                                                     \
        ck_assert_msg(!status_, "%s (%s)", status_message(status_), status_where(status_)); \
    } while (0)
