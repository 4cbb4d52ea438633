// AttrValue <-> AttrValueProto; see op_def.h.
//
// Reading copies into an arena and checks what it copies; writing makes views, which live as long as the value.
#include "graph/op_def.h"
#include "proto/tensor_proto.h"

// `budget` bounds what splats (a tensor of one repeated value) may expand to in a whole message.
typedef struct {
    Arena *arena;
    TensorList *tensors;
    size_t *budget;
} Reading;

// ---------------------------------------- from proto

static Status *read_value(const Reading *r, const AttrValueProto *proto, AttrValue *out);

static Status *read_text(const Reading *r, Str from, Str *out) {
    *out = str_copy(r->arena, from);
    NEED_MEMORY(out->p);
    return OK;
}

static Status *read_type(int32_t number, DType *out) {
    NEED(number == DT_INVALID || dtype_is_valid((DType)number), INVALID_ARGUMENT, "%d is no data type", number);
    *out = (DType)number;
    return OK;
}

static int compare_entries(const void *a, const void *b) {
    return str_compare(((const AttrEntry *)a)->name, ((const AttrEntry *)b)->name);
}

static Status *read_func(const Reading *r, const NameAttrListProto *proto, FuncRef *out) {
    FuncRef func = {.n_attrs = (int32_t)proto->attr.n};
    TRY(read_text(r, proto->name, &func.name));
    func.attrs = ARENA_ARRAY(r->arena, AttrEntry, proto->attr.n);
    NEED_MEMORY(func.attrs);
    for (size_t i = 0; i < proto->attr.n; i++) {
        TRY(read_text(r, proto->attr.p[i].key, &func.attrs[i].name));
        TRY(read_value(r, proto->attr.p[i].value, &func.attrs[i].value));
    }
    // Maps have no order on the wire; sorted, equal functions compare equal.
    if (proto->attr.n)
        qsort(func.attrs, proto->attr.n, sizeof *func.attrs, compare_entries);
    *out = func;
    return OK;
}

static Status *read_tensor(const Reading *r, const TensorProto *proto, Tensor *out) {
    AUTO(tensor) Tensor tensor = {0};
    TRY(tensor_from_proto(proto, r->budget, &tensor));
    NEED_MEMORY(vec_push(r->tensors, tensor.buffer));
    *out = tensor;
    tensor = (Tensor){0};
    return OK;
}

static Status *read_list_elements(const Reading *r, const AttrValue_ListValue *list, AttrValue *v) {
    for (size_t i = 0; i < (size_t)v->n; i++) {
        switch (v->kind) {
            case ATTR_STRING:
                TRY(read_text(r, list->s.p[i], &v->ss[i]));
                break;
            case ATTR_TYPE:
                TRY(read_type(list->type.p[i], &v->types[i]));
                break;
            case ATTR_SHAPE:
                TRY(shape_from_proto(&list->shape.p[i], &v->shapes[i]));
                break;
            case ATTR_TENSOR:
                TRY(read_tensor(r, &list->tensor.p[i], &v->tensors[i]));
                break;
            case ATTR_FUNC:
                TRY(read_func(r, &list->func.p[i], &v->funcs[i]));
                break;
            default:
                break;
        }
    }
    return OK;
}

// Numbers are copied at once; everything else element by element.
static Status *read_list(const Reading *r, const AttrValue_ListValue *list, AttrValue *out) {
    const struct {
        AttrKind kind;
        size_t n, size;
        const void *plain;
    } lists[] = {
        {ATTR_STRING, list->s.n, sizeof(Str), NULL},        {ATTR_INT, list->i.n, sizeof(int64_t), list->i.p},
        {ATTR_FLOAT, list->f.n, sizeof(float), list->f.p},  {ATTR_BOOL, list->b.n, sizeof(bool), list->b.p},
        {ATTR_TYPE, list->type.n, sizeof(DType), NULL},     {ATTR_SHAPE, list->shape.n, sizeof(Shape), NULL},
        {ATTR_TENSOR, list->tensor.n, sizeof(Tensor), NULL}, {ATTR_FUNC, list->func.n, sizeof(FuncRef), NULL},
    };
    AttrValue value = {.is_list = true};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (lists[i].n == 0)
            continue;
        NEED(value.n == 0, INVALID_ARGUMENT, "a list of %s and %s at once", attr_kind_name(value.kind, false),
             attr_kind_name(lists[i].kind, false));
        NEED(lists[i].n <= INT32_MAX, INVALID_ARGUMENT, "a list of %zu values", lists[i].n);
        value.kind = lists[i].kind;
        value.n = (int32_t)lists[i].n;
        value.is = arena_array(r->arena, lists[i].n, lists[i].size);
        NEED_MEMORY(value.is);
        if (lists[i].plain)
            memcpy(value.is, lists[i].plain, lists[i].n * lists[i].size);
    }
    TRY(read_list_elements(r, list, &value));
    *out = value;
    return OK;
}

