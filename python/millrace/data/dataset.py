"""dataset — Dataset: elements one after another, from tensors, files and functions, changed on their way."""
import numpy as np

from .. import dtypes, tensor_shape
from ..constant import constant
from ..convert import convert_to_tensor
from ..graph import get_seed
from ..indexed import SparseTensor
from ..ops_apply import apply
from . import iterator, structure as st
from .with_function import ElementFunction

AUTOTUNE = -1


class Options:
    """How a dataset is run: kept for programs that set some of it."""

    def __init__(self):
        self.__dict__.update(experimental_deterministic=None, experimental_slack=None, deterministic=None)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = self.__dict__[name] = Options()
        return value

    def merge(self, options):
        merged = Options()
        merged.__dict__.update(self.__dict__)
        merged.__dict__.update({k: v for k, v in options.__dict__.items() if v is not None})
        return merged


def _int64(value, default=None):
    return convert_to_tensor(default if value is None else value, dtypes.int64)


def _add_batch(structure, size):
    return st.map_structure(lambda c: c.with_shape(tensor_shape.TensorShape([size]).concatenate(c.shape)), structure)


def _batch_extent(batch_size, drop_remainder):
    from ..constant import constant_value
    keep = drop_remainder if isinstance(drop_remainder, bool) else constant_value(convert_to_tensor(drop_remainder))
    if not keep:
        return None
    size = constant_value(convert_to_tensor(batch_size))
    return None if size is None else int(size)


