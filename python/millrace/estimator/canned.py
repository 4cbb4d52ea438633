"""canned — linear models and dense networks as estimators."""
from .. import dtypes, init_ops, variable_scope as vs
import millrace.feature_column as fc
import millrace.layers as layers
import millrace.losses as losses
import millrace.metrics as metrics
import millrace.nn as nn
from ..array_ops import expand_dims, reshape, shape as shape_of
from ..convert import convert_to_tensor
from ..graph import GraphKeys
from ..math_ops import argmax, cast, reduce_mean
from ..train import optimizer as opt
from ..train.steps import get_global_step
from .estimator import Estimator
from .export import ClassificationOutput, PredictOutput, RegressionOutput
from .spec import EstimatorSpec, ModeKeys

_OPTIMIZERS = {"Adagrad": opt.AdagradOptimizer, "Adam": opt.AdamOptimizer, "Ftrl": opt.FtrlOptimizer,
               "RMSProp": opt.RMSPropOptimizer, "SGD": opt.GradientDescentOptimizer}


def _optimizer(given, rate):
    if isinstance(given, str):
        if given not in _OPTIMIZERS:
            raise ValueError("Unsupported optimizer name: %s. Supported names are: %s" % (given, sorted(_OPTIMIZERS)))
        return _OPTIMIZERS[given](learning_rate=rate)
    return given() if callable(given) and not isinstance(given, opt.Optimizer) else given


class _Classes:
    """A head of classes."""

    def __init__(self, n_classes, label_vocabulary=None, weight_column=None, loss_reduction=losses.Reduction.SUM):
        self._n, self._words, self._weights, self._reduction = n_classes, label_vocabulary, weight_column, loss_reduction
        self.dimension = 1 if n_classes == 2 else n_classes

    def _ids(self, labels):
        labels = convert_to_tensor(labels)
        if self._words:
            from ..lookup_ops import index_table_from_tensor
            labels = index_table_from_tensor(list(self._words)).lookup(labels)
        return reshape(labels, [-1, 1])

    def predictions(self, logits):
        both = nn.softmax(logits) if self._n > 2 else _both(logits)
        ids = argmax(both, -1)
        found = {"logits": logits, "probabilities": both, "class_ids": expand_dims(ids, -1)}
        if self._n == 2:
            found["logistic"] = nn.sigmoid(logits)
        from ..array_ops import gather
        from ..string_ops import as_string
        found["classes"] = expand_dims(gather(convert_to_tensor(list(self._words), dtypes.string), ids) if self._words
                                       else as_string(ids), -1)
        return found

    def loss(self, features, labels, logits):
        """(loss, mean loss, label ids)."""
        ids = self._ids(labels)
        if self._n == 2:
            each = nn.sigmoid_cross_entropy_with_logits(labels=cast(ids, dtypes.float32), logits=logits)
        else:
            each = expand_dims(nn.sparse_softmax_cross_entropy_with_logits(
                labels=reshape(cast(ids, dtypes.int64), [-1]), logits=logits), -1)
        weights = features[self._weights] if self._weights else 1.0
        return losses.compute_weighted_loss(each, weights, reduction=self._reduction), reduce_mean(each), ids

    def metrics(self, predictions, ids, mean_loss):
        found = {"accuracy": metrics.accuracy(cast(ids, dtypes.int64), predictions["class_ids"]),
                 "average_loss": metrics.mean(mean_loss)}
        if self._n == 2:
            truth, chance = cast(ids, dtypes.float32), predictions["logistic"]
            found.update({"auc": metrics.auc(truth, chance), "precision": metrics.precision(
                ids, predictions["class_ids"]), "recall": metrics.recall(ids, predictions["class_ids"]),
                "label/mean": metrics.mean(truth), "prediction/mean": metrics.mean(chance)})
        return found

    def outputs(self, predictions):
        scores = ClassificationOutput(predictions["probabilities"], predictions["classes"])
        return {"serving_default": scores, "classification": scores, "predict": PredictOutput(predictions)}


def _both(logits):
    from ..array_ops import concat, zeros_like
    return nn.softmax(concat([zeros_like(logits), logits], -1))


class _Numbers:
    """A head of numbers."""

    def __init__(self, label_dimension=1, weight_column=None, loss_reduction=losses.Reduction.SUM):
        self.dimension, self._weights, self._reduction = label_dimension, weight_column, loss_reduction

    def predictions(self, logits):
        return {"predictions": logits}

    def loss(self, features, labels, logits):
        labels = reshape(cast(labels, dtypes.float32), shape_of(logits))
        each = (logits - labels) * (logits - labels)
        weights = features[self._weights] if self._weights else 1.0
        return losses.compute_weighted_loss(each, weights, reduction=self._reduction), reduce_mean(each), labels

    def metrics(self, predictions, labels, mean_loss):
        return {"average_loss": metrics.mean(mean_loss), "label/mean": metrics.mean(labels),
                "prediction/mean": metrics.mean(predictions["predictions"])}

    def outputs(self, predictions):
        value = RegressionOutput(predictions["predictions"])
        return {"serving_default": value, "regression": value, "predict": PredictOutput(predictions)}


