// Windows — datasets of neighbouring elements, or of those with the same key.
#include "data/stored.h"
#include "ops/data/dataset_op.h"

// ---------------------------------------- neighbours

typedef struct {
    Dataset dataset;
    int64_t size, shift, stride;
    bool drops;
} WindowDataset;

typedef struct {
    Source source;
    Tuples buffer;           // the next elements
    VEC(Status *) failed;    // of each, NULL where it came
    int64_t skips;           // elements to pass over first
    Tensor *element;
    bool ended;
} WindowSource;

static Status *window_fill(Kernel *k, Dataset *dataset) {
    WindowDataset *own = (WindowDataset *)dataset;
    int64_t drops;
    TRY(dataset_int(k, "size", &own->size));
    TRY(dataset_int(k, "shift", &own->shift));
    TRY(dataset_int(k, "stride", &own->stride));
    TRY(dataset_int(k, "drop_remainder", &drops));
    own->drops = drops;
    NEED(own->size > 0, INVALID_ARGUMENT, "Window size must be greater than zero.");
    NEED(own->shift > 0, INVALID_ARGUMENT, "Window shift must be greater than zero.");
    NEED(own->stride > 0, INVALID_ARGUMENT, "Window stride must be greater than zero.");
    int64_t span;
    NEED(!__builtin_mul_overflow(own->size - 1, own->stride, &span) && span < INT64_MAX, INVALID_ARGUMENT,
         "a window of %lld elements, %lld apart", (long long)own->size, (long long)own->stride);
    NEED(dataset->n_components == dataset->inputs[0]->n_components, INVALID_ARGUMENT, "windows of %d components, expected %d",
         dataset->n_components, dataset->inputs[0]->n_components);
    return OK;
}

static int64_t window_span(const WindowDataset *own) {
    return (own->size - 1) * own->stride + 1;
}

static int64_t window_cardinality(const Dataset *dataset) {
    const WindowDataset *own = (const WindowDataset *)dataset;
    int64_t n = dataset_cardinality(dataset->inputs[0]);
    if (n < 0)
        return n;
    if (own->drops)
        return n < window_span(own) ? 0 : (n - window_span(own)) / own->shift + 1;
    return n / own->shift + (n % own->shift != 0);
}

static Status *window_open(Source *source) {
    WindowSource *from = (WindowSource *)source;
    from->buffer.width = source->dataset->n_components;
    from->element = tuple_new(from->buffer.width);
    NEED_MEMORY(from->element);
    return source_open(source->dataset->inputs[0], source->pipeline, source, &source->input);
}

static void forget(WindowSource *from, size_t n) {
    for (size_t i = 0; i < n; i++)
        status_free(from->failed.p[i]);
    from->failed.n -= n;
    if (from->failed.n)
        memmove(from->failed.p, from->failed.p + n, from->failed.n * sizeof *from->failed.p);
    tuples_drop(&from->buffer, n);
}

static void window_close(Source *source) {
    WindowSource *from = (WindowSource *)source;
    forget(from, from->failed.n);
    tuples_clear(&from->buffer);
    vec_clear(&from->failed);
    free(from->element);
}

// Errors of elements that are passed over don't matter.
static Status *skip(WindowSource *from, const Pull *pull, Pulled *how) {
    while (from->skips > 0 && !from->ended) {
        Status *status = source_next(from->source.input, pull, from->element, how);
        Code code = status_code(status);
        if (code == CANCELLED || code == DEADLINE_EXCEEDED || (!status && *how == PULLED_LATER))
            return status;
        from->ended = !status && *how == PULLED_END;
        if (!status && *how == PULLED)
            tuple_clear(from->element, from->buffer.width);
        status_free(status);
        from->skips--;
    }
    from->skips = 0;
    *how = PULLED;
    return OK;
}

