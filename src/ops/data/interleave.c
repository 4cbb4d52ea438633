// Interleave — a dataset of the elements of several datasets in turn, each made by a function of an element.
//
// The parallel ones have the same order; the datasets that are open fetch ahead, each by itself.
#include "data/ahead.h"
#include "ops/data/dataset_op.h"
#include "thread/pool.h"

typedef struct {
    Dataset dataset;
    int64_t cycle, block;
    int64_t ahead;         // elements that each dataset fetches ahead; 0: none
} InterleaveDataset;

typedef struct {
    Source *source;
    Ahead *ahead;          // over the source, which is its own then
    Tensor *made_of;       // the input's element, for who makes the source again
} Turn;

typedef struct {
    Source source;
    Turn *turns;           // of the cycle
    Tensor *element;
    int64_t at, in_block;
    int64_t open;
    bool ended;            // the input
} InterleaveSource;

enum { CYCLE_MOST = 1 << 20, AUTOTUNE = -1 };

static bool has_input(const Kernel *k, const char *argument) {
    int first, count;
    return node_input_arg(k->node, str_of(argument), &first, &count) >= 0;
}

static Status *interleave_fill(Kernel *k, Dataset *dataset) {
    InterleaveDataset *own = (InterleaveDataset *)dataset;
    int64_t calls = 1, buffer = AUTOTUNE;
    TRY(dataset_int(k, "cycle_length", &own->cycle));
    TRY(dataset_int(k, "block_length", &own->block));
    if (has_input(k, "num_parallel_calls")) {
        TRY(dataset_int(k, "num_parallel_calls", &calls));
        NEED(calls > 0 || calls == AUTOTUNE, INVALID_ARGUMENT, "num_parallel_calls must be greater than zero.");
        own->cycle = own->cycle == AUTOTUNE ? pool_limit() : own->cycle;
        NEED(calls <= own->cycle, INVALID_ARGUMENT,
             "num_parallel_calls must less than or equal to cycle_length.");
    } else if (has_input(k, "buffer_output_elements")) {
        calls = AUTOTUNE;
    }
    if (has_input(k, "buffer_output_elements")) {
        TRY(dataset_int(k, "buffer_output_elements", &buffer));
        NEED(buffer > 0 || buffer == AUTOTUNE, INVALID_ARGUMENT, "`buffer_output_elements` must be %d or greater than 0 but is %lld",
             AUTOTUNE, (long long)buffer);
        int64_t inputs;
        TRY(dataset_int(k, "prefetch_input_elements", &inputs));
        NEED(inputs >= AUTOTUNE, INVALID_ARGUMENT, "`prefetch_input_elements` must be %d or at least 0 but is %lld", AUTOTUNE,
             (long long)inputs);
    }
    NEED(own->cycle > 0, INVALID_ARGUMENT, "cycle_length must be greater than zero.");
    NEED(own->block > 0, INVALID_ARGUMENT, "block_length must be greater than zero.");
    NEED(own->cycle <= CYCLE_MOST, INVALID_ARGUMENT, "cycle_length is %lld, at most %d", (long long)own->cycle, CYCLE_MOST);
    if (calls != 1)
        own->ahead = buffer > 0 ? buffer : own->block < 16 ? own->block + 1 : 16;
    return OK;
}

static int64_t interleave_cardinality(const Dataset *dataset) {
    return dataset_cardinality(dataset->inputs[0]) == 0 ? 0 : CARDINALITY_UNKNOWN;
}

static Status *interleave_open(Source *source) {
    InterleaveSource *from = (InterleaveSource *)source;
    from->turns = calloc((size_t)((const InterleaveDataset *)source->dataset)->cycle, sizeof *from->turns);
    from->element = tuple_new(source->dataset->inputs[0]->n_components);
    NEED_MEMORY(from->turns && from->element);
    return source_open(source->dataset->inputs[0], source->pipeline, source, &source->input);
}

static void turn_close(const InterleaveSource *from, Turn *turn) {
    ahead_close(turn->ahead);
    source_close(turn->source);
    if (turn->made_of)
        tuple_clear(turn->made_of, from->source.dataset->inputs[0]->n_components);
    free(turn->made_of);
    *turn = (Turn){0};
}

static void interleave_close(Source *source) {
    InterleaveSource *from = (InterleaveSource *)source;
    for (int64_t i = 0; from->turns && i < ((const InterleaveDataset *)source->dataset)->cycle; i++)
        turn_close(from, &from->turns[i]);
    free(from->turns);
    free(from->element);
}

static void next_turn(InterleaveSource *from) {
    from->in_block = 0;
    from->at = (from->at + 1) % ((const InterleaveDataset *)from->source.dataset)->cycle;  // not zero
}

static Status *fetch_ahead(const InterleaveDataset *own, Turn *turn) {
    Source *source = turn->source;
    if (!own->ahead)
        return OK;
    AheadSpec spec = {.limit = own->ahead, .calls = 1, .dataset = source->dataset};
    turn->source = NULL;  // taken over, also on failure
    return ahead_new(&spec, source, &turn->ahead);
}

// Opens a dataset where the turn has none, of the input's next element.
static Status *open_turn(InterleaveSource *from, const Pull *pull, Turn *turn, Pulled *how) {
    const InterleaveDataset *own = (const InterleaveDataset *)from->source.dataset;
    int n = own->dataset.inputs[0]->n_components;
    TRY_NEXT(from->source.input, pull, from->element, how);
    from->ended = *how == PULLED_END;
    if (from->ended)
        return OK;
    turn->made_of = turn->made_of ? turn->made_of : tuple_new(n);
    Status *status = turn->made_of ? source_call_open(&from->source, pull, &own->dataset.function, from->element, n,
                                                      &turn->source)
                                   : OUT_OF_MEMORY;
    if (status) {
        tuple_clear(from->element, n);
        return status;
    }
    memcpy(turn->made_of, from->element, (size_t)n * sizeof *from->element);
    memset(from->element, 0, (size_t)n * sizeof *from->element);
    TRY(fetch_ahead(own, turn));
    from->open++;
    return OK;
}

