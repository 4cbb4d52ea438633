// Shape rules — a shape function in one line, for ops without a kernel (in known_ops.sig, behind "=>") and plain ones
// with.
//
//     [b t d], [b], * -> [b d], [b] | ...
//
// A pattern per input argument, a result per output argument; what is left out at the end is anything, and the last
// result serves all outputs that follow. Patterns are taken in turn, so that names mean what all inputs know of them:
//     *            anything
//     [a 3 ? X]    extents: a name, a number, an expression, unknown; one capital name or ... stands for any number of them,
//                  &X if they are broadcast
//     2..  0..1    a rank; 0..1:n names the extent of what is a vector
//     X            a whole shape; X:pattern names it and says more. A list's members share names but those with _
//     =k  =[h w]   the value, a size or a vector of sizes of which none is negative, where a constant tells it
//     ~X           the value as a shape, partly known perhaps, a negative size being unknown
//     ^X           the shape behind a handle
//     p&q          both
// Results are *, [...], X or ?X, the rank of X alone. @a is an attribute: a number, a shape, the length of another
// list, or a list of shapes that has a member for each output; @a.1 a member of a list of numbers, fractions in
// thousandths. Expressions know + - * / and < (the lesser), from left to right, parentheses, #X (rank), %X (elements)
// and $_n (the sum over a list). Cases stand behind each other; "(a)", "(!a)" or "(a=word)" says of an attribute,
// "(#input=2)" of a rank, when the first one is meant: (adjoint)[b n m] -> [b m n] | [b n m] -> [b n m].
#pragma once
#include "graph/shapes.h"

// *out_told: the case that was meant has results.
FALLIBLE Status *shape_rule_apply(Str rule, Shapes *s, bool *out_told);
