// Cli — what the commands of `millrace` share. They are users of the library: they see include/ only.
//
// Every command is one file with one Command. Exit codes: 0 done, 1 it failed (one line on stderr says why), 2 the
// command line was wrong. With --json a command writes one JSON value to stdout and nothing else.
#pragma once
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "millrace/millrace.h"
#include "tensorflow/c/c_api_experimental.h"

typedef struct {
    const char *name, *value;   // "--name VALUE"; NULL: a switch
    const char *text;           // what it does
    int code;                   // what next_option gives for it
} Option;

// Its texts are what `--help` prints, man shows and shells complete: paragraphs on one line each, "  term  meaning" for
// lists.
typedef struct {
    const char *name;
    const char *summary;        // one line
    const char *arguments;      // behind the options: "MODEL"
    const char *about;
    const Option *options;      // up to one without a name
    const char *examples;       // a line each, to be typed as they stand
    int (*run)(int argc, char **argv);
} Command;

extern const Command command_eval, command_ops, command_inspect, command_run, command_plan, command_train, command_convert,
    command_devices, command_server, command_cluster, command_profile;

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

// "millrace: ..." on stderr; gives EXIT_FAILED.
int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
// The same and a hint at --help; gives EXIT_USAGE.
int misuse(const Command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Reports the status, if it is an error, behind "what: "; true where it was OK.
bool good(const TF_Status *status, const char *what);

// ---- options: of the command's table, and --help, which it prints. -1 at the end, 'h' after help, '?' when reported.
int next_option(const Command *command, int argc, char **argv);

// "--repeat takes a whole number from 1, not 'x'", for the option of that code; gives EXIT_USAGE.
int misuse_value(const Command *command, int code, const char *takes, const char *value);
// Whether one argument is left behind the options; else false after a message.
bool one_model(const Command *command, int argc, char **argv);

// ---- hints (hint.c): what was meant
typedef struct {
    const char *wanted;
    char best[256];
    int distance;
} Hint;
void hint_offer(Hint *hint, const char *name);
const char *hint_text(const Hint *hint);   // "; did you mean 'x'?" or ""; valid until the next call

// ---- files (files.c)
// The whole file, unpacked if it is gzip; "-" is stdin. NULL after a message. Release with free.
char *read_file(const char *path, size_t *size);
bool write_file(const char *path, const void *bytes, size_t size);
// A tensor out of a file: .npy, or IDX (gzip or plain), with a range behind it: "a.npy", "images.gz[0:2]".
TF_Tensor *read_tensor(const char *path);
TF_Tensor *npy_tensor(const char *path, const char *bytes, size_t size);   // of the bytes of a .npy file
char *npy_bytes(const char *path, const TF_Tensor *tensor, size_t *size);   // the same, written; NULL after a message
bool write_npy(const char *path, const TF_Tensor *tensor);
// The range of its first dimension; takes the tensor. NULL after a message.
TF_Tensor *slice_tensor(const char *path, TF_Tensor *tensor, int64_t first, int64_t last);
// Whether a file can be written, to be asked before the work and not after it; false after a message.
bool can_write(const char *path);

// ---- models (model.c)
enum { MOST_EDGES = 64 };
// What a SavedModel's signature calls one of its inputs or outputs.
typedef struct {
    char name[256], edge[512];
    bool is_output;
} ModelEnd;
// A GraphDef from a file, or a SavedModel from a folder. NULL after a message.
typedef struct {
    const char *path;
    TF_Graph *graph;
    TF_Session *session;
    ModelEnd ends[MOST_EDGES];   // of a SavedModel: "serving_default", or the first signature
    int n_ends;
} Model;
bool model_open(const char *path, int threads, Model *out);   // threads 0: all
bool model_is_folder(const char *path);
bool model_file(const char *folder, char *out, size_t room);   // of the SavedModel in it; false after a message
void model_close(Model *model);
// The bytes of a "GraphDef" or "SavedModel", out of a binary file or a .pbtxt; says what other files are. False after a
// message.
bool message_read(const char *path, const char *message, TF_Buffer *out);
void signature_read(Model *model, const void *meta_graph_def, size_t size);  // fills the ends (signature.c)
void signatures_print(const void *meta_graph_def, size_t size, bool json);
// A checkpoint (checkpoint.c): by its prefix, one of its files, or its folder.
bool checkpoint_find(const char *path, char *prefix, size_t room);
int checkpoint_inspect(const char *prefix, bool json);
// "name:1" or "name" of a node, or what the signature calls an end; false after a message.
bool model_edge(const Model *model, const char *name, TF_Output *out);
bool model_targets(const Model *model, char *const *names, int n, const TF_Operation **out);
bool model_restore(const Model *model, const char *prefix);  // variables, from a checkpoint (restore.c)
// What a model gives when nothing is asked for: the signature's outputs, else those that nobody reads. Gives their
// number.
int model_ends(const Model *model, TF_Output *out, int most);
const char *edge_name(TF_Output edge);   // "name" or "name:1"; valid until the eighth next call
const char *edge_shape(const Model *model, TF_Output edge);  // "[? 28 28]"; valid until the eighth next call

// ---- feeds and fetches of a command line (feeds.c)
typedef struct {
    TF_Output edges[MOST_EDGES];
    TF_Tensor *values[MOST_EDGES];
    int n;
} Feeds;
// "name=[1 2 3]" or "name=@file"; converted to the type of the edge.
bool feeds_add(Feeds *feeds, const Model *model, const char *text);
void feeds_clear(Feeds *feeds);
// The tensor in the type wanted, by the library's own Cast; takes it. NULL after a message, which names `name`.
TF_Tensor *convert_tensor(TF_Tensor *value, TF_DataType wanted, const char *name);
typedef struct {
    TF_Output edges[MOST_EDGES];
    char *files[MOST_EDGES];   // NULL: to stdout
    int n;
} Fetches;
// "name" or "name=@file.npy"
bool fetches_add(Fetches *fetches, const Model *model, const char *text);
void fetches_clear(Fetches *fetches);

// ---- plans (plan.c)
const char *plan_memory(const mr_plan_info *info);           // where a step's results lie; valid until the next call

// ---- text for people (text.c)
int columns_of(FILE *file);   // of its terminal, or what COLUMNS says; 0 where there is neither
int text_width(FILE *file);   // the same, 80 where there is neither, and 20 at least
int letters(const char *text, size_t n);   // how many columns UTF-8 takes
// The words of the text, which begins at column `at`, broken at text_width; further lines begin at `indent`.
void print_wrapped(FILE *out, const char *text, size_t n, int at, int indent);
// A term and what it means, in two columns where the terminal has room for them.
void print_item(FILE *out, const char *term, const char *text, size_t n);
// A message or a row of a table, broken at columns_of and else left whole, for `grep`.
void print_text(FILE *out, int indent, const char *format, ...) __attribute__((format(printf, 3, 4)));
void print_text_list(FILE *out, int indent, const char *format, va_list args);

// ---- output (output.c)
void print_json_text(const char *text);                      // with quotes and escapes
void print_json_number(double value, int places);            // what is no number as a text, "NaN"
void print_tensor(const TF_Tensor *tensor, int style);       // MR_*
const char *human_bytes(double bytes);                       // "1.4 MiB"; valid until the eighth next call
// Pictures side by side, each in `cell` columns: bytes, row by row. Half a character per pixel in a terminal, shades of
// letters elsewhere; made smaller where the width asks for it.
void draw_images(const unsigned char *const *pictures, int n, int height, int width, int cell);
int drawn_width(int width);   // of such a picture, in columns
bool has_terminal(FILE *file);
