"""nn — what networks are made of: activations, convolutions, pools, losses from logits, normalisation, embeddings."""
import math
import numbers

import numpy as np

from . import dtypes, random_ops, tensor_shape, variables
from .array_ops import (concat, deprecated_argument, expand_dims, gather, ones_like, reshape, shape, squeeze, stop_gradient,
                        transpose, where, zeros_like)
from .constant import constant, constant_value
from .convert import convert_to_tensor
from .graph import Tensor, get_default_graph, name_scope
from .indexed import SparseTensor
from .math_ops import (add, cast, exp, log, log1p, matmul, multiply, reduce_max, reduce_mean, reduce_sum, rsqrt, sigmoid,
                       sqrt, square, subtract, tanh)
from .ops_apply import apply



def relu(features, name=None):
    return apply("Relu", name, {"features": features})


def relu6(features, name=None):
    return apply("Relu6", name, {"features": features})


def leaky_relu(features, alpha=0.2, name=None):
    with name_scope(name, "LeakyRelu", [features, alpha]) as scope:
        features = convert_to_tensor(features, name="features")
        if features.dtype.is_integer:
            features = cast(features, dtypes.float32)
        if isinstance(alpha, Tensor):
            return apply("Maximum", scope, {"x": alpha * features, "y": features})
        return apply("LeakyRelu", scope, {"features": features, "alpha": float(alpha)})


def crelu(features, name=None, axis=-1):
    with name_scope(name, "CRelu", [features]):
        features = convert_to_tensor(features)
        return relu(concat([features, -features], axis))


def swish(features, name=None):
    features = convert_to_tensor(features)
    return features * sigmoid(features)


silu = swish


def log_sigmoid(x, name=None):
    from .math_ops import log_sigmoid as function
    return function(x, name)


def l2_loss(t, name=None):
    return apply("L2Loss", name, {"t": t})


def bias_add(value, bias, data_format=None, name=None):
    with name_scope(name, "BiasAdd", [value, bias]) as scope:
        if data_format is not None and data_format not in ("NHWC", "NCHW", "N...C", "NC..."):
            raise ValueError("data_format must be of the form `N...C` or `NC...`")
        value = convert_to_tensor(value, name="input")
        return apply("BiasAdd", scope, {"value": value, "bias": convert_to_tensor(bias, value.dtype.base_dtype),
                                        "data_format": "NCHW" if (data_format or "").startswith("NC") else "NHWC"})


def xw_plus_b(x, weights, biases, name=None):
    with name_scope(name, "xw_plus_b", [x, weights, biases]) as scope:
        return bias_add(matmul(x, weights), biases, name=scope)


def relu_layer(x, weights, biases, name=None):
    with name_scope(name, "relu_layer", [x, weights, biases]) as scope:
        return relu(xw_plus_b(x, weights, biases), name=scope)


def _along(op, logits, axis, name):
    logits = convert_to_tensor(logits)
    n = logits.shape.ndims
    axis = -1 if axis is None else axis
    if n is None or axis == -1 or axis == n - 1:
        if n == 0:
            raise ValueError("logits cannot be a scalar")
        return apply(op, name, {"logits": logits})
    if axis < -n or axis >= n:
        from .errors import InvalidArgumentError
        raise InvalidArgumentError(None, None, "dim %d must be in the range [-%d, %d) where %d is the number of dimensions "
                                   "in the input." % (axis, n, n, n))
    axis %= n
    perm = list(range(n))
    perm[axis], perm[-1] = perm[-1], perm[axis]
    return transpose(apply(op, None, {"logits": transpose(logits, perm)}), perm, name=name or "transpose")


def softmax(logits, axis=None, name=None, dim=None):
    """exp(logits) / sum(exp(logits)) along an axis, the last one by default."""
    return _along("Softmax", logits, deprecated_argument("axis", axis, "dim", dim), name)


def log_softmax(logits, axis=None, name=None, dim=None):
    return _along("LogSoftmax", logits, deprecated_argument("axis", axis, "dim", dim), name)


# ---------------------------------------- losses from logits

def _ensure_named(name, sentinel, labels, logits):
    if sentinel is not None:
        raise ValueError("Only call `%s` with named arguments (labels=..., logits=..., ...)" % name)
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")


def sigmoid_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, name=None):
    """max(x, 0) - x * z + log(1 + exp(-|x|)) for logits x and labels z."""
    _ensure_named("sigmoid_cross_entropy_with_logits", _sentinel, labels, logits)
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, logits.dtype.base_dtype if not isinstance(labels, Tensor) else None,
                                   name="labels")
        try:
            labels.shape.merge_with(logits.shape)
        except ValueError:
            raise ValueError("logits and labels must have the same shape (%s vs %s)" % (logits.shape, labels.shape)) from None
        zeros = zeros_like(logits)
        positive = logits >= zeros
        return add(where(positive, logits, zeros) - logits * labels, log1p(exp(where(positive, -logits, logits))),
                   name=scope)


