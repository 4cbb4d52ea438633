// Tables — vocabularies: made at their first use, filled from tensors or from a text file, looked up by key.
#include "base/checked.h"
#include "base/number.h"
#include "base/vec.h"
#include "file/disk.h"
#include "ops/op.h"
#include "resource/handle.h"
#include "resource/lookup.h"

// ---------------------------------------- making

typedef struct {
    Tensor handle;
} TableNode;

static Status *create(void *arg, Resource **out) {
    Lookup *lookup;
    TRY(lookup_new(arg, &lookup));
    *out = (Resource *)lookup;
    return OK;
}

static LookupSpec spec_of(const Node *node) {
    const AttrValue *shape = node_attr_find(node, "value_shape");
    return (LookupSpec){.key = node_type(node, "key_dtype"), .value = node_type(node, "value_dtype"),
                        .value_shape = shape ? *shape->shape : SCALAR_SHAPE,
                        .once = str_starts(node->type->name, STR("HashTable"))};
}

static Status *open_table(Opening *o) {
    TableNode *state = o->state;
    LookupSpec spec = spec_of(o->node);
    Str name = node_str(o->node, "shared_name");
    AUTO(resource) Resource *resource = NULL;
    TRY(resource_find_or_create(o->resources, node_str(o->node, "container"), name.n ? name : o->node->name,
                                &lookup_type, create, &spec, &resource));
    TRY(lookup_check_spec(lookup_of(resource), &spec));
    return handle_tensor(resource, spec.value, spec.value_shape, &state->handle);
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
    HandleShape *handle = ARENA_NEW(s->arena, HandleShape);
    NEED_MEMORY(handle);
    LookupSpec spec = spec_of(s->node);
    *handle = (HandleShape){spec.value, spec.value_shape};
    s->out[0] = SCALAR_SHAPE;
    s->handle_out[0] = handle;
    return OK;
}

#define TABLE(Name, handle, more, text)                                                                              \
    const Op op_##Name = {                                                                                           \
        .signature = #Name "() -> table_handle: " handle "; container: string = \"\"; shared_name: string = \"\"; "  \
                     "use_node_name_sharing: bool = false; key_dtype: type; value_dtype: type" more "; stateful",    \
        .doc = text, .shape = table_shape, .open = open_table, .close = close_table, .state_size = sizeof(TableNode), \
        .cpu = ANY_TYPE(table_run), .flags = OP_LATE | OP_CHEAP | OP_NO_GRADIENT,                                    \
    };
#define ONCE "A table that is filled once and then read."
#define MUTABLE "A table that changes as it is used."
TABLE(HashTable, "ref string", "", ONCE)
TABLE(HashTableV2, "resource", "", ONCE)
TABLE(MutableHashTable, "ref string", "", MUTABLE)
TABLE(MutableHashTableV2, "resource", "", MUTABLE)
TABLE(MutableHashTableOfTensorsV2, "resource", "; value_shape: shape = []", "A table whose values are tensors.")

// ---------------------------------------- filling

static Status *find_table(Kernel *k, Lookup **out) {
    Resource *resource;
    TRY(kernel_resource(k, 0, &lookup_type, &resource));
    *out = lookup_of(resource);
    return OK;
}

typedef enum { FILL, INSERT, IMPORT } Filling;

static Status *fill(Kernel *k, Filling how) {
    Lookup *lookup;
    TRY(find_table(k, &lookup));
    Status *status = how == FILL ? lookup_fill(lookup, k->in[1], k->in[2])
                                 : lookup_insert(lookup, k->in[1], k->in[2], how == IMPORT);
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

#define REF_IN "table_handle: ref string"
#define RESOURCE_IN "table_handle: resource"
#define BY_REF .flags = OP_STATEFUL | OP_NO_GRADIENT
#define BY_RESOURCE .flags = OP_NO_GRADIENT
#define FILLING(Name, handle, key, value, more, run, text, ...)                                                   \
    const Op op_##Name = {                                                                                        \
        .signature = #Name "(" handle ", keys: " key ", values: " value "); " key ": type; " value ": type" more, \
        .doc = text, .shape = shape_none, .cpu = ANY_TYPE(run), __VA_ARGS__                                        \
    };
#define INITIALIZE "Fills a table; a second time only with the same."
#define INSERTS "Adds keys with their values, or gives keys other values."
#define IMPORTS "Replaces all that is in the table."
FILLING(InitializeTable, REF_IN, "Tkey", "Tval", "", initialize_run, INITIALIZE, BY_REF)
FILLING(InitializeTableV2, RESOURCE_IN, "Tkey", "Tval", "; stateful", initialize_run, INITIALIZE, BY_RESOURCE)
FILLING(LookupTableInsert, REF_IN, "Tin", "Tout", "", insert_run, INSERTS, BY_REF)
FILLING(LookupTableInsertV2, RESOURCE_IN, "Tin", "Tout", "; stateful", insert_run, INSERTS, BY_RESOURCE)
FILLING(LookupTableImport, REF_IN, "Tin", "Tout", "", import_run, IMPORTS, BY_REF)
FILLING(LookupTableImportV2, RESOURCE_IN, "Tin", "Tout", "; stateful", import_run, IMPORTS, BY_RESOURCE)

static Status *remove_run(Kernel *k) {
    Lookup *lookup;
    TRY(find_table(k, &lookup));
    Status *status = lookup_remove(lookup, k->in[1]);
    resource_release((Resource *)lookup);
    return status;
}

