// Import test — GraphDefs in text form, imported with every option, and what hostile ones get.
#include <check.h>
#include <stdio.h>
#include <time.h>

#include "base/suite_test.h"
#include "graph/build.h"
#include "graph/graph_def.h"
#include "graph/shapes.h"
#include "ops/all_ops.h"
#include "proto/text.h"

static Status *shape_never(Shapes *s) {
    (void)s;
    FAIL(INVALID_ARGUMENT, "no shape is good enough");
}
static const Op op_Cross = {.signature = "Cross3(x: float) -> y: float", .shape = shape_never};

static Graph *graph;
static ImportResults results;

static void set_up(void) {
    op_table_set(all_ops, all_rewrites);
    const OpType *cross;
    status_free(op_register(&op_Cross, &cross));  // ALREADY_EXISTS where tests share a process
    Status *status = graph_new(&graph);
    ck_assert(!status);
    results = (ImportResults){0};
}

static void tear_down(void) {
    Status *status = graph_check(graph);
    ck_assert_msg(!status, "%s", status_message(status));
    import_results_clear(&results);
    graph_release(graph);
}

static Status *try_import(const char *text, const ImportOptions *options) {
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text bytes = {0};
    GraphDef *def;
    Status *status = PROTO_PARSE(GraphDef, &arena, str_of(text), &def);
    ck_assert_msg(!status, "%s", status_message(status));
    status = PROTO_ENCODE(GraphDef, def, &bytes);
    ck_assert(!status);
    import_results_clear(&results);
    return graph_import(graph, text_str(&bytes), options, &results);
}

static void import_with(const char *text, const ImportOptions *options) {
    Status *status = try_import(text, options);
    ck_assert_msg(!status, "%s", status_message(status));
}

static void import(const char *text) {
    import_with(text, NULL);
}

// Fails with that code and leaves the graph as it was.
static void refuse_with(const char *text, const ImportOptions *options, Code code, const char *part) {
    size_t nodes = graph->nodes.n, tensors = graph->tensors.n, functions = graph->functions->order.n;
    uint64_t version = graph->version, edit = graph->edit;
    AUTO(status) Status *status = try_import(text, options);
    ck_assert_msg(status != NULL, "imported: %s", text);
    ck_assert_msg(status_code(status) == code, "%s: %s", code_name(status_code(status)), status_message(status));
    ck_assert_msg(strstr(status_message(status), part) != NULL, "'%s' lacks '%s'", status_message(status), part);
    ck_assert_uint_eq(graph->nodes.n, nodes);
    ck_assert_uint_eq(graph->names.n, nodes);
    ck_assert_uint_eq(graph->tensors.n, tensors);
    ck_assert_uint_eq(graph->functions->order.n, functions);
    ck_assert_uint_eq(graph->version, version);
    ck_assert_uint_eq(graph->edit, edit);
}

static void refuse(const char *text, Code code, const char *part) {
    refuse_with(text, NULL, code, part);
}

static Node *node(const char *name) {
    Node *found = graph_find(graph, str_of(name));
    ck_assert_msg(found != NULL, "no node %s", name);
    return found;
}

static void is_input(const char *name, int input, const char *from, int index) {
    const Node *n = node(name);
    ck_assert_int_lt(input, n->n_inputs);
    ck_assert_ptr_eq(n->inputs[input].node, node(from));
    ck_assert_int_eq(n->inputs[input].index, index);
}

static bool runs_after(const char *name, const char *before) {
    const Node *n = node(name);
    for (int i = 0; i < n->n_controls; i++)
        if (n->controls[i] == node(before))
            return true;
    return false;
}

#define P(name) "node { name: '" name "' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } } "
#define ADD(name, x, y) \
    "node { name: '" name "' op: 'AddV2' input: '" x "' input: '" y "' attr { key: 'T' value { type: DT_FLOAT } } } "
#define NOOP(name, inputs) "node { name: '" name "' op: 'NoOp' " inputs " } "

// ---------------------------------------- nodes

