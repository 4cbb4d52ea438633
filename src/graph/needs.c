// Needs — see needs.h. A string becomes an array of conditions, each a predicate or a comparison of two terms.
//
// One declaration serves three ends: import and inference refuse what is known to be wrong, a step checks what was
// unknown, and the message cites the condition. What isn't known holds.
#include "graph/needs.h"

#include <ctype.h>

typedef enum {
    TERM_INT, TERM_RANK, TERM_DIM, TERM_SIZE, TERM_EACH,                              // numbers
    TERM_SCALAR, TERM_VECTOR, TERM_MATRIX, TERM_SCALAR_OR_VECTOR, TERM_ONE, TERM_NONEMPTY,  // of one argument
    TERM_SAME_SHAPE, TERM_SAME_RANK,                                                  // of two arguments
} TermKind;

typedef enum { REL_NONE, REL_EQ, REL_GE, REL_LE, REL_GT, REL_LT, REL_NE } Relation;

typedef struct {
    TermKind kind;
    int arg;         // of the signature; -1 for TERM_INT
    int64_t number;  // the integer, the dimension, or the second argument
} Term;

typedef struct {
    Term left, right;
    Relation relation;  // REL_NONE: left is a predicate
    Str text;           // of the condition, for messages
} Condition;

struct Needs {
    Condition *conditions;
    int n;
    bool flat;  // no argument is a list: argument i is input i
    const Signature *signature;
};

static const struct { const char *name; TermKind kind; int args; } words[] = {
    {"rank", TERM_RANK, 1},       {"dim", TERM_DIM, 2},         {"size", TERM_SIZE, 1},
    {"each", TERM_EACH, 1},       {"scalar", TERM_SCALAR, 1},   {"vector", TERM_VECTOR, 1},
    {"matrix", TERM_MATRIX, 1},   {"one", TERM_ONE, 1},         {"nonempty", TERM_NONEMPTY, 1},
    {"scalar_or_vector", TERM_SCALAR_OR_VECTOR, 1},
    {"same_shape", TERM_SAME_SHAPE, 2}, {"same_rank", TERM_SAME_RANK, 2},
};
enum { WORDS = sizeof words / sizeof *words };

// ---------------------------------------- reading the string

typedef struct {
    const char *text, *at;
    const Signature *signature;
} Reader;

// INTERNAL: the text is one of our own ops', and op tests read them all.
#define READER_NEED(r, condition, what)                                                               \
    NEED(condition, INTERNAL, "needs \"%s\": %s at column %d", (r)->text, what, (int)((r)->at - (r)->text) + 1)

static void skip_spaces(Reader *r) {
    while (*r->at == ' ' || *r->at == '\n' || *r->at == '\t')
        r->at++;
}

static bool take(Reader *r, const char *what) {
    skip_spaces(r);
    size_t n = strlen(what);
    bool there = strncmp(r->at, what, n) == 0;
    r->at += there ? n : 0;
    return there;
}

static Str take_word(Reader *r) {
    skip_spaces(r);
    const char *start = r->at;
    while (isalnum((unsigned char)*r->at) || *r->at == '_')
        r->at++;
    return (Str){start, (size_t)(r->at - start)};
}

static Status *read_int(Reader *r, int64_t *out) {
    skip_spaces(r);
    const char *start = r->at;
    r->at += *r->at == '-';
    while (isdigit((unsigned char)*r->at))
        r->at++;
    READER_NEED(r, str_to_int((Str){start, (size_t)(r->at - start)}, out), "a number is expected");
    return OK;
}

static Status *read_arg(Reader *r, int *out) {
    Str name = take_word(r);
    for (int i = 0; i < r->signature->n_inputs; i++)
        if (str_equal(r->signature->inputs[i].name, name)) {
            *out = i;
            return OK;
        }
    READER_NEED(r, false, "the name of an input is expected");
    return OK;
}

