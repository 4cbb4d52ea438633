// Shape rule test — the notation piece by piece, on ops without kernel; and every line of both files, on inputs of
// unknown shape.
#include <check.h>

#include "base/suite_test.h"
#include "graph/known_ops.h"
#include "graph/shape_rule.h"
#include "graph/toy_ops_test.h"

static Graph *graph;

static const Op toy_rule = {
    .signature = "RuleToy(inputs: float, labels_indices: int64, labels_values: int32, sequence_length: int32) -> "
                 "loss: float, gradient: float; ctc_merge_repeated: bool = true",
};

static void set_up(void) {
    const OpType *type;
    op_table_set(toy_ops, NULL);
    status_free(op_register(&toy_rule, &type));
    ck_assert_ptr_null(graph_new(&graph));
}

static void tear_down(void) {
    graph_release(graph);
}

// Applies a rule to a node of four inputs and two outputs.
static Status *apply(const char *rule, const Shape *in, const Tensor *const *value, Shape *out) {
    static const char *const names[] = {"inputs", "labels_indices", "labels_values", "sequence_length"};
    static const DType types[] = {DT_float, DT_int64, DT_int32, DT_int32};
    NodeBuilder b;
    builder_init(&b, graph, STR("RuleToy"), (Str){0});
    for (int i = 0; i < 4; i++)
        builder_input(&b, out_of(toy_placeholder(graph, names[i], types[i], UNKNOWN_SHAPE)));
    Node *node;
    ck_assert_ptr_null(builder_finish(&b, &node));
    builder_clear(&b);
    static const HandleShape *const no_handles[4];
    HandleShape *handles_out[2] = {0};
    Shapes s = {.node = node, .in = in, .value = value, .handle = no_handles, .out = out, .handle_out = handles_out,
                .n_in = 4, .n_out = 2, .arena = &graph->arena};
    bool told;
    out[0] = out[1] = UNKNOWN_SHAPE;
    return shape_rule_apply(str_of(rule), &s, &told);
}

typedef struct {
    const char *rule;
    Shape in[3];
    Shape out[2];
} Case;

#define ANY UNKNOWN_SHAPE
static const Case cases[] = {
    {"[a b], [b] -> [b a], [a+1]", {{2, {2, 3}}, {1, {3}}, ANY}, {{2, {3, 2}}, {1, {3}}}},
    {"[a b], [b] -> [b a], []", {{2, {2, -1}}, {1, {3}}, ANY}, {{2, {3, 2}}, {0}}},
    {"[X n n] -> [X n], X", {{4, {5, 6, -1, 2}}, ANY, ANY}, {{3, {5, 6, 2}}, {2, {5, 6}}}},
    {"[X 3] -> [3 X]", {ANY, ANY, ANY}, {ANY, ANY}},
    {"X, X -> X", {ANY, {1, {7}}, ANY}, {{1, {7}}, {1, {7}}}},
    {"X:2.., * -> X, ?X", {{2, {4, 5}}, ANY, ANY}, {{2, {4, 5}}, {2, {-1, -1}}}},
    {"[&X m], [&X m] -> [X m]", {{3, {2, 1, 4}}, {2, {3, -1}}, ANY}, {{3, {2, 3, 4}}, {3, {2, 3, 4}}}},
    {"[&X m], [&X m] -> [X m]", {{3, {2, 1, 4}}, ANY, ANY}, {ANY, ANY}},
    {"[a b] -> [(a-1)*2/b a<b]", {{2, {7, 5}}, ANY, ANY}, {{2, {2, 5}}, {2, {2, 5}}}},
    {"X, [#X] -> [%X]", {{2, {7, 5}}, {1, {2}}, ANY}, {{1, {35}}, {1, {35}}}},
    {"0..1:n, 0..1:n -> [n]", {{0}, {1, {4}}, ANY}, {{1, {4}}, {1, {4}}}},
    {"(#inputs=1)[n] -> [n n] | * -> []", {{1, {4}}, ANY, ANY}, {{2, {4, 4}}, {2, {4, 4}}}},
    {"(#inputs=1)[n] -> [n n] | * -> []", {{2, {4, 4}}, ANY, ANY}, {{0}, {0}}},
    {"(ctc_merge_repeated)* -> [1] | * -> [2]", {ANY, ANY, ANY}, {{1, {1}}, {1, {1}}}},
    {"(!ctc_merge_repeated)* -> [1] | * -> [2]", {ANY, ANY, ANY}, {{1, {2}}, {1, {2}}}},
    {"*, *, ~[a X] -> [X], [a]", {ANY, ANY, {1, {3}}}, {{2, {8, 9}}, {1, {-1}}}},
    {"*, *, =[a b c] -> [c b a]", {ANY, ANY, {1, {3}}}, {{3, {9, 8, -1}}, {3, {9, 8, -1}}}},
};

