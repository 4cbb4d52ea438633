// TensorProto <-> Tensor; see tensor_proto.h.
//
// A TensorProto has its elements as bytes or as a typed list, in which the last element stands for all that are
// missing. A few bytes may so ask for a large tensor: a budget bounds what such repetition may take in a whole graph.
#include "proto/tensor_proto.h"

#include <stddef.h>

#include "base/checked.h"
#include "base/cursor.h"
#include "proto/message_internal.h"

// ---------------------------------------------------------------------------------------------- shapes

Status *shape_from_proto(const TensorShapeProto *proto, Shape *out) {
    if (!proto)
        return shape_make(NULL, 0, out);
    if (proto->unknown_rank) {
        NEED(proto->dim.n == 0, INVALID_ARGUMENT, "a shape of unknown rank has %zu dimensions", proto->dim.n);
        *out = UNKNOWN_SHAPE;
        return OK;
    }
    NEED(proto->dim.n <= MAX_RANK, INVALID_ARGUMENT, "a shape has at most %d dimensions, got %zu", MAX_RANK,
         proto->dim.n);
    int64_t dims[MAX_RANK];
    for (size_t i = 0; i < proto->dim.n; i++)
        dims[i] = proto->dim.p[i].size;
    return shape_make(dims, (int64_t)proto->dim.n, out);
}

Status *shape_to_proto(Arena *arena, const Shape *shape, TensorShapeProto **out) {
    TensorShapeProto *proto = ARENA_NEW(arena, TensorShapeProto);
    NEED_MEMORY(proto);
    proto->unknown_rank = shape->rank < 0;
    if (shape->rank > 0) {
        proto->dim.p = ARENA_ARRAY(arena, TensorShapeProto_Dim, shape->rank);
        NEED_MEMORY(proto->dim.p);
        proto->dim.n = (size_t)shape->rank;
    }
    for (size_t i = 0; i < proto->dim.n; i++)
        proto->dim.p[i].size = shape->dims[i];
    *out = proto;
    return OK;
}

// ---------------------------------------------------------------------------------------------- where values stand

// The list of a TensorProto that holds the values of a type. float8_val is one string of bytes: it looks the same.
typedef struct {
    size_t offset;      // of the list; 0: the type has none
    size_t size;        // bytes of one number in it
    size_t per;         // numbers for one element
    bool is_varint;
} Home;

#define HOME(list, per, is_varint) \
    ((Home){offsetof(TensorProto, list), sizeof *((TensorProto *)0)->list.p, per, is_varint})

static Home home_of(DType dtype) {
    switch (dtype) {
    case DT_float:
        return HOME(float_val, 1, false);
    case DT_double:
        return HOME(double_val, 1, false);
    case DT_complex64:
        return HOME(scomplex_val, 2, false);
    case DT_complex128:
        return HOME(dcomplex_val, 2, false);
    case DT_half:
    case DT_bfloat16:
        return HOME(half_val, 1, true);
    case DT_bool:
        return HOME(bool_val, 1, true);
    case DT_int64:
        return HOME(int64_val, 1, true);
    case DT_uint32:
        return HOME(uint32_val, 1, true);
    case DT_uint64:
        return HOME(uint64_val, 1, true);
    case DT_string:
        return HOME(string_val, 1, false);
    case DT_float8_e5m2:
    case DT_float8_e4m3fn:
    case DT_float8_e4m3fnuz:
    case DT_float8_e4m3b11fnuz:
    case DT_float8_e5m2fnuz:
        return HOME(float8_val, 1, false);
    case DT_resource:
    case DT_variant:
        return (Home){0};
    default:
        return HOME(int_val, 1, true);  // every other integer, quantized or small
    }
}

// ---------------------------------------------------------------------------------------------- reading

static Status *charge(size_t *budget, size_t need, size_t given) {
    size_t natural;
    if (!mul_size(given, PROTO_EXPANSION, &natural) || need <= natural)
        return OK;
    NEED(need - natural <= *budget, RESOURCE_EXHAUSTED,
         "a tensor of %zu bytes is written in %zu; the budget for such tensors has %zu bytes left", need, given,
         *budget);
    *budget -= need - natural;
    return OK;
}

// `at` has `n` elements of `size` bytes, and room for `count`: the last one is copied to the end; zeros where none is.
static void repeat_last(char *at, size_t n, size_t count, size_t size) {
    if (!n) {
        memset(at, 0, count * size);
        return;
    }
    char *from = at + (n - 1) * size, *end = at + count * size;
    size_t have = size;
    while (from + have < end) {
        size_t more = (size_t)(end - from) - have;
        if (more > have)
            more = have;
        memcpy(from + have, from, more);
        have += more;
    }
}

