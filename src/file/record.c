// Record — see record.h: TFRecord files: length, its checksum, bytes, their checksum. The length is believed only after
// its checksum, and memory is taken only for bytes that the file can have.
#include "file/record.h"

#include "file/crc32c.h"

enum { HEAD = 12, TAIL = 4 };

static uint32_t read_u32(const char *p) {
    uint32_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

static bool is_intact(Str bytes, const char *checksum) {
    return crc32c_mask(crc32c(0, bytes.p, bytes.n)) == read_u32(checksum);
}

Status *record_read(FileStream *stream, Str *out, bool *out_found) {
    unsigned long long at = file_stream_position(stream);
    Str head, whole;
    TRY(file_stream_take(stream, HEAD, &head));
    if (!head.n) {
        *out_found = false;
        return OK;
    }
    NEED(head.n == HEAD, DATA_LOSS, "truncated record at %llu", at);
    NEED(is_intact((Str){head.p, 8}, head.p + 8), DATA_LOSS,
         "corrupted record at %llu (Is this even a TFRecord file?)", at);
    uint64_t length;
    memcpy(&length, head.p, sizeof length);
    NEED(length < UINT64_MAX - TAIL, DATA_LOSS, "truncated record at %llu", at);
    TRY(file_stream_take(stream, length + TAIL, &whole));
    NEED(whole.n == length + TAIL, DATA_LOSS, "truncated record at %llu", at);
    Str bytes = {whole.p, (size_t)length};
    NEED(is_intact(bytes, whole.p + length), DATA_LOSS, "corrupted record at %llu", at + HEAD);
    *out = bytes;
    *out_found = true;
    return OK;
}

static void add_checksum(Str bytes, Text *out) {
    uint32_t checksum = crc32c_mask(crc32c(0, bytes.p, bytes.n));
    text_add(out, (Str){(const char *)&checksum, sizeof checksum});
}

void record_write(Str bytes, Text *out) {
    uint64_t length = bytes.n;
    Str head = {(const char *)&length, sizeof length};
    text_add(out, head);
    add_checksum(head, out);
    text_add(out, bytes);
    add_checksum(bytes, out);
}
