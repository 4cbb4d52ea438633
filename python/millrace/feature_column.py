"""feature_column — tf.feature_column: columns of a table of features, and layers over them."""
import collections

from . import dtypes, init_ops, tensor_shape, variable_scope as vs
import millrace.nn as nn
from .array_ops import concat, one_hot, reshape, shape as shape_of
from .convert import convert_to_tensor
from .indexed import SparseTensor
from .math_ops import add_n, cast, matmul, reduce_sum
from .parsing import FixedLenFeature, VarLenFeature


def _width(shape):
    n = 1
    for d in shape:
        n *= d
    return n


class NumericColumn(collections.namedtuple("NumericColumn", ["key", "shape", "default_value", "dtype", "normalizer_fn"])):
    """Numbers as they are."""
    name = property(lambda self: self.key)
    width = property(lambda self: _width(self.shape))
    parse_example_spec = property(lambda self: {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)})

    def dense(self, features, trainable=True):
        value = cast(convert_to_tensor(features[self.key]), dtypes.float32)
        value = self.normalizer_fn(value) if self.normalizer_fn is not None else value
        return reshape(value, [shape_of(value)[0], self.width])


class BucketizedColumn(collections.namedtuple("BucketizedColumn", ["source_column", "boundaries"])):
    """Numbers by the interval they lie in, one of many."""
    name = property(lambda self: self.source_column.name + "_bucketized")
    width = property(lambda self: (len(self.boundaries) + 1) * self.source_column.width)
    num_buckets = width
    parse_example_spec = property(lambda self: self.source_column.parse_example_spec)

    def dense(self, features, trainable=True):
        from .ops_apply import apply
        numbers = apply("Bucketize", None, {"input": self.source_column.dense(features), "boundaries": [
            float(b) for b in self.boundaries]})
        return reshape(one_hot(numbers, len(self.boundaries) + 1), [shape_of(numbers)[0], self.width])


class _Categorical:
    """Ids: `ids(features)` is a matrix of int64, -1 where there is nothing."""
    name = property(lambda self: self.key)
    parse_example_spec = property(lambda self: {self.key: VarLenFeature(self.dtype)})

    def ids(self, features):
        value = features[self.key]
        if isinstance(value, SparseTensor):
            from .sparse_ops import sparse_tensor_to_dense
            fill = "" if value.dtype.base_dtype == dtypes.string else -1
            value = sparse_tensor_to_dense(value, fill)
        value = convert_to_tensor(value)
        value = reshape(value, [-1, 1]) if value.shape.ndims == 1 else value
        return self._number(value)


class VocabularyListCategoricalColumn(_Categorical, collections.namedtuple("VocabularyListCategoricalColumn", [
        "key", "vocabulary_list", "dtype", "default_value", "num_oov_buckets"])):
    """Words of a list by their positions."""
    num_buckets = property(lambda self: len(self.vocabulary_list) + self.num_oov_buckets)

    def _number(self, value):
        from .lookup_ops import index_table_from_tensor
        table = index_table_from_tensor(list(self.vocabulary_list), self.num_oov_buckets, self.default_value,
                                        dtype=self.dtype)
        return table.lookup(value if value.dtype == dtypes.string else cast(value, dtypes.int64))


class VocabularyFileCategoricalColumn(_Categorical, collections.namedtuple("VocabularyFileCategoricalColumn", [
        "key", "vocabulary_file", "vocabulary_size", "num_oov_buckets", "dtype", "default_value"])):
    """Words of a file by their lines."""
    num_buckets = property(lambda self: self.vocabulary_size + self.num_oov_buckets)

    def _number(self, value):
        from .lookup_ops import index_table_from_file
        return index_table_from_file(self.vocabulary_file, self.num_oov_buckets, self.vocabulary_size, self.default_value,
                                     key_dtype=self.dtype).lookup(value)


