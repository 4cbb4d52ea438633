// Hostile test — calls and graphs made to break a machine: each gets a status of the right kind, soon, and nothing
// else.
//
// tests/hostile.lines has the calls; each runs with its inputs constant and fed, and then as its neighbours: integers
// at the edges, other extents and ranks, other element types, attributes out of range. A neighbour may succeed or fail.
// Each also goes to a server, which has to answer with the same codes and to be there afterwards.
// `hostile_test FILE.test ...` takes the neighbours of the lines beside the ops instead.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/suite_test.h"
#include "cluster/remote_session.h"
#include "cluster/server.h"
#include "formula/expression.h"
#include "formula/formula.h"
#include "ops/all_ops.h"
#include "proto/messages.h"
#include "session/session.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif

#ifdef SANITIZED
enum { LIMIT_MS = 600 };
__attribute__((visibility("default"))) const char *__asan_default_options(void);  // ASAN_OPTIONS still comes first
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1:max_allocation_size_mb=512";
}
#else
enum { LIMIT_MS = 100 };  // of thread time: in a debug build the slowest call here takes 5
#endif

enum { MOST_LINES = 1 << 14, MOST_BYTES = 1 << 30, AS_IT_IS = -1, AT_ONCE = 24 };

static char file[1 << 22];
static size_t file_n;
static Str lines[MOST_LINES];
static int n_lines;

// Where the line ends that begins there: those behind it that begin with a blank go on with it.
static size_t line_end(size_t at) {
    for (; at < file_n; at++)
        if (file[at] == '\n') {
            if (at + 1 >= file_n || file[at + 1] != ' ')
                break;
            file[at] = ' ';
        }
    return at;
}

static void read_lines(const char *path) {
    FILE *from = fopen(path, "r");
    if (!from)
        return;
    size_t at = file_n, n = at + fread(file + at, 1, sizeof file - at, from);
    fclose(from);
    file_n = n;
    while (at < n && n_lines < MOST_LINES) {
        size_t end = line_end(at);
        if (end > at && file[at] != '#' && !str_starts((Str){file + at, end - at}, STR("shape ")))
            lines[n_lines++] = (Str){file + at, end - at};
        at = end + 1;
    }
}

// ---------------------------------------- one call

// How a call is changed: `leaf` of its literals, counted from 0, by number `kind`; or attribute `attr`.
typedef struct {
    int leaf, kind, attr, attr_kind;
    bool fed;
} Change;

typedef struct {
    Change change;
    int n_leaves, kinds;   // how many literals were met, and how many changes there are of the changed one
    VEC(Output) feeds;
    VEC(Tensor) values;
} Trial;

static const int64_t edges[] = {0, -1, INT32_MAX, INT32_MIN, (int64_t)1 << 31, (int64_t)1 << 62, INT64_MIN};
enum { EDGES = sizeof edges / sizeof *edges, SHAPE_KINDS = 5, TYPE_KINDS = 3 };

static Status *replaced(Tensor *value, DType dtype, Shape shape) {
    Tensor other;
    TRY(tensor_new(dtype, shape, &other));
    if (dtype_is_plain(dtype))
        memset(other.data, 0, tensor_bytes(&other));
    tensor_clear(value);
    *value = other;
    return OK;
}

static Status *reshaped(Tensor *value, Shape shape) {
    return replaced(value, value->dtype, shape);
}

static Status *retyped(Tensor *value, DType dtype) {
    return replaced(value, dtype, value->shape);
}

// The change number `kind` of a value: an element to an edge, then shapes, then types.
static Status *change_value(Tensor *value, int kind, int *out_kinds) {
    int64_t count = tensor_count(value);
    int elements = value->dtype == DT_int32 || value->dtype == DT_int64 ? (int)(count < 8 ? count : 8) : 0;
    *out_kinds = elements * EDGES + SHAPE_KINDS + TYPE_KINDS;
    if (kind < elements * EDGES) {
        int64_t edge = edges[kind % EDGES];
        if (value->dtype == DT_int32)
            ((int32_t *)value->data)[kind / EDGES] = (int32_t)edge;
        else
            ((int64_t *)value->data)[kind / EDGES] = edge;
        return OK;
    }
    kind -= elements * EDGES;
    Shape shape = value->shape;
    static const DType types[TYPE_KINDS] = {DT_int32, DT_string, DT_complex128};
    switch (kind) {
    case 0: return reshaped(value, SCALAR_SHAPE);
    case 1: return reshaped(value, (Shape){.rank = 1, .dims = {0}});
    case 2: return reshaped(value, (Shape){.rank = 3, .dims = {2, 0, 3}});
    case 3:
        if (!shape.rank)
            return OK;
        shape.dims[shape.rank - 1] += 1;
        return reshaped(value, shape);
    case 4:
        if (shape.rank == MAX_RANK)
            return OK;
        shape.dims[shape.rank++] = 1;
        return reshaped(value, shape);
    default: return retyped(value, types[kind - SHAPE_KINDS]);
    }
}

