"""losses — how far predictions are from what is true: functions of one value per example, and classes that reduce them."""
import numpy as np

from .. import array_ops, math_ops, nn
from ..convert import convert_to_tensor
from ..graph import Tensor
from .layer import snake

_TINY = 1e-7


def _pair(y_true, y_pred):
    y_pred = convert_to_tensor(y_pred)
    y_true = y_true if isinstance(y_true, Tensor) else convert_to_tensor(np.asarray(y_true))
    return math_ops.cast(y_true, y_pred.dtype), y_pred


def _like(y_true, y_pred):
    """Both of one rank: a last dimension of 1 comes or goes."""
    a, b = y_true.shape.ndims, y_pred.shape.ndims
    if a is not None and b is not None:
        if a == b + 1 and y_true.shape[-1] == 1:
            y_true = array_ops.squeeze(y_true, -1)
        elif b == a + 1 and y_pred.shape[-1] == 1:
            y_pred = array_ops.squeeze(y_pred, -1)
    return y_true, y_pred


def _mean(x):
    return math_ops.reduce_mean(x, axis=-1)


def mean_squared_error(y_true, y_pred):
    y_true, y_pred = _like(*_pair(y_true, y_pred))
    return _mean(math_ops.square(y_pred - y_true))


def mean_absolute_error(y_true, y_pred):
    y_true, y_pred = _like(*_pair(y_true, y_pred))
    return _mean(math_ops.abs(y_pred - y_true))


def mean_absolute_percentage_error(y_true, y_pred):
    y_true, y_pred = _like(*_pair(y_true, y_pred))
    return 100.0 * _mean(math_ops.abs((y_true - y_pred) / math_ops.maximum(math_ops.abs(y_true), _TINY)))


def mean_squared_logarithmic_error(y_true, y_pred):
    y_true, y_pred = _like(*_pair(y_true, y_pred))
    log = lambda x: math_ops.log(math_ops.maximum(x, _TINY) + 1.0)
    return _mean(math_ops.square(log(y_pred) - log(y_true)))


def huber(y_true, y_pred, delta=1.0):
    y_true, y_pred = _like(*_pair(y_true, y_pred))
    error = math_ops.abs(y_pred - y_true)
    return _mean(array_ops.where_v2(error <= delta, 0.5 * math_ops.square(error), delta * error - 0.5 * delta * delta))


def log_cosh(y_true, y_pred):
    y_true, y_pred = _like(*_pair(y_true, y_pred))
    from .activations import softplus
    x = y_pred - y_true
    return _mean(x + softplus(-2.0 * x) - float(np.log(2.0)))


def _signs(y_true):
    """-1 and 1 of labels that are 0 and 1."""
    zero_one = math_ops.reduce_all(math_ops.logical_or(math_ops.equal(y_true, 0.0), math_ops.equal(y_true, 1.0))) \
        if hasattr(math_ops, "logical_or") else None
    if zero_one is None:
        from ..ops_apply import apply
        either = apply("LogicalOr", None, {"x": math_ops.equal(y_true, 0.0), "y": math_ops.equal(y_true, 1.0)})
        zero_one = math_ops.reduce_all(either)
    return array_ops.where_v2(zero_one, 2.0 * y_true - 1.0, y_true)


def hinge(y_true, y_pred):
    y_true, y_pred = _pair(y_true, y_pred)
    return _mean(math_ops.maximum(1.0 - _signs(y_true) * y_pred, 0.0))


def squared_hinge(y_true, y_pred):
    y_true, y_pred = _pair(y_true, y_pred)
    return _mean(math_ops.square(math_ops.maximum(1.0 - _signs(y_true) * y_pred, 0.0)))


def categorical_hinge(y_true, y_pred):
    y_true, y_pred = _pair(y_true, y_pred)
    right = math_ops.reduce_sum(y_true * y_pred, axis=-1)
    wrong = math_ops.reduce_max((1.0 - y_true) * y_pred, axis=-1)
    return math_ops.maximum(wrong - right + 1.0, 0.0)


def kl_divergence(y_true, y_pred):
    y_true, y_pred = _pair(y_true, y_pred)
    y_true, y_pred = math_ops.clip_by_value(y_true, _TINY, 1.0), math_ops.clip_by_value(y_pred, _TINY, 1.0)
    return math_ops.reduce_sum(y_true * math_ops.log(y_true / y_pred), axis=-1)


def poisson(y_true, y_pred):
    y_true, y_pred = _pair(y_true, y_pred)
    return _mean(y_pred - y_true * math_ops.log(y_pred + _TINY))


def cosine_similarity(y_true, y_pred, axis=-1):
    y_true, y_pred = _like(*_pair(y_true, y_pred))
    return -math_ops.reduce_sum(nn.l2_normalize(y_true, axis) * nn.l2_normalize(y_pred, axis), axis=axis)


