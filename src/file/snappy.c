// Snappy — see snappy.h. A length, then literals and copies of what came before.
//
// Copies may overlap what they write, which repeats it; each is checked against what is there and what is left.
#include "file/snappy.h"

#include "base/cursor.h"

#define MALFORMED FAIL(DATA_LOSS, "a snappy block is malformed")

static bool read_little(Cursor *c, int bytes, size_t *out) {
    Str raw;
    if (!cursor_bytes(c, (size_t)bytes, &raw))
        return false;
    *out = 0;
    for (int i = 0; i < bytes; i++)
        *out |= (size_t)(unsigned char)raw.p[i] << (8 * i);
    return true;
}

// The tag's low two bits say what follows: a literal, or a copy with an offset of 11, 16 or 32 bits.
static bool read_copy(Cursor *c, unsigned tag, size_t *length, size_t *offset) {
    if ((tag & 3) == 1) {
        *length = 4 + ((tag >> 2) & 7);
        if (!read_little(c, 1, offset))
            return false;
        *offset |= (size_t)(tag >> 5) << 8;
        return true;
    }
    *length = 1 + (tag >> 2);
    return read_little(c, (tag & 3) == 2 ? 2 : 4, offset);
}

Status *snappy_decode(Str block, size_t most, Text *out) {
    Cursor c = cursor_of(block.p, block.n);
    uint64_t total;
    if (!cursor_varint(&c, &total))
        MALFORMED;
    // A copy of three bytes gives 64 at most: who says more lies, and gets no memory for it.
    NEED(total <= most && total / 32 <= block.n, DATA_LOSS, "a snappy block of %zu bytes says it holds %llu", block.n,
         (unsigned long long)total);
    NEED_MEMORY(text_reserve(out, (size_t)total));
    size_t start = out->n, end = start + (size_t)total;
    while (cursor_left(&c)) {
        size_t tag, length, offset;
        if (!read_little(&c, 1, &tag))
            MALFORMED;
        if ((tag & 3) == 0) {
            Str bytes;
            length = (tag >> 2) + 1;
            if (length > 60 && (!read_little(&c, (int)length - 60, &length) || ++length == 0))
                MALFORMED;
            if (length > end - out->n || !cursor_bytes(&c, length, &bytes))
                MALFORMED;
            text_add(out, bytes);
            continue;
        }
        if (!read_copy(&c, (unsigned)tag, &length, &offset) || offset == 0 || offset > out->n - start ||
            length > end - out->n)
            MALFORMED;
        for (size_t i = 0; i < length; i++)  // byte by byte: a copy may repeat itself
            text_char(out, out->p[out->n - offset]);
    }
    NEED_MEMORY(!out->failed);
    if (out->n != end)
        MALFORMED;
    return OK;
}
