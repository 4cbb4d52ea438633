// TensorMap — tensors by keys that are tensors, as a value: the element of a variant tensor.
//
// Immutable to those who share it, as a list is (list.h). Entries stand in the order in which their keys came; a key is
// found by its bytes.
#include "base/vec.h"
#include "ops/array/moving.h"

typedef struct {
    Tensor key, value;
} MapItem;

typedef struct {
    Object object;
    VEC(MapItem) items;
} VariantMap;

static void map_free(Object *object) {
    VariantMap *map = (VariantMap *)object;
    for (size_t i = 0; i < map->items.n; i++) {
        tensor_clear(&map->items.p[i].key);
        tensor_clear(&map->items.p[i].value);
    }
    vec_clear(&map->items);
    free(map);
}

static void map_print(const Object *object, void *text) {
    text_format(text, "<TensorMap of %zu>", ((const VariantMap *)object)->items.n);
}

static const ObjectType map_type = {.name = "TensorMap", .free = map_free, .print = map_print};

static Status *map_get(const Kernel *k, const VariantMap **out) {
    const Object *object = *(Object **)k->in[0]->data;
    NEED(object && object->type == &map_type, INVALID_ARGUMENT, "Input handle is not a tensor map. Saw: '%s'",
         object ? object->type->name : "<nothing>");
    *out = (const VariantMap *)object;
    return OK;
}

// Output 0 becomes a new map, of what is in `from` (NULL: nothing); borrowed.
static Status *map_make(Kernel *k, const VariantMap *from, VariantMap **out) {
    VariantMap *map = calloc(1, sizeof *map);
    NEED_MEMORY(map);
    object_init(&map->object, &map_type);
    Object **slot = k->out[0]->data;
    object_release(*slot);
    *slot = &map->object;
    *out = map;
    if (!from)
        return OK;
    NEED_MEMORY(vec_reserve(&map->items, from->items.n + 1));
    for (size_t i = 0; i < from->items.n; i++)
        map->items.p[map->items.n++] = (MapItem){tensor_retain(&from->items.p[i].key), tensor_retain(&from->items.p[i].value)};
    return OK;
}

static bool equal(const Tensor *a, const Tensor *b) {
    if (a->dtype != b->dtype || !shape_equal(&a->shape, &b->shape))
        return false;
    if (dtype_is_plain(a->dtype))
        return memcmp(a->data, b->data, tensor_bytes(a)) == 0;
    for (int64_t i = 0, n = tensor_count(a); i < n; i++)
        if (!str_equal(tstring_str((const TString *)a->data + i), tstring_str((const TString *)b->data + i)))
            return false;
    return true;
}

static Status *find(const Kernel *k, const VariantMap *map, int64_t *out) {
    const Tensor *key = k->in[1];
    NEED(dtype_is_plain(key->dtype) || key->dtype == DT_string, UNIMPLEMENTED, "keys of type %s", dtype_name(key->dtype));
    *out = -1;
    for (size_t i = 0; i < map->items.n && *out < 0; i++)
        if (equal(&map->items.p[i].key, key))
            *out = (int64_t)i;
    return OK;
}

// ---------------------------------------- kernels

static Status *empty_run(Kernel *k) {
    VariantMap *map;
    return map_make(k, NULL, &map);
}

static Status *insert_run(Kernel *k) {
    const VariantMap *from;
    VariantMap *map;
    int64_t at;
    TRY(map_get(k, &from));
    TRY(find(k, from, &at));
    TRY(map_make(k, from, &map));
    MapItem item = {0};
    TRY(kernel_keep(k, 2, &item.value));
    if (at >= 0) {
        tensor_clear(&map->items.p[at].value);
        map->items.p[at].value = item.value;
        return OK;
    }
    Status *status = kernel_keep(k, 1, &item.key);
    if (status)
        tensor_clear(&item.value);
    TRY(status);
    map->items.p[map->items.n++] = item;  // map_make has left room
    return OK;
}

static Status *lookup_run(Kernel *k) {
    const VariantMap *map;
    int64_t at;
    TRY(map_get(k, &map));
    TRY(find(k, map, &at));
    NEED(at >= 0, INVALID_ARGUMENT, "Trying to lookup non-existent key. Could not find key \"%s\".", shape_text(&k->in[1]->shape));
    const Tensor *value = &map->items.p[at].value;
    NEED(value->dtype == k->out[0]->dtype, INVALID_ARGUMENT, "the value is of type %s, expected %s", dtype_name(value->dtype),
         dtype_name(k->out[0]->dtype));
    kernel_set_output(k, 0, tensor_retain(value));
    return OK;
}

