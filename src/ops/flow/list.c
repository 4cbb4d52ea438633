// TensorList — see list.h: the object, and what its ops share.
#include "ops/flow/list.h"

#include <stdlib.h>

#include "loops/elementwise.h"

static void list_free(Object *object) {
    VariantList *list = (VariantList *)object;
    for (size_t i = 0; i < list->items.n; i++)
        tensor_clear(&list->items.p[i]);
    vec_clear(&list->items);
    free(list);
}

static void list_print(const Object *object, void *text) {
    const VariantList *list = (const VariantList *)object;
    text_format(text, "<TensorList of %zu %s>", list->items.n, dtype_name(list->dtype));
}

static Status *list_zeros(const Object *object, int depth, Object **out);
static Status *list_add(const Object *a, const Object *b, int depth, Object **out);

static const ObjectType list_type = {"TensorList", list_free, list_print, list_zeros, list_add};

Status *list_prepare(Prepare *p) {
    ListOwn *own = p->own;
    const AttrValue *dtype = node_attr_find(p->node, "element_dtype"), *count = node_attr_find(p->node, "num_elements");
    const AttrValue *grows = node_attr_find(p->node, "resize_if_index_out_of_bounds");
    const AttrValue *shape = node_attr_find(p->node, "element_shape");
    own->dtype = dtype ? dtype->type : DT_INVALID;
    own->count = count ? count->i : -1;
    own->grows = grows && grows->b;
    own->shape = shape && shape->kind == ATTR_SHAPE ? *shape->shape : UNKNOWN_SHAPE;
    return OK;
}

// ---------------------------------------- getting, making, changing

Status *list_get(const Kernel *k, int i, const VariantList **out) {
    const Tensor *variant = k->in[i];
    const Object *object = variant->dtype == DT_variant && variant->shape.rank == 0 ? *(Object **)variant->data : NULL;
    NEED(object && object->type == &list_type, INVALID_ARGUMENT, "input %d is not a tensor list: %s%s", i,
         object ? object->type->name : dtype_name(variant->dtype), shape_text(&variant->shape));
    return list_of(k, object, out);
}

Status *list_of(const Kernel *k, const Object *object, const VariantList **out) {
    NEED(object && object->type == &list_type, INVALID_ARGUMENT, "a variant is not a tensor list: %s",
         object ? object->type->name : "it is empty");
    const VariantList *list = (const VariantList *)object;
    DType wanted = k->own ? ((const ListOwn *)k->own)->dtype : DT_INVALID;
    NEED(wanted == DT_INVALID || list->dtype == wanted, INVALID_ARGUMENT,
         "Invalid data types; op elements %s but list elements %s", dtype_name(wanted), dtype_name(list->dtype));
    *out = list;
    return OK;
}

static Status *list_new(DType dtype, const Shape *element_shape, VariantList **out) {
    VariantList *list = calloc(1, sizeof *list);
    NEED_MEMORY(list);
    object_init(&list->object, &list_type);
    list->dtype = dtype;
    list->element_shape = *element_shape;
    list->most = -1;
    *out = list;
    return OK;
}

// Puts the list into output i and takes it over.
static Status *put(Kernel *k, int i, VariantList *list) {
    Status *status = k->out[i]->buffer ? OK : kernel_output(k, i, SCALAR_SHAPE);
    if (status) {
        object_release(&list->object);
        return status;
    }
    Object **slot = k->out[i]->data;
    object_release(*slot);
    *slot = &list->object;
    return OK;
}

Status *list_make(Kernel *k, int i, DType dtype, const Shape *element_shape, VariantList **out) {
    VariantList *list;
    TRY(list_new(dtype, element_shape, &list));
    TRY(put(k, i, list));
    *out = list;
    return OK;
}

Status *list_copy(const VariantList *from, size_t room, VariantList **out) {
    VariantList *list;
    TRY(list_new(from->dtype, &from->element_shape, &list));
    list->most = from->most;
    if (!vec_reserve(&list->items, from->items.n > room ? from->items.n : room)) {
        object_release(&list->object);
        return OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < from->items.n; i++)
        list->items.p[list->items.n++] = tensor_retain(&from->items.p[i]);
    *out = list;
    return OK;
}

Status *list_change(Kernel *k, size_t room, VariantList **out) {
    const VariantList *from;
    TRY(list_get(k, 0, &from));
    // The machine has moved the input's buffer to the output when nobody else reads it.
    bool moved = k->out[0]->buffer && !k->in[0]->buffer && k->out[0]->data == k->in[0]->data;
    VariantList *list = (VariantList *)(uintptr_t)from;
    if (!moved || !object_is_unique(&from->object)) {
        TRY(list_copy(from, room, &list));
        TRY(put(k, 0, list));
    }
    *out = list;
    return OK;
}

Status *list_resize(VariantList *list, int64_t n) {
    NEED(n >= 0 && n <= LIST_MOST, INVALID_ARGUMENT, "a list can't have %lld elements", (long long)n);
    NEED_MEMORY(vec_reserve(&list->items, n));
    while (list->items.n > (size_t)n)
        tensor_clear(&list->items.p[--list->items.n]);
    while (list->items.n < (size_t)n)
        list->items.p[list->items.n++] = (Tensor){.dtype = list->dtype, .shape = UNKNOWN_SHAPE};
    return OK;
}

