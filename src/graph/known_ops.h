// Known ops — the signatures of TensorFlow's ops that have no kernel here, so that any graph imports.
//
// known_ops.sig is part of the library, packed: half a millisecond at the first question unpacks it for good. Its lines
// are sorted by name, lookup is a binary search over the text. Behind "=>" a line has the op's shape rule
// (shape_rule.h). An op that gets a kernel carries both in its own file and leaves that list.
#pragma once
#include "base/str.h"

bool known_ops_read(void);                       // false: no memory for the text; the functions below then find nothing
bool known_op_find(Str name, Str *out_line);     // the signature of that op: its line up to "=>"
// What construction.rules says of an op that has a kernel: which inputs a graph takes, where that is more than it can
// run; empty where its needs and its shape function tell that too.
Str construction_rule(Str name);
// Visits the lines in order: `size_t at = 0; while (known_op_next(&at, &line)) ...`.
bool known_op_next(size_t *at, Str *out_line);
Str known_op_name(Str line);                     // what stands before '('
Str known_op_rule(Str line);                     // of a line that these gave: what stands behind "=>", or nothing
