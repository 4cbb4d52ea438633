// Shape rules — see shape_rule.h: the shape functions of known ops without a kernel, as patterns in text. A rule is
// read as it is applied: nothing is kept, since each is applied a few times at import.
//
// Matching the inputs binds names to extents, ranks and shapes; the results are written with these names. A name that
// is met again is merged, so that [m k], [k n] refuses what doesn't agree.
#include "graph/shape_rule.h"

#include <ctype.h>

#include "base/checked.h"

enum { MOST_NAMES = 32 };

typedef struct {
    Str name;
    int member;       // of the list, for names with _; else 0
    Shape shape;      // an extent is the only one of a vector's shape
} Name;

typedef struct {
    const char *at, *end;
    Shapes *s;
    Name names[MOST_NAMES];
    int n;
    int member;
} Rule;

#define MALFORMED(r) FAIL(INTERNAL, "the shape rule is malformed before \"%.*s\"", (int)((r)->end - (r)->at), (r)->at)

// ---------------------------------------- words

static char peek(Rule *r) {
    while (r->at < r->end && *r->at == ' ')
        r->at++;
    return r->at < r->end ? *r->at : 0;
}

static bool take(Rule *r, const char *what) {
    size_t n = strlen(what);
    peek(r);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, what, n) != 0)
        return false;
    r->at += n;
    return true;
}

static Str take_word(Rule *r) {
    peek(r);
    const char *start = r->at;
    while (r->at < r->end && (isalnum((unsigned char)*r->at) || *r->at == '_'))
        r->at++;
    return (Str){start, (size_t)(r->at - start)};
}

static int take_int(Rule *r) {
    int64_t value = 0;
    return str_to_int(take_word(r), &value) ? (int)value : 0;
}

// ---------------------------------------- names

static bool is_local(Str name) {
    return name.n && name.p[0] == '_';
}

static bool is_whole(Str name) {
    return name.n && isupper((unsigned char)name.p[is_local(name)]);
}

static Status *name_of(Rule *r, Str name, Shape **out) {
    int member = is_local(name) ? r->member : 0;
    for (int i = 0; i < r->n; i++)
        if (r->names[i].member == member && str_equal(r->names[i].name, name)) {
            *out = &r->names[i].shape;
            return OK;
        }
    NEED(r->n < MOST_NAMES, RESOURCE_EXHAUSTED, "more than %d sizes", MOST_NAMES);
    Name *made = &r->names[r->n++];
    *made = (Name){name, member, is_whole(name) ? UNKNOWN_SHAPE : SHAPE(UNKNOWN_DIM)};
    *out = &made->shape;
    return OK;
}

static Status *merge_name(Rule *r, Str name, const Shape *shape) {
    Shape *known;
    TRY(name_of(r, name, &known));
    return shape_merge(known, shape, known);
}

static const AttrValue *attr_of(Rule *r, Str name) {
    const Node *node = r->s->node;
    for (int i = 0; i < node->n_attrs; i++)
        if (str_equal(node->attrs[i].name, name))
            return &node->attrs[i].value;
    return NULL;
}

// The attribute's shape: a number is a vector of that extent, a list gives its member.
static Status *attr_shape(Rule *r, Str name, Shape *out) {
    const AttrValue *value = attr_of(r, name);
    *out = UNKNOWN_SHAPE;
    if (!value)
        return OK;
    if (value->kind == ATTR_INT && value->is_list)
        return value->n <= MAX_RANK ? shape_make(value->is, value->n, out) : OK;
    if (value->kind == ATTR_INT)
        *out = SHAPE(value->i < 0 ? UNKNOWN_DIM : value->i);
    else if (value->kind == ATTR_SHAPE && !value->is_list)
        *out = *value->shape;
    else if (value->kind == ATTR_SHAPE && r->member < value->n)
        *out = value->shapes[r->member];
    else if (value->kind == ATTR_FLOAT && value->is_list && value->n <= MAX_RANK)
        for (out->rank = 0; out->rank < value->n; out->rank++)
            out->dims[out->rank] = value->fs[out->rank] >= 0 && value->fs[out->rank] < 1e9f
                                       ? (int64_t)(value->fs[out->rank] * 1000 + 0.5f) : UNKNOWN_DIM;
    else if (value->is_list)
        *out = SHAPE(value->n);
    return OK;
}

