"""metrics — figures that add up over batches: update_state, result, reset_state. Their state is variables."""
import numpy as np

from .. import array_ops, math_ops
from ..convert import convert_to_tensor
from ..graph import init_scope
from ..ops_apply import apply
from ..variables import Variable
from . import losses
from .layer import snake, unique_name

_TINY = 1e-7


class Metric:
    """A figure over what update_state has seen since the last reset_state."""

    def __init__(self, name=None, dtype=None):
        self.name = name or unique_name(snake(type(self).__name__))
        self.dtype = dtype or "float32"
        self._variables = []

    def add_weight(self, shape=(), initializer="zeros", dtype=None, name=None, **ignored):
        """A variable of the metric, zero at first."""
        if isinstance(shape, str):
            shape, name = (), shape
        with init_scope():
            v = Variable(np.zeros(tuple(shape), dtype or np.float32), trainable=False, name=name or "metric")
        self._variables.append(v)
        return v

    add_variable = add_weight
    variables = weights = property(lambda self: list(self._variables))

    def reset_state(self):
        for v in self._variables:
            v.assign(np.zeros(tuple(v.shape), v.dtype.as_numpy_dtype))

    reset_states = reset_state

    def update_state(self, *args, **kwargs):
        raise NotImplementedError

    def result(self):
        raise NotImplementedError

    def __call__(self, *args, **kwargs):
        self.update_state(*args, **kwargs)
        return self.result()

    def get_config(self):
        return {"name": self.name}

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def __repr__(self):
        return "<%s name=%s>" % (type(self).__name__, self.name)


def _weighted(values, sample_weight):
    """(sum of the values, number of them), by weight."""
    values = math_ops.cast(convert_to_tensor(values), "float32")
    if sample_weight is None:
        return math_ops.reduce_sum(values), math_ops.cast(array_ops.size(values), "float32")
    weight = math_ops.cast(convert_to_tensor(sample_weight), "float32")
    weight, values = losses._like(weight, values)
    while values.shape.ndims > weight.shape.ndims:
        values = math_ops.reduce_mean(values, axis=-1)
    while weight.shape.ndims > values.shape.ndims and weight.shape[-1] == 1:
        weight = array_ops.squeeze(weight, -1)
    return math_ops.reduce_sum(values * weight), math_ops.reduce_sum(weight * array_ops.ones_like(values))


class Mean(Metric):
    def __init__(self, name="mean", dtype=None):
        super().__init__(name, dtype)
        self.total, self.count = self.add_weight(name="total"), self.add_weight(name="count")

    def update_state(self, values, sample_weight=None):
        total, count = _weighted(values, sample_weight)
        self.total.assign_add(total)
        self.count.assign_add(count)

    def result(self):
        return apply("DivNoNan", None, {"x": self.total, "y": self.count})


class Sum(Metric):
    def __init__(self, name="sum", dtype=None):
        super().__init__(name, dtype)
        self.total = self.add_weight(name="total")

    def update_state(self, values, sample_weight=None):
        self.total.assign_add(_weighted(values, sample_weight)[0])

    def result(self):
        return convert_to_tensor(self.total)


class MeanMetricWrapper(Mean):
    """The mean of a function of (y_true, y_pred)."""

    def __init__(self, fn, name=None, dtype=None, **kwargs):
        super().__init__(name or getattr(fn, "__name__", "metric"), dtype)
        self._fn, self._fn_kwargs = fn, kwargs

    def update_state(self, y_true, y_pred, sample_weight=None):
        mask = getattr(y_pred, "_keras_mask", None)
        values = self._fn(y_true, y_pred, **self._fn_kwargs)
        if mask is not None:
            mask = math_ops.cast(mask, "float32")
            sample_weight = mask if sample_weight is None else mask * math_ops.cast(sample_weight, "float32")
        super().update_state(values, sample_weight)

    def get_config(self):
        return dict(super().get_config(), **self._fn_kwargs)


def _class(class_name, function, default, *parameters):
    defaults = dict(parameters)

    def __init__(self, *args, **kwargs):
        values = dict(zip(list(defaults) if defaults and not (args and isinstance(args[0], str) and "name" not in defaults)
                          else ["name"], args))
        values.update(kwargs)
        name = values.pop("name", None) or default
        values.pop("dtype", None)
        unknown = set(values) - set(defaults)
        if unknown:
            raise TypeError("%s got unexpected arguments: %s" % (class_name, ", ".join(sorted(unknown))))
        MeanMetricWrapper.__init__(self, function, name, **dict(defaults, **values))
    return type(class_name, (MeanMetricWrapper,), {"__init__": __init__, "__module__": __name__})