static Status *fill_window(WindowSource *from, const Pull *pull, Pulled *how) {
    int64_t span = window_span((const WindowDataset *)from->source.dataset);
    TRY(skip(from, pull, how));
    while (*how != PULLED_LATER && !from->ended && (int64_t)from->failed.n < span) {
        NEED_MEMORY(vec_reserve(&from->failed, from->failed.n + 1));
        Status *status = source_next(from->source.input, pull, from->element, how);
        Code code = status_code(status);
        if (code == CANCELLED || code == DEADLINE_EXCEEDED || (!status && *how == PULLED_LATER))
            return status;
        from->ended = !status && *how == PULLED_END;
        if (from->ended)
            break;
        Status *kept = tuples_push(&from->buffer, from->element);
        if (kept) {
            status_free(status);
            return kept;
        }
        from->failed.p[from->failed.n++] = status;
    }
    return OK;
}

// Component c of every stride-th element.
static Status *window_of(const WindowSource *from, int c, Tensor *out) {
    const Dataset *input = from->source.dataset->inputs[0];
    int64_t stride = ((const WindowDataset *)from->source.dataset)->stride;
    StoredDataset *window;
    TRY(stored_new(1, &input->dtypes[c], &input->shapes[c], &window));
    Status *status = OK;
    for (size_t i = 0; i < from->failed.n && !status; i += (size_t)stride) {
        Tensor element = tensor_retain(&tuples_at(&from->buffer, i)[c]);
        status = tuples_push(&window->elements, &element);
    }
    if (!status)
        return dataset_tensor(&window->dataset, out);
    dataset_release(&window->dataset);
    return status;
}

static Status *windows(const WindowSource *from, Tensor *out) {
    int64_t stride = ((const WindowDataset *)from->source.dataset)->stride;
    for (size_t i = 0; i < from->failed.n; i += (size_t)stride)
        if (from->failed.p[i])
            return status_copy(from->failed.p[i]);
    for (int c = 0; c < from->buffer.width; c++) {
        Status *status = window_of(from, c, &out[c]);
        if (status) {
            tuple_clear(out, c);
            return status;
        }
    }
    return OK;
}

static Status *window_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    WindowSource *from = (WindowSource *)source;
    const WindowDataset *own = (const WindowDataset *)source->dataset;
    *how = PULLED;
    TRY(fill_window(from, pull, how));
    if (*how == PULLED_LATER)
        return OK;
    int64_t n = (int64_t)from->failed.n;
    if (!n || (own->drops && n < window_span(own)))
        return pulled_end(how);
    Status *status = windows(from, out);
    from->skips = own->shift > n ? own->shift - n : 0;
    forget(from, (size_t)(own->shift < n ? own->shift : n));
    *how = PULLED;
    return status;
}

static Status *window_position(Source *source, Position *p) {
    WindowSource *from = (WindowSource *)source;
    TRY(position_tuples(p, &from->buffer, source->dataset->inputs[0]->dtypes, true));
    for (size_t i = 0, n = tuples_count(&from->buffer); i < n; i++) {
        if (p->loads)
            NEED_MEMORY(vec_push(&from->failed, NULL));
        TRY(position_status(p, &from->failed.p[i]));
        NEED(from->failed.p[i] || tuples_at(&from->buffer, i)->dtype != DT_INVALID, DATA_LOSS,
             "the state of a window is damaged");
    }
    TRY(position_int(p, &from->skips, 0, INT64_MAX));
    TRY(position_bool(p, &from->ended));
    return position_source(p, source->input);
}

static const DatasetType window_type = {
    .name = "Window", .size = sizeof(WindowDataset), .source_size = sizeof(WindowSource), .n_inputs = 1, .fill = window_fill,
    .cardinality = window_cardinality, .open = window_open, .next = window_next, .close = window_close,
    .position = window_position,
};

const Op op_WindowDataset = {
    .signature = "WindowDataset(input_dataset: variant, size: int64, shift: int64, stride: int64, drop_remainder: bool) -> "
                 "handle: variant; " ELEMENTS METADATA,
    .doc = "A dataset of windows, datasets of size elements each, stride apart, the next window shift further.",
    .needs = "scalar(size), scalar(shift), scalar(stride), scalar(drop_remainder)", MAKES(window_type),
};