static Status *turn_next(const Turn *turn, const Pull *pull, Tensor *out, Pulled *how) {
    return turn->ahead ? ahead_next(turn->ahead, pull, out, how) : source_next(turn->source, pull, out, how);
}

static Status *interleave_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    InterleaveSource *from = (InterleaveSource *)source;
    const InterleaveDataset *own = (const InterleaveDataset *)source->dataset;
    while (!from->ended || from->open) {
        Turn *turn = &from->turns[from->at];
        if (turn->source || turn->ahead) {
            TRY(turn_next(turn, pull, out, how));
            if (*how == PULLED_LATER)
                return OK;
            if (*how == PULLED) {
                if (++from->in_block == own->block)
                    next_turn(from);
                return OK;
            }
            turn_close(from, turn);
            from->open--;
            next_turn(from);
        } else if (!from->ended) {
            *how = PULLED;
            TRY(open_turn(from, pull, turn, how));
            if (*how == PULLED_LATER)
                return OK;
        } else {
            next_turn(from);
        }
    }
    return pulled_end(how);
}

static Status *turn_position(InterleaveSource *from, Position *p, Turn *turn) {
    const Dataset *dataset = from->source.dataset, *input = dataset->inputs[0];
    bool open = turn->source || turn->ahead;
    TRY(position_bool(p, &open));
    if (!open)
        return OK;
    if (!p->loads) {
        TRY(position_tuple(p, turn->made_of, input->n_components, input->dtypes));
    } else {
        turn->made_of = tuple_new(input->n_components);
        NEED_MEMORY(turn->made_of);
        TRY(position_tuple(p, turn->made_of, input->n_components, input->dtypes));
        TRY(position_remake(p, &from->source, &dataset->function, turn->made_of, input->n_components, &turn->source));
        TRY(fetch_ahead((const InterleaveDataset *)dataset, turn));
        from->open++;
    }
    return turn->ahead ? ahead_position(turn->ahead, p) : position_pass(p, turn->source);
}

static Status *interleave_position(Source *source, Position *p) {
    InterleaveSource *from = (InterleaveSource *)source;
    const InterleaveDataset *own = (const InterleaveDataset *)source->dataset;
    TRY(position_int(p, &from->at, 0, own->cycle - 1));
    TRY(position_int(p, &from->in_block, 0, own->block - 1));
    TRY(position_bool(p, &from->ended));
    TRY(position_source(p, source->input));
    for (int64_t i = 0; i < own->cycle; i++)
        TRY(turn_position(from, p, &from->turns[i]));
    return OK;
}

static const DatasetType interleave_type = {
    .name = "Interleave", .size = sizeof(InterleaveDataset), .source_size = sizeof(InterleaveSource), .n_inputs = 1,
    .function = "f", .fill = interleave_fill, .cardinality = interleave_cardinality, .open = interleave_open,
    .next = interleave_next, .close = interleave_close, .position = interleave_position,
};

#define CYCLES "(input_dataset: variant, other_arguments: Targuments, cycle_length: int64, block_length: int64"
#define MAKES_BY_F ") -> handle: variant; f: func; "
#define CAPTURED "Targuments: list(type) >= 0; "
#define INTERLEAVES                                                                                                  \
    .doc = "A dataset of the elements of cycle_length datasets in turn, block_length of each.", .keeps = BIT(1),     \
    MAKES(interleave_type)
#define BUFFERS ", buffer_output_elements: int64, prefetch_input_elements: int64"
#define ORDER "deterministic: string = \"default\"; "
const Op op_InterleaveDataset = {
    .signature = "InterleaveDataset" CYCLES MAKES_BY_F CAPTURED ELEMENTS METADATA, INTERLEAVES,
};
const Op op_ParallelInterleaveDataset = {
    .signature = "ParallelInterleaveDataset" CYCLES ", sloppy: bool" BUFFERS MAKES_BY_F CAPTURED ELEMENTS METADATA, INTERLEAVES,
};
const Op op_LegacyParallelInterleaveDatasetV2 = {
    .signature = "LegacyParallelInterleaveDatasetV2" CYCLES BUFFERS MAKES_BY_F ORDER CAPTURED ELEMENTS METADATA, INTERLEAVES,
};
const Op op_ParallelInterleaveDatasetV2 = {
    .signature = "ParallelInterleaveDatasetV2" CYCLES ", num_parallel_calls: int64" MAKES_BY_F CAPTURED ELEMENTS
                 "; sloppy: bool = false" METADATA,
    INTERLEAVES,
};
const Op op_ParallelInterleaveDatasetV3 = {
    .signature = "ParallelInterleaveDatasetV3" CYCLES ", num_parallel_calls: int64" MAKES_BY_F ORDER CAPTURED ELEMENTS METADATA,
    INTERLEAVES,
};
const Op op_ParallelInterleaveDatasetV4 = {
    .signature = "ParallelInterleaveDatasetV4" CYCLES BUFFERS ", num_parallel_calls: int64" MAKES_BY_F ORDER CAPTURED ELEMENTS
                 METADATA,
    INTERLEAVES,
};
