// saved_model.h — SavedModels written: what TensorFlow's loaders, its server and TF_LoadSessionFromSavedModel take. Its rules are
// those of millrace.h.
#ifndef MILLRACE_SAVED_MODEL_H_
#define MILLRACE_SAVED_MODEL_H_

#include "millrace/millrace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What callers name, and the edges that it stands for. */
typedef struct mr_signature {
    size_t struct_size;              /* to be set: sizeof(mr_signature) */
    const char *name;                /* NULL: "serving_default" */
    const char *const *input_names;
    const TF_Output *inputs;
    int num_inputs;
    const char *const *output_names;
    const TF_Output *outputs;
    int num_outputs;
} mr_signature;

typedef struct mr_saved_model_options {
    size_t struct_size;              /* to be set: sizeof(mr_saved_model_options) */
    const char *const *tags;         /* none: "serve" */
    int num_tags;
    const mr_signature *signatures;
    int num_signatures;
    const char *const *asset_paths;  /* files that the graph reads: copied into the folder */
    const TF_Output *asset_edges;    /* that hold the files' names: who loads the model feeds them */
    int num_assets;
    const TF_Operation *init;        /* run by who loads the model, when its variables have values: fills tables; or NULL */
    int whole_graph;                 /* the training, too; else what signatures and init need */
} mr_saved_model_options;

/* Writes FOLDER/variables, FOLDER/assets and, last, FOLDER/saved_model.pb; each is on the disk, under its name, whole or not at
 * all. Variables have the values that they have in the session. INVALID_ARGUMENT, FAILED_PRECONDITION (a variable without a
 * value), and what files fail with. */
MR_EXPORT void mr_saved_model_write(TF_Session *session, const char *folder, const mr_saved_model_options *options,
                                    TF_Status *status);

#ifdef __cplusplus
}
#endif
#endif  /* MILLRACE_SAVED_MODEL_H_ */
