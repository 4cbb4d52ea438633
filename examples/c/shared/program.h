// Program — what all examples have in common: options, the end after an error, running a graph, writing it to a file.
#pragma once
#include <stdio.h>

#include "millrace/millrace.h"

// Prints what is wrong and ends the program.
__attribute__((noreturn, format(printf, 1, 2))) void quit(const char *format, ...);
void check(TF_Status *status);

typedef struct Option {
    const char *name, *value, *text;   // "--name VALUE", and what it does
} Option;
// Prints what the program is and its options, up to one without a name, and ends it, where --help stands; ends it with 2 where
// a word is none of "--name VALUE".
void check_options(int argc, char **argv, const char *about, const Option *options);

// "--name value": the value, or `otherwise`.
const char *option(int argc, char **argv, const char *name, const char *otherwise);
double option_number(int argc, char **argv, const char *name, double otherwise);

double seconds(void);
TF_Session *session_new(TF_Graph *graph, int threads);  // 0: as many as the machine has
void session_delete(TF_Session *session);
// Runs a step; fetches are scalars, as numbers.
void session_step(TF_Session *session, const TF_Output *feeds, TF_Tensor *const *values, int n,
                  const TF_Output *fetches, double *numbers, int n_fetches, const TF_Operation *target);
TF_Tensor *session_fetch(TF_Session *session, const TF_Output *feeds, TF_Tensor *const *values, int n, TF_Output fetch);
TF_Tensor *tensor_of(TF_DataType dtype, int rank, const int64_t *dims);  // to be filled
void file_close(FILE *file, const char *path);  // ends the program where not all could be written; nothing for NULL
int output_written(void);                       // what main returns: 0, if all that was printed has arrived
void file_save(const char *path, const void *data, size_t length);
void graph_save(TF_Graph *graph, const char *path);
