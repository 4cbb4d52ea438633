// Text form, written — see text.h: the form that protocol buffers print, with numbers in the fewest digits that read
// back.
#include <inttypes.h>

#include "base/number.h"
#include "proto/message_internal.h"
#include "proto/text.h"

static void print_string(Text *out, Str s) {
    text_char(out, '"');
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '\n')
            text_add(out, STR("\\n"));
        else if (c == '\r')
            text_add(out, STR("\\r"));
        else if (c == '\t')
            text_add(out, STR("\\t"));
        else if (c == '"' || c == '\'' || c == '\\')
            text_add(out, (Str){(char[]){'\\', (char)c}, 2});
        else if (c < 32 || c > 126)
            text_format(out, "\\%03o", c);
        else
            text_char(out, (char)c);
    }
    text_char(out, '"');
}

static void print_enum(Text *out, const EnumType *type, int32_t number) {
    char scratch[32];
    const char *name = enum_name(type, number, scratch);
    if (name)
        text_add(out, str_of(name));
    else
        text_format(out, "%" PRId32, number);
}

static void print_scalar(Text *out, const Field *field, const void *at) {
    union {
        bool truth;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
        float f;
        double d;
        Str s;
    } value;
    memcpy(&value, at, proto_kinds[field->kind].size);
    switch ((ProtoKind)field->kind) {
    case PROTO_bool:
        text_add(out, value.truth ? STR("true") : STR("false"));
        break;
    case PROTO_int32:
        text_format(out, "%" PRId32, value.i32);
        break;
    case PROTO_uint32:
    case PROTO_fixed32:
        text_format(out, "%" PRIu32, value.u32);
        break;
    case PROTO_int64:
        text_format(out, "%" PRId64, value.i64);
        break;
    case PROTO_uint64:
    case PROTO_fixed64:
        text_format(out, "%" PRIu64, value.u64);
        break;
    case PROTO_enum:
        print_enum(out, field->enumeration, value.i32);
        break;
    case PROTO_float:
        text_float(out, value.f);
        break;
    case PROTO_double:
        text_double(out, value.d);
        break;
    case PROTO_string:
    case PROTO_bytes:
        print_string(out, value.s);
        break;
    case PROTO_message:
        break;
    }
}

static bool is_default(const Field *field, const void *at) {
    static const char zeros[sizeof(uint64_t)];
    Str s;
    if (proto_kinds[field->kind].wire != WIRE_LENGTH)
        return memcmp(at, zeros, proto_kinds[field->kind].size) == 0;
    memcpy(&s, at, sizeof s);
    return s.n == 0;
}

static void indent(Text *out, int level) {
    for (int i = 0; i < level; i++)
        text_add(out, STR("  "));
}

static Status *print_message(Text *out, const MessageType *type, const char *message, bool is_entry, int level);

static Status *print_sub(Text *out, const Field *field, const char *sub, int level) {
    indent(out, level);
    text_add(out, str_of(field->name));
    text_add(out, STR(" {\n"));
    if (sub)
        TRY(print_message(out, field->sub, sub, field->is_map, level + 1));
    indent(out, level);
    text_add(out, STR("}\n"));
    return OK;
}

static void print_line(Text *out, const Field *field, const void *at, int level) {
    indent(out, level);
    text_add(out, str_of(field->name));
    text_add(out, STR(": "));
    print_scalar(out, field, at);
    text_char(out, '\n');
}

static Status *print_list(Text *out, const Field *field, List list, int level) {
    size_t size = field_size(field);
    const char *at = list.p;
    for (size_t i = 0; i < list.n; i++, at += size) {
        if (field->kind == PROTO_message)
            TRY(print_sub(out, field, at, level));
        else
            print_line(out, field, at, level);
    }
    return OK;
}

static Status *print_message(Text *out, const MessageType *type, const char *message, bool is_entry, int level) {
    NEED(level <= PROTO_DEPTH, INVALID_ARGUMENT, "%s: messages nest deeper than %d", type->name, PROTO_DEPTH);
    uint32_t which = message_which(type, message);
    for (unsigned i = 0; i < type->n_fields; i++) {
        const Field *field = &type->fields[i];
        const char *at = message + field->offset, *sub;
        bool always = field->in_oneof || is_entry;
        if (field->in_oneof && which != field->number)
            continue;
        if (field->repeated) {
            TRY(print_list(out, field, list_at(at), level));
        } else if (field->kind == PROTO_message) {
            memcpy(&sub, at, sizeof sub);
            if (sub || always)
                TRY(print_sub(out, field, sub, level));
        } else if (always || !is_default(field, at)) {
            print_line(out, field, at, level);
        }
    }
    const void *link = NULL;
    Str bytes;
    while (message_next_unknown(message, &link, &bytes)) {
        indent(out, level);
        text_format(out, "# %zu bytes of fields that are not known here\n", bytes.n);
    }
    return OK;
}

Status *proto_print(const MessageType *type, const void *message, Text *out) {
    TRY(print_message(out, type, message, false, 0));
    NEED_MEMORY(!out->failed);
    return OK;
}
