"""tape — GradientTape: what was computed is written down, and differentiated by the library as a graph.

The graph of a recording's gradients is made once for each shape of recording (which ops, which tensors into which) and is a
function of the values that the gradients need; later recordings of that shape only run it.
"""
import collections

from .. import dtypes, nest
from ..convert import convert_to_tensor
from ..graph import Tensor, executing_eagerly, get_default_graph
from ..gradients import UnconnectedGradients
from ..indexed import IndexedSlices
from ..variables import Variable
from . import execute
from .func_graph import FuncGraph
from .function import ConcreteFunction, Derivative, _reached, _INCLUDED
from .tensor import EagerTensor

_KEPT = 256           # most graphs of gradients kept
_plans = collections.OrderedDict()


class _Entry:
    __slots__ = ("call", "inputs", "outputs", "variables")

    def __init__(self, call, inputs, outputs, variables):
        self.call, self.inputs, self.outputs, self.variables = call, inputs, outputs, variables


class own_gradient:
    """A call whose gradient is a Python function: gradient(*dys) gives one for each input."""
    __slots__ = ("gradient",)

    def __init__(self, gradient):
        self.gradient = gradient


class GradientTape:
    """Records what is computed inside of `with`, for `gradient`. Trainable variables are watched when they are read.

    >>> import millrace as tf
    >>> x = tf.constant(3.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> tape.gradient(y, x).numpy()
    6.0
    """

    def __init__(self, persistent=False, watch_accessed_variables=True):
        self._persistent, self._watch_variables = persistent, watch_accessed_variables
        self._reset_records()
        self._on = self._used = False

    def _reset_records(self):
        self._entries = []
        self._tracked = {}                # id of a tensor that depends on something watched -> it
        self._reads = {}                  # id of a variable -> (it, [values read])
        self._watched_variables = {}
        self._stopped_ops = []

    def __enter__(self):
        if self._on:
            raise ValueError("Tape is still recording. This can happen if you try to re-enter an already-active tape.")
        self._on = True
        execute.recording.tapes.append(self)
        return self

    def __exit__(self, *exc):
        self._stop()

    def _stop(self):
        self._on = False
        tapes = execute.recording.tapes
        for i in range(len(tapes) - 1, -1, -1):
            if tapes[i] is self:
                del tapes[i]
                return

    def stop_recording(self):
        return _Pause(self)

    def reset(self):
        self._reset_records()

    def watch(self, tensor):
        """From now on what is computed of the tensor is recorded."""
        for one in nest.flatten(tensor):
            if isinstance(one, Variable):
                self._watched_variables[id(one)] = one
                continue
            if not isinstance(one, Tensor):
                raise ValueError("Passed in object %r of type %r, not tf.Tensor or tf.Variable" % (one, type(one).__name__))
            if not (one.dtype.is_floating or one.dtype.is_complex):
                import logging
                logging.getLogger("tensorflow").warning(
                    "The dtype of the watched tensor must be floating (e.g. tf.float32), got %r", one.dtype)
            self._tracked[id(one)] = one

    def watched_variables(self):
        found = {**{k: v for k, (v, _) in self._reads.items()}, **self._watched_variables}
        return tuple(found.values())

    # ---- recording

    def _is_watched(self, variable):
        return self._watch_variables and variable.trainable or id(variable) in self._watched_variables

    def _read(self, variable, value):
        if self._is_watched(variable):
            self._tracked[id(value)] = value
            self._reads.setdefault(id(variable), (variable, []))[1].append(value)

    def _cares(self, inputs, variables=()):
        tracked = self._tracked
        return any(id(t) in tracked for t in inputs) or any(self._is_watched(v) for v in variables)

    def _record(self, call, inputs, outputs, variables=()):
        tracked = self._tracked
        variables = [v for v in variables if self._is_watched(v)]
        for tensor in inputs:
            if id(tensor) in tracked:
                break
        else:
            if not variables:
                return
        for v in variables:
            self._reads.setdefault(id(v), (v, []))
        self._entries.append(_Entry(call, inputs, outputs, variables))
        for tensor in outputs:
            if tensor._dtype.is_floating or tensor._dtype.is_complex or tensor._dtype._number == 21:
                tracked[id(tensor)] = tensor

    # ---- gradients

    def gradient(self, target, sources, output_gradients=None, unconnected_gradients=UnconnectedGradients.NONE):
        """The derivatives of the sum of `target` with respect to `sources`, in their structure; None where there is none."""
        if self._used and not self._persistent:
            raise RuntimeError("A non-persistent GradientTape can only be used to compute one set of gradients (or "
                               "jacobians)")
        if self._on and not self._persistent:
            self._stop()
        self._used = True
        flat_sources, targets = nest.flatten(sources), nest.flatten(target)
        seeds = nest.flatten(output_gradients) if output_gradients is not None else [None] * len(targets)
        if not executing_eagerly():
            found = self._gradient_in_graph(targets, flat_sources, seeds)
        else:
            found = _Question(self, targets, flat_sources, seeds).answer()
        if UnconnectedGradients(getattr(unconnected_gradients, "value", unconnected_gradients)) is UnconnectedGradients.ZERO:
            from ..array_ops import zeros_like
            found = [zeros_like(_value_of(s)) if g is None else g for g, s in zip(found, flat_sources)]
        if not self._persistent:
            self._reset_records()
        return nest.pack_sequence_as(sources, found) if nest.is_sequence(sources) else found[0]

    def _gradient_in_graph(self, targets, sources, seeds):
        from ..gradients import gradients
        graph = get_default_graph()
        targets = [(_value_of(t), s) for t, s in zip(targets, seeds)]
        targets = [(t, s) for t, s in targets if t.dtype.is_floating or t.dtype.is_complex]
        if not targets:
            return [None] * len(sources)
        xs, places = [], []
        for i, source in enumerate(sources):
            if isinstance(source, EagerTensor):
                if graph._capture_of.get(id(source)) is None:
                    continue
                source = graph.capture(source)
            xs.append(source)
            places.append(i)
        found = gradients([t for t, _ in targets], xs, [s for _, s in targets], stop_gradients=self._stopped_ops or None)
        result = [None] * len(sources)
        for i, g in zip(places, found):
            result[i] = g
        return result

    def jacobian(self, target, sources, unconnected_gradients=UnconnectedGradients.NONE, parallel_iterations=None,
                 experimental_use_pfor=True):
        """The derivative of each element of `target` with respect to `sources`: of target's shape and then the source's."""
        rows = self._rows(target, sources, unconnected_gradients)
        from ..array_ops import reshape, stack
        out = []
        for i, source in enumerate(nest.flatten(sources)):
            parts = [row[i] for row in rows]
            if parts and parts[0] is None:
                out.append(None)
                continue
            parts = [convert_to_tensor(p) for p in parts]
            out.append(reshape(stack(parts), list(target.shape) + list(source.shape)))
        return nest.pack_sequence_as(sources, out) if nest.is_sequence(sources) else out[0]

    def _rows(self, target, sources, unconnected_gradients):
        import numpy as np
        persistent, self._persistent = self._persistent, True
        if self._on and not persistent:
            self._stop()
        size = target.shape.num_elements()
        rows = []
        for i in range(size):
            one = np.zeros(size, target.dtype.as_numpy_dtype)
            one[i] = 1
            seed = convert_to_tensor(one.reshape(tuple(target.shape)), target.dtype)
            rows.append(nest.flatten(self.gradient(target, nest.flatten(sources), [seed], unconnected_gradients)))
        self._persistent = persistent
        return rows

    def batch_jacobian(self, target, source, unconnected_gradients=UnconnectedGradients.NONE, parallel_iterations=None,
                       experimental_use_pfor=True):
        """The derivative of target[b] with respect to source[b], for each b."""
        import numpy as np
        from ..array_ops import reshape, stack
        persistent, self._persistent = self._persistent, True
        if self._on and not persistent:
            self._stop()
        batch, inner = target.shape[0], tuple(target.shape)[1:]
        size = int(np.prod(inner)) if inner else 1
        columns = []
        for i in range(size):
            one = np.zeros((batch, size), target.dtype.as_numpy_dtype)
            one[:, i] = 1
            seed = convert_to_tensor(one.reshape(tuple(target.shape)), target.dtype)
            columns.append(self.gradient(target, source, [seed], unconnected_gradients))
        self._persistent = persistent
        if columns[0] is None:
            return None
        return reshape(stack(columns, 1), list(target.shape) + list(source.shape)[1:])


