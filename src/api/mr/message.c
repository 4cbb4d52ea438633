// Messages of the C interface — see millrace/messages.h: the tables of TensorFlow's messages, for clients' classes.
#include "api/api.h"
#include "millrace/messages.h"
#include "proto/messages.h"

enum { MESSAGES = 0
#define MESSAGE(Type, name) +1
#include "proto/messages.def"
};

static const MessageType *const messages[MESSAGES] = {
#define MESSAGE(Type, name) &message_##Type,
#include "proto/messages.def"
};

const char *mr_message_at(size_t index) {
    return index < MESSAGES ? messages[index]->name : NULL;
}

static const MessageType *find(const char *name) {
    for (int i = 0; i < MESSAGES; i++)
        if (strcmp(messages[i]->name, name) == 0)
            return messages[i];
    return NULL;
}

int mr_message_field(const char *message, size_t index, mr_field *field) {
    const MessageType *type = find(message);
    if (!type || index >= type->n_fields)
        return 0;
    const Field *from = &type->fields[index];
    mr_field info = {.name = from->name, .number = (int)from->number, .kind = (mr_field_kind)from->kind,
                     .is_repeated = from->repeated, .is_map = from->is_map, .is_in_oneof = from->in_oneof};
    info.type = from->sub ? from->sub->name : from->enumeration ? from->enumeration->name : NULL;
    size_t size = field->struct_size < sizeof info ? field->struct_size : sizeof info;
    if (size > sizeof(size_t))
        memcpy((char *)field + sizeof(size_t), (const char *)&info + sizeof(size_t), size - sizeof(size_t));
    return 1;
}

static const EnumType *find_enum(const char *name) {
    for (int i = 0; i < MESSAGES; i++)
        for (int j = 0; j < messages[i]->n_fields; j++) {
            const EnumType *type = messages[i]->fields[j].enumeration;
            if (type && strcmp(type->name, name) == 0)
                return type;
        }
    return NULL;
}

const char *mr_enum_value(const char *enumeration, size_t index, int *number) {
    const EnumType *type = find_enum(enumeration);
    if (!type || !type->rows || index >= type->n)
        return NULL;
    *number = type->rows[index].number;
    return type->rows[index].name;
}
