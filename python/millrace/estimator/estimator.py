"""estimator — Estimator: a model function with its checkpoints; train, evaluate, predict, export."""
import collections
import copy
import os
import tempfile
import time

import numpy as np

from .. import messages, variables
import millrace.logging as logging
import millrace.saved_model as saved_model
import millrace.summary as summary
from ..graph import Graph, GraphKeys, get_default_graph
from ..session import Session
from ..shims import fn_args
from ..train import hooks as basic
from ..train.monitored import ChiefSessionCreator, MonitoredSession, MonitoredTrainingSession
from ..train.saver import Saver, init_from_checkpoint, latest_checkpoint, list_variables, load_variable
from ..train.steps import create_global_step
from .spec import LOSS_METRIC_KEY, EstimatorSpec, ModeKeys, RunConfig

VocabInfo = collections.namedtuple("VocabInfo", ["new_vocab", "new_vocab_size", "num_oov_buckets", "old_vocab",
                                                 "old_vocab_size", "backup_initializer", "axis"])


class WarmStartSettings(collections.namedtuple("WarmStartSettings", [
        "ckpt_to_initialize_from", "vars_to_warm_start", "var_name_to_vocab_info", "var_name_to_prev_var_name"])):
    """From which checkpoint variables begin."""

    def __new__(cls, ckpt_to_initialize_from, vars_to_warm_start=".*", var_name_to_vocab_info=None,
                var_name_to_prev_var_name=None):
        if not ckpt_to_initialize_from:
            raise ValueError("`ckpt_to_initialize_from` MUST be set in WarmStartSettings")
        return super().__new__(cls, ckpt_to_initialize_from, vars_to_warm_start, var_name_to_vocab_info or {},
                               var_name_to_prev_var_name or {})