class _Pause:
    def __init__(self, tape):
        self._tape = tape

    def __enter__(self):
        self._tape._stop()

    def __exit__(self, *exc):
        self._tape._on = True
        execute.recording.tapes.append(self._tape)


def _value_of(x):
    return x.value() if isinstance(x, Variable) else convert_to_tensor(x)


class _Question:
    """One call of `gradient`: which part of the recording matters, as a key and as a graph."""

    def __init__(self, tape, targets, sources, seeds):
        self.tape, self.sources = tape, sources
        pairs = [(_value_of_target(tape, t), s) for t, s in zip(targets, seeds)]
        pairs = [(t, None if s is None else convert_to_tensor(s, t.dtype)) for t, s in pairs
                 if t.dtype.is_floating or t.dtype.is_complex]
        self.targets, self.seeds = [t for t, _ in pairs], [s for _, s in pairs]
        self.slots, self.tensors = {}, []     # id of a tensor -> its number; tensors by number
        self.entries = self._relevant()

    def _relevant(self):
        """The entries between sources and targets, in their order."""
        wanted, found = {id(t) for t in self.targets}, []
        for entry in reversed(self.tape._entries):
            if any(id(t) in wanted for t in entry.outputs):
                found.append(entry)
                wanted.update(id(t) for t in entry.inputs)
        return found[::-1]

    def _slot(self, tensor):
        number = self.slots.get(id(tensor))
        if number is None:
            number = self.slots[id(tensor)] = len(self.tensors)
            self.tensors.append(tensor)
        return number

    def answer(self):
        if not self.targets:
            return [None] * len(self.sources)
        wanted, parts = [], []
        for source in self.sources:
            if isinstance(source, Variable):
                reads = self.tape._reads.get(id(source), (source, []))[1]
                wanted.append((tuple([self._slot(t) for t in reads]), id(source)))
            else:
                if not isinstance(source, EagerTensor):
                    raise TypeError("sources are tensors and variables, not %r" % (source,))
                wanted.append(((self._slot(source),) if id(source) in self.tape._tracked else (), None))
        n_first = len(self.tensors)
        for entry in self.entries:
            parts.append((id(entry.call), tuple([self._slot(t) for t in entry.inputs]),
                          tuple([self._slot(t) for t in entry.outputs]), tuple([id(v) for v in entry.variables])))
        targets = tuple([self._slot(t) for t in self.targets])
        made = {n for p in parts for n in p[2]}
        leaves = tuple([(n, t._dtype._number, tuple(t.shape)) for n, t in enumerate(self.tensors) if n not in made])
        seeds = tuple([None if s is None else tuple(s.shape) for s in self.seeds])
        key = tuple(parts), targets, tuple(wanted), leaves, seeds, n_first
        plan = _plans.get(key)
        if plan is None:
            plan = _Plan(self, wanted, targets, leaves)
            if not any(isinstance(e.call, own_gradient) for e in self.entries):
                _plans[key] = plan
                if len(_plans) > _KEPT:
                    _plans.popitem(last=False)
        return plan.run(self)


