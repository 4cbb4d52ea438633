"""losses — contrib.losses: tf.losses with predictions first."""
from ..graph import GraphKeys
import millrace.losses as core
from ..losses import compute_weighted_loss, get_losses, get_regularization_losses, get_total_loss, add_loss  # noqa: F401


def absolute_difference(predictions, labels=None, weights=1.0, scope=None):
    return core.absolute_difference(labels, predictions, weights, scope)


def mean_squared_error(predictions, labels=None, weights=1.0, scope=None):
    return core.mean_squared_error(labels, predictions, weights, scope)


def mean_pairwise_squared_error(predictions, labels=None, weights=1.0, scope=None):
    return core.mean_pairwise_squared_error(labels, predictions, weights, scope)


def log_loss(predictions, labels=None, weights=1.0, epsilon=1e-7, scope=None):
    return core.log_loss(labels, predictions, weights, epsilon, scope)


def hinge_loss(logits, labels=None, scope=None):
    return core.hinge_loss(labels, logits, 1.0, scope, loss_collection=GraphKeys.LOSSES)


def cosine_distance(predictions, labels=None, axis=None, weights=1.0, scope=None, dim=None):
    return core.cosine_distance(labels, predictions, dim if axis is None else axis, weights, scope)


def sigmoid_cross_entropy(logits, multi_class_labels, weights=1.0, label_smoothing=0, scope=None):
    return core.sigmoid_cross_entropy(multi_class_labels, logits, weights, label_smoothing, scope)


def softmax_cross_entropy(logits, onehot_labels, weights=1.0, label_smoothing=0, scope=None):
    return core.softmax_cross_entropy(onehot_labels, logits, weights, label_smoothing, scope)


def sparse_softmax_cross_entropy(logits, labels, weights=1.0, scope=None):
    return core.sparse_softmax_cross_entropy(labels, logits, weights, scope)
