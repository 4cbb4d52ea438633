"""callbacks — what is called between the steps and epochs of fit: history, early stopping, checkpoints, rates, logs."""
import csv
import os
import sys

import numpy as np


class Callback:
    """Methods that fit, evaluate and predict call; a subclass overrides those that it needs."""

    def __init__(self):
        self.validation_data = self.model = self.params = None

    def set_model(self, model):
        self.model = model

    def set_params(self, params):
        self.params = params


def _nothing(self, *args, **kwargs):
    return None


_EVENTS = ["on_epoch_begin", "on_epoch_end", "on_batch_begin", "on_batch_end"] + [
    "on_%s_%s" % (w, e) for w in ("train", "test", "predict") for e in ("begin", "end", "batch_begin", "batch_end")]
for _name in _EVENTS:
    setattr(Callback, _name, _nothing)
Callback.on_train_batch_begin = lambda self, batch, logs=None: self.on_batch_begin(batch, logs)
Callback.on_train_batch_end = lambda self, batch, logs=None: self.on_batch_end(batch, logs)


class CallbackList:
    """Several callbacks as one. `wants_batches`: whether one of them looks at each batch."""

    def __init__(self, callbacks=None, model=None, params=None):
        self.callbacks = list(callbacks or [])
        for one in self.callbacks:
            one.set_model(model)
            one.set_params(params or {})
        looked_at = ("on_batch_end", "on_train_batch_end", "on_test_batch_end", "on_predict_batch_end", "on_batch_begin",
                     "on_train_batch_begin", "on_test_batch_begin", "on_predict_batch_begin")
        self.wants_batches = any(getattr(type(c), n, None) is not getattr(Callback, n) for c in self.callbacks
                                 for n in looked_at)

    def call(self, event, *args):
        for one in self.callbacks:
            getattr(one, event)(*args)

    def __iter__(self):
        return iter(self.callbacks)


class History(Callback):
    """What fit gives: `history`, a list for each figure, and `epoch`."""

    def __init__(self):
        super().__init__()
        self.history, self.epoch = {}, []

    def on_train_begin(self, logs=None):
        self.epoch = []

    def on_epoch_end(self, epoch, logs=None):
        self.epoch.append(epoch)
        for key, value in (logs or {}).items():
            self.history.setdefault(key, []).append(value)
        self.model.history = self


class LambdaCallback(Callback):
    """Functions as a callback: LambdaCallback(on_epoch_end=lambda epoch, logs: ...)."""

    def __init__(self, **functions):
        super().__init__()
        for name, function in functions.items():
            if name not in _EVENTS:
                raise ValueError("there is no event %s" % name)
            if function is not None:
                setattr(self, name, function)


class _Monitor(Callback):
    """What watches a figure that shall fall or rise."""

    def __init__(self, monitor, mode, min_delta=0.0):
        super().__init__()
        if mode not in ("auto", "min", "max"):
            mode = "auto"
        self.monitor, self.mode, self.min_delta = monitor, mode, abs(min_delta)
        rises = mode == "max" or mode == "auto" and any(w in monitor for w in ("acc", "auc", "precision", "recall", "f1"))
        self._sign = 1 if rises else -1

    def _better(self, value, best):
        return best is None or self._sign * (value - best) > self.min_delta

    def _value(self, logs):
        value = (logs or {}).get(self.monitor)
        if value is None:
            import warnings
            warnings.warn("%s is conditioned on metric `%s` which is not available. Available metrics are: %s" % (
                type(self).__name__, self.monitor, ",".join(logs or {})), stacklevel=3)
        return value


class EarlyStopping(_Monitor):
    """Ends training where the figure has not become better for `patience` epochs."""

    def __init__(self, monitor="val_loss", min_delta=0, patience=0, verbose=0, mode="auto", baseline=None,
                 restore_best_weights=False, start_from_epoch=0):
        super().__init__(monitor, mode, min_delta)
        self.patience, self.verbose, self.baseline = patience, verbose, baseline
        self.restore_best_weights, self.start_from_epoch = restore_best_weights, start_from_epoch

    def on_train_begin(self, logs=None):
        self.wait, self.stopped_epoch, self.best, self.best_weights, self.best_epoch = 0, 0, None, None, 0

    def on_epoch_end(self, epoch, logs=None):
        value = self._value(logs)
        if value is None or epoch < self.start_from_epoch:
            return
        if self.restore_best_weights and self.best_weights is None:
            self.best_weights = self.model.get_weights()
        self.wait += 1
        if self._better(value, self.best):
            self.best, self.best_epoch = value, epoch
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            if self.baseline is None or self._better(value, self.baseline):
                self.wait = 0
            return
        if self.wait >= self.patience and epoch > 0:
            self.stopped_epoch = epoch
            self.model.stop_training = True

    def on_train_end(self, logs=None):
        if self.stopped_epoch and self.verbose:
            print("Epoch %d: early stopping" % (self.stopped_epoch + 1))
        if self.restore_best_weights and self.best_weights is not None:
            self.model.set_weights(self.best_weights)


