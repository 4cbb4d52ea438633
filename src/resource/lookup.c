// Lookup — see lookup.h: tables from keys to values, filled once (HashTable) or mutable (MutableHashTable, dense or
// not).
//
// A row is one allocation of its own; the map views the key in it. All kinds share one map: what tells TensorFlow's
// dense table from the others (empty and deleted keys, buckets) is checked, as graphs may rely on the errors, and not
// needed.
#include "resource/lookup.h"

#include <stdlib.h>

#include "base/map.h"
#include "thread/mutex.h"

typedef struct {
    Tensor value;      // with a buffer of its own
    char key[];
} Row;

struct Lookup {
    Resource resource;
    LookupSpec spec;
    Tensor marks[2];   // what spec.empty and spec.deleted point to
    int64_t width;     // elements of a value
    int64_t key_width; // and of a key
    Mutex lock;
    Map rows;          // key -> Row *; this and the next: guarded by lock
    bool filled;
};

static void row_free(Row *row) {
    tensor_clear(&row->value);
    free(row);
}

static void rows_clear(Map *rows) {
    size_t at = 0;
    Str key;
    void *row;
    while (map_next(rows, &at, &key, &row))
        row_free(row);
    map_clear(rows);
}

static void lookup_clear(Resource *resource) {
    Lookup *lookup = (Lookup *)resource;
    rows_clear(&lookup->rows);
    tensor_clear(&lookup->marks[0]);
    tensor_clear(&lookup->marks[1]);
    mutex_clear(&lookup->lock);
}

static void lookup_drop(Resource *resource) {
    Lookup *lookup = (Lookup *)resource;
    mutex_lock(&lookup->lock);
    rows_clear(&lookup->rows);
    lookup->filled = false;
    mutex_unlock(&lookup->lock);
}

const ResourceType lookup_type = {"LookupTable", sizeof(Lookup), lookup_clear, lookup_drop};

// The empty and the deleted key of a dense table mark its free places there; here they are just not allowed as keys.
static Status *check_marks(const LookupSpec *spec) {
    NEED(spec->key_shape.rank == 0 || (spec->key_shape.rank == 1 && spec->key != DT_string), INVALID_ARGUMENT,
         "Empty key must be a scalar or a vector of numbers, got %s of shape %s", dtype_name(spec->key),
         shape_text(&spec->key_shape));
    NEED(shape_count(&spec->key_shape) >= 1, INVALID_ARGUMENT, "a key of shape %s has no elements",
         shape_text(&spec->key_shape));
    if (!spec->empty)
        return OK;
    NEED(spec->buckets >= 1 && (spec->buckets & (spec->buckets - 1)) == 0 && spec->buckets <= INT32_MAX,
         INVALID_ARGUMENT, "Number of buckets must be a power of 2, got %lld", (long long)spec->buckets);
    NEED(spec->load > 0 && spec->load < 1, INVALID_ARGUMENT, "max_load_factor must be between 0 and 1, got %g",
         (double)spec->load);
    return OK;
}

static Status *copy_marks(Lookup *lookup) {
    LookupSpec *spec = &lookup->spec;
    if (spec->empty)
        TRY(tensor_copy(spec->empty, &lookup->marks[0]));
    if (spec->deleted)
        TRY(tensor_copy(spec->deleted, &lookup->marks[1]));
    spec->empty = spec->empty ? &lookup->marks[0] : NULL;
    spec->deleted = spec->deleted ? &lookup->marks[1] : NULL;
    return OK;
}

Status *lookup_new(const LookupSpec *spec, Lookup **out) {
    NEED(dtype_is_integer(spec->key) || spec->key == DT_string, INVALID_ARGUMENT, "keys of a table can't be of type %s",
         dtype_name(spec->key));
    NEED(dtype_is_plain(spec->value) || spec->value == DT_string, INVALID_ARGUMENT,
         "values of a table can't be of type %s", dtype_name(spec->value));
    NEED(shape_is_known(&spec->value_shape), INVALID_ARGUMENT, "the shape of a table's values is not known: %s",
         shape_text(&spec->value_shape));
    TRY(check_marks(spec));
    Resource *resource;
    TRY(resource_new(&lookup_type, &resource));
    Lookup *lookup = (Lookup *)resource;
    mutex_init(&lookup->lock);
    lookup->spec = *spec;
    lookup->width = shape_count(&spec->value_shape);
    lookup->key_width = shape_count(&spec->key_shape);
    Status *status = copy_marks(lookup);
    if (status)
        resource_release(resource);
    else
        *out = lookup;
    return status;
}

