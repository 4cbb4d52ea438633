// Decoding — the binary form of messages, read by their tables.
//
// A message is walked twice. The first walk counts the elements of its lists, so that each gets one array of the right
// size: nothing is grown, nothing is wasted. The second stores. Messages without lists are walked once. Strings are
// views of the input. What a table doesn't know is kept as bytes and written again, so that a graph of a newer
// TensorFlow passes through whole. Memory is bounded by a multiple of the input (PROTO_EXPANSION), depth by
// PROTO_DEPTH.
#include "base/cursor.h"
#include "proto/message_internal.h"

typedef struct {
    Arena *arena;
    const unsigned char *start;  // of the whole input
    size_t most;                 // what arena->used may reach
    size_t limit;                // the arena's own, put back at the end
} Decoder;

// One field as it stands in the input.
typedef struct {
    uint32_t number, wire;
    uint64_t value;  // varint, or the four or eight bytes
    Str bytes;       // WIRE_LENGTH
    const unsigned char *begin;
} Record;

static Status *malformed(const Decoder *d, const MessageType *type, const unsigned char *at, const char *what) {
    FAIL(INVALID_ARGUMENT, "%s at byte %zu: %s", type->name, (size_t)(at - d->start), what);
}

// One byte mostly: field numbers and small lengths.
static inline bool read_varint(Cursor *c, uint64_t *out) {
    if (c->p < c->end && *c->p < 128) {
        *out = *c->p++;
        return true;
    }
    return cursor_varint(c, out);
}

static inline bool read_tag(Cursor *c, uint32_t *number, uint32_t *wire) {
    uint64_t tag;
    if (!read_varint(c, &tag) || tag > UINT32_MAX || tag < 8)
        return false;
    *number = (uint32_t)(tag >> 3);
    *wire = (uint32_t)(tag & 7);
    return true;
}

static bool read_value(Cursor *c, uint32_t wire, uint64_t *value, Str *bytes) {
    uint32_t four;
    switch (wire) {
    case WIRE_VARINT:
        return read_varint(c, value);
    case WIRE_EIGHT:
        return cursor_fixed64(c, value);
    case WIRE_FOUR:
        if (!cursor_fixed32(c, &four))
            return false;
        *value = four;
        return true;
    case WIRE_LENGTH:
        return read_varint(c, value) && *value <= cursor_left(c) && cursor_bytes(c, (size_t)*value, bytes);
    default:
        return false;
    }
}

// Groups are an old form of messages; no table has one, but unknown fields may. Ends behind the matching end tag.
static bool skip_group(Cursor *c, uint32_t number) {
    uint32_t open[PROTO_DEPTH], inner, wire;
    size_t depth = 0;
    open[depth++] = number;
    while (depth) {
        uint64_t value;
        Str bytes;
        if (!read_tag(c, &inner, &wire))
            return false;
        if (wire == WIRE_GROUP) {
            if (depth == PROTO_DEPTH)
                return false;
            open[depth++] = inner;
        } else if (wire == WIRE_END_GROUP) {
            if (open[--depth] != inner)
                return false;
        } else if (!read_value(c, wire, &value, &bytes)) {
            return false;
        }
    }
    return true;
}

static Status *read_record(const Decoder *d, const MessageType *type, Cursor *c, Record *out) {
    out->begin = c->p;
    if (!read_tag(c, &out->number, &out->wire))
        return malformed(d, type, out->begin, "the tag of a field is malformed or cut off");
    if (out->wire == WIRE_GROUP) {
        if (!skip_group(c, out->number))
            return malformed(d, type, out->begin, "a group is malformed, cut off or too deep");
    } else if (!read_value(c, out->wire, &out->value, &out->bytes)) {
        bool known = out->wire == WIRE_VARINT || out->wire == WIRE_EIGHT || out->wire == WIRE_FOUR;
        return malformed(d, type, out->begin,
                         out->wire == WIRE_LENGTH ? "the length of a field runs past the end"
                         : known                  ? "a value is cut off or too long"
                                                  : "a field has a wire type that doesn't exist");
    }
    return OK;
}

// Fields mostly arrive in the order of the table: the search begins behind the last hit.
static const Field *find_field(const MessageType *type, uint32_t number, unsigned *hint) {
    for (unsigned k = 0, i = *hint; k < type->n_fields; k++, i++) {
        if (i >= type->n_fields)
            i -= type->n_fields;
        if (type->fields[i].number == number) {
            *hint = i;
            return &type->fields[i];
        }
    }
    return NULL;
}

