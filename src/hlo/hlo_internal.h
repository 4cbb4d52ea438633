// Writer — the state of a module while it is written: see hlo.h for what ops see of it and module.h for what comes out.
#pragma once
#include "hlo/hlo.h"
#include "hlo/module.h"

// What an edge of the graph stands for.
typedef struct {
    HloValue value;             // NULL: not written yet
    const Tensor *known;        // on the host; written as a constant where it is asked for
    int32_t input;              // 1 + the spec's input that it is; 0: none
    int32_t variable;           // the variable that it names, by reference or handle; -1: a value
    DType dtype;
    Shape shape;                // of the value
} HloEdge;

// A graph whose nodes are being written: the spec's, a function's body or what a composed op stands for.
typedef struct HloScope {
    const Graph *graph;
    HloEdge **edges;            // by node id: of its outputs; NULL: not there
    size_t n_nodes;
    struct HloScope *outer;
} HloScope;

typedef struct {
    HloValue value;             // NULL: as it came
    HloValue argument;          // NULL: nobody has read what it came as
    bool assigned;
} HloVariableState;

typedef struct {
    HloValue good;
    const Node *node;
    Code code;
    const char *message;
} HloCheck;

typedef struct {
    Hlo hlo;                    // first: what words get is this
    const HloSpec *spec;
    HloModule *module;
    Text *text;                 // where operations go: the body, or a region's text
    Text constants;             // before the body, so that every region sees them
    Map known_constants;        // their text -> HloValue
    int32_t next;               // the next id
    int32_t functions, regions; // how deep
    HloScope *scope;
    const Node *member;         // that hlo.node belongs to
    HloEdge **in;               // of hlo.node
    HloEdge *out;
    HloVariableState *variables;
    HloValue *inputs;           // of the spec: those that are arguments
    VEC(HloCheck) checks;
    VEC(HloArgument) arguments;
    VEC(HloValue) argument_values;
    VEC(Graph *) graphs;        // made on the way; they hold tensors that are known
    VEC(Tensor *) tensors;      // computed on the way
} HloWriter;

enum { HLO_DEPTH = 32 };        // functions in functions

static inline HloWriter *hlo_writer(Hlo *h) {
    return (HloWriter *)h;
}
extern const struct HloArray hlo_nothing;   // the value of every word after the first error
#define HLO_STOPS(h)            \
    do {                        \
        if ((h)->status)        \
            return &hlo_nothing; \
    } while (0)

const char *hlo_type_name(DType dtype);     // "f32"; NULL where XLA has no such type
const char *hlo_compare_kind(DType dtype);  // "FLOAT" ...
Shape hlo_axes(uint32_t mask);              // the bits that are set
HloValue hlo_array(Hlo *h, DType dtype, Shape shape);   // with a new id, not written yet
// The results of one operation, %id#0, %id#1 ..., not written yet.
void hlo_results(Hlo *h, const DType *dtypes, const Shape *shapes, int n, HloValue *out);
// "    %id = " and the operation. In the format %v is a value, %t its type, %s the type of one of its elements, %r the
// result's type, %e of an element of it, %l a Shape as [1, 2], %a as array<i64: 1, 2>, %d an int64_t, %c a text.
HloValue hlo_line(Hlo *h, DType dtype, Shape shape, const char *format, ...);
void hlo_put_text(Hlo *h, const char *format, ...);     // only the text: of operations whose results were made before

// Regions: text goes there until the end.
Text *hlo_region_begin(Hlo *h, Text *region);           // gives what was written to before
void hlo_region_end(Hlo *h, Text *outer);

// ---------------------------------------- arguments and edges

HloValue hlo_argument(Hlo *h, const HloArgument *argument);
HloValue hlo_edge_value(Hlo *h, HloEdge *edge);
HloValue hlo_variable_value(Hlo *h, int32_t variable);

// ---------------------------------------- graphs

FALLIBLE Status *hlo_scope_new(HloWriter *w, const Graph *graph, HloScope *out);
// The edges of the node's outputs, made where they aren't there; NULL when memory is out.
HloEdge *hlo_scope_edges(HloWriter *w, HloScope *scope, const Node *node);
FALLIBLE Status *hlo_write_nodes(Hlo *h, HloScope *scope, Node *const *order, size_t n);

// A graph of our own: a function's body, or what a composed op stands for.
typedef struct {
    Graph *graph;
    Output *arguments;          // {NULL} where it is not used
    Output *results;
    Node **controls;            // run with the results
    int32_t n_arguments, n_results, n_controls;
} HloFragment;
// `graph` of the result is the caller's to release, on failure too.
FALLIBLE Status *hlo_function(const Graph *library, const FuncRef *ref, int n_arguments, int n_results, Arena *arena,
                              HloFragment *out);
FALLIBLE Status *hlo_expansion(const Node *node, const Shape *in, const Tensor *const *known, Arena *arena,
                               HloFragment *out);
// Those of its nodes that results and controls need, in order.
FALLIBLE Status *hlo_fragment_order(const HloFragment *fragment, Arena *arena, Node ***out_order, size_t *out_n);
// Writes it over these edges; `results` gets copies.
FALLIBLE Status *hlo_write_fragment(Hlo *h, const HloFragment *fragment, const HloEdge *arguments, HloEdge *results);
// The function that the node calls as a whole; NULL where it doesn't.
const FuncRef *hlo_called(const Node *node, FuncRef *room);