Lookup *lookup_of(Resource *resource) {
    return resource && resource->type == &lookup_type ? (Lookup *)resource : NULL;
}

const LookupSpec *lookup_spec(const Lookup *lookup) {
    return &lookup->spec;
}

Status *lookup_check_spec(const Lookup *lookup, const LookupSpec *spec) {
    NEED(lookup->spec.key == spec->key && lookup->spec.value == spec->value && lookup->spec.once == spec->once &&
             !lookup->spec.empty == !spec->empty &&
             shape_equal(&lookup->spec.key_shape, &spec->key_shape) &&
             shape_equal(&lookup->spec.value_shape, &spec->value_shape),
         INVALID_ARGUMENT, "the table '%.*s' is from %s to %s%s, expected %s to %s%s",
         STR_ARGS(lookup->resource.name), dtype_name(lookup->spec.key), dtype_name(lookup->spec.value),
         shape_text(&lookup->spec.value_shape), dtype_name(spec->key), dtype_name(spec->value),
         shape_text(&spec->value_shape));
    return OK;
}

// ---- keys and values

static Str key_at(const Lookup *lookup, const Tensor *keys, int64_t i) {
    if (keys->dtype == DT_string)
        return tstring_str((const TString *)keys->data + i);
    size_t size = dtype_size(keys->dtype) * (size_t)lookup->key_width;
    return (Str){(const char *)keys->data + (size_t)i * size, size};
}

static int64_t key_count(const Lookup *lookup, const Tensor *keys) {
    return lookup->key_width == 1 ? tensor_count(keys) : tensor_count(keys) / lookup->key_width;
}

static bool is_mark(const Lookup *lookup, Str key) {
    return (lookup->spec.empty && str_equal(key, key_at(lookup, lookup->spec.empty, 0))) ||
           (lookup->spec.deleted && str_equal(key, key_at(lookup, lookup->spec.deleted, 0)));
}

static Status *check_mark(const Lookup *lookup, Str key) {
    NEED(!is_mark(lookup, key), INVALID_ARGUMENT,
         "Using the empty_key or the deleted_key as a table key is not allowed");
    return OK;
}

// The keys' shape without that of one key.
static Status *check_keys(const Lookup *lookup, const Tensor *keys, Shape *out) {
    NEED(keys->dtype == lookup->spec.key, INVALID_ARGUMENT, "the table has keys of type %s, got %s",
         dtype_name(lookup->spec.key), dtype_name(keys->dtype));
    const Shape *one = &lookup->spec.key_shape;
    *out = keys->shape;
    out->rank -= one->rank;
    NEED(one->rank == 0 || (out->rank >= 0 && keys->shape.dims[out->rank] == one->dims[0]), INVALID_ARGUMENT,
         "Expected key shape to end with %s, got %s", shape_text(one), shape_text(&keys->shape));
    return OK;
}

static Status *check_values(const Lookup *lookup, const Tensor *keys, const Tensor *values) {
    Shape outer;
    TRY(check_keys(lookup, keys, &outer));
    NEED(values->dtype == lookup->spec.value, INVALID_ARGUMENT, "the table has values of type %s, got %s",
         dtype_name(lookup->spec.value), dtype_name(values->dtype));
    const Shape *part = &lookup->spec.value_shape, *all = &values->shape;
    bool fits = all->rank == outer.rank + part->rank;
    for (int i = 0; fits && i < all->rank; i++)
        fits = all->dims[i] == (i < outer.rank ? outer.dims[i] : part->dims[i - outer.rank]);
    NEED(fits, INVALID_ARGUMENT, "Expected shape %s for keys and that with %s behind it for values, got %s",
         shape_text(&keys->shape), shape_text(part), shape_text(all));
    return OK;
}

// Value i of many, seen in place.
static Tensor value_at(const Lookup *lookup, const Tensor *values, int64_t i) {
    Tensor value = *values;
    value.data = (char *)values->data + (size_t)(i * lookup->width) * dtype_size(values->dtype);
    value.shape = lookup->spec.value_shape;
    return value;
}