START_TEST(order_is_kept_and_defaults_are_filled) {
    import(P("b") P("a") ADD("c", "a", "b:0"));
    ck_assert(str_is(graph->nodes.p[0]->name, "b") && str_is(graph->nodes.p[1]->name, "a"));
    is_input("c", 0, "a", 0);
    is_input("c", 1, "b", 0);
    const AttrValue *shape = node_attr_find(node("a"), "shape");
    ck_assert(shape && shape->kind == ATTR_SHAPE && shape->shape->rank == UNKNOWN_RANK);
    ck_assert_int_eq(graph->versions.producer, 0);  // the GraphDef says nothing of its producer
}
END_TEST

START_TEST(forward_references) {
    import(ADD("d", "c", "c") ADD("c", "a", "b") P("b") P("a"));
    ck_assert(str_is(graph->nodes.p[0]->name, "b") && str_is(graph->nodes.p[3]->name, "d"));
    is_input("d", 1, "c", 0);
}
END_TEST

START_TEST(duplicate_names) {
    refuse(P("a") P("a"), INVALID_ARGUMENT, "'a' is not unique");
    import(P("a") P("s/t/u"));
    refuse(P("b") P("a"), INVALID_ARGUMENT, "'a' already exists");
    refuse(P("s/t"), INVALID_ARGUMENT, "'s/t' already exists");  // the scope is taken
}
END_TEST

START_TEST(bad_names) {
    const char *bad[] = {"", " ", "a b", "_a", "-a", "/a", "a>", "a>_b", "\\303\\251", "a\\000b", "^a", "a:0"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        AUTO(text) Text text = {0};
        text_format(&text, "node { name: '%s' op: 'NoOp' }", bad[i]);
        refuse(text.p, INVALID_ARGUMENT, "invalid characters");
    }
    import(NOOP("a.B-_/9>b", "") NOOP(".a", "") NOOP("0", ""));
    ImportOptions options = {.internal_names = true};
    import_with(NOOP("_a", ""), &options);
    refuse_with(NOOP("_", ""), &options, INVALID_ARGUMENT, "invalid characters");
}
END_TEST

START_TEST(bad_inputs) {
    refuse(ADD("c", "a", "b") P("a"), INVALID_ARGUMENT, "Unknown input node 'b'");
    refuse(P("a") ADD("c", "a", "a:1"), INVALID_ARGUMENT, "invalid output 1 of source node a which has 1");
    refuse(P("a") ADD("c", "a", "a:99999999999999999999"), INVALID_ARGUMENT, "Unknown input node");
    refuse(P("a") ADD("c", "a", "a:-1"), INVALID_ARGUMENT, "Unknown input node");
    refuse(P("a") ADD("c", "a", ""), INVALID_ARGUMENT, "Unknown input node ''");
    refuse(P("a") ADD("c", "^a", "a"), INVALID_ARGUMENT, "must come after regular");
    refuse(P("a") ADD("c", "a", "^a"), INVALID_ARGUMENT, "{{node c}}");
    refuse(P("a") "node { name: 'c' op: 'AddV2' input: ['a', 'a', 'a'] attr { key: 'T' value { type: DT_FLOAT } } }",
           INVALID_ARGUMENT, "{{node c}}");
    refuse(P("a") "node { name: 'c' op: 'AddV2' input: ['a', 'a'] attr { key: 'T' value { type: DT_INT32 } } }",
           INVALID_ARGUMENT, "{{node c}}");
}
END_TEST

START_TEST(cycles) {
    refuse(ADD("a", "b", "b") ADD("b", "a", "a"), INVALID_ARGUMENT, "2 nodes in a cycle");
    refuse(ADD("a", "a", "a"), INVALID_ARGUMENT, "cycle");
    refuse(NOOP("a", "input: '^a'"), INVALID_ARGUMENT, "cycle");
    refuse(NOOP("a", "input: '^b'") NOOP("b", "input: '^a'") P("c"), INVALID_ARGUMENT, "2 nodes in a cycle");
}
END_TEST

#define T_FLOAT "attr { key: 'T' value { type: DT_FLOAT } } "
#define MERGE(name, x, y)                                                     \
    "node { name: '" name "' op: 'Merge' input: '" x "' input: '" y "' " T_FLOAT \
    "attr { key: 'N' value { i: 2 } } } "
#define NEXT(name, x) "node { name: '" name "' op: 'NextIteration' input: '" x "' " T_FLOAT "} "

