"""layers — tf.layers: functions and objects that make variables by get_variable and compute with them."""
import numpy as np

from . import dtypes, init_ops, nn, tensor_shape, variable_scope
from .array_ops import expand_dims, reshape, shape, squeeze
from .control_flow import smart_cond, smart_constant_value
from .convert import convert_to_tensor
from .graph import GraphKeys, Tensor, add_to_collection, get_collection_ref, get_default_graph, name_scope
from .math_ops import cast, matmul, tensordot
from . import nest


class InputSpec:
    """What a layer takes: rank, dtype, shape, extents by axis."""

    def __init__(self, dtype=None, shape=None, ndim=None, max_ndim=None, min_ndim=None, axes=None):
        self.dtype, self.shape, self.ndim = dtype, shape, len(shape) if shape is not None else ndim
        self.max_ndim, self.min_ndim, self.axes = max_ndim, min_ndim, axes or {}


def _snake(name):
    import re
    name = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


class Layer:
    """A layer: `build(input_shape)` makes variables at the first call, `call(inputs)` computes. Calls share them."""

    def __init__(self, trainable=True, name=None, dtype=None, **kwargs):
        self._scope = kwargs.pop("_scope", None)
        self._reuse = kwargs.pop("_reuse", None)
        self.input_shape_given = kwargs.pop("input_shape", None) or kwargs.pop("batch_input_shape", None)
        self._activity_regularizer = kwargs.pop("activity_regularizer", None)
        if kwargs:
            raise TypeError("Keyword argument not understood: %s" % list(kwargs)[0])
        self.trainable, self.built, self.input_spec = trainable, False, None
        self._dtype = dtypes.as_dtype(dtype).name if dtype is not None else None
        self._base_name = name or _snake(type(self).__name__)
        self._given_name = name
        self._name = name or (self._base_name if self._scope is None else None)
        self._trainable_weights, self._non_trainable_weights = [], []
        self._updates, self._losses, self._calls = [], [], 0
        self._current_scope = None
        self._unique = False

    dtype = property(lambda self: self._dtype)
    updates = property(lambda self: list(self._updates))
    losses = property(lambda self: list(self._losses))
    activity_regularizer = property(lambda self: self._activity_regularizer)
    graph = property(lambda self: self._graph)
    trainable_weights = property(lambda self: list(self._trainable_weights) if self.trainable else [])
    non_trainable_weights = property(lambda self: list(self._non_trainable_weights) if self.trainable else
                                     self._trainable_weights + self._non_trainable_weights)
    weights = property(lambda self: self._trainable_weights + self._non_trainable_weights)
    trainable_variables, variables = trainable_weights, weights
    non_trainable_variables = non_trainable_weights

    @property
    def name(self):
        return self._name

    @property
    def scope_name(self):
        if self._current_scope is None:
            raise ValueError("No name available for layer scope because the layer \"%s\" has not been used yet. The scope "
                             "name is determined the first time the layer instance is called." % self._name)
        return self._current_scope.name

    # ---- variables

    def add_weight(self, name, shape, dtype=None, initializer=None, regularizer=None, trainable=None, constraint=None,
                   use_resource=None, synchronization=None, aggregation=None, partitioner=None, **unused):
        trainable = True if trainable is None else trainable
        with variable_scope.variable_scope(self._current_scope or variable_scope.get_variable_scope(),
                                           reuse=True if self.built else self._reuse_now,
                                           auxiliary_name_scope=False) as scope:
            with name_scope(self._name_scope_name(scope)):
                variable = variable_scope.get_variable(
                    name, shape=[int(d) for d in shape] if shape is not None else None,
                    dtype=dtypes.as_dtype(dtype or self._dtype or dtypes.float32), initializer=initializer,
                    regularizer=None, trainable=trainable and self.trainable, constraint=constraint,
                    use_resource=use_resource, partitioner=partitioner)
        if regularizer is not None and not self._reuse_now and variable not in self._seen_before:
            with name_scope(variable.op.name + "/Regularizer/") if hasattr(variable, "op") else name_scope(
                    variable.name + "/Regularizer/"):
                loss = regularizer(variable if hasattr(variable, "op") else variable.as_tensor())
            if loss is not None:
                self.add_loss(loss)
        if trainable:
            self._trainable_weights.append(variable)
        else:
            self._non_trainable_weights.append(variable)
        return variable

    add_variable = add_weight
    _reuse_now, _seen_before = None, ()

    def _name_scope_name(self, current):
        return current.original_name_scope

    def add_update(self, updates, inputs=None):
        updates = updates if isinstance(updates, (list, tuple)) else [updates]
        for update in updates:
            self._updates.append(update)
            if update not in get_collection_ref(GraphKeys.UPDATE_OPS):
                add_to_collection(GraphKeys.UPDATE_OPS, update)

    def add_loss(self, losses, inputs=None):
        losses = losses if isinstance(losses, (list, tuple)) else [losses]
        for loss in losses:
            self._losses.append(loss)
            if not any(loss is l for l in get_collection_ref(GraphKeys.REGULARIZATION_LOSSES)):
                add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)

    def get_updates_for(self, inputs):
        return list(self._updates)

    def get_losses_for(self, inputs):
        return list(self._losses)

    # ---- calling

    def build(self, input_shape):
        self.built = True

    def call(self, inputs, **kwargs):
        return inputs

    def _open_scope(self, scope=None):
        if self._current_scope is not None:
            return
        if self._reuse:
            with variable_scope.variable_scope(scope if scope is not None else self._scope or self._base_name) as captured:
                self._current_scope = captured
        else:
            with variable_scope.variable_scope(scope if scope is not None else self._scope,
                                               default_name=self._base_name) as captured:
                self._current_scope = captured
        if self._given_name is None:
            self._name = self._current_scope.name.split("/")[-1] or self._base_name

    def __call__(self, inputs, *args, **kwargs):
        given_scope = kwargs.pop("scope", None)
        self._open_scope(given_scope)
        tensors = nest.map_structure(lambda t: convert_to_tensor(t, self._dtype and not isinstance(t, Tensor) and
                                                                 self._dtype or None)
                                     if t is not None and not isinstance(t, Tensor) and not hasattr(t, "dense_shape")
                                     else t, inputs)
        flat = [t for t in nest.flatten(tensors) if t is not None]
        reuse = True if self.built else self._reuse
        with variable_scope.variable_scope(self._current_scope, reuse=reuse, auxiliary_name_scope=False) as scope:
            with name_scope(self._call_scope(scope)):
                if not self.built:
                    self._build_now(tensors, flat)
                result = self.call(tensors, *args, **kwargs)
                if self._activity_regularizer is not None:
                    for one in nest.flatten(result):
                        with name_scope("ActivityRegularizer"):
                            self.add_loss(self._activity_regularizer(one))
        self._calls += 1
        self.input_tensors, self.output_tensors = tensors, result
        return result

    apply = __call__

    def _call_scope(self, scope):
        if self._calls == 0:
            return scope.original_name_scope
        return scope.original_name_scope.rstrip("/").split("/")[-1] if scope.original_name_scope else ""

    def _build_now(self, tensors, flat):
        if self._dtype is None and flat:
            self._dtype = flat[0].dtype.base_dtype.name
        self._check(flat)
        shapes = nest.map_structure(lambda t: t.shape, tensors)
        self._reuse_now = self._reuse or variable_scope.get_variable_scope().reuse or None
        self._seen_before = set(get_collection_ref(GraphKeys.GLOBAL_VARIABLES))
        self._graph = get_default_graph()
        self.build(shapes)
        self.built = True

    def _check(self, flat):
        spec = self.input_spec
        if spec is None or isinstance(spec, (list, tuple)):
            return
        for t in flat:
            n = t.shape.ndims
            if n is None:
                continue
            if spec.ndim is not None and n != spec.ndim:
                raise ValueError("Input 0 of layer %s is incompatible with the layer: expected ndim=%s, found ndim=%s. "
                                 "Full shape received: %s" % (self._name, spec.ndim, n, t.shape.as_list()))
            if spec.min_ndim is not None and n < spec.min_ndim:
                raise ValueError("Input 0 of layer %s is incompatible with the layer: : expected min_ndim=%s, found "
                                 "ndim=%s. Full shape received: %s" % (self._name, spec.min_ndim, n, t.shape.as_list()))

    def compute_output_shape(self, input_shape):
        raise NotImplementedError

    def count_params(self):
        return sum(int(np.prod(w.shape.as_list())) for w in self.weights)

    @property
    def input(self):
        return self.input_tensors

    @property
    def output(self):
        return self.output_tensors

    def get_weights(self):
        from .session import get_default_session
        return get_default_session().run(self.weights)

    def __deepcopy__(self, memo):
        import copy
        new = type(self).__new__(type(self))
        memo[id(self)] = new
        for key, value in self.__dict__.items():
            try:
                new.__dict__[key] = copy.deepcopy(value, memo)
            except Exception:
                new.__dict__[key] = value
        return new