static Status *put(Map *rows, Str key, const Tensor *value) {
    Row *row = map_find(rows, key);
    if (row)
        return tensor_copy_elements(value, &row->value);
    row = calloc(1, sizeof *row + key.n + 1);
    NEED_MEMORY(row);
    if (key.n)
        memcpy(row->key, key.p, key.n);
    Status *status = tensor_copy(value, &row->value);
    if (!status && !map_set(rows, (Str){row->key, key.n}, row))
        status = OUT_OF_MEMORY;
    if (status)
        row_free(row);
    return status;
}

static bool same_value(const Tensor *a, const Tensor *b) {
    if (a->dtype != DT_string)
        return memcmp(a->data, b->data, tensor_bytes(a)) == 0;
    for (int64_t i = 0; i < tensor_count(a); i++)
        if (!str_equal(tstring_str((const TString *)a->data + i), tstring_str((const TString *)b->data + i)))
            return false;
    return true;
}

// ---- filling

typedef enum { AS_A_WHOLE, ADDED, FROM_CHECKPOINT } Filling;

static Status *put_all(Lookup *lookup, Map *rows, const Tensor *keys, const Tensor *values, Filling filling) {
    for (int64_t i = 0, n = key_count(lookup, keys); i < n; i++) {
        Str key = key_at(lookup, keys, i);
        Tensor value = value_at(lookup, values, i);
        const Row *there = filling == AS_A_WHOLE ? map_find(rows, key) : NULL;
        NEED(!there || same_value(&there->value, &value), FAILED_PRECONDITION,
             "HashTable has different value for same key: key %lld of the keys stands twice", (long long)i);
        if (filling == FROM_CHECKPOINT && is_mark(lookup, key))
            continue;
        TRY(check_mark(lookup, key));
        TRY(put(rows, key, &value));
    }
    return OK;
}

// Initialising twice with the same data is allowed: two sessions may run one initialiser.
static Status *fill_locked(Lookup *lookup, const Tensor *keys, const Tensor *values) REQUIRES(lookup->lock) {
    Map fresh = {0};
    Status *status = put_all(lookup, &fresh, keys, values, AS_A_WHOLE);
    if (!status && lookup->filled) {
        bool same = fresh.n == lookup->rows.n;
        for (int64_t i = 0, n = key_count(lookup, keys); i < n && same; i++) {
            Tensor value = value_at(lookup, values, i);
            const Row *there = map_find(&lookup->rows, key_at(lookup, keys, i));
            same = there && same_value(&there->value, &value);
        }
        if (!same)
            status = status_new(FAILED_PRECONDITION, __FILE__, __LINE__,
                                "Table was already initialized with different data.");
    }
    if (status || lookup->filled) {
        rows_clear(&fresh);
        return status;
    }
    lookup->rows = fresh;
    lookup->filled = true;
    return OK;
}

Status *lookup_fill(Lookup *lookup, const Tensor *keys, const Tensor *values) {
    TRY(check_values(lookup, keys, values));
    NEED(lookup->spec.once, INVALID_ARGUMENT, "a mutable table is not initialized but inserted into");
    mutex_lock(&lookup->lock);
    Status *status = fill_locked(lookup, keys, values);
    mutex_unlock(&lookup->lock);
    return status;
}

Status *lookup_insert(Lookup *lookup, const Tensor *keys, const Tensor *values, bool anew) {
    if (anew && lookup->spec.once)
        return lookup_fill(lookup, keys, values);
    TRY(check_values(lookup, keys, values));
    NEED(!lookup->spec.once, UNIMPLEMENTED, "Insert not supported by HashTable implementations");
    Map fresh = {0};
    mutex_lock(&lookup->lock);
    Status *status = put_all(lookup, anew ? &fresh : &lookup->rows, keys, values, anew ? FROM_CHECKPOINT : ADDED);
    // All or nothing: a table restored from a checkpoint replaces the old one in one step.
    if (anew && !status) {
        Map before = lookup->rows;
        lookup->rows = fresh;
        fresh = before;
    }
    mutex_unlock(&lookup->lock);
    rows_clear(&fresh);
    return status;
}