def weighted_cross_entropy_with_logits(labels=None, logits=None, pos_weight=None, name=None, targets=None):
    labels = deprecated_argument("labels", labels, "targets", targets)
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits = convert_to_tensor(logits)
        labels = convert_to_tensor(labels, logits.dtype.base_dtype)
        weight = 1 + (pos_weight - 1) * labels
        return add((1 - labels) * logits, weight * (log1p(exp(-abs(logits))) + relu(-logits)), name=scope)


def softmax_cross_entropy_with_logits_v2(labels=None, logits=None, axis=None, name=None, dim=None, _stop=False):
    axis = deprecated_argument("axis", axis, "dim", dim)
    axis = -1 if axis is None else axis
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")
    with name_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, logits.dtype.base_dtype if not isinstance(labels, Tensor) else None,
                                   name="labels")
        if _stop:
            labels = stop_gradient(labels, name="labels_stop_gradient")
        if labels.dtype.base_dtype != logits.dtype.base_dtype:
            labels = cast(labels, logits.dtype.base_dtype)
        n = logits.shape.ndims
        if axis != -1 and n is not None and axis % n != n - 1:
            perm = [i for i in range(n) if i != axis % n] + [axis % n]
            logits, labels = transpose(logits, perm), transpose(labels, perm)
        if n == 2:
            return apply("SoftmaxCrossEntropyWithLogits", scope, {"features": logits, "labels": labels})[0]
        known = logits.shape
        outer = shape(logits)[:-1]
        last = shape(logits)[-1]
        flat = lambda t: reshape(t, [-1, known.dims[-1].value if known.dims and known.dims[-1].value else last])
        cost = apply("SoftmaxCrossEntropyWithLogits", None, {"features": flat(logits), "labels": flat(labels)})[0]
        cost = reshape(cost, outer, name=scope)
        if known.ndims is not None:
            cost.set_shape(known[:-1])
        return cost