// ---------------------------------------- extents

// What a name of several members adds up to.
static int64_t sum_of(const Rule *r, Str name) {
    int64_t sum = 0;
    for (int i = 0; i < r->n && sum >= 0; i++)
        if (str_equal(r->names[i].name, name)) {
            int64_t more = r->names[i].shape.dims[0];
            sum = more < 0 || __builtin_add_overflow(sum, more, &sum) ? UNKNOWN_DIM : sum;
        }
    return sum;
}

static Status *read_extent(Rule *r, int64_t *out);

static Status *read_term(Rule *r, int64_t *out) {
    Shape attr, *known = &attr;
    *out = UNKNOWN_DIM;
    if (take(r, "?"))
        return OK;
    if (take(r, "(")) {
        TRY(read_extent(r, out));
        return take(r, ")") ? OK : status_new(INTERNAL, __FILE__, __LINE__, ") is expected");
    }
    char sign = r->at < r->end && strchr("@#%$", *r->at) ? *r->at++ : 0;
    Str word = take_word(r);
    if (!word.n)
        MALFORMED(r);
    if (sign == '$') {
        *out = sum_of(r, word);
        return OK;
    }
    if (sign == '@')
        TRY(attr_shape(r, word, &attr));
    else if (isdigit((unsigned char)word.p[0]))
        return str_to_int(word, out) ? OK : status_new(INTERNAL, __FILE__, __LINE__, "no number");
    else
        TRY(name_of(r, word, &known));
    bool member = sign == '@' && take(r, ".");
    int at = member ? take_int(r) : 0;
    if (sign == '#')
        *out = known->rank < 0 ? UNKNOWN_DIM : known->rank;
    else if (sign == '%')
        *out = shape_count(known);
    else if (member || known->rank == 1)
        *out = at < known->rank ? known->dims[at] : UNKNOWN_DIM;
    return OK;
}

static Status *read_extent(Rule *r, int64_t *out) {
    TRY(read_term(r, out));
    while (r->at < r->end && *r->at && strchr("+-*/<", *r->at)) {
        char operation = *r->at++;
        int64_t right, left = *out;
        TRY(read_term(r, &right));
        *out = operation == '<' && (left == 0 || right == 0) ? 0 : UNKNOWN_DIM;
        if (left < 0 || right < 0)
            continue;
        NEED(operation != '/' || right > 0, INVALID_ARGUMENT, "a size is divided by 0");
        bool large = false;
        switch (operation) {
        case '+': large = __builtin_add_overflow(left, right, out); break;
        case '-': *out = left - right; break;
        case '<': *out = left < right ? left : right; break;
        case '*': large = __builtin_mul_overflow(left, right, out); break;
        default: *out = left / right; break;
        }
        NEED(!large && *out >= 0, INVALID_ARGUMENT, "a size of %lld %c %lld", (long long)left, operation, (long long)right);
    }
    return OK;
}

// A part of a bracket that stands for any number of extents: its name, empty for "...". "&X" broadcasts.
static bool take_span(Rule *r, Str *out, bool *broadcasts) {
    *out = (Str){0};
    *broadcasts = take(r, "&");
    if (take(r, "..."))
        return true;
    char c = peek(r);
    if (isupper((unsigned char)c) || (c == '_' && r->at + 1 < r->end && isupper((unsigned char)r->at[1]))) {
        *out = take_word(r);
        return true;
    }
    return false;
}

static void skip_part(Rule *r) {
    while (r->at < r->end && *r->at != ' ' && *r->at != ']')
        r->at++;
    peek(r);
}

