"""metrics — tf.metrics: (value, update operation) over all batches so far, in local variables."""
import functools

from . import dtypes, variable_scope, variables
import millrace.nn as nn
from .array_ops import (expand_dims, ones, one_hot, reshape, shape as shape_of, size, squeeze, tile, where, zeros, ones_like)
from .constant import constant
from .control_flow import with_dependencies
from .convert import convert_to_tensor
from .graph import GraphKeys, add_to_collections, control_dependencies, name_scope
from .indexed import SparseTensor
from .math_ops import abs as abs_, cast, div_no_nan, reduce_any, reduce_mean, reduce_sum, sqrt, square
from .ops_apply import apply
from .weights import broadcast_weights

__all__ = ["metric_variable", "mean", "accuracy", "mean_tensor", "auc", "mean_absolute_error", "mean_cosine_distance",
           "mean_per_class_accuracy", "mean_iou", "mean_relative_error", "mean_squared_error", "root_mean_squared_error",
           "precision", "recall", "true_positives", "true_negatives", "false_positives", "false_negatives",
           "true_positives_at_thresholds", "true_negatives_at_thresholds", "false_positives_at_thresholds",
           "false_negatives_at_thresholds", "precision_at_thresholds", "recall_at_thresholds", "percentage_below",
           "sensitivity_at_specificity", "specificity_at_sensitivity", "recall_at_k", "precision_at_k",
           "recall_at_top_k", "precision_at_top_k", "average_precision_at_k"]


def metric_variable(shape, dtype, validate_shape=True, name=None):
    """A local variable that begins with zeros."""
    return variable_scope.variable(lambda: zeros(shape, dtype), trainable=False, validate_shape=validate_shape, name=name,
                                   collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES])


def _result(value, update, metrics_collections, updates_collections):
    if metrics_collections:
        add_to_collections(metrics_collections, value)
    if updates_collections:
        add_to_collections(updates_collections, update)
    return value, update


def _metric(default):
    """A decorator: the function gives (value, update) inside of its variable scope; collections are seen to here."""
    def decorate(function):
        @functools.wraps(function)
        def metric(*args, metrics_collections=None, updates_collections=None, name=None, **kwargs):
            with variable_scope.variable_scope(name, default):
                value, update = function(*args, **kwargs)
                return _result(value, update, metrics_collections, updates_collections)
        return metric
    return decorate


def _safe_div(a, b, name=None):
    a, b = convert_to_tensor(a), convert_to_tensor(b)
    return div_no_nan(a, cast(b, a.dtype.base_dtype), name=name)


def _remove_squeezable_dimensions(predictions, labels, weights=None, expected_rank_diff=0):
    """Labels and predictions of the same rank: a last dimension of one goes."""
    predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
    p, l = predictions.shape.ndims, labels.shape.ndims
    if p is not None and l is not None:
        if p - l == expected_rank_diff + 1:
            predictions = squeeze(predictions, [-1])
        elif p - l == expected_rank_diff - 1:
            labels = squeeze(labels, [-1])
    if weights is None:
        return predictions, labels, None
    weights = convert_to_tensor(weights)
    w, p = weights.shape.ndims, predictions.shape.ndims
    if w and p is not None:
        if w - p == 1:
            weights = squeeze(weights, [-1])
        elif p - w == 1:
            weights = expand_dims(weights, [-1])
    return predictions, labels, weights


def _aligned(labels, predictions, weights):
    predictions, labels, weights = _remove_squeezable_dimensions(predictions, labels, weights)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return labels, predictions, weights


def _add(variable, delta, controls=()):
    with control_dependencies(list(controls)):
        return variables.assign_add(variable, delta)


def remove_squeezable_dimensions(labels, predictions, expected_rank_diff=0, name=None):
    """(labels, predictions) of the same rank."""
    predictions, labels, _ = _remove_squeezable_dimensions(predictions, labels, None, expected_rank_diff)
    return labels, predictions


# ---------------------------------------- means

