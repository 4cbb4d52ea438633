"""losses — scalar losses with weights, in a collection; regularisation."""
from . import dtypes
from .array_ops import expand_dims, ones_like, shape, size, squeeze, stop_gradient
from .constant import constant
from .convert import convert_to_tensor
from .graph import GraphKeys, add_to_collection, get_collection, name_scope
from .math_ops import add_n, cast, div_no_nan, reduce_sum, square
from .ops_apply import apply
from . import nn


class Reduction:
    """How a loss per element becomes one number."""
    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls):
        return (cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_OVER_NONZERO_WEIGHTS,
                cls.SUM_BY_NONZERO_WEIGHTS)

    @classmethod
    def validate(cls, key):
        if key not in cls.all():
            raise ValueError("Invalid Reduction Key %s." % key)


def add_loss(loss, loss_collection=GraphKeys.LOSSES):
    if loss_collection:
        add_to_collection(loss_collection, loss)


def get_losses(scope=None, loss_collection=GraphKeys.LOSSES):
    return get_collection(loss_collection, scope)


def get_regularization_losses(scope=None):
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope=None, name="total_regularization_loss"):
    found = get_regularization_losses(scope)
    return add_n(found, name=name) if found else constant(0.0)


def get_total_loss(add_regularization_losses=True, name="total_loss", scope=None):
    found = get_losses(scope=scope)
    if add_regularization_losses:
        found = found + get_regularization_losses(scope=scope)
    return add_n(found, name=name)


def _weights(losses, weights):
    weights = cast(convert_to_tensor(weights), losses.dtype)
    n, m = losses.shape.ndims, weights.shape.ndims
    if n is not None and m is not None and m:
        if n - m == 1:
            weights = expand_dims(weights, [-1])
        elif m - n == 1:
            weights = squeeze(weights, [-1])
        elif m != n:
            raise ValueError("weights can not be broadcast to values. values.rank=%s. weights.rank=%s. values.shape=%s. "
                             "weights.shape=%s." % (n, m, losses.shape, weights.shape))
        for w, v in zip(weights.shape.dims, losses.shape.dims):
            if w.value not in (1, None) and v.value is not None and w.value != v.value:
                raise ValueError("weights can not be broadcast to values. values.rank=%s. weights.rank=%s. "
                                 "values.shape=%s. weights.shape=%s." % (n, m, losses.shape, weights.shape))
    return weights


