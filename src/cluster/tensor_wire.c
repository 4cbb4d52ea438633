// Tensor wire — see tensor_wire.h.
//
// What TensorFlow's readers take without parsing has the type, the shape and then the elements as one run of bytes, which
// comes last.
#include "cluster/tensor_wire.h"

#include <stdlib.h>

#include "proto/tensor_proto.h"

enum { LENGTH_DELIMITED = 2 };

static void add_varint(Text *out, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        text_char(out, (char)(value | 0x80));
    text_char(out, (char)value);
}

static void add_tag(Text *out, uint32_t field, uint32_t kind) {
    add_varint(out, (uint64_t)field << 3 | kind);
}

// The answer up to the first element.
static Status *write_head(const Tensor *value, Arena *arena, Text *out) {
    AUTO(text) Text shape = {0};
    AUTO(text) Text inner = {0};
    TensorShapeProto *proto;
    size_t n = tensor_bytes(value);
    TRY(shape_to_proto(arena, &value->shape, &proto));
    TRY(PROTO_ENCODE(TensorShapeProto, proto, &shape));
    add_tag(&inner, TensorProto_dtype, 0);
    add_varint(&inner, (uint64_t)value->dtype);
    add_tag(&inner, TensorProto_tensor_shape, LENGTH_DELIMITED);
    add_varint(&inner, shape.n);
    text_add(&inner, text_str(&shape));
    add_tag(&inner, TensorProto_tensor_content, LENGTH_DELIMITED);
    add_varint(&inner, n);
    add_tag(out, RecvTensorResponseProto_tensor, LENGTH_DELIMITED);
    add_varint(out, inner.n + n);
    text_add(out, text_str(&inner));
    NEED_MEMORY(!shape.failed && !inner.failed && !out->failed);
    NEED(out->n + n <= INT32_MAX, INTERNAL, "Protobuf is too large to be serialized: a tensor of %zu bytes", n);
    return OK;
}

static void release_buffer(void *buffer) {
    buffer_release(buffer);
}

static Status *add_text(Payload *payload, Text *text) {
    char *bytes = text->p;
    size_t n = text->n;
    *text = (Text){0};
    return n ? payload_add(payload, (Piece){bytes, n, free, bytes}) : OK;
}

static Status *write_plain(const Tensor *value, Payload *payload) {
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text head = {0};
    TRY(write_head(value, &arena, &head));
    TRY(add_text(payload, &head));
    size_t n = tensor_bytes(value);
    return n ? payload_add(payload, (Piece){value->data, n, release_buffer, buffer_retain(value->buffer)}) : OK;
}

static Status *write_any(const Tensor *value, bool dead, Payload *payload) {
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text text = {0};
    TensorShapeProto_Dim nothing = {0};
    TensorShapeProto shape = {0};
    shape.dim.p = &nothing;
    shape.dim.n = 1;
    TensorProto none = {.dtype = (int32_t)value->dtype, .tensor_shape = &shape};
    RecvTensorResponseProto answer = {.tensor = &none, .is_dead = dead};
    if (!dead)
        TRY(tensor_to_proto(&arena, value, &answer.tensor));
    TRY(PROTO_ENCODE(RecvTensorResponseProto, &answer, &text));
    return add_text(payload, &text);
}

Status *tensor_to_answer(const Tensor *value, bool dead, Payload **out) {
    Payload *payload;
    TRY(payload_new(&payload));
    bool plain = !dead && dtype_is_plain(value->dtype) && value->buffer;
    Status *status = plain ? write_plain(value, payload) : write_any(value, dead, payload);
    if (status)
        payload_release(payload);
    else
        *out = payload;
    return status;
}

Status *tensor_to_ticket(const Tensor *value, const LaneTicketProto *ticket, Payload **out) {
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text inner = {0};
    AUTO(text) Text text = {0};
    TensorProto proto = {.dtype = (int32_t)value->dtype};
    RecvTensorResponseProto answer = {.tensor = &proto};
    TRY(shape_to_proto(&arena, &value->shape, &proto.tensor_shape));
    TRY(PROTO_ENCODE(LaneTicketProto, ticket, &inner));
    AnyProto any = {.type_url = STR(LANE_TICKET_TYPE), .value = text_str(&inner)};
    answer.transport_options = &any;
    TRY(PROTO_ENCODE(RecvTensorResponseProto, &answer, &text));
    return payload_of(text.p, text.n, out);
}

// Memory for what a ticket is for.
static Status *take_ticket(const RecvTensorResponseProto *answer, Arena *arena, TensorAnswer *out) {
    Shape shape;
    DType dtype = (DType)answer->tensor->dtype;
    LaneTicketProto *ticket;
    TRY(PROTO_DECODE(LaneTicketProto, arena, answer->transport_options->value, &ticket));
    TRY(shape_from_proto(answer->tensor->tensor_shape, &shape));
    NEED(dtype > 0 && dtype < DTYPES && dtype_is_plain(dtype) && shape_is_known(&shape), INTERNAL,
         "a ticket for a tensor of type %d", answer->tensor->dtype);
    TRY(tensor_new(dtype, shape, &out->value));
    if (tensor_bytes(&out->value) == ticket->bytes && ticket->bytes) {
        out->ticket = ticket;
        return OK;
    }
    tensor_clear(&out->value);
    FAIL(INTERNAL, "a ticket for %llu bytes of a tensor of another size", (unsigned long long)ticket->bytes);
}

Status *tensor_from_answer(Str bytes, Arena *arena, TensorAnswer *out) {
    RecvTensorResponseProto *answer;
    size_t budget = SPLAT_BUDGET;
    *out = (TensorAnswer){0};
    TRY(PROTO_DECODE(RecvTensorResponseProto, arena, bytes, &answer));
    out->dead = answer->is_dead;
    NEED(answer->tensor || answer->is_dead, INTERNAL, "an answer without a tensor");
    const AnyProto *any = answer->transport_options;
    if (!answer->is_dead && any && str_is(any->type_url, LANE_TICKET_TYPE))
        return take_ticket(answer, arena, out);
    if (!answer->is_dead)
        return tensor_from_proto(answer->tensor, &budget, &out->value);
    out->value = (Tensor){.dtype = answer->tensor ? (DType)answer->tensor->dtype : DT_INVALID};
    return OK;
}