START_TEST(shapes_follow) {
    const Case *c = &cases[_i];
    int32_t numbers[3] = {-1, 8, 9};
    Tensor known = {.data = numbers, .dtype = DT_int32, .shape = SHAPE(3)};
    const Tensor *value[4] = {NULL, NULL, c->in[2].rank == 1 ? &known : NULL, NULL};
    Shape in[4] = {c->in[0], c->in[1], c->in[2], UNKNOWN_SHAPE}, out[2];
    ck_assert_ptr_null(apply(c->rule, in, value, out));
    for (int i = 0; i < 2; i++)
        ck_assert_msg(shape_equal(&out[i], &c->out[i]), "%s: %s, not %s", c->rule, shape_text(&out[i]),
                      shape_text(&c->out[i]));
}
END_TEST

static const Case refusals[] = {
    {"[a b]", {{1, {2}}, ANY, ANY}, {ANY, ANY}},
    {"[a a]", {{2, {2, 3}}, ANY, ANY}, {ANY, ANY}},
    {"[a 3]", {{2, {2, 4}}, ANY, ANY}, {ANY, ANY}},
    {"[... 1 2]", {{1, {2}}, ANY, ANY}, {ANY, ANY}},
    {"X, X", {{1, {2}}, {1, {3}}, ANY}, {ANY, ANY}},
    {"0..1", {{2, {2, 2}}, ANY, ANY}, {ANY, ANY}},
    {"2..", {{1, {2}}, ANY, ANY}, {ANY, ANY}},
    {"[a b] -> [a-b]", {{2, {2, 3}}, ANY, ANY}, {ANY, ANY}},
    {"[a b] -> [a/b]", {{2, {2, 0}}, ANY, ANY}, {ANY, ANY}},
    {"[a b] -> [a*b]", {{2, {INT64_MAX, 3}}, ANY, ANY}, {ANY, ANY}},
    {"*, *, ~S -> S", {ANY, ANY, {0}}, {ANY, ANY}},
};

START_TEST(what_does_not_fit_is_refused) {
    const Case *c = &refusals[_i];
    const Tensor *value[4] = {NULL};
    Shape in[4] = {c->in[0], c->in[1], c->in[2], UNKNOWN_SHAPE}, out[2];
    Status *status = apply(c->rule, in, value, out);
    ck_assert_msg(status_code(status) == INVALID_ARGUMENT, "%s", c->rule);
    status_free(status);
}
END_TEST

static const char *const malformed[] = {"[a", "X:", "[a b] -> [a", "[a] [b]", "!", "[a] -> [a*]", "(a", "[a] -> ,"};

START_TEST(malformed_rules_are_told) {
    const Tensor *value[4] = {NULL};
    Shape in[4] = {SHAPE(2), SHAPE(2), SHAPE(2), SHAPE(2)}, out[2];
    Status *status = apply(malformed[_i], in, value, out);
    ck_assert_msg(!status || status_code(status) == INTERNAL || status_code(status) == INVALID_ARGUMENT, "%s",
                  malformed[_i]);
    status_free(status);
}
END_TEST

START_TEST(rules_are_found) {
    Str line;
    ck_assert(known_op_find(STR("FractionalAvgPool"), &line));
    ck_assert(line.p[line.n - 1] != ' ' && known_op_rule(line).n > 0);
    ck_assert(construction_rule(STR("TensorListLength")).n > 0);
    ck_assert(construction_rule(STR("Const")).n == 0 && construction_rule(STR("")).n == 0);
    ck_assert(construction_rule(STR("Zzz")).n == 0 && construction_rule(STR("A")).n == 0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("shape_rule");
    TCase *tests = tcase_create("rules");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, shapes_follow, 0, sizeof cases / sizeof *cases);
    tcase_add_loop_test(tests, what_does_not_fit_is_refused, 0, sizeof refusals / sizeof *refusals);
    tcase_add_loop_test(tests, malformed_rules_are_told, 0, sizeof malformed / sizeof *malformed);
    tcase_add_test(tests, rules_are_found);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
