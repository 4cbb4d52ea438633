// Regex — see regex.h. All ways through the program are followed at once, byte by byte, in the order of preference.
//
// Thompson's simulation with Pike's captures (R. Cox, "Regular Expression Matching: the Virtual Machine Approach",
// 2009): time is text times program, and memory the program's, for every pattern. Patterns come from graphs, so from
// anybody; one that backtracks takes exponential time for (a*)*b.
#include "ops/string/regex_internal.h"

#include <stdlib.h>

// ---------------------------------------- from tree to program

typedef struct {
    VEC(Instruction) code;
} Emitter;

static Status *emit(Emitter *e, Instruction instruction, int *out) {
    NEED(e->code.n < REGEX_MOST, INVALID_ARGUMENT, "a pattern is too large");
    *out = (int)e->code.n;
    NEED_MEMORY(vec_push(&e->code, instruction));
    return OK;
}

static Status *emit_piece(Emitter *e, const Piece *piece);

static Status *emit_choice(Emitter *e, const Piece *first) {
    int split, jump, last = -1;  // jumps to the end are chained by `a` until it is known
    for (const Piece *part = first; part; part = part->next) {
        if (!part->next) {
            TRY(emit_piece(e, part));
            break;
        }
        TRY(emit(e, (Instruction){.doing = DO_SPLIT}, &split));
        e->code.p[split].a = split + 1;
        TRY(emit_piece(e, part));
        TRY(emit(e, (Instruction){.doing = DO_JUMP, .a = last}, &jump));
        last = jump;
        e->code.p[split].b = jump + 1;
    }
    while (last >= 0) {
        int next = e->code.p[last].a;
        e->code.p[last].a = (int)e->code.n;
        last = next;
    }
    return OK;
}

// The way that is tried first is preferred: for a greedy repeat one more time, for a lazy one to go past it.
static void set_ways(Instruction *split, bool lazy, int inside, int past) {
    split->a = lazy ? past : inside;
    split->b = lazy ? inside : past;
}

// A bounded repeat is unrolled: x{2,4} is xx(x(x)?)?. The parser's bounds keep the program small.
static Status *emit_repeat(Emitter *e, const Piece *piece) {
    int split, jump;
    for (int i = 0; i < piece->least; i++)
        TRY(emit_piece(e, piece->first));
    if (piece->most < 0) {
        TRY(emit(e, (Instruction){.doing = DO_SPLIT}, &split));
        TRY(emit_piece(e, piece->first));
        TRY(emit(e, (Instruction){.doing = DO_JUMP, .a = split}, &jump));
        set_ways(&e->code.p[split], piece->lazy, split + 1, jump + 1);
        return OK;
    }
    int chain = -1;  // splits that leave, chained until the end is known
    for (int i = piece->least; i < piece->most; i++) {
        TRY(emit(e, (Instruction){.doing = DO_SPLIT, .a = chain}, &split));
        chain = split;
        TRY(emit_piece(e, piece->first));
    }
    while (chain >= 0) {
        int next = e->code.p[chain].a;
        set_ways(&e->code.p[chain], piece->lazy, chain + 1, (int)e->code.n);
        chain = next;
    }
    return OK;
}

static Status *emit_group(Emitter *e, const Piece *piece) {
    bool saved = piece->group > 0 && piece->group < REGEX_GROUPS;
    int at;
    if (saved)
        TRY(emit(e, (Instruction){.doing = DO_SAVE, .a = 2 * piece->group}, &at));
    TRY(emit_piece(e, piece->first));
    if (saved)
        TRY(emit(e, (Instruction){.doing = DO_SAVE, .a = 2 * piece->group + 1}, &at));
    return OK;
}

static Status *emit_piece(Emitter *e, const Piece *piece) {
    int at;
    switch (piece->kind) {
    case PIECE_SET: return emit(e, (Instruction){.doing = DO_SET, .set = &piece->set}, &at);
    case PIECE_ASSERT: return emit(e, (Instruction){.doing = DO_ASSERT, .a = (int32_t)piece->assertion}, &at);
    case PIECE_CHOICE: return emit_choice(e, piece->first);
    case PIECE_REPEAT: return emit_repeat(e, piece);
    case PIECE_GROUP: return emit_group(e, piece);
    default:
        for (const Piece *part = piece->first; part; part = part->next)
            TRY(emit_piece(e, part));
        return OK;
    }
}

Status *regex_compile(Str pattern, Arena *arena, Regex **out) {
    Regex *regex = ARENA_NEW(arena, Regex);
    NEED_MEMORY(regex);
    Piece *tree;
    Emitter e = {0};
    int at;
    TRY(regex_parse(pattern, arena, &tree, &regex->groups));
    Status *status = emit_piece(&e, tree);
    if (!status)
        status = emit(&e, (Instruction){.doing = DO_MATCH}, &at);
    if (!status) {
        regex->n = (int)e.code.n;
        regex->code = ARENA_ARRAY(arena, Instruction, regex->n);
        if (regex->code)
            memcpy(regex->code, e.code.p, e.code.n * sizeof *e.code.p);
        else
            status = OUT_OF_MEMORY;
    }
    vec_clear(&e.code);
    TRY(status);
    *out = regex;
    return OK;
}

