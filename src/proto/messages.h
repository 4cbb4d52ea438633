// Messages — the C structs of messages.def, and the tables that describe them.
//
// Names: a message has TensorFlow's own name, with `Proto` behind it unless it ends in `Proto` or `Def` already
// (AttrValueProto, RunOptionsProto, NodeDef, OpDef), so none collides with a type of the machine. A message inside
// another is Outer_Inner (OpDef_ArgDef, TensorShapeProto_Dim). For a type T there are:
//
//     T                  the struct; fields have TensorFlow's names
//     message_T          its table, for proto_decode, proto_encode, text_print ...
//     T_field            the number of a field: what `which` is compared with (AttrValueProto_tensor)
//     enum_E, E_VALUE    an enumeration's table and values (RunOptions_TraceLevel_FULL_TRACE)
#pragma once
#include "proto/message.h"

#define MESSAGE(Type, name) typedef struct Type Type;
#include "proto/messages.def"

#define C_int32 int32_t
#define C_int64 int64_t
#define C_uint32 uint32_t
#define C_uint64 uint64_t
#define C_bool bool
#define C_fixed32 uint32_t
#define C_float float
#define C_fixed64 uint64_t
#define C_double double
#define C_string Str
#define C_bytes Str

#define MESSAGE(Type, name) \
    struct Type {           \
        MessageHead head;
#define END(Type) };
#define ONE(Type, number, kind, field) C_##kind field;
#define MANY(Type, number, kind, field) PROTO_LIST(C_##kind) field;
#define ENUM(Type, number, Enum, field) int32_t field;
#define ENUMS(Type, number, Enum, field) PROTO_LIST(int32_t) field;
#define SUB(Type, number, Sub, field) Sub *field;
#define SUBS(Type, number, Sub, field) PROTO_LIST(Sub) field;
#define MAP(Type, number, Entry, field) PROTO_LIST(Entry) field;
#define WHICH(Type) uint32_t which;
#define OR_ONE ONE
#define OR_ENUM ENUM
#define OR_SUB SUB
#define UNION(Type) union {
#define UNION_END(Type) };
#include "proto/messages.def"

#undef C_int32
#undef C_int64
#undef C_uint32
#undef C_uint64
#undef C_bool
#undef C_fixed32
#undef C_float
#undef C_fixed64
#undef C_double
#undef C_string
#undef C_bytes

#define MESSAGE(Type, name) enum { Type##_unknown = 0,
#define END(Type) };
#define ONE(Type, number, kind, field) Type##_##field = number,
#define MANY(Type, number, kind, field) Type##_##field = number,
#define ENUM(Type, number, Enum, field) Type##_##field = number,
#define ENUMS(Type, number, Enum, field) Type##_##field = number,
#define SUB(Type, number, Sub, field) Type##_##field = number,
#define SUBS(Type, number, Sub, field) Type##_##field = number,
#define MAP(Type, number, Entry, field) Type##_##field = number,
#define OR_ONE ONE
#define OR_ENUM ENUM
#define OR_SUB SUB
#include "proto/messages.def"

#define MESSAGE(Type, name) extern const MessageType message_##Type;
#include "proto/messages.def"

#define ENUMERATION(Enum) enum {
#define VALUE(Enum, name, number) Enum##_##name = number,
#define END(Enum) };
#include "proto/enums.def"
#undef ENUMERATION
#undef VALUE
#undef END

#define ENUMERATION(Enum) extern const EnumType enum_##Enum;
#define VALUE(Enum, name, number)
#define END(Enum)
#include "proto/enums.def"
#undef ENUMERATION
#undef VALUE
#undef END
extern const EnumType enum_DataType;
