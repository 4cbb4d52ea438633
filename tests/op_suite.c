// Op suite — runs the lines beside the ops, each in all the ways there are: op_suite [--covered | --neighbours N |
// --device TYPE] [--every N] FILE-OR-FOLDER ...
//
// Constant, fed with and without known shapes, late and fixed, on one thread and on two, on the fake device, in every
// type that the op takes, with no elements and with one; shapes inferred against real ones; gradients against
// differences. --covered runs nothing and asks whether every compiled op has a line; --neighbours runs N changed copies
// of each line and asks only that the machine lives on; --device runs each line on a device that compiles, and says how
// many of them it took. --every N takes each N-th line.
#define _GNU_SOURCE
#include "op_suite.h"

#include <fts.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "ops/all_ops.h"

static size_t n_passed, n_failed;
static int neighbours;           // of each line, which is all that runs then
static size_t n_neighbours;
static const char *on_device;    // --device: a type of devices that compile
static size_t every = 1, n_lines, n_taken, n_left;
static bool chatty;              // --verbose: also what is left out
static char where[512];          // what runs now, for a crash

void check_pass(void) {
    n_passed++;
}

void check_fail(const Line *line, const char *what, const char *format, ...) {
    char message[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    printf("%s:%d: %s: %s\n", line->file, line->number, what, message);
    n_failed++;
}

bool check_ok(const Line *line, const char *what, Status *status) {
    if (!status) {
        check_pass();
        return true;
    }
    check_fail(line, what, "%s: %s (%s)", code_name(status_code(status)), status_message(status), status_where(status));
    status_free(status);
    return false;
}

static void crashed(int number) {
    static const char text[] = ": crashed\n";
    ssize_t written = write(2, where, strlen(where)) + write(2, text, sizeof text - 1);
    (void)written;
    signal(number, SIG_DFL);
    raise(number);
}

void check_now(const Line *line, const char *what) {
    snprintf(where, sizeof where, "%s:%d: %s", line->file, line->number, what);
}

void check_left_out(const Line *line, const char *what, Status *status) {
    if (chatty)
        printf("%s:%d: %s: left out: %s\n", line->file, line->number, what,
               status ? status_message(status) : "no value");
    status_free(status);
}

// ---------------------------------------- one trial

// Builds and runs as often as the mode says; every run must give the bits of the first.
static Status *try_mode(const Line *line, const Mode *mode, Trial *trial, Tensors *out) {
    check_now(line, mode->what);
    TRY(trial_build(trial, line, mode));
    TRY(trial_open(trial));
    TRY(trial_run(trial, out));
    for (int run = 1; run < mode->runs; run++) {
        Tensors again = {0};
        Status *status = trial_run(trial, &again);
        for (size_t i = 0; !status && i < out->n; i++)
            if (i >= again.n || !tensor_same_bits(&out->p[i], &again.p[i]))
                status = status_new(DATA_LOSS, __FILE__, __LINE__, "run %d gives %s", run + 1,
                                    tensor_difference(&again.p[i], &out->p[i], (Tolerance){0, 0}));
        tensors_clear(&again);
        TRY(status);
    }
    return OK;
}

// What was inferred must fit what came out.
static void check_shapes(const Trial *trial, const Tensors *got) {
    for (int i = 0; i < trial->node->n_outputs && (size_t)i < got->n; i++) {
        const Shape *inferred = &trial->node->output_shapes[i];
        bool handle = dtype_is_ref(trial->node->output_types[i]);
        if (handle || shape_compatible(inferred, &got->p[i].shape))
            check_pass();
        else
            check_fail(trial->line, trial->mode.what, "output %d has shape %s, the shape function says %s", i,
                       shape_text(&got->p[i].shape), shape_text(inferred));
    }
}

static bool check_error(const Line *line, const char *what, const Status *status) {
    Str rest = line->error;
    size_t code = 0;
    while (code < rest.n && rest.p[code] != ' ')
        code++;
    bool good = status && str_is((Str){rest.p, code}, code_name(status_code(status)));
    while (good && code < rest.n) {
        size_t first = code + 1;
        for (code = first; code < rest.n && rest.p[code] != ' ';)
            code++;
        char word[256];
        snprintf(word, sizeof word, "%.*s", (int)(code - first), rest.p + first);
        good = strstr(status_message(status), word) != NULL;
    }
    if (good)
        check_pass();
    else
        check_fail(line, what, "wanted an error %.*s, got %s: %s", STR_ARGS(line->error),
                   status ? code_name(status_code(status)) : "none", status_message(status));
    return good;
}

// Runs one mode and compares; `keep` gets the results where it is not NULL.
static bool check_mode(const Line *line, const Mode *mode, Tensors *keep) {
    Trial trial = {0};
    Tensors got = {0};
    Status *status = try_mode(line, mode, &trial, &got);
    bool good = true;
    if (line->error.n) {
        good = check_error(line, mode->what, status);
        status_free(status);
    } else if ((good = check_ok(line, mode->what, status))) {
        bool fits;
        const char *difference;
        good = check_ok(line, mode->what,
                        compare_expected(line, &got, (size_t)trial.node->n_outputs, DT_INVALID, &fits, &difference));
        if (good && difference)
            check_fail(line, mode->what, "%s", difference);
        good = good && !difference;
        check_shapes(&trial, &got);
    }
    if (good && keep && !line->error.n)
        *keep = got;
    else
        tensors_clear(&got);
    trial_clear(&trial);
    return good;
}

static void check_same(const Line *line, const Tensors *a, const Tensors *b, const char *what) {
    for (size_t i = 0; i < a->n && i < b->n; i++) {
        if (tensor_same_bits(&a->p[i], &b->p[i]))
            check_pass();
        else
            check_fail(line, what, "not the same bits: %s", tensor_difference(&a->p[i], &b->p[i], (Tolerance){0, 0}));
    }
}

// ---------------------------------------- every other type

// The type attribute that the line's literals leave open, or -1.
static int open_type(const Line *line) {
    const Signature *signature = &line->call->type->signature;
    for (int a = 0; a < line->call->n_args && a < signature->n_inputs; a++) {
        int attr = signature->inputs[a].type_attr;
        bool named = attr < 0 || signature->inputs[a].is_ref;
        for (int b = 0; b < line->call->n_args && !named; b++) {
            const Term *term = &line->call->args[b];
            if (signature->inputs[b].type_attr != attr)
                continue;
            named = term->kind == TERM_CALL || term->dtype != DT_INVALID;
            for (int i = 0; term->kind == TERM_LIST && i < term->n; i++)
                named |= term->items[i].kind == TERM_CALL || term->items[i].dtype != DT_INVALID;
        }
        for (int i = 0; i < line->call->n_attrs && !named; i++)
            named = str_equal(line->call->attrs[i].name, signature->attrs[attr].name);
        if (!named)
            return attr;
    }
    return -1;
}

static bool is_tried(const AttrSpec *attr, DType dtype) {
    DTypeKind kind = dtype_kind(dtype);
    bool allowed = !attr->allowed.is_list;
    for (int i = 0; i < attr->allowed.n && !allowed; i++)
        allowed = attr->allowed.types[i] == dtype;
    return allowed && (kind == KIND_FLOAT || kind == KIND_INT || kind == KIND_UINT || kind == KIND_COMPLEX);
}

static bool all_finite(const Tensors *tensors) {
    bool finite = true;
    for (size_t i = 0; i < tensors->n; i++)
        finite = finite && (!dtype_is_plain(tensors->p[i].dtype) || tensor_is_finite(&tensors->p[i]));
    return finite;
}

// Types of fewer bits than float: the same inputs, rounded, through float.
static void check_narrow(const Line *line, const Mode *mode, const Tensors *got) {
    Mode wide = {.what = mode->what, .threads = 1, .runs = 1, .forced_attr = mode->forced_attr, .forced = DT_float,
                 .rounded = mode->forced};
    Trial trial = {0};
    Tensors exact = {0};
    if (!check_ok(line, mode->what, try_mode(line, &wide, &trial, &exact)) || !all_finite(&exact)) {
        tensors_clear(&exact);
        trial_clear(&trial);
        return;
    }
    double base = mode->forced == DT_half ? 2e-3 : 1.6e-2;
    Tolerance tolerance = {line->loose ? 4 * base : base, line->loose ? 4 * base : base};
    for (size_t i = 0; i < got->n && i < exact.n; i++) {
        AUTO(tensor) Tensor wanted = {0};
        if (got->p[i].dtype == exact.p[i].dtype)
            wanted = tensor_retain(&exact.p[i]);
        else if (!check_ok(line, mode->what, tensor_cast(&exact.p[i], got->p[i].dtype, &wanted)))
            continue;
        const char *difference = tensor_difference(&got->p[i], &wanted, tolerance);
        if (difference)
            check_fail(line, mode->what, "%s", difference);
        else
            check_pass();
    }
    tensors_clear(&exact);
    trial_clear(&trial);
}

static void check_type(const Line *line, int attr, DType dtype, DType natural) {
    char what[64];
    snprintf(what, sizeof what, "as %s", dtype_name(dtype));
    Mode mode = {.what = what, .threads = 1, .runs = 1, .forced_attr = attr, .forced = dtype, .inputs = INPUTS_KNOWN};
    Trial trial = {0};
    Tensors got = {0};
    Status *status = try_mode(line, &mode, &trial, &got);
    if (status && (status_code(status) == UNIMPLEMENTED || status_code(status) == INVALID_ARGUMENT)) {
        check_left_out(line, what, status);  // no kernel, or a value that is none of the type's
    } else if (check_ok(line, what, status)) {
        bool fits;
        const char *difference = NULL;
        if (natural == DT_float && (dtype == DT_half || dtype == DT_bfloat16))
            check_narrow(line, &mode, &got);
        else if (check_ok(line, what, compare_expected(line, &got, (size_t)trial.node->n_outputs, natural, &fits,
                                                       &difference)) && !fits)
            check_left_out(line, what, NULL);
        if (difference)
            check_fail(line, what, "%s", difference);
        check_shapes(&trial, &got);
    }
    tensors_clear(&got);
    trial_clear(&trial);
}

static void check_types(const Line *line, const Tensors *got, const Trial *plain) {
    int attr = open_type(line);
    if (attr < 0)
        return;
    const AttrSpec *spec = &line->call->type->signature.attrs[attr];
    const AttrValue *natural = &plain->node->attrs[attr].value;
    bool finite = all_finite(got);
    for (int dtype = 1; dtype < DTYPES; dtype++)
        if (is_tried(spec, (DType)dtype) && (DType)dtype != natural->type &&
            (finite || dtype_kind((DType)dtype) == KIND_FLOAT))
            check_type(line, attr, (DType)dtype, natural->type);
}

// ---------------------------------------- sizes

// Inputs of no elements and of one: any result and any error will do, if it is the client's error.
static void check_sizes(const Line *line) {
    static const struct { const char *what; Resize resize; Inputs inputs; } SIZES[] = {
        {"no elements", RESIZE_EMPTY, INPUTS_KNOWN},
        {"no elements, unknown shapes", RESIZE_EMPTY, INPUTS_UNKNOWN},
        {"one element", RESIZE_ONE, INPUTS_KNOWN},
        {"one element, unknown shapes", RESIZE_ONE, INPUTS_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        Mode mode = {.what = SIZES[i].what, .inputs = SIZES[i].inputs, .resize = SIZES[i].resize, .threads = 1,
                     .runs = 1,
                     .forced_attr = -1};
        Trial trial = {0};
        Tensors got = {0};
        Status *status = try_mode(line, &mode, &trial, &got);
        if (!status)
            check_shapes(&trial, &got);
        if (status && status_code(status) == INTERNAL)
            check_ok(line, mode.what, status);
        else
            check_pass(), status_free(status);
        tensors_clear(&got);
        trial_clear(&trial);
    }
}

// ---------------------------------------- one line

static void check_shape_line(const Line *line) {
    Mode mode = {.what = "shape", .forced_attr = -1, .inputs = INPUTS_CONSTANT};
    Trial trial = {0};
    check_now(line, "shape");
    Status *status = trial_build(&trial, line, &mode);
    if (line->error.n) {
        check_error(line, "shape", status);
        status_free(status);
    } else if (check_ok(line, "shape", status)) {
        AUTO(text) Text text = {0};
        for (int i = 0; i < trial.node->n_outputs; i++) {
            text_add(&text, i ? STR(", ") : STR(""));
            const Shape *shape = &trial.node->output_shapes[i];
            if (shape->rank < 0)
                text_char(&text, '?');
            else
                shape_print(&text, shape);
        }
        // Spaces and commas within brackets are the same.
        AUTO(text) Text wanted = {0};
        for (size_t i = 0; i < line->expected.n; i++)
            text_char(&wanted, line->expected.p[i] == ',' ? ' ' : line->expected.p[i]);
        for (size_t i = 0; i < text.n; i++)
            text.p[i] = text.p[i] == ',' ? ' ' : text.p[i];
        char flat[2][1024] = {{0}};
        for (int side = 0; side < 2; side++) {
            const Text *from = side ? &wanted : &text;
            size_t n = 0;
            for (size_t i = 0; i < from->n && n < sizeof flat[0] - 1; i++)
                if (from->p[i] != ' ' || (n && flat[side][n - 1] != ' ' && flat[side][n - 1] != '['))
                    flat[side][n++] = from->p[i];
        }
        if (strcmp(flat[0], flat[1]) == 0)
            check_pass();
        else
            check_fail(line, "shape", "got %s, wanted %s", flat[0], flat[1]);
    }
    trial_clear(&trial);
}

// As a program; where none can be made the line is another's to test. Compiled code orders and fuses: loosely.
static void check_on_device(const Line *line) {
    Mode mode = {.what = on_device, .inputs = INPUTS_KNOWN, .threads = 1, .runs = 1, .forced_attr = -1,
                 .host_constant = true, .device = on_device};
    Line loose = *line;
    loose.loose = true;
    Trial trial = {0};
    Tensors got = {0};
    Status *status = try_mode(&loose, &mode, &trial, &got);
    bool fits, taken = trial.n_clusters && (!status || status_code(status) != UNIMPLEMENTED);
    *(taken ? &n_taken : &n_left) += 1;
    const char *difference = NULL;
    if (!taken) {
        check_left_out(line, mode.what, status);
    } else if (line->error.n) {  // a program doesn't know which index it was
        const char *space = memchr(line->error.p, ' ', line->error.n);
        loose.error.n = space ? (size_t)(space - line->error.p) : line->error.n;
        check_error(&loose, mode.what, status);
        status_free(status);
    } else if (check_ok(line, mode.what, status) &&
               check_ok(line, mode.what, compare_expected(&loose, &got, (size_t)trial.node->n_outputs, DT_INVALID,
                                                          &fits, &difference)) && difference) {
        if (all_finite(&got))
            check_fail(line, mode.what, "%s", difference);
        else
            check_left_out(line, difference, NULL);  // which way a singular system isn't solved
    }
    tensors_clear(&got);
    trial_clear(&trial);
}

static void check_line(const Line *line) {
    bool stateful = line_is_stateful(line);
    static const Mode MODES[] = {
        {.what = "constant", .threads = 1, .runs = 1, .forced_attr = -1},
        {.what = "unknown shapes, 1 thread", .inputs = INPUTS_UNKNOWN, .threads = 1, .runs = 3, .forced_attr = -1},
        {.what = "known shapes, 1 thread", .inputs = INPUTS_KNOWN, .threads = 1, .runs = 2, .forced_attr = -1},
        {.what = "unknown shapes, 2 threads", .inputs = INPUTS_UNKNOWN, .threads = 2, .runs = 3, .forced_attr = -1},
        {.what = "fake device", .inputs = INPUTS_KNOWN, .threads = 1, .runs = 2, .forced_attr = -1, .device = "FAKE"},
    };
    Tensors first = {0};
    for (size_t i = 0; i < sizeof MODES / sizeof *MODES; i++) {
        Mode mode = MODES[i];
        Tensors got = {0};
        if (stateful && mode.device)
            continue;
        if (stateful)
            mode.runs = 1;
        if (!check_mode(line, &mode, &got) && i == 0)
            return;  // the rest would say the same again
        if (i > 1 && !stateful)
            check_same(line, &first, &got, mode.what);
        if (i == 1)
            first = got;
        else
            tensors_clear(&got);
    }
    if (!line->error.n) {
        Trial plain = {0};
        if (check_ok(line, "constant", trial_build(&plain, line, &MODES[0])) && !line->before.n)
            check_types(line, &first, &plain);
        trial_clear(&plain);
        check_sizes(line);
        if (!stateful) {
            check_now(line, "gradient");
            check_gradient(line);
        }
    }
    tensors_clear(&first);
}

// ---------------------------------------- files

static bool asks_covered;
static VEC(Str) covered;
static Arena names;

static void cover(const Expression *call) {
    Str name = str_copy(&names, call->type->name);
    if (!vec_push(&covered, name))
        return;
    for (int i = 0; i < call->n_args; i++) {
        const Term *term = &call->args[i];
        if (term->kind == TERM_CALL)
            cover(term->call);
        for (int j = 0; term->kind == TERM_LIST && j < term->n; j++)
            if (term->items[j].kind == TERM_CALL)
                cover(term->items[j].call);
    }
}

static void read_line(const char *file, int number, Str text) {
    Str rest = expression_trim(text);
    if (!rest.n || rest.p[0] == '#')
        return;
    Line line = {.file = file, .number = number};
    check_now(&line, "reading");
    if (asks_covered) {
        status_free(line_parse(rest, &line));
        for (size_t i = 0; i < line.before.n; i++)
            cover(line.before.p[i]);
        if (line.call)
            cover(line.call);
    } else if (check_ok(&line, "reading", line_parse(rest, &line))) {
        if (n_lines++ % every)
            ;  // not this one
        else if (neighbours)
            n_neighbours += (size_t)check_neighbours(&line, rest, neighbours);
        else if (on_device && !line.shapes)
            check_on_device(&line);
        else if (line.shapes && !on_device)
            check_shape_line(&line);
        else if (!on_device)
            check_line(&line);
    }
    line_clear(&line);
}

// The next line with those that go on with it, which begin with a blank. Returns how many lines that were; 0: the end.
static int next_line(FILE *file, char **part, size_t *room, Text *out) {
    int lines = 0, ahead = 0;
    out->n = 0;
    for (ssize_t n; (!lines || ahead == ' ') && (n = getline(part, room, file)) >= 0; lines++) {
        text_add(out, expression_trim((Str){*part, (size_t)n}));
        text_char(out, ' ');
        ahead = ungetc(getc(file), file);
    }
    return lines;
}

static void read_file(const char *path) {
    FILE *file = fopen(path, "r");
    Line none = {.file = path};
    if (!file) {
        check_fail(&none, "reading", "cannot be opened");
        return;
    }
    AUTO(text) Text text = {0};
    char *part = NULL;
    size_t room = 0;
    for (int number = 1, lines; (lines = next_line(file, &part, &room, &text)) > 0; number += lines)
        read_line(path, number, text_str(&text));
    free(part);
    fclose(file);
}

// The text of another test, in which a stateful op may be named: what a line can't say (a queue, a file, a variable
// between steps) is tested there.
static VEC(Str) other_tests;

static void read_other(const char *path) {
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;
    ssize_t n = file ? getdelim(&text, &room, 0, file) : -1;
    if (n >= 0) {
        Str kept = str_copy(&names, (Str){text, (size_t)n});
        if (kept.p && !vec_push(&other_tests, kept))
            n_failed++;
    }
    free(text);
    if (file)
        fclose(file);
}

static bool is_word(char c) {
    return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static bool named_elsewhere(Str name) {
    for (size_t i = 0; i < other_tests.n; i++) {
        const char *text = other_tests.p[i].p, *end = text + other_tests.p[i].n;
        for (const char *at = text; (at = memmem(at, (size_t)(end - at), name.p, name.n)); at++)
            if ((at == text || !is_word(at[-1])) && !is_word(at[name.n]))
                return true;
    }
    return false;
}

static bool holds_state(const Op *op) {
    const OpType *type;
    Status *status = op_type_find(op_name(op), &type);
    bool found = !status && type->signature.stateful;
    status_free(status);
    for (int i = 0; !found && type && i < type->signature.n_inputs; i++)
        found = type->signature.inputs[i].is_ref || type->signature.inputs[i].dtype == DT_variant ||
                type->signature.inputs[i].dtype == DT_resource;
    for (int i = 0; !found && type && i < type->signature.n_outputs; i++)
        found = type->signature.outputs[i].is_ref || type->signature.outputs[i].dtype == DT_variant;
    return found;
}

static bool ends_with(const char *path, const char *end) {
    size_t n = strlen(path), m = strlen(end);
    return n > m && strcmp(path + n - m, end) == 0;
}

static int by_name(const FTSENT **a, const FTSENT **b) {
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void read_all(char *const *paths) {
    FTS *tree = fts_open(paths, FTS_NOCHDIR | FTS_LOGICAL, by_name);
    for (FTSENT *entry; tree && (entry = fts_read(tree));) {
        size_t n = strlen(entry->fts_path);
        if (entry->fts_info == FTS_F && n > 5 && strcmp(entry->fts_path + n - 5, ".test") == 0)
            read_file(entry->fts_path);
        else if (entry->fts_info == FTS_F && asks_covered &&
                 (ends_with(entry->fts_path, "_test.c") || ends_with(entry->fts_path, ".py")))
            read_other(entry->fts_path);
        else if (entry->fts_info == FTS_NS)
            check_fail(&(Line){.file = entry->fts_path}, "reading", "is not there");
    }
    if (tree)
        fts_close(tree);
}

// Control flow is the machine's, and has tests of its own; so has what a leading _ marks as internal.
static void check_covered(void) {
    const Op *op;
    for (size_t i = 0; (op = op_at(i)); i++) {
        Str name = op_name(op);
        bool found = name.p[0] == '_' || op->flow != FLOW_NONE;
        for (size_t j = 0; j < covered.n && !found; j++)
            found = str_equal(covered.p[j], name);
        // Every line is made of constants and fed through placeholders.
        found = found || str_is(name, "Const") || str_is(name, "Placeholder") || str_is(name, "NoOp") ||
                (holds_state(op) && named_elsewhere(name));
        if (found)
            check_pass();
        else
            printf("%.*s has no line in a .test file\n", STR_ARGS(name)), n_failed++;
    }
    vec_clear(&covered);
    vec_clear(&other_tests);
    arena_clear(&names);
}

int main(int argc, char **argv) {
    op_table_set(all_ops, all_rewrites);
    signal(SIGSEGV, crashed);
    signal(SIGFPE, crashed);
    signal(SIGABRT, crashed);
    signal(SIGBUS, crashed);
    setvbuf(stdout, NULL, _IOLBF, 0);
    int first = 1;
    for (; first < argc && argv[first][0] == '-'; first++) {
        asks_covered |= strcmp(argv[first], "--covered") == 0;
        chatty |= strcmp(argv[first], "--verbose") == 0;
        if (strcmp(argv[first], "--neighbours") == 0 && first + 1 < argc)
            neighbours = atoi(argv[++first]);
        else if (strcmp(argv[first], "--seed") == 0 && first + 1 < argc)
            neighbours_seed(strtoull(argv[++first], NULL, 10));
        else if (strcmp(argv[first], "--device") == 0 && first + 1 < argc)
            on_device = argv[++first];
        else if (strcmp(argv[first], "--every") == 0 && first + 1 < argc)
            every = strtoull(argv[++first], NULL, 10);
    }
    if (first == argc || !every) {
        fprintf(stderr, "usage: op_suite [--covered | --neighbours N [--seed S] | --device TYPE] [--every N] [--verbose] "
                        "FILE-OR-FOLDER ...\n");
        return 2;
    }
    read_all(argv + first);
    if (asks_covered)
        check_covered();
    if (neighbours)
        printf("%zu neighbours had a meaning and did no harm\n", n_neighbours);
    if (on_device)
        printf("%zu lines ran on %s, %zu can't\n", n_taken, on_device, n_left);
    printf("%zu passed, %zu failed\n", n_passed, n_failed);
    return n_failed != 0;
}
