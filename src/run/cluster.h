// Cluster — when what a device compiles is compiled: MILLRACE_COMPILE.
#pragma once
#include "base/env_var.h"

// now: at the first sight of a shape, while the step waits. strict: the same, and what can't be is the step's error.
// never: the host runs it. tf32: products of floats may be made of fewer bits. Otherwise: beside, from the second sight on.
extern const EnvVar compile_variable;
