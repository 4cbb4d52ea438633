"""parsing — Examples, CSV and raw bytes into tensors."""
import collections

from . import dtypes, tensor_shape
from .array_ops import reshape
from .constant import constant
from .convert import convert_to_tensor
from .graph import name_scope
from .indexed import SparseTensor
from .ops_apply import apply, apply_op


class VarLenFeature(collections.namedtuple("VarLenFeature", ["dtype"])):
    """A feature of any number of values: a SparseTensor."""


class SparseFeature(collections.namedtuple("SparseFeature", ["index_key", "value_key", "dtype", "size",
                                                             "already_sorted"])):
    """A sparse tensor from two features, of indices and of values."""

    def __new__(cls, index_key, value_key, dtype, size, already_sorted=False):
        return super().__new__(cls, index_key, value_key, dtype, size, already_sorted)


class FixedLenFeature(collections.namedtuple("FixedLenFeature", ["shape", "dtype", "default_value"])):
    """A feature of one shape: a tensor."""

    def __new__(cls, shape, dtype, default_value=None):
        return super().__new__(cls, shape, dtype, default_value)


class FixedLenSequenceFeature(collections.namedtuple("FixedLenSequenceFeature", ["shape", "dtype", "allow_missing",
                                                                                 "default_value"])):
    """A feature of any number of values of one shape: a tensor, padded."""

    def __new__(cls, shape, dtype, allow_missing=False, default_value=None):
        return super().__new__(cls, shape, dtype, allow_missing, default_value)


class _Features:
    """A dict of features, sorted by kind as ParseExample takes them."""

    def __init__(self, features, sequence=False):
        if not features:
            raise ValueError("Missing: features was %s." % (features,))
        self.sparse, self.dense, self.joined = {}, {}, {}
        for key in sorted(features):
            feature = features[key]
            if isinstance(feature, VarLenFeature):
                self._add_sparse(key, feature.dtype)
            elif isinstance(feature, SparseFeature):
                keys = feature.index_key if isinstance(feature.index_key, (list, tuple)) else [feature.index_key]
                for one in keys:
                    self._add_sparse(one, dtypes.int64)
                self._add_sparse(feature.value_key, feature.dtype)
                self.joined[key] = feature
            elif isinstance(feature, FixedLenSequenceFeature):
                if not sequence and not feature.allow_missing:
                    raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")
                shape = list(tensor_shape.as_shape(feature.shape).as_list())
                self.dense[key] = ([None] if not sequence else []) + shape, feature.dtype, feature.default_value, True
            elif isinstance(feature, FixedLenFeature):
                shape = tensor_shape.as_shape(feature.shape)
                if not shape.is_fully_defined():
                    raise ValueError("First dimension of shape for feature %s unknown. Consider using "
                                     "FixedLenSequenceFeature." % key if shape.ndims else
                                     "All dimensions of shape for feature %s need to be known but received %s." % (
                                         key, feature.shape))
                self.dense[key] = shape.as_list(), feature.dtype, feature.default_value, False
            else:
                raise ValueError("Invalid feature %s:%s." % (key, feature))

    def _add_sparse(self, key, dtype):
        dtype = dtypes.as_dtype(dtype)
        if self.sparse.get(key, dtype) != dtype:
            raise ValueError("Conflicting type %s vs %s for feature %s." % (self.sparse[key], dtype, key))
        self.sparse[key] = dtype

    sparse_keys = property(lambda self: sorted(self.sparse))
    dense_keys = property(lambda self: sorted(self.dense))
    sparse_types = property(lambda self: [self.sparse[k] for k in self.sparse_keys])
    dense_types = property(lambda self: [dtypes.as_dtype(self.dense[k][1]) for k in self.dense_keys])
    dense_shapes = property(lambda self: [tensor_shape.TensorShape(self.dense[k][0]) for k in self.dense_keys])

    def defaults(self):
        """A tensor of default values for each dense feature; an empty one where there is none."""
        out = []
        for key in self.dense_keys:
            shape, dtype, value, variable = self.dense[key]
            dtype = dtypes.as_dtype(dtype)
            if variable and value is None:
                value = b"" if dtype == dtypes.string else 0
            if value is None:
                out.append(constant([], dtype))
                continue
            tensor = convert_to_tensor(value, dtype, name="key_" + "".join(c if c.isalnum() else "_" for c in key))
            out.append(reshape(tensor, [] if variable else shape))
        return out

    def results(self, sparse, dense):
        found = {k: SparseTensor(i, v, s) for k, (i, v, s) in zip(self.sparse_keys, sparse)}
        found.update(zip(self.dense_keys, dense))
        return _joined(found, self.joined, self)


