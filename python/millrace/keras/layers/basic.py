"""basic — Dense, Embedding, Dropout and the layers that only bring tensors into another shape."""
import numpy as np

from ... import array_ops, dtypes, math_ops, nn, random_ops
from ...convert import convert_to_tensor
from .. import activations, constraints, initializers, regularizers
from ..layer import Layer

__all__ = ["Dense", "Embedding", "Dropout", "SpatialDropout1D", "SpatialDropout2D", "GaussianNoise", "Flatten", "Reshape",
           "Permute", "RepeatVector", "Lambda", "Identity", "Masking", "Activation", "InputLayer", "Operation", "Rescaling",
           "ZeroPadding1D", "ZeroPadding2D", "Cropping2D", "UpSampling1D", "UpSampling2D", "TimeDistributed"]


class InputLayer(Layer):
    """Where tensors come into a model."""

    def __init__(self, shape=None, batch_size=None, dtype=None, name=None, batch_shape=None, input_shape=None, **kwargs):
        super().__init__(name=name or None, dtype=dtype)
        if batch_shape is None:
            batch_shape = (batch_size,) + tuple(shape if shape is not None else input_shape)
        self.batch_shape = tuple(batch_shape)
        self.built = True

    def call(self, inputs=None):
        return inputs

    def get_config(self):
        return {"batch_shape": list(self.batch_shape), "dtype": self.dtype, "name": self.name}


class Dense(Layer):
    """activation(inputs @ kernel + bias), over the last dimension."""
    supports_masking = True

    def __init__(self, units, activation=None, use_bias=True, kernel_initializer="glorot_uniform", bias_initializer="zeros",
                 kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
                 bias_constraint=None, **kwargs):
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        if not isinstance(units, (int, np.integer)) or units <= 0:
            raise ValueError("Received an invalid value for `units`, expected a positive integer. Received: units=%s" % (units,))
        self.units, self.activation, self.use_bias = int(units), activations.get(activation), use_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint, self.bias_constraint = constraints.get(kernel_constraint), constraints.get(bias_constraint)

    def build(self, input_shape):
        if input_shape[-1] is None:
            raise ValueError("The last dimension of the inputs to a Dense layer should be defined. Found None.")
        self.kernel = self.add_weight((input_shape[-1], self.units), self.kernel_initializer, name="kernel",
                                      regularizer=self.kernel_regularizer, constraint=self.kernel_constraint)
        self.bias = self.add_weight((self.units,), self.bias_initializer, name="bias", regularizer=self.bias_regularizer,
                                    constraint=self.bias_constraint) if self.use_bias else None
        self.built = True

    def call(self, inputs):
        width = self.kernel.shape[0]
        if inputs.shape[-1] is not None and inputs.shape[-1] != width:
            raise ValueError("Input 0 of layer \"%s\" is incompatible with the layer: expected axis -1 of input shape to have "
                             "value %d, but received input with shape %s" % (self.name, width, tuple(inputs.shape)))
        if inputs.shape.ndims == 2:
            x = math_ops.matmul(inputs, self.kernel)
        else:
            x = math_ops.matmul(array_ops.reshape(inputs, [-1, width]), self.kernel)
        if self.bias is not None:
            x = nn.bias_add(x, self.bias)
        x = self.activation(x) if inputs.shape.ndims == 2 or self.activation in (activations.linear, activations.relu,
                                                                              activations.tanh, activations.sigmoid) else x
        if inputs.shape.ndims == 2:
            return x
        dims = [d if d is not None else -1 for d in inputs.shape[:-1]]
        shape = dims + [self.units] if dims.count(-1) <= 1 else array_ops.concat(
            [array_ops.shape(inputs)[:-1], [self.units]], 0)
        x = array_ops.reshape(x, shape)
        simple = self.activation in (activations.linear, activations.relu, activations.tanh, activations.sigmoid)
        return x if simple else self.activation(x)


class Embedding(Layer):
    """Rows of a learned table, by their numbers."""

    def __init__(self, input_dim, output_dim, embeddings_initializer="uniform", embeddings_regularizer=None,
                 embeddings_constraint=None, mask_zero=False, weights=None, input_length=None, **kwargs):
        super().__init__(weights=weights, **kwargs)
        self.input_dim, self.output_dim, self.mask_zero = int(input_dim), int(output_dim), mask_zero
        self.embeddings_initializer = initializers.get(embeddings_initializer)
        self.embeddings_regularizer = regularizers.get(embeddings_regularizer)
        self.embeddings_constraint = constraints.get(embeddings_constraint)
        self._autocast = False

    def build(self, input_shape):
        self.embeddings = self.add_weight((self.input_dim, self.output_dim), self.embeddings_initializer, name="embeddings",
                                          regularizer=self.embeddings_regularizer, constraint=self.embeddings_constraint)
        self.built = True

    def call(self, inputs):
        if inputs.dtype not in (dtypes.int32, dtypes.int64):
            inputs = math_ops.cast(inputs, dtypes.int32)
        return self.embeddings.sparse_read(inputs)

    def compute_mask(self, inputs, mask=None):
        return math_ops.not_equal(inputs, convert_to_tensor(0, inputs.dtype)) if self.mask_zero else None