def _n(value, n, name):
    if isinstance(value, (int, np.integer, tensor_shape.Dimension)):
        return (int(value),) * n
    value = tuple(int(v) for v in value)
    if len(value) != n:
        raise ValueError("The `%s` argument must be a tuple of %d integers. Received: %s" % (name, n, value))
    return value


class Dense(Layer):
    """activation(inputs * kernel + bias), over the last dimension."""

    def __init__(self, units, activation=None, use_bias=True, kernel_initializer=None,
                 bias_initializer=init_ops.zeros_initializer(), kernel_regularizer=None, bias_regularizer=None,
                 activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True, name=None,
                 **kwargs):
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        self.units, self.activation, self.use_bias = int(units), activation, use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.input_spec = InputSpec(min_ndim=2)

    def build(self, input_shape):
        last = tensor_shape.as_shape(input_shape)[-1].value
        if last is None:
            raise ValueError("The last dimension of the inputs to `Dense` should be defined. Found `None`.")
        self.kernel = self.add_weight("kernel", [last, self.units], initializer=self.kernel_initializer,
                                      regularizer=self.kernel_regularizer, constraint=self.kernel_constraint)
        self.bias = self.add_weight("bias", [self.units], initializer=self.bias_initializer,
                                    regularizer=self.bias_regularizer, constraint=self.bias_constraint) \
            if self.use_bias else None
        self.built = True

    def call(self, inputs):
        n = inputs.shape.ndims
        if n is not None and n > 2:
            outputs = tensordot(inputs, self.kernel, [[n - 1], [0]])
            outputs.set_shape(inputs.shape[:-1].concatenate(self.units))
        else:
            outputs = matmul(inputs, self.kernel)
        if self.bias is not None:
            outputs = nn.bias_add(outputs, self.bias)
        return self.activation(outputs) if self.activation is not None else outputs

    def compute_output_shape(self, input_shape):
        return tensor_shape.as_shape(input_shape)[:-1].concatenate(self.units)