def _value_of_target(tape, target):
    if isinstance(target, Variable):
        reads = tape._reads.get(id(target))
        return reads[1][-1] if reads and reads[1] else target.value()
    return convert_to_tensor(target)


class _Plan:
    """The gradients of one shape of recording, a function of the values that they need."""

    def __init__(self, question, wanted, targets, leaves):
        self.kept = [(e.call, e.variables) for e in question.entries]   # their ids are in the key
        self.function = None
        graph = FuncGraph("gradients")
        with graph.as_default():
            self._build(graph, question, wanted, targets, leaves)

    def _build(self, graph, question, wanted, targets, leaves):
        from ..gradients import gradients
        inside = {n: graph.argument(dtypes._by_number[number], shape) for n, number, shape in leaves}
        self.of_variable = {}
        for entry in question.entries:
            outputs = self._add(graph, entry, [inside[question.slots[id(t)]] for t in entry.inputs])
            for tensor, found in zip(entry.outputs, outputs):
                inside[question.slots[id(tensor)]] = found
        number_of = {id(t): n for n, t in inside.items()}
        first = len(graph._operations)
        place = {op: i for i, op in enumerate(graph._operations)}
        seeds = [None if s is None else graph.argument(s.dtype, s.shape, "seed") for s in question.seeds]
        xs, parts = [], []
        for numbers, variable in wanted:
            mine = [inside[n] for n in numbers] + ([self.of_variable[variable]] if variable in self.of_variable else [])
            parts.append((len(xs), len(mine)))
            xs += mine
        grads = gradients([inside[n] for n in targets], xs, seeds) if xs else []
        results, self.build = [], []
        for at, n in parts:
            self._result(results, [g for g in grads[at:at + n] if g is not None])
        if not results:
            return
        seed_ids = {id(s): i for i, s in enumerate(seeds) if s is not None}
        is_input = lambda t: id(t) in seed_ids or place.get(t.op, first) < first and t.op.type not in _INCLUDED
        _, cut = _reached(results, is_input)
        self.inputs = [(True, seed_ids[id(t)]) if id(t) in seed_ids else (False, number_of[id(t)]) for t in cut
                       if id(t) in seed_ids or id(t) in number_of]
        inner = [t for t in cut if id(t) in seed_ids or id(t) in number_of]
        self.function = ConcreteFunction(graph, inner + [p for _, p in graph.captured], results,
                                         [t for t, _ in graph.captured], name="gradient")

    def _add(self, graph, entry, inputs):
        """An entry of the recording in the graph: the tensors for its outputs."""
        call = entry.call
        if isinstance(call, (Derivative, own_gradient)):
            return self._stand_in(graph, entry, inputs)
        grouped, at = [], 0
        for n in call.lists:
            grouped.append(inputs[at] if n < 0 else inputs[at:at + n])
            at += 1 if n < 0 else n
        return graph._new_operation(call.op_type, grouped, None, {
            k: v for k, v in call.attrs.items() if not k.startswith("_")})._outputs

    def _stand_in(self, graph, entry, inputs):
        """A call with a gradient of its own: an operation that only hands on the values, which are known."""
        from ..ops_apply import apply_op
        call, outputs = entry.call, [graph.argument(t.dtype, t.shape, "known") for t in entry.outputs]
        variables = []
        for variable in entry.variables:
            if id(variable) not in self.of_variable:
                self.of_variable[id(variable)] = graph.argument(variable.dtype, variable.shape, "variable")
            variables.append(self.of_variable[id(variable)])
        op = apply_op("IdentityN", None, {"input": outputs + inputs + variables})
        n_out, n_in = len(outputs), len(inputs)
        if isinstance(call, own_gradient):
            def gradient(op, *dys):
                found = call.gradient(*dys[:n_out])
                return [None] * n_out + (list(found) if isinstance(found, (list, tuple)) else [found])
        else:
            by_variable = {id(v): i for i, v in enumerate(entry.variables)}
            n_results = len(call.function.flat_outputs)
            kept_out = dict(zip([id(t) for t in call.forward.flat_outputs[n_results:]], op.outputs[n_results:n_out]))
            inputs_of = {id(t): x for t, x in zip(call.function.flat_inputs, inputs)}

            def gradient(op, *dys):
                from ..array_ops import zeros
                # A gradient of the gradient comes by the kept values too.
                chosen = call if all(d is None for d in dys[n_results:n_out]) else call.forward.whole_derivative()
                seeds = []
                for i in chosen.seeded:
                    output = op.outputs[i]
                    seeds.append(dys[i] if dys[i] is not None else zeros(output.shape, output.dtype))
                kept = [inputs_of[id(t)] if id(t) in inputs_of else kept_out[id(t)] for t in chosen.kept]
                found = chosen.backward.node(graph, [convert_to_tensor(s) for s in seeds] + kept)
                result = [None] * (n_out + n_in + len(entry.variables))
                n_function = len(call.function.flat_inputs)
                variables_of = iter(chosen.variables)
                for i, dx in zip(chosen.wanted, found):
                    if i < n_function:
                        result[n_out + i] = dx
                    else:
                        at = by_variable.get(id(next(variables_of)))
                        if at is not None:
                            result[n_out + n_in + at] = dx
                return result
            gradient.takes_none = True
        graph._own_gradients[op._c] = gradient
        return list(op.outputs[:n_out])

    def _result(self, results, grads):
        """What is to be made of the function's results for one source."""
        at = len(results)
        if not grads:
            self.build.append(lambda values: None)
        elif len(grads) == 1 and isinstance(grads[0], IndexedSlices):
            g = grads[0]
            results.extend([g.values, g.indices] + ([g.dense_shape] if g.dense_shape is not None else []))
            full = g.dense_shape is not None
            self.build.append(lambda v: IndexedSlices(v[at], v[at + 1], v[at + 2] if full else None))
        else:
            from ..math_ops import add_n
            results.append(convert_to_tensor(grads[0]) if len(grads) == 1 else add_n(grads))
            self.build.append(lambda v: v[at])

    def run(self, question):
        if self.function is None:
            return [None] * len(question.sources)
        inputs = [question.seeds[i] if is_seed else question.tensors[i] for is_seed, i in self.inputs]
        values = self.function.run(inputs)
        return [b(values) for b in self.build]
