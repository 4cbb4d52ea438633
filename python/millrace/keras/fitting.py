"""fitting — compile, fit, evaluate, predict: batches of arrays, datasets or generators through a traced step."""
import math

import numpy as np

from .. import nest
from ..convert import convert_to_tensor
from ..eager.function import function
from ..eager.tape import GradientTape
from ..eager.tensor import EagerTensor
from ..graph import init_scope
from . import callbacks as callbacks_module
from . import losses, metrics, optimizers

# ---------------------------------------- batches


def _array(value):
    return value if isinstance(value, (np.ndarray, EagerTensor)) else np.asarray(value)


def _length(structure):
    sizes = {len(a) for a in nest.flatten(structure)}
    if len(sizes) > 1:
        raise ValueError("Data cardinality is ambiguous. Make sure all arrays contain the same number of samples: %s" % (
            sorted(sizes),))
    return sizes.pop()


class Batches:
    """What fit goes over: `epoch()` gives (x, y, sample_weight) of one epoch; `steps` how many, None where unknown."""

    def __init__(self, x, y=None, sample_weight=None, batch_size=None, shuffle=True, steps=None, class_weight=None):
        self.class_weight, self.shuffle, self._iterator = class_weight, shuffle, None
        arrays = isinstance(x, (np.ndarray, EagerTensor, list, tuple, dict)) or hasattr(x, "__array__")
        if arrays and not hasattr(x, "__next__"):
            as_structure = lambda v: None if v is None else nest.map_structure(_array, v) if isinstance(
                v, dict) or isinstance(v, (list, tuple)) and len(v) and hasattr(v[0], "shape") else _array(v)
            self.data = tuple(as_structure(v) for v in (x, y, sample_weight))
            n = _length([d for d in self.data if d is not None])
            self.batch_size = batch_size or 32
            self.steps = int(math.ceil(n / self.batch_size)) if n else 0
            self.n, self.source = n, None
            if n == 0:
                raise ValueError("Expected input data to be non-empty.")
        else:
            if y is not None:
                raise ValueError("When providing `x` as a dataset or generator, `y` should not be passed; the targets should be "
                                 "part of what it gives.")
            self.source, self.data = x, None
            self.steps = len(x) if hasattr(x, "__len__") else None
        self.limit = steps
        if steps is not None:
            self.steps = steps

    def _of_source(self):
        if hasattr(self.source, "__getitem__") and hasattr(self.source, "__len__"):     # a Sequence
            for i in range(len(self.source)):
                yield self.source[i]
            if hasattr(self.source, "on_epoch_end"):
                self.source.on_epoch_end()
        elif hasattr(self.source, "__next__"):
            yield from self.source
        else:
            yield from iter(self.source)

    def epoch(self):
        if self.data is not None:
            yield from self._of_arrays()
            return
        if self._iterator is None or self.limit is None:
            self._iterator = self._of_source()
        done = 0
        while self.limit is None or done < self.limit:
            try:
                batch = next(self._iterator)
            except StopIteration:
                if self.limit is None or not done and hasattr(self.source, "__next__"):
                    return
                self._iterator = self._of_source()
                if done == 0:
                    batch = next(self._iterator, None)
                    if batch is None:
                        return
                else:
                    return
            done += 1
            batch = batch if isinstance(batch, tuple) else (batch,)
            yield self._weighted(*(tuple(batch) + (None,) * (3 - len(batch))))

    def _of_arrays(self):
        order = np.random.permutation(self.n) if self.shuffle else None
        for i in range(self.steps):
            at = slice((i * self.batch_size) % self.n, (i * self.batch_size) % self.n + self.batch_size)
            chosen = at if order is None else order[at]
            take = lambda a: a[chosen] if isinstance(a, np.ndarray) or order is None else a.numpy()[chosen]
            yield self._weighted(*[None if d is None else nest.map_structure(take, d) for d in self.data])

    def _weighted(self, x, y, weight):
        if self.class_weight is not None and y is not None:
            labels = np.asarray(y)
            if labels.ndim > 1 and labels.shape[-1] > 1:
                labels = labels.argmax(-1)
            own = np.array([self.class_weight.get(int(c), 1.0) for c in labels.ravel()], np.float32)
            weight = own if weight is None else own * np.asarray(weight, np.float32).ravel()
        return x, y, weight


