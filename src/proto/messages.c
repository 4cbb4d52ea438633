// Messages — the tables of messages.def and enums.def.
#include "proto/messages.h"

#include <stddef.h>

// ---- enumerations
#define ENUMERATION(Enum) static const EnumRow rows_##Enum[] = {
#define VALUE(Enum, name, number) {#name, number},
#define END(Enum) };
#include "proto/enums.def"
#undef ENUMERATION
#undef VALUE
#undef END

#define ENUMERATION(Enum) \
    const EnumType enum_##Enum = {#Enum, rows_##Enum, sizeof rows_##Enum / sizeof *rows_##Enum};
#define VALUE(Enum, name, number)
#define END(Enum)
#include "proto/enums.def"
#undef ENUMERATION
#undef VALUE
#undef END
const EnumType enum_DataType = {"DataType", NULL, 0};

// ---- fields
#define ROW(Type, number_, kind_, field, ...) \
    {.name = #field, .number = number_, .offset = offsetof(Type, field), .kind = kind_, __VA_ARGS__},
#define MESSAGE(Type, name) static const Field fields_##Type[] = {
#define END(Type) };
#define ONE(Type, number, kind, field) ROW(Type, number, PROTO_##kind, field, .repeated = false)
#define MANY(Type, number, kind, field) ROW(Type, number, PROTO_##kind, field, .repeated = true)
#define ENUM(Type, number, Enum, field) ROW(Type, number, PROTO_enum, field, .enumeration = &enum_##Enum)
#define ENUMS(Type, number, Enum, field) \
    ROW(Type, number, PROTO_enum, field, .repeated = true, .enumeration = &enum_##Enum)
#define SUB(Type, number, Sub, field) ROW(Type, number, PROTO_message, field, .sub = &message_##Sub)
#define SUBS(Type, number, Sub, field) ROW(Type, number, PROTO_message, field, .repeated = true, .sub = &message_##Sub)
#define MAP(Type, number, Entry, field) \
    ROW(Type, number, PROTO_message, field, .repeated = true, .is_map = true, .sub = &message_##Entry)
#define OR_ONE(Type, number, kind, field) ROW(Type, number, PROTO_##kind, field, .in_oneof = true)
#define OR_ENUM(Type, number, Enum, field) \
    ROW(Type, number, PROTO_enum, field, .in_oneof = true, .enumeration = &enum_##Enum)
#define OR_SUB(Type, number, Sub, field) \
    ROW(Type, number, PROTO_message, field, .in_oneof = true, .sub = &message_##Sub)
#include "proto/messages.def"

// ---- how many fields of each message are lists
#define MESSAGE(Type, name) enum { REPEATED_##Type = 0
#define END(Type) };
#define MANY(Type, number, kind, field) +1
#define ENUMS(Type, number, Enum, field) +1
#define SUBS(Type, number, Sub, field) +1
#define MAP(Type, number, Entry, field) +1
#include "proto/messages.def"

// ---- messages
#define COUNT(Type) (sizeof fields_##Type / sizeof *fields_##Type)
#define MESSAGE(Type, name_)                                                      \
    _Static_assert(COUNT(Type) <= PROTO_FIELDS, "PROTO_FIELDS is too small");     \
    const MessageType message_##Type = {.name = name_, .fields = fields_##Type,   \
                                        .n_fields = COUNT(Type),                  \
                                        .n_repeated = REPEATED_##Type, .size = sizeof(Type),
#define WHICH(Type) .which = offsetof(Type, which),
#define END(Type) };
#include "proto/messages.def"
