// Saver — which checkpoints a folder keeps, which of them is the newest good one, and the file `checkpoint` that names
// them.
//
// Order of a save: data, index, `checkpoint`, each synced and renamed; only then old checkpoints are removed. One
// process saves into a folder; any may read it meanwhile. A Saver belongs to one thread.
#pragma once
#include "file/bundle.h"
#include "file/checkpoint_state.h"

typedef struct {
    Str name;
    Tensor tensor;
} NamedTensor;

typedef struct {
    Str folder;
    Str name;               // checkpoints are FOLDER/NAME-STEP; empty: "model"
    int keep;               // the newest so many stay; 0: all
    double keep_hours;      // besides, one in so many hours stays for ever; 0: none
    int keep_best;          // besides, so many of the best metric; the best is named by the file `best`, too
    bool less_is_better;    // a loss rather than an accuracy
} SaverPolicy;

// The name under which a checkpoint holds its metric, a double.
#define SAVER_METRIC "_millrace/metric"

typedef struct Saver Saver;

// Reads what the folder holds; changes nothing in it. Where `checkpoint` is malformed the folder's files tell what there is.
FALLIBLE Status *saver_new(const SaverPolicy *policy, Saver **out);
void saver_free(Saver *saver);   // waits for the save under way, if any
// Makes a checkpoint of that step, and lets go of those that the policy does not keep. `metric` NAN: none. On failure the
// checkpoints that were there are as they were.
FALLIBLE Status *saver_save(Saver *saver, int64_t step, double metric, const NamedTensor *tensors, size_t n);
// The same on another thread. The tensors are retained, and must not be written into any more. What became of the save
// before, for which it waits, is what it returns.
FALLIBLE Status *saver_save_later(Saver *saver, int64_t step, double metric, const NamedTensor *tensors, size_t n);
// Waits for the save under way; what became of it. OK where there is none.
FALLIBLE Status *saver_wait(Saver *saver);
// The newest checkpoint that can be read whole, to the last checksum. NOT_FOUND where there is none; then, and where newer
// ones had to be passed over, `skipped` tells which and why, a line for each.
FALLIBLE Status *saver_latest(Saver *saver, Text *out_prefix, Text *skipped);
// That of the best metric. NOT_FOUND where no checkpoint has one.
FALLIBLE Status *saver_best(Saver *saver, Text *out_prefix);