// ---------------------------------------- by key

typedef struct {
    Dataset dataset;
    DatasetFunction key, size;
} GroupDataset;

typedef struct {
    int64_t key, size;
    Tuples elements;
} Group;

typedef struct {
    Source source;
    Tensor *element;
    VEC(Group) groups;       // in the order of keys; one that was flushed keeps its size
    Source *inner;           // what became of a group,
    Tensor made_of[2];       // that is this: key and window
    bool ended;
} GroupSource;

static Status *group_fill(Kernel *k, Dataset *dataset) {
    GroupDataset *own = (GroupDataset *)dataset;
    TRY(dataset_read_function(k, dataset, "key_func", "key_func_other_arguments", &own->key));
    TRY(dataset_read_function(k, dataset, "reduce_func", "reduce_func_other_arguments", &dataset->function));
    return dataset_read_function(k, dataset, "window_size_func", "window_size_func_other_arguments", &own->size);
}

static int64_t group_cardinality(const Dataset *dataset) {
    return dataset_cardinality(dataset->inputs[0]) == 0 ? 0 : CARDINALITY_UNKNOWN;
}

static Status *group_open(Source *source) {
    GroupSource *from = (GroupSource *)source;
    from->element = tuple_new(source->dataset->inputs[0]->n_components);
    NEED_MEMORY(from->element);
    return source_open(source->dataset->inputs[0], source->pipeline, source, &source->input);
}

static void group_close(Source *source) {
    GroupSource *from = (GroupSource *)source;
    source_close(from->inner);
    tuple_clear(from->made_of, 2);
    for (size_t i = 0; i < from->groups.n; i++)
        tuples_clear(&from->groups.p[i].elements);
    vec_clear(&from->groups);
    free(from->element);
}

static Status *key_tensor(int64_t key, Tensor *out) {
    TRY(tensor_new(DT_int64, SCALAR_SHAPE, out));
    *(int64_t *)out->data = key;
    return OK;
}

// The group of that key, made where there is none: then the function says how large it may get.
static Status *find_group(GroupSource *from, const Pull *pull, int64_t key, Group **out) {
    size_t first = 0, last = from->groups.n;
    while (first < last) {
        size_t middle = first + (last - first) / 2;
        if (from->groups.p[middle].key < key)
            first = middle + 1;
        else
            last = middle;
    }
    if (first == from->groups.n || from->groups.p[first].key != key) {
        AUTO(tensor) Tensor value = {0};
        int64_t size;
        TRY(key_tensor(key, &value));
        TRY(source_call_scalar(&from->source, pull, &((const GroupDataset *)from->source.dataset)->size, &value, 1, DT_int64,
                               &size));
        NEED(size > 0, INVALID_ARGUMENT, "Window size must be greater than zero, but got %lld.", (long long)size);
        NEED_MEMORY(vec_reserve(&from->groups, from->groups.n + 1));
        memmove(from->groups.p + first + 1, from->groups.p + first, (from->groups.n - first) * sizeof *from->groups.p);
        from->groups.p[first] = (Group){.key = key, .size = size,
                                        .elements.width = from->source.dataset->inputs[0]->n_components};
        from->groups.n++;
    }
    *out = &from->groups.p[first];
    return OK;
}

// Opens what the function makes of the group's elements, which are gone then.
static Status *flush(GroupSource *from, const Pull *pull, Group *group) {
    const Dataset *input = from->source.dataset->inputs[0];
    StoredDataset *window;
    Tensor *arguments = from->made_of;
    tuple_clear(arguments, 2);
    TRY(stored_new(input->n_components, input->dtypes, input->shapes, &window));
    window->elements = group->elements;
    group->elements = (Tuples){.width = input->n_components};
    Status *status = dataset_tensor(&window->dataset, &arguments[1]);
    if (!status)
        status = key_tensor(group->key, &arguments[0]);
    if (!status)
        status = source_call_open(&from->source, pull, &from->source.dataset->function, arguments, 2, &from->inner);
    return status;
}