static Status *read_term(Reader *r, Term *out) {
    skip_spaces(r);
    *out = (Term){.kind = TERM_INT, .arg = -1};
    if (isdigit((unsigned char)*r->at) || *r->at == '-')
        return read_int(r, &out->number);
    Str name = take_word(r);
    int word = 0;
    while (word < WORDS && !str_is(name, words[word].name))
        word++;
    READER_NEED(r, word < WORDS, "an unknown condition");
    out->kind = words[word].kind;
    READER_NEED(r, take(r, "("), "( is expected");
    TRY(read_arg(r, &out->arg));
    if (words[word].args == 2) {
        READER_NEED(r, take(r, ","), ", is expected");
        int second = 0;
        if (out->kind == TERM_DIM)
            TRY(read_int(r, &out->number));
        else
            TRY(read_arg(r, &second));
        if (out->kind != TERM_DIM)
            out->number = second;
    }
    READER_NEED(r, take(r, ")"), ") is expected");
    return OK;
}

static bool is_number(const Term *term) {
    return term->kind <= TERM_EACH;
}

static Status *read_condition(Reader *r, Condition *out) {
    static const char *const relations[] = {"", "==", ">=", "<=", ">", "<", "!="};
    skip_spaces(r);
    const char *start = r->at;
    *out = (Condition){.relation = REL_NONE};
    TRY(read_term(r, &out->left));
    for (int i = REL_EQ; i <= REL_NE && out->relation == REL_NONE; i++)
        if (take(r, relations[i]))
            out->relation = (Relation)i;
    READER_NEED(r, is_number(&out->left) == (out->relation != REL_NONE), "a comparison needs numbers");
    if (out->relation != REL_NONE) {
        TRY(read_term(r, &out->right));
        READER_NEED(r, is_number(&out->right) && out->right.kind != TERM_EACH, "a number is expected");
    }
    out->text = (Str){start, (size_t)(r->at - start)};
    skip_spaces(r);
    return OK;
}

Status *needs_compile(const char *text, const Signature *signature, Arena *arena, Needs **out) {
    int most = 1;
    for (const char *p = text; *p; p++)
        most += *p == ',';
    Needs *needs = ARENA_NEW(arena, Needs);
    NEED_MEMORY(needs);
    needs->conditions = ARENA_ARRAY(arena, Condition, most);
    NEED_MEMORY(needs->conditions);
    needs->signature = signature;
    needs->flat = true;
    for (int i = 0; i < signature->n_inputs; i++)
        needs->flat &= signature->inputs[i].number_attr < 0 && signature->inputs[i].list_attr < 0;
    Reader r = {text, text, signature};
    skip_spaces(&r);
    while (*r.at) {
        TRY(read_condition(&r, &needs->conditions[needs->n++]));
        READER_NEED(&r, take(&r, ",") || !*r.at, "a comma is expected");
        skip_spaces(&r);
    }
    *out = needs;
    return OK;
}

// ---------------------------------------- checking

typedef struct {
    const Needs *needs;
    const Node *node;
    const Shape *in;
    const Tensor *const *value;
} Checked;

static void arg_inputs(const Checked *c, int arg, int *first, int *count) {
    *first = arg;
    *count = 1;
    if (!c->needs->flat)
        node_input_span(c->node, arg, first, count);
}

// The k-th tensor of the argument; a single one stands beside each of a list.
static int input_at(const Checked *c, int arg, int k) {
    int first, count;
    arg_inputs(c, arg, &first, &count);
    return count == 1 ? first : first + k;
}

// A condition on a list holds for each of its members.
static int repeats(const Checked *c, const Term *term) {
    int first, count = 1;
    if (term->arg >= 0)
        arg_inputs(c, term->arg, &first, &count);
    if (term->kind == TERM_SAME_SHAPE || term->kind == TERM_SAME_RANK) {
        int other;
        arg_inputs(c, (int)term->number, &first, &other);
        return count == 1 ? other : other == 1 || count < other ? count : other;
    }
    return count;
}

// False where the number isn't known.
static bool term_number(const Checked *c, const Term *term, int k, int64_t *out) {
    if (term->kind == TERM_INT) {
        *out = term->number;
        return true;
    }
    const Shape *shape = &c->in[input_at(c, term->arg, k)];
    if (shape->rank < 0)
        return false;
    int64_t at = term->number < 0 ? term->number + shape->rank : term->number;
    switch (term->kind) {
    case TERM_RANK: *out = shape->rank; break;
    case TERM_DIM: *out = at >= 0 && at < shape->rank ? shape->dims[at] : -1; break;
    default: *out = shape_count(shape); break;
    }
    return *out >= 0;
}

