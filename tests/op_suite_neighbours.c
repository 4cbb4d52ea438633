// Op suite neighbours — a line, changed a little in seeded random ways: nothing may crash, hang or leak.
//
// What a neighbour gives is not looked at: any result, and any error, will do. Only what stands outside quotes is
// changed, so that no path and no pattern becomes another one.
#include "op_suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MOST_TEXT = 2000, HANGS_AFTER_S = 60, STEP_MS = 300, MOST_MEMORY_GIB = 2 };

static uint64_t seed = 1;

void neighbours_seed(uint64_t value) {
    seed = value * 2 + 1;
}

// An absurd size shall fail, not make the machine swap. A sanitizer has its own limit: it reserves terabytes itself.
static void limit_memory(void) {
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    rlim_t bytes = (rlim_t)MOST_MEMORY_GIB << 30;
    (void)setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes});
#endif
}

static size_t pick(size_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return n ? (size_t)((seed >> 33) % n) : 0;
}

typedef struct {
    char p[MOST_TEXT + 1];
    size_t n;
} Changed;

// A part of a text.
typedef struct {
    size_t from, to;
} Part;

static bool replace(Changed *text, Part part, const char *by, size_t n) {
    if (text->n - (part.to - part.from) + n > MOST_TEXT)
        return false;
    memmove(text->p + part.from + n, text->p + part.to, text->n - part.to + 1);
    memmove(text->p + part.from, by, n);
    text->n = text->n - (part.to - part.from) + n;
    return true;
}

