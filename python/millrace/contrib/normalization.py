"""normalization — contrib.layers: batch_norm, layer_norm, instance_norm, group_norm."""
from .. import dtypes, init_ops, variable_scope as vs
import millrace.nn as nn
from ..array_ops import reshape, shape as shape_of, stack
from ..control_flow import smart_constant_value, smart_cond
from ..convert import convert_to_tensor
from ..graph import GraphKeys, add_to_collections
from ..train.schedules import assign_moving_average
from .arg_scope import add_arg_scope
from .collections_of import collect_named_outputs, get_variable_collections
from .layers import _getter
from .variables import model_variable

_OWN_NAMES = {"beta": "beta", "gamma": "gamma", "moving_mean": "moving_mean", "moving_variance": "moving_variance"}


def _format_axis(inputs, data_format):
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    if inputs.shape.ndims is None:
        raise ValueError("Inputs %s has undefined rank." % inputs.name)
    axis = 1 if data_format == "NCHW" else inputs.shape.ndims - 1
    n = inputs.shape.dims[axis].value
    if n is None:
        raise ValueError("Inputs %s has undefined channels dimension %s." % (inputs.name, inputs.shape))
    return axis, n


@add_arg_scope
def batch_norm(inputs, decay=0.999, center=True, scale=False, epsilon=0.001, activation_fn=None, param_initializers=None,
               param_regularizers=None, updates_collections=GraphKeys.UPDATE_OPS, is_training=True, reuse=None,
               variables_collections=None, outputs_collections=None, trainable=True, batch_weights=None, fused=None,
               data_format="NHWC", zero_debias_moving_mean=False, scope=None, renorm=False, renorm_clipping=None,
               renorm_decay=0.99, adjustment=None):
    """Normalizes by the batch's mean and variance, or by their moving means where `is_training` is false.

    The updates of the moving means are in `updates_collections`, or done at once where that is None.
    """
    if renorm or adjustment is not None or renorm_clipping is not None:
        raise NotImplementedError("batch_norm with renorm or adjustment is not part of Millrace")
    with vs.variable_scope(scope, "BatchNorm", [inputs], reuse=reuse, custom_getter=_getter(_OWN_NAMES)) as sc:
        inputs = convert_to_tensor(inputs)
        kind = inputs.dtype.base_dtype
        axis, n = _format_axis(inputs, data_format)
        make = _Parameters([n], dtypes.float32 if kind in (dtypes.float16, dtypes.bfloat16) else kind, param_initializers,
                           param_regularizers, variables_collections, trainable)
        beta = make("beta", init_ops.zeros_initializer()) if center else None
        gamma = make("gamma", init_ops.ones_initializer()) if scale else None
        moving_mean = make("moving_mean", init_ops.zeros_initializer(), False)
        moving_variance = make("moving_variance", init_ops.ones_initializer(), False)
        use_fused = (fused is None or fused) and batch_weights is None and inputs.shape.ndims == 4
        compute = _fused if use_fused else _plain
        training = smart_constant_value(is_training)

        def learned():
            outputs, mean, variance = compute(inputs, axis, beta, gamma, None, None, epsilon, data_format, batch_weights)
            return outputs, mean, variance

        def kept():
            return compute(inputs, axis, beta, gamma, convert_to_tensor(moving_mean), convert_to_tensor(moving_variance),
                           epsilon, data_format, None)
        if training is not None:
            outputs, mean, variance = learned() if training else kept()
        else:
            outputs, mean, variance = smart_cond(is_training, learned, kept)
        if training is None or training:
            outputs = _update(outputs, moving_mean, moving_variance, mean, variance, decay, training, is_training,
                              updates_collections, zero_debias_moving_mean)
        outputs.set_shape(inputs.shape)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return collect_named_outputs(outputs_collections, sc.original_name_scope, outputs)


class _Parameters:
    """Makes the variables of a normalization."""

    def __init__(self, shape, dtype, initializers, regularizers, collections, trainable):
        self._shape, self._dtype, self._trainable = shape, dtype, trainable
        self._initializers, self._regularizers, self._collections = initializers or {}, regularizers or {}, collections

    def __call__(self, name, initializer, trainable=True):
        return model_variable(name, shape=self._shape, dtype=self._dtype,
                              initializer=self._initializers.get(name, initializer),
                              regularizer=self._regularizers.get(name), trainable=trainable and self._trainable,
                              collections=get_variable_collections(self._collections, name))


def _fused(inputs, axis, beta, gamma, mean, variance, epsilon, data_format, weights):
    from ..array_ops import ones, zeros
    n = inputs.shape.dims[axis].value
    scale = convert_to_tensor(gamma) if gamma is not None else ones([n])
    offset = convert_to_tensor(beta) if beta is not None else zeros([n])
    return tuple(nn.fused_batch_norm(inputs, scale, offset, mean, variance, epsilon, data_format, mean is None))


def _plain(inputs, axis, beta, gamma, mean, variance, epsilon, data_format, weights):
    axes = [i for i in range(inputs.shape.ndims) if i != axis]
    spread = [1] * inputs.shape.ndims
    spread[axis] = inputs.shape.dims[axis].value
    narrow = axis != inputs.shape.ndims - 1
    if mean is None:
        if weights is None:
            mean, variance = nn.moments(inputs, axes)
        else:
            weights = convert_to_tensor(weights)
            whole = stack([shape_of(inputs)[0]] + [1] * (inputs.shape.ndims - 1))
            mean, variance = nn.weighted_moments(inputs, axes, reshape(weights, whole))
    there = lambda t: None if t is None else reshape(convert_to_tensor(t), spread) if narrow else convert_to_tensor(t)
    outputs = nn.batch_normalization(inputs, there(mean), there(variance), there(beta), there(gamma), epsilon)
    return outputs, mean, variance


