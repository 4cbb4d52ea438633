// Codec test — tables, the wire form of every kind, merging, unknown fields, and bytes that mean harm.
#include <check.h>
#include <stdlib.h>

#include "base/suite_test.h"
#include "proto/messages.h"
#include "tensor/dtype.h"

static Arena arena;

static void set_up(void) {
    arena = (Arena){0};
}
static void tear_down(void) {
    arena_clear(&arena);
}

#define BYTES(...) ((Str){(const char *)(const unsigned char[]){__VA_ARGS__}, sizeof((unsigned char[]){__VA_ARGS__})})

// The message views the bytes: a literal of them must live as long as the test, so this is no block of its own.
#define DECODED(Type, bytes) ((Type *)decoded(&message_##Type, (bytes)))

static void *decoded(const MessageType *type, Str bytes) {
    void *message = NULL;
    Status *status = proto_decode(&arena, type, bytes, &message);
    ck_assert_msg(!status, "%s", status_message(status));
    return message;
}

static Code decode_code(const MessageType *type, Str bytes) {
    void *message;
    AUTO(status) Status *status = proto_decode(&arena, type, bytes, &message);
    return status_code(status);
}

static Str encoded(const MessageType *type, const void *message) {
    AUTO(text) Text out = {0};
    Status *status = proto_encode(type, message, &out);
    ck_assert_msg(!status, "%s", status_message(status));
    return str_copy(&arena, text_str(&out));
}

static void same_bytes(Str got, Str expected) {
    ck_assert_uint_eq(got.n, expected.n);
    ck_assert_mem_eq(got.p, expected.p, expected.n);
}

// Decoding and encoding gives the same bytes.
static void stays(const MessageType *type, Str bytes) {
    void *message;
    Status *status = proto_decode(&arena, type, bytes, &message);
    ck_assert_msg(!status, "%s", status_message(status));
    same_bytes(encoded(type, message), bytes);
}

static const MessageType *const all[] = {
#define MESSAGE(Type, name) &message_##Type,
#include "proto/messages.def"
};
enum { ALL = sizeof all / sizeof *all };

// ---- tables

START_TEST(tables_hold_together) {
    for (size_t m = 0; m < ALL; m++) {
        const MessageType *type = all[m];
        bool has_oneof = false;
        uint32_t before = 0;
        for (unsigned i = 0; i < type->n_fields; i++) {
            const Field *field = &type->fields[i];
            ck_assert_msg(field->number > before, "%s.%s is out of order", type->name, field->name);
            before = field->number;
            ck_assert_ptr_eq(message_field(type, str_of(field->name)), field);
            ck_assert(field->offset >= sizeof(MessageHead) && field->offset < type->size);
            ck_assert((field->kind == PROTO_message) == (field->sub != NULL));
            ck_assert((field->kind == PROTO_enum) == (field->enumeration != NULL));
            has_oneof |= field->in_oneof;
            if (field->is_map) {
                ck_assert_uint_eq(field->sub->n_fields, 2);
                ck_assert_str_eq(field->sub->fields[0].name, "key");
                ck_assert_str_eq(field->sub->fields[1].name, "value");
            }
        }
        ck_assert_msg(has_oneof == (type->which != 0), "%s", type->name);
        ck_assert_uint_eq(decode_code(type, (Str){0}), CODE_OK);
    }
    ck_assert_uint_gt(ALL, 90);
}
END_TEST

START_TEST(enumerations_have_names) {
    char scratch[32];
    int32_t number;
    ck_assert_str_eq(enum_name(&enum_DataType, 1, scratch), "DT_FLOAT");
    ck_assert_str_eq(enum_name(&enum_DataType, 0, scratch), "DT_INVALID");
    ck_assert_str_eq(enum_name(&enum_DataType, 118, scratch), "DT_COMPLEX128_REF");
    ck_assert_str_eq(enum_name(&enum_DataType, 27, scratch), "DT_FLOAT8_E4M3B11FNUZ");
    ck_assert_ptr_null(enum_name(&enum_DataType, 99, scratch));
    ck_assert_ptr_null(enum_name(&enum_DataType, -1, scratch));
    for (int i = 0; i < DTYPES + DT_REF; i++) {
        const char *name = enum_name(&enum_DataType, i, scratch);
        if (name)
            ck_assert(enum_find(&enum_DataType, str_of(name), &number) && number == i);
    }
    ck_assert(!enum_find(&enum_DataType, STR("DT_float"), &number));
    ck_assert(!enum_find(&enum_DataType, STR("FLOAT"), &number));
    ck_assert(!enum_find(&enum_DataType, STR("DT_"), &number));
    ck_assert(enum_find(&enum_OptimizerOptions_Level, STR("L0"), &number) && number == -1);
    ck_assert_str_eq(enum_name(&enum_RunOptions_TraceLevel, 3, scratch), "FULL_TRACE");
    ck_assert_int_eq(RunOptions_TraceLevel_FULL_TRACE, 3);
}
END_TEST