class _Conv(Layer):
    rank = 2

    def __init__(self, filters, kernel_size, strides=1, padding="valid", data_format="channels_last", dilation_rate=1,
                 activation=None, use_bias=True, kernel_initializer=None,
                 bias_initializer=init_ops.zeros_initializer(), kernel_regularizer=None, bias_regularizer=None,
                 activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True, name=None,
                 **kwargs):
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        n = self.rank
        self.filters = int(filters) if filters is not None else None
        self.kernel_size, self.strides = _n(kernel_size, n, "kernel_size"), _n(strides, n, "strides")
        self.padding, self.data_format = padding.lower(), data_format.lower()
        if self.padding not in ("valid", "same", "causal"):
            raise ValueError("The `padding` argument must be a list/tuple or one of \"valid\", \"same\" (or \"causal\", only "
                             "for `Conv1D). Received: %s" % padding)
        self.dilation_rate = _n(dilation_rate, n, "dilation_rate")
        self.activation, self.use_bias = activation, use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.input_spec = InputSpec(ndim=n + 2)

    def _channel_axis(self):
        return 1 if self.data_format == "channels_first" else -1

    def _channels(self, input_shape):
        channels = tensor_shape.as_shape(input_shape)[self._channel_axis()].value
        if channels is None:
            raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
        return channels

    def _format(self):
        first = self.data_format == "channels_first"
        return {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}[self.rank][0 if first else 1]

    def _kernel_shape(self, channels):
        return list(self.kernel_size) + [channels, self.filters]

    def build(self, input_shape):
        self.kernel = self.add_weight("kernel", self._kernel_shape(self._channels(input_shape)),
                                      initializer=self.kernel_initializer, regularizer=self.kernel_regularizer,
                                      constraint=self.kernel_constraint)
        self._build_bias()
        self.built = True

    def _build_bias(self):
        self.bias = self.add_weight("bias", [self.filters], initializer=self.bias_initializer,
                                    regularizer=self.bias_regularizer, constraint=self.bias_constraint) \
            if self.use_bias else None

    def call(self, inputs):
        outputs = nn.convolution(inputs, self.kernel, self.padding.upper(), self.strides, self.dilation_rate,
                                 name=type(self).__name__, data_format=self._format())
        return self._finish(outputs)

    def _finish(self, outputs):
        if self.bias is not None:
            if self.data_format == "channels_first" and self.rank != 2:
                outputs = outputs + reshape(self.bias, [1, self.filters] + [1] * self.rank)
            else:
                outputs = nn.bias_add(outputs, self.bias, "NCHW" if self.data_format == "channels_first" else "NHWC")
        return self.activation(outputs) if self.activation is not None else outputs


