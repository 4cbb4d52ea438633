// Tables — vocabularies: made at their first use, filled from tensors or from a text file, looked up by key.
#include "base/checked.h"
#include "base/murmur.h"
#include "base/number.h"
#include "base/vec.h"
#include "file/disk.h"
#include "ops/array/moving.h"
#include "ops/string/strings.h"
#include "resource/handle.h"
#include "resource/lookup.h"

// ---------------------------------------- making

typedef struct {
    Tensor handle;
} TableNode;

// How a node makes its table: by name in the session, or a new one at every call.
typedef struct {
    bool once, nameless;
} TableKind;
static const TableKind NAMED = {0}, NAMED_ONCE = {.once = true}, NAMELESS = {.nameless = true},
                       NAMELESS_ONCE = {true, true};

static Status *create(void *arg, Resource **out) {
    Lookup *lookup;
    TRY(lookup_new(arg, &lookup));
    *out = (Resource *)lookup;
    return OK;
}

static LookupSpec spec_of(const Node *node) {
    const AttrValue *shape = node_attr_find(node, "value_shape");
    const TableKind *kind = node_op(node)->row;
    return (LookupSpec){.key = node_type(node, "key_dtype"), .value = node_type(node, "value_dtype"),
                        .value_shape = shape ? *shape->shape : SCALAR_SHAPE, .once = kind->once};
}

static Status *named_table(ResourceTable *resources, Str container, Str name, Str device, LookupSpec *spec,
                           Tensor *out) {
    AUTO(resource) Resource *resource = NULL;
    TRY(resource_find_or_create(resources, container, name, &lookup_type, create, spec, &resource));
    TRY(lookup_check_spec(lookup_of(resource), spec));
    return handle_tensor(resource, device, spec->value, spec->value_shape, out);
}

static Status *open_table(Opening *o) {
    TableNode *state = o->state;
    LookupSpec spec = spec_of(o->node);
    Str name = node_str(o->node, "shared_name");
    return named_table(o->resources, node_str(o->node, "container"), name.n ? name : o->name,
                       kernel_device_name(o->node), &spec, &state->handle);
}

static void close_table(void *state) {
    tensor_clear(&((TableNode *)state)->handle);
}

static Status *table_run(Kernel *k) {
    const TableNode *state = k->state;
    NEED(state, FAILED_PRECONDITION, "a table needs a session to live in");
    kernel_set_output(k, 0, tensor_retain(&state->handle));
    return OK;
}

static Status *table_shape(Shapes *s) {
    s->out[0] = SCALAR_SHAPE;
    if (s->n_in)
        return OK;  // keys may be vectors, and what is exported is a matrix: nothing is promised
    HandleShape *handle = ARENA_NEW(s->arena, HandleShape);
    NEED_MEMORY(handle);
    LookupSpec spec = spec_of(s->node);
    *handle = (HandleShape){spec.value, spec.value_shape};
    s->handle_out[0] = handle;
    return OK;
}

// Tables that are nameless, or made of tensors.
typedef struct {
    LookupSpec spec;
    Str container, name;
} TableOwn;

static Status *table_prepare(Prepare *p) {
    TableOwn *own = p->own;
    const AttrValue *buckets = node_attr_find(p->node, "initial_num_buckets");
    own->spec = spec_of(p->node);
    if (buckets) {
        own->spec.buckets = buckets->i;
        own->spec.load = node_float(p->node, "max_load_factor");
    }
    if (((const TableKind *)node_op(p->node)->row)->nameless)
        return OK;
    Str name = node_str(p->node, "shared_name");
    own->container = node_str(p->node, "container");
    own->name = name.n ? name : p->node->name;
    return OK;
}