// ---- the wire form

START_TEST(scalars_have_their_wire_form) {
    VersionDef versions = {.producer = 300, .min_consumer = -1};
    same_bytes(encoded(&message_VersionDef, &versions),
               BYTES(8, 0xac, 2, 16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1));
    VersionDef *again = DECODED(VersionDef, encoded(&message_VersionDef, &versions));
    ck_assert_int_eq(again->producer, 300);
    ck_assert_int_eq(again->min_consumer, -1);

    DeviceAttributesProto device = {.name = STR("d"), .memory_limit = INT64_MIN, .incarnation = 0x0102030405060708};
    Str bytes = encoded(&message_DeviceAttributesProto, &device);
    same_bytes(bytes,
               BYTES(10, 1, 'd', 32, 128, 128, 128, 128, 128, 128, 128, 128, 128, 1, 49, 8, 7, 6, 5, 4, 3, 2, 1));
    DeviceAttributesProto *same = DECODED(DeviceAttributesProto, bytes);
    ck_assert_int_eq(same->memory_limit, INT64_MIN);
    ck_assert_uint_eq(same->incarnation, 0x0102030405060708);

    BundleEntryProto entry = {.crc32c = 0xdeadbeef};
    same_bytes(encoded(&message_BundleEntryProto, &entry), BYTES(53, 0xef, 0xbe, 0xad, 0xde));
    Summary_Value value = {.which = Summary_Value_simple_value, .simple_value = 0};
    same_bytes(encoded(&message_Summary_Value, &value), BYTES(21, 0, 0, 0, 0));  // a oneof's member, even as zero
    stays(&message_HistogramProto, BYTES(9, 0, 0, 0, 0, 0, 0, 0, 0x80));         // -0.0 is not the default
    NodeExecStatsProto stats = {.thread_id = UINT32_MAX};
    same_bytes(encoded(&message_NodeExecStatsProto, &stats), BYTES(80, 0xff, 0xff, 0xff, 0xff, 15));
}
END_TEST

START_TEST(strings_are_views) {
    Str bytes = BYTES(10, 2, 'a', 0, 18, 1, 'b');
    NodeDef *node = DECODED(NodeDef, bytes);
    ck_assert_ptr_eq(node->name.p, bytes.p + 2);
    ck_assert_uint_eq(node->name.n, 2);
    ck_assert(str_is(node->op, "b"));
    ck_assert_uint_eq(node->device.n, 0);
}
END_TEST

START_TEST(packed_and_not_are_read_alike) {
    Str bytes = BYTES(56, 1, 58, 2, 2, 3, 56, 4, 58, 0, 42, 4, 0, 0, 128, 63, 45, 0, 0, 0, 64);
    TensorProto *mixed = DECODED(TensorProto, bytes);
    ck_assert_uint_eq(mixed->int_val.n, 4);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(mixed->int_val.p[i], i + 1);
    ck_assert_uint_eq(mixed->float_val.n, 2);
    ck_assert_float_eq(mixed->float_val.p[0], 1.0f);
    ck_assert_float_eq(mixed->float_val.p[1], 2.0f);
    same_bytes(encoded(&message_TensorProto, mixed),
               BYTES(42, 8, 0, 0, 128, 63, 0, 0, 0, 64, 58, 4, 1, 2, 3, 4));
    ck_assert_uint_eq(decode_code(&message_TensorProto, BYTES(42, 3, 0, 0, 0)), INVALID_ARGUMENT);
    ck_assert_uint_eq(decode_code(&message_TensorProto, BYTES(42, 5, 0, 0, 0, 0, 0)), INVALID_ARGUMENT);
    ck_assert_uint_eq(decode_code(&message_TensorProto, BYTES(58, 2, 1, 128)), INVALID_ARGUMENT);
    ck_assert_uint_eq(decode_code(&message_TensorProto, BYTES(58, 1, 128)), INVALID_ARGUMENT);
    TensorProto *truths = DECODED(TensorProto, BYTES(90, 3, 0, 1, 7));
    ck_assert(!truths->bool_val.p[0] && truths->bool_val.p[1] && truths->bool_val.p[2]);
    same_bytes(encoded(&message_TensorProto, truths), BYTES(90, 3, 0, 1, 1));
}
END_TEST

