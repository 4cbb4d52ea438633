"""normalization — layers that bring what flows through to mean 0 and deviation 1, by batch, by example, or as once seen."""
import numpy as np

from ... import array_ops, math_ops, nn
from ...convert import convert_to_tensor
from ...ops_apply import apply
from .. import constraints, initializers, regularizers
from ..layer import Layer

__all__ = ["BatchNormalization", "LayerNormalization", "Normalization", "UnitNormalization", "GroupNormalization"]


class BatchNormalization(Layer):
    """By channel over the batch while learning, else by what was seen."""
    supports_masking = True

    def __init__(self, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True, beta_initializer="zeros",
                 gamma_initializer="ones", moving_mean_initializer="zeros", moving_variance_initializer="ones",
                 beta_regularizer=None, gamma_regularizer=None, beta_constraint=None, gamma_constraint=None, **kwargs):
        super().__init__(**kwargs)
        self.axis, self.momentum, self.epsilon, self.center, self.scale = axis, momentum, epsilon, center, scale
        self.beta_initializer, self.gamma_initializer = initializers.get(beta_initializer), initializers.get(gamma_initializer)
        self.moving_mean_initializer = initializers.get(moving_mean_initializer)
        self.moving_variance_initializer = initializers.get(moving_variance_initializer)
        self.beta_regularizer, self.gamma_regularizer = regularizers.get(beta_regularizer), regularizers.get(gamma_regularizer)
        self.beta_constraint, self.gamma_constraint = constraints.get(beta_constraint), constraints.get(gamma_constraint)

    def build(self, input_shape):
        shape = (input_shape[self.axis],)
        self.gamma = self.add_weight(shape, self.gamma_initializer, name="gamma", regularizer=self.gamma_regularizer,
                                     constraint=self.gamma_constraint) if self.scale else None
        self.beta = self.add_weight(shape, self.beta_initializer, name="beta", regularizer=self.beta_regularizer,
                                    constraint=self.beta_constraint) if self.center else None
        self.moving_mean = self.add_weight(shape, self.moving_mean_initializer, name="moving_mean", trainable=False)
        self.moving_variance = self.add_weight(shape, self.moving_variance_initializer, name="moving_variance",
                                               trainable=False)
        self.built = True

    def call(self, inputs, training=None, mask=None):
        n = inputs.shape.ndims
        axis = self.axis % n
        learning = bool(training) and self.trainable
        gamma = self.gamma if self.scale else array_ops.ones([inputs.shape[axis]], inputs.dtype)
        beta = self.beta if self.center else array_ops.zeros([inputs.shape[axis]], inputs.dtype)
        if n == 4 and axis == 3 and mask is None:
            return self._fused(inputs, gamma, beta, learning)
        others = [i for i in range(n) if i != axis]
        if learning:
            mean, variance = self._moments(inputs, others, mask)
            self._learn(mean, variance)
        else:
            mean, variance = convert_to_tensor(self.moving_mean), convert_to_tensor(self.moving_variance)
        wide = [1] * n
        wide[axis] = inputs.shape[axis]
        shaped = (lambda t: t) if axis == n - 1 else (lambda t: array_ops.reshape(t, wide))
        inverse = math_ops.rsqrt(variance + self.epsilon) * gamma
        return inputs * shaped(inverse) + shaped(beta - mean * inverse)

    def _moments(self, inputs, axes, mask):
        if mask is None:
            return nn.moments(inputs, axes)
        weight = math_ops.cast(mask, inputs.dtype)
        while weight.shape.ndims < inputs.shape.ndims:
            weight = array_ops.expand_dims(weight, -1)
        # Every element counts as often as the mask says.
        count = math_ops.reduce_sum(weight * array_ops.ones_like(inputs), axes) + 1e-7
        mean = math_ops.reduce_sum(inputs * weight, axes) / count
        return mean, math_ops.reduce_sum(math_ops.square(inputs - mean) * weight, axes) / count

    def _learn(self, mean, variance):
        m = self.momentum
        self.moving_mean.assign(self.moving_mean * m + mean * (1.0 - m))
        self.moving_variance.assign(self.moving_variance * m + variance * (1.0 - m))

    def _fused(self, x, gamma, beta, learning):
        r = apply("FusedBatchNormV3", None, {
            "x": x, "scale": gamma, "offset": beta, "mean": [] if learning else self.moving_mean,
            "variance": [] if learning else self.moving_variance, "epsilon": self.epsilon, "is_training": learning})
        if learning:
            variance = r[2]
            size = math_ops.cast(array_ops.size(x) / array_ops.size(r[1]), x.dtype)
            # The op corrects the variance for the sample's size; Keras does not.
            self._learn(r[1], variance * ((size - 1.0) / size))
        return r[0]


