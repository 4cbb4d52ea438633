"""tensor_shape — Dimension and TensorShape: what is known of a tensor's shape before it runs."""
import operator


class Dimension:
    """One extent of a shape; its `value` is an int, or None where it is unknown.

    Comparisons with something unknown are None, and arithmetic with it is unknown.
    """
    __slots__ = ("_value",)

    def __init__(self, value):
        if isinstance(value, Dimension):
            value = value._value
        elif value is not None:
            if isinstance(value, bytes) or (isinstance(value, str)):
                value = int(value)
            elif isinstance(value, float):
                if int(value) != value:
                    raise ValueError("Ambiguous dimension: %s" % value)
                value = int(value)
            else:
                try:
                    value = operator.index(value)
                except TypeError:
                    raise TypeError("Dimension value must be integer or None or have an __index__ method, got %r"
                                    % (value,)) from None
            if value < 0:
                raise ValueError("Dimension %d must be >= 0" % value)
        self._value = value

    value = property(lambda self: self._value)

    def is_compatible_with(self, other):
        other = as_dimension(other)
        return self._value is None or other._value is None or self._value == other._value

    def assert_is_compatible_with(self, other):
        if not self.is_compatible_with(other):
            raise ValueError("Dimensions %s and %s are not compatible" % (self, other))

    def merge_with(self, other):
        other = as_dimension(other)
        self.assert_is_compatible_with(other)
        return Dimension(other._value if self._value is None else self._value)

    def __repr__(self):
        return "Dimension(%s)" % self._value

    def __str__(self):
        return "?" if self._value is None else str(self._value)

    def __int__(self):
        return self._value

    def __index__(self):
        if self._value is None:
            raise TypeError("an unknown Dimension is no index")
        return self._value

    def __hash__(self):
        return hash(self._value)

    def __bool__(self):
        return bool(self._value)


def as_dimension(value):
    return value if isinstance(value, Dimension) else Dimension(value)


def dimension_value(dimension):
    return dimension._value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape, index):
    return Dimension(None) if shape.rank is None else shape.dims[index]


def _arithmetic(name, function, swapped=False):
    def method(self, other):
        try:
            other = as_dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        a, b = (other._value, self._value) if swapped else (self._value, other._value)
        return Dimension(None if a is None or b is None else function(a, b))
    method.__name__ = name
    setattr(Dimension, name, method)


def _comparison(name, function):
    def method(self, other):
        try:
            other = as_dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self._value is None or other._value is None:
            return None
        return function(self._value, other._value)
    setattr(Dimension, name, method)


for _name, _function in (("add", operator.add), ("sub", operator.sub), ("mul", operator.mul),
                         ("floordiv", operator.floordiv), ("mod", operator.mod), ("div", operator.floordiv),
                         ("truediv", operator.floordiv)):
    _arithmetic("__%s__" % _name, _function)
    _arithmetic("__r%s__" % _name, _function, True)
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    _comparison("__%s__" % _name, getattr(operator, _name))


