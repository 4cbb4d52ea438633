// Position — see position.h.
#include "data/position.h"

#include "data/stored.h"
#include "proto/tensor_proto.h"

enum { DEPTH_MOST = 16 };  // of windows of windows

static Status *damaged(const char *what) {
    FAIL(DATA_LOSS, "the state of the iterator is damaged: %s", what);
}

// ---- words

static Status *put_number(Position *p, uint64_t value) {
    for (; value >= 128; value >>= 7)
        text_char(p->out, (char)(value | 128));
    text_char(p->out, (char)value);
    NEED_MEMORY(!p->out->failed);
    return OK;
}

static Status *get_number(Position *p, uint64_t *out) {
    return cursor_varint(&p->in, out) ? OK : damaged("it ends too early");
}

static Status *put_text(Position *p, Str text) {
    TRY(put_number(p, text.n));
    text_add(p->out, text);
    NEED_MEMORY(!p->out->failed);
    return OK;
}

static Status *get_text(Position *p, Str *out) {
    return cursor_prefixed(&p->in, out) ? OK : damaged("it ends too early");
}

Status *position_int(Position *p, int64_t *value, int64_t least, int64_t most) {
    uint64_t found;
    if (!p->loads)
        return put_number(p, ((uint64_t)*value << 1) ^ (uint64_t)(*value >> 63));  // small ones short, whatever the sign
    TRY(get_number(p, &found));
    int64_t number = (int64_t)(found >> 1) ^ -(int64_t)(found & 1);
    if (number < least || number > most)
        return damaged("a number is out of range");
    *value = number;
    return OK;
}

Status *position_bool(Position *p, bool *value) {
    int64_t number = *value;
    TRY(position_int(p, &number, 0, 1));
    *value = number;
    return OK;
}

Status *position_bytes(Position *p, void *bytes, size_t n) {
    Str found;
    if (!p->loads)
        return put_text(p, (Str){bytes, n});
    TRY(get_text(p, &found));
    if (found.n != n)
        return damaged("bytes are missing");
    memcpy(bytes, found.p, n);
    return OK;
}

// Written; or read, and held against what it must be.
static Status *expect(Position *p, Str word) {
    Str found;
    if (!p->loads)
        return put_text(p, word);
    TRY(get_text(p, &found));
    NEED(str_equal(found, word), INVALID_ARGUMENT,
         "The state is one of another dataset: it has %.*s where the iterator has %.*s", (int)(found.n < 40 ? found.n : 40),
         found.p, STR_ARGS(word));
    return OK;
}

Status *position_status(Position *p, Status **status) {
    int64_t code = status_code(*status);
    Str message = str_of(status_message(*status));
    TRY(position_int(p, &code, CODE_OK, UNAUTHENTICATED));
    if (!code)
        return OK;
    if (!p->loads)
        return put_text(p, message);
    TRY(get_text(p, &message));
    *status = status_new((Code)code, __FILE__, __LINE__, "%.*s", STR_ARGS(message));
    return OK;
}

// ---- tensors

static Status *position_shape(Position *p, Shape *shape) {
    int64_t rank = shape->rank;
    TRY(position_int(p, &rank, UNKNOWN_RANK, MAX_RANK));
    shape->rank = (int32_t)rank;
    for (int i = 0; i < shape->rank; i++)
        TRY(position_int(p, &shape->dims[i], UNKNOWN_DIM, INT64_MAX));
    return p->loads ? shape_check(shape) : OK;
}

static Status *position_dtype(Position *p, DType *dtype) {
    int64_t number = *dtype;
    TRY(position_int(p, &number, 0, INT16_MAX));
    *dtype = (DType)number;
    return dtype_is_valid(*dtype) && !dtype_is_ref(*dtype) ? OK : damaged("there is no such type");
}

// Of variants those that are windows: datasets of elements at hand.
static Status *window_of(const Tensor *tensor, StoredDataset **out) {
    Dataset *dataset;
    Status *status = dataset_get(tensor, &dataset);
    *out = status ? NULL : stored_of(dataset);
    status_free(status);
    NEED(*out, UNIMPLEMENTED, "the state of an iterator can't hold a variant that is no window");
    return OK;
}

static Status *store_window(Position *p, Tensor *tensor) {
    AUTO(arena) Arena arena = {0};
    StoredDataset *window = NULL;
    if (!p->loads)
        TRY(window_of(tensor, &window));
    int64_t n = window ? window->dataset.n_components : 0;
    TRY(position_int(p, &n, 0, DATASET_COMPONENTS));
    DType *dtypes = ARENA_ARRAY(&arena, DType, n + 1);
    Shape *shapes = ARENA_ARRAY(&arena, Shape, n + 1);
    NEED_MEMORY(dtypes && shapes);
    for (int i = 0; i < n; i++) {
        dtypes[i] = window ? window->dataset.dtypes[i] : DT_INVALID;
        shapes[i] = window ? window->dataset.shapes[i] : UNKNOWN_SHAPE;
        TRY(position_dtype(p, &dtypes[i]));
        TRY(position_shape(p, &shapes[i]));
    }
    if (!p->loads)
        return position_tuples(p, &window->elements, dtypes, false);
    TRY(stored_new((int)n, dtypes, shapes, &window));
    Status *status = position_tuples(p, &window->elements, dtypes, false);
    if (!status)
        return dataset_tensor(&window->dataset, tensor);
    dataset_release(&window->dataset);
    return status;
}