def split(data, part):
    """(the first of the data, the last `part` of it)"""
    n = _length([d for d in data if d is not None])
    cut = int(math.floor(n * (1.0 - part)))
    if cut in (0, n):
        raise ValueError("Training data contains %d samples, which is not sufficient to split it into a validation and training "
                         "set as specified by `validation_split=%s`." % (n, part))
    take = lambda s: tuple(None if d is None else nest.map_structure(lambda a: _array(a)[s], d) for d in data)
    return take(slice(0, cut)), take(slice(cut, n))


def unpack_x_y_sample_weight(data):
    """(x, y, sample_weight) of what a dataset gives."""
    if not isinstance(data, (list, tuple)):
        return data, None, None
    return tuple(data) + (None,) * (3 - len(data))


# ---------------------------------------- what is compiled

class _Compiled:
    """Losses and metrics by output. The metrics are made when the first shapes are known."""

    def __init__(self, loss, loss_weights, given, weighted):
        self.loss, self.loss_weights, self.given, self.weighted = loss, loss_weights, given, weighted
        self.metrics = None
        self._losses = None

    def _by_output(self, value, n, names):
        if isinstance(value, dict):
            return [value.get(name) for name in names]
        if isinstance(value, (list, tuple)) and n > 1:
            if len(value) != n:
                raise ValueError("expected %d values for %d outputs, got %s" % (n, n, value))
            return list(value)
        return [value] * n

    def losses(self, y_pred, names):
        if self._losses is None:
            n = len(nest.flatten(y_pred))
            self._losses = [losses.get(l) for l in self._by_output(self.loss, n, names)]
            self._weights = self._by_output(self.loss_weights, n, names) if self.loss_weights is not None else [None] * n
        return self._losses

    def total(self, y, y_pred, sample_weight, names):
        """The loss over all outputs, or None where none is compiled."""
        found, total, weights = self.losses(y_pred, names), None, nest.flatten(sample_weight) if sample_weight is not None \
            else []
        flat_pred = nest.flatten(y_pred)
        flat_y = [y[k] for k in (y_pred if isinstance(y_pred, dict) else names)] if isinstance(y, dict) else nest.flatten(y) \
            if len(flat_pred) > 1 else [y]
        self.parts = []
        for i, (loss, truth, pred) in enumerate(zip(found, flat_y, flat_pred)):
            if loss is None:
                continue
            weight = None if not weights else weights[i] if len(weights) == len(flat_pred) else weights[0]
            value = loss(truth, pred, weight)
            self.parts.append((names[i] if i < len(names) else "output_%d" % i, value))
            value = value if self._weights[i] is None else value * float(self._weights[i])
            total = value if total is None else total + value
        return total

    def make_metrics(self, y, y_pred, names):
        if self.metrics is not None:
            return
        flat_y, flat_pred = nest.flatten(y), nest.flatten(y_pred)
        n = len(flat_pred)
        self.metrics = []      # (output, metric, weighted)
        for given, weighted in ((self.given, False), (self.weighted, True)):
            if given is None:
                continue
            rows = [given.get(name) for name in names] if isinstance(given, dict) else list(given) if n > 1 and len(
                given) == n and all(isinstance(g, (list, tuple)) for g in given) else [given] * n
            for i, row in enumerate(rows):
                for one in [] if row is None else row if isinstance(row, (list, tuple)) else [row]:
                    made = metrics.get(one, flat_y[i].shape if i < len(flat_y) and hasattr(flat_y[i], "shape") else None,
                                       flat_pred[i].shape)
                    if n > 1 and not isinstance(one, metrics.Metric):
                        made.name = "%s_%s" % (names[i] if i < len(names) else "output_%d" % i, made.name)
                    self.metrics.append((i, made, weighted))

    def update(self, y, y_pred, sample_weight):
        flat_y, flat_pred = nest.flatten(y), nest.flatten(y_pred)
        for i, metric, weighted in self.metrics or ():
            if i < len(flat_y):
                metric.update_state(flat_y[i], flat_pred[i], sample_weight if weighted else None)