class Conv1D(_Conv):
    """Convolution over one dimension."""
    rank = 1


class Conv2D(_Conv):
    """Convolution over two dimensions."""


class Conv3D(_Conv):
    """Convolution over three dimensions."""
    rank = 3


def _deconv_length(length, kernel, stride, padding):
    if length is None:
        return None
    length = length * stride
    return length + (max(kernel - stride, 0) if padding == "valid" else 0)


class Conv2DTranspose(_Conv):
    """The transposed convolution."""

    def __init__(self, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last",
                 activation=None, use_bias=True, **kwargs):
        super().__init__(filters, kernel_size, strides, padding, data_format, 1, activation, use_bias, **kwargs)

    def _kernel_shape(self, channels):
        return list(self.kernel_size) + [self.filters, channels]

    def call(self, inputs):
        n = self.rank
        first = self.data_format == "channels_first"
        dims, known = shape(inputs), inputs.shape.as_list()
        at = range(2, 2 + n) if first else range(1, 1 + n)
        out, static = [], []
        for i, k, s in zip(at, self.kernel_size, self.strides):
            extent = known[i] if known[i] is not None else dims[i]
            out.append(_deconv_length(extent, k, s, self.padding))
            static.append(_deconv_length(known[i], k, s, self.padding))
        batch = known[0] if known[0] is not None else dims[0]
        sizes = [batch, self.filters] + out if first else [batch] + out + [self.filters]
        full = [known[0], self.filters] + static if first else [known[0]] + static + [self.filters]
        function = nn.conv2d_transpose if n == 2 else nn.conv3d_transpose
        strides = [1, 1] + list(self.strides) if first else [1] + list(self.strides) + [1]
        from .array_ops import stack
        outputs = function(inputs, self.kernel, stack(sizes), strides, self.padding.upper(), self._format())
        outputs.set_shape(full)
        return self._finish(outputs)


class Conv3DTranspose(Conv2DTranspose):
    """The same over three dimensions."""
    rank = 3


