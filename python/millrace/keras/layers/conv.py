"""conv — convolutions in one, two and three dimensions; depthwise, separable, transposed."""
from ... import array_ops, nn
from .. import activations, constraints, initializers, regularizers
from ..layer import Layer

__all__ = ["Conv1D", "Conv2D", "Conv3D", "Convolution1D", "Convolution2D", "Convolution3D", "DepthwiseConv2D",
           "SeparableConv2D", "Conv2DTranspose", "Conv1DTranspose"]


def _each(value, n):
    value = (value,) * n if isinstance(value, int) else tuple(int(v) for v in value)
    if len(value) != n:
        raise ValueError("expected %d integers, got %s" % (n, value))
    return value


class _Conv(Layer):
    """What convolutions share. Images are [batch, ..., channels], or [batch, channels, ...]."""
    _rank = 2

    def __init__(self, filters, kernel_size, strides=1, padding="valid", data_format=None, dilation_rate=1, groups=1,
                 activation=None, use_bias=True, kernel_initializer="glorot_uniform", bias_initializer="zeros",
                 kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
                 bias_constraint=None, **kwargs):
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        n = self._rank
        self.filters, self.groups = filters, groups
        self.kernel_size, self.strides = _each(kernel_size, n), _each(strides, n)
        self.dilation_rate, self.padding = _each(dilation_rate, n), padding.lower()
        if self.padding not in ("valid", "same", "causal"):
            raise ValueError("The `padding` argument must be one of 'valid', 'same', 'causal'. Received: %s" % padding)
        self.data_format = data_format or "channels_last"
        self.activation, self.use_bias = activations.get(activation), use_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint, self.bias_constraint = constraints.get(kernel_constraint), constraints.get(bias_constraint)

    def _channels(self, input_shape):
        channels = input_shape[-1 if self.data_format == "channels_last" else 1]
        if channels is None:
            raise ValueError("The channel dimension of the inputs should be defined. Found None in %s" % (input_shape,))
        return channels

    def build(self, input_shape):
        channels = self._channels(input_shape)
        if channels % self.groups:
            raise ValueError("The number of input channels must be evenly divisible by the number of groups.")
        self.kernel = self._weight("kernel", self.kernel_size + (channels // self.groups, self.filters))
        self._add_bias(self.filters)

    def _weight(self, name, shape):
        return self.add_weight(shape, self.kernel_initializer, name=name, regularizer=self.kernel_regularizer,
                               constraint=self.kernel_constraint)

    def _add_bias(self, n):
        self.bias = self.add_weight((n,), self.bias_initializer, name="bias", regularizer=self.bias_regularizer,
                                    constraint=self.bias_constraint) if self.use_bias else None
        self.built = True

    def _done(self, x):
        if self.bias is not None:
            if self.data_format == "channels_last":
                x = nn.bias_add(x, self.bias)
            else:
                x = x + array_ops.reshape(self.bias, [1, -1] + [1] * self._rank)
        return self.activation(x)

    def call(self, inputs):
        first = self.data_format == "channels_first"
        padding = self.padding.upper()
        if padding == "CAUSAL":
            inputs = array_ops.pad(inputs, [[0, 0], [self.dilation_rate[0] * (self.kernel_size[0] - 1), 0], [0, 0]])
            padding = "VALID"
        return self._done(self._convolve(inputs, padding, first))


class Conv1D(_Conv):
    """Convolution along the steps of [batch, steps, channels]."""
    _rank = 1

    def _convolve(self, x, padding, first):
        return nn.conv1d(x, self.kernel, self.strides[0], padding, data_format="NCW" if first else "NWC",
                         dilations=self.dilation_rate[0])


class Conv2D(_Conv):
    """Convolution of images."""

    def _convolve(self, x, padding, first):
        if first:
            x = array_ops.transpose(x, [0, 2, 3, 1])
        x = nn.conv2d(x, self.kernel, list(self.strides), padding, dilations=list(self.dilation_rate))
        return array_ops.transpose(x, [0, 3, 1, 2]) if first else x


class Conv3D(_Conv):
    """Convolution of volumes."""
    _rank = 3

    def _convolve(self, x, padding, first):
        if first:
            x = array_ops.transpose(x, [0, 2, 3, 4, 1])
        x = nn.conv3d(x, self.kernel, list(self.strides), padding, dilations=[1] + list(self.dilation_rate) + [1])
        return array_ops.transpose(x, [0, 4, 1, 2, 3]) if first else x


Convolution1D, Convolution2D, Convolution3D = Conv1D, Conv2D, Conv3D


class DepthwiseConv2D(_Conv):
    """Each channel with filters of its own."""

    def __init__(self, kernel_size, strides=(1, 1), padding="valid", depth_multiplier=1, depthwise_initializer="glorot_uniform",
                 depthwise_regularizer=None, depthwise_constraint=None, **kwargs):
        super().__init__(None, kernel_size, strides, padding, kernel_initializer=depthwise_initializer,
                         kernel_regularizer=depthwise_regularizer, kernel_constraint=depthwise_constraint, **kwargs)
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = self.kernel_initializer

    def build(self, input_shape):
        channels = self._channels(input_shape)
        self.kernel = self._weight("kernel", self.kernel_size + (channels, self.depth_multiplier))
        self._add_bias(channels * self.depth_multiplier)

    def _convolve(self, x, padding, first):
        if first:
            x = array_ops.transpose(x, [0, 2, 3, 1])
        x = nn.depthwise_conv2d(x, self.kernel, [1] + list(self.strides) + [1], padding, rate=list(self.dilation_rate))
        return array_ops.transpose(x, [0, 3, 1, 2]) if first else x


class SeparableConv2D(_Conv):
    """Depthwise, then pointwise."""

    def __init__(self, filters, kernel_size, strides=(1, 1), padding="valid", depth_multiplier=1,
                 depthwise_initializer="glorot_uniform", pointwise_initializer="glorot_uniform", **kwargs):
        super().__init__(filters, kernel_size, strides, padding, kernel_initializer=depthwise_initializer, **kwargs)
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = self.kernel_initializer
        self.pointwise_initializer = initializers.get(pointwise_initializer)

    def build(self, input_shape):
        channels = self._channels(input_shape)
        self.depthwise_kernel = self._weight("depthwise_kernel", self.kernel_size + (channels, self.depth_multiplier))
        self.pointwise_kernel = self.add_weight((1, 1, channels * self.depth_multiplier, self.filters),
                                                self.pointwise_initializer, name="pointwise_kernel")
        self._add_bias(self.filters)

    def _convolve(self, x, padding, first):
        if first:
            x = array_ops.transpose(x, [0, 2, 3, 1])
        x = nn.depthwise_conv2d(x, self.depthwise_kernel, [1] + list(self.strides) + [1], padding,
                                rate=list(self.dilation_rate))
        x = nn.conv2d(x, self.pointwise_kernel, [1, 1], "VALID")
        return array_ops.transpose(x, [0, 3, 1, 2]) if first else x


def _transposed_length(n, kernel, stride, padding):
    if n is None:
        return None
    return n * stride if padding == "SAME" else n * stride + max(kernel - stride, 0)


class Conv2DTranspose(_Conv):
    """The gradient of a convolution as a layer: images grow by the strides."""

    def build(self, input_shape):
        self.kernel = self._weight("kernel", self.kernel_size + (self.filters, self._channels(input_shape)))
        self._add_bias(self.filters)

    def _convolve(self, x, padding, first):
        if first:
            x = array_ops.transpose(x, [0, 2, 3, 1])
        s = array_ops.shape(x)
        sides = []
        for i in range(2):
            known = x.shape[1 + i]
            n = known if known is not None else s[1 + i]
            sides.append(_transposed_length(n, self.kernel_size[i], self.strides[i], padding))
        batch = x.shape[0] if x.shape[0] is not None else s[0]
        size = [batch] + sides + [self.filters]
        if not all(isinstance(d, int) for d in size):
            size = array_ops.stack(size)
        out = nn.conv2d_transpose(x, self.kernel, size, list(self.strides), padding)
        out.set_shape([x.shape[0]] + [d if isinstance(d, int) else None for d in sides] + [self.filters])
        return array_ops.transpose(out, [0, 3, 1, 2]) if first else out


class Conv1DTranspose(_Conv):
    """The same along the steps of [batch, steps, channels]."""
    _rank = 1

    def build(self, input_shape):
        self.kernel = self._weight("kernel", self.kernel_size + (self.filters, self._channels(input_shape)))
        self._add_bias(self.filters)

    def _convolve(self, x, padding, first):
        if first:
            x = array_ops.transpose(x, [0, 2, 1])
        s = array_ops.shape(x)
        known = x.shape[1]
        steps = _transposed_length(known if known is not None else s[1], self.kernel_size[0], self.strides[0], padding)
        batch = x.shape[0] if x.shape[0] is not None else s[0]
        size = [batch, 1, steps, self.filters]
        if not all(isinstance(d, int) for d in size):
            size = array_ops.stack(size)
        out = nn.conv2d_transpose(array_ops.expand_dims(x, 1), array_ops.expand_dims(self.kernel, 0), size,
                                  [1, self.strides[0]], padding)
        out = array_ops.squeeze(out, 1)
        out.set_shape([x.shape[0], steps if isinstance(steps, int) else None, self.filters])
        return array_ops.transpose(out, [0, 2, 1]) if first else out
