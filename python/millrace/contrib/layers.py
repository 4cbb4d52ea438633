"""layers — contrib.layers: layers as functions with scopes, normalizers, regularizers and collections of their own."""
from .. import dtypes, init_ops, variable_scope as vs
import millrace.layers as core
import millrace.nn as nn
from ..array_ops import reshape, shape as shape_of
from ..convert import convert_to_tensor
from ..graph import name_scope
from ..math_ops import cast
from .arg_scope import add_arg_scope
from .collections_of import add_variable, collect_named_outputs, get_variable_collections
from .variables import model_variable

DATA_FORMAT_NCHW, DATA_FORMAT_NHWC, DATA_FORMAT_NCDHW, DATA_FORMAT_NDHWC = "NCHW", "NHWC", "NCDHW", "NDHWC"


def xavier_initializer(uniform=True, seed=None, dtype=dtypes.float32):
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


xavier_initializer_conv2d = xavier_initializer


def variance_scaling_initializer(factor=2.0, mode="FAN_IN", uniform=False, seed=None, dtype=dtypes.float32):
    """Random values whose variance is factor over the fan."""
    if not dtypes.as_dtype(dtype).is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise TypeError("Unknown mode %s [FAN_IN, FAN_OUT, FAN_AVG]" % mode)
    from ..random_ops import random_uniform, truncated_normal
    import math

    def _initializer(shape, dtype=dtype, partition_info=None):
        if partition_info is not None:
            shape = partition_info.full_shape
        shape = [int(d) for d in shape]
        fan_in = float(shape[-2]) if len(shape) > 1 else float(shape[-1]) if shape else 1.0
        fan_out = float(shape[-1]) if shape else 1.0
        for d in shape[:-2]:
            fan_in, fan_out = fan_in * float(d), fan_out * float(d)
        n = {"FAN_IN": fan_in, "FAN_OUT": fan_out, "FAN_AVG": (fan_in + fan_out) / 2.0}[mode]
        if uniform:
            limit = math.sqrt(3.0 * factor / n)
            return random_uniform(shape, -limit, limit, dtype, seed=seed)
        return truncated_normal(shape, 0.0, math.sqrt(1.3 * factor / n), dtype, seed=seed)
    return _initializer


# ---------------------------------------- what layers share

def _getter(rename=None):
    """A custom getter that makes model variables under this package's names."""
    def getter(getter, name, *args, **kwargs):
        kwargs["rename"] = rename
        return _model_variable_getter(getter, name, *args, **kwargs)
    return getter


def _model_variable_getter(getter, name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=True,
                           collections=None, caching_device=None, partitioner=None, rename=None, use_resource=None,
                           **kwargs):
    short = name.split("/")[-1]
    if rename and short in rename:
        parts = name.split("/")
        parts[-1] = rename[short]
        name = "/".join(parts)
    return model_variable(name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer,
                          collections=collections, trainable=trainable, caching_device=caching_device,
                          partitioner=partitioner, custom_getter=lambda _, *a, **k: getter(*a, **k),
                          use_resource=use_resource)


def _collect(layer, collections, weights="kernel", biases="bias"):
    for attr, key in ((weights, "weights"), (biases, "biases")):
        var = getattr(layer, attr, None)
        if var is not None:
            add_variable(var, get_variable_collections(collections, key))


def _finish(outputs, collections, sc, normalizer_fn=None, normalizer_params=None, activation_fn=None):
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    return collect_named_outputs(collections, sc.original_name_scope, outputs)


_NAMES = {"bias": "biases", "kernel": "weights"}


# ---------------------------------------- dense