class LayerNormalization(Layer):
    """By example, over `axis`."""
    supports_masking = True

    def __init__(self, axis=-1, epsilon=1e-3, center=True, scale=True, beta_initializer="zeros", gamma_initializer="ones",
                 beta_regularizer=None, gamma_regularizer=None, beta_constraint=None, gamma_constraint=None, **kwargs):
        super().__init__(**kwargs)
        self.axis, self.epsilon, self.center, self.scale = axis, epsilon, center, scale
        self.beta_initializer, self.gamma_initializer = initializers.get(beta_initializer), initializers.get(gamma_initializer)
        self.beta_regularizer, self.gamma_regularizer = regularizers.get(beta_regularizer), regularizers.get(gamma_regularizer)
        self.beta_constraint, self.gamma_constraint = constraints.get(beta_constraint), constraints.get(gamma_constraint)

    def build(self, input_shape):
        axes = [self.axis] if isinstance(self.axis, int) else list(self.axis)
        self._axes = sorted(a % len(input_shape) for a in axes)
        shape = [input_shape[a] for a in self._axes]
        self.gamma = self.add_weight(shape, self.gamma_initializer, name="gamma", regularizer=self.gamma_regularizer,
                                     constraint=self.gamma_constraint) if self.scale else None
        self.beta = self.add_weight(shape, self.beta_initializer, name="beta", regularizer=self.beta_regularizer,
                                    constraint=self.beta_constraint) if self.center else None
        self.built = True

    def call(self, inputs):
        n = inputs.shape.ndims
        mean, variance = nn.moments(inputs, self._axes, keepdims=True)
        wide = [inputs.shape[i] if i in self._axes else 1 for i in range(n)]
        shaped = (lambda t: t) if self._axes == list(range(n - len(self._axes), n)) else \
            (lambda t: array_ops.reshape(t, wide))
        inverse = math_ops.rsqrt(variance + self.epsilon)
        if self.gamma is not None:
            inverse = inverse * shaped(convert_to_tensor(self.gamma))
        shift = -mean * inverse
        if self.beta is not None:
            shift = shift + shaped(convert_to_tensor(self.beta))
        return inputs * inverse + shift


class GroupNormalization(Layer):
    """By example and by groups of channels, the last dimension."""

    def __init__(self, groups=32, axis=-1, epsilon=1e-3, center=True, scale=True, beta_initializer="zeros",
                 gamma_initializer="ones", **kwargs):
        super().__init__(**kwargs)
        if axis != -1:
            raise ValueError("GroupNormalization normalises the last dimension here; got axis=%s" % axis)
        self.groups, self.axis, self.epsilon, self.center, self.scale = groups, axis, epsilon, center, scale
        self.beta_initializer, self.gamma_initializer = initializers.get(beta_initializer), initializers.get(gamma_initializer)

    def build(self, input_shape):
        n = input_shape[-1]
        self._n_groups = n if self.groups == -1 else self.groups
        if n % self._n_groups:
            raise ValueError("Number of groups (%d) must be a divisor of the number of channels (%d)." % (self._n_groups, n))
        self.gamma = self.add_weight((n,), self.gamma_initializer, name="gamma") if self.scale else None
        self.beta = self.add_weight((n,), self.beta_initializer, name="beta") if self.center else None
        self.built = True

    def call(self, inputs):
        s = array_ops.shape(inputs)
        dims = [s[0] if d is None else d for d in inputs.shape]
        dims = [s[i] if inputs.shape[i] is None else inputs.shape[i] for i in range(inputs.shape.ndims)]
        grouped = array_ops.reshape(inputs, dims[:-1] + [self._n_groups, inputs.shape[-1] // self._n_groups])
        axes = list(range(1, inputs.shape.ndims - 1)) + [inputs.shape.ndims]
        mean, variance = nn.moments(grouped, axes, keepdims=True)
        x = array_ops.reshape((grouped - mean) * math_ops.rsqrt(variance + self.epsilon), dims)
        if self.gamma is not None:
            x = x * self.gamma
        return x if self.beta is None else x + self.beta


class UnitNormalization(Layer):
    def __init__(self, axis=-1, **kwargs):
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs):
        return nn.l2_normalize(inputs, self.axis)


class Normalization(Layer):
    """(inputs - mean) / deviation, of data given to adapt()."""

    def __init__(self, axis=-1, mean=None, variance=None, **kwargs):
        super().__init__(**kwargs)
        self.axis, self.mean, self.variance = axis, mean, variance

    def build(self, input_shape):
        self.built = True

    def adapt(self, data):
        data = np.asarray(data, np.float64)
        keep = [] if self.axis is None else [a % data.ndim for a in ([self.axis] if isinstance(self.axis, int) else self.axis)]
        axes = tuple(i for i in range(data.ndim) if i not in keep)
        self.mean, self.variance = data.mean(axes, keepdims=True), data.var(axes, keepdims=True)

    def call(self, inputs):
        if self.mean is None:
            raise ValueError("You must call `adapt()` or give `mean` and `variance`.")
        mean, variance = np.asarray(self.mean, np.float32), np.asarray(self.variance, np.float32)
        return (inputs - mean) / np.maximum(np.sqrt(variance), 1e-7)