def compute_weighted_loss(losses, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
                          reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    """losses * weights, reduced; in the collection of losses."""
    Reduction.validate(reduction)
    with name_scope(scope, "weighted_loss", [losses]):
        losses = convert_to_tensor(losses)
        kind = losses.dtype
        losses = cast(losses, dtypes.float32) if not kind.is_floating or kind.base_dtype == dtypes.float16 else losses
        weights = _weights(losses, weights)
        weighted = losses * weights
        if reduction == Reduction.NONE:
            loss = weighted
        else:
            loss = reduce_sum(weighted)
            if reduction == Reduction.MEAN:
                loss = div_no_nan(loss, reduce_sum(ones_like(losses) * weights))
            elif reduction == Reduction.SUM_BY_NONZERO_WEIGHTS:
                present = cast(apply("NotEqual", None, {"x": weights, "y": constant(0.0, weights.dtype)}), losses.dtype)
                loss = div_no_nan(loss, reduce_sum(present * ones_like(losses)), name="value")
            elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
                loss = div_no_nan(loss, cast(size(losses), losses.dtype), name="value")
        loss = cast(loss, kind)
        add_loss(loss, loss_collection)
        return loss


def _pair(labels, predictions):
    if labels is None or predictions is None:
        raise ValueError("labels and predictions must not be None.")
    predictions = cast(convert_to_tensor(predictions), dtypes.float32) if convert_to_tensor(
        predictions).dtype != dtypes.float64 else predictions
    labels = cast(convert_to_tensor(labels), predictions.dtype)
    try:
        predictions.shape.assert_is_compatible_with(labels.shape)
    except ValueError:
        raise ValueError("Shapes %s and %s are incompatible" % (predictions.shape, labels.shape)) from None
    return labels, predictions


def _pairwise(default, function):
    def loss(labels, predictions, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
             reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
        with name_scope(scope, default, [predictions, labels]) as scope:
            labels, predictions = _pair(labels, predictions)
            return compute_weighted_loss(function(labels, predictions), weights, scope, loss_collection, reduction)
    loss.__name__ = default
    return loss


mean_squared_error = _pairwise("mean_squared_error", lambda y, p: apply("SquaredDifference", None, {"x": p, "y": y}))
absolute_difference = _pairwise("absolute_difference", lambda y, p: abs(p - y))


def log_loss(labels, predictions, weights=1.0, epsilon=1e-7, scope=None, loss_collection=GraphKeys.LOSSES,
             reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    with name_scope(scope, "log_loss", [predictions, labels]) as scope:
        labels, p = _pair(labels, predictions)
        log = lambda v: apply("Log", None, {"x": v})
        losses = -(labels * log(p + epsilon)) - (1 - labels) * log(1 - p + epsilon)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def huber_loss(labels, predictions, weights=1.0, delta=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
               reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    with name_scope(scope, "huber_loss", [predictions, labels]) as scope:
        labels, predictions = _pair(labels, predictions)
        error = abs(predictions - labels)
        quadratic = apply("Minimum", None, {"x": error, "y": convert_to_tensor(delta, error.dtype)})
        losses = 0.5 * quadratic * quadratic + delta * (error - quadratic)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def hinge_loss(labels, logits, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
               reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    with name_scope(scope, "hinge_loss", [logits, labels]) as scope:
        labels, logits = _pair(labels, logits)
        losses = nn.relu(1 - (2 * labels - 1) * logits)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def cosine_distance(labels, predictions, axis=None, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
                    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS, dim=None):
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    with name_scope(scope, "cosine_distance_loss", [predictions, labels]) as scope:
        labels, predictions = _pair(labels, predictions)
        losses = 1 - reduce_sum(predictions * labels, axis=[axis], keepdims=True)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def mean_pairwise_squared_error(labels, predictions, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES):
    with name_scope(scope, "mean_pairwise_squared_error", [predictions, labels]):
        labels, predictions = _pair(labels, predictions)
        d = predictions - labels
        n = d.shape.ndims
        axes = list(range(1, n))
        count = cast(reduce_sum(ones_like(d), axes, keepdims=True), d.dtype)
        first = 2 * div_no_nan(reduce_sum(square(d), axes, keepdims=True), count - 1)
        total = reduce_sum(d, axes, keepdims=True)
        second = 2 * div_no_nan(square(total), count * (count - 1))
        loss = reduce_sum((first - second) * _weights(first, weights))
        mean = div_no_nan(loss, reduce_sum(cast(ones_like(first), d.dtype)))
        add_loss(mean, loss_collection)
        return mean


def sigmoid_cross_entropy(multi_class_labels, logits, weights=1.0, label_smoothing=0, scope=None,
                          loss_collection=GraphKeys.LOSSES, reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    with name_scope(scope, "sigmoid_cross_entropy_loss", [logits, multi_class_labels]) as scope:
        logits = convert_to_tensor(logits)
        labels = cast(convert_to_tensor(multi_class_labels), logits.dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def softmax_cross_entropy(onehot_labels, logits, weights=1.0, label_smoothing=0, scope=None,
                          loss_collection=GraphKeys.LOSSES, reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    with name_scope(scope, "softmax_cross_entropy_loss", [logits, onehot_labels]) as scope:
        logits = convert_to_tensor(logits)
        labels = cast(convert_to_tensor(onehot_labels), logits.dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            classes = cast(shape(labels)[-1], logits.dtype)
            labels = labels * (1.0 - label_smoothing) + label_smoothing / classes
        labels = stop_gradient(labels, name="labels_stop_gradient")
        losses = nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def sparse_softmax_cross_entropy(labels, logits, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
                                 reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    with name_scope(scope, "sparse_softmax_cross_entropy_loss", [logits, labels]) as scope:
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        n, m = labels.shape.ndims, logits.shape.ndims
        if n is not None and m is not None and n == m:
            labels = squeeze(labels, [-1])
        losses = nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)
