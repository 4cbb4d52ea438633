// Datasets by a function — each element becomes what the function makes of it, or goes, or opens a dataset of its own.
#include "ops/data/dataset_op.h"

typedef struct {
    Source source;
    Tensor *element;       // of the input
    Source *inner;         // the dataset that an element became
    Tensor *state;         // of a scan
    bool ended;
} MapSource;

static Status *each_open(Source *source) {
    MapSource *from = (MapSource *)source;
    from->element = tuple_new(source->dataset->inputs[0]->n_components);
    NEED_MEMORY(from->element);
    return source_open(source->dataset->inputs[0], source->pipeline, source, &source->input);
}

static void each_close(Source *source) {
    MapSource *from = (MapSource *)source;
    source_close(from->inner);
    free(from->element);
}

static int64_t unknown_cardinality(const Dataset *dataset) {
    // Of endless ones none of these makes an end that can be told.
    int64_t n = dataset_cardinality(dataset->inputs[0]);
    return n == 0 ? 0 : CARDINALITY_UNKNOWN;
}

// A function that runs out of range ends the dataset, unless it shall have as many elements as its input.
static Status *map_failed(const Dataset *dataset, Status *status, bool preserves, Pulled *how) {
    if (status_code(status) != OUT_OF_RANGE)
        return status;
    if (preserves) {
        status = status_with_code(status, INVALID_ARGUMENT);
        return status_prefix(status, "Function invocation produced OutOfRangeError");
    }
    (void)dataset;
    status_free(status);
    return pulled_end(how);
}

// ---------------------------------------- map

typedef struct {
    Dataset dataset;
    bool preserves;
    Tensor *initial;       // of a scan; n_state
    int n_state;
} MapDataset;

static Status *each_position(Source *source, Position *p) {
    return position_source(p, source->input);
}

static Status *each_fill(Kernel *k, Dataset *dataset) {
    const AttrValue *preserves = node_attr_find(k->node, "preserve_cardinality");
    ((MapDataset *)dataset)->preserves = preserves && preserves->b;
    return OK;
}

static Status *each_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    MapSource *from = (MapSource *)source;
    const Dataset *dataset = source->dataset;
    int n = dataset->inputs[0]->n_components;
    TRY_NEXT(source->input, pull, from->element, how);
    if (*how == PULLED_END)
        return OK;
    Status *status = source_call(source, pull, &dataset->function, from->element, n, out, dataset->n_components);
    tuple_clear(from->element, n);
    return status ? map_failed(dataset, status, ((const MapDataset *)dataset)->preserves, how) : OK;
}

static int64_t map_cardinality(const Dataset *dataset) {
    return ((const MapDataset *)dataset)->preserves ? dataset_cardinality(dataset->inputs[0]) : CARDINALITY_UNKNOWN;
}

static const DatasetType map_type = {
    .name = "Map", .size = sizeof(MapDataset), .source_size = sizeof(MapSource), .n_inputs = 1, .function = "f",
    .fill = each_fill, .cardinality = map_cardinality, .open = each_open, .next = each_next, .close = each_close,
    .position = each_position,
};

#define CAPTURES "input_dataset: variant, other_arguments: Targuments"
const Op op_MapDataset = {
    .signature = "MapDataset(" CAPTURES ") -> handle: variant; f: func; Targuments: list(type) >= 0; " ELEMENTS
                 "; use_inter_op_parallelism: bool = true; preserve_cardinality: bool = false; force_synchronous: bool = "
                 "false" METADATA,
    .doc = "A dataset of what f makes of each element.", .keeps = BIT(1), MAKES(map_type),
};

// ---------------------------------------- filter

static Status *filter_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    const Dataset *dataset = source->dataset;
    for (;;) {
        int64_t stays = 0;
        TRY_NEXT(source->input, pull, out, how);
        if (*how == PULLED_END)
            return OK;
        Status *status = source_call_scalar(source, pull, &dataset->function, out, dataset->n_components, DT_bool, &stays);
        if (status || !stays)
            tuple_clear(out, dataset->n_components);
        if (status)
            return map_failed(dataset, status, false, how);
        if (stays)
            return OK;
    }
}