class SeparableConv2D(_Conv):
    """A convolution of each channel, and one over the channels."""

    def __init__(self, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last",
                 dilation_rate=(1, 1), depth_multiplier=1, activation=None, use_bias=True, depthwise_initializer=None,
                 pointwise_initializer=None, bias_initializer=init_ops.zeros_initializer(), depthwise_regularizer=None,
                 pointwise_regularizer=None, bias_regularizer=None, activity_regularizer=None,
                 depthwise_constraint=None, pointwise_constraint=None, bias_constraint=None, trainable=True, name=None,
                 **kwargs):
        super().__init__(filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
                         bias_initializer=bias_initializer, bias_regularizer=bias_regularizer,
                         activity_regularizer=activity_regularizer, bias_constraint=bias_constraint,
                         trainable=trainable, name=name, **kwargs)
        self.depth_multiplier = depth_multiplier
        self._depthwise = depthwise_initializer, depthwise_regularizer, depthwise_constraint
        self._pointwise = pointwise_initializer, pointwise_regularizer, pointwise_constraint

    def build(self, input_shape):
        channels = self._channels(input_shape)
        make = lambda name, dims, given: self.add_weight(name, dims, initializer=given[0], regularizer=given[1],
                                                         constraint=given[2])
        self.depthwise_kernel = make("depthwise_kernel", list(self.kernel_size) + [channels, self.depth_multiplier],
                                     self._depthwise)
        self.pointwise_kernel = make("pointwise_kernel", [1] * self.rank + [channels * self.depth_multiplier,
                                                                            self.filters], self._pointwise)
        self._build_bias()
        self.built = True

    def call(self, inputs):
        at = [1, 1] + list(self.strides) if self.data_format == "channels_first" else [1] + list(self.strides) + [1]
        return self._finish(nn.separable_conv2d(inputs, self.depthwise_kernel, self.pointwise_kernel, at,
                                                self.padding.upper(), self.dilation_rate, data_format=self._format()))


class SeparableConv1D(SeparableConv2D):
    """The same over one dimension."""
    rank = 1

    def __init__(self, filters, kernel_size, strides=1, padding="valid", data_format="channels_last", dilation_rate=1,
                 *args, **kwargs):
        super().__init__(filters, kernel_size, strides, padding, data_format, dilation_rate, *args, **kwargs)

    def call(self, inputs):
        outputs = nn.separable_conv2d(expand_dims(inputs, 1), expand_dims(self.depthwise_kernel, 0),
                                      expand_dims(self.pointwise_kernel, 0), [1, 1, self.strides[0], 1],
                                      self.padding.upper(), (1, self.dilation_rate[0]))
        return self._finish(squeeze(outputs, [1]))


class Dropout(Layer):
    """Zeroes elements while `training`."""

    def __init__(self, rate=0.5, noise_shape=None, seed=None, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs, training=False):
        from .array_ops import identity
        return smart_cond(training, lambda: nn.dropout_v2(inputs, self.rate, self.noise_shape, self.seed),
                          lambda: identity(inputs))