class IdentityCategoricalColumn(_Categorical, collections.namedtuple("IdentityCategoricalColumn", [
        "key", "num_buckets", "default_value"])):
    """Numbers that are ids already."""
    dtype = dtypes.int64

    def _number(self, value):
        from .array_ops import ones_like, where
        value = cast(value, dtypes.int64)
        if self.default_value is None:
            return value
        from .ops_apply import apply
        bad = apply("LogicalOr", None, {"x": value < 0, "y": value >= self.num_buckets})
        return where(bad, ones_like(value) * self.default_value, value)


class HashedCategoricalColumn(_Categorical, collections.namedtuple("HashedCategoricalColumn", [
        "key", "hash_bucket_size", "dtype"])):
    """Words by their hashes."""
    num_buckets = property(lambda self: self.hash_bucket_size)

    def _number(self, value):
        from .ops_apply import apply
        from .string_ops import as_string
        text = value if value.dtype == dtypes.string else as_string(value)
        return apply("StringToHashBucketFast", None, {"input": text, "num_buckets": self.hash_bucket_size})


class IndicatorColumn(collections.namedtuple("IndicatorColumn", ["categorical_column"])):
    """Ids as counts, one number for each."""
    name = property(lambda self: self.categorical_column.name + "_indicator")
    width = property(lambda self: self.categorical_column.num_buckets)
    parse_example_spec = property(lambda self: self.categorical_column.parse_example_spec)

    def dense(self, features, trainable=True):
        return reduce_sum(one_hot(self.categorical_column.ids(features), self.width), 1)


class EmbeddingColumn(collections.namedtuple("EmbeddingColumn", ["categorical_column", "dimension", "combiner",
                                                                 "initializer", "ckpt_to_load_from",
                                                                 "tensor_name_in_ckpt", "max_norm", "trainable"])):
    """Ids as rows of a learned matrix."""
    name = property(lambda self: self.categorical_column.name + "_embedding")
    width = property(lambda self: self.dimension)
    parse_example_spec = property(lambda self: self.categorical_column.parse_example_spec)

    def dense(self, features, trainable=True):
        ids = self.categorical_column.ids(features)
        table = vs.get_variable("embedding_weights", [self.categorical_column.num_buckets, self.dimension],
                                initializer=self.initializer, trainable=self.trainable and trainable)
        if self.ckpt_to_load_from is not None:
            from .train.saver import init_from_checkpoint
            init_from_checkpoint(self.ckpt_to_load_from, {self.tensor_name_in_ckpt: table})
        from .array_ops import expand_dims, ones_like, where
        there = cast(ids >= 0, dtypes.float32)
        rows = nn.embedding_lookup(table, where(ids >= 0, ids, ones_like(ids) * 0)) * expand_dims(there, -1)
        total, count = reduce_sum(rows, 1), reduce_sum(there, 1, keepdims=True)
        from .math_ops import maximum, sqrt
        if self.combiner == "sum":
            return total
        return total / maximum(count, 1.0) if self.combiner == "mean" else total / sqrt(maximum(count, 1.0))


# ---------------------------------------- makers

def numeric_column(key, shape=(1,), default_value=None, dtype=dtypes.float32, normalizer_fn=None):
    shape = tuple(int(d) for d in (shape if isinstance(shape, (list, tuple, tensor_shape.TensorShape)) else [shape]))
    return NumericColumn(key, shape, default_value, dtypes.as_dtype(dtype), normalizer_fn)


def bucketized_column(source_column, boundaries):
    if not isinstance(source_column, NumericColumn):
        raise ValueError("source_column must be a column generated with numeric_column(). Given: %s" % (source_column,))
    if list(boundaries) != sorted(boundaries) or not boundaries:
        raise ValueError("boundaries must be a sorted list.")
    return BucketizedColumn(source_column, tuple(boundaries))


def categorical_column_with_vocabulary_list(key, vocabulary_list, dtype=None, default_value=-1, num_oov_buckets=0):
    if not len(vocabulary_list):
        raise ValueError("vocabulary_list %s must be non-empty, column_name: %s" % (vocabulary_list, key))
    kind = dtypes.string if isinstance(vocabulary_list[0], (str, bytes)) else dtypes.int64
    return VocabularyListCategoricalColumn(key, tuple(vocabulary_list), dtype or kind, default_value, num_oov_buckets)