// rank: the only one that fits, or more than any.
static Status *wrong(const Shape *shape, int rank, const char *start, const char *end) {
    static const char *const names[] = {"a scalar", "a vector", "a matrix"};
    int n = (int)(end - start);
    if (rank > MAX_RANK)
        FAIL(INVALID_ARGUMENT, "rank must be as in %.*s, got shape %s", n, start, shape_text(shape));
    if (rank < 3)
        FAIL(INVALID_ARGUMENT, "must be %s (rank %d: %.*s), got shape %s", names[rank], rank, n, start,
             shape_text(shape));
    FAIL(INVALID_ARGUMENT, "must be %d-dimensional (rank %d: %.*s), got shape %s", rank, rank, n, start,
         shape_text(shape));
}

// One extent: a bare name learns, all else must agree.
static Status *match_extent(Rule *r, int64_t extent) {
    const char *start = r->at;
    Str word = take_word(r);
    bool bare = word.n && !isdigit((unsigned char)word.p[0]) && (r->at >= r->end || *r->at == ' ' || *r->at == ']');
    if (bare)
        return merge_name(r, word, &SHAPE(extent));
    r->at = start;
    int64_t wanted;
    TRY(read_extent(r, &wanted));
    NEED(wanted < 0 || extent < 0 || wanted == extent, INVALID_ARGUMENT, "Dimension must be %lld but is %lld",
         (long long)wanted, (long long)extent);
    return OK;
}

// Behind '['. `out` is the shape, with its rank where that alone is told.
static Status *match_bracket(Rule *r, const Shape *shape, Shape *out) {
    const char *start = r->at;
    int fixed = 0;
    bool spans = false, broadcasts;
    Str name;
    while (peek(r) != ']') {
        bool span = take_span(r, &name, &broadcasts);
        spans |= span;
        fixed += !span;
        if (r->at >= r->end)
            MALFORMED(r);
        skip_part(r);
    }
    const char *end = r->at;
    if (shape->rank >= 0 && (spans ? shape->rank < fixed : shape->rank != fixed))
        return wrong(shape, spans ? MAX_RANK + 1 : fixed, start - 1, end + 1);
    *out = *shape;
    if (shape->rank < 0 && !spans) {
        out->rank = fixed;
        for (int i = 0; i < fixed; i++)
            out->dims[i] = UNKNOWN_DIM;
    }
    r->at = start;
    for (int i = 0; peek(r) != ']';) {
        if (!take_span(r, &name, &broadcasts)) {
            TRY(match_extent(r, out->rank < 0 ? UNKNOWN_DIM : out->dims[i++]));
            continue;
        }
        Shape span = {.rank = out->rank < 0 ? UNKNOWN_RANK : out->rank - fixed};
        for (int k = 0; k < span.rank; k++)
            span.dims[k] = out->dims[i++];
        Shape *known;
        int before = r->n;
        if (!name.n)
            continue;
        TRY(name_of(r, name, &known));
        TRY((broadcasts && r->n == before ? shape_broadcast : shape_merge)(known, &span, known));
    }
    r->at = end + 1;
    return OK;
}

// ---------------------------------------- patterns

static Status *match(Rule *r, const Shape *shape);

// "2..", "0..1", "2": a rank; "0..1:n" names the extent of a vector.
static Status *match_rank(Rule *r, const Shape *shape) {
    const char *start = r->at;
    int least = take_int(r), most = least;
    if (take(r, ".."))
        most = isdigit((unsigned char)peek(r)) ? take_int(r) : MAX_RANK;
    if (shape->rank >= 0 && (shape->rank < least || shape->rank > most))
        return wrong(shape, least == most ? least : MAX_RANK + 1, start, r->at);
    if (!take(r, ":"))
        return OK;
    Str name = take_word(r);
    return shape->rank == 1 ? merge_name(r, name, shape) : OK;
}

static Status *match_named(Rule *r, const Shape *shape) {
    Str name = take_word(r);
    Shape known = *shape;
    if (take(r, ":")) {
        if (take(r, "["))
            TRY(match_bracket(r, shape, &known));
        else
            TRY(match(r, shape));
    }
    return merge_name(r, name, &known);
}