@add_arg_scope
def fully_connected(inputs, num_outputs, activation_fn=nn.relu, normalizer_fn=None, normalizer_params=None,
                    weights_initializer=xavier_initializer(), weights_regularizer=None,
                    biases_initializer=init_ops.zeros_initializer(), biases_regularizer=None, reuse=None,
                    variables_collections=None, outputs_collections=None, trainable=True, scope=None):
    """activation(normalizer(inputs * weights + biases)); no biases where there is a normalizer."""
    if not isinstance(num_outputs, int) and not hasattr(num_outputs, "__index__") and not hasattr(num_outputs, "value"):
        raise ValueError("num_outputs type should be one of [int], got %s." % type(num_outputs))
    with vs.variable_scope(scope, "fully_connected", [inputs], reuse=reuse, custom_getter=_getter(_NAMES)) as sc:
        inputs = convert_to_tensor(inputs)
        layer = core.Dense(int(num_outputs), use_bias=normalizer_fn is None and biases_initializer is not None,
                           kernel_initializer=weights_initializer, bias_initializer=biases_initializer,
                           kernel_regularizer=weights_regularizer, bias_regularizer=biases_regularizer,
                           trainable=trainable, name=sc.name, dtype=inputs.dtype.base_dtype, _scope=sc, _reuse=reuse)
        outputs = layer.apply(inputs)
        _collect(layer, variables_collections)
        return _finish(outputs, outputs_collections, sc, normalizer_fn, normalizer_params, activation_fn)


@add_arg_scope
def bias_add(inputs, activation_fn=None, initializer=init_ops.zeros_initializer(), regularizer=None, reuse=None,
             variables_collections=None, outputs_collections=None, trainable=True, data_format=DATA_FORMAT_NHWC,
             scope=None):
    with vs.variable_scope(scope, "BiasAdd", [inputs], reuse=reuse) as sc:
        inputs = convert_to_tensor(inputs)
        axis = 1 if data_format == DATA_FORMAT_NCHW else -1
        n = inputs.shape.dims[axis].value
        if n is None:
            raise ValueError("`C` dimension must be known but is None")
        biases = model_variable("biases", shape=[n], dtype=inputs.dtype.base_dtype, initializer=initializer,
                                regularizer=regularizer, trainable=trainable,
                                collections=get_variable_collections(variables_collections, "biases"))
        return _finish(nn.bias_add(inputs, biases, data_format=data_format), outputs_collections, sc,
                       activation_fn=activation_fn)


@add_arg_scope
def bow_encoder(ids, vocab_size, embed_dim, sparse_lookup=True, initializer=None, regularizer=None, trainable=True,
                scope=None, reuse=None):
    from ..math_ops import reduce_mean
    return reduce_mean(embed_sequence(ids, vocab_size, embed_dim, initializer=initializer, regularizer=regularizer,
                                      trainable=trainable, scope=scope or "bow_encoder", reuse=reuse), axis=1)


def embed_sequence(ids, vocab_size=None, embed_dim=None, unique=False, initializer=None, regularizer=None,
                   trainable=True, scope=None, reuse=None):
    """The rows of an embedding matrix for ids."""
    if not (reuse or vocab_size and embed_dim):
        raise ValueError("Must specify vocab size and embedding dimension when not reusing. Got vocab_size=%s and "
                         "embed_dim=%s" % (vocab_size, embed_dim))
    with vs.variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        shape = [vocab_size, embed_dim] if not (reuse and vocab_size is None or reuse and embed_dim is None) else None
        table = model_variable("embeddings", shape=shape, initializer=initializer, regularizer=regularizer,
                               trainable=trainable)
        return nn.embedding_lookup(table, ids)


# ---------------------------------------- convolutions

_FORMATS = {None: "channels_last", "NHWC": "channels_last", "NWC": "channels_last", "NDHWC": "channels_last",
            "NCHW": "channels_first", "NCW": "channels_first", "NCDHW": "channels_first"}


