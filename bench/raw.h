// Raw — what a workload's convolutions and products cost by themselves: each as one oneDNN primitive, on memory in the
// layout that it likes best, with nothing between them. A child like child.c's, with the library's own OpenMP threads.
#pragma once
#include "harness.h"

// Serves the parent's requests. `library`: the Millrace that tells the shapes of a graph's nodes.
int raw_main(const char *library, int threads);