def mean(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """The weighted mean.

    >>> value, update = tf.metrics.mean([1.0, 3.0])
    >>> with tf.Session() as s:
    ...     s.run(tf.local_variables_initializer()); s.run(update)
    2.0
    """
    with variable_scope.variable_scope(name, "mean", (values, weights)):
        values = cast(values, dtypes.float32)
        total, count = metric_variable([], dtypes.float32, name="total"), metric_variable([], dtypes.float32, name="count")
        if weights is None:
            number = cast(size(values), dtypes.float32)
        else:
            values, _, weights = _remove_squeezable_dimensions(values, values, weights)
            weights = broadcast_weights(cast(weights, dtypes.float32), values)
            values, number = values * weights, reduce_sum(weights)
        update_total = _add(total, reduce_sum(values))
        update_count = _add(count, number, [values.op])
        return _result(_safe_div(total, count, "value"), _safe_div(update_total, update_count, "update_op"),
                       metrics_collections, updates_collections)


def accuracy(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """How often predictions are the labels."""
    labels, predictions, weights = _aligned(labels, predictions, weights)
    if labels.dtype != predictions.dtype:
        predictions = cast(predictions, labels.dtype)
    right = cast(apply("Equal", None, {"x": predictions, "y": labels}), dtypes.float32)
    return mean(right, weights, metrics_collections, updates_collections, name or "accuracy")


def mean_tensor(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """The mean of each element."""
    with variable_scope.variable_scope(name, "mean", (values, weights)):
        values = cast(values, dtypes.float32)
        total = metric_variable(values.shape, dtypes.float32, name="total_tensor")
        count = metric_variable(values.shape, dtypes.float32, name="count_tensor")
        number = ones_like(values)
        if weights is not None:
            values, _, weights = _remove_squeezable_dimensions(values, values, weights)
            weights = broadcast_weights(cast(weights, dtypes.float32), values)
            values, number = values * weights, number * weights
        update_total, update_count = _add(total, values), _add(count, number, [values.op])
        return _result(_safe_div(total, count, "value"), _safe_div(update_total, update_count, "update_op"),
                       metrics_collections, updates_collections)


def _of_errors(default, error):
    def metric(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
        labels, predictions, weights = _aligned(labels, predictions, weights)
        labels = cast(labels, predictions.dtype)
        return mean(error(labels, predictions), weights, metrics_collections, updates_collections, name or default)
    metric.__name__ = default
    return metric


mean_absolute_error = _of_errors("mean_absolute_error", lambda y, p: abs_(p - y))
mean_squared_error = _of_errors("mean_squared_error", lambda y, p: square(p - y))


def mean_relative_error(labels, predictions, normalizer, weights=None, metrics_collections=None, updates_collections=None,
                        name=None):
    labels, predictions, weights = _aligned(labels, predictions, weights)
    normalizer = cast(normalizer, predictions.dtype)
    predictions.shape.assert_is_compatible_with(normalizer.shape)
    distance = abs_(cast(labels, predictions.dtype) - predictions)
    relative = div_no_nan(distance, normalizer)
    return mean(relative, weights, metrics_collections, updates_collections, name or "mean_relative_error")


def root_mean_squared_error(labels, predictions, weights=None, metrics_collections=None, updates_collections=None,
                            name=None):
    value, update = mean_squared_error(labels, predictions, weights, name=name or "root_mean_squared_error")
    return _result(sqrt(value), sqrt(update), metrics_collections, updates_collections)


def mean_cosine_distance(labels, predictions, dim, weights=None, metrics_collections=None, updates_collections=None,
                         name=None):
    labels, predictions, weights = _aligned(labels, predictions, weights)
    radial = reduce_sum(cast(labels, predictions.dtype) * predictions, axis=[dim], keepdims=True)
    value, update = mean(radial, weights, name=name or "mean_cosine_distance")
    return _result(1 - value, 1 - update, metrics_collections, updates_collections)


def percentage_below(values, threshold, weights=None, metrics_collections=None, updates_collections=None, name=None):
    below = cast(apply("Less", None, {"x": values, "y": threshold}), dtypes.float32)
    return mean(below, weights, metrics_collections, updates_collections, name or "percentage_below_threshold")


# ---------------------------------------- classes

def confusion_matrix(labels, predictions, num_classes=None, dtype=dtypes.int32, name=None, weights=None):
    """How often each label (row) was predicted as each class (column)."""
    with name_scope(name, "confusion_matrix", [labels, predictions]):
        predictions, labels, _ = _remove_squeezable_dimensions(predictions, labels)
        predictions, labels = cast(predictions, dtypes.int64), cast(labels, dtypes.int64)
        from .checks import assert_less, assert_non_negative
        labels = with_dependencies([assert_non_negative(labels, message="`labels` contains negative values")], labels)
        predictions = with_dependencies([assert_non_negative(
            predictions, message="`predictions` contains negative values")], predictions)
        if num_classes is None:
            from .math_ops import maximum, reduce_max
            num_classes = maximum(reduce_max(predictions), reduce_max(labels)) + 1
        else:
            n64 = cast(num_classes, dtypes.int64)
            labels = with_dependencies([assert_less(labels, n64, message="`labels` out of bound")], labels)
            predictions = with_dependencies([assert_less(predictions, n64, message="`predictions` out of bound")],
                                            predictions)
        from .array_ops import stack
        n = cast(num_classes, dtypes.int64)
        values = ones_like(predictions, dtype=dtype) if weights is None else cast(weights, dtype)
        pairs = stack([labels, predictions], axis=1)
        found = apply("ScatterNd", None, {"indices": pairs, "updates": values, "shape": stack([n, n])})
        from .constant import constant_value
        static = constant_value(n)
        if static is not None:
            found.set_shape([int(static), int(static)])
        return found


def _streaming_confusion_matrix(labels, predictions, num_classes, weights=None):
    total = metric_variable([num_classes, num_classes], dtypes.float64, name="total_confusion_matrix")
    flat = lambda t: reshape(cast(t, dtypes.int64), [-1]) if convert_to_tensor(t).shape.ndims != 1 else cast(
        t, dtypes.int64)
    labels, predictions = flat(labels), flat(predictions)
    if weights is not None:
        weights = reshape(convert_to_tensor(weights), [-1])
    current = confusion_matrix(labels, predictions, num_classes, weights=weights, dtype=dtypes.float64)
    return total, variables.assign_add(total, current)


@_metric("mean_iou")
def mean_iou(labels, predictions, num_classes, weights=None):
    """The mean over classes of intersection over union."""
    total, update = _streaming_confusion_matrix(labels, predictions, num_classes, weights)
    rows, columns = cast(reduce_sum(total, 1), dtypes.float32), cast(reduce_sum(total, 0), dtypes.float32)
    diagonal = cast(apply("MatrixDiagPart", None, {"input": convert_to_tensor(total)}), dtypes.float32)
    union = rows + columns - diagonal
    valid = reduce_sum(cast(apply("NotEqual", None, {"x": union, "y": constant(0.0)}), dtypes.float32))
    union = where(union > 0, union, ones_like(union))
    value = where(valid > 0, reduce_sum(diagonal / union) / valid, constant(0.0), name="mean_iou")
    return value, update


@_metric("mean_accuracy")
def mean_per_class_accuracy(labels, predictions, num_classes, weights=None):
    """The mean over classes of how often a label was found."""
    labels, predictions = reshape(cast(labels, dtypes.int64), [-1]), reshape(cast(predictions, dtypes.int64), [-1])
    total = metric_variable([num_classes], dtypes.float32, name="total")
    count = metric_variable([num_classes], dtypes.float32, name="count")
    number = ones_like(labels, dtype=dtypes.float32)
    right = cast(apply("Equal", None, {"x": labels, "y": predictions}), dtypes.float32)
    if weights is not None:
        weights = reshape(cast(weights, dtypes.float32), [-1])
        number, right = number * weights, right * weights
    add = lambda v, d: variables.scatter_add(v, labels, d)
    update_total, update_count = add(total, number), add(count, right)
    value = reduce_mean(_safe_div(count, total), name="mean_accuracy")
    return value, _safe_div(update_count, update_total, "update_op")


def _count(name, labels, predictions, weights, positive_label, positive_prediction):
    labels, predictions, weights = _aligned(cast(labels, dtypes.bool), cast(predictions, dtypes.bool), weights)
    pick = lambda t, yes: t if yes else apply("LogicalNot", None, {"x": t})
    hits = cast(apply("LogicalAnd", None, {"x": pick(labels, positive_label),
                                           "y": pick(predictions, positive_prediction)}), dtypes.float32)
    count = metric_variable([], dtypes.float32, name="count")
    if weights is not None:
        hits = hits * broadcast_weights(cast(weights, dtypes.float32), hits)
    return convert_to_tensor(count), variables.assign_add(count, reduce_sum(hits))


def _counter(default, positive_label, positive_prediction):
    @_metric(default)
    def counter(labels, predictions, weights=None):
        return _count(default, labels, predictions, weights, positive_label, positive_prediction)
    return counter


true_positives, true_negatives = _counter("true_positives", True, True), _counter("true_negatives", False, False)
false_positives, false_negatives = _counter("false_positives", False, True), _counter("false_negatives", True, False)


@_metric("precision")
def precision(labels, predictions, weights=None):
    """Of what was predicted true, how much is."""
    hit, update_hit = true_positives(labels, predictions, weights)
    wrong, update_wrong = false_positives(labels, predictions, weights)
    return div_no_nan(hit, hit + wrong, name="value"), div_no_nan(update_hit, update_hit + update_wrong, name="update_op")


@_metric("recall")
def recall(labels, predictions, weights=None):
    """Of what is true, how much was predicted."""
    hit, update_hit = true_positives(labels, predictions, weights)
    lost, update_lost = false_negatives(labels, predictions, weights)
    return div_no_nan(hit, hit + lost, name="value"), div_no_nan(update_hit, update_hit + update_lost, name="update_op")


# ---------------------------------------- thresholds

def _confusion_matrix_at_thresholds(labels, predictions, thresholds, weights=None, includes=("tp", "fn", "tn", "fp")):
    """({kind: values}, {kind: updates}) for each threshold."""
    labels, predictions, weights = _aligned(cast(labels, dtypes.bool), cast(predictions, dtypes.float32), weights)
    n = len(thresholds)
    flat_p, flat_l = reshape(predictions, [1, -1]), reshape(labels, [1, -1])
    limits = tile(expand_dims(constant(thresholds, dtypes.float32), [1]), [1, size(flat_p)])
    yes = tile(flat_p, [n, 1]) > limits
    true = tile(flat_l, [n, 1])
    no = lambda t: apply("LogicalNot", None, {"x": t})
    if weights is not None:
        weights = tile(reshape(broadcast_weights(cast(weights, dtypes.float32), predictions), [1, -1]), [n, 1])
    names = {"tp": ("true_positives", true, yes), "fn": ("false_negatives", true, no(yes)),
             "tn": ("true_negatives", no(true), no(yes)), "fp": ("false_positives", no(true), yes)}
    values, updates = {}, {}
    for key in includes:
        name, a, b = names[key]
        hits = cast(apply("LogicalAnd", None, {"x": a, "y": b}), dtypes.float32)
        hits = hits * weights if weights is not None else hits
        total = metric_variable([n], dtypes.float32, name=name)
        values[key], updates[key] = convert_to_tensor(total), variables.assign_add(total, reduce_sum(hits, 1))
    return values, updates


def _at_thresholds(default, key):
    @_metric(default)
    def metric(labels, predictions, thresholds, weights=None):
        values, updates = _confusion_matrix_at_thresholds(labels, predictions, thresholds, weights, (key,))
        return values[key], updates[key]
    return metric


true_positives_at_thresholds = _at_thresholds("true_positives", "tp")
true_negatives_at_thresholds = _at_thresholds("true_negatives", "tn")
false_positives_at_thresholds = _at_thresholds("false_positives", "fp")
false_negatives_at_thresholds = _at_thresholds("false_negatives", "fn")


def _ratio_at_thresholds(default, other):
    @_metric(default)
    def metric(labels, predictions, thresholds, weights=None):
        values, updates = _confusion_matrix_at_thresholds(labels, predictions, thresholds, weights, ("tp", other))
        ratio = lambda d, name: d["tp"] / (1e-7 + d["tp"] + d[other])
        return ratio(values, "value"), ratio(updates, "update_op")
    return metric


precision_at_thresholds = _ratio_at_thresholds("precision_at_thresholds", "fp")
recall_at_thresholds = _ratio_at_thresholds("recall_at_thresholds", "fn")


def _thresholds(n):
    return [-1e-7] + [(i + 1) * 1.0 / (n - 1) for i in range(n - 2)] + [1.0 + 1e-7]


@_metric("auc")
def auc(labels, predictions, weights=None, num_thresholds=200, curve="ROC", summation_method="trapezoidal",
        thresholds=None):
    """The area under the curve of ROC or of precision and recall, by sums over thresholds."""
    if curve not in ("ROC", "PR"):
        raise ValueError("curve must be either ROC or PR, %s unknown" % curve)
    limits = _thresholds(num_thresholds) if thresholds is None else [-1e-7] + sorted(thresholds) + [1.0 + 1e-7]
    n = len(limits)
    values, updates = _confusion_matrix_at_thresholds(labels, predictions, limits, weights)
    e = 1e-6

    def area(c):
        tp, fn, tn, fp = [c[k] for k in ("tp", "fn", "tn", "fp")]
        if curve == "PR" and summation_method == "careful_interpolation":
            return _interpolated(tp, fp, fn, n)
        sensitivity = (tp + e) / (tp + fn + e)
        if curve == "ROC":
            x, y = fp / (fp + tn + e), sensitivity
        else:
            x, y = sensitivity, (tp + e) / (tp + fp + e)
        from .math_ops import maximum, minimum
        if summation_method in ("trapezoidal", "careful_interpolation"):
            height = (y[:n - 1] + y[1:]) / 2.0
        elif summation_method in ("minoring", "majoring"):
            height = (minimum if summation_method == "minoring" else maximum)(y[:n - 1], y[1:])
        else:
            raise ValueError("Invalid summation_method: %s" % summation_method)
        return reduce_sum((x[:n - 1] - x[1:]) * height)
    return area(values), area(updates)


def _interpolated(tp, fp, fn, n):
    """The area under precision and recall, straight in the counts between thresholds."""
    from .math_ops import log, maximum
    delta, p = tp[:n - 1] - tp[1:], tp + fp
    slope = _safe_div(delta, maximum(p[:n - 1] - p[1:], 0))
    intercept = tp[1:] - slope * p[1:]
    both = apply("LogicalAnd", None, {"x": p[:n - 1] > 0, "y": p[1:] > 0})
    ratio = where(both, _safe_div(p[:n - 1], p[1:]), ones_like(p[1:]))
    return reduce_sum(_safe_div(slope * (delta + intercept * log(ratio)), maximum(tp[1:] + fn[1:], 0)))


def _at_best(default, wanted, of):
    """The `of` rate at the threshold where another rate is nearest to what is wanted."""
    @_metric(default)
    def metric(labels, predictions, rate, weights=None, num_thresholds=200):
        if not 0 <= rate <= 1:
            raise ValueError("`%s` must be in the range [0, 1]." % wanted)
        values, updates = _confusion_matrix_at_thresholds(labels, predictions, _thresholds(num_thresholds), weights)
        e = 1e-7

        def at(c):
            from .array_ops import reverse
            from .math_ops import argmin
            sensitivity = c["tp"] / (c["tp"] + c["fn"] + e)
            specificity = c["tn"] / (c["tn"] + c["fp"] + e)
            if wanted == "specificity":
                return sensitivity[cast(argmin(abs_(specificity - rate), 0), dtypes.int32)]
            # Of several thresholds that are as near, the last.
            return reverse(specificity, [0])[cast(argmin(reverse(abs_(sensitivity - rate), [0]), 0), dtypes.int32)]
        return at(values), at(updates)
    return metric


_sensitivity = _at_best("sensitivity_at_specificity", "specificity", "sensitivity")
_specificity = _at_best("specificity_at_sensitivity", "sensitivity", "specificity")


def sensitivity_at_specificity(labels, predictions, specificity, weights=None, num_thresholds=200, **kwargs):
    return _sensitivity(labels, predictions, specificity, weights, num_thresholds, **kwargs)


def specificity_at_sensitivity(labels, predictions, sensitivity, weights=None, num_thresholds=200, name=None, **kwargs):
    return _specificity(labels, predictions, sensitivity, weights, num_thresholds, name=name, **kwargs)


# ---------------------------------------- the best k

def _sets(labels, top, class_id):
    """(hits of the predictions [..., k], whether each label counts [..., l])."""
    if isinstance(labels, SparseTensor):
        from .sparse_ops import sparse_tensor_to_dense
        labels = sparse_tensor_to_dense(SparseTensor(labels.indices, labels.values, labels.dense_shape), -1)
    labels, top = cast(labels, dtypes.int64), cast(top, dtypes.int64)
    if labels.shape.ndims is not None and top.shape.ndims is not None and labels.shape.ndims == top.shape.ndims - 1:
        labels = expand_dims(labels, -1)
    equal = lambda a, b: apply("Equal", None, {"x": a, "y": b})
    both = lambda a, b: apply("LogicalAnd", None, {"x": a, "y": b})
    if class_id is not None:
        wanted = constant(class_id, dtypes.int64)
        labels, top = where(equal(labels, wanted), labels, -ones_like(labels)), where(
            equal(top, wanted), top, -2 * ones_like(top))
    hits = reduce_any(equal(expand_dims(top, -1), expand_dims(labels, -2)), axis=-1)
    same = equal(expand_dims(labels, -1), expand_dims(labels, -2))
    n = shape_of(labels)[-1]
    earlier = apply("MatrixBandPart", None, {"input": ones([n, n], dtypes.int64), "num_lower": constant(-1, dtypes.int64),
                                             "num_upper": constant(0, dtypes.int64)})
    earlier = cast(earlier - one_hot(cast(apply("Range", None, {
        "start": constant(0), "limit": n, "delta": constant(1)}), dtypes.int64), n, dtype=dtypes.int64), dtypes.bool)
    repeated = reduce_any(both(same, apply("BroadcastTo", None, {"input": earlier, "shape": shape_of(same)})), axis=-1)
    counts = both(labels >= 0, apply("LogicalNot", None, {"x": repeated}))
    return hits, counts, top >= 0


def _weighted_sum(values, weights, name):
    from .weights import broadcast_weights as spread
    total = metric_variable([], dtypes.float64, name=name)
    values = cast(values, dtypes.float64)
    if weights is not None:
        values = values * spread(cast(weights, dtypes.float64), values)
    return total, variables.assign_add(total, reduce_sum(values))


def _top_metric(default, kind):
    def metric(labels, predictions_idx, k=None, class_id=None, weights=None, metrics_collections=None,
               updates_collections=None, name=None):
        suffix = ("_at_%d" % k if k is not None else "_at_k") + ("_class%d" % class_id if class_id is not None else "")
        with variable_scope.variable_scope(name, default + suffix):
            hits, counts, valid = _sets(labels, predictions_idx, class_id)
            hit = reduce_sum(cast(hits, dtypes.float64), axis=-1)
            whole = counts if kind == "recall" else valid
            rest = reduce_sum(cast(whole, dtypes.float64), axis=-1) - hit
            tp, update_tp = _weighted_sum(hit, weights, "true_positive" + suffix)
            other, update_other = _weighted_sum(rest, weights, ("false_negative" if kind == "recall" else
                                                                "false_positive") + suffix)
            return _result(tp / (tp + other), update_tp / (update_tp + update_other), metrics_collections,
                           updates_collections)
    return metric


recall_at_top_k, precision_at_top_k = _top_metric("recall", "recall"), _top_metric("precision", "precision")


def recall_at_k(labels, predictions, k, class_id=None, weights=None, metrics_collections=None, updates_collections=None,
                name=None):
    """How many of the labels are among the k best predictions."""
    top = nn.top_k(predictions, k)[1]
    return recall_at_top_k(labels, top, k, class_id, weights, metrics_collections, updates_collections, name)


def precision_at_k(labels, predictions, k, class_id=None, weights=None, metrics_collections=None,
                   updates_collections=None, name=None):
    """How many of the k best predictions are labels."""
    top = nn.top_k(predictions, k)[1]
    return precision_at_top_k(labels, top, k, class_id, weights, metrics_collections, updates_collections, name)


sparse_precision_at_k = precision_at_k


def average_precision_at_k(labels, predictions, k, weights=None, metrics_collections=None, updates_collections=None,
                           name=None):
    """The mean over examples of the precision at each hit."""
    with variable_scope.variable_scope(name, "average_precision_at_%d" % k):
        top = nn.top_k(predictions, k)[1]
        hits, counts, _ = _sets(labels, top, None)
        hits = cast(hits, dtypes.float64)
        at = apply("Cumsum", None, {"x": hits, "axis": constant(-1)}) / cast(
            constant(list(range(1, k + 1))), dtypes.float64)
        relevant = reduce_sum(cast(counts, dtypes.float64), axis=-1)
        from .math_ops import minimum
        each = div_no_nan(reduce_sum(hits * at, axis=-1), minimum(relevant, constant(float(k), dtypes.float64)))
        number = ones_like(each)
        total, update_total = _weighted_sum(each, weights, "total")
        count, update_count = _weighted_sum(number, weights, "max")
        return _result(div_no_nan(convert_to_tensor(total), count, name="mean"),
                       div_no_nan(update_total, update_count, name="update"), metrics_collections, updates_collections)


sparse_average_precision_at_k = average_precision_at_k