START_TEST(later_values_win_and_messages_merge) {
    NodeDef *node = DECODED(NodeDef, BYTES(10, 1, 'a', 26, 1, 'x', 10, 1, 'b', 26, 1, 'y'));
    ck_assert(str_is(node->name, "b"));
    ck_assert_uint_eq(node->input.n, 2);
    GraphDef *graph = DECODED(GraphDef, BYTES(34, 4, 8, 1, 24, 5, 34, 4, 16, 2, 24, 6, 34, 2, 8, 9));
    ck_assert_int_eq(graph->versions->producer, 9);
    ck_assert_int_eq(graph->versions->min_consumer, 2);
    ck_assert_uint_eq(graph->versions->bad_consumers.n, 2);
    ck_assert_int_eq(graph->versions->bad_consumers.p[0], 5);
    ck_assert_int_eq(graph->versions->bad_consumers.p[1], 6);
}
END_TEST

START_TEST(a_oneof_has_its_last_member) {
    AttrValueProto *value = DECODED(AttrValueProto, BYTES(24, 7, 18, 1, 's'));
    ck_assert_uint_eq(value->which, AttrValueProto_s);
    ck_assert(str_is(value->s, "s"));
    // A message after another member starts anew; the same member twice is merged.
    value = DECODED(AttrValueProto, BYTES(58, 2, 24, 1, 24, 7, 58, 4, 18, 2, 8, 3));
    ck_assert_uint_eq(value->which, AttrValueProto_shape);
    ck_assert(!value->shape->unknown_rank);
    value = DECODED(AttrValueProto, BYTES(58, 4, 18, 2, 8, 3, 58, 4, 18, 2, 8, 4));
    ck_assert_uint_eq(value->shape->dim.n, 2);
    ck_assert_int_eq(value->shape->dim.p[1].size, 4);
    value = DECODED(AttrValueProto, BYTES(40, 0));
    ck_assert_uint_eq(value->which, AttrValueProto_b);
    same_bytes(encoded(&message_AttrValueProto, value), BYTES(40, 0));
    stays(&message_TensorInfoProto, BYTES(16, 1, 26, 0, 34, 0));  // members on both sides of other fields
}
END_TEST

START_TEST(maps_keep_the_last_of_equal_keys) {
    Str bytes = BYTES(18, 5, 8, 1, 18, 1, 'a', 18, 5, 8, 0, 18, 1, 'b', 18, 5, 8, 1, 18, 1, 'c', 18, 0);
    JobDef *job = DECODED(JobDef, bytes);
    ck_assert_uint_eq(job->tasks.n, 2);
    ck_assert_int_eq(job->tasks.p[0].key, 1);
    ck_assert(str_is(job->tasks.p[0].value, "c"));
    ck_assert_int_eq(job->tasks.p[1].key, 0);
    ck_assert_uint_eq(job->tasks.p[1].value.n, 0);
    same_bytes(encoded(&message_JobDef, job), BYTES(18, 5, 8, 1, 18, 1, 'c', 18, 4, 8, 0, 18, 0));
    NodeDef *node = DECODED(NodeDef, BYTES(42, 3, 10, 1, 'k'));
    ck_assert_ptr_nonnull(node->attr.p[0].value);
    ck_assert_uint_eq(node->attr.p[0].value->which, 0);
}
END_TEST

START_TEST(long_maps_have_no_doubles) {
    AUTO(text) Text bytes = {0};
    for (int i = 0; i < 1000; i++) {
        char key = (char)('a' + i % 26), value = (char)(i % 100);
        text_add(&bytes, BYTES(10, 5, 10, 1, (unsigned char)key, 16, (unsigned char)value));
    }
    ConfigProto *config = DECODED(ConfigProto, text_str(&bytes));
    ck_assert_uint_eq(config->device_count.n, 26);
    for (int i = 0; i < 26; i++) {
        ck_assert_int_eq(config->device_count.p[i].key.p[0], 'a' + i);
        int last = 999 - (999 - i) % 26;
        ck_assert_int_eq(config->device_count.p[i].value, last % 100);
    }
}
END_TEST