@add_arg_scope
def convolution(inputs, num_outputs, kernel_size, stride=1, padding="SAME", data_format=None, rate=1,
                activation_fn=nn.relu, normalizer_fn=None, normalizer_params=None,
                weights_initializer=xavier_initializer(), weights_regularizer=None,
                biases_initializer=init_ops.zeros_initializer(), biases_regularizer=None, reuse=None,
                variables_collections=None, outputs_collections=None, trainable=True, scope=None, conv_dims=None):
    """A convolution of as many dimensions as the inputs have between batch and channels."""
    if data_format not in _FORMATS:
        raise ValueError("Invalid data_format: %r" % (data_format,))
    with vs.variable_scope(scope, "Conv", [inputs], reuse=reuse, custom_getter=_getter(_NAMES)) as sc:
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if conv_dims is not None and conv_dims + 2 != rank:
            raise ValueError("Convolution expects input with rank %d, got %d" % (conv_dims + 2, rank))
        kind = {3: core.Conv1D, 4: core.Conv2D, 5: core.Conv3D}.get(rank)
        if kind is None:
            raise ValueError("Convolution not supported for input with rank %s" % rank)
        layer = kind(filters=num_outputs, kernel_size=kernel_size, strides=stride, padding=padding,
                     data_format=_FORMATS[data_format], dilation_rate=rate,
                     use_bias=not normalizer_fn and biases_initializer is not None, activation=None,
                     kernel_initializer=weights_initializer, bias_initializer=biases_initializer,
                     kernel_regularizer=weights_regularizer, bias_regularizer=biases_regularizer, trainable=trainable,
                     name=sc.name, dtype=inputs.dtype.base_dtype, _scope=sc, _reuse=reuse)
        outputs = layer.apply(inputs)
        _collect(layer, variables_collections)
        return _finish(outputs, outputs_collections, sc, normalizer_fn, normalizer_params, activation_fn)


def _of_dims(n, doc):
    @add_arg_scope
    def convolve(inputs, num_outputs, kernel_size, stride=1, padding="SAME", data_format=None, rate=1,
                 activation_fn=nn.relu, normalizer_fn=None, normalizer_params=None,
                 weights_initializer=xavier_initializer(), weights_regularizer=None,
                 biases_initializer=init_ops.zeros_initializer(), biases_regularizer=None, reuse=None,
                 variables_collections=None, outputs_collections=None, trainable=True, scope=None):
        return convolution(inputs, num_outputs, kernel_size, stride, padding, data_format, rate, activation_fn,
                           normalizer_fn, normalizer_params, weights_initializer, weights_regularizer, biases_initializer,
                           biases_regularizer, reuse, variables_collections, outputs_collections, trainable, scope, n)
    convolve.__doc__ = doc
    convolve.__name__ = "convolution%dd" % n
    return convolve


convolution1d, convolution2d, convolution3d = [_of_dims(n, "A convolution over %d dimensions." % n) for n in (1, 2, 3)]


def _transposed(kind, default, doc):
    @add_arg_scope
    def convolve(inputs, num_outputs, kernel_size, stride=1, padding="SAME", data_format=None, activation_fn=nn.relu,
                 normalizer_fn=None, normalizer_params=None, weights_initializer=xavier_initializer(),
                 weights_regularizer=None, biases_initializer=init_ops.zeros_initializer(), biases_regularizer=None,
                 reuse=None, variables_collections=None, outputs_collections=None, trainable=True, scope=None):
        with vs.variable_scope(scope, default, [inputs], reuse=reuse, custom_getter=_getter(_NAMES)) as sc:
            inputs = convert_to_tensor(inputs)
            layer = kind(filters=num_outputs, kernel_size=kernel_size, strides=stride, padding=padding,
                         data_format=_FORMATS[data_format], activation=None,
                         use_bias=not normalizer_fn and biases_initializer is not None,
                         kernel_initializer=weights_initializer, bias_initializer=biases_initializer,
                         kernel_regularizer=weights_regularizer, bias_regularizer=biases_regularizer,
                         trainable=trainable, name=sc.name, dtype=inputs.dtype.base_dtype, _scope=sc, _reuse=reuse)
            outputs = layer.apply(inputs)
            _collect(layer, variables_collections)
            return _finish(outputs, outputs_collections, sc, normalizer_fn, normalizer_params, activation_fn)
    convolve.__doc__ = doc
    return convolve