static const DatasetType filter_type = {
    .name = "Filter", .n_inputs = 1, .same = true, .function = "predicate", .cardinality = unknown_cardinality,
    .next = filter_next,
};

#define PREDICATE "; predicate: func; "
const Op op_FilterDataset = {
    .signature = "FilterDataset(" CAPTURES ") -> handle: variant" PREDICATE "Targuments: list(type) >= 0; " ELEMENTS METADATA,
    .doc = "A dataset of the elements for which the predicate is true.", .keeps = BIT(1), MAKES(filter_type),
};

const Op op_ParallelFilterDataset = {
    .signature = "ParallelFilterDataset(" CAPTURES ", num_parallel_calls: int64) -> handle: variant" PREDICATE
                 "deterministic: string = \"default\"; Targuments: list(type) >= 0; " ELEMENTS METADATA,
    .doc = "A dataset of the elements for which the predicate is true, in their order.",
    .needs = "scalar(num_parallel_calls)", .keeps = BIT(1), MAKES(filter_type),
};

// ---------------------------------------- take while

typedef struct {
    Source source;
    bool over;
} WhileSource;

static Status *while_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    const Dataset *dataset = source->dataset;
    WhileSource *from = (WhileSource *)source;
    int64_t goes_on = 0;
    if (from->over)
        return pulled_end(how);
    TRY_NEXT(source->input, pull, out, how);
    if (*how == PULLED_END)
        return OK;
    Status *status = source_call_scalar(source, pull, &dataset->function, out, dataset->n_components, DT_bool, &goes_on);
    if (!status && goes_on)
        return OK;
    tuple_clear(out, dataset->n_components);
    TRY(status);
    from->over = true;
    return pulled_end(how);
}

static Status *while_position(Source *source, Position *p) {
    TRY(position_bool(p, &((WhileSource *)source)->over));
    return position_source(p, source->input);
}

static const DatasetType while_type = {
    .name = "TakeWhile", .source_size = sizeof(WhileSource), .n_inputs = 1, .same = true, .function = "predicate",
    .cardinality = unknown_cardinality, .next = while_next, .position = while_position,
};

const Op op_TakeWhileDataset = {
    .signature = "TakeWhileDataset(" CAPTURES ") -> handle: variant" PREDICATE "Targuments: list(type) >= 0; " ELEMENTS
                 METADATA,
    .doc = "A dataset of the elements before the first for which the predicate is false.", .keeps = BIT(1),
    MAKES(while_type),
};

// ---------------------------------------- flat map

static Status *flat_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    MapSource *from = (MapSource *)source;
    int n = source->dataset->inputs[0]->n_components;
    for (;;) {
        if (!from->inner) {
            TRY_NEXT(source->input, pull, from->element, how);
            if (*how == PULLED_END)
                return OK;
            Status *status = source_call_open(source, pull, &source->dataset->function, from->element, n, &from->inner);
            if (status)
                tuple_clear(from->element, n);
            TRY(status);
        }
        TRY_NEXT(from->inner, pull, out, how);
        if (*how == PULLED)
            return OK;
        source_close(from->inner);
        from->inner = NULL;
        tuple_clear(from->element, n);
    }
}

// The element is kept while its dataset is open, for the one who makes that again.
static void flat_close(Source *source) {
    MapSource *from = (MapSource *)source;
    if (from->element)
        tuple_clear(from->element, source->dataset->inputs[0]->n_components);
    each_close(source);
}

static Status *flat_position(Source *source, Position *p) {
    MapSource *from = (MapSource *)source;
    const Dataset *input = source->dataset->inputs[0];
    TRY(position_source(p, source->input));
    return position_made(p, source, &source->dataset->function, from->element, input->n_components, input->dtypes,
                         &from->inner);
}

static const DatasetType flat_type = {
    .name = "FlatMap", .source_size = sizeof(MapSource), .n_inputs = 1, .function = "f", .cardinality = unknown_cardinality,
    .open = each_open, .next = flat_next, .close = flat_close, .position = flat_position,
};

const Op op_FlatMapDataset = {
    .signature = "FlatMapDataset(" CAPTURES ") -> handle: variant; f: func; Targuments: list(type) >= 0; " ELEMENTS METADATA,
    .doc = "A dataset of the elements of the datasets that f makes of each element.", .keeps = BIT(1), MAKES(flat_type),
};

