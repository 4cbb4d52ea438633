// Cache — a dataset that keeps its elements: the first pass that is complete fills it, later ones read it. In memory, or in a
// checkpoint under the name of a file, laid out as TensorFlow's.
#include <stdio.h>

#include "file/bundle.h"
#include "ops/data/dataset_op.h"
#include "resource/resource.h"

// ---------------------------------------- what is kept

typedef struct {
    Resource resource;
    Mutex lock;
    Tuples elements;     // guarded by lock; unchanged once it is complete
    bool complete;       // guarded by lock
} MemoryCache;

static void memory_clear(Resource *resource) {
    MemoryCache *cache = (MemoryCache *)resource;
    tuples_clear(&cache->elements);
    mutex_clear(&cache->lock);
}

static const ResourceType memory_type = {"MemoryCache", sizeof(MemoryCache), memory_clear, NULL};

static Status *memory_new(MemoryCache **out) {
    Resource *resource;
    TRY(resource_new(&memory_type, &resource));
    *out = (MemoryCache *)resource;
    mutex_init(&(*out)->lock);
    return OK;
}

static bool memory_is_complete(MemoryCache *cache) {
    mutex_lock(&cache->lock);
    bool complete = cache->complete;
    mutex_unlock(&cache->lock);
    return complete;
}

// The first to come fills it.
static void memory_complete(MemoryCache *cache, Tuples *elements) {
    mutex_lock(&cache->lock);
    if (!cache->complete) {
        cache->elements = *elements;
        cache->complete = true;
        *elements = (Tuples){.width = elements->width};
    }
    mutex_unlock(&cache->lock);
}

static Status *memory_run(Kernel *k) {
    MemoryCache *cache;
    TRY(memory_new(&cache));
    AUTO(resource) Resource *resource = &cache->resource;
    return nameless_output(k, resource);
}

static Status *dummy_run(Kernel *k) {
    return nameless_dummy(k, &memory_type);
}

const Op op_AnonymousMemoryCache = {
    .signature = "AnonymousMemoryCache() -> handle: resource, deleter: variant; stateful",
    .doc = "Memory for a dataset that keeps its elements.", .shape = shape_scalar, .cpu = ANY_TYPE(memory_run),
    .flags = OP_DYNAMIC_SHAPE | OP_CHEAP | OP_NO_GRADIENT,
};
const Op op_DummyMemoryCache = {
    .signature = "DummyMemoryCache() -> handle: resource; stateful", .doc = "Stands for no memory of a cache's own.",
    .shape = shape_scalar, .cpu = ANY_TYPE(dummy_run), .flags = OP_DYNAMIC_SHAPE | OP_CHEAP | OP_NO_GRADIENT,
};
const Op op_DeleteMemoryCache = {
    .signature = "DeleteMemoryCache(handle: resource, deleter: variant); stateful", .doc = "Lets the memory of a cache go.",
    .shape = shape_none, .cpu = ANY_TYPE(kernel_nothing), .flags = OP_NO_GRADIENT,  // it goes with its last handle
};

// ---------------------------------------- the dataset

typedef struct {
    Dataset dataset;
    Str file;            // empty: in memory
    MemoryCache *memory;
} CacheDataset;

typedef struct {
    Source source;
    Tuples elements;     // of a pass that fills the memory
    BundleWriter writer; // of one that fills the file, while `writes`
    BundleReader reader; // of one that reads it, while `opened`
    int64_t at;
    int64_t skips;       // elements that a pass before gave already
    bool writes, opened, reads, ended;
} CacheSource;

static Status *cache_fill(Kernel *k, Dataset *dataset) {
    CacheDataset *own = (CacheDataset *)dataset;
    NEED(k->in[1]->shape.rank == 0, INVALID_ARGUMENT, "filename must be a scalar");
    own->file = str_copy(&dataset->arena, tstring_str(k->in[1]->data));
    NEED_MEMORY(own->file.p);
    Resource *resource;
    TRY(nameless_input(k, "cache", &memory_type, &resource));
    own->memory = (MemoryCache *)resource;
    return resource ? OK : memory_new(&own->memory);
}