static Status *no_room(const Decoder *d, const MessageType *type) {
    FAIL(RESOURCE_EXHAUSTED, "%s: the decoded message takes more than %zu bytes", type->name, d->most);
}

// Elements that a record adds to a list; 0 where the wire type doesn't fit the field.
// Of a packed list of varints there are as many elements as bytes without the top bit.
static size_t record_elements(const Field *field, const Record *record) {
    uint32_t wire = proto_kinds[field->kind].wire;
    if (record->wire == wire)
        return 1;
    if (record->wire != WIRE_LENGTH)
        return 0;
    if (wire != WIRE_VARINT)
        return record->bytes.n / proto_kinds[field->kind].size;
    size_t n = 0;
    for (size_t i = 0; i < record->bytes.n; i++)
        n += (unsigned char)record->bytes.p[i] < 128;
    return n;
}

// First walk: gives every list of `message` the room that the input asks for. `out_grown`: a bit for each.
static Status *make_lists(Decoder *d, const MessageType *type, Cursor c, char *message, uint64_t *out_grown) {
    _Static_assert(PROTO_FIELDS <= 64, "a bit for each field");
    size_t counts[PROTO_FIELDS];
    memset(counts, 0, type->n_fields * sizeof *counts);
    unsigned hint = 0;
    while (c.p < c.end) {
        Record record;
        TRY(read_record(d, type, &c, &record));
        const Field *field = find_field(type, record.number, &hint);
        if (field && field->repeated)
            counts[hint] += record_elements(field, &record);
    }
    for (unsigned i = 0; i < type->n_fields; i++) {
        if (!counts[i])
            continue;
        *out_grown |= (uint64_t)1 << i;
        char *member = message + type->fields[i].offset;
        size_t size = field_size(&type->fields[i]);
        List list = list_at(member);
        // A list that is there already came with an earlier part of the same message: both parts are merged.
        size_t total = list.n + counts[i];
        void *p = arena_array(d->arena, total, size);
        if (!p)
            return no_room(d, type);
        if (list.n)
            memcpy(p, list.p, list.n * size);
        list.p = p;
        list_put(member, list);
    }
    return OK;
}

// Values are as wide as the member; varints of more bits lose the upper ones, as in protocol buffers.
static void store_scalar(ProtoKind kind, void *at, uint64_t value) {
    uint32_t four = (uint32_t)value;
    bool truth = value != 0;
    switch (proto_kinds[kind].size) {
    case 1:
        memcpy(at, &truth, 1);
        break;
    case 4:
        memcpy(at, &four, 4);
        break;
    default:
        memcpy(at, &value, 8);
        break;
    }
}

static Status *store_packed(const Decoder *d, const MessageType *type, const Field *field, char *message,
                            const Record *record) {
    List list = list_at(message + field->offset);
    size_t size = proto_kinds[field->kind].size;
    size_t n = record_elements(field, record);
    if (!n && !record->bytes.n)
        return OK;
    char *at = n ? (char *)list.p + list.n * size : NULL;
    if (proto_kinds[field->kind].wire != WIRE_VARINT) {
        if (record->bytes.n % size)
            return malformed(d, type, record->begin, "a packed list ends inside an element");
        if (n)
            memcpy(at, record->bytes.p, n * size);
    } else {
        Cursor c = cursor_of(record->bytes.p, record->bytes.n);
        for (size_t i = 0; i < n; i++, at += size) {
            uint64_t value;
            if (!read_varint(&c, &value))
                return malformed(d, type, c.p, "an element of a packed list is too long");
            store_scalar(field->kind, at, value);
        }
        if (c.p != c.end)
            return malformed(d, type, c.p, "a packed list ends inside an element");
    }
    list.n += n;
    list_put(message + field->offset, list);
    return OK;
}

// Neighbours become one piece. A ring whose head is its last link: adding to the end needs no second pointer.
static Status *keep_unknown(Decoder *d, const MessageType *type, char *message, const unsigned char *begin,
                            const unsigned char *end) {
    MessageHead *head = (MessageHead *)message;
    UnknownFields *last = head->unknown;
    size_t n = (size_t)(end - begin);
    if (last && last->bytes.p + last->bytes.n == (const char *)begin) {
        last->bytes.n += n;
        return OK;
    }
    UnknownFields *link = ARENA_NEW(d->arena, UnknownFields);
    if (!link)
        return no_room(d, type);
    link->bytes = (Str){(const char *)begin, n};
    link->next = last ? last->next : link;
    if (last)
        last->next = link;
    head->unknown = link;
    return OK;
}