// Elements into their groups, until one is full.
static Status *gather(GroupSource *from, const Pull *pull, Pulled *how) {
    const GroupDataset *own = (const GroupDataset *)from->source.dataset;
    int n = own->dataset.inputs[0]->n_components;
    *how = PULLED;
    while (!from->ended && !from->inner) {
        TRY_NEXT(from->source.input, pull, from->element, how);
        from->ended = *how == PULLED_END;
        if (from->ended)
            break;
        int64_t key;
        Group *group = NULL;
        Status *status = source_call_scalar(&from->source, pull, &own->key, from->element, n, DT_int64, &key);
        if (!status)
            status = find_group(from, pull, key, &group);
        if (status) {
            tuple_clear(from->element, n);
            return status;
        }
        TRY(tuples_push(&group->elements, from->element));
        if ((int64_t)tuples_count(&group->elements) == group->size)
            TRY(flush(from, pull, group));
    }
    return OK;
}

static Status *group_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    GroupSource *from = (GroupSource *)source;
    for (;;) {
        if (from->inner) {
            TRY_NEXT(from->inner, pull, out, how);
            if (*how == PULLED)
                return OK;
            source_close(from->inner);
            from->inner = NULL;
        }
        TRY(gather(from, pull, how));
        if (*how == PULLED_LATER)
            return OK;
        for (size_t i = 0; i < from->groups.n && from->ended && !from->inner; i++)
            if (tuples_count(&from->groups.p[i].elements))
                TRY(flush(from, pull, &from->groups.p[i]));
        if (!from->inner)
            return pulled_end(how);
    }
}

static Status *position_group(const GroupSource *from, Position *p, Group *group) {
    const Dataset *input = from->source.dataset->inputs[0];
    group->elements.width = input->n_components;
    TRY(position_int(p, &group->key, INT64_MIN, INT64_MAX));
    TRY(position_int(p, &group->size, 1, INT64_MAX));
    return position_tuples(p, &group->elements, input->dtypes, false);
}

static Status *group_position(Source *source, Position *p) {
    static const DType made_of[] = {DT_int64, DT_variant};
    GroupSource *from = (GroupSource *)source;
    int64_t n = (int64_t)from->groups.n;
    TRY(position_source(p, source->input));
    TRY(position_bool(p, &from->ended));
    TRY(position_int(p, &n, 0, p->loads ? (int64_t)cursor_left(&p->in) : INT64_MAX));
    for (int64_t i = 0; i < n; i++) {
        if (p->loads)
            NEED_MEMORY(vec_push(&from->groups, ((Group){0})));
        TRY(position_group(from, p, &from->groups.p[i]));
    }
    return position_made(p, source, &source->dataset->function, from->made_of, 2, made_of, &from->inner);
}

static const DatasetType group_type = {
    .name = "GroupByWindow", .size = sizeof(GroupDataset), .source_size = sizeof(GroupSource), .n_inputs = 1,
    .fill = group_fill, .cardinality = group_cardinality, .open = group_open, .next = group_next, .close = group_close,
    .position = group_position,
};

const Op op_GroupByWindowDataset = {
    .signature = "GroupByWindowDataset(input_dataset: variant, key_func_other_arguments: Tkey_func_other_arguments, "
                 "reduce_func_other_arguments: Treduce_func_other_arguments, "
                 "window_size_func_other_arguments: Twindow_size_func_other_arguments) -> handle: variant; key_func: func; "
                 "reduce_func: func; window_size_func: func; Tkey_func_other_arguments: list(type) >= 0; "
                 "Treduce_func_other_arguments: list(type) >= 0; Twindow_size_func_other_arguments: list(type) >= 0; " ELEMENTS
                 METADATA,
    .doc = "A dataset of what reduce_func makes of elements with one key, window_size_func many at a time.",
    .keeps = BIT(1) | BIT(2) | BIT(3), MAKES(group_type),
};