// ---------------------------------------- scan and reduce

// State and element become the next state, and the element that comes out.
static Status *state_fill(Kernel *k, Dataset *dataset) {
    MapDataset *own = (MapDataset *)dataset;
    int first;
    node_input_arg(k->node, STR("initial_state"), &first, &own->n_state);
    own->initial = ARENA_ARRAY(&dataset->arena, Tensor, own->n_state);
    NEED_MEMORY(own->initial && vec_reserve(&dataset->captured, dataset->captured.n + (size_t)own->n_state));
    for (int i = 0; i < own->n_state; i++) {
        TRY(kernel_keep(k, first + i, &own->initial[i]));
        dataset->captured.p[dataset->captured.n++] = own->initial[i];
    }
    return each_fill(k, dataset);
}

static Status *state_open(Source *source) {
    MapSource *from = (MapSource *)source;
    const MapDataset *own = (const MapDataset *)source->dataset;
    from->state = tuple_new(own->n_state);
    NEED_MEMORY(from->state);
    tuple_retain(own->initial, own->n_state, from->state);
    return each_open(source);
}

static void state_close(Source *source) {
    MapSource *from = (MapSource *)source;
    if (from->state)
        tuple_clear(from->state, ((const MapDataset *)source->dataset)->n_state);
    free(from->state);
    each_close(source);
}

// Calls the function on the state and the input's element; what comes first of its results is the state's.
static Status *state_call(MapSource *from, const Pull *pull, Tensor *out, int n_out) {
    const MapDataset *own = (const MapDataset *)from->source.dataset;
    int n = own->dataset.inputs[0]->n_components, n_all = own->n_state + n;
    Tensor *all = tuple_new(n_all), *results = tuple_new(own->n_state + n_out);
    Status *status = all && results ? OK : OUT_OF_MEMORY;
    if (!status) {
        memcpy(all, from->state, (size_t)own->n_state * sizeof *all);
        memcpy(all + own->n_state, from->element, (size_t)n * sizeof *all);
        status = source_call(&from->source, pull, &own->dataset.function, all, n_all, results, own->n_state + n_out);
    }
    for (int i = 0; i < own->n_state && !status; i++)
        if (results[i].dtype != own->initial[i].dtype) {
            status = status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "state %d is of type %s, but becomes a %s", i,
                                dtype_name(own->initial[i].dtype), dtype_name(results[i].dtype));
            tuple_clear(results, own->n_state + n_out);
        }
    if (!status) {
        tuple_clear(from->state, own->n_state);
        memcpy(from->state, results, (size_t)own->n_state * sizeof *results);
        memcpy(out, results + own->n_state, (size_t)n_out * sizeof *results);
    }
    tuple_clear(from->element, n);
    free(all);
    free(results);
    return status;
}

static Status *state_position(Source *source, Position *p) {
    MapSource *from = (MapSource *)source;
    const MapDataset *own = (const MapDataset *)source->dataset;
    for (int i = 0; i < own->n_state; i++) {
        if (p->loads)
            tensor_clear(&from->state[i]);
        TRY(position_tensor(p, &from->state[i], own->initial[i].dtype));
        NEED(from->state[i].dtype == own->initial[i].dtype, DATA_LOSS, "the state of a scan is damaged");
    }
    TRY(position_bool(p, &from->ended));
    return position_source(p, source->input);
}

static Status *scan_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    MapSource *from = (MapSource *)source;
    TRY_NEXT(source->input, pull, from->element, how);
    if (*how == PULLED_END)
        return OK;
    Status *status = state_call(from, pull, out, source->dataset->n_components);
    return status ? map_failed(source->dataset, status, ((const MapDataset *)source->dataset)->preserves, how) : OK;
}

static const DatasetType scan_type = {
    .name = "Scan", .size = sizeof(MapDataset), .source_size = sizeof(MapSource), .n_inputs = 1, .function = "f",
    .fill = state_fill, .cardinality = map_cardinality, .open = state_open, .next = scan_next, .close = state_close,
    .position = state_position,
};

