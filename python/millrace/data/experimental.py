"""experimental — tf.data.experimental and tf.contrib.data: transformations for Dataset.apply."""
from .. import dtypes
from ..convert import convert_to_tensor
from ..ops_apply import apply_op
from . import structure as st
from .dataset import (AUTOTUNE, Dataset, Options, TextLineDataset, TFRecordDataset, _add_batch, _batch_extent, _int64,
                      get_output_classes, get_output_shapes, get_output_types)
from .with_function import ElementFunction

__all__ = ["AUTOTUNE", "Options", "TFRecordDataset", "get_output_classes", "get_output_shapes", "get_output_types"]
INFINITE_CARDINALITY, UNKNOWN_CARDINALITY = -1, -2


def map_and_batch(map_func, batch_size, num_parallel_batches=None, drop_remainder=False, num_parallel_calls=None):
    """dataset.map(...).batch(...)."""
    def transform(dataset):
        function = ElementFunction(map_func, dataset._structure, "map_and_batch")
        calls = num_parallel_calls if num_parallel_calls is not None else (num_parallel_batches or 1) * batch_size \
            if isinstance(batch_size, int) else 1
        structure = _add_batch(function.structure, _batch_extent(batch_size, drop_remainder))
        return dataset._next("MapAndBatchDataset", {
            "other_arguments": function.captured, "f": function, "batch_size": _int64(batch_size),
            "num_parallel_calls": _int64(calls), "drop_remainder": convert_to_tensor(drop_remainder, dtypes.bool)},
            structure)
    return transform


map_and_batch_with_legacy_function = map_and_batch


def shuffle_and_repeat(buffer_size, count=None, seed=None):
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def parallel_interleave(map_func, cycle_length, block_length=1, sloppy=False, buffer_output_elements=None,
                        prefetch_input_elements=None):
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


sloppy_interleave = parallel_interleave


def batch_and_drop_remainder(batch_size):
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(batch_size, padded_shapes, padding_values=None):
    return lambda dataset: dataset.padded_batch(batch_size, padded_shapes, padding_values, drop_remainder=True)


def unbatch():
    return lambda dataset: dataset.unbatch()


def enumerate_dataset(start=0):
    return lambda dataset: dataset.enumerate(start)


def ignore_errors(log_warning=False):
    return lambda dataset: dataset._next("IgnoreErrorsDataset")


def take_while(predicate):
    def transform(dataset):
        function = ElementFunction(predicate, dataset._structure, "take_while")
        return dataset._next("TakeWhileDataset", {"other_arguments": function.captured, "predicate": function})
    return transform


def copy_to_device(target_device, source_device="/cpu:0"):
    return lambda dataset: dataset


def prefetch_to_device(device, buffer_size=None):
    return lambda dataset: dataset.prefetch(buffer_size or 1)


def assert_cardinality(expected_cardinality):
    return lambda dataset: dataset._next("AssertCardinalityDataset", {"cardinality": _int64(expected_cardinality)})


def cardinality(dataset):
    from ..ops_apply import apply
    return apply("DatasetCardinality", None, {"input_dataset": dataset._variant_tensor})


def scan(initial_state, scan_func):
    """Elements that depend on a state carried from one to the next."""
    def transform(dataset):
        state = st.tensors_of(initial_state)
        structure = st.structure_of(state)
        function = ElementFunction(scan_func, dataset._structure, "scan", structure)
        return dataset._next("ScanDataset", {
            "initial_state": st.flat_tensors(structure, state), "other_arguments": function.captured, "f": function},
            function.structure)
    return transform


def group_by_window(key_func, reduce_func, window_size=None, window_size_func=None):
    """Windows of elements with the same key, each reduced by reduce_func(key, dataset)."""
    if (window_size is None) == (window_size_func is None):
        raise ValueError("Must pass either window_size or window_size_func, but not both.")
    size = window_size_func or (lambda key: convert_to_tensor(window_size, dtypes.int64))

    def transform(dataset):
        from ..math_ops import cast
        key = ElementFunction(lambda *e: cast(key_func(*e), dtypes.int64), dataset._structure, "key")
        reducer = ElementFunction(reduce_func, (st.Dense(dtypes.int64, []), st.Nested(dataset._structure)), "reduce_window")
        if not isinstance(reducer.structure, st.Nested):
            raise TypeError("`reduce_func` must return a `Dataset` object.")
        sizes = ElementFunction(lambda k: cast(size(k), dtypes.int64), st.Dense(dtypes.int64, []), "window_size")
        return dataset._next("GroupByWindowDataset", {
            "key_func_other_arguments": key.captured, "reduce_func_other_arguments": reducer.captured,
            "window_size_func_other_arguments": sizes.captured, "key_func": key, "reduce_func": reducer,
            "window_size_func": sizes}, reducer.structure.structure)
    return transform