class Dataset:
    """Elements, each a tensor or a nest of tensors.

    >>> d = tf.data.Dataset.range(5).map(lambda x: x * x).batch(2)
    >>> x = d.make_one_shot_iterator().get_next()
    >>> with tf.Session() as s: s.run(x)
    array([0, 1])
    """

    def __init__(self, variant_tensor=None, structure=None):
        self._variant, self._structure = variant_tensor, structure
        self._options = Options()

    _variant_tensor = property(lambda self: self._variant)
    output_types = property(lambda self: st.map_structure(lambda c: c.dtype, self._structure))
    output_shapes = property(lambda self: st.map_structure(lambda c: c.shape, self._structure))
    output_classes = property(lambda self: st.map_structure(lambda c: c.kind, self._structure))
    element_spec = property(lambda self: self._structure)

    def _as_variant_tensor(self):
        return self._variant

    def __repr__(self):
        return "<DatasetV1Adapter shapes: %s, types: %s>" % (self.output_shapes, self.output_types)

    def __iter__(self):
        raise RuntimeError("__iter__() is only supported inside of tf.function or when eager execution is enabled.")

    @staticmethod
    def _make(op, values, structure):
        known = {"output_types": st.flat_types(structure), "output_shapes": st.flat_shapes(structure)}
        from .. import op_table
        table = op_table.find(op)
        values = dict(values, **{k: v for k, v in known.items() if k in table.attrs and k not in table.inferred})
        return Dataset(apply(op, None, values), structure)

    def _next(self, op, values=None, structure=None):
        structure = self._structure if structure is None else structure
        found = Dataset._make(op, dict(values or {}, input_dataset=self._variant), structure)
        found._options = self._options
        return found

    # ---- where elements come from

    @staticmethod
    def from_tensors(tensors):
        """One element."""
        element = st.tensors_of(tensors)
        structure = st.structure_of(element)
        return Dataset._make("TensorDataset", {"components": st.flat_tensors(structure, element)}, structure)

    @staticmethod
    def from_tensor_slices(tensors):
        """An element for each index of the first dimension."""
        element = st.tensors_of(tensors)
        structure = st.structure_of(element)
        if isinstance(element, SparseTensor):
            return Dataset.from_sparse_tensor_slices(element)
        for c in st.flatten(structure):
            if isinstance(c, st.Sparse):
                raise NotImplementedError("slices of sparse tensors beside others are not part of Millrace")
            if c.shape.ndims == 0:
                raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        sizes = {c.shape[0].value for c in st.flatten(structure) if c.shape.ndims} - {None}
        if len(sizes) > 1:
            raise ValueError("Dimensions %s and %s are not compatible" % tuple(sorted(sizes))[:2])
        sliced = st.map_structure(lambda c: c.with_shape(c.shape[1:] if c.shape.ndims is not None else None), structure)
        return Dataset._make("TensorSliceDataset", {"components": st.flat_tensors(structure, element)}, sliced)

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor):
        """The rows of a SparseTensor, as (indices, values, dense_shape)."""
        rank = sparse_tensor.dense_shape.shape[0].value
        inner = None if rank is None else [None] * (rank - 1)
        structure = st.Sparse(sparse_tensor.dtype, inner)
        return Dataset._make("SparseTensorSliceDataset", {
            "indices": sparse_tensor.indices, "values": sparse_tensor.values,
            "dense_shape": convert_to_tensor(sparse_tensor.dense_shape, dtypes.int64)}, structure)

    @staticmethod
    def from_generator(generator, output_types, output_shapes=None, args=None):
        """What a Python generator yields; generator() is called anew for each iterator."""
        from .generator import from_generator
        return from_generator(generator, output_types, output_shapes, args)

    @staticmethod
    def range(*args):
        """Numbers, as range gives them."""
        if len(args) not in (1, 2, 3):
            raise ValueError("Invalid arguments to RangeDataset: %s" % (args,))
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (args + (1,))[:3]
        return Dataset._make("RangeDataset", {"start": _int64(start), "stop": _int64(stop), "step": _int64(step)},
                             st.Dense(dtypes.int64, []))

    @staticmethod
    def zip(datasets):
        """Elements of several datasets beside each other."""
        for one in st.flatten(datasets):
            if not isinstance(one, Dataset):
                raise TypeError("The argument to `Dataset.zip()` must be a nested structure of `Dataset` objects. Nested "
                                "structures do not support Python lists; please use a tuple instead." if
                                isinstance(one, list) else "The argument to `Dataset.zip()` must be a (nested) structure "
                                "of `Dataset` objects.")
        structure = st.map_structure(lambda d: d._structure, datasets)
        return Dataset._make("ZipDataset", {"input_datasets": [d._variant for d in st.flatten(datasets)]}, structure)

    @staticmethod
    def list_files(file_pattern, shuffle=None, seed=None):
        """The names of the files that match."""
        shuffle = True if shuffle is None else shuffle
        from ..file_io import matching_files
        found = Dataset.from_tensor_slices(matching_files(convert_to_tensor(file_pattern, dtypes.string)))
        if shuffle:
            return found.shuffle(100000, seed=seed)
        return found

    # ---- on their way

    def concatenate(self, dataset):
        if st.flat_types(self._structure) != st.flat_types(dataset._structure):
            raise TypeError("Two datasets to concatenate have different types %s and %s" % (
                self.output_types, dataset.output_types))
        common = st.map_structure(lambda a, b: a if a.shape.dims == b.shape.dims else a.with_shape(_common(a.shape, b.shape)),
                                  self._structure, dataset._structure)
        return self._next("ConcatenateDataset", {"another_dataset": dataset._variant}, common)

    def prefetch(self, buffer_size):
        return self._next("PrefetchDataset", {"buffer_size": _int64(buffer_size, -1)})

    def repeat(self, count=None):
        """All of it so many times; without end where count is None or -1."""
        return self._next("RepeatDataset", {"count": _int64(count, -1)})

    def shuffle(self, buffer_size, seed=None, reshuffle_each_iteration=None):
        """Elements in a random order, chosen among `buffer_size` of them."""
        seed, seed2 = get_seed(seed)
        return self._next("ShuffleDataset", {
            "buffer_size": _int64(buffer_size), "seed": _int64(seed), "seed2": _int64(seed2),
            "reshuffle_each_iteration": True if reshuffle_each_iteration is None else reshuffle_each_iteration})

    def cache(self, filename=""):
        return self._next("CacheDataset", {"filename": convert_to_tensor(filename, dtypes.string)})

    def take(self, count):
        return self._next("TakeDataset", {"count": _int64(count)})

    def skip(self, count):
        return self._next("SkipDataset", {"count": _int64(count)})

    def shard(self, num_shards, index):
        """Each num_shards-th element, beginning with that of the index."""
        if isinstance(num_shards, int) and num_shards < 1:
            raise ValueError("num_shards must be >= 1; got %d" % num_shards)
        if isinstance(index, int) and isinstance(num_shards, int) and not 0 <= index < num_shards:
            raise ValueError("index must be <= num_shards; got %d, num_shards %d" % (index, num_shards))
        return self._next("ShardDataset", {"num_shards": _int64(num_shards), "index": _int64(index)})

    def batch(self, batch_size, drop_remainder=False, num_parallel_calls=None, deterministic=None):
        """So many elements stacked into one."""
        structure = _add_batch(self._structure, _batch_extent(batch_size, drop_remainder))
        return self._next("BatchDatasetV2", {"batch_size": _int64(batch_size),
                                             "drop_remainder": convert_to_tensor(drop_remainder, dtypes.bool)}, structure)

    def padded_batch(self, batch_size, padded_shapes=None, padding_values=None, drop_remainder=False):
        """The same, with elements of several shapes padded to one."""
        if padded_shapes is None:
            padded_shapes = self.output_shapes
        shapes = st.flatten(_as_shapes(self._structure, padded_shapes))
        if padding_values is None:
            values = [_zero(c.dtype) for c in st.flatten(self._structure)]
        else:
            values = [_zero(c.dtype) if v is None else convert_to_tensor(v, c.dtype) for c, v in zip(
                st.flatten(self._structure), _padding_of(self._structure, padding_values))]
        size = _batch_extent(batch_size, drop_remainder)
        known = [tensor_shape.TensorShape([size]).concatenate(s[0]) for s in shapes]
        structure = st.pack(self._structure, [c.with_shape(s) for c, s in zip(st.flatten(self._structure), known)])
        return self._next("PaddedBatchDatasetV2", {
            "batch_size": _int64(batch_size), "padded_shapes": [s[1] for s in shapes], "padding_values": values,
            "drop_remainder": convert_to_tensor(drop_remainder, dtypes.bool)}, structure)

    def unbatch(self):
        inner = st.map_structure(lambda c: c.with_shape(c.shape[1:] if c.shape.ndims is not None else None),
                                 self._structure)
        return self._next("UnbatchDataset", None, inner)

    def map(self, map_func, num_parallel_calls=None, deterministic=None):
        """map_func of each element."""
        function = ElementFunction(map_func, self._structure, "map")
        values = {"other_arguments": function.captured, "f": function}
        if num_parallel_calls is None:
            return self._next("MapDataset", values, function.structure)
        values["num_parallel_calls"] = convert_to_tensor(num_parallel_calls, dtypes.int32)
        return self._next("ParallelMapDataset", values, function.structure)

    map_with_legacy_function = map

    def flat_map(self, map_func):
        """The elements of the datasets that map_func makes of each element."""
        function = self._to_dataset(map_func, "flat_map")
        return self._next("FlatMapDataset", {"other_arguments": function.captured, "f": function},
                          function.structure.structure)

    def _to_dataset(self, map_func, what):
        function = ElementFunction(map_func, self._structure, what)
        if not isinstance(function.structure, st.Nested):
            raise TypeError("`map_func` must return a `Dataset` object.")
        return function

    def interleave(self, map_func, cycle_length=-1, block_length=1, num_parallel_calls=None, deterministic=None):
        """The same, with so many datasets in turn."""
        function = self._to_dataset(map_func, "interleave")
        cycle = 16 if isinstance(cycle_length, int) and cycle_length == -1 else cycle_length
        values = {"other_arguments": function.captured, "f": function, "cycle_length": _int64(cycle),
                  "block_length": _int64(block_length)}
        if num_parallel_calls is None:
            return self._next("InterleaveDataset", values, function.structure.structure)
        values["num_parallel_calls"] = _int64(num_parallel_calls)
        return self._next("ParallelInterleaveDatasetV2", values, function.structure.structure)

    def filter(self, predicate):
        """The elements of which predicate is true."""
        function = ElementFunction(predicate, self._structure, "filter")
        if not (isinstance(function.structure, st.Dense) and function.structure.dtype == dtypes.bool):
            raise ValueError("`predicate` must return a scalar boolean tensor.")
        return self._next("FilterDataset", {"other_arguments": function.captured, "predicate": function})

    filter_with_legacy_function = filter

    def window(self, size, shift=None, stride=1, drop_remainder=False):
        """Datasets of so many elements."""
        nested = st.map_structure(lambda c: st.Nested(c), self._structure)
        return self._next("WindowDataset", {
            "size": _int64(size), "shift": _int64(size if shift is None else shift), "stride": _int64(stride),
            "drop_remainder": convert_to_tensor(drop_remainder, dtypes.bool)}, nested)

    def enumerate(self, start=0):
        return Dataset.zip((Dataset.range(start, np.iinfo(np.int64).max), self))

    def reduce(self, initial_state, reduce_func):
        """The last state of reduce_func(state, element)."""
        state = st.tensors_of(initial_state)
        structure = st.structure_of(state)
        function = ElementFunction(reduce_func, self._structure, "reduce", structure)
        from ..ops_apply import apply_op
        op = apply_op("ReduceDataset", None, {
            "input_dataset": self._variant, "initial_state": st.flat_tensors(structure, state),
            "other_arguments": function.captured, "f": function, "output_types": st.flat_types(function.structure),
            "output_shapes": st.flat_shapes(function.structure)})
        return st.build(function.structure, op.outputs)

    def apply(self, transformation_func):
        """transformation_func(self)."""
        found = transformation_func(self)
        if not isinstance(found, Dataset):
            raise TypeError("`transformation_func` must return a Dataset. Got %s." % (found,))
        return found

    def options(self):
        return self._options

    def with_options(self, options):
        found = Dataset(self._variant, self._structure)
        found._options = self._options.merge(options)
        return found

    # ---- iterators

    def make_one_shot_iterator(self):
        return iterator.one_shot(self)

    def make_initializable_iterator(self, shared_name=None):
        return iterator.initializable(self, shared_name)

    _make_one_shot_iterator, _make_initializable_iterator = make_one_shot_iterator, make_initializable_iterator