static Status *read_shape(const Reading *r, const TensorShapeProto *proto, Shape **out) {
    Shape *shape = ARENA_NEW(r->arena, Shape);
    NEED_MEMORY(shape);
    TRY(shape_from_proto(proto, shape));
    *out = shape;
    return OK;
}

// Nesting was limited when the proto was decoded (PROTO_DEPTH).
static Status *read_value(const Reading *r, const AttrValueProto *proto, AttrValue *out) {
    AttrValue value = {0};
    switch (proto->which) {
        case AttrValueProto_list:
            TRY(read_list(r, proto->list, &value));
            break;
        case AttrValueProto_s:
            value.kind = ATTR_STRING;
            TRY(read_text(r, proto->s, &value.s));
            break;
        case AttrValueProto_i:
            value = ATTR_OF_INT(proto->i);
            break;
        case AttrValueProto_f:
            value = ATTR_OF_FLOAT(proto->f);
            break;
        case AttrValueProto_b:
            value = ATTR_OF_BOOL(proto->b);
            break;
        case AttrValueProto_type:
            value.kind = ATTR_TYPE;
            TRY(read_type(proto->type, &value.type));
            break;
        case AttrValueProto_shape:
            value.kind = ATTR_SHAPE;
            TRY(read_shape(r, proto->shape, &value.shape));
            break;
        case AttrValueProto_tensor:
            value.kind = ATTR_TENSOR;
            value.tensor = ARENA_NEW(r->arena, Tensor);
            NEED_MEMORY(value.tensor);
            TRY(read_tensor(r, proto->tensor, value.tensor));
            break;
        case AttrValueProto_placeholder:
            value.kind = ATTR_PLACEHOLDER;
            TRY(read_text(r, proto->placeholder, &value.s));
            break;
        case AttrValueProto_func:
            value.kind = ATTR_FUNC;
            value.func = ARENA_NEW(r->arena, FuncRef);
            NEED_MEMORY(value.func);
            TRY(read_func(r, proto->func, value.func));
            break;
        default:
            break;
    }
    *out = value;
    return OK;
}

Status *attr_from_proto(const AttrValueProto *proto, Arena *arena, TensorList *tensors, size_t *budget,
                        AttrValue *out) {
    Reading reading = {arena, tensors, budget};
    return read_value(&reading, proto, out);
}

Status *attr_from_bytes(Str bytes, Arena *arena, TensorList *tensors, AttrValue *out) {
    AUTO(arena) Arena scratch = {0};
    size_t budget = SPLAT_BUDGET;
    AttrValueProto *proto;
    TRY(PROTO_DECODE(AttrValueProto, &scratch, bytes, &proto));
    return attr_from_proto(proto, arena, tensors, &budget, out);
}

// ---------------------------------------- to proto

static Status *write_func(const FuncRef *func, Arena *arena, NameAttrListProto *out) {
    out->name = func->name;
    out->attr.p = ARENA_ARRAY(arena, AttrValueEntry, func->n_attrs);
    NEED_MEMORY(out->attr.p);
    out->attr.n = (size_t)func->n_attrs;
    for (int i = 0; i < func->n_attrs; i++) {
        out->attr.p[i].key = func->attrs[i].name;
        out->attr.p[i].value = ARENA_NEW(arena, AttrValueProto);
        NEED_MEMORY(out->attr.p[i].value);
        TRY(attr_to_proto(&func->attrs[i].value, arena, out->attr.p[i].value));
    }
    return OK;
}

#define VIEW(list, from) ((list).p = (from), (list).n = n)