def _joined(found, joined, features):
    if not joined:
        return found
    from .sparse_ops import sparse_merge
    out, used = dict(found), set()
    for key, feature in joined.items():
        indices = feature.index_key if isinstance(feature.index_key, (list, tuple)) else [feature.index_key]
        out[key] = sparse_merge([found[i] for i in indices] if len(indices) > 1 else found[indices[0]],
                                found[feature.value_key], feature.size, already_sorted=feature.already_sorted)
        used.update(list(indices) + [feature.value_key])
    for key in used - set(joined):
        out.pop(key, None)
    return out


def parse_example(serialized, features, name=None, example_names=None):
    """{feature: tensor or SparseTensor} of a vector of serialized Examples.

    >>> serialized = tf.placeholder(tf.string, [None])
    >>> sorted(tf.parse_example(serialized, {"x": tf.FixedLenFeature([2], tf.float32)}))
    ['x']
    """
    f = _Features(features)
    with name_scope(name, "ParseExample", [serialized]):
        names = [] if example_names is None else example_names
        op = apply_op("ParseExample", None, {
            "serialized": serialized, "names": convert_to_tensor(names, dtypes.string),
            "sparse_keys": [constant(k) for k in f.sparse_keys], "dense_keys": [constant(k) for k in f.dense_keys],
            "dense_defaults": f.defaults(), "sparse_types": f.sparse_types, "Tdense": f.dense_types,
            "dense_shapes": f.dense_shapes})
        n, outputs = len(f.sparse_keys), list(op.outputs)
        sparse = list(zip(outputs[:n], outputs[n:2 * n], outputs[2 * n:3 * n]))
        return f.results(sparse, outputs[3 * n:])


def parse_single_example(serialized, features, name=None, example_names=None):
    """The same of one Example, without the dimension of the batch."""
    f = _Features(features)
    with name_scope(name, "ParseSingleExample", [serialized]):
        serialized = convert_to_tensor(serialized, dtypes.string)
        op = apply_op("ParseSingleExample", None, {
            "serialized": serialized, "num_sparse": len(f.sparse_keys), "sparse_keys": f.sparse_keys,
            "dense_keys": f.dense_keys, "dense_defaults": f.defaults(), "sparse_types": f.sparse_types,
            "Tdense": f.dense_types, "dense_shapes": f.dense_shapes})
        n, outputs = len(f.sparse_keys), list(op.outputs)
        sparse = list(zip(outputs[:n], outputs[n:2 * n], outputs[2 * n:3 * n]))
        return f.results(sparse, outputs[3 * n:])


parse_single_example_v2 = parse_single_example
parse_example_v2 = parse_example


def _sequence_defaults(f):
    out = []
    for key in f.dense_keys:
        shape, dtype, value, variable = f.dense[key]
        out.append(constant([], dtypes.as_dtype(dtype)) if value is None else
                   reshape(convert_to_tensor(value, dtypes.as_dtype(dtype)), shape))
    return out