DatasetV1 = DatasetV2 = Dataset


def make_one_shot_iterator(dataset):
    return dataset.make_one_shot_iterator()


def make_initializable_iterator(dataset, shared_name=None):
    return dataset.make_initializable_iterator(shared_name)


def get_output_types(dataset_or_iterator):
    return dataset_or_iterator.output_types


get_legacy_output_types = get_output_types


def get_output_shapes(dataset_or_iterator):
    return dataset_or_iterator.output_shapes


get_legacy_output_shapes = get_output_shapes


def get_output_classes(dataset_or_iterator):
    return dataset_or_iterator.output_classes


get_legacy_output_classes = get_output_classes


def _common(a, b):
    if a.ndims is None or a.ndims != b.ndims:
        return tensor_shape.TensorShape(None)
    return tensor_shape.TensorShape([x.value if x.value == y.value else None for x, y in zip(a.dims, b.dims)])


def _zero(dtype):
    return constant("" if dtype == dtypes.string else 0 if dtype != dtypes.bool else False, dtype)


def _padding_of(structure, values):
    if not st.is_structure(structure):
        return [values]
    if not st.is_structure(values):
        return [values] * len(st.flatten(structure))
    return [v for s, p in zip(st._children(structure), st._children(values)) for v in _padding_of(s, p)]


