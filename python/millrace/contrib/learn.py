"""learn — contrib.learn: what became tf.estimator."""
from ..estimator.estimator import Estimator  # noqa: F401
from ..estimator.spec import RunConfig  # noqa: F401
from ..train.monitored import MonitoredSession  # noqa: F401
from .mnist import load_mnist, maybe_download, read_data_sets  # noqa: F401


class ModeKeys:
    """What a model function is asked for."""
    TRAIN, EVAL, INFER = "train", "eval", "infer"


class MetricSpec:
    """A metric, and what of labels and predictions it takes."""

    def __init__(self, metric_fn, prediction_key=None, label_key=None, weight_key=None):
        self.metric_fn, self.prediction_key, self.label_key, self.weight_key = metric_fn, prediction_key, label_key, \
            weight_key