// Numbers narrower than their list keep the low bytes.
static void copy_narrow(char *to, size_t size, const char *from, size_t stride, size_t n) {
    if (size == stride) {
        memcpy(to, from, n * size);
        return;
    }
    for (size_t i = 0; i < n; i++, to += size, from += stride) {
        to[0] = from[0];
        if (size == 2)
            to[1] = from[1];
    }
}

static Status *read_plain(const TensorProto *proto, const Shape *shape, size_t *budget, Tensor *out) {
    DType dtype = (DType)proto->dtype;
    size_t bytes, size = dtype_size(dtype);
    TRY(shape_bytes(shape, dtype, &bytes));
    if (proto->tensor_content.n) {
        NEED(proto->tensor_content.n == bytes, INVALID_ARGUMENT,
             "a tensor of type %s and shape %s takes %zu bytes, its content has %zu", dtype_name(dtype),
             shape_text(shape), bytes, proto->tensor_content.n);
        TRY(tensor_new(dtype, *shape, out));
        memcpy(out->data, proto->tensor_content.p, bytes);
        char *truth = out->data;
        for (size_t i = 0; dtype == DT_bool && i < bytes; i++)
            truth[i] = truth[i] != 0;  // any other byte in a C bool is trouble
        return OK;
    }
    Home home = home_of(dtype);
    List values = list_at((const char *)proto + home.offset);
    NEED(values.n % home.per == 0, INVALID_ARGUMENT, "complex values come in pairs, got %zu numbers", values.n);
    size_t count = bytes / size, n = values.n / home.per;
    TRY(charge(budget, bytes, values.n * home.size));
    TRY(tensor_new(dtype, *shape, out));
    if (n > count)
        n = count;
    if (n)
        copy_narrow(out->data, size, values.p, home.size * home.per, n);
    if (count)
        repeat_last(out->data, n, count, size);
    return OK;
}

static Status *assign(TString *to, Str text) {
    NEED(tstring_assign(to, text), RESOURCE_EXHAUSTED, "out of memory for a string of %zu bytes", text.n);
    return OK;
}

// All lengths first, then all bytes.
static Status *read_string_content(Str content, TString *to, size_t count) {
    Cursor lengths = cursor_of(content.p, content.n), texts = lengths;
    uint64_t n, total = 0;
    for (size_t i = 0; i < count; i++)
        NEED(cursor_varint(&texts, &n) && n <= content.n && (total += n) <= content.n, INVALID_ARGUMENT,
             "the length of string %zu in a tensor's content is malformed", i);
    NEED(total == cursor_left(&texts), INVALID_ARGUMENT, "%zu strings take %zu bytes of a tensor's content, it has %zu",
         count, (size_t)total, cursor_left(&texts));
    for (size_t i = 0; i < count; i++) {
        Str text;
        if (!cursor_varint(&lengths, &n) || !cursor_bytes(&texts, (size_t)n, &text))
            BUG("the strings of a tensor's content changed while they were read");
        TRY(assign(&to[i], text));
    }
    return OK;
}

// Bytes on the heap for one string, beyond its element.
static size_t string_extra(Str text) {
    return text.n > TSTRING_INSIDE ? text.n + 1 : 0;
}

static Status *charge_strings(const TensorProto *proto, size_t count, size_t bytes, size_t *budget) {
    size_t n = proto->string_val.n, given = proto->tensor_content.n, repeated, need;
    for (size_t i = 0; i < n; i++)
        given += proto->string_val.p[i].n + 2;
    repeated = n && count > n ? count - n : 0;
    Str last = n ? proto->string_val.p[n - 1] : (Str){0};
    NEED(mul_size(repeated, string_extra(last), &need) && add_size(need, bytes, &need), RESOURCE_EXHAUSTED,
         "%zu strings of %zu bytes are too large", repeated, last.n);
    return charge(budget, need, given);
}

static Status *read_strings(const TensorProto *proto, const Shape *shape, size_t *budget, Tensor *out) {
    size_t bytes;
    TRY(shape_bytes(shape, DT_string, &bytes));
    size_t count = bytes / sizeof(TString), n = proto->string_val.n;
    TRY(charge_strings(proto, count, bytes, budget));
    TRY(tensor_new(DT_string, *shape, out));
    TString *to = out->data;
    if (proto->tensor_content.n)
        return read_string_content(proto->tensor_content, to, count);
    for (size_t i = 0; n && i < count; i++)
        TRY(assign(&to[i], proto->string_val.p[i < n ? i : n - 1]));
    return OK;
}

