// Range — a dataset of numbers.
#include "ops/data/dataset_op.h"

typedef struct {
    Dataset dataset;
    int64_t start, step, n;
} RangeDataset;

typedef struct {
    Source source;
    int64_t at;
} RangeSource;

// How many numbers lie between, whatever the signs.
static int64_t range_count(int64_t start, int64_t stop, int64_t step) {
    if (step > 0 ? start >= stop : start <= stop)
        return 0;
    uint64_t span = step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
    uint64_t stride = step > 0 ? (uint64_t)step : -(uint64_t)step;
    uint64_t n = (span - 1) / stride + 1;
    return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

static Status *range_fill(Kernel *k, Dataset *dataset) {
    RangeDataset *own = (RangeDataset *)dataset;
    int64_t stop;
    TRY(dataset_int(k, "start", &own->start));
    TRY(dataset_int(k, "stop", &stop));
    TRY(dataset_int(k, "step", &own->step));
    NEED(own->step != 0, INVALID_ARGUMENT, "step must be a non-zero integer.");
    NEED(dataset->n_components == 1, INVALID_ARGUMENT, "a range of %d components", dataset->n_components);
    own->n = range_count(own->start, stop, own->step);
    return OK;
}

static int64_t range_cardinality(const Dataset *dataset) {
    return ((const RangeDataset *)dataset)->n;
}

static Status *put_number(DType dtype, int64_t value, Tensor *out) {
    TRY(tensor_new(dtype, SCALAR_SHAPE, out));
    switch ((int)dtype) {
#define NUMBER(token, type)               \
    case DT_##token:                      \
        *(type *)out->data = (type)value; \
        return OK;
    NUMBER(int64, int64_t) NUMBER(int32, int32_t) NUMBER(int16, int16_t) NUMBER(int8, int8_t)
    NUMBER(uint64, uint64_t) NUMBER(uint32, uint32_t) NUMBER(uint16, uint16_t) NUMBER(uint8, uint8_t)
    NUMBER(float, float) NUMBER(double, double)
#undef NUMBER
    case DT_half:
        *(Half *)out->data = half_from_float((float)value);
        return OK;
    case DT_bfloat16:
        *(Bfloat16 *)out->data = bfloat16_from_float((float)value);
        return OK;
    default:
        tensor_clear(out);
        FAIL(INVALID_ARGUMENT, "Unsupported data type: %s", dtype_name(dtype));
    }
}

static Status *range_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    (void)pull;
    const RangeDataset *own = (const RangeDataset *)source->dataset;
    RangeSource *from = (RangeSource *)source;
    if (from->at == own->n)
        return pulled_end(how);
    int64_t value = (int64_t)((uint64_t)own->start + (uint64_t)from->at * (uint64_t)own->step);
    TRY(put_number(own->dataset.dtypes[0], value, &out[0]));
    from->at++;
    return pulled(how);
}

static Status *range_position(Source *source, Position *p) {
    return position_int(p, &((RangeSource *)source)->at, 0, ((const RangeDataset *)source->dataset)->n);
}

static const DatasetType range_type = {
    .name = "Range", .size = sizeof(RangeDataset), .source_size = sizeof(RangeSource), .fill = range_fill,
    .cardinality = range_cardinality, .next = range_next, .position = range_position,
};

const Op op_RangeDataset = {
    .signature = "RangeDataset(start: int64, stop: int64, step: int64) -> handle: variant; " ELEMENTS METADATA
                 "; replicate_on_split: bool = false; stateful",
    .doc = "A dataset of the numbers from start to before stop, step apart.",
    .needs = "scalar(start), scalar(stop), scalar(step)", MAKES(range_type),
};