#define STATE "initial_state: Tstate, other_arguments: Targuments)"
const Op op_ScanDataset = {
    .signature = "ScanDataset(input_dataset: variant, " STATE " -> handle: variant; f: func; Tstate: list(type) >= 1; "
                 "Targuments: list(type) >= 0; " ELEMENTS "; preserve_cardinality: bool = false; use_default_device: bool = "
                 "true" METADATA,
    .doc = "A dataset of what f makes of a state and each element, which becomes the next state too.",
    .keeps = BIT(1) | BIT(2), MAKES(scan_type),
};

static Status *reduce_fill(Kernel *k, Dataset *dataset) {
    TRY(state_fill(k, dataset));
    const MapDataset *own = (const MapDataset *)dataset;
    NEED(own->n_state == dataset->n_components, INVALID_ARGUMENT, "a state of %d components that gives %d", own->n_state,
         dataset->n_components);
    return OK;
}

// One element: the last state.
static Status *reduce_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    MapSource *from = (MapSource *)source;
    if (from->ended)
        return pulled_end(how);
    for (;;) {
        TRY_NEXT(source->input, pull, from->element, how);
        if (*how == PULLED_END)
            break;
        Status *status = state_call(from, pull, out, 0);
        if (status && status_code(status) != OUT_OF_RANGE)
            return status;
        if (status) {  // the function says that it is over
            status_free(status);
            break;
        }
    }
    from->ended = true;
    tuple_retain(from->state, source->dataset->n_components, out);
    return pulled(how);
}

static const DatasetType reduce_type = {
    .name = "Reduce", .size = sizeof(MapDataset), .source_size = sizeof(MapSource), .n_inputs = 1, .function = "f",
    .fill = reduce_fill, .open = state_open, .next = reduce_next, .close = state_close,
};

// ---------------------------------------- to one element

typedef struct {
    Source source;
    Tensor *second;
    Tensor *first;
    bool has_first;
} SingleSource;

static Status *single_open(Source *source) {
    SingleSource *from = (SingleSource *)source;
    from->first = tuple_new(source->dataset->n_components);
    from->second = tuple_new(source->dataset->n_components);
    NEED_MEMORY(from->first && from->second);
    return source_open(source->dataset->inputs[0], source->pipeline, source, &source->input);
}

static void single_close(Source *source) {
    SingleSource *from = (SingleSource *)source;
    if (from->first)
        tuple_clear(from->first, source->dataset->n_components);
    free(from->first);
    free(from->second);
}

static Status *single_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    SingleSource *from = (SingleSource *)source;
    int n = source->dataset->n_components;
    if (!from->has_first) {
        TRY_NEXT(source->input, pull, from->first, how);
        NEED(*how == PULLED, INVALID_ARGUMENT, "Dataset was empty.");
        from->has_first = true;
    }
    TRY_NEXT(source->input, pull, from->second, how);
    if (*how == PULLED)
        tuple_clear(from->second, n);
    NEED(*how == PULLED_END, INVALID_ARGUMENT, "Dataset had more than one element.");
    memcpy(out, from->first, (size_t)n * sizeof *out);
    memset(from->first, 0, (size_t)n * sizeof *out);
    return pulled(how);
}

static const DatasetType single_type = {
    .name = "Single", .source_size = sizeof(SingleSource), .n_inputs = 1, .same = true, .open = single_open,
    .next = single_next, .close = single_close,
};

#define GIVES_ONE(type) \
    .shape = dataset_element_shape, .start = dataset_one_start, .row = &(type), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT

const Op op_ReduceDataset = {
    .signature = "ReduceDataset(input_dataset: variant, " STATE " -> components: output_types; f: func; "
                 "Tstate: list(type) >= 1; Targuments: list(type) >= 0; " ELEMENTS
                 "; use_inter_op_parallelism: bool = true" METADATA "; stateful",
    .doc = "The state after f has made the next of it and of each element in turn.", .keeps = BIT(1) | BIT(2),
    GIVES_ONE(reduce_type),
};

const Op op_DatasetToSingleElement = {
    .signature = "DatasetToSingleElement(dataset: variant) -> components: output_types; " ELEMENTS METADATA "; stateful",
    .doc = "The only element of a dataset.", .needs = "scalar(dataset)", GIVES_ONE(single_type),
};
