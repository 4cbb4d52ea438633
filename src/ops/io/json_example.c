// DecodeJSONExample — Examples written as JSON (protocol buffers' own mapping) to their bytes.
#include "base/json.h"
#include "base/number.h"
#include "ops/string/strings.h"

static void put_varint(Text *out, uint64_t value) {
    for (; value > 127; value >>= 7)
        text_char(out, (char)(value | 128));
    text_char(out, (char)value);
}

static void put_part(Text *out, int field, Str bytes) {
    put_varint(out, (uint64_t)field << 3 | 2);
    put_varint(out, bytes.n);
    text_add(out, bytes);
}

#define NO_FIT(json, what) \
    FAIL(INVALID_ARGUMENT, "\"%.*s\" is not %s", STR_ARGS((json)->text), (what))

// ---------------------------------------- values, each with its tag, as TensorFlow writes them

static int base64_digit(char c) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    return c == '/' || c == '_' ? 63 : -1;
}

// Of either alphabet, with padding or without.
static Status *put_bytes(const Json *value, Text *out) {
    AUTO(text) Text bytes = {0};
    Str s = value->text;
    if (value->kind != JSON_TEXT)
        NO_FIT(value, "a text");
    while (s.n && s.p[s.n - 1] == '=')
        s.n--;
    uint32_t bits = 0;
    int count = 0;
    for (size_t i = 0; i < s.n; i++) {
        int digit = base64_digit(s.p[i]);
        if (digit < 0)
            NO_FIT(value, "base64");
        bits = bits << 6 | (uint32_t)digit;
        count += 6;
        if (count >= 8) {
            count -= 8;
            text_char(&bytes, (char)(bits >> count));
        }
    }
    if (count >= 6)
        NO_FIT(value, "base64");
    NEED_MEMORY(!bytes.failed);
    put_part(out, 1, text_str(&bytes));
    return OK;
}

static Status *put_float(const Json *value, Text *out) {
    float number;
    bool is_word = value->kind == JSON_TEXT && (str_is(value->text, "NaN") || str_is(value->text, "Infinity") ||
                                                str_is(value->text, "-Infinity"));
    if (is_word)
        number = str_is(value->text, "NaN") ? NAN : *value->text.p == '-' ? -INFINITY : INFINITY;
    else if ((value->kind != JSON_NUMBER && value->kind != JSON_TEXT) || !str_to_float(value->text, &number) ||
             !isfinite(number))
        NO_FIT(value, "a float");
    text_char(out, 0x0d);
    text_add(out, (Str){(const char *)&number, sizeof number});
    return OK;
}

static Status *put_int(const Json *value, Text *out) {
    int64_t number;
    double real;
    if (value->kind != JSON_NUMBER && value->kind != JSON_TEXT)
        NO_FIT(value, "an int64");
    if (!str_to_int(value->text, &number)) {
        // Written as "1.0" or "1e3".
        if (!str_to_double(value->text, &real) || !(fabs(real) < 9e18) || real != floor(real))
            NO_FIT(value, "an int64");
        number = (int64_t)real;
    }
    text_char(out, 0x08);
    put_varint(out, (uint64_t)number);
    return OK;
}

typedef Status *PutFn(const Json *value, Text *out);

// The kinds of list, by both of their names.
static PutFn *list_kind(Str key, int *field) {
    static const struct {
        const char *names[2];
        PutFn *put;
    } kinds[] = {{{"bytesList", "bytes_list"}, put_bytes},
                 {{"floatList", "float_list"}, put_float},
                 {{"int64List", "int64_list"}, put_int}};
    for (int i = 0; i < 3; i++)
        if (str_is(key, kinds[i].names[0]) || str_is(key, kinds[i].names[1])) {
            *field = i + 1;
            return kinds[i].put;
        }
    return NULL;
}

// ---------------------------------------- messages

static Status *need_object(const Json *json, const char *what) {
    NEED(json->kind == JSON_OBJECT, INVALID_ARGUMENT, "%s is no object", what);
    return OK;
}

static Status *unknown(const Json *member, const char *of) {
    FAIL(INVALID_ARGUMENT, "%s has no field \"%.*s\"", of, STR_ARGS(member->key));
}

static Status *put_list(const Json *list, PutFn *put, Text *out) {
    TRY(need_object(list, "a list of values"));
    for (const Json *member = list->first; member; member = member->next) {
        if (!str_is(member->key, "value"))
            return unknown(member, "a list of values");
        NEED(member->kind == JSON_LIST || member->kind == JSON_NULL, INVALID_ARGUMENT, "\"value\" is no list");
        for (const Json *value = member->first; value; value = value->next)
            TRY(put(value, out));
    }
    return OK;
}

static Status *put_feature(const Json *feature, Text *out) {
    TRY(need_object(feature, "a feature"));
    bool is_set = false;
    for (const Json *member = feature->first; member; member = member->next) {
        int field;
        PutFn *put = list_kind(member->key, &field);
        if (!put)
            return unknown(member, "a feature");
        if (member->kind == JSON_NULL)
            continue;
        NEED(!is_set, INVALID_ARGUMENT, "a feature has more than one kind of values");
        is_set = true;
        AUTO(text) Text list = {0};
        TRY(put_list(member, put, &list));
        NEED_MEMORY(!list.failed);
        put_part(out, field, text_str(&list));
    }
    return OK;
}

static Status *put_features(const Json *features, Text *out) {
    TRY(need_object(features, "\"features\""));
    for (const Json *member = features->first; member; member = member->next) {
        if (!str_is(member->key, "feature"))
            return unknown(member, "\"features\"");
        if (member->kind == JSON_NULL)
            continue;
        TRY(need_object(member, "\"feature\""));
        for (const Json *feature = member->first; feature; feature = feature->next) {
            AUTO(text) Text bytes = {0};
            AUTO(text) Text entry = {0};
            TRY(put_feature(feature, &bytes));
            put_part(&entry, 1, feature->key);
            put_part(&entry, 2, text_str(&bytes));
            NEED_MEMORY(!bytes.failed && !entry.failed);
            put_part(out, 1, text_str(&entry));
        }
    }
    return OK;
}

static Status *put_example(Str json, Text *out) {
    AUTO(arena) Arena arena = {0};
    Json *example;
    TRY(json_parse(&arena, json, &example));
    TRY(need_object(example, "the example"));
    for (const Json *member = example->first; member; member = member->next) {
        if (!str_is(member->key, "features"))
            return unknown(member, "the example");
        if (member->kind == JSON_NULL)
            continue;
        AUTO(text) Text features = {0};
        TRY(put_features(member, &features));
        NEED_MEMORY(!features.failed);
        put_part(out, 1, text_str(&features));
    }
    return OK;
}

static Status *json_run(Kernel *k) {
    AUTO(text) Text bytes = {0};
    for (int64_t i = 0; i < tensor_count(k->in[0]); i++) {
        TRY(context_check(k->step));
        Status *status = put_example(string_at(k->in[0], i), &bytes);
        if (status)
            return status_prefix(status, "Error while parsing JSON %lld", (long long)i);
        TRY(string_put_text(k->out[0], i, &bytes));
    }
    return OK;
}

const Op op_DecodeJSONExample = {
    .signature = "DecodeJSONExample(json_examples: string) -> binary_examples: string",
    .doc = "Examples written as JSON, serialized.", .shape = shape_unchanged, .cpu = ANY_TYPE(json_run),
    .flags = OP_NO_GRADIENT,
};