convolution2d_transpose = _transposed(core.Conv2DTranspose, "Conv2d_transpose", "The transpose of a convolution, 2D.")
convolution3d_transpose = _transposed(core.Conv3DTranspose, "Conv3d_transpose", "The transpose of a convolution, 3D.")


@add_arg_scope
def separable_convolution2d(inputs, num_outputs, kernel_size, depth_multiplier=1, stride=1, padding="SAME",
                            data_format=DATA_FORMAT_NHWC, rate=1, activation_fn=nn.relu, normalizer_fn=None,
                            normalizer_params=None, weights_initializer=xavier_initializer(),
                            pointwise_initializer=None, weights_regularizer=None,
                            biases_initializer=init_ops.zeros_initializer(), biases_regularizer=None, reuse=None,
                            variables_collections=None, outputs_collections=None, trainable=True, scope=None):
    """Depthwise, then pointwise; only depthwise where num_outputs is None."""
    names = {"bias": "biases", "depthwise_kernel": "depthwise_weights", "pointwise_kernel": "pointwise_weights"}
    with vs.variable_scope(scope, "SeparableConv2d", [inputs], reuse=reuse, custom_getter=_getter(names)) as sc:
        inputs = convert_to_tensor(inputs)
        if num_outputs is None:
            outputs = _depthwise(inputs, kernel_size, depth_multiplier, stride, padding, data_format, rate,
                                 normalizer_fn, weights_initializer, weights_regularizer, biases_initializer,
                                 biases_regularizer, variables_collections, trainable)
        else:
            layer = core.SeparableConv2D(
                filters=num_outputs, kernel_size=kernel_size, strides=stride, padding=padding,
                data_format=_FORMATS[data_format], dilation_rate=core._n(rate, 2, "rate"), activation=None,
                depth_multiplier=depth_multiplier, use_bias=not normalizer_fn and biases_initializer is not None,
                depthwise_initializer=weights_initializer,
                pointwise_initializer=pointwise_initializer or weights_initializer,
                bias_initializer=biases_initializer, depthwise_regularizer=weights_regularizer,
                pointwise_regularizer=weights_regularizer, bias_regularizer=biases_regularizer, trainable=trainable,
                name=sc.name, dtype=inputs.dtype.base_dtype, _scope=sc, _reuse=reuse)
            outputs = layer.apply(inputs)
            _collect(layer, variables_collections, "depthwise_kernel")
            add_variable(layer.pointwise_kernel, get_variable_collections(variables_collections, "weights"))
        return _finish(outputs, outputs_collections, sc, normalizer_fn, normalizer_params, activation_fn)


def _depthwise(inputs, kernel_size, depth_multiplier, stride, padding, data_format, rate, normalizer_fn,
               weights_initializer, weights_regularizer, biases_initializer, biases_regularizer, collections, trainable):
    dtype, (kh, kw), (sh, sw) = inputs.dtype.base_dtype, core._n(kernel_size, 2, "kernel_size"), core._n(stride, 2, "stride")
    axis = 1 if data_format.startswith("NC") else 3
    channels = inputs.shape.dims[axis].value
    weights = model_variable("depthwise_weights", shape=[kh, kw, channels, depth_multiplier], dtype=dtype,
                             initializer=weights_initializer, regularizer=weights_regularizer, trainable=trainable,
                             collections=get_variable_collections(collections, "weights"))
    strides = [1, 1, sh, sw] if axis == 1 else [1, sh, sw, 1]
    outputs = nn.depthwise_conv2d(inputs, weights, strides, padding, rate=core._n(rate, 2, "rate"),
                                  data_format=data_format)
    if not normalizer_fn and biases_initializer is not None:
        biases = model_variable("biases", shape=[depth_multiplier * channels], dtype=dtype,
                                initializer=biases_initializer, regularizer=biases_regularizer, trainable=trainable,
                                collections=get_variable_collections(collections, "biases"))
        outputs = nn.bias_add(outputs, biases, data_format=data_format)
    return outputs