class TensorShape:
    """The shape of a tensor: a list of Dimensions, or of unknown rank (`dims` None).

    Iterating gives Dimensions. str() is "(?, 2)", "<unknown>", "(2,)".
    """
    __slots__ = ("_dims",)

    def __init__(self, dims):
        if dims is None:
            self._dims = None
        elif isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif hasattr(dims, "unknown_rank") and hasattr(dims, "dim"):
            self._dims = None if dims.unknown_rank else [Dimension(None if d.size < 0 else d.size) for d in dims.dim]
        elif isinstance(dims, (int, Dimension)) or not hasattr(dims, "__iter__"):
            self._dims = [as_dimension(dims)]
        else:
            self._dims = [as_dimension(d) for d in dims]

    dims = property(lambda self: self._dims)
    rank = property(lambda self: None if self._dims is None else len(self._dims))
    ndims = rank

    def __len__(self):
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self):
        return self._dims is not None

    def __iter__(self):
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self._dims)

    def __getitem__(self, key):
        if self._dims is not None:
            return TensorShape(self._dims[key]) if isinstance(key, slice) else self._dims[key]
        if isinstance(key, slice):
            start, stop = key.start or 0, key.stop
            if key.step is not None:
                raise ValueError("Steps are not yet handled")
            if stop is None or start < 0 or stop < 0:
                return TensorShape(None)
            return TensorShape([None] * max(0, stop - start))
        return Dimension(None)

    def num_elements(self):
        """How many elements a tensor of this shape has; None where that is unknown."""
        if not self.is_fully_defined():
            return None
        size = 1
        for d in self._dims:
            size *= d._value
        return size

    def is_fully_defined(self):
        return self._dims is not None and all(d._value is not None for d in self._dims)

    def assert_is_fully_defined(self):
        if not self.is_fully_defined():
            raise ValueError("Shape %s is not fully defined" % self)

    def as_list(self):
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return [d._value for d in self._dims]

    def as_proto(self):
        from .messages import TensorShapeProto
        proto = TensorShapeProto()
        if self._dims is None:
            proto.unknown_rank = True
            return proto
        for d in self._dims:
            proto.dim.add().size = -1 if d._value is None else d._value
        return proto

    def is_compatible_with(self, other):
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return True
        return len(self._dims) == len(other._dims) and all(a.is_compatible_with(b)
                                                           for a, b in zip(self._dims, other._dims))

    def assert_is_compatible_with(self, other):
        if not self.is_compatible_with(other):
            raise ValueError("Shapes %s and %s are incompatible" % (self, other))

    def most_specific_compatible_shape(self, other):
        other = as_shape(other)
        if self._dims is None or other._dims is None or len(self._dims) != len(other._dims):
            return TensorShape(None)
        return TensorShape([a._value if a._value == b._value else None for a, b in zip(self._dims, other._dims)])

    def merge_with(self, other):
        other = as_shape(other)
        if self._dims is None:
            return other
        if other._dims is None:
            return self
        if not self.is_compatible_with(other):
            raise ValueError("Shapes %s and %s are not compatible" % (self, other))
        return TensorShape([a.merge_with(b) for a, b in zip(self._dims, other._dims)])

    def concatenate(self, other):
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return TensorShape(None)
        return TensorShape(self._dims + other._dims)

    def __add__(self, other):
        return self.concatenate(other)

    def __radd__(self, other):
        return as_shape(other).concatenate(self)

    def with_rank(self, rank):
        if self._dims is not None and len(self._dims) != rank:
            raise ValueError("Shape %s must have rank %d" % (self, rank))
        return self if self._dims is not None else TensorShape([None] * rank)

    def with_rank_at_least(self, rank):
        if self._dims is not None and len(self._dims) < rank:
            raise ValueError("Shape %s must have rank at least %d" % (self, rank))
        return self

    def with_rank_at_most(self, rank):
        if self._dims is not None and len(self._dims) > rank:
            raise ValueError("Shape %s must have rank at most %d" % (self, rank))
        return self

    def assert_has_rank(self, rank):
        if self.rank not in (None, rank):
            raise ValueError("Shape %s must have rank %d" % (self, rank))

    def assert_same_rank(self, other):
        other = as_shape(other)
        if self.rank is not None and other.rank is not None and self.rank != other.rank:
            raise ValueError("Shapes %s and %s must have the same rank" % (self, other))

    def __eq__(self, other):
        try:
            other = as_shape(other)
        except (TypeError, ValueError):
            return NotImplemented
        return [d._value for d in self._dims or []] == [d._value for d in other._dims or []] and \
            (self._dims is None) == (other._dims is None)

    def __ne__(self, other):
        equal = self.__eq__(other)
        if equal is NotImplemented:
            return True
        if self._dims is None or as_shape(other)._dims is None:
            raise ValueError("The inequality of unknown TensorShapes is undefined.")
        return not equal

    def __hash__(self):
        return hash(None if self._dims is None else tuple(d._value for d in self._dims))

    def __str__(self):
        if self._dims is None:
            return "<unknown>"
        if len(self._dims) == 1:
            return "(%s,)" % self._dims[0]
        return "(%s)" % ", ".join(str(d) for d in self._dims)

    def __repr__(self):
        return "TensorShape(%r)" % (self._dims,)

    def __reduce__(self):
        return TensorShape, (None if self._dims is None else self.as_list(),)


class EagerShape(TensorShape):
    """A TensorShape whose items are ints, or None, as in TensorFlow 2."""

    def __getitem__(self, key):
        if isinstance(key, slice):
            return EagerShape(None if self.dims is None else [d.value for d in self.dims[key]])
        if self.dims is None:
            return None
        return self.dims[key].value

    def __iter__(self):
        if self.dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter([d.value for d in self.dims])

    def __repr__(self):
        return "TensorShape(%s)" % (None if self.dims is None else [d.value for d in self.dims],)

    def __str__(self):
        if self.dims is None:
            return "<unknown>"
        return str(tuple(d.value for d in self.dims))

    __hash__ = TensorShape.__hash__


def as_shape(shape):
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)


def unknown_shape(rank=None, ndims=None):
    rank = ndims if rank is None else rank
    return TensorShape(None if rank is None else [None] * rank)


def scalar():
    return TensorShape([])


def vector(length):
    return TensorShape([length])


def matrix(rows, cols):
    return TensorShape([rows, cols])
