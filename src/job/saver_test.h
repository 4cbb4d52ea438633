// Saver test — a job of toy tensors for tests: each holds nothing but the number of the step that it was saved at.
#pragma once
#include <math.h>
#include <stdio.h>

#include "base/status_test.h"
#include "job/saver.h"

enum { TOY_TENSORS = 3 };
static const int64_t toy_sizes[TOY_TENSORS] = {1, 1000, 100000};  // the last is larger than what is gathered for a write
static const char *const toy_names[TOY_TENSORS] = {"bias", "dense/kernel", "embedding"};

static inline void toy_make(int64_t step, NamedTensor out[TOY_TENSORS]) {
    for (int i = 0; i < TOY_TENSORS; i++) {
        out[i] = (NamedTensor){.name = str_of(toy_names[i])};
        GOOD(tensor_new(DT_float, SHAPE(toy_sizes[i]), &out[i].tensor));
        for (int64_t j = 0; j < toy_sizes[i]; j++)
            ((float *)out[i].tensor.data)[j] = (float)step;
    }
}

static inline void toy_clear(NamedTensor tensors[TOY_TENSORS]) {
    for (int i = 0; i < TOY_TENSORS; i++)
        tensor_clear(&tensors[i].tensor);
}

static inline Status *toy_save(Saver *saver, int64_t step, double metric) {
    NamedTensor tensors[TOY_TENSORS];
    toy_make(step, tensors);
    Status *status = saver_save(saver, step, metric, tensors, TOY_TENSORS);
    toy_clear(tensors);
    return status;
}

// The step that everything in the checkpoint was saved at; -1 where it holds anything else.
static inline int64_t toy_step(Str prefix) {
    int64_t step = -1;
    BundleReader reader;
    Status *status = bundle_open(prefix, &reader);
    if (status) {
        status_free(status);
        return -1;
    }
    for (int i = 0; i < TOY_TENSORS; i++) {
        BundleEntry entry;
        AUTO(tensor) Tensor tensor = {0};
        status = bundle_find(&reader, str_of(toy_names[i]), &entry);
        if (!status)
            status = bundle_read(&reader, str_of(toy_names[i]), &entry, NULL, &tensor);
        for (int64_t j = 0; j < toy_sizes[i] && !status; j++) {
            int64_t value = (int64_t)((float *)tensor.data)[j];
            step = i + j == 0 ? value : step == value ? step : -2;
        }
        if (status)
            step = -2;
        status_free(status);
    }
    bundle_close(&reader);
    return step;
}
