// fuzz_text — any bytes as the text of a message, and as its binary form: what is taken is printed and read as itself.
#include <stdlib.h>

#include "proto/messages.h"
#include "proto/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static const MessageType *const types[] = {&message_GraphDef,    &message_MetaGraphDef, &message_ConfigProto,
                                           &message_ApiDefsProto, &message_FunctionDef,  &message_EventProto};

// Printed and read, the message has the same encoding. `has_unknown` tells that some of it is not printed.
static void there_and_back(const MessageType *type, const void *message, bool has_unknown) {
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text text = {0}, before = {0}, after = {0};
    void *again;
    if (proto_print(type, message, &text) || proto_encode(type, message, &before))
        abort();
    AUTO(status) Status *status = proto_parse(&arena, type, text_str(&text), &again);
    if (status && status_code(status) != RESOURCE_EXHAUSTED)
        abort();
    if (status)
        return;
    if (proto_encode(type, again, &after))
        abort();
    if (!has_unknown && !str_equal(text_str(&before), text_str(&after)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    if (n == 0)
        return 0;
    const MessageType *type = types[bytes[0] % (sizeof types / sizeof *types)];
    Str rest = {(const char *)bytes + 1, n - 1};
    AUTO(arena) Arena arena = {0};
    void *message;
    AUTO(status) Status *parsed = proto_parse(&arena, type, rest, &message);
    if (!parsed)
        there_and_back(type, message, false);
    AUTO(status) Status *decoded = proto_decode(&arena, type, rest, &message);
    if (!decoded)
        there_and_back(type, message, true);
    return 0;
}