START_TEST(unknown_fields_stay_byte_for_byte) {
    // Known fields first, then the unknown ones, overlong varints and groups as they came.
    stays(&message_NodeDef, BYTES(10, 1, 'n', 74, 2, 1, 2, 0x80, 0x7d, 0x81, 0x80, 0, 0x85, 0x7d, 1, 2, 3, 4, 0x81, 125,
                                  1, 2, 3, 4, 5, 6, 7, 8, 0x83, 0x7d, 8, 1, 19, 20, 0x84, 0x7d));
    // Between known fields: moved behind them, in their order.
    NodeDef *node = DECODED(NodeDef, BYTES(74, 1, 'x', 10, 1, 'n', 0x80, 0x7d, 5, 18, 1, 'o', 74, 1, 'y'));
    same_bytes(encoded(&message_NodeDef, node), BYTES(10, 1, 'n', 18, 1, 'o', 74, 1, 'x', 0x80, 0x7d, 5, 74, 1, 'y'));
    // A known number with a wire type that is not its own.
    stays(&message_NodeDef, BYTES(8, 5, 13, 1, 2, 3, 4));
    const void *at = NULL;
    Str run;
    ck_assert(message_next_unknown(node, &at, &run) && run.n == 3);
    ck_assert(message_next_unknown(node, &at, &run) && run.n == 3);
    ck_assert(message_next_unknown(node, &at, &run) && run.n == 3);
    ck_assert(!message_next_unknown(node, &at, &run));
}
END_TEST

// ---- malformed bytes

// A graph with something of everything, built by hand.
static Str sample(void) {
    float floats[] = {1, -2.5f};
    int32_t ints[] = {1, -1, 300};
    Str texts[] = {STR("x"), STR("")};
    TensorShapeProto_Dim dims[] = {{.size = 2}, {.size = -1, .name = STR("n")}};
    TensorShapeProto shape = {.dim = {dims, 2}};
    TensorProto tensor = {.dtype = 1, .tensor_shape = &shape, .float_val = {floats, 2}, .string_val = {texts, 2}};
    AttrValue_ListValue list = {.s = {texts, 2}, .type = {ints, 3}, .shape = {&shape, 1}, .tensor = {&tensor, 1}};
    AttrValueProto values[] = {{.which = AttrValueProto_list, .list = &list},
                               {.which = AttrValueProto_tensor, .tensor = &tensor},
                               {.which = AttrValueProto_f, .f = -0.5f},
                               {.which = AttrValueProto_i, .i = -7}};
    AttrValueEntry attrs[] = {{.key = STR("a"), .value = &values[0]}, {.key = STR("b"), .value = &values[1]},
                              {.key = STR("c"), .value = &values[2]}, {.key = STR("d"), .value = &values[3]}};
    NodeDef nodes[] = {{.name = STR("one"), .op = STR("Const"), .attr = {attrs, 4}},
                       {.name = STR("two"), .op = STR("Add"), .input = {texts, 2}, .device = STR("/cpu:0")}};
    Uint32ToUint32Entry ids[] = {{.key = 3, .value = 4}};
    FunctionDef function = {.node_def = {nodes, 2}, .resource_arg_unique_id = {ids, 1}};
    FunctionDefLibraryProto library = {.function = {&function, 1}};
    VersionDef versions = {.producer = 1087, .bad_consumers = {ints, 3}};
    GraphDef graph = {.node = {nodes, 2}, .library = &library, .versions = &versions};
    return encoded(&message_GraphDef, &graph);
}

START_TEST(a_built_message_comes_back) {
    Str bytes = sample();
    stays(&message_GraphDef, bytes);
    GraphDef *graph = DECODED(GraphDef, bytes);
    ck_assert_uint_eq(graph->node.n, 2);
    ck_assert_uint_eq(graph->node.p[0].attr.n, 4);
    const AttrValueProto *list = graph->node.p[0].attr.p[0].value;
    ck_assert_uint_eq(list->which, AttrValueProto_list);
    ck_assert_int_eq(list->list->type.p[1], -1);
    ck_assert_int_eq(list->list->shape.p[0].dim.p[1].size, -1);
    ck_assert(str_is(list->list->shape.p[0].dim.p[1].name, "n"));
    ck_assert_int_eq((int)graph->node.p[0].attr.p[3].value->i, -7);
    ck_assert_uint_eq(graph->library->function.p[0].resource_arg_unique_id.p[0].value, 4);
    // Encoding appends.
    Text out = {0};
    text_add(&out, STR("head"));
    ck_assert_ptr_null(PROTO_ENCODE(GraphDef, graph, &out));
    ck_assert_uint_eq(out.n, bytes.n + 4);
    ck_assert_mem_eq(out.p, "head", 4);
    text_clear(&out);
}
END_TEST

