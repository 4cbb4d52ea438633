"""merge — layers of several tensors: sums, products, one behind the other."""
from ... import array_ops, math_ops, nn
from ..layer import Layer

__all__ = ["Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate", "Dot", "add", "subtract",
           "multiply", "average", "maximum", "minimum", "concatenate", "dot"]


class _Merge(Layer):
    supports_masking = True
    _least = 1

    def call(self, inputs):
        if not isinstance(inputs, (list, tuple)):
            raise ValueError("A merge layer should be called on a list of inputs. Received: inputs=%s" % (inputs,))
        if len(inputs) < self._least:
            raise ValueError("A merge layer should be called on a list of at least %d inputs." % self._least)
        return self._merge(list(inputs))

    def compute_mask(self, inputs, mask=None):
        return None


def _folded(name, join):
    def merge(self, inputs):
        result = inputs[0]
        for one in inputs[1:]:
            result = join(result, one)
        return result
    return type(name, (_Merge,), {"_merge": merge, "__module__": __name__})


Add, Multiply = _folded("Add", lambda a, b: a + b), _folded("Multiply", lambda a, b: a * b)
Maximum, Minimum = _folded("Maximum", math_ops.maximum), _folded("Minimum", math_ops.minimum)


class Average(_Merge):
    def _merge(self, inputs):
        return Add._merge(self, inputs) / float(len(inputs))


class Subtract(_Merge):
    _least = 2

    def _merge(self, inputs):
        if len(inputs) != 2:
            raise ValueError("A `Subtract` layer should be called on exactly 2 inputs. Received: %d" % len(inputs))
        return inputs[0] - inputs[1]


class Concatenate(_Merge):
    def __init__(self, axis=-1, **kwargs):
        super().__init__(**kwargs)
        self.axis = axis

    def _merge(self, inputs):
        return array_ops.concat(inputs, self.axis)


class Dot(_Merge):
    """Products along an axis of each of two tensors."""
    _least = 2

    def __init__(self, axes, normalize=False, **kwargs):
        super().__init__(**kwargs)
        self.axes, self.normalize = axes, normalize

    def _merge(self, inputs):
        a, b = inputs
        axes = [self.axes] * 2 if isinstance(self.axes, int) else list(self.axes)
        axes = [x % t.shape.ndims for x, t in zip(axes, inputs)]
        if self.normalize:
            a, b = nn.l2_normalize(a, axes[0]), nn.l2_normalize(b, axes[1])
        if a.shape.ndims == 2 and b.shape.ndims == 2:
            return math_ops.reduce_sum(a * b, axis=1, keepdims=True)
        left = a if a.shape.ndims == 3 else array_ops.expand_dims(a, 1)
        right = b if b.shape.ndims == 3 else array_ops.expand_dims(b, 2)
        product = math_ops.matmul(left, right, transpose_a=a.shape.ndims == 3 and axes[0] == 1,
                                  transpose_b=b.shape.ndims == 3 and axes[1] == 2)
        if a.shape.ndims == 2:
            product = array_ops.squeeze(product, 1)
        return array_ops.squeeze(product, -1) if b.shape.ndims == 2 else product


def add(inputs, **kwargs):
    return Add(**kwargs)(inputs)


def subtract(inputs, **kwargs):
    return Subtract(**kwargs)(inputs)


def multiply(inputs, **kwargs):
    return Multiply(**kwargs)(inputs)


def average(inputs, **kwargs):
    return Average(**kwargs)(inputs)


def maximum(inputs, **kwargs):
    return Maximum(**kwargs)(inputs)


def minimum(inputs, **kwargs):
    return Minimum(**kwargs)(inputs)


def concatenate(inputs, axis=-1, **kwargs):
    return Concatenate(axis=axis, **kwargs)(inputs)


def dot(inputs, axes, **kwargs):
    return Dot(axes=axes, **kwargs)(inputs)