START_TEST(loops_close_at_a_merge) {
    import(P("x") MERGE("m", "x", "n") ADD("y", "m", "x") NEXT("n", "y"));
    is_input("m", 1, "n", 0);
    is_input("n", 0, "y", 0);
    ck_assert_int_eq(node("m")->output_shapes[0].rank, UNKNOWN_RANK);
    refuse(P("u") MERGE("v", "u", "w") ADD("w", "v", "u"), INVALID_ARGUMENT, "cycle");  // no NextIteration
    refuse(P("u") MERGE("v", "u", "w") "node { name: 'w' op: 'NextIteration' input: 'v:1' attr { key: 'T' value { "
           "type: DT_INT32 } } }", INVALID_ARGUMENT, "v");  // of another type
    refuse(P("u") MERGE("v", "u", "w:3") NEXT("w", "v"), INVALID_ARGUMENT, "invalid output 3");
}
END_TEST

// ---------------------------------------- attributes

START_TEST(attributes) {
    import("node { name: 'a' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } "
           "attr { key: 'from_the_future' value { i: 7 } } attr { key: '_mine' value { s: 'kept' } } "
           "attr { key: '_output_shapes' value { list { shape { dim { size: -7 } } } } } }");
    ck_assert(!node_attr_find(node("a"), "from_the_future"));
    ck_assert(!node_attr_find(node("a"), "_output_shapes"));
    ck_assert(str_is(node_str(node("a"), "_mine"), "kept"));
    refuse("node { name: 'b' op: 'Placeholder' }", INVALID_ARGUMENT, "{{node b}}");
    refuse("node { name: 'b' op: 'Placeholder' attr { key: 'dtype' value { i: 1 } } }", INVALID_ARGUMENT, "dtype");
    refuse("node { name: 'b' op: 'Placeholder' attr { key: 'dtype' value { } } }", INVALID_ARGUMENT, "dtype");
    refuse("node { name: 'b' op: 'Placeholder' attr { key: 'dtype' value { type: 77 } } }", INVALID_ARGUMENT, "77");
    refuse("node { name: 'b' op: 'Placeholder' attr { key: 'dtype' value { list { i: 1 s: 'x' } } } }",
           INVALID_ARGUMENT, "at once");
    refuse(P("x") "node { name: 'b' op: 'AddV2' input: ['x', 'x'] attr { key: 'T' value { type: DT_STRING } } }",
           INVALID_ARGUMENT, "{{node b}}");
}
END_TEST

#define CONST(name, tensor)                                                                                      \
    "node { name: '" name "' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { " \
    "tensor { dtype: DT_FLOAT " tensor " } } } } "

START_TEST(tensors) {
    import(CONST("a", "tensor_shape { dim { size: 3 } } float_val: 2.5"));
    const AttrValue *value = node_attr_find(node("a"), "value");
    ck_assert_int_eq(tensor_count(value->tensor), 3);
    ck_assert_float_eq(((const float *)value->tensor->data)[2], 2.5F);
    refuse(CONST("b", "tensor_shape { dim { size: -5 } } float_val: 1"), INVALID_ARGUMENT, "{{node b}}");
    refuse(CONST("b", "tensor_shape { dim { size: 3 } } tensor_content: 'abc'"), INVALID_ARGUMENT, "{{node b}}");
    refuse(CONST("b", "tensor_shape { dim { size: 4611686018427387904 } dim { size: 8 } } float_val: 1"),
           INVALID_ARGUMENT, "{{node b}}");
    // A few bytes must not take the machine's memory.
    refuse(CONST("b", "tensor_shape { dim { size: 1000000000000 } } float_val: 1"), RESOURCE_EXHAUSTED, "{{node b}}");
    refuse(CONST("b", "tensor_shape { dim { size: 0 } } float_val: 1") CONST("c", "tensor_shape { unknown_rank: true }"),
           INVALID_ARGUMENT, "{{node c}}");
}
END_TEST

START_TEST(shape_function_refuses) {
    refuse(P("w") "node { name: 'c' op: 'Cross3' input: 'w' } ", INVALID_ARGUMENT, "good enough");
}
END_TEST

// ---------------------------------------- versions

