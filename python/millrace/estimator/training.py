"""training — train_and_evaluate: training with evaluations in between, and exports."""
import collections
import os

import millrace.logging as logging
from ..train.hooks import CheckpointSaverListener


class TrainSpec(collections.namedtuple("TrainSpec", ["input_fn", "max_steps", "hooks", "saving_listeners"])):
    """What to train with, and for how many steps."""

    def __new__(cls, input_fn, max_steps=None, hooks=None, saving_listeners=None):
        if not callable(input_fn):
            raise TypeError("`input_fn` must be callable, given: %s" % (input_fn,))
        if max_steps is not None and max_steps <= 0:
            raise ValueError("Must specify max_steps > 0, given: %s" % max_steps)
        return super().__new__(cls, input_fn, max_steps, tuple(hooks or ()), tuple(saving_listeners or ()))


class EvalSpec(collections.namedtuple("EvalSpec", ["input_fn", "steps", "name", "hooks", "exporters", "start_delay_secs",
                                                   "throttle_secs"])):
    """What to evaluate with, and how often."""

    def __new__(cls, input_fn, steps=100, name=None, hooks=None, exporters=None, start_delay_secs=120, throttle_secs=600):
        if not callable(input_fn):
            raise TypeError("`input_fn` must be callable, given: %s" % (input_fn,))
        if steps is not None and steps <= 0:
            raise ValueError("Must specify steps > 0, given: %s" % steps)
        exporters = () if exporters is None else tuple(exporters) if isinstance(exporters, (list, tuple)) else (exporters,)
        return super().__new__(cls, input_fn, steps, name, tuple(hooks or ()), exporters, start_delay_secs, throttle_secs)


class Exporter:
    """Called after evaluations: `export(estimator, export_path, checkpoint_path, eval_result, is_the_final_export)`."""


class _SavedModelExporter(Exporter):
    def __init__(self, name, serving_input_receiver_fn, assets_extra=None, as_text=False):
        self._name, self._receiver, self._assets, self._as_text = name, serving_input_receiver_fn, assets_extra, as_text

    name = property(lambda self: self._name)

    def _write(self, estimator, export_path, checkpoint_path):
        return estimator.export_saved_model(export_path, self._receiver, self._assets, self._as_text, checkpoint_path)


class FinalExporter(_SavedModelExporter):
    """Exports once, at the end."""

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        return self._write(estimator, export_path, checkpoint_path) if is_the_final_export else None


def _keep(export_path, n):
    import shutil
    found = sorted((f for f in os.listdir(export_path) if f.isdigit()), key=int)
    for old in found[:-n] if n else ():
        shutil.rmtree(os.path.join(export_path, old))


class LatestExporter(_SavedModelExporter):
    """Exports after each evaluation; keeps the last few."""

    def __init__(self, name, serving_input_receiver_fn, assets_extra=None, as_text=False, exports_to_keep=5):
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)
        self._exports_to_keep = exports_to_keep

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        path = self._write(estimator, export_path, checkpoint_path)
        _keep(export_path, self._exports_to_keep)
        return path


def _loss_smaller(best_eval_result, current_eval_result):
    return best_eval_result["loss"] > current_eval_result["loss"]


class BestExporter(LatestExporter):
    """Exports after an evaluation that is better than all before."""

    def __init__(self, name="best_exporter", serving_input_receiver_fn=None, event_file_pattern="eval/*.tfevents.*",
                 compare_fn=_loss_smaller, assets_extra=None, as_text=False, exports_to_keep=5):
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)
        self._compare_fn, self._best = compare_fn, None

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        if self._best is not None and not self._compare_fn(self._best, eval_result):
            return None
        self._best = eval_result
        return super().export(estimator, export_path, checkpoint_path, eval_result, is_the_final_export)


class _Evaluations(CheckpointSaverListener):
    """Evaluates when a checkpoint has been saved."""

    def __init__(self, estimator, eval_spec, max_steps):
        self._estimator, self._spec, self._max_steps = estimator, eval_spec, max_steps
        self._first, self.result, self.exported = True, None, []

    def after_save(self, session, global_step_value):
        if self._first:
            self._first = False
            return False
        if self._max_steps is not None and global_step_value >= self._max_steps:
            return True
        self.evaluate(False)
        return False

    def evaluate(self, final):
        estimator, spec = self._estimator, self._spec
        self.result = estimator.evaluate(spec.input_fn, spec.steps, hooks=list(spec.hooks), name=spec.name)
        self.exported = []
        for exporter in spec.exporters:
            path = os.path.join(estimator.model_dir, "export", exporter.name)
            os.makedirs(path, exist_ok=True)
            self.exported.append(exporter.export(estimator, path, estimator.latest_checkpoint(), self.result, final))


def train_and_evaluate(estimator, train_spec, eval_spec):
    """Trains, evaluating each checkpoint; gives the last evaluation and what was exported."""
    config = estimator.config
    if config.cluster_spec and config.task_type == "evaluator":
        raise NotImplementedError("an evaluator task of a cluster is not part of Millrace: evaluate in the chief")
    if config.cluster_spec and config.task_type == "ps":
        from ..train.server import Server
        Server(config.cluster_spec, config.task_type, config.task_id).join()
        return None
    listener = _Evaluations(estimator, eval_spec, train_spec.max_steps)
    logging.info("Start train and evaluate loop. The evaluate will happen after every checkpoint. Checkpoint frequency is "
                 "determined based on RunConfig arguments: save_checkpoints_steps %s or save_checkpoints_secs %s.",
                 config.save_checkpoints_steps, config.save_checkpoints_secs)
    estimator.train(train_spec.input_fn, hooks=list(train_spec.hooks), max_steps=train_spec.max_steps,
                    saving_listeners=list(train_spec.saving_listeners) + [listener])
    listener.evaluate(True)
    return listener.result, listener.exported
