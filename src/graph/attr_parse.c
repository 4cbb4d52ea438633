// Attr parse — the value of an attribute from text, in the notation of signatures (graph/signature.h).
//
// Recursive descent; errors say the column and what was expected there. What it reads comes from clients, too (the
// command, plug-ins), so every number is checked and nothing nests.
#include "base/checked.h"
#include "base/number.h"
#include "graph/notation.h"

// A number's characters: what strtod takes, and nothing that ends a list.
static Str scan_number(Scan *scan) {
    scan_peek(scan);
    const char *first = scan->at;
    for (; scan->at < scan->end; scan->at++)
        if (!is_name_char(*scan->at) && *scan->at != '.' && *scan->at != '-' && *scan->at != '+')
            break;
    return (Str){first, (size_t)(scan->at - first)};
}

static Status *scan_float(Scan *scan, float *out) {
    Scan before = *scan;
    if (!str_to_float(scan_number(scan), out))
        SCAN_FAIL(&before, "expected a number");
    return OK;
}

static Status *scan_double(Scan *scan, double *out) {
    Scan before = *scan;
    if (!str_to_double(scan_number(scan), out))
        SCAN_FAIL(&before, "expected a number");
    return OK;
}

static Status *scan_bool(Scan *scan, bool *out) {
    Scan before = *scan;
    Str word;
    bool ok = scan_word(scan, &word);
    if (ok && str_equal(word, STR("true")))
        *out = true;
    else if (ok && str_equal(word, STR("false")))
        *out = false;
    else
        SCAN_FAIL(&before, "expected true or false");
    return OK;
}

// "[2, ?]", "[]", "?"
static Status *scan_shape(Scan *scan, Shape *out) {
    if (scan_char(scan, '?')) {
        *out = UNKNOWN_SHAPE;
        return OK;
    }
    SCAN_NEED(scan_char(scan, '['), scan, "expected a shape");
    int64_t dims[MAX_RANK];
    int rank = 0;
    while (!scan_char(scan, ']')) {
        SCAN_NEED(rank == 0 || scan_char(scan, ','), scan, "expected , or ] in a shape");
        SCAN_NEED(rank < MAX_RANK, scan, "a shape has at most %d dimensions", MAX_RANK);
        if (scan_char(scan, '?')) {
            dims[rank++] = UNKNOWN_DIM;
            continue;
        }
        TRY(scan_int(scan, &dims[rank]));
        SCAN_NEED(dims[rank] >= 0, scan, "expected a dimension >= 0");
        rank++;
    }
    Status *status = shape_make(dims, rank, out);
    return status_prefix(status, "column %zu", (size_t)(scan->at - scan->start));
}

// ---------------------------------------- tensors: "uint8[4] {255, 0, 0, 255}"

