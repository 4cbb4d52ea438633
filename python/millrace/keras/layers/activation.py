"""activation — activations that are layers: with weights, or with settings of their own."""
from ... import array_ops, math_ops, nn
from .. import activations, constraints, initializers, regularizers
from ..layer import Layer

__all__ = ["ReLU", "LeakyReLU", "PReLU", "ELU", "Softmax"]


class ReLU(Layer):
    supports_masking = True

    def __init__(self, max_value=None, negative_slope=0.0, threshold=0.0, **kwargs):
        super().__init__(**kwargs)
        self.max_value, self.negative_slope, self.threshold = max_value, negative_slope, threshold

    def call(self, inputs):
        return activations.relu(inputs, self.negative_slope, self.max_value, self.threshold)


class LeakyReLU(Layer):
    supports_masking = True

    def __init__(self, negative_slope=0.3, alpha=None, **kwargs):
        super().__init__(**kwargs)
        self.negative_slope = negative_slope if alpha is None else alpha

    def call(self, inputs):
        return nn.leaky_relu(inputs, self.negative_slope)


class PReLU(Layer):
    supports_masking = True

    def __init__(self, alpha_initializer="zeros", alpha_regularizer=None, alpha_constraint=None, shared_axes=None, **kwargs):
        super().__init__(**kwargs)
        self.alpha_initializer = initializers.get(alpha_initializer)
        self.alpha_regularizer, self.alpha_constraint = regularizers.get(alpha_regularizer), constraints.get(alpha_constraint)
        self.shared_axes = None if shared_axes is None else [shared_axes] if isinstance(shared_axes, int) else list(shared_axes)

    def build(self, input_shape):
        shape = list(input_shape[1:])
        for axis in self.shared_axes or ():
            shape[axis - 1] = 1
        self.alpha = self.add_weight(shape, self.alpha_initializer, name="alpha", regularizer=self.alpha_regularizer,
                                     constraint=self.alpha_constraint)
        self.built = True

    def call(self, inputs):
        return nn.relu(inputs) - self.alpha * nn.relu(-inputs)


class ELU(Layer):
    supports_masking = True

    def __init__(self, alpha=1.0, **kwargs):
        super().__init__(**kwargs)
        self.alpha = alpha

    def call(self, inputs):
        return activations.elu(inputs, self.alpha)


class Softmax(Layer):
    supports_masking = True

    def __init__(self, axis=-1, **kwargs):
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs, mask=None):
        if mask is not None:
            inputs = inputs + (1.0 - math_ops.cast(mask, inputs.dtype)) * -1e9
        if isinstance(self.axis, (list, tuple)):
            top = array_ops.stop_gradient(math_ops.reduce_max(inputs, self.axis, True))
            e = math_ops.exp(inputs - top)
            return e / math_ops.reduce_sum(e, self.axis, True)
        return nn.softmax(inputs, self.axis)
