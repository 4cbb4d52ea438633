// Lists — the ops of tensor lists: making, pushing, popping, items, stacking and taking apart.
//
// A list that only its kernel holds is changed in place (list_change), any other is copied first. So a loop that pushes
// n items takes n pushes and not n copies of a growing list.
#include "ops/flow/list.h"

// ---------------------------------------- shape functions

static Status *item_shape(Shapes *s, int shape_input, int output) {
    return list_known_shape(s, shape_input, &s->out[output]);
}

static Status *pop_shape(Shapes *s) {
    s->out[0] = SCALAR_SHAPE;
    return item_shape(s, 1, 1);
}

static Status *get_shape(Shapes *s) {
    return item_shape(s, 2, 0);
}

// [n] in front of the element's shape.
static Status *rows_of(int64_t n, const Shape *element, Shape *out) {
    if (element->rank < 0)
        return OK;
    int64_t dims[MAX_RANK + 1] = {n};
    memcpy(dims + 1, element->dims, (size_t)element->rank * sizeof *dims);
    return shape_make(dims, element->rank + 1, out);
}

static Status *stack_shape(Shapes *s) {
    Shape element;
    TRY(list_known_shape(s, 1, &element));
    int64_t n = node_int(s->node, "num_elements");
    return rows_of(n < 0 ? UNKNOWN_DIM : n, &element, &s->out[0]);
}

static Status *gather_shape(Shapes *s) {
    Shape element;
    TRY(list_known_shape(s, 2, &element));
    return rows_of(s->in[1].rank == 1 ? s->in[1].dims[0] : UNKNOWN_DIM, &element, &s->out[0]);
}

// The rows of `tensor` must fit the element shape in the input after it.
static Status *from_shape(Shapes *s) {
    Shape element, rows = UNKNOWN_SHAPE, merged;
    int input = s->n_in == 2 ? 1 : 2;
    TRY(list_known_shape(s, input, &element));
    TRY(rows_of(UNKNOWN_DIM, &element, &rows));
    TRY(shape_merge(&s->in[0], &rows, &merged));
    s->out[0] = SCALAR_SHAPE;
    return OK;
}

static Status *concat_shape(Shapes *s) {
    s->out[1] = SHAPE(UNKNOWN_DIM);
    return OK;
}

static Status *element_shape_shape(Shapes *s) {
    (void)s;
    return OK;
}

// ---------------------------------------- making

static Status *empty_run(Kernel *k) {
    Shape shape;
    VariantList *list;
    TRY(list_read_shape(k->in[0], &shape));
    TRY(list_make(k, 0, ((const ListOwn *)k->own)->dtype, &shape, &list));
    list->most = tensor_int(k->in[1], 0);
    return OK;
}

static Status *reserve_run(Kernel *k) {
    Shape shape;
    VariantList *list;
    int64_t n = tensor_int(k->in[1], 0);
    NEED(n >= 0, INVALID_ARGUMENT, "The num_elements to reserve must be a non negative number, but got %lld",
         (long long)n);
    TRY(list_read_shape(k->in[0], &shape));
    TRY(list_make(k, 0, ((const ListOwn *)k->own)->dtype, &shape, &list));
    return list_resize(list, n);
}

static Status *from_run(Kernel *k) {
    const Tensor *tensor = k->in[0];
    Shape shape;
    VariantList *list;
    TRY(list_read_shape(k->in[1], &shape));
    TRY(list_make(k, 0, tensor->dtype, &shape, &list));
    for (int64_t i = 0; i < tensor->shape.dims[0]; i++) {
        Tensor row;
        TRY(list_row(tensor, i, 1, false, &row));
        Status *status = list_check_item(list, &row, "put");
        if (status) {
            tensor_clear(&row);
            return status;
        }
        TRY(list_push(list, row));
    }
    return OK;
}