// Cut off at any byte, a message is refused, unless the cut is between two fields of the outermost one.
START_TEST(every_cut_is_seen) {
    Str bytes = sample();
    size_t good = 0;
    for (size_t n = 0; n < bytes.n; n++) {
        char *exact = malloc(n ? n : 1);  // its own block, so that a sanitizer sees every step outside
        memcpy(exact, bytes.p, n);
        Code code = decode_code(&message_GraphDef, (Str){exact, n});
        ck_assert_msg(code == CODE_OK || code == INVALID_ARGUMENT, "%zu: %s", n, code_name(code));
        good += code == CODE_OK;
        free(exact);
    }
    ck_assert_uint_eq(good, 4);  // nothing, one node, two nodes, the library
}
END_TEST

START_TEST(any_changed_byte_is_survived) {
    Str bytes = sample();
    char *copy = arena_copy(&arena, bytes.p, bytes.n);
    for (size_t i = 0; i < bytes.n; i++) {
        for (int change = 1; change < 256; change += 3) {
            Arena own = {0};
            copy[i] = (char)(bytes.p[i] ^ change);
            void *message;
            Status *status = proto_decode(&own, &message_GraphDef, (Str){copy, bytes.n}, &message);
            if (!status) {
                AUTO(text) Text out = {0};
                ck_assert_ptr_null(proto_encode(&message_GraphDef, message, &out));
                ck_assert_uint_eq(decode_code(&message_GraphDef, text_str(&out)), CODE_OK);
            }
            status_free(status);
            arena_clear(&own);
        }
        copy[i] = bytes.p[i];
    }
}
END_TEST

START_TEST(errors_tell_message_and_byte) {
    GraphDef *graph;
    Str bytes = BYTES(10, 3, 10, 1, 'a', 10, 4, 18, 9, 'b', 'c');
    AUTO(status) Status *status = PROTO_DECODE(GraphDef, &arena, bytes, &graph);
    ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    ck_assert_str_eq(status_message(status), "NodeDef at byte 7: the length of a field runs past the end");
    ck_assert_uint_eq(decode_code(&message_GraphDef, BYTES(0)), INVALID_ARGUMENT);              // number 0
    ck_assert_uint_eq(decode_code(&message_GraphDef, BYTES(12)), INVALID_ARGUMENT);             // end of no group
    ck_assert_uint_eq(decode_code(&message_GraphDef, BYTES(14, 0)), INVALID_ARGUMENT);          // wire type 6
    ck_assert_uint_eq(decode_code(&message_GraphDef, BYTES(11, 20)), INVALID_ARGUMENT);         // ends another group
    ck_assert_uint_eq(decode_code(&message_GraphDef, BYTES(0x88, 0x80, 0x80, 0x80, 0x10, 0)), INVALID_ARGUMENT);
    bytes = BYTES(10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1);
    ck_assert_uint_eq(decode_code(&message_GraphDef, bytes), INVALID_ARGUMENT);
    bytes = BYTES(24, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 1);
    ck_assert_uint_eq(decode_code(&message_GraphDef, bytes), INVALID_ARGUMENT);
}
END_TEST

// An attribute that is a function with an attribute that is a function ...: three messages a level.
static Str nested(int levels) {
    char *end = (char *)arena_alloc(&arena, (size_t)levels * 24) + (size_t)levels * 24, *p = end;
    for (int i = 0; i < levels; i++) {
        for (int k = 0; k < 3; k++) {
            size_t n = (size_t)(end - p);
            unsigned char head[8], h = 0;
            head[h++] = k == 1 ? 82 : 18;  // attr of a function; func of a value; value of an entry
            while (n > 127) {
                head[h++] = (unsigned char)(n | 128);
                n >>= 7;
            }
            head[h++] = (unsigned char)n;
            p -= h;
            memcpy(p, head, h);
        }
    }
    return (Str){p, (size_t)(end - p)};
}

