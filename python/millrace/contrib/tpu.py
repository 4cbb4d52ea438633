"""tpu — contrib.tpu: programs written for TPUs, run on this machine's devices: their estimator, and pieces that do nothing here."""
import contextlib

from ..estimator.estimator import Estimator
from ..estimator.spec import EstimatorSpec, RunConfig as _RunConfig
from ..train.optimizer import Optimizer


class InputPipelineConfig:
    """Where input pipelines run."""
    PER_SHARD_V1, PER_HOST_V1, PER_HOST_V2, BROADCAST, SLICED = 1, 2, 3, 4, 5


class TPUConfig:
    """What a TPU would be told."""

    def __init__(self, iterations_per_loop=2, num_shards=None, num_cores_per_replica=None,
                 per_host_input_for_training=True, tpu_job_name=None, initial_infeed_sleep_secs=None, **others):
        self.iterations_per_loop, self.num_shards = iterations_per_loop, num_shards
        self.num_cores_per_replica, self.tpu_job_name = num_cores_per_replica, tpu_job_name
        self.per_host_input_for_training = per_host_input_for_training
        self.__dict__.update(others)


class RunConfig(_RunConfig):
    """An estimator's, with a TPUConfig."""

    def __init__(self, tpu_config=None, evaluation_master=None, master=None, cluster=None, **kwargs):
        super().__init__(**kwargs)
        self._tpu_config, self._cluster = tpu_config or TPUConfig(), cluster
        if master is not None:
            self._master = master
        if evaluation_master is not None:
            self._evaluation_master = evaluation_master

    tpu_config = property(lambda self: self._tpu_config)
    cluster = property(lambda self: self._cluster)


class TPUEstimatorSpec:
    """The operations of a model, with metrics and hooks as functions of tensors."""

    def __init__(self, mode, predictions=None, loss=None, train_op=None, eval_metrics=None, export_outputs=None,
                 scaffold_fn=None, host_call=None, training_hooks=None, evaluation_hooks=None, prediction_hooks=None):
        self.mode, self.predictions, self.loss, self.train_op = mode, predictions, loss, train_op
        self.eval_metrics, self.export_outputs, self.scaffold_fn = eval_metrics, export_outputs, scaffold_fn
        self.host_call, self.training_hooks = host_call, training_hooks
        self.evaluation_hooks, self.prediction_hooks = evaluation_hooks, prediction_hooks

    def as_estimator_spec(self):
        ops = None
        if self.eval_metrics:
            function, tensors = self.eval_metrics
            ops = function(**tensors) if isinstance(tensors, dict) else function(*tensors)
        scaffold = self.scaffold_fn() if self.scaffold_fn else None
        return EstimatorSpec(self.mode, predictions=self.predictions, loss=self.loss, train_op=self.train_op,
                             eval_metric_ops=ops, export_outputs=self.export_outputs, scaffold=scaffold,
                             training_hooks=self.training_hooks, evaluation_hooks=self.evaluation_hooks,
                             prediction_hooks=self.prediction_hooks)


class TPUEstimator(Estimator):
    """An estimator that hands `params["batch_size"]` to its functions."""

    def __init__(self, model_fn=None, model_dir=None, config=None, params=None, use_tpu=True, train_batch_size=None,
                 eval_batch_size=None, predict_batch_size=None, batch_axis=None, eval_on_tpu=True, export_to_tpu=True,
                 warm_start_from=None, **unused):
        if use_tpu:
            raise NotImplementedError("tf.contrib.tpu.TPUEstimator with use_tpu=True is not part of Millrace")
        if "batch_size" in (params or {}):
            raise ValueError("batch_size are reserved keys but existed in params %s." % params)
        self._batch_sizes = {"train": train_batch_size, "eval": eval_batch_size, "infer": predict_batch_size}
        super().__init__(model_fn, model_dir, config or RunConfig(), params, warm_start_from)

    def _with_batch_size(self, mode):
        size = self._batch_sizes[mode]
        self._params = {k: v for k, v in self._params.items() if k != "batch_size"} if hasattr(
            self._params, "items") else self._params
        if size is not None:
            if hasattr(self._params, "add_hparam"):
                self._params.__dict__["batch_size"] = size
            else:
                self._params = dict(self._params, batch_size=size)

    def _call_input_fn(self, input_fn, mode):
        self._with_batch_size(mode)
        return super()._call_input_fn(input_fn, mode)

    def _call_model_fn(self, features, labels, mode, config=None):
        self._with_batch_size(mode)
        return super()._call_model_fn(features, labels, mode, config)


class CrossShardOptimizer(Optimizer):
    """Another optimizer: there is one shard."""

    def __init__(self, opt, reduction=None, name="CrossShardOptimizer", group_assignment=None):
        super().__init__(False, name)
        self._opt = opt

    def compute_gradients(self, loss, var_list=None, **kwargs):
        return self._opt.compute_gradients(loss, var_list=var_list, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        return self._opt.apply_gradients(grads_and_vars, global_step, name)

    def get_slot(self, *args, **kwargs):
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self):
        return self._opt.variables()


def cross_replica_sum(x, group_assignment=None, name=None):
    from ..array_ops import identity
    return identity(x, name)


@contextlib.contextmanager
def bfloat16_scope():
    """Variables stay float32, and are read as bfloat16."""
    from .. import dtypes, variable_scope as vs
    from ..math_ops import cast

    def getter(getter, *args, **kwargs):
        low = kwargs["dtype"] == dtypes.bfloat16
        if low:
            kwargs["dtype"] = dtypes.float32
        found = getter(*args, **kwargs)
        return cast(found, dtypes.bfloat16) if low else found
    with vs.variable_scope("", custom_getter=getter) as scope:
        yield scope


def _missing(name):
    def function(*args, **kwargs):
        raise NotImplementedError("tf.contrib.tpu.%s is not part of Millrace" % name)
    return function


initialize_system, shutdown_system, rewrite, replicate, shard, batch_parallel = [_missing(n) for n in (
    "initialize_system", "shutdown_system", "rewrite", "replicate", "shard", "batch_parallel")]
initialize_tpu_system, outside_compilation, keras_to_tpu_model, repeat, while_loop = [_missing(n) for n in (
    "initialize_tpu_system", "outside_compilation", "keras_to_tpu_model", "repeat", "while_loop")]


def check_positive_integer(value, name):
    if value is None or value < 1:
        raise ValueError("%s must be positive." % name)


def get_tpu_context():
    return _Context()


class _Context:
    """The context of one shard."""
    number_of_shards = None


TPUContext = _Context


class TPUDistributionStrategy:
    def __init__(self, *args, **kwargs):
        raise NotImplementedError("tf.contrib.tpu.TPUDistributionStrategy is not part of Millrace")
