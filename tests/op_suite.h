// Op suite — what its files share: a line of a .test file, the ways to run it, what came out.
#pragma once
#include "autodiff/autodiff.h"
#include "formula/expression.h"
#include "session/session.h"

// One line.
typedef struct {
    const char *file;
    int number;
    Arena arena;
    bool shapes;                 // a `shape` line
    bool loose;                  // "~": within 1e-3
    VEC(Expression *) before;    // calls that run first, parted by `then`
    Expression *call;
    Str expected;                // the text behind "="; empty where `error` is set
    Str error;                   // the text behind "!"
} Line;

FALLIBLE Status *line_parse(Str text, Line *line);
void line_clear(Line *line);
bool line_is_stateful(const Line *line);

typedef enum { INPUTS_CONSTANT, INPUTS_UNKNOWN, INPUTS_KNOWN } Inputs;
typedef enum { RESIZE_NOT, RESIZE_EMPTY, RESIZE_ONE } Resize;

// One way to run a line.
typedef struct {
    const char *what;
    Inputs inputs;
    Resize resize;
    int threads;
    int runs;
    const char *device;          // the type of device that has the line: "FAKE"; NULL: the host's
    bool host_constant;          // what the op reads on the host is never fed
    int timeout_ms;              // of every step; 0: none
    int forced_attr;             // -1: none
    DType forced;
    DType rounded;               // inputs rounded to this type first; DT_INVALID: no
} Mode;

typedef VEC(Tensor) Tensors;
void tensors_clear(Tensors *tensors);

// A line's graph and session.
typedef struct {
    const Line *line;
    Mode mode;
    ExpressionBuild build;
    Graph *graph;
    Session *session;
    Node *node;
    VEC(Output) feeds;
    Tensors values;
    Arena arena;
    int n_clusters;              // of the call's plan: parts that a device compiles
} Trial;

FALLIBLE Status *trial_build(Trial *trial, const Line *line, const Mode *mode);
FALLIBLE Status *trial_open(Trial *trial);             // the session; variables get their values
FALLIBLE Status *trial_run(Trial *trial, Tensors *out);  // the call's outputs, then the variables
void trial_clear(Trial *trial);
// Fetches these edges with the trial's feeds.
FALLIBLE Status *trial_fetch(Trial *trial, const Output *fetches, int n, Tensor *out);

// ---- counting
void check_pass(void);
void check_fail(const Line *line, const char *what, const char *format, ...) PRINTF(3, 4);
void check_left_out(const Line *line, const char *what, Status *status);  // told with --verbose; frees it
// Counts; true where the status is OK. Frees it.
bool check_ok(const Line *line, const char *what, Status *status);

// Says what runs now, for a crash.
void check_now(const Line *line, const char *what);

// ---- comparing (op_suite_compare.c)
typedef struct {
    double relative, absolute;
} Tolerance;
Tolerance tolerance_of(DType dtype, bool loose);
// NULL or why they differ; the text lives until the next call.
const char *tensor_difference(const Tensor *got, const Tensor *wanted, Tolerance tolerance);
bool tensor_same_bits(const Tensor *a, const Tensor *b);
bool tensor_is_finite(const Tensor *tensor);
// Results, the first `outputs` of them needed, against the expected text. `widest` not DT_INVALID: the type that the
// line was written for, whose tolerance holds too; then `fits` false: the text has no meaning in the results' type.
FALLIBLE Status *compare_expected(const Line *line, const Tensors *got, size_t outputs, DType widest, bool *fits,
                                  const char **difference);
FALLIBLE Status *tensor_cast(const Tensor *from, DType to, Tensor *out);
double tensor_number(const Tensor *tensor, int64_t i);

// ---- gradients (op_suite_gradient.c)
void check_gradient(const Line *line);

// ---- neighbours (op_suite_neighbours.c)
void neighbours_seed(uint64_t value);
// Changes the call of a line, which was read from `text`, `count` times and runs what comes of it. How many had a
// meaning.
int check_neighbours(const Line *line, Str text, int count);