Status *tensor_from_proto(const TensorProto *proto, size_t *budget, Tensor *out) {
    DType dtype = (DType)proto->dtype;
    NEED(dtype_is_valid(dtype) && !dtype_is_ref(dtype), INVALID_ARGUMENT, "%d is not the type of a tensor",
         (int)proto->dtype);
    Shape shape;
    TRY(shape_from_proto(proto->tensor_shape, &shape));
    NEED(shape_is_known(&shape), INVALID_ARGUMENT, "the shape %s of a tensor is not fully known", shape_text(&shape));
    AUTO(tensor) Tensor tensor = {0};
    if (dtype_kind(dtype) == KIND_STRING) {
        TRY(read_strings(proto, &shape, budget, &tensor));
    } else if (dtype_kind(dtype) == KIND_OBJECT) {
        NEED(shape_count(&shape) == 0, UNIMPLEMENTED, "a %s tensor of shape %s can't be read from a message",
             dtype_name(dtype), shape_text(&shape));
        TRY(tensor_new(dtype, shape, &tensor));
    } else {
        TRY(read_plain(proto, &shape, budget, &tensor));
    }
    *out = tensor_retain(&tensor);
    return OK;
}

// ---------------------------------------------------------------------------------------------- writing

// Elements up to and with the first of those that are equal to the end.
static size_t count_distinct(const char *at, size_t count, size_t size) {
    size_t keep = count;
    while (keep > 1 && memcmp(at + (keep - 1) * size, at + (keep - 2) * size, size) == 0)
        keep--;
    return keep;
}

static size_t count_distinct_strings(const TString *at, size_t count) {
    size_t keep = count;
    while (keep > 1 && str_equal(tstring_str(&at[keep - 1]), tstring_str(&at[keep - 2])))
        keep--;
    return keep;
}

// An element as its list holds it.
static uint64_t widened(DType dtype, const char *at) {
    bool is_signed = dtype == DT_int8 || dtype == DT_qint8 || dtype == DT_int4 || dtype == DT_int2 ||
                     dtype == DT_int16 || dtype == DT_qint16;
    uint64_t bits = 0;
    memcpy(&bits, at, dtype_size(dtype));
    if (is_signed && dtype_size(dtype) == 1)
        return int32_bits((int8_t)bits);
    if (is_signed)
        return int32_bits((int16_t)bits);
    return dtype == DT_int32 || dtype == DT_qint32 ? int32_bits((int32_t)(uint32_t)bits) : bits;
}

static size_t varint_size(uint64_t value) {
    size_t n = 1;
    while (value > 127) {
        value >>= 7;
        n++;
    }
    return n;
}

// Whether `keep` values as a list are shorter than all `bytes` as content. A single value is a list: people read it.
static bool list_is_shorter(DType dtype, const Home *home, const char *at, size_t keep, size_t bytes) {
    size_t size = dtype_size(dtype), total = 0;
    if (bytes == size)
        return true;
    if (!home->is_varint)
        return keep * size < bytes;
    for (size_t i = 0; i < keep && total < bytes; i++)
        total += varint_size(widened(dtype, at + i * size));
    // A long list that saves little is slow to read, and takes four bytes for each element then.
    return total < bytes && (keep <= 1024 || keep < bytes / size / 2);
}

// The first `keep` values.
static Status *write_list(Arena *arena, const Tensor *tensor, size_t keep, TensorProto *proto) {
    const char *from = tensor->data;
    size_t size = dtype_size(tensor->dtype);
    Home home = home_of(tensor->dtype);
    List values = {arena_array(arena, keep, home.size * home.per), keep * home.per};
    NEED_MEMORY(values.p);
    char *to = values.p;
    if (size == home.size * home.per) {
        memcpy(to, from, keep * size);
    } else {
        for (size_t i = 0; i < keep; i++) {
            uint64_t wide = widened(tensor->dtype, from + i * size);
            memcpy(to + i * home.size, &wide, home.size);
        }
    }
    list_put((char *)proto + home.offset, values);
    return OK;
}

static Status *write_plain(Arena *arena, const Tensor *tensor, TensorProto *proto) {
    size_t bytes = tensor_bytes(tensor), size = dtype_size(tensor->dtype);
    if (!bytes)
        return OK;
    Home home = home_of(tensor->dtype);
    size_t keep = count_distinct(tensor->data, bytes / size, size);
    if (list_is_shorter(tensor->dtype, &home, tensor->data, keep, bytes))
        return write_list(arena, tensor, keep, proto);
    proto->tensor_content = (Str){tensor->data, bytes};
    return OK;
}

