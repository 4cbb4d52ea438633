// Literal — tensors as text, to read and to print: "[[1 2 3] [4 5 6]]", "int32 [1, 2]", "zeros[2 0 3]".
//
//     literal = [type] value          type: the name of a dtype, "double", "int32", "string" ...
//     value   = scalar | list | fill
//     list    = "[" { value } "]"     of equal shapes; elements are separated by spaces or one comma
//     fill    = ("zeros" | "ones" | "iota") dims | "fill" dims scalar        dims = "[" { integer } "]"
//     scalar  = number | complex | "true" | "false" | string
//
// Numbers are decimal, with "inf" and "nan"; integers may be hexadecimal, 0x1f. Complex: 3i, 1+2i, 1-2j. A string
// stands in double quotes; \n \t \r \0 \" \\ and \xHH are escapes, any other byte is itself. iota counts 0, 1, 2 ...
// row by row. With no type named or wanted: numbers are float (with an imaginary part somewhere, complex64), true and
// false are bool, strings are string; no elements: float. A fill stands alone, not inside a list. At most MAX_RANK
// dimensions.
#pragma once
#include "tensor/tensor.h"

// Reads one literal at the start of `text`. `wanted` DT_INVALID: infer; else what it must be. `consumed` gets the bytes
// read; NULL: nothing but spaces may follow. Errors are INVALID_ARGUMENT and name the column, counted from 1.
FALLIBLE Status *literal_parse(Str text, DType wanted, Tensor *out, size_t *consumed);

// Zeroed is the plain form: everything, on one line, reads back as the same tensor.
typedef struct {
    int64_t most;   // show only the edges of a tensor with more elements than this; 0: no limit
    int edge;       // elements at each end that are shown then; 0 stands for 3
    bool lines;     // one line per row, indented, as NumPy prints
    bool untyped;   // never name the type
    bool json;      // commas; numbers, true and false, NaN, Infinity; complex as [re, im]; bytes as {"b64": "..."}
} LiteralStyle;

// Appends; `style` NULL is the plain form. The type is named where a reader would infer another. A resource or a
// variant is shown as <Type> and can't be read back. The elements must be in host memory.
void literal_print(Text *text, const Tensor *tensor, const LiteralStyle *style);