static Status *made_run(Kernel *k) {
    const TableOwn *own = k->own;
    const TableKind *kind = node_op(k->node)->row;
    LookupSpec spec = own->spec;
    Tensor handle;
    if (k->n_in > 0) {
        spec.empty = k->in[0];
        spec.deleted = k->n_in > 1 ? k->in[1] : NULL;
        spec.key_shape = spec.empty->shape;
        NEED(!spec.deleted || shape_equal(&spec.deleted->shape, &spec.key_shape), INVALID_ARGUMENT,
             "Empty and deleted keys must have same shape, got shapes: %s and %s", shape_text(&spec.key_shape),
             shape_text(&spec.deleted->shape));
    }
    if (kind->nameless) {
        AUTO(resource) Resource *resource = NULL;
        TRY(create(&spec, &resource));
        TRY(handle_tensor(resource, kernel_device_name(k->node), spec.value, spec.value_shape, &handle));
    } else {
        TRY(named_table(k->step->resources, own->container, own->name, kernel_device_name(k->node), &spec, &handle));
    }
    kernel_set_output(k, 0, handle);
    return OK;
}

#define BY_NAME "container: string = \"\"; shared_name: string = \"\"; use_node_name_sharing: bool = false; "
#define VALUE_SHAPE "; value_shape: shape = []"
#define TABLE_OF(Name, inputs, handle, names, more, text, kind, ...)                                                 \
    const Op op_##Name = {                                                                                           \
        .signature = #Name "(" inputs ") -> table_handle: " handle "; " names "key_dtype: type; value_dtype: type"    \
                     more "; stateful",                                                                              \
        .doc = text, .shape = table_shape, .flags = OP_DYNAMIC_SHAPE | OP_CHEAP | OP_NO_GRADIENT, .row = &kind, __VA_ARGS__    \
    };
#define TABLE(Name, handle, more, text, kind)                                                                        \
    TABLE_OF(Name, "", handle, BY_NAME, more, text, kind, .open = open_table, .close = close_table,                   \
             .state_size = sizeof(TableNode), .cpu = ANY_TYPE(table_run))
#define MADE(Name, inputs, handle, names, more, text, kind)                                                          \
    TABLE_OF(Name, inputs, handle, names, more, text, kind, .prepare = table_prepare, .own_size = sizeof(TableOwn),   \
             .cpu = ANY_TYPE(made_run))
#define ONCE "A table that is filled once and then read."
#define MUTABLE "A table that changes as it is used."
#define OF_TENSORS "A table whose values are tensors."
#define DENSE "A table of open hashing: two keys mark its free and its emptied places."
#define DENSE_ATTRS VALUE_SHAPE "; initial_num_buckets: int = 131072; max_load_factor: float = 0.8"
#define MARKS "empty_key: key_dtype, deleted_key: key_dtype"
TABLE(HashTable, "ref string", "", ONCE, NAMED_ONCE)
TABLE(HashTableV2, "resource", "", ONCE, NAMED_ONCE)
TABLE(MutableHashTable, "ref string", "", MUTABLE, NAMED)
TABLE(MutableHashTableV2, "resource", "", MUTABLE, NAMED)
TABLE(MutableHashTableOfTensorsV2, "resource", VALUE_SHAPE, OF_TENSORS, NAMED)
MADE(MutableDenseHashTableV2, MARKS, "resource", BY_NAME, DENSE_ATTRS, DENSE, NAMED)
TABLE(MutableHashTableOfTensors, "ref string", VALUE_SHAPE, OF_TENSORS, NAMED)
MADE(MutableDenseHashTable, "empty_key: key_dtype", "ref string", BY_NAME, DENSE_ATTRS, DENSE, NAMED)
MADE(AnonymousHashTable, "", "resource", "", "", ONCE, NAMELESS_ONCE)
MADE(AnonymousMutableHashTable, "", "resource", "", "", MUTABLE, NAMELESS)
MADE(AnonymousMutableHashTableOfTensors, "", "resource", "", VALUE_SHAPE, OF_TENSORS, NAMELESS)
MADE(AnonymousMutableDenseHashTable, MARKS, "resource", "", DENSE_ATTRS, DENSE, NAMELESS)

// ---------------------------------------- filling

static Status *find_table(Kernel *k, Lookup **out) {
    Resource *resource;
    TRY(kernel_resource(k, 0, &lookup_type, &resource));
    *out = lookup_of(resource);
    return OK;
}

typedef enum { FILL, INSERT, IMPORT } Filling;