def _as_shapes(structure, shapes):
    """(static shape, int64 vector) of each component, in the structure."""
    if not st.is_structure(structure):
        return _Pair(_one_shape(shapes))
    children = st._children(shapes) if st.is_structure(shapes) else list(shapes)
    return st._like(structure, [_as_shapes(s, p) for s, p in zip(st._children(structure), children)])


class _Pair(list):
    """Two values that are one leaf."""


def _one_shape(shape):
    from ..constant import constant_value_as_shape
    if hasattr(shape, "op"):
        return [constant_value_as_shape(shape), convert_to_tensor(shape, dtypes.int64)]
    static = tensor_shape.as_shape(shape)
    return [static, constant([-1 if d is None else d for d in static.as_list()], dtypes.int64)]


# ---------------------------------------- files

def _files(filenames):
    return convert_to_tensor(filenames, dtypes.string)


class _FileDataset(Dataset):
    def __init__(self, op, values, structure):
        made = Dataset._make(op, values, structure)
        super().__init__(made._variant, structure)


class TextLineDataset(_FileDataset):
    """The lines of text files."""

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None):
        super().__init__("TextLineDataset", {
            "filenames": _files(filenames), "compression_type": convert_to_tensor(compression_type or "", dtypes.string),
            "buffer_size": _int64(buffer_size, 262144)}, st.Dense(dtypes.string, []))


class TFRecordDataset(Dataset):
    """The records of TFRecord files."""

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None):
        def read(names):
            return _FileDataset("TFRecordDataset", {
                "filenames": names, "compression_type": convert_to_tensor(compression_type or "", dtypes.string),
                "buffer_size": _int64(buffer_size, 262144)}, st.Dense(dtypes.string, []))
        if isinstance(filenames, Dataset):
            found = filenames.flat_map(read) if num_parallel_reads is None else filenames.interleave(
                read, num_parallel_reads, 1, num_parallel_reads)
        elif num_parallel_reads is None:
            found = read(_files(filenames))
        else:
            found = Dataset.from_tensor_slices(_as_vector(filenames)).interleave(read, num_parallel_reads, 1,
                                                                                num_parallel_reads)
        super().__init__(found._variant, found._structure)


def _as_vector(filenames):
    from ..array_ops import reshape
    return reshape(_files(filenames), [-1])


class FixedLengthRecordDataset(_FileDataset):
    """Records of so many bytes."""

    def __init__(self, filenames, record_bytes, header_bytes=None, footer_bytes=None, buffer_size=None,
                 compression_type=None, num_parallel_reads=None):
        super().__init__("FixedLengthRecordDatasetV2", {
            "filenames": _files(filenames), "record_bytes": _int64(record_bytes), "header_bytes": _int64(header_bytes, 0),
            "footer_bytes": _int64(footer_bytes, 0), "buffer_size": _int64(buffer_size, 262144),
            "compression_type": convert_to_tensor(compression_type or "", dtypes.string)}, st.Dense(dtypes.string, []))