static Status *write_strings(Arena *arena, const Tensor *tensor, size_t keep, TensorProto *proto) {
    const TString *from = tensor->data;
    if (!keep)
        return OK;
    proto->string_val.p = ARENA_ARRAY(arena, Str, keep);
    NEED_MEMORY(proto->string_val.p);
    proto->string_val.n = keep;
    for (size_t i = 0; i < keep; i++)
        proto->string_val.p[i] = tstring_str(&from[i]);
    return OK;
}

Status *tensor_to_proto(Arena *arena, const Tensor *tensor, TensorProto **out) {
    NEED(tensor->layout == LAYOUT_PLAIN, INVALID_ARGUMENT, "a tensor in a library's own layout can't be written");
    DTypeKind kind = dtype_kind(tensor->dtype);
    NEED(kind != KIND_OBJECT || tensor_count(tensor) == 0, UNIMPLEMENTED, "a %s tensor can't be written as a message",
         dtype_name(tensor->dtype));
    TensorProto *proto = ARENA_NEW(arena, TensorProto);
    NEED_MEMORY(proto);
    proto->dtype = (int32_t)tensor->dtype;
    TRY(shape_to_proto(arena, &tensor->shape, &proto->tensor_shape));
    if (kind == KIND_STRING)
        TRY(write_strings(arena, tensor, count_distinct_strings(tensor->data, (size_t)tensor_count(tensor)), proto));
    else if (kind != KIND_OBJECT)
        TRY(write_plain(arena, tensor, proto));
    *out = proto;
    return OK;
}

Status *tensor_to_value_list(Arena *arena, const Tensor *tensor, TensorProto *out) {
    size_t n = (size_t)tensor_count(tensor);
    if (dtype_kind(tensor->dtype) == KIND_STRING)
        return write_strings(arena, tensor, n, out);
    NEED(dtype_is_plain(tensor->dtype), UNIMPLEMENTED, "a %s tensor can't be written as a message",
         dtype_name(tensor->dtype));
    return n ? write_list(arena, tensor, n, out) : OK;
}

size_t tensor_proto_listed(const TensorProto *proto, DType dtype) {
    Home home = home_of(dtype);
    return home.offset ? list_at((const char *)proto + home.offset).n / home.per : 0;
}

// ---------------------------------------- bytes

static Status *serialize(Arena *arena, const Tensor *tensor, TensorProto *proto, Text *out) {
    proto->dtype = (int32_t)tensor->dtype;
    TRY(shape_to_proto(arena, &tensor->shape, &proto->tensor_shape));
    TRY(PROTO_ENCODE(TensorProto, proto, out));
    NEED_MEMORY(!out->failed);
    return OK;
}

Status *tensor_serialize(const Tensor *tensor, Text *out) {
    AUTO(arena) Arena arena = {0};
    TensorProto proto = {0};
    if (dtype_is_plain(tensor->dtype))
        proto.tensor_content = (Str){tensor->data, tensor_bytes(tensor)};
    else
        TRY(tensor_to_value_list(&arena, tensor, &proto));
    return serialize(&arena, tensor, &proto, out);
}

// All lengths as varints, then all bytes.
static void write_string_content(const Tensor *tensor, Text *out) {
    const TString *from = tensor->data;
    int64_t n = tensor_count(tensor);
    for (int64_t i = 0; i < n; i++) {
        uint64_t length = tstring_str(&from[i]).n;
        for (; length >= 128; length >>= 7)
            text_char(out, (char)(length | 128));
        text_char(out, (char)length);
    }
    for (int64_t i = 0; i < n; i++)
        text_add(out, tstring_str(&from[i]));
}

Status *tensor_serialize_content(const Tensor *tensor, Text *out) {
    if (dtype_kind(tensor->dtype) != KIND_STRING)
        return tensor_serialize(tensor, out);
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text content = {0};
    TensorProto proto = {0};
    write_string_content(tensor, &content);
    NEED_MEMORY(!content.failed);
    proto.tensor_content = text_str(&content);
    return serialize(&arena, tensor, &proto, out);
}

Status *tensor_parse(Str bytes, Tensor *out) {
    AUTO(arena) Arena arena = {0};
    TensorProto *proto;
    TRY(PROTO_DECODE(TensorProto, &arena, bytes, &proto));
    size_t budget = SPLAT_BUDGET;
    return tensor_from_proto(proto, &budget, out);
}