Status *list_push(VariantList *list, Tensor item) {
    if (vec_push(&list->items, item))
        return OK;
    tensor_clear(&item);
    return OUT_OF_MEMORY;
}

// ---------------------------------------- arithmetic

// Objects one by one, or elements at once.
static Status *zeros_like(const Tensor *item, int depth, Tensor *out) {
    AUTO(tensor) Tensor zeros = {0};
    TRY(tensor_new(item->dtype, item->shape, &zeros));
    if (dtype_is_plain(item->dtype))
        memset(zeros.data, 0, tensor_bytes(&zeros));
    for (int64_t i = 0; item->dtype == DT_variant && i < tensor_count(item); i++)
        TRY(object_zeros(((Object **)item->data)[i], depth + 1, (Object **)zeros.data + i));
    *out = zeros;
    zeros = (Tensor){0};
    return OK;
}

// Elements that were never set read as zeros, so there is nothing to make where their shape is known.
static Status *list_zeros(const Object *object, int depth, Object **out) {
    const VariantList *from = (const VariantList *)object;
    VariantList *list;
    TRY(list_new(from->dtype, &from->element_shape, &list));
    Status *status = list_resize(list, (int64_t)from->items.n);
    bool unset = shape_is_known(&from->element_shape) && dtype_is_plain(from->dtype);
    for (size_t i = 0; i < from->items.n && !unset && !status; i++)
        if (from->items.p[i].buffer)
            status = zeros_like(&from->items.p[i], depth, &list->items.p[i]);
    if (status)
        object_release(&list->object);
    else
        *out = &list->object;
    return status;
}

static Status *add_items(const Tensor *a, const Tensor *b, int depth, Tensor *out) {
    NEED(a->dtype == b->dtype && shape_equal(&a->shape, &b->shape), INVALID_ARGUMENT,
         "elements of shapes %s and %s don't add", shape_text(&a->shape), shape_text(&b->shape));
    ElementwiseLoop add;
    bool objects = a->dtype == DT_variant;
    NEED(objects || elementwise_find(&elementwise_Add, a->dtype, &add), UNIMPLEMENTED, "no sum of type %s",
         dtype_name(a->dtype));
    AUTO(tensor) Tensor sum = {0};
    TRY(tensor_new(a->dtype, a->shape, &sum));
    if (!objects)
        elementwise_run(&add, a->data, b->data, sum.data, tensor_count(a), 1, 1);
    for (int64_t i = 0; objects && i < tensor_count(a); i++)
        TRY(object_add(((Object **)a->data)[i], ((Object **)b->data)[i], depth + 1, (Object **)sum.data + i));
    *out = sum;
    sum = (Tensor){0};
    return OK;
}

// An element that one of the lists never got counts as zero there, as TensorFlow does: the sum shares the other's.
static Status *add_lists(const VariantList *a, const VariantList *b, int depth, VariantList *sum) {
    TRY(list_resize(sum, (int64_t)a->items.n));
    for (size_t i = 0; i < a->items.n; i++) {
        const Tensor *x = &a->items.p[i], *y = &b->items.p[i];
        if (x->buffer && y->buffer)
            TRY(add_items(x, y, depth, &sum->items.p[i]));
        else if (x->buffer || y->buffer)
            sum->items.p[i] = tensor_retain(x->buffer ? x : y);
    }
    return OK;
}

static Status *list_add(const Object *first, const Object *second, int depth, Object **out) {
    const VariantList *a = (const VariantList *)first, *b = (const VariantList *)second;
    NEED(a->dtype == b->dtype, INVALID_ARGUMENT, "Trying to add two lists of tensors of different dtypes: %s and %s",
         dtype_name(a->dtype), dtype_name(b->dtype));
    NEED(a->items.n == b->items.n, INVALID_ARGUMENT,
         "Trying to add two lists of tensors of different lengths: %zu and %zu", a->items.n, b->items.n);
    Shape shape;
    TRY(shape_merge(&a->element_shape, &b->element_shape, &shape));
    VariantList *sum;
    TRY(list_new(a->dtype, &shape, &sum));
    Status *status = add_lists(a, b, depth, sum);
    if (status)
        object_release(&sum->object);
    else
        *out = &sum->object;
    return status;
}

// ---------------------------------------- shapes

Status *list_read_shape(const Tensor *value, Shape *out) {
    if (value->shape.rank == 0) {
        NEED(tensor_int(value, 0) == -1, INVALID_ARGUMENT,
             "The only valid scalar shape tensor is the fully unknown shape specified as -1.");
        *out = UNKNOWN_SHAPE;
        return OK;
    }
    return tensor_to_shape(value, out);
}

Status *list_known_shape(const Shapes *s, int input, Shape *out) {
    *out = UNKNOWN_SHAPE;
    if (s->value[input])
        return list_read_shape(s->value[input], out);
    return s->in[input].rank > 0 ? shapes_input_shape((Shapes *)(uintptr_t)s, input, out) : OK;
}