static void cache_clear(Dataset *dataset) {
    MemoryCache *memory = ((CacheDataset *)dataset)->memory;
    resource_release(memory ? &memory->resource : NULL);
}

// Cells are named by the element and the component, each padded with blanks to the width of the largest: seven digits,
// and those of n_components - 1.
static void cell_name(int64_t element, int component, int n_components, char name[48]) {
    int width = n_components <= 10 ? 1 : n_components <= 100 ? 2 : n_components <= 1000 ? 3 : 4;
    snprintf(name, 48, "%7lld_%*d", (long long)element, width, component);
}

static Status *cache_open(Source *source) {
    CacheSource *from = (CacheSource *)source;
    const CacheDataset *own = (const CacheDataset *)source->dataset;
    from->elements.width = source->dataset->n_components;
    if (own->file.n && bundle_exists(own->file)) {
        TRY(bundle_open(own->file, &from->reader));
        from->opened = from->reads = true;
    } else if (own->file.n) {
        TRY(bundle_writer_open(own->file, &from->writer));
        from->writes = true;
    } else {
        from->reads = memory_is_complete(own->memory);
    }
    return from->reads ? OK : source_open(source->dataset->inputs[0], source->pipeline, source, &source->input);
}

// A pass that was not complete leaves nothing.
static void cache_close(Source *source) {
    CacheSource *from = (CacheSource *)source;
    tuples_clear(&from->elements);
    if (from->opened)
        bundle_close(&from->reader);
    if (from->writes)
        bundle_writer_drop(&from->writer);
}

static Status *read_cells(CacheSource *from, Tensor *out, Pulled *how) {
    int n = from->source.dataset->n_components;
    for (int c = 0; c < n; c++) {
        char name[48];
        cell_name(from->at, c, n, name);
        BundleEntry entry;
        Status *status = bundle_find(&from->reader, str_of(name), &entry);
        if (!c && status_code(status) == NOT_FOUND) {
            status_free(status);
            return pulled_end(how);
        }
        if (!status)
            status = bundle_read(&from->reader, str_of(name), &entry, NULL, &out[c]);
        if (status) {
            tuple_clear(out, c);
            return status;
        }
    }
    from->at++;
    return pulled(how);
}

static Status *read_memory(CacheSource *from, Tensor *out, Pulled *how) {
    const Tuples *elements = &((const CacheDataset *)from->source.dataset)->memory->elements;
    if (from->at >= (int64_t)tuples_count(elements))
        return pulled_end(how);
    NEED(elements->width == from->elements.width, INVALID_ARGUMENT, "the cache holds elements of %d components, expected %d",
         elements->width, from->elements.width);
    tuple_retain(tuples_at(elements, (size_t)from->at++), elements->width, out);
    return pulled(how);
}

static Status *keep(CacheSource *from, const Tensor *out) {
    int n = from->source.dataset->n_components;
    if (!from->writes) {
        Tensor *copy = tuple_new(n);
        NEED_MEMORY(copy);
        tuple_retain(out, n, copy);
        Status *status = tuples_push(&from->elements, copy);
        free(copy);
        return status;
    }
    for (int c = 0; c < n; c++) {
        char name[48];
        cell_name(from->at, c, n, name);
        TRY(bundle_add(&from->writer, str_of(name), &out[c]));
    }
    from->at++;
    return OK;
}

static Status *complete(CacheSource *from) {
    if (from->ended)
        return OK;
    from->ended = true;
    if (!from->writes) {
        memory_complete(((const CacheDataset *)from->source.dataset)->memory, &from->elements);
        return OK;
    }
    return bundle_commit(&from->writer);
}