static Status *erase_run(Kernel *k) {
    const VariantMap *from;
    VariantMap *map;
    int64_t at;
    TRY(map_get(k, &from));
    TRY(find(k, from, &at));
    NEED(at >= 0, INVALID_ARGUMENT, "Trying to erase non-existent item. Could not find key \"%s\".", shape_text(&k->in[1]->shape));
    TRY(map_make(k, from, &map));
    tensor_clear(&map->items.p[at].key);
    tensor_clear(&map->items.p[at].value);
    map->items.n--;
    memmove(map->items.p + at, map->items.p + at + 1, (map->items.n - (size_t)at) * sizeof *map->items.p);
    return OK;
}

static Status *has_run(Kernel *k) {
    const VariantMap *map;
    int64_t at;
    TRY(map_get(k, &map));
    TRY(find(k, map, &at));
    *(bool *)k->out[0]->data = at >= 0;
    return OK;
}

static Status *size_run(Kernel *k) {
    const VariantMap *map;
    TRY(map_get(k, &map));
    *(int32_t *)k->out[0]->data = (int32_t)map->items.n;
    return OK;
}

static Status *keys_run(Kernel *k) {
    const VariantMap *map;
    TRY(map_get(k, &map));
    size_t n = map->items.n;
    NEED(n, INVALID_ARGUMENT, "TensorMapStackKeys cannot be called on empty map.");
    const Tensor *first = &map->items.p[0].key;
    NEED(first->dtype == k->out[0]->dtype, INVALID_ARGUMENT, "Key does not match requested dtype.");
    NEED(first->shape.rank < MAX_RANK, INVALID_ARGUMENT, "keys of %d dimensions can't be stacked", first->shape.rank);
    Shape shape = {.rank = first->shape.rank + 1, .dims = {(int64_t)n}};
    memcpy(shape.dims + 1, first->shape.dims, (size_t)first->shape.rank * sizeof *shape.dims);
    TRY(kernel_output(k, 0, shape));
    size_t bytes = dtype_size(first->dtype) * (size_t)shape_count(&first->shape);
    for (size_t i = 0; i < n; i++) {
        const Tensor *key = &map->items.p[i].key;
        NEED(key->dtype == first->dtype && shape_equal(&key->shape, &first->shape), INVALID_ARGUMENT,
             "Keys must all have the same shape.");
        Tensor to = {.data = (char *)k->out[0]->data + i * bytes, .dtype = key->dtype, .shape = key->shape};
        TRY(tensor_copy_elements(key, &to));
    }
    return OK;
}

#define MAP_OP(Name, arguments, text, run, ...) \
    const Op op_##Name = {.signature = #Name arguments, .doc = text, .cpu = ANY_TYPE(run), __VA_ARGS__};
#define MAP_IN .needs = "scalar(input_handle)"
#define ONE_KEY "(input_handle: variant, key: key_dtype"
MAP_OP(EmptyTensorMap, "() -> handle: variant", "A map without entries.", empty_run, .shape = shape_scalar,
       .flags = OP_NO_GRADIENT)
MAP_OP(TensorMapInsert, ONE_KEY ", value: value_dtype) -> output_handle: variant; key_dtype: type; value_dtype: type",
       "The map with a value for the key.", insert_run, MAP_IN, .shape = shape_scalar, .keeps = BIT(1) | BIT(2),
       .flags = OP_NO_GRADIENT)
MAP_OP(TensorMapLookup, ONE_KEY ") -> value: value_dtype; key_dtype: type; value_dtype: type",
       "The value of the key, which must be there.", lookup_run, MAP_IN, .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT)
MAP_OP(TensorMapErase, ONE_KEY ") -> output_handle: variant; key_dtype: type; value_dtype: type",
       "The map without the key, which must be there.", erase_run, MAP_IN, .shape = shape_scalar, .flags = OP_NO_GRADIENT)
MAP_OP(TensorMapHasKey, ONE_KEY ") -> has_key: bool; key_dtype: type", "Whether the key is there.", has_run, MAP_IN,
       .shape = shape_scalar, .flags = OP_NO_GRADIENT)
MAP_OP(TensorMapSize, "(input_handle: variant) -> size: int32", "The number of entries.", size_run, MAP_IN,
       .shape = shape_scalar, .flags = OP_NO_GRADIENT)
MAP_OP(TensorMapStackKeys, "(input_handle: variant) -> keys: key_dtype; key_dtype: type", "The keys, stacked.", keys_run,
       MAP_IN, .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT)