def bucket_by_sequence_length(element_length_func, bucket_boundaries, bucket_batch_sizes, padded_shapes=None,
                              padding_values=None, pad_to_bucket_boundary=False, no_padding=False, drop_remainder=False):
    """Batches of elements of similar lengths, padded."""
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError("len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1")
    from ..array_ops import gather
    from ..constant import constant
    from ..math_ops import cast, reduce_sum
    from ..ops_apply import apply
    sizes = constant(bucket_batch_sizes, dtypes.int64)

    def bucket(*element):
        length = cast(element_length_func(*element), dtypes.int32)
        passed = apply("LessEqual", None, {"x": constant(bucket_boundaries, dtypes.int32), "y": length})
        return cast(reduce_sum(cast(passed, dtypes.int32)), dtypes.int64)

    def window(key):
        return gather(sizes, key)

    def batch(key, grouped):
        size = window(key)
        if no_padding:
            return grouped.batch(size, drop_remainder)
        shapes = padded_shapes if padded_shapes is not None else grouped.output_shapes
        if pad_to_bucket_boundary:
            limits = constant([b - 1 for b in bucket_boundaries] + [-1], dtypes.int64)
            limit = gather(limits, key)
            shapes = st.map_structure(lambda c, s: _limited(s, limit), grouped._structure, st._shapes_like(
                grouped._structure, shapes))
        return grouped.padded_batch(size, shapes, padding_values, drop_remainder)
    return group_by_window(bucket, batch, window_size_func=window)


def _limited(shape, limit):
    from ..array_ops import stack
    return stack([limit if d is None else convert_to_tensor(d, dtypes.int64) for d in shape.as_list()]) if shape.ndims \
        else shape


def get_single_element(dataset):
    """The only element of a dataset, as tensors."""
    op = apply_op("DatasetToSingleElement", None, {
        "dataset": dataset._variant_tensor, "output_types": st.flat_types(dataset._structure),
        "output_shapes": st.flat_shapes(dataset._structure)})
    return st.build(dataset._structure, op.outputs)


def sample_from_datasets(datasets, weights=None, seed=None):
    raise NotImplementedError("tf.data.experimental.sample_from_datasets is not part of Millrace")


def choose_from_datasets(datasets, choice_dataset):
    raise NotImplementedError("tf.data.experimental.choose_from_datasets is not part of Millrace")


class RandomDataset(Dataset):
    """Random numbers of 64 bits."""

    def __init__(self, seed=None):
        from ..graph import get_seed
        seed, seed2 = get_seed(seed)
        made = Dataset._make("RandomDataset", {"seed": _int64(seed), "seed2": _int64(seed2)}, st.Dense(dtypes.int64, []))
        super().__init__(made._variant, made._structure)


def Counter(start=0, step=1, dtype=dtypes.int64):
    """start, start + step, ..."""
    from ..math_ops import cast
    last = 2 ** 62 if step > 0 else -2 ** 62
    return Dataset.range(start, last, step).map(lambda x: cast(x, dtype))


class CsvDataset(Dataset):
    """The columns of CSV files."""

    def __init__(self, filenames, record_defaults, compression_type=None, buffer_size=None, header=False,
                 field_delim=",", use_quote_delim=True, na_value="", select_cols=None):
        from ..parsing import decode_csv
        files = filenames if isinstance(filenames, Dataset) else Dataset.from_tensor_slices(
            [filenames] if isinstance(filenames, str) else filenames)
        lines = files.flat_map(lambda f: TextLineDataset(f, compression_type).skip(1 if header else 0))
        made = lines.map(lambda line: tuple(decode_csv(line, record_defaults, field_delim, use_quote_delim,
                                                       na_value=na_value, select_cols=select_cols)))
        super().__init__(made._variant, made._structure)


def get_structure(dataset_or_iterator):
    return dataset_or_iterator._structure


def make_csv_dataset(*args, **kwargs):
    raise NotImplementedError("tf.data.experimental.make_csv_dataset is not part of Millrace: use CsvDataset")


class CheckpointInputPipelineHook:
    def __init__(self, *args, **kwargs):
        raise NotImplementedError("tf.data.experimental.CheckpointInputPipelineHook is not part of Millrace")


class AutoShardPolicy:
    OFF, AUTO, FILE, DATA, HINT = -1, 0, 1, 2, 3


def rejection_resample(*args, **kwargs):
    raise NotImplementedError("tf.data.experimental.rejection_resample is not part of Millrace")
