// Serialized — tensors to and from bytes: TensorProto, padded raw numbers, compressed strings.
#include "file/file_stream.h"
#include "ops/string/strings.h"
#include "proto/tensor_proto.h"

// ---------------------------------------- TensorProto

static Status *parse_shape(Shapes *s) {
    (void)s;
    return OK;
}

static Status *parse_tensor_run(Kernel *k) {
    DType wanted = node_value_type(k->node, 0);
    Tensor tensor = {0};
    Status *status = tensor_parse(string_at(k->in[0], 0), &tensor);
    if (status)
        return status_prefix(status, "Could not parse `serialized` as TensorProto");
    if (tensor.dtype != wanted) {
        DType found = tensor.dtype;
        tensor_clear(&tensor);
        FAIL(INVALID_ARGUMENT, "Type mismatch between parsed tensor (%s) and dtype (%s)", dtype_name(found),
             dtype_name(wanted));
    }
    kernel_set_output(k, 0, tensor);
    return OK;
}

const Op op_ParseTensor = {
    .signature = "ParseTensor(serialized: string) -> output: out_type; out_type: type",
    .doc = "The tensor of a serialized TensorProto.", .needs = "scalar(serialized)", .shape = parse_shape,
    .cpu = ANY_TYPE(parse_tensor_run), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};

static Status *serialize_run(Kernel *k) {
    AUTO(text) Text bytes = {0};
    TRY(tensor_serialize(k->in[0], &bytes));
    return string_put_text(k->out[0], 0, &bytes);
}

const Op op_SerializeTensor = {
    .signature = "SerializeTensor(tensor: T) -> serialized: string; T: type",
    .doc = "The tensor as a serialized TensorProto.", .shape = shape_scalar, .cpu = ANY_TYPE(serialize_run),
    .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- DecodePaddedRaw

typedef struct {
    bool swap;
} PaddedOwn;

static Status *padded_prepare(Prepare *p) {
    ((PaddedOwn *)p->own)->swap = !node_bool(p->node, "little_endian");
    return OK;
}

static Status *padded_shape(Shapes *s) {
    int64_t dims[MAX_RANK + 1], length;
    if (s->in[0].rank < 0)
        return OK;
    for (int i = 0; i < s->in[0].rank; i++)
        dims[i] = s->in[0].dims[i];
    size_t size = dtype_size(node_value_type(s->node, 0));
    bool is_known = shapes_input_int(s, 1, &length) && length > 0 && length % (int64_t)size == 0;
    dims[s->in[0].rank] = is_known ? length / (int64_t)size : UNKNOWN_DIM;
    return shape_make(dims, s->in[0].rank + 1, &s->out[0]);
}

static void swap_numbers(char *p, size_t bytes, size_t size) {
    for (char *end = p + bytes; p < end; p += size)
        for (size_t i = 0; i < size / 2; i++) {
            char kept = p[i];
            p[i] = p[size - 1 - i];
            p[size - 1 - i] = kept;
        }
}

static Status *padded_run(Kernel *k) {
    int64_t length = tensor_int(k->in[1], 0), size = (int64_t)dtype_size(node_value_type(k->node, 0));
    NEED(length > 0, INVALID_ARGUMENT, "fixed_length (%lld) must be greater than zero.", (long long)length);
    NEED(length % size == 0, INVALID_ARGUMENT, "fixed_length (%lld) must be a multiple of the size of out_type (%lld)",
         (long long)length, (long long)size);
    char *to = k->out[0]->data;
    for (int64_t i = 0; i < tensor_count(k->in[0]); i++, to += length) {
        Str from = string_at(k->in[0], i);
        size_t n = from.n < (size_t)length ? from.n : (size_t)length;
        if (n)
            memcpy(to, from.p, n);
        memset(to + n, 0, (size_t)length - n);
        if (((const PaddedOwn *)k->own)->swap)
            swap_numbers(to, (size_t)length, (size_t)size);
    }
    return OK;
}

const Op op_DecodePaddedRaw = {
    .signature = "DecodePaddedRaw(input_bytes: string, fixed_length: int32) -> output: out_type; out_type: {half, float, "
                 "double, int32, uint16, uint8, int16, int8, int64, bfloat16}; little_endian: bool = true",
    .doc = "The bytes of strings as numbers, cut or filled up with zeros to so many bytes.",
    .needs = "scalar(fixed_length)", .shape = padded_shape, .prepare = padded_prepare, .own_size = sizeof(PaddedOwn),
    .cpu = ANY_TYPE(padded_run), .host = BIT(1), .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- DecodeCompressed

typedef struct {
    FileCoding coding;
} CompressedOwn;

static Status *compressed_prepare(Prepare *p) {
    FileCoding *coding = &((CompressedOwn *)p->own)->coding;
    Str name = node_str(p->node, "compression_type");
    Status *status = file_coding_find(name, coding);
    bool is_known = !status && *coding != CODING_SNAPPY && !str_is(name, "NONE");
    status_free(status);
    NEED(is_known, INVALID_ARGUMENT, "Only ZLIB, GZIP or NONE are supported compressions, not %.*s", STR_ARGS(name));
    return OK;
}

static Status *decompress(Str bytes, FileCoding coding, const Tensor *out, int64_t i) {
    AUTO(file_stream) FileStream *stream = NULL;
    TRY(file_stream_of(bytes, coding, &stream));
    Str plain;
    TRY(file_stream_take(stream, UINT64_MAX, &plain));
    return string_put(out, i, plain);
}

static Status *compressed_run(Kernel *k) {
    FileCoding coding = ((const CompressedOwn *)k->own)->coding;
    for (int64_t i = 0; i < tensor_count(k->in[0]); i++) {
        Str bytes = string_at(k->in[0], i);
        TRY(context_check(k->step));
        TRY(coding == CODING_NONE ? string_put(k->out[0], i, bytes) : decompress(bytes, coding, k->out[0], i));
    }
    return OK;
}

const Op op_DecodeCompressed = {
    .signature = "DecodeCompressed(bytes: string) -> output: string; compression_type: string = \"\"",
    .doc = "Strings decompressed.", .shape = shape_unchanged, .prepare = compressed_prepare,
    .own_size = sizeof(CompressedOwn), .cpu = ANY_TYPE(compressed_run), .flags = OP_NO_GRADIENT,
};