Status *list_element_shape(const VariantList *list, const Shape *wanted, Shape *out) {
    Shape shape;
    TRY(shape_merge(&list->element_shape, wanted, &shape));
    for (size_t i = 0; i < list->items.n && !shape_is_known(&shape); i++)
        if (list->items.p[i].buffer)
            TRY(shape_merge(&shape, &list->items.p[i].shape, &shape));
    *out = shape;
    return OK;
}

Status *list_check_index(const VariantList *list, int64_t index) {
    NEED(index >= 0 && index < (int64_t)list->items.n, INVALID_ARGUMENT,
         "Trying to access element %lld in a list with %zu elements.", (long long)index, list->items.n);
    return OK;
}

Status *list_check_item(const VariantList *list, const Tensor *item, const char *what) {
    NEED(item->dtype == list->dtype, INVALID_ARGUMENT, "Invalid data types; list elements %s but tried to %s %s",
         dtype_name(list->dtype), what, dtype_name(item->dtype));
    NEED(shape_compatible(&list->element_shape, &item->shape), INVALID_ARGUMENT,
         "Tried to %s a tensor with incompatible shape to a list. Op element shape: %s list shape: %s", what,
         shape_text(&item->shape), shape_text(&list->element_shape));
    return OK;
}

// ---------------------------------------- elements

Status *list_copy_span(const Tensor *from, int64_t first, const Tensor *to, int64_t at, int64_t n) {
    size_t size = dtype_size(from->dtype);
    Tensor source = *from, target = *to;
    source.data = (char *)from->data + (size_t)first * size;
    target.data = (char *)to->data + (size_t)at * size;
    source.shape = target.shape = SHAPE(n);
    return n ? tensor_copy_elements(&source, &target) : OK;
}

Status *list_element(const VariantList *list, int64_t i, const Shape *shape, Tensor *out) {
    const Tensor *item = &list->items.p[i];
    if (item->buffer) {
        NEED(shape_compatible(&item->shape, shape), INVALID_ARGUMENT,
             "element %lld of the list has shape %s, expected %s", (long long)i, shape_text(&item->shape),
             shape_text(shape));
        *out = tensor_retain(item);
        return OK;
    }
    NEED(shape_is_known(shape), INVALID_ARGUMENT, "Trying to read an uninitialized tensor but element_shape is not "
         "fully defined: %s and no list element is set.", shape_text(shape));
    Tensor zeros;
    TRY(tensor_new(list->dtype, *shape, &zeros));
    if (dtype_is_plain(list->dtype))
        memset(zeros.data, 0, tensor_bytes(&zeros));
    *out = zeros;
    return OK;
}

Status *list_row(const Tensor *tensor, int64_t first, int64_t n, bool keep_dim, Tensor *out) {
    Shape shape = tensor->shape;
    int64_t row = shape_span(&shape, 1, shape.rank);
    if (keep_dim) {
        shape.dims[0] = n;
    } else {
        memmove(shape.dims, shape.dims + 1, sizeof shape.dims - sizeof *shape.dims);
        shape.dims[MAX_RANK - 1] = 0;
        shape.rank--;
    }
    AUTO(tensor) Tensor copy = {0};
    TRY(tensor_new(tensor->dtype, shape, &copy));
    TRY(list_copy_span(tensor, first * row, &copy, 0, n * row));
    *out = tensor_retain(&copy);
    return OK;
}

Status *list_stack(Kernel *k, int i, const VariantList *list, const Tensor *indices, const Shape *wanted) {
    int64_t n = indices ? tensor_count(indices) : (int64_t)list->items.n;
    Shape element, shape;
    TRY(list_element_shape(list, wanted, &element));
    NEED(shape_is_known(&element), INVALID_ARGUMENT,
         "Tried to stack elements of an empty list with non-fully-defined element_shape: %s", shape_text(&element));
    int64_t dims[MAX_RANK + 1] = {n};
    memcpy(dims + 1, element.dims, (size_t)element.rank * sizeof *dims);
    TRY(shape_make(dims, element.rank + 1, &shape));
    for (int64_t j = 0; j < n; j++) {
        int64_t at = indices ? tensor_int(indices, j) : j;
        TRY(list_check_index(list, at));
        const Tensor *item = &list->items.p[at];
        NEED(!item->buffer || shape_equal(&item->shape, &element), INVALID_ARGUMENT,
             "Tried to stack list which has an element of shape %s with elements of shape %s", shape_text(&item->shape),
             shape_text(&element));
    }
    TRY(kernel_output(k, i, shape));
    int64_t count = shape_count(&element);
    size_t bytes = (size_t)count * dtype_size(list->dtype);
    for (int64_t j = 0; j < n; j++) {
        const Tensor *item = &list->items.p[indices ? tensor_int(indices, j) : j];
        if (item->buffer)
            TRY(list_copy_span(item, 0, k->out[i], j * count, count));
        else if (dtype_is_plain(list->dtype))
            memset((char *)k->out[i]->data + (size_t)j * bytes, 0, bytes);
    }
    return OK;
}
