// Message, inside — what the parts of the codec know of each other.
#pragma once
#include "proto/message.h"

enum { WIRE_VARINT, WIRE_EIGHT, WIRE_LENGTH, WIRE_GROUP, WIRE_END_GROUP, WIRE_FOUR };

// Bytes of one value in memory, and its wire type, by ProtoKind.
typedef struct {
    uint8_t size, wire;
} KindRow;
extern const KindRow proto_kinds[];

// Runs of whole unknown fields. A message holds the last link of a ring, whose `next` is the first.
struct UnknownFields {
    UnknownFields *next;
    Str bytes;
};

// What a list looks like to the codec, whatever its element type. Copied with memcpy: the member's pointer has a type
// of its own.
typedef PROTO_LIST(void) List;

static inline List list_at(const void *member) {
    List list;
    memcpy(&list, member, sizeof list);
    return list;
}
static inline void list_put(void *member, List list) {
    memcpy(member, &list, sizeof list);
}
static inline bool field_is_packable(const Field *field) {
    return field->repeated && proto_kinds[field->kind].wire != WIRE_LENGTH;
}
static inline uint32_t message_which(const MessageType *type, const void *message) {
    uint32_t which = 0;
    if (type->which)
        memcpy(&which, (const char *)message + type->which, sizeof which);
    return which;
}
static inline uint64_t int32_bits(int32_t number) {
    return (uint64_t)(int64_t)number;
}
// Removes earlier entries of a map whose key comes again, and gives every entry its value. RESOURCE_EXHAUSTED.
FALLIBLE Status *map_finish(Arena *arena, const MessageType *entry, List *list);