START_TEST(versions) {
    import(P("old") "version: 21");
    ck_assert_int_eq(graph->versions.producer, 0);
    refuse("versions { producer: -1 }", INVALID_ARGUMENT, "below min producer");
    refuse("versions { producer: 9999 min_consumer: 9999 }", INVALID_ARGUMENT, "min consumer version 9999");
    AUTO(text) Text text = {0};
    text_format(&text, "versions { producer: 9999 bad_consumers: [3, %d] }", GRAPH_DEF_VERSION);
    refuse(text.p, INVALID_ARGUMENT, "disallows consumer version");
    import("versions { producer: 9999 min_consumer: 12 bad_consumers: 3 bad_consumers: 3 }");
    ck_assert_int_eq(graph->versions.producer, 0);
    ck_assert_int_eq(graph->versions.min_consumer, 12);
    ck_assert_uint_eq(graph->versions.bad_consumers.n, 1);
}
END_TEST

#define CROP                                                                                               \
    "node { name: 'size' op: 'Placeholder' attr { key: 'dtype' value { type: DT_INT64 } } } "              \
    "node { name: 'crop' op: 'RandomCrop' input: ['image', 'size'] attr { key: 'T' value { type: DT_FLOAT } } } "

START_TEST(removed_ops) {
    refuse(P("image") CROP "versions { producer: 8 }", UNIMPLEMENTED, "removed in version 8");
    import(P("image") CROP "versions { producer: 7 }");
    refuse("node { name: 'q' op: 'NoSuchOp' }", NOT_FOUND, "NoSuchOp");
}
END_TEST

// ---------------------------------------- options

START_TEST(prefix) {
    ImportOptions options = {.prefix = STR("p"), .validate_colocation = true, .default_device = STR("/cpu:0")};
    import_with(P("a") "node { name: 'b' op: 'NoOp' input: '^a' device: '/gpu:1' attr { key: '_class' value { list { s: "
                "'loc:@a' } } } } node { name: 'e' op: 'Enter' input: 'a' " T_FLOAT
                "attr { key: 'frame_name' value { s: 'f' } } }", &options);
    ck_assert(runs_after("p/b", "p/a"));
    ck_assert(str_is(node_list(node("p/b"), "_class")->ss[0], "loc:@p/a"));
    ck_assert(str_is(node_str(node("p/e"), "frame_name"), "p/f"));
    ck_assert(str_is(node("p/a")->device, "/cpu:0") && str_is(node("p/b")->device, "/gpu:1"));
    options.uniquify_prefix = true;
    import_with(P("a"), &options);
    ck_assert(node("p_1/a"));
    import_with(P("a"), &options);
    ck_assert(node("p_2/a"));
    options.prefix = STR("s//");  // one slash of it is the prefix's own
    import_with(P("a"), &options);
    ck_assert(node("s//a"));
    options.prefix = STR("bad name");
    refuse_with(P("a"), &options, INVALID_ARGUMENT, "invalid node names");
}
END_TEST

// As in TensorFlow: the later node is the one that is found, until it is gone.
START_TEST(names_repeat_under_a_prefix) {
    ImportOptions options = {.prefix = STR("p"), .validate_colocation = true};
    import_with(P("a") P("b"), &options);
    Node *first = node("p/a");
    refuse_with(P("c") P("a") "node { name: 'w' op: 'Cross3' input: 'a' } ", &options, INVALID_ARGUMENT, "good enough");
    ck_assert(node("p/a") == first && !graph->twice);
    uint64_t edit = graph->edit;
    import_with(P("c") P("a") P("b"), &options);
    ck_assert(node("p/a") != first && graph->twice == node("p/a") && graph->edit != edit);
    import_with(P("a"), &options);
    ck_assert(node("p/a")->id == 5);
    ck_assert(str_is(graph->twice->name, "p/a") && graph->twice->id == 3);
    options.prefix = STR("");
    refuse_with(P("p/a"), &options, INVALID_ARGUMENT, "Node name 'p/a' already exists in the Graph");
}
END_TEST