def binary_crossentropy(y_true, y_pred, from_logits=False, label_smoothing=0.0, axis=-1):
    y_true, y_pred = _like(*_pair(y_true, y_pred))
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + 0.5 * label_smoothing
    if from_logits:
        each = nn.sigmoid_cross_entropy_with_logits(labels=y_true, logits=y_pred)
    else:
        p = math_ops.clip_by_value(y_pred, _TINY, 1.0 - _TINY)
        each = -(y_true * math_ops.log(p) + (1.0 - y_true) * math_ops.log(1.0 - p))
    return math_ops.reduce_mean(each, axis=axis)


def categorical_crossentropy(y_true, y_pred, from_logits=False, label_smoothing=0.0, axis=-1):
    y_true, y_pred = _pair(y_true, y_pred)
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + label_smoothing / y_pred.shape[axis]
    if from_logits:
        return nn.softmax_cross_entropy_with_logits_v2(labels=y_true, logits=y_pred, axis=axis)
    p = y_pred / math_ops.reduce_sum(y_pred, axis, True)
    return -math_ops.reduce_sum(y_true * math_ops.log(math_ops.clip_by_value(p, _TINY, 1.0 - _TINY)), axis=axis)


def sparse_categorical_crossentropy(y_true, y_pred, from_logits=False, ignore_class=None, axis=-1):
    """Of labels that are the numbers of classes."""
    y_pred = convert_to_tensor(y_pred)
    y_true = math_ops.cast(y_true if isinstance(y_true, Tensor) else convert_to_tensor(np.asarray(y_true)), "int64")
    if y_true.shape.ndims == y_pred.shape.ndims and y_true.shape[-1] == 1:
        y_true = array_ops.squeeze(y_true, -1)
    counted = None
    if ignore_class is not None:
        counted = math_ops.not_equal(y_true, convert_to_tensor(ignore_class, "int64"))
        y_true = array_ops.where_v2(counted, y_true, array_ops.zeros_like(y_true))
    if from_logits:
        logits = y_pred
    else:
        p = y_pred / math_ops.reduce_sum(y_pred, axis, True)
        logits = math_ops.log(math_ops.clip_by_value(p, _TINY, 1.0 - _TINY))
    if from_logits:
        each = nn.sparse_softmax_cross_entropy_with_logits(labels=y_true, logits=logits)
    else:
        hot = array_ops.one_hot(y_true, y_pred.shape[axis], dtype=logits.dtype)
        each = -math_ops.reduce_sum(hot * logits, axis=axis)
    return each if counted is None else array_ops.where_v2(counted, each, array_ops.zeros_like(each))


def binary_focal_crossentropy(y_true, y_pred, apply_class_balancing=False, alpha=0.25, gamma=2.0, from_logits=False,
                              label_smoothing=0.0, axis=-1):
    y_true, y_pred = _like(*_pair(y_true, y_pred))
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + 0.5 * label_smoothing
    p = math_ops.sigmoid(y_pred) if from_logits else y_pred
    clipped = math_ops.clip_by_value(p, _TINY, 1.0 - _TINY)
    each = -(y_true * math_ops.log(clipped) + (1.0 - y_true) * math_ops.log(1.0 - clipped))
    right = y_true * p + (1.0 - y_true) * (1.0 - p)
    each = math_ops.pow(1.0 - right, gamma) * each
    if apply_class_balancing:
        each = (y_true * alpha + (1.0 - y_true) * (1.0 - alpha)) * each
    return math_ops.reduce_mean(each, axis=axis)


# ---------------------------------------- classes

def reduced(values, sample_weight, reduction):
    """Values of examples as the reduction says: sum_over_batch_size, sum, mean_with_sample_weight or none."""
    if sample_weight is not None:
        weight = math_ops.cast(sample_weight, values.dtype)
        weight, values = _like(weight, values)
        while weight.shape.ndims < values.shape.ndims:
            weight = array_ops.expand_dims(weight, -1)
        values = values * weight
    if reduction in (None, "none"):
        return values
    total = math_ops.reduce_sum(values)
    if reduction == "sum":
        return total
    if reduction == "mean_with_sample_weight" and sample_weight is not None:
        return total / math_ops.maximum(math_ops.reduce_sum(weight * array_ops.ones_like(values)), _TINY)
    return total / math_ops.cast(array_ops.size(values), values.dtype)


class Loss:
    """Called with (y_true, y_pred, sample_weight) it gives a scalar. A subclass computes a value for each example in `call`."""

    def __init__(self, name=None, reduction="sum_over_batch_size", dtype=None):
        if reduction not in ("sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", "none", None, "auto"):
            raise ValueError("Invalid value for argument `reduction`. Received: reduction=%s" % reduction)
        self.name, self.reduction = name or snake(type(self).__name__), "sum_over_batch_size" if reduction in (
            "auto", "mean") else reduction

    def call(self, y_true, y_pred):
        raise NotImplementedError

    def __call__(self, y_true, y_pred, sample_weight=None):
        values = convert_to_tensor(self.call(y_true, y_pred))
        mask = getattr(y_pred, "_keras_mask", None)
        if mask is not None:
            mask = math_ops.cast(mask, values.dtype)
            # Only what the mask leaves counts.
            scale = math_ops.cast(array_ops.size(mask), values.dtype) / (math_ops.reduce_sum(mask) + _TINY)
            weight = mask * scale
            sample_weight = weight if sample_weight is None else weight * _widened(
                math_ops.cast(sample_weight, values.dtype), weight)
        return reduced(values, sample_weight, self.reduction)

    def get_config(self):
        return {"name": self.name, "reduction": self.reduction}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