static Status *leaf(ExpressionBuild *build, int arg, Tensor *value, Output *out) {
    Trial *trial = build->arg;
    if (trial->n_leaves++ == trial->change.leaf)
        TRY(change_value(value, trial->change.kind, &trial->kinds));
    if (!trial->change.fed || arg < 0)
        return expression_constant(build, arg, value, out);
    Formula f = {.graph = build->graph};
    *out = formula_op(&f, "Placeholder", NULL, 0, (FormulaAttr[]){{"dtype", ATTR_OF_TYPE(value->dtype)}, {0}});
    TRY(f.status);
    NEED_MEMORY(vec_push(&trial->feeds, *out) && vec_push(&trial->values, *value));
    *value = (Tensor){0};
    return OK;
}

static Server *server;    // whose sessions run the calls; NULL: sessions of this process

static void start_server(void) {
    Int32ToStringEntry task = {.value = STR("localhost:0")};
    JobDef job = {.name = STR("worker"), .tasks = {&task, 1}};
    ClusterDef cluster = {.job = {&job, 1}};
    ServerDef def = {.cluster = &cluster, .job_name = STR("worker"), .protocol = STR("grpc")};
    AUTO(text) Text text = {0};
    Status *status = PROTO_ENCODE(ServerDef, &def, &text);
    status = status ? status : server_new(text_str(&text), &server);
    status = status ? status : server_start(server);
    ck_assert_msg(!status, "%s", status_message(status));
}

static Status *open_session(Graph *graph, Session **out) {
    SessionConfig config = session_config_default();
    config.intra_threads = config.inter_threads = 1;
    if (!server)
        return session_new(graph, NULL, &config, out);
    RemoteOptions options = {.address = server_target(server) + strlen("grpc://"), .timeout_ms = 60000};
    static Mutex graph_lock = MUTEX_INIT;
    return remote_session_new(graph, &graph_lock, &options, out);
}

static Status *run_nodes(Session *session, const Trial *trial, Node *const *targets, int n) {
    const Tensor *feeds[64];
    NEED(trial->values.n <= 64, UNIMPLEMENTED, "too many feeds");
    for (size_t i = 0; i < trial->values.n; i++)
        feeds[i] = &trial->values.p[i];
    StepSignature signature = {.feeds = trial->feeds.p, .targets = targets, .n_feeds = (int)trial->feeds.n,
                               .n_targets = n};
    return session_run(session, &signature, &(RunSettings){.timeout_ms = 10000}, feeds, NULL);
}

// Builds and runs twice: the second time finds what the first left behind.
static Status *run_call(ExpressionBuild *build, const Expression *call, Trial *trial) {
    Node *node;
    TRY(expression_build(build, call, &node));
    Session *session;
    TRY(open_session(build->graph, &session));
    Status *status = OK;
    Trial nothing = {0};
    if (build->inits.n)
        status = run_nodes(session, &nothing, build->inits.p, (int)build->inits.n);
    for (int i = 0; i < 2 && !status; i++)
        status = run_nodes(session, trial, &node, 1);
    session_free(session);
    return status;
}

static int64_t thread_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static Status *try_call(Str text, Trial *trial, bool *out_known) {
    AUTO(arena) Arena arena = {0};
    Expression *call;
    size_t used;
    TRY(expression_parse(text, false, &arena, &call, &used));
    *out_known = call->type->op != NULL;
    if (!*out_known)
        return OK;
    if (trial->change.attr >= 0 && trial->change.attr < call->n_attrs) {
        static const char *const values[] = {"0", "-1", "2147483648", "4611686018427387904", "[]", "[0 0 0 0]"};
        call->attrs[trial->change.attr].text = str_of(values[trial->change.attr_kind % 6]);
    }
    Graph *graph;
    TRY(graph_new(&graph));
    ExpressionBuild build = {.graph = graph, .forced_attr = -1, .leaf = leaf, .arg = trial};
    int64_t before = thread_ms();
    Status *status = run_call(&build, call, trial);
    int64_t took = thread_ms() - before;
    expression_build_clear(&build);
    for (size_t i = 0; i < trial->values.n; i++)
        tensor_clear(&trial->values.p[i]);
    vec_clear(&trial->values);
    vec_clear(&trial->feeds);
    graph_release(graph);
    ck_assert_msg(took < LIMIT_MS, "%.*s takes %d ms (literal %d kind %d, attribute %d kind %d, %s)", STR_ARGS(text),
                  (int)took, trial->change.leaf, trial->change.kind, trial->change.attr, trial->change.attr_kind,
                  trial->change.fed ? "fed" : "constant");
    return status;
}