def softmax_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, dim=-1, name=None, axis=None):
    """The cross entropy of labels and softmax(logits); labels get no gradient."""
    _ensure_named("softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    axis = dim if axis is None else axis
    return softmax_cross_entropy_with_logits_v2(labels, logits, axis, name or "softmax_cross_entropy_with_logits_sg", None,
                                                True)


def sparse_softmax_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, name=None):
    """The same for labels that are the numbers of classes, of logits' shape but for the last dimension."""
    _ensure_named("sparse_softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]):
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        n = logits.shape.ndims
        if n == 0:
            raise ValueError("Logits cannot be scalars - received shape %s." % logits.shape)
        if n is not None and labels.shape.ndims is not None and labels.shape.ndims != n - 1:
            raise ValueError("Rank mismatch: Rank of labels (received %s) should equal rank of logits minus 1 (received "
                             "%s)." % (labels.shape.ndims, n))
        op = "SparseSoftmaxCrossEntropyWithLogits"
        if n == 2:
            return apply(op, None, {"features": logits, "labels": labels})[0]
        known = labels.shape
        cost = apply(op, None, {"features": reshape(logits, [-1, shape(logits)[-1]]), "labels": reshape(labels, [-1])})[0]
        cost = reshape(cost, shape(labels))
        cost.set_shape(known)
        return cost


def log_poisson_loss(targets, log_input, compute_full_loss=False, name=None):
    log_input, targets = convert_to_tensor(log_input), convert_to_tensor(targets)
    result = exp(log_input) - log_input * targets
    if compute_full_loss:
        stirling = targets * log(targets) - targets + 0.5 * log(2 * math.pi * targets)
        result += where(((targets >= 0) & (targets <= 1)), zeros_like(targets), stirling)
    return result


# ---------------------------------------- convolutions and pools

def _window(value, n, channel_at, name, first=1):
    """A list of n + 2 strides or sizes from a number, n numbers, or all of them."""
    if value is None:
        value = 1
    if isinstance(value, (int, np.integer)):
        value = [int(value)]
    value = [int(v) for v in value]
    if len(value) == 1:
        value = value * n
    if len(value) == n:
        return [1] + value + [1] if channel_at == n + 1 else [1, 1] + value
    if len(value) == n + 2:
        return value
    raise ValueError("%s should be of length 1, %d or %d but was %d" % (name, n, n + 2, len(value)))


def _padding(padding, values):
    if isinstance(padding, (list, tuple)):
        values["padding"], values["explicit_paddings"] = "EXPLICIT", [int(p) for pair in padding for p in pair]
    else:
        values["padding"] = padding.upper()
    return values


def conv2d(input, filter=None, strides=None, padding=None, use_cudnn_on_gpu=True, data_format="NHWC",
           dilations=(1, 1, 1, 1), name=None, filters=None):
    """[batch, height, width, in] by filters [height, width, in, out]."""
    filter = deprecated_argument("filters", filters, "filter", filter)
    data_format = data_format or "NHWC"
    at = 3 if data_format == "NHWC" else 1
    return apply("Conv2D", name, _padding(padding, {
        "input": input, "filter": filter, "strides": _window(strides, 2, at, "strides"),
        "data_format": data_format, "dilations": _window(dilations, 2, at, "dilations")}))


def conv2d_v2(input, filters, strides, padding, data_format="NHWC", dilations=None, name=None):
    return conv2d(input, filters, strides, padding, True, data_format, dilations or 1, name)


def conv1d(value=None, filters=None, stride=None, padding=None, use_cudnn_on_gpu=None, data_format=None, name=None,
           input=None, dilations=None):
    value = deprecated_argument("input", input, "value", value)
    with name_scope(name, "conv1d", [value, filters]):
        first = data_format in ("NCW", "NCHW")
        axis = 2 if first else 1
        stride = stride if isinstance(stride, (int, np.integer)) else list(stride)[-1 if first or len(stride) == 1 else 1]
        d = dilations or 1
        d = d if isinstance(d, (int, np.integer)) else list(d)[axis if len(d) == 3 else 0]
        image = expand_dims(value, axis)
        kernel = expand_dims(filters, 0)
        strides = [1, 1, 1, stride] if first else [1, 1, stride, 1]
        result = conv2d(image, kernel, strides, padding, True, "NCHW" if first else "NHWC",
                        [1, 1, 1, d] if first else [1, 1, d, 1])
        return squeeze(result, [axis])


def conv3d(input, filter=None, strides=None, padding=None, data_format="NDHWC", dilations=(1, 1, 1, 1, 1), name=None,
           filters=None):
    filter = deprecated_argument("filters", filters, "filter", filter)
    return apply("Conv3D", name, {"input": input, "filter": filter, "strides": _window(strides, 3, 4, "strides"),
                                  "padding": padding, "data_format": data_format or "NDHWC",
                                  "dilations": list(dilations or [1] * 5)})


def conv2d_transpose(value=None, filter=None, output_shape=None, strides=None, padding="SAME", data_format="NHWC",
                     name=None, input=None, filters=None, dilations=None):
    """The gradient of conv2d with respect to its input, as a layer."""
    value = deprecated_argument("input", input, "value", value)
    filter = deprecated_argument("filters", filters, "filter", filter)
    with name_scope(name, "conv2d_transpose", [value, filter, output_shape]) as scope:
        data_format = data_format or "NHWC"
        at = 3 if data_format == "NHWC" else 1
        value = convert_to_tensor(value, name="value")
        filter = convert_to_tensor(filter, name="filter")
        sizes = convert_to_tensor(output_shape, name="output_shape")
        result = apply("Conv2DBackpropInput", scope, {
            "input_sizes": cast(sizes, dtypes.int32), "filter": filter, "out_backprop": value,
            "strides": _window(strides, 2, at, "strides"), "padding": padding, "data_format": data_format,
            "dilations": _window(dilations, 2, at, "dilations")})
        known = output_shape if isinstance(output_shape, (list, tuple)) and all(
            isinstance(d, (int, np.integer)) for d in output_shape) else None
        if known is not None:
            result.set_shape([None if d < 0 else int(d) for d in known])
        return result


def conv3d_transpose(value=None, filter=None, output_shape=None, strides=None, padding="SAME", data_format="NDHWC",
                     name=None, input=None, filters=None, dilations=None):
    value = deprecated_argument("input", input, "value", value)
    filter = deprecated_argument("filters", filters, "filter", filter)
    return apply("Conv3DBackpropInputV2", name or "conv3d_transpose", {
        "input_sizes": output_shape, "filter": filter, "out_backprop": value,
        "strides": _window(strides, 3, 4, "strides"), "padding": padding, "data_format": data_format or "NDHWC"})


def conv1d_transpose(input, filters, output_shape, strides, padding="SAME", data_format="NWC", dilations=None, name=None):
    with name_scope(name, "conv1d_transpose"):
        axis = 1 if data_format == "NWC" else 2
        stride = strides if isinstance(strides, int) else list(strides)[-1]
        sizes = concat([output_shape[:axis], [1], output_shape[axis:]], 0)
        result = conv2d_transpose(expand_dims(input, axis), expand_dims(filters, 0), sizes,
                                  [1, 1, stride, 1] if axis == 1 else [1, 1, 1, stride], padding,
                                  "NHWC" if axis == 1 else "NCHW")
        return squeeze(result, [axis])


def conv2d_backprop_filter(input, filter_sizes, out_backprop, strides, padding, use_cudnn_on_gpu=True,
                           data_format="NHWC", dilations=(1, 1, 1, 1), name=None):
    return apply("Conv2DBackpropFilter", name, _padding(padding, {
        "input": input, "filter_sizes": filter_sizes, "out_backprop": out_backprop, "strides": strides,
        "data_format": data_format, "dilations": list(dilations)}))


def conv2d_backprop_input(input_sizes, filter=None, out_backprop=None, strides=None, padding=None,
                          use_cudnn_on_gpu=True, data_format="NHWC", dilations=(1, 1, 1, 1), name=None, filters=None):
    return apply("Conv2DBackpropInput", name, _padding(padding, {
        "input_sizes": input_sizes, "filter": filters if filter is None else filter, "out_backprop": out_backprop,
        "strides": strides, "data_format": data_format, "dilations": list(dilations)}))


def atrous_conv2d(value, filters, rate, padding, name=None):
    return convolution(value, filters, padding, dilation_rate=[rate, rate], name=name)


def atrous_conv2d_transpose(value, filters, output_shape, rate, padding, name=None):
    if rate == 1:
        return conv2d_transpose(value, filters, output_shape, [1, 1, 1, 1], padding, name=name)
    raise NotImplementedError("atrous_conv2d_transpose with rate > 1")


def convolution(input, filter=None, padding=None, strides=None, dilation_rate=None, name=None, data_format=None,
                filters=None, dilations=None):
    """Convolution over one, two or three dimensions, by the rank of the filter."""
    filter = deprecated_argument("filters", filters, "filter", filter)
    dilation_rate = dilations if dilation_rate is None else dilation_rate
    with name_scope(name, "convolution", [input, filter]):
        input = convert_to_tensor(input)
        filter = convert_to_tensor(filter)
        n = filter.shape.ndims - 2
        strides = [1] * n if strides is None else [strides] * n if isinstance(strides, int) else list(strides)
        rates = [1] * n if dilation_rate is None else [dilation_rate] * n if isinstance(dilation_rate, int) else \
            list(dilation_rate)
        channels_first = data_format is not None and data_format.startswith("NC")
        if n == 1:
            axis = 2 if channels_first else 1
            r = conv2d(expand_dims(input, axis), expand_dims(filter, 0),
                       ([1, 1, 1, strides[0]] if channels_first else [1, 1, strides[0], 1]), padding, True,
                       "NCHW" if channels_first else "NHWC",
                       [1, 1, 1, rates[0]] if channels_first else [1, 1, rates[0], 1])
            return squeeze(r, [axis])
        if n == 2:
            at = 1 if channels_first else 3
            return conv2d(input, filter, _window(strides, 2, at, "strides"), padding, True, data_format or "NHWC",
                          _window(rates, 2, at, "dilations"))
        return conv3d(input, filter, [1] + strides + [1], padding, data_format or "NDHWC", [1] + rates + [1])


def depthwise_conv2d(input, filter=None, strides=None, padding=None, rate=None, name=None, data_format=None,
                     dilations=None):
    rate = dilations if rate is None else rate
    with name_scope(name, "depthwise", [input, filter]):
        input, filter = convert_to_tensor(input), convert_to_tensor(filter)
        rate = [1, 1] if rate is None else [rate, rate] if isinstance(rate, int) else list(rate)
        at = 1 if data_format == "NCHW" else 3
        return apply("DepthwiseConv2dNative", None, _padding(padding, {
            "input": input, "filter": filter, "strides": list(strides), "data_format": data_format or "NHWC",
            "dilations": _window(rate, 2, at, "dilations")}))


def depthwise_conv2d_native(input, filter, strides, padding, data_format="NHWC", dilations=(1, 1, 1, 1), name=None):
    return apply("DepthwiseConv2dNative", name, _padding(padding, {
        "input": input, "filter": filter, "strides": strides, "data_format": data_format, "dilations": list(dilations)}))


def separable_conv2d(input, depthwise_filter, pointwise_filter, strides, padding, rate=None, name=None,
                     data_format=None, dilations=None):
    with name_scope(name, "separable_conv2d", [input, depthwise_filter, pointwise_filter]):
        inner = depthwise_conv2d(input, depthwise_filter, strides, padding, rate, data_format=data_format,
                                 dilations=dilations)
        return conv2d(inner, pointwise_filter, [1, 1, 1, 1], "VALID", data_format=data_format or "NHWC")


def _pool2d(op):
    def function(value=None, ksize=None, strides=None, padding=None, data_format="NHWC", name=None, input=None):
        value = deprecated_argument("input", input, "value", value)
        data_format = data_format or "NHWC"
        at = 1 if data_format.startswith("NC") else 3
        return apply(op, name, {("input" if op == "MaxPool" else "value"): value, "ksize": _window(ksize, 2, at, "ksize"),
                                "strides": _window(strides, 2, at, "strides"), "padding": padding.upper(),
                                "data_format": data_format})
    function.__name__ = {"MaxPool": "max_pool", "AvgPool": "avg_pool"}[op]
    return function


max_pool, avg_pool = _pool2d("MaxPool"), _pool2d("AvgPool")
max_pool2d, avg_pool2d = max_pool, avg_pool


def _pool3d(op):
    def function(input, ksize=None, strides=None, padding=None, data_format="NDHWC", name=None):
        return apply(op, name, {"input": input, "ksize": _window(ksize, 3, 4, "ksize"), "padding": padding.upper(),
                                "strides": _window(strides, 3, 4, "strides"), "data_format": data_format or "NDHWC"})
    return function


max_pool3d, avg_pool3d = _pool3d("MaxPool3D"), _pool3d("AvgPool3D")


def _pool1d(function):
    def pool(input, ksize, strides, padding, data_format="NWC", name=None):
        last = lambda v: v if isinstance(v, int) else list(v)[0 if len(v) == 1 else 1]
        axis = 1 if data_format == "NWC" else 2
        sizes = (lambda v: [1, 1, v, 1]) if axis == 1 else (lambda v: [1, 1, 1, v])
        with name_scope(name, "pool1d"):
            return squeeze(function(expand_dims(input, axis), sizes(last(ksize)), sizes(last(strides)), padding,
                                    "NHWC" if axis == 1 else "NCHW"), [axis])
    return pool


max_pool1d, avg_pool1d = _pool1d(max_pool), _pool1d(avg_pool)


def max_pool_with_argmax(input, ksize, strides, padding, data_format="NHWC", Targmax=None, name=None,
                         output_dtype=None, include_batch_in_index=False):
    return apply("MaxPoolWithArgmax", name, {"input": input, "ksize": ksize, "strides": strides, "padding": padding,
                                             "Targmax": Targmax or output_dtype or dtypes.int64,
                                             "include_batch_in_index": include_batch_in_index})


def pool(input, window_shape, pooling_type, padding, dilation_rate=None, strides=None, name=None, data_format=None,
         dilations=None):
    n = len(window_shape)
    strides = [1] * n if strides is None else list(strides)
    function = {("MAX", 2): max_pool, ("AVG", 2): avg_pool, ("MAX", 3): max_pool3d, ("AVG", 3): avg_pool3d,
                ("MAX", 1): max_pool1d, ("AVG", 1): avg_pool1d}[pooling_type.upper(), n]
    formats = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
    return function(input, list(window_shape), strides, padding, data_format or formats[n], name=name)


def dilation2d(input, filter=None, strides=None, rates=None, padding=None, name=None, filters=None, dilations=None):
    return apply("Dilation2D", name, {"input": input, "filter": filters if filter is None else filter,
                                      "strides": strides, "rates": rates or dilations, "padding": padding})


# ---------------------------------------- regularity

def dropout(x, keep_prob=None, noise_shape=None, seed=None, name=None, rate=None):
    """x with elements zeroed at the rate given, and the others scaled up."""
    if rate is None:
        if keep_prob is None:
            raise ValueError("You must provide a rate to dropout.")
        rate = 1 - keep_prob
    elif keep_prob is not None:
        raise ValueError("Cannot specify both 'rate' and 'keep_prob'")
    return dropout_v2(x, rate, noise_shape, seed, name)


def dropout_v2(x, rate, noise_shape=None, seed=None, name=None):
    with name_scope(name, "dropout", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise ValueError("x has to be a floating point tensor since it's going to be scaled. Got a %s tensor instead."
                             % x.dtype.name)
        if isinstance(rate, numbers.Real):
            if not 0 <= rate < 1:
                raise ValueError("rate must be a scalar tensor or a float in the range [0, 1), got %g" % rate)
            if rate == 0:
                return x
        rate = convert_to_tensor(rate, x.dtype.base_dtype, name="rate")
        if constant_value(rate) == 0:
            return x
        if noise_shape is None:
            noise = shape(x)
        elif isinstance(noise_shape, Tensor):
            noise = noise_shape
        else:
            noise = [n if n is not None else shape(x)[i] for i, n in enumerate(
                tensor_shape.as_shape(noise_shape).as_list() if not any(isinstance(n, Tensor) for n in noise_shape)
                else noise_shape)]
        drawn = random_ops.random_uniform(noise, seed=seed, dtype=x.dtype.base_dtype)
        keep = drawn >= rate
        result = x * (1 / (1 - rate)) * cast(keep, x.dtype.base_dtype)
        result.set_shape(x.shape)
        return result


def moments(x, axes, shift=None, name=None, keep_dims=None, keepdims=None):
    """(mean, variance) over axes."""
    keepdims = deprecated_argument("keepdims", keepdims, "keep_dims", keep_dims) or False
    with name_scope(name, "moments", [x, axes]):
        x = convert_to_tensor(x)
        y = cast(x, dtypes.float32) if x.dtype.base_dtype == dtypes.float16 else x
        mean = reduce_mean(y, axes, keepdims=True, name="mean")
        variance = reduce_mean(apply("SquaredDifference", None, {"x": y, "y": stop_gradient(mean)}), axes, keepdims=True,
                               name="variance")
        if not keepdims:
            mean, variance = squeeze(mean, axes), squeeze(variance, axes)
        return cast(mean, x.dtype), cast(variance, x.dtype)


def weighted_moments(x, axes, frequency_weights, name=None, keep_dims=None, keepdims=None):
    keepdims = deprecated_argument("keepdims", keepdims, "keep_dims", keep_dims) or False
    with name_scope(name, "weighted_moments"):
        x = convert_to_tensor(x)
        weights = cast(convert_to_tensor(frequency_weights), x.dtype) + zeros_like(x)
        total = reduce_sum(weights, axes, keepdims=True)
        mean = reduce_sum(weights * x, axes, keepdims=True) / total
        variance = reduce_sum(weights * square(x - mean), axes, keepdims=True) / total
        return (mean, variance) if keepdims else (squeeze(mean, axes), squeeze(variance, axes))


def sufficient_statistics(x, axes, shift=None, keep_dims=None, name=None, keepdims=None):
    keepdims = deprecated_argument("keepdims", keepdims, "keep_dims", keep_dims) or False
    with name_scope(name, "sufficient_statistics"):
        x = convert_to_tensor(x)
        count = cast(apply("Prod", None, {"input": gather(shape(x), list(axes)), "reduction_indices": [0]}), x.dtype)
        d = x - shift if shift is not None else x
        return count, reduce_sum(d, axes, keepdims=keepdims), reduce_sum(square(d), axes, keepdims=keepdims), shift


def normalize_moments(counts, mean_ss, variance_ss, shift, name=None):
    with name_scope(name, "normalize"):
        divisor = 1 / convert_to_tensor(counts)
        shifted = mean_ss * divisor
        mean = shifted if shift is None else shifted + shift
        return mean, variance_ss * divisor - square(shifted)


def batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None):
    """scale * (x - mean) / sqrt(variance + epsilon) + offset."""
    with name_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        inverse = rsqrt(variance + variance_epsilon)
        if scale is not None:
            inverse = inverse * scale
        shift = offset - mean * inverse if offset is not None else -mean * inverse
        return x * cast(inverse, x.dtype) + cast(shift, x.dtype)


def fused_batch_norm(x, scale, offset, mean=None, variance=None, epsilon=0.001, data_format="NHWC", is_training=True,
                     name=None, exponential_avg_factor=1.0):
    with name_scope(name, "FusedBatchNorm"):
        x, scale, offset = convert_to_tensor(x), convert_to_tensor(scale), convert_to_tensor(offset)
        mean = constant([]) if mean is None else mean
        variance = constant([]) if variance is None else variance
        r = apply("FusedBatchNormV3", "FusedBatchNorm", {
            "x": x, "scale": scale, "offset": offset, "mean": mean, "variance": variance,
            "epsilon": max(epsilon, 1.001e-5), "data_format": data_format, "is_training": is_training,
            "exponential_avg_factor": exponential_avg_factor})
        return r[0], r[1], r[2]


def batch_norm_with_global_normalization(t=None, m=None, v=None, beta=None, gamma=None, variance_epsilon=None,
                                         scale_after_normalization=None, name=None, input=None, mean=None, variance=None):
    t, m, v = [b if a is None else a for a, b in ((t, input), (m, mean), (v, variance))]
    return batch_normalization(t, m, v, beta, gamma if scale_after_normalization else None, variance_epsilon, name)


def l2_normalize(x, axis=None, epsilon=1e-12, name=None, dim=None):
    axis = deprecated_argument("axis", axis, "dim", dim)
    with name_scope(name, "l2_normalize", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        total = reduce_sum(square(x), axis, keepdims=True)
        return multiply(x, rsqrt(apply("Maximum", None, {"x": total, "y": convert_to_tensor(epsilon, x.dtype.base_dtype)})),
                        name=scope)


def lrn(input, depth_radius=5, bias=1, alpha=1, beta=0.5, name=None):
    return apply("LRN", name, {"input": input, "depth_radius": depth_radius, "bias": bias, "alpha": alpha, "beta": beta})


local_response_normalization = lrn


def zero_fraction(value, name=None):
    with name_scope(name, "zero_fraction", [value]):
        value = convert_to_tensor(value)
        return reduce_mean(cast(apply("Equal", None, {"x": value, "y": constant(0, value.dtype.base_dtype)}), dtypes.float32))


def top_k(input, k=1, sorted=True, name=None):
    return apply("TopKV2", name, {"input": input, "k": k, "sorted": sorted})


def in_top_k(predictions, targets, k, name=None):
    with name_scope(name, "in_top_k"):
        return apply("InTopKV2", None, {"predictions": predictions, "targets": targets, "k": k})


def nth_element(input, n, reverse=False, name=None):
    return apply("NthElement", name, {"input": input, "n": n, "reverse": reverse})


def normalize(tensor, ord="euclidean", axis=None, name=None):
    from .math_ops import norm
    tensor = convert_to_tensor(tensor)
    length = norm(tensor, ord, axis, keepdims=True)
    return tensor / length, length


# ---------------------------------------- embeddings

def embedding_lookup(params, ids, partition_strategy="mod", name=None, validate_indices=True, max_norm=None):
    """Rows of a table, or of several that share the ids between them."""
    if isinstance(params, (list, tuple)) and len(params) == 0 or params is None:
        raise ValueError("Need at least one param")
    if isinstance(params, variables.PartitionedVariable):
        params = list(params)
    if not isinstance(params, (list, tuple)):
        params = [params]
    with name_scope(name, "embedding_lookup", list(params) + [ids]) as scope:
        ids = convert_to_tensor(ids, name="ids")
        n = len(params)
        if n == 1:
            with get_default_graph().colocate_with(params[0] if isinstance(params[0], (Tensor, variables.Variable)) else
                                                   convert_to_tensor(params[0])):
                found = gather(params[0], ids, name=scope if max_norm is None else None)
            return _clipped(found, ids, max_norm) if max_norm is not None else apply("Identity", None, {"input": found})
        return _partitioned_lookup(params, ids, partition_strategy, max_norm, scope)


def _partitioned_lookup(params, ids, strategy, max_norm, scope):
    n = len(params)
    flat = reshape(ids, [-1])
    index = apply("Range", None, {"start": 0, "limit": shape(flat)[0], "delta": 1})
    if strategy == "mod":
        which, where_in = flat % n, flat // n
    elif strategy == "div":
        sizes = [p.get_shape().dims[0].value for p in params]
        total = sum(sizes)
        per, extra = total // n, total % n
        if extra:
            which = apply("Maximum", None, {"x": flat // (per + 1), "y": (flat - extra) // per})
        else:
            which = flat // per
        starts = np.cumsum([0] + sizes[:-1]).astype(np.int64)
        where_in = flat - cast(gather(constant(starts), which), flat.dtype)
    else:
        raise ValueError("Unrecognized partition strategy: " + strategy)
    which = cast(which, dtypes.int32)
    parts = apply("DynamicPartition", None, {"data": where_in, "partitions": which, "num_partitions": n})
    places = apply("DynamicPartition", None, {"data": index, "partitions": which, "num_partitions": n})
    found = [_clipped(gather(p, i), i, max_norm) if max_norm is not None else gather(p, i) for p, i in zip(params, parts)]
    joined = apply("ParallelDynamicStitch", scope, {"indices": places, "data": found})
    element = params[0].get_shape()[1:]
    joined = reshape(joined, concat([shape(ids), constant(element.as_list(), dtypes.int32)], 0))
    joined.set_shape(ids.shape.concatenate(element))
    return joined


def _clipped(values, ids, max_norm):
    from .math_ops import clip_by_norm
    n, m = values.shape.ndims, ids.shape.ndims
    return clip_by_norm(values, max_norm, axes=list(range(m, n)))


def embedding_lookup_sparse(params, sp_ids, sp_weights, partition_strategy="mod", name=None, combiner=None,
                            max_norm=None):
    """For each row of sp_ids, the rows of the table it names, combined by "sum", "mean" or "sqrtn"."""
    combiner = combiner or "mean"
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError("combiner must be one of 'mean', 'sqrtn' or 'sum'")
    if not isinstance(sp_ids, SparseTensor):
        raise TypeError("sp_ids must be SparseTensor")
    with name_scope(name, "embedding_lookup_sparse"):
        segments = cast(sp_ids.indices[:, 0], dtypes.int32)
        ids, positions = apply("Unique", None, {"x": sp_ids.values})
        table = embedding_lookup(params, ids, partition_strategy, max_norm=max_norm)
        if sp_weights is None:
            op = {"sum": "SparseSegmentSum", "mean": "SparseSegmentMean", "sqrtn": "SparseSegmentSqrtN"}[combiner]
            return apply(op, None, {"data": table, "indices": positions, "segment_ids": segments})
        weights = cast(sp_weights.values, table.dtype)
        rows = gather(table, positions)
        wide = reshape(weights, concat([shape(weights), ones_like(shape(rows)[1:])], 0))
        total = apply("SegmentSum", None, {"data": rows * wide, "segment_ids": segments})
        if combiner == "sum":
            return total
        sums = apply("SegmentSum", None, {"data": wide if combiner == "mean" else square(wide), "segment_ids": segments})
        return total / (sums if combiner == "mean" else sqrt(sums))


def safe_embedding_lookup_sparse(embedding_weights, sparse_ids, sparse_weights=None, combiner="mean", default_id=None,
                                 name="safe_embedding_lookup_sparse", partition_strategy="div", max_norm=None):
    r = apply("SparseFillEmptyRows", None, {"indices": sparse_ids.indices, "values": sparse_ids.values,
                                            "dense_shape": sparse_ids.dense_shape,
                                            "default_value": constant(default_id or 0, sparse_ids.values.dtype)})
    ids = SparseTensor(r[0], r[1], sparse_ids.dense_shape)
    found = embedding_lookup_sparse(embedding_weights, ids, None, partition_strategy, combiner=combiner, max_norm=max_norm)
    if default_id is None:
        empty = expand_dims(r[2], 1)
        from .array_ops import tile
        found = where(tile(empty, [1, shape(found)[1]]), zeros_like(found), found)
    return found


# ---------------------------------------- sampled losses

def _sampler(op):
    def function(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
        from .graph import get_seed
        first, second = get_seed(seed)
        return apply(op, name, {"true_classes": true_classes, "num_true": num_true, "num_sampled": num_sampled,
                                "unique": unique, "range_max": range_max, "seed": first, "seed2": second})
    return function


uniform_candidate_sampler = _sampler("UniformCandidateSampler")
log_uniform_candidate_sampler = _sampler("LogUniformCandidateSampler")
learned_unigram_candidate_sampler = _sampler("LearnedUnigramCandidateSampler")


def all_candidate_sampler(true_classes, num_true, num_sampled, unique, seed=None, name=None):
    from .graph import get_seed
    first, second = get_seed(seed)
    return apply("AllCandidateSampler", name, {"true_classes": true_classes, "num_true": num_true, "num_sampled":
                                               num_sampled, "unique": unique, "seed": first, "seed2": second})


def fixed_unigram_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, vocab_file="",
                                    distortion=1.0, num_reserved_ids=0, num_shards=1, shard=0, unigrams=(), seed=None,
                                    name=None):
    from .graph import get_seed
    first, second = get_seed(seed)
    return apply("FixedUnigramCandidateSampler", name, {
        "true_classes": true_classes, "num_true": num_true, "num_sampled": num_sampled, "unique": unique,
        "range_max": range_max, "vocab_file": vocab_file, "distortion": distortion, "num_reserved_ids": num_reserved_ids,
        "num_shards": num_shards, "shard": shard, "unigrams": list(unigrams), "seed": first, "seed2": second})


def compute_accidental_hits(true_classes, sampled_candidates, num_true, seed=None, name=None):
    return apply("ComputeAccidentalHits", name, {"true_classes": true_classes, "sampled_candidates": sampled_candidates,
                                                 "num_true": num_true})


def _sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, subtract_log_q,
                    remove_accidental_hits, partition_strategy, name, seed):
    if isinstance(weights, variables.PartitionedVariable):
        weights = list(weights)
    weights = weights if isinstance(weights, list) else [weights]
    with name_scope(name, "compute_sampled_logits"):
        labels = cast(labels, dtypes.int64)
        flat = reshape(labels, [-1])
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(labels, num_true, num_sampled, True, num_classes, seed)
        sampled, true_count, sampled_count = [stop_gradient(s) for s in sampled_values]
        sampled = cast(sampled, dtypes.int64)
        all_ids = concat([flat, sampled], 0)
        w = embedding_lookup(weights, all_ids, partition_strategy)
        b = embedding_lookup(biases, all_ids, partition_strategy)
        n = shape(flat)[0]
        true_w, sampled_w = w[:n], w[n:]
        true_b, sampled_b = b[:n], b[n:]
        sampled_logits = matmul(inputs, sampled_w, transpose_b=True) + sampled_b
        width = shape(true_w)[1]
        products = expand_dims(inputs, 1) * reshape(true_w, [-1, num_true, width])
        true_logits = reduce_sum(products, 2) + reshape(true_b, [-1, num_true])
        if remove_accidental_hits:
            rows, ids, w_hits = compute_accidental_hits(labels, sampled, num_true)
            where_ = concat([expand_dims(rows, 1), expand_dims(cast(ids, dtypes.int32), 1)], 1)
            size = concat([shape(labels)[:1], [num_sampled]], 0)
            sampled_logits += apply("SparseToDense", None, {
                "sparse_indices": where_, "output_shape": size, "sparse_values": w_hits,
                "default_value": constant(0.0), "validate_indices": False})
        if subtract_log_q:
            true_logits -= log(true_count)
            sampled_logits -= log(sampled_count)
        logits = concat([true_logits, sampled_logits], 1)
        targets = concat([ones_like(true_logits) / num_true, zeros_like(sampled_logits)], 1)
        return logits, targets


def nce_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None,
             remove_accidental_hits=False, partition_strategy="mod", name="nce_loss"):
    logits, targets = _sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
                                      True, remove_accidental_hits, partition_strategy, name, None)
    return reduce_sum(sigmoid_cross_entropy_with_logits(labels=targets, logits=logits), 1)


def sampled_softmax_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None,
                         remove_accidental_hits=True, partition_strategy="mod", name="sampled_softmax_loss", seed=None):
    logits, targets = _sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
                                      True, remove_accidental_hits, partition_strategy, name, seed)
    return softmax_cross_entropy_with_logits_v2(labels=stop_gradient(targets), logits=logits)