def _widened(x, like):
    while x.shape.ndims < like.shape.ndims:
        x = array_ops.expand_dims(x, -1)
    return x


class LossFunctionWrapper(Loss):
    """A function of (y_true, y_pred) as a Loss."""

    def __init__(self, fn, reduction="sum_over_batch_size", name=None, dtype=None, **kwargs):
        super().__init__(name, reduction, dtype)
        self.fn, self.fn_kwargs = fn, kwargs

    def call(self, y_true, y_pred):
        return self.fn(y_true, y_pred, **self.fn_kwargs)

    def get_config(self):
        return dict(super().get_config(), **self.fn_kwargs)


def _class(name, function, *parameters):
    """The class of a function; `parameters` are those of the function, with their defaults."""
    defaults = dict(parameters)

    def __init__(self, *args, **kwargs):
        values = dict(defaults)
        values.update(zip(list(defaults) + ["reduction", "name"], args))
        given = {k: kwargs.pop(k) for k in list(kwargs) if k in defaults}
        values.update(given)
        reduction = kwargs.pop("reduction", values.pop("reduction", "sum_over_batch_size"))
        title = kwargs.pop("name", values.pop("name", None)) or function.__name__
        kwargs.pop("dtype", None)
        if kwargs:
            raise TypeError("%s got unexpected arguments: %s" % (name, ", ".join(kwargs)))
        LossFunctionWrapper.__init__(self, function, reduction, title, **values)
    return type(name, (LossFunctionWrapper,), {"__init__": __init__, "__module__": __name__, "__doc__": function.__doc__})


_LOGITS, _SMOOTH, _AXIS = ("from_logits", False), ("label_smoothing", 0.0), ("axis", -1)
MeanSquaredError = _class("MeanSquaredError", mean_squared_error)
MeanAbsoluteError = _class("MeanAbsoluteError", mean_absolute_error)
MeanAbsolutePercentageError = _class("MeanAbsolutePercentageError", mean_absolute_percentage_error)
MeanSquaredLogarithmicError = _class("MeanSquaredLogarithmicError", mean_squared_logarithmic_error)
Huber = _class("Huber", huber, ("delta", 1.0))
LogCosh = _class("LogCosh", log_cosh)
Hinge, SquaredHinge = _class("Hinge", hinge), _class("SquaredHinge", squared_hinge)
CategoricalHinge = _class("CategoricalHinge", categorical_hinge)
KLDivergence, Poisson = _class("KLDivergence", kl_divergence), _class("Poisson", poisson)
CosineSimilarity = _class("CosineSimilarity", cosine_similarity, _AXIS)
BinaryCrossentropy = _class("BinaryCrossentropy", binary_crossentropy, _LOGITS, _SMOOTH, _AXIS)
CategoricalCrossentropy = _class("CategoricalCrossentropy", categorical_crossentropy, _LOGITS, _SMOOTH, _AXIS)
SparseCategoricalCrossentropy = _class("SparseCategoricalCrossentropy", sparse_categorical_crossentropy, _LOGITS,
                                       ("ignore_class", None))
BinaryFocalCrossentropy = _class("BinaryFocalCrossentropy", binary_focal_crossentropy, ("apply_class_balancing", False),
                                 ("alpha", 0.25), ("gamma", 2.0), _LOGITS, _SMOOTH, _AXIS)
MSE = mse = mean_squared_error
MAE = mae = mean_absolute_error
MAPE = mape = mean_absolute_percentage_error
MSLE = msle = mean_squared_logarithmic_error
KLD = kld = kl_divergence
_CLASSES = [c for c in list(globals().values()) if isinstance(c, type) and issubclass(c, LossFunctionWrapper) and
            c is not LossFunctionWrapper]
_BY_NAME = {snake(c.__name__): c for c in _CLASSES}
_BY_NAME.update({c.__name__: c for c in _CLASSES})
_BY_NAME.update(mse=MeanSquaredError, MSE=MeanSquaredError, mae=MeanAbsoluteError, MAE=MeanAbsoluteError,
                mape=MeanAbsolutePercentageError, msle=MeanSquaredLogarithmicError, kld=KLDivergence, huber_loss=Huber,
                kl_divergence=KLDivergence, logcosh=LogCosh, log_cosh=LogCosh)


def get(identifier):
    """A Loss from its name, its configuration, a function, or itself."""
    if identifier is None or isinstance(identifier, Loss):
        return identifier
    if isinstance(identifier, str):
        if identifier not in _BY_NAME:
            raise ValueError("Could not interpret loss identifier: %s" % identifier)
        return _BY_NAME[identifier]()
    if isinstance(identifier, dict):
        return _BY_NAME[identifier["class_name"]].from_config(identifier.get("config", {}))
    if callable(identifier):
        return LossFunctionWrapper(identifier, name=getattr(identifier, "__name__", "loss"))
    raise ValueError("Could not interpret loss identifier: %s" % (identifier,))