class Flatten(Layer):
    """[batch, everything else]."""

    def __init__(self, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.data_format = data_format or "channels_last"

    def call(self, inputs):
        from .array_ops import transpose
        n = inputs.shape.ndims
        if self.data_format == "channels_first" and n is not None and n > 1:
            inputs = transpose(inputs, [0] + list(range(2, n)) + [1])
        known = inputs.shape
        rest = known[1:].num_elements() if n is not None else None
        if rest:
            return reshape(inputs, [-1 if known[0].value is None else known[0].value, rest])
        outputs = reshape(inputs, [shape(inputs)[0], -1])
        if known.ndims is not None:
            outputs.set_shape([known[0], None])
        return outputs


class _Pool(Layer):
    rank, function = 2, None

    def __init__(self, pool_size, strides, padding="valid", data_format="channels_last", name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        n = self.rank
        self.pool_size, self.padding, self.data_format = _n(pool_size, n, "pool_size"), padding, data_format
        self.strides = _n(pool_size if strides is None else strides, n, "strides")
        self.input_spec = InputSpec(ndim=n + 2)

    def call(self, inputs):
        first = self.data_format == "channels_first"
        formats = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}[self.rank]
        if self.rank == 1:
            return type(self).function(inputs, self.pool_size[0], self.strides[0], self.padding.upper(),
                                       formats[0 if first else 1])
        wide = lambda v: [1, 1] + list(v) if first else [1] + list(v) + [1]
        return type(self).function(inputs, wide(self.pool_size), wide(self.strides), self.padding.upper(),
                                   formats[0 if first else 1])


def _pool_class(name, rank, function):
    return type(name, (_Pool,), {"rank": rank, "function": staticmethod(function), "__doc__": "Pooling.",
                                 "__module__": __name__})


MaxPooling1D, AveragePooling1D = _pool_class("MaxPooling1D", 1, nn.max_pool1d), _pool_class("AveragePooling1D", 1,
                                                                                           nn.avg_pool1d)
MaxPooling2D, AveragePooling2D = _pool_class("MaxPooling2D", 2, nn.max_pool), _pool_class("AveragePooling2D", 2,
                                                                                         nn.avg_pool)
MaxPooling3D, AveragePooling3D = _pool_class("MaxPooling3D", 3, nn.max_pool3d), _pool_class("AveragePooling3D", 3,
                                                                                           nn.avg_pool3d)


class BatchNormalization(Layer):
    """Each channel to mean 0 and deviation 1, by the batch while `training` and by running means else."""

    def __init__(self, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True,
                 beta_initializer=init_ops.zeros_initializer(), gamma_initializer=init_ops.ones_initializer(),
                 moving_mean_initializer=init_ops.zeros_initializer(),
                 moving_variance_initializer=init_ops.ones_initializer(), beta_regularizer=None, gamma_regularizer=None,
                 beta_constraint=None, gamma_constraint=None, renorm=False, renorm_clipping=None, renorm_momentum=0.99,
                 fused=None, trainable=True, virtual_batch_size=None, adjustment=None, name=None, **kwargs):
        super().__init__(trainable=trainable, name=name, **kwargs)
        if renorm or virtual_batch_size or adjustment:
            raise NotImplementedError("batch renormalization, virtual batches and adjustments")
        self.axis, self.momentum, self.epsilon, self.center, self.scale = axis, momentum, epsilon, center, scale
        self._initializers = {"beta": beta_initializer, "gamma": gamma_initializer,
                              "moving_mean": moving_mean_initializer, "moving_variance": moving_variance_initializer}
        self._regularizers = beta_regularizer, gamma_regularizer
        self._constraints = beta_constraint, gamma_constraint
        self.fused = fused

    def build(self, input_shape):
        dims = tensor_shape.as_shape(input_shape)
        n = dims.ndims
        if n is None:
            raise ValueError("Input has undefined rank: %s" % dims)
        axis = self.axis[0] if isinstance(self.axis, (list, tuple)) else self.axis
        self._axis = axis + n if axis < 0 else axis
        channels = dims[self._axis].value
        if channels is None:
            raise ValueError("Input has undefined `axis` dimension. Input shape: %s" % dims)
        kind = dtypes.float32 if self._dtype == "float16" else dtypes.as_dtype(self._dtype)
        make = lambda name, trainable, regularizer=None, constraint=None: self.add_weight(
            name, [channels], dtype=kind, initializer=self._initializers[name], regularizer=regularizer,
            constraint=constraint, trainable=trainable)
        self.gamma = make("gamma", True, self._regularizers[1], self._constraints[1]) if self.scale else None
        self.beta = make("beta", True, self._regularizers[0], self._constraints[0]) if self.center else None
        self.moving_mean, self.moving_variance = make("moving_mean", False), make("moving_variance", False)
        self.built = True

    def call(self, inputs, training=False):
        n = inputs.shape.ndims
        known = smart_constant_value(training) if not isinstance(training, (int, bool)) else bool(training)
        if n == 4 and self.fused is not False and self._axis in (1, 3):
            outputs, mean, variance = self._fused(inputs, training, known)
        else:
            outputs, mean, variance = self._plain(inputs, training)
        if known is not False:
            self._add_updates(mean, variance, training, known)
        outputs.set_shape(inputs.shape)
        return outputs

    def _fused(self, inputs, training, known):
        from .array_ops import ones, zeros
        channels = inputs.shape[self._axis].value
        gamma = self.gamma if self.gamma is not None else ones([channels])
        beta = self.beta if self.beta is not None else zeros([channels])
        layout = "NHWC" if self._axis == 3 else "NCHW"
        learn = lambda: nn.fused_batch_norm(inputs, gamma, beta, epsilon=self.epsilon, data_format=layout)
        infer = lambda: nn.fused_batch_norm(inputs, gamma, beta, self.moving_mean, self.moving_variance,
                                            epsilon=self.epsilon, data_format=layout, is_training=False)
        return smart_cond(training, learn, infer)

    def _plain(self, inputs, training):
        from .array_ops import identity
        n = inputs.shape.ndims
        axes = [i for i in range(n) if i != self._axis]
        wide = [1] * n
        wide[self._axis] = inputs.shape[self._axis].value
        spread = lambda t: t if t is None or self._axis == n - 1 else reshape(t, wide)
        x = cast(inputs, dtypes.float32) if inputs.dtype == dtypes.float16 else inputs
        mean, variance = smart_cond(training, lambda: nn.moments(x, axes),
                                    lambda: (identity(self.moving_mean), identity(self.moving_variance)))
        outputs = nn.batch_normalization(x, spread(mean), spread(variance), spread(self.beta), spread(self.gamma),
                                         self.epsilon)
        return cast(outputs, inputs.dtype), mean, variance

    def _add_updates(self, mean, variance, training, known):
        from .train.schedules import assign_moving_average
        from .array_ops import identity
        for variable, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
            if known is None:
                value = smart_cond(training, lambda v=value: identity(v), lambda v=variable: identity(v))
            update = assign_moving_average(variable, value, self.momentum, zero_debias=False)
            self.add_update(update.op if hasattr(update, "op") and not isinstance(update, Tensor) else update)


BatchNorm = BatchNormalization


def _function(cls, doc, *names):
    """A function that makes a layer and calls it; `names` are the arguments of the call."""
    def function(inputs, *args, **kwargs):
        name, reuse = kwargs.get("name"), kwargs.pop("reuse", None)
        call = {k: kwargs.pop(k) for k in names if k in kwargs}
        layer = cls(*args, _scope=name, _reuse=reuse, **kwargs)
        return layer(inputs, **call)
    function.__doc__ = doc
    function.__name__ = _snake(cls.__name__)
    return function


dense = _function(Dense, "A fully connected layer: Dense(units, activation, ...) of inputs.")
conv1d, conv2d, conv3d = [_function(c, "A convolution layer.") for c in (Conv1D, Conv2D, Conv3D)]
conv2d_transpose, conv3d_transpose = [_function(c, "A transposed convolution.") for c in (Conv2DTranspose,
                                                                                          Conv3DTranspose)]
separable_conv1d, separable_conv2d = [_function(c, "A separable convolution.") for c in (SeparableConv1D,
                                                                                         SeparableConv2D)]
max_pooling1d, max_pooling2d, max_pooling3d = [_function(c, "Largest values of windows.") for c in (
    MaxPooling1D, MaxPooling2D, MaxPooling3D)]
average_pooling1d, average_pooling2d, average_pooling3d = [_function(c, "Means of windows.") for c in (
    AveragePooling1D, AveragePooling2D, AveragePooling3D)]


def flatten(inputs, name=None, data_format="channels_last"):
    return Flatten(name=name, data_format=data_format)(inputs)


def dropout(inputs, rate=0.5, noise_shape=None, seed=None, training=False, name=None):
    return Dropout(rate, noise_shape, seed, name=name)(inputs, training=training)


def batch_normalization(inputs, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True,
                        beta_initializer=init_ops.zeros_initializer(), gamma_initializer=init_ops.ones_initializer(),
                        moving_mean_initializer=init_ops.zeros_initializer(),
                        moving_variance_initializer=init_ops.ones_initializer(), beta_regularizer=None,
                        gamma_regularizer=None, beta_constraint=None, gamma_constraint=None, training=False,
                        trainable=True, name=None, reuse=None, renorm=False, renorm_clipping=None, renorm_momentum=0.99,
                        fused=None, virtual_batch_size=None, adjustment=None):
    layer = BatchNormalization(
        axis, momentum, epsilon, center, scale, beta_initializer, gamma_initializer, moving_mean_initializer,
        moving_variance_initializer, beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint, renorm,
        renorm_clipping, renorm_momentum, fused, trainable, virtual_batch_size, adjustment, name=name, _reuse=reuse,
        _scope=name)
    return layer(inputs, training=training)


# The names of before 1.0, and those of modules inside.
Convolution1D, Convolution2D, Convolution3D = Conv1D, Conv2D, Conv3D
Convolution2DTranspose = Deconvolution2D = Deconv2D = Conv2DTranspose
Convolution3DTranspose = Deconvolution3D = Deconv3D = Conv3DTranspose
SeparableConvolution1D, SeparableConvolution2D = SeparableConv1D, SeparableConv2D