class Estimator:
    """`Estimator(model_fn, model_dir)`: model_fn(features, labels, mode, params, config) gives an EstimatorSpec."""

    def __init__(self, model_fn, model_dir=None, config=None, params=None, warm_start_from=None):
        config = RunConfig() if config is None else config
        if not hasattr(config, "model_dir"):
            raise ValueError("config must be an instance of `RunConfig`, but provided %s." % config)
        if model_dir and config.model_dir and model_dir != config.model_dir:
            raise ValueError("`model_dir` are set both in constructor and `RunConfig`, but with different values. In "
                             "constructor: '%s', in `RunConfig`: '%s' " % (model_dir, config.model_dir))
        self._model_dir = model_dir or config.model_dir or tempfile.mkdtemp()
        self._config = config.replace(model_dir=self._model_dir)
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        arguments = set(fn_args(model_fn))
        if "features" not in arguments:
            raise ValueError("model_fn (%s) must include features argument." % model_fn)
        self._model_fn, self._params = model_fn, copy.deepcopy(params or {})
        if isinstance(warm_start_from, str):
            warm_start_from = WarmStartSettings(warm_start_from)
        self._warm_start_settings = warm_start_from
        self._session_config = self._config.session_config or messages.ConfigProto(allow_soft_placement=True)

    model_dir = property(lambda self: self._model_dir)
    config = property(lambda self: self._config)
    params = property(lambda self: copy.deepcopy(self._params))

    @property
    def model_fn(self):
        return lambda features, labels, mode, config: self._call_model_fn(features, labels, mode, config)

    def latest_checkpoint(self):
        return latest_checkpoint(self._model_dir)

    def get_variable_value(self, name):
        return load_variable(self._checkpoint(), name)

    def get_variable_names(self):
        return [name for name, _ in list_variables(self._checkpoint())]

    def _checkpoint(self):
        found = self.latest_checkpoint()
        if not found:
            raise ValueError("Estimator has not been trained yet.")
        return found

    def eval_dir(self, name=None):
        return os.path.join(self._model_dir, "eval" if not name else "eval_" + name)

    # ---- the parts

    def _call_input_fn(self, input_fn, mode):
        arguments = fn_args(input_fn)
        given = {k: v for k, v in (("mode", mode), ("params", self.params), ("config", self._config)) if k in arguments}
        found = input_fn(**given)
        if hasattr(found, "_variant_tensor"):
            iterator = found.make_initializable_iterator()
            get_default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
            found = iterator.get_next()
        if isinstance(found, (list, tuple)) and not hasattr(found, "_fields"):
            if len(found) != 2:
                raise ValueError("input_fn should return (features, labels) as a len 2 tuple.")
            return found[0], found[1]
        return found, None

    def _call_model_fn(self, features, labels, mode, config=None):
        arguments = fn_args(self._model_fn)
        given = {k: v for k, v in (("labels", labels), ("mode", mode), ("params", self.params),
                                   ("config", config or self._config)) if k in arguments}
        if "labels" not in arguments and labels is not None:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        logging.info("Calling model_fn.")
        spec = self._model_fn(features=features, **given)
        if not isinstance(spec, EstimatorSpec):
            raise ValueError("model_fn should return an EstimatorSpec.")
        logging.info("Done calling model_fn.")
        return spec

    def _begin_graph(self, graph):
        graph.seed = self._config.tf_random_seed
        step = create_global_step(graph)
        if step.dtype.base_dtype.name not in ("int32", "int64"):
            raise TypeError("global_step must have an integer type")
        return step

    # ---- training

    def train(self, input_fn, hooks=None, steps=None, max_steps=None, saving_listeners=None):
        """Trains until the input ends, or for so many steps; gives the estimator."""
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        for value, name in ((steps, "steps"), (max_steps, "max_steps")):
            if value is not None and value <= 0:
                raise ValueError("Must specify %s > 0, given: %s" % (name, value))
        if max_steps is not None:
            done = _step_of(self._model_dir)
            if max_steps <= done:
                logging.info("Skipping training since max_steps has already saved.")
                return self
        hooks = list(hooks or [])
        if steps is not None or max_steps is not None:
            hooks.append(basic.StopAtStepHook(steps, max_steps))
        loss = self._train_model(input_fn, hooks, list(saving_listeners or []))
        logging.info("Loss for final step: %s.", loss)
        return self

    def _train_model(self, input_fn, hooks, listeners):
        with Graph().as_default() as graph, graph.device(self._config.device_fn):
            step = self._begin_graph(graph)
            features, labels = self._call_input_fn(input_fn, ModeKeys.TRAIN)
            spec = self._call_model_fn(features, labels, ModeKeys.TRAIN)
            if self._warm_start_settings:
                _warm_start(*self._warm_start_settings)
            graph.add_to_collection(GraphKeys.LOSSES, spec.loss)
            if not any(s.op.type == "ScalarSummary" and s.op.name == "loss" for s in graph.get_collection(
                    GraphKeys.SUMMARIES)):
                summary.scalar("loss", spec.loss)
            return self._run_training(spec, step, hooks, listeners)

    def _run_training(self, spec, step, hooks, listeners):
        config = self._config
        all_hooks = hooks + [basic.NanTensorHook(spec.loss), basic.LoggingTensorHook(
            {"loss": spec.loss, "step": step}, every_n_iter=config.log_step_count_steps or 100)] + list(spec.training_hooks)
        if not (spec.scaffold.saver or get_default_graph().get_collection(GraphKeys.SAVERS)):
            get_default_graph().add_to_collection(GraphKeys.SAVERS, Saver(
                sharded=True, max_to_keep=config.keep_checkpoint_max, defer_build=True,
                keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours, save_relative_paths=True))
        chief = list(spec.training_chief_hooks)
        saving = [h for h in all_hooks + chief if isinstance(h, basic.CheckpointSaverHook)]
        if not saving and (config.save_checkpoints_secs or config.save_checkpoints_steps):
            saving = [basic.CheckpointSaverHook(self._model_dir, config.save_checkpoints_secs,
                                                config.save_checkpoints_steps, scaffold=spec.scaffold)]
            chief += saving
            os.makedirs(self._model_dir, exist_ok=True)
        if listeners:
            if not saving:
                raise ValueError("There should be a CheckpointSaverHook to use saving_listeners. Please set one of the "
                                 "RunConfig.save_checkpoints_steps or RunConfig.save_checkpoints_secs.")
            saving[0]._listeners = list(saving[0]._listeners) + listeners
        loss = None
        with MonitoredTrainingSession(
                master=config.master, is_chief=config.is_chief, checkpoint_dir=self._model_dir, scaffold=spec.scaffold,
                hooks=all_hooks, chief_only_hooks=chief, save_checkpoint_secs=0, save_checkpoint_steps=None,
                save_summaries_steps=config.save_summary_steps, config=self._session_config,
                log_step_count_steps=config.log_step_count_steps) as session:
            while not session.should_stop():
                _, loss = session.run([spec.train_op, spec.loss])
        return loss

    # ---- evaluation

    def evaluate(self, input_fn, steps=None, hooks=None, checkpoint_path=None, name=None):
        """{metric: value} over the input, or over so many of its batches."""
        if steps is not None and steps <= 0:
            raise ValueError("Must specify steps > 0, given: %s" % steps)
        path = checkpoint_path or self.latest_checkpoint()
        if not path and not self._warm_start_settings:
            logging.info("Could not find trained model in model_dir: %s, running initialization to evaluate.",
                         self._model_dir)
        with Graph().as_default() as graph:
            step = self._begin_graph(graph)
            features, labels = self._call_input_fn(input_fn, ModeKeys.EVAL)
            spec = self._call_model_fn(features, labels, ModeKeys.EVAL)
            values, update = _metric_ops(spec, step)
            found = self._run_evaluation(spec, values, update, path, steps, list(hooks or []))
        folder = self.eval_dir(name)
        logging.info("Saving dict for global step %d: %s", found["global_step"], ", ".join(
            "%s = %s" % (k, v) for k, v in sorted(found.items())))
        _write_values(folder, found)
        return found

    def _run_evaluation(self, spec, values, update, path, steps, hooks):
        final = basic.FinalOpsHook(values)
        hooks += list(spec.evaluation_hooks) + [final]
        if steps:
            hooks.append(_StopAfter(steps))
        creator = ChiefSessionCreator(scaffold=spec.scaffold, master=self._config.evaluation_master,
                                      config=self._session_config, checkpoint_filename_with_path=path)
        with MonitoredSession(session_creator=creator, hooks=hooks) as session:
            while not session.should_stop():
                session.run(update)
        return {k: v for k, v in final.final_ops_values.items()}

    # ---- prediction

    def predict(self, input_fn, predict_keys=None, hooks=None, checkpoint_path=None, yield_single_examples=True):
        """What the model gives for the input, one example after another."""
        path = checkpoint_path or self.latest_checkpoint()
        with Graph().as_default() as graph:
            self._begin_graph(graph)
            features, labels = self._call_input_fn(input_fn, ModeKeys.PREDICT)
            spec = self._call_model_fn(features, None, ModeKeys.PREDICT)
            predictions = _chosen(spec.predictions, predict_keys)
            creator = ChiefSessionCreator(scaffold=spec.scaffold, master=self._config.master, config=self._session_config,
                                          checkpoint_filename_with_path=path)
            with MonitoredSession(session_creator=creator,
                                  hooks=list(hooks or []) + list(spec.prediction_hooks)) as session:
                while not session.should_stop():
                    found = session.run(predictions)
                    if not yield_single_examples:
                        yield found
                    elif not isinstance(predictions, dict):
                        for one in found:
                            yield one
                    else:
                        n = {len(v) for v in found.values()}
                        if len(n) != 1:
                            raise ValueError("Batch length of predictions should be same. %s" % sorted(n))
                        for i in range(n.pop()):
                            yield {key: value[i] for key, value in found.items()}

    # ---- export

    def export_saved_model(self, export_dir_base, serving_input_receiver_fn, assets_extra=None, as_text=False,
                           checkpoint_path=None, experimental_mode=ModeKeys.PREDICT):
        """Writes a SavedModel into a folder named by the time, and gives its path."""
        path = checkpoint_path or self.latest_checkpoint()
        if not path:
            raise ValueError("Couldn't find trained model at %s." % self._model_dir)
        folder = _new_folder(export_dir_base)
        with Graph().as_default() as graph:
            self._begin_graph(graph)
            receiver = serving_input_receiver_fn()
            spec = self._call_model_fn(receiver.features, None, ModeKeys.PREDICT)
            signatures = _signatures(spec, receiver)
            with Session(config=self._session_config) as session:
                saver = spec.scaffold.saver or Saver(sharded=True)
                saver.restore(session, path)
                from ..lookup_ops import tables_initializer
                from ..control_flow import group
                init = spec.scaffold.local_init_op or group(variables.local_variables_initializer(), tables_initializer())
                builder = saved_model.Builder(folder)
                builder.add_meta_graph_and_variables(
                    session, [saved_model.SERVING], signatures, main_op=init, saver=saver,
                    assets_collection=graph.get_collection(GraphKeys.ASSET_FILEPATHS))
                builder.save(as_text)
        _copy_assets(folder, assets_extra)
        return folder.encode()

    export_savedmodel = export_saved_model