const Op op_LookupTableRemoveV2 = {
    .signature = "LookupTableRemoveV2(table_handle: resource, keys: Tin); Tin: type; stateful",
    .doc = "Removes keys; those that are not there are passed over.", .shape = shape_none, .cpu = ANY_TYPE(remove_run),
    BY_RESOURCE,
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
    AUTO(tensor) Tensor keys = {0};
    AUTO(tensor) Tensor values = {0};
    TRY(tensor_new(spec->key, SHAPE((int64_t)lines->n), &keys));
    TRY(tensor_new(spec->value, SHAPE((int64_t)lines->n), &values));
    for (size_t i = 0; i < lines->n; i++) {
        AUTO(arena) Arena arena = {0};
        Str key, value;
        int64_t number;
        NEED(add_i64((int64_t)i, own->offset, &number), INVALID_ARGUMENT, "the offset %lld is too large", (long long)own->offset);
        NEED(lines->p[i].n, INVALID_ARGUMENT, "Invalid content: line %zu of the file is empty", i);
        TRY(column(lines->p[i], own->key_index, own->delimiter, number, &arena, &key));
        TRY(column(lines->p[i], own->value_index, own->delimiter, number, &arena, &value));
        TRY(set_element(&keys, (int64_t)i, key));
        TRY(set_element(&values, (int64_t)i, value));
    }
    return lookup_fill(lookup, &keys, &values);
}

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
        status = status_new(RESOURCE_EXHAUSTED, __FILE__, __LINE__, "out of memory");
    else if (own->most >= 0 && (int64_t)lines.n < own->most)
        status = status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "Invalid vocab_size in %.*s: expected %lld but got %zu",
                            STR_ARGS(path), (long long)own->most, lines.n);
    else
        status = fill_from_lines(lookup, own, &lines);
    vec_clear(&lines);
    resource_release((Resource *)lookup);
    return status;
}

#define FROM_FILE(Name, handle, more, ...)                                                                         \
    const Op op_##Name = {                                                                                         \
        .signature = #Name "(" handle ", filename: string); key_index: int >= -2; value_index: int >= -2; "        \
                     "vocab_size: int >= -1 = -1; delimiter: string = \"\\t\"; offset: int = 0" more,               \
        .doc = "Fills a table with the columns (-1: the number, -2: the whole) of a file's lines.",                \
        .needs = "scalar(filename)", .shape = shape_none, .prepare = file_prepare, .own_size = sizeof(FileOwn),     \
        .cpu = ANY_TYPE(file_run), __VA_ARGS__                                                                     \
    };
FROM_FILE(InitializeTableFromTextFile, REF_IN, "", .flags = OP_BLOCKS | OP_STATEFUL | OP_NO_GRADIENT)
FROM_FILE(InitializeTableFromTextFileV2, RESOURCE_IN, "; stateful", .flags = OP_BLOCKS | OP_NO_GRADIENT)

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
    Shape shape = UNKNOWN_SHAPE;
    TRY(values_shape(&k->in[1]->shape, &lookup_spec(lookup)->value_shape, &shape));
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
    s->out[0] = SHAPE(UNKNOWN_DIM);
    return OK;
}

static Status *export_run(Kernel *k) {
    Lookup *lookup;
    Tensor keys, values;
    TRY(find_table(k, &lookup));
    Status *status = lookup_export(lookup, &keys, &values);
    resource_release((Resource *)lookup);
    TRY(status);
    kernel_set_output(k, 0, keys);
    kernel_set_output(k, 1, values);
    NEED(keys.dtype == k->node->output_types[0] && values.dtype == k->node->output_types[1], INVALID_ARGUMENT,
         "the table is from %s to %s", dtype_name(keys.dtype), dtype_name(values.dtype));
    return OK;
}

#define FIND(Name, handle, more, flag)                                                                                \
    const Op op_##Name = {                                                                                            \
        .signature = #Name "(" handle ", keys: Tin, default_value: Tout) -> values: Tout; Tin: type; Tout: type" more, \
        .doc = "The values of keys; the default for those that are not there.", .shape = find_shape,                   \
        .cpu = ANY_TYPE(find_run), .flags = OP_LATE | OP_NO_GRADIENT | flag,                                          \
    };
FIND(LookupTableFind, REF_IN, "", OP_STATEFUL)
FIND(LookupTableFindV2, RESOURCE_IN, "; stateful", 0)
#define SIZE(Name, handle, more, flag)                                                                    \
    const Op op_##Name = {                                                                                \
        .signature = #Name "(" handle ") -> size: int64" more, .doc = "How many keys a table has.",        \
        .shape = shape_scalar, .cpu = ANY_TYPE(size_run), .flags = OP_NO_GRADIENT | flag,                  \
    };
SIZE(LookupTableSize, REF_IN, "", OP_STATEFUL)
SIZE(LookupTableSizeV2, RESOURCE_IN, "; stateful", 0)
#define EXPORT(Name, handle, more, flag)                                                                         \
    const Op op_##Name = {                                                                                       \
        .signature = #Name "(" handle ") -> keys: Tkeys, values: Tvalues; Tkeys: type; Tvalues: type" more,       \
        .doc = "All keys and values, in no order.", .shape = export_shape, .cpu = ANY_TYPE(export_run),            \
        .flags = OP_LATE | OP_NO_GRADIENT | flag,                                                                \
    };
EXPORT(LookupTableExport, REF_IN, "", OP_STATEFUL)
EXPORT(LookupTableExportV2, RESOURCE_IN, "; stateful", 0)
