"""indexed — values of several tensors: IndexedSlices (rows of a tensor) and SparseTensor."""
import collections

from . import dtypes, tensor_shape


class IndexedSlices:
    """Rows `values` at `indices` of a tensor whose shape is `dense_shape`, a tensor or None."""

    def __init__(self, values, indices, dense_shape=None):
        self._values, self._indices, self._dense_shape = values, indices, dense_shape

    values = property(lambda self: self._values)
    indices = property(lambda self: self._indices)
    dense_shape = property(lambda self: self._dense_shape)
    name = property(lambda self: self._values.name)
    device = property(lambda self: self._values.device)
    op = property(lambda self: self._values.op)
    dtype = property(lambda self: self._values.dtype)
    graph = property(lambda self: self._values.graph)

    @property
    def shape(self):
        from .constant import constant_value_as_shape
        return tensor_shape.TensorShape(None) if self._dense_shape is None else \
            constant_value_as_shape(self._dense_shape)

    get_shape = lambda self: self.shape

    def consumers(self):
        return self._values.consumers()

    def __str__(self):
        return "IndexedSlices(indices=%s, values=%s%s)" % (self._indices, self._values, "" if self._dense_shape is None
                                                           else ", dense_shape=%s" % (self._dense_shape,))

    __repr__ = __str__

    def __neg__(self):
        return IndexedSlices(-self._values, self._indices, self._dense_shape)


IndexedSlicesValue = collections.namedtuple("IndexedSlicesValue", ["values", "indices", "dense_shape"])
SparseTensorValue = collections.namedtuple("SparseTensorValue", ["indices", "values", "dense_shape"])


class SparseTensor:
    """Elements `values` [n] at `indices` [n, rank] of a tensor of shape `dense_shape` [rank]; the rest is zero."""
    __array_priority__ = 100

    def __init__(self, indices, values, dense_shape):
        from .convert import convert_to_tensor
        from .graph import name_scope
        with name_scope(None, "SparseTensor", [indices, values, dense_shape]):
            self._indices = convert_to_tensor(indices, name="indices", dtype=dtypes.int64)
            self._values = convert_to_tensor(values, name="values")
            self._dense_shape = convert_to_tensor(dense_shape, name="dense_shape", dtype=dtypes.int64)
        self._indices.shape.with_rank(2)
        self._values.shape.with_rank(1)
        self._dense_shape.shape.with_rank(1)

    indices = property(lambda self: self._indices)
    values = property(lambda self: self._values)
    dense_shape = property(lambda self: self._dense_shape)
    op = property(lambda self: self._values.op)
    dtype = property(lambda self: self._values.dtype)
    graph = property(lambda self: self._indices.graph)

    @classmethod
    def from_value(cls, sparse_tensor_value):
        if isinstance(sparse_tensor_value, SparseTensor):
            return sparse_tensor_value
        if not is_sparse(sparse_tensor_value):
            raise TypeError("Neither a SparseTensor nor SparseTensorValue: %s." % (sparse_tensor_value,))
        return cls(*sparse_tensor_value)

    @property
    def shape(self):
        from .constant import constant_value_as_shape
        return constant_value_as_shape(self._dense_shape)

    def get_shape(self):
        return self.shape

    def consumers(self):
        return self._values.consumers()

    def eval(self, feed_dict=None, session=None):
        from . import session as sessions
        return sessions._eval_using_default_session(self, feed_dict, self.graph, session)

    def __str__(self):
        return "SparseTensor(indices=%s, values=%s, dense_shape=%s)" % (self._indices, self._values, self._dense_shape)

    __repr__ = __str__


def is_sparse(x):
    return isinstance(x, (SparseTensor, SparseTensorValue))


def convert_to_tensor_or_sparse_tensor(value, dtype=None, name=None):
    """The value as a SparseTensor where it is one, else as a tensor."""
    from .convert import convert_to_tensor
    if is_sparse(value):
        sparse = SparseTensor.from_value(value)
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(sparse.dtype):
            raise RuntimeError("Sparse dtype: requested = %s, actual = %s" % (dtypes.as_dtype(dtype).name,
                                                                              sparse.dtype.name))
        return sparse
    return convert_to_tensor(value, dtype=dtype, name=name)
