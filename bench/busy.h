// Busy — whole networks on a machine that is not ours alone: beside processes that compute, and under a quota.
#pragma once
#include "workloads.h"

// Those that the options name ("busy", "busy.lm"); false where they name none.
bool busy_run(const Options *options);