static Status *match(Rule *r, const Shape *shape) {
    Shape ignored;
    char c = peek(r);
    if (take(r, "*"))
        return OK;
    if (take(r, "["))
        return match_bracket(r, shape, &ignored);
    if (isdigit((unsigned char)c))
        return match_rank(r, shape);
    if (c == '_' || isupper((unsigned char)c))
        return match_named(r, shape);
    MALFORMED(r);
}

// "=k", "=[h w]": the constant's numbers.
static Status *match_value(Rule *r, int input) {
    const Tensor *value = r->s->value[input];
    const Shape *in = &r->s->in[input];
    bool vector = peek(r) == '[', integers = value && (value->dtype == DT_int32 || value->dtype == DT_int64);
    NEED(in->rank < 0 || in->rank == vector || (!value && !vector), INVALID_ARGUMENT,
         "Shape must be rank %d but is rank %d", vector, in->rank);
    Shape shape = UNKNOWN_SHAPE;
    if (integers && (value->shape.rank != 0) == vector && tensor_count(value) <= MAX_RANK) {
        shape.rank = (int)tensor_count(value);
        for (int i = 0; i < shape.rank; i++) {
            shape.dims[i] = tensor_int(value, i);
            NEED(shape.dims[i] >= -vector, INVALID_ARGUMENT, "a size must be non-negative, not %lld",
                 (long long)shape.dims[i]);
        }
    } else if (in->rank == 1 && in->dims[0] >= 0 && in->dims[0] <= MAX_RANK) {
        shape.rank = (int)in->dims[0];
        for (int i = 0; i < shape.rank; i++)
            shape.dims[i] = UNKNOWN_DIM;
    }
    if (vector)
        return match(r, &shape);
    return merge_name(r, take_word(r), shape.rank == 1 ? &shape : &SHAPE(UNKNOWN_DIM));
}

// A scalar says only that nothing is known: -1.
static Status *read_value(Shapes *s, int input, Shape *out) {
    if (s->in[input].rank != 0)
        return shapes_input_shape(s, input, out);
    int64_t number;
    NEED(shapes_input_int(s, input, &number) && number == -1, INVALID_ARGUMENT,
         "a shape must be a vector, or a constant -1");
    return OK;
}

static Status *match_part(Rule *r, int input) {
    if (take(r, "="))
        return match_value(r, input);
    Shape shape = UNKNOWN_SHAPE;
    if (take(r, "~"))
        TRY(read_value(r->s, input, &shape));
    else if (take(r, "^"))
        shape = r->s->handle[input] ? r->s->handle[input]->shape : shape;
    else
        shape = r->s->in[input];
    return match(r, &shape);
}

static Status *match_input(Rule *r, int input) {
    do
        TRY(match_part(r, input));
    while (take(r, "&"));
    return OK;
}

static Status *match_inputs(Rule *r) {
    const Signature *signature = &r->s->node->type->signature;
    for (int arg = 0; peek(r) && peek(r) != '-'; arg++) {
        if (arg && !take(r, ","))
            MALFORMED(r);
        int first = 0, count = 0;
        if (arg < signature->n_inputs)
            node_input_span(r->s->node, arg, &first, &count);
        const char *start = r->at;
        for (r->member = 0; r->member < count; r->member++) {
            r->at = start;
            TRY(status_prefix(match_input(r, first + r->member), "%.*s", STR_ARGS(signature->inputs[arg].name)));
        }
        // Where a list is empty its pattern is passed over.
        for (int depth = 0; count == 0 && peek(r) && (depth || (*r->at != ',' && *r->at != '-')); r->at++)
            depth += (*r->at == '[') - (*r->at == ']');
    }
    return OK;
}

// ---------------------------------------- results