START_TEST(depth_has_an_end) {
    ck_assert_uint_eq(decode_code(&message_AttrValueEntry, nested(33)), CODE_OK);
    ck_assert_uint_eq(decode_code(&message_AttrValueEntry, nested(34)), INVALID_ARGUMENT);
    ck_assert_uint_eq(decode_code(&message_AttrValueEntry, nested(20000)), INVALID_ARGUMENT);
    // Groups in groups: 100 are skipped, more are not.
    for (size_t depth = PROTO_DEPTH; depth <= PROTO_DEPTH + 1; depth++) {
        char *groups = arena_alloc(&arena, 2 * depth);
        memset(groups, 11, depth);
        memset(groups + depth, 12, depth);
        ck_assert_uint_eq(decode_code(&message_NodeDef, (Str){groups, 2 * depth}),
                          depth > PROTO_DEPTH ? INVALID_ARGUMENT : CODE_OK);
    }
    // A message built too deep is not written.
    TensorInfoProto infos[PROTO_DEPTH + 2] = {0};
    TensorInfo_CompositeTensor parts[PROTO_DEPTH + 2] = {0};
    for (int i = 0; i <= PROTO_DEPTH; i++) {
        infos[i].which = TensorInfoProto_composite_tensor;
        infos[i].composite_tensor = &parts[i];
        parts[i].components.p = &infos[i + 1];
        parts[i].components.n = 1;
    }
    AUTO(text) Text out = {0};
    AUTO(status) Status *status = PROTO_ENCODE(TensorInfoProto, infos, &out);
    ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    ck_assert_uint_eq(out.n, 0);
}
END_TEST

START_TEST(memory_has_an_end) {
    // Two bytes for an empty tensor, which takes hundreds.
    enum { COUNT = 100000 };
    char *bytes = arena_alloc(&arena, 2 * COUNT);
    for (int i = 0; i < COUNT; i++)
        bytes[2 * i] = 66;
    size_t used = arena.used;
    ck_assert_uint_eq(decode_code(&message_AttrValue_ListValue, (Str){bytes, 2 * COUNT}), RESOURCE_EXHAUSTED);
    ck_assert_uint_le(arena.used - used, 2 * COUNT * PROTO_EXPANSION + PROTO_ALLOWANCE);
    ck_assert_uint_eq(arena.limit, 0);
    ck_assert_uint_eq(decode_code(&message_AttrValue_ListValue, (Str){bytes, 200}), CODE_OK);
    // The arena's own limit counts too.
    Arena small = {.limit = 200};
    void *message;
    AUTO(status) Status *status = proto_decode(&small, &message_GraphDef, sample(), &message);
    ck_assert_int_eq(status_code(status), RESOURCE_EXHAUSTED);
    ck_assert_uint_eq(small.limit, 200);
    arena_clear(&small);
    // Parts of one message, each with one more element of a list that is copied every time.
    char *parts = arena_alloc(&arena, 4 * COUNT);
    for (int i = 0; i < COUNT; i++)
        memcpy(parts + 4 * i, (char[]){34, 2, 24, 1}, 4);
    ck_assert_uint_eq(decode_code(&message_GraphDef, (Str){parts, 4 * COUNT}), RESOURCE_EXHAUSTED);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("codec");
    TCase *test = tcase_create("codec");
    tcase_add_checked_fixture(test, set_up, tear_down);
    tcase_set_timeout(test, 60);
    tcase_add_test(test, tables_hold_together);
    tcase_add_test(test, enumerations_have_names);
    tcase_add_test(test, scalars_have_their_wire_form);
    tcase_add_test(test, strings_are_views);
    tcase_add_test(test, packed_and_not_are_read_alike);
    tcase_add_test(test, later_values_win_and_messages_merge);
    tcase_add_test(test, a_oneof_has_its_last_member);
    tcase_add_test(test, maps_keep_the_last_of_equal_keys);
    tcase_add_test(test, long_maps_have_no_doubles);
    tcase_add_test(test, unknown_fields_stay_byte_for_byte);
    tcase_add_test(test, a_built_message_comes_back);
    tcase_add_test(test, every_cut_is_seen);
    tcase_add_test(test, any_changed_byte_is_survived);
    tcase_add_test(test, errors_tell_message_and_byte);
    tcase_add_test(test, depth_has_an_end);
    tcase_add_test(test, memory_has_an_end);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
