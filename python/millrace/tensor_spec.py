"""tensor_spec — TensorSpec: a dtype and a shape, described without a tensor."""
import numpy as np

from . import dtypes, tensor_shape


class TensorSpec:
    """`TensorSpec(shape, dtype, name)`."""

    def __init__(self, shape, dtype=dtypes.float32, name=None):
        self._shape, self._dtype, self._name = tensor_shape.as_shape(shape), dtypes.as_dtype(dtype), name

    shape = property(lambda self: self._shape)
    dtype = property(lambda self: self._dtype)
    name = property(lambda self: self._name)

    @classmethod
    def from_spec(cls, spec, name=None):
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor, name=None):
        return cls(tensor.shape, tensor.dtype, name or getattr(getattr(tensor, "op", None), "name", None))

    @classmethod
    def from_array(cls, array, name=None):
        return cls(array.shape, array.dtype, name)

    @classmethod
    def is_bounded(cls):
        return False

    def is_compatible_with(self, spec_or_tensor):
        return self._dtype.is_compatible_with(spec_or_tensor.dtype) and self._shape.is_compatible_with(
            spec_or_tensor.shape)

    def is_discrete(self):
        return self._dtype.is_integer

    def is_continuous(self):
        return self._dtype.is_floating

    def __repr__(self):
        return "TensorSpec(shape=%s, dtype=%r, name=%r)" % (self._shape, self._dtype, self._name)

    def __eq__(self, other):
        return type(other) is type(self) and self._shape.dims == other._shape.dims and self._dtype == other._dtype and \
            self._name == other._name

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash((str(self._shape), self._dtype))

    def __reduce__(self):
        return type(self), (self._shape.as_list() if self._shape.ndims is not None else None, self._dtype, self._name)


class BoundedTensorSpec(TensorSpec):
    """The same with least and greatest values."""

    def __init__(self, shape, dtype, minimum, maximum, name=None):
        super().__init__(shape, dtype, name)
        self._minimum = np.array(minimum, dtype=self._dtype.as_numpy_dtype)
        self._maximum = np.array(maximum, dtype=self._dtype.as_numpy_dtype)

    minimum = property(lambda self: self._minimum)
    maximum = property(lambda self: self._maximum)

    @classmethod
    def is_bounded(cls):
        return True

    def __reduce__(self):
        return type(self), (self._shape.as_list(), self._dtype, self._minimum, self._maximum, self._name)


class SparseTensorSpec:
    """A sparse tensor's dtype and shape."""

    def __init__(self, shape=None, dtype=dtypes.float32):
        self._shape, self._dtype = tensor_shape.as_shape(shape), dtypes.as_dtype(dtype)

    shape = property(lambda self: self._shape)
    dtype = property(lambda self: self._dtype)

    def __repr__(self):
        return "SparseTensorSpec(%s, %r)" % (self._shape, self._dtype)


class TypeSpec:
    """What specs have in common."""
