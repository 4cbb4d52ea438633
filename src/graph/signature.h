// Signature — what TensorFlow calls an OpDef: the names, types and defaults of an op's inputs, outputs and attributes.
//
// Written on one line, in this notation (attributes in TensorFlow's order; spaces are free):
//
//     Conv2D(input: T, filter: T) -> output: T; T: {half, bfloat16, float, double, int32}; strides: list(int);
//         use_cudnn_on_gpu: bool = true; padding: {"SAME", "VALID", "EXPLICIT"}; explicit_paddings: list(int) = []
//     ConcatV2(values: N * T, axis: Tidx) -> output: T; N: int >= 2; T: type; Tidx: {int32, int64} = int32
//     IdentityN(input: T) -> output: T; T: list(type) >= 1
//     Assign(ref: ref T, value: T) -> output_ref: ref T; T: type; validate_shape: bool = true
//     RandomUniform(shape: T) -> output: dtype; seed: int = 0; ...; T: {int32, int64}; stateful
//     Switch(data: T, pred: bool) -> output_false: T, output_true: T; T: type
//     NoOp()
//
// * An argument is `name: what`; `what` is a type (`float`), a type attribute (`T`), `N * T` or `N * float` (a list of
//   N), an attribute that is a list of types (`T: list(type)`), each with `ref ` before it for a reference. A word that
//   names a type is that type; an attribute of such a name is written in quotes: `x: "float"`.
// * An attribute is `name: kind [>= minimum] [= default]`; kinds: string int float bool type shape tensor func,
//   list(kind), `{a, b}` = one of these types, `{"A", "B"}` = one of these strings, list({...}) for lists of them.
//   Lists of types that many ops share have names (dtype_sets.def): `T: floats`, `T: {floats, complexes, string}`.
//   A minimum is that of an int or of the length of a list.
// * Defaults: `"text"` with the escapes \n \t \" \\ \x00; `-3`; `0.1`, `1e-05`, `inf`, `nan`; `true`; `int32`; shapes
//   `[2, ?]`, `[]` and `?` (nothing known); tensors with all their elements, `uint8[2, 2] {255, 0, 0, 255}`, complex
//   ones as `1 -2`; a func is a name (attributes of a default function can't be written); lists `[1, 2]` of all these.
// * Bare words at the end are flags: stateful, commutative, aggregate, allows_uninitialized, distributed;
//   `deprecated(8, "text")`; `control_output name`.
// * A name that is no word of letters, digits and _ is written in quotes. The op's own may also hold `>`.
// * Inputs, outputs and attributes share one space of names: no two are equal.
#pragma once
#include "graph/attr.h"

typedef struct {
    Str name;
    DType dtype;           // DT_INVALID unless the type is fixed
    int16_t type_attr;     // index of the type attribute, or -1
    int16_t number_attr;   // index of N in `N * T`, or -1
    int16_t list_attr;     // index of the list(type) attribute, or -1
    bool is_ref;
} ArgSpec;

typedef struct {
    Str name;
    AttrKind kind;
    bool is_list;
    bool has_minimum;      // of an int, or of the length of a list
    int64_t minimum;
    AttrValue allowed;     // no list: anything; else a list of types or strings
    AttrValue fallback;    // kind ATTR_NONE and not a list: must be given or inferred
    bool has_default;
} AttrSpec;

typedef struct Signature {
    Str name;
    ArgSpec *inputs, *outputs;
    AttrSpec *attrs;
    int16_t n_inputs, n_outputs, n_attrs;
    bool stateful, commutative, aggregate, allows_uninitialized, distributed;
    int deprecated_version;  // 0: not deprecated; else the GraphDef version from which importing it fails
    Str deprecated_text;
    Str *control_outputs;
    int16_t n_control_outputs;
} Signature;

// Parses one line. Everything lies in the arena, the Strs view `text` (which must live as long), the default tensors
// are pushed on `tensors`. INVALID_ARGUMENT with the column.
FALLIBLE Status *signature_parse(Str text, Arena *arena, TensorList *tensors, Signature *out);
void signature_print(Text *text, const Signature *signature);  // the same notation: parse(print(x)) == x
// Whether a value may be given to that attribute: its kind, minimum and allowed values. INVALID_ARGUMENT.
FALLIBLE Status *signature_check_value(const AttrSpec *spec, const AttrValue *value);
int signature_attr(const Signature *signature, Str name);      // index, or -1