static Status *split_run(Kernel *k) {
    const Tensor *tensor = k->in[0], *lengths = k->in[2];
    Shape shape;
    VariantList *list;
    TRY(list_read_shape(k->in[1], &shape));
    TRY(list_make(k, 0, tensor->dtype, &shape, &list));
    int64_t at = 0, rows = tensor->shape.dims[0];
    for (int64_t i = 0; i < tensor_count(lengths); i++) {
        int64_t n = tensor_int(lengths, i);
        NEED(n >= 0 && n <= rows - at, INVALID_ARGUMENT,
             "Attempting to slice %lld rows at %lld from tensor with length %lld", (long long)n, (long long)at,
             (long long)rows);
        Tensor part;
        TRY(list_row(tensor, at, n, true, &part));
        TRY(list_push(list, part));
        at += n;
    }
    NEED(at == rows, INVALID_ARGUMENT, "Unused values in tensor. Length of tensor: %lld Values used: %lld",
         (long long)rows, (long long)at);
    return OK;
}

// ---------------------------------------- pushing and popping

static Status *push_run(Kernel *k) {
    VariantList *list;
    TRY(list_change(k, 0, &list));
    TRY(list_check_item(list, k->in[1], "append"));
    NEED(list->most < 0 || (int64_t)list->items.n < list->most, INVALID_ARGUMENT,
         "Tried to push item into a full list. List size: %zu max_num_elements: %lld", list->items.n,
         (long long)list->most);
    Tensor item;
    TRY(kernel_keep(k, 1, &item));
    return list_push(list, item);
}

// A vector of lists, each of which gets the row of its number.
static Status *push_batch_run(Kernel *k) {
    const Tensor *lists = k->in[0], *rows = k->in[1];
    int64_t n = tensor_count(lists);
    NEED(rows->shape.dims[0] == n, INVALID_ARGUMENT, "%lld lists, but %lld rows", (long long)n, (long long)rows->shape.dims[0]);
    for (int64_t i = 0; i < n; i++) {
        const VariantList *from;
        VariantList *list;
        Tensor row;
        TRY(list_of(k, ((Object *const *)lists->data)[i], &from));
        TRY(list_copy(from, from->items.n + 1, &list));
        Object **at = (Object **)k->out[0]->data + i;
        object_release(*at);
        *at = &list->object;
        TRY(list_row(rows, i, 1, false, &row));
        Status *status = list_check_item(list, &row, "append");
        if (status)
            tensor_clear(&row);
        TRY(status);
        TRY(list_push(list, row));
    }
    return OK;
}

static Status *push_batch_shape(Shapes *s) {
    const Shape *lists = &s->in[0], *rows = &s->in[1];
    NEED(lists->rank != 1 || rows->rank < 1 || lists->dims[0] < 0 || rows->dims[0] < 0 || lists->dims[0] == rows->dims[0],
         INVALID_ARGUMENT, "Dimension 0 in both shapes must be equal, but are %s and %s", shape_text(lists), shape_text(rows));
    s->out[0] = *lists;
    return OK;
}

static Status *pop_run(Kernel *k) {
    const VariantList *from;
    Shape wanted, shape;
    TRY(list_get(k, 0, &from));
    NEED(from->items.n, INVALID_ARGUMENT, "Trying to pop from an empty list.");
    TRY(list_read_shape(k->in[1], &wanted));
    size_t last = from->items.n - 1;
    if (from->items.p[last].buffer)
        TRY(shape_merge(&wanted, &from->element_shape, &shape));
    else
        TRY(list_element_shape(from, &wanted, &shape));
    Tensor item;
    TRY(list_element(from, (int64_t)last, &shape, &item));
    kernel_set_output(k, 1, item);
    VariantList *list;
    TRY(list_change(k, 0, &list));
    return list_resize(list, (int64_t)last);
}

// ---------------------------------------- items

static Status *length_run(Kernel *k) {
    const VariantList *list;
    TRY(list_get(k, 0, &list));
    *(int32_t *)k->out[0]->data = (int32_t)list->items.n;
    return OK;
}