static Status *cache_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    CacheSource *from = (CacheSource *)source;
    if (from->reads)
        return from->opened ? read_cells(from, out, how) : read_memory(from, out, how);
    if (from->ended)
        return pulled_end(how);
    for (;;) {
        TRY_NEXT(source->input, pull, out, how);
        if (*how == PULLED_END)
            return complete(from);
        Status *status = keep(from, out);
        if (status || from->skips)
            tuple_clear(out, source->dataset->n_components);
        if (status || !from->skips)
            return status;
        from->skips--;
    }
}

// How a pass stands to what is kept: it fills it or reads it.
typedef enum { FILLS_MEMORY, READS_MEMORY, FILLS_FILE, READS_FILE, WAYS } Way;

static Way way_of(const CacheSource *from) {
    if (((const CacheDataset *)from->source.dataset)->file.n)
        return from->reads || from->ended ? READS_FILE : FILLS_FILE;
    return from->reads ? READS_MEMORY : FILLS_MEMORY;
}

// A file that was being written is gone with who wrote it: the pass begins anew, and gives nothing that it gave before.
static Status *position_in_file(CacheSource *from, Position *p) {
    int64_t gave = from->skips ? from->skips : from->at;
    TRY(position_int(p, &gave, 0, INT64_MAX));
    if (p->loads && from->reads)
        from->at = gave;
    else if (p->loads)
        from->skips = gave;
    return OK;
}

static Status *position_in_memory(CacheSource *from, Position *p, Way way) {
    Source *source = &from->source;
    if (p->loads)
        from->reads = way == READS_MEMORY;
    TRY(position_int(p, &from->at, 0, INT64_MAX));
    TRY(position_bool(p, &from->ended));
    TRY(position_tuples(p, &from->elements, source->dataset->dtypes, false));
    return position_input(p, source, source->dataset->inputs[0]);
}

static Status *cache_position(Source *source, Position *p) {
    CacheSource *from = (CacheSource *)source;
    int64_t way = way_of(from), has_file = way >= FILLS_FILE;
    TRY(position_int(p, &way, 0, WAYS - 1));
    NEED(has_file == (way >= FILLS_FILE), INVALID_ARGUMENT, "The state is one of another cache");
    TRY(has_file ? position_in_file(from, p) : position_in_memory(from, p, (Way)way));
    NEED(source->input || from->reads, DATA_LOSS, "the state of a cache is damaged");
    return OK;
}

// What is kept in memory, for passes to come.
static Status *cache_shared(const Dataset *dataset, Position *p) {
    const CacheDataset *own = (const CacheDataset *)dataset;
    bool complete = !own->file.n && memory_is_complete(own->memory);
    TRY(position_bool(p, &complete));
    if (!complete)
        return OK;
    if (!p->loads)
        return position_tuples(p, &own->memory->elements, dataset->dtypes, false);
    Tuples elements = {.width = dataset->n_components};
    Status *status = position_tuples(p, &elements, dataset->dtypes, false);
    if (!status)
        memory_complete(own->memory, &elements);
    tuples_clear(&elements);
    return status;
}

static const DatasetType cache_type = {
    .name = "Cache", .size = sizeof(CacheDataset), .source_size = sizeof(CacheSource), .n_inputs = 1, .same = true,
    .fill = cache_fill, .clear = cache_clear, .open = cache_open, .next = cache_next, .close = cache_close,
    .position = cache_position, .shared = cache_shared,
};

#define KEEPS_ELEMENTS .doc = "A dataset that keeps its elements, in memory or in a file.", MAKES(cache_type)
const Op op_CacheDataset = {
    .signature = "CacheDataset(input_dataset: variant, filename: string) -> handle: variant; " ELEMENTS METADATA,
    .needs = "scalar(filename)", KEEPS_ELEMENTS,
};
const Op op_CacheDatasetV2 = {
    .signature = "CacheDatasetV2(input_dataset: variant, filename: string, cache: resource) -> handle: variant; " ELEMENTS
                 METADATA "; stateful",
    .needs = "scalar(filename), scalar(cache)", KEEPS_ELEMENTS,
};
