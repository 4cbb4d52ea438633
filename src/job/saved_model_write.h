// SavedModel, written — a folder with a graph, the values of its variables, and files, as TensorFlow's loaders take it.
#pragma once
#include "job/variables.h"

// An end of a signature: how callers name it, and which edge it is.
typedef struct {
    Str name;
    Output edge;
} SignatureEnd;

typedef struct {
    Str name;              // "serving_default"
    const SignatureEnd *inputs, *outputs;
    int n_inputs, n_outputs;
} SignatureSpec;

// A file that the graph reads, by the name that an edge holds: a vocabulary.
typedef struct {
    Str path;              // copied to FOLDER/assets under its last name
    Output edge;           // fed, or a constant, with the path by who loads
} AssetSpec;

typedef struct {
    const Str *tags;       // none: "serve"
    int n_tags;
    const SignatureSpec *signatures;
    int n_signatures;
    const AssetSpec *assets;
    int n_assets;
    Node *init;            // run after the variables were restored: fills tables; NULL: none
    bool whole;            // all of the graph; else what signatures and init need
} SavedModelSpec;

// Writes the variables, the files and last saved_model.pb, each whole or not at all. `variables` are those of the session's
// graph; of these the ones that are needed are read. INVALID_ARGUMENT for ends that are no edges of the graph, and for two
// files of one name; what reading and writing fail with.
FALLIBLE Status *saved_model_write(Str folder, const SavedModelSpec *spec, Graph *graph, Mutex *graph_lock,
                                   Session *session);