static Status *decode_message(Decoder *d, const MessageType *type, Cursor c, char *message, int depth);

// A message that comes in two parts is merged, as the format says.
static Status *decode_sub(Decoder *d, const Field *field, void *at, Str bytes, int depth) {
    char *sub = at;
    if (!field->repeated) {
        memcpy(&sub, at, sizeof sub);
        if (!sub) {
            sub = arena_alloc(d->arena, field->sub->size);
            if (!sub)
                return no_room(d, field->sub);
            memcpy(at, &sub, sizeof sub);
        }
    }
    return decode_message(d, field->sub, cursor_of(bytes.p, bytes.n), sub, depth - 1);
}

// The record's wire type is the field's own.
static Status *store(Decoder *d, const MessageType *type, const Field *field, char *message, const Record *record,
                     int depth) {
    char *at = message + field->offset;
    // The last one that comes is the member that is set.
    if (field->in_oneof) {
        if (message_which(type, message) != field->number)
            memset(at, 0, proto_kinds[field->kind].size);
        memcpy(message + type->which, &field->number, sizeof field->number);
    }
    if (field->repeated) {
        List list = list_at(at);
        char *element = (char *)list.p + list.n * field_size(field);
        list.n++;
        list_put(at, list);
        at = element;
    }
    if (field->kind == PROTO_message)
        return decode_sub(d, field, at, record->bytes, depth);
    if (proto_kinds[field->kind].wire == WIRE_LENGTH)
        memcpy(at, &record->bytes, sizeof(Str));
    else
        store_scalar(field->kind, at, record->value);
    return OK;
}

// Only maps that this part of the message added to: else many empty parts would walk a long map again and again.
static Status *finish_maps(Decoder *d, const MessageType *type, char *message, uint64_t grown) {
    for (unsigned i = 0; grown; i++, grown >>= 1) {
        const Field *field = &type->fields[i];
        if (!(grown & 1) || !field->is_map)
            continue;
        List list = list_at(message + field->offset);
        TRY(map_finish(d->arena, field->sub, &list));
        list_put(message + field->offset, list);
    }
    return OK;
}

static Status *decode_message(Decoder *d, const MessageType *type, Cursor c, char *message, int depth) {
    if (depth < 0)
        return malformed(d, type, c.p, "messages nest too deep");
    uint64_t grown = 0;
    if (type->n_repeated && c.p < c.end)
        TRY(make_lists(d, type, c, message, &grown));
    unsigned hint = 0;
    while (c.p < c.end) {
        Record record;
        TRY(read_record(d, type, &c, &record));
        const Field *field = find_field(type, record.number, &hint);
        if (field && record.wire == proto_kinds[field->kind].wire)
            TRY(store(d, type, field, message, &record, depth));
        else if (field && record.wire == WIRE_LENGTH && field_is_packable(field))
            TRY(store_packed(d, type, field, message, &record));
        else
            TRY(keep_unknown(d, type, message, record.begin, c.p));
    }
    return finish_maps(d, type, message, grown);
}

// The limit is put on the arena for the time of the decoding: a small file of nested empty messages can't ask for
// gigabytes.
Status *proto_decode(Arena *arena, const MessageType *type, Str bytes, void **out) {
    Decoder d = {.arena = arena, .start = (const unsigned char *)bytes.p, .limit = arena->limit};
    size_t room;
    if (__builtin_mul_overflow(bytes.n, (size_t)PROTO_EXPANSION, &room) ||
        __builtin_add_overflow(room, (size_t)PROTO_ALLOWANCE, &room) ||
        __builtin_add_overflow(room, arena->used, &d.most))
        d.most = SIZE_MAX;
    if (d.limit && d.limit < d.most)
        d.most = d.limit;
    arena->limit = d.most;
    void *message = arena_alloc(arena, type->size);
    Status *status = message ? decode_message(&d, type, cursor_of(bytes.p, bytes.n), message, PROTO_DEPTH)
                             : no_room(&d, type);
    arena->limit = d.limit;
    TRY(status);
    *out = message;
    return OK;
}