static Status *read_bracket(Rule *r, Shape *out) {
    int64_t dims[MAX_RANK + 1];
    int n = 0;
    bool known = true;
    while (!take(r, "]")) {
        Str name;
        bool broadcasts;
        Shape span = SHAPE(UNKNOWN_DIM), *found = &span;
        const char *start = r->at;
        if (take_span(r, &name, &broadcasts))
            TRY(name_of(r, name, &found));
        else if (take(r, "@"))
            TRY(attr_shape(r, take_word(r), found));
        if (found == &span && (r->at == start || (peek(r) && strchr("+-*/", *r->at)))) {
            r->at = start;
            span.rank = 1;
            TRY(read_extent(r, &span.dims[0]));
        }
        known &= found->rank >= 0;
        NEED(n + found->rank <= MAX_RANK, INVALID_ARGUMENT, "a shape has at most %d dimensions", MAX_RANK);
        for (int i = 0; i < found->rank; i++)
            dims[n++] = found->dims[i];
        if (r->at >= r->end)
            MALFORMED(r);
    }
    *out = UNKNOWN_SHAPE;
    return known ? shape_make(dims, n, out) : OK;
}

static Status *read_result(Rule *r, Shape *out) {
    Shape *known;
    *out = UNKNOWN_SHAPE;
    if (take(r, "*"))
        return OK;
    if (take(r, "["))
        return read_bracket(r, out);
    if (take(r, "@"))
        return attr_shape(r, take_word(r), out);
    bool only_rank = take(r, "?");
    Str name = take_word(r);
    if (!name.n)
        MALFORMED(r);
    TRY(name_of(r, name, &known));
    *out = *known;
    for (int i = 0; only_rank && i < out->rank; i++)
        out->dims[i] = UNKNOWN_DIM;
    return OK;
}

static Status *read_results(Rule *r) {
    const Signature *signature = &r->s->node->type->signature;
    const char *start = r->at;
    for (int arg = 0; arg < signature->n_outputs; arg++) {
        int first, count;
        node_output_span(r->s->node, arg, &first, &count);
        for (r->member = 0; r->member < count || r->member == 0; r->member++) {
            Shape shape;
            r->at = start;
            TRY(read_result(r, &shape));
            if (r->member < count)
                r->s->out[first + r->member] = shape;
        }
        if (take(r, ","))
            start = r->at;
    }
    return OK;
}

// ---------------------------------------- cases

static int rank_of_input(Rule *r, Str name) {
    int first, count;
    int arg = node_input_arg(r->s->node, name, &first, &count);
    return arg >= 0 && count ? r->s->in[first].rank : UNKNOWN_RANK;
}

// "(a)", "(!a)", "(a=word)", "(#input=rank)"
static bool take_condition(Rule *r) {
    bool negated = take(r, "!"), rank = take(r, "#");
    Str name = take_word(r), wanted = {0};
    if (take(r, "=")) {
        const char *start = r->at;
        take(r, "-");
        take_word(r);
        wanted = (Str){start, (size_t)(r->at - start)};
    }
    take(r, ")");
    int64_t number = 1;
    if (rank)
        return str_to_int(wanted, &number) && rank_of_input(r, name) == number;
    const AttrValue *value = attr_of(r, name);
    bool holds = false;
    if (value && value->kind == ATTR_STRING)
        holds = str_equal(value->s, wanted);
    else if (value && value->kind == ATTR_BOOL)
        holds = value->b;
    else if (value && value->kind == ATTR_INT)
        holds = wanted.n ? str_to_int(wanted, &number) && value->i == number : value->i != 0;
    else if (value && value->kind == ATTR_SHAPE)
        holds = value->is_list ? value->n > 0 : value->shape->rank >= 0;
    return holds != negated;
}

Status *shape_rule_apply(Str rule, Shapes *s, bool *out_told) {
    Rule r = {.s = s, .end = rule.p + rule.n};
    for (const char *start = rule.p, *bar; start < rule.p + rule.n; start = bar + 1) {
        bar = memchr(start, '|', (size_t)(rule.p + rule.n - start));
        bar = bar ? bar : rule.p + rule.n;
        r.at = start;
        r.end = bar;
        bool meant = true;
        while (take(&r, "("))
            meant &= take_condition(&r);
        if (!meant)
            continue;
        TRY(match_inputs(&r));
        bool told = take(&r, "->");
        *out_told = told || s->n_out == 0;
        return told ? read_results(&r) : peek(&r) ? status_new(INTERNAL, __FILE__, __LINE__, "-> is expected") : OK;
    }
    return OK;
}
