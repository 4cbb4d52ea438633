// Text form — messages as people write them: `node { name: "a" attr { key: "T" value { type: DT_FLOAT } } }`.
#pragma once
#include "proto/message.h"

// A text's message may take this many times its bytes, and PROTO_ALLOWANCE.
enum { PROTO_TEXT_EXPANSION = 64 };

// Appends the message, one field a line, nested ones indented by two. Parsing it gives the same message, but for fields
// that the tables don't know: they become a comment that tells their size. INVALID_ARGUMENT when it nests too deep.
FALLIBLE Status *proto_print(const MessageType *type, const void *message, Text *out);
#define PROTO_PRINT(Type, message, out)                                \
    __extension__({                                                    \
        const Type *proto_message_ = (message);                        \
        proto_print(&message_##Type, proto_message_, (out));           \
    })

// Reads what proto_print, protoc and TensorFlow write, and what people do: `field: value`, `field { }`, `field: < >`,
// lists in brackets, strings that continue in the next one, every escape, octal and hexadecimal numbers, `inf`, `nan`,
// names or numbers of enumerations, `#` comments, and texts of many lines as in ApiDef files:
//     description: <<END
//     ...
//     END
// The message lies in the arena; strings without escapes view `text`. INVALID_ARGUMENT with line and column for what is
// malformed, for a field that the message doesn't have, and for a single field or a oneof given twice;
// RESOURCE_EXHAUSTED as in proto_decode.
FALLIBLE Status *proto_parse(Arena *arena, const MessageType *type, Str text, void **out);
#define PROTO_PARSE(Type, arena, text, out)                                         \
    __extension__({                                                                 \
        Type **proto_out_ = (out);                                                  \
        void *proto_message_;                                                       \
        Status *proto_status_ =                                                     \
            proto_parse((arena), &message_##Type, (text), &proto_message_);         \
        if (!proto_status_)                                                         \
            *proto_out_ = proto_message_;                                           \
        proto_status_;                                                              \
    })
