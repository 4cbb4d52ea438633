// Patterns — strings compared with regular expressions, and rewritten by them.
#include "ops/string/regex.h"
#include "ops/string/strings.h"

// ---------------------------------------- matching

typedef struct {
    Regex *regex;      // NULL where the pattern is an input
    Str rewrite;
    bool global;
} PatternOwn;

static Status *static_prepare(Prepare *p) {
    PatternOwn *own = p->own;
    const AttrValue *rewrite = node_attr_find(p->node, "rewrite"), *global = node_attr_find(p->node, "replace_global");
    own->rewrite = rewrite ? rewrite->s : (Str){0};
    own->global = global && global->b;
    return regex_compile(node_str(p->node, "pattern"), p->arena, &own->regex);
}

static Status *match_all(Kernel *k, const Regex *regex) {
    for (int64_t i = 0, n = tensor_count(k->in[0]); i < n; i++)
        TRY(regex_match(regex, string_at(k->in[0], i), (bool *)k->out[0]->data + i));
    return OK;
}

static Status *static_match_run(Kernel *k) {
    return match_all(k, ((const PatternOwn *)k->own)->regex);
}

static Status *match_run(Kernel *k) {
    AUTO(arena) Arena arena = {0};
    Regex *regex;
    TRY(regex_compile(string_at(k->in[1], 0), &arena, &regex));
    return match_all(k, regex);
}

const Op op_StaticRegexFullMatch = {
    .signature = "StaticRegexFullMatch(input: string) -> output: bool; pattern: string",
    .doc = "Whether the whole of each string matches the pattern.", .shape = shape_unchanged, .prepare = static_prepare,
    .own_size = sizeof(PatternOwn), .cpu = ANY_TYPE(static_match_run), .flags = OP_NO_GRADIENT,
};
const Op op_RegexFullMatch = {
    .signature = "RegexFullMatch(input: string, pattern: string) -> output: bool",
    .doc = "Whether the whole of each string matches the pattern.", .needs = "scalar(pattern)",
    .shape = shape_unchanged, .cpu = ANY_TYPE(match_run), .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- replacing

// \0 to \9 stand for groups, \\ for itself.
static Status *check_rewrite(Str rewrite, int groups) {
    for (size_t i = 0; i < rewrite.n; i++) {
        if (rewrite.p[i] != '\\')
            continue;
        char c = ++i < rewrite.n ? rewrite.p[i] : 0;
        NEED(c == '\\' || (c >= '0' && c <= '9' && c - '0' <= groups), INVALID_ARGUMENT,
             "Invalid rewrite pattern: %.*s", STR_ARGS(rewrite));
    }
    return OK;
}

static void add_rewrite(Text *out, Str rewrite, const RegexMatch *match) {
    for (size_t i = 0; i < rewrite.n; i++) {
        if (rewrite.p[i] != '\\')
            text_char(out, rewrite.p[i]);
        else if (rewrite.p[++i] == '\\')
            text_char(out, '\\');
        else
            text_add(out, match->groups[rewrite.p[i] - '0']);
    }
}

// An empty match right behind the last one is none: a character is passed over.
static Status *replace(const Regex *regex, Str s, Str rewrite, bool global, Text *out) {
    size_t at = 0, last = SIZE_MAX;
    while (at <= s.n) {
        RegexMatch match;
        bool found;
        TRY(regex_find(regex, s, at, &found, &match));
        if (!found)
            break;
        size_t begin = (size_t)(match.groups[0].p - s.p), end = begin + match.groups[0].n;
        text_add(out, (Str){s.p + at, begin - at});
        at = begin;
        if (begin == end && begin == last) {
            size_t step = begin < s.n ? utf8_length(s.p + begin, s.n - begin) : 1;
            text_add(out, (Str){s.p + begin, begin < s.n ? step : 0});
            at += step;
            continue;
        }
        add_rewrite(out, rewrite, &match);
        at = last = end;
        if (!global)
            break;
    }
    if (at < s.n)
        text_add(out, (Str){s.p + at, s.n - at});
    return OK;
}

static Status *replace_all(Kernel *k, const Regex *regex, Str rewrite, bool global) {
    AUTO(text) Text text = {0};
    TRY(check_rewrite(rewrite, regex_groups(regex)));
    for (int64_t i = 0, n = tensor_count(k->in[0]); i < n; i++) {
        Str s = string_at(k->in[0], i);
        TRY(replace(regex, s.n ? s : STR(""), rewrite, global, &text));
        TRY(string_put_text(k->out[0], i, &text));
    }
    return OK;
}

static Status *static_replace_run(Kernel *k) {
    const PatternOwn *own = k->own;
    return replace_all(k, own->regex, own->rewrite, own->global);
}

static Status *replace_prepare(Prepare *p) {
    ((PatternOwn *)p->own)->global = node_bool(p->node, "replace_global");
    return OK;
}

static Status *replace_run(Kernel *k) {
    AUTO(arena) Arena arena = {0};
    Regex *regex;
    TRY(regex_compile(string_at(k->in[1], 0), &arena, &regex));
    return replace_all(k, regex, string_at(k->in[2], 0), ((const PatternOwn *)k->own)->global);
}

const Op op_StaticRegexReplace = {
    .signature = "StaticRegexReplace(input: string) -> output: string; pattern: string; rewrite: string; "
                 "replace_global: bool = true",
    .doc = "Strings with what matches the pattern rewritten.", .shape = shape_unchanged, .prepare = static_prepare,
    .own_size = sizeof(PatternOwn), .cpu = ANY_TYPE(static_replace_run), .flags = OP_NO_GRADIENT,
};
const Op op_RegexReplace = {
    .signature = "RegexReplace(input: string, pattern: string, rewrite: string) -> output: string; "
                 "replace_global: bool = true",
    .doc = "Strings with what matches the pattern rewritten.", .needs = "scalar(pattern), scalar(rewrite)",
    .shape = shape_unchanged, .prepare = replace_prepare, .own_size = sizeof(PatternOwn), .cpu = ANY_TYPE(replace_run),
    .flags = OP_NO_GRADIENT,
};