# ---------------------------------------- accuracies

def _raw(y_true, y_pred):
    y_pred = convert_to_tensor(y_pred)
    y_true = convert_to_tensor(y_true)
    return losses._like(y_true, y_pred)


def accuracy(y_true, y_pred):
    y_true, y_pred = _raw(y_true, y_pred)
    return math_ops.cast(math_ops.equal(math_ops.cast(y_true, y_pred.dtype), y_pred), "float32")


def binary_accuracy(y_true, y_pred, threshold=0.5):
    y_true, y_pred = _raw(y_true, y_pred)
    hit = math_ops.equal(math_ops.cast(y_true, "float32"), math_ops.cast(y_pred > threshold, "float32"))
    return math_ops.reduce_mean(math_ops.cast(hit, "float32"), axis=-1)


def categorical_accuracy(y_true, y_pred):
    y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
    return math_ops.cast(math_ops.equal(math_ops.argmax(y_true, axis=-1), math_ops.argmax(y_pred, axis=-1)), "float32")


def sparse_categorical_accuracy(y_true, y_pred):
    y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
    if y_true.shape.ndims == y_pred.shape.ndims and y_true.shape[-1] == 1:
        y_true = array_ops.squeeze(y_true, -1)
    return math_ops.cast(math_ops.equal(math_ops.cast(y_true, "int64"), math_ops.argmax(y_pred, axis=-1)), "float32")


def sparse_top_k_categorical_accuracy(y_true, y_pred, k=5):
    y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
    if y_true.shape.ndims == y_pred.shape.ndims and y_true.shape[-1] == 1:
        y_true = array_ops.squeeze(y_true, -1)
    hit = apply("InTopKV2", None, {"predictions": array_ops.reshape(y_pred, [-1, y_pred.shape[-1]]),
                                   "targets": array_ops.reshape(math_ops.cast(y_true, "int32"), [-1]), "k": k})
    return array_ops.reshape(math_ops.cast(hit, "float32"), array_ops.shape(y_true))


def top_k_categorical_accuracy(y_true, y_pred, k=5):
    return sparse_top_k_categorical_accuracy(math_ops.argmax(convert_to_tensor(y_true), axis=-1), y_pred, k)


def _similarity(y_true, y_pred, axis=-1):
    return -losses.cosine_similarity(y_true, y_pred, axis)


Accuracy = _class("Accuracy", accuracy, "accuracy")
BinaryAccuracy = _class("BinaryAccuracy", binary_accuracy, "binary_accuracy", ("threshold", 0.5))
CategoricalAccuracy = _class("CategoricalAccuracy", categorical_accuracy, "categorical_accuracy")
SparseCategoricalAccuracy = _class("SparseCategoricalAccuracy", sparse_categorical_accuracy, "sparse_categorical_accuracy")
TopKCategoricalAccuracy = _class("TopKCategoricalAccuracy", top_k_categorical_accuracy, "top_k_categorical_accuracy", ("k", 5))
SparseTopKCategoricalAccuracy = _class("SparseTopKCategoricalAccuracy", sparse_top_k_categorical_accuracy,
                                       "sparse_top_k_categorical_accuracy", ("k", 5))
MeanSquaredError = _class("MeanSquaredError", losses.mean_squared_error, "mean_squared_error")
MeanAbsoluteError = _class("MeanAbsoluteError", losses.mean_absolute_error, "mean_absolute_error")
MeanAbsolutePercentageError = _class("MeanAbsolutePercentageError", losses.mean_absolute_percentage_error,
                                     "mean_absolute_percentage_error")
MeanSquaredLogarithmicError = _class("MeanSquaredLogarithmicError", losses.mean_squared_logarithmic_error,
                                     "mean_squared_logarithmic_error")
