// Encoding — the binary form of messages, written by their tables.
//
// The same code walks a message twice. The first walk measures, and notes the length of every part that has to stand in
// front; the second writes into memory of exactly the measured size. Fields go in the order of their numbers, so equal
// messages have equal bytes.
#include "base/vec.h"
#include "proto/message_internal.h"

// `p` is NULL on the measuring walk. `lengths` has the length of each message and packed list, in the walk's order.
typedef struct {
    char *p;
    size_t n;
    VEC(size_t) lengths;
    size_t next;
} Writer;

static void write_bytes(Writer *w, const void *bytes, size_t n) {
    if (w->p && n)
        memcpy(w->p + w->n, bytes, n);
    w->n += n;
}

static void write_varint(Writer *w, uint64_t value) {
    if (w->p) {
        char *at = w->p + w->n;
        for (; value > 127; value >>= 7)
            *at++ = (char)(value | 128);
        *at++ = (char)value;
        w->n = (size_t)(at - w->p);
        return;
    }
    w->n++;
    while (value >>= 7)
        w->n++;
}

static void write_tag(Writer *w, const Field *field, uint32_t wire) {
    write_varint(w, (uint64_t)field->number << 3 | wire);
}

static uint64_t load_scalar(ProtoKind kind, const void *at) {
    uint64_t eight;
    uint32_t four;
    int32_t number;
    switch (kind) {
    case PROTO_bool:
        return *(const bool *)at;
    case PROTO_int32:
    case PROTO_enum:
        memcpy(&number, at, 4);
        return int32_bits(number);  // negative ones take ten bytes: so the format has it
    case PROTO_uint32:
    case PROTO_fixed32:
    case PROTO_float:
        memcpy(&four, at, 4);
        return four;
    default:
        memcpy(&eight, at, 8);
        return eight;
    }
}

static void write_scalar(Writer *w, ProtoKind kind, const void *at) {
    if (proto_kinds[kind].wire == WIRE_VARINT)
        write_varint(w, load_scalar(kind, at));
    else
        write_bytes(w, at, proto_kinds[kind].size);
}

// Begins a part whose length stands before it: on the measuring walk notes it, on the writing walk writes it.
static Status *part_begin(Writer *w, size_t *slot, size_t *start) {
    *slot = w->next++;
    if (w->p)
        write_varint(w, w->lengths.p[*slot]);
    else
        NEED_MEMORY(vec_push(&w->lengths, 0));
    *start = w->n;
    return OK;
}

static void part_end(Writer *w, size_t slot, size_t start) {
    if (w->p)
        return;
    w->lengths.p[slot] = w->n - start;
    write_varint(w, w->n - start);
}

static Status *write_message(Writer *w, const MessageType *type, const char *message, bool is_entry, int depth);

static Status *write_sub(Writer *w, const Field *field, const char *sub, int depth) {
    size_t slot, start;
    write_tag(w, field, WIRE_LENGTH);
    TRY(part_begin(w, &slot, &start));
    if (sub)
        TRY(write_message(w, field->sub, sub, field->is_map, depth - 1));
    part_end(w, slot, start);
    return OK;
}

static Status *write_list(Writer *w, const Field *field, List list, int depth) {
    size_t size = field_size(field), slot, start;
    const char *at = list.p;
    if (field_is_packable(field)) {
        write_tag(w, field, WIRE_LENGTH);
        TRY(part_begin(w, &slot, &start));
        if (proto_kinds[field->kind].wire != WIRE_VARINT)
            write_bytes(w, at, list.n * size);
        else
            for (size_t i = 0; i < list.n; i++)
                write_scalar(w, field->kind, at + i * size);
        part_end(w, slot, start);
        return OK;
    }
    for (size_t i = 0; i < list.n; i++, at += size) {
        if (field->kind == PROTO_message) {
            TRY(write_sub(w, field, at, depth));
            continue;
        }
        Str s;
        memcpy(&s, at, sizeof s);
        write_tag(w, field, WIRE_LENGTH);
        write_varint(w, s.n);
        write_bytes(w, s.p, s.n);
    }
    return OK;
}

// `always`: written also where it is the default, as a oneof's member and the parts of a map's entry are.
static Status *write_one(Writer *w, const Field *field, const char *at, bool always, int depth) {
    if (field->kind == PROTO_message) {
        const char *sub;
        memcpy(&sub, at, sizeof sub);
        return sub || always ? write_sub(w, field, sub, depth) : OK;
    }
    if (proto_kinds[field->kind].wire == WIRE_LENGTH) {
        Str s;
        memcpy(&s, at, sizeof s);
        if (!s.n && !always)
            return OK;
        write_tag(w, field, WIRE_LENGTH);
        write_varint(w, s.n);
        write_bytes(w, s.p, s.n);
    } else if (always || load_scalar(field->kind, at)) {
        write_tag(w, field, proto_kinds[field->kind].wire);
        write_scalar(w, field->kind, at);
    }
    return OK;
}

// Defaults aren't written, as in proto3; what was unknown comes behind what is known.
static Status *write_message(Writer *w, const MessageType *type, const char *message, bool is_entry, int depth) {
    NEED(depth >= 0, INVALID_ARGUMENT, "%s: messages nest deeper than %d", type->name, PROTO_DEPTH);
    uint32_t which = message_which(type, message);
    for (unsigned i = 0; i < type->n_fields; i++) {
        const Field *field = &type->fields[i];
        const char *at = message + field->offset;
        if (field->repeated) {
            List list = list_at(at);
            if (list.n)
                TRY(write_list(w, field, list, depth));
        } else if (!field->in_oneof || which == field->number) {
            TRY(write_one(w, field, at, field->in_oneof || is_entry, depth));
        }
    }
    const void *link = NULL;
    Str bytes;
    while (message_next_unknown(message, &link, &bytes))
        write_bytes(w, bytes.p, bytes.n);
    return OK;
}

static Status *write_twice(Writer *w, const MessageType *type, const void *message, Text *out) {
    TRY(write_message(w, type, message, false, PROTO_DEPTH));
    size_t total = w->n;
    NEED_MEMORY(text_reserve(out, total));
    w->p = out->p + out->n;
    w->n = 0;
    w->next = 0;
    TRY(write_message(w, type, message, false, PROTO_DEPTH));
    out->n += total;
    out->p[out->n] = 0;
    return OK;
}

Status *proto_encode(const MessageType *type, const void *message, Text *out) {
    Writer w = {0};
    Status *status = write_twice(&w, type, message, out);
    vec_clear(&w.lengths);
    return status;
}