// By magnitude and sign, since the range of types reaches from INT64_MIN to UINT64_MAX.
static Status *scan_integer(Scan *scan, DType dtype, void *element) {
    Scan before = *scan;
    bool negative = scan_char(scan, '-');
    uint64_t magnitude = 0;
    const char *first = scan->at;
    bool ok = true;
    for (; scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9'; scan->at++)
        ok &= !__builtin_mul_overflow(magnitude, (uint64_t)10, &magnitude) &&
              !__builtin_add_overflow(magnitude, (uint64_t)(*scan->at - '0'), &magnitude);
    size_t size = dtype_size(dtype);
    uint64_t most = UINT64_MAX >> (64 - 8 * size);
    if (dtype_is_signed(dtype))
        most = (most >> 1) + negative;
    else if (negative)
        most = 0;
    if (!ok || scan->at == first || magnitude > most)
        SCAN_FAIL(&before, "expected an integer of type %s", dtype_name(dtype));
    uint64_t bits = negative ? 0 - magnitude : magnitude;
    memcpy(element, &bits, size);
    return OK;
}

static Status *scan_element(Scan *scan, DType dtype, void *element) {
    float f = 0;
    switch (dtype) {
    case DT_float: return scan_float(scan, element);
    case DT_double: return scan_double(scan, element);
    case DT_half:
        TRY(scan_float(scan, &f));
        *(Half *)element = half_from_float(f);
        return OK;
    case DT_bfloat16:
        TRY(scan_float(scan, &f));
        *(Bfloat16 *)element = bfloat16_from_float(f);
        return OK;
    case DT_complex64:
        TRY(scan_float(scan, (float *)element));
        return scan_float(scan, (float *)element + 1);
    case DT_complex128:
        TRY(scan_double(scan, (double *)element));
        return scan_double(scan, (double *)element + 1);
    case DT_bool: return scan_bool(scan, element);
    case DT_string: {
        Str s;
        TRY(scan_quoted(scan, &s));
        NEED_MEMORY(tstring_assign(element, s));
        return OK;
    }
    default: return scan_integer(scan, dtype, element);
    }
}

static Status *scan_tensor(Scan *scan, Tensor *out) {
    DType dtype;
    Shape shape;
    TRY(scan_dtype(scan, &dtype));
    SCAN_NEED(!dtype_is_ref(dtype) && dtype_kind(dtype) != KIND_OBJECT, scan, "%s values can't be written",
              dtype_name(dtype));
    TRY(scan_shape(scan, &shape));
    SCAN_NEED(shape_is_known(&shape), scan, "expected the shape of a tensor to be known");
    SCAN_NEED(scan_char(scan, '{'), scan, "expected { before the elements of a tensor");
    int64_t count = shape_count(&shape);
    // Each element takes a character at least: a text of ten bytes can't ask for a gigabyte.
    SCAN_NEED(count <= scan->end - scan->at, scan, "expected %lld elements", (long long)count);
    AUTO(tensor) Tensor tensor = {0};
    TRY(tensor_new(dtype, shape, &tensor));
    for (int64_t i = 0; i < count; i++) {
        SCAN_NEED(i == 0 || scan_char(scan, ','), scan, "expected , before element %lld of %lld", (long long)i,
                  (long long)count);
        TRY(scan_element(scan, dtype, (char *)tensor.data + (size_t)i * dtype_size(dtype)));
    }
    SCAN_NEED(scan_char(scan, '}'), scan, "expected } behind %lld elements", (long long)count);
    NEED_MEMORY(vec_push(scan->tensors, tensor.buffer));
    *out = tensor_retain(&tensor);  // the list's reference, since AUTO gives up ours
    return OK;
}

// ---------------------------------------- values

static Status *scan_single(Scan *scan, AttrKind kind, AttrValue *out) {
    AttrValue value = {.kind = kind};
    switch (kind) {
    case ATTR_STRING: TRY(scan_quoted(scan, &value.s)); break;
    case ATTR_INT: TRY(scan_int(scan, &value.i)); break;
    case ATTR_FLOAT: TRY(scan_float(scan, &value.f)); break;
    case ATTR_BOOL: TRY(scan_bool(scan, &value.b)); break;
    case ATTR_TYPE: TRY(scan_dtype(scan, &value.type)); break;
    case ATTR_SHAPE:
        NEED_MEMORY(value.shape = ARENA_NEW(scan->arena, Shape));
        TRY(scan_shape(scan, value.shape));
        break;
    case ATTR_TENSOR:
        NEED_MEMORY(value.tensor = ARENA_NEW(scan->arena, Tensor));
        TRY(scan_tensor(scan, value.tensor));
        break;
    case ATTR_FUNC:
        NEED_MEMORY(value.func = ARENA_NEW(scan->arena, FuncRef));
        TRY(scan_name(scan, &value.func->name));
        break;
    case ATTR_NONE: case ATTR_PLACEHOLDER: SCAN_FAIL(scan, "expected no value of kind %s", attr_kind_name(kind, false));
    }
    *out = value;
    return OK;
}

// Moves the elements read so far into an array of their kind: a value of each kind has an array of its own.
#define PACK(array, element)                                                          \
    do {                                                                              \
        NEED_MEMORY((array) = arena_array(scan->arena, (size_t)n, sizeof *(array)));   \
        for (int i = 0; i < n; i++)                                                   \
            (array)[i] = scan->list.p[i].element;                                     \
    } while (0)

static Status *pack_list(Scan *scan, AttrKind kind, AttrValue *out) {
    int32_t n = (int32_t)scan->list.n;
    AttrValue list = {.kind = kind, .is_list = true, .n = n};
    if (n) {
        switch (kind) {
        case ATTR_STRING: PACK(list.ss, s); break;
        case ATTR_INT: PACK(list.is, i); break;
        case ATTR_FLOAT: PACK(list.fs, f); break;
        case ATTR_BOOL: PACK(list.bs, b); break;
        case ATTR_TYPE: PACK(list.types, type); break;
        case ATTR_SHAPE: PACK(list.shapes, shape[0]); break;
        case ATTR_TENSOR: PACK(list.tensors, tensor[0]); break;
        case ATTR_FUNC: PACK(list.funcs, func[0]); break;
        case ATTR_NONE: case ATTR_PLACEHOLDER: break;
        }
    }
    *out = list;
    return OK;
}

Status *scan_list(Scan *scan, AttrKind kind, char close, AttrValue *out) {
    scan->list.n = 0;
    while (!scan_char(scan, close)) {
        SCAN_NEED(scan->list.n == 0 || scan_char(scan, ','), scan, "expected , or %c in a list", close);
        SCAN_NEED(scan->list.n < INT32_MAX, scan, "the list is too long");
        AttrValue element;
        TRY(scan_single(scan, kind, &element));
        NEED_MEMORY(vec_push(&scan->list, element));
    }
    return pack_list(scan, kind, out);
}

static const struct {
    const char *name, *types;
} dtype_sets[] = {
#define SET(name, types) {#name, types},
#include "graph/dtype_sets.def"
#undef SET
};

// The types that a set's name stands for; NULL where the next word is none.
static const char *scan_set(Scan *scan) {
    const char *before = scan->at;
    Str word;
    if (scan_word(scan, &word))
        for (size_t i = 0; i < sizeof dtype_sets / sizeof *dtype_sets; i++)
            if (str_is(word, dtype_sets[i].name))
                return dtype_sets[i].types;
    scan->at = before;
    return NULL;
}

// Pushes the types of one element of `{floats, string}`.
static Status *push_types(Scan *scan) {
    const char *types = scan_set(scan);
    Scan set = SCAN_OF(types ? str_of(types) : STR(""));
    Scan *from = types ? &set : scan;
    do {
        AttrValue type = {.kind = ATTR_TYPE};
        TRY(scan_dtype(from, &type.type));
        NEED_MEMORY(vec_push(&scan->list, type));
    } while (types && scan_char(&set, ','));
    return OK;
}

bool scan_at_set(const Scan *scan) {
    Scan ahead = *scan;
    return scan_set(&ahead);
}

Status *scan_types(Scan *scan, bool braces, AttrValue *out) {
    scan->list.n = 0;
    if (!braces)
        TRY(push_types(scan));
    while (braces && !scan_char(scan, '}')) {
        SCAN_NEED(scan->list.n == 0 || scan_char(scan, ','), scan, "expected , or } in a list");
        TRY(push_types(scan));
    }
    return pack_list(scan, ATTR_TYPE, out);
}

Status *scan_value(Scan *scan, AttrKind kind, bool is_list, AttrValue *out) {
    if (!is_list)
        return scan_single(scan, kind, out);
    SCAN_NEED(scan_char(scan, '['), scan, "expected a list in brackets");
    return scan_list(scan, kind, ']', out);
}

Status *attr_parse(Str text, AttrKind kind, bool is_list, Arena *arena, TensorList *tensors, AttrValue *out) {
    Scan scan = SCAN_OF(text);
    scan.arena = arena;
    scan.tensors = tensors;
    size_t before = tensors->n;
    AttrValue value;
    Status *status = scan_value(&scan, kind, is_list, &value);
    if (!status && scan_peek(&scan))
        status = scan_error(&scan, __FILE__, __LINE__, "expected nothing more");
    scan_clear(&scan);
    if (status) {
        tensor_list_cut(tensors, before);
        return status;
    }
    *out = value;
    return OK;
}