// What a table of open hashing exports is two matrices, a place to a row: seen as keys and values.
static void as_rows(const LookupSpec *spec, Tensor *keys, Tensor *values) {
    int64_t n = keys->shape.rank ? keys->shape.dims[0] : 0;
    Shape key_rows = spec->key_shape.rank ? SHAPE(n, spec->key_shape.dims[0]) : SHAPE(n), value_rows = SHAPE(n);
    for (int d = 0; d < spec->value_shape.rank && value_rows.rank < MAX_RANK; d++)
        value_rows.dims[value_rows.rank++] = spec->value_shape.dims[d];
    if (keys->shape.rank == 2 && shape_count(&key_rows) == tensor_count(keys))
        keys->shape = key_rows;
    if (values->shape.rank == 2 && shape_count(&value_rows) == tensor_count(values))
        values->shape = value_rows;
}

static Status *fill(Kernel *k, Filling filling) {
    Lookup *lookup;
    TRY(find_table(k, &lookup));
    Tensor keys = *k->in[1], values = *k->in[2];
    if (filling == IMPORT && lookup_spec(lookup)->empty)
        as_rows(lookup_spec(lookup), &keys, &values);
    Status *status = filling == FILL ? lookup_fill(lookup, &keys, &values)
        : lookup_insert(lookup, &keys, &values, filling == IMPORT);
    resource_release((Resource *)lookup);
    return status;
}

static Status *initialize_run(Kernel *k) {
    return fill(k, FILL);
}

static Status *insert_run(Kernel *k) {
    return fill(k, INSERT);
}

static Status *import_run(Kernel *k) {
    return fill(k, IMPORT);
}

REF_AND_RESOURCE(InitializeTable, InitializeTableV2, "table_handle",
                 ", keys: Tkey, values: Tval); Tkey: type; Tval: type", 0,
                 .doc = "Fills a table; a second time only with the same.", .shape = shape_none,
                 .cpu = ANY_TYPE(initialize_run))
REF_AND_RESOURCE(LookupTableInsert, LookupTableInsertV2, "table_handle",
                 ", keys: Tin, values: Tout); Tin: type; Tout: type", 0,
                 .doc = "Adds keys with their values, or gives keys other values.", .shape = shape_none,
                 .cpu = ANY_TYPE(insert_run))
REF_AND_RESOURCE(LookupTableImport, LookupTableImportV2, "table_handle",
                 ", keys: Tin, values: Tout); Tin: type; Tout: type", 0,
                 .doc = "Replaces all that is in the table.", .shape = shape_none, .cpu = ANY_TYPE(import_run))

static Status *remove_run(Kernel *k) {
    Lookup *lookup;
    TRY(find_table(k, &lookup));
    Status *status = lookup_remove(lookup, k->in[1]);
    resource_release((Resource *)lookup);
    return status;
}

