// messages.h — the tables of TensorFlow's messages, for clients that make classes of them.
#ifndef MILLRACE_MESSAGES_H_
#define MILLRACE_MESSAGES_H_

#include "millrace/millrace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {                     /* how a field is encoded */
    MR_FIELD_INT32 = 0, MR_FIELD_INT64, MR_FIELD_UINT32, MR_FIELD_UINT64, MR_FIELD_BOOL, MR_FIELD_ENUM,
    MR_FIELD_FIXED32, MR_FIELD_FLOAT, MR_FIELD_FIXED64, MR_FIELD_DOUBLE, MR_FIELD_STRING, MR_FIELD_BYTES,
    MR_FIELD_MESSAGE
} mr_field_kind;

/* One field of one of TensorFlow's messages, for clients that make classes of them. */
typedef struct mr_field {
    size_t struct_size;            /* to be set: sizeof(mr_field) */
    const char *name;
    int number;
    mr_field_kind kind;
    int is_repeated, is_map, is_in_oneof;
    const char *type;              /* MR_FIELD_MESSAGE, MR_FIELD_ENUM: its name; of an entry of a map: key 1, value 2 */
} mr_field;

/* The name of the message at that place in the list, "OpDef.ArgDef"; NULL behind the last. */
MR_EXPORT const char *mr_message_at(size_t index);
/* A field of a message; returns 0 behind the last, or where there is no such message. */
MR_EXPORT int mr_message_field(const char *message, size_t index, mr_field *field);
/* A value of an enumeration, "RunOptions_TraceLevel"; NULL behind the last. */
MR_EXPORT const char *mr_enum_value(const char *enumeration, size_t index, int *number);

#ifdef __cplusplus
}
#endif
#endif  /* MILLRACE_MESSAGES_H_ */