int regex_groups(const Regex *regex) {
    return regex->groups;
}

// ---------------------------------------- running

enum { SAVES = 2 * REGEX_GROUPS };
#define NOWHERE SIZE_MAX

// One way through the program: where it is, and what its groups took.
typedef struct {
    int at;
    size_t saves[SAVES];
} Way;

typedef struct {
    Way *ways;
    int n;
} Ways;

typedef struct {
    const Regex *regex;
    Str text;
    Ways now, next;
    size_t *seen;      // by instruction: 1 + the byte at which a way has come there
    Way *stack;        // ways to follow
    bool whole;        // only matches that end with the text count
} Run;

static bool is_word(Str text, size_t at) {
    unsigned char c = at < text.n ? (unsigned char)text.p[at] : ' ';
    return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static bool holds(const Run *run, Assertion assertion, size_t at) {
    bool edge = (at > 0 && is_word(run->text, at - 1)) != is_word(run->text, at);
    switch (assertion) {
    case ASSERT_BEGIN: return at == 0;
    case ASSERT_END: return at == run->text.n;
    case ASSERT_WORD: return edge;
    default: return !edge;
    }
}

// Adds what can be reached from the way without a byte, the preferred first. Each instruction is pushed once a byte at
// most, and pushes two.
static void follow(Run *run, Ways *to, Way way, size_t at) {
    int depth = 0;
    run->stack[depth++] = way;
    while (depth) {
        Way here = run->stack[--depth];
        if (run->seen[here.at] == at + 1)
            continue;
        run->seen[here.at] = at + 1;
        const Instruction *i = &run->regex->code[here.at];
        switch (i->doing) {
        case DO_SPLIT:
            run->stack[depth] = here;
            run->stack[depth++].at = i->b;
            run->stack[depth] = here;
            run->stack[depth++].at = i->a;
            break;
        case DO_JUMP:
            run->stack[depth] = here;
            run->stack[depth++].at = i->a;
            break;
        case DO_SAVE:
            here.saves[i->a] = at;
            here.at++;
            run->stack[depth++] = here;
            break;
        case DO_ASSERT:
            if (holds(run, (Assertion)i->a, at)) {
                here.at++;
                run->stack[depth++] = here;
            }
            break;
        default: to->ways[to->n++] = here;
        }
    }
}

// Every way goes on by one byte. True where one has ended in a match: worse ways are dropped then.
static bool go_on(Run *run, size_t at, size_t *saves) {
    run->next.n = 0;
    for (int w = 0; w < run->now.n; w++) {
        Way *way = &run->now.ways[w];
        const Instruction *i = &run->regex->code[way->at];
        if (i->doing == DO_MATCH) {
            if (run->whole && at != run->text.n)
                continue;
            memcpy(saves, way->saves, sizeof way->saves);
            saves[1] = at;
            return true;
        }
        if (at < run->text.n && set_has(i->set, (unsigned char)run->text.p[at])) {
            Way next = *way;
            next.at++;
            follow(run, &run->next, next, at + 1);
        }
    }
    return false;
}

static bool search(Run *run, size_t from, bool anchored, size_t *saves) {
    bool found = false;
    for (size_t at = from; at <= run->text.n; at++) {
        if (!found && (!anchored || at == from)) {  // a match that begins later is worse than all that run
            Way fresh = {.at = 0};
            for (int i = 0; i < SAVES; i++)
                fresh.saves[i] = NOWHERE;
            fresh.saves[0] = at;
            follow(run, &run->now, fresh, at);
        }
        if (run->now.n == 0 && (found || anchored))
            break;
        found |= go_on(run, at, saves);
        Ways before = run->now;
        run->now = run->next;
        run->next = before;
    }
    return found;
}

static Status *run_regex(const Regex *regex, Str text, size_t from, bool whole, bool *out_found, size_t *saves) {
    AUTO(arena) Arena arena = {0};
    size_t n = (size_t)regex->n;
    Run run = {.regex = regex, .text = text, .whole = whole};
    run.now.ways = ARENA_ARRAY(&arena, Way, n + 1);
    run.next.ways = ARENA_ARRAY(&arena, Way, n + 1);
    run.stack = ARENA_ARRAY(&arena, Way, 2 * n + 2);
    run.seen = ARENA_ARRAY(&arena, size_t, n);
    NEED_MEMORY(run.now.ways && run.next.ways && run.stack && run.seen);
    *out_found = search(&run, from, whole, saves);
    return OK;
}

Status *regex_match(const Regex *regex, Str text, bool *out) {
    size_t saves[SAVES];
    return run_regex(regex, text, 0, true, out, saves);
}

Status *regex_find(const Regex *regex, Str text, size_t from, bool *out_found, RegexMatch *out) {
    size_t saves[SAVES];
    bool found;
    TRY(run_regex(regex, text, from, false, &found, saves));
    for (int i = 0; found && i < REGEX_GROUPS; i++) {
        bool there = saves[2 * i] != NOWHERE && saves[2 * i + 1] != NOWHERE;
        out->groups[i] = there ? (Str){text.p + saves[2 * i], saves[2 * i + 1] - saves[2 * i]} : (Str){0};
    }
    *out_found = found;
    return OK;
}