def categorical_column_with_vocabulary_file(key, vocabulary_file, vocabulary_size=None, num_oov_buckets=0,
                                            default_value=None, dtype=dtypes.string):
    if vocabulary_size is None:
        with open(vocabulary_file, "rb") as f:
            vocabulary_size = sum(1 for _ in f)
    return VocabularyFileCategoricalColumn(key, vocabulary_file, vocabulary_size, num_oov_buckets, dtype,
                                           -1 if default_value is None else default_value)


def categorical_column_with_identity(key, num_buckets, default_value=None):
    if num_buckets < 1:
        raise ValueError("num_buckets %d < 1, column_name %s" % (num_buckets, key))
    return IdentityCategoricalColumn(key, num_buckets, default_value)


def categorical_column_with_hash_bucket(key, hash_bucket_size, dtype=dtypes.string):
    if hash_bucket_size is None or hash_bucket_size < 1:
        raise ValueError("hash_bucket_size must be at least 1. hash_bucket_size: %s, key: %s" % (hash_bucket_size, key))
    return HashedCategoricalColumn(key, hash_bucket_size, dtypes.as_dtype(dtype))


def indicator_column(categorical_column):
    return IndicatorColumn(categorical_column)


def embedding_column(categorical_column, dimension, combiner="mean", initializer=None, ckpt_to_load_from=None,
                     tensor_name_in_ckpt=None, max_norm=None, trainable=True, use_safe_embedding_lookup=True):
    if dimension is None or dimension < 1:
        raise ValueError("Invalid dimension %s." % dimension)
    initializer = initializer or init_ops.truncated_normal_initializer(mean=0.0, stddev=dimension ** -0.5)
    return EmbeddingColumn(categorical_column, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt,
                           max_norm, trainable)


def make_parse_example_spec(feature_columns):
    """The features that columns need, for parse_example."""
    found = {}
    for column in feature_columns:
        found.update(column.parse_example_spec)
    return found


# ---------------------------------------- layers

def _sorted(feature_columns):
    columns = list(feature_columns) if isinstance(feature_columns, (list, tuple, set)) and not hasattr(
        feature_columns, "_fields") else [feature_columns]
    return sorted(columns, key=lambda c: c.name)


def input_layer(features, feature_columns, weight_collections=None, trainable=True, cols_to_vars=None,
                cols_to_output_tensors=None):
    """The columns beside each other, in the order of their names."""
    parts = []
    with vs.variable_scope(None, default_name="input_layer", values=list(features.values())):
        for column in _sorted(feature_columns):
            if not hasattr(column, "dense"):
                raise ValueError("Items of feature_columns must be a _DenseColumn. You can wrap a categorical column with an "
                                 "embedding_column or indicator_column. Given: %s" % (column,))
            with vs.variable_scope(None, default_name=column.name):
                parts.append(column.dense(features, trainable))
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = parts[-1]
    return concat(parts, 1)


def linear_model(features, feature_columns, units=1, sparse_combiner="sum", weight_collections=None, trainable=True,
                 cols_to_vars=None):
    """A weighted sum of the columns, with a bias."""
    parts = []
    with vs.variable_scope(None, "linear_model"):
        for column in _sorted(feature_columns):
            with vs.variable_scope(None, default_name=column.name):
                dense = column if hasattr(column, "dense") else IndicatorColumn(column)
                weights = vs.get_variable("weights", [dense.width, units], initializer=init_ops.zeros_initializer(),
                                          trainable=trainable)
                parts.append(matmul(dense.dense(features), weights))
        bias = vs.get_variable("bias_weights", [units], initializer=init_ops.zeros_initializer(), trainable=trainable)
        return nn.bias_add(add_n(parts, name="weighted_sum_no_bias"), bias, name="weighted_sum")
