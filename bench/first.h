// First — what a graph costs before its second step: import, first run, gradients, new signatures and shapes, and what
// stays.
#pragma once
#include "column.h"
#include "workloads.h"

int first_main(const char *library, int nodes);    // a child: one line for each stage, "stage NAME SECONDS BYTES"
void first_run(const Options *options);            // the table: each library at each size in a process of its own
