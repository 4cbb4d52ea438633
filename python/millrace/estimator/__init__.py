"""estimator — tf.estimator: models as functions, trained, evaluated and asked; see spec, estimator, training, export, inputs."""
from ..train.hooks import (CheckpointSaverHook, CheckpointSaverListener, FeedFnHook, FinalOpsHook,  # noqa: F401
                           GlobalStepWaiterHook, LoggingTensorHook, NanLossDuringTrainingError, NanTensorHook,
                           ProfilerHook, SecondOrStepTimer, SessionRunArgs, SessionRunContext, SessionRunHook,
                           SessionRunValues, StepCounterHook, StopAtStepHook, SummarySaverHook)
from .canned import (DNNClassifier, DNNEstimator, DNNRegressor, LinearClassifier, LinearEstimator,  # noqa: F401
                     LinearRegressor)
from .estimator import Estimator, VocabInfo, WarmStartSettings  # noqa: F401
from .spec import EstimatorSpec, ModeKeys, RunConfig  # noqa: F401
from .training import (BestExporter, EvalSpec, Exporter, FinalExporter, LatestExporter, TrainSpec,  # noqa: F401
                       train_and_evaluate)


def add_metrics(estimator, metric_fn):
    """The estimator with further metrics."""
    model_fn = estimator.model_fn

    def new_model_fn(features, labels, mode, config, params=None):
        spec = model_fn(features, labels, mode, config)
        if mode != ModeKeys.EVAL:
            return spec
        import inspect
        names = inspect.signature(metric_fn).parameters
        given = {k: v for k, v in {"features": features, "labels": labels, "predictions": spec.predictions,
                                   "config": config}.items() if k in names}
        return spec._replace(eval_metric_ops=dict(spec.eval_metric_ops or {}, **metric_fn(**given)))
    return Estimator(new_model_fn, estimator.model_dir, estimator.config)


def classifier_parse_example_spec(feature_columns, label_key, label_dtype=None, label_default=None, weight_column=None):
    from .. import dtypes
    from ..feature_column import make_parse_example_spec
    from ..parsing import FixedLenFeature
    return dict(make_parse_example_spec(feature_columns), **{
        label_key: FixedLenFeature((1,), label_dtype or dtypes.int64, label_default)})


def regressor_parse_example_spec(feature_columns, label_key, label_dtype=None, label_default=None, label_dimension=1,
                                 weight_column=None):
    from .. import dtypes
    from ..feature_column import make_parse_example_spec
    from ..parsing import FixedLenFeature
    return dict(make_parse_example_spec(feature_columns), **{
        label_key: FixedLenFeature((label_dimension,), label_dtype or dtypes.float32, label_default)})