static Status *write_messages(const AttrValue *value, Arena *arena, AttrValue_ListValue *list) {
    size_t n = (size_t)value->n;
    if (value->kind == ATTR_SHAPE) {
        list->shape.p = ARENA_ARRAY(arena, TensorShapeProto, n);
        NEED_MEMORY(list->shape.p);
        for (list->shape.n = 0; list->shape.n < n; list->shape.n++) {
            TensorShapeProto *shape;
            TRY(shape_to_proto(arena, &value->shapes[list->shape.n], &shape));
            list->shape.p[list->shape.n] = *shape;
        }
    } else if (value->kind == ATTR_TENSOR) {
        list->tensor.p = ARENA_ARRAY(arena, TensorProto, n);
        NEED_MEMORY(list->tensor.p);
        for (list->tensor.n = 0; list->tensor.n < n; list->tensor.n++) {
            TensorProto *tensor;
            TRY(tensor_to_proto(arena, &value->tensors[list->tensor.n], &tensor));
            list->tensor.p[list->tensor.n] = *tensor;
        }
    } else {
        list->func.p = ARENA_ARRAY(arena, NameAttrListProto, n);
        NEED_MEMORY(list->func.p);
        for (list->func.n = 0; list->func.n < n; list->func.n++)
            TRY(write_func(&value->funcs[list->func.n], arena, &list->func.p[list->func.n]));
    }
    return OK;
}

static Status *write_list(const AttrValue *value, Arena *arena, AttrValueProto *out) {
    AttrValue_ListValue *list = ARENA_NEW(arena, AttrValue_ListValue);
    NEED_MEMORY(list);
    size_t n = (size_t)value->n;
    switch (value->kind) {
        case ATTR_STRING:
            VIEW(list->s, value->ss);
            break;
        case ATTR_INT:
            VIEW(list->i, value->is);
            break;
        case ATTR_FLOAT:
            VIEW(list->f, value->fs);
            break;
        case ATTR_BOOL:
            VIEW(list->b, value->bs);
            break;
        case ATTR_TYPE:
            list->type.p = ARENA_ARRAY(arena, int32_t, n);
            NEED_MEMORY(list->type.p);
            for (list->type.n = 0; list->type.n < n; list->type.n++)
                list->type.p[list->type.n] = (int32_t)value->types[list->type.n];
            break;
        case ATTR_SHAPE:
        case ATTR_TENSOR:
        case ATTR_FUNC:
            TRY(write_messages(value, arena, list));
            break;
        default:
            break;
    }
    out->which = AttrValueProto_list;
    out->list = list;
    return OK;
}

static Status *write_one(const AttrValue *value, Arena *arena, AttrValueProto *out) {
    switch (value->kind) {
        case ATTR_STRING:
            out->which = AttrValueProto_s;
            out->s = value->s;
            break;
        case ATTR_INT:
            out->which = AttrValueProto_i;
            out->i = value->i;
            break;
        case ATTR_FLOAT:
            out->which = AttrValueProto_f;
            out->f = value->f;
            break;
        case ATTR_BOOL:
            out->which = AttrValueProto_b;
            out->b = value->b;
            break;
        case ATTR_TYPE:
            out->which = AttrValueProto_type;
            out->type = (int32_t)value->type;
            break;
        case ATTR_SHAPE:
            out->which = AttrValueProto_shape;
            return shape_to_proto(arena, value->shape, &out->shape);
        case ATTR_TENSOR:
            out->which = AttrValueProto_tensor;
            return tensor_to_proto(arena, value->tensor, &out->tensor);
        case ATTR_PLACEHOLDER:
            out->which = AttrValueProto_placeholder;
            out->placeholder = value->s;
            break;
        case ATTR_FUNC:
            out->which = AttrValueProto_func;
            out->func = ARENA_NEW(arena, NameAttrListProto);
            NEED_MEMORY(out->func);
            return write_func(value->func, arena, out->func);
        case ATTR_NONE:
            break;
    }
    return OK;
}

Status *attr_to_proto(const AttrValue *value, Arena *arena, AttrValueProto *out) {
    AttrValueProto proto = {0};
    TRY(value->is_list ? write_list(value, arena, &proto) : write_one(value, arena, &proto));
    *out = proto;
    return OK;
}
