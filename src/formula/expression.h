// Expression — calls of ops as text, made into nodes: the lines beside the ops, `millrace eval`.
//
//     call  = Name "(" [arg {"," arg}] [";" attr "=" value {"," attr "=" value}] ")" ["." output]
//     arg   = literal | call | "{" [arg {"," arg}] "}"
//     shape = ["?" | "[" { integer | "?" } "]"], a type perhaps before it: an argument where only shapes are given
//
// Literals are those of tensor/literal.h, attribute values those of graph/signature.h; a string attribute may do
// without quotes. A literal has the type it names, else the one that the op's other arguments settle, else its own
// where the op takes that, else the op's default, else the first that the op takes. A literal for a variable is its
// initial value.
#pragma once
#include "graph/build.h"

typedef struct Expression Expression;

typedef enum {
    TERM_LITERAL,
    TERM_SHAPE,
    TERM_CALL,
    TERM_LIST,
} TermKind;

typedef struct Term {
    TermKind kind;
    DType dtype;            // named before a literal or shape; DT_INVALID where none is
    Str text;               // TERM_LITERAL, with the type's name
    Shape shape;            // TERM_SHAPE
    Expression *call;       // TERM_CALL
    int output;             // of the call
    struct Term *items;     // TERM_LIST
    int n;
} Term;

typedef struct {
    Str name, text;
} AttrText;

struct Expression {
    const OpType *type;
    Term *args;
    AttrText *attrs;
    int n_args, n_attrs;
};

// Reads one call at the start of `text`; everything lies in the arena or views `text`. `shapes`: arguments of the call
// are shapes, but for those that the op reads on the host, or that follow the word `value`. NOT_FOUND for an unknown
// op.
FALLIBLE Status *expression_parse(Str text, bool shapes, Arena *arena, Expression **out, size_t *consumed);
// Cuts off spaces at both ends.
Str expression_trim(Str text);
// The end of the item at `text`: the first of `ends` outside brackets and quotes, or text.n.
size_t expression_item(Str text, const char *ends);

// How an expression becomes nodes, and what else came of it.
typedef struct ExpressionBuild {
    Graph *graph;
    Str device;                  // of the outermost call
    int forced_attr;             // type attribute of the outermost call that is `forced`; -1: none
    DType forced;
    // Makes the edge for a literal (or, by a `value` without data, for a shape); takes the value. `arg` is which
    // argument of the outermost call, -1 inside another. NULL: a Const.
    Status *(*leaf)(struct ExpressionBuild *build, int arg, Tensor *value, Output *out);
    void *arg;                   // for leaf
    VEC(Node *) inits;           // results: what gives variables their first values
    VEC(Output) variables;       // results: their values, to be read when the call is done; in the order of arguments
} ExpressionBuild;

FALLIBLE Status *expression_build(ExpressionBuild *build, const Expression *expression, Node **out);
void expression_build_clear(ExpressionBuild *build);
FALLIBLE Status *expression_constant(ExpressionBuild *build, int arg, Tensor *value, Output *out);  // the default leaf

static inline void expression_build_auto(ExpressionBuild *build) {
    expression_build_clear(build);
}
