// proto_convert — messages between their binary and text forms, for the tests that compare us with protoc.
//
//     proto_convert print|parse|recode Message < in > out
//     proto_convert tensor < TensorProto > TensorProto      through a Tensor
#include <stdio.h>
#include <stdlib.h>

#include "proto/tensor_proto.h"
#include "proto/text.h"

static const MessageType *const all[] = {
#define MESSAGE(Type, name) &message_##Type,
#include "proto/messages.def"
};

static const MessageType *find(Str name) {
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (str_is(name, all[i]->name))
            return all[i];
    return NULL;
}

static Status *through_tensor(Arena *arena, Str in, Text *out) {
    TensorProto *proto, *again;
    AUTO(tensor) Tensor tensor = {0};
    size_t budget = SPLAT_BUDGET;
    TRY(PROTO_DECODE(TensorProto, arena, in, &proto));
    TRY(tensor_from_proto(proto, &budget, &tensor));
    TRY(tensor_to_proto(arena, &tensor, &again));
    return PROTO_ENCODE(TensorProto, again, out);
}

static Status *convert(Arena *arena, Str how, Str name, Str in, Text *out) {
    if (str_is(how, "tensor"))
        return through_tensor(arena, in, out);
    const MessageType *type = find(name);
    NEED(type, NOT_FOUND, "no message is called \"%.*s\"", STR_ARGS(name));
    void *message;
    if (str_is(how, "parse"))
        TRY(proto_parse(arena, type, in, &message));
    else
        TRY(proto_decode(arena, type, in, &message));
    return str_is(how, "print") ? proto_print(type, message, out) : proto_encode(type, message, out);
}

int main(int n, char **words) {
    AUTO(text) Text in = {0}, out = {0};
    AUTO(arena) Arena arena = {0};
    char piece[65536];
    for (size_t got; (got = fread(piece, 1, sizeof piece, stdin)) > 0;)
        text_add(&in, (Str){piece, got});
    Str how = n > 1 ? str_of(words[1]) : STR(""), name = n > 2 ? str_of(words[2]) : STR("");
    AUTO(status) Status *status = convert(&arena, how, name, text_str(&in), &out);
    if (status) {
        fprintf(stderr, "%s\n", status_message(status));
        return 1;
    }
    return fwrite(out.p, 1, out.n, stdout) == out.n ? 0 : 2;
}