def _in_plane(inputs, kernel_size, stride=1, padding="SAME", activation_fn=nn.relu, normalizer_fn=None,
              normalizer_params=None, weights_initializer=xavier_initializer(), weights_regularizer=None,
              biases_initializer=init_ops.zeros_initializer(), biases_regularizer=None, reuse=None,
              variables_collections=None, outputs_collections=None, trainable=True, scope=None):
    """The same filter on each channel."""
    with vs.variable_scope(scope, "ConvInPlane", [inputs], reuse=reuse) as sc:
        inputs = convert_to_tensor(inputs)
        kh, kw = core._n(kernel_size, 2, "kernel_size")
        sh, sw = core._n(stride, 2, "stride")
        channels = inputs.shape.dims[3].value
        weights = model_variable("weights", shape=[kh, kw, 1, 1], dtype=inputs.dtype.base_dtype,
                                 initializer=weights_initializer, regularizer=weights_regularizer, trainable=trainable,
                                 collections=get_variable_collections(variables_collections, "weights"))
        from ..array_ops import tile
        outputs = nn.depthwise_conv2d(inputs, tile(weights, [1, 1, channels, 1]), [1, sh, sw, 1], padding)
        if normalizer_fn is None and biases_initializer is not None:
            biases = model_variable("biases", shape=[channels], dtype=inputs.dtype.base_dtype,
                                    initializer=biases_initializer, regularizer=biases_regularizer, trainable=trainable,
                                    collections=get_variable_collections(variables_collections, "biases"))
            outputs = nn.bias_add(outputs, biases)
        return _finish(outputs, outputs_collections, sc, normalizer_fn, normalizer_params, activation_fn)


conv2d_in_plane = convolution2d_in_plane = add_arg_scope(_in_plane)


# ---------------------------------------- pools and shapes

def _pool(kind, default, dims):
    @add_arg_scope
    def pool(inputs, kernel_size, stride=2, padding="VALID", data_format="NHWC" if dims == 2 else "NDHWC",
             outputs_collections=None, scope=None):
        if data_format not in _FORMATS:
            raise ValueError("data_format has to be either NCHW or NHWC.")
        with name_scope(scope, default, [inputs]) as sc:
            inputs = convert_to_tensor(inputs)
            layer = kind(pool_size=kernel_size, strides=stride, padding=padding, data_format=_FORMATS[data_format],
                         _scope=sc)
            return collect_named_outputs(outputs_collections, sc, layer.apply(inputs))
    pool.__name__ = default
    return pool


avg_pool2d, avg_pool3d = _pool(core.AveragePooling2D, "AvgPool2D", 2), _pool(core.AveragePooling3D, "AvgPool3D", 3)
max_pool2d, max_pool3d = _pool(core.MaxPooling2D, "MaxPool2D", 2), _pool(core.MaxPooling3D, "MaxPool3D", 3)


@add_arg_scope
def pool(inputs, kernel_size, pooling_type, padding="VALID", data_format=None, dilation_rate=1, stride=1,
         outputs_collections=None, scope=None):
    with name_scope(scope, "%s_pool" % pooling_type.lower(), [inputs]) as sc:
        inputs = convert_to_tensor(inputs)
        n = inputs.shape.ndims - 2
        outputs = nn.pool(inputs, core._n(kernel_size, n, "kernel_size"), pooling_type, padding, data_format=data_format,
                          dilation_rate=core._n(dilation_rate, n, "rate"), strides=core._n(stride, n, "stride"))
        return collect_named_outputs(outputs_collections, sc, outputs)


@add_arg_scope
def dropout(inputs, keep_prob=0.5, noise_shape=None, is_training=True, outputs_collections=None, scope=None, seed=None):
    with vs.variable_scope(scope, "Dropout", [inputs], custom_getter=_model_variable_getter) as sc:
        inputs = convert_to_tensor(inputs)
        layer = core.Dropout(rate=1 - keep_prob, noise_shape=noise_shape, seed=seed, name=sc.name, _scope=sc)
        outputs = layer.apply(inputs, training=is_training)
        return collect_named_outputs(outputs_collections, sc.original_name_scope, outputs)