def parse_single_sequence_example(serialized, context_features=None, sequence_features=None, example_name=None,
                                  name=None):
    """({context feature: tensor}, {feature list: tensor}) of one serialized SequenceExample."""
    if not (context_features or sequence_features):
        raise ValueError("Missing features.")
    with name_scope(name, "ParseSingleSequenceExample", [serialized]):
        context = _Features(context_features) if context_features else None
        lists = _Features(sequence_features, True) if sequence_features else None
        keys = lambda f, kind: [constant(k) for k in getattr(f, kind)] if f else []
        missing = [k for k in (lists.dense_keys if lists else []) if getattr(sequence_features[k], "allow_missing", False)]
        op = apply_op("ParseSingleSequenceExample", None, {
            "serialized": convert_to_tensor(serialized, dtypes.string),
            "feature_list_dense_missing_assumed_empty": convert_to_tensor(missing, dtypes.string),
            "context_sparse_keys": keys(context, "sparse_keys"), "context_dense_keys": keys(context, "dense_keys"),
            "feature_list_sparse_keys": keys(lists, "sparse_keys"), "feature_list_dense_keys": keys(lists, "dense_keys"),
            "context_dense_defaults": context.defaults() if context else [],
            "debug_name": constant(example_name or ""),
            "context_sparse_types": context.sparse_types if context else [],
            "Tcontext_dense": context.dense_types if context else [],
            "feature_list_dense_types": lists.dense_types if lists else [],
            "context_dense_shapes": context.dense_shapes if context else [],
            "feature_list_sparse_types": lists.sparse_types if lists else [],
            "feature_list_dense_shapes": lists.dense_shapes if lists else []})
        outputs, at = list(op.outputs), 0

        def take(f):
            nonlocal at
            if f is None:
                return {}
            n, m = len(f.sparse_keys), len(f.dense_keys)
            sparse = list(zip(outputs[at:at + n], outputs[at + n:at + 2 * n], outputs[at + 2 * n:at + 3 * n]))
            at += 3 * n + m
            return f.results(sparse, outputs[at - m:at])
        return take(context), take(lists)


def parse_sequence_example(serialized, context_features=None, sequence_features=None, example_names=None, name=None):
    raise NotImplementedError("tf.io.parse_sequence_example is not part of Millrace: use parse_single_sequence_example")


def decode_raw(input_bytes=None, out_type=None, little_endian=True, name=None, bytes=None):
    """The bytes of each string as numbers."""
    return apply("DecodeRaw", name, {"bytes": bytes if input_bytes is None else input_bytes,
                                     "out_type": dtypes.as_dtype(out_type), "little_endian": little_endian})


def decode_csv(records, record_defaults, field_delim=",", use_quote_delim=True, name=None, na_value="",
               select_cols=None):
    """The columns of lines, a list of tensors."""
    if select_cols is not None and any(a >= b for a, b in zip(select_cols, select_cols[1:])):
        raise ValueError("select_cols is not strictly increasing.")
    defaults = [constant([], d) if isinstance(d, dtypes.DType) else convert_to_tensor(d) for d in record_defaults]
    return apply("DecodeCSV", name, {"records": records, "record_defaults": defaults, "field_delim": field_delim,
                                     "use_quote_delim": use_quote_delim, "na_value": na_value,
                                     "select_cols": select_cols or []})


def parse_tensor(serialized, out_type, name=None):
    return apply("ParseTensor", name, {"serialized": serialized, "out_type": dtypes.as_dtype(out_type)})


def serialize_tensor(tensor, name=None):
    return apply("SerializeTensor", name, {"tensor": tensor})


def decode_json_example(json_examples, name=None):
    return apply("DecodeJSONExample", name, {"json_examples": json_examples})


def decode_compressed(bytes, compression_type="", name=None):
    return apply("DecodeCompressed", name, {"bytes": bytes, "compression_type": compression_type})


def decode_proto(*args, **kwargs):
    raise NotImplementedError("tf.io.decode_proto is not part of Millrace")