static bool has_word(Str text, const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= text.n; i++)
        if (!memcmp(text.p + i, word, n) && (i + n == text.n || text.p[i + n] == ' '))
            return true;
    return false;
}

static void as_written(Str text, bool fed) {
    Trial trial = {.change = {.leaf = AS_IT_IS, .attr = AS_IT_IS, .fed = fed}};
    size_t end = expression_item(text, "!=");
    while (end < text.n && text.p[end] != '!' && text.p[end] != '=')
        end++;
    ck_assert_msg(end < text.n, "no answer: %.*s", STR_ARGS(text));
    Str answer = {text.p + end, text.n - end};
    bool known = false;
    AUTO(status) Status *status = try_call(text, &trial, &known);
    if (!known && !status)
        return;
    if (answer.p[0] == '=')
        ck_assert_msg(!status, "%.*s: %s: %s", STR_ARGS(text), code_name(status_code(status)), status_message(status));
    else
        ck_assert_msg(status && has_word(answer, code_name(status_code(status))), "%s: %.*s gives %s: %s",
                      fed ? "fed" : "constant", STR_ARGS(text), code_name(status_code(status)), status_message(status));
}

static void change(Str text, Trial *trial) {
    bool known;
    AUTO(status) Status *status = try_call(text, trial, &known);
    Code code = status_code(status);
    ck_assert_msg(code != INTERNAL && code != UNKNOWN, "%.*s, changed, gives %s: %s", STR_ARGS(text), code_name(code),
                  status_message(status));
}

static void neighbours(Str text, bool fed) {
    for (int i = 0; i < 10; i++) {
        int kinds = 1;
        for (int kind = 0; kind < kinds; kind++) {
            Trial trial = {.change = {.leaf = i, .kind = kind, .attr = AS_IT_IS, .fed = fed}};
            change(text, &trial);
            kinds = trial.kinds;
        }
    }
    for (int attr = 0; attr < 6; attr++)
        for (int kind = 0; kind < 6; kind++)
            change(text, &(Trial){.change = {.leaf = AS_IT_IS, .attr = attr, .attr_kind = kind, .fed = fed}});
}

static void limit_memory(void) {
#ifndef SANITIZED
    setrlimit(RLIMIT_AS, &(struct rlimit){MOST_BYTES, MOST_BYTES});
#endif
    op_table_set(all_ops, all_rewrites);
}

START_TEST(line) {
    limit_memory();
    as_written(lines[_i], false);
    as_written(lines[_i], true);
}
END_TEST

// What variables and queues a line leaves behind goes with its server.
START_TEST(lines_on_a_server) {
    limit_memory();
    for (int i = _i * AT_ONCE; i < (_i + 1) * AT_ONCE && i < n_lines; i++) {
        start_server();
        as_written(lines[i], false);
        as_written(lines[i], true);
        as_written(STR("Add(1, 2) = 3"), true);
        server_free(server);
    }
}
END_TEST

START_TEST(line_neighbours) {
    limit_memory();
    neighbours(lines[_i], false);
    neighbours(lines[_i], true);
}
END_TEST

int main(int n, char **files) {
    if (n == 1)
        read_lines("tests/hostile.lines");
    for (int i = 1; i < n; i++)
        read_lines(files[i]);
    Suite *suite = suite_create("hostile");
    TCase *tests = tcase_create("lines");
    tcase_set_timeout(tests, 120);
    if (n == 1) {
        tcase_add_loop_test(tests, line, 0, n_lines ? n_lines : 1);
        tcase_add_loop_test(tests, lines_on_a_server, 0, (n_lines + AT_ONCE - 1) / AT_ONCE);
    }
    tcase_add_loop_test(tests, line_neighbours, 0, n_lines);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