static Status *element_shape_run(Kernel *k) {
    const VariantList *list;
    TRY(list_get(k, 0, &list));
    const Shape *shape = &list->element_shape;
    TRY(kernel_output(k, 0, shape->rank < 0 ? SCALAR_SHAPE : SHAPE(shape->rank)));
    bool wide = k->out[0]->dtype == DT_int64;
    for (int i = 0; i < (shape->rank < 0 ? 1 : shape->rank); i++) {
        int64_t value = shape->rank < 0 ? -1 : shape->dims[i];
        if (wide)
            ((int64_t *)k->out[0]->data)[i] = value;
        else
            ((int32_t *)k->out[0]->data)[i] = (int32_t)value;
    }
    return OK;
}

static Status *get_run(Kernel *k) {
    const VariantList *list;
    Shape wanted, shape;
    TRY(list_get(k, 0, &list));
    int64_t at = tensor_int(k->in[1], 0);
    TRY(list_check_index(list, at));
    TRY(list_read_shape(k->in[2], &wanted));
    if (list->items.p[at].buffer)
        TRY(shape_merge(&wanted, &list->element_shape, &shape));
    else
        TRY(list_element_shape(list, &wanted, &shape));
    Tensor item;
    TRY(list_element(list, at, &shape, &item));
    kernel_set_output(k, 0, item);
    return OK;
}

static Status *set_run(Kernel *k) {
    VariantList *list;
    TRY(list_change(k, 0, &list));
    int64_t at = tensor_int(k->in[1], 0);
    if (((const ListOwn *)k->own)->grows && at >= (int64_t)list->items.n)
        TRY(list_resize(list, at + 1));
    TRY(list_check_index(list, at));
    TRY(list_check_item(list, k->in[2], "set"));
    Tensor item;
    TRY(kernel_keep(k, 2, &item));
    tensor_clear(&list->items.p[at]);
    list->items.p[at] = item;
    return OK;
}

static Status *resize_run(Kernel *k) {
    VariantList *list;
    int64_t n = tensor_int(k->in[1], 0);
    NEED(n >= 0, INVALID_ARGUMENT, "TensorListSlice expects size to be non-negative. Got: %lld", (long long)n);
    TRY(list_change(k, 0, &list));
    return list_resize(list, n);
}

static Status *concat_lists_run(Kernel *k) {
    const VariantList *more;
    VariantList *list;
    TRY(list_get(k, 1, &more));
    TRY(list_change(k, more->items.n, &list));
    for (size_t i = 0, n = more->items.n; i < n; i++)
        TRY(list_push(list, tensor_retain(&more->items.p[i])));
    return OK;
}

// ---------------------------------------- stacking and scattering

static Status *stack_run(Kernel *k) {
    const VariantList *list;
    Shape wanted;
    TRY(list_get(k, 0, &list));
    int64_t count = ((const ListOwn *)k->own)->count;
    NEED(count < 0 || count == (int64_t)list->items.n, INVALID_ARGUMENT,
         "Operation expected a list with %lld elements but got a list with %zu elements.", (long long)count,
         list->items.n);
    TRY(list_read_shape(k->in[1], &wanted));
    return list_stack(k, 0, list, NULL, &wanted);
}

static Status *gather_run(Kernel *k) {
    const VariantList *list;
    Shape wanted;
    TRY(list_get(k, 0, &list));
    TRY(list_read_shape(k->in[2], &wanted));
    return list_stack(k, 0, list, k->in[1], &wanted);
}

// Row i of the tensor goes to element indices[i]; the list grows as needed.
static Status *scatter_into(VariantList *list, const Tensor *tensor, const Tensor *indices, bool grows) {
    NEED(tensor->shape.dims[0] == tensor_count(indices), INVALID_ARGUMENT,
         "Invalid number of rows in input tensor. Expected: %lld Actual: %lld", (long long)tensor_count(indices),
         (long long)tensor->shape.dims[0]);
    for (int64_t i = 0; i < tensor_count(indices); i++) {
        int64_t at = tensor_int(indices, i);
        NEED(at >= 0, INVALID_ARGUMENT, "Indices in TensorListScatter must all be non-negative.");
        if (grows && at >= (int64_t)list->items.n)
            TRY(list_resize(list, at + 1));
        TRY(list_check_index(list, at));
        Tensor row;
        TRY(list_row(tensor, i, 1, false, &row));
        Status *status = list_check_item(list, &row, "scatter");
        tensor_clear(&list->items.p[at]);
        list->items.p[at] = row;
        TRY(status);
    }
    return OK;
}