class ModelCheckpoint(_Monitor):
    """Saves the model, or its weights, after epochs; the path may name epoch and figures: "{epoch:02d}-{val_loss:.2f}"."""

    def __init__(self, filepath, monitor="val_loss", verbose=0, save_best_only=False, save_weights_only=False, mode="auto",
                 save_freq="epoch", initial_value_threshold=None):
        super().__init__(monitor, mode)
        self.filepath, self.verbose = os.fspath(filepath), verbose
        self.save_best_only, self.save_weights_only, self.save_freq = save_best_only, save_weights_only, save_freq
        self.best, self._batches = initial_value_threshold, 0
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError("Unrecognized save_freq: %s. Expected save_freq are 'epoch' or integer values" % save_freq)

    def on_train_batch_end(self, batch, logs=None):
        self._batches += 1
        if self.save_freq != "epoch" and self._batches % self.save_freq == 0:
            self._save(0, logs)

    def on_epoch_end(self, epoch, logs=None):
        if self.save_freq == "epoch":
            self._save(epoch, logs)

    def _save(self, epoch, logs):
        path = self.filepath.format(epoch=epoch + 1, **(logs or {}))
        if self.save_best_only:
            value = self._value(logs)
            if value is None or not self._better(value, self.best):
                return
            if self.verbose:
                print("\nEpoch %d: %s improved to %.5f, saving model to %s" % (epoch + 1, self.monitor, value, path))
            self.best = value
        folder = os.path.dirname(path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        if self.save_weights_only:
            self.model.save_weights(path, overwrite=True)
        else:
            self.model.save(path, overwrite=True)


class LearningRateScheduler(Callback):
    """schedule(epoch, rate) gives the epoch's rate."""

    def __init__(self, schedule, verbose=0):
        super().__init__()
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch, logs=None):
        optimizer = self.model.optimizer
        rate = float(optimizer.learning_rate)
        try:
            rate = self.schedule(epoch, rate)
        except TypeError:
            rate = self.schedule(epoch)
        if not isinstance(rate, (float, np.floating, int)):
            raise ValueError("The output of the `schedule` function should be a float. Got: %s" % (rate,))
        optimizer.learning_rate = rate
        if self.verbose:
            print("\nEpoch %d: LearningRateScheduler setting learning rate to %s." % (epoch + 1, rate))

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None:
            logs["learning_rate"] = float(self.model.optimizer.learning_rate)


class ReduceLROnPlateau(_Monitor):
    """Multiplies the rate by `factor` where the figure has not become better for `patience` epochs."""

    def __init__(self, monitor="val_loss", factor=0.1, patience=10, verbose=0, mode="auto", min_delta=1e-4, cooldown=0,
                 min_lr=0.0):
        super().__init__(monitor, mode, min_delta)
        if factor >= 1.0:
            raise ValueError("ReduceLROnPlateau does not support a factor >= 1.0. Got %s" % factor)
        self.factor, self.patience, self.verbose, self.cooldown, self.min_lr = factor, patience, verbose, cooldown, min_lr

    def on_train_begin(self, logs=None):
        self.best, self.wait, self._cooling = None, 0, 0

    def on_epoch_end(self, epoch, logs=None):
        value = self._value(logs)
        if logs is not None:
            logs["learning_rate"] = float(self.model.optimizer.learning_rate)
        if value is None:
            return
        if self._cooling:
            self._cooling, self.wait = self._cooling - 1, 0
        if self._better(value, self.best):
            self.best, self.wait = value, 0
        elif not self._cooling:
            self.wait += 1
            rate = float(self.model.optimizer.learning_rate)
            if self.wait >= self.patience and rate > self.min_lr:
                self.model.optimizer.learning_rate = max(rate * self.factor, self.min_lr)
                self._cooling, self.wait = self.cooldown, 0


class TerminateOnNaN(Callback):
    def on_batch_end(self, batch, logs=None):
        loss = (logs or {}).get("loss")
        if loss is not None and not np.isfinite(loss):
            print("Batch %d: Invalid loss, terminating training" % batch)
            self.model.stop_training = True