const Op op_LookupTableRemoveV2 = {
    .signature = "LookupTableRemoveV2(table_handle: resource, keys: Tin); Tin: type; stateful",
    .doc = "Removes keys; those that are not there are passed over.", .shape = shape_none,
    .cpu = ANY_TYPE(remove_run), .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- filling from a text file

enum { LINE_NUMBER = -1, WHOLE_LINE = -2 };

// Column `index` of a line, or what stands for one: the number counts from the node's `offset`.
static Status *column(Str line, int64_t index, Str delimiter, int64_t number, Arena *arena, Str *out) {
    if (index == LINE_NUMBER) {
        *out = str_format(arena, "%lld", (long long)number);
        NEED_MEMORY(out->p);
        return OK;
    }
    for (Str rest = line; index != WHOLE_LINE; index--) {
        const char *end = delimiter.n ? memchr(rest.p, delimiter.p[0], rest.n) : NULL;
        *out = (Str){rest.p, end ? (size_t)(end - rest.p) : rest.n};
        if (index == 0)
            return OK;
        NEED(end, INVALID_ARGUMENT, "Invalid number of columns in line '%.*s'", STR_ARGS(line));
        rest = (Str){end + 1, rest.n - out->n - 1};
    }
    *out = line;
    return OK;
}

static Status *set_element(const Tensor *t, int64_t i, Str text) {
    int64_t integer = 0;
    bool good = true;
    switch (t->dtype) {
    case DT_string: good = tstring_assign((TString *)t->data + i, text); break;
    case DT_int64: good = str_to_int(text, (int64_t *)t->data + i); break;
    case DT_int32:
        good = str_to_int(text, &integer) && integer >= INT32_MIN && integer <= INT32_MAX;
        if (good)
            ((int32_t *)t->data)[i] = (int32_t)integer;
        break;
    case DT_float: good = str_to_float(text, (float *)t->data + i); break;
    case DT_double: good = str_to_double(text, (double *)t->data + i); break;
    default: FAIL(UNIMPLEMENTED, "a table of %s can't be read from a file", dtype_name(t->dtype));
    }
    NEED(good, INVALID_ARGUMENT, "'%.*s' is no value of type %s", STR_ARGS(text), dtype_name(t->dtype));
    return OK;
}

typedef struct {
    int64_t key_index, value_index, most, offset;
    Str delimiter;
} FileOwn;

static Status *file_prepare(Prepare *p) {
    *(FileOwn *)p->own = (FileOwn){node_int(p->node, "key_index"), node_int(p->node, "value_index"),
                                   node_int(p->node, "vocab_size"), node_int(p->node, "offset"),
                                   node_str(p->node, "delimiter")};
    NEED(((FileOwn *)p->own)->delimiter.n == 1, INVALID_ARGUMENT, "delimiter should be only 1 char");
    return OK;
}

typedef VEC(Str) Lines;

// All lines, or the first `most`; a last one that is empty is none.
static bool split_lines(Str text, int64_t most, Lines *out) {
    while (text.n && (most < 0 || (int64_t)out->n < most)) {
        const char *end = memchr(text.p, '\n', text.n);
        Str line = {text.p, end ? (size_t)(end - text.p) : text.n};
        text = end ? (Str){end + 1, text.n - line.n - 1} : (Str){0};
        if (line.n && line.p[line.n - 1] == '\r')
            line.n--;
        if (!vec_push(out, line))
            return false;
    }
    return true;
}

static Status *fill_from_lines(Lookup *lookup, const FileOwn *own, const Lines *lines) {
    const LookupSpec *spec = lookup_spec(lookup);
    NEED(lines->n, OUT_OF_RANGE, "the file has no lines to fill a table");
    NEED((own->key_index != LINE_NUMBER || spec->key == DT_int64) &&
         (own->value_index != LINE_NUMBER || spec->value == DT_int64),
         INVALID_ARGUMENT, "a column of line numbers must be of type int64");
    AUTO(tensor) Tensor keys = {0};
    AUTO(tensor) Tensor values = {0};
    TRY(tensor_new(spec->key, SHAPE((int64_t)lines->n), &keys));
    TRY(tensor_new(spec->value, SHAPE((int64_t)lines->n), &values));
    for (size_t i = 0; i < lines->n; i++) {
        AUTO(arena) Arena arena = {0};
        Str key, value;
        int64_t number;
        NEED(add_i64((int64_t)i, own->offset, &number), INVALID_ARGUMENT, "the offset %lld is too large",
             (long long)own->offset);
        NEED(lines->p[i].n, INVALID_ARGUMENT, "Invalid content: line %zu of the file is empty", i);
        TRY(column(lines->p[i], own->key_index, own->delimiter, number, &arena, &key));
        TRY(column(lines->p[i], own->value_index, own->delimiter, number, &arena, &value));
        TRY(set_element(&keys, (int64_t)i, key));
        TRY(set_element(&values, (int64_t)i, value));
    }
    return lookup_fill(lookup, &keys, &values);
}

// The file is read before the table is looked for: what can't be read changes nothing.
static Status *file_run(Kernel *k) {
    const FileOwn *own = k->own;
    Str path = tstring_str(k->in[1]->data);
    AUTO(text) Text text = {0};
    TRY(disk_read(path, &text));
    Lookup *lookup;
    TRY(find_table(k, &lookup));
    Lines lines = {0};
    Status *status = OK;
    if (!split_lines(text_str(&text), own->most, &lines))
        status = OUT_OF_MEMORY;
    else if (own->most >= 0 && (int64_t)lines.n < own->most)
        status = status_new(INVALID_ARGUMENT, __FILE__, __LINE__,
                            "Invalid vocab_size in %.*s: expected %lld but got %zu",
                            STR_ARGS(path), (long long)own->most, lines.n);
    else
        status = fill_from_lines(lookup, own, &lines);
    vec_clear(&lines);
    resource_release((Resource *)lookup);
    return status;
}

REF_AND_RESOURCE(InitializeTableFromTextFile, InitializeTableFromTextFileV2, "table_handle",
                 ", filename: string); key_index: int >= -2; value_index: int >= -2; vocab_size: int >= -1 = -1; "
                 "delimiter: string = \"\\t\"; offset: int = 0",
                 OP_BLOCKS, .doc = "Fills a table with the columns (-1: the number, -2: the whole) of a file's lines.",
                 .needs = "scalar(filename)", .shape = shape_none, .prepare = file_prepare, .own_size = sizeof(FileOwn),
                 .cpu = ANY_TYPE(file_run))

// ---------------------------------------- reading

static Status *values_shape(const Shape *keys, const Shape *part, Shape *out) {
    if (keys->rank < 0 || part->rank < 0)
        return OK;
    int64_t dims[2 * MAX_RANK];
    memcpy(dims, keys->dims, (size_t)keys->rank * sizeof *dims);
    memcpy(dims + keys->rank, part->dims, (size_t)part->rank * sizeof *dims);
    return shape_make(dims, keys->rank + part->rank, out);
}

static Status *find_shape(Shapes *s) {
    return s->handle[0] ? values_shape(&s->in[1], &s->handle[0]->shape, &s->out[0]) : OK;
}

static Status *find_in(Kernel *k, Lookup *lookup) {
    Shape shape = UNKNOWN_SHAPE, keys = k->in[1]->shape;
    keys.rank -= keys.rank < lookup_spec(lookup)->key_shape.rank ? 0 : lookup_spec(lookup)->key_shape.rank;
    TRY(values_shape(&keys, &lookup_spec(lookup)->value_shape, &shape));
    TRY(kernel_output(k, 0, shape));
    return lookup_find(lookup, k->in[1], k->in[2], k->out[0]);
}

static Status *find_run(Kernel *k) {
    Lookup *lookup;
    TRY(find_table(k, &lookup));
    Status *status = find_in(k, lookup);
    resource_release((Resource *)lookup);
    return status;
}

static Status *size_run(Kernel *k) {
    Lookup *lookup;
    TRY(find_table(k, &lookup));
    *(int64_t *)k->out[0]->data = lookup_size(lookup);
    resource_release((Resource *)lookup);
    return OK;
}

static Status *export_shape(Shapes *s) {
    if (s->handle[0])
        s->out[0] = SHAPE(UNKNOWN_DIM);
    return OK;
}

// TensorFlow's hash, since it decides where a key lies in a checkpoint: of a string Murmur's, of an integer itself, of
// several what Boost's hash_combine makes of them.
static uint64_t hash_of(const Tensor *keys, int64_t row, int64_t width) {
    if (keys->dtype == DT_string)
        return murmur_hash(tstring_str((const TString *)keys->data + row));
    uint64_t hash = 0;
    for (int64_t i = row * width; i < (row + 1) * width; i++) {
        uint64_t one = 0;
        size_t size = dtype_size(keys->dtype);
        memcpy(&one, (const char *)keys->data + (size_t)i * size, size);
        if (keys->dtype == DT_int32)
            one = (uint64_t)((const int32_t *)keys->data)[i];
        hash = width == 1 ? one : hash ^ (one + UINT64_C(0x9e3779b97f4a7800) + (hash << 10) + (hash >> 4));
    }
    return hash;
}

// A table of open hashing is exported as TensorFlow has it in memory, free places included: whoever restores a
// checkpoint takes them as they lie.
static Status *lay_out(const LookupSpec *spec, Tensor *keys, Tensor *values) {
    int64_t n = keys->shape.dims[0], places = spec->buckets, width = shape_count(&spec->key_shape);
    int64_t part = shape_count(&spec->value_shape);
    AUTO(tensor) Tensor all_keys = {0};
    AUTO(tensor) Tensor all_values = {0};
    while ((double)n > (double)places * (double)spec->load)
        places *= 2;
    Shape key_shape = SHAPE(places, width), value_shape = SHAPE(places, part);
    TRY(shape_check(&value_shape));
    TRY(tensor_new(spec->key, key_shape, &all_keys));
    TRY(tensor_new(spec->value, value_shape, &all_values));
    AUTO(arena) Arena arena = {0};
    bool *taken = ARENA_ARRAY(&arena, bool, places);
    NEED_MEMORY(taken);
    if (dtype_is_plain(spec->value))
        memset(all_values.data, 0, tensor_bytes(&all_values));
    for (int64_t row = 0; row < n; row++) {
        // Steps of 1, 2, 3 ... (quadratic probing) over a power of two come to every place.
        uint64_t at = hash_of(keys, row, width), mask = (uint64_t)places - 1;
        for (uint64_t probes = 1; taken[at & mask]; probes++)
            at += probes;
        at &= mask;
        taken[at] = true;
        for (int64_t i = 0; i < width; i++)
            TRY(element_copy(keys, row * width + i, &all_keys, (int64_t)at * width + i));
        for (int64_t i = 0; i < part; i++)
            TRY(element_copy(values, row * part + i, &all_values, (int64_t)at * part + i));
    }
    for (int64_t at = 0; at < places; at++)
        for (int64_t i = 0; i < width && !taken[at]; i++)
            TRY(element_copy(spec->empty, i, &all_keys, at * width + i));
    tensor_clear(keys);
    tensor_clear(values);
    *keys = tensor_retain(&all_keys);
    *values = tensor_retain(&all_values);
    return OK;
}

static Status *export_table(Lookup *lookup, Tensor *out_keys, Tensor *out_values) {
    AUTO(tensor) Tensor keys = {0};
    AUTO(tensor) Tensor values = {0};
    TRY(lookup_export(lookup, &keys, &values));
    if (lookup_spec(lookup)->empty)
        TRY(lay_out(lookup_spec(lookup), &keys, &values));
    *out_keys = tensor_retain(&keys);
    *out_values = tensor_retain(&values);
    return OK;
}

static Status *export_run(Kernel *k) {
    Lookup *lookup;
    Tensor keys, values;
    TRY(find_table(k, &lookup));
    Status *status = export_table(lookup, &keys, &values);
    resource_release((Resource *)lookup);
    TRY(status);
    kernel_set_output(k, 0, keys);
    kernel_set_output(k, 1, values);
    NEED(keys.dtype == k->node->output_types[0] && values.dtype == k->node->output_types[1], INVALID_ARGUMENT,
         "the table is from %s to %s", dtype_name(keys.dtype), dtype_name(values.dtype));
    return OK;
}

REF_AND_RESOURCE(LookupTableFind, LookupTableFindV2, "table_handle",
                 ", keys: Tin, default_value: Tout) -> values: Tout; Tin: type; Tout: type", OP_DYNAMIC_SHAPE,
                 .doc = "The values of keys; the default for those that are not there.", .shape = find_shape,
                 .cpu = ANY_TYPE(find_run))
REF_AND_RESOURCE(LookupTableSize, LookupTableSizeV2, "table_handle", ") -> size: int64", 0,
                 .doc = "How many keys a table has.", .shape = shape_scalar, .cpu = ANY_TYPE(size_run))
REF_AND_RESOURCE(LookupTableExport, LookupTableExportV2, "table_handle",
                 ") -> keys: Tkeys, values: Tvalues; Tkeys: type; Tvalues: type", OP_DYNAMIC_SHAPE,
                 .doc = "All keys and values, in no order.", .shape = export_shape, .cpu = ANY_TYPE(export_run))
