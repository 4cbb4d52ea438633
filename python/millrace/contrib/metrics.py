"""metrics — contrib.metrics: tf.metrics with predictions first, under the names with streaming_."""
import millrace.metrics as core
from ..metrics import confusion_matrix  # noqa: F401


def accuracy(predictions, labels, weights=None, name=None):
    """How often predictions are the labels, in this batch."""
    from .. import dtypes
    from ..convert import convert_to_tensor
    from ..graph import name_scope
    from ..math_ops import cast, div_no_nan, reduce_mean, reduce_sum
    from ..ops_apply import apply
    predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
    if not (labels.dtype.is_integer or labels.dtype in (dtypes.bool, dtypes.string)):
        raise ValueError("Labels should have bool, integer, or string dtype, not %r" % labels.dtype)
    if labels.dtype.base_dtype != predictions.dtype.base_dtype:
        raise ValueError("Dtypes of predictions and labels should match. Given: predictions (%r) and labels (%r)" % (
            predictions.dtype, labels.dtype))
    with name_scope(name, "accuracy", [predictions, labels]):
        right = cast(apply("Equal", None, {"x": predictions, "y": labels}), dtypes.float32)
        if weights is None:
            return reduce_mean(right)
        weights = cast(weights, dtypes.float32)
        return div_no_nan(reduce_sum(right * weights), reduce_sum(right * 0 + weights))


def _swapped(name):
    function = getattr(core, name)

    def metric(predictions, labels, *args, **kwargs):
        return function(labels, predictions, *args, **kwargs)
    metric.__name__ = "streaming_" + name
    return metric


streaming_mean, streaming_mean_tensor = core.mean, core.mean_tensor
streaming_percentage_less = core.percentage_below
for _name in ("accuracy", "precision", "recall", "auc", "true_positives", "true_negatives", "false_positives",
              "false_negatives", "precision_at_thresholds", "recall_at_thresholds", "mean_absolute_error",
              "mean_squared_error", "root_mean_squared_error", "mean_relative_error", "mean_cosine_distance", "mean_iou",
              "sensitivity_at_specificity", "specificity_at_sensitivity", "recall_at_k", "precision_at_k",
              "true_positives_at_thresholds", "true_negatives_at_thresholds", "false_positives_at_thresholds",
              "false_negatives_at_thresholds"):
    globals()["streaming_" + _name] = _swapped(_name)
streaming_sparse_recall_at_k, streaming_sparse_precision_at_k = _swapped("recall_at_k"), _swapped("precision_at_k")


def f1_score(labels, predictions, weights=None, num_thresholds=200, metrics_collections=None, updates_collections=None,
             name=None):
    """The best f1 over thresholds."""
    from .. import variable_scope
    from ..math_ops import reduce_max
    with variable_scope.variable_scope(name, "f1"):
        values, updates = core._confusion_matrix_at_thresholds(labels, predictions, core._thresholds(num_thresholds),
                                                               weights, ("tp", "fp", "fn"))

        def best(c):
            e = 1e-7
            p, r = c["tp"] / (e + c["tp"] + c["fp"]), c["tp"] / (e + c["tp"] + c["fn"])
            return reduce_max(2.0 * p * r / (p + r + e))
        return core._result(best(values), best(updates), metrics_collections, updates_collections)


def aggregate_metrics(*value_update_tuples):
    """(values, updates) of several metrics."""
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples)
    return list(values), list(updates)


def aggregate_metric_map(names_to_tuples):
    """({name: value}, {name: update})."""
    names = names_to_tuples.keys()
    values, updates = zip(*names_to_tuples.values())
    return dict(zip(names, values)), dict(zip(names, updates))
