// Message, enum, map — the parts that decoding, encoding and text share.
#include "proto/message.h"

#include <stdio.h>

#include "base/map.h"
#include "proto/message_internal.h"
#include "tensor/dtype.h"

const KindRow proto_kinds[] = {
    [PROTO_int32] = {4, WIRE_VARINT},
    [PROTO_int64] = {8, WIRE_VARINT},
    [PROTO_uint32] = {4, WIRE_VARINT},
    [PROTO_uint64] = {8, WIRE_VARINT},
    [PROTO_bool] = {1, WIRE_VARINT},
    [PROTO_enum] = {4, WIRE_VARINT},
    [PROTO_fixed32] = {4, WIRE_FOUR},
    [PROTO_float] = {4, WIRE_FOUR},
    [PROTO_fixed64] = {8, WIRE_EIGHT},
    [PROTO_double] = {8, WIRE_EIGHT},
    [PROTO_string] = {sizeof(Str), WIRE_LENGTH},
    [PROTO_bytes] = {sizeof(Str), WIRE_LENGTH},
    [PROTO_message] = {sizeof(void *), WIRE_LENGTH},
};

size_t field_size(const Field *field) {
    return field->repeated && field->kind == PROTO_message ? field->sub->size : proto_kinds[field->kind].size;
}

const Field *message_field(const MessageType *type, Str name) {
    for (unsigned i = 0; i < type->n_fields; i++)
        if (str_is(name, type->fields[i].name))
            return &type->fields[i];
    return NULL;
}

bool message_next_unknown(const void *message, const void **at, Str *out) {
    const UnknownFields *last = ((const MessageHead *)message)->unknown, *link = *at;
    if (!last || link == last)
        return false;
    link = link ? link->next : last->next;
    *at = link;
    *out = link->bytes;
    return true;
}

// ---- maps

static Str map_key(const MessageType *entry, const char *at) {
    const Field *key = &entry->fields[0];
    Str s = {at + key->offset, proto_kinds[key->kind].size};
    if (proto_kinds[key->kind].wire == WIRE_LENGTH)
        memcpy(&s, at + key->offset, sizeof s);
    return s;
}

// Of two entries with one key the later stays, in the place of the first.
static Status *drop_doubles(const MessageType *entry, List *list) {
    AUTO(map) Map seen = {0};
    char *entries = list->p;
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++) {
        char *at = entries + i * entry->size, *first = NULL;
        Str key = map_key(entry, at);
        if (list->n > 16) {
            first = map_find(&seen, key);
        } else {
            for (size_t k = 0; k < kept && !first; k++)
                if (str_equal(key, map_key(entry, entries + k * entry->size)))
                    first = entries + k * entry->size;
        }
        char *place = first ? first : entries + kept++ * entry->size;
        if (place != at)
            memcpy(place, at, entry->size);
        if (!first && list->n > 16)
            NEED_MEMORY(map_set(&seen, map_key(entry, place), place));
    }
    list->n = kept;
    return OK;
}

Status *map_finish(Arena *arena, const MessageType *entry, List *list) {
    const Field *value = &entry->fields[1];
    if (!list->n)
        return OK;
    TRY(drop_doubles(entry, list));
    if (value->kind != PROTO_message)
        return OK;
    char *at = (char *)list->p + value->offset;
    for (size_t i = 0; i < list->n; i++, at += entry->size) {
        void *sub;
        memcpy(&sub, at, sizeof sub);
        if (sub)
            continue;
        sub = arena_alloc(arena, value->sub->size);
        NEED_MEMORY(sub);
        memcpy(at, &sub, sizeof sub);
    }
    return OK;
}

// ---- enumerations

// TensorFlow writes a type's name in capitals, with DT_ before it.
const char *enum_name(const EnumType *type, int32_t number, char scratch[32]) {
    if (type->rows) {
        for (size_t i = 0; i < type->n; i++)
            if (type->rows[i].number == number)
                return type->rows[i].name;
        return NULL;
    }
    if (number != DT_INVALID && !dtype_is_valid((DType)number))
        return NULL;
    int n = snprintf(scratch, 32, "DT_%s", dtype_name((DType)number));
    for (int i = 0; i < n; i++)
        if (scratch[i] >= 'a' && scratch[i] <= 'z')
            scratch[i] = (char)(scratch[i] - 'a' + 'A');
    return scratch;
}

bool enum_find(const EnumType *type, Str name, int32_t *out) {
    for (size_t i = 0; i < type->n; i++) {
        if (str_is(name, type->rows[i].name)) {
            *out = type->rows[i].number;
            return true;
        }
    }
    if (type->rows || !str_starts(name, STR("DT_")) || name.n > 31)
        return false;
    char lower[32];
    size_t n = 0;
    for (size_t i = 3; i < name.n; i++) {
        char c = name.p[i];
        if (c >= 'a' && c <= 'z')
            return false;
        lower[n++] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    DType dtype = dtype_find((Str){lower, n});
    bool is_invalid = str_equal((Str){lower, n}, STR("invalid"));
    if (dtype == DT_INVALID && !is_invalid)
        return false;
    *out = (int32_t)dtype;
    return true;
}
