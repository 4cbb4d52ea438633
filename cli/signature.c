// Signatures — what a SavedModel calls its inputs and outputs, read from the MetaGraphDef that comes with it.
//
// The few fields that matter, by their numbers: MetaGraphDef 5 is a map of signatures, a signature's 1 and 2 are maps of
// inputs and outputs, and field 1 of such an end is the tensor's name. A map's entry has its key in 1, its value in 2.
#include "cli.h"

typedef struct {
    const unsigned char *at, *end;
} Bytes;

static bool read_varint(Bytes *b, uint64_t *out) {
    *out = 0;
    for (int shift = 0; shift < 64 && b->at < b->end; shift += 7) {
        *out |= (uint64_t)(*b->at & 127) << shift;
        if (!(*b->at++ & 128))
            return true;
    }
    return false;
}

// The next field; `value` holds the bytes of those that have a length, and is empty for others. False at the end.
static bool read_field(Bytes *b, uint64_t *number, Bytes *value) {
    uint64_t tag, n;
    if (b->at >= b->end || !read_varint(b, &tag))
        return false;
    *number = tag >> 3;
    *value = (Bytes){b->at, b->at};
    switch (tag & 7) {
    case 0: return read_varint(b, &n);
    case 1: n = 8; break;
    case 5: n = 4; break;
    case 2:
        if (!read_varint(b, &n))
            return false;
        break;
    default: return false;
    }
    if (n > (uint64_t)(b->end - b->at))
        return false;
    if ((tag & 7) == 2)
        *value = (Bytes){b->at, b->at + n};
    b->at += n;
    return true;
}

static Bytes find_field(Bytes message, uint64_t wanted) {
    uint64_t number;
    Bytes value;
    while (read_field(&message, &number, &value))
        if (number == wanted)
            return value;
    return (Bytes){0};
}

static void copy_text(char *to, size_t room, Bytes text) {
    snprintf(to, room, "%.*s", text.at ? (int)(text.end - text.at) : 0, text.at ? (const char *)text.at : "");
}

static void add_ends(Model *model, Bytes signature, uint64_t which) {
    uint64_t number;
    Bytes entry;
    while (read_field(&signature, &number, &entry)) {
        if (number != which || model->n_ends == MOST_EDGES)
            continue;
        ModelEnd *end = &model->ends[model->n_ends];
        end->is_output = which == 2;
        copy_text(end->name, sizeof end->name, find_field(entry, 1));
        copy_text(end->edge, sizeof end->edge, find_field(find_field(entry, 2), 1));
        if (*end->name && *end->edge)
            model->n_ends++;
    }
}

// The signature of that name, or the first one that has outputs.
void signature_read(Model *model, const void *bytes, size_t size) {
    Bytes meta = {bytes, (const unsigned char *)bytes + size}, entry, chosen = {0};
    uint64_t number;
    while (read_field(&meta, &number, &entry)) {
        if (number != 5)
            continue;
        Bytes key = find_field(entry, 1), signature = find_field(entry, 2);
        bool serving = key.at && key.end - key.at == 15 && memcmp(key.at, "serving_default", 15) == 0;
        if (serving || (!chosen.at && find_field(signature, 2).at))
            chosen = signature;
    }
    if (chosen.at) {
        add_ends(model, chosen, 1);
        add_ends(model, chosen, 2);
    }
}