static bool compare(int64_t a, Relation relation, int64_t b) {
    switch (relation) {
    case REL_EQ: return a == b;
    case REL_GE: return a >= b;
    case REL_LE: return a <= b;
    case REL_GT: return a > b;
    case REL_LT: return a < b;
    default: return a != b;
    }
}

static bool predicate_holds(const Checked *c, const Term *term, int k) {
    const Shape *a = &c->in[input_at(c, term->arg, k)];
    if (term->kind == TERM_SAME_SHAPE || term->kind == TERM_SAME_RANK) {
        const Shape *b = &c->in[input_at(c, (int)term->number, k)];
        return term->kind == TERM_SAME_SHAPE ? shape_compatible(a, b) : a->rank < 0 || b->rank < 0 ||
            a->rank == b->rank;
    }
    if (a->rank < 0)
        return true;
    int64_t count = shape_count(a);
    switch (term->kind) {
    case TERM_SCALAR: return a->rank == 0;
    case TERM_VECTOR: return a->rank == 1;
    case TERM_MATRIX: return a->rank == 2;
    case TERM_SCALAR_OR_VECTOR: return a->rank <= 1;
    case TERM_ONE: return count < 0 || count == 1;
    default: return count != 0;
    }
}

// "rank(logits) >= 1 is required, but logits has shape []"
static Status *violation(const Checked *c, const Condition *condition, int k) {
    const Term *terms[] = {&condition->left, &condition->right};
    AUTO(text) Text text = {0};
    text_format(&text, "%.*s is required", STR_ARGS(condition->text));
    int n = 0;
    for (int i = 0; i < 2; i++) {
        if (i == 1 && condition->relation == REL_NONE)
            break;
        int args[2] = {terms[i]->arg, -1};
        if (terms[i]->kind == TERM_SAME_SHAPE || terms[i]->kind == TERM_SAME_RANK)
            args[1] = (int)terms[i]->number;
        for (int j = 0; j < 2; j++)
            if (args[j] >= 0)
                text_format(&text, "%s%.*s has shape %s", n++ ? " and " : ", but ",
                            STR_ARGS(c->needs->signature->inputs[args[j]].name),
                            shape_text(&c->in[input_at(c, args[j], k)]));
    }
    FAIL(INVALID_ARGUMENT, "%s", text.p ? text.p : "a condition on the inputs");
}

static Status *check_each(const Checked *c, const Condition *condition, int k) {
    const Tensor *value = c->value ? c->value[input_at(c, condition->left.arg, k)] : NULL;
    int64_t limit;
    if (!value || (value->dtype != DT_int32 && value->dtype != DT_int64) ||
        !term_number(c, &condition->right, k, &limit))
        return OK;
    for (int64_t i = 0, n = tensor_count(value); i < n; i++)
        NEED(compare(tensor_int(value, i), condition->relation, limit), INVALID_ARGUMENT,
             "%.*s is required, but element %lld is %lld", STR_ARGS(condition->text), (long long)i,
             (long long)tensor_int(value, i));
    return OK;
}

static Status *check_condition(const Checked *c, const Condition *condition) {
    int n = repeats(c, &condition->left);
    if (condition->relation != REL_NONE) {
        int right = repeats(c, &condition->right);
        n = n == 1 || (right > 1 && right < n) ? right : n;
    }
    for (int k = 0; k < n; k++) {
        int64_t a, b;
        bool holds = true;
        if (condition->left.kind == TERM_EACH)
            TRY(check_each(c, condition, k));
        else if (condition->relation == REL_NONE)
            holds = predicate_holds(c, &condition->left, k);
        else if (term_number(c, &condition->left, k, &a) && term_number(c, &condition->right, k, &b))
            holds = compare(a, condition->relation, b);
        if (!holds)
            return violation(c, condition, k);
    }
    return OK;
}

Status *needs_check(const Needs *needs, const Node *node, const Shape *in, const Tensor *const *value) {
    Checked c = {needs, node, in, value};
    for (int i = 0; i < needs->n; i++)
        TRY(check_condition(&c, &needs->conditions[i]));
    return OK;
}