Status *lookup_remove(Lookup *lookup, const Tensor *keys) {
    Shape outer;
    TRY(check_keys(lookup, keys, &outer));
    NEED(!lookup->spec.once, UNIMPLEMENTED, "Remove not supported by HashTable implementations");
    for (int64_t i = 0, n = key_count(lookup, keys); i < n; i++)
        TRY(check_mark(lookup, key_at(lookup, keys, i)));
    mutex_lock(&lookup->lock);
    for (int64_t i = 0, n = key_count(lookup, keys); i < n; i++) {
        Row *row = map_take(&lookup->rows, key_at(lookup, keys, i));
        if (row)
            row_free(row);
    }
    mutex_unlock(&lookup->lock);
    return OK;
}

// ---- reading

static Status *find_locked(Lookup *lookup, const Tensor *keys, const Tensor *otherwise, const Tensor *out)
    REQUIRES(lookup->lock) {
    NEED(!lookup->spec.once || lookup->filled, FAILED_PRECONDITION, "Table not initialized.");
    bool one = shape_equal(&otherwise->shape, &lookup->spec.value_shape);
    for (int64_t i = 0, n = key_count(lookup, keys); i < n; i++) {
        TRY(check_mark(lookup, key_at(lookup, keys, i)));
        const Row *row = map_find(&lookup->rows, key_at(lookup, keys, i));
        Tensor to = value_at(lookup, out, i), from = value_at(lookup, otherwise, one ? 0 : i);
        TRY(tensor_copy_elements(row ? &row->value : &from, &to));
    }
    return OK;
}

Status *lookup_find(Lookup *lookup, const Tensor *keys, const Tensor *otherwise, const Tensor *out) {
    TRY(check_values(lookup, keys, out));
    NEED(otherwise->dtype == lookup->spec.value, INVALID_ARGUMENT, "the table has values of type %s, got %s",
         dtype_name(lookup->spec.value), dtype_name(otherwise->dtype));
    NEED(shape_equal(&otherwise->shape, &lookup->spec.value_shape) || shape_equal(&otherwise->shape, &out->shape),
         INVALID_ARGUMENT, "Expected shape %s or %s for default value, got %s", shape_text(&lookup->spec.value_shape),
         shape_text(&out->shape), shape_text(&otherwise->shape));
    mutex_lock(&lookup->lock);
    Status *status = find_locked(lookup, keys, otherwise, out);
    mutex_unlock(&lookup->lock);
    return status;
}

static Status *export_locked(Lookup *lookup, Tensor *keys, Tensor *values) REQUIRES(lookup->lock) {
    NEED(!lookup->spec.once || lookup->filled, ABORTED, "HashTable is not initialized.");
    int64_t n = (int64_t)lookup->rows.n, dims[MAX_RANK + 1] = {n};
    const Shape *part = &lookup->spec.value_shape;
    memcpy(dims + 1, part->dims, (size_t)part->rank * sizeof *dims);
    Shape shape;
    TRY(shape_make(dims, part->rank + 1, &shape));
    Shape key_shape = lookup->spec.key_shape.rank ? SHAPE(n, lookup->key_width) : SHAPE(n);
    TRY(tensor_new(lookup->spec.key, key_shape, keys));
    TRY(tensor_new(lookup->spec.value, shape, values));
    size_t at = 0;
    Str key;
    void *found;
    for (int64_t i = 0; map_next(&lookup->rows, &at, &key, &found); i++) {
        const Row *row = found;
        Tensor to = value_at(lookup, values, i);
        TRY(tensor_copy_elements(&row->value, &to));
        if (lookup->spec.key == DT_string)
            NEED_MEMORY(tstring_assign((TString *)keys->data + i, key));
        else
            memcpy((char *)keys->data + (size_t)i * key.n, key.p, key.n);
    }
    return OK;
}

Status *lookup_export(Lookup *lookup, Tensor *out_keys, Tensor *out_values) {
    AUTO(tensor) Tensor keys = {0};
    AUTO(tensor) Tensor values = {0};
    mutex_lock(&lookup->lock);
    Status *status = export_locked(lookup, &keys, &values);
    mutex_unlock(&lookup->lock);
    TRY(status);
    *out_keys = tensor_retain(&keys);
    *out_values = tensor_retain(&values);
    return OK;
}

int64_t lookup_size(Lookup *lookup) {
    mutex_lock(&lookup->lock);
    int64_t n = (int64_t)lookup->rows.n;
    mutex_unlock(&lookup->lock);
    return n;
}
