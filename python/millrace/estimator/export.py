"""export — what a SavedModel of an estimator takes and gives."""
import collections

from .. import dtypes
from ..array_ops import placeholder
from ..graph import Tensor
from ..indexed import SparseTensor

_FEATURE, _FEATURES = "feature", "features"


def _as_dict(value, key):
    if value is None:
        return None
    return value if isinstance(value, dict) else {key: value}


class ServingInputReceiver(collections.namedtuple("ServingInputReceiver", ["features", "receiver_tensors",
                                                                          "receiver_tensors_alternatives"])):
    """Features, and the tensors that a server feeds for them."""

    def __new__(cls, features, receiver_tensors, receiver_tensors_alternatives=None):
        if features is None:
            raise ValueError("features must be defined.")
        if receiver_tensors is None:
            raise ValueError("receiver_tensors must be defined.")
        for name, tensor in _as_dict(features, _FEATURE).items():
            if not isinstance(tensor, (Tensor, SparseTensor)):
                raise ValueError("feature %s must be a Tensor, SparseTensor, or RaggedTensor." % name)
        return super().__new__(cls, _as_dict(features, _FEATURE), _as_dict(receiver_tensors, "input"),
                               receiver_tensors_alternatives)


class TensorServingInputReceiver(collections.namedtuple("TensorServingInputReceiver", [
        "features", "receiver_tensors", "receiver_tensors_alternatives"])):
    """The same of one tensor that is not a dict."""

    def __new__(cls, features, receiver_tensors, receiver_tensors_alternatives=None):
        return super().__new__(cls, features, _as_dict(receiver_tensors, "input"), receiver_tensors_alternatives)


SupervisedInputReceiver = collections.namedtuple("SupervisedInputReceiver", ["features", "labels", "receiver_tensors"])


def build_raw_serving_input_receiver_fn(features, default_batch_size=None):
    """A function of placeholders like these tensors."""
    def receiver():
        found = {}
        for name, t in features.items():
            shape = t.get_shape().as_list()
            shape[0] = default_batch_size
            found[name] = placeholder(t.dtype, shape, name=t.op.name.split("/")[-1])
        return ServingInputReceiver(found, found)
    return receiver


def build_parsing_serving_input_receiver_fn(feature_spec, default_batch_size=None):
    """A function that takes serialized Examples."""
    def receiver():
        from ..parsing import parse_example
        serialized = placeholder(dtypes.string, [default_batch_size], name="input_example_tensor")
        return ServingInputReceiver(parse_example(serialized, feature_spec), {"examples": serialized})
    return receiver


class ExportOutput:
    """What a signature gives: `as_signature_def(receiver_tensors)`."""


class PredictOutput(ExportOutput):
    """Tensors by names."""

    def __init__(self, outputs):
        self._outputs = _as_dict(outputs, "output")

    outputs = property(lambda self: self._outputs)

    def as_signature_def(self, receiver_tensors):
        from ..saved_model import predict_signature_def
        return predict_signature_def(receiver_tensors, self._outputs)


class ClassificationOutput(ExportOutput):
    """Classes, scores or both."""

    def __init__(self, scores=None, classes=None):
        if scores is None and classes is None:
            raise ValueError("Cannot create a ClassificationOutput with empty arguments. At least one of `scores` and "
                             "`classes` must be defined.")
        self._scores, self._classes = scores, classes

    scores, classes = property(lambda self: self._scores), property(lambda self: self._classes)

    def as_signature_def(self, receiver_tensors):
        from ..saved_model import classification_signature_def
        if len(receiver_tensors) != 1:
            raise ValueError("Classification input must be a single string Tensor; got %s" % receiver_tensors)
        examples, = receiver_tensors.values()
        return classification_signature_def(examples, self._classes, self._scores)


class RegressionOutput(ExportOutput):
    """A number."""

    def __init__(self, value):
        if not isinstance(value, Tensor) or not value.dtype.is_floating:
            raise ValueError("Regression output value must be a float32 Tensor; got %s" % value)
        self._value = value

    value = property(lambda self: self._value)

    def as_signature_def(self, receiver_tensors):
        from ..saved_model import regression_signature_def
        examples, = receiver_tensors.values()
        return regression_signature_def(examples, self._value)


class EvalOutput(ExportOutput):
    def __init__(self, loss=None, predictions=None, metrics=None):
        self.loss, self.predictions, self.metrics = loss, predictions, metrics