static Status *variant(Position *p, Tensor *tensor) {
    NEED(p->depth < DEPTH_MOST, UNIMPLEMENTED, "windows within more than %d windows", DEPTH_MOST);
    p->depth++;
    Status *status = store_window(p, tensor);
    p->depth--;
    return status;
}

static Status *plain(Position *p, Tensor *tensor, DType dtype) {
    AUTO(text) Text bytes = {0};
    Str found;
    if (!p->loads) {
        TRY(tensor_serialize(tensor, &bytes));
        return put_text(p, text_str(&bytes));
    }
    TRY(get_text(p, &found));
    TRY(status_with_code(tensor_parse(found, tensor), DATA_LOSS));
    if (tensor->dtype == dtype)
        return OK;
    tensor_clear(tensor);
    return damaged("a tensor is of another type");
}

Status *position_tensor(Position *p, Tensor *tensor, DType dtype) {
    int64_t found = tensor->dtype;
    TRY(position_int(p, &found, DT_INVALID, INT16_MAX));
    if (p->loads && found != DT_INVALID && (!dtype_is_valid((DType)found) || (dtype != DT_INVALID && (DType)found != dtype)))
        return damaged("a tensor is of another type");
    if (found == DT_INVALID)
        return OK;
    return found == DT_variant ? variant(p, tensor) : plain(p, tensor, (DType)found);
}

Status *position_tuple(Position *p, Tensor *tuple, int n, const DType *dtypes) {
    bool there = n && tuple && tuple[0].dtype != DT_INVALID;
    TRY(position_bool(p, &there));
    for (int i = 0; i < n && there; i++) {
        TRY(position_tensor(p, &tuple[i], dtypes[i]));
        if (p->loads && tuple[i].dtype == DT_INVALID)
            return damaged("an element has a gap");
    }
    return OK;
}

static Status *load_tuples(Position *p, Tuples *tuples, const DType *dtypes, bool gaps, int64_t n) {
    Tensor *element = calloc((size_t)tuples->width + 1, sizeof *element);
    NEED_MEMORY(element);
    Status *status = OK;
    for (int64_t i = 0; i < n && !status; i++) {
        status = position_tuple(p, element, tuples->width, dtypes);
        if (!status && !gaps && element[0].dtype == DT_INVALID)
            status = damaged("an element is missing");
        if (!status)
            status = tuples_push(tuples, element);
    }
    if (status)
        tuple_clear(element, tuples->width);
    free(element);
    return status;
}

Status *position_tuples(Position *p, Tuples *tuples, const DType *dtypes, bool gaps) {
    int64_t n = (int64_t)tuples_count(tuples);
    TRY(position_int(p, &n, 0, (int64_t)(p->loads ? cursor_left(&p->in) : INT64_MAX)));  // each takes a byte at least
    if (p->loads)
        return load_tuples(p, tuples, dtypes, gaps, n);
    for (int64_t i = 0; i < n; i++)
        TRY(position_tuple(p, tuples_at(tuples, (size_t)i), tuples->width, dtypes));
    return OK;
}

// ---- sources

Status *position_source(Position *p, Source *source) {
    const DatasetType *type = source->type;
    TRY(expect(p, str_of(type->name)));
    if (type->position)
        return type->position(source, p);
    NEED(!type->source_size, UNIMPLEMENTED, "where a %sDataset stands can't be saved", type->name);
    return source->input ? position_source(p, source->input) : OK;
}

Status *position_input(Position *p, Source *source, const Dataset *dataset) {
    bool open = source->input != NULL;
    TRY(position_bool(p, &open));
    if (open && !source->input)
        TRY(source_open(dataset, source->pipeline, source, &source->input));
    if (!open && source->input) {
        source_close(source->input);
        source->input = NULL;
    }
    return open ? position_source(p, source->input) : OK;
}

Status *position_remake(Position *p, Source *source, const DatasetFunction *function, const Tensor *arguments, int n,
                        Source **out) {
    const StepContext *context = p->context;
    Pull pull = {.cancellation = context->cancellation, .deadline = context->deadline, .depth = context->depth,
                 .trace = context->trace};
    return source_call_open(source, &pull, function, arguments, n, out);
}

Status *position_made(Position *p, Source *source, const DatasetFunction *function, Tensor *arguments, int n,
                      const DType *dtypes, Source **made) {
    bool open = *made != NULL;
    TRY(position_bool(p, &open));
    if (!open)
        return OK;
    TRY(position_tuple(p, arguments, n, dtypes));
    if (p->loads)
        TRY(position_remake(p, source, function, arguments, n, made));
    return position_pass(p, *made);
}

// What passes over a dataset share, in the order of its inputs.
static Status *position_shared(Position *p, const Dataset *dataset) {
    if (dataset->type->shared)
        TRY(dataset->type->shared(dataset, p));
    for (int i = 0; i < dataset->n_inputs; i++)
        TRY(position_shared(p, dataset->inputs[i]));
    return OK;
}

// What is shared comes last: opening a source draws from it.
Status *position_pass(Position *p, Source *source) {
    TRY(position_source(p, source));
    return position_shared(p, source->dataset);
}