def _update(outputs, moving_mean, moving_variance, mean, variance, decay, known, is_training, collections, zero_debias):
    """Adds the updates of the moving means: to collections, or in front of the outputs."""
    from ..array_ops import identity
    from ..graph import control_dependencies

    def move():
        mean_update = assign_moving_average(moving_mean, mean, decay, zero_debias=zero_debias)
        variance_update = assign_moving_average(moving_variance, variance, decay, zero_debias=False)
        return mean_update, variance_update

    def keep():
        return convert_to_tensor(moving_mean), convert_to_tensor(moving_variance)
    if collections is None:
        def at_once():
            with control_dependencies(list(move())):
                return identity(outputs)
        return at_once() if known else smart_cond(is_training, at_once, lambda: identity(outputs))
    updates = move() if known else smart_cond(is_training, lambda: tuple(identity(u) for u in move()),
                                              lambda: tuple(identity(k) for k in keep()))
    for update in updates:
        add_to_collections(collections, update)
    return outputs


@add_arg_scope
def layer_norm(inputs, center=True, scale=True, activation_fn=None, reuse=None, variables_collections=None,
               outputs_collections=None, trainable=True, begin_norm_axis=1, begin_params_axis=-1, scope=None):
    """Normalizes each example over its dimensions from begin_norm_axis on."""
    with vs.variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as sc:
        inputs = convert_to_tensor(inputs)
        n = inputs.shape.ndims
        if n is None:
            raise ValueError("Inputs %s has undefined rank." % inputs.name)
        first = begin_norm_axis + n if begin_norm_axis < 0 else begin_norm_axis
        if begin_params_axis >= n or first >= n:
            raise ValueError("begin_params_axis (%d) and begin_norm_axis (%d) must be < rank(inputs) (%d)" % (
                begin_params_axis, begin_norm_axis, n))
        shape = inputs.shape[begin_params_axis:]
        if not shape.is_fully_defined():
            raise ValueError("Inputs %s: shape(inputs)[%s:] is not fully defined: %s" % (
                inputs.name, begin_params_axis, inputs.shape))
        make = _Parameters(shape.as_list(), inputs.dtype.base_dtype, None, None, variables_collections, trainable)
        beta = make("beta", init_ops.zeros_initializer()) if center else None
        gamma = make("gamma", init_ops.ones_initializer()) if scale else None
        mean, variance = nn.moments(inputs, list(range(first, n)), keep_dims=True)
        epsilon = 1e-3 if inputs.dtype == dtypes.float16 else 1e-12
        outputs = nn.batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
        outputs.set_shape(inputs.shape)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return collect_named_outputs(outputs_collections, sc.name, outputs)


@add_arg_scope
def instance_norm(inputs, center=True, scale=True, epsilon=1e-6, activation_fn=None, param_initializers=None, reuse=None,
                  variables_collections=None, outputs_collections=None, trainable=True, data_format="NHWC", scope=None):
    """Normalizes each channel of each example."""
    with vs.variable_scope(scope, "InstanceNorm", [inputs], reuse=reuse) as sc:
        inputs = convert_to_tensor(inputs)
        axis, n = _format_axis(inputs, data_format)
        make = _Parameters([n], inputs.dtype.base_dtype, param_initializers, None, variables_collections, trainable)
        spread = [1] * inputs.shape.ndims
        spread[axis] = n
        there = lambda v: reshape(convert_to_tensor(v), spread)
        beta = there(make("beta", init_ops.zeros_initializer())) if center else None
        gamma = there(make("gamma", init_ops.ones_initializer())) if scale else None
        axes = [i for i in range(1, inputs.shape.ndims) if i != axis]
        mean, variance = nn.moments(inputs, axes, keep_dims=True)
        outputs = nn.batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
        outputs.set_shape(inputs.shape)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return collect_named_outputs(outputs_collections, sc.name, outputs)


@add_arg_scope
def group_norm(inputs, groups=32, channels_axis=-1, reduction_axes=(-3, -2), center=True, scale=True, epsilon=1e-6,
               activation_fn=None, param_initializers=None, reuse=None, variables_collections=None,
               outputs_collections=None, trainable=True, scope=None, mean_close_to_zero=False):
    """Normalizes groups of channels of each example."""
    with vs.variable_scope(scope, "GroupNorm", [inputs], reuse=reuse) as sc:
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        axis = channels_axis % rank
        over = [a % rank for a in reduction_axes]
        n = inputs.shape.dims[axis].value
        if n is None or n % groups:
            raise ValueError("%s channels is not commensurate with %d groups." % (n, groups))
        dims = [d.value if d.value is not None else shape_of(inputs)[i] for i, d in enumerate(inputs.shape.dims)]
        make = _Parameters([n], inputs.dtype.base_dtype, param_initializers, None, variables_collections, trainable)
        split = [1] * rank
        split[axis:axis + 1] = [groups, n // groups]
        there = lambda v: reshape(convert_to_tensor(v), split)
        beta = there(make("beta", init_ops.zeros_initializer())) if center else None
        gamma = there(make("gamma", init_ops.ones_initializer())) if scale else None
        grouped = reshape(inputs, stack(dims[:axis] + [groups, n // groups] + dims[axis + 1:]))
        axes = [a + (a > axis) for a in over] + [axis + 1]
        mean, variance = nn.moments(grouped, axes, keep_dims=True)
        outputs = reshape(nn.batch_normalization(grouped, mean, variance, beta, gamma, epsilon), shape_of(inputs))
        outputs.set_shape(inputs.shape)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return collect_named_outputs(outputs_collections, sc.name, outputs)

