// Notation — the words that our one-line notations share: names, quoted text, numbers, values of attributes.
#pragma once
#include "graph/attr.h"

// A place in a text that is being read. Spaces before anything that is asked for are skipped.
typedef struct {
    const char *start, *at, *end;
    Arena *arena;          // for text with escapes, arrays and shapes
    TensorList *tensors;   // holds the tensors that were read
    VEC(AttrValue) list;   // elements of the list that is being read: scan_clear
} Scan;

#define SCAN_OF(text) {.start = (text).p, .at = (text).p, .end = (text).p + (text).n}
static inline void scan_clear(Scan *scan) {
    vec_clear(&scan->list);
}

// INVALID_ARGUMENT "column 17: <what>, found 'xyz'".
Status *scan_error(const Scan *scan, const char *file, int line, const char *format, ...) FALLIBLE PRINTF(4, 5);
#define SCAN_FAIL(scan, ...) return scan_error((scan), __FILE__, __LINE__, __VA_ARGS__)
#define SCAN_NEED(condition, scan, ...)            \
    do {                                           \
        if (__builtin_expect(!(condition), 0))     \
            SCAN_FAIL(scan, __VA_ARGS__);          \
    } while (0)

char scan_peek(Scan *scan);                              // the next character, not taken; 0 at the end
bool scan_char(Scan *scan, char c);                      // takes c if it comes next
bool scan_text(Scan *scan, const char *text);            // the same for "->"
bool scan_word(Scan *scan, Str *out);                    // letters, digits and _, not beginning with a digit
FALLIBLE Status *scan_quoted(Scan *scan, Str *out);      // "a\"b\\c\n\t\x00"
FALLIBLE Status *scan_name(Scan *scan, Str *out);        // a word, or anything quoted
FALLIBLE Status *scan_int(Scan *scan, int64_t *out);
FALLIBLE Status *scan_dtype(Scan *scan, DType *out);
bool scan_at_set(const Scan *scan);                      // whether the name of a set comes next: dtype_sets.def
// One set, or with braces types and sets up to the closing one. The opening one has been taken.
FALLIBLE Status *scan_types(Scan *scan, bool braces, AttrValue *out);
FALLIBLE Status *scan_value(Scan *scan, AttrKind kind, bool is_list, AttrValue *out);
// The elements of a list, up to the closing bracket, which is taken. The opening one has been.
FALLIBLE Status *scan_list(Scan *scan, AttrKind kind, char close, AttrValue *out);

void notation_quote(Text *text, Str s);                      // in quotes, with escapes
void notation_name(Text *text, Str name);                    // a word as it is, anything else in quotes
void notation_shape(Text *text, const Shape *shape);

static inline bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
// Whether elements that are integers in memory have a sign. float8 types are shown as their bits.
static inline bool dtype_is_signed(DType dtype) {
    const char *name = dtype_name(dtype);
    return name[0] == 'i' || (name[0] == 'q' && name[1] == 'i');
}
