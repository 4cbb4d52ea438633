// Threads test — what the threaded tests of sessions share.
#pragma once
#include <check.h>

#include "base/status_test.h"
#include "formula/ops.h"

// `while (i < limit) i = i + 1`, all in frames.
static inline Output loop_to(Formula *f, Output limit) {
    FormulaAttr frame[] = {{"frame_name", ATTR_OF_STRING(STR("loop"))}, {"is_constant", ATTR_OF_BOOL(false)}, {0}};
    FormulaAttr invariant[] = {{"frame_name", ATTR_OF_STRING(STR("loop"))}, {"is_constant", ATTR_OF_BOOL(true)}, {0}};
    Output zero = Mul(limit, Scalar(0, limit));
    Output begin = formula_op(f, "Enter", &zero, 1, frame), end = formula_op(f, "Enter", &limit, 1, invariant);
    Output merge = formula_of_list(f, "Merge", (Output[]){begin, begin}, 2, NULL);
    f->before = merge.node;  // constants of the body belong into the loop
    Output more = formula_1(f, "LoopCond", formula_op(f, "All", (Output[]){Less(merge, end), Int(0)}, 2, NULL));
    Output choice = formula_2(f, "Switch", merge, more);
    Output next = formula_1(f, "NextIteration", Add(At(choice, 1), Scalar(1, limit)));
    f->before = NULL;
    GOOD(f->status);
    GOOD(node_set_input(merge.node, 1, next));
    return formula_1(f, "Exit", choice);
}