START_TEST(uniquify_names) {
    ImportOptions options = {.uniquify_names = true, .validate_colocation = true};
    import(P("a") P("s/t"));
    import_with(P("a") P("a_1") P("s") ADD("sum", "a", "a_1")
                "node { name: 'n' op: 'NoOp' attr { key: '_class' value { list { s: 'loc:@a' } } } }", &options);
    is_input("sum", 0, "a_2", 0);  // a_1 is a name of the GraphDef
    is_input("sum", 1, "a_1", 0);
    ck_assert(node("s_1"));
    ck_assert(str_is(node_list(node("n"), "_class")->ss[0], "loc:@a_2"));
}
END_TEST

START_TEST(input_map) {
    import(P("x") NOOP("go", ""));
    InputMapping map[] = {
        {{STR("a"), 0}, {node("x"), 0}},
        {{STR("gone"), 0}, {node("x"), 0}},
        {{STR("a"), CONTROL}, {node("go"), CONTROL}},
        {{STR("c"), 0}, {node("x"), 0}},
        {{STR("c"), 5}, {node("x"), 0}},
    };
    TensorName returned[] = {{STR("a"), 0}, {STR("c"), 0}};
    Str nodes[] = {STR("a"), STR("c")};
    ImportOptions options = {.input_map = map, .n_input_map = 5, .prefix = STR("q"), .return_outputs = returned,
                             .n_return_outputs = 2, .return_nodes = nodes, .n_return_nodes = 2};
    import_with(P("a") ADD("c", "a", "a") NOOP("end", "input: '^a'"), &options);
    is_input("q/c", 1, "x", 0);
    ck_assert(runs_after("q/end", "go"));
    ck_assert(results.return_outputs[0].node == node("x") && results.return_outputs[1].node == node("x"));
    ck_assert(results.return_nodes[0] == node("q/a") && results.return_nodes[1] == node("q/c"));
    ck_assert_int_eq(results.n_unused_mappings, 2);
    ck_assert(str_is(results.unused_mappings[0].name, "gone"));
    ck_assert(str_is(results.unused_mappings[1].name, "c") && results.unused_mappings[1].index == 5);
    map[0].to.index = 3;
    refuse_with(P("z"), &options, INVALID_ARGUMENT, "output 3");
    map[0].to = (Output){node("go"), CONTROL};
    refuse_with(P("z"), &options, INVALID_ARGUMENT, "between a control edge");
}
END_TEST

START_TEST(return_what_is_not_there) {
    TensorName output = {STR("a"), 1};
    ImportOptions options = {.return_outputs = &output, .n_return_outputs = 1};
    refuse_with(P("a"), &options, INVALID_ARGUMENT, "Invalid return output 1 of node 'a'");
    output = (TensorName){STR("z"), 0};
    refuse_with(P("a"), &options, INVALID_ARGUMENT, "'z:0' not found");
    Str name = STR("z");
    options = (ImportOptions){.return_nodes = &name, .n_return_nodes = 1};
    refuse_with(P("a"), &options, INVALID_ARGUMENT, "'z' not found");
}
END_TEST

START_TEST(control_dependencies) {
    import(NOOP("first", "") P("x"));
    Node *controls[] = {node("first")};
    InputMapping map = {{STR("a"), 0}, {node("x"), 0}};
    ImportOptions options = {.controls = controls, .n_controls = 1, .prefix = STR("q"), .input_map = &map,
                             .n_input_map = 1};
    import_with(P("a") P("b") ADD("c", "b", "b") ADD("d", "a", "a") MERGE("m", "a", "n") NEXT("n", "m"), &options);
    ck_assert(runs_after("q/a", "first") && runs_after("q/b", "first"));
    ck_assert(!runs_after("q/c", "first"));  // runs after b
    ck_assert(runs_after("q/d", "first"));   // reads only what was there
    ck_assert(runs_after("q/m", "first"));   // a back edge doesn't help
    ck_assert(!runs_after("q/n", "first"));
}
END_TEST

START_TEST(colocation) {
#define WITH_Z "node { name: 'n' op: 'NoOp' attr { key: '_class' value { list { s: 'loc:@z' } } } }"
    ImportOptions options = {.validate_colocation = true};
    refuse_with(WITH_Z, &options, INVALID_ARGUMENT, "unknown node 'z'");
    options.validate_colocation = false;
    import_with(WITH_Z, &options);
}
END_TEST

// ---------------------------------------- bytes

