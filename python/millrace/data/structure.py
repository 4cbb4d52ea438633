"""structure — what an element of a dataset looks like: tuples and dicts of dense, sparse and nested components.

Unlike elsewhere a list is no structure: it becomes a tensor.
"""
import collections.abc as abc

from .. import dtypes, tensor_shape
from ..constant import constant_value
from ..convert import convert_to_tensor
from ..graph import Tensor
from ..indexed import SparseTensor, SparseTensorValue, is_sparse


class Dense:
    """A tensor."""
    n = 1

    def __init__(self, dtype, shape=None):
        self.dtype, self.shape = dtypes.as_dtype(dtype).base_dtype, tensor_shape.as_shape(shape)

    kind = Tensor
    types = property(lambda self: [self.dtype])
    shapes = property(lambda self: [self.shape])

    def parts(self, value):
        return [value]

    def build(self, parts):
        parts[0].set_shape(self.shape)
        return parts[0]

    def with_shape(self, shape):
        return Dense(self.dtype, shape)

    def __repr__(self):
        return "TensorSpec(shape=%s, dtype=%r, name=None)" % (self.shape, self.dtype)

    def __eq__(self, other):
        return type(other) is type(self) and (self.dtype, self.shape.dims) == (other.dtype, other.shape.dims)

    __hash__ = None


class Sparse(Dense):
    """A SparseTensor: its three parts travel beside each other."""
    n = 3
    kind = SparseTensor
    types = property(lambda self: [dtypes.int64, self.dtype, dtypes.int64])

    @property
    def shapes(self):
        rank = self.shape.ndims
        return [tensor_shape.TensorShape(s) for s in ([None, rank], [None], [rank])]

    def parts(self, value):
        return [value.indices, value.values, value.dense_shape]

    def build(self, parts):
        for part, shape in zip(parts, self.shapes):
            part.set_shape(shape)
        return SparseTensor(*parts)

    def with_shape(self, shape):
        raise NotImplementedError("batches of sparse tensors are not part of Millrace: make them dense first")


class Nested(Dense):
    """A dataset as an element."""

    def __init__(self, structure):
        super().__init__(dtypes.variant, [])
        self.structure = structure

    @property
    def kind(self):
        from .dataset import Dataset
        return Dataset

    def parts(self, value):
        return [value._variant_tensor]

    def build(self, parts):
        from .dataset import Dataset
        return Dataset(parts[0], self.structure)


# ---------------------------------------- walking

def is_structure(value):
    return isinstance(value, (tuple, abc.Mapping)) and not isinstance(value, SparseTensorValue) or hasattr(
        type(value), "__attrs_attrs__")


def _children(value):
    if isinstance(value, abc.Mapping):
        return [value[k] for k in sorted(value)]
    if hasattr(type(value), "__attrs_attrs__"):
        return [getattr(value, a.name) for a in type(value).__attrs_attrs__]
    return list(value)


def _like(structure, values):
    if isinstance(structure, abc.Mapping):
        found = dict(zip(sorted(structure), values))
        return type(structure)((k, found[k]) for k in structure) if type(structure) is not dict else {
            k: found[k] for k in structure}
    if hasattr(structure, "_fields") or hasattr(type(structure), "__attrs_attrs__"):
        return type(structure)(*values)
    return tuple(values)


def flatten(structure):
    if not is_structure(structure):
        return [structure]
    return [leaf for child in _children(structure) for leaf in flatten(child)]


def map_structure(function, *structures):
    """function of the leaves; the first structure tells where leaves are."""
    first = structures[0]
    if not is_structure(first):
        return function(*structures)
    children = [_children(s) for s in structures]
    return _like(first, [map_structure(function, *each) for each in zip(*children)])


def pack(structure, flat):
    flat = iter(flat)
    return map_structure(lambda _: next(flat), structure)


# ---------------------------------------- of values

def _leaf(value):
    from .dataset import Dataset
    if is_sparse(value):
        return SparseTensor.from_value(value)
    if isinstance(value, Dataset):
        return value
    return convert_to_tensor(value)


def tensors_of(element):
    """The element with its leaves as tensors."""
    return map_structure(_leaf, element)


def structure_of(element):
    """The structure of an element whose leaves are tensors."""
    from .dataset import Dataset

    def one(value):
        if isinstance(value, SparseTensor):
            shape = constant_value(value.dense_shape)
            if shape is not None:
                return Sparse(value.dtype, [int(d) for d in shape])
            return Sparse(value.dtype, [None] * (value.dense_shape.shape[0].value or 0)
                          if value.dense_shape.shape.ndims and value.dense_shape.shape[0].value is not None else None)
        if isinstance(value, Dataset):
            return Nested(value._structure)
        return Dense(value.dtype, value.shape)
    return map_structure(one, element)


def flat_tensors(structure, element):
    """All tensors of an element, in the order of its components."""
    return [t for c, v in zip(flatten(structure), flatten(element)) for t in c.parts(v)]


def flat_types(structure):
    return [t for c in flatten(structure) for t in c.types]


def flat_shapes(structure):
    return [s for c in flatten(structure) for s in c.shapes]


def build(structure, tensors):
    """The element of a list of tensors."""
    tensors = list(tensors)

    def one(component):
        parts = tensors[:component.n]
        del tensors[:component.n]
        return component.build(parts)
    return pack(structure, [one(c) for c in flatten(structure)])


def from_types(types, shapes=None, classes=None):
    """The structure of nested types, shapes and classes."""
    if shapes is None:
        shapes = map_structure(lambda _: None, types)
    else:
        shapes = _shapes_like(types, shapes)
    if classes is None:
        classes = map_structure(lambda _: Tensor, types)
    return map_structure(lambda t, s, c: (Sparse if c is SparseTensor else Dense)(t, s), types, shapes, classes)


def _shapes_like(types, shapes):
    """Shapes in the structure of types: a tuple of numbers is a shape where a type stands."""
    if not is_structure(types):
        return tensor_shape.as_shape(shapes)
    children = _children(shapes) if is_structure(shapes) else list(shapes)
    return _like(types, [_shapes_like(t, s) for t, s in zip(_children(types), children)])