def _spec(head, features, labels, mode, logits, optimizer):
    predictions = head.predictions(logits)
    if mode == ModeKeys.PREDICT:
        return EstimatorSpec(mode, predictions=predictions, export_outputs=head.outputs(predictions))
    loss, mean_loss, truth = head.loss(features, labels, logits)
    if mode == ModeKeys.EVAL:
        return EstimatorSpec(mode, predictions=predictions, loss=loss,
                             eval_metric_ops=head.metrics(predictions, truth, mean_loss))
    from ..graph import control_dependencies, get_collection
    with control_dependencies(get_collection(GraphKeys.UPDATE_OPS)):
        train_op = optimizer.minimize(loss, global_step=get_global_step())
    return EstimatorSpec(mode, predictions=predictions, loss=loss, train_op=train_op)


def _linear(head, columns, optimizer):
    def model_fn(features, labels, mode):
        with vs.variable_scope("linear"):
            logits = fc.linear_model(features, columns, units=head.dimension)
        return _spec(head, features, labels, mode, logits, _optimizer(optimizer, 0.2))
    return model_fn


def _dnn(head, hidden_units, columns, optimizer, activation_fn, dropout, batch_norm):
    def model_fn(features, labels, mode):
        with vs.variable_scope("dnn"):
            with vs.variable_scope("input_from_feature_columns"):
                net = fc.input_layer(features, columns)
            for i, units in enumerate(hidden_units):
                with vs.variable_scope("hiddenlayer_%d" % i) as scope:
                    net = layers.dense(net, units, activation=activation_fn, name=scope,
                                       kernel_initializer=init_ops.glorot_uniform_initializer())
                    if dropout is not None and mode == ModeKeys.TRAIN:
                        net = layers.dropout(net, rate=dropout, training=True)
                    if batch_norm:
                        net = layers.batch_normalization(net, momentum=0.999, training=mode == ModeKeys.TRAIN)
            with vs.variable_scope("logits") as scope:
                logits = layers.dense(net, head.dimension, name=scope,
                                      kernel_initializer=init_ops.glorot_uniform_initializer())
        return _spec(head, features, labels, mode, logits, _optimizer(optimizer, 0.05))
    return model_fn


class LinearClassifier(Estimator):
    """A linear model of classes."""

    def __init__(self, feature_columns, model_dir=None, n_classes=2, weight_column=None, label_vocabulary=None,
                 optimizer="Ftrl", config=None, partitioner=None, warm_start_from=None,
                 loss_reduction=losses.Reduction.SUM, sparse_combiner="sum"):
        head = _Classes(n_classes, label_vocabulary, weight_column, loss_reduction)
        super().__init__(_linear(head, feature_columns, optimizer), model_dir, config, None, warm_start_from)


class LinearRegressor(Estimator):
    """A linear model of numbers."""

    def __init__(self, feature_columns, model_dir=None, label_dimension=1, weight_column=None, optimizer="Ftrl",
                 config=None, partitioner=None, warm_start_from=None, loss_reduction=losses.Reduction.SUM,
                 sparse_combiner="sum"):
        head = _Numbers(label_dimension, weight_column, loss_reduction)
        super().__init__(_linear(head, feature_columns, optimizer), model_dir, config, None, warm_start_from)


class DNNClassifier(Estimator):
    """A dense network of classes."""

    def __init__(self, hidden_units, feature_columns, model_dir=None, n_classes=2, weight_column=None,
                 label_vocabulary=None, optimizer="Adagrad", activation_fn=nn.relu, dropout=None,
                 input_layer_partitioner=None, config=None, warm_start_from=None, loss_reduction=losses.Reduction.SUM,
                 batch_norm=False):
        head = _Classes(n_classes, label_vocabulary, weight_column, loss_reduction)
        super().__init__(_dnn(head, hidden_units, feature_columns, optimizer, activation_fn, dropout, batch_norm),
                         model_dir, config, None, warm_start_from)


class DNNRegressor(Estimator):
    """A dense network of numbers."""

    def __init__(self, hidden_units, feature_columns, model_dir=None, label_dimension=1, weight_column=None,
                 optimizer="Adagrad", activation_fn=nn.relu, dropout=None, input_layer_partitioner=None, config=None,
                 warm_start_from=None, loss_reduction=losses.Reduction.SUM, batch_norm=False):
        head = _Numbers(label_dimension, weight_column, loss_reduction)
        super().__init__(_dnn(head, hidden_units, feature_columns, optimizer, activation_fn, dropout, batch_norm),
                         model_dir, config, None, warm_start_from)


def _missing(name):
    def __init__(self, *args, **kwargs):
        raise NotImplementedError("tf.estimator.%s is not part of Millrace" % name)
    return type(name, (Estimator,), {"__init__": __init__})


DNNEstimator, LinearEstimator = _missing("DNNEstimator"), _missing("LinearEstimator")
