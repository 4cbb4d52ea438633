// SavedModel — a folder with a graph, its variables and assets, as TensorFlow writes it: chosen by tags, made to run.
#pragma once
#include "proto/messages.h"
#include "session/session.h"

// One MetaGraphDef of the folder's saved_model.pb (or .pbtxt). Owns the file's bytes, of which everything is a view.
typedef struct SavedModel {
    Arena arena;
    Str folder;
    Str bytes;                  // the MetaGraphDef, serialized
    Str graph_def;              // its graph, serialized: for graph_import
    const MetaGraphDef *meta;
} SavedModel;

// The meta graph whose set of tags is exactly this one. NOT_FOUND: no such file, no such tags; DATA_LOSS: malformed;
// OUT_OF_RANGE: cut off;
// FAILED_PRECONDITION: a Const without a value, a value of a negative size, a function that calls itself directly.
FALLIBLE Status *saved_model_open(const char *folder, const char *const *tags, int n_tags, SavedModel *out);
void saved_model_clear(SavedModel *model);
static inline void saved_model_auto(SavedModel *model) {
    saved_model_clear(model);
}
// In a session on the graph that was imported from graph_def: restores the variables if the folder has any, then runs
// the initializer, both with the assets' paths fed.
FALLIBLE Status *saved_model_start(const SavedModel *model, const Graph *graph, Session *session,
                                   const RunSettings *settings);