static Status *scatter_run(Kernel *k) {
    Shape shape;
    VariantList *list;
    TRY(list_read_shape(k->in[2], &shape));
    TRY(list_make(k, 0, k->in[0]->dtype, &shape, &list));
    int64_t n = k->n_in > 3 ? tensor_int(k->in[3], 0) : -1;
    NEED(n >= -1, INVALID_ARGUMENT, "TensorListScatter expects num_elements >= -1, found: %lld", (long long)n);
    if (n >= 0)
        TRY(list_resize(list, n));
    return scatter_into(list, k->in[0], k->in[1], n < 0);
}

static Status *scatter_existing_run(Kernel *k) {
    VariantList *list;
    TRY(list_change(k, 0, &list));
    return scatter_into(list, k->in[1], k->in[2], true);
}

// Elements one behind the other along their first dimension.
static Status *concat_run_of(Kernel *k, const VariantList *list, const Shape *wanted, const Tensor *leading) {
    AUTO(arena) Arena arena = {0};
    int64_t n = (int64_t)list->items.n, rows = 0;
    int64_t *lengths = ARENA_ARRAY(&arena, int64_t, n);
    NEED_MEMORY(lengths);
    Shape element = *wanted;
    TRY(shape_merge(&element, &list->element_shape, &element));
    NEED(element.rank != 0, INVALID_ARGUMENT, "Concat saw a scalar shape but requires non-scalar shapes");
    for (int64_t i = 0; i < n; i++) {
        Shape rest = list->items.p[i].shape;
        if (!list->items.p[i].buffer)
            continue;
        NEED(rest.rank > 0, INVALID_ARGUMENT, "Concat saw a scalar shape at index %lld but requires non-scalar shapes",
             (long long)i);
        lengths[i] = rest.dims[0];
        rest.dims[0] = UNKNOWN_DIM;
        if (element.rank > 0)
            element.dims[0] = UNKNOWN_DIM;
        TRY(shape_merge(&element, &rest, &element));
    }
    for (int64_t i = 0; i < n; i++) {
        if (!list->items.p[i].buffer) {
            bool told = leading && i < tensor_count(leading);
            NEED(told || wanted->rank > 0, INVALID_ARGUMENT, "the length of element %lld is not known", (long long)i);
            lengths[i] = told ? tensor_int(leading, i) : wanted->dims[0];
            NEED(lengths[i] >= 0, INVALID_ARGUMENT, "the length of element %lld is not known", (long long)i);
        }
        NEED(add_i64(rows, lengths[i], &rows), INVALID_ARGUMENT, "the list is too long");
    }
    if (element.rank > 0)
        element.dims[0] = rows;
    NEED(shape_is_known(&element), INVALID_ARGUMENT,
         "All except the first dimension must be fully defined when concating an empty tensor list. element_shape: %s",
         shape_text(&element));
    TRY(shape_check(&element));
    TRY(kernel_output(k, 0, element));
    TRY(kernel_output(k, 1, SHAPE(n)));
    int64_t row = shape_span(&element, 1, element.rank), at = 0;
    size_t size = dtype_size(list->dtype);
    for (int64_t i = 0; i < n; i++) {
        ((int64_t *)k->out[1]->data)[i] = lengths[i];
        if (list->items.p[i].buffer)
            TRY(list_copy_span(&list->items.p[i], 0, k->out[0], at, lengths[i] * row));
        else if (dtype_is_plain(list->dtype))
            memset((char *)k->out[0]->data + (size_t)at * size, 0, (size_t)(lengths[i] * row) * size);
        at += lengths[i] * row;
    }
    return OK;
}

static Status *concat_run(Kernel *k) {
    const VariantList *list;
    TRY(list_get(k, 0, &list));
    Shape wanted = ((const ListOwn *)k->own)->shape;
    if (k->n_in > 1)
        TRY(list_read_shape(k->in[1], &wanted));
    return concat_run_of(k, list, &wanted, k->n_in > 2 ? k->in[2] : NULL);
}