CosineSimilarity = _class("CosineSimilarity", _similarity, "cosine_similarity", ("axis", -1))
LogCoshError = _class("LogCoshError", losses.log_cosh, "logcosh")
KLDivergence = _class("KLDivergence", losses.kl_divergence, "kl_divergence")
Poisson = _class("Poisson", losses.poisson, "poisson")
Hinge = _class("Hinge", losses.hinge, "hinge")
SquaredHinge = _class("SquaredHinge", losses.squared_hinge, "squared_hinge")
CategoricalHinge = _class("CategoricalHinge", losses.categorical_hinge, "categorical_hinge")
_LOGITS, _SMOOTH = ("from_logits", False), ("label_smoothing", 0.0)
BinaryCrossentropy = _class("BinaryCrossentropy", losses.binary_crossentropy, "binary_crossentropy", _LOGITS, _SMOOTH)
CategoricalCrossentropy = _class("CategoricalCrossentropy", losses.categorical_crossentropy, "categorical_crossentropy",
                                 _LOGITS, _SMOOTH)
SparseCategoricalCrossentropy = _class("SparseCategoricalCrossentropy", losses.sparse_categorical_crossentropy,
                                       "sparse_categorical_crossentropy", _LOGITS)


class RootMeanSquaredError(Mean):
    def __init__(self, name="root_mean_squared_error", dtype=None):
        super().__init__(name, dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred = losses._like(*losses._pair(y_true, y_pred))
        super().update_state(math_ops.square(y_pred - y_true), sample_weight)

    def result(self):
        return math_ops.sqrt(super().result())


# ---------------------------------------- counts of yes and no

class _Counts(Metric):
    """True and false positives and negatives at thresholds, one column each."""

    def __init__(self, thresholds=None, top_k=None, class_id=None, name=None, dtype=None):
        super().__init__(name, dtype)
        if top_k is not None:
            raise NotImplementedError("top_k is not part of this metric")
        self.thresholds, self.class_id = thresholds, class_id
        self._at = [0.5] if thresholds is None else list(thresholds) if isinstance(thresholds, (list, tuple)) else [thresholds]
        n = len(self._at)
        self._tp, self._fp, self._tn, self._fn = [self.add_weight((n,), name=x) for x in ("tp", "fp", "tn", "fn")]

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred = losses._like(*losses._pair(y_true, y_pred))
        if self.class_id is not None:
            y_true, y_pred = y_true[..., self.class_id], y_pred[..., self.class_id]
        weight = array_ops.ones_like(y_pred)
        if sample_weight is not None:
            w = math_ops.cast(sample_weight, y_pred.dtype)
            while w.shape.ndims < y_pred.shape.ndims:
                w = array_ops.expand_dims(w, -1)
            weight = weight * w
        flat = lambda t: array_ops.reshape(t, [-1, 1])
        true = math_ops.cast(flat(y_true) > 0.5, "float32")
        said = math_ops.cast(flat(y_pred) > np.array([self._at], np.float32), "float32")
        weight = flat(math_ops.cast(weight, "float32"))
        for variable, both in ((self._tp, true * said), (self._fp, (1.0 - true) * said),
                               (self._tn, (1.0 - true) * (1.0 - said)), (self._fn, true * (1.0 - said))):
            variable.assign_add(math_ops.reduce_sum(both * weight, axis=0))

    def _one(self, x):
        return x[0] if len(self._at) == 1 else x

    def _ratio(self, a, b):
        return self._one(apply("DivNoNan", None, {"x": a, "y": a + b}))


class Precision(_Counts):
    def result(self):
        return self._ratio(convert_to_tensor(self._tp), convert_to_tensor(self._fp))


class Recall(_Counts):
    def result(self):
        return self._ratio(convert_to_tensor(self._tp), convert_to_tensor(self._fn))


class TruePositives(_Counts):
    def result(self):
        return self._one(convert_to_tensor(self._tp))


class FalsePositives(_Counts):
    def result(self):
        return self._one(convert_to_tensor(self._fp))


class TrueNegatives(_Counts):
    def result(self):
        return self._one(convert_to_tensor(self._tn))


class FalseNegatives(_Counts):
    def result(self):
        return self._one(convert_to_tensor(self._fn))


class AUC(_Counts):
    """The area under the curve of true against false positives ("ROC"), by the trapezoids of num_thresholds points."""

    def __init__(self, num_thresholds=200, curve="ROC", summation_method="interpolation", name=None, dtype=None,
                 from_logits=False, **ignored):
        if curve != "ROC" or summation_method != "interpolation":
            raise NotImplementedError("AUC is of the ROC curve, by interpolation, here")
        inner = [(i + 1) * 1.0 / (num_thresholds - 1) for i in range(num_thresholds - 2)]
        super().__init__([0.0 - _TINY] + inner + [1.0 + _TINY], name=name, dtype=dtype)
        self.num_thresholds, self.from_logits = num_thresholds, from_logits

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_pred = math_ops.sigmoid(convert_to_tensor(y_pred)) if self.from_logits else y_pred
        super().update_state(y_true, y_pred, sample_weight)

    def result(self):
        ratio = lambda a, b: apply("DivNoNan", None, {"x": a, "y": a + b})
        tp, fp = convert_to_tensor(self._tp), convert_to_tensor(self._fp)
        recall, false = ratio(tp, convert_to_tensor(self._fn)), ratio(fp, convert_to_tensor(self._tn))
        return math_ops.reduce_sum((false[:-1] - false[1:]) * (recall[:-1] + recall[1:]) / 2.0)


class MeanIoU(Metric):
    """The mean over classes of intersection over union."""

    def __init__(self, num_classes, name=None, dtype=None):
        super().__init__(name, dtype)
        self.num_classes = num_classes
        self._table = self.add_weight((num_classes, num_classes), name="confusion")

    def update_state(self, y_true, y_pred, sample_weight=None):
        flat = lambda t: array_ops.reshape(math_ops.cast(convert_to_tensor(t), "int32"), [-1])
        n = self.num_classes
        rows, columns = array_ops.one_hot(flat(y_true), n), array_ops.one_hot(flat(y_pred), n)
        if sample_weight is not None:
            rows = rows * array_ops.reshape(math_ops.cast(sample_weight, "float32"), [-1, 1])
        self._table.assign_add(math_ops.matmul(rows, columns, transpose_a=True))

    def result(self):
        table = convert_to_tensor(self._table)
        hit = array_ops.matrix_diag_part(table)
        union = math_ops.reduce_sum(table, 0) + math_ops.reduce_sum(table, 1) - hit
        seen = math_ops.cast(union > 0, "float32")
        return math_ops.reduce_sum(apply("DivNoNan", None, {"x": hit, "y": union})) / math_ops.reduce_sum(seen)


_BY_NAME = {}
for _value in list(globals().values()):
    if isinstance(_value, type) and issubclass(_value, Metric) and not _value.__name__.startswith("_"):
        _BY_NAME[_value.__name__] = _BY_NAME[snake(_value.__name__)] = _value
_BY_NAME.update(mse=MeanSquaredError, MSE=MeanSquaredError, mae=MeanAbsoluteError, MAE=MeanAbsoluteError, auc=AUC,
                mape=MeanAbsolutePercentageError, msle=MeanSquaredLogarithmicError, cosine_similarity=CosineSimilarity)


def get(identifier, y_shape=None, pred_shape=None):
    """A Metric from its name, a function, or itself; "accuracy" becomes the one that fits the shapes."""
    if isinstance(identifier, Metric):
        return identifier
    if isinstance(identifier, type):
        return identifier()
    if isinstance(identifier, dict):
        return _BY_NAME[identifier["class_name"]].from_config(identifier.get("config", {}))
    if isinstance(identifier, str):
        if identifier in ("accuracy", "acc", "crossentropy", "ce"):
            return _fitting(identifier, y_shape, pred_shape)
        if identifier in _BY_NAME:
            made = _BY_NAME[identifier]()
            made.name = identifier
            return made
        raise ValueError("Could not interpret metric identifier: %s" % identifier)
    if callable(identifier):
        return MeanMetricWrapper(identifier, getattr(identifier, "__name__", "metric"))
    raise ValueError("Could not interpret metric identifier: %s" % (identifier,))


def _fitting(name, y_shape, pred_shape):
    is_accuracy = name in ("accuracy", "acc")
    y_shape, pred_shape = tuple(y_shape or ()), tuple(pred_shape or ())
    if not pred_shape or pred_shape[-1] == 1:
        kind = BinaryAccuracy if is_accuracy else BinaryCrossentropy
    elif len(y_shape) < len(pred_shape) or y_shape[-1] == 1 and pred_shape[-1] != 1:
        kind = SparseCategoricalAccuracy if is_accuracy else SparseCategoricalCrossentropy
    else:
        kind = CategoricalAccuracy if is_accuracy else CategoricalCrossentropy
    return kind(name=name)