class CSVLogger(Callback):
    """A line for each epoch in a file of comma-separated values."""

    def __init__(self, filename, separator=",", append=False):
        super().__init__()
        self.filename, self.sep, self.append = os.fspath(filename), separator, append

    def on_train_begin(self, logs=None):
        there = self.append and os.path.exists(self.filename) and os.path.getsize(self.filename) > 0
        self._file = open(self.filename, "a" if self.append else "w", newline="")
        self._writer, self._header = None, not there

    def on_epoch_end(self, epoch, logs=None):
        logs = logs or {}
        if self._writer is None:
            self._keys = sorted(logs)
            self._writer = csv.DictWriter(self._file, ["epoch"] + self._keys, delimiter=self.sep)
            if self._header:
                self._writer.writeheader()
        self._writer.writerow(dict({k: logs.get(k, "NA") for k in self._keys}, epoch=epoch))
        self._file.flush()

    def on_train_end(self, logs=None):
        self._file.close()


class TensorBoard(Callback):
    """The figures of epochs as event files that TensorBoard reads, in log_dir/train and log_dir/validation."""

    def __init__(self, log_dir="logs", histogram_freq=0, write_graph=True, write_images=False, write_steps_per_second=False,
                 update_freq="epoch", profile_batch=0, embeddings_freq=0, embeddings_metadata=None):
        super().__init__()
        self.log_dir, self.update_freq = os.fspath(log_dir), update_freq
        self._writers, self._step = {}, 0

    def _write(self, which, step, values):
        from .. import messages, summary
        if which not in self._writers:
            self._writers[which] = summary.FileWriter(os.path.join(self.log_dir, which))
        record = messages.Summary()
        for name, value in values.items():
            record.value.add(tag=name, simple_value=float(value))
        self._writers[which].add_summary(record, step)
        self._writers[which].flush()

    def on_train_batch_end(self, batch, logs=None):
        self._step += 1
        every = 1 if self.update_freq == "batch" else self.update_freq
        if isinstance(every, int) and self._step % every == 0:
            self._write("train", self._step, {"batch_" + k: v for k, v in (logs or {}).items()})

    def on_epoch_end(self, epoch, logs=None):
        logs = logs or {}
        train = {"epoch_" + k: v for k, v in logs.items() if not k.startswith("val_")}
        seen = {"epoch_" + k[4:]: v for k, v in logs.items() if k.startswith("val_")}
        train.setdefault("epoch_learning_rate", float(self.model.optimizer.learning_rate))
        self._write("train", epoch, train)
        if seen:
            self._write("validation", epoch, seen)

    def on_train_end(self, logs=None):
        for writer in self._writers.values():
            writer.close()
        self._writers = {}


class ProgbarLogger(Callback):
    """The bar. `verbose` 1: a bar, 2: a line for each epoch."""

    def __init__(self):
        super().__init__()
        self._bar = None

    def _begin(self, steps):
        from .progress import Progbar
        self._bar = Progbar(steps, verbose=self.params.get("verbose", 1))
        self._seen = 0

    def on_train_begin(self, logs=None):
        self._epochs = self.params.get("epochs")

    def on_epoch_begin(self, epoch, logs=None):
        if self.params.get("verbose"):
            print("Epoch %d/%s" % (epoch + 1, self._epochs))
            sys.stdout.flush()
        self._begin(self.params.get("steps"))

    def on_train_batch_end(self, batch, logs=None):
        self._seen = batch + 1
        self._bar.update(self._seen, (logs or {}).items(), finalize=False)

    def on_epoch_end(self, epoch, logs=None):
        self._bar.target = self._bar.target or self._seen
        self._bar.update(self._bar.target, (logs or {}).items(), finalize=True)

    def _on_begin(self, logs=None):
        if not self.params.get("nested"):
            self._begin(self.params.get("steps"))

    def _on_batch_end(self, batch, logs=None):
        if not self.params.get("nested"):
            self._seen = batch + 1
            self._bar.update(self._seen, (logs or {}).items(), finalize=False)

    def _on_end(self, logs=None):
        if not self.params.get("nested"):
            self._bar.target = self._bar.target or self._seen
            self._bar.update(self._bar.target, (logs or {}).items(), finalize=True)

    on_test_begin = on_predict_begin = _on_begin
    on_test_batch_end = on_predict_batch_end = _on_batch_end
    on_test_end = on_predict_end = _on_end