class _StopAfter(basic.SessionRunHook):
    """Stops after so many runs."""

    def __init__(self, runs):
        self._left = runs

    def after_run(self, run_context, run_values):
        self._left -= 1
        if self._left <= 0:
            run_context.request_stop()


def _metric_ops(spec, step):
    """({name: value}, operation that updates all)."""
    from ..control_flow import group
    from ..metrics import mean
    ops = dict(spec.eval_metric_ops)
    if LOSS_METRIC_KEY in ops:
        raise ValueError("Metric with name \"%s\" is not allowed, because Estimator already defines a default metric with "
                         "the same name." % LOSS_METRIC_KEY)
    ops[LOSS_METRIC_KEY] = mean(spec.loss)
    values, updates = {}, []
    for key, (value, update) in ops.items():
        values[key] = value
        updates.append(update)
    values[GraphKeys.GLOBAL_STEP] = step
    return values, group(*updates)


def _chosen(predictions, keys):
    if not keys:
        return predictions
    if not isinstance(predictions, dict):
        raise ValueError("predict_keys argument is not valid in case of non-dict predictions.")
    found = {k: v for k, v in predictions.items() if k in keys}
    if not found:
        raise ValueError("Expected to run at least one output from %s, provided %s." % (list(predictions), keys))
    return found


