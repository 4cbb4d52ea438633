// AttrValue — the value of one attribute of a node, or the default in a signature.
//
// Values are plain structs whose text and arrays lie in the arena of whoever holds them (a graph, a signature). Tensors
// inside hold a reference to their buffer: the holder keeps a list of them and releases it (graph_keep_tensor).
#pragma once
#include "base/vec.h"
#include "tensor/slab.h"

typedef enum {
    ATTR_NONE,  // absent
    ATTR_STRING,
    ATTR_INT,
    ATTR_FLOAT,
    ATTR_BOOL,
    ATTR_TYPE,
    ATTR_SHAPE,
    ATTR_TENSOR,
    ATTR_PLACEHOLDER,  // inside a function: the name of the function's attribute to take the value from
    ATTR_FUNC,
} __attribute__((packed)) AttrKind;  // a byte: an AttrValue has 24

typedef struct AttrValue AttrValue;
typedef struct AttrEntry AttrEntry;

// The name of a function and the values of its attributes, in the order of their names.
typedef struct {
    Str name;
    AttrEntry *attrs;
    int32_t n_attrs;
} FuncRef;

struct AttrValue {
    AttrKind kind;    // of each element, for a list
    bool is_list;     // an empty list from a proto has kind ATTR_NONE
    int32_t n;        // elements of a list
    union {
        Str s;        // ATTR_STRING, ATTR_PLACEHOLDER
        int64_t i;
        float f;
        bool b;
        DType type;
        Shape *shape;
        Tensor *tensor;
        FuncRef *func;
        Str *ss;      // the lists
        int64_t *is;
        float *fs;
        bool *bs;
        DType *types;
        Shape *shapes;
        Tensor *tensors;
        FuncRef *funcs;
    };
};

struct AttrEntry {
    Str name;
    AttrValue value;
};

const char *attr_kind_name(AttrKind kind, bool is_list);             // "type", "list(int)" as in OpDef
bool attr_equal(const AttrValue *a, const AttrValue *b);             // tensors by content
uint64_t attr_hash(const AttrValue *value, uint64_t seed);           // the same for equal ones; tensors are passed over
// Copies text and arrays into the arena; tensors are retained and their buffers pushed on `tensors`.
// RESOURCE_EXHAUSTED.
typedef VEC(Buffer *) TensorList;
FALLIBLE Status *attr_copy(Arena *arena, TensorList *tensors, const AttrValue *from, AttrValue *out);
// The same, small tensors copied into the slab: what is kept for as long as a graph.
FALLIBLE Status *attr_keep(Arena *arena, TensorList *tensors, Slab *slab, const AttrValue *from, AttrValue *out);
// Releases all but the first n.
static inline void tensor_list_cut(TensorList *tensors, size_t n) {
    while (tensors->n > n)
        buffer_release(tensors->p[--tensors->n]);
}
static inline void tensor_list_auto(TensorList *tensors) {
    tensor_list_cut(tensors, 0);
    vec_clear(tensors);
}

// In the notation of signatures: for messages and `millrace inspect`, long strings, lists and tensors cut short.
void attr_print(Text *text, const AttrValue *value);
void attr_print_whole(Text *text, const AttrValue *value);
// Reads what attr_print_whole wrote of a value of that kind; a func is its name alone. Strs view `text` where they can.
FALLIBLE Status *attr_parse(Str text, AttrKind kind, bool is_list, Arena *arena, TensorList *tensors, AttrValue *out);

#define ATTR_OF_INT(value) ((AttrValue){.kind = ATTR_INT, .i = (value)})
#define ATTR_OF_FLOAT(value) ((AttrValue){.kind = ATTR_FLOAT, .f = (value)})
#define ATTR_OF_BOOL(value) ((AttrValue){.kind = ATTR_BOOL, .b = (value)})
#define ATTR_OF_TYPE(value) ((AttrValue){.kind = ATTR_TYPE, .type = (value)})
#define ATTR_OF_STRING(value) ((AttrValue){.kind = ATTR_STRING, .s = (value)})
