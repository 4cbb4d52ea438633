"""spec — what a model function gives (EstimatorSpec), its modes, and how an estimator runs (RunConfig)."""
import collections
import copy
import json
import os

from ..convert import convert_to_tensor
from ..graph import Operation, Tensor
from ..train.monitored import Scaffold

LOSS_METRIC_KEY, AVERAGE_LOSS_METRIC_KEY = "loss", "average_loss"


class ModeKeys:
    """What a model function is asked for."""
    TRAIN, EVAL, PREDICT = "train", "eval", "infer"


class EstimatorSpec(collections.namedtuple("EstimatorSpec", [
        "mode", "predictions", "loss", "train_op", "eval_metric_ops", "export_outputs", "training_chief_hooks",
        "training_hooks", "scaffold", "evaluation_hooks", "prediction_hooks"])):
    """The operations of a model in one mode."""

    def __new__(cls, mode, predictions=None, loss=None, train_op=None, eval_metric_ops=None, export_outputs=None,
                training_chief_hooks=None, training_hooks=None, scaffold=None, evaluation_hooks=None,
                prediction_hooks=None):
        if mode == ModeKeys.TRAIN and train_op is None:
            raise ValueError("Missing train_op.")
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL) and loss is None:
            raise ValueError("Missing loss.")
        if mode == ModeKeys.PREDICT and predictions is None:
            raise ValueError("Missing predictions.")
        if loss is not None:
            loss = convert_to_tensor(loss)
            if loss.shape.num_elements() not in (1, None):
                raise ValueError("Loss must be scalar, given: %s" % loss)
            if loss.shape.ndims != 0:
                from ..array_ops import reshape
                loss = reshape(loss, [])
        if train_op is not None and not isinstance(train_op, (Tensor, Operation)):
            raise TypeError("train_op must be Operation or Tensor, given: %s" % (train_op,))
        for hook in list(training_chief_hooks or ()) + list(training_hooks or ()) + list(evaluation_hooks or ()):
            if not hasattr(hook, "before_run"):
                raise TypeError("All hooks must be SessionRunHook instances, given: %s" % (hook,))
        predictions = {} if predictions is None else predictions
        return super().__new__(cls, mode, predictions, loss, train_op, eval_metric_ops or {}, export_outputs,
                               tuple(training_chief_hooks or ()), tuple(training_hooks or ()), scaffold or Scaffold(),
                               tuple(evaluation_hooks or ()), tuple(prediction_hooks or ()))


class TaskType:
    MASTER, PS, WORKER, CHIEF, EVALUATOR = "master", "ps", "worker", "chief", "evaluator"




class RunConfig:
    """How an estimator runs; the cluster is that of the environment variable TF_CONFIG."""

    def __init__(self, model_dir=None, tf_random_seed=None, save_summary_steps=100, save_checkpoints_steps=None,
                 save_checkpoints_secs=None, session_config=None, keep_checkpoint_max=5,
                 keep_checkpoint_every_n_hours=10000, log_step_count_steps=100, train_distribute=None, device_fn=None,
                 protocol=None, eval_distribute=None, experimental_distribute=None,
                 experimental_max_worker_delay_secs=None, session_creation_timeout_secs=7200, **unused):
        if save_checkpoints_steps is not None and save_checkpoints_secs is not None:
            raise ValueError("`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set.")
        if save_checkpoints_steps is None and save_checkpoints_secs is None:
            save_checkpoints_secs = 600
        self._model_dir, self._tf_random_seed = model_dir, tf_random_seed
        self._save_summary_steps, self._save_checkpoints_steps = save_summary_steps, save_checkpoints_steps
        self._save_checkpoints_secs, self._session_config = save_checkpoints_secs, session_config
        self._keep_checkpoint_max, self._keep_hours = keep_checkpoint_max, keep_checkpoint_every_n_hours
        self._log_step_count_steps, self._device_fn, self._protocol = log_step_count_steps, device_fn, protocol
        self._train_distribute, self._eval_distribute = train_distribute, eval_distribute
        self._read_environment()

    def _read_environment(self):
        from ..train.server import ClusterSpec
        env = json.loads(os.environ.get("TF_CONFIG") or "{}")
        self._cluster_spec, task = ClusterSpec(env.get("cluster", {})), env.get("task", {})
        self._task_type, self._task_id = task.get("type", TaskType.WORKER), int(task.get("index", 0))
        self._model_dir = self._model_dir or env.get("model_dir")
        cluster = bool(self._cluster_spec)
        self._is_chief = self._task_type in (TaskType.CHIEF, TaskType.MASTER) if cluster else True
        self._master, self._evaluation_master = "", ""
        if cluster and self._task_type != TaskType.EVALUATOR:
            self._master = "grpc://" + self._cluster_spec.task_address(self._task_type, self._task_id)
        self._num_ps_replicas = self._cluster_spec.num_tasks("ps") if "ps" in self._cluster_spec.jobs else 0
        self._num_worker_replicas = sum(self._cluster_spec.num_tasks(j) for j in ("worker", "chief", "master")
                                        if j in self._cluster_spec.jobs) if cluster else 1

    model_dir = property(lambda self: self._model_dir)
    tf_random_seed = property(lambda self: self._tf_random_seed)
    save_summary_steps = property(lambda self: self._save_summary_steps)
    save_checkpoints_steps = property(lambda self: self._save_checkpoints_steps)
    save_checkpoints_secs = property(lambda self: self._save_checkpoints_secs)
    session_config = property(lambda self: self._session_config)
    keep_checkpoint_max = property(lambda self: self._keep_checkpoint_max)
    keep_checkpoint_every_n_hours = property(lambda self: self._keep_hours)
    log_step_count_steps = property(lambda self: self._log_step_count_steps)
    device_fn = property(lambda self: self._device_fn)
    protocol = property(lambda self: self._protocol)
    train_distribute = property(lambda self: self._train_distribute)
    eval_distribute = property(lambda self: self._eval_distribute)
    cluster_spec = property(lambda self: self._cluster_spec)
    task_type = property(lambda self: self._task_type)
    task_id = property(lambda self: self._task_id)
    global_id_in_cluster = property(lambda self: self._task_id)
    is_chief = property(lambda self: self._is_chief)
    master = property(lambda self: self._master)
    evaluation_master = property(lambda self: self._evaluation_master)
    num_ps_replicas = property(lambda self: self._num_ps_replicas)
    num_worker_replicas = property(lambda self: self._num_worker_replicas)
    service = property(lambda self: None)

    def replace(self, **kwargs):
        """A copy with other values."""
        new = copy.copy(self)
        for key, value in kwargs.items():
            if not hasattr(self, "_" + key):
                raise ValueError("Replacing %s is not supported." % key)
            setattr(new, "_" + key, value)
        if "save_checkpoints_steps" in kwargs and kwargs["save_checkpoints_steps"] is not None:
            new._save_checkpoints_secs = kwargs.get("save_checkpoints_secs")
        elif "save_checkpoints_secs" in kwargs and kwargs["save_checkpoints_secs"] is not None:
            new._save_checkpoints_steps = None
        return new