class Trainer:
    """compile, fit, evaluate, predict."""

    def _setup_training(self):
        set_ = object.__setattr__
        for name in ("optimizer", "loss", "_compiled", "_train_function", "_test_function", "_predict_function",
                     "_loss_tracker", "history"):
            set_(self, name, None)
        set_(self, "stop_training", False)
        set_(self, "run_eagerly", False)

    def compile(self, optimizer="rmsprop", loss=None, loss_weights=None, metrics=None, weighted_metrics=None,
                run_eagerly=False, steps_per_execution=1, jit_compile="auto", auto_scale_loss=True):
        """Says how the model learns: by which optimizer, which loss, and what is measured."""
        set_ = object.__setattr__
        set_(self, "optimizer", optimizers.get(optimizer))
        set_(self, "loss", loss)
        set_(self, "_compiled", _Compiled(loss, loss_weights, metrics, weighted_metrics))
        set_(self, "_loss_tracker", _mean("loss"))
        set_(self, "run_eagerly", bool(run_eagerly))
        for name in ("_train_function", "_test_function", "_predict_function"):
            set_(self, name, None)

    compiled = property(lambda self: self._compiled is not None)

    @property
    def metrics(self):
        from .layer import Layer
        own = Layer.metrics.fget(self)
        if self._compiled is None:
            return own
        return [self._loss_tracker] + [m for _, m, _ in self._compiled.metrics or ()] + own

    @property
    def metrics_names(self):
        return [m.name for m in self.metrics]

    @property
    def output_names(self):
        outputs = getattr(self, "_outputs", None)
        if isinstance(outputs, dict):
            return list(outputs)
        return [t.node.layer.name for t in nest.flatten(outputs)] if outputs is not None else ["output_1"]

    # ---- steps that a subclass may override

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        total = None
        if self._compiled is not None and self._compiled.loss is not None:
            total = self._compiled.total(y, y_pred, sample_weight, self.output_names)
        for extra in self.losses:
            total = extra if total is None else total + extra
        if total is None:
            raise ValueError("No loss to compute. Provide a `loss` argument in `compile()`.")
        return total

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        if self._compiled is not None and y is not None:
            with init_scope():
                self._compiled.make_metrics(y, y_pred, self.output_names)
            self._compiled.update(y, y_pred, sample_weight)
        return self.get_metrics_result()

    def get_metrics_result(self):
        logs = {}
        for metric in self.metrics:
            result = metric.result()
            logs.update(result if isinstance(result, dict) else {metric.name: result})
        return logs

    def train_step(self, data):
        x, y, weight = unpack_x_y_sample_weight(data)
        with GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(x, y, y_pred, weight)
        self._track_loss(loss, x)
        variables = self.trainable_variables
        if variables:
            self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return self.compute_metrics(x, y, y_pred, weight)

    def _track_loss(self, loss, x):
        from ..array_ops import shape
        from ..math_ops import cast
        if self._loss_tracker is not None:
            n = cast(shape(convert_to_tensor(nest.flatten(x)[0]))[0], "float32")
            self._loss_tracker.total.assign_add(loss * n)
            self._loss_tracker.count.assign_add(n)

    def test_step(self, data):
        x, y, weight = unpack_x_y_sample_weight(data)
        y_pred = self(x, training=False)
        self._track_loss(self.compute_loss(x, y, y_pred, weight, training=False), x)
        return self.compute_metrics(x, y, y_pred, weight)

    def predict_step(self, data):
        return self(unpack_x_y_sample_weight(data)[0], training=False)

    def _function(self, name, step):
        found = getattr(self, name)
        if found is None:
            found = step if self.run_eagerly else function(step)
            object.__setattr__(self, name, found)
        return found

    def make_train_function(self, force=False):
        return self._function("_train_function", lambda x, y, w: self.train_step((x, y, w)))

    def make_test_function(self, force=False):
        return self._function("_test_function", lambda x, y, w: self.test_step((x, y, w)))

    def make_predict_function(self, force=False):
        return self._function("_predict_function", lambda x: self.predict_step((x,)))

    # ---- fit

    def fit(self, x=None, y=None, batch_size=None, epochs=1, verbose="auto", callbacks=None, validation_split=0.0,
            validation_data=None, shuffle=True, class_weight=None, sample_weight=None, initial_epoch=0, steps_per_epoch=None,
            validation_steps=None, validation_batch_size=None, validation_freq=1, **ignored):
        """Learns from data for so many epochs; gives a History."""
        if self._compiled is None:
            raise ValueError("You must call `compile()` before using the model.")
        verbose = 1 if verbose == "auto" else int(verbose)
        if validation_split:
            (x, y, sample_weight), validation_data = split((x, y, sample_weight), validation_split)
        batches = Batches(x, y, sample_weight, batch_size, shuffle, steps_per_epoch, class_weight)
        held_out = None
        if validation_data is not None:
            given = validation_data if isinstance(validation_data, tuple) else (validation_data,)
            held_out = Batches(*given, batch_size=validation_batch_size or batch_size, shuffle=False, steps=validation_steps)
        history = callbacks_module.History()
        own = list(callbacks or [])
        bar = [callbacks_module.ProgbarLogger()] if verbose and not any(
            isinstance(c, callbacks_module.ProgbarLogger) for c in own) else []
        calls = callbacks_module.CallbackList(own + bar + [history], self, {
            "verbose": verbose, "epochs": epochs, "steps": batches.steps})
        object.__setattr__(self, "stop_training", False)
        train = self.make_train_function()
        calls.call("on_train_begin", None)
        logs = {}
        try:
            for epoch in range(initial_epoch, epochs):
                logs = self._epoch(train, batches, calls, epoch)
                if held_out is not None and (epoch + 1) % validation_freq == 0:
                    found = self._evaluate(held_out, own, nested=True)
                    logs.update({"val_" + k: v for k, v in found.items()})
                calls.call("on_epoch_end", epoch, logs)
                if self.stop_training:
                    break
        finally:
            calls.call("on_train_end", logs)
        object.__setattr__(self, "history", history)
        return history

    def _epoch(self, train, batches, calls, epoch):
        for metric in self.metrics:
            metric.reset_state()
        calls.call("on_epoch_begin", epoch, None)
        logs = {}
        own = calls.wants_batches
        for i, (x, y, weight) in enumerate(batches.epoch()):
            if own:
                calls.call("on_train_batch_begin", i, None)
            found = train(x, y, weight)
            if own:
                logs = _numbers(found)
                calls.call("on_train_batch_end", i, logs)
            if self.stop_training:
                break
        if not logs:
            try:
                logs = _numbers(found)
            except UnboundLocalError:
                raise ValueError("the data gave no batch: steps_per_epoch is larger than what it holds, or it is empty") from None
        return logs

    def evaluate(self, x=None, y=None, batch_size=None, verbose="auto", sample_weight=None, steps=None, callbacks=None,
                 return_dict=False, **ignored):
        """The loss and the metrics over data: a number, a list, or a dict."""
        if self._compiled is None:
            raise ValueError("You must call `compile()` before using the model.")
        batches = Batches(x, y, sample_weight, batch_size, False, steps)
        verbose = 1 if verbose == "auto" else int(verbose)
        own = list(callbacks or []) + ([callbacks_module.ProgbarLogger()] if verbose else [])
        logs = self._evaluate(batches, own, False, verbose)
        if return_dict:
            return logs
        values = list(logs.values())
        return values[0] if len(values) == 1 else values

    def _evaluate(self, batches, callbacks, nested, verbose=0):
        for metric in self.metrics:
            metric.reset_state()
        calls = callbacks_module.CallbackList([], self) if nested else callbacks_module.CallbackList(
            callbacks, self, {"verbose": verbose, "steps": batches.steps})
        if nested:
            calls.callbacks = [c for c in callbacks if not isinstance(c, callbacks_module.ProgbarLogger)]
            calls.wants_batches = any(type(c).on_test_batch_end is not callbacks_module.Callback.on_test_batch_end
                                      for c in calls.callbacks)
        test = self.make_test_function()
        calls.call("on_test_begin", None)
        logs = None
        for i, (x, y, weight) in enumerate(batches.epoch()):
            if calls.wants_batches:
                calls.call("on_test_batch_begin", i, None)
            found = test(x, y, weight)
            logs = None
            if calls.wants_batches:
                logs = _numbers(found)
                calls.call("on_test_batch_end", i, logs)
        logs = _numbers(found) if logs is None else logs
        calls.call("on_test_end", logs)
        return logs

    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None, **ignored):
        """What the model gives for the data, as arrays."""
        batches = Batches(x, None, None, batch_size, False, steps)
        verbose = 1 if verbose == "auto" else int(verbose)
        own = list(callbacks or []) + ([callbacks_module.ProgbarLogger()] if verbose else [])
        calls = callbacks_module.CallbackList(own, self, {"verbose": verbose, "steps": batches.steps})
        predict = self.make_predict_function()
        calls.call("on_predict_begin", None)
        parts = []
        for i, (batch, _, _) in enumerate(batches.epoch()):
            parts.append(nest.map_structure(lambda t: np.asarray(t.numpy()), predict(batch)))
            calls.call("on_predict_batch_end", i, {})
        calls.call("on_predict_end", None)
        if not parts:
            raise ValueError("the data gave no batch")
        flat = [np.concatenate(column) for column in zip(*[nest.flatten(p) for p in parts])]
        return nest.pack_sequence_as(parts[0], flat) if nest.is_sequence(parts[0]) else flat[0]

    # ---- one batch

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, return_dict=False):
        x, y, sample_weight = Batches(x, y, sample_weight, batch_size=1 << 62, shuffle=False)._weighted(x, y, sample_weight) \
            if class_weight is None else Batches(x, y, sample_weight, shuffle=False, class_weight=class_weight)._weighted(
                x, y, sample_weight)
        logs = _numbers(self.make_train_function()(_leaves(x), _leaves(y), sample_weight))
        return logs if return_dict else list(logs.values())

    def test_on_batch(self, x, y=None, sample_weight=None, return_dict=False):
        logs = _numbers(self.make_test_function()(_leaves(x), _leaves(y), sample_weight))
        return logs if return_dict else list(logs.values())

    def predict_on_batch(self, x):
        return nest.map_structure(lambda t: t.numpy(), self.make_predict_function()(_leaves(x)))

    def reset_metrics(self):
        for metric in self.metrics:
            metric.reset_state()


def _leaves(value):
    """Arrays of whatever is given for a batch."""
    if value is None or isinstance(value, dict):
        return value if value is None else {k: _array(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)) and len(value) and hasattr(value[0], "shape"):
        return type(value)(_array(v) for v in value)
    return _array(value)


def _numbers(logs):
    return {k: float(v) if not np.ndim(np.asarray(v)) else np.asarray(v).tolist() for k, v in logs.items()}


def _mean(name):
    return metrics.Mean(name=name)