// ---------------------------------------- gradients

#define ELEMENTS(f) TYPE_ATTR("element_dtype", node_type((f)->node, "element_dtype"))
#define SHAPES_INT32 TYPE_ATTR("shape_type", DT_int32)

static Output element_shape_of(Formula *f, Output list) {
    return OpWith("TensorListElementShape", ATTRS(SHAPES_INT32), list);
}

// A list as long as the input, with nothing in it.
static Output reserve_like(Formula *f, Output list) {
    return OpWith("TensorListReserve", ATTRS(ELEMENTS(f)), element_shape_of(f, list), Op("TensorListLength", list));
}

static void push_grad(Formula *f) {
    Output popped = OpWith("TensorListPopBack", ATTRS(ELEMENTS(f)), f->dy[0], ShapeOf(f->x[1]));
    f->dx[0] = popped;
    f->dx[1] = At(popped, 1);
}

static void pop_grad(Formula *f) {
    Output list = f->dy[0];
    if (formula_is_zero(list))
        list = OpWith("EmptyTensorList", ATTRS(ELEMENTS(f)), element_shape_of(f, f->y[0]), Int(-1));
    Output item = formula_is_zero(f->dy[1]) ? ZerosLike(f->y[1]) : f->dy[1];
    f->dx[0] = OpWith("TensorListPushBack", ATTRS(ELEMENTS(f)), list, item);
}

static void stack_grad(Formula *f) {
    Output rows = Slice(ShapeOf(f->dy[0]), Ints(1), Ints(-1));
    f->dx[0] = OpWith("TensorListFromTensor", ATTRS(ELEMENTS(f)), f->dy[0], rows);
}

static void from_grad(Formula *f) {
    if (formula_is_zero(f->dy[0]))
        return;
    Output rows = Slice(ShapeOf(f->x[0]), Ints(1), Ints(-1));
    f->dx[0] = OpWith("TensorListStack", ATTRS(ELEMENTS(f)), f->dy[0], rows);
}

static void get_grad(Formula *f) {
    f->dx[0] = OpWith("TensorListSetItem", ATTRS(ELEMENTS(f)), reserve_like(f, f->x[0]), f->x[1], f->dy[0]);
}

static void set_grad(Formula *f) {
    f->dx[0] = OpWith("TensorListSetItem", ATTRS(ELEMENTS(f)), f->dy[0], f->x[1], ZerosLike(f->x[2]));
    f->dx[2] = OpWith("TensorListGetItem", ATTRS(ELEMENTS(f)), f->dy[0], f->x[1], ShapeOf(f->x[2]));
}

static void resize_grad(Formula *f) {
    f->dx[0] = Op("TensorListResize", f->dy[0], Op("TensorListLength", f->x[0]));
}

static void gather_grad(Formula *f) {
    f->dx[0] = OpWith("TensorListScatterV2", ATTRS(ELEMENTS(f)), f->dy[0], f->x[1], element_shape_of(f, f->x[0]),
                      Op("TensorListLength", f->x[0]));
}

static void scatter_grad(Formula *f) {
    Output rows = Slice(ShapeOf(f->x[0]), Ints(1), Ints(-1));
    f->dx[0] = OpWith("TensorListGather", ATTRS(ELEMENTS(f)), f->dy[0], f->x[1], rows);
}

static void scatter_existing_grad(Formula *f) {
    Output rows = Slice(ShapeOf(f->x[1]), Ints(1), Ints(-1));
    f->dx[0] = OpWith("TensorListScatterIntoExistingList", ATTRS(ELEMENTS(f)), f->dy[0], ZerosLike(f->x[1]), f->x[2]);
    f->dx[1] = OpWith("TensorListGather", ATTRS(ELEMENTS(f)), f->dy[0], f->x[2], rows);
}

static void concat_grad(Formula *f) {
    f->dx[0] = OpWith("TensorListSplit", ATTRS(ELEMENTS(f)), f->dy[0], element_shape_of(f, f->x[0]), f->y[1]);
}

