// Profile — what a run's metadata tell of its nodes, as a trace that chrome://tracing and Perfetto show.
#pragma once
#include <stdbool.h>

#include "tensorflow/c/c_api.h"

// `metadata`: a RunMetadata. One event for each call of a node, in a row for each thread. False after a message.
bool profile_write(const char *path, const TF_Buffer *metadata);
