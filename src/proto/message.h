// Message — TensorFlow's messages as plain C structs, described by tables; one codec serves them all.
//
// A decoded message lies in the caller's arena. Its strings view the bytes that it was decoded from, which must live as
// long. Absent scalars are zero, absent messages are NULL, absent lists are empty: as in proto3, nothing tells "absent"
// from "default". Fields that the tables don't know are kept as they came and written again behind the known ones.
#pragma once
#include "base/str.h"

typedef struct MessageType MessageType;
typedef struct UnknownFields UnknownFields;

// The lists inside messages; anything that has both members can be set by hand before encoding.
#define PROTO_LIST(Type) \
    struct {             \
        Type *p;         \
        size_t n;        \
    }

typedef enum {
    PROTO_int32,
    PROTO_int64,
    PROTO_uint32,
    PROTO_uint64,
    PROTO_bool,
    PROTO_enum,  // open: any int32
    PROTO_fixed32,
    PROTO_float,
    PROTO_fixed64,
    PROTO_double,
    PROTO_string,  // not held to be UTF-8
    PROTO_bytes,
    PROTO_message,
} ProtoKind;

typedef struct {
    const char *name;
    int32_t number;
} EnumRow;

typedef struct {
    const char *name;
    const EnumRow *rows;  // NULL: the names of DataType, from tensor/dtype.def
    size_t n;
} EnumType;

typedef struct {
    const char *name;
    uint32_t number;
    uint16_t offset;      // of the member in the C struct
    uint8_t kind;         // ProtoKind, of each element for a list
    bool repeated;
    bool is_map;          // repeated entries; of two with one key the later wins
    bool in_oneof;
    const MessageType *sub;      // PROTO_message
    const EnumType *enumeration; // PROTO_enum
} Field;

struct MessageType {
    const char *name;     // TensorFlow's, without the package: "OpDef.ArgDef"
    const Field *fields;  // in the order of their numbers
    uint16_t n_fields;
    uint16_t n_repeated;
    uint16_t which;       // offset of the uint32_t that tells the oneof's member; 0: no oneof
    size_t size;
};

// The first member of every message.
typedef struct {
    UnknownFields *unknown;
} MessageHead;

enum {
    PROTO_DEPTH = 100,            // messages inside messages, as TensorFlow's own parser allows
    PROTO_FIELDS = 40,            // most fields of one message type
    PROTO_EXPANSION = 16,         // a decoded message may take this many bytes for each byte of input ...
    PROTO_ALLOWANCE = 64 * 1024,  // ... and these
};

// Decodes a whole message. INVALID_ARGUMENT, with the message's name and the byte's offset, for malformed bytes;
// RESOURCE_EXHAUSTED when the arena's limit or the expansion above is passed. What a failure left stays in the arena.
FALLIBLE Status *proto_decode(Arena *arena, const MessageType *type, Str bytes, void **out);
// The same with a typed result: PROTO_DECODE(GraphDef, &arena, bytes, &graph).
#define PROTO_DECODE(Type, arena, bytes, out)                                       \
    __extension__({                                                                 \
        Type **proto_out_ = (out);                                                  \
        void *proto_message_;                                                       \
        Status *proto_status_ =                                                     \
            proto_decode((arena), &message_##Type, (bytes), &proto_message_);       \
        if (!proto_status_)                                                         \
            *proto_out_ = proto_message_;                                           \
        proto_status_;                                                              \
    })

// Appends the encoding. Same message, same bytes: fields in the order of their numbers, lists of numbers packed, map
// entries as held. INVALID_ARGUMENT when it nests deeper than PROTO_DEPTH; `out` keeps what it had.
FALLIBLE Status *proto_encode(const MessageType *type, const void *message, Text *out);
#define PROTO_ENCODE(Type, message, out)                               \
    __extension__({                                                    \
        const Type *proto_message_ = (message);                        \
        proto_encode(&message_##Type, proto_message_, (out));          \
    })

const Field *message_field(const MessageType *type, Str name);  // NULL where there is none
size_t field_size(const Field *field);                          // bytes of one element in memory
// The name of a value, or NULL; the number of a name, false where there is none. DataType: "DT_FLOAT", "DT_FLOAT_REF".
// `scratch` is for names that are made up on the spot.
const char *enum_name(const EnumType *type, int32_t number, char scratch[32]);
bool enum_find(const EnumType *type, Str name, int32_t *out);

// Visits the fields that the message's table doesn't know, in the order of the input, as runs of whole encoded fields:
//     const void *at = NULL;
//     while (message_next_unknown(message, &at, &bytes)) ...
bool message_next_unknown(const void *message, const void **at, Str *out);