START_TEST(malformed_bytes) {
    const char *bad[] = {"\x0a", "\x0a\005abc", "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "\x0b", "\x00\x00",
                         "\x0a\x02\x0a\x7f", "\x12\x03\x0a\x09z", "\x22\x02\x1a\x30", "garbage"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ImportResults untouched = {0};
        AUTO(status) Status *status = graph_import(graph, (Str){bad[i], strlen(bad[i]) + (bad[i][0] == 0)}, NULL,
                                                   &untouched);
        ck_assert_msg(status != NULL, "%zu", i);
        ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    }
    ck_assert_uint_eq(graph->nodes.n, 0);
    ImportResults none;
    Status *status = graph_import(graph, (Str){NULL, 0}, NULL, &none);
    ck_assert(!status);
    import_results_clear(&none);
}
END_TEST

// What was exported imports into another graph and comes out the same.
START_TEST(export_and_back) {
    import(P("x") MERGE("m", "x", "n:0") ADD("y", "m", "x") NEXT("n", "y") CONST("k", "tensor_shape { } float_val: 3")
           NOOP("g", "input: '^y' input: '^k'")
           "library { function { signature { name: 'F' input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'b' "
           "type: DT_FLOAT } } ret { key: 'b' value: 'a' } } function { signature { name: 'G' } } gradient { "
           "function_name: 'F' gradient_func: 'G' } registered_gradients { gradient_func: 'G' registered_op_type: 'Abs' } } "
           "versions { producer: 1000 min_consumer: 3 bad_consumers: [1, 2] }");
    ck_assert_int_eq(graph->versions.min_consumer, 12);  // for the functions
    AUTO(text) Text first = {0};
    AUTO(text) Text second = {0};
    Status *status = graph_to_proto(graph, &first);
    ck_assert(!status);
    Graph *other;
    ImportResults none;
    status = graph_new(&other);
    ck_assert(!status);
    status = graph_import(other, text_str(&first), NULL, &none);
    ck_assert_msg(!status, "%s", status_message(status));
    import_results_clear(&none);
    ck_assert_uint_eq(other->nodes.n, 6);
    status = graph_to_proto(other, &second);
    ck_assert(!status);
    ck_assert(str_equal(text_str(&first), text_str(&second)));
    graph_release(other);
}
END_TEST

START_TEST(a_million_nodes) {
    AUTO(text) Text bytes = {0};
    enum { NODES = 1000000 };
    for (int i = 0; i < NODES; i++) {
        AUTO(text) Text one = {0};
        text_format(&one, "%c%cn%06d%c%cNoOp", 10, 7, i, 18, 4);
        if (i < NODES - 1)  // each runs after the next one: nothing is in order
            text_format(&one, "%c%c^n%06d", 26, 8, i + 1);
        text_format(&bytes, "%c%c", 10, (int)one.n);
        text_add(&bytes, text_str(&one));
    }
    clock_t start = clock();
    Status *status = graph_import(graph, text_str(&bytes), NULL, &results);
    ck_assert_msg(!status, "%s", status_message(status));
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    ck_assert_uint_eq(graph->nodes.n, NODES);
    ck_assert(str_is(graph->nodes.p[0]->name, "n999999"));
    printf("a million nodes imported in %.2f s\n", seconds);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("import");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, order_is_kept_and_defaults_are_filled);
    tcase_add_test(c, forward_references);
    tcase_add_test(c, duplicate_names);
    tcase_add_test(c, bad_names);
    tcase_add_test(c, bad_inputs);
    tcase_add_test(c, cycles);
    tcase_add_test(c, loops_close_at_a_merge);
    tcase_add_test(c, attributes);
    tcase_add_test(c, tensors);
    tcase_add_test(c, shape_function_refuses);
    tcase_add_test(c, versions);
    tcase_add_test(c, removed_ops);
    tcase_add_test(c, prefix);
    tcase_add_test(c, names_repeat_under_a_prefix);
    tcase_add_test(c, uniquify_names);
    tcase_add_test(c, input_map);
    tcase_add_test(c, return_what_is_not_there);
    tcase_add_test(c, control_dependencies);
    tcase_add_test(c, colocation);
    tcase_add_test(c, malformed_bytes);
    tcase_add_test(c, export_and_back);
    tcase_add_test(c, a_million_nodes);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return run_suite(suite());
}