class Dropout(Layer):
    """While learning, sets a part `rate` of its inputs to zero and scales the rest up."""
    supports_masking = True

    def __init__(self, rate, noise_shape=None, seed=None, **kwargs):
        super().__init__(**kwargs)
        if not 0 <= rate <= 1:
            raise ValueError("Invalid value received for argument `rate`. Expected a float value between 0 and 1. Received: "
                             "rate=%s" % rate)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def _noise_shape(self, inputs):
        return self.noise_shape

    def call(self, inputs, training=None):
        if not training or self.rate == 0:
            return inputs
        shape = self._noise_shape(inputs)
        return nn.dropout(inputs, rate=self.rate, noise_shape=shape, seed=self.seed)


class SpatialDropout1D(Dropout):
    """Drops whole channels of [batch, steps, channels]."""

    def _noise_shape(self, inputs):
        s = array_ops.shape(inputs)
        return array_ops.stack([s[0], 1, s[2]])


class SpatialDropout2D(Dropout):
    """Drops whole channels of [batch, rows, columns, channels]."""

    def _noise_shape(self, inputs):
        s = array_ops.shape(inputs)
        return array_ops.stack([s[0], 1, 1, s[3]])


class GaussianNoise(Layer):
    supports_masking = True

    def __init__(self, stddev, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.stddev, self.seed = stddev, seed

    def call(self, inputs, training=None):
        if not training or self.stddev == 0:
            return inputs
        return inputs + random_ops.random_normal(array_ops.shape(inputs), 0.0, self.stddev, inputs.dtype, self.seed)


class Flatten(Layer):
    """Everything but the batch in one row."""

    def __init__(self, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.data_format = data_format

    def call(self, inputs):
        dims = list(inputs.shape)[1:]
        if None in dims:
            return array_ops.reshape(inputs, array_ops.stack([array_ops.shape(inputs)[0], -1]))
        if not dims:
            return array_ops.expand_dims(inputs, -1)
        width = int(np.prod(dims))
        batch = inputs.shape[0]
        return array_ops.reshape(inputs, [-1 if batch is None else batch, width])


class Reshape(Layer):
    def __init__(self, target_shape, **kwargs):
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def call(self, inputs):
        target, known = list(self.target_shape), list(inputs.shape)[1:]
        if -1 in target and None not in known:
            rest = int(np.prod([d for d in target if d != -1])) or 1
            target[target.index(-1)] = int(np.prod(known)) // rest
        if inputs.shape[0] is not None:
            return array_ops.reshape(inputs, [inputs.shape[0]] + target)
        if -1 not in target:
            return array_ops.reshape(inputs, [-1] + target)
        return array_ops.reshape(inputs, array_ops.concat([array_ops.shape(inputs)[:1], target], 0))


class Permute(Layer):
    def __init__(self, dims, **kwargs):
        super().__init__(**kwargs)
        self.dims = tuple(dims)

    def call(self, inputs):
        return array_ops.transpose(inputs, [0] + list(self.dims))


class RepeatVector(Layer):
    def __init__(self, n, **kwargs):
        super().__init__(**kwargs)
        self.n = n

    def call(self, inputs):
        return array_ops.tile(array_ops.expand_dims(inputs, 1), [1, self.n, 1])


class Lambda(Layer):
    """A Python function as a layer."""

    def __init__(self, function, output_shape=None, mask=None, arguments=None, **kwargs):
        super().__init__(**kwargs)
        self.function, self.arguments = function, arguments or {}

    def call(self, inputs, mask=None, training=None):
        import inspect
        given = dict(self.arguments)
        if "training" in inspect.signature(self.function).parameters:
            given["training"] = training
        return self.function(inputs, **given)


class Identity(Layer):
    supports_masking = True

    def call(self, inputs):
        return inputs


class Masking(Layer):
    """Steps whose features all are mask_value are left out by the layers that follow."""
    supports_masking = True

    def __init__(self, mask_value=0.0, **kwargs):
        super().__init__(**kwargs)
        self.mask_value = mask_value

    def compute_mask(self, inputs, mask=None):
        return math_ops.reduce_any(math_ops.not_equal(inputs, convert_to_tensor(self.mask_value, inputs.dtype)), axis=-1)

    def call(self, inputs):
        seen = math_ops.reduce_any(math_ops.not_equal(inputs, convert_to_tensor(self.mask_value, inputs.dtype)), axis=-1,
                                   keepdims=True)
        return inputs * math_ops.cast(seen, inputs.dtype)


class Activation(Layer):
    supports_masking = True

    def __init__(self, activation, **kwargs):
        super().__init__(**kwargs)
        self.activation = activations.get(activation)

    def call(self, inputs):
        return self.activation(inputs)


class Operation(Layer):
    """An operator between tensors of a drawing."""

    def __init__(self, operator, **kwargs):
        super().__init__(**kwargs)
        self.operator = operator
        self._autocast = False

    def call(self, x, *others):
        return getattr(x, self.operator)(*others)


class Rescaling(Layer):
    """inputs * scale + offset."""

    def __init__(self, scale, offset=0.0, **kwargs):
        super().__init__(**kwargs)
        self.scale, self.offset = scale, offset

    def call(self, inputs):
        return math_ops.cast(inputs, self.dtype) * self.scale + self.offset


def _pairs(value, n):
    """((before, after), ...) for n dimensions from an int, n ints or n pairs."""
    value = (value,) * n if isinstance(value, int) else tuple(value)
    if len(value) != n and n == 1:
        return (value,)
    return tuple((v, v) if isinstance(v, int) else tuple(v) for v in value)


class ZeroPadding1D(Layer):
    def __init__(self, padding=1, **kwargs):
        super().__init__(**kwargs)
        self.padding = padding

    def call(self, inputs):
        pair = (self.padding,) * 2 if isinstance(self.padding, int) else tuple(self.padding)
        return array_ops.pad(inputs, [[0, 0], list(pair), [0, 0]])


class ZeroPadding2D(Layer):
    def __init__(self, padding=(1, 1), data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.padding, self.data_format = padding, data_format

    def call(self, inputs):
        return array_ops.pad(inputs, [[0, 0]] + [list(p) for p in _pairs(self.padding, 2)] + [[0, 0]])


class Cropping2D(Layer):
    def __init__(self, cropping=((0, 0), (0, 0)), data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.cropping, self.data_format = cropping, data_format

    def call(self, inputs):
        (top, bottom), (left, right) = _pairs(self.cropping, 2)
        return inputs[:, top:-bottom if bottom else None, left:-right if right else None, :]


class UpSampling1D(Layer):
    def __init__(self, size=2, **kwargs):
        super().__init__(**kwargs)
        self.size = int(size)

    def call(self, inputs):
        repeated = array_ops.tile(array_ops.expand_dims(inputs, 2), [1, 1, self.size, 1])
        return array_ops.reshape(repeated, [-1, inputs.shape[1] * self.size, inputs.shape[2]])


class UpSampling2D(Layer):
    """Rows and columns repeated, or interpolated."""

    def __init__(self, size=(2, 2), data_format=None, interpolation="nearest", **kwargs):
        super().__init__(**kwargs)
        self.size = (size, size) if isinstance(size, int) else tuple(size)
        self.data_format, self.interpolation = data_format, interpolation

    def call(self, inputs):
        from ...ops_apply import apply
        h, w = inputs.shape[1], inputs.shape[2]
        s = array_ops.shape(inputs)
        size = [h * self.size[0], w * self.size[1]] if h is not None and w is not None else \
            array_ops.stack([s[1] * self.size[0], s[2] * self.size[1]])
        op = {"nearest": "ResizeNearestNeighbor", "bilinear": "ResizeBilinear"}[self.interpolation]
        resized = apply(op, None, {"images": inputs, "size": size, "half_pixel_centers": True})
        return resized if resized.dtype == inputs.dtype else math_ops.cast(resized, inputs.dtype)


class TimeDistributed(Layer):
    """A layer applied to each step of [batch, steps, ...]."""

    def __init__(self, layer, **kwargs):
        super().__init__(**kwargs)
        self.layer = layer

    def call(self, inputs, training=None):
        steps = inputs.shape[1]
        s = array_ops.shape(inputs)
        flat = array_ops.reshape(inputs, [-1] + [d for d in inputs.shape[2:]])
        given = {"training": training} if self.layer._takes("training") else {}
        out = self.layer(flat, **given)
        dims = list(out.shape)[1:]
        if steps is not None:
            return array_ops.reshape(out, [-1, steps] + dims)
        return array_ops.reshape(out, array_ops.concat([s[:2], dims], 0))