@add_arg_scope
def flatten(inputs, outputs_collections=None, scope=None):
    """[batch, all else]."""
    with name_scope(scope, "Flatten", [inputs]) as sc:
        inputs = convert_to_tensor(inputs)
        return collect_named_outputs(outputs_collections, sc, core.flatten(inputs))


@add_arg_scope
def one_hot_encoding(labels, num_classes, on_value=1.0, off_value=0.0, outputs_collections=None, scope=None):
    from ..array_ops import one_hot
    with name_scope(scope, "OneHotEncoding", [labels, num_classes]) as sc:
        labels = convert_to_tensor(labels)
        if labels.dtype == dtypes.int32:
            labels = cast(labels, dtypes.int64)
        return collect_named_outputs(outputs_collections, sc, one_hot(labels, num_classes, on_value, off_value))


@add_arg_scope
def softmax(logits, scope=None):
    """Over the last dimension."""
    with vs.variable_scope(scope, "softmax", [logits]):
        logits = convert_to_tensor(logits)
        n = logits.shape.dims[-1].value
        found = nn.softmax(reshape(logits, [-1, n]))
        found = reshape(found, shape_of(logits))
        found.set_shape(logits.shape)
        return found


@add_arg_scope
def unit_norm(inputs, dim, epsilon=1e-7, scope=None):
    from ..math_ops import reduce_sum, sqrt, square
    with vs.variable_scope(scope, "UnitNorm", [inputs]):
        return inputs / sqrt(epsilon + reduce_sum(square(inputs), dim, keepdims=True))


@add_arg_scope
def scale_gradient(inputs, gradient_multiplier):
    from ..array_ops import stop_gradient
    return inputs * gradient_multiplier + stop_gradient(inputs * (1 - gradient_multiplier))


def repeat(inputs, repetitions, layer, *args, **kwargs):
    """The layer so many times, each in a scope of its own."""
    scope = kwargs.pop("scope", None)
    with vs.variable_scope(scope, "Repeat", [inputs]):
        inputs = convert_to_tensor(inputs)
        if scope is None:
            scope = getattr(layer, "__name__", None) or (layer.func.__name__ if hasattr(layer, "func") else "repeat")
        outputs = inputs
        for i in range(repetitions):
            kwargs["scope"] = scope + "_" + str(i + 1)
            outputs = layer(outputs, *args, **kwargs)
        return outputs


def stack_layers(inputs, layer, stack_args, **kwargs):
    """The layer with each of the arguments, one after another."""
    scope = kwargs.pop("scope", None)
    if not isinstance(stack_args, (list, tuple)):
        raise ValueError("stack_args need to be a list or tuple")
    with vs.variable_scope(scope, "Stack", [inputs]):
        inputs = convert_to_tensor(inputs)
        if scope is None:
            scope = getattr(layer, "__name__", "stack")
        outputs = inputs
        for i, args in enumerate(stack_args):
            kwargs["scope"] = scope + "_" + str(i + 1)
            outputs = layer(outputs, *(args if isinstance(args, (list, tuple)) else [args]), **kwargs)
        return outputs


relu = lambda *a, **k: fully_connected(*a, **dict(k, activation_fn=nn.relu))  # noqa: E731
relu6 = lambda *a, **k: fully_connected(*a, **dict(k, activation_fn=nn.relu6))  # noqa: E731
linear = lambda *a, **k: fully_connected(*a, **dict(k, activation_fn=None))  # noqa: E731

conv1d, conv2d, conv3d = convolution1d, convolution2d, convolution3d
conv2d_transpose, conv3d_transpose = convolution2d_transpose, convolution3d_transpose
separable_conv2d = separable_convolution2d