static void split_grad(Formula *f) {
    f->dx[0] = OpWith("TensorListConcatV2", ATTRS(ELEMENTS(f)), f->dy[0], f->x[1], f->x[2]);
}

// ---------------------------------------- schemas

#define ONE_TYPE "; element_dtype: type"
#define SHAPE_TYPE ONE_TYPE "; shape_type: {int32, int64}"
#define LIST_OP(Name, arguments, text, shape_fn, run, ...)                                                       \
    const Op op_##Name = {                                                                                       \
        .signature = #Name arguments, .doc = text, .shape = shape_fn, .prepare = list_prepare,                    \
        .own_size = sizeof(ListOwn), .cpu = ANY_TYPE(run), __VA_ARGS__                                           \
    };
#define LIST_IN "scalar(input_handle)"
#define MAKES shape_scalar

LIST_OP(EmptyTensorList, "(element_shape: shape_type, max_num_elements: int32) -> handle: variant" SHAPE_TYPE,
        "A list without elements.", MAKES, empty_run, .needs =
        "scalar_or_vector(element_shape), scalar(max_num_elements)",
        .host = BIT(0) | BIT(1), .flags = OP_NO_GRADIENT)
LIST_OP(TensorListReserve, "(element_shape: shape_type, num_elements: int32) -> handle: variant" SHAPE_TYPE,
        "A list of elements that are not set yet.", MAKES, reserve_run,
        .needs = "scalar_or_vector(element_shape), scalar(num_elements)", .host = BIT(0) | BIT(1),
        .flags = OP_NO_GRADIENT)
LIST_OP(TensorListFromTensor, "(tensor: element_dtype, element_shape: shape_type) -> output_handle: variant" SHAPE_TYPE,
        "The rows of a tensor as a list.", from_shape, from_run,
        .needs = "rank(tensor) >= 1, scalar_or_vector(element_shape)", .grad = from_grad, .host = BIT(1))
LIST_OP(TensorListSplit,
        "(tensor: element_dtype, element_shape: shape_type, lengths: int64) -> output_handle: variant" SHAPE_TYPE,
        "A tensor cut along its first dimension into a list.", MAKES, split_run,
        .needs = "rank(tensor) >= 1, vector(lengths), scalar_or_vector(element_shape)", .grad = split_grad,
        .host = BIT(1) | BIT(2))
LIST_OP(TensorListPushBack, "(input_handle: variant, tensor: element_dtype) -> output_handle: variant" ONE_TYPE,
        "The list with one more element.", MAKES, push_run, .needs = LIST_IN, .grad = push_grad, .inplace = BIT(0),
        .keeps = BIT(1))
LIST_OP(TensorListPushBackBatch, "(input_handles: variant, tensor: element_dtype) -> output_handles: variant" ONE_TYPE,
        "A vector of lists, each with one more element: the row of its number.", push_batch_shape, push_batch_run,
        .needs = "vector(input_handles), rank(tensor) >= 1", .flags = OP_NO_GRADIENT)
LIST_OP(TensorListPopBack,
        "(input_handle: variant, element_shape: int32) -> output_handle: variant, tensor: element_dtype" ONE_TYPE,
        "The list without its last element, and that.", pop_shape, pop_run, .needs = LIST_IN, .grad = pop_grad,
        .inplace = BIT(0), .host = BIT(1), .flags = OP_DYNAMIC_SHAPE | OP_TAKES_BACK)
LIST_OP(TensorListLength, "(input_handle: variant) -> length: int32", "The number of elements.", shape_scalar,
        length_run, .needs = LIST_IN, .host_out = BIT(0), .flags = OP_NO_GRADIENT)
LIST_OP(TensorListElementShape, "(input_handle: variant) -> element_shape: shape_type; shape_type: {int32, int64}",
        "The shape that all elements fit; -1 for what is open.", element_shape_shape, element_shape_run,
        .needs = LIST_IN, .host_out = BIT(0), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT)