# ---------------------------------------- sequences

def ctc_loss(labels, inputs=None, sequence_length=None, preprocess_collapse_repeated=False, ctc_merge_repeated=True,
             ignore_longer_outputs_than_inputs=False, time_major=True, logits=None):
    inputs = deprecated_argument("logits", logits, "inputs", inputs)
    if not time_major:
        inputs = transpose(inputs, [1, 0, 2])
    return apply("CTCLoss", None, {
        "inputs": inputs, "labels_indices": labels.indices, "labels_values": labels.values,
        "sequence_length": sequence_length, "preprocess_collapse_repeated": preprocess_collapse_repeated,
        "ctc_merge_repeated": ctc_merge_repeated,
        "ignore_longer_outputs_than_inputs": ignore_longer_outputs_than_inputs})[0]


def ctc_greedy_decoder(inputs, sequence_length, merge_repeated=True):
    r = apply("CTCGreedyDecoder", None, {"inputs": inputs, "sequence_length": sequence_length,
                                         "merge_repeated": merge_repeated})
    return [SparseTensor(r[0], r[1], r[2])], r[3]


def ctc_beam_search_decoder(inputs, sequence_length, beam_width=100, top_paths=1, merge_repeated=True):
    r = apply("CTCBeamSearchDecoder", None, {"inputs": inputs, "sequence_length": sequence_length,
                                             "beam_width": beam_width, "top_paths": top_paths,
                                             "merge_repeated": merge_repeated})
    return [SparseTensor(i, v, s) for i, v, s in zip(r[0], r[1], r[2])], r[3]


def fractional_max_pool(value, pooling_ratio, pseudo_random=False, overlapping=False, deterministic=False, seed=0,
                        seed2=0, name=None):
    return apply("FractionalMaxPool", name, {"value": value, "pooling_ratio": pooling_ratio, "pseudo_random":
                                             pseudo_random, "overlapping": overlapping, "deterministic": deterministic,
                                             "seed": seed, "seed2": seed2})