static bool is_number(char c) {
    return (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '+';
}

static bool is_word(char c) {
    return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

typedef enum { PART_NUMBER, PART_WORD, PART_LIST, PART_ARGUMENT } PartKind;

// The end of a [list], a number or a word that begins at `from`; 0 where none of that kind does.
static size_t end_of(const Changed *text, size_t from, PartKind kind) {
    char before = from ? text->p[from - 1] : ' ';
    size_t to = from;
    if (kind == PART_LIST) {
        int depth = 0;
        for (; text->p[from] == '[' && to < text->n; to++) {
            depth += (text->p[to] == '[') - (text->p[to] == ']');
            if (depth == 0)
                return to + 1;
        }
        return 0;
    }
    if (is_word(before) || is_number(before))
        return 0;
    if (kind == PART_NUMBER) {
        while (to < text->n && (is_number(text->p[to]) || (to > from && text->p[to] == 'e')))
            to++;
        return to > from && !is_word(text->p[to]) ? to : 0;
    }
    if (kind == PART_WORD) {  // what an attribute is set to
        while (before == '=' && to < text->n && is_word(text->p[to]))
            to++;
        return to > from ? to : 0;
    }
    // An argument: from behind "(" or ", " to the next comma or the end of the call.
    int depth = 0;
    for (; (before == '(' || before == ' ') && to < text->n; to++) {
        char c = text->p[to];
        if (depth == 0 && (c == ',' || c == ')' || c == ';'))
            return to > from ? to : 0;
        depth += (c == '[' || c == '(' || c == '{') - (c == ']' || c == ')' || c == '}');
    }
    return 0;
}

// One of the parts of a kind, all being as likely.
static bool any_part(const Changed *text, PartKind kind, Part *out) {
    size_t found = 0;
    bool quoted = false;
    for (size_t i = 0; i < text->n; i++) {
        if (text->p[i] == '"')
            quoted = !quoted;
        size_t end = quoted || text->p[i] == '"' ? 0 : end_of(text, i, kind);
        if (!end || memchr(text->p + i, '"', end - i))
            continue;
        found++;
        if (pick(found) == 0)
            *out = (Part){i, end};
    }
    return found > 0;
}

static bool put_number(Changed *text) {
    static const char *const numbers[] = {
        "0", "-1", "1", "2", "3", "5", "-3", "7", "16", "127", "128", "-128", "255", "256", "32767", "65536",
        "2147483647",
        "-2147483648", "2147483648", "4294967296", "4611686018427387904", "9223372036854775807", "-9223372036854775808",
        "nan", "inf", "-inf", "1e38", "-1e38", "1e-45", "0.5", "-0.0",
    };
    Part part;
    const char *by = numbers[pick(sizeof numbers / sizeof *numbers)];
    return any_part(text, PART_NUMBER, &part) && replace(text, part, by, strlen(by));
}

static bool put_word(Changed *text) {
    static const char *const words[] = {
        "true", "false", "SAME", "VALID", "EXPLICIT", "NHWC", "NCHW", "none", "nothing", "int32", "int64", "float",
        "double",
        "half", "bfloat16", "bool", "string", "complex64", "uint8", "resource", "variant", "0", "-1", "[]", "[0]",
        "[-1 2]",
    };
    Part part;
    const char *by = words[pick(sizeof words / sizeof *words)];
    return any_part(text, PART_WORD, &part) && replace(text, part, by, strlen(by));
}

// A list loses its brackets, gets a second pair, is emptied, doubled or shortened.
static bool change_list(Changed *text) {
    Part part;
    if (!any_part(text, PART_LIST, &part))
        return false;
    char copy[2 * MOST_TEXT + 8];
    int n = (int)(part.to - part.from);
    const char *from = text->p + part.from;
    switch (pick(6)) {
    case 0: n = snprintf(copy, sizeof copy, "[%.*s]", n, from); break;
    case 1: n = snprintf(copy, sizeof copy, "%.*s", n - 2, from + 1); break;
    case 2: n = snprintf(copy, sizeof copy, "[]"); break;
    case 3: n = snprintf(copy, sizeof copy, "[%.*s %.*s]", n, from, n, from); break;
    case 4: n = snprintf(copy, sizeof copy, "[%.*s %.*s]", n - 2, from + 1, n - 2, from + 1); break;
    default: {
        const char *space = memchr(from, ' ', (size_t)n);
        if (!space || memchr(from + 1, '[', (size_t)n - 1))
            return false;
        n = snprintf(copy, sizeof copy, "[%.*s", n - (int)(space - from) - 1, space + 1);
    }
    }
    return n > 0 && replace(text, part, copy, (size_t)n);
}

// An argument becomes another one of the line, or something of another kind.
static bool change_argument(Changed *text) {
    static const char *const others[] = {"[]", "0", "[[]]", "int32 []", "half 1", "true", "\"text\"", "int64 [1 2 3]",
                                         "1.5",
                                         "[[[[1]]]]", "[1 2 3]", "double [[1 2] [3 4]]", "{}", "int32 -1",
                                         "uint8 [200]"};
    Part part, twin;
    if (!any_part(text, PART_ARGUMENT, &part))
        return false;
    const char *by = others[pick(sizeof others / sizeof *others)];
    size_t n = strlen(by);
    char copy[MOST_TEXT + 1];
    if (pick(3) == 0 && any_part(text, PART_ARGUMENT, &twin)) {
        n = twin.to - twin.from;
        memcpy(copy, text->p + twin.from, n);
        by = copy;
    }
    return replace(text, part, by, n);
}

static bool change(Changed *text) {
    switch (pick(8)) {
    case 0: case 1: case 2: return put_number(text);
    case 3: return put_word(text);
    case 4: case 5: return change_list(text);
    default: return change_argument(text);
    }
}

static void hangs(int number) {
    (void)number;
    abort();  // says which line it was
}

// False where the text means nothing any more.
static bool run_neighbour(const Line *origin, Str text, const Mode *mode) {
    Line line = {.file = origin->file, .number = origin->number};
    Status *status = line_parse(text, &line);
    bool means = !status;
    status_free(status);
    if (means) {
        Trial trial = {0};
        Tensors got = {0};
        status = trial_build(&trial, &line, mode);
        if (!status)
            status = trial_open(&trial);
        if (!status)
            status = trial_run(&trial, &got);
        status_free(status);
        tensors_clear(&got);
        trial_clear(&trial);
    }
    line_clear(&line);
    return means;
}

int check_neighbours(const Line *line, Str text, int count) {
    static const Mode modes[] = {
        {.what = "neighbour", .threads = 1, .forced_attr = -1, .timeout_ms = STEP_MS},
        {.what = "neighbour, fed", .inputs = INPUTS_UNKNOWN, .threads = 2, .forced_attr = -1, .timeout_ms = STEP_MS},
    };
    Str behind = line->error.n ? line->error : line->expected;
    size_t n = (size_t)(behind.p - text.p);
    while (n && strchr("=~! ", text.p[n - 1]))
        n--;
    if (line->shapes || n > MOST_TEXT - 8)
        return 0;
    signal(SIGALRM, hangs);
    limit_memory();
    int ran = 0;
    for (int i = 0; i < count; i++) {
        Changed changed = {.n = n};
        memcpy(changed.p, text.p, n);
        int changes = 0;
        for (size_t wanted = 1 + pick(2), tries = 0; wanted && tries < 8; tries++)
            if (change(&changed))
                wanted--, changes++;
        if (!changes || !replace(&changed, (Part){changed.n, changed.n}, " = _", 4))
            continue;
        check_now(line, changed.p);
        alarm(HANGS_AFTER_S);
        if (run_neighbour(line, (Str){changed.p, changed.n}, &modes[i % 2]))
            ran++;
        alarm(0);
    }
    return ran;
}
