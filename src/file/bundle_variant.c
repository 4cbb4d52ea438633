// Variants in a bundle — see bundle_variant.h.
#include "file/bundle_variant.h"

#include "base/cursor.h"
#include "file/crc32c.h"
#include "proto/tensor_proto.h"
#include "tensor/held.h"

#define HELD_NAME "tensorflow::Tensor"

static Status *encode(const Tensor *variants, int64_t i, Text *out) {
    AUTO(arena) Arena arena = {0};
    const Tensor *held;
    TensorProto *proto;
    Status *status = held_get(variants, i, &held);
    if (status)
        return status_with_code(status, UNIMPLEMENTED);
    TRY(tensor_to_proto(&arena, held, &proto));
    VariantTensorDataProto data = {.type_name = STR(HELD_NAME), .tensors.p = proto, .tensors.n = 1};
    return PROTO_ENCODE(VariantTensorDataProto, &data, out);
}

static void add_varint(Text *text, uint64_t value) {
    for (; value >= 128; value >>= 7)
        text_char(text, (char)(value | 128));
    text_char(text, (char)value);
}

Status *bundle_variant_write(const Tensor *tensor, Text *out, uint32_t *out_crc) {
    uint32_t crc = 0;
    for (int64_t i = 0, n = tensor_count(tensor); i < n; i++) {
        AUTO(text) Text element = {0};
        size_t from = out->n;
        TRY(encode(tensor, i, &element));
        add_varint(out, element.n);
        text_add(out, text_str(&element));
        NEED_MEMORY(!out->failed && !element.failed);
        crc = crc32c(crc, out->p + from, out->n - from);
        uint32_t sum = crc32c_mask(crc);
        text_add(out, (Str){(const char *)&sum, 4});
        NEED_MEMORY(!out->failed);
        crc = crc32c(crc, &sum, 4);
    }
    *out_crc = crc;
    return OK;
}

static Status *decode(Str bytes, Str name, Object **out) {
    AUTO(arena) Arena arena = {0};
    VariantTensorDataProto *data;
    size_t budget = SPLAT_BUDGET;
    Tensor tensor;
    TRY(status_with_code(PROTO_DECODE(VariantTensorDataProto, &arena, bytes, &data), DATA_LOSS));
    NEED(str_is(data->type_name, HELD_NAME) && data->tensors.n == 1, UNIMPLEMENTED,
         "'%.*s' holds a variant of type %.*s, which is not read", STR_ARGS(name), STR_ARGS(data->type_name));
    TRY(tensor_from_proto(&data->tensors.p[0], &budget, &tensor));
    return held_new(tensor, out);
}

Status *bundle_variant_read(Str bytes, Str name, const Tensor *tensor, uint32_t *out_crc) {
    Cursor c = cursor_of(bytes.p, bytes.n);
    uint32_t crc = 0, stored;
    for (int64_t i = 0, n = tensor_count(tensor); i < n; i++) {
        const unsigned char *from = c.p;
        Str element;
        NEED(cursor_prefixed(&c, &element), DATA_LOSS, "'%.*s' has fewer variants than it says", STR_ARGS(name));
        crc = crc32c(crc, from, (size_t)(c.p - from));
        NEED(cursor_fixed32(&c, &stored) && stored == crc32c_mask(crc), DATA_LOSS,
             "The checksum does not match in variant %lld of '%.*s'", (long long)i, STR_ARGS(name));
        crc = crc32c(crc, &stored, 4);
        TRY(decode(element, name, (Object **)tensor->data + i));
    }
    NEED(!cursor_left(&c), DATA_LOSS, "'%.*s' has more bytes than its variants", STR_ARGS(name));
    *out_crc = crc;
    return OK;
}