def _step_of(model_dir):
    path = latest_checkpoint(model_dir)
    try:
        return int(load_variable(path, GraphKeys.GLOBAL_STEP)) if path else 0
    except Exception:  # a checkpoint without a step
        return 0


_load_global_step_from_checkpoint_dir = _step_of


def _write_values(folder, values):
    """An evaluation's numbers as a summary."""
    found, step = messages.Summary(), int(values.get("global_step", 0))
    for key, value in values.items():
        if key == "global_step":
            continue
        if np.ndim(value) == 0 and isinstance(value, (int, float, np.number)):
            found.value.add(tag=key, simple_value=float(value))
        else:
            logging.warning("Skipping summary for %s, must be a float, np.float32, np.int64, np.int32 or int or a serialized "
                            "string of Summary.", key)
    writer = summary.FileWriterCache.get(folder)
    writer.add_summary(found, step)
    writer.flush()


def _warm_start(checkpoint, which, vocabularies, renamed):
    if vocabularies:
        raise NotImplementedError("warm start with vocabularies is not part of Millrace")
    import re
    chosen = variables.global_variables() if which is None else [
        v for v in variables.trainable_variables() if re.search(which if isinstance(which, str) else "|".join(which), v.name)]
    assignments = {renamed.get(v.op.name, v.op.name): v for v in chosen}
    init_from_checkpoint(checkpoint, assignments)


def _new_folder(base):
    base = base.decode() if isinstance(base, bytes) else base
    stamp = int(time.time())
    while os.path.exists(os.path.join(base, str(stamp))):
        stamp += 1
    return os.path.join(base, str(stamp))


def _signatures(spec, receiver):
    from .export import ExportOutput, PredictOutput
    outputs = spec.export_outputs
    if not outputs:
        outputs = {saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY: PredictOutput(spec.predictions)}
    for value in outputs.values():
        if not isinstance(value, ExportOutput):
            raise TypeError("Values in export_outputs must be ExportOutput objects. Given: %s" % (outputs,))
    key = saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    if len(outputs) == 1:
        outputs = {key: next(iter(outputs.values())), **outputs}
    elif key not in outputs:
        raise ValueError("Multiple export_outputs were provided, but none of them is specified as the default.  Do this by "
                         "naming one of them with signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY.")
    found = {}
    for name, output in outputs.items():
        try:
            found[name] = output.as_signature_def(receiver.receiver_tensors)
        except ValueError as error:
            logging.info("signature %s is left out: %s", name, error)
    return found


def _copy_assets(folder, assets_extra):
    import shutil
    for target, source in (assets_extra or {}).items():
        path = os.path.join(folder, "assets.extra", target)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copyfile(source, path)