LIST_OP(TensorListGetItem,
        "(input_handle: variant, index: int32, element_shape: Tshape) -> item: element_dtype; element_dtype: type; "
        "Tshape: {int32, int64} = int32",
        "One element.", get_shape, get_run, .needs = LIST_IN ", scalar(index)", .grad = get_grad,
        .host = BIT(1) | BIT(2), .flags = OP_DYNAMIC_SHAPE)
LIST_OP(TensorListSetItem,
        "(input_handle: variant, index: int32, item: element_dtype) -> output_handle: variant" ONE_TYPE
        "; resize_if_index_out_of_bounds: bool = false",
        "The list with another element in one place.", MAKES, set_run, .needs = LIST_IN ", scalar(index)",
        .grad = set_grad, .inplace = BIT(0), .host = BIT(1), .keeps = BIT(2))
LIST_OP(TensorListResize, "(input_handle: variant, size: int32) -> output_handle: variant",
        "The list cut or filled to that many elements.", MAKES, resize_run, .needs = LIST_IN ", scalar(size)",
        .grad = resize_grad, .inplace = BIT(0), .host = BIT(1))
LIST_OP(TensorListConcatLists, "(input_a: variant, input_b: variant) -> output: variant" ONE_TYPE,
        "The elements of one list and then of the other.", MAKES, concat_lists_run,
        .needs = "scalar(input_a), scalar(input_b)", .inplace = BIT(0))
LIST_OP(TensorListStack,
        "(input_handle: variant, element_shape: int32) -> tensor: element_dtype" ONE_TYPE "; num_elements: int = -1",
        "The elements, stacked.", stack_shape, stack_run, .needs = LIST_IN, .grad = stack_grad, .host = BIT(1),
        .flags = OP_DYNAMIC_SHAPE)
LIST_OP(TensorListGather,
        "(input_handle: variant, indices: int32, element_shape: int32) -> values: element_dtype" ONE_TYPE,
        "Some elements, stacked.", gather_shape, gather_run, .needs = LIST_IN ", vector(indices)", .grad = gather_grad,
        .host = BIT(2), .flags = OP_DYNAMIC_SHAPE)
LIST_OP(TensorListScatter,
        "(tensor: element_dtype, indices: int32, element_shape: shape_type) -> output_handle: variant" SHAPE_TYPE,
        "A list whose elements are the rows of a tensor, in the places that are told.", from_shape, scatter_run,
        .needs = "rank(tensor) >= 1, vector(indices)", .grad = scatter_grad, .host = BIT(2))
LIST_OP(TensorListScatterV2,
        "(tensor: element_dtype, indices: int32, element_shape: shape_type, num_elements: int32) -> "
        "output_handle: variant" SHAPE_TYPE,
        "A list whose elements are the rows of a tensor, in the places that are told.", from_shape, scatter_run,
        .needs = "rank(tensor) >= 1, vector(indices), scalar(num_elements)", .grad = scatter_grad,
        .host = BIT(2) | BIT(3))
LIST_OP(TensorListScatterIntoExistingList,
        "(input_handle: variant, tensor: element_dtype, indices: int32) -> output_handle: variant" ONE_TYPE,
        "The list with rows of a tensor in some places.", MAKES, scatter_existing_run,
        .needs = LIST_IN ", rank(tensor) >= 1, vector(indices)", .grad = scatter_existing_grad, .inplace = BIT(0))
LIST_OP(TensorListConcat,
        "(input_handle: variant) -> tensor: element_dtype, lengths: int64" ONE_TYPE "; element_shape: shape = ?",
        "The elements, one behind the other along their first dimension.", concat_shape, concat_run, .needs = LIST_IN,
        .grad = concat_grad, .flags = OP_DYNAMIC_SHAPE)
LIST_OP(TensorListConcatV2,
        "(input_handle: variant, element_shape: shape_type, leading_dims: int64) -> tensor: element_dtype, "
        "lengths: int64" SHAPE_TYPE,
        "The elements, one behind the other along their first dimension.", concat_shape, concat_run,
        .needs = LIST_IN ", vector(leading_dims)", .grad = concat_grad, .host = BIT(1) | BIT(2), .flags = OP_DYNAMIC_SHAPE)
